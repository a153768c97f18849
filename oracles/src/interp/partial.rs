//! Words of which only some bits are undefined: a bit field that is written into fresh memory leaves such.
//!
//! Everything here is off the fast path: operations come here when a word that they read is undefined. What they
//! route from place to place keeps its bits apart; sums, products and counts keep the bits above their largest possible value;
//! what operations mix otherwise is undefined as a whole. An optimizer may rely on each of these bits, so none that is defined
//! may be called undefined where rewriting by known bits is common.

use oriole_optimizer::ir::InstData;
use oriole_optimizer::ops::{Opcode, Relu, Saturate, SrcType, Type};

use super::frame::{Frame, LANES, lanes};
use super::program::Slot;

/// How an operation spreads undefined bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Every bit of the result can depend on every bit of the operands.
    Mixes,
    /// A bit of the result is undefined where that bit of any operand is.
    Joins,
    /// A bit of the result is constant, or one bit of an operand, or grows with its operands' bits (`and`, `or`). The
    /// operands of this set, a bit for each, say how; they must be defined.
    Routes(u8),
    /// A sum, which is largest where all undefined bits are ones.
    Sums,
    /// A product.
    Multiplies,
    /// A product and a third operand.
    MultipliesAdds,
    /// A product from this bit on.
    HighProduct(u32),
    /// The same and a third operand.
    HighProductAdds(u32),
    /// A number that grows, or falls, as its one operand grows bit by bit.
    Counts,
}

impl Flow {
    /// How an operation that one lane computes spreads them; those with a second result mix.
    pub fn of(data: &InstData) -> Flow {
        match data.opcode {
            Opcode::And | Opcode::Or | Opcode::Not => Flow::Routes(0),
            Opcode::Xor => Flow::Joins,
            Opcode::Shl | Opcode::Shr => Flow::Routes(0b10),
            Opcode::Shf | Opcode::Prmt => Flow::Routes(0b100),
            Opcode::Bfe => Flow::Routes(0b110),
            Opcode::Bfi => Flow::Routes(0b1100),
            Opcode::Cvt if converts_bits(data) => Flow::Routes(0),
            Opcode::IAdd if data.field() != Some(Saturate::Sat) => Flow::Sums,
            Opcode::IMulLo | Opcode::IMulWide => Flow::Multiplies,
            Opcode::IMadLo | Opcode::IMadWide => Flow::MultipliesAdds,
            Opcode::IMulHi => Flow::HighProduct(data.ty().bits()),
            Opcode::IMadHi if data.field() != Some(Saturate::Sat) => Flow::HighProductAdds(data.ty().bits()),
            Opcode::Popc | Opcode::Clz | Opcode::CNot => Flow::Counts,
            _ => Flow::Mixes,
        }
    }

    /// The undefined bits of the result, from operands and their undefined bits.
    pub fn spread<const N: usize>(self, values: [u64; N], unknown: [u64; N], g: &dyn Fn([u64; N]) -> u64) -> u64 {
        if unknown == [0; N] {
            return 0;
        }
        match self {
            Flow::Mixes => u64::MAX,
            Flow::Joins => unknown.iter().fold(0, |all, bits| all | bits),
            Flow::Routes(control) if (0..N).any(|i| control >> i & 1 == 1 && unknown[i] != 0) => u64::MAX,
            Flow::Routes(_) => {
                let low = std::array::from_fn(|i| values[i] & !unknown[i]);
                let high = std::array::from_fn(|i| values[i] | unknown[i]);
                g(low) ^ g(high)
            }
            _ => self.between(values, unknown, g),
        }
    }

    /// The undefined bits of a result that lies between two values, unless it wraps.
    fn between<const N: usize>(self, values: [u64; N], unknown: [u64; N], g: &dyn Fn([u64; N]) -> u64) -> u64 {
        let low: [u64; N] = std::array::from_fn(|i| values[i] & !unknown[i]);
        let high: [u64; N] = std::array::from_fn(|i| values[i] | unknown[i]);
        // Operands that are not there are zero.
        let wide = |i: usize| u128::from(high.get(i).copied().unwrap_or(0));
        let product = wide(0).checked_mul(wide(1));
        let exact = match self {
            Flow::Sums => wide(0).checked_add(wide(1)),
            Flow::Multiplies => product,
            Flow::MultipliesAdds => product.and_then(|product| product.checked_add(wide(2))),
            Flow::HighProduct(from) => product.map(|product| product >> from),
            Flow::HighProductAdds(from) => product.and_then(|product| (product >> from).checked_add(wide(2))),
            _ => Some(g(high).into()),
        };
        let changes = if exact == Some(g(high).into()) { g(low) ^ g(high) } else { u64::MAX };
        let above = u64::MAX.checked_shr(changes.leading_zeros()).unwrap_or(0);
        above & self.no_lower_than(low, high, unknown)
    }

    /// The bits that an undefined bit can change, however far it carries: none lower than the first of them.
    fn no_lower_than<const N: usize>(self, low: [u64; N], high: [u64; N], unknown: [u64; N]) -> u64 {
        let zeros = |values: &[u64], i: usize| values.get(i).map_or(u64::BITS, |bits| bits.trailing_zeros());
        let open = |i: usize| zeros(&unknown, i);
        // A product differs by multiples of what is open in one operand times the other.
        let product = (open(0) + zeros(&high, 1)).min(open(1) + zeros(&low, 0));
        let first = match self {
            Flow::Sums => open(0).min(open(1)),
            Flow::Multiplies => product,
            Flow::MultipliesAdds => product.min(open(2)),
            _ => 0,
        };
        u64::MAX.checked_shl(first).unwrap_or(0)
    }
}

/// Whether a conversion only extends or truncates.
fn converts_bits(data: &InstData) -> bool {
    let integers = data.field::<SrcType>().is_some_and(|ty| !Type::from(ty).is_float()) && !data.ty().is_float();
    integers && data.field() != Some(Saturate::Sat) && data.field() != Some(Relu::Relu)
}

/// Writes the words of an operation on words, with their undefined bits.
#[cold]
#[inline(never)]
pub fn write_words<const N: usize>(
    frame: &mut Frame,
    dst: Slot,
    srcs: [Slot; N],
    mask: u32,
    flow: Flow,
    g: &dyn Fn([u32; N]) -> u32,
) {
    let mut results = [(0, 0); LANES];
    for lane in lanes(mask) {
        let values = srcs.map(|slot| u64::from(frame.words[slot as usize][lane]));
        let unknown = srcs.map(|slot| u64::from(frame.bits(slot, lane)));
        let wide = |values: [u64; N]| u64::from(g(values.map(|value| value as u32)));
        results[lane] = (wide(values), flow.spread(values, unknown, &wide));
    }
    lanes(mask).for_each(|lane| frame.put(dst, lane, results[lane].0 as u32, results[lane].1 as u32));
}

/// The same for operands of which `wide` says which have two words, and a result of two words.
#[cold]
#[inline(never)]
pub fn write_pairs<const N: usize>(
    frame: &mut Frame,
    dst: Slot,
    srcs: [Slot; N],
    wide: [bool; N],
    mask: u32,
    flow: Flow,
    g: &dyn Fn([u64; N]) -> u64,
) {
    let mut results = [(0, 0); LANES];
    for lane in lanes(mask) {
        let read = |word: &dyn Fn(Slot) -> u32| {
            std::array::from_fn(|i| {
                let high = if wide[i] { word(srcs[i] + 1) } else { 0 };
                u64::from(word(srcs[i])) | u64::from(high) << 32
            })
        };
        let values = read(&|slot| frame.words[slot as usize][lane]);
        let unknown = read(&|slot| frame.bits(slot, lane));
        results[lane] = (g(values), flow.spread(values, unknown, g));
    }
    for lane in lanes(mask) {
        let (value, bits) = results[lane];
        frame.put(dst, lane, value as u32, bits as u32);
        frame.put(dst + 1, lane, (value >> 32) as u32, (bits >> 32) as u32);
    }
}
