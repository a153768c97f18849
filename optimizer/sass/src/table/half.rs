//! Pairs of floating point numbers of 16 bits, from `sm_90` on; [`super::half_ampere`] has those before.

use super::float::{COMBINE, COMPARE, FTZ};
use super::prelude::*;

/// The format, by bit 85.
const FORMAT: Names = &["", "BF16_V2"];
pub const SAT: Names = &["", "SAT"];
pub const FMZ: Names = &["", "FMZ", "FTZ", RESERVED];
/// The format of a product and sum, by bits 78 and 85.
pub const SUM_FORMAT: Names = &["", "F32", "BF16_V2", RESERVED];
/// The second source of a product and sum can be a float of 32 bits.
const FACTOR: Marks = Marks { halves: &["", "F32", "H0_H0", "H1_H1"], ..PAIRS };
const FMZ_OOB: Names = &["", "FMZ", "FTZ", "OOB"];
/// The numbers of an immediate, whose format bit 85 says.
pub const PAIR: crate::row::Format = HalfBy(85);
/// The same where bit 65 says it.
const PAIR65: crate::row::Format = HalfBy(65);

const fn first() -> Part {
    ra().neg(72).abs(73).suffix(74, 2, HALF)
}

const HADD2: &[Part] =
    &[flag(78, &["", RESERVED]), flag(85, FORMAT), flag(80, FTZ), flag(77, SAT), rd(), first(), low(PAIR)];
/// A sum of 32 bits.
const HADD2_F32: &[Part] = &[
    flag(78, &[RESERVED, "F32"]),
    flag(80, FTZ),
    flag(77, SAT),
    rd(),
    r(24).neg(72).suffix(74, 2, HALF),
    low(F16),
    any(73, 1),
];
const HMUL2: &[Part] = &[flag(85, FORMAT), flag(76, FMZ).above(80, 1), flag(77, SAT), rd(), first(), b(PAIR)];

const fn product() -> Part {
    flag(76, FMZ_OOB).above(80, 1)
}
pub const fn sum_format() -> Part {
    flag(78, SUM_FORMAT).above(85, 1)
}
/// The bits of the predicate that only `.RELU` reads.
pub const UNREAD: Part = any(87, 4);
/// No `.RELU`.
pub const fn no_relu() -> Part {
    flag(79, &["", RESERVED])
}
pub const fn relu() -> Part {
    flag(79, &[RESERVED, "RELU"])
}

const HFMA2: &[Part] = &[sum_format(), product(), flag(77, SAT), no_relu(), rd(), first(), b(PAIR), c(PAIR), UNREAD];
const HFMA2_RELU: &[Part] = &[sum_format(), product(), relu(), rd(), first(), b(PAIR), c(PAIR), pin(87).unless(7)];
/// The factor is the lower half and the negated upper one.
const HFMA2_NH1: &[Part] =
    &[sum_format(), product(), flag(77, SAT), no_relu(), rd(), first(), b(PAIR).suffix(86, 1, H0_NH1), c(PAIR), UNREAD];
const HFMA2_NH1_RELU: &[Part] =
    &[sum_format(), product(), relu(), rd(), first(), b(PAIR).suffix(86, 1, H0_NH1), c(PAIR), pin(87).unless(7)];
pub const H0_NH1: Names = &[RESERVED, "H0_NH1"];
const HFMA2_MMA: &[Part] = &[
    flag(85, FORMAT),
    flag(76, FMZ).above(80, 1),
    flag(77, SAT),
    no_relu(),
    rd(),
    ra().neg(72).abs(73),
    b(PAIR),
    c(PAIR),
    UNREAD,
];
const HFMA2_MMA_RELU: &[Part] = &[
    flag(85, FORMAT),
    flag(76, FMZ).above(80, 1),
    relu(),
    rd(),
    ra().neg(72).abs(73),
    b(PAIR),
    c(PAIR),
    pin(87).unless(7),
];
const HMNMX2: &[Part] = &[
    flag(65, &["", RESERVED]),
    any(66, 6),
    flag(85, FORMAT),
    flag(80, FTZ),
    flag(81, &["", "NAN"]),
    flag(82, &["", "XORSIGN"]),
    rd(),
    first(),
    b(PAIR),
    pin(87),
];
const HMNMX2_IS_A: &[Part] = &[
    flag(85, FORMAT),
    flag(80, FTZ),
    flag(81, &["", "NAN"]),
    flag(82, &["", "XORSIGN"]),
    flag(65, &[RESERVED, "IS_A"]),
    rd(),
    p(66),
    p(69),
    first(),
    b(PAIR),
    pin(87),
];
const HSET2: &[Part] = &[
    m(64, 2, &["", RESERVED, "BF16_V2", RESERVED]),
    flag(71, &["", "BF"]),
    m(76, 4, COMPARE),
    flag(80, FTZ),
    m(69, 2, COMBINE),
    rd(),
    first(),
    low(PAIR65),
    pin(87),
];
const HSETP2: &[Part] = &[
    m(64, 2, &["", RESERVED, "BF16_V2", RESERVED]),
    m(76, 4, COMPARE),
    flag(71, &["", "H_AND"]),
    flag(80, FTZ),
    m(69, 2, COMBINE),
    p(81),
    p(84),
    first(),
    low(PAIR65),
    pin(87),
];

/// The forms that have the factor in a register.
pub const FACTOR_FORMS: &[Form] = &[Rr, Ri, Rc, Rx, Cr, Xr, Ur, Ru];

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("HADD2", 0x030, HALVES_UNIT.after(5), HADD2).forms(LAST).marks(PLAIN, HALVES).since(90),
    Row::new("HADD2", 0x030, HALVES_UNIT.after(5), HADD2_F32).forms(LAST).marks(PLAIN, HALVES).since(90),
    Row::new("HMUL2", 0x032, HALVES_UNIT, HMUL2).forms(TWO).marks(HALVES, PLAIN).since(90),
    Row::new("HFMA2", 0x031, HALVES_UNIT, HFMA2).forms(THREE).marks(FACTOR, HALVES).since(90),
    Row::new("HFMA2", 0x031, HALVES_UNIT, HFMA2_RELU).forms(THREE).marks(FACTOR, HALVES).since(90),
    Row::new("HFMA2", 0x031, HALVES_UNIT, HFMA2_NH1).forms(FACTOR_FORMS).marks(PAIRS, HALVES).since(90),
    Row::new("HFMA2", 0x031, HALVES_UNIT, HFMA2_NH1_RELU).forms(FACTOR_FORMS).marks(PAIRS, HALVES).since(90),
    Row::new("HFMA2.MMA", 0x035, HALVES_UNIT, HFMA2_MMA).forms(THREE).marks(PAIRS, PAIRS).sms(90, 99),
    Row::new("HFMA2.MMA", 0x035, HALVES_UNIT, HFMA2_MMA_RELU).forms(THREE).marks(PAIRS, PAIRS).sms(90, 99),
    Row::new("HMNMX2", 0x040, HALVES_UNIT.after(5), HMNMX2).forms(TWO).marks(HALVES, PLAIN).since(90),
    Row::new("HMNMX2", 0x040, HALVES_UNIT.after(5), HMNMX2_IS_A).forms(TWO).marks(HALVES, PLAIN).since(90),
    Row::new("HSET2", 0x033, HALVES_UNIT, HSET2).forms(LAST).marks(PLAIN, HALVES).since(90),
    Row::new("HSETP2", 0x034, HALVES_UNIT.after(5), HSETP2).forms(LAST).marks(PLAIN, HALVES).since(90),
];
