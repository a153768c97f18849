//! What is wrong with a rule file, where, and what to do about it.
//!
//! A [`Fault`] is one mistake with its place; a [`RuleError`] is all faults of one file with the file's text, ready
//! for `miette` to draw. Collecting stops at [`MAX_FAULTS`].

use std::ops::Range;

use miette::{NamedSource, SourceSpan};
use oriole_ir::place::line_column;
use thiserror::Error;

/// How many faults of one text are kept.
pub const MAX_FAULTS: usize = 100;

/// Bytes of a rule file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

impl Span {
    /// From the beginning of this one to the end of another.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.start) }
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Span {
        Span { start: range.start, end: range.end }
    }
}

/// One fault of a rule file.
#[derive(Debug, Clone, PartialEq, Eq, Error, miette::Diagnostic)]
#[error("{message}")]
pub struct Fault {
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The bytes that the fault is about.
    #[label("{label}")]
    pub span: SourceSpan,
    /// A few words for the marked place.
    pub label: String,
    /// What to do about it.
    #[help]
    pub help: String,
}

impl Fault {
    /// A fault at `span`.
    pub fn new(span: Span, message: impl Into<String>, label: impl Into<String>, help: impl Into<String>) -> Fault {
        let span = (span.start, span.end.saturating_sub(span.start)).into();
        Fault { message: message.into(), span, label: label.into(), help: help.into() }
    }

    /// Line and column of the fault in `source`, both counted from one, the column in characters.
    pub fn line_column(&self, source: &str) -> (usize, usize) {
        line_column(source, self.span.offset())
    }
}

/// All faults of one rule file, with its text.
#[derive(Debug, Error, miette::Diagnostic)]
#[error("{} in {}", fault_count(.related.len()), .source_code.name())]
pub struct RuleError {
    /// The file's name and text.
    #[source_code]
    pub source_code: NamedSource<String>,
    /// The faults, in the order of the text.
    #[related]
    pub related: Vec<Fault>,
}

impl RuleError {
    /// The faults of the text `source` of the file `name`.
    pub fn new(name: &str, source: &str, mut faults: Vec<Fault>) -> RuleError {
        faults.sort_by_key(|fault| fault.span.offset());
        faults.truncate(MAX_FAULTS);
        RuleError { source_code: NamedSource::new(name, source.to_owned()), related: faults }
    }

    /// One line a fault, `file:line:column: message (remedy)`, for places that do not draw.
    pub fn lines(&self) -> String {
        let source = self.source_code.inner();
        let line = |fault: &Fault| {
            let (line, column) = fault.line_column(source);
            format!("{}:{line}:{column}: {fault} ({})", self.source_code.name(), fault.help)
        };
        self.related.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn fault_count(count: usize) -> String {
    match count {
        1 => "one fault".to_owned(),
        MAX_FAULTS.. => format!("{count} faults or more"),
        _ => format!("{count} faults"),
    }
}
