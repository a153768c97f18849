//! From words to Ori.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use oriole_ir::ops::{FieldValues, Opcode};
use oriole_ir::{
    Block, Directive, FreeOperand, FuncId, Function, FunctionKind, Guard, InstHead, Level, Linkage, Module, Operand,
    PhysicalReg,
};

use super::lower;
use super::operands::{self, Item};
use super::rows::register;
use crate::class::Flow;
use crate::cubin::{self, Cubin, IndirectBranch};
use crate::encoding::{GUARD, Table};
use crate::instruction::{Instruction, WordError};
use crate::row::{File, Part, What};
use crate::text::{self, WORD_BYTES};

/// Why words are no Ori.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LiftError {
    /// The words of the SM are not known.
    #[error("the words of sm_{0} are not known; those of {list} are", list = crate::encoding::known())]
    Sm(u16),
    /// A word that no encoding reads.
    #[error("{function}, offset {offset:#x}: {error}; `oriole sass` prints the words around it")]
    Word {
        /// The function's name.
        function: String,
        /// The word's offset in the section.
        offset: u64,
        /// What is wrong.
        error: WordError,
    },
}

/// What a function is among.
struct Around<'c> {
    table: &'static Table,
    /// Where other functions begin in the section.
    starts: BTreeMap<u64, FuncId>,
    /// Branches through a register.
    indirect: &'c [IndirectBranch],
}

/// The functions of a cubin: code alone, with nothing relocated. A directive `code` of each says the index of its
/// section and its offset in it.
///
/// # Errors
///
/// If the words of the SM are not known, or a word is none.
pub fn module(cubin: &Cubin) -> Result<Module, LiftError> {
    let sm = cubin.target.sm;
    let table = Table::of(sm).ok_or(LiftError::Sm(sm))?;
    let mut module = Module { target: cubin.target.to_string(), ..Module::default() };
    for (place, it) in cubin.functions.iter().enumerate() {
        let starts = (0..).zip(&cubin.functions).filter(|(_, other)| other.section == it.section);
        let starts = starts.map(|(id, other)| (other.offset, FuncId::from_u32(id))).collect();
        let around = Around { table, starts, indirect: &it.info.indirect_branches };
        debug_assert_eq!(place, module.functions.len());
        module.functions.push(lifted(&around, cubin, it)?);
    }
    Ok(module)
}

fn lifted(around: &Around<'_>, cubin: &Cubin, it: &cubin::Function) -> Result<Function, LiftError> {
    let range = cubin.own_range(it);
    let bytes = cubin.bytes(it.section).get(range.start as usize..range.end as usize).unwrap_or(&[]);
    let words: Vec<u128> = cubin::words(bytes).collect();
    let kind = if it.is_entry { FunctionKind::Entry } else { FunctionKind::Device };
    let mut func = Function::new(it.name.as_str(), kind);
    if it.is_entry {
        func.linkage = Linkage::Visible;
    }
    func.directives.push(Directive { name: lower::PLACE.to_owned(), values: vec![it.section as u64, range.start] });
    Lift::new(around, func, range.start, &words)?.run()
}

/// A function of words that stand alone, at offset 0.
///
/// # Errors
///
/// If the words of the SM are not known, or a word is none.
pub fn function(sm: u16, name: &str, words: &[u128]) -> Result<Function, LiftError> {
    let table = Table::of(sm).ok_or(LiftError::Sm(sm))?;
    let around = Around { table, starts: BTreeMap::new(), indirect: &[] };
    Lift::new(&around, Function::new(name, FunctionKind::Entry), 0, words)?.run()
}

/// The function that is made.
struct Lift<'a> {
    around: &'a Around<'a>,
    func: Function,
    start: u64,
    insts: Vec<Instruction<'static>>,
    /// The blocks by the offsets of their first words.
    blocks: BTreeMap<u64, Block>,
}

impl<'a> Lift<'a> {
    fn new(around: &'a Around<'a>, mut func: Function, start: u64, words: &[u128]) -> Result<Lift<'a>, LiftError> {
        func.level = Level::Machine;
        func.use_physical_registers();
        let read = |(offset, word): (u64, &u128)| {
            let read = around.table.decode(*word).and_then(|inst| match inst.schedule().is_encodable() {
                true => Ok(inst),
                false => Err(WordError::Schedule(crate::encoding::SCHEDULE.get(*word))),
            });
            read.map_err(|error| LiftError::Word { function: func.name.clone(), offset, error })
        };
        let insts = (start..).step_by(WORD_BYTES as usize).zip(words).map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(Lift { around, func, start, insts, blocks: BTreeMap::new() })
    }

    fn range(&self) -> Range<u64> {
        self.start..self.start + self.insts.len() as u64 * WORD_BYTES
    }

    /// The instructions with their offsets.
    fn insts(&self) -> impl Iterator<Item = (u64, &Instruction<'static>)> {
        (self.start..).step_by(WORD_BYTES as usize).zip(&self.insts)
    }

    /// The number of the word at an offset, from 1 on, which the text form shows as a line.
    fn number(&self, offset: u64) -> u32 {
        let number = (offset - self.start) / WORD_BYTES + 1;
        u32::try_from(number).unwrap_or_default()
    }

    fn run(mut self) -> Result<Function, LiftError> {
        for offset in self.leaders() {
            let block = self.func.new_block();
            self.blocks.insert(offset, block);
        }
        let ends: Vec<u64> = self.blocks.keys().skip(1).copied().chain([self.range().end]).collect();
        let blocks: Vec<(u64, Block)> = self.blocks.iter().map(|(offset, block)| (*offset, *block)).collect();
        for ((offset, block), end) in blocks.into_iter().zip(ends) {
            self.block(block, offset..end);
        }
        Ok(self.func)
    }

    /// The offsets at which blocks begin: the start, targets, what follows jumps; the end of the code where control
    /// seems to get there from a jump.
    fn leaders(&self) -> BTreeSet<u64> {
        let range = self.range();
        let mut leaders = BTreeSet::from([range.start]);
        for (offset, inst) in self.insts() {
            let next = offset + WORD_BYTES;
            leaders.extend(self.targets(inst, offset));
            if inst.encoding.class.flow.ends_block() && (next < range.end || falls_through(inst)) {
                leaders.insert(next);
            }
        }
        leaders
    }

    /// The offsets in the function that an instruction names or can go to.
    fn targets(&self, inst: &Instruction<'_>, offset: u64) -> Vec<u64> {
        let named = inst.target(offset).filter(|target| self.callee(inst, *target).is_none());
        let indirect = self.around.indirect.iter().filter(|branch| u64::from(branch.offset) == offset);
        let reached = indirect.flat_map(|branch| branch.targets.iter().map(|target| u64::from(*target)));
        let (range, mut seen) = (self.range(), BTreeSet::new());
        let inside = |target: &u64| range.contains(target) && target.is_multiple_of(WORD_BYTES) && seen.insert(*target);
        named.into_iter().chain(reached).filter(inside).collect()
    }

    /// The function that a target is the start of, for all but jumps.
    fn callee(&self, inst: &Instruction<'_>, target: u64) -> Option<FuncId> {
        self.around.starts.get(&target).copied().filter(|_| inst.encoding.class.flow != Flow::Jump)
    }

    fn block(&mut self, block: Block, range: Range<u64>) {
        let mut ends = false;
        for offset in range.clone().step_by(WORD_BYTES as usize) {
            let inst = self.insts[((offset - self.start) / WORD_BYTES) as usize];
            ends = inst.encoding.class.flow.ends_block();
            self.inst(block, &inst, offset);
        }
        if !ends {
            let (opcode, target) = match self.blocks.get(&range.end).filter(|_| !range.is_empty()) {
                Some(next) => (Opcode::Bra, Some(Operand::Block(*next))),
                None => (Opcode::MachineEnd, None),
            };
            self.append(block, InstHead { line: self.number(range.end), ..head(opcode) }, &[], target.as_slice());
        }
    }

    fn append(&mut self, block: Block, head: InstHead, dsts: &[Operand], srcs: &[Operand]) -> oriole_ir::Inst {
        let inst = self.func.new_inst(head, dsts, srcs, &[]);
        self.func.append_inst(block, inst);
        inst
    }

    fn inst(&mut self, block: Block, inst: &Instruction<'_>, offset: u64) {
        let (dsts, srcs) = self.operands(inst, offset);
        let mnemonic = operands::mnemonic(inst.encoding, inst.word);
        let said = lower::word_of(self.around.table, &self.func, &mnemonic, &dsts, &srcs, &|_| inst.target_value());
        let unsaid = said.map(|word| (word ^ inst.word) & !(GUARD.mask() | crate::encoding::SCHEDULE.mask()));
        let id = register().identify(&mnemonic).expect("a mnemonic of the table has a row");
        let opcode = self.func.machine_opcode(id, &srcs).expect("it is a row's");
        let head = InstHead { guard: guard(inst), fields: id.fields(), line: self.number(offset), ..head(opcode) };
        let made = self.append(block, head, &dsts, &srcs);
        self.func.set_schedule(made, Some(inst.schedule()));
        self.func.set_unsaid_bits(made, unsaid.unwrap_or_default());
    }

    /// Results and sources.
    fn operands(&mut self, inst: &Instruction<'_>, offset: u64) -> (Vec<Operand>, Vec<Operand>) {
        let (mut dsts, mut srcs) = (Vec::new(), Vec::new());
        for part in operands::ordered(inst.encoding) {
            if let Some(target) = self.target(inst, part, offset) {
                srcs.push(target);
                continue;
            }
            let mut items = Vec::new();
            operands::of_part(inst.encoding, part, inst.word, &mut items);
            for (item, is_result) in items {
                let operand = self.operand(item);
                if is_result { &mut dsts } else { &mut srcs }.push(operand);
            }
        }
        srcs.extend(self.ways(inst, offset).into_iter().map(Operand::Block));
        (dsts, srcs)
    }

    /// The block or function that a part is the target of.
    fn target(&self, inst: &Instruction<'_>, part: &Part, offset: u64) -> Option<Operand> {
        let is_target = matches!(part.what, What::Target | What::TargetBehind);
        let target = is_target.then(|| text::target(part, inst.word, offset))?;
        let callee = self.callee(inst, target).map(Operand::Func);
        callee
            .or_else(|| self.blocks.get(&target).filter(|_| self.range().contains(&target)).map(|b| Operand::Block(*b)))
    }

    /// The blocks that a jump can go to, but for the target that its operands have.
    fn ways(&self, inst: &Instruction<'_>, offset: u64) -> Vec<Block> {
        if !inst.encoding.class.flow.ends_block() {
            return Vec::new();
        }
        let direct = inst.target(offset);
        let indirect = self.targets(inst, offset).into_iter().filter(|target| Some(*target) != direct);
        let next = falls_through(inst).then_some(offset + WORD_BYTES);
        indirect.chain(next).filter_map(|target| self.blocks.get(&target).copied()).collect()
    }

    fn operand(&mut self, item: Item) -> Operand {
        let named = |reg: PhysicalReg| reg.operand().expect("the files have these registers");
        match item {
            Item::Reg(reg, modifiers) => named(reg).with_modifiers(modifiers).expect("registers take modifiers"),
            Item::Imm(bits) => self.func.bind(FreeOperand::Imm(bits)),
            Item::Const { bank, offset, modifiers } => Operand::Const { bank, offset, modifiers },
            Item::Name(name) => self.func.name(name),
            Item::Special(number) => self.func.name(&format!("{}{number}", lower::SPECIAL)),
        }
    }
}

fn head(opcode: Opcode) -> InstHead {
    InstHead { opcode, fields: FieldValues::default(), guard: None, line: 0 }
}

/// The guard, unless it always holds.
fn guard(inst: &Instruction<'_>) -> Option<Guard> {
    let part = &inst.encoding.guard;
    let (number, is_inverted) = (part.value(inst.word) as u8, part.has(part.invert, inst.word));
    let is_constant = u64::from(number) == part.at.largest();
    let file = part.file().and_then(operands::file)?;
    let reg = PhysicalReg { file, number, words: 1 }.reg()?;
    (!is_constant || is_inverted).then(|| Guard::new(reg, is_inverted))
}

/// Whether control may continue to the next instruction: by the guard, a predicate, or what other lanes do.
fn falls_through(inst: &Instruction<'_>) -> bool {
    let is_conditional = |part: &Part| match part.file() {
        Some(File::P | File::Up) => {
            let always = part.constant_number() == Some(part.number(inst.word)) && !part.has(part.invert, inst.word);
            part.is_used(inst.word) && !always
        }
        _ => false,
    };
    let by_lanes = inst.has("DIV") || inst.has("CONV") || inst.has("ANY");
    !inst.encoding.class.flow.ends_block()
        || is_conditional(&inst.encoding.guard)
        || by_lanes
        || inst.encoding.parts.iter().any(is_conditional)
}
