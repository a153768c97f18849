//! Known bits of a function under change.
//!
//! What is known of a register follows from its definition, and from those of the registers that the definition reads.
//! So each answer is remembered, and the registers that were asked for on the way remember who asked. When a definition
//! changes, [`BitMemo::forget`] drops what is remembered of its register and, from there, of all that followed from it.
//! Phis tell nothing: so nothing goes round, and an answer depends on the function alone and not on what was asked
//! before. No recursion; a definition is evaluated once for each of its operands that is not known yet.

use std::cell::RefCell;

use cranelift_entity::EntityRef;

use super::bits::Bits;
use super::{operand_bits, operation};
use crate::analysis::definitions::Definitions;
use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Operand, Reg};

/// No element of a list.
const NONE: u32 = u32::MAX;

/// What has been found out about the bits of registers, for a function in SSA form.
#[derive(Clone, Debug, Default)]
pub struct BitMemo(RefCell<Remembered>);

#[derive(Clone, Debug, Default)]
struct Remembered {
    /// By register number.
    regs: Vec<Entry>,
    /// Lists of registers whose bits follow from another one's, with the next element.
    followers: Vec<(Reg, u32)>,
    /// Empty between questions: registers to find out about, and those that a definition reads.
    work: Vec<Reg>,
    read: Vec<Reg>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    bits: Option<Bits>,
    /// Whether it is being found out. Definitions that go round without a phi, in unreachable blocks, end there.
    open: bool,
    /// The list of the registers whose bits follow from this one's.
    first: u32,
}

impl BitMemo {
    /// What is known of an operand.
    pub fn of(&self, func: &Function, definitions: &Definitions, operand: Operand) -> Bits {
        let mut remembered = self.0.borrow_mut();
        if let Some(reg) = operand.reg() {
            remembered.settle(func, definitions, reg);
        }
        operand_bits(func, operand, |index| remembered.bits(index))
    }

    /// The definition of a register has changed.
    pub fn forget(&mut self, reg: Reg) {
        self.0.get_mut().forget(reg);
    }
}

impl Remembered {
    fn bits(&self, index: usize) -> Option<Bits> {
        self.regs.get(index).and_then(|entry| entry.bits)
    }

    /// Finds out about a register, those that it follows from first.
    fn settle(&mut self, func: &Function, definitions: &Definitions, reg: Reg) {
        if self.bits(reg.index()).is_some() {
            return;
        }
        if self.regs.len() < func.regs().len() {
            self.regs.resize(func.regs().len(), Entry { bits: None, open: false, first: NONE });
        }
        self.work.push(reg);
        while let Some(reg) = self.work.last().copied() {
            if self.bits(reg.index()).is_some() {
                self.work.pop();
                continue;
            }
            self.regs[reg.index()].open = true;
            let read = RefCell::new(std::mem::take(&mut self.read));
            let bits = self.evaluate(func, definitions, reg, &read);
            let mut read = read.into_inner();
            let is_missing = |read: &&Reg| matches!(self.regs[read.index()], Entry { bits: None, open: false, .. });
            let settled = self.work.len();
            self.work.extend(read.iter().filter(is_missing));
            if self.work.len() == settled {
                read.iter().for_each(|read| self.follow(*read, reg));
                let entry = &mut self.regs[reg.index()];
                (entry.bits, entry.open) = (Some(bits), false);
                self.work.pop();
            }
            read.clear();
            self.read = read;
        }
    }

    /// What the definition of a register says; adds the registers that it was asked of to `read`. Where one of these is
    /// not known yet, the answer is not final.
    fn evaluate(&self, func: &Function, definitions: &Definitions, reg: Reg, read: &RefCell<Vec<Reg>>) -> Bits {
        let Some(inst) = definitions.inst(reg) else { return Bits::UNKNOWN };
        let Some(index) = func.dsts(inst).iter().position(|dst| *dst == Operand::Reg(reg)) else {
            return Bits::UNKNOWN;
        };
        if func.inst(inst).opcode == Opcode::Phi {
            return Bits::UNKNOWN;
        }
        let of = |operand: Operand| {
            read.borrow_mut().extend(operand.reg());
            operand_bits(func, operand, |index| self.bits(index))
        };
        let bits = operation::result(func, inst, index, &of, None);
        match func.inst(inst).guard {
            None => bits,
            Some(_) => func.elses(inst).get(index).map_or(Bits::UNKNOWN, |otherwise| bits.join(of(*otherwise))),
        }
    }

    fn follow(&mut self, read: Reg, follower: Reg) {
        let next = std::mem::replace(&mut self.regs[read.index()].first, self.followers.len() as u32);
        self.followers.push((follower, next));
    }

    fn forget(&mut self, reg: Reg) {
        let mut work = vec![reg];
        while let Some(reg) = work.pop() {
            let Some(entry) = self.regs.get_mut(reg.index()) else { continue };
            entry.bits = None;
            let mut at = std::mem::replace(&mut entry.first, NONE);
            while let Some((follower, next)) = self.followers.get(at as usize) {
                work.push(*follower);
                at = *next;
            }
        }
    }
}
