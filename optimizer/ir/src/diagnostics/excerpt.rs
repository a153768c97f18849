//! What is shown of a text around a fault.
//!
//! A line may have millions of characters, which nobody reads, and which `miette` cannot draw: it panics beyond column
//! 65,535. So an excerpt reaches [`REACH`] bytes to both sides of the marked place, and the mark itself has at most
//! [`WIDEST_MARK`]. Messages are cut likewise, since they quote the text. Nothing that is shown holds characters that a
//! terminal obeys ([`super::escape`]).

use std::borrow::Cow;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use super::escape::{Escaped, escaped};
use crate::place::line_column;

/// Bytes of a line that an excerpt shows to each side of the marked place.
const REACH: usize = 120;
/// Bytes that a mark may have.
const WIDEST_MARK: usize = 240;
/// Bytes that a message may have.
const LONGEST_MESSAGE: usize = 1000;

/// A named text, of which `miette` draws no more than fits a screen.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceText {
    name: Box<str>,
    text: Box<str>,
    /// What is shown, and spans are about, where that is another text.
    escaped: Option<Box<Escaped>>,
}

impl SourceText {
    /// The text of a file.
    pub fn new(name: impl Into<Box<str>>, text: impl Into<Box<str>>) -> SourceText {
        let (name, text) = (name.into(), text.into());
        let shown = matches!(escaped(&text), Cow::Owned(_)).then(|| Box::new(Escaped::new(&text)));
        SourceText { name: escaped(&name).into(), text, escaped: shown }
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text as it is shown; marks are places of this.
    pub fn shown(&self) -> &str {
        self.escaped.as_ref().map_or(&self.text, |escaped| escaped.text())
    }

    /// A span of the text as it is marked in what is shown: within that, and no wider than [`WIDEST_MARK`].
    pub fn mark(&self, span: SourceSpan) -> SourceSpan {
        let Some(escaped) = &self.escaped else { return self.within(span) };
        let start = self.text.floor_char_boundary(span.offset());
        let end = self.text.ceil_char_boundary(start.saturating_add(span.len()));
        self.within((escaped.shown(start)..escaped.shown(end)).into())
    }

    /// Line and column of a place of what is shown: where it is in the text, both counted from one.
    pub fn line_column(&self, at: usize) -> (usize, usize) {
        line_column(&self.text, self.escaped.as_ref().map_or(at, |escaped| escaped.original(at)))
    }

    /// A part of a span that is not too wide.
    fn within(&self, span: SourceSpan) -> SourceSpan {
        let text = self.shown();
        let start = text.floor_char_boundary(span.offset());
        let end = start.saturating_add(span.len()).min(text.len());
        let end = if end - start > WIDEST_MARK { text.floor_char_boundary(start + WIDEST_MARK) } else { end };
        (start..end).into()
    }

    /// The start of the line that holds a place, or a place before it on the same line.
    fn before(&self, at: usize) -> usize {
        let text = self.shown();
        let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        line.max(text.ceil_char_boundary(at.saturating_sub(REACH)))
    }

    /// The end of the line that holds a place, or a place behind it on the same line.
    fn behind(&self, at: usize) -> usize {
        let text = self.shown();
        let line = text[at..].find('\n').map_or(text.len(), |length| at + length);
        line.min(text.floor_char_boundary(at.saturating_add(REACH)))
    }
}

impl std::fmt::Debug for SourceText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceText").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SourceCode for SourceText {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let (text, mark) = (self.shown(), self.within(*span));
        let (mut start, mut end) = (mark.offset(), mark.offset() + mark.len());
        // A line is shown beside the marked ones if it is whole there.
        if lines_before > 0 {
            start = self.before(start);
            if start > 0 && text.as_bytes()[start - 1] == b'\n' {
                let above = self.before(start - 1);
                start = if above == 0 || text.as_bytes()[above - 1] == b'\n' { above } else { start };
            }
        }
        if lines_after > 0 {
            end = self.behind(end);
            if text[end..].starts_with('\n') {
                let below = self.behind(end + 1);
                end = if text[below..].is_empty() || text[below..].starts_with('\n') { below } else { end };
            }
        }
        let (line, column) = self.line_column(start);
        let data = &text[start..end];
        let count = data.bytes().filter(|&byte| byte == b'\n').count();
        let (name, span) = (self.name.to_string(), (start..end).into());
        let contents = MietteSpanContents::new_named(name, data.as_bytes(), span, line - 1, column - 1, count);
        Ok(Box::new(contents))
    }
}

/// A message as it is shown, without its middle where it is longer than anybody reads.
pub fn clipped(message: &str) -> Cow<'_, str> {
    let message = escaped(message);
    if message.len() <= LONGEST_MESSAGE {
        return message;
    }
    let head = &message[..message.floor_char_boundary(LONGEST_MESSAGE / 2)];
    let tail = &message[message.ceil_char_boundary(message.len() - LONGEST_MESSAGE / 4)..];
    Cow::Owned(format!("{head} … {tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, span: std::ops::Range<usize>) -> (String, usize, usize) {
        let source = SourceText::new("f", text);
        let contents = source.read_span(&span.into(), 1, 1).expect("every span can be shown");
        let shown = String::from_utf8(contents.data().to_vec()).expect("it is cut between characters");
        (shown, contents.line(), contents.column())
    }

    #[test]
    fn short_lines_are_shown_with_their_neighbours() {
        assert_eq!(shown("a\nbc\nd\ne", 2..3), ("a\nbc\nd".to_owned(), 0, 0));
        assert_eq!(shown("a\nbc\nd\ne", 7..8), ("d\ne".to_owned(), 2, 0));
        assert_eq!(shown("", 0..0), (String::new(), 0, 0));
        assert_eq!(shown("a", 7..9), ("a".to_owned(), 0, 0));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let long = "é".repeat(100_000);
        let text = format!("{long}\n{long}!{long}\n{long}");
        let at = 400_001;
        let (shown, line, column) = shown(&text, at..text.len());
        assert!(shown.starts_with("éé") && shown.contains("é!é") && !shown.contains('\n'), "{shown}");
        assert!(shown.len() <= 2 * REACH + WIDEST_MARK);
        assert_eq!((line, column), (1, 100_000 - REACH / 2));
    }

    /// Marks are at their places in what is shown, and lines and columns those of the file.
    #[test]
    fn hidden_characters_are_shown() {
        let text = "a\u{1b}[2Jb\n\u{202e}c\u{0}d";
        let source = SourceText::new("f\u{7}", text);
        let at = text.find('d').expect("it is there");
        let mark = source.mark((at..at + 1).into());
        let contents = source.read_span(&mark, 1, 1).expect("every span can be shown");
        let shown = String::from_utf8(contents.data().to_vec()).expect("it is cut between characters");
        assert_eq!(shown, "a\\u{1b}[2Jb\n\\u{202e}c\\u{0}d");
        assert_eq!(&shown[mark.offset()..][..mark.len()], "d");
        let control = source.mark((text.find('\u{0}').expect("it is there")..at).into());
        assert_eq!(&shown[control.offset()..][..control.len()], "\\u{0}");
        let marked = source.read_span(&mark, 0, 0).expect("every span can be shown");
        assert_eq!((marked.line(), marked.column(), source.name()), (1, 3, "f\\u{7}"));
        assert_eq!((source.line_column(mark.offset()), clipped("\u{1b}c").as_ref()), ((2, 4), "\\u{1b}c"));
    }

    #[test]
    fn long_messages_lose_their_middle() {
        assert_eq!(clipped("short"), "short");
        let long = format!("begin{}end", "é".repeat(100_000));
        let clipped = clipped(&long);
        assert!(clipped.len() < LONGEST_MESSAGE && clipped.starts_with("begin") && clipped.ends_with("end"));
    }
}
