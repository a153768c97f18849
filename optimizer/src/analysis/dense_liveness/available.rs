//! The dominator-respecting variant: liveness of what a definition may have reached.
//!
//! Where control can come from a definition in block D, either D dominates the place, or a block of D's iterated
//! dominance frontier does. So one pass over frontiers, and one down the dominator tree, say which registers may be
//! defined at each border. The page intersects LiveOut with that set after each meet. Here the solution is intersected
//! in the end: what a definition reaches it also reaches further on, until a read, so the solution is the same.
//!
//! In unreachable blocks nothing is left out. Cost: the frontiers, times words of a set.

use cranelift_entity::EntityRef;

use super::super::bitset::{self, BitMatrix};
use super::super::cfg::Cfg;
use super::super::dominators::Dominators;
use super::super::live_scan::NONE;
use oriole_ir::{Block, Function};

/// By place: the registers that may be defined at a block's entry, and at its end.
pub(super) struct Available {
    pub(super) entry: BitMatrix,
    pub(super) end: BitMatrix,
}

/// Where the registers with a number, which is their bit, may be defined.
pub(super) fn available(func: &Function, cfg: &Cfg, dominators: &Dominators, number: &[u32]) -> Available {
    let bits = number.iter().filter(|bit| **bit != NONE).count();
    let mut own = BitMatrix::new(cfg.blocks().len(), bits);
    let mut entry = own.clone();
    for (place, block) in cfg.blocks().iter().enumerate() {
        // A guarded definition may happen.
        let defined = func.block_insts(*block).flat_map(|inst| func.defs(inst)).map(|reg| number[reg.index()]);
        for bit in defined.filter(|bit| *bit != NONE) {
            bitset::insert(own.row_mut(place), bit as usize);
        }
    }
    close_over_frontiers(cfg, dominators, &own, &mut entry);
    let mut end = own;
    // Parents come first, so a block adds to its own what is there at the end of its immediate dominator.
    for block in dominators.preorder(cfg) {
        let Some(place) = cfg.position(block) else { continue };
        let above = dominators.immediate_dominator(cfg, block).and_then(|above| cfg.position(above));
        above.into_iter().for_each(|above| bitset::union(entry.row_mut(place), end.row(above)));
        bitset::union(end.row_mut(place), entry.row(place));
    }
    for place in (0..cfg.blocks().len()).filter(|place| !cfg.is_reachable(cfg.blocks()[*place])) {
        [&mut entry, &mut end].into_iter().for_each(|sets| sets.row_mut(place).fill(u64::MAX));
    }
    Available { entry, end }
}

/// Adds to each block the definitions whose iterated dominance frontier it is in.
fn close_over_frontiers(cfg: &Cfg, dominators: &Dominators, own: &BitMatrix, entry: &mut BitMatrix) {
    let frontiers = dominators.frontiers(cfg);
    let mut work: Vec<Block> = cfg.rpo().iter().rev().copied().collect();
    let mut is_due = vec![true; cfg.blocks().len()];
    while let Some(block) = work.pop() {
        let Some(place) = cfg.position(block) else { continue };
        is_due[place] = false;
        let mut here = own.row(place).to_vec();
        bitset::union(&mut here, entry.row(place));
        for join in frontiers.of(cfg, block) {
            let Some(at) = cfg.position(*join) else { continue };
            if bitset::union_if_changed(entry.row_mut(at), &here) && !std::mem::replace(&mut is_due[at], true) {
                work.push(*join);
            }
        }
    }
}
