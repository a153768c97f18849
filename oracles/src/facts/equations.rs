//! The equations of liveness, evaluated on a solution that somebody else found:
//!
//! ```text
//! LiveOut(B) = union of LiveIn(S) over the successors S, with the sources of their phis that come from B
//! LiveIn(B)  = LiveOut(B), walked backward over the instructions of B
//! ```
//!
//! A solution that satisfies them may still be too large; the definition by paths ([`super::LiveRegisters`]) excludes that.

use std::collections::BTreeSet;

use oriole_optimizer::ir::{Block, Function, Reg};
use oriole_optimizer::ops::Opcode;

use super::graph::Graph;
use super::live::{overwrites, read, read_by_phi};

/// The right-hand side for the end of a block, from everybody's live-in sets.
pub(super) fn live_out(func: &Function, graph: &Graph, at: usize, live_in: &[BTreeSet<Reg>]) -> BTreeSet<Reg> {
    let mut live = BTreeSet::new();
    for to in &graph.successors[at] {
        live.extend(&live_in[*to]);
        let insts = &func.blocks[graph.blocks[*to]].insts;
        for phi in insts.iter().filter(|inst| func.insts[**inst].opcode == Opcode::Phi) {
            live.extend(read_by_phi(func, *phi).filter(|(_, from)| *from == graph.blocks[at]).map(|(reg, _)| reg));
        }
    }
    live
}

/// The right-hand side for the entry of a block, from its live-out set.
pub(super) fn live_in(func: &Function, block: Block, mut live: BTreeSet<Reg>) -> BTreeSet<Reg> {
    for inst in func.blocks[block].insts.iter().rev() {
        live.retain(|reg| !overwrites(func, *inst, *reg));
        if func.insts[*inst].opcode != Opcode::Phi {
            live.extend(read(func, *inst));
        }
    }
    live
}
