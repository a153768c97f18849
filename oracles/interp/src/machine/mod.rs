//! The machine: runs the CTAs of a grid, their warps and barriers, until all threads have ended.
//!
//! Clusters of CTAs run one after the other; one that spins for long gets company, so that CTAs that wait for each
//! other continue.
//! The order is fixed, so a run is repeatable.

mod barrier;
mod cluster;
mod collective;
mod control;
mod effort;

use oriole_ir::Module;

use self::barrier::{BARRIERS, BarrierState};
use self::cluster::Cluster;
use super::access::{Fault, Spaces, Write};
use super::asynchronous::InFlight;
use super::cluster::{ClusterShape, Peers};
use super::concretize::Concretization;
use super::engine::{Coordinates, Count, RESERVED_SHARED, Run, Stop, Traced, run};
use super::image::Images;
use super::memory::{Bytes, GlobalMemory};
use super::order::LaneOrder;
use super::outcome::{Cause, Outcome, Place as InstPlace, ThreadId};
use super::program::{Kind, Program};
use super::race::Detector;
use super::strong::Recorder;
use super::warp::{State, Warp};
pub use effort::Effort;
use oriole_semantics::lanes::lanes;
use oriole_semantics::matrix::Results;

/// Operations that a warp executes before the next one's turn, where a run does not say otherwise.
pub const SLICE: u64 = 4096;
/// Rounds over its CTAs after which a cluster gets company, and how many CTAs run at once at the most.
const PATIENCE: u32 = 16;
const MAX_RESIDENT: usize = 64;
/// Bytes that registers and local memory of all resident CTAs may take, if it is more than one.
const MAX_STACKS: usize = 768 << 20;
pub(crate) struct Cta {
    ctaid: [u32; 3],
    pub(crate) warps: Vec<Warp>,
    shared: Bytes,
    barriers: [BarrierState; BARRIERS],
}

impl Cta {
    /// Bytes that registers and local memory take.
    fn stacks(&self) -> usize {
        self.warps.iter().map(Warp::held).sum()
    }

    fn is_live(&self) -> bool {
        self.warps.iter().any(|warp| warp.live != 0)
    }
}

/// What stays the same for all CTAs of a launch.
pub struct Machine<'a> {
    pub module: &'a Module,
    pub program: &'a Program,
    pub entry: usize,
    pub block: [u32; 3],
    pub grid: [u32; 3],
    /// The grid is made of whole clusters.
    pub cluster: ClusterShape,
    /// Shared memory of the CTAs of the executing cluster but the executing one, by rank, and their indices in the
    /// grid. Both are empty where clusters have one CTA.
    pub peers: Vec<Bytes>,
    pub numbers: Vec<u64>,
    pub in_flight: InFlight,
    pub dynamic_shared: u32,
    pub shared: u32,
    pub constants: &'a Bytes,
    pub images: Images,
    pub params: Bytes,
    /// Constant bank 0, for operands that name it.
    pub bank: Vec<u8>,
    pub global: GlobalMemory,
    pub effort: Effort,
    pub slice: u64,
    pub order: LaneOrder,
    pub concretization: Option<Concretization>,
    /// Bytes that registers and local memory of the resident CTAs take.
    pub stacks: usize,
    pub counts: Option<Vec<Count>>,
    pub trace: Option<(ThreadId, Vec<Traced>)>,
    pub races: Option<Detector>,
    /// Where products of matrices are made: clearing a new one took 7 % of `mma.m8n8k4`. Measured 2026-11.
    pub results: Box<Results>,
    pub strong: Option<Recorder>,
    pub watch: Vec<u64>,
    /// Stores to watched bytes: who, at which operation.
    pub writes: Vec<(Write, ThreadId, u32)>,
}

pub(crate) type Step<T = ()> = Result<T, Box<Outcome>>;

impl Machine<'_> {
    /// Runs the grid.
    pub fn run(&mut self) -> Outcome {
        match self.run_grid() {
            Ok(()) => Outcome::Finished,
            Err(outcome) => *outcome,
        }
    }

    fn run_grid(&mut self) -> Step {
        let extents = self.cluster.extents;
        let [gx, gy, gz] = [0, 1, 2].map(|axis| u64::from(self.grid[axis] / extents[axis]));
        let total = gx * gy * gz;
        let ctas = self.cluster.ctas() as usize;
        let mut next = 0;
        let mut resident: Vec<Cluster> = Vec::new();
        loop {
            let patient = resident.iter().all(|cluster| cluster.rounds >= PATIENCE);
            let room = self.stacks < MAX_STACKS / 2 && resident.len() * ctas < MAX_RESIDENT;
            if next < total && patient && (room || resident.is_empty()) {
                let place = [next % gx, next / gx % gy, next / gx / gy].map(|x| x as u32);
                let cluster = self.start_cluster(std::array::from_fn(|axis| place[axis] * extents[axis]));
                self.stacks += cluster.stacks();
                self.effort.start(cluster.ctas.iter().map(|cta| cta.warps.len() as u64).sum());
                resident.push(cluster);
                next += 1;
            }
            if resident.is_empty() {
                self.in_flight.finish(&mut self.global);
                return Ok(());
            }
            for cluster in &mut resident {
                self.cluster_round(cluster)?;
            }
            let before = resident.len();
            resident.retain(Cluster::is_live);
            if resident.len() < before {
                self.stacks = resident.iter().map(Cluster::stacks).sum();
            }
        }
    }

    fn start(&self, ctaid: [u32; 3]) -> Cta {
        let threads: u32 = self.block.iter().product();
        let warp = |first: u32| {
            let n = (threads - first).min(32);
            let mask = if n == 32 { u32::MAX } else { (1 << n) - 1 };
            Warp::start(self.program, self.entry, first, mask, &self.bank, self.concretization)
        };
        Cta {
            ctaid,
            warps: (0..threads).step_by(32).map(warp).collect(),
            shared: self.shared_memory(),
            barriers: [BarrierState::default(); BARRIERS],
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

    /// Every warp's turn; whether any of them did something.
    fn round(&mut self, cta: &mut Cta) -> Step<bool> {
        let mut ran = false;
        for warp in 0..cta.warps.len() {
            ran |= self.slice(cta, warp)?;
        }
        Ok(ran)
    }

    /// Lets a warp execute until its slice is over or nothing in it is ready; whether it did anything.
    fn slice(&mut self, cta: &mut Cta, index: usize) -> Step<bool> {
        let mut budget = self.slice;
        let mut ran = false;
        while budget > 0 {
            cta.warps[index].merge();
            let Some(group) = cta.warps[index].choose(self.order) else { break };
            ran = true;
            if self.effort.left() == 0 {
                return Err(Box::new(Outcome::OutOfSteps { executed: self.effort.executed() }));
            }
            let piece = self.in_flight.piece().unwrap_or(u64::MAX);
            let allowed = budget.min(self.effort.left()).min(piece);
            let (stop, used) = self.execute(cta, index, group, allowed);
            let used = used.max(1);
            budget = budget.saturating_sub(used);
            self.effort.execute(used);
            if matches!(stop, Stop::Waits) {
                budget = 0;
            }
            let expired = matches!(stop, Stop::Slice | Stop::Waits) && budget == 0 && cta.warps[index].groups.len() > 1;
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
            cluster: self.cluster,
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
        ThreadId::at(index, self.grid, self.block)
    }

    /// Runs a group; returns why it stopped and after how many operations.
    fn execute(&mut self, cta: &mut Cta, index: usize, group: usize, budget: u64) -> (Stop, u64) {
        let at = self.coordinates(cta, index);
        let cta_index = self.cta_index(cta.ctaid);
        let first_thread = self.grid_index(cta, index);
        let warp = &mut cta.warps[index];
        let meeting = warp.next_meeting(group);
        let state = warp.groups[group];
        let trace = self.trace.as_mut().and_then(|(thread, events)| {
            let lane = lanes(warp.threads).find(|lane| at.thread(*lane) == *thread)?;
            Some((lane, events))
        });
        let mut running = Run {
            program: self.program,
            frame: &mut warp.frames[state.frame],
            spaces: Spaces {
                global: &mut self.global,
                constants: self.constants,
                images: &self.images,
                params: &self.params,
                shared: &mut cta.shared,
                peers: Peers {
                    rank: self.cluster.rank(cta.ctaid),
                    own: cta_index,
                    shared: &mut self.peers,
                    numbers: &self.numbers,
                },
                local: &mut warp.local,
                hint: 0,
                order: self.order,
                watch: &self.watch,
                written: Vec::new(),
                extra_steps: 0,
                in_flight: &mut self.in_flight,
                results: &mut self.results,
                first_thread,
                races: self.races.as_mut().map(|detector| (detector, cta_index, first_thread)),
                strong: self.strong.as_mut().map(|recorder| (recorder, first_thread)),
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
        let lane = state.mask.trailing_zeros() as usize;
        let stop = match running.spaces.hurry(lane) {
            Ok(()) => run(&mut running),
            Err(fault) => Stop::Fault(fault),
        };
        let (pc, left, extra) = (running.pc, running.budget, running.spaces.extra_steps);
        let written = std::mem::take(&mut running.spaces.written);
        self.writes.extend(written.into_iter().map(|write| (write, at.thread(write.lane), write.pc)));
        warp.groups[group].pc = pc;
        self.effort.extra(extra);
        (stop, budget - left)
    }

    fn handle(&mut self, cta: &mut Cta, index: usize, group: usize, stop: Stop) -> Step {
        match stop {
            Stop::Meeting | Stop::Slice | Stop::Waits => Ok(()),
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

    pub(crate) fn fault(&self, cta: &Cta, warp: usize, group: usize, fault: Fault) -> Box<Outcome> {
        let place = self.place(cta.warps[warp].groups[group].pc);
        let thread = |lane| self.coordinates(cta, warp).thread(lane);
        Box::new(match fault {
            Fault::Trap(lane, cause) => Outcome::Trapped { cause, thread: thread(lane), place },
            Fault::Undefined(lane, what) => Outcome::Undefined { what, thread: thread(lane), place },
        })
    }

    pub(crate) fn trap(&self, cta: &Cta, warp: usize, group: usize, cause: Cause) -> Box<Outcome> {
        let lane = cta.warps[warp].groups[group].mask.trailing_zeros() as usize;
        self.fault(cta, warp, group, Fault::Trap(lane, cause))
    }

    /// The instruction of an operation.
    pub fn place(&self, pc: u32) -> InstPlace {
        self.program.place(self.module, pc)
    }

    fn control(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        let pc = cta.warps[index].groups[group].pc;
        match self.program.ops[pc as usize].kind {
            Kind::Call => self.call(cta, index, group),
            Kind::Return => self.leave(cta, index, group),
            Kind::Exit => self.exit(cta, index, group),
            Kind::Barrier => self.arrive(cta, index, group),
            Kind::ClusterArrive => self.arrive_at_cluster(cta, index, group),
            Kind::ClusterWait => self.wait_for_cluster(cta, index, group),
            Kind::Collective => {
                cta.warps[index].groups[group].state = State::Collective;
                self.collective(cta, index, pc)
            }
            Kind::Matrix | Kind::Warpgroup => {
                cta.warps[index].groups[group].state = State::Collective;
                self.matrix(cta, index, pc)
            }
            Kind::Opaque => {
                let name = self.program.opaque_name(self.module, pc);
                Err(self.trap(cta, index, group, Cause::Opaque(name)))
            }
            _ => Err(self.trap(cta, index, group, Cause::Trap)),
        }
    }
}
