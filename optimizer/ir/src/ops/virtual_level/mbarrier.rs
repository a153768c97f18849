//! Barriers in shared memory: PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: mbarrier".
//!
//! Such an object counts arrivals and bytes that are under way, and has phases. What its 64 bits hold is open; the
//! interpreter has one form. Threads order their accesses by it, so to the optimizer each of these may do anything to
//! memory.

use super::memory::ORDERED;
use crate::ops::prelude::*;

/// PTX has these for shared memory, named or in generic addresses.
pub const MBARRIER_SPACE: FieldSpec = opt_of(Field::Space, Space::Shared.bit());
pub const MBARRIER_SCOPE: FieldSpec = opt_of(Field::Scope, bits!(Scope: Cta | Cluster));
pub const ARRIVE_ORDER: FieldSpec = opt_of(Field::Order, bits!(Order: Relaxed | Release));
pub const WAIT_ORDER: FieldSpec = opt_of(Field::Order, bits!(Order: Relaxed | Acquire));
pub const TX_ORDER: FieldSpec = opt_of(Field::Order, Order::Relaxed.bit());

/// An order is written with its scope, or neither.
pub const SCOPED: Requirement = when(Field::Order, ORDERED, Field::Scope, all(Field::Scope) & !1);
pub const UNSCOPED: Requirement = when(Field::Order, Order::Weak.bit(), Field::Scope, Scope::None.bit());

pub const MBARRIER_RULES: &[Requirement] = &[SCOPED, UNSCOPED];
pub const ARRIVE_RULES: &[Requirement] = &[
    SCOPED,
    UNSCOPED,
    when(Field::ArrivalMode, ArrivalMode::NoComplete.bit(), Field::Order, bits!(Order: Weak | Release)),
    when(Field::ArrivalMode, ArrivalMode::NoComplete.bit(), Field::Scope, bits!(Scope: None | Cta)),
];
pub const CLUSTERS: Later = from(90, Field::Scope, Scope::Cluster.bit());
pub const UNORDERED: Later = from(90, Field::Order, Order::Relaxed.bit());
pub const ARRIVE_LATER: &[Later] = &[CLUSTERS, UNORDERED];
pub const ARRIVE_COUNT_LATER: &[Later] =
    &[CLUSTERS, UNORDERED, from(90, Field::ArrivalMode, bits!(ArrivalMode: Plain | ExpectTx))];
pub const WAIT_LATER: &[Later] = &[CLUSTERS, UNORDERED, from(90, Field::MbarrierWait, MbarrierWait::Try.bit())];

macro_rules! mbarrier_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Makes a barrier that waits for so many arrivals in each phase.
    MbarrierInit "mbarrier.init" "mbarrier.init": [] <- [Base, Offset, R], MBARRIER,
        fields &[MBARRIER_SPACE, ty(bits!(Type: B64))], rules &[],
        since 80, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Ends a barrier; its memory may be used for other things.
    MbarrierInval "mbarrier.inval" "mbarrier.inval": [] <- [Base, Offset], MBARRIER,
        fields &[MBARRIER_SPACE, ty(bits!(Type: B64))], rules &[],
        since 80, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// So many bytes more, or fewer, are under way.
    MbarrierTx "mbarrier.tx" "mbarrier": [] <- [Base, Offset, R], MBARRIER,
        fields &[
            req(Field::Transactions), TX_ORDER, MBARRIER_SCOPE,
            opt_of(Field::Space, bits!(Space: Shared | Cluster)), ty(bits!(Type: B64)),
        ],
        rules MBARRIER_RULES,
        since 90, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Arrives; yields the barrier's state before.
    MbarrierArrive "mbarrier.arrive" "mbarrier": [T] <- [Base, Offset], MBARRIER,
        fields &[req(Field::Arrival), ARRIVE_ORDER, MBARRIER_SCOPE, MBARRIER_SPACE, ty(bits!(Type: B64))],
        rules MBARRIER_RULES,
        since 80, later ARRIVE_LATER,
        cost Flat(20), rank 10, latency Memory, undef Mixing;

    /// Arrives so many times, or once and expects so many bytes; yields the barrier's state before.
    MbarrierArriveCount "mbarrier.arrive.count" "mbarrier": [T] <- [Base, Offset, R], MBARRIER,
        fields &[
            req(Field::Arrival), opt(Field::ArrivalMode), ARRIVE_ORDER, MBARRIER_SCOPE, MBARRIER_SPACE,
            ty(bits!(Type: B64)),
        ],
        rules ARRIVE_RULES,
        since 80, later ARRIVE_COUNT_LATER,
        cost Flat(20), rank 10, latency Memory, undef Mixing;

    /// Arrives at a barrier of any CTA of the cluster, as often or with as many bytes as the operand says. It yields
    /// no state.
    MbarrierArriveRemote "mbarrier.arrive.remote" "mbarrier": [] <- [Base, Offset, R], MBARRIER,
        fields &[
            req(Field::Arrival), opt_of(Field::ArrivalMode, bits!(ArrivalMode: Plain | ExpectTx)), ARRIVE_ORDER,
            MBARRIER_SCOPE, req_of(Field::Space, Space::Cluster.bit()), ty(bits!(Type: B64)),
        ],
        rules MBARRIER_RULES,
        since 90, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Whether the phase is over in which the barrier had a state. `try_wait` may wait for it; here it looks once.
    MbarrierWait "mbarrier.wait" "mbarrier": [P] <- [Base, Offset, T], MBARRIER,
        fields &[
            req(Field::MbarrierWait), WAIT_ORDER, MBARRIER_SCOPE, MBARRIER_SPACE, ty(bits!(Type: B64)),
        ],
        rules MBARRIER_RULES,
        since 80, later WAIT_LATER,
        cost Flat(20), rank 10, latency Memory, undef Mixing;

    /// Whether the phase with a parity is over, the current one or the one before.
    MbarrierWaitParity "mbarrier.wait.parity" "mbarrier": [P] <- [Base, Offset, R], MBARRIER,
        fields &[
            req(Field::MbarrierWait), req(Field::Parity), WAIT_ORDER, MBARRIER_SCOPE, MBARRIER_SPACE,
            ty(bits!(Type: B64)),
        ],
        rules MBARRIER_RULES,
        since 80, later WAIT_LATER,
        cost Flat(20), rank 10, latency Memory, undef Mixing;

    /// How many arrivals a state waits for.
    MbarrierPending "mbarrier.pending_count" "mbarrier.pending_count": [R] <- [T], PURE,
        fields &[ty(bits!(Type: B64))], rules &[],
        since 80, later &[],
        cost Flat(4), rank 10, latency Fixed, undef Mixing;

    /// Arrives once this thread's asynchronous copies are done; without `noinc` it counts as one more to wait for.
    CpAsyncArrive "cp.async.mbarrier.arrive" "cp.async.mbarrier.arrive": [] <- [Base, Offset], MBARRIER,
        fields &[opt(Field::NoInc), MBARRIER_SPACE, ty(bits!(Type: B64))], rules &[],
        since 80, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;
    } } };
}
pub(in crate::ops) use mbarrier_rows;
