//! Operands of instructions.
//!
//! Operands gather in `open_operands` while their list is open, and move to the body's pool when it closes: so the
//! elements of a list lie side by side in the pool, whatever lists they hold themselves.

use super::super::ast::{Address, List, Name, Operand, OperandKind};
use super::super::lexer::TokenKind;
use super::{Parsed, Parser};

impl<'s> Parser<'s> {
    /// The operands up to the `;`, which is left to the caller.
    pub(super) fn instruction_operands(&mut self, opcode: Name<'s>) -> Parsed<List<Operand<'s>>> {
        if matches!(self.peek(), TokenKind::Semicolon | TokenKind::RightBrace | TokenKind::End) {
            return Ok(List::default());
        }
        // In the operands of a call parentheses hold arguments; elsewhere they belong to constant expressions.
        let is_call = opcode.text == "call";
        let mark = self.open_operands.len();
        loop {
            let operand = match self.peek() {
                TokenKind::LeftParen if is_call => self.group()?,
                _ => self.operand()?,
            };
            self.open_operands.push(operand);
            if !self.eat(TokenKind::Comma) {
                return Ok(self.close_list(mark));
            }
        }
    }

    /// Moves the operands since `mark` to the pool.
    pub(super) fn close_list(&mut self, mark: usize) -> List<Operand<'s>> {
        self.body.add_operands(self.open_operands.drain(mark..))
    }

    /// `(a, b)`, perhaps empty.
    fn group(&mut self) -> Parsed<Operand<'s>> {
        let start = self.bump();
        let mark = self.open_operands.len();
        if !self.eat(TokenKind::RightParen) {
            self.operands_until(
                TokenKind::RightParen,
                "`,` or `)`",
                "separate arguments with `,` and end them with `)`",
            )?;
        }
        let kind = OperandKind::Group(self.close_list(mark));
        Ok(Operand { span: start.to(self.previous_span()), kind })
    }

    /// Operands separated by commas up to `close`, left open.
    fn operands_until(&mut self, close: TokenKind, what: &str, help: &str) -> Parsed<()> {
        loop {
            let operand = self.nested(Self::operand)?;
            self.open_operands.push(operand);
            if !self.eat(TokenKind::Comma) {
                return self.expect(close, what, help).map(|_| ());
            }
        }
    }

    /// One operand, or two as `a|b`.
    fn operand(&mut self) -> Parsed<Operand<'s>> {
        let first = self.single_operand()?;
        if self.peek() != TokenKind::Or {
            return Ok(first);
        }
        self.bump();
        let second = self.single_operand()?;
        let pair = self.body.add_operands([first, second].into_iter());
        Ok(Operand { span: first.span.to(second.span), kind: OperandKind::Pair(pair) })
    }

    fn single_operand(&mut self) -> Parsed<Operand<'s>> {
        let start = self.span();
        let before_name = self.before_name();
        let kind = match self.peek() {
            TokenKind::LeftBrace => self.vector()?,
            TokenKind::LeftBracket => self.address()?,
            TokenKind::Sink => {
                self.bump();
                OperandKind::Sink
            }
            TokenKind::Bang if before_name => self.negated_predicate()?,
            TokenKind::Minus if before_name => self.negated_register()?,
            _ if self.at_constant() => OperandKind::Constant(self.constant()?),
            TokenKind::Word => self.named_operand()?,
            _ => {
                return Err(self.unexpected("an operand", "write a register, a number, a symbol, `[...]` or `{...}`"));
            }
        };
        Ok(Operand { span: start.to(self.previous_span()), kind })
    }

    fn vector(&mut self) -> Parsed<OperandKind<'s>> {
        self.bump();
        let mark = self.open_operands.len();
        self.operands_until(TokenKind::RightBrace, "`,` or `}`", "separate elements with `,` and end them with `}`")?;
        Ok(OperandKind::Vector(self.close_list(mark)))
    }

    fn negated_predicate(&mut self) -> Parsed<OperandKind<'s>> {
        self.bump();
        let name = self.name("a predicate")?;
        Ok(OperandKind::Not(name.text))
    }

    /// Whether a sign at the cursor applies to a name rather than to a constant.
    fn before_name(&self) -> bool {
        match self.tokens.get(self.position + 1) {
            Some(token) => token.kind == TokenKind::Word && self.text(token.span) != "WARP_SZ",
            None => false,
        }
    }

    fn negated_register(&mut self) -> Parsed<OperandKind<'s>> {
        self.bump();
        let start = self.span();
        let kind = self.named_operand()?;
        let operand = Operand { span: start.to(self.previous_span()), kind };
        Ok(OperandKind::Negate(self.body.add_operands([operand].into_iter())))
    }

    /// What begins with a name: the name, a component of it, or an address computed from it.
    fn named_operand(&mut self) -> Parsed<OperandKind<'s>> {
        let name = self.name("a register or symbol")?.text;
        match self.peek() {
            TokenKind::Dotted => {
                let component = self.dotted().text;
                Ok(OperandKind::Component { name, component })
            }
            TokenKind::Plus => {
                self.bump();
                let offset = self.integer_constant("an offset in bytes")? as i64;
                Ok(OperandKind::Sum { name, offset })
            }
            TokenKind::LeftBracket => {
                self.bump();
                let element = if self.at_constant() {
                    OperandKind::Element { name, index: self.integer_constant("an array index")? as i64 }
                } else {
                    let index = self.nested(Self::single_operand)?;
                    OperandKind::Indexed { name, index: self.body.add_operands([index].into_iter()) }
                };
                self.expect(TokenKind::RightBracket, "`]`", "end the index with `]`")?;
                Ok(element)
            }
            _ => Ok(OperandKind::Name(name)),
        }
    }

    /// `[base]`, `[base+offset]`, `[offset]`, each perhaps with further parts behind a comma.
    fn address(&mut self) -> Parsed<OperandKind<'s>> {
        self.bump();
        let (base, offset) = if self.at_constant() {
            (None, self.integer_constant("an address")? as i64)
        } else {
            let name = self.name("a register, symbol or number")?;
            (Some(name.text), self.address_offset()?)
        };
        let mark = self.open_operands.len();
        let help = "an address is `[register]`, `[symbol]` or `[number]`, perhaps with `+offset`";
        if self.eat(TokenKind::Comma) {
            self.operands_until(TokenKind::RightBracket, "`,` or `]`", help)?;
        } else {
            self.expect(TokenKind::RightBracket, "`+` or `]`", help)?;
        }
        let rest = self.close_list(mark);
        // Says that the address is unified (PTX ISA 9.0, "ld"), which changes nothing.
        if self.peek() == TokenKind::Dotted && self.peek_text() == ".unified" {
            self.bump();
        }
        Ok(OperandKind::Address(Address { base, offset, rest }))
    }

    fn address_offset(&mut self) -> Parsed<i64> {
        if self.peek() == TokenKind::Minus {
            let help = "add a negative offset: `[register+-8]`";
            return Err(self.fault(self.span(), "an address cannot subtract", "not allowed in PTX", help));
        }
        if !self.eat(TokenKind::Plus) {
            return Ok(0);
        }
        Ok(self.integer_constant("an offset in bytes")? as i64)
    }
}
