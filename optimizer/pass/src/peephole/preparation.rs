//! How long rules take to become ready: reading, resolving and compiling them.
//!
//! That happens when an instruction first asks for them, in the middle of a phase. Whoever measures phases takes the
//! difference of two readings away from the time between them. Where another thread makes them ready
//! ([`RuleSet::prepare`](super::RuleSet::prepare)), that is the time of waiting for it.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static SPENT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// What this thread has spent on it so far.
pub fn spent() -> Duration {
    SPENT.get()
}

/// Does some of it.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> T {
    let (before, start) = (SPENT.get(), Instant::now());
    let made = work();
    // What the work has measured inside itself is part of this.
    SPENT.set(before + start.elapsed());
    made
}
