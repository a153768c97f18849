//! The text form `.ori`, in: what [`super::print`] writes, and what people write by hand.
//!
//! A register's name says its file and width (`%r1` one word, `%d2` two, `%q3` four, `%p4` a predicate), so nothing
//! is declared. Comments run from `//` or `;` to the end of the line. Names of functions and variables may be used
//! before they are defined: a first pass collects them.

use std::collections::HashMap;

use logos::{Lexer, Logos};
use miette::SourceSpan;

use super::entity::{Block, FuncId, Local, Reg};
use super::function::{BlockData, Directive, Form, Function, FunctionKind, InstHead, RegFile, RegInfo};
use super::module::{Linkage, Module, Relocation, SymbolRef, Variable};
use super::operand::{Guard, Operand};
use crate::ops::{FieldValue, FieldValues, Opcode, Shape, Space, SpecialReg, Type};

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

/// Registers and blocks are numbered in the text; numbers from here on are refused, so that a small text cannot
/// ask for a large function.
const MAX_NUMBER: u32 = 1 << 20;

#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r]+")]
#[logos(skip(r"(//|;)[^\n]*", allow_greedy = true))]
enum Token {
    #[token("\n")]
    Newline,
    #[regex(r"%[a-z]+[0-9]+(\.[0-9]+)?")]
    Reg,
    #[regex(r"@!?%[a-z]+[0-9]+")]
    Guard,
    // Names are those of PTX, so that every module can be printed as PTX.
    #[regex(r"@([A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+)")]
    Symbol,
    #[regex(r"\$([A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+)")]
    Local,
    #[regex(r"0x[0-9a-fA-F]+|[0-9]+")]
    Number,
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*((\.|::)[A-Za-z0-9_]+)*")]
    Word,
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
                let id = super::entity::Global::from_u32(globals);
                globals += 1;
                let name = parser.expect(Token::Symbol, "the variable's name")?;
                module.globals[id] = parser.variable(&name[1..], &symbols)?;
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
    ParseError { message: message.into(), span: span.into(), help: None }
}

/// The first pass: a place for every variable and function, by name.
fn declare(source: &str, module: &mut Module) -> Parsed<HashMap<String, SymbolRef>> {
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
            Ok(Token::Symbol) if !kind.is_empty() => {
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

/// A function while its body is read: names and numbers seen so far.
struct Body<'s> {
    func: Function,
    locals: HashMap<&'s str, Local>,
    seen: HashMap<Reg, RegInfo>,
    defined: Vec<Block>,
    named: HashMap<Block, std::ops::Range<usize>>,
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

    fn target(&mut self, module: &mut Module) -> Parsed<()> {
        module.target = self.expect(Token::Word, "the target, such as `sm_90`")?.to_string();
        if self.eat_word("ptx")? {
            // The version reads as two numbers with a dot between, which the lexer does not join.
            let start = self.span.end;
            while !matches!(self.peek_raw(), None | Some(b'\n')) {
                self.lexer.bump(1);
            }
            let text = self.source[start..self.lexer.span().end].trim();
            self.span = start..self.lexer.span().end;
            let version = text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            let Some(version) = version else {
                return self.fail(format!("`{text}` is not a PTX version such as `9.0`"));
            };
            module.ptx_version = version;
        }
        self.end_line()
    }

    fn peek_raw(&self) -> Option<u8> {
        self.lexer.remainder().bytes().next()
    }

    fn variable(&mut self, name: &str, symbols: &HashMap<String, SymbolRef>) -> Parsed<Variable> {
        self.expect(Token::Colon, "`:` and the variable's type")?;
        let word = self.expect(Token::Word, "a type")?;
        let Some(ty) = crate::ops::Field::Type.value_index(word).map(|i| Type::ALL[i as usize]) else {
            return self.fail(format!("`{word}` is not a type"));
        };
        let mut count = None;
        if self.eat(Token::BracketOpen)? {
            count = Some(self.number("the number of elements")?);
            self.expect(Token::BracketClose, "`]`")?;
        }
        let mut var = Variable::new(name, Space::Generic, ty, count);
        let word = self.expect(Token::Word, "a state space")?;
        var.space = match crate::ops::Field::Space.value_index(word) {
            Some(index) if index != 0 => Space::ALL[index as usize],
            _ => return self.fail(format!("`{word}` is not a state space")),
        };
        if self.eat_word("align")? {
            var.align = self.small("the alignment")?;
            if !var.align.is_power_of_two() {
                return self.fail("an alignment is a power of two");
            }
        }
        for (linkage, word) in Linkage::NAMES {
            if !word.is_empty() && self.eat_word(word)? {
                var.linkage = *linkage;
            }
        }
        if self.eat(Token::Equals)? {
            var.init = self.bytes()?;
        }
        while let Some(generic) = self.relocation_kind()? {
            let relocation = self.relocation(generic, symbols)?;
            var.relocations.push(relocation);
        }
        self.end_line()?;
        Ok(var)
    }

    fn bytes(&mut self) -> Parsed<Vec<u8>> {
        let text = self.expect(Token::Number, "initial bytes such as `0x00ff`")?;
        let digits = text.strip_prefix("0x").filter(|hex| hex.len() % 2 == 0);
        let Some(hex) = digits else {
            return self.fail("initial bytes are `0x` and two digits a byte");
        };
        let byte = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).expect("the lexer passes hex digits alone");
        Ok((0..hex.len()).step_by(2).map(byte).collect())
    }

    fn relocation_kind(&mut self) -> Parsed<Option<bool>> {
        if self.eat_word("generic")? {
            return Ok(Some(true));
        }
        Ok(self.eat_word("address")?.then_some(false))
    }

    fn relocation(&mut self, generic: bool, symbols: &HashMap<String, SymbolRef>) -> Parsed<Relocation> {
        let offset = self.small("the offset")?;
        let width = self.small("the width")?;
        let symbol = self.symbol(symbols)?;
        let addend = self.signed("an addend such as `+0`")?;
        Ok(Relocation { offset, width, symbol, addend, generic })
    }

    fn signed(&mut self, what: &str) -> Parsed<i64> {
        if self.eat(Token::Minus)? {
            return Ok((self.number(what)? as i64).wrapping_neg());
        }
        self.expect(Token::Plus, what)?;
        Ok(self.number(what)? as i64)
    }

    fn symbol(&mut self, symbols: &HashMap<String, SymbolRef>) -> Parsed<SymbolRef> {
        let name = self.expect(Token::Symbol, "a symbol")?;
        match symbols.get(&name[1..]) {
            Some(symbol) => Ok(*symbol),
            None => self.fail(format!("nothing is named `{name}`")),
        }
    }

    fn function(&mut self, kind: &str, symbols: &HashMap<String, SymbolRef>) -> Parsed<Function> {
        let name = self.expect(Token::Symbol, "the function's name")?;
        let kind = if kind == "entry" { FunctionKind::Entry } else { FunctionKind::Device };
        let mut func = Function::new(&name[1..], kind);
        for (linkage, word) in Linkage::NAMES {
            if !word.is_empty() && self.eat_word(word)? {
                func.linkage = *linkage;
            }
        }
        for (form, word) in Form::NAMES {
            if self.eat_word(word)? {
                func.form = *form;
            }
        }
        self.expect(Token::BraceOpen, "`{`")?;
        self.end_line()?;
        let mut body =
            Body { func, locals: HashMap::new(), seen: HashMap::new(), defined: Vec::new(), named: HashMap::new() };
        self.header(&mut body, symbols)?;
        while !self.eat(Token::BraceClose)? {
            self.block(&mut body, symbols)?;
            self.skip_newlines()?;
        }
        self.finish(body)
    }

    /// Variables and directives.
    fn header(&mut self, body: &mut Body<'s>, symbols: &HashMap<String, SymbolRef>) -> Parsed<()> {
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

    fn block(&mut self, body: &mut Body<'s>, symbols: &HashMap<String, SymbolRef>) -> Parsed<()> {
        let word = self.expect(Token::Word, "a block such as `bb0:`, or `}`")?;
        let Some(block) = self.block_name(body, word)? else {
            return self.fail(format!("expected a block such as `bb0:`, found `{word}`"));
        };
        if body.defined.contains(&block) {
            return self.fail(format!("`{block}` is defined twice"));
        }
        body.defined.push(block);
        body.func.layout.push(block);
        self.expect(Token::Colon, "`:`")?;
        self.end_line()?;
        loop {
            self.skip_newlines()?;
            match self.peek()? {
                Some(Token::BraceClose) | None => return Ok(()),
                Some(Token::Word) if is_block_name(self.text()) => return Ok(()),
                _ => self.inst(body, block, symbols)?,
            }
        }
    }

    /// The block with this name, made if it is new.
    fn block_name(&mut self, body: &mut Body<'s>, word: &str) -> Parsed<Option<Block>> {
        if !is_block_name(word) {
            return Ok(None);
        }
        let number = self.bounded(&word[2..])?;
        while body.func.blocks.len() <= number as usize {
            body.func.blocks.push(BlockData::default());
        }
        Ok(Some(Block::from_u32(number)))
    }

    fn bounded(&self, digits: &str) -> Parsed<u32> {
        match digits.parse() {
            Ok(number) if number < MAX_NUMBER => Ok(number),
            _ => self.fail(format!("numbers end at {}", MAX_NUMBER - 1)),
        }
    }

    fn reg_name(&mut self, body: &mut Body<'s>, text: &str) -> Parsed<Operand> {
        let text = &text[1..];
        let split = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
        let (number, word) = match text[split..].split_once('.') {
            Some((number, word)) => (number, Some(word)),
            None => (&text[split..], None),
        };
        let Some(info) = RegInfo::from_prefix(&text[..split]) else {
            return self.fail(format!("`%{text}` names no register file; `%r` `%d` `%t` `%q` `%p` do"));
        };
        let number = self.bounded(number)?;
        while body.func.regs.len() <= number as usize {
            body.func.regs.push(RegInfo { file: RegFile::R, words: 1 });
        }
        let reg = Reg::from_u32(number);
        if *body.seen.entry(reg).or_insert(info) != info {
            return self.fail(format!("register {number} has had another file or width before"));
        }
        body.func.regs[reg] = info;
        match word.map(|word| word.parse::<u8>()) {
            None => Ok(Operand::Reg(reg)),
            Some(Ok(word)) if word < info.words => Ok(Operand::Word(reg, word)),
            Some(_) => self.fail(format!("`%{text}`: the register has {} words", info.words)),
        }
    }

    fn inst(&mut self, body: &mut Body<'s>, block: Block, symbols: &HashMap<String, SymbolRef>) -> Parsed<()> {
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
        let (opcode, fields) = self.opcode(text)?;
        let srcs = self.sources(body, opcode, symbols)?;
        let mut elses = Vec::new();
        if self.eat_word("else")? {
            elses = self.list(body, symbols)?;
        }
        let line = if self.eat(Token::Bang)? { self.small("a line number")? } else { 0 };
        self.end_line()?;
        let inst = body.func.new_inst(InstHead { opcode, fields, guard, line }, &dsts, &srcs, &elses);
        body.func.blocks[block].insts.push(inst);
        Ok(())
    }

    fn guard(&mut self, body: &mut Body<'s>) -> Parsed<Option<Guard>> {
        if !self.eat(Token::Guard)? {
            return Ok(None);
        }
        let text = self.text();
        let negated = text.starts_with("@!");
        let operand = self.reg_name(body, &text[if negated { 2 } else { 1 }..])?;
        Ok(operand.whole_reg().map(|reg| Guard { reg, negated }))
    }

    /// The opcode with the longest mnemonic that fits, and its fields from what is left.
    fn opcode(&mut self, text: &str) -> Parsed<(Opcode, FieldValues)> {
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

    fn sources(
        &mut self,
        body: &mut Body<'s>,
        opcode: Opcode,
        symbols: &HashMap<String, SymbolRef>,
    ) -> Parsed<Vec<Operand>> {
        match opcode {
            Opcode::Call => return self.call(body, symbols),
            Opcode::Phi => return self.incoming(body, symbols),
            _ => {}
        }
        let mut srcs = Vec::new();
        while !matches!(self.peek()?, None | Some(Token::Newline | Token::Bang)) && !self.at_word("else")? {
            if !srcs.is_empty() {
                self.expect(Token::Comma, "`,`")?;
            }
            if self.eat(Token::BracketOpen)? {
                srcs.push(self.operand(body, symbols)?);
                srcs.push(Operand::Imm(match self.peek()? {
                    Some(Token::BracketClose) => 0,
                    _ => self.signed("an offset")? as u64,
                }));
                self.expect(Token::BracketClose, "`]`")?;
            } else {
                srcs.push(self.operand(body, symbols)?);
            }
        }
        debug_assert!(opcode.row().srcs.iter().all(|shape| *shape != Shape::Incoming), "phis are read elsewhere");
        Ok(srcs)
    }

    fn at_word(&mut self, word: &str) -> Parsed<bool> {
        Ok(self.peek()? == Some(Token::Word) && self.text() == word)
    }

    fn call(&mut self, body: &mut Body<'s>, symbols: &HashMap<String, SymbolRef>) -> Parsed<Vec<Operand>> {
        let callee = self.operand(body, symbols)?;
        let arguments = self.parenthesised(body, symbols)?;
        self.expect(Token::Arrow, "`->` and the results")?;
        let results = self.parenthesised(body, symbols)?;
        let count = Operand::Imm(results.len() as u64);
        Ok([callee, count].into_iter().chain(results).chain(arguments).collect())
    }

    fn parenthesised(&mut self, body: &mut Body<'s>, symbols: &HashMap<String, SymbolRef>) -> Parsed<Vec<Operand>> {
        self.expect(Token::ParenOpen, "`(`")?;
        if self.eat(Token::ParenClose)? {
            return Ok(Vec::new());
        }
        let list = self.list(body, symbols)?;
        self.expect(Token::ParenClose, "`)`")?;
        Ok(list)
    }

    fn incoming(&mut self, body: &mut Body<'s>, symbols: &HashMap<String, SymbolRef>) -> Parsed<Vec<Operand>> {
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

    fn list(&mut self, body: &mut Body<'s>, symbols: &HashMap<String, SymbolRef>) -> Parsed<Vec<Operand>> {
        let mut list = vec![self.operand(body, symbols)?];
        while self.eat(Token::Comma)? {
            list.push(self.operand(body, symbols)?);
        }
        Ok(list)
    }

    fn block_operand(&mut self, body: &mut Body<'s>, word: &str) -> Parsed<Operand> {
        match self.block_name(body, word)? {
            Some(block) => {
                body.named.entry(block).or_insert(self.span.clone());
                Ok(Operand::Block(block))
            }
            None => self.fail(format!("expected a block such as `bb1`, found `{word}`")),
        }
    }

    fn operand(&mut self, body: &mut Body<'s>, symbols: &HashMap<String, SymbolRef>) -> Parsed<Operand> {
        match self.peek()? {
            Some(Token::Reg) => {
                self.next()?;
                self.reg_name(body, self.text())
            }
            Some(Token::Number) => self.number("a number").map(Operand::Imm),
            Some(Token::Minus) => {
                self.next()?;
                self.fail("write an immediate as its bits: negative numbers have no width here")
            }
            Some(Token::Symbol) => Ok(match self.symbol(symbols)? {
                SymbolRef::Global(id) => Operand::Global(id),
                SymbolRef::Func(id) => Operand::Func(id),
            }),
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

    fn word_operand(&mut self, body: &mut Body<'s>) -> Parsed<Operand> {
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
            return Ok(Operand::Const { bank, offset });
        }
        if let Some(name) = word.strip_prefix("sr.") {
            return match SpecialReg::from_name(name) {
                Some(reg) => Ok(Operand::Special(reg)),
                None => self.fail(format!("`{word}` is not a special register")),
            };
        }
        self.block_operand(body, word)
    }

    fn finish(&mut self, body: Body<'s>) -> Parsed<Function> {
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

/// Whether a dotted text begins with this (possibly dotted) name.
fn starts_with_name(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Mnemonics that begin like an unknown one.
fn nearest(word: &str) -> Option<String> {
    let prefix: String = word.chars().take(2).collect();
    let near: Vec<_> = crate::ops::ROWS.iter().map(|row| row.name).filter(|name| name.starts_with(&prefix)).collect();
    (!near.is_empty()).then(|| format!("mnemonics that begin alike: {}", near.join(", ")))
}
