//! The text form `.ori`, in: what [`super::print`] writes, and what people write by hand.
//!
//! A register's name says its file and width (`%r1` one word, `%d2` two, `%q3` four, `%p4` a predicate), so nothing
//! is declared. Comments run from `//` or `;` to the end of the line. Names of functions and variables may be used
//! before they are defined: a first pass collects them. A block whose loop is not to be unrolled is `bb1: nounroll`.
//! At the machine level a word in capitals is an instruction of the machine, and `jump` precedes one that ends its
//! block: `@%P0 jump BRA bb2, bb1`.

mod function;
mod inst;
mod items;

use std::collections::HashMap;

use logos::{Lexer, Logos};
use miette::SourceSpan;

use super::diagnostics::excerpt::clipped;
use super::entity::{FuncId, Global};
use super::function::{Function, FunctionKind};
use super::module::{Module, SymbolRef, Variable};
use crate::ops::{Space, Type};

/// What the symbols of the module stand for, by name.
type Symbols = HashMap<String, SymbolRef>;

/// Why a text is not a module.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// Where.
    #[label("here")]
    pub span: SourceSpan,
    /// What to do.
    #[help]
    pub help: Option<String>,
}

type Parsed<T> = Result<T, ParseError>;

/// Registers and blocks are numbered in the text. Numbers from here on are refused in texts that have fewer bytes, so
/// that a small text cannot ask for a large function.
const MAX_NUMBER: u32 = 1 << 20;

#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r]+")]
#[logos(skip(r"(//|;)[^\n]*", allow_greedy = true))]
enum Token {
    #[token("\n")]
    Newline,
    // Lower case with a number, or a register of the machine.
    #[regex(r"%([a-z]+[0-9]+|[A-Z]+[0-9]*(x[0-9])?)(\.[0-9]+)?(\.reuse)?")]
    Reg,
    #[regex(r"@!?%([a-z]+[0-9]+|[A-Z]+[0-9]*)")]
    Guard,
    // Names are those of PTX, so that every module can be printed as PTX.
    #[regex(r"@([A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+)")]
    Symbol,
    #[regex(r"\$([A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+)")]
    Local,
    #[regex(r"0x[0-9a-fA-F]+|[0-9]+")]
    Number,
    #[regex(r"[0-9]+\.[0-9]+")]
    Version,
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*((\.|::)[A-Za-z0-9_]+)*")]
    Word,
    #[regex(r"'[^'\n]*'")]
    Name,
    #[token("=")]
    Equals,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("(")]
    ParenOpen,
    #[token(")")]
    ParenClose,
    #[token("[")]
    BracketOpen,
    #[token("]")]
    BracketClose,
    #[token("{")]
    BraceOpen,
    #[token("}")]
    BraceClose,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("->")]
    Arrow,
    #[token("!")]
    Bang,
    #[token("~")]
    Tilde,
    #[token("|")]
    Bar,
}

/// Reads a module.
pub fn parse_module(source: &str) -> Parsed<Module> {
    let mut module = Module::default();
    let symbols = declare(source, &mut module)?;
    let mut parser = Parser::new(source);
    let (mut globals, mut functions) = (0, 0);
    while let Some(word) = parser.next_item()? {
        match word {
            "target" => parser.target(&mut module)?,
            "global" => {
                let id = Global::from_u32(globals);
                globals += 1;
                let name = parser.symbol_name("the variable's name")?;
                module.globals[id] = parser.variable(name, &symbols)?;
            }
            _ => {
                let id = FuncId::from_u32(functions);
                functions += 1;
                module.functions[id] = parser.function(word, &symbols)?;
            }
        }
    }
    Ok(module)
}

/// Reads one function that names no symbols of a module.
pub fn parse_function(source: &str) -> Parsed<Function> {
    let module = parse_module(source)?;
    let mut functions = module.functions.into_iter();
    match (functions.next(), functions.next()) {
        (Some((_, func)), None) => Ok(func),
        _ => Err(error("expected exactly one function", 0..source.len().min(1))),
    }
}

fn error(message: impl Into<String>, span: std::ops::Range<usize>) -> ParseError {
    ParseError { message: clipped(&message.into()).into_owned(), span: span.into(), help: None }
}

/// The first pass: a place for every variable and function, by name.
fn declare(source: &str, module: &mut Module) -> Parsed<Symbols> {
    let mut symbols = HashMap::new();
    let mut lexer = Token::lexer(source);
    let (mut line_start, mut kind) = (true, "");
    while let Some(token) = lexer.next() {
        let text = lexer.slice();
        match token {
            Ok(Token::Newline) => {
                line_start = true;
                kind = "";
                continue;
            }
            Ok(Token::Word) if line_start && matches!(text, "global" | "entry" | "device") => kind = text,
            Ok(Token::Symbol | Token::Guard) if !kind.is_empty() => {
                let symbol = match kind {
                    "global" => {
                        SymbolRef::Global(module.globals.push(Variable::new("", Space::Global, Type::B8, None)))
                    }
                    _ => SymbolRef::Func(module.functions.push(Function::new("", FunctionKind::Device))),
                };
                if symbols.insert(text[1..].to_string(), symbol).is_some() {
                    return Err(error(format!("`{text}` is defined twice"), lexer.span()));
                }
                kind = "";
            }
            _ => kind = "",
        }
        line_start = false;
    }
    Ok(symbols)
}

struct Parser<'s> {
    source: &'s str,
    lexer: Lexer<'s, Token>,
    peeked: Option<Option<Token>>,
    span: std::ops::Range<usize>,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Parser<'s> {
        Parser { source, lexer: Token::lexer(source), peeked: None, span: 0..0 }
    }

    fn fail<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(error(message, self.span.clone()))
    }

    fn peek(&mut self) -> Parsed<Option<Token>> {
        if self.peeked.is_none() {
            let token = self.lexer.next();
            self.span = self.lexer.span();
            self.peeked = Some(match token {
                None => None,
                Some(Ok(token)) => Some(token),
                Some(Err(())) => return self.fail(format!("unexpected `{}`", self.lexer.slice())),
            });
        }
        Ok(self.peeked.flatten())
    }

    fn next(&mut self) -> Parsed<Option<Token>> {
        let token = self.peek()?;
        self.peeked = None;
        Ok(token)
    }

    fn text(&self) -> &'s str {
        &self.source[self.span.clone()]
    }

    fn eat(&mut self, token: Token) -> Parsed<bool> {
        let found = self.peek()? == Some(token);
        if found {
            self.peeked = None;
        }
        Ok(found)
    }

    fn eat_word(&mut self, word: &str) -> Parsed<bool> {
        let found = self.peek()? == Some(Token::Word) && self.text() == word;
        if found {
            self.peeked = None;
        }
        Ok(found)
    }

    fn at_word(&mut self, word: &str) -> Parsed<bool> {
        Ok(self.peek()? == Some(Token::Word) && self.text() == word)
    }

    fn expect(&mut self, token: Token, what: &str) -> Parsed<&'s str> {
        match self.peek()? {
            Some(found) if found == token => {
                self.peeked = None;
                Ok(self.text())
            }
            Some(Token::Newline) => self.fail(format!("expected {what} before the end of the line")),
            Some(_) => self.fail(format!("expected {what}, found `{}`", self.text())),
            None => self.fail(format!("expected {what} before the end of the file")),
        }
    }

    fn skip_newlines(&mut self) -> Parsed<()> {
        while self.eat(Token::Newline)? {}
        Ok(())
    }

    fn end_line(&mut self) -> Parsed<()> {
        match self.peek()? {
            None => Ok(()),
            Some(_) => self.expect(Token::Newline, "the end of the line").map(drop),
        }
    }

    fn number(&mut self, what: &str) -> Parsed<u64> {
        let text = self.expect(Token::Number, what)?;
        let parsed = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => text.parse(),
        };
        parsed.or_else(|_| self.fail(format!("`{text}` does not fit in 64 bits")))
    }

    fn small<T: TryFrom<u64>>(&mut self, what: &str) -> Parsed<T> {
        let value = self.number(what)?;
        T::try_from(value).or_else(|_| self.fail(format!("{what} is too large")))
    }

    fn signed(&mut self, what: &str) -> Parsed<i64> {
        if self.eat(Token::Minus)? {
            return Ok((self.number(what)? as i64).wrapping_neg());
        }
        self.expect(Token::Plus, what)?;
        Ok(self.number(what)? as i64)
    }

    /// A symbol's name without its sign. One that looks like a guard is a name where a name must stand.
    fn symbol_name(&mut self, what: &str) -> Parsed<&'s str> {
        let like_guard = self.peek()? == Some(Token::Guard) && !self.text().starts_with("@!");
        let text = self.expect(if like_guard { Token::Guard } else { Token::Symbol }, what)?;
        Ok(&text[1..])
    }

    fn symbol(&mut self, symbols: &Symbols) -> Parsed<SymbolRef> {
        let name = self.symbol_name("a symbol")?;
        match symbols.get(name) {
            Some(symbol) => Ok(*symbol),
            None => self.fail(format!("nothing is named `@{name}`")),
        }
    }

    /// The keyword of the next top-level item.
    fn next_item(&mut self) -> Parsed<Option<&'s str>> {
        self.skip_newlines()?;
        if self.peek()?.is_none() {
            return Ok(None);
        }
        let word = self.expect(Token::Word, "`target`, `global`, `entry` or `device`")?;
        match word {
            "target" | "global" | "entry" | "device" => Ok(Some(word)),
            _ => self.fail(format!("expected `target`, `global`, `entry` or `device`, found `{word}`")),
        }
    }
}
