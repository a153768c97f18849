//! Concrete values in place of undefined ones.
//!
//! Definedness tracking, which other runs use, is conservative: it may call a defined bit undefined, never the reverse
//! (`partial.rs`). A run with concrete values in place of undefined ones is exact: it is one of the behaviours that the
//! program may have.

use super::program::Slot;
use oriole_launch::random::SplitMix64;
use oriole_semantics::lanes::{Word, lanes};

/// Which values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Concretization {
    /// All bits are zeros.
    Zeros,
    /// All bits are ones.
    Ones,
    /// Each read of something undefined gives other bits.
    Random(u64),
}

impl Concretization {
    /// Enough of them that a program that depends on something undefined does different things in two, as a rule.
    pub fn several() -> impl Iterator<Item = Concretization> {
        [Concretization::Zeros, Concretization::Ones].into_iter().chain((0..6).map(Concretization::Random))
    }
}

/// Makes such values for a frame.
#[derive(Clone, Debug)]
pub(super) struct Concretizer {
    concretization: Concretization,
    random: SplitMix64,
    /// Lanes in which nothing has written a word, or a predicate, by slot.
    open: Vec<u32>,
    open_preds: Vec<u32>,
}

impl Concretizer {
    /// For the frame of this number.
    pub fn new(concretization: Concretization, frame: u64) -> Concretizer {
        let seed = if let Concretization::Random(seed) = concretization { seed } else { 0 };
        let random = SplitMix64::new(seed ^ SplitMix64::new(frame).next_u64());
        Concretizer { concretization, random, open: Vec::new(), open_preds: Vec::new() }
    }

    /// Takes the undefined lanes of words and predicates over.
    pub fn open(&mut self, words: &mut [u32], preds: &mut [u32]) {
        self.open = words.iter_mut().map(std::mem::take).collect();
        self.open_preds = preds.iter_mut().map(std::mem::take).collect();
    }

    /// Gives what is open values, other ones each time.
    pub fn refill(&mut self, words: &mut [Word], preds: &mut [u32]) {
        for (at, word) in words.iter_mut().enumerate() {
            lanes(self.open[at]).for_each(|lane| word[lane] = self.word());
        }
        for (at, pred) in preds.iter_mut().enumerate() {
            let open = self.open_preds[at];
            *pred = (*pred & !open) | (self.word() & open);
        }
    }

    /// Some lanes of a word are written.
    pub fn close(&mut self, slot: Slot, mask: u32) {
        self.open[slot as usize] &= !mask;
    }

    /// Some lanes of a predicate are written.
    pub fn close_pred(&mut self, slot: Slot, mask: u32) {
        self.open_preds[slot as usize] &= !mask;
    }

    /// The next word.
    pub fn word(&mut self) -> u32 {
        match self.concretization {
            Concretization::Zeros => 0,
            Concretization::Ones => u32::MAX,
            Concretization::Random(_) => self.random.next_u64() as u32,
        }
    }
}
