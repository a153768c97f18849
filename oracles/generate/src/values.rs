//! Operands: constants at the corners of their types, registers, words of wider registers.

use oriole_ir::ops::{Field, PlusOne};
use oriole_ir::ops::{
    FieldValues, Flags, OpRow, Opcode, SecondOp, Shape, SimdSelectors, Type, VideoPart, VideoSelectors,
};
use oriole_ir::{Operand, RegInfo};

use super::builder::Builder;
use super::entropy::Entropy;
use super::kernel::BANK_WORDS;
use oriole_interp::PARAMETER_BANK;

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

/// Zeros, ones, small and huge values, infinities, quiet and signalling NaN, subnormals, borders of integer types; each
/// with either sign.
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
    0x000F_FFFF_FFFF_FFFF,
    0x7FF0_0000_0000_0001,
    0x41E0_0000_0000_0000,
    0x43E0_0000_0000_0000,
    0x40DF_FFF0_0000_0000,
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
    0x007F_FFFF,
    0x7F80_0001,
    0x4F00_0000,
    0x5F00_0000,
    0x4EFF_FFFF,
];
const F16S: &[u64] =
    &[0, 0x3C00, 0x3800, 0x4000, 0x4200, 0x7C00, 0x7E00, 1, 0x0400, 0x7BFF, 0x6400, 0x3C01, 0x03FF, 0x7C01];
const BF16S: &[u64] =
    &[0, 0x3F80, 0x3F00, 0x4000, 0x4040, 0x7F80, 0x7FC0, 1, 0x0080, 0x7F7F, 0x4F80, 0x3F81, 0x007F, 0x7F81];

/// Exponent and mantissa bits of a float type, or of its elements.
const fn float_format(ty: Type) -> Option<(u32, u32)> {
    match ty {
        Type::F64 => Some((11, 52)),
        Type::F32 | Type::Tf32 => Some((8, 23)),
        Type::F16 | Type::F16x2 => Some((5, 10)),
        Type::Bf16 | Type::Bf16x2 => Some((8, 7)),
        _ => None,
    }
}

/// The bits of a constant of a type: a corner, a value beside a power of two, now and then anything.
pub(super) fn constant(entropy: &mut Entropy<'_>, ty: Type) -> u64 {
    let mask = u64::MAX >> (64 - ty.bits().min(64));
    let bits = match ty {
        Type::Pred => entropy.below(2) as u64,
        Type::F16x2 | Type::Bf16x2 => float(entropy, ty) | float(entropy, ty) << 16,
        Type::U16x2 | Type::S16x2 => integer(entropy, 16) & 0xFFFF | integer(entropy, 16) << 16,
        _ if float_format(ty).is_some() => float(entropy, ty),
        _ => integer(entropy, ty.bits()),
    };
    bits & mask
}

/// The same with the extremes of the type in half of all cases, so that two operands soon meet in any pair of them.
pub(super) fn extreme(entropy: &mut Entropy<'_>, ty: Type) -> u64 {
    if ty == Type::Pred || entropy.percent(50) {
        return constant(entropy, ty);
    }
    let element = match ty {
        Type::F16x2 | Type::Bf16x2 | Type::U16x2 | Type::S16x2 => 16,
        _ => ty.bits().min(64),
    };
    let sign = 1u64 << (element - 1);
    let one = |entropy: &mut Entropy<'_>| match float_format(ty) {
        None => entropy.choose(&[0, 1, sign, sign - 1, sign | (sign - 1), 2, element.into()]),
        Some((exponent, mantissa)) => {
            let infinity = ((1u64 << exponent) - 1) << mantissa;
            let unit = ((1u64 << (exponent - 1)) - 1) << mantissa;
            let corners = [0, unit, infinity, infinity | 1 << (mantissa - 1), infinity - 1, 1, 1 << mantissa];
            entropy.choose(&corners) | if entropy.percent(50) { sign } else { 0 }
        }
    };
    let low = one(entropy);
    if element == ty.bits().min(64) { low } else { low | one(entropy) << element }
}

/// An integer: a corner; up to both sides of a power of two, of either sign; a small one, as shifts and fields count;
/// a run of ones or all but one, where known bits begin and end; any.
fn integer(entropy: &mut Entropy<'_>, bits: u32) -> u64 {
    let long = if bits > 32 { 2 } else { 0 };
    match entropy.weighted(&[16, 10, 4, 2, 3, long]) {
        0 => entropy.choose(INTEGERS),
        1 => {
            let near = 1u64 << entropy.below(bits.min(64) as usize);
            let near = near.wrapping_add(entropy.below(3) as u64).wrapping_sub(1);
            if entropy.percent(50) { near.wrapping_neg() } else { near }
        }
        2 => entropy.below(2 * bits.min(64) as usize + 2) as u64,
        3 => entropy.bits(),
        5 => {
            // As a float half way between two, or just beyond it, where to round twice is wrong.
            let highest = entropy.between(54, 63);
            1 << highest | 1 << (highest - entropy.choose(&[24, 53])) | entropy.below(2) as u64
        }
        _ => {
            let low = entropy.below(bits.min(64) as usize);
            let run = u64::MAX >> entropy.below(64 - low) << low;
            if entropy.percent(50) { !run } else { run }
        }
    }
}

/// A float, or an element of a packed one: a corner; beside a power of two of any exponent, which takes in the borders
/// to subnormals and infinity; an everyday number with all digits, which rounds; any; one with all digits of which two
/// have a product or a sum at those borders, where results lose digits, become zero of either sign, or infinite.
fn float(entropy: &mut Entropy<'_>, ty: Type) -> u64 {
    let (corners, (exponent, mantissa)) = match (ty, float_format(ty)) {
        (Type::F64, Some(format)) => (F64S, format),
        (Type::F16 | Type::F16x2, Some(format)) => (F16S, format),
        (Type::Bf16 | Type::Bf16x2, Some(format)) => (BF16S, format),
        (_, format) => (F32S, format.unwrap_or((8, 23))),
    };
    let sign = 1u64 << (exponent + mantissa);
    let unit = (1u64 << (exponent - 1)) - 1;
    match entropy.weighted(&[18, 6, 8, 2, 3]) {
        0 => entropy.choose(corners) | if entropy.percent(50) { sign } else { 0 },
        1 => {
            let power = (entropy.below(1 << exponent) as u64) << mantissa;
            let near = power.wrapping_add(entropy.below(3) as u64).wrapping_sub(1) & (sign - 1);
            near | if entropy.percent(50) { sign } else { 0 }
        }
        2 => {
            let power = unit + entropy.below(14) as u64 - 4;
            power << mantissa | entropy.bits() & (sign | ((1 << mantissa) - 1))
        }
        3 => entropy.bits() & (sign | (sign - 1)),
        _ => {
            // Two of the first kind have an exponent from the largest subnormal down to far below the smallest one.
            let below = entropy.below(mantissa.min(unit as u32 / 2) as usize) as u64;
            let large = unit + unit / 2 + entropy.below(3) as u64;
            let powers = [unit / 2 - below, unit / 2 - below, large, 0, below];
            entropy.choose(&powers) << mantissa | entropy.bits() & (sign | ((1 << mantissa) - 1))
        }
    }
}

/// The contents of a source.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// An immediate that is part of the operation: a truth table, selectors.
    Immediate(u64),
    /// A value of a type.
    Value(Type),
}

/// Whether a value of so many words can be read at a byte of the parameters.
fn fits_bank(offset: u32, words: usize) -> bool {
    let all = (0..words as u32).all(|word| BANK_WORDS.contains(&(offset + 4 * word)));
    all && (offset as usize).is_multiple_of(4 * words)
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
        let (word, bank) = (percent.word, percent.bank);
        if self.bank && ty != Type::Pred && self.entropy.percent(bank) {
            return self.bank_word(ty);
        }
        if self.entropy.percent(constants) {
            return self.constant(ty);
        }
        let info = RegInfo::of(ty);
        if info == RegInfo::words(1) && self.entropy.percent(word) {
            let words = self.entropy.choose(&[2, 4]);
            let reg = self.register(RegInfo::words(words));
            return Operand::Word(reg, self.entropy.below(usize::from(words)) as u8);
        }
        Operand::Reg(self.register(info))
    }

    /// A constant of a type.
    pub(super) fn constant(&mut self, ty: Type) -> Operand {
        let bits = constant(self.entropy, ty);
        self.func.imm(bits)
    }

    /// A launch argument of a kernel, where the machine keeps it: in constant bank 0.
    fn bank_word(&mut self, ty: Type) -> Operand {
        let words = usize::from(RegInfo::of(ty).words.next_power_of_two());
        let places: Vec<u32> = BANK_WORDS.iter().copied().filter(|offset| fits_bank(*offset, words)).collect();
        Operand::constant(0, PARAMETER_BANK + self.entropy.choose(&places))
    }

    /// Sources by the row's shapes; `None` where a shape is no value.
    pub(super) fn sources(&mut self, row: &'static OpRow, fields: &FieldValues) -> Option<Vec<Operand>> {
        let places = self.places(row, fields)?;
        let is_word = |place: &Place| matches!(place, Place::Value(ty) if !ty.is_float() && ty.bits() <= 32);
        let listed = row.srcs.contains(&Shape::Parts) && places.iter().all(is_word);
        if listed && self.entropy.percent(self.config.operand.taken_apart) {
            return Some(self.words_in_order(places.len()));
        }
        let operand = |place| match place {
            Place::Immediate(bits) => self.func.imm(bits),
            Place::Value(ty) => self.value(ty),
        };
        Some(places.into_iter().map(operand).collect())
    }

    /// The words of one wide register, as if it had been taken apart; now and then two of them are exchanged, or one
    /// is in the place of another.
    fn words_in_order(&mut self, count: usize) -> Vec<Operand> {
        let words = if count > 2 { 4 } else { self.entropy.choose(&[2, 4]) };
        let reg = self.register(RegInfo::words(words));
        let first = self.entropy.below(usize::from(words) / 2) & !1;
        let mut operands: Vec<Operand> =
            (0..count).map(|at| Operand::Word(reg, ((first + at) % usize::from(words)) as u8)).collect();
        match self.entropy.below(8) {
            0 | 1 => operands.swap(0, count - 1),
            2 | 3 => operands[count - 1] = operands[0],
            _ => {}
        }
        operands
    }

    /// What is in each source of a row, lists written out; `None` where a shape is no value.
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
        let inst = Self::typed(change, bits).src(sources[1]).src(with);
        sources[1] = Operand::Reg(self.hidden(inst, RegInfo::of(ty)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 20,000 drawn pairs are as wanted.
    fn pairs(ty: Type, wanted: impl Fn(u64, u64) -> bool) -> usize {
        let entropy = &mut Entropy::from_seed(7);
        (0..20_000).filter(|_| wanted(constant(entropy, ty), constant(entropy, ty))).count()
    }

    #[test]
    fn products_of_normal_numbers_are_subnormal_and_zero() {
        let product = |a: u64, b: u64| [a, b].map(|bits| f32::from_bits(bits as u32));
        let subnormal = pairs(Type::F32, |a, b| {
            let [a, b] = product(a, b);
            let digits = |value: f32| (value.to_bits() & 0x7F_FFFF).count_ones();
            digits(a) > 5 && digits(b) > 5 && a.is_normal() && b.is_normal() && (a * b).is_subnormal()
        });
        let zero = |sign: bool| {
            pairs(Type::F32, |a, b| {
                let [a, b] = product(a, b);
                a.is_normal() && b.is_normal() && a * b == 0.0 && (a * b).is_sign_negative() == sign
            })
        };
        let [plus, minus] = [false, true].map(zero);
        let huge = pairs(Type::F64, |a, b| {
            let [a, b] = [a, b].map(f64::from_bits);
            a.is_finite() && b.is_finite() && (a * b).is_infinite()
        });
        println!("{subnormal} subnormal, {plus} +0, {minus} -0, {huge} infinite products");
        assert!(subnormal > 35 && plus > 150 && minus > 150 && huge > 100);
    }

    #[test]
    fn subnormal_numbers_have_all_digits() {
        let full = pairs(Type::F64, |a, _| f64::from_bits(a).is_subnormal() && (14..42).contains(&a.count_ones()));
        println!("{full} subnormal numbers with many digits");
        assert!(full > 200, "{full}");
    }

    #[test]
    fn integers_are_runs_of_ones() {
        let is_run = |bits: u32| bits.count_ones() + bits.leading_zeros() + bits.trailing_zeros() == 32;
        let inner = |bits: u32| bits & 1 == 0 && bits >> 31 == 0 && bits.count_ones() > 2;
        let runs = pairs(Type::U32, |a, _| is_run(a as u32) && inner(a as u32));
        let gaps = pairs(Type::U32, |a, _| is_run(!(a as u32)) && inner(!(a as u32)));
        println!("{runs} runs of ones within a word, {gaps} of zeros");
        assert!(runs > 300 && gaps > 300);
    }
}
