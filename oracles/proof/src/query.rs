//! Questions about terms: whether one expression may stand for another, and whether conditions can be met.
//!
//! *Refinement*, as everywhere in this crate: where the expression before leaves its result undefined, the one after
//! may yield anything; everywhere else it must be defined and yield the same bits.

use super::eval::Program;
use super::term::{Term, Terms};
use super::text::{Script, script};

/// The results of an expression.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Side {
    /// Its values, one a result.
    pub values: Vec<Term>,
    /// A bit that tells whether they are defined; always, where there is none.
    ///
    /// For the side before this may hold too often, for the side after too rarely, and the answer is still right.
    pub defined: Option<Term>,
}

/// A search for inputs that make a condition true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Query {
    /// The condition: that both sides differ, or that the preconditions hold.
    pub goal: Term,
    /// What an input must meet to say anything: the preconditions, and that the side before is defined, if it ever is.
    pub premise: Term,
}

/// Inputs by variable, in the arena's order.
pub type Inputs = Vec<u128>;

/// The search for inputs under which `after` does not refine `before`: the rewrite is right where there are none.
///
/// # Panics
///
/// If the sides differ in the number or the widths of their values, or a condition is not one bit.
pub fn equivalence(terms: &mut Terms, before: &Side, after: &Side, preconditions: &[Term]) -> Query {
    assert_eq!(before.values.len(), after.values.len(), "both sides have the same results");
    let conditions = terms.all(preconditions);
    let defined = before.defined.unwrap_or_else(|| terms.bit(true));
    let may_matter = terms.and(conditions, defined);
    // What is never defined may become anything, on every input that meets the preconditions.
    let premise = if terms.value(defined) == Some(0) { conditions } else { may_matter };
    let mut wrong = match after.defined {
        Some(defined) => terms.not(defined),
        None => terms.bit(false),
    };
    for (before, after) in before.values.iter().zip(&after.values) {
        let differ = terms.ne(*before, *after);
        wrong = terms.or(wrong, differ);
    }
    Query { goal: terms.and(may_matter, wrong), premise }
}

/// The search for inputs under which all conditions hold: a precondition that nothing meets proves everything.
pub fn satisfiable(terms: &mut Terms, preconditions: &[Term]) -> Query {
    let premise = terms.all(preconditions);
    Query { goal: premise, premise }
}

impl Query {
    /// The question as text.
    pub fn script(&self, terms: &Terms) -> Script {
        script(terms, self.goal)
    }

    /// Whether these inputs meet the goal.
    pub fn holds(&self, terms: &Terms, inputs: &[u128]) -> bool {
        Program::new(terms, &[self.goal]).eval(inputs) == [1]
    }

    /// The numbers of the variables that the goal depends on.
    pub fn variables(&self, terms: &Terms) -> Vec<usize> {
        self.script(terms).variables
    }
}

/// A smaller input that meets the goal: each variable in turn is brought as near to zero as it goes, until none moves.
pub fn shrink(terms: &Terms, query: &Query, mut inputs: Inputs) -> Inputs {
    let program = Program::new(terms, &[query.goal]);
    let variables = query.variables(terms);
    for (number, input) in inputs.iter_mut().enumerate() {
        if !variables.contains(&number) {
            *input = 0;
        }
    }
    let mut moved = true;
    while moved {
        moved = false;
        for number in &variables {
            while let Some(smaller) = smaller(&program, &mut inputs, *number) {
                inputs[*number] = smaller;
                moved = true;
            }
        }
    }
    inputs
}

/// The first of a variable's smaller candidates that still meets the goal. Every candidate is below the value, so
/// shrinking ends.
fn smaller(program: &Program, inputs: &mut Inputs, number: usize) -> Option<u128> {
    let value = inputs[number];
    let holds = |candidate: &u128| {
        inputs[number] = *candidate;
        program.eval(inputs) == [1]
    };
    let result = candidates(value).find(holds);
    inputs[number] = value;
    result
}

fn candidates(value: u128) -> impl Iterator<Item = u128> {
    let top = 128 - value.leading_zeros();
    let shifts = (1..top).rev().map(move |by| value >> by);
    let cleared = (0..top).rev().filter(move |bit| value >> bit & 1 == 1).map(move |bit| value & !(1 << bit));
    let steps = (0..4u128).chain(shifts).chain(cleared).chain(value.checked_sub(1));
    steps.filter(move |candidate| *candidate < value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_before_allows_anything_and_undefined_after_nothing() {
        let mut t = Terms::new();
        let (x, zero) = (t.variable("x", 8), t.constant(0, 8));
        let defined = t.ne(x, zero);
        let partial = Side { values: vec![x], defined: Some(defined) };
        let total = Side { values: vec![x], defined: None };
        let other = Side { values: vec![zero], defined: None };
        let narrowing = equivalence(&mut t, &partial, &total, &[]);
        assert_eq!(t.value(narrowing.goal), Some(0), "the same value for more inputs");
        let widening = equivalence(&mut t, &total, &partial, &[]);
        assert!(widening.holds(&t, &[0]) && !widening.holds(&t, &[1]));
        let different = equivalence(&mut t, &partial, &other, &[]);
        assert!(!different.holds(&t, &[0]) && different.holds(&t, &[1]));
    }

    #[test]
    fn preconditions_limit_the_inputs() {
        let mut t = Terms::new();
        let (x, three) = (t.variable("x", 8), t.constant(3, 8));
        let small = t.ult(x, three);
        let masked = t.and(x, three);
        let [before, after] = [x, masked].map(|value| Side { values: vec![value], defined: None });
        let query = equivalence(&mut t, &before, &after, &[small]);
        assert!((0..=255).all(|x| !query.holds(&t, &[x])));
        let unguarded = equivalence(&mut t, &before, &after, &[]);
        assert_eq!(shrink(&t, &unguarded, vec![0xff]), [4], "the smallest byte above three");
        let query = satisfiable(&mut t, &[small]);
        assert!(query.holds(&t, &[2]) && !query.holds(&t, &[3]));
    }
}
