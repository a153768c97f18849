//! CTA barriers: arrival, release, and the report of a deadlock.
//!
//! That threads of a warp come to different `.aligned` barriers is seen where they meet at one barrier's number.

use oriole_ir::diagnostics::counted;
use oriole_ir::ops::BoolOp;

use super::{Cta, Machine, Step};
use crate::access::Fault;
use crate::engine::read_place;
use crate::outcome::{Cause, Waiter};
use crate::program::{BarrierReduce, Place};
use crate::strong::Strong;
use crate::warp::State;
use oriole_semantics::lanes::lanes;

/// Barriers of a CTA.
pub(super) const BARRIERS: usize = 16;

/// A CTA barrier's state between two releases.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BarrierState {
    arrived: u32,
    /// Threads to wait for; 0 stands for all that live.
    expected: u32,
    popc: u32,
    all: bool,
    any: bool,
    in_use: bool,
}

impl Machine<'_> {
    pub(super) fn arrive(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
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
            return bad(format!(
                "a count of {count} is no multiple of the warp size up to 1024",
                count = counted(count, "thread")
            ));
        }
        // PTX ISA, "barrier": with `.aligned` all threads of a warp execute the same one. Those that wait here already
        // have come to another one.
        let is_aligned = |pc: u32| self.program.barriers[self.program.ops[pc as usize].x as usize].aligned;
        let mut here = cta.warps[index].groups.iter().filter(|other| other.state == State::Barrier(id as u32));
        if here.any(|other| other.pc != state.pc && (barrier.aligned || is_aligned(other.pc))) {
            return bad(format!("threads of one warp wait for barrier {id} in different `.aligned` instructions"));
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
        // The first arrival since the last release begins anew; `all` is true of no threads.
        if !slot.in_use {
            *slot = BarrierState { all: true, in_use: true, ..BarrierState::default() };
        }
        slot.expected = slot.expected.max(count as u32);
        slot.arrived += if all && count != 0 { 32 } else { state.mask.count_ones() };
        // Results of a reduction gather over arrivals and are written when the barrier lets go.
        slot.popc += preds.count_ones();
        slot.all &= preds == state.mask;
        slot.any |= preds != 0;
        self.note_strong_barrier(cta, index, state.mask, state.pc);
        let warp = &mut cta.warps[index];
        if barrier.waits {
            warp.groups[group].state = State::Barrier(id as u32);
        } else {
            // `bar.arrive` counts and continues. What the thread did before is ordered before what those do that wait.
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
    pub(super) fn uniform(&self, cta: &Cta, index: usize, group: usize, place: Place, what: &'static str) -> Step<u64> {
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

    /// Lets the threads at a barrier continue if enough have arrived.
    pub(super) fn release(&mut self, cta: &mut Cta, id: usize) {
        let state = cta.barriers[id];
        if !state.in_use {
            return;
        }
        let live: u32 = cta.warps.iter().map(|warp| warp.live.count_ones()).sum();
        let needed = if state.expected == 0 { live } else { state.expected };
        if state.arrived < needed {
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

    /// Notes that the threads of some lanes come to a barrier.
    pub(super) fn note_strong_barrier(&mut self, cta: &Cta, index: usize, mask: u32, pc: u32) {
        let first = self.grid_index(cta, index);
        if let Some(recorder) = &mut self.strong {
            lanes(mask).for_each(|lane| recorder.note(first + lane as u64, pc, Strong::BARRIER, None, 0));
        }
    }

    /// Notes that the threads of some lanes arrive at the cluster's barrier, or have waited there.
    pub(super) fn note_cluster_barrier(&mut self, cta: &Cta, index: usize, mask: u32, pc: u32) -> Strong {
        let strong = self.program.fences[self.program.ops[pc as usize].x as usize];
        let first = self.grid_index(cta, index);
        if let Some(recorder) = &mut self.strong {
            lanes(mask).for_each(|lane| recorder.note(first + lane as u64, pc, strong, None, 0));
        }
        strong
    }

    /// Tells the race detector which threads continue from a barrier together.
    pub(super) fn note_barrier(&mut self, cta: &Cta, id: u32) {
        let firsts: Vec<u64> = (0..cta.warps.len()).map(|warp| self.grid_index(cta, warp)).collect();
        let Some(detector) = &mut self.races else { return };
        let threads = cta.warps.iter().zip(firsts).flat_map(|(warp, first)| {
            let waiting = warp.groups.iter().filter(|group| group.state == State::Barrier(id));
            let mask = waiting.fold(0, |mask, group| mask | group.mask);
            lanes(mask).map(move |lane| first + lane as u64)
        });
        detector.barrier(threads);
    }

    pub(super) fn waiters(&self, cta: &Cta) -> Vec<Waiter> {
        let mut waiters = Vec::new();
        for (index, warp) in cta.warps.iter().enumerate() {
            for group in &warp.groups {
                let waits_for = match group.state {
                    State::Barrier(id) => {
                        let BarrierState { arrived, expected, .. } = cta.barriers[id as usize];
                        let live: u32 = cta.warps.iter().map(|warp| warp.live.count_ones()).sum();
                        let needed = if expected == 0 { live } else { expected };
                        format!("barrier {id} ({arrived} of {needed} have arrived)", needed = counted(needed, "thread"))
                    }
                    State::Cluster => "the barrier of the cluster".to_string(),
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
