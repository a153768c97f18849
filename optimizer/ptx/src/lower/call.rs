//! Calls: arguments and results travel in parameter variables of the caller.
//!
//! nvcc declares those itself, in a scope around the call. Where a register or a constant stands instead, a variable
//! is made for it ([`super::passed`]), stored before the call and loaded after it.

use super::body::BodyLowering;
use super::operand::{Named, describe};
use super::passed::{Passed, travels_in};
use super::scope::Entry;
use crate::ast::{self, OperandKind, Span, Statement};
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{Opcode, Space};
use oriole_ir::{FuncId, Local, Operand, SymbolRef, Variable};

/// A call's operands, taken apart.
struct Parts<'s> {
    results: Vec<ast::Operand<'s>>,
    callee: ast::Operand<'s>,
    arguments: Vec<ast::Operand<'s>>,
    prototype: Option<(&'s str, Span)>,
}

/// What a callee wants and gives.
#[derive(Default)]
struct Signature {
    results: Vec<Variable>,
    parameters: Vec<Variable>,
}

impl<'s> BodyLowering<'_, '_, 's> {
    pub(super) fn lower_call(&mut self, inst: &ast::Instruction<'s>) -> Option<()> {
        let parts = self.call_parts(inst)?;
        if let OperandKind::Name(name) = parts.callee.kind
            && self.cx.refused.contains(name)
        {
            return Some(());
        }
        let (callee, signature) = self.callee(&parts)?;
        self.check_counts(inst, &parts, &signature)?;
        let mut arguments = Vec::new();
        for (argument, wanted) in parts.arguments.iter().zip(&signature.parameters) {
            arguments.push(self.argument(argument, wanted)?);
        }
        let mut results = Vec::new();
        let mut loads = Vec::new();
        for (result, given) in parts.results.iter().zip(&signature.results) {
            let (local, load) = self.result(result, given)?;
            results.push(local);
            loads.extend(load);
        }
        let mut srcs = vec![callee, self.func.imm(results.len() as u64)];
        srcs.extend(results.into_iter().chain(arguments).map(Operand::Local));
        self.push_full(Opcode::Call, Opcode::Call.row().default_fields(), self.guard, &[], &srcs);
        // Behind a guarded call a register keeps its value where the call did not happen.
        for passed in loads {
            self.load_passed(passed, self.guard);
        }
        Some(())
    }

    /// `call (results), callee, (arguments), prototype;` where all but the callee may be missing.
    fn call_parts(&mut self, inst: &ast::Instruction<'s>) -> Option<Parts<'s>> {
        let operands = &self.body[inst.operands];
        let group = |operand: &ast::Operand<'s>| match operand.kind {
            OperandKind::Group(list) => Some(self.body[list].to_vec()),
            _ => None,
        };
        // Only parentheses tell results and arguments from the callee, so parts are taken off from the left.
        let (results, rest) = match operands {
            [first, rest @ ..] if group(first).is_some() => (group(first).unwrap_or_default(), rest),
            rest => (Vec::new(), rest),
        };
        let (callee, rest) = match rest {
            [callee @ ast::Operand { kind: OperandKind::Name(_), .. }, rest @ ..] => (*callee, rest),
            _ => {
                self.report(
                    inst.span,
                    "`call` needs a function".into(),
                    "no callee",
                    "write `call (result), function, (arguments);`",
                );
                return None;
            }
        };
        let (arguments, rest) = match rest {
            [first, rest @ ..] if group(first).is_some() => (group(first).unwrap_or_default(), rest),
            rest => (Vec::new(), rest),
        };
        let prototype = match rest {
            [ast::Operand { kind: OperandKind::Name(name), span }] => Some((*name, *span)),
            [] => None,
            [other, ..] => {
                self.report(
                    other.span,
                    "this operand does not belong to a call".into(),
                    describe(other.kind),
                    "remove it",
                );
                return None;
            }
        };
        Some(Parts { results, callee, arguments, prototype })
    }

    /// The callee and what it wants: a function of the module, or a register with a prototype or a table of targets.
    fn callee(&mut self, parts: &Parts<'s>) -> Option<(Operand, Signature)> {
        let OperandKind::Name(name) = parts.callee.kind else { return None };
        match self.lookup(name, parts.callee.span)? {
            Named::Address(Operand::Func(id)) => Some((Operand::Func(id), self.signature(id))),
            Named::Reg(reg, declared) if declared.bits() >= 32 => {
                let signature = self.indirect_signature(parts)?;
                Some((reg.into(), signature))
            }
            _ => {
                self.report(
                    parts.callee.span,
                    format!("`{name}` is not a function"),
                    "not callable",
                    "name a function, or a register with its address",
                );
                None
            }
        }
    }

    fn indirect_signature(&mut self, parts: &Parts<'s>) -> Option<Signature> {
        let Some((name, span)) = parts.prototype else {
            let help = "add the name of a `.callprototype` or `.calltargets`";
            self.report(parts.callee.span, "an indirect call needs a prototype".into(), "indirect call", help);
            return None;
        };
        if let Some(at) = self.labels.prototype(name)
            && let Some(Statement::CallPrototype(prototype)) = self.body.statements.get(at)
        {
            let variables = |lowering: &mut Self, list: &[ast::Variable<'s>]| -> Option<Vec<Variable>> {
                list.iter().map(|declared| lowering.cx.variable(&travels_in(declared), Space::Param)).collect()
            };
            let results = variables(self, &prototype.returns)?;
            return Some(Signature { results, parameters: variables(self, &prototype.parameters)? });
        }
        let first = self.labels.table(name).and_then(|targets| self.body[targets].first().copied());
        if let Some(ast::Operand { kind: OperandKind::Name(target), span }) = first
            && let Named::Address(Operand::Func(id)) = self.lookup(target, span)?
        {
            return Some(self.signature(id));
        }
        if let Some(id) = self.function_in(name) {
            return Some(self.signature(id));
        }
        let message = format!("`{name}` is neither a prototype nor a table of functions");
        self.report(span, message, "unknown prototype", "define it with `.callprototype` or `.calltargets`");
        None
    }

    /// The first function whose address a variable has from the start (PTX ISA, "call": "flist").
    fn function_in(&self, name: &str) -> Option<FuncId> {
        let SymbolRef::Global(table) = self.cx.symbols.get(name)? else { return None };
        self.cx.module.globals[*table].relocations.iter().find_map(|relocation| match relocation.symbol {
            SymbolRef::Func(id) => Some(id),
            SymbolRef::Global(_) => None,
        })
    }

    /// What a function of the module wants and gives.
    fn signature(&self, id: FuncId) -> Signature {
        let function = &self.cx.module.functions[id];
        let copy = |locals: &[Local]| locals.iter().map(|local| function.locals[*local].clone()).collect();
        Signature { results: copy(&function.returns), parameters: copy(&function.params) }
    }

    fn check_counts(&mut self, inst: &ast::Instruction<'s>, parts: &Parts<'s>, signature: &Signature) -> Option<()> {
        let counts = [
            ("argument", parts.arguments.len(), signature.parameters.len()),
            ("result", parts.results.len(), signature.results.len()),
        ];
        for (what, written, wanted) in counts {
            if written != wanted {
                let (written, wanted) = (counted(written, what), counted(wanted, what));
                let message = format!("this call has {written}, the function {wanted}");
                self.report(inst.span, message, "wrong number", format!("the function is declared with {wanted}"));
                return None;
            }
        }
        Some(())
    }

    /// The variable of an operand that names one.
    fn parameter_variable(&self, operand: &ast::Operand<'s>) -> Option<Local> {
        let OperandKind::Name(name) = operand.kind else { return None };
        match self.scopes.find(name)?.entry {
            Entry::Local(local) => Some(local),
            _ => None,
        }
    }

    /// The variable, if it is a parameter as large as the function's own.
    fn fitting(&mut self, operand: &ast::Operand<'s>, local: Local, wanted: &Variable) -> Option<Local> {
        let variable = &self.func.locals[local];
        let (size, wanted) = (variable.size(), wanted.size());
        let (message, help) = match variable.space {
            Space::Param if size == wanted => return Some(local),
            Space::Param => {
                let message = format!(
                    "this variable has {size}, the function's parameter {wanted}",
                    size = counted(size, "byte")
                );
                (message, format!("declare it with {wanted}", wanted = counted(wanted, "byte")))
            }
            _ => ("a call passes variables in `.param` alone".into(), "copy the value to a `.param` variable".into()),
        };
        self.report(operand.span, message, "does not fit", help);
        None
    }

    fn argument(&mut self, operand: &ast::Operand<'s>, wanted: &Variable) -> Option<Local> {
        match self.parameter_variable(operand) {
            Some(local) => self.fitting(operand, local, wanted),
            None => self.passed_argument(operand, wanted),
        }
    }

    /// The variable of a result, and the registers that are loaded from it after the call.
    fn result(&mut self, operand: &ast::Operand<'s>, given: &Variable) -> Option<(Local, Vec<Passed>)> {
        match self.parameter_variable(operand) {
            Some(local) => Some((self.fitting(operand, local, given)?, Vec::new())),
            None => self.passed_result(operand, given),
        }
    }
}
