//! Blocks that hold a branch alone, once it is known which edges have copies: whoever goes there goes on himself.
//!
//! SSA form needs such blocks, since the copies of phis may have to stand in them. One stays where several ways into a
//! loop, or several ways around it, meet in it: loops keep their shape. Linear.

use cranelift_entity::SecondaryMap;

use crate::analysis::Cfg;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, InstBuilder, Operand};

/// Leaves out such blocks.
pub(super) fn leave_out_empty(func: &mut Function, cfg: &Cfg) {
    let mut instead: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    // In post-order a block comes after those that it leads to, so that its target is the last of a chain already.
    for block in cfg.rpo().iter().rev().copied().filter(|block| *block != func.entry()) {
        let target = only_goes_to(func, block).map(|target| instead[target].unwrap_or(target));
        instead[block] = target.filter(|target| *target != block && !shapes_loop(func, cfg, block, *target));
    }
    func.retain_blocks(|block| instead[*block].is_none());
    for block in func.layout().to_vec() {
        retarget(func, block, |target| instead[target].unwrap_or(target));
    }
}

/// Where a block leads that holds nothing else.
fn only_goes_to(func: &Function, block: Block) -> Option<Block> {
    let inst = func.first_inst(block).filter(|inst| func.inst(*inst).opcode == Opcode::Bra)?;
    func.srcs(inst).first()?.block()
}

/// Whether ways meet in a block which then lead to the header of a loop, or it is one itself.
fn shapes_loop(func: &Function, cfg: &Cfg, block: Block, target: Block) -> bool {
    let goes_back = |to: Block| cfg.predecessors(to).iter().any(|from| cfg.rpo_number(*from) >= cfg.rpo_number(to));
    func.is_nounroll(block) || goes_back(block) || goes_back(target) && cfg.predecessors(block).len() > 1
}

/// Sends a block's branch elsewhere; one that has a single target left reads nothing.
fn retarget(func: &mut Function, block: Block, map: impl Fn(Block) -> Block) {
    let Some(inst) = func.terminator(block) else { return };
    let srcs = func.srcs(inst).iter().map(|operand| operand.block().map_or(*operand, |to| Operand::Block(map(to))));
    let srcs: Vec<Operand> = srcs.collect();
    if srcs == func.srcs(inst) {
        return;
    }
    func.set_srcs(inst, &srcs);
    let mut targets = srcs.iter().filter_map(|operand| operand.block());
    if let Some(first) = targets.next().filter(|first| targets.all(|target| target == *first)) {
        InstBuilder::new(Opcode::Bra).src(first).replace(func, inst);
    }
}
