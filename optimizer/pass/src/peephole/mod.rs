//! What applies rewrite rules: a matcher and a rewriter over the instances of `oriole-rules`.
//!
//! [`check`] and [`examples`] refuse rules that are not cheaper, shadowed or
//! shown wrong, [`program`] compiles patterns to decision trees, [`matcher`] holds the few that are left against an
//! instruction, and [`rewrite`] changes the function. A [`RuleSet`] is all of it.
//!
//! Of the built-in rules nothing is read, resolved or compiled before an instruction asks for it; [`preparation`] says
//! how long that took.
//!
//! **Invariant:** every rule lowers the measure of [`oriole_rules::cost`], so rewriting ends, or the set says that it
//! [may not](RuleSet::may_not_end), and is stopped soon.

mod check;
pub mod eval;
mod examples;
mod matcher;
pub mod preparation;
mod program;
pub mod rewrite;
mod set;
mod subject;
#[cfg(test)]
mod tests;

pub use matcher::Bindings;
pub use set::{Examined, Match, RuleSet};
pub use subject::Subject;
