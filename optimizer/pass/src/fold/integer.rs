//! Integer arithmetic.
//!
//! Everything is computed in 128 bits and cut to the type: sums and differences of 64-bit values fit, and the low
//! 128 bits of a product are the same for signed and unsigned factors.

use super::{Op, mask, number};
use oriole_ir::ops::{Opcode, Type};

pub(super) fn fold(op: &Op<'_>) -> Option<Vec<u64>> {
    let ty = op.ty();
    if matches!(ty, Type::U16x2 | Type::S16x2) {
        return halves(op, ty).map(|result| vec![result]);
    }
    match op.opcode {
        Opcode::IAddCarry | Opcode::ISubCarry | Opcode::IMadLoCarry | Opcode::IMadHiCarry => carry(op, ty),
        Opcode::IMulWide => Some(vec![wide(product(op, ty)?, ty)]),
        Opcode::IMadWide => Some(vec![wide(product(op, ty)?.wrapping_add(i128::from(op.src(2)?)), ty)]),
        _ => result(op, ty).map(|value| vec![finish(op, value, ty)]),
    }
}

/// The result as a number of any size.
fn result(op: &Op<'_>, ty: Type) -> Option<i128> {
    let n = ty.bits();
    let src = |index| op.number(index, ty);
    let (a, b) = (src(0)?, src(1));
    Some(match op.opcode {
        Opcode::IAdd => a + b?,
        Opcode::ISub => a - b?,
        Opcode::IMulLo => product(op, ty)?,
        Opcode::IMulHi => high(product(op, ty)?, ty),
        Opcode::IMadLo => product(op, ty)?.wrapping_add(src(2)?),
        Opcode::IMadHi => high(product(op, ty)?, ty) + src(2)?,
        Opcode::IMul24Lo => product24(op, ty)?,
        Opcode::IMul24Hi => number((product24(op, ty)? >> 16) as u64, ty),
        Opcode::IMad24Lo => product24(op, ty)? + src(2)?,
        Opcode::IMad24Hi => number((product24(op, ty)? >> 16) as u64, ty) + src(2)?,
        Opcode::ISad => (a - b?).abs() + src(2)?,
        Opcode::IDiv => divisor(a, b?, n)?.0,
        Opcode::IRem => divisor(a, b?, n)?.1,
        Opcode::IAbs => a.abs(),
        Opcode::INeg => -a,
        Opcode::IMin => relu(op, a.min(b?)),
        Opcode::IMax => relu(op, a.max(b?)),
        _ => return None,
    })
}

/// Quotient and remainder where both are certain.
fn divisor(a: i128, b: i128, bits: u32) -> Option<(i128, i128)> {
    let overflows = b == -1 && a == -(1 << (bits - 1));
    (b != 0 && !overflows).then(|| (a / b, a % b))
}

fn relu(op: &Op<'_>, value: i128) -> i128 {
    if op.relu() { value.max(0) } else { value }
}

fn product(op: &Op<'_>, ty: Type) -> Option<i128> {
    Some(op.number(0, ty)?.wrapping_mul(op.number(1, ty)?))
}

/// The high half of a product, as a number of the type.
fn high(product: i128, ty: Type) -> i128 {
    number((product >> ty.bits()) as u64, ty)
}

/// The product of the low 24 bits.
fn product24(op: &Op<'_>, ty: Type) -> Option<i128> {
    let low = |index| {
        let bits = (op.word(index)? << 8) as i32;
        Some(if ty.is_signed() { i128::from(bits >> 8) } else { i128::from(bits as u32 >> 8) })
    };
    let (a, b): (i128, i128) = (low(0)?, low(1)?);
    Some(a * b)
}

fn wide(value: i128, ty: Type) -> u64 {
    if ty.bits() == 16 { value as u64 & 0xffff_ffff } else { value as u64 }
}

fn finish(op: &Op<'_>, value: i128, ty: Type) -> u64 {
    let value = if op.saturates() { value.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) } else { value };
    mask(value as u64, ty)
}

/// Additions and subtractions with a carry in and out; all operands count as unsigned, and a subtraction adds the
/// complement.
fn carry(op: &Op<'_>, ty: Type) -> Option<Vec<u64>> {
    let src = |index| op.src(index).map(|bits| i128::from(mask(bits, ty)));
    let total = match op.opcode {
        Opcode::IAddCarry => src(0)? + src(1)? + i128::from(op.predicate(2)?),
        Opcode::ISubCarry => src(0)? + i128::from(mask(!op.src(1)?, ty)) + i128::from(op.predicate(2)?),
        Opcode::IMadLoCarry => i128::from(mask(product(op, ty)? as u64, ty)) + src(2)? + i128::from(op.predicate(3)?),
        _ => {
            let high = mask((product(op, ty)? >> ty.bits()) as u64, ty);
            i128::from(high) + src(2)? + i128::from(op.predicate(3)?)
        }
    };
    let out = total >> ty.bits() != 0;
    Some(vec![mask(total as u64, ty), out.into()])
}

/// Operations on two halves.
fn halves(op: &Op<'_>, ty: Type) -> Option<u64> {
    let half = if ty == Type::S16x2 { Type::S16 } else { Type::U16 };
    let one = |shift: u32| {
        let (a, b) = (number(op.src(0)? >> shift, half), number(op.src(1)? >> shift, half));
        let value = match op.opcode {
            Opcode::IAdd => a + b,
            Opcode::IMin => relu(op, a.min(b)),
            Opcode::IMax => relu(op, a.max(b)),
            _ => return None,
        };
        Some(mask(value as u64, half) << shift)
    };
    Some(one(0)? | one(16)?)
}
