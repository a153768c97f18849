//! Dominance as the verifier sees it, apart from the analyses of those whom it checks.
//!
//! The simple version of Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph" (1979): a
//! depth-first tree, semidominators by path compression, immediate dominators through buckets. Vertices are the
//! preorder numbers of reachable blocks. Nothing recurses; time is O(edges * log blocks), memory is linear.

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::{Block, Function};

const NONE: u32 = u32::MAX;

/// Edges and dominance of a function's blocks.
pub(super) struct Dominance {
    /// By block: its preorder number; `NONE` where the entry does not reach it.
    number: SecondaryMap<Block, u32>,
    /// By number: where the block's subtree begins in a walk over the dominator tree, and how many blocks it has.
    subtree: Vec<(u32, u32)>,
    predecessors: Predecessors,
}

/// The predecessors of every block in one array, each once; those of a block begin at its entry in `start`.
struct Predecessors {
    start: Vec<u32>,
    from: Vec<Block>,
}

impl Predecessors {
    fn of(func: &Function) -> Predecessors {
        let edges = distinct_edges(func);
        let mut start = vec![0; func.blocks().len() + 1];
        edges.iter().for_each(|(_, to)| start[to.index() + 1] += 1);
        for block in 1..start.len() {
            start[block] += start[block - 1];
        }
        let mut fill = start.clone();
        let mut from = vec![Block::new(0); edges.len()];
        for (block, to) in edges {
            from[fill[to.index()] as usize] = block;
            fill[to.index()] += 1;
        }
        Predecessors { start, from }
    }

    fn get(&self, block: Block) -> &[Block] {
        &self.from[self.start[block.index()] as usize..self.start[block.index() + 1] as usize]
    }
}

/// The edges between blocks, each once however often a terminator names its target.
fn distinct_edges(func: &Function) -> Vec<(Block, Block)> {
    let mut edges = Vec::with_capacity(2 * func.layout().len());
    // By block: the place of the last block seen to branch to it.
    let mut last_from = vec![NONE; func.blocks().len()];
    for (place, from) in func.layout().iter().enumerate() {
        for to in func.successors(*from) {
            if std::mem::replace(&mut last_from[to.index()], place as u32) != place as u32 {
                edges.push((*from, to));
            }
        }
    }
    edges
}

impl Dominance {
    /// The dominance of a definition's blocks. All targets of its branches must be in its layout.
    pub(super) fn of(func: &Function) -> Dominance {
        let predecessors = Predecessors::of(func);
        let tree = Tree::of(func);
        let idom = immediate_dominators(&tree, &predecessors);
        Dominance { subtree: subtrees(&idom), number: tree.number, predecessors }
    }

    /// The blocks that branch to a block, each once.
    pub(super) fn predecessors(&self, block: Block) -> &[Block] {
        self.predecessors.get(block)
    }

    /// Whether the entry reaches a block.
    pub(super) fn is_reachable(&self, block: Block) -> bool {
        self.number[block] != NONE
    }

    /// Whether every path from the entry to `b` goes through `a`. False where one of them is unreachable.
    pub(super) fn dominates(&self, a: Block, b: Block) -> bool {
        let of = |block: Block| self.subtree.get(self.number[block] as usize);
        let (Some((outer, count)), Some((inner, _))) = (of(a), of(b)) else { return false };
        (*outer..outer + count).contains(inner)
    }
}

/// A depth-first tree over the reachable blocks, by preorder number.
struct Tree {
    number: SecondaryMap<Block, u32>,
    block: Vec<Block>,
    parent: Vec<u32>,
}

impl Tree {
    fn of(func: &Function) -> Tree {
        let mut tree = Tree { number: SecondaryMap::with_default(NONE), block: Vec::new(), parent: Vec::new() };
        tree.number.resize(func.blocks().len());
        let mut stack = vec![(func.entry(), 0)];
        while let Some((block, parent)) = stack.pop() {
            if tree.number[block] != NONE {
                continue;
            }
            let number = tree.block.len() as u32;
            tree.number[block] = number;
            tree.block.push(block);
            tree.parent.push(parent);
            stack.extend(func.successors(block).map(|next| (next, number)));
        }
        tree
    }
}

/// Vertices linked to their parents so far, with compressed paths.
struct Forest {
    ancestor: Vec<u32>,
    label: Vec<u32>,
    semi: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    /// The vertex of least semidominator on the path from `v` up to, but without, the root of its tree.
    fn evaluate(&mut self, v: u32) -> u32 {
        if self.ancestor[v as usize] == NONE {
            return v;
        }
        // The path from `v` up to a child of the root, compressed from the top down: each vertex takes over its
        // ancestor's best label before it is hung below the root.
        let mut top = v;
        while self.ancestor[self.ancestor[top as usize] as usize] != NONE {
            self.path.push(top);
            top = self.ancestor[top as usize];
        }
        while let Some(vertex) = self.path.pop() {
            let above = self.ancestor[vertex as usize];
            let (own, other) = (self.label[vertex as usize], self.label[above as usize]);
            if self.semi[other as usize] < self.semi[own as usize] {
                self.label[vertex as usize] = other;
            }
            self.ancestor[vertex as usize] = self.ancestor[above as usize];
        }
        self.label[v as usize]
    }
}

/// By number: the number of the immediate dominator; the entry's is itself.
fn immediate_dominators(tree: &Tree, predecessors: &Predecessors) -> Vec<u32> {
    let count = tree.block.len();
    let own: Vec<u32> = (0..count as u32).collect();
    let mut forest = Forest { ancestor: vec![NONE; count], label: own.clone(), semi: own, path: Vec::new() };
    let mut idom = vec![0; count];
    // The vertices whose semidominator is the index, as a list through `next`.
    let (mut bucket, mut next) = (vec![NONE; count], vec![NONE; count]);
    for w in (1..count).rev() {
        for from in predecessors.get(tree.block[w]).iter().map(|block| tree.number[*block]).filter(|v| *v != NONE) {
            let best = forest.evaluate(from);
            forest.semi[w] = forest.semi[w].min(forest.semi[best as usize]);
        }
        let (semi, parent) = (forest.semi[w] as usize, tree.parent[w]);
        next[w] = std::mem::replace(&mut bucket[semi], w as u32);
        forest.ancestor[w] = parent;
        let mut v = std::mem::replace(&mut bucket[parent as usize], NONE);
        while v != NONE {
            let best = forest.evaluate(v);
            // Where the best vertex has an earlier semidominator, both have the same immediate dominator, known later.
            let deferred = forest.semi[best as usize] < forest.semi[v as usize];
            idom[v as usize] = if deferred { best } else { parent };
            v = next[v as usize];
        }
    }
    for w in 1..count {
        if idom[w] != forest.semi[w] {
            idom[w] = idom[idom[w] as usize];
        }
    }
    idom
}

/// By number: where the subtree of the dominator tree begins in preorder, and its size. A parent's number is less than
/// its children's, so sizes add up from the last vertex to the first, and places follow from the first to the last.
fn subtrees(idom: &[u32]) -> Vec<(u32, u32)> {
    let mut subtree = vec![(0, 1); idom.len()];
    for w in (1..idom.len()).rev() {
        subtree[idom[w] as usize].1 += subtree[w].1;
    }
    let mut free = vec![1; idom.len()];
    for w in 1..idom.len() {
        let above = idom[w] as usize;
        subtree[w].0 = free[above];
        free[above] += subtree[w].1;
        free[w] = subtree[w].0 + 1;
    }
    subtree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Opcode;
    use crate::{FunctionKind, InstBuilder, Operand, RegInfo};
    use proptest::prelude::*;

    /// A function whose block `i` branches to the blocks of `edges[i]`; to itself where there is none.
    fn graph(edges: &[Vec<usize>]) -> Function {
        let mut func = Function::new("graph", FunctionKind::Device);
        let index = func.new_reg(RegInfo::words(1));
        let blocks: Vec<Block> = edges.iter().map(|_| func.new_block()).collect();
        for (block, targets) in blocks.iter().zip(edges) {
            let branch = InstBuilder::new(Opcode::Brx).src(index).src(blocks[targets.first().copied().unwrap_or(0)]);
            branch.srcs(targets.iter().skip(1).map(|to| Operand::Block(blocks[*to]))).append(&mut func, *block);
        }
        func
    }

    /// The blocks that the entry reaches without going through `removed`.
    fn reached_without(func: &Function, removed: Option<Block>) -> Vec<Block> {
        let mut seen: Vec<Block> = Vec::new();
        let mut stack = vec![func.entry()];
        while let Some(block) = stack.pop() {
            if Some(block) != removed && !seen.contains(&block) {
                seen.push(block);
                stack.extend(func.successors(block));
            }
        }
        seen
    }

    proptest! {
        #[test]
        fn a_block_dominates_what_its_removal_cuts_off(
            edges in prop::collection::vec(prop::collection::vec(0..12usize, 1..4), 12)
        ) {
            let func = graph(&edges);
            let dominance = Dominance::of(&func);
            let reachable = reached_without(&func, None);
            for a in func.layout() {
                let left = reached_without(&func, Some(*a));
                for b in func.layout() {
                    let both = reachable.contains(a) && reachable.contains(b);
                    prop_assert_eq!(dominance.dominates(*a, *b), both && !left.contains(b), "{} {}", a, b);
                }
                prop_assert_eq!(dominance.is_reachable(*a), reachable.contains(a));
            }
        }
    }

    /// Every block of a long chain leaves to the last one: quadratic for algorithms that walk up the tree for each
    /// edge.
    #[test]
    fn long_chains_with_one_exit_take_linear_time() {
        let count = 100_000;
        let edges: Vec<Vec<usize>> = (0..count).map(|at| vec![(at + 1).min(count - 1), count - 1]).collect();
        let func = graph(&edges);
        let dominance = Dominance::of(&func);
        assert!(dominance.dominates(func.layout()[0], func.layout()[count - 1]));
        assert!(dominance.dominates(func.layout()[500], func.layout()[count - 2]));
        assert!(!dominance.dominates(func.layout()[1], func.layout()[count - 1]));
    }
}
