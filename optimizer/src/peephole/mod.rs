//! Rewrite rules as data: a language, a matcher and a rewriter.
//!
//! [`language`] reads rule files (`README.md` describes them), [`resolve`] turns each rule into [`instance`]s with
//! opcodes, field values and widths, [`check`] and [`examples`] refuse rules that are not cheaper, shadowed or
//! shown wrong, [`program`] compiles all patterns to a decision tree, [`matcher`] holds the few that are left against an
//! instruction, and [`rewrite`] changes the function. A [`RuleSet`] is all of it.
//!
//! **Invariant:** every rule lowers the measure of [`cost`], so rewriting ends.

mod check;
pub mod cost;
pub mod eval;
mod examples;
pub mod instance;
pub mod language;
mod matcher;
mod program;
mod resolve;
pub mod rewrite;
mod set;
mod subject;
#[cfg(test)]
mod tests;

pub use instance::{Instance, Rule};
pub use language::{Fault, RuleError};
pub use matcher::Bindings;
pub use set::{Match, RuleSet, Source};
pub use subject::Subject;
