//! PTX out: a module at virtual level as text that ptxas accepts.
//!
//! Functions in SSA form must be taken out of it before. Each IR register is a PTX register of its width, or of 16 bits
//! where only those are written and read; an instruction is printed by its row. Where PTX asks for something else
//! (16-bit registers, a register where the IR has a constant or one word of a wide value, the carry flag), instructions
//! before and behind it bring its operands there through temporaries.
//!
//! Order of the text: declarations of device functions and of the entries that something names, variables behind those
//! that they point to, functions.

mod carry;
mod function;
mod halves;
mod image;
mod instruction;
mod opaque;
mod operand;
mod result;
mod shift;
mod special;
#[cfg(test)]
mod tests;
mod variable;
mod warpgroup;

use std::collections::BTreeSet;
use std::fmt::Write;

use thiserror::Error;

use self::function::FunctionWriter;
use crate::spelling::WRITTEN;
use oriole_ir::{Form, FuncId, Function, FunctionKind, Level, Linkage, Module, Operand, SymbolRef};

/// Why a module cannot be written as PTX.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EmitError {
    /// A function of another level or form: PTX has neither phis nor the machine's instructions and registers.
    #[error("function `{function}` is at {level} level in {form} form; PTX has virtual level and virtual form alone")]
    Form {
        /// The function.
        function: String,
        /// Its level.
        level: &'static str,
        /// Its form.
        form: &'static str,
    },
    /// An instruction of another level, or with an operand that PTX does not have.
    #[error("`{instruction}` in function `{function}` cannot be written as PTX: {reason}")]
    Instruction {
        /// The function.
        function: String,
        /// The instruction in `.ori` syntax.
        instruction: String,
        /// What PTX lacks.
        reason: &'static str,
    },
    /// A register of a file that PTX does not have.
    #[error("register `{register}` in function `{function}` cannot be written as PTX")]
    Register {
        /// The function.
        function: String,
        /// The register in `.ori` syntax.
        register: String,
    },
}

/// How labels of blocks are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Labels {
    /// `$L_7`, by the number that the block has in the IR.
    #[default]
    Numbers,
    /// `F1_B2`, the second block of the first function with a body, as cicc names blocks where it is asked to
    /// (`spec/pass-pipeline.txt`, line 889).
    Places,
}

/// The module as PTX.
pub(super) fn emit(module: &Module, labels: Labels) -> Result<String, EmitError> {
    let (major, minor) = module.ptx_version.max(WRITTEN);
    let independent_samplers = image::has_samplers(module);
    let samplers = if independent_samplers { ", texmode_independent" } else { "" };
    let mut out = format!(".version {major}.{minor}\n.target {}{samplers}\n.address_size 64\n\n", module.target);
    let named = named_functions(module);
    let declared = |(id, function): &(FuncId, &Function)| function.kind == FunctionKind::Device || named.contains(id);
    for (_, function) in module.functions.iter().filter(declared) {
        header(&mut out, function);
        out.push_str(";\n");
    }
    variable::emit_globals(&mut out, module);
    let definitions = module.functions.values().filter(|function| function.is_definition());
    for (number, function) in definitions.enumerate() {
        out.push('\n');
        if function.form != Form::Virtual || function.level != Level::Virtual {
            let (function, level, form) = (function.name.clone(), function.level.name(), function.form.name());
            return Err(EmitError::Form { function, level, form });
        }
        header(&mut out, function);
        for directive in &function.directives {
            let values: Vec<_> = directive.values.iter().map(u64::to_string).collect();
            // `.noreturn` belongs to the header of declarations too and is written there.
            if directive.name != "noreturn" {
                let _ = write!(out, "\n.{} {}", directive.name, values.join(", "));
            }
        }
        let mut writer = FunctionWriter::new(module, function, &mut out);
        writer.independent_samplers = independent_samplers;
        if labels == Labels::Places {
            writer.name_blocks(number + 1);
        }
        writer.write()?;
    }
    Ok(out)
}

/// The functions whose addresses initial values and instructions have.
fn named_functions(module: &Module) -> BTreeSet<FuncId> {
    let relocations = module.globals.values().flat_map(|variable| &variable.relocations);
    let pointed = relocations.filter_map(|relocation| match relocation.symbol {
        SymbolRef::Func(id) => Some(id),
        SymbolRef::Global(_) => None,
    });
    let operands = module.functions.values().flat_map(|func| func.layout_insts().flat_map(|inst| func.srcs(inst)));
    let read = operands.filter_map(|operand| match operand {
        Operand::Func(id) => Some(*id),
        _ => None,
    });
    pointed.chain(read).collect()
}

/// Linkage, kind, results, name and parameters.
fn header(out: &mut String, function: &Function) {
    if function.linkage != Linkage::Internal {
        let _ = write!(out, ".{} ", function.linkage.name());
    }
    out.push_str(if function.kind == FunctionKind::Entry { ".entry " } else { ".func " });
    match function.returns.as_slice() {
        [] => {}
        [_] => {
            parameters(out, function, &function.returns);
            out.push(' ');
        }
        several => {
            let results = several.iter().map(|local| &function.locals[*local]);
            let _ = write!(out, "{} ", result::declarations(results));
        }
    }
    out.push_str(&function.name);
    parameters(out, function, &function.params);
    if function.directives.iter().any(|directive| directive.name == "noreturn") {
        out.push_str(" .noreturn");
    }
}

fn parameters(out: &mut String, function: &Function, locals: &[oriole_ir::Local]) {
    out.push('(');
    for (i, local) in locals.iter().enumerate() {
        out.push_str(if i > 0 { ",\n\t" } else { "" });
        let variable = &function.locals[*local];
        variable::declare(out, variable, &variable.name);
    }
    out.push(')');
}
