//! Words of which only some bits are undefined: a bit field that is written into fresh memory leaves such.
//!
//! Everything here is off the fast path: operations come here when a word that they read is undefined. What they
//! route from place to place keeps its bits apart; what they mix is undefined as a whole.

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
        }
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

/// The same for two operands and a result of two words; the second operand is one word where `count` says so.
#[cold]
#[inline(never)]
pub fn write_pairs(
    frame: &mut Frame,
    dst: Slot,
    srcs: [Slot; 2],
    count: bool,
    mask: u32,
    flow: Flow,
    g: &dyn Fn([u64; 2]) -> u64,
) {
    let mut results = [(0, 0); LANES];
    for lane in lanes(mask) {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let read = |i: usize, word: &dyn Fn(Slot) -> u32| {
            let high = if i == 1 && count { 0 } else { word(srcs[i] + 1) };
            pair(word(srcs[i]), high)
        };
        let value = |slot: Slot| frame.words[slot as usize][lane];
        let bits = |slot: Slot| frame.bits(slot, lane);
        let (values, unknown) = ([read(0, &value), read(1, &value)], [read(0, &bits), read(1, &bits)]);
        results[lane] = (g(values), flow.spread(values, unknown, g));
    }
    for lane in lanes(mask) {
        let (value, bits) = results[lane];
        frame.put(dst, lane, value as u32, bits as u32);
        frame.put(dst + 1, lane, (value >> 32) as u32, (bits >> 32) as u32);
    }
}
