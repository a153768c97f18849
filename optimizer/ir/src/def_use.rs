//! Which instructions define and read each register, kept true by [`super::Rewriter`].
//!
//! Each operand that names a register is a member of that register's list of definitions or of reads; so is each guard.
//! A list is linked through tables by operand place and by instruction, so an operand enters and leaves in constant
//! time, however many others name its register. Instructions that are in no block are in no list.

use cranelift_entity::SecondaryMap;

use super::entity::{Inst, Reg};
use super::function::Function;

/// A member of a list: the place of an operand in the function's pool, or an instruction's guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Member(u32);

/// The bit that tells guards from places.
const GUARD: u32 = 1 << 31;

impl Member {
    /// No member: the end of a list.
    const NONE: Member = Member(u32::MAX);

    fn operand(place: usize) -> Member {
        Member(place as u32)
    }

    fn guard(inst: Inst) -> Member {
        Member(inst.as_u32() | GUARD)
    }
}

/// A member's neighbours, and the instruction that it belongs to.
#[derive(Clone, Copy, Debug)]
struct Link {
    prev: Member,
    next: Member,
    inst: Inst,
}

impl Default for Link {
    fn default() -> Link {
        Link { prev: Member::NONE, next: Member::NONE, inst: Inst::from_u32(0) }
    }
}

/// The lists of a register: their first members and lengths.
#[derive(Clone, Copy, Debug)]
struct Heads {
    first: [Member; 2],
    count: [u32; 2],
}

impl Default for Heads {
    fn default() -> Heads {
        Heads { first: [Member::NONE; 2], count: [0; 2] }
    }
}

/// Which of a register's lists.
#[derive(Clone, Copy)]
enum Side {
    Definitions,
    Reads,
}

/// The definitions and reads of all registers of a function.
#[derive(Clone, Debug)]
pub struct DefUse {
    heads: SecondaryMap<Reg, Heads>,
    operands: Vec<Link>,
    guards: SecondaryMap<Inst, Link>,
}

impl DefUse {
    /// The definitions and reads of a function, each list in program order.
    pub fn new(func: &Function) -> DefUse {
        let mut lists = DefUse {
            heads: SecondaryMap::with_capacity(func.regs().len()),
            operands: vec![Link::default(); func.operand_count()],
            guards: SecondaryMap::new(),
        };
        // Each member enters at the front of its list.
        func.layout_insts().rev().for_each(|inst| lists.enter(func, inst));
        lists
    }

    /// The instructions that define a register: one in SSA form.
    pub fn definitions(&self, reg: Reg) -> impl Iterator<Item = Inst> + '_ {
        self.list(reg, Side::Definitions)
    }

    /// The instruction that defines a register, where there is exactly one.
    pub fn definition(&self, reg: Reg) -> Option<Inst> {
        let Heads { first: [first, _], count: [1, _] } = self.heads[reg] else { return None };
        Some(self.link(first).inst)
    }

    /// The instructions that read a register, once for each operand and guard that does.
    pub fn reads(&self, reg: Reg) -> impl Iterator<Item = Inst> + '_ {
        self.list(reg, Side::Reads)
    }

    /// How many operands and guards read a register.
    pub fn read_count(&self, reg: Reg) -> usize {
        self.heads[reg].count[Side::Reads as usize] as usize
    }

    /// Enters what an instruction names.
    pub(super) fn enter(&mut self, func: &Function, inst: Inst) {
        for_each_member(func, inst, |member, reg, side| self.push(member, reg, side, inst));
    }

    /// Takes out what an instruction names; it must name what it named when it was entered.
    pub(super) fn leave(&mut self, func: &Function, inst: Inst) {
        for_each_member(func, inst, |member, reg, side| self.remove(member, reg, side));
    }

    fn list(&self, reg: Reg, side: Side) -> impl Iterator<Item = Inst> + '_ {
        let first = self.heads[reg].first[side as usize];
        let some = |member: Member| (member != Member::NONE).then_some(member);
        let members = std::iter::successors(some(first), move |member| some(self.link(*member).next));
        members.map(|member| self.link(member).inst)
    }

    fn push(&mut self, member: Member, reg: Reg, side: Side, inst: Inst) {
        let heads = &mut self.heads[reg];
        let next = std::mem::replace(&mut heads.first[side as usize], member);
        heads.count[side as usize] += 1;
        *self.link_mut(member) = Link { prev: Member::NONE, next, inst };
        if next != Member::NONE {
            self.link_mut(next).prev = member;
        }
    }

    fn remove(&mut self, member: Member, reg: Reg, side: Side) {
        let Link { prev, next, .. } = std::mem::take(self.link_mut(member));
        let heads = &mut self.heads[reg];
        heads.count[side as usize] -= 1;
        match prev {
            Member::NONE => heads.first[side as usize] = next,
            prev => self.link_mut(prev).next = next,
        }
        if next != Member::NONE {
            self.link_mut(next).prev = prev;
        }
    }

    fn link(&self, member: Member) -> &Link {
        match member.0 & GUARD {
            0 => &self.operands[member.0 as usize],
            _ => &self.guards[Inst::from_u32(member.0 & !GUARD)],
        }
    }

    fn link_mut(&mut self, Member(number): Member) -> &mut Link {
        if number & GUARD != 0 {
            return &mut self.guards[Inst::from_u32(number & !GUARD)];
        }
        let place = number as usize;
        if place >= self.operands.len() {
            self.operands.resize(place + 1, Link::default());
        }
        &mut self.operands[place]
    }
}

/// Calls `each` for every operand of an instruction that names a register, and for its guard.
fn for_each_member(func: &Function, inst: Inst, mut each: impl FnMut(Member, Reg, Side)) {
    let start = func.operand_places(inst).start;
    let dsts = func.dsts(inst);
    for (place, operand) in (start..).zip(dsts.iter().chain(func.inputs(inst))) {
        if let Some(reg) = operand.reg() {
            let side = if place < start + dsts.len() { Side::Definitions } else { Side::Reads };
            each(Member::operand(place), reg, side);
        }
    }
    if let Some(guard) = func.inst(inst).guard {
        each(Member::guard(inst), guard.reg(), Side::Reads);
    }
}
