//! Conversions (PTX ISA, `cvt` and `cvt.pack`).
//!
//! From floats to integers, values are rounded and brought into range; NaN becomes zero, or, where either side has 64
//! bits, the highest bit alone. Between floats, values are rounded once, after rounding to an integral value where the
//! mode asks for that. `.ftz` is about f32 sources and results. Results of signed types below 32 bits fill the word
//! with their sign.

use oriole_ir::ops::{Ftz, Opcode, Relu, Rounding, SatFinite, Saturate, SrcType, Type};

use super::super::term::{Term, Terms};
use super::Context;
use super::float::{Format, clamp, format};
use super::integer::saturate;
use super::soft;

/// The results of an opcode of this file.
pub(super) fn meaning(opcode: Opcode, cx: &mut Context) -> Option<Vec<Term>> {
    let source = Type::from(cx.get::<SrcType>());
    let value = match opcode {
        Opcode::Cvt => match (format(source), format(cx.ty)) {
            (None, None) => between_integers(cx, source),
            (None, Some(to)) => {
                let value = cx.operand(0, source.bits());
                let rounded = soft::from_integer(cx.t, to, cx.rounding(), value, source.is_signed());
                finish(cx, to, rounded)
            }
            (Some(from), None) => to_integer(cx, from, source),
            (Some(from), Some(to)) if from.width() == 8 => {
                let [low, high] = [0, 8].map(|low| {
                    let word = cx.operand(0, 16);
                    let byte = cx.t.extract(word, low, 8);
                    narrowed(cx, from, to, byte)
                });
                cx.t.concat(high, low)
            }
            (Some(from), Some(to)) => {
                let value = cx.operand(0, source.bits());
                between_floats(cx, from, to, source, value)
            }
        },
        Opcode::CvtPack2 => {
            let to = format(cx.ty)?;
            let [high, low] = [0, 1].map(|number| {
                let value = cx.operand(number, 32);
                narrowed(cx, &Format::F32, to, value)
            });
            cx.t.concat(high, low)
        }
        Opcode::CvtNarrow => {
            let to = format(cx.ty)?;
            narrow_halves(cx, to)
        }
        Opcode::CvtPackInt => pack_integers(cx),
        _ => return None,
    };
    Some(vec![value])
}

/// Two packed halves into two narrow floats.
fn narrow_halves(cx: &mut Context, to: &Format) -> Term {
    let [low, high] = [0, 16].map(|low| {
        let word = cx.operand(0, 32);
        let half = cx.t.extract(word, low, 16);
        narrowed(cx, &Format::F16, to, half)
    });
    cx.t.concat(high, low)
}

/// A result of an integer type in its word.
fn word(t: &mut Terms, ty: Type, value: Term) -> Term {
    t.extend(value, ty.bits().max(32), ty.is_signed())
}

fn between_integers(cx: &mut Context, source: Type) -> Term {
    let value = cx.operand(0, source.bits());
    let (width, signed) = (cx.width(), cx.is_signed());
    // One bit more than either type has, so that both ranges fit as signed values.
    let wide = width.max(source.bits()) + 1;
    let value = cx.t.extend(value, wide, source.is_signed());
    let result =
        if cx.has::<Saturate>() { saturate(cx.t, value, width, signed) } else { cx.t.extract(value, 0, width) };
    word(cx.t, cx.ty, result)
}

fn to_integer(cx: &mut Context, from: &Format, source: Type) -> Term {
    let value = cx.operand(0, source.bits());
    let value = if cx.has::<Ftz>() && source == Type::F32 { from.flush(cx.t, value) } else { value };
    let (width, signed, rounding) = (cx.width(), cx.is_signed(), cx.rounding());
    let wide = source.bits() == 64 || width == 64;
    let nan = if wide { 1 << (width - 1) } else { 0 };
    let result = integer_of(cx.t, from, rounding, value, Integer { width, signed, nan });
    word(cx.t, cx.ty, result)
}

/// An integer that a float becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Integer {
    /// Its width.
    pub width: u32,
    /// Whether it has a sign.
    pub signed: bool,
    /// The integer that a NaN becomes.
    pub nan: u128,
}

/// A float rounded and brought into the range of an integer.
pub(crate) fn integer_of(t: &mut Terms, from: &Format, rounding: Rounding, value: Term, to: Integer) -> Term {
    let width = to.width;
    let exact = soft::unpack(t, from, value);
    let (magnitude, huge) = soft::integral(t, from, rounding, exact, width);
    let infinite = from.is_infinite(t, value);
    let beyond = t.or(huge, infinite);
    let limit = t.constant(1 << width, width + 1);
    let magnitude = t.ite(beyond, limit, magnitude);
    // One bit for the carry of rounding, one for the sign.
    let magnitude = t.zero_extend(magnitude, width + 2);
    let negated = t.neg(magnitude);
    let result = t.ite(exact.negative, negated, magnitude);
    let result = saturate(t, result, width, to.signed);
    let (nan, none) = (from.is_nan(t, value), t.constant(to.nan, width));
    t.ite(nan, none, result)
}

fn between_floats(cx: &mut Context, from: &Format, to: &Format, source: Type, value: Term) -> Term {
    let value = if cx.has::<Ftz>() && source == Type::F32 { from.flush(cx.t, value) } else { value };
    let rounding = cx.rounding();
    let integral = matches!(rounding, Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi);
    let value = if integral { soft::to_integral(cx.t, from, rounding, value) } else { value };
    let rounded = narrowed(cx, from, to, value);
    let rounded = finish(cx, to, rounded);
    if cx.ty != Type::Tf32 {
        return rounded;
    }
    in_word_of_f32(cx.t, rounded)
}

/// A tf32 in its word: the thirteen bits below are zero but in the NaN, which is that of f32.
pub(crate) fn in_word_of_f32(t: &mut Terms, rounded: Term) -> Term {
    let nan = Format::TF32.is_nan(t, rounded);
    let below = t.sign_extend(nan, 13);
    t.concat(rounded, below)
}

/// A value of another format, with rectification and clamping to finite values.
fn narrowed(cx: &mut Context, from: &Format, to: &Format, value: Term) -> Term {
    let how = Narrowing { rounding: cx.rounding(), rectifies: cx.has::<Relu>(), is_finite: cx.has::<SatFinite>() };
    narrow(cx.t, from, to, how, value)
}

/// How a value of another format is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Narrowing {
    /// The rounding.
    pub rounding: Rounding,
    /// Whether negative values become zero.
    pub rectifies: bool,
    /// Whether numbers stay finite.
    pub is_finite: bool,
}

/// A value of another format.
pub(crate) fn narrow(t: &mut Terms, from: &Format, to: &Format, how: Narrowing, value: Term) -> Term {
    let mut rounded = soft::convert(t, from, to, how.rounding, value);
    if how.is_finite {
        rounded = within_finite(t, from, to, value, rounded);
    }
    clamp(t, to, rounded, false, how.rectifies)
}

/// The largest finite value of the sign where a number has become infinite or, in a format without infinities, NaN.
fn within_finite(t: &mut Terms, from: &Format, to: &Format, value: Term, rounded: Term) -> Term {
    let largest = t.constant(to.largest(), to.width() - 1);
    let (sign, source_nan) = (t.sign(value), from.is_nan(t, value));
    let limited = t.concat(sign, largest);
    let magnitude = t.extract(rounded, 0, to.width() - 1);
    let (beyond, number) = (t.ult(largest, magnitude), t.not(source_nan));
    let clamps = t.and(beyond, number);
    t.ite(clamps, limited, rounded)
}

/// What `.ftz` and `.sat` do to a result.
fn finish(cx: &mut Context, to: &Format, value: Term) -> Term {
    let value = if cx.has::<Ftz>() && cx.ty == Type::F32 { to.flush(cx.t, value) } else { value };
    let saturates = cx.has::<Saturate>();
    clamp(cx.t, to, value, saturates, false)
}

/// The first operand above the second, both brought into the range of the type; below 16 bits, above them the low half
/// of the third.
fn pack_integers(cx: &mut Context) -> Term {
    let (width, signed) = (cx.width(), cx.is_signed());
    let [high, low] = [0, 1].map(|number| {
        let value = cx.operand(number, 32);
        saturate(cx.t, value, width, signed)
    });
    let packed = cx.t.concat(high, low);
    if width == 16 {
        return packed;
    }
    let above = cx.operand(2, 32 - 2 * width);
    cx.t.concat(above, packed)
}
