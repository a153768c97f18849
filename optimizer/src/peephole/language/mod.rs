//! The rule language: text to syntax tree ([`parse`]), and back (`Display`).
//!
//! `optimizer/src/peephole/README.md` describes it for those who write rules.

pub mod ast;
pub mod diagnostics;
mod lexer;
mod parser;
mod print;

pub use diagnostics::{Fault, MAX_FAULTS, RuleError, Span};
pub use parser::{DEFAULT_PRIORITY, MAX_PRIORITY, parse};

#[cfg(test)]
mod tests;
