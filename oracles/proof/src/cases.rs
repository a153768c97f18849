//! Questions in cases, by the outcomes of conditions.
//!
//! Where an operation's result is not defined, a variable stands for it. A question over both is neither simple
//! arithmetic nor simple logic; the one for defined results is arithmetic without the variable, and the others have
//! the variable alone. Whatever a condition chooses between, nothing is left to choose in a case: the product of the
//! smaller and the larger of two numbers is that of both, whichever is which.

use super::query::Query;
use super::term::{Op, Term, Terms};

/// Conditions that are told apart by whether results are defined.
const MOST_CONDITIONS: usize = 2;
/// Conditions that are given outcomes before a question is taken for one that cases do not show.
const MOST_CHOICES: usize = 64;

/// Whether simplification alone shows, in every case of the conditions that choose, that no inputs meet the question.
pub fn is_shown_by_choices(terms: &Terms, query: &Query) -> bool {
    let mut choices = MOST_CHOICES;
    is_never(&mut terms.clone(), query.goal, &mut choices)
}

/// Whether a bit is clear for each outcome of its conditions. Whatever the inputs are, they make a condition true or
/// false, and the bit is then what it is with that in the condition's place.
fn is_never(terms: &mut Terms, bit: Term, choices: &mut usize) -> bool {
    if let Some(value) = terms.value(bit) {
        return value == 0;
    }
    // Terms follow their operands, so the first condition contains no choice of its own.
    let needed = terms.reachable(&[bit]);
    let first = needed.iter().map(|term| terms.node(*term)).find(|node| node.op == Op::Ite);
    let Some(condition) = first.map(|node| node.args[0]).filter(|_| *choices > 0) else { return false };
    *choices -= 1;
    [true, false].into_iter().all(|holds| {
        let outcome = terms.bit(holds);
        let case = terms.replace(&[bit], &[(condition, outcome)])[0];
        is_never(terms, case, choices)
    })
}

/// The question for each outcome of the conditions that choose a variable in the place of a result, one of which holds
/// of all inputs that meet the question. Nothing where there is no such condition.
pub fn by_definedness(terms: &Terms, query: &Query) -> Vec<(Terms, Query)> {
    let needed = terms.reachable(&[query.goal]);
    let is_variable = |term: Term| matches!(terms.node(term).op, Op::Variable(_));
    let mut conditions: Vec<Term> = Vec::new();
    for node in needed.iter().map(|term| terms.node(*term)) {
        if node.op == Op::Ite && is_variable(node.args[2]) && !conditions.contains(&node.args[0]) {
            conditions.push(node.args[0]);
        }
    }
    conditions.truncate(MOST_CONDITIONS);
    let cases = if conditions.is_empty() { 0 } else { 1 << conditions.len() };
    let case = |outcomes: u32| {
        let mut terms = terms.clone();
        let (mut known, mut chosen) = (Vec::new(), terms.bit(true));
        for (at, condition) in conditions.iter().enumerate() {
            let holds = outcomes >> at & 1 == 1;
            known.push((*condition, terms.bit(holds)));
            let condition = if holds { *condition } else { terms.not(*condition) };
            chosen = terms.and(chosen, condition);
        }
        let replaced = terms.replace(&[query.goal, query.premise], &known);
        let [goal, premise] = [replaced[0], replaced[1]].map(|condition| terms.and(condition, chosen));
        (terms, Query { goal, premise })
    };
    (0..cases).map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Program;

    /// The product of the smaller and the larger is that of both; that of the smaller and the first is not.
    #[test]
    fn whatever_is_chosen_both_ways_is_shown() {
        let mut t = Terms::new();
        let [x, y] = ["x", "y"].map(|name| t.variable(name, 32));
        let (smaller, larger, product) = (t.min(x, y, true), t.max(x, y, true), t.mul(x, y));
        let premise = t.bit(true);
        for (factors, is_shown) in [([smaller, larger], true), ([larger, smaller], true), ([smaller, x], false)] {
            let chosen = t.mul(factors[0], factors[1]);
            let goal = t.ne(chosen, product);
            assert_eq!(is_shown_by_choices(&t, &Query { goal, premise }), is_shown);
        }
    }

    /// Of the cases of a question exactly one is met by inputs that meet it, and none by others.
    #[test]
    fn inputs_meet_the_case_that_they_belong_to() {
        let mut t = Terms::new();
        let [x, y] = ["x", "y"].map(|name| t.variable(name, 8));
        let [u, v] = ["undefined", "undefined"].map(|name| t.variable(name, 8));
        let (zero, least) = (t.constant(0, 8), t.constant(0x80, 8));
        let has_divisor = t.is_nonzero(y);
        let is_least = t.eq(x, least);
        let (quotient, rest) = (t.udiv(x, y), t.urem(x, y));
        let quotient = t.ite(has_divisor, quotient, u);
        let rest = t.ite(is_least, rest, v);
        let sum = t.add(quotient, rest);
        let goal = t.ult(sum, x);
        let premise = t.ne(x, zero);
        let goal = t.and(goal, premise);
        let query = Query { goal, premise };
        let cases = by_definedness(&t, &query);
        assert_eq!(cases.len(), 4);
        let values = [0, 1, 2, 7, 0x7f, 0x80, 0x81, 0xff];
        for number in 0..values.len().pow(4) {
            let inputs: Vec<u128> = (0..4).map(|at| values[number / values.len().pow(at) % values.len()]).collect();
            let met = |terms: &Terms, term| Program::new(terms, &[term]).eval(&inputs) == [1];
            let meeting = |of: fn(&Query) -> Term| cases.iter().filter(|(terms, case)| met(terms, of(case))).count();
            assert_eq!(meeting(|query| query.goal), usize::from(met(&t, goal)), "{inputs:x?}");
            assert_eq!(meeting(|query| query.premise), usize::from(met(&t, premise)), "{inputs:x?}");
        }
        let divides = |(terms, case): &&(Terms, Query)| {
            terms.reachable(&[case.goal]).iter().any(|term| terms.node(*term).op == Op::UDiv)
        };
        assert_eq!(cases.iter().filter(divides).count(), 2, "where the quotient is defined");
        assert_eq!(by_definedness(&t, &Query { goal: premise, premise }).len(), 0);
    }
}
