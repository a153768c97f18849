//! Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Arithmetic").
//!
//! Every operation computes the mathematical value in 128 bits and takes the bits of its type; the compiler reduces
//! that to machine operations. Only the full product of two `u64` does not fit the signed 128 bits, but its bit
//! pattern does, and all that is read of a product are bits.

use super::{Eval, Lane, Modifiers, both_halves};
use oriole_ir::ops::{Opcode, Type};

/// An integer type of PTX.
pub(super) trait Int: Copy + Ord {
    /// Width in bits.
    const BITS: u32;
    /// The value in the low bits of a word.
    fn of(word: u64) -> Self;
    /// The value, zero-extended.
    fn word(self) -> u64;
    /// The mathematical value.
    fn wide(self) -> i128;
    /// The value modulo 2^BITS.
    fn wrap(value: i128) -> Self;
    /// The nearest value of the type.
    fn saturate(value: i128) -> Self;
}

macro_rules! int {
    ($($int:ident $unsigned:ident),*) => {$(
        impl Int for $int {
            const BITS: u32 = $int::BITS;
            #[inline]
            fn of(word: u64) -> Self { word as $int }
            #[inline]
            fn word(self) -> u64 { u64::from(self as $unsigned) }
            #[inline]
            fn wide(self) -> i128 { i128::from(self) }
            #[inline]
            fn wrap(value: i128) -> Self { value as $int }
            #[inline]
            fn saturate(value: i128) -> Self { value.clamp($int::MIN.into(), $int::MAX.into()) as $int }
        }
    )*};
}
int!(u8 u8, i8 u8, u16 u16, i16 u16, u32 u32, i32 u32, u64 u64, i64 u64);

/// The function for an integer type, or `None` where the type is not one.
macro_rules! by_int {
    ($ty:expr, $f:ident) => {{
        let function: Option<Eval> = match $ty {
            Type::U16 | Type::B16 => Some($f::<u16>),
            Type::S16 => Some($f::<i16>),
            Type::U32 | Type::B32 => Some($f::<u32>),
            Type::S32 => Some($f::<i32>),
            Type::U64 | Type::B64 => Some($f::<u64>),
            Type::S64 => Some($f::<i64>),
            _ => None,
        };
        function
    }};
}
pub(super) use by_int;

/// As [`by_int!`], with a function of both halves for the packed types.
macro_rules! by_int_or_packed {
    ($ty:expr, $f:ident) => {{
        let function: Option<Eval> = match $ty {
            Type::U16x2 => Some(|m, s| Lane::of(both_halves(m, s, $f::<u16>))),
            Type::S16x2 => Some(|m, s| Lane::of(both_halves(m, s, $f::<i16>))),
            _ => by_int!($ty, $f),
        };
        function
    }};
}

/// The function for an opcode of this file.
pub(super) fn resolve(opcode: Opcode, mods: &Modifiers) -> Option<Eval> {
    let ty = mods.ty;
    match opcode {
        Opcode::IAdd if mods.sat => by_int!(ty, add_saturating),
        Opcode::IAdd => by_int_or_packed!(ty, add),
        Opcode::ISub if mods.sat => by_int!(ty, sub_saturating),
        Opcode::ISub => by_int!(ty, sub),
        Opcode::IMulLo => by_int!(ty, mul_lo),
        Opcode::IMulHi => by_int!(ty, mul_hi),
        Opcode::IMulWide => by_int!(ty, mul_wide),
        Opcode::IMadLo => by_int!(ty, mad_lo),
        Opcode::IMadHi => by_int!(ty, mad_hi),
        Opcode::IMadWide => by_int!(ty, mad_wide),
        Opcode::IMul24Lo => by_int!(ty, mul24_lo),
        Opcode::IMul24Hi => by_int!(ty, mul24_hi),
        Opcode::IMad24Lo => by_int!(ty, mad24_lo),
        Opcode::IMad24Hi => by_int!(ty, mad24_hi),
        Opcode::ISad => by_int!(ty, sad),
        Opcode::IDiv => by_int!(ty, div),
        Opcode::IRem => by_int!(ty, rem),
        Opcode::IAbs => by_int!(ty, abs),
        Opcode::INeg => by_int!(ty, neg),
        Opcode::IMin => by_int_or_packed!(ty, min),
        Opcode::IMax => by_int_or_packed!(ty, max),
        Opcode::IAddCarry => by_int!(ty, add_carry),
        Opcode::ISubCarry => by_int!(ty, sub_carry),
        Opcode::IMadLoCarry => by_int!(ty, mad_lo_carry),
        Opcode::IMadHiCarry => by_int!(ty, mad_hi_carry),
        Opcode::Dp4a => Some(dp4a),
        Opcode::Dp2a => Some(dp2a),
        _ => None,
    }
}

fn add<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::wrap(I::of(s[0]).wide() + I::of(s[1]).wide()).word())
}

fn add_saturating<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::saturate(I::of(s[0]).wide() + I::of(s[1]).wide()).word())
}

fn sub<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::wrap(I::of(s[0]).wide() - I::of(s[1]).wide()).word())
}

fn sub_saturating<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::saturate(I::of(s[0]).wide() - I::of(s[1]).wide()).word())
}

/// The product's bits; exact as a value for all types but `u64`.
#[inline]
fn product<I: Int>(s: &[u64; 5]) -> i128 {
    I::of(s[0]).wide().wrapping_mul(I::of(s[1]).wide())
}

/// The upper half of the product as a value of the type.
#[inline]
fn high_half<I: Int>(s: &[u64; 5]) -> I {
    I::wrap(product::<I>(s) >> I::BITS)
}

fn mul_lo<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::wrap(product::<I>(s)).word())
}

fn mul_hi<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(high_half::<I>(s).word())
}

/// The bits of a type twice as wide.
#[inline]
fn double_width<I: Int>(value: i128) -> u64 {
    value as u64 & u64::MAX >> (64 - 2 * I::BITS.min(32))
}

fn mul_wide<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(double_width::<I>(product::<I>(s)))
}

fn mad_lo<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::wrap(product::<I>(s).wrapping_add(I::of(s[2]).wide())).word())
}

fn mad_hi<I: Int>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(narrow::<I>(m, high_half::<I>(s).wide() + I::of(s[2]).wide()).word())
}

#[inline]
fn narrow<I: Int>(m: &Modifiers, value: i128) -> I {
    if m.sat { I::saturate(value) } else { I::wrap(value) }
}

fn mad_wide<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(double_width::<I>(product::<I>(s).wrapping_add(i128::from(s[2]))))
}

/// The low 24 bits, extended as the type says.
#[inline]
fn low24<I: Int>(word: u64) -> i128 {
    let bits = i128::from(word & 0xff_ffff);
    let signed = I::wrap(-1).wide() < 0;
    if signed && bits >> 23 != 0 { bits - (1 << 24) } else { bits }
}

#[inline]
fn product24<I: Int>(s: &[u64; 5]) -> i128 {
    low24::<I>(s[0]) * low24::<I>(s[1])
}

fn mul24_lo<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::wrap(product24::<I>(s)).word())
}

fn mul24_hi<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::wrap(product24::<I>(s) >> 16).word())
}

fn mad24_lo<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::wrap(product24::<I>(s) + I::of(s[2]).wide()).word())
}

fn mad24_hi<I: Int>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let high = I::wrap(product24::<I>(s) >> 16);
    Lane::of(narrow::<I>(m, high.wide() + I::of(s[2]).wide()).word())
}

fn sad<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    let difference = (I::of(s[0]).wide() - I::of(s[1]).wide()).abs();
    Lane::of(I::wrap(I::of(s[2]).wide() + difference).word())
}

/// A zero divisor leaves the quotient open; all ones is what current hardware gives. The quotient of the smallest
/// value and -1 wraps to the smallest value.
fn div<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    let (a, b) = (I::of(s[0]).wide(), I::of(s[1]).wide());
    match b {
        0 => Lane { value: I::wrap(-1).word(), second: 0, defined: false },
        _ => Lane::of(I::wrap(a / b).word()),
    }
}

/// A zero divisor leaves the remainder open; the dividend is what makes `a == b * q + r` hold.
fn rem<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    let (a, b) = (I::of(s[0]), I::of(s[1]).wide());
    match b {
        0 => Lane { value: a.word(), second: 0, defined: false },
        _ => Lane::of(I::wrap(a.wide() % b).word()),
    }
}

fn abs<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::wrap(I::of(s[0]).wide().abs()).word())
}

fn neg<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::wrap(-I::of(s[0]).wide()).word())
}

/// `.relu` also takes the larger of the result and zero.
#[inline]
fn rectify<I: Int>(m: &Modifiers, value: I) -> Lane {
    Lane::of(if m.relu { value.max(I::wrap(0)) } else { value }.word())
}

fn min<I: Int>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    rectify(m, I::of(s[0]).min(I::of(s[1])))
}

fn max<I: Int>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    rectify(m, I::of(s[0]).max(I::of(s[1])))
}

/// The sum of two values of the type, taken as unsigned, and a carry; with the carry out.
#[inline]
fn carry_sum<I: Int>(a: I, b: I, carry: u64) -> Lane {
    let sum = u128::from(a.word()) + u128::from(b.word()) + u128::from(carry & 1);
    Lane::pair(I::wrap(sum as i128).word(), sum >> I::BITS != 0)
}

fn add_carry<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    carry_sum(I::of(s[0]), I::of(s[1]), s[2])
}

/// The flag is the machine's carry, which is set where nothing is borrowed: `a + !b + carry`.
fn sub_carry<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    carry_sum(I::of(s[0]), I::wrap(!I::of(s[1]).wide()), s[2])
}

fn mad_lo_carry<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    carry_sum(I::wrap(product::<I>(s)), I::of(s[2]), s[3])
}

fn mad_hi_carry<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    carry_sum(high_half::<I>(s), I::of(s[2]), s[3])
}

/// A part of a word, `bits` wide, extended as the type says.
#[inline]
fn part(word: u64, index: u32, bits: u32, signed: bool) -> i64 {
    let low = word >> (index * bits) & ((1 << bits) - 1);
    if signed { ((low << (64 - bits)) as i64) >> (64 - bits) } else { low as i64 }
}

fn dp4a(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let lane = |i| part(s[0], i, 8, m.ty.is_signed()) * part(s[1], i, 8, m.second.is_signed());
    let sum = (0..4).map(lane).fold(s[2] as u32, |sum, product| sum.wrapping_add(product as u32));
    Lane::of(sum.into())
}

/// The second operand gives two bytes: those of its low or of its high half.
fn dp2a(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let first = if m.high { 2 } else { 0 };
    let lane = |i| part(s[0], i, 16, m.ty.is_signed()) * part(s[1], first + i, 8, m.second.is_signed());
    let sum = (0..2).map(lane).fold(s[2] as u32, |sum, product| sum.wrapping_add(product as u32));
    Lane::of(sum.into())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lane, value};
    use oriole_ir::ops::Opcode;

    const MIN32: u64 = 0x8000_0000;
    const MAX32: u64 = 0x7fff_ffff;

    #[test]
    fn sums_wrap_and_saturate() {
        assert_eq!(value(Opcode::IAdd, &["s32"], &[MAX32, 1]), MIN32);
        assert_eq!(value(Opcode::IAdd, &["sat", "s32"], &[MAX32, 1]), MAX32);
        assert_eq!(value(Opcode::ISub, &["sat", "s32"], &[MIN32, 1]), MIN32);
        assert_eq!(value(Opcode::IAdd, &["u64"], &[u64::MAX, 2]), 1);
        assert_eq!(value(Opcode::IAdd, &["u16x2"], &[0x0001_ffff, 0x0001_0001]), 0x0002_0000);
    }

    #[test]
    fn products() {
        assert_eq!(value(Opcode::IMulHi, &["u64"], &[u64::MAX, u64::MAX]), u64::MAX - 1);
        assert_eq!(value(Opcode::IMulHi, &["s64"], &[u64::MAX, u64::MAX]), 0);
        assert_eq!(value(Opcode::IMulHi, &["s16"], &[0x8000, 2]), 0xffff);
        assert_eq!(value(Opcode::IMulLo, &["u64"], &[u64::MAX, u64::MAX]), 1);
        assert_eq!(value(Opcode::IMulWide, &["s16"], &[0xffff, 2]), 0xffff_fffe);
        assert_eq!(value(Opcode::IMulWide, &["u16"], &[0xffff, 0xffff]), 0xfffe_0001);
        assert_eq!(value(Opcode::IMulWide, &["s32"], &[MIN32, 2]), 0xffff_ffff_0000_0000);
        assert_eq!(value(Opcode::IMadWide, &["s32"], &[0xffff_ffff, 1, 1]), 0);
        assert_eq!(value(Opcode::IMadHi, &["sat", "s32"], &[MAX32, MAX32, MAX32]), MAX32);
        assert_eq!(value(Opcode::IMadHi, &["s32"], &[MAX32, MAX32, MAX32]), 0xbfff_fffe);
    }

    #[test]
    fn products_of_24_bits() {
        // 0x800000 is -2^23 as a signed value; the upper byte is not read.
        assert_eq!(value(Opcode::IMul24Lo, &["s32"], &[0xaa80_0000, 1]), 0xff80_0000);
        assert_eq!(value(Opcode::IMul24Lo, &["u32"], &[0xaa80_0000, 1]), 0x0080_0000);
        assert_eq!(value(Opcode::IMul24Hi, &["u32"], &[0xff_ffff, 0xff_ffff]), 0xffff_fe00);
        assert_eq!(value(Opcode::IMul24Hi, &["s32"], &[0xff_ffff, 1]), 0xffff_ffff);
        assert_eq!(value(Opcode::IMad24Hi, &["sat", "s32"], &[0x7f_ffff, 0x7f_ffff, MAX32]), MAX32);
        assert_eq!(value(Opcode::IMad24Hi, &["u32"], &[0x10_0000, 0x10_0000, 5]), 0x0100_0005);
        assert_eq!(value(Opcode::IMad24Lo, &["s32"], &[0xff_ffff, 3, 5]), 2);
    }

    #[test]
    fn quotients() {
        assert_eq!(value(Opcode::IDiv, &["s32"], &[(-7i32 as u32).into(), 2]), u64::from(-3i32 as u32));
        assert_eq!(value(Opcode::IRem, &["s32"], &[(-7i32 as u32).into(), 2]), 0xffff_ffff);
        assert_eq!(value(Opcode::IDiv, &["s32"], &[MIN32, 0xffff_ffff]), MIN32);
        assert_eq!(value(Opcode::IRem, &["s64"], &[1 << 63, u64::MAX]), 0);
        for opcode in [Opcode::IDiv, Opcode::IRem] {
            assert!(!lane(opcode, &["u32"], &[5, 0]).defined);
            assert!(lane(opcode, &["u32"], &[5, 1]).defined);
        }
    }

    #[test]
    fn differences_and_extremes() {
        assert_eq!(value(Opcode::ISad, &["s32"], &[MIN32, MAX32, 1]), 0);
        assert_eq!(value(Opcode::ISad, &["u32"], &[2, 5, 10]), 13);
        assert_eq!(value(Opcode::IAbs, &["s16"], &[0x8000]), 0x8000);
        assert_eq!(value(Opcode::INeg, &["s64"], &[1]), u64::MAX);
        assert_eq!(value(Opcode::IMin, &["relu", "s32"], &[0xffff_ffff, 3]), 0);
        assert_eq!(value(Opcode::IMax, &["s16x2"], &[0x8000_0001, 0x0001_ffff]), 0x0001_0001);
        assert_eq!(value(Opcode::IMin, &["relu", "s16x2"], &[0x8000_0005, 0x0001_0003]), 3);
        assert_eq!(value(Opcode::IMin, &["u16x2"], &[0x8000_0001, 0x0001_ffff]), 0x0001_0001);
    }

    #[test]
    fn carries() {
        let pair = |opcode, ty: &str, operands: &[u64]| {
            let lane = lane(opcode, &[ty], operands);
            (lane.value, lane.second)
        };
        assert_eq!(pair(Opcode::IAddCarry, "u32", &[0xffff_ffff, 0, 1]), (0, 1));
        assert_eq!(pair(Opcode::IAddCarry, "s32", &[MAX32, 1, 0]), (MIN32, 0));
        assert_eq!(pair(Opcode::IAddCarry, "u64", &[u64::MAX, u64::MAX, 1]), (u64::MAX, 1));
        assert_eq!(pair(Opcode::ISubCarry, "u32", &[0, 0, 0]), (0xffff_ffff, 0));
        assert_eq!(pair(Opcode::ISubCarry, "u32", &[5, 5, 1]), (0, 1));
        assert_eq!(pair(Opcode::ISubCarry, "u64", &[5, u64::MAX, 0]), (5, 0));
        assert_eq!(pair(Opcode::IMadLoCarry, "u32", &[0x10000, 0x10000, 0xffff_ffff, 1]), (0, 1));
        assert_eq!(pair(Opcode::IMadHiCarry, "u32", &[0x10000, 0x10000, 0xffff_ffff, 0]), (0, 1));
        assert_eq!(pair(Opcode::IMadHiCarry, "s32", &[0xffff_ffff, 1, 1, 0]), (0, 1));
    }

    #[test]
    fn dot_products() {
        assert_eq!(value(Opcode::Dp4a, &["u32", "u32"], &[0xff02_0304, 0x0101_0101, 1]), 255 + 2 + 3 + 4 + 1);
        assert_eq!(value(Opcode::Dp4a, &["s32", "u32"], &[0xff00_0000, 0xff00_0000, 0]), u64::from(-255i32 as u32));
        assert_eq!(value(Opcode::Dp2a, &["lo", "s32", "s32"], &[0xffff_0002, 0x0405_0203, 0]), 4);
        assert_eq!(value(Opcode::Dp2a, &["hi", "u32", "u32"], &[0xffff_0002, 0x0405_0203, 0]), 0x3_fffc + 10);
    }
}
