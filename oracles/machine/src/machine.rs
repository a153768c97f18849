//! CTAs and the grid: whose turn it is, barriers, and how a run ends.

use std::collections::VecDeque;

use oriole_interp::{Cause, ClusterShape, GlobalMemory, Images, LaneOrder};
use oriole_launch::Launch;

use super::clock::Timed;
use super::cluster::{Cluster, clusters, stuck};
use super::engine::Next;
use super::lanes::{LANES, Lanes, set};
use super::program::*;
use super::state::{Group, Wait, Warp};
use super::trace::Tracing;

/// Operations of a group before another one's turn.
pub const SLICE: u32 = 4096;
/// Turns of a CTA's warps before CTAs that have not begun run beside it: it may wait for them.
const PATIENCE: u32 = 64;
/// CTAs that run beside each other at most.
const MOST_CTAS: usize = 64;
/// Bytes that the local memory of these may take, and that of one CTA in any case.
const MOST_LOCAL: usize = 1 << 30;
/// Barriers of a CTA.
pub const BARRIERS: usize = 16;

/// A barrier of a CTA.
#[derive(Clone, Copy, Default)]
struct Barrier {
    /// Threads that have come.
    arrived: u32,
    /// How many are waited for; all that live, where 0.
    wanted: u32,
    /// How many of their predicates are true.
    count: u32,
    /// Whether a reduction is made, and which.
    reduction: Option<Reduction>,
}

/// A CTA.
pub struct Cta {
    /// Its place in the grid.
    pub ctaid: [u32; 3],
    /// Its number in its cluster.
    pub rank: u32,
    /// Its shared memory.
    pub shared: Vec<u8>,
    /// Its warps.
    pub warps: Vec<Warp>,
    barriers: [Barrier; BARRIERS],
}

impl Cta {
    /// Whether all of its threads have ended.
    pub fn is_done(&self) -> bool {
        self.warps.iter().all(Warp::is_done)
    }
}

/// Why a run stops before its end.
pub enum Stop {
    /// A lane traps.
    Trap {
        /// Where.
        pc: u32,
        /// The lane.
        lane: u32,
        /// Why.
        cause: Cause,
    },
    /// An operation that is not executed.
    Unknown {
        /// Where.
        pc: u32,
        /// Why.
        why: String,
    },
    /// The budget is spent.
    Steps,
}

/// What ended a run, and where: the CTA, the warp.
pub struct Stopped {
    /// What.
    pub stop: Stop,
    /// The CTA's place in the grid.
    pub ctaid: [u32; 3],
    /// The number of the warp's first thread.
    pub first: u32,
}

/// A group that waits for ever.
pub struct Stuck {
    /// The CTA's place in the grid.
    pub ctaid: [u32; 3],
    /// The number of the warp's first thread.
    pub first: u32,
    /// The group.
    pub group: Group,
}

/// How a run ended.
pub enum End {
    /// Every thread has ended.
    Finished,
    /// Something stopped it.
    Stopped(Stopped),
    /// Nothing can continue.
    Deadlock(Vec<Stuck>),
}

/// A store to a watched byte.
pub struct Write {
    /// Its address, and how many bytes.
    pub address: u64,
    /// See `address`.
    pub bytes: u32,
    /// The CTA's place in the grid.
    pub ctaid: [u32; 3],
    /// The thread's number in its CTA.
    pub thread: u32,
    /// Where.
    pub pc: u32,
}

/// The counts of a run, where they are asked for.
pub struct Counts {
    /// How often groups and threads executed each word.
    pub executed: Vec<(u64, u64)>,
    /// The time of each word.
    pub times: Vec<Timed>,
    /// The cycles in which all warps issued, each as if it were alone.
    pub cycles: u64,
}

/// A run.
pub struct Machine<'a> {
    /// What is executed.
    pub program: &'a Program,
    /// Functions that the driver has: the address, and the name.
    pub externals: &'a [(u64, String)],
    /// The literals of the program on this launch.
    pub literals: &'a [Lanes],
    /// The constant banks.
    pub banks: &'a super::launch::Banks,
    /// The launch.
    pub launch: &'a Launch,
    /// The clusters that the grid is made of.
    pub cluster: ClusterShape,
    /// Shared memory of the CTAs of the executing cluster but the executing one, by rank.
    pub peers: Vec<Vec<u8>>,
    /// Where the kernel begins.
    pub entry: u32,
    /// Global memory.
    pub global: GlobalMemory,
    /// The images, by their handles.
    pub images: &'a Images,
    /// Bytes of shared memory.
    pub shared: usize,
    /// Bytes of local memory of a thread.
    pub local: usize,
    /// Operations of a group before another one's turn.
    pub slice: u32,
    /// Which lanes of a warp go first.
    pub order: LaneOrder,
    /// Whether another order may leave something else.
    pub has_orders: bool,
    /// Operations executed, and how many may be.
    pub executed: u64,
    /// See `executed`.
    pub budget: u64,
    /// The counts, on request.
    pub counts: Option<Counts>,
    /// The region that was accessed last.
    pub hint: usize,
    /// Addresses whose stores are recorded.
    pub watch: Vec<u64>,
    /// These stores.
    pub writes: Vec<Write>,
    /// The thread whose operations are recorded; its group's turn is one operation then.
    pub trace: Option<Tracing>,
}

impl Machine<'_> {
    /// Runs all CTAs.
    pub fn run(&mut self) -> End {
        let mut waiting = 0..clusters(self.launch.grid, self.cluster);
        let threads = self.launch.block.iter().product::<u32>() as usize * self.cluster.ctas() as usize;
        let most_ctas = MOST_CTAS / self.cluster.ctas() as usize;
        let most = (MOST_LOCAL / (self.local * threads.next_multiple_of(LANES)).max(1)).min(most_ctas).max(1);
        let mut resident: VecDeque<Cluster> = VecDeque::new();
        let mut turns = 0;
        loop {
            if resident.is_empty() || turns > PATIENCE && resident.len() < most {
                turns = 0;
                match waiting.next() {
                    Some(number) => resident.push_back(self.cluster(number)),
                    None if resident.is_empty() => return End::Finished,
                    None => {}
                }
            }
            let mut moved = false;
            for cluster in &mut resident {
                match self.cluster_turn(cluster) {
                    Ok(any) => moved |= any,
                    Err(stopped) => return End::Stopped(stopped),
                }
            }
            let before = resident.len();
            resident.retain(|cluster| !cluster.is_done());
            turns = if resident.len() < before { 0 } else { turns + 1 };
            if !moved && resident.len() == before {
                match waiting.next() {
                    Some(number) if resident.len() < most => resident.push_back(self.cluster(number)),
                    _ => return End::Deadlock(stuck(&resident)),
                }
            }
        }
    }

    /// A CTA with a rank in its cluster.
    pub fn cta(&self, ctaid: [u32; 3], rank: u32) -> Cta {
        let threads: u32 = self.launch.block.iter().product();
        let warps = (0..threads.div_ceil(LANES as u32)).map(|warp| {
            let first = warp * LANES as u32;
            let mut warp = Warp::new(first, threads - first, self.entry, self.program.used);
            warp.order = self.order;
            warp
        });
        Cta { ctaid, rank, shared: vec![0; self.shared], warps: warps.collect(), barriers: Default::default() }
    }

    /// Has each warp of a CTA take its turn; says whether any did something.
    pub fn turn(&mut self, cta: &mut Cta) -> Result<bool, Stopped> {
        let mut moved = false;
        for warp in 0..cta.warps.len() {
            while let Some(at) = cta.warps[warp].next() {
                moved = true;
                let turns = cta.warps[warp].groups[at].turns;
                let (ctaid, first) = (cta.ctaid, cta.warps[warp].first);
                let front = self.front(cta, warp, at);
                let end = self.run_group(cta, warp, at);
                if let Some(front) = front {
                    self.note_operation(front, &cta.warps[warp]);
                }
                let is_over = end.map_err(|stop| Stopped { stop, ctaid, first })?;
                let w = &mut cta.warps[warp];
                w.release();
                w.note_groups();
                if is_over || w.next().is_some_and(|next| w.groups[next].turns > turns) {
                    break;
                }
            }
            self.has_orders |= cta.warps[warp].has_orders();
            moved |= self.pass_barriers(cta);
        }
        Ok(moved)
    }

    /// Arrives at a barrier of the CTA.
    pub fn barrier(
        &mut self,
        cta: &mut Cta,
        warp: usize,
        at: usize,
        group: Group,
        active: u32,
        (usage, number, count, pred): (BarrierUse, Src, Option<Src>, Pred),
    ) -> Result<Next, Stop> {
        let w = &mut cta.warps[warp];
        let lane = active.trailing_zeros();
        let word = |src: Src| w.fetch(self.literals, src)[lane as usize];
        let bad = |what: String| Stop::Trap { pc: group.pc, lane, cause: Cause::BadBarrier(what) };
        // One register in both places holds the number below and the count of threads above.
        let packed = count.is_some_and(|count| count.row == number.row && number.row < ZERO);
        let (number, wanted) = match count {
            Some(_) if packed => (word(number) & 0xf, word(number) >> 16 & 0xfff),
            Some(count) => (word(number) & 0xf, word(count)),
            None => (word(number) & 0xf, 0),
        };
        let holds = w.pred(pred) & active;
        if number as usize >= BARRIERS {
            return Err(bad(format!("a CTA has no barrier {number}")));
        }
        let barrier = &mut cta.barriers[number as usize];
        barrier.arrived += active.count_ones();
        barrier.wanted = wanted;
        match usage {
            BarrierUse::Reduce(reduction) => {
                barrier.reduction = Some(reduction);
                barrier.count += holds.count_ones();
            }
            BarrierUse::Arrive => return Ok(Next::Behind),
            BarrierUse::Sync => {}
        }
        Ok(w.wait(at, group, active, Wait::Barrier(number as u8)))
    }

    /// Lets threads pass the barriers at which all have come for whom they wait.
    fn pass_barriers(&mut self, cta: &mut Cta) -> bool {
        let mut any = false;
        let live: u32 = cta.warps.iter().map(|warp| warp.live.count_ones()).sum();
        for number in 0..BARRIERS {
            let barrier = cta.barriers[number];
            let wanted = if barrier.wanted == 0 { live } else { barrier.wanted };
            if barrier.arrived == 0 || barrier.arrived < wanted {
                continue;
            }
            let result = barrier.reduction.map(|reduction| match reduction {
                Reduction::Popc => barrier.count,
                Reduction::And => {
                    if barrier.count == barrier.arrived {
                        u32::MAX
                    } else {
                        0
                    }
                }
                Reduction::Or => {
                    if barrier.count > 0 {
                        u32::MAX
                    } else {
                        0
                    }
                }
            });
            for warp in &mut cta.warps {
                let wait = Wait::Barrier(number as u8);
                let waiting = warp.groups.iter().filter(|group| group.wait == wait).fold(0, |m, group| m | group.mask);
                if let Some(result) = result {
                    set(waiting).for_each(|lane| warp.reduced[lane] = result);
                }
                any |= waiting != 0;
                warp.pass(number as u8);
            }
            cta.barriers[number] = Barrier::default();
        }
        any
    }
}
