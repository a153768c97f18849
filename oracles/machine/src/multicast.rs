//! Multicast memory: one address for the same place in each replica of a buffer.
//!
//! Words that store, or combine in memory, do it in each replica where the address is such a one; to load, and combine
//! what was loaded, there is a word of its own. As the reference interpreter, replicas are taken in their order.

use oriole_interp::Cause;
use oriole_semantics::scalar;

use super::access::Place;
use super::lanes::{LANES, set};
use super::machine::{Cta, Machine, Stop};
use super::program::*;

/// Places of which each is written: one, or the same in each replica.
pub(super) struct Copies {
    next: Place,
    step: usize,
    left: usize,
}

impl Iterator for Copies {
    type Item = Place;

    fn next(&mut self) -> Option<Place> {
        self.left = self.left.checked_sub(1)?;
        let place = self.next;
        if let Place::Global { at, .. } = &mut self.next {
            *at += self.step;
        }
        Some(place)
    }
}

impl Machine<'_> {
    /// The places that an access of a lane writes.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn written(
        &mut self,
        cta: &mut Cta,
        warp: usize,
        pc: u32,
        lane: usize,
        space: Space,
        address: u64,
        bytes: u64,
    ) -> Result<Copies, Stop> {
        let can_be = matches!(space, Space::Global | Space::Generic) && address.is_multiple_of(bytes);
        match can_be.then(|| self.global.find_replicas(address, bytes)).flatten() {
            Some((region, at)) => Ok(self.copies(region, at)),
            None => {
                let next = self.locate(cta, warp, pc, lane, space, address, bytes)?;
                Ok(Copies { next, step: 0, left: 1 })
            }
        }
    }

    fn copies(&self, region: usize, at: usize) -> Copies {
        let held = self.global.region(region);
        Copies { next: Place::Global { region, at }, step: held.replica_bytes(), left: held.replicas as usize }
    }

    /// Loads each element: that of all replicas, combined.
    pub(super) fn load_combined(
        &mut self,
        cta: &mut Cta,
        warp: usize,
        pc: u32,
        active: u32,
        kind: &Kind,
    ) -> Result<(), Stop> {
        let &Kind::LoadCombined { dst, bytes, combine, ref address } = kind else { return Ok(()) };
        let addresses = cta.warps[warp].addresses(address, true);
        let ty = combine.ty();
        let size = (ty.bits() / 8) as usize;
        let mut words = [[0; LANES]; 4];
        for lane in set(active) {
            let trap = |cause| Stop::Trap { pc, lane: lane as u32, cause };
            let address = addresses[lane];
            if !address.is_multiple_of(bytes.into()) {
                return Err(trap(Cause::Misaligned { space: "global", address, bytes: bytes.into() }));
            }
            let found = self.global.find_replicas(address, bytes.into());
            let (region, at) = found.ok_or_else(|| {
                let near = self.global.describe_multicast(address);
                trap(Cause::OutOfBounds { space: "global", address, bytes: bytes.into(), near })
            })?;
            for element in (0..usize::from(bytes)).step_by(size) {
                let places = self.copies(region, at + element);
                let values: Vec<u64> = places.map(|place| self.read(cta, warp, place, size)).collect();
                let value = match combine {
                    OfReplicas::Op(op, ty) => {
                        let all = values.into_iter();
                        all.reduce(|all, one| scalar::atomic_with_subnormals(op, ty, all, one)).unwrap_or(0)
                    }
                    OfReplicas::SingleSum(ty) => scalar::sum_in_single(ty, values.into_iter()),
                };
                words[element / 4][lane] = value as u32;
                if size == 8 {
                    words[element / 4 + 1][lane] = (value >> 32) as u32;
                }
            }
        }
        let w = &mut cta.warps[warp];
        let count = u16::from(bytes.div_ceil(4));
        (0..count).for_each(|word| w.write(dst + word, &words[usize::from(word)], active));
        Ok(())
    }
}
