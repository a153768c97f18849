//! Operands: constants at the corners of their types, registers, words of wider registers.

use oriole_optimizer::ir::{Operand, RegInfo};
use oriole_optimizer::ops::{Field, PlusOne};
use oriole_optimizer::ops::{
    FieldValues, Flags, OpRow, Opcode, SecondOp, Shape, SimdSelectors, Type, VideoPart, VideoSelectors,
};

use super::builder::Builder;
use super::entropy::Entropy;

/// Bits of integers around which operations change what they do.
const INTEGERS: &[u64] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    15,
    16,
    24,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x1_0000,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFE,
    0xFFFF_FFFF,
    0x1_0000_0000,
    0x7FFF_FFFF_FFFF_FFFF,
    0x8000_0000_0000_0000,
    u64::MAX - 1,
    u64::MAX,
    0x5555_5555_5555_5555,
    0x0123_4567_89AB_CDEF,
];

/// Zeros, ones, small and huge values, infinities, NaN, subnormals, with a sign bit each.
const F64S: &[u64] = &[
    0,
    0x3FF0_0000_0000_0000,
    0x3FE0_0000_0000_0000,
    0x4000_0000_0000_0000,
    0x4008_0000_0000_0000,
    0x7FF0_0000_0000_0000,
    0x7FF8_0000_0000_0000,
    1,
    0x0010_0000_0000_0000,
    0x7FEF_FFFF_FFFF_FFFF,
    0x41EF_FFFF_FFE0_0000,
    0x3FF0_0000_0000_0001,
];
const F32S: &[u64] = &[
    0,
    0x3F80_0000,
    0x3F00_0000,
    0x4000_0000,
    0x4040_0000,
    0x7F80_0000,
    0x7FC0_0000,
    1,
    0x0080_0000,
    0x7F7F_FFFF,
    0x4F80_0000,
    0x3F80_0001,
];
const F16S: &[u64] = &[0, 0x3C00, 0x3800, 0x4000, 0x4200, 0x7C00, 0x7E00, 1, 0x0400, 0x7BFF, 0x6400, 0x3C01];
const BF16S: &[u64] = &[0, 0x3F80, 0x3F00, 0x4000, 0x4040, 0x7F80, 0x7FC0, 1, 0x0080, 0x7F7F, 0x4F80, 0x3F81];

/// The bits of a constant of a type: often a corner, sometimes anything.
pub(super) fn constant(entropy: &mut Entropy<'_>, ty: Type) -> u64 {
    let mask = u64::MAX >> (64 - ty.bits().min(64));
    let float = |entropy: &mut Entropy<'_>, corners: &[u64], bits: u32| {
        entropy.choose(corners) | (entropy.below(2) as u64) << (bits - 1)
    };
    let bits = match (entropy.weighted(&[8, 1]), ty) {
        (1, _) => entropy.bits(),
        (_, Type::F64) => float(entropy, F64S, 64),
        (_, Type::F32 | Type::Tf32) => float(entropy, F32S, 32),
        (_, Type::F16) => float(entropy, F16S, 16),
        (_, Type::Bf16) => float(entropy, BF16S, 16),
        (_, Type::F16x2) => float(entropy, F16S, 16) | float(entropy, F16S, 16) << 16,
        (_, Type::Bf16x2) => float(entropy, BF16S, 16) | float(entropy, BF16S, 16) << 16,
        (_, Type::U16x2 | Type::S16x2) => entropy.choose(INTEGERS) & 0xFFFF | (entropy.choose(INTEGERS) & 0xFFFF) << 16,
        (_, Type::Pred) => entropy.below(2) as u64,
        _ => entropy.choose(INTEGERS),
    };
    bits & mask
}

/// What stands in a source.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// An immediate that is part of the operation: a truth table, selectors.
    Immediate(u64),
    /// A value of a type.
    Value(Type),
}

impl Builder<'_, '_> {
    /// A value of a type.
    pub(super) fn value(&mut self, ty: Type) -> Operand {
        let percent = &self.config.operand;
        let constants = match ty {
            Type::Pred | Type::B128 => percent.constant / 3,
            _ if ty.is_float() => percent.float_constant,
            _ => percent.constant,
        };
        let word = percent.word;
        if self.entropy.percent(constants) {
            return Operand::Imm(constant(self.entropy, ty));
        }
        let info = RegInfo::of(ty);
        if info == RegInfo::words(1) && self.entropy.percent(word) {
            let words = self.entropy.choose(&[2, 4]);
            let reg = self.register(RegInfo::words(words));
            return Operand::Word(reg, self.entropy.below(usize::from(words)) as u8);
        }
        Operand::Reg(self.register(info))
    }

    /// Sources by the row's shapes; `None` where a shape is no value.
    pub(super) fn sources(&mut self, row: &'static OpRow, fields: &FieldValues) -> Option<Vec<Operand>> {
        let places = self.places(row, fields)?;
        let operand = |place| match place {
            Place::Immediate(bits) => Operand::Imm(bits),
            Place::Value(ty) => self.value(ty),
        };
        Some(places.into_iter().map(operand).collect())
    }

    /// What stands in each source of a row, lists written out; `None` where a shape is no value.
    pub(super) fn places(&mut self, row: &'static OpRow, fields: &FieldValues) -> Option<Vec<Place>> {
        let mut places = Vec::with_capacity(row.srcs.len());
        for shape in row.srcs {
            match shape {
                Shape::Imm => places.push(Place::Immediate(self.selector(row, fields))),
                Shape::Parts => {
                    let ty = row.shape_type(fields, *shape)?;
                    // PTX packs 32, 64 or 128 bits.
                    let totals: Vec<u32> = [32, 64, 128].into_iter().filter(|bits| bits / ty.bits() >= 2).collect();
                    let count = self.entropy.choose(&totals) / ty.bits();
                    places.extend((0..count).map(|_| Place::Value(ty)));
                }
                shape => places.push(Place::Value(row.shape_type(fields, *shape)?)),
            }
        }
        Some(places)
    }

    /// An immediate that the row takes: a truth table, selectors of a video instruction, a small number.
    fn selector(&mut self, row: &OpRow, fields: &FieldValues) -> u64 {
        let video = row.srcs.len() == 4 && row.slot(Field::SrcType).is_some();
        if !video {
            return if row.flags.has(Flags::PURE) {
                self.entropy.below(256) as u64
            } else {
                self.entropy.below(4) as u64
            };
        }
        let lanes = row.name.as_bytes().last().map_or(0, |digit| digit.wrapping_sub(b'0'));
        if lanes == 2 || lanes == 4 {
            let mut select = |to: &mut [u8; 4]| {
                for lane in to.iter_mut().take(usize::from(lanes)) {
                    *lane = self.entropy.below(2 * usize::from(lanes)) as u8;
                }
            };
            let (mut a, mut b) = ([0; 4], [0; 4]);
            select(&mut a);
            select(&mut b);
            let mask = 1 + self.entropy.below((1 << lanes) - 1) as u8;
            return u64::from(SimdSelectors { a, b, mask }.pack());
        }
        let mut part = || self.entropy.choose(&VideoPart::ALL);
        let (a, b, dst) = (part(), part(), part());
        let whole = row.value::<SecondOp>(fields).is_none_or(|second| second != SecondOp::None);
        let dst = if whole { VideoPart::Word } else { dst };
        let plain = row.value::<PlusOne>(fields) == Some(PlusOne::No);
        let negated = self.entropy.weighted(&[4, 1, 1, 1]);
        let negate = [0, 1, 2].map(|source| plain && negated == source + 1);
        u64::from(VideoSelectors { dst, a, b, negate }.pack())
    }

    /// Changes the operand of which some values leave the result open: a divisor gets its lowest bit set, and `fns`
    /// starts at one of 32 bits.
    pub(super) fn specify(&mut self, opcode: Opcode, ty: Type, sources: &mut [Operand]) {
        let (change, with) = match opcode {
            Opcode::IDiv | Opcode::IRem => (Opcode::Or, 1),
            Opcode::Fns => (Opcode::And, 31),
            _ => return,
        };
        let bits = match ty.bits() {
            16 => Type::B16,
            64 => Type::B64,
            _ => Type::B32,
        };
        let inst = Self::typed(change, bits).src(sources[1]).src(Operand::Imm(with));
        sources[1] = Operand::Reg(self.hidden(inst, RegInfo::of(ty)));
    }
}
