//! Texels: where they lie, and what their components mean.

use half::f16;

use super::Bound;
use crate::access::{Located, Spaces};
use oriole_launch::{Image, ScalarType};

/// What a component of a texel is: bits of a float, or an integer extended to 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Component {
    pub bits: u32,
    pub undefined: bool,
}

/// A component that is the same always.
pub(super) const fn fixed(bits: u32) -> Component {
    Component { bits, undefined: false }
}

/// The place of a texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TexelPlace {
    pub level: u32,
    /// The layer, and of cubes the face.
    pub slice: u32,
    pub at: [u32; 3],
}

/// The byte at which a texel begins.
pub(super) fn offset(image: &Image, place: TexelPlace) -> usize {
    let before: u64 = (0..place.level).map(|level| image.level_bytes(level)).sum();
    let [width, height, depth] = image.level_extents(place.level).map(u64::from);
    let [x, y, z] = place.at.map(u64::from);
    let texel = ((u64::from(place.slice) * depth + z) * height + y) * width + x;
    (before + texel * image.texel_bytes() as u64) as usize
}

/// One, as a last component that the texel does not have.
fn one(image: &Image) -> u32 {
    if image.yields_floats() { 1f32.to_bits() } else { 1 }
}

/// What the bits of a component mean to a fetch.
fn fetched(image: &Image, bits: u64) -> u32 {
    let signed = |bytes: u32| (((bits << (64 - 8 * bytes)) as i64) >> (64 - 8 * bytes)) as i32;
    let ratio = |value: i32, most: f32| (value as f32 / most).max(-1.0).to_bits();
    match (image.format, image.normalized_float) {
        (ScalarType::U8, true) => ratio(bits as i32, 255.0),
        (ScalarType::U16, true) => ratio(bits as i32, 65_535.0),
        (ScalarType::S8, true) => ratio(signed(1), 127.0),
        (ScalarType::S16, true) => ratio(signed(2), 32_767.0),
        (ScalarType::S8, false) => signed(1) as u32,
        (ScalarType::S16, false) => signed(2) as u32,
        (ScalarType::F16, _) => f16::from_bits(bits as u16).to_f32().to_bits(),
        _ => bits as u32,
    }
}

/// The bits of a component that a formatted store writes: a float, or an integer, of 32 bits.
pub(super) fn stored(image: &Image, bits: u32) -> u64 {
    let float = f64::from(f32::from_bits(bits));
    let scaled = |low: f64, most: f64| (float.max(low).min(1.0) * most).round_ties_even() as i64 as u64;
    let unsigned = |most: u32| u64::from(bits.min(most));
    let signed = |most: i32| (bits as i32).clamp(-most - 1, most) as u64;
    match (image.format, image.normalized_float) {
        (ScalarType::U8, true) => scaled(0.0, 255.0),
        (ScalarType::U16, true) => scaled(0.0, 65_535.0),
        (ScalarType::S8, true) => scaled(-1.0, 127.0),
        (ScalarType::S16, true) => scaled(-1.0, 32_767.0),
        (ScalarType::U8, false) => unsigned(0xFF),
        (ScalarType::U16, false) => unsigned(0xFFFF),
        (ScalarType::S8, false) => signed(0x7F),
        (ScalarType::S16, false) => signed(0x7FFF),
        (ScalarType::F16, _) => f16::from_f32(f32::from_bits(bits)).to_bits().into(),
        _ => bits.into(),
    }
}

impl Spaces<'_> {
    /// The four components of a texel; those of a border are zero, and those that a texel does not have are zeros and a
    /// last one.
    pub(super) fn texel(&mut self, bound: &Bound, place: Option<TexelPlace>, lane: usize) -> [Component; 4] {
        let image = &bound.image;
        let mut texel = [fixed(0), fixed(0), fixed(0), fixed(one(image))];
        let channels = usize::from(image.channels);
        let Some(place) = place else {
            texel[..channels].fill(fixed(0));
            return texel;
        };
        let offset = offset(image, place);
        self.observe(Located::Global(bound.region, offset), image.texel_bytes() as u64, lane, false, None);
        let bytes = image.format.bytes();
        for (channel, component) in texel.iter_mut().enumerate().take(channels) {
            let (bits, undefined) =
                self.memory(Located::Global(bound.region, offset)).0.load(offset + channel * bytes, bytes);
            *component = Component { bits: fetched(image, bits), undefined };
        }
        texel
    }
}
