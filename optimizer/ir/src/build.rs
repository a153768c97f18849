//! Building instructions: opcode, then fields, operands and guard, then a place.

use super::entity::{Block, Inst, Reg};
use super::function::Function;
use super::immediate::FreeOperand;
use super::inst::InstHead;
use super::operand::{Guard, Operand};
use super::register::RegInfo;
use crate::ops::{FieldValue, FieldValues, Opcode};

/// An instruction under construction.
#[derive(Clone, Debug)]
pub struct InstBuilder {
    opcode: Opcode,
    fields: FieldValues,
    guard: Option<Guard>,
    line: u32,
    dsts: Vec<Operand>,
    srcs: Vec<FreeOperand>,
    elses: Vec<FreeOperand>,
}

impl InstBuilder {
    /// An instruction with default fields and no operands.
    pub fn new(opcode: Opcode) -> InstBuilder {
        InstBuilder {
            opcode,
            fields: opcode.row().default_fields(),
            guard: None,
            line: 0,
            dsts: Vec::new(),
            srcs: Vec::new(),
            elses: Vec::new(),
        }
    }

    /// Sets a field.
    ///
    /// # Panics
    /// If the opcode does not have the field.
    pub fn field<F: FieldValue>(mut self, value: F) -> InstBuilder {
        let slot = self.opcode.row().slot(F::FIELD);
        let slot = slot.unwrap_or_else(|| panic!("{:?} has no field {:?}", self.opcode, F::FIELD));
        self.fields.0[slot] = value.index();
        self
    }

    /// Sets all fields.
    pub fn fields(mut self, fields: FieldValues) -> InstBuilder {
        self.fields = fields;
        self
    }

    /// Adds a destination.
    pub fn dst(mut self, reg: Reg) -> InstBuilder {
        self.dsts.push(Operand::Reg(reg));
        self
    }

    /// Adds a source.
    pub fn src(mut self, operand: impl Into<FreeOperand>) -> InstBuilder {
        self.srcs.push(operand.into());
        self
    }

    /// Adds sources.
    pub fn srcs(mut self, operands: impl IntoIterator<Item = impl Into<FreeOperand>>) -> InstBuilder {
        self.srcs.extend(operands.into_iter().map(Into::into));
        self
    }

    /// Adds what a destination becomes where the guard is false.
    pub fn or_else(mut self, operand: impl Into<FreeOperand>) -> InstBuilder {
        self.elses.push(operand.into());
        self
    }

    /// Sets the guard.
    pub fn guard(mut self, guard: Option<Guard>) -> InstBuilder {
        self.guard = guard;
        self
    }

    /// Sets the source line.
    pub fn line(mut self, line: u32) -> InstBuilder {
        self.line = line;
        self
    }

    /// Adds the instruction to the arena without placing it.
    pub fn create(&self, func: &mut Function) -> Inst {
        func.new_free_inst(self.head(), &self.dsts, &self.srcs, &self.elses)
    }

    /// The instruction apart from its operands.
    pub fn head(&self) -> InstHead {
        InstHead { opcode: self.opcode, fields: self.fields, guard: self.guard, line: self.line }
    }

    /// Appends the instruction to a block.
    pub fn append(&self, func: &mut Function, block: Block) -> Inst {
        let inst = self.create(func);
        func.append_inst(block, inst);
        inst
    }

    /// Puts the instruction before another one.
    pub fn insert_before(&self, func: &mut Function, at: Inst) -> Inst {
        let inst = self.create(func);
        func.insert_before(at, inst);
        inst
    }

    /// Puts the instruction after another one.
    pub fn insert_after(&self, func: &mut Function, at: Inst) -> Inst {
        let inst = self.create(func);
        func.insert_after(at, inst);
        inst
    }

    /// Appends the instruction with one new destination, and returns that.
    pub fn append_value(self, func: &mut Function, block: Block, info: RegInfo) -> Reg {
        let reg = func.new_reg(info);
        self.dst(reg).append(func, block);
        reg
    }

    /// Puts the instruction in place of another one.
    pub fn replace(&self, func: &mut Function, inst: Inst) {
        let mut bound = |list: &[FreeOperand]| -> Vec<Operand> { list.iter().map(|value| func.bind(*value)).collect() };
        let (srcs, elses) = (bound(&self.srcs), bound(&self.elses));
        func.set_inst(inst, self.head(), &self.dsts, &srcs, &elses);
    }
}
