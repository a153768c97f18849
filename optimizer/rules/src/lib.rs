//! The language of rewrite rules: rule files as data, without anything that applies them.
//!
//! [`language`] reads rule files (`README.md` describes them), [`resolve`] turns each rule into [`instance`]s with
//! opcodes, field values and widths, and [`cost`] is the measure that every rule must lower. What a constant without
//! captures denotes ([`number`]) is part of the language; nothing here evaluates operations.

pub mod cost;
pub mod instance;
pub mod language;
pub mod machine;
pub mod number;
pub mod resolve;
pub mod source;

pub use instance::{Instance, Rule};
pub use language::{Fault, SourceError};
pub use source::{Source, builtin_count, builtin_rules, builtin_sources};
