//! What arithmetic shows.

use num_bigint::BigInt;

use super::super::values::runs;
use super::super::{Encoder, Integers, Origin, by_signs, is_arithmetic, question, with_multiples};
use crate::meaning::population;
use crate::query::Query;
use crate::term::{Term, Terms};

/// Whether arithmetic alone shows that two values are equal wherever conditions hold.
fn is_shown(t: &Terms, before: Term, after: Term, conditions: &[Term]) -> bool {
    let mut t = t.clone();
    let premise = t.all(conditions);
    let differ = t.ne(before, after);
    let query = Query { goal: t.and(premise, differ), premise };
    let multiples = with_multiples(&t, &query).map(|(terms, solved)| (terms, solved.query));
    let (terms, query) = multiples.unwrap_or((t, query));
    question(&terms, &query) == Some(Integers::Impossible)
        || by_signs(&terms, &query).iter().all(|(terms, query)| question(terms, query) == Some(Integers::Impossible))
            && !by_signs(&terms, &query).is_empty()
}

/// Quotients and remainders by numbers that are not known are shown without a solver, under conditions, and are not
/// without the last of these.
#[test]
fn symbolic_quotients_need_no_solver() {
    let mut t = Terms::new();
    let [x, y, a, b] = ["x", "y", "A", "B"].map(|name| t.variable(name, 32));
    let (zero, all) = (t.constant(0, 32), t.constant(u32::MAX.into(), 32));
    let [has_a, has_b] = [a, b].map(|term| t.is_nonzero(term));
    let (most_a, most_b) = (t.udiv(all, a), t.udiv(all, b));
    // A * B does not wrap.
    let fits = t.ule(a, most_b);
    let product = t.mul(a, b);
    let by_a = t.udiv(x, a);
    let rest_of_a = t.urem(x, a);

    let (before, after) = (t.udiv(by_a, b), t.udiv(x, product));
    check(&t, "(x / A) / B = x / (A * B)", before, after, &[has_a, has_b, fits]);

    let (digit, low, rest) = (t.urem(by_a, b), t.urem(x, a), t.urem(x, product));
    let shifted = t.mul(digit, a);
    let before = t.add(shifted, low);
    check(&t, "(x / A % B) * A + x % A = x % (A * B)", before, rest, &[has_a, has_b, fits]);

    let multiple = t.urem(a, b);
    let divides = t.is_zero(multiple);
    let (before, after) = (t.urem(rest_of_a, b), t.urem(x, b));
    check(&t, "x % A % B = x % B", before, after, &[has_a, has_b, divides]);

    let before = t.urem(rest_of_a, a);
    assert!(is_shown(&t, before, rest_of_a, &[has_a]), "x % A % A = x % A");

    // x * A does not wrap.
    let outside = t.not(most_a);
    let masked = t.and(x, outside);
    let fits_x = t.is_zero(masked);
    let scaled = t.mul(x, a);
    let before = t.udiv(scaled, a);
    check(&t, "x * A / A = x", before, x, &[has_a, fits_x]);

    let (before, factor) = (t.udiv(scaled, b), t.udiv(a, b));
    let after = t.mul(x, factor);
    check(&t, "x * A / B = x * (A / B)", before, after, &[has_a, has_b, fits_x, divides]);

    let (before, after, fits) = (t.ult(by_a, b), t.ult(x, product), t.ule(b, most_a));
    check(&t, "x / A < B is x < A * B", before, after, &[has_a, fits]);

    let odd = t.bit_of(a, 0);
    let [left, right] = [x, y].map(|term| t.mul(term, a));
    let (before, after) = (t.eq(left, right), t.eq(x, y));
    check(&t, "x * A = y * A is x = y", before, after, &[odd]);

    let one = t.constant(1, 32);
    let less = t.sub(a, one);
    let both = t.and(a, less);
    let power = t.is_zero(both);
    let (before, after) = (t.urem(x, a), t.and(x, less));
    check(&t, "x % A = x & (A - 1)", before, after, &[has_a, power]);

    let more = t.add(a, one);
    let both = t.and(a, more);
    let (mask, half) = (t.is_zero(both), t.constant(1 << 31, 32));
    let small = t.ult(a, half);
    assert!(!is_shown(&t, before, after, &[has_a, small, mask]), "A is no power of two");

    let number = t.and(a, one);
    let [even, odd] = [t.is_zero(number), t.eq(number, one)];
    let (before, after) = (t.eq(left, right), t.eq(x, y));
    assert!(is_shown(&t, before, after, &[odd]) && !is_shown(&t, before, after, &[even]));

    let negative = t.neg(a);
    let (before, after) = (t.sdiv(x, negative), t.sdiv(x, a));
    let (after, positive) = (t.neg(after), t.slt(zero, a));
    assert!(is_shown(&t, before, after, &[positive]), "x / -A = -(x / A)");
    assert!(!is_shown(&t, before, x, &[positive]));
}

fn check(t: &Terms, what: &str, before: Term, after: Term, conditions: &[Term]) {
    assert!(is_shown(t, before, after, conditions), "{what}");
    let others = &conditions[..conditions.len() - 1];
    assert!(!is_shown(t, before, after, others), "{what} without its last condition");
}

/// Of multiples, inverses of odd numbers make quotients: a product with one tells whether a number is a multiple.
#[test]
fn divisibility_is_linear() {
    let mut t = Terms::new();
    let x = t.variable("x", 64);
    let [seven, inverse, most] = [7, 0x6db6_db6d_b6db_6db7, u128::from(u64::MAX) / 7].map(|n| t.constant(n, 64));
    let (rest, product) = (t.urem(x, seven), t.mul(x, inverse));
    let (before, after) = (t.is_zero(rest), t.ule(product, most));
    let mut encoder = Encoder::new(&t);
    encoder.encode(&t.reachable(&[before, after])).expect("few terms");
    let wraps = encoder.origins.iter().zip(&encoder.ranges).filter(|(origin, _)| matches!(origin, Origin::Wraps(..)));
    let times: Vec<BigInt> = wraps.map(|(_, (low, high))| high - low).collect();
    // x * inverse is the quotient, and the inverse once more for each number that is left.
    assert_eq!(times, [BigInt::from(2)]);
    assert_eq!(encoder.texts().len(), 1, "it is linear");
}

/// Sums of counts of ones need no solver.
#[test]
fn counts_of_ones_are_sums() {
    let mut t = Terms::new();
    let [x, y] = ["x", "y"].map(|name| t.variable(name, 64));
    let (both, either, one) = (t.and(x, y), t.or(x, y), t.xor(x, y));
    let zero = t.constant(0, 64);
    let apart = t.eq(both, zero);
    let (high, low) = (t.extract(x, 23, 41), t.extract(x, 0, 23));
    let rotated = t.concat(low, high);
    let [x, both, either, one, rotated, y] = [x, both, either, one, rotated, y].map(|term| population(&mut t, term));
    let (sum, rest, all) = (t.add(both, one), t.sub(either, both), t.add(x, y));
    for (before, after) in [(sum, either), (rest, one), (rotated, x)] {
        assert!(is_shown(&t, before, after, &[]));
    }
    assert!(is_shown(&t, all, either, &[apart]));
    for (before, after) in [(all, either), (x, y), (sum, one)] {
        assert!(!is_shown(&t, before, after, &[]));
    }
    let goal = t.ne(all, either);
    assert!(is_arithmetic(&t, &Query { goal, premise: goal }));
}

#[test]
fn masks_have_runs() {
    assert_eq!(runs(0b1011_0011), [(0, 2), (4, 2), (7, 1)]);
    assert_eq!(runs(u128::MAX), [(0, 128)]);
    assert_eq!(runs(0), []);
}

#[test]
fn what_neither_multiplies_nor_divides_is_no_question_of_integers() {
    let mut t = Terms::new();
    let (x, y) = (t.variable("x", 32), t.variable("y", 32));
    let (sum, product) = (t.add(x, y), t.mul(x, y));
    let [plain, arithmetic] = [sum, product].map(|value| {
        let goal = t.is_zero(value);
        let query = Query { goal, premise: goal };
        is_arithmetic(&t, &query).then(|| question(&t, &query)).flatten()
    });
    assert_eq!(plain, None);
    let Some(Integers::Texts(texts)) = arithmetic else { panic!("{arithmetic:?}") };
    let logics: Vec<&str> = texts.iter().filter_map(|text| text.lines().next()).collect();
    assert_eq!(logics, ["(set-logic QF_LIA)", "(set-logic QF_NIA)"]);
}

/// Divisions by constants through high products need no solver.
#[test]
fn high_products_are_quotients() {
    let mut t = Terms::new();
    let x = t.variable("x", 32);
    let wide = t.zero_extend(x, 64);
    let high = |t: &mut Terms, factor: u128| {
        let factor = t.constant(factor, 64);
        let product = t.mul(wide, factor);
        t.extract(product, 32, 32)
    };
    let [one, two, three, seven] = [1, 2, 3, 7].map(|number| t.constant(number, 32));
    let third = high(&mut t, 0xaaaa_aaab);
    let third = t.lshr(third, one);
    let rest = high(&mut t, 0x2492_4925);
    let left = t.sub(x, rest);
    let half = t.lshr(left, one);
    let sum = t.add(half, rest);
    let seventh = t.lshr(sum, two);
    let by_three = t.udiv(x, three);
    let by_seven = t.udiv(x, seven);
    let product = t.mul(third, three);
    let left = t.sub(x, product);
    let rest_of_three = t.urem(x, three);
    for (before, after) in [(by_three, third), (by_seven, seventh), (rest_of_three, left)] {
        let goal = t.ne(before, after);
        assert_eq!(question(&t, &Query { goal, premise: goal }), Some(Integers::Impossible));
    }
    let wrong = high(&mut t, 0xaaaa_aaaa);
    let wrong = t.lshr(wrong, one);
    let goal = t.ne(by_three, wrong);
    let wrong = question(&t, &Query { goal, premise: goal });
    assert!(matches!(wrong, Some(Integers::Texts(_))), "0x80000001 / 3");
}

/// So do those of signed numbers, for each sign.
#[test]
fn signed_high_products_are_quotients_by_sign() {
    let mut t = Terms::new();
    let x = t.variable("x", 32);
    let wide = t.sign_extend(x, 64);
    let factor = t.constant(0x6666_6667, 64);
    let product = t.mul(wide, factor);
    let high = t.extract(product, 32, 32);
    let [two, top, ten] = [2, 31, 10].map(|number| t.constant(number, 32));
    let (shifted, sign) = (t.ashr(high, two), t.ashr(x, top));
    let (after, before) = (t.sub(shifted, sign), t.sdiv(x, ten));
    let goal = t.ne(before, after);
    let cases = by_signs(&t, &Query { goal, premise: goal });
    assert_eq!(cases.len(), 2);
    for (terms, query) in &cases {
        assert_eq!(question(terms, query), Some(Integers::Impossible));
    }
    let goal = t.ne(before, shifted);
    let wrong = by_signs(&t, &Query { goal, premise: goal });
    let left: Vec<_> = wrong.iter().map(|(terms, query)| question(terms, query)).collect();
    assert!(left[0] == Some(Integers::Impossible) && left[1] != Some(Integers::Impossible), "-1 / 10");
}
