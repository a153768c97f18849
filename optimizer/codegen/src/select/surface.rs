//! Loads, stores and reductions of surfaces.

use oriole_ir::ops::{AtomOp, CacheOp, Geometry, Opcode, OutOfBounds, Type};
use oriole_ir::{Inst, InstData, Operand, RegFile};

use super::image::{Image, Parts};
use super::{Refusal, Select};

/// The name of a shape in mnemonics.
fn shape(geometry: Geometry) -> Option<&'static str> {
    Some(match geometry {
        Geometry::D1 => ".1D",
        Geometry::D2 => ".2D",
        Geometry::D3 => ".3D",
        Geometry::A1d => ".1D_ARRAY",
        Geometry::A2d => ".2D_ARRAY",
        Geometry::Cube | Geometry::Acube => return None,
    })
}

impl Select<'_> {
    /// A load of bytes.
    pub(super) fn surface_load(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let parts = self.parts(inst, data);
        let (dsts, ty) = (self.func.dsts(inst).to_vec(), data.ty());
        let geometry = data.field().unwrap_or(Geometry::D1);
        let bits = ty.bits() * dsts.len() as u32;
        let (Some(shape), Some(size)) = (shape(geometry), size(bits)) else { return Err(self.refused(inst)) };
        let handle = parts.handle.ok_or(Refusal::Operand("an image without a name"))?;
        let place = self.surface_place(&parts, geometry)?;
        let (evict, order) = order(data);
        let mnemonic = format!("SULD.D.BA{shape}{evict}{size}{order}{}", beyond(data));
        let target = Operand::Reg(self.emit.temp(bits.div_ceil(32) as u8));
        let truth = Operand::wired(RegFile::P, 1);
        self.surface_op(handle, &mnemonic, &[truth, target], place, None)?;
        self.taken_apart(target, &dsts, ty)
    }

    /// A store of bytes or of a texel, or a reduction.
    pub(super) fn surface_access(&mut self, inst: Inst, data: &InstData) -> Result<(), Refusal> {
        let parts = self.parts(inst, data);
        let ty = data.ty();
        let geometry = data.field().unwrap_or(Geometry::D1);
        let bits = ty.bits() * parts.values.len() as u32;
        let Some(shape) = shape(geometry) else { return Err(self.refused(inst)) };
        let handle = parts.handle.ok_or(Refusal::Operand("an image without a name"))?;
        let (evict, order) = order(data);
        let beyond = beyond(data);
        let mnemonic = match data.opcode {
            Opcode::Sust => {
                let Some(size) = size(bits) else { return Err(self.refused(inst)) };
                format!("SUST.D.BA{shape}{evict}{size}{order}{beyond}")
            }
            Opcode::SustP => {
                let elements = match parts.values.len() {
                    1 => ".R",
                    2 => ".RG",
                    _ => "",
                };
                format!("SUST.P{shape}{evict}{order}{elements}{beyond}")
            }
            Opcode::Sured | Opcode::SuredP => {
                let op = match data.field::<AtomOp>() {
                    Some(AtomOp::Add) => ".ADD",
                    Some(AtomOp::Min) => ".MIN",
                    Some(AtomOp::Max) => ".MAX",
                    Some(AtomOp::And) => ".AND",
                    Some(AtomOp::Or) => ".OR",
                    _ => return Err(self.refused(inst)),
                };
                let is_order = matches!(op, ".MIN" | ".MAX");
                let is_texel = data.opcode == Opcode::SuredP;
                let kind = match ty {
                    Type::B32 if is_order => ".SD32",
                    Type::B64 => ".SD64",
                    Type::S32 if is_order => ".S32",
                    Type::U64 => ".U64",
                    Type::S64 => ".S64",
                    _ => "",
                };
                let bytes = if is_texel { "" } else { ".BA" };
                format!("SURED.D{bytes}{shape}{op}{kind}.STRONG.SYS{beyond}")
            }
            _ => return Err(self.refused(inst)),
        };
        let place = self.surface_place(&parts, geometry)?;
        let value = self.gathered(&parts.values, ty)?;
        self.surface_op(handle, &mnemonic, &[], place, Some(value))
    }

    /// An access to a surface with its operands.
    fn surface_op(
        &mut self,
        handle: Operand,
        mnemonic: &str,
        dsts: &[Operand],
        place: Operand,
        value: Option<Operand>,
    ) -> Result<(), Refusal> {
        self.with_image(handle, None, false, &mut |select, image| {
            let mut srcs = vec![place];
            srcs.extend(value);
            match image {
                Image::Register(image) => {
                    srcs.push(image);
                    select.emit.op(mnemonic, dsts, &srcs).map(|_| ())
                }
                Image::Uniform(image) => {
                    srcs.push(image);
                    let early = [&[select.emit.func.imm(0)], &srcs[..]].concat();
                    let late = [&srcs[..], &[Operand::wired(RegFile::UR, 1)]].concat();
                    let forms: [(&[Operand], &[Operand]); 3] = [(dsts, &late), (dsts, &srcs), (dsts, &early)];
                    select.emit.first_of(mnemonic, &forms).map(|_| ())
                }
            }
        })
    }

    /// The coordinates of an access to a surface: the layer behind the others.
    fn surface_place(&mut self, parts: &Parts, geometry: Geometry) -> Result<Operand, Refusal> {
        let count = geometry.coordinates() + usize::from(geometry.is_array());
        let mut words = Vec::new();
        for operand in parts.coordinates.iter().take(count) {
            words.push(self.one(*operand)?);
        }
        if geometry.is_array() {
            words.rotate_left(1);
        }
        Ok(self.side_by_side(&words))
    }
}

/// The size of an access, in mnemonics.
fn size(bits: u32) -> Option<&'static str> {
    Some(match bits {
        8 => ".U8",
        16 => ".U16",
        32 => "",
        64 => ".64",
        128 => ".128",
        _ => return None,
    })
}

/// The effect of an access outside of a surface, in mnemonics.
fn beyond(data: &InstData) -> &'static str {
    match data.field::<OutOfBounds>() {
        Some(OutOfBounds::Zero) => ".IGN",
        Some(OutOfBounds::Clamp) => "",
        _ => ".TRAP",
    }
}

/// How an access to a surface treats caches: whether its line goes first, and in front of whom it is ordered.
fn order(data: &InstData) -> (&'static str, &'static str) {
    match data.field::<CacheOp>() {
        Some(CacheOp::Cs) => (".EF", ".STRONG.SM"),
        Some(CacheOp::Cg | CacheOp::Cv | CacheOp::Wt) => ("", ".STRONG.SYS"),
        _ => ("", ".STRONG.SM"),
    }
}
