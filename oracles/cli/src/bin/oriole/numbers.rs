//! Numbers of the command line that have limits: how many threads, how many cases, how much time.

use std::time::Duration;

use clap::builder::{RangedU64ValueParser, TypedValueParser};
pub use oriole_ir::diagnostics::counted;
use rayon::ThreadPool;

use crate::failure::Failure;

/// Threads that a command may have.
const MAX_JOBS: u64 = 1024;

/// A number of threads; 0 stands for as many as there are processors.
pub fn jobs() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(0..=MAX_JOBS)
}

/// So many threads.
pub fn pool(jobs: usize) -> Result<ThreadPool, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    pool.map_err(|error| Failure::Output(std::io::Error::other(error)))
}

/// Variants with random data that a launch may have: each keeps its results until its kernel is done.
const MAX_RANDOMS: u64 = 65_536;

/// How many variants with random data.
pub fn randoms() -> impl TypedValueParser<Value = u32> {
    RangedU64ValueParser::<u32>::new().range(0..=MAX_RANDOMS)
}

/// How many different data there were.
pub fn sets(data: usize) -> String {
    counted(data, "different set of data")
}

/// How many cases: none would say nothing.
pub fn cases() -> impl TypedValueParser<Value = u64> {
    RangedU64ValueParser::<u64>::new().range(1..)
}

/// A text that is no time.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoDuration {
    /// It ends in an unknown unit.
    #[error("`{0}` is none of ms, s, m, h")]
    NoUnit(String),
    /// It begins with no number.
    #[error("a number of seconds, or with a unit: 60s, 10m, 2h")]
    NoNumber,
    /// It has more milliseconds than 64 bits count.
    #[error("that is too long")]
    TooLong,
    /// It is shorter than the smallest time that means something.
    #[error("at least {0:?}")]
    TooShort(Duration),
}

/// Reads a time: a number of milliseconds, seconds, minutes or hours.
pub fn duration(text: &str) -> Result<Duration, NoDuration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60 * 1000,
        "h" => 3600 * 1000,
        unit => return Err(NoDuration::NoUnit(unit.to_owned())),
    };
    let number: u64 = digits.parse().map_err(|_| NoDuration::NoNumber)?;
    number.checked_mul(factor).map(Duration::from_millis).ok_or(NoDuration::TooLong)
}

/// A phase that takes less than this is no hang on any machine.
const SHORTEST_HANG: Duration = Duration::from_millis(100);

/// Reads the time after which a phase counts as one that does not end.
pub fn patience(text: &str) -> Result<Duration, NoDuration> {
    let time = duration(text)?;
    if time < SHORTEST_HANG { Err(NoDuration::TooShort(SHORTEST_HANG)) } else { Ok(time) }
}
