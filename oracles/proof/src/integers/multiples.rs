//! Variables that are multiples of others.

use super::super::query::Query;
use super::super::solve::{Solved, split};
use super::super::term::{Node, Op, Term, Terms};
use super::assume::assumed;

/// The question with `b * q` for variables of which it demands that a division by `b` leaves nothing, over other terms:
/// their quotients by `b` are simple then. Nothing where there are none.
///
/// Inputs that meet the question meet this one, too, with the quotient for `q`, and the product does not wrap.
pub fn with_multiples(terms: &Terms, query: &Query) -> Option<(Terms, Solved)> {
    let mut conditions = Vec::new();
    split(terms, query.goal, true, &mut conditions);
    let mut terms = terms.clone();
    let mut solved = Solved { query: *query, values: Vec::new() };
    let mut changed: Vec<Term> = Vec::new();
    for (condition, _) in conditions.into_iter().filter(|(_, holds)| *holds) {
        let Some((number, divisor)) = multiple(&terms, solved.query.goal, condition) else { continue };
        // A divisor that is a multiple itself stands for what it was.
        let mentioned = terms.reachable(&[divisor]);
        if changed.iter().chain([&number]).any(|number| mentioned.contains(number)) || changed.contains(&number) {
            continue;
        }
        let width = terms.width(divisor);
        let Op::Variable(index) = terms.node(number).op else { continue };
        let own = terms.width(number);
        let name = format!("{}/{}", terms.variables()[index as usize].name, changed.len());
        let quotient = terms.variable(name, width);
        let product = terms.mul(divisor, quotient);
        let [wide, by] = [divisor, quotient].map(|term| terms.zero_extend(term, 2 * width));
        let whole = terms.mul(wide, by);
        // Of a number without a sign, product and quotient have none.
        let bits = if is_positive(&terms, solved.query.goal, number) { own - 1 } else { own };
        let parts = [(whole, 2 * width - bits), (quotient, width - bits)];
        let mut fits = terms.bit(true);
        for (term, count) in parts.into_iter().filter(|(_, count)| *count > 0) {
            let high = terms.extract(term, bits, count);
            let is_short = terms.is_zero(high);
            fits = terms.and(fits, is_short);
        }
        let product = terms.extract(product, 0, own);
        // A variable whose divisor this one is, is a multiple of a product then.
        solved.put(&mut terms, index as usize, product);
        let Query { goal, premise } = solved.query;
        let [goal, premise] = [goal, premise].map(|condition| terms.and(condition, fits));
        solved.query = Query { goal, premise };
        changed.push(number);
    }
    (!changed.is_empty()).then_some((terms, solved))
}

/// The variable and the divisor of a condition that says that nothing is left of the variable, or of what it is
/// extended to.
fn multiple(terms: &Terms, goal: Term, condition: Term) -> Option<(Term, Term)> {
    let Node { op: Op::Eq, args: [a, b, _], .. } = *terms.node(condition) else { return None };
    let rest = [(a, b), (b, a)].into_iter().find(|(_, zero)| terms.value(*zero) == Some(0))?.0;
    let Node { op, args: [a, b, _], width } = *terms.node(rest);
    let is_multiple = match op {
        Op::URem => true,
        // Of positive numbers, the signs do not matter.
        Op::SRem => [a, b].into_iter().all(|term| is_positive(terms, goal, term)),
        _ => false,
    };
    let number = match terms.node(a) {
        Node { op: Op::ZeroExtend, args: [short, ..], .. } => *short,
        _ => a,
    };
    let is_variable = matches!(terms.node(number).op, Op::Variable(_)) && 2 * width <= 128;
    (is_variable && is_multiple).then_some((number, b))
}

/// Whether the goal says that a variable, or a number, is not negative.
fn is_positive(terms: &Terms, goal: Term, term: Term) -> bool {
    let sign = u64::from(terms.width(term)) - 1;
    match terms.node(term).op {
        Op::Const(value) => value >> sign & 1 == 0,
        Op::Variable(number) => assumed(terms, goal).get(&number).is_some_and(|(_, high)| !high.bit(sign)),
        _ => false,
    }
}
