//! `mov`: copies, constants, addresses, and the packing and unpacking of registers.

use super::body::{BodyLowering, typed};
use super::operand::{Named, describe, word};
use super::variable::scalar;
use crate::ast::{self, OperandKind, ScalarType};
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{FieldValue, Opcode, Type};
use oriole_ir::{Operand, Reg, RegInfo};

impl<'s> BodyLowering<'_, '_, 's> {
    pub(super) fn lower_mov(&mut self, inst: &ast::Instruction<'s>) -> Option<()> {
        let modifiers = &self.body[inst.modifiers];
        if let [lanes, ty] = modifiers
            && let ("v2" | "v4", Some(ty)) = (lanes.text, ScalarType::from_name(ty.text).and_then(scalar))
        {
            return self.lower_vector_mov(inst, if lanes.text == "v2" { 2 } else { 4 }, ty);
        }
        let ty = match modifiers {
            [one] => ScalarType::from_name(one.text).and_then(scalar).filter(|ty| ty.bits() != 8),
            _ => None,
        };
        let Some(ty) = ty else {
            let span = inst.mnemonic_span(self.body);
            self.report(
                span,
                "`mov` takes one type of 16, 32, 64 or 128 bits, or `.pred`".into(),
                "does not fit",
                "write `mov.b32`, for example",
            );
            return None;
        };
        let [to, from] = &self.body[inst.operands] else {
            self.report(inst.span, "`mov` takes 2 operands".into(), "wrong number", "write `mov.b32 %r1, %r2;`");
            return None;
        };
        match (self.listed(to), self.listed(from)) {
            (Some(parts), None) => {
                let source = self.move_source(from, ty)?;
                self.unpack(to, &parts, source, ty)
            }
            (None, Some(parts)) => {
                let target = self.destination(to, ty, false)?;
                let element = self.element_type(from, parts.len(), ty)?;
                let sources: Option<Vec<_>> = parts.iter().map(|part| self.value(part, element, false)).collect();
                let fields = typed(Opcode::Pack, element);
                self.push_full(Opcode::Pack, fields, self.guard, &[target.reg.into()], &sources?);
                Some(())
            }
            (Some(_), Some(_)) => {
                let help = "move each element by `mov.v2` or `mov.v4`";
                self.report(from.span, "`mov` packs or unpacks, not both at once".into(), "a second vector", help);
                None
            }
            (None, None) => {
                let source = self.move_source(from, ty)?;
                let target = self.destination(to, ty, false)?;
                self.move_value(target.reg, source, ty);
                Some(())
            }
        }
    }

    /// `mov.v4.u32 %v, {%r1, %r2, %r3, %r4};`, a move of each element. All are read before the first is written.
    ///
    /// One constant is no element: ptxas 13.0 gives each element its part of the constant's bits, so that
    /// `mov.v2.b32 %v, 0x12345678` is 0x5678 and 0x1234. Compilers write 0 there.
    fn lower_vector_mov(&mut self, inst: &ast::Instruction<'s>, lanes: usize, ty: Type) -> Option<()> {
        let [to, from] = self.body[inst.operands] else {
            self.report(inst.span, "`mov` takes 2 operands".into(), "wrong number", "write `mov.v2.b32 %v, %w;`");
            return None;
        };
        if matches!(from.kind, OperandKind::Constant(_)) {
            let (to, value) = (self.vector(&to, lanes)?, self.value(&from, ty, false)?);
            let bits = self.func.imm_bits(value)?;
            let width = ty.bits().min(64) / lanes as u32;
            for (part, at) in to.iter().zip((0..).step_by(width as usize)) {
                let target = self.destination(part, ty, false)?;
                let bits = self.func.imm(bits >> at & ((1 << width) - 1));
                self.move_value(target.reg, bits, ty);
            }
            return Some(());
        }
        let (to, from) = (self.vector(&to, lanes)?, self.vector(&from, lanes)?);
        let guard = self.guard.take();
        let read = |lowering: &mut Self, part: &ast::Operand<'s>| {
            let (source, copy) = (lowering.move_source(part, ty)?, lowering.temp(ty));
            lowering.move_value(copy, source, ty);
            Some(copy)
        };
        let copies: Option<Vec<Reg>> = from.iter().map(|part| read(self, part)).collect();
        self.guard = guard;
        for (part, copy) in to.iter().zip(copies?).filter(|(part, _)| part.kind != OperandKind::Sink) {
            let target = self.destination(part, ty, false)?;
            self.move_value(target.reg, copy.into(), ty);
        }
        Some(())
    }

    /// A move under the instruction's guard, or a read of a special register.
    fn move_value(&mut self, to: Reg, source: Operand, ty: Type) {
        let ty = word_type(ty);
        let opcode = match source {
            Operand::Special(special) if special.is_volatile() => Opcode::Cs2r,
            Operand::Special(_) => Opcode::S2r,
            _ => Opcode::Mov,
        };
        self.push_full(opcode, typed(opcode, ty), self.guard, &[to.into()], &[source]);
    }

    /// The source: an address or a special register of the same width stays as it is.
    fn move_source(&mut self, from: &ast::Operand<'s>, ty: Type) -> Option<Operand> {
        match from.kind {
            OperandKind::Name(name) => match self.lookup(name, from.span)? {
                Named::Address(address) if matches!(ty.bits(), 32 | 64) && !ty.is_float() => Some(address),
                Named::Special(special) if special.bits() == ty.bits() && !ty.is_float() => {
                    Some(Operand::Special(special))
                }
                _ => self.value(from, ty, false),
            },
            OperandKind::Component { name, component } => match super::operand::special_component(name, component) {
                Some(special) if ty.bits() == 32 => Some(Operand::Special(special)),
                _ => self.value(from, ty, false),
            },
            _ => self.value(from, ty, false),
        }
    }

    fn element_type(&mut self, operand: &ast::Operand<'s>, count: usize, ty: Type) -> Option<Type> {
        let element = match ty.bits() as usize / count.max(1) {
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => Type::Pred,
        };
        if element == Type::Pred || count < 2 || element.bits() as usize * count != ty.bits() as usize {
            let message = format!("{count} do not make `.{}`", ty.name(), count = counted(count, "element"));
            self.report(operand.span, message, describe(operand.kind), "use 2 or 4 elements of equal width");
            return None;
        }
        Some(element)
    }

    /// Splits a value into registers, lowest first.
    fn unpack(&mut self, to: &ast::Operand<'s>, parts: &[ast::Operand<'s>], source: Operand, ty: Type) -> Option<()> {
        let element = self.element_type(to, parts.len(), ty)?;
        let source = match source {
            Operand::Reg(reg) => reg,
            other => {
                let reg = self.temp(ty);
                let guard = self.guard.take();
                self.move_value(reg, other, ty);
                self.guard = guard;
                reg
            }
        };
        let words = RegInfo::of(ty).words;
        for (i, part) in parts.iter().enumerate() {
            if part.kind == OperandKind::Sink {
                continue;
            }
            let target = self.destination(part, element, false)?;
            self.extract(target.reg, source, words, i as u32 * element.bits(), element);
        }
        Some(())
    }

    /// Moves the bits of `element`'s width at `at` into a register.
    fn extract(&mut self, to: Reg, from: Reg, words: u8, at: u32, element: Type) {
        let low = word(from, (at / 32) as u8, words);
        let (opcode, ty, srcs) = match (element.bits(), at % 32) {
            (64, _) => (Opcode::Pack, Type::B32, vec![low, Operand::Word(from, (at / 32) as u8 + 1)]),
            (_, 0) => (Opcode::Mov, Type::B32, vec![low]),
            (_, shift) => (Opcode::Shr, Type::U32, vec![low, Operand::imm(shift)]),
        };
        self.push_full(opcode, typed(opcode, ty), self.guard, &[to.into()], &srcs);
    }
}

/// The type of a copy as wide as `ty`.
pub(super) fn word_type(ty: Type) -> Type {
    match ty.bits() {
        1 => Type::Pred,
        ..=32 => Type::B32,
        64 => Type::B64,
        _ => Type::B128,
    }
}
