//! Instructions: guard, mnemonic with fields, operands.

use super::function::Body;
use super::{Parsed, Parser, Symbols, Token, error};
use crate::module::SymbolRef;
use crate::ops::{FieldValues, Opcode, ROWS, SpecialReg};
use crate::template::Template;
use crate::{
    Block, Form, Guard, InstData, InstHead, Level, MachineId, Modifiers, Operand, PhysicalReg, Schedule, is_name,
    machine,
};

/// An instruction of the machine as it is read: what it is, its sources, the bits that these do not say.
type Machine = ((Opcode, FieldValues), Vec<Operand>, u128);

impl<'s> Parser<'s> {
    pub(super) fn inst(&mut self, body: &mut Body<'s>, block: Block, symbols: &Symbols) -> Parsed<()> {
        let guard = self.guard(body)?;
        let mut dsts = Vec::new();
        while self.peek()? == Some(Token::Reg) {
            self.next()?;
            dsts.push(self.reg_name(body, self.text())?);
            if !self.eat(Token::Comma)? {
                break;
            }
        }
        if !dsts.is_empty() {
            self.expect(Token::Equals, "`=`")?;
        }
        let text = self.expect(Token::Word, "an instruction")?;
        let (head, srcs, unsaid) = match body.func.level {
            Level::Machine if is_mnemonic(text) => self.machine(body, text, false, symbols)?,
            Level::Machine if text == Opcode::MachineJump.row().name => {
                let mnemonic = self.expect(Token::Word, "a mnemonic of the machine")?;
                self.machine(body, mnemonic, true, symbols)?
            }
            _ => {
                let head = self.opcode(text)?;
                (head, self.sources(body, head.0, symbols)?, 0)
            }
        };
        let (opcode, fields) = head;
        let mut elses = Vec::new();
        if self.eat_word("else")? {
            elses = self.list(body, symbols)?;
        }
        if dsts.len().max(elses.len()) > InstData::MAX_DSTS {
            return self.fail(format!("an instruction has at most {} results", InstData::MAX_DSTS));
        }
        let schedule = self.schedule()?;
        let line = if self.eat(Token::Bang)? { self.small("a line number")? } else { 0 };
        self.end_line()?;
        let inst = body.func.new_inst(InstHead { opcode, fields, guard, line }, &dsts, &srcs, &elses);
        body.func.append_inst(block, inst);
        if schedule.is_some() {
            body.func.set_schedule(inst, schedule);
        }
        if unsaid != 0 {
            body.func.set_unsaid_bits(inst, unsaid);
        }
        Ok(())
    }

    /// `{stall 4 yield write 0 read 1 wait 0x3}`, where it stands.
    fn schedule(&mut self) -> Parsed<Option<Schedule>> {
        if !self.eat(Token::BraceOpen)? {
            return Ok(None);
        }
        let mut schedule = Schedule::default();
        if self.eat_word("stall")? {
            schedule.stall = self.small("the stall")?;
        }
        schedule.yields = self.eat_word("yield")?;
        if self.eat_word("write")? {
            schedule.write_barrier = Some(self.small("the barrier")?);
        }
        if self.eat_word("read")? {
            schedule.read_barrier = Some(self.small("the barrier")?);
        }
        if self.eat_word("wait")? {
            schedule.wait_mask = self.small("the barriers")?;
        }
        self.expect(Token::BraceClose, "`}` after `stall`, `yield`, `write`, `read` and `wait`")?;
        Ok(Some(schedule))
    }

    pub(super) fn guard(&mut self, body: &mut Body<'s>) -> Parsed<Option<Guard>> {
        if !self.eat(Token::Guard)? {
            return Ok(None);
        }
        let text = self.text();
        let negated = text.starts_with("@!");
        let name = &text[if negated { 2 } else { 1 }..];
        let operand = self.reg_name(body, name)?;
        // A guard is a register; in physical form alone it may be a wired one.
        let wired = PhysicalReg::from_name(&name[1..]).filter(|_| body.func.form == Form::Physical);
        match operand.whole_reg().or_else(|| wired?.reg()) {
            Some(reg) => Ok(Some(Guard::new(reg, negated))),
            None => self.fail(format!("`{name}` guards nothing: leave the guard out, or the instruction")),
        }
    }

    /// The opcode with the longest mnemonic that fits, and its fields from what is left.
    pub(super) fn opcode(&mut self, text: &str) -> Parsed<(Opcode, FieldValues)> {
        let ends = text.match_indices('.').map(|(i, _)| i).chain([text.len()]);
        let found = ends.filter_map(|end| Some((Opcode::from_name(&text[..end])?, end))).next_back();
        let Some((opcode, end)) = found else {
            let mut failure = error(format!("unknown instruction `{text}`"), self.span.clone());
            failure.help = nearest(text.split('.').next().unwrap_or(text));
            return Err(failure);
        };
        let mut rest = text[end..].trim_start_matches('.');
        let row = opcode.row();
        let mut fields = row.default_fields();
        for (slot, spec) in row.fields.iter().enumerate() {
            let written = spec.values().filter(|v| Some(*v) != spec.default);
            let fits = written.filter(|v| starts_with_name(rest, spec.field.value_name(*v)));
            match fits.max_by_key(|v| spec.field.value_name(*v).len()) {
                Some(value) => {
                    fields.0[slot] = value;
                    rest = rest[spec.field.value_name(value).len()..].trim_start_matches('.');
                }
                None if spec.default.is_some() => {}
                None => {
                    let names: Vec<_> = spec.values().map(|v| spec.field.value_name(v)).collect();
                    let mut failure = error(format!("`{text}` needs a {}", spec.field.name()), self.span.clone());
                    failure.help = Some(format!("one of {}", names.join(", ")));
                    return Err(failure);
                }
            }
        }
        if !rest.is_empty() {
            let legal: Vec<_> = row.fields.iter().map(|spec| spec.field.name()).collect();
            let mut failure = error(format!("`{}` does not take `.{rest}` here", row.name), self.span.clone());
            failure.help = Some(format!("its fields, in order: {}", legal.join(", ")));
            return Err(failure);
        }
        Ok((opcode, fields))
    }

    pub(super) fn sources(&mut self, body: &mut Body<'s>, opcode: Opcode, symbols: &Symbols) -> Parsed<Vec<Operand>> {
        match opcode {
            Opcode::Call => return self.call(body, symbols),
            Opcode::Phi => return self.incoming(body, symbols),
            _ => {}
        }
        let mut srcs = Vec::new();
        while !matches!(self.peek()?, None | Some(Token::Newline | Token::Bang | Token::BraceOpen))
            && !self.at_word("else")?
        {
            if !srcs.is_empty() {
                self.expect(Token::Comma, "`,`")?;
            }
            if self.eat(Token::BracketOpen)? {
                srcs.push(self.operand(body, symbols)?);
                let offset = match self.peek()? {
                    Some(Token::BracketClose) => 0,
                    _ => self.signed("an offset")?,
                };
                srcs.push(body.func.imm(offset as u64));
                self.expect(Token::BracketClose, "`]`")?;
            } else {
                srcs.push(self.operand(body, symbols)?);
            }
        }
        Ok(srcs)
    }

    /// What an instruction of the machine is, what it takes, behind its mnemonic, and the bits that this does not say.
    fn machine(&mut self, body: &mut Body<'s>, text: &str, jumps: bool, symbols: &Symbols) -> Parsed<Machine> {
        if !is_mnemonic(text) {
            return self.fail(format!("`{text}` is no mnemonic of the machine: these are like `IADD3.X`"));
        }
        let (mnemonic, unsaid) = machine::without_bits(text);
        let id = self.identity(mnemonic, jumps)?;
        let srcs = match self.peek()? {
            None | Some(Token::Newline | Token::Bang | Token::BraceOpen) => Vec::new(),
            // An instruction without sources in SSA form.
            Some(Token::Word) if self.at_word("else")? => Vec::new(),
            _ => self.list(body, symbols)?,
        };
        let opcode = body.func.machine_opcode(id, &srcs).expect("what was found has a row");
        Ok(((opcode, id.fields()), srcs, unsaid))
    }

    /// What a mnemonic is, which ends a block or does not.
    fn identity(&self, mnemonic: &str, jumps: bool) -> Parsed<MachineId> {
        let Some(table) = machine::table() else {
            return self.fail("no instructions of the machine are known here: nobody has registered their rows");
        };
        let Some(id) = table.identify(mnemonic) else {
            let mut failure = error(format!("the machine has no `{mnemonic}`"), self.span.clone());
            let similar = table.similar(mnemonic);
            failure.help = Some(match similar.is_empty() {
                true => "no mnemonic begins so; lift a function to see how they look".to_owned(),
                false => format!("it has {}, each with modifiers of its own", similar.join(", ")),
            });
            return Err(failure);
        };
        let ends = table.row(id.row).is_some_and(|row| row.opcode == Opcode::MachineJump);
        match (ends, jumps) {
            (true, false) => self.fail(format!("`{mnemonic}` ends a block: write `jump {mnemonic}`")),
            (false, true) => self.fail(format!("`{mnemonic}` does not end a block: write it without `jump`")),
            _ => Ok(id),
        }
    }

    pub(super) fn call(&mut self, body: &mut Body<'s>, symbols: &Symbols) -> Parsed<Vec<Operand>> {
        let callee = self.operand(body, symbols)?;
        let arguments = self.parenthesised(body, symbols)?;
        self.expect(Token::Arrow, "`->` and the results")?;
        let results = self.parenthesised(body, symbols)?;
        let count = body.func.imm(results.len() as u64);
        Ok([callee, count].into_iter().chain(results).chain(arguments).collect())
    }

    pub(super) fn parenthesised(&mut self, body: &mut Body<'s>, symbols: &Symbols) -> Parsed<Vec<Operand>> {
        self.expect(Token::ParenOpen, "`(`")?;
        if self.eat(Token::ParenClose)? {
            return Ok(Vec::new());
        }
        let list = self.list(body, symbols)?;
        self.expect(Token::ParenClose, "`)`")?;
        Ok(list)
    }

    pub(super) fn incoming(&mut self, body: &mut Body<'s>, symbols: &Symbols) -> Parsed<Vec<Operand>> {
        let mut srcs = Vec::new();
        while self.eat(Token::BracketOpen)? {
            let word = self.expect(Token::Word, "a predecessor block")?;
            let block = self.block_operand(body, word)?;
            self.expect(Token::Colon, "`:`")?;
            srcs.push(self.operand(body, symbols)?);
            srcs.push(block);
            self.expect(Token::BracketClose, "`]`")?;
            if !self.eat(Token::Comma)? {
                break;
            }
        }
        Ok(srcs)
    }

    pub(super) fn list(&mut self, body: &mut Body<'s>, symbols: &Symbols) -> Parsed<Vec<Operand>> {
        let mut list = vec![self.operand(body, symbols)?];
        while self.eat(Token::Comma)? {
            list.push(self.operand(body, symbols)?);
        }
        Ok(list)
    }

    pub(super) fn block_operand(&mut self, body: &mut Body<'s>, word: &str) -> Parsed<Operand> {
        match self.block_name(body, word)? {
            Some(block) => {
                body.named.entry(block).or_insert(self.span.clone());
                Ok(Operand::Block(block))
            }
            None => self.fail(format!("expected a block such as `bb1`, found `{word}`")),
        }
    }

    /// An operand with its modifiers: `~%r1`, `-|%r1|`, `%r1.reuse`.
    pub(super) fn operand(&mut self, body: &mut Body<'s>, symbols: &Symbols) -> Parsed<Operand> {
        let mut modifiers = Modifiers::NONE;
        for (token, modifier) in [(Token::Tilde, Modifiers::INVERT), (Token::Minus, Modifiers::NEGATE)] {
            if self.eat(token)? {
                modifiers = modifiers.or(modifier);
            }
        }
        let absolute = self.eat(Token::Bar)?;
        let operand = self.unmodified(body, symbols, modifiers)?;
        if absolute {
            self.expect(Token::Bar, "`|`")?;
            modifiers = modifiers.or(Modifiers::ABSOLUTE);
        }
        match operand.with_modifiers(operand.modifiers().or(modifiers)) {
            Some(operand) => Ok(operand),
            None => self.fail("modifiers stand before registers and constant banks"),
        }
    }

    fn unmodified(&mut self, body: &mut Body<'s>, symbols: &Symbols, modifiers: Modifiers) -> Parsed<Operand> {
        match self.peek()? {
            Some(Token::Reg) => {
                self.next()?;
                self.reg_name(body, self.text())
            }
            Some(Token::Number) if modifiers.is_none() => {
                let bits = self.number("a number")?;
                Ok(body.func.imm(bits))
            }
            Some(Token::Number) => {
                self.next()?;
                self.fail("write an immediate as its bits: negative numbers have no width here")
            }
            Some(Token::Symbol | Token::Guard) => Ok(match self.symbol(symbols)? {
                SymbolRef::Global(id) => Operand::Global(id),
                SymbolRef::Func(id) => Operand::Func(id),
            }),
            Some(Token::Name) => {
                self.next()?;
                let text = self.text().trim_matches('\'');
                match body.func.level {
                    Level::Machine if is_name(text) => Ok(body.func.name(text)),
                    Level::Machine => self.fail("a name has letters, digits, dots and underscores"),
                    Level::Virtual if Template::of(text).is_some() => Ok(body.func.template(text)),
                    Level::Virtual => {
                        let mut failure = error(format!("`{text}` is no template"), self.span.clone());
                        failure.help = Some("it is like 'tcgen05.ld.sync.aligned.32x32b.x1.b32 {=b32}, [%b32]'".into());
                        Err(failure)
                    }
                }
            }
            Some(Token::Local) => {
                self.next()?;
                match body.locals.get(&self.text()[1..]) {
                    Some(local) => Ok(Operand::Local(*local)),
                    None => self.fail(format!("the function has no variable `{}`", self.text())),
                }
            }
            Some(Token::Word) => {
                self.next()?;
                self.word_operand(body)
            }
            Some(Token::Newline) | None => self.fail("expected an operand"),
            Some(_) => self.fail(format!("expected an operand, found `{}`", self.text())),
        }
    }

    pub(super) fn word_operand(&mut self, body: &mut Body<'s>) -> Parsed<Operand> {
        let word = self.text();
        if word == "undef" {
            return Ok(Operand::Undef);
        }
        if word == "c" {
            self.expect(Token::BracketOpen, "`[` and the bank")?;
            let bank = self.small("the bank")?;
            self.expect(Token::BracketClose, "`]`")?;
            self.expect(Token::BracketOpen, "`[` and the offset")?;
            let offset = self.small("the offset")?;
            self.expect(Token::BracketClose, "`]`")?;
            return Ok(Operand::constant(bank, offset));
        }
        if let Some(name) = word.strip_prefix("sr.") {
            return match SpecialReg::from_name(name) {
                Some(reg) => Ok(Operand::Special(reg)),
                None => self.fail(format!("`{word}` is not a special register")),
            };
        }
        self.block_operand(body, word)
    }
}

/// Whether a word is the mnemonic of an instruction of the machine: capitals.
fn is_mnemonic(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase()) && is_name(word)
}

/// Whether a dotted text begins with this (possibly dotted) name.
fn starts_with_name(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Mnemonics that begin like an unknown one.
fn nearest(word: &str) -> Option<String> {
    let prefix: String = word.chars().take(2).collect();
    let near: Vec<_> = ROWS.iter().map(|row| row.name).filter(|name| name.starts_with(&prefix)).collect();
    (!near.is_empty()).then(|| format!("mnemonics that begin alike: {}", near.join(", ")))
}
