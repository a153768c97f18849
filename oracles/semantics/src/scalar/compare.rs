//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions").

use super::bits::combine;
use super::float::{Float, input};
use super::half::{Bf16, F16};
use super::integer::{Int, by_int};
use super::{Eval, Lane, Modifiers};
use oriole_ir::ops::{Compare, Opcode, Type};
use std::cmp::Ordering;

/// A type whose values can be compared.
trait Comparable {
    /// Whether the comparison of the modifiers holds.
    fn holds(m: &Modifiers, a: u64, b: u64) -> bool;
}

macro_rules! comparable {
    ($holds:ident: $($ty:ident),*) => {$(
        impl Comparable for $ty {
            #[inline]
            fn holds(m: &Modifiers, a: u64, b: u64) -> bool { $holds::<$ty>(m, a, b) }
        }
    )*};
}
comparable!(int_holds: u16, i16, u32, i32, u64, i64);
comparable!(float_holds: f32, f64, F16, Bf16);

/// The function for the type of the compared values; packed types have functions of their own.
macro_rules! by_compared {
    ($ty:expr, $f:ident) => {{
        let function: Option<Eval> = match $ty {
            Type::F32 => Some($f::<f32>),
            Type::F64 => Some($f::<f64>),
            Type::F16 => Some($f::<F16>),
            Type::Bf16 => Some($f::<Bf16>),
            _ => by_int!($ty, $f),
        };
        function
    }};
}

/// The function for a packed type.
macro_rules! by_packed {
    ($ty:expr, $f:ident) => {{
        let function: Option<Eval> = match $ty {
            Type::F16x2 => Some($f::<F16>),
            Type::Bf16x2 => Some($f::<Bf16>),
            _ => None,
        };
        function
    }};
}

/// The function for an opcode of this file.
pub(super) fn resolve(opcode: Opcode, mods: &Modifiers) -> Option<Eval> {
    match opcode {
        Opcode::SetP => by_compared!(mods.ty, setp),
        Opcode::SetPBool => by_compared!(mods.ty, setp_bool),
        Opcode::SetPX2 => by_packed!(mods.ty, setp_halves),
        Opcode::SetPX2Bool => by_packed!(mods.ty, setp_halves_bool),
        Opcode::Set => by_compared!(mods.src, set).or(by_packed!(mods.src, set_halves)),
        Opcode::SetBool => by_compared!(mods.src, set_bool).or(by_packed!(mods.src, set_halves_bool)),
        Opcode::SelP => Some(|m, s| choose(m, s, s[2] & 1 == 1)),
        Opcode::Slct if mods.src == Type::F32 => Some(slct_f32),
        Opcode::Slct => Some(|m, s| choose(m, s, s[2] as i32 >= 0)),
        _ => None,
    }
}

#[inline]
fn int_holds<I: Int>(m: &Modifiers, a: u64, b: u64) -> bool {
    ordered(m.compare, I::of(a).cmp(&I::of(b)))
}

/// A comparison of values that have an order.
#[inline]
pub(super) fn ordered(compare: Compare, order: Ordering) -> bool {
    match compare {
        Compare::Eq | Compare::Equ => order.is_eq(),
        Compare::Ne | Compare::Neu => order.is_ne(),
        Compare::Lt | Compare::Lo | Compare::Ltu => order.is_lt(),
        Compare::Le | Compare::Ls | Compare::Leu => order.is_le(),
        Compare::Gt | Compare::Hi | Compare::Gtu => order.is_gt(),
        Compare::Ge | Compare::Hs | Compare::Geu => order.is_ge(),
        Compare::Num => true,
        Compare::Nan => false,
    }
}

/// With a NaN, ordered comparisons (`ne` too) are false and unordered ones true.
#[inline]
fn float_holds<F: Float>(m: &Modifiers, a: u64, b: u64) -> bool {
    let (a, b) = (input::<F>(m, a).to_f64(), input::<F>(m, b).to_f64());
    match a.partial_cmp(&b) {
        Some(order) => ordered(m.compare, order),
        None => matches!(
            m.compare,
            Compare::Equ | Compare::Neu | Compare::Ltu | Compare::Leu | Compare::Gtu | Compare::Geu | Compare::Nan
        ),
    }
}

fn setp<C: Comparable>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(C::holds(m, s[0], s[1]).into())
}

fn setp_bool<C: Comparable>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (holds, with) = (C::holds(m, s[0], s[1]), s[2] & 1 == 1);
    Lane::pair(combine(m.bool_op, holds, with).into(), combine(m.bool_op, !holds, with))
}

/// The comparisons of the low and of the high halves.
#[inline]
fn halves<C: Comparable>(m: &Modifiers, s: &[u64; 5]) -> (bool, bool) {
    (C::holds(m, s[0], s[1]), C::holds(m, s[0] >> 16, s[1] >> 16))
}

fn setp_halves<C: Comparable>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (low, high) = halves::<C>(m, s);
    Lane::pair(low.into(), high)
}

fn setp_halves_bool<C: Comparable>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let ((low, high), with) = (halves::<C>(m, s), s[2] & 1 == 1);
    Lane::pair(combine(m.bool_op, low, with).into(), combine(m.bool_op, high, with))
}

/// What `set` writes for true: one for floats, all ones for integers.
#[inline]
fn truth(ty: Type) -> u64 {
    match ty {
        Type::F32 => f32::ONE,
        Type::F16 | Type::F16x2 => F16::ONE,
        Type::Bf16 | Type::Bf16x2 => Bf16::ONE,
        Type::U16 | Type::S16 => 0xffff,
        _ => 0xffff_ffff,
    }
}

fn set<C: Comparable>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(if C::holds(m, s[0], s[1]) { truth(m.ty) } else { 0 })
}

fn set_bool<C: Comparable>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let holds = combine(m.bool_op, C::holds(m, s[0], s[1]), s[2] & 1 == 1);
    Lane::of(if holds { truth(m.ty) } else { 0 })
}

/// Both halves' results; an integer destination gets sixteen ones for each that holds.
#[inline]
fn halves_truth(ty: Type, low: bool, high: bool) -> Lane {
    let one = truth(ty) & 0xffff;
    Lane::of(if low { one } else { 0 } | if high { one << 16 } else { 0 })
}

fn set_halves<C: Comparable>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (low, high) = halves::<C>(m, s);
    halves_truth(m.ty, low, high)
}

fn set_halves_bool<C: Comparable>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let ((low, high), with) = (halves::<C>(m, s), s[2] & 1 == 1);
    halves_truth(m.ty, combine(m.bool_op, low, with), combine(m.bool_op, high, with))
}

/// One of the first two operands.
#[inline]
fn choose(m: &Modifiers, s: &[u64; 5], first: bool) -> Lane {
    Lane::of(if first { s[0] } else { s[1] } & u64::MAX >> (64 - m.ty.bits().min(64)))
}

/// A NaN selects the second operand, -0 the first; under `.ftz` a subnormal counts as zero.
fn slct_f32(m: &Modifiers, s: &[u64; 5]) -> Lane {
    choose(m, s, input::<f32>(m, s[2]) >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lane, value};
    use oriole_ir::ops::Opcode;

    const NAN: u64 = 0x7fc0_0000;
    const ONE: u64 = 0x3f80_0000;

    #[test]
    fn unordered_comparisons_hold_for_nan() {
        let setp = |compare: &str, a, b| value(Opcode::SetP, &[compare, "f32"], &[a, b]);
        for compare in ["eq", "ne", "lt", "le", "gt", "ge", "num"] {
            assert_eq!(setp(compare, NAN, ONE), 0, "{compare}");
        }
        for compare in ["equ", "neu", "ltu", "leu", "gtu", "geu", "nan"] {
            assert_eq!(setp(compare, NAN, ONE), 1, "{compare}");
        }
        assert_eq!([setp("ltu", ONE, ONE), setp("geu", ONE, ONE)], [0, 1]);
        assert_eq!([setp("num", ONE, ONE), setp("nan", ONE, ONE)], [1, 0]);
        assert_eq!(setp("eq", 0, 0x8000_0000), 1);
        assert_eq!(value(Opcode::SetP, &["eq", "ftz", "f32"], &[1, 0x8000_0001]), 1);
        assert_eq!(setp("eq", 1, 0x8000_0001), 0);
    }

    #[test]
    fn signs_follow_the_type() {
        assert_eq!(value(Opcode::SetP, &["lt", "s32"], &[0xffff_ffff, 0]), 1);
        assert_eq!(value(Opcode::SetP, &["lt", "u32"], &[0xffff_ffff, 0]), 0);
        assert_eq!(value(Opcode::SetP, &["hs", "u16"], &[0x1_0000, 0]), 1);
        assert_eq!(value(Opcode::SetP, &["lt", "s16"], &[0x8000, 0]), 1);
    }

    #[test]
    fn combined_results() {
        let result = lane(Opcode::SetPBool, &["lt", "and", "s32"], &[1, 2, 1]);
        assert_eq!((result.value, result.second), (1, 0));
        let result = lane(Opcode::SetPBool, &["lt", "or", "f32"], &[NAN, ONE, 0]);
        assert_eq!((result.value, result.second), (0, 1));
        let result = lane(Opcode::SetPBool, &["eq", "xor", "b32"], &[1, 1, 1]);
        assert_eq!((result.value, result.second), (0, 1));
        let result = lane(Opcode::SetPX2, &["lt", "f16x2"], &[0x3c00_3c00, 0x3c00_4000]);
        assert_eq!((result.value, result.second), (1, 0));
        let result = lane(Opcode::SetPX2Bool, &["lt", "xor", "f16x2"], &[0x3c00_3c00, 0x3c00_4000, 1]);
        assert_eq!((result.value, result.second), (0, 1));
    }

    #[test]
    fn set_writes_ones() {
        assert_eq!(value(Opcode::Set, &["lt", "f32", "s32"], &[1, 2]), ONE);
        assert_eq!(value(Opcode::Set, &["lt", "u32", "s32"], &[1, 2]), 0xffff_ffff);
        assert_eq!(value(Opcode::Set, &["gt", "u32", "s32"], &[1, 2]), 0);
        assert_eq!(value(Opcode::Set, &["lt", "f16x2", "f16x2"], &[0x3c00_3c00, 0x3c00_4000]), 0x3c00);
        assert_eq!(value(Opcode::Set, &["le", "bf16x2", "bf16x2"], &[0, 0]), 0x3f80_3f80);
        assert_eq!(value(Opcode::Set, &["lt", "u32", "f16x2"], &[0x3c00_3c00, 0x4000_3c00]), 0xffff_0000);
        assert_eq!(value(Opcode::SetBool, &["lt", "and", "f32", "s32"], &[1, 2, 0]), 0);
    }

    #[test]
    fn selection() {
        assert_eq!(value(Opcode::SelP, &["b32"], &[1, 2, 1]), 1);
        let slct = |c| value(Opcode::Slct, &["b32", "f32"], &[1, 2, c]);
        assert_eq!([slct(ONE), slct(0), slct(0x8000_0000)], [1, 1, 1]);
        assert_eq!([slct(0xbf80_0000), slct(NAN), slct(0x8000_0001)], [2, 2, 2]);
        assert_eq!(value(Opcode::Slct, &["ftz", "b32", "f32"], &[1, 2, 0x8000_0001]), 1);
        assert_eq!(value(Opcode::Slct, &["u64", "s32"], &[u64::MAX, 2, 0]), u64::MAX);
        assert_eq!(value(Opcode::Slct, &["u64", "s32"], &[1, 2, 0xffff_ffff]), 2);
    }
}
