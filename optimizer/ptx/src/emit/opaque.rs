//! Instructions that are carried through: their text with registers in its places.
//!
//! What is in a place need not be a register of the size that the place says: constants, words of wider registers
//! and narrow values come there through temporaries, and a place that is read and written through one where the two
//! are different registers.

use super::EmitError;
use super::function::{FunctionWriter, Temp};
use oriole_ir::ops::{FieldValue, Type};
use oriole_ir::template::{Piece, Place, Template};
use oriole_ir::{Inst, InstData, Operand};

/// A register that the instruction writes, where that is not the destination itself.
struct Written {
    to: Operand,
    from: String,
    ty: Type,
}

impl FunctionWriter<'_> {
    /// Prints an instruction that is carried through.
    pub(super) fn opaque(&mut self, inst: Inst, _: &InstData) -> Result<(), EmitError> {
        let func = self.func;
        let (dsts, srcs) = (func.dsts(inst).to_vec(), func.srcs(inst).to_vec());
        let text = srcs.first().and_then(|first| func.text(*first));
        let Some(template) = text.and_then(Template::of) else { return Err(self.refuse("the text is missing")) };
        let (mut dsts, mut srcs) = (dsts.into_iter(), srcs.into_iter().skip(1));
        let (mut out, mut written) = (String::new(), Vec::new());
        for piece in template.pieces() {
            let place = match piece {
                Piece::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Piece::Place(place) => place,
            };
            let source = if place.is_source() { srcs.next() } else { None };
            let to = if place.written().is_some() { dsts.next() } else { None };
            out.push_str(&self.placed(place, source, to, &mut written)?);
        }
        self.keep_guard(inst, &written);
        self.guarded(format_args!("{out}"));
        for Written { to, from, ty } in written {
            self.arrive(to, ty, &from)?;
        }
        Ok(())
    }

    /// The text of a place.
    fn placed(
        &mut self,
        place: Place,
        source: Option<Operand>,
        to: Option<Operand>,
        written: &mut Vec<Written>,
    ) -> Result<String, EmitError> {
        match (place, source, to) {
            (Place::Symbol, Some(symbol), _) => Ok(self.symbol(symbol)),
            (Place::Read(Type::B8), Some(source), _) => self.byte(source),
            (Place::Read(ty), Some(source), _) => self.register(source, ty),
            (Place::Written(ty) | Place::Both(ty), _, Some(to)) => {
                let in_place = source.is_none_or(|source| source == to || source == Operand::Undef);
                let fits = ty.bits() > 16 || ty == Type::Pred || ty == Type::B16 && self.is_half(to);
                if in_place && fits {
                    return self.target(to, Type::B32);
                }
                let from = self.temp(temporary(ty));
                if let Some(source) = source.filter(|source| *source != Operand::Undef) {
                    self.copied_to(&from, source, ty)?;
                }
                written.push(Written { to, from: from.clone(), ty });
                Ok(from)
            }
            _ => Err(self.refuse("an operand is missing")),
        }
    }

    /// Brings a value into a temporary.
    fn copied_to(&mut self, temp: &str, source: Operand, ty: Type) -> Result<(), EmitError> {
        if ty == Type::B8 {
            let word = self.wide_register(source, Type::B32)?;
            self.line(format_args!("cvt.u8.u32 {temp}, {word}"));
            return Ok(());
        }
        let from = self.register(source, ty)?;
        self.line(format_args!("mov.{} {temp}, {from}", ty.name()));
        Ok(())
    }

    /// The low byte of a word in a register of 8 bits.
    fn byte(&mut self, source: Operand) -> Result<String, EmitError> {
        let temp = self.temp(Temp::Byte);
        self.copied_to(&temp, source, Type::B8)?;
        Ok(temp)
    }

    /// Brings what was written from a temporary to its register.
    fn arrive(&mut self, to: Operand, ty: Type, from: &str) -> Result<(), EmitError> {
        let name = self.target(to, Type::B32)?;
        match ty {
            Type::B8 => self.guarded(format_args!("cvt.u32.u8 {name}, {from}")),
            Type::B16 if !self.is_half(to) => self.write_back(to, ty, from, false),
            ty => self.guarded(format_args!("mov.{} {name}, {from}", ty.name())),
        }
        Ok(())
    }

    /// Copies the guard where the instruction writes it and others follow under it.
    fn keep_guard(&mut self, inst: Inst, written: &[Written]) {
        let Some(guard) = self.func.inst(inst).guard else { return };
        if !written.is_empty() && self.func.defs(inst).any(|reg| reg == guard.reg()) {
            let (copy, name) = (self.temp(Temp::Pred), self.reg(guard.reg()));
            self.line(format_args!("mov.pred {copy}, {name}"));
            self.guard = format!("@{}{copy} ", if guard.negated() { "!" } else { "" });
        }
    }
}

/// The kind of temporary that PTX declares with a type.
fn temporary(ty: Type) -> Temp {
    if ty == Type::B8 { Temp::Byte } else { Temp::of(ty) }
}
