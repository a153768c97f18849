//! Reads, writes and reductions of surfaces.
//!
//! The surface is named by a word of a constant bank, by a register, or by a uniform register. The
//! address has the coordinates, the first in bytes (`.D.BA`) or elements, and then the layer.

use super::memory::{EVICT, ORDER, ORDER_ST, SIZE};
use super::prelude::*;
use super::texture::has_coordinates;

const R: &str = RESERVED;
/// The coordinate is in bytes.
const BYTES: Part = flag(72, &["", "BA"]);
const SHAPE: Part = m(61, 3, &["1D", "1D_BUFFER", "1D_ARRAY", "2D", "2D_ARRAY", "3D", R, R]);
/// What an access beyond the surface does.
const BEYOND: Part = m(59, 2, &["IGN", "", "TRAP", R]);
/// The elements of a formatted access; all four have no name.
const ELEMENTS: Part = m(72, 4, &[R, "R", R, "RG", R, R, R, R, R, R, R, R, R, R, R, ""]);
const OP: Part = m(87, 4, &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", R, R, R, R, R, R, R]);
const OP_RED: Part = m(87, 3, &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"]);
const TYPE: Part = m(73, 3, &["", "S32", "U64", "F32.FTZ.RN", "F16x2.RN", "S64", "SD32", "SD64"]);
const TYPE_CAS_80: Part = m(73, 3, &["", "S32", "U64", R, R, R, R, R]);
const TYPE_CAS: Part = m(73, 3, &["", "S32", "64", R, R, R, R, R]);
/// From `sm_120` on, the layer can be in a uniform register.
const LAYER: Part = flag(58, &["", "UAI"]);
/// Bits by which sources stay in the operand cache, which nvdisasm does not show: ptxas sets them for `sm_80`.
const CACHED: Part = any(122, 3);

const COORDINATES: [u8; 8] = [1, 1, 2, 2, 3, 3, 0, 0];

fn get(word: u128, low: u8, len: u8) -> u64 {
    Bits::new(low, len).get(word)
}

/// A surface is no register that reads as zero, and neither are coordinates.
fn has_both(word: u128) -> bool {
    has_coordinates(word) && get(word, 64, 8) != 255
}

fn coordinates(word: u128, part: &Part) -> Option<u8> {
    (part.what == What::Base).then(|| COORDINATES[get(word, 61, 3) as usize])
}

/// Of formatted accesses: a register for each element.
fn elements(word: u128, part: &Part) -> Option<u8> {
    let is_data = part.what == What::Register(File::R) && matches!(part.at.low, 16 | 32);
    if is_data { Some(get(word, 72, 4).count_ones() as u8) } else { coordinates(word, part) }
}

/// Of those that compare: both values side by side.
fn exchanged(word: u128, part: &Part) -> Option<u8> {
    let each = if get(word, 73, 3) == 2 { 2 } else { 1 };
    match (part.what, part.at.low) {
        (What::Register(File::R), 16) => Some(each),
        (What::Register(File::R), 32) => Some(2 * each),
        _ => coordinates(word, part),
    }
}

/// The words with each kind of surface: its number by a bank, by a register, by a uniform register. What uniform
/// registers say for lanes follows the shape.
macro_rules! kinds {
    (
        $first:expr, $name:expr, $class:expr, [$bank:expr, $register:expr, $uniform:expr], $widths:expr,
        [$($shape:expr),+], [$($part:expr),+]
    ) => {
        &[
            Row::new($name, $bank, $class, &[$($shape),+, $($part),+, imm(54, 5, Hex), imm(40, 14, Hex), CACHED])
                .rule(has_coordinates)
                .widths($widths)
                .no_reuse()
                .sms($first, 90),
            Row::new($name, $register, $class, &[$($shape),+, $($part),+, r(64), CACHED])
                .rule(has_both)
                .widths($widths)
                .no_reuse()
                .sms($first, 103),
            Row::new($name, $uniform, $class, &[$($shape),+, $($part),+, ur(40), imm(46, 8, Hex)])
                .fixed(FIXED_U)
                .rule(has_coordinates)
                .widths($widths)
                .no_reuse()
                .sms($first, 90),
            Row::new($name, $uniform, $class, &[$($shape),+, $($part),+, ur(40), any(48, 8).usually(255)])
                .fixed(FIXED_U)
                .rule(has_coordinates)
                .widths($widths)
                .no_reuse()
                .sms(100, 103),
            Row::new($name, $register, $class, &[$($shape),+, LAYER, $($part),+, r(64), ur(48).unless(255)])
                .rule(has_both)
                .widths($widths)
                .no_reuse()
                .since(120),
            Row::new($name, $uniform, $class, &[$($shape),+, LAYER, $($part),+, ur(40), ur(48).unless(255)])
                .fixed(FIXED_U)
                .rule(has_coordinates)
                .widths($widths)
                .no_reuse()
                .since(120),
        ]
    };
}

pub const SULD: &[Row] = kinds!(
    80,
    "SULD.D",
    FETCH,
    [0xb99, 0x99a, 0xf99],
    coordinates,
    [BYTES, SHAPE],
    [EVICT, SIZE, ORDER, BEYOND, p(81).unless(7), rd().sized(&SIZE), base(24)]
);
pub const SULD_P: &[Row] = kinds!(
    80,
    "SULD.P",
    FETCH,
    [0xb97, 0x998, 0xf97],
    elements,
    [SHAPE],
    [EVICT, ORDER, ELEMENTS, BEYOND, p(81).unless(7), rd(), base(24)]
);
pub const SUST: &[Row] = kinds!(
    80,
    "SUST.D",
    STORE_IMAGE,
    [0xb9d, 0x99e, 0xf9d],
    coordinates,
    [BYTES, SHAPE],
    [EVICT, SIZE, ORDER_ST, BEYOND, base(24), r(32).sized(&SIZE)]
);
pub const SUST_P: &[Row] = kinds!(
    80,
    "SUST.P",
    STORE_IMAGE,
    [0xb9b, 0x99c, 0xf9b],
    elements,
    [SHAPE],
    [EVICT, ORDER_ST, ELEMENTS, BEYOND, base(24), r(32)]
);
pub const SURED: &[Row] = kinds!(
    80,
    "SURED.D",
    UPDATE_IMAGE,
    [0x59f, 0x3a0, 0xf9f],
    coordinates,
    [BYTES, SHAPE],
    [OP_RED, EVICT, TYPE, ORDER_ST, BEYOND, base(24), r(32).sized(&TYPE)]
);
pub const SUATOM: &[Row] = kinds!(
    80,
    "SUATOM.D",
    UPDATE_IMAGE,
    [0x593, 0x394, 0xf93],
    coordinates,
    [BYTES, SHAPE],
    [OP, EVICT, TYPE, ORDER_ST, BEYOND, p(81).unless(7), rd().sized(&TYPE), base(24), r(32).sized(&TYPE)]
);
const CAS: Part = m(0, 0, &["CAS"]);

/// Comparing and exchanging, whose types have other names from `sm_90` on.
pub const SUATOM_CAS: &[Row] = kinds!(
    90,
    "SUATOM.D",
    UPDATE_IMAGE,
    [0x595, 0x396, 0xf95],
    exchanged,
    [BYTES, SHAPE],
    [CAS, EVICT, TYPE_CAS, ORDER_ST, BEYOND, p(81).unless(7), rd(), base(24), r(32)]
);

macro_rules! cas_80 {
    ($($handle:expr),+) => {
        &[
            BYTES, SHAPE, CAS, EVICT, TYPE_CAS_80, ORDER_ST, BEYOND, p(81).unless(7), rd(), base(24), r(32),
            $($handle),+, CACHED,
        ]
    };
}

pub const SUATOM_CAS_80: &[Row] = &[
    Row::new("SUATOM.D", 0x595, UPDATE_IMAGE, cas_80!(imm(54, 5, Hex), imm(40, 14, Hex)))
        .rule(has_coordinates)
        .widths(exchanged)
        .no_reuse()
        .sms(80, 89),
    Row::new("SUATOM.D", 0x396, UPDATE_IMAGE, cas_80!(r(64))).rule(has_both).widths(exchanged).no_reuse().sms(80, 89),
    Row::new("SUATOM.D", 0xf95, UPDATE_IMAGE, cas_80!(ur(40), imm(46, 8, Hex)))
        .fixed(FIXED_U)
        .rule(has_coordinates)
        .widths(exchanged)
        .no_reuse()
        .sms(80, 89),
];
