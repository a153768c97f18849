//! Faults of rules beyond what they say: results that are not cheaper, rules that undo or shadow others.

use super::eval::evaluate;
use super::program::orders;
use oriole_ir::diagnostics::counted;
use oriole_rules::cost::{Measure, Weights, falls, of_pattern, of_result};
use oriole_rules::instance::{
    Condition, Const, ConstKind, Function, Instance, Operation, Pattern, Rule, Source, Value,
};
use oriole_rules::language::{Fault, Span};
use oriole_rules::number::related;

fn not_cheaper(rule: &Rule, instance: &Instance, undoes: Option<&str>, weights: &Weights) -> Fault {
    let (before, after) = (of_pattern(instance, weights), of_result(instance, weights));
    let of = |measure: Measure| match weights.iter().next() {
        Some(_) => {
            format!("cost {}, {}, weight {}", measure.cost, counted(measure.operations, "operation"), measure.weight)
        }
        None => format!("cost {}, {}", measure.cost, counted(measure.operations, "operation")),
    };
    let with = match instance.binding_text() {
        text if text.is_empty() => text,
        text => format!(" with {text}"),
    };
    let message = match undoes {
        Some(other) if other == rule.name => format!("rule `{other}` applies to its own result"),
        Some(other) => format!("rule `{}` undoes `{other}`", rule.name),
        None => format!("the result of `{}` is not cheaper than what it replaces{with}", rule.name),
    };
    let span = rule.decl().results.first().map_or(rule.decl().span, |result| result.span());
    let label = format!("{} here, {} in the pattern", of(after), of(before));
    let help = "`oriole ops NAME` gives the cost; of equal ones the result must have fewer operations, or rank before \
                (or weigh less by a `measure`), and repeat no operand; an operation marked `&` stays, so it saves nothing";
    Fault::new(span, message, label, help)
}

/// The rules from `first` on that do not lower the measure: the file of each, and what is wrong.
pub(super) fn dear(rules: &[Rule], first: usize, weights: &Weights) -> Vec<(usize, Fault)> {
    let fault = |rule: &Rule| {
        let dear = rule.instances().iter().find(|instance| !falls(instance, weights))?;
        Some((rule.source, not_cheaper(rule, dear, undone_by(&rules[first..], dear), weights)))
    };
    rules[first..].iter().filter_map(fault).collect()
}

/// The rules of one file that never apply, since another of these rules is tried first and matches as much.
pub(super) fn shadowed(rules: &[Rule], source: usize) -> Vec<Fault> {
    let fault = |(index, rule): (usize, &Rule)| {
        let earlier = shadow_of(rules, index, rules.len())?;
        let message = format!("rule `{}` never applies: `{earlier}` is tried first and matches as much", rule.name);
        let help = "give it a higher priority if it is better, or leave it out";
        Some(Fault::new(rule.decl().name.span, message, "this rule", help))
    };
    rules.iter().enumerate().filter(|(_, rule)| rule.source == source).filter_map(fault).collect()
}

/// The rules that do not lower a measure.
pub(super) fn raising(rules: &[Rule], weights: &Weights) -> Vec<&'static str> {
    let raises = |rule: &&Rule| rule.instances().iter().any(|instance| !falls(instance, weights));
    rules.iter().filter(raises).map(|rule| rule.name).collect()
}

/// That rules raise a measure which is stated at a place.
pub(super) fn counter_fault(raising: &[&str], at: Span) -> Option<Fault> {
    let first = raising.first()?;
    let message = format!("by this measure the result of `{first}` weighs more than what it replaces");
    let named: Vec<String> = raising.iter().map(|rule| format!("`{rule}`")).collect();
    let label = format!("counter to {}", named.join(", "));
    let help = "rules that go both ways never end: let what these rules replace weigh no less than what they yield \
                (`oriole rules explain NAME` shows them)";
    Some(Fault::new(at, message, label, help))
}

/// The rule among the first so many that is tried before another one wherever that one applies.
pub(super) fn shadow_of(rules: &[Rule], index: usize, first: usize) -> Option<&'static str> {
    let rule = &rules[index];
    let before = |other: &(usize, &Rule)| {
        let (place, other) = other;
        (std::cmp::Reverse(other.priority), *place) < (std::cmp::Reverse(rule.priority), index)
    };
    let mut by = None;
    for instance in rule.instances() {
        let root = instance.pattern().opcode;
        let shadows = |(_, other): &(usize, &Rule)| other.roots.contains(&root) && covers_any(other, instance);
        let shadow = rules[..first].iter().enumerate().filter(before).find(shadows);
        by = Some(shadow?.1.name);
    }
    by
}

fn covers_any(rule: &Rule, instance: &Instance) -> bool {
    rule.instances().iter().any(|general| covers(general, instance))
}

/// Whether an instance matches wherever another one does. It says no where it is not sure.
fn covers(general: &Instance, special: &Instance) -> bool {
    if general.pattern().opcode != special.pattern().opcode {
        return false;
    }
    orders(general.pattern()).iter().any(|pattern| {
        let mut bound = vec![None; general.captures.len()];
        if !pattern_covers(pattern, special.pattern(), true, &mut bound) {
            return false;
        }
        // Conditions are compared as they stand, after renaming; those about numbers alone are decided.
        let certain = |condition: &Condition| {
            let renamed = rename_condition(condition, &bound);
            renamed.is_some_and(|condition| special.conditions.contains(&condition) || is_true(&condition))
        };
        general.conditions.iter().all(certain) && plan_is_certain(general, &bound)
    })
}

/// Whether a condition about numbers holds.
fn is_true(condition: &Condition) -> bool {
    let known = |expr| evaluate(expr, &());
    match condition {
        Condition::PowerOfTwo(expr) => known(expr).is_some_and(u64::is_power_of_two),
        Condition::Mask(expr) => known(expr).is_some_and(|bits| bits != 0 && bits & bits.wrapping_add(1) == 0),
        Condition::Compare { relation, signed, left, right } => {
            let both = known(left).zip(known(right));
            both.is_some_and(|(a, b)| related(*relation, *signed, a, b, left.bits))
        }
        _ => false,
    }
}

/// Whether a match always leads to a rewrite: nothing in the result is unknown at times.
fn plan_is_certain(instance: &Instance, bound: &[Option<Source>]) -> bool {
    let mut values: Vec<&Value> = instance.lets.iter().chain(&instance.results).collect();
    while let Some(value) = values.pop() {
        let certain = match value {
            Value::Word(..) => false,
            Value::Capture(_) | Value::Let(_) => true,
            Value::Constant(constant) => {
                let number = rename_const(constant, bound).and_then(|constant| evaluate(&constant, &()));
                number.is_some() || is_certain(constant, instance)
            }
            Value::Op(operation) => {
                values.extend(&operation.srcs);
                operation.rest.is_none()
            }
        };
        if !certain {
            return false;
        }
    }
    true
}

/// Whether a constant has a value wherever the conditions hold.
fn is_certain(constant: &Const, instance: &Instance) -> bool {
    use oriole_rules::language::ast::BinaryOp::{Div, DivSigned, Rem, RemSigned};
    match &constant.kind {
        ConstKind::Number(_) | ConstKind::Capture(_) => true,
        ConstKind::Unary(_, of) => is_certain(of, instance),
        ConstKind::Binary(Div | DivSigned | Rem | RemSigned, ..) | ConstKind::Fold(_) => false,
        ConstKind::Binary(_, left, right) => is_certain(left, instance) && is_certain(right, instance),
        ConstKind::Function(Function::Log2, arguments) => {
            instance.conditions.contains(&Condition::PowerOfTwo(arguments[0].clone()))
        }
        ConstKind::Function(_, arguments) => arguments.iter().all(|argument| is_certain(argument, instance)),
    }
}

fn pattern_covers(general: &Pattern, special: &Pattern, root: bool, bound: &mut [Option<Source>]) -> bool {
    general.opcode == special.opcode
        && general.fields.iter().zip(&special.fields).all(|(general, special)| special & !general == 0)
        && general.rest.is_none()
        && general.binding.is_none()
        && (root || general.shared || !special.shared)
        && general.srcs.iter().zip(&special.srcs).all(|(general, special)| source_covers(general, special, bound))
}

fn source_covers(general: &Source, special: &Source, bound: &mut [Option<Source>]) -> bool {
    match (general, special) {
        (Source::Any, _) => true,
        (Source::Capture(capture), _) => bind(*capture, special, bound),
        (Source::Constant(capture), Source::Constant(_) | Source::Equals(_)) => bind(*capture, special, bound),
        (Source::Equals(general), Source::Equals(special)) => {
            evaluate(general, &()).is_some() && evaluate(general, &()) == evaluate(special, &())
        }
        (Source::Inst(general), Source::Inst(special)) => pattern_covers(general, special, false, bound),
        (Source::Word(a, general), Source::Word(b, special)) => a == b && source_covers(general, special, bound),
        _ => false,
    }
}

/// A repeated capture covers only what is the same each time, and one that is sure to be.
fn bind(capture: usize, special: &Source, bound: &mut [Option<Source>]) -> bool {
    match &bound[capture] {
        Some(before) => before == special && !matches!(special, Source::Any | Source::Inst(_)),
        None => {
            bound[capture] = Some(special.clone());
            true
        }
    }
}

/// A condition of a general rule in the captures of a special one; `None` where that cannot be said.
fn rename_condition(condition: &Condition, bound: &[Option<Source>]) -> Option<Condition> {
    let capture = |index: usize| match bound.get(index)? {
        Some(Source::Capture(other) | Source::Constant(other)) => Some(*other),
        _ => None,
    };
    Some(match condition {
        Condition::Extended(value, from) => Condition::Extended(capture(*value)?, *from),
        Condition::Disjoint(left, right, bits) => {
            let (left, right) = (capture(*left)?, capture(*right)?);
            Condition::Disjoint(left.min(right), left.max(right), *bits)
        }
        Condition::Nonzero(value, bits) => Condition::Nonzero(capture(*value)?, *bits),
        Condition::NotNan(value, ty) => Condition::NotNan(capture(*value)?, *ty),
        Condition::Unused => Condition::Unused,
        Condition::SingleUse(value) => Condition::SingleUse(capture(*value)?),
        Condition::Variable(value) => Condition::Variable(capture(*value)?),
        Condition::IsConstant(value) => Condition::IsConstant(capture(*value)?),
        Condition::PowerOfTwo(expr) => Condition::PowerOfTwo(rename_const(expr, bound)?),
        Condition::Mask(expr) => Condition::Mask(rename_const(expr, bound)?),
        Condition::Compare { relation, signed, left, right } => Condition::Compare {
            relation: *relation,
            signed: *signed,
            left: rename_const(left, bound)?,
            right: rename_const(right, bound)?,
        },
        _ => return None,
    })
}

fn rename_const(expr: &Const, bound: &[Option<Source>]) -> Option<Const> {
    let kind = match &expr.kind {
        ConstKind::Number(value) => ConstKind::Number(*value),
        ConstKind::Capture(index) => match bound.get(*index)? {
            Some(Source::Constant(other)) => ConstKind::Capture(*other),
            Some(Source::Equals(number)) => ConstKind::Number(evaluate(number, &())?),
            _ => return None,
        },
        ConstKind::Unary(op, of) => ConstKind::Unary(*op, Box::new(rename_const(of, bound)?)),
        ConstKind::Binary(op, left, right) => {
            ConstKind::Binary(*op, Box::new(rename_const(left, bound)?), Box::new(rename_const(right, bound)?))
        }
        ConstKind::Function(function, arguments) => {
            let arguments: Option<Vec<Const>> = arguments.iter().map(|of| rename_const(of, bound)).collect();
            ConstKind::Function(*function, arguments?)
        }
        ConstKind::Fold(_) => return None,
    };
    Some(Const { bits: expr.bits, kind })
}

/// The rule that turns this rule's result back into its pattern. The measure excludes such pairs, so this names the
/// other one where a rule does not lower it.
fn undone_by(rules: &[Rule], instance: &Instance) -> Option<&'static str> {
    let [Value::Op(result)] = instance.results.as_slice() else { return None };
    let undoes = |other: &&Rule| {
        other.instances().iter().any(|other| {
            let [Value::Op(theirs)] = other.results.as_slice() else { return false };
            could_match(other.pattern(), result) && could_match(instance.pattern(), theirs)
        })
    };
    rules.iter().find(undoes).map(|rule| rule.name)
}

/// Whether a result has the operations that a pattern asks for.
fn could_match(pattern: &Pattern, result: &Operation) -> bool {
    orders(pattern).iter().any(|pattern| operation_matches(pattern, result))
}

fn operation_matches(pattern: &Pattern, result: &Operation) -> bool {
    let copied = |slot: usize| result.copied.iter().any(|(to, _)| *to == slot);
    pattern.opcode == result.opcode
        && pattern.fields.iter().enumerate().all(|(slot, mask)| copied(slot) || mask >> result.fields.0[slot] & 1 == 1)
        && pattern.srcs.iter().zip(&result.srcs).all(|(source, value)| match (source, value) {
            (Source::Any | Source::Capture(_), _) => true,
            (Source::Constant(_) | Source::Equals(_), value) => matches!(value, Value::Constant(_) | Value::Capture(_)),
            (Source::Inst(inner), Value::Op(operation)) => operation_matches(inner, operation),
            (Source::Inst(_), Value::Capture(_) | Value::Let(_)) => true,
            (Source::Word(..), value) => matches!(value, Value::Word(..) | Value::Capture(_)),
            _ => false,
        })
}
