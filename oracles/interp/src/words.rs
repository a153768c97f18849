//! Loads and stores of whole, defined words by all lanes together, as nearly every access is.
//!
//! Each function does the whole access, or nothing at all where a case needs more care: undefined bits, a fault, lanes
//! in different memories, parts of words, an observer. [`super::access`] handles these cases lane by lane.

use super::access::{Fault, Located, Spaces, address_of, address_undefined};
use super::frame::Frame;
use super::memory::{Bytes, CONST_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use super::program::{Access, Address, Memory, Place, Slot};
use oriole_semantics::lanes::{LANES, lanes};

/// The words of the widest access: a vector of eight.
const MOST_WORDS: usize = 8;

/// The steps that it takes to find the memory of an access that may go to any.
const MEMORY_STEPS: u64 = 1;

/// The slots of the words that an access moves, lowest address first; none where it moves parts of words.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words {
    slots: [Slot; MOST_WORDS],
    count: usize,
}

impl Words {
    /// The words of registers that hold so many bytes each.
    pub fn new(regs: &[Slot], bytes: u8) -> Words {
        let each = u32::from(bytes) / 4;
        let count = each as usize * regs.len();
        let mut words = Words::default();
        if count <= MOST_WORDS {
            words.count = count;
            let all = regs.iter().flat_map(|slot| *slot..slot + each);
            words.slots.iter_mut().zip(all).for_each(|(word, slot)| *word = slot);
        }
        words
    }

    /// Whether there are any.
    pub fn any(&self) -> bool {
        self.count > 0
    }

    fn slots(&self) -> &[Slot] {
        &self.slots[..self.count]
    }

    /// The bytes of all words; a power of two, as vectors have 1, 2, 4 or 8 elements.
    fn bytes(&self) -> usize {
        4 * self.count
    }

    /// The steps that an access of all lanes takes beside its own: a word of a vector takes about as long as an access.
    fn extra_steps(&self) -> u64 {
        self.count.saturating_sub(1) as u64
    }

    fn all_defined(&self, frame: &Frame, mask: u32) -> bool {
        self.slots().iter().all(|slot| frame.undefined[*slot as usize] & mask == 0)
    }
}

/// What the lanes of a mask access, if that is in one memory.
enum Together {
    /// The same place for all.
    Same(Located),
    /// A place in that memory, and the offset of each lane's.
    Apart(Located, [u32; LANES]),
}

impl Spaces<'_> {
    /// A load from shared memory.
    #[inline(always)]
    pub fn load_shared(&mut self, frame: &mut Frame, access: &Access, mask: u32) -> Result<(), Fault> {
        self.extra_steps += access.words.extra_steps();
        let shared = &*self.shared;
        let offsets = word_offsets(frame, access, mask, shared.len(), 0).filter(|_| self.races.is_none());
        // Plain branches, since closures of `Option` are not compiled for the processor's vectors.
        if let Some(offsets) = offsets
            && gather(frame, shared, &access.words, &offsets, mask).is_some()
        {
            return Ok(());
        }
        self.load(frame, access, mask)
    }

    /// A load from global memory.
    #[inline(always)]
    pub fn load_global(&mut self, frame: &mut Frame, access: &Access, mask: u32) -> Result<(), Fault> {
        self.extra_steps += access.words.extra_steps();
        let Some(region) = self.global_region(frame, access, mask).filter(|_| self.races.is_none()) else {
            return self.load(frame, access, mask);
        };
        let region = self.global.region(region);
        let offsets = word_offsets(frame, access, mask, region.bytes.len(), region.base);
        if let Some(offsets) = offsets
            && gather(frame, &region.bytes, &access.words, &offsets, mask).is_some()
        {
            return Ok(());
        }
        self.load(frame, access, mask)
    }

    /// A store to shared memory.
    #[inline(always)]
    pub fn store_shared(&mut self, frame: &Frame, access: &Access, mask: u32) -> Result<(), Fault> {
        self.extra_steps += access.words.extra_steps();
        let plain = self.races.is_none() && access.words.all_defined(frame, mask);
        match word_offsets(frame, access, mask, self.shared.len(), 0).filter(|_| plain) {
            Some(offsets) => {
                scatter(frame, self.shared, &access.words, &offsets, mask);
                Ok(())
            }
            None => self.store(frame, access, mask),
        }
    }

    /// A store to global memory.
    #[inline(always)]
    pub fn store_global(&mut self, frame: &Frame, access: &Access, mask: u32) -> Result<(), Fault> {
        self.extra_steps += access.words.extra_steps();
        let plain = self.races.is_none() && self.watch.is_empty() && access.words.all_defined(frame, mask);
        let Some(region) = self.global_region(frame, access, mask).filter(|_| plain) else {
            return self.store(frame, access, mask);
        };
        let region = self.global.region_mut(region);
        let Some(offsets) = word_offsets(frame, access, mask, region.bytes.len(), region.base) else {
            return self.store(frame, access, mask);
        };
        scatter(frame, &mut region.bytes, &access.words, &offsets, mask);
        Ok(())
    }

    /// The region that the first lane accesses; most often that of all.
    #[inline(always)]
    fn global_region(&mut self, frame: &Frame, access: &Access, mask: u32) -> Option<usize> {
        let lane = mask.trailing_zeros() as usize;
        let bytes = access.words.bytes() as u64;
        let region = self.global.find(self.hint, address_of(frame, &access.address, lane), bytes)?;
        self.hint = region;
        Some(region)
    }

    /// A load from any memory.
    #[inline(always)]
    pub fn load_any(&mut self, frame: &mut Frame, access: &Access, mask: u32) -> Result<(), Fault> {
        self.extra_steps += MEMORY_STEPS + access.words.extra_steps();
        let plain = self.races.is_none() && access.words.any();
        let done = match self.together(frame, access, mask) {
            Some(Together::Same(start)) if plain => self.broadcast(frame, &access.words, start, mask),
            Some(Together::Apart(start, offsets)) if plain => {
                gather(frame, self.memory(start).0, &access.words, &offsets, mask)
            }
            _ => None,
        };
        match done {
            Some(()) => Ok(()),
            None => self.load(frame, access, mask),
        }
    }

    /// A store to any memory.
    #[inline(always)]
    pub fn store_any(&mut self, frame: &Frame, access: &Access, mask: u32) -> Result<(), Fault> {
        self.extra_steps += MEMORY_STEPS + access.words.extra_steps();
        let plain = self.races.is_none() && self.watch.is_empty() && access.words.any();
        if plain
            && access.words.all_defined(frame, mask)
            && let Some(Together::Apart(start, offsets)) = self.together(frame, access, mask)
            && let Ok((memory, _)) = self.memory_mut(start)
        {
            scatter(frame, memory, &access.words, &offsets, mask);
            return Ok(());
        }
        self.store(frame, access, mask)
    }

    /// Where the lanes of a mask access whole words, if that is in one memory and no lane's access is a fault.
    #[inline(always)]
    fn together(&mut self, frame: &Frame, access: &Access, mask: u32) -> Option<Together> {
        let (address, whole) = (&access.address, access.words.bytes());
        if address_undefined(frame, address) & mask != 0 || whole == 0 {
            return None;
        }
        let first = mask.trailing_zeros() as usize;
        let start = self.locate(address.memory, address_of(frame, address, first), whole as u64, first).ok()?;
        if matches!(address.base, Place::None | Place::Pred(_)) && !matches!(start, Located::Local(_)) {
            return Some(Together::Same(start));
        }
        let generic = |window| if address.memory == Memory::Generic { window } else { 0 };
        let (base, len, stride) = match start {
            Located::Global(region, _) => {
                let region = self.global.region(region);
                (region.base, region.bytes.len(), 0)
            }
            Located::Shared(_) => (generic(SHARED_WINDOW), self.shared.len(), 0),
            // Lanes may access the memory of one CTA each.
            Located::Peer(..) => return None,
            Located::Local(_) => (generic(LOCAL_WINDOW), self.local.stride, self.local.stride),
            Located::Const(_) => (generic(CONST_WINDOW), self.constants.len(), 0),
            Located::Param(_) => (generic(PARAM_WINDOW), self.params.len(), 0),
        };
        let last = u32::try_from(len.checked_sub(whole)?).ok()?;
        let mut offsets = lane_offsets(frame, address, mask, u64::from(last), whole as u64 - 1, base)?;
        for (lane, offset) in offsets.iter_mut().enumerate() {
            *offset += (lane * stride) as u32;
        }
        Some(Together::Apart(start, offsets))
    }

    /// Loads the same words in every lane.
    #[inline(always)]
    fn broadcast(&self, frame: &mut Frame, words: &Words, start: Located, mask: u32) -> Option<()> {
        let (memory, at) = self.memory(start);
        let mut values = [0; MOST_WORDS];
        for (index, value) in values[..words.count].iter_mut().enumerate() {
            let (word, undefined) = memory.load(at + 4 * index, 4);
            if undefined {
                return None;
            }
            *value = word as u32;
        }
        for (slot, value) in words.slots().iter().zip(values) {
            frame.set(*slot, &[value; LANES], 0, mask);
        }
        Some(())
    }
}

/// Offsets of an access's words within `len` bytes at `base`, or `None` if any active lane's are not there or not
/// aligned. Lanes that are not active have offset 0, where there are as many bytes.
#[inline(always)]
fn word_offsets(frame: &Frame, access: &Access, mask: u32, len: usize, base: u64) -> Option<[u32; LANES]> {
    let Access { address, words, .. } = access;
    let whole = words.bytes();
    if address_undefined(frame, address) & mask != 0 || len < whole || len > u32::MAX as usize {
        return None;
    }
    let (last, low) = ((len - whole) as u64, whole as u64 - 1);
    lane_offsets(frame, address, mask, last, low, base)
}

/// The same, where the last offset and the bits that are zero in aligned ones are known.
#[inline(always)]
fn lane_offsets(frame: &Frame, address: &Address, mask: u32, last: u64, low: u64, base: u64) -> Option<[u32; LANES]> {
    let mut offsets = [0; LANES];
    let mut bad = 0u64;
    match address.base {
        Place::Pair(slot) => {
            let bases = frame.pair(slot);
            for lane in 0..LANES {
                let offset = bases[lane].wrapping_add(address.offset).wrapping_sub(base);
                let active = u64::from(mask >> lane & 1);
                bad |= (u64::from(offset > last) | (offset & low)) & 0u64.wrapping_sub(active);
                offsets[lane] = offset as u32 & 0u32.wrapping_sub(active as u32);
            }
        }
        Place::Word(slot) => {
            let bases = &frame.words[slot as usize];
            for lane in 0..LANES {
                let offset = bases[lane].wrapping_add(address.offset as u32);
                let active = u64::from(mask >> lane & 1);
                bad |= (u64::from(u64::from(offset) > last) | (u64::from(offset) & low)) & 0u64.wrapping_sub(active);
                offsets[lane] = offset & 0u32.wrapping_sub(active as u32);
            }
            // Global memory has no 32-bit addresses.
            bad |= base;
        }
        _ => {
            let offset = address_of(frame, address, 0).wrapping_sub(base);
            bad = u64::from(offset > last) | (offset & low);
            offsets = [offset as u32; LANES];
        }
    }
    (bad == 0).then_some(offsets)
}

/// Loads from offsets of this memory that have been checked; not where anything there is undefined.
#[inline(always)]
fn gather(frame: &mut Frame, bytes: &Bytes, words: &Words, offsets: &[u32; LANES], mask: u32) -> Option<()> {
    // All words are read before any is written: a register of the address may be among them.
    let mut values = [[0; LANES]; MOST_WORDS];
    let mut offsets = *offsets;
    for value in &mut values[..words.count] {
        // SAFETY: the active lanes' offsets are aligned with all words within the memory, and the others begin at 0,
        // where there are as many bytes.
        let (read, undefined) = unsafe { bytes.gather(&offsets) };
        if undefined & mask != 0 {
            return None;
        }
        *value = read;
        offsets.iter_mut().for_each(|offset| *offset += 4);
    }
    words.slots().iter().zip(&values).for_each(|(slot, value)| frame.set(*slot, value, 0, mask));
    Some(())
}

#[inline(always)]
fn scatter(frame: &Frame, bytes: &mut Bytes, words: &Words, offsets: &[u32; LANES], mask: u32) {
    if let [slot] = words.slots() {
        let word = &frame.words[*slot as usize];
        return lanes(mask).for_each(|lane| bytes.store(offsets[lane] as usize, 4, u64::from(word[lane]), false));
    }
    // Lanes write the same place or places apart, so the last one's words stay there in this order too.
    for (index, pair) in words.slots().chunks_exact(2).enumerate() {
        let [low, high] = [pair[0], pair[1]].map(|slot| &frame.words[slot as usize]);
        for lane in lanes(mask) {
            let value = u64::from(low[lane]) | u64::from(high[lane]) << 32;
            bytes.store(offsets[lane] as usize + 8 * index, 8, value, false);
        }
    }
}
