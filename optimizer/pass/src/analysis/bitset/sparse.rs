//! Sets of which most chunks are empty, and whether one meets a plain bit set (`spec/liveness-and-dce.txt`, "Full
//! bitvector intersection").
//!
//! The page keeps chunks of four words in a tree by their place. Here they lie sorted in a vector: sets are filled in
//! ascending order, mostly, and then asked many times. Cost of a question: the chunks of the sparse set, never the
//! length of the plain one.

use super::words::WORD;

/// Words of a chunk.
const CHUNK: usize = 4;
/// Bits of a chunk.
const CHUNK_BITS: usize = CHUNK * WORD;

/// A set of numbers in chunks of 256, those without a member left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SparseBitSet {
    /// By place: the number of the chunk, and its words; no chunk is all zeroes.
    chunks: Vec<(u32, [u64; CHUNK])>,
}

impl SparseBitSet {
    /// Adds a number; whether it is new. Cheapest behind all members.
    pub fn insert(&mut self, bit: usize) -> bool {
        let number = (bit / CHUNK_BITS) as u32;
        let at = match self.chunks.last() {
            Some((last, _)) if *last < number => Err(self.chunks.len()),
            None => Err(0),
            Some(_) => self.chunks.binary_search_by_key(&number, |(number, _)| *number),
        };
        let at = at.unwrap_or_else(|free| {
            self.chunks.insert(free, (number, [0; CHUNK]));
            free
        });
        super::insert(&mut self.chunks[at].1, bit % CHUNK_BITS)
    }

    /// Whether a number is in the set.
    pub fn contains(&self, bit: usize) -> bool {
        let number = (bit / CHUNK_BITS) as u32;
        let at = self.chunks.binary_search_by_key(&number, |(number, _)| *number);
        at.is_ok_and(|at| super::contains(&self.chunks[at].1, bit % CHUNK_BITS))
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The lowest number that is also in a plain set. Members beyond that set's last word are in none.
    pub fn first_common(&self, set: &[u64]) -> Option<usize> {
        self.chunks.iter().find_map(|(number, words)| {
            let start = *number as usize * CHUNK;
            let there = set.get(start..).unwrap_or_default();
            let hit = |(at, (a, b)): (usize, (&u64, &u64))| {
                let common = a & b;
                (common != 0).then(|| (start + at) * WORD + common.trailing_zeros() as usize)
            };
            words.iter().zip(there).enumerate().find_map(hit)
        })
    }

    /// The members, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.chunks
            .iter()
            .flat_map(|(number, words)| super::iter(words).map(move |bit| *number as usize * CHUNK_BITS + bit))
    }
}

impl FromIterator<usize> for SparseBitSet {
    fn from_iter<I: IntoIterator<Item = usize>>(bits: I) -> SparseBitSet {
        let mut set = SparseBitSet::default();
        for bit in bits {
            set.insert(bit);
        }
        set
    }
}
