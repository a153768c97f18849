//! Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic").

use oriole_ir::ops::{Half, Opcode, Relu, Saturate, SecondType, Type};

use super::super::term::{Term, Terms, ones};
use super::Context;

/// The results of an opcode of this file.
pub(super) fn meaning(opcode: Opcode, cx: &mut Context) -> Option<Vec<Term>> {
    let value = match opcode {
        Opcode::IAdd | Opcode::ISub => sum(opcode, cx),
        Opcode::IMulLo => low_product(cx),
        Opcode::IMulHi => high_product(cx),
        Opcode::IMulWide => whole_product(cx)?,
        Opcode::IMadLo => {
            let low = low_product(cx);
            plus_third(cx, low)
        }
        Opcode::IMadHi => {
            let high = high_product(cx);
            plus_third(cx, high)
        }
        Opcode::IMadWide => {
            let product = whole_product(cx)?;
            let addend = cx.operand(2, 2 * cx.width());
            cx.t.add(product, addend)
        }
        Opcode::IMul24Lo => product_24(cx, 0),
        Opcode::IMul24Hi => product_24(cx, 16),
        Opcode::IMad24Lo => {
            let low = product_24(cx, 0);
            plus_third(cx, low)
        }
        Opcode::IMad24Hi => {
            let high = product_24(cx, 16);
            plus_third(cx, high)
        }
        Opcode::ISad => {
            let difference = absolute_difference(cx);
            plus_third(cx, difference)
        }
        Opcode::IDiv | Opcode::IRem => divide(opcode, cx),
        Opcode::INeg => {
            let a = cx.typed(0);
            cx.t.neg(a)
        }
        Opcode::IAbs => {
            let a = cx.typed(0);
            let (negative, negated) = (cx.t.sign(a), cx.t.neg(a));
            cx.t.ite(negative, negated, a)
        }
        Opcode::IMin | Opcode::IMax => extreme(opcode, cx),
        Opcode::IAddCarry | Opcode::ISubCarry | Opcode::IMadLoCarry | Opcode::IMadHiCarry => {
            return Some(with_carry(opcode, cx));
        }
        Opcode::Dp4a => dot_product(cx, 8, 0),
        Opcode::Dp2a => {
            let first = if cx.get::<Half>() == Half::Hi { 2 } else { 0 };
            dot_product(cx, 16, first)
        }
        _ => return None,
    };
    Some(vec![value])
}

fn sum(opcode: Opcode, cx: &mut Context) -> Term {
    let of = |t: &mut Terms, a, b| if opcode == Opcode::IAdd { t.add(a, b) } else { t.sub(a, b) };
    if matches!(cx.ty, Type::U16x2 | Type::S16x2) {
        return cx.halves(2, |cx, s| of(cx.t, s[0], s[1]));
    }
    let (a, b) = cx.pair();
    if !cx.has::<Saturate>() {
        return of(cx.t, a, b);
    }
    let (width, signed) = (cx.width(), cx.is_signed());
    let (a, b) = (cx.t.extend(a, width + 1, signed), cx.t.extend(b, width + 1, signed));
    let exact = of(cx.t, a, b);
    saturate(cx.t, exact, width, true)
}

/// A signed value brought into the range of a type and cut to its width.
pub(crate) fn saturate(t: &mut Terms, value: Term, width: u32, signed: bool) -> Term {
    let (lowest, highest) = range(width, signed);
    let wide = t.width(value);
    let (low, high) = (t.constant(lowest as u128, wide), t.constant(highest as u128, wide));
    let value = t.max(value, low, true);
    let value = t.min(value, high, true);
    t.extract(value, 0, width)
}

/// The bounds of an integer type.
fn range(width: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// The product of the first two operands, twice as wide; the type's width for those that nothing is twice as wide as.
fn full_product(cx: &mut Context) -> Term {
    let (a, b) = cx.pair();
    let (wide, signed) = (2 * cx.width(), cx.is_signed());
    let (a, b) = (cx.t.extend(a, wide, signed), cx.t.extend(b, wide, signed));
    cx.t.mul(a, b)
}

fn low_product(cx: &mut Context) -> Term {
    let (a, b) = cx.pair();
    cx.t.mul(a, b)
}

fn high_product(cx: &mut Context) -> Term {
    let product = full_product(cx);
    cx.t.extract(product, cx.width(), cx.width())
}

/// The whole product, of types up to 32 bits.
fn whole_product(cx: &mut Context) -> Option<Term> {
    (cx.width() <= 32).then(|| full_product(cx))
}

/// A value plus the third operand, saturating where asked.
fn plus_third(cx: &mut Context, value: Term) -> Term {
    let addend = cx.typed(2);
    if !cx.has::<Saturate>() {
        return cx.t.add(value, addend);
    }
    let (width, signed) = (cx.width(), cx.is_signed());
    let (value, addend) = (cx.t.extend(value, width + 1, signed), cx.t.extend(addend, width + 1, signed));
    let exact = cx.t.add(value, addend);
    saturate(cx.t, exact, width, true)
}

/// 32 bits from a position on of the 48-bit product of the operands' low 24 bits.
fn product_24(cx: &mut Context, position: u32) -> Term {
    let signed = cx.is_signed();
    let factor = |cx: &mut Context, number| {
        let low = cx.operand(number, 24);
        cx.t.extend(low, 48, signed)
    };
    let (a, b) = (factor(cx, 0), factor(cx, 1));
    let product = cx.t.mul(a, b);
    cx.t.extract(product, position, 32)
}

fn absolute_difference(cx: &mut Context) -> Term {
    let ((a, b), signed) = (cx.pair(), cx.is_signed());
    let less = cx.t.less(a, b, signed);
    let (up, down) = (cx.t.sub(b, a), cx.t.sub(a, b));
    cx.t.ite(less, up, down)
}

/// The quotient by zero is all ones and the remainder the dividend, both undefined.
fn divide(opcode: Opcode, cx: &mut Context) -> Term {
    let (a, b) = cx.pair();
    cx.defined = Some(cx.t.is_nonzero(b));
    match (opcode, cx.is_signed()) {
        (Opcode::IRem, true) => cx.t.srem(a, b),
        (Opcode::IRem, false) => cx.t.urem(a, b),
        (_, false) => cx.t.udiv(a, b),
        (_, true) => {
            let (quotient, by_zero, all) = (cx.t.sdiv(a, b), cx.t.is_zero(b), cx.constant(ones(cx.width())));
            cx.t.ite(by_zero, all, quotient)
        }
    }
}

fn extreme(opcode: Opcode, cx: &mut Context) -> Term {
    let (signed, relu) = (cx.is_signed(), cx.has::<Relu>());
    let of = |cx: &mut Context, s: &[Term]| {
        let value = if opcode == Opcode::IMin { cx.t.min(s[0], s[1], signed) } else { cx.t.max(s[0], s[1], signed) };
        let zero = cx.t.constant(0, cx.t.width(value));
        if relu { cx.t.max(value, zero, true) } else { value }
    };
    if matches!(cx.ty, Type::U16x2 | Type::S16x2) {
        return cx.halves(2, of);
    }
    let (a, b) = cx.pair();
    of(cx, &[a, b])
}

/// A sum of two values and the last operand, a carry; and the carry out. Subtraction adds the complement.
fn with_carry(opcode: Opcode, cx: &mut Context) -> Vec<Term> {
    let (a, b) = match opcode {
        Opcode::IAddCarry => cx.pair(),
        Opcode::ISubCarry => {
            let (a, b) = cx.pair();
            (a, cx.t.not(b))
        }
        Opcode::IMadLoCarry => (low_product(cx), cx.typed(2)),
        _ => (high_product(cx), cx.typed(2)),
    };
    let width = cx.width();
    let carry = cx.operand(cx.operands.len() - 1, 1);
    let [a, b, carry] = [a, b, carry].map(|term| cx.t.zero_extend(term, width + 1));
    let sum = cx.t.add(a, b);
    let sum = cx.t.add(sum, carry);
    vec![cx.t.extract(sum, 0, width), cx.t.bit_of(sum, width)]
}

/// The products of parts of the first operand with bytes of the second, and the third operand.
fn dot_product(cx: &mut Context, part: u32, first_byte: u32) -> Term {
    let signed = [cx.is_signed(), Type::from(cx.get::<SecondType>()).is_signed()];
    let (a, b, mut sum) = (cx.operand(0, 32), cx.operand(1, 32), cx.operand(2, 32));
    for index in 0..32 / part {
        let (x, y) = (cx.t.extract(a, index * part, part), cx.t.extract(b, (first_byte + index) * 8, 8));
        let (x, y) = (cx.t.extend(x, 32, signed[0]), cx.t.extend(y, 32, signed[1]));
        let product = cx.t.mul(x, y);
        sum = cx.t.add(sum, product);
    }
    sum
}
