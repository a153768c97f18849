//! Divisions, bounds and decisions of polynomials.

use num_bigint::BigInt;
use oriole_launch::random::SplitMix64;

use super::super::division::is_reciprocal;
use super::super::formula::Formula;
use super::super::poly::{Poly, floor};
use super::super::{Encoder, Origin, fits};
use super::model::Model;
use crate::eval::Program;
use crate::term::{Term, Terms};

/// Of unknowns with bounds, divisions yield what they should, and what is learned of polynomials that has the form of a
/// fact bounds and decides nothing wrongly.
#[test]
fn divisions_and_bounds_are_right() {
    let mut random = SplitMix64::new(21);
    let (mut divided, mut tight, mut decided) = (0, 0, 0);
    for _ in 0..600 {
        let t = Terms::new();
        let inputs: Vec<u128> = (0..4).map(|_| u128::from(random.below(40))).collect();
        let mut encoder = Encoder::new(&t);
        let mut pool = Vec::new();
        for (at, value) in inputs.iter().enumerate() {
            let low = u128::from(random.below(2)) * random.next_u64() as u128 % (value + 1);
            let range = (low.into(), (value + u128::from(random.below(30))).into());
            pool.push(encoder.unknown(Origin::Variable(at as u32), range).0);
        }
        for poly in pool.clone() {
            pool.push(encoder.unknown(Origin::Signed(poly, 6), ((-32).into(), 31.into())).0);
        }
        for _ in 0..12 {
            let any = |random: &mut SplitMix64| pool[random.below(pool.len() as u64) as usize].clone();
            let (a, b) = (any(&mut random), any(&mut random));
            let number = BigInt::from(random.below(9)) - 4;
            let new = match random.below(9) {
                0 => a.plus(&b),
                1 => a.minus(&b),
                2 if fits(&a.product(&b)) => a.product(&b),
                3 => a.times(&number),
                4 => a.plus_number(number),
                5 | 6 => {
                    let b = if random.below(3) == 0 { Poly::constant(1 + random.below(9)) } else { b };
                    if encoder.bounds(&b).0 <= 0.into() {
                        continue;
                    }
                    let (quotient, rest) = encoder.divided(&a, &b, 1);
                    let model = Model::of(&encoder, &inputs);
                    let [x, y, q, r] = [&a, &b, &quotient, &rest].map(|poly| poly.eval(&model.atoms));
                    assert_eq!((floor(&x, &y), &x - &y * floor(&x, &y)), (q, r), "{x} / {y}");
                    divided += 1;
                    for subtracted in [false, true] {
                        let (mut inner, by) = encoder.unfolded(&a, &b, subtracted);
                        let by = encoder.without_common_factors(&mut inner, by);
                        let [p, d] = [inner, by].map(|poly| poly.eval(&model.atoms));
                        assert_eq!(floor(&x, &y), floor(&p, &d), "{x} / {y} and {p} / {d}");
                    }
                    if random.below(2) == 0 { quotient } else { rest }
                }
                _ => {
                    let value = a.minus(&b).eval(&Model::of(&encoder, &inputs).atoms);
                    let slack = BigInt::from(random.below(3));
                    let fact = a.minus(&b).plus_number(&slack - &value);
                    let formula = match slack == 0.into() && random.below(2) == 0 {
                        true => Formula::Zero(fact),
                        false => Formula::NotNegative(fact),
                    };
                    encoder.learn(&formula);
                    continue;
                }
            };
            pool.push(new);
            let model = Model::of(&encoder, &inputs);
            let shown = pool[random.below(pool.len() as u64) as usize].minus(&pool[pool.len() - 1]);
            let value = shown.eval(&model.atoms);
            let ((low, high), plain) = (encoder.bounds(&shown), shown.range(&encoder.ranges));
            assert!(low <= value && value <= high, "{value} is not from {low} to {high}");
            tight += u32::from((low, high) != plain);
            let number: BigInt = &value + BigInt::from(random.below(3)) - 1;
            let poly = shown.plus_number(-number);
            for formula in [Formula::NotNegative(poly.clone()), Formula::Zero(poly)] {
                let simpler = encoder.decided(formula.clone());
                assert_eq!(simpler.eval(&model.atoms, &[]), formula.eval(&model.atoms, &[]), "{formula:?}");
                decided += u32::from(simpler != formula);
            }
            for fact in &encoder.not_negative {
                assert!(fact.eval(&model.atoms) >= 0.into(), "{fact:?} for {inputs:?}");
            }
            for (atom, (low, high)) in encoder.ranges.iter().enumerate() {
                assert!(*low <= model.atoms[atom] && model.atoms[atom] <= *high, "{:?}", encoder.origins[atom]);
            }
        }
    }
    assert!(divided > 400 && tight > 400 && decided > 400, "{divided} {tight} {decided}");
}

/// Quotients that are subtracted, and factors of both, do not change a quotient when they go.
#[test]
fn quotients_unfold_to_equal_ones() {
    let numbers = |range: std::ops::RangeInclusive<i32>| range.map(BigInt::from);
    let mut unfolded = 0;
    for (p, d) in (0..24u128).flat_map(|p| (1..5u128).map(move |d| (p, d))) {
        let t = Terms::new();
        let mut encoder = Encoder::new(&t);
        let x = encoder.unknown(Origin::Variable(0), (0.into(), 30.into())).0;
        let quotient = encoder.divided(&x, &Poly::constant(d), 1).0;
        let inputs = [p];
        let atoms = Model::of(&encoder, &inputs).atoms;
        for (r, b) in numbers(-6..=6).flat_map(|r| numbers(1..=6).map(move |b| (r.clone(), b))) {
            let (a, b) = (Poly::constant(r).minus(&quotient), Poly::constant(b));
            let (inner, by) = encoder.unfolded(&a, &b, true);
            let [before, after] = [(&a, &b), (&inner, &by)].map(|(a, b)| floor(&a.eval(&atoms), &b.eval(&atoms)));
            assert_eq!(before, after, "{p} / {d}");
            unfolded += u32::from(inner != a);
        }
    }
    assert!(unfolded > 5000, "{unfolded}");
    let t = Terms::new();
    let mut encoder = Encoder::new(&t);
    let x = encoder.unknown(Origin::Variable(0), (0.into(), 30.into())).0;
    for (range, goes) in [((1, 6), true), ((0, 6), false), ((-6, -1), false)] {
        let range = (BigInt::from(range.0), BigInt::from(range.1));
        let factor = encoder.unknown(Origin::Signed(Poly::constant(range.0.clone()), 8), range).0;
        let mut dividend = x.product(&factor);
        let divisor = encoder.without_common_factors(&mut dividend, factor.product(&factor));
        assert_eq!((dividend == x, divisor == factor), (goes, goes));
    }
}

/// Where a product with a reciprocal is said to be a quotient, it is one.
#[test]
fn reciprocals_are_what_they_stand_for() {
    let (mut found, mut missed) = (0, 0);
    let numbers = |range: std::ops::Range<i64>| range.map(BigInt::from);
    for (m, d) in numbers(2..14).flat_map(|m| numbers(2..40).map(move |d| (m.clone(), d))) {
        for (c, k) in numbers(1..9).flat_map(|c| numbers(-4..9).map(move |k| (c.clone(), k))) {
            for (low, high) in [(0, 3), (0, 11), (1, 9), (5, 14)].map(|(a, b)| (BigInt::from(a), BigInt::from(b))) {
                let mut all = (0..15).map(BigInt::from).filter(|p| *p >= low && *p <= high);
                let equal = all.all(|p| floor(&(&m * &p + &k), &d) == floor(&p, &c));
                let said = is_reciprocal(&m, &k, &d, &c, &low, &high);
                assert!(equal || !said, "({m} * p + {k}) / {d} is not p / {c} from {low} to {high}");
                found += u32::from(said);
                missed += u32::from(equal && !said);
            }
        }
    }
    assert!(found > 1000 && missed < found, "{found} {missed}");
}

/// Counts of ones are those of the values.
#[test]
fn ones_are_counted() {
    let mut random = SplitMix64::new(31);
    let (mut counted, mut unknowns) = (0, 0);
    for _ in 0..300 {
        let mut t = Terms::new();
        let mut pool: Vec<Term> = (0..3).map(|at| t.variable(format!("v{at}"), 16)).collect();
        for _ in 0..1 + random.below(6) {
            let mut any = || pool[random.below(pool.len() as u64) as usize];
            let (a, b) = (any(), any());
            let number = t.constant(random.next_u64().into(), 16);
            let cut = 1 + random.below(15) as u32;
            let by = t.constant(random.below(20).into(), 16);
            let new = match random.below(9) {
                7 => t.shl(a, by),
                8 => t.lshr(a, by),
                0 => t.and(a, b),
                1 => t.or(a, b),
                2 => t.xor(a, b),
                3 => t.not(a),
                4 => t.and(a, number),
                5 => {
                    let (high, low) = (t.extract(a, cut, 16 - cut), t.extract(b, 0, cut));
                    t.concat(low, high)
                }
                _ => {
                    let part = t.extract(a, cut, 16 - cut);
                    t.zero_extend(part, 16)
                }
            };
            pool.push(new);
        }
        let last = pool[pool.len() - 1];
        let mut encoder = Encoder::new(&t);
        let Some(count) = encoder.ones_of(last) else { continue };
        counted += 1;
        unknowns += encoder.origins.len();
        for _ in 0..20 {
            let inputs: Vec<u128> = (0..3).map(|_| u128::from(random.next_u64()) & 0xffff).collect();
            let model = Model::of(&encoder, &inputs);
            let value = Program::new(&t, &[last]).eval(&inputs)[0];
            assert_eq!(count.eval(&model.atoms), value.count_ones().into(), "{inputs:x?}");
            model.meets(&encoder.texts());
        }
    }
    assert!(counted > 250 && unknowns > 400, "{counted} {unknowns}");
}
