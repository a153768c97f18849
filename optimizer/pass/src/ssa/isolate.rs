//! Phis of loops whose old value is needed behind the branch that closes the loop.
//!
//! The copy of the new value cannot precede that branch, and a block for it on the back edge changes the shape of
//! the loop. Instead the phi writes a register of its own, which is copied at the top of the loop: as often, without a
//! new block, and the new value can be written into the phi's register at once ("isolation" in Boissinot et al.,
//! "Revisiting Out-of-SSA Translation", 2009).

use rustc_hash::{FxHashMap, FxHashSet};

use super::destruct::{copy, phis};
use crate::analysis::{Cfg, Dominators, Liveness};
use oriole_ir::{Block, Function, Inst, Operand, Reg, RegFile};

/// Gives such phis their registers; the copies that this takes. The two sides of these should not become one.
pub(super) fn isolate(func: &mut Function, cfg: &Cfg, liveness: &Liveness) -> FxHashSet<Inst> {
    let mut copies = FxHashSet::default();
    let closing = closing_branches(cfg);
    if closing.is_empty() {
        return copies;
    }
    for (latch, header) in closing {
        let needed = NeededBehind::new(func, cfg, latch, header);
        let new_values: FxHashMap<Reg, Operand> =
            phis(func, header).filter_map(|phi| func.defs(phi).next().zip(taken(func, phi, latch))).collect();
        let is_isolated = |phi: &Inst| {
            let Some(old) = func.defs(*phi).next() else { return false };
            let takes_another = matches!(new_values.get(&old), Some(Operand::Reg(new)) if *new != old);
            takes_another && func.regs()[old].file == RegFile::R && needed.contains(old, liveness)
        };
        let isolated: Vec<Inst> = phis(func, header).filter(is_isolated).collect();
        let Some(last) = phis(func, header).last() else { continue };
        copies.extend(isolated.into_iter().map(|phi| isolate_phi(func, phi, last)));
    }
    copies
}

/// The edges back to the header of a loop from blocks that may also go elsewhere.
pub(super) fn closing_branches(cfg: &Cfg) -> Vec<(Block, Block)> {
    let leaving = cfg.rpo().iter().filter(|block| cfg.successors(**block).len() > 1);
    let edges = leaving.flat_map(|block| cfg.successors(*block).iter().map(|successor| (*block, *successor)));
    let mut back: Vec<_> = edges.filter(|(from, to)| cfg.rpo_number(*from) >= cfg.rpo_number(*to)).collect();
    if !back.is_empty() {
        let dominators = Dominators::new(cfg);
        back.retain(|(latch, header)| dominators.dominates(cfg, *header, *latch));
    }
    back
}

/// What the branch that closes a loop reads, and what lives on where it leaves the loop.
pub(super) struct NeededBehind {
    read: FxHashSet<Reg>,
    exits: Vec<Block>,
}

impl NeededBehind {
    pub(super) fn new(func: &Function, cfg: &Cfg, latch: Block, header: Block) -> NeededBehind {
        let exits: Vec<Block> = cfg.successors(latch).iter().copied().filter(|block| *block != header).collect();
        let mut read: FxHashSet<Reg> =
            func.terminator(latch).into_iter().flat_map(|branch| func.uses(branch)).collect();
        for phi in exits.iter().flat_map(|exit| phis(func, *exit)) {
            read.extend(taken(func, phi, latch).and_then(Operand::reg));
        }
        NeededBehind { read, exits }
    }

    pub(super) fn contains(&self, reg: Reg, liveness: &Liveness) -> bool {
        self.read.contains(&reg) || self.exits.iter().any(|exit| liveness.live_in(*exit).contains(reg))
    }
}

/// What a phi takes on the edge from a block.
pub(super) fn taken(func: &Function, phi: Inst, from: Block) -> Option<Operand> {
    func.srcs(phi).chunks_exact(2).find(|pair| pair[1] == Operand::Block(from)).map(|pair| pair[0])
}

/// The phi writes a new register; behind the last phi a copy of it writes the old one.
fn isolate_phi(func: &mut Function, phi: Inst, last: Inst) -> Inst {
    let old = func.defs(phi).next().expect("a phi has a destination");
    let own = func.new_reg(func.regs()[old]);
    func.dsts_mut(phi)[0] = Operand::Reg(own);
    let copy = copy(func, old, Operand::Reg(own), 0);
    func.insert_after(last, copy);
    copy
}
