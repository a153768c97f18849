//! Floating point of 32 bits.

use super::prelude::*;

/// Rounding by bits 78 and 79.
pub const ROUND: Names = &["", "RM", "RP", "RZ"];
/// Comparisons, and below them those that hold for what is no number.
pub const COMPARE: Names =
    &["F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "T"];
/// How the result joins with the predicate that is read.
pub const COMBINE: Names = &["AND", "OR", "XOR", RESERVED];
/// Whether small numbers count as zero.
pub const FTZ: Names = &["", "FTZ"];
/// The same for a product, with zero times anything being zero.
const FMZ: Names = &["", "FMZ", "FTZ", RESERVED];
/// A power of two that multiplies a product.
const SCALE: Names = &[RESERVED, "D8", "D4", "D2", "", "M2", "M4", "M8"];
const SAT: Names = &["", "SAT"];

const fn product() -> Part {
    flag(76, FMZ).above(80, 1)
}

const FADD: &[Part] = &[flag(80, FTZ), m(78, 2, ROUND), flag(77, SAT), rd(), ra().neg(72).abs(73), low(F32)];
/// Like the sum of doubles, the uniform sum has its last source in the place of a third one.
const UFADD: &[Part] = &[flag(80, FTZ), m(78, 2, ROUND), flag(77, SAT), rd(), ra().neg(72).abs(73), c(F32)];
const FMUL: &[Part] = &[product(), m(84, 3, SCALE), m(78, 2, ROUND), flag(77, SAT), rd(), ra().neg(72).abs(73), b(F32)];
const FFMA: &[Part] = &[product(), m(78, 2, ROUND), flag(77, SAT), rd(), ra().neg(72).abs(73), b(F32), c(F32)];
const FMNMX_80: &[Part] = &[flag(80, FTZ), flag(81, &["", "NAN"]), rd(), ra().neg(72).abs(73), b(F32), pin(87)];
const FMNMX: &[Part] = &[
    flag(65, &["", RESERVED]),
    any(66, 3),
    flag(80, FTZ),
    flag(81, &["", "NAN"]),
    flag(82, &["", "XORSIGN"]),
    rd(),
    ra().neg(72).abs(73),
    b(F32),
    pin(87),
];
const FMNMX_IS_A: &[Part] = &[
    flag(80, FTZ),
    flag(81, &["", "NAN"]),
    flag(82, &["", "XORSIGN"]),
    flag(65, &[RESERVED, "IS_A"]),
    rd(),
    p(66),
    ra().neg(72).abs(73),
    b(F32),
    pin(87),
];
const FMNMX3: &[Part] = &[flag(80, FTZ), flag(81, &["", "NAN"]), rd(), ra().neg(72).abs(73), b(F32), c(F32), pin(87)];
const FSEL: &[Part] = &[flag(80, FTZ), rd(), ra().neg(72).abs(73), b(F32), pin(87)];
const FSETP: &[Part] =
    &[m(76, 4, COMPARE), flag(80, FTZ), m(74, 2, COMBINE), p(81), p(84), ra().neg(72).abs(73), b(F32), pin(87)];
const FSET: &[Part] =
    &[m(76, 4, COMPARE), flag(80, FTZ), m(74, 2, COMBINE), rd(), ra().neg(72).abs(73), b(F32), pin(87)];
const FSWZADD: &[Part] = &[flag(80, FTZ), m(78, 2, ROUND), flag(77, &["", "NDV"]), rd(), ra(), rc(), imm(32, 8, Signs)];

const FSWZADD_DXY: &[Part] = &[
    flag(80, FTZ),
    m(78, 2, ROUND),
    flag(77, &["", "NDV", RESERVED, "DXY"]).above(81, 1),
    rd(),
    ra(),
    rc(),
    imm(32, 8, Signs),
];

/// The half that is read, of a source whose bars are around the register alone.
const UPPER: Names = &["", "H1", RESERVED, RESERVED];
/// Sums of a half and a float: bit 81 tells them from those of floats.
const HALF_SOURCES: &[(Bits, u64)] = &[(Bits::new(81, 1), 1)];
const HALF_FORMAT: Names = &["", "BF16"];
const FHADD: &[Part] =
    &[flag(82, HALF_FORMAT), m(78, 2, ROUND), flag(77, SAT), rd(), ra().neg(72).abs(73).suffix(83, 1, UPPER), low(F32)];
const UFHADD: &[Part] =
    &[flag(82, HALF_FORMAT), m(78, 2, ROUND), flag(77, SAT), rd(), ra().neg(72).abs(73).suffix(83, 1, UPPER), c(F32)];
const FHFMA: &[Part] = &[
    flag(82, HALF_FORMAT),
    m(78, 2, ROUND),
    flag(77, SAT),
    rd(),
    ra().neg(72).abs(73).suffix(83, 1, UPPER),
    b(F32).suffix(84, 1, UPPER),
    c(F32),
];

/// Which floats of a pair of registers are read, in which order, and with which signs.
const PAIR: Names =
    &["F32x2.HI_LO", "F32x2.LO_HI", "F32", RESERVED, "F32x2.HI_LO.NP", "F32x2.LO_HI.NP", "F32.NP", RESERVED];
const FACTOR: Names = &["F32x2.HI_LO", "F32x2.LO_HI", "F32", RESERVED];
const FADD2: &[Part] = &[
    flag(80, FTZ),
    m(78, 2, ROUND),
    rd().words(2),
    ra().neg(72).abs(73).words(2).suffix(81, 3, PAIR),
    low(F32).words(2).suffix(84, 3, PAIR),
];
const FMUL2: &[Part] = &[
    product(),
    m(78, 2, ROUND),
    rd().words(2),
    ra().neg(72).abs(73).words(2).suffix(81, 3, PAIR),
    b(F32).words(2).suffix(87, 2, FACTOR),
];
/// Of an immediate only the signs can be changed.
const NP: Names = &["", "NP"];
const FADD2_IMMEDIATE: &[Part] = &[
    flag(80, FTZ),
    m(78, 2, ROUND),
    rd().words(2),
    ra().neg(72).abs(73).words(2).suffix(81, 3, PAIR),
    low(F32).words(2).suffix(86, 1, NP),
];
const FMUL2_IMMEDIATE: &[Part] = &[
    product(),
    m(78, 2, ROUND),
    rd().words(2),
    ra().neg(72).abs(73).words(2).suffix(81, 3, PAIR),
    b(F32).words(2),
    any(87, 2),
];
const FFMA2_RI: &[Part] = &[
    product(),
    m(78, 2, ROUND),
    rd().words(2),
    ra().neg(72).abs(73).words(2).suffix(81, 3, PAIR),
    b(F32).words(2).suffix(87, 2, FACTOR),
    c(F32).words(2).suffix(86, 1, NP),
];
const FFMA2_IR: &[Part] = &[
    product(),
    m(78, 2, ROUND),
    rd().words(2),
    ra().neg(72).abs(73).words(2).suffix(81, 3, PAIR),
    b(F32).words(2),
    c(F32).words(2).suffix(84, 3, PAIR),
];
const FFMA2: &[Part] = &[
    product(),
    m(78, 2, ROUND),
    rd().words(2),
    ra().neg(72).abs(73).words(2).suffix(81, 3, PAIR),
    b(F32).words(2).suffix(87, 2, FACTOR),
    c(F32).words(2).suffix(84, 3, PAIR),
];

const FCHK: &[Part] = &[p(81), r(24).neg(72).abs(73), b(F32)];

/// The function, by bits 74 to 77.
const MUFU: Names = &["COS", "SIN", "EX2", "LG2", "RCP", "RSQ", RESERVED, RESERVED, "SQRT", "TANH"];
/// The function of both halves of a word.
const MUFU_PAIR: Part = m(74, 2, &[RESERVED, RESERVED, "EX2", RESERVED]);
/// The functions of the upper half of a double, by bit 74.
const MUFU64: Names = &["RCP64H", "RSQ64H"];

/// The bits that say for a smaller source which half is read, and say nothing for this one.
pub const NO_HALF: Names = &["", "", "", ""];
/// The forms of a unit that takes one source.
const ONE: &[Form] = TWO;

/// The forms of the uniform datapath.
const UNIFORM: &[Form] = &[Rr, Ir];

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("FADD", 0x021, FMA, FADD).forms(LAST).marks(PLAIN, NEG_ABS),
    Row::new("FMUL", 0x020, FMA, FMUL).forms(TWO).marks(NEG_ABS, PLAIN),
    Row::new("FFMA", 0x023, FMA, FFMA).forms(THREE).marks(NEG_ABS, NEG_ABS),
    Row::new("FMNMX", 0x009, ALU, FMNMX_80).forms(TWO).marks(NEG_ABS, PLAIN).sms(80, 80),
    Row::new("FMNMX", 0x009, ALU, FMNMX).forms(TWO).marks(NEG_ABS, PLAIN).since(86),
    Row::new("FMNMX", 0x009, ALU, FMNMX_IS_A).forms(TWO).marks(NEG_ABS, PLAIN).since(90),
    Row::new("FMNMX3", 0x076, ALU, FMNMX3).forms(&[Rr, Ir, Ur]).marks(NEG_ABS, NEG_ABS).sms(100, 119),
    Row::new("FSEL", 0x008, ALU, FSEL).forms(TWO).marks(NEG_ABS, PLAIN),
    Row::new("FSETP", 0x00b, ALU, FSETP).forms(TWO).marks(NEG_ABS, PLAIN),
    Row::new("FSET.BF", 0x00a, ALU, FSET).forms(TWO).marks(NEG_ABS, PLAIN),
    Row::new("FSWZADD", 0x822, FMA.convergent(), FSWZADD).sms(80, 119),
    Row::new("FSWZADD", 0x822, FMA.convergent(), FSWZADD_DXY).since(120),
    Row::new("FHADD", 0x021, FMA, FHADD).forms(&[Rr, Ru]).marks(PLAIN, NEG_ABS).fixed(HALF_SOURCES).since(100),
    Row::new("FHFMA", 0x023, FMA, FHFMA).forms(&[Rr, Ur, Ru]).marks(NEG_ABS, NEG_ABS).fixed(HALF_SOURCES).since(100),
    Row::new("FADD2", 0x04b, FMA, FADD2_IMMEDIATE).forms(&[Ri]).marks(PLAIN, NEG_ABS).sms(100, 119),
    Row::new("FADD2", 0x04b, FMA, FADD2).forms(&[Rr, Ru]).marks(PLAIN, NEG_ABS).sms(100, 119),
    Row::new("FMUL2", 0x04a, FMA, FMUL2_IMMEDIATE).forms(&[Ir]).marks(NEG_ABS, PLAIN).sms(100, 119),
    Row::new("FMUL2", 0x04a, FMA, FMUL2).forms(&[Rr, Ur]).marks(NEG_ABS, PLAIN).sms(100, 119),
    Row::new("FFMA2", 0x049, FMA, FFMA2_RI).forms(&[Ri]).marks(NEG_ABS, NEG_ABS).sms(100, 119),
    Row::new("FFMA2", 0x049, FMA, FFMA2_IR).forms(&[Ir]).marks(NEG_ABS, NEG_ABS).sms(100, 119),
    Row::new("FFMA2", 0x049, FMA, FFMA2).forms(&[Rr, Ur, Ru]).marks(NEG_ABS, NEG_ABS).sms(100, 119),
    Row::new("FCHK", 0x102, SPECIAL_UNIT, FCHK).forms(ONE).marks(NEG_ABS, PLAIN).no_reuse(),
    Row::new(
        "MUFU",
        0x108,
        SPECIAL_UNIT,
        &[flag(74, MUFU64), m(72, 2, &["", RESERVED]), rd(), b(F64).suffix(60, 2, NO_HALF)],
    )
    .forms(ONE)
    .marks(NEG_ABS, PLAIN)
    .no_reuse()
    .fixed(&[(Bits::new(75, 3), 3)]),
    Row::new(
        "MUFU",
        0x108,
        SPECIAL_UNIT,
        &[m(74, 4, MUFU), m(72, 2, &["", RESERVED]), rd(), b(F32).suffix(60, 2, NO_HALF)],
    )
    .forms(ONE)
    .marks(NEG_ABS, PLAIN)
    .no_reuse(),
    Row::new(
        "MUFU",
        0x108,
        SPECIAL_UNIT,
        &[m(74, 4, MUFU), m(72, 1, &[RESERVED, "F16"]), rd(), b(F16).suffix(60, 1, H1)],
    )
    .forms(ONE)
    .marks(NEG_ABS, PLAIN)
    .no_reuse()
    .since(90),
    Row::new(
        "MUFU",
        0x108,
        SPECIAL_UNIT,
        &[m(74, 4, MUFU), m(73, 1, &[RESERVED, "BF16"]), rd(), b(Bf16).suffix(60, 1, H1)],
    )
    .forms(ONE)
    .marks(NEG_ABS, PLAIN)
    .no_reuse()
    .since(90),
    Row::new(
        "MUFU",
        0x108,
        SPECIAL_UNIT,
        &[m(74, 4, MUFU), m(73, 1, &[RESERVED, "F16"]), rd(), b(F16).suffix(60, 1, H1)],
    )
    .forms(ONE)
    .marks(NEG_ABS, PLAIN)
    .no_reuse()
    .sms(80, 89),
    Row::new(
        "MUFU",
        0x108,
        SPECIAL_UNIT,
        &[MUFU_PAIR, m(72, 2, &[RESERVED, RESERVED, RESERVED, "F16x2"]), rd(), b(F16x2)],
    )
    .forms(ONE)
    .marks(NEG_ABS, PLAIN)
    .no_reuse()
    .sms(103, 103),
    Row::new("MUFU", 0x108, SPECIAL_UNIT, &[MUFU_PAIR, flag(80, &[RESERVED, "BF16x2"]), rd(), b(Bf16x2)])
        .forms(ONE)
        .marks(NEG_ABS, PLAIN)
        .no_reuse()
        .sms(103, 103),
    Row::new("UFADD", 0x054, UNIFORM_UNIT, UFADD).forms(&[Rr, Ri]).marks(PLAIN, NEG_ABS).twin().since(120),
    Row::new("UFMUL", 0x056, UNIFORM_UNIT, FMUL).forms(UNIFORM).marks(NEG_ABS, PLAIN).twin().since(120),
    Row::new("UFFMA", 0x055, UNIFORM_UNIT, FFMA).forms(&[Rr, Ri, Ir]).marks(NEG_ABS, NEG_ABS).twin().since(120),
    Row::new("UFMNMX", 0x050, UNIFORM_UNIT, FMNMX).forms(UNIFORM).marks(NEG_ABS, PLAIN).twin().since(120),
    Row::new("UFMNMX", 0x050, UNIFORM_UNIT, FMNMX_IS_A).forms(UNIFORM).marks(NEG_ABS, PLAIN).twin().since(120),
    Row::new("UFSEL", 0x051, UNIFORM_UNIT, FSEL).forms(UNIFORM).marks(NEG_ABS, PLAIN).twin().since(120),
    Row::new("UFSET.BF", 0x052, UNIFORM_UNIT, FSET).forms(UNIFORM).marks(NEG_ABS, PLAIN).twin().since(120),
    Row::new("UFSETP", 0x053, UNIFORM_UNIT, FSETP).forms(UNIFORM).marks(NEG_ABS, PLAIN).twin().since(120),
    Row::new("UFHADD", 0x054, UNIFORM_UNIT, UFHADD)
        .forms(&[Rr])
        .marks(PLAIN, NEG_ABS)
        .fixed(HALF_SOURCES)
        .twin()
        .since(120),
    Row::new("UFHFMA", 0x055, UNIFORM_UNIT, FHFMA)
        .forms(&[Rr])
        .marks(NEG_ABS, NEG_ABS)
        .fixed(HALF_SOURCES)
        .twin()
        .since(120),
];
