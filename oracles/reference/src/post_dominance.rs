//! Post-dominance by removal: `a` post-dominates `b` where every path from `b` to the virtual exit goes through `a`,
//! that is, where `b` is cut off from it without `a`.
//!
//! Edges to the virtual exit come from reachable blocks without successors, and from the first block in the layout of
//! each set of blocks that lead to each other and to nothing else.

use super::graph::Graph;

/// Post-dominance between all pairs of reachable blocks, by places in the layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PostDominance {
    reachable: Vec<bool>,
    exits: Vec<usize>,
    /// By place: which blocks still have a path to the virtual exit without that block.
    without: Vec<Vec<bool>>,
}

impl PostDominance {
    /// Removes each block in turn.
    pub fn of(graph: &Graph) -> PostDominance {
        let reachable = graph.reachable(0, None);
        let count = graph.blocks.len();
        let reaches: Vec<Vec<bool>> = (0..count).map(|from| graph.reachable(from, None)).collect();
        // In the last set of blocks that control gets to, all that one reaches leads back to it.
        let ends = |at: usize| (0..count).all(|to| !reaches[at][to] || reaches[to][at]);
        let first = |at: usize| (0..at).all(|other| !reaches[at][other]);
        let exits: Vec<usize> = (0..count).filter(|at| reachable[*at] && ends(*at) && first(*at)).collect();
        let leaves = |at: usize, removed: usize| {
            let reached = graph.reachable(at, Some(removed));
            exits.iter().any(|exit| reached[*exit])
        };
        let without = (0..count).map(|removed| (0..count).map(|at| leaves(at, removed)).collect()).collect();
        PostDominance { reachable, exits, without }
    }

    /// The blocks with an edge to the virtual exit.
    pub fn exits(&self) -> &[usize] {
        &self.exits
    }

    /// Whether every path from `b` to the virtual exit goes through `a`; false where one of them is unreachable.
    pub fn post_dominates(&self, a: usize, b: usize) -> bool {
        self.reachable[a] && self.reachable[b] && !self.without[a][b]
    }

    /// The strict post-dominator that all other strict post-dominators post-dominate.
    pub fn immediate(&self, b: usize) -> Option<usize> {
        let strict = |a: &usize| *a != b && self.post_dominates(*a, b);
        let all: Vec<usize> = (0..self.reachable.len()).filter(strict).collect();
        all.iter().copied().find(|closest| all.iter().all(|other| self.post_dominates(*other, *closest)))
    }

    /// Whether a branch decides if control comes to a block: one way out of it leads there whatever happens, and the
    /// branch itself may miss it.
    pub fn depends(&self, graph: &Graph, block: usize, branch: usize) -> bool {
        let led = graph.successors[branch].iter().any(|to| self.post_dominates(block, *to));
        led && (block == branch || !self.post_dominates(block, branch))
    }
}
