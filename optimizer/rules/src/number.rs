//! What constants without captures denote, and the arithmetic of the rule language.
//!
//! Settled when a rule is read: `-1` at 32 bits is a number, and a guard about widths alone holds or not. Operations
//! (`fold(...)`) are left as they are, since nothing here knows what they yield. Proofs do not use this file: they have
//! terms of their own for the same operators, and a test compares both.

use crate::instance::{Const, ConstKind, Function, ones};
use crate::language::ast::{BinaryOp, Relation, UnaryOp};

/// The number that an expression without captures and operations denotes.
pub fn closed(expr: &Const) -> Option<u64> {
    let bits = expr.bits;
    let value = match &expr.kind {
        ConstKind::Number(value) => *value,
        ConstKind::Unary(UnaryOp::Neg, of) => closed(of)?.wrapping_neg(),
        ConstKind::Unary(UnaryOp::Not, of) => !closed(of)?,
        ConstKind::Binary(op, left, right) => binary(*op, closed(left)?, closed(right)?, bits)?,
        ConstKind::Function(function, arguments) => {
            let values: Option<Vec<u64>> = arguments.iter().map(closed).collect();
            function_value(*function, &values?, arguments.first()?.bits, bits)?
        }
        ConstKind::Capture(_) | ConstKind::Fold(_) => return None,
    };
    Some(value & ones(bits))
}

/// A number of a width as a signed one.
pub fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    (value << unused) as i64 >> unused
}

/// What an operator yields for two numbers of a width; nothing for a division by zero.
pub fn binary(op: BinaryOp, a: u64, b: u64, bits: u32) -> Option<u64> {
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

/// What a function yields, from arguments of `from` bits, in `to` bits; unknown where it has no value.
pub fn function_value(function: Function, values: &[u64], from: u32, to: u32) -> Option<u64> {
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
