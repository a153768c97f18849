//! The measure that every rule lowers, from the costs and ranks of the opcode table.
//!
//! It has three parts. They are compared one after the other for the two sides of a rule:
//!
//! 1. the cost of the operations that are gone, against that of the new ones. An operation inside a pattern is gone
//!    unless it is marked shared;
//! 2. the number of operations that the value is made of. It falls for whoever uses the value too, as long as the
//!    result uses no operand more often than the pattern;
//! 3. the rank of the operations, the constants that do not stand last, and the rank of their comparisons.
//!
//! Each part is a natural number and no rule raises one without lowering one before it, so rewriting ends.

use super::instance::{Instance, Operation, Pattern, Source, Value};
use oriole_ir::ops::{Compare, FieldValues, Flags, Opcode};

/// The parts of the measure of one side of a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Measure {
    /// The cost of the operations that only this side has.
    pub cost: u32,
    /// The operations of the value.
    pub operations: u32,
    /// The rank of operations, constants and comparisons.
    pub rank: u32,
}

/// The rank of a comparison: equalities, then strict ones, then the others.
fn compare_rank(opcode: Opcode, fields: &FieldValues) -> u32 {
    use Compare::*;
    match opcode.row().value::<Compare>(fields) {
        None | Some(Eq | Equ | Num) => 0,
        Some(Ne | Neu | Nan) => 1,
        Some(Lt | Lo | Ltu) => 2,
        Some(Gt | Hi | Gtu) => 3,
        Some(Le | Ls | Leu) => 4,
        Some(Ge | Hs | Geu) => 5,
    }
}

/// How much the order of operands and the comparison add to an operation's rank, which counts eightfold.
fn operation_rank(opcode: Opcode, fields: &FieldValues, early_constants: u32) -> u32 {
    64 * u32::from(opcode.row().rank) + 8 * early_constants + compare_rank(opcode, fields)
}

/// The measure of what is matched.
pub fn of_pattern(pattern: &Pattern) -> Measure {
    let mut measure = Measure::default();
    add_pattern(pattern, true, true, &mut measure);
    measure
}

/// Whether a pattern is a copy of anything, and not of what some operation makes.
fn is_plain_copy(pattern: &Pattern) -> bool {
    let made = |source: &Source| match source {
        Source::Word(_, of) => matches!(**of, Source::Inst(_)),
        source => matches!(source, Source::Inst(_)),
    };
    pattern.opcode.is(Flags::COPY) && !pattern.srcs.iter().any(made)
}

fn add_pattern(pattern: &Pattern, gone: bool, root: bool, measure: &mut Measure) {
    let fields = pattern.some_fields();
    let gone = gone && (root || !pattern.shared);
    measure.cost += if gone { pattern.opcode.row().cost(&fields) } else { 0 };
    measure.operations += u32::from(pattern.opcode.row().cost(&fields) > 0 || root);
    let constant = |source: &Source| matches!(source, Source::Constant(_) | Source::Equals(_));
    let early = early(pattern.srcs.iter().map(constant));
    measure.rank += operation_rank(pattern.opcode, &fields, early);
    for source in &pattern.srcs {
        let mut inner = source;
        while let Source::Word(_, of) = inner {
            inner = of;
        }
        if let Source::Inst(made) = inner {
            add_pattern(made, gone, false, measure);
        }
    }
}

/// Constants before the last operand that is none.
fn early(constants: impl Iterator<Item = bool>) -> u32 {
    let (mut early, mut pending) = (0, 0);
    for constant in constants {
        if constant {
            pending += 1;
        } else {
            early += pending;
            pending = 0;
        }
    }
    early
}

/// The measure of the result. A value that `let` names costs once, and counts as operations wherever it is used.
pub fn of_result(instance: &Instance) -> Measure {
    let mut measure = Measure::default();
    for value in instance.lets.iter().chain(&instance.results) {
        add_value(instance, value, &mut measure);
    }
    let uses = result_uses(instance);
    measure.operations = uses.operations;
    measure
}

fn add_value(instance: &Instance, value: &Value, measure: &mut Measure) {
    let Value::Op(operation) = value else { return };
    let fields = some_fields(instance, operation);
    measure.cost += operation.opcode.row().cost(&fields);
    let early = early(operation.srcs.iter().map(|src| matches!(src, Value::Constant(_))));
    measure.rank += operation_rank(operation.opcode, &fields, early);
    operation.srcs.iter().for_each(|src| add_value(instance, src, measure));
}

/// What a value is made of, written out in full.
#[derive(Clone, Default)]
struct Made {
    operations: u32,
    /// By capture, how often it is used.
    captures: Vec<u32>,
}

impl Made {
    fn add(&mut self, other: &Made) {
        self.operations = self.operations.saturating_add(other.operations);
        self.captures.resize(self.captures.len().max(other.captures.len()), 0);
        for (count, more) in self.captures.iter_mut().zip(&other.captures) {
            *count = count.saturating_add(*more);
        }
    }
}

fn result_uses(instance: &Instance) -> Made {
    let mut lets: Vec<Made> = Vec::new();
    for value in &instance.lets {
        let made = made_of(instance, value, &lets);
        lets.push(made);
    }
    let mut total = Made::default();
    instance.results.iter().for_each(|value| total.add(&made_of(instance, value, &lets)));
    total
}

fn made_of(instance: &Instance, value: &Value, lets: &[Made]) -> Made {
    let mut made = Made::default();
    match value {
        Value::Capture(capture) | Value::Word(_, capture) => {
            made.captures.resize(capture + 1, 0);
            made.captures[*capture] = 1;
        }
        Value::Let(index) => made.add(&lets[*index]),
        Value::Op(operation) => {
            let counts = operation.opcode.row().cost(&some_fields(instance, operation)) > 0;
            made.operations = u32::from(counts);
            operation.srcs.iter().for_each(|src| made.add(&made_of(instance, src, lets)));
        }
        Value::Constant(_) => {}
    }
    made
}

/// The fields of a result, with the lowest values for those that are captured.
fn some_fields(instance: &Instance, operation: &Operation) -> FieldValues {
    let mut fields = operation.fields;
    if let Some(rest) = operation.rest {
        let legal = instance.rests[rest].opcode.row().fields;
        for (to, from) in &operation.copied {
            fields.0[*to] = legal[*from].legal.trailing_zeros().min(63) as u8;
        }
    }
    fields
}

/// Whether the result uses no value more often than the pattern, so that a value made of fewer operations stays so
/// for whoever uses it.
pub fn repeats_nothing(instance: &Instance) -> bool {
    let mut before = vec![0; instance.captures.len()];
    count_pattern(instance.pattern(), &mut before);
    let after = result_uses(instance).captures;
    let captures = before.iter().zip(&instance.captures).zip(after);
    captures.into_iter().all(|((before, capture), after)| capture.constant || after <= *before)
}

fn count_pattern(pattern: &Pattern, counts: &mut [u32]) {
    if let Some(binding) = pattern.binding {
        counts[binding] += 1;
    }
    for source in &pattern.srcs {
        let mut inner = source;
        while let Source::Word(_, of) = inner {
            inner = of;
        }
        match inner {
            Source::Capture(capture) => counts[*capture] += 1,
            Source::Inst(made) => count_pattern(made, counts),
            _ => {}
        }
    }
}

/// Whether a rule lowers the measure.
pub fn falls(instance: &Instance) -> bool {
    let (before, after) = (of_pattern(instance.pattern()), of_result(instance));
    // What is no operation becomes a copy, which a rule about plain copies would meet again.
    let copies = instance.results.iter().all(|value| !matches!(value, Value::Op(_)));
    if copies && is_plain_copy(instance.pattern()) {
        return false;
    }
    if after.cost != before.cost {
        return after.cost < before.cost;
    }
    if !repeats_nothing(instance) {
        return false;
    }
    (after.operations, after.rank) < (before.operations, before.rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::ops::ROWS;

    #[test]
    fn every_pure_operation_but_copies_costs_something() {
        for row in ROWS.iter().filter(|row| row.flags.has(Flags::PURE) && !row.flags.has(Flags::COPY)) {
            let free = row.cost(&row.default_fields()) == 0;
            assert_eq!(free, row.opcode == Opcode::Phi, "{}", row.name);
        }
    }

    #[test]
    fn constants_before_other_operands_are_early() {
        assert_eq!(early([true, false].into_iter()), 1);
        assert_eq!(early([false, true].into_iter()), 0);
        assert_eq!(early([true, true].into_iter()), 0);
    }
}
