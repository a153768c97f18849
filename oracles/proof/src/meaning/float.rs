//! Floating-point arithmetic (PTX ISA, "Floating-Point Instructions", also for half precision).
//!
//! Operations that move bits are written out here; sums, products and quotients go through exact values and one
//! rounding in `soft`. Results of arithmetic that are NaN have the one pattern of their type. `copysign` keeps
//! payloads, as the ISA says no more than that it copies the sign.
//!
//! *`abs` and `neg` of a NaN* yield "an unspecified NaN", says the ISA ("Floating Point Instructions: abs", "neg", and
//! both in "Half Precision Floating Point Instructions"), in the same words for f32, f64, f16, f16x2, bf16 and bf16x2;
//! "future implementations may" keep the payload. The terms keep it here, as the interpreter does, which is one of the
//! results that are allowed; [`super::with_other_nans`] has all others.

use oriole_ir::ops::{Ftz, NanMode, Oob, Opcode, Relu, Saturate, TestProperty, Type, XorSign};

use super::super::term::{Term, Terms};
use super::{Context, soft};

/// A binary interchange format: sign, exponent and fraction, from the highest bit down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    /// Width of the exponent field.
    pub exponent: u32,
    /// Width of the fraction field.
    pub fraction: u32,
    /// The NaN that arithmetic yields.
    pub nan: u128,
    /// Whether the highest exponent means infinity and NaN; else it is a number's, but for the last pattern, a NaN.
    pub has_infinity: bool,
}

const fn ieee(exponent: u32, fraction: u32, nan: u128) -> Format {
    Format { exponent, fraction, nan, has_infinity: true }
}

/// The format of a scalar float type, or of the parts of a packed one.
pub(super) fn format(ty: Type) -> Option<&'static Format> {
    match ty {
        Type::F16 | Type::F16x2 => Some(&Format::F16),
        Type::Bf16 | Type::Bf16x2 => Some(&Format::BF16),
        Type::Tf32 => Some(&Format::TF32),
        Type::F32 => Some(&Format::F32),
        Type::F64 => Some(&Format::F64),
        Type::E4m3x2 => Some(&Format::E4M3),
        Type::E5m2x2 => Some(&Format::E5M2),
        _ => None,
    }
}

impl Format {
    /// Half precision.
    pub(crate) const F16: Format = ieee(5, 10, 0x7fff);
    /// The upper half of an f32.
    pub(crate) const BF16: Format = ieee(8, 7, 0x7fff);
    /// An f32 with ten fraction bits, here without the thirteen below that PTX keeps.
    pub(crate) const TF32: Format = ieee(8, 10, 0x3_ffff);
    /// Single precision.
    pub(crate) const F32: Format = ieee(8, 23, 0x7fff_ffff);
    /// Double precision.
    pub(crate) const F64: Format = ieee(11, 52, 0x7ff8_0000_0000_0000);
    /// Eight bits with infinities.
    pub(crate) const E5M2: Format = ieee(5, 2, 0x7f);
    /// Eight bits without.
    pub(crate) const E4M3: Format = Format { exponent: 4, fraction: 3, nan: 0x7f, has_infinity: false };

    /// Width of a value.
    pub(crate) const fn width(&self) -> u32 {
        1 + self.exponent + self.fraction
    }

    /// The digits of a significand, with the implicit one.
    pub(crate) const fn precision(&self) -> u32 {
        self.fraction + 1
    }

    /// What is added to exponents.
    pub(crate) const fn bias(&self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// All ones of the exponent field, in place.
    const fn exponent_field(&self) -> u128 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// The bits of one.
    pub(crate) const fn one(&self) -> u128 {
        (self.bias() as u128) << self.fraction
    }

    /// The bits of the largest finite magnitude.
    pub(crate) const fn largest(&self) -> u128 {
        if self.has_infinity { self.exponent_field() - 1 } else { self.nan - 1 }
    }

    /// The bits of infinity; of NaN where there is none.
    pub(crate) const fn infinity(&self) -> u128 {
        self.largest() + 1
    }

    /// The value without its sign.
    pub(crate) fn magnitude(&self, t: &mut Terms, value: Term) -> Term {
        let bits = t.extract(value, 0, self.width() - 1);
        t.zero_extend(bits, self.width())
    }

    /// The bits of the largest magnitude that is no NaN.
    pub(crate) const fn last(&self) -> u128 {
        if self.has_infinity { self.infinity() } else { self.largest() }
    }

    /// The bits that every quiet NaN has: the exponent and the highest of the fraction.
    pub(crate) const fn quiet(&self) -> u128 {
        if self.has_infinity { self.infinity() | 1 << (self.fraction - 1) } else { self.nan }
    }

    /// Whether a value is no number.
    pub(crate) fn is_nan(&self, t: &mut Terms, value: Term) -> Term {
        let magnitude = self.magnitude(t, value);
        let last = t.constant(self.last(), self.width());
        t.ult(last, magnitude)
    }

    /// Whether a value is infinite.
    pub(crate) fn is_infinite(&self, t: &mut Terms, value: Term) -> Term {
        if !self.has_infinity {
            return t.bit(false);
        }
        let (magnitude, infinity) = (self.magnitude(t, value), t.constant(self.infinity(), self.width()));
        t.eq(magnitude, infinity)
    }

    /// Whether the exponent field is zero: a subnormal value or zero.
    pub(crate) fn has_no_exponent(&self, t: &mut Terms, value: Term) -> Term {
        let field = t.extract(value, self.fraction, self.exponent);
        t.is_zero(field)
    }

    /// Zero of the same sign for subnormal values.
    pub(crate) fn flush(&self, t: &mut Terms, value: Term) -> Term {
        let (small, sign) = (self.has_no_exponent(t, value), t.sign(value));
        let (zero, rest) = (t.constant(0, self.width() - 1), t.extract(value, 0, self.width() - 1));
        let rest = t.ite(small, zero, rest);
        t.concat(sign, rest)
    }

    /// A number whose order as a signed integer is that of values, with -0 below +0.
    pub(crate) fn rank(&self, t: &mut Terms, value: Term) -> Term {
        let (negative, rest) = (t.sign(value), t.constant((1 << (self.width() - 1)) - 1, self.width()));
        let flipped = t.xor(value, rest);
        t.ite(negative, flipped, value)
    }
}

/// The results of an opcode of this file.
pub(super) fn meaning(opcode: Opcode, cx: &mut Context) -> Option<Vec<Term>> {
    let format = format(cx.ty)?;
    let count = cx.row.srcs.len();
    let value = match opcode {
        Opcode::TestP => {
            let value = cx.typed(0);
            test(cx, format, value)
        }
        Opcode::FAbs
        | Opcode::FNeg
        | Opcode::CopySign
        | Opcode::FMin
        | Opcode::FMax
        | Opcode::FAdd
        | Opcode::FSub
        | Opcode::FMul
        | Opcode::FFma
        | Opcode::FDiv
        | Opcode::FRcp
        | Opcode::FSqrt => {
            if matches!(cx.ty, Type::F16x2 | Type::Bf16x2) {
                cx.halves(count, |cx, s| scalar(opcode, cx, format, s))
            } else {
                let operands: Vec<Term> = (0..count).map(|number| cx.typed(number)).collect();
                scalar(opcode, cx, format, &operands)
            }
        }
        _ => return None,
    };
    Some(vec![value])
}

/// One value of the format.
fn scalar(opcode: Opcode, cx: &mut Context, format: &Format, operands: &[Term]) -> Term {
    let flush = cx.has::<Ftz>();
    let s: Vec<Term> = operands.iter().map(|value| if flush { format.flush(cx.t, *value) } else { *value }).collect();
    match opcode {
        Opcode::FAbs => format.magnitude(cx.t, s[0]),
        Opcode::FNeg => negate(cx.t, s[0]),
        Opcode::CopySign => with_sign_of(cx.t, format, s[1], s[0]),
        Opcode::FMin | Opcode::FMax => {
            let (of_magnitudes, nan_wins) = (cx.has::<XorSign>(), cx.has::<NanMode>());
            let which = Extreme { smaller: opcode == Opcode::FMin, of_magnitudes, nan_wins };
            extreme(cx.t, format, which, s[0], s[1])
        }
        _ => arithmetic(opcode, cx, format, &s),
    }
}

/// The NaN, of either sign, that stands for an element beyond a tensor.
const OOB_NAN: u128 = 0x7ff7;

fn arithmetic(opcode: Opcode, cx: &mut Context, format: &Format, s: &[Term]) -> Term {
    let rounding = cx.rounding();
    let exact = match opcode {
        Opcode::FAdd => soft::add(cx.t, format, rounding, s[0], s[1]),
        Opcode::FSub => {
            let negated = negate(cx.t, s[1]);
            soft::add(cx.t, format, rounding, s[0], negated)
        }
        Opcode::FMul => soft::multiply(cx.t, format, rounding, s[0], s[1]),
        Opcode::FFma => soft::fused(cx.t, format, rounding, [s[0], s[1], s[2]]),
        Opcode::FDiv => soft::divide(cx.t, format, rounding, s[0], s[1]),
        Opcode::FRcp => {
            let one = cx.t.constant(format.one(), format.width());
            soft::divide(cx.t, format, rounding, one, s[0])
        }
        _ => soft::square_root(cx.t, format, rounding, s[0]),
    };
    let result = finish(cx, format, exact);
    if !cx.has::<Oob>() {
        return result;
    }
    zero_beyond(cx.t, format, [s[0], s[1]], result)
}

/// Zero in place of a result whose one factor is beyond a tensor.
pub(crate) fn zero_beyond(t: &mut Terms, format: &Format, factors: [Term; 2], result: Term) -> Term {
    let width = format.width();
    let (zero, beyond) = (t.constant(0, width), t.constant(OOB_NAN, width));
    let [first, second] = factors.map(|factor| {
        let magnitude = format.magnitude(t, factor);
        t.eq(magnitude, beyond)
    });
    let is_beyond = t.or(first, second);
    t.ite(is_beyond, zero, result)
}

/// Flushing, saturation to [0, 1] (NaN and negative values to +0) and rectification of a result.
fn finish(cx: &mut Context, format: &Format, value: Term) -> Term {
    let value = if cx.has::<Ftz>() { format.flush(cx.t, value) } else { value };
    let (saturates, rectifies) = (cx.has::<Saturate>(), cx.has::<Relu>());
    clamp(cx.t, format, value, saturates, rectifies)
}

/// Saturation and rectification; a NaN survives the latter.
pub(crate) fn clamp(t: &mut Terms, format: &Format, value: Term, saturates: bool, rectifies: bool) -> Term {
    if !saturates && !rectifies {
        return value;
    }
    let (zero, nan, negative) = (t.constant(0, format.width()), format.is_nan(t, value), t.sign(value));
    if !saturates {
        let number = t.not(nan);
        let clears = t.and(negative, number);
        return t.ite(clears, zero, value);
    }
    let one = t.constant(format.one(), format.width());
    let limited = t.min(value, one, false);
    let clears = t.or(nan, negative);
    t.ite(clears, zero, limited)
}

pub(crate) fn negate(t: &mut Terms, value: Term) -> Term {
    let width = t.width(value);
    let sign = t.constant(1 << (width - 1), width);
    t.xor(value, sign)
}

/// The magnitude of one value with the sign of another.
fn with_sign_of(t: &mut Terms, format: &Format, magnitude: Term, sign: Term) -> Term {
    let (sign, rest) = (t.sign(sign), t.extract(magnitude, 0, format.width() - 1));
    t.concat(sign, rest)
}

/// Which of two values an extreme is, and of what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extreme {
    /// Whether the smaller one.
    pub smaller: bool,
    /// Whether magnitudes are compared, and the result has the sign of the product.
    pub of_magnitudes: bool,
    /// Whether a NaN wins over a number.
    pub nan_wins: bool,
}

/// The smaller or larger value; the number where the other is NaN, unless `.NaN` lets the NaN win. Under
/// `.xorsign.abs` magnitudes are compared and the result has the sign of the product.
pub(crate) fn extreme(t: &mut Terms, format: &Format, which: Extreme, a: Term, b: Term) -> Term {
    let signed = which.of_magnitudes;
    let signs = t.xor(a, b);
    let [x, y] = [a, b].map(|value| if signed { format.magnitude(t, value) } else { value });
    let (rank_x, rank_y) = (format.rank(t, x), format.rank(t, y));
    let x_first = if which.smaller { t.slt(rank_x, rank_y) } else { t.slt(rank_y, rank_x) };
    let (nan_x, nan_y, nan) = (format.is_nan(t, x), format.is_nan(t, y), t.constant(format.nan, format.width()));
    let number = t.ite(x_first, x, y);
    let number = t.ite(nan_y, x, number);
    let number = t.ite(nan_x, y, number);
    let number = if signed { with_sign_of(t, format, number, signs) } else { number };
    let is_nan = if which.nan_wins { t.or(nan_x, nan_y) } else { t.and(nan_x, nan_y) };
    t.ite(is_nan, nan, number)
}

/// Zeros are normal.
fn test(cx: &mut Context, format: &Format, value: Term) -> Term {
    let property: TestProperty = cx.get();
    let t = &mut *cx.t;
    let (nan, infinite) = (format.is_nan(t, value), format.is_infinite(t, value));
    let (magnitude, small) = (format.magnitude(t, value), format.has_no_exponent(t, value));
    let nonzero = t.is_nonzero(magnitude);
    let subnormal = t.and(small, nonzero);
    let special = t.or(nan, infinite);
    match property {
        TestProperty::Finite => t.not(special),
        TestProperty::Infinite => infinite,
        TestProperty::Number => t.not(nan),
        TestProperty::NotANumber => nan,
        TestProperty::Subnormal => subnormal,
        TestProperty::Normal => {
            let other = t.or(special, subnormal);
            t.not(other)
        }
    }
}
