//! The effect of a divergent branch on values.
//!
//! Threads that part at `b` meet again at its immediate post-dominator `p` at the latest. Between the two:
//!
//! - `X` is a *join* of `b` where two ways from `b` to `X` have nothing but their ends in common. `X` may be `b` itself
//!   or `p`. A way passes neither `b` again nor `p`.
//! - Threads are *apart* in the blocks that can be reached, without passing `p`, from a join other than `p`.
//! - The *cycle* of `b` are the blocks on ways from `b` back to `b` that do not pass `p`: threads go round it in
//!   different numbers.
//!
//! Most branches are decided on the dominator tree. A block that does not dominate `b` stands for all that it
//! dominates, since threads from `b` get there through it alone; so its ways on are its dominance frontier. Blocks are
//! taken in reverse post-order, each labelled with the first block that its ways have in common; where two labels meet,
//! a join is. Where ways join before `p`, come back under several labels, or meet an irreducible loop, the blocks
//! between `b` and `p` are looked at one by one instead.

use std::collections::BTreeSet;

use super::super::cfg::Cfg;
use super::super::dominator_tree::{DominatorTree, FlowGraph};
use super::super::dominators::{Dominators, Frontiers};
use super::super::loops::{Loop, LoopNest};
use super::super::post_dominators::PostDominators;
use oriole_ir::Block;

const NONE: u32 = u32::MAX;

/// What follows from threads parting at one branch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Influence {
    pub(super) joins: Vec<Block>,
    pub(super) apart: Vec<Block>,
    pub(super) cycle: Cycle,
}

/// The blocks on ways back to a branch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Cycle {
    /// None.
    #[default]
    None,
    /// Those of a loop.
    Loop(Loop),
    /// Others.
    Blocks(Vec<Block>),
}

/// What is known of a function, and memory for the walks, which is clear between them.
pub(super) struct Influences<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    frontiers: Frontiers,
    post_dominators: &'a PostDominators,
    nest: &'a LoopNest,
    /// By loop: whether it and all loops around it are natural.
    natural: Vec<bool>,
    /// By loop: the closest block that dominates all its latches and those of the loops around it.
    gates: Vec<Block>,
    /// By number in the reverse post-order: the label in the walk, or the vertex in the region.
    mark: Vec<u32>,
}

impl<'a> Influences<'a> {
    pub(super) fn new(
        cfg: &'a Cfg,
        dominators: &'a Dominators,
        post_dominators: &'a PostDominators,
        nest: &'a LoopNest,
    ) -> Influences<'a> {
        let mut natural: Vec<bool> = Vec::new();
        for of in nest.loops() {
            // The loop around has a smaller number.
            let around = nest.parent(of).is_none_or(|parent| natural[parent.as_u32() as usize]);
            natural.push(around && nest.is_natural(of));
        }
        let mut gates: Vec<Block> = Vec::new();
        for of in nest.loops() {
            let around = nest.parent(of).map(|parent| gates[parent.as_u32() as usize]);
            gates.push(common_dominator(cfg, dominators, nest.latches(cfg, of).chain(around)));
        }
        let (frontiers, mark) = (dominators.frontiers(cfg), vec![NONE; cfg.rpo().len()]);
        Influences { cfg, dominators, frontiers, post_dominators, nest, natural, gates, mark }
    }

    /// The influence of a reachable branch.
    pub(super) fn of(&mut self, branch: Block) -> Influence {
        let end = self.post_dominators.immediate_post_dominator(self.cfg, branch);
        self.by_dominators(branch, end).unwrap_or_else(|| self.by_blocks(branch, end))
    }

    fn number(&self, block: Block) -> u32 {
        self.cfg.rpo_number(block).map_or(NONE, |number| number as u32)
    }

    /// The walk over the dominator tree; `None` where it cannot tell.
    fn by_dominators(&mut self, branch: Block, end: Option<Block>) -> Option<Influence> {
        let natural = self.nest.innermost(self.cfg, branch).is_none_or(|of| self.natural[of.as_u32() as usize]);
        if !natural {
            return None;
        }
        let mut walk = Walk { ahead: BTreeSet::new(), seen: Vec::new(), joins: Vec::new() };
        for to in self.cfg.successors(branch) {
            let number = self.number(*to);
            self.arrive(&mut walk, number, number);
        }
        let found = self.follow(&mut walk, branch, end).and_then(|returns| self.conclude(&walk, branch, end, &returns));
        walk.seen.iter().for_each(|number| self.mark[*number as usize] = NONE);
        found
    }

    /// Takes the blocks ahead of the branch in order. Returns the blocks that dominate it and that ways come back to.
    fn follow(&mut self, walk: &mut Walk, branch: Block, end: Option<Block>) -> Option<Vec<u32>> {
        let mut returns = Vec::new();
        while let Some(number) = walk.ahead.pop_first() {
            let block = self.cfg.rpo()[number as usize];
            if Some(block) == end {
                continue;
            }
            if self.dominators.dominates(self.cfg, block, branch) {
                returns.push(number);
                continue;
            }
            let label = self.mark[number as usize];
            for index in 0..self.frontiers.of(self.cfg, block).len() {
                let next = self.number(self.frontiers.of(self.cfg, block)[index]);
                let (known, before) = (self.mark[next as usize], walk.joins.len());
                self.arrive(walk, next, label);
                // A label that changes behind the walk is that of an irreducible loop among the blocks ahead.
                let passed = known != NONE && !walk.ahead.contains(&next) && !returns.contains(&next);
                if passed && before != walk.joins.len() && Some(self.cfg.rpo()[next as usize]) != end {
                    return None;
                }
            }
        }
        Some(returns)
    }

    fn arrive(&mut self, walk: &mut Walk, number: u32, label: u32) {
        let known = &mut self.mark[number as usize];
        if *known == NONE {
            *known = label;
            walk.seen.push(number);
            walk.ahead.insert(number);
        } else if *known != label && !walk.joins.contains(&number) {
            *known = number;
            walk.joins.push(number);
        }
    }

    /// What the walk says; `None` where threads join before the end, or could join behind the blocks that they come
    /// back to.
    fn conclude(&self, walk: &Walk, branch: Block, end: Option<Block>, returns: &[u32]) -> Option<Influence> {
        let block = |number: &u32| self.cfg.rpo()[*number as usize];
        if walk.joins.iter().any(|join| Some(block(join)) != end) {
            return None;
        }
        let joins = if walk.joins.is_empty() && !self.joins_later(branch, end, returns)? { None } else { end };
        let joins = joins.into_iter().collect();
        let Some(first) = returns.first() else {
            return Some(Influence { joins, ..Influence::default() });
        };
        // All that come back have one label. They can meet others only in blocks with another label that can be reached
        // past the branch: none where the branch dominates those.
        let label = self.mark[*first as usize];
        let meets = |number: &&u32| {
            let other = self.mark[**number as usize] != label && Some(block(number)) != end;
            other && (block(number) == branch || !self.dominators.dominates(self.cfg, branch, block(number)))
        };
        if walk.seen.iter().any(|number| meets(&number)) {
            return None;
        }
        // From a block above the end, threads pass the end before they are back at the branch.
        let above = |number: &u32| {
            let dominates = |a, b| self.dominators.dominates(self.cfg, a, b);
            end.is_some_and(|end| dominates(end, branch) && !dominates(end, block(number)))
        };
        let mut back = returns.iter().filter(|number| !above(number)).peekable();
        if back.peek().is_none() {
            return Some(Influence { joins, ..Influence::default() });
        }
        let of = self.loop_without(branch, end).filter(|of| self.stays(*of, branch, end))?;
        let inside = back.all(|number| self.nest.contains(self.cfg, of, block(number)));
        inside.then_some(Influence { joins, cycle: Cycle::Loop(of), ..Influence::default() })
    }

    /// Whether ways back to a branch stay in a loop around it. Others come to the header of a loop around that one,
    /// through one of its latches. Where the end dominates these, but not the branch, ways from the branch to them
    /// pass the end. Where the end dominates the branch, ways from the header back do.
    fn stays(&self, of: Loop, branch: Block, end: Option<Block>) -> bool {
        let (Some(around), Some(end)) = (self.nest.parent(of), end) else { return true };
        let dominates = |a, b| self.dominators.dominates(self.cfg, a, b);
        end == self.nest.header(around)
            || dominates(end, branch)
            || dominates(end, self.gates[around.as_u32() as usize])
    }

    /// Whether ways that come back meet others at the end without passing the branch again, where the walk saw one
    /// label there; `None` where the dominator tree cannot tell.
    fn joins_later(&self, branch: Block, end: Option<Block>, returns: &[u32]) -> Option<bool> {
        let Some(end) = end else { return Some(false) };
        let dominates = |a, b| self.dominators.dominates(self.cfg, a, b);
        let label = self.cfg.rpo_number(end).map(|number| self.mark[number]);
        for number in returns.iter().filter(|number| Some(self.mark[**number as usize]) != label) {
            let block = self.cfg.rpo()[*number as usize];
            match block != branch && !dominates(branch, end) {
                // A way from the entry to the end that misses the branch leads through this block.
                true if dominates(block, end) => return Some(true),
                true => return None,
                false => {}
            }
        }
        Some(false)
    }

    /// The largest loop that contains a block and not the other.
    fn loop_without(&self, block: Block, other: Option<Block>) -> Option<Loop> {
        let without = |of: &Loop| other.is_none_or(|other| !self.nest.contains(self.cfg, *of, other));
        let mut found = None;
        let mut next = self.nest.innermost(self.cfg, block).filter(without);
        while let Some(of) = next {
            found = Some(of);
            next = self.nest.parent(of).filter(without);
        }
        found
    }

    /// The definitions, on the blocks between the branch and its post-dominator.
    fn by_blocks(&mut self, branch: Block, end: Option<Block>) -> Influence {
        let region = Region::new(self.cfg, branch, end, &mut self.mark);
        let tree = DominatorTree::compute(&region);
        let joins: Vec<u32> = (1..region.count() as u32).filter(|vertex| region.joins(&tree, *vertex)).collect();
        let again = region.blocks.iter().skip(1).position(|block| *block == branch).map(|at| at as u32 + 1);
        let passes_end = |vertex: &u32| Some(region.blocks[*vertex as usize]) == end;
        // Threads that are back at the branch continue from there.
        let onward =
            |vertex: u32| region.successors[if Some(vertex) == again { 0 } else { vertex as usize }].as_slice();
        let early = joins.iter().copied().filter(|join| !passes_end(join));
        let apart =
            reached(region.count(), early, |vertex| onward(vertex).iter().copied().filter(|to| !passes_end(to)));
        let backward = |vertex: u32| region.predecessors[vertex as usize].iter().copied();
        let cycle: BTreeSet<Block> = region.named(reached(region.count(), again, backward)).collect();
        let joins = region.named(joins).collect();
        Influence { joins, apart: region.named(apart).collect(), cycle: self.cycle(branch, end, cycle) }
    }

    fn cycle(&self, branch: Block, end: Option<Block>, blocks: BTreeSet<Block>) -> Cycle {
        if blocks.is_empty() {
            return Cycle::None;
        }
        let same = |of: &Loop| {
            let inside = self.nest.blocks(*of);
            inside.len() == blocks.len() && inside.iter().all(|block| blocks.contains(block))
        };
        let of = self.loop_without(branch, end).filter(same);
        of.map_or_else(|| Cycle::Blocks(blocks.into_iter().collect()), Cycle::Loop)
    }
}

/// The closest block that dominates all of some reachable ones, of which there is one at least.
fn common_dominator(cfg: &Cfg, dominators: &Dominators, mut blocks: impl Iterator<Item = Block>) -> Block {
    let mut common = blocks.next().expect("a loop has a latch");
    for block in blocks {
        while !dominators.dominates(cfg, common, block) {
            common = dominators.immediate_dominator(cfg, common).expect("the entry dominates every block");
        }
    }
    common
}

/// A walk in progress: the blocks that have a label and were not taken yet, all that have one, and joins.
struct Walk {
    ahead: BTreeSet<u32>,
    seen: Vec<u32>,
    joins: Vec<u32>,
}

/// The blocks that threads can come to from a branch up to its post-dominator, with edges as lists. Vertex 0 is the
/// branch; coming back to it is another vertex, from which no way leads on, and none leads on from the post-dominator.
struct Region {
    blocks: Vec<Block>,
    successors: Vec<Vec<u32>>,
    predecessors: Vec<Vec<u32>>,
}

impl Region {
    fn new(cfg: &Cfg, branch: Block, end: Option<Block>, mark: &mut [u32]) -> Region {
        let mut region = Region { blocks: vec![branch], successors: vec![Vec::new()], predecessors: vec![Vec::new()] };
        let mut at = 0;
        while at < region.blocks.len() {
            let block = region.blocks[at];
            let goes_on = at == 0 || block != branch && Some(block) != end;
            for to in cfg.successors(block).iter().filter(|_| goes_on) {
                let number = cfg.rpo_number(*to).expect("a successor of a reachable block is reachable");
                if mark[number] == NONE {
                    mark[number] = region.blocks.len() as u32;
                    region.blocks.push(*to);
                    region.successors.push(Vec::new());
                    region.predecessors.push(Vec::new());
                }
                region.successors[at].push(mark[number]);
                region.predecessors[mark[number] as usize].push(at as u32);
            }
            at += 1;
        }
        for number in region.blocks.iter().filter_map(|block| cfg.rpo_number(*block)) {
            mark[number] = NONE;
        }
        region
    }

    /// Whether two ways from the branch to a vertex have nothing but their ends in common: nothing but the branch
    /// dominates it, and it has two edges from where it was not passed yet.
    fn joins(&self, tree: &DominatorTree, vertex: u32) -> bool {
        let fresh = |from: &&u32| !tree.dominates(vertex, **from);
        tree.parent(vertex) == Some(0) && self.predecessors[vertex as usize].iter().filter(fresh).count() > 1
    }

    fn named(&self, vertices: Vec<u32>) -> impl Iterator<Item = Block> {
        vertices.into_iter().map(|vertex| self.blocks[vertex as usize])
    }
}

impl FlowGraph for Region {
    fn count(&self) -> usize {
        self.blocks.len()
    }

    fn successors(&self, vertex: u32) -> impl Iterator<Item = u32> {
        self.successors[vertex as usize].iter().copied()
    }

    fn predecessors(&self, vertex: u32) -> impl Iterator<Item = u32> {
        self.predecessors[vertex as usize].iter().copied()
    }
}

/// The vertices that can be reached from some, these included.
fn reached<I: Iterator<Item = u32>>(
    count: usize,
    from: impl IntoIterator<Item = u32>,
    edges: impl Fn(u32) -> I,
) -> Vec<u32> {
    let (mut seen, mut found) = (vec![false; count], Vec::new());
    for vertex in from {
        if !std::mem::replace(&mut seen[vertex as usize], true) {
            found.push(vertex);
        }
    }
    let mut at = 0;
    while at < found.len() {
        for next in edges(found[at]) {
            if !std::mem::replace(&mut seen[next as usize], true) {
                found.push(next);
            }
        }
        at += 1;
    }
    found
}
