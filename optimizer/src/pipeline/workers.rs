//! Threads that work on the functions of a module at the same time.
//!
//! How many there are changes nothing in the result: work on one function sees nothing of another, and what the
//! workers have counted is added up.

use std::any::Any;
use std::cmp::Reverse;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Fewer instructions are not worth a second thread.
const WORTH: usize = 4_000;

/// The right to one more thread, which is given back when the value is dropped.
pub type Token = Box<dyn Any + Send>;

/// Who decides how many threads may work.
pub trait Crew: fmt::Debug + Send + Sync {
    /// A token for one more thread, if there is one now.
    fn token(&self) -> Option<Token> {
        Some(Box::new(()))
    }

    /// Calls all that a further thread does. A panic must go on.
    fn call(&self, work: &mut dyn FnMut()) {
        work();
    }
}

/// A crew with a token for every thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Crew for Unlimited {}

/// How many threads work at most, the one that runs the pipeline included.
#[derive(Clone, Debug)]
pub struct Workers {
    most: usize,
    crew: Arc<dyn Crew>,
}

impl Default for Workers {
    /// The thread that runs the pipeline, alone.
    fn default() -> Workers {
        Workers::new(1, Arc::new(Unlimited))
    }
}

impl Workers {
    /// At most so many threads. Each but the first needs a token of the crew.
    pub fn new(most: usize, crew: Arc<dyn Crew>) -> Workers {
        Workers { most, crew }
    }

    /// Whether there may be more than one.
    pub(super) fn are_several(&self) -> bool {
        self.most > 1
    }

    /// Does all jobs; the largest are begun first, and those of one size in their order. Each thread folds what its
    /// jobs give into a value of its own; the result has these in no particular order.
    ///
    /// # Panics
    ///
    /// If a job does, once all threads have ended.
    pub(super) fn fold<J: Send, T: Default + Send>(
        &self,
        mut jobs: Vec<J>,
        size: impl Fn(&J) -> usize,
        work: impl Fn(&mut T, J) + Sync,
    ) -> Vec<T> {
        let is_worth = jobs.iter().map(&size).sum::<usize>() >= WORTH;
        let wanted = if is_worth { self.most.min(jobs.len()) } else { 1 };
        let tokens: Vec<Token> = (1..wanted).map_while(|_| self.crew.token()).collect();
        jobs.sort_by_key(|job| Reverse(size(job)));
        let jobs = Mutex::new(jobs.into_iter());
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let all = || {
            let mut folded = T::default();
            while let Some(job) = next() {
                work(&mut folded, job);
            }
            folded
        };
        thread::scope(|scope| {
            let call = |token: Token| {
                let mut folded = T::default();
                self.crew.call(&mut || folded = all());
                drop(token);
                folded
            };
            let others: Vec<_> = tokens.into_iter().map(|token| scope.spawn(move || call(token))).collect();
            let mut results = vec![all()];
            results.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))));
            results
        })
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A crew with so many tokens left.
    #[derive(Debug)]
    struct Counted {
        left: Arc<AtomicUsize>,
    }

    struct Out(Arc<AtomicUsize>);

    impl Drop for Out {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Crew for Counted {
        fn token(&self) -> Option<Token> {
            let taken = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            taken.ok().map(|_| Box::new(Out(self.left.clone())) as Token)
        }
    }

    fn sums(workers: &Workers, each: usize) -> Vec<usize> {
        workers.fold((0..100).collect(), |_| each, |sum: &mut usize, job: usize| *sum += job)
    }

    #[test]
    fn every_job_is_done_once_by_as_many_as_have_tokens() {
        let left = Arc::new(AtomicUsize::new(2));
        let crew = Arc::new(Counted { left: left.clone() });
        for (most, threads) in [(1, 1), (2, 2), (8, 3)] {
            let sums = sums(&Workers::new(most, crew.clone()), WORTH);
            assert_eq!((sums.len(), sums.iter().sum::<usize>()), (threads, 4950));
            assert_eq!(left.load(Ordering::SeqCst), 2, "every token is given back");
        }
        assert_eq!(sums(&Workers::new(8, crew), 1).len(), 1, "so little work is done by one");
    }

    #[test]
    fn a_panic_gives_tokens_back_and_goes_on() {
        let left = Arc::new(AtomicUsize::new(3));
        let workers = Workers::new(4, Arc::new(Counted { left: left.clone() }));
        let fails = |_: &mut (), job: usize| assert_ne!(job, 50, "job fifty");
        let panic = std::panic::catch_unwind(AssertUnwindSafe(|| workers.fold((0..100).collect(), |_| WORTH, fails)));
        assert!(panic.is_err());
        assert_eq!(left.load(Ordering::SeqCst), 3);
    }
}
