//! Calls of sequences, and sequences themselves: operands and results are in registers ([`crate::sequences`]).
//!
//! The call has the registers of operands and of the place to return to behind its own operands, and the result's as
//! its result; the return has the result's behind its own. So they are live where they must be. They are no part of the
//! word, and allocation takes them away.

use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Inst, Modifiers, Operand, RegFile};

use super::flow::PLACE_TO_COME;
use super::table::Part;
use super::{Refusal, Select};
use crate::sequences::{self, RETURN, Sequence};

impl Select<'_> {
    /// Calls the sequence of an operation.
    pub(super) fn call_sequence(&mut self, inst: Inst, sequence: Sequence) -> Result<(), Refusal> {
        let (func, words) = (self.func, words(self.func.inst(inst).ty()));
        let (Some(dst), None) = (func.dsts(inst).first().copied(), self.emit.guard) else {
            return Err(self.refused(inst));
        };
        let mut passed = Vec::new();
        for (place, src) in func.srcs(inst).iter().enumerate() {
            let (value, own) = (self.source(*src, words)?, Operand::Reg(self.at(words, sequences::operand(place))));
            for word in 0..words {
                let part = if words == 1 { Part::Whole } else { Part::Word(word) };
                let from = self.emit.value(value, part, Modifiers::NONE, "MOV");
                let to = self.emit.word(own, word);
                self.emit.copy_word(to, from);
            }
            passed.push(own);
        }
        let back = Operand::Reg(self.at(2, RETURN));
        let place = self.emit.func.imm(PLACE_TO_COME);
        let (low, high) = (self.emit.word(back, 0), self.emit.word(back, 1));
        self.emit.copy_word(high, Operand::wired(RegFile::R, 1));
        self.emit.copy_word(low, place);
        let own = [Operand::wired(RegFile::P, 1), Operand::Func(sequence.function)];
        let call = self.emit.op("CALL.REL.NOINC", &[], &own)?;
        let result = Operand::Reg(self.at(words, sequences::operand(0)));
        let all: Vec<Operand> = own.into_iter().chain(passed).chain([back]).collect();
        let head = self.emit.func.inst(call).head();
        self.emit.func.set_inst(call, head, &[result], &all, &[]);
        self.emit.copy(dst, result);
        Ok(())
    }

    /// The operands of a sequence and the place to return to are in registers where it begins.
    pub(super) fn begin_sequence(&mut self) {
        for (place, local) in self.func.params.iter().enumerate() {
            let words = words(self.func.locals[*local].ty);
            let own = Operand::Reg(self.at(words, sequences::operand(place)));
            self.passed.push(own);
        }
        let result = self.func.returns.first().map_or(1, |local| words(self.func.locals[*local].ty));
        let result = Operand::Reg(self.at(result, sequences::operand(0)));
        self.passed.push(result);
        self.home = Some(Operand::Reg(self.at(2, RETURN)));
    }

    /// A load of an operand, or the store of the result.
    pub(super) fn passed(&mut self, inst: Inst) -> Result<(), Refusal> {
        let func = self.func;
        let Operand::Local(local) = func.srcs(inst)[0] else { return Err(self.refused(inst)) };
        if func.inst(inst).opcode == Opcode::Ld {
            let place = func.params.iter().position(|own| *own == local);
            let own = place.map(|place| self.passed[place]).ok_or(Refusal::Operand("such a parameter"))?;
            self.emit.copy(func.dsts(inst)[0], own);
            return Ok(());
        }
        let result = *self.passed.last().ok_or(Refusal::Operand("such a result"))?;
        let words = words(func.inst(inst).ty());
        let value = self.source(func.srcs(inst)[2], words)?;
        for word in 0..words {
            let part = if words == 1 { Part::Whole } else { Part::Word(word) };
            let from = self.emit.value(value, part, Modifiers::NONE, "MOV");
            let to = self.emit.word(result, word);
            self.emit.copy_word(to, from);
        }
        Ok(())
    }

    /// Returns from a sequence.
    pub(super) fn end_sequence(&mut self) -> Result<(), Refusal> {
        let home = self.home.ok_or(Refusal::Operand("a return"))?;
        let own = [Operand::wired(RegFile::P, 1), home, Operand::Func(self.kernel)];
        let back = self.emit.op("RET.REL.NODEC", &[], &own)?;
        let all: Vec<Operand> = own.into_iter().chain(self.passed.last().copied()).collect();
        let head = self.emit.func.inst(back).head();
        self.emit.func.set_inst(back, head, &[], &all, &[]);
        Ok(())
    }
}

fn words(ty: Type) -> u8 {
    ty.bits().div_ceil(32) as u8
}
