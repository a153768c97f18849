//! The dense solver: gen, kill, live-in and live-out of each block as rows of bits.
//!
//! ```text
//! LiveOut(B) = union of LiveIn(S) over the successors S
//! LiveIn(B)  = gen(B) | (LiveOut(B) & !kill(B))
//! ```
//!
//! Sets begin empty and only gain bits. A sweep visits the blocks in reverse of the reverse post-order, so that a block
//! comes after its successors but for edges that go back; it leaves out blocks whose successors have not changed since
//! their last visit. On a reducible graph an edge that goes back leads to a loop further out than the one before it on
//! any way without a cycle, so there are at most as many sweeps as loops around the deepest block, one more, and a last
//! one that finds nothing (`spec/liveness-and-dce.txt`, "Convergence Argument").

use super::super::bitset::{self, BitMatrix};
use super::super::cfg::Cfg;

/// The sets of all blocks. A block is meant by its place in the layout.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockSets {
    /// By place: the row in the matrices. Rows lie in the order of visits, so that a sweep goes through memory once
    /// and forward; against it, the solver took five times as long (2026-11-23, `benches/liveness.rs`).
    row: Vec<u32>,
    generated: BitMatrix,
    killed: BitMatrix,
    live_in: BitMatrix,
    live_out: BitMatrix,
}

/// Which of a block's sets is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// What the block reads before it defines it: gen.
    Generated,
    /// What the block defines whatever its guards say: kill.
    Killed,
    /// What is live at the block's entry; before the solve, nothing.
    LiveIn,
    /// What is live at the block's end; before the solve, what phis read there.
    LiveOut,
}

impl BlockSets {
    /// Empty sets of so many bits for the blocks of a graph.
    pub fn new(cfg: &Cfg, bits: usize) -> BlockSets {
        let mut row = vec![0; cfg.blocks().len()];
        for (number, place) in backward(cfg).into_iter().enumerate() {
            row[place] = number as u32;
        }
        let empty = BitMatrix::new(row.len(), bits);
        BlockSets { row, generated: empty.clone(), killed: empty.clone(), live_in: empty.clone(), live_out: empty }
    }

    /// One set of a block.
    pub fn get(&self, which: Which, place: usize) -> &[u64] {
        let matrix = match which {
            Which::Generated => &self.generated,
            Which::Killed => &self.killed,
            Which::LiveIn => &self.live_in,
            Which::LiveOut => &self.live_out,
        };
        matrix.row(self.row[place] as usize)
    }

    /// One set of a block, to change.
    pub fn get_mut(&mut self, which: Which, place: usize) -> &mut [u64] {
        let matrix = match which {
            Which::Generated => &mut self.generated,
            Which::Killed => &mut self.killed,
            Which::LiveIn => &mut self.live_in,
            Which::LiveOut => &mut self.live_out,
        };
        matrix.row_mut(self.row[place] as usize)
    }

    /// Solves the equations over the graph, on top of what the sets of blocks' ends hold, with empty ones of their
    /// entries; the number of sweeps that visited a block.
    pub fn solve(&mut self, cfg: &Cfg) -> u32 {
        debug_assert!((0..self.row.len()).all(|row| bitset::count(self.live_in.row(row)) == 0));
        let order = backward(cfg);
        let mut is_due = vec![true; order.len()];
        let (mut due, mut sweeps) = (order.len(), 0);
        // Each round but the first visits what changes have made due behind themselves in the one before.
        while due > 0 {
            for place in &order {
                if !std::mem::replace(&mut is_due[*place], false) {
                    continue;
                }
                due -= 1;
                if self.visit(cfg, *place, sweeps == 0) {
                    for from in predecessors(cfg, *place) {
                        due += usize::from(!std::mem::replace(&mut is_due[from], true));
                    }
                }
            }
            sweeps += 1;
        }
        sweeps
    }

    /// Meet and transfer at one block; whether its entry changed. A block is visited since a successor's entry changed,
    /// which nearly always changes its own sets too, so they are written without asking.
    fn visit(&mut self, cfg: &Cfg, place: usize, first: bool) -> bool {
        let row = self.row[place] as usize;
        let (live_in, live_out) = (&mut self.live_in, self.live_out.row_mut(row));
        let successors = cfg.successors(cfg.blocks()[place]).iter();
        let rows = successors.map(|to| self.row[cfg.position(*to).expect("an edge stays in the layout")] as usize);
        // In the first sweep a block's entry is empty until its visit, which makes this block due if that changes it.
        let mut rows = rows.filter(|to| !first || *to < row);
        let last = rows.next_back();
        rows.for_each(|to| bitset::union(live_out, live_in.row(to)));
        let (generated, killed) = (self.generated.row(row), self.killed.row(row));
        match last {
            Some(to) if to != row => {
                let (here, after) = live_in.two_rows(row, to);
                bitset::meet_and_transfer(here, live_out, after, generated, killed)
            }
            // What is live at the entry of a block that is its own successor is live at its end.
            last => {
                last.into_iter().for_each(|to| bitset::union(live_out, live_in.row(to)));
                bitset::or_with_and_not_if_changed(live_in.row_mut(row), generated, live_out, killed)
            }
        }
    }
}

/// The places of all blocks, reachable ones first, each mostly after its successors. Nothing reachable has an
/// unreachable successor.
fn backward(cfg: &Cfg) -> Vec<usize> {
    let reachable = cfg.rpo().iter().rev().filter_map(|block| cfg.position(*block));
    let others = (0..cfg.blocks().len()).rev().filter(|place| !cfg.is_reachable(cfg.blocks()[*place]));
    reachable.chain(others).collect()
}

/// The places of a block's predecessors.
pub(super) fn predecessors(cfg: &Cfg, place: usize) -> impl Iterator<Item = usize> + '_ {
    cfg.predecessors(cfg.blocks()[place]).iter().filter_map(|from| cfg.position(*from))
}
