//! The CTAs of a cluster: whose shared memory an executing one reaches, and the barrier of the cluster.
//!
//! An address of shared memory has the rank of a CTA from bit 24 on, as code for `sm_90` and later makes it. What
//! reaches the CTA's own shared memory alone may leave it out.

use std::collections::VecDeque;

use oriole_interp::ClusterShape;

use super::machine::{Cta, Machine, Stopped, Stuck};
use super::state::Wait;

/// The first bit of the rank in an address.
pub const RANK_AT: u32 = 24;
/// The bits below.
const OFFSET: u64 = (1 << RANK_AT) - 1;

/// CTAs that run together, by rank.
pub struct Cluster {
    /// The CTAs.
    pub ctas: Vec<Cta>,
}

impl Cluster {
    /// Moves shared memory of all CTAs but one to the peers of that one, or back.
    fn exchange(&mut self, executing: usize, peers: &mut [Vec<u8>]) {
        for (rank, (cta, peer)) in self.ctas.iter_mut().zip(peers).enumerate() {
            if rank != executing {
                std::mem::swap(&mut cta.shared, peer);
            }
        }
    }

    /// Whether all of its threads have ended.
    pub fn is_done(&self) -> bool {
        self.ctas.iter().all(Cta::is_done)
    }

    /// Ends the barrier's phase if all threads that live have arrived; whether it did.
    fn pass_barrier(&mut self) -> bool {
        let warps = || self.ctas.iter().flat_map(|cta| &cta.warps);
        let waits = |wait: Wait| wait == Wait::Cluster;
        let any = warps().any(|warp| warp.groups.iter().any(|group| waits(group.wait)));
        if !any || warps().any(|warp| warp.live & !warp.cluster_arrived != 0) {
            return false;
        }
        for warp in self.ctas.iter_mut().flat_map(|cta| &mut cta.warps) {
            warp.cluster_arrived = 0;
            warp.groups.iter_mut().filter(|group| waits(group.wait)).for_each(|group| group.wait = Wait::Ready);
        }
        true
    }
}

impl Machine<'_> {
    /// The cluster with a number in the grid, about to begin.
    pub fn cluster(&self, number: u64) -> Cluster {
        let extents = self.cluster.extents;
        let [width, height, _] = std::array::from_fn(|axis| u64::from(self.launch.grid[axis] / extents[axis]));
        let place = [number % width, number / width % height, number / width / height];
        let first = std::array::from_fn(|axis| place[axis] as u32 * extents[axis]);
        let ranks = 0..self.cluster.ctas();
        Cluster { ctas: ranks.map(|rank| self.cta(self.cluster.member(first, rank), rank)).collect() }
    }

    /// Has each CTA of a cluster take its turn; says whether any did something.
    pub fn cluster_turn(&mut self, cluster: &mut Cluster) -> Result<bool, Stopped> {
        self.peers.resize_with(cluster.ctas.len(), Vec::new);
        let mut moved = false;
        for rank in 0..cluster.ctas.len() {
            cluster.exchange(rank, &mut self.peers);
            let turn = self.turn(&mut cluster.ctas[rank]);
            cluster.exchange(rank, &mut self.peers);
            moved |= turn?;
        }
        Ok(cluster.pass_barrier() || moved)
    }
}

/// Where an address of shared memory lies: the rank, and the offset there.
pub fn split(address: u64) -> (u64, u64) {
    (address >> RANK_AT, address & OFFSET)
}

/// An address of the same place in the shared memory of the CTA with a rank.
pub fn in_rank(address: u64, rank: u64) -> u64 {
    address & OFFSET | rank << RANK_AT
}

/// How many clusters a grid has.
pub fn clusters(grid: [u32; 3], shape: ClusterShape) -> u64 {
    (0..3).map(|axis| u64::from(grid[axis] / shape.extents[axis].max(1))).product()
}

/// All groups, which wait for ever.
pub fn stuck(resident: &VecDeque<Cluster>) -> Vec<Stuck> {
    let ctas = resident.iter().flat_map(|cluster| &cluster.ctas);
    let warps = ctas.flat_map(|cta| cta.warps.iter().map(move |warp| (cta.ctaid, warp)));
    let groups = warps.flat_map(|(ctaid, warp)| warp.groups.iter().map(move |group| (ctaid, warp.first, *group)));
    groups.map(|(ctaid, first, group)| Stuck { ctaid, first, group }).collect()
}
