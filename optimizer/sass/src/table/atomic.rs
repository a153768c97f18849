//! Atomic operations and reductions on memory.

use super::memory::{EVICT, ORDER_ST as ORDER};
use super::prelude::*;

const E: Part = flag(72, &["", "E"]);
/// The same where addresses always have 64 bits.
const E_ALWAYS: Part = flag(72, &[RESERVED, "E"]);
const R: &str = RESERVED;
/// Operations on integers, by four bits: in generic, shared and global memory, and without a result.
const OP: Part = m(87, 4, &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", R, R, R, R, R, R, R]);
const OP_GLOBAL: Part =
    m(87, 4, &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "SAFEADD", R, R, R, R, R, R]);
const OP_RED: Part = m(87, 3, &["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"]);
/// Operations on floats.
const OP_FLOAT: Part = m(88, 2, &["ADD", "MIN", "MAX", R]);
/// Comparing and exchanging: at once, or a try.
const CAST: Part = m(87, 2, &["CAS", "CAST", R, "CAST.SPIN"]);

/// The same, where there is but one.
const CAS: Part = m(87, 1, &["CAS", R]);

/// Types of integers.
const TYPE: Part = m(73, 3, &["", "S32", "64", "S64", "128", R, R, R]);
const TYPE_RED: Part = m(73, 3, &["", "S32", "64", "S64", R, R, R, R]);
const TYPE_SHARED: Part = m(73, 3, &["", "S32", "64", R, "128", R, R, R]);
/// The same before `sm_90`.
const TYPE_SHARED_80: Part = m(73, 2, &["", "S32", "64", R]);
/// Types of floats; a bit beyond them is reserved.
const TYPE_FLOAT: Part = m(
    73,
    4,
    &[
        "F16x2.RN",
        "F16x4.RN",
        "F16x8.RN",
        "BF16x2.RN",
        "BF16x4.RN",
        "BF16x8.RN",
        R,
        R,
        R,
        "F32.FTZ.RN",
        "F32x2.FTZ.RN",
        "F32x4.FTZ.RN",
        "F32.RN",
        "F32x2.RN",
        "F32x4.RN",
        "F64.RN",
    ],
);
/// All types before `sm_90`.
const TYPE_80: Part =
    m(73, 4, &["", "S32", "64", "F32.FTZ.RN", "F16x2.RN", "S64", "F64.RN", R, R, R, R, R, R, R, R, R]);
const TYPE_CAS_80: Part = m(73, 4, &["", "S32", "64", R, R, R, R, R, R, R, R, R, R, R, R, R]);

/// The bit by which `sm_80` writes the descriptor that its accesses have, and that descriptor.
const WRITES_DESC: Part = any(101, 1);
const HIDDEN_DESC: Part = desc(64).only(101, 1, 1).read();
/// What a register is multiplied with in addresses of shared memory.
const SHARED: Part = base(24).suffix(78, 2, &["", "X4", "X8", "X16"]);
/// A base of 32 bits beside a uniform register.
const NARROW_BASE: Part = base(24).suffix(0, 0, &["U32"]);
/// The offset of an address below the bit 63.
const SHORT: Part = Part::new(What::Offset, Bits::new(40, 23));

/// What has no operand, on generic memory: an arrival at a barrier, and a count of the lanes.
const ARRIVE: Part = m(87, 4, &[R, R, R, R, R, R, R, R, R, "ARRIVE", R, R, R, R, R, R]);
const POPC_INC: Part = m(87, 4, &[R, R, R, R, R, R, R, R, R, R, "POPC.INC", R, R, R, R, R]);
const TYPE_DOUBLE: Part = m(73, 4, &[R, R, "64", R, R, R, R, R, R, R, R, R, R, R, R, R]);
const TYPE_WORD: Part = m(73, 4, &["32", R, R, R, R, R, R, R, R, R, R, R, R, R, R, R]);

macro_rules! counted {
    ($e:expr, $op:expr, $type:expr, $base:expr) => {
        &[$e, $op, EVICT, $type, ORDER, p(81), rd().sized(&$type), $base, ubase64(64), offset()]
    };
}

/// The result, and whether it failed.
macro_rules! atom {
    ($e:expr, $op:expr, $type:expr, [$($address:expr),+], $($data:expr),+) => {
        &[$e, $op, EVICT, $type, ORDER, p(81), rd().sized(&$type), $($address),+, $($data.sized(&$type)),+]
    };
}

macro_rules! red {
    ($op:expr, $type:expr, $e:expr, [$($address:expr),+]) => {
        &[$e, $op, EVICT, $type, ORDER, $($address),+, r(32).sized(&$type)]
    };
}

const fn bits(low: u8, value: u64) -> (Bits, u64) {
    (Bits::new(low, 1), value)
}

/// The kinds of addresses with a uniform register: by the bit for 64-bit registers and the one for descriptors.
macro_rules! atoms {
    (
        $first:expr, $last:expr; $wide:expr, $desc:expr, $offset:expr;
        $($name:expr, $code:expr, $class:expr, $op:expr, $type:expr);+
    ) => {
        &[$(
            Row::new($name, $code, $class, atom!(E_ALWAYS, $op, $type, [desc(64), base64(24), $offset], r(32)))
                .fixed(&[U, bits($wide, 1), bits($desc, 1)])
                .sms($first, $last),
            Row::new($name, $code, $class, atom!(E_ALWAYS, $op, $type, [base64(24), ubase64(64), $offset], r(32)))
                .fixed(&[U, bits($wide, 1), bits($desc, 0)])
                .sms($first, $last),
            Row::new($name, $code, $class, atom!(E, $op, $type, [NARROW_BASE, ubase64(64), $offset], r(32)))
                .fixed(&[U, bits($wide, 0), bits($desc, 0)])
                .sms($first, $last),
        )+]
    };
}

macro_rules! reds {
    ($first:expr, $last:expr; $wide:expr, $desc:expr; $($code:expr, $op:expr, $type:expr);+) => {
        &[$(
            Row::new("REDG", $code, ATOMIC, red!($op, $type, E_ALWAYS, [desc(64), base64(24), offset()]))
                .fixed(&[U, bits($wide, 1), bits($desc, 1)])
                .sms($first, $last),
            Row::new("REDG", $code, ATOMIC, red!($op, $type, E_ALWAYS, [base64(24), ubase64(64), offset()]))
                .fixed(&[U, bits($wide, 1), bits($desc, 0)])
                .sms($first, $last),
            Row::new("REDG", $code, ATOMIC, red!($op, $type, E, [NARROW_BASE, ubase64(64), offset()]))
                .fixed(&[U, bits($wide, 0), bits($desc, 0)])
                .sms($first, $last),
            Row::new("REDG", $code, ATOMIC, red!($op, $type, E, [address(&E), offset()])).sms($first, $last),
        )+]
    };
}

/// Generic and global memory before `sm_100`.
pub const SM90: &[Row] = atoms!(90, 90; 70, 71, offset();
    "ATOM", 0x98a, ATOMIC, OP, TYPE;
    "ATOMG", 0x9a8, ATOMIC_GLOBAL, OP_GLOBAL, TYPE;
    "ATOM", 0x9a2, ATOMIC, OP_FLOAT, TYPE_FLOAT;
    "ATOMG", 0x9a3, ATOMIC_GLOBAL, OP_FLOAT, TYPE_FLOAT
);
/// Integers from then on.
pub const SM100: &[Row] = atoms!(100, u16::MAX; 63, 76, SHORT;
    "ATOM", 0x98a, ATOMIC, OP, TYPE;
    "ATOMG", 0x9a8, ATOMIC_GLOBAL, OP_GLOBAL, TYPE
);
/// Floats from then on.
pub const SM100_FLOAT: &[Row] = atoms!(100, u16::MAX; 63, 90, SHORT;
    "ATOM", 0x9a2, ATOMIC, OP_FLOAT, TYPE_FLOAT;
    "ATOMG", 0x9a3, ATOMIC_GLOBAL, OP_FLOAT, TYPE_FLOAT
);
/// Reductions before `sm_100`.
pub const RED90: &[Row] = reds!(90, 90; 90, 71; 0x98e, OP_RED, TYPE_RED; 0x9a6, OP_FLOAT, TYPE_FLOAT);
/// Reductions from then on.
pub const RED100: &[Row] = reds!(100, u16::MAX; 90, 81; 0x98e, OP_RED, TYPE_RED; 0x9a6, OP_FLOAT, TYPE_FLOAT);

/// `sm_80`: descriptors are there but not written.
macro_rules! atoms_80 {
    ($($name:expr, $code:expr, $class:expr, $op:expr);+) => {
        &[$(
            Row::new(
                $name,
                $code,
                $class,
                atom!(E_ALWAYS, $op, TYPE_80, [WRITES_DESC, HIDDEN_DESC, base64(24), offset()], r(32)),
            )
                .fixed(&[U, bits(70, 1), bits(71, 1)])
                .sms(80, 89),
            Row::new(
                $name,
                $code,
                $class,
                atom!(E, $op, TYPE_80, [base64(24).unless(255), ubase64(64), offset()], r(32)),
            )
                .fixed(&[U, bits(70, 1), bits(71, 0)])
                .sms(80, 89),
            Row::new(
                $name,
                $code,
                $class,
                atom!(E, $op, TYPE_80, [NARROW_BASE.unless(255), ubase64(64), offset()], r(32)),
            )
                .fixed(&[U, bits(70, 0), bits(71, 0)])
                .sms(80, 89),
        )+]
    };
}

/// Generic and global memory of `sm_80`.
pub const SM80: &[Row] = atoms_80!("ATOM", 0x98a, ATOMIC, OP; "ATOMG", 0x9a8, ATOMIC_GLOBAL, OP_GLOBAL);

const SHARED_U: &[Part] =
    &[OP, TYPE_SHARED, rd().sized(&TYPE_SHARED), SHARED, ubase(64), offset(), r(32).sized(&TYPE_SHARED)];

/// The other rows.
pub const ROWS: &[Row] = &[
    Row::new("ATOM", 0xf8a, ATOMIC, counted!(E_ALWAYS, ARRIVE, TYPE_DOUBLE, base64(24).unless(255)))
        .fixed(&[U, bits(70, 1)])
        .sms(80, 89),
    Row::new("ATOM", 0xf8a, ATOMIC, counted!(E, ARRIVE, TYPE_DOUBLE, NARROW_BASE.unless(255)))
        .fixed(&[U, bits(70, 0)])
        .sms(80, 89),
    Row::new("ATOM", 0xf8a, ATOMIC, counted!(E_ALWAYS, POPC_INC, TYPE_WORD, base64(24).unless(255)))
        .fixed(&[U, bits(70, 1)])
        .sms(80, 89),
    Row::new("ATOM", 0xf8a, ATOMIC, counted!(E, POPC_INC, TYPE_WORD, NARROW_BASE.unless(255)))
        .fixed(&[U, bits(70, 0)])
        .sms(80, 89),
    Row::new("RED", 0x98e, ATOMIC, red!(OP_RED, TYPE_80, E_ALWAYS, [WRITES_DESC, HIDDEN_DESC, base64(24), offset()]))
        .fixed(&[U, bits(90, 1), bits(71, 1)])
        .sms(80, 89),
    Row::new("RED", 0x98e, ATOMIC, red!(OP_RED, TYPE_80, E, [base64(24).unless(255), ubase64(64), offset()]))
        .fixed(&[U, bits(90, 1), bits(71, 0)])
        .sms(80, 89),
    Row::new("RED", 0x98e, ATOMIC, red!(OP_RED, TYPE_80, E, [NARROW_BASE.unless(255), ubase64(64), offset()]))
        .fixed(&[U, bits(90, 0), bits(71, 0)])
        .sms(80, 89),
    Row::new("RED", 0x98e, ATOMIC, red!(OP_RED, TYPE_80, E, [address(&E), offset()])).sms(80, 89),
    Row::new("ATOM", 0x38a, ATOMIC, atom!(E, OP, TYPE_80, [address(&E), offset()], r(32))).sms(80, 89),
    Row::new("ATOMG", 0x3a8, ATOMIC_GLOBAL, atom!(E, OP_GLOBAL, TYPE_80, [address(&E), offset()], r(32))).sms(80, 89),
    Row::new("ATOM", 0x38b, ATOMIC, atom!(E, CAST, TYPE_CAS_80, [address(&E), offset()], r(32), r(64))).sms(80, 89),
    Row::new("ATOMG", 0x3a9, ATOMIC_GLOBAL, atom!(E, CAS, TYPE_CAS_80, [address(&E), offset()], r(32), r(64)))
        .sms(80, 89),
    Row::new("ATOM", 0x38a, ATOMIC, atom!(E, OP, TYPE, [address(&E), offset()], r(32))).since(90),
    Row::new("ATOMG", 0x3a8, ATOMIC_GLOBAL, atom!(E, OP_GLOBAL, TYPE, [address(&E), offset()], r(32))).since(90),
    Row::new("ATOM", 0x3a2, ATOMIC, atom!(E, OP_FLOAT, TYPE_FLOAT, [address(&E), offset()], r(32))).since(90),
    Row::new("ATOMG", 0x3a3, ATOMIC_GLOBAL, atom!(E, OP_FLOAT, TYPE_FLOAT, [address(&E), offset()], r(32))).since(90),
    Row::new(
        "ATOM",
        0x38b,
        ATOMIC,
        atom!(E, CAST, TYPE_SHARED, [address(&E), offset()], r(32).sized(&TYPE_SHARED), r(64)),
    )
    .since(90),
    Row::new(
        "ATOMG",
        0x3a9,
        ATOMIC_GLOBAL,
        atom!(E, CAS, TYPE_SHARED, [address(&E), offset()], r(32).sized(&TYPE_SHARED), r(64)),
    )
    .since(90),
    Row::new(
        "ATOMS",
        0x38c,
        ATOMIC_SHARED,
        &[OP, TYPE_SHARED_80, rd().sized(&TYPE_SHARED_80), SHARED, offset(), r(32).sized(&TYPE_SHARED_80)],
    )
    .sms(80, 89),
    Row::new(
        "ATOMS",
        0x98c,
        ATOMIC_SHARED,
        &[OP, TYPE_SHARED_80, rd().sized(&TYPE_SHARED_80), SHARED, ubase(64), offset(), r(32).sized(&TYPE_SHARED_80)],
    )
    .fixed(FIXED_U)
    .sms(80, 89),
    Row::new(
        "ATOMS",
        0x38c,
        ATOMIC_SHARED,
        &[OP, TYPE_SHARED, rd().sized(&TYPE_SHARED), SHARED, offset(), r(32).sized(&TYPE_SHARED)],
    )
    .since(90),
    Row::new("ATOMS", 0x98c, ATOMIC_SHARED, SHARED_U).fixed(FIXED_U).since(90),
    Row::new(
        "ATOMS",
        0x38d,
        ATOMIC_SHARED,
        &[
            CAST,
            TYPE_SHARED_80,
            rd().sized(&TYPE_SHARED_80),
            SHARED,
            offset(),
            r(32).sized(&TYPE_SHARED_80),
            r(64).sized(&TYPE_SHARED_80),
        ],
    )
    .sms(80, 89),
    Row::new(
        "ATOMS",
        0x38d,
        ATOMIC_SHARED,
        &[
            CAST,
            TYPE_SHARED,
            rd().sized(&TYPE_SHARED),
            SHARED,
            offset(),
            r(32).sized(&TYPE_SHARED),
            r(64).sized(&TYPE_SHARED),
        ],
    )
    .since(90),
    Row::new(
        "ATOMS",
        0x58d,
        ATOMIC_SHARED,
        &[
            m(87, 2, &[R, "CAST", R, "CAST.SPIN"]),
            TYPE_SHARED,
            p(81),
            SHARED,
            offset(),
            r(32).sized(&TYPE_SHARED),
            r(64).sized(&TYPE_SHARED),
        ],
    )
    .since(100),
    Row::new(
        "ATOMS.POPC.INC",
        0xf8c,
        ATOMIC_SHARED,
        &[m(73, 3, &["32", R, R, R, R, R, R, R]), rd(), SHARED, ubase(64), offset()],
    )
    .fixed(&[U, (Bits::new(87, 4), 11)])
    .since(90),
    Row::new(
        "ATOMS.ARRIVE",
        0xf8c,
        MEMORY_BARRIER,
        &[m(73, 3, &[R, R, "64", R, R, R, R, R]), rd().words(2), SHARED, ubase(64), offset()],
    )
    .fixed(&[U, (Bits::new(87, 4), 10)])
    .since(90),
    Row::new(
        "ATOMS.POPC.INC",
        0xf8c,
        ATOMIC_SHARED,
        &[m(73, 3, &["32", R, R, R, R, R, R, R]), rd(), SHARED, ubase(64), offset()],
    )
    .fixed(&[U, (Bits::new(87, 4), 10)])
    .sms(80, 89),
    Row::new(
        "ATOMS.ARRIVE",
        0xf8c,
        MEMORY_BARRIER,
        &[m(73, 3, &[R, R, "64", R, R, R, R, R]), rd().words(2), SHARED, ubase(64), offset()],
    )
    .fixed(&[U, (Bits::new(87, 4), 9)])
    .sms(80, 89),
];
