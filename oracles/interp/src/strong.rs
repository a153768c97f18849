//! Strong operations: what other threads, and devices, may order their own accesses by.
//!
//! PTX ISA, "Strong Operations": fences, and accesses that are relaxed, acquire, release, volatile, `mmio` or atomic.
//! Barriers and what waits for other work (asynchronous copies, other grids) order accesses too, and are counted among
//! them here. One thread's results say nothing about them, so the interpreter notes which ones each thread performs: a
//! hash of the sequence for each thread, one of the values that it reads, and on request the operations of some threads
//! themselves.
//!
//! Cost: nothing where a program has no strong operation but barriers; else a few instructions each, and 16 bytes for
//! each thread, of which the first four million count. What is listed on request is bounded.

use std::fmt::{self, Display};

use oriole_ir::ops::Scope;

use super::access::{Fault, Located, Spaces, address_of};
use super::asynchronous::GroupKind;
use super::cluster::mapped;
use super::frame::Frame;
use super::program::{Access, Rmw};
use oriole_semantics::lanes::{LANES, lanes};

/// The operations that are listed at most, of all threads together: some 16 MiB.
const MOST_LISTED: usize = 1 << 18;

/// The threads whose sequences are kept, the first ones of the grid: 64 MiB.
const MOST_THREADS: u64 = 1 << 22;

/// What a strong operation does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StrongKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads, modifies and writes in one step.
    Atomic,
    /// Orders accesses.
    Fence,
    /// Meets other threads of the CTA or the warp.
    Barrier,
    /// Closes a group of asynchronous copies.
    CopyGroup,
    /// Waits until so many groups of asynchronous copies are pending; `None` waits for all copies.
    CopyWait(Option<u32>),
    /// Closes a group of bulk copies.
    BulkGroup,
    /// Waits until so many groups of bulk copies are pending, or have yet to read.
    BulkWait {
        /// How many.
        left: u32,
        /// Whether reading is waited for alone.
        reading: bool,
    },
    /// Orders accesses before products of a warpgroup.
    ProductFence,
    /// Closes a group of products.
    ProductGroup,
    /// Waits until so many groups of products are pending.
    ProductWait(u32),
    /// Waits for the grids that this one depends on.
    GridWait,
}

/// How a strong operation orders other accesses of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemoryOrder {
    /// Not at all.
    Relaxed,
    /// Those behind it.
    Acquire,
    /// Those before it.
    Release,
    /// Both.
    AcqRel,
    /// Both, and in one order with all others of its kind.
    Sc,
    /// Relaxed, and among other volatile accesses as the program says.
    Volatile,
    /// Relaxed, and performed as the program says.
    Mmio,
}

/// What an instruction performs each time it executes, apart from where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strong {
    /// What it does.
    pub kind: StrongKind,
    /// Its order. Barriers and waits for grids have that of a fence; what is about copies orders no other access.
    pub order: MemoryOrder,
    /// The threads that it is ordered with.
    pub scope: Scope,
}

/// What an address belongs to; the same before and after a step that lays memory out otherwise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Owner {
    /// The buffer of an argument.
    Argument(usize),
    /// A variable of the module, by a hash of its name.
    Variable(u64),
    /// Dynamic shared memory, and what the system reserves behind it.
    DynamicShared,
    /// Anything that was allocated on the heap.
    Heap,
}

impl Owner {
    /// A variable with a name.
    pub fn variable(name: &str) -> Owner {
        Owner::Variable(name.bytes().fold(0, |hash, byte| mix(hash, u64::from(byte))))
    }
}

/// Where a strong access goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Extent {
    /// What it accesses.
    pub owner: Owner,
    /// Whether that is shared memory, which threads outside of the cluster do not see.
    pub shared: bool,
    /// The first byte there.
    pub offset: u64,
    /// Bytes of an element.
    pub bytes: u32,
    /// Elements, one behind the other.
    pub elements: u32,
}

/// A strong operation that a thread has performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StrongOperation {
    /// The thread's index in the grid.
    pub thread: u64,
    /// The operation of the program; [`super::Executable::place`] knows its instruction.
    pub pc: u32,
    /// What it is.
    pub strong: Strong,
    /// Where; fences and barriers are nowhere.
    pub extent: Option<Extent>,
    /// A hash of what it read; 0 where its result goes nowhere.
    pub value: u64,
}

/// A thread's sequence of strong operations in short.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StrongSequence {
    /// A hash of the operations; 0 for none.
    pub operations: u64,
    /// A hash of the values that they read.
    pub values: u64,
}

/// What a run has performed of strong operations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StrongTrace {
    /// What each thread has done, by its index in the grid. Threads that are missing have done nothing, as have all
    /// threads of a program without strong operations, or are not among the first four million.
    pub threads: Vec<StrongSequence>,
    /// The operations of the threads that were asked for, in the order in which they were performed.
    pub operations: Vec<StrongOperation>,
    /// Whether there were more than are listed.
    pub cut: bool,
}

impl StrongTrace {
    /// What a thread has done.
    pub fn of(&self, thread: usize) -> StrongSequence {
        self.threads.get(thread).copied().unwrap_or_default()
    }

    /// The threads that have done something else, or read something else.
    pub fn differing(&self, other: &StrongTrace) -> impl Iterator<Item = u64> {
        let threads = self.threads.len().max(other.threads.len());
        (0..threads).filter(|thread| self.of(*thread) != other.of(*thread)).map(|thread| thread as u64)
    }

    /// Whether every thread has performed the same operations.
    pub fn has_operations_of(&self, other: &StrongTrace) -> bool {
        self.differing(other).all(|thread| {
            let [one, two] = [self, other].map(|trace| trace.of(thread as usize).operations);
            one == two
        })
    }
}

/// Notes the strong operations of a run.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub trace: StrongTrace,
    /// The threads whose operations are listed, in order.
    pub listed: Vec<u64>,
    /// What each region of global memory belongs to; those behind are on the heap.
    pub regions: Vec<Owner>,
    /// Where each variable in shared memory begins, in order.
    pub shared: Vec<(u64, Owner)>,
}

impl Recorder {
    /// What a thread performs at an operation of the program.
    pub fn note(&mut self, thread: u64, pc: u32, strong: Strong, extent: Option<Extent>, value: u64) {
        if thread >= MOST_THREADS {
            return;
        }
        let index = thread as usize;
        let StrongTrace { threads, operations, cut } = &mut self.trace;
        if threads.len() <= index {
            threads.resize(index + 1, StrongSequence::default());
        }
        let sequence = &mut threads[index];
        sequence.operations = mix(mix(sequence.operations, strong.bits()), extent.map_or(0, Extent::bits));
        if value != 0 {
            sequence.values = mix(sequence.values, value);
        }
        if self.listed.binary_search(&thread).is_err() {
            return;
        }
        if operations.len() < MOST_LISTED {
            operations.push(StrongOperation { thread, pc, strong, extent, value });
        } else {
            *cut = true;
        }
    }

    /// What others see of an access; `None` where that is nothing.
    fn extent(&self, at: Located, (bytes, elements): (u32, u32)) -> Option<Extent> {
        match at {
            Located::Global(region, at) => {
                let owner = self.regions.get(region).copied().unwrap_or(Owner::Heap);
                Some(Extent { owner, shared: false, offset: at as u64, bytes, elements })
            }
            Located::Peer(rank, at) => {
                let own = self.extent(Located::Shared(at), (bytes, elements))?;
                Some(Extent { offset: mapped(own.offset, rank as u32), ..own })
            }
            Located::Shared(at) => {
                let before = self.shared.partition_point(|(start, _)| *start <= at as u64);
                let (start, owner) = before.checked_sub(1).map_or((0, Owner::DynamicShared), |i| self.shared[i]);
                Some(Extent { owner, shared: true, offset: at as u64 - start, bytes, elements })
            }
            Located::Local(_) | Located::Const(_) | Located::Param(_) => None,
        }
    }
}

impl Strong {
    /// A barrier.
    pub const BARRIER: Strong = Strong { kind: StrongKind::Barrier, order: MemoryOrder::AcqRel, scope: Scope::Cta };

    /// An atomic operation that orders nothing.
    pub const COMBINES: Strong = Strong { kind: StrongKind::Atomic, order: MemoryOrder::Relaxed, scope: Scope::Gpu };

    /// Whether it orders what its thread did before.
    pub fn releases(self) -> bool {
        matches!(self.order, MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::Sc)
    }

    /// Whether it orders what its thread does behind.
    pub fn acquires(self) -> bool {
        matches!(self.order, MemoryOrder::Acquire | MemoryOrder::AcqRel | MemoryOrder::Sc)
    }

    fn bits(self) -> u64 {
        let (kind, groups) = match self.kind {
            StrongKind::Load => (1, 0),
            StrongKind::Store => (2, 0),
            StrongKind::Atomic => (3, 0),
            StrongKind::Fence => (4, 0),
            StrongKind::Barrier => (5, 0),
            StrongKind::CopyGroup => (6, 0),
            StrongKind::CopyWait(None) => (7, 0),
            StrongKind::CopyWait(Some(groups)) => (8, u64::from(groups)),
            StrongKind::GridWait => (9, 0),
            StrongKind::BulkGroup => (10, 0),
            StrongKind::BulkWait { left, reading } => (if reading { 11 } else { 12 }, u64::from(left)),
            StrongKind::ProductFence => (13, 0),
            StrongKind::ProductGroup => (14, 0),
            StrongKind::ProductWait(left) => (15, u64::from(left)),
        };
        kind | (self.order as u64) << 8 | (self.scope as u64) << 16 | groups << 32
    }
}

impl Extent {
    fn bits(self) -> u64 {
        let owner = match self.owner {
            Owner::Argument(index) => 2 * index as u64,
            Owner::Variable(hash) => hash | 1,
            Owner::DynamicShared => u64::MAX - 1,
            Owner::Heap => u64::MAX - 3,
        };
        mix(mix(owner, self.offset), u64::from(self.bytes) | u64::from(self.elements) << 32)
    }
}

/// A hash of two words in this order.
fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash.rotate_left(23) ^ word).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 29
}

impl Spaces<'_> {
    /// A fence, or something else that orders accesses, by the lanes of a mask.
    pub fn order(&mut self, strong: Strong, mask: u32) -> Result<(), Fault> {
        match strong.kind {
            StrongKind::Fence => self.fence(strong, mask),
            StrongKind::CopyGroup => self.close_groups(GroupKind::Copies, mask),
            StrongKind::CopyWait(left) => self.wait_for_groups(GroupKind::Copies, left, false, mask)?,
            StrongKind::BulkGroup => self.close_groups(GroupKind::Bulk, mask),
            StrongKind::BulkWait { left, reading } => {
                self.wait_for_groups(GroupKind::Bulk, Some(left), reading, mask)?;
            }
            _ => {}
        }
        if let Some((recorder, first)) = &mut self.strong {
            lanes(mask).for_each(|lane| recorder.note(*first + lane as u64, self.pc, strong, None, 0));
        }
        Ok(())
    }

    /// Performs an access and notes it where it is strong.
    pub fn perform(
        &mut self,
        frame: &mut Frame,
        access: &Access,
        mask: u32,
        access_with: fn(&mut Self, &mut Frame, &Access, u32) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let Some(strong) = access.strong.filter(|_| self.strong.is_some()) else {
            return access_with(self, frame, access, mask);
        };
        // The access may overwrite the register of its address.
        let extents = self.extents(frame, access, mask);
        access_with(self, frame, access, mask)?;
        let Some((recorder, first)) = &mut self.strong else { return Ok(()) };
        let words = u32::from(access.bytes).div_ceil(4);
        let read = if strong.kind == StrongKind::Store { &[][..] } else { &access.regs };
        for lane in lanes(mask) {
            let slots = read.iter().flat_map(|slot| *slot..slot + words);
            let value = slots.fold(0, |hash, slot| mix(hash, frame.words[slot as usize][lane].into()));
            if let Some(extent) = extents[lane] {
                recorder.note(*first + lane as u64, self.pc, strong, Some(extent), value);
            }
        }
        Ok(())
    }

    /// Notes a lane's access to an object whose content no other instruction knows, where it is strong.
    pub(super) fn note_access(&mut self, strong: Option<Strong>, at: Located, bytes: u32, lane: usize) {
        let (Some(strong), Some((recorder, first))) = (strong, &mut self.strong) else { return };
        let extent = recorder.extent(at, (bytes, 1));
        recorder.note(*first + lane as u64, self.pc, strong, extent, 0);
    }

    /// Where the lanes of a mask access memory that others see.
    fn extents(&mut self, frame: &Frame, access: &Access, mask: u32) -> [Option<Extent>; LANES] {
        let elements = match access.rmw {
            Some((Rmw::Cas, _)) => 1,
            Some(_) => access.operands.len().max(access.regs.len()),
            None => access.regs.len(),
        } as u32;
        let bytes = u32::from(access.bytes);
        let mut extents = [None; LANES];
        for lane in lanes(mask) {
            let address = address_of(frame, &access.address, lane);
            let found = self.locate(access.address.memory, address, (bytes * elements).into(), lane);
            if let (Ok(at), Some((recorder, _))) = (found, &self.strong) {
                extents[lane] = recorder.extent(at, (bytes, elements));
            }
        }
        extents
    }
}

impl Display for Strong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order {
            MemoryOrder::Relaxed => "relaxed",
            MemoryOrder::Acquire => "acquire",
            MemoryOrder::Release => "release",
            MemoryOrder::AcqRel => "acq_rel",
            MemoryOrder::Sc => "sc",
            MemoryOrder::Volatile => return write!(out, "volatile {}", self.kind),
            MemoryOrder::Mmio => return write!(out, "mmio {}", self.kind),
        };
        match self.kind {
            StrongKind::Load | StrongKind::Store | StrongKind::Atomic | StrongKind::Fence => {
                write!(out, "{}.{order}.{}", self.kind, oriole_ir::ops::Field::Scope.value_name(self.scope as u8))
            }
            kind => write!(out, "{kind}"),
        }
    }
}

impl Display for StrongKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            StrongKind::Load => "load",
            StrongKind::Store => "store",
            StrongKind::Atomic => "atomic",
            StrongKind::Fence => "fence",
            StrongKind::Barrier => "barrier",
            StrongKind::CopyGroup => "end of a group of copies",
            StrongKind::CopyWait(None) => "wait for all copies",
            StrongKind::CopyWait(Some(groups)) => return write!(out, "wait until {groups} groups of copies are left"),
            StrongKind::BulkGroup => "end of a group of bulk copies",
            StrongKind::BulkWait { left, reading: false } => {
                return write!(out, "wait until {left} groups of bulk copies are left");
            }
            StrongKind::BulkWait { left, reading: true } => {
                return write!(out, "wait until {left} groups of bulk copies are left to read");
            }
            StrongKind::ProductFence => "fence before products",
            StrongKind::ProductGroup => "end of a group of products",
            StrongKind::ProductWait(left) => return write!(out, "wait until {left} groups of products are left"),
            StrongKind::GridWait => "wait for other grids",
        })
    }
}
