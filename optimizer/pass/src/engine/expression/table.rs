//! The value table: from expressions to what is known of them (`spec/copy-propagation-and-cse.txt`, "Value table
//! structure").
//!
//! Buckets are chains in the order of insertion, each with its ends and its length; a node keeps the hash of its key,
//! so that growing hashes nothing again. There are eight buckets at first, and four times as many when there are more
//! entries than buckets. The page also asks that "bucket_count" is at most half of the capacity. Read as the number of
//! buckets in use, that would let the table grow whenever two entries share a bucket, to the square of its entries;
//! here it bounds the number of buckets by half of what 32 bits can number.
//!
//! Nodes and keys lie in two vectors and name each other by index. Nothing is removed but all at once. A search costs
//! the chain and the key; an insertion the same, amortised.

use super::Expression;

/// The buckets of an empty table.
const BUCKETS: usize = 8;

/// How many times as many buckets a table has after it has grown.
const GROWTH: usize = 4;

/// The most buckets from which a table grows.
const LIMIT: usize = 1 << 31;

/// The end of a chain.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Bucket {
    head: u32,
    tail: u32,
    count: u32,
}

impl Bucket {
    const EMPTY: Bucket = Bucket { head: NONE, tail: NONE, count: 0 };
}

struct Node<V> {
    next: u32,
    hash: u32,
    /// Where the words of the key end; they begin where those of the node before end.
    key_end: usize,
    value: V,
}

/// A hash table with values of a type.
pub struct ValueTable<V> {
    /// A power of two of them.
    buckets: Vec<Bucket>,
    nodes: Vec<Node<V>>,
    words: Vec<u32>,
}

impl<V> Default for ValueTable<V> {
    fn default() -> ValueTable<V> {
        ValueTable { buckets: vec![Bucket::EMPTY; BUCKETS], nodes: Vec::new(), words: Vec::new() }
    }
}

impl<V> ValueTable<V> {
    /// Removes everything. The memory stays, except that of more buckets than an empty table has.
    pub fn clear(&mut self) {
        self.buckets.truncate(BUCKETS);
        self.buckets.fill(Bucket::EMPTY);
        self.nodes.clear();
        self.words.clear();
    }

    /// What an expression has, or else the value that it gets now; and whether it is new.
    pub fn entry(&mut self, key: &Expression, value: impl FnOnce() -> V) -> (&mut V, bool) {
        let found = self.find(key);
        let node = found.unwrap_or_else(|| self.insert(key, value()));
        (&mut self.nodes[node].value, found.is_none())
    }

    /// What an expression has.
    pub fn get(&self, key: &Expression) -> Option<&V> {
        self.find(key).map(|node| &self.nodes[node].value)
    }

    fn find(&self, key: &Expression) -> Option<usize> {
        let mut at = self.buckets[self.bucket(key.hash())].head;
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.hash == key.hash() && self.key(at as usize) == key.words() {
                return Some(at as usize);
            }
            at = node.next;
        }
        None
    }

    fn key(&self, node: usize) -> &[u32] {
        let start = node.checked_sub(1).map_or(0, |before| self.nodes[before].key_end);
        &self.words[start..self.nodes[node].key_end]
    }

    fn bucket(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    fn insert(&mut self, key: &Expression, value: V) -> usize {
        if self.nodes.len() >= self.buckets.len() && self.buckets.len() <= LIMIT {
            self.grow();
        }
        let node = self.nodes.len();
        self.words.extend_from_slice(key.words());
        self.nodes.push(Node { next: NONE, hash: key.hash(), key_end: self.words.len(), value });
        self.append(node);
        node
    }

    /// Puts a node at the end of its bucket's chain.
    fn append(&mut self, node: usize) {
        let number = u32::try_from(node).ok().filter(|number| *number != NONE);
        let number = number.expect("a function has fewer than 2^32 - 1 instructions");
        let bucket = self.bucket(self.nodes[node].hash);
        let Bucket { head, tail, count } = self.buckets[bucket];
        match tail {
            NONE => self.buckets[bucket] = Bucket { head: number, tail: number, count: 1 },
            last => {
                self.nodes[last as usize].next = number;
                self.buckets[bucket] = Bucket { head, tail: number, count: count + 1 };
            }
        }
    }

    /// Nodes are appended in the order in which they came, so each chain stays in that order.
    fn grow(&mut self) {
        let count = self.buckets.len() * GROWTH;
        self.buckets.clear();
        self.buckets.resize(count, Bucket::EMPTY);
        for node in 0..self.nodes.len() {
            self.nodes[node].next = NONE;
            self.append(node);
        }
    }

    /// How many entries there are.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The entries of the fullest bucket.
    #[cfg(test)]
    fn longest_chain(&self) -> u32 {
        self.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use std::collections::HashMap;

    fn key(words: &[u32]) -> Expression {
        Expression::of_words(words)
    }

    #[test]
    fn tables_grow_fourfold_when_entries_exceed_buckets() {
        let mut table = ValueTable::default();
        let mut sizes = Vec::new();
        for number in 0..130 {
            table.entry(&key(&[number]), || number);
            if sizes.last() != Some(&table.buckets.len()) {
                sizes.push(table.buckets.len());
            }
            assert!(table.len() <= table.buckets.len());
        }
        assert_eq!(sizes, [8, 32, 128, 512]);
        assert!((0..130).all(|number| table.entry(&key(&[number]), || 999) == (&mut number.clone(), false)));
    }

    #[test]
    fn a_table_that_was_cleared_is_an_empty_one() {
        let mut table = ValueTable::default();
        (0..100).for_each(|number| _ = table.entry(&key(&[number]), || number));
        table.clear();
        assert_eq!((table.len(), table.longest_chain(), table.buckets.len()), (0, 0, BUCKETS));
        assert!((0..100).all(|number| table.get(&key(&[number])).is_none()));
        assert!((0..100).all(|number| table.entry(&key(&[number]), || number + 1) == (&mut (number + 1), true)));
    }

    /// Equal hashes are no equal keys: all that differs is told apart, in one chain.
    #[test]
    fn collisions_share_a_chain_and_no_value() {
        let mut table = ValueTable::default();
        for number in 0..40 {
            let (value, new) = table.entry(&key(&[number]).with_hash(7), || number);
            assert_eq!((*value, new), (number, true));
        }
        assert_eq!(table.longest_chain(), 40);
        for number in 0..40 {
            let (value, new) = table.entry(&key(&[number]).with_hash(7), || 99);
            assert_eq!((*value, new), (number, false));
        }
        assert!(table.entry(&key(&[40]).with_hash(7), || 40).1);
    }

    proptest! {
        /// Whatever goes in, the table is what a map of the library is.
        #[test]
        fn tables_are_what_maps_are(keys in prop::collection::vec(prop::collection::vec(0..3u32, 0..4), 1..200)) {
            let (mut table, mut map) = (ValueTable::default(), HashMap::new());
            for (number, words) in keys.iter().enumerate() {
                let expected = *map.entry(words.clone()).or_insert(number);
                prop_assert_eq!(*table.entry(&key(words), || number).0, expected);
            }
            prop_assert_eq!(table.len(), map.len());
        }
    }
}
