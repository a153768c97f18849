//! The host's arithmetic and our own rounding against `rustc_apfloat`, on corner values and at random.

use super::float::{Float, soft_round};
use super::half::{Bf16, F16};
use super::tests::value;
use super::{Opcode, Rounding, round};
use oriole_ir::ops::FieldValue;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rustc_apfloat::{Float as _, FloatConvert, ieee};

/// Values at the borders of a format: zeros, subnormals, around one and the largest, infinities, NaN, all signs.
fn corners<F: Float>() -> Vec<u64> {
    let normal = 1 << F::FRACTION;
    let magnitudes = [0, 1, 2, normal - 1, normal, normal + 1, F::ONE - 1, F::ONE, F::ONE + 1, 3 * F::ONE / 2];
    let large = [F::INFINITY - normal, F::INFINITY - 1, F::INFINITY, F::INFINITY + 1, F::NAN & !F::SIGN];
    magnitudes.into_iter().chain(large).flat_map(|m| [m, m | F::SIGN]).collect()
}

/// Corner triples, then random ones whose exponents are close to each other half of the time.
fn triples<F: Float>(seed: u64) -> Vec<[u64; 3]> {
    let corners = corners::<F>();
    let mut triples = Vec::new();
    for &a in &corners {
        for &b in &corners {
            triples.extend(corners.iter().step_by(3).map(|&c| [a, b, c]));
        }
    }
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..3000 {
        let mut word = || random.random::<u64>() & (F::SIGN | (F::SIGN - 1));
        let (a, b, c) = (word(), word(), word());
        let near = |w: u64| w & !F::INFINITY | a & F::INFINITY;
        triples.extend([[a, b, c], [a, near(b), near(c)], [near(b), F::ONE | b & (F::ONE >> 2), near(c)]]);
    }
    triples
}

fn check<F: Float>(name: &str, roundings: &[&str], seed: u64) {
    let word = |soft: F::Soft| if soft.is_nan() { F::NAN } else { soft.to_bits() as u64 };
    for rounding in roundings {
        let mode = soft_round(Rounding::ALL[usize::from(Rounding::FIELD.value_index(rounding).expect("a rounding"))]);
        let names = [*rounding, name];
        for [a, b, c] in triples::<F>(seed) {
            let [x, y, z] = [a, b, c].map(|w| F::of(w).soft());
            let run = |opcode, operands: &[u64]| value(opcode, &names, operands);
            let place = format!("{names:?} {a:x} {b:x} {c:x}");
            assert_eq!(run(Opcode::FAdd, &[a, b]), word(x.add_r(y, mode).value), "add {place}");
            assert_eq!(run(Opcode::FSub, &[a, b]), word(x.sub_r(y, mode).value), "sub {place}");
            assert_eq!(run(Opcode::FMul, &[a, b]), word(x.mul_r(y, mode).value), "mul {place}");
            assert_eq!(run(Opcode::FFma, &[a, b, c]), word(x.mul_add_r(y, z, mode).value), "fma {place}");
            if F::BITS > 16 {
                assert_eq!(run(Opcode::FDiv, &[a, b]), word(x.div_r(y, mode).value), "div {place}");
            }
        }
    }
}

#[test]
fn arithmetic_agrees() {
    check::<f32>("f32", &["rn", "rz", "rm", "rp"], 1);
    check::<f64>("f64", &["rn", "rz", "rm", "rp"], 2);
    check::<F16>("f16", &["rn"], 3);
    check::<Bf16>("bf16", &["rn"], 4);
}

/// Whether `root` is the root of `x` rounded in this direction, judged in a format where squares are exact.
fn is_root<F: Float>(x: u64, root: u64, rounding: &str) -> bool
where
    F::Soft: FloatConvert<ieee::Quad>,
{
    let wide = |word: u64| F::of(word).soft().convert(&mut false).value;
    let square = |word: u64| {
        let w: ieee::Quad = wide(word);
        (w * w).value
    };
    let x: ieee::Quad = wide(x);
    match rounding {
        "rp" => square(root) >= x && square(root - 1) < x,
        _ => square(root) <= x && square(root + 1) > x,
    }
}

fn check_roots<F: Float>(name: &str, seed: u64)
where
    F::Soft: FloatConvert<ieee::Quad>,
{
    let mut random = StdRng::seed_from_u64(seed);
    let finite = (0..4000).map(|_| random.random::<u64>() & (F::SIGN - 1)).filter(|w| *w < F::INFINITY && *w != 0);
    let squares = (1..200u32).map(|k| F::nearest(f64::from(k * k)).word());
    let corners = corners::<F>().into_iter().filter(|w| *w < F::INFINITY && *w != 0);
    for x in finite.chain(squares).chain(corners) {
        for rounding in ["rz", "rm", "rp"] {
            let root = value(Opcode::FSqrt, &[rounding, name], &[x]);
            assert!(is_root::<F>(x, root, rounding), "{name} {rounding} {x:x} gives {root:x}");
        }
    }
}

#[test]
fn directed_roots_are_the_tightest() {
    check_roots::<f32>("f32", 5);
    check_roots::<f64>("f64", 6);
}

fn check_format<S>(format: &round::Format, word: u64)
where
    S: rustc_apfloat::Float,
    ieee::Double: FloatConvert<S>,
{
    for rounding in [Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp, Rounding::Rna] {
        let ours = round::from_f64(format, f64::from_bits(word), rounding);
        let soft: S = ieee::Double::from_bits(word.into()).convert_r(soft_round(rounding), &mut false).value;
        let theirs = if soft.is_nan() { format.nan } else { soft.to_bits() as u64 };
        assert_eq!(ours, theirs, "{rounding:?} {word:x}");
    }
}

/// Both know the same formats but E4M3, where `rustc_apfloat` overflows to NaN like ours but rounds up to it
/// differently; values up to its largest are compared.
#[test]
fn rounding_to_formats_agrees() {
    let mut random = StdRng::seed_from_u64(7);
    let random_words = (0..20_000).map(|_| {
        let word = random.random::<u64>();
        // Every other exponent lies where the narrow formats live, and many fractions are short, to meet halfway cases.
        let fraction = if word & 2 == 0 { word >> 12 } else { word >> 12 & !0 << (40 + word % 11) };
        let exponent = if word & 1 == 0 { 1023 - 40 + word % 80 } else { word >> 1 & 0x7ff };
        word & 1 << 63 | exponent << 52 | fraction & ((1 << 52) - 1)
    });
    for word in random_words.chain(corners::<f64>()) {
        check_format::<ieee::Half>(&round::F16, word);
        check_format::<ieee::BFloat>(&round::BF16, word);
        check_format::<ieee::Single>(&round::F32, word);
        check_format::<ieee::Double>(&round::F64, word);
        check_format::<ieee::Float8E5M2>(&round::E5M2, word);
        if f64::from_bits(word).abs() <= 448.0 {
            check_format::<ieee::Float8E4M3FN>(&round::E4M3, word);
        }
    }
}

/// Widening, exhaustively.
#[test]
fn narrow_formats_widen_exactly() {
    fn check<S: rustc_apfloat::Float + FloatConvert<ieee::Double>>(format: &round::Format, bits: u32) {
        for word in 0..1u64 << bits {
            let soft = S::from_bits(word.into()).convert(&mut false).value;
            let ours = round::to_f64(format, word);
            assert!(soft.is_nan() && ours.is_nan() || soft.to_bits() as u64 == ours.to_bits(), "{word:x}");
        }
    }
    check::<ieee::Half>(&round::F16, 16);
    check::<ieee::BFloat>(&round::BF16, 16);
    check::<ieee::Float8E5M2>(&round::E5M2, 8);
    check::<ieee::Float8E4M3FN>(&round::E4M3, 8);
}
