//! Splits PTX text into tokens.
//!
//! A token is a kind and a byte span; its text is read back from the source when somebody needs it, so lexing
//! allocates one vector and nothing else. White space, both comment styles, `@@DWARF` lines and the line markers of a
//! preprocessor (`# 3 "a.cu"`, `#line 3`) vanish here.
//! A dot and the word after it are one token (`.s32`, `.2d`, `.L2::128B`), which makes an opcode a word followed by
//! such tokens, and leaves `.5` as the only place where a dot begins a number. Cost: linear in the text.

use logos::{FilterResult, Lexer, Logos};

use super::ast::Span;
use super::diagnostics::Diagnostics;

/// What a token is; the text is at its span.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\x0B\x0C]+")]
#[logos(skip(r"(//|@@|#(line)?[ \t]+[0-9])[^\n]*", allow_greedy = true))]
#[logos(error = LexicalError)]
pub enum TokenKind {
    /// An identifier: opcode, register, symbol or label.
    #[regex(r"[a-zA-Z][a-zA-Z0-9_$]*")]
    #[regex(r"[_$%][a-zA-Z0-9_$]+")]
    Word,
    /// A directive, type or modifier with its dot.
    #[regex(r"\.[a-zA-Z0-9_$]+(::[a-zA-Z0-9_$]+)*", priority = 5)]
    Dotted,
    /// An integer literal in any of the four bases.
    #[regex(r"[1-9][0-9]*U?|0[0-7]*U?|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?", priority = 12)]
    Integer,
    /// `0f` and eight hexadecimal digits: the bits of an `.f32`.
    #[regex(r"0[fF][0-9a-fA-F]{8}", priority = 20)]
    SingleBits,
    /// `0d` and sixteen hexadecimal digits: the bits of an `.f64`.
    #[regex(r"0[dD][0-9a-fA-F]{16}", priority = 20)]
    DoubleBits,
    /// A decimal floating-point literal.
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+([eE][+-]?[0-9]+)?", priority = 12)]
    Decimal,
    /// Something that begins like a number and is none.
    #[regex(r"[0-9][a-zA-Z0-9_$]*", priority = 2)]
    BadNumber,
    /// A string in double quotes.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Text,
    /// Never produced: the callback drops the comment.
    #[token("/*", block_comment)]
    BlockComment,
    /// `(`
    #[token("(")]
    LeftParen,
    /// `)`
    #[token(")")]
    RightParen,
    /// `{`
    #[token("{")]
    LeftBrace,
    /// `}`
    #[token("}")]
    RightBrace,
    /// `[`
    #[token("[")]
    LeftBracket,
    /// `]`
    #[token("]")]
    RightBracket,
    /// `,`
    #[token(",")]
    Comma,
    /// `;`
    #[token(";")]
    Semicolon,
    /// `:`
    #[token(":")]
    Colon,
    /// `?`
    #[token("?")]
    Question,
    /// `@`
    #[token("@")]
    At,
    /// `=`
    #[token("=")]
    Equals,
    /// `_` alone: a result that nobody wants.
    #[token("_")]
    Sink,
    /// `+`
    #[token("+")]
    Plus,
    /// `-`
    #[token("-")]
    Minus,
    /// `*`
    #[token("*")]
    Star,
    /// `/`
    #[token("/")]
    Slash,
    /// `%`
    #[token("%")]
    Percent,
    /// `~`
    #[token("~")]
    Tilde,
    /// `!`
    #[token("!")]
    Bang,
    /// `&`
    #[token("&")]
    And,
    /// `&&`
    #[token("&&")]
    AndAnd,
    /// `|`
    #[token("|")]
    Or,
    /// `||`
    #[token("||")]
    OrOr,
    /// `^`
    #[token("^")]
    Caret,
    /// `<`
    #[token("<")]
    Less,
    /// `>`
    #[token(">")]
    Greater,
    /// `<=`
    #[token("<=")]
    LessEqual,
    /// `>=`
    #[token(">=")]
    GreaterEqual,
    /// `==`
    #[token("==")]
    EqualEqual,
    /// `!=`
    #[token("!=")]
    NotEqual,
    /// `<<`
    #[token("<<")]
    ShiftLeft,
    /// `>>`
    #[token(">>")]
    ShiftRight,
    /// The end of the text; always the last token.
    End,
}

/// Why no token could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LexicalError {
    /// A character that begins no token.
    #[default]
    Character,
    /// A `/*` without its `*/`.
    OpenComment,
}

/// A token: its kind and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
}

fn block_comment(lexer: &mut Lexer<'_, TokenKind>) -> FilterResult<(), LexicalError> {
    match lexer.remainder().find("*/") {
        Some(length) => {
            lexer.bump(length + 2);
            FilterResult::Skip
        }
        None => {
            lexer.bump(lexer.remainder().len());
            FilterResult::Error(LexicalError::OpenComment)
        }
    }
}

/// Splits `source` into tokens, the last of which is [`TokenKind::End`].
///
/// What is no token is reported and left out. The caller has checked that the text is shorter than 4 GiB, which
/// is what makes offsets fit a [`Span`].
pub(super) fn tokenize(source: &str, diagnostics: &mut Diagnostics) -> Vec<Token> {
    // Generated PTX has a token for every four to five bytes with comments, for more than three without. Room that is
    // not used is never touched; growing would copy everything.
    let mut tokens = Vec::with_capacity(source.len() / 3 + 1);
    let mut lexer = TokenKind::lexer(source);
    while let Some(token) = lexer.next() {
        let range = lexer.span();
        let span = Span { start: range.start as u32, end: range.end as u32 };
        match token {
            Ok(kind) => tokens.push(Token { kind, span }),
            Err(error) => report(error, span, lexer.slice(), diagnostics),
        }
    }
    let end = source.len() as u32;
    tokens.push(Token { kind: TokenKind::End, span: Span { start: end, end } });
    tokens
}

fn report(error: LexicalError, span: Span, text: &str, diagnostics: &mut Diagnostics) {
    match error {
        LexicalError::OpenComment => diagnostics.report(
            Span { end: span.start + 2, ..span },
            "this comment never ends".to_owned(),
            "opened here",
            "close it with `*/`",
        ),
        LexicalError::Character if text.starts_with('"') => diagnostics.report(
            span,
            "this string does not end on its line".to_owned(),
            "opened here",
            "close it with `\"` before the end of the line",
        ),
        LexicalError::Character => {
            let shown = text.chars().next().unwrap_or('\u{fffd}');
            diagnostics.report(
                span,
                format!("`{}` is not part of PTX", shown.escape_debug()),
                "unexpected character",
                "remove it",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<TokenKind> {
        let mut diagnostics = Diagnostics::default();
        let tokens = tokenize(source, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{:?}", diagnostics.into_vec());
        tokens.iter().map(|token| token.kind).collect()
    }

    fn texts(source: &str) -> Vec<&str> {
        let tokens = tokenize(source, &mut Diagnostics::default());
        tokens.iter().map(|token| &source[token.span.range()]).collect()
    }

    #[test]
    fn modifiers_keep_colons_and_leading_digits() {
        let source = "cp.async.2d.shared::cta.L2::128B.b64x2 %tid.x";
        let expected = ["cp", ".async", ".2d", ".shared::cta", ".L2::128B", ".b64x2", "%tid", ".x", ""];
        assert_eq!(texts(source), expected);
    }

    #[test]
    fn numbers_of_every_kind() {
        use TokenKind::*;
        let source = "0 17 017 0x1FU 0b101 0f3F800000 0d3FF0000000000000 1.5 1e5 .5 2.";
        let mut expected = vec![Integer; 5];
        expected.extend([SingleBits, DoubleBits, Decimal, Decimal, Decimal, Decimal, End]);
        assert_eq!(kinds(source), expected);
    }

    #[test]
    fn malformed_numbers_are_one_token() {
        use TokenKind::*;
        assert_eq!(kinds("08 5u 0f3F8 12ab 0b12"), [BadNumber, BadNumber, BadNumber, BadNumber, BadNumber, End]);
    }

    #[test]
    fn words_sinks_and_percent_signs_are_told_apart() {
        use TokenKind::*;
        assert_eq!(
            kinds("_ %p1|_ 5 % 3 $L__BB0_1: _Z1f"),
            [Sink, Word, Or, Sink, Integer, Percent, Integer, Word, Colon, Word, End]
        );
    }

    #[test]
    fn comments_and_dwarf_lines_vanish() {
        assert_eq!(texts("a // begin inline asm\n/* b ** / */ c\n@@DWARF .byte 1\nd"), ["a", "c", "d", ""]);
    }

    #[test]
    fn faults_are_reported_and_left_out() {
        let mut diagnostics = Diagnostics::default();
        let tokens = tokenize("a # b \"x\n c /* d", &mut diagnostics);
        assert_eq!(tokens.len(), 4, "a, b, c and the end");
        let messages: Vec<_> = diagnostics.into_vec().into_iter().map(|fault| fault.message).collect();
        assert_eq!(
            messages,
            ["`#` is not part of PTX", "this string does not end on its line", "this comment never ends"]
        );
    }
}
