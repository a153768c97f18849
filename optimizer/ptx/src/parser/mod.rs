//! Recursive descent over the tokens of a PTX module, with recovery.
//!
//! A function that meets a fault records it and returns [`Reported`], which carries nothing; the statement or item loop
//! above skips to the next `;` or `}` and goes on. Every loop takes at least one token a turn, so parsing is linear in
//! the text. Recursion happens only through [`Parser::nested`], which bounds its depth. When the list of faults is full
//! the cursor moves to the end of the text, and every loop ends there.

mod constants;
mod declarations;
mod functions;
mod items;
mod operands;
mod statements;
#[cfg(test)]
mod tests;

use super::ast::{Body, Expression, Location, Module, Name, Operand, Span};
use super::diagnostics::Diagnostics;
use super::lexer::{Token, TokenKind, tokenize};
use crate::Fault;

/// How deep expressions, initializers and operands may nest.
const MAX_NESTING: u32 = 64;

/// A fault has been recorded; whoever gets this recovers or passes it on.
#[derive(Debug)]
struct Reported;

type Parsed<T> = Result<T, Reported>;

pub(super) fn parse(source: &str) -> Result<Module<'_>, Vec<Fault>> {
    if u32::try_from(source.len()).is_err() {
        let place = Span::default();
        let help = "split the module and link the parts";
        return Err(vec![Fault::new(place, "the text is longer than 4 GiB", "this file", help)]);
    }
    let mut diagnostics = Diagnostics::default();
    let tokens = tokenize(source, &mut diagnostics);
    let mut parser = Parser::new(source, tokens, diagnostics);
    let module = parser.module();
    let Parser { diagnostics, expressions, files, locations, .. } = parser;
    let module = Module { expressions, files, locations, ..module };
    if diagnostics.is_empty() { Ok(module) } else { Err(diagnostics.into_vec()) }
}

struct Parser<'s> {
    source: &'s str,
    /// Never empty; the last one is `End`.
    tokens: Vec<Token>,
    /// The next token; never behind the last.
    position: usize,
    diagnostics: Diagnostics,
    /// How many calls of [`Parser::nested`] are active.
    depth: u32,
    /// The body being parsed.
    body: Body<'s>,
    /// Operands of lists that are still open, innermost last.
    open_operands: Vec<Operand<'s>>,
    /// Constant expressions so far.
    expressions: Vec<Expression>,
    /// Source files so far, by their index.
    files: Vec<(u64, &'s str)>,
    /// Places in the source so far.
    locations: Vec<Location>,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str, tokens: Vec<Token>, diagnostics: Diagnostics) -> Self {
        let mut parser = Parser {
            source,
            tokens,
            position: 0,
            diagnostics,
            depth: 0,
            body: Body::default(),
            open_operands: Vec::new(),
            expressions: Vec::new(),
            files: Vec::new(),
            locations: Vec::new(),
        };
        parser.stop_when_full();
        parser
    }

    fn peek(&self) -> TokenKind {
        self.tokens[self.position].kind
    }

    /// The kind behind the next token.
    fn peek_second(&self) -> TokenKind {
        self.tokens.get(self.position + 1).map_or(TokenKind::End, |token| token.kind)
    }

    fn span(&self) -> Span {
        self.tokens[self.position].span
    }

    /// The span of the token before the cursor.
    fn previous_span(&self) -> Span {
        self.tokens[self.position.saturating_sub(1)].span
    }

    fn text(&self, span: Span) -> &'s str {
        &self.source[span.range()]
    }

    /// The text of the next token.
    fn peek_text(&self) -> &'s str {
        self.text(self.span())
    }

    /// Takes the next token; the end is never taken.
    fn bump(&mut self) -> Span {
        let span = self.span();
        if self.peek() != TokenKind::End {
            self.position += 1;
        }
        span
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    /// Takes a token of this kind; `what` describes it in the message, `help` says what to write.
    fn expect(&mut self, kind: TokenKind, what: &str, help: &str) -> Parsed<Span> {
        if self.peek() == kind { Ok(self.bump()) } else { Err(self.unexpected(what, help)) }
    }

    fn name(&mut self, what: &str) -> Parsed<Name<'s>> {
        let span = self.expect(TokenKind::Word, what, "names are letters, digits, `_`, `$` and a leading `%`")?;
        Ok(Name { text: self.text(span), span })
    }

    /// Takes a dotted word; the name comes without its dot.
    fn dotted(&mut self) -> Name<'s> {
        let span = self.bump();
        Name { text: self.text(span).strip_prefix('.').unwrap_or(""), span }
    }

    /// Takes a string; the name comes without its quotes.
    fn string(&mut self, what: &str) -> Parsed<Name<'s>> {
        let span = self.expect(TokenKind::Text, what, "put it in double quotes")?;
        Ok(Name { text: self.text(span).trim_matches('"'), span })
    }

    /// Takes the `;` that ends `what`. One that is missing at the end of a line is reported there and taken as written,
    /// so that the next line is not lost.
    fn semicolon(&mut self, what: &str) -> Parsed<()> {
        if self.eat(TokenKind::Semicolon) {
            return Ok(());
        }
        let end = self.previous_span().end;
        if !self.source[end as usize..self.span().start as usize].contains('\n') {
            return Err(self.unexpected(&format!("`;` after {what}"), "end it with `;`"));
        }
        let label = "`;` is missing here";
        self.fault(Span { start: end, end }, format!("expected `;` after {what}"), label, "end it with `;`");
        Ok(())
    }

    /// Records that something else was expected here.
    fn unexpected(&mut self, what: &str, help: &str) -> Reported {
        let found = match self.peek() {
            TokenKind::End => "the end of the file".to_owned(),
            TokenKind::BadNumber => format!("the malformed number `{}`", self.excerpt()),
            _ => format!("`{}`", self.excerpt()),
        };
        self.fault(self.span(), format!("expected {what}, found {found}"), format!("expected {what}"), help)
    }

    /// The next token, cut when it is long.
    fn excerpt(&self) -> String {
        let text = self.peek_text();
        if text.len() <= 40 { text.to_owned() } else { format!("{}...", &text[..text.floor_char_boundary(40)]) }
    }

    fn fault(
        &mut self,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) -> Reported {
        self.diagnostics.report(span, message.into(), label, help);
        self.stop_when_full();
        Reported
    }

    fn stop_when_full(&mut self) {
        if self.diagnostics.is_full() {
            self.position = self.tokens.len() - 1;
        }
    }

    /// Runs `parse` one level deeper, or reports that the text nests too deeply.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_NESTING {
            let message = format!("this nests more than {MAX_NESTING} levels deep");
            return Err(self.fault(self.span(), message, "too deep", "flatten it"));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Moves from a fault in the statement that began at token `start` to the next place where one may begin.
    ///
    /// That is behind the next `;`, or before the `}` that closes the surrounding scope. Braces that the
    /// statement itself opened are counted from its start, so that a fault in `{a b}` does not end the scope.
    fn recover(&mut self, start: usize) {
        let fault = self.position;
        let mut open_braces = 0u32;
        let mut position = start;
        loop {
            match self.tokens[position].kind {
                TokenKind::End => break,
                TokenKind::Semicolon if position >= fault => {
                    position += 1;
                    break;
                }
                TokenKind::RightBrace if open_braces == 0 && position >= fault => break,
                TokenKind::LeftBrace => open_braces += 1,
                TokenKind::RightBrace => open_braces = open_braces.saturating_sub(1),
                _ => {}
            }
            position += 1;
        }
        self.position = position;
    }
}
