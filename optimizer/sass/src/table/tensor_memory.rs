//! Tensor memory, which only `sm_100` and its like have: products of matrices there and in shared memory (PTX ISA,
//! "Tensor Core 5th Generation Family Instructions"), loads and stores, copies, and who has which columns.

use super::prelude::*;
use crate::row::Widths;

/// What a lane holds of the matrix that is loaded or stored.
const SHAPE: Part = m(
    81,
    2,
    &["16dp128bit", "16dp256bit", "", "16dp64bit", "16dp32bit_t0_t15", "16dp32bit_t16_t31", RESERVED, RESERVED],
)
.above(87, 1);
/// How many of these a lane holds.
const COUNT: Part = m(83, 3, &["", "x2", "x4", "x8", "x16", "x32", "x64", "x128"]);
/// Where one CTA works on its own.
const ALONE: Show = Show::Where(Bits::new(85, 1), 0);
const PAIR: Part = flag(85, &["", "2CTA"]);
/// An offset in tensor memory; its upper bits stand apart.
const PLACE: Part = offset().above(72, 8);

const fn tensor(low: u8) -> Part {
    Part::new(What::Within("tmem"), Bits::new(low, 6))
}

const fn shared(low: u8) -> Part {
    Part::new(What::Within("gdesc"), Bits::new(low, 6)).words(2)
}

const fn mark(low: u8, len: u8, names: Names) -> Part {
    Part::new(What::Mark(names), Bits::new(low, len))
}

/// A modifier that is always there.
const fn always(name: Names) -> Part {
    m(0, 0, name)
}

/// How many registers a load writes or a store reads, packed or not.
fn registers(word: u128, part: &Part) -> Option<u8> {
    let bits = |low: u8, len: u8| Bits::new(low, len).get(word) as u8;
    let each = match (bits(87, 1), bits(81, 2)) {
        (0, 0) => 2,
        (0, 1) => 4,
        _ => 1,
    };
    matches!(part.what, What::Register(File::R)).then_some(each << bits(83, 3))
}
const REGISTERS: Widths = registers;

/// The first matrix, the second one in shared memory, the sum, and where metadata lie with the descriptor of all.
macro_rules! product {
    ([$($modifier:expr),*], $first:expr, [$($second:expr),*], [$($behind:expr),*]) => {
        &[
            PAIR,
            $($modifier,)*
            $first,
            mark(86, 1, &["", "A_REUSE"]),
            mark(84, 1, &["", "A_KEEP"]),
            shared(32),
            $($second,)*
            tensor(64),
            Part::new(What::Beside(["tmem", "idesc"]), Bits::new(40, 6)).words(2),
            $($behind),*
        ]
    };
}

const WS: Part = flag(83, &["", "WS"]);
const ASHIFT: Part = flag(74, &["", "ASHIFT"]);
const B_REUSE: Part = mark(82, 1, &["", "B_REUSE"]).show(ALONE);
const B_KEEP: Part = mark(81, 1, &["", "B_KEEP"]).show(ALONE);
const BUFFER: Part = mark(79, 2, &["", "BUFFER1", "BUFFER2", "BUFFER3"]).show(ALONE);
/// Lanes of the sum that stay as they are, where that is said.
const MASK: Part = ur(48).unless(255);
/// Whether the product is added to what is there.
const ADDS: Part = upin(87);
/// By how much the sum is scaled before.
const SCALED_BY: Part = imm(75, 4, Hex).unless(0);
/// Where the scales of both matrices lie.
const SCALES: Part = tensor(48).words(2);
/// The size of a block that has a scale, which `sm_100` calls otherwise.
const BLOCK_100: Part = flag(62, &["4X", ""]);
const BLOCK: Part = flag(62, &["BLOCK16", ""]);

const HALVES_IN_SHARED: &[Part] =
    product!([WS, any(74, 1)], shared(24), [B_REUSE, B_KEEP, BUFFER], [MASK, ADDS, SCALED_BY, any(62, 1)]);
const HALVES_IN_TENSOR: &[Part] =
    product!([WS, ASHIFT], tensor(24), [B_REUSE, B_KEEP, BUFFER], [MASK, ADDS, SCALED_BY, any(62, 1)]);
const IN_SHARED: &[Part] = product!([WS, any(74, 5)], shared(24), [B_REUSE, B_KEEP, BUFFER], [MASK, ADDS, any(62, 1)]);
const IN_TENSOR: &[Part] =
    product!([WS, ASHIFT], tensor(24), [B_REUSE, B_KEEP, BUFFER], [MASK, ADDS, any(75, 4), any(62, 1)]);
const SCALED_IN_SHARED_100: &[Part] = product!([BLOCK_100], shared(24), [], [SCALES, ADDS, any(74, 10)]);
const SCALED_IN_TENSOR_100: &[Part] = product!([BLOCK_100], tensor(24), [], [SCALES, ADDS, any(74, 10)]);
const SCALED_IN_SHARED: &[Part] = product!([BLOCK], shared(24), [], [SCALES, ADDS, any(74, 10)]);
const SCALED_IN_TENSOR: &[Part] = product!([BLOCK], tensor(24), [], [SCALES, ADDS, any(74, 10)]);

const BYTES_IN_SHARED: &[Part] = product!([], shared(24), [], [SCALES, ADDS, any(62, 1), any(74, 10)]);
const BYTES_IN_TENSOR: &[Part] = product!([], tensor(24), [], [SCALES, ADDS, any(62, 1), any(74, 10)]);

const fn kind(code: u64) -> (Bits, u64) {
    (Bits::new(72, 2), code)
}
const UNSCALED: (Bits, u64) = (Bits::new(63, 1), 0);
const SCALED: (Bits, u64) = (Bits::new(63, 1), 1);

/// A row of the machines with tensor memory.
const fn row(name: &'static str, opcode: u16, class: Class, parts: &'static [Part]) -> Row {
    Row::new(name, opcode, class, parts).uniform().fixed(FIXED_U).sms(100, 119)
}

/// All of them.
pub const ROWS: &[Row] = &[
    row("LDTM", 0x9ee, ASYNCHRONOUS, &[SHAPE, COUNT, flag(80, &["", "PACK16BIT"]), rd(), tensor(32), PLACE])
        .widths(REGISTERS),
    row("STTM", 0x9ed, ASYNCHRONOUS, &[SHAPE, COUNT, flag(80, &["", "EXPAND16BIT"]), tensor(64), PLACE, r(32)])
        .widths(REGISTERS),
    row("UTCHMMA", 0x5ea, ASYNCHRONOUS, HALVES_IN_SHARED).fixed(&[U, kind(0), UNSCALED]),
    row("UTCHMMA", 0x9ea, ASYNCHRONOUS, HALVES_IN_TENSOR).fixed(&[U, kind(0), UNSCALED]),
    row("UTCIMMA", 0x5ea, ASYNCHRONOUS, IN_SHARED).fixed(&[U, kind(1), UNSCALED]).sms(100, 102),
    row("UTCIMMA", 0x9ea, ASYNCHRONOUS, IN_TENSOR).fixed(&[U, kind(1), UNSCALED]).sms(100, 102),
    row("UTCQMMA", 0x5ea, ASYNCHRONOUS, IN_SHARED).fixed(&[U, kind(3), UNSCALED]),
    row("UTCQMMA", 0x9ea, ASYNCHRONOUS, IN_TENSOR).fixed(&[U, kind(3), UNSCALED]),
    row("UTCQMMA", 0xdea, ASYNCHRONOUS, BYTES_IN_SHARED).fixed(&[U, kind(3), UNSCALED]),
    row("UTCQMMA", 0xfea, ASYNCHRONOUS, BYTES_IN_TENSOR).fixed(&[U, kind(3), UNSCALED]),
    row("UTCOMMA", 0x5ea, ASYNCHRONOUS, SCALED_IN_SHARED_100).fixed(&[U, kind(0), SCALED]).sms(100, 102),
    row("UTCOMMA", 0x9ea, ASYNCHRONOUS, SCALED_IN_TENSOR_100).fixed(&[U, kind(0), SCALED]).sms(100, 102),
    row("UTCOMMA", 0x5ea, ASYNCHRONOUS, SCALED_IN_SHARED).fixed(&[U, kind(0), SCALED]).sms(103, 119),
    row("UTCOMMA", 0x9ea, ASYNCHRONOUS, SCALED_IN_TENSOR).fixed(&[U, kind(0), SCALED]).sms(103, 119),
    row(
        "UTCCP.T.S",
        0x9e7,
        ASYNCHRONOUS,
        &[
            PAIR,
            m(
                83,
                2,
                &[
                    "",
                    RESERVED,
                    "4dp256bit",
                    "128dp128bit",
                    "2x64dp128bit_lw02_lw13",
                    "2x64dp128bit_lw01_lw23",
                    "4x32dp128bit",
                    RESERVED,
                ],
            )
            .above(88, 1),
            m(80, 2, &["", "U4x16P64", "U6x16P32", RESERVED]),
            tensor(24),
            PLACE,
            shared(32),
        ],
    )
    .fixed(&[U, (Bits::new(86, 2), 0)]),
    row("UTCSHIFT", 0x9e6, ASYNCHRONOUS, &[PAIR, m(80, 1, &[RESERVED, "DOWN"]), tensor(24), PLACE]),
    row(
        "UTCBAR",
        0x3e9,
        ASYNCHRONOUS,
        &[
            PAIR,
            flag(77, &["", "A0TX"]),
            flag(76, &["", "WAKEUP"]).show(ALONE),
            flag(75, &["", "MULTICAST"]),
            ubase(24),
            ur(32),
            ur(64).unless(255),
        ],
    ),
    row(
        "UTCATOMSWS",
        0x5e3,
        ASYNCHRONOUS,
        &[PAIR, always(&["FIND_AND_SET"]), flag(75, &["", "ALIGN"]), up(81), ur(16), ur(32)],
    ),
    row("UTCATOMSWS", 0x9e3, ASYNCHRONOUS, &[PAIR, flag(87, &["AND", "OR"]), ur(16), ur(32)]),
    row("UTCATOMSWS", 0x3e3, ASYNCHRONOUS, &[PAIR, always(&["CAS"]), up(81), ur(16), ur(32), ur(64)]),
    Row::new("UVIRTCOUNT.DEALLOC.SMPOOL", 0x84c, SLOW_STATE, &[imm(32, 32, Hex)]).uniform().sms(100, 119),
];
