//! The loop that executes a group of lanes until something other than plain computation happens.

use oriole_ir::ops::{Space, SpecialReg, UndefTransfer};

use super::access::{Fault, Spaces, from_generic, to_generic};
use super::cluster::{ClusterShape, Member, mapped, split};
use super::frame::Frame;
use super::matrix;
use super::outcome::ThreadId;
use super::partial::spread;
use super::program::{ALWAYS, Access, Kind, Memory, Op, Place, Program, ScalarOps};
use super::vector;
use super::warpgroup;
use oriole_semantics::lanes::{LANES, Word, lanes};
#[cfg(target_arch = "x86_64")]
use oriole_semantics::processor::{Vectors, vectors};

/// Why the loop stopped. The program counter is at the instruction that stopped it.
#[derive(Debug)]
pub enum Stop {
    /// Reconvergence: another group of the activation is at this place or at an earlier one.
    Meeting,
    /// The slice is over.
    Slice,
    /// Some lanes asked for what others must do first. The instruction that asked is done.
    Waits,
    /// Some lanes go elsewhere: these to the first place, the others to the second.
    Diverge(u32, u32, u32),
    /// Lanes go to several places of a switch.
    Scatter,
    /// A call, return, exit, trap, barrier or collective, for these lanes.
    Control(u32),
    /// A lane cannot continue.
    Fault(Fault),
}

/// The coordinates that a warp sees of the launch.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates {
    pub block: [u32; 3],
    pub grid: [u32; 3],
    pub ctaid: [u32; 3],
    pub cluster: ClusterShape,
    pub first_thread: u32,
    pub dynamic_shared: u32,
    pub total_shared: u32,
}

impl Coordinates {
    /// The index in the CTA of a lane's thread.
    pub fn tid(&self, lane: usize) -> [u32; 3] {
        let [x, y, _] = self.block;
        let linear = self.first_thread + lane as u32;
        [linear % x, linear / x % y, linear / x / y]
    }

    /// The same for each lane, without the divisions.
    fn tids(&self) -> [[u32; 3]; LANES] {
        let [x, y, _] = self.block;
        let mut next = self.tid(0);
        let mut tids = [next; LANES];
        for tid in &mut tids {
            *tid = next;
            next[0] += 1;
            if next[0] == x {
                next = [0, next[1] + 1, next[2]];
            }
            if next[1] == y {
                next = [next[0], 0, next[2] + 1];
            }
        }
        tids
    }

    /// A lane's thread.
    pub fn thread(&self, lane: usize) -> ThreadId {
        ThreadId { ctaid: self.ctaid, tid: self.tid(lane) }
    }
}

/// How often an operation was executed: by groups of lanes, and by lanes.
#[derive(Clone, Copy, Default, Debug)]
pub struct Count {
    pub warps: u64,
    pub threads: u64,
}

/// A group of lanes being executed.
pub struct Run<'a> {
    pub program: &'a Program,
    pub frame: &'a mut Frame,
    pub spaces: Spaces<'a>,
    pub at: Coordinates,
    pub mask: u32,
    pub pc: u32,
    /// Where the group must stop for another one.
    pub meeting: u32,
    /// How many operations the slice still has.
    pub budget: u64,
    pub clock: &'a mut u64,
    /// How often each operation was executed, counted on request.
    pub counts: Option<&'a mut [Count]>,
    /// The lane that is followed, and the operations that it executed with the words they wrote.
    pub trace: Option<(usize, &'a mut Vec<Traced>)>,
}

/// An operation that a traced thread has executed.
#[derive(Clone, Copy, Debug)]
pub struct Traced {
    /// Its place in the program.
    pub pc: u32,
    /// The low and high word of its destination afterwards.
    pub value: (u32, u32),
}

macro_rules! versions {
    ($($name:ident $(#[$feature:meta])?),*) => {
        $(
            $(#[$feature])?
            fn $name(run: &mut Run<'_>) -> Stop {
                step_loop(run)
            }
        )*
    };
}

#[cfg(target_arch = "x86_64")]
versions! {
    run_baseline,
    run_avx2 #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")],
    run_avx512 #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512dq,avx512vl")]
}
#[cfg(not(target_arch = "x86_64"))]
versions! { run_baseline }

/// Executes until something happens, with the widest vectors that the processor has.
pub fn run(run: &mut Run<'_>) -> Stop {
    // SAFETY: the features that each version is compiled for have just been found.
    #[cfg(target_arch = "x86_64")]
    match vectors() {
        Vectors::Avx512 => return unsafe { run_avx512(run) },
        Vectors::Avx2 => return unsafe { run_avx2(run) },
        Vectors::Baseline => {}
    }
    run_baseline(run)
}

#[inline(always)]
fn step_loop(run: &mut Run<'_>) -> Stop {
    let program = run.program;
    loop {
        if run.pc >= run.meeting {
            return Stop::Meeting;
        }
        if run.budget == 0 {
            return Stop::Slice;
        }
        run.budget -= 1;
        let pc = run.pc;
        let op = &program.ops[pc as usize];
        let mut mask = run.mask;
        if op.guard != ALWAYS {
            let unknown = run.frame.pred_undefined[op.guard as usize] & mask;
            if unknown != 0 {
                return Stop::Fault(Fault::Undefined(unknown.trailing_zeros() as usize, "a guard"));
            }
            let pred = run.frame.preds[op.guard as usize];
            mask &= if op.negated { !pred } else { pred };
            if mask == 0 {
                run.pc += 1;
                continue;
            }
        }
        if let Some(counts) = &mut run.counts {
            let count = &mut counts[run.pc as usize];
            (count.warps, count.threads) = (count.warps + 1, count.threads + u64::from(mask.count_ones()));
        }
        if let Some(stop) = execute(run, op, mask) {
            return stop;
        }
        if run.trace.is_some() {
            note(run, op, pc, mask);
        }
    }
}

/// Executes one operation and goes to the next, or says why not.
#[inline(always)]
fn execute(run: &mut Run<'_>, op: &Op, mask: u32) -> Option<Stop> {
    let program = run.program;
    let frame = &mut *run.frame;
    let mut result = Ok(());
    // The program counter moves on only in `finish`, or where a branch sets it: what stops the loop is found at its
    // place.
    run.spaces.pc = run.pc;
    match op.kind {
        Kind::Mov32 => {
            vector::copy(frame, op.dst, op.a, mask);
        }
        Kind::Mov64 => {
            vector::copy(frame, op.dst, op.a, mask);
            vector::copy(frame, op.dst + 1, op.a + 1, mask);
        }
        Kind::Un32(kind) => vector::un32(frame, op, mask, kind),
        Kind::Bin32(kind) => vector::bin32(frame, op, mask, kind),
        Kind::Tri32(kind) => vector::tri32(frame, op, mask, kind),
        Kind::Bin64(kind) => vector::bin64(frame, op, mask, kind),
        Kind::Wide(kind) => vector::wide(frame, op, mask, kind),
        Kind::SetP(compared, test) => vector::setp(frame, op, mask, compared, test),
        Kind::Sel32 => vector::select(frame, op, mask, 1),
        Kind::Sel64 => vector::select(frame, op, mask, 2),
        Kind::Pred(kind) => vector::pred(frame, op, mask, kind),
        Kind::Sext64 => vector::extend(frame, op, mask, true),
        Kind::Zext64 => vector::extend(frame, op, mask, false),
        Kind::LoadShared => result = run.spaces.load_shared(frame, &program.accesses[op.x as usize], mask),
        Kind::LoadGlobal => result = run.spaces.load_global(frame, &program.accesses[op.x as usize], mask),
        Kind::StoreShared => result = run.spaces.store_shared(frame, &program.accesses[op.x as usize], mask),
        Kind::StoreGlobal => result = run.spaces.store_global(frame, &program.accesses[op.x as usize], mask),
        Kind::LoadWords => result = run.spaces.load_any(frame, &program.accesses[op.x as usize], mask),
        Kind::StoreWords => result = run.spaces.store_any(frame, &program.accesses[op.x as usize], mask),
        Kind::Jump => {
            run.pc = op.x;
            return None;
        }
        Kind::Branch => {
            let unknown = frame.pred_undefined[op.a as usize] & mask;
            if unknown != 0 {
                return Some(Stop::Fault(Fault::Undefined(unknown.trailing_zeros() as usize, "a branch")));
            }
            let taken = frame.preds[op.a as usize] & mask;
            if taken != 0 && taken != mask {
                return Some(Stop::Diverge(taken, op.b, op.c));
            }
            run.pc = if taken == mask { op.b } else { op.c };
            return None;
        }
        _ => return rare(run, op, mask),
    }
    finish(run, result)
}

#[inline(always)]
fn finish(run: &mut Run<'_>, result: Result<(), Fault>) -> Option<Stop> {
    match result {
        Ok(()) => {
            run.pc += 1;
            None
        }
        Err(fault) => Some(Stop::Fault(fault)),
    }
}

/// The steps that an operation takes beside its own as it is executed lane by lane, without those of its access.
/// Measured 2026-11: 0.2 to 0.4 us for a warp, 1.9 for a video instruction.
fn lane_steps(program: &Program, op: &Op) -> u64 {
    match op.kind {
        Kind::Scalar if program.scalars[op.x as usize].is_video => 128,
        _ => 16,
    }
}

/// Executes the operations that need not be fast.
#[inline(never)]
fn rare(run: &mut Run<'_>, op: &Op, mask: u32) -> Option<Stop> {
    let program = run.program;
    let frame = &mut *run.frame;
    let mut result = Ok(());
    run.spaces.extra_steps += lane_steps(program, op);
    match op.kind {
        Kind::Scalar => scalar(frame, &program.scalars[op.x as usize], mask),
        Kind::Load => {
            result = run.spaces.perform(frame, &program.accesses[op.x as usize], mask, Spaces::load_any);
        }
        Kind::Store => {
            let store = |spaces: &mut Spaces<'_>, frame: &mut Frame, access: &Access, mask| {
                spaces.store_any(frame, access, mask)
            };
            result = run.spaces.perform(frame, &program.accesses[op.x as usize], mask, store);
        }
        Kind::Atomic => {
            result = run.spaces.perform(frame, &program.accesses[op.x as usize], mask, Spaces::atomic);
        }
        Kind::Multimem => {
            result = run.spaces.perform(frame, &program.accesses[op.x as usize], mask, Spaces::multimem);
        }
        Kind::AsyncCopy => result = run.spaces.copy(frame, &program.copies[op.x as usize], mask),
        Kind::Pack => {
            let (parts, bits) = &program.packs[op.x as usize];
            pack(frame, op.dst, parts, u32::from(*bits), mask);
        }
        Kind::Special => special(run, op, mask),
        Kind::LocalAddress => {
            let address = frame.base.wrapping_add(op.a);
            frame.set(op.dst, &[address; LANES], 0, mask);
            if op.b == 2 {
                frame.set(op.dst + 1, &[0; LANES], 0, mask);
            }
        }
        Kind::IsSpace | Kind::ToGeneric | Kind::FromGeneric | Kind::CtaRank | Kind::Mapa => {
            convert_address(frame, op, mask, run.at.cluster.rank(run.at.ctaid));
        }
        Kind::ActiveMask => frame.set(op.dst, &[mask; LANES], 0, mask),
        Kind::Fence => result = run.spaces.order(program.fences[op.x as usize], mask),
        Kind::Image => result = run.spaces.image(frame, &program.images[op.x as usize], mask),
        Kind::Stretch => result = run.spaces.stretch_op(frame, &program.stretches[op.x as usize], mask),
        Kind::Tensor => result = run.spaces.tensor(frame, &program.tensors[op.x as usize], mask),
        Kind::Bulk => result = run.spaces.bulk(frame, &program.bulks[op.x as usize], mask),
        Kind::Matrix if mask == u32::MAX => {
            // Not by way of `result`: that is moved through memory, which shows beside a short product.
            let result = matrix::execute(frame, &mut run.spaces, &program.matrices[op.x as usize]);
            return finish(run, result);
        }
        Kind::Warpgroup if mask == u32::MAX => {
            result = warpgroup::execute(frame, &mut run.spaces, &run.at, &program.groups, op.x);
        }
        Kind::Mbarrier => {
            let barrier = &program.mbarriers[op.x as usize];
            result = run.spaces.mbarrier(frame, barrier, mask);
            if result.is_ok() && barrier.is_denied(frame, mask) {
                run.pc += 1;
                return Some(Stop::Waits);
            }
        }
        Kind::Nop => {}
        Kind::Switch => {
            let index = frame.words[op.a as usize];
            let unknown = frame.undefined[op.a as usize] & mask;
            if unknown != 0 {
                return Some(Stop::Fault(Fault::Undefined(unknown.trailing_zeros() as usize, "a branch")));
            }
            let targets = &program.switches[op.x as usize];
            let first = index[mask.trailing_zeros() as usize];
            // Lanes that agree continue together; otherwise the machine splits the group.
            if lanes(mask).any(|lane| index[lane] != first) {
                return Some(Stop::Scatter);
            }
            let Some(target) = targets.get(first as usize) else {
                let cause = super::outcome::Cause::BadIndex(u64::from(first));
                return Some(Stop::Fault(Fault::Trap(mask.trailing_zeros() as usize, cause)));
            };
            run.pc = *target;
            return None;
        }
        _ => return Some(Stop::Control(mask)),
    }
    finish(run, result)
}

/// The raw bits in a place, and whether any of them is undefined.
pub fn read_place(frame: &Frame, place: Place, lane: usize) -> (u64, bool) {
    let word = |slot: u32| u64::from(frame.words[slot as usize][lane]);
    let unknown = |bits: u32| bits >> lane & 1 == 1;
    match place {
        Place::Word(slot) => (word(slot), unknown(frame.undefined[slot as usize])),
        Place::Pair(slot) => (word(slot) | word(slot + 1) << 32, unknown(frame.pair_undefined(slot))),
        Place::Pred(slot) => {
            (u64::from(frame.preds[slot as usize] >> lane & 1), unknown(frame.pred_undefined[slot as usize]))
        }
        Place::None => (0, false),
    }
}

/// Writes raw bits to a place.
pub fn write_place(frame: &mut Frame, place: Place, lane: usize, value: u64, undefined: bool) {
    match place {
        Place::Word(slot) => {
            frame.put(slot, lane, value as u32, if undefined { u32::MAX } else { 0 });
        }
        Place::Pair(slot) => {
            write_place(frame, Place::Word(slot), lane, value, undefined);
            write_place(frame, Place::Word(slot + 1), lane, value >> 32, undefined);
        }
        Place::Pred(slot) => {
            let bit = |on: bool| u32::from(on) << lane;
            frame.set_pred(slot, bit(value & 1 == 1), bit(undefined), 1 << lane);
        }
        Place::None => {}
    }
}

fn scalar(frame: &mut Frame, ops: &ScalarOps, mask: u32) {
    let unknown = ops.srcs.iter().fold(0, |lanes, place| lanes | unknown_lanes(frame, *place)) & mask;
    if unknown != 0 {
        scalar_of_unknown(frame, ops, unknown);
    }
    let mask = mask & !unknown;
    let mut srcs = [[0; 5]; LANES];
    for (index, place) in ops.srcs.iter().enumerate() {
        match *place {
            Place::Word(slot) => {
                let word = &frame.words[slot as usize];
                lanes(mask).for_each(|lane| srcs[lane][index] = u64::from(word[lane]));
            }
            Place::Pair(slot) => {
                let (low, high) = (&frame.words[slot as usize], &frame.words[slot as usize + 1]);
                lanes(mask).for_each(|lane| srcs[lane][index] = u64::from(low[lane]) | u64::from(high[lane]) << 32);
            }
            Place::Pred(slot) => {
                let bits = frame.preds[slot as usize];
                lanes(mask).for_each(|lane| srcs[lane][index] = u64::from(bits >> lane & 1));
            }
            Place::None => {}
        }
    }
    let (mut first, mut second, mut undefined) = ([0; LANES], [0; LANES], 0);
    for lane in lanes(mask) {
        let result = ops.op.eval(&srcs[lane]);
        (first[lane], second[lane]) = (result.value, result.second);
        undefined |= u32::from(!result.defined) << lane;
    }
    write_lanes(frame, ops.dsts[0], &first, undefined, mask);
    write_lanes(frame, ops.dsts[1], &second, undefined, mask);
    lanes(undefined).for_each(|lane| write_partly(frame, ops.dsts[0], lane, first[lane], ops.bits));
}

/// The lanes in which any bit of a place is undefined.
fn unknown_lanes(frame: &Frame, place: Place) -> u32 {
    match place {
        Place::Word(slot) => frame.undefined[slot as usize],
        Place::Pair(slot) => frame.pair_undefined(slot),
        Place::Pred(slot) => frame.pred_undefined[slot as usize],
        Place::None => 0,
    }
}

/// Writes raw bits to a place in the lanes of a mask.
fn write_lanes(frame: &mut Frame, place: Place, values: &[u64; LANES], undefined: u32, mask: u32) {
    match place {
        Place::Word(slot) => frame.set(slot, &values.map(|value| value as u32), undefined, mask),
        Place::Pair(slot) => frame.set_pair(slot, values, undefined, mask),
        Place::Pred(slot) => {
            let bits = lanes(mask).fold(0, |bits, lane| bits | (values[lane] as u32 & 1) << lane);
            frame.set_pred(slot, bits, undefined, mask);
        }
        Place::None => {}
    }
}

/// The same where an operand is undefined in each of these lanes, at least in part.
#[cold]
#[inline(never)]
fn scalar_of_unknown(frame: &mut Frame, ops: &ScalarOps, mask: u32) {
    for lane in lanes(mask) {
        let mut undefined = false;
        let mut srcs = [0; 5];
        for (value, place) in srcs.iter_mut().zip(ops.srcs) {
            let (bits, unknown) = read_place(frame, place, lane);
            *value = bits;
            undefined |= unknown;
        }
        let result = ops.op.eval(&srcs);
        let settled = |value| read_place(frame, ops.srcs[2], lane) == (u64::from(value), false);
        undefined &= !ops.settles.is_some_and(settled);
        undefined |= !result.defined;
        if undefined && result.defined && ops.undef != UndefTransfer::Mixing {
            let unknown = ops.srcs.map(|place| unknown_bits(frame, place, lane));
            let unknown = spread(ops.undef, srcs, unknown, &|srcs| ops.op.eval(&srcs).value);
            write_partly(frame, ops.dsts[0], lane, result.value, unknown & ops.bits);
            write_place(frame, ops.dsts[1], lane, result.second, true);
            continue;
        }
        write_partly(frame, ops.dsts[0], lane, result.value, if undefined { ops.bits } else { 0 });
        write_place(frame, ops.dsts[1], lane, result.second, undefined);
    }
}

/// The undefined bits in a place.
pub fn unknown_bits(frame: &Frame, place: Place, lane: usize) -> u64 {
    let bits = |slot| u64::from(frame.bits(slot, lane));
    match place {
        Place::Word(slot) => bits(slot),
        Place::Pair(slot) => bits(slot) | bits(slot + 1) << 32,
        Place::Pred(slot) => u64::from(frame.pred_undefined[slot as usize] >> lane & 1),
        Place::None => 0,
    }
}

/// Writes a value of which only some bits are undefined.
pub fn write_partly(frame: &mut Frame, place: Place, lane: usize, value: u64, unknown: u64) {
    match place {
        Place::Word(slot) => frame.put(slot, lane, value as u32, unknown as u32),
        Place::Pair(slot) => {
            frame.put(slot, lane, value as u32, unknown as u32);
            frame.put(slot + 1, lane, (value >> 32) as u32, (unknown >> 32) as u32);
        }
        Place::Pred(_) | Place::None => write_place(frame, place, lane, value, unknown & 1 == 1),
    }
}

/// Concatenates parts.
fn pack(frame: &mut Frame, dst: u32, parts: &[Place], bits: u32, mask: u32) {
    if bits >= 32 && !frame.has_partial_words() {
        return pack_words(frame, dst, parts, mask);
    }
    let words = (bits as usize * parts.len()).div_ceil(32);
    for lane in lanes(mask) {
        let mut out = [(0u32, 0u32); 8];
        for (i, part) in parts.iter().enumerate() {
            let (value, unknown) = (read_place(frame, *part, lane).0, unknown_bits(frame, *part, lane));
            let at = bits as usize * i;
            let count = (bits as usize).div_ceil(32);
            let keep = |bits_of: u64, word: usize| match bits {
                32.. => bits_of >> (32 * word),
                _ => bits_of & ((1 << bits) - 1),
            };
            for (word, (whole, open)) in out.iter_mut().skip(at / 32).take(count).enumerate() {
                *whole |= (keep(value, word) as u32) << (at % 32);
                *open |= (keep(unknown, word) as u32) << (at % 32);
            }
        }
        for (word, (value, unknown)) in out.iter().enumerate().take(words) {
            frame.put(dst + word as u32, lane, *value, *unknown);
        }
    }
}

/// Concatenates parts that are whole words; all are read before any is written.
fn pack_words(frame: &mut Frame, dst: u32, parts: &[Place], mask: u32) {
    let words = parts.iter().flat_map(|part| match *part {
        Place::Word(slot) => slot..slot + 1,
        Place::Pair(slot) => slot..slot + 2,
        Place::Pred(_) | Place::None => 0..0,
    });
    let (mut values, mut count) = ([([0; LANES], 0); 8], 0);
    for (value, slot) in values.iter_mut().zip(words) {
        *value = (frame.words[slot as usize], frame.undefined[slot as usize]);
        count += 1;
    }
    for (slot, (value, undefined)) in (dst..).zip(&values[..count]) {
        frame.set(slot, value, *undefined, mask);
    }
}

fn special(run: &mut Run<'_>, op: &Op, mask: u32) {
    let reg = SpecialReg::ALL[op.x as usize];
    if reg.is_volatile() {
        // Time is how often the warp has looked at it, so that it is the same before and after an optimization.
        *run.clock += 16;
    }
    let at = run.at;
    let mut values = [special_value(reg, &at, 0, *run.clock); LANES];
    if let Some(axis) = thread_axis(reg) {
        values.iter_mut().zip(at.tids()).for_each(|(value, tid)| *value = u64::from(tid[axis]));
    } else if differs_in_a_warp(reg) {
        values.iter_mut().enumerate().for_each(|(lane, value)| *value = special_value(reg, &at, lane, *run.clock));
    }
    match op.a {
        0 => {
            let bits = lanes(u32::MAX).filter(|lane| values[*lane] & 1 == 1).fold(0, |bits, lane| bits | 1 << lane);
            run.frame.set_pred(op.dst, bits, 0, mask);
        }
        1 => {
            let low: Word = values.map(|v| v as u32);
            run.frame.set(op.dst, &low, 0, mask);
        }
        _ => run.frame.set_pair(op.dst, &values, 0, mask),
    }
}

/// The axis whose index a special register holds.
fn thread_axis(reg: SpecialReg) -> Option<usize> {
    [SpecialReg::TidX, SpecialReg::TidY, SpecialReg::TidZ].iter().position(|axis| *axis == reg)
}

/// Whether a special register may have another value in each lane.
fn differs_in_a_warp(reg: SpecialReg) -> bool {
    use SpecialReg::*;
    matches!(reg, TidX | TidY | TidZ | LaneId | LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt)
}

/// Bytes of shared memory that the system reserves for itself; they follow the program's own here.
pub const RESERVED_SHARED: u32 = 1024;
/// What `%gridid` reads as.
pub const GRID_NUMBER: u64 = 1;

/// One multiprocessor, warps numbered by threads.
fn special_value(reg: SpecialReg, at: &Coordinates, lane: usize, clock: u64) -> u64 {
    use SpecialReg::*;
    let one = 1u32 << lane;
    let ClusterShape { extents, is_explicit } = at.cluster;
    let word = match reg {
        TidX => at.tid(lane)[0],
        TidY => at.tid(lane)[1],
        TidZ => at.tid(lane)[2],
        NtidX => at.block[0],
        NtidY => at.block[1],
        NtidZ => at.block[2],
        CtaidX => at.ctaid[0],
        CtaidY => at.ctaid[1],
        CtaidZ => at.ctaid[2],
        NctaidX => at.grid[0],
        NctaidY => at.grid[1],
        NctaidZ => at.grid[2],
        ClusterIdX => at.ctaid[0] / extents[0],
        ClusterIdY => at.ctaid[1] / extents[1],
        ClusterIdZ => at.ctaid[2] / extents[2],
        NClusterIdX => at.grid[0] / extents[0],
        NClusterIdY => at.grid[1] / extents[1],
        NClusterIdZ => at.grid[2] / extents[2],
        ClusterCtaidX => at.cluster.place(at.ctaid)[0],
        ClusterCtaidY => at.cluster.place(at.ctaid)[1],
        ClusterCtaidZ => at.cluster.place(at.ctaid)[2],
        ClusterCtaRank => at.cluster.rank(at.ctaid),
        ClusterNctaidX => extents[0],
        ClusterNctaidY => extents[1],
        ClusterNctaidZ => extents[2],
        ClusterNctaRank => at.cluster.ctas(),
        IsExplicitCluster => u32::from(is_explicit),
        LaneId => lane as u32,
        WarpId => at.first_thread / 32,
        NWarpId => at.block.iter().product::<u32>().div_ceil(32),
        LanemaskEq => one,
        LanemaskLe => one | (one - 1),
        LanemaskLt => one - 1,
        LanemaskGe => !(one - 1),
        LanemaskGt => !(one | (one - 1)),
        NSmId => 1,
        DynamicSmemSize => at.dynamic_shared,
        TotalSmemSize | AggrSmemSize => at.total_shared,
        ReservedSmemBegin | ReservedSmem0 | ReservedSmem1 => at.total_shared.next_multiple_of(16),
        ReservedSmemEnd | ReservedSmemCap => at.total_shared.next_multiple_of(16) + RESERVED_SHARED,
        GridId => return GRID_NUMBER,
        Clock | GlobalTimerLo => clock as u32,
        ClockHi | GlobalTimerHi => (clock >> 32) as u32,
        Clock64 | GlobalTimer => return clock,
        // PTX ISA, "Special Registers": nothing is said of what the performance monitors count.
        Pm0 | Pm1 | Pm2 | Pm3 | Pm4 | Pm5 | Pm6 | Pm7 => clock as u32,
        Pm0Wide | Pm1Wide | Pm2Wide | Pm3Wide | Pm4Wide | Pm5Wide | Pm6Wide | Pm7Wide => return clock,
        // No graph of kernels is executing.
        CurrentGraphExec => 0,
        _ => 0,
    };
    u64::from(word)
}

fn memory_of(space: u32) -> Memory {
    match space {
        s if s == Space::Shared as u32 => Memory::Shared,
        s if s == Space::Cluster as u32 => Memory::Cluster,
        s if s == Space::Local as u32 => Memory::Local,
        s if s == Space::Const as u32 => Memory::Const,
        s if s == Space::Param as u32 => Memory::Param,
        _ => Memory::Global,
    }
}

/// Questions about addresses, and conversions, by a CTA with a rank in its cluster.
fn convert_address(frame: &mut Frame, op: &Op, mask: u32, rank: u32) {
    let memory = memory_of(op.x);
    let window = if memory == Memory::Cluster { Memory::Shared } else { memory };
    let from = if op.b == 1 { Place::Pair(op.a) } else { Place::Word(op.a) };
    let to = if op.c == 1 { Place::Pair(op.dst) } else { Place::Word(op.dst) };
    for lane in lanes(mask) {
        let (address, undefined) = read_place(frame, from, lane);
        match op.kind {
            Kind::IsSpace => {
                let (found, address) = from_generic(address);
                let elsewhere = memory == Memory::Shared && member_rank(address, rank) != u64::from(rank);
                let inside = found == window && !elsewhere;
                write_place(frame, Place::Pred(op.dst), lane, u64::from(inside), undefined);
            }
            Kind::CtaRank => {
                let (found, address) = match memory {
                    Memory::Cluster => (Memory::Shared, address),
                    _ => from_generic(address),
                };
                // PTX ISA, "getctarank": the address is one of shared memory.
                let undefined = undefined || found != Memory::Shared;
                write_place(frame, to, lane, member_rank(address, rank), undefined);
            }
            Kind::Mapa => {
                let (rank, unknown) = read_place(frame, Place::Word(op.c), lane);
                let to = if op.b == 1 { Place::Pair(op.dst) } else { Place::Word(op.dst) };
                write_place(frame, to, lane, mapped(address, rank as u32), undefined || unknown);
            }
            Kind::ToGeneric => write_place(frame, to, lane, to_generic(memory, address), undefined),
            _ => {
                let (found, address) = from_generic(address);
                // PTX ISA, "cvta": undefined for an address outside of the window.
                let undefined = undefined || found != window;
                write_place(frame, to, lane, address, undefined);
            }
        }
    }
}

/// The rank of the CTA that an address of shared memory names to the CTA with rank `own`.
fn member_rank(address: u64, own: u32) -> u64 {
    match split(address).0 {
        Member::Own => own.into(),
        Member::Rank(rank) => rank,
    }
}

/// Records what the traced lane did.
#[cold]
fn note(run: &mut Run<'_>, op: &Op, pc: u32, mask: u32) {
    let Some((lane, traced)) = &mut run.trace else { return };
    if mask >> *lane & 1 == 0 || traced.len() >= 1 << 20 {
        return;
    }
    let word = |slot: u32| run.frame.words.get(slot as usize).map_or(0, |w| w[*lane]);
    let pred = |slot: u32| run.frame.preds.get(slot as usize).map_or(0, |p| p >> *lane & 1);
    let value = match op.kind {
        Kind::SetP(..) | Kind::Pred(_) | Kind::IsSpace => (pred(op.dst), 0),
        Kind::Scalar => match run.program.scalars[op.x as usize].dsts[0] {
            Place::Word(slot) => (word(slot), 0),
            Place::Pair(slot) => (word(slot), word(slot + 1)),
            Place::Pred(slot) => (pred(slot), 0),
            Place::None => (0, 0),
        },
        Kind::Load | Kind::LoadWords | Kind::LoadGlobal | Kind::LoadShared | Kind::Atomic | Kind::Multimem => {
            let slot = run.program.accesses[op.x as usize].regs.first().copied().unwrap_or(0);
            (word(slot), word(slot + 1))
        }
        _ => (word(op.dst), word(op.dst + 1)),
    };
    traced.push(Traced { pc, value });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_registers_that_are_said_to_be_the_same_in_a_warp_are() {
        let (block, grid, ctaid) = ([3, 5, 7], [2, 3, 4], [1, 2, 3]);
        let cluster = ClusterShape { extents: [2, 1, 2], is_explicit: true };
        let at = Coordinates { block, grid, ctaid, cluster, first_thread: 32, dynamic_shared: 48, total_shared: 80 };
        for reg in SpecialReg::ALL {
            let same = (1..LANES).all(|lane| special_value(*reg, &at, lane, 9) == special_value(*reg, &at, 0, 9));
            assert_eq!(same, !differs_in_a_warp(*reg), "{}", reg.name());
        }
    }

    #[test]
    fn threads_are_counted_as_they_are_divided() {
        for block in [[1, 1, 64], [3, 5, 7], [32, 2, 1], [40, 1, 3], [2, 1, 33]] {
            for first_thread in [0, 32] {
                let (grid, ctaid) = ([1; 3], [0; 3]);
                let cluster = ClusterShape { extents: [1; 3], is_explicit: false };
                let (dynamic_shared, total_shared) = (0, 0);
                let at = Coordinates { block, grid, ctaid, cluster, first_thread, dynamic_shared, total_shared };
                let divided: Vec<[u32; 3]> = (0..LANES).map(|lane| at.tid(lane)).collect();
                assert_eq!(at.tids()[..], divided, "{block:?} from {first_thread}");
            }
        }
    }
}
