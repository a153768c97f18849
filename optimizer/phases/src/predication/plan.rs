//! What becomes of each instruction of the arms and of each phi of the join, and what that costs.
//!
//! Nothing behind the join reads what an arm defines but through the join's phis. So
//!
//! - an instruction without a guard gets the arm's. Its `else` value is what the phi that reads it takes on the other
//!   way, if that is one phi; else it is undefined, since only what runs under the arm's guard reads it. If anything
//!   else reads it, an instruction that is pure, or reads a parameter of the kernel, stays without a guard instead;
//! - an instruction with a guard of its own keeps it where that predicate is made and read in the arm alone, by guards
//!   in one sense: the predicate's definition gets the arm's guard, and is the opposite otherwise. Else its guard
//!   becomes a combined one. Its `else` values stay, so a phi that reads it must take the same on the other way.
//!
//! The arms stand one after the other, so what the first defines can be the `else` value of what the second does.

use rustc_hash::{FxHashMap, FxHashSet};

use super::region::Region;
use oriole_ir::ops::{Flags, Latency};
use oriole_ir::{Block, Function, Guard, Inst, Operand, Reg, RegFile, Rewriter};
use oriole_pass::analysis::reads_kernel_parameter;
use oriole_pass::edit::graph::{incoming, phis};
use oriole_pass::pass::{Knob, Knobs};

/// How an instruction of an arm is executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// Under the arm's guard, with these `else` values.
    Guarded(Vec<Operand>),
    /// By all threads.
    Always,
    /// Under its own guard, which holds nowhere else.
    Own,
    /// Under a guard that holds where its own and the arm's do.
    Combined,
}

/// What takes the place of a phi.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Merged {
    /// A value that all threads have.
    Value(Operand),
    /// The first where the first arm's guard holds, else the second.
    Chosen(Operand, Operand),
}

/// What is done to a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub(super) region: Region,
    /// The instructions of each arm.
    pub(super) insts: Vec<Vec<(Inst, How)>>,
    pub(super) phis: Vec<(Inst, Merged)>,
    /// Issue slots of the arms.
    weight: u32,
    /// Half instructions that threads execute beside those of the arms.
    overhead: u32,
    /// Words of results that ptxas selects.
    partial: u32,
    /// Accesses to memory in the arms.
    accesses: u32,
}

/// What conversions may cost.
pub(super) struct Limits {
    divergent: u32,
    uniform: u32,
    overhead: u32,
    partial: u32,
    accesses: u32,
}

impl Limits {
    pub(super) fn new(knobs: &Knobs) -> Limits {
        let limit = |knob| knobs.limit(knob).unwrap_or(u32::MAX);
        Limits {
            divergent: limit(Knob::PredicationDivergent),
            uniform: limit(Knob::PredicationUniform),
            overhead: limit(Knob::PredicationOverhead),
            partial: limit(Knob::PredicationPartial),
            accesses: limit(Knob::PredicationAccesses),
        }
    }
}

impl Plan {
    /// What is to be done to a region; `None` where it cannot be converted.
    pub(super) fn new(func: &Rewriter<'_>, region: Region) -> Option<Plan> {
        let mut planning = Planning {
            func,
            region: &region,
            carried: FxHashMap::default(),
            others: FxHashSet::default(),
            overhead: 0,
            partial: 0,
        };
        let phis = planning.phis()?;
        let mut insts = Vec::new();
        for arm in 0..region.arms.len() {
            insts.push(planning.arm(arm)?);
        }
        let weight = insts.iter().flatten().map(|(inst, _)| weight(func, *inst)).sum();
        let accesses = insts.iter().flatten().filter(|(inst, _)| accesses_memory(func, *inst)).count() as u32;
        let (overhead, partial) = (planning.overhead, planning.partial);
        Some(Plan { region, insts, phis, weight, overhead, partial, accesses })
    }

    /// Whether the plan is within the limits, where the branch is the same for a warp or not.
    pub(super) fn pays(&self, limits: &Limits, uniform: bool) -> bool {
        let most = if uniform { limits.uniform } else { limits.divergent };
        self.weight <= most
            && self.overhead <= limits.overhead
            && self.partial <= limits.partial
            && self.accesses <= limits.accesses
    }
}

fn accesses_memory(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    (data.is(Flags::READS) || data.is(Flags::WRITES)) && !reads_kernel_parameter(func, inst)
}

/// The issue slots of an instruction. The cost of an access to memory is that of its latency, which nobody pays for
/// whom the guard is false: it counts as two.
fn weight(func: &Function, inst: Inst) -> u32 {
    let data = func.inst(inst);
    let row = data.opcode.row();
    match row.latency {
        Latency::Memory => 2,
        _ => (row.cost(&data.fields) / 2).max(1),
    }
}

struct Planning<'a> {
    func: &'a Rewriter<'a>,
    region: &'a Region,
    /// By register that an arm defines: what it is where the arm does not run, if a phi says so.
    carried: FxHashMap<Reg, Operand>,
    /// Registers that are such a value.
    others: FxHashSet<Reg>,
    overhead: u32,
    partial: u32,
}

impl Planning<'_> {
    fn phis(&mut self) -> Option<Vec<(Inst, Merged)>> {
        let (func, join) = (self.func, self.region.join);
        phis(func, join).map(|phi| Some((phi, self.phi(phi)?))).collect()
    }

    fn phi(&mut self, phi: Inst) -> Option<Merged> {
        let info = self.func.regs()[self.func.defs(phi).next()?];
        info.mov_type().filter(|_| matches!(info.file, RegFile::R | RegFile::P))?;
        let last = self.region.arms.len() - 1;
        let value = incoming(self.func, phi, self.region.arms[last].block)?;
        let other = incoming(self.func, phi, self.region.other(last))?;
        if value == other && value != Operand::Undef {
            return Some(Merged::Value(value));
        }
        // The last arm can take what the first one defines, not the other way round.
        for (arm, own, old) in [(last, value, other), (0, other, value)] {
            let first_of_two = arm != last;
            let defined_later = first_of_two && self.arm_of(old) == Some(last);
            if arm < self.region.arms.len() && !defined_later && self.can_carry(arm, own, old) {
                own.reg().into_iter().for_each(|reg| _ = self.carried.insert(reg, old));
                self.others.extend(old.reg());
                return Some(Merged::Value(own));
            }
            if last == 0 {
                break;
            }
        }
        self.overhead += 1;
        Some(Merged::Chosen(value, other))
    }

    /// The arm that defines an operand.
    fn arm_of(&self, operand: Operand) -> Option<usize> {
        let home = self.func.block_of(self.func.def_use().definition(operand.reg()?)?);
        self.region.arms.iter().position(|arm| Some(arm.block) == home)
    }

    /// Whether the instruction that defines a register in an arm can say what the register is elsewhere.
    fn can_carry(&self, arm: usize, own: Operand, old: Operand) -> bool {
        let Some(reg) = own.whole_reg().filter(|_| self.arm_of(own) == Some(arm)) else { return false };
        let Some(inst) = self.func.def_use().definition(reg) else { return false };
        if self.carried.contains_key(&reg) {
            return self.carried[&reg] == old;
        }
        let at = self.func.defs(inst).position(|own| own == reg);
        match self.func.inst(inst).guard {
            None => true,
            Some(_) => at.and_then(|at| self.func.elses(inst).get(at)) == Some(&old),
        }
    }

    /// The instructions of an arm, each with how it is executed. Readers are decided before what they read.
    fn arm(&mut self, arm: usize) -> Option<Vec<(Inst, How)>> {
        let block = self.region.arms[arm].block;
        let branch = self.func.terminator(block);
        let insts: Vec<Inst> = self.func.block_insts(block).filter(|inst| Some(*inst) != branch).collect();
        let made_here = self.guards_made_in(block);
        let mut under: FxHashSet<Inst> = FxHashSet::default();
        let mut found = Vec::new();
        let mut combined: FxHashSet<Guard> = FxHashSet::default();
        for inst in insts.into_iter().rev() {
            let how = match self.func.inst(inst).guard {
                Some(guard) if made_here.contains_key(&guard.reg()) => How::Own,
                Some(guard) => {
                    // The predicates combined, and sometimes the complement of the branch's.
                    self.overhead += if combined.insert(guard) { 3 } else { 0 };
                    How::Combined
                }
                None => self.unguarded(inst, &made_here, &under),
            };
            if matches!(how, How::Guarded(_)) {
                under.insert(inst);
            }
            found.push((inst, how));
        }
        found.reverse();
        Some(found)
    }

    fn unguarded(&mut self, inst: Inst, made_here: &FxHashMap<Reg, bool>, under: &FxHashSet<Inst>) -> How {
        if let Some(negated) = self.func.defs(inst).find_map(|reg| made_here.get(&reg)) {
            self.overhead += 2;
            return How::Guarded(vec![Operand::imm(u32::from(*negated))]);
        }
        let is_pure = self.func.inst(inst).is(Flags::PURE) || reads_kernel_parameter(self.func, inst);
        // One result that is something else where the arm does not run settles it for all.
        let carries = self.func.defs(inst).any(|reg| self.carried.contains_key(&reg));
        if is_pure && !carries && !self.func.defs(inst).all(|reg| self.reads_are(reg, under)) {
            self.overhead += 2;
            return How::Always;
        }
        let data = self.func.inst(inst);
        let is_atomic = data.is(Flags::READS) && data.is(Flags::WRITES);
        let given = |reg: &Reg| self.carried.contains_key(reg) || self.others.contains(reg);
        let bare = self.func.defs(inst).filter(|reg| is_atomic || is_pure && !given(reg));
        self.partial += bare.map(|reg| u32::from(self.func.regs()[reg].words)).sum::<u32>();
        let old = |reg: Reg| self.carried.get(&reg).copied().unwrap_or(Operand::Undef);
        How::Guarded(self.func.defs(inst).map(old).collect())
    }

    /// Whether a register is read by instructions under the arm's guard alone, which have no `else` values yet, or by
    /// one phi.
    fn reads_are(&self, reg: Reg, under: &FxHashSet<Inst>) -> bool {
        let mut reads = self.func.def_use().reads(reg);
        let phi = |inst: Inst| self.func.block_of(inst) == Some(self.region.join);
        let alone = self.func.def_use().read_count(reg) == 1;
        reads.all(|inst| under.contains(&inst) || phi(inst) && alone)
    }

    /// The predicates that an instruction without a guard defines in a block, alone, that nothing elsewhere reads, and
    /// that guards read in one sense; with that sense. Where the arm does not run they have a value of the plan, which
    /// other reads in the arm may take as any other.
    fn guards_made_in(&self, block: Block) -> FxHashMap<Reg, bool> {
        let func = self.func;
        let mut senses: FxHashMap<Reg, Option<bool>> = FxHashMap::default();
        for inst in func.block_insts(block) {
            if let Some(guard) = func.inst(inst).guard {
                let sense = senses.entry(guard.reg()).or_insert(Some(guard.negated()));
                *sense = sense.filter(|negated| *negated == guard.negated());
            }
        }
        let is_made = |reg: Reg| {
            let made = func.def_use().definition(reg).filter(|inst| func.block_of(*inst) == Some(block));
            made.is_some_and(|inst| {
                let data = func.inst(inst);
                data.guard.is_none() && data.is(Flags::PURE) && func.dsts(inst).len() == 1
            })
        };
        let only_here = |reg: Reg| func.def_use().reads(reg).all(|inst| func.block_of(inst) == Some(block));
        let usable = senses.into_iter().filter_map(|(reg, sense)| Some((reg, sense?)));
        usable.filter(|(reg, _)| is_made(*reg) && only_here(*reg)).collect()
    }
}
