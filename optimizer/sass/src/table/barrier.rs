//! Barriers of the block.

use super::prelude::*;

/// Modes of barriers of the block: a row each, since they differ in modifiers and operands.
const SYNC: &[(Bits, u64)] = &[(Bits::new(77, 3), 0)];
const ARV: &[(Bits, u64)] = &[(Bits::new(77, 3), 1)];
const RED: &[(Bits, u64)] = &[(Bits::new(77, 3), 2)];
const SCAN: &[(Bits, u64)] = &[(Bits::new(77, 3), 3)];
const DEFER: Part = flag(80, &["", "DEFER_BLOCKING"]);
const REDUCE: Part = m(74, 2, &["POPC", "AND", "OR", RESERVED]);
/// The barrier's number and how many threads take part.
const NUMBER: Part = imm(54, 4, Hex);
const COUNT: Part = imm(42, 12, Hex);
const COUNT_IF: Part = COUNT.unless(0);

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("BAR.SYNC", 0xb1d, CTA_BARRIER, &[DEFER, NUMBER, COUNT_IF]).fixed(SYNC),
    Row::new("BAR.ARV", 0xb1d, CTA_BARRIER, &[NUMBER, COUNT]).fixed(ARV),
    Row::new("BAR.RED", 0xb1d, CTA_BARRIER, &[REDUCE, DEFER, NUMBER, COUNT_IF, pin(87)]).fixed(RED),
    Row::new("BAR.SCAN", 0xb1d, CTA_BARRIER, &[NUMBER, COUNT, pin(87)]).fixed(SCAN),
    Row::new("BAR.SYNC", 0x31d, CTA_BARRIER, &[DEFER, r(32), r(32)]).fixed(SYNC),
    Row::new("BAR.ARV", 0x31d, CTA_BARRIER, &[r(32), r(32)]).fixed(ARV),
    Row::new("BAR.RED", 0x31d, CTA_BARRIER, &[REDUCE, DEFER, r(32), r(32), pin(87)]).fixed(RED),
    Row::new("BAR.SCAN", 0x31d, CTA_BARRIER, &[r(32), r(32), pin(87)]).fixed(SCAN),
    Row::new("BAR.SYNC", 0x51d, CTA_BARRIER, &[DEFER, r(32), COUNT_IF]).fixed(SYNC),
    Row::new("BAR.ARV", 0x51d, CTA_BARRIER, &[r(32), COUNT]).fixed(ARV),
    Row::new("BAR.RED", 0x51d, CTA_BARRIER, &[REDUCE, DEFER, r(32), COUNT_IF, pin(87)]).fixed(RED),
    Row::new("BAR.SCAN", 0x51d, CTA_BARRIER, &[r(32), COUNT, pin(87)]).fixed(SCAN),
    Row::new("BAR.SYNC", 0x91d, CTA_BARRIER, &[DEFER, NUMBER, r(32)]).fixed(SYNC).sms(80, 89),
    Row::new("BAR.SYNC", 0x91d, CTA_BARRIER, &[DEFER, NUMBER, r(32).unless(255)]).fixed(SYNC).since(90),
    Row::new("BAR.ARV", 0x91d, CTA_BARRIER, &[NUMBER, r(32)]).fixed(ARV),
    Row::new("BAR.RED", 0x91d, CTA_BARRIER, &[REDUCE, DEFER, NUMBER, r(32), pin(87)]).fixed(RED).sms(80, 89),
    Row::new("BAR.RED", 0x91d, CTA_BARRIER, &[REDUCE, DEFER, NUMBER, r(32).unless(255), pin(87)]).fixed(RED).since(90),
    Row::new("BAR.SCAN", 0x91d, CTA_BARRIER, &[NUMBER, r(32), pin(87)]).fixed(SCAN),
];
