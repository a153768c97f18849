//! Products of matrices in shared memory by four warps, which only `sm_90` has.

use super::matrix_widths as widths;
use super::prelude::*;
use crate::row::Widths;

/// Shapes of products of halves.
#[rustfmt::skip]
const HALF: Names = &[
    "64x8x16", "64x16x16", "64x24x16", "64x32x16", "64x40x16", "64x48x16", "64x56x16", "64x64x16", "64x72x16",
    "64x80x16", "64x88x16", "64x96x16", "64x104x16", "64x112x16", "64x120x16", "64x128x16", "64x136x16",
    "64x144x16", "64x152x16", "64x160x16", "64x168x16", "64x176x16", "64x184x16", "64x192x16", "64x200x16",
    "64x208x16", "64x216x16", "64x224x16", "64x232x16", "64x240x16", "64x248x16", "64x256x16", "64x8x8", "64x16x8",
    "64x24x8", "64x32x8", "64x40x8", "64x48x8", "64x56x8", "64x64x8", "64x72x8", "64x80x8", "64x88x8", "64x96x8",
    "64x104x8", "64x112x8", "64x120x8", "64x128x8", "64x136x8", "64x144x8", "64x152x8", "64x160x8", "64x168x8",
    "64x176x8", "64x184x8", "64x192x8", "64x200x8", "64x208x8", "64x216x8", "64x224x8", "64x232x8", "64x240x8",
    "64x248x8", "64x256x8", RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED,
];
/// The same of sparse matrices.
#[rustfmt::skip]
const HALF_SP: Names = &[
    "64x8x16", "64x16x16", "64x24x16", "64x32x16", "64x40x16", "64x48x16", "64x56x16", "64x64x16", "64x72x16",
    "64x80x16", "64x88x16", "64x96x16", "64x104x16", "64x112x16", "64x120x16", "64x128x16", "64x136x16",
    "64x144x16", "64x152x16", "64x160x16", "64x168x16", "64x176x16", "64x184x16", "64x192x16", "64x200x16",
    "64x208x16", "64x216x16", "64x224x16", "64x232x16", "64x240x16", "64x248x16", "64x256x16", RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, "64x8x32", "64x16x32",
    "64x24x32", "64x32x32", "64x40x32", "64x48x32", "64x56x32", "64x64x32", "64x72x32", "64x80x32", "64x88x32",
    "64x96x32", "64x104x32", "64x112x32", "64x120x32", "64x128x32", "64x136x32", "64x144x32", "64x152x32",
    "64x160x32", "64x168x32", "64x176x32", "64x184x32", "64x192x32", "64x200x32", "64x208x32", "64x216x32",
    "64x224x32", "64x232x32", "64x240x32", "64x248x32", "64x256x32", RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
];
/// Shapes of products of floats of eight bits.
#[rustfmt::skip]
const BYTE: Names = &[
    "64x8x32", "64x16x32", "64x24x32", "64x32x32", "64x40x32", "64x48x32", "64x56x32", "64x64x32", "64x72x32",
    "64x80x32", "64x88x32", "64x96x32", "64x104x32", "64x112x32", "64x120x32", "64x128x32", "64x136x32",
    "64x144x32", "64x152x32", "64x160x32", "64x168x32", "64x176x32", "64x184x32", "64x192x32", "64x200x32",
    "64x208x32", "64x216x32", "64x224x32", "64x232x32", "64x240x32", "64x248x32", "64x256x32", RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
];
/// The same of sparse matrices.
#[rustfmt::skip]
const BYTE_SP: Names = &[
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, "64x8x64",
    "64x16x64", "64x24x64", "64x32x64", "64x40x64", "64x48x64", "64x56x64", "64x64x64", "64x72x64", "64x80x64",
    "64x88x64", "64x96x64", "64x104x64", "64x112x64", "64x120x64", "64x128x64", "64x136x64", "64x144x64",
    "64x152x64", "64x160x64", "64x168x64", "64x176x64", "64x184x64", "64x192x64", "64x200x64", "64x208x64",
    "64x216x64", "64x224x64", "64x232x64", "64x240x64", "64x248x64", "64x256x64",
];
/// Shapes of products of whole numbers.
#[rustfmt::skip]
const WHOLE: Names = &[
    "64x8x32", RESERVED, RESERVED, "64x16x32", RESERVED, RESERVED, "64x24x32", RESERVED, RESERVED, "64x32x32",
    RESERVED, RESERVED, "64x48x32", RESERVED, RESERVED, "64x64x32", RESERVED, RESERVED, "64x80x32", RESERVED,
    RESERVED, "64x96x32", RESERVED, RESERVED, "64x112x32", RESERVED, RESERVED, "64x128x32", RESERVED, RESERVED,
    "64x144x32", RESERVED, RESERVED, "64x160x32", RESERVED, RESERVED, "64x176x32", RESERVED, RESERVED, "64x192x32",
    RESERVED, RESERVED, "64x208x32", RESERVED, RESERVED, "64x224x32", RESERVED, RESERVED, "64x240x32", RESERVED,
    RESERVED, "64x256x32", RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED,
];
/// The same of sparse matrices.
#[rustfmt::skip]
const WHOLE_SP: Names = &[
    RESERVED, "64x8x64", RESERVED, RESERVED, "64x16x64", RESERVED, RESERVED, "64x24x64", RESERVED, RESERVED,
    "64x32x64", RESERVED, RESERVED, "64x48x64", RESERVED, RESERVED, "64x64x64", RESERVED, RESERVED, "64x80x64",
    RESERVED, RESERVED, "64x96x64", RESERVED, RESERVED, "64x112x64", RESERVED, RESERVED, "64x128x64", RESERVED,
    RESERVED, "64x144x64", RESERVED, RESERVED, "64x160x64", RESERVED, RESERVED, "64x176x64", RESERVED, RESERVED,
    "64x192x64", RESERVED, RESERVED, "64x208x64", RESERVED, RESERVED, "64x224x64", RESERVED, RESERVED, "64x240x64",
    RESERVED, RESERVED, "64x256x64", RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED,
];
/// Shapes of products of bits.
#[rustfmt::skip]
const BIT: Names = &[
    "64x8x256", "64x16x256", "64x24x256", "64x32x256", "64x48x256", "64x64x256", "64x80x256", "64x96x256",
    "64x112x256", "64x128x256", "64x144x256", "64x160x256", "64x176x256", "64x192x256", "64x208x256", "64x224x256",
    "64x240x256", "64x256x256", RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
];

const DENSE: Part = flag(73, &["", RESERVED]);
const SPARSE: Part = flag(73, &[RESERVED, "SP"]);
/// A register says which metadata counts.
const OFFSET: Part = flag(74, &["", "REGOFFSET"]);
const RESULT: Part = flag(75, &["F16", "F32"]);
const METADATA: Part = r(40);
/// Nothing reads their bits where no matrix is sparse.
const NO_METADATA: Part = any(40, 10);
const SELECTOR: Part = imm(48, 2, Hex);
/// Whether the sum is added, unless it always is.
const ADDS: Part = up(87).backwards().not(90).unless(7);
/// The scoreboard of the group, unless the product does not count there.
const BOARD: Part =
    Part::new(What::Name(&["gsb0", RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, ""]), Bits::new(84, 3))
        .unless(7);

const fn mark(bit: u8, names: Names) -> Part {
    Part::new(What::Mark(names), Bits::new(bit, 1))
}

const fn matrix(low: u8) -> Part {
    // The descriptors of both matrices, be the first one in registers or not.
    Part::new(What::Within("gdesc"), Bits::new(low, 6)).words(4)
}

/// Both matrices in shared memory, then the first in registers.
macro_rules! both {
    ([$($modifier:expr),*], [$($mark:expr),*], [$($behind:expr),*]) => {
        &[$($modifier,)* rd(), matrix(24), $($mark,)* r(64), ADDS, $($behind,)* BOARD]
    };
}
macro_rules! second {
    ([$($modifier:expr),*], $first:expr, [$($mark:expr),*], [$($behind:expr),*]) => {
        &[$($modifier,)* rd(), $first, matrix(32), $($mark,)* r(64), ADDS, $($behind,)* BOARD]
    };
}

const TRANSPOSES_A: Part = mark(61, &["", "tnspA"]);
const TRANSPOSES_B: Part = mark(62, &["", "tnspB"]);
const NEGATES_A: Part = mark(72, &["", "negA"]);
const NEGATES_B: Part = mark(63, &["", "negB"]);
const HALF_TYPE: Part = m(76, 2, &["", "BF16", "TF32", RESERVED]);
const A_BYTE: Part = flag(76, &["E4M3", "E5M2"]);
const B_BYTE: Part = flag(77, &["E4M3", "E5M2"]);
const A_WHOLE: Part = m(76, 2, &["U8", "S8", RESERVED, RESERVED]);
const B_WHOLE: Part = m(82, 2, &["U8", "S8", RESERVED, RESERVED]);
const SAT: Part = flag(75, &["", "SAT"]);
const AND: Part = m(77, 2, &[RESERVED, RESERVED, "AND", RESERVED]);
const POPC: Part = flag(80, &[RESERVED, "POPC"]);

/// Bit 91: uniform registers name the matrices.
const WITH_UNIFORM: &[(Bits, u64)] = &[(Bits::new(91, 1), 1)];

const fn row(name: &'static str, opcode: u16, class: Class, widths: Widths, parts: &'static [Part]) -> Row {
    Row::new(name, opcode, class, parts).widths(widths).fixed(WITH_UNIFORM).sms(90, 99)
}

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("WARPGROUP.ARRIVE", 0x9c5, ASYNCHRONOUS, &[]).sms(90, 90),
    Row::new("WARPGROUP.DEPBAR.LE", 0x9c5, ASYNCHRONOUS, &[at(What::Word("gsb0"), 0, 0), imm(72, 3, Hex)])
        .fixed(&[(Bits::new(47, 1), 1), (Bits::new(80, 1), 1)])
        .sms(90, 90),
    row(
        "HGMMA",
        0x9f0,
        ASYNCHRONOUS,
        widths::hgmma,
        both!(
            [DENSE, m(53, 7, HALF), RESULT, HALF_TYPE],
            [NEGATES_A, NEGATES_B, TRANSPOSES_A, TRANSPOSES_B],
            [NO_METADATA]
        ),
    ),
    row(
        "HGMMA",
        0x9f0,
        ASYNCHRONOUS,
        widths::hgmma,
        both!(
            [SPARSE, OFFSET, m(53, 7, HALF_SP), RESULT, HALF_TYPE],
            [NEGATES_A, NEGATES_B, TRANSPOSES_A, TRANSPOSES_B],
            [METADATA, SELECTOR]
        ),
    ),
    row(
        "HGMMA",
        0xdf0,
        ASYNCHRONOUS,
        widths::hgmma,
        second!(
            [DENSE, m(53, 7, HALF), RESULT, HALF_TYPE],
            r(24).neg(72),
            [NEGATES_B, TRANSPOSES_B, any(61, 1)],
            [NO_METADATA]
        ),
    ),
    row(
        "HGMMA",
        0xdf0,
        ASYNCHRONOUS,
        widths::hgmma,
        second!(
            [SPARSE, OFFSET, m(53, 7, HALF_SP), RESULT, HALF_TYPE],
            r(24).neg(72),
            [NEGATES_B, TRANSPOSES_B, any(61, 1)],
            [METADATA, SELECTOR]
        ),
    ),
    row(
        "QGMMA",
        0x9f3,
        ASYNCHRONOUS,
        widths::hgmma,
        both!([DENSE, m(53, 6, BYTE), RESULT, A_BYTE, B_BYTE], [NEGATES_A, NEGATES_B], [NO_METADATA]),
    ),
    row(
        "QGMMA",
        0x9f3,
        ASYNCHRONOUS,
        widths::hgmma,
        both!(
            [SPARSE, OFFSET, m(53, 6, BYTE_SP), RESULT, A_BYTE, B_BYTE],
            [NEGATES_A, NEGATES_B],
            [METADATA, SELECTOR.unless(0)]
        ),
    ),
    row(
        "QGMMA",
        0xdf3,
        ASYNCHRONOUS,
        widths::hgmma,
        second!([DENSE, m(53, 6, BYTE), RESULT, A_BYTE, B_BYTE], r(24).neg(72), [NEGATES_B], [NO_METADATA]),
    ),
    row(
        "QGMMA",
        0xdf3,
        ASYNCHRONOUS,
        widths::hgmma,
        second!(
            [SPARSE, OFFSET, m(53, 6, BYTE_SP), RESULT, A_BYTE, B_BYTE],
            r(24).neg(72),
            [NEGATES_B],
            [METADATA, SELECTOR.unless(0)]
        ),
    ),
    row(
        "IGMMA",
        0x9f1,
        ASYNCHRONOUS,
        widths::igmma,
        both!([DENSE, m(53, 6, WHOLE), A_WHOLE, B_WHOLE, SAT], [], [NO_METADATA]),
    ),
    row(
        "IGMMA",
        0x9f1,
        ASYNCHRONOUS,
        widths::igmma,
        both!([SPARSE, OFFSET, m(53, 6, WHOLE_SP), A_WHOLE, B_WHOLE, SAT], [], [METADATA, SELECTOR.unless(0)]),
    ),
    row(
        "IGMMA",
        0xdf1,
        ASYNCHRONOUS,
        widths::igmma,
        second!([DENSE, m(53, 6, WHOLE), A_WHOLE, B_WHOLE, SAT], r(24), [], [NO_METADATA]),
    ),
    row(
        "IGMMA",
        0xdf1,
        ASYNCHRONOUS,
        widths::igmma,
        second!([SPARSE, OFFSET, m(53, 6, WHOLE_SP), A_WHOLE, B_WHOLE, SAT], r(24), [], [METADATA, SELECTOR.unless(0)]),
    ),
    row("BGMMA", 0x9f2, ASYNCHRONOUS, widths::bgmma, both!([m(53, 6, BIT), AND, POPC], [], [])),
    row("BGMMA", 0xdf2, ASYNCHRONOUS, widths::bgmma, second!([m(53, 6, BIT), AND, POPC], r(24), [], [])),
];
