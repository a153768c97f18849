//! What another choice makes of what is open.

use oriole_ir::ops::{Opcode, Type};

/// A choice: in which direction approximate functions are off, and what stands for NaNs and for what the machine holds.
/// Variables lie elsewhere with the first one, and fragments have other layouts with the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Larger magnitudes, the NaN that the machine makes.
    Larger,
    /// Smaller magnitudes, a NaN that differs from that one in each word.
    Smaller,
    /// Magnitudes that are larger by less, a NaN with some bits.
    MixedLarger,
    /// Magnitudes that are smaller by less, a NaN with the other ones.
    MixedSmaller,
}

/// Bits without a pattern. No two bytes are alike, so that what programs compute of two of them changes, too.
const SOME_BITS: u64 = 0x9e37_79b9_7f4a_7c15;

impl Choice {
    pub const ALL: [Choice; 4] = [Choice::Larger, Choice::Smaller, Choice::MixedLarger, Choice::MixedSmaller];

    /// The first of two directions, or the second one.
    pub fn pick<T>(self, larger: T, smaller: T) -> T {
        match self {
            Choice::Larger | Choice::MixedLarger => larger,
            Choice::Smaller | Choice::MixedSmaller => smaller,
        }
    }

    /// In which bits what the machine holds is otherwise: the first two choices are each other's complement.
    pub fn flips(self) -> u64 {
        match self {
            Choice::Larger => SOME_BITS,
            Choice::Smaller => !SOME_BITS,
            Choice::MixedLarger => SOME_BITS.rotate_left(13),
            Choice::MixedSmaller => SOME_BITS.rotate_left(31),
        }
    }

    /// How far a result is off whose error is at most so large, more or less: each of the lower bits is reached.
    pub fn distance(self, error: u64) -> u64 {
        match self {
            Choice::Larger | Choice::Smaller => error | 1,
            Choice::MixedLarger => (error / 3) | 1,
            Choice::MixedSmaller => (error - error / 5) | 1,
        }
    }
}

/// A floating-point format, as bits of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Of 32 or 64 bits.
    pub wide: bool,
    /// Bits of the significand.
    pub significand: u32,
    /// The bits of an infinity, in the lowest element.
    pub infinity: u64,
    /// The sign, in the lowest element.
    pub sign: u64,
    /// Some bits of the significand: what another sum differs in.
    pub payload: u64,
    /// Where elements begin.
    pub places: &'static [u32],
}

const ONE: &[u32] = &[0];
const TWO: &[u32] = &[0, 16];

impl Format {
    pub fn of(ty: Type) -> Option<Format> {
        let half =
            |places| Format { wide: false, significand: 10, infinity: 0x7c00, sign: 1 << 15, payload: 0x55, places };
        let brain = |places| Format { infinity: 0x7f80, significand: 7, payload: 0x15, ..half(places) };
        Some(match ty {
            Type::F16 => half(ONE),
            Type::F16x2 => half(TWO),
            Type::Bf16 => brain(ONE),
            Type::Bf16x2 => brain(TWO),
            Type::F32 | Type::Tf32 => {
                let (infinity, sign, payload) = (0x7f80_0000, 1 << 31, 0x0015_5555);
                Format { significand: 23, infinity, sign, payload, ..half(ONE) }
            }
            Type::F64 => {
                let (infinity, sign, payload) = (0x7ff0_0000_0000_0000, 1 << 63, 0x0002_aaaa_5555_5555);
                Format { wide: true, significand: 52, infinity, sign, payload, ..half(ONE) }
            }
            _ => return None,
        })
    }

    /// How far an approximate function may be off, in units of the last place: several times what the PTX ISA allows
    /// (2^-11 for `tanh`, a few units or 2^-20 for others), since code makes such functions of others.
    pub fn error(self, opcode: Opcode) -> u64 {
        let exact = match (opcode, self.significand) {
            (_, ..16) => 7,
            (Opcode::FTanh, _) => 10,
            _ => 17,
        };
        // Both words of a wide one change.
        1 << self.significand.saturating_sub(exact) | if self.wide { self.payload & u64::from(u32::MAX) } else { 0 }
    }

    /// A NaN: the one that the machine makes, one that differs from it in each word, and two that differ from each
    /// other in each bit but the exponent's.
    pub fn nan(self, choice: Choice) -> u64 {
        let quiet = 1 << (self.significand - 1);
        let filled = self.sign - 1;
        let below = SOME_BITS & (quiet - 1);
        match choice {
            Choice::Larger if self.wide => self.infinity | quiet,
            Choice::Smaller if self.wide => self.sign | filled,
            Choice::Larger => filled,
            Choice::Smaller => self.sign | self.infinity | quiet,
            Choice::MixedLarger => self.infinity | quiet | below,
            Choice::MixedSmaller => self.sign | self.infinity | quiet | (below ^ (quiet - 1)),
        }
    }

    pub fn word(self) -> Type {
        if self.wide { Type::U64 } else { Type::U32 }
    }

    pub fn bits(self) -> Type {
        if self.wide { Type::B64 } else { Type::B32 }
    }
}
