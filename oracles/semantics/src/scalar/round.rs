//! Rounding to a binary format: the one place that knows how a value becomes bits.
//!
//! A value is `significand * 2^exponent`, plus a little more where `sticky` is set. [`Format`] describes the formats
//! of PTX; [`encode`] rounds to one, in any mode, with subnormals and overflow.

use oriole_ir::ops::Rounding;

/// A binary floating-point format.
pub(super) struct Format {
    /// Width of the fraction field.
    pub fraction: u32,
    /// Width of the exponent field.
    pub exponent: u32,
    /// The largest finite magnitude's bits.
    pub largest: u64,
    /// Infinity's bits; where there is none, those of NaN.
    pub infinity: u64,
    /// The canonical NaN's bits.
    pub nan: u64,
}

/// Describes an IEEE format by the widths of its fields.
const fn ieee(fraction: u32, exponent: u32, nan: u64) -> Format {
    let infinity = ((1 << exponent) - 1) << fraction;
    Format { fraction, exponent, largest: infinity - 1, infinity, nan }
}

/// Half precision.
pub(super) const F16: Format = ieee(10, 5, 0x7fff);
/// The upper half of an f32.
pub(super) const BF16: Format = ieee(7, 8, 0x7fff);
/// An f32 with ten fraction bits; PTX keeps it at the place of an f32, so its bits are shifted up by 13.
pub(super) const TF32: Format = ieee(10, 8, 0x3ffff);
/// Single precision.
pub(super) const F32: Format = ieee(23, 8, 0x7fff_ffff);
/// Double precision.
pub(super) const F64: Format = ieee(52, 11, 0x7ff8_0000_0000_0000);
/// Eight bits with infinities.
pub(super) const E5M2: Format = ieee(2, 5, 0x7f);
/// Eight bits without infinities: the largest exponent is used for numbers, and its last pattern is NaN.
pub(super) const E4M3: Format = Format { fraction: 3, exponent: 4, largest: 0x7e, infinity: 0x7f, nan: 0x7f };

impl Format {
    /// The exponent of the least significant bit of subnormal values.
    const fn lowest(&self) -> i32 {
        2 - (1 << (self.exponent - 1)) - self.fraction as i32
    }

    /// The sign bit.
    pub const fn sign(&self) -> u64 {
        1 << (self.fraction + self.exponent)
    }

    /// The bits of the exponent field.
    pub const fn exponent_field(&self) -> u64 {
        self.sign() - (1 << self.fraction)
    }

    /// The bits of one.
    pub const fn one(&self) -> u64 {
        self.exponent_field() & self.exponent_field() >> 1
    }
}

/// An exact value, or one known to lie strictly between two 64-bit ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact {
    /// The sign.
    pub negative: bool,
    /// The magnitude's digits.
    pub significand: u64,
    /// The weight of the lowest digit.
    pub exponent: i32,
    /// Whether the magnitude is more than the digits say, by less than one unit.
    pub sticky: bool,
}

/// The bits of a value rounded to a format.
pub(super) fn encode(format: &Format, value: Exact, rounding: Rounding) -> u64 {
    let sign = if value.negative { format.sign() } else { 0 };
    if value.significand == 0 && !value.sticky {
        return sign;
    }
    // The unit of the result: as many digits as the format has, but never below the lowest subnormal digit.
    let top = value.exponent + 63 - value.significand.leading_zeros().min(63) as i32;
    let unit = (top - format.fraction as i32).max(format.lowest());
    let dropped = unit - value.exponent;
    let (digits, rest) = split(value, dropped);
    let digits = digits + u64::from(rounds_up(rounding, value.negative, digits & 1 == 1, rest));
    // Adding one to the last digit may carry into the exponent field, which is then right by itself.
    let biased = (unit - format.lowest()) as u64;
    let magnitude = if biased == 0 { digits } else { (biased << format.fraction) + digits };
    if magnitude <= format.largest { sign | magnitude } else { sign | overflow(format, rounding, value.negative) }
}

/// How the dropped part compares with half a unit of the result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rest {
    Zero,
    BelowHalf,
    Half,
    AboveHalf,
}

/// The digits at and above the result's unit, and what lies below.
fn split(value: Exact, dropped: i32) -> (u64, Rest) {
    if dropped <= 0 {
        let rest = if value.sticky { Rest::BelowHalf } else { Rest::Zero };
        return (value.significand << -dropped, rest);
    }
    if dropped > 64 {
        return (0, Rest::BelowHalf);
    }
    let wide = u128::from(value.significand);
    let (low, half) = (wide & ((1 << dropped) - 1), 1u128 << (dropped - 1));
    let rest = match low.cmp(&half) {
        std::cmp::Ordering::Greater => Rest::AboveHalf,
        std::cmp::Ordering::Equal if value.sticky => Rest::AboveHalf,
        std::cmp::Ordering::Equal => Rest::Half,
        std::cmp::Ordering::Less if low == 0 && !value.sticky => Rest::Zero,
        std::cmp::Ordering::Less => Rest::BelowHalf,
    };
    ((wide >> dropped) as u64, rest)
}

fn rounds_up(rounding: Rounding, negative: bool, odd: bool, rest: Rest) -> bool {
    match rounding {
        Rounding::Rz | Rounding::Rzi => false,
        Rounding::Rm | Rounding::Rmi => negative && rest > Rest::Zero,
        Rounding::Rp | Rounding::Rpi => !negative && rest > Rest::Zero,
        Rounding::Rna => rest >= Rest::Half,
        Rounding::Default | Rounding::Rn | Rounding::Rni => rest > Rest::Half || (rest == Rest::Half && odd),
    }
}

/// What a too large magnitude becomes: infinity, or the largest finite value where the mode rounds toward zero.
fn overflow(format: &Format, rounding: Rounding, negative: bool) -> u64 {
    let inward = match rounding {
        Rounding::Rz => true,
        Rounding::Rm => !negative,
        Rounding::Rp => negative,
        _ => false,
    };
    if inward { format.largest } else { format.infinity }
}

/// The parts of a finite f64.
pub(super) fn decode_f64(value: f64) -> Exact {
    let bits = value.to_bits();
    let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (significand, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
    Exact { negative: value.is_sign_negative(), significand, exponent, sticky: false }
}

/// The bits of an f64 rounded to a format; NaN becomes the canonical one.
pub(super) fn from_f64(format: &Format, value: f64, rounding: Rounding) -> u64 {
    if value.is_nan() {
        return format.nan;
    }
    if value.is_infinite() {
        return if value < 0.0 { format.sign() | format.infinity } else { format.infinity };
    }
    encode(format, decode_f64(value), rounding)
}

/// The value of a format's bits, exactly.
pub(super) fn to_f64(format: &Format, bits: u64) -> f64 {
    let magnitude = bits & (format.sign() - 1);
    let field = (magnitude >> format.fraction) as i32;
    let fraction = magnitude & ((1 << format.fraction) - 1);
    let value = if magnitude > format.largest {
        if magnitude == format.infinity && format.infinity != format.nan { f64::INFINITY } else { f64::NAN }
    } else if field == 0 {
        fraction as f64 * power_of_two(format.lowest())
    } else {
        (fraction | 1 << format.fraction) as f64 * power_of_two(format.lowest() + field - 1)
    };
    if bits & format.sign() != 0 { -value } else { value }
}

/// A power of two in the range that the narrow formats need, which f64 holds as a normal number.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
