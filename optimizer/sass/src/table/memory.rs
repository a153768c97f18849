//! Loads and stores.

use super::prelude::*;

/// 64-bit addresses.
const E: Part = flag(72, &["", "E"]);
/// The same where addresses always have 64 bits.
const E_ALWAYS: Part = flag(72, &[RESERVED, "E"]);
/// How a line is treated in the caches.
pub const EVICT: Part = m(84, 3, &["EF", "", "EL", "LU", "EU", "NA", RESERVED, RESERVED]);
/// How much is fetched into the second cache.
const FETCH: Part = m(68, 2, &["", "LTC64B", "LTC128B", "LTC256B"]);
/// What is loaded or stored.
pub const SIZE: Part = m(73, 3, &["U8", "S8", "U16", "S16", "", "64", "128", RESERVED]);
const fn orders(fourth: &'static str, last: [&'static str; 3]) -> [&'static str; 16] {
    [
        "",
        "CONSTANT.PRIVATE",
        "CONSTANT.CTA",
        "CONSTANT.CTA.PRIVATE",
        fourth,
        "STRONG.SM",
        "STRONG.GPU.PRIVATE",
        "STRONG.GPU",
        "MMIO.GPU",
        "CONSTANT.SM",
        "STRONG.SYS",
        "CONSTANT.SM.PRIVATE",
        "MMIO.SYS",
        last[0],
        last[1],
        last[2],
    ]
}
const LAST: [&str; 3] = ["CONSTANT.VC", "CONSTANT.VC.PRIVATE", "CONSTANT.GPU"];
const ORDERED: [&str; 3] = ["SYS.ORDERED", "STRONG.SYS.ORDERED", "MMIO.SYS.ORDERED"];
/// Stores to global memory from `sm_100` on.
const ORDER_STG: Part = m(77, 4, &orders("STRONG.SM.PRIVATE", ORDERED));
/// The order with other accesses, and for whom it holds: of loads, and of all else.
pub const ORDER: Part = m(77, 4, &orders("CONSTANT", LAST));
pub const ORDER_ST: Part = m(77, 4, &orders("STRONG.SM.PRIVATE", LAST));
/// What a register is multiplied with in addresses of shared memory.
const SCALE: Names = &["", "X4", "X8", "X16"];

/// Fixed bits of accesses through a descriptor.
pub const DESC: &[(Bits, u64)] = &[U, (Bits::new(90, 1), 1), (Bits::new(76, 1), 1)];
/// Fixed bits of accesses with a uniform register beside a 64-bit one.
pub const WIDE: &[(Bits, u64)] = &[U, (Bits::new(90, 1), 1), (Bits::new(76, 1), 0)];
/// Fixed bits of accesses with a uniform register beside a 32-bit one.
pub const NARROW: &[(Bits, u64)] = &[U, (Bits::new(90, 1), 0), (Bits::new(76, 1), 0)];
/// The same of accesses of 32 bytes.
const DESC_256: &[(Bits, u64)] = &[U, (Bits::new(75, 2), 3)];
const WIDE_256: &[(Bits, u64)] = &[U, (Bits::new(75, 2), 1)];
/// Fixed bits of accesses to local memory with a uniform register.
const LOCAL_U: &[(Bits, u64)] = &[U, (Bits::new(76, 1), 0)];
/// The same with a descriptor.
const LOCAL_DESC: &[(Bits, u64)] = &[U, (Bits::new(76, 1), 1)];

/// The bit by which `sm_80` writes the descriptor that its accesses have.
const WRITES_DESC: Part = any(101, 1);
/// A descriptor that is written only then.
const fn hidden_desc(low: u8) -> Part {
    desc(low).only(101, 1, 1).read()
}

/// Loads of global or generic memory: the extension flag, the address.
macro_rules! load {
    ($e:expr, $($address:expr),+) => {
        &[$e, EVICT, FETCH, SIZE, ORDER, p(81).unless(7), rd().sized(&SIZE), $($address),+, p_down(64).unless(7)]
    };
}

/// Loads of memory whose space the address says.
macro_rules! load_generic {
    ($e:expr, $($address:expr),+) => {
        &[$e, EVICT, FETCH, SIZE, ORDER, rd().sized(&SIZE), $($address),+, p_down(64).unless(7)]
    };
}

/// Stores to global or generic memory.
macro_rules! store {
    ($order:expr, $e:expr, $($address:expr),+) => {
        &[$e, EVICT, SIZE, $order, $($address),+, r(32).sized(&SIZE)]
    };
}

/// Loads of shared memory.
macro_rules! load_shared {
    ($($address:expr),+) => { &[SIZE, rd().sized(&SIZE), $($address),+] };
}

/// Stores to shared memory.
macro_rules! store_shared {
    ($($address:expr),+) => { &[SIZE, $($address),+, r(32).sized(&SIZE)] };
}

/// Loads of local memory.
macro_rules! load_local {
    ($($address:expr),+) => { &[EVICT, SIZE, rd().sized(&SIZE), $($address),+] };
}

/// Stores to local memory.
macro_rules! store_local {
    ($($address:expr),+) => { &[EVICT, SIZE, $($address),+, r(32).sized(&SIZE)] };
}

/// How a line of 32 bytes is treated in the second cache.
const SECOND: Part = m(81, 2, &["EFL2", "ENL2", "ELL2", RESERVED]);
/// Addresses have 64 bits; no bit says so.
const ALWAYS_E: Part = m(0, 0, &["E"]);
/// How much of it is fetched there.
const FETCH_256: Part = m(73, 2, &["", "LTC64B", "LTC128B", "LTC256B"]);
/// 32 bytes, in two groups of four registers; bits by which groups of four bytes are left out.
const HALVES: Part = m(0, 0, &["256"]);
/// The offset of an address in units of 32 bytes, of so many bits.
const fn wide_offset(bits: u8) -> Part {
    Part::new(What::WideOffset, Bits::new(40, bits))
}

/// Loads of 32 bytes: the upper half, then the lower one.
macro_rules! load_256 {
    ($($address:expr),+) => {
        &[
            ALWAYS_E, EVICT, SECOND, FETCH_256, HALVES, ORDER, r(64).words(4).written(), rd().words(4), $($address),+,
            wide_offset(17), imm(57, 7, Hex).above(72, 1).unless(255), p_down(87).unless(7),
        ]
    };
}

/// Stores of 32 bytes: the lower half, then the upper one.
macro_rules! store_256 {
    ($($address:expr),+) => {
        &[
            ALWAYS_E, EVICT, SECOND, HALVES, ORDER_STG, $($address),+, wide_offset(19), r(32).words(4),
            r(16).words(4).read(), imm(59, 5, Hex).above(88, 3).unless(255),
        ]
    };
}

/// What a bank of constants is read as.
const CONSTANT_SIZE: Part = m(73, 3, &["U8", "S8", "U16", "S16", "", "64", RESERVED, RESERVED]);
/// The same, of the widest reads.
const CONSTANT_SIZE_128: Part = m(73, 3, &["U8", "S8", "U16", "S16", "", "64", "128", RESERVED]);
/// How the register of an address in a bank is split into a bank and an offset.
const INDEX: Part = m(78, 2, &["", "IL", "IS", "ISL"]);
/// The bank and the offset.
const BANK: Part = at(What::ConstantByte, 54, 5).above(38, 16);
/// The same with an offset of 17 bits.
const BANK_17: Part = at(What::ConstantByte, 54, 5).above(37, 17);
/// The uniform register of a bank and the offset.
const BINDLESS: Part = at(What::BindlessByte, 24, 6).above(38, 16);
/// How texture headers are read.
const UNPACK: Part = flag(80, &["", "TEXUNPACK"]);
/// The same of `sm_120`.
const UNPACK_120: Part = m(80, 2, &["", "TEXUNPACK", "HDRUNPACK", RESERVED]);

/// An offset of 32 bits.
const LONG: Part = at(What::Offset, 32, 32);
/// A base of a shared address.
const fn shared_base() -> Part {
    base(24).suffix(78, 2, SCALE)
}
/// A base that is not written where it reads as zero.
const fn base_or_not(part: Part) -> Part {
    part.unless(255)
}
/// A base of 32 or 64 bits.
const fn base_u32() -> Part {
    base(24).suffix(0, 0, &["U32"])
}

/// The rows.
pub const ROWS: &[Row] = &[
    Row::new("LDG", 0x381, LOAD_GLOBAL, load!(E, address(&E), offset())),
    Row::new("LDG", 0x981, LOAD_GLOBAL, load!(E_ALWAYS, WRITES_DESC, hidden_desc(32), base64(24), offset()))
        .fixed(DESC)
        .sms(80, 89),
    Row::new("LDG", 0x981, LOAD_GLOBAL, load!(E, base_or_not(base64(24)), ubase64(32), offset()))
        .fixed(WIDE)
        .sms(80, 89),
    Row::new("LDG", 0x981, LOAD_GLOBAL, load!(E, base_or_not(base_u32()), ubase64(32), offset()))
        .fixed(NARROW)
        .sms(80, 89),
    Row::new("LDG", 0x981, LOAD_GLOBAL, load!(E_ALWAYS, desc(32), base64(24), offset())).fixed(DESC).since(90),
    Row::new("LDG", 0x981, LOAD_GLOBAL, load!(E_ALWAYS, base64(24), ubase64(32), offset())).fixed(WIDE).since(90),
    Row::new("LDG", 0x981, LOAD_GLOBAL, load!(E, base_u32(), ubase64(32), offset())).fixed(NARROW).since(90),
    Row::new("LD", 0x980, LOAD, load_generic!(E_ALWAYS, WRITES_DESC, hidden_desc(32), base64(24), offset()))
        .fixed(DESC)
        .sms(80, 89),
    Row::new("LD", 0x980, LOAD, load_generic!(E, base_or_not(base64(24)), ubase64(32), offset()))
        .fixed(WIDE)
        .sms(80, 89),
    Row::new("LD", 0x980, LOAD, load_generic!(E, base_or_not(base_u32()), ubase64(32), offset()))
        .fixed(NARROW)
        .sms(80, 89),
    Row::new("LD", 0x980, LOAD, load_generic!(E_ALWAYS, desc(32), base64(24), offset())).fixed(DESC).since(90),
    Row::new("LD", 0x980, LOAD, load_generic!(E_ALWAYS, base64(24), ubase64(32), offset())).fixed(WIDE).since(90),
    Row::new("LD", 0x980, LOAD, load_generic!(E, base_u32(), ubase64(32), offset())).fixed(NARROW).since(90),
    Row::new("STG", 0x386, STORE_GLOBAL, store!(ORDER_ST, E, address(&E), offset())).sms(80, 90),
    Row::new("STG", 0x386, STORE_GLOBAL, store!(ORDER_STG, E, address(&E), offset())).since(100),
    Row::new(
        "STG",
        0x986,
        STORE_GLOBAL,
        store!(ORDER_ST, E_ALWAYS, WRITES_DESC, hidden_desc(64), base64(24), offset()),
    )
    .fixed(DESC)
    .sms(80, 89),
    Row::new("STG", 0x986, STORE_GLOBAL, store!(ORDER_ST, E, base_or_not(base64(24)), ubase64(64), offset()))
        .fixed(WIDE)
        .sms(80, 89),
    Row::new("STG", 0x986, STORE_GLOBAL, store!(ORDER_ST, E, base_or_not(base_u32()), ubase64(64), offset()))
        .fixed(NARROW)
        .sms(80, 89),
    Row::new("STG", 0x986, STORE_GLOBAL, store!(ORDER_ST, E_ALWAYS, desc(64), base64(24), offset()))
        .fixed(DESC)
        .sms(90, 90),
    Row::new("STG", 0x986, STORE_GLOBAL, store!(ORDER_STG, E_ALWAYS, desc(64), base64(24), offset()))
        .fixed(DESC)
        .since(100),
    Row::new("STG", 0x986, STORE_GLOBAL, store!(ORDER_ST, E_ALWAYS, base64(24), ubase64(64), offset()))
        .fixed(WIDE)
        .sms(90, 90),
    Row::new("STG", 0x986, STORE_GLOBAL, store!(ORDER_STG, E_ALWAYS, base64(24), ubase64(64), offset()))
        .fixed(WIDE)
        .since(100),
    Row::new("STG", 0x986, STORE_GLOBAL, store!(ORDER_ST, E, base_u32(), ubase64(64), offset()))
        .fixed(NARROW)
        .sms(90, 90),
    Row::new("STG", 0x986, STORE_GLOBAL, store!(ORDER_STG, E, base_u32(), ubase64(64), offset()))
        .fixed(NARROW)
        .since(100),
    Row::new("LDG", 0x97e, LOAD_GLOBAL, load_256!(desc(32), base64(24))).fixed(DESC_256).since(100),
    Row::new("LDG", 0x97e, LOAD_GLOBAL, load_256!(base_or_not(base64(24)), ubase64(32))).fixed(WIDE_256).since(100),
    Row::new("STG", 0x97f, STORE_GLOBAL, store_256!(desc(64), base64(24))).fixed(DESC_256).since(100),
    Row::new("STG", 0x97f, STORE_GLOBAL, store_256!(base_or_not(base64(24)), ubase64(64))).fixed(WIDE_256).since(100),
    Row::new("ST", 0x385, STORE, &[E, EVICT, SIZE, ORDER_ST, address(&E), LONG, r(64).sized(&SIZE)]),
    Row::new("LD", 0x980, LOAD, load_generic!(E, address(&E), LONG)),
    Row::new("ST", 0x985, STORE, store!(ORDER_ST, E_ALWAYS, WRITES_DESC, hidden_desc(64), base64(24), offset()))
        .fixed(DESC)
        .sms(80, 89),
    Row::new("ST", 0x985, STORE, store!(ORDER_ST, E, base_or_not(base64(24)), ubase64(64), offset()))
        .fixed(WIDE)
        .sms(80, 89),
    Row::new("ST", 0x985, STORE, store!(ORDER_ST, E, base_or_not(base_u32()), ubase64(64), offset()))
        .fixed(NARROW)
        .sms(80, 89),
    Row::new("ST", 0x985, STORE, store!(ORDER_ST, E_ALWAYS, desc(64), base64(24), offset())).fixed(DESC).since(90),
    Row::new("ST", 0x985, STORE, store!(ORDER_ST, E_ALWAYS, base64(24), ubase64(64), offset())).fixed(WIDE).since(90),
    Row::new("ST", 0x985, STORE, store!(ORDER_ST, E, base_u32(), ubase64(64), offset())).fixed(NARROW).since(90),
    Row::new("LDS", 0x984, LOAD_SHARED, load_shared!(shared_base(), offset())),
    Row::new("LDS", 0x984, LOAD_SHARED, load_shared!(shared_base(), ubase(32), offset())).fixed(FIXED_U),
    Row::new("STS", 0x388, STORE_SHARED, store_shared!(shared_base(), offset())),
    Row::new("STS", 0x988, STORE_SHARED, store_shared!(shared_base(), ubase(64), offset())).fixed(FIXED_U),
    Row::new("LDL", 0x983, LOAD_LOCAL, load_local!(base(24), offset())),
    Row::new("LDL", 0x983, LOAD_LOCAL, load_local!(base(24), ubase(32), offset())).fixed(LOCAL_U),
    Row::new("LDL", 0x983, LOAD_LOCAL, load_local!(desc(32), base(24), offset())).fixed(LOCAL_DESC).since(90),
    Row::new("STL", 0x387, STORE_LOCAL, store_local!(base(24), offset())),
    Row::new("STL", 0x987, STORE_LOCAL, store_local!(base(24), ubase(64), offset())).fixed(LOCAL_U),
    Row::new("STL", 0x987, STORE_LOCAL, store_local!(desc(64), base(24), offset())).fixed(LOCAL_DESC).since(90),
    Row::new(
        "LDC",
        0xb82,
        LOAD_CONSTANT,
        &[CONSTANT_SIZE, INDEX, rd().sized(&CONSTANT_SIZE), at(What::Indexed(File::R), 24, 8), BANK],
    ),
    Row::new(
        "LDC",
        0x582,
        LOAD_CONSTANT,
        &[CONSTANT_SIZE, INDEX, rd().sized(&CONSTANT_SIZE), at(What::Indexed(File::R), 64, 8), BINDLESS],
    )
    .fixed(FIXED_U),
    Row::new("ULDC", 0xab9, LOAD_CONSTANT.uniform().after(2), &[CONSTANT_SIZE, ur(16).sized(&CONSTANT_SIZE), BANK])
        .sms(80, 90)
        .uniform(),
    Row::new("ULDC", 0xab9, LOAD_CONSTANT.uniform().after(2), &[CONSTANT_SIZE, ur(16).sized(&CONSTANT_SIZE), BINDLESS])
        .sms(80, 90)
        .uniform()
        .fixed(FIXED_U),
    Row::new(
        "ULDC",
        0xabb,
        LOAD_CONSTANT.uniform().after(2),
        &[CONSTANT_SIZE, ur(16).sized(&CONSTANT_SIZE), at(What::Indexed(File::Ur), 24, 6), BANK],
    )
    .sms(80, 90)
    .uniform()
    .fixed(FIXED_U),
    Row::new(
        "LDCU",
        0x7ac,
        LOAD_CONSTANT,
        &[CONSTANT_SIZE_128, UNPACK, ur(16).sized(&CONSTANT_SIZE_128), at(What::Indexed(File::Ur), 24, 6), BANK_17],
    )
    .sms(100, 110)
    .uniform()
    .fixed(FIXED_U),
    Row::new(
        "LDCU",
        0x7ac,
        LOAD_CONSTANT,
        &[CONSTANT_SIZE_128, UNPACK_120, ur(16).sized(&CONSTANT_SIZE_128), at(What::Indexed(File::Ur), 24, 6), BANK_17],
    )
    .since(120)
    .uniform()
    .fixed(FIXED_U),
];
