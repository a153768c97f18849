//! Rewrite rules as data: a language, a matcher and a rewriter.

pub mod language;
