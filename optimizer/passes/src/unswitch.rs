//! `loop-unswitch`: a condition that a loop does not change is decided in front of it
//! (`spec/pass-pipeline.txt`, lines 1215 and 142: LoopUnswitch).
//!
//! There are two copies of the loop then, one for each side of the condition, and neither has the branch. A loop is
//! unswitched if
//!
//! - control enters it at its header alone, from one block outside;
//! - a block of it ends in a branch on a predicate that is defined outside, with two different targets in the loop;
//! - the predicate is the same in all lanes of a warp that execute together: lanes on different sides would run the
//!   loop twice, one after the other;
//! - nothing in it is done by threads together, is a fence, or defines a convergence barrier, since threads of a CTA
//!   may take different sides;
//! - it has at most [`MOST`] instructions, of which the second loop is a copy.
//!
//! A call takes one condition of the loop: the first in the order of its blocks.
//!
//! Cost: linear in the loop, and in the reads of what it defines.

use rustc_hash::FxHashMap;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg};
use oriole_pass::analysis::{Cfg, Divergence, LoopNest, Uniformity};
use oriole_pass::edit::copied::Copied;
use oriole_pass::edit::graph::{
    add_incoming, always, come_from, incoming, is_free, keep_reachable, map_targets, phis, remove_incoming, two_ways,
};
use oriole_pass::pass::{Changed, PhaseContext};
use oriole_pass::ssa::{self, Copies};

/// Instructions of a loop, at most: LLVM's `unswitch-threshold` of 50, which counts what is left of a side.
const MOST: usize = 100;

/// A loop and the branch that is decided in front of it.
struct Plan {
    header: Block,
    /// The block outside that leads to the header.
    before: Block,
    blocks: Vec<Block>,
    /// The block that ends in the branch.
    at: Block,
    condition: Operand,
    /// Where the branch leads.
    sides: [Block; 2],
    /// The edges out of the loop.
    exits: Vec<(Block, Block)>,
}

/// The loop-unswitch pass on the loop with a header.
pub fn run(func: &mut Function, header: Block, cx: &mut PhaseContext<'_>) -> Changed {
    let Some(plan) = plan(func, header, cx).filter(|_| cx.rewrite("unswitch-loop")) else { return Changed::No };
    unswitch(func, &plan);
    Changed::Yes
}

fn plan(func: &Function, header: Block, cx: &mut PhaseContext<'_>) -> Option<Plan> {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let of = nest.innermost(&cfg, header).filter(|of| nest.header(*of) == header && nest.is_natural(*of))?;
    let blocks = nest.blocks(of).to_vec();
    let mut insts = blocks.iter().flat_map(|block| func.block_insts(*block));
    let size = blocks.iter().flat_map(|block| func.block_insts(*block)).take(MOST + 1).count();
    if size > MOST || !insts.all(|inst| func.inst(inst).is(Flags::TERMINATOR) || is_free(func, inst)) {
        return None;
    }
    let mut outside = cfg.predecessors(header).iter().filter(|from| !nest.contains(&cfg, of, **from));
    let before = *outside.next().filter(|_| outside.next().is_none())?;
    let divergence = cx.analyses.get::<Divergence>(func);
    let candidate = |at: &Block| {
        let (condition, yes, no) = two_ways(func, *at)?;
        let reg = condition.reg()?;
        let stays = [yes, no].into_iter().all(|side| nest.contains(&cfg, of, side));
        let known =
            is_defined_outside(func, &blocks, reg) && divergence.at(&cfg, &nest, reg, before) > Uniformity::Varying;
        (stays && known).then_some((*at, condition, [yes, no]))
    };
    let (at, condition, sides) = blocks.iter().find_map(candidate)?;
    let exits = nest.exits(&cfg, of).collect();
    Some(Plan { header, before, blocks, at, condition, sides, exits })
}

fn is_defined_outside(func: &Function, blocks: &[Block], reg: Reg) -> bool {
    let mut insts = blocks.iter().flat_map(|block| func.block_insts(*block));
    !insts.any(|inst| func.defs(inst).any(|defined| defined == reg))
}

fn unswitch(func: &mut Function, plan: &Plan) {
    let Plan { header, before, blocks, at, condition, sides, exits } = plan;
    let copied = Copied::named(func, blocks);
    copied.copy_blocks(func, blocks);
    // The decision is made in a block of its own, since the block in front may have other successors.
    let choice = func.create_block();
    map_targets(func, *before, |target| if target == *header { choice } else { target });
    let branch = InstBuilder::new(Opcode::CBra).src(*condition).src(*header).src(copied.block(*header));
    branch.append(func, choice);
    for entry in [*header, copied.block(*header)] {
        come_from(func, entry, *before, choice);
    }
    // Control comes out of the copy where it comes out of the loop, with values of the copy.
    for (from, to) in exits {
        for phi in phis(func, *to).collect::<Vec<Inst>>() {
            if let Some(value) = incoming(func, phi, *from) {
                add_incoming(func, phi, copied.operand(value), copied.block(*from));
            }
        }
    }
    let [yes, no] = *sides;
    always(func, *at, yes);
    remove_incoming(func, no, |from| from == *at);
    let (copy, copied_yes) = (copied.block(*at), copied.block(yes));
    always(func, copy, copied.block(no));
    remove_incoming(func, copied_yes, |from| from == copy);
    lay_out(func, plan, choice, &copied);
    let cfg = Cfg::new(func);
    keep_reachable(func, &cfg);
    repair(func, &copied);
}

/// The choice is in front of the loop, and the copy behind it.
fn lay_out(func: &mut Function, plan: &Plan, choice: Block, copied: &Copied) {
    let mut layout = Vec::with_capacity(func.layout().len() + plan.blocks.len() + 1);
    let last = func.layout().iter().rposition(|block| plan.blocks.contains(block));
    for (place, block) in func.layout().iter().enumerate() {
        if *block == plan.header {
            layout.push(choice);
        }
        layout.push(*block);
        if Some(place) == last {
            layout.extend(plan.blocks.iter().map(|block| copied.block(*block)));
        }
    }
    func.set_layout(layout);
}

/// Reads behind the loops read whichever loop was run.
fn repair(func: &mut Function, copied: &Copied) {
    let mut homes: FxHashMap<Reg, Block> = FxHashMap::default();
    for block in func.layout() {
        homes.extend(func.block_insts(*block).flat_map(|inst| func.defs(inst)).map(|reg| (reg, *block)));
    }
    let mut both: Vec<(Reg, Copies)> = Vec::new();
    // The only definition that is left of a register whose block the loop itself no longer has.
    let mut renamed: FxHashMap<Reg, Reg> = FxHashMap::default();
    for (reg, copy) in &copied.regs {
        match (homes.get(reg), homes.get(copy)) {
            (Some(_), Some(block)) => both.push((*reg, vec![(*block, *copy)])),
            (None, Some(_)) => _ = renamed.insert(*reg, *copy),
            (_, None) => {}
        }
    }
    both.sort_unstable_by_key(|(reg, _)| *reg);
    ssa::repair(func, &both);
    rename(func, &renamed);
}

fn rename(func: &mut Function, renamed: &FxHashMap<Reg, Reg>) {
    if renamed.is_empty() {
        return;
    }
    let name = |reg: Reg| renamed.get(&reg).copied().unwrap_or(reg);
    for inst in func.layout_insts().collect::<Vec<Inst>>() {
        func.inputs_mut(inst).iter_mut().for_each(|input| *input = input.map_reg(name));
        if let Some(guard) = func.inst(inst).guard {
            func.set_guard(inst, Some(guard.with_reg(name(guard.reg()))));
        }
    }
}
