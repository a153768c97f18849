//! Reads of textures, and questions about them.
//!
//! A word names results in two places of two registers each, coordinates, what is beside them, and the texture with
//! its sampler: by a word of a constant bank, by a register (`.B`), or by a uniform register. Before
//! the coordinates stands the layer, and all of them in the registers that bits 24 to 31 name. Those that bits 32 to
//! 39 name are, as far as there: the handle, the level, the sample, offsets, and what is compared with.

use super::memory::EVICT;
use super::prelude::*;
use crate::row::{Rule, Widths};

const R: &str = RESERVED;
/// The coordinates and what is beside them are split into two equal parts, where the first has else all coordinates.
const SCR: Part = flag(60, &["", "SCR"]);
/// Of a texture that a bank names: the bit that `.B` is for.
const BANK_B: Part = flag(59, &["", "B"]);
/// Of a texture that a register names: always there.
const B: Part = flag(59, &[R, "B"]);
/// The same from `sm_100` on, where no bit says it.
const B_100: Part = m(0, 0, &["B"]);
const HALF: Part = m(79, 2, &["", "F16.RN", "F16.RZ", R]);
/// Which level is read: the first, as the differences between lanes say, or as a register says.
const LOD: Part = m(87, 3, &["", "LZ", "LB", "LL", "LC", "LB.LC", "LC.FDV", R]);
const LOD_100: Part = m(59, 1, &["", "LZ", "LB", "LL", "LC", "LB.LC", R, R, R, R, R, R, R, R, R, R]).above(87, 3);
/// From `sm_120` on, uniform registers can say them, too.
#[rustfmt::skip]
const LOD_120: Part = m(
    59, 1,
    &["", "LZ", "LB", "LL", "LC", "LB.LC", "ULB", "ULL", "ULC", "ULB.LC", "LB.ULC", R, R, R, R, R],
).above(87, 3);
const LOD_TLD: Part = m(87, 3, &[R, "LZ", R, "LL", R, R, R, R]);
const LOD_TLD_100: Part = m(87, 2, &["LZ", "LL", R, R]);
const LOD_TLD_120: Part = m(87, 2, &["LZ", "LL", "ULL", R]);
const OFFSETS: Part = flag(76, &["", "AOFFI"]);
const OFFSETS_100: Part = m(56, 2, &["", "AOFFI", R, R]);
const OFFSETS_120: Part = m(56, 2, &["", "AOFFI", "UAOFFI", R]);
/// The layer is in a uniform register.
const LAYER: Part = flag(58, &["", "UAI"]);
/// The same of gathers, which take an offset for each of the four.
const OFFSETS_GATHER: Part = m(76, 2, &["", "AOFFI", "PTP", R]);
const COMPARED: Part = flag(78, &["", "DC"]);
const DERIVATIVES: Part = flag(77, &["", "NDV"]);
const DERIVATIVES_100: Part = m(76, 2, &["", "NDV", "FDV", R]);
const DERIVATIVES_120: Part = m(76, 2, &["", "NDV", R, R]);
const SAMPLES: Part = flag(78, &["", "MS"]);
const SAMPLES_100: Part = m(77, 2, &["", "MS", R, R]);
const SAMPLES_120: Part = m(77, 2, &["", "MS", "UMS", R]);
const CLAMPED: Part = flag(77, &["", "CL"]);
const CLAMPED_100: Part = flag(76, &["", "CL"]);
const CHANNEL: Part = m(87, 2, &["R", "G", "B", "A"]);
const LEAST: Part = flag(87, &["", "LC"]);
const LEAST_100: Part = m(87, 2, &["", "LC", R, R]);
const LEAST_120: Part = m(87, 2, &["", "LC", "ULC", R]);
const UNTIL_USED: Part = flag(90, &["", "NODEP"]);

/// The shape of the texture.
const SHAPE: Part = at(What::Name(&["1D", "2D", "3D", "CUBE", "ARRAY_1D", "ARRAY_2D", R, "ARRAY_CUBE"]), 61, 3);
const SHAPE_TLD: Part = at(What::Name(&["1D", "2D", "3D", R, "ARRAY_1D", "ARRAY_2D", R, R]), 61, 3);
const SHAPE_GATHER: Part = at(What::Name(&[R, "2D", R, "CUBE", R, "ARRAY_2D", R, "ARRAY_CUBE"]), 61, 3);
const SHAPE_TXD: Part = at(What::Name(&["1D", "2D", R, R, "ARRAY_1D", "ARRAY_2D", R, R]), 61, 3);
/// What is asked about a texture.
const QUESTION: Part =
    at(What::Name(&["TEX_HEADER_DIMENSION", "TEX_HEADER_TEXTURE_TYPE", "TEX_HEADER_SAMPLER_POS", R]), 62, 2);
/// Which of the four elements are results.
const MASK: Part = imm(72, 4, Hex);

/// The results: whether all of it was there, the last two elements, the first two.
macro_rules! read {
    ([$($modifier:expr),+], $beside:expr, $shape:expr, [$($handle:expr),+]) => {
        &[
            $($modifier),+, p(81).unless(7), r(64).written(), rd(), r(24), $beside, $($handle),+, $shape,
            MASK.unless(15),
        ]
    };
}

/// The words with each kind of handle: modifiers before that of the handle, those behind it until `sm_90`, on `sm_100`
/// and `sm_103`, and on `sm_120`.
macro_rules! reads {
    (
        $name:expr, $code:expr, $beside:expr, $shape:expr, $widths:ident; [$($front:expr),*];
        [$($early:expr),+]; [$($late:expr),+]; [$($last:expr),+]
    ) => {
        &[
            bank(Row::new(
                $name,
                0xa00 + $code,
                FETCH,
                read!([$($front,)* BANK_B, $($early),+, CACHED], $beside, $shape, [BANK, BANK_WORD]),
            ))
            .widths($widths::<true>),
            register(Row::new(
                $name,
                0x201 + $code,
                FETCH,
                read!([$($front,)* B, $($early),+, CACHED], r(32), $shape, [NO_HANDLE]),
            ))
            .widths($widths::<true>),
            uniform_80(Row::new(
                $name,
                0xe00 + $code,
                FETCH,
                read!([$($front,)* $($early),+], $beside, $shape, [ur(40), SLOT]),
            ))
            .widths($widths::<true>),
            uniform_100(Row::new(
                $name,
                0xe00 + $code,
                FETCH,
                read!([$($front,)* $($late),+], $beside, $shape, [ur(40), UNREAD]),
            ))
            .widths($widths::<false>),
            register_100(Row::new(
                $name,
                0xc01 + $code,
                FETCH,
                read!([$($front,)* B_100, $($late),+], r(32), $shape, [NO_HANDLE]),
            ))
            .widths($widths::<false>),
            uniform_120(Row::new(
                $name,
                0xe00 + $code,
                FETCH,
                read!([$($front,)* $($last),+], $beside, $shape, [ur(40), UNIFORM]),
            ))
            .widths($widths::<false>),
            register_120(Row::new(
                $name,
                0xc01 + $code,
                FETCH,
                read!([$($front,)* B_100, $($last),+], r(32), $shape, [UNIFORM]),
            ))
            .widths($widths::<false>),
        ]
    };
}

/// The bank of a handle, and its place there.
const BANK: Part = imm(54, 5, Hex);
const BANK_WORD: Part = imm(40, 14, Hex);
/// The number that is added to a uniform register's handle.
const SLOT: Part = imm(46, 8, Hex);
/// Bits that nvdisasm does not show, and ptxas sets.
const UNREAD: Part = any(48, 8).usually(255);
/// From `sm_120` on, what uniform registers say beside the coordinates.
const UNIFORM: Part = ur(48).unless(255);
/// Bits by which sources stay in the operand cache, which nvdisasm does not show: ptxas sets them for `sm_80`.
const CACHED: Part = any(122, 3);
/// What is beside the coordinates, if anything.
const BESIDE: Part = r(32).unless(255);
/// A handle that is among the registers.
const NO_HANDLE: Part = any(0, 0);

const fn bank(row: Row) -> Row {
    row.no_reuse().rule(BANK_RULE).sms(80, 90)
}
const fn register(row: Row) -> Row {
    row.no_reuse().rule(has_both).sms(80, 90)
}
const fn uniform_80(row: Row) -> Row {
    row.no_reuse().fixed(FIXED_U).rule(HAS_SIX_BITS).sms(80, 90)
}
const fn uniform_100(row: Row) -> Row {
    row.no_reuse().fixed(FIXED_U).rule(has_coordinates).sms(100, 103)
}
const fn register_100(row: Row) -> Row {
    row.no_reuse().fixed(FIXED_U).rule(has_both).sms(100, 103)
}
const fn uniform_120(row: Row) -> Row {
    uniform_100(row).since(120)
}
const fn register_120(row: Row) -> Row {
    register_100(row).since(120)
}

fn get(word: u128, low: u8, len: u8) -> u64 {
    Bits::new(low, len).get(word)
}

/// Coordinates are no register that reads as zero, and of the bits for the operand cache not all are set at once.
pub(super) fn has_coordinates(word: u128) -> bool {
    get(word, 24, 8) != 255 && is_cacheable(word)
}

fn is_cacheable(word: u128) -> bool {
    get(word, 122, 3) < 6
}

/// And neither is a handle, which precedes the coordinates of a read with derivatives alone.
fn has_both(word: u128) -> bool {
    let is_derived = matches!(get(word, 0, 9), 0x16c | 0x16d);
    has_coordinates(word) && (is_derived || get(word, 32, 8) != 255)
}

/// A handle that a bank names is not looked for in a register as well, unless a bit says so.
const BANK_RULE: Rule = |word| if get(word, 59, 1) == 1 { has_both(word) } else { has_coordinates(word) };

const HAS_SIX_BITS: Rule = |word| has_coordinates(word) && get(word, 40, 6) != 63;

/// Whether the handle is in a register: no word of a bank and no uniform one.
fn has_handle(word: u128, is_early: bool) -> bool {
    let code = get(word, 0, 12);
    matches!(code >> 9, 1 | 6) || (code >> 9 == 5 && is_early && get(word, 59, 1) == 1)
}

/// How many registers the layer and the coordinates take, by the code of the shape.
const COORDINATES: [u8; 8] = [1, 2, 3, 3, 2, 3, 0, 4];

/// The registers of results, coordinates and a uniform handle, or those that bits 32 to 39 name: so many that are
/// beside.
fn registers(word: u128, part: &Part, beside: u8) -> Option<u8> {
    let elements = get(word, 72, 4).count_ones() as u8;
    let held = |elements: u8| if get(word, 79, 2) != 0 { elements.div_ceil(2) } else { elements };
    let coordinates = COORDINATES[get(word, 61, 3) as usize];
    Some(match (part.what, part.at.low) {
        (What::Register(File::R), 16) => held(elements.min(2)),
        (What::Register(File::R), 64) => held(elements.saturating_sub(2)),
        (What::Register(File::R), 24) => coordinates,
        (What::Register(File::R), 32) => beside,
        // The texture and its sampler have a word each.
        (What::Register(File::Ur), 40) => 2,
        _ => return None,
    })
}

/// The same where the sources may be split equally, which those of up to four registers are.
fn split(word: u128, part: &Part, beside: u8) -> Option<u8> {
    let coordinates = COORDINATES[get(word, 61, 3) as usize];
    let all = coordinates + beside;
    match (part.what, part.at.low) {
        (What::Register(File::R), 24) if is_split(word, all) => Some(all.div_ceil(2)),
        (What::Register(File::R), 32) if is_split(word, all) => Some(all / 2),
        _ => registers(word, part, beside),
    }
}

fn is_split(word: u128, all: u8) -> bool {
    SCR.value(word) == 1 && all <= 4
}

/// One for each of these that holds.
fn count<const N: usize>(these: [bool; N]) -> u8 {
    these.into_iter().filter(|holds| *holds).count() as u8
}

fn tex<const EARLY: bool>(word: u128, part: &Part) -> Option<u8> {
    let (level, offsets) = match EARLY {
        true => (get(word, 87, 3), get(word, 76, 1)),
        false => (get(word, 59, 1) | get(word, 87, 3) << 1, get(word, 56, 2)),
    };
    let beside = [matches!(level, 2 | 3 | 5), level >= 4, offsets != 0, get(word, 78, 1) == 1, has_handle(word, EARLY)];
    split(word, part, count(beside))
}

fn tld<const EARLY: bool>(word: u128, part: &Part) -> Option<u8> {
    let (level, offsets, samples) = match EARLY {
        true => (get(word, 87, 3) == 3, get(word, 76, 1), get(word, 78, 1)),
        false => (get(word, 87, 2) == 1, get(word, 56, 2), get(word, 77, 2)),
    };
    split(word, part, count([level, offsets != 0, samples != 0, has_handle(word, EARLY)]))
}

fn tld4<const EARLY: bool>(word: u128, part: &Part) -> Option<u8> {
    let beside = count([get(word, 78, 1) == 1, has_handle(word, EARLY)]);
    split(word, part, beside + get(word, 76, 2) as u8)
}

/// With derivatives: those along both axes for each coordinate, and offsets above the layer.
fn txd<const EARLY: bool>(word: u128, part: &Part) -> Option<u8> {
    let offsets = if EARLY { get(word, 76, 1) } else { get(word, 56, 2) } != 0;
    let (shape, is_layered) = (get(word, 61, 2), get(word, 63, 1) == 1);
    let coordinates = registers(word, part, 2 * COORDINATES[shape as usize])?;
    let is_first = part.what == What::Register(File::R) && part.at.low == 24;
    let before = count([offsets && !is_layered, has_handle(word, EARLY)]);
    Some(if is_first { coordinates + before } else { coordinates })
}

/// The level of a texture at a place.
fn tmml<const EARLY: bool>(word: u128, part: &Part) -> Option<u8> {
    registers(word & !(3 << 79), part, count([has_handle(word, EARLY)]))
}

fn txq<const EARLY: bool>(word: u128, part: &Part) -> Option<u8> {
    let is_first = part.what == What::Register(File::R) && part.at.low == 24;
    match is_first {
        true => Some(1 + count([has_handle(word, EARLY)])),
        false => registers(word & !(3 << 79), part, 0),
    }
}

const EARLY_TXQ: Widths = txq::<true>;
const LATE_TXQ: Widths = txq::<false>;

macro_rules! question {
    ([$($modifier:expr),+], [$($handle:expr),+]) => {
        &[$($modifier),+, r(64).written(), rd(), r(24), QUESTION, $($handle),+, MASK]
    };
}

pub const TEX: &[Row] = reads!(
    "TEX", 0x160, BESIDE, SHAPE, tex; [SCR];
    [HALF, LOD, OFFSETS, COMPARED, EVICT, DERIVATIVES, UNTIL_USED];
    [HALF, LOD_100, OFFSETS_100, COMPARED, EVICT, DERIVATIVES_100, UNTIL_USED];
    [HALF, LOD_120, OFFSETS_120, LAYER, COMPARED, EVICT, DERIVATIVES_120, UNTIL_USED]
);
pub const TLD: &[Row] = reads!(
    "TLD", 0x166, BESIDE, SHAPE_TLD, tld; [SCR];
    [HALF, LOD_TLD, OFFSETS, EVICT, SAMPLES, CLAMPED, UNTIL_USED];
    [HALF, LOD_TLD_100, OFFSETS_100, EVICT, SAMPLES_100, CLAMPED_100, UNTIL_USED];
    [HALF, LOD_TLD_120, OFFSETS_120, LAYER, EVICT, SAMPLES_120, CLAMPED_100, UNTIL_USED]
);
pub const TLD4: &[Row] = reads!(
    "TLD4", 0x163, BESIDE, SHAPE_GATHER, tld4; [SCR, CHANNEL];
    [HALF, OFFSETS_GATHER, COMPARED, EVICT, UNTIL_USED];
    [HALF, OFFSETS_GATHER, COMPARED, EVICT, UNTIL_USED];
    [HALF, OFFSETS_GATHER, LAYER, COMPARED, EVICT, UNTIL_USED]
);
pub const TXD: &[Row] = reads!(
    "TXD", 0x16c, r(32), SHAPE_TXD, txd; [];
    [HALF, LEAST, OFFSETS, EVICT, UNTIL_USED];
    [HALF, LEAST_100, OFFSETS_100, EVICT, UNTIL_USED];
    [HALF, LEAST_120, OFFSETS_120, LAYER, EVICT, UNTIL_USED]
);

macro_rules! level {
    ([$($modifier:expr),+], $beside:expr, [$($handle:expr),+]) => {
        &[$($modifier),+, r(64).written(), rd(), r(24), $beside, $($handle),+, SHAPE, MASK.unless(15)]
    };
}

const LOD_ASKED: Part = m(0, 0, &["LOD"]);
const LEVEL_DERIVATIVES_120: Part = m(76, 2, &["", "NDV", R, "DXY"]);

/// Questions, and levels of places.
pub const ROWS: &[Row] = &[
    Row::new("TXQ", 0xb6f, IMAGE_QUESTION, question!([BANK_B, UNTIL_USED, CACHED], [BANK, BANK_WORD]))
        .no_reuse()
        .rule(HAS_QUESTION)
        .widths(EARLY_TXQ)
        .sms(80, 90),
    Row::new("TXQ", 0x370, IMAGE_QUESTION, question!([B, UNTIL_USED, CACHED], [NO_HANDLE]))
        .no_reuse()
        .rule(has_coordinates)
        .widths(EARLY_TXQ)
        .sms(80, 90),
    uniform_80(Row::new("TXQ", 0xf6f, IMAGE_QUESTION, question!([UNTIL_USED], [ur(40), SLOT])).widths(EARLY_TXQ))
        .rule(|word| get(word, 40, 6) != 63),
    Row::new("TXQ", 0xf6f, IMAGE_QUESTION, question!([UNTIL_USED], [ur(40), at(What::Word("0x0"), 0, 0)]))
        .no_reuse()
        .fixed(FIXED_U)
        .widths(LATE_TXQ)
        .since(100),
    Row::new("TXQ", 0x370, IMAGE_QUESTION, question!([B_100, UNTIL_USED], [NO_HANDLE]))
        .no_reuse()
        .rule(has_coordinates)
        .widths(LATE_TXQ)
        .since(100),
    bank(Row::new(
        "TMML",
        0xb69,
        IMAGE_QUESTION,
        level!([BANK_B, LOD_ASKED, DERIVATIVES, UNTIL_USED], BESIDE, [BANK, BANK_WORD]),
    ))
    .widths(tmml::<true>),
    register(Row::new(
        "TMML",
        0x36a,
        IMAGE_QUESTION,
        level!([B, LOD_ASKED, DERIVATIVES, UNTIL_USED], r(32), [NO_HANDLE]),
    ))
    .widths(tmml::<true>),
    uniform_80(Row::new(
        "TMML",
        0xf69,
        IMAGE_QUESTION,
        level!([LOD_ASKED, DERIVATIVES, UNTIL_USED], BESIDE, [ur(40), SLOT]),
    ))
    .widths(tmml::<true>),
    uniform_100(Row::new(
        "TMML",
        0xf69,
        IMAGE_QUESTION,
        level!([LOD_ASKED, DERIVATIVES_120, UNTIL_USED], BESIDE, [ur(40), UNREAD]),
    ))
    .widths(tmml::<false>),
    uniform_120(Row::new(
        "TMML",
        0xf69,
        IMAGE_QUESTION,
        level!([LOD_ASKED, LEVEL_DERIVATIVES_120, UNTIL_USED], BESIDE, [ur(40), UNREAD]),
    ))
    .widths(tmml::<false>),
    register(Row::new(
        "TMML",
        0x36a,
        IMAGE_QUESTION,
        level!([B_100, LOD_ASKED, DERIVATIVES_120, UNTIL_USED], r(32), [NO_HANDLE]),
    ))
    .widths(tmml::<false>)
    .sms(100, 103),
    register(Row::new(
        "TMML",
        0x36a,
        IMAGE_QUESTION,
        level!([B_100, LOD_ASKED, LEVEL_DERIVATIVES_120, UNTIL_USED], r(32), [NO_HANDLE]),
    ))
    .widths(tmml::<false>)
    .since(120),
];

/// A handle in a register is none that reads as zero.
const HAS_QUESTION: Rule = |word| has_coordinates(word) || (get(word, 59, 1) == 0 && is_cacheable(word));
