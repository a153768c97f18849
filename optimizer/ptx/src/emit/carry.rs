//! Additions with a carry. The IR has predicates for carries, PTX has one flag that instructions set and read.
//!
//! Where the next of these instructions in the block alone reads the predicate, the flag itself carries it there, and
//! where a selection of 1 or 0 alone does, it becomes an addition of the flag. In all other cases the predicate is read
//! out of the flag behind an instruction, and brought into it before one.

use super::EmitError;
use super::function::{FunctionWriter, Temp};
use oriole_ir::ops::{FieldValue, Flags, Opcode, Type};
use oriole_ir::{Inst, InstData, Operand, Reg};

/// How many instructions are looked at for the reader of a carry.
const WINDOW: usize = 32;

impl FunctionWriter<'_> {
    /// A carry in of constant zero needs no flag.
    pub(super) fn carry(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let srcs = self.func.srcs(inst).to_vec();
        let (Some((carry, operands)), [Operand::Reg(to), Operand::Reg(out)]) =
            (srcs.split_last(), self.func.dsts(inst))
        else {
            return Err(self.refuse("an operand is missing"));
        };
        let (to, out, ty) = (self.reg(*to), *out, data.ty());
        let mut texts = Vec::new();
        for operand in operands {
            texts.push(self.source(*operand, ty)?);
        }
        let has_carry = has_carry(data.opcode, *carry);
        // What the flag holds else is lost here.
        if has_carry && self.flag.take().map(Operand::Reg) != Some(*carry) {
            let predicate = self.source(*carry, Type::Pred)?;
            let (bit, sum) = (self.temp(Temp::Word), self.temp(Temp::Word));
            self.line(format_args!("selp.u32 {bit}, 1, 0, {predicate}"));
            self.line(format_args!("add.cc.u32 {sum}, {bit}, 0xffffffff"));
        }
        let c = if has_carry { "c" } else { "" };
        let base = match data.opcode {
            Opcode::ISubCarry => format!("sub{c}"),
            Opcode::IMadLoCarry => format!("mad{c}.lo"),
            Opcode::IMadHiCarry => format!("mad{c}.hi"),
            _ => format!("add{c}"),
        };
        let ty = ty.name();
        if !self.is_used(Operand::Reg(out)) {
            self.guarded(format_args!("{base}.{ty} {to}, {}", texts.join(", ")));
            return Ok(());
        }
        self.guarded(format_args!("{base}.cc.{ty} {to}, {}", texts.join(", ")));
        if self.is_read_by_the_next(inst, out) {
            self.flag = Some(out);
            return Ok(());
        }
        if let Some((selection, number)) = self.made_a_number_by(inst, out) {
            let (bits, number) = (self.func.inst(selection).ty().bits(), self.reg(number));
            self.line(format_args!("addc.u{bits} {number}, 0, 0"));
            self.written = Some(selection);
            return Ok(());
        }
        let (bit, out) = (self.temp(Temp::Word), self.reg(out));
        self.guarded(format_args!("addc.u32 {bit}, 0, 0"));
        self.guarded(format_args!("setp.ne.u32 {out}, {bit}, 0"));
        Ok(())
    }

    /// The selection of 1 or 0 behind an instruction that alone reads its carry, and its destination: an addition of
    /// nothing but the carry.
    fn made_a_number_by(&self, inst: Inst, out: Reg) -> Option<(Inst, Reg)> {
        let (func, next) = (self.func, self.func.next_inst(inst)?);
        let (data, &[one, zero, carry]) = (func.inst(next), func.srcs(next)) else { return None };
        let &[Operand::Reg(number)] = func.dsts(next) else { return None };
        let counts = data.opcode == Opcode::SelP
            && carry == Operand::Reg(out)
            && [one, zero].map(|operand| func.imm_bits(operand)) == [Some(1), Some(0)];
        let guarded = data.guard.is_some() || func.inst(inst).guard.is_some();
        let fits = matches!(data.ty().bits(), 32 | 64) && !self.is_half(number.into());
        (counts && !guarded && fits && self.is_read_once(out)).then_some((next, number))
    }

    /// Whether the next instruction with a carry reads this one as its carry, and nothing else does: it is not guarded,
    /// no call is between them, and both add or both subtract. In between, guarded ones without a carry in may write
    /// the same predicate: where they do not happen, the flag keeps what it holds.
    fn is_read_by_the_next(&self, inst: Inst, out: Reg) -> bool {
        let (func, data) = (self.func, self.func.inst(inst));
        // A guarded one that does not happen leaves the flag as it is, so that the predicate has to be there already.
        if !self.is_read_once(out) || data.guard.is_some() && self.flag != Some(out) {
            return false;
        }
        let following = std::iter::successors(func.next_inst(inst), |inst| func.next_inst(*inst)).take(WINDOW);
        let mut ends = following.filter(|inst| {
            let next = func.inst(*inst);
            next.is(Flags::CARRY) || next.opcode == Opcode::Call || func.defs(*inst).any(|reg| reg == out)
        });
        let is_alike = |next: Inst| {
            let data_of_next = func.inst(next);
            data_of_next.is(Flags::CARRY) && is_subtraction(data_of_next.opcode) == is_subtraction(data.opcode)
        };
        let may_replace = |next: &Inst| {
            is_alike(*next)
                && func.inst(*next).guard.is_some()
                && func.dsts(*next).last() == Some(&Operand::Reg(out))
                && func.srcs(*next).last().is_some_and(|carry| !has_carry(func.inst(*next).opcode, *carry))
        };
        ends.find(|next| !may_replace(next)).is_some_and(|next| {
            is_alike(next) && func.inst(next).guard.is_none() && func.srcs(next).last() == Some(&Operand::Reg(out))
        })
    }
}

/// Whether an operand brings a carry, or a borrow: constant idle ones need no flag.
fn has_carry(opcode: Opcode, carry: Operand) -> bool {
    !matches!(carry, Operand::Undef) && carry != Operand::imm(u32::from(is_subtraction(opcode)))
}

fn is_subtraction(opcode: Opcode) -> bool {
    opcode == Opcode::ISubCarry
}
