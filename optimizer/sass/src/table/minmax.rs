//! Sums, minima and maxima of integers, packed or not; tables over predicates.

use super::prelude::*;
use crate::row::PLAIN;

/// What minima and maxima are of.
const KIND: Part = m(72, 2, &["U32", "", "U16x2", "S16x2"]);
const RELU: Part = flag(76, &["", "RELU"]);

/// Tables over three predicates, the last of either kind.
const PLOP3: &[Part] = &[p(81), p(84), pin(87), pin(77), pin(68), LUT, LUT2];
const PLOP3_U: &[Part] = &[p(81), p(84), pin(87), pin(77), upin(68), LUT, LUT2];
/// The table of the first result.
const LUT: Part = imm(64, 3, Hex).above(72, 5);
/// The table of the second.
const LUT2: Part = imm(16, 8, Hex);

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("PLOP3.LUT", 0x81c, PLOP3),
    Row::new("PLOP3.LUT", 0x81c, PLOP3_U).fixed(&[(Bits::new(67, 1), 1)]),
    Row::new("VIADD", 0x036, &[flag(73, &["", "16x2"]), rd(), ra(), b(Hex)]).forms(TWO).marks(NEG, PLAIN).since(90),
    Row::new("VIMNMX", 0x048, &[KIND, RELU, rd(), p(81).unless(7), p(84).unless(7), ra(), b(SignedHex), pin(87)])
        .forms(TWO)
        .since(90),
    Row::new("VIADDMNMX", 0x046, &[KIND, RELU, rd(), ra(), b(Hex), c(Hex), pin(87)])
        .forms(THREE)
        .marks(NEG, PLAIN)
        .since(90),
    Row::new("VIMNMX3", 0x00f, &[KIND, RELU, rd(), ra(), b(SignedHex), c(SignedHex), pin(87)]).forms(TWO).since(90),
    Row::new("IMNMX", 0x017, &[flag(73, &["U32", ""]), rd(), ra(), b(SignedHex), pin(87)]).forms(TWO),
];
