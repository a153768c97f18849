//! Carries out a plan: the arms' instructions move in front of the branch, which goes, and the join's phis with it.

use rustc_hash::FxHashMap;

use super::plan::{How, Merged, Plan};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Block, Guard, Inst, InstBuilder, InstHead, Operand, Reg, RegInfo, Rewriter};
use oriole_pass::edit::graph::{incoming, jump_target, phis};

/// Sources of a phi behind a block that is absorbed; more are left alone, as each is looked at.
const MOST_SOURCES: usize = 128;

/// A region under conversion.
pub(super) struct Conversion<'a, 'f> {
    func: &'a mut Rewriter<'f>,
    plan: Plan,
    /// The branch of the region's head.
    branch: Inst,
    /// By guard: the one that holds where it and the arm's do.
    combined: FxHashMap<Guard, Guard>,
    /// Where the branch's condition is false.
    complement: Option<Reg>,
}

impl<'a, 'f> Conversion<'a, 'f> {
    pub(super) fn new(func: &'a mut Rewriter<'f>, plan: Plan) -> Conversion<'a, 'f> {
        let branch = func.terminator(plan.region.head).expect("a region begins with a branch");
        Conversion { func, plan, branch, combined: FxHashMap::default(), complement: None }
    }

    /// Converts the region; `alone` says whether nothing else leads to the join.
    pub(super) fn run(mut self, alone: bool) {
        for (at, insts) in std::mem::take(&mut self.plan.insts).into_iter().enumerate() {
            let arm = self.plan.region.arms[at].clone();
            self.combined.clear();
            insts.into_iter().for_each(|(inst, how)| self.inst(inst, how, arm.guard));
        }
        for (phi, merged) in std::mem::take(&mut self.plan.phis) {
            self.phi(phi, merged, alone);
        }
        self.func.replace(self.branch, &InstBuilder::new(Opcode::Bra).src(self.plan.region.join));
        for arm in &self.plan.region.arms {
            let jump = self.func.terminator(arm.block).expect("an arm leads to the join");
            self.func.remove(jump);
        }
    }

    fn inst(&mut self, inst: Inst, how: How, guard: Guard) {
        let (guard, elses) = match how {
            How::Guarded(elses) => (Some(guard), elses),
            How::Always => (None, Vec::new()),
            How::Own => (self.func.inst(inst).guard, self.func.elses(inst).to_vec()),
            How::Combined => {
                let own = self.func.inst(inst).guard.expect("it has a guard of its own");
                (Some(self.combine(own, guard)), self.func.elses(inst).to_vec())
            }
        };
        let head = InstHead { guard, ..self.func.inst(inst).head() };
        let (dsts, srcs) = (self.func.dsts(inst).to_vec(), self.func.srcs(inst).to_vec());
        self.func.set_inst(inst, head, &dsts, &srcs, &elses);
        self.func.move_before(self.branch, inst);
    }

    /// A guard that holds where two do: `p & q`, or the opposite of `!p | q` for `p & !q`.
    fn combine(&mut self, own: Guard, arm: Guard) -> Guard {
        if let Some(known) = self.combined.get(&own) {
            return *known;
        }
        let region = if arm.negated() == own.negated() { arm.reg() } else { self.complement(arm.reg()) };
        let opcode = if own.negated() { Opcode::Or } else { Opcode::And };
        let both = self.func.new_reg(RegInfo::PRED);
        let inst = InstBuilder::new(opcode).field(Type::Pred).dst(both).src(region).src(own.reg());
        self.func.insert_before(self.branch, &inst);
        let made = Guard::new(both, own.negated());
        self.combined.insert(own, made);
        made
    }

    fn complement(&mut self, reg: Reg) -> Reg {
        if let Some(known) = self.complement {
            return known;
        }
        let not = self.func.new_reg(RegInfo::PRED);
        self.func.insert_before(self.branch, &InstBuilder::new(Opcode::Not).field(Type::Pred).dst(not).src(reg));
        self.complement = Some(not);
        not
    }

    fn phi(&mut self, phi: Inst, merged: Merged, alone: bool) {
        let dst = self.func.defs(phi).next().expect("a phi has a destination");
        match (merged, alone) {
            (Merged::Value(Operand::Reg(reg)), true) => {
                self.func.remove(phi);
                self.func.replace_reads(dst, reg);
            }
            (Merged::Value(value), true) => {
                self.func.remove(phi);
                self.copy(dst, value);
            }
            (Merged::Chosen(yes, no), true) => {
                self.func.remove(phi);
                self.choose(dst, yes, no);
            }
            (merged, false) => {
                let value = match merged {
                    Merged::Value(value) => value,
                    Merged::Chosen(yes, no) => {
                        let info = self.func.regs()[dst];
                        let own = self.func.new_reg(info);
                        self.choose(own, yes, no);
                        own.into()
                    }
                };
                self.come_from_head(phi, value);
            }
        }
    }

    /// A phi takes a value from the head and nothing from the arms any more.
    fn come_from_head(&mut self, phi: Inst, value: Operand) {
        let region = &self.plan.region;
        let inside = |block: Operand| {
            block == Operand::Block(region.head) || region.arms.iter().any(|arm| block == Operand::Block(arm.block))
        };
        let others = self.func.srcs(phi).chunks_exact(2).filter(|pair| !inside(pair[1]));
        let mut srcs: Vec<Operand> = others.flatten().copied().collect();
        srcs.extend([value, Operand::Block(region.head)]);
        self.func.set_srcs(phi, &srcs);
    }

    fn copy(&mut self, dst: Reg, value: Operand) {
        let ty = self.func.regs()[dst].mov_type().expect("checked when the region was planned");
        let value = self.func.free(value);
        self.func.insert_before(self.branch, &InstBuilder::new(Opcode::Mov).field(ty).dst(dst).src(value));
    }

    /// Defines a register as one of two values, by the guard of the last arm. An undefined one may be the other.
    fn choose(&mut self, dst: Reg, yes: Operand, no: Operand) {
        if yes == Operand::Undef || no == Operand::Undef {
            return self.copy(dst, if yes == Operand::Undef { no } else { yes });
        }
        let guard = self.plan.region.arms.last().expect("a region has an arm").guard;
        let ty = self.func.regs()[dst].mov_type().expect("checked when the region was planned");
        let [taken, other] = [yes, no].map(|value| self.func.free(value));
        let inst = match ty {
            Type::B32 | Type::B64 => {
                let (one, two) = if guard.negated() { (other, taken) } else { (taken, other) };
                InstBuilder::new(Opcode::SelP).field(ty).dst(dst).src(one).src(two).src(guard.reg())
            }
            _ => InstBuilder::new(Opcode::Mov).field(ty).dst(dst).src(taken).guard(Some(guard)).or_else(other),
        };
        self.func.insert_before(self.branch, &inst);
    }
}

/// Makes the block that follows another one a part of it, where nothing else leads there; whether that was done.
pub(super) fn absorb(func: &mut Rewriter<'_>, head: Block, next: Block) -> bool {
    let behind: Vec<Inst> = func.successors(next).collect::<Vec<_>>().iter().flat_map(|to| phis(func, *to)).collect();
    let few = behind.iter().all(|phi| func.srcs(*phi).len() <= MOST_SOURCES);
    if jump_target(func, head) != Some(next) || phis(func, next).next().is_some() || !few {
        return false;
    }
    for phi in behind {
        if incoming(func, phi, next).is_some() {
            let renamed = |block: Operand| if block == Operand::Block(next) { Operand::Block(head) } else { block };
            func.map_inputs(phi, renamed);
        }
    }
    let jump = func.terminator(head).expect("it leads to the next block");
    let insts: Vec<Inst> = func.block_insts(next).collect();
    insts.into_iter().for_each(|inst| func.move_before(jump, inst));
    func.remove(jump);
    true
}
