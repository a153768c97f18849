//! What constant expressions come to.

use crate::fold::fold;
use oriole_ir::ops::FieldValues;
use oriole_rules::instance::{Const, ConstKind, Operation, Value, ones};
use oriole_rules::language::ast::UnaryOp;
use oriole_rules::number::{binary, function_value};

/// What captures stand for.
pub trait Environment {
    /// The bits of a captured constant.
    fn constant(&self, capture: usize) -> Option<u64>;

    /// The fields that a name captured.
    fn rest(&self, rest: usize) -> Option<&FieldValues>;
}

/// No captures.
impl Environment for () {
    fn constant(&self, _capture: usize) -> Option<u64> {
        None
    }

    fn rest(&self, _rest: usize) -> Option<&FieldValues> {
        None
    }
}

/// The bits of a constant expression; `None` where it depends on what is not captured, or is not certain.
pub fn evaluate(expr: &Const, env: &impl Environment) -> Option<u64> {
    let bits = expr.bits;
    let value = match &expr.kind {
        ConstKind::Number(value) => *value,
        ConstKind::Capture(capture) => env.constant(*capture)?,
        ConstKind::Unary(UnaryOp::Neg, of) => evaluate(of, env)?.wrapping_neg(),
        ConstKind::Unary(UnaryOp::Not, of) => !evaluate(of, env)?,
        ConstKind::Binary(op, left, right) => binary(*op, evaluate(left, env)?, evaluate(right, env)?, bits)?,
        ConstKind::Function(function, arguments) => {
            let values: Option<Vec<u64>> = arguments.iter().map(|argument| evaluate(argument, env)).collect();
            function_value(*function, &values?, arguments.first()?.bits, bits)?
        }
        ConstKind::Fold(operation) => folded(operation, env)?,
    };
    Some(value & ones(bits))
}

fn folded(operation: &Operation, env: &impl Environment) -> Option<u64> {
    let fields = operation_fields(operation, env)?;
    let srcs: Option<Vec<u64>> = operation
        .srcs
        .iter()
        .map(|src| match src {
            Value::Constant(constant) => evaluate(constant, env),
            _ => None,
        })
        .collect();
    fold(operation.opcode, &fields, &srcs?)?.results.first().copied()
}

/// The fields of a result's operation, captured ones filled in; `None` where the opcode table does not allow them.
pub fn operation_fields(operation: &Operation, env: &impl Environment) -> Option<FieldValues> {
    let mut fields = operation.fields;
    if let Some(rest) = operation.rest {
        let captured = env.rest(rest)?;
        let row = operation.opcode.row();
        for (to, from) in &operation.copied {
            fields.0[*to] = captured.0[*from];
            if row.fields[*to].legal >> captured.0[*from] & 1 == 0 {
                return None;
            }
        }
        if row.broken_rule(&fields).is_some() {
            return None;
        }
    }
    Some(fields)
}
