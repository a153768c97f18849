//! Calls: arguments and results travel in parameter variables of the caller.
//!
//! nvcc declares those itself, in a scope around the call. Where a register or a constant stands instead, a variable
//! is made for it, stored before the call and loaded after it.

use super::body::{BodyLowering, typed};
use super::moves::word_type;
use super::operand::{Named, describe};
use super::scope::Entry;
use super::variable::scalar;
use crate::ast::{self, OperandKind, ScalarType, Span, Statement};
use oriole_ir::ops::{FieldValue, FieldValues, Opcode, Space, Type};
use oriole_ir::{Local, Operand, Reg, Variable};

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

/// A register that is loaded from a result's variable after the call.
type Load = (Reg, Local, ScalarType);

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
        for (reg, local, ty) in loads {
            self.load_result(reg, local, ty);
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
            Named::Address(Operand::Func(id)) => {
                let function = &self.cx.module.functions[id];
                let copy = |locals: &[Local]| locals.iter().map(|local| function.locals[*local].clone()).collect();
                let signature = Signature { results: copy(&function.returns), parameters: copy(&function.params) };
                Some((Operand::Func(id), signature))
            }
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
                list.iter().map(|declared| lowering.cx.variable(declared, Space::Param)).collect()
            };
            let results = variables(self, &prototype.returns)?;
            return Some(Signature { results, parameters: variables(self, &prototype.parameters)? });
        }
        let first = self.labels.table(name).and_then(|targets| self.body[targets].first().copied());
        if let Some(ast::Operand { kind: OperandKind::Name(target), span }) = first
            && let Named::Address(Operand::Func(id)) = self.lookup(target, span)?
        {
            let function = &self.cx.module.functions[id];
            let copy = |locals: &[Local]| locals.iter().map(|local| function.locals[*local].clone()).collect();
            return Some(Signature { results: copy(&function.returns), parameters: copy(&function.params) });
        }
        let message = format!("`{name}` is neither a prototype nor a table of functions");
        self.report(span, message, "unknown prototype", "define it with `.callprototype` or `.calltargets`");
        None
    }

    fn check_counts(&mut self, inst: &ast::Instruction<'s>, parts: &Parts<'s>, signature: &Signature) -> Option<()> {
        let counts = [
            ("argument", parts.arguments.len(), signature.parameters.len()),
            ("result", parts.results.len(), signature.results.len()),
        ];
        for (what, written, wanted) in counts {
            if written != wanted {
                let plural = if wanted == 1 { "" } else { "s" };
                let message = format!("this call has {written} {what}s, the function {wanted} {what}{plural}");
                self.report(
                    inst.span,
                    message,
                    "wrong number",
                    format!("the function is declared with {wanted} {what}{plural}"),
                );
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
                let message = format!("this variable has {size} bytes, the function's parameter {wanted}");
                (message, format!("declare it with {wanted} bytes"))
            }
            _ => ("a call passes variables in `.param` alone".into(), "copy the value to a `.param` variable".into()),
        };
        self.report(operand.span, message, "does not fit", help);
        None
    }

    fn argument(&mut self, operand: &ast::Operand<'s>, wanted: &Variable) -> Option<Local> {
        if let Some(local) = self.parameter_variable(operand) {
            return self.fitting(operand, local, wanted);
        }
        let value = self.value(operand, wanted.ty, false)?;
        let local = self.new_parameter("argument", wanted);
        self.access_parameter(Opcode::St, wanted.ty, &[], &[Operand::Local(local), Operand::imm(0), value]);
        Some(local)
    }

    /// The variable of a result, and the register that it is loaded into after the call.
    fn result(&mut self, operand: &ast::Operand<'s>, given: &Variable) -> Option<(Local, Option<Load>)> {
        if let Some(local) = self.parameter_variable(operand) {
            return Some((self.fitting(operand, local, given)?, None));
        }
        let destination = self.destination(operand, given.ty, false)?;
        let local = self.new_parameter("result", given);
        let ty = ScalarType::from_name(given.ty.name())?;
        Some((local, Some((destination.reg, local, ty))))
    }

    fn new_parameter(&mut self, name: &str, like: &Variable) -> Local {
        let name = self.unique_local(name);
        self.func.locals.push(Variable { name, ..like.clone() })
    }

    /// Loads a result; behind a guarded call the register keeps its value where the call did not happen.
    fn load_result(&mut self, reg: Reg, local: Local, ty: ScalarType) {
        if self.guard.is_none() {
            return self.load_parameter(reg, local, ty);
        }
        let info = self.func.regs()[reg];
        let loaded = self.func.new_reg(info);
        self.load_parameter(loaded, local, ty);
        let copied = word_type(scalar(ty).unwrap_or(Type::B32));
        self.push_full(Opcode::Mov, typed(Opcode::Mov, copied), self.guard, &[reg.into()], &[loaded.into()]);
    }

    pub(super) fn load_parameter(&mut self, reg: Reg, local: Local, ty: ScalarType) {
        let ty = scalar(ty).unwrap_or(Type::B32);
        self.access_parameter(Opcode::Ld, ty, &[reg.into()], &[Operand::Local(local), Operand::imm(0)]);
    }

    pub(super) fn store_parameter(&mut self, local: Local, value: Operand, ty: ScalarType) {
        let ty = scalar(ty).unwrap_or(Type::B32);
        self.access_parameter(Opcode::St, ty, &[], &[Operand::Local(local), Operand::imm(0), value]);
    }

    /// An access in the parameter space, of a type that memory has; PTX does not let it be guarded.
    fn access_parameter(&mut self, opcode: Opcode, ty: Type, dsts: &[Operand], srcs: &[Operand]) {
        let ty = match ty.bits() {
            1 | 8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => Type::B128,
        };
        self.push_full(opcode, in_parameter_space(opcode, ty), None, dsts, srcs);
    }
}

fn in_parameter_space(opcode: Opcode, ty: Type) -> FieldValues {
    let mut fields = typed(opcode, ty);
    if let Some(slot) = opcode.row().slot(Space::FIELD) {
        fields.0[slot] = Space::Param.index();
    }
    fields
}
