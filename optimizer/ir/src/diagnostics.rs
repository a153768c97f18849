//! What is wrong with a text of any language that is read, where, and what to do about it.
//!
//! A [`Fault`] is one mistake with its place. A [`SourceError`] is all faults of one file together with the file's
//! text, ready for `miette` to draw. At most [`MAX_FAULTS`] of a text are kept: a hostile text must not buy memory with
//! faults, and nobody reads the hundred and first. [`excerpt`] bounds what is shown of one.

pub mod escape;
pub mod excerpt;

use excerpt::{SourceText, clipped};
use miette::SourceSpan;
use thiserror::Error;

use crate::place::line_column;

/// A number of things, in words that agree with it: `1 kernel`, `2 kernels`, `2 entries`, `1 more match`, `2 different
/// sets of data`. Every message that counts is made so.
pub fn counted(number: impl std::fmt::Display, noun: &str) -> String {
    let number = number.to_string();
    let (noun, rest) = noun.find(" of ").map_or((noun, ""), |at| noun.split_at(at));
    if number == "1" { format!("{number} {noun}{rest}") } else { format!("{number} {}{rest}", plural(noun)) }
}

fn plural(noun: &str) -> String {
    let is_vowel = |letter: char| "aeiou".contains(letter);
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(is_vowel) => format!("{stem}ies"),
        _ if noun.ends_with("ch") || noun.ends_with("sh") || noun.ends_with(['s', 'x']) => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// How many faults of one text are kept.
pub const MAX_FAULTS: usize = 100;

/// One fault of a text.
#[derive(Debug, Clone, PartialEq, Eq, Error, miette::Diagnostic)]
#[error("{message}")]
pub struct Fault {
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// The bytes of the text that the fault is about.
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
    pub fn new(
        span: impl Into<SourceSpan>,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) -> Fault {
        let [message, label, help] =
            [message.into(), label.into(), help.into()].map(|text| clipped(&text).into_owned());
        Fault { message, span: span.into(), label, help }
    }

    /// Line and column of the fault in `source`, both counted from one, the column in characters.
    pub fn line_column(&self, source: &str) -> (usize, usize) {
        line_column(source, self.span.offset())
    }
}

/// All faults of one file, with its text.
#[derive(Debug, Error, miette::Diagnostic)]
#[error("{} in {}", fault_count(.related.len()), .source_code.name())]
pub struct SourceError {
    /// The file's name and text.
    #[source_code]
    pub source_code: SourceText,
    /// The faults, in the order of the text. Their places are those of the text as it is shown
    /// ([`SourceText::line_column`]).
    #[related]
    pub related: Vec<Fault>,
}

impl SourceError {
    /// The faults of the text `source` of the file `name`.
    pub fn new(name: &str, source: &str, mut faults: Vec<Fault>) -> SourceError {
        faults.sort_by_key(|fault| fault.span.offset());
        faults.truncate(MAX_FAULTS);
        let source_code = SourceText::new(name, source);
        faults.iter_mut().for_each(|fault| fault.span = source_code.mark(fault.span));
        SourceError { source_code, related: faults }
    }

    /// One line a fault, `file:line:column: message (remedy)`, for places that do not draw.
    pub fn lines(&self) -> String {
        let line = |fault: &Fault| {
            let (line, column) = self.source_code.line_column(fault.span.offset());
            format!("{}:{line}:{column}: {fault} ({})", self.source_code.name(), fault.help)
        };
        self.related.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn fault_count(count: usize) -> String {
    match count {
        1 => "one error".to_owned(),
        MAX_FAULTS.. => format!("{count} errors or more"),
        _ => counted(count, "error"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_agree_with_their_nouns() {
        let counted = |nouns: [&str; 6]| nouns.map(|noun| [1, 2].map(|number| counted(number, noun)));
        let nouns = ["kernel", "entry", "match", "array", "different set of data", "address"];
        let plurals = ["kernels", "entries", "matches", "arrays", "different sets of data", "addresses"];
        for ((said, noun), plural) in counted(nouns).into_iter().zip(nouns).zip(plurals) {
            assert_eq!(said, [format!("1 {noun}"), format!("2 {plural}")]);
        }
    }

    fn fault(at: usize) -> Fault {
        Fault::new(at..at + 1, "m", "l", "h")
    }

    #[test]
    fn an_error_counts_its_faults_in_the_order_of_the_text() {
        assert_eq!(SourceError::new("k.ptx", "ab", vec![fault(0)]).to_string(), "one error in k.ptx");
        let two = SourceError::new("k.ptx", "ab", vec![fault(1), fault(0)]);
        assert_eq!(two.to_string(), "2 errors in k.ptx");
        assert_eq!(two.lines(), "k.ptx:1:1: m (h)\nk.ptx:1:2: m (h)");
    }

    #[test]
    fn an_error_keeps_so_many_faults() {
        let many = SourceError::new("k.ptx", "a", vec![fault(0); 200]);
        assert_eq!((many.related.len(), many.to_string()), (MAX_FAULTS, "100 errors or more in k.ptx".to_owned()));
    }
}
