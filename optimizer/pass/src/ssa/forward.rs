//! Blocks that hold a branch alone, once it is known which edges have copies: whoever goes there continues himself.
//!
//! SSA form needs such blocks, since the copies of phis may have to be in them. One stays where several ways into a
//! loop, or several ways around it, meet in it: loops keep their shape. One stays also where a branch to it would have
//! no choice left without it: which ways a function can go is the same in both forms. Linear.

use cranelift_entity::{EntitySet, SecondaryMap};

use crate::analysis::Cfg;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Operand};

/// Ways of a branch up to which it is asked whether all of them lead to one block.
const MOST_WAYS: usize = 16;

/// Leaves out such blocks.
pub(super) fn leave_out_empty(func: &mut Function, cfg: &Cfg) {
    let headers = headers(cfg);
    let mut instead: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    // In post-order a block comes after those that it leads to, so that its target is the last of a chain already.
    let may_go = |block: &Block| *block != func.entry() && !func.is_nounroll(*block);
    for block in cfg.rpo().iter().rev().copied().filter(may_go) {
        let target = only_goes_to(func, block).map(|target| instead[target].unwrap_or(target));
        let leads_to = |other: Block, target: Block| other == block || instead[other].unwrap_or(other) == target;
        let is_choice = |target: Block| {
            let branches = cfg.predecessors(block).iter().map(|from| cfg.successors(*from));
            let mut choices = branches.filter(|ways| (2..=MOST_WAYS).contains(&ways.len()));
            choices.any(|ways| ways.iter().all(|other| leads_to(*other, target)))
        };
        let meet = cfg.predecessors(block).len() > 1;
        let shapes_loop = |target: Block| headers.contains(block) || headers.contains(target) && meet;
        let stays = |target: Block| target == block || shapes_loop(target) || is_choice(target);
        instead[block] = target.filter(|target| !stays(*target));
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

/// The blocks to which control goes back, in the reverse post-order.
fn headers(cfg: &Cfg) -> EntitySet<Block> {
    let mut headers = EntitySet::new();
    for from in cfg.rpo() {
        let back = cfg.successors(*from).iter().filter(|to| cfg.rpo_number(*from) >= cfg.rpo_number(**to));
        headers.extend(back.copied());
    }
    headers
}

/// Sends a block's branch elsewhere.
fn retarget(func: &mut Function, block: Block, map: impl Fn(Block) -> Block) {
    let Some(inst) = func.terminator(block) else { return };
    for operand in func.srcs_mut(inst) {
        if let Operand::Block(to) = operand {
            *to = map(*to);
        }
    }
}
