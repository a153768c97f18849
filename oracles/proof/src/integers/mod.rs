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

mod formula;
mod poly;

use std::collections::HashMap;
use std::fmt::Write as _;

use num_bigint::BigInt;

use super::query::Query;
use super::solve::split;
use super::term::{Node, Op, Term, Terms, ones};
use formula::Formula;
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
/// Variables whose signs are told apart.
const MOST_SIGNS: usize = 2;
/// Conditions for results that are not defined which are told apart.
const MOST_CONDITIONS: usize = 2;
/// Quotients that are looked into for the bounds of one value.
const MOST_QUOTIENTS: usize = 6;

/// What is left of a question over integers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Integers {
    /// Nothing: arithmetic shows that no inputs meet it.
    Impossible,
    /// SMT-LIB text, one command a line. No integers meet it only if no inputs meet the question.
    Text(String),
}

/// The question over integers, if it is one that these may help with: it multiplies or divides.
pub fn integers(terms: &Terms, query: &Query) -> Option<Integers> {
    let needed = terms.reachable(&[query.goal]);
    let is_arithmetic =
        |term: &Term| matches!(terms.node(*term).op, Op::Mul | Op::UDiv | Op::URem | Op::SDiv | Op::SRem);
    if needed.len() > MOST_TERMS || !needed.iter().any(is_arithmetic) {
        return None;
    }
    let mut encoder = Encoder::new(terms);
    encoder.assume(query.goal);
    encoder.all(&needed)?;
    let goal = encoder.truth(query.goal);
    encoder.facts.push(goal);
    if encoder.facts.contains(&Formula::Known(false)) {
        return Some(Integers::Impossible);
    }
    Some(Integers::Text(encoder.text()))
}

/// The question in cases, over other terms: for each sign of its variables, where it has signed numbers, and for each
/// outcome of the conditions that choose a variable for a result that is not defined. Quotients are simple for numbers
/// of one sign. Nothing where there are no cases, or too many variables.
pub fn by_cases(terms: &Terms, query: &Query) -> Vec<(Terms, Query)> {
    let needed = terms.reachable(&[query.goal]);
    let is_signed =
        |term: &Term| matches!(terms.node(*term).op, Op::SDiv | Op::SRem | Op::SignExtend | Op::AShr | Op::Slt);
    let is_variable = |term: Term| matches!(terms.node(term).op, Op::Variable(_));
    let choices = needed.iter().map(|term| terms.node(*term)).filter(|node| node.op == Op::Ite);
    let mut conditions: Vec<Term> =
        choices.clone().filter(|node| is_variable(node.args[2])).map(|node| node.args[0]).collect();
    conditions.dedup();
    let chosen: Vec<Term> = choices.map(|node| node.args[2]).collect();
    let mut variables: Vec<(usize, u32)> = Vec::new();
    for term in needed.iter().filter(|term| !chosen.contains(term)) {
        match terms.node(*term) {
            Node { op: Op::Variable(number), width, .. } if *width > 1 => variables.push((*number as usize, *width)),
            _ => {}
        }
    }
    if !needed.iter().any(is_signed) || variables.len() > MOST_SIGNS {
        variables.clear();
    }
    conditions.truncate(MOST_CONDITIONS);
    let count = variables.len() + conditions.len();
    if count == 0 {
        return Vec::new();
    }
    let case = |outcomes: u32| {
        let mut terms = terms.clone();
        let mut goal = query.goal;
        for (at, condition) in conditions.iter().enumerate() {
            let holds = outcomes >> (variables.len() + at) & 1 == 1;
            let condition = if holds { *condition } else { terms.not(*condition) };
            goal = terms.and(goal, condition);
        }
        let mut values = Vec::new();
        for (at, (number, width)) in variables.iter().enumerate() {
            let magnitude = terms.variable("", width - 1);
            let sign = terms.bit(outcomes >> at & 1 == 1);
            values.push((*number, terms.concat(sign, magnitude)));
        }
        let goal = terms.substitute(&[goal], &values)[0];
        (terms, Query { goal, premise: goal })
    };
    (0..1 << count).map(case).collect()
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
            truths: HashMap::new(),
            residues: HashMap::new(),
            values: HashMap::new(),
            exact: HashMap::new(),
        }
    }

    /// Bounds of variables from conditions that the goal is a conjunction of.
    fn assume(&mut self, goal: Term) {
        let mut conditions = Vec::new();
        split(self.terms, goal, true, &mut conditions);
        for (condition, holds) in conditions {
            self.conditions.insert(condition, holds);
            let Node { op, args: [a, b, _], .. } = *self.terms.node(condition);
            let width = self.terms.width(a);
            match (self.terms.value(a), self.terms.value(b)) {
                (None, Some(number)) => self.limit(op, holds, a, number, width, false),
                (Some(number), None) => self.limit(op, holds, b, number, width, true),
                _ => {}
            }
        }
    }

    /// What `a op number` says of a variable, or `number op a` (`swapped`).
    fn limit(&mut self, op: Op, holds: bool, a: Term, number: u128, width: u32, swapped: bool) {
        let Node { op: of, args: [x, y, _], .. } = *self.terms.node(a);
        let all = ones(width);
        // Of a variable behind constant bits, the low bits decide where the high ones are equal.
        if let (Op::Concat, Some(high)) = (of, self.terms.value(x)) {
            let low = self.terms.width(y);
            if number >> low == high {
                let op = if op == Op::Slt { Op::Ult } else { op };
                self.limit(op, holds, y, number & ones(low), low, swapped);
            }
            return;
        }
        let is_equal = op == Op::Eq && holds;
        // A mask of high bits that are clear, or the high bits themselves.
        let clear = match of {
            Op::And if is_equal && number == 0 => {
                [(x, y), (y, x)].into_iter().find_map(|(x, y)| Some((x, self.terms.value(y)?)))
            }
            Op::Extract(low) if is_equal && number == 0 => Some((x, (all << low) & ones(self.terms.width(x)))),
            _ => None,
        };
        let (variable, low, high) = match clear {
            Some((x, mask)) => (x, 0, ones(self.terms.width(x)) & !mask),
            None => {
                let half = 1 << (width - 1);
                let (low, high) = match (op, holds, swapped) {
                    (Op::Eq, true, _) => (number, number),
                    (Op::Eq, false, _) if number == 0 => (1, all),
                    (Op::Eq, false, _) if number == all => (0, all - 1),
                    (Op::Ult, true, false) => (0, number.saturating_sub(1)),
                    (Op::Ult, false, false) => (number, all),
                    (Op::Ult, true, true) => (number.saturating_add(1).min(all), all),
                    (Op::Ult, false, true) => (0, number),
                    (Op::Slt, false, false) if number < half => (number, half - 1),
                    (Op::Slt, true, true) if number < half - 1 => (number + 1, half - 1),
                    (Op::Slt, true, true) if number == all => (0, half - 1),
                    _ => return,
                };
                (a, low, high)
            }
        };
        if let Op::Variable(number) = self.terms.node(variable).op {
            let full = (0.into(), ones(self.terms.width(variable)).into());
            let (least, most) = self.assumed.remove(&number).unwrap_or(full);
            let (least, most): Range = (least.max(low.into()), most.min(high.into()));
            // Conditions that exclude each other are left to the solver.
            if least <= most {
                self.assumed.insert(number, (least, most));
            }
        }
    }

    /// Encodes terms, operands first; nothing where that gets too large or an operation has no integers.
    fn all(&mut self, needed: &[Term]) -> Option<()> {
        for term in needed {
            let node = *self.terms.node(*term);
            if node.width == 1 {
                let truth = self.one_bit(&node)?;
                let truth = self.decided(truth);
                // A condition that the goal needs is stated once, and known wherever else it is read.
                let truth = match self.conditions.get(term).copied() {
                    Some(holds) => {
                        self.facts.push(if holds { truth } else { truth.negated() });
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
        self.new_bit(Bit::Defined(formula))
    }

    fn new_bit(&mut self, bit: Bit) -> Formula {
        self.bits.push(bit);
        Formula::Bit(self.bits.len() as u32 - 1)
    }

    /// A statement that bounds decide is known.
    fn decided(&self, formula: Formula) -> Formula {
        let (low, high) = match &formula {
            Formula::Zero(poly) | Formula::NotNegative(poly) => self.bounds(poly),
            _ => return formula,
        };
        let zero = BigInt::from(0);
        match formula {
            Formula::Zero(_) if low > zero || high < zero => Formula::Known(false),
            Formula::NotNegative(_) if low >= zero => Formula::Known(true),
            Formula::NotNegative(_) if high < zero => Formula::Known(false),
            other => other,
        }
    }

    /// Whether a polynomial is negative.
    fn is_negative(&self, poly: &Poly) -> Formula {
        self.decided(Formula::less(poly, &Poly::default()))
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
                let bit = self.field(a, low, 1);
                Formula::equal(&bit, &Poly::constant(1))
            }
            _ => return None,
        })
    }

    /// Equal residues are equal values, whatever these are.
    fn equal(&mut self, a: Term, b: Term) -> Formula {
        let width = self.terms.width(a);
        let difference = self.residue(a).minus(&self.residue(b)).reduced(width);
        match difference.value() {
            Some(value) => Formula::Known(value == 0.into()),
            None => Formula::equal(&self.value(a), &self.value(b)),
        }
    }

    fn vector(&mut self, term: Term, node: &Node) -> Option<()> {
        let [a, b, c] = node.args;
        let width = node.width;
        // A value is a residue too; what is only one goes to the end.
        let value = match node.op {
            Op::Const(value) => Poly::constant(value),
            Op::Variable(number) => {
                let range = self.assumed.get(&number).cloned();
                self.unknown(Origin::Variable(number), range.unwrap_or((0.into(), ones(width).into())))
            }
            Op::ZeroExtend => self.value(a),
            Op::Concat => {
                let (high, low) = (self.value(a), self.value(b));
                high.times(&power(self.terms.width(b))).plus(&low)
            }
            Op::Extract(low) if low > 0 => self.field(a, low, width),
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
            Op::Extract(0) => self.residue(a),
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
        let (left, right) = (self.residue(a), self.residue(b));
        // As values, factors may show that their product does not wrap.
        let (exact_left, exact_right) = (self.values.get(&a).cloned(), self.values.get(&b).cloned());
        if let (Some(left), Some(right)) = (exact_left, exact_right) {
            let product = left.product(&right);
            let (least, most) = self.bounds(&product);
            if least >= 0.into() && most <= ones(width).into() && fits(&product) {
                return product;
            }
        }
        let product = left.product(&right);
        if fits(&product) { product } else { self.value(a).product(&self.value(b)) }
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
        let (low, high) = self.bounds(residue);
        if low >= 0.into() && high <= ones(width).into() {
            return residue.clone();
        }
        if let Some(value) = self.exact.get(&(residue.clone(), width)) {
            return value.clone();
        }
        let range = (floor(&low, &power(width)), floor(&high, &power(width)));
        if range.0 == range.1 {
            return residue.plus_number(-range.0 * power(width));
        }
        let value = self.unknown(Origin::Wrapped(residue.clone(), width), (0.into(), ones(width).into()));
        let wraps = self.unknown(Origin::Wraps(residue.clone(), width), range);
        self.facts.push(Formula::equal(&value, &residue.minus(&wraps.times(&power(width)))));
        self.exact.insert((residue.clone(), width), value.clone());
        value
    }

    /// The unknown that stands for this, the same one each time; a number where its bounds are one.
    fn unknown(&mut self, origin: Origin, range: Range) -> Poly {
        if range.0 == range.1 {
            return Poly::constant(range.0);
        }
        let next = self.ranges.len() as Atom;
        let atom = *self.known.entry(origin.clone()).or_insert(next);
        if atom == next {
            self.ranges.push(range);
            self.origins.push(origin);
        }
        Poly::atom(atom)
    }

    /// Bounds of a value. Quotients by numbers are related to what they are quotients of: `x - x / 3` is not negative.
    fn bounds(&self, poly: &Poly) -> Range {
        let (low, high) = poly.range(&self.ranges);
        let least = self.least(poly);
        let most = -self.least(&Poly::default().minus(poly));
        (low.max(least), high.min(most))
    }

    fn least(&self, poly: &Poly) -> BigInt {
        let (mut scaled, mut scale) = (poly.clone(), BigInt::from(1));
        let mut best = poly.range(&self.ranges).0;
        for _ in 0..MOST_QUOTIENTS {
            let atoms = scaled.atoms().into_iter();
            let quotient =
                atoms.filter_map(|atom| Some((atom, scaled.linear_in(atom)?.clone(), self.quotient_by_number(atom)?)));
            let Some((atom, factor, (dividend, divisor))) = { quotient }.next() else { break };
            // (p - d + 1) / d <= floor(p / d) <= p / d
            let missing: BigInt = if factor > 0.into() { &factor * (&divisor - 1) } else { 0.into() };
            let others = scaled.minus(&Poly::atom(atom).times(&factor));
            scaled = others.times(&divisor).plus(&dividend.times(&factor)).plus_number(-missing);
            scale *= divisor;
            let low = scaled.range(&self.ranges).0;
            best = best.max(-floor(&-low, &scale));
        }
        best
    }

    fn is_known(&self, origin: &Origin) -> bool {
        self.known.contains_key(origin)
    }

    fn indicator(&mut self, truth: Formula) -> Poly {
        if let Formula::Known(holds) = truth {
            return Poly::constant(u8::from(holds));
        }
        let origin = Origin::Indicator(truth.clone());
        let fresh = !self.is_known(&origin);
        let one = self.unknown(origin, (0.into(), 1.into()));
        if fresh {
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
        let fresh = !self.is_known(&origin);
        let chosen = self.unknown(origin, (a.0.min(b.0), a.1.max(b.1)));
        if fresh {
            self.facts.push(condition.clone().implies(Formula::equal(&chosen, yes)));
            self.facts.push(condition.or(Formula::equal(&chosen, no)));
        }
        chosen
    }

    /// The signed number that a vector stands for.
    fn signed(&mut self, term: Term) -> Poly {
        let (value, width) = (self.value(term), self.terms.width(term));
        let half = power(width - 1);
        if self.bounds(&value).1 < half {
            return value;
        }
        if self.bounds(&value).0 >= half {
            return value.plus_number(-power(width));
        }
        let origin = Origin::Signed(value.clone(), width);
        let fresh = !self.is_known(&origin);
        let signed = self.unknown(origin, (-half.clone(), half - 1));
        if fresh {
            // The bounds of the number decide which of the two it is.
            let negative = self.is_negative(&signed);
            let negative = self.indicator(negative);
            self.facts.push(Formula::equal(&value, &signed.plus(&negative.times(&power(width)))));
        }
        signed
    }

    /// Bits of a term, as a value.
    fn field(&mut self, term: Term, low: u32, width: u32) -> Poly {
        let value = self.value(term);
        let above = self.divided(&value, &Poly::constant(power(low)), self.terms.width(term)).0;
        self.divided(&above, &Poly::constant(power(width)), self.terms.width(term)).1
    }

    /// Two to the power of a term, or to the width where that is less: by it, shifts multiply and divide.
    fn power_of(&mut self, count: Term, width: u32) -> Poly {
        let count = self.value(count);
        if let Some(number) = count.value() {
            let number = u32::try_from(number).unwrap_or(width).min(width);
            return Poly::constant(power(number));
        }
        let origin = Origin::Power(count.clone(), width);
        let fresh = !self.is_known(&origin);
        let result = self.unknown(origin, (1.into(), power(width)));
        if fresh {
            let case = |number: u32| Formula::equal(&result, &Poly::constant(power(number)));
            let within = (0..width).map(|number| Formula::equal(&count, &Poly::constant(number)).and(case(number)));
            let beyond = Formula::at_most(&Poly::constant(width), &count).and(case(width));
            let all = Formula::Any(within.chain([beyond]).collect());
            self.facts.push(all);
        }
        result
    }

    /// The quotient rounded down and what is left. The divisor is not negative; the dividend is neither, where the
    /// divisor may be zero.
    fn divided(&mut self, a: &Poly, b: &Poly, width: u32) -> (Poly, Poly) {
        if let Some(divisor) = b.value().filter(|divisor| *divisor > 0.into()) {
            if let Some(split) = self.split_exactly(a, &divisor) {
                return split;
            }
            if let Some(quotient) = self.quotient_of_less(a, &divisor) {
                let origin = Origin::Remainder(a.clone(), b.clone());
                let fresh = !self.is_known(&origin);
                let rest = self.unknown(origin, (0.into(), divisor - 1));
                if fresh {
                    self.facts.push(Formula::equal(a, &b.product(&quotient).plus(&rest)));
                }
                return (quotient, rest);
            }
        }
        self.divided_as_it_is(a, b, width)
    }

    /// Parts of a dividend that are multiples of the divisor, where what is left is less than it.
    fn split_exactly(&self, a: &Poly, divisor: &BigInt) -> Option<(Poly, Poly)> {
        let (multiple, rest) = a.split(divisor);
        let (least, most) = self.bounds(&rest);
        (least >= 0.into() && most < *divisor).then_some((multiple, rest))
    }

    /// The quotient by a number as that of simpler terms, where there is one: quotients of quotients are one quotient,
    /// and a product with a reciprocal is the quotient that it stands for.
    fn quotient_of_less(&mut self, a: &Poly, divisor: &BigInt) -> Option<Poly> {
        let (mut inner, mut by) = (a.clone(), divisor.clone());
        // floor((floor(p / d) + r) / b) = floor((p + d * r) / (d * b)) for whole r.
        for atom in a.atoms().into_iter() {
            let Some((dividend, inner_divisor)) = self.quotient_by_number(atom) else { continue };
            if inner.linear_in(atom).is_some_and(|coefficient| *coefficient == 1.into()) {
                let others = inner.minus(&Poly::atom(atom));
                inner = dividend.plus(&others.times(&inner_divisor));
                by *= inner_divisor;
            }
        }
        let changed = inner != *a;
        if let Some(quotient) = self.reciprocal(&inner, &by) {
            return Some(quotient);
        }
        changed.then(|| self.divided(&inner, &Poly::constant(by), 1).0)
    }

    /// The dividend and the divisor of an unknown that is a quotient by a positive number.
    fn quotient_by_number(&self, atom: Atom) -> Option<(Poly, BigInt)> {
        match &self.origins[atom as usize] {
            Origin::Quotient(a, b, _) => b.value().filter(|b| *b > 0.into()).map(|b| (a.clone(), b)),
            _ => None,
        }
    }

    /// `floor((m * p + k) / d)` as `floor(p / c)`, where they are equal for all that `p` may be.
    ///
    /// With `e = m * c - d` and `p = c * u + v`, `0 <= v < c`, the dividend is `d * u + e * u + m * v + k`. So they are
    /// equal where `e * u + m * v + k` is from 0 to `d - 1` (T. Granlund and P. L. Montgomery, "Division by Invariant
    /// Integers using Multiplication", PLDI 1994, theorem 4.2).
    fn reciprocal(&mut self, a: &Poly, divisor: &BigInt) -> Option<Poly> {
        let m = a.content();
        if m <= 1.into() {
            return None;
        }
        let shift = floor(&a.free_number(), &m);
        let k = a.free_number() - &shift * &m;
        let p = divided_by(&a.plus_number(-&k), &m);
        let (low, high) = self.bounds(&p);
        if high < 0.into() {
            // floor(-z / d) = -1 - floor((z - 1) / d)
            let opposite = Poly::constant(-1).minus(a);
            let quotient = self.divided(&opposite, &Poly::constant(divisor.clone()), 1).0;
            return Some(Poly::constant(-1).minus(&quotient));
        }
        if low < 0.into() {
            return None;
        }
        // Of a dividend `m * p - 1` the number is taken for -1, not for `m - 1`.
        let mut forms = vec![(p.clone(), k.clone())];
        if k.sign() != num_bigint::Sign::NoSign {
            forms.push((p.plus_number(1), k - &m));
        }
        for (p, k) in forms {
            let (low, high) = self.bounds(&p);
            let near = floor(divisor, &m);
            for c in [near.clone(), near + 1] {
                if c > 0.into() && is_reciprocal(&m, &k, divisor, &c, &low, &high) {
                    return Some(self.divided(&p, &Poly::constant(c), 1).0);
                }
            }
        }
        None
    }

    /// The quotient and the rest as unknowns.
    fn divided_as_it_is(&mut self, a: &Poly, b: &Poly, width: u32) -> (Poly, Poly) {
        let (low, high) = self.bounds(a);
        let (least, most) = self.bounds(b);
        // No result depends on the width unless the divisor may be zero.
        let width = if least > 0.into() { 1 } else { width };
        let all: BigInt = ones(width).into();
        let bounds = match least > 0.into() {
            // Rounded down, a negative dividend is nearest to zero by the greatest divisor.
            true => {
                let at = |value: &BigInt, by: &BigInt| floor(value, by);
                let low_by = if low < 0.into() { &least } else { &most };
                let high_by = if high < 0.into() { &most } else { &least };
                (at(&low, low_by), at(&high, high_by))
            }
            false => (0.into(), all.clone()),
        };
        let rest_most = if least > 0.into() { most - 1 } else { high.clone().max(0.into()) };
        let origin = Origin::Quotient(a.clone(), b.clone(), width);
        let fresh = !self.is_known(&origin);
        let quotient = self.unknown(origin, bounds);
        let rest = self.unknown(Origin::Remainder(a.clone(), b.clone()), (0.into(), rest_most));
        if fresh {
            self.facts.push(Formula::equal(a, &b.product(&quotient).plus(&rest)));
            let positive = self.decided(Formula::less(&Poly::default(), b));
            if least <= 0.into() {
                self.facts.push(positive.clone().or(Formula::equal(&quotient, &Poly::constant(all))));
                self.facts.push(positive.clone().implies(Formula::at_most(&quotient, a)));
            }
            // Solvers multiply before they see this.
            if low >= 0.into() {
                self.facts.push(Formula::less(a, b).implies(Formula::equal(&quotient, &Poly::default())));
            }
            self.facts.push(positive.implies(Formula::less(&rest, b)));
        }
        (quotient, rest)
    }

    /// The signed quotient rounded to zero, and what is left.
    fn truncated(&mut self, a: Term, b: Term) -> (Poly, Poly) {
        let width = self.terms.width(a);
        let (a, b) = (self.signed(a), self.signed(b));
        let zero = Poly::default();
        if self.bounds(&a).0 >= 0.into() && self.bounds(&b).0 > 0.into() {
            return self.divided(&a, &b, width);
        }
        let (negative_a, negative_b) = (self.is_negative(&a), self.is_negative(&b));
        if let (Formula::Known(negative_a), Formula::Known(negative_b)) = (negative_a, negative_b) {
            let magnitude = |poly: &Poly, negative: bool| if negative { zero.minus(poly) } else { poly.clone() };
            let divisor = magnitude(&b, negative_b);
            if self.bounds(&divisor).0 > 0.into() {
                let (quotient, rest) = self.divided(&magnitude(&a, negative_a), &divisor, width);
                return (magnitude(&quotient, negative_a != negative_b), magnitude(&rest, negative_a));
            }
        }
        let half = power(width - 1);
        let origin = Origin::Truncated(a.clone(), b.clone());
        let fresh = !self.is_known(&origin);
        let quotient = self.unknown(origin, (-half.clone(), half.clone()));
        let rest = self.unknown(Origin::TruncatedRest(a.clone(), b.clone()), (-half.clone(), half));
        if fresh {
            self.facts.push(Formula::equal(&a, &b.product(&quotient).plus(&rest)));
            let (dividend, divisor) = (Formula::at_most(&zero, &a), Formula::at_most(&zero, &b));
            let magnitude = if b.value().is_some() || self.bounds(&b).0 >= 0.into() {
                let positive = self.bounds(&b).0 >= 0.into();
                if positive { b.clone() } else { zero.minus(&b) }
            } else {
                self.choice(divisor, &b, &zero.minus(&b))
            };
            // The remainder has the dividend's sign, or is zero.
            let (below, above) = (Formula::less(&rest, &magnitude), Formula::less(&zero.minus(&rest), &magnitude));
            let nonzero = Formula::equal(&b, &zero).negated();
            let inside = dividend.clone().implies(below).and(dividend.clone().or(above));
            self.facts.push(nonzero.clone().implies(inside));
            self.facts.push(dividend.clone().implies(Formula::at_most(&zero, &rest)));
            self.facts.push(dividend.clone().or(Formula::at_most(&rest, &zero)));
            let by_zero = |value: i32| Formula::equal(&quotient, &Poly::constant(value));
            let by_zero = dividend.clone().implies(by_zero(-1)).and(dividend.or(by_zero(1)));
            self.facts.push(nonzero.or(by_zero));
        }
        (quotient, rest)
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
                let above = self.divided(other, &Poly::constant(power(low)), width).0;
                let field = self.divided(&above, &Poly::constant(power(count)), width).1;
                sum = sum.plus(&field.times(&power(low)));
            }
            return sum;
        }
        let (x, y) = if x <= y { (x, y) } else { (y, x) };
        let most = self.bounds(&x).1.min(self.bounds(&y).1);
        let origin = Origin::Common(x.clone(), y.clone());
        let fresh = !self.is_known(&origin);
        let common = self.unknown(origin, (0.into(), most));
        if fresh {
            self.facts.push(Formula::at_most(&common, &x));
            self.facts.push(Formula::at_most(&common, &y));
            let all = Poly::constant(ones(width));
            self.facts.push(Formula::at_most(&x.plus(&y).minus(&common), &all));
        }
        common
    }

    fn text(&self) -> String {
        let is_linear = |formula: &Formula| formula.degree() <= 1;
        let defined = self.bits.iter().filter_map(|bit| match bit {
            Bit::Variable(_) => None,
            Bit::Defined(formula) => Some(formula),
        });
        let linear = self.facts.iter().chain(defined).all(is_linear);
        let mut text = format!("(set-logic {})\n", if linear { "QF_LIA" } else { "QF_NIA" });
        for (atom, (low, high)) in self.ranges.iter().enumerate() {
            let atom = Poly::atom(atom as Atom);
            let mut name = String::new();
            atom.write(&mut name);
            let _ = writeln!(text, "(declare-const {name} Int)");
            for bound in [
                Formula::at_most(&Poly::constant(low.clone()), &atom),
                Formula::at_most(&atom, &Poly::constant(high.clone())),
            ] {
                assert(&mut text, &bound);
            }
        }
        for (number, bit) in self.bits.iter().enumerate() {
            let _ = writeln!(text, "(declare-const b{number} Bool)");
            if let Bit::Defined(formula) = bit {
                assert(&mut text, &Formula::Bit(number as u32).same(formula.clone()));
            }
        }
        let facts = self.facts.iter().filter(|fact| **fact != Formula::Known(true));
        facts.for_each(|fact| assert(&mut text, fact));
        text
    }
}

fn assert(text: &mut String, formula: &Formula) {
    text.push_str("(assert ");
    formula.write(text);
    text.push_str(")\n");
}

/// A polynomial all of whose coefficients are multiples of a number, divided by it.
fn divided_by(poly: &Poly, number: &BigInt) -> Poly {
    poly.split(number).0
}

/// Whether `floor((m * p + k) / d)` is `floor(p / c)` for all `p` from `low` to `high`, which are not negative.
fn is_reciprocal(m: &BigInt, k: &BigInt, d: &BigInt, c: &BigInt, low: &BigInt, high: &BigInt) -> bool {
    let excess = m * c - d;
    let (first, last) = (floor(low, c), floor(high, c));
    let first_multiple = -floor(&-low, c);
    let rests = |u: &BigInt, v: BigInt| &excess * u + m * v + k;
    let mut least = vec![rests(&first, 1.into()), rests(&last, 1.into())];
    if first_multiple <= last {
        least.extend([rests(&first_multiple, 0.into()), rests(&last, 0.into())]);
    }
    let most = [rests(&first, c - 1), rests(&last, c - 1)];
    least.iter().all(|rest| *rest >= 0.into()) && most.iter().all(|rest| rest < d)
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

#[cfg(test)]
mod tests;
