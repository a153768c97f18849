//! The state of a warp: registers, and the groups of lanes that execute together.
//!
//! Lanes that execute together are a group with one program counter. A branch on which lanes differ splits a group.
//! Groups become one again only where the program says so: at `BSYNC`, where the lanes that `BSSY` noted wait for each
//! other, and at `WARPSYNC`. Merging groups that happen to be at the same place would hide a missing one.
//!
//! A convergence barrier holds a mask. Each lane keeps its own copy, so that lanes that have parted may use the same
//! barrier for different purposes, as functions do that save it with `BMOV`.

use std::cell::RefCell;

use oriole_interp::{ImageKind, LaneOrder};

use super::clock::Clock;
use super::lanes::{LANES, Lanes, set};
use super::program::{Kind, LITERALS, PREDICATES, Space, TRUE, UNIFORM, UNIFORM_PREDICATES, Used, ZERO};

/// Where the words of functions lie in the generic address space: a region of its own, so that no data lies there.
pub const CODE: u64 = 0x7400_4000_0000;
/// How many convergence barriers a lane has.
pub const CONVERGENCE_BARRIERS: usize = 16;

/// For what a group waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Nothing.
    Ready,
    /// The lanes in a convergence barrier.
    Bsync(u8),
    /// The lanes of a mask.
    Warp(u32),
    /// The lanes of a mask, which then execute together.
    Collective(u32),
    /// A barrier of the CTA.
    Barrier(u8),
    /// The barrier of the cluster.
    Cluster,
}

/// Lanes that execute together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// The next operation.
    pub pc: u32,
    /// The lanes.
    pub mask: u32,
    /// For what they wait.
    pub wait: Wait,
    /// How often they have let others go first.
    pub turns: u32,
}

/// What groups of a warp have done to what they share. Where that is nothing that another group may see, every
/// [`LaneOrder`] comes to the same.
#[derive(Clone, Copy, Default, Debug)]
pub struct Shares {
    /// The lanes that lived when lanes parted, until all of them are together again; none while nothing has parted.
    parted: u32,
    /// Which of several groups went first was a choice.
    chooses: bool,
    /// A uniform register or predicate has changed while lanes had parted. One that is written with what it holds has
    /// not: then each group finds the same in every order.
    uniform: bool,
    /// Memory was read while lanes had parted.
    reads: bool,
    /// Memory was written then. Groups that only write do not write the same place, unless threads race.
    writes: bool,
}

/// A warp.
pub struct Warp {
    /// Registers, by row, without literals.
    pub rows: Vec<Lanes>,
    /// Predicates: a mask of lanes each.
    pub preds: [u32; PREDICATES],
    /// Convergence barriers of each lane.
    pub barriers: Box<[Lanes; CONVERGENCE_BARRIERS]>,
    /// The lanes that have not ended.
    pub live: u32,
    /// The groups.
    pub groups: Vec<Group>,
    /// The lanes of a group that continues though its turn is over: what it has put into uniform registers, which all
    /// groups share, is its own until it waits, yields or parts.
    pub current: Option<u32>,
    /// Which group goes next.
    pub order: LaneOrder,
    /// What its groups do to what they share.
    pub shares: Shares,
    /// The thread's own memory, lane by lane.
    pub local: Vec<u8>,
    /// What the last reduction over the CTA gave each lane.
    pub reduced: Lanes,
    /// Where each lane continues after what it executes in a collective.
    pub after_collective: Lanes,
    /// The lanes that have arrived at the cluster's barrier in the phase that is not over.
    pub cluster_arrived: u32,
    /// The number of the first thread in its CTA.
    pub first: u32,
    /// Its time, where cycles are counted.
    pub clock: Clock,
}

/// How many rows of registers are kept for later warps, of one thread.
const SPARE: usize = 64;

thread_local! {
    /// Rows of warps that have ended: to make new ones costs more than a short warp takes.
    static SPARE_ROWS: RefCell<Vec<Vec<Lanes>>> = const { RefCell::new(Vec::new()) };
}

/// What a register holds that nobody has written: neither zero nor what another holds, and no address.
const UNWRITTEN: u32 = 0x9e37_79b9;
/// Predicates that hold though nobody has written them.
const UNWRITTEN_PREDICATES: [u8; 3] = [1, 2, 5];

/// Rows of registers that nobody has written; what is not used of them may hold anything.
fn unwritten_rows(used: Used) -> Vec<Lanes> {
    let mut rows = SPARE_ROWS.with_borrow_mut(Vec::pop).unwrap_or_default();
    rows.resize(usize::from(LITERALS), [0; LANES]);
    for row in (0..used.general).chain(UNIFORM..UNIFORM + used.uniform) {
        rows[usize::from(row)] = [UNWRITTEN.wrapping_mul(u32::from(row) + 1); LANES];
    }
    rows[usize::from(ZERO)] = [0; LANES];
    rows
}

impl Drop for Warp {
    fn drop(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        // A thread that ends may have no rows to keep any more.
        let _ = SPARE_ROWS.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARE {
                spare.push(rows);
            }
        });
    }
}

impl Warp {
    /// A warp of so many threads that begins at a place, and of which some registers are used.
    pub fn new(first: u32, threads: u32, entry: u32, used: Used) -> Warp {
        let mask = if threads >= 32 { u32::MAX } else { (1 << threads) - 1 };
        let mut preds = [0; PREDICATES];
        for at in UNWRITTEN_PREDICATES {
            preds[usize::from(at)] = u32::MAX;
            preds[usize::from(UNIFORM_PREDICATES + at)] = u32::MAX;
        }
        preds[usize::from(TRUE)] = u32::MAX;
        preds[usize::from(UNIFORM_PREDICATES + TRUE)] = u32::MAX;
        Warp {
            rows: unwritten_rows(used),
            preds,
            barriers: Box::new([[0; LANES]; CONVERGENCE_BARRIERS]),
            live: mask,
            groups: vec![Group { pc: entry, mask, wait: Wait::Ready, turns: 0 }],
            current: None,
            order: LaneOrder::default(),
            shares: Shares::default(),
            local: Vec::new(),
            reduced: [0; LANES],
            after_collective: [0; LANES],
            cluster_arrived: 0,
            first,
            clock: Clock::default(),
        }
    }

    /// Whether all lanes have ended.
    pub fn is_done(&self) -> bool {
        self.groups.is_empty()
    }

    /// The group that goes next: the current one, or the first of the order.
    pub fn next(&self) -> Option<usize> {
        if let [group] = &self.groups[..] {
            return (group.wait == Wait::Ready).then_some(0);
        }
        let ready = self.groups.iter().enumerate().filter(|(_, group)| group.wait == Wait::Ready);
        let rank = |at, group: &Group| self.order.rank(at, group.turns, group.pc, group.mask);
        ready.min_by_key(|(at, group)| (self.current != Some(group.mask), rank(*at, group))).map(|(at, _)| at)
    }

    /// Notes an access to memory that others may reach.
    pub fn note_access(&mut self, kind: &Kind) {
        let (reads, writes) = match kind {
            Kind::LoadConstant { .. } | Kind::Window(..) => (false, false),
            Kind::Load { space: Space::Local, .. } | Kind::Store { space: Space::Local, .. } => (false, false),
            Kind::Load { .. } | Kind::LoadCombined { .. } | Kind::LoadTiles { .. } => (true, false),
            Kind::Image(word) => match word.access.kind {
                ImageKind::Query(_) => (false, false),
                ImageKind::Reduce(_) | ImageKind::ReduceTexel(_) => (true, true),
                ImageKind::Store | ImageKind::StoreTexel => (false, true),
                _ => (true, false),
            },
            Kind::Store { .. } | Kind::StoreTiles { .. } => (false, true),
            _ => (true, true),
        };
        let has_parted = self.shares.parted != 0;
        self.shares.reads |= reads && has_parted;
        self.shares.writes |= writes && has_parted;
    }

    /// Notes that a uniform register or predicate holds something else than before.
    #[inline(always)]
    pub fn note_uniform(&mut self, has_changed: bool) {
        self.shares.uniform |= has_changed && self.shares.parted != 0;
    }

    /// Notes which lanes are together, and whether several groups can go next.
    pub fn note_groups(&mut self) {
        if self.groups.len() <= 1 {
            // Lanes that have ended were not seen to meet the others.
            self.shares.parted *= u32::from(self.shares.parted != self.live);
            return;
        }
        if self.shares.parted == 0 {
            self.shares.parted = self.live;
        }
        let mut ready = self.groups.iter().filter(|group| group.wait == Wait::Ready);
        self.shares.chooses |= self.current.is_none() && ready.nth(1).is_some();
    }

    /// Whether another order may leave something else.
    pub fn has_orders(&self) -> bool {
        let Shares { chooses, uniform, reads, writes, .. } = self.shares;
        chooses && (uniform || reads && writes)
    }

    /// Lets continue what has waited for lanes that have now arrived, or have ended.
    pub fn release(&mut self) {
        while let Some(at) = (0..self.groups.len()).find(|at| self.is_complete(*at)) {
            let first = self.groups[at];
            let alike = |group: &Group| self.waits_with(&first, group);
            let (gone, mut kept): (Vec<Group>, Vec<Group>) = self.groups.iter().partition(|group| alike(group));
            match first.wait {
                Wait::Collective(_) => {
                    let pc = gone.iter().map(|group| group.pc).min().unwrap_or(first.pc);
                    kept.push(together(&gone, pc));
                }
                _ => {
                    if let Wait::Bsync(barrier) = first.wait {
                        // A barrier that is passed names nobody: a loop may come back to `BSYNC` without `BSSY`.
                        let passed = gone.iter().fold(0, |mask, group| mask | group.mask);
                        set(passed).for_each(|lane| self.barriers[usize::from(barrier)][lane] = 0);
                    }
                    let mut places: Vec<u32> = gone.iter().map(|group| group.pc).collect();
                    places.sort_unstable();
                    places.dedup();
                    for pc in places {
                        let here: Vec<Group> = gone.iter().filter(|group| group.pc == pc).copied().collect();
                        kept.push(together(&here, pc));
                    }
                }
            }
            self.groups = kept;
        }
    }

    /// Whether a group waits for the same lanes at the same barrier as another one.
    fn waits_with(&self, one: &Group, other: &Group) -> bool {
        one.wait == other.wait
            && match one.wait {
                // Lanes in different activations of a function use one barrier for different purposes.
                Wait::Bsync(barrier) => self.members(barrier, one) == self.members(barrier, other),
                _ => true,
            }
    }

    /// The lanes that a convergence barrier names, in the copies of a group, which are all alike.
    fn members(&self, barrier: u8, group: &Group) -> u32 {
        self.barriers[usize::from(barrier)][group.mask.trailing_zeros() as usize & 31]
    }

    /// Whether all lanes for which a group waits are there.
    fn is_complete(&self, at: usize) -> bool {
        let group = &self.groups[at];
        let wanted = match group.wait {
            Wait::Bsync(barrier) => self.members(barrier, group),
            Wait::Warp(mask) | Wait::Collective(mask) => mask,
            Wait::Ready | Wait::Barrier(_) | Wait::Cluster => return false,
        };
        let there = self.groups.iter().filter(|other| self.waits_with(group, other));
        wanted & self.live & !there.fold(0, |mask, other| mask | other.mask) == 0
    }

    /// Ends the lanes of a mask.
    pub fn end(&mut self, mask: u32) {
        self.live &= !mask;
        for group in &mut self.groups {
            group.mask &= !mask;
        }
        self.groups.retain(|group| group.mask != 0);
    }

    /// Takes lanes out of the convergence barrier that they are in.
    pub fn leave(&mut self, barrier: u8, mask: u32) {
        let masks = &mut self.barriers[usize::from(barrier)];
        let members = set(mask).fold(0, |members, lane| members | masks[lane]);
        set(members | mask).for_each(|lane| masks[lane] &= !mask);
    }

    /// Frees the groups that wait at a barrier of the CTA.
    pub fn pass(&mut self, barrier: u8) {
        let (gone, kept): (Vec<Group>, Vec<Group>) =
            self.groups.iter().partition(|group| group.wait == Wait::Barrier(barrier));
        self.groups = kept;
        gone.into_iter().for_each(|group| self.groups.push(Group { wait: Wait::Ready, ..group }));
    }
}

/// Groups as one that is ready at a place.
fn together(groups: &[Group], pc: u32) -> Group {
    let mask = groups.iter().fold(0, |mask, group| mask | group.mask);
    let turns = groups.iter().map(|group| group.turns).max().unwrap_or(0);
    Group { pc, mask, wait: Wait::Ready, turns }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warp(groups: &[(u32, u32, Wait)]) -> Warp {
        let mut warp = Warp::new(0, 32, 0, Used::ALL);
        warp.groups =
            groups.iter().map(|(pc, mask, wait)| Group { pc: *pc, mask: *mask, wait: *wait, turns: 0 }).collect();
        warp
    }

    #[test]
    fn lanes_wait_for_those_that_the_barrier_names_and_that_live() {
        let mut warp = warp(&[(5, 0x3, Wait::Bsync(0)), (2, 0xc, Wait::Ready)]);
        (0..4).for_each(|lane| warp.barriers[0][lane] = 0xf);
        warp.release();
        assert_ne!(warp.groups[0].wait, Wait::Ready);
        warp.groups[1] = Group { pc: 5, mask: 0xc, wait: Wait::Bsync(0), turns: 0 };
        warp.release();
        assert_eq!(warp.groups, [Group { pc: 5, mask: 0xf, wait: Wait::Ready, turns: 0 }]);

        let mut ended = self::warp(&[(5, 0x3, Wait::Bsync(0)), (2, 0xc, Wait::Ready)]);
        (0..4).for_each(|lane| ended.barriers[0][lane] = 0xf);
        ended.end(0xc);
        ended.release();
        assert_eq!(ended.groups[0].wait, Wait::Ready);
    }

    #[test]
    fn a_barrier_that_is_passed_holds_nobody() {
        let mut warp = warp(&[(5, 0x3, Wait::Bsync(0)), (5, 0xc, Wait::Bsync(0))]);
        (0..4).for_each(|lane| warp.barriers[0][lane] = 0xf);
        warp.release();
        let group = |mask, wait| Group { pc: 5, mask, wait, turns: 0 };
        assert_eq!(warp.groups, [group(0xf, Wait::Ready)]);
        // Two lanes come back without the others, which wait elsewhere.
        warp.groups = vec![group(0x3, Wait::Bsync(0)), group(0xc, Wait::Bsync(1))];
        (0..4).for_each(|lane| warp.barriers[1][lane] = 0xf);
        warp.release();
        assert_eq!(warp.groups.iter().find(|group| group.wait == Wait::Ready).map(|group| group.mask), Some(0x3));
    }

    #[test]
    fn lanes_that_leave_a_barrier_are_not_waited_for() {
        let mut warp = warp(&[(5, 0x3, Wait::Bsync(1)), (2, 0xc, Wait::Ready)]);
        (0..4).for_each(|lane| warp.barriers[1][lane] = 0xf);
        warp.leave(1, 0xc);
        warp.release();
        assert_eq!(warp.groups.len(), 2);
    }

    #[test]
    fn the_current_group_goes_on_until_it_waits() {
        let mut warp = warp(&[(2, 0x3, Wait::Ready), (9, 0xc, Wait::Ready)]);
        assert_eq!(warp.next(), Some(0));
        warp.current = Some(0xc);
        assert_eq!(warp.next(), Some(1));
        warp.groups[1].wait = Wait::Bsync(0);
        assert_eq!(warp.next(), Some(0));
    }

    #[test]
    fn a_group_runs_until_it_waits_or_has_gone_back_often() {
        let mut warp = warp(&[(9, 0x3, Wait::Ready), (2, 0xc, Wait::Ready), (5, 0xf0, Wait::Bsync(0))]);
        assert_eq!(warp.next(), Some(1), "the one that is furthest back");
        warp.order = LaneOrder::Straight;
        assert_eq!(warp.next(), Some(1), "the last one that can go");
        warp.groups[1].turns = 8;
        assert_eq!(warp.next(), Some(1));
        warp.groups[1].turns = 1000;
        assert_eq!(warp.next(), Some(0), "the other one may be waited for");
    }

    #[test]
    fn a_collective_is_executed_by_all_its_lanes_together() {
        let mut warp = warp(&[(9, 0x1, Wait::Collective(0x3)), (9, 0x2, Wait::Ready)]);
        warp.release();
        assert_ne!(warp.groups[0].wait, Wait::Ready);
        warp.groups[1].wait = Wait::Collective(0x3);
        warp.release();
        assert_eq!(warp.groups, [Group { pc: 9, mask: 0x3, wait: Wait::Ready, turns: 0 }]);
    }
}
