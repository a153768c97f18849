//! The operands of instructions on textures and surfaces: PTX ISA 9.0, "Texture Instructions", "Surface Instructions".

use super::{FieldValues, Geometry, LevelOfDetail, OpRow, SrcType, Type};

/// A part of an instruction on a texture or a surface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImagePart {
    /// What names the texture, the surface or the sampler that is asked about: a variable, or a handle of 64 bits.
    Handle,
    /// What names the sampler of a fetch; the same as the texture where the texture has its own.
    Sampler,
    /// The index in an array, and the coordinates. PTX fills three of them up to four.
    Coordinates,
    /// The level of a mipmap, or how the coordinates change along two directions.
    Level,
    /// What is added to the coordinates, in texels. PTX need not write it.
    Offsets,
    /// What depths are compared with.
    Reference,
}

impl Geometry {
    /// Whether an index in an array is in front of the coordinates.
    pub const fn is_array(self) -> bool {
        matches!(self, Geometry::A1d | Geometry::A2d | Geometry::Acube)
    }

    /// Whether an image is made of six faces, which a direction chooses from.
    pub const fn is_cube(self) -> bool {
        matches!(self, Geometry::Cube | Geometry::Acube)
    }

    /// The coordinates without the index in an array.
    pub const fn coordinates(self) -> usize {
        match self {
            Geometry::D1 | Geometry::A1d => 1,
            Geometry::D2 | Geometry::A2d => 2,
            Geometry::D3 | Geometry::Cube | Geometry::Acube => 3,
        }
    }
}

impl OpRow {
    /// The type of a part: coordinates are floats where the fields say so, and integers else.
    pub(super) fn image_type(&self, values: &FieldValues, part: ImagePart) -> Type {
        let coordinate = || self.value::<SrcType>(values).map_or(Type::S32, Type::from);
        match part {
            ImagePart::Handle | ImagePart::Sampler => Type::B64,
            ImagePart::Level if self.value(values) == Some(LevelOfDetail::Grad) => Type::F32,
            ImagePart::Level | ImagePart::Coordinates => coordinate(),
            ImagePart::Offsets => Type::S32,
            ImagePart::Reference => Type::F32,
        }
    }

    /// How many registers hold a part.
    pub(super) fn image_registers(&self, values: &FieldValues, part: ImagePart) -> usize {
        let geometry = self.value(values).unwrap_or(Geometry::D1);
        match part {
            ImagePart::Handle | ImagePart::Sampler | ImagePart::Reference => 1,
            ImagePart::Coordinates => geometry.coordinates() + usize::from(geometry.is_array()),
            ImagePart::Level => match self.value(values) {
                Some(LevelOfDetail::Level) => 1,
                Some(LevelOfDetail::Grad) => 2 * geometry.coordinates(),
                _ => 0,
            },
            ImagePart::Offsets if geometry.is_cube() => 0,
            ImagePart::Offsets => geometry.coordinates(),
        }
    }
}
