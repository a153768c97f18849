//! The dominator-respecting variant: liveness of what a definition may have reached.
//!
//! The page intersects LiveOut with the dominators' sets after each meet. Here the solution is intersected in the end
//! with what some definition leads to: what a definition reaches it also reaches further on, until a read, so the
//! solution is the same. A definition reaches all blocks of a cycle once it reaches one, so an outermost loop counts as
//! one block, and one pass in the reverse post-order is enough; iterated dominance frontiers, which say the same, have
//! the square of the blocks as their size in deep nests.
//!
//! In unreachable blocks nothing is left out. Cost: edges times words of a set.

use cranelift_entity::EntityRef;

use super::super::bitset::{self, BitMatrix};
use super::super::cfg::Cfg;
use super::super::live_scan::NONE;
use super::super::loops::{Loop, LoopNest};
use super::sets::predecessors;
use oriole_ir::Function;

/// By place: the registers that may be defined at a block's entry, and at its end.
pub(super) struct Available {
    pub(super) entry: BitMatrix,
    pub(super) end: BitMatrix,
}

/// Where the registers with a number, which is their bit, may be defined.
pub(super) fn available(func: &Function, cfg: &Cfg, number: &[u32]) -> Available {
    let bits = number.iter().filter(|bit| **bit != NONE).count();
    let mut end = BitMatrix::new(cfg.blocks().len(), bits);
    let mut entry = end.clone();
    for (place, block) in cfg.blocks().iter().enumerate() {
        // A guarded definition may happen.
        let defined = func.block_insts(*block).flat_map(|inst| func.defs(inst)).map(|reg| number[reg.index()]);
        for bit in defined.filter(|bit| *bit != NONE) {
            bitset::insert(end.row_mut(place), bit as usize);
        }
    }
    let nest = LoopNest::compute(cfg);
    let outermost = outermost(&nest);
    // Predecessors outside of a cycle come before all of it, since the first of its blocks stands for it.
    for block in cfg.rpo() {
        let blocks = match nest.innermost(cfg, *block).map(|of| outermost[of.index()]) {
            None => std::slice::from_ref(block),
            Some(of) if nest.header(of) == *block => nest.blocks(of),
            Some(_) => continue,
        };
        let places = || blocks.iter().filter_map(|block| cfg.position(*block));
        let Some(first) = cfg.position(*block) else { continue };
        // In a cycle each block comes before another one, so what the cycle defines is among this.
        let before = places().flat_map(|place| predecessors(cfg, place));
        for from in before.filter(|place| cfg.is_reachable(cfg.blocks()[*place])) {
            bitset::union(entry.row_mut(first), end.row(from));
        }
        let reaching = entry.row(first).to_vec();
        for place in places() {
            bitset::union(entry.row_mut(place), &reaching);
            bitset::union(end.row_mut(place), &reaching);
        }
    }
    for place in (0..cfg.blocks().len()).filter(|place| !cfg.is_reachable(cfg.blocks()[*place])) {
        [&mut entry, &mut end].into_iter().for_each(|sets| sets.row_mut(place).fill(u64::MAX));
    }
    Available { entry, end }
}

/// The outermost loop around each loop.
fn outermost(nest: &LoopNest) -> Vec<Loop> {
    let mut outermost: Vec<Loop> = Vec::new();
    for of in nest.loops() {
        outermost.push(nest.parent(of).map_or(of, |parent| outermost[parent.index()]));
    }
    outermost
}
