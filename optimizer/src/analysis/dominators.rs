//! Dominators and dominance frontiers of the reachable blocks.
//!
//! Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005): semidominators by path
//! compression in reverse preorder, then each immediate dominator by walking up the tree built so far. Unlike the
//! iterative algorithm of Cooper, Harvey and Kennedy it stays near-linear where many blocks of a long chain leave to one
//! exit. `dominates` compares intervals of a walk over the tree.

use super::cfg::Cfg;
use crate::ir::Block;

const NONE: u32 = u32::MAX;

/// The dominator tree of a graph. Blocks are numbered as in the graph's reverse post-order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dominators {
    /// By number: the number of the immediate dominator; `NONE` for the entry.
    idom: Vec<u32>,
    /// By number: the block's interval in a walk over the tree.
    interval: Vec<(u32, u32)>,
    /// The tree in preorder, parents before children, as numbers.
    preorder: Vec<u32>,
}

impl Dominators {
    /// The dominators of every reachable block.
    pub fn new(cfg: &Cfg) -> Dominators {
        let idom = semi_nca(cfg);
        let (interval, preorder) = intervals(&idom);
        Dominators { idom, interval, preorder }
    }

    /// Whether every path from the entry to `b` goes through `a`; a block dominates itself. False where one of them is
    /// unreachable.
    pub fn dominates(&self, cfg: &Cfg, a: Block, b: Block) -> bool {
        let (Some(a), Some(b)) = (cfg.rpo_number(a), cfg.rpo_number(b)) else { return false };
        let (outer, inner) = (self.interval[a], self.interval[b]);
        outer.0 <= inner.0 && inner.1 <= outer.1
    }

    /// The closest block that dominates this one, other than itself; `None` for the entry and unreachable blocks.
    pub fn immediate_dominator(&self, cfg: &Cfg, block: Block) -> Option<Block> {
        let idom = self.idom[cfg.rpo_number(block)?];
        (idom != NONE).then(|| cfg.rpo()[idom as usize])
    }

    /// The blocks of the tree, each after its immediate dominator, subtrees together.
    pub fn preorder<'a>(&'a self, cfg: &'a Cfg) -> impl Iterator<Item = Block> + 'a {
        self.preorder.iter().map(|number| cfg.rpo()[*number as usize])
    }

    /// The dominance frontier of every reachable block.
    pub fn frontiers(&self, cfg: &Cfg) -> Frontiers {
        Frontiers::new(self, cfg)
    }
}

/// By number in the graph's reverse post-order: the blocks where a block's dominance ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frontiers {
    of: Vec<Vec<Block>>,
}

impl Frontiers {
    /// From each predecessor of a join up to the join's immediate dominator, every block has the join in its frontier. A
    /// walk stops at a block that an earlier walk for the same join has seen, so the cost is the size of the result.
    fn new(dominators: &Dominators, cfg: &Cfg) -> Frontiers {
        let mut of = vec![Vec::new(); cfg.rpo().len()];
        for (join, block) in cfg.rpo().iter().enumerate() {
            let stop = dominators.idom[join];
            for predecessor in cfg.predecessors(*block) {
                let mut runner = cfg.rpo_number(*predecessor).map_or(NONE, |n| n as u32);
                while runner != stop && runner != NONE && of[runner as usize].last() != Some(block) {
                    of[runner as usize].push(*block);
                    runner = dominators.idom[runner as usize];
                }
            }
        }
        Frontiers { of }
    }

    /// A block's frontier: the joins that it reaches without dominating them strictly; empty where unreachable.
    pub fn of(&self, cfg: &Cfg, block: Block) -> &[Block] {
        cfg.rpo_number(block).map_or(&[], |n| &self.of[n])
    }
}

/// A depth-first tree over the graph, in preorder numbers from 1; 0 is above the entry.
struct Tree {
    /// By preorder number: the number in the reverse post-order.
    block: Vec<u32>,
    parent: Vec<u32>,
    /// By number in the reverse post-order: the preorder number.
    number: Vec<u32>,
}

fn depth_first(cfg: &Cfg) -> Tree {
    let count = cfg.rpo().len();
    let with_room = |first| {
        let mut list = Vec::with_capacity(count + 1);
        list.push(first);
        list
    };
    let mut tree = Tree { block: with_room(NONE), parent: with_room(0), number: vec![0; count] };
    let mut stack: Vec<(u32, usize)> = Vec::with_capacity(count);
    let enter = |tree: &mut Tree, stack: &mut Vec<(u32, usize)>, block: usize, parent: u32| {
        if tree.number[block] == 0 {
            tree.number[block] = tree.block.len() as u32;
            tree.block.push(block as u32);
            tree.parent.push(parent);
            stack.push((tree.number[block], 0));
        }
    };
    if count > 0 {
        enter(&mut tree, &mut stack, 0, 0);
    }
    while let Some((number, edge)) = stack.last_mut() {
        let (number, block) = (*number, cfg.rpo()[tree.block[*number as usize] as usize]);
        match cfg.successors(block).get(*edge) {
            Some(next) => {
                *edge += 1;
                let next = cfg.rpo_number(*next).expect("a successor of a reachable block is reachable");
                enter(&mut tree, &mut stack, next, number);
            }
            None => {
                stack.pop();
            }
        }
    }
    tree
}

/// The vertices already linked to their parents, with compressed paths.
struct Forest {
    ancestor: Vec<u32>,
    label: Vec<u32>,
    semi: Vec<u32>,
    stack: Vec<u32>,
}

impl Forest {
    /// The vertex of least semidominator on the path from `v` up to, but without, its root, where vertices from
    /// `linked` on are linked.
    fn evaluate(&mut self, v: u32, linked: u32) -> u32 {
        if self.ancestor[v as usize] < linked {
            return self.label[v as usize];
        }
        let mut top = v;
        while self.ancestor[top as usize] >= linked {
            self.stack.push(top);
            top = self.ancestor[top as usize];
        }
        let (root, mut best) = (self.ancestor[top as usize], self.label[top as usize]);
        while let Some(below) = self.stack.pop() {
            let below = below as usize;
            self.ancestor[below] = root;
            if self.semi[best as usize] < self.semi[self.label[below] as usize] {
                self.label[below] = best;
            } else {
                best = self.label[below];
            }
        }
        self.label[v as usize]
    }
}

fn semi_nca(cfg: &Cfg) -> Vec<u32> {
    let tree = depth_first(cfg);
    let count = tree.block.len() as u32;
    let identity: Vec<u32> = (0..count).collect();
    let mut forest =
        Forest { ancestor: tree.parent.clone(), label: identity.clone(), semi: identity, stack: Vec::new() };
    for w in (2..count).rev() {
        let mut semi = tree.parent[w as usize];
        for predecessor in cfg.predecessors(cfg.rpo()[tree.block[w as usize] as usize]) {
            if let Some(number) = cfg.rpo_number(*predecessor) {
                let least = forest.evaluate(tree.number[number], w + 1);
                semi = semi.min(forest.semi[least as usize]);
            }
        }
        forest.semi[w as usize] = semi;
    }
    let mut above = tree.parent.clone();
    for w in 2..count as usize {
        while above[w] > forest.semi[w] {
            above[w] = above[above[w] as usize];
        }
    }
    let mut idom = vec![NONE; cfg.rpo().len()];
    for w in 2..count as usize {
        idom[tree.block[w] as usize] = tree.block[above[w] as usize];
    }
    idom
}

/// The interval of each vertex in a walk over the tree, and the walk's preorder.
fn intervals(idom: &[u32]) -> (Vec<(u32, u32)>, Vec<u32>) {
    // Children as linked lists: the first child of a vertex, and the next child of the same parent.
    let (mut child, mut sibling) = (vec![NONE; idom.len()], vec![NONE; idom.len()]);
    for vertex in (1..idom.len()).rev() {
        let parent = idom[vertex] as usize;
        sibling[vertex] = std::mem::replace(&mut child[parent], vertex as u32);
    }
    let mut interval = vec![(0, 0); idom.len()];
    let mut preorder = Vec::with_capacity(idom.len());
    let (mut clock, mut vertex) = (0, if idom.is_empty() { NONE } else { 0 });
    while vertex != NONE {
        interval[vertex as usize].0 = clock;
        clock += 1;
        preorder.push(vertex);
        if child[vertex as usize] != NONE {
            vertex = child[vertex as usize];
            continue;
        }
        while vertex != NONE {
            interval[vertex as usize].1 = clock;
            if sibling[vertex as usize] != NONE {
                vertex = sibling[vertex as usize];
                break;
            }
            vertex = idom[vertex as usize];
        }
    }
    (interval, preorder)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{chain, ladder, random_function};
    use super::*;
    use crate::ir::parse_function;
    use proptest::prelude::*;

    /// The definition: without `a`, no path leads from the entry to `b`.
    fn dominates_by_paths(cfg: &Cfg, a: Block, b: Block) -> bool {
        let mut seen = vec![a];
        let mut stack: Vec<Block> = cfg.rpo().first().copied().into_iter().filter(|entry| *entry != a).collect();
        while let Some(block) = stack.pop() {
            if !seen.contains(&block) {
                seen.push(block);
                stack.extend(cfg.successors(block));
            }
        }
        a == b || !seen.contains(&b)
    }

    proptest! {
        #[test]
        fn dominance_is_by_paths(words in prop::collection::vec(any::<u32>(), 4..120)) {
            let cfg = Cfg::new(&random_function(&words));
            let dominators = Dominators::new(&cfg);
            for a in cfg.rpo() {
                for b in cfg.rpo() {
                    let expected = dominates_by_paths(&cfg, *a, *b);
                    prop_assert_eq!(dominators.dominates(&cfg, *a, *b), expected, "{} {}", a, b);
                }
                if let Some(idom) = dominators.immediate_dominator(&cfg, *a) {
                    let strict = |d: &&Block| **d != *a && dominates_by_paths(&cfg, **d, *a);
                    prop_assert!(cfg.rpo().iter().filter(strict).all(|d| dominates_by_paths(&cfg, *d, idom)));
                    prop_assert!(idom != *a);
                }
            }
        }

        #[test]
        fn frontiers_are_by_definition(words in prop::collection::vec(any::<u32>(), 4..120)) {
            let cfg = Cfg::new(&random_function(&words));
            let dominators = Dominators::new(&cfg);
            let frontiers = dominators.frontiers(&cfg);
            for a in cfg.rpo() {
                let mut found = frontiers.of(&cfg, *a).to_vec();
                found.sort();
                let ends = |b: &&Block| {
                    let strictly = **b != *a && dominates_by_paths(&cfg, *a, **b);
                    let mut reachable = cfg.predecessors(**b).iter().filter(|p| cfg.is_reachable(**p));
                    !strictly && reachable.any(|p| dominates_by_paths(&cfg, *a, *p))
                };
                let mut expected: Vec<Block> = cfg.rpo().iter().filter(ends).copied().collect();
                expected.sort();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn unreachable_blocks_dominate_nothing() {
        let func = parse_function("device @f {\nbb0:\n  ret\nbb1:\n  ret\n}\n").unwrap();
        let cfg = Cfg::new(&func);
        let dominators = Dominators::new(&cfg);
        let (entry, other) = (func.layout[0], func.layout[1]);
        assert!(dominators.dominates(&cfg, entry, entry));
        assert!(!dominators.dominates(&cfg, entry, other) && !dominators.dominates(&cfg, other, other));
        assert_eq!(dominators.preorder(&cfg).collect::<Vec<_>>(), [entry]);
    }

    /// A chain whose every block can leave to one exit makes the iterative algorithm quadratic.
    #[test]
    fn long_graphs_are_quick() {
        for func in [chain(100_000), ladder(100_000)] {
            let cfg = Cfg::new(&func);
            let dominators = Dominators::new(&cfg);
            let last = *func.layout.last().unwrap();
            assert!(dominators.dominates(&cfg, func.entry(), last));
            assert_eq!(dominators.preorder(&cfg).count(), cfg.rpo().len());
            assert!(dominators.frontiers(&cfg).of(&cfg, func.entry()).is_empty());
        }
    }
}
