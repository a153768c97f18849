//! What is known well enough: findings that need no bisection any more.
//!
//! A common bug shows in every other kernel, and finding its rewrite costs a dozen runs of the phase. Once a phase has
//! gone wrong in the same way (same verdict and shape) often enough, only a sample is bisected, so that another bug
//! with the same looks still comes up. The others are counted all the same.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bisected findings after which a way to go wrong is familiar.
const ENOUGH: u64 = 8;
/// Of familiar findings, one in so many is bisected.
const SAMPLE: u64 = 32;

/// How a phase went wrong: phase, verdict, shape.
pub type Way = (String, String, String);

/// How often each way has been seen.
#[derive(Debug, Default)]
pub struct Familiar {
    ways: Mutex<BTreeMap<Way, Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    bisected: u64,
    asked: u64,
}

impl Familiar {
    /// Counts bisected findings.
    pub fn note(&self, way: Way, count: u64) {
        self.lock().entry(way).or_default().bisected += count;
    }

    /// Whether a finding can go without bisection. Every so often it says no to a familiar one.
    pub fn recognises(&self, way: &Way) -> bool {
        let mut ways = self.lock();
        let Some(seen) = ways.get_mut(way).filter(|seen| seen.bisected >= ENOUGH) else { return false };
        seen.asked += 1;
        seen.asked % SAMPLE != 0
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Way, Seen>> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_a_sample_of_the_rest_are_bisected() {
        let familiar = Familiar::default();
        let way = || ("Phase".to_owned(), "mismatch".to_owned(), "wrong, one word".to_owned());
        let mut bisected = 0;
        for _ in 0..ENOUGH + 10 * SAMPLE {
            if !familiar.recognises(&way()) {
                bisected += 1;
                familiar.note(way(), 1);
            }
        }
        assert_eq!(bisected, ENOUGH + 10);
        assert!(!familiar.recognises(&("Phase".to_owned(), "mismatch".to_owned(), "deadlock".to_owned())));
    }
}
