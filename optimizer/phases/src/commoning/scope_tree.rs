//! The scope tree: a set of block numbers in nodes of 256 (`spec/copy-propagation-and-cse.txt`, "Scope Tree
//! Bit-Iteration Detail").
//!
//! A number is a node, a word of its four, and a bit. The nodes are ordered by key, in a tree of the library where the
//! page has a red-black tree of its own; so a walk meets the numbers in ascending order and passes over ranges in which
//! there are none.

use std::collections::BTreeMap;

/// A set of numbers.
#[derive(Default)]
pub(super) struct ScopeTree(BTreeMap<u32, [u64; 4]>);

impl ScopeTree {
    /// Adds a number.
    pub(super) fn insert(&mut self, number: u32) {
        let node = self.0.entry(number >> 8).or_default();
        node[(number >> 6 & 3) as usize] |= 1 << (number & 63);
    }

    /// Takes all numbers out, the lowest first.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u32> + use<> {
        let words =
            |(key, node): (u32, [u64; 4])| (0..4).zip(node).map(move |(index, word)| (key << 8 | index << 6, word));
        std::mem::take(&mut self.0).into_iter().flat_map(words).flat_map(|(first, mut word)| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(first | bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The numbers come out once, in order; many share a node, a word, or nothing.
        #[test]
        fn numbers_come_out_in_order(numbers in prop::collection::vec(prop_oneof![0..600u32, any::<u32>()], 0..100)) {
            let mut tree = ScopeTree::default();
            numbers.iter().for_each(|number| tree.insert(*number));
            let expected: BTreeSet<u32> = numbers.into_iter().collect();
            prop_assert_eq!(tree.drain().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(tree.drain().next(), None);
        }
    }
}
