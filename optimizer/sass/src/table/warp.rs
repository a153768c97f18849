//! Exchanges between the lanes of a warp, and between its registers and uniform ones.

use super::prelude::*;
use crate::row::PLAIN;

const SHUFFLE: Part = m(58, 2, &["IDX", "UP", "DOWN", "BFLY"]);
const VOTE: Part = m(72, 2, &["ALL", "ANY", "EQ", RESERVED]);

const U32: Part = flag(73, &["U32", ""]);
/// What the other bits of a uniform register become.
const SPREAD: Part = m(86, 2, &["", "FILL", "BROADCAST", RESERVED]);
const WIDE: Part = flag(73, &["", "U64"]);
/// The byte of a register that predicates go to or come from.
const BYTES: Names = &["", "B1", "B2", "B3"];

/// The predicates, written at once.
const WRITTEN: Part = at(What::Word("PR"), 0, 0).written();

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("SHFL", 0x389, EXCHANGE, &[SHUFFLE, p(81), rd(), ra(), r(32), r(64)]),
    Row::new("SHFL", 0x589, EXCHANGE, &[SHUFFLE, p(81), rd(), ra(), r(32), imm(40, 13, Hex)]),
    Row::new("SHFL", 0x989, EXCHANGE, &[SHUFFLE, p(81), rd(), ra(), imm(53, 5, Hex), r(64)]),
    Row::new("SHFL", 0xf89, EXCHANGE, &[SHUFFLE, p(81), rd(), ra(), imm(53, 5, Hex), imm(40, 13, Hex)]),
    Row::new("VOTE", 0x806, VOTING, &[VOTE, rd().unless(255), p(81), pin(87)]),
    Row::new("R2UR", 0x2ca, VOTING.after(13), &[p(81).unless(7), ur(16), ra()]).sms(90, 90),
    Row::new("R2UR.OR", 0x2ca, VOTING.after(13), &[p(81), ur(16), ra()]).fixed(&[(Bits::new(84, 1), 1)]).sms(90, 90),
    Row::new("R2UR", 0x2ca, VOTING.after(13), &[SPREAD, p(81).unless(7), ur(16), ra()]).since(100),
    Row::new("R2UR.OR", 0x2ca, VOTING.after(13), &[SPREAD, p(81), ur(16), ra()])
        .fixed(&[(Bits::new(84, 1), 1)])
        .since(100),
    Row::new("R2UR", 0x3c2, EXCHANGE, &[p(81).unless(7), ur(16), r(24)]).sms(80, 89),
    Row::new("R2UR.OR", 0x3c2, EXCHANGE, &[p(81), ur(16), r(24)]).fixed(&[(Bits::new(84, 1), 1)]).sms(80, 89),
    Row::new("P2R", 0x003, ALU, &[m(76, 2, BYTES), rd(), at(What::Word("PR"), 0, 0), ra(), b(SignedHex)])
        .forms(TWO)
        .sms(80, 89),
    Row::new("P2R", 0x003, ALU, &[m(76, 2, BYTES), rd(), at(What::Word("PR"), 0, 0), ra(), b(Hex)])
        .forms(TWO)
        .since(90),
    Row::new("R2P", 0x004, ALU, &[WRITTEN, ra().suffix(76, 2, BYTES), b(Hex)]).forms(&[Rr, Cr, Xr, Ur]),
    Row::new("R2P", 0x004, ALU, &[WRITTEN, ra().suffix(76, 2, BYTES), b(Hex).unless(0xff)]).forms(&[Ir]),
    Row::new("MATCH.ALL", 0x3a1, EXCHANGE, &[WIDE, p(81), rd(), r(24).sized(&WIDE)]),
    Row::new("MATCH.ANY", 0x3a1, EXCHANGE, &[WIDE, rd(), r(24).sized(&WIDE)])
        .fixed(&[(Bits::new(79, 1), 1), (Bits::new(81, 3), 7)]),
    Row::new(
        "REDUX",
        0x3c4,
        EXCHANGE,
        &[m(78, 3, &["", "OR", "XOR", "SUM", "MIN", "MAX", RESERVED, RESERVED]), flag(73, &["", "S32"]), ur(16), r(24)],
    ),
    Row::new(
        "CREDUX",
        0x2cc,
        EXCHANGE,
        &[
            m(78, 2, &["MAX", "MAXABS", "MIN", "MINABS"]),
            m(73, 2, &["", "S32", "F32", RESERVED]),
            flag(77, &["", "NAN"]),
            ur(16),
            ra(),
        ],
    )
    .sms(100, 110),
    Row::new("ELECT", 0x82f, VOTING.after(2), &[flag(85, &["", "IGNOREKILL"]), p(81), ur(16), pin(87)]).since(90),
    Row::new("ELECT", 0x82f, VOTING.after(2), &[flag(85, &["", "IGNOREKILL"]), p(81), ur(16), ur(24)])
        .fixed(&[U, (Bits::new(87, 3), 7)])
        .since(90),
    Row::new("POPC", 0x109, SPECIAL_UNIT, &[rd(), b(Hex)]).forms(TWO).marks(INV, PLAIN),
    Row::new("FLO", 0x100, SPECIAL_UNIT, &[U32, flag(74, &["", "SH"]), rd(), p(81).unless(7), b(Hex)])
        .forms(TWO)
        .marks(INV, PLAIN),
    Row::new("BREV", 0x101, SPECIAL_UNIT, &[rd(), b(Hex)]).forms(TWO),
    Row::new("BMSK", 0x01b, ALU, &[flag(75, &["", "W"]), rd(), ra(), b(Hex)]).forms(TWO),
    Row::new("SGXT", 0x01a, ALU.after(5), &[flag(75, &["", "W"]), U32, rd(), ra(), b(Hex)]).forms(TWO),
    Row::new("IDP.4A", 0x026, FMA, &[flag(73, &["U8", "S8"]), flag(74, &["U8", "S8"]), rd(), ra(), b(Hex), c(Hex)])
        .forms(&[Rr, Cr, Xr, Ur])
        .marks(PLAIN, NEG),
    Row::new(
        "IDP.2A",
        0x026,
        FMA,
        &[flag(77, &["LO", "HI"]), flag(73, &["U16", "S16"]), flag(74, &["U8", "S8"]), rd(), ra(), b(Hex), c(Hex)],
    )
    .forms(&[Rr, Cr, Xr, Ur])
    .marks(PLAIN, NEG)
    .fixed(&[(Bits::new(76, 1), 1)]),
    Row::new("VABSDIFF", 0x014, ALU, &[U32, rd(), p(81).unless(7), ra(), b(Hex), c(Hex)]).forms(THREE),
    Row::new(
        "VABSDIFF4",
        0x015,
        ALU,
        &[flag(73, &["U8", ""]), flag(75, &["", "ACC"]), rd(), p(81).unless(7), ra(), b(Hex), c(Hex)],
    )
    .forms(THREE),
];
