//! Texture movement: fetches go up, so that the instructions between them and their first read hide their latency.
//!
//! A fetch goes
//!
//! - out of a loop, where all that it reads is from outside of the loop, texels included, and whoever enters the loop
//!   executes it;
//! - else up its block, past what it does not read, and from the beginning of the block into the one that dominates it
//!   at the same depth of loops, where the two are executed by the same threads and nothing between them changes
//!   memory.
//!
//! It stays behind what may change texels, behind what threads do together, and behind other fetches, which have gone
//! up before it. A fetch has up to four words of results, which live longer then: it moves as long as registers are
//! left ([`Room`]).
//!
//! CUDA leaves a fetch undefined whose texel the same launch writes. Here texels are bytes of global memory
//! ([`oriole_pass::analysis::memory`]), so a fetch keeps its place among accesses to that.
//!
//! Cost: linear, and [`STEPS`] instructions for each fetch.

use std::sync::Arc;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst};
use oriole_pass::analysis::memory::alias::{Alias, alias};
use oriole_pass::analysis::{
    Awaited, Cfg, Definitions, Dominators, Effect, LoopNest, MemorySsa, MemoryState, PostDominators,
};
use oriole_pass::engine::hoisting::loads::furthest;
use oriole_pass::engine::registers::Room;
use oriole_pass::engine::worker::Movement;
use oriole_pass::pass::PhaseContext;

/// Instructions that a fetch is moved past.
const STEPS: usize = 64;

/// Whether an instruction is one of the texture class: it fetches from an image, and does nothing else.
pub fn is_fetch(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let others = [Flags::WRITES, Flags::EFFECT, Flags::FENCE, Flags::CONVERGENT, Flags::ASYNC];
    data.is(Flags::IMAGE) && data.is(Flags::READS) && !others.into_iter().any(|flag| data.is(flag))
}

/// The fetches of a function on their way up.
pub struct Fetches {
    cfg: Arc<Cfg>,
    nest: Arc<LoopNest>,
    dominators: Arc<Dominators>,
    post_dominators: Arc<PostDominators>,
    memory: Arc<MemorySsa>,
    definitions: Definitions,
    awaited: Awaited,
    room: Option<Room>,
}

impl Fetches {
    /// Those of a function.
    pub fn new(func: &Function, cx: &mut PhaseContext<'_>) -> Fetches {
        Fetches {
            cfg: cx.analyses.get(func),
            nest: cx.analyses.get(func),
            dominators: cx.analyses.get(func),
            post_dominators: cx.analyses.get(func),
            memory: cx.analyses.get(func),
            definitions: Definitions::clone(&cx.analyses.get::<Definitions>(func)),
            awaited: Awaited::new(func),
            room: None,
        }
    }

    /// The blocks that control reaches, each behind those that dominate it.
    pub fn blocks(&self) -> Vec<Block> {
        self.cfg.rpo().to_vec()
    }

    /// The end of the preheader of the outermost loop that a fetch may leave.
    fn out_of_loops(&self, func: &Function, inst: Inst, block: Block) -> Option<Inst> {
        self.nest.innermost(&self.cfg, block)?;
        let mut read: Vec<Block> = func.uses(inst).filter_map(|reg| self.definitions.block(reg)).collect();
        match self.memory.clobber(&self.cfg, &self.nest, inst)? {
            MemoryState::Entry => {}
            MemoryState::Behind(change) => read.push(func.block_of(change)?),
            MemoryState::Phi(join) => read.push(join),
        }
        let to = furthest(&self.cfg, &self.nest, &self.dominators, block, &read, 0)?;
        func.terminator(to)
    }

    /// The first instruction that a fetch may be in front of, in its block or in one above.
    fn above(&self, func: &Function, inst: Inst, block: Block) -> Option<Inst> {
        let (mut at, mut home) = (inst, block);
        for _ in 0..STEPS {
            match func.prev_inst(at) {
                Some(before) if self.may_pass(func, inst, before) => at = before,
                Some(before) if func.inst(before).opcode != Opcode::Phi => break,
                // From behind the phis of a block to the end of the one above.
                before => {
                    let defines = |before: Inst| func.defs(before).any(|reg| func.uses(inst).any(|used| used == reg));
                    let phis = std::iter::successors(before, |phi| func.prev_inst(*phi));
                    let Some(up) = self.same_threads(home).filter(|_| !phis.into_iter().any(defines)) else { break };
                    home = up;
                    at = func.terminator(up)?;
                }
            }
        }
        (at != inst).then_some(at)
    }

    /// Whether a fetch may be executed in front of an instruction that is in front of it.
    fn may_pass(&self, func: &Function, fetch: Inst, before: Inst) -> bool {
        let data = func.inst(before);
        let stops = [Flags::EFFECT, Flags::FENCE, Flags::CONVERGENT, Flags::ASYNC, Flags::TERMINATOR];
        let is_plain = !stops.into_iter().any(|flag| data.is(flag)) || data.opcode == Opcode::St;
        let defines = func.defs(before).any(|reg| func.uses(fetch).any(|used| used == reg));
        let changes = match (self.memory.effect(before), self.memory.effect(fetch)) {
            (Effect::None | Effect::Reads(_), _) => false,
            (Effect::Writes(at), Effect::Reads(from)) => alias(&at, &from, false) != Alias::No,
            _ => true,
        };
        is_plain && !defines && !changes && data.opcode != Opcode::Phi && !is_fetch(func, before)
    }

    /// The block above one that the same threads execute, equally often, and between which nothing changes memory.
    fn same_threads(&self, block: Block) -> Option<Block> {
        let up = self.dominators.immediate_dominator(&self.cfg, block)?;
        let same_loop = self.nest.innermost(&self.cfg, up) == self.nest.innermost(&self.cfg, block);
        let same_memory = self.memory.at_end(up) == self.memory.at_entry(block);
        (same_loop && same_memory && self.post_dominators.post_dominates(&self.cfg, block, up)).then_some(up)
    }
}

impl Movement for Fetches {
    fn place(&self, func: &Function, inst: Inst, block: Block) -> Option<Inst> {
        if !is_fetch(func, inst) || self.awaited.is_read_by(func, inst) {
            return None;
        }
        self.out_of_loops(func, inst, block).or_else(|| self.above(func, inst, block))
    }

    fn pays(&mut self, func: &Function, cx: &mut PhaseContext<'_>, inst: Inst) -> bool {
        self.room.get_or_insert_with(|| Room::of(func, cx)).holds(func, func.defs(inst))
    }

    fn moved(&mut self, func: &Function, inst: Inst, to: Block) {
        func.defs(inst).for_each(|reg| self.definitions.set(reg, inst, to));
    }
}
