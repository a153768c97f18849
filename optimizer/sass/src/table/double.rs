//! Floating point of 64 bits.

use super::float::{COMBINE, ROUND};
use super::prelude::*;

/// Comparisons; the ends of the range, which for a set predicate are always and never, are extremes.
const COMPARE: Names =
    &["MIN", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "MAX"];

const DADD: &[Part] = &[m(78, 2, ROUND), rd().words(2), ra().neg(72).abs(73).words(2), c(F64).words(2)];
const DMUL: &[Part] = &[m(78, 2, ROUND), rd().words(2), ra().neg(72).abs(73).words(2), b(F64).words(2)];
const DFMA: &[Part] =
    &[m(78, 2, ROUND), rd().words(2), ra().neg(72).abs(73).words(2), b(F64).words(2), c(F64).words(2)];
const DSETP: &[Part] =
    &[m(76, 4, COMPARE), m(74, 2, COMBINE), p(81), p(84), ra().neg(72).abs(73).words(2), low(F64).words(2), pin(87)];

/// The rows. The compiler counts cycles where the unit is as wide as that of floats of 32 bits.
pub const ROWS: &[Row] = &[
    Row::new("DADD", 0x029, DOUBLE.variable(), DADD).forms(LAST).marks(PLAIN, NEG_ABS).sms(80, 89),
    Row::new("DMUL", 0x028, DOUBLE.variable(), DMUL).forms(TWO).marks(NEG_ABS, PLAIN).sms(80, 89),
    Row::new("DFMA", 0x02b, DOUBLE.variable(), DFMA).forms(THREE).marks(NEG_ABS, NEG_ABS).sms(80, 89),
    Row::new("DSETP", 0x02a, DOUBLE.variable(), DSETP).forms(LAST).marks(PLAIN, NEG_ABS).sms(80, 89),
    Row::new("DADD", 0x029, DOUBLE, DADD).forms(LAST).marks(PLAIN, NEG_ABS).sms(90, 119),
    Row::new("DMUL", 0x028, DOUBLE.after(6), DMUL).forms(TWO).marks(NEG_ABS, PLAIN).sms(90, 119),
    Row::new("DFMA", 0x02b, DOUBLE, DFMA).forms(THREE).marks(NEG_ABS, NEG_ABS).sms(90, 119),
    Row::new("DSETP", 0x02a, DOUBLE.after(14), DSETP).forms(LAST).marks(PLAIN, NEG_ABS).sms(90, 119),
    Row::new("DADD", 0x029, DOUBLE.variable(), DADD).forms(LAST).marks(PLAIN, NEG_ABS).no_reuse().since(120),
    Row::new("DMUL", 0x028, DOUBLE.variable(), DMUL).forms(TWO).marks(NEG_ABS, PLAIN).no_reuse().since(120),
    Row::new("DFMA", 0x02b, DOUBLE.variable(), DFMA).forms(THREE).marks(NEG_ABS, NEG_ABS).no_reuse().since(120),
    Row::new("DSETP", 0x02a, DOUBLE.variable(), DSETP).forms(LAST).marks(PLAIN, NEG_ABS).no_reuse().since(120),
];
