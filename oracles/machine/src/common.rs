//! Accesses of all lanes of a warp to one memory, of which none traps: the usual case, without a look at each lane.

use super::access::extended;
use super::cluster::RANK_AT;
use super::lanes::{LANES, Lanes, set};
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

/// Whether all lanes of a mask access so many bytes, a power of two, within a memory, at multiples of their number.
fn is_within(addresses: &[u64; LANES], active: u32, (base, len): (u64, u64), bytes: u64) -> bool {
    let Some(last) = len.checked_sub(bytes) else { return false };
    // The highest offset and all low bits decide; lanes that are not in the mask count as one that is.
    let first = addresses[active.trailing_zeros() as usize & 31];
    let (mut highest, mut low) = (0, 0);
    let mut lane = 0;
    while lane < LANES {
        let address = if active >> lane & 1 == 1 { addresses[lane] } else { first };
        highest = u64::max(highest, address.wrapping_sub(base));
        low |= address;
        lane += 1;
    }
    highest <= last && low & (bytes - 1) == 0
}

/// Reads a word for each lane, from a memory that begins at an address, if each lane reads the word behind that of the
/// lane before it.
pub fn load_row(memory: &[u8], addresses: &[u64; LANES], base: u64) -> Option<Lanes> {
    let first = addresses[0];
    let mut apart = 0;
    let mut lane = 0;
    while lane < LANES {
        apart |= addresses[lane] ^ first.wrapping_add(4 * lane as u64);
        lane += 1;
    }
    if apart != 0 {
        return None;
    }
    let bytes = memory.get((first - base) as usize..)?.first_chunk::<{ 4 * LANES }>()?;
    let (words, _) = bytes.as_chunks::<4>();
    Some(std::array::from_fn(|lane| u32::from_le_bytes(words[lane])))
}

/// Reads what a load of each lane of a mask gives, from a memory that begins at an address.
pub fn load_words(memory: &[u8], addresses: &[u64; LANES], base: u64, active: u32, width: Width, words: &mut [Lanes]) {
    let bytes = usize::from(width.bytes);
    match (width.bytes, base.is_multiple_of(16)) {
        (4, true) => gather::<4>(memory, addresses, base, active, words),
        (8, true) => gather::<8>(memory, addresses, base, active, words),
        (16, true) => gather::<16>(memory, addresses, base, active, words),
        _ => {
            for lane in set(active) {
                let at = (addresses[lane] - base) as usize;
                match memory[at..at + bytes] {
                    [byte] => words[0][lane] = extended(byte.into(), width) as u32,
                    [low, high] => words[0][lane] = extended(u16::from_le_bytes([low, high]).into(), width) as u32,
                    ref bytes => {
                        for (word, piece) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                            word[lane] = u32::from_le_bytes(piece.first_chunk().copied().unwrap_or_default());
                        }
                    }
                }
            }
        }
    }
}

/// Reads some words for each lane of a mask; the memory begins at a multiple of their size, and so does what is read.
fn gather<const BYTES: usize>(memory: &[u8], addresses: &[u64; LANES], base: u64, active: u32, words: &mut [Lanes]) {
    let (chunks, _) = memory.as_chunks::<BYTES>();
    for lane in 0..LANES {
        if active >> lane & 1 == 1 {
            let (pieces, _) = chunks[(addresses[lane] - base) as usize / BYTES].as_chunks::<4>();
            for at in 0..BYTES / 4 {
                words[at][lane] = u32::from_le_bytes(pieces[at]);
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
