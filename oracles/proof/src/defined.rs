//! Questions in cases, by whether results are defined.
//!
//! Where an operation's result is not defined, a variable stands for it. A question over both is neither simple
//! arithmetic nor simple logic; the one for defined results is arithmetic without the variable, and the others have
//! the variable alone.

use super::query::Query;
use super::term::{Op, Term, Terms};

/// Conditions that are told apart.
const MOST_CONDITIONS: usize = 2;

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
