//! Dominators and dominance frontiers of the reachable blocks.
//!
//! The tree is that of [`super::dominator_tree`], over the graph as it is. Near-linear in blocks and edges; frontiers
//! cost what they hold.

use super::cfg::Cfg;
use super::dominator_tree::{DominatorTree, FlowGraph};
use oriole_ir::Block;

/// The dominator tree of a graph. Blocks are numbered as in the graph's reverse post-order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dominators(DominatorTree);

/// The reachable blocks by their number in the reverse post-order.
struct Forward<'a>(&'a Cfg);

impl Forward<'_> {
    fn numbers(&self, blocks: &[Block]) -> impl Iterator<Item = u32> {
        blocks.iter().filter_map(|block| self.0.rpo_number(*block).map(|number| number as u32))
    }
}

impl FlowGraph for Forward<'_> {
    fn count(&self) -> usize {
        self.0.rpo().len()
    }

    fn successors(&self, vertex: u32) -> impl Iterator<Item = u32> {
        self.numbers(self.0.successors(self.0.rpo()[vertex as usize]))
    }

    fn predecessors(&self, vertex: u32) -> impl Iterator<Item = u32> {
        self.numbers(self.0.predecessors(self.0.rpo()[vertex as usize]))
    }
}

impl Dominators {
    /// The dominators of every reachable block.
    pub fn new(cfg: &Cfg) -> Dominators {
        Dominators(DominatorTree::compute(&Forward(cfg)))
    }

    /// Whether every path from the entry to `b` goes through `a`; a block dominates itself. False where one of them is
    /// unreachable.
    pub fn dominates(&self, cfg: &Cfg, a: Block, b: Block) -> bool {
        let (Some(a), Some(b)) = (cfg.rpo_number(a), cfg.rpo_number(b)) else { return false };
        self.0.dominates(a as u32, b as u32)
    }

    /// The closest block that dominates this one, other than itself; `None` for the entry and unreachable blocks.
    pub fn immediate_dominator(&self, cfg: &Cfg, block: Block) -> Option<Block> {
        let above = self.0.parent(cfg.rpo_number(block)? as u32)?;
        Some(cfg.rpo()[above as usize])
    }

    /// The blocks of the tree, each after its immediate dominator, subtrees together.
    pub fn preorder<'a>(&'a self, cfg: &'a Cfg) -> impl Iterator<Item = Block> + 'a {
        self.0.preorder().iter().map(|number| cfg.rpo()[*number as usize])
    }

    /// When a walk over the tree in [`Dominators::preorder`] comes to a block, counted in blocks.
    pub fn entered(&self, cfg: &Cfg, block: Block) -> Option<u32> {
        cfg.rpo_number(block).map(|number| self.0.interval(number as u32).0)
    }

    /// When that walk has left the block that it came to at some time, and all that this one dominates.
    pub(super) fn interval_end(&self, entered: u32) -> u32 {
        self.0.interval(self.0.preorder()[entered as usize]).1
    }

    /// The dominance frontier of every reachable block.
    pub fn frontiers(&self, cfg: &Cfg) -> Frontiers {
        Frontiers { of: self.0.frontiers(&Forward(cfg), |number| cfg.rpo()[number as usize]) }
    }
}

/// By number in the graph's reverse post-order: the blocks where a block's dominance ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frontiers {
    of: Vec<Vec<Block>>,
}

impl Frontiers {
    /// A block's frontier: the joins that it reaches without dominating them strictly; empty where unreachable.
    pub fn of(&self, cfg: &Cfg, block: Block) -> &[Block] {
        cfg.rpo_number(block).map_or(&[], |n| &self.of[n])
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{chain, ladder, random_function};
    use super::*;
    use oriole_ir::parse_function;
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
        let (entry, other) = (func.layout()[0], func.layout()[1]);
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
            let last = *func.layout().last().unwrap();
            assert!(dominators.dominates(&cfg, func.entry(), last));
            assert_eq!(dominators.preorder(&cfg).count(), cfg.rpo().len());
            assert!(dominators.frontiers(&cfg).of(&cfg, func.entry()).is_empty());
        }
    }
}
