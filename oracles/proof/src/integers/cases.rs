//! Questions in cases.

use super::super::query::Query;
use super::super::term::{Node, Op, Term, Terms};

/// Variables whose signs are told apart.
const MOST_SIGNS: usize = 2;
/// Conditions for results that are not defined which are told apart.
const MOST_CONDITIONS: usize = 2;

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
            let name = terms.variables()[*number].name.clone();
            let magnitude = terms.variable(name, width - 1);
            let sign = terms.bit(outcomes >> at & 1 == 1);
            values.push((*number, terms.concat(sign, magnitude)));
        }
        let goal = terms.substitute(&[goal], &values)[0];
        (terms, Query { goal, premise: goal })
    };
    (0..1 << count).map(case).collect()
}
