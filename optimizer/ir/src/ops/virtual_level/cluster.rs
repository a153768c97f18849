//! Clusters of CTAs: PTX ISA 9.0, "barrier.cluster", "mapa" and "getctarank".

use crate::ops::prelude::*;

/// Shared memory of the cluster, or generic addresses.
pub const CLUSTER_SPACE: FieldSpec = opt_of(Field::Space, Space::Cluster.bit());

macro_rules! cluster_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Arrives at the barrier of the cluster without waiting.
    ClusterArrive "barrier.cluster.arrive" "barrier.cluster.arrive": [] <- [], BARRIER,
        fields &[opt_of(Field::Order, bits!(Order: Relaxed | Release)), opt(Field::Aligned)], rules &[],
        since 90, later &[],
        cost Flat(18), rank 10, latency Wait, undef Nothing;

    /// Waits until all threads of the cluster have arrived as this one has.
    ClusterWait "barrier.cluster.wait" "barrier.cluster.wait": [] <- [], BARRIER,
        fields &[opt_of(Field::Order, Order::Acquire.bit()), opt(Field::Aligned)], rules &[],
        since 90, later &[],
        cost Flat(18), rank 10, latency Wait, undef Nothing;

    /// The address of the same place in the shared memory of the CTA with a rank.
    Mapa "mapa" "mapa": [T] <- [Base, R], ADDRESS,
        fields &[CLUSTER_SPACE, ty(bits!(Type: U32 | U64))], rules &[],
        since 90, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// The rank of the CTA in whose shared memory an address lies.
    GetCtaRank "getctarank" "getctarank": [R] <- [Base], ADDRESS,
        fields &[CLUSTER_SPACE, ty(bits!(Type: U32 | U64))], rules &[],
        since 90, later &[],
        cost Flat(2), rank 10, latency Fixed, undef Mixing;
    } } };
}
pub(in crate::ops) use cluster_rows;
