//! Bulk copies and reductions, by address or by tensor map; operations between the blocks of a cluster.

use super::prelude::*;
use crate::row::Rule;

const R: &str = RESERVED;
/// How many dimensions a tensor has.
const DIMENSIONS: Part = m(79, 3, &["1D", "2D", "3D", "4D", "5D", R, R, R]);
const IM2COL: Part = flag(82, &["", "IM2COL"]);
const MULTICAST: Part = flag(75, &["", "MULTICAST"]);
/// What is done at the destination.
const OP: Part = m(87, 3, &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"]);
/// Where a copy goes to and comes from: global or shared memory.
const TO: Part = flag(73, &["G", "S"]);
const FROM: Part = flag(74, &["G", "S"]);
/// What is copied: an address of shared memory has one word.
const COPIED: Part = ubase(24).sized(&FROM);
/// What a reduction at an address is of.
const TYPE: Part =
    m(81, 4, &["", "S32", "U64", "S64", "F16.RN", "F32.RN", "F32.FTZ.RN", "F64.RN", "BF16.RN", R, R, R, R, R, R, R]);
const FETCH: Part = m(81, 2, &["", "LTC64B", "LTC128B", "LTC256B"]);
const ORDER: Part = m(77, 4, &["", R, R, R, R, "STRONG.SM", R, "STRONG.GPU", R, R, "STRONG.SYS", R, R, R, R, R]);
/// The register behind the operands that says how lines are treated in the second cache.
const POLICY: Part = desc(40);
/// Set where it is there.
const HAS_POLICY: &[(Bits, u64)] = &[U, (Bits::new(76, 1), 1)];

/// A row without and one with a cache policy.
macro_rules! rows {
    ($($name:expr, $code:expr, $class:expr, [$($parts:expr),+]);+) => {
        &[$(
            Row::new($name, $code, $class, &[$($parts),+]).uniform().fixed(FIXED_U).since(90),
            Row::new($name, $code, $class, &[$($parts),+, POLICY]).uniform().fixed(HAS_POLICY).since(90),
        )+]
    };
}

/// The rows of operations that take a cache policy.
pub const ROWS: &[Row] = rows!(
    "UTMALDG", 0x3b4, ASYNCHRONOUS, [DIMENSIONS, IM2COL, MULTICAST, ubase(32), ubase(24), ur(64)];
    "UTMALDG", 0x5b4, ASYNCHRONOUS, [DIMENSIONS, ubase(32), ubase(24)];
    "UTMASTG", 0x3b5, ASYNCHRONOUS, [DIMENSIONS, IM2COL, ubase(32), ubase(24)];
    "UTMAREDG", 0x3b6, ASYNCHRONOUS, [DIMENSIONS, IM2COL, OP, ubase(32), ubase(24)];
    "UTMAPF.L2", 0x3b8, ASYNCHRONOUS, [DIMENSIONS, flag(82, &[R, "IM2COL"]), ubase(32), ubase(24), ur(64)];
    "UTMAPF.L2", 0x5b8, ASYNCHRONOUS, [DIMENSIONS, ubase(32), ubase(24)];
    "UBLKCP", 0x3ba, ASYNCHRONOUS,
    [TO, FROM, MULTICAST, FETCH, flag(83, &["", "SEQUENCED"]), ORDER, ubase64(32), COPIED, ur(64)];
    "UBLKRED", 0x3bb, ASYNCHRONOUS, [TO, flag(74, &[R, "S"]), OP, TYPE, ORDER, ubase64(32), ubase(24), ur(64)];
    "UBLKPF.L2", 0x3bc, ASYNCHRONOUS, [ubase64(24), ur(64)]
);

/// What registers a warp gives back or asks for.
const POOL: Part = flag(74, &[R, "CTAPOOL"]);
const DEALLOC: (Bits, u64) = (Bits::new(72, 2), 1);
const TRY_ALLOC: (Bits, u64) = (Bits::new(72, 2), 2);
/// Sizes of what a thread stores in another block.
const SIZE: Part = m(73, 3, &[R, R, R, R, "", "64", "128", R]);
const NARROW_BASE: Part = base(24).suffix(0, 0, &["U32"]);
/// What is read from all copies of an address together.
const MULTI_OP: Part = m(87, 4, &["ADD", "MIN", "MAX", R, R, "AND", "OR", "XOR", R, R, R, R, R, R, R, R]);
const MULTI_TYPE: Part = m(73, 3, &["32", "S32", "64", "S64", R, R, R, R]);
/// The same of floats: `sm_90` names the precision of its wider sums, later ones only that it is higher.
const MULTI_FLOAT_OP_90: Part = m(88, 2, &["ADD", "MIN", "MAX", "F32ADD"]);
const MULTI_FLOAT_OP: Part = m(88, 2, &["ADD", "MIN", "MAX", "HPADD"]);
const MULTI_FLOAT: Part = m(
    73,
    4,
    &[
        "F16x2.RN",
        "F16x4.RN",
        "F16x8.RN",
        "BF16x2.RN",
        "BF16x4.RN",
        "BF16x8.RN",
        R,
        R,
        R,
        R,
        R,
        R,
        "F32.RN",
        "F32x2.RN",
        "F32x4.RN",
        "F64.RN",
    ],
);
/// Floats of eight bits, by a bit of their own.
const MULTI_NARROW: Part = m(
    73,
    4,
    &[R, "E5M2x4.RN", "E5M2x8.RN", "E5M2x16.RN", "E4M3x4.RN", "E4M3x8.RN", "E4M3x16.RN", R, R, R, R, R, R, R, R, R],
);
const E: Part = flag(72, &["", "E"]);
const E_ALWAYS: Part = flag(72, &[R, "E"]);
const SYS: (Bits, u64) = (Bits::new(77, 4), 10);
const CACHE_OP: Part = m(87, 2, &["PF1", "PF2", "WB", "IV"]);

const fn bits(low: u8, value: u64) -> (Bits, u64) {
    (Bits::new(low, 1), value)
}

/// Loads of all replicas of a place, by the bits for 64-bit registers and for descriptors.
macro_rules! multicast_loads {
    (
        $first:expr, $last:expr; $wide:expr, $desc:expr;
        $($code:expr, $op:expr, $type:expr, [$($fixed:expr),*]);+
    ) => {
        &[$(
            Row::new(
                "LDGMC", $code, LOAD_GLOBAL,
                &[E_ALWAYS, $op, $type, STRONG, rd().sized(&$type), desc(64), base64(24), offset()],
            )
            .fixed(&[U, SYS, bits($wide, 1), bits($desc, 1), $($fixed),*])
            .sms($first, $last),
            Row::new(
                "LDGMC", $code, LOAD_GLOBAL,
                &[E_ALWAYS, $op, $type, STRONG, rd().sized(&$type), base64(24), ubase64(64), offset()],
            )
            .fixed(&[U, SYS, bits($wide, 1), bits($desc, 0), $($fixed),*])
            .sms($first, $last),
            Row::new(
                "LDGMC", $code, LOAD_GLOBAL,
                &[E, $op, $type, STRONG, rd().sized(&$type), NARROW_BASE, ubase64(64), offset()],
            )
            .fixed(&[U, SYS, bits($wide, 0), bits($desc, 0), $($fixed),*])
            .sms($first, $last),
        )+]
    };
}

/// Loads of multicast memory before `sm_100`.
pub const MULTICAST90: &[Row] = multicast_loads!(90, 90; 70, 71;
    0x9a4, MULTI_OP, MULTI_TYPE, [];
    0x9a5, MULTI_FLOAT_OP_90, MULTI_FLOAT, []
);
/// The same since.
pub const MULTICAST100: &[Row] = multicast_loads!(100, u16::MAX; 81, 82;
    0x9a4, MULTI_OP, MULTI_TYPE, [];
    0x9a5, MULTI_FLOAT_OP, MULTI_FLOAT, [bits(87, 0)];
    0x9a5, MULTI_FLOAT_OP, MULTI_NARROW, [bits(87, 1)]
);

/// Words of eight bytes that are filled with zeros: address, zero, how many.
const UMEMSETS: &[Part] = &[ubase(24), offset(), Part::new(What::Word("URZ"), Bits::NONE), ur(64)];

/// Whether another register is beside the one of the answer.
const HAS_NEXT: Rule = |word| Bits::new(24, 8).get(word) < 254;
/// Where the answer goes, and its barrier.
const NEXT_WORK: &[Part] =
    &[m(72, 1, &["SELFCAST", "BROADCAST"]), Part::new(What::Beside(["", ""]), Bits::new(24, 6)).words(2)];

/// The others.
pub const OTHERS: &[Row] = &[
    Row::new("UGETNEXTWORKID", 0x3ca, ASYNCHRONOUS, NEXT_WORK).uniform().fixed(FIXED_U).rule(HAS_NEXT).since(100),
    Row::new("UMEMSETS.64", 0x3cb, ASYNCHRONOUS, UMEMSETS).uniform().fixed(&[U, (Bits::new(32, 8), 255)]).since(100),
    Row::new("UTMACCTL", 0x9b9, FENCE, &[flag(82, &["IV", "PF"]), ubase64(24)]).uniform().fixed(FIXED_U).since(90),
    Row::new("UTMACMDFLUSH", 0x9b7, ASYNCHRONOUS, &[]).uniform().since(90),
    Row::new("UCGABAR_ARV", 0x9c7, CTA_BARRIER, &[]).uniform().fixed(FIXED_U).since(90),
    Row::new("UCGABAR_WAIT", 0xdc7, CTA_BARRIER, &[]).uniform().fixed(FIXED_U).since(90),
    Row::new("USETMAXREG.DEALLOC", 0x9c8, SLOW_STATE, &[POOL, imm(32, 10, Hex)])
        .uniform()
        .fixed(&[U, DEALLOC])
        .since(90),
    Row::new("USETMAXREG.DEALLOC", 0x3c8, SLOW_STATE, &[POOL, ur(32)]).uniform().fixed(&[U, DEALLOC]).since(90),
    Row::new("USETMAXREG.TRY_ALLOC", 0x9c8, SLOW_STATE, &[POOL, up(81), imm(32, 10, Hex)])
        .uniform()
        .fixed(&[U, TRY_ALLOC])
        .since(90),
    Row::new("USETMAXREG.TRY_ALLOC", 0x3c8, SLOW_STATE, &[POOL, up(81), ur(32)])
        .uniform()
        .fixed(&[U, TRY_ALLOC])
        .since(90),
    Row::new("USETSHMSZ", 0x9c9, SLOW_STATE, &[imm(32, 20, Hex)]).uniform().fixed(FIXED_U).since(90),
    Row::new("USETSHMSZ.FLUSH", 0x9c9, SLOW_STATE, &[]).uniform().fixed(&[U, (Bits::new(72, 1), 1)]).since(90),
    Row::new("USETSHMSZ", 0x3c9, SLOW_STATE, &[ur(32)]).uniform().fixed(FIXED_U).since(90),
    Row::new("STAS", 0xdbd, ASYNCHRONOUS, &[SIZE, base64(24), ubase(64).unless(63), offset(), r(32).sized(&SIZE)])
        .fixed(&[U, bits(90, 1)])
        .sms(90, 90),
    Row::new("STAS", 0xdbd, ASYNCHRONOUS, &[SIZE, base64(24), ubase(64).unless(255), offset(), r(32).sized(&SIZE)])
        .fixed(&[U, bits(90, 1)])
        .since(100),
    Row::new("STAS", 0xdbd, ASYNCHRONOUS, &[SIZE, NARROW_BASE, ubase(64), offset(), r(32).sized(&SIZE)])
        .fixed(&[U, bits(90, 0)])
        .since(90),
    Row::new(
        "REDAS",
        0xdbe,
        ASYNCHRONOUS,
        &[OP, REDAS_TYPE, base64(24), ubase(64).unless(63), offset(), r(32).sized(&REDAS_TYPE)],
    )
    .fixed(&[U, bits(72, 1)])
    .sms(90, 90),
    Row::new(
        "REDAS",
        0xdbe,
        ASYNCHRONOUS,
        &[OP, REDAS_TYPE, base64(24), ubase(64).unless(255), offset(), r(32).sized(&REDAS_TYPE)],
    )
    .fixed(&[U, bits(72, 1)])
    .since(100),
    Row::new(
        "REDAS",
        0xdbe,
        ASYNCHRONOUS,
        &[OP, REDAS_TYPE, NARROW_BASE, ubase(64), offset(), r(32).sized(&REDAS_TYPE)],
    )
    .fixed(&[U, bits(72, 0)])
    .since(90),
    Row::new("CCTLL", 0x990, FENCE, &[CACHE_OP, base(24), at(What::Offset, 40, 24)]),
    Row::new("CCTLL", 0xd90, FENCE, &[CACHE_OP, base(24), ubase(32)]).fixed(FIXED_U),
    Row::new("CCTL.E.C.LDCU.IV", 0x540, FENCE, &[flag(86, &["", "DEEP"]), ubase(24), at(What::Offset, 32, 32)])
        .fixed(&[U, (Bits::new(78, 3), 2), (Bits::new(87, 4), 3)])
        .since(100),
    Row::new("GETLMEMBASE", 0x3c0, SLOW_STATE, &[rd()]),
    Row::new("SETLMEMBASE", 0x3c1, SLOW_STATE, &[r(24)]),
    Row::new("ACQSHMINIT", 0x877, SLOW_STATE, &[]).since(100),
];

/// The order of what is read from all copies.
const STRONG: Part = m(0, 0, &["STRONG.SYS"]);
const REDAS_TYPE: Part = m(73, 3, &["", "S32", "64", R, R, R, R, R]);
