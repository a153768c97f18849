//! Copies, stores and reductions that run beside the threads: PTX ISA 9.0, "Data Movement and Conversion
//! Instructions: Bulk copy", "st.async" and "red.async". `cp.async` is in `memory`.
//!
//! They end at a barrier in memory, which counts their bytes, or in a group of the thread. Until then they may read and
//! write at any moment, so to the optimizer each of these may do anything to memory.

use crate::ops::prelude::*;

pub const BY_BARRIER: FieldSpec = req_of(Field::Completion, Completion::Barrier.bit());
pub const BY_GROUP: FieldSpec = req_of(Field::Completion, Completion::Group.bit());
pub const FROM_CTA: FieldSpec = req_of(Field::CopyFrom, CopyFrom::Cta.bit());
pub const TO_CLUSTER: FieldSpec = req_of(Field::CopyTo, CopyTo::Cluster.bit());
pub const TO_GLOBAL: FieldSpec = req_of(Field::CopyTo, CopyTo::Global.bit());
pub const COUNTED: u64 = bits!(AtomOp: Add | Inc | Dec | Min | Max | And | Or | Xor);

macro_rules! bulk_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Copies so many bytes to shared memory; the barrier there counts them.
    BulkCopy "cp.async.bulk" "cp.async.bulk": [] <- [Base, Offset, Base, Offset, R, Base, Offset], ASYNC,
        fields &[req_of(Field::CopyTo, bits!(CopyTo: Cta | Cluster)), req(Field::CopyFrom), BY_BARRIER],
        rules &[when(Field::CopyFrom, CopyFrom::Cta.bit(), Field::CopyTo, CopyTo::Cluster.bit())],
        since 90, later &[],
        cost Flat(20), rank 10, latency Memory, undef Nothing;

    /// The same to each CTA of the cluster whose bit is set in the last operand: to the same place there, and counted
    /// by the barrier at the same place there.
    BulkMulticast "cp.async.bulk.multicast" "cp.async.bulk": [] <- [Base, Offset, Base, Offset, R, Base, Offset, R],
        ASYNC,
        fields &[
            TO_CLUSTER, req_of(Field::CopyFrom, CopyFrom::Global.bit()), BY_BARRIER,
            req_of(Field::Multicast, Multicast::Cluster.bit()),
        ],
        rules &[],
        since 90, later &[],
        cost Flat(20), rank 10, latency Memory, undef Nothing;

    /// Copies so many bytes from shared to global memory, in the open group of the thread.
    BulkStore "cp.async.bulk.store" "cp.async.bulk": [] <- [Base, Offset, Base, Offset, R], ASYNC,
        fields &[TO_GLOBAL, FROM_CTA, BY_GROUP], rules &[],
        since 90, later &[],
        cost Flat(20), rank 10, latency Memory, undef Nothing;

    /// Combines shared memory of the cluster with so many bytes, element by element; the barrier there counts them.
    BulkReduce "cp.reduce.async.bulk" "cp.reduce.async.bulk": [] <- [Base, Offset, Base, Offset, R, Base, Offset],
        ASYNC,
        fields &[
            TO_CLUSTER, FROM_CTA, BY_BARRIER, req_of(Field::AtomOp, COUNTED),
            ty(bits!(Type: B32 | U32 | S32 | U64)),
        ],
        rules &[
            when(Field::AtomOp, bits!(AtomOp: And | Or | Xor), Field::Type, bits!(Type: B32)),
            when(Field::AtomOp, bits!(AtomOp: Add), Field::Type, bits!(Type: U32 | S32 | U64)),
            when(Field::AtomOp, bits!(AtomOp: Inc | Dec), Field::Type, bits!(Type: U32)),
            when(Field::AtomOp, bits!(AtomOp: Min | Max), Field::Type, bits!(Type: U32 | S32)),
        ],
        since 90, later &[],
        cost Flat(20), rank 10, latency Memory, undef Nothing;

    /// Combines global memory with so many bytes of shared memory, element by element, in the open group of the thread.
    BulkReduceStore "cp.reduce.async.bulk.store" "cp.reduce.async.bulk": [] <- [Base, Offset, Base, Offset, R], ASYNC,
        fields &[
            TO_GLOBAL, FROM_CTA, BY_GROUP, req_of(Field::AtomOp, COUNTED), opt(Field::NoFtz),
            ty(bits!(Type: B32 | B64 | U32 | S32 | U64 | S64 | F16 | Bf16 | F32 | F64)),
        ],
        rules &[
            when(Field::AtomOp, bits!(AtomOp: And | Or | Xor), Field::Type, bits!(Type: B32 | B64)),
            when(
                Field::AtomOp,
                bits!(AtomOp: Add),
                Field::Type,
                bits!(Type: U32 | S32 | U64 | F16 | Bf16 | F32 | F64),
            ),
            when(Field::AtomOp, bits!(AtomOp: Inc | Dec), Field::Type, bits!(Type: U32)),
            when(
                Field::AtomOp,
                bits!(AtomOp: Min | Max),
                Field::Type,
                bits!(Type: U32 | S32 | U64 | S64 | F16 | Bf16),
            ),
            when(Field::NoFtz, NoFtz::NoFtz.bit(), Field::AtomOp, AtomOp::Add.bit()),
            when(Field::NoFtz, NoFtz::NoFtz.bit(), Field::Type, bits!(Type: F16 | Bf16)),
            when_both(
                (Field::AtomOp, AtomOp::Add.bit()),
                (Field::Type, bits!(Type: F16 | Bf16)),
                Field::NoFtz,
                NoFtz::NoFtz.bit(),
            ),
        ],
        since 90, later &[],
        cost Flat(20), rank 10, latency Memory, undef Nothing;

    /// Closes the thread's group of bulk copies.
    BulkCommit "cp.async.bulk.commit_group" "cp.async.bulk.commit_group": [] <- [], EFFECT,
        fields &[], rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Waits until at most so many groups of bulk copies are pending, or have yet to read.
    BulkWait "cp.async.bulk.wait_group" "cp.async.bulk.wait_group": [] <- [Imm], FENCE,
        fields &[opt(Field::WaitRead)], rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// Brings so many bytes into the second-level cache.
    BulkPrefetch "cp.async.bulk.prefetch" "cp.async.bulk.prefetch.L2.global": [] <- [Base, Offset, R], HINT,
        fields &[], rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Memory, undef Nothing;

    /// Stores to shared memory of the cluster; the barrier there counts the bytes.
    StAsync "st.async" "st.async": [] <- [Base, Offset, V, Base, Offset], ASYNC,
        fields &[
            opt_of(Field::Space, Space::Cluster.bit()), BY_BARRIER, opt_of(Field::Vector, bits!(Vector: V2 | V4)),
            ty(bits!(Type: B32 | B64 | U32 | U64 | S32 | S64 | F32 | F64)),
        ],
        rules &[
            when(Field::Vector, bits!(Vector: V4), Field::Type, bits!(Type: B32 | U32 | S32 | F32)),
        ],
        since 90, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Combines shared memory of the cluster with a value; the barrier there counts the bytes.
    RedAsync "red.async" "red.async": [] <- [Base, Offset, T, Base, Offset], ASYNC,
        fields &[
            req_of(Field::Order, Order::Relaxed.bit()), req_of(Field::Scope, Scope::Cluster.bit()),
            opt_of(Field::Space, Space::Cluster.bit()), BY_BARRIER, req_of(Field::AtomOp, COUNTED),
            ty(bits!(Type: B32 | U32 | S32 | U64 | S64)),
        ],
        rules &[
            when(Field::AtomOp, bits!(AtomOp: And | Or | Xor), Field::Type, bits!(Type: B32)),
            when(Field::AtomOp, bits!(AtomOp: Add), Field::Type, bits!(Type: U32 | S32 | U64 | S64)),
            when(Field::AtomOp, bits!(AtomOp: Inc | Dec), Field::Type, bits!(Type: U32)),
            when(Field::AtomOp, bits!(AtomOp: Min | Max), Field::Type, bits!(Type: U32 | S32)),
        ],
        since 90, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;
    } } };
}
pub(in crate::ops) use bulk_rows;
