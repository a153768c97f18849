//! Questions about terms as questions about integers.
//!
//! Solvers of bit vectors take a product apart into thousands of gates, and give up on what schoolbook arithmetic shows
//! in a line: that `x / 7` is a high product and two shifts, or that `x - x / c * c` is a remainder. Here every vector
//! is an integer from 0 to 2^width - 1. Sums and products are polynomials modulo 2^width; only where a value is
//! compared, divided or extended is the multiple of 2^width named that is taken off. Quotients and remainders are
//! unknowns that meet `a = b * q + r` and `0 <= r < b`. With constants as divisors and factors that is linear
//! arithmetic, which z3 and cvc5 decide. Much is shown before any of them is asked: products with a reciprocal are
//! taken for the quotients that they stand for, quotients of quotients are one quotient, and polynomials that are equal
//! are the same.
//!
//! What is said of an unknown holds for the value that it stands for, but need not say all (of `a & b` only bounds are
//! known). So where no integers meet the question, no vectors do; integers that meet it show nothing.

mod assume;
mod bounds;
mod cases;
mod division;
mod formula;
mod multiples;
mod poly;
#[cfg(test)]
mod tests;
mod text;

use std::collections::HashMap;

use num_bigint::BigInt;

use super::query::Query;
use super::term::{Node, Op, Term, Terms, ones};
pub use cases::by_cases;
use formula::Formula;
pub use multiples::with_multiples;
use poly::{Atom, Poly, Range, floor, power};

/// Questions of more terms are left to solvers of bit vectors.
const MOST_TERMS: usize = 400;
/// Unknowns and facts about them: more are not solved in the time that a question has.
const MOST_ATOMS: usize = 600;
/// A product of sums stays a polynomial up to this size; beyond it, its factors become unknowns.
const MOST_PARTS: usize = 24;
const MOST_FACTORS: usize = 4;
/// Bits between which a mask changes from zero to one or back, at most.
const MOST_RUNS: usize = 8;

/// What is left of a question over integers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Integers {
    /// Nothing: arithmetic shows that no inputs meet it.
    Impossible,
    /// SMT-LIB texts, one command a line, the simplest first. No integers meet one only if no inputs meet the question.
    Texts(Vec<String>),
}

/// Whether integers may help with a question: it multiplies or divides.
pub fn is_arithmetic(terms: &Terms, query: &Query) -> bool {
    let needed = terms.reachable(&[query.goal]);
    let is_one = |term: &Term| matches!(terms.node(*term).op, Op::Mul | Op::UDiv | Op::URem | Op::SDiv | Op::SRem);
    needed.len() <= MOST_TERMS && needed.iter().any(is_one)
}

/// The question over integers; nothing where it is too large, or has an operation without integers.
pub fn question(terms: &Terms, query: &Query) -> Option<Integers> {
    let needed = terms.reachable(&[query.goal]);
    if needed.len() > MOST_TERMS {
        return None;
    }
    let mut encoder = Encoder::new(terms);
    encoder.assume(query.goal);
    encoder.encode_conditions(query.premise)?;
    encoder.encode(&needed)?;
    let goal = encoder.truth(query.goal);
    encoder.facts.push(goal);
    if encoder.facts.contains(&Formula::Known(false)) {
        return Some(Integers::Impossible);
    }
    Some(Integers::Texts(encoder.texts()))
}

/// What an unknown stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Origin {
    /// The variable with this number.
    Variable(u32),
    /// The polynomial modulo 2^width.
    Wrapped(Poly, u32),
    /// How often 2^width goes into the polynomial.
    Wraps(Poly, u32),
    /// The quotient rounded down; all ones of the width where the divisor is zero.
    Quotient(Poly, Poly, u32),
    /// What is left of the quotient rounded down; the dividend where the divisor is zero.
    Remainder(Poly, Poly),
    /// The quotient of signed numbers, rounded to zero; 1 for negative numbers and -1 for others by zero.
    Truncated(Poly, Poly),
    /// What is left of the quotient rounded to zero.
    TruncatedRest(Poly, Poly),
    /// The number that a vector of the width stands for when its highest bit is a sign.
    Signed(Poly, u32),
    /// One where a statement holds, else zero.
    Indicator(Formula),
    /// Two to this power, or to the width if that is less.
    Power(Poly, u32),
    /// The first polynomial where the statement holds, else the second.
    Choice(Formula, Poly, Poly),
    /// The bits that both have.
    Common(Poly, Poly),
}

/// What a truth value is.
#[derive(Clone, Debug)]
enum Bit {
    /// The variable with this number.
    Variable(#[cfg_attr(not(test), expect(dead_code, reason = "tests give variables values"))] u32),
    /// Whether this holds.
    Defined(Formula),
}

struct Encoder<'t> {
    terms: &'t Terms,
    /// The bounds of each unknown, and what it stands for.
    ranges: Vec<Range>,
    origins: Vec<Origin>,
    known: HashMap<Origin, Atom>,
    /// Bits that the goal is a conjunction of, and the values that they must have.
    conditions: HashMap<Term, bool>,
    /// The bounds of variables under which alone the goal is met.
    assumed: HashMap<u32, Range>,
    bits: Vec<Bit>,
    facts: Vec<Formula>,
    /// Polynomials that are zero or positive where the goal is met, beside what bounds of unknowns say.
    not_negative: Vec<Poly>,
    /// Values that are powers of two or zero, and unknowns that are odd.
    powers: Vec<Poly>,
    odd: Vec<Atom>,
    /// Terms of one bit.
    truths: HashMap<Term, Formula>,
    /// Other terms: what they are modulo 2^width, and their values where these are known.
    residues: HashMap<Term, Poly>,
    values: HashMap<Term, Poly>,
    /// Values by residue and width.
    exact: HashMap<(Poly, u32), Poly>,
}

impl<'t> Encoder<'t> {
    fn new(terms: &'t Terms) -> Encoder<'t> {
        Encoder {
            terms,
            ranges: Vec::new(),
            origins: Vec::new(),
            known: HashMap::new(),
            conditions: HashMap::new(),
            assumed: HashMap::new(),
            bits: Vec::new(),
            facts: Vec::new(),
            not_negative: Vec::new(),
            powers: Vec::new(),
            odd: Vec::new(),
            truths: HashMap::new(),
            residues: HashMap::new(),
            values: HashMap::new(),
            exact: HashMap::new(),
        }
    }

    /// Encodes terms, operands first; nothing where that gets too large or an operation has no integers.
    fn encode(&mut self, needed: &[Term]) -> Option<()> {
        for term in needed {
            if self.truths.contains_key(term) || self.residues.contains_key(term) {
                continue;
            }
            let node = *self.terms.node(*term);
            if node.width == 1 {
                let truth = self.one_bit(&node)?;
                let truth = self.decided(truth);
                // A condition that the goal needs is stated once, and known wherever else it is read.
                let truth = match self.conditions.get(term).copied() {
                    Some(holds) => {
                        let statement = if holds { truth } else { truth.negated() };
                        self.learn(&statement);
                        self.facts.push(statement);
                        if holds {
                            self.learn_of_bits(&node);
                        }
                        Formula::Known(holds)
                    }
                    None => self.named(truth),
                };
                self.truths.insert(*term, truth);
            } else {
                self.vector(*term, &node)?;
            }
            if self.ranges.len() > MOST_ATOMS {
                return None;
            }
        }
        Some(())
    }

    /// A short formula for a long one.
    fn named(&mut self, formula: Formula) -> Formula {
        if matches!(formula, Formula::Known(_) | Formula::Bit(_)) {
            return formula;
        }
        let known = self.bits.iter().position(|bit| matches!(bit, Bit::Defined(known) if *known == formula));
        match known {
            Some(bit) => Formula::Bit(bit as u32),
            None => self.new_bit(Bit::Defined(formula)),
        }
    }

    fn new_bit(&mut self, bit: Bit) -> Formula {
        self.bits.push(bit);
        Formula::Bit(self.bits.len() as u32 - 1)
    }

    fn truth(&self, term: Term) -> Formula {
        self.truths[&term].clone()
    }

    fn one_bit(&mut self, node: &Node) -> Option<Formula> {
        let [a, b, c] = node.args;
        let wide = self.terms.width(a) > 1;
        Some(match node.op {
            Op::Const(value) => Formula::Known(value == 1),
            Op::Variable(number) => self.new_bit(Bit::Variable(number)),
            Op::Not => self.truth(a).negated(),
            Op::Neg => self.truth(a),
            Op::And | Op::Mul => self.truth(a).and(self.truth(b)),
            Op::Or => self.truth(a).or(self.truth(b)),
            Op::Xor | Op::Add | Op::Sub => self.truth(a).same(self.truth(b)).negated(),
            Op::Ite => {
                let (condition, yes, no) = (self.truth(a), self.truth(b), self.truth(c));
                condition.clone().implies(yes).and(condition.or(no))
            }
            Op::Eq if wide => self.equal(a, b),
            Op::Ult if wide => Formula::less(&self.value(a), &self.value(b)),
            Op::Slt if wide => {
                let (a, b) = (self.signed(a), self.signed(b));
                Formula::less(&a, &b)
            }
            Op::Eq => self.truth(a).same(self.truth(b)),
            Op::Ult => self.truth(a).negated().and(self.truth(b)),
            Op::Slt => self.truth(a).and(self.truth(b).negated()),
            Op::Extract(low) if wide => {
                let value = self.value(a);
                let bit = self.field(&value, low, 1);
                Formula::equal(&bit, &Poly::constant(1))
            }
            _ => return None,
        })
    }

    /// Values are equal where their difference is a multiple of 2^width, and so are their multiples by odd numbers.
    fn equal(&mut self, a: Term, b: Term) -> Formula {
        let width = self.terms.width(a);
        let whole = self.residue(a).minus(&self.residue(b)).reduced(width);
        let mut difference = whole.clone();
        for factor in difference.common_factors() {
            if self.odd.contains(&factor) {
                difference = difference.split(&Poly::atom(factor)).0;
            }
        }
        let (low, high) = self.bounds(&difference);
        let (first, last) = (-floor(&-low, &power(width)), floor(&high, &power(width)));
        if first > last {
            return Formula::Known(false);
        }
        if first == last {
            return Formula::equal(&difference, &Poly::constant(first * power(width)));
        }
        if difference == whole {
            return Formula::equal(&self.value(a), &self.value(b));
        }
        let (added, subtracted) = difference.signs();
        Formula::equal(&self.wrapped(&added, width), &self.wrapped(&subtracted, width))
    }

    fn vector(&mut self, term: Term, node: &Node) -> Option<()> {
        let [a, b, c] = node.args;
        let width = node.width;
        // A value is a residue too; what is only one goes to the end.
        let value = match node.op {
            Op::Const(value) => Poly::constant(value),
            Op::Variable(number) => {
                let range = self.assumed.get(&number).cloned();
                self.unknown(Origin::Variable(number), range.unwrap_or((0.into(), ones(width).into()))).0
            }
            Op::ZeroExtend => self.value(a),
            Op::Concat => {
                let (high, low) = (self.value(a), self.value(b));
                high.times(&power(self.terms.width(b))).plus(&low)
            }
            Op::Extract(low) if low > 0 => {
                let value = self.value(a);
                self.field(&value, low, width)
            }
            Op::LShr => {
                let (a, by) = (self.value(a), self.power_of(b, width));
                self.divided(&a, &by, width).0
            }
            Op::UDiv => {
                let (a, b) = (self.value(a), self.value(b));
                self.divided(&a, &b, width).0
            }
            Op::URem => {
                let (a, b) = (self.value(a), self.value(b));
                let (quotient, rest) = self.divided(&a, &b, width);
                // Products with the quotient elsewhere cancel against this one.
                let residue = a.minus(&b.product(&quotient)).reduced(width);
                self.exact.insert((residue.clone(), width), rest.clone());
                self.residues.insert(term, residue);
                self.values.insert(term, rest);
                return Some(());
            }
            Op::SignExtend => {
                let signed = self.signed(a);
                self.residues.insert(term, signed.clone());
                let negative = self.is_negative(&signed);
                let negative = self.indicator(negative);
                signed.plus(&negative.times(&power(width)))
            }
            Op::AShr => {
                let (a, by) = (self.signed(a), self.power_of(b, width));
                let quotient = self.divided(&a, &by, width).0;
                self.residues.insert(term, quotient.clone());
                let negative = self.is_negative(&a);
                let negative = self.indicator(negative);
                quotient.plus(&negative.times(&power(width)))
            }
            Op::And => self.common(a, b),
            Op::Or | Op::Xor => {
                let common = self.common(a, b);
                let sum = self.value(a).plus(&self.value(b));
                sum.minus(&common.times(&BigInt::from(if node.op == Op::Or { 1 } else { 2 })))
            }
            Op::Ite => {
                let condition = self.truth(a);
                if let Formula::Known(holds) = condition {
                    let chosen = if holds { b } else { c };
                    let residue = self.residue(chosen);
                    self.residues.insert(term, residue);
                    if let Some(value) = self.values.get(&chosen).cloned() {
                        self.values.insert(term, value);
                    }
                    return Some(());
                }
                let (yes, no) = (self.value(b), self.value(c));
                self.choice(condition, &yes, &no)
            }
            _ => {
                let residue = self.wrapping(node)?.reduced(width);
                self.residues.insert(term, residue);
                return Some(());
            }
        };
        let (low, high) = self.bounds(&value);
        // It is known, though the polynomial alone may not show it.
        if low < 0.into() {
            self.facts.push(Formula::NotNegative(value.clone()));
        }
        if high > ones(width).into() {
            self.facts.push(Formula::at_most(&value, &Poly::constant(ones(width))));
        }
        let residue = value.reduced(width);
        self.exact.entry((residue.clone(), width)).or_insert_with(|| value.clone());
        self.residues.entry(term).or_insert(residue);
        self.values.insert(term, value);
        Some(())
    }

    /// Operations whose results are known modulo 2^width.
    fn wrapping(&mut self, node: &Node) -> Option<Poly> {
        let [a, b, _] = node.args;
        Some(match node.op {
            Op::Not => Poly::constant(-1).minus(&self.residue(a)),
            Op::Neg => Poly::default().minus(&self.residue(a)),
            Op::Add => self.residue(a).plus(&self.residue(b)),
            Op::Sub => self.residue(a).minus(&self.residue(b)),
            Op::Mul => self.product(a, b, node.width),
            Op::Shl => {
                let by = self.power_of(b, node.width);
                self.residue(a).product(&by)
            }
            Op::Extract(0) => {
                let residue = self.residue(a);
                self.congruent(residue, node.width)
            }
            Op::SDiv => self.truncated(a, b).0,
            Op::SRem => {
                let (quotient, rest) = self.truncated(a, b);
                let residue = self.signed(a).minus(&self.signed(b).product(&quotient)).reduced(node.width);
                // Products with the quotient elsewhere cancel against this residue, too.
                let value = self.wrapped(&rest.reduced(node.width), node.width);
                self.exact.insert((residue.clone(), node.width), value);
                residue
            }
            _ => return None,
        })
    }

    fn product(&mut self, a: Term, b: Term, width: u32) -> Poly {
        let residue = self.residue(a).product(&self.residue(b));
        // As values, factors may show that their product does not wrap.
        let (exact_left, exact_right) = (self.values.get(&a).cloned(), self.values.get(&b).cloned());
        if let (Some(left), Some(right)) = (exact_left, exact_right) {
            let product = left.product(&right);
            let (least, most) = self.bounds(&product);
            if least >= 0.into() && most <= ones(width).into() && fits(&product) {
                self.exact.insert((residue.reduced(width), width), product.clone());
                return if fits(&residue) { residue } else { product };
            }
        }
        if fits(&residue) { residue } else { self.value(a).product(&self.value(b)) }
    }

    /// The same modulo 2^width, without unknowns that were reduced modulo as much or more.
    fn congruent(&self, mut poly: Poly, width: u32) -> Poly {
        for atom in poly.atoms() {
            let whole = match &self.origins[atom as usize] {
                Origin::Wrapped(whole, bits) | Origin::Signed(whole, bits) if *bits >= width => whole,
                Origin::Remainder(whole, by)
                    if by.value().is_some_and(|by| by.trailing_zeros() >= Some(width.into())) =>
                {
                    whole
                }
                _ => continue,
            };
            let Some(factor) = poly.linear_in(atom).cloned() else { continue };
            let shorter = poly.plus(&whole.minus(&Poly::atom(atom)).times(&factor));
            if fits(&shorter) {
                poly = shorter;
            }
        }
        poly
    }

    fn residue(&mut self, term: Term) -> Poly {
        match self.residues.get(&term) {
            Some(residue) => residue.clone(),
            None => self.value(term),
        }
    }

    /// The value of a term of any width.
    fn value(&mut self, term: Term) -> Poly {
        if let Some(value) = self.values.get(&term) {
            return value.clone();
        }
        let width = self.terms.width(term);
        let value = if width == 1 {
            let truth = self.truth(term);
            self.indicator(truth)
        } else {
            let residue = self.residues[&term].clone();
            self.wrapped(&residue, width)
        };
        self.values.insert(term, value.clone());
        value
    }

    /// The value modulo 2^width.
    fn wrapped(&mut self, residue: &Poly, width: u32) -> Poly {
        if let Some(value) = self.exact.get(&(residue.clone(), width)) {
            return value.clone();
        }
        let (low, high) = self.bounds(residue);
        if low >= 0.into() && high <= ones(width).into() {
            return residue.clone();
        }
        if let Some(shorter) = self.in_quotients(residue, width) {
            let value = self.wrapped(&shorter, width);
            self.exact.insert((residue.clone(), width), value.clone());
            return value;
        }
        let range = (floor(&low, &power(width)), floor(&high, &power(width)));
        if range.0 == range.1 {
            return residue.plus_number(-range.0 * power(width));
        }
        let (value, _) = self.unknown(Origin::Wrapped(residue.clone(), width), (0.into(), ones(width).into()));
        let (wraps, _) = self.unknown(Origin::Wraps(residue.clone(), width), range);
        self.facts.push(Formula::equal(&value, &residue.minus(&wraps.times(&power(width)))));
        self.exact.insert((residue.clone(), width), value.clone());
        value
    }

    /// A residue with `c * q + r` for unknowns that were divided by a number `c`, if then it wraps less often: by the
    /// inverse of `c`, a multiple of `c` is multiplied to its quotient.
    fn in_quotients(&mut self, residue: &Poly, width: u32) -> Option<Poly> {
        let spread = |encoder: &Self, poly: &Poly| {
            let (low, high) = poly.range(&encoder.ranges);
            high - low
        };
        for atom in residue.atoms() {
            let factor = residue.linear_in(atom).cloned();
            let divisor = self.origins.iter().find_map(|origin| match origin {
                Origin::Quotient(a, b, _) if a.as_atom() == Some(atom) => b.value(),
                _ => None,
            });
            let (Some(factor), Some(divisor)) = (factor, divisor) else { continue };
            let (quotient, rest) = self.divided(&Poly::atom(atom), &Poly::constant(divisor.clone()), width);
            let whole = quotient.times(&divisor).plus(&rest).minus(&Poly::atom(atom));
            let shorter = residue.plus(&whole.times(&factor)).reduced(width);
            if spread(self, &shorter) < spread(self, residue) {
                return Some(shorter);
            }
        }
        None
    }

    /// The unknown that stands for this, the same one each time, and whether facts about it are to be stated. Where its
    /// bounds are one number, it is that number.
    fn unknown(&mut self, origin: Origin, range: Range) -> (Poly, bool) {
        if range.0 == range.1 {
            return (Poly::constant(range.0), true);
        }
        let next = self.ranges.len() as Atom;
        let atom = *self.known.entry(origin.clone()).or_insert(next);
        if atom == next {
            self.ranges.push(range);
            self.origins.push(origin);
        }
        (Poly::atom(atom), atom == next)
    }

    fn indicator(&mut self, truth: Formula) -> Poly {
        if let Formula::Known(holds) = truth {
            return Poly::constant(u8::from(holds));
        }
        let (one, is_new) = self.unknown(Origin::Indicator(truth.clone()), (0.into(), 1.into()));
        if is_new {
            self.facts.push(truth.same(Formula::equal(&one, &Poly::constant(1))));
        }
        one
    }

    fn choice(&mut self, condition: Formula, yes: &Poly, no: &Poly) -> Poly {
        match condition {
            Formula::Known(true) => return yes.clone(),
            Formula::Known(false) => return no.clone(),
            _ if yes == no => return yes.clone(),
            _ => {}
        }
        let (a, b) = (self.bounds(yes), self.bounds(no));
        let origin = Origin::Choice(condition.clone(), yes.clone(), no.clone());
        let (chosen, is_new) = self.unknown(origin, (a.0.min(b.0), a.1.max(b.1)));
        if is_new {
            self.facts.push(condition.clone().implies(Formula::equal(&chosen, yes)));
            self.facts.push(condition.or(Formula::equal(&chosen, no)));
        }
        chosen
    }

    /// The signed number that a vector stands for.
    fn signed(&mut self, term: Term) -> Poly {
        let width = self.terms.width(term);
        let half = power(width - 1);
        let residue = self.residue(term);
        let (low, high) = self.bounds(&residue);
        let wraps = floor(&(low + &half), &power(width)) * power(width);
        if high - &wraps < half {
            return residue.plus_number(-wraps);
        }
        let value = self.value(term);
        let (low, high) = self.bounds(&value);
        if high < half {
            return value;
        }
        if low >= half {
            return value.plus_number(-power(width));
        }
        let (signed, is_new) = self.unknown(Origin::Signed(value.clone(), width), (-half.clone(), half - 1));
        if is_new {
            // The bounds of the number decide which of the two it is.
            let negative = self.is_negative(&signed);
            let negative = self.indicator(negative);
            self.facts.push(Formula::equal(&value, &signed.plus(&negative.times(&power(width)))));
        }
        signed
    }

    /// The bits that two terms have in common, as a value.
    fn common(&mut self, a: Term, b: Term) -> Poly {
        let width = self.terms.width(a);
        let (x, y) = (self.value(a), self.value(b));
        if x == y {
            return x;
        }
        for (mask, other) in [(x.value(), &y), (y.value(), &x)] {
            let Some(mask) = mask.and_then(|mask| u128::try_from(mask).ok()) else { continue };
            let runs = runs(mask);
            if runs.len() > MOST_RUNS {
                break;
            }
            let mut sum = Poly::default();
            for (low, count) in runs {
                sum = sum.plus(&self.field(other, low, count).times(&power(low)));
            }
            return sum;
        }
        // `x & (p - 1)` is `x % p`, and `x & -p` is what it leaves of `x`; so it is where `p` is zero.
        for (x, mask) in [(&x, &y), (&y, &x)] {
            let (below, above) = (mask.plus_number(1), Poly::constant(power(width)).minus(mask));
            for (power, is_rest) in [(below, true), (above, false)] {
                if self.powers.contains(&power) {
                    let rest = self.divided(x, &power, width).1;
                    return if is_rest { rest } else { x.minus(&rest) };
                }
            }
        }
        let (x, y) = if x <= y { (x, y) } else { (y, x) };
        let most = self.bounds(&x).1.min(self.bounds(&y).1);
        let (common, is_new) = self.unknown(Origin::Common(x.clone(), y.clone()), (0.into(), most));
        if is_new {
            self.facts.push(Formula::at_most(&common, &x));
            self.facts.push(Formula::at_most(&common, &y));
            let all = Poly::constant(ones(width));
            self.facts.push(Formula::at_most(&x.plus(&y).minus(&common), &all));
        }
        common
    }
}

fn fits(poly: &Poly) -> bool {
    poly.len() <= MOST_PARTS && poly.degree() <= MOST_FACTORS
}

/// The runs of ones in a mask: where each begins, and its length.
fn runs(mut mask: u128) -> Vec<(u32, u32)> {
    let mut runs = Vec::new();
    let mut at = 0;
    while mask != 0 {
        let zeros = mask.trailing_zeros();
        mask >>= zeros;
        let count = mask.trailing_ones();
        runs.push((at + zeros, count));
        at += zeros + count;
        mask = mask.checked_shr(count).unwrap_or(0);
    }
    runs
}
