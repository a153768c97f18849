//! The machine: runs the CTAs of a grid, their warps and barriers, until all threads have ended.
//!
//! CTAs run one after the other; one that spins for long gets company, so that CTAs that wait for each other go on.
//! The order is fixed, so a run is repeatable.

use oriole_optimizer::ir::{Module, inst_to_string};
use oriole_optimizer::ops::BoolOp;

use super::access::{Fault, Spaces, Write};
use super::collective::{Inputs, compute};
use super::engine::{Coordinates, RESERVED_SHARED, Run, Stop, Traced, read_place, run, write_place};
use super::frame::lanes;
use super::memory::{Bytes, CODE_WINDOW, GlobalMemory};
use super::outcome::{Cause, Outcome, Place as InstPlace, ThreadId, Waiter};
use super::program::{BarrierReduce, CollectiveOp, Kind, Place, Program};
use super::race::Detector;
use super::warp::{State, Warp};

/// Operations that a warp executes before the next one's turn.
const SLICE: u64 = 4096;
/// Rounds over its warps after which a CTA gets company, and how many CTAs run at once at the most.
const PATIENCE: u32 = 16;
const MAX_RESIDENT: usize = 64;
/// Barriers of a CTA.
const BARRIERS: usize = 16;

/// A CTA barrier's state between two releases.
#[derive(Clone, Copy, Debug, Default)]
struct BarrierState {
    arrived: u32,
    /// Threads to wait for; 0 stands for all that live.
    expected: u32,
    popc: u32,
    all: bool,
    any: bool,
    in_use: bool,
}

pub(super) struct Cta {
    ctaid: [u32; 3],
    pub(super) warps: Vec<Warp>,
    shared: Bytes,
    barriers: [BarrierState; BARRIERS],
    rounds: u32,
}

/// What stays the same for all CTAs of a launch.
pub struct Machine<'a> {
    pub module: &'a Module,
    pub program: &'a Program,
    pub entry: usize,
    pub block: [u32; 3],
    pub grid: [u32; 3],
    pub dynamic_shared: u32,
    pub shared: u32,
    pub constants: &'a Bytes,
    pub params: Bytes,
    /// Constant bank 0, for operands that name it.
    pub bank: Vec<u8>,
    pub global: GlobalMemory,
    pub steps: u64,
    pub executed: u64,
    pub counts: Option<Vec<u64>>,
    pub trace: Option<(ThreadId, Vec<Traced>)>,
    pub races: Option<Detector>,
    pub watch: Vec<u64>,
    /// Stores to watched bytes: who, at which operation.
    pub writes: Vec<(Write, ThreadId, u32)>,
}

pub(super) type Step<T = ()> = Result<T, Box<Outcome>>;

impl Machine<'_> {
    /// Runs the grid.
    pub fn run(&mut self) -> Outcome {
        match self.run_grid() {
            Ok(()) => Outcome::Finished,
            Err(outcome) => *outcome,
        }
    }

    fn run_grid(&mut self) -> Step {
        let [gx, gy, gz] = self.grid.map(u64::from);
        let total = gx * gy * gz;
        let mut next = 0;
        let mut resident: Vec<Cta> = Vec::new();
        loop {
            let patient = resident.iter().all(|cta| cta.rounds >= PATIENCE);
            if next < total && patient && resident.len() < MAX_RESIDENT {
                let ctaid = [next % gx, next / gx % gy, next / gx / gy].map(|x| x as u32);
                resident.push(self.start(ctaid));
                next += 1;
            }
            if resident.is_empty() {
                return Ok(());
            }
            for cta in &mut resident {
                self.round(cta)?;
            }
            resident.retain(|cta| cta.warps.iter().any(|warp| warp.live != 0));
        }
    }

    fn start(&self, ctaid: [u32; 3]) -> Cta {
        let threads: u32 = self.block.iter().product();
        let warp = |first: u32| {
            let n = (threads - first).min(32);
            let mask = if n == 32 { u32::MAX } else { (1 << n) - 1 };
            Warp::start(self.program, self.entry, first, mask, &self.bank)
        };
        Cta {
            ctaid,
            warps: (0..threads).step_by(32).map(warp).collect(),
            shared: self.shared_memory(),
            barriers: [BarrierState::default(); BARRIERS],
            rounds: 0,
        }
    }

    /// Shared memory of a new CTA. The part that the system reserves holds zeros.
    fn shared_memory(&self) -> Bytes {
        let own = (self.shared + self.dynamic_shared) as usize;
        if !self.program.reserved_shared {
            return Bytes::undefined(own);
        }
        let start = own.next_multiple_of(16);
        let mut shared = Bytes::undefined(start + RESERVED_SHARED as usize);
        (start..shared.len()).for_each(|at| shared.store(at, 1, 0, false));
        shared
    }

    /// Every warp's turn.
    fn round(&mut self, cta: &mut Cta) -> Step {
        cta.rounds += 1;
        let mut ran = false;
        for warp in 0..cta.warps.len() {
            ran |= self.slice(cta, warp)?;
        }
        if !ran && cta.warps.iter().any(|warp| warp.live != 0) {
            return Err(Box::new(Outcome::Deadlock(self.waiters(cta))));
        }
        Ok(())
    }

    /// Lets a warp execute until its slice is over or nothing in it is ready; whether it did anything.
    fn slice(&mut self, cta: &mut Cta, index: usize) -> Step<bool> {
        let mut budget = SLICE;
        let mut ran = false;
        while budget > 0 {
            cta.warps[index].merge(self.program);
            let Some(group) = cta.warps[index].choose() else { break };
            ran = true;
            if self.steps == 0 {
                return Err(Box::new(Outcome::OutOfSteps { budget: self.executed }));
            }
            let allowed = budget.min(self.steps);
            let (stop, used) = self.execute(cta, index, group, allowed);
            let used = used.max(1);
            budget = budget.saturating_sub(used);
            self.steps = self.steps.saturating_sub(used);
            self.executed += used;
            let expired = matches!(stop, Stop::Slice) && cta.warps[index].groups.len() > 1;
            cta.warps[index].expired = if expired { cta.warps[index].expired.saturating_add(1) } else { 0 };
            self.handle(cta, index, group, stop)?;
        }
        Ok(ran)
    }

    fn coordinates(&self, cta: &Cta, warp: usize) -> Coordinates {
        Coordinates {
            block: self.block,
            grid: self.grid,
            ctaid: cta.ctaid,
            first_thread: cta.warps[warp].first_thread,
            dynamic_shared: self.dynamic_shared,
            total_shared: self.shared + self.dynamic_shared,
        }
    }

    fn cta_index(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [gx, gy, _] = self.grid.map(u64::from);
        u64::from(x) + gx * (u64::from(y) + gy * u64::from(z))
    }

    /// The index in the grid of a warp's first thread.
    fn grid_index(&self, cta: &Cta, warp: usize) -> u64 {
        let threads: u64 = self.block.map(u64::from).iter().product();
        self.cta_index(cta.ctaid) * threads + u64::from(cta.warps[warp].first_thread)
    }

    /// The thread with an index in the grid.
    pub fn thread_at(&self, index: u64) -> ThreadId {
        let ([bx, by, _], [gx, gy, _]) = (self.block.map(u64::from), self.grid.map(u64::from));
        let threads: u64 = self.block.map(u64::from).iter().product();
        let (cta, tid) = (index / threads, index % threads);
        ThreadId {
            ctaid: [cta % gx, cta / gx % gy, cta / gx / gy].map(|x| x as u32),
            tid: [tid % bx, tid / bx % by, tid / bx / by].map(|x| x as u32),
        }
    }

    /// Runs a group; returns why it stopped and after how many operations.
    fn execute(&mut self, cta: &mut Cta, index: usize, group: usize, budget: u64) -> (Stop, u64) {
        let at = self.coordinates(cta, index);
        let cta_index = self.cta_index(cta.ctaid);
        let first_thread = self.grid_index(cta, index);
        let warp = &mut cta.warps[index];
        let meeting = warp.next_meeting(group);
        let state = warp.groups[group];
        let mut frame = std::mem::take(&mut warp.frames[state.frame]);
        let trace = self.trace.as_mut().and_then(|(thread, events)| {
            let lane = lanes(warp.threads).find(|lane| at.thread(*lane) == *thread)?;
            Some((lane, events))
        });
        let mut running = Run {
            program: self.program,
            frame: &mut frame,
            spaces: Spaces {
                global: &mut self.global,
                constants: self.constants,
                params: &self.params,
                shared: &mut cta.shared,
                local: &mut warp.local,
                hint: 0,
                watch: &self.watch,
                written: Vec::new(),
                races: self.races.as_mut().map(|detector| (detector, cta_index, first_thread)),
                pc: 0,
            },
            at,
            mask: state.mask,
            pc: state.pc,
            meeting,
            budget,
            clock: &mut warp.clock,
            counts: self.counts.as_deref_mut(),
            trace,
        };
        let stop = run(&mut running);
        let (pc, left) = (running.pc, running.budget);
        let written = std::mem::take(&mut running.spaces.written);
        self.writes.extend(written.into_iter().map(|write| (write, at.thread(write.lane), write.pc)));
        warp.frames[state.frame] = frame;
        warp.groups[group].pc = pc;
        (stop, budget - left)
    }

    fn handle(&mut self, cta: &mut Cta, index: usize, group: usize, stop: Stop) -> Step {
        match stop {
            Stop::Meeting | Stop::Slice => Ok(()),
            Stop::Diverge(taken, then, other) => {
                cta.warps[index].groups[group].pc = other;
                cta.warps[index].split(group, taken, then);
                Ok(())
            }
            Stop::Scatter => {
                self.scatter(cta, index, group);
                Ok(())
            }
            Stop::Fault(fault) => Err(self.fault(cta, index, group, fault)),
            Stop::Control(mask) => {
                let warp = &mut cta.warps[index];
                let idle = warp.groups[group].mask & !mask;
                if idle != 0 {
                    let next = warp.groups[group].pc + 1;
                    warp.split(group, idle, next);
                }
                self.control(cta, index, group)
            }
        }
    }

    pub(super) fn fault(&self, cta: &Cta, warp: usize, group: usize, fault: Fault) -> Box<Outcome> {
        let place = self.place(cta.warps[warp].groups[group].pc);
        let thread = |lane| self.coordinates(cta, warp).thread(lane);
        Box::new(match fault {
            Fault::Trap(lane, cause) => Outcome::Trapped { cause, thread: thread(lane), place },
            Fault::Undefined(lane, what) => Outcome::Undefined { what, thread: thread(lane), place },
        })
    }

    pub(super) fn trap(&self, cta: &Cta, warp: usize, group: usize, cause: Cause) -> Box<Outcome> {
        let lane = cta.warps[warp].groups[group].mask.trailing_zeros() as usize;
        self.fault(cta, warp, group, Fault::Trap(lane, cause))
    }

    /// The instruction of an operation.
    pub fn place(&self, pc: u32) -> InstPlace {
        let (func, inst) = self.program.insts[pc as usize];
        let func = &self.module.functions[func];
        InstPlace {
            function: func.name.clone(),
            line: func.insts[inst].line,
            text: inst_to_string(func, inst, Some(self.module)),
        }
    }

    /// The lanes with the first lane's index get a group of their own.
    fn scatter(&self, cta: &mut Cta, index: usize, group: usize) {
        let warp = &mut cta.warps[index];
        let state = warp.groups[group];
        let op = self.program.ops[state.pc as usize];
        let values = &warp.frames[state.frame].words[op.a as usize];
        let first = values[state.mask.trailing_zeros() as usize];
        let same = lanes(state.mask).filter(|lane| values[*lane] == first).fold(0, |mask, lane| mask | 1 << lane);
        // A group that stays at the switch: its lanes agree now, and it meets no other one on the way.
        match self.program.switches[op.x as usize].get(first as usize) {
            Some(target) => {
                warp.split(group, same, *target);
            }
            None => warp.groups[group].mask = same,
        }
    }

    fn control(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        let pc = cta.warps[index].groups[group].pc;
        match self.program.ops[pc as usize].kind {
            Kind::Call => self.call(cta, index, group),
            Kind::Return => self.leave(cta, index, group),
            Kind::Exit => self.exit(cta, index, group),
            Kind::Barrier => self.arrive(cta, index, group),
            Kind::Collective => {
                cta.warps[index].groups[group].state = State::Collective;
                self.collective(cta, index, pc)
            }
            _ => Err(self.trap(cta, index, group, Cause::Trap)),
        }
    }

    fn call(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        let state = cta.warps[index].groups[group];
        let call_index = self.program.ops[state.pc as usize].x;
        let call = &self.program.calls[call_index as usize];
        let target = match call.target {
            Ok(func) => func.as_u32() as usize,
            Err(place) => self.callee(cta, index, group, place)?,
        };
        let bad = |what: String| Err(self.trap(cta, index, group, Cause::BadCall(what)));
        let Some(info) = self.program.functions.get(target) else { return bad("no such function".into()) };
        if info.entry.is_none() {
            return self.external(cta, index, group, &info.name, call);
        }
        if info.params.len() != call.args.len() || info.results.len() > call.results.len() {
            return bad(format!("`{}` takes {} arguments, not {}", info.name, info.params.len(), call.args.len()));
        }
        let caller = &cta.warps[index].frames[state.frame];
        let caller_size = self.program.functions[caller.func].frame;
        let base = (caller.base + caller_size).next_multiple_of(16);
        let end = base as usize + info.frame as usize;
        let from = caller.base;
        if end > super::access::MAX_LOCAL {
            return Err(self.trap(cta, index, group, Cause::StackOverflow));
        }
        let mask = cta.warps[index].groups[group].mask;
        let warp = &mut cta.warps[index];
        warp.local.reserve(end);
        warp.local.forget(mask, base as usize, info.frame as usize);
        for ((at, size), (to, room)) in call.args.iter().zip(&info.params) {
            warp.local.copy(mask, (from + at) as usize, (base + to) as usize, (*size).min(*room) as usize);
        }
        if warp.call(group, target, info, base, call_index, &self.bank).is_none() {
            return Err(self.trap(cta, index, group, Cause::StackOverflow));
        }
        Ok(())
    }

    /// The function whose address the first lane calls; lanes that call another one stay behind.
    fn callee(&self, cta: &mut Cta, index: usize, group: usize, place: Place) -> Step<usize> {
        let warp = &mut cta.warps[index];
        let state = warp.groups[group];
        let frame = &warp.frames[state.frame];
        let first = state.mask.trailing_zeros() as usize;
        let (address, undefined) = read_place(frame, place, first);
        if undefined {
            return Err(self.fault(cta, index, group, Fault::Undefined(first, "a call")));
        }
        let same = lanes(state.mask).filter(|lane| read_place(frame, place, *lane) == (address, false));
        let same = same.fold(0, |mask, lane| mask | 1 << lane);
        if same != state.mask {
            warp.split(group, state.mask & !same, state.pc);
        }
        let offset = address.wrapping_sub(CODE_WINDOW);
        if offset % 16 == 0 && offset / 16 < self.program.functions.len() as u64 {
            return Ok((offset / 16) as usize);
        }
        Err(self.trap(cta, index, group, Cause::BadCall(format!("{address:#x} is no function"))))
    }

    fn leave(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        let warp = &mut cta.warps[index];
        let state = warp.groups[group];
        let frame = &warp.frames[state.frame];
        if frame.depth == 0 {
            return self.exit(cta, index, group);
        }
        let info = &self.program.functions[frame.func];
        let call = &self.program.calls[frame.call as usize];
        let (base, caller) = (frame.base, warp.frames[frame.parent].base);
        for ((from, size), (to, room)) in info.results.iter().zip(&call.results) {
            warp.local.copy(state.mask, (base + from) as usize, (caller + to) as usize, (*size).min(*room) as usize);
        }
        warp.leave(self.program, group);
        Ok(())
    }

    fn exit(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        cta.warps[index].exit(self.program, group);
        // The threads that are left may be all that a barrier or collective waits for.
        for id in 0..BARRIERS {
            self.release(cta, id);
        }
        let waiting = cta.warps[index].groups.iter().filter(|g| g.state == State::Collective);
        let places: Vec<u32> = waiting.map(|g| g.pc).collect();
        places.into_iter().try_for_each(|pc| self.collective(cta, index, pc))
    }

    fn arrive(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        let state = cta.warps[index].groups[group];
        let op = self.program.ops[state.pc as usize];
        let barrier = self.program.barriers[op.x as usize];
        let id = self.uniform(cta, index, group, barrier.id, "barrier")?;
        let count = self.uniform(cta, index, group, barrier.count, "thread count")?;
        let bad = |what: String| Err(self.trap(cta, index, group, Cause::BadBarrier(what)));
        if id >= BARRIERS as u64 {
            return bad(format!("barrier {id} does not exist; there are {BARRIERS}"));
        }
        if count % 32 != 0 || count > 1024 {
            return bad(format!("a count of {count} threads is no multiple of the warp size up to 1024"));
        }
        let frame = &cta.warps[index].frames[state.frame];
        let mut preds = 0;
        if barrier.reduce.is_some() {
            let unknown = frame.pred_undefined[op.a as usize] & state.mask;
            if unknown != 0 {
                let lane = unknown.trailing_zeros() as usize;
                return Err(self.fault(cta, index, group, Fault::Undefined(lane, "a barrier's predicate")));
            }
            preds = frame.preds[op.a as usize] & state.mask;
        }
        // A warp whose threads all arrive counts in full, also where the CTA's last warp is not full.
        let all = state.mask == cta.warps[index].threads;
        let slot = &mut cta.barriers[id as usize];
        if !slot.in_use {
            *slot = BarrierState { all: true, in_use: true, ..BarrierState::default() };
        }
        slot.expected = slot.expected.max(count as u32);
        slot.arrived += if all && count != 0 { 32 } else { state.mask.count_ones() };
        slot.popc += preds.count_ones();
        slot.all &= preds == state.mask;
        slot.any |= preds != 0;
        let warp = &mut cta.warps[index];
        if barrier.waits {
            warp.groups[group].state = State::Barrier(id as u32);
        } else {
            warp.groups[group].pc += 1;
            let first = self.grid_index(cta, index);
            if let Some(detector) = &mut self.races {
                detector.arrive(lanes(state.mask).map(|lane| first + lane as u64));
            }
        }
        self.release(cta, id as usize);
        Ok(())
    }

    /// The value that all lanes of a group agree on.
    fn uniform(&self, cta: &Cta, index: usize, group: usize, place: Place, what: &'static str) -> Step<u64> {
        let state = cta.warps[index].groups[group];
        let frame = &cta.warps[index].frames[state.frame];
        let mut values = lanes(state.mask).map(|lane| (lane, read_place(frame, place, lane)));
        let first = values.next().map_or(0, |(_, (value, _))| value);
        let all = lanes(state.mask).map(|lane| (lane, read_place(frame, place, lane)));
        for (lane, (value, undefined)) in all {
            if undefined {
                return Err(self.fault(cta, index, group, Fault::Undefined(lane, what)));
            }
            if value != first {
                let cause = Cause::BadBarrier(format!("lanes of one warp name different values as {what}"));
                return Err(self.trap(cta, index, group, cause));
            }
        }
        Ok(first)
    }

    /// Lets the threads at a barrier go on if enough have arrived.
    fn release(&mut self, cta: &mut Cta, id: usize) {
        let state = cta.barriers[id];
        let live: u32 = cta.warps.iter().map(|warp| warp.live.count_ones()).sum();
        let needed = if state.expected == 0 { live } else { state.expected };
        if !state.in_use || state.arrived < needed {
            return;
        }
        cta.barriers[id] = BarrierState::default();
        self.note_barrier(cta, id as u32);
        for warp in &mut cta.warps {
            for group in warp.groups.iter_mut().filter(|group| group.state == State::Barrier(id as u32)) {
                let op = self.program.ops[group.pc as usize];
                let frame = &mut warp.frames[group.frame];
                match self.program.barriers[op.x as usize].reduce {
                    Some(BarrierReduce::Popc) => frame.set(op.dst, &[state.popc; 32], 0, group.mask),
                    Some(BarrierReduce::Bool(bool_op)) => {
                        let yes = if bool_op == BoolOp::And { state.all } else { state.any };
                        frame.set_pred(op.dst, if yes { u32::MAX } else { 0 }, 0, group.mask);
                    }
                    None => {}
                }
                group.state = State::Ready;
                group.pc += 1;
            }
        }
    }

    /// Tells the race detector which threads go on from a barrier together.
    fn note_barrier(&mut self, cta: &Cta, id: u32) {
        let firsts: Vec<u64> = (0..cta.warps.len()).map(|warp| self.grid_index(cta, warp)).collect();
        let Some(detector) = &mut self.races else { return };
        let threads = cta.warps.iter().zip(firsts).flat_map(|(warp, first)| {
            let waiting = warp.groups.iter().filter(|group| group.state == State::Barrier(id));
            let mask = waiting.fold(0, |mask, group| mask | group.mask);
            lanes(mask).map(move |lane| first + lane as u64)
        });
        detector.barrier(threads);
    }

    /// Executes a collective for the groups that wait at it, as far as all their members are there.
    fn collective(&mut self, cta: &mut Cta, index: usize, pc: u32) -> Step {
        let op = self.program.ops[pc as usize];
        let collective = self.program.collectives[op.x as usize];
        let warp = &cta.warps[index];
        let waiting: Vec<usize> = (0..warp.groups.len())
            .filter(|i| warp.groups[*i].state == State::Collective && warp.groups[*i].pc == pc)
            .collect();
        let present = waiting.iter().fold(0, |mask, i| mask | warp.groups[*i].mask);
        let mut inputs = Inputs::default();
        for group in &waiting {
            let state = warp.groups[*group];
            let frame = &warp.frames[state.frame];
            for lane in lanes(state.mask) {
                let (members, undefined) = read_place(frame, collective.mask, lane);
                if undefined {
                    return Err(self.fault(cta, index, *group, Fault::Undefined(lane, "a member mask")));
                }
                if members as u32 >> lane & 1 == 0 {
                    let cause = Cause::BadCollective(format!("lane {lane} is not in its member mask {members:#x}"));
                    return Err(self.fault(cta, index, *group, Fault::Trap(lane, cause)));
                }
                inputs.members[lane] = members as u32;
                for (i, place) in collective.srcs.iter().enumerate() {
                    let (value, undefined) = read_place(frame, *place, lane);
                    inputs.values[i][lane] = value;
                    inputs.undefined[i] |= u32::from(undefined) << lane;
                }
            }
        }
        let complete = |lane: usize| inputs.members[lane] & warp.live & !present == 0;
        let ready: Vec<usize> =
            waiting.into_iter().filter(|group| lanes(warp.groups[*group].mask).all(complete)).collect();
        let active = ready.iter().fold(0, |mask, group| mask | warp.groups[*group].mask);
        let first = self.grid_index(cta, index);
        if let (CollectiveOp::Sync, Some(detector)) = (collective.op, &mut self.races) {
            detector.barrier(lanes(active).map(|lane| first + lane as u64));
        }
        let out = compute(collective.op, &inputs, active);
        let warp = &mut cta.warps[index];
        for group in ready {
            let state = &mut warp.groups[group];
            for lane in lanes(state.mask) {
                let undefined = out.undefined >> lane & 1 == 1;
                let pred = u64::from(out.preds >> lane & 1);
                let frame = &mut warp.frames[state.frame];
                let value = if matches!(collective.dsts[0], Place::Pred(_)) { pred } else { out.values[lane] };
                write_place(frame, collective.dsts[0], lane, value, undefined);
                write_place(frame, collective.dsts[1], lane, pred, undefined && pred_follows(collective.op));
            }
            state.state = State::Ready;
            state.pc += 1;
        }
        Ok(())
    }

    fn waiters(&self, cta: &Cta) -> Vec<Waiter> {
        let mut waiters = Vec::new();
        for (index, warp) in cta.warps.iter().enumerate() {
            for group in &warp.groups {
                let waits_for = match group.state {
                    State::Barrier(id) => {
                        let BarrierState { arrived, expected, .. } = cta.barriers[id as usize];
                        let live: u32 = cta.warps.iter().map(|warp| warp.live.count_ones()).sum();
                        let needed = if expected == 0 { live } else { expected };
                        format!("barrier {id} ({arrived} of {needed} threads have arrived)")
                    }
                    State::Collective => "the other members of a collective".to_string(),
                    State::Ready => continue,
                };
                let lane = group.mask.trailing_zeros() as usize;
                waiters.push(Waiter {
                    thread: self.coordinates(cta, index).thread(lane),
                    lanes: group.mask.count_ones(),
                    place: self.place(group.pc),
                    waits_for,
                });
            }
        }
        waiters
    }
}

/// Whether the predicate of a collective depends on the values that it looks at.
fn pred_follows(op: CollectiveOp) -> bool {
    !matches!(op, CollectiveOp::Shuffle(_))
}
