//! From Ori to words.

use std::collections::BTreeMap;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, FuncId, Function, Guard, Inst, Modifiers, Module, Operand, PhysicalReg, inst_to_string};

use super::operands::{self, Item, Placed};
use crate::encoding::{Encoding, GUARD, Table};
use crate::instruction::with_schedule;
use crate::row::{Part, Show, What};
use crate::text::WORD_BYTES;

/// The directive of a function that says where its code stands: the index of its section, the offset in it.
pub const PLACE: &str = "code";
/// What precedes the number of a special register without a name.
pub const SPECIAL: &str = "SR";

/// Why Ori is no words.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LowerError {
    /// The words of the module's target are not known.
    #[error("the words of {target} are not known; those of {list} are", list = crate::encoding::known())]
    Target {
        /// The target.
        target: String,
    },
    /// No instruction of the machine.
    #[error("{function}, {block}: `{text}` is no instruction of the machine; lift a function to see how they look")]
    Opcode {
        /// The function's name.
        function: String,
        /// The block.
        block: Block,
        /// The instruction.
        text: String,
    },
    /// The SM has no such mnemonic, or not with these modifiers and operands.
    #[error("{function}, {block}: sm_{sm} has no `{text}`; {help}")]
    Operands {
        /// The function's name.
        function: String,
        /// The block.
        block: Block,
        /// The instruction.
        text: String,
        /// The SM.
        sm: u16,
        /// What it has.
        help: String,
    },
    /// Control continues to a block that does not follow.
    #[error("{function}, {block}: `{text}` goes on to a block that does not stand behind; order the blocks so")]
    Order {
        /// The function's name.
        function: String,
        /// The block.
        block: Block,
        /// The instruction.
        text: String,
    },
}

/// The words of a function of the machine level in physical form.
///
/// # Errors
///
/// If the words of the target are not known, an instruction is none of the machine, or blocks are in another order
/// than control goes through them.
pub fn lower(module: &Module, id: FuncId) -> Result<Vec<u128>, LowerError> {
    let table = module.sm().and_then(|target| Table::of(target.number()));
    let table = table.ok_or_else(|| LowerError::Target { target: module.target.clone() })?;
    Lower::new(table, module, id).run()
}

pub(super) struct Lower<'m> {
    table: &'static Table,
    module: &'m Module,
    func: &'m Function,
    /// The section and the offset of the first word.
    start: (u64, u64),
    blocks: BTreeMap<Block, u64>,
}

/// Where a function's code stands: its section and its offset in it.
pub(super) fn place(func: &Function) -> (u64, u64) {
    let found = func.directives.iter().find(|directive| directive.name == PLACE);
    found.map_or((0, 0), |directive| match directive.values[..] {
        [section, offset, ..] => (section, offset),
        _ => (0, 0),
    })
}

/// Whether an instruction is a word.
pub(super) fn is_word(func: &Function, inst: Inst) -> bool {
    func.inst(inst).is(Flags::MACHINE)
}

impl<'m> Lower<'m> {
    fn new(table: &'static Table, module: &'m Module, id: FuncId) -> Lower<'m> {
        let func = &module.functions[id];
        let mut offset = place(func).1;
        let mut blocks = BTreeMap::new();
        for block in func.layout() {
            blocks.insert(*block, offset);
            let words = func.block_insts(*block).filter(|inst| is_word(func, *inst)).count() as u64;
            offset = offset.wrapping_add(words * WORD_BYTES);
        }
        Lower::with_blocks(table, module, id, blocks)
    }

    /// Lowers a function whose blocks begin at these offsets.
    pub(super) fn with_blocks(
        table: &'static Table,
        module: &'m Module,
        id: FuncId,
        blocks: BTreeMap<Block, u64>,
    ) -> Lower<'m> {
        let func = &module.functions[id];
        Lower { table, module, func, start: place(func), blocks }
    }

    fn run(&self) -> Result<Vec<u128>, LowerError> {
        let mut words = Vec::new();
        let next = self.func.layout().iter().skip(1).map(Some).chain([None]);
        for (block, next) in self.func.layout().iter().zip(next) {
            for inst in self.func.block_insts(*block) {
                self.order(*block, next.copied(), inst)?;
                if is_word(self.func, inst) {
                    let offset = self.start.1.wrapping_add(words.len() as u64 * WORD_BYTES);
                    words.push(self.word(*block, inst, offset)?);
                }
            }
        }
        Ok(words)
    }

    fn text(&self, inst: Inst) -> String {
        inst_to_string(self.func, inst, Some(self.module))
    }

    /// The last block of what continues without a jump stands behind.
    pub(super) fn order(&self, block: Block, next: Option<Block>, inst: Inst) -> Result<(), LowerError> {
        let (function, text) = (|| self.func.name.clone(), || self.text(inst));
        match self.func.inst(inst).opcode {
            Opcode::MachineEnd => Ok(()),
            _ if is_word(self.func, inst) => Ok(()),
            Opcode::Bra if self.func.successors(block).next() == next => Ok(()),
            Opcode::Bra => Err(LowerError::Order { function: function(), block, text: text() }),
            _ => Err(LowerError::Opcode { function: function(), block, text: text() }),
        }
    }

    /// The word of an instruction that is at an offset.
    pub(super) fn word(&self, block: Block, inst: Inst, offset: u64) -> Result<u128, LowerError> {
        let func = self.func;
        let target = |operand: Operand| {
            let to = match operand {
                Operand::Block(block) => self.blocks.get(&block).copied(),
                Operand::Func(id) => {
                    self.module.functions.get(id).map(place).filter(|p| p.0 == self.start.0).map(|p| p.1)
                }
                _ => None,
            }?;
            Some((to.wrapping_sub(offset).wrapping_sub(WORD_BYTES) as i64 >> 2) as u64)
        };
        let guard = func.inst(inst).guard.map(|guard| (guard.reg(), guard.negated()));
        let schedule = func.schedule(inst).unwrap_or_default();
        let mnemonic = func.mnemonic(inst).unwrap_or_default();
        let built = word_of(self.table, func, &mnemonic, func.dsts(inst), func.srcs(inst), &target);
        let built = built.map(|word| word ^ func.unsaid_bits(inst)).and_then(|word| guarded(self.table, word, guard));
        let built = built.and_then(|word| with_schedule(word, &schedule));
        built.ok_or_else(|| self.refuse(block, inst))
    }

    #[cold]
    fn refuse(&self, block: Block, inst: Inst) -> LowerError {
        let (function, text, sm) = (self.func.name.clone(), self.text(inst), self.table.sm);
        let mnemonic = self.func.mnemonic(inst).unwrap_or_default();
        let family = mnemonic.split('.').next().unwrap_or_default();
        let mut known: Vec<&str> = self.table.of_family(family).map(|encoding| encoding.name).collect();
        known.dedup();
        let help = match known[..] {
            [] => "no mnemonic begins so".to_owned(),
            _ => format!("modifiers, operands, or their order are others: it has {}", known.join(", ")),
        };
        LowerError::Operands { function, block, text, sm, help }
    }
}

/// The word with a guard: one of the file that its encoding says.
pub(super) fn guarded(table: &Table, word: u128, guard: Option<(oriole_ir::Reg, bool)>) -> Option<u128> {
    let part = table.find(word)?.guard;
    let (number, is_inverted) = match guard {
        None => (part.at.largest(), false),
        Some((reg, is_inverted)) => {
            let reg = PhysicalReg::of(reg)?;
            let fits = part.file().and_then(operands::file) == Some(reg.file);
            (Some(u64::from(reg.number)).filter(|_| fits)?, is_inverted)
        }
    };
    part.put(word & !GUARD.mask(), number).map(|word| word | u128::from(is_inverted) << part.invert)
}

/// The word of an instruction, without scheduling, where the SM has one: what is no register is written as it stands,
/// and no operand is a block.
pub fn encode(
    table: &Table,
    func: &Function,
    mnemonic: &str,
    guard: Option<Guard>,
    dsts: &[Operand],
    srcs: &[Operand],
) -> Option<u128> {
    let word = word_of(table, func, mnemonic, dsts, srcs, &|_| None)?;
    guarded(table, word, guard.map(|guard| (guard.reg(), guard.negated())))
}

/// The word of an instruction with this mnemonic, without guard and scheduling. `target` is the distance that stands
/// for a block or a function, in words of four bytes.
pub fn word_of(
    table: &Table,
    func: &Function,
    mnemonic: &str,
    dsts: &[Operand],
    srcs: &[Operand],
    target: &dyn Fn(Operand) -> Option<u64>,
) -> Option<u128> {
    let family = mnemonic.split('.').next()?;
    let mut found = table.of_family(family).filter_map(|encoding| {
        let rest = mnemonic.strip_prefix(encoding.name).filter(|rest| rest.is_empty() || rest.starts_with('.'))?;
        let parts: Vec<&Part> = operands::ordered(encoding).filter(|part| part.show != Show::Never).collect();
        Match { encoding, func, dsts, srcs, target, parts }.modifiers(0, rest, start(encoding))
    });
    found.next()
}

/// What is fixed, and what nothing reads as ptxas writes it: of registers the constant one.
fn start(encoding: &Encoding) -> u128 {
    let unread = encoding.parts.iter().filter(|part| part.show == Show::Never);
    let usual = |part: &Part| part.constant_number().unwrap_or(part.usual);
    unread.fold(encoding.value, |word, part| part.put(word, usual(part)).unwrap_or(word))
}

/// An instruction held against an encoding.
struct Match<'a> {
    encoding: &'a Encoding,
    func: &'a Function,
    dsts: &'a [Operand],
    srcs: &'a [Operand],
    target: &'a dyn Fn(Operand) -> Option<u64>,
    /// The parts that are written.
    parts: Vec<&'a Part>,
}

impl Match<'_> {
    /// The word whose modifiers, from a part on, have the names in the text.
    fn modifiers(&self, from: usize, text: &str, word: u128) -> Option<u128> {
        let next = self.parts[from..].iter().position(|part| matches!(part.what, What::Modifier(_)));
        let Some(at) = next.map(|next| from + next) else {
            return if text.is_empty() { self.operands(word) } else { None };
        };
        let part = self.parts[at];
        let What::Modifier(names) = part.what else { return None };
        let fits = |name: &str| match text.strip_prefix('.').and_then(|text| text.strip_prefix(name)) {
            _ if name.is_empty() => Some(text.len()),
            Some(rest) if rest.is_empty() || rest.starts_with('.') => Some(rest.len()),
            _ => None,
        };
        operands::codes(names)
            .filter_map(|(code, name)| Some((code, fits(name)?)))
            .find_map(|(code, left)| self.modifiers(at + 1, &text[text.len() - left..], part.put(word, code)?))
    }

    /// The word with all operands, of one with its modifiers.
    fn operands(&self, mut word: u128) -> Option<u128> {
        let (mut dsts, mut srcs) = (self.dsts, self.srcs);
        let mut taken = Vec::new();
        for part in &self.parts {
            if let Some(file) = operands::predicates(part) {
                let list = if part.is_written() { &mut dsts } else { &mut srcs };
                let of_file = |operand: &&Operand| self.reg(**operand).is_some_and(|(reg, _)| reg.file == file);
                let (predicates, rest) = list.split_at(list.iter().take_while(of_file).count());
                *list = rest;
                taken.push((*part, predicates));
                continue;
            }
            word = self.part(part, word, &mut dsts, &mut srcs)?;
        }
        let ways = srcs.iter().all(|operand| operand.block().is_some());
        let masked = taken.iter().all(|(part, predicates)| self.are_masked(part, word, predicates));
        (dsts.is_empty() && ways && masked).then_some(word)
    }

    /// Whether these are the predicates that a word such as `PR` stands for, as the mask behind it says.
    fn are_masked(&self, part: &Part, word: u128, predicates: &[Operand]) -> bool {
        let mut items = Vec::new();
        operands::of_part(self.encoding, part, word, &mut items);
        let found = predicates.iter().map(|operand| self.reg(*operand).map(|(reg, marks)| Item::Reg(reg, marks)));
        found.eq(items.into_iter().map(|(item, _)| Some(item)))
    }

    /// The word with one part: what the next operand seems to say, if that says all of these operands.
    fn part<'s>(&self, part: &Part, word: u128, dsts: &mut &'s [Operand], srcs: &mut &'s [Operand]) -> Option<u128> {
        if matches!(part.what, What::Target | What::TargetBehind)
            && let Some((first, rest)) = srcs.split_first()
            && let Operand::Block(_) | Operand::Func(_) = first
        {
            *srcs = rest;
            let len = part.at.len + part.above.len;
            return part.put(word, (self.target)(*first)? & 1u64.checked_shl(len.into())?.wrapping_sub(1));
        }
        let (mut made, mut items) = (self.guess(part, word, dsts, srcs)?, Vec::new());
        made = self.suffix(part, made, srcs)?;
        operands::of_part(self.encoding, part, made, &mut items);
        items.iter().all(|item| self.takes(item, dsts, srcs)).then_some(made)
    }

    /// Whether the next operand is this one; then it is taken.
    fn takes<'s>(&self, (item, is_result): &Placed, dsts: &mut &'s [Operand], srcs: &mut &'s [Operand]) -> bool {
        let list = if *is_result { dsts } else { srcs };
        let Some((first, rest)) = list.split_first() else { return false };
        *list = rest;
        match *item {
            Item::Reg(reg, modifiers) => self.reg(*first) == Some((reg, modifiers)),
            Item::Imm(bits) => self.func.free(*first).imm() == Some(bits),
            Item::Const { bank, offset, modifiers } => *first == Operand::Const { bank, offset, modifiers },
            Item::Name(name) => self.func.text(*first) == Some(name),
            Item::Special(number) => self.special(*first) == Some(number),
        }
    }

    fn reg(&self, operand: Operand) -> Option<(PhysicalReg, Modifiers)> {
        let reg = match operand {
            Operand::Wired { file, words, .. } => PhysicalReg::wired(file, words),
            Operand::Reg(reg) | Operand::Modified { reg, word: None, .. } => PhysicalReg::of(reg),
            _ => None,
        };
        Some((reg?, operand.modifiers()))
    }

    fn special(&self, operand: Operand) -> Option<u8> {
        self.func.text(operand)?.strip_prefix(SPECIAL)?.parse().ok()
    }

    /// The word with the value that the operands begin with.
    fn guess(&self, part: &Part, word: u128, dsts: &[Operand], srcs: &[Operand]) -> Option<u128> {
        let (dst, src) = (dsts.first().copied(), srcs.first().copied());
        match part.what {
            What::Modifier(_) | What::Word(_) | What::B(_) | What::C(_) | What::Low(_) => Some(word),
            What::Mark(names) => {
                let name = src.and_then(|src| self.func.text(src));
                let named = operands::codes(names).find(|(_, known)| Some(*known) == name);
                part.put(word, named.or_else(|| operands::codes(names).find(|(_, name)| name.is_empty()))?.0)
            }
            What::Name(names) => {
                let name = self.func.text(src?)?;
                part.put(word, operands::codes(names).find(|(_, known)| *known == name)?.0)
            }
            What::Special(names) => {
                let name = self.func.text(src?)?;
                let named = operands::codes(names).find(|(_, known)| *known == name).map(|(code, _)| code);
                part.put(word, named.or_else(|| self.special(src?).map(u64::from))?)
            }
            What::Constant | What::ConstantByte => {
                let Operand::Const { bank, offset, modifiers } = src? else { return None };
                let scale = if part.what == What::Constant { 4 } else { 1 };
                let value = u64::from(offset / scale) << part.at.len | u64::from(bank);
                self.marked(part, part.put(word, value)?, modifiers)
            }
            What::Immediate(_)
            | What::Offset
            | What::WideOffset
            | What::Target
            | What::TargetByte
            | What::TargetBehind
            | What::Distance
            | What::Place
            | What::Mask => part.put(word, self.func.free(src?).imm()?),
            What::Bindless | What::BindlessByte => {
                let offset = srcs.iter().skip(1).find_map(|operand| self.func.free(*operand).imm())?;
                let fits = offset <= part.above.largest();
                self.register(part, fits.then(|| part.above.put(word, offset))?, src?)
            }
            _ => {
                let result = dst.filter(|_| part.is_written());
                let as_result = result.and_then(|dst| self.register(part, word, dst));
                let is_one = |word: &u128| operands::is_named(self.encoding, part, *word);
                as_result.filter(is_one).or_else(|| self.register(part, word, src?))
            }
        }
    }

    /// The word with a register, or with the number of one that it does not use.
    fn register(&self, part: &Part, word: u128, operand: Operand) -> Option<u128> {
        let put = |word, number| match part.what {
            What::Bindless | What::BindlessByte => (number <= part.at.largest()).then(|| part.at.put(word, number)),
            _ => part.put(word, number),
        };
        if let Some(number) = self.func.free(operand).imm() {
            return put(word, number);
        }
        let (reg, modifiers) = self.reg(operand)?;
        let fits = part.file().and_then(operands::file) == Some(reg.file);
        let number = if reg.is_constant() { part.constant_number()? } else { u64::from(reg.number) };
        let is_own = reg.is_constant() || part.constant_number() != Some(number);
        self.marked(part, put(word, number).filter(|_| fits && is_own)?, modifiers)
    }

    fn marked(&self, part: &Part, word: u128, modifiers: Modifiers) -> Option<u128> {
        let mut left = modifiers;
        let mut word = word;
        for (bit, modifier) in operands::marks(part) {
            word &= !(1 << bit);
            if left.has(modifier) {
                word |= 1 << bit;
                left = left.without(modifier);
            }
        }
        left.is_none().then_some(word)
    }

    /// The word with the name that follows the part's operands; with the code that has no name where none does.
    fn suffix(&self, part: &Part, word: u128, srcs: &[Operand]) -> Option<u128> {
        let Some((bits, names)) = part.suffix.filter(|(bits, _)| !bits.is_empty()) else { return Some(word) };
        let unnamed = operands::codes(names).find(|(_, name)| name.is_empty()).map(|(code, _)| bits.put(word, code));
        let mut items = Vec::new();
        let probe = unnamed.unwrap_or(word);
        operands::of_part(self.encoding, part, probe, &mut items);
        let own = items.iter().filter(|(item, is_result)| !is_result && !matches!(item, Item::Name(_))).count();
        let name = srcs.get(own).and_then(|operand| self.func.text(*operand));
        let named = operands::codes(names).find(|(_, known)| !known.is_empty() && Some(*known) == name);
        named.map(|(code, _)| bits.put(word, code)).or(unnamed)
    }
}
