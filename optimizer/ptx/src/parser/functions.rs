//! Functions, entries and call prototypes: everything but the statements of a body.

use super::super::ast::{Body, CallPrototype, Directive, DirectiveArgument, Function, Linkage, Name, Span};
use super::super::lexer::TokenKind;
use super::{Parsed, Parser};

/// Directives between a function's parameters and its body (PTX ISA 11.4 and 11.7).
const FUNCTION_DIRECTIVES: &[&str] = &[
    ".maxnreg",
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnctapersm",
    ".noreturn",
    ".pragma",
    ".reqnctapercluster",
    ".explicitcluster",
    ".maxclusterrank",
    ".blocksareclusters",
    ".abi_preserve",
    ".abi_preserve_control",
];

/// What items of a module begin with.
const ITEMS: &[&str] = &[
    ".extern", ".visible", ".weak", ".common", ".func", ".entry", ".global", ".const", ".shared", ".file", ".section",
    ".alias",
];

impl<'s> Parser<'s> {
    /// A `.func` or `.entry` at the cursor, to the end of its body or its `;`.
    pub(super) fn function(&mut self, start: Span, linkage: Linkage) -> Parsed<Function<'s>> {
        let is_entry = self.peek_text() == ".entry";
        self.bump();
        let mut attributes = Vec::new();
        while self.peek_text() == ".attribute" {
            attributes.extend(self.attributes()?);
        }
        let mut directives = self.directives()?;
        let returns = if self.peek() == TokenKind::LeftParen { self.parameters()? } else { Vec::new() };
        let name = self.name("the function's name")?;
        let parameters = if self.peek() == TokenKind::LeftParen { self.parameters()? } else { Vec::new() };
        let span = start.to(self.previous_span());
        directives.extend(self.directives()?);
        let body = self.body_or_semicolon(name, is_entry)?;
        Ok(Function { span, linkage, is_entry, attributes, name, returns, parameters, directives, body })
    }

    /// A declaration may end without its `;`, where the next item or the end of the file follows: ptxas takes it too.
    fn body_or_semicolon(&mut self, name: Name<'s>, is_entry: bool) -> Parsed<Option<Body<'s>>> {
        match self.peek() {
            TokenKind::Dotted if !is_entry && ITEMS.contains(&self.peek_text()) => Ok(None),
            TokenKind::End if !is_entry => Ok(None),
            TokenKind::Semicolon => {
                self.bump();
                Ok(None)
            }
            TokenKind::LeftBrace => self.body(name).map(Some),
            TokenKind::Dotted => Err(self.unknown_directive("a function's body, `;` or a directive like `.maxntid`")),
            _ => Err(self.unexpected("the function's body or `;`", "write the body in braces, or `;` to declare only")),
        }
    }

    fn directives(&mut self) -> Parsed<Vec<Directive<'s>>> {
        let mut directives = Vec::new();
        while self.peek() == TokenKind::Dotted && FUNCTION_DIRECTIVES.contains(&self.peek_text()) {
            let name = self.dotted();
            let arguments = self.directive_arguments()?;
            if name.text == "pragma" {
                self.semicolon("the pragma")?;
            }
            directives.push(Directive { name, arguments });
        }
        Ok(directives)
    }

    fn directive_arguments(&mut self) -> Parsed<Vec<DirectiveArgument<'s>>> {
        let mut arguments = Vec::new();
        if !matches!(self.peek(), TokenKind::Integer | TokenKind::Text | TokenKind::BadNumber) {
            return Ok(arguments);
        }
        loop {
            arguments.push(match self.peek() {
                TokenKind::Text => DirectiveArgument::Text(self.string("a string")?.text),
                _ => DirectiveArgument::Integer(self.integer("an integer")?),
            });
            if !self.eat(TokenKind::Comma) {
                return Ok(arguments);
            }
        }
    }

    /// `.callprototype (ret) _ (params) directives;` behind its label.
    pub(super) fn call_prototype(&mut self, name: Name<'s>) -> Parsed<CallPrototype<'s>> {
        self.bump();
        let returns = if self.peek() == TokenKind::LeftParen { self.parameters()? } else { Vec::new() };
        self.expect(TokenKind::Sink, "`_`", "a prototype is `(results) _ (parameters)`")?;
        let parameters = if self.peek() == TokenKind::LeftParen { self.parameters()? } else { Vec::new() };
        let directives = self.directives()?;
        self.semicolon("the prototype")?;
        Ok(CallPrototype { name, returns, parameters, directives })
    }
}
