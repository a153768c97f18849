//! Floating-point arithmetic in f32 and f64, rounded to nearest even.
//!
//! The host's own operations are IEEE 754's; what PTX defines differently (NaN payloads, flushing, saturation) is
//! not folded. An f64 holds every f32, so values are looked at as f64.

use super::Op;
use oriole_ir::ops::field::XorSign;
use oriole_ir::ops::{Opcode, Type};

/// The value of raw bits.
pub(super) fn real(bits: u64, ty: Type) -> f64 {
    if ty == Type::F32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
}

/// Whether raw bits are a subnormal number.
pub(super) fn is_subnormal(bits: u64, ty: Type) -> bool {
    if ty == Type::F32 { f32::from_bits(bits as u32).is_subnormal() } else { f64::from_bits(bits).is_subnormal() }
}

pub(super) fn fold(op: &Op<'_>) -> Option<u64> {
    let ty = op.ty();
    let plain = !op.saturates() && !op.relu() && op.to_nearest();
    if !plain || !op.srcs.iter().all(|bits| certain(op, *bits, ty)) {
        return None;
    }
    let result = match ty {
        Type::F32 => u64::from(single(op)?.to_bits()),
        Type::F64 => double(op)?.to_bits(),
        _ => return None,
    };
    // Flushing looks at the result before or after rounding; the smallest normal number could be either.
    let at_the_edge = op.flushes() && real(result, ty).abs() == f64::from(f32::MIN_POSITIVE);
    (certain(op, result, ty) && !at_the_edge).then_some(result)
}

fn certain(op: &Op<'_>, bits: u64, ty: Type) -> bool {
    !(real(bits, ty).is_nan() || op.flushes() && is_subnormal(bits, ty))
}

/// Arithmetic is the same text in both precisions.
macro_rules! arithmetic {
    ($name:ident, $float:ty, $from:expr) => {
        fn $name(op: &Op<'_>) -> Option<$float> {
            let src = |index| op.src(index).map($from);
            let (a, b): ($float, Option<$float>) = (src(0)?, src(1));
            Some(match op.opcode {
                Opcode::FAdd => a + b?,
                Opcode::FSub => a - b?,
                Opcode::FMul => a * b?,
                Opcode::FFma => a.mul_add(b?, src(2)?),
                Opcode::FAbs => a.abs(),
                Opcode::FNeg => -a,
                Opcode::CopySign => b?.copysign(a),
                Opcode::FMin | Opcode::FMax if op.field::<XorSign>() == Some(XorSign::No) => {
                    let b = b?;
                    let a_is_less = a.total_cmp(&b).is_lt();
                    if a_is_less == (op.opcode == Opcode::FMin) { a } else { b }
                }
                _ => return None,
            })
        }
    };
}

arithmetic!(single, f32, |bits| f32::from_bits(bits as u32));
arithmetic!(double, f64, f64::from_bits);
