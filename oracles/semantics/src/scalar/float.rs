//! Floating-point arithmetic (PTX ISA, "Floating-Point Instructions" and "Half Precision Floating-Point
//! Instructions").
//!
//! Round-to-nearest runs on the host's arithmetic, which is IEEE 754 and the same on every machine; directed rounding
//! runs on `rustc_apfloat`, which also judges the host in the tests. `.ftz` replaces subnormal inputs, and results
//! that are subnormal after rounding, by zeros of their sign. `.sat` maps NaN to +0 and -0 to +0.

use super::half::{Bf16, F16};
use super::{Eval, Lane, Modifiers, both_halves};
use oriole_ir::ops::{Approx, Opcode, Rounding, TestProperty, Type};
use rustc_apfloat::{Float as _, Round, ieee};

/// A binary floating-point type of PTX.
pub(super) trait Float: Copy {
    /// Width in bits.
    const BITS: u32;
    /// Width of the fraction field.
    const FRACTION: u32;
    /// The bits of the NaN that arithmetic yields.
    const NAN: u64;
    /// The format for directed rounding.
    type Soft: rustc_apfloat::Float;

    /// The value in the low bits of a word.
    fn of(word: u64) -> Self;
    /// Its bits, zero-extended.
    fn word(self) -> u64;
    /// The value, exactly.
    fn to_f64(self) -> f64;
    /// The nearest value, ties to even.
    fn nearest(value: f64) -> Self;
    /// Sum, rounded to nearest even.
    fn add(self, other: Self) -> Self;
    /// Product, rounded to nearest even.
    fn mul(self, other: Self) -> Self;
    /// Quotient, rounded to nearest even.
    fn div(self, other: Self) -> Self;
    /// Square root, rounded to nearest even.
    fn sqrt(self) -> Self;
    /// Product plus a value, rounded once to nearest even.
    fn fma(self, factor: Self, addend: Self) -> Self;

    /// The sign bit.
    const SIGN: u64 = 1 << (Self::BITS - 1);
    /// The bits of infinity: all of the exponent field.
    const INFINITY: u64 = (Self::SIGN - 1) & !((1 << Self::FRACTION) - 1);
    /// The bits of one: the exponent field without its highest bit.
    const ONE: u64 = Self::INFINITY & Self::INFINITY >> 1;

    /// The bits without the sign.
    #[inline]
    fn magnitude(self) -> u64 {
        self.word() & (Self::SIGN - 1)
    }
    #[inline]
    fn is_nan(self) -> bool {
        self.magnitude() > Self::INFINITY
    }
    #[inline]
    fn is_negative(self) -> bool {
        self.word() & Self::SIGN != 0
    }
    #[inline]
    fn is_subnormal(self) -> bool {
        self.magnitude() != 0 && self.magnitude() & Self::INFINITY == 0
    }
    /// Zero of the same sign for a subnormal value.
    #[inline]
    fn flush(self) -> Self {
        if self.is_subnormal() { Self::of(self.word() & Self::SIGN) } else { self }
    }
    /// The value with the other sign.
    #[inline]
    fn negate(self) -> Self {
        Self::of(self.word() ^ Self::SIGN)
    }
    /// For [`Float::Soft`].
    fn soft(self) -> Self::Soft {
        Self::Soft::from_bits(self.word().into())
    }
}

macro_rules! host_float {
    ($float:ident $int:ident $fraction:literal $nan:literal $soft:ident) => {
        impl Float for $float {
            const BITS: u32 = $int::BITS;
            const FRACTION: u32 = $fraction;
            const NAN: u64 = $nan;
            type Soft = ieee::$soft;
            #[inline]
            fn of(word: u64) -> Self {
                $float::from_bits(word as $int)
            }
            #[inline]
            fn word(self) -> u64 {
                self.to_bits().into()
            }
            #[inline]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline]
            fn nearest(value: f64) -> Self {
                value as $float
            }
            #[inline]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline]
            fn fma(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }
        }
    };
}
host_float!(f32 u32 23 0x7fff_ffff Single);
host_float!(f64 u64 52 0x7ff8_0000_0000_0000 Double);

/// The function for a floating-point type, of both halves for a packed one.
macro_rules! by_float {
    ($ty:expr, $f:ident) => {{
        let function: Option<Eval> = match $ty {
            Type::F32 => Some($f::<f32>),
            Type::F64 => Some($f::<f64>),
            Type::F16 => Some($f::<F16>),
            Type::Bf16 => Some($f::<Bf16>),
            Type::F16x2 => Some(|m, s| Lane::of(both_halves(m, s, $f::<F16>))),
            Type::Bf16x2 => Some(|m, s| Lane::of(both_halves(m, s, $f::<Bf16>))),
            _ => None,
        };
        function
    }};
}

pub(super) use by_float;

/// The function for an opcode of this file. Approximate functions are not among them.
pub(super) fn resolve(opcode: Opcode, mods: &Modifiers) -> Option<Eval> {
    let ty = mods.ty;
    let directed = matches!(mods.rounding, Rounding::Rz | Rounding::Rm | Rounding::Rp);
    match opcode {
        _ if mods.approx != Approx::Exact => None,
        Opcode::FAdd if directed => by_float!(ty, add_directed),
        Opcode::FAdd => by_float!(ty, add),
        Opcode::FSub if directed => by_float!(ty, sub_directed),
        Opcode::FSub => by_float!(ty, sub),
        Opcode::FMul if directed => by_float!(ty, mul_directed),
        Opcode::FMul => by_float!(ty, mul),
        Opcode::FFma if directed => by_float!(ty, fma_directed),
        Opcode::FFma => by_float!(ty, fma),
        Opcode::FDiv if directed => by_float!(ty, div_directed),
        Opcode::FDiv => by_float!(ty, div),
        Opcode::FRcp if directed => by_float!(ty, rcp_directed),
        Opcode::FRcp => by_float!(ty, rcp),
        Opcode::FSqrt if directed => by_float!(ty, sqrt_directed),
        Opcode::FSqrt => by_float!(ty, sqrt),
        Opcode::FAbs => by_float!(ty, abs),
        Opcode::FNeg => by_float!(ty, neg),
        Opcode::FMin => by_float!(ty, min),
        Opcode::FMax => by_float!(ty, max),
        Opcode::TestP => by_float!(ty, testp),
        Opcode::CopySign => by_float!(ty, copysign),
        _ => None,
    }
}

/// An operand, flushed under `.ftz`.
#[inline]
pub(super) fn input<F: Float>(m: &Modifiers, word: u64) -> F {
    let value = F::of(word);
    if m.ftz { value.flush() } else { value }
}

/// A result: canonical NaN, flushing, saturation and rectification.
#[inline]
pub(super) fn finish<F: Float>(m: &Modifiers, value: F) -> Lane {
    if value.is_nan() {
        return Lane::of(if m.sat { 0 } else { F::NAN });
    }
    let value = if m.ftz { value.flush() } else { value };
    if value.is_negative() && (m.sat || m.relu) {
        return Lane::of(0);
    }
    if m.sat && value.word() > F::ONE { Lane::of(F::ONE) } else { Lane::of(value.word()) }
}

fn add<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    finish(m, input::<F>(m, s[0]).add(input(m, s[1])))
}

fn sub<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    finish(m, input::<F>(m, s[0]).add(input::<F>(m, s[1]).negate()))
}

fn mul<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    finish(m, input::<F>(m, s[0]).mul(input(m, s[1])))
}

/// The NaN, of either sign, that stands for an element beyond a tensor, in both formats of 16 bits. PTX does not say
/// which it is; an H200 makes a result zero for this one as a factor, whatever the others are, and for no other.
const OOB_NAN: u64 = 0x7ff7;

fn fma<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let [a, b, c] = [s[0], s[1], s[2]].map(|word| input::<F>(m, word));
    let is_beyond = |word: u64| word & (F::SIGN - 1) == OOB_NAN;
    if m.oob && (is_beyond(s[0]) || is_beyond(s[1])) {
        return Lane::of(0);
    }
    finish(m, a.fma(b, c))
}

fn div<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    finish(m, input::<F>(m, s[0]).div(input(m, s[1])))
}

fn rcp<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    finish(m, F::of(F::ONE).div(input(m, s[0])))
}

fn sqrt<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    finish(m, input::<F>(m, s[0]).sqrt())
}

/// The rounding of `rustc_apfloat`.
pub(super) fn soft_round(rounding: Rounding) -> Round {
    match rounding {
        Rounding::Rz | Rounding::Rzi => Round::TowardZero,
        Rounding::Rm | Rounding::Rmi => Round::TowardNegative,
        Rounding::Rp | Rounding::Rpi => Round::TowardPositive,
        Rounding::Rna => Round::NearestTiesToAway,
        Rounding::Default | Rounding::Rn | Rounding::Rni => Round::NearestTiesToEven,
    }
}

/// A software result as a value of the type.
fn hard<F: Float>(value: F::Soft) -> F {
    F::of(value.to_bits() as u64)
}

fn add_directed<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (a, b) = (input::<F>(m, s[0]), input::<F>(m, s[1]));
    finish::<F>(m, hard(a.soft().add_r(b.soft(), soft_round(m.rounding)).value))
}

fn sub_directed<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (a, b) = (input::<F>(m, s[0]), input::<F>(m, s[1]));
    finish::<F>(m, hard(a.soft().sub_r(b.soft(), soft_round(m.rounding)).value))
}

fn mul_directed<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (a, b) = (input::<F>(m, s[0]), input::<F>(m, s[1]));
    finish::<F>(m, hard(a.soft().mul_r(b.soft(), soft_round(m.rounding)).value))
}

fn fma_directed<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let [a, b, c] = [s[0], s[1], s[2]].map(|word| input::<F>(m, word).soft());
    finish::<F>(m, hard(a.mul_add_r(b, c, soft_round(m.rounding)).value))
}

fn div_directed<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (a, b) = (input::<F>(m, s[0]), input::<F>(m, s[1]));
    finish::<F>(m, hard(a.soft().div_r(b.soft(), soft_round(m.rounding)).value))
}

fn rcp_directed<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (one, a) = (F::of(F::ONE), input::<F>(m, s[0]));
    finish::<F>(m, hard(one.soft().div_r(a.soft(), soft_round(m.rounding)).value))
}

/// The nearest root, moved by one unit where it lies on the wrong side of the exact one. Which side that is, the sign
/// of `nearest^2 - x` tells, which a fused operation gives exactly. A root is never subnormal.
fn sqrt_directed<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let x = input::<F>(m, s[0]);
    let nearest = x.sqrt();
    if nearest.is_nan() || nearest.magnitude() == 0 || nearest.magnitude() == F::INFINITY {
        return finish(m, nearest);
    }
    let (x, root) = (x.soft(), nearest.soft());
    // With the root between 1 and 2 the residue is neither too large nor too small to be exact.
    let shift = -root.ilogb();
    let excess = root.scalbn(shift).mul_add_r(root.scalbn(shift), -x.scalbn(2 * shift), Round::NearestTiesToEven).value;
    let word = match m.rounding {
        Rounding::Rp if excess.is_negative() => nearest.word() + 1,
        Rounding::Rz | Rounding::Rm if !excess.is_negative() && !excess.is_zero() => nearest.word() - 1,
        _ => nearest.word(),
    };
    finish(m, F::of(word))
}

fn abs<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(input::<F>(m, s[0]).magnitude())
}

fn neg<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(input::<F>(m, s[0]).negate().word())
}

fn min<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    extreme::<F>(m, s, smaller)
}

fn max<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    extreme::<F>(m, s, larger)
}

/// Minimum and maximum with their modifiers: `.NaN` lets a NaN win, `.xorsign.abs` compares magnitudes and gives the
/// result the product's sign.
#[inline]
fn extreme<F: Float>(m: &Modifiers, s: &[u64; 5], choose: fn(F, F) -> u64) -> Lane {
    let (a, b) = (input::<F>(m, s[0]), input::<F>(m, s[1]));
    if m.nan && (a.is_nan() || b.is_nan()) {
        return Lane::of(F::NAN);
    }
    if !m.xor_sign {
        return Lane::of(choose(a, b));
    }
    let result = choose(F::of(a.magnitude()), F::of(b.magnitude()));
    let sign = (a.word() ^ b.word()) & F::SIGN;
    Lane::of(if F::of(result).is_nan() { result } else { result | sign })
}

/// The smaller number's bits, -0 being smaller than +0; a NaN only where both are.
#[inline]
pub(super) fn smaller<F: Float>(a: F, b: F) -> u64 {
    number_first(a, b, rank(a) < rank(b))
}

/// The larger number's bits, likewise.
#[inline]
pub(super) fn larger<F: Float>(a: F, b: F) -> u64 {
    number_first(a, b, rank(a) > rank(b))
}

#[inline]
fn number_first<F: Float>(a: F, b: F, a_wins: bool) -> u64 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => F::NAN,
        (true, false) => b.word(),
        (false, true) => a.word(),
        (false, false) => if a_wins { a } else { b }.word(),
    }
}

/// A number's place in the order of values.
#[inline]
fn rank<F: Float>(value: F) -> i64 {
    let magnitude = value.magnitude() as i64;
    if value.is_negative() { !magnitude } else { magnitude }
}

/// Zeros count as normal.
fn testp<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let value = F::of(s[0]);
    let finite = value.magnitude() < F::INFINITY;
    Lane::of(u64::from(match m.test {
        TestProperty::Finite => finite,
        TestProperty::Infinite => value.magnitude() == F::INFINITY,
        TestProperty::Number => !value.is_nan(),
        TestProperty::NotANumber => value.is_nan(),
        TestProperty::Normal => finite && !value.is_subnormal(),
        TestProperty::Subnormal => value.is_subnormal(),
    }))
}

/// The first operand's sign on the second operand's magnitude.
fn copysign<F: Float>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(s[0] & F::SIGN | F::of(s[1]).magnitude())
}
