//! Whether words say what they were made of: they are decoded, and compared with the instructions one by one.
//!
//! Which register, number, name, modifier, guard and scheduling control an instruction has must come back; of a jump
//! the word that it leads to. The number of a call is an offset from elsewhere, and is left out.

use std::collections::BTreeMap;

use oriole_ir::ops::Flags;
use oriole_ir::{Block, Function, Inst, Modifiers, Operand, PhysicalReg, inst_to_string};
use oriole_sass::ori;

/// The first instruction whose word says something else, and what it says; `None` where all say what they should.
pub fn differing(func: &Function, words: &[u128], sm: u16) -> Option<String> {
    let own = insts(func);
    if own.len() != words.len() {
        return Some(format!("{}: {} instructions are {} words", func.name, own.len(), words.len()));
    }
    let read = match ori::function(sm, &func.name, words) {
        Ok(read) => read,
        Err(error) => return Some(error.to_string()),
    };
    let (before, after) = (starts(func), starts(&read));
    let found = own.iter().zip(insts(&read)).find(|(own, inst)| {
        let ours = Said::of(func, **own, &before);
        let theirs = Said::of(&read, *inst, &after);
        !ours.is_like(&theirs)
    });
    let (own, inst) = found?;
    let [wanted, said] = [(func, *own), (&read, inst)].map(|(func, inst)| inst_to_string(func, inst, None));
    let of = |func: &Function, inst| func.schedule(inst).unwrap_or_default().to_string();
    let (control, read_control) = (of(func, *own), of(&read, inst));
    Some(format!("{}: the word of `{wanted}` ({control}) says `{said}` ({read_control})", func.name))
}

/// The instructions that are words.
fn insts(func: &Function) -> Vec<Inst> {
    func.layout_insts().filter(|inst| func.inst(*inst).is(Flags::MACHINE)).collect()
}

/// By block: how many words are before it.
fn starts(func: &Function) -> BTreeMap<Block, usize> {
    let (mut starts, mut words) = (BTreeMap::new(), 0);
    for block in func.layout() {
        starts.insert(*block, words);
        words += func.block_insts(*block).filter(|inst| func.inst(*inst).is(Flags::MACHINE)).count();
    }
    starts
}

/// An operand as a word says it.
#[derive(PartialEq, Eq, Debug)]
enum Part {
    Reg(PhysicalReg, Modifiers),
    Number(u64),
    Const(u8, u32, Modifiers),
    Name(String),
    Word(usize),
    Elsewhere,
}

/// An instruction as its word says it.
#[derive(Debug)]
struct Said {
    mnemonic: Option<String>,
    guard: Option<(PhysicalReg, bool)>,
    schedule: oriole_ir::Schedule,
    parts: Vec<Part>,
}

impl Said {
    fn of(func: &Function, inst: Inst, starts: &BTreeMap<Block, usize>) -> Said {
        let part = |operand: &Operand| match *operand {
            Operand::Block(block) => Part::Word(starts.get(&block).copied().unwrap_or(usize::MAX)),
            Operand::Const { bank, offset, modifiers } => Part::Const(bank, offset, modifiers),
            Operand::Wired { file, words, .. } => {
                PhysicalReg::wired(file, words).map_or(Part::Elsewhere, |reg| Part::Reg(reg, operand.modifiers()))
            }
            Operand::Reg(reg) | Operand::Modified { reg, word: None, .. } => {
                PhysicalReg::of(reg).map_or(Part::Elsewhere, |reg| Part::Reg(reg, operand.modifiers()))
            }
            _ => match (func.text(*operand), func.imm_bits(*operand)) {
                (Some(text), _) => Part::Name(text.to_owned()),
                (None, Some(bits)) => Part::Number(bits),
                (None, None) => Part::Elsewhere,
            },
        };
        let data = func.inst(inst);
        Said {
            mnemonic: func.mnemonic(inst),
            guard: data.guard.and_then(|guard| Some((PhysicalReg::of(guard.reg())?, guard.negated()))),
            schedule: func.schedule(inst).unwrap_or_default(),
            parts: func.dsts(inst).iter().chain(func.srcs(inst)).map(part).collect(),
        }
    }

    fn is_like(&self, other: &Said) -> bool {
        let is_same = |(one, other): (&Part, &Part)| one == other || *one == Part::Elsewhere;
        self.mnemonic == other.mnemonic
            && self.guard == other.guard
            && self.schedule == other.schedule
            && self.parts.len() == other.parts.len()
            && self.parts.iter().zip(&other.parts).all(is_same)
    }
}
