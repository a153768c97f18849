//! Logic, shifts, permutations, selection; counts and fields of bits.

use oriole_ir::ops::PrmtMode;

use super::integer::width;
use super::word::Word;
use crate::meaning::bits::{leading_zeros, picked_byte};
use crate::term::{Term, Terms};

/// A function of three values by its table: the bit that the first, second and third value's bits number.
pub(super) fn of_table(t: &mut Terms, table: u64, [a, b, c]: [Term; 3]) -> Term {
    let width = t.width(a);
    let mut rows: Vec<Term> =
        (0..8).map(|row| t.constant(if table >> row & 1 == 1 { u128::MAX } else { 0 }, width)).collect();
    for by in [c, b, a] {
        rows = rows.chunks(2).map(|pair| chosen(t, by, pair[1], pair[0])).collect();
    }
    rows[0]
}

/// Bits of one value where a mask has ones, of another where it has zeros.
fn chosen(t: &mut Terms, mask: Term, ones: Term, zeros: Term) -> Term {
    let (differ, kept) = (t.xor(ones, zeros), zeros);
    let flipped = t.and(differ, mask);
    t.xor(kept, flipped)
}

/// Operands: result, three words, the table. A predicate says whether the result is not zero, or another predicate
/// holds; with `.PAND`, and it holds.
pub(super) fn logic(w: &mut Word<'_>) -> Option<()> {
    let words = [w.integer(1, 32)?, w.integer(2, 32)?, w.integer(3, 32)?];
    let table = w.immediate(4)?;
    let result = of_table(w.t, table, words);
    w.define(0, result)?;
    let (nonzero, with) = (w.t.is_nonzero(result), w.truth(0)?);
    let holds = if w.is("PAND") { w.t.and(nonzero, with) } else { w.t.or(nonzero, with) };
    w.decide(0, holds)
}

/// Operands: result, lower word, distance, upper word. The distance is at most the width of the type, or taken modulo
/// it with `.W`; what enters from above is the sign of the pair for signed types.
pub(super) fn shift(w: &mut Word<'_>) -> Option<()> {
    let (limit, signed) =
        w.one_of(&[("U32", (32u32, false)), ("S32", (32, true)), ("U64", (64, false)), ("S64", (64, true))])?;
    let (low, distance, high) = (w.integer(1, 32)?, w.integer(2, 32)?, w.integer(3, 32)?);
    let distance = if w.is("W") {
        let mask = w.t.constant((limit - 1).into(), 32);
        w.t.and(distance, mask)
    } else {
        let most = w.t.constant(limit.into(), 32);
        w.t.min(distance, most, false)
    };
    let (pair, distance) = (w.t.concat(high, low), w.t.zero_extend(distance, 64));
    let shifted = match (w.is("L"), w.is("R"), signed) {
        (true, false, _) => w.t.shl(pair, distance),
        (false, true, true) => w.t.ashr(pair, distance),
        (false, true, false) => w.t.lshr(pair, distance),
        _ => return None,
    };
    let result = w.t.extract(shifted, if w.is("HI") { 32 } else { 0 }, 32);
    w.define(0, result)
}

/// Operands: result, lower four bytes, selector, upper four bytes.
pub(super) fn permute(w: &mut Word<'_>) -> Option<()> {
    let mode = w.one_of(&[
        ("F4E", PrmtMode::F4e),
        ("B4E", PrmtMode::B4e),
        ("RC8", PrmtMode::Rc8),
        ("ECL", PrmtMode::Ecl),
        ("ECR", PrmtMode::Ecr),
        ("RC16", PrmtMode::Rc16),
    ]);
    let (low, selector, high) = (w.integer(1, 32)?, w.integer(2, 32)?, w.integer(3, 32)?);
    let bytes = w.t.concat(high, low);
    let picked = [0, 1, 2, 3].map(|lane| picked_byte(w.t, mode.unwrap_or(PrmtMode::Index), bytes, selector, lane));
    let (low, high) = (w.t.concat(picked[1], picked[0]), w.t.concat(picked[3], picked[2]));
    let result = w.t.concat(high, low);
    w.define(0, result)
}

/// Operands: result, value, and a mask that must be whole where it is written.
pub(super) fn copy(w: &mut Word<'_>) -> Option<()> {
    if w.len() > 2 && w.is_shown(2) {
        return None;
    }
    let width = width(w);
    let value = w.integer(1, width)?;
    w.define(0, value)
}

/// Operands: result, the value where the predicate holds, the value where it does not.
pub(super) fn select(w: &mut Word<'_>) -> Option<()> {
    let width = width(w);
    let (holds, a, b) = (w.truth(0)?, w.integer(1, width)?, w.integer(2, width)?);
    let result = w.t.ite(holds, a, b);
    w.define(0, result)
}

/// Operands: result, word.
pub(super) fn reverse(w: &mut Word<'_>) -> Option<()> {
    let value = w.integer(1, 32)?;
    let result = crate::meaning::bits::reverse(w.t, value);
    w.define(0, result)
}

/// Operands: result, word.
pub(super) fn population(w: &mut Word<'_>) -> Option<()> {
    let value = w.integer(1, 32)?;
    let result = crate::meaning::population(w.t, value);
    w.define(0, result)
}

/// The number of the highest bit that differs from the sign, or with `.SH` how far it is from the top; all ones where
/// there is none. Operands: result, word.
pub(super) fn leading(w: &mut Word<'_>) -> Option<()> {
    let value = w.integer(1, 32)?;
    let (negative, flipped) = (w.t.sign(value), w.t.not(value));
    let value = if w.is("U32") { value } else { w.t.ite(negative, flipped, value) };
    let zeros = leading_zeros(w.t, value).0;
    let (top, none, all) = (w.t.constant(31, 32), w.t.is_zero(value), w.t.constant(u128::MAX, 32));
    let place = if w.is("SH") { zeros } else { w.t.sub(top, zeros) };
    let result = w.t.ite(none, all, place);
    w.define(0, result)
}

/// A count of bits or a place: modulo 32 with `.W`, else at most 32; as 64 bits.
fn count(w: &mut Word<'_>, at: usize) -> Option<Term> {
    let value = w.integer(at, 32)?;
    let (mask, most) = (w.t.constant(31, 32), w.t.constant(32, 32));
    let value = if w.is("W") { w.t.and(value, mask) } else { w.t.min(value, most, false) };
    Some(w.t.zero_extend(value, 64))
}

/// So many ones from the bottom, as 64 bits.
fn ones_below(t: &mut Terms, count: Term) -> Term {
    let all = t.constant(u128::MAX, 64);
    let above = t.shl(all, count);
    t.not(above)
}

/// The low bits of a word, extended; nothing is zero. Operands: result, word, how many bits.
pub(super) fn extend(w: &mut Word<'_>) -> Option<()> {
    let (value, bits) = (w.integer(1, 32)?, count(w, 2)?);
    let mask = ones_below(w.t, bits);
    let value = w.t.zero_extend(value, 64);
    let low = w.t.and(value, mask);
    let result = if w.is("U32") {
        low
    } else {
        // The sign is the bit below the count; shifted up by one, no count goes below zero.
        let one = w.t.constant(1, 64);
        let doubled = w.t.shl(low, one);
        let sign = w.t.lshr(doubled, bits);
        let (sign, above) = (w.t.bit_of(sign, 0), w.t.not(mask));
        let filled = w.t.or(low, above);
        w.t.ite(sign, filled, low)
    };
    let result = w.t.extract(result, 0, 32);
    w.define(0, result)
}

/// So many ones from a place on. Operands: result, place, count.
pub(super) fn mask(w: &mut Word<'_>) -> Option<()> {
    let (place, bits) = (count(w, 1)?, count(w, 2)?);
    let ones = ones_below(w.t, bits);
    let moved = w.t.shl(ones, place);
    let result = w.t.extract(moved, 0, 32);
    w.define(0, result)
}
