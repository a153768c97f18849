//! Multicast memory: PTX ISA 9.0, "multimem.ld_reduce, multimem.st, multimem.red".
//!
//! An address of multicast memory stands for a place in each of its replicas, which may lie anywhere in global memory
//! under other addresses too. So to the optimizer each of these may access any global memory.

use super::memory::ORDERED;
use crate::ops::prelude::*;

pub const MULTIMEM_LOAD: Flags = LOAD.or(EFFECT).or(Flags::MULTIMEM);
pub const MULTIMEM_STORE: Flags = STORE.or(Flags::MULTIMEM);
pub const MULTIMEM_ATOMIC: Flags = ATOMIC.or(Flags::MULTIMEM);

pub const MULTIMEM_SPACE: FieldSpec = opt_of(Field::Space, Space::Global.bit());
pub const MULTIMEM_OP: FieldSpec = req_of(Field::AtomOp, bits!(AtomOp: And | Or | Xor | Add | Min | Max));
const SEVERAL: u64 = bits!(Vector: V2 | V4 | V8);
/// Two halves fill a register; one alone is only in a vector.
const PAIRS: u64 = bits!(Type: F16x2 | Bf16x2);
pub const MULTIMEM_TYPES: u64 = B3264 | I32 | I64 | HF | BF | F32 | F64;

/// What holds for each of them: orders need scopes, and vectors have 4, 8 or 16 bytes of floats.
macro_rules! multimem_rules {
    ($($more:expr),* $(,)?) => {
        &[
            when(Field::Order, Order::Weak.bit(), Field::Scope, Scope::None.bit()),
            when(Field::Order, ORDERED, Field::Scope, all(Field::Scope) & !1),
            when(Field::Vector, Vector::V1.bit(), Field::Type, MULTIMEM_TYPES & !bits!(Type: F16 | Bf16)),
            when(Field::Vector, SEVERAL, Field::Type, HF | BF | F32),
            when(Field::Vector, Vector::V8.bit(), Field::Type, bits!(Type: F16 | Bf16)),
            $($more),*
        ]
    };
}

/// The types that each operation has.
macro_rules! combining_rules {
    ($($more:expr),* $(,)?) => {
        multimem_rules![
            when(Field::AtomOp, bits!(AtomOp: And | Or | Xor), Field::Type, B3264),
            when(Field::AtomOp, AtomOp::Add.bit(), Field::Type, bits!(Type: U32 | S32 | U64 | F32 | F64) | HF | BF),
            when(Field::AtomOp, bits!(AtomOp: Min | Max), Field::Type, I32 | I64 | HF | BF),
            $($more),*
        ]
    };
}

pub const MULTIMEM_LOAD_RULES: &[Requirement] = combining_rules![
    when(Field::Accumulation, Accumulation::F32.bit(), Field::AtomOp, AtomOp::Add.bit()),
    when(Field::Accumulation, Accumulation::F32.bit(), Field::Type, HF | BF),
];

pub const MULTIMEM_STORE_RULES: &[Requirement] = multimem_rules![];

pub const MULTIMEM_RED_RULES: &[Requirement] = combining_rules![
    // Minima and maxima of halves exist only as vectors.
    when_both((Field::AtomOp, bits!(AtomOp: Min | Max)), (Field::Type, PAIRS), Field::Vector, SEVERAL),
];

macro_rules! multimem_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Loads from each replica and combines the values.
    MultimemLoad "multimem.ld_reduce" "multimem.ld_reduce": [V] <- [Base, Offset], MULTIMEM_LOAD,
        fields &[
            opt_of(Field::Order, bits!(Order: Relaxed | Acquire)), opt(Field::Scope), MULTIMEM_SPACE, MULTIMEM_OP,
            opt_of(Field::Accumulation, Accumulation::F32.bit()), VEC, ty(MULTIMEM_TYPES),
        ],
        rules MULTIMEM_LOAD_RULES,
        since 90, later &[],
        cost Flat(20), rank 10, latency Memory, undef Mixing;

    /// Stores to each replica.
    MultimemStore "multimem.st" "multimem.st": [] <- [Base, Offset, V], MULTIMEM_STORE.or(SIGNLESS),
        fields &[
            opt_of(Field::Order, bits!(Order: Relaxed | Release)), opt(Field::Scope), MULTIMEM_SPACE, VEC,
            ty(MULTIMEM_TYPES),
        ],
        rules MULTIMEM_STORE_RULES,
        since 90, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Combines each replica with a value.
    MultimemRed "multimem.red" "multimem.red": [] <- [Base, Offset, V], MULTIMEM_ATOMIC,
        fields &[RED_ORDER, opt(Field::Scope), MULTIMEM_SPACE, MULTIMEM_OP, VEC, ty(MULTIMEM_TYPES)],
        rules MULTIMEM_RED_RULES,
        since 90, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;
    } } };
}
pub(in crate::ops) use multimem_rows;
