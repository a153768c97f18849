//! Liveness by paths: a register is live at a point where some path from there leads to a read of it on which no
//! instruction overwrites it before.
//!
//! Every read is followed backward to what overwrites the register. A phi reads at the end of the predecessor that the
//! source comes from. Outside SSA form a guarded definition overwrites only sometimes, so a path goes through it; in
//! SSA form what it leaves is an `else` operand, a read like others. Barrier registers hold no value.

use cranelift_entity::EntityRef;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Form, Function, Inst, PhysicalReg, Reg, RegFile};

use super::graph::Graph;

/// The live registers at both ends of every block, by place in the layout, then by register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveRegisters {
    live_in: Vec<Vec<bool>>,
    live_out: Vec<Vec<bool>>,
}

impl LiveRegisters {
    /// Follows every read of the function.
    pub fn of(func: &Function, graph: &Graph) -> LiveRegisters {
        let table = || vec![vec![false; func.regs().len()]; graph.blocks.len()];
        let mut live = LiveRegisters { live_in: table(), live_out: table() };
        let overwritten = overwritten(func, graph);
        for (place, block) in graph.blocks.iter().enumerate() {
            let insts: Vec<Inst> = func.block_insts(*block).collect();
            for (at, inst) in insts.iter().enumerate() {
                if func.inst(*inst).opcode == Opcode::Phi {
                    for (reg, from) in read_by_phi(func, *inst) {
                        if let Some(from) = graph.blocks.iter().position(|block| *block == from) {
                            live.at_end(graph, &overwritten, from, reg);
                        }
                    }
                    continue;
                }
                for reg in read(func, *inst) {
                    if !insts[..at].iter().any(|before| overwrites(func, *before, reg)) {
                        live.at_entry(graph, &overwritten, place, reg);
                    }
                }
            }
        }
        live
    }

    /// Whether a register is live at a block's entry, before its phis.
    pub fn live_in(&self, place: usize, reg: Reg) -> bool {
        self.live_in[place][reg.index()]
    }

    /// Whether a register is live at a block's end, where the phis behind it read.
    pub fn live_out(&self, place: usize, reg: Reg) -> bool {
        self.live_out[place][reg.index()]
    }

    fn at_entry(&mut self, graph: &Graph, overwritten: &[Vec<bool>], place: usize, reg: Reg) {
        if !std::mem::replace(&mut self.live_in[place][reg.index()], true) {
            for from in &graph.predecessors[place] {
                self.at_end(graph, overwritten, *from, reg);
            }
        }
    }

    /// Recursion is as deep as the blocks are many; functions here are small.
    fn at_end(&mut self, graph: &Graph, overwritten: &[Vec<bool>], place: usize, reg: Reg) {
        let seen = std::mem::replace(&mut self.live_out[place][reg.index()], true);
        if !seen && !overwritten[place][reg.index()] {
            self.at_entry(graph, overwritten, place, reg);
        }
    }
}

/// By place and register: whether the block overwrites it whatever happens.
fn overwritten(func: &Function, graph: &Graph) -> Vec<Vec<bool>> {
    let in_block = |block: &Block| {
        let mut regs = vec![false; func.regs().len()];
        for inst in func.block_insts(*block) {
            for reg in func.dsts(inst).iter().filter_map(|dst| dst.reg()).flat_map(|reg| words(func, reg)) {
                regs[reg.index()] |= overwrites(func, inst, reg);
            }
        }
        regs
    };
    graph.blocks.iter().map(in_block).collect()
}

/// Whether an instruction overwrites a register whatever its guard says.
pub fn overwrites(func: &Function, inst: Inst, reg: Reg) -> bool {
    let always = func.inst(inst).guard.is_none() || func.form == Form::Ssa;
    always && func.dsts(inst).iter().filter_map(|dst| dst.reg()).any(|dst| covers(func, dst, reg))
}

/// Whether a write to one register writes all of another: the same, and in physical form each word of it.
fn covers(func: &Function, written: Reg, reg: Reg) -> bool {
    match (PhysicalReg::of(written), PhysicalReg::of(reg)) {
        (Some(written), Some(reg)) if func.form == Form::Physical => {
            let end = |reg: PhysicalReg| u16::from(reg.number) + u16::from(reg.words);
            let inside = written.number <= reg.number && end(reg) <= end(written);
            written.file == reg.file && inside && !written.is_constant()
        }
        _ => written == reg,
    }
}

/// The registers of one word that a register consists of in physical form; in other forms itself.
fn words(func: &Function, reg: Reg) -> Vec<Reg> {
    match PhysicalReg::of(reg).filter(|_| func.form == Form::Physical) {
        None => vec![reg],
        Some(reg) if reg.is_constant() => Vec::new(),
        Some(reg) => {
            let numbers = reg.number..reg.number + reg.words;
            numbers.filter_map(|number| PhysicalReg { number, words: 1, ..reg }.reg()).collect()
        }
    }
}

/// The registers of one word that code outside of a function may read: all that hold values.
fn all_words() -> impl Iterator<Item = Reg> {
    let regs = (0..PhysicalReg::infos().count() as u32).map(Reg::from_u32);
    regs.filter(|reg| PhysicalReg::of(*reg).is_some_and(|reg| reg.words == 1 && !reg.is_constant()))
}

/// The values that an instruction other than a phi reads where it stands.
pub fn read(func: &Function, inst: Inst) -> impl Iterator<Item = Reg> + '_ {
    let operands = func.srcs(inst).iter().chain(func.elses(inst)).filter_map(|operand| operand.reg());
    let guard = func.inst(inst).guard.map(|guard| guard.reg());
    let named = operands.chain(guard).flat_map(|reg| words(func, reg));
    let outside = func.hands_over(inst).then(all_words).into_iter().flatten();
    named.chain(outside).filter(|reg| func.regs()[*reg].file != RegFile::B)
}

/// What a phi reads, and from which predecessor.
pub fn read_by_phi(func: &Function, phi: Inst) -> impl Iterator<Item = (Reg, Block)> + '_ {
    let pairs = func.srcs(phi).chunks_exact(2);
    let pairs = pairs.filter_map(|pair| Some((pair[0].reg()?, pair[1].block()?)));
    pairs.filter(|(reg, _)| func.regs()[*reg].file != RegFile::B)
}
