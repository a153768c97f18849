//! Special registers, synchronisation and collectives: what depends on the thread, or on several.

macro_rules! thread_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Reads a special register that does not change.
    S2r "s2r" -: [T] <- [Special], PURE,
        fields &[ty(PRED | B3264)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Variable, undef Nothing;

    /// Reads a special register that changes by itself (clocks).
    Cs2r "cs2r" -: [T] <- [Special], EFFECT,
        fields &[ty(B3264)], rules &[],
        since 50, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Waits at a barrier for so many threads (0: all of the CTA).
    BarSync "bar.sync" -: [] <- [R, R], CTA_BARRIER,
        fields &[opt(Field::Aligned)], rules &[],
        since 50, later &[],
        cost Flat(18), rank 10, latency Wait, undef Nothing;

    /// Counts as arrived at a barrier without waiting.
    BarArrive "bar.arrive" -: [] <- [R, R], CTA_BARRIER,
        fields &[opt(Field::Aligned)], rules &[],
        since 50, later &[],
        cost Flat(18), rank 10, latency Wait, undef Nothing;

    /// Barrier that yields how many threads' predicates are true.
    BarRedPopc "bar.red.popc" -: [R] <- [R, R, P], CTA_BARRIER,
        fields &[opt(Field::Aligned)], rules &[],
        since 50, later &[],
        cost Flat(20), rank 10, latency Wait, undef Mixing;

    /// Barrier that yields whether all or any predicates are true.
    BarRed "bar.red" -: [P] <- [R, R, P], CTA_BARRIER,
        fields &[opt(Field::Aligned), req_of(Field::BoolOp, bits!(BoolOp: And | Or))], rules &[],
        since 50, later &[],
        cost Flat(20), rank 10, latency Wait, undef Mixing;

    /// Waits for the member lanes of the warp.
    BarWarpSync "bar.warp.sync" "bar.warp.sync": [] <- [R], BARRIER,
        fields &[], rules &[],
        since 50, later &[],
        cost Flat(18), rank 10, latency Wait, undef Nothing;

    /// Orders memory accesses.
    Fence "fence" "fence": [] <- [], FENCE,
        fields &[
            req(Field::FenceKind), opt(Field::Restriction),
            req_of(Field::Scope, bits!(Scope: Cta | Cluster | Gpu | Sys)),
        ],
        rules &[
            when(Field::Restriction, Restriction::Cluster.bit(), Field::FenceKind, FenceKind::Acquire.bit()),
            when(Field::Restriction, Restriction::Cta.bit(), Field::FenceKind, FenceKind::Release.bit()),
            when(Field::Restriction, bits!(Restriction: Cluster | Cta), Field::Scope, Scope::Cluster.bit()),
        ],
        since 50, later &[
            from(70, Field::FenceKind, all(Field::FenceKind) & !FenceKind::Sc.bit()),
            from(90, Field::Scope, Scope::Cluster.bit()),
        ],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// Orders accesses of the generic proxy with those by other addresses of the same memory, or with those of
    /// asynchronous operations and matrix products.
    FenceProxy "fence.proxy" "fence.proxy": [] <- [], PROXY_FENCE,
        fields &[req(Field::Proxy), opt(Field::ProxySpace)],
        rules &[
            when(Field::ProxySpace, all(Field::ProxySpace) & !ProxySpace::All.bit(), Field::Proxy, Proxy::Async.bit()),
        ],
        since 70, later &[from(90, Field::Proxy, Proxy::Async.bit())],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// The same from the generic proxy to asynchronous operations alone, on barriers and shared memory of the cluster.
    FenceToAsync "fence.proxy.to_async" "fence.proxy.async::generic": [] <- [], PROXY_FENCE,
        fields &[
            req_of(Field::FenceKind, bits!(FenceKind: Acquire | Release)),
            req_of(Field::Restriction, bits!(Restriction: Cluster | Cta)), req_of(Field::Scope, Scope::Cluster.bit()),
        ],
        rules &[
            when(Field::Restriction, Restriction::Cluster.bit(), Field::FenceKind, FenceKind::Acquire.bit()),
            when(Field::Restriction, Restriction::Cta.bit(), Field::FenceKind, FenceKind::Release.bit()),
        ],
        since 90, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// Orders the initialization of barriers with what other CTAs of the cluster do with them.
    FenceBarrierInit "fence.mbarrier_init" "fence.mbarrier_init.release.cluster": [] <- [], PROXY_FENCE,
        fields &[], rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// Makes changes of tensor maps visible to the proxy that reads them.
    FenceTensorMap "fence.proxy.tensormap" "fence.proxy.tensormap::generic": [] <- [], PROXY_FENCE,
        fields &[
            req_of(Field::FenceKind, FenceKind::Release.bit()),
            req_of(Field::Scope, bits!(Scope: Cta | Cluster | Gpu | Sys)),
        ],
        rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// Makes the proxy that reads tensor maps see changes of one.
    AcquireTensorMap "fence.proxy.tensormap.address" "fence.proxy.tensormap::generic": [] <- [Base, Offset, Imm], PROXY_FENCE,
        fields &[
            req_of(Field::FenceKind, FenceKind::Acquire.bit()),
            req_of(Field::Scope, bits!(Scope: Cta | Cluster | Gpu | Sys)),
        ],
        rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// Reads another lane's value, and whether that lane was in range.
    Shfl "shfl.sync" -: [R, P] <- [R, R, R, R], COLLECTIVE,
        fields &[req(Field::ShuffleMode), ty(bits!(Type: B32))], rules &[],
        since 50, later &[],
        cost Flat(22), rank 10, latency Variable, undef Copying;

    /// Whether all, any or equal predicates hold over the member lanes.
    Vote "vote.sync" "vote.sync": [P] <- [P, R], TOGETHER,
        fields &[req(Field::VoteMode), ty(PRED)], rules &[],
        since 50, later &[],
        cost Flat(20), rank 10, latency Fixed, undef Mixing;

    /// The mask of member lanes whose predicate is true.
    Ballot "vote.sync.ballot" "vote.sync.ballot": [R] <- [P, R], TOGETHER,
        fields &[ty(bits!(Type: B32))], rules &[],
        since 50, later &[],
        cost Flat(20), rank 10, latency Fixed, undef Copying;

    /// The mask of member lanes that have this lane's value.
    MatchAny "match.any.sync" "match.any.sync": [R] <- [T, R], COLLECTIVE,
        fields &[ty(B3264)], rules &[],
        since 70, later &[],
        cost Flat(20), rank 10, latency Variable, undef Mixing;

    /// The member mask if all have the same value, else zero; and whether they do.
    MatchAll "match.all.sync" -: [R, P] <- [T, R], COLLECTIVE,
        fields &[ty(B3264)], rules &[],
        since 70, later &[],
        cost Flat(22), rank 10, latency Variable, undef Mixing;

    /// The mask of lanes that execute together.
    ActiveMask "activemask" "activemask": [R] <- [], COLLECTIVE,
        fields &[ty(bits!(Type: B32))], rules &[],
        since 50, later &[],
        cost Flat(20), rank 10, latency Fixed, undef Nothing;

    /// Reduces over the member lanes.
    Redux "redux.sync" "redux.sync": [R] <- [R, R], TOGETHER,
        fields &[req(Field::ReduxOp), ty(I32 | bits!(Type: B32))],
        rules &[
            when(Field::ReduxOp, bits!(ReduxOp: And | Or | Xor), Field::Type, bits!(Type: B32)),
            when(Field::ReduxOp, bits!(ReduxOp: Add | Min | Max), Field::Type, I32),
        ],
        since 80, later &[],
        cost Flat(20), rank 10, latency Variable, undef Mixing;

    /// The smallest or largest float of the member lanes.
    ReduxFloat "redux.sync.f32" -: [T] <- [T, R], TOGETHER.or(Flags::SPECIFIC),
        fields &[
            req_of(Field::ReduxOp, bits!(ReduxOp: Min | Max)), opt(Field::Absolute), opt(Field::NanMode), ty(F32),
        ],
        rules &[],
        since 100, later &[],
        cost Flat(20), rank 10, latency Variable, undef Mixing;

    /// The lowest member lane, and whether this lane is it.
    Elect "elect.sync" -: [R, P] <- [R], COLLECTIVE,
        fields &[], rules &[],
        since 90, later &[],
        cost Flat(22), rank 10, latency Variable, undef Mixing;

    /// Programmatic dependent launch; one grid runs at a time here.
    GridDepControl "griddepcontrol" "griddepcontrol": [] <- [], FENCE,
        fields &[req(Field::GridDep)], rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;
    } } };
}
pub(in crate::ops) use thread_rows;
