//! Half precision: f16 and bf16 values, computed in f64 and rounded once.
//!
//! Sums and products: an f16 sum or product fits the 53 bits of an f64 exactly. A bf16 product does too; a bf16 sum
//! may not, but rounding it to 53 bits and then to 8 is the same as rounding once, since 53 >= 2 * 8 + 2 (Figueroa,
//! "When is double rounding innocuous?", 1995), and a sum in the subnormal range is exact.
//!
//! Fused operations: the product is exact in f64, and the sum is rounded to odd, that is, its last bit is set where
//! anything was lost. Rounding to odd with at least two extra bits never disturbs a second rounding (Boldo and
//! Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
//!
//! Quotients and roots of these types do not exist in PTX; they are there for the trait, with the same bound:
//! 53 >= 2 * 11 + 2.

use super::float::Float;
use super::round::{BF16, F16 as F16_FORMAT, Format, from_f64};
use oriole_ir::ops::Rounding;
use rustc_apfloat::ieee;

/// An f16 value.
#[derive(Clone, Copy)]
pub(super) struct F16(u16);

/// A bf16 value.
#[derive(Clone, Copy)]
pub(super) struct Bf16(u16);

macro_rules! half_float {
    ($half:ident $fraction:literal $format:ident $soft:ident) => {
        impl Float for $half {
            const BITS: u32 = 16;
            const FRACTION: u32 = $fraction;
            const NAN: u64 = 0x7fff;
            type Soft = ieee::$soft;
            fn of(word: u64) -> Self {
                $half(word as u16)
            }
            fn word(self) -> u64 {
                self.0.into()
            }
            fn to_f64(self) -> f64 {
                widen(&$format, self.0)
            }
            fn nearest(value: f64) -> Self {
                $half(from_f64(&$format, value, Rounding::Rn) as u16)
            }
            fn add(self, other: Self) -> Self {
                Self::nearest(self.to_f64() + other.to_f64())
            }
            fn mul(self, other: Self) -> Self {
                Self::nearest(self.to_f64() * other.to_f64())
            }
            fn div(self, other: Self) -> Self {
                Self::nearest(self.to_f64() / other.to_f64())
            }
            fn sqrt(self) -> Self {
                Self::nearest(self.to_f64().sqrt())
            }
            fn fma(self, factor: Self, addend: Self) -> Self {
                Self::nearest(sum_to_odd(self.to_f64() * factor.to_f64(), addend.to_f64()))
            }
        }
    };
}
half_float!(F16 10 F16_FORMAT Half);
half_float!(Bf16 7 BF16 BFloat);

fn widen(format: &Format, bits: u16) -> f64 {
    super::round::to_f64(format, bits.into())
}

/// The sum, rounded to odd. Knuth's two-sum gives the rounding error exactly; it cannot overflow here.
pub(super) fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if !sum.is_finite() {
        return sum;
    }
    let b_part = sum - a;
    let error = (a - (sum - b_part)) + (b - b_part);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // The exact sum lies between two neighbours, one of them `sum`; the other one is odd.
    if (error > 0.0) == (sum > 0.0) { f64::from_bits(sum.to_bits() + 1) } else { f64::from_bits(sum.to_bits() - 1) }
}
