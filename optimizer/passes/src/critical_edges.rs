//! `break-crit-edges`: a block of its own for each edge that leads from a choice to a merge (`spec/pass-pipeline.txt`,
//! line 1187: BreakCriticalEdges).
//!
//! The values that phis of the merge take over such an edge have no place of their own before: copies that are made
//! when SSA form ends would be executed on the other way too. Edges back to the header of a loop stay as they are,
//! where LLVM splits them as well: on a machine that does not fall through, their blocks would cost each round a
//! branch.
//!
//! Nobody meets elsewhere than before: a split edge leads where it led.
//!
//! Cost: linear in the edges.

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, InstBuilder};
use oriole_pass::analysis::Cfg;
use oriole_pass::edit::graph::{come_from, map_targets};
use oriole_pass::pass::{Changed, PhaseContext};

/// The break-crit-edges pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get::<Cfg>(func);
    let mut changed = Changed::No;
    for from in cfg.rpo() {
        for to in critical(&cfg, *from) {
            if cx.rewrite("split-edge") {
                split(func, *from, to);
                changed = Changed::Yes;
            }
        }
    }
    changed
}

/// The blocks that critical edges from a block lead to, each once.
fn critical(cfg: &Cfg, from: Block) -> Vec<Block> {
    let is_back = |to: Block| cfg.rpo_number(to) <= cfg.rpo_number(from);
    let merges = |to: &Block| cfg.predecessors(*to).iter().any(|other| *other != from);
    let mut ways = cfg.successors(from).to_vec();
    ways.sort_unstable();
    ways.dedup();
    if ways.len() < 2 {
        return Vec::new();
    }
    ways.into_iter().filter(|to| merges(to) && !is_back(*to)).collect()
}

fn split(func: &mut Function, from: Block, to: Block) {
    let between = func.new_block_after(from);
    InstBuilder::new(Opcode::Bra).src(to).append(func, between);
    map_targets(func, from, |target| if target == to { between } else { target });
    come_from(func, to, from, between);
}
