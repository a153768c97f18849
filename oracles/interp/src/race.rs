//! Data races: two accesses to a byte by different threads, one of them a write, not both atomic or strong, and
//! nothing that orders them.
//!
//! Stores of one value do not race: whichever is the last, the byte has that value, and whoever reads it behind one of
//! them reads that.
//!
//! Ordered are accesses with a barrier between them (of the CTA or the warp) that both threads have passed since the
//! first, and accesses where the first thread has since released something and the second one acquired something after
//! that, each by a fence or by an access with that order. Relaxed and volatile accesses order nothing (PTX ISA,
//! "Release and Acquire Patterns"). The two may have synchronised with others than each other, so a race can be missed;
//! what is reported is one. Detection slows a run down by an order of magnitude and is made on request.
//!
//! An asynchronous operation accesses memory from where it begins until some thread has waited for it. An access is
//! ordered behind it if its thread, be it the one that began the operation, has waited or synchronised after that; a
//! barrier that was passed before the wait orders nothing. What is done early, at moments drawn from a seed, counts as
//! waited for by then: where all is done late, more races show.

use rustc_hash::FxHashMap;

use super::program::Memory;
use super::strong::Strong;

/// An access, as the detector sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access<'w> {
    /// The thread's index in the grid.
    pub thread: u64,
    /// The operation.
    pub pc: u32,
    /// Whether it writes.
    pub write: bool,
    /// The bytes that it writes; none where they are not known.
    pub written: &'w [u8],
    /// What it is to other threads, where it is atomic, volatile or otherwise strong.
    pub strong: Option<Strong>,
    /// The number of the asynchronous operation that makes it, which its thread has begun.
    pub beside: Option<u64>,
}

impl Access<'_> {
    /// What it does to so many of its bytes, up to four, from one on.
    fn deed(&self, from: usize, count: usize) -> Deed {
        let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        if self.write { Deed::Write(self.written.get(from..from + count).map(value)) } else { Deed::Read }
    }
}

/// One side of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Party {
    /// The thread's index in the grid.
    pub thread: u64,
    /// The operation.
    pub pc: u32,
    /// Whether it writes.
    pub write: bool,
}

/// Two accesses that race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The space.
    pub memory: Memory,
    /// The byte's address in it, or that of its word where all accesses are to the whole word.
    pub address: u64,
    pub first: Party,
    pub second: Party,
}

/// An access that has been made. Each byte in use has up to three, so this is kept small.
#[derive(Clone, Copy)]
struct Seen {
    thread: u64,
    /// One more than the number of the asynchronous operation, or 0 where there is none.
    beside: u64,
    time: u64,
    pc: u32,
    is_strong: bool,
}

impl Seen {
    fn of(access: &Access<'_>, time: u64) -> Seen {
        let Access { thread, pc, strong, beside, .. } = *access;
        Seen { thread, beside: beside.map_or(0, |operation| operation + 1), time, pc, is_strong: strong.is_some() }
    }

    /// Whether the same thread itself makes both, or the same asynchronous operation.
    fn has_maker_of(&self, other: &Seen) -> bool {
        (self.thread, self.beside) == (other.thread, other.beside)
    }

    fn party(&self, write: bool) -> Party {
        Party { thread: self.thread, pc: self.pc, write }
    }
}

/// What an access does to a byte, or to a granule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Read,
    /// Of a value, where that is known.
    Write(Option<u32>),
}

/// The most stores of one value that are remembered, beside the last.
const MOST_ALIKE: usize = 1024;

/// The last accesses to a byte: the last write, the stores of the same value before it, and two of the reads since.
#[derive(Clone, Default)]
struct Shadow {
    write: Option<Seen>,
    value: Option<u32>,
    alike: Vec<Seen>,
    reads: [Option<Seen>; 2],
}

impl Shadow {
    /// The access that races with a new one.
    fn rival(&self, new: &Seen, deed: Deed, sync: &Synchronisation) -> Option<Party> {
        let races = |seen: &&Seen| sync.races(seen, new, true);
        let mut writes = self.write.iter().chain(&self.alike);
        match deed {
            Deed::Write(_) if self.repeats(deed) => None,
            Deed::Write(_) => {
                let read = self.reads.iter().flatten().find(|seen| sync.races(seen, new, false));
                read.map(|seen| seen.party(false)).or_else(|| writes.find(races).map(|seen| seen.party(true)))
            }
            // One store behind which it stands says what it reads.
            Deed::Read if writes.all(|seen| races(&seen)) => self.write.map(|seen| seen.party(true)),
            Deed::Read => None,
        }
    }

    /// Whether an access stores the value that is there.
    fn repeats(&self, deed: Deed) -> bool {
        matches!(deed, Deed::Write(Some(_))) && deed == Deed::Write(self.value)
    }

    fn note(&mut self, new: Seen, deed: Deed) {
        if self.repeats(deed) {
            let last = self.write.replace(new).filter(|last| !last.has_maker_of(&new));
            self.alike.extend(last.filter(|_| self.alike.len() < MOST_ALIKE));
        } else if let Deed::Write(value) = deed {
            *self = Shadow { write: Some(new), value, alike: Vec::new(), reads: [None; 2] };
        } else if self.reads[0].is_none_or(|read| read.has_maker_of(&new)) {
            self.reads[0] = Some(new);
        } else {
            self.reads[1] = Some(new);
        }
    }
}

/// The bytes of a granule.
const GRANULE: u64 = 4;

/// The last accesses to a few bytes. Nearly all accesses are to whole words, so one shadow stands for all bytes until
/// an access tells them apart.
#[derive(Clone, Default)]
struct Granule {
    whole: Shadow,
    bytes: Option<Box<[Shadow; GRANULE as usize]>>,
}

impl Granule {
    /// The shadows of the bytes from one place to another; one for all of them where they are alike.
    fn shadows(&mut self, from: usize, to: usize) -> &mut [Shadow] {
        let is_whole = to - from == GRANULE as usize;
        if is_whole && self.bytes.is_none() {
            return std::slice::from_mut(&mut self.whole);
        }
        let whole = &self.whole;
        let byte = |at: usize| Shadow { value: whole.value.map(|value| value >> (8 * at) & 0xFF), ..whole.clone() };
        &mut self.bytes.get_or_insert_with(|| Box::new(std::array::from_fn(byte)))[from..to]
    }
}

/// When a thread synchronised, in each way: the last time, but for releases, of which any may be what another thread
/// has waited for.
#[derive(Clone, Default)]
struct Clock {
    barrier: u64,
    releases: Vec<u64>,
    acquire: u64,
}

impl Clock {
    /// When the thread first released what it did at a time.
    fn released(&self, time: u64) -> Option<u64> {
        self.releases.get(self.releases.partition_point(|release| *release <= time)).copied()
    }
}

/// The most races that are reported.
const MAX_CONFLICTS: usize = 16;

/// What orders accesses.
#[derive(Default)]
struct Synchronisation {
    clocks: FxHashMap<u64, Clock>,
    /// When asynchronous operations had read what they read, and were done.
    have_read: FxHashMap<u64, u64>,
    done: FxHashMap<u64, u64>,
    time: u64,
}

impl Synchronisation {
    fn tick(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    /// Whether nothing orders an access that was seen before a new one, where one of them writes.
    fn races(&self, seen: &Seen, new: &Seen, seen_writes: bool) -> bool {
        if seen.has_maker_of(new) || seen.is_strong && new.is_strong {
            return false;
        }
        let never = Clock::default();
        let clock = |thread| self.clocks.get(&thread).unwrap_or(&never);
        if let Some(operation) = seen.beside.checked_sub(1) {
            let over = if seen_writes { &self.done } else { &self.have_read };
            return over.get(&operation).is_none_or(|time| clock(new.thread).acquire <= *time);
        }
        let (first, second) = (clock(seen.thread), clock(new.thread));
        let barrier = first.barrier > seen.time && second.barrier > seen.time;
        let fenced = first.released(seen.time).is_some_and(|release| second.acquire > release);
        let same = seen.thread == new.thread;
        !(same || barrier || fenced)
    }
}

/// What has been seen of a run.
#[derive(Default)]
pub struct Detector {
    /// By owner and number of the granule.
    shadow: FxHashMap<(u64, u64), Granule>,
    sync: Synchronisation,
    /// The races found, in order.
    pub conflicts: Vec<Conflict>,
}

impl Detector {
    /// An access to some bytes. Shared memory is told apart by `cta`.
    pub fn access(&mut self, memory: Memory, cta: u64, address: u64, bytes: u64, access: Access<'_>) {
        if let Some(strong) = access.strong.filter(|_| access.beside.is_none()) {
            self.order(access.thread, strong);
        }
        let owner = if memory == Memory::Shared { cta + 1 } else { 0 };
        let seen = Seen::of(&access, self.sync.time);
        let (start, mut at, end) = (address, address, address + bytes);
        while at < end {
            let (number, from) = (at / GRANULE, at % GRANULE);
            let to = GRANULE.min(from + end - at);
            let granule = self.shadow.entry((owner, number)).or_default();
            let shadows = granule.shadows(from as usize, to as usize);
            let each = (to - from) as usize / shadows.len();
            for (address, shadow) in (at..).zip(shadows) {
                let deed = access.deed((address - start) as usize, each);
                if let Some(first) = shadow.rival(&seen, deed, &self.sync) {
                    let second = seen.party(access.write);
                    return self.report(Conflict { memory, address, first, second });
                }
                shadow.note(seen, deed);
            }
            at += to - from;
        }
    }

    /// Threads that pass a barrier together.
    pub fn barrier(&mut self, threads: impl Iterator<Item = u64>) {
        let time = self.sync.tick();
        threads.for_each(|thread| {
            let clock = self.sync.clocks.entry(thread).or_default();
            (clock.barrier, clock.acquire) = (time, time);
        });
    }

    /// Threads that arrive at a barrier without waiting: what they did before is ordered before what its waiters do.
    pub fn arrive(&mut self, threads: impl Iterator<Item = u64>) {
        let time = self.sync.tick();
        threads.for_each(|thread| self.sync.clocks.entry(thread).or_default().releases.push(time));
    }

    /// Threads that have waited for others that arrived.
    pub fn acquire(&mut self, threads: impl Iterator<Item = u64>) {
        let time = self.sync.tick();
        threads.for_each(|thread| self.sync.clocks.entry(thread).or_default().acquire = time);
    }

    /// A fence, or an access that orders others of its thread.
    pub fn order(&mut self, thread: u64, strong: Strong) {
        let time = self.sync.tick();
        let clock = self.sync.clocks.entry(thread).or_default();
        if strong.releases() {
            clock.releases.push(time);
        }
        if strong.acquires() {
            clock.acquire = time;
        }
    }

    /// An asynchronous operation has read what it reads.
    pub fn has_read(&mut self, operation: u64) {
        let time = self.sync.tick();
        self.sync.have_read.entry(operation).or_insert(time);
    }

    /// An asynchronous operation is done.
    pub fn is_done(&mut self, operation: u64) {
        self.has_read(operation);
        self.sync.done.insert(operation, self.sync.time);
    }

    fn report(&mut self, conflict: Conflict) {
        let key = |c: &Conflict| (c.first.pc, c.second.pc);
        if self.conflicts.len() < MAX_CONFLICTS && !self.conflicts.iter().any(|c| key(c) == key(&conflict)) {
            self.conflicts.push(conflict);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_launch::random::SplitMix64;

    /// The races among accesses, made as they are, and byte by byte where each byte has a granule of its own.
    fn both(accesses: &[(u64, u64, Access<'_>)], barriers: &[usize]) -> [Vec<Conflict>; 2] {
        let run = |scale: u64| {
            let mut detector = Detector::default();
            for (at, (address, bytes, access)) in accesses.iter().enumerate() {
                if barriers.contains(&at) {
                    detector.barrier(0..4);
                }
                let (count, length) = if scale == 1 { (1, *bytes) } else { (*bytes, 1) };
                for byte in 0..count {
                    let known = detector.conflicts.len();
                    let written = access.written.get(byte as usize..).unwrap_or_default();
                    let part = Access { written: &written[..written.len().min(length as usize)], ..*access };
                    detector.access(Memory::Global, 0, scale * (address + byte), length, part);
                    // An access ends with the first byte where it races.
                    if detector.conflicts.len() > known {
                        break;
                    }
                }
            }
            let own = |conflict: Conflict| Conflict { address: conflict.address / scale, ..conflict };
            detector.conflicts.into_iter().map(own).collect()
        };
        [run(1), run(GRANULE)]
    }

    /// A granule is no more than a short way to write the same shadow four times.
    #[test]
    fn accesses_to_words_and_to_their_bytes_find_the_same_races() {
        let (mut racing, mut clean) = (0, 0);
        for seed in 0..4000 {
            let mut random = SplitMix64::new(seed);
            let accesses: Vec<_> = (0..random.below(12) + 2)
                .map(|pc| {
                    let bytes = 1 << random.below(4);
                    let (thread, write) = (random.below(4), random.below(3) == 0);
                    // Words that differ do so in each byte.
                    const VALUES: [[u8; 8]; 2] = [[1, 2, 3, 4, 1, 2, 3, 4], [7, 8, 9, 6, 7, 8, 9, 6]];
                    let known = &VALUES[random.below(2) as usize][..bytes as usize];
                    let written = if write && random.below(4) > 0 { known } else { &[] };
                    let access = Access { thread, pc: pc as u32, write, written, strong: None, beside: None };
                    (random.below(20) * bytes, bytes, access)
                })
                .collect();
            let barriers: Vec<usize> = (0..2).map(|_| random.below(16) as usize).collect();
            let [whole, by_byte] = both(&accesses, &barriers);
            assert_eq!(whole, by_byte, "seed {seed}: {accesses:?}, barriers before {barriers:?}");
            if whole.is_empty() { clean += 1 } else { racing += 1 }
        }
        assert!(racing > 400 && clean > 400, "{racing} race, {clean} do not");
    }

    /// The races among accesses of words at one place: by which thread, and the value that it stores, if it does. What
    /// follows a barrier is marked.
    fn races(accesses: &[(u64, Option<u8>, bool)]) -> usize {
        let mut detector = Detector::default();
        for (thread, value, is_behind) in accesses {
            if *is_behind {
                detector.barrier([*thread, accesses[0].0].into_iter());
            }
            let written = value.map(|value| [value; 4]);
            let access = Access {
                thread: *thread,
                pc: *thread as u32,
                write: value.is_some(),
                written: written.as_ref().map_or(&[], |bytes| &bytes[..]),
                strong: None,
                beside: None,
            };
            detector.access(Memory::Global, 0, 64, 4, access);
        }
        detector.conflicts.len()
    }

    #[test]
    fn stores_of_one_value_race_for_nobody() {
        let store = |thread, value| (thread, Some(value), false);
        let load = |thread| (thread, None, false);
        assert_eq!(races(&[store(0, 1), store(1, 1), store(2, 1)]), 0);
        assert_eq!(races(&[store(0, 1), store(1, 1), store(2, 2)]), 1);
        // Whoever stored it reads it, wherever the others are.
        assert_eq!(races(&[store(0, 1), store(1, 1), store(2, 1), load(1), load(0)]), 0);
        assert_eq!(races(&[store(0, 1), store(1, 1), load(2)]), 1);
        // A reader behind the first store does not care for the second, nor for one behind the reader.
        assert_eq!(races(&[store(0, 1), store(1, 1), (2, None, true), store(3, 1)]), 0);
        assert_eq!(races(&[store(0, 1), store(1, 1), (2, None, true), store(3, 2)]), 1);
        // Another value behind one of the stores alone races with the other.
        assert_eq!(races(&[store(0, 1), store(1, 1), (2, Some(2), true)]), 1);
        assert_eq!(races(&[store(0, 1), (2, Some(2), true)]), 0);
    }
}
