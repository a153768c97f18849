//! Value numbers for a whole function: registers with the same number have the same value, wherever both exist.
//!
//! One sweep in reverse post-order. An instruction gets the numbers of an earlier one with an equal expression, whether
//! or not that one dominates it; a copy gets that of its source, one of a variable's address that of the others, and so
//! does a phi whose sources all have one number. A source that is not numbered yet, along a back edge, counts as a
//! value of its own.
//!
//! Two loads, or two instructions with an `undef` operand, get one number only where the earlier one dominates: what
//! nothing has stored or defined is another value at each read, and of two such reads one must be able to stand for the
//! other. Otherwise the later one takes the place in the table. A load's expression has the state of memory in it.
//!
//! *Why a phi may take the number of its sources.* Let `a` be what the expression is computed from. Its definition
//! dominates each source, and so the phi; and each way from the definition to the end of a predecessor goes through the
//! source there. So a source that comes in has been computed from the `a` that the phi's block sees.

use cranelift_entity::SecondaryMap;

use super::facts::Facts;
use super::leaders::{copied, copied_address};
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Function, Inst, Operand, Reg};
use oriole_pass::engine::expression::Expression;
use oriole_pass::engine::expression::table::ValueTable;

/// In place of a number: the register's own, with this bit.
const OWN: u32 = 1 << 31;

/// The numbers of a function's values.
pub(super) struct Numbers {
    /// By register: its number, from 1 on; 0 where it has none yet.
    of: SecondaryMap<Reg, u32>,
    /// By number: how many instructions have it as that of their first result.
    members: Vec<u32>,
}

/// An instruction in the table, and the number of its first result. The others follow.
struct Member {
    inst: Inst,
    number: u32,
}

impl Numbers {
    /// Numbers a function. What is not eligible gets numbers of its own.
    pub(super) fn new(func: &Function, facts: &Facts, eligible: impl Fn(Inst) -> bool) -> Numbers {
        let mut numbers = Numbers { of: SecondaryMap::new(), members: vec![0] };
        let (mut table, mut key) = (ValueTable::default(), Expression::default());
        for block in facts.cfg.rpo() {
            for inst in func.block_insts(*block) {
                match numbers.followed(func, inst) {
                    Some(number) => numbers.assign(func, inst, number),
                    // Copies of one address count as one, so that what is computed of them does.
                    None if eligible(inst) || copied_address(func, inst).is_some() => {
                        let load = func.inst(inst).is(Flags::READS);
                        let version = if load { facts.version(inst) } else { None };
                        key.assign(func, inst, |reg| numbers.get(reg), version);
                        let member = table.entry(&key, || Member { inst, number: 0 }).0;
                        numbers.join(func, facts, inst, member);
                    }
                    None => {
                        let number = numbers.fresh(func, inst);
                        numbers.assign(func, inst, number);
                    }
                }
                if let Some(reg) = func.defs(inst).next().filter(|_| eligible(inst)) {
                    let number = numbers.get(reg);
                    numbers.members[number as usize] += 1;
                }
            }
        }
        numbers
    }

    /// One more than the highest number.
    pub(super) fn count(&self) -> usize {
        self.members.len()
    }

    /// The number of a register.
    pub(super) fn get(&self, reg: Reg) -> u32 {
        match self.of[reg] {
            0 => OWN | reg.as_u32(),
            number => number,
        }
    }

    /// Whether an instruction's first result has the number of another one's.
    pub(super) fn is_shared(&self, func: &Function, inst: Inst) -> bool {
        let number = func.defs(inst).next().map(|reg| self.of[reg]);
        number.is_some_and(|number| self.members[number as usize] > 1)
    }

    /// The number of what an instruction always copies.
    fn followed(&self, func: &Function, inst: Inst) -> Option<u32> {
        if let Some((_, source)) = copied(func, inst) {
            return Some(self.get(source)).filter(|number| number & OWN == 0);
        }
        let own = func.dsts(inst).first()?;
        let phi = func.inst(inst).opcode == Opcode::Phi;
        let mut sources = func.srcs(inst).chunks_exact(2).map(|pair| pair[0]).filter(|source| phi && source != own);
        let first = self.number_of(sources.next()?)?;
        sources.all(|source| self.number_of(source) == Some(first)).then_some(first)
    }

    /// The number of a whole register that has one.
    fn number_of(&self, operand: Operand) -> Option<u32> {
        operand.whole_reg().map(|reg| self.of[reg]).filter(|number| *number != 0)
    }

    /// Gives an instruction the numbers of the one in the table, or puts it there.
    fn join(&mut self, func: &Function, facts: &Facts, inst: Inst, member: &mut Member) {
        if member.number == 0 || !may_share(func, facts, member.inst, inst) {
            *member = Member { inst, number: self.fresh(func, inst) };
        }
        self.assign(func, inst, member.number);
    }

    fn assign(&mut self, func: &Function, inst: Inst, first: u32) {
        for (number, reg) in (first..).zip(func.defs(inst)) {
            self.of[reg] = number;
        }
    }

    /// New numbers for the results of an instruction: the first of them.
    fn fresh(&mut self, func: &Function, inst: Inst) -> u32 {
        let first = self.members.len();
        self.members.resize(first + func.dsts(inst).len(), 0);
        u32::try_from(first).ok().filter(|first| first & OWN == 0).expect("a function has fewer than 2^31 registers")
    }
}

/// Whether two instructions with equal expressions get one number.
fn may_share(func: &Function, facts: &Facts, earlier: Inst, later: Inst) -> bool {
    if !func.inst(later).is(Flags::READS) && !func.inputs(later).contains(&Operand::Undef) {
        return true;
    }
    let (Some(above), Some(below)) = (func.block_of(earlier), func.block_of(later)) else { return false };
    facts.dominates(above, below)
}
