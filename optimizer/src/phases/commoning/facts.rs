//! What every commoning asks about the function, and the order of what it finds.

use std::sync::Arc;

use crate::analysis::{Cfg, Dominators, LoopNest, MemorySsa, MemoryState, StoredValues};
use crate::pass::PhaseContext;
use oriole_ir::{Block, Function, Inst};

/// The graph, and what loads read.
pub(super) struct Facts {
    pub(super) cfg: Arc<Cfg>,
    pub(super) dominators: Arc<Dominators>,
    nest: Arc<LoopNest>,
    memory: Arc<MemorySsa>,
    pub(super) stored: Arc<StoredValues>,
}

impl Facts {
    pub(super) fn new(func: &Function, cx: &mut PhaseContext<'_>) -> Facts {
        Facts {
            cfg: cx.analyses.get(func),
            dominators: cx.analyses.get(func),
            nest: cx.analyses.get(func),
            memory: cx.analyses.get(func),
            stored: cx.analyses.get(func),
        }
    }

    /// The reachable blocks, each after its immediate dominator, subtrees together.
    pub(super) fn preorder(&self) -> Vec<Block> {
        self.dominators.preorder(&self.cfg).collect()
    }

    /// Whether a block dominates another one.
    pub(super) fn dominates(&self, above: Block, below: Block) -> bool {
        above == below || self.dominators.dominates(&self.cfg, above, below)
    }

    /// The state of memory that a load reads: what it reads is the same in two loads from the same bytes with the same
    /// state, if the one dominates the other. The state is the closest above that may have changed the bytes, so no
    /// change of them, no barrier and no fence stands on a way from there to either; and each way from there to the
    /// second load goes through the first.
    pub(super) fn version(&self, load: Inst) -> Option<MemoryState> {
        self.memory.clobber(&self.cfg, &self.nest, load)
    }
}
