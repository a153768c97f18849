//! Bits: copies, logic, shifts, bit fields, counts and byte permutation (PTX ISA, "Logic and Shift Instructions",
//! "Integer Arithmetic Instructions" from `popc` on, "Data Movement": `mov`, `prmt`).

use oriole_ir::ops::{BoolOp, Opcode, PrmtMode, ShiftAmount, ShiftDirection, ShiftMode};

use super::super::term::{Term, Terms, ones};
use super::Context;

/// The results of an opcode of this file.
pub(super) fn meaning(opcode: Opcode, cx: &mut Context) -> Option<Vec<Term>> {
    let value = match opcode {
        Opcode::Mov | Opcode::Split => cx.typed(0),
        Opcode::Pack => pack(cx)?,
        Opcode::And | Opcode::Or | Opcode::Xor => {
            let (a, b) = cx.pair();
            match opcode {
                Opcode::And => cx.t.and(a, b),
                Opcode::Or => cx.t.or(a, b),
                _ => cx.t.xor(a, b),
            }
        }
        Opcode::Not => {
            let a = cx.typed(0);
            cx.t.not(a)
        }
        Opcode::CNot => {
            let a = cx.typed(0);
            let zero = cx.t.is_zero(a);
            cx.t.zero_extend(zero, cx.width())
        }
        Opcode::Lop3 => lop3(cx),
        Opcode::Lop3P => return Some(lop3_bool(cx)),
        Opcode::Shf => funnel_shift(cx),
        Opcode::Shl | Opcode::Shr => shift(opcode, cx),
        Opcode::Prmt => permute(cx),
        Opcode::Popc => {
            let a = cx.typed(0);
            let count = population(cx.t, a);
            cx.t.fit(count, 32)
        }
        Opcode::Clz => {
            let a = cx.typed(0);
            let zeros = leading_zeros(cx.t, a).0;
            cx.t.fit(zeros, 32)
        }
        Opcode::Bfind => find_leading(cx),
        Opcode::Fns => find_nth(cx),
        Opcode::Brev => {
            let a = cx.typed(0);
            reverse(cx.t, a)
        }
        Opcode::Bfe => extract_field(cx),
        Opcode::Bfi => insert_field(cx),
        Opcode::Szext => extend_from(cx),
        Opcode::Bmsk => mask(cx),
        _ => return None,
    };
    Some(vec![value])
}

/// The operands above each other, the first lowest.
fn pack(cx: &mut Context) -> Option<Term> {
    if cx.operands.len() as u32 * cx.width() > 128 {
        return None;
    }
    let first = cx.typed(0);
    Some((1..cx.operands.len()).fold(first, |below, number| {
        let part = cx.typed(number);
        cx.t.concat(part, below)
    }))
}

/// A bit of the truth table, which the fourth operand holds, says whether the result has a one where a, b and c have
/// the bits of that row's number, a's highest.
fn lop3(cx: &mut Context) -> Term {
    let [a, b, c] = [0, 1, 2].map(|number| cx.operand(number, 32));
    let table = cx.operand(3, 8);
    let mut result = cx.t.constant(0, 32);
    for row in 0..8 {
        let chosen = cx.t.bit_of(table, row);
        let mut here = cx.t.sign_extend(chosen, 32);
        for (input, bit) in [(a, 4), (b, 2), (c, 1)] {
            let input = if row & bit != 0 { input } else { cx.t.not(input) };
            here = cx.t.and(here, input);
        }
        result = cx.t.or(result, here);
    }
    result
}

fn lop3_bool(cx: &mut Context) -> Vec<Term> {
    let result = lop3(cx);
    let (nonzero, with) = (cx.t.is_nonzero(result), cx.operand(4, 1));
    let op = cx.get();
    vec![result, combine(cx.t, op, nonzero, with)]
}

/// A truth value combined with a predicate.
pub(crate) fn combine(t: &mut Terms, op: BoolOp, a: Term, b: Term) -> Term {
    match op {
        BoolOp::And => t.and(a, b),
        BoolOp::Or => t.or(a, b),
        BoolOp::Xor => t.xor(a, b),
    }
}

/// The pair of words (b, a), a the low one, shifted; the high word of a left shift, the low one of a right shift.
fn funnel_shift(cx: &mut Context) -> Term {
    let (low, high, count) = (cx.operand(0, 32), cx.operand(1, 32), cx.operand(2, 32));
    let pair = cx.t.concat(high, low);
    let count = limited(cx, count);
    let count = cx.t.zero_extend(count, 64);
    if cx.get::<ShiftDirection>() == ShiftDirection::Left {
        let shifted = cx.t.shl(pair, count);
        cx.t.extract(shifted, 32, 32)
    } else {
        let shifted = cx.t.lshr(pair, count);
        cx.t.extract(shifted, 0, 32)
    }
}

/// A 32-bit count: at most 32 under `.clamp`, modulo 32 under `.wrap`.
fn limited(cx: &mut Context, count: Term) -> Term {
    if cx.get::<ShiftMode>() == ShiftMode::Wrap {
        let mask = cx.t.constant(31, 32);
        cx.t.and(count, mask)
    } else {
        let limit = cx.t.constant(32, 32);
        cx.t.min(count, limit, false)
    }
}

/// The count is all of a 32-bit register. Types narrower than that are shifted in 32 bits, where what a larger count
/// shifts in is the same.
fn shift(opcode: Opcode, cx: &mut Context) -> Term {
    let (width, signed) = (cx.width(), cx.is_signed());
    let (value, count) = (cx.typed(0), cx.operand(1, 32));
    let wide = width.max(32);
    let (value, count) = (cx.t.extend(value, wide, signed), cx.t.zero_extend(count, wide));
    let shifted = match (opcode, signed) {
        (Opcode::Shl, _) => cx.t.shl(value, count),
        (_, false) => cx.t.lshr(value, count),
        (_, true) => cx.t.ashr(value, count),
    };
    cx.t.extract(shifted, 0, width)
}

/// Each nibble of the third operand picks one of the bytes of (b, a), or, with its high bit, that byte's sign. The
/// modes count the bytes that they pick from the third operand's low two bits.
fn permute(cx: &mut Context) -> Term {
    let (low, high, control) = (cx.operand(0, 32), cx.operand(1, 32), cx.operand(2, 32));
    let bytes = cx.t.concat(high, low);
    let mode = cx.get();
    let lanes: Vec<Term> = (0..4).map(|lane| picked_byte(cx.t, mode, bytes, control, lane)).collect();
    let (low, high) = (cx.t.concat(lanes[1], lanes[0]), cx.t.concat(lanes[3], lanes[2]));
    cx.t.concat(high, low)
}

pub(crate) fn picked_byte(t: &mut Terms, mode: PrmtMode, bytes: Term, control: Term, lane: u32) -> Term {
    let start = t.extract(control, 0, 2);
    let start = t.zero_extend(start, 3);
    let number = t.constant(lane.into(), 3);
    let index = match mode {
        PrmtMode::Index => t.extract(control, 4 * lane, 3),
        PrmtMode::F4e => t.add(start, number),
        PrmtMode::B4e => t.sub(start, number),
        PrmtMode::Rc8 => start,
        PrmtMode::Ecl => t.max(start, number, false),
        PrmtMode::Ecr => t.min(start, number, false),
        PrmtMode::Rc16 => {
            let (half, low) = (t.bit_of(control, 0), t.constant((lane & 1).into(), 1));
            let index = t.concat(half, low);
            t.zero_extend(index, 3)
        }
    };
    let byte = select_byte(t, bytes, index);
    if mode != PrmtMode::Index {
        return byte;
    }
    let (fills, sign) = (t.bit_of(control, 4 * lane + 3), t.sign(byte));
    let filled = t.sign_extend(sign, 8);
    t.ite(fills, filled, byte)
}

/// One of eight bytes.
fn select_byte(t: &mut Terms, bytes: Term, index: Term) -> Term {
    let mut choices: Vec<Term> = (0..8).map(|byte| t.extract(bytes, 8 * byte, 8)).collect();
    for bit in 0..3 {
        let upper = t.bit_of(index, bit);
        choices = choices.chunks(2).map(|pair| t.ite(upper, pair[1], pair[0])).collect();
    }
    choices[0]
}

/// The number of set bits, as wide as the value: sums of neighbouring fields, which double in width.
pub fn population(t: &mut Terms, value: Term) -> Term {
    let width = t.width(value);
    let mut sums = value;
    let mut field = 1;
    while field < width {
        let (mask, by) = (t.constant(alternating(width, field), width), t.constant(field.into(), width));
        let upper = t.lshr(sums, by);
        let (lower, upper) = (t.and(sums, mask), t.and(upper, mask));
        sums = t.add(lower, upper);
        field *= 2;
    }
    sums
}

/// Runs of ones and of zeros of this length, ones lowest.
fn alternating(width: u32, run: u32) -> u128 {
    (0..width).filter(|bit| (bit / run).is_multiple_of(2)).fold(0, |mask, bit| mask | 1 << bit)
}

/// The number of leading zeros (the width for zero), as wide as the value and at least 8 bits, and the value shifted
/// left by them.
pub(crate) fn leading_zeros(t: &mut Terms, value: Term) -> (Term, Term) {
    let width = t.width(value);
    let count_width = width.max(8);
    let (mut shifted, mut count) = (value, t.constant(0, count_width));
    let mut by = width.next_power_of_two() / 2;
    while by > 0 {
        let top = t.extract(shifted, width - by, by);
        let clear = t.is_zero(top);
        let distance = t.constant(by.into(), width);
        let moved = t.shl(shifted, distance);
        let step = t.constant(by.into(), count_width);
        let more = t.add(count, step);
        (shifted, count) = (t.ite(clear, moved, shifted), t.ite(clear, more, count));
        by /= 2;
    }
    let (zero, all) = (t.is_zero(value), t.constant(width.into(), count_width));
    (t.ite(zero, all, count), shifted)
}

/// The highest bit that differs from the sign, or how far it is from the top; all ones where there is none.
fn find_leading(cx: &mut Context) -> Term {
    let value = cx.typed(0);
    let value = if cx.is_signed() {
        let (negative, complement) = (cx.t.sign(value), cx.t.not(value));
        cx.t.ite(negative, complement, value)
    } else {
        value
    };
    let zeros = leading_zeros(cx.t, value).0;
    let zeros = cx.t.fit(zeros, 32);
    let top = cx.t.constant((cx.width() - 1).into(), 32);
    let found = if cx.has::<ShiftAmount>() { zeros } else { cx.t.sub(top, zeros) };
    let (none, all) = (cx.t.is_zero(value), cx.t.constant(ones(32), 32));
    cx.t.ite(none, all, found)
}

/// The position of the n-th set bit: upward from the base for positive n, downward for negative n, the base itself for
/// zero; all ones where there is none. Bases above 31 are unspecified, and nothing is found there.
fn find_nth(cx: &mut Context) -> Term {
    let [value, base, n] = [0, 1, 2].map(|number| cx.operand(number, 32));
    let t = &mut *cx.t;
    let (limit, zero, all) = (t.constant(32, 32), t.constant(0, 32), t.constant(ones(32), 32));
    let in_range = t.ult(base, limit);
    let from_base = t.shl(all, base);
    let above = t.and(value, from_base);
    let one = t.constant(1, 32);
    let base_bit = t.shl(one, base);
    let beyond = t.not(from_base);
    let to_base = t.or(beyond, base_bit);
    let below = t.and(value, to_base);
    let (negated, nothing) = (t.neg(n), t.is_zero(n));
    let upward = nth_position(t, above, n, false);
    let downward = nth_position(t, below, negated, true);
    let at_base = t.and(value, base_bit);
    let has_base = t.is_nonzero(at_base);
    let itself = t.ite(has_base, base, all);
    let positive = t.slt(zero, n);
    let found = t.ite(positive, upward, downward);
    let found = t.ite(nothing, itself, found);
    let found = t.ite(in_range, found, all);
    cx.defined = Some(in_range);
    found
}

/// The position of the n-th set bit, counted from the lowest or from the highest.
fn nth_position(t: &mut Terms, bits: Term, n: Term, from_top: bool) -> Term {
    let (mut seen, mut found) = (t.constant(0, 32), t.constant(ones(32), 32));
    for step in 0..32 {
        let position = if from_top { 31 - step } else { step };
        let bit = t.bit_of(bits, position);
        let one = t.zero_extend(bit, 32);
        seen = t.add(seen, one);
        let matches = t.eq(seen, n);
        let here = t.and(bit, matches);
        let position = t.constant(position.into(), 32);
        found = t.ite(here, position, found);
    }
    found
}

/// The bits in reverse order, of a width that is a power of two: neighbouring fields change places, at every width.
pub(crate) fn reverse(t: &mut Terms, value: Term) -> Term {
    let width = t.width(value);
    let mut field = 1;
    let mut result = value;
    while field < width {
        let (mask, by) = (t.constant(alternating(width, field), width), t.constant(field.into(), width));
        let lower = t.and(result, mask);
        let lower = t.shl(lower, by);
        let upper = t.lshr(result, by);
        let upper = t.and(upper, mask);
        result = t.or(lower, upper);
        field *= 2;
    }
    result
}

/// The low byte of an operand, in as many bits as a sum of two of them and the operation's type need.
fn byte_operand(cx: &mut Context, number: usize) -> Term {
    let byte = cx.operand(number, 8);
    cx.t.zero_extend(byte, cx.width().max(16))
}

/// As many low ones as a count says, all for the width or more.
fn low_ones(t: &mut Terms, count: Term, width: u32) -> Term {
    let wide = t.width(count);
    let all = t.constant(ones(wide), wide);
    let above = t.shl(all, count);
    let below = t.not(above);
    t.extract(below, 0, width)
}

/// The ISA's loop: bit i of the result is bit `position + i` of the operand as long as `i < length` and that bit
/// exists, and else the sign: for a signed type and a field that is not empty, the last bit of the field that exists.
fn extract_field(cx: &mut Context) -> Term {
    let (width, signed) = (cx.width(), cx.is_signed());
    let value = cx.typed(0);
    let (position, length) = (byte_operand(cx, 1), byte_operand(cx, 2));
    let t = &mut *cx.t;
    let wide = t.width(position);
    let value = t.zero_extend(value, wide);
    let shifted = t.lshr(value, position);
    let existing = t.constant(ones(width), wide);
    let existing = t.lshr(existing, position);
    let existing = t.extract(existing, 0, width);
    let field = low_ones(t, length, width);
    let inside = t.and(existing, field);
    let shifted = t.extract(shifted, 0, width);
    let found = t.and(shifted, inside);
    if !signed {
        return found;
    }
    let (one, top) = (t.constant(1, wide), t.constant((width - 1).into(), wide));
    let last = t.add(position, length);
    let last = t.sub(last, one);
    let last = t.min(last, top, false);
    let sign = t.lshr(value, last);
    let (sign, filled) = (t.bit_of(sign, 0), t.is_nonzero(length));
    let sign = t.and(sign, filled);
    let (fill, outside) = (t.sign_extend(sign, width), t.not(inside));
    let fill = t.and(fill, outside);
    t.or(found, fill)
}

/// The second operand with as many low bits of the first as the length says from the position on.
fn insert_field(cx: &mut Context) -> Term {
    let width = cx.width();
    let (inserted, into) = cx.pair();
    let (position, length) = (byte_operand(cx, 2), byte_operand(cx, 3));
    let t = &mut *cx.t;
    let wide = t.width(position);
    let field = low_ones(t, length, wide);
    let field = t.shl(field, position);
    let inserted = t.zero_extend(inserted, wide);
    let inserted = t.shl(inserted, position);
    let (field, inserted) = (t.extract(field, 0, width), t.extract(inserted, 0, width));
    let kept = t.not(field);
    let (kept, inserted) = (t.and(into, kept), t.and(inserted, field));
    t.or(kept, inserted)
}

/// Extension from a number of bits: the value goes to the top of the word and comes back.
fn extend_from(cx: &mut Context) -> Term {
    let (value, count) = (cx.operand(0, 32), cx.operand(1, 32));
    let count = limited(cx, count);
    let whole = cx.t.constant(32, 32);
    let room = cx.t.sub(whole, count);
    let top = cx.t.shl(value, room);
    if cx.is_signed() { cx.t.ashr(top, room) } else { cx.t.lshr(top, room) }
}

/// A run of ones from a position, of a length.
fn mask(cx: &mut Context) -> Term {
    let (position, length) = (cx.operand(0, 32), cx.operand(1, 32));
    let (position, length) = (limited(cx, position), limited(cx, length));
    let run = low_ones(cx.t, length, 32);
    cx.t.shl(run, position)
}
