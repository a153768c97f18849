//! Whether rewrite rules are right, with evidence.
//!
//! 1. An instance of a rule is split into [`variant`]s, where every field is settled, and each becomes a question over
//!    its captures ([`translate`], [`constants`]): can the rule apply and the result differ?
//! 2. The question is tried on boundary values and biased samples, with inputs that meet the guards by construction;
//!    that refutes most wrong rules at once. Then a solver is asked, or every input tried ([`judge`]).
//! 3. A counterexample is made small and becomes a kernel, which the optimizer with this rule alone changes and the
//!    interpreter executes before and after ([`kernel`]). So what a rule is judged by here is held against what it
//!    does.
//! 4. Every guard must be needed: without it the rule must be wrong ([`guards`]), or the report calls it idle.
//!
//! **Invariant:** nothing here evaluates constants or guards as the optimizer does; rules are read, and what they mean
//! is written down a second time.

mod constants;
mod describe;
mod effects;
pub mod encodings;
mod floats;
pub mod guards;
pub mod judge;
pub mod kernel;
pub mod machine;
pub mod mutate;
pub mod report;
mod settle;
#[cfg(test)]
mod tests;
pub mod translate;
mod undefined;
pub mod variant;

pub use judge::{Judge, Settings};
pub use report::{GuardReport, Need, NotShown, Proof, Refutation, RuleReport, Verdict};

use std::path::Path;

use oriole_proof::{Cache, CacheError};

/// The answers of solvers about the built-in rules; `oriole rules check --cache oracles/validate/src` brings them up to
/// date.
pub fn kept_answers() -> Result<Cache, CacheError> {
    Cache::read(include_str!("answers.txt"), Path::new("oracles/validate/src/answers.txt"))
}
