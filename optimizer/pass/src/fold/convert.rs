//! Conversions between integers, and between integers and f32 or f64 where they are plain.

use super::{Op, float, mask, number};
use oriole_ir::ops::Type;
use oriole_ir::ops::field::{Rounding, SatFinite, SrcType};

pub(super) fn fold(op: &Op<'_>) -> Option<u64> {
    let (to, from) = (op.ty(), Type::from(op.field::<SrcType>()?));
    let bits = op.src(0)?;
    if op.relu() || op.field::<SatFinite>() == Some(SatFinite::SatFinite) {
        return None;
    }
    match (to.is_float(), from.is_float()) {
        (false, false) => Some(store(integer(number(bits, from), to, op.saturates()), to)),
        (true, false) => from_integer(op, number(bits, from), to),
        (false, true) => to_integer(op, bits, from, to),
        (true, true) => between_floats(op, bits, from, to),
    }
}

/// A number in a type's range, by clamping or modulo 2^n.
fn integer(value: i128, to: Type, saturate: bool) -> i128 {
    let (low, high) = range(to);
    if saturate { value.clamp(low, high) } else { number(value as u64, to) }
}

fn range(ty: Type) -> (i128, i128) {
    let n = ty.bits();
    if ty.is_signed() { (-(1 << (n - 1)), (1 << (n - 1)) - 1) } else { (0, (1 << n) - 1) }
}

/// The register that holds a number: narrow signed ones are extended to 32 bits.
fn store(value: i128, to: Type) -> u64 {
    let register = if to.bits() == 64 { Type::B64 } else { Type::B32 };
    mask(value as u64, register)
}

fn from_integer(op: &Op<'_>, value: i128, to: Type) -> Option<u64> {
    if op.saturates() || op.field::<Rounding>() != Some(Rounding::Rn) {
        return None;
    }
    match to {
        Type::F32 => Some(u64::from((value as f32).to_bits())),
        Type::F64 => Some((value as f64).to_bits()),
        _ => None,
    }
}

/// Toward zero, where the value is in range.
fn to_integer(op: &Op<'_>, bits: u64, from: Type, to: Type) -> Option<u64> {
    let known = matches!(from, Type::F32 | Type::F64) && op.field::<Rounding>() == Some(Rounding::Rzi);
    let value = float::real(bits, from).trunc();
    let (low, high) = range(to);
    // The bounds are rounded outward or exact as f64; the test on the integer is the exact one.
    if !known || !value.is_finite() || value < low as f64 || value > high as f64 {
        return None;
    }
    let value = value as i128;
    (low..=high).contains(&value).then(|| store(value, to))
}

/// Widening, and narrowing to nearest even.
fn between_floats(op: &Op<'_>, bits: u64, from: Type, to: Type) -> Option<u64> {
    let value = float::real(bits, from);
    if value.is_nan() || op.saturates() {
        return None;
    }
    let result = match (from, to, op.field::<Rounding>()?) {
        (Type::F32, Type::F64, Rounding::Default) => value.to_bits(),
        (Type::F64, Type::F32, Rounding::Rn) => u64::from((value as f32).to_bits()),
        _ => return None,
    };
    let flushed = float::is_subnormal(bits, from) || float::is_subnormal(result, to);
    let at_the_edge = to == Type::F32 && float::real(result, to).abs() == f64::from(f32::MIN_POSITIVE);
    (!op.flushes() || !(flushed || at_the_edge)).then_some(result)
}
