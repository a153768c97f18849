//! What is shown of a text around a fault.
//!
//! A line may have millions of characters, which nobody reads, and which `miette` cannot draw: it panics beyond column
//! 65,535. So an excerpt reaches [`REACH`] bytes to both sides of the marked place, and the mark itself has at most
//! [`WIDEST_MARK`]. Messages are cut likewise, since they quote the text.

use std::borrow::Cow;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

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
}

impl SourceText {
    /// The text of a file.
    pub fn new(name: impl Into<Box<str>>, text: impl Into<Box<str>>) -> SourceText {
        SourceText { name: name.into(), text: text.into() }
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn inner(&self) -> &str {
        &self.text
    }

    /// A span of the text as it is marked: within the text, and no wider than [`WIDEST_MARK`].
    pub fn mark(&self, span: SourceSpan) -> SourceSpan {
        let start = self.text.floor_char_boundary(span.offset());
        let end = start.saturating_add(span.len()).min(self.text.len());
        let end = if end - start > WIDEST_MARK { self.text.floor_char_boundary(start + WIDEST_MARK) } else { end };
        (start..end).into()
    }

    /// The start of the line that holds a place, or a place before it on the same line.
    fn before(&self, at: usize) -> usize {
        let line = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        line.max(self.text.ceil_char_boundary(at.saturating_sub(REACH)))
    }

    /// The end of the line that holds a place, or a place behind it on the same line.
    fn behind(&self, at: usize) -> usize {
        let line = self.text[at..].find('\n').map_or(self.text.len(), |length| at + length);
        line.min(self.text.floor_char_boundary(at.saturating_add(REACH)))
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
        let mark = self.mark(*span);
        let (mut start, mut end) = (mark.offset(), mark.offset() + mark.len());
        // A line is shown beside the marked ones if it is whole there.
        if lines_before > 0 {
            start = self.before(start);
            if start > 0 && self.text.as_bytes()[start - 1] == b'\n' {
                let above = self.before(start - 1);
                start = if above == 0 || self.text.as_bytes()[above - 1] == b'\n' { above } else { start };
            }
        }
        if lines_after > 0 {
            end = self.behind(end);
            if self.text[end..].starts_with('\n') {
                let below = self.behind(end + 1);
                end = if self.text[below..].is_empty() || self.text[below..].starts_with('\n') { below } else { end };
            }
        }
        let (line, column) = line_column(&self.text, start);
        let data = &self.text[start..end];
        let count = data.bytes().filter(|&byte| byte == b'\n').count();
        let (name, span) = (self.name.to_string(), (start..end).into());
        let contents = MietteSpanContents::new_named(name, data.as_bytes(), span, line - 1, column - 1, count);
        Ok(Box::new(contents))
    }
}

/// A message, without its middle where it is longer than anybody reads.
pub fn clipped(message: &str) -> Cow<'_, str> {
    if message.len() <= LONGEST_MESSAGE {
        return Cow::Borrowed(message);
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

    #[test]
    fn long_messages_lose_their_middle() {
        assert_eq!(clipped("short"), "short");
        let long = format!("begin{}end", "é".repeat(100_000));
        let clipped = clipped(&long);
        assert!(clipped.len() < LONGEST_MESSAGE && clipped.starts_with("begin") && clipped.ends_with("end"));
    }
}
