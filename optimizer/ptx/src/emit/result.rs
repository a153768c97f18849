//! Several results of a function: ptxas takes them in registers alone ("Multiple return parameters require .register
//! state space"). What the IR stores to their variables is moved there; a caller still takes them in variables.

use super::EmitError;
use super::function::FunctionWriter;
use oriole_ir::ops::{FieldValue, Type};
use oriole_ir::{Inst, InstData, Operand, Variable};

/// `(.reg .b32 %out0, .reg .b64 %out1)`.
pub(super) fn declarations<'a>(results: impl Iterator<Item = &'a Variable>) -> String {
    let one = |(i, result): (usize, &Variable)| format!(".reg .{} {}", register_type(result.ty).name(), register(i));
    format!("({})", results.enumerate().map(one).collect::<Vec<_>>().join(", "))
}

fn register(result: usize) -> String {
    format!("%out{result}")
}

/// The type of a register that holds a value of a type.
fn register_type(ty: Type) -> Type {
    match ty.bits() {
        ..=16 => Type::B16,
        32 => Type::B32,
        64 => Type::B64,
        _ => Type::B128,
    }
}

impl FunctionWriter<'_> {
    /// The number of the result that an instruction accesses, where the function has several.
    fn result_of(&self, inst: Inst) -> Option<usize> {
        let results = Some(&self.func.returns).filter(|results| results.len() > 1)?;
        self.func.srcs(inst).iter().find_map(|operand| match operand {
            Operand::Local(local) => results.iter().position(|result| result == local),
            _ => None,
        })
    }

    pub(super) fn is_one_of_results(&self, inst: Inst) -> bool {
        self.result_of(inst).is_some()
    }

    /// A store to one of several results. Nothing else is made of them: PTX reads no result in the function itself.
    pub(super) fn access_result(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let number = self.result_of(inst).unwrap_or_default();
        let variable = &self.func.locals[self.func.returns[number]];
        let ty = register_type(variable.ty);
        let is_whole = variable.count.is_none() && variable.ty.bits() > 8 && data.ty().bits() == variable.ty.bits();
        match self.func.srcs(inst) {
            &[_, offset, value] if is_whole && self.func.imm_bits(offset) == Some(0) => {
                let value = self.source(value, ty)?;
                self.guarded(format_args!("mov.{} {}, {value}", ty.name(), register(number)));
                Ok(())
            }
            _ => Err(self.refuse("PTX has several results in registers alone, which are written as a whole")),
        }
    }
}
