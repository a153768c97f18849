//! The equations of liveness, evaluated on a solution that somebody else found:
//!
//! ```text
//! LiveOut(B) = union of LiveIn(S) over the successors S, with the sources of their phis that come from B
//! LiveIn(B)  = LiveOut(B), walked backward over the instructions of B
//! ```
//!
//! A solution that satisfies them may still be too large; the definition by paths ([`super::LiveRegisters`]) excludes
//! that.

use std::collections::BTreeSet;

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Reg};

use super::graph::Graph;
use super::live::{overwrites, read, read_by_phi};

/// The right-hand side for the end of a block, from everybody's live-in sets.
pub fn live_out(func: &Function, graph: &Graph, at: usize, live_in: &[BTreeSet<Reg>]) -> BTreeSet<Reg> {
    let mut live = BTreeSet::new();
    for to in &graph.successors[at] {
        live.extend(&live_in[*to]);
        let insts = func.block_insts(graph.blocks[*to]);
        for phi in insts.filter(|inst| func.inst(*inst).opcode == Opcode::Phi) {
            live.extend(read_by_phi(func, phi).filter(|(_, from)| *from == graph.blocks[at]).map(|(reg, _)| reg));
        }
    }
    live
}

/// The right-hand side for the entry of a block, from its live-out set.
pub fn live_in(func: &Function, block: Block, mut live: BTreeSet<Reg>) -> BTreeSet<Reg> {
    for inst in func.block_insts(block).rev() {
        live.retain(|reg| !overwrites(func, inst, *reg));
        if func.inst(inst).opcode != Opcode::Phi {
            live.extend(read(func, inst));
        }
    }
    live
}
