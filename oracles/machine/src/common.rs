//! Accesses of all lanes of a warp to one memory, of which none traps: the usual case, without a look at each lane.

use super::access::extended;
use super::cluster::RANK_AT;
use super::lanes::{LANES, mask, set};
use super::machine::{Cta, Machine};
use super::program::*;

impl Machine<'_> {
    /// The memory in which all lanes of a mask access so many bytes at addresses that are aligned to them, and the
    /// address where it begins: the usual case, where nothing traps.
    pub fn common<'a>(
        &'a mut self,
        cta: &'a Cta,
        space: Space,
        addresses: &[u64; LANES],
        active: u32,
        bytes: u64,
    ) -> Option<(&'a [u8], u64)> {
        let (region, base, len) = self.extent(cta, space, addresses, active, bytes)?;
        is_within(addresses, active, (base, len), bytes).then_some(())?;
        Some((region.map_or(&cta.shared[..], |region| self.global.region(region).bytes.data()), base))
    }

    /// The same to write there.
    pub fn common_mut<'a>(
        &'a mut self,
        cta: &'a mut Cta,
        space: Space,
        addresses: &[u64; LANES],
        active: u32,
        bytes: u64,
    ) -> Option<(&'a mut [u8], u64)> {
        let (region, base, len) = self.extent(cta, space, addresses, active, bytes)?;
        is_within(addresses, active, (base, len), bytes).then_some(())?;
        Some((
            match region {
                Some(region) => self.global.region_mut(region).bytes.data_mut(),
                None => &mut cta.shared[..],
            },
            base,
        ))
    }

    /// The region of global memory where the first lane of a mask accesses bytes, or none for shared memory; where it
    /// begins, and its length.
    fn extent(
        &mut self,
        cta: &Cta,
        space: Space,
        addresses: &[u64; LANES],
        active: u32,
        bytes: u64,
    ) -> Option<(Option<usize>, u64, u64)> {
        match space {
            Space::Shared => Some((None, u64::from(cta.rank) << RANK_AT, cta.shared.len() as u64)),
            Space::Global | Space::Generic => {
                let region = self.global.find(self.hint, addresses[active.trailing_zeros() as usize & 31], bytes)?;
                self.hint = region;
                let found = self.global.region(region);
                Some((Some(region), found.base, found.bytes.len() as u64))
            }
            _ => None,
        }
    }
}

/// Whether all lanes of a mask access so many bytes within a memory, at multiples of their number.
fn is_within(addresses: &[u64; LANES], active: u32, (base, len): (u64, u64), bytes: u64) -> bool {
    let fits = |lane: usize| {
        let offset = addresses[lane].wrapping_sub(base);
        addresses[lane].is_multiple_of(bytes) && offset < len && len - offset >= bytes
    };
    active & !mask(fits) == 0
}

/// Reads what a load of each lane of a mask gives, from a memory that begins at an address.
pub fn load_words(
    memory: &[u8],
    addresses: &[u64; LANES],
    base: u64,
    active: u32,
    width: Width,
    words: &mut [[u32; LANES]; 8],
) {
    for lane in set(active) {
        let at = (addresses[lane] - base) as usize;
        match width.bytes {
            1 => words[0][lane] = extended(memory[at].into(), width) as u32,
            2 => words[0][lane] = extended(u16::from_le_bytes([memory[at], memory[at + 1]]).into(), width) as u32,
            bytes => {
                for (word, piece) in words.iter_mut().zip(memory[at..at + usize::from(bytes)].chunks_exact(4)) {
                    word[lane] = u32::from_le_bytes(piece.first_chunk().copied().unwrap_or_default());
                }
            }
        }
    }
}

/// Writes what each lane of a mask stores.
pub fn store_words(
    memory: &mut [u8],
    addresses: &[u64; LANES],
    base: u64,
    active: u32,
    width: Width,
    words: &[[u32; LANES]; 8],
) {
    let piece = usize::from(width.bytes).min(4);
    for lane in set(active) {
        let at = (addresses[lane] - base) as usize;
        for (word, to) in words.iter().zip(memory[at..at + usize::from(width.bytes)].chunks_exact_mut(piece)) {
            to.copy_from_slice(&word[lane].to_le_bytes()[..piece]);
        }
    }
}
