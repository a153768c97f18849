//! What the goal says of variables.

use std::collections::HashMap;

use super::super::solve::split;
use super::super::term::{Node, Op, Term, Terms, ones};
use super::Encoder;
use super::formula::Formula;
use super::poly::{Poly, Range};

impl Encoder<'_> {
    /// Encodes what the premise is a conjunction of, the simplest first, so that what it says is known when the rest is
    /// encoded.
    pub(super) fn encode_conditions(&mut self, premise: Term) -> Option<()> {
        let mut parts = Vec::new();
        split(self.terms, premise, true, &mut parts);
        let needed = parts.iter().map(|(condition, _)| self.needed(*condition));
        let mut conditions: Vec<Vec<Term>> = needed.collect();
        // Where a product may wrap, others may say first that it does not.
        let wraps = |needed: &[Term]| needed.iter().any(|term| self.may_wrap(*term));
        conditions.sort_by_cached_key(|needed| (wraps(needed), needed.len(), needed.last().copied()));
        conditions.iter().try_for_each(|needed| self.encode(needed))
    }

    /// Whether it is a product of numbers that are not known to be short enough.
    fn may_wrap(&self, term: Term) -> bool {
        let Node { op, args: [a, b, _], width } = *self.terms.node(term);
        let bits = |term: Term| match self.terms.node(term) {
            Node { op: Op::Const(value), .. } => 128 - value.leading_zeros(),
            Node { op: Op::ZeroExtend | Op::SignExtend, args: [inner, ..], .. } => self.terms.width(*inner),
            Node { op: Op::Concat, args: [high, low, _], .. } if self.terms.value(*high) == Some(0) => {
                self.terms.width(*low)
            }
            node => node.width,
        };
        op == Op::Mul && bits(a) + bits(b) > width
    }

    /// What a condition that holds says of bits.
    pub(super) fn learn_of_bits(&mut self, node: &Node) {
        let [a, b, _] = node.args;
        if let Op::Extract(0) = node.op
            && let Some(atom) = self.value(a).as_atom()
        {
            self.odd.push(atom);
        }
        if node.op != Op::Eq || self.terms.width(a) == 1 {
            return;
        }
        for (both, number) in [(a, b), (b, a)] {
            let Node { op, args: [x, y, _], width } = *self.terms.node(both);
            let Some(number) = self.terms.value(number).filter(|_| op == Op::And) else { continue };
            if number & 1 == 1 {
                let factors = [x, y].map(|term| self.value(term).as_atom());
                self.odd.extend(factors.into_iter().flatten());
            }
            if number != 0 {
                continue;
            }
            self.apart.push((x, y));
            // Without common bits, their sum is that of different bits, none above the highest of both.
            let (x, y) = (self.value(x), self.value(y));
            let bits = [&x, &y].map(|value| self.bounds(value).1.bits()).into_iter().max();
            let bits = bits.map_or(width, |bits| width.min(bits as u32).max(1));
            let fact = Formula::at_most(&x.plus(&y), &Poly::constant(ones(bits)));
            self.learn(&fact);
            self.facts.push(fact);
            // Of `x` and `x - 1` only powers of two and zero have none.
            for (power, below) in [(&x, &y), (&y, &x)] {
                let is_below = power.plus_number(-1) == *below;
                if is_below && !self.powers.contains(power) {
                    self.powers.push(power.clone());
                }
            }
        }
    }
}

/// The bounds of variables that a goal demands, by their numbers.
pub(super) fn assumed(terms: &Terms, goal: Term) -> HashMap<u32, Range> {
    let (mut conditions, mut bounds) = (Vec::new(), HashMap::new());
    split(terms, goal, true, &mut conditions);
    for (condition, holds) in conditions {
        let Node { op, args: [a, b, _], .. } = *terms.node(condition);
        let compared = match (terms.value(a), terms.value(b)) {
            (None, Some(number)) => Compared { op, holds, a, number, swapped: false },
            (Some(number), None) => Compared { op, holds, a: b, number, swapped: true },
            _ => continue,
        };
        limit(terms, &mut bounds, compared);
    }
    bounds
}

/// That `a op number` holds, or not; `number op a` where they are swapped.
#[derive(Clone, Copy)]
struct Compared {
    op: Op,
    holds: bool,
    a: Term,
    number: u128,
    swapped: bool,
}

/// Narrows the bounds of the variable that is compared, if it is one.
fn limit(terms: &Terms, into: &mut HashMap<u32, Range>, compared: Compared) {
    let Compared { op, holds, a, number, swapped } = compared;
    let Node { op: of, args: [x, y, _], .. } = *terms.node(a);
    let width = terms.width(a);
    let all = ones(width);
    // Of a variable behind constant bits, the low bits decide where the high ones are equal.
    if let (Op::Concat, Some(high)) = (of, terms.value(x)) {
        let low = terms.width(y);
        if number >> low == high {
            let op = if op == Op::Slt { Op::Ult } else { op };
            limit(terms, into, Compared { op, a: y, number: number & ones(low), ..compared });
        }
        return;
    }
    let is_equal = op == Op::Eq && holds;
    // A mask of high bits that are clear, or the high bits themselves.
    let clear = match of {
        Op::And if is_equal && number == 0 => {
            [(x, y), (y, x)].into_iter().find_map(|(x, y)| Some((x, terms.value(y)?)))
        }
        Op::Extract(low) if is_equal && number == 0 => Some((x, (all << low) & ones(terms.width(x)))),
        _ => None,
    };
    let (variable, low, high) = match clear {
        Some((x, mask)) => (x, 0, ones(terms.width(x)) & !mask),
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
    if let Op::Variable(number) = terms.node(variable).op {
        let full = (0.into(), ones(terms.width(variable)).into());
        let (least, most) = into.remove(&number).unwrap_or(full);
        let (least, most): Range = (least.max(low.into()), most.min(high.into()));
        // Conditions that exclude each other are left to the solver.
        if least <= most {
            into.insert(number, (least, most));
        }
    }
}
