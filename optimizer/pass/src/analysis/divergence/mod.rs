//! Divergence: which values and branches are the same in all threads that execute them together.
//!
//! A value has a [`Uniformity`], the widest group of threads in which it is the same: the launch, the CTA, the warp, or
//! the thread alone. For the launch and the CTA this is meant per execution: the n-th time that threads execute the
//! instruction. For the warp it is meant of lanes that execute it together. For functions in SSA form; in others every
//! register varies.
//!
//! What makes values vary:
//!
//! - *Sources* (`sources.rs`): thread and lane numbers, clocks, atomics, memory of a thread's own, parameters of device
//!   functions. Everything else varies where its operands do.
//! - *Joins* (`influence.rs`): a phi that threads reach by different ways from a branch that they take differently. The
//!   ways have nothing but their ends in common: Rosemann, Moll and Hack, "An Abstract Interpretation for SPMD
//!   Divergence on Reducible Control Flow Graphs" (POPL 2021).
//! - *Loops that threads leave in different iterations*: what is defined inside varies outside.
//! - *Threads that are not together again*: those that part at a branch meet at its immediate post-dominator at the
//!   latest. Where their ways join before it, they may be there at different times and in different iterations; from
//!   there to the post-dominator every phi of a join varies, and everything that is read from memory.
//!
//! - *Lanes that wait for others before they are together again* (`meetings.rs`): at a collective, at a barrier, in a
//!   call. Where a loop brings the others to them, lanes of several rounds go on together; in that loop every phi of a
//!   join varies, and everything that is not pure.
//!
//! Lanes that part meet again at the post-dominator where the machine's convergence barriers, or the interpreter's
//! order of execution, bring them together there, and nothing makes them wait before. That is assumed, as ptxas does
//! when it places those barriers; lanes that ask memory for a sign of the others, over and over, do not wait in this
//! sense.
//!
//! Each value falls through four levels at most, and each fall visits its uses. The cost is near-linear in instructions
//! for structured flow; a branch whose ways join before its post-dominator, or in an irreducible loop, is followed
//! through all blocks between.

mod influence;
mod meetings;
mod sources;
#[cfg(test)]
mod tests;

use cranelift_entity::EntityRef;

use super::cfg::Cfg;
use super::dominators::Dominators;
use super::loops::{Loop, LoopNest};
use super::post_dominators::PostDominators;
use influence::{Cycle, Influences};
use meetings::Meetings;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Form, Function, Inst, Operand, Reg};

/// The widest group of threads in which a value is the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Uniformity {
    /// The thread: others may have different values.
    Varying,
    /// The lanes of a warp that execute together.
    Warp,
    /// The threads of a CTA.
    Cta,
    /// All threads of the launch.
    Launch,
}

/// The uniformity of a function's values and branches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// By register: where it is defined, and how it is there.
    values: Vec<(Option<Block>, Uniformity)>,
    /// By block number: how its branch is decided.
    branches: Vec<Uniformity>,
    /// By loop: how threads leave it in the same iteration.
    loops: Vec<Uniformity>,
}

impl Divergence {
    /// The uniformity of everything in a function.
    pub fn compute(
        func: &Function,
        cfg: &Cfg,
        dominators: &Dominators,
        post_dominators: &PostDominators,
        nest: &LoopNest,
    ) -> Divergence {
        let mut solver = Solver::new(func, cfg, nest);
        if func.form == Form::Ssa {
            let meetings = Meetings::find(func, cfg, post_dominators, nest);
            solver.solve(&mut Influences::new(cfg, dominators, post_dominators, nest), &meetings);
        } else {
            solver.give_up();
        }
        solver.found
    }

    /// How a register is where it is defined.
    pub fn of(&self, reg: Reg) -> Uniformity {
        self.values.get(reg.index()).map_or(Uniformity::Varying, |value| value.1)
    }

    /// How a register is where a block reads it: less uniform than at its definition where threads leave a loop in
    /// between in different iterations.
    pub fn at(&self, cfg: &Cfg, nest: &LoopNest, reg: Reg, block: Block) -> Uniformity {
        let Some((defined, mut level)) = self.values.get(reg.index()).copied() else { return Uniformity::Varying };
        let mut around = defined.filter(|defined| *defined != block).and_then(|block| nest.innermost(cfg, block));
        while let Some(left) = around.filter(|left| !nest.contains(cfg, *left, block)) {
            level = level.min(self.loops[left.index()]);
            around = nest.parent(left);
        }
        level
    }

    /// How the branch at a block's end is decided; the launch where there is nothing to decide.
    pub fn branch(&self, block: Block) -> Uniformity {
        self.branches.get(block.index()).copied().unwrap_or(Uniformity::Launch)
    }
}

/// Limits that branches set, and what is still to be looked at.
struct Solver<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    nest: &'a LoopNest,
    found: Divergence,
    /// By instruction: its block.
    block: Vec<Option<Block>>,
    /// By register: the instructions that read it, one list after the other.
    users: Vec<Inst>,
    start: Vec<u32>,
    /// By block number: limits on phis, on what is read there, and on everything defined there.
    joins: Vec<Uniformity>,
    reads: Vec<Uniformity>,
    definitions: Vec<Uniformity>,
    /// By loop: the limit that lanes set which meet there in different rounds.
    rounds: Vec<Uniformity>,
    work: Vec<Inst>,
    queued: Vec<bool>,
}

impl<'a> Solver<'a> {
    fn new(func: &'a Function, cfg: &'a Cfg, nest: &'a LoopNest) -> Solver<'a> {
        let no_limit = || vec![Uniformity::Launch; func.blocks().len()];
        let found = Divergence {
            values: vec![(None, Uniformity::Launch); func.regs().len()],
            branches: no_limit(),
            loops: vec![Uniformity::Launch; nest.loops().count()],
        };
        let (joins, reads, definitions, rounds) = (no_limit(), no_limit(), no_limit(), found.loops.clone());
        let (block, queued) = (vec![None; func.insts().len()], vec![false; func.insts().len()]);
        let (users, start, work) = (Vec::new(), Vec::new(), Vec::new());
        let mut solver =
            Solver { func, cfg, nest, found, block, users, start, joins, reads, definitions, rounds, work, queued };
        solver.list_users();
        solver
    }

    fn list_users(&mut self) {
        let func = self.func;
        let mut start = vec![0; func.regs().len() + 1];
        for (block, inst) in instructions(func) {
            self.block[inst.index()] = Some(block);
            func.defs(inst).for_each(|reg| self.found.values[reg.index()].0 = Some(block));
            func.uses(inst).for_each(|reg| start[reg.index() + 1] += 1);
        }
        (1..start.len()).for_each(|at| start[at] += start[at - 1]);
        let mut fill = start.clone();
        self.users = vec![Inst::from_u32(0); start[func.regs().len()] as usize];
        for (_, inst) in instructions(func) {
            for reg in func.uses(inst) {
                self.users[fill[reg.index()] as usize] = inst;
                fill[reg.index()] += 1;
            }
        }
        self.start = start;
    }

    /// Every instruction once in program order, then whatever depends on what fell.
    fn solve(&mut self, influences: &mut Influences<'_>, meetings: &Meetings) {
        let unreachable = self.cfg.blocks().iter().filter(|block| !self.cfg.is_reachable(**block));
        let blocks: Vec<Block> = self.cfg.rpo().iter().chain(unreachable).copied().collect();
        for block in blocks {
            for inst in self.func.block_insts(block) {
                self.visit(inst, influences, meetings);
            }
        }
        while let Some(inst) = self.work.pop() {
            self.queued[inst.index()] = false;
            self.visit(inst, influences, meetings);
        }
    }

    fn give_up(&mut self) {
        self.found.values.iter_mut().for_each(|value| value.1 = Uniformity::Varying);
        for block in self.cfg.blocks().iter().filter(|block| self.cfg.successors(**block).len() > 1) {
            self.found.branches[block.index()] = Uniformity::Varying;
        }
    }

    fn visit(&mut self, inst: Inst, influences: &mut Influences<'_>, meetings: &Meetings) {
        let Some(block) = self.block[inst.index()] else { return };
        if self.func.inst(inst).is(Flags::TERMINATOR) {
            let level = self.operands(inst, block);
            let old = &mut self.found.branches[block.index()];
            if self.cfg.successors(block).len() > 1 && self.cfg.is_reachable(block) && level < *old {
                *old = level;
                self.part(&influences.of(block), level);
                meetings.of(block).into_iter().for_each(|of| self.meet(of, level));
            }
            return;
        }
        let level = self.result(inst, block);
        for reg in self.func.defs(inst) {
            let value = &mut self.found.values[reg.index()];
            if level < value.1 {
                value.1 = level;
                self.enqueue_users(reg);
            }
        }
    }

    fn result(&self, inst: Inst, block: Block) -> Uniformity {
        let data = self.func.inst(inst);
        let limit = self.definitions[block.index()];
        if data.opcode == Opcode::Phi {
            return self.phi(inst, block).min(limit);
        }
        let read = if data.is(Flags::PURE) { Uniformity::Launch } else { self.reads[block.index()] };
        self.operands(inst, block).min(sources::source(self.func, inst)).min(read).min(limit)
    }

    /// The least uniform of what an instruction reads, but for what each lane gives to a common decision.
    fn operands(&self, inst: Inst, block: Block) -> Uniformity {
        let given = self.func.inst(inst).is(Flags::TOGETHER);
        let given = given && self.func.srcs(inst)[0].reg().is_some();
        let read = self.func.uses(inst).skip(usize::from(given));
        let levels = read.map(|reg| self.found.at(self.cfg, self.nest, reg, block));
        levels.min().unwrap_or(Uniformity::Launch)
    }

    /// A phi reads at the ends of the predecessors, and shows what it read where it stands. Where it has one value
    /// only, it does not tell by which way control came.
    fn phi(&self, inst: Inst, block: Block) -> Uniformity {
        let sources = self.func.srcs(inst);
        let first = sources.first().copied();
        let only = sources.chunks_exact(2).all(|pair| Some(pair[0]) == first);
        let mut level = if only { Uniformity::Launch } else { self.joins[block.index()] };
        for pair in sources.chunks_exact(2) {
            if let (Some(reg), Some(from)) = (pair[0].reg(), pair[1].block()) {
                level = level.min(self.found.at(self.cfg, self.nest, reg, from));
                level = level.min(self.found.at(self.cfg, self.nest, reg, block));
            }
        }
        level
    }

    /// Threads part at a branch that is no more uniform than this.
    fn part(&mut self, influence: &influence::Influence, level: Uniformity) {
        for join in &influence.joins {
            self.limit(*join, level, |solver| &mut solver.joins, |opcode| opcode == Opcode::Phi);
        }
        influence.apart.iter().for_each(|block| self.mix(*block, level));
        match &influence.cycle {
            Cycle::None => {}
            Cycle::Loop(of) => self.leave(*of, level),
            Cycle::Blocks(blocks) => {
                for block in blocks {
                    self.limit(*block, level, |solver| &mut solver.definitions, |_| true);
                }
            }
        }
    }

    /// Lanes that part meet in a loop, in different rounds of it.
    fn meet(&mut self, of: Loop, level: Uniformity) {
        if level < self.rounds[of.index()] {
            self.rounds[of.index()] = level;
            let nest = self.nest;
            nest.blocks(of).iter().for_each(|block| self.mix(*block, level));
        }
    }

    /// Threads are at a block at different times, in different rounds, or from there on together after such.
    fn mix(&mut self, block: Block, level: Uniformity) {
        self.limit(block, level, |solver| &mut solver.reads, |opcode| !opcode.is(Flags::PURE));
        if self.cfg.predecessors(block).len() > 1 {
            self.limit(block, level, |solver| &mut solver.joins, |opcode| opcode == Opcode::Phi);
        }
    }

    /// Lowers one of the limits of a block; the instructions that it is about are looked at again.
    fn limit(
        &mut self,
        block: Block,
        level: Uniformity,
        limits: impl for<'s> Fn(&'s mut Solver<'a>) -> &'s mut Vec<Uniformity>,
        concerns: impl Fn(Opcode) -> bool,
    ) {
        let limit = &mut limits(self)[block.index()];
        if level < *limit {
            *limit = level;
            let func = self.func;
            for inst in func.block_insts(block).filter(|inst| concerns(func.inst(*inst).opcode)) {
                self.enqueue(inst);
            }
        }
    }

    /// Threads leave a loop in different iterations.
    fn leave(&mut self, of: Loop, level: Uniformity) {
        if level >= self.found.loops[of.index()] {
            return;
        }
        self.found.loops[of.index()] = level;
        let (func, nest) = (self.func, self.nest);
        for inst in nest.blocks(of).iter().flat_map(|block| func.block_insts(*block)) {
            func.defs(inst).for_each(|reg| self.enqueue_users(reg));
        }
    }

    fn enqueue_users(&mut self, reg: Reg) {
        for at in self.start[reg.index()]..self.start[reg.index() + 1] {
            self.enqueue(self.users[at as usize]);
        }
    }

    fn enqueue(&mut self, inst: Inst) {
        if !std::mem::replace(&mut self.queued[inst.index()], true) {
            self.work.push(inst);
        }
    }
}

fn instructions(func: &Function) -> impl Iterator<Item = (Block, Inst)> + '_ {
    func.layout().iter().flat_map(|block| func.block_insts(*block).map(move |inst| (*block, inst)))
}
