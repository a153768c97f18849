//! Sums, minima and maxima of integers, packed or not; tables over predicates.

use super::prelude::*;
use crate::row::PLAIN;

/// What minima and maxima are of.
const KIND: Part = m(72, 2, &["U32", "", "U16x2", "S16x2"]);
/// The same of `sm_120`.
const KIND_120: Part = m(72, 3, &["U32", "S32", "U16x2", "S16x2", "U8x4", "S8x4", RESERVED, RESERVED]);
/// What extremes are of, of 32 or 64 bits.
const EXTREME: Part = m(73, 2, &["U32", "", "U64", "S64"]);
/// What sums are of.
const KIND_SUM: Part = m(73, 3, &["32", "16x2", "S32", "S16x2", "U8x4", "S8x4", RESERVED, RESERVED]);
const ADDED: Part = flag(73, &["", "64"]);
/// A sum of two, of 32 or 64 bits.
const IADD: &[Part] = &[
    ADDED,
    flag(74, &["", "X"]),
    rd().sized(&ADDED),
    p(81).unless(7),
    ra().neg(72).complement(74).sized(&ADDED),
    b(SignedHex).complement(74).sized(&ADDED),
    pin(87).only(74, 1, 1),
];
const RELU: Part = flag(76, &["", "RELU"]);
/// Whether the first operand was chosen: of the word, or of its lower half.
const CHOSEN: Part = p(81).unless(7);
/// The same of the upper half. The two are written together, or not at all.
const CHOSEN_ABOVE: Part = p(84).show(Show::WhereNot(CHOSEN.at, 7)).usually(7);

/// The signs of registers in the place of predicates.
const SIGN: Names = &["SIGN"];
const SIGN_A: Part = ra().suffix(0, 0, SIGN);
const SIGN_B: Part = b(Hex).suffix(0, 0, SIGN);
const SIGN_C: Part = c(Hex).suffix(0, 0, SIGN);
const REGISTERS: &[Form] = &[Rr, Ur];
/// Tables over three predicates, the last of either kind.
const PLOP3: &[Part] = &[p(81), p(84), pin(87), pin(77), pin(68), LUT, LUT2];
const PLOP3_U: &[Part] = &[p(81), p(84), pin(87), pin(77), upin(68), LUT, LUT2];
/// The table of the first result.
const LUT: Part = imm(64, 3, Hex).above(72, 5);
/// The table of the second.
const LUT2: Part = imm(16, 8, Hex);

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("PLOP3.LUT", 0x01d, ALU, &[p(81), p(84), pin(87), SIGN_B, pin(68), imm(72, 8, Hex), LUT2])
        .forms(REGISTERS),
    Row::new("PLOP3.LUT", 0x01e, ALU, &[p(81), p(84), pin(87), SIGN_B, SIGN_C, imm(72, 8, Hex), LUT2]).forms(REGISTERS),
    Row::new("PLOP3.LUT", 0x01f, ALU, &[p(81), p(84), SIGN_A, SIGN_B, SIGN_C, imm(72, 8, Hex), LUT2])
        .forms(&[Rr, Cr, Ur]),
    Row::new("PLOP3.LUT", 0x81c, ALU, PLOP3),
    Row::new("PLOP3.LUT", 0x81c, ALU, PLOP3_U).fixed(&[(Bits::new(67, 1), 1)]),
    Row::new("VIADD", 0x036, ALU, &[flag(73, &["", "16x2"]), rd(), ra(), b(Hex)])
        .forms(TWO)
        .marks(NEG, PLAIN)
        .sms(90, 110),
    Row::new("VIADD", 0x036, ALU, &[KIND_SUM, flag(80, &["", "ISAT"]), rd(), ra().neg(72), b(Hex)])
        .forms(TWO)
        .marks(NEG, PLAIN)
        .since(120),
    Row::new("VIMNMX", 0x048, ALU, &[KIND, RELU, rd(), CHOSEN, CHOSEN_ABOVE, ra(), b(SignedHex), pin(87)])
        .forms(TWO)
        .rule(|word| CHOSEN.value(word) == 7 || CHOSEN_ABOVE.value(word) != 7)
        .sms(90, 90),
    Row::new("VIMNMX", 0x048, ALU, &[KIND, RELU, rd(), p(81), p(84), ra(), b(SignedHex), pin(87)])
        .forms(TWO)
        .sms(100, 110),
    Row::new("VIMNMX", 0x048, ALU, &[KIND_120, RELU, rd(), ra(), b(SignedHex), pin(87)])
        .forms(TWO)
        .fixed(&[(Bits::new(81, 6), 0x3f)])
        .since(120),
    Row::new("VIADDMNMX", 0x046, ALU, &[KIND, RELU, rd(), ra(), b(Hex), c(Hex), pin(87)])
        .forms(THREE)
        .marks(NEG, PLAIN)
        .since(90),
    Row::new("VIMNMX3", 0x00f, ALU, &[KIND, RELU, rd(), ra(), b(Hex), c(Hex), pin(87)]).forms(TWO).since(90),
    Row::new("IMNMX", 0x017, ALU, &[flag(73, &["U32", ""]), rd(), ra(), b(SignedHex), pin(87)]).forms(TWO).sms(80, 110),
    Row::new(
        "IMNMX",
        0x017,
        ALU,
        &[
            EXTREME,
            p(81),
            p(84),
            rd().sized(&EXTREME),
            ra().sized(&EXTREME),
            b(SignedHex).sized(&EXTREME),
            pin(87),
            pin(77),
        ],
    )
    .forms(TWO)
    .since(120),
    Row::new("IADD", 0x035, ALU, IADD).forms(TWO).marks(NEG, PLAIN).since(120),
];
