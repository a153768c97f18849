//! Dead code, as OriPerformLiveDead (phases 16, 33, 61, 84) and EarlyOriSimpleLiveDead (phase 10) remove it, after
//! `spec/liveness-and-dce.txt`.
//!
//! The full pass drops unreachable blocks. Outside SSA it then solves liveness, walks each block backward from its
//! live-out set and removes what defines only dead registers, so that the operands of what is removed die in the same
//! walk; what is dead across blocks takes another round. In SSA form a value is live behind its definition exactly if
//! something reads it: counts of uses say what liveness would, and following the operands of what is removed leaves
//! only cycles of phis that feed each other, which one marking pass from the instructions that must stay finds. The
//! simple pass knows no dataflow: it removes definitions that nothing reads at all.
//!
//! What stays, by the flags of the opcode table: everything with an effect, terminators, convergent operations (they
//! synchronise lanes even when nobody reads their result), and loads that are volatile or ordered. Weak loads go.
//!
//! The page's backward walk treats five groups of opcodes apart ("Backward Walk Live Set Update Rule"). On this IR:
//!
//! - call-like (93): a call reads what its operands name; parameters and results pass through variables, so it clobbers
//!   no register, and it has an effect;
//! - block boundaries (94, 95): what is live at a block's end comes from the successors, their phis included;
//! - branch-like (97): terminators define nothing, and stay;
//! - several sources or a predicate (188, 190): every source, guard and `else` operand is read; outside SSA what is
//!   defined under a guard was live before, as its old value shows through.
//!
//! Cost: linear in SSA; liveness once a round outside.

use cranelift_entity::EntityRef;

use crate::analysis::Definitions;
use crate::analysis::bitset::BitSet;
use crate::analysis::{AnalysisId, AnalysisSet, Cfg, LiveWalk, Liveness, Uses};
use crate::edit::graph::drop_unreachable;
use crate::engine::touched::Touched;
use crate::pass::{Changed, PhaseContext};
use oriole_ir::ops::{Flags, Opcode, Order};
use oriole_ir::{Block, Form, Function, Inst, RegFile};

const RULE: &str = "dead";
const CYCLE_RULE: &str = "dead-cycles";

/// What is true of a function in SSA form from which [`sweep`] has removed something: the sweep keeps count itself.
pub const SWEPT: AnalysisSet =
    AnalysisSet::CONTROL_FLOW.union(AnalysisSet::of(&[AnalysisId::Definitions, AnalysisId::Uses]));

/// The full pass.
pub fn sweep_dead(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    cx.keep_analyses();
    let cfg = cx.analyses.get(func);
    let mut changed = drop_unreachable(func, cx, &cfg);
    if changed.is_yes() {
        cx.analyses.retain(AnalysisSet::NONE);
    } else {
        // What follows removes instructions that do not branch.
        cx.preserve(AnalysisSet::CONTROL_FLOW);
    }
    if func.form == Form::Ssa {
        let swept = sweep_unread(func, cx, &mut Touched::everything());
        if swept.is_yes() {
            cx.analyses.retain(SWEPT);
        }
        changed |= swept;
        if may_have_cycles(func, &cx.analyses.get(func)) && sweep_unmarked(func, cx).is_yes() {
            cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
            changed = Changed::Yes;
        }
        return changed;
    }
    loop {
        let round = sweep_by_liveness(func, cx);
        if round.is_yes() {
            cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
        }
        changed |= round;
        if !round.is_yes() {
            return changed;
        }
    }
}

/// The simple pass, and the dead-code step of the bundles. Adds what it changes to `touched`.
pub fn sweep(func: &mut Function, cx: &mut PhaseContext<'_>, touched: &mut Touched) -> Changed {
    if func.form == Form::Ssa {
        return sweep_unread(func, cx, touched);
    }
    let mut uses = cx.analyses.take::<Uses>(func);
    let blocks = func.layout().to_vec();
    let mut changed = Changed::No;
    loop {
        let mut round = Changed::No;
        for block in blocks.iter().rev() {
            round |= sweep_block(func, *block, |func, inst| {
                let dead = is_unread(func, &uses, inst);
                let gone = dead && cx.rewrite(RULE);
                if gone {
                    for reg in func.uses(inst) {
                        uses.lose(reg);
                    }
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
pub fn is_removable(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let loads = data.is(Flags::READS) && !data.is(Flags::EFFECT);
    let weak_load = loads && matches!(data.field::<Order>(), None | Some(Order::Weak));
    let barrier = func.defs(inst).any(|reg| func.regs()[reg].file == RegFile::B);
    (data.is(Flags::PURE) || weak_load) && !barrier && !func.dsts(inst).is_empty()
}

/// The same, with collectives of the machine: lanes do not wait for each other there, they meet before. In scheduled
/// code what sets a barrier stays: an instruction that waits for it may mean an earlier one of a unit that works in
/// order, or count how often it was set.
pub fn may_go(func: &Function, inst: Inst) -> bool {
    let barriers = func.schedule(inst).map(|schedule| schedule.write_barrier.or(schedule.read_barrier));
    only_writes(func, inst) && barriers.flatten().is_none()
}

/// The same, of code in which nothing overlaps, so that nobody relies on a barrier of others.
fn only_writes(func: &Function, inst: Inst) -> bool {
    let asks_lanes = func.inst(inst).opcode == Opcode::MachineCollective && !func.dsts(inst).is_empty();
    asks_lanes || is_removable(func, inst)
}

/// Whether an instruction may go since nothing reads its results.
fn is_unread(func: &Function, uses: &Uses, inst: Inst) -> bool {
    func.defs(inst).all(|reg| uses.count(reg) == 0) && may_go(func, inst)
}

/// In SSA form: removes what nothing reads, and what is read by nothing else.
fn sweep_unread(func: &mut Function, cx: &mut PhaseContext<'_>, touched: &mut Touched) -> Changed {
    let mut uses = cx.analyses.take::<Uses>(func);
    let mut work: Vec<Inst> = func.layout_insts().filter(|inst| is_unread(func, &uses, *inst)).collect();
    if work.is_empty() {
        cx.analyses.put(uses);
        return Changed::No;
    }
    let mut definitions = cx.analyses.take::<Definitions>(func);
    let mut gone = BitSet::new(func.insts().len());
    let mut changed = Changed::No;
    // Each instruction comes here once: at first, or when the last read of its results goes.
    while let Some(inst) = work.pop().filter(|_| cx.rewrite(RULE)) {
        gone.insert(inst.index());
        changed = Changed::Yes;
        touched.regs(func.uses(inst));
        func.defs(inst).for_each(|reg| definitions.clear(reg));
        for reg in func.uses(inst) {
            let unread = uses.lose(reg) == 0;
            let definition = definitions.inst(reg).filter(|definition| unread && is_unread(func, &uses, *definition));
            work.extend(definition);
        }
    }
    if changed.is_yes() {
        remove(func, |inst| gone.contains(inst.index()));
    }
    cx.analyses.put(uses);
    cx.analyses.put(definitions);
    changed
}

/// In SSA form: whether values can depend on each other in a cycle. One that does leads through a phi, along an edge
/// that goes back in the reverse post-order: all other uses follow what dominates them.
fn may_have_cycles(func: &Function, cfg: &Cfg) -> bool {
    let has_phis = |block: Block| func.first_inst(block).is_some_and(|inst| func.inst(inst).opcode == Opcode::Phi);
    cfg.rpo().iter().enumerate().any(|(at, block)| {
        let goes_back = |next: &Block| cfg.rpo_number(*next).is_some_and(|number| number <= at) && has_phis(*next);
        cfg.successors(*block).iter().any(goes_back)
    })
}

fn remove(func: &mut Function, goes: impl Fn(Inst) -> bool) {
    for block in func.layout().to_vec() {
        func.retain_insts(block, |_, inst| !goes(inst));
    }
}

fn sweep_by_liveness(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let liveness = cx.analyses.get::<Liveness>(func);
    let mut walk = LiveWalk::new(func);
    let mut changed = Changed::No;
    let may_go = if func.form == Form::Physical && func.is_serial() { only_writes } else { may_go };
    for block in func.layout().to_vec() {
        walk.start(&liveness, block);
        changed |= sweep_block(func, block, |func, inst| {
            let dead = may_go(func, inst) && func.defs(inst).all(|reg| !walk.is_live(reg));
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
    let marked = mark(func, &cx.analyses.get(func));
    let is_dead = |inst: Inst| !marked.contains(inst.index());
    if !func.layout_insts().any(is_dead) || !cx.rewrite(CYCLE_RULE) {
        return Changed::No;
    }
    remove(func, is_dead);
    Changed::Yes
}

fn mark(func: &Function, definitions: &Definitions) -> BitSet {
    let mut marked = BitSet::new(func.insts().len());
    let mut work: Vec<Inst> = func.layout_insts().filter(|inst| !may_go(func, *inst)).collect();
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
    let before = func.block_insts(block).len();
    let mut at = func.last_inst(block);
    while let Some(inst) = at {
        at = func.prev_inst(inst);
        if goes(func, inst) {
            func.remove_inst(inst);
        }
    }
    Changed::when(func.block_insts(block).len() < before)
}
