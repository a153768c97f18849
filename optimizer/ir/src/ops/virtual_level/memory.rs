//! Memory.

use crate::ops::prelude::*;

pub const L2_PRIORITIES: u64 = bits!(PrefetchLevel: L2EvictLast | L2EvictNormal);
pub const ORDERED: u64 = all(Field::Order) & !1;
pub const WIDE_MEM: u64 = bits!(Type: B64 | U64 | S64 | F64);

/// Memory orders and the scopes that they need, cache hints, vectors: what holds for loads and stores alike.
/// Priorities in the second-level cache that are said.
const EVICT_L2: u64 = all(Field::EvictL2) & !1;

macro_rules! access_rules {
    ($($more:expr),* $(,)?) => {
        &[
            when(Field::Order, bits!(Order: Weak | Volatile), Field::Scope, Scope::None.bit()),
            when(Field::Order, bits!(Order: Relaxed | Acquire | Release), Field::Scope, all(Field::Scope) & !1),
            when(Field::Order, bits!(Order: Mmio), Field::Scope, Scope::Sys.bit()),
            when(Field::Order, bits!(Order: Mmio), Field::Space, bits!(Space: Generic | Global)),
            when(Field::Order, bits!(Order: Mmio), Field::Vector, Vector::V1.bit()),
            when(
                Field::Order,
                bits!(Order: Relaxed | Acquire | Release | Volatile),
                Field::Space,
                bits!(Space: Generic | Global | Shared | Cluster),
            ),
            when(Field::Order, ORDERED, Field::CacheOp, CacheOp::None.bit()),
            when(Field::Order, bits!(Order: Volatile | Mmio), Field::EvictL1, EvictL1::None.bit()),
            when(Field::Order, bits!(Order: Volatile | Mmio), Field::EvictL2, EvictL2::None.bit()),
            when(Field::EvictL1, all(Field::EvictL1) & !1, Field::Space, bits!(Space: Generic | Global)),
            when(Field::EvictL1, all(Field::EvictL1) & !1, Field::CacheOp, CacheOp::None.bit()),
            // The second-level cache is told of accesses of 32 bytes alone.
            when(Field::EvictL2, EVICT_L2, Field::Vector, bits!(Vector: V4 | V8)),
            when_both((Field::EvictL2, EVICT_L2), (Field::Vector, bits!(Vector: V4)), Field::Type, WIDE_MEM),
            when(Field::Vector, bits!(Vector: V2 | V4), Field::Type, MEM & !bits!(Type: B128)),
            // 32 bytes at once go to global memory alone.
            when(Field::Vector, bits!(Vector: V8), Field::Type, bits!(Type: B32 | U32 | S32 | F32)),
            when(Field::Vector, bits!(Vector: V8), Field::Space, bits!(Space: Generic | Global)),
            when_both(
                (Field::Vector, bits!(Vector: V4)),
                (Field::Type, WIDE_MEM),
                Field::Space,
                bits!(Space: Generic | Global),
            ),
            $($more),*
        ]
    };
}

pub const LOAD_RULES: &[Requirement] = access_rules![
    when(Field::NonCoherent, NonCoherent::Nc.bit(), Field::Space, Space::Global.bit()),
    when(Field::NonCoherent, NonCoherent::Nc.bit(), Field::Order, Order::Weak.bit()),
    when(Field::NonCoherent, NonCoherent::Nc.bit(), Field::CacheOp, all(Field::CacheOp) & !bits!(CacheOp: Cv | Lu)),
    when(Field::PrefetchSize, all(Field::PrefetchSize) & !1, Field::Space, bits!(Space: Generic | Global)),
    when(Field::Order, bits!(Order: Mmio), Field::PrefetchSize, PrefetchSize::None.bit()),
];

pub const STORE_RULES: &[Requirement] = access_rules![];

pub const LDU_RULES: &[Requirement] = &[
    when(Field::Vector, bits!(Vector: V4), Field::Type, MEM & !WIDE_MEM & !bits!(Type: B128)),
    when(Field::Vector, bits!(Vector: V2), Field::Type, MEM & !bits!(Type: B128)),
];

pub const ATOM_BITS: u64 = bits!(Type: B32 | B64);

pub const ATOM_RULES: &[Requirement] = &[
    when(Field::AtomOp, bits!(AtomOp: And | Or | Xor), Field::Type, ATOM_BITS),
    when(Field::AtomOp, bits!(AtomOp: Exch), Field::Type, ATOM_BITS | bits!(Type: B128)),
    when(Field::AtomOp, bits!(AtomOp: Add), Field::Type, bits!(Type: U32 | S32 | U64 | F32 | F64) | HF | BF),
    when(Field::AtomOp, bits!(AtomOp: Inc | Dec), Field::Type, bits!(Type: U32)),
    when(Field::AtomOp, bits!(AtomOp: Min | Max), Field::Type, I32 | I64 | HF | BF),
    when(Field::Type, HF | BF, Field::NoFtz, NoFtz::NoFtz.bit()),
    when(Field::NoFtz, NoFtz::NoFtz.bit(), Field::Type, HF | BF),
    when(Field::Vector, bits!(Vector: V2 | V4 | V8), Field::Type, HF | BF | F32),
    when(Field::Vector, bits!(Vector: V2 | V4 | V8), Field::Space, bits!(Space: Generic | Global)),
    when(Field::Vector, bits!(Vector: V4), Field::Type, HF | BF | F32),
    when(Field::Vector, bits!(Vector: V8), Field::Type, bits!(Type: F16 | Bf16)),
    when(Field::Vector, bits!(Vector: V2 | V4 | V8), Field::AtomOp, bits!(AtomOp: Add | Min | Max)),
    // Vectors of floats are only added; half-precision minima and maxima exist only as vectors.
    when(Field::Type, F32, Field::AtomOp, bits!(AtomOp: Add)),
    when_both(
        (Field::AtomOp, bits!(AtomOp: Min | Max)),
        (Field::Type, HF | BF),
        Field::Vector,
        bits!(Vector: V2 | V4 | V8),
    ),
];

pub const ATOM_ORDER: FieldSpec = opt_of(Field::Order, bits!(Order: Relaxed | Acquire | Release | AcqRel));
pub const ATOM_SPACE: FieldSpec = opt_of(Field::Space, bits!(Space: Global | Shared | Cluster));
pub const RED_ORDER: FieldSpec = opt_of(Field::Order, bits!(Order: Relaxed | Release));
pub const ATOM_TYPES: u64 = B3264 | bits!(Type: B128) | I32 | I64 | F32 | F64 | HF | BF;

pub const VEC: FieldSpec = opt(Field::Vector);
/// No more than 16 bytes at once.
pub const LDU_VEC: FieldSpec = opt_of(Field::Vector, bits!(Vector: V2 | V4));

/// Memory orders, priorities, 128 bits and 32 bytes at once: what came later for loads and stores alike.
macro_rules! access_later {
    ($($more:expr),* $(,)?) => {
        &[
            from(70, Field::Order, bits!(Order: Relaxed | Acquire | Release | Mmio)),
            from(70, Field::EvictL1, all(Field::EvictL1) & !1),
            from(70, Field::Type, bits!(Type: B128)),
            from(90, Field::Scope, Scope::Cluster.bit()),
            from(90, Field::Space, Space::Cluster.bit()),
            from(100, Field::Vector, Vector::V8.bit()),
            from_both(100, (Field::Vector, Vector::V4.bit()), (Field::Type, WIDE_MEM)),
            $($more),*
        ]
    };
}

pub const LOAD_LATER: &[Later] = access_later![
    from(75, Field::PrefetchSize, bits!(PrefetchSize: B64 | B128)),
    from(80, Field::PrefetchSize, bits!(PrefetchSize: B256)),
];

pub const STORE_LATER: &[Later] = access_later![];

/// Scopes, memory orders and types: what came later for all atomic operations.
macro_rules! atom_later {
    ($($more:expr),* $(,)?) => {
        &[
            from(60, Field::Scope, bits!(Scope: Cta | Gpu | Sys)),
            from(60, Field::Type, HF | F64),
            from(70, Field::Order, all(Field::Order) & !1),
            from(70, Field::Type, bits!(Type: B16 | F16)),
            from(90, Field::Scope, Scope::Cluster.bit()),
            from(90, Field::Space, Space::Cluster.bit()),
            from(90, Field::Type, BF | bits!(Type: B128)),
            $($more),*
        ]
    };
}

/// Spaces of address tests and conversions that came later.
pub const ADDRESS_LATER: &[Later] =
    &[from(70, Field::Space, Space::Param.bit()), from(90, Field::Space, Space::Cluster.bit())];

pub const CAS_LATER: &[Later] = atom_later![];
pub const ATOM_LATER: &[Later] = atom_later![from(90, Field::Vector, all(Field::Vector) & !1)];

macro_rules! memory_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Loads; weak loads can be removed and repeated.
    Ld "ld" "ld": [V] <- [Base, Offset], LOAD.or(WIDER),
        fields &[
            opt_of(Field::Order, bits!(Order: Relaxed | Acquire | Volatile | Mmio)), opt(Field::Scope),
            opt(Field::Space), opt_of(Field::CacheOp, bits!(CacheOp: Ca | Cg | Cs | Lu | Cv)),
            opt(Field::NonCoherent), opt(Field::EvictL1), opt(Field::EvictL2), opt(Field::PrefetchSize), VEC, ty(MEM),
        ],
        rules LOAD_RULES,
        since 50, later LOAD_LATER,
        cost Flat(20), rank 10, latency Memory, undef Copying;

    /// Loads from an address that is the same in all threads of the warp.
    Ldu "ldu" "ldu": [V] <- [Base, Offset], LOAD.or(WIDER),
        fields &[opt_of(Field::Space, Space::Global.bit()), LDU_VEC, ty(MEM)], rules LDU_RULES,
        since 50, later &[from(70, Field::Type, bits!(Type: B128))],
        cost Flat(20), rank 10, latency Memory, undef Copying;

    /// Stores.
    St "st" "st": [] <- [Base, Offset, V], STORE.or(SIGNLESS).or(WIDER),
        fields &[
            opt_of(Field::Order, bits!(Order: Relaxed | Release | Volatile | Mmio)), opt(Field::Scope),
            opt_of(Field::Space, bits!(Space: Global | Shared | Local | Param | Cluster)),
            opt_of(Field::CacheOp, bits!(CacheOp: Wb | Cg | Cs | Wt)), opt(Field::EvictL1), opt(Field::EvictL2), VEC,
            ty(MEM),
        ],
        rules STORE_RULES,
        since 50, later STORE_LATER,
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Reads, modifies and writes in one step; yields the old value.
    Atom "atom" "atom": [V] <- [Base, Offset, V], ATOMIC,
        fields &[
            ATOM_ORDER, opt(Field::Scope), ATOM_SPACE, req(Field::AtomOp), opt(Field::NoFtz), VEC,
            ty(ATOM_TYPES),
        ],
        rules ATOM_RULES,
        since 50, later ATOM_LATER,
        cost Flat(20), rank 10, latency Memory, undef Copying;

    /// Writes the third operand where memory equals the second; yields the old value.
    AtomCas "atom.cas" "atom.cas": [T] <- [Base, Offset, T, T], ATOMIC,
        fields &[ATOM_ORDER, opt(Field::Scope), ATOM_SPACE, ty(B | bits!(Type: B128))], rules &[],
        since 50, later CAS_LATER,
        cost Flat(20), rank 10, latency Memory, undef Copying;

    /// `atom` without its result.
    Red "red" "red": [] <- [Base, Offset, V], ATOMIC,
        fields &[
            RED_ORDER, opt(Field::Scope), ATOM_SPACE,
            req_of(Field::AtomOp, all(Field::AtomOp) & !bits!(AtomOp: Exch)), opt(Field::NoFtz), VEC,
            ty(ATOM_TYPES & !bits!(Type: B128)),
        ],
        rules ATOM_RULES,
        since 50, later ATOM_LATER,
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Brings a line into a cache.
    Prefetch "prefetch" "prefetch": [] <- [Base, Offset], HINT,
        fields &[opt_of(Field::Space, bits!(Space: Global | Local)), req(Field::PrefetchLevel)],
        rules &[when(Field::PrefetchLevel, L2_PRIORITIES, Field::Space, bits!(Space: Generic | Global))],
        since 50, later &[from(80, Field::PrefetchLevel, L2_PRIORITIES)],
        cost Flat(10), rank 10, latency Memory, undef Nothing;

    /// Brings a line into the uniform cache.
    Prefetchu "prefetchu" "prefetchu": [] <- [Base, Offset], HINT,
        fields &[req_of(Field::PrefetchLevel, PrefetchLevel::L1.bit())], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Memory, undef Nothing;

    /// Allows a line to be dropped without being written back: what it holds is undefined then.
    Discard "discard" "discard": [] <- [Base, Offset, Imm], STORE,
        fields &[opt_of(Field::Space, Space::Global.bit()), req_of(Field::PrefetchLevel, PrefetchLevel::L2.bit())],
        rules &[],
        since 80, later &[],
        cost Flat(10), rank 10, latency Memory, undef Nothing;

    /// Changes a line's eviction priority.
    ApplyPriority "applypriority" "applypriority": [] <- [Base, Offset, Imm], HINT,
        fields &[
            opt_of(Field::Space, Space::Global.bit()),
            req_of(Field::PrefetchLevel, PrefetchLevel::L2EvictNormal.bit()),
        ],
        rules &[],
        since 80, later &[],
        cost Flat(10), rank 10, latency Memory, undef Nothing;

    /// Whether a generic address lies in a space.
    IsSpaceP "isspacep" "isspacep": [P] <- [Base], ADDRESS,
        fields &[req_of(Field::Space, bits!(Space: Global | Shared | Local | Const | Param | Cluster))],
        rules &[],
        since 50, later ADDRESS_LATER,
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// Converts an address between a space and generic addressing.
    Cvta "cvta" "cvta": [T] <- [Base], ADDRESS,
        fields &[
            opt(Field::CvtaDirection),
            req_of(Field::Space, bits!(Space: Global | Shared | Local | Const | Param | Cluster)),
            ty(bits!(Type: U32 | U64)),
        ],
        rules &[],
        since 50, later ADDRESS_LATER,
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// Copies 4, 8 or 16 bytes from global to shared memory, of which the last operand says how many are read (the
    /// rest is zero).
    CpAsync "cp.async" -: [] <- [Base, Offset, Base, Offset, Imm, R], ATOMIC,
        fields &[
            req(Field::AsyncCache), req_of(Field::Space, Space::Shared.bit()),
            opt_of(Field::PrefetchSize, all(Field::PrefetchSize)),
        ],
        rules &[],
        since 80, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Closes a group of asynchronous copies.
    CpAsyncCommit "cp.async.commit_group" "cp.async.commit_group": [] <- [], EFFECT,
        fields &[], rules &[],
        since 80, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Waits until at most so many groups are pending.
    CpAsyncWait "cp.async.wait_group" "cp.async.wait_group": [] <- [Imm], FENCE,
        fields &[], rules &[],
        since 80, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// Waits for all asynchronous copies.
    CpAsyncWaitAll "cp.async.wait_all" "cp.async.wait_all": [] <- [], FENCE,
        fields &[], rules &[],
        since 80, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;
    } } };
}
pub(in crate::ops) use memory_rows;
