//! Definitions, copies and groups of a selected function, and which registers take part.

use cranelift_entity::SecondaryMap;
use oriole_ir::{Function, Inst, Operand, Reg, RegFile};
use oriole_pass::analysis::{Cfg, Dominators};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::roles::{self, Role};
use crate::select::Selected;

/// A copy of a word under no guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copy {
    /// The instruction.
    pub inst: Inst,
    /// A register of one word, or a word of a group.
    pub to: Operand,
    /// The same, a number, or a word of a constant bank.
    pub from: Operand,
}

/// A value by which groups are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    /// A word of a register.
    Word(Reg, u8),
    /// A number.
    Number(u64),
    /// A word of a constant bank.
    Bank(u8, u32),
    /// The register that is zero.
    Zero,
}

/// The facts.
#[derive(Debug)]
pub struct Facts {
    cfg: Cfg,
    dominators: Dominators,
    /// By instruction: its number in the order of the layout, and its block's.
    numbers: SecondaryMap<Inst, u32>,
    /// By instruction: how many up to it are neither copies nor take words alone.
    steps: SecondaryMap<Inst, u32>,
    blocks: SecondaryMap<Inst, Option<oriole_ir::Block>>,
    /// By register: the definition of each word; none of those that do not take part.
    definitions: SecondaryMap<Reg, SmallVec<[Inst; 4]>>,
    copies: Vec<Copy>,
}

impl Facts {
    /// Those of a function as it is.
    pub fn of(selected: &Selected) -> Facts {
        let func = &selected.func;
        let cfg = Cfg::new(func);
        let dominators = Dominators::new(&cfg);
        let mut facts = Facts {
            cfg,
            dominators,
            numbers: SecondaryMap::new(),
            steps: SecondaryMap::new(),
            blocks: SecondaryMap::new(),
            definitions: SecondaryMap::new(),
            copies: Vec::new(),
        };
        facts.find_definitions(selected);
        let is_reached = |inst: &Inst| facts.blocks[*inst].is_some_and(|block| facts.cfg.rpo_number(block).is_some());
        let insts = func.layout_insts().filter(is_reached);
        facts.copies = insts.filter_map(|inst| copied(func, inst)).collect();
        facts
    }

    /// Registers whose words have one definition each that dominates all reads; not those that have a place already, or
    /// are side by side with others.
    fn find_definitions(&mut self, selected: &Selected) {
        let func = &selected.func;
        let mut found: SecondaryMap<Reg, SmallVec<[Option<Inst>; 4]>> = SecondaryMap::new();
        let mut out: SecondaryMap<Reg, bool> = SecondaryMap::new();
        let fixed = selected.fixed.iter().chain(&selected.results).map(|(reg, _)| *reg).chain(selected.stack);
        let fixed = fixed.chain(selected.bundles.iter().flatten().copied());
        fixed.for_each(|reg| out[reg] = true);
        let (mut number, mut steps) = (0, 0);
        for block in func.layout() {
            for inst in func.block_insts(*block) {
                (self.numbers[inst], self.blocks[inst]) = (number, Some(*block));
                number += 1;
                steps += u32::from(!matches!(roles::of(func, inst), Role::Copy | Role::Words));
                self.steps[inst] = steps;
                let is_certain = func.inst(inst).guard.is_none() && self.cfg.rpo_number(*block).is_some();
                for (reg, words) in func.dsts(inst).iter().filter_map(|dst| words(func, *dst)) {
                    found[reg].resize(func.regs()[reg].words.into(), None);
                    for word in words {
                        out[reg] |= !is_certain || found[reg][usize::from(word)].is_some();
                        found[reg][usize::from(word)] = Some(inst);
                    }
                }
            }
        }
        for inst in func.layout_insts() {
            for (reg, mut words) in func.inputs(inst).iter().filter_map(|src| words(func, *src)) {
                let defined = |word: u8| found[reg].get(usize::from(word)).copied().flatten();
                let is_reached = self.blocks[inst].is_some_and(|block| self.cfg.rpo_number(block).is_some());
                let is_defined = |word: u8| defined(word).is_some_and(|made| self.is_before(made, inst));
                out[reg] |= !is_reached || !words.all(is_defined);
            }
        }
        for (reg, info) in func.regs().iter() {
            let all: Option<SmallVec<[Inst; 4]>> = found[reg].iter().copied().collect();
            if let Some(all) = all.filter(|_| !out[reg] && info.file == RegFile::R) {
                self.definitions[reg] = all;
            }
        }
    }

    /// The number of an instruction in the order of the layout.
    pub fn number(&self, inst: Inst) -> u32 {
        self.numbers[inst]
    }

    /// How many instructions between one and a copy may name groups: all but copies and those that take words alone.
    pub fn distance(&self, first: Inst, last: Inst) -> u32 {
        self.steps[last].saturating_sub(self.steps[first])
    }

    /// Whether an instruction was executed whenever another one is.
    pub fn is_before(&self, first: Inst, other: Inst) -> bool {
        match (self.blocks[first], self.blocks[other]) {
            (Some(one), Some(two)) if one == two => self.numbers[first] < self.numbers[other],
            (Some(one), Some(two)) => self.dominators.dominates(&self.cfg, one, two),
            _ => false,
        }
    }

    /// Whether a register takes part.
    pub fn is_simple(&self, reg: Reg) -> bool {
        !self.definitions[reg].is_empty()
    }

    /// The definition of a word of a register that takes part.
    pub fn definition(&self, reg: Reg, word: u8) -> Option<Inst> {
        self.definitions[reg].get(usize::from(word)).copied()
    }

    /// The copies, in the order of the layout.
    pub fn copies(&self) -> Vec<Copy> {
        self.copies.clone()
    }

    /// The groups whose words are all copied, in the order of their first copies; a word by its place in each.
    pub fn groups(&self) -> Vec<(Reg, SmallVec<[Copy; 4]>)> {
        let mut by_group: FxHashMap<Reg, SmallVec<[Copy; 4]>> = FxHashMap::default();
        for copy in &self.copies {
            if let Operand::Word(group, _) = copy.to
                && self.is_simple(group)
            {
                by_group.entry(group).or_default().push(*copy);
            }
        }
        let is_whole = |group: &Reg, words: &SmallVec<[Copy; 4]>| words.len() == self.definitions[*group].len();
        let mut groups: Vec<(Reg, SmallVec<[Copy; 4]>)> =
            by_group.into_iter().filter(|(group, words)| is_whole(group, words)).collect();
        groups.sort_by_key(|(_, words)| self.numbers[words[0].inst]);
        for (_, words) in &mut groups {
            words.sort_by_key(|copy| match copy.to {
                Operand::Word(_, word) => word,
                _ => 0,
            });
        }
        groups
    }

    /// Whether what a copy writes may be read at its source.
    pub fn may_replace(&self, copy: Inst, to: Reg, from: Operand) -> bool {
        let word = match from {
            Operand::Reg(_) => 0,
            Operand::Word(_, word) => word,
            _ => return false,
        };
        let made = from.reg().and_then(|reg| self.definition(reg, word));
        self.definition(to, 0) == Some(copy) && from.reg() != Some(to) && made.is_some()
    }

    /// The value of a source, if that is the same wherever it is read.
    pub fn key(&self, func: &Function, from: Operand) -> Option<Key> {
        Some(match from {
            Operand::Reg(reg) if self.is_simple(reg) => Key::Word(reg, 0),
            Operand::Word(reg, word) if self.is_simple(reg) => Key::Word(reg, word),
            Operand::Const { bank, offset, modifiers } if modifiers.is_none() => Key::Bank(bank, offset),
            Operand::Wired { file: RegFile::R, modifiers, .. } if modifiers.is_none() => Key::Zero,
            other => Key::Number(func.imm_bits(other)?),
        })
    }
}

/// The words of a register that an operand names.
pub fn words(func: &Function, operand: Operand) -> Option<(Reg, std::ops::Range<u8>)> {
    Some(match operand {
        Operand::Reg(reg) | Operand::Modified { reg, word: None, .. } => (reg, 0..func.regs()[reg].words.max(1)),
        Operand::Word(reg, word) | Operand::Modified { reg, word: Some(word), .. } => (reg, word..word + 1),
        _ => return None,
    })
}

/// The copy that an instruction is.
fn copied(func: &Function, inst: Inst) -> Option<Copy> {
    let ([to], Some(from)) = (func.dsts(inst), func.srcs(inst).first()) else { return None };
    let is_word = func.operand_info(*to).is_some_and(|info| info.words == 1 && info.file == RegFile::R);
    let is_general = func.operand_info(*from).is_none_or(|info| info.words == 1 && info.file == RegFile::R);
    // A mask of lanes that leaves some out keeps what they had.
    let is_whole = func.srcs(inst).get(1).is_none_or(|mask| func.imm_bits(*mask) == Some(0xf));
    let is_plain = func.inst(inst).guard.is_none() && from.modifiers().is_none() && is_whole;
    let is_copy = roles::of(func, inst) == Role::Copy && is_word && is_general && is_plain;
    is_copy.then_some(Copy { inst, to: *to, from: *from })
}
