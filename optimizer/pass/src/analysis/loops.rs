//! The loop nest of the reachable blocks, irreducible loops included.
//!
//! A loop is a strongly connected set of blocks with at least one edge among them. Its header is the member that comes
//! first in the reverse post-order; the loops inside it are the loops of what is left without the header. So each
//! header has one loop, and a loop is natural (its header dominates it) unless control can enter it elsewhere too. This
//! is the nesting forest of Havlak ("Nesting of Reducible and Irreducible Loops", 1997), whose blocks of a header `h`
//! are the strongly connected component of `h` among the descendants of `h` in the depth-first tree that numbers the
//! graph.
//!
//! Headers are taken in reverse preorder, so that inner loops are found first and stand for their blocks afterwards, by
//! union and find. Near-linear in blocks and edges; an edge into an irreducible loop is looked at once for each loop
//! that it enters beside the header. Nothing recurses.

use cranelift_entity::entity_impl;

use super::cfg::Cfg;
use oriole_ir::Block;

const NONE: u32 = u32::MAX;

/// A loop of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loop(u32);
entity_impl!(Loop, "loop");

/// The loops of a graph, each after the loop around it, in the order of their headers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopNest {
    loops: Vec<LoopData>,
    /// The blocks of all loops, each loop's together: the header, its other blocks, then the loops inside it.
    blocks: Vec<Block>,
    /// By number in the reverse post-order: the innermost loop.
    innermost: Vec<Option<Loop>>,
    /// By number in the reverse post-order: the place in `blocks`; `NONE` outside of loops.
    place: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct LoopData {
    header: Block,
    parent: Option<Loop>,
    depth: u32,
    natural: bool,
    /// Its stretch of [`LoopNest::blocks`].
    start: u32,
    end: u32,
}

impl LoopNest {
    /// The loops of a graph.
    pub fn compute(cfg: &Cfg) -> LoopNest {
        let headers = Headers::find(cfg);
        let mut of_header = vec![None; cfg.rpo().len()];
        let mut nest = LoopNest {
            loops: Vec::new(),
            blocks: Vec::new(),
            innermost: Vec::with_capacity(cfg.rpo().len()),
            place: vec![NONE; cfg.rpo().len()],
        };
        for (number, block) in cfg.rpo().iter().enumerate() {
            // The header of the loop around this block is in front of it, so its loop has a number already.
            let around = headers.around[number];
            let around: Option<Loop> = (around != NONE).then(|| of_header[around as usize]).flatten();
            if headers.is_header[number] {
                let depth = around.map_or(1, |parent| nest.loops[parent.0 as usize].depth + 1);
                let natural = !headers.irreducible[number];
                of_header[number] = Some(Loop(nest.loops.len() as u32));
                nest.loops.push(LoopData { header: *block, parent: around, depth, natural, start: 0, end: 0 });
            }
            nest.innermost.push(of_header[number].or(around));
        }
        nest.place_blocks(cfg);
        nest
    }

    /// Gives each loop its stretch of `blocks`, within that of the loop around it and behind that one's own blocks.
    fn place_blocks(&mut self, cfg: &Cfg) {
        let mut own = vec![0; self.loops.len()];
        self.innermost.iter().flatten().for_each(|of| own[of.0 as usize] += 1);
        let mut total = own.clone();
        for (index, data) in self.loops.iter().enumerate().rev() {
            if let Some(parent) = data.parent {
                total[parent.0 as usize] += total[index];
            }
        }
        let (mut next, mut outermost) = (vec![0; self.loops.len()], 0);
        for index in 0..self.loops.len() {
            let free = self.loops[index].parent.map_or(&mut outermost, |parent| &mut next[parent.0 as usize]);
            let start = std::mem::replace(free, *free + total[index]);
            (self.loops[index].start, self.loops[index].end) = (start, start + total[index]);
            next[index] = start + own[index];
        }
        let mut fill: Vec<u32> = self.loops.iter().map(|data| data.start).collect();
        self.blocks = vec![Block::from_u32(0); outermost as usize];
        for (number, block) in cfg.rpo().iter().enumerate() {
            if let Some(of) = self.innermost[number] {
                let place = fill[of.0 as usize];
                fill[of.0 as usize] += 1;
                self.blocks[place as usize] = *block;
                self.place[number] = place;
            }
        }
    }

    fn data(&self, of: Loop) -> &LoopData {
        &self.loops[of.0 as usize]
    }

    /// The loops, each after the loop around it.
    pub fn loops(&self) -> impl DoubleEndedIterator<Item = Loop> + use<> {
        (0..self.loops.len() as u32).map(Loop)
    }

    /// The innermost loop that a block is in.
    pub fn innermost(&self, cfg: &Cfg, block: Block) -> Option<Loop> {
        self.innermost[cfg.rpo_number(block)?]
    }

    /// How many loops a block is in.
    pub fn depth(&self, cfg: &Cfg, block: Block) -> u32 {
        self.innermost(cfg, block).map_or(0, |of| self.data(of).depth)
    }

    /// The block of a loop that comes first in the reverse post-order.
    pub fn header(&self, of: Loop) -> Block {
        self.data(of).header
    }

    /// The smallest loop around this one.
    pub fn parent(&self, of: Loop) -> Option<Loop> {
        self.data(of).parent
    }

    /// How many loops a loop is in, itself included.
    pub fn loop_depth(&self, of: Loop) -> u32 {
        self.data(of).depth
    }

    /// Whether control enters a loop at its header only, which so dominates it.
    pub fn is_natural(&self, of: Loop) -> bool {
        self.data(of).natural
    }

    /// The blocks of a loop, the header first, those of inner loops included.
    pub fn blocks(&self, of: Loop) -> &[Block] {
        &self.blocks[self.data(of).start as usize..self.data(of).end as usize]
    }

    /// Whether a block is in a loop or in one inside it.
    pub fn contains(&self, cfg: &Cfg, of: Loop, block: Block) -> bool {
        let place = cfg.rpo_number(block).map_or(NONE, |number| self.place[number]);
        place != NONE && (self.data(of).start..self.data(of).end).contains(&place)
    }

    /// The blocks of a loop with an edge to its header, in layout order.
    pub fn latches<'a>(&'a self, cfg: &'a Cfg, of: Loop) -> impl Iterator<Item = Block> + 'a {
        let before = cfg.predecessors(self.header(of)).iter().copied();
        before.filter(move |block| self.contains(cfg, of, *block))
    }

    /// The edges that leave a loop: from a block in it to one outside.
    pub fn exits<'a>(&'a self, cfg: &'a Cfg, of: Loop) -> impl Iterator<Item = (Block, Block)> + 'a {
        let edges = self.blocks(of).iter().flat_map(|from| cfg.successors(*from).iter().map(|to| (*from, *to)));
        edges.filter(move |(_, to)| !self.contains(cfg, of, *to))
    }

    /// The blocks of a loop where control can come in from outside; the header alone where the loop is natural.
    pub fn entries<'a>(&'a self, cfg: &'a Cfg, of: Loop) -> impl Iterator<Item = Block> + 'a {
        let outside = move |from: &Block| cfg.is_reachable(*from) && !self.contains(cfg, of, *from);
        let entered = move |block: &Block| cfg.predecessors(*block).iter().any(outside) || cfg.rpo()[0] == *block;
        self.blocks(of).iter().copied().filter(entered)
    }

    /// The block outside a natural loop that leads to its header and nowhere else, where no other block outside leads
    /// there: what is put at its end runs once before the loop.
    pub fn preheader(&self, cfg: &Cfg, of: Loop) -> Option<Block> {
        let header = self.header(of);
        let mut outside = cfg.predecessors(header).iter().filter(|from| !self.contains(cfg, of, **from));
        let only = outside.next().filter(|_| outside.next().is_none() && self.is_natural(of))?;
        (cfg.successors(*only) == [header] && cfg.is_reachable(*only) && cfg.rpo()[0] != header).then_some(*only)
    }
}

/// By number in the reverse post-order: what is known of each block.
struct Headers {
    is_header: Vec<bool>,
    irreducible: Vec<bool>,
    /// The header of the innermost loop that the block is in without being its header.
    around: Vec<u32>,
}

impl Headers {
    fn find(cfg: &Cfg) -> Headers {
        let count = cfg.rpo().len();
        let mut found =
            Headers { is_header: vec![false; count], irreducible: vec![false; count], around: vec![NONE; count] };
        // Control that comes to a block again has taken an edge that leads back in the order.
        if !(0..count as u32).any(|number| predecessors(cfg, number).any(|from| from >= number)) {
            return found;
        }
        let tree = Tree::new(cfg);
        let mut collapsed = Collapsed { header: (0..count as u32).collect() };
        // By block: sources of edges into the other entries of the loop that it heads.
        let mut side_entries: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut member = vec![NONE; count];
        // Descendants come before their ancestors, so inner loops are found first. A loop that was found counts as
        // its header from then on, which keeps the walk linear.
        for header in tree.preorder.iter().rev().copied() {
            let mut body: Vec<u32> = Vec::new();
            for latch in predecessors(cfg, header).filter(|from| tree.is_ancestor(header, *from)) {
                found.is_header[header as usize] = true;
                let latch = collapsed.find(latch);
                // `member` names the header whose body the block entered last, so nothing enters a body twice.
                if latch != header && std::mem::replace(&mut member[latch as usize], header) != header {
                    body.push(latch);
                }
            }
            // Backward from the latches: whatever descendant of the header leads to the body belongs to it.
            let mut next = 0;
            while let Some(block) = body.get(next).copied() {
                next += 1;
                let aside = std::mem::take(&mut side_entries[block as usize]);
                let entering = predecessors(cfg, block).filter(|from| !tree.is_ancestor(block, *from));
                for from in entering.chain(aside) {
                    // An edge from outside of the header's subtree enters the body past the header. A loop further
                    // out may contain both ends, so the header hands the edge on.
                    if !tree.is_ancestor(header, from) {
                        found.irreducible[header as usize] = true;
                        side_entries[header as usize].push(from);
                        continue;
                    }
                    let from = collapsed.find(from);
                    if from != header && std::mem::replace(&mut member[from as usize], header) != header {
                        body.push(from);
                    }
                }
            }
            for block in body {
                found.around[block as usize] = header;
                collapsed.header[block as usize] = header;
            }
        }
        found
    }
}

fn predecessors(cfg: &Cfg, number: u32) -> impl Iterator<Item = u32> {
    let blocks = cfg.predecessors(cfg.rpo()[number as usize]).iter();
    blocks.filter_map(|block| cfg.rpo_number(*block).map(|number| number as u32))
}

/// Which block stands for a block: the header of the outermost loop around it that was found so far.
struct Collapsed {
    header: Vec<u32>,
}

impl Collapsed {
    fn find(&mut self, block: u32) -> u32 {
        let mut top = block;
        while self.header[top as usize] != top {
            top = self.header[top as usize];
        }
        let mut below = block;
        while below != top {
            below = std::mem::replace(&mut self.header[below as usize], top);
        }
        top
    }
}

/// The depth-first tree that numbers the graph, over numbers in the reverse post-order.
struct Tree {
    preorder: Vec<u32>,
    /// By number: the place in the preorder, and the place behind the last descendant.
    interval: Vec<(u32, u32)>,
}

impl Tree {
    /// The same walk as the graph's own: from the entry, edges in order.
    fn new(cfg: &Cfg) -> Tree {
        let count = cfg.rpo().len();
        let mut tree = Tree { preorder: Vec::with_capacity(count), interval: vec![(NONE, NONE); count] };
        let mut stack: Vec<(u32, usize)> = Vec::new();
        if !cfg.rpo().is_empty() {
            tree.enter(0);
            stack.push((0, 0));
        }
        while let Some((number, edge)) = stack.last_mut() {
            match cfg.successors(cfg.rpo()[*number as usize]).get(*edge).map(|to| cfg.rpo_number(*to)) {
                Some(to) => {
                    *edge += 1;
                    let to = to.expect("a successor of a reachable block is reachable") as u32;
                    if tree.interval[to as usize].0 == NONE {
                        tree.enter(to);
                        stack.push((to, 0));
                    }
                }
                None => {
                    tree.interval[*number as usize].1 = tree.preorder.len() as u32;
                    stack.pop();
                }
            }
        }
        tree
    }

    fn enter(&mut self, number: u32) {
        self.interval[number as usize].0 = self.preorder.len() as u32;
        self.preorder.push(number);
    }

    fn is_ancestor(&self, above: u32, below: u32) -> bool {
        let (outer, inner) = (self.interval[above as usize], self.interval[below as usize]);
        outer.0 <= inner.0 && inner.1 <= outer.1
    }
}

#[cfg(test)]
mod tests {
    use super::super::dominators::Dominators;
    use super::super::testing::{chain, ladder, random_function};
    use super::*;
    use oriole_ir::parse_function;
    use proptest::prelude::*;

    fn of(body: &str) -> (Cfg, LoopNest) {
        let cfg = Cfg::new(&parse_function(&format!("device @f {{\n{body}}}\n")).expect("the text is a function"));
        let nest = LoopNest::compute(&cfg);
        (cfg, nest)
    }

    fn bb(number: u32) -> Block {
        Block::from_u32(number)
    }

    /// bb1 heads a loop of bb1 to bb4 that is left at bb4; bb2 and bb3 are a loop inside.
    const NEST: &str = "bb0:\n  bra bb1\nbb1:\n  bra bb2\nbb2:\n  bra bb3\nbb3:\n  cbra %p0, bb2, bb4\nbb4:\n  \
                        cbra %p0, bb1, bb5\nbb5:\n  ret\n";

    #[test]
    fn a_nest_is_as_drawn() {
        let (cfg, nest) = of(NEST);
        let [outer, inner] = nest.loops().collect::<Vec<_>>()[..] else { panic!("two loops") };
        assert_eq!((nest.header(outer), nest.header(inner)), (bb(1), bb(2)));
        assert_eq!((nest.parent(outer), nest.parent(inner)), (None, Some(outer)));
        assert_eq!([0, 1, 2, 3, 4, 5].map(|at| nest.depth(&cfg, bb(at))), [0, 1, 2, 2, 1, 0]);
        assert_eq!(nest.blocks(outer), [bb(1), bb(4), bb(2), bb(3)]);
        assert_eq!(nest.blocks(inner), [bb(2), bb(3)]);
        assert_eq!(nest.latches(&cfg, outer).collect::<Vec<_>>(), [bb(4)]);
        assert_eq!(nest.exits(&cfg, inner).collect::<Vec<_>>(), [(bb(3), bb(4))]);
        assert_eq!(nest.exits(&cfg, outer).collect::<Vec<_>>(), [(bb(4), bb(5))]);
        assert_eq!((nest.preheader(&cfg, outer), nest.preheader(&cfg, inner)), (Some(bb(0)), Some(bb(1))));
        assert!(nest.is_natural(outer) && nest.contains(&cfg, outer, bb(3)) && !nest.contains(&cfg, inner, bb(4)));
    }

    /// bb1 and bb2 lead to each other and are both entered from bb0, inside a natural loop of bb0 to bb3.
    #[test]
    fn a_loop_with_two_entries_is_irreducible() {
        let (cfg, nest) =
            of("bb9:\n  bra bb0\nbb0:\n  cbra %p0, bb1, bb2\nbb1:\n  bra bb2\nbb2:\n  cbra %p0, bb1, bb3\n\
                              bb3:\n  cbra %p0, bb0, bb4\nbb4:\n  ret\n");
        let [outer, inner] = nest.loops().collect::<Vec<_>>()[..] else { panic!("two loops") };
        assert_eq!((nest.header(outer), nest.header(inner)), (bb(0), bb(1)));
        assert!(nest.is_natural(outer) && !nest.is_natural(inner));
        assert_eq!(nest.entries(&cfg, inner).collect::<Vec<_>>(), [bb(1), bb(2)]);
        assert_eq!(nest.entries(&cfg, outer).collect::<Vec<_>>(), [bb(0)]);
        assert_eq!((nest.preheader(&cfg, outer), nest.preheader(&cfg, inner)), (Some(bb(9)), None));
    }

    #[test]
    fn a_block_that_leads_to_itself_is_a_loop() {
        let (cfg, nest) = of("bb0:\n  cbra %p0, bb0, bb1\nbb1:\n  ret\nbb2:\n  bra bb2\n");
        let all: Vec<_> = nest.loops().map(|of| (nest.header(of), nest.blocks(of).to_vec())).collect();
        assert_eq!(all, [(bb(0), vec![bb(0)])]);
        // The function begins in the header, so nothing runs before the loop.
        assert_eq!(nest.preheader(&cfg, Loop(0)), None);
    }

    proptest! {
        /// A loop is natural where its header dominates it; every edge to a dominator closes a loop of that header.
        #[test]
        fn natural_loops_are_those_that_dominance_gives(words in prop::collection::vec(any::<u32>(), 4..120)) {
            let cfg = Cfg::new(&random_function(&words));
            let (nest, dominators) = (LoopNest::compute(&cfg), Dominators::new(&cfg));
            for of in nest.loops() {
                let header = nest.header(of);
                let dominated = nest.blocks(of).iter().all(|block| dominators.dominates(&cfg, header, *block));
                prop_assert_eq!(nest.is_natural(of), dominated);
                prop_assert_eq!(nest.is_natural(of), nest.entries(&cfg, of).all(|entry| entry == header));
            }
            for from in cfg.rpo() {
                for to in cfg.successors(*from).iter().filter(|to| dominators.dominates(&cfg, **to, *from)) {
                    prop_assert!(nest.loops().any(|of| nest.header(of) == *to && nest.contains(&cfg, of, *from)));
                }
            }
        }
    }

    #[test]
    fn long_graphs_and_deep_nests_are_quick() {
        for func in [chain(100_000), ladder(100_000)] {
            assert_eq!(LoopNest::compute(&Cfg::new(&func)).loops().count(), 0);
        }
        // Block n leads to n + 1; the second half leads back to the first: loops as deep as half of the blocks.
        let mut func = chain(100_000);
        let pred = func.new_reg(oriole_ir::RegInfo::PRED);
        let blocks = func.layout().to_vec();
        for (number, block) in blocks.iter().enumerate().take(99_999).skip(50_000) {
            let branch = func.inst_at(*block, 0);
            let back = oriole_ir::InstBuilder::new(oriole_ir::ops::Opcode::CBra).src(pred);
            back.src(blocks[99_999 - number]).src(blocks[number + 1]).replace(&mut func, branch);
        }
        let nest = LoopNest::compute(&Cfg::new(&func));
        assert_eq!(nest.loops().map(|of| nest.loop_depth(of)).max(), Some(49_999));
    }
}
