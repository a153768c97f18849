//! Rule text to tokens.
//!
//! Line ends separate nothing by themselves: a token knows whether it is the first of its line, since `rule`, `yes`
//! and `no` are words of the language only there. Comments run from `#` to the end of the line and are kept apart, for
//! the sentences that are above a rule.

use std::ops::Range;

use logos::Logos;

use super::{Fault, Span};

/// One kind of token; the text is in the span.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r\n]+")]
pub(super) enum Token {
    #[regex(r"#[^\n]*", allow_greedy = true)]
    Comment,
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z0-9_]+)*")]
    Word,
    #[regex(r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|[0-9][0-9_]*")]
    Number,
    #[regex(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+")]
    Float,
    #[token("=>")]
    Becomes,
    #[token("==")]
    Equal,
    #[token("!=")]
    NotEqual,
    #[token("<=")]
    LessEqual,
    #[token(">=")]
    GreaterEqual,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("||")]
    Or,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("=")]
    Assign,
    #[token("!")]
    Bang,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("&")]
    Ampersand,
    #[token("|")]
    Bar,
    #[token("^")]
    Caret,
    #[token("~")]
    Tilde,
    #[token("@")]
    At,
    #[token(".")]
    Dot,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(";")]
    Semicolon,
    #[token("(")]
    ParenOpen,
    #[token(")")]
    ParenClose,
    #[token("{")]
    BraceOpen,
    #[token("}")]
    BraceClose,
    #[token("[")]
    BracketOpen,
    #[token("]")]
    BracketClose,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme {
    pub token: Token,
    pub span: Span,
    /// Nothing but blanks precedes it on its line.
    pub first: bool,
}

/// The tokens of a text, its comments, and what is no token.
#[derive(Debug, Default)]
pub(super) struct Lexed {
    pub tokens: Vec<Lexeme>,
    pub comments: Vec<Span>,
    pub faults: Vec<Fault>,
}

/// The tokens of a part of a text. Their places are those in the whole text.
pub(super) fn lex(source: &str, part: Range<usize>) -> Lexed {
    lex_until(source, part, None)
}

/// The tokens of a part of a text, to the first one of a kind.
pub(super) fn lex_until(source: &str, part: Range<usize>, last: Option<Token>) -> Lexed {
    let mut lexed = Lexed::default();
    let mut lexer = Token::lexer(&source[..part.end]);
    lexer.bump(part.start);
    while let Some(token) = lexer.next() {
        let span = Span::from(lexer.span());
        match token {
            Ok(Token::Comment) => lexed.comments.push(span),
            Ok(token) => {
                lexed.tokens.push(Lexeme { token, span, first: begins_line(source, span.start) });
                if Some(token) == last {
                    break;
                }
            }
            Err(()) => lexed.faults.push(Fault::new(
                span,
                format!("`{}` means nothing in a rule", lexer.slice().escape_debug()),
                "here",
                "remove it; comments begin with `#`",
            )),
        }
    }
    lexed
}

fn begins_line(source: &str, at: usize) -> bool {
    let before = source.as_bytes()[..at].iter().rev();
    before.take_while(|byte| **byte != b'\n').all(u8::is_ascii_whitespace)
}
