//! The control-flow graph: edges in both directions, and the reachable blocks in reverse post-order.
//!
//! An edge counts once however often a terminator names its target. Blocks outside the layout have no edges; edges to
//! them are left out, so that the graph of a broken function can be built before the verifier rejects it. Nothing here
//! recurses; time and memory are linear in blocks and edges.

use cranelift_entity::EntityRef;
use oriole_ir::{Block, Function};

const NONE: u32 = u32::MAX;

/// The control-flow graph of a function, as it was when the graph was built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cfg {
    blocks: Vec<Block>,
    /// By block number: the place in `blocks`.
    position: Vec<u32>,
    successors: Edges,
    predecessors: Edges,
    rpo: Vec<Block>,
    /// By place in `blocks`: the place in `rpo`.
    rpo_number: Vec<u32>,
}

/// The edges of every block in one array.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Edges {
    start: Vec<u32>,
    to: Vec<Block>,
}

impl Edges {
    fn of(&self, position: usize) -> &[Block] {
        &self.to[self.start[position] as usize..self.start[position + 1] as usize]
    }
}

impl Cfg {
    /// The graph of a function; empty for a declaration.
    pub fn new(func: &Function) -> Cfg {
        let blocks = func.layout().to_vec();
        let mut position = vec![NONE; func.blocks().len()];
        for (index, block) in blocks.iter().enumerate() {
            position[block.index()] = index as u32;
        }
        let successors = successors(func, &position);
        let predecessors = reversed(&blocks, &successors, &position);
        let count = blocks.len();
        let mut cfg = Cfg {
            rpo_number: vec![NONE; count],
            rpo: Vec::with_capacity(count),
            blocks,
            position,
            successors,
            predecessors,
        };
        cfg.number();
        cfg
    }

    /// The blocks in layout order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// A block's place in the layout: a dense number for side tables.
    pub fn position(&self, block: Block) -> Option<usize> {
        self.position.get(block.index()).filter(|p| **p != NONE).map(|p| *p as usize)
    }

    /// The blocks that control can go to, each once, in operand order.
    pub fn successors(&self, block: Block) -> &[Block] {
        self.position(block).map_or(&[], |p| self.successors.of(p))
    }

    /// The blocks that control can come from, each once, in layout order; unreachable ones too.
    pub fn predecessors(&self, block: Block) -> &[Block] {
        self.position(block).map_or(&[], |p| self.predecessors.of(p))
    }

    /// The reachable blocks in reverse post-order, the entry first.
    pub fn rpo(&self) -> &[Block] {
        &self.rpo
    }

    /// A reachable block's place in the reverse post-order.
    pub fn rpo_number(&self, block: Block) -> Option<usize> {
        let number = self.rpo_number[self.position(block)?];
        (number != NONE).then_some(number as usize)
    }

    /// Whether control can get from the entry to a block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.rpo_number(block).is_some()
    }

    /// Depth first from the entry with a stack of blocks and their next edge.
    fn number(&mut self) {
        let Some(entry) = self.blocks.first() else { return };
        let mut seen = vec![false; self.blocks.len()];
        let mut stack = Vec::with_capacity(self.blocks.len());
        stack.push((*entry, 0));
        seen[0] = true;
        while let Some((block, edge)) = stack.last_mut() {
            match self.successors(*block).get(*edge) {
                Some(next) => {
                    *edge += 1;
                    let position = self.position[next.index()] as usize;
                    if !std::mem::replace(&mut seen[position], true) {
                        stack.push((*next, 0));
                    }
                }
                None => {
                    self.rpo.push(*block);
                    stack.pop();
                }
            }
        }
        self.rpo.reverse();
        for (number, block) in self.rpo.iter().enumerate() {
            self.rpo_number[self.position[block.index()] as usize] = number as u32;
        }
    }
}

fn successors(func: &Function, position: &[u32]) -> Edges {
    let count = func.layout().len();
    let mut edges = Edges { start: Vec::with_capacity(count + 1), to: Vec::with_capacity(2 * count) };
    edges.start.push(0);
    // The last block that had an edge to the block with this number: finds repeats without sorting.
    let mut last_from = vec![NONE; func.blocks().len()];
    for (index, block) in func.layout().iter().enumerate() {
        for next in func.successors(*block) {
            let known = position.get(next.index()).is_some_and(|p| *p != NONE);
            if known && std::mem::replace(&mut last_from[next.index()], index as u32) != index as u32 {
                edges.to.push(next);
            }
        }
        edges.start.push(edges.to.len() as u32);
    }
    edges
}

fn reversed(blocks: &[Block], forward: &Edges, position: &[u32]) -> Edges {
    let mut start = vec![0; blocks.len() + 1];
    for block in &forward.to {
        start[position[block.index()] as usize + 1] += 1;
    }
    for i in 1..start.len() {
        start[i] += start[i - 1];
    }
    let mut fill = start.clone();
    let mut to = vec![Block::new(0); forward.to.len()];
    for (from, block) in blocks.iter().enumerate() {
        for next in forward.of(from) {
            let place = &mut fill[position[next.index()] as usize];
            to[*place as usize] = *block;
            *place += 1;
        }
    }
    Edges { start, to }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{chain, random_function};
    use super::*;
    use oriole_ir::parse_function;
    use proptest::prelude::*;

    fn block(number: u32) -> Block {
        Block::from_u32(number)
    }

    #[test]
    fn edges_count_once_and_unreachable_blocks_have_no_number() {
        let text = "device @f {\nbb0:\n  cbra %p0, bb3, bb3\nbb7:\n  bra bb3\nbb3:\n  brx %r1, bb0, bb3, bb0\n}\n";
        let cfg = Cfg::new(&parse_function(text).unwrap());
        assert_eq!(cfg.successors(block(0)), [block(3)]);
        assert_eq!(cfg.successors(block(3)), [block(0), block(3)]);
        assert_eq!(cfg.predecessors(block(3)), [block(0), block(7), block(3)]);
        assert_eq!(cfg.rpo(), [block(0), block(3)]);
        assert!(!cfg.is_reachable(block(7)) && !cfg.is_reachable(block(5)));
        assert_eq!(cfg.position(block(7)), Some(1));
    }

    #[test]
    fn long_chains_need_no_deep_stack() {
        let cfg = Cfg::new(&chain(100_000));
        assert_eq!(cfg.rpo().len(), 100_000);
    }

    proptest! {
        /// Every edge forward in the order is no back edge of any depth-first walk; so each reachable block but the
        /// entry has a predecessor before it, and predecessors mirror successors.
        #[test]
        fn order_and_edges_agree(words in prop::collection::vec(any::<u32>(), 4..60)) {
            let func = random_function(&words);
            let cfg = Cfg::new(&func);
            for (number, b) in cfg.rpo().iter().enumerate() {
                prop_assert_eq!(cfg.rpo_number(*b), Some(number));
                let before = |p: &Block| cfg.rpo_number(*p).is_some_and(|n| n < number);
                prop_assert!(number == 0 || cfg.predecessors(*b).iter().any(before));
            }
            for from in func.layout() {
                for to in func.layout() {
                    let forward = cfg.successors(*from).iter().filter(|s| *s == to).count();
                    let backward = cfg.predecessors(*to).iter().filter(|p| *p == from).count();
                    prop_assert_eq!(forward, usize::from(func.successors(*from).any(|s| s == *to)));
                    prop_assert_eq!(forward, backward);
                }
            }
        }
    }
}
