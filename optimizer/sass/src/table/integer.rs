//! Integer arithmetic.

use super::prelude::*;

const X: Names = &["", "X"];
/// Signedness by a bit that is set for signed operands.
const U32: Names = &["U32", ""];
/// Signedness, printed where nothing else tells that the low half is meant.
const COMPARE: Names = &["F", "LT", "EQ", "LE", "GT", "NE", "GE", "T"];
const COMBINE: Names = &["AND", "OR", "XOR", RESERVED];
const EX: Names = &["", "EX"];

/// Where an operation reads carries: with `.X`.
const IADD3: &[Part] = &[
    flag(74, X),
    rd(),
    p(81).unless(7),
    p(84).unless(7),
    ra().neg(72).complement(74),
    b(SignedHex).complement(74),
    c(SignedHex).complement(74),
    pin(87).only(74, 1, 1),
    pin(77).only(74, 1, 1),
];

/// The same, with the carries always written.
const IADD3_100: &[Part] = &[
    flag(74, X),
    rd(),
    p(81),
    p(84),
    ra().neg(72).complement(74),
    b(SignedHex).complement(74),
    c(SignedHex).complement(74),
    pin(87).only(74, 1, 1),
    pin(77).only(74, 1, 1),
];

/// Names of a product and sum by what its operands are: a move, a shift, a sum.
fn imad(word: u128, form: Form) -> Option<&'static str> {
    let bits = |low: u8, len: u8| Bits::new(low, len).get(word);
    let (signed, carries) = (bits(73, 1) == 1, bits(74, 1) == 1);
    let zero = |low: u8| bits(low, 8) == 0xff;
    if carries {
        return None;
    }
    let immediate = bits(32, 32);
    let by_form = |u32_name, s32_name| Some(if signed { s32_name } else { u32_name });
    let is_zero = match form {
        Rr => zero(24) || zero(32),
        Ir => zero(24) || immediate == 0,
        Ri | Rc => zero(24) || zero(64),
        Cr => zero(24),
        _ => false,
    };
    match form {
        _ if is_zero => by_form("IMAD.MOV.U32", "IMAD.MOV"),
        Ir if immediate == 1 && !zero(64) => by_form("IMAD.IADD.U32", "IMAD.IADD"),
        Ir if zero(64) && immediate == 1 => by_form("IMAD.MOV.U32", "IMAD.MOV"),
        // nvdisasm spares 0x10000, for no reason that shows.
        Ir if zero(64) && immediate.is_power_of_two() && immediate != 1 << 16 && immediate < 1 << 31 => {
            by_form("IMAD.SHL.U32", "IMAD.SHL")
        }
        _ => None,
    }
}

const IMAD: &[Part] =
    &[flag(73, U32), flag(74, X), rd(), ra(), b(SignedHex), c(SignedHex).complement(74), pin(87).only(74, 1, 1)];
/// A product of 64 bits.
const IMAD_WIDE: &[Part] = &[
    flag(73, U32),
    flag(74, X),
    rd().words(2),
    p(81).unless(7),
    ra(),
    b(SignedHex),
    c(SignedHex).complement(74).words(2),
    pin(87).only(74, 1, 1),
];
/// Its upper half.
const IMAD_HI: &[Part] = &[
    flag(73, U32),
    flag(74, X),
    rd(),
    p(81).unless(7),
    ra(),
    b(SignedHex),
    c(SignedHex).complement(74).words(2),
    pin(87).only(74, 1, 1),
];

const LEA: &[Part] = &[
    flag(74, X),
    rd(),
    p(81).unless(7),
    ra().neg(72).complement(74),
    b(Hex).complement(74),
    c(Hex).show(Show::Never),
    imm(75, 5, Hex),
    CARRY,
];

const LEA_HI: &[Part] = &[
    flag(74, X),
    flag(73, &["", "SX32"]),
    rd(),
    p(81).unless(7),
    ra().neg(72).complement(74),
    b(Hex).complement(74),
    c(Hex).only(73, 1, 0),
    imm(75, 5, Hex),
    CARRY,
];
/// The same with an immediate for the upper half.
const LEA_HI_IMMEDIATE: &[Part] =
    &[flag(74, X), rd(), p(81).unless(7), ra().neg(72).complement(74), b(Hex), c(Hex), imm(75, 5, Hex), CARRY];
/// The carry that is added.
const CARRY: Part = pin(87).only(74, 1, 1);
/// The upper half of a shifted sum.
const HI: (Bits, u64) = (Bits::new(80, 1), 1);

const ISETP: &[Part] = &[
    m(76, 3, COMPARE),
    flag(73, U32),
    m(74, 2, COMBINE),
    flag(72, EX),
    p(81),
    p(84),
    ra(),
    b(SignedHex),
    pin(87),
    pin(68).only(72, 1, 1),
];

/// What is compared on `sm_120`.
const COMPARED: Part = m(73, 1, &["U32", "", "U64", "S64"]).above(80, 1);
/// The same with operands of 32 or 64 bits.
const ISETP_120: &[Part] = &[
    m(76, 3, COMPARE),
    COMPARED,
    m(74, 2, COMBINE),
    flag(72, EX),
    p(81),
    p(84),
    ra().sized(&COMPARED),
    b(SignedHex).sized(&COMPARED),
    pin(87),
    pin(68).only(72, 1, 1),
];

/// The forms of an operation whose third source is no immediate.
const NO_IMMEDIATE_C: &[Form] = &[Rr, Rc, Rx, Ir, Cr, Xr, Ur, Ru];

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("IADD3", 0x010, ALU, IADD3).forms(TWO).marks(NEG, NEG).sms(80, 90),
    Row::new("IADD3", 0x010, ALU, IADD3_100).forms(TWO).marks(NEG, NEG).since(100),
    Row::new("IMAD", 0x024, FMA, IMAD).forms(THREE).marks(PLAIN, NEG).alias(imad).fixed(&[(Bits::new(81, 3), 7)]),
    Row::new("IMAD.WIDE", 0x025, FMA.after(3), IMAD_WIDE).forms(NO_IMMEDIATE_C).marks(PLAIN, NEG),
    Row::new("IMAD.HI", 0x027, FMA, IMAD_HI).forms(NO_IMMEDIATE_C).marks(PLAIN, NEG),
    Row::new("LEA", 0x011, ALU, LEA).forms(TWO).marks(NEG, PLAIN),
    Row::new("LEA.HI", 0x011, ALU, LEA_HI).forms(TWO).marks(NEG, PLAIN).fixed(&[HI]),
    Row::new("LEA.HI", 0x011, ALU, LEA_HI_IMMEDIATE).forms(&[Ri]).fixed(&[HI]),
    Row::new("ISETP", 0x00c, ALU, ISETP).forms(TWO).sms(80, 110),
    Row::new("ISETP", 0x00c, ALU, ISETP_120).forms(TWO).since(120),
];
