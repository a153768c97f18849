//! Conversions of several numbers at a time, packed in a register.

use super::prelude::*;

const RELU: Names = &["", "RELU"];
const SATFINITE: Names = &["", "SATFINITE"];
/// Rounding of packed conversions, by bits 79 and 80.
const NEAREST_OR_ZERO: Names = &["", RESERVED, RESERVED, "RZ"];
const ROUND: Names = &["", RESERVED, "RP", "RZ"];

/// The format of the result, by bits 76 and, above it, 85 to 87.
const RESULT_90: Names = &["F16", "BF16", RESERVED, "TF32", "E5M2", "E4M3", RESERVED, RESERVED];
const TO_90: Part = m(76, 1, RESULT_90).above(86, 2);
/// The same since `sm_100`, for pairs of bytes and smaller ones.
const SMALL: Names = &[
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, "E2M3", "E3M2", "E5M2", "E4M3", RESERVED, RESERVED,
    "E8", RESERVED, RESERVED, RESERVED,
];
const E2M1: Names = &[RESERVED, RESERVED, RESERVED, "E2M1"];
const S2_6: Names = &[
    RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
    "S2_6",
];
/// Those that random bits round.
const SMALL_RANDOM: Names = &[
    RESERVED, RESERVED, RESERVED, "E2M1", RESERVED, RESERVED, "E2M3", "E3M2", "E5M2", "E4M3", RESERVED, RESERVED,
    RESERVED, RESERVED, RESERVED, RESERVED,
];
/// Rounding by the random bits of the last source.
const RANDOM: Part = flag(81, &[RESERVED, "RS"]);
const LARGE: Names = &["F16", "BF16"];

const fn result(names: Names) -> Part {
    m(76, 1, names).above(85, 3)
}

const fn saturates() -> Part {
    flag(77, SATFINITE)
}
const fn saturates_always() -> Part {
    flag(77, &[RESERVED, "SATFINITE"])
}
const fn saturates_unless() -> Part {
    flag(77, &["SATFINITE", ""])
}
const fn no_bit(bit: u8) -> Part {
    flag(bit, &["", RESERVED])
}

const F32_SOURCE: Part = m(73, 2, &["F32", RESERVED, RESERVED, RESERVED]);
const F16_SOURCE: Part = m(73, 2, &[RESERVED, "F16", RESERVED, RESERVED]);
const HALF_SOURCE: Part = m(73, 2, &[RESERVED, "F16", RESERVED, RESERVED, RESERVED, "BF16"]).above(83, 1);
const FP8_SOURCE: Part = m(73, 2, &[RESERVED, RESERVED, "E5M2", "E4M3"]);
/// The same with bits 82 and 83.
const SMALL_SOURCE: Part =
    m(73, 2, &[RESERVED, RESERVED, "E5M2", "E4M3", RESERVED, RESERVED, "E2M3", "E3M2"]).above(82, 2);
const E2M1_SOURCE: Part = m(73, 2, &[RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, "E2M1"]).above(82, 2);
/// The byte that is read: bit 72, and bit 88 for the upper two.
const LOW_BYTES: Names = &["", "B1", RESERVED];
const HIGH_BYTES: Names = &["B2", "B3", RESERVED];
const E8_SOURCE: Part = m(
    73,
    2,
    &[
        RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED,
        "E8",
    ],
)
.above(82, 2);
/// The first and the last source where nothing reads them; ptxas puts the register there that reads as zero.
const NO_A: Part = any(24, 8).usually(255);
const NO_C: Part = any(64, 8).usually(255);

macro_rules! f2fp {
    ($saturates:expr, $result:expr, $source:expr, $mode:expr, $round:expr, $($operand:expr),*) => {
        &[
            $saturates,
            flag(75, RELU),
            $result,
            $source,
            m(78, 1, $mode.0).above(89, 2),
            m(79, 2, $round),
            rd(),
            $($operand),*
        ]
    };
}

/// The modes of a conversion: bit 78 and, above it, 89 and 90.
const PACK_AB: (Names,) = (&["PACK_AB", RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED],);
const MERGE_C: (Names,) = (&[RESERVED, "MERGE_C", RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED],);
const PACK_B: (Names,) = (&[RESERVED, RESERVED, RESERVED, "PACK_B", RESERVED, RESERVED, RESERVED, RESERVED],);
const UNPACK_B: (Names,) = (&[RESERVED, RESERVED, "UNPACK_B", RESERVED, RESERVED, RESERVED, RESERVED, RESERVED],);
const UNPACK_B_MERGE_C: (Names,) =
    (&[RESERVED, RESERVED, RESERVED, RESERVED, "UNPACK_B_MERGE_C", RESERVED, RESERVED, RESERVED],);
const PACK_AB_MERGE_C: (Names,) =
    (&[RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, "PACK_AB_MERGE_C", RESERVED, RESERVED],);

const fn c_half() -> Part {
    c(F32).suffix(72, 1, UPPER)
}
/// No half of an immediate is read.
const WHOLE: Names = &["", ""];
const UPPER: Names = &["", "H1"];

const fn b_half() -> Part {
    b(F32).suffix(88, 1, UPPER)
}

/// Of two sources that the result holds.
const fn pack(parts: &'static [Part]) -> Row {
    Row::new("F2FP", 0x03e, ALU.after(5), parts).forms(TWO)
}

/// Of a source that the result holds next to what another register has.
const fn merge(parts: &'static [Part]) -> Row {
    Row::new("F2FP", 0x03e, ALU.after(5), parts).forms(THREE)
}

/// Of three sources.
const fn all(parts: &'static [Part]) -> Row {
    Row::new("F2FP", 0x03e, ALU.after(5), parts).forms(THREE)
}

/// Of one source.
const fn unpack(parts: &'static [Part]) -> Row {
    Row::new("F2FP", 0x03e, ALU.after(5), parts).forms(TWO)
}

/// The formats of the uniform conversion, by bits 75 to 77.
const TO_FLOAT: Names = &["BF16", "F16", RESERVED, "TF32", "E5M2", "E4M3", RESERVED, RESERVED];

macro_rules! uf2fp {
    ($result:expr, $mode:expr, $round:expr, $($operand:expr),*) => {
        &[
            flag(82, SATFINITE),
            flag(74, RELU),
            m(75, 3, $result),
            flag(85, &[RESERVED, "F32"]),
            m(78, 1, $mode.0).above(89, 2),
            m(79, 2, $round),
            rd(),
            $($operand),*
        ]
    };
}

const fn uf2fp(parts: &'static [Part]) -> Row {
    Row::new("UF2FP", 0x0ba, UNIFORM_UNIT, parts).forms(&[Rr, Ri, Ir]).twin().since(120)
}

/// The rows.
pub const ROWS: &[Row] = &[
    pack(f2fp!(saturates(), TO_90, F32_SOURCE, PACK_AB, NEAREST_OR_ZERO, ra(), b(F32), NO_C, any(82, 4), any(72, 1)))
        .sms(89, 99),
    pack(f2fp!(saturates(), flag(76, LARGE), F32_SOURCE, PACK_AB, NEAREST_OR_ZERO, ra(), b(F32), NO_C, any(72, 1)))
        .since(100),
    merge(f2fp!(saturates(), TO_90, F32_SOURCE, MERGE_C, NEAREST_OR_ZERO, b(F32), c_half(), NO_A, any(82, 4)))
        .sms(89, 99),
    merge(f2fp!(saturates(), flag(76, LARGE), F32_SOURCE, MERGE_C, NEAREST_OR_ZERO, b(F32), c_half(), NO_A)).since(100),
    unpack(f2fp!(no_bit(77), TO_90, FP8_SOURCE, UNPACK_B, &[""], b_half(), NO_A, NO_C, any(82, 4))).sms(89, 99),
    unpack(f2fp!(
        no_bit(77),
        flag(76, &["F16"]),
        E2M1_SOURCE,
        UNPACK_B,
        &[""],
        b(F32).suffix(72, 1, LOW_BYTES),
        NO_A,
        NO_C
    ))
    .since(100),
    unpack(f2fp!(
        no_bit(77),
        flag(76, &["F16"]),
        E2M1_SOURCE,
        UNPACK_B,
        &[""],
        b(F32).suffix(72, 1, HIGH_BYTES),
        NO_A,
        NO_C
    ))
    .fixed(&[(Bits::new(88, 1), 1)])
    .since(100),
    unpack(f2fp!(no_bit(77), flag(76, &["F16"]), SMALL_SOURCE, UNPACK_B, &[""], b_half(), NO_A, NO_C)).since(100),
    unpack(&[flag(76, &[RESERVED, "BF16"]), E8_SOURCE, m(78, 1, UNPACK_B.0).above(89, 2), rd(), b_half(), NO_A, NO_C])
        .since(100),
    unpack(f2fp!(no_bit(77), result(TF32), F32_SOURCE, PACK_B, NEAREST_OR_ZERO, b(F32), NO_A, NO_C)).sms(89, 99),
    unpack(f2fp!(saturates(), result(TF32), F32_SOURCE, PACK_B, NEAREST_OR_ZERO, b(F32), NO_A, NO_C)).since(100),
    all(f2fp!(saturates(), TO_90, F32_SOURCE, PACK_AB_MERGE_C, &[""], ra(), b(F32), c_half(), any(82, 4))).sms(89, 99),
    all(f2fp!(saturates_always(), result(E2M1), F32_SOURCE, PACK_AB_MERGE_C, &[""], ra(), b(F32), c(F32), any(72, 1)))
        .since(100),
    all(f2fp!(saturates_unless(), result(S2_6), F32_SOURCE, PACK_AB_MERGE_C, &[""], ra(), b(F32), c(F32), any(72, 1)))
        .since(100),
    merge(f2fp!(
        saturates_always(),
        result(E2M1),
        HALF_SOURCE,
        UNPACK_B_MERGE_C,
        &[""],
        b(F32),
        c(F32),
        NO_A,
        any(72, 1)
    ))
    .since(100),
    all(f2fp!(saturates(), result(SMALL), F32_SOURCE, PACK_AB_MERGE_C, ROUND, ra(), b(F32), c_half())).since(100),
    merge(f2fp!(saturates(), TO_90, F16_SOURCE, UNPACK_B_MERGE_C, &[""], b(F32), c_half(), NO_A, any(82, 4)))
        .sms(89, 99),
    merge(f2fp!(saturates(), result(SMALL), HALF_SOURCE, UNPACK_B_MERGE_C, ROUND, b(F32), c_half(), NO_A)).since(100),
    all(f2fp!(saturates(), flag(76, LARGE), F32_SOURCE, PACK_AB, &[""], RANDOM, ra(), b(F32), c(F32), any(72, 1)))
        .sms(100, 119),
    all(f2fp!(saturates(), result(SMALL_RANDOM), F32_SOURCE, MERGE_C, &[""], RANDOM, ra(), b(F32), c(F32), any(72, 1)))
        .sms(100, 119),
    all(f2fp!(
        saturates(),
        result(SMALL_RANDOM),
        F32_SOURCE,
        PACK_AB_MERGE_C,
        &[""],
        RANDOM,
        ra(),
        b(F32),
        c(F32),
        any(72, 1)
    ))
    .sms(100, 119),
    Row::new("F2FP", 0x03e, ALU.after(5), F2FP_80_RS).forms(THREE).sms(80, 89),
    pack(F2FP_80).sms(80, 86),
    merge(F2FP_80_MERGE).sms(80, 86),
    Row::new("I2FP.F32", 0x045, ALU.after(5), I2FP).forms(TWO).fixed(I2FP_FIXED).since(86),
    Row::new("I2I", 0x038, ALU, I2I).forms(TWO),
    Row::new("I2IP", 0x039, ALU, I2IP_80).forms(TWO).sms(80, 80),
    Row::new("I2IP", 0x039, ALU, I2IP_80_4).forms(TWO).sms(80, 80),
    Row::new("I2IP", 0x039, ALU, I2IP_80_2).forms(TWO).sms(80, 80),
    Row::new("I2IP", 0x039, ALU, I2IP_86).forms(TWO).sms(86, 89),
    Row::new("I2IP", 0x039, ALU, I2IP).forms(TWO).since(90),
    Row::new("I2IP", 0x039, ALU, I2IP_86_4).forms(TWO).sms(86, 89),
    Row::new("I2IP", 0x039, ALU, I2IP_4).forms(TWO).since(90),
    Row::new("I2IP", 0x039, ALU, I2IP_86_2).forms(TWO).sms(86, 89),
    Row::new("I2IP", 0x039, ALU, I2IP_2).forms(TWO).since(90),
    Row::new("F2IP", 0x043, ALU, F2IP).forms(THREE).since(90),
    Row::new("UI2FP.F32", 0x05e, UNIFORM_UNIT, I2FP).forms(UNIFORM).fixed(I2FP_FIXED).twin().since(120),
    Row::new("UI2I", 0x04e, UNIFORM_UNIT, I2I).forms(UNIFORM).twin().since(120),
    Row::new("UI2IP", 0x04f, UNIFORM_UNIT, UI2IP).forms(UNIFORM).twin().since(120),
    Row::new("UI2IP", 0x04f, UNIFORM_UNIT, UI2IP_4).forms(UNIFORM).twin().since(120),
    Row::new("UI2IP", 0x04f, UNIFORM_UNIT, UI2IP_2).forms(UNIFORM).twin().since(120),
    Row::new("UF2IP", 0x059, UNIFORM_UNIT, F2IP).forms(&[Rr, Ri, Ir]).twin().since(120),
    uf2fp(uf2fp!(TO_FLOAT, PACK_AB, NEAREST_OR_ZERO, ra(), b(F32), NO_C, any(72, 1))).forms(UNIFORM),
    uf2fp(uf2fp!(TO_FLOAT, MERGE_C, NEAREST_OR_ZERO, b(F32), c_half(), NO_A)).forms(UNIFORM),
    uf2fp(uf2fp!(TO_FLOAT, MERGE_C, NEAREST_OR_ZERO, b(F32), c(F32).suffix(72, 1, WHOLE), NO_A)).forms(&[Ri]),
    uf2fp(uf2fp!(TO_FLOAT, PACK_AB_MERGE_C, &[""], ra(), b(F32), c_half())),
    uf2fp(uf2fp!(&[RESERVED, RESERVED, RESERVED, "TF32"], PACK_B, NEAREST_OR_ZERO, b(F32), NO_A, NO_C)).forms(UNIFORM),
    Row::new("UF2FP", 0x0ba, UNIFORM_UNIT, UF2FP_90).forms(UNIFORM).fixed(UF2FP_FIXED_90).twin().sms(90, 99),
    Row::new("UF2FP", 0x0ba, UNIFORM_UNIT, UF2FP_100).forms(UNIFORM).fixed(UF2FP_FIXED_90).twin().sms(100, 119),
    Row::new("UF2FP", 0x0ba, UNIFORM_UNIT, UF2FP_90_MERGE).forms(&[Rr, Ir]).fixed(UF2FP_FIXED_90).twin().sms(90, 99),
    Row::new("UF2FP", 0x0ba, UNIFORM_UNIT, UF2FP_90_RI).forms(&[Ri]).fixed(UF2FP_FIXED_90).twin().sms(90, 99),
    Row::new("UF2FP", 0x0ba, UNIFORM_UNIT, UF2FP_100_RI).forms(&[Ri]).fixed(UF2FP_FIXED_90).twin().sms(100, 119),
    Row::new("UF2FP", 0x0ba, UNIFORM_UNIT, UF2FP_100_MERGE).forms(&[Rr, Ir]).fixed(UF2FP_FIXED_90).twin().sms(100, 119),
];

/// Before `sm_90`: the source is always of 32 bits, and the result of 16.
const F2FP_80: &[Part] = &[
    flag(77, SATFINITE),
    flag(75, RELU),
    flag(76, BF16),
    flag(78, &["PACK_AB", RESERVED]),
    m(79, 3, ROUND_80),
    rd(),
    ra(),
    b(F32),
    NO_C,
    any(72, 1),
    any(82, 4),
];
const F2FP_80_MERGE: &[Part] = &[
    flag(77, SATFINITE),
    flag(75, RELU),
    flag(76, BF16),
    flag(78, &[RESERVED, "MERGE_C"]),
    m(79, 3, ROUND_80),
    rd(),
    b(F32),
    c_half(),
    NO_A,
    any(82, 4),
];
const RS_80: Part = m(79, 3, &[RESERVED, RESERVED, RESERVED, RESERVED, "RS"]);
const REGISTER: Part = flag(82, &["", "REG_RS"]);
const RANDOM_BITS: Part = m(83, 2, &["7b", "", "9b", "10b"]);
const LTN25: Part = flag(85, &["", "LTN25"]);
const F2FP_80_RS: &[Part] = &[
    flag(77, SATFINITE),
    flag(75, RELU),
    flag(78, &["PACK_AB", "MERGE_C"]),
    RS_80,
    REGISTER,
    RANDOM_BITS,
    LTN25,
    rd(),
    ra(),
    b(F32),
    c_half(),
];

const BF16: Names = &["", "BF16"];
const ROUND_80: Names = &["", RESERVED, RESERVED, "RZ", RESERVED];
const TF32: Names = &[RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, "TF32"];

const I2FP_FIXED: &[(Bits, u64)] = &[(Bits::new(75, 3), 2), (Bits::new(84, 2), 2)];
/// The forms of the uniform datapath.
const UNIFORM: &[Form] = &[Rr, Ir];
const UF2FP_FIXED_90: &[(Bits, u64)] = &[(Bits::new(75, 1), 1), (Bits::new(85, 1), 1)];
const UF2FP_90: &[Part] =
    &[flag(78, &["PACK_AB", RESERVED]), m(79, 2, NEAREST_OR_ZERO), rd(), ra(), b(F32), any(64, 6), any(72, 1)];
const UF2FP_100: &[Part] =
    &[flag(78, &["PACK_AB", RESERVED]), m(79, 2, NEAREST_OR_ZERO), rd(), ra(), b(F32), NO_C, any(72, 1)];
const UF2FP_90_MERGE: &[Part] =
    &[flag(78, &[RESERVED, "MERGE_C"]), m(79, 2, NEAREST_OR_ZERO), rd(), b(F32), c_half(), any(24, 6)];
const UF2FP_100_MERGE: &[Part] =
    &[flag(78, &[RESERVED, "MERGE_C"]), m(79, 2, NEAREST_OR_ZERO), rd(), b(F32), c_half(), NO_A];
const UF2FP_90_RI: &[Part] = &[
    flag(78, &[RESERVED, "MERGE_C"]),
    m(79, 2, NEAREST_OR_ZERO),
    rd(),
    b(F32),
    c(F32).suffix(72, 1, WHOLE),
    any(24, 6),
];
const UF2FP_100_RI: &[Part] =
    &[flag(78, &[RESERVED, "MERGE_C"]), m(79, 2, NEAREST_OR_ZERO), rd(), b(F32), c(F32).suffix(72, 1, WHOLE), NO_A];
const I2FP: &[Part] = &[flag(74, &["U32", "S32"]), m(78, 2, NEAREST_OR_ZERO), rd(), b(HexBy(74))];
const I2I: &[Part] = &[m(76, 2, &["U8.S32.SAT", "S8.S32.SAT", "U16.S32.SAT", "S16.S32.SAT"]), rd(), b(SignedHex)];

/// Eight and sixteen bits, then four and two, each with what is merged.
const I2IP_80: &[Part] = &[
    flag(78, &["", RESERVED]),
    m(76, 2, &["U8.S32.SAT", "S8.S32.SAT", "U16.S32.SAT", "S16.S32.SAT"]),
    rd(),
    ra(),
    b(SignedHex),
    rc().suffix(72, 1, H1),
];
const I2IP_80_4: &[Part] = &[
    m(76, 3, FOUR),
    flag(74, &["S32.SAT"]),
    rd(),
    ra(),
    b(SignedHex),
    rc().suffix(72, 2, &[RESERVED, RESERVED, "24"]),
];
const I2IP_80_2: &[Part] = &[
    m(76, 3, TWO_BITS),
    flag(74, &["S32.SAT"]),
    rd(),
    ra(),
    b(SignedHex),
    rc().suffix(72, 2, &[RESERVED, RESERVED, RESERVED, "28"]),
];
const FOUR: Names = &[RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, RESERVED, "U4", "S4"];
const TWO_BITS: Names = &[RESERVED, RESERVED, RESERVED, RESERVED, "U2", "S2", RESERVED, RESERVED];
const CLAMP: Names = &["S32", "S32.SAT", "S32.SATRELU", RESERVED];
const I2IP: &[Part] = &[
    flag(78, &["", RESERVED]),
    m(76, 2, &["U8", "S8", "U16", "S16"]),
    m(74, 2, CLAMP),
    rd(),
    ra(),
    b(SignedHex),
    rc().suffix(72, 1, H1),
];
const I2IP_4: &[Part] =
    &[m(76, 3, FOUR), m(74, 2, CLAMP), rd(), ra(), b(SignedHex), rc().suffix(72, 2, &[RESERVED, RESERVED, "24"])];
const I2IP_2: &[Part] = &[
    m(76, 3, TWO_BITS),
    m(74, 2, CLAMP),
    rd(),
    ra(),
    b(SignedHex),
    rc().suffix(72, 2, &[RESERVED, RESERVED, RESERVED, "28"]),
];
const UNIFORM_CLAMP: Names = &["S32", "S32.SAT", "S32.RELU", RESERVED];
const UI2IP: &[Part] = &[
    flag(78, &["", RESERVED]),
    m(76, 2, &["U8", "S8", "U16", "S16"]),
    m(74, 2, UNIFORM_CLAMP),
    rd(),
    ra(),
    b(SignedHex),
    rc().suffix(72, 1, H1),
];
const UI2IP_4: &[Part] = &[
    m(76, 3, FOUR),
    m(74, 2, UNIFORM_CLAMP),
    rd(),
    ra(),
    b(SignedHex),
    rc().suffix(72, 2, &[RESERVED, RESERVED, "24"]),
];
const UI2IP_2: &[Part] = &[
    m(76, 3, TWO_BITS),
    m(74, 2, UNIFORM_CLAMP),
    rd(),
    ra(),
    b(SignedHex),
    rc().suffix(72, 2, &[RESERVED, RESERVED, RESERVED, "28"]),
];
/// Before `sm_90` the first code saturates.
const CLAMP_86: Names = &["S32.SAT", "S32", "S32.SATRELU", RESERVED];
const I2IP_86: &[Part] = &[
    flag(78, &["", RESERVED]),
    m(76, 2, &["U8", "S8", "U16", "S16"]),
    m(74, 2, CLAMP_86),
    rd(),
    ra(),
    b(SignedHex),
    rc().suffix(72, 1, H1),
];
const I2IP_86_4: &[Part] =
    &[m(76, 3, FOUR), m(74, 2, CLAMP_86), rd(), ra(), b(SignedHex), rc().suffix(72, 2, &[RESERVED, RESERVED, "24"])];
const I2IP_86_2: &[Part] = &[
    m(76, 3, TWO_BITS),
    m(74, 2, CLAMP_86),
    rd(),
    ra(),
    b(SignedHex),
    rc().suffix(72, 2, &[RESERVED, RESERVED, RESERVED, "28"]),
];
const F2IP: &[Part] = &[
    m(76, 2, &["U8.F32", "S8.F32", RESERVED, RESERVED]),
    m(78, 2, &["", RESERVED, RESERVED, "TRUNC"]),
    flag(74, &["", "NTZ"]),
    flag(75, RELU),
    rd(),
    ra(),
    b(F32),
    c(F32).suffix(72, 1, H1),
];
