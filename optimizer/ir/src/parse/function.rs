//! Functions: variables, directives, blocks, and the numbers of blocks and registers.

use std::collections::{HashMap, HashSet};

use super::{MAX_NUMBER, Parsed, Parser, Symbols, Token, error};
use crate::diagnostics::counted;
use crate::ops::Opcode;
use crate::{
    Anchor, Block, Directive, Form, Function, FunctionKind, Kill, Level, Linkage, Local, Modifiers, Operand,
    PhysicalReg, Reg, RegInfo,
};

/// A function while its body is read: names and numbers seen so far.
pub(super) struct Body<'s> {
    pub(super) func: Function,
    pub(super) locals: HashMap<&'s str, Local>,
    seen: HashMap<Reg, RegInfo>,
    defined: HashSet<Block>,
    pub(super) named: HashMap<Block, std::ops::Range<usize>>,
    pub(super) kills: Vec<Kill>,
}

impl<'s> Parser<'s> {
    pub(super) fn function(&mut self, kind: &str, symbols: &Symbols) -> Parsed<Function> {
        let name = self.symbol_name("the function's name")?;
        let kind = if kind == "entry" { FunctionKind::Entry } else { FunctionKind::Device };
        let mut func = Function::new(name, kind);
        for (linkage, word) in Linkage::NAMES {
            if !word.is_empty() && self.eat_word(word)? {
                func.linkage = *linkage;
            }
        }
        if self.eat_word(Level::Machine.name())? {
            func.level = Level::Machine;
        }
        for (form, word) in Form::NAMES {
            if self.eat_word(word)? {
                func.form = *form;
            }
        }
        if func.form == Form::Physical {
            func.use_physical_registers();
        }
        self.expect(Token::BraceOpen, "`{`")?;
        self.end_line()?;
        let mut body = Body {
            func,
            locals: HashMap::new(),
            seen: HashMap::new(),
            defined: HashSet::new(),
            named: HashMap::new(),
            kills: Vec::new(),
        };
        self.header(&mut body, symbols)?;
        while !self.eat(Token::BraceClose)? {
            self.block(&mut body, symbols)?;
            self.skip_newlines()?;
        }
        self.finish(body)
    }

    /// Variables and directives.
    pub(super) fn header(&mut self, body: &mut Body<'s>, symbols: &Symbols) -> Parsed<()> {
        loop {
            self.skip_newlines()?;
            if self.eat_word("directive")? {
                let name = self.expect(Token::Word, "the directive's name")?.to_string();
                let mut values = Vec::new();
                while self.peek()? == Some(Token::Number) {
                    values.push(self.number("a value")?);
                }
                body.func.directives.push(Directive { name, values });
                self.end_line()?;
                continue;
            }
            let role = match self.peek()? {
                Some(Token::Word) => self.text(),
                _ => return Ok(()),
            };
            if !matches!(role, "param" | "return" | "local") {
                return Ok(());
            }
            self.next()?;
            let name = &self.expect(Token::Local, "the variable's name")?[1..];
            let span = self.span.clone();
            let variable = self.variable(name, symbols)?;
            let local = body.func.locals.push(variable);
            if body.locals.insert(name, local).is_some() {
                return Err(error(format!("`${name}` is defined twice"), span));
            }
            match role {
                "param" => body.func.params.push(local),
                "return" => body.func.returns.push(local),
                _ => {}
            }
        }
    }

    pub(super) fn block(&mut self, body: &mut Body<'s>, symbols: &Symbols) -> Parsed<()> {
        let word = self.expect(Token::Word, "a block such as `bb0:`, or `}`")?;
        let Some(block) = self.block_name(body, word)? else {
            return self.fail(format!("expected a block such as `bb0:`, found `{word}`"));
        };
        if !body.defined.insert(block) {
            return self.fail(format!("`{block}` is defined twice"));
        }
        body.func.append_block(block);
        self.expect(Token::Colon, "`:`")?;
        if self.peek()? == Some(Token::Word) && self.text() == "nounroll" {
            self.next()?;
            body.func.set_nounroll(block, true);
        }
        self.end_line()?;
        loop {
            self.skip_newlines()?;
            match self.peek()? {
                Some(Token::BraceClose) | None => return Ok(()),
                Some(Token::Word) if is_block_name(self.text()) => return Ok(()),
                Some(Token::Word) if self.text() == "kill" => self.kill(body, block)?,
                _ => self.inst(body, block, symbols)?,
            }
        }
    }

    /// `kill %r3, %r4`: markers behind what was read last.
    fn kill(&mut self, body: &mut Body<'s>, block: Block) -> Parsed<()> {
        self.next()?;
        let last = body.func.last_inst(block).filter(|inst| body.func.inst(*inst).opcode != Opcode::Phi);
        let at = last.map_or(Anchor::Entry(block), Anchor::Behind);
        loop {
            let text = self.expect(Token::Reg, "a register such as `%r3`")?;
            match self.reg_name(body, text)?.whole_reg() {
                Some(reg) => body.kills.push(Kill { at, reg }),
                None => return self.fail(format!("`{text}` is no whole register")),
            }
            if !self.eat(Token::Comma)? {
                return self.end_line();
            }
        }
    }

    /// The block with this name, made if it is new.
    pub(super) fn block_name(&mut self, body: &mut Body<'s>, word: &str) -> Parsed<Option<Block>> {
        if !is_block_name(word) {
            return Ok(None);
        }
        let number = self.bounded(&word[2..])?;
        while body.func.blocks().len() <= number as usize {
            body.func.create_block();
        }
        Ok(Some(Block::from_u32(number)))
    }

    pub(super) fn bounded(&self, digits: &str) -> Parsed<u32> {
        let end = u32::try_from(self.source.len()).unwrap_or(u32::MAX).max(MAX_NUMBER);
        match digits.parse() {
            Ok(number) if number < end => Ok(number),
            _ => self.fail(format!("numbers end at {}", end - 1)),
        }
    }

    pub(super) fn reg_name(&mut self, body: &mut Body<'s>, text: &str) -> Parsed<Operand> {
        let text = &text[1..];
        if let Some(text) = text.strip_suffix(".reuse") {
            let operand = self.plain_reg(body, text)?;
            return Ok(operand.with_modifiers(Modifiers::REUSE).unwrap_or(operand));
        }
        self.plain_reg(body, text)
    }

    /// A register or a word of one, by its name without `%`.
    fn plain_reg(&mut self, body: &mut Body<'s>, text: &str) -> Parsed<Operand> {
        let machine = text.starts_with(|c: char| c.is_ascii_uppercase());
        if let Some(wired) = PhysicalReg::from_name(text).filter(|reg| reg.is_constant()) {
            let operand = wired.operand().filter(|_| body.func.level == Level::Machine);
            return operand.map_or_else(|| self.fail(format!("only the machine level has `%{text}`")), Ok);
        }
        if machine != (body.func.form == Form::Physical) {
            return self.fail(format!("`%{text}`: physical form, and it alone, has registers such as `%R4`"));
        }
        if machine {
            return self.physical_reg(text);
        }
        let split = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
        let (number, word) = match text[split..].split_once('.') {
            Some((number, word)) => (number, Some(word)),
            None => (&text[split..], None),
        };
        let Some(info) = RegInfo::from_prefix(&text[..split]) else {
            return self.fail(format!("`%{text}` names no register file; `%r` `%d` `%t` `%q` `%p` do"));
        };
        let number = self.bounded(number)?;
        while body.func.regs().len() <= number as usize {
            body.func.new_reg(RegInfo::words(1));
        }
        let reg = Reg::from_u32(number);
        if *body.seen.entry(reg).or_insert(info) != info {
            return self.fail(format!("register {number} has had another file or width before"));
        }
        body.func.set_reg_info(reg, info);
        match word.map(|word| word.parse::<u8>()) {
            None => Ok(Operand::Reg(reg)),
            Some(Ok(word)) if word < info.words => Ok(Operand::Word(reg, word)),
            Some(_) => self.fail(format!("`%{text}`: the register has {}", counted(info.words, "word"))),
        }
    }

    fn physical_reg(&mut self, text: &str) -> Parsed<Operand> {
        let (name, word) = text.split_once('.').map_or((text, None), |(name, word)| (name, Some(word)));
        let Some(physical) = PhysicalReg::from_name(name) else {
            return self.fail(format!("`%{name}` is no register of the machine; `%R4` `%R4x2` `%UR4` `%P0` `%B0` are"));
        };
        let reg = physical.reg().expect("what has a name has an entity");
        match word.map(str::parse::<u8>) {
            None => Ok(Operand::Reg(reg)),
            Some(Ok(word)) if word < physical.words => Ok(Operand::Word(reg, word)),
            Some(_) => self.fail(format!("`%{text}`: the register has {}", counted(physical.words, "word"))),
        }
    }

    pub(super) fn finish(&mut self, mut body: Body<'s>) -> Parsed<Function> {
        body.func.set_kills(std::mem::take(&mut body.kills));
        let missing = body.named.iter().filter(|(block, _)| !body.defined.contains(block));
        if let Some((block, span)) = missing.min_by_key(|(_, span)| span.start) {
            return Err(error(format!("`{block}` is not defined"), span.clone()));
        }
        Ok(body.func)
    }
}

fn is_block_name(word: &str) -> bool {
    word.strip_prefix("bb").is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
