use std::collections::HashSet;

use num_bigint::BigInt;

use super::super::eval::Program;
use super::super::query::Query;
use super::super::term::{Term, Terms, Variable, ones};
use super::division::is_reciprocal;
use super::formula::Formula;
use super::poly::{Poly, Products, floor, power};
use super::{Bit, Encoder, Integers, Origin, by_cases, fits, is_arithmetic, question, with_multiples};
use oriole_interp::launch::random::SplitMix64;

/// What unknowns stand for, for inputs.
struct Model<'e> {
    encoder: &'e Encoder<'e>,
    inputs: &'e [u128],
    atoms: Vec<BigInt>,
    bits: Vec<bool>,
}

impl Model<'_> {
    fn of<'e>(encoder: &'e Encoder<'e>, inputs: &'e [u128]) -> Model<'e> {
        let mut model = Model { encoder, inputs, atoms: Vec::new(), bits: Vec::new() };
        for origin in &encoder.origins {
            if let Origin::Indicator(formula) | Origin::Choice(formula, ..) = origin {
                model.bits_of(formula);
            }
            let value = model.meaning(origin);
            model.atoms.push(value);
        }
        while model.bits.len() < encoder.bits.len() {
            model.next_bit();
        }
        model
    }

    /// Truth values stand before the unknowns that ask for them.
    fn bits_of(&mut self, formula: &Formula) {
        let mut text = String::new();
        formula.write(&mut text, Products::Multiplied);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let numbers = words.filter_map(|word| word.strip_prefix('b')?.parse::<usize>().ok());
        let count = numbers.max().map_or(0, |most| most + 1);
        while self.bits.len() < count {
            self.next_bit();
        }
    }

    fn next_bit(&mut self) {
        let bit = match &self.encoder.bits[self.bits.len()] {
            Bit::Variable(number) => self.inputs[*number as usize] == 1,
            Bit::Defined(formula) => formula.eval(&self.atoms, &self.bits),
        };
        self.bits.push(bit);
    }

    fn meaning(&self, origin: &Origin) -> BigInt {
        let value = |poly: &Poly| poly.eval(&self.atoms);
        let zero = BigInt::from(0);
        match origin {
            Origin::Variable(number) => self.inputs[*number as usize].into(),
            Origin::Wrapped(poly, width) => value(poly) - floor(&value(poly), &power(*width)) * power(*width),
            Origin::Wraps(poly, width) => floor(&value(poly), &power(*width)),
            Origin::Quotient(a, b, width) if value(b) == zero => {
                assert!(value(a) >= zero);
                ones(*width).into()
            }
            Origin::Quotient(a, b, _) => floor(&value(a), &value(b)),
            Origin::Remainder(a, b) if value(b) == zero => value(a),
            Origin::Remainder(a, b) => value(a) - floor(&value(a), &value(b)) * value(b),
            Origin::Truncated(a, b) if value(b) == zero => if value(a) < zero { 1 } else { -1 }.into(),
            Origin::Truncated(a, b) => value(a) / value(b),
            Origin::TruncatedRest(a, b) if value(b) == zero => value(a),
            Origin::TruncatedRest(a, b) => value(a) % value(b),
            Origin::Signed(poly, width) => {
                let value = value(poly);
                if value < power(width - 1) { value } else { value - power(*width) }
            }
            Origin::Indicator(formula) => u8::from(formula.eval(&self.atoms, &self.bits)).into(),
            Origin::Power(count, width) => {
                let count = value(count).min((*width).into());
                power(u32::try_from(count).expect("a width at most"))
            }
            Origin::Choice(formula, yes, no) => value(if formula.eval(&self.atoms, &self.bits) { yes } else { no }),
            Origin::Common(a, b) => value(a) & value(b),
        }
    }
}

impl Model<'_> {
    /// All that the texts of the question assert holds.
    fn meets(&self, texts: &[String]) {
        texts.iter().for_each(|text| self.meets_text(text));
    }

    fn meets_text(&self, text: &str) {
        let mut asserted = 0;
        for line in text.lines().filter(|line| line.starts_with("(assert ")) {
            let spaced = line.replace('(', " ( ").replace(')', " ) ");
            let mut words = spaced.split_whitespace().skip(2);
            assert_eq!(self.read(&mut words), Some(Value::Truth(true)), "{line} for {:x?}", self.inputs);
            asserted += 1;
        }
        assert!(asserted >= self.encoder.ranges.len());
        for fact in &self.encoder.not_negative {
            assert!(fact.eval(&self.atoms) >= 0.into(), "{fact:?} for {:x?}", self.inputs);
        }
    }

    /// The value of one expression; nothing at a closing parenthesis.
    fn read<'w>(&self, words: &mut impl Iterator<Item = &'w str>) -> Option<Value> {
        let word = words.next().expect("parentheses are balanced");
        if word == ")" {
            return None;
        }
        if word != "(" {
            return Some(match (word, word.split_at(1)) {
                ("true" | "false", _) => Value::Truth(word == "true"),
                (_, ("n", _)) => {
                    let factors = word.split('.').map(|name| name[1..].parse::<usize>().expect("a number"));
                    Value::Number(factors.map(|number| self.atoms[number].clone()).product())
                }
                (_, ("b", number)) => Value::Truth(self.bits[number.parse::<usize>().expect("a number")]),
                _ => Value::Number(word.parse().expect("a literal")),
            });
        }
        let operator = words.next().expect("an operator");
        let mut arguments = Vec::new();
        while let Some(argument) = self.read(&mut *words) {
            arguments.push(argument);
        }
        let truths = || arguments.iter().map(|one| *one == Value::Truth(true));
        let numbers = || {
            arguments.iter().map(|one| match one {
                Value::Number(number) => number.clone(),
                Value::Truth(_) => panic!("{operator} takes numbers"),
            })
        };
        Some(match (operator, &arguments[..]) {
            ("+", _) => Value::Number(numbers().sum()),
            ("*", _) => Value::Number(numbers().product()),
            ("-", [_]) => Value::Number(-numbers().sum::<BigInt>()),
            (">=", [Value::Number(a), Value::Number(b)]) => Value::Truth(a >= b),
            ("=", [a, b]) => Value::Truth(a == b),
            ("not", [Value::Truth(inner)]) => Value::Truth(!inner),
            ("and", _) => Value::Truth(truths().all(|holds| holds)),
            ("or", _) => Value::Truth(truths().any(|holds| holds)),
            _ => panic!("{operator} with {} arguments", arguments.len()),
        })
    }
}

/// What SMT-LIB text computes.
#[derive(Clone, PartialEq, Debug)]
enum Value {
    Number(BigInt),
    Truth(bool),
}

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
        let mut encoder = Encoder::new(&t);
        encoder.assume(goal);
        let encoded = encoder.encode_conditions(goal).and_then(|()| encoder.encode(&t.reachable(&[goal])));
        let Some(()) = encoded else { continue };
        bounded += usize::from(!encoder.assumed.is_empty());
        learned += encoder.not_negative.len();
        let model = Model::of(&encoder, &inputs);
        model.meets(&encoder.texts());
        let Some(whole) = question(&t, &query).filter(|_| is_arithmetic(&t, &query)) else { continue };
        assert_ne!(whole, Integers::Impossible, "{inputs:x?}");
        if let Some((terms, changed)) = with_multiples(&t, &query) {
            multiples += 1;
            assert!(is_met_with_quotients(&terms, &changed, &inputs), "{inputs:x?}");
        }
        let cases = by_cases(&t, &query);
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
                let mut encoder = Encoder::new(terms);
                encoder.assume(query.goal);
                let encoded = encoder.encode_conditions(query.premise);
                if encoded.and_then(|()| encoder.encode(&terms.reachable(&[query.goal]))).is_some() {
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
        let mut encoder = Encoder::new(terms);
        encoder.assume(query.goal);
        let encoded = encoder.encode_conditions(query.premise);
        if encoded.and_then(|()| encoder.encode(&terms.reachable(&[query.goal]))).is_some() {
            Model::of(&encoder, &inputs).meets(&encoder.texts());
        }
        true
    })
}

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

/// Whether arithmetic alone shows that two values are equal wherever conditions hold.
fn is_shown(t: &Terms, before: Term, after: Term, conditions: &[Term]) -> bool {
    let mut t = t.clone();
    let premise = t.all(conditions);
    let differ = t.ne(before, after);
    let query = Query { goal: t.and(premise, differ), premise };
    let (terms, query) = with_multiples(&t, &query).unwrap_or((t, query));
    question(&terms, &query) == Some(Integers::Impossible)
        || by_cases(&terms, &query).iter().all(|(terms, query)| question(terms, query) == Some(Integers::Impossible))
            && !by_cases(&terms, &query).is_empty()
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

#[test]
fn masks_have_runs() {
    assert_eq!(super::runs(0b1011_0011), [(0, 2), (4, 2), (7, 1)]);
    assert_eq!(super::runs(u128::MAX), [(0, 128)]);
    assert_eq!(super::runs(0), []);
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
    let cases = by_cases(&t, &Query { goal, premise: goal });
    assert_eq!(cases.len(), 2);
    for (terms, query) in &cases {
        assert_eq!(question(terms, query), Some(Integers::Impossible));
    }
    let goal = t.ne(before, shifted);
    let wrong = by_cases(&t, &Query { goal, premise: goal });
    let left: Vec<_> = wrong.iter().map(|(terms, query)| question(terms, query)).collect();
    assert!(left[0] == Some(Integers::Impossible) && left[1] != Some(Integers::Impossible), "-1 / 10");
}
