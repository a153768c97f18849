//! SinkCodeIntoBlock (binary slot 77), `sink` and `sinking2` of cicc: a value that some ways read is computed on these.
//!
//! `spec/instruction-movement.txt` (line 241) gives the name of the phase and its place, `spec/pass-pipeline.txt` (line
//! 204) the names of the passes. LLVM's Sink is the model. An instruction goes to the block that dominates all its
//! readers, where a phi reads at the end of the block that it merges from, if
//!
//! - it is pure, or reads a parameter of the kernel; copies stay, and so does what reads what is awaited ([`Awaited`]);
//! - that block is executed less often: it lies outside of a loop of the instruction, or not all that execute the
//!   instruction come to it. It lies in no loop that the instruction is not in; a block further up, which does not, is
//!   taken in its place;
//! - the registers that live longer are no more words than the result, which lives shorter.
//!
//! Readers move before what they read, so that a chain goes together. An instruction moves down the dominator tree
//! with every step, so moving ends.
//!
//! Cost: linear in instructions and reads, times [`STEPS`].

use std::sync::Arc;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Reg, RegFile};
use oriole_pass::analysis::{Awaited, Cfg, Dominators, Liveness, LoopNest, PostDominators, reads_kernel_parameter};
use oriole_pass::edit::graph::behind_phis;
use oriole_pass::engine::readers::Readers;
use oriole_pass::engine::worker::{self, Direction, Movement};
use oriole_pass::pass::{Changed, PhaseContext};

const RULE: &str = "sink";

/// Steps up the dominator tree in search of a block.
const STEPS: usize = 64;

/// SinkCodeIntoBlock, `sink`, `sinking2`.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if func.layout().len() < 2 {
        return Changed::No;
    }
    let mut sinking = Sinking::new(func, cx);
    let blocks: Vec<Block> = sinking.cfg.rpo().iter().rev().copied().collect();
    worker::run(func, cx, (RULE, Direction::Down), &blocks, &mut sinking)
}

/// What is known of a function while its instructions sink.
struct Sinking {
    cfg: Arc<Cfg>,
    nest: Arc<LoopNest>,
    dominators: Arc<Dominators>,
    post_dominators: Arc<PostDominators>,
    /// Of the function as it was: what sinks since then lives no longer than it says, but for what it reads.
    liveness: Arc<Liveness>,
    awaited: Awaited,
    readers: Readers,
}

impl Sinking {
    fn new(func: &Function, cx: &mut PhaseContext<'_>) -> Sinking {
        Sinking {
            cfg: cx.analyses.get(func),
            nest: cx.analyses.get(func),
            dominators: cx.analyses.get(func),
            post_dominators: cx.analyses.get(func),
            liveness: cx.analyses.get(func),
            awaited: Awaited::new(func),
            readers: Readers::of(func),
        }
    }

    /// The block to which an instruction goes from its own.
    fn destination(&self, func: &Function, inst: Inst, from: Block) -> Option<Block> {
        if !may_move(func, inst) || self.awaited.is_read_by(func, inst) {
            return None;
        }
        let mut blocks = func.defs(inst).flat_map(|reg| self.readers.reads(reg)).map(|(_, block)| *block);
        let first = blocks.next()?;
        let mut to = blocks.try_fold(first, |to, block| self.above_both(to, block))?;
        let mut steps = 0;
        while !self.is_in_loops_of(to, from) {
            steps += 1;
            to = self.dominators.immediate_dominator(&self.cfg, to).filter(|_| steps < STEPS)?;
        }
        let less_often = self.nest.depth(&self.cfg, to) < self.nest.depth(&self.cfg, from)
            || !self.post_dominators.post_dominates(&self.cfg, to, from);
        (to != from && less_often && self.saves_registers(func, inst, to)).then_some(to)
    }

    /// The closest block that dominates two.
    fn above_both(&self, a: Block, b: Block) -> Option<Block> {
        let up = |block: &Block| self.dominators.immediate_dominator(&self.cfg, *block);
        let mut above = std::iter::successors(Some(a), up).take(STEPS);
        above.find(|above| self.dominators.dominates(&self.cfg, *above, b))
    }

    /// Whether every loop of a block is one of another block.
    fn is_in_loops_of(&self, block: Block, other: Block) -> bool {
        let around = self.nest.innermost(&self.cfg, block);
        around.is_none_or(|around| self.nest.contains(&self.cfg, around, other))
    }

    /// Whether operands that live longer take no more words than the results, which live shorter.
    fn saves_registers(&self, func: &Function, inst: Inst, to: Block) -> bool {
        let live = self.liveness.live_in(to);
        let mut longer: Vec<Reg> = func.uses(inst).filter(|reg| !live.contains(*reg)).collect();
        longer.sort_unstable();
        longer.dedup();
        let words = |regs: &mut dyn Iterator<Item = Reg>| -> u32 {
            let general = regs.filter(|reg| func.regs()[*reg].file == RegFile::R);
            general.map(|reg| u32::from(func.regs()[reg].words)).sum()
        };
        words(&mut longer.into_iter()) <= words(&mut func.defs(inst))
    }
}

impl Movement for Sinking {
    fn place(&self, func: &Function, inst: Inst, block: Block) -> Option<Inst> {
        let to = self.destination(func, inst, block)?;
        Some(behind_phis(func, to).expect("a block ends with a branch"))
    }

    /// Registers are a part of the choice of a block.
    fn pays(&mut self, _: &Function, _: &mut PhaseContext<'_>, _: Inst) -> bool {
        true
    }

    fn moved(&mut self, func: &Function, inst: Inst, to: Block) {
        self.readers.moved(func, inst, to);
    }
}

/// Whether an instruction yields the same wherever its operands are there, and whoever executes it.
fn may_move(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let copies = data.opcode == Opcode::Phi || data.is(Flags::COPY);
    let named = |reg: Reg| matches!(func.regs()[reg].file, RegFile::R | RegFile::P);
    let same = data.is(Flags::PURE) || reads_kernel_parameter(func, inst);
    same && !copies && func.defs(inst).all(named)
}
