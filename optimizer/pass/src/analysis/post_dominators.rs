//! Post-dominators and control dependence of the reachable blocks.
//!
//! A virtual exit follows every block that control leaves the function from. Where control may stay for ever,
//! that is in reachable blocks from which no path leaves, each strongly connected component without an edge out gets
//! one edge to the virtual exit, from its first block in the layout: as if the loop ended there once. So every block
//! has a path to the virtual exit, and `a` post-dominates `b` where all of these go through `a`.
//!
//! The tree is that of [`super::dominator_tree`], over the reversed graph. Control dependence is the frontier of
//! post-dominance (Ferrante, Ottenstein and Warren, "The Program Dependence Graph and Its Use in Optimization", 1987):
//! a block depends on a branch where one way out of the branch always leads to the block and another one may miss it.
//! Near-linear in blocks and edges; dependences cost what they hold.

use super::cfg::Cfg;
use super::components::components;
use super::dominator_tree::{DominatorTree, FlowGraph};
use oriole_ir::Block;

/// The virtual exit, as a vertex of the reversed graph.
const EXIT: u32 = 0;

/// The post-dominator tree of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PostDominators {
    tree: DominatorTree,
    /// The blocks with an edge to the virtual exit, in layout order.
    exits: Vec<Block>,
}

/// The reversed graph: the virtual exit is 0, and the blocks count down from the last of the reverse post-order.
struct Backward<'a> {
    cfg: &'a Cfg,
    exits: &'a [Block],
    /// By number in the reverse post-order: whether the block has an edge to the virtual exit.
    leaves: Vec<bool>,
}

impl Backward<'_> {
    fn new<'a>(cfg: &'a Cfg, exits: &'a [Block]) -> Backward<'a> {
        let mut leaves = vec![false; cfg.rpo().len()];
        for number in exits.iter().filter_map(|block| cfg.rpo_number(*block)) {
            leaves[number] = true;
        }
        Backward { cfg, exits, leaves }
    }

    fn vertices(&self, blocks: &[Block]) -> impl Iterator<Item = u32> {
        blocks.iter().filter_map(|block| vertex(self.cfg, *block))
    }

    fn block(&self, vertex: u32) -> Option<Block> {
        block(self.cfg, vertex)
    }
}

fn vertex(cfg: &Cfg, block: Block) -> Option<u32> {
    cfg.rpo_number(block).map(|number| (cfg.rpo().len() - number) as u32)
}

/// The block of a vertex; `None` for the virtual exit.
fn block(cfg: &Cfg, vertex: u32) -> Option<Block> {
    (vertex != EXIT).then(|| cfg.rpo()[cfg.rpo().len() - vertex as usize])
}

impl FlowGraph for Backward<'_> {
    fn count(&self) -> usize {
        self.cfg.rpo().len() + 1
    }

    fn successors(&self, vertex: u32) -> impl Iterator<Item = u32> {
        let before = self.block(vertex).map_or(self.exits, |block| self.cfg.predecessors(block));
        self.vertices(before)
    }

    fn predecessors(&self, vertex: u32) -> impl Iterator<Item = u32> {
        let block = self.block(vertex);
        let behind = block.map_or(&[][..], |block| self.cfg.successors(block));
        let leaves = vertex != EXIT && self.leaves[self.leaves.len() - vertex as usize];
        self.vertices(behind).chain(leaves.then_some(EXIT))
    }
}

impl PostDominators {
    /// The post-dominators of every reachable block.
    pub fn compute(cfg: &Cfg) -> PostDominators {
        let exits = exits(cfg);
        let tree = DominatorTree::compute(&Backward::new(cfg, &exits));
        PostDominators { tree, exits }
    }

    /// Whether every path from `b` to the virtual exit goes through `a`; a block post-dominates itself. False where one
    /// of them is unreachable.
    pub fn post_dominates(&self, cfg: &Cfg, a: Block, b: Block) -> bool {
        let (Some(a), Some(b)) = (vertex(cfg, a), vertex(cfg, b)) else { return false };
        self.tree.dominates(a, b)
    }

    /// The closest block that post-dominates this one, other than itself; `None` where that is the virtual exit, and
    /// for unreachable blocks.
    pub fn immediate_post_dominator(&self, cfg: &Cfg, of: Block) -> Option<Block> {
        block(cfg, self.tree.parent(vertex(cfg, of)?)?)
    }

    /// The reachable blocks with an edge to the virtual exit, in layout order: those without successors, and one of
    /// each region that control never leaves.
    pub fn exits(&self) -> &[Block] {
        &self.exits
    }

    /// The reachable blocks, each after its immediate post-dominator.
    pub fn preorder<'a>(&'a self, cfg: &'a Cfg) -> impl Iterator<Item = Block> + 'a {
        self.tree.preorder().iter().filter_map(|vertex| block(cfg, *vertex))
    }

    /// On which branches each block depends.
    pub fn control_dependences(&self, cfg: &Cfg) -> ControlDependences {
        let branch = |vertex| block(cfg, vertex);
        let by_vertex = self.tree.frontiers(&Backward::new(cfg, &self.exits), branch);
        // Nothing follows the virtual exit, so no frontier holds it.
        ControlDependences { of: by_vertex.into_iter().map(|list| list.into_iter().flatten().collect()).collect() }
    }
}

/// By vertex of the reversed graph: the blocks whose branches decide whether a block is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlDependences {
    of: Vec<Vec<Block>>,
}

impl ControlDependences {
    /// The blocks whose branches decide whether control comes to this one; empty where unreachable.
    pub fn of(&self, cfg: &Cfg, block: Block) -> &[Block] {
        vertex(cfg, block).map_or(&[], |vertex| &self.of[vertex as usize])
    }
}

/// The reachable blocks that get an edge to the virtual exit, in layout order.
fn exits(cfg: &Cfg) -> Vec<Block> {
    let count = cfg.rpo().len();
    let number = |block: &Block| cfg.rpo_number(*block).map(|number| number as u32);
    let component = components(count, |at| cfg.successors(cfg.rpo()[at as usize]).iter().filter_map(number));
    let mut left = vec![false; count];
    for (from, block) in cfg.rpo().iter().enumerate() {
        let leaves = |to: u32| component[to as usize] != component[from];
        left[component[from] as usize] |= cfg.successors(*block).iter().filter_map(number).any(leaves);
    }
    // Of each component without a way out, the first block in the layout. A block without successors is one by itself.
    let reachable = cfg.blocks().iter().filter_map(|block| Some((*block, component[cfg.rpo_number(*block)?] as usize)));
    reachable.filter(|(_, component)| !std::mem::replace(&mut left[*component], true)).map(|(block, _)| block).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{chain, ladder, random_function};
    use super::*;
    use oriole_ir::parse_function;
    use proptest::prelude::*;

    fn of(text: &str) -> (Cfg, PostDominators) {
        let cfg = Cfg::new(&parse_function(text).expect("the text is a function"));
        let post = PostDominators::compute(&cfg);
        (cfg, post)
    }

    fn bb(number: u32) -> Block {
        Block::from_u32(number)
    }

    const LOOP: &str = "device @f {\nbb0:\n  bra bb1\nbb1:\n  cbra %p0, bb2, bb3\nbb2:\n  bra bb4\nbb3:\n  bra bb4\nbb4:\n  \
                        cbra %p0, bb1, bb5\nbb5:\n  ret\nbb6:\n  bra bb5\n}\n";

    #[test]
    fn a_diamond_in_a_loop_is_as_drawn() {
        let (cfg, post) = of(LOOP);
        let immediate = (0..7).map(|at| post.immediate_post_dominator(&cfg, bb(at))).collect::<Vec<_>>();
        assert_eq!(immediate, [Some(bb(1)), Some(bb(4)), Some(bb(4)), Some(bb(4)), Some(bb(5)), None, None]);
        assert_eq!(post.exits(), [bb(5)]);
        let dependences = post.control_dependences(&cfg);
        let of = |at| dependences.of(&cfg, bb(at)).to_vec();
        assert_eq!([0, 1, 2, 3, 4, 5].map(of), [vec![], vec![bb(4)], vec![bb(1)], vec![bb(1)], vec![bb(4)], vec![]]);
        assert!(!post.post_dominates(&cfg, bb(5), bb(6)) && post.post_dominates(&cfg, bb(5), bb(0)));
    }

    /// bb1 and bb2 go round for ever; bb3 ends by itself. The loop ends at bb1, as if it were left there.
    #[test]
    fn a_region_without_end_gets_one_exit() {
        let (cfg, post) =
            of("device @f {\nbb0:\n  cbra %p0, bb2, bb3\nbb1:\n  bra bb2\nbb2:\n  bra bb1\nbb3:\n  trap\n  exit\n}\n");
        assert_eq!(post.exits(), [bb(1), bb(3)]);
        let immediate = [0, 1, 2, 3].map(|at| post.immediate_post_dominator(&cfg, bb(at)));
        assert_eq!(immediate, [None, None, Some(bb(1)), None]);
        // At bb1 the loop may end or continue, so bb2 depends on it too.
        assert_eq!(post.control_dependences(&cfg).of(&cfg, bb(2)), [bb(1), bb(0)]);
    }

    proptest! {
        /// Control dependence by its definition: some way out of the branch leads to a block that the dependent one
        /// post-dominates, and the branch itself can miss it.
        #[test]
        fn control_dependence_is_by_post_dominance(words in prop::collection::vec(any::<u32>(), 4..120)) {
            let cfg = Cfg::new(&random_function(&words));
            let post = PostDominators::compute(&cfg);
            let dependences = post.control_dependences(&cfg);
            for block in cfg.rpo() {
                let depends = |branch: &&Block| {
                    let leads = cfg.successors(**branch).iter().any(|to| post.post_dominates(&cfg, *block, *to));
                    leads && (block == *branch || !post.post_dominates(&cfg, *block, **branch))
                };
                let mut expected: Vec<Block> = cfg.rpo().iter().filter(depends).copied().collect();
                let mut found = dependences.of(&cfg, *block).to_vec();
                expected.sort_unstable();
                found.sort_unstable();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn long_graphs_are_quick() {
        for func in [chain(100_000), ladder(100_000)] {
            let cfg = Cfg::new(&func);
            let post = PostDominators::compute(&cfg);
            let last = *func.layout().last().expect("there are blocks");
            assert!(post.post_dominates(&cfg, last, func.entry()));
            assert_eq!(post.preorder(&cfg).count(), cfg.rpo().len());
            assert!(post.control_dependences(&cfg).of(&cfg, last).is_empty());
        }
    }
}
