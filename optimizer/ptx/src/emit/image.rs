//! Instructions on textures and surfaces, and the variables that they name.

use std::fmt::Write;

use super::EmitError;
use super::function::FunctionWriter;
use oriole_ir::ops::{Geometry, ImagePart, LevelOfDetail, Shape, SrcType, Type};
use oriole_ir::reference::Settings;
use oriole_ir::{Function, Inst, InstData, Module, Operand, Variable};

/// Whether a module declares samplers or fetches through others than the textures' own, and so is of the mode in which
/// they are apart (PTX ISA 9.0, "Texturing Modes").
pub(super) fn has_samplers(module: &Module) -> bool {
    let locals = module.functions.values().flat_map(|function| function.locals.values());
    let declared = module.globals.values().chain(locals).any(|variable| variable.ty == Type::SamplerRef);
    declared || module.functions.values().any(|func| func.layout_insts().any(|inst| names_sampler(func, inst)))
}

fn names_sampler(func: &Function, inst: Inst) -> bool {
    let row = func.inst(inst).opcode.row();
    row.srcs.get(1) == Some(&Shape::Image(ImagePart::Sampler)) && func.srcs(inst).first() != func.srcs(inst).get(1)
}

/// `{addr_mode_0 = wrap, filter_mode = nearest}`.
pub(super) fn settings(out: &mut String, variable: &Variable) {
    let settings = Settings::of(&variable.init).each();
    let fields: Vec<_> = settings.map(|(setting, value)| format!("{} = {value}", setting.name())).collect();
    if !fields.is_empty() {
        let _ = write!(out, " = {{ {} }}", fields.join(", "));
    }
}

/// The sources of an instruction by their parts.
#[derive(Default)]
struct Parts {
    handle: Option<Operand>,
    sampler: Option<Operand>,
    coordinates: Vec<Operand>,
    levels: Vec<Operand>,
    offsets: Vec<Operand>,
    rest: Vec<(Operand, Type)>,
}

impl FunctionWriter<'_> {
    /// `tex.2d.v4.f32.f32 {…}|%p, [texture, sampler, {…}], level, {offsets}, reference`.
    pub(super) fn image(&mut self, inst: Inst, data: &InstData) -> Result<(), EmitError> {
        let Some(name) = self.mnemonic(data) else { return Err(self.refuse("PTX has no such instruction")) };
        let parts = self.parts(inst, data);
        let address = self.image_place(data, &parts)?;
        let mut sources = self.levels(data, &parts)?;
        sources.extend(self.offsets(&parts)?);
        let mut values = Vec::new();
        for (operand, ty) in &parts.rest {
            values.push(self.image_value(*operand, *ty)?);
        }
        if data.vector_len() > 1 && data.dst_shapes().is_empty() {
            values = vec![format!("{{{}}}", values.join(", "))];
        }
        sources.extend(values);
        let sources: Vec<String> = [address].into_iter().chain(sources).collect();
        self.image_results(inst, data, &name, &sources)
    }

    fn parts(&self, inst: Inst, data: &InstData) -> Parts {
        let (srcs, mut parts) = (self.func.srcs(inst), Parts::default());
        for (operand, shape) in srcs.iter().zip(data.src_shapes(srcs.len())) {
            match shape {
                Shape::Image(ImagePart::Handle) => parts.handle = Some(*operand),
                Shape::Image(ImagePart::Sampler) => parts.sampler = Some(*operand),
                Shape::Image(ImagePart::Coordinates) => parts.coordinates.push(*operand),
                Shape::Image(ImagePart::Level) => parts.levels.push(*operand),
                Shape::Image(ImagePart::Offsets) => parts.offsets.push(*operand),
                shape => parts.rest.push((*operand, data.shape_type(shape).unwrap_or(Type::B32))),
            }
        }
        parts
    }

    /// `[texture, sampler, {coordinates}]`; the texture's own sampler is not written, unless all are apart.
    fn image_place(&mut self, data: &InstData, parts: &Parts) -> Result<String, EmitError> {
        let Some(handle) = parts.handle else { return Err(self.refuse("an operand is missing")) };
        let mut text = format!("[{}", self.handle(handle)?);
        if let Some(sampler) = parts.sampler.filter(|sampler| *sampler != handle || self.independent_samplers) {
            let sampler = self.handle(sampler)?;
            let _ = write!(text, ", {sampler}");
        }
        if !parts.coordinates.is_empty() {
            let is_array = data.field().is_some_and(Geometry::is_array);
            let coordinate = data.field::<SrcType>().map_or(Type::S32, Type::from);
            let ty = |at| if is_array && at == 0 { Type::U32 } else { coordinate };
            let list = self.list(&parts.coordinates, ty)?;
            let _ = write!(text, ", {list}");
        }
        text.push(']');
        Ok(text)
    }

    /// The variable's name, or a register of 64 bits.
    fn handle(&mut self, operand: Operand) -> Result<String, EmitError> {
        match operand {
            Operand::Global(_) | Operand::Local(_) => Ok(self.symbol(operand)),
            operand => self.wide_register(operand, Type::B64),
        }
    }

    /// `{a, b}`; PTX has no vectors of three, and fills them up.
    fn list(&mut self, operands: &[Operand], ty: impl Fn(usize) -> Type) -> Result<String, EmitError> {
        let mut elements = Vec::with_capacity(4);
        for (at, operand) in operands.iter().enumerate() {
            elements.push(self.source(*operand, ty(at))?);
        }
        if let [_, _, last] = elements.as_slice() {
            elements.push(last.clone());
        }
        Ok(format!("{{{}}}", elements.join(", ")))
    }

    fn levels(&mut self, data: &InstData, parts: &Parts) -> Result<Vec<String>, EmitError> {
        let ty = data.shape_type(Shape::Image(ImagePart::Level)).unwrap_or(Type::F32);
        match data.field::<LevelOfDetail>() {
            Some(LevelOfDetail::Grad) => {
                parts.levels.chunks(parts.levels.len() / 2).map(|half| self.list(half, |_| ty)).collect()
            }
            _ => parts.levels.iter().map(|level| self.source(*level, ty)).collect(),
        }
    }

    /// Offsets that are zero are not written.
    fn offsets(&mut self, parts: &Parts) -> Result<Option<String>, EmitError> {
        if parts.offsets.iter().all(|offset| self.func.imm_bits(*offset) == Some(0)) {
            return Ok(None);
        }
        self.list(&parts.offsets, |_| Type::S32).map(Some)
    }

    /// A value that is stored; registers of 32 bits do for narrower ones.
    fn image_value(&mut self, operand: Operand, ty: Type) -> Result<String, EmitError> {
        match ty.bits() {
            8 | 16 => self.wide_register(operand, Type::B32),
            _ => self.source(operand, ty),
        }
    }

    fn image_results(&mut self, inst: Inst, data: &InstData, name: &str, sources: &[String]) -> Result<(), EmitError> {
        let dsts = self.func.dsts(inst).to_vec();
        let (mut values, mut predicate) = (Vec::new(), None);
        for (dst, shape) in dsts.iter().zip(data.dst_shapes()) {
            let ty = data.shape_type(shape).unwrap_or(Type::B32);
            match shape {
                Shape::P if data.dst_shapes().len() > 1 => predicate = Some(*dst),
                // Surfaces are loaded into wider registers, textures are not.
                _ if data.is(oriole_ir::ops::Flags::WIDER) && ty.bits() < 32 => {
                    values.push((*dst, self.target(*dst, Type::B32)?, Type::B32));
                }
                _ => values.push((*dst, self.target(*dst, ty)?, ty)),
            }
        }
        let names: Vec<_> = values.iter().map(|(_, name, _)| name.as_str()).collect();
        let mut result = if names.len() > 1 { format!("{{{}}}", names.join(", ")) } else { names.join("") };
        if let Some(predicate) = predicate.filter(|predicate| self.is_used(*predicate)) {
            let _ = write!(result, "|{}", self.target(predicate, Type::Pred)?);
        }
        let operands: Vec<&str> = [result.as_str()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .chain(sources.iter().map(String::as_str))
            .collect();
        self.guarded(format_args!("{name} {}", operands.join(", ")));
        for (dst, written, ty) in &values {
            self.write_back(*dst, *ty, written, false);
        }
        Ok(())
    }
}
