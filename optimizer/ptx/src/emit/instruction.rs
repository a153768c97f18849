//! Instructions by their rows: PTX name, modifiers in the order of the fields, operands by their shapes.

use std::fmt::Write;

use super::EmitError;
use super::function::FunctionWriter;
use crate::spelling::{SPELLINGS, address_type};
use oriole_ir::ops::{Field, Flags, Matrix, Opcode, Shape, SrcType, Type};
use oriole_ir::{Inst, InstData, Operand, Reg};

/// Whether a register operand of 32 bits does for a narrower type: PTX widens and narrows there by itself.
pub(super) fn takes_words(data: &InstData, ty: Type) -> bool {
    let from = data.field::<SrcType>().map(Type::from);
    match data.opcode {
        // Conversions with bf16 want registers of the exact size.
        Opcode::Cvt if data.ty() == Type::Bf16 || from == Some(Type::Bf16) => false,
        Opcode::Cvt | Opcode::CvtPackInt => !ty.is_float(),
        opcode => opcode.is(Flags::WIDER) && (opcode.is(Flags::READS) || opcode.is(Flags::WRITES)),
    }
}

impl FunctionWriter<'_> {
    pub(super) fn instruction(&mut self, inst: Inst) -> Result<(), EmitError> {
        match self.special(inst) {
            Some(write) => write(self, inst, self.func.inst(inst)),
            None => self.by_row(inst),
        }
    }

    /// The name with all modifiers.
    pub(super) fn mnemonic(&self, data: &InstData) -> Option<String> {
        let row = data.opcode.row();
        let mut name = match row.ptx {
            Some(ptx) => ptx.to_owned(),
            None => {
                let spelling = SPELLINGS.iter().find(|spelling| spelling.opcode == data.opcode)?;
                spelling.fixed.iter().fold(spelling.base.to_owned(), |name, part| name + "." + part)
            }
        };
        for (slot, spec) in row.fields.iter().enumerate() {
            let is_written = Some(data.fields.0[slot]) != spec.default && !is_operand(spec.field);
            if is_written {
                // The shape of a warpgroup's product has two fields and one modifier.
                let dot = if spec.field == Field::GroupInner { "" } else { "." };
                let _ = write!(name, "{dot}{}", spec.field.value_name(data.fields.0[slot]));
            }
        }
        Some(name)
    }

    /// Prints an instruction as its row says.
    pub(super) fn by_row(&mut self, inst: Inst) -> Result<(), EmitError> {
        let data = *self.func.inst(inst);
        let Some(name) = self.mnemonic(&data) else { return Err(self.refuse("PTX has no such instruction")) };
        let shapes = data.src_shapes(self.func.srcs(inst).len());
        let sources = self.sources(inst, &data, &shapes)?;
        self.with_results(inst, &data, &name, &sources)
    }

    /// Prints an instruction with these sources, and its results as its row says.
    pub(super) fn with_results(
        &mut self,
        inst: Inst,
        data: &InstData,
        name: &str,
        sources: &[String],
    ) -> Result<(), EmitError> {
        if let Some((extension, wide)) = self.extended_by(inst, data) {
            let wide = self.reg(wide);
            self.guarded(format_args!("{name} {wide}, {}", sources.join(", ")));
            self.written = Some(extension);
            return Ok(());
        }
        let dsts = self.func.dsts(inst).to_vec();
        let shapes = data.dst_shapes();
        let mut targets = Vec::with_capacity(dsts.len());
        for (dst, shape) in dsts.iter().zip(&shapes) {
            let ty = data.shape_type(*shape).unwrap_or(Type::B32);
            let ty = if takes_words(data, ty) { widened(ty) } else { ty };
            targets.push((self.target(*dst, ty)?, ty));
        }
        let names: Vec<_> = targets.iter().map(|(name, _)| name.as_str()).collect();
        let result = match shapes.first() {
            Some(Shape::Matrix(_)) if data.opcode != Opcode::MovMatrix => format!("{{{}}}", names.join(", ")),
            Some(Shape::V) if names.len() > 1 => format!("{{{}}}", names.join(", ")),
            _ if names.len() == 2 && is_optional(data.opcode) && !self.is_used(dsts[1]) => names[0].to_owned(),
            _ => names.join("|"),
        };
        let mut operands: Vec<&str> = if result.is_empty() { Vec::new() } else { vec![&result] };
        operands.extend(sources.iter().map(String::as_str));
        let gap = if operands.is_empty() { "" } else { " " };
        self.guarded(format_args!("{name}{gap}{}", operands.join(", ")));
        for (dst, (written, ty)) in dsts.iter().zip(&targets) {
            self.write_back(*dst, *ty, written, data.opcode == Opcode::Cvt);
        }
        Ok(())
    }

    /// The conversion behind a load that alone reads what it loads and extends it to 64 bits, and its destination. PTX
    /// has both as one load into a wider register (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
    fn extended_by(&self, inst: Inst, data: &InstData) -> Option<(Inst, Reg)> {
        let (func, next) = (self.func, self.func.next_inst(inst)?);
        let &[Operand::Reg(loaded)] = func.dsts(inst) else { return None };
        let &[Operand::Reg(wide)] = func.dsts(next) else { return None };
        let conversion = func.inst(next);
        let from = conversion.field::<SrcType>().map(Type::from)?;
        let extends = conversion.opcode == Opcode::Cvt
            && !conversion.ty().is_float()
            && conversion.ty().bits() == 64
            && func.srcs(next) == [Operand::Reg(loaded)]
            && (from.bits(), from.is_signed(), from.is_float())
                == (data.ty().bits(), data.ty().is_signed(), data.ty().is_float());
        let alone = self.is_read_once(loaded) && !self.is_half(loaded.into());
        let fits = data.opcode == Opcode::Ld && data.guard.is_none() && conversion.guard.is_none();
        (fits && extends && alone && !from.is_float() && from.bits() < 64).then_some((next, wide))
    }

    /// The sources as PTX writes them: addresses in brackets, vectors in braces.
    pub(super) fn sources(&mut self, inst: Inst, data: &InstData, shapes: &[Shape]) -> Result<Vec<String>, EmitError> {
        let srcs = self.func.srcs(inst).to_vec();
        let mut out = Vec::with_capacity(srcs.len());
        let mut vector = Vec::new();
        for (i, (operand, shape)) in srcs.iter().zip(shapes).enumerate() {
            match shape {
                Shape::Offset => {}
                Shape::Base if shapes.get(i + 1) == Some(&Shape::Offset) => {
                    out.push(self.address(*operand, srcs[i + 1])?);
                }
                // ptxas takes no name there.
                Shape::Base
                    if data.opcode == Opcode::IsSpaceP && matches!(operand, Operand::Global(_) | Operand::Local(_)) =>
                {
                    out.push(self.wide_register(*operand, Type::B64)?);
                }
                Shape::Base => out.push(self.base(*operand, address_type(data.opcode, data.ty()))?),
                Shape::Imm => out.push(self.func.imm_bits(*operand).unwrap_or(0).to_string()),
                Shape::V if data.vector_len() > 1 => {
                    vector.push(self.typed_source(*operand, data, *shape)?);
                    if vector.len() == data.vector_len() {
                        out.push(format!("{{{}}}", vector.join(", ")));
                    }
                }
                Shape::Matrix(_) => {
                    // ptxas takes no constant where a matrix is in one register, and some elsewhere.
                    let ty = data.shape_type(*shape).unwrap_or(Type::B32);
                    vector.push(self.register(*operand, ty)?);
                    if vector.len() == data.registers(*shape) {
                        let list = std::mem::take(&mut vector).join(", ");
                        let bare = data.opcode == Opcode::MovMatrix || *shape == Shape::Matrix(Matrix::Metadata);
                        out.push(if bare { list } else { format!("{{{list}}}") });
                    }
                }
                Shape::R if data.is(Flags::ASYNC) || data.opcode == Opcode::BulkPrefetch => {
                    out.push(self.bulk_size(*operand)?);
                }
                Shape::R if matches!(data.opcode, Opcode::Bfe | Opcode::Bfi) => out.push(self.bit_place(*operand)?),
                shape => out.push(self.typed_source(*operand, data, *shape)?),
            }
        }
        Ok(out)
    }

    /// A position or a length in bits, of which 8 bits count (PTX ISA 9.0, "bfe"): ptxas refuses a constant beyond
    /// them.
    fn bit_place(&mut self, place: Operand) -> Result<String, EmitError> {
        match self.func.imm_bits(place) {
            Some(bits) => Ok((bits & 0xff).to_string()),
            None => self.source(place, Type::U32),
        }
    }

    /// The size of a bulk copy. ptxas refuses a constant that is none, also where the copy is never executed.
    pub(super) fn bulk_size(&mut self, size: Operand) -> Result<String, EmitError> {
        match self.func.imm_bits(size) {
            Some(bits) if !bits.is_multiple_of(16) => self.wide_register(size, Type::U32),
            _ => self.source(size, Type::U32),
        }
    }

    /// A constant of a narrow type is in a word, where PTX does not check it against the type.
    fn typed_source(&mut self, operand: Operand, data: &InstData, shape: Shape) -> Result<String, EmitError> {
        let ty = data.shape_type(shape).unwrap_or(Type::B32);
        if takes_words(data, ty) && ty.bits() < 32 {
            return self.wide_register(operand, Type::B32);
        }
        self.source(operand, ty)
    }
}

/// Whether PTX has an operand for what a field says.
fn is_operand(field: Field) -> bool {
    matches!(field, Field::NegateLeft | Field::NegateRight | Field::TransposeLeft | Field::TransposeRight)
}

/// Whether the second result need not be written.
fn is_optional(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::SetPBool | Opcode::Shfl | Opcode::MatchAll)
}

/// The type of the whole word that a narrow value is in.
fn widened(ty: Type) -> Type {
    if matches!(ty.bits(), 8 | 16) { Type::B32 } else { ty }
}
