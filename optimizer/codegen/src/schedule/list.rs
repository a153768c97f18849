//! List scheduling of a piece of a block: the order of instructions that a graph, their timing and live registers give
//! (L:483-508).
//!
//! Of the instructions that may issue, the one with the longest way to the end of the piece comes first, in cycles.
//! Where more registers of a file are live than a limit, the one comes first that makes the fewest live. The live
//! registers are [`Sets`], which each instruction that issues updates once.
//!
//! **Invariant:** the order keeps every edge of the [`Dag`].

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use oriole_sass::row::File;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::dag::{Access, Accesses, Dag, Unit};
use super::latency::Timing;
use super::sets::Sets;

/// Instructions among which one is looked for that makes few registers live.
const CANDIDATES: usize = 24;
/// Values of a piece up to which a debug build counts the live ones anew behind each instruction.
const RECOUNTED: usize = 256;

/// The files with a limit.
pub(super) const LIMITED: [File; 4] = [File::R, File::P, File::Ur, File::Up];

/// How many registers may be live before their number decides, by the files of [`LIMITED`].
pub(super) type Limit = [u32; LIMITED.len()];

/// An order of a piece.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Order {
    /// The numbers of the instructions.
    pub order: Vec<u32>,
    /// By the files of [`LIMITED`]: how many registers are live where most are.
    pub most: Limit,
}

/// The cycles that a piece takes in an order, until all that has a fixed latency is there.
pub(super) fn cycles(dag: &Dag, accesses: &[Accesses], timings: &[Timing], order: impl Iterator<Item = u32>) -> u32 {
    let mut earliest = vec![0u32; timings.len()];
    let (mut now, mut end) = (0, 0);
    for at in order.map(|at| at as usize) {
        let issued = now.max(earliest[at]);
        end = end.max(issued + tail(&accesses[at], &timings[at]));
        now = issued + u32::from(timings[at].issue());
        for edge in &dag.behind[at] {
            let to = edge.to as usize;
            earliest[to] = earliest[to].max(issued + u32::from(edge.cycles));
        }
    }
    end
}

/// The cycles from the issue of an instruction until its own results are there: what has a fixed latency is there
/// before the block ends.
fn tail(accesses: &Accesses, timing: &Timing) -> u32 {
    let writes = accesses.0.iter().filter(|(.., access)| !matches!(access, Access::Read(_)));
    let own = writes.map(|(_, file, _)| if timing.is_variable() { 1 } else { timing.longest(*file).into() });
    own.max().unwrap_or(0).max(timing.issue().into())
}

/// The content of a unit between two writes.
#[derive(Clone, Copy, Debug)]
struct Value {
    file: File,
    unit: Unit,
    /// Instructions that have not read it yet.
    readers: u32,
    /// Whether it lives behind the piece.
    survives: bool,
    /// Whether it is made already.
    is_made: bool,
}

impl Value {
    fn is_live(&self) -> bool {
        self.is_made && (self.readers > 0 || self.survives)
    }
}

pub(super) struct Scheduler<'d> {
    dag: &'d Dag,
    timings: &'d [Timing],
    limit: Limit,
    values: Vec<Value>,
    /// By instruction: the values that it reads, each once, and those that it makes.
    reads: Vec<SmallVec<[u32; 6]>>,
    makes: Vec<SmallVec<[u32; 4]>>,
    live: &'d mut Sets,
    most: Limit,
    /// By instruction: the cycles from its issue to the end of the piece.
    heights: Vec<u32>,
    /// By instruction: the cycle at which it may issue, and how many come before it that have not issued.
    earliest: Vec<u32>,
    before: Vec<u32>,
    /// The instructions that come next, in the order in which they were.
    ready: BTreeSet<u32>,
    /// Those whose cycle has come, and those for which it has not.
    available: BinaryHeap<(u32, Reverse<u32>)>,
    pending: BinaryHeap<Reverse<(u32, u32)>>,
    now: u32,
}

impl<'d> Scheduler<'d> {
    /// Of a piece behind which these registers are live. `sets` are emptied.
    pub fn new(
        dag: &'d Dag,
        accesses: &[Accesses],
        timings: &'d [Timing],
        live: &[(File, Unit)],
        limit: Limit,
        sets: &'d mut Sets,
    ) -> Scheduler<'d> {
        let len = accesses.len();
        sets.clear();
        let mut scheduler = Scheduler {
            dag,
            timings,
            limit,
            values: Vec::new(),
            reads: vec![SmallVec::new(); len],
            makes: vec![SmallVec::new(); len],
            live: sets,
            most: [0; LIMITED.len()],
            heights: vec![0; len],
            earliest: vec![0; len],
            before: dag.before.clone(),
            ready: BTreeSet::new(),
            available: BinaryHeap::new(),
            pending: BinaryHeap::new(),
            now: 0,
        };
        scheduler.find_values(accesses, live);
        scheduler.find_heights(accesses);
        scheduler
    }

    fn find_values(&mut self, accesses: &[Accesses], live: &[(File, Unit)]) {
        let mut held: FxHashMap<Unit, u32> = FxHashMap::default();
        let new = |file, unit| Value { file, unit, readers: 0, survives: false, is_made: false };
        for (at, accesses) in accesses.iter().enumerate() {
            for (unit, file, access) in accesses.0.iter().filter(|(_, file, _)| self.live.follows(*file)) {
                let next = self.values.len() as u32;
                if *access == Access::Written || *access == Access::Perhaps && !held.contains_key(unit) {
                    self.values.push(new(*file, *unit));
                    held.insert(*unit, next);
                    self.makes[at].push(next);
                    continue;
                }
                let value = *held.entry(*unit).or_insert_with(|| {
                    self.values.push(Value { is_made: true, ..new(*file, *unit) });
                    next
                });
                if !self.reads[at].contains(&value) {
                    self.reads[at].push(value);
                    self.values[value as usize].readers += 1;
                }
            }
        }
        for (file, unit) in live.iter().filter(|(file, _)| self.live.follows(*file)) {
            match held.get(unit) {
                Some(value) => self.values[*value as usize].survives = true,
                // It lives all along.
                None => self.values.push(Value { survives: true, is_made: true, ..new(*file, *unit) }),
            }
        }
        let first = self.values.iter().filter(|value| value.is_live()).map(|value| (value.file, value.unit));
        self.live.update([].into_iter(), first);
        self.note();
    }

    /// Notes how many registers are live.
    fn note(&mut self) {
        for (most, file) in self.most.iter_mut().zip(LIMITED) {
            *most = (*most).max(self.live.count(file));
        }
    }

    fn find_heights(&mut self, accesses: &[Accesses]) {
        for at in (0..accesses.len()).rev() {
            let own = tail(&accesses[at], &self.timings[at]);
            let behind = self.dag.behind[at].iter();
            let behind = behind.map(|edge| u32::from(edge.cycles) + self.heights[edge.to as usize]);
            self.heights[at] = behind.fold(own, u32::max);
        }
    }

    /// The order: the numbers of the instructions.
    pub fn run(mut self) -> Order {
        let mut order = Vec::with_capacity(self.before.len());
        for at in 0..self.before.len() as u32 {
            if self.before[at as usize] == 0 {
                self.release(at);
            }
        }
        while let Some(at) = self.choose() {
            self.issue(at);
            order.push(at);
        }
        debug_assert_eq!(order.len(), self.before.len(), "edges lead forward, so all are reached");
        Order { order, most: self.most }
    }

    fn release(&mut self, at: u32) {
        self.ready.insert(at);
        self.pending.push(Reverse((self.earliest[at as usize], at)));
    }

    /// The instruction that issues next.
    fn choose(&mut self) -> Option<u32> {
        loop {
            while let Some(Reverse((cycle, at))) = self.pending.peek().copied()
                && cycle <= self.now
            {
                self.pending.pop();
                if self.ready.contains(&at) {
                    self.available.push((self.heights[at as usize], Reverse(at)));
                }
            }
            while let Some((_, Reverse(at))) = self.available.peek()
                && !self.ready.contains(at)
            {
                self.available.pop();
            }
            if let Some((_, Reverse(at))) = self.available.peek().copied() {
                let fits = self.fits(self.change(at));
                return Some(if fits { at } else { self.frugal() });
            }
            // Nothing can issue in this cycle.
            let Reverse((cycle, _)) = self.pending.peek()?;
            self.now = self.now.max(*cycle);
        }
    }

    /// Of the instructions that come next, the one that makes the fewest registers live; the first one where each makes
    /// some live, since the order that they had is known to be good enough.
    fn frugal(&self) -> u32 {
        let candidates = self.ready.iter().take(CANDIDATES).copied();
        let cost = |at: u32| {
            let change = self.change(at);
            let over = (0..LIMITED.len()).map(|file| self.over(file, change[file])).sum::<i64>();
            (
                over.max(0),
                change[0].max(0),
                if over > 0 || change[0] > 0 { at } else { u32::MAX - self.heights[at as usize] },
            )
        };
        candidates.min_by_key(|at| cost(*at)).expect("one is ready")
    }

    /// By how much a file would be above its limit.
    fn over(&self, file: usize, change: i64) -> i64 {
        (i64::from(self.live.count(LIMITED[file])) + change - i64::from(self.limit[file])).max(0)
    }

    /// Whether so many more registers keep to the limits, or are no more than before.
    fn fits(&self, change: [i64; LIMITED.len()]) -> bool {
        (0..LIMITED.len()).all(|file| change[file] <= 0 || self.over(file, change[file]) == 0)
    }

    /// How many more registers of the limited files are live behind an instruction.
    fn change(&self, at: u32) -> [i64; LIMITED.len()] {
        let mut change = [0; LIMITED.len()];
        let mut add = |file: File, by: bool, sign: i64| {
            if let Some(at) = LIMITED.iter().position(|limited| *limited == file) {
                change[at] += sign * i64::from(by);
            }
        };
        for value in &self.makes[at as usize] {
            let Value { file, readers, survives, .. } = self.values[*value as usize];
            add(file, readers > 0 || survives, 1);
        }
        for value in &self.reads[at as usize] {
            let Value { file, readers, survives, .. } = self.values[*value as usize];
            add(file, readers == 1 && !survives, -1);
        }
        change
    }

    /// The one update of the live registers that an instruction makes.
    fn update(&mut self, at: u32) {
        for value in &self.reads[at as usize] {
            self.values[*value as usize].readers -= 1;
        }
        for value in &self.makes[at as usize] {
            self.values[*value as usize].is_made = true;
        }
        let values = &self.values;
        let of = |value: &u32| values[*value as usize];
        let pair = |value: Value| (value.file, value.unit);
        let ends = self.reads[at as usize].iter().map(of).filter(|value| !value.is_live()).map(pair);
        let begins = self.makes[at as usize].iter().map(of).filter(Value::is_live).map(pair);
        self.live.update(ends, begins);
        self.note();
        debug_assert!(self.values.len() > RECOUNTED || self.is_counted(), "the sets hold the values that are live");
    }

    /// Whether the sets count what the values say.
    fn is_counted(&self) -> bool {
        let live = |file: File| self.values.iter().filter(|value| value.file == file && value.is_live()).count();
        super::sets::FILES
            .iter()
            .all(|file| !self.live.follows(*file) || live(*file) == self.live.count(*file) as usize)
    }

    fn issue(&mut self, at: u32) {
        self.ready.remove(&at);
        self.update(at);
        let issued = self.now.max(self.earliest[at as usize]);
        self.now = issued + u32::from(self.timings[at as usize].issue());
        let dag = self.dag;
        for edge in &dag.behind[at as usize] {
            let to = edge.to as usize;
            self.earliest[to] = self.earliest[to].max(issued + u32::from(edge.cycles));
            self.before[to] -= 1;
            if self.before[to] == 0 {
                self.release(edge.to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::{Operand, RegFile};
    use oriole_pass::analysis::Cfg;

    use super::super::dag::tests::Made;
    use super::*;
    use crate::allocate::live::Words;
    use crate::select::never;

    const ROOM: Limit = [64, 7, 63, 7];

    fn order(made: &Made, live: &[Operand], limit: Limit) -> Vec<u32> {
        let (dag, _, accesses, timings) = made.dag();
        let words = Words::of(&made.func, &Cfg::new(&made.func));
        let live: Vec<_> = live.iter().flat_map(|operand| words.of_operand(*operand)).map(|at| (File::R, at)).collect();
        let mut sets = Sets::new(words.len(), true);
        let order = Scheduler::new(&dag, &accesses, &timings, &live, limit, &mut sets).run().order;
        let taken = |order: &[u32]| cycles(&dag, &accesses, &timings, order.iter().copied());
        assert!(taken(&order) <= taken(&(0..order.len() as u32).collect::<Vec<_>>()), "no order takes longer");
        order
    }

    /// Loads, each followed by a sum of what it loads.
    fn loads(made: &mut Made) -> Operand {
        let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
        let regs: Vec<Operand> = made.general.iter().map(|reg| Operand::Reg(*reg)).collect();
        let none = made.func.imm(0);
        for loaded in &regs[2..5] {
            made.op("LDS", None, &[*loaded], &[regs[0], none]);
            made.op("IADD3", None, &[regs[1], truth, truth], &[regs[1], *loaded, zero, never(), never()]);
        }
        regs[1]
    }

    #[test]
    fn what_takes_long_begins_first() {
        let mut made = Made::new();
        let sum = loads(&mut made);
        assert_eq!(order(&made, &[sum], ROOM), [0, 2, 4, 1, 3, 5]);
    }

    #[test]
    fn few_registers_keep_the_order() {
        let mut made = Made::new();
        let sum = loads(&mut made);
        let base = Operand::Reg(made.general[0]);
        assert_eq!(order(&made, &[sum, base], [3, 7, 63, 7]), [0, 1, 2, 3, 4, 5]);
    }
}
