//! Logic, shifts, selection of bytes and words.

use super::prelude::*;

const LOP3: &[Part] = &[flag(80, &["", "PAND"]), p(81).unless(7), rd(), ra(), b(Hex), c(Hex), imm(72, 8, Hex), pin(87)];

macro_rules! shift {
    ($($before:expr)?) => {
        &[
            $($before,)?
            flag(76, &["L", "R"]),
            flag(75, &["", "W"]),
            m(73, 2, &["S64", "U64", "S32", "U32"]),
            flag(80, &["", "HI"]),
            rd(),
            ra(),
            b(Hex),
            c(Hex),
        ]
    };
}
const SHF: &[Part] = shift!();
const SHF_100: &[Part] = shift!(flag(77, &["", "XOR"]));

const PRMT: &[Part] =
    &[m(72, 3, &["", "F4E", "B4E", "RC8", "ECL", "ECR", "RC16", RESERVED]), rd(), ra(), b(Hex), c(Hex)];

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("LOP3.LUT", 0x012, ALU, LOP3).forms(TWO),
    Row::new("SHF", 0x019, ALU, SHF).forms(THREE).sms(80, 99),
    Row::new("SHF", 0x019, ALU, SHF_100).forms(THREE).sms(100, 119),
    Row::new("SHF", 0x019, ALU, SHF).forms(THREE).since(120),
    Row::new("PRMT", 0x016, ALU, PRMT).forms(THREE),
    Row::new("MOV", 0x002, ALU, &[rd(), b(Hex), imm(72, 4, Hex).unless(0xf)]).forms(TWO).sms(80, 110),
    Row::new("MOV", 0x802, ALU, &[rd(), imm(32, 32, Hex), imm(72, 4, Hex).unless(0xf)]).since(120),
    Row::new("MOV", 0x002, ALU, &[rd(), b(Hex), imm(72, 4, Hex).unless(0xf)]).forms(&[Rr, Ur]).since(120),
    Row::new(
        "MOV.64",
        0x002,
        ALU.after(5),
        &[rd().words(2), b(Hex).words(2), imm(72, 4, Hex).show(Show::Never).usually(0xf)],
    )
    .forms(&[Rr, Ur])
    .fixed(&[(Bits::new(80, 1), 1)])
    .since(120),
    Row::new("MOV.SPILL", 0xc02, ALU, &[rd(), ur(32)]).fixed(&[U, (Bits::new(88, 1), 1)]).since(120),
    Row::new("MOV.64", 0x402, ALU.after(5), &[rd().words(2), imm(24, 64, Hex)]).since(120),
    Row::new("SEL", 0x007, ALU, &[rd(), ra(), b(Hex), pin(87)]).forms(TWO),
    Row::new("SEL.64", 0x607, ALU.after(5), &[rd().words(2), ra().words(2), rb().words(2), pin(87)]).since(120),
    Row::new("SEL.64", 0xe07, ALU.after(5), &[rd().words(2), ra().words(2), ur(32).words(2), pin(87)])
        .fixed(FIXED_U)
        .since(120),
    Row::new("SEL.64", 0x407, ALU.after(5), &[rd().words(2), ra().words(2), imm(32, 33, SignedHex), pin(87)])
        .since(120),
    Row::new("IABS", 0x013, ALU, &[rd(), b(SignedHex)]).forms(TWO),
];
