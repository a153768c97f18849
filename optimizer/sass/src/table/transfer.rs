//! Copies to shared memory that run beside the program, what waits for them, fences, cache control.

use super::memory::EVICT;
use super::prelude::*;

const R: &str = RESERVED;

/// How much is fetched into the second cache.
const FETCH: Names = &["", "LTC64B", "LTC128B", "LTC256B"];
/// Copies that leave the first cache out.
const BYPASS: Part = flag(81, &["BYPASS", ""]);
const ZFILL: Part = flag(82, &["", "ZFILL"]);
/// The order of copies with other accesses.
const ORDER: Part = m(
    77,
    4,
    &[
        "",
        "CONSTANT.PRIVATE",
        "CONSTANT.CTA",
        "CONSTANT.CTA.PRIVATE",
        "CONSTANT",
        "MMIO.CTA",
        "GPU.PRIVATE",
        "MMIO.CTA.PRIVATE",
        "MMIO.SM",
        "CONSTANT.SM",
        "MMIO.VC",
        "CONSTANT.SM.PRIVATE",
        "MMIO.GPU",
        "CONSTANT.VC",
        "CONSTANT.VC.PRIVATE",
        "CONSTANT.GPU",
    ],
);
/// The offsets of a copy's destination and source.
const TO: Part = at(What::Offset, 44, 20);
const FROM: Part = at(What::Offset, 32, 12);
/// The condition of the copy.
const IF: Part = pin(87).unless(7);
/// A source of 32 bits beside a uniform register.
const NARROW_BASE: Part = base(24).suffix(0, 0, &["U32"]);

macro_rules! copy {
    ($fetch:expr, $size:expr, [$($from:expr),+]) => {
        &[BYPASS, EVICT, m($fetch, 2, FETCH), $size, ZFILL, ORDER, base(16), TO, $($from),+, FROM, IF]
    };
}

const SIZE: Part = m(73, 3, &[R, R, R, R, "", "64", "128", R]);
const SIZE_100: Part = m(74, 2, &["", "64", "128", R]);

const fn bits(low: u8, value: u64) -> (Bits, u64) {
    (Bits::new(low, 1), value)
}

/// The scoreboard's count that is waited for.
const LE: (Bits, u64) = (Bits::new(47, 1), 1);

const TRYWAIT: Part = flag(72, &["", "TRYWAIT"]);
const ARRIVE: Part = m(73, 2, &["", "TMASK", "RED", R]);
const OPTOUT: Part = flag(75, &["", "OPTOUT"]);
const COUNT: Part = m(84, 3, &["", "A1T0", "A0T1", "A0TR", "A0TX", "ART0", R, R]);

const E: Part = flag(72, &["", "E"]);
const SPACE: Part = m(73, 2, &["G", "L", "S", "D"]);
const CACHE: Part = m(78, 2, &["", "U", "C", "I"]);
/// What is done to all lines.
const ALL: Part = flag(88, &["IVALL", "IVALLP"]);
/// What is done to one line.
const CCTL: &[Part] = &[
    E,
    CACHE,
    m(87, 4, &["PF1", "PF2", "WB", "IV", R, "RS", R, R, R, "PML2", "DML2", "RML2", R, R, R, R]),
    address(&E),
    at(What::Offset, 32, 32),
];

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new(
        "LDGSTS.E",
        0xfae,
        ASYNCHRONOUS,
        copy!(71, SIZE, [any(101, 1), desc(64).only(101, 1, 1).read(), base64(24)]),
    )
    .fixed(&[U, bits(70, 1), bits(76, 1)])
    .sms(80, 89),
    Row::new("LDGSTS.E", 0xfae, ASYNCHRONOUS, copy!(71, SIZE, [base64(24).unless(255), ubase64(64)]))
        .fixed(&[U, bits(70, 1), bits(76, 0)])
        .sms(80, 89),
    Row::new("LDGSTS.E", 0xfae, ASYNCHRONOUS, copy!(71, SIZE, [desc(64), base64(24)]))
        .fixed(&[U, bits(70, 1), bits(76, 1)])
        .sms(90, 90),
    Row::new("LDGSTS.E", 0xfae, ASYNCHRONOUS, copy!(71, SIZE, [base64(24), ubase64(64).unless(63)]))
        .fixed(&[U, bits(70, 1), bits(76, 0)])
        .sms(90, 90),
    Row::new("LDGSTS.E", 0xfae, ASYNCHRONOUS, copy!(71, SIZE, [NARROW_BASE, ubase64(64).unless(63)]))
        .fixed(&[U, bits(70, 0), bits(76, 0)])
        .sms(90, 90),
    Row::new("LDGSTS.E", 0xfae, ASYNCHRONOUS, copy!(72, SIZE_100, [desc(64), base64(24)]))
        .fixed(&[U, bits(83, 1), bits(76, 1)])
        .since(100),
    Row::new("LDGSTS.E", 0xfae, ASYNCHRONOUS, copy!(72, SIZE_100, [base64(24), ubase64(64).unless(255)]))
        .fixed(&[U, bits(83, 1), bits(76, 0)])
        .since(100),
    Row::new("LDGSTS.E", 0xfae, ASYNCHRONOUS, copy!(72, SIZE_100, [NARROW_BASE, ubase64(64).unless(255)]))
        .fixed(&[U, bits(83, 0), bits(76, 0)])
        .since(100),
    Row::new("LDGDEPBAR", 0x9af, ASYNCHRONOUS, &[]),
    Row::new("DEPBAR", 0x91a, ASYNCHRONOUS, &[at(What::Mask, 32, 6).unless(0)]),
    Row::new(
        "DEPBAR.LE",
        0x91a,
        ASYNCHRONOUS,
        &[at(What::Register(File::Sb), 44, 3), imm(38, 6, Hex), at(What::Mask, 32, 6).unless(0)],
    )
    .fixed(&[LE]),
    Row::new(
        "DEPBAR.LE",
        0xd1a,
        ASYNCHRONOUS,
        &[at(What::Register(File::Sb), 44, 3), ur(32), at(What::Mask, 38, 6).unless(0)],
    )
    .fixed(&[LE, U])
    .sms(80, 90),
    Row::new(
        "DEPBAR.LE",
        0xd1a,
        ASYNCHRONOUS,
        &[at(What::Register(File::Sb), 44, 3), ur(32), at(What::Mask, 48, 6).unless(0)],
    )
    .fixed(&[LE, U])
    .since(100),
    Row::new(
        "MEMBAR",
        0x992,
        FENCE,
        &[m(79, 2, &["SC", "ALL", "", "MMIO"]), m(76, 3, &["CTA", "SM", "GPU", "SYS", R, "VC", "CTA.PARTIAL", R])],
    ),
    Row::new("FENCE.VIEW.ASYNC", 0x3c6, FENCE, &[flag(72, &["S", "G"])]).sms(90, 90),
    Row::new("FENCE.VIEW.ASYNC", 0x3c6, FENCE, &[m(72, 2, &["S", "G", "T", R])]).since(100),
    Row::new("ERRBAR", 0x9ab, FENCE, &[]),
    Row::new("CGAERRBAR", 0x5ab, FENCE, &[]).since(90),
    Row::new("CCTL", 0x98f, FENCE, &[CACHE, ALL]).fixed(&[
        (Bits::new(24, 8), 255),
        (Bits::new(89, 2), 1),
        (Bits::new(87, 1), 0),
    ]),
    Row::new("CCTL", 0x98f, FENCE, &[CACHE, m(0, 0, &["WBALL"])])
        .fixed(&[(Bits::new(24, 8), 255), (Bits::new(87, 4), 7)]),
    Row::new("CCTL", 0x98f, FENCE, CCTL),
    Row::new("QSPC", 0x3aa, IMAGE_QUESTION, &[E, SPACE, p(81), rd(), address(&E), offset()]),
    Row::new("QSPC", 0x9aa, IMAGE_QUESTION, &[E, SPACE, p(81), rd(), base64(24).unless(255), ubase(32), offset()])
        .fixed(&[U, bits(90, 1)])
        .sms(80, 89),
    Row::new("QSPC", 0x9aa, IMAGE_QUESTION, &[E, SPACE, p(81), rd(), NARROW_BASE.unless(255), ubase(32), offset()])
        .fixed(&[U, bits(90, 0)])
        .sms(80, 89),
    Row::new("QSPC", 0x9aa, IMAGE_QUESTION, &[E, SPACE, p(81), rd(), base64(24), ubase(32), offset()])
        .fixed(&[U, bits(90, 1)])
        .since(90),
    Row::new("QSPC", 0x9aa, IMAGE_QUESTION, &[E, SPACE, p(81), rd(), NARROW_BASE, ubase(32), offset()])
        .fixed(&[U, bits(90, 0)])
        .since(90),
    Row::new("SYNCS.PHASECHK.TRANS64", 0x5a7, MEMORY_BARRIER, &[TRYWAIT, p(81), base(24), ubase(64), offset(), r(32)])
        .fixed(&[U, (Bits::new(70, 2), 1)])
        .sms(90, 90),
    Row::new("SYNCS.PHASECHK.TRANS64", 0x5a7, MEMORY_BARRIER, &[TRYWAIT, p(81), base(24), ubase(64), offset(), r(32)])
        .fixed(&[U, (Bits::new(76, 2), 1)])
        .since(100),
    Row::new(
        "SYNCS.ARRIVE.TRANS64",
        0x9a7,
        MEMORY_BARRIER,
        &[ARRIVE, OPTOUT, COUNT, rd().words(2), base(24), ubase(64), offset(), r(32)],
    )
    .fixed(FIXED_U)
    .since(90),
    Row::new("SYNCS.EXCH.64", 0x5b2, MEMORY_BARRIER, &[ur(16).words(2), ubase(24), offset(), ur(32).words(2)])
        .fixed(&[U, (Bits::new(72, 2), 1)])
        .uniform()
        .since(90),
    Row::new("SYNCS.LD.64", 0x9b2, MEMORY_BARRIER, &[ur(16).words(2), ubase(24), offset()])
        .fixed(FIXED_U)
        .uniform()
        .since(90),
    Row::new(
        "SYNCS.LD.64",
        0x5b1,
        MEMORY_BARRIER,
        &[flag(74, &["", "WATCH"]), rd().words(2), base(24), ubase(64), offset()],
    )
    .fixed(&[U, (Bits::new(72, 2), 2)])
    .since(90),
    Row::new("SYNCS.CCTL", 0x9b1, MEMORY_BARRIER, &[flag(72, &["IVALL", "WBALL"]), any(24, 8)])
        .fixed(&[bits(91, 0)])
        .since(90),
    Row::new("SYNCS.CCTL", 0x9b1, MEMORY_BARRIER, &[flag(72, &["IV", "WB"]), base(24), ubase(64), offset()])
        .fixed(FIXED_U)
        .since(90),
    Row::new(
        "ARRIVES.LDGSTSBAR.64",
        0x9b0,
        MEMORY_BARRIER,
        &[m(70, 2, &["", "ARVCNT", "TRANSCNT", R]), base(24), ubase(64), offset()],
    )
    .fixed(&[U, (Bits::new(72, 4), 10)])
    .sms(90, 90),
    Row::new("ARRIVES.LDGSTSBAR.64", 0x9b0, MEMORY_BARRIER, &[base(24), ubase(64), offset()])
        .fixed(&[U, (Bits::new(72, 4), 10)])
        .sms(80, 89),
    Row::new(
        "ARRIVES.LDGSTSBAR.64",
        0x9b0,
        MEMORY_BARRIER,
        &[m(76, 2, &["", "ARVCNT", "TRANSCNT", R]), base(24), ubase(64), offset()],
    )
    .fixed(&[U, (Bits::new(72, 4), 10)])
    .since(100),
];
