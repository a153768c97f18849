//! Exchanges between the lanes of a warp, and between its registers and uniform ones.

use super::prelude::*;

const SHUFFLE: Part = m(58, 2, &["IDX", "UP", "DOWN", "BFLY"]);
const VOTE: Part = m(72, 2, &["ALL", "ANY", "EQ", RESERVED]);

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("SHFL", 0x389, &[SHUFFLE, p(81), rd(), ra(), r(32), r(64)]),
    Row::new("SHFL", 0x589, &[SHUFFLE, p(81), rd(), ra(), r(32), imm(40, 13, Hex)]),
    Row::new("SHFL", 0x989, &[SHUFFLE, p(81), rd(), ra(), imm(53, 5, Hex), r(64)]),
    Row::new("SHFL", 0xf89, &[SHUFFLE, p(81), rd(), ra(), imm(53, 5, Hex), imm(40, 13, Hex)]),
    Row::new("VOTE", 0x806, &[VOTE, rd().unless(255), p(81), pin(87)]),
    Row::new("R2UR", 0x2ca, &[flag(84, &["", "OR"]), p(81).unless(7), ur(16), ra()]),
];
