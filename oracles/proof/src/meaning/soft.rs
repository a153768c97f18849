//! IEEE 754 arithmetic as bit-vector circuits: values are taken apart exactly, computed on, and rounded once.
//!
//! An exact value is a sign, a significand and the exponent of the significand's highest bit. [`round`] is the only
//! place that makes bits of one. Where an exact result has more digits than are kept, its lowest digit is set if
//! anything below is ("jamming"), which no rounding can tell from the exact value as long as two more digits than the
//! result's are kept.

use oriole_ir::ops::Rounding;

use super::super::floats::{self, Float, Kind};
use super::super::term::{MAX_WIDTH, Term, Terms};
use super::bits::leading_zeros;
use super::float::Format;

/// The width of exponents: those of f64 products and quotients fit, with room.
const EXPONENT: u32 = 16;

/// The exponent of zeros: below all others, so that aligning never shifts the other value.
const LOWEST: i128 = -0x3000;

/// A number taken apart.
#[derive(Clone, Copy)]
pub(crate) struct Exact {
    pub negative: Term,
    /// Its digits; the highest is one unless the number is zero.
    pub digits: Term,
    /// The exponent of the highest digit, signed, 16 bits.
    pub exponent: Term,
}

fn exponent(t: &mut Terms, value: i128) -> Term {
    t.constant(value as u128, EXPONENT)
}

/// A number from digits that may begin with zeros, the highest of which would have this exponent.
pub(super) fn normalised(t: &mut Terms, negative: Term, digits: Term, top: Term) -> Exact {
    let (zeros, digits) = leading_zeros(t, digits);
    let zeros = t.fit(zeros, EXPONENT);
    let normal = t.sub(top, zeros);
    let (zero, lowest) = (t.is_zero(digits), exponent(t, LOWEST));
    Exact { negative, digits, exponent: t.ite(zero, lowest, normal) }
}

/// The parts of a finite value.
pub(crate) fn unpack(t: &mut Terms, format: &Format, value: Term) -> Exact {
    let (negative, fraction) = (t.sign(value), t.extract(value, 0, format.fraction));
    let (field, small) = (t.extract(value, format.fraction, format.exponent), format.has_no_exponent(t, value));
    let implicit = t.not(small);
    let digits = t.concat(implicit, fraction);
    let field = t.zero_extend(field, EXPONENT);
    let (one, bias) = (exponent(t, 1), exponent(t, format.bias().into()));
    let field = t.ite(small, one, field);
    let top = t.sub(field, bias);
    normalised(t, negative, digits, top)
}

/// The bits of an exact number in a format. A zero keeps its sign.
pub(super) fn round(t: &mut Terms, format: &Format, rounding: Rounding, value: Exact) -> Term {
    let wanted = format.precision() + 2;
    let digits = widened(t, value.digits, wanted);
    let width = t.width(digits);
    // Below the smallest normal exponent digits are lost to the right.
    let lowest = exponent(t, i128::from(1 - format.bias()));
    let subnormal = t.slt(value.exponent, lowest);
    let (missing, none) = (t.sub(lowest, value.exponent), exponent(t, 0));
    let missing = t.ite(subnormal, missing, none);
    let digits = shifted_jamming(t, digits, missing);
    let kept = t.extract(digits, width - format.precision(), format.precision());
    let rest = t.extract(digits, 0, width - format.precision());
    let up = rounds_up(t, rounding, value.negative, kept, rest);
    // The highest digit of a normal number adds one to the exponent field below it, and so does a carry.
    let above = t.sub(value.exponent, lowest);
    let above = t.ite(subnormal, none, above);
    let wide = EXPONENT + format.fraction + 1;
    let above = t.zero_extend(above, wide);
    let by = t.constant(format.fraction.into(), wide);
    let field = t.shl(above, by);
    let (kept, up) = (t.zero_extend(kept, wide), t.zero_extend(up, wide));
    let magnitude = t.add(field, kept);
    let magnitude = t.add(magnitude, up);
    let largest = t.constant(format.largest(), wide);
    let overflows = t.ult(largest, magnitude);
    let limit = overflow(t, format, rounding, value.negative);
    let magnitude = t.extract(magnitude, 0, format.width() - 1);
    let magnitude = t.ite(overflows, limit, magnitude);
    t.concat(value.negative, magnitude)
}

/// The digits with zeros below, at least so many.
fn widened(t: &mut Terms, digits: Term, width: u32) -> Term {
    match width.checked_sub(t.width(digits)) {
        None | Some(0) => digits,
        Some(more) => {
            let zeros = t.constant(0, more);
            t.concat(digits, zeros)
        }
    }
}

/// Digits moved right by a count of exponent width, taken as unsigned, with the lowest one set where any were lost.
fn shifted_jamming(t: &mut Terms, digits: Term, count: Term) -> Term {
    let width = t.width(digits);
    let wide = width.max(EXPONENT);
    let (full, count) = (t.zero_extend(digits, wide), t.zero_extend(count, wide));
    let moved = t.lshr(full, count);
    let back = t.shl(moved, count);
    let lost = t.ne(back, full);
    let lost = t.zero_extend(lost, wide);
    let jammed = t.or(moved, lost);
    t.extract(jammed, 0, width)
}

/// Whether a magnitude goes to the next larger one, by what follows the kept digits.
fn rounds_up(t: &mut Terms, rounding: Rounding, negative: Term, kept: Term, rest: Term) -> Term {
    let inexact = t.is_nonzero(rest);
    match rounding {
        Rounding::Rz | Rounding::Rzi => t.bit(false),
        Rounding::Rm | Rounding::Rmi => t.and(negative, inexact),
        Rounding::Rp | Rounding::Rpi => {
            let positive = t.not(negative);
            t.and(positive, inexact)
        }
        Rounding::Rna => t.sign(rest),
        Rounding::Default | Rounding::Rn | Rounding::Rni => {
            let (half, odd) = (t.sign(rest), t.bit_of(kept, 0));
            let below = t.extract(rest, 0, t.width(rest) - 1);
            let more = t.is_nonzero(below);
            let tie_or_more = t.or(more, odd);
            t.and(half, tie_or_more)
        }
    }
}

/// What a magnitude above the largest becomes: infinity, or the largest where rounding goes toward zero.
fn overflow(t: &mut Terms, format: &Format, rounding: Rounding, negative: Term) -> Term {
    let width = format.width() - 1;
    let (largest, infinity) = (t.constant(format.largest(), width), t.constant(format.infinity(), width));
    match rounding {
        Rounding::Rz => largest,
        Rounding::Rm => t.ite(negative, infinity, largest),
        Rounding::Rp => t.ite(negative, largest, infinity),
        _ => infinity,
    }
}

/// Bits of a signed infinity.
fn infinity(t: &mut Terms, format: &Format, negative: Term) -> Term {
    let magnitude = t.constant(format.infinity(), format.width() - 1);
    t.concat(negative, magnitude)
}

/// The value, or the NaN of arithmetic where a condition holds.
fn or_nan(t: &mut Terms, format: &Format, invalid: Term, value: Term) -> Term {
    let nan = t.constant(format.nan, format.width());
    t.ite(invalid, nan, value)
}

/// An operation as one of the solver's floats, where the arena keeps those.
fn kept(t: &mut Terms, kind: Kind, rounding: Rounding, formats: [&Format; 2], operands: &[Term]) -> Option<Term> {
    let [from, to] = formats.map(|format| format.has_infinity.then(|| of_theory(format)));
    t.float(Float { kind, rounding, from: from?, to: to? }, operands)
}

fn of_theory(format: &Format) -> floats::Format {
    floats::Format { exponent: format.exponent, fraction: format.fraction, nan: format.nan }
}

/// What an operation on floats yields, as the circuit that stands for it.
pub(crate) fn of_float(t: &mut Terms, float: Float, operands: &[Term]) -> Term {
    let [from, to] = [float.from, float.to].map(|format| Format {
        exponent: format.exponent,
        fraction: format.fraction,
        nan: format.nan,
        has_infinity: true,
    });
    match (float.kind, operands) {
        (Kind::Add, [a, b]) => add(t, &to, float.rounding, *a, *b),
        (Kind::Multiply, [a, b]) => multiply(t, &to, float.rounding, *a, *b),
        (Kind::Fused, [a, b, c]) => fused(t, &to, float.rounding, [*a, *b, *c]),
        (Kind::Divide, [a, b]) => divide(t, &to, float.rounding, *a, *b),
        (Kind::SquareRoot, [a]) => square_root(t, &to, float.rounding, *a),
        (Kind::Integral, [a]) => to_integral(t, &to, float.rounding, *a),
        (Kind::Convert, [a]) => convert(t, &from, &to, float.rounding, *a),
        (Kind::OfInteger { signed, .. }, [a]) => from_integer(t, &to, float.rounding, *a, signed),
        (kind, operands) => unreachable!("{kind:?} of {} operands", operands.len()),
    }
}

/// The operands of a commutative operation in one order: IEEE 754 sums and products do not depend on it, NaN having one
/// pattern here, and no solver finds that by itself.
fn ordered(a: Term, b: Term) -> (Term, Term) {
    (a.min(b), a.max(b))
}

/// A sum of two values.
pub(crate) fn add(t: &mut Terms, format: &Format, rounding: Rounding, a: Term, b: Term) -> Term {
    let (a, b) = ordered(a, b);
    if let Some(sum) = kept(t, Kind::Add, rounding, [format; 2], &[a, b]) {
        return sum;
    }
    let (x, y) = (unpack(t, format, a), unpack(t, format, b));
    let sum = sum(t, format, rounding, x, y);
    let (inf_a, inf_b) = (format.is_infinite(t, a), format.is_infinite(t, b));
    let (signs_differ, both) = (t.ne(x.negative, y.negative), t.and(inf_a, inf_b));
    let (nan_a, nan_b, opposed) = (format.is_nan(t, a), format.is_nan(t, b), t.and(both, signs_differ));
    let invalid = t.any(&[nan_a, nan_b, opposed]);
    let value = t.ite(inf_b, b, sum);
    let value = t.ite(inf_a, a, value);
    or_nan(t, format, invalid, value)
}

/// The rounded sum of two exact numbers. An exact zero from two numbers of different signs is positive, except when
/// rounding down.
fn sum(t: &mut Terms, format: &Format, rounding: Rounding, x: Exact, y: Exact) -> Term {
    let digits = t.width(x.digits).max(t.width(y.digits));
    // Room for the carry above, and below for enough digits that jamming stays below the rounding position. A product
    // of f64 has so many digits that three more suffice: numbers lose digits to the right only where their exponents
    // differ by more than that, and then their difference has one digit less at most.
    let roomy = digits + format.precision() + 4;
    let width = if roomy <= MAX_WIDTH { roomy } else { digits + 4 };
    let swap = t.slt(x.exponent, y.exponent);
    let [x_digits, y_digits] = [x, y].map(|number| widened(t, number.digits, digits));
    let mut pick = |a: Term, b: Term| (t.ite(swap, b, a), t.ite(swap, a, b));
    let (negative, other_negative) = pick(x.negative, y.negative);
    let (large, small) = pick(x_digits, y_digits);
    let (top, other_top) = pick(x.exponent, y.exponent);
    let place = |t: &mut Terms, digits: Term| {
        let digits = widened(t, digits, width - 1);
        t.zero_extend(digits, width)
    };
    let (large, small) = (place(t, large), place(t, small));
    let distance = t.sub(top, other_top);
    let small = shifted_jamming(t, small, distance);
    let subtracts = t.ne(negative, other_negative);
    let (total, difference, reverse) = (t.add(large, small), t.sub(large, small), t.sub(small, large));
    let below = t.ult(large, small);
    let difference = t.ite(below, reverse, difference);
    let flipped = t.xor(negative, below);
    let result = t.ite(subtracts, difference, total);
    let sign = t.ite(subtracts, flipped, negative);
    let (zero, down) = (t.is_zero(result), t.bit(rounding == Rounding::Rm));
    let zero_sign = t.ite(subtracts, down, negative);
    let sign = t.ite(zero, zero_sign, sign);
    let one = exponent(t, 1);
    let top = t.add(top, one);
    let exact = normalised(t, sign, result, top);
    round(t, format, rounding, exact)
}

/// The exact product of two finite values.
fn product(t: &mut Terms, format: &Format, x: Exact, y: Exact) -> Exact {
    let width = 2 * format.precision();
    let (a, b) = (t.zero_extend(x.digits, width), t.zero_extend(y.digits, width));
    let digits = t.mul(a, b);
    let (sum, one) = (t.add(x.exponent, y.exponent), exponent(t, 1));
    let (top, negative) = (t.add(sum, one), t.xor(x.negative, y.negative));
    normalised(t, negative, digits, top)
}

/// What is special about a product: whether it is infinite, and whether it is invalid.
fn special_product(t: &mut Terms, format: &Format, a: Term, b: Term) -> (Term, Term) {
    let (inf_a, inf_b) = (format.is_infinite(t, a), format.is_infinite(t, b));
    let [zero_a, zero_b] = [a, b].map(|value| {
        let magnitude = format.magnitude(t, value);
        t.is_zero(magnitude)
    });
    let (nan_a, nan_b) = (format.is_nan(t, a), format.is_nan(t, b));
    let (first, second) = (t.and(inf_a, zero_b), t.and(inf_b, zero_a));
    (t.or(inf_a, inf_b), t.any(&[nan_a, nan_b, first, second]))
}

/// One factor of a product whose other one is 1 or -1, with the product's sign; IEEE 754 products by these are exact.
fn times_one(t: &mut Terms, format: &Format, a: Term, b: Term) -> Option<Term> {
    let sign = 1 << (format.width() - 1);
    for (factor, other) in [(a, b), (b, a)] {
        let value = t.value(factor).filter(|value| value & !sign == format.one());
        let Some(value) = value else { continue };
        let flipped = t.constant(value & sign, format.width());
        return Some(t.xor(other, flipped));
    }
    None
}

/// A product of two values.
pub(crate) fn multiply(t: &mut Terms, format: &Format, rounding: Rounding, a: Term, b: Term) -> Term {
    if let Some(value) = times_one(t, format, a, b) {
        let nan = format.is_nan(t, value);
        return or_nan(t, format, nan, value);
    }
    let (a, b) = ordered(a, b);
    if let Some(product) = kept(t, Kind::Multiply, rounding, [format; 2], &[a, b]) {
        return product;
    }
    let (x, y) = (unpack(t, format, a), unpack(t, format, b));
    let exact = product(t, format, x, y);
    let finite = round(t, format, rounding, exact);
    let (infinite, invalid) = special_product(t, format, a, b);
    let infinity = infinity(t, format, exact.negative);
    let value = t.ite(infinite, infinity, finite);
    or_nan(t, format, invalid, value)
}

/// A product of two values plus a third, rounded once.
pub(crate) fn fused(t: &mut Terms, format: &Format, rounding: Rounding, [a, b, c]: [Term; 3]) -> Term {
    if let Some(value) = times_one(t, format, a, b) {
        return add(t, format, rounding, value, c);
    }
    let (a, b) = ordered(a, b);
    if let Some(result) = kept(t, Kind::Fused, rounding, [format; 2], &[a, b, c]) {
        return result;
    }
    let (x, y, z) = (unpack(t, format, a), unpack(t, format, b), unpack(t, format, c));
    let exact = product(t, format, x, y);
    let finite = sum(t, format, rounding, exact, z);
    let (infinite, invalid) = special_product(t, format, a, b);
    let (inf_c, nan_c) = (format.is_infinite(t, c), format.is_nan(t, c));
    let (signs_differ, both) = (t.ne(exact.negative, z.negative), t.and(infinite, inf_c));
    let opposed = t.and(both, signs_differ);
    let invalid = t.any(&[invalid, nan_c, opposed]);
    let infinity = infinity(t, format, exact.negative);
    let value = t.ite(inf_c, c, finite);
    let value = t.ite(infinite, infinity, value);
    or_nan(t, format, invalid, value)
}

/// A quotient of two values.
pub(super) fn divide(t: &mut Terms, format: &Format, rounding: Rounding, a: Term, b: Term) -> Term {
    if let Some(quotient) = kept(t, Kind::Divide, rounding, [format; 2], &[a, b]) {
        return quotient;
    }
    let (x, y) = (unpack(t, format, a), unpack(t, format, b));
    let finite = finite_quotient(t, format, rounding, x, y);
    let negative = t.xor(x.negative, y.negative);
    let (inf_a, inf_b) = (format.is_infinite(t, a), format.is_infinite(t, b));
    let (zero_a, zero_b) = (t.is_zero(x.digits), t.is_zero(y.digits));
    let (nan_a, nan_b) = (format.is_nan(t, a), format.is_nan(t, b));
    let (infinities, zeros) = (t.and(inf_a, inf_b), t.and(zero_a, zero_b));
    let invalid = t.any(&[nan_a, nan_b, infinities, zeros]);
    let (infinity, nothing) = (infinity(t, format, negative), t.constant(0, format.width() - 1));
    let (zero, to_infinity) = (t.concat(negative, nothing), t.or(inf_a, zero_b));
    let value = t.ite(inf_b, zero, finite);
    let value = t.ite(to_infinity, infinity, value);
    or_nan(t, format, invalid, value)
}

/// The digits of the quotient are those of an integer division, with two more than are kept and the rest jammed.
fn finite_quotient(t: &mut Terms, format: &Format, rounding: Rounding, x: Exact, y: Exact) -> Term {
    let (precision, more) = (format.precision(), format.precision() + 2);
    let width = precision + more;
    let (a, b) = (widened(t, x.digits, width), t.zero_extend(y.digits, width));
    let (quotient, rest) = (t.udiv(a, b), t.urem(a, b));
    let rest = t.is_nonzero(rest);
    let quotient = t.extract(quotient, 0, more + 1);
    let digits = t.concat(quotient, rest);
    let (top, negative) = (t.sub(x.exponent, y.exponent), t.xor(x.negative, y.negative));
    let exact = normalised(t, negative, digits, top);
    round(t, format, rounding, exact)
}

/// A square root: the integer root of the digits, made even in exponent, one digit after the other.
pub(super) fn square_root(t: &mut Terms, format: &Format, rounding: Rounding, a: Term) -> Term {
    if let Some(root) = kept(t, Kind::SquareRoot, rounding, [format; 2], &[a]) {
        return root;
    }
    let x = unpack(t, format, a);
    let more = format.precision() + 2;
    let odd = t.bit_of(x.exponent, 0);
    // The radicand lies in [1, 4): two digits before the point, and twice as many after it as the root has.
    let width = 2 * more;
    let digits = t.zero_extend(x.digits, format.precision() + 1);
    let (one, zero) = (t.constant(1, format.precision() + 1), t.constant(0, format.precision() + 1));
    let by = t.ite(odd, one, zero);
    let digits = t.shl(digits, by);
    let radicand = widened(t, digits, width);
    let (root, rest) = integer_root(t, radicand, more);
    let rest = t.is_nonzero(rest);
    let digits = t.concat(root, rest);
    let one = exponent(t, 1);
    let top = t.ashr(x.exponent, one);
    let positive = t.bit(false);
    let exact = normalised(t, positive, digits, top);
    let finite = round(t, format, rounding, exact);
    let (zero, infinite, nan) = (t.is_zero(x.digits), format.is_infinite(t, a), format.is_nan(t, a));
    let nonzero = t.not(zero);
    let below_zero = t.and(x.negative, nonzero);
    let (invalid, itself) = (t.or(nan, below_zero), t.or(zero, infinite));
    let value = t.ite(itself, a, finite);
    or_nan(t, format, invalid, value)
}

/// The root of an integer of twice so many bits, rounded down, and what its square leaves.
fn integer_root(t: &mut Terms, radicand: Term, digits: u32) -> (Term, Term) {
    let width = digits + 2;
    let (mut root, mut rest) = (t.constant(0, width), t.constant(0, width));
    for step in (0..digits).rev() {
        let next = t.extract(radicand, 2 * step, 2);
        let kept = t.extract(rest, 0, width - 2);
        rest = t.concat(kept, next);
        let kept = t.extract(root, 0, width - 2);
        let end = t.constant(1, 2);
        let trial = t.concat(kept, end);
        let small = t.ult(rest, trial);
        let fits = t.not(small);
        let less = t.sub(rest, trial);
        rest = t.ite(fits, less, rest);
        let kept = t.extract(root, 0, width - 1);
        root = t.concat(kept, fits);
    }
    (t.extract(root, 0, digits), rest)
}

/// A finite value's magnitude rounded to an integer, one bit wider than is asked for, and whether it has more bits than
/// that before rounding.
pub(crate) fn integral(t: &mut Terms, format: &Format, rounding: Rounding, value: Exact, bits: u32) -> (Term, Term) {
    let precision = format.precision();
    // The digits move left in a field with the point above the lowest `precision` bits.
    let width = bits + precision;
    let (minus_one, limit) = (exponent(t, -1), exponent(t, i128::from(bits) - 1));
    let tiny = t.slt(value.exponent, minus_one);
    let huge = t.slt(limit, value.exponent);
    let count = t.sub(value.exponent, minus_one);
    let wide = width.max(EXPONENT);
    let (digits, count) = (t.zero_extend(value.digits, wide), t.zero_extend(count, wide));
    let moved = t.shl(digits, count);
    let nonzero = t.is_nonzero(value.digits);
    let trace = t.zero_extend(nonzero, wide);
    let fixed = t.ite(tiny, trace, moved);
    let (whole, rest) = (t.extract(fixed, precision, bits), t.extract(fixed, 0, precision));
    let up = rounds_up(t, rounding, value.negative, whole, rest);
    let (whole, up) = (t.zero_extend(whole, bits + 1), t.zero_extend(up, bits + 1));
    (t.add(whole, up), huge)
}

/// A value rounded to an integral value of its format; infinities stay and NaN becomes that of arithmetic.
pub(crate) fn to_integral(t: &mut Terms, format: &Format, rounding: Rounding, a: Term) -> Term {
    if let Some(whole) = kept(t, Kind::Integral, rounding, [format; 2], &[a]) {
        return whole;
    }
    let x = unpack(t, format, a);
    let bits = format.precision() + 1;
    let (whole, _) = integral(t, format, rounding, x, bits);
    let top = exponent(t, bits.into());
    let exact = normalised(t, x.negative, whole, top);
    let rounded = round(t, format, Rounding::Rz, exact);
    // From this exponent on all values are integral.
    let last = exponent(t, i128::from(format.fraction) - 1);
    let (large, infinite, nan) = (t.slt(last, x.exponent), format.is_infinite(t, a), format.is_nan(t, a));
    let itself = t.or(large, infinite);
    let value = t.ite(itself, a, rounded);
    or_nan(t, format, nan, value)
}

/// A value of one format in another; NaN becomes that of the new one.
pub(crate) fn convert(t: &mut Terms, from: &Format, to: &Format, rounding: Rounding, a: Term) -> Term {
    // The modes that make values integral say nothing of those beyond the new format here.
    let integral = matches!(rounding, Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi);
    let kept = if integral { None } else { kept(t, Kind::Convert, rounding, [from, to], &[a]) };
    if let Some(converted) = kept {
        return converted;
    }
    let x = unpack(t, from, a);
    let finite = round(t, to, rounding, x);
    let (infinite, nan, infinity) = (from.is_infinite(t, a), from.is_nan(t, a), infinity(t, to, x.negative));
    let value = t.ite(infinite, infinity, finite);
    or_nan(t, to, nan, value)
}

/// An integer rounded to a format.
pub(crate) fn from_integer(t: &mut Terms, format: &Format, rounding: Rounding, value: Term, signed: bool) -> Term {
    let width = t.width(value);
    if let Some(float) = kept(t, Kind::OfInteger { signed, width }, rounding, [format; 2], &[value]) {
        return float;
    }
    let negative = if signed { t.sign(value) } else { t.bit(false) };
    let negated = t.neg(value);
    let magnitude = t.ite(negative, negated, value);
    let top = exponent(t, i128::from(width) - 1);
    let exact = normalised(t, negative, magnitude, top);
    round(t, format, rounding, exact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Program;
    use crate::term::Terms;

    /// Products by 1 and -1 are what the circuit makes of a factor that may be anything, here of every eleventh half.
    #[test]
    fn products_by_one_are_those_of_the_circuit() {
        let format = &Format::F16;
        let addends = [0, 0x8000, 1, 0x83ff, 0x3c00, 0xbc01, 0x7bff, 0xfc00, 0x7e01];
        for (one, rounding) in
            [(0x3c00, Rounding::Rn), (0xbc00, Rounding::Rm), (0xbc00, Rounding::Rp), (0x3c00, Rounding::Rz)]
        {
            let mut t = Terms::new();
            let [x, y, factor] = ["x", "y", "factor"].map(|name| t.variable(name, 16));
            let known = t.constant(one, 16);
            let [short, long] = [known, factor].map(|by| {
                let product = multiply(&mut t, format, rounding, x, by);
                [product, fused(&mut t, format, rounding, [by, x, y])]
            });
            let program = Program::new(&t, &[short, long].concat());
            for (x, y) in (0..1 << 16).step_by(11).flat_map(|x| addends.map(|y| (x, y))) {
                let values = program.eval(&[x, y, one]);
                assert_eq!(values[..2], values[2..], "{x:x} times {one:x}, and {y:x}, {rounding:?}");
            }
        }
    }
}
