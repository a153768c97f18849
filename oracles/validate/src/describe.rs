//! Refutations in words.

use super::kernel::{self, Case, Confirmation, Guarding};
use super::report::Refutation;
use super::translate::Question;
use oriole_proof::eval::Program;
use oriole_proof::{Term, Variable};

/// What a variant is called in reports.
pub(super) fn label(question: &Question<'_>) -> String {
    labelled(&question.variant.instance.binding_text(), &question.variant.root_text())
}

/// The root with its fields, and the rule's variables.
pub(super) fn labelled(instance: &str, root: &str) -> String {
    if instance.is_empty() { root.to_owned() } else { format!("{root} for {instance}") }
}

/// A refutation in words.
pub(super) fn described(
    question: &Question<'_>,
    case: &Case,
    found_by: &'static str,
    confirmation: Confirmation,
) -> Refutation {
    let inputs = &case.lanes[0];
    let variables = question.terms.variables();
    // Inputs on which neither side depends are left out: their values are those of the search and explain nothing.
    let read: Vec<Term> = match &question.effect {
        Some(operands) => operands.clone(),
        None => question.values.iter().flatten().copied().chain([question.query.goal]).collect(),
    };
    let pointers = kernel::pointers(question);
    let used = question.terms.reachable(&read);
    let is_used = |number: usize| {
        used.iter().any(|term| question.terms.node(*term).op == oriole_proof::term::Op::Variable(number as u32))
    };
    let named = variables.iter().zip(inputs).enumerate().filter(|(number, _)| is_used(*number));
    let shown = |(number, (variable, value)): (usize, (&Variable, &u128))| {
        let is_address = pointers.iter().any(|pointer| pointer.variable == number);
        let name = if is_address { format!("{} - memory", variable.name) } else { variable.name.clone() };
        (name, variable.width, *value)
    };
    let mut inputs_shown: Vec<(String, u32, u128)> = named.map(shown).collect();
    inputs_shown.extend(case.memory.first().into_iter().flatten().map(held));
    let defined = question.defined;
    let value = |side: usize| {
        let mut roots = question.values[side].clone();
        roots.extend(defined);
        let mut values = Program::new(&question.terms, &roots).eval(inputs);
        // Where the root is undefined, its value is whatever the terms say and is not shown.
        let is_defined = defined.is_none() || values.pop() == Some(1) || side == 1;
        values.into_iter().map(|value| is_defined.then_some(value)).collect()
    };
    Refutation {
        instance: question.variant.instance.binding_text(),
        root: question.variant.root_text(),
        inputs: inputs_shown,
        values: match question.effect {
            Some(_) => [vec![None], vec![None]],
            None => [value(0), value(1)],
        },
        guarded: case.guard != Guarding::None,
        found_by,
        confirmation,
    }
}

/// What memory holds before.
fn held((_, bytes): &(u64, Vec<u8>)) -> (String, u32, u128) {
    let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte));
    ("what is in memory".to_owned(), 8 * bytes.len() as u32, value)
}
