//! Decoding of instructions on textures and surfaces.

use oriole_ir::ops::{
    AtomOp, Component, Geometry, ImagePart, ImageQuery, LevelOfDetail, Opcode, OutOfBounds, Shape, SrcType, Type,
};
use oriole_ir::{Inst, InstData, Operand};

use super::{DecodeFault, Decoded, Decoder, Slots, Width, op};
use crate::image::{ImageKind, ImageOp};
use crate::program::{Elements, Kind, MOST_ELEMENTS, Op, Place};
use oriole_launch::HandleKind;

impl Decoder<'_> {
    pub(super) fn image(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let mut image = ImageOp {
            kind: kind(data)?,
            geometry: data.field().unwrap_or(Geometry::D1),
            ty: data.ty(),
            floats: data.field() == Some(SrcType::F32),
            beyond: data.field().unwrap_or(OutOfBounds::Trap),
            handle: Place::None,
            sampler: Place::None,
            coordinates: Elements::default(),
            levels: Elements::default(),
            offsets: Elements::default(),
            reference: None,
            values: Elements::default(),
            predicate: Place::None,
        };
        let srcs = self.func.srcs(inst).to_vec();
        let shapes = data.src_shapes(srcs.len());
        if shapes.len() != srcs.len() {
            return Err(DecodeFault::OperandCount);
        }
        for (operand, shape) in srcs.into_iter().zip(shapes) {
            match shape {
                Shape::D | Shape::Image(ImagePart::Handle) => image.handle = self.handle(operand)?,
                Shape::Image(ImagePart::Sampler) => image.sampler = self.handle(operand)?,
                Shape::Image(ImagePart::Coordinates) => self.add(&mut image.coordinates, operand, data, shape)?,
                Shape::R | Shape::Image(ImagePart::Level) => self.add(&mut image.levels, operand, data, shape)?,
                Shape::Image(ImagePart::Offsets) => self.add(&mut image.offsets, operand, data, shape)?,
                Shape::Image(ImagePart::Reference) => {
                    let mut one = Elements::default();
                    self.add(&mut one, operand, data, shape)?;
                    image.reference = one.first().copied();
                }
                shape => self.add(&mut image.values, operand, data, shape)?,
            }
        }
        let dsts = self.func.dsts(inst).to_vec();
        for (operand, shape) in dsts.into_iter().zip(data.dst_shapes()) {
            match shape {
                Shape::P => image.predicate = self.typed(data, operand, shape)?,
                shape => self.add(&mut image.values, operand, data, shape)?,
            }
        }
        self.program.images.push(image);
        Ok(op(Kind::Image).x(self.program.images.len() as u32 - 1))
    }

    fn handle(&mut self, operand: Operand) -> Decoded<Place> {
        self.place(operand, Width::Words(2))?.narrow()
    }

    fn add(&mut self, elements: &mut Elements, operand: Operand, data: &InstData, shape: Shape) -> Decoded<()> {
        let ty = data.shape_type(shape).ok_or(DecodeFault::NotValue)?;
        let Slots::Words(slot, _) = self.place(operand, Width::of(ty))? else { return Err(DecodeFault::NotValue) };
        if elements.len() == MOST_ELEMENTS {
            return Err(DecodeFault::VectorLength);
        }
        elements.push(slot);
        Ok(())
    }
}

fn kind(data: &InstData) -> Decoded<ImageKind> {
    let combine = || data.field::<AtomOp>().ok_or(DecodeFault::NoOperation);
    Ok(match data.opcode {
        Opcode::Tex | Opcode::TexCompare => ImageKind::Fetch(data.field().unwrap_or(LevelOfDetail::Implicit)),
        Opcode::Tld4 | Opcode::Tld4Compare => ImageKind::Gather(data.field().unwrap_or(Component::R)),
        Opcode::Suld => ImageKind::Load,
        Opcode::Sust => ImageKind::Store,
        Opcode::SustP => ImageKind::StoreTexel,
        Opcode::Sured => ImageKind::Reduce(combine()?),
        Opcode::SuredP => ImageKind::ReduceTexel(combine()?),
        Opcode::IsTypeP => ImageKind::IsType(match data.ty() {
            Type::SamplerRef => HandleKind::Sampler,
            Type::SurfRef => HandleKind::Surface,
            _ => HandleKind::Texture,
        }),
        _ => ImageKind::Query(data.field().unwrap_or(ImageQuery::Width)),
    })
}
