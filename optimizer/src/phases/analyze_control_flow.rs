//! AnalyzeControlFlow (phase 3): removes the blocks that control cannot reach.
//!
//! Later phases need not look at these blocks then. The analyses themselves are computed when a phase first asks for
//! them ([`crate::analysis::Analyses`]). Branches stay as they are: folding them is the work of the bundles.
//!
//! Cost: linear in blocks and edges.

use crate::analysis::Cfg;
use crate::pass::{Changed, PhaseContext};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Operand};

/// The phase.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get(func);
    drop_unreachable(func, cx, &cfg)
}

/// Removes the blocks that control cannot reach, with the phi sources that come from them: all together, since they
/// may branch to each other.
pub(super) fn drop_unreachable(func: &mut Function, cx: &mut PhaseContext<'_>, cfg: &Cfg) -> Changed {
    let unreachable = func.layout().len() - cfg.rpo().len();
    if unreachable == 0 || !cx.rewrite("unreachable-blocks") {
        return Changed::No;
    }
    cx.count("blocks dropped", unreachable as u64);
    func.retain_blocks(|block| cfg.is_reachable(*block));
    for block in func.layout().to_vec() {
        let from_dead = |pred| !cfg.is_reachable(pred);
        remove_incoming(func, block, from_dead);
    }
    Changed::Yes
}

/// Removes the phi sources of a block that come from predecessors of some kind.
pub(super) fn remove_incoming(func: &mut Function, block: Block, gone: impl Fn(Block) -> bool) {
    let is_phi = |inst: &Inst| func.inst(*inst).opcode == Opcode::Phi;
    let phis: Vec<Inst> = func.block_insts(block).take_while(is_phi).collect();
    for inst in phis {
        let keep = |pair: &&[Operand]| !pair.get(1).and_then(|op| op.block()).is_some_and(&gone);
        let kept: Vec<Operand> = func.srcs(inst).chunks(2).filter(keep).flatten().copied().collect();
        if kept.len() != func.srcs(inst).len() {
            func.set_srcs(inst, &kept);
        }
    }
}
