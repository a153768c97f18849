//! SpeculativeHoistComInsts (phase 56): what both arms of a branch compute is computed once in front of it.
//!
//! `spec/copy-propagation-and-cse.txt` names the phase's knob, `SpeculativeHoistCommonInsts`, and no more. Here the
//! arms are two blocks that nothing but the branch leads to. The instructions of the first are taken in order, up to
//! `SpeculativeHoistWindow` of them; one is hoisted if
//!
//! - it is pure or a weak load, and copies nothing; it reads nothing that the arms may wait for ([`Awaited`]);
//! - the second arm has the same instruction within its window: opcode, fields, guard and operands; registers that both
//!   arms read are defined in front of the branch, or were hoisted;
//! - it is no load, or reads a parameter of the kernel, or nothing before it in either arm writes memory, orders
//!   accesses or waits for threads.
//!
//! Every thread executes the hoisted instruction once, as before; a warp whose threads part issues it once instead of
//! twice. The window keeps results from living long in front of what reads them. Instructions of one arm alone stay:
//! threads of the other would execute them for nothing.
//!
//! Branches that are inside of arms come first, so that what they hoist can go further. Cost: linear in instructions,
//! times the window.

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Operand, Rewriter};
use oriole_pass::analysis::{Awaited, Cfg, reads_kernel_parameter};
use oriole_pass::edit::graph::{has_phis, is_free, two_ways};
use oriole_pass::engine::dead_code::is_removable;
use oriole_pass::pass::{Changed, Knob, PhaseContext};

const RULE: &str = "hoist-common";

/// SpeculativeHoistComInsts.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let window = cx.knobs.limit(Knob::SpeculativeHoistWindow).unwrap_or(u32::MAX) as usize;
    if !cx.knobs.flag(Knob::SpeculativeHoistCommonInsts) {
        return Changed::No;
    }
    let cfg = cx.analyses.get::<Cfg>(func);
    let heads: Vec<(Block, [Block; 2])> =
        cfg.rpo().iter().rev().filter_map(|head| Some((*head, arms(func, &cfg, *head)?))).collect();
    if heads.is_empty() {
        return Changed::No;
    }
    let awaited = Awaited::new(func);
    let mut func = Rewriter::new(func);
    let mut changed = Changed::No;
    for (head, arms) in heads {
        // What is hoisted makes room in the window.
        while hoist(&mut func, cx, &awaited, head, arms, window).is_yes() {
            changed = Changed::Yes;
        }
    }
    changed
}

/// The arms of a block's branch, where each can be entered there alone.
fn arms(func: &Function, cfg: &Cfg, head: Block) -> Option<[Block; 2]> {
    let (_, yes, no) = two_ways(func, head)?;
    let alone = |block: &Block| cfg.predecessors(*block).len() == 1 && !has_phis(func, *block);
    Some([yes, no]).filter(|arms| arms.iter().all(alone))
}

fn hoist(
    func: &mut Rewriter<'_>,
    cx: &mut PhaseContext<'_>,
    awaited: &Awaited,
    head: Block,
    [one, two]: [Block; 2],
    window: usize,
) -> Changed {
    let Some(branch) = func.terminator(head) else { return Changed::No };
    let mut others = candidates(func, two, window);
    let mut changed = Changed::No;
    for inst in candidates(func, one, window) {
        if awaited.is_read_by(func, inst) {
            continue;
        }
        let Some(at) = others.iter().position(|other| is_same(func, inst, *other)) else { continue };
        if !cx.rewrite(RULE) {
            break;
        }
        let other = others.remove(at);
        let names: Vec<_> = func.defs(other).zip(func.defs(inst)).collect();
        names.into_iter().for_each(|(old, new)| func.replace_reads(old, new));
        func.remove(other);
        func.move_before(branch, inst);
        changed = Changed::Yes;
    }
    changed
}

/// The instructions at the beginning of an arm that may be executed in front of the branch, in order.
fn candidates(func: &Function, block: Block, window: usize) -> Vec<Inst> {
    let mut memory_stays = true;
    let mut found = Vec::new();
    for inst in func.block_insts(block).take(window) {
        let data = func.inst(inst);
        let copies = data.is(Flags::COPY) || data.opcode == Opcode::Phi;
        if !copies && is_free(func, inst) && is_removable(func, inst) && (memory_stays || reads_what_stays(func, inst))
        {
            found.push(inst);
        }
        let changes = [Flags::WRITES, Flags::FENCE, Flags::CONVERGENT].into_iter().any(|flag| data.is(flag));
        // Nothing moves in front of a load that is volatile or acquires.
        let is_ordered = data.is(Flags::READS) && !is_removable(func, inst);
        memory_stays &= !changes && !is_ordered;
    }
    found
}

/// Whether what an instruction reads is the same wherever it stands.
fn reads_what_stays(func: &Function, inst: Inst) -> bool {
    !func.inst(inst).is(Flags::READS) || reads_kernel_parameter(func, inst)
}

/// Whether two instructions compute the same of the same. Undefined operands may differ.
fn is_same(func: &Function, a: Inst, b: Inst) -> bool {
    let (one, two) = (func.inst(a), func.inst(b));
    (one.opcode, one.fields, one.guard) == (two.opcode, two.fields, two.guard)
        && func.inputs(a) == func.inputs(b)
        && !func.inputs(a).contains(&Operand::Undef)
        && func.dsts(a).len() == func.dsts(b).len()
        && func.defs(a).zip(func.defs(b)).all(|(a, b)| func.regs()[a] == func.regs()[b])
}
