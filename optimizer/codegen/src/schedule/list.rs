//! The order of instructions in blocks, before registers have places (AdvancedPhasePreSched, L:483-496).
//!
//! Each piece of a block between calls is ordered anew from its beginning: of the instructions that may issue, the one
//! with the longest way to the end of the piece comes first, in cycles. Where more registers are live than a limit, the
//! one comes first that makes the fewest live. Nothing is moved out of its block.
//!
//! **Invariants:** the new order keeps every edge of the [`Dag`]. A value that a copy puts into a register is made
//! behind the last reads of what the register held, where it was so before: then both still can have one place.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use cranelift_entity::SecondaryMap;
use oriole_ir::{Function, Inst, Reg, RegFile};
use oriole_pass::analysis::Cfg;
use oriole_sass::Table;
use oriole_sass::row::File;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::control::timings;
use super::dag::{Access, Accesses, Dag, Unit};
use super::latency::{Timing, Use};
use crate::allocate::copied;
use crate::allocate::live::{self, Words};
use crate::select::{Selected, is_group_product};

/// General registers of a thread with which as many threads run as a multiprocessor has room for: 65,536 registers for
/// 2,048 threads, less two that the machine reserves.
const FREE: u32 = 30;
/// Predicates that may be live before their number decides.
const PREDICATES: u32 = 5;
/// Registers that are left to the allocator where a thread may have few.
const SPARE: u16 = 4;
/// Instructions among which one is looked for that makes few registers live.
const CANDIDATES: usize = 24;
/// The fewest instructions that are ordered anew.
const LEAST: usize = 3;

/// How many words of registers may be live before their number decides: general ones and predicates.
type Limit = [u32; 2];

/// Instructions that follow each other in a block, and the words that live behind them.
struct Piece {
    insts: Vec<Inst>,
    live: Vec<u32>,
}

/// Orders the instructions of a function with virtual registers, of which it may have so many general ones.
pub fn before_allocation(selected: &mut Selected, table: &'static Table, general: u16) {
    let cfg = Cfg::new(&selected.func);
    let timings = timings(&selected.func, table);
    let words = Words::of(&selected.func, &cfg);
    let (pieces, most) = pieces(selected, &cfg, &words);
    let limit = [most.max(FREE).min(general.saturating_sub(SPARE).into()), PREDICATES];
    for Piece { insts, live } in &pieces {
        let func = &selected.func;
        let accesses: Vec<Accesses> = insts.iter().map(|inst| accesses(func, *inst, &words)).collect();
        let live: FxHashSet<Unit> = live.iter().copied().collect();
        let mut dag = Dag::of(func, insts, &accesses, &timings, &words);
        keep_copies(func, insts, &accesses, &words, &mut dag);
        let timings: Vec<Timing> = insts.iter().filter_map(|inst| timings[*inst]).collect();
        if timings.len() == insts.len() {
            let order = Scheduler::new(&dag, &accesses, &timings, &live, limit).run();
            place(&mut selected.func, insts, &order);
        }
    }
}

/// The pieces of all blocks, and how many general registers are live where most are.
///
/// The stack pointer is written between pieces: what the allocator keeps in memory it stores behind where it is made,
/// and that must be a place of this frame. So are arguments and results of calls, which have their registers only from
/// there to the call, and back. Registers that products of warpgroups access are fenced, and waited
/// for, by order alone.
fn pieces(selected: &Selected, cfg: &Cfg, words: &Words) -> (Vec<Piece>, u32) {
    let Selected { func, stack, fixed, results, .. } = selected;
    let has_place = |reg: Reg| fixed.iter().chain(results).any(|(other, _)| *other == reg);
    let is_passed = |inst: Inst| {
        let written = func.dsts(inst).iter().filter_map(|dst| dst.reg());
        let read = func.inputs(inst).iter().filter_map(|src| src.reg()).filter(|reg| Some(*reg) != *stack);
        written.chain(read).any(has_place)
    };
    let is_of_group = |inst: Inst| {
        is_group_product(func, inst)
            || func.inst(inst).machine_row().is_some_and(|row| row.name.starts_with("WARPGROUP"))
    };
    let is_moved = |inst: Inst| {
        let is_own = func.inst(inst).machine().is_some() && !func.is_machine_call(inst);
        is_own && !is_passed(inst) && !is_of_group(inst)
    };
    let mut pieces: Vec<Piece> = Vec::new();
    let mut piece_of: SecondaryMap<Inst, Option<usize>> = SecondaryMap::new();
    for block in cfg.rpo() {
        let last = func.terminator(*block);
        let insts: Vec<Inst> = func.block_insts(*block).filter(|inst| Some(*inst) != last).collect();
        for insts in insts.split(|inst| !is_moved(*inst)).filter(|insts| insts.len() >= LEAST) {
            piece_of[insts[insts.len() - 1]] = Some(pieces.len());
            pieces.push(Piece { insts: insts.to_vec(), live: Vec::new() });
        }
    }
    let mut most = 0;
    words.backward(func, cfg, |inst, live| {
        let general = live.iter().filter(|word| func.regs()[words.reg(*word)].file == RegFile::R);
        most = most.max(general.count() as u32);
        if let Some(piece) = piece_of[inst] {
            pieces[piece].live = live.iter().collect();
        }
    });
    (pieces, most)
}

/// The words that an instruction accesses, reads first: what it reads was there before.
pub(super) fn accesses(func: &Function, inst: Inst, words: &Words) -> Accesses {
    let guard = func.inst(inst).guard.map(|guard| words.of_reg(guard.reg()));
    let mut accesses = Accesses::default();
    words.accesses(func, inst, |word, access| {
        let file = match func.regs()[words.reg(word)].file {
            RegFile::R => File::R,
            RegFile::UR => File::Ur,
            RegFile::P => File::P,
            RegFile::UP => File::Up,
            RegFile::B => File::B,
        };
        let is_guard = guard.as_ref().is_some_and(|guard| guard.contains(&word));
        let access = match access {
            live::Access::Read => Access::Read(if is_guard { Use::Guard } else { Use::Source }),
            live::Access::Written => Access::Written,
            live::Access::Perhaps => Access::Perhaps,
        };
        accesses.0.push((word, file, access));
    });
    accesses.0.sort_by_key(|(.., access)| !matches!(access, Access::Read(_)));
    accesses
}

/// Orders the making of a value that is copied into a register behind the reads of what that register holds until
/// then, where it comes behind them already.
fn keep_copies(func: &Function, insts: &[Inst], accesses: &[Accesses], words: &Words, dag: &mut Dag) {
    let mut written: FxHashMap<Unit, u32> = FxHashMap::default();
    let mut readers: FxHashMap<Unit, Vec<u32>> = FxHashMap::default();
    for (at, (inst, accesses)) in (0u32..).zip(insts.iter().zip(accesses)) {
        if let Some((to, from)) = copied(func, *inst) {
            let (to, from) = (words.of_operand(to).start, words.of_operand(from).start);
            if let (Some(maker), Some(readers)) = (written.get(&from), readers.get(&to))
                && readers.iter().all(|reader| reader <= maker)
            {
                readers.iter().filter(|reader| *reader != maker).for_each(|reader| dag.order(*reader, *maker, 1));
            }
        }
        for (unit, _, access) in &accesses.0 {
            if *access != Access::Written {
                readers.entry(*unit).or_default().push(at);
            }
            if !matches!(access, Access::Read(_)) {
                written.insert(*unit, at);
            }
            if *access == Access::Written {
                readers.remove(unit);
            }
        }
    }
}

/// Puts instructions that follow each other into another order.
fn place(func: &mut Function, insts: &[Inst], order: &[u32]) {
    if order.is_sorted() {
        return;
    }
    let block = func.block_of(insts[0]).expect("it stands in a block");
    let behind = func.next_inst(insts[insts.len() - 1]);
    insts.iter().for_each(|inst| func.remove_inst(*inst));
    for at in order {
        match behind {
            Some(behind) => func.insert_before(behind, insts[*at as usize]),
            None => func.append_inst(block, insts[*at as usize]),
        }
    }
}

/// The content of a unit between two writes.
#[derive(Clone, Copy, Default, Debug)]
struct Value {
    /// 0 of general registers, 1 of predicates, 2 of others.
    file: u8,
    /// Instructions that have not read it yet.
    readers: u32,
    /// Whether it lives behind the piece.
    survives: bool,
}

struct Scheduler<'d> {
    dag: &'d Dag,
    timings: &'d [Timing],
    limit: Limit,
    values: Vec<Value>,
    /// By instruction: the values that it reads, each once, and those that it makes.
    reads: Vec<SmallVec<[u32; 6]>>,
    makes: Vec<SmallVec<[u32; 4]>>,
    /// Words that are live: general ones, predicates, others.
    live: [u32; 3],
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
    fn new(
        dag: &'d Dag,
        accesses: &[Accesses],
        timings: &'d [Timing],
        live: &FxHashSet<Unit>,
        limit: Limit,
    ) -> Scheduler<'d> {
        let len = accesses.len();
        let mut scheduler = Scheduler {
            dag,
            timings,
            limit,
            values: Vec::new(),
            reads: vec![SmallVec::new(); len],
            makes: vec![SmallVec::new(); len],
            live: [0; 3],
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

    fn find_values(&mut self, accesses: &[Accesses], live: &FxHashSet<Unit>) {
        let mut held: FxHashMap<Unit, u32> = FxHashMap::default();
        for (at, accesses) in accesses.iter().enumerate() {
            for (unit, file, access) in &accesses.0 {
                let file = match file {
                    File::R => 0,
                    File::P => 1,
                    _ => 2,
                };
                let next = self.values.len() as u32;
                let new = Value { file, ..Value::default() };
                if *access == Access::Written || *access == Access::Perhaps && !held.contains_key(unit) {
                    self.values.push(new);
                    held.insert(*unit, next);
                    self.makes[at].push(next);
                    continue;
                }
                let value = *held.entry(*unit).or_insert_with(|| {
                    self.values.push(new);
                    self.live[usize::from(file)] += 1;
                    next
                });
                if !self.reads[at].contains(&value) {
                    self.reads[at].push(value);
                    self.values[value as usize].readers += 1;
                }
            }
        }
        for unit in live {
            match held.get(unit) {
                Some(value) => self.values[*value as usize].survives = true,
                // It lives all along; that of another file counts too much, which is harmless.
                None => self.live[0] += 1,
            }
        }
    }

    fn find_heights(&mut self, accesses: &[Accesses]) {
        for at in (0..accesses.len()).rev() {
            let timing = &self.timings[at];
            // What has a fixed latency is there before the block ends.
            let writes = accesses[at].0.iter().filter(|(.., access)| !matches!(access, Access::Read(_)));
            let own = writes.map(|(_, file, _)| if timing.is_variable() { 1 } else { timing.longest(*file).into() });
            let behind = self.dag.behind[at].iter();
            let behind = behind.map(|edge| u32::from(edge.cycles) + self.heights[edge.to as usize]);
            self.heights[at] = own.chain(behind).max().unwrap_or(0).max(timing.issue().into());
        }
    }

    /// The order: the numbers of the instructions.
    fn run(mut self) -> Vec<u32> {
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
        order
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
            let over = (0..2).map(|file| self.over(file, change[file])).sum::<i64>();
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
        (i64::from(self.live[file]) + change - i64::from(self.limit[file])).max(0)
    }

    /// Whether so many more registers keep to the limits, or are no more than before.
    fn fits(&self, change: [i64; 2]) -> bool {
        (0..2).all(|file| change[file] <= 0 || self.over(file, change[file]) == 0)
    }

    /// How many more general registers and predicates are live behind an instruction.
    fn change(&self, at: u32) -> [i64; 2] {
        let mut change = [0; 3];
        for value in &self.makes[at as usize] {
            let Value { file, readers, survives } = self.values[*value as usize];
            change[usize::from(file)] += i64::from(readers > 0 || survives);
        }
        for value in &self.reads[at as usize] {
            let Value { file, readers, survives } = self.values[*value as usize];
            change[usize::from(file)] -= i64::from(readers == 1 && !survives);
        }
        [change[0], change[1]]
    }

    fn issue(&mut self, at: u32) {
        self.ready.remove(&at);
        for value in &self.reads[at as usize] {
            let value = &mut self.values[*value as usize];
            value.readers -= 1;
            if value.readers == 0 && !value.survives {
                let live = &mut self.live[usize::from(value.file)];
                *live = live.saturating_sub(1);
            }
        }
        for value in &self.makes[at as usize] {
            let value = &self.values[*value as usize];
            self.live[usize::from(value.file)] += u32::from(value.readers > 0 || value.survives);
        }
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
    use oriole_ir::Operand;

    use super::super::dag::tests::Made;
    use super::*;
    use crate::select::never;

    const ROOM: Limit = [64, 7];

    fn order(made: &Made, live: &[Operand], limit: Limit) -> Vec<u32> {
        let (dag, _, accesses, timings) = made.dag();
        let words = Words::of(&made.func, &Cfg::new(&made.func));
        let live = live.iter().flat_map(|operand| words.of_operand(*operand)).collect();
        Scheduler::new(&dag, &accesses, &timings, &live, limit).run()
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
        assert_eq!(order(&made, &[sum, base], [3, 7]), [0, 1, 2, 3, 4, 5]);
    }

    /// A value that is copied into a register that others read before is made behind those.
    #[test]
    fn copies_can_still_share_a_place() {
        let mut made = Made::new();
        let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
        let regs: Vec<Operand> = made.general.iter().map(|reg| Operand::Reg(*reg)).collect();
        let (one, all) = (made.func.imm(1), made.func.imm(15));
        let none = made.func.imm(0);
        made.op("LDS", None, &[regs[2]], &[regs[0], none]);
        made.op("IADD3", None, &[regs[3], truth, truth], &[regs[2], regs[1], zero, never(), never()]);
        made.op("IADD3", None, &[regs[4], truth, truth], &[regs[1], one, zero, never(), never()]);
        made.op("MOV", None, &[regs[1]], &[regs[4], all]);
        let (mut dag, insts, accesses, timings) = made.dag();
        let words = Words::of(&made.func, &Cfg::new(&made.func));
        let live: FxHashSet<Unit> = [regs[1], regs[3]].iter().flat_map(|operand| words.of_operand(*operand)).collect();
        let free = Scheduler::new(&dag, &accesses, &timings, &live, ROOM).run();
        assert_eq!(free, [0, 2, 1, 3], "the next value would be made while the load is on its way");
        keep_copies(&made.func, &insts, &accesses, &words, &mut dag);
        assert_eq!(Scheduler::new(&dag, &accesses, &timings, &live, ROOM).run(), [0, 1, 2, 3]);
    }
}
