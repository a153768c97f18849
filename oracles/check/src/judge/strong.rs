//! Whether a program keeps the strong operations of its original, thread by thread.
//!
//! Strong operations are fences and the accesses that are relaxed, acquire, release, volatile, `mmio` or atomic (PTX
//! ISA, "Memory Consistency Model"); barriers and what waits for asynchronous copies or other grids are taken with
//! them. What one run computes says little about them, since it is one of many orders of threads. So the interpreter
//! lists what each thread performs, and the lists are compared.
//!
//! The rule: a program keeps the operations of a thread if each operation of the original has one of its own in the
//! program, so that all of this holds.
//!
//! 1. The two are of one kind, and access the same bytes; in shared memory those that [`super::places`] pairs. Vectors
//!    that are neither volatile nor `mmio` count as one access for each element, as PTX performs them.
//! 2. The second is as strong as the first, or stronger. Of orders, relaxed < acquire, release < acq_rel < sc; of
//!    scopes, cta < cluster < gpu < sys, of which the last three are the same for shared memory, as nobody outside of
//!    the cluster sees it. A volatile or `mmio` access stays what it is, but a relaxed one may become either. A wait
//!    leaves no more copies pending.
//! 3. Of two operations of the original, the first has its own before that of the second, if
//!    - they access overlapping bytes, of which one writes, or the very same bytes;
//!    - both are volatile, or both are `mmio`;
//!    - the first is an acquire access, or the second is a release access;
//!    - one of them is a fence, a barrier, or a wait for other grids. But an acquire fence may come before a store that
//!      stood in front of it, and a release fence behind a load that stood behind it;
//!    - both are fences, barriers or waits, for copies too.
//! 4. What the program performs beyond that is no atomic operation, and no volatile or `mmio` access to bytes to which
//!    the original makes such accesses. Anything else may be a weak access or a fence that became stronger.
//!
//! Weak accesses are not listed: they may move, merge and vanish, as far as [`super::equivalence`] and the search for
//! races allow. Barriers count only where both programs come to the same number of them; one that is dropped for good
//! reason is no fault here, and one that is needed shows as a race. The model would allow some more: to drop a fence
//! beside another one, to merge relaxed loads of the same bytes. No phase does so, and with weak accesses between them
//! both would be wrong.
//!
//! Where a thread reads another value by a strong operation than it did in the original, the two executions differ in
//! the order of threads, and nothing follows for any thread.

use std::collections::HashMap;
use std::fmt;

use oriole_interp::{Extent, MemoryOrder, Owner, Place, Strong, StrongKind, StrongOperation, ThreadId};
use oriole_ir::ops::Scope;

/// A strong operation that a program does not keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StrongFault {
    /// The thread.
    pub thread: ThreadId,
    /// What is wrong.
    pub wrong: StrongWrong,
    /// The operation and where it goes: of the original, or of the changed program where it is one too many.
    pub operation: String,
    /// Its instruction.
    pub place: Place,
}

/// What is wrong about an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StrongWrong {
    /// The program does not perform it, or only as a weak access.
    Missing,
    /// It is weaker, and is this now.
    Weaker(String),
    /// It comes before this one, behind which it belongs.
    Moved(String),
    /// It is one too many.
    Added,
}

impl StrongWrong {
    /// In one word, the same for all programs.
    pub fn name(&self) -> &'static str {
        match self {
            StrongWrong::Missing => "missing",
            StrongWrong::Weaker(_) => "weaker",
            StrongWrong::Moved(_) => "moved",
            StrongWrong::Added => "added",
        }
    }
}

impl fmt::Display for StrongFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StrongFault { thread, wrong, operation, place } = self;
        match wrong {
            StrongWrong::Missing => write!(out, "{thread} does not perform {operation}, or only as a weak access")?,
            StrongWrong::Weaker(found) => write!(out, "{thread} performs {operation} only as {found}")?,
            StrongWrong::Moved(other) => write!(out, "{thread} performs {operation} before {other}, not behind it")?,
            StrongWrong::Added => write!(out, "{thread} performs {operation}, which the original does not")?,
        }
        write!(out, ": {place}")
    }
}

/// An operation of the original that the changed program does not keep, by indices into the two lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Broken {
    Missing(usize),
    /// Of the original, of the changed program.
    Weaker(usize, usize),
    /// Of the original, both.
    Moved(usize, usize),
    /// Of the changed program.
    Added(usize),
}

/// A thread has read something else before anything else was wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OtherExecution;

/// Compares what a thread performs in the original and in the changed program.
pub(super) fn broken(
    original: &[StrongOperation],
    changed: &[StrongOperation],
) -> Result<Option<Broken>, OtherExecution> {
    let barriers = |list: &[StrongOperation]| list.iter().filter(|op| op.strong.kind == StrongKind::Barrier).count();
    let with_barriers = barriers(original) == barriers(changed);
    let [before, after] = [original, changed].map(|list| items(list, with_barriers));
    let mut candidates: HashMap<Key, Candidates> = HashMap::new();
    for (at, item) in after.iter().enumerate() {
        candidates.entry(item.key()).or_default().places.push(at);
    }
    let (mut order, mut taken) = (Order::default(), vec![false; after.len()]);
    for (index, item) in before.iter().enumerate() {
        let bound = order.bound(item);
        let all = candidates.entry(item.key()).or_default();
        let fits = |at: &&usize| **at >= bound.at && !item.is_weakened_by(&after[**at]);
        let Some(at) = all.places[all.next..].iter().find(fits).copied() else {
            return Ok(Some(item.why(all, &after, &before, bound)));
        };
        all.next = all.places.partition_point(|place| *place <= at);
        if item.reads_otherwise(&after[at]) {
            return Err(OtherExecution);
        }
        taken[at] = true;
        order.add(item, index, at);
    }
    let mut rest = after.iter().zip(taken).filter(|(_, taken)| !taken).map(|(item, _)| item);
    Ok(rest.find(|item| order.forbids(item)).map(|item| Broken::Added(item.index)))
}

/// An operation, or an element of a vector.
#[derive(Clone, Copy)]
struct Item {
    /// The operation.
    index: usize,
    strong: Strong,
    extent: Option<Extent>,
    value: u64,
}

/// What two operations have in common of which one may take the place of the other.
type Key = (StrongKind, Option<Extent>);

/// Operations of the changed program, and how many of them are used up.
#[derive(Default)]
struct Candidates {
    places: Vec<usize>,
    next: usize,
}

fn items(list: &[StrongOperation], with_barriers: bool) -> Vec<Item> {
    let wanted = |op: &&StrongOperation| with_barriers || op.strong.kind != StrongKind::Barrier;
    let numbered = list.iter().enumerate().filter(|(_, op)| wanted(op));
    numbered.flat_map(|(index, op)| elements(index, op)).collect()
}

fn elements(index: usize, op: &StrongOperation) -> impl Iterator<Item = Item> {
    let item = Item { index, strong: op.strong, extent: op.extent, value: op.value };
    let count = op.extent.filter(|_| !item.is_exact()).map_or(1, |extent| extent.elements);
    let nth = move |extent: Extent, element: u32| match count {
        1 => extent,
        _ => Extent { offset: extent.offset + u64::from(extent.bytes * element), elements: 1, ..extent },
    };
    (0..count).map(move |element| Item { extent: item.extent.map(|extent| nth(extent, element)), ..item })
}

impl Item {
    fn key(&self) -> Key {
        let kind = match self.strong.kind {
            StrongKind::CopyWait(_) => StrongKind::CopyWait(None),
            StrongKind::BulkWait { .. } => StrongKind::BulkWait { left: 0, reading: false },
            StrongKind::ProductWait(_) => StrongKind::ProductWait(0),
            kind => kind,
        };
        (kind, self.extent)
    }

    fn is_exact(&self) -> bool {
        matches!(self.strong.order, MemoryOrder::Volatile | MemoryOrder::Mmio)
    }

    /// Whether it is an access; anything else is a fence, barrier or wait.
    fn is_access(&self) -> bool {
        self.extent.is_some()
    }

    fn reads(&self) -> bool {
        matches!(self.strong.kind, StrongKind::Load | StrongKind::Atomic)
    }

    fn writes(&self) -> bool {
        matches!(self.strong.kind, StrongKind::Store | StrongKind::Atomic)
    }

    fn bytes(&self) -> Option<(Owner, bool, std::ops::Range<u64>)> {
        let extent = self.extent?;
        let end = extent.offset + u64::from(extent.bytes) * u64::from(extent.elements);
        Some((extent.owner, extent.shared, extent.offset..end))
    }

    fn overlaps(&self, other: &Item) -> bool {
        let (Some((a, shared, one)), Some((b, also, two))) = (self.bytes(), other.bytes()) else { return false };
        a == b && shared == also && one.start < two.end && two.start < one.end
    }

    /// Whether another operation in its place would be weaker.
    fn is_weakened_by(&self, other: &Item) -> bool {
        use MemoryOrder::{AcqRel, Acquire, Mmio, Relaxed, Release, Sc, Volatile};
        let order = match self.strong.order {
            Relaxed => true,
            Acquire => other.strong.acquires(),
            Release => other.strong.releases(),
            AcqRel => matches!(other.strong.order, AcqRel | Sc),
            exact @ (Sc | Volatile | Mmio) => other.strong.order == exact,
        };
        let wait = match (self.strong.kind, other.strong.kind) {
            (StrongKind::CopyWait(old), StrongKind::CopyWait(new)) => new.is_none() || old.is_some() && new <= old,
            (StrongKind::BulkWait { left, reading }, StrongKind::BulkWait { left: fewer, reading: less }) => {
                fewer <= left && (reading || !less)
            }
            (StrongKind::ProductWait(left), StrongKind::ProductWait(fewer)) => fewer <= left,
            _ => true,
        };
        !(order && wait && self.scope() <= other.scope())
    }

    fn scope(&self) -> Scope {
        let shared = self.extent.is_some_and(|extent| extent.shared);
        if shared { self.strong.scope.min(Scope::Cluster) } else { self.strong.scope }
    }

    /// Whether another operation in its place has read another value, as far as both results are used.
    fn reads_otherwise(&self, other: &Item) -> bool {
        self.value != 0 && other.value != 0 && self.value != other.value
    }

    /// Why it has no operation of its own behind the bound.
    fn why(&self, all: &Candidates, after: &[Item], before: &[Item], bound: Bound) -> Broken {
        let rest = &all.places[all.next..];
        if let Some(weaker) = rest.iter().find(|at| **at >= bound.at) {
            return Broken::Weaker(self.index, after[*weaker].index);
        }
        match bound.by.filter(|_| rest.iter().any(|at| !self.is_weakened_by(&after[*at]))) {
            Some(by) => Broken::Moved(self.index, before[by].index),
            None => Broken::Missing(self.index),
        }
    }
}

/// The first place in the changed program where an operation may stand, and the operation of the original that says so.
#[derive(Clone, Copy, Default)]
struct Bound {
    at: usize,
    by: Option<usize>,
}

impl Bound {
    fn raise(&mut self, other: Bound) {
        if other.at > self.at {
            *self = other;
        }
    }
}

/// What precedes what, of the operations that have their own so far: for each class, the place behind the last.
#[derive(Default)]
struct Order {
    all: Bound,
    /// Reading accesses.
    reads: Bound,
    /// Fences, barriers and waits.
    fences: Bound,
    /// Those of them behind which stores stay.
    releases: Bound,
    /// Everything behind which all stays: acquire accesses, and fences but for release fences.
    acquires: Bound,
    volatile: Bound,
    mmio: Bound,
    /// By blocks of 32 bytes, none of which an access crosses.
    bytes: HashMap<(Owner, bool, u64), Vec<(Item, Bound)>>,
}

/// The widest access is a vector of four doubles, and accesses are aligned.
const BLOCK: u64 = 32;

impl Order {
    fn block(item: &Item) -> Option<(Owner, bool, u64)> {
        item.bytes().map(|(owner, shared, bytes)| (owner, shared, bytes.start / BLOCK))
    }

    /// Where an operation may be at the earliest.
    fn bound(&self, item: &Item) -> Bound {
        let mut bound = self.acquires;
        if !item.is_access() {
            bound.raise(self.fences);
        }
        if item.writes() {
            bound.raise(self.releases);
        }
        if item.strong.releases() {
            bound.raise(self.all);
        }
        if item.strong.acquires() && !item.is_access() {
            bound.raise(self.reads);
        }
        match item.strong.order {
            MemoryOrder::Volatile => bound.raise(self.volatile),
            MemoryOrder::Mmio => bound.raise(self.mmio),
            _ => {}
        }
        let near = Order::block(item).and_then(|block| self.bytes.get(&block));
        for (other, end) in near.into_iter().flatten() {
            let same = item.extent == other.extent;
            if item.overlaps(other) && (same || item.writes() || other.writes()) {
                bound.raise(*end);
            }
        }
        bound
    }

    /// An operation of the original, by its number, has its own at this place.
    fn add(&mut self, item: &Item, number: usize, at: usize) {
        let end = Bound { at: at + 1, by: Some(number) };
        self.all.raise(end);
        if item.reads() {
            self.reads.raise(end);
        }
        if !item.is_access() {
            self.fences.raise(end);
            if item.strong.releases() {
                self.releases.raise(end);
            }
        }
        if item.strong.acquires() {
            self.acquires.raise(end);
        }
        match item.strong.order {
            MemoryOrder::Volatile => self.volatile.raise(end),
            MemoryOrder::Mmio => self.mmio.raise(end),
            _ => {}
        }
        if let Some(block) = Order::block(item) {
            let near = self.bytes.entry(block).or_default();
            let class = |item: &Item| (item.extent, item.writes(), item.is_exact());
            match near.iter_mut().find(|(other, _)| class(other) == class(item)) {
                Some((_, last)) => last.raise(end),
                None => near.push((*item, end)),
            }
        }
    }

    /// Whether the changed program must not perform an operation beyond those of the original.
    fn forbids(&self, item: &Item) -> bool {
        let near = Order::block(item).and_then(|block| self.bytes.get(&block));
        let exact = |(other, _): &(Item, Bound)| other.is_exact() && other.overlaps(item);
        item.strong.kind == StrongKind::Atomic || item.is_exact() && near.is_some_and(|near| near.iter().any(exact))
    }
}

#[cfg(test)]
mod tests;
