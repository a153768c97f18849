//! OriBranchOpt: branches whose outcome is known, ways that lead through blocks for nothing, straight lines, and equal
//! ends of blocks.
//!
//! The documents say no more than that the phase precedes the first liveness pass, which removes what dead
//! branches used (`spec/liveness-and-dce.txt`, "Why Four Instances"). Here a round is
//!
//! 1. branches with one target, and the removal of blocks that control does not reach any more;
//! 2. empty blocks (`forward.rs`), then straight lines (`merge.rs`);
//! 3. branches that are known where they stand, and ways on which they are known (`facts.rs`, `thread.rs`);
//! 4. equal ends of all blocks that lead to one (`tails.rs`).
//!
//! What asks for value ranges comes behind what mostly changes the graph, so that they are seldom computed twice.
//! Rounds end when one changes nothing, or by the knob `BranchOptRounds`. Nothing that threads execute together moves,
//! is merged or stands twice, no loop gets a second entry, and preheaders and latches stay.
//!
//! Cost: a round is near-linear.

mod forward;
mod tails;
pub mod thread;

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, InstBuilder};
use oriole_pass::analysis::AnalysisSet;
use oriole_pass::edit::graph::drop_unreachable;
use oriole_pass::engine::merge_blocks;
use oriole_pass::engine::rounds::rounds;
use oriole_pass::pass::{Changed, Knob, PhaseContext};

/// OriBranchOpt.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, Knob::BranchOptRounds, round)
}

fn round(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let steps: [fn(&mut Function, &mut PhaseContext<'_>) -> Changed; 6] =
        [same_targets, unreachable, forward::run, merge_blocks::run, thread::run, tails::run];
    let mut changed = Changed::No;
    for step in steps {
        let made = step(func, cx);
        if made.is_yes() {
            cx.analyses.retain(AnalysisSet::NONE);
        }
        changed |= made;
    }
    changed
}

/// Branches of two ways that lead to one block.
fn same_targets(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut changed = Changed::No;
    for block in func.layout().to_vec() {
        if let Some(target) = only_target(func, block).filter(|_| cx.rewrite("same-targets")) {
            let branch = func.terminator(block).expect("it has a target");
            InstBuilder::new(Opcode::Bra).src(target).replace(func, branch);
            changed = Changed::Yes;
        }
    }
    changed
}

/// The target of a branch that has a choice of one.
fn only_target(func: &Function, block: Block) -> Option<Block> {
    let branch = func.terminator(block).filter(|inst| func.inst(*inst).opcode != Opcode::Bra)?;
    let mut targets = func.srcs(branch).iter().filter_map(|operand| operand.block());
    let first = targets.next()?;
    targets.all(|target| target == first).then_some(first)
}

fn unreachable(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get(func);
    drop_unreachable(func, cx, &cfg)
}
