//! Sets of whole numbers as ranges: which cases of a campaign are done.
//!
//! Workers finish out of order, yet nearly in order: a few ranges hold millions of cases.

use serde::{Deserialize, Serialize};

/// A set of numbers, as ascending ranges (first and last) with a gap between each two.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ranges {
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds a number; whether it is new.
    pub fn insert(&mut self, number: u64) -> bool {
        if self.contains(number) {
            return false;
        }
        let at = self.after(number);
        let joins_left = at > 0 && self.ranges[at - 1].1.checked_add(1) == Some(number);
        let joins_right = self.ranges.get(at).is_some_and(|next| number.checked_add(1) == Some(next.0));
        match (joins_left, joins_right) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = number,
            (false, true) => self.ranges[at].0 = number,
            (false, false) => self.ranges.insert(at, (number, number)),
        }
        true
    }

    /// Whether a number is in the set.
    pub fn contains(&self, number: u64) -> bool {
        let at = self.after(number);
        at > 0 && number <= self.ranges[at - 1].1
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|(first, last)| (last - first).saturating_add(1)).fold(0, u64::saturating_add)
    }

    /// Whether the set is what this type makes, as one that was read may not be.
    pub fn is_well_formed(&self) -> bool {
        let ordered = self.ranges.iter().all(|(first, last)| first <= last);
        ordered && self.ranges.windows(2).all(|pair| pair[0].1.checked_add(1).is_some_and(|next| next < pair[1].0))
    }

    /// The place of the first range that begins above a number.
    fn after(&self, number: u64) -> usize {
        self.ranges.partition_point(|(first, _)| *first <= number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use oriole_launch::random::SplitMix64;

    #[test]
    fn a_set_of_ranges_is_a_set() {
        let mut rng = SplitMix64::new(3);
        for span in [4, 40, 400] {
            let (mut ranges, mut reference) = (Ranges::default(), BTreeSet::new());
            for _ in 0..300 {
                let number = rng.below(span);
                assert_eq!(ranges.insert(number), reference.insert(number));
                assert!(ranges.is_well_formed(), "{ranges:?}");
                assert_eq!(ranges.count(), reference.len() as u64);
            }
            assert!((0..span + 2).all(|number| ranges.contains(number) == reference.contains(&number)));
        }
    }

    #[test]
    fn extremes_and_damage() {
        let mut ranges = Ranges::default();
        assert!(ranges.insert(u64::MAX) && ranges.insert(0) && ranges.insert(u64::MAX - 1));
        assert_eq!((ranges.count(), ranges.contains(u64::MAX), ranges.contains(1)), (3, true, false));
        let read = |text: &str| serde_json::from_str::<Ranges>(text).expect("pairs").is_well_formed();
        assert!(read("[[0,4],[6,6]]"));
        assert!(!read("[[0,4],[5,6]]") && !read("[[4,0]]") && !read("[[6,6],[0,4]]"));
    }
}
