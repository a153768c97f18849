//! AnalyzeControlFlow (phase 3): the control-flow graph, and away with what it does not reach.
//!
//! Analyses here are recomputed by whoever asks, so nothing is kept; what is left of the phase is to drop the blocks
//! that control cannot reach, which later phases need not look at then. Branches stay as they are: folding them is
//! the work of the bundles.
//!
//! Cost: linear in blocks and edges.

use crate::analysis::Cfg;
use crate::ir::{Block, Function, Operand};
use crate::ops::Opcode;
use crate::pipeline::context::{Changed, PhaseContext};

/// The phase.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = Cfg::new(func);
    drop_unreachable(func, cx, &cfg)
}

/// Removes the blocks that control cannot reach, with the phi sources that come from them: all together, since they
/// may branch to each other.
pub(super) fn drop_unreachable(func: &mut Function, cx: &mut PhaseContext<'_>, cfg: &Cfg) -> Changed {
    let unreachable = func.layout.len() - cfg.rpo().len();
    if unreachable == 0 || !cx.rewrite("unreachable-blocks") {
        return Changed::No;
    }
    cx.count("blocks dropped", unreachable as u64);
    func.layout.retain(|block| cfg.is_reachable(*block));
    for block in func.layout.clone() {
        let from_dead = |pred| !cfg.is_reachable(pred);
        remove_incoming(func, block, from_dead);
    }
    Changed::Yes
}

/// Removes the phi sources of a block that come from predecessors of some kind.
pub(super) fn remove_incoming(func: &mut Function, block: Block, gone: impl Fn(Block) -> bool) {
    for inst in func.blocks[block].insts.clone() {
        if func.insts[inst].opcode != Opcode::Phi {
            break;
        }
        let keep = |pair: &&[Operand]| !pair.get(1).and_then(|op| op.block()).is_some_and(&gone);
        let kept: Vec<Operand> = func.srcs(inst).chunks(2).filter(keep).flatten().copied().collect();
        if kept.len() != func.srcs(inst).len() {
            func.set_srcs(inst, &kept);
        }
    }
}
