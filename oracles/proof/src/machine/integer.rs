//! Sums, products and shifted sums of integers, with carries.

use super::word::Word;

/// The width of the integers that a word works on.
pub(super) fn width(w: &Word<'_>) -> u32 {
    if w.is("64") || w.is("U64") || w.is("S64") { 64 } else { 32 }
}

/// Operands: result, three integers. With `.X` two carries are added; two predicates say whether the sum is at least
/// one and two times what the width holds.
pub(super) fn add3(w: &mut Word<'_>) -> Option<()> {
    sum(w, 3)
}

/// Operands: result, two integers. One carry is added, and one comes out.
pub(super) fn add(w: &mut Word<'_>) -> Option<()> {
    sum(w, 2)
}

fn sum(w: &mut Word<'_>, count: usize) -> Option<()> {
    let width = width(w);
    let mut total = w.t.constant(0, width + 2);
    for at in 1..=count {
        let summand = w.summand(at, width)?;
        total = w.t.add(total, summand);
    }
    for which in 0..if w.is("X") { count - 1 } else { 0 } {
        let carry = w.truth(which)?;
        let carry = w.t.zero_extend(carry, width + 2);
        total = w.t.add(total, carry);
    }
    let (low, above) = (w.t.extract(total, 0, width), w.t.extract(total, width, 2));
    let carries = [w.t.is_nonzero(above), w.t.sign(above)];
    w.define(0, low)?;
    carries.into_iter().take(count - 1).enumerate().try_for_each(|(which, carry)| w.decide(which, carry))
}

/// Operands: result, two factors, an addend, which has two words unless the lower word of the product is meant. A
/// predicate says whether the sum with the product, as a word of 64 bits, carries; of a difference that is not known.
pub(super) fn multiply_add(w: &mut Word<'_>) -> Option<()> {
    let (wide, high, signed) = (w.is("WIDE"), w.is("HI"), !w.is("U32"));
    let carry = if w.is("X") { w.truth(0)? } else { w.t.bit(false) };
    let [a, b] = [w.integer(1, 32)?, w.integer(2, 32)?].map(|factor| w.t.extend(factor, 64, signed));
    let product = w.t.mul(a, b);
    if !wide && !high {
        let (low, addend, carry) = (w.t.extract(product, 0, 32), w.integer(3, 32)?, w.t.zero_extend(carry, 32));
        let sum = w.t.add(low, addend);
        let sum = w.t.add(sum, carry);
        return w.define(0, sum);
    }
    if w.marks(3)?.negate && w.decided(0).is_some() {
        return None;
    }
    let addend = w.integer(3, 64)?;
    let [product, addend, carry] = [product, addend, carry].map(|value| w.t.zero_extend(value, 65));
    let sum = w.t.add(product, addend);
    let sum = w.t.add(sum, carry);
    let (result, carries) = if wide { (w.t.extract(sum, 0, 64), 64) } else { (w.t.extract(sum, 32, 32), 64) };
    let carries = w.t.bit_of(sum, carries);
    w.define(0, result)?;
    w.decide(0, carries)
}

/// Operands: result, the word that is shifted, an addend, the word above what is shifted, the distance. What is shifted
/// may be subtracted; whether the difference carries is not known.
pub(super) fn shift_add(w: &mut Word<'_>) -> Option<()> {
    let (high, has_carry) = (w.is("HI"), w.is("X"));
    let marks = w.marks(1)?;
    if marks.invert || marks.negate && (has_carry || w.decided(0).is_some()) {
        return None;
    }
    let low = w.raw(1, 32)?;
    let above = match (high, w.is("SX32")) {
        (false, _) => w.t.constant(0, 32),
        (true, true) => {
            let sign = w.t.sign(low);
            w.t.sign_extend(sign, 32)
        }
        (true, false) => w.integer(3, 32)?,
    };
    let pair = w.t.concat(above, low);
    let distance = w.t.constant(w.immediate(4)?.into(), 64);
    let shifted = w.t.shl(pair, distance);
    let shifted = w.t.extract(shifted, if high { 32 } else { 0 }, 32);
    let shifted = if marks.negate { w.t.neg(shifted) } else { shifted };
    let carry = if has_carry { w.truth(0)? } else { w.t.bit(false) };
    let (shifted, carry, addend) = (w.t.zero_extend(shifted, 34), w.t.zero_extend(carry, 34), w.summand(2, 32)?);
    let sum = w.t.add(shifted, addend);
    let sum = w.t.add(sum, carry);
    let (result, above) = (w.t.extract(sum, 0, 32), w.t.extract(sum, 32, 2));
    let carries = w.t.is_nonzero(above);
    w.define(0, result)?;
    w.decide(0, carries)
}

/// Operands: result, integer.
pub(super) fn absolute(w: &mut Word<'_>) -> Option<()> {
    let value = w.integer(1, 32)?;
    let (negative, negated) = (w.t.sign(value), w.t.neg(value));
    let result = w.t.ite(negative, negated, value);
    w.define(0, result)
}
