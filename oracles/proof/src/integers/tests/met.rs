//! Questions that inputs meet.

use std::collections::HashSet;

use num_bigint::BigInt;
use oriole_launch::random::SplitMix64;

use super::super::poly::Poly;
use super::super::{Encoder, Integers, by_signs, is_arithmetic, question, with_multiples};
use super::model::Model;
use crate::eval::Program;
use crate::query::Query;
use crate::term::{Term, Terms, Variable, ones};

/// Any term of this width over what there is.
fn grow(t: &mut Terms, random: &mut SplitMix64, pool: &[Term], width: u32) -> Term {
    let mut any = |t: &mut Terms, width: u32| {
        let term = pool[random.below(pool.len() as u64) as usize];
        match random.below(8) {
            0 => t.constant(random.next_u64().into(), width),
            1 if t.width(term) < width => t.sign_extend(term, width),
            _ if t.width(term) < width => t.zero_extend(term, width),
            _ => t.extract(term, 0, width),
        }
    };
    let (a, b, condition) = (any(t, width), any(t, width), any(t, 1));
    let other = any(t, 1 + width / 2);
    match random.below(24) {
        0 => t.not(a),
        1 => t.neg(a),
        2 => t.and(a, b),
        3 => t.or(a, b),
        4 => t.xor(a, b),
        5 | 6 => t.add(a, b),
        7 | 8 => t.sub(a, b),
        9 | 10 => t.mul(a, b),
        11 => t.udiv(a, b),
        12 => t.urem(a, b),
        13 => t.sdiv(a, b),
        14 => t.srem(a, b),
        15 => t.shl(a, b),
        16 => t.lshr(a, b),
        17 => t.ashr(a, b),
        18 => t.ite(condition, a, b),
        19 if width > 1 => {
            let high = t.extract(a, 0, width - t.width(other).min(width - 1));
            let low = t.extract(b, 0, width - t.width(high));
            t.concat(high, low)
        }
        20 => {
            let wide = t.concat(a, other);
            t.extract(wide, t.width(other) / 2, width)
        }
        n => {
            let bit = match n % 3 {
                0 => t.eq(a, b),
                1 => t.ult(a, b),
                _ => t.slt(a, b),
            };
            t.fit(bit, width)
        }
    }
}

/// What is said of unknowns holds for what they stand for, and the values of terms are those that terms have.
#[test]
fn facts_hold_and_values_agree() {
    let mut random = SplitMix64::new(15);
    let (mut checked, mut kinds) = (0, HashSet::new());
    for _ in 0..600 {
        let mut t = Terms::new();
        let widths = [1, 2, 5, 8, 13].map(|_| [1, 2, 3, 5, 8, 11][random.below(6) as usize]);
        let mut pool: Vec<Term> = widths.iter().map(|width| t.variable("v", *width)).collect();
        for _ in 0..1 + random.below(12) {
            let width = [1, 2, 3, 4, 8, 9][random.below(6) as usize];
            let term = grow(&mut t, &mut random, &pool, width);
            pool.push(term);
        }
        let needed = t.reachable(&pool);
        let mut encoder = Encoder::new(&t);
        let Some(()) = encoder.encode(&needed) else { continue };
        let values: Vec<Poly> = needed.iter().map(|term| encoder.value(*term)).collect();
        let program = Program::new(&t, &needed);
        let texts = encoder.texts();
        kinds.extend(encoder.origins.iter().map(std::mem::discriminant));
        for _ in 0..40 {
            let corner = random.below(3) == 0;
            let inputs: Vec<u128> = widths
                .iter()
                .map(|width| {
                    let any = u128::from(random.next_u64());
                    (if corner { [0, 1, u128::MAX, 1 << (width - 1)][any as usize % 4] } else { any }) & ones(*width)
                })
                .collect();
            let model = Model::of(&encoder, &inputs);
            let expected = program.eval(&inputs);
            for (value, expected) in values.iter().zip(&expected) {
                assert_eq!(value.eval(&model.atoms), BigInt::from(*expected), "{inputs:x?}");
            }
            model.meets(&texts);
            checked += 1;
        }
    }
    assert!(checked > 10_000, "{checked}");
    assert_eq!(kinds.len(), 12, "every kind of unknown occurs");
}

/// A condition of the kinds that say something of a variable, which may hold for a value of the term.
fn condition(t: &mut Terms, random: &mut SplitMix64, term: Term, value: u128, other: Term) -> Term {
    let width = t.width(term);
    let all = ones(width);
    let any = u128::from(random.next_u64()) & all;
    let near = value.wrapping_add(any % 3).wrapping_sub(1) & all;
    let number = [any, near, 0, all, all >> 1, value][random.below(6) as usize];
    let number = t.constant(number, width);
    let other = t.fit(other, width);
    let another = if random.below(2) == 0 { number } else { other };
    match random.below(13) {
        0 => t.eq(term, another),
        1 => t.ult(term, another),
        2 => t.ult(another, term),
        3 => t.slt(term, another),
        4 => t.slt(another, term),
        5 => {
            let clear = t.constant(any & !value, width);
            let masked = t.and(term, clear);
            t.is_zero(masked)
        }
        6 => {
            let low = random.below(u64::from(width)) as u32;
            let high = t.extract(term, low, 1 + random.below(u64::from(width - low)) as u32);
            t.is_zero(high)
        }
        7 => {
            let rest = if random.below(2) == 0 { t.urem(term, another) } else { t.srem(term, another) };
            t.is_zero(rest)
        }
        8 => {
            let (one, half) = (t.constant(1, width), t.constant(all >> 1, width));
            let step = if random.below(2) == 0 { t.sub(term, one) } else { t.add(term, one) };
            let masked = t.and(term, step);
            let power = t.is_zero(masked);
            let small = t.ult(term, half);
            if random.below(2) == 0 { power } else { t.and(power, small) }
        }
        9 => t.bit_of(term, 0),
        10 => {
            let outside = t.not(another);
            let masked = t.and(term, outside);
            t.is_zero(masked)
        }
        11 => {
            let all = t.constant(all, width);
            let most = t.udiv(all, another);
            t.ule(term, most)
        }
        _ => {
            let [a, b] = [term, another].map(|term| t.zero_extend(term, 2 * width));
            let product = t.mul(a, b);
            let high = t.extract(product, width, width);
            t.is_zero(high)
        }
    }
}

/// A question that inputs meet is not called impossible, and they meet its text; nor are all of its cases.
#[test]
fn questions_that_are_met_stay_open() {
    let mut random = SplitMix64::new(16);
    let (mut asked, mut split, mut bounded, mut learned, mut multiples) = (0, 0, 0, 0, 0);
    while asked < 1500 {
        let mut t = Terms::new();
        let widths = [1, 2, 5].map(|_| [1, 3, 5, 8, 11][random.below(5) as usize]);
        let mut pool: Vec<Term> =
            widths.iter().enumerate().map(|(at, width)| t.variable(format!("v{at}"), *width)).collect();
        for _ in 0..1 + random.below(8) {
            let width = [2, 3, 4, 8, 9][random.below(5) as usize];
            let term = grow(&mut t, &mut random, &pool, width);
            pool.push(term);
        }
        let mut inputs: Vec<u128> = widths.iter().map(|width| u128::from(random.next_u64()) & ones(*width)).collect();
        // A result that is not always defined, and a variable behind constant bits.
        let (last, bit) = (pool[pool.len() - 1], pool[random.below(pool.len() as u64) as usize]);
        let (bit, free) = (t.extract(bit, 0, 1), t.variable("v3", t.width(last)));
        inputs.push(u128::from(random.next_u64()) & ones(t.width(last)));
        let high = t.constant(random.next_u64().into(), 2);
        pool.extend([t.ite(bit, last, free), t.concat(high, pool[0])]);
        let values = Program::new(&t, &pool).eval(&inputs);
        let mut goal = t.bit(true);
        for _ in 0..1 + random.below(6) {
            let at = random.below(pool.len() as u64) as usize;
            let other = pool[random.below(pool.len() as u64) as usize];
            let bit = condition(&mut t, &mut random, pool[at], values[at], other);
            let holds = Program::new(&t, &[bit]).eval(&inputs) == [1];
            let bit = if holds { bit } else { t.not(bit) };
            goal = t.and(goal, bit);
        }
        let query = Query { goal, premise: goal };
        assert!(query.holds(&t, &inputs));
        let Some(encoder) = Encoder::of(&t, &query) else { continue };
        bounded += usize::from(!encoder.assumed.is_empty());
        learned += encoder.not_negative.len();
        let model = Model::of(&encoder, &inputs);
        model.meets(&encoder.texts());
        let Some(whole) = question(&t, &query).filter(|_| is_arithmetic(&t, &query)) else { continue };
        assert_ne!(whole, Integers::Impossible, "{inputs:x?}");
        if let Some((terms, changed)) = with_multiples(&t, &query) {
            multiples += 1;
            assert!(is_met_with_quotients(&terms, &changed.query, &inputs), "{inputs:x?}");
        }
        let cases = by_signs(&t, &query);
        let mut met = 0;
        for (terms, query) in &cases {
            // Variables of a case have the names of those whose low bits, or opposites, they are.
            let low = |variable: &Variable| {
                let name = variable.name.trim_start_matches('-');
                let at = t.variables().iter().position(|one| one.name == name).expect("a name");
                let value = if name == variable.name { inputs[at] } else { inputs[at].wrapping_neg() };
                value & ones(variable.width)
            };
            let inputs: Vec<u128> = terms.variables().iter().map(low).collect();
            if query.holds(terms, &inputs) {
                met += 1;
                assert_ne!(question(terms, query), Some(Integers::Impossible), "{inputs:x?}");
                if let Some(encoder) = Encoder::of(terms, query) {
                    Model::of(&encoder, &inputs).meets(&encoder.texts());
                }
            }
        }
        // More than one, where the goal does not read a sign.
        assert!(met > 0 || cases.is_empty(), "{inputs:x?} belong to a case");
        asked += 1;
        split += usize::from(met > 0);
    }
    assert!(split > 800 && bounded > 400, "{split} {bounded}");
    assert!(learned > 3000 && multiples > 15, "{learned} {multiples}");
}

/// What a multiple of a multiple is follows from the last divisor.
#[test]
fn multiples_of_multiples_have_their_values() {
    // What is extended may be one, too.
    for bits in [4, 3] {
        let mut t = Terms::new();
        let (a, b, c) = (t.variable("A", bits), t.variable("B", 4), t.variable("C", 4));
        let wide = t.zero_extend(a, 4);
        let rests = [t.urem(wide, b), t.urem(b, c)].map(|rest| t.is_zero(rest));
        let goal = t.all(&rests);
        let query = Query { goal, premise: goal };
        let (terms, solved) = with_multiples(&t, &query).expect("A and B are multiples");
        let mut found = HashSet::new();
        for [c, p, q] in (0..16u128.pow(3)).map(|n| [n & 15, n >> 4 & 15, n >> 8]) {
            let inputs = [0, 0, c, p, q].to_vec();
            if solved.query.holds(&terms, &inputs) {
                let inputs = solved.inputs(&terms, inputs);
                assert!(query.holds(&t, &inputs[..3]), "{inputs:?}");
                found.insert(inputs[..3].to_vec());
            }
        }
        let all = (0..1u128 << (bits + 8)).map(|n| vec![n >> 8, n >> 4 & 15, n & 15]);
        assert_eq!(found, all.filter(|inputs| query.holds(&t, inputs)).collect());
    }
}

/// Whether some quotients meet a question with them, for what the other variables are, and then it is not called
/// impossible. More than one quotient is left to others.
fn is_met_with_quotients(terms: &Terms, query: &Query, inputs: &[u128]) -> bool {
    let new = &terms.variables()[inputs.len()..];
    let [quotient] = new else { return new.len() > 1 };
    let mut inputs = [inputs, &[0]].concat();
    (0..=ones(quotient.width)).any(|value| {
        *inputs.last_mut().expect("it was added") = value;
        if !query.holds(terms, &inputs) {
            return false;
        }
        assert_ne!(question(terms, query), Some(Integers::Impossible), "{inputs:x?}");
        if let Some(encoder) = Encoder::of(terms, query) {
            Model::of(&encoder, &inputs).meets(&encoder.texts());
        }
        true
    })
}
