//! Data races: two accesses to a byte by different threads, one of them a write, not both atomic or strong, and
//! nothing that orders them.
//!
//! Ordered are accesses with a barrier between them (of the CTA or the warp) that both threads have passed since the
//! first, and accesses where the first thread has since executed a fence or a release and the second one a fence or a
//! strong read. The two may have synchronised with others than each other, so a race can be missed; what is reported
//! is one. Detection slows a run down by an order of magnitude and is made on request.

use rustc_hash::FxHashMap;

use super::program::Memory;

/// An access, as the detector sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The thread's index in the grid.
    pub thread: u64,
    /// The operation.
    pub pc: u32,
    /// Whether it writes.
    pub write: bool,
    /// Whether it is atomic, volatile or otherwise strong.
    pub strong: bool,
}

/// Two accesses that race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The space.
    pub memory: Memory,
    /// The byte's address in it.
    pub address: u64,
    pub first: Access,
    pub second: Access,
}

#[derive(Clone, Copy)]
struct Seen {
    access: Access,
    time: u64,
}

#[derive(Clone, Copy, Default)]
struct Shadow {
    write: Option<Seen>,
    reads: [Option<Seen>; 2],
}

/// When a thread last synchronised, in each way.
#[derive(Clone, Copy, Default)]
struct Clock {
    barrier: u64,
    release: u64,
    acquire: u64,
}

/// The most races that are reported.
const MAX_CONFLICTS: usize = 16;

/// What has been seen of a run.
#[derive(Default)]
pub struct Detector {
    shadow: FxHashMap<(u64, u64), Shadow>,
    clocks: FxHashMap<u64, Clock>,
    time: u64,
    /// The races found, in order.
    pub conflicts: Vec<Conflict>,
}

impl Detector {
    /// An access to some bytes. Shared memory is told apart by `cta`.
    pub fn access(&mut self, memory: Memory, cta: u64, address: u64, bytes: u64, access: Access) {
        if access.strong {
            let time = self.tick();
            let clock = self.clocks.entry(access.thread).or_default();
            if access.write {
                clock.release = time
            }
            clock.acquire = time;
        }
        let owner = if memory == Memory::Shared { cta + 1 } else { 0 };
        for address in address..address + bytes {
            let shadow = self.shadow.get(&(owner, address)).copied().unwrap_or_default();
            let others = if access.write { &shadow.reads[..] } else { &[] };
            let conflict = others.iter().chain([&shadow.write]).flatten().find(|seen| self.races(seen, &access));
            if let Some(seen) = conflict {
                self.report(Conflict { memory, address, first: seen.access, second: access });
                return;
            }
            let seen = Some(Seen { access, time: self.time });
            let slot = self.shadow.entry((owner, address)).or_default();
            if access.write {
                *slot = Shadow { write: seen, reads: [None; 2] };
            } else if slot.reads[0].is_none_or(|read| read.access.thread == access.thread) {
                slot.reads[0] = seen;
            } else {
                slot.reads[1] = seen;
            }
        }
    }

    /// Threads that pass a barrier together.
    pub fn barrier(&mut self, threads: impl Iterator<Item = u64>) {
        let time = self.tick();
        threads.for_each(|thread| {
            let clock = self.clocks.entry(thread).or_default();
            (clock.barrier, clock.acquire) = (time, time);
        });
    }

    /// Threads that arrive at a barrier without waiting: what they did before is ordered before what its waiters do.
    pub fn arrive(&mut self, threads: impl Iterator<Item = u64>) {
        let time = self.tick();
        threads.for_each(|thread| self.clocks.entry(thread).or_default().release = time);
    }

    /// Threads that have waited for others that arrived.
    pub fn acquire(&mut self, threads: impl Iterator<Item = u64>) {
        let time = self.tick();
        threads.for_each(|thread| self.clocks.entry(thread).or_default().acquire = time);
    }

    /// A fence.
    pub fn fence(&mut self, thread: u64) {
        let time = self.tick();
        let clock = self.clocks.entry(thread).or_default();
        (clock.release, clock.acquire) = (time, time);
    }

    fn tick(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    fn races(&self, seen: &Seen, access: &Access) -> bool {
        let clock = |thread| self.clocks.get(&thread).copied().unwrap_or_default();
        let (first, second) = (clock(seen.access.thread), clock(access.thread));
        let barrier = first.barrier > seen.time && second.barrier > seen.time;
        let fenced = first.release > seen.time && second.acquire > seen.time;
        let same = seen.access.thread == access.thread;
        let strong = seen.access.strong && access.strong;
        !(same || strong || barrier || fenced)
    }

    fn report(&mut self, conflict: Conflict) {
        let key = |c: &Conflict| (c.first.pc, c.second.pc);
        if self.conflicts.len() < MAX_CONFLICTS && !self.conflicts.iter().any(|c| key(c) == key(&conflict)) {
            self.conflicts.push(conflict);
        }
    }
}
