//! What the goal says of variables.

use super::super::solve::split;
use super::super::term::{Node, Op, Term, ones};
use super::Encoder;
use super::poly::Range;

impl Encoder<'_> {
    /// Bounds of variables from conditions that the goal is a conjunction of.
    pub(super) fn assume(&mut self, goal: Term) {
        let mut conditions = Vec::new();
        split(self.terms, goal, true, &mut conditions);
        for (condition, holds) in conditions {
            self.conditions.insert(condition, holds);
            let Node { op, args: [a, b, _], .. } = *self.terms.node(condition);
            match (self.terms.value(a), self.terms.value(b)) {
                (None, Some(number)) => self.limit(op, holds, a, number, false),
                (Some(number), None) => self.limit(op, holds, b, number, true),
                _ => {}
            }
        }
    }

    /// What `a op number` says of a variable, or `number op a` (`swapped`).
    pub(super) fn limit(&mut self, op: Op, holds: bool, a: Term, number: u128, swapped: bool) {
        let Node { op: of, args: [x, y, _], .. } = *self.terms.node(a);
        let width = self.terms.width(a);
        let all = ones(width);
        // Of a variable behind constant bits, the low bits decide where the high ones are equal.
        if let (Op::Concat, Some(high)) = (of, self.terms.value(x)) {
            let low = self.terms.width(y);
            if number >> low == high {
                let op = if op == Op::Slt { Op::Ult } else { op };
                self.limit(op, holds, y, number & ones(low), swapped);
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
}
