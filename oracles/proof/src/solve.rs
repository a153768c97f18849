//! Premises that are met by construction.
//!
//! A premise such as `a + b = 32` or `a & b = 0` holds for one random input in billions, and a search that rarely meets
//! it says little. So each of its conditions is solved, where that is easy, for a variable that it names: the variable
//! becomes a function of itself and the others (`b = 32 - a`, `b = b & ~a`, `c = c % 32`) whose values all meet the
//! condition, and that reaches all values which do. What searches find in the question so changed is a counterexample
//! of the question itself ([`Solved::inputs`]).

use super::eval::Program;
use super::query::{Inputs, Query};
use super::term::{Node, Op, Term, Terms, ones};

/// A question whose inputs meet parts of the premise by construction.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The question over the same variables, with other meanings.
    pub query: Query,
    /// The variables of the original question that are functions of the new ones, by their numbers.
    pub(super) values: Vec<(usize, Term)>,
}

impl Solved {
    /// Inputs of the original question from those of this one.
    pub fn inputs(&self, terms: &Terms, mut inputs: Inputs) -> Inputs {
        let roots: Vec<Term> = self.values.iter().map(|(_, value)| *value).collect();
        let values = Program::new(terms, &roots).eval(&inputs);
        for ((number, _), value) in self.values.iter().zip(values) {
            inputs[*number] = value;
        }
        inputs
    }

    /// Puts a value in the place of a variable, in what others stand for too.
    pub(super) fn put(&mut self, terms: &mut Terms, number: usize, value: Term) {
        let mut roots = vec![self.query.goal, self.query.premise];
        roots.extend(self.values.iter().map(|(_, value)| *value));
        let replaced = terms.substitute(&roots, &[(number, value)]);
        self.query = Query { goal: replaced[0], premise: replaced[1] };
        self.values.iter_mut().zip(&replaced[2..]).for_each(|((_, value), new)| *value = *new);
        self.values.push((number, value));
    }
}

/// The most conditions of a premise that are looked at.
const MOST_CONDITIONS: usize = 32;

/// The question with as many conditions of its premise solved as can be; `None` where there are none.
pub fn solve(terms: &mut Terms, query: &Query) -> Option<Solved> {
    let mut conditions = Vec::new();
    split(terms, query.premise, true, &mut conditions);
    conditions.truncate(MOST_CONDITIONS);
    // Equations first: a bound on a variable that is left can be met afterwards, a function of others cannot be
    // bounded.
    conditions.sort_by_key(|(condition, holds)| (!is_equation(terms, *condition) || !holds, *condition));
    let mut values: Vec<(usize, Term)> = Vec::new();
    for at in 0..conditions.len() {
        let (condition, holds) = conditions[at];
        let Some((number, value)) = meet(terms, condition, holds) else { continue };
        let substitution = [(number, value)];
        let mut roots: Vec<Term> = conditions[at + 1..].iter().map(|(condition, _)| *condition).collect();
        let rest = roots.len();
        roots.extend(values.iter().map(|(_, value)| *value));
        let replaced = terms.substitute(&roots, &substitution);
        conditions[at + 1..].iter_mut().zip(&replaced).for_each(|(condition, term)| condition.0 = *term);
        values.iter_mut().zip(&replaced[rest..]).for_each(|(known, term)| known.1 = *term);
        if values.iter().all(|(known, _)| *known != number) {
            values.push((number, value));
        }
    }
    if values.is_empty() {
        return None;
    }
    let changed = terms.substitute(&[query.goal, query.premise], &values);
    Some(Solved { query: Query { goal: changed[0], premise: changed[1] }, values })
}

/// The question without variables that its premise holds equal to something else: `d` is `-c` where `d == -c`. Inputs
/// that meet the one meet the other, with what they say of the variables that are left.
pub fn without_equals(terms: &mut Terms, query: &Query) -> Solved {
    let mut solved = Solved { query: *query, values: Vec::new() };
    for _ in 0..MOST_CONDITIONS {
        let mut conditions = Vec::new();
        split(terms, solved.query.premise, true, &mut conditions);
        conditions.retain(|(condition, holds)| is_equation(terms, *condition) && *holds);
        let known = conditions.into_iter().find_map(|(equation, _)| {
            let [a, b, _] = terms.node(equation).args;
            isolated(terms, a, b).or_else(|| isolated(terms, b, a))
        });
        let Some((number, value)) = known else { break };
        solved.put(terms, number, value);
    }
    solved
}

/// The conditions that a bit is the conjunction of, each with the value that it must have.
pub(super) fn split(terms: &Terms, bit: Term, holds: bool, into: &mut Vec<(Term, bool)>) {
    let node = terms.node(bit);
    match node.op {
        Op::Const(_) => {}
        Op::Not => split(terms, node.args[0], !holds, into),
        Op::And if holds => node.operands().iter().for_each(|part| split(terms, *part, true, into)),
        Op::Or if !holds => node.operands().iter().for_each(|part| split(terms, *part, false, into)),
        Op::Eq if terms.width(node.args[0]) == 1 && terms.value(node.args[0]).is_some() => {
            split(terms, node.args[1], holds == (terms.value(node.args[0]) == Some(1)), into);
        }
        Op::Eq if terms.width(node.args[0]) == 1 && terms.value(node.args[1]).is_some() => {
            split(terms, node.args[0], holds == (terms.value(node.args[1]) == Some(1)), into);
        }
        _ => into.push((bit, holds)),
    }
}

fn is_equation(terms: &Terms, condition: Term) -> bool {
    terms.node(condition).op == Op::Eq
}

/// A variable and a value for it under which a condition has this truth value.
fn meet(t: &mut Terms, condition: Term, holds: bool) -> Option<(usize, Term)> {
    let node = *t.node(condition);
    let [a, b, _] = node.args;
    match (node.op, holds) {
        (Op::Eq, true) => power_or_mask(t, a, b).or_else(|| power_or_mask(t, b, a)).or_else(|| equal(t, a, b)),
        (Op::Eq, false) => {
            let one = t.constant(1, t.width(a));
            let (same, other) = (t.eq(a, b), t.add(a, one));
            let target = t.ite(same, other, a);
            project(t, a, target)
        }
        (Op::Ult, true) => below(t, a, b, false).or_else(|| above(t, b, a, false)),
        (Op::Ult, false) => at_least(t, a, b, false).or_else(|| at_most(t, b, a, false)),
        (Op::Slt, true) => below(t, a, b, true).or_else(|| above(t, b, a, true)),
        (Op::Slt, false) => at_least(t, a, b, true).or_else(|| at_most(t, b, a, true)),
        _ => {
            let target = t.bit(holds);
            project(t, condition, target)
        }
    }
}

fn equal(t: &mut Terms, a: Term, b: Term) -> Option<(usize, Term)> {
    independent(t, b, a, a).or_else(|| independent(t, a, b, b))
}

/// `x & (x - 1) = 0`: powers of two and zero; `x & (x + 1) = 0`: masks.
fn power_or_mask(t: &mut Terms, both: Term, zero: Term) -> Option<(usize, Term)> {
    let node = *t.node(both);
    if t.value(zero) != Some(0) || node.op != Op::And {
        return None;
    }
    let width = node.width;
    let one = t.constant(1, width);
    let all = t.constant(ones(width), width);
    for (x, next) in [(node.args[0], node.args[1]), (node.args[1], node.args[0])] {
        let count = t.constant(u128::from(width), width);
        let count = t.urem(x, count);
        if next == t.add(x, all) {
            let target = t.shl(one, count);
            return project(t, x, target);
        }
        if next == t.add(x, one) {
            let target = t.lshr(all, count);
            return project(t, x, target);
        }
    }
    None
}

/// The term with its sign flipped where the order is signed, so that the order is unsigned.
fn ordered(t: &mut Terms, a: Term, signed: bool) -> Term {
    if !signed {
        return a;
    }
    let width = t.width(a);
    let sign = t.constant(1 << (width - 1), width);
    t.xor(a, sign)
}

/// `a < b`: the remainder by the bound.
fn below(t: &mut Terms, a: Term, b: Term, signed: bool) -> Option<(usize, Term)> {
    let (x, bound) = (ordered(t, a, signed), ordered(t, b, signed));
    let within = t.urem(x, bound);
    let target = ordered(t, within, signed);
    independent(t, a, target, b)
}

/// `a <= b`.
fn at_most(t: &mut Terms, a: Term, b: Term, signed: bool) -> Option<(usize, Term)> {
    let (x, bound) = (ordered(t, a, signed), ordered(t, b, signed));
    let one = t.constant(1, t.width(a));
    let bound = t.add(bound, one);
    let within = t.urem(x, bound);
    let target = ordered(t, within, signed);
    independent(t, a, target, b)
}

/// `a >= b`: as far above the bound as there is room.
fn at_least(t: &mut Terms, a: Term, b: Term, signed: bool) -> Option<(usize, Term)> {
    let (x, bound) = (ordered(t, a, signed), ordered(t, b, signed));
    let room = t.neg(bound);
    let within = t.urem(x, room);
    let within = t.add(within, bound);
    let target = ordered(t, within, signed);
    independent(t, a, target, b)
}

/// `a > b`.
fn above(t: &mut Terms, a: Term, b: Term, signed: bool) -> Option<(usize, Term)> {
    let (x, bound) = (ordered(t, a, signed), ordered(t, b, signed));
    let one = t.constant(1, t.width(a));
    let (next, room) = (t.add(bound, one), t.not(bound));
    let within = t.urem(x, room);
    let within = t.add(within, next);
    let target = ordered(t, within, signed);
    independent(t, a, target, b)
}

/// A variable and the one value, which does not depend on it, with which alone a term is equal to a target.
fn isolated(t: &mut Terms, term: Term, target: Term) -> Option<(usize, Term)> {
    let Node { op, args: [a, b, _], .. } = *t.node(term);
    match op {
        Op::Variable(number) => (!mentions(t, target, number as usize)).then_some((number as usize, target)),
        Op::Not => {
            let target = t.not(target);
            isolated(t, a, target)
        }
        Op::Neg => {
            let target = t.neg(target);
            isolated(t, a, target)
        }
        Op::Add | Op::Sub | Op::Xor => [0, 1].into_iter().find_map(|at| {
            let wanted = operand_target(t, op, [a, b], at, target)?;
            isolated(t, [a, b][at], wanted)
        }),
        _ => None,
    }
}

/// A variable and a value that make a term equal to a target, if the variable does not occur in `apart`.
fn independent(t: &mut Terms, term: Term, target: Term, apart: Term) -> Option<(usize, Term)> {
    project(t, term, target).filter(|(number, _)| !mentions(t, apart, *number))
}

fn mentions(t: &Terms, term: Term, variable: usize) -> bool {
    t.reachable(&[term]).iter().any(|part| t.node(*part).op == Op::Variable(variable as u32))
}

/// A variable and a value for it that make a term equal to a target, where any value can.
fn project(t: &mut Terms, term: Term, target: Term) -> Option<(usize, Term)> {
    let node = *t.node(term);
    let [a, b, c] = node.args;
    match node.op {
        Op::Variable(number) => Some((number as usize, target)),
        Op::Not => {
            let target = t.not(target);
            project(t, a, target)
        }
        Op::Neg => {
            let target = t.neg(target);
            project(t, a, target)
        }
        Op::Extract(low) => {
            let target = with_bits(t, a, low, target);
            project(t, a, target)
        }
        Op::ZeroExtend | Op::SignExtend => {
            let target = t.extract(target, 0, t.width(a));
            project(t, a, target)
        }
        // The low half is solved, or the high one where the low one is constant; the other half is left to chance.
        Op::Concat if t.value(b).is_some() => {
            let target = t.extract(target, t.width(b), t.width(a));
            project(t, a, target)
        }
        Op::Concat => {
            let target = t.extract(target, 0, t.width(b));
            project(t, b, target)
        }
        // A choice yields a constant target where one branch is that constant and the condition picks it.
        Op::Ite if t.value(b).is_some() && t.value(b) == t.value(target) => meet(t, a, true),
        Op::Ite if t.value(c).is_some() && t.value(c) == t.value(target) => meet(t, a, false),
        Op::Eq | Op::Ult | Op::Slt => {
            let holds = t.value(target)? == 1;
            meet(t, term, holds)
        }
        _ => {
            let second = operand_target(t, node.op, [a, b], 1, target).and_then(|wanted| independent(t, b, wanted, a));
            second.or_else(|| operand_target(t, node.op, [a, b], 0, target).and_then(|w| independent(t, a, w, b)))
        }
    }
}

/// The value of one operand of a binary operation under which it yields the target, given the other one.
fn operand_target(t: &mut Terms, op: Op, args: [Term; 2], at: usize, target: Term) -> Option<Term> {
    let (it, other) = (args[at], args[1 - at]);
    let width = t.width(it);
    Some(match op {
        Op::Add => t.sub(target, other),
        Op::Sub if at == 0 => t.add(target, other),
        Op::Sub => t.sub(other, target),
        Op::Xor => t.xor(target, other),
        Op::And => {
            let free = t.not(other);
            mixed(t, free, it, target)
        }
        Op::Or => mixed(t, other, it, target),
        Op::Mul => {
            let inverse = t.constant(odd_inverse(t.value(other)?)?, width);
            t.mul(target, inverse)
        }
        Op::Shl | Op::LShr if at == 0 => {
            let all = t.constant(ones(width), width);
            let (back, lost) = if op == Op::Shl {
                (t.lshr(target, other), t.lshr(all, other))
            } else {
                (t.shl(target, other), t.shl(all, other))
            };
            let free = t.not(lost);
            mixed(t, free, it, back)
        }
        _ => return None,
    })
}

/// The bits of one term where a mask is set, those of another elsewhere.
fn mixed(t: &mut Terms, mask: Term, set: Term, clear: Term) -> Term {
    let free = t.and(set, mask);
    let others = t.not(mask);
    let fixed = t.and(clear, others);
    t.or(free, fixed)
}

/// A term with some of its bits replaced.
fn with_bits(t: &mut Terms, term: Term, low: u32, bits: Term) -> Term {
    let (width, count) = (t.width(term), t.width(bits));
    let mut all = bits;
    if low > 0 {
        let below = t.extract(term, 0, low);
        all = t.concat(all, below);
    }
    if low + count < width {
        let above = t.extract(term, low + count, width - low - count);
        all = t.concat(above, all);
    }
    all
}

/// The inverse of an odd number modulo any power of two up to 2^128, by Newton's iteration.
fn odd_inverse(value: u128) -> Option<u128> {
    if value & 1 == 0 {
        return None;
    }
    let step = |inverse: u128, _| inverse.wrapping_mul(2u128.wrapping_sub(value.wrapping_mul(inverse)));
    Some((0..7).fold(value, step))
}

#[cfg(test)]
mod tests {
    use super::super::search::sampled;
    use super::*;

    /// All inputs meet the premise, as far as rounding at the ends of a range allows.
    fn relevant(t: &mut Terms, premise: Term) -> f64 {
        let query = Query { goal: premise, premise };
        let solved = solve(t, &query).expect("something is solved");
        // The search ends at the first input that meets the goal; the premise alone is counted.
        let never = t.bit(false);
        let none = t.and(solved.query.premise, never);
        let counted = Query { goal: none, premise: solved.query.premise };
        let found = sampled(t, &counted, &[], 20_000, 1);
        if t.value(solved.query.premise) == Some(1) {
            return 1.0;
        }
        let probe = sampled(t, &solved.query, &[], 20_000, 1);
        let inputs = probe.counterexample.expect("an input meets the premise");
        assert!(query.holds(t, &solved.inputs(t, inputs)), "and so does what it stands for");
        found.relevant as f64 / found.tried as f64
    }

    #[test]
    fn relations_are_met_by_construction() {
        let mut t = Terms::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| t.variable(name, 32));
        let (zero, width, three) = (t.constant(0, 32), t.constant(32, 32), t.constant(3, 32));
        let (sum, both) = (t.add(a, b), t.and(a, b));
        let complementary = t.eq(sum, width);
        let disjoint = t.eq(both, zero);
        let product = t.mul(c, three);
        let multiple = t.eq(product, a);
        let (less, signed) = (t.ult(c, width), t.slt(c, three));
        let not_less = t.not(less);
        for premise in [complementary, disjoint, multiple, less, signed, not_less] {
            assert!(relevant(&mut t, premise) > 0.4, "{premise:?}");
        }
    }

    #[test]
    fn powers_masks_and_fields_are_met() {
        let mut t = Terms::new();
        let (c, l) = (t.variable("c", 64), t.variable("l", 32));
        let (one, all, zero) = (t.constant(1, 64), t.constant(u64::MAX.into(), 64), t.constant(0, 64));
        for step in [one, all] {
            let next = t.add(c, step);
            let common = t.and(c, next);
            let condition = t.eq(common, zero);
            assert!(relevant(&mut t, condition) > 0.9);
        }
        let (byte, width) = (t.constant(0xff, 32), t.constant(32, 32));
        let field = t.and(l, byte);
        let short = t.ult(field, width);
        let long = t.not(short);
        assert!(relevant(&mut t, long) > 0.9);
    }

    /// Inputs that meet a question meet it without the variables that its premise fixes.
    #[test]
    fn variables_equal_to_others_are_gone() {
        let mut t = Terms::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| t.variable(name, 4));
        let three = t.constant(3, 4);
        let (opposite, less) = (t.neg(a), t.sub(b, three));
        let (sum, mixed, not) = (t.add(a, b), t.xor(c, a), t.not(b));
        let product = t.mul(a, three);
        let square = t.mul(b, b);
        let equations = [(c, opposite), (opposite, less), (sum, three), (not, mixed), (c, product), (square, b)];
        for (first, second) in equations.into_iter().flat_map(|one| equations.map(|other| (one, other))) {
            let [first, second] = [first, second].map(|(x, y)| t.eq(x, y));
            let premise = t.and(first, second);
            let wrong = t.ult(product, c);
            let query = Query { goal: t.and(premise, wrong), premise };
            let changed = without_equals(&mut t, &query);
            let reads_all = |query: &Query| query.variables(&t).len() == 3;
            assert!(!reads_all(&changed.query) || first == second && t.node(first).args.contains(&square));
            for number in 0..1u128 << 12 {
                let inputs = vec![number & 15, number >> 4 & 15, number >> 8];
                assert!(!query.holds(&t, &inputs) || changed.query.holds(&t, &inputs), "{inputs:?}");
                if changed.query.holds(&t, &inputs) {
                    assert!(query.holds(&t, &changed.inputs(&t, inputs)));
                }
            }
        }
    }

    #[test]
    fn odd_numbers_have_inverses() {
        for odd in [1u128, 3, 5, 0xffff_ffff, u128::MAX] {
            assert_eq!(odd.wrapping_mul(odd_inverse(odd).expect("odd")), 1);
        }
        assert_eq!(odd_inverse(6), None);
    }
}
