//! The measure that every rule lowers, from the costs and ranks of the opcode table.
//!
//! It has four parts. They are compared one after the other for the two sides of a rule:
//!
//! 1. the cost of the operations that are gone, against that of the new ones. An operation inside a pattern is gone
//!    unless it is marked shared, or the result uses what it makes (`y@`);
//! 2. the number of operations that the value is made of, those included that the result takes over from the pattern.
//!    It falls for whoever uses the value too, as long as the result uses no operand more often than the pattern;
//! 3. the weight of these operations, where a rule file states what operations weigh ([`Weights`]); zero otherwise;
//! 4. the rank of the operations, the constants that are not last, and the rank of their comparisons. What the
//!    result takes over counts on neither side.
//!
//! Each part is a natural number and no rule raises one without lowering one before it, so rewriting ends. That holds
//! with the weights of a user too, since all rules of the set are held against them, those of the tree included.

use super::instance::{Instance, Operation, Pattern, Source, Value};
use super::language::Fault;
use super::language::ast::{MeasureDecl, Name};
use oriole_ir::ops::{Compare, FieldValues, Flags, Opcode};

/// The largest weight of an operation.
pub const MAX_WEIGHT: u32 = 1000;

/// What operations weigh; those that are not named weigh nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Weights(Vec<(Opcode, u32)>);

impl Weights {
    /// The weights that a rule file states.
    ///
    /// # Errors
    ///
    /// A name is no operation, or one that costs nothing; a weight is too large; an operation is named twice.
    pub fn of(decl: &MeasureDecl) -> Result<Weights, Fault> {
        let mut weights = Weights::default();
        for (name, weight) in &decl.weights {
            let opcode = weighed(name)?;
            let weight = u32::try_from(*weight).ok().filter(|weight| *weight <= MAX_WEIGHT);
            let too_large = || format!("`{}` weighs more than {MAX_WEIGHT}", name.text);
            let weight = weight.ok_or_else(|| Fault::new(name.span, too_large(), "here", "only the order matters"))?;
            if weights.0.iter().any(|(other, _)| *other == opcode) {
                let message = format!("`{}` is weighed twice", name.text);
                return Err(Fault::new(name.span, message, "again", "leave one of the two out"));
            }
            weights.0.push((opcode, weight));
        }
        Ok(weights)
    }

    /// What an operation weighs.
    pub fn weight(&self, opcode: Opcode) -> u32 {
        self.0.iter().find(|(known, _)| *known == opcode).map_or(0, |(_, weight)| *weight)
    }

    /// The operations that weigh something.
    pub fn iter(&self) -> impl Iterator<Item = (Opcode, u32)> {
        self.0.iter().copied()
    }
}

/// An operation that may weigh something. Results that are no operation become copies, so copies weigh nothing.
fn weighed(name: &Name) -> Result<Opcode, Fault> {
    let Some(opcode) = Opcode::from_name(&name.text) else {
        let message = format!("there is no operation `{}`", name.text);
        return Err(Fault::new(
            name.span,
            message,
            "unknown",
            "`oriole ops` lists them; types and fields weigh nothing",
        ));
    };
    if opcode.row().cost(&opcode.row().default_fields()) == 0 {
        let message = format!("`{}` costs nothing and weighs nothing", name.text);
        return Err(Fault::new(name.span, message, "here", "leave it out"));
    }
    Ok(opcode)
}

/// The parts of the measure of one side of a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Measure {
    /// The cost of the operations that only this side has.
    pub cost: u32,
    /// The operations of the value.
    pub operations: u32,
    /// What these weigh.
    pub weight: u32,
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
pub fn of_pattern(instance: &Instance, weights: &Weights) -> Measure {
    let kept = result_uses(instance, weights).captures;
    let mut matched = Matched { kept, weights, measure: Measure::default() };
    matched.add(instance.pattern(), true, true, false);
    matched.measure
}

/// Whether a pattern is a copy of anything, and not of what some operation makes.
fn is_plain_copy(pattern: &Pattern) -> bool {
    let made = |source: &Source| match source {
        Source::Word(_, of) => matches!(**of, Source::Inst(_)),
        source => matches!(source, Source::Inst(_)),
    };
    pattern.opcode.is(Flags::COPY) && !pattern.srcs.iter().any(made)
}

/// The measure of a pattern as it is summed up.
struct Matched<'a> {
    /// By capture, how often the results use it.
    kept: Vec<u32>,
    weights: &'a Weights,
    measure: Measure,
}

impl Matched<'_> {
    /// Adds an operation and those that make its operands. It is `gone` where its reader is and it has no other, and
    /// `stays` where the results use it or what is made of it.
    fn add(&mut self, pattern: &Pattern, root: bool, gone: bool, stays: bool) {
        let fields = pattern.some_fields();
        let gone = gone && (root || !pattern.shared);
        let stays = stays || pattern.binding.is_some_and(|value| self.kept.get(value).is_some_and(|uses| *uses > 0));
        let cost = pattern.opcode.row().cost(&fields);
        self.measure.cost += if gone && !stays { cost } else { 0 };
        self.measure.operations += u32::from(cost > 0 || root);
        self.measure.weight += self.weights.weight(pattern.opcode);
        let constant = |source: &Source| matches!(source, Source::Constant(_) | Source::Equals(_));
        let early = early(pattern.srcs.iter().map(constant));
        self.measure.rank += if stays { 0 } else { operation_rank(pattern.opcode, &fields, early) };
        for made in operations_inside(pattern) {
            self.add(made, false, gone, stays);
        }
    }
}

/// The operations that make operands of a pattern, words of them included.
fn operations_inside(pattern: &Pattern) -> impl Iterator<Item = &Pattern> {
    pattern.srcs.iter().filter_map(|source| if let Source::Inst(made) = whole(source) { Some(&**made) } else { None })
}

/// What a source takes a word of, or itself.
fn whole(mut source: &Source) -> &Source {
    while let Source::Word(_, of) = source {
        source = of;
    }
    source
}

/// The operation of a pattern whose value a capture names.
fn named(pattern: &Pattern, capture: usize) -> Option<&Pattern> {
    if pattern.binding == Some(capture) {
        return Some(pattern);
    }
    operations_inside(pattern).find_map(|made| named(made, capture))
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
pub fn of_result(instance: &Instance, weights: &Weights) -> Measure {
    let mut measure = Measure::default();
    for value in instance.lets.iter().chain(&instance.results) {
        add_value(instance, value, &mut measure);
    }
    let uses = result_uses(instance, weights);
    Measure { operations: uses.operations, weight: uses.weight, ..measure }
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
    weight: u32,
    /// By capture, how often it is used.
    captures: Vec<u32>,
}

impl Made {
    fn add(&mut self, other: &Made) {
        self.operations = self.operations.saturating_add(other.operations);
        self.weight = self.weight.saturating_add(other.weight);
        self.captures.resize(self.captures.len().max(other.captures.len()), 0);
        for (count, more) in self.captures.iter_mut().zip(&other.captures) {
            *count = count.saturating_add(*more);
        }
    }
}

fn result_uses(instance: &Instance, weights: &Weights) -> Made {
    let mut lets: Vec<Made> = Vec::new();
    for value in &instance.lets {
        let made = made_of(instance, value, &lets, weights);
        lets.push(made);
    }
    let mut total = Made::default();
    instance.results.iter().for_each(|value| total.add(&made_of(instance, value, &lets, weights)));
    total
}

fn made_of(instance: &Instance, value: &Value, lets: &[Made], weights: &Weights) -> Made {
    let mut made = Made::default();
    match value {
        Value::Capture(capture) | Value::Word(_, capture) => {
            made.captures.resize(instance.captures.len(), 0);
            match named(instance.pattern(), *capture) {
                None => made.captures[*capture] = 1,
                // What the pattern made of it belongs to the value as before.
                Some(pattern) => take_over(pattern, weights, &mut made),
            }
        }
        Value::Let(index) => made.add(&lets[*index]),
        Value::Op(operation) => {
            let counts = operation.opcode.row().cost(&some_fields(instance, operation)) > 0;
            made.operations = u32::from(counts);
            made.weight = weights.weight(operation.opcode);
            operation.srcs.iter().for_each(|src| made.add(&made_of(instance, src, lets, weights)));
        }
        Value::Constant(_) => {}
    }
    made
}

fn take_over(pattern: &Pattern, weights: &Weights, made: &mut Made) {
    made.operations += u32::from(pattern.opcode.row().cost(&pattern.some_fields()) > 0);
    made.weight += weights.weight(pattern.opcode);
    count_operands(pattern, &mut made.captures);
    operations_inside(pattern).for_each(|inner| take_over(inner, weights, made));
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
    let after = result_uses(instance, &Weights::default()).captures;
    let captures = before.iter().zip(&instance.captures).zip(after);
    captures.into_iter().all(|((before, capture), after)| capture.constant || after <= *before)
}

fn count_pattern(pattern: &Pattern, counts: &mut [u32]) {
    count_operands(pattern, counts);
    operations_inside(pattern).for_each(|made| count_pattern(made, counts));
}

/// Counts the captures of an operation: its own, and those of its operands that no operation makes.
fn count_operands(pattern: &Pattern, counts: &mut [u32]) {
    if let Some(binding) = pattern.binding {
        counts[binding] += 1;
    }
    for source in &pattern.srcs {
        if let Source::Capture(capture) = whole(source) {
            counts[*capture] += 1;
        }
    }
}

/// Whether a rule lowers the measure.
pub fn falls(instance: &Instance, weights: &Weights) -> bool {
    let (before, after) = (of_pattern(instance, weights), of_result(instance, weights));
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
    (after.operations, after.weight, after.rank) < (before.operations, before.weight, before.rank)
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
