//! Machine rules.

use super::super::Fault;
use super::super::ast::{Binder, Expr, Name};
use super::super::lexer::Token;
use super::super::machine::{MachineExample, MachineInst, MachineKind, MachineOperand, MachineRule, Marks};
use super::{DEFAULT_PRIORITY, Parsed, Parser};

/// The registers that always read as zero or true, those of several words too.
const WIRED: [&str; 8] = ["RZ", "RZx2", "RZx3", "RZx4", "URZ", "URZx2", "PT", "UPT"];

/// The words that may follow the name of a machine rule.
const CLAUSES: [&str; 6] = ["category", "priority", "template", "in", "only", "for"];

impl Parser<'_> {
    pub(super) fn machine_rule(&mut self) -> Parsed<MachineRule> {
        let start = self.expect_word("machine")?;
        let doc = self.doc_before(start);
        self.expect_word("rule")?;
        let name = self.rule_name()?;
        let category = if self.eat_word("category") { Some(self.hyphenated("a category")?) } else { None };
        let priority = if self.eat_word("priority") { self.priority()? } else { DEFAULT_PRIORITY };
        let template = if self.eat_word("template") { Some(self.number()?.0) } else { None };
        let contexts = if self.eat_word("in") { self.names("a context, such as `generic`")? } else { Vec::new() };
        let only = if self.eat_word("only") { self.names("an SM, such as `sm_120`")? } else { Vec::new() };
        let binders = if self.eat_word("for") { self.machine_binders()? } else { Vec::new() };
        self.expect(Token::Colon, "`:` and the instructions")?;
        let pattern = self.machine_insts()?;
        self.expect(Token::Becomes, "`=>` and what the last instruction becomes")?;
        let result = self.machine_inst()?;
        let guards = if self.eat_word("if") { self.guards()? } else { Vec::new() };
        let span = start.to(self.last_span());
        self.expect_end_of_item()?;
        let examples = Vec::new();
        Ok(MachineRule {
            name,
            span,
            doc,
            category,
            priority,
            template,
            contexts,
            only,
            binders,
            pattern,
            result,
            guards,
            examples,
        })
    }

    pub(super) fn machine_example(&mut self, rule: Option<&mut MachineRule>) -> Parsed<()> {
        let start = self.next_span();
        let positive = self.at_line("yes");
        self.at += 1;
        let input = self.machine_insts()?;
        let expected = match positive {
            true => {
                self.expect(Token::Becomes, "`=>` and what it becomes")?;
                Some(self.machine_inst()?)
            }
            false => None,
        };
        let span = start.to(self.last_span());
        self.expect_end_of_item()?;
        let Some(rule) = rule else {
            return Err(Fault::new(span, "an example before the first rule", "here", "put examples under their rule"));
        };
        rule.examples.push(MachineExample { input, expected, span });
        Ok(())
    }

    /// `W in none 64, CMP in LT GE`: variables over parts of mnemonics and numbers.
    fn machine_binders(&mut self) -> Parsed<Vec<Binder>> {
        let mut binders = Vec::new();
        loop {
            let name = self.name("a variable, such as `CMP`")?;
            self.expect_word("in")?;
            let mut set = vec![self.modifier()?];
            while matches!(self.peek(), Some(Token::Word | Token::Number)) {
                set.push(self.modifier()?);
            }
            binders.push(Binder { name, set });
            if !self.eat(Token::Comma) {
                return Ok(binders);
            }
        }
    }

    /// Names of several words that a colon or another clause ends.
    fn names(&mut self, what: &str) -> Parsed<Vec<Name>> {
        let mut names = vec![self.hyphenated(what)?];
        while self.peek() == Some(Token::Word) && !CLAUSES.iter().any(|word| self.at_word(word)) {
            names.push(self.hyphenated(what)?);
        }
        Ok(names)
    }

    /// Words joined by hyphens: `post-schedule`.
    fn hyphenated(&mut self, what: &str) -> Parsed<Name> {
        let mut name = self.name(what)?;
        while self.peek() == Some(Token::Minus) && self.peek_at(1) == Some(Token::Word) {
            self.at += 1;
            let part = self.name(what)?;
            name.span = name.span.to(part.span);
            name.text = format!("{}-{}", name.text, part.text);
        }
        Ok(name)
    }

    fn machine_insts(&mut self) -> Parsed<Vec<MachineInst>> {
        let mut insts = vec![self.machine_inst()?];
        while self.eat(Token::Semicolon) {
            insts.push(self.machine_inst()?);
        }
        Ok(insts)
    }

    fn machine_inst(&mut self) -> Parsed<MachineInst> {
        let start = self.next_span();
        let results = if self.begins_results() { self.machine_operands()? } else { Vec::new() };
        if !results.is_empty() {
            self.expect(Token::Assign, "`=` and the mnemonic")?;
        }
        let mut mnemonic = vec![self.name("a mnemonic, such as `IADD3`")?];
        while self.eat(Token::Dot) {
            mnemonic.push(self.modifier()?);
        }
        let operands = if self.ends_inst() { Vec::new() } else { self.machine_operands()? };
        Ok(MachineInst { results, mnemonic, operands, span: start.to(self.last_span()) })
    }

    /// Whether what follows is a list of results: a mnemonic is followed by a dot, an operand or nothing.
    fn begins_results(&self) -> bool {
        let is_register = self.peek() == Some(Token::Percent);
        is_register || matches!(self.peek_at(1), Some(Token::Comma | Token::Assign | Token::Colon))
    }

    fn ends_inst(&self) -> bool {
        let ends = matches!(self.peek(), None | Some(Token::Semicolon | Token::Becomes));
        ends || self.at_word("if") || self.begins_item()
    }

    /// A part of a mnemonic, which may be, or begin with, a number: `64`.
    fn modifier(&mut self) -> Parsed<Name> {
        if self.peek() != Some(Token::Number) {
            return self.name("a modifier");
        }
        let mut span = self.next_span();
        self.at += 1;
        if self.peek() == Some(Token::Word) && self.next_span().start == span.end {
            span = span.to(self.next_span());
            self.at += 1;
        }
        Ok(Name { text: self.text(span).to_owned(), span })
    }

    fn machine_operands(&mut self) -> Parsed<Vec<MachineOperand>> {
        let mut operands = vec![self.machine_operand()?];
        while self.eat(Token::Comma) {
            operands.push(self.machine_operand()?);
        }
        Ok(operands)
    }

    fn machine_operand(&mut self) -> Parsed<MachineOperand> {
        let start = self.next_span();
        let any = self.eat(Token::Ampersand);
        let invert = self.is_marked() && self.eat(Token::Tilde);
        let negate = self.is_marked() && self.eat(Token::Minus);
        let absolute = self.eat(Token::Bar);
        let kind = self.machine_kind()?;
        if absolute {
            self.expect(Token::Bar, "`|`")?;
        }
        let marks = Marks { negate, absolute, invert, any };
        Ok(MachineOperand { marks, kind, span: start.to(self.last_span()) })
    }

    /// Whether a sign or complement here is the mark of an operand, and no part of a constant.
    fn is_marked(&self) -> bool {
        let next = self.tokens.get(self.at + 1);
        let is_function = self.peek_at(2) == Some(Token::ParenOpen);
        next.is_some_and(|next| match next.token {
            Token::Word if is_function => false,
            Token::Word => is_value(self.text(next.span)) || WIRED.contains(&self.text(next.span)),
            Token::Bar | Token::Percent | Token::Minus => true,
            _ => false,
        })
    }

    fn machine_kind(&mut self) -> Parsed<MachineKind> {
        if self.eat(Token::Percent) {
            return self.name("a register, such as `R4`").map(MachineKind::Register);
        }
        if self.eat_word("_") {
            return Ok(MachineKind::Wildcard);
        }
        if self.at_word("c") && self.peek_at(1) == Some(Token::BracketOpen) {
            self.at += 1;
            let bank = self.bracketed()?;
            return Ok(MachineKind::Bank(bank, self.bracketed()?));
        }
        let word = self.peek_lexeme().filter(|lexeme| lexeme.token == Token::Word).map(|lexeme| lexeme.span);
        match word.map(|span| self.text(span)) {
            Some(word) if WIRED.contains(&word) => self.name("a register").map(MachineKind::Wired),
            Some(word) if is_value(word) && self.peek_at(1) != Some(Token::ParenOpen) => {
                let name = self.name("an operand")?;
                let file = if self.eat(Token::Colon) { Some(self.name("a file, such as `R` or `Rx2`")?) } else { None };
                Ok(MachineKind::Value(name, file))
            }
            _ => self.expr().map(MachineKind::Constant),
        }
    }

    fn bracketed(&mut self) -> Parsed<Expr> {
        self.expect(Token::BracketOpen, "`[`")?;
        let inside = self.expr()?;
        self.expect(Token::BracketClose, "`]`")?;
        Ok(inside)
    }
}

/// Whether a word names a value and no constant: unless it is a function of constants.
fn is_value(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
}
