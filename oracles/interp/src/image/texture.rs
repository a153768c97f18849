//! Fetches: coordinates to texels by the address modes, texels to one by the filter.

use half::f16;
use oriole_ir::ops::{Component as Channel, LevelOfDetail, Type};
use oriole_ir::reference::{Setting, Settings};

use super::texel::{Component, TexelPlace, fixed};
use super::{Bound, Fault, Frame, HandleKind, Image, ImageKind, ImageOp, View, bad, lanes_bit, word};
use crate::access::Spaces;
use crate::program::{Elements, Place};

const WRAP: u8 = 0;
const MIRROR: u8 = 1;
const CLAMP_OGL: u8 = 2;
/// The address mode where nothing is said.
pub(super) const CLAMP_TO_EDGE: u8 = 3;
const CLAMP_TO_BORDER: u8 = 4;

/// Weights have so many fractional bits (CUDA C++ Programming Guide, "Linear Filtering").
const WEIGHT: f64 = 256.0;

/// A texel along one direction: its index, unless it lies on the border, and its weight.
type Tap = (Option<u32>, f64);

/// A coordinate: an index, or a place between texels.
#[derive(Clone, Copy, Debug)]
enum Coordinate {
    Index(i64),
    Place(f64),
}

/// Where a fetch goes: a slice, and a coordinate for each direction.
struct Target {
    slice: u32,
    coordinates: Vec<Coordinate>,
    /// Whether places run from 0 to 1.
    normalized: bool,
}

/// How texels are mixed: by a filter, or as four of one component that nothing mixes.
#[derive(Clone, Copy)]
struct Sampling {
    settings: Settings,
    linear: bool,
    reference: Option<Component>,
}

impl Spaces<'_> {
    /// Fetches for one lane.
    pub(super) fn fetch(
        &mut self,
        frame: &mut Frame,
        op: &ImageOp,
        (view, bound): (View, &Bound),
        lane: usize,
    ) -> Result<(), Fault> {
        let image = &bound.image;
        let sampler = self.images.view(frame, op.sampler, lane)?;
        check(image, op, view.kind, lane)?;
        let settings = sampler.settings;
        let reference = op.reference.map(|slot| Component {
            bits: frame.words[slot as usize][lane],
            undefined: frame.undefined[slot as usize] >> lane & 1 == 1,
        });
        let linear = settings.get(Setting::Filter) == Some(1) && op.floats;
        if linear && !image.yields_floats() && reference.is_none() {
            return Err(bad(lane, "integers cannot be filtered"));
        }
        let target = target(frame, op, image, settings, lane)?;
        let offsets = signed_words(frame, &op.offsets, lane)?;
        let sampling = Sampling { settings, linear, reference };
        let texel = match op.kind {
            ImageKind::Gather(channel) => {
                let sampling = Sampling { linear: true, ..sampling };
                self.gather(bound, &target, &offsets, (sampling, channel), lane)
            }
            _ => {
                let level = level(frame, op, image, &target, lane)?;
                self.leveled(bound, &target, &offsets, sampling, level, lane)
            }
        };
        self.yield_texel(frame, op, bound, texel, lane)
    }

    /// Writes a texel to the results, and that memory has it.
    fn yield_texel(
        &mut self,
        frame: &mut Frame,
        op: &ImageOp,
        bound: &Bound,
        texel: [Component; 4],
        lane: usize,
    ) -> Result<(), Fault> {
        let narrow = matches!(op.ty, Type::F16 | Type::F16x2);
        if narrow && !bound.image.yields_floats() && op.reference.is_none() {
            return Err(bad(lane, "integers are not converted to halves"));
        }
        let half = |component: Component| u32::from(f16::from_f32(f32::from_bits(component.bits)).to_bits());
        let unknown = |component: Component, bits: u32| if component.undefined { bits } else { 0 };
        for (index, slot) in op.values.iter().enumerate() {
            let (bits, undefined) = match op.ty {
                Type::F16x2 => {
                    let [low, high] = [texel[2 * index], texel[2 * index + 1]];
                    (half(low) | half(high) << 16, unknown(low, 0xFFFF) | unknown(high, 0xFFFF_0000))
                }
                Type::F16 => (half(texel[index]), unknown(texel[index], 0xFFFF)),
                _ => (texel[index].bits, unknown(texel[index], u32::MAX)),
            };
            frame.put(*slot, lane, bits, undefined);
        }
        if let Place::Pred(slot) = op.predicate {
            frame.set_pred(slot, lanes_bit(lane, true), 0, 1 << lane);
        }
        Ok(())
    }

    /// A fetch from a level, or from two of them.
    fn leveled(
        &mut self,
        bound: &Bound,
        target: &Target,
        offsets: &[i64],
        sampling: Sampling,
        level: f64,
        lane: usize,
    ) -> [Component; 4] {
        let level = level.clamp(0.0, f64::from(bound.image.levels - 1));
        if !bound.image.level_filter {
            return self.filtered(bound, target, offsets, sampling, (level + 0.5).floor() as u32, lane);
        }
        let weight = rounded_weight(level - level.floor());
        let lower = self.filtered(bound, target, offsets, sampling, level.floor() as u32, lane);
        if weight == 0.0 {
            return lower;
        }
        let upper = self.filtered(bound, target, offsets, sampling, level.floor() as u32 + 1, lane);
        mixed(&[(lower, 1.0 - weight), (upper, weight)])
    }

    /// A fetch from one level.
    fn filtered(
        &mut self,
        bound: &Bound,
        target: &Target,
        offsets: &[i64],
        sampling: Sampling,
        level: u32,
        lane: usize,
    ) -> [Component; 4] {
        let level = level.min(bound.image.levels - 1);
        let taps = taps(&bound.image, target, offsets, sampling, level);
        let mut all = Vec::with_capacity(8);
        let mut places = crossed(&taps, target.slice, level);
        let adds_bytes = bound.image.holds_normalized_bytes() && sampling.reference.is_none();
        if let [first, second, third, fourth] = &mut places[..]
            && adds_bytes
        {
            let weights = [first, second, third, fourth].map(|(_, weight)| weight);
            round_together(weights);
        }
        for (place, weight) in places {
            let texel = self.texel(bound, place, lane);
            all.push((compared(&bound.image, texel, sampling.reference), weight));
        }
        match all.as_slice() {
            [(one, _)] => *one,
            several if adds_bytes => mixed_bytes(several),
            several => mixed(several),
        }
    }

    /// The four texels of a linear filter, against the clock from the one with the lower first and the upper second
    /// coordinate (PTX ISA, "tld4").
    fn gather(
        &mut self,
        bound: &Bound,
        target: &Target,
        offsets: &[i64],
        (sampling, channel): (Sampling, Channel),
        lane: usize,
    ) -> [Component; 4] {
        let taps = taps(&bound.image, target, offsets, sampling, 0);
        let [columns, rows] = taps.as_slice() else { return [fixed(0); 4] };
        let corners = [(0, 1), (1, 1), (1, 0), (0, 0)];
        corners.map(|(column, row)| {
            let place = columns[column].0.zip(rows[row].0);
            let place = place.map(|(x, y)| TexelPlace { level: 0, slice: target.slice, at: [x, y, 0] });
            let texel = self.texel(bound, place, lane);
            compared(&bound.image, texel, sampling.reference)[channel as usize]
        })
    }
}

/// Whether an image is what the instruction takes.
fn check(image: &Image, op: &ImageOp, kind: HandleKind, lane: usize) -> Result<(), Fault> {
    if kind != HandleKind::Texture {
        return Err(bad(lane, "the handle is of no texture"));
    }
    let dimensions = if op.geometry.is_cube() { 2 } else { op.geometry.coordinates() };
    let fits = image.extents.len() == dimensions
        && image.cube == op.geometry.is_cube()
        && image.layers.is_some() == op.geometry.is_array();
    if fits { Ok(()) } else { Err(bad(lane, &format!("`{}` has another geometry", image.name))) }
}

/// The slice and the coordinates.
fn target(frame: &Frame, op: &ImageOp, image: &Image, settings: Settings, lane: usize) -> Result<Target, Fault> {
    let words = op.coordinates.iter().map(|slot| word(frame, *slot, lane)).collect::<Result<Vec<_>, _>>()?;
    let (layer, coordinates) = match words.split_first() {
        Some((layer, rest)) if op.geometry.is_array() => ((*layer).min(image.layers.unwrap_or(1) - 1), rest),
        _ => (0, words.as_slice()),
    };
    let float = |bits: u32| f64::from(f32::from_bits(bits));
    if let [x, y, z] = *coordinates
        && op.geometry.is_cube()
    {
        let (face, place, _) = face([float(x), float(y), float(z)]);
        let coordinates = place.map(Coordinate::Place).to_vec();
        return Ok(Target { slice: 6 * layer + face, coordinates, normalized: true });
    }
    let unnormalized = settings.get(Setting::ForceUnnormalized) == Some(1);
    let one = |bits: &u32| match op.floats {
        true => Coordinate::Place(float(*bits)),
        false => Coordinate::Index(i64::from(*bits as i32)),
    };
    let normalized = settings.get(Setting::Normalized) == Some(1) && !unnormalized;
    Ok(Target { slice: layer, coordinates: coordinates.iter().map(one).collect(), normalized })
}

/// The face that a direction meets, where it meets it from 0 to 1, and the coordinate that chose it: OpenGL 4.6, "Cube
/// Map Texture Selection", which CUDA follows.
fn face([x, y, z]: [f64; 3]) -> (u32, [f64; 2], usize) {
    let [ax, ay, az] = [x.abs(), y.abs(), z.abs()];
    let (face, along, [s, t], axis) = if ax >= ay && ax >= az {
        if x >= 0.0 { (0, ax, [-z, -y], 0) } else { (1, ax, [z, -y], 0) }
    } else if ay >= az {
        if y >= 0.0 { (2, ay, [x, z], 1) } else { (3, ay, [x, -z], 1) }
    } else if z >= 0.0 {
        (4, az, [x, -y], 2)
    } else {
        (5, az, [-x, -y], 2)
    };
    let place = |value: f64| if along == 0.0 { 0.5 } else { (value / along + 1.0) / 2.0 };
    (face, [place(s), place(t)], axis)
}

fn signed_words(frame: &Frame, elements: &Elements, lane: usize) -> Result<Vec<i64>, Fault> {
    elements.iter().map(|slot| Ok(i64::from(word(frame, *slot, lane)? as i32))).collect()
}

/// The level that a fetch asks for.
fn level(frame: &Frame, op: &ImageOp, image: &Image, target: &Target, lane: usize) -> Result<f64, Fault> {
    let words = op.levels.iter().map(|slot| word(frame, *slot, lane)).collect::<Result<Vec<_>, _>>()?;
    let float = |bits: &u32| f64::from(f32::from_bits(*bits));
    let level = match (op.kind, words.as_slice()) {
        (ImageKind::Fetch(LevelOfDetail::Level), [level]) if op.floats => float(level),
        (ImageKind::Fetch(LevelOfDetail::Level), [level]) => f64::from(*level as i32),
        (ImageKind::Fetch(LevelOfDetail::Grad), words) => {
            let changes: Vec<f64> = words.iter().map(float).collect();
            let halves = changes.chunks(op.geometry.coordinates());
            let length = |change: &[f64]| texels_passed(frame, op, image, target, change, lane);
            halves.map(length).fold(0.0, f64::max).log2()
        }
        _ => 0.0,
    };
    Ok(if level.is_nan() { 0.0 } else { level })
}

/// How many texels of the first level a change of the coordinates passes.
fn texels_passed(frame: &Frame, op: &ImageOp, image: &Image, target: &Target, change: &[f64], lane: usize) -> f64 {
    let extent = |axis: usize| f64::from(image.level_extents(0)[axis]);
    if op.geometry.is_cube() {
        let first = usize::from(op.geometry.is_array());
        let at = |axis: usize| {
            let slot = op.coordinates[first + axis] as usize;
            f64::from(f32::from_bits(frame.words[slot][lane]))
        };
        let here = [at(0), at(1), at(2)];
        let change = [change[0], change[1], change[2]];
        return face_change(here, change).map(|part| part * extent(0)).into_iter().map(|p| p * p).sum::<f64>().sqrt();
    }
    let scale = |axis: usize| if target.normalized { extent(axis) } else { 1.0 };
    change.iter().enumerate().map(|(axis, part)| (part * scale(axis)).powi(2)).sum::<f64>().sqrt()
}

/// How a change of a direction moves the place where it meets the face.
fn face_change(here: [f64; 3], change: [f64; 3]) -> [f64; 2] {
    let (face, _, axis) = face(here);
    let along = here[axis].abs();
    let grows = change[axis] * here[axis].signum();
    let parts = |[x, y, z]: [f64; 3]| match face {
        0 => [-z, -y],
        1 => [z, -y],
        2 => [x, z],
        3 => [x, -z],
        4 => [x, -y],
        _ => [-x, -y],
    };
    let (place, moves) = (parts(here), parts(change));
    std::array::from_fn(|at| (moves[at] * along - place[at] * grows) / (2.0 * along * along))
}

/// The texels along each direction.
fn taps(image: &Image, target: &Target, offsets: &[i64], sampling: Sampling, level: u32) -> Vec<Vec<Tap>> {
    let extents = image.level_extents(level);
    let modes = [Setting::Address0, Setting::Address1, Setting::Address2];
    let one = |(axis, coordinate): (usize, &Coordinate)| {
        let size = extents[axis];
        let mode = match sampling.settings.get(modes[axis]).unwrap_or(CLAMP_TO_EDGE) {
            _ if image.cube => CLAMP_TO_EDGE,
            // The guide has these for normalized coordinates alone.
            WRAP | MIRROR if !target.normalized => CLAMP_TO_EDGE,
            mode => mode,
        };
        let offset = offsets.get(axis).copied().unwrap_or(0);
        along(*coordinate, size, offset, (mode, sampling.linear, target.normalized))
    };
    target.coordinates.iter().enumerate().map(one).collect()
}

/// The texels along one direction: one, or the two beside a place.
fn along(coordinate: Coordinate, size: u32, offset: i64, (mode, linear, normalized): (u8, bool, bool)) -> Vec<Tap> {
    let place = match coordinate {
        Coordinate::Index(index) => return vec![(addressed(index.saturating_add(offset), size, mode), 1.0)],
        Coordinate::Place(place) if normalized => place * f64::from(size),
        Coordinate::Place(place) => place,
    };
    let place = if place.is_nan() { 0.0 } else { place } + offset as f64;
    let place = if mode == CLAMP_OGL { place.clamp(0.0, f64::from(size)) } else { place };
    if !linear {
        let index = place.floor() as i64;
        let last = if mode == CLAMP_OGL { i64::from(size) - 1 } else { i64::MAX };
        return vec![(addressed(index.min(last), size, mode), 1.0)];
    }
    let before = (place - 0.5).floor();
    let weight = rounded_weight(place - 0.5 - before);
    let index = before as i64;
    vec![(addressed(index, size, mode), 1.0 - weight), (addressed(index.saturating_add(1), size, mode), weight)]
}

/// A fraction as a number of 8 fractional bits, which may be one.
fn rounded_weight(fraction: f64) -> f64 {
    if fraction.is_finite() { (fraction * WEIGHT + 0.5).floor() / WEIGHT } else { 0.0 }
}

/// The weights of four texels in a plane, the first at the lower place of both directions and the last at the upper
/// one, as numbers of 8 fractional bits that are one together. The last is the nearest to the product, which leaves the
/// others what is along each direction: so an H200 does it.
fn round_together([first, second, third, last]: [&mut f64; 4]) {
    let (across, down) = (*second + *last, *third + *last);
    *last = rounded_weight(*last);
    (*second, *third) = (across - *last, down - *last);
    *first = 1.0 - across - down + *last;
}

/// The texel that an index leads to; none on the border.
fn addressed(index: i64, size: u32, mode: u8) -> Option<u32> {
    let size = i64::from(size);
    let inside = (0..size).contains(&index);
    let found = match mode {
        WRAP => index.rem_euclid(size),
        MIRROR => {
            let at = index.rem_euclid(2 * size);
            if at < size { at } else { 2 * size - 1 - at }
        }
        CLAMP_OGL | CLAMP_TO_BORDER if !inside => return None,
        _ => index.clamp(0, size - 1),
    };
    Some(found as u32)
}

/// Every texel of a filter with its weight.
fn crossed(taps: &[Vec<Tap>], slice: u32, level: u32) -> Vec<(Option<TexelPlace>, f64)> {
    let mut all = vec![(Some(TexelPlace { level, slice, at: [0; 3] }), 1.0)];
    for (axis, taps) in taps.iter().enumerate() {
        let mut next = Vec::with_capacity(all.len() * taps.len());
        for (index, weight) in taps {
            for (place, of) in &all {
                let place = place.zip(*index).map(|(mut place, index)| {
                    place.at[axis] = index;
                    place
                });
                next.push((place, of * weight));
            }
        }
        all = next;
    }
    all
}

/// One for each component that a depth is at most, and zero for others.
fn compared(image: &Image, texel: [Component; 4], reference: Option<Component>) -> [Component; 4] {
    let Some(reference) = reference else { return texel };
    let float = |bits: u32| f64::from(f32::from_bits(bits));
    let value = |component: Component| match image.yields_floats() {
        true => float(component.bits),
        false => f64::from(component.bits),
    };
    let mut results = [fixed(0), fixed(0), fixed(0), fixed(1f32.to_bits())];
    for (result, component) in results.iter_mut().zip(texel).take(image.channels.into()) {
        let passes = float(reference.bits) <= value(component);
        let undefined = reference.undefined || component.undefined;
        *result = Component { bits: if passes { 1f32 } else { 0.0 }.to_bits(), undefined };
    }
    results
}

/// The sum of weighted texels of floats.
fn mixed(texels: &[([Component; 4], f64)]) -> [Component; 4] {
    std::array::from_fn(|channel| {
        let sum: f64 = texels.iter().map(|(texel, weight)| weighted(texel[channel].bits, *weight)).sum();
        let undefined = texels.iter().any(|(texel, _)| texel[channel].undefined);
        let value = sum as f32;
        Component { bits: if value.is_nan() { 0x7FFF_FFFF } else { value.to_bits() }, undefined }
    })
}

/// The sum of weighted bytes that stand for numbers from 0 to 1. As an H200 does it, each is a number of 16 bits, and
/// so is the sum, which is the nearest, the upper one where two are as near.
fn mixed_bytes(texels: &[([Component; 4], f64)]) -> [Component; 4] {
    std::array::from_fn(|channel| {
        let term = |(texel, weight): &([Component; 4], f64)| {
            let byte = (f64::from(f32::from_bits(texel[channel].bits)) * 255.0).round();
            byte * 257.0 * weight
        };
        let sum = (texels.iter().map(term).sum::<f64>() + 0.5).floor();
        let undefined = texels.iter().any(|(texel, _)| texel[channel].undefined);
        Component { bits: ((sum / 65535.0) as f32).to_bits(), undefined }
    })
}

/// A texel without weight counts for nothing, be it infinite.
fn weighted(bits: u32, weight: f64) -> f64 {
    if weight == 0.0 { 0.0 } else { f64::from(f32::from_bits(bits)) * weight }
}
