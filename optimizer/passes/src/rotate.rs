//! `loop-rotate`: the test at the top of a loop goes to its bottom; and `licm`, which does so first
//! (`spec/pass-pipeline.txt`, line 1208: "LICM / LoopRotate" is one factory).
//!
//! The header is copied in front of the loop, where it decides whether there is a round at all; the header itself
//! becomes the last block of a round. A round then ends with the test, and does not branch back to it; whatever a round
//! executes is executed at least once, so that loads may leave the loop from a block of its own in front. A loop is
//! rotated if
//!
//! - it is natural, and control enters it from one block outside;
//! - its header ends with a branch of which one way leaves the loop, and no latch has such a branch already;
//! - its header does nothing that threads do together, is no fence and calls nothing, and is small.
//!
//! Threads that leave the loop in front of the first round meet the others where they did before: at the first block
//! behind the loop that all of them come to.
//!
//! Cost: linear in the loop, and in the reads of what its header defines.

use crate::promote_place;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg};
use oriole_pass::analysis::{AnalysisSet, Cfg, LoopNest};
use oriole_pass::edit::copied::Copied;
use oriole_pass::edit::graph::{add_incoming, incoming, is_free, map_targets, phis, remove_incoming, two_ways};
use oriole_pass::engine::hoisting;
use oriole_pass::pass::{Changed, PhaseContext};
use oriole_pass::ssa::{self, Copies};

/// Instructions of a header beside phis and its branch: LLVM's `rotation-max-header-size`.
const MOST: usize = 16;

/// A loop whose test goes to the bottom.
struct Plan {
    header: Block,
    /// The block outside that leads to the header.
    before: Block,
    /// Where the header's branch stays in the loop.
    stays: Block,
    /// Where it leaves the loop.
    exit: Block,
    /// The last block of the loop in the layout.
    last: Block,
}

/// The loop-rotate pass on the loop with a header.
pub fn run(func: &mut Function, header: Block, cx: &mut PhaseContext<'_>) -> Changed {
    rotated(func, header, cx).map_or(Changed::No, |_| Changed::Yes)
}

/// `licm`: what a loop does not change leaves it, once the loop is rotated, since only then do loads; and places in
/// memory that it changes are registers in it.
pub fn licm(func: &mut Function, header: Block, cx: &mut PhaseContext<'_>) -> Changed {
    let rotated = rotated(func, header, cx);
    if rotated.is_some() {
        cx.analyses.retain(AnalysisSet::NONE);
    }
    let header = rotated.unwrap_or(header);
    let moved = hoisting::out_of(func, header, cx);
    if moved.is_yes() {
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
    }
    let promoted = promote_place::run(func, header, cx);
    Changed::when(rotated.is_some()) | moved | promoted
}

/// Rotates the loop with a header; the header that it has then.
fn rotated(func: &mut Function, header: Block, cx: &mut PhaseContext<'_>) -> Option<Block> {
    let plan = plan(func, header, cx).filter(|_| cx.rewrite("rotate-loop"))?;
    rotate(func, &plan);
    Some(plan.stays)
}

fn plan(func: &Function, header: Block, cx: &mut PhaseContext<'_>) -> Option<Plan> {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let of = nest.innermost(&cfg, header).filter(|of| nest.header(*of) == header && nest.is_natural(*of))?;
    let (_, yes, no) = two_ways(func, header)?;
    let [stays, exit] = match [yes, no].map(|side| nest.contains(&cfg, of, side)) {
        [true, false] => [yes, no],
        [false, true] => [no, yes],
        _ => return None,
    };
    let leaves = |latch: Block| nest.exits(&cfg, of).any(|(from, _)| from == latch);
    if nest.latches(&cfg, of).any(leaves) || !is_small(func, header) {
        return None;
    }
    let mut outside = cfg.predecessors(header).iter().filter(|from| !nest.contains(&cfg, of, **from));
    let before = *outside.next().filter(|_| outside.next().is_none())?;
    let last = *nest.blocks(of).iter().max_by_key(|block| cfg.position(**block))?;
    Some(Plan { header, before, stays, exit, last })
}

fn is_small(func: &Function, header: Block) -> bool {
    let mut insts = func.block_insts(header).filter(|inst| !func.inst(*inst).is(Flags::TERMINATOR));
    let copied = insts.clone().filter(|inst| func.inst(*inst).opcode != Opcode::Phi).count();
    copied <= MOST && insts.all(|inst| is_free(func, inst) && func.inst(inst).opcode != Opcode::Call)
}

fn rotate(func: &mut Function, plan: &Plan) {
    let Plan { header, before, stays, exit, .. } = *plan;
    let copied = Copied::named(func, &[header]);
    let guard = copied.block(header);
    copy_header(func, plan, &copied);
    map_targets(func, before, |target| if target == header { guard } else { target });
    remove_incoming(func, header, |from| from == before);
    // The mark that a loop is not unrolled is on its header.
    if func.is_nounroll(header) {
        [header, guard].into_iter().for_each(|block| func.set_nounroll(block, false));
        func.set_nounroll(stays, true);
    }
    // What leaves the loop goes in front of it, where only those come that execute a round.
    let preheader = func.create_block();
    InstBuilder::new(Opcode::Bra).src(stays).append(func, preheader);
    map_targets(func, guard, |target| if target == stays { preheader } else { target });
    for (to, from) in [(stays, preheader), (exit, guard)] {
        for phi in phis(func, to).collect::<Vec<Inst>>() {
            let value = incoming(func, phi, header).expect("a phi has a source for each block that leads to it");
            add_incoming(func, phi, copied.operand(value), from);
        }
    }
    lay_out(func, plan, [guard, preheader]);
    let mut both: Vec<(Reg, Copies)> = copied.regs.iter().map(|(reg, copy)| (*reg, vec![(guard, *copy)])).collect();
    both.sort_unstable_by_key(|(reg, _)| *reg);
    ssa::repair(func, &both);
}

/// The copy in front of the loop. Its phis merge nothing: they name what the header has on entry.
fn copy_header(func: &mut Function, plan: &Plan, copied: &Copied) {
    let guard = copied.block(plan.header);
    for inst in func.block_insts(plan.header).collect::<Vec<Inst>>() {
        if func.inst(inst).opcode != Opcode::Phi {
            copied.copy(func, inst, plan.header);
            continue;
        }
        let value = incoming(func, inst, plan.before).expect("a phi has a source for each block that leads to it");
        let named: Vec<Operand> = func.dsts(inst).iter().map(|dst| copied.operand(*dst)).collect();
        let phi = func.new_inst(func.inst(inst).head(), &named, &[value, Operand::Block(plan.before)], &[]);
        func.append_inst(guard, phi);
    }
}

/// The copy and the block behind it take the place of the header, which goes behind the loop.
fn lay_out(func: &mut Function, plan: &Plan, new: [Block; 2]) {
    let mut layout = Vec::with_capacity(func.layout().len() + new.len());
    for block in func.layout() {
        match *block == plan.header {
            true => layout.extend(new),
            false => layout.push(*block),
        }
        if *block == plan.last {
            layout.push(plan.header);
        }
    }
    func.set_layout(layout);
}
