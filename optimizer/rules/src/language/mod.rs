//! The rule language: text to syntax tree ([`parse`]), and back (`Display`). Of a file that is known to be right,
//! [`outlines`] says which rules it has, and [`parse_one`] reads those that are needed.
//!
//! `optimizer/rules/README.md` describes it for those who write rules.

pub mod ast;
mod lexer;
pub mod machine;
mod parser;
mod print;

pub use ast::Span;
pub use oriole_ir::diagnostics::{Fault, MAX_FAULTS, SourceError};
pub use parser::{DEFAULT_PRIORITY, MAX_PRIORITY, Outline, outlines, parse, parse_one};

#[cfg(test)]
mod tests;
