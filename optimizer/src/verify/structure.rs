//! Second step, for blocks: terminators, phis, guards, and a look at each instruction by itself.

use super::{Checker, Rule};
use crate::ir::{Block, Form, Inst};
use crate::ops::{Flags, Level, Opcode};

impl Checker<'_> {
    pub(super) fn structure(&mut self, in_layout: &[bool]) {
        for block in &self.func.layout {
            self.block = Some(*block);
            self.block_ends(*block);
            let mut phis_may_follow = true;
            for inst in &self.func.blocks[*block].insts {
                self.inst = Some(*inst);
                let phi = self.func.insts[*inst].opcode == Opcode::Phi;
                self.expect(!phi || phis_may_follow, Rule::PhiPlace, || "a phi stands after other instructions".into());
                phis_may_follow &= phi;
                self.form(*inst);
                if self.fields(*inst) {
                    self.operands(*inst, in_layout);
                }
                self.inst = None;
            }
        }
        self.block = None;
    }

    fn block_ends(&mut self, block: Block) {
        let Some((last, rest)) = self.func.blocks[block].insts.split_last() else {
            return self.expect(false, Rule::Terminator, || "the block is empty".into());
        };
        for inst in rest.iter().filter(|inst| self.func.insts[**inst].is(Flags::TERMINATOR)) {
            self.inst = Some(*inst);
            self.expect(false, Rule::Terminator, || "a terminator stands inside a block".into());
        }
        self.inst = Some(*last);
        let ends = self.func.insts[*last].is(Flags::TERMINATOR);
        self.expect(ends, Rule::Terminator, || "the block's last instruction is no terminator".into());
        self.inst = None;
    }

    /// What depends on the function's form: phis, levels, guards and their `else`.
    fn form(&mut self, inst: Inst) {
        let (func, data) = (self.func, &self.func.insts[inst]);
        let phi = data.opcode == Opcode::Phi;
        self.expect(!phi || func.form == Form::Ssa, Rule::PhiForm, || "a phi outside SSA form".into());
        let physical = func.form == Form::Physical;
        let too_high = physical && data.opcode.row().level == Level::Virtual;
        self.expect(!too_high, Rule::Level, || "an opcode of the virtual level in physical form".into());
        if let Some(guard) = data.guard {
            let place = !phi && !data.is(Flags::TERMINATOR);
            self.expect(place, Rule::GuardPlace, || "terminators and phis take no guard".into());
            self.expect(func.regs[guard.reg].is_predicate(), Rule::GuardFile, || "the guard is no predicate".into());
        }
        let wanted = if func.form == Form::Ssa && data.guard.is_some() { func.dsts(inst).len() } else { 0 };
        let found = func.elses(inst).len();
        self.expect(found == wanted, Rule::ElseCount, || format!("{found} `else` operands where {wanted} belong"));
    }

    /// Whether the fields are such that shapes follow from them.
    fn fields(&mut self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        let row = data.opcode.row();
        let (used, unused) = data.fields.0.split_at(row.fields.len());
        let taken = |(spec, value): (&crate::ops::FieldSpec, &u8)| *value < 64 && spec.legal >> value & 1 == 1;
        let wrong = row.fields.iter().zip(used).find(|pair| !taken(*pair));
        if let Some((spec, value)) = wrong {
            self.expect(false, Rule::FieldValue, || format!("value {value} of {} is not taken", spec.field.name()));
        } else if unused.iter().any(|value| *value != 0) {
            self.expect(false, Rule::FieldValue, || "a field that the opcode does not have is set".into());
        } else if let Some(rule) = row.broken_rule(&data.fields) {
            let (field, then) = (rule.field.name(), rule.then.name());
            self.expect(false, Rule::FieldRule, || format!("this value of {field} does not go with this {then}"));
        } else {
            return true;
        }
        false
    }
}
