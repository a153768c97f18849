//! Our bit sets beside `bitvec`'s: the transfer function of liveness, which is all a solver does in its inner loop.

use bitvec::prelude::*;
use divan::{Bencher, black_box};
use oriole_optimizer::analysis::bitset;

const BITS: [usize; 4] = [64, 256, 1024, 4096];

/// Runs the benchmark.
pub fn main() {
    divan::main();
}

/// A set in which about half the bits are set, different for each seed.
fn words(bits: usize, seed: u64) -> Vec<u64> {
    let next = |x: u64| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    std::iter::successors(Some(next(seed)), |x| Some(next(*x))).take(bits / 64).collect()
}

/// What most calls near the fixed point do: nothing changes.
#[divan::bench(args = BITS)]
fn unchanged_oriole(bencher: Bencher<'_, '_>, bits: usize) {
    let [generated, live, kill] = [1, 2, 3].map(|seed| words(bits, seed));
    let mut dst = vec![u64::MAX; bits / 64];
    bencher.bench_local(|| bitset::or_with_and_not_if_changed(black_box(&mut dst), &generated, &live, &kill));
}

#[divan::bench(args = BITS)]
fn unchanged_bitvec(bencher: Bencher<'_, '_>, bits: usize) {
    let [generated, live, kill] = [1, 2, 3].map(|seed| BitVec::<u64, Lsb0>::from_vec(words(bits, seed)));
    let mut dst = BitVec::<u64, Lsb0>::repeat(true, bits);
    bencher.bench_local(|| {
        let mut new = !kill.clone();
        new &= &live;
        new |= &generated;
        new |= &dst;
        let changed = new != dst;
        black_box(&mut dst).copy_from_bitslice(&new);
        changed
    });
}

#[divan::bench(args = BITS)]
fn changed_oriole(bencher: Bencher<'_, '_>, bits: usize) {
    let [generated, live, kill] = [1, 2, 3].map(|seed| words(bits, seed));
    let mut dst = vec![0; bits / 64];
    bencher.bench_local(|| {
        dst.fill(0);
        bitset::or_with_and_not_if_changed(black_box(&mut dst), &generated, &live, &kill)
    });
}

#[divan::bench(args = BITS)]
fn changed_bitvec(bencher: Bencher<'_, '_>, bits: usize) {
    let [generated, live, kill] = [1, 2, 3].map(|seed| BitVec::<u64, Lsb0>::from_vec(words(bits, seed)));
    let mut dst = BitVec::<u64, Lsb0>::repeat(false, bits);
    bencher.bench_local(|| {
        let mut new = !kill.clone();
        new &= &live;
        new |= &generated;
        let changed = new.any();
        black_box(&mut dst).copy_from_bitslice(&new);
        changed
    });
}
