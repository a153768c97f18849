//! What every commoning asks about the function, and the order of what it finds.

use std::sync::Arc;

use cranelift_entity::EntitySet;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Reg};
use oriole_pass::analysis::memory::Effect;
use oriole_pass::analysis::{AnalysisSet, Cfg, Dominators, LoopNest, MemorySsa, MemoryState, StoredValues};
use oriole_pass::pass::{Changed, PhaseContext};

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

    /// What an instruction does to memory. One that has become a copy since does nothing.
    pub(super) fn effect(&self, func: &Function, inst: Inst) -> Effect {
        let data = func.inst(inst);
        let touches = [Flags::READS, Flags::WRITES, Flags::FENCE].into_iter().any(|flag| data.is(flag));
        if touches { self.memory.effect(inst) } else { Effect::None }
    }

    /// Whether memory SSA would know more of the function after a round: a register that addresses are counted from has
    /// become a copy.
    pub(super) fn are_outdated(&self, func: &Function) -> bool {
        let mut roots = EntitySet::<Reg>::new();
        roots.extend(self.memory.address_roots());
        let is_copy = |inst: Inst| func.inst(inst).opcode == Opcode::Mov && func.inst(inst).guard.is_none();
        func.layout_insts().filter(|inst| is_copy(*inst)).any(|inst| func.defs(inst).any(|reg| roots.contains(reg)))
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
        self.stored.state(load).or_else(|| self.memory.clobber(&self.cfg, &self.nest, load))
    }
}

/// Does some work with facts, and again as long as it makes them outdated: a load that becomes a copy may have been the
/// address of others.
pub(super) fn rounds(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    work: impl Fn(&mut Function, &mut PhaseContext<'_>, &Facts) -> Changed,
) -> Changed {
    cx.keep_analyses();
    let mut changed = Changed::No;
    loop {
        let facts = Facts::new(func, cx);
        let round = work(func, cx, &facts);
        changed |= round;
        if !round.is_yes() {
            return changed;
        }
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
        if !facts.are_outdated(func) {
            return changed;
        }
    }
}
