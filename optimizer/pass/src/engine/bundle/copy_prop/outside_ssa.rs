//! Forward copy propagation by reaching definitions, for functions in virtual form; on with the knob
//! `CopyPropUseReachingDefs` alone.
//!
//! A read of `d` may read `s` instead where one copy `d = s` alone reaches it and `s` still is what it was at the copy.
//! The values of a register have names there, as in SSA construction ([`ReachingDefinitions`]): the second condition
//! says that a read of `s` in the place of the read of `d` would see the name that the copy sees. Such reads are put
//! into a copy of the function to ask. What may be undefined stays, since each read of it is another value.
//!
//! Registers alone are propagated, of one file and width, whole or by words, and as guards.
//!
//! Cost: near-linear.

use crate::analysis::{Cfg, Definition, Dominators, ReachingDefinitions};
use crate::pass::{Changed, Knob, PhaseContext};
use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Guard, Inst, InstBuilder, Operand, Reg};

const RULE: &str = "copy-by-reaching-definitions";

/// A read that one copy alone reaches.
struct Read {
    inst: Inst,
    /// The place among its inputs; `None` for its guard.
    index: Option<usize>,
    copy: Inst,
    source: Reg,
}

/// Propagates, where the knob says so.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if !cx.knobs.flag(Knob::CopyPropUseReachingDefs) {
        return Changed::No;
    }
    let (cfg, dominators) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Dominators>(func));
    let frontiers = dominators.frontiers(&cfg);
    let reaching = |func: &Function| ReachingDefinitions::compute(func, &cfg, &dominators, &frontiers);
    let limit = |knob| cx.knobs.limit(knob).map_or(usize::MAX, |limit| limit as usize);
    let (budget, mut global) = (limit(Knob::CopyPropBudget), limit(Knob::CopyPropGlobalBudget));
    let reads = reads(func, &cfg, &reaching(func), budget);
    if reads.is_empty() {
        return Changed::No;
    }
    let (probed, probes) = with_probes(func, &reads);
    let reaching = reaching(&probed);
    let mut changed = Changed::No;
    for (read, probe) in reads.iter().zip(probes) {
        let local = func.block_of(read.copy) == func.block_of(read.inst);
        let affordable = local || global > 0 || cx.knobs.flag(Knob::CopyPropForceGlobal);
        if affordable && reaching.see_the_same(read.copy, probe, read.source) && cx.rewrite(RULE) {
            global -= usize::from(!local && global > 0);
            read.replace(func);
            changed = Changed::Yes;
        }
    }
    changed
}

/// The reads of so many instructions that one copy alone reaches.
fn reads(func: &Function, cfg: &Cfg, reaching: &ReachingDefinitions, budget: usize) -> Vec<Read> {
    let mut reads = Vec::new();
    for inst in cfg.rpo().iter().flat_map(|block| func.block_insts(*block)).take(budget) {
        let guard = func.inst(inst).guard.map(|guard| (None, guard.reg()));
        let inputs = func.inputs(inst).iter().enumerate();
        let inputs = inputs.filter_map(|(index, operand)| Some((Some(index), operand.reg()?)));
        for (index, reg) in inputs.chain(guard) {
            let copy = reaching.only(inst, reg);
            reads.extend(copy.and_then(|copy| {
                let source = copied(func, reaching, copy).filter(|source| *source != reg)?;
                Some(Read { inst, index, copy, source })
            }));
        }
    }
    reads
}

/// The register that an instruction copies whole, and that is defined there.
fn copied(func: &Function, reaching: &ReachingDefinitions, copy: Inst) -> Option<Reg> {
    let data = func.inst(copy);
    let ([Operand::Reg(to)], [Operand::Reg(from)]) = (func.dsts(copy), func.srcs(copy)) else { return None };
    let plain = data.opcode == Opcode::Mov && data.guard.is_none();
    let alike = func.regs()[*to] == func.regs()[*from];
    let defined = !reaching.of(copy, *from).contains(&Definition::Start);
    (plain && alike && defined).then_some(*from)
}

/// A copy of the function in which the source of each read's copy is read just before the read; and what reads it.
fn with_probes(func: &Function, reads: &[Read]) -> (Function, Vec<Inst>) {
    let mut probed = func.clone();
    let mut probes = Vec::with_capacity(reads.len());
    for read in reads {
        let info = func.regs()[read.source];
        let probe = probed.new_reg(info);
        let copy = InstBuilder::new(Opcode::Mov).fields(func.inst(read.copy).fields).dst(probe).src(read.source);
        probes.push(copy.insert_before(&mut probed, read.inst));
    }
    (probed, probes)
}

impl Read {
    fn replace(&self, func: &mut Function) {
        match self.index {
            Some(index) => {
                let operand = &mut func.inputs_mut(self.inst)[index];
                *operand = operand.map_reg(|_| self.source);
            }
            None => {
                let guard = func.inst(self.inst).guard.map(|guard: Guard| guard.with_reg(self.source));
                func.set_guard(self.inst, guard);
            }
        }
    }
}
