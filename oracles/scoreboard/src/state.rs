//! What is under way at a place in the code.

use crate::access::Unit;
use crate::latency::SETTLED;

/// Cycles after which every fixed latency is over.
pub(crate) const LONGEST: u8 = 64;

/// The barriers, and the scoreboard of a warpgroup.
pub(crate) const BARRIERS: usize = 7;

/// A read or write that may not be done yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pending {
    /// The unit that is read or written.
    pub unit: Unit,
    /// The instruction.
    pub inst: u32,
    /// Whether it is written.
    pub is_write: bool,
    /// The fewest cycles since it issued.
    pub elapsed: u8,
    /// Whether a barrier says when it is done, or nothing does; else time says it.
    pub is_variable: bool,
    /// The barriers that are released when it is done.
    pub barriers: [Option<u8>; 2],
    /// A mask of barriers that say it too: later instructions of the same queue, which works in order, release them.
    pub behind: u8,
    /// The same of barriers that were set a moment ago, and the cycles since then: they do not count yet.
    pub fresh: (u8, u8),
    /// How many later instructions at least set the same barriers.
    pub later: [u8; 2],
    /// The same of each barrier in `behind`, counted from the instruction of the queue that sets it first.
    pub later_behind: [u8; BARRIERS],
    /// Whether the predicate that guards it still has its value.
    pub is_guard_intact: bool,
}

impl Pending {
    fn key(&self) -> (Unit, u32, bool) {
        (self.unit, self.inst, self.is_write)
    }

    /// Whether a later instruction of its queue sets a barrier.
    pub fn is_behind(&self, barrier: u8) -> bool {
        (self.behind | self.fresh.0) >> barrier & 1 == 1
    }

    /// Later instructions of its queue set barriers.
    pub fn follow(&mut self, mask: u8) {
        if mask != 0 {
            self.fresh = (self.fresh.0 | mask, 0);
        }
    }

    /// Time goes by; barriers count after some of it.
    pub fn advance(&mut self, cycles: u8) {
        self.elapsed = self.elapsed.saturating_add(cycles).min(LONGEST);
        self.fresh.1 = self.fresh.1.saturating_add(cycles);
        if self.fresh.1 >= SETTLED {
            self.behind |= self.fresh.0;
            self.fresh = (0, SETTLED);
        }
    }

    /// What is left of it on either of two ways.
    fn join(&mut self, other: &Pending) {
        self.elapsed = self.elapsed.min(other.elapsed);
        let all = (self.behind | self.fresh.0) & (other.behind | other.fresh.0);
        self.behind &= other.behind;
        self.fresh = (all & !self.behind, self.fresh.1.min(other.fresh.1));
        self.is_guard_intact &= other.is_guard_intact;
        for (own, other) in self.later.iter_mut().zip(other.later) {
            *own = (*own).min(other);
        }
        for (own, other) in self.later_behind.iter_mut().zip(other.later_behind) {
            *own = (*own).min(other);
        }
    }
}

/// All that is under way, sorted.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct State(Vec<Pending>);

impl State {
    /// What is under way for a unit.
    pub fn of(&self, unit: Unit) -> &[Pending] {
        let start = self.0.partition_point(|pending| pending.unit < unit);
        let len = self.0[start..].partition_point(|pending| pending.unit == unit);
        &self.0[start..start + len]
    }

    /// Everything, to be changed but for its keys.
    pub fn all_mut(&mut self) -> &mut [Pending] {
        &mut self.0
    }

    /// Keeps what this says.
    pub fn retain(&mut self, keep: impl FnMut(&Pending) -> bool) {
        self.0.retain(keep);
    }

    /// Adds what begins; the same from an earlier turn of a loop is replaced only where it is further.
    pub fn add(&mut self, pending: Pending) {
        match self.0.binary_search_by_key(&pending.key(), Pending::key) {
            Ok(at) => self.0[at] = pending,
            Err(at) => self.0.insert(at, pending),
        }
    }

    /// Takes what is under way on another way; whether that changed something.
    pub fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for pending in &other.0 {
            match self.0.binary_search_by_key(&pending.key(), Pending::key) {
                Ok(at) => self.0[at].join(pending),
                Err(at) => self.0.insert(at, *pending),
            }
        }
        *self != before
    }
}
