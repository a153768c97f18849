//! What constant expressions and comparisons of rules come to, for drawing constants that meet guards.
//!
//! Written from the description of the language (`optimizer/rules/README.md`), apart from the evaluator that applies
//! rules: a kernel must meet a guard as it is written, not as the optimizer reads it. Operations are evaluated by the
//! interpreter.

use oriole_ir::ops::FieldValues;
use oriole_rules::instance::{Const, ConstKind, Function, Operation, Value};
use oriole_rules::language::ast::{BinaryOp, Relation, UnaryOp};

use oriole_semantics::scalar::ScalarOp;

/// What the captures of a rule stand for.
#[derive(Clone, Copy)]
pub(super) struct Captured<'a> {
    /// By capture: its bits, if it is a constant.
    pub constants: &'a [Option<u64>],
    /// By captured modifiers: the fields of the operation.
    pub rests: &'a [Option<FieldValues>],
}

/// The lowest `bits` bits of a number.
fn truncated(value: u128, bits: u32) -> u64 {
    let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    value as u64 & mask
}

/// A number of `bits` bits as a signed one.
fn signed(value: u64, bits: u32) -> i128 {
    let (value, modulus) = (i128::from(value), 1i128 << bits);
    if value >= modulus / 2 { value - modulus } else { value }
}

/// The bits of an expression; `None` where it has no value, or depends on a capture that is no constant.
pub(super) fn value(expr: &Const, captured: Captured<'_>) -> Option<u64> {
    let bits = expr.bits;
    let wide = match &expr.kind {
        ConstKind::Number(number) => u128::from(*number),
        ConstKind::Capture(capture) => u128::from((*captured.constants.get(*capture)?)?),
        ConstKind::Unary(UnaryOp::Neg, of) => u128::from(value(of, captured)?).wrapping_neg(),
        ConstKind::Unary(UnaryOp::Not, of) => !u128::from(value(of, captured)?),
        ConstKind::Binary(op, left, right) => binary(*op, value(left, captured)?, value(right, captured)?, bits)?,
        ConstKind::Function(function, arguments) => {
            let values: Option<Vec<u64>> = arguments.iter().map(|argument| value(argument, captured)).collect();
            call(*function, &values?, arguments.first()?.bits, bits)?
        }
        ConstKind::Fold(operation) => u128::from(operation_value(operation, captured)?),
    };
    Some(truncated(wide, bits))
}

/// An operator on operands of `bits` bits; the caller truncates.
fn binary(op: BinaryOp, a: u64, b: u64, bits: u32) -> Option<u128> {
    let (wide_a, wide_b) = (u128::from(a), u128::from(b));
    let (signed_a, signed_b) = (signed(a, bits), signed(b, bits));
    let count = b.min(u64::from(bits)) as u32;
    Some(match op {
        BinaryOp::Add => wide_a + wide_b,
        BinaryOp::Sub => wide_a.wrapping_sub(wide_b),
        BinaryOp::Mul => wide_a * wide_b,
        BinaryOp::Div => wide_a.checked_div(wide_b)?,
        BinaryOp::Rem => wide_a.checked_rem(wide_b)?,
        BinaryOp::DivSigned => signed_a.checked_div(signed_b)? as u128,
        BinaryOp::RemSigned => signed_a.checked_rem(signed_b)? as u128,
        BinaryOp::And => wide_a & wide_b,
        BinaryOp::Or => wide_a | wide_b,
        BinaryOp::Xor => wide_a ^ wide_b,
        BinaryOp::Shl => wide_a << count,
        BinaryOp::Shr => wide_a >> count,
        BinaryOp::ShrSigned => (signed_a >> count) as u128,
    })
}

/// A function of arguments of `from` bits, in a place of `to` bits.
fn call(function: Function, values: &[u64], from: u32, to: u32) -> Option<u128> {
    let first = *values.first()?;
    let second = || values.get(1).copied();
    let by_sign = |value: &u64| signed(*value, from);
    Some(match function {
        Function::Log2 => u128::from(first.checked_ilog2()?),
        Function::Popc => u128::from(first.count_ones()),
        Function::Clz => u128::from(from - (64 - first.leading_zeros())),
        Function::Ctz => (0..from).take_while(|bit| first >> bit & 1 == 0).count() as u128,
        Function::Min => u128::from(first.min(second()?)),
        Function::Max => u128::from(first.max(second()?)),
        Function::Smin => u128::from([first, second()?].into_iter().min_by_key(by_sign)?),
        Function::Smax => u128::from([first, second()?].into_iter().max_by_key(by_sign)?),
        Function::Zext | Function::Trunc => u128::from(first),
        Function::Sext => signed(first, from) as u128,
        Function::Mask => (1u128 << first.min(u64::from(to))) - 1,
    })
}

/// What `fold(...)` yields.
fn operation_value(operation: &Operation, captured: Captured<'_>) -> Option<u64> {
    let mut fields = operation.fields;
    if let Some(rest) = operation.rest {
        let given = (*captured.rests.get(rest)?)?;
        operation.copied.iter().for_each(|(to, from)| fields.0[*to] = given.0[*from]);
    }
    let mut srcs = [0; 5];
    for (place, src) in srcs.iter_mut().zip(&operation.srcs) {
        let Value::Constant(constant) = src else { return None };
        *place = value(constant, captured)?;
    }
    let lane = ScalarOp::resolve(operation.opcode, &fields)?.eval(&srcs);
    lane.defined.then_some(lane.value)
}

/// Whether two numbers of `bits` bits are in a relation.
pub(super) fn holds(relation: Relation, is_signed: bool, a: u64, b: u64, bits: u32) -> bool {
    let (a, b) = if is_signed { (signed(a, bits), signed(b, bits)) } else { (i128::from(a), i128::from(b)) };
    match relation {
        Relation::Eq => a == b,
        Relation::Ne => a != b,
        Relation::Lt => a < b,
        Relation::Le => a <= b,
        Relation::Gt => a > b,
        Relation::Ge => a >= b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Captured<'_> = Captured { constants: &[], rests: &[] };

    fn number(value: u64, bits: u32) -> Box<Const> {
        Box::new(Const { bits, kind: ConstKind::Number(value) })
    }

    fn of(op: BinaryOp, a: u64, b: u64, bits: u32) -> Option<u64> {
        value(&Const { bits, kind: ConstKind::Binary(op, number(a, bits), number(b, bits)) }, NONE)
    }

    #[test]
    fn operators_wrap_at_the_width_of_their_place() {
        assert_eq!(of(BinaryOp::Sub, 0, 1, 16), Some(0xffff));
        assert_eq!(of(BinaryOp::Mul, u64::MAX, u64::MAX, 64), Some(1));
        assert_eq!(of(BinaryOp::DivSigned, 0x8000_0000, 0xffff_ffff, 32), Some(0x8000_0000));
        assert_eq!(of(BinaryOp::Div, 1, 0, 32), None);
        assert_eq!(of(BinaryOp::RemSigned, 0xf9, 4, 8), Some(0xfd));
        assert_eq!(of(BinaryOp::Shl, 1, 32, 32), Some(0));
        assert_eq!(of(BinaryOp::ShrSigned, 0x80, 99, 8), Some(0xff));
    }

    #[test]
    fn functions_count_within_the_width_of_their_argument() {
        let of = |function, argument: u64, from: u32, to: u32| {
            value(&Const { bits: to, kind: ConstKind::Function(function, vec![*number(argument, from)]) }, NONE)
        };
        assert_eq!(of(Function::Clz, 1, 16, 32), Some(15));
        assert_eq!(of(Function::Ctz, 0, 16, 32), Some(16));
        assert_eq!(of(Function::Log2, 0, 32, 32), None);
        assert_eq!(of(Function::Sext, 0x80, 8, 32), Some(0xffff_ff80));
        assert_eq!(of(Function::Mask, 70, 32, 64), Some(u64::MAX));
        assert!(holds(Relation::Lt, true, 0x80, 1, 8) && !holds(Relation::Lt, false, 0x80, 1, 8));
    }
}
