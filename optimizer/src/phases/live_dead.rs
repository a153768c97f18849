//! Dead code: OriPerformLiveDead (phases 16, 33, 61, 84) and EarlyOriSimpleLiveDead (phase 10), after
//! `spec/liveness-and-dce.txt`.
//!
//! The full pass drops unreachable blocks, solves liveness, then walks each block backward from its live-out set and
//! removes what defines only dead registers, so that the operands of what is removed die in the same walk. What is
//! dead across blocks takes another round outside SSA; in SSA one marking pass from the instructions that must stay
//! finds it all, cycles of phis that feed only each other included. The simple pass knows no dataflow: it removes
//! definitions that nothing reads at all.
//!
//! What stays, by the flags of the opcode table: everything with an effect, terminators, convergent operations (they
//! synchronise lanes even when nobody reads their result), and loads that are volatile or ordered. Weak loads go.
//!
//! Cost: liveness once in SSA, then linear.

use cranelift_entity::EntityRef;

use super::analyze_control_flow::drop_unreachable;
use super::values::Definitions;
use crate::analysis::bitset::BitSet;
use crate::analysis::{Cfg, LiveWalk, Liveness};
use crate::ir::{Block, Form, Function, Inst, RegFile};
use crate::ops::{Flags, Order};
use crate::pipeline::context::{Changed, PhaseContext};

const RULE: &str = "dead";
const CYCLE_RULE: &str = "dead-cycles";

/// OriPerformLiveDead, all four instances.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut cfg = Cfg::new(func);
    let mut changed = drop_unreachable(func, cx, &cfg);
    if changed.is_yes() {
        cfg = Cfg::new(func);
    }
    loop {
        let round = sweep_by_liveness(func, cx, &cfg);
        changed |= round;
        if func.form == Form::Ssa {
            return changed | sweep_unmarked(func, cx);
        }
        if !round.is_yes() {
            return changed;
        }
    }
}

/// EarlyOriSimpleLiveDead, and the dead-code step of the bundles.
pub fn simple(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut uses = vec![0u32; func.regs.len()];
    let blocks = func.layout.clone();
    for inst in blocks.iter().flat_map(|block| &func.blocks[*block].insts) {
        func.uses(*inst).for_each(|reg| uses[reg.index()] += 1);
    }
    let mut changed = Changed::No;
    loop {
        let mut round = Changed::No;
        for block in blocks.iter().rev() {
            round |= sweep_block(func, *block, |func, inst| {
                let dead = is_removable(func, inst) && func.defs(inst).all(|reg| uses[reg.index()] == 0);
                let gone = dead && cx.rewrite(RULE);
                if gone {
                    func.uses(inst).for_each(|reg| uses[reg.index()] -= 1);
                }
                gone
            });
        }
        changed |= round;
        if !round.is_yes() {
            return changed;
        }
    }
}

/// Whether an instruction may go when nothing reads its results: it is pure or a weak load. Collectives are neither,
/// since lanes wait for each other in them.
pub(super) fn is_removable(func: &Function, inst: Inst) -> bool {
    let data = &func.insts[inst];
    let loads = data.is(Flags::READS) && !data.is(Flags::EFFECT);
    let weak_load = loads && matches!(data.field::<Order>(), None | Some(Order::Weak));
    let barrier = func.defs(inst).any(|reg| func.regs[reg].file == RegFile::B);
    (data.is(Flags::PURE) || weak_load) && !barrier && !func.dsts(inst).is_empty()
}

fn sweep_by_liveness(func: &mut Function, cx: &mut PhaseContext<'_>, cfg: &Cfg) -> Changed {
    let liveness = Liveness::solve(func, cfg);
    let mut walk = LiveWalk::new(func);
    let mut changed = Changed::No;
    for block in func.layout.clone() {
        walk.start(&liveness, block);
        changed |= sweep_block(func, block, |func, inst| {
            let dead = is_removable(func, inst) && func.defs(inst).all(|reg| !walk.is_live(reg));
            let gone = dead && cx.rewrite(RULE);
            if !gone {
                walk.step(func, inst);
            }
            gone
        });
    }
    changed
}

/// Removes what no instruction that must stay depends on, however indirectly. They may depend on each other in cycles,
/// so they go together or not at all: one change.
fn sweep_unmarked(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let marked = mark(func);
    let is_dead = |inst: &Inst| !marked.contains(inst.index());
    let any = func.layout.iter().any(|block| func.blocks[*block].insts.iter().any(is_dead));
    if !any || !cx.rewrite(CYCLE_RULE) {
        return Changed::No;
    }
    for block in func.layout.clone() {
        func.blocks[block].insts.retain(|inst| !is_dead(inst));
    }
    Changed::Yes
}

fn mark(func: &Function) -> BitSet {
    let definitions = Definitions::new(func);
    let mut marked = BitSet::new(func.insts.len());
    let all = func.layout.iter().flat_map(|block| &func.blocks[*block].insts);
    let mut work: Vec<Inst> = all.copied().filter(|inst| !is_removable(func, *inst)).collect();
    for inst in &work {
        marked.insert(inst.index());
    }
    while let Some(inst) = work.pop() {
        for definition in func.uses(inst).filter_map(|reg| definitions.inst(reg)) {
            if marked.insert(definition.index()) {
                work.push(definition);
            }
        }
    }
    marked
}

/// Walks a block backward and removes what the function says is to go; it is asked once about each instruction.
fn sweep_block(func: &mut Function, block: Block, mut goes: impl FnMut(&Function, Inst) -> bool) -> Changed {
    let mut insts = std::mem::take(&mut func.blocks[block].insts);
    // What stays gathers at the end.
    let mut first = insts.len();
    for at in (0..insts.len()).rev() {
        if !goes(func, insts[at]) {
            first -= 1;
            insts[first] = insts[at];
        }
    }
    insts.drain(..first);
    func.blocks[block].insts = insts;
    Changed::when(first > 0)
}
