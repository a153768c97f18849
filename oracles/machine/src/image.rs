//! Textures and surfaces: lanes give the reference interpreter their words, and it samples, filters and stores.

use oriole_interp::{HANDLE_WINDOW, ImageLane};

use super::lanes::{LANES, Lanes, set};
use super::machine::{Cta, Machine, Stop};
use super::program::*;

/// An offset has so many bits, signed, in the word of all offsets.
const OFFSET_BITS: u32 = 4;
/// The number of the texture in a word that names a sampler above it (CUDA's handles of textures have both).
const TEXTURE_BITS: u32 = 20;

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
            let operands = self.image_lane(cta, warp, lane, word);
            let found = self.images.access(&mut self.global, &word.access, &operands);
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
            ImageHandle::Uniform(at) => (row(at)[lane], row(at + 1)[lane]),
        };
        let handle = HANDLE_WINDOW + u64::from(texture);
        let stores = word.access.results == 0;
        let axes = word.access.geometry.coordinates() as u32;
        let offset = |at: u16| -> Vec<u32> {
            let packed = row(at)[lane];
            let one = |axis: u32| (packed << (32 - OFFSET_BITS * (axis + 1))) as i32 >> (32 - OFFSET_BITS);
            (0..axes).map(|axis| one(axis) as u32).collect()
        };
        ImageLane {
            handle,
            // A texture without a sampler beside it has its own.
            sampler: if sampler == 0 { handle } else { HANDLE_WINDOW + u64::from(sampler) },
            coordinates: all(&word.coordinates),
            levels: all(&word.levels),
            offsets: word.offsets.map(offset).unwrap_or_default(),
            values: if stores { all(&word.values) } else { Vec::new() },
        }
    }
}
