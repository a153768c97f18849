//! `sccp`: constants over the edges that can execute (`spec/pass-pipeline.txt`, line 1192: SCCP; Wegman and Zadeck,
//! "Constant Propagation with Conditional Branches", 1991).
//!
//! Values are taken to be unknown, and edges not to execute, until something shows otherwise. A block is evaluated once
//! an edge into it executes; a phi joins what comes over such edges alone; a branch on a constant makes one edge
//! execute. So a value that is constant only because a branch never goes the other way is found, which folding alone
//! does not. Whatever is undefined, or nothing is known of, varies.
//!
//! Then results that are constants become copies of these, branches on constants go one way, and blocks that nothing
//! comes to are dropped. Reading the copies is left to copy propagation.
//!
//! Cost: each value changes twice at most, so linear in uses.

mod solve;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, RegInfo};
use oriole_pass::analysis::{AnalysisSet, Cfg};
use oriole_pass::edit::graph::{always, behind_phis, keep_reachable, remove_incoming};
use oriole_pass::edit::values::become_copies;
use oriole_pass::pass::{Changed, PhaseContext};
use oriole_pass::peephole::rewrite::mov_fields;
use solve::Solver;

/// The sccp pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get::<Cfg>(func);
    let (constants, branches) = {
        let solved = Solver::new(func).solve();
        let blocks: Vec<Block> = cfg.rpo().iter().copied().filter(|block| solved.executes(*block)).collect();
        let insts = blocks.iter().flat_map(|block| func.block_insts(*block));
        let constants: Vec<(Inst, Vec<u64>)> = insts
            .filter_map(|inst| Some((inst, solved.results(inst)?)))
            .filter(|(inst, _)| is_open(func, *inst))
            .collect();
        let only = |block: &Block| Some((*block, solved.only_way(*block)?));
        (constants, blocks.iter().filter_map(only).collect::<Vec<(Block, Block)>>())
    };
    let mut changed = Changed::No;
    for (inst, values) in constants {
        if cx.rewrite("propagate-constant") {
            become_constants(func, inst, &values);
            changed = Changed::Yes;
        }
    }
    let taken: Vec<(Block, Block)> = branches.into_iter().filter(|_| cx.rewrite("decided-branch")).collect();
    if taken.is_empty() {
        cx.preserve(AnalysisSet::CONTROL_FLOW);
        return changed;
    }
    for (block, to) in taken {
        let lost: Vec<Block> = func.successors(block).filter(|next| *next != to).collect();
        always(func, block, to);
        lost.into_iter().for_each(|next| remove_incoming(func, next, |from| from == block));
    }
    let cfg = Cfg::new(func);
    keep_reachable(func, &cfg);
    Changed::Yes
}

/// Whether an instruction with constant results is no copy of a constant yet, and there are such copies.
fn is_open(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let is_constant = data.opcode == Opcode::Mov && data.guard.is_none() && func.srcs(inst)[0].is_imm();
    let copies = func.defs(inst).all(|reg| func.regs()[reg].mov_type().is_some());
    data.is(Flags::PURE) && copies && !is_constant
}

fn become_constants(func: &mut Function, inst: Inst, values: &[u64]) {
    let values: Vec<Operand> = values.iter().map(|bits| func.imm(*bits)).collect();
    if func.inst(inst).opcode != Opcode::Phi {
        become_copies(func, inst, None, &values, &[]);
        return;
    }
    // A copy goes behind the phis of the block.
    let block = func.block_of(inst).expect("it is in the layout");
    let (line, result) = (func.inst(inst).line, func.defs(inst).next().expect("a phi has a result"));
    let ty = RegInfo::mov_type(func.regs()[result]).expect("checked before");
    func.remove_inst(inst);
    let at = behind_phis(func, block).expect("a block ends with a branch");
    InstBuilder::new(Opcode::Mov).fields(mov_fields(ty)).dst(result).src(values[0]).line(line).insert_before(func, at);
}
