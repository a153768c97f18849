//! Live values by kill markers: a register is live where some path leads there from a definition of it, with no marker
//! of it in between.
//!
//! Where markers are behind the last read on every way, this is liveness by reads ([`super::LiveRegisters`]), which
//! nothing here looks at.

use std::collections::BTreeSet;

use oriole_ir::ops::Opcode;
use oriole_ir::{Anchor, Function, Inst, Kill, Reg};

use super::graph::Graph;
use super::live::{LiveRegisters, overwrites, read};

/// The live registers of each block: first those behind its phis, then those behind each other instruction.
pub type Points = Vec<BTreeSet<Reg>>;

/// The live registers by markers, by place in the layout.
pub fn by_markers(func: &Function, graph: &Graph, kills: &[Kill]) -> Vec<Points> {
    let mut points: Vec<Points> = graph.blocks.iter().map(|_| Vec::new()).collect();
    let killed = |at: Anchor| kills.iter().filter(move |kill| kill.at == at).map(|kill| kill.reg);
    loop {
        let before = points.clone();
        for (place, block) in graph.blocks.iter().enumerate() {
            let ends = graph.predecessors[place].iter().filter_map(|from| points[*from].last());
            let mut live: BTreeSet<Reg> = ends.flatten().copied().collect();
            let (phis, others): (Vec<Inst>, Vec<Inst>) =
                func.block_insts(*block).partition(|inst| func.inst(*inst).opcode == Opcode::Phi);
            let mut found = Vec::new();
            let mut point = |insts: &[Inst], at: Anchor| {
                live.extend(insts.iter().flat_map(|inst| func.defs(*inst)));
                killed(at).for_each(|reg| _ = live.remove(&reg));
                found.push(live.clone());
            };
            point(&phis, Anchor::Entry(*block));
            others.iter().for_each(|inst| point(&[*inst], Anchor::Behind(*inst)));
            points[place] = found;
        }
        if points == before {
            return points;
        }
    }
}

/// The live registers at the same points by reads, but for those behind terminators, which are none of one block.
pub fn by_reads(func: &Function, graph: &Graph) -> Vec<Points> {
    let live = LiveRegisters::of(func, graph);
    let of_block = |place: usize| {
        let insts: Vec<Inst> =
            func.block_insts(graph.blocks[place]).filter(|inst| func.inst(*inst).opcode != Opcode::Phi).collect();
        let is_live = |from: usize, reg: Reg| {
            let reads = |inst: Inst| read(func, inst).any(|found| found == reg);
            match insts[from..].iter().find(|inst| reads(**inst) || overwrites(func, **inst, reg)) {
                Some(inst) => reads(*inst),
                None => live.live_out(place, reg),
            }
        };
        (0..insts.len()).map(|from| func.regs().keys().filter(|reg| is_live(from, *reg)).collect()).collect()
    };
    (0..graph.blocks.len()).map(of_block).collect()
}
