//! Floats of 32 and 64 bits.

use oriole_ir::ops::{Compare, Rounding};

use super::predicate::{combined, decide_both};
use super::word::{Marks, Word};
use crate::meaning::compare::float_holds;
use crate::meaning::float::{self as meaning, Extreme, Format, clamp, zero_beyond};
use crate::meaning::soft;
use crate::term::Term;

/// Arithmetic on floats.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Multiply,
    Fused,
}

impl Op {
    /// How many operands it has.
    pub fn count(self) -> usize {
        if self == Op::Fused { 3 } else { 2 }
    }
}

/// The rounding of a word.
pub(super) fn rounding(w: &Word<'_>) -> Rounding {
    w.one_of(&[("RM", Rounding::Rm), ("RP", Rounding::Rp), ("RZ", Rounding::Rz)]).unwrap_or(Rounding::Rn)
}

/// A float, zero with its sign where the word flushes and it is subnormal.
pub(super) fn flushed(w: &mut Word<'_>, format: &Format, value: Term) -> Term {
    if w.is("FTZ") { format.flush(w.t, value) } else { value }
}

/// Arithmetic with the modifiers of the word: operands and results are flushed, then limited.
pub(super) fn arithmetic(w: &mut Word<'_>, format: &Format, op: Op, operands: &[Term]) -> Option<Term> {
    let rounding = rounding(w);
    let operands: Vec<Term> = operands.iter().map(|value| flushed(w, format, *value)).collect();
    let exact = match (op, &operands[..]) {
        (Op::Add, [a, b]) => soft::add(w.t, format, rounding, *a, *b),
        (Op::Multiply, [a, b]) => soft::multiply(w.t, format, rounding, *a, *b),
        (Op::Fused, [a, b, c]) => soft::fused(w.t, format, rounding, [*a, *b, *c]),
        _ => return None,
    };
    let result = flushed(w, format, exact);
    let (saturates, rectifies) = (w.is("SAT"), w.is("RELU"));
    let result = clamp(w.t, format, result, saturates, rectifies);
    Some(if w.is("OOB") { zero_beyond(w.t, format, [operands[0], operands[1]], result) } else { result })
}

/// The format of a mnemonic: its first letters say.
fn format(w: &Word<'_>) -> &'static Format {
    if w.is_double() { &Format::F64 } else { &Format::F32 }
}

fn compute(w: &mut Word<'_>, op: Op) -> Option<()> {
    let format = format(w);
    let operands: Vec<Term> = (1..=op.count()).map(|at| w.float(at, format)).collect::<Option<_>>()?;
    let result = arithmetic(w, format, op, &operands)?;
    w.define(0, result)
}

/// Operands: result, two values.
pub(super) fn add(w: &mut Word<'_>) -> Option<()> {
    compute(w, Op::Add)
}

/// Operands: result, two factors.
pub(super) fn multiply(w: &mut Word<'_>) -> Option<()> {
    compute(w, Op::Multiply)
}

/// Operands: result, two factors, an addend.
pub(super) fn fused(w: &mut Word<'_>) -> Option<()> {
    compute(w, Op::Fused)
}

/// Which extreme a word means: with `.XORSIGN` magnitudes are compared, which both operands have to say.
pub(super) fn which(w: &Word<'_>, operands: [usize; 2]) -> Option<Extreme> {
    let of_magnitudes = w.is("XORSIGN");
    let marks = [w.marks(operands[0])?, w.marks(operands[1])?];
    if of_magnitudes && !marks.iter().all(|marks| marks.absolute) {
        return None;
    }
    Some(Extreme { smaller: true, of_magnitudes, nan_wins: w.is("NAN") })
}

/// The smaller of two values where a predicate holds, else the larger.
pub(super) fn extreme_of(w: &mut Word<'_>, format: &Format, which: Extreme, is_least: Term, [a, b]: [Term; 2]) -> Term {
    let [a, b] = [a, b].map(|value| flushed(w, format, value));
    let [least, most] = [true, false].map(|smaller| meaning::extreme(w.t, format, Extreme { smaller, ..which }, a, b));
    w.t.ite(is_least, least, most)
}

/// A float as an extreme reads it: under `.XORSIGN` the sign of the operand is that of the register, and decides that
/// of the result.
pub(super) fn compared(w: &mut Word<'_>, format: &Format, which: Extreme, value: Term, marks: Marks) -> Term {
    w.signed(format, value, Marks { absolute: marks.absolute && !which.of_magnitudes, ..marks })
}

/// Operands: result, two or three values.
pub(super) fn extreme(w: &mut Word<'_>) -> Option<()> {
    let format = &Format::F32;
    let which = which(w, [1, 2])?;
    let is_least = w.truth(0)?;
    let mut result = None;
    for at in 1..w.len() {
        let (raw, marks) = (w.raw(at, 32)?, w.marks(at)?);
        w.suffix(at)?.is_empty().then_some(())?;
        let value = compared(w, format, which, raw, marks);
        result = Some(match result {
            None => value,
            Some(so_far) => extreme_of(w, format, which, is_least, [so_far, value]),
        });
    }
    w.define(0, result?)
}

/// Operands: result, the value where the predicate holds, the value where it does not. Neither is computed with.
pub(super) fn select(w: &mut Word<'_>) -> Option<()> {
    let (holds, a, b) = (w.truth(0)?, w.float(1, &Format::F32)?, w.float(2, &Format::F32)?);
    let result = w.t.ite(holds, a, b);
    w.define(0, result)
}

/// The comparisons by their names.
const COMPARES: &[(&str, Compare)] = &[
    ("LT", Compare::Lt),
    ("EQ", Compare::Eq),
    ("LE", Compare::Le),
    ("GT", Compare::Gt),
    ("NE", Compare::Ne),
    ("GE", Compare::Ge),
    ("NUM", Compare::Num),
    ("NAN", Compare::Nan),
    ("LTU", Compare::Ltu),
    ("EQU", Compare::Equ),
    ("LEU", Compare::Leu),
    ("GTU", Compare::Gtu),
    ("NEU", Compare::Neu),
    ("GEU", Compare::Geu),
];

/// Whether the comparison of a word holds.
pub(super) fn holds(w: &mut Word<'_>, format: &Format, a: Term, b: Term) -> Option<Term> {
    if w.is("F") || w.is("T") {
        return Some(w.t.bit(w.is("T")));
    }
    let compare = w.one_of(COMPARES)?;
    let (a, b) = (flushed(w, format, a), flushed(w, format, b));
    Some(float_holds(w.t, format, compare, a, b))
}

/// Operands: two values.
pub(super) fn compare(w: &mut Word<'_>) -> Option<()> {
    let format = format(w);
    let (a, b) = (w.float(0, format)?, w.float(1, format)?);
    if w.is("MIN") || w.is("MAX") {
        return prefer(w, a, b);
    }
    let holds = holds(w, format, a, b)?;
    decide_both(w, holds)
}

/// Whether the first of two doubles is the smaller or larger one, and whether neither is a number. Of a number and none
/// the number is; of equal values -0 is the smaller one, and else nobody can tell which was chosen. Beside another
/// predicate these comparisons are constant, or not known.
fn prefer(w: &mut Word<'_>, a: Term, b: Term) -> Option<()> {
    let format = &Format::F64;
    let with = w.truth(0)?;
    if w.t.value(with) != Some(1) || !w.is("AND") {
        return None;
    }
    let smaller = w.is("MIN");
    let (nan_a, nan_b) = (format.is_nan(w.t, a), format.is_nan(w.t, b));
    let order = if smaller { Compare::Lt } else { Compare::Gt };
    let first = float_holds(w.t, format, order, a, b);
    let (equal, negative) = (float_holds(w.t, format, Compare::Eq, a, b), w.t.sign(a));
    let where_equal = if smaller { negative } else { w.t.not(negative) };
    let first = w.t.ite(equal, where_equal, first);
    let first = w.t.or(nan_b, first);
    let neither = w.t.and(nan_a, nan_b);
    w.decide(0, first)?;
    w.decide(1, neither)
}

/// Operands: result, two values: 1.0 where the comparison, combined with a predicate, holds, else zero.
pub(super) fn set(w: &mut Word<'_>) -> Option<()> {
    let (a, b) = (w.float(1, &Format::F32)?, w.float(2, &Format::F32)?);
    w.is("BF").then_some(())?;
    let (holds, with) = (holds(w, &Format::F32, a, b)?, w.truth(0)?);
    let holds = combined(w, holds, with);
    let (one, zero) = (w.t.constant(Format::F32.one(), 32), w.t.constant(0, 32));
    let result = w.t.ite(holds, one, zero);
    w.define(0, result)
}
