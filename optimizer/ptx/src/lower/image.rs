//! Instructions on textures and surfaces: `tex.2d.v4.f32.f32 {…}|%p, [texture, sampler, {x, y}], {offsets}, reference`.
//!
//! A texture, sampler or surface is named by a variable, or by a handle in a register of 64 bits. Coordinates of three
//! elements are written as four, and older modules write four always; those behind the ones that count are passed over.

use super::body::BodyLowering;
use super::operand::{Destination, Named, describe};
use super::select::Selected;
use super::variable::scalar;
use crate::ast::{self, Address, OperandKind, ScalarType, Span};
use oriole_ir::Operand;
use oriole_ir::diagnostics::counted;
use oriole_ir::ops::{FieldValues, Flags, Geometry, ImagePart, LevelOfDetail, Opcode, Shape, SrcType, Type};

/// What names the handle of an instruction, and how messages call it.
const TEXTURES: (&[Type], &str) = (&[Type::TexRef], "texture");
const SAMPLERS: (&[Type], &str) = (&[Type::SamplerRef], "sampler");
const SURFACES: (&[Type], &str) = (&[Type::SurfRef], "surface");
const TEXTURES_OR_SAMPLERS: (&[Type], &str) = (&[Type::TexRef, Type::SamplerRef], "texture or sampler");

impl<'s> BodyLowering<'_, '_, 's> {
    /// Lowers an instruction on a texture or a surface. `None` after a fault, which is reported.
    pub(super) fn lower_image(&mut self, inst: &ast::Instruction<'s>, selected: Selected) -> Option<()> {
        match selected.opcode {
            Opcode::Tex | Opcode::Tld4 => self.fetch(inst, selected),
            Opcode::Txq => self.query(inst, selected, TEXTURES_OR_SAMPLERS),
            Opcode::TxqLevel => self.query(inst, selected, TEXTURES),
            Opcode::Suq => self.query(inst, selected, SURFACES),
            _ => self.surface(inst, selected),
        }
    }

    /// `d|p, [texture, sampler, coordinates], level, offsets, reference`, of which much may be absent.
    fn fetch(&mut self, inst: &ast::Instruction<'s>, mut selected: Selected) -> Option<()> {
        let [result, place, trailing @ ..] = &self.body[inst.operands] else {
            return self.wrong_count(inst, 2, inst.operands.len());
        };
        let address = self.image_address(place)?;
        let (sampler, coordinates) = match &self.body[address.rest] {
            [coordinates] => (None, coordinates),
            [sampler, coordinates] => (Some(sampler), coordinates),
            _ => return self.no_coordinates(place.span),
        };
        let handle = self.image_handle(address.base?, place.span, TEXTURES)?;
        let sampler = match sampler {
            Some(ast::Operand { kind: OperandKind::Name(name), span }) => self.image_handle(name, *span, SAMPLERS)?,
            Some(other) => return self.not_a_handle(other.span, describe(other.kind), SAMPLERS.1),
            None if self.cx.independent_samplers => {
                let help = "name a sampler behind the texture, as in `[t, s, {%f1}]`";
                let message = "a fetch names its sampler in a module of `texmode_independent`".to_owned();
                self.report(place.span, message, "no sampler", help);
                return None;
            }
            None => handle,
        };
        let row = selected.opcode.row();
        let level = row.value::<LevelOfDetail>(&selected.fields);
        let written = match level {
            Some(LevelOfDetail::Level) => 1,
            Some(LevelOfDetail::Grad) => 2,
            _ => 0,
        };
        if trailing.len() < written {
            return self.wrong_count(inst, 2 + written, 2 + trailing.len());
        }
        let (levels, trailing) = trailing.split_at(written);
        let (offsets, reference) = self.trailing(inst, trailing, &selected.fields, selected.opcode)?;
        if reference.is_some() {
            selected = self.compared(inst, selected)?;
        }
        let fields = selected.fields;
        let mut srcs = vec![handle, sampler];
        self.coordinates(coordinates, selected.opcode, &fields, &mut srcs)?;
        let each = selected.opcode.row().registers(&fields, Shape::Image(ImagePart::Level)) / written.max(1);
        let ty = row.shape_type(&fields, Shape::Image(ImagePart::Level)).unwrap_or(Type::F32);
        for level in levels {
            self.image_elements(level, each, |_| ty, &mut srcs)?;
        }
        let count = selected.opcode.row().registers(&fields, Shape::Image(ImagePart::Offsets));
        match offsets {
            Some(offsets) => self.image_elements(&offsets, count, |_| Type::S32, &mut srcs)?,
            None => srcs.extend(std::iter::repeat_n(Operand::imm(0), count)),
        }
        if let Some(reference) = reference {
            srcs.push(self.value(&reference, Type::F32, false)?);
        }
        let destinations = self.fetched(result, selected)?;
        self.push_image(selected, destinations, &srcs);
        Some(())
    }

    /// The same fetch with a comparison, which takes float coordinates.
    fn compared(&mut self, inst: &ast::Instruction<'s>, selected: Selected) -> Option<Selected> {
        let opcode = if selected.opcode == Opcode::Tex { Opcode::TexCompare } else { Opcode::Tld4Compare };
        let (from, to) = (selected.opcode.row(), opcode.row());
        let legal = from.fields.iter().zip(to.fields).enumerate();
        let fits = |(slot, (_, spec)): (usize, (_, &oriole_ir::ops::FieldSpec))| {
            spec.legal >> selected.fields.0[slot] & 1 == 1
        };
        if legal.into_iter().all(fits) {
            return Some(Selected { opcode, ..selected });
        }
        let help = "leave the operand out, or take float coordinates of another geometry";
        self.report(inst.span, "this fetch compares with no depth".into(), "one operand too many", help);
        None
    }

    /// Offsets and reference behind the address. ptxas takes a lone number for an offset where it is an integer and one
    /// offset is all that there is.
    fn trailing(
        &mut self,
        inst: &ast::Instruction<'s>,
        written: &[ast::Operand<'s>],
        fields: &FieldValues,
        opcode: Opcode,
    ) -> Option<(Option<ast::Operand<'s>>, Option<ast::Operand<'s>>)> {
        let count = opcode.row().registers(fields, Shape::Image(ImagePart::Offsets));
        match written {
            [] => Some((None, None)),
            [one] if count > 0 && (self.listed(one).is_some() || count == 1 && self.is_integer(one)) => {
                Some((Some(*one), None))
            }
            [one] => Some((None, Some(*one))),
            [offsets, reference] if count > 0 => Some((Some(*offsets), Some(*reference))),
            _ => {
                let help = "at most offsets and a depth to compare with follow, of a cube the depth alone";
                self.report(inst.span, "this fetch has too many operands".into(), "one too many", help);
                None
            }
        }
    }

    fn is_integer(&mut self, operand: &ast::Operand<'s>) -> bool {
        match operand.kind {
            OperandKind::Constant(constant) => constant.integer_bits().is_some(),
            OperandKind::Name(name) => {
                matches!(self.lookup(name, operand.span), Some(Named::Reg(_, ScalarType::S32 | ScalarType::U32)))
            }
            _ => false,
        }
    }

    /// The registers of a fetch's results; the predicate is a fresh one where none is written.
    fn fetched(&mut self, result: &ast::Operand<'s>, selected: Selected) -> Option<Vec<Destination>> {
        let (values, resident) = match result.kind {
            OperandKind::Pair(pair) => match &self.body[pair] {
                [values, resident] => (*values, Some(*resident)),
                _ => return None,
            },
            _ => (*result, None),
        };
        let row = selected.opcode.row();
        let ty = row.shape_type(&selected.fields, Shape::V).unwrap_or(Type::B32);
        let elements = self.vector(&values, row.registers(&selected.fields, Shape::V))?;
        let mut destinations =
            elements.iter().map(|element| self.destination(element, ty, false)).collect::<Option<Vec<_>>>()?;
        destinations.push(match resident {
            Some(resident) => self.destination(&resident, Type::Pred, false)?,
            None => Destination { reg: self.temp(Type::Pred), extended: None },
        });
        Some(destinations)
    }

    /// `d, [handle]`, and a level behind it where the row takes one.
    fn query(
        &mut self,
        inst: &ast::Instruction<'s>,
        selected: Selected,
        wanted: (&'static [Type], &'static str),
    ) -> Option<()> {
        let takes_level = selected.opcode == Opcode::TxqLevel;
        let (result, place, level) = match &self.body[inst.operands] {
            [result, place] if !takes_level => (result, place, None),
            [result, place, level] if takes_level => (result, place, Some(level)),
            operands => return self.wrong_count(inst, 2 + usize::from(takes_level), operands.len()),
        };
        let address = self.image_address(place)?;
        if !address.rest.is_empty() {
            self.report(place.span, "a question takes no coordinates".into(), "several parts", "write `[handle]`");
            return None;
        }
        let mut srcs = vec![self.image_handle(address.base?, place.span, wanted)?];
        if let Some(level) = level {
            srcs.push(self.value(level, Type::S32, false)?);
        }
        let destination = self.destination(result, Type::B32, false)?;
        self.push_image(selected, vec![destination], &srcs);
        Some(())
    }

    /// `d, [surface, coordinates]` or `[surface, coordinates], values`.
    fn surface(&mut self, inst: &ast::Instruction<'s>, selected: Selected) -> Option<()> {
        let loads = selected.opcode == Opcode::Suld;
        let (place, values) = match &self.body[inst.operands] {
            [values, place] if loads => (place, values),
            [place, values] if !loads => (place, values),
            operands => return self.wrong_count(inst, 2, operands.len()),
        };
        let address = self.image_address(place)?;
        let [coordinates] = &self.body[address.rest] else { return self.no_coordinates(place.span) };
        let mut srcs = vec![self.image_handle(address.base?, place.span, SURFACES)?];
        self.coordinates(coordinates, selected.opcode, &selected.fields, &mut srcs)?;
        let row = selected.opcode.row();
        let loose = selected.opcode.is(Flags::WIDER);
        let ty = row.shape_type(&selected.fields, Shape::V).unwrap_or(Type::B32);
        let count = row.registers(&selected.fields, Shape::V);
        let values = match values.kind {
            OperandKind::Vector(list) if list.len() == count => self.body[list].to_vec(),
            _ => self.vector(values, count)?,
        };
        let mut destinations = Vec::new();
        for value in &values {
            match loads {
                true => destinations.push(self.destination(value, ty, loose)?),
                false => srcs.push(self.value(value, ty, loose)?),
            }
        }
        self.push_image(selected, destinations, &srcs);
        Some(())
    }

    fn push_image(&mut self, selected: Selected, destinations: Vec<Destination>, srcs: &[Operand]) {
        let dsts: Vec<Operand> = destinations.iter().map(|destination| destination.reg.into()).collect();
        self.push_full(selected.opcode, selected.fields, self.guard, &dsts, srcs);
        for destination in destinations {
            self.finish(destination);
        }
    }

    /// The address of an instruction, which begins with a name.
    fn image_address(&mut self, operand: &ast::Operand<'s>) -> Option<Address<'s>> {
        match operand.kind {
            OperandKind::Address(address) if address.base.is_some() && address.offset == 0 => Some(address),
            OperandKind::Address(_) => self.not_a_handle(operand.span, "a number", "texture or surface"),
            kind => self.not_a_handle(operand.span, describe(kind), "texture or surface"),
        }
    }

    /// A variable of one of these types, or a register of 64 bits.
    fn image_handle(
        &mut self,
        name: &'s str,
        span: Span,
        (types, what): (&'static [Type], &'static str),
    ) -> Option<Operand> {
        match self.lookup(name, span)? {
            Named::Reg(reg, declared) if declared.bits() == 64 && scalar(declared).is_some_and(|ty| !ty.is_float()) => {
                Some(reg.into())
            }
            Named::Address(symbol) if self.reference_type(symbol).is_some_and(|ty| types.contains(&ty)) => Some(symbol),
            _ => self.not_a_handle(span, "another name", what),
        }
    }

    /// The type of the variable that an operand is the address of, if it is one of a texture, sampler or surface.
    pub(super) fn reference_type(&self, symbol: Operand) -> Option<Type> {
        let ty = match symbol {
            Operand::Global(id) => self.cx.module.globals[id].ty,
            Operand::Local(id) => self.func.locals[id].ty,
            _ => return None,
        };
        ty.is_reference().then_some(ty)
    }

    fn not_a_handle<T>(&mut self, span: Span, found: &str, what: &str) -> Option<T> {
        let help = "name a variable of the type, or a register of 64 bits that holds a handle";
        self.report(span, format!("a {what} is needed here"), found.to_owned(), help);
        None
    }

    fn no_coordinates<T>(&mut self, span: Span) -> Option<T> {
        let help = "write the coordinates behind the name, as in `[t, {%f1, %f2}]`";
        self.report(span, "an access to an image needs coordinates".into(), "no coordinates", help);
        None
    }

    /// The index in an array, and the coordinates.
    fn coordinates(
        &mut self,
        operand: &ast::Operand<'s>,
        opcode: Opcode,
        fields: &FieldValues,
        srcs: &mut Vec<Operand>,
    ) -> Option<()> {
        let row = opcode.row();
        let is_array = row.value::<Geometry>(fields).is_some_and(Geometry::is_array);
        let coordinate = row.value::<SrcType>(fields).map_or(Type::S32, Type::from);
        let ty = |at| if is_array && at == 0 { Type::U32 } else { coordinate };
        self.image_elements(operand, row.registers(fields, Shape::Image(ImagePart::Coordinates)), ty, srcs)
    }

    /// So many elements of a list that may be longer; one needs no list.
    fn image_elements(
        &mut self,
        operand: &ast::Operand<'s>,
        count: usize,
        ty: impl Fn(usize) -> Type,
        srcs: &mut Vec<Operand>,
    ) -> Option<()> {
        let elements = self.listed(operand).unwrap_or_else(|| vec![*operand]);
        if elements.len() < count {
            let message = format!("{count} are needed here", count = counted(count, "element"));
            self.report(operand.span, message, describe(operand.kind), "list them in braces, as in `{%f1, %f2}`");
            return None;
        }
        for (at, element) in elements.iter().take(count).enumerate() {
            srcs.push(self.value(element, ty(at), false)?);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
