//! Pairs of floating point numbers of 16 bits before `sm_90`.
//!
//! Each source can also be a float of 32 bits, and only products with sums and extremes know bfloat16.

use super::float::{COMBINE, COMPARE, FTZ};
use super::half::{FACTOR_FORMS, FMZ, H0_NH1, PAIR, SAT, UNREAD, no_relu, relu, sum_format};
use super::prelude::*;

/// What a source is read as.
const HALF: Names = &["", "F32", "H0_H0", "H1_H1"];
const SOURCES: Marks = Marks { halves: HALF, ..PAIRS };
/// Bit 78: the result is a float of 32 bits.
const F32_RESULT: Names = &["", "F32"];

const fn first() -> Part {
    ra().neg(72).abs(73).suffix(74, 2, HALF)
}
const fn product() -> Part {
    flag(76, FMZ).above(80, 1)
}

const HADD2: &[Part] = &[flag(78, &["", RESERVED]), flag(80, FTZ), flag(77, SAT), rd(), first(), low(F16x2)];
/// `sm_80` prints an immediate as the pair that the sum does not read.
const HADD2_F32_80: &[Part] = &[
    flag(78, &[RESERVED, "F32"]),
    flag(80, FTZ),
    flag(77, SAT),
    rd(),
    ra().neg(72).abs(73).suffix(74, 2, HALF),
    low(F16x2),
];
const HADD2_F32: &[Part] = &[
    flag(78, &[RESERVED, "F32"]),
    flag(80, FTZ),
    flag(77, SAT),
    rd(),
    r(24).neg(72).suffix(74, 2, HALF),
    low(F16),
    any(73, 1),
];
const HMUL2: &[Part] = &[flag(78, F32_RESULT), product(), flag(77, SAT), rd(), first(), b(F16x2)];
const HFMA2: &[Part] = &[sum_format(), product(), flag(77, SAT), no_relu(), rd(), first(), b(PAIR), c(PAIR), UNREAD];
const HFMA2_RELU: &[Part] = &[sum_format(), product(), relu(), rd(), first(), b(PAIR), c(PAIR), pin(87).unless(7)];
const HFMA2_NH1: &[Part] =
    &[sum_format(), product(), flag(77, SAT), no_relu(), rd(), first(), b(PAIR).suffix(86, 1, H0_NH1), c(PAIR), UNREAD];
const HFMA2_NH1_RELU: &[Part] =
    &[sum_format(), product(), relu(), rd(), first(), b(PAIR).suffix(86, 1, H0_NH1), c(PAIR), pin(87).unless(7)];
const HFMA2_MMA: &[Part] =
    &[product(), flag(77, SAT), no_relu(), rd(), ra().neg(72).abs(73), b(F16x2), c(F16x2), UNREAD];
const HFMA2_MMA_RELU: &[Part] = &[product(), relu(), rd(), ra().neg(72).abs(73), b(F16x2), c(F16x2), pin(87).unless(7)];
const HMNMX2_80: &[Part] = &[sum_format(), flag(80, FTZ), flag(81, &["", "NAN"]), rd(), first(), b(PAIR), pin(87)];
const HMNMX2: &[Part] =
    &[sum_format(), flag(80, FTZ), flag(81, &["", "NAN"]), flag(82, &["", "XORSIGN"]), rd(), first(), b(PAIR), pin(87)];
const HSET2: &[Part] =
    &[flag(71, &["", "BF"]), m(76, 4, COMPARE), flag(80, FTZ), m(69, 2, COMBINE), rd(), first(), low(F16x2), pin(87)];
const HSETP2: &[Part] = &[
    m(76, 4, COMPARE),
    flag(71, &["", "H_AND"]),
    flag(80, FTZ),
    m(69, 2, COMBINE),
    p(81),
    p(84),
    first(),
    low(F16x2),
    pin(87),
];

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("HADD2", 0x030, HALVES_UNIT.after(5), HADD2).forms(LAST).marks(PLAIN, SOURCES).sms(80, 89),
    Row::new("HADD2", 0x030, HALVES_UNIT.after(5), HADD2_F32_80).forms(LAST).marks(PLAIN, SOURCES).sms(80, 80),
    Row::new("HADD2", 0x030, HALVES_UNIT.after(5), HADD2_F32).forms(LAST).marks(PLAIN, SOURCES).sms(86, 89),
    Row::new("HMUL2", 0x032, HALVES_UNIT, HMUL2).forms(TWO).marks(SOURCES, PLAIN).sms(80, 89),
    Row::new("HFMA2", 0x031, HALVES_UNIT, HFMA2).forms(THREE).marks(SOURCES, SOURCES).sms(80, 89),
    Row::new("HFMA2", 0x031, HALVES_UNIT, HFMA2_RELU).forms(THREE).marks(SOURCES, SOURCES).sms(80, 89),
    Row::new("HFMA2", 0x031, HALVES_UNIT, HFMA2_NH1).forms(FACTOR_FORMS).marks(PAIRS, SOURCES).sms(86, 89),
    Row::new("HFMA2", 0x031, HALVES_UNIT, HFMA2_NH1_RELU).forms(FACTOR_FORMS).marks(PAIRS, SOURCES).sms(86, 89),
    Row::new("HFMA2.MMA", 0x035, HALVES_UNIT, HFMA2_MMA).forms(THREE).marks(PAIRS, PAIRS).sms(80, 89),
    Row::new("HFMA2.MMA", 0x035, HALVES_UNIT, HFMA2_MMA_RELU).forms(THREE).marks(PAIRS, PAIRS).sms(80, 89),
    Row::new("HMNMX2", 0x040, HALVES_UNIT.after(5), HMNMX2_80).forms(TWO).marks(SOURCES, PLAIN).sms(80, 80),
    Row::new("HMNMX2", 0x040, HALVES_UNIT.after(5), HMNMX2).forms(TWO).marks(SOURCES, PLAIN).sms(86, 89),
    Row::new("HSET2", 0x033, HALVES_UNIT, HSET2).forms(LAST).marks(PLAIN, SOURCES).sms(80, 89),
    Row::new("HSETP2", 0x034, HALVES_UNIT.after(5), HSETP2).forms(LAST).marks(PLAIN, SOURCES).sms(80, 89),
];
