//! Characters that must not reach a terminal: they would move its cursor, change its colours, or turn text around.
//!
//! Hidden characters of a text that is shown stand as `\u{1b}`. Line ends and tabs stay. So that a mark stays at its
//! place, [`Escaped`] knows where each place of a text went.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Hidden characters of one text that are written out; those behind them become as many question marks as they have
/// bytes. A text of nothing else must not buy eight times its size.
const MOST: usize = 1 << 16;

/// Whether a character does something else than being seen: controls, marks of direction, and those without width.
fn is_hidden(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    turns || c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Hidden characters with their places. The carriage return of a line end is none.
fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> {
    let ends_line = |at: usize| text[at..].starts_with("\r\n");
    text.char_indices().filter(move |(at, c)| is_hidden(*c) && !(*c == '\r' && ends_line(*at)))
}

/// A text without hidden characters.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if hidden(text).next().is_none() { Cow::Borrowed(text) } else { Cow::Owned(Escaped::new(text).text.into()) }
}

/// A text without hidden characters, and where its places are in the text as it was.
#[derive(Clone, PartialEq, Eq)]
pub struct Escaped {
    text: Box<str>,
    /// For each character that was written out: where it began in the text, its bytes there, and where its escape ends.
    moved: Vec<(usize, usize, usize)>,
}

impl Escaped {
    /// The text with escapes in place of hidden characters.
    pub fn new(original: &str) -> Escaped {
        let (mut text, mut moved, mut copied) = (String::with_capacity(original.len()), Vec::new(), 0);
        for (at, c) in hidden(original) {
            text.push_str(&original[copied..at]);
            copied = at + c.len_utf8();
            if moved.len() < MOST {
                // Writing to a string does not fail.
                let _ = write!(text, "\\u{{{:x}}}", u32::from(c));
                moved.push((at, c.len_utf8(), text.len()));
            } else {
                text.extend(std::iter::repeat_n('?', c.len_utf8()));
            }
        }
        text.push_str(&original[copied..]);
        Escaped { text: text.into(), moved }
    }

    /// The text as it is shown.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a place of the original text is shown.
    pub fn shown(&self, at: usize) -> usize {
        match self.moved.partition_point(|(start, bytes, _)| start + bytes <= at) {
            0 => at.min(self.moved.first().map_or(at, |(start, ..)| *start)),
            count => {
                let (start, bytes, end) = self.moved[count - 1];
                let beyond = at - (start + bytes);
                let room = self.moved.get(count).map_or(beyond, |(next, ..)| next - (start + bytes));
                end + beyond.min(room)
            }
        }
    }

    /// Which place of the original text is shown here.
    pub fn original(&self, shown: usize) -> usize {
        let count = self.moved.partition_point(|(_, _, end)| *end <= shown);
        let before = count.checked_sub(1).map(|last| self.moved[last]);
        let (behind, end) = before.map_or((0, 0), |(start, bytes, end)| (start + bytes, end));
        let next = self.moved.get(count).map_or(usize::MAX, |(start, ..)| *start);
        (behind + (shown - end)).min(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        assert_eq!(escaped("a\u{1b}[31mb\u{9b}\u{202e}\u{0}"), "a\\u{1b}[31mb\\u{9b}\\u{202e}\\u{0}");
        assert_eq!(escaped("\u{2066}x\u{2069}\r\ry"), "\\u{2066}x\\u{2069}\\u{d}\\u{d}y");
        assert!(matches!(escaped("ä\tb\r\n€"), Cow::Borrowed("ä\tb\r\n€")));
    }

    #[test]
    fn places_are_found_again() {
        let original = "\u{1b}ä\u{202e}\u{7}b\nc";
        let escaped = Escaped::new(original);
        assert_eq!(escaped.text(), "\\u{1b}ä\\u{202e}\\u{7}b\nc");
        for (at, c) in original.char_indices().chain([(original.len(), '.')]) {
            let shown = escaped.shown(at);
            assert_eq!(escaped.original(shown), at, "{c:?}");
            let found = escaped.text()[shown..].chars().next();
            assert_eq!(found.unwrap_or('.'), if is_hidden(c) { '\\' } else { c });
        }
        // A place within an escape is that of its character.
        assert_eq!((escaped.original(2), escaped.original(escaped.shown(3) + 4)), (0, 3));
    }

    #[test]
    fn many_are_not_written_out() {
        let text = "\u{1b}".repeat(MOST + 1_000_000) + "x";
        let escaped = Escaped::new(&text);
        assert!(escaped.text().len() < 3_000_000 && escaped.text().ends_with("???x"));
        assert_eq!(escaped.original(escaped.shown(text.len() - 1)), text.len() - 1);
    }
}
