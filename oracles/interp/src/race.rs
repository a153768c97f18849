//! Data races: two accesses to a byte by different threads, one of them a write, not both atomic or strong, and
//! nothing that orders them.
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
pub struct Access {
    /// The thread's index in the grid.
    pub thread: u64,
    /// The operation.
    pub pc: u32,
    /// Whether it writes.
    pub write: bool,
    /// What it is to other threads, where it is atomic, volatile or otherwise strong.
    pub strong: Option<Strong>,
    /// The number of the asynchronous operation that makes it, which its thread has begun.
    pub beside: Option<u64>,
}

impl Access {
    /// Whether the same thread itself makes both, or the same asynchronous operation.
    fn has_maker_of(&self, other: &Access) -> bool {
        (self.thread, self.beside) == (other.thread, other.beside)
    }
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

/// What has been seen of a run.
#[derive(Default)]
pub struct Detector {
    shadow: FxHashMap<(u64, u64), Shadow>,
    clocks: FxHashMap<u64, Clock>,
    /// When asynchronous operations had read what they read, and were done.
    have_read: FxHashMap<u64, u64>,
    done: FxHashMap<u64, u64>,
    time: u64,
    /// The races found, in order.
    pub conflicts: Vec<Conflict>,
}

impl Detector {
    /// An access to some bytes. Shared memory is told apart by `cta`.
    pub fn access(&mut self, memory: Memory, cta: u64, address: u64, bytes: u64, access: Access) {
        if let Some(strong) = access.strong.filter(|_| access.beside.is_none()) {
            self.order(access.thread, strong);
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
            } else if slot.reads[0].is_none_or(|read| read.access.has_maker_of(&access)) {
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
        threads.for_each(|thread| self.clocks.entry(thread).or_default().releases.push(time));
    }

    /// Threads that have waited for others that arrived.
    pub fn acquire(&mut self, threads: impl Iterator<Item = u64>) {
        let time = self.tick();
        threads.for_each(|thread| self.clocks.entry(thread).or_default().acquire = time);
    }

    /// A fence, or an access that orders others of its thread.
    pub fn order(&mut self, thread: u64, strong: Strong) {
        let time = self.tick();
        let clock = self.clocks.entry(thread).or_default();
        if strong.releases() {
            clock.releases.push(time);
        }
        if strong.acquires() {
            clock.acquire = time;
        }
    }

    /// An asynchronous operation has read what it reads.
    pub fn has_read(&mut self, operation: u64) {
        let time = self.tick();
        self.have_read.entry(operation).or_insert(time);
    }

    /// An asynchronous operation is done.
    pub fn is_done(&mut self, operation: u64) {
        self.has_read(operation);
        self.done.insert(operation, self.time);
    }

    fn tick(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    fn races(&self, seen: &Seen, access: &Access) -> bool {
        if seen.access.has_maker_of(access) || seen.access.strong.is_some() && access.strong.is_some() {
            return false;
        }
        let never = Clock::default();
        let clock = |thread| self.clocks.get(&thread).unwrap_or(&never);
        if let Some(operation) = seen.access.beside {
            let over = if seen.access.write { &self.done } else { &self.have_read };
            return over.get(&operation).is_none_or(|time| clock(access.thread).acquire <= *time);
        }
        let (first, second) = (clock(seen.access.thread), clock(access.thread));
        let barrier = first.barrier > seen.time && second.barrier > seen.time;
        let fenced = first.released(seen.time).is_some_and(|release| second.acquire > release);
        let same = seen.access.thread == access.thread;
        !(same || barrier || fenced)
    }

    fn report(&mut self, conflict: Conflict) {
        let key = |c: &Conflict| (c.first.pc, c.second.pc);
        if self.conflicts.len() < MAX_CONFLICTS && !self.conflicts.iter().any(|c| key(c) == key(&conflict)) {
            self.conflicts.push(conflict);
        }
    }
}
