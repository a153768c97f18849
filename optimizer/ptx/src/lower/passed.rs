//! Registers that are passed: parameters, arguments and results of functions that no variable holds.
//!
//! In the IR all of them travel in variables. A vector register fills one with its components, one behind the other; a
//! predicate is a word that is 0 or 1.

use super::body::{BodyLowering, typed};
use super::moves::word_type;
use super::scope::{Entry, Registers};
use super::variable::scalar;
use crate::ast::{self, OperandKind, ScalarType};
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{Compare, FieldValue, FieldValues, Opcode, Space, Type};
use oriole_ir::{Guard, Local, Operand, Reg, RegInfo, Variable};

/// A register, and its place in the variable that it travels in.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    reg: Reg,
    local: Local,
    /// In bytes.
    offset: u32,
}

impl<'s> BodyLowering<'_, '_, 's> {
    /// Names the parameters and results; parameters that are registers are loaded at the entry.
    pub(super) fn declare_parameters(&mut self) {
        let item = self.item;
        for (declared, local) in item.parameters.iter().zip(self.func.params.clone()) {
            for passed in self.declare_parameter(declared, local) {
                self.load_passed(passed, None);
            }
        }
        for (declared, local) in item.returns.iter().zip(self.func.returns.clone()) {
            let passed = self.declare_parameter(declared, local);
            self.register_results.extend(passed);
        }
    }

    /// Names a parameter or result; the registers that it is, if any.
    fn declare_parameter(&mut self, declared: &ast::Variable<'s>, local: Local) -> Vec<Passed> {
        let (name, is_register) = (declared.name, declared.space == ast::Space::Reg);
        let is_new = match is_register {
            true => self.scopes.declare_registers(Registers::of(declared)),
            false => self.scopes.declare(name.text, Entry::Local(local)),
        };
        if name.text != "_" && !is_new {
            let message = format!("parameter `{}` is declared twice", name.text);
            self.report(name.span, message, "second declaration", "rename one of the two");
        }
        if !is_register {
            return Vec::new();
        }
        let whole = ast::Operand { span: name.span, kind: OperandKind::Name(name.text) };
        let regs = self.destinations(&whole, scalar(declared.ty).unwrap_or(Type::B32));
        self.in_variable(local, regs.unwrap_or_default())
    }

    /// The registers of a result, or of the components of a vector.
    fn destinations(&mut self, operand: &ast::Operand<'s>, ty: Type) -> Option<Vec<Reg>> {
        let parts = self.listed(operand).unwrap_or_else(|| vec![*operand]);
        parts.iter().map(|part| Some(self.destination(part, ty, false)?.reg)).collect()
    }

    /// The places of some registers in a variable that has one element for each.
    fn in_variable(&self, local: Local, regs: Vec<Reg>) -> Vec<Passed> {
        let size = (self.func.locals[local].ty.bits() / 8).max(1);
        regs.into_iter().zip((0..).step_by(size as usize)).map(|(reg, offset)| Passed { reg, local, offset }).collect()
    }

    /// An argument that no variable of the caller holds, in one that is made for it.
    pub(super) fn passed_argument(&mut self, operand: &ast::Operand<'s>, wanted: &Variable) -> Option<Local> {
        let parts = self.passed_parts(operand, wanted)?;
        let mut values = Vec::new();
        for part in &parts {
            values.push(match self.is_predicate(part) {
                true => {
                    let predicate = self.value(part, Type::Pred, false)?;
                    self.word_of(predicate)
                }
                false => self.value(part, wanted.ty, false)?,
            });
        }
        let local = self.new_parameter("argument", wanted);
        let size = (wanted.ty.bits() / 8).max(1);
        for (value, offset) in values.into_iter().zip((0..).step_by(size as usize)) {
            self.access_parameter(Opcode::St, &[], (local, offset), Some(value));
        }
        Some(local)
    }

    /// The variable of a result that no variable of the caller takes, and the registers that are loaded from it.
    pub(super) fn passed_result(
        &mut self,
        operand: &ast::Operand<'s>,
        given: &Variable,
    ) -> Option<(Local, Vec<Passed>)> {
        let parts = self.passed_parts(operand, given)?;
        let ty = if self.is_predicate(&parts[0]) { Type::Pred } else { given.ty };
        let regs = self.destinations(operand, ty)?;
        let local = self.new_parameter("result", given);
        Some((local, self.in_variable(local, regs)))
    }

    /// What a call passes in one place: as many values as the variable has elements.
    fn passed_parts(&mut self, operand: &ast::Operand<'s>, wanted: &Variable) -> Option<Vec<ast::Operand<'s>>> {
        let parts = self.listed(operand).unwrap_or_else(|| vec![*operand]);
        let count = wanted.count.unwrap_or(1);
        if parts.len() as u64 != count {
            let message = format!(
                "the function has {count} in this place, not {}",
                parts.len(),
                count = counted(count, "element")
            );
            let help = "name a vector register of as many components, or a `.param` variable of that size";
            self.report(operand.span, message, "wrong size", help);
            return None;
        }
        Some(parts)
    }

    fn new_parameter(&mut self, name: &str, like: &Variable) -> Local {
        let name = self.unique_local(name);
        self.func.locals.push(Variable { name, ..like.clone() })
    }

    /// Brings a register from its variable, where the guard holds. PTX does not let the access be guarded.
    pub(super) fn load_passed(&mut self, passed: Passed, guard: Option<Guard>) {
        let Passed { reg, local, offset } = passed;
        let info = self.func.regs()[reg];
        if !info.is_predicate() && guard.is_none() {
            return self.access_parameter(Opcode::Ld, &[reg.into()], (local, offset), None);
        }
        let loaded = self.func.new_reg(if info.is_predicate() { RegInfo::words(1) } else { info });
        self.access_parameter(Opcode::Ld, &[loaded.into()], (local, offset), None);
        if info.is_predicate() {
            let mut fields = typed(Opcode::SetP, Type::U32);
            if let Some(slot) = Opcode::SetP.row().slot(Compare::FIELD) {
                fields.0[slot] = Compare::Ne.index();
            }
            self.push_full(Opcode::SetP, fields, guard, &[reg.into()], &[loaded.into(), Operand::imm(0)]);
        } else {
            let copied = word_type(self.func.locals[local].ty);
            self.push_full(Opcode::Mov, typed(Opcode::Mov, copied), guard, &[reg.into()], &[loaded.into()]);
        }
    }

    /// Brings a register to its variable.
    pub(super) fn store_passed(&mut self, passed: Passed) {
        let Passed { reg, local, offset } = passed;
        let is_predicate = self.func.regs()[reg].is_predicate();
        let value = if is_predicate { self.word_of(reg.into()) } else { reg.into() };
        self.access_parameter(Opcode::St, &[], (local, offset), Some(value));
    }

    /// 1 where a predicate holds, 0 elsewhere.
    fn word_of(&mut self, predicate: Operand) -> Operand {
        let word = self.temp(Type::B32);
        let srcs = [Operand::imm(1), Operand::imm(0), predicate];
        self.push_typed(Opcode::SelP, Type::B32, &[word.into()], &srcs);
        word.into()
    }

    /// An access in the parameter space, of a type that memory has.
    fn access_parameter(&mut self, opcode: Opcode, dsts: &[Operand], at: (Local, u32), value: Option<Operand>) {
        let (local, offset) = at;
        let ty = match self.func.locals[local].ty.bits() {
            ..=8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => Type::B128,
        };
        let srcs: Vec<Operand> = [Operand::Local(local), Operand::imm(offset)].into_iter().chain(value).collect();
        self.push_full(opcode, in_parameter_space(opcode, ty), None, dsts, &srcs);
    }
}

/// The declaration of the variable that a parameter or result travels in.
pub(super) fn travels_in<'s>(declared: &ast::Variable<'s>) -> ast::Variable<'s> {
    let ty = match (declared.space, declared.ty) {
        (ast::Space::Reg, ScalarType::Pred) => ScalarType::B32,
        (_, ty) => ty,
    };
    ast::Variable { ty, ..declared.clone() }
}

fn in_parameter_space(opcode: Opcode, ty: Type) -> FieldValues {
    let mut fields = typed(opcode, ty);
    if let Some(slot) = opcode.row().slot(Space::FIELD) {
        fields.0[slot] = Space::Param.index();
    }
    fields
}
