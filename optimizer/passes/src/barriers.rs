//! Barriers of the whole CTA: which are not needed, and which a barrier of the warp can stand for.
//!
//! `nvvm-barrier-analysis` (`spec/pass-pipeline.txt`, line 1201) removes a barrier between which and the barrier before
//! it, on each way, the thread accesses no memory that others can reach: the barrier before has ordered all that came
//! before both. So has the beginning of a kernel. Anything else that orders memory, runs beside the thread or has an
//! effect counts as an access, and so does a call.
//!
//! `nvvm-lower-barriers` (line 1237, whose argument the page does not explain) has the threads of a CTA that is one
//! warp wait for each other as lanes do: `bar.warp.sync` orders their accesses as `bar.sync` does. That a CTA is one
//! warp, the directive `.reqntid` must say, which also says how many lanes there are.
//!
//! Threads count the barriers that they come to. So both leave a barrier alone unless all threads of the CTA come to it
//! or none: all branches that decide it must be the same for the CTA, also those after which threads have ended.
//!
//! Cost: near-linear.

use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

use oriole_ir::ops::{Flags, Opcode, Order, Space};
use oriole_ir::{Block, Function, FunctionKind, Inst, InstBuilder, Operand};
use oriole_pass::analysis::{Cfg, Divergence, PostDominators, Uniformity, reads_kernel_parameter};
use oriole_pass::pass::{Changed, PhaseContext};

/// Lanes of a warp.
const LANES: u64 = 32;

/// The nvvm-barrier-analysis pass.
pub fn analysis(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if !func.layout_insts().any(|inst| is_of_all(func, inst)) {
        return Changed::No;
    }
    let cfg = cx.analyses.get::<Cfg>(func);
    let quiet = quiet_entries(func, &cfg);
    let together = together(func, cx);
    let mut changed = Changed::No;
    for block in cfg.rpo().iter().filter(|block| together.contains(**block)) {
        let mut is_quiet = quiet.get(block).copied().unwrap_or(false);
        for inst in func.block_insts(*block).collect::<Vec<Inst>>() {
            if is_of_all(func, inst) && is_quiet && cx.rewrite("idle-barrier") {
                func.remove_inst(inst);
                changed = Changed::Yes;
                continue;
            }
            is_quiet = behind(func, inst, is_quiet);
        }
    }
    changed
}

/// The nvvm-lower-barriers pass.
pub fn lower(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let Some(mask) = lanes(func).filter(|_| func.layout_insts().any(|inst| is_of_all(func, inst))) else {
        return Changed::No;
    };
    let together = together(func, cx);
    let mut changed = Changed::No;
    for block in func.layout().to_vec() {
        for inst in func.block_insts(block).filter(|inst| is_of_all(func, *inst)).collect::<Vec<Inst>>() {
            if together.contains(block) && cx.rewrite("barrier-of-a-warp") {
                let line = func.inst(inst).line;
                InstBuilder::new(Opcode::BarWarpSync).src(Operand::imm(mask)).line(line).replace(func, inst);
                changed = Changed::Yes;
            }
        }
    }
    changed
}

/// Whether an instruction has all threads of the CTA wait for each other.
fn is_of_all(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let all = func.srcs(inst).get(1).is_some_and(|count| func.imm_bits(*count) == Some(0));
    let named = func.srcs(inst).first().is_some_and(|barrier| barrier.is_imm());
    data.opcode == Opcode::BarSync && data.guard.is_none() && all && named
}

/// Whether there was no access since the barrier before, behind an instruction.
fn behind(func: &Function, inst: Inst, before: bool) -> bool {
    is_of_all(func, inst) || before && !may_meet_others(func, inst)
}

/// Whether other threads may see what an instruction does, or it what they do.
fn may_meet_others(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let acts = [Flags::READS, Flags::WRITES, Flags::FENCE, Flags::EFFECT, Flags::ASYNC];
    let acts = acts.into_iter().any(|flag| data.is(flag)) && !data.is(Flags::TERMINATOR);
    let is_plain = matches!(data.opcode, Opcode::Ld | Opcode::St);
    let is_weak = data.field::<Order>().is_none_or(|order| order == Order::Weak);
    let is_own = is_plain && is_weak && data.field::<Space>() == Some(Space::Local);
    acts && !is_own && !reads_kernel_parameter(func, inst)
}

/// By block: whether on each way to it there was no access since the barrier before.
fn quiet_entries(func: &Function, cfg: &Cfg) -> FxHashMap<Block, bool> {
    let mut entries: FxHashMap<Block, bool> = cfg.rpo().iter().map(|block| (*block, true)).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for block in cfg.rpo() {
            let is_first = *block == func.entry();
            let end = |from: &Block| {
                let start = entries.get(from).copied().unwrap_or(true);
                func.block_insts(*from).fold(start, |quiet, inst| behind(func, inst, quiet))
            };
            let quiet = (!is_first || func.kind == FunctionKind::Entry) && cfg.predecessors(*block).iter().all(end);
            changed |= entries.insert(*block, quiet) != Some(quiet);
        }
    }
    entries
}

/// The blocks that all threads of the CTA come to, or none.
fn together(func: &Function, cx: &mut PhaseContext<'_>) -> EntitySet<Block> {
    let (cfg, divergence) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Divergence>(func));
    let dependences = cx.analyses.get::<PostDominators>(func).control_dependences(&cfg);
    let mut apart: EntitySet<Block> = EntitySet::new();
    let mut changed = true;
    while changed {
        changed = false;
        for block in cfg.rpo().iter().filter(|block| !apart.contains(**block)).copied().collect::<Vec<Block>>() {
            let parts = |decider: &Block| divergence.branch(*decider) < Uniformity::Cta || apart.contains(*decider);
            if dependences.of(&cfg, block).iter().any(parts) {
                changed |= apart.insert(block);
            }
        }
    }
    // What calls it may have parted the threads of a function before.
    let is_kernel = func.kind == FunctionKind::Entry;
    let mut together = EntitySet::new();
    together.extend(cfg.rpo().iter().filter(|block| is_kernel && !apart.contains(**block)).copied());
    together
}

/// The lanes of the only warp of a CTA, by the directive that says how many threads it has.
fn lanes(func: &Function) -> Option<u32> {
    let directive = func.directives.iter().find(|directive| directive.name == "reqntid")?;
    let threads = directive.values.iter().fold(1_u64, |threads, extent| threads.saturating_mul(*extent));
    let is_warp = func.kind == FunctionKind::Entry && (1..=LANES).contains(&threads);
    is_warp.then(|| u32::MAX >> (LANES - threads))
}
