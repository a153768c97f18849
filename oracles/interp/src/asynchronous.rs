//! What runs beside the threads: asynchronous copies, stores, reductions and arrivals (PTX ISA, "Asynchronous
//! Operations").
//!
//! PTX lets them be done at any moment until something waits for them. Here that is the last one: an operation is
//! pending until a thread waits for its group, or asks its barrier a question that only what is pending keeps from
//! being answered with yes. So code that does not wait reads what was there before, and code that overwrites the source
//! too early changes the copy. On request some are done earlier, at moments drawn from a seed: where they begin, or
//! between any two of the short pieces in which warps then execute.
//!
//! The proxies of the PTX memory model (`fence.proxy.async`) are not modelled: all accesses see one memory.
//!
//! Cost: next to nothing where nothing is pending; else a wait looks at all that is pending in the warp's groups, or
//! for the barrier.

use std::collections::BTreeMap;

use oriole_ir::ops::{AtomOp, Type};
use rustc_hash::FxHashMap;

use super::access::{Fault, Located, Spaces};
use super::memory::{Bytes, GlobalMemory};
use super::outcome::Cause;
use oriole_launch::random::SplitMix64;
use oriole_semantics::lanes::lanes;
use oriole_semantics::scalar;

/// One in so many operations that are done early is done where it begins.
const ODDS_AT_ONCE: u64 = 2;
/// The most operations of a warp between two moments at which others are, and of how many one is done there.
const MOST_PIECE: u64 = 16;
const ODDS: u64 = 4;
/// The most operations that are pending together, and the most bytes that they hold; what is more is done at once.
const MOST_PENDING: usize = 1 << 20;
const MOST_HELD: usize = 64 << 20;

/// A place in memory that means the same to all CTAs of a cluster: a region and an offset, or a rank and an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Site {
    Global(usize, usize),
    Shared(usize, usize),
}

/// The two kinds of groups of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GroupKind {
    /// Of `cp.async`.
    Copies,
    /// Of bulk copies.
    Bulk,
}

/// What an operation is waited for by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// A group of its thread; `None` while that is open.
    Group(GroupKind, Option<u32>),
    /// A barrier in shared memory, which counts its bytes.
    Barrier(Site),
}

/// Where the bytes of an operation come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Memory, as it is when the operation is done.
    Memory(Site),
    /// They have been read.
    Held(Bytes),
}

/// What is done.
#[derive(Clone, Debug)]
pub enum Work {
    /// So many bytes are written, of which the first come from the source and the others are zero.
    Copy { to: Site, from: Source, read: usize },
    /// Memory is combined with the source, element by element.
    Combine { to: Site, from: Source, op: AtomOp, ty: Type },
    /// A thread arrives at the barrier that it is waited for by, once its copies before are done.
    Arrive,
}

/// An operation that is not done yet.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The index in the grid of its thread, and of the first one of its warp.
    pub thread: u64,
    warp: u64,
    /// The operation of the program.
    pub pc: u32,
    /// How many were begun before.
    number: u64,
    pub until: Until,
    /// How many bytes it writes.
    pub bytes: usize,
    pub work: Work,
}

impl Pending {
    /// Whether it is of `cp.async`.
    fn is_single_copy(&self) -> bool {
        matches!(self.until, Until::Group(GroupKind::Copies, _))
    }
}

/// Whoever waits finds what it waits for in one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Queue {
    /// The index in the grid of the first CTA of the cluster.
    cluster: u64,
    of: Waiter,
}

/// What has a queue of pending operations in a cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Waiter {
    /// A warp, given by the index in the grid of its first thread: what is in groups of its threads.
    Warp(u64),
    /// A barrier in the shared memory of a CTA, given by the rank of that and the offset there.
    Barrier(usize, usize),
}

/// All that is pending.
#[derive(Default)]
pub struct InFlight {
    /// Each queue in the order in which its operations were begun.
    queues: BTreeMap<Queue, Vec<Pending>>,
    /// How many operations are pending, and how many bytes they hold that they have read.
    pending: usize,
    held: usize,
    /// How many were begun.
    begun: u64,
    /// How many groups of a kind a thread has closed.
    closed: FxHashMap<(u64, GroupKind), u32>,
    /// What draws the moments at which operations are done before they are waited for.
    early: Option<SplitMix64>,
}

impl InFlight {
    /// Nothing yet; with a seed some is done early.
    pub fn new(seed: Option<u64>) -> InFlight {
        InFlight { early: seed.map(SplitMix64::new), ..InFlight::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// The number that the next operation gets.
    pub(super) fn next_number(&self) -> u64 {
        self.begun
    }

    /// How many operations a warp may execute before what is pending may be done early, if any of it may.
    pub fn piece(&mut self) -> Option<u64> {
        self.early.as_mut().map(|random| 1 + random.below(MOST_PIECE))
    }

    /// Whether an operation is done early, where it begins.
    pub(super) fn is_at_once(&mut self) -> bool {
        self.early.as_mut().is_some_and(|random| random.below(ODDS_AT_ONCE) == 0)
    }

    fn queue(&self, queue: Queue) -> &[Pending] {
        self.queues.get(&queue).map_or(&[], Vec::as_slice)
    }

    /// Takes what fits out of a queue.
    fn take(&mut self, queue: Queue, mut fits: impl FnMut(&Pending) -> bool) -> Vec<Pending> {
        let Some(all) = self.queues.get_mut(&queue) else { return Vec::new() };
        let taken: Vec<Pending> = all.extract_if(.., |one| fits(one)).collect();
        if all.is_empty() {
            self.queues.remove(&queue);
        }
        self.pending -= taken.len();
        self.held -= taken.iter().map(|one| one.work.held()).sum::<usize>();
        taken
    }

    /// Takes what fits out of all queues of a cluster.
    fn take_of_cluster(&mut self, cluster: u64, mut fits: impl FnMut(&Pending) -> bool) -> Vec<Pending> {
        if self.is_empty() {
            return Vec::new();
        }
        let first = |cluster| Queue { cluster, of: Waiter::Warp(0) };
        let queues: Vec<Queue> =
            self.queues.range(first(cluster)..first(cluster + 1)).map(|(queue, _)| *queue).collect();
        queues.into_iter().flat_map(|queue| self.take(queue, &mut fits)).collect()
    }

    /// Closes the open group of a thread.
    fn close(&mut self, queue: Queue, thread: u64, kind: GroupKind) {
        let closed = self.closed.entry((thread, kind)).or_default();
        let open = Until::Group(kind, None);
        let pending = self.queues.get_mut(&queue).into_iter().flatten();
        let all = pending.filter(|one| one.thread == thread && one.until == open);
        all.for_each(|one| one.until = Until::Group(kind, Some(*closed)));
        *closed += 1;
    }

    /// What still uses the shared memory of a CTA, given by its cluster and rank, when the CTA ends. Copies of single
    /// threads to memory that nobody sees any more are forgotten.
    pub fn end_of(&mut self, cluster: u64, rank: usize) -> Option<Pending> {
        let own = |site: &Site| matches!(site, Site::Shared(of, _) if *of == rank);
        let uses = |one: &Pending| match &one.work {
            Work::Arrive => false,
            Work::Copy { to, from, .. } | Work::Combine { to, from, .. } => {
                own(to) || matches!(from, Source::Memory(site) if own(site))
            }
        };
        let waits = |one: &Pending| matches!(&one.until, Until::Barrier(site) if own(site));
        let using = self.take_of_cluster(cluster, |one| uses(one) || waits(one));
        using.into_iter().find(|one| !one.is_single_copy() && !matches!(one.work, Work::Arrive))
    }

    /// Does what is left when the grid has ended: it goes to global memory, and has been read.
    pub fn finish(&mut self, global: &mut GlobalMemory) {
        for Pending { work, bytes, .. } in std::mem::take(&mut self.queues).into_values().flatten() {
            let (to, from, combine) = match work {
                Work::Copy { to: Site::Global(region, at), from: Source::Held(from), .. } => ((region, at), from, None),
                Work::Combine { to: Site::Global(region, at), from: Source::Held(from), op, ty } => {
                    ((region, at), from, Some((op, ty)))
                }
                _ => continue,
            };
            let memory = &mut global.region_mut(to.0).bytes;
            let step = combine.map_or(1, |(_, ty)| ty.bits() as usize / 8);
            for at in (0..bytes).step_by(step) {
                let (value, undefined) = from.load(at, step);
                let (value, undefined) = match combine {
                    None => (value, undefined),
                    Some((op, ty)) => {
                        let (old, unknown) = memory.load(to.1 + at, step);
                        (scalar::atomic_with_subnormals(op, ty, old, value), undefined || unknown)
                    }
                };
                memory.store(to.1 + at, step, value, undefined);
            }
        }
    }
}

impl Work {
    /// How many bytes it holds that it has read.
    fn held(&self) -> usize {
        match self {
            Work::Copy { from: Source::Held(held), .. } | Work::Combine { from: Source::Held(held), .. } => held.len(),
            _ => 0,
        }
    }

    /// The memory that it has yet to read.
    fn unread(&self) -> Option<Site> {
        match self {
            Work::Copy { from: Source::Memory(site), .. } | Work::Combine { from: Source::Memory(site), .. } => {
                Some(*site)
            }
            _ => None,
        }
    }
}

impl Spaces<'_> {
    /// The place that all CTAs of the cluster know.
    pub(super) fn site(&self, at: Located) -> Option<Site> {
        match at {
            Located::Global(region, at) => Some(Site::Global(region, at)),
            Located::Shared(at) => Some(Site::Shared(self.peers.rank as usize, at)),
            Located::Peer(rank, at) => Some(Site::Shared(rank, at)),
            Located::Local(_) | Located::Const(_) | Located::Param(_) => None,
        }
    }

    pub(super) fn located(&self, site: Site) -> Located {
        match site {
            Site::Global(region, at) => Located::Global(region, at),
            Site::Shared(rank, at) if rank == self.peers.rank as usize => Located::Shared(at),
            Site::Shared(rank, at) => Located::Peer(rank, at),
        }
    }

    /// The queue of what is waited for in a way.
    fn queue_of(&self, until: Until, warp: u64) -> Queue {
        let of = match until {
            Until::Barrier(Site::Shared(rank, at)) => Waiter::Barrier(rank, at),
            Until::Barrier(Site::Global(..)) | Until::Group(..) => Waiter::Warp(warp),
        };
        Queue { cluster: self.peers.first(), of }
    }

    fn own_queue(&self) -> Queue {
        Queue { cluster: self.peers.first(), of: Waiter::Warp(self.first_thread) }
    }

    /// Begins an operation of a lane's thread. Where very many are pending it is done at once.
    pub(super) fn begin(&mut self, lane: usize, until: Until, bytes: usize, work: Work) -> Result<(), Fault> {
        let warp = self.first_thread;
        let (thread, pc, number) = (warp + lane as u64, self.pc, self.in_flight.begun);
        self.in_flight.begun += 1;
        let one = Pending { thread, warp, pc, number, until, bytes, work };
        if self.in_flight.pending >= MOST_PENDING || self.in_flight.is_at_once() {
            return self.complete(one, lane);
        }
        let queue = self.queue_of(until, warp);
        self.in_flight.pending += 1;
        self.in_flight.held += one.work.held();
        self.in_flight.queues.entry(queue).or_default().push(one);
        Ok(())
    }

    /// Closes the open groups of the lanes of a mask.
    pub(super) fn close_groups(&mut self, kind: GroupKind, mask: u32) {
        let (first, queue) = (self.first_thread, self.own_queue());
        lanes(mask).for_each(|lane| self.in_flight.close(queue, first + lane as u64, kind));
    }

    /// Waits until each lane of a mask has at most so many closed groups pending; without a number, until nothing is.
    /// Where only reading is waited for, nothing has been written by it.
    pub(super) fn wait_for_groups(
        &mut self,
        kind: GroupKind,
        left: Option<u32>,
        reading: bool,
        mask: u32,
    ) -> Result<(), Fault> {
        if !self.in_flight.is_empty() {
            self.end_groups(kind, left, reading, mask)?;
        }
        if let Some((detector, _, first)) = &mut self.races {
            detector.acquire(lanes(mask).map(|lane| *first + lane as u64));
        }
        Ok(())
    }

    fn end_groups(&mut self, kind: GroupKind, left: Option<u32>, reading: bool, mask: u32) -> Result<(), Fault> {
        let (first, queue) = (self.first_thread, self.own_queue());
        let pending = self.in_flight.queue(queue);
        let waits = |one: &Pending| mask >> (one.thread - first) & 1 == 1;
        let is_over = |one: &Pending| match (one.until, left) {
            (Until::Group(of, _), None) => of == kind,
            (Until::Group(of, Some(group)), Some(left)) if of == kind => {
                let closed = self.in_flight.closed.get(&(one.thread, kind)).copied().unwrap_or(0);
                group.saturating_add(left) < closed
            }
            _ => false,
        };
        let over: Vec<u64> = pending.iter().filter(|one| waits(one) && is_over(one)).map(|one| one.number).collect();
        let lane = mask.trailing_zeros() as usize;
        if reading {
            return over.into_iter().try_for_each(|number| self.read_ahead(queue, number, lane));
        }
        // Numbers ascend in a queue.
        let done = self.in_flight.take(queue, |one| over.binary_search(&one.number).is_ok());
        done.into_iter().try_for_each(|one| self.complete(one, lane))
    }

    /// Reads what an operation copies, and leaves the writing, unless very much is held already.
    fn read_ahead(&mut self, queue: Queue, number: u64, lane: usize) -> Result<(), Fault> {
        let found = self.in_flight.queue(queue).iter().find(|one| one.number == number);
        let Some((site, bytes)) = found.and_then(|one| Some((one.work.unread()?, one.bytes))) else { return Ok(()) };
        if self.in_flight.held + bytes > MOST_HELD {
            let done = self.in_flight.take(queue, |one| one.number == number);
            return done.into_iter().try_for_each(|one| self.complete(one, lane));
        }
        let held = self.held(site, bytes);
        self.in_flight.held += held.len();
        if let Some((detector, ..)) = &mut self.races {
            detector.has_read(number);
        }
        let one = self.in_flight.queues.get_mut(&queue).and_then(|all| all.iter_mut().find(|one| one.number == number));
        if let Some(Work::Copy { from, .. } | Work::Combine { from, .. }) = one.map(|one| &mut one.work) {
            *from = Source::Held(held);
        }
        Ok(())
    }

    fn held(&self, site: Site, bytes: usize) -> Bytes {
        let (memory, start) = self.memory(self.located(site));
        let mut held = Bytes::undefined(bytes);
        for at in 0..bytes {
            let (value, undefined) = memory.load(start + at, 1);
            held.store(at, 1, value, undefined);
        }
        held
    }

    /// What is pending for a barrier, the oldest first.
    pub(super) fn pending_at(&self, barrier: Site) -> &[Pending] {
        self.in_flight.queue(self.queue_of(Until::Barrier(barrier), self.first_thread))
    }

    /// Does so many of what is pending for a barrier, the oldest first.
    pub(super) fn complete_oldest(&mut self, barrier: Site, count: usize, lane: usize) -> Result<(), Fault> {
        let queue = self.queue_of(Until::Barrier(barrier), self.first_thread);
        let mut left = count;
        let oldest = self.in_flight.take(queue, |_| {
            let is_taken = left > 0;
            left -= usize::from(is_taken);
            is_taken
        });
        oldest.into_iter().try_for_each(|one| self.complete(one, lane))
    }

    /// Does some of what is pending in the cluster early, if that is asked for.
    pub fn hurry(&mut self, lane: usize) -> Result<(), Fault> {
        if self.in_flight.is_empty() {
            return Ok(());
        }
        let Some(mut random) = self.in_flight.early.take() else { return Ok(()) };
        let some = self.in_flight.take_of_cluster(self.peers.first(), |_| random.below(ODDS) == 0);
        self.in_flight.early = Some(random);
        some.into_iter().try_for_each(|one| self.complete(one, lane))
    }

    /// Does an operation.
    fn complete(&mut self, one: Pending, lane: usize) -> Result<(), Fault> {
        let Pending { thread, warp, until, bytes, work, number, .. } = one;
        let arrives = matches!(work, Work::Arrive);
        if arrives {
            let of = Waiter::Warp(warp);
            let before = |other: &Pending| other.thread == thread && other.number < number && other.is_single_copy();
            let copies = self.in_flight.take(Queue { cluster: self.peers.first(), of }, before);
            copies.into_iter().try_for_each(|copy| self.complete(copy, lane))?;
        }
        self.carry_out(work, bytes, lane).map_err(|cause| Fault::Trap(lane, cause))?;
        if let Some((detector, ..)) = &mut self.races {
            detector.is_done(number);
        }
        match until {
            Until::Barrier(site) if arrives => self.arrive_late(site, lane),
            Until::Barrier(site) => self.count_bytes(site, bytes as u64, lane),
            Until::Group(..) => Ok(()),
        }
    }

    fn carry_out(&mut self, work: Work, bytes: usize, lane: usize) -> Result<(), Cause> {
        match work {
            Work::Arrive => Ok(()),
            Work::Copy { to, from, read } => {
                // Places are aligned to the size, or to 16.
                let step = if bytes.is_multiple_of(8) && read.is_multiple_of(8) { 8 } else { 1 };
                (0..bytes).step_by(step).try_for_each(|at| {
                    let value = if at < read { self.source(&from, at, step) } else { (0, false) };
                    if step == 1 || !value.1 {
                        return self.put_at(to, at, value, step, lane);
                    }
                    (at..at + step).try_for_each(|at| self.put_at(to, at, self.source(&from, at, 1), 1, lane))
                })
            }
            Work::Combine { to, from, op, ty } => {
                let size = ty.bits() as usize / 8;
                (0..bytes).step_by(size).try_for_each(|at| {
                    let (value, undefined) = self.source(&from, at, size);
                    let (memory, start) = self.memory(self.located(to));
                    let (old, unknown) = memory.load(start + at, size);
                    let value = scalar::atomic_with_subnormals(op, ty, old, value);
                    self.put_at(to, at, (value, undefined || unknown), size, lane)
                })
            }
        }
    }

    fn source(&self, from: &Source, at: usize, bytes: usize) -> (u64, bool) {
        match from {
            Source::Held(held) => held.load(at, bytes),
            Source::Memory(site) => {
                let (memory, start) = self.memory(self.located(*site));
                memory.load(start + at, bytes)
            }
        }
    }

    fn put_at(
        &mut self,
        to: Site,
        at: usize,
        (value, undefined): (u64, bool),
        bytes: usize,
        lane: usize,
    ) -> Result<(), Cause> {
        self.write(self.located(to).plus(at), bytes, value, undefined, lane)
    }
}
