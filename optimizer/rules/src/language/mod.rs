//! The rule language: text to syntax tree ([`parse`]), and back (`Display`). Of a file that is known to be right,
//! [`outlines`] says which rules it has, and [`parse_one`] reads those that are needed.
//!
//! `optimizer/rules/README.md` describes it for those who write rules.

pub mod ast;
pub mod diagnostics;
mod lexer;
mod parser;
mod print;

pub use diagnostics::{Fault, MAX_FAULTS, RuleError, Span};
pub use parser::{DEFAULT_PRIORITY, MAX_PRIORITY, Outline, outlines, parse, parse_one};

#[cfg(test)]
mod tests;
