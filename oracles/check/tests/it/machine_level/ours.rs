//! What our analyses say of a lifted function, word by word.

use std::collections::{BTreeMap, BTreeSet};

use oriole_ir::ops::Flags;
use oriole_ir::{Function, Inst, Operand, PhysicalReg, Reg, RegFile};
use oriole_optimizer::analysis::{Cfg, Liveness};
use oriole_reference::{Graph, LiveRegisters};

/// Bytes of a word.
pub const WORD_BYTES: u64 = 16;

/// A register by the name of its file and its number.
pub type Register = (&'static str, u8);

/// What becomes of a register at a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// Nobody reads it any more.
    Dead,
    /// Somebody reads it later.
    Live,
    /// The word reads it.
    Read,
    /// The word writes it.
    Written,
    /// The word reads and writes it.
    Both,
}

/// A word.
pub struct Word {
    /// The mnemonic without modifiers.
    pub mnemonic: String,
    read: BTreeSet<Register>,
    written: BTreeSet<Register>,
    /// What is read later, and not written before.
    live: BTreeSet<Register>,
}

impl Word {
    /// What becomes of a register.
    pub fn mark(&self, reg: Register) -> Mark {
        match (self.read.contains(&reg), self.written.contains(&reg)) {
            (true, true) => Mark::Both,
            (true, false) => Mark::Read,
            (false, true) => Mark::Written,
            (false, false) if self.live.contains(&reg) => Mark::Live,
            (false, false) => Mark::Dead,
        }
    }
}

fn register(reg: Reg) -> Option<Register> {
    let reg = PhysicalReg::of(reg).filter(|reg| !reg.is_constant())?;
    let file = match reg.file {
        RegFile::R => "GPR",
        RegFile::UR => "UGPR",
        RegFile::P => "PRED",
        RegFile::UP => "UPRED",
        RegFile::B => return None,
    };
    Some((file, reg.number))
}

/// The function without what nvdisasm does not count: the predicates that `P2R` and `UP2UR` read all at once, and that
/// `UR2UP` writes.
fn counted(func: &Function) -> Function {
    let mut func = func.clone();
    let insts: Vec<Inst> = func.layout_insts().collect();
    for inst in insts {
        let (mut dsts, mut srcs) = (func.dsts(inst).to_vec(), func.srcs(inst).to_vec());
        let is_in = |operand: &Operand, file| {
            operand.reg().and_then(PhysicalReg::of).is_some_and(|reg: PhysicalReg| reg.file == file)
        };
        match mnemonic(&func, inst) {
            "P2R" => srcs.retain(|operand| !is_in(operand, RegFile::P)),
            "UP2UR" => srcs.retain(|operand| !is_in(operand, RegFile::UP)),
            "UR2UP" => dsts.retain(|operand| !is_in(operand, RegFile::UP)),
            _ => continue,
        }
        func.set_inst(inst, func.inst(inst).head(), &dsts, &srcs, &[]);
    }
    func
}

/// The mnemonic without modifiers; empty for what is no word.
fn mnemonic(func: &Function, inst: Inst) -> &'static str {
    let row = func.inst(inst).machine_row();
    row.and_then(|row| row.name.split('.').next()).unwrap_or_default()
}

fn is_word(func: &Function, inst: Inst) -> bool {
    func.inst(inst).is(Flags::MACHINE)
}

/// The words of a function by their offsets from its start.
pub fn words(func: &Function) -> BTreeMap<u64, Word> {
    let func = counted(func);
    let cfg = Cfg::new(&func);
    let liveness = Liveness::solve(&func, &cfg);
    let reference = LiveRegisters::of(&func, &Graph::of(&func));
    let (mut words, mut end) = (BTreeMap::new(), 0);
    for (place, block) in func.layout().iter().enumerate() {
        let insts: Vec<Inst> = func.block_insts(*block).filter(|inst| is_word(&func, *inst)).collect();
        end += insts.len() as u64 * WORD_BYTES;
        let mut live: BTreeSet<Register> = liveness.live_out(*block).iter().filter_map(register).collect();
        let by_paths = func.regs().keys().filter(|reg| reference.live_out(place, *reg));
        let by_paths: BTreeSet<Register> = by_paths.filter_map(register).collect();
        assert_eq!(live, by_paths, "@{} {block}: the optimizer's liveness is not that by paths", func.name);
        for (back, inst) in (1..).zip(insts.iter().rev()) {
            let read: BTreeSet<Register> = func.uses(*inst).filter_map(register).collect();
            let written: BTreeSet<Register> = func.defs(*inst).filter_map(register).collect();
            let mnemonic = mnemonic(&func, *inst).to_owned();
            let after = live.clone();
            if func.inst(*inst).guard.is_none() {
                live.retain(|reg| !written.contains(reg));
            }
            live.extend(&read);
            words.insert(end - back * WORD_BYTES, Word { mnemonic, read, written, live: after });
        }
    }
    words
}

/// The ways that control can go, from word to word, by offsets from the function's start; without code that nothing
/// reaches.
pub fn edges(func: &Function) -> BTreeSet<(u64, u64)> {
    let cfg = Cfg::new(func);
    let (mut starts, mut end) = (BTreeMap::new(), 0);
    let mut edges = BTreeSet::new();
    let mut lasts = Vec::new();
    for block in func.layout() {
        let count = func.block_insts(*block).filter(|inst| is_word(func, *inst)).count() as u64;
        if count > 0 {
            starts.insert(*block, end);
        }
        if count > 0 && cfg.is_reachable(*block) {
            edges.extend((1..count).map(|at| (end + (at - 1) * WORD_BYTES, end + at * WORD_BYTES)));
            lasts.push((*block, end + (count - 1) * WORD_BYTES));
        }
        end += count * WORD_BYTES;
    }
    for (block, last) in lasts {
        edges.extend(cfg.successors(block).iter().filter_map(|next| Some((last, *starts.get(next)?))));
    }
    edges
}
