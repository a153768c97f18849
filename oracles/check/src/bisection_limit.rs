//! A rate limit for bisection: after 8 findings of one class only 1 in 32 is bisected.
//!
//! A common bug shows in every other kernel, and finding its rewrite costs a dozen runs of the phase. A class of
//! findings is a step, a verdict and a failure signature. Once a class has been bisected often enough, a sample
//! suffices to notice another bug of the same class. All findings are counted.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bisected findings after which a class needs no more bisection.
const ENOUGH: u64 = 8;
/// Of such findings, one in so many is bisected.
const SAMPLE: u64 = 32;

/// The class of a finding: step, verdict, failure signature.
pub type FailureClass = (String, String, String);

/// How many findings of each class there were.
#[derive(Debug, Default)]
pub struct BisectionLimit {
    classes: Mutex<BTreeMap<FailureClass, Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    bisected: u64,
    asked: u64,
}

impl BisectionLimit {
    /// Counts bisected findings.
    pub fn note(&self, class: FailureClass, count: u64) {
        self.lock().entry(class).or_default().bisected += count;
    }

    /// Whether a finding can go without bisection. Of each class it lets a sample through.
    pub fn is_exceeded_by(&self, class: &FailureClass) -> bool {
        let mut classes = self.lock();
        let Some(seen) = classes.get_mut(class).filter(|seen| seen.bisected >= ENOUGH) else { return false };
        seen.asked += 1;
        seen.asked % SAMPLE != 0
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<FailureClass, Seen>> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_a_sample_of_the_rest_are_bisected() {
        let bisection_limit = BisectionLimit::default();
        let class = || ("Phase".to_owned(), "mismatch".to_owned(), "wrong, one word".to_owned());
        let mut bisected = 0;
        for _ in 0..ENOUGH + 10 * SAMPLE {
            if !bisection_limit.is_exceeded_by(&class()) {
                bisected += 1;
                bisection_limit.note(class(), 1);
            }
        }
        assert_eq!(bisected, ENOUGH + 10);
        assert!(!bisection_limit.is_exceeded_by(&("Phase".to_owned(), "mismatch".to_owned(), "deadlock".to_owned())));
    }
}
