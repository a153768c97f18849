//! The CTAs of a cluster: their turns, whose shared memory an executing one reaches, and the barrier of the cluster.
//!
//! PTX ISA, "barrier.cluster": a thread arrives, and waits for the phase that it arrived in. A phase ends when all
//! threads of the cluster that have not exited have arrived in it; here that is looked at when each CTA has had its
//! turn.

use super::{Cta, Machine, Step};
use crate::memory::Bytes;
use crate::outcome::{Cause, Outcome};
use crate::warp::State;
use oriole_semantics::lanes::lanes;

/// CTAs that run together, by rank.
pub(super) struct Cluster {
    pub ctas: Vec<Cta>,
    /// How often each has had its turn.
    pub rounds: u32,
}

impl Cluster {
    /// Bytes that registers and local memory take.
    pub fn stacks(&self) -> usize {
        self.ctas.iter().map(Cta::stacks).sum()
    }

    pub fn is_live(&self) -> bool {
        self.ctas.iter().any(Cta::is_live)
    }

    /// Moves shared memory of all CTAs but one to the peers of that one, or back.
    fn exchange(&mut self, executing: usize, peers: &mut [Bytes]) {
        for (rank, (cta, peer)) in self.ctas.iter_mut().zip(peers).enumerate() {
            if rank != executing {
                std::mem::swap(&mut cta.shared, peer);
            }
        }
    }
}

impl Machine<'_> {
    /// The cluster whose first CTA has these coordinates, about to start.
    pub(super) fn start_cluster(&self, first: [u32; 3]) -> Cluster {
        let ranks = 0..self.cluster.ctas();
        Cluster { ctas: ranks.map(|rank| self.start(self.cluster.member(first, rank))).collect(), rounds: 0 }
    }

    /// Every CTA's turn.
    pub(super) fn cluster_round(&mut self, cluster: &mut Cluster) -> Step {
        cluster.rounds += 1;
        let mut ran = false;
        let is_alone = cluster.ctas.len() == 1;
        if !is_alone {
            self.peers.resize_with(cluster.ctas.len(), Bytes::default);
            self.numbers = cluster.ctas.iter().map(|cta| self.cta_index(cta.ctaid)).collect();
        }
        for rank in 0..cluster.ctas.len() {
            cluster.exchange(rank, &mut self.peers);
            ran |= self.round(&mut cluster.ctas[rank])?;
            cluster.exchange(rank, &mut self.peers);
        }
        ran |= self.release_cluster(cluster);
        let first = cluster.ctas.first().map_or(0, |cta| self.cta_index(cta.ctaid));
        for (rank, cta) in cluster.ctas.iter_mut().enumerate().filter(|(_, cta)| !cta.is_live()) {
            if let Some(left) = self.in_flight.end_of(first, rank) {
                let (thread, place) = (self.thread_at(left.thread), self.place(left.pc));
                return Err(Box::new(Outcome::Trapped { cause: Cause::Unfinished, thread, place }));
            }
            // Shared memory ends with its CTA: others may not reach it any more.
            if !is_alone {
                cta.shared = Bytes::default();
            }
        }
        if !ran && cluster.is_live() {
            return Err(Box::new(Outcome::Deadlock(cluster.ctas.iter().flat_map(|cta| self.waiters(cta)).collect())));
        }
        Ok(())
    }

    /// A group arrives at the cluster's barrier, and continues.
    pub(super) fn arrive_at_cluster(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        let state = cta.warps[index].groups[group];
        if cta.warps[index].cluster_arrived & state.mask != 0 {
            let again = "a thread that has arrived at the cluster's barrier arrives again without waiting";
            return Err(self.trap(cta, index, group, Cause::BadBarrier(again.to_owned())));
        }
        let strong = self.note_cluster_barrier(cta, index, state.mask, state.pc);
        let first = self.grid_index(cta, index);
        if let Some(detector) = self.races.as_mut().filter(|_| strong.releases()) {
            detector.arrive(lanes(state.mask).map(|lane| first + lane as u64));
        }
        let warp = &mut cta.warps[index];
        warp.cluster_arrived |= state.mask;
        warp.cluster_pending |= state.mask;
        warp.groups[group].pc += 1;
        Ok(())
    }

    /// A group waits for the phase that it has arrived in, where that is not over.
    pub(super) fn wait_for_cluster(&mut self, cta: &mut Cta, index: usize, group: usize) -> Step {
        let warp = &mut cta.warps[index];
        let state = warp.groups[group];
        if state.mask & !warp.cluster_arrived != 0 {
            let early = "a thread waits at the cluster's barrier that has not arrived there";
            return Err(self.trap(cta, index, group, Cause::BadBarrier(early.to_owned())));
        }
        let waiting = state.mask & warp.cluster_pending;
        if waiting != 0 && waiting != state.mask {
            // Lanes whose phase is over may be what the others wait for.
            warp.split(group, state.mask & !waiting, state.pc);
        }
        if waiting != 0 {
            cta.warps[index].groups[group].state = State::Cluster;
            return Ok(());
        }
        self.leave_cluster_barrier(cta, index, group);
        Ok(())
    }

    /// A group continues behind the cluster's barrier.
    fn leave_cluster_barrier(&mut self, cta: &mut Cta, index: usize, group: usize) {
        let state = cta.warps[index].groups[group];
        self.note_cluster_barrier(cta, index, state.mask, state.pc);
        let first = self.grid_index(cta, index);
        if let Some(detector) = &mut self.races {
            detector.acquire(lanes(state.mask).map(|lane| first + lane as u64));
        }
        let warp = &mut cta.warps[index];
        warp.cluster_arrived &= !state.mask;
        warp.groups[group].state = State::Ready;
        warp.groups[group].pc += 1;
    }

    /// Ends the barrier's phase if everyone has arrived; whether it did.
    fn release_cluster(&mut self, cluster: &mut Cluster) -> bool {
        let warps = || cluster.ctas.iter().flat_map(|cta| &cta.warps);
        let is_missed = warps().any(|warp| warp.live & !warp.cluster_pending != 0);
        if is_missed || warps().all(|warp| warp.live == 0) {
            return false;
        }
        for cta in &mut cluster.ctas {
            for index in 0..cta.warps.len() {
                cta.warps[index].cluster_pending = 0;
                for group in 0..cta.warps[index].groups.len() {
                    if cta.warps[index].groups[group].state == State::Cluster {
                        self.leave_cluster_barrier(cta, index, group);
                    }
                }
            }
        }
        true
    }
}
