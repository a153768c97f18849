//! The statements of a body.

use super::super::ast::{Body, Guard, Instruction, Linkage, List, Name, Operand, OperandKind, Span, Statement};
use super::super::lexer::TokenKind;
use super::declarations::space;
use super::{Parsed, Parser};

/// How deep scopes may nest. Parsing them takes no stack; the bound is for whoever walks the tree.
const MAX_SCOPES: usize = 256;

impl<'s> Parser<'s> {
    /// A body at its `{`. Faults in statements are recovered from here, so this fails only without its `}`.
    pub(super) fn body(&mut self, function: Name<'s>) -> Parsed<Body<'s>> {
        self.body = self.empty_body();
        let open = self.bump();
        let mut scopes = Vec::new();
        loop {
            match self.peek() {
                TokenKind::End => {
                    return Err(self.unclosed(function, scopes.last().copied().unwrap_or(open)));
                }
                TokenKind::LeftBrace => self.open_scope(&mut scopes)?,
                TokenKind::RightBrace => {
                    let span = self.bump();
                    if scopes.pop().is_none() {
                        self.body.span = open.to(span);
                        return Ok(std::mem::take(&mut self.body));
                    }
                    self.body.statements.push(Statement::ScopeEnd(span));
                }
                _ => {
                    let start = self.position;
                    if self.statement().is_err() {
                        self.open_operands.clear();
                        self.recover(start);
                    }
                }
            }
        }
    }

    /// A body with room for what is between the brace at the cursor and the one that closes it: growing would copy
    /// a large body several times.
    fn empty_body(&self) -> Body<'s> {
        let (mut depth, mut statements, mut modifiers, mut operands) = (0u32, 0, 0, 0);
        for token in &self.tokens[self.position..] {
            match token.kind {
                TokenKind::LeftBrace => {
                    depth += 1;
                    operands += 1;
                }
                TokenKind::RightBrace if depth <= 1 => break,
                TokenKind::RightBrace => depth -= 1,
                TokenKind::Semicolon => {
                    statements += 1;
                    operands += 1;
                }
                TokenKind::Comma | TokenKind::LeftParen => operands += 1,
                TokenKind::Colon => statements += 1,
                TokenKind::Dotted => modifiers += 1,
                _ => {}
            }
        }
        // A declaration makes a statement of each of its names, which only commas tell apart.
        Body::with_capacity(statements + operands / 32, modifiers, operands)
    }

    fn unclosed(&mut self, function: Name<'s>, open: Span) -> super::Reported {
        let message = format!("the body of `{}` is never closed", function.text);
        self.fault(open, message, "opened here", "close it with `}`")
    }

    fn open_scope(&mut self, scopes: &mut Vec<Span>) -> Parsed<()> {
        let span = self.bump();
        if scopes.len() >= MAX_SCOPES {
            let message = format!("scopes nest more than {MAX_SCOPES} levels deep");
            return Err(self.fault(span, message, "too deep", "flatten the scopes"));
        }
        scopes.push(span);
        self.body.statements.push(Statement::ScopeStart(span));
        Ok(())
    }

    fn statement(&mut self) -> Parsed<()> {
        match self.peek() {
            TokenKind::Word if self.peek_second() == TokenKind::Colon => self.label(),
            TokenKind::Word | TokenKind::At => {
                let instruction = self.instruction()?;
                self.body.statements.push(Statement::Instruction(instruction));
                Ok(())
            }
            TokenKind::Dotted => self.directive(),
            _ => Err(self.unexpected("a statement", "write an instruction, a label or a declaration")),
        }
    }

    fn directive(&mut self) -> Parsed<()> {
        match self.peek_text() {
            ".loc" => self.location(),
            ".file" => self.file(),
            ".section" => self.section(),
            ".pragma" => {
                let pragma = self.pragma()?;
                self.body.statements.push(Statement::Pragma(pragma));
                Ok(())
            }
            ".branchtargets" | ".calltargets" | ".callprototype" => {
                let message = format!("`{}` needs a label before it", self.peek_text());
                Err(self.fault(self.span(), message, "no label", "write `name:` before it"))
            }
            text if space(text).is_some() => self.local_variables(),
            _ => Err(self.unknown_directive("write an instruction, a label or a declaration such as `.reg .b32 %r1;`")),
        }
    }

    fn local_variables(&mut self) -> Parsed<()> {
        let variables = self.variables(self.span(), Linkage::Internal)?;
        self.semicolon("the declaration")?;
        self.body.statements.extend(variables.into_iter().map(|variable| Statement::Variable(Box::new(variable))));
        Ok(())
    }

    /// A label, or the target table or prototype that it names.
    fn label(&mut self) -> Parsed<()> {
        let name = self.name("a label")?;
        self.bump();
        let statement = match self.peek_text() {
            ".branchtargets" => Statement::BranchTargets { name, targets: self.targets_list()? },
            ".calltargets" => Statement::CallTargets { name, targets: self.targets_list()? },
            ".callprototype" => Statement::CallPrototype(Box::new(self.call_prototype(name)?)),
            _ => Statement::Label(name),
        };
        self.body.statements.push(statement);
        Ok(())
    }

    fn targets_list(&mut self) -> Parsed<List<Operand<'s>>> {
        self.bump();
        let mark = self.open_operands.len();
        loop {
            let target = self.name("a target")?;
            self.open_operands.push(Operand { span: target.span, kind: OperandKind::Name(target.text) });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.semicolon("the targets")?;
        Ok(self.close_list(mark))
    }

    fn instruction(&mut self) -> Parsed<Instruction<'s>> {
        let start = self.span();
        let guard = if self.peek() == TokenKind::At { Some(self.guard()?) } else { None };
        let opcode = self.name("an opcode")?;
        let mut modifiers = List::default();
        while self.peek() == TokenKind::Dotted {
            let modifier = self.dotted();
            self.body.add_modifier(&mut modifiers, modifier);
        }
        let operands = self.instruction_operands(opcode)?;
        let span = start.to(self.previous_span());
        self.semicolon("the instruction")?;
        Ok(Instruction { span, guard, opcode, modifiers, operands })
    }

    fn guard(&mut self) -> Parsed<Guard<'s>> {
        self.bump();
        let negated = self.eat(TokenKind::Bang);
        let predicate = self.name("the guard's predicate")?;
        Ok(Guard { predicate, negated })
    }
}
