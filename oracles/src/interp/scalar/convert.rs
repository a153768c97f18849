//! Conversions (PTX ISA, `cvt` and `cvt.pack`).
//!
//! Every source value is an exact number, an infinity or a NaN ([`Source`]); it is rounded once to the destination.
//! - To an integer: rounded (toward zero where nothing is written), then clamped to the type's range. NaN becomes zero;
//!   the ISA leaves it open for f64 sources and 64-bit results, where hardware gives the highest bit alone, and so
//!   does this.
//! - Between integers: cut to the destination's width; `.sat` clamps to its range instead.
//! - To a float: rounded; nothing written means nearest even, which only matters where the ISA asks for a mode. With
//!   an integer rounding, to an integral value first, which the types at hand then hold exactly.
//!   `.sat` clamps to [0, 1] with NaN to zero, `.relu` turns negative values into zero, `.satfinite` turns
//!   infinities and overflow into the largest finite value.
//! - `.ftz` flushes subnormal f32 sources and results only, since the others' subnormals are always kept.
//! - A value that stays in its format keeps its bits, except that NaN becomes canonical.
//!
//! Sub-word signed results sign-extend to 32 bits, all others zero-extend.

use super::round::{self, Exact, Format, encode};
use super::{Eval, Lane, Modifiers};
use oriole_optimizer::ops::{Opcode, Rounding, Type};

/// The function for an opcode of this file.
pub(super) fn resolve(opcode: Opcode, mods: &Modifiers) -> Option<Eval> {
    match opcode {
        Opcode::Cvt => resolve_cvt(mods),
        Opcode::CvtPack2 => Some(pack_two),
        Opcode::CvtNarrow => Some(narrow_halves),
        Opcode::CvtPackInt => Some(pack_integers),
        _ => None,
    }
}

fn resolve_cvt(mods: &Modifiers) -> Option<Eval> {
    let from_narrow = matches!(mods.src, Type::E4m3x2 | Type::E5m2x2);
    match (is_integer(mods.src), is_integer(mods.ty)) {
        _ if from_narrow => Some(widen_narrow),
        (true, true) => Some(|m, s| Lane::of(int_to_int(m, integer(m.src, s[0])))),
        (true, false) => format(mods.ty).map(|_| int_to_float as Eval),
        (false, true) => format(mods.src).map(|_| float_to_int as Eval),
        (false, false) => format(mods.src).and(format(mods.ty)).map(|_| float_to_float as Eval),
    }
}

fn is_integer(ty: Type) -> bool {
    !ty.is_float()
}

/// The format of a scalar float type, or of the two elements of a packed one.
fn format(ty: Type) -> Option<&'static Format> {
    match ty {
        Type::F16 | Type::F16x2 => Some(&round::F16),
        Type::Bf16 | Type::Bf16x2 => Some(&round::BF16),
        Type::Tf32 => Some(&round::TF32),
        Type::F32 => Some(&round::F32),
        Type::F64 => Some(&round::F64),
        Type::E4m3x2 => Some(&round::E4M3),
        Type::E5m2x2 => Some(&round::E5M2),
        _ => None,
    }
}

/// The value of an integer type's bits.
fn integer(ty: Type, word: u64) -> i128 {
    let unused = 64 - ty.bits().min(64);
    if ty.is_signed() { (((word << unused) as i64) >> unused).into() } else { (word << unused >> unused).into() }
}

/// The smallest and the largest value of an integer type.
fn range(ty: Type) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// An integer's bits in its word: sub-word signed types fill 32 bits.
fn int_word(ty: Type, value: i128) -> u64 {
    let low = integer(ty, value as u64) as u64;
    if ty.bits() <= 32 { low & 0xffff_ffff } else { low }
}

fn int_to_int(m: &Modifiers, value: i128) -> u64 {
    let (low, high) = range(m.ty);
    int_word(m.ty, if m.sat { value.clamp(low, high) } else { value })
}

fn int_to_float(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let value = integer(m.src, s[0]);
    let exact = Exact { negative: value < 0, significand: value.unsigned_abs() as u64, exponent: 0, sticky: false };
    Lane::of(float_word(m, Source::Number(exact)))
}

/// A floating-point source.
#[derive(Clone, Copy)]
enum Source {
    Nan,
    Infinity { negative: bool },
    Number(Exact),
}

impl Source {
    fn of(value: f64) -> Source {
        if value.is_nan() {
            Source::Nan
        } else if value.is_infinite() {
            Source::Infinity { negative: value < 0.0 }
        } else {
            Source::Number(round::decode_f64(value))
        }
    }

    fn is_negative(self) -> bool {
        match self {
            Source::Nan => false,
            Source::Infinity { negative } => negative,
            Source::Number(exact) => exact.negative,
        }
    }
}

/// A scalar source operand's value, exactly.
fn source_value(m: &Modifiers, word: u64) -> f64 {
    let value = match m.src {
        Type::F64 => f64::from_bits(word),
        Type::F32 => f64::from(f32::from_bits(word as u32)),
        Type::F16 => round::to_f64(&round::F16, word & 0xffff),
        _ => round::to_f64(&round::BF16, word & 0xffff),
    };
    let flushed = m.ftz && m.src == Type::F32 && value.abs() < f64::from(f32::MIN_POSITIVE);
    if flushed { 0f64.copysign(value) } else { value }
}

/// Rounds to an integral value; halves go to even under `.rni` and everything else the obvious way.
fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Rni | Rounding::Rn => value.round_ties_even(),
        Rounding::Rmi | Rounding::Rm => value.floor(),
        Rounding::Rpi | Rounding::Rp => value.ceil(),
        _ => value.trunc(),
    }
}

fn float_to_int(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let value = source_value(m, s[0]);
    if value.is_nan() {
        let wide = m.src == Type::F64 || m.ty.bits() == 64;
        return Lane::of(if wide { 1 << (m.ty.bits() - 1) } else { 0 }).sign_filled(m.ty);
    }
    let (low, high) = range(m.ty);
    // The cast saturates at the bounds of i128, far outside every destination.
    let rounded = integral(value, m.rounding) as i128;
    Lane::of(int_word(m.ty, rounded.clamp(low, high)))
}

impl Lane {
    /// The value extended to its word as an integer of this type.
    fn sign_filled(self, ty: Type) -> Lane {
        Lane { value: int_word(ty, self.value.into()), ..self }
    }
}

fn is_integral_mode(rounding: Rounding) -> bool {
    matches!(rounding, Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi)
}

fn float_to_float(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let value = source_value(m, s[0]);
    let value = if is_integral_mode(m.rounding) { integral(value, m.rounding) } else { value };
    Lane::of(float_word(m, Source::of(value)))
}

/// The destination's bits for a value, with the modifiers of the result.
fn float_word(m: &Modifiers, value: Source) -> u64 {
    let Some(format) = format(m.ty) else { return 0 };
    let bits = rounded(m, format, value);
    let subnormal = bits & format.exponent_field() == 0;
    let bits = if m.ftz && m.ty == Type::F32 && subnormal { bits & format.sign() } else { bits };
    let bits = if m.sat { saturate_unit(format, bits) } else { bits };
    if m.ty == Type::Tf32 { bits << 13 | if bits == format.nan { 0x1fff } else { 0 } } else { bits }
}

/// [0, 1], and zero for NaN.
fn saturate_unit(format: &Format, bits: u64) -> u64 {
    let one = format.one();
    if bits == format.nan || bits & format.sign() != 0 { 0 } else { bits.min(one) }
}

fn rounded(m: &Modifiers, format: &Format, value: Source) -> u64 {
    if m.relu && value.is_negative() {
        return 0;
    }
    let sign = if value.is_negative() { format.sign() } else { 0 };
    let bits = match value {
        Source::Nan => return format.nan,
        Source::Infinity { .. } => sign | format.infinity,
        Source::Number(exact) => encode(format, exact, m.rounding),
    };
    if m.sat_finite && bits & !format.sign() > format.largest { sign | format.largest } else { bits }
}

/// Two values into the halves of a word, the first one high.
fn pack(m: &Modifiers, high: f64, low: f64) -> Lane {
    let width = m.ty.bits() / 2;
    let one = |value| float_word(m, Source::of(value));
    Lane::of(one(high) << width | one(low))
}

fn pack_two(m: &Modifiers, s: &[u64; 5]) -> Lane {
    pack(m, source_value(m, s[0]), source_value(m, s[1]))
}

fn narrow_halves(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let half = |word: u64| round::to_f64(&round::F16, word & 0xffff);
    pack(m, half(s[0] >> 16), half(s[0]))
}

fn widen_narrow(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let Some(format) = format(m.src) else { return Lane::of(0) };
    let byte = |word: u64| round::to_f64(format, word & 0xff);
    pack(m, byte(s[0] >> 8), byte(s[0]))
}

/// The first operand goes above the second, both clamped to the type; for bytes, the low half of the third operand
/// moves to the upper half.
fn pack_integers(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (low, high) = range(m.ty);
    let width = m.ty.bits();
    let clamped = |word: u64| i128::from(word as i32).clamp(low, high) as u64 & ((1 << width) - 1);
    let packed = clamped(s[0]) << width | clamped(s[1]);
    Lane::of(if width == 8 { (s[2] & 0xffff) << 16 | packed } else { packed })
}
