//! Second step, for blocks: terminators, phis, guards, and a look at each instruction by itself.

use super::{Checker, REMEMBERED, Rule};
use crate::ops::{Flags, Opcode};
use crate::{Anchor, Block, Form, Inst, Level};

impl Checker<'_> {
    pub(super) fn structure(&mut self, in_layout: &[bool]) {
        let machine = self.func.form != Form::Physical || self.func.level == Level::Machine;
        self.expect(machine, Rule::Level, || "physical form at the virtual level".into());
        for block in self.func.layout() {
            self.block = Some(*block);
            self.block_ends(*block);
            let mut phis_may_follow = true;
            for inst in self.func.block_insts(*block) {
                self.inst = Some(inst);
                let phi = self.func.inst(inst).opcode == Opcode::Phi;
                self.expect(!phi || phis_may_follow, Rule::PhiPlace, || "a phi stands after other instructions".into());
                phis_may_follow &= phi;
                self.form(inst);
                if self.fields(inst) {
                    self.operands(inst, in_layout);
                }
                self.inst = None;
            }
        }
        self.block = None;
        self.kills();
    }

    fn kills(&mut self) {
        let func = self.func;
        for kill in func.kills() {
            let known = func.regs().is_valid(kill.reg) && func.level == Level::Virtual;
            let placed = match kill.at {
                Anchor::Entry(block) => func.blocks().is_valid(block),
                Anchor::Behind(inst) => {
                    func.insts().get(inst).is_some_and(|data| !data.is(Flags::TERMINATOR) && data.opcode != Opcode::Phi)
                }
            };
            self.expect(known && placed, Rule::Kill, || format!("a kill marker of {} that has no place", kill.reg));
        }
    }

    fn block_ends(&mut self, block: Block) {
        let mut insts = self.func.block_insts(block);
        let Some(last) = insts.next_back() else {
            return self.expect(false, Rule::Terminator, || "the block is empty".into());
        };
        for inst in insts.filter(|inst| self.func.inst(*inst).is(Flags::TERMINATOR)) {
            self.inst = Some(inst);
            self.expect(false, Rule::Terminator, || "a terminator stands inside a block".into());
        }
        self.inst = Some(last);
        let ends = self.func.inst(last).is(Flags::TERMINATOR);
        self.expect(ends, Rule::Terminator, || "the block's last instruction is no terminator".into());
        self.inst = None;
    }

    /// What depends on the function's form: phis, levels, guards and their `else`.
    fn form(&mut self, inst: Inst) {
        let (func, data) = (self.func, self.func.inst(inst));
        let phi = data.opcode == Opcode::Phi;
        self.expect(!phi || func.form == Form::Ssa, Rule::PhiForm, || "a phi outside SSA form".into());
        let other = || format!("an opcode of another level in a function of the {} level", func.level.name());
        self.expect(func.level.has(data.opcode.row()), Rule::Level, other);
        if let Some(schedule) = func.schedule(inst) {
            let holds = func.level == Level::Machine && schedule.is_encodable();
            self.expect(holds, Rule::Schedule, || format!("a schedule {schedule} that no machine has"));
        }
        if let Some(guard) = data.guard {
            let place = !phi && (!data.is(Flags::TERMINATOR) || data.opcode == Opcode::MachineJump);
            self.expect(place, Rule::GuardPlace, || "terminators and phis take no guard".into());
            self.expect(func.regs()[guard.reg()].is_predicate(), Rule::GuardFile, || {
                "the guard is no predicate".into()
            });
        }
        let wanted = if func.form == Form::Ssa && data.guard.is_some() { func.dsts(inst).len() } else { 0 };
        let found = func.elses(inst).len();
        self.expect(found == wanted, Rule::ElseCount, || format!("{found} `else` operands where {wanted} belong"));
    }

    /// Whether the fields are such that shapes follow from them. Instructions of a function are alike in this, so the
    /// last ones that were in order are remembered, and what is like one of them is not looked at.
    fn fields(&mut self, inst: Inst) -> bool {
        let data = self.func.inst(inst);
        let sum: usize = data.fields.0.iter().map(|value| usize::from(*value)).sum();
        if data.is(Flags::MACHINE) {
            return self.machine(inst);
        }
        let place = (data.opcode as usize + 7 * sum) % REMEMBERED;
        if self.in_order[place] == Some((data.opcode, data.fields)) {
            return true;
        }
        let holds = self.new_fields(inst);
        if holds {
            self.in_order[place] = Some((data.opcode, data.fields));
        }
        holds
    }

    /// Whether an instruction of the machine is one that its row knows, with the opcode that the row gives it.
    fn machine(&mut self, inst: Inst) -> bool {
        let func = self.func;
        let data = func.inst(inst);
        let known = data.machine().zip(data.machine_row());
        let named =
            known.is_some_and(|(id, row)| id.modifiers.iter().all(|code| *code == 0 || row.modifier(*code).is_some()));
        self.expect(named, Rule::FieldValue, || "no row of the machine, or a modifier that it does not have".into());
        let opcode = data.machine().and_then(|id| func.machine_opcode(id, func.srcs(inst)));
        let fits = !named || opcode == Some(data.opcode);
        self.expect(fits, Rule::FieldValue, || {
            format!("its row makes it `{}`", opcode.map_or("?", |it| it.row().name))
        });
        named && fits
    }

    fn new_fields(&mut self, inst: Inst) -> bool {
        let data = self.func.inst(inst);
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
            let needed = self.target.and_then(|target| row.missing_on(target, &data.fields));
            let message = || needed.map_or_else(String::new, |needed| format!("this needs {needed}"));
            self.expect(needed.is_none(), Rule::Target, message);
            return true;
        }
        false
    }
}
