//! What constant expressions come to.

use super::instance::{Const, ConstKind, Function, Operation, ones};
use super::language::ast::{BinaryOp, Relation, UnaryOp};
use crate::ops::{FieldValues, fold};

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

/// A number of a width as a signed one.
pub fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    (value << unused) as i64 >> unused
}

fn binary(op: BinaryOp, a: u64, b: u64, bits: u32) -> Option<u64> {
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    Some(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a.checked_div(b)?,
        BinaryOp::Rem => a.checked_rem(b)?,
        BinaryOp::DivSigned if b != 0 => sa.wrapping_div(sb) as u64,
        BinaryOp::RemSigned if b != 0 => sa.wrapping_rem(sb) as u64,
        BinaryOp::DivSigned | BinaryOp::RemSigned => return None,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl if b >= u64::from(bits) => 0,
        BinaryOp::Shl => a << b,
        BinaryOp::Shr if b >= u64::from(bits) => 0,
        BinaryOp::Shr => a >> b,
        BinaryOp::ShrSigned => (sa >> b.min(63)) as u64,
    })
}

fn function_value(function: Function, values: &[u64], from: u32, to: u32) -> Option<u64> {
    let (a, b) = (*values.first()?, values.get(1).copied());
    let less = |b: u64| (signed(a, from) < signed(b, from), a < b);
    Some(match function {
        Function::Log2 => u64::from(a.checked_ilog2()?),
        Function::Popc => u64::from(a.count_ones()),
        Function::Clz => u64::from((a & ones(from)).leading_zeros() + from - 64),
        Function::Ctz => u64::from(a.trailing_zeros().min(from)),
        Function::Min => a.min(b?),
        Function::Max => a.max(b?),
        Function::Smin => {
            if less(b?).0 {
                a
            } else {
                b?
            }
        }
        Function::Smax => {
            if less(b?).0 {
                b?
            } else {
                a
            }
        }
        Function::Zext | Function::Trunc => a,
        Function::Sext => signed(a, from) as u64,
        Function::Mask => ones(u32::try_from(a).unwrap_or(64).min(to)),
    })
}

fn folded(operation: &Operation, env: &impl Environment) -> Option<u64> {
    let fields = operation_fields(operation, env)?;
    let srcs: Option<Vec<u64>> = operation
        .srcs
        .iter()
        .map(|src| match src {
            super::instance::Value::Constant(constant) => evaluate(constant, env),
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

/// Whether two numbers of a width are in a relation.
pub fn related(relation: Relation, is_signed: bool, a: u64, b: u64, bits: u32) -> bool {
    let ordering = if is_signed { signed(a, bits).cmp(&signed(b, bits)) } else { a.cmp(&b) };
    match relation {
        Relation::Eq => ordering.is_eq(),
        Relation::Ne => ordering.is_ne(),
        Relation::Lt => ordering.is_lt(),
        Relation::Le => ordering.is_le(),
        Relation::Gt => ordering.is_gt(),
        Relation::Ge => ordering.is_ge(),
    }
}
