//! Conversions between numbers of different kinds, one at a time.

use super::float::{FTZ, NO_HALF, ROUND};
use super::prelude::*;

/// Rounding to whole numbers.
const WHOLE: Names = &["", "FLOOR", "CEIL", "TRUNC"];
/// Whole numbers by their size and, above it, whether they have a sign; those of 32 bits with a sign have no name.
const SMALL: Names = &["U8", "U16", "U32", RESERVED, "S8", "S16", "", RESERVED];
const ANY: Names = &["U8", "U16", "U32", "U64", "S8", "S16", "", "S64"];
/// The same, of 64 bits only.
const LARGE: Names = &[RESERVED, RESERVED, RESERVED, "U64", RESERVED, RESERVED, RESERVED, "S64"];
/// Floats by bits 75 to 77 (before `sm_90` without the last), those of 32 bits without a name.
const FLOAT: Names = &[RESERVED, "F16", "", RESERVED, "BF16", RESERVED, RESERVED, RESERVED];
const FLOAT_80: Names = &[RESERVED, "F16", "", RESERVED];
const ANY_FLOAT_80: Names = &[RESERVED, "F16", "", "F64"];
const ANY_FLOAT: Names = &[RESERVED, "F16", "", "F64", "BF16", RESERVED, RESERVED, RESERVED];
/// Bytes and halves that are read.
const BYTE: Names = &["", "B1", "B2", "B3"];

/// A source of so many bits and its name: bits 84 to 86.
macro_rules! source {
    (F16) => {
        m(84, 3, &[RESERVED, "F16"])
    };
    (F32) => {
        m(84, 3, &[RESERVED, RESERVED, ""])
    };
    (F64) => {
        m(84, 3, &[RESERVED, RESERVED, RESERVED, "F64"])
    };
    (BF16) => {
        m(84, 3, &[RESERVED, RESERVED, RESERVED, RESERVED, "BF16"])
    };
}

macro_rules! to_whole {
    ($whole:expr, $source:ident, $operand:expr) => {
        &[
            flag(80, FTZ),
            m(75, 2, $whole).above(72, 1),
            source!($source),
            m(78, 2, WHOLE),
            flag(77, &["", "NTZ"]),
            rd().sized(&m(75, 2, $whole).above(72, 1)),
            $operand,
        ]
    };
}

macro_rules! from_whole {
    ($len:expr, $float:expr, $bits:expr, $names:expr, $operand:expr) => {
        &[
            m(75, $len, $float),
            m(84, 2, $bits),
            flag(74, $names),
            m(78, 2, ROUND),
            rd().sized(&m(75, $len, $float)),
            $operand,
        ]
    };
}

macro_rules! to_float {
    ($float:expr, $source:expr, $operand:expr) => {
        &[flag(80, FTZ), m(75, 3, $float), m(84, 3, $source), m(78, 2, ROUND), rd().sized(&m(75, 3, $float)), $operand]
    };
}

macro_rules! rounded {
    ($float:expr, $source:expr, $operand:expr) => {
        &[flag(80, FTZ), m(75, 3, $float), m(84, 3, $source), m(78, 2, WHOLE), rd().sized(&m(75, 3, $float)), $operand]
    };
}

const fn half() -> Part {
    b(F16).suffix(60, 1, H1)
}

const fn bf16() -> Part {
    b(Bf16).suffix(60, 1, H1)
}

const fn float(name: &'static str, opcode: u16, class: Class, parts: &'static [Part]) -> Row {
    Row::new(name, opcode, class, parts).forms(TWO).marks(NEG_ABS, PLAIN).no_reuse()
}

const fn whole(name: &'static str, opcode: u16, class: Class, parts: &'static [Part]) -> Row {
    Row::new(name, opcode, class, parts).forms(TWO).no_reuse()
}

/// Of a source that is part of a register, so never an immediate.
const fn part(name: &'static str, opcode: u16, class: Class, parts: &'static [Part]) -> Row {
    whole(name, opcode, class, parts).forms(&[Rr, Cr, Xr, Ur])
}

/// Of the uniform datapath.
const fn uniform(name: &'static str, opcode: u16, class: Class, parts: &'static [Part]) -> Row {
    float(name, opcode, class, parts).forms(&[Rr, Ir]).twin().since(120)
}

const ONLY_64: Names = &[RESERVED, RESERVED, RESERVED, "F64"];
const QUIET: [Names; 4] = [&[""], &[RESERVED, ""], &[RESERVED, RESERVED, ""], &[RESERVED, RESERVED, RESERVED, ""]];
const F16_: Names = &[RESERVED, "F16"];
const F32_: Names = &[RESERVED, RESERVED, "F32"];
const F64_: Names = ONLY_64;
const BF16_: Names = &[RESERVED, RESERVED, RESERVED, RESERVED, "BF16"];

/// The rows.
pub const ROWS: &[Row] = &[
    float("F2I", 0x105, SPECIAL_UNIT, to_whole!(SMALL, F16, half())),
    float("F2I", 0x105, SPECIAL_UNIT, to_whole!(SMALL, F32, b(F32).suffix(60, 2, NO_HALF))),
    float("F2I", 0x105, SPECIAL_UNIT, to_whole!(SMALL, BF16, bf16())).since(90),
    float("F2I", 0x111, SPECIAL_UNIT, to_whole!(LARGE, F16, half())),
    float("F2I", 0x111, SPECIAL_UNIT, to_whole!(LARGE, F32, b(F32).suffix(60, 2, NO_HALF))),
    float("F2I", 0x111, SPECIAL_UNIT, to_whole!(LARGE, BF16, bf16())).since(90),
    float("F2I", 0x111, SPECIAL_UNIT, to_whole!(ANY, F64, b(F64).words(2).suffix(60, 2, NO_HALF))),
    part("I2F", 0x106, SPECIAL_UNIT, from_whole!(3, FLOAT, QUIET[0], &["U8", "S8"], b(Hex).suffix(60, 2, BYTE)))
        .since(90),
    part("I2F", 0x106, SPECIAL_UNIT, from_whole!(3, FLOAT, QUIET[1], &["U16", "S16"], b(Hex).suffix(60, 1, H1)))
        .since(90),
    whole(
        "I2F",
        0x106,
        SPECIAL_UNIT,
        from_whole!(3, FLOAT, QUIET[2], &["U32", ""], b(HexBy(74)).suffix(60, 2, NO_HALF)),
    )
    .since(90),
    whole(
        "I2F",
        0x112,
        SPECIAL_UNIT,
        from_whole!(3, ANY_FLOAT, QUIET[3], &["U64", "S64"], b(HexBy(74)).words(2).suffix(60, 2, NO_HALF)),
    )
    .since(90),
    part("I2F", 0x106, SPECIAL_UNIT, from_whole!(2, FLOAT_80, QUIET[0], &["U8", "S8"], b(Hex).suffix(60, 2, BYTE)))
        .sms(80, 89),
    part("I2F", 0x106, SPECIAL_UNIT, from_whole!(2, FLOAT_80, QUIET[1], &["U16", "S16"], b(Hex).suffix(60, 1, H1)))
        .sms(80, 89),
    whole(
        "I2F",
        0x106,
        SPECIAL_UNIT,
        from_whole!(2, FLOAT_80, QUIET[2], &["U32", ""], b(HexBy(74)).suffix(60, 2, NO_HALF)),
    )
    .sms(80, 89),
    whole(
        "I2F",
        0x112,
        SPECIAL_UNIT,
        from_whole!(2, ANY_FLOAT_80, QUIET[3], &["U64", "S64"], b(HexBy(74)).words(2).suffix(60, 2, NO_HALF)),
    )
    .sms(80, 89),
    part("I2F", 0x112, SPECIAL_UNIT, from_whole!(3, ONLY_64, QUIET[0], &["U8", "S8"], b(Hex).suffix(60, 2, BYTE))),
    part("I2F", 0x112, SPECIAL_UNIT, from_whole!(3, ONLY_64, QUIET[1], &["U16", "S16"], b(Hex).suffix(60, 1, H1))),
    whole(
        "I2F",
        0x112,
        SPECIAL_UNIT,
        from_whole!(3, ONLY_64, QUIET[2], &["U32", ""], b(HexBy(74)).suffix(60, 2, NO_HALF)),
    ),
    float("F2F", 0x104, SPECIAL_UNIT, to_float!(&[RESERVED, RESERVED, "F32"], F16_, half())).sms(80, 89),
    float("F2F", 0x104, SPECIAL_UNIT, to_float!(&[RESERVED, RESERVED, "F32", RESERVED, "BF16"], F16_, half()))
        .since(90),
    float(
        "F2F",
        0x104,
        SPECIAL_UNIT,
        to_float!(&[RESERVED, "F16", RESERVED, RESERVED, "BF16"], F32_, b(F32).suffix(60, 2, NO_HALF)),
    ),
    float("F2F", 0x104, SPECIAL_UNIT, to_float!(&[RESERVED, "F16", "F32"], BF16_, bf16())).since(90),
    float("F2F", 0x110, SPECIAL_UNIT, to_float!(ONLY_64, F16_, half())),
    float("F2F", 0x110, SPECIAL_UNIT, to_float!(ONLY_64, F32_, b(F32).suffix(60, 2, NO_HALF))),
    float("F2F", 0x110, SPECIAL_UNIT, to_float!(ONLY_64, BF16_, bf16())).since(90),
    float(
        "F2F",
        0x110,
        SPECIAL_UNIT,
        to_float!(&[RESERVED, "F16", "F32"], F64_, b(F64).words(2).suffix(60, 2, NO_HALF)),
    )
    .sms(80, 89),
    float(
        "F2F",
        0x110,
        SPECIAL_UNIT,
        to_float!(&[RESERVED, "F16", "F32", RESERVED, "BF16"], F64_, b(F64).words(2).suffix(60, 2, NO_HALF)),
    )
    .since(90),
    float("FRND", 0x107, SPECIAL_UNIT, rounded!(F16_, QUIET[1], half())),
    float("FRND", 0x107, SPECIAL_UNIT, rounded!(QUIET[2], QUIET[2], b(F32).suffix(60, 2, NO_HALF))),
    float("FRND", 0x107, SPECIAL_UNIT, rounded!(BF16_, &[RESERVED, RESERVED, RESERVED, RESERVED, ""], bf16()))
        .since(90),
    float("FRND", 0x113, SPECIAL_UNIT, rounded!(F64_, QUIET[3], b(F64).words(2).suffix(60, 2, NO_HALF))),
    uniform("UF2I", 0x05c, UNIFORM_UNIT, to_whole!(SMALL, F16, half())),
    uniform("UF2I", 0x05c, UNIFORM_UNIT, to_whole!(SMALL, F32, b(F32).suffix(60, 2, NO_HALF))),
    uniform("UF2I", 0x05c, UNIFORM_UNIT, to_whole!(SMALL, BF16, bf16())),
    uniform("UF2F", 0x05b, UNIFORM_UNIT, to_float!(&[RESERVED, RESERVED, "F32", RESERVED, "BF16"], F16_, half())),
    uniform(
        "UF2F",
        0x05b,
        UNIFORM_UNIT,
        to_float!(&[RESERVED, "F16", RESERVED, RESERVED, "BF16"], F32_, b(F32).suffix(60, 2, NO_HALF)),
    ),
    uniform("UF2F", 0x05b, UNIFORM_UNIT, to_float!(&[RESERVED, "F16", "F32"], BF16_, bf16())),
    uniform("UFRND", 0x05d, UNIFORM_UNIT, rounded!(F16_, QUIET[1], half())),
    uniform("UFRND", 0x05d, UNIFORM_UNIT, rounded!(QUIET[2], QUIET[2], b(F32).suffix(60, 2, NO_HALF))),
    uniform("UFRND", 0x05d, UNIFORM_UNIT, rounded!(BF16_, &[RESERVED, RESERVED, RESERVED, RESERVED, ""], bf16())),
    uniform("UI2F", 0x05a, UNIFORM_UNIT, from_whole!(3, FLOAT, QUIET[0], &["U8", "S8"], b(Hex).suffix(60, 2, BYTE)))
        .forms(&[Rr])
        .marks(PLAIN, PLAIN),
    uniform("UI2F", 0x05a, UNIFORM_UNIT, from_whole!(3, FLOAT, QUIET[1], &["U16", "S16"], b(Hex).suffix(60, 1, H1)))
        .forms(&[Rr])
        .marks(PLAIN, PLAIN),
    uniform(
        "UI2F",
        0x05a,
        UNIFORM_UNIT,
        from_whole!(3, FLOAT, QUIET[2], &["U32", ""], b(HexBy(74)).suffix(60, 2, NO_HALF)),
    )
    .marks(PLAIN, PLAIN),
];
