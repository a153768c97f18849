//! Each operation beside `bitvec`, and beside a loop over single bits for every length about the vector widths.

use super::words::STRETCH;
use super::*;
use bitvec::prelude::*;
use proptest::prelude::*;

type Twin = BitVec<u64, Lsb0>;

fn twin(words: &[u64]) -> Twin {
    Twin::from_slice(words)
}

fn back(twin: &Twin) -> Vec<u64> {
    twin.as_raw_slice().to_vec()
}

/// Four sets of the same bound; sparse words, so that nothing-changes cases occur.
fn four_sets() -> impl Strategy<Value = [Vec<u64>; 4]> {
    let word = prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), (0..64u32).prop_map(|bit| 1 << bit)];
    prop_oneof![0..20usize, STRETCH - 2..STRETCH + 10, 2 * STRETCH - 1..2 * STRETCH + 2]
        .prop_flat_map(move |n| std::array::from_fn(|_| prop::collection::vec(word.clone(), n)))
}

proptest! {
    #[test]
    fn union_is_bitvecs((sets, mut dst) in four_sets().prop_map(|s| (s.clone(), s[0].clone()))) {
        let [a, b, ..] = &sets;
        let expected = back(&(twin(a) | twin(b)));
        prop_assert_eq!(union_if_changed(&mut dst, b), expected != *a);
        prop_assert_eq!(&dst, &expected);
        prop_assert!(!union_if_changed(&mut dst, b));
        let mut plain = a.clone();
        union(&mut plain, b);
        prop_assert_eq!(plain, expected);
    }

    #[test]
    fn intersection_is_bitvecs((sets, mut dst) in four_sets().prop_map(|s| (s.clone(), s[0].clone()))) {
        let [a, b, ..] = &sets;
        let expected = back(&(twin(a) & twin(b)));
        prop_assert_eq!(intersect_if_changed(&mut dst, b), expected != *a);
        prop_assert_eq!(&dst, &expected);
        let mut assigned = b.clone();
        assign_and(&mut assigned, a, b);
        prop_assert_eq!(&assigned, &expected);
        xor(&mut dst, b);
        prop_assert_eq!(dst, back(&(twin(&expected) ^ twin(b))));
    }

    #[test]
    fn transfer_is_bitvecs(sets in four_sets()) {
        let [dst, generated, live, kill] = &sets;
        let expected = back(&(twin(dst) | twin(generated) | (twin(live) & !twin(kill))));
        let mut changed = dst.clone();
        let report = or_with_and_not_if_changed(&mut changed, generated, live, kill);
        prop_assert_eq!(report, expected != *dst);
        prop_assert_eq!(&changed, &expected);
        let mut plain = dst.clone();
        or_with_and_not(&mut plain, generated, live, kill);
        prop_assert_eq!(plain, expected);
    }

    #[test]
    fn meet_and_transfer_is_one_after_the_other(sets in four_sets(), met: bool) {
        let [live_in, live_out, generated, kill] = &sets;
        let after = if met { live_out } else { kill };
        let (mut entry, mut end) = (live_in.clone(), live_out.clone());
        let changed = meet_and_transfer(&mut entry, &mut end, after, generated, kill);
        let expected_end = back(&(twin(live_out) | twin(after)));
        let expected = back(&(twin(live_in) | twin(generated) | (twin(&expected_end) & !twin(kill))));
        prop_assert_eq!(changed, expected != *live_in);
        prop_assert_eq!((entry, end), (expected, expected_end));
    }

    #[test]
    fn queries_are_bitvecs(sets in four_sets()) {
        let [a, b, ..] = &sets;
        prop_assert_eq!(count(a), twin(a).count_ones());
        prop_assert_eq!(iter(a).collect::<Vec<_>>(), twin(a).iter_ones().collect::<Vec<_>>());
        prop_assert_eq!(is_subset(a, b), twin(a).iter_ones().all(|bit| twin(b)[bit]));
    }

    #[test]
    fn single_bits_are_bitvecs(ops in prop::collection::vec((any::<bool>(), 0usize..200), 0..60)) {
        let (mut set, mut expected) = (BitSet::new(200), bitvec![u64, Lsb0; 0; 256]);
        for (add, bit) in ops {
            let changed = if add { set.insert(bit) } else { set.remove(bit) };
            prop_assert_eq!(changed, expected.replace(bit, add) != add);
            prop_assert_eq!(set.contains(bit), add);
        }
        prop_assert_eq!(set.words(), expected.as_raw_slice());
        set.clear();
        prop_assert_eq!(set.count(), 0);
        prop_assert!(!set.contains(100_000));
    }
}

#[test]
fn rows_of_a_matrix_are_apart() {
    let mut matrix = BitMatrix::new(3, 65);
    insert(matrix.row_mut(1), 64);
    assert!(contains(matrix.row(1), 64));
    assert_eq!((count(matrix.row(0)), count(matrix.row(2))), (0, 0));
    let (last, middle) = matrix.two_rows(2, 1);
    last.copy_from_slice(middle);
    assert!(contains(matrix.row(2), 64) && count(matrix.row(0)) == 0);
}

/// The words in which bit `bit` alone is set.
fn single(words: usize, bit: usize) -> Vec<u64> {
    let mut set = vec![0; words];
    insert(&mut set, bit);
    set
}

/// A change in one bit is seen, wherever it is, for every length about the stretches of a search.
#[test]
fn one_bit_decides_wherever_it_is() {
    for words in (0..20).chain(STRETCH - 2..STRETCH + 10).chain([2 * STRETCH, 2 * STRETCH + 1]) {
        let (none, all) = (vec![0; words], vec![u64::MAX; words]);
        for bit in (0..words * WORD).step_by(37) {
            let one = single(words, bit);
            let mut dst = none.clone();
            assert!(union_if_changed(&mut dst, &one) && dst == one);
            assert!(!union_if_changed(&mut dst, &one) && dst == one);
            assert!(!is_subset(&one, &none) && is_subset(&none, &one) && is_subset(&one, &one));
            for (sets, changes) in
                [([&one, &none, &none], true), ([&none, &one, &none], true), ([&none, &one, &one], false)]
            {
                let [generated, live, kill] = sets;
                let mut dst = none.clone();
                assert_eq!(or_with_and_not_if_changed(&mut dst, generated, live, kill), changes, "{words} {bit}");
                assert_eq!(dst, if changes { one.clone() } else { none.clone() });
            }
            let mut dst = all.clone();
            xor(&mut dst, &one);
            let without = dst.clone();
            assert!(!intersect_if_changed(&mut dst, &all));
            dst = all.clone();
            assert!(intersect_if_changed(&mut dst, &without) && dst == without);
        }
    }
}

#[test]
fn extracted_bits_are_those_of_a_loop() {
    let set = [0x8000_0000_0000_0001, 0xf0f0_1234_5678_9abc, u64::MAX, 0x0123_4567_89ab_cdef];
    for start in 0..=4 * WORD {
        for end in (start..=4 * WORD).step_by(7).chain([4 * WORD]) {
            let mut out = [u64::MAX; 5];
            extract(&set, start, end, &mut out);
            let expected: Vec<usize> = (start..end).filter(|bit| contains(&set, *bit)).map(|bit| bit - start).collect();
            assert_eq!(iter(&out).collect::<Vec<_>>(), expected, "{start}..{end}");
        }
    }
}

#[test]
fn sets_grow_and_never_shrink() {
    let mut set = BitSet::new(10);
    set.insert(9);
    set.grow(130);
    set.insert(129);
    set.grow(5);
    assert_eq!(set.iter().collect::<Vec<_>>(), [9, 129]);
    let mut other = BitSet::new(3);
    other.copy_from(&set);
    assert_eq!(other, set);
    let mut small = BitSet::new(3);
    small.insert(2);
    other.copy_from(&small);
    assert_eq!((other.iter().collect::<Vec<_>>(), other.words().len()), (vec![2], 3), "room stays");
}

proptest! {
    /// The sparse intersection test beside the one of plain sets.
    #[test]
    fn first_common_bit_is_that_of_plain_sets(
        mut bits in prop::collection::vec(0usize..3000, 0..12),
        others in prop::collection::vec(0usize..2000, 0..40),
        asks in prop::collection::vec(0usize..3000, 0..20),
    ) {
        let sparse: SparseBitSet = bits.iter().copied().collect();
        let mut plain = BitSet::new(2000);
        for bit in &others {
            plain.insert(*bit);
        }
        let common = bits.iter().copied().filter(|bit| plain.contains(*bit)).min();
        prop_assert_eq!(sparse.first_common(plain.words()), common);
        for bit in asks {
            prop_assert_eq!(sparse.contains(bit), bits.contains(&bit));
        }
        bits.sort_unstable();
        bits.dedup();
        prop_assert_eq!(sparse.is_empty(), bits.is_empty());
        prop_assert_eq!(sparse.iter().collect::<Vec<_>>(), bits);
    }
}
