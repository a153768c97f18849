//! Scheduling control: stalls, barriers and wait masks for code whose order is given.
//!
//! Results of fixed latency are waited for by stalls of the instructions before the reader. An access whose time nobody
//! knows has one of six barriers, where some later instruction meets it: a write barrier for results, a read barrier
//! for sources that another one overwrites. The instruction that meets it waits for that barrier.
//!
//! **Invariants:** a barrier may stand for several instructions: waiting for it waits for all of them. A block waits
//! for results of fixed latency that the blocks before it left under way, but for those that its first instruction
//! needs: these the blocks before it wait for. Where a block leads back to one that has its control already, it waits
//! for all that the control there does not.

use cranelift_entity::SecondaryMap;
use oriole_ir::{Block, Form, Function, Inst, InstHead, Operand, PhysicalReg, Reg, RegFile, Schedule};
use oriole_pass::analysis::Cfg;
use oriole_sass::Table;
use oriole_sass::class::Pipe;
use oriole_sass::ori;
use oriole_sass::row::File;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::latency::{Timing, Use};
use crate::select::{identity, probes};

/// Cycles after which a barrier that is set counts.
const SETTLED: u8 = 2;

/// A cycle before all others.
const EVER: i32 = i32::MIN / 2;

/// An instruction that a register is under way for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Pending {
    inst: Inst,
    is_write: bool,
}

/// By unit: what is under way, sorted.
type State = FxHashMap<Reg, SmallVec<[Pending; 2]>>;

/// Which barriers an instruction needs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Needs {
    write: bool,
    read: bool,
}

/// By unit: the cycles at which instructions of fixed latency issued that wrote it, and which ones.
type Exit = FxHashMap<Reg, SmallVec<[(i32, Timing); 2]>>;

struct Control<'f> {
    func: &'f mut Function,
    cfg: Cfg,
    timings: SecondaryMap<Inst, Option<Timing>>,
    needs: SecondaryMap<Inst, Needs>,
    /// By instruction: its write barrier and its read barrier.
    barriers: SecondaryMap<Inst, [Option<u8>; 2]>,
    /// By block: what is under way where it begins.
    states: SecondaryMap<Block, State>,
}

/// Gives every instruction of a function in physical form its scheduling control.
pub fn assign(func: &mut Function, table: &'static Table) {
    let cfg = Cfg::new(func);
    let mut control = Control {
        timings: timings(func, table),
        func,
        cfg,
        needs: SecondaryMap::new(),
        barriers: SecondaryMap::new(),
        states: SecondaryMap::new(),
    };
    control.solve();
    control.number();
    let mut exits = SecondaryMap::new();
    let order: Vec<Block> = control.cfg.rpo().to_vec();
    let apart = control.func.layout().iter().filter(|block| control.cfg.rpo_number(**block).is_none()).copied();
    for block in order.iter().copied().chain(apart.collect::<Vec<_>>()) {
        control.block(block, &mut exits);
    }
}

/// The timings of all instructions.
pub(super) fn timings(func: &Function, table: &'static Table) -> SecondaryMap<Inst, Option<Timing>> {
    let mut timings: SecondaryMap<Inst, Option<Timing>> = SecondaryMap::new();
    let mut known: FxHashMap<(oriole_ir::MachineId, u8), Option<Timing>> = FxHashMap::default();
    for inst in func.layout_insts() {
        let Some(id) = func.inst(inst).machine() else { continue };
        timings[inst] = *known.entry((id, shape(func, inst))).or_insert_with(|| {
            let mnemonic = func.mnemonic(inst)?;
            let target = |_| Some(0);
            let word = if func.form == Form::Physical {
                ori::word_of(table, func, &mnemonic, func.dsts(inst), func.srcs(inst), &target)?
            } else {
                let (dsts, srcs) = (probes(func, func.dsts(inst)), probes(func, func.srcs(inst)));
                ori::word_of(table, func, &mnemonic, &dsts, &srcs, &target)?
            };
            table.find(word).map(|encoding| Timing::of(encoding, table.sm))
        });
    }
    timings
}

/// A number that tells apart encodings of a mnemonic with different timing: whether uniform registers are among the
/// operands.
fn shape(func: &Function, inst: Inst) -> u8 {
    let is_uniform = |operand: &Operand| func.operand_info(*operand).is_some_and(|info| info.file == RegFile::UR);
    let (dsts, srcs) = (func.dsts(inst), func.srcs(inst));
    u8::from(dsts.iter().any(is_uniform)) | u8::from(srcs.iter().any(is_uniform)) << 1
}

pub(super) fn file(unit: Reg) -> File {
    match PhysicalReg::of(unit).map(|reg| reg.file) {
        Some(RegFile::R) | None => File::R,
        Some(RegFile::UR) => File::Ur,
        Some(RegFile::P) => File::P,
        Some(RegFile::UP) => File::Up,
        Some(RegFile::B) => File::B,
    }
}

impl Control<'_> {
    fn timing(&self, inst: Inst) -> Option<Timing> {
        self.timings[inst]
    }

    /// Follows what is under way on all ways, and marks what meets it.
    fn solve(&mut self) {
        let mut work: Vec<Block> = self.cfg.rpo().iter().rev().copied().collect();
        let mut is_queued: SecondaryMap<Block, bool> = SecondaryMap::new();
        work.iter().for_each(|block| is_queued[*block] = true);
        while let Some(block) = work.pop() {
            is_queued[block] = false;
            let mut state = self.states[block].clone();
            for inst in self.func.block_insts(block).collect::<Vec<_>>() {
                self.meet(inst, &mut state);
            }
            for next in self.cfg.successors(block).to_vec() {
                if join(&mut self.states[next], &state) && !std::mem::replace(&mut is_queued[next], true) {
                    work.push(next);
                }
            }
        }
    }

    /// An instruction meets what is under way, which then is done, and begins its own.
    fn meet(&mut self, inst: Inst, state: &mut State) {
        for pending in self.met(inst, state) {
            let needs = &mut self.needs[pending.inst];
            if pending.is_write {
                needs.write = true
            } else {
                needs.read = true
            }
            done(state, pending);
        }
        self.begin(inst, state);
    }

    /// The accesses under way that an instruction meets: writes of its operands and results, reads of its results.
    fn met(&self, inst: Inst, state: &State) -> SmallVec<[Pending; 4]> {
        let mut met: SmallVec<[Pending; 4]> = SmallVec::new();
        if self.func.hands_over(inst) {
            // Other code may write what is still read.
            met.extend(state.values().flatten().copied());
        }
        for unit in self.func.uses(inst) {
            met.extend(state.get(&unit).into_iter().flatten().filter(|pending| pending.is_write).copied());
        }
        for unit in self.func.defs(inst) {
            met.extend(state.get(&unit).into_iter().flatten().copied());
        }
        met.sort_unstable();
        met.dedup();
        met
    }

    fn begin(&self, inst: Inst, state: &mut State) {
        let Some(timing) = self.timing(inst).filter(|timing| !timing.is_of_group()) else { return };
        let mut add = |unit: Reg, is_write| {
            let list = state.entry(unit).or_default();
            let pending = Pending { inst, is_write };
            if let Err(at) = list.binary_search(&pending) {
                list.insert(at, pending);
            }
        };
        if timing.reads_late() {
            // Guards are read at issue, and uniform registers but those of work beside the warp.
            let is_late = |file| matches!(file, File::R | File::P) || file == File::Ur && timing.reads_uniform_late();
            let of_file = |unit: &Reg| is_late(file(*unit));
            self.func.uses(inst).filter(of_file).for_each(|unit| add(unit, false));
        }
        if timing.is_variable() {
            self.func.defs(inst).filter(|unit| file(*unit) != File::B).for_each(|unit| add(unit, true));
        }
    }

    /// Where each access is first waited for in its own block, as a place in the layout; the last one of all where
    /// that is in another.
    fn waiters(&self) -> SecondaryMap<Inst, [u32; 2]> {
        let mut waiters: SecondaryMap<Inst, [u32; 2]> = SecondaryMap::with_default([u32::MAX; 2]);
        let mut at = 0;
        for block in self.func.layout() {
            let (mut state, begin) = (self.states[*block].clone(), at);
            let mut places: FxHashMap<Inst, u32> = FxHashMap::default();
            for inst in self.func.block_insts(*block) {
                for pending in self.met(inst, &state) {
                    let is_own = places.get(&pending.inst).is_some_and(|place| *place >= begin);
                    let waiter = &mut waiters[pending.inst][usize::from(!pending.is_write)];
                    if is_own {
                        *waiter = at.min(*waiter);
                    }
                    done(&mut state, pending);
                }
                self.begin(inst, &mut state);
                places.insert(inst, at);
                at += 1;
            }
        }
        waiters
    }

    /// Gives barriers their numbers. Accesses that the same instruction waits for share one; others get one that
    /// nothing holds, the one that was taken longest ago. Where all are held, an access takes the barrier of one that
    /// is waited for next behind it: that one began earlier, so waiting for it as well takes no longer.
    fn number(&mut self) {
        let waiters = self.waiters();
        let mut used = [0u32; Schedule::BARRIERS as usize];
        let mut time = 0;
        for block in self.func.layout().to_vec() {
            let mut state = self.states[block].clone();
            for inst in self.func.block_insts(block).collect::<Vec<_>>() {
                for pending in self.met(inst, &state) {
                    done(&mut state, pending);
                }
                let needs = self.needs[inst];
                // By barrier: where the first that is under way is waited for.
                let mut held = [None::<u32>; Schedule::BARRIERS as usize];
                for pending in state.values().flatten() {
                    let place = usize::from(!pending.is_write);
                    if let Some(barrier) = self.barriers[pending.inst][place] {
                        let held = &mut held[usize::from(barrier)];
                        let waiter = waiters[pending.inst][place];
                        *held = Some(held.map_or(waiter, |other| other.min(waiter)));
                    }
                }
                for (place, needed) in [needs.write, needs.read].into_iter().enumerate() {
                    if !needed {
                        continue;
                    }
                    time += 1;
                    let waiter = waiters[inst][place];
                    let rank = |barrier: &u8| {
                        let last = used[usize::from(*barrier)];
                        match held[usize::from(*barrier)] {
                            Some(other) if other == waiter && waiter != u32::MAX => (0, 0, last),
                            None => (1, 0, last),
                            Some(other) if other >= waiter => (2, other - waiter, last),
                            Some(other) => (3, waiter - other, last),
                        }
                    };
                    let barrier = (0..Schedule::BARRIERS).min_by_key(rank).unwrap_or(0);
                    used[usize::from(barrier)] = time;
                    let held = &mut held[usize::from(barrier)];
                    *held = Some(held.map_or(waiter, |other| other.min(waiter)));
                    self.barriers[inst][place] = Some(barrier);
                }
                self.begin(inst, &mut state);
            }
        }
    }

    /// How many cycles must pass behind the end of a block's predecessor until its results are there for the block.
    /// One that has no control yet waits for them itself, but for its first instruction.
    fn until_entered(&self, mut block: Block, written: &Exit, has_control: bool) -> i32 {
        // Blocks without instructions of the machine take no time.
        while self.machine_insts(block).next().is_none()
            && let [next] = self.cfg.successors(block)
            && *next != block
            && !has_control
        {
            block = *next;
        }
        let (mut cycles, mut needed) = (0i32, 0i32);
        for inst in self.machine_insts(block) {
            let Some(timing) = self.timing(inst) else { continue };
            needed = needed.max(self.ready(inst, &timing, written) - cycles);
            if !has_control {
                return needed;
            }
            cycles += self.func.schedule(inst).map_or(0, |schedule| schedule.stall.into());
        }
        // What nothing here reads is there when the block ends.
        needed.max(settled(written) - cycles)
    }

    fn machine_insts(&self, block: Block) -> impl Iterator<Item = Inst> + '_ {
        self.func.block_insts(block).filter(|inst| self.func.inst(*inst).machine().is_some())
    }

    /// The cycle at which the results of fixed latency are there that an instruction reads or overwrites.
    fn ready(&self, inst: Inst, timing: &Timing, written: &Exit) -> i32 {
        let guard = self.func.inst(inst).guard.map(|guard| guard.reg());
        let mut ready = EVER;
        for unit in self.func.uses(inst) {
            for (at, writer) in written.get(&unit).into_iter().flatten() {
                let used = if Some(unit) == guard { Use::Guard } else { Use::Source };
                ready = ready.max(at + i32::from(writer.cycles(file(unit), timing, used)));
            }
        }
        for unit in self.func.defs(inst) {
            for (at, writer) in written.get(&unit).into_iter().flatten() {
                ready = ready.max(at + i32::from(writer.until_overwritten(file(unit), timing)));
            }
        }
        ready
    }

    /// Gives the instructions of a block their control, and notes what is under way where it ends. `exits` holds that
    /// of the blocks that have theirs.
    fn block(&mut self, block: Block, exits: &mut SecondaryMap<Block, Option<Exit>>) {
        let mut state = self.states[block].clone();
        let insts: Vec<Inst> = self.machine_insts(block).collect();
        let mut written = Exit::default();
        for (unit, writers) in self.cfg.predecessors(block).iter().flat_map(|before| exits[*before].iter().flatten()) {
            let all = written.entry(*unit).or_default();
            for writer in writers {
                if !all.contains(writer) {
                    all.push(*writer);
                }
            }
        }
        // When each barrier was set.
        let mut set = [None::<i32>; Schedule::BARRIERS as usize];
        let mut now = 0i32;
        let mut previous: Option<(Inst, i32)> = None;
        for inst in insts {
            let Some(timing) = self.timing(inst) else { continue };
            let mut mask = 0u8;
            for pending in self.met(inst, &state) {
                let [write, read] = self.barriers[pending.inst];
                mask |= if pending.is_write { write } else { read }.map_or(0, |barrier| 1 << barrier);
                done(&mut state, pending);
            }
            let mut issue = now.max(self.ready(inst, &timing, &written));
            for barrier in (0..Schedule::BARRIERS).filter(|barrier| mask >> barrier & 1 == 1) {
                if let Some(at) = set[usize::from(barrier)] {
                    issue = issue.max(at + i32::from(SETTLED));
                }
            }
            if let Some((before, at)) = previous {
                self.stall(before, (issue - at) as u32);
            } else {
                debug_assert!(issue <= 0, "the blocks before this one waited for what its first instruction needs");
            }
            let [write, read] = self.barriers[inst];
            for barrier in [write, read].into_iter().flatten() {
                set[usize::from(barrier)] = Some(issue);
            }
            let schedule =
                Schedule { stall: 1, yields: false, write_barrier: write, read_barrier: read, wait_mask: mask };
            self.func.set_schedule(inst, Some(schedule));
            let is_certain = self.func.inst(inst).guard.is_none();
            for unit in self.func.defs(inst) {
                let writers = written.entry(unit).or_default();
                if is_certain {
                    writers.clear();
                }
                if !timing.is_variable() {
                    writers.push((issue, timing));
                }
            }
            self.begin(inst, &mut state);
            previous = Some((inst, issue));
            now = issue + i32::from(timing.issue());
        }
        let mut end = set.iter().flatten().map(|at| at + i32::from(SETTLED)).fold(now, i32::max);
        let successors = self.cfg.successors(block);
        if successors.is_empty() {
            // Code elsewhere knows nothing of this function.
            end = end.max(settled(&written));
        }
        for next in successors {
            let has_control = exits[*next].is_some() || *next == block;
            end = end.max(self.until_entered(*next, &written, has_control));
        }
        if let Some((last, at)) = previous {
            self.stall(last, (end - at) as u32);
        }
        written.retain(|unit, writers| {
            writers.iter_mut().for_each(|(at, _)| *at -= end);
            writers.retain(|(at, writer)| *at + i32::from(writer.longest(file(*unit))) > 0);
            !writers.is_empty()
        });
        exits[block] = Some(written);
    }

    /// Lets so many cycles pass behind an instruction; what is more than one instruction can stall, `NOP`s do before it
    /// where it ends the block, and behind it elsewhere.
    fn stall(&mut self, inst: Inst, cycles: u32) {
        let most = u32::from(Schedule::MAX_STALL);
        let own = cycles.min(most);
        let ends_block = self.timing(inst).is_some_and(|timing| timing.pipe() == Pipe::Branch)
            && self.func.next_inst(inst).is_none();
        let mut schedule = self.func.schedule(inst).unwrap_or_default();
        (schedule.stall, schedule.yields) = (own as u8, yields(own));
        let mut left = cycles - own;
        self.func.set_schedule(inst, Some(schedule));
        while left > 0 {
            let id = identity("NOP");
            let opcode = self.func.machine_opcode(id, &[]).expect("it has a row");
            let head = InstHead { opcode, fields: id.fields(), guard: None, line: 0 };
            let nop = self.func.new_inst(head, &[], &[], &[]);
            if ends_block {
                self.func.insert_before(inst, nop);
            } else {
                self.func.insert_after(inst, nop);
            }
            let stall = left.min(most);
            let schedule = Schedule { stall: stall as u8, yields: yields(stall), ..Schedule::default() };
            self.func.set_schedule(nop, Some(schedule));
            left -= stall;
        }
    }
}

/// The cycle at which all results of fixed latency are there.
fn settled(written: &Exit) -> i32 {
    let ends = written
        .iter()
        .flat_map(|(unit, writers)| writers.iter().map(|(at, writer)| at + i32::from(writer.longest(file(*unit)))));
    ends.max().unwrap_or(EVER)
}

/// Whether a warp that stalls so long lets others go first: the machine has no other word for the longest stalls.
fn yields(stall: u32) -> bool {
    !(1..12).contains(&stall)
}

/// Ends accesses that were under way: all of one instruction's reads, or of its writes.
fn done(state: &mut State, pending: Pending) {
    state.retain(|_, list| {
        // What has written its results has read its sources.
        list.retain(|other| other.inst != pending.inst || other.is_write && !pending.is_write);
        !list.is_empty()
    });
}

fn join(state: &mut State, other: &State) -> bool {
    let mut changed = false;
    for (unit, list) in other {
        let own = state.entry(*unit).or_default();
        for pending in list {
            if let Err(at) = own.binary_search(pending) {
                own.insert(at, *pending);
                changed = true;
            }
        }
    }
    changed
}
