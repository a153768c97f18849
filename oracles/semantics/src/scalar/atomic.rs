//! The read-modify-write of atomic operations and the combination of warp-wide reductions.

use super::float::Float;
use super::half::{Bf16, F16};
use super::integer::Int;
use oriole_ir::ops::{AtomOp, ReduxOp, Type, UndefTransfer};

/// The new value of a global memory word. `add.f32` flushes subnormal inputs and results there (PTX ISA, `atom`).
pub fn atomic(op: AtomOp, ty: Type, old: u64, operand: u64) -> u64 {
    match (op, ty) {
        (AtomOp::Add, Type::F32) => canonical(f32::of(old).flush().add(f32::of(operand).flush()).flush()),
        _ => atomic_with_subnormals(op, ty, old, operand),
    }
}

/// The sum of values, accumulated in f32 from the first on and rounded once to a type of halves.
pub fn sum_in_single(ty: Type, values: impl Iterator<Item = u64> + Clone) -> u64 {
    let packed = matches!(ty, Type::F16x2 | Type::Bf16x2);
    let half = |shift: u32| {
        let values = values.clone().map(move |value| value >> shift & 0xffff);
        if matches!(ty, Type::Bf16 | Type::Bf16x2) {
            sum_of_halves::<Bf16>(values)
        } else {
            sum_of_halves::<F16>(values)
        }
    };
    if packed { half(16) << 16 | half(0) } else { half(0) }
}

fn sum_of_halves<F: Float>(values: impl Iterator<Item = u64>) -> u64 {
    let sum = values.map(|value| F::of(value).to_f64() as f32).reduce(|sum, value| sum + value);
    sum.map_or(0, |sum| canonical(F::nearest(sum.into())))
}

/// The new value of a word where `add.f32` keeps subnormals: in shared memory, and in bulk reductions, of which PTX
/// does not say it (an H200 keeps them). All other operations are those of [`atomic`].
pub fn atomic_with_subnormals(op: AtomOp, ty: Type, old: u64, operand: u64) -> u64 {
    match ty {
        Type::F32 => float_atomic::<f32>(op, old, operand),
        Type::F64 => float_atomic::<f64>(op, old, operand),
        Type::F16 => float_atomic::<F16>(op, old, operand),
        Type::Bf16 => float_atomic::<Bf16>(op, old, operand),
        Type::F16x2 => halves(old, operand, |a, b| float_atomic::<F16>(op, a, b)),
        Type::Bf16x2 => halves(old, operand, |a, b| float_atomic::<Bf16>(op, a, b)),
        Type::S32 => int_atomic::<i32>(op, old, operand),
        Type::S64 => int_atomic::<i64>(op, old, operand),
        Type::U32 | Type::B32 => int_atomic::<u32>(op, old, operand),
        _ => int_atomic::<u64>(op, old, operand),
    }
}

fn halves(old: u64, operand: u64, one: impl Fn(u64, u64) -> u64) -> u64 {
    one(old >> 16 & 0xffff, operand >> 16 & 0xffff) << 16 | one(old & 0xffff, operand & 0xffff)
}

fn canonical<F: Float>(value: F) -> u64 {
    if value.is_nan() { F::NAN } else { value.word() }
}

/// Minimum and maximum order -0 before +0 and prefer numbers to NaN.
fn float_atomic<F: Float>(op: AtomOp, old: u64, operand: u64) -> u64 {
    let (a, b) = (F::of(old), F::of(operand));
    match op {
        AtomOp::Add => canonical(a.add(b)),
        AtomOp::Min => super::float::smaller(a, b),
        AtomOp::Max => super::float::larger(a, b),
        _ => int_atomic::<u64>(op, old, operand) & (F::SIGN | (F::SIGN - 1)),
    }
}

fn int_atomic<I: Int>(op: AtomOp, old: u64, operand: u64) -> u64 {
    let (a, b) = (I::of(old), I::of(operand));
    let result = match op {
        AtomOp::And => I::of(old & operand),
        AtomOp::Or => I::of(old | operand),
        AtomOp::Xor => I::of(old ^ operand),
        AtomOp::Exch => b,
        AtomOp::Add => I::wrap(a.wide() + b.wide()),
        AtomOp::Inc if a >= b => I::wrap(0),
        AtomOp::Inc => I::wrap(a.wide() + 1),
        AtomOp::Dec if a == I::wrap(0) || a > b => b,
        AtomOp::Dec => I::wrap(a.wide() - 1),
        AtomOp::Min => a.min(b),
        AtomOp::Max => a.max(b),
    };
    result.word()
}

/// What `redux.sync` of floats looks for: PTX ISA 9.0, "redux.sync".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatExtreme {
    /// The largest, else the smallest.
    pub is_largest: bool,
    /// Values count without their signs.
    pub without_signs: bool,
    /// A NaN makes the result one; else it is passed over.
    pub yields_nan: bool,
}

impl FloatExtreme {
    /// The bits of the extreme of so many values; -0 is smaller than +0.
    pub fn of(self, values: impl Iterator<Item = u32>) -> u32 {
        const NAN: u32 = 0x7fff_ffff;
        let mut found: Option<f32> = None;
        for bits in values {
            let value = f32::from_bits(if self.without_signs { bits & 0x7fff_ffff } else { bits });
            if value.is_nan() {
                if self.yields_nan {
                    return NAN;
                }
                continue;
            }
            let is_better = |other: f32| match self.is_largest {
                true => value.total_cmp(&other).is_gt(),
                false => value.total_cmp(&other).is_lt(),
            };
            if found.is_none_or(is_better) {
                found = Some(value);
            }
        }
        found.map_or(NAN, f32::to_bits)
    }
}

/// How undefined bits of the old value and the operand reach the new one.
pub fn undef_transfer(op: AtomOp, ty: Type) -> UndefTransfer {
    match op {
        AtomOp::And | AtomOp::Or => UndefTransfer::Routing(0),
        AtomOp::Xor => UndefTransfer::Bitwise,
        AtomOp::Add if !ty.is_float() => UndefTransfer::Carrying,
        _ => UndefTransfer::Mixing,
    }
}

/// The atomic operation that does to two values what `redux.sync` does.
pub fn combining(op: ReduxOp) -> AtomOp {
    match op {
        ReduxOp::Add => AtomOp::Add,
        ReduxOp::Min => AtomOp::Min,
        ReduxOp::Max => AtomOp::Max,
        ReduxOp::And => AtomOp::And,
        ReduxOp::Or => AtomOp::Or,
        ReduxOp::Xor => AtomOp::Xor,
    }
}

/// Combines two lanes' values for `redux.sync`.
pub fn reduce(op: ReduxOp, ty: Type, a: u64, b: u64) -> u64 {
    let op = combining(op);
    if ty.is_signed() { int_atomic::<i32>(op, a, b) } else { int_atomic::<u32>(op, a, b) }
}
