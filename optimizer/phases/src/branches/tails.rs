//! Equal ends: where all blocks that lead to one end with the same instruction, it is executed there instead.
//!
//! The blocks are some that go to the join and nowhere else. Instructions are taken one by one from the ends, as long
//! as they are equal in all blocks: opcode, fields, guard and operands, where an operand may differ that a phi of the
//! join merges already, or for one operand a new phi can. A result may be read by the instructions that went before it
//! and by phis of the join which merge just these results; the instruction then defines the phi's register.
//!
//! Nothing moves over another instruction that is executed, so memory is accessed in the same order. What threads do
//! together stays.
//!
//! Cost: linear; each step removes an instruction.

use super::forward::is_header;
use oriole_ir::ops::{Opcode, Shape};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg, Rewriter};
use oriole_pass::analysis::Cfg;
use oriole_pass::edit::graph::{behind_phis, incoming, is_free, jump_target, phis};
use oriole_pass::pass::{Changed, Knob, PhaseContext};

const RULE: &str = "common-tail";

/// Moves equal ends into joins.
pub(super) fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let most = cx.knobs.limit(Knob::BranchOptTailBlocks).unwrap_or(u32::MAX) as usize;
    let cfg = cx.analyses.get::<Cfg>(func);
    let joins: Vec<(Block, Vec<Block>)> = cfg.rpo().iter().filter_map(|join| ends(func, &cfg, *join, most)).collect();
    if joins.is_empty() {
        return Changed::No;
    }
    let mut func = Rewriter::new(func);
    let mut changed = Changed::No;
    for (join, from) in joins {
        while let Some(tail) = Tail::of(&func, join, &from) {
            if !cx.rewrite(RULE) {
                return changed;
            }
            tail.sink(&mut func);
            changed = Changed::Yes;
        }
    }
    changed
}

/// A join with its predecessors, where there are a few that lead nowhere else and end with one opcode.
fn ends(func: &Function, cfg: &Cfg, join: Block, most: usize) -> Option<(Block, Vec<Block>)> {
    let from = cfg.predecessors(join);
    let few = (2..=most).contains(&from.len());
    let straight = |block: &Block| jump_target(func, *block) == Some(join) && cfg.is_reachable(*block);
    if !few || is_header(cfg, join) || !from.iter().all(straight) {
        return None;
    }
    let first = last_inst(func, from[0])?;
    let alike = |block: &Block| last_inst(func, *block).is_some_and(|inst| alike(func, first, inst));
    from.iter().all(alike).then(|| (join, from.to_vec()))
}

/// The last instruction of a block before its branch, if it is no phi.
fn last_inst(func: &Function, block: Block) -> Option<Inst> {
    let inst = func.prev_inst(func.terminator(block)?)?;
    (func.inst(inst).opcode != Opcode::Phi).then_some(inst)
}

/// Whether two instructions are the same but for their operands.
fn alike(func: &Function, a: Inst, b: Inst) -> bool {
    let (one, two) = (func.inst(a), func.inst(b));
    let counts = |inst: Inst| (func.dsts(inst).len(), func.srcs(inst).len(), func.elses(inst).len());
    let infos = |inst: Inst| func.defs(inst).map(|reg| func.regs()[reg]).collect::<Vec<_>>();
    (one.opcode, one.fields, one.guard) == (two.opcode, two.fields, two.guard)
        && counts(a) == counts(b)
        && infos(a) == infos(b)
}

/// What is in one place of the instructions that end the blocks.
#[derive(Clone, Copy)]
enum Merged {
    Same(Operand),
    /// What a phi of the join defines.
    Phi(Reg),
    /// There is no such phi yet.
    New,
}

/// Equal instructions at the ends of all predecessors of a join.
struct Tail {
    join: Block,
    from: Vec<Block>,
    insts: Vec<Inst>,
    inputs: Vec<Merged>,
    /// By result: the phis that merge it.
    merged_by: Vec<Vec<Inst>>,
}

impl Tail {
    fn of(func: &Rewriter<'_>, join: Block, from: &[Block]) -> Option<Tail> {
        let insts: Vec<Inst> = from.iter().map(|block| last_inst(func, *block)).collect::<Option<_>>()?;
        let first = insts[0];
        let equal = insts.iter().all(|inst| alike(func, first, *inst) && is_free(func, *inst));
        if !equal || func.inst(first).opcode == Opcode::Mov && func.inst(first).guard.is_none() {
            return None;
        }
        let mut tail = Tail { join, from: from.to_vec(), insts, inputs: Vec::new(), merged_by: Vec::new() };
        tail.inputs = (0..func.inputs(first).len()).map(|at| tail.input(func, at)).collect::<Option<_>>()?;
        tail.merged_by = (0..func.dsts(first).len()).map(|at| tail.result(func, at)).collect::<Option<_>>()?;
        let new = tail.inputs.iter().filter(|input| matches!(input, Merged::New)).count();
        (new <= 1).then_some(tail)
    }

    fn input(&self, func: &Rewriter<'_>, at: usize) -> Option<Merged> {
        let values: Vec<Operand> = self.insts.iter().map(|inst| func.inputs(*inst)[at]).collect();
        if values.iter().all(|value| *value == values[0] && *value != Operand::Undef) {
            return Some(Merged::Same(values[0]));
        }
        let regs: Vec<Reg> = values.iter().map(|value| value.whole_reg()).collect::<Option<_>>()?;
        if let Some(phi) = phis(func, self.join).find(|phi| self.merges(func, *phi, &regs)) {
            return func.defs(phi).next().map(Merged::Phi);
        }
        let own = |(reg, block): (&Reg, &Block)| {
            func.def_use().definition(*reg).is_some_and(|inst| func.block_of(inst) == Some(*block))
                && func.def_use().read_count(*reg) == 1
        };
        let alike = regs.iter().all(|reg| func.regs()[*reg] == func.regs()[regs[0]]);
        (alike && self.is_value(func, at) && regs.iter().zip(&self.from).all(own)).then_some(Merged::New)
    }

    /// Whether a place is that of a value that is used as such: addresses that differ would take arithmetic of their
    /// own to be kept apart.
    fn is_value(&self, func: &Rewriter<'_>, at: usize) -> bool {
        let shapes = func.inst(self.insts[0]).opcode.row().srcs;
        shapes.get(at).is_some_and(|shape| matches!(shape, Shape::T | Shape::V | Shape::R | Shape::D))
    }

    fn merges(&self, func: &Rewriter<'_>, phi: Inst, regs: &[Reg]) -> bool {
        let of = |(block, reg): (&Block, &Reg)| incoming(func, phi, *block) == Some(Operand::Reg(*reg));
        self.from.iter().zip(regs).all(of)
    }

    /// The phis that merge a result, if nothing else reads it.
    fn result(&self, func: &Rewriter<'_>, at: usize) -> Option<Vec<Inst>> {
        let regs: Vec<Reg> = self.insts.iter().map(|inst| func.dsts(*inst)[at].reg()).collect::<Option<_>>()?;
        let merging: Vec<Inst> = phis(func, self.join).filter(|phi| self.merges(func, *phi, &regs)).collect();
        let only_there = |reg: &Reg| func.def_use().read_count(*reg) == merging.len();
        regs.iter().all(only_there).then_some(merging)
    }

    /// The first block's instruction moves to the join, the others go.
    fn sink(self, func: &mut Rewriter<'_>) {
        let first = self.insts[0];
        let behind = behind_phis(func, self.join).expect("a block ends with a terminator");
        let inputs: Vec<Operand> = (0..self.inputs.len()).map(|at| self.merged(func, at)).collect();
        let (srcs, elses) = inputs.split_at(func.srcs(first).len());
        let dsts: Vec<Operand> = self.merged_by.iter().zip(func.dsts(first).to_vec()).map(define(func)).collect();
        for inst in &self.insts[1..] {
            func.remove(*inst);
        }
        func.set_inst(first, func.inst(first).head(), &dsts, srcs, elses);
        func.move_before(behind, first);
    }

    fn merged(&self, func: &mut Rewriter<'_>, at: usize) -> Operand {
        match self.inputs[at] {
            Merged::Same(operand) => operand,
            Merged::Phi(reg) => reg.into(),
            Merged::New => {
                let values: Vec<Operand> = self.insts.iter().map(|inst| func.inputs(*inst)[at]).collect();
                let info = func.operand_info(values[0]).expect("a register was found");
                let reg = func.new_reg(info);
                let pairs = values.into_iter().zip(&self.from);
                let phi = InstBuilder::new(Opcode::Phi).dst(reg);
                let phi = pairs.fold(phi, |phi, (value, from)| phi.src(value).src(*from));
                let first = func.first_inst(self.join).expect("a block has a terminator");
                func.insert_before(first, &phi);
                reg.into()
            }
        }
    }
}

/// The register that a result gets: that of the first phi which merges it. The phis go.
fn define<'a>(func: &'a mut Rewriter<'_>) -> impl FnMut((&Vec<Inst>, Operand)) -> Operand + 'a {
    move |(phis, own)| {
        let mut regs = phis.iter().filter_map(|phi| func.defs(*phi).next()).collect::<Vec<Reg>>().into_iter();
        phis.iter().for_each(|phi| func.remove(*phi));
        let Some(kept) = regs.next() else { return own };
        regs.for_each(|reg| func.replace_reads(reg, kept));
        kept.into()
    }
}
