//! Memory: bytes, and for each byte whether anything has defined it.
//!
//! Generic addresses: the windows below are where shared, local, constant and parameter memory appear; everything
//! else is global. Global memory is a list of regions with unmapped gaps between them, so that an access out of
//! bounds of its buffer is seen, unless it is off by more than 64 KiB.

use oriole_ir::diagnostics::counted;
use oriole_ir::ops::Space;

/// Where shared memory appears in the generic space.
pub const SHARED_WINDOW: u64 = 0x7000_0000_0000;
/// Where the thread's local memory appears in the generic space.
pub const LOCAL_WINDOW: u64 = 0x7100_0000_0000;
/// Where constant memory appears in the generic space.
pub const CONST_WINDOW: u64 = 0x7200_0000_0000;
/// Where kernel parameters appear in the generic space.
pub const PARAM_WINDOW: u64 = 0x7300_0000_0000;
/// Addresses of functions begin here, 16 bytes apart.
pub const CODE_WINDOW: u64 = 0x7400_0000_0000;
/// Every window has this size.
pub const WINDOW: u64 = 1 << 40;

/// Multicast addresses are those of the first replicas beyond this one: above all buffers and variables. No region lies
/// there, so that nothing but `multimem` accesses them.
pub const MULTICAST_WINDOW: u64 = 0x4000_0000_0000;
/// Where they end.
const MULTICAST_END: u64 = 0x5000_0000_0000;

/// Where a space appears in the generic one: 0 for global memory, which is the rest of it.
pub fn generic_window(space: Space) -> Option<u64> {
    match space {
        Space::Generic | Space::Global => Some(0),
        Space::Shared | Space::Cluster => Some(SHARED_WINDOW),
        Space::Local => Some(LOCAL_WINDOW),
        Space::Const => Some(CONST_WINDOW),
        Space::Param => Some(PARAM_WINDOW),
    }
}

const FIRST_GLOBAL: u64 = 0x1_0000_0000;
/// Where the module's own variables begin: above all buffers, so that a buffer's address does not depend on them.
pub const FIRST_VARIABLE: u64 = 0x100_0000_0000;
/// Where memory that kernels allocate begins: above all buffers and variables.
pub const HEAP: u64 = 0x6000_0000_0000;
/// How many bytes may be allocated at a time, as CUDA has it by default.
const HEAP_LIMIT: u64 = 8 << 20;
/// How many bytes an allocation takes of that at least, as on the device.
const SMALLEST: u64 = 16;
/// How often a run may allocate, what it frees again included: no address is used twice.
const MOST_ALLOCATIONS: u64 = 1 << 20;
/// Unmapped bytes between regions, at least.
pub const GAP: u64 = 1 << 16;

/// Whether a number may be the address of something: global memory and the windows lie there.
pub fn may_be_address(value: u64) -> bool {
    (FIRST_GLOBAL..CODE_WINDOW + WINDOW).contains(&value)
}

/// Why an access has its bytes.
const INSIDE: &str = "an access is looked for before it is made";

/// A region of memory with a bit per byte that nothing has defined.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    data: Vec<u8>,
    undefined: Vec<u64>,
    /// Whether any byte was ever undefined; until then no bit is set, and accesses leave the bits alone.
    open: bool,
}

impl Bytes {
    /// Bytes that are all defined.
    pub fn defined(data: Vec<u8>) -> Bytes {
        let undefined = vec![0; data.len().div_ceil(64)];
        Bytes { data, undefined, open: false }
    }

    /// Bytes that nothing has defined; they read as a pattern that is unlikely to be wanted.
    pub fn undefined(len: usize) -> Bytes {
        Bytes { data: vec![0xA5; len], undefined: vec![u64::MAX; len.div_ceil(64)], open: true }
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The bytes, undefined ones included.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The bytes, for those to whom all are defined.
    pub fn data_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }

    /// Whether a byte is undefined.
    pub fn is_undefined(&self, at: usize) -> bool {
        self.undefined[at / 64] >> (at % 64) & 1 == 1
    }

    /// How many bytes of this machine's memory they take.
    pub fn held(&self) -> usize {
        self.data.len() + 8 * self.undefined.len()
    }

    /// Makes a range undefined again.
    pub fn forget(&mut self, range: std::ops::Range<usize>) {
        self.open = true;
        let mut at = range.start;
        while at < range.end {
            let count = (64 - at % 64).min(range.end - at);
            self.undefined[at / 64] |= u64::MAX >> (64 - count) << (at % 64);
            at += count;
        }
    }

    /// Makes the bytes from a place on a copy of others; places and length are multiples of 64.
    pub fn copy_from(&mut self, to: usize, other: &Bytes, from: std::ops::Range<usize>) {
        debug_assert!([to, from.start, from.end].iter().all(|at| at % 64 == 0));
        let (words, from_words) = (to / 64, from.start / 64..from.end / 64);
        self.data[to..to + from.len()].copy_from_slice(&other.data[from]);
        self.undefined[words..words + from_words.len()].copy_from_slice(&other.undefined[from_words]);
        self.open |= other.open;
    }

    /// Reads 1, 2, 4 or 8 bytes at a multiple of their number; and whether any is undefined.
    #[inline(always)]
    pub fn load(&self, at: usize, bytes: usize) -> (u64, bool) {
        let value = match bytes {
            1 => u64::from(self.data[at]),
            2 => u64::from(u16::from_le_bytes(self.array(at))),
            4 => u64::from(u32::from_le_bytes(self.array(at))),
            _ => u64::from_le_bytes(self.array(at)),
        };
        (value, self.open && self.undefined[at / 64] >> (at % 64) & mask(bytes) != 0)
    }

    /// Writes 1, 2, 4 or 8 bytes at a multiple of their number.
    #[inline(always)]
    pub fn store(&mut self, at: usize, bytes: usize, value: u64, undefined: bool) {
        match bytes {
            1 => self.data[at] = value as u8,
            2 => *self.array_mut(at) = (value as u16).to_le_bytes(),
            4 => *self.array_mut(at) = (value as u32).to_le_bytes(),
            _ => *self.array_mut(at) = value.to_le_bytes(),
        }
        self.open |= undefined;
        if self.open {
            let bits = mask(bytes) << (at % 64);
            let word = &mut self.undefined[at / 64];
            *word = if undefined { *word | bits } else { *word & !bits };
        }
    }

    /// Reads an aligned word for each lane, and which lanes' words are undefined.
    ///
    /// # Safety
    /// Every offset is a multiple of 4 with at least 4 bytes after it.
    #[inline(always)]
    pub unsafe fn gather(&self, offsets: &[u32; 32]) -> ([u32; 32], u32) {
        let unknown = |offset: u32| {
            // SAFETY: the caller's offsets lie in `data`, and `undefined` has a bit for each of its bytes.
            let word = unsafe { self.undefined.get_unchecked(offset as usize / 64) };
            word >> (offset % 64) & 0xF
        };
        let value = |offset: u32| {
            // SAFETY: as the caller promises.
            u32::from_le_bytes(unsafe { self.data.as_ptr().add(offset as usize).cast::<[u8; 4]>().read() })
        };
        let mut values = [0; 32];
        if !self.open {
            values.iter_mut().zip(offsets).for_each(|(word, offset)| *word = value(*offset));
            return (values, 0);
        }
        let mut any = 0;
        for (word, offset) in values.iter_mut().zip(offsets) {
            *word = value(*offset);
            any |= unknown(*offset);
        }
        if any == 0 {
            return (values, 0);
        }
        let lane = |(i, offset): (usize, &u32)| u32::from(unknown(*offset) != 0) << i;
        (values, offsets.iter().enumerate().map(lane).sum())
    }

    #[inline(always)]
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.data[at..].first_chunk().expect(INSIDE)
    }

    #[inline(always)]
    fn array_mut<const N: usize>(&mut self, at: usize) -> &mut [u8; N] {
        self.data[at..].first_chunk_mut().expect(INSIDE)
    }
}

impl PartialEq for Bytes {
    /// What the bytes are now counts, not what they were.
    fn eq(&self, other: &Bytes) -> bool {
        (&self.data, &self.undefined) == (&other.data, &other.undefined)
    }
}

impl Eq for Bytes {}

#[inline(always)]
fn mask(bytes: usize) -> u64 {
    (1 << bytes) - 1
}

/// A mapped part of global memory.
#[derive(Clone, Debug)]
pub struct Region {
    /// What it is, for messages.
    pub name: String,
    /// Its first address.
    pub base: u64,
    /// Its content.
    pub bytes: Bytes,
    /// Whether it was allocated and is so no longer.
    pub freed: bool,
    /// How many replicas of multicast memory it holds, one after another; 0 where it is none.
    pub replicas: u32,
}

impl Region {
    fn new(name: impl Into<String>, base: u64, bytes: Bytes) -> Region {
        Region { name: name.into(), base, bytes, freed: false, replicas: 0 }
    }

    /// The bytes of a replica; 0 where there are none.
    pub fn replica_bytes(&self) -> usize {
        self.bytes.len().checked_div(self.replicas as usize).unwrap_or(0)
    }
}

/// Global memory.
#[derive(Clone, Debug, Default)]
pub struct GlobalMemory {
    regions: Vec<Region>,
    /// Bytes of the heap that are in use.
    allocated: u64,
    /// How often something was allocated.
    allocations: u64,
}

impl GlobalMemory {
    /// Maps a region and returns its address, which is a multiple of 64 KiB.
    pub fn map(&mut self, name: impl Into<String>, bytes: Bytes) -> u64 {
        let end = self.regions.last().map_or(FIRST_GLOBAL, |r| r.base + r.bytes.len() as u64);
        let base = end.next_multiple_of(GAP) + GAP;
        self.regions.push(Region::new(name, base, bytes));
        base
    }

    /// Maps a region of so many replicas of multicast memory, and returns the address of the first.
    pub fn map_replicas(&mut self, name: impl Into<String>, bytes: Bytes, replicas: u32) -> u64 {
        let base = self.map(name, bytes);
        if let Some(region) = self.regions.last_mut() {
            region.replicas = replicas;
        }
        base
    }

    /// The index of the region, and the place in each of its replicas, that an access to a multicast address goes to.
    pub fn find_replicas(&self, address: u64, bytes: u64) -> Option<(usize, usize)> {
        let first = address.checked_sub(MULTICAST_WINDOW)?;
        let index = self.find(0, first, 1)?;
        let region = &self.regions[index];
        let (offset, len) = ((first - region.base) as usize, region.replica_bytes());
        (offset < len && (len - offset) as u64 >= bytes).then_some((index, offset))
    }

    /// Maps a region at an address above all others.
    pub fn map_at(&mut self, base: u64, name: impl Into<String>, bytes: Bytes) {
        debug_assert!(self.regions.last().is_none_or(|r| r.base + r.bytes.len() as u64 <= base));
        self.regions.push(Region::new(name, base, bytes));
    }

    /// Allocates undefined bytes on the heap and returns their address, or 0 where the heap is too small, or all
    /// addresses were used. None is ever used again.
    pub fn allocate(&mut self, bytes: u64) -> u64 {
        let taken = bytes.max(SMALLEST);
        if taken > HEAP_LIMIT - self.allocated || self.allocations == MOST_ALLOCATIONS {
            return 0;
        }
        self.allocations += 1;
        let end = self.regions.last().map_or(0, |r| r.base + r.bytes.len() as u64);
        let base = if end < HEAP { HEAP } else { end.next_multiple_of(GAP) + GAP };
        self.allocated += taken;
        self.regions.push(Region::new("the heap", base, Bytes::undefined(bytes as usize)));
        base
    }

    /// Unmaps what [`allocate`](Self::allocate) returned; whether the address was one of those.
    pub fn free(&mut self, address: u64) -> bool {
        let Ok(index) = self.regions.binary_search_by_key(&address, |region| region.base) else { return false };
        let region = &mut self.regions[index];
        if address < HEAP || region.freed {
            return false;
        }
        self.allocated -= (region.bytes.len() as u64).max(SMALLEST);
        (region.bytes, region.freed) = (Bytes::default(), true);
        true
    }

    /// The regions, by address.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The regions, by address, for who takes the memory apart.
    pub fn into_regions(self) -> Vec<Region> {
        self.regions
    }

    /// The index of the region that an access lies in, trying `hint` first.
    #[inline(always)]
    pub fn find(&self, hint: usize, address: u64, bytes: u64) -> Option<usize> {
        let inside = |region: &Region| {
            let offset = address.wrapping_sub(region.base);
            let len = region.bytes.len() as u64;
            offset < len && len - offset >= bytes
        };
        match self.regions.get(hint) {
            Some(region) if inside(region) => Some(hint),
            _ => {
                let index = self.regions.partition_point(|r| r.base <= address).checked_sub(1)?;
                inside(&self.regions[index]).then_some(index)
            }
        }
    }

    /// A region.
    #[inline(always)]
    pub fn region(&self, index: usize) -> &Region {
        &self.regions[index]
    }

    /// A region, to change.
    #[inline(always)]
    pub fn region_mut(&mut self, index: usize) -> &mut Region {
        &mut self.regions[index]
    }

    /// A sentence about a multicast address that leads nowhere, for traps.
    pub fn describe_multicast(&self, address: u64) -> String {
        let first = address.wrapping_sub(MULTICAST_WINDOW);
        let index = self.regions.partition_point(|region| region.base <= first).checked_sub(1);
        match index.map(|index| &self.regions[index]).filter(|region| region.replicas > 0) {
            Some(region) if (MULTICAST_WINDOW..MULTICAST_END).contains(&address) => {
                let (offset, len) = (first - region.base, region.replica_bytes());
                format!("byte {offset} of a replica of `{}`, which has {len}", region.name, len = counted(len, "byte"))
            }
            _ => "it is no multicast address, which `multimem` needs".to_owned(),
        }
    }

    /// A sentence about where an address lies, for traps.
    pub fn describe(&self, address: u64) -> String {
        if (MULTICAST_WINDOW..MULTICAST_END).contains(&address) {
            return "it is a multicast address, which `multimem` alone accesses".to_owned();
        }
        let index = self.regions.partition_point(|r| r.base <= address);
        match index.checked_sub(1).map(|i| &self.regions[i]) {
            Some(region) if address - region.base < region.bytes.len() as u64 + GAP => {
                let offset = address - region.base;
                format!("byte {offset} of `{}`, which has {}", region.name, counted(region.bytes.len(), "byte"))
            }
            _ => match self.regions.get(index) {
                Some(next) if next.base - address <= GAP => {
                    format!("{} before `{}`", counted(next.base - address, "byte"), next.name)
                }
                _ => "no buffer is near".to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_bytes_are_tracked_one_by_one() {
        let mut bytes = Bytes::undefined(130);
        bytes.store(64, 4, 0x0102_0304, false);
        assert_eq!(bytes.load(64, 4), (0x0102_0304, false));
        assert_eq!(bytes.load(66, 2), (0x0102, false));
        assert!(bytes.load(64, 8).1);
        bytes.store(65, 1, 9, true);
        assert!(bytes.load(64, 4).1 && !bytes.load(64, 1).1);
    }

    #[test]
    fn defined_bytes_can_become_undefined_and_defined_again() {
        let defined = Bytes::defined(vec![7; 8]);
        let mut stored = defined.clone();
        stored.store(4, 4, 7, true);
        assert!(!stored.load(0, 4).1 && stored.load(4, 4).1 && stored.load(0, 8).1);
        // SAFETY: the offsets are multiples of 4 within 8 bytes.
        assert_eq!(unsafe { stored.gather(&std::array::from_fn(|lane| 4 * (lane as u32 % 2))) }.1, 0xAAAA_AAAA);
        assert_ne!(stored, defined);
        stored.store(0, 8, 0x0707_0707_0707_0707, false);
        assert_eq!(stored, defined, "what has been undefined is no difference");
    }

    #[test]
    fn a_range_is_forgotten_and_nothing_beside_it() {
        for (start, end) in (0..140).flat_map(|start| (start..=140).map(move |end| (start, end))) {
            let mut bytes = Bytes::defined(vec![0; 140]);
            bytes.forget(start..end);
            assert!((0..140).all(|at| bytes.is_undefined(at) == (start..end).contains(&at)), "{start}..{end}");
        }
    }

    #[test]
    fn freed_memory_is_gone_and_counts_no_more() {
        let mut memory = GlobalMemory::default();
        let buffer = memory.map("a", Bytes::defined(vec![0; 16]));
        let first = memory.allocate(HEAP_LIMIT - 16);
        let second = memory.allocate(8);
        assert!(memory.find(0, second, 8).is_some() && memory.allocate(0) == 0);
        assert!(memory.free(first) && !memory.free(first) && !memory.free(buffer));
        assert_eq!(memory.find(0, first, 1), None);
        assert!(memory.allocate(100) > second);
    }

    /// Neither what takes no bytes nor what is freed at once continues for ever.
    #[test]
    fn allocations_have_an_end() {
        for frees in [false, true] {
            let mut memory = GlobalMemory::default();
            let one = |memory: &mut GlobalMemory| match memory.allocate(0) {
                0 => false,
                address => !frees || memory.free(address),
            };
            let most = if frees { MOST_ALLOCATIONS } else { HEAP_LIMIT / SMALLEST };
            assert!((0..most).all(|_| one(&mut memory)) && !one(&mut memory));
        }
    }

    #[test]
    fn accesses_past_a_buffer_are_not_found() {
        let mut memory = GlobalMemory::default();
        let a = memory.map("a", Bytes::defined(vec![0; 16]));
        let b = memory.map("b", Bytes::defined(vec![0; 8]));
        assert_eq!(memory.find(0, a + 12, 4), Some(0));
        assert_eq!(memory.find(0, a + 13, 4), None);
        assert_eq!(memory.find(0, b, 8), Some(1));
        assert_eq!(memory.find(1, a - 1, 1), None);
        assert_eq!(memory.describe(a + 20), "byte 20 of `a`, which has 16 bytes");
        assert_eq!(memory.describe(a - 4), "4 bytes before `a`");
    }
}
