//! Pairs of floats of 16 bits.

use super::float::{Op, arithmetic, compared, extreme_of, holds, which};
use super::predicate::combined;
use super::word::{Marks, Word};
use crate::meaning::float::Format;
use crate::meaning::soft;
use crate::term::Term;

/// The format of both halves.
fn format(w: &Word<'_>) -> &'static Format {
    if w.is("BF16_V2") || w.is("BF16") { &Format::BF16 } else { &Format::F16 }
}

/// The lower and the upper half of an operand, with marks, which each of them has.
fn halves_as(w: &mut Word<'_>, at: usize, format: &Format, marks: Marks) -> Option<[Term; 2]> {
    let word = w.raw(at, 32)?;
    let [low, high] = [0, 16].map(|from| w.t.extract(word, from, 16));
    let (pair, flips_low) = match w.suffix(at)? {
        "" | "H1_H0" => ([low, high], false),
        "H0_H0" => ([low, low], false),
        "H1_H1" => ([high, high], false),
        // The name of the upper half is the first one.
        "H0_NH1" => ([high, low], true),
        _ => return None,
    };
    let pair = pair.map(|half| w.signed(format, half, marks));
    Some(if flips_low { [crate::meaning::float::negate(w.t, pair[0]), pair[1]] } else { pair })
}

fn halves(w: &mut Word<'_>, at: usize, format: &Format) -> Option<[Term; 2]> {
    let marks = w.marks(at)?;
    halves_as(w, at, format, marks)
}

fn compute(w: &mut Word<'_>, op: Op) -> Option<()> {
    if w.is("F32") {
        return None;
    }
    let format = format(w);
    let pairs: Vec<[Term; 2]> = (1..=op.count()).map(|at| halves(w, at, format)).collect::<Option<_>>()?;
    let half = |w: &mut Word<'_>, which: usize| {
        let operands: Vec<Term> = pairs.iter().map(|pair| pair[which]).collect();
        arithmetic(w, format, op, &operands)
    };
    let (low, high) = (half(w, 0)?, half(w, 1)?);
    let result = w.t.concat(high, low);
    w.define(0, result)
}

/// Operands: result, two pairs. With `.F32` the result is a float of 32 bits: the second operand's half, where the
/// first one is -0; other sums are not known.
pub(super) fn add(w: &mut Word<'_>) -> Option<()> {
    if !w.is("F32") {
        return compute(w, Op::Add);
    }
    let first = w.raw(1, 32)?;
    let is_zero = w.t.value(first) == Some(0) && w.marks(1)?.negate && w.suffix(1)?.is_empty();
    if !is_zero || w.is("FTZ") || w.is("SAT") {
        return None;
    }
    let format = format(w);
    // Without a suffix it is the lower half.
    let [low, _] = halves(w, 2, format)?;
    let result = soft::convert(w.t, format, &Format::F32, oriole_ir::ops::Rounding::Rn, low);
    w.define(0, result)
}

/// Operands: result, two pairs of factors.
pub(super) fn multiply(w: &mut Word<'_>) -> Option<()> {
    compute(w, Op::Multiply)
}

/// Operands: result, two pairs of factors, a pair of addends.
pub(super) fn fused(w: &mut Word<'_>) -> Option<()> {
    compute(w, Op::Fused)
}

/// Operands: result, two pairs.
pub(super) fn extreme(w: &mut Word<'_>) -> Option<()> {
    let format = format(w);
    let which = which(w, [1, 2])?;
    let is_least = w.truth(0)?;
    let mut pairs = [[is_least; 2]; 2];
    for (at, halves) in (1..).zip(&mut pairs) {
        let marks = w.marks(at)?;
        let plain = Marks { negate: false, absolute: false, invert: false };
        let pair = halves_as(w, at, format, plain)?;
        *halves = pair.map(|half| compared(w, format, which, half, marks));
    }
    let [low, high] = [0, 1].map(|half| extreme_of(w, format, which, is_least, [pairs[0][half], pairs[1][half]]));
    let result = w.t.concat(high, low);
    w.define(0, result)
}

/// Whether the comparison of the halves from an operand on holds, combined with the predicate that is read: of the
/// lower ones, and of the upper ones.
fn compared_halves(w: &mut Word<'_>, from: usize) -> Option<[Term; 2]> {
    let format = format(w);
    let (a, b, with) = (halves(w, from, format)?, halves(w, from + 1, format)?, w.truth(0)?);
    let (low, high) = (holds(w, format, a[0], b[0])?, holds(w, format, a[1], b[1])?);
    Some([low, high].map(|holds| combined(w, holds, with)))
}

/// Operands: two pairs.
pub(super) fn compare(w: &mut Word<'_>) -> Option<()> {
    let [low, high] = compared_halves(w, 0)?;
    w.decide(0, low)?;
    w.decide(1, high)
}

/// Operands: result, two pairs: where a comparison holds, a half is 1.0 with `.BF`, else all ones.
pub(super) fn set(w: &mut Word<'_>) -> Option<()> {
    let both = compared_halves(w, 1)?;
    let truth = if w.is("BF") { format(w).one() } else { u128::MAX };
    let (truth, zero) = (w.t.constant(truth, 16), w.t.constant(0, 16));
    let [low, high] = both.map(|holds| w.t.ite(holds, truth, zero));
    let result = w.t.concat(high, low);
    w.define(0, result)
}
