//! The text form `.ori`, out. [`super::parse`] reads it back to an equal module.

use std::fmt::{self, Display, Write};

use super::entity::{Inst, Local, Reg};
use super::form::{Form, Level};
use super::function::{Directive, Function, FunctionKind};
use super::kill::Anchor;
use super::machine::with_bits;
use super::module::{Linkage, Module, SymbolRef, Variable};
use super::operand::{Modifiers, Operand};
use super::physical::PhysicalReg;
use crate::ops::{FieldValue, Flags, Opcode, Shape};

impl Display for Module {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "target {} ptx {}.{}", self.target, self.ptx_version.0, self.ptx_version.1)?;
        for (_, variable) in &self.globals {
            write!(out, "global @{}", variable.name)?;
            print_variable(out, variable, Some(self))?;
            writeln!(out)?;
        }
        for (_, func) in &self.functions {
            writeln!(out)?;
            Printer { func, module: Some(self) }.function(out)?;
        }
        Ok(())
    }
}

/// A function's text; symbols of the module are named as in `module`, or by number without one.
pub fn function_to_string(func: &Function, module: Option<&Module>) -> String {
    let mut out = String::new();
    Printer { func, module }.function(&mut out).expect("writing to a string succeeds");
    out
}

/// An instruction's text.
pub fn inst_to_string(func: &Function, inst: Inst, module: Option<&Module>) -> String {
    let mut out = String::new();
    Printer { func, module }.inst(&mut out, inst).expect("writing to a string succeeds");
    out
}

/// `: u32[4] space align 4 linkage = hex …`, everything after a variable's name.
impl Function {
    /// The operation of an instruction as the text form writes it, without operands: `iadd.s32`.
    pub fn operation(&self, inst: Inst) -> String {
        let data = self.inst(inst);
        let row = data.opcode.row();
        let mut text = self.mnemonic(inst).unwrap_or_else(|| row.name.to_owned());
        for (slot, spec) in row.fields.iter().enumerate() {
            if Some(data.fields.0[slot]) != spec.default {
                text.push('.');
                text.push_str(spec.field.value_name(data.fields.0[slot]));
            }
        }
        text
    }
}

fn print_variable(out: &mut impl Write, var: &Variable, module: Option<&Module>) -> fmt::Result {
    write!(out, ": {}", var.ty.name())?;
    if let Some(count) = var.count {
        write!(out, "[{count}]")?;
    }
    write!(out, " {} align {}", var.space.name(), var.align)?;
    if var.linkage != Linkage::Internal {
        write!(out, " {}", var.linkage.name())?;
    }
    if !var.init.is_empty() {
        out.write_str(" = 0x")?;
        var.init.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
    }
    for reloc in &var.relocations {
        let kind = if reloc.generic { "generic" } else { "address" };
        write!(out, " {kind} {} {} @", reloc.offset, reloc.width)?;
        match (module, reloc.symbol) {
            (Some(module), symbol) => out.write_str(module.symbol_name(symbol))?,
            (None, SymbolRef::Global(id)) => write!(out, "{id}")?,
            (None, SymbolRef::Func(id)) => write!(out, "{id}")?,
        }
        write!(out, "{:+}", reloc.addend)?;
    }
    Ok(())
}

struct Printer<'a> {
    func: &'a Function,
    module: Option<&'a Module>,
}

impl Printer<'_> {
    fn function(&self, out: &mut impl Write) -> fmt::Result {
        let func = self.func;
        let kind = if func.kind == FunctionKind::Entry { "entry" } else { "device" };
        write!(out, "{kind} @{}", func.name)?;
        // The virtual level and the virtual form are what a text without these words means.
        let level = if func.level == Level::Virtual { "" } else { func.level.name() };
        let form = if func.form == Form::Virtual { "" } else { func.form.name() };
        for word in [func.linkage.name(), level, form] {
            if !word.is_empty() {
                write!(out, " {word}")?;
            }
        }
        writeln!(out, " {{")?;
        for (local, variable) in &func.locals {
            write!(out, "  {} ${}", self.role(local), variable.name)?;
            print_variable(out, variable, self.module)?;
            writeln!(out)?;
        }
        for Directive { name, values } in &func.directives {
            write!(out, "  directive {name}")?;
            values.iter().try_for_each(|value| write!(out, " {value}"))?;
            writeln!(out)?;
        }
        for block in func.layout() {
            writeln!(out, "{block}:{}", if func.is_nounroll(*block) { " nounroll" } else { "" })?;
            let mut behind_phis = false;
            for inst in func.block_insts(*block) {
                if !behind_phis && func.inst(inst).opcode != Opcode::Phi {
                    behind_phis = true;
                    self.kills(out, Anchor::Entry(*block))?;
                }
                out.write_str("  ")?;
                self.inst(out, inst)?;
                writeln!(out)?;
                self.kills(out, Anchor::Behind(inst))?;
            }
        }
        writeln!(out, "}}")
    }

    /// `kill %r3, %r4`, a line of its own.
    fn kills(&self, out: &mut impl Write, at: Anchor) -> fmt::Result {
        for (i, reg) in self.func.kills_at(at).enumerate() {
            out.write_str(if i > 0 { ", " } else { "  kill " })?;
            self.reg(out, reg)?;
        }
        if self.func.kills_at(at).len() > 0 { writeln!(out) } else { Ok(()) }
    }

    fn role(&self, local: Local) -> &'static str {
        if self.func.params.contains(&local) {
            "param"
        } else if self.func.returns.contains(&local) {
            "return"
        } else {
            "local"
        }
    }

    fn inst(&self, out: &mut impl Write, inst: Inst) -> fmt::Result {
        let func = self.func;
        let data = func.inst(inst);
        let row = data.opcode.row();
        if let Some(guard) = data.guard {
            write!(out, "@{}", if guard.negated() { "!" } else { "" })?;
            self.reg(out, guard.reg())?;
            out.write_char(' ')?;
        }
        self.list(out, func.dsts(inst))?;
        if !func.dsts(inst).is_empty() {
            out.write_str(" = ")?;
        }
        if data.is(Flags::MACHINE) {
            self.mnemonic(out, inst)?;
        } else {
            out.write_str(&func.operation(inst))?;
        }
        if !func.srcs(inst).is_empty() {
            out.write_char(' ')?;
        }
        match data.opcode {
            Opcode::Call => self.call(out, func.srcs(inst))?,
            Opcode::Phi => self.incoming(out, func.srcs(inst))?,
            _ if data.is(Flags::MACHINE) => self.list(out, func.srcs(inst))?,
            _ => self.sources(out, row.srcs, func.srcs(inst))?,
        }
        if !func.elses(inst).is_empty() {
            out.write_str(" else ")?;
            self.list(out, func.elses(inst))?;
        }
        if let Some(schedule) = func.schedule(inst) {
            write!(out, " {schedule}")?;
        }
        if data.line != 0 {
            write!(out, " !{}", data.line)?;
        }
        Ok(())
    }

    /// Sources by their shapes: a base and the immediate after it read `[base+offset]`.
    fn sources(&self, out: &mut impl Write, shapes: &[Shape], srcs: &[Operand]) -> fmt::Result {
        let mut i = 0;
        while i < srcs.len() {
            out.write_str(if i > 0 { ", " } else { "" })?;
            match (shapes.get(i + 1), srcs.get(i + 1).and_then(|operand| self.imm(*operand))) {
                (Some(Shape::Offset), Some(offset)) => {
                    out.write_char('[')?;
                    self.operand(out, srcs[i])?;
                    if offset != 0 {
                        write!(out, "{:+}", offset as i64)?;
                    }
                    out.write_char(']')?;
                    i += 2;
                }
                _ => {
                    self.operand(out, srcs[i])?;
                    i += 1;
                }
            }
        }
        Ok(())
    }

    /// `IADD3.X`, or `jump BRA` where it ends a block; the opcode's name where the row is none.
    fn mnemonic(&self, out: &mut impl Write, inst: Inst) -> fmt::Result {
        let data = self.func.inst(inst);
        let mnemonic = self.func.mnemonic(inst).map(|text| with_bits(text, self.func.unsaid_bits(inst)));
        if data.is(Flags::TERMINATOR) || mnemonic.is_none() {
            write!(out, "{}{}", data.opcode.row().name, if mnemonic.is_some() { " " } else { "" })?;
        }
        out.write_str(&mnemonic.unwrap_or_default())
    }

    /// `@callee($arg, …) -> ($result, …)`; the sources are callee, number of results, results, arguments.
    fn call(&self, out: &mut impl Write, srcs: &[Operand]) -> fmt::Result {
        let [callee, results, params @ ..] = srcs else { return self.list(out, srcs) };
        let Some(results) = self.imm(*results) else { return self.list(out, srcs) };
        let (results, arguments) = params.split_at((results as usize).min(params.len()));
        self.operand(out, *callee)?;
        out.write_char('(')?;
        self.list(out, arguments)?;
        out.write_str(") -> (")?;
        self.list(out, results)?;
        out.write_char(')')
    }

    /// `[bb1: %r1], [bb2: %r2]`.
    fn incoming(&self, out: &mut impl Write, srcs: &[Operand]) -> fmt::Result {
        for (i, pair) in srcs.chunks(2).enumerate() {
            out.write_str(if i > 0 { ", [" } else { "[" })?;
            if let Some(block) = pair.get(1) {
                self.operand(out, *block)?;
            }
            out.write_str(": ")?;
            self.operand(out, pair[0])?;
            out.write_char(']')?;
        }
        Ok(())
    }

    /// The bits of an immediate; `None` for one of another function, in a broken one.
    fn imm(&self, operand: Operand) -> Option<u64> {
        self.func.free(operand).imm()
    }

    fn list(&self, out: &mut impl Write, operands: &[Operand]) -> fmt::Result {
        for (i, operand) in operands.iter().enumerate() {
            out.write_str(if i > 0 { ", " } else { "" })?;
            self.operand(out, *operand)?;
        }
        Ok(())
    }

    fn reg(&self, out: &mut impl Write, reg: Reg) -> fmt::Result {
        if let Some(physical) = PhysicalReg::of(reg).filter(|_| self.func.form == Form::Physical) {
            return write!(out, "%{}", physical.name());
        }
        let prefix = self.func.regs().get(reg).map_or("r", |info| info.prefix());
        write!(out, "%{prefix}{}", reg.as_u32())
    }

    /// `~`, `-`, `|…|` and `.reuse` around what they modify.
    fn operand(&self, out: &mut impl Write, operand: Operand) -> fmt::Result {
        let has = |modifier| operand.modifiers().has(modifier);
        let signs = [(Modifiers::INVERT, "~"), (Modifiers::NEGATE, "-"), (Modifiers::ABSOLUTE, "|")];
        signs.iter().filter(|(modifier, _)| has(*modifier)).try_for_each(|(_, sign)| out.write_str(sign))?;
        self.unmodified(out, operand)?;
        out.write_str(if has(Modifiers::REUSE) { ".reuse" } else { "" })?;
        out.write_str(if has(Modifiers::ABSOLUTE) { "|" } else { "" })
    }

    fn unmodified(&self, out: &mut impl Write, operand: Operand) -> fmt::Result {
        match operand {
            Operand::Reg(reg) | Operand::Modified { reg, word: None, .. } => self.reg(out, reg),
            Operand::Word(reg, word) | Operand::Modified { reg, word: Some(word), .. } => {
                self.reg(out, reg)?;
                write!(out, ".{word}")
            }
            Operand::Imm(_) => match self.imm(operand) {
                Some(bits) if bits < 0x1_0000 => write!(out, "{bits}"),
                Some(bits) => write!(out, "{bits:#x}"),
                None => out.write_str("?"),
            },
            Operand::Special(reg) => write!(out, "sr.{}", reg.name()),
            Operand::Name(_) => write!(out, "'{}'", self.func.text(operand).unwrap_or("?")),
            Operand::Const { bank, offset, .. } => write!(out, "c[{bank}][{offset:#x}]"),
            Operand::Wired { file, words, .. } => match PhysicalReg::wired(file, words) {
                Some(reg) => write!(out, "%{}", reg.name()),
                None => out.write_str("?"),
            },
            Operand::Global(id) => match self.module.and_then(|m| m.globals.get(id)) {
                Some(global) => write!(out, "@{}", global.name),
                None => write!(out, "@{id}"),
            },
            Operand::Func(id) => match self.module.and_then(|m| m.functions.get(id)) {
                Some(func) => write!(out, "@{}", func.name),
                None => write!(out, "@{id}"),
            },
            Operand::Local(id) => match self.func.locals.get(id) {
                Some(local) => write!(out, "${}", local.name),
                None => write!(out, "${id}"),
            },
            Operand::Block(block) => write!(out, "{block}"),
            Operand::Undef => out.write_str("undef"),
        }
    }
}
