//! Dominance by removal: `a` dominates `b` where every path from the entry to `b` goes through `a`, that is, where `b`
//! is cut off without `a`.

use super::graph::Graph;

/// Dominance between all pairs of blocks, by places in the layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dominance {
    reachable: Vec<bool>,
    /// By place: what is still reachable from the entry without that block.
    without: Vec<Vec<bool>>,
}

impl Dominance {
    /// Removes each block in turn.
    pub fn of(graph: &Graph) -> Dominance {
        let without = (0..graph.blocks.len()).map(|at| graph.reachable(0, Some(at))).collect();
        Dominance { reachable: graph.reachable(0, None), without }
    }

    /// Whether the entry reaches a block.
    pub fn is_reachable(&self, at: usize) -> bool {
        self.reachable[at]
    }

    /// Whether every path from the entry to `b` goes through `a`; false where one of them is unreachable.
    pub fn dominates(&self, a: usize, b: usize) -> bool {
        self.reachable[a] && self.reachable[b] && !self.without[a][b]
    }

    /// The strict dominator that all other strict dominators dominate.
    pub fn immediate(&self, b: usize) -> Option<usize> {
        let strict = |a: &usize| *a != b && self.dominates(*a, b);
        let all: Vec<usize> = (0..self.reachable.len()).filter(strict).collect();
        all.iter().copied().find(|closest| all.iter().all(|other| self.dominates(*other, *closest)))
    }

    /// Whether `join` is where the dominance of `a` ends: `a` dominates a predecessor of it, but not strictly itself.
    pub fn ends_at(&self, graph: &Graph, a: usize, join: usize) -> bool {
        let enters = graph.predecessors[join].iter().any(|from| self.dominates(a, *from));
        enters && (a == join || !self.dominates(a, join))
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::parse_function;

    use super::*;

    #[test]
    fn a_diamond_in_a_loop_is_as_drawn() {
        let text = "device @f {\nbb0:\n  bra bb1\nbb1:\n  cbra %p0, bb2, bb3\nbb2:\n  bra bb4\nbb3:\n  bra bb4\nbb4:\n  \
                    cbra %p0, bb1, bb5\nbb5:\n  ret\nbb6:\n  bra bb5\n}\n";
        let graph = Graph::of(&parse_function(text).expect("the text is a function"));
        let dominance = Dominance::of(&graph);
        let immediate: Vec<_> = (0..7).map(|at| dominance.immediate(at)).collect();
        assert_eq!(immediate, [None, Some(0), Some(1), Some(1), Some(1), Some(4), None]);
        let frontier = |a| (0..7).filter(|join| dominance.ends_at(&graph, a, *join)).collect::<Vec<_>>();
        assert_eq!([0, 1, 2, 3, 4, 5].map(frontier), [vec![], vec![1], vec![4], vec![4], vec![1], vec![]]);
        assert!(!dominance.is_reachable(6) && !dominance.dominates(6, 6));
        assert_eq!(graph.predecessors[5], [4, 6]);
    }
}
