//! Comparisons of integers, logic of predicates, predicates as bits of registers.

use super::Place;
use super::bits::of_table;
use super::integer::width;
use super::word::Word;
use crate::term::{Term, Terms};

/// A truth and another predicate, as the word says.
pub(super) fn combined(w: &mut Word<'_>, holds: Term, with: Term) -> Term {
    match w {
        _ if w.is("XOR") => w.t.xor(holds, with),
        _ if w.is("OR") => w.t.or(holds, with),
        _ => w.t.and(holds, with),
    }
}

/// Writes what a comparison says, and its opposite, each combined with the predicate that is read first.
pub(super) fn decide_both(w: &mut Word<'_>, holds: Term) -> Option<()> {
    let (with, fails) = (w.truth(0)?, w.t.not(holds));
    let both = [holds, fails].map(|holds| combined(w, holds, with));
    w.decide(0, both[0])?;
    w.decide(1, both[1])
}

/// Operands: two integers. With `.EX` they are upper words, and a predicate says what the lower ones say.
pub(super) fn compare(w: &mut Word<'_>) -> Option<()> {
    let width = width(w);
    let signed = !w.is("U32") && !w.is("U64");
    let (a, b) = (w.integer(0, width)?, w.integer(1, width)?);
    let (less, greater, equal) = (w.t.less(a, b, signed), w.t.less(b, a, signed), w.t.eq(a, b));
    // Where the upper words are equal, the lower ones decide; by themselves, equal words decide for LE and GE.
    let lower = if w.is("EX") {
        if width == 64 {
            return None;
        }
        Some(w.truth(1)?)
    } else {
        None
    };
    let (always, never) = (w.t.bit(true), w.t.bit(false));
    let (apart, where_equal) = w.one_of(&[
        ("F", (never, never)),
        ("LT", (less, never)),
        ("EQ", (never, always)),
        ("LE", (less, always)),
        ("GT", (greater, never)),
        ("GE", (greater, always)),
        ("NE", (always, never)),
        ("T", (always, always)),
    ])?;
    let is_constant = w.is("F") || w.is("T");
    let where_equal = lower.filter(|_| !is_constant).unwrap_or(where_equal);
    let holds = w.t.ite(equal, where_equal, apart);
    decide_both(w, holds)
}

/// Operands: three truths, which are predicates or signs of registers, and two tables.
pub(super) fn logic(w: &mut Word<'_>) -> Option<()> {
    let signs = w.len().checked_sub(2)?;
    let mut truths: Vec<Term> = (0..w.truths()).map(|which| w.truth(which)).collect::<Option<_>>()?;
    for at in 0..signs {
        (w.suffix(at)? == "SIGN").then_some(())?;
        let value = w.raw(at, 32)?;
        let sign = w.t.sign(value);
        // Registers stand before the last predicate where there is one behind them.
        let place = if w.truths() == 2 { 1 } else { truths.len() };
        truths.insert(place, sign);
    }
    let truths: [Term; 3] = truths.try_into().ok()?;
    for which in 0..2 {
        let table = w.immediate(signs + which)?;
        let value = of_table(w.t, table, truths);
        w.decide(which, value)?;
    }
    Some(())
}

/// The place of a predicate in the word's file.
fn predicate(w: &Word<'_>, number: u8) -> Place {
    if w.is_uniform() { Place::UniformPredicate(number) } else { Place::Predicate(number) }
}

/// The byte that predicates go to or come from.
fn first_bit(name: Option<&str>) -> u32 {
    match name {
        Some("B1") => 8,
        Some("B2") => 16,
        Some("B3") => 24,
        _ => 0,
    }
}

/// How many predicates can be written.
const COUNT: u8 = 7;

/// The mask of predicates, which is the same in every state.
fn mask_of(w: &mut Word<'_>, at: usize) -> Option<u128> {
    let mask = w.raw(at, 32)?;
    w.t.value(mask)
}

/// Predicates of a mask into a byte of a word. Operands: result, the word, the mask.
pub(super) fn to_register(w: &mut Word<'_>) -> Option<()> {
    let (base, mask) = (w.integer(1, 32)?, mask_of(w, 2)?);
    let byte = w.names().iter().copied().find(|name| name.starts_with('B'));
    let first = first_bit(byte);
    let mut result = base;
    for number in (0..COUNT).filter(|number| mask >> number & 1 == 1) {
        let place = predicate(w, number);
        let held = w.held(place);
        result = with_bit(w.t, result, first + u32::from(number), held);
    }
    w.define(0, result)
}

/// A word with another bit at a place.
fn with_bit(t: &mut Terms, word: Term, at: u32, bit: Term) -> Term {
    let others = t.constant(!(1u128 << at), 32);
    let (others, bit, by) = (t.and(word, others), t.zero_extend(bit, 32), t.constant(at.into(), 32));
    let bit = t.shl(bit, by);
    t.or(others, bit)
}

/// Bits of a byte of a word into the predicates of a mask. Operands: the word, the mask.
pub(super) fn from_register(w: &mut Word<'_>) -> Option<()> {
    let first = first_bit(w.suffix(0));
    let (word, mask) = (w.raw(0, 32)?, mask_of(w, 1)?);
    for number in (0..COUNT).filter(|number| mask >> number & 1 == 1) {
        let bit = w.t.bit_of(word, first + u32::from(number));
        let place = predicate(w, number);
        w.put(place, bit);
    }
    Some(())
}
