//! The uniform datapath: operations on one value for a warp.

use super::prelude::*;
use crate::row::PLAIN;

const X: Part = flag(74, &["", "X"]);
const U32: Part = flag(73, &["U32", ""]);
/// The byte of a register that predicates go to or come from.
const BYTES: Names = &["", "B1", "B2", "B3"];
const BYTE: Part = m(76, 2, BYTES);
/// A vote whose result is uniform.
const VOTEU: &[Part] = &[m(72, 2, &["ALL", "ANY", "EQ", RESERVED]), ur(16).unless(63), up(81), pin(87)];
const VOTEU_100: &[Part] = &[m(72, 2, &["ALL", "ANY", "EQ", RESERVED]), ur(16).unless(255), up(81), pin(87)];
/// The forms of an operation with two sources.
const BOTH: &[Form] = &[Rr, Ir];
/// The forms of an operation with three sources.
const ALL: &[Form] = &[Rr, Ir, Ri];

/// A sum of three of 32 bits, or of as many as a pair of registers has.
macro_rules! sum {
    ($words:expr, $first:expr, $second:expr) => {
        &[
            X,
            ur(16).words($words),
            $first,
            $second,
            ur(24).neg(72).complement(74).words($words),
            b(SignedHex).complement(74).words($words),
            c(SignedHex).complement(74).words($words),
            upin(87).only(74, 1, 1),
            upin(77).only(74, 1, 1),
        ]
    };
}
const UIADD3: &[Part] = sum!(1, up(81).unless(7), up(84).unless(7));
const UIADD3_64: &[Part] = sum!(2, up(81).unless(7), up(84).unless(7));

/// The same, with the carries always written.
const UIADD3_100: &[Part] = sum!(1, up(81), up(84));
const UIADD3_64_100: &[Part] = sum!(2, up(81), up(84));

const ULEA: &[Part] = &[
    X,
    ur(16),
    up(81).unless(7),
    ur(24).neg(72).complement(74),
    b(Hex).complement(74),
    c(Hex).show(Show::Never),
    imm(75, 5, Hex),
    CARRY,
];

const ULEA_HI: &[Part] = &[
    X,
    flag(73, &["", "SX32"]),
    ur(16),
    up(81).unless(7),
    ur(24).neg(72).complement(74),
    b(Hex).complement(74),
    c(Hex).only(73, 1, 0),
    imm(75, 5, Hex),
    CARRY,
];
/// The carry that is added.
const CARRY: Part = upin(87).only(74, 1, 1);
/// The upper half of a shifted sum.
const HI: (Bits, u64) = (Bits::new(80, 1), 1);

/// The same with an immediate for the upper half.
const ULEA_HI_IMMEDIATE: &[Part] =
    &[X, ur(16), up(81).unless(7), ur(24).neg(72).complement(74), b(Hex), c(Hex), imm(75, 5, Hex), CARRY];

const ULOP3: &[Part] =
    &[flag(80, &["", "PAND"]), up(81).unless(7), ur(16), ur(24), b(Hex), c(Hex), imm(72, 8, Hex), upin(87)];

const USHF: &[Part] = &[
    flag(76, &["L", "R"]),
    flag(75, &["", "W"]),
    m(73, 2, &["S64", "U64", "S32", "U32"]),
    flag(80, &["", "HI"]),
    ur(16),
    ur(24),
    b(Hex),
    c(Hex),
];

const UIMAD: &[Part] = &[U32, X, ur(16), ur(24), b(SignedHex), c(SignedHex).complement(74), upin(87).only(74, 1, 1)];

/// A product of 64 bits, or its upper half.
macro_rules! product {
    ($result:expr) => {
        &[
            U32,
            X,
            $result,
            up(81).unless(7),
            ur(24),
            b(SignedHex),
            c(SignedHex).complement(74).words(2),
            upin(87).only(74, 1, 1),
        ]
    };
}
const UIMAD_WIDE: &[Part] = product!(ur(16).words(2));
const UIMAD_HI: &[Part] = product!(ur(16));

const UISETP: &[Part] = &[
    m(76, 3, &["F", "LT", "EQ", "LE", "GT", "NE", "GE", "T"]),
    U32,
    m(74, 2, &["AND", "OR", "XOR", RESERVED]),
    flag(72, &["", "EX"]),
    up(81),
    up(84),
    ur(24),
    b(SignedHex),
    upin(87),
    upin(68).only(72, 1, 1),
];

/// What is compared on `sm_120`.
const COMPARED: Part = m(73, 1, &["U32", "", "U64", "S64"]).above(80, 1);
/// The same with operands of 32 or 64 bits.
const UISETP_120: &[Part] = &[
    m(76, 3, &["F", "LT", "EQ", "LE", "GT", "NE", "GE", "T"]),
    COMPARED,
    m(74, 2, &["AND", "OR", "XOR", RESERVED]),
    flag(72, &["", "EX"]),
    up(81),
    up(84),
    ur(24).sized(&COMPARED),
    b(SignedHex).sized(&COMPARED),
    upin(87),
    upin(68).only(72, 1, 1),
];

/// What minima and maxima are of.
const VIMNMX: Part = m(72, 3, &["U32", "S32", "U16x2", "S16x2", "U8x4", "S8x4", RESERVED, RESERVED]);
/// The same of 32 or 64 bits.
const EXTREME: Part = m(73, 2, &["U32", "", "U64", "S64"]);
/// What sums are of.
const SUM: Part = m(73, 3, &["32", "16x2", "S32", "S16x2", "U8x4", "S8x4", RESERVED, RESERVED]);
/// Tables over three uniform predicates: see `PLOP3`.
const UPLOP3: &[Part] = &[up(81), up(84), upin(87), upin(77), upin(68), imm(64, 3, Hex).above(72, 5), imm(16, 8, Hex)];

/// The uniform predicates, written at once.
const WRITTEN: Part = at(What::Word("UPR"), 0, 0).written();
/// How much is copied on `sm_120`.
const MOVED: Part = flag(80, &["", "64"]);

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("UIADD3", 0x090, UNIFORM_UNIT, UIADD3).forms(BOTH).marks(NEG, NEG).uniform().fixed(FIXED_U).sms(80, 90),
    Row::new("UIADD3", 0x090, UNIFORM_UNIT, UIADD3_100).forms(BOTH).marks(NEG, NEG).uniform().fixed(FIXED_U).since(100),
    Row::new("UIADD3.64", 0x097, UNIFORM_UNIT, UIADD3_64)
        .forms(BOTH)
        .marks(NEG, NEG)
        .uniform()
        .fixed(FIXED_U)
        .sms(80, 90),
    Row::new("UIADD3.64", 0x097, UNIFORM_UNIT, UIADD3_64_100)
        .forms(BOTH)
        .marks(NEG, NEG)
        .uniform()
        .fixed(FIXED_U)
        .since(100),
    Row::new("ULEA", 0x091, UNIFORM_UNIT.after(6), ULEA).forms(BOTH).marks(NEG, PLAIN).uniform().fixed(FIXED_U),
    Row::new("ULEA.HI", 0x091, UNIFORM_UNIT, ULEA_HI).forms(BOTH).marks(NEG, PLAIN).uniform().fixed(&[U, HI]),
    Row::new("ULEA.HI", 0x091, UNIFORM_UNIT, ULEA_HI_IMMEDIATE).forms(&[Ri]).uniform().fixed(&[U, HI]),
    Row::new("UPOPC", 0x0bf, UNIFORM_UNIT, &[ur(16), b(Hex)]).forms(BOTH).marks(INV, PLAIN).uniform().fixed(FIXED_U),
    Row::new("UBREV", 0x0be, UNIFORM_UNIT, &[ur(16), b(Hex)]).forms(BOTH).uniform().fixed(FIXED_U),
    Row::new("UFLO", 0x0bd, UNIFORM_UNIT, &[U32, flag(74, &["", "SH"]), ur(16), up(81).unless(7), b(Hex)])
        .forms(BOTH)
        .marks(INV, PLAIN)
        .uniform()
        .fixed(FIXED_U),
    Row::new("USGXT", 0x09a, UNIFORM_UNIT, &[flag(75, &["", "W"]), U32, ur(16), ur(24), b(Hex)])
        .forms(BOTH)
        .uniform()
        .fixed(FIXED_U),
    Row::new("UBMSK", 0x09b, UNIFORM_UNIT, &[flag(75, &["", "W"]), ur(16), ur(24), b(Hex)])
        .forms(BOTH)
        .uniform()
        .fixed(FIXED_U),
    Row::new("UPRMT", 0x096, UNIFORM_UNIT, &[ur(16), ur(24), b(Hex), c(Hex)]).forms(BOTH).uniform().fixed(FIXED_U),
    Row::new("UP2UR", 0x083, UNIFORM_UNIT, &[BYTE, ur(16), at(What::Word("UPR"), 0, 0), ur(24), b(Hex)])
        .forms(&[Ir, Ur])
        .uniform()
        .fixed(FIXED_U),
    Row::new("UR2UP", 0x084, UNIFORM_UNIT, &[WRITTEN, ur(24).suffix(76, 2, BYTES), b(Hex).unless(0xff)])
        .forms(&[Ir])
        .uniform()
        .fixed(FIXED_U),
    Row::new("UR2UP", 0x084, UNIFORM_UNIT, &[WRITTEN, ur(24).suffix(76, 2, BYTES), b(Hex)])
        .forms(&[Ur])
        .uniform()
        .fixed(FIXED_U),
    Row::new("VOTEU", 0x886, VOTING.uniform().after(2), VOTEU).uniform().sms(80, 89),
    Row::new("VOTEU", 0x886, VOTING.uniform().after(2), VOTEU).sms(90, 90),
    Row::new("VOTEU", 0x886, VOTING.uniform().after(2), VOTEU_100).since(100),
    Row::new("ULOP3.LUT", 0x092, UNIFORM_UNIT, ULOP3).forms(BOTH).uniform().fixed(FIXED_U),
    Row::new("USHF", 0x099, UNIFORM_UNIT, USHF).forms(ALL).uniform().fixed(FIXED_U),
    Row::new("UIMAD", 0x0a4, UNIFORM_UNIT, UIMAD)
        .forms(ALL)
        .marks(PLAIN, NEG)
        .uniform()
        .fixed(&[U, (Bits::new(81, 3), 7)]),
    Row::new("UIMAD.WIDE", 0x0a5, UNIFORM_UNIT, UIMAD_WIDE).forms(BOTH).marks(PLAIN, NEG).uniform().fixed(FIXED_U),
    Row::new("UISETP", 0x08c, UNIFORM_UNIT.after(6), UISETP).forms(BOTH).uniform().fixed(FIXED_U).sms(80, 110),
    Row::new("UISETP", 0x08c, UNIFORM_UNIT.after(6), UISETP_120).forms(BOTH).uniform().fixed(FIXED_U).since(120),
    Row::new("USEL", 0x087, UNIFORM_UNIT, &[ur(16), ur(24), b(Hex), upin(87)]).forms(BOTH).uniform().fixed(FIXED_U),
    Row::new("USEL.64", 0xc87, UNIFORM_UNIT, &[ur(16).words(2), ur(24).words(2), ur(32).words(2), upin(87)])
        .uniform()
        .fixed(FIXED_U)
        .since(120),
    Row::new("USEL.64", 0x487, UNIFORM_UNIT, &[ur(16).words(2), ur(24).words(2), imm(32, 33, SignedHex), upin(87)])
        .uniform()
        .fixed(FIXED_U)
        .since(120),
    Row::new("UPLOP3.LUT", 0x89c, UNIFORM_UNIT, UPLOP3).uniform(),
    Row::new("UMOV.64", 0x482, UNIFORM_UNIT, &[ur(16).words(2), imm(24, 64, Hex)]).uniform().fixed(FIXED_U).since(120),
    Row::new(
        "UVIMNMX",
        0x04a,
        UNIFORM_UNIT,
        &[VIMNMX, flag(76, &["", "RELU"]), ur(16), ur(24), b(SignedHex), upin(87)],
    )
    .forms(BOTH)
    .uniform()
    .fixed(&[U, (Bits::new(81, 6), 0x3f)])
    .since(120),
    Row::new("UVIADD", 0x049, UNIFORM_UNIT, &[SUM, flag(80, &["", "ISAT"]), ur(16), ur(24).neg(72), b(Hex)])
        .forms(BOTH)
        .marks(NEG, PLAIN)
        .uniform()
        .fixed(FIXED_U)
        .since(120),
    Row::new("UIABS", 0x04d, UNIFORM_UNIT, &[ur(16), b(SignedHex)]).forms(BOTH).uniform().fixed(FIXED_U).since(120),
    Row::new(
        "UIMNMX",
        0x085,
        UNIFORM_UNIT,
        &[
            EXTREME,
            up(81),
            up(84),
            ur(16).sized(&EXTREME),
            ur(24).sized(&EXTREME),
            b(SignedHex).sized(&EXTREME),
            upin(87),
            upin(77),
        ],
    )
    .forms(BOTH)
    .uniform()
    .fixed(FIXED_U)
    .since(120),
    Row::new("UIMAD.HI", 0x0a6, UNIFORM_UNIT, UIMAD_HI)
        .forms(BOTH)
        .marks(PLAIN, NEG)
        .uniform()
        .fixed(FIXED_U)
        .since(120),
    Row::new("UMOV", 0x882, UNIFORM_UNIT.after(2), &[ur(16), imm(32, 32, Hex)]).uniform(),
    Row::new("UMOV", 0xc82, UNIFORM_UNIT.after(2), &[ur(16), ur(32)]).uniform().fixed(FIXED_U).sms(80, 110),
    Row::new("UMOV", 0xc82, UNIFORM_UNIT.after(2), &[MOVED, ur(16).sized(&MOVED), ur(32).sized(&MOVED)])
        .uniform()
        .fixed(FIXED_U)
        .since(120),
];
