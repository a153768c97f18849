//! Textures and surfaces: lanes give the reference interpreter their words, and it samples, filters, stores and
//! answers.

use oriole_interp::{HANDLE_WINDOW, ImageAccess, ImageKind, ImageLane};
use oriole_ir::ops::{Geometry, LevelOfDetail};

use super::lanes::{LANES, Lanes, set};
use super::machine::{Cta, Machine, Stop};
use super::program::*;

/// The number of the texture in a word that names a sampler above it (CUDA's handles of textures have both).
const TEXTURE_BITS: u32 = 20;

/// The layer below the offsets of a fetch with derivatives.
const LAYER: u32 = 0xffff;

impl Machine<'_> {
    /// Executes an access to an image, lane after lane.
    pub(super) fn image(
        &mut self,
        cta: &mut Cta,
        warp: usize,
        pc: u32,
        active: u32,
        word: &ImageWord,
    ) -> Result<(), Stop> {
        let mut results = vec![[0; LANES]; word.access.results];
        for lane in set(active) {
            let mut operands = self.image_lane(cta, warp, lane, word);
            let access = self.flattened(&word.access, &mut operands);
            let found = self.images.access(&mut self.global, &access, &operands);
            let found = found.map_err(|cause| Stop::Trap { pc, lane: lane as u32, cause })?;
            results.iter_mut().zip(found).for_each(|(row, value)| row[lane] = value);
        }
        let w = &mut cta.warps[warp];
        for (row, result) in word.values.iter().zip(&results).filter(|(row, _)| **row != SINK) {
            w.write(*row, result, active);
        }
        w.set_pred(word.missing, 0, active);
        Ok(())
    }

    /// The access as the image has directions: ptxas reads a texture of one direction that has its own sampler as one
    /// of two, of which the second coordinate is zero.
    fn flattened(&self, access: &ImageAccess, lane: &mut ImageLane) -> ImageAccess {
        let flat = match access.geometry {
            Geometry::D2 => Geometry::D1,
            Geometry::A2d => Geometry::A1d,
            _ => return *access,
        };
        let ImageKind::Fetch(level) = access.kind else { return *access };
        if !access.floats || self.images.dimensions(lane.handle) != Some(1) {
            return *access;
        }
        lane.coordinates.pop();
        if level == LevelOfDetail::Grad {
            lane.levels = lane.levels.iter().copied().step_by(2).collect();
        }
        lane.offsets.truncate(1);
        ImageAccess { geometry: flat, ..*access }
    }

    /// The operands of one lane.
    fn image_lane(&self, cta: &Cta, warp: usize, lane: usize, word: &ImageWord) -> ImageLane {
        let row = |row: u16| -> Lanes { cta.warps[warp].fetch_row(self.literals, row) };
        let all = |rows: &[u16]| rows.iter().map(|at| row(*at)[lane]).collect();
        let (texture, sampler) = match word.handle {
            ImageHandle::Word(at) => {
                let both = row(at)[lane];
                (both & ((1 << TEXTURE_BITS) - 1), both >> TEXTURE_BITS)
            }
            ImageHandle::Uniform(ZERO) => (0, 0),
            // Before `sm_90` the sampler's number is above the texture's there, too.
            ImageHandle::Uniform(at) => (row(at)[lane] & ((1 << TEXTURE_BITS) - 1), row(at + 1)[lane]),
        };
        let handle = HANDLE_WINDOW + u64::from(texture);
        let stores = word.access.results == 0;
        let axes = word.access.geometry.coordinates() as u32;
        let offset = |(at, how): (u16, Offsets)| -> Vec<u32> {
            let packed = row(at)[lane];
            let above = |axis: u32| 32 - u32::from(how.first) - u32::from(how.apart) * axis - u32::from(how.bits);
            let one = |axis: u32| (packed << above(axis)) as i32 >> (32 - u32::from(how.bits));
            (0..axes).map(|axis| one(axis) as u32).collect()
        };
        let mut coordinates: Vec<u32> = all(&word.coordinates);
        if word.offsets.is_some_and(|(_, how)| how.has_layer) {
            coordinates[0] &= LAYER;
        }
        ImageLane {
            handle,
            // A texture without a sampler beside it has its own.
            sampler: if sampler == 0 { handle } else { HANDLE_WINDOW + u64::from(sampler) },
            coordinates,
            levels: all(&word.levels),
            offsets: word.offsets.map(offset).unwrap_or_default(),
            reference: word.reference.map(|at| row(at)[lane]),
            values: if stores { all(&word.values) } else { Vec::new() },
        }
    }
}
