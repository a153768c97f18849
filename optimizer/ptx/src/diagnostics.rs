//! What is wrong with a PTX text, where, and what to do about it.
//!
//! A [`Diagnostic`] is one fault with its place; a [`PtxError`] is all faults of one file together with the file's
//! text, ready for `miette` to draw. Collecting stops at [`MAX_DIAGNOSTICS`]: a hostile text must not buy
//! memory with faults, and nobody reads the hundred and first.

use miette::{NamedSource, SourceSpan};
use oriole_ir::place::line_column;
use thiserror::Error;

use super::ast::Span;

/// How many faults of one text are kept.
pub const MAX_DIAGNOSTICS: usize = 100;

/// One fault of a PTX text.
#[derive(Debug, Clone, PartialEq, Eq, Error, miette::Diagnostic)]
#[error("{message}")]
pub struct Diagnostic {
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The bytes of the source that the fault is about.
    #[label("{label}")]
    pub span: SourceSpan,
    /// A few words for the marked place.
    pub label: String,
    /// What to do about it.
    #[help]
    pub help: String,
}

impl Diagnostic {
    /// A fault at `span`.
    pub fn new(span: Span, message: impl Into<String>, label: impl Into<String>, help: impl Into<String>) -> Self {
        Diagnostic { message: message.into(), span: span.range().into(), label: label.into(), help: help.into() }
    }

    /// Line and column of the fault in `source`, both counted from one, the column in characters.
    pub fn line_column(&self, source: &str) -> (usize, usize) {
        line_column(source, self.span.offset())
    }
}

/// All faults of one PTX file, with its text.
#[derive(Debug, Error, miette::Diagnostic)]
#[error("{} in {}", fault_count(.related.len()), .source_code.name())]
pub struct PtxError {
    /// The file's name and text.
    #[source_code]
    pub source_code: NamedSource<String>,
    /// The faults, in the order of the text where one pass found them.
    #[related]
    pub related: Vec<Diagnostic>,
}

impl PtxError {
    /// The faults `diagnostics` of the text `source` of the file `name`.
    pub fn new(name: impl AsRef<str>, source: impl Into<String>, diagnostics: Vec<Diagnostic>) -> Self {
        PtxError { source_code: NamedSource::new(name, source.into()), related: diagnostics }
    }
}

fn fault_count(count: usize) -> String {
    match count {
        1 => "one error".to_owned(),
        MAX_DIAGNOSTICS.. => format!("{count} errors or more"),
        _ => format!("{count} errors"),
    }
}

/// The faults found so far.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    found: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds a fault unless the list is full.
    pub(super) fn report(&mut self, span: Span, message: String, label: impl Into<String>, help: impl Into<String>) {
        if !self.is_full() {
            self.found.push(Diagnostic::new(span, message, label, help));
        }
    }

    /// Whether further faults would be dropped.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= MAX_DIAGNOSTICS
    }

    /// How many faults are kept.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The faults in the order of the text; lexing and parsing are separate passes and each adds its own.
    pub(super) fn into_vec(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|fault| fault.span.offset());
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_offsets_are_clamped() {
        assert_eq!(line_column("é\nab", 4), (2, 2));
        assert_eq!(line_column("é\nab", 1), (1, 1));
        assert_eq!(line_column("ab", 99), (1, 3));
    }

    #[test]
    fn the_error_counts_its_faults() {
        let fault = Diagnostic::new(Span { start: 0, end: 1 }, "m", "l", "h");
        let error = PtxError::new("k.ptx", "a", vec![fault.clone()]);
        assert_eq!(error.to_string(), "one error in k.ptx");
        assert_eq!(PtxError::new("k.ptx", "a", vec![fault.clone(), fault]).to_string(), "2 errors in k.ptx");
    }

    #[test]
    fn the_list_is_capped() {
        let mut diagnostics = Diagnostics::default();
        for _ in 0..200 {
            diagnostics.report(Span { start: 0, end: 0 }, String::new(), "", "");
        }
        assert_eq!(diagnostics.into_vec().len(), MAX_DIAGNOSTICS);
    }
}
