//! Approximate functions: one fixed definition each, within the error that the PTX ISA documents.
//!
//! A function is computed in f64 by the `libm` crate (pure Rust, the same bits on every machine) and rounded to the
//! result type, so that the error is half a unit in the last place and a little. PTX ISA 9.0 allows:
//!
//! | instruction | documented bound |
//! |---|---|
//! | `div.approx.f32`, `div.full.f32` | 2 units in the last place |
//! | `rcp.approx.f32` | 1 unit in the last place |
//! | `sqrt.approx.f32` | relative 2^-23 |
//! | `rsqrt.approx.f32` | relative 2^-22.9 |
//! | `sin.approx.f32`, `cos.approx.f32` | absolute 2^-20.5 in [-2 pi, 2 pi], 2^-14.7 in [-100 pi, 100 pi] |
//! | `lg2.approx.f32` | absolute 2^-22 in (0.5, 2), relative 2^-22 outside |
//! | `ex2.approx.f32` | 2 units in the last place and the argument's |
//! | `tanh.approx.f32` | relative 2^-11 |
//! | `ex2.approx.f16`, `tanh.approx.f16` | relative 2^-9.9, absolute 2^-10.987 |
//! | `ex2.approx.ftz.bf16`, `tanh.approx.bf16` | relative 2^-7, absolute 2^-8 |
//! | `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64` | only the upper 32 bits are read and written |
//!
//! Half a unit of f32 is at most a relative 2^-24. Special inputs give what the ISA's tables say, which is what the
//! functions do by themselves, but for large divisors of `div.approx`.

use super::float::{Float, by_float, finish, input};
use super::half::{Bf16, F16};
use super::{Eval, Lane, Modifiers, both_halves};
use oriole_ir::ops::{Approx, Opcode, Type};

/// The function for an opcode of this file, that is, with `.approx` or `.full`.
pub(super) fn resolve(opcode: Opcode, mods: &Modifiers) -> Option<Eval> {
    let ty = mods.ty;
    match (opcode, mods.approx) {
        (_, Approx::Exact) => None,
        (Opcode::FDiv, Approx::Approx) => Some(div_approx),
        (Opcode::FDiv, Approx::Full) => by_float!(ty, div_full),
        (Opcode::FRcp, _) if ty == Type::F64 => Some(|m, s| upper_word(m, s, |x| 1.0 / x)),
        (Opcode::FRcp, _) => by_float!(ty, rcp),
        (Opcode::FSqrt, _) => by_float!(ty, sqrt),
        (Opcode::FRsqrt, _) if ty == Type::F64 && mods.ftz => Some(|m, s| upper_word(m, s, rsqrt_value)),
        (Opcode::FRsqrt, _) => by_float!(ty, rsqrt),
        (Opcode::FSin, _) => by_float!(ty, sin),
        (Opcode::FCos, _) => by_float!(ty, cos),
        (Opcode::FLg2, _) => by_float!(ty, lg2),
        (Opcode::FEx2, _) => by_float!(ty, ex2),
        (Opcode::FTanh, _) => by_float!(ty, tanh),
        _ => None,
    }
}

/// A function of one operand, rounded once.
fn unary<F: Float>(m: &Modifiers, s: &[u64; 5], function: fn(f64) -> f64) -> Lane {
    finish(m, F::nearest(function(input::<F>(m, s[0]).to_f64())))
}

fn rcp<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    unary::<F>(m, s, |x| 1.0 / x)
}

fn sqrt<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    unary::<F>(m, s, f64::sqrt)
}

fn rsqrt<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    unary::<F>(m, s, rsqrt_value)
}

/// The square root keeps the sign of a zero, so that -0 gives -infinity.
fn rsqrt_value(x: f64) -> f64 {
    1.0 / x.sqrt()
}

fn sin<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    unary::<F>(m, s, |x| sin_of_turns(turns(x)))
}

fn cos<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    unary::<F>(m, s, |x| cos_of_turns(turns(x)))
}

/// An angle in radians as single floats give it, in turns: rounded towards zero, as code that ptxas makes does it. The
/// error grows with the angle, of which the ISA says nothing beyond 100 pi.
fn turns(radians: f64) -> f64 {
    const TURNS_OF_RADIAN: f32 = f32::from_bits(0x3e22_f983);
    // The product of two single floats is exact.
    let exact = radians * f64::from(TURNS_OF_RADIAN);
    let nearest = exact as f32;
    f64::from(if f64::from(nearest).abs() > exact.abs() { f32::from_bits(nearest.to_bits() - 1) } else { nearest })
}

/// The sine of so many turns. A zero keeps its sign.
pub fn sin_of_turns(turns: f64) -> f64 {
    libm::sin(turns % 1.0 * std::f64::consts::TAU)
}

/// The cosine of so many turns.
pub fn cos_of_turns(turns: f64) -> f64 {
    libm::cos(turns % 1.0 * std::f64::consts::TAU)
}

fn lg2<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    unary::<F>(m, s, libm::log2)
}

fn ex2<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    unary::<F>(m, s, libm::exp2)
}

fn tanh<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    unary::<F>(m, s, libm::tanh)
}

/// The f64 quotient of two f32 has more than twice their digits, so that rounding it again changes nothing.
fn div_full<F: Float>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    finish(m, input::<F>(m, s[0]).div(input(m, s[1])))
}

/// `a * (1 / b)`: for |b| above 2^126 the reciprocal is subnormal and counts as zero, so that the quotient is zero, or
/// NaN for infinite `a`.
fn div_approx(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (a, b) = (input::<f32>(m, s[0]), input::<f32>(m, s[1]));
    let large = b.abs() > f32::from_bits(0x7e80_0000) && b.is_finite();
    finish(m, if large { a * 0f32.copysign(b) } else { a / b })
}

/// A function of the upper word of an f64, of which the upper word is kept, rounded to nearest. A NaN whose upper word
/// is that of an infinity counts as one. Subnormal values are flushed whatever is written, since this form exists only
/// with `.ftz`.
fn upper_word(_: &Modifiers, s: &[u64; 5], function: fn(f64) -> f64) -> Lane {
    const UPPER: u64 = 0xffff_ffff_0000_0000;
    let result = function(f64::of(s[0] & UPPER).flush());
    if result.is_nan() {
        return Lane::of(<f64 as Float>::NAN);
    }
    Lane::of(f64::of((result.word() + (1 << 31)) & UPPER).flush().word())
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use oriole_ir::ops::Opcode;

    const INFINITY: u64 = 0x7f80_0000;
    const MINUS: u64 = 0x8000_0000;
    const NAN: u64 = 0x7fff_ffff;
    const ONE: u64 = 0x3f80_0000;

    fn f32_op(opcode: Opcode, words: &[u64]) -> u64 {
        value(opcode, &["approx", "f32"], words)
    }

    /// The tables of special inputs, instruction by instruction.
    #[test]
    fn special_inputs() {
        let table = |opcode| [MINUS | INFINITY, MINUS, 0, INFINITY, 0x7fc1_2345].map(|word| f32_op(opcode, &[word]));
        assert_eq!(table(Opcode::FRcp), [MINUS, MINUS | INFINITY, INFINITY, 0, NAN]);
        assert_eq!(table(Opcode::FSqrt), [NAN, MINUS, 0, INFINITY, NAN]);
        assert_eq!(table(Opcode::FRsqrt), [NAN, MINUS | INFINITY, INFINITY, 0, NAN]);
        assert_eq!(table(Opcode::FSin), [NAN, MINUS, 0, NAN, NAN]);
        assert_eq!(table(Opcode::FCos), [NAN, ONE, ONE, NAN, NAN]);
        assert_eq!(table(Opcode::FLg2), [NAN, MINUS | INFINITY, MINUS | INFINITY, INFINITY, NAN]);
        assert_eq!(table(Opcode::FEx2), [0, ONE, ONE, INFINITY, NAN]);
        assert_eq!(table(Opcode::FTanh), [MINUS | ONE, MINUS, 0, ONE, NAN]);
    }

    #[test]
    fn flushing_makes_subnormals_zeros() {
        let run = |opcode, word| value(opcode, &["approx", "ftz", "f32"], &[word]);
        assert_eq!(run(Opcode::FRcp, MINUS | 1), MINUS | INFINITY);
        assert_eq!(run(Opcode::FLg2, 1), MINUS | INFINITY);
        assert_eq!(run(Opcode::FSin, MINUS | 1), MINUS);
        assert_eq!(run(Opcode::FEx2, 0xc2fe_0000), 0);
        assert_eq!(f32_op(Opcode::FEx2, &[0xc2fe_0000]), 0x0040_0000);
        assert_eq!(f32_op(Opcode::FRcp, &[0x7f00_0000]), 0x0040_0000);
        assert_eq!(run(Opcode::FRcp, 0x7f00_0000), 0);
    }

    #[test]
    fn large_divisors() {
        let div = |a, b| f32_op(Opcode::FDiv, &[a, b]);
        assert_eq!(div(ONE, 0x7f00_0000), 0);
        assert_eq!(div(INFINITY, 0x7f00_0000), NAN);
        assert_eq!(div(MINUS | ONE, INFINITY), MINUS);
        assert_eq!(div(ONE, 0x7e80_0000), 0x0080_0000);
        assert_eq!(value(Opcode::FDiv, &["full", "f32"], &[0x7f00_0000, 0x7f00_0000]), ONE);
    }

    #[test]
    fn f64_forms_have_an_empty_lower_word() {
        let run = |opcode, x: f64| value(opcode, &["approx", "ftz", "f64"], &[x.to_bits()]);
        assert_eq!(run(Opcode::FRcp, 4.0), 0.25f64.to_bits());
        let third = run(Opcode::FRcp, 3.0);
        assert_eq!(third & 0xffff_ffff, 0);
        assert!((f64::from_bits(third) * 3.0 - 1.0).abs() < 2f64.powi(-20));
        assert_eq!(run(Opcode::FRcp, -0.0), f64::NEG_INFINITY.to_bits());
        assert_eq!(run(Opcode::FRcp, f64::MIN_POSITIVE / 2.0), f64::INFINITY.to_bits());
        assert_eq!(run(Opcode::FRcp, 1.5 * 2f64.powi(1023)), 0);
        assert_eq!(run(Opcode::FRsqrt, 16.0), 0.25f64.to_bits());
        assert_eq!(value(Opcode::FRsqrt, &["approx", "f64"], &[2f64.to_bits()]), (1.0 / 2f64.sqrt()).to_bits());
    }

    /// Against the host's own functions, which the interpreter does not use; the bounds are the ISA's.
    #[test]
    fn errors_are_within_the_documented_bounds() {
        let run = |opcode, x: f32| f64::from(f32::from_bits(f32_op(opcode, &[x.to_bits().into()]) as u32));
        let relative = |got: f64, exact: f64| ((got - exact) / exact).abs();
        for step in 1..4000 {
            let x = step as f32 * 0.001_57;
            let exact = f64::from(x);
            assert!((run(Opcode::FSin, x) - exact.sin()).abs() <= 2f64.powf(-20.5));
            assert!((run(Opcode::FCos, -x) - exact.cos()).abs() <= 2f64.powf(-20.5));
            assert!(relative(run(Opcode::FEx2, x), exact.exp2()) <= 2f64.powi(-22));
            assert!(relative(run(Opcode::FEx2, -20.0 * x), f64::from(-20.0 * x).exp2()) <= 2f64.powi(-22));
            assert!((run(Opcode::FLg2, x) - exact.log2()).abs() <= 2f64.powi(-22) * exact.log2().abs().max(1.0));
            assert!(relative(run(Opcode::FTanh, x), exact.tanh()) <= 2f64.powi(-11));
            assert!(relative(run(Opcode::FRsqrt, x), 1.0 / exact.sqrt()) <= 2f64.powf(-22.9));
            assert!(relative(run(Opcode::FSqrt, x), exact.sqrt()) <= 2f64.powi(-23));
            assert!(relative(run(Opcode::FRcp, x), 1.0 / exact) <= 2f64.powi(-23));
        }
    }

    #[test]
    fn half_precision() {
        let run = |opcode, ty: &str, word| value(opcode, &["approx", ty], &[word]);
        assert_eq!(run(Opcode::FEx2, "f16", 0x4000), 0x4400);
        assert_eq!(run(Opcode::FEx2, "f16x2", 0x4000_fc00), 0x4400_0000);
        assert_eq!(value(Opcode::FEx2, &["approx", "ftz", "bf16"], &[0xbf80]), 0x3f00);
        assert_eq!(run(Opcode::FTanh, "bf16x2", 0x7f80_ff80), 0x3f80_bf80);
    }
}
