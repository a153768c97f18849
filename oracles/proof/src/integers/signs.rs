//! Questions in cases, by the signs of numbers.

use super::super::query::Query;
use super::super::term::{Node, Op, Term, Terms};
use super::assume::assumed;

/// Variables whose signs are told apart, where they are not known.
const MOST_SIGNS: usize = 3;

/// The question over other terms for each sign of its variables, where it has signed numbers. Quotients are simple for
/// numbers of one sign. Nothing where there are no cases, or too many variables.
pub fn by_signs(terms: &Terms, query: &Query) -> Vec<(Terms, Query)> {
    let needed = terms.reachable(&[query.goal]);
    let is_signed =
        |term: &Term| matches!(terms.node(*term).op, Op::SDiv | Op::SRem | Op::SignExtend | Op::AShr | Op::Slt);
    if !needed.iter().any(is_signed) {
        return Vec::new();
    }
    let assumed = assumed(terms, query.goal);
    let has_one_sign = |number: &u32, width: u32| {
        let range = assumed.get(number);
        range.is_some_and(|(low, high)| low.bit(u64::from(width) - 1) == high.bit(u64::from(width) - 1))
    };
    let mut variables: Vec<(usize, u32)> = Vec::new();
    for term in &needed {
        match terms.node(*term) {
            Node { op: Op::Variable(number), width, .. } if *width > 1 && !has_one_sign(number, *width) => {
                variables.push((*number as usize, *width));
            }
            _ => {}
        }
    }
    if variables.is_empty() || variables.len() > MOST_SIGNS {
        return Vec::new();
    }
    let case = |outcomes: u32| {
        let mut terms = terms.clone();
        let (mut values, mut bounds) = (Vec::new(), terms.bit(true));
        for (at, (number, width)) in variables.iter().enumerate() {
            let name = terms.variables()[*number].name.clone();
            let value = match outcomes >> at & 1 == 1 {
                // With the magnitude as an unknown, products with it have one part.
                true => {
                    let magnitude = terms.variable(format!("-{name}"), *width);
                    let (zero, most) = (terms.constant(0, *width), terms.constant(1 << (width - 1), *width));
                    let (above, within) = (terms.ult(zero, magnitude), terms.ule(magnitude, most));
                    bounds = terms.all(&[bounds, above, within]);
                    terms.neg(magnitude)
                }
                false => {
                    let magnitude = terms.variable(name, width - 1);
                    let sign = terms.bit(false);
                    terms.concat(sign, magnitude)
                }
            };
            values.push((*number, value));
        }
        let changed = terms.substitute(&[query.goal, query.premise], &values);
        let [goal, premise] = [changed[0], changed[1]].map(|condition| terms.and(condition, bounds));
        (terms, Query { goal, premise })
    };
    (0..1 << variables.len()).map(case).collect()
}
