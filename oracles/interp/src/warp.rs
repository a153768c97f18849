//! Warps: groups of lanes that execute together, split where lanes diverge and merged where they meet again.

use super::access::LocalMemory;
use super::concretize::{Concretization, Concretizer};
use super::frame::Frame;
use super::order::{LaneOrder, Rank};
use super::program::{FuncInfo, Program};

/// What a group is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It can execute.
    Ready,
    /// It waits at a CTA barrier.
    Barrier(u32),
    /// It waits at the cluster's barrier.
    Cluster,
    /// It waits for the other members of a collective.
    Collective,
}

/// Lanes that execute together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub mask: u32,
    pub pc: u32,
    pub frame: usize,
    pub state: State,
}

/// Activations that a thread may have one above the other. A device has 512 KiB for them, and no call takes less than
/// 16 bytes of it.
const MAX_DEPTH: u32 = 1 << 15;

/// A warp.
#[derive(Debug, Default)]
pub struct Warp {
    pub groups: Vec<Group>,
    pub frames: Vec<Frame>,
    free: Vec<usize>,
    /// Bytes of this machine's memory that all frames take.
    frame_bytes: usize,
    /// The linear index of its first thread in the CTA.
    pub first_thread: u32,
    /// Lanes that have a thread, and those whose thread has not ended.
    pub threads: u32,
    pub live: u32,
    /// Lanes that have arrived at the cluster's barrier and not waited there, and those of them whose phase continues.
    pub cluster_arrived: u32,
    pub cluster_pending: u32,
    pub local: LocalMemory,
    /// How often the clock was read.
    pub clock: u64,
    /// How many slices in a row ended without a group having stopped by itself.
    pub expired: u32,
    /// What stands in for undefined values, if something does, and how many frames were made.
    concretization: Option<Concretization>,
    entered: u64,
}

impl Warp {
    /// A warp about to execute a function from its start.
    pub fn start(
        program: &Program,
        entry: usize,
        first_thread: u32,
        threads: u32,
        bank: &[u8],
        concretization: Option<Concretization>,
    ) -> Warp {
        let mut warp = Warp { first_thread, threads, live: threads, concretization, ..Warp::default() };
        let info = &program.functions[entry];
        let frame = warp.new_frame(entry, info, bank);
        warp.frames[frame].users = 1;
        warp.local.reserve(info.frame as usize);
        let pc = info.entry.unwrap_or(0);
        warp.groups.push(Group { mask: threads, pc, frame, state: State::Ready });
        warp
    }

    fn new_frame(&mut self, index: usize, info: &FuncInfo, bank: &[u8]) -> usize {
        let frame = self.free.pop().unwrap_or_else(|| {
            self.frames.push(Frame::default());
            self.frame_bytes += size_of::<Frame>();
            self.frames.len() - 1
        });
        self.entered += 1;
        let number = u64::from(self.first_thread) << 32 | self.entered;
        self.frames[frame].concretizer = self.concretization.map(|values| Concretizer::new(values, number));
        let before = self.frames[frame].held();
        self.frames[frame].enter(index, info, bank);
        self.frame_bytes += self.frames[frame].held().saturating_sub(before);
        frame
    }

    /// How many bytes of this machine's memory its stacks take.
    pub fn held(&self) -> usize {
        self.frame_bytes + self.local.held()
    }

    /// Makes the frame of a call by a group; `None` where the stack would grow too large.
    pub fn call(
        &mut self,
        group: usize,
        index: usize,
        info: &FuncInfo,
        base: u32,
        call: u32,
        bank: &[u8],
    ) -> Option<()> {
        let Group { pc, frame: parent, .. } = self.groups[group];
        let depth = self.frames[parent].depth + 1;
        if depth >= MAX_DEPTH {
            return None;
        }
        let frame = self.new_frame(index, info, bank);
        let new = &mut self.frames[frame];
        (new.parent, new.return_to, new.base, new.call, new.depth, new.users) = (parent, pc + 1, base, call, depth, 1);
        self.groups[group].frame = frame;
        self.groups[group].pc = info.entry?;
        Some(())
    }

    /// Takes a group back to its caller's frame.
    pub fn leave(&mut self, group: usize) {
        let frame = self.groups[group].frame;
        let (parent, return_to) = (self.frames[frame].parent, self.frames[frame].return_to);
        self.frames[parent].users += 1;
        self.groups[group].frame = parent;
        self.groups[group].pc = return_to;
        self.release(frame);
    }

    /// One user less; frames without users are used again.
    fn release(&mut self, mut frame: usize) {
        loop {
            self.frames[frame].users -= 1;
            if self.frames[frame].users > 0 {
                return;
            }
            self.free.push(frame);
            if self.frames[frame].depth == 0 {
                return;
            }
            frame = self.frames[frame].parent;
        }
    }

    /// Ends the threads of a group.
    pub fn exit(&mut self, group: usize) {
        let Group { mask, frame, .. } = self.groups.swap_remove(group);
        self.live &= !mask;
        self.release(frame);
    }

    /// Takes some lanes out of a group into a new one at another place.
    pub fn split(&mut self, group: usize, mask: u32, pc: u32) -> usize {
        let Group { frame, .. } = self.groups[group];
        self.groups[group].mask &= !mask;
        self.frames[frame].users += 1;
        self.groups.push(Group { mask, pc, frame, state: State::Ready });
        self.groups.len() - 1
    }

    /// Merges ready groups that are at the same place of the same activation.
    pub fn merge(&mut self) {
        let mut i = 0;
        while i < self.groups.len() {
            let Group { pc, frame, state, .. } = self.groups[i];
            let mut j = i + 1;
            while state == State::Ready && j < self.groups.len() {
                let other = self.groups[j];
                if other.state == State::Ready && (other.pc, other.frame) == (pc, frame) {
                    self.groups[i].mask |= other.mask;
                    self.groups.swap_remove(j);
                    self.release(frame);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }

    /// The group to execute: the deepest activation first, then the lowest place, so that lanes wait for those
    /// behind them, or in another order the highest, or as a seed says; and where that has starved the others for long,
    /// each in turn.
    pub fn choose(&self, order: LaneOrder) -> Option<usize> {
        let ready = |(_, group): &(usize, &Group)| group.state == State::Ready;
        let candidates = self.groups.iter().enumerate().filter(ready);
        if self.expired >= 2 {
            let n = candidates.clone().count();
            return candidates.map(|(i, _)| i).nth(self.expired as usize % n.max(1));
        }
        let rank = |at: usize, group: &Group| match order {
            LaneOrder::Straight | LaneOrder::Branching => Rank::Place(0, u32::MAX - group.pc),
            _ => order.rank(at, 0, group.pc, group.mask),
        };
        candidates.min_by_key(|(i, g)| (u32::MAX - self.frames[g.frame].depth, rank(*i, g))).map(|(i, _)| i)
    }

    /// The lowest place after `pc` where another ready group of the same activation stands.
    pub fn next_meeting(&self, group: usize) -> u32 {
        let Group { frame, pc, .. } = self.groups[group];
        let others = self
            .groups
            .iter()
            .enumerate()
            .filter(|(i, g)| *i != group && g.frame == frame && g.state == State::Ready && g.pc > pc);
        others.map(|(_, g)| g.pc).min().unwrap_or(u32::MAX)
    }
}
