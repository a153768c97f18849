//! Scheduling control: stalls, barriers and wait masks for code whose order is given.
//!
//! Results of fixed latency are waited for by stalls of the instructions before the reader. An access whose time nobody
//! knows has one of six barriers, where some later instruction meets it: a write barrier for results, a read barrier
//! for sources that another one overwrites. The instruction that meets it waits for that barrier.
//!
//! **Invariant:** no fixed latency lasts longer than the block, so a block begins with nothing under way but what
//! barriers cover. A barrier may stand for several instructions: waiting for it waits for all of them.

use cranelift_entity::SecondaryMap;
use oriole_ir::{Block, Function, Inst, InstHead, Operand, PhysicalReg, Reg, RegFile, Schedule};
use oriole_pass::analysis::Cfg;
use oriole_sass::Table;
use oriole_sass::class::Pipe;
use oriole_sass::ori;
use oriole_sass::row::File;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::latency::{Timing, Use};
use crate::select::identity;

/// Cycles after which a barrier that is set counts.
const SETTLED: u8 = 2;

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
    for block in control.func.layout().to_vec() {
        control.block(block);
    }
}

/// The timings of all instructions.
fn timings(func: &Function, table: &'static Table) -> SecondaryMap<Inst, Option<Timing>> {
    let mut timings: SecondaryMap<Inst, Option<Timing>> = SecondaryMap::new();
    let mut known: FxHashMap<(oriole_ir::MachineId, u8), Option<Timing>> = FxHashMap::default();
    for inst in func.layout_insts() {
        let Some(id) = func.inst(inst).machine() else { continue };
        timings[inst] = *known.entry((id, shape(func, inst))).or_insert_with(|| {
            let mnemonic = func.mnemonic(inst)?;
            let target = |_| Some(0);
            let word = ori::word_of(table, func, &mnemonic, func.dsts(inst), func.srcs(inst), &target)?;
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

fn file(unit: Reg) -> File {
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
        let Some(timing) = self.timing(inst) else { return };
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

    /// Gives barriers their numbers: the one that was taken longest ago, and in a block one that nothing holds.
    fn number(&mut self) {
        let mut used = [0u32; Schedule::BARRIERS as usize];
        let mut time = 0;
        for block in self.func.layout().to_vec() {
            let mut state = self.states[block].clone();
            for inst in self.func.block_insts(block).collect::<Vec<_>>() {
                for pending in self.met(inst, &state) {
                    done(&mut state, pending);
                }
                let needs = self.needs[inst];
                let mut held = 0u8;
                for pending in state.values().flatten() {
                    let [write, read] = self.barriers[pending.inst];
                    let barrier = if pending.is_write { write } else { read };
                    held |= barrier.map_or(0, |barrier| 1 << barrier);
                }
                for (place, needed) in [needs.write, needs.read].into_iter().enumerate() {
                    if !needed {
                        continue;
                    }
                    time += 1;
                    let rank = |barrier: &u8| (held >> barrier & 1, used[usize::from(*barrier)]);
                    let barrier = (0..Schedule::BARRIERS).min_by_key(rank).unwrap_or(0);
                    used[usize::from(barrier)] = time;
                    held |= 1 << barrier;
                    self.barriers[inst][place] = Some(barrier);
                }
                self.begin(inst, &mut state);
            }
        }
    }

    /// Gives the instructions of a block their control.
    fn block(&mut self, block: Block) {
        let mut state = self.states[block].clone();
        let insts: Vec<Inst> =
            self.func.block_insts(block).filter(|inst| self.func.inst(*inst).machine().is_some()).collect();
        // By unit: when which instruction wrote it.
        let mut written: FxHashMap<Reg, (u32, Timing)> = FxHashMap::default();
        // When each barrier was set.
        let mut set = [None::<u32>; Schedule::BARRIERS as usize];
        let mut now = 0u32;
        let mut previous: Option<(Inst, u32)> = None;
        for inst in &insts {
            let inst = *inst;
            let Some(timing) = self.timing(inst) else { continue };
            let mut mask = 0u8;
            for pending in self.met(inst, &state) {
                let [write, read] = self.barriers[pending.inst];
                mask |= if pending.is_write { write } else { read }.map_or(0, |barrier| 1 << barrier);
                done(&mut state, pending);
            }
            let mut issue = now;
            for barrier in (0..Schedule::BARRIERS).filter(|barrier| mask >> barrier & 1 == 1) {
                if let Some(at) = set[usize::from(barrier)] {
                    issue = issue.max(at + u32::from(SETTLED));
                }
            }
            let guard = self.func.inst(inst).guard.map(|guard| guard.reg());
            for unit in self.func.uses(inst) {
                if let Some((at, writer)) = written.get(&unit) {
                    let used = if Some(unit) == guard { Use::Guard } else { Use::Source };
                    issue = issue.max(at + u32::from(writer.cycles(file(unit), &timing, used)));
                }
            }
            for unit in self.func.defs(inst) {
                if let Some((at, writer)) = written.get(&unit) {
                    // The later of two results is the one that stays.
                    issue = issue.max(at + u32::from(writer.longest(file(unit)).min(10)));
                }
            }
            if let Some((before, at)) = previous {
                self.stall(before, issue - at);
            }
            let [write, read] = self.barriers[inst];
            for barrier in [write, read].into_iter().flatten() {
                set[usize::from(barrier)] = Some(issue);
            }
            let schedule =
                Schedule { stall: 1, yields: false, write_barrier: write, read_barrier: read, wait_mask: mask };
            self.func.set_schedule(inst, Some(schedule));
            if !timing.is_variable() {
                self.func.defs(inst).for_each(|unit| {
                    written.insert(unit, (issue, timing));
                });
            }
            self.begin(inst, &mut state);
            previous = Some((inst, issue));
            now = issue + u32::from(timing.issue());
        }
        if let Some((last, at)) = previous {
            let ends = written.iter().map(|(unit, (at, writer))| at + u32::from(writer.longest(file(*unit))));
            let set = set.iter().flatten().map(|at| at + u32::from(SETTLED));
            let end = ends.chain(set).chain([now]).max().unwrap_or(now);
            self.stall(last, end - at);
        }
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
