//! Accesses to surfaces: bytes of a row, or whole texels.

use oriole_ir::ops::{AtomOp, Geometry, OutOfBounds, Type};

use super::texel::{TexelPlace, offset, stored};
use super::{Bound, Fault, Frame, HandleKind, ImageKind, ImageOp, View, bad, word};
use crate::access::{Located, Spaces, combined, value_of};
use crate::outcome::Cause;
use crate::strong::Strong;
use oriole_launch::ScalarType;
use oriole_semantics::scalar;

/// What an access reaches: so many bytes of a row.
struct Reach {
    /// Bytes of the access, and of what its first coordinate counts.
    bytes: u64,
    unit: u64,
}

impl Spaces<'_> {
    /// Accesses a surface for one lane.
    pub(super) fn surface(
        &mut self,
        frame: &mut Frame,
        op: &ImageOp,
        (view, bound): (View, &Bound),
        lane: usize,
    ) -> Result<(), Fault> {
        if view.kind != HandleKind::Surface {
            return Err(bad(lane, "the handle is of no surface"));
        }
        let texel = bound.image.texel_bytes() as u64;
        let element = u64::from(op.ty.bits() / 8);
        let reach = match op.kind {
            ImageKind::StoreTexel | ImageKind::ReduceTexel(_) => Reach { bytes: texel, unit: texel },
            _ => Reach { bytes: element * op.values.len() as u64, unit: 1 },
        };
        let place = locate(frame, op, bound, &reach, lane)?;
        let trap = |cause| Fault::Trap(lane, cause);
        if let Some(at) = place {
            let reduces = matches!(op.kind, ImageKind::Reduce(_) | ImageKind::ReduceTexel(_));
            self.observe(at, reach.bytes, lane, op.kind != ImageKind::Load, reduces.then_some(Strong::COMBINES));
        }
        match (op.kind, place) {
            (ImageKind::Load, place) => self.load_surface(frame, op, place, lane),
            (_, None) => {}
            (ImageKind::Store, Some(at)) => self.store_surface(frame, op, at, lane).map_err(trap)?,
            (ImageKind::StoreTexel, Some(at)) => self.store_texel(frame, op, bound, at, lane).map_err(trap)?,
            (ImageKind::Reduce(combine), Some(at)) => {
                self.reduce_surface(frame, op, (combine, op.ty), at, lane).map_err(trap)?;
            }
            (ImageKind::ReduceTexel(combine), Some(at)) => {
                let ty = whole_type(op, bound).ok_or_else(|| bad(lane, "the texels are no integers of its width"))?;
                self.reduce_surface(frame, op, (combine, ty), at, lane).map_err(trap)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Beyond the border zeros are loaded.
    fn load_surface(&mut self, frame: &mut Frame, op: &ImageOp, place: Option<Located>, lane: usize) {
        let bytes = (op.ty.bits() / 8) as usize;
        for (index, slot) in op.values.iter().enumerate() {
            for part in 0..bytes.div_ceil(4) {
                let size = bytes.min(4);
                let (value, undefined) = place.map_or((0, false), |place| {
                    let (memory, at) = self.memory(place.plus(index * bytes + 4 * part));
                    memory.load(at, size)
                });
                let unknown = place
                    .filter(|_| undefined)
                    .map_or(0, |place| self.unknown_bits(place.plus(index * bytes + 4 * part), size));
                frame.put(slot + part as u32, lane, value as u32, unknown);
            }
        }
    }

    fn store_surface(&mut self, frame: &Frame, op: &ImageOp, at: Located, lane: usize) -> Result<(), Cause> {
        let bytes = (op.ty.bits() / 8) as usize;
        for (index, slot) in op.values.iter().enumerate() {
            for part in 0..bytes.div_ceil(4) as u32 {
                let (value, unknown) = (frame.words[(slot + part) as usize][lane], frame.bits(slot + part, lane));
                let first = index * bytes + 4 * part as usize;
                for byte in 0..bytes.min(4) {
                    let undefined = unknown >> (8 * byte) & 0xFF != 0;
                    self.write(at.plus(first + byte), 1, u64::from(value >> (8 * byte) & 0xFF), undefined, lane)?;
                }
            }
        }
        Ok(())
    }

    /// Components that are not given become anything.
    fn store_texel(
        &mut self,
        frame: &Frame,
        op: &ImageOp,
        bound: &Bound,
        at: Located,
        lane: usize,
    ) -> Result<(), Cause> {
        let bytes = bound.image.format.bytes();
        for channel in 0..usize::from(bound.image.channels) {
            let (value, unknown) = match op.values.get(channel) {
                Some(slot) => (frame.words[*slot as usize][lane], frame.bits(*slot, lane)),
                None => (0, u32::MAX),
            };
            // A whole word is stored as it is; a narrower one depends on all its bits.
            let unknown = if bytes < 4 && unknown != 0 { u32::MAX } else { unknown };
            let stored = (stored(&bound.image, value).into(), u128::from(unknown));
            self.write_wide(at.plus(channel * bytes), bytes, stored, lane)?;
        }
        Ok(())
    }

    fn reduce_surface(
        &mut self,
        frame: &Frame,
        op: &ImageOp,
        (combine, ty): (AtomOp, Type),
        at: Located,
        lane: usize,
    ) -> Result<(), Cause> {
        let Some(slot) = op.values.first().copied() else { return Ok(()) };
        let bytes = (ty.bits() / 8) as usize;
        let (old, operand) = (self.read_wide(at, bytes), value_of(frame, slot, bytes, lane));
        self.write_wide(at, bytes, combined(combine, ty, scalar::atomic, old, operand), lane)
    }
}

/// The type of a whole texel, as wide as a formatted reduction.
fn whole_type(op: &ImageOp, bound: &Bound) -> Option<Type> {
    let bits = op.ty.bits();
    let fits = bound.image.texel_bytes() as u32 * 8 == bits;
    let signed = match bound.image.format {
        ScalarType::S32 => true,
        ScalarType::U32 => false,
        _ => return None,
    };
    Type::integer(bits, signed).filter(|_| fits)
}

/// Where an access goes; nowhere beyond a border that swallows it.
fn locate(frame: &Frame, op: &ImageOp, bound: &Bound, reach: &Reach, lane: usize) -> Result<Option<Located>, Fault> {
    let image = &bound.image;
    let words = op.coordinates.iter().map(|slot| word(frame, *slot, lane)).collect::<Result<Vec<_>, _>>()?;
    // The faces of a cube are layers here.
    let layered = image.layers.is_some() || image.cube;
    if image.extents.len() != op.geometry.coordinates() || layered != op.geometry.is_array() {
        return Err(bad(lane, &format!("`{}` has another geometry", image.name)));
    }
    let (layer, coordinates) = match words.split_first() {
        Some((layer, rest)) if op.geometry.is_array() => (i64::from(*layer), rest),
        _ => (0, words.as_slice()),
    };
    let extents = image.level_extents(0);
    let row = u64::from(extents[0]) * image.texel_bytes() as u64;
    let mut at = [0; 3];
    let mut outside = false;
    for (axis, word) in coordinates.iter().enumerate() {
        let scale = if axis == 0 { reach.unit as i64 } else { 1 };
        let size = if axis == 0 { row as i64 - reach.bytes as i64 } else { i64::from(extents[axis]) - 1 };
        let wanted = i64::from(*word as i32) * scale;
        outside |= !(0..=size).contains(&wanted);
        at[axis] = wanted.min(size).max(0);
    }
    let slices = i64::from(image.slices()) - 1;
    outside |= layer > slices;
    if outside && op.beyond == OutOfBounds::Trap || reach.bytes > row {
        return Err(Fault::Trap(lane, beyond(image.name.as_str(), op.geometry, &words, reach.bytes)));
    }
    if outside && op.beyond == OutOfBounds::Zero {
        return Ok(None);
    }
    if op.kind != ImageKind::StoreTexel && !(at[0] as u64).is_multiple_of(reach.bytes) {
        let cause = Cause::Misaligned { space: "surface", address: at[0] as u64, bytes: reach.bytes as u32 };
        return Err(Fault::Trap(lane, cause));
    }
    let line = TexelPlace { level: 0, slice: layer.min(slices) as u32, at: [0, at[1] as u32, at[2] as u32] };
    Ok(Some(Located::Global(bound.region, offset(image, line) + at[0] as usize)))
}

fn beyond(name: &str, geometry: Geometry, coordinates: &[u32], bytes: u64) -> Cause {
    let index = if geometry.is_array() { "layer and coordinates" } else { "coordinates" };
    let near = format!("{index} {coordinates:?} of `{name}`");
    let address = coordinates.get(usize::from(geometry.is_array())).copied().unwrap_or(0);
    Cause::OutOfBounds { space: "surface", address: address.into(), bytes: bytes as u32, near }
}
