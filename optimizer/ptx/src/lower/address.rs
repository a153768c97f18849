//! Addresses: memory operands, and addresses of variables and of their elements as values.

use super::body::BodyLowering;
use super::operand::{Named, Place, describe};
use crate::ast::{self, OperandKind, Span};
use oriole_ir::Operand;
use oriole_ir::ops::{Opcode, Space, Type};

impl<'s> BodyLowering<'_, '_, 's> {
    /// Base and offset of a memory operand, and the space of the variable that it names.
    pub(super) fn address(&mut self, operand: &ast::Operand<'s>) -> Option<(Operand, Operand, Option<Space>)> {
        if let OperandKind::Element { name, .. } | OperandKind::Indexed { name, .. } = operand.kind {
            return self.element(operand, name);
        }
        let OperandKind::Address(address) = operand.kind else {
            let help = "write the address in brackets, as in `[%rd1+4]`";
            self.report(operand.span, "a memory operand is missing here".into(), describe(operand.kind), help);
            return None;
        };
        if !address.rest.is_empty() {
            self.report(
                operand.span,
                "an address has one part here".into(),
                "several parts",
                "only textures and surfaces have coordinates behind them",
            );
            return None;
        }
        let offset = self.func.imm(address.offset as u64);
        let Some(name) = address.base else { return Some((offset, Operand::imm(0), None)) };
        match self.lookup(name, operand.span)? {
            Named::Reg(reg, declared) if matches!(declared.bits(), 32 | 64) => Some((reg.into(), offset, None)),
            Named::Address(symbol) if self.reference_type(symbol).is_some() => {
                let help = "instructions on textures and surfaces read it, such as `tex`, `suld` and `txq`";
                self.report(operand.span, format!("`{name}` has no bytes that an access reads"), "opaque", help);
                None
            }
            Named::Address(symbol) => Some((symbol, offset, self.space_of(symbol))),
            Named::Reg(..) | Named::Special(_) => {
                let message = format!("`{name}` cannot hold an address");
                self.report(operand.span, message, "not an address", "use a register of 32 or 64 bits, or a symbol");
                None
            }
        }
    }

    /// An address that is a number is one in local memory, or of a map that a fence acquires: ptxas takes it nowhere
    /// else.
    pub(super) fn check_number(&mut self, span: Span, base: Operand, fits: bool) -> Option<()> {
        if fits || self.func.imm_bits(base).is_none() {
            return Some(());
        }
        let help = "put it into a register, as in `mov.b64 %rd1, 16;` and `[%rd1]`, or name a variable";
        let message = "a number is an address in `.local` memory alone";
        self.report(span, message.into(), "an absolute address", help);
        None
    }

    /// The space of the variable that an operand is the address of.
    pub(super) fn space_of(&self, symbol: Operand) -> Option<Space> {
        match symbol {
            Operand::Global(id) => Some(self.cx.module.globals[id].space),
            Operand::Local(id) => Some(self.func.locals[id].space),
            _ => None,
        }
    }

    /// An address without brackets: a register, or a symbol with an offset, in a register if need be.
    pub(super) fn plain_address(&mut self, operand: &ast::Operand<'s>, ty: Type) -> Option<Operand> {
        if let OperandKind::Name(name) = operand.kind {
            match self.lookup(name, operand.span)? {
                Named::Reg(reg, declared) if matches!(declared.bits(), 32 | 64) => return Some(reg.into()),
                Named::Address(symbol) => return Some(symbol),
                Named::Reg(..) | Named::Special(_) => {}
            }
        }
        let ty = if self.cx.address_bytes == 4 || ty.bits() == 32 { Type::U32 } else { Type::U64 };
        self.value(operand, ty, false)
    }

    /// `sym+8`, `sym[2]`, `sym[%r1+2]` or `%r1+8` as a value.
    pub(super) fn address_value(&mut self, operand: &ast::Operand<'s>, ty: Type) -> Option<Operand> {
        let place = Place { span: operand.span, ty, loose: false };
        let (base, offset) = match operand.kind {
            OperandKind::Sum { name, offset } => {
                match self.lookup(name, operand.span)? {
                    Named::Address(_) => {}
                    Named::Reg(..) if !ty.is_float() && matches!(ty.bits(), 32 | 64) => {}
                    Named::Reg(..) | Named::Special(_) => return self.takes_no_offset(name, operand.span),
                }
                (self.named_value(name, place)?, self.func.imm(offset as u64))
            }
            OperandKind::Element { name, .. } | OperandKind::Indexed { name, .. } => {
                let symbol = self.element_of(name, operand.span)?;
                (self.named_value(name, place)?, self.element_offset(symbol, operand)?)
            }
            _ => return None,
        };
        Some(self.sum(base, offset, ty))
    }

    /// A sum of 32 or 64 bits.
    fn sum(&mut self, base: Operand, offset: Operand, ty: Type) -> Operand {
        let ty = if ty.bits() == 64 { Type::S64 } else { Type::S32 };
        let offset = match self.func.imm_bits(offset) {
            Some(bits) if ty == Type::S32 => self.func.imm(bits & 0xFFFF_FFFF),
            _ if ty == Type::S32 => offset.reg().map_or(offset, |reg| Operand::Word(reg, 0)),
            _ => offset,
        };
        let sum = self.temp(ty);
        self.push_typed(Opcode::IAdd, ty, &[sum.into()], &[base, offset]);
        sum.into()
    }

    fn takes_no_offset<T>(&mut self, name: &str, span: Span) -> Option<T> {
        let help = "addresses of variables and integers of 32 or 64 bits take an offset here";
        self.report(span, format!("`{name}` takes no offset"), "neither address nor integer", help);
        None
    }

    /// The variable that an element is of.
    fn element_of(&mut self, name: &'s str, span: Span) -> Option<Operand> {
        match self.lookup(name, span)? {
            Named::Address(symbol) => Some(symbol),
            Named::Reg(..) | Named::Special(_) => self.takes_no_offset(name, span),
        }
    }

    /// `sym[2]` or `sym[%r1+2]` as a place in memory (PTX ISA, "Arrays as Operands").
    fn element(&mut self, operand: &ast::Operand<'s>, name: &'s str) -> Option<(Operand, Operand, Option<Space>)> {
        let symbol = self.element_of(name, operand.span)?;
        let (offset, space) = (self.element_offset(symbol, operand)?, self.space_of(symbol));
        if self.func.imm_bits(offset).is_some() {
            return Some((symbol, offset, space));
        }
        let base = self.named_value(name, Place { span: operand.span, ty: Type::U64, loose: false })?;
        Some((self.sum(base, offset, Type::U64), Operand::imm(0), space))
    }

    /// How many bytes an element lies behind the beginning of its variable: a constant, or 64 bits. Of an index of up
    /// to 32 bits ptxas 13.0 computes 32 bits of this, and extends them with zeros, whatever the sign of its type.
    fn element_offset(&mut self, symbol: Operand, operand: &ast::Operand<'s>) -> Option<Operand> {
        let size = self.element_size(symbol);
        let (name, index, span) = match operand.kind {
            OperandKind::Element { index, .. } => return Some(self.func.imm(index.wrapping_mul(size) as u64)),
            OperandKind::Indexed { index, .. } => match self.body[index] {
                [ast::Operand { kind: OperandKind::Name(name), span }] => (name, 0, span),
                [ast::Operand { kind: OperandKind::Sum { name, offset }, span }] => (name, offset, span),
                _ => {
                    let help = "write a number, a register, or a register and a number, as in `table[%r1+1]`";
                    self.report(operand.span, "this is no index of an array".into(), "not an index", help);
                    return None;
                }
            },
            _ => return None,
        };
        let (from, ty) = match self.lookup(name, span)? {
            Named::Reg(_, declared) if declared.bits() == 64 => (Type::U64, Type::U64),
            Named::Reg(_, declared) if declared.bits() == 16 => (Type::U16, Type::U32),
            _ => (Type::U32, Type::U32),
        };
        let mut number = self.named_value(name, Place { span, ty: from, loose: false })?;
        if from == Type::U16 {
            number = self.extended(number, Type::U32, from)?;
        }
        for (opcode, by) in [(Opcode::IAdd, index), (Opcode::IMulLo, size)] {
            let (result, by) = (self.temp(ty), self.func.imm(by as u64 & (u64::MAX >> (64 - ty.bits()))));
            self.push_typed(opcode, ty, &[result.into()], &[number, by]);
            number = result.into();
        }
        if ty == Type::U32 { self.extended(number, Type::U64, ty) } else { Some(number) }
    }

    /// The value of a register in a wider one.
    fn extended(&mut self, from: Operand, to_ty: Type, from_ty: Type) -> Option<Operand> {
        let wide = self.temp(to_ty);
        self.extend(wide, to_ty, from.reg()?, from_ty);
        Some(wide.into())
    }

    fn element_size(&self, symbol: Operand) -> i64 {
        let variable = match symbol {
            Operand::Global(id) => &self.cx.module.globals[id],
            Operand::Local(id) => &self.func.locals[id],
            _ => return 1,
        };
        i64::from(variable.ty.bits() / 8).max(1)
    }
}
