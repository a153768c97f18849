//! Strongly connected components of a graph over numbers.
//!
//! Tarjan ("Depth-First Search and Linear Graph Algorithms", 1972) with an explicit stack. Linear in vertices and
//! edges.

const NONE: u32 = u32::MAX;

/// By vertex: the number of its component. Components are numbered so that every edge between two of them leads to the
/// lower number: callees before callers, exits before entries.
pub(super) fn components<I: Iterator<Item = u32>>(count: usize, successors: impl Fn(u32) -> I) -> Vec<u32> {
    let mut walk = Walk { order: vec![NONE; count], low: vec![0; count], component: vec![NONE; count], open: vec![] };
    let (mut entered, mut closed) = (0, 0);
    let mut stack: Vec<(u32, I)> = Vec::new();
    for root in 0..count as u32 {
        if walk.order[root as usize] == NONE {
            walk.enter(root, &mut entered);
            stack.push((root, successors(root)));
        }
        while let Some((vertex, edges)) = stack.last_mut() {
            let vertex = *vertex;
            match edges.next() {
                Some(next) if walk.order[next as usize] == NONE => {
                    walk.enter(next, &mut entered);
                    stack.push((next, successors(next)));
                }
                Some(next) => walk.meet(vertex, next),
                None => {
                    stack.pop();
                    walk.leave(vertex, &mut closed);
                    if let Some((parent, _)) = stack.last() {
                        walk.low[*parent as usize] = walk.low[*parent as usize].min(walk.low[vertex as usize]);
                    }
                }
            }
        }
    }
    walk.component
}

struct Walk {
    /// By vertex: when the walk came to it.
    order: Vec<u32>,
    /// By vertex: the earliest vertex of an open component that it is known to reach.
    low: Vec<u32>,
    component: Vec<u32>,
    /// The vertices whose components are not complete, in the order of the walk.
    open: Vec<u32>,
}

impl Walk {
    fn enter(&mut self, vertex: u32, entered: &mut u32) {
        (self.order[vertex as usize], self.low[vertex as usize]) = (*entered, *entered);
        *entered += 1;
        self.open.push(vertex);
    }

    /// An edge to a vertex that was seen before; one of a complete component says nothing.
    fn meet(&mut self, vertex: u32, next: u32) {
        if self.component[next as usize] == NONE {
            self.low[vertex as usize] = self.low[vertex as usize].min(self.order[next as usize]);
        }
    }

    /// The end of a vertex. What it opened is complete where it reaches nothing earlier.
    fn leave(&mut self, vertex: u32, closed: &mut u32) {
        if self.low[vertex as usize] != self.order[vertex as usize] {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.component[member as usize] = *closed;
            if member == vertex {
                break;
            }
        }
        *closed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(edges: &[(u32, u32)], count: usize) -> Vec<u32> {
        let to = |from: u32| edges.iter().filter(move |edge| edge.0 == from).map(|edge| edge.1);
        components(count, to)
    }

    #[test]
    fn cycles_are_together_and_edges_lead_down() {
        assert_eq!(of(&[(0, 1), (1, 2), (2, 1), (2, 3), (4, 4)], 5), [2, 1, 1, 0, 3]);
    }

    proptest! {
        #[test]
        fn components_are_mutual_reachability(edges in prop::collection::vec((0u32..9, 0u32..9), 0..30)) {
            let found = of(&edges, 9);
            let mut reaches = [[false; 9]; 9];
            (0..9).for_each(|at| reaches[at][at] = true);
            for _ in 0..9 {
                for (from, to) in &edges {
                    for at in &mut reaches {
                        at[*to as usize] |= at[*from as usize];
                    }
                }
            }
            for a in 0..9 {
                for b in 0..9 {
                    prop_assert_eq!(found[a] == found[b], reaches[a][b] && reaches[b][a]);
                    prop_assert!(!reaches[a][b] || found[b] <= found[a]);
                }
            }
        }
    }

    #[test]
    fn long_chains_need_no_deep_stack() {
        let found = components(100_000, |at| (at + 1 < 100_000).then_some(at + 1).into_iter());
        assert_eq!(found[0], 99_999);
    }
}
