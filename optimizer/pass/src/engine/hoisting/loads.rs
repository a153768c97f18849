//! Loads that a loop executes anew in each round, of memory that it does not change.
//!
//! A load leaves a loop if
//!
//! - it is weak and not volatile, and the state of memory that it reads (memory SSA, past all changes of other places)
//!   is one from outside of the loop. Barriers, fences and calls in the loop change memory;
//! - whoever enters the loop executes it: its block is the header, or every way out of the loop, and every way to the
//!   next round, comes by it. A load that was not executed may lead nowhere, so none is executed too often.
//!
//! Each loop on the way out is asked anew, so loops that lie deeper than [`DEEPEST`] keep their loads.

use std::sync::Arc;

use crate::analysis::{Cfg, Dominators, Effect, Loop, LoopNest, MemorySsa, MemoryState};
use crate::pass::PhaseContext;
use oriole_ir::ops::{Flags, Opcode, Order};
use oriole_ir::{Block, Function, Inst};

/// The depth of a loop whose loads are looked at, at most.
const DEEPEST: u32 = 32;

/// The states of memory that loads of a function read, before anything moves: a load that moves changes none.
pub struct Loads(Option<Arc<MemorySsa>>);

impl Loads {
    /// Those of a function, if a loop of it has a load that may move.
    pub fn new(func: &Function, cx: &mut PhaseContext<'_>, nest: &LoopNest, cfg: &Cfg) -> Loads {
        let mut looped = func.layout().iter().filter(|block| nest.innermost(cfg, **block).is_some());
        let has = looped.any(|block| func.block_insts(*block).any(|inst| is_plain_load(func, inst)));
        Loads(has.then(|| cx.analyses.get::<MemorySsa>(func)))
    }

    /// The block in which a load's memory gets the state that the load reads, if the load may move up to there.
    pub fn state(&self, func: &Function, nest: &LoopNest, cfg: &Cfg, load: Inst) -> Option<Option<Block>> {
        let memory = self.0.as_ref()?;
        if !matches!(memory.effect(load), Effect::Reads(_)) {
            return None;
        }
        match memory.clobber(cfg, nest, load)? {
            MemoryState::Entry => Some(None),
            MemoryState::Behind(change) => Some(func.block_of(change)),
            MemoryState::Phi(block) => Some(Some(block)),
        }
    }
}

/// Whether an instruction is a load that may move where memory allows it.
pub fn is_plain_load(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let weak = data.field::<Order>().is_none_or(|order| order == Order::Weak);
    data.opcode == Opcode::Ld && weak && !data.is(Flags::CONVERGENT)
}

/// The preheader of the outermost loop out of which a load may go from a block, given the blocks in which what it reads
/// is defined, and the depth of the last loop that it may leave.
pub fn furthest(
    cfg: &Cfg,
    nest: &LoopNest,
    dominators: &Dominators,
    from: Block,
    read: &[Block],
    outermost: u32,
) -> Option<Block> {
    let (mut at, mut found) = (nest.innermost(cfg, from), None);
    if at.is_some_and(|of| nest.loop_depth(of) > DEEPEST) {
        return None;
    }
    while let Some(of) = at.filter(|of| nest.loop_depth(*of) >= outermost) {
        let here = found.unwrap_or(from);
        let Some(to) = nest.preheader(cfg, of).filter(|_| nest.is_natural(of)) else { break };
        let changes = read.iter().any(|block| nest.contains(cfg, of, *block));
        if changes || !enters_only_by(cfg, nest, dominators, of, here) {
            break;
        }
        (found, at) = (Some(to), nest.parent(of));
    }
    found
}

/// Whether whoever enters a loop executes a block of it before leaving it or beginning the next round.
fn enters_only_by(cfg: &Cfg, nest: &LoopNest, dominators: &Dominators, of: Loop, block: Block) -> bool {
    let mut ends = nest.latches(cfg, of).chain(nest.exits(cfg, of).map(|(from, _)| from));
    block == nest.header(of) || ends.all(|end| dominators.dominates(cfg, block, end))
}
