//! Products of matrices in registers, and the loads and stores of their tiles.

use super::float::ROUND;
use super::matrix_widths as widths;
use super::prelude::*;

/// Whether the sum is added, unless it always is.
const fn adds() -> Part {
    up(87).backwards().not(90).unless(7)
}
const DENSE: Part = flag(73, &["", RESERVED]);
const SPARSE: Part = flag(73, &[RESERVED, "SP"]);
/// The register of the metadata of a sparse matrix, and which of its parts counts.
const METADATA: Part = r(40);
/// The same where it can stay in the operand cache.
const CACHED: Part = METADATA.reuse(50);
/// ptxas sets this bit for products of nibbles, which it makes from those of bytes; nvdisasm shows nothing of it.
const STAYS: Part = any(125, 1);
/// Nothing reads their bits where no matrix is sparse.
const NO_METADATA: Part = any(40, 11);
const SELECTOR: Part = imm(48, 2, Hex);

const HMMA_TYPE: Names = &["", "BF16", "TF32", RESERVED];

/// Sources of a product by the SMs: those that can stay in the operand cache, and what follows them.
macro_rules! hmma {
    ($sparse:expr, $shape:expr, $first:expr $(, $more:expr)*) => {
        &[
            $sparse,
            flag(75, $shape).above(78, 1),
            flag(76, &["F16", "F32"]),
            m(82, 2, HMMA_TYPE),
            rd(),
            $first.neg(72),
            rb().neg(63),
            r(64)
            $(, $more)*
        ]
    };
}
const HMMA_SHAPE: Names = &["1688", "16816", "1684", RESERVED];
const HMMA_SP_SHAPE: Names = &["1688", "16816", RESERVED, "16832"];

const IMMA_DENSE: Part = flag(72, &["", RESERVED]);
const IMMA_SPARSE: Part = flag(72, &[RESERVED, "SP"]);
/// The elements of a matrix: two bits, and above them one for those of four bits.
const BYTES: Names = &["U8", "S8", RESERVED, RESERVED];
const BYTES_OR_LESS: Names = &["U8", "S8", RESERVED, RESERVED, "U4", "S4", RESERVED, RESERVED];
const ROW: Names = &["ROW", RESERVED, RESERVED, RESERVED];
const COL: Names = &[RESERVED, "COL", RESERVED, RESERVED];
/// The shape, by bit 75 and, above it, 85 and 86.
const IMMA_SHAPE: Names = &["8816", RESERVED, RESERVED, RESERVED, "16816", "16832", RESERVED, RESERVED];
const IMMA_SP_SHAPE: Names = &[RESERVED, RESERVED, "8832", RESERVED, RESERVED, "16832", "16864", RESERVED];
const IMMA_SHAPE_80: Names = &["8816", RESERVED, "8832", RESERVED, "16816", "16832", "16864", RESERVED];
const IMMA_SP_SHAPE_80: Names = &[RESERVED, RESERVED, "8832", "8864", RESERVED, "16832", "16864", "168128"];
const IMMA_SHAPE_100: Names = &[RESERVED, RESERVED, RESERVED, RESERVED, "16816", "16832", RESERVED, RESERVED];
const IMMA_SP_SHAPE_100: Names = &[RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, "16832", "16864", RESERVED];

macro_rules! imma {
    ($sparse:expr, $shape:expr, $first:expr, $elements:expr $(, $more:expr)*) => {
        &[
            $sparse,
            flag(75, $shape).above(85, 2),
            $elements.0,
            $elements.1,
            flag(82, &["", "SAT"]),
            rd(),
            $first.suffix(73, 1, ROW),
            rb().suffix(74, 1, COL),
            r(64)
            $(, $more)*
        ]
    };
}

/// The elements of both.
const OF_BYTES: (Part, Part) = (m(76, 2, BYTES), m(78, 2, BYTES));
const OF_BYTES_OR_LESS: (Part, Part) = (m(76, 2, BYTES_OR_LESS).above(83, 1), m(78, 2, BYTES_OR_LESS).above(84, 1));

/// Products of bits, which a count joins.
macro_rules! bmma {
    ($operation:expr $(, $more:expr)*) => {
        &[
            m(75, 2, &["88128", "168128", "168256", RESERVED]),
            m(77, 2, $operation),
            flag(80, &[RESERVED, "POPC"]),
            rd(),
            ra().suffix(73, 1, ROW),
            rb().suffix(74, 1, COL),
            r(64)
            $(, $more)*
        ]
    };
}

macro_rules! dmma {
    ($shape:expr $(, $more:expr)*) => {
        &[
            m(76, 2, $shape),
            m(78, 2, ROUND),
            rd(),
            ra().neg(72).abs(73),
            rb().neg(63).abs(62),
            r(64).neg(75).abs(74)
            $(, $more)*
        ]
    };
}

/// Elements of less than 16 bits: one bit, and two above it.
const SMALL: Names = &["E4M3", "E5M2", RESERVED, "E3M2", "E2M3", "E2M1", RESERVED, RESERVED];
const A_SMALL: Part = flag(78, SMALL).above(82, 2);
const B_SMALL: Part = flag(79, SMALL).above(84, 2);
const QMMA_DENSE: Part = flag(80, &["", RESERVED]);
const QMMA_SPARSE: Part = flag(80, &[RESERVED, "SP"]);
const E8: Part = m(86, 1, &["E8", RESERVED]);
/// Scales by blocks, and how many there are.
const SCALE: Names = &["E8.4X", "UE4M3.4X", "E8", "UE4M3"];
/// Where scaled products have the scales: of the first matrix, of the second, which of them.
const A_SCALES: Part = r(40);
const B_SCALES: Part = r(52).reuse(51);
const SCALE_UR: Part = Part::new(What::Register(File::Ur), Bits::new(60, 3)).above(73, 5);

macro_rules! qmma {
    ([$($modifier:expr),*] $(, $behind:expr)*) => {
        &[$($modifier,)* rd(), r(24).neg(72), rb().neg(63), r(64), adds() $(, $behind)*]
    };
}

const MOVM_SHAPE: Names = &["MT88", "M832", "M864", RESERVED];
const COUNT: Names = &["", "2", "4", RESERVED];

/// Tiles are of elements of 16 bits before `sm_100`.
macro_rules! tile {
    ($size:expr, $shape:expr, $($operand:expr),*) => {
        &[$size, $shape, m(72, 2, COUNT), $($operand),*]
    };
}
const SIZE_16: Part = m(75, 3, &["16"]);
const LDSM_SIZE: Part = m(75, 3, &["16", RESERVED, RESERVED, RESERVED, RESERVED, "U4x16P64TO8", "U6x16P32TO8", "8"]);
const LDSM_SHAPE: Part = m(78, 2, &["M88", "MT88", "M816", "M832"]);
const LDSM_SHAPE_100: Part = m(78, 3, &["M88", "MT88", "M816", "M832", "MT1616", RESERVED, RESERVED, RESERVED]);
const STSM_SIZE: Part = flag(75, &["16", "8"]);
const STSM_SHAPE: Part = flag(78, &["M88", "MT88"]);
const STSM_SHAPE_100: Part = m(78, 2, &["M88", "MT88", "MT168", RESERVED]);
const BASE: Part = Part::new(What::Base, Bits::new(24, 8));
const UNIFORM_BASE: Part = Part::new(What::UniformBase, Bits::new(32, 6));
const STSM_UNIFORM: Part = Part::new(What::UniformBase, Bits::new(64, 6));
/// The bit on top negates it, also where it stands alone.
const OFFSET: Part = Part::new(What::Offset, Bits::new(40, 24)).neg(63);
/// Bit 91: a uniform register is added to the address.
const PLAIN_ADDRESS: &[(Bits, u64)] = &[(Bits::new(91, 1), 0)];
const UNIFORM_ADDRESS: &[(Bits, u64)] = &[(Bits::new(91, 1), 1)];

/// ptxas sets this bit of products of bytes that are floats; nvdisasm shows nothing of it. On `sm_89` it says how the
/// second factor lies.
const UNREAD: Part = any(74, 1);

/// Products of bytes that are floats on `sm_89`, which has two kinds of them.
macro_rules! qmma_89 {
    ($sparse:expr, $shape:expr $(, $behind:expr)*) => {
        &[
            $sparse,
            m(75, 2, $shape),
            flag(77, &["F16", "F32"]),
            flag(78, &["E4M3", "E5M2"]),
            flag(79, &["E4M3", "E5M2"]),
            rd(),
            ra().neg(72).suffix(73, 1, ROW),
            rb().neg(63).suffix(74, 1, COL),
            r(64),
            adds()
            $(, $behind)*
        ]
    };
}

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("HMMA", 0x23c, MATRIX, hmma!(DENSE, HMMA_SHAPE, ra(), NO_METADATA)).widths(widths::hmma).sms(80, 80),
    Row::new("HMMA", 0x23c, MATRIX, hmma!(DENSE, HMMA_SHAPE, ra(), adds(), NO_METADATA))
        .widths(widths::hmma)
        .sms(86, 89),
    Row::new("HMMA", 0x23c, MATRIX, hmma!(SPARSE, HMMA_SP_SHAPE, ra(), CACHED, SELECTOR))
        .widths(widths::hmma)
        .sms(80, 80),
    Row::new("HMMA", 0x23c, MATRIX, hmma!(SPARSE, HMMA_SP_SHAPE, ra(), adds(), CACHED, SELECTOR))
        .widths(widths::hmma)
        .sms(86, 89),
    Row::new("HMMA", 0x23c, MATRIX, hmma!(DENSE, HMMA_SHAPE, ra(), adds(), NO_METADATA))
        .widths(widths::hmma)
        .sms(90, 119),
    Row::new("HMMA", 0x23c, MATRIX, hmma!(SPARSE, HMMA_SP_SHAPE, ra(), adds(), CACHED, SELECTOR))
        .widths(widths::hmma)
        .sms(90, 119),
    Row::new("HMMA", 0x23c, MATRIX, hmma!(DENSE, HMMA_SHAPE, r(24), adds(), NO_METADATA))
        .widths(widths::hmma)
        .since(120),
    Row::new("HMMA", 0x23c, MATRIX, hmma!(SPARSE, HMMA_SP_SHAPE, r(24), adds(), METADATA, SELECTOR))
        .widths(widths::hmma)
        .since(120),
    Row::new("IMMA", 0x237, MATRIX, imma!(IMMA_DENSE, IMMA_SHAPE_80, ra(), OF_BYTES_OR_LESS, NO_METADATA))
        .widths(widths::imma)
        .sms(80, 80),
    Row::new("IMMA", 0x237, MATRIX, imma!(IMMA_DENSE, IMMA_SHAPE_80, ra(), OF_BYTES_OR_LESS, adds(), NO_METADATA))
        .widths(widths::imma)
        .sms(86, 89),
    Row::new("IMMA", 0x237, MATRIX, imma!(IMMA_SPARSE, IMMA_SP_SHAPE_80, ra(), OF_BYTES_OR_LESS, CACHED, SELECTOR))
        .widths(widths::imma)
        .sms(80, 80),
    Row::new(
        "IMMA",
        0x237,
        MATRIX,
        imma!(IMMA_SPARSE, IMMA_SP_SHAPE_80, ra(), OF_BYTES_OR_LESS, adds(), CACHED, SELECTOR),
    )
    .widths(widths::imma)
    .sms(86, 89),
    Row::new("IMMA", 0x237, MATRIX, imma!(IMMA_DENSE, IMMA_SHAPE, ra(), OF_BYTES, adds(), NO_METADATA))
        .widths(widths::imma)
        .sms(90, 99),
    Row::new("IMMA", 0x237, MATRIX, imma!(IMMA_SPARSE, IMMA_SP_SHAPE, ra(), OF_BYTES, adds(), CACHED, STAYS, SELECTOR))
        .widths(widths::imma)
        .sms(90, 99),
    Row::new("IMMA", 0x237, MATRIX, imma!(IMMA_DENSE, IMMA_SHAPE_100, ra(), OF_BYTES, adds(), NO_METADATA))
        .widths(widths::imma)
        .sms(100, 119),
    Row::new("IMMA", 0x237, MATRIX, imma!(IMMA_SPARSE, IMMA_SP_SHAPE_100, ra(), OF_BYTES, adds(), CACHED, SELECTOR))
        .widths(widths::imma)
        .sms(100, 119),
    Row::new("IMMA", 0x237, MATRIX, imma!(IMMA_DENSE, IMMA_SHAPE_100, r(24), OF_BYTES, adds(), NO_METADATA))
        .widths(widths::imma)
        .since(120),
    Row::new("IMMA", 0x237, MATRIX, imma!(IMMA_SPARSE, IMMA_SP_SHAPE_100, r(24), OF_BYTES, adds(), METADATA, SELECTOR))
        .widths(widths::imma)
        .since(120),
    Row::new("BMMA", 0x23d, MATRIX, bmma!(&["XOR", RESERVED, "AND", RESERVED])).widths(widths::bmma).sms(80, 80),
    Row::new("BMMA", 0x23d, MATRIX, bmma!(&["XOR", RESERVED, "AND", RESERVED], adds()))
        .widths(widths::bmma)
        .sms(86, 89),
    Row::new("BMMA", 0x23d, MATRIX, bmma!(&[RESERVED, RESERVED, "AND", RESERVED], adds()))
        .widths(widths::bmma)
        .sms(90, 99),
    Row::new("DMMA", 0x23f, MATRIX, dmma!(&["884", RESERVED, RESERVED, RESERVED])).widths(widths::dmma).sms(80, 80),
    Row::new("DMMA", 0x23f, MATRIX, dmma!(&["884", RESERVED, RESERVED, RESERVED], adds()))
        .widths(widths::dmma)
        .sms(86, 89),
    Row::new("DMMA", 0x23f, MATRIX, dmma!(&["8x8x4", "16x8x4", "16x8x8", "16x8x16"], adds()))
        .widths(widths::dmma)
        .sms(90, 99),
    Row::new("DMMA", 0x23f, MATRIX, dmma!(&["8x8x4", RESERVED, RESERVED, RESERVED], adds()))
        .widths(widths::dmma)
        .sms(100, 119),
    Row::new("DMMA", 0x23f, MATRIX, dmma!(&["8x8x4", RESERVED, RESERVED, RESERVED], adds()))
        .widths(widths::dmma)
        .no_reuse()
        .since(120),
    Row::new(
        "QMMA",
        0x27a,
        MATRIX,
        qmma!(
            [
                QMMA_DENSE,
                m(75, 2, &["16816", "16832", RESERVED, RESERVED]),
                flag(77, &["F16", "F32"]),
                A_SMALL,
                B_SMALL
            ],
            UNREAD
        ),
    )
    .widths(widths::qmma)
    .since(120),
    Row::new(
        "QMMA",
        0x27a,
        MATRIX,
        qmma!(
            [
                QMMA_SPARSE,
                m(75, 2, &[RESERVED, "16832", "16864", RESERVED]),
                flag(77, &["F16", "F32"]),
                A_SMALL,
                B_SMALL
            ],
            METADATA,
            UNREAD,
            SELECTOR
        ),
    )
    .widths(widths::qmma)
    .since(120),
    Row::new("QMMA", 0x27a, MATRIX, qmma_89!(QMMA_DENSE, &["16816", "16832", RESERVED, RESERVED]))
        .widths(widths::qmma)
        .sms(89, 89),
    Row::new("QMMA", 0x27a, MATRIX, qmma_89!(QMMA_SPARSE, &[RESERVED, "16832", "16864", RESERVED], CACHED, SELECTOR))
        .widths(widths::qmma)
        .sms(89, 89),
    Row::new(
        "QMMA.SF",
        0x47a,
        MATRIX,
        qmma!([flag(80, &["16832.F32", RESERVED]), A_SMALL, B_SMALL, E8], A_SCALES, B_SCALES, SCALE_UR, any(48, 2)),
    )
    .widths(widths::scaled_bytes)
    .since(120),
    Row::new(
        "QMMA.SF",
        0x47a,
        MATRIX,
        qmma!([flag(80, &[RESERVED, "SP.16864.F32"]), A_SMALL, B_SMALL, E8], A_SCALES, B_SCALES, SCALE_UR, SELECTOR),
    )
    .widths(widths::scaled_bytes)
    .since(120),
    Row::new(
        "OMMA.SF",
        0x47f,
        MATRIX,
        qmma!(
            [flag(80, &["16864.F32.E2M1.E2M1", RESERVED]), m(82, 2, SCALE)],
            A_SCALES,
            B_SCALES,
            SCALE_UR,
            any(48, 2)
        ),
    )
    .widths(widths::scaled_nibbles)
    .since(120),
    Row::new(
        "OMMA.SF",
        0x47f,
        MATRIX,
        qmma!(
            [flag(80, &[RESERVED, "SP.168128.F32.E2M1.E2M1"]), m(82, 2, SCALE)],
            A_SCALES,
            B_SCALES,
            SCALE_UR,
            SELECTOR
        ),
    )
    .widths(widths::scaled_nibbles)
    .since(120),
    Row::new("MOVM", 0x23a, MATRIX, &[SIZE_16, m(78, 2, MOVM_SHAPE), rd(), r(24)]).sms(80, 99),
    Row::new("MOVM", 0x23a, MATRIX, &[flag(75, &["16", "U4TO8"]), m(78, 2, MOVM_SHAPE), rd(), r(24)]).since(100),
    Row::new("LDSM", 0x83b, LOAD_SHARED.convergent(), tile!(SIZE_16, LDSM_SHAPE, rd(), BASE, OFFSET))
        .widths(widths::tiles)
        .fixed(PLAIN_ADDRESS)
        .sms(80, 99),
    Row::new("LDSM", 0x83b, LOAD_SHARED.convergent(), tile!(SIZE_16, LDSM_SHAPE, rd(), BASE, UNIFORM_BASE, OFFSET))
        .widths(widths::tiles)
        .fixed(UNIFORM_ADDRESS)
        .sms(80, 99),
    Row::new("LDSM", 0x83b, LOAD_SHARED.convergent(), tile!(LDSM_SIZE, LDSM_SHAPE_100, rd(), BASE, OFFSET))
        .widths(widths::tiles)
        .fixed(PLAIN_ADDRESS)
        .since(100),
    Row::new(
        "LDSM",
        0x83b,
        LOAD_SHARED.convergent(),
        tile!(LDSM_SIZE, LDSM_SHAPE_100, rd(), BASE, UNIFORM_BASE, OFFSET),
    )
    .widths(widths::tiles)
    .fixed(UNIFORM_ADDRESS)
    .since(100),
    Row::new("STSM", 0x844, STORE_SHARED.convergent(), tile!(SIZE_16, STSM_SHAPE, BASE, OFFSET, r(32)))
        .widths(widths::tiles)
        .fixed(PLAIN_ADDRESS)
        .sms(90, 99),
    Row::new("STSM", 0x844, STORE_SHARED.convergent(), tile!(SIZE_16, STSM_SHAPE, BASE, STSM_UNIFORM, OFFSET, r(32)))
        .widths(widths::tiles)
        .fixed(UNIFORM_ADDRESS)
        .sms(90, 99),
    Row::new(
        "STSM",
        0x844,
        STORE_SHARED.convergent(),
        tile!(STSM_SIZE, STSM_SHAPE_100, BASE, STSM_UNIFORM, OFFSET, r(32)),
    )
    .widths(widths::tiles)
    .fixed(UNIFORM_ADDRESS)
    .since(100),
    Row::new("STSM", 0x844, STORE_SHARED.convergent(), tile!(STSM_SIZE, STSM_SHAPE_100, BASE, OFFSET, r(32)))
        .widths(widths::tiles)
        .fixed(PLAIN_ADDRESS)
        .since(100),
];
