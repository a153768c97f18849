//! The one source of choices: a seed, or the bytes of a fuzzer.
//!
//! Both answer the same questions, so a kernel made from bytes and one made from a seed go through the same code. Where
//! bytes run out every choice is the first one; generators order their choices so that the first is the plainest, and
//! stop growing once [`Entropy::is_exhausted`].

use arbitrary::Unstructured;

use oriole_launch::random::SplitMix64;

/// A source of choices.
#[derive(Debug)]
pub struct Entropy<'b>(Source<'b>);

#[derive(Debug)]
enum Source<'b> {
    Seed(SplitMix64),
    Bytes(Unstructured<'b>),
}

impl<'b> Entropy<'b> {
    /// The endless choices of a seed.
    pub fn from_seed(seed: u64) -> Entropy<'b> {
        Entropy(Source::Seed(SplitMix64::new(seed)))
    }

    /// The choices that these bytes spell.
    pub fn from_bytes(bytes: &'b [u8]) -> Entropy<'b> {
        Entropy(Source::Bytes(Unstructured::new(bytes)))
    }

    /// Whether all further choices are the first one.
    pub fn is_exhausted(&self) -> bool {
        match &self.0 {
            Source::Seed(_) => false,
            Source::Bytes(bytes) => bytes.is_empty(),
        }
    }

    /// A number below `bound`; 0 where there is no choice.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound <= 1 {
            return 0;
        }
        match &mut self.0 {
            Source::Seed(seed) => seed.below(bound as u64) as usize,
            Source::Bytes(bytes) => bytes.int_in_range(0..=bound - 1).unwrap_or(0),
        }
    }

    /// A number from `low` to `high`, both inclusive.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high.saturating_sub(low) as usize + 1) as u32
    }

    /// True in `percent` of a hundred cases; false once the bytes have run out.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) as u32 >= 100u32.saturating_sub(percent)
    }

    /// One of the items.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn choose<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// The index of one of the weights, as often as it says; the first where all are zero.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u32 = weights.iter().sum();
        let mut left = self.below(total as usize) as u32;
        for (index, weight) in weights.iter().enumerate() {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return index,
            }
        }
        0
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        match &mut self.0 {
            Source::Seed(seed) => seed.next_u64(),
            Source::Bytes(bytes) => bytes.arbitrary().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_kept() {
        let mut entropy = Entropy::from_seed(3);
        let mut seen = [0; 3];
        (0..1000).for_each(|_| seen[entropy.weighted(&[1, 0, 3])] += 1);
        assert!(seen[1] == 0 && (200..300).contains(&seen[0]), "{seen:?}");
    }

    #[test]
    fn bytes_that_have_run_out_answer_with_the_first_choice() {
        let mut entropy = Entropy::from_bytes(&[200]);
        assert!(!entropy.is_exhausted());
        entropy.below(256);
        assert!(entropy.is_exhausted());
        assert_eq!((entropy.below(9), entropy.percent(99), entropy.bits()), (0, false, 0));
        assert_eq!(entropy.choose(&[5, 6]), 5);
    }
}
