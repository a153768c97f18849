//! Where values of a variable merge: the blocks that need a phi for it (Sreedhar and Gao, "A Linear Time Algorithm for
//! Placing Phi-Nodes", 1995), for live variables alone.
//!
//! A block needs a phi where a definition's dominance ends: it follows a block that the definition dominates, and
//! is in the dominator tree no deeper than the definition. A phi is a definition too, so definitions are taken from
//! the deepest up; what a deeper one has seen holds nothing new for those above it. The walk from a definition down the
//! tree stops where the variable is dead, since what is read below comes from other definitions then, and above
//! subtrees that lead to no block as high as the definition.
//!
//! Cost: the blocks where a variable is live, at most; few of them where loops are few. Dominance frontiers would name
//! the same blocks, but those of nested loops grow with the square of their depth.

use std::collections::BinaryHeap;

use crate::analysis::{Cfg, Dominators, LiveWords};
use oriole_ir::{Block, Function, Reg};

const NONE: u32 = u32::MAX;

/// The variables that need a phi in each block, by its place in the layout, in order of their number.
pub(super) fn merged_variables(func: &Function, cfg: &Cfg, dominators: &Dominators) -> Vec<Vec<Reg>> {
    let mut liveness = LiveWords::new(func, cfg);
    let definitions = definitions_that_leave(func, &liveness);
    let mut definitions = definitions.chunk_by(|a, b| a.0 == b.0).peekable();
    let mut merged: Vec<Vec<Reg>> = vec![Vec::new(); cfg.blocks().len()];
    let mut walk = Walk::new(cfg, dominators);
    for group in 0..liveness.groups() {
        liveness.solve(group);
        for (bit, variable) in liveness.members(group).iter().enumerate() {
            // A variable that is never defined has no definitions in the list.
            let Some(places) = definitions.next_if(|places| places[0].0 == *variable) else { continue };
            let is_live = |block: usize| liveness.live_in(block) >> bit & 1 == 1;
            walk.joins(places.iter().map(|(_, block)| *block), is_live, |join| merged[join].push(*variable));
        }
    }
    merged
}

/// Every register that can be live at a block's border, with each block that defines it, sorted.
fn definitions_that_leave(func: &Function, liveness: &LiveWords<'_>) -> Vec<(Reg, Block)> {
    let mut definitions = Vec::new();
    for block in func.layout() {
        for inst in func.block_insts(*block) {
            let leaving = func.defs(inst).filter(|reg| liveness.crosses_blocks(*reg));
            definitions.extend(leaving.map(|reg| (reg, *block)));
        }
    }
    definitions.sort_unstable();
    definitions.dedup();
    definitions
}

/// A block in the dominator tree. Blocks are meant by their place in the layout.
#[derive(Clone, Copy)]
struct Node {
    child: u32,
    sibling: u32,
    /// How many blocks dominate it, other than itself; [`NONE`] where it is unreachable.
    level: u32,
    /// The least level of a block that follows one of its subtree.
    lowest: u32,
    /// The last variable whose walk has come here, and the last that has a phi here, by count.
    visited: u32,
    merged: u32,
}

struct Walk<'a> {
    cfg: &'a Cfg,
    tree: Vec<Node>,
    /// How many variables have been walked for.
    count: u32,
    /// Definitions that are not taken yet, with their level; the deepest comes first.
    roots: BinaryHeap<(u32, u32)>,
    stack: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(cfg: &'a Cfg, dominators: &Dominators) -> Walk<'a> {
        let empty = Node { child: NONE, sibling: NONE, level: NONE, lowest: NONE, visited: 0, merged: 0 };
        let mut walk = Walk {
            cfg,
            tree: vec![empty; cfg.blocks().len()],
            count: 0,
            roots: BinaryHeap::new(),
            stack: Vec::with_capacity(cfg.rpo().len()),
        };
        let parent = |block: Block| dominators.immediate_dominator(cfg, block).map(|above| place_of(cfg, above));
        for block in dominators.preorder(cfg) {
            let place = place_of(cfg, block);
            walk.stack.push(place as u32);
            walk.tree[place].level = 0;
            if let Some(above) = parent(block) {
                walk.tree[place].level = walk.tree[above].level + 1;
                walk.tree[place].sibling = std::mem::replace(&mut walk.tree[above].child, place as u32);
            }
        }
        // Children before their parents.
        while let Some(place) = walk.stack.pop() {
            let block = cfg.blocks()[place as usize];
            let next = cfg.successors(block).iter().map(|next| walk.tree[place_of(cfg, *next)].level).min();
            let lowest = walk.tree[place as usize].lowest.min(next.unwrap_or(NONE));
            walk.tree[place as usize].lowest = lowest;
            if let Some(above) = parent(block) {
                walk.tree[above].lowest = walk.tree[above].lowest.min(lowest);
            }
        }
        walk
    }

    /// Calls `merge` with each block that needs a phi for a variable, which is defined in these blocks.
    fn joins(
        &mut self,
        definitions: impl Iterator<Item = Block>,
        is_live: impl Fn(usize) -> bool,
        mut merge: impl FnMut(usize),
    ) {
        self.count += 1;
        for block in definitions {
            let place = place_of(self.cfg, block);
            self.roots.push((self.tree[place].level, place as u32));
        }
        while let Some((level, root)) = self.roots.pop() {
            // A block that defines a variable may have a phi for it too. Walks from above have not come here yet.
            if std::mem::replace(&mut self.tree[root as usize].visited, self.count) != self.count {
                self.stack.push(root);
            }
            while let Some(place) = self.stack.pop() {
                for next in self.cfg.successors(self.cfg.blocks()[place as usize]) {
                    let join = place_of(self.cfg, *next);
                    let node = &mut self.tree[join];
                    if node.level <= level && node.merged != self.count && is_live(join) {
                        node.merged = self.count;
                        self.roots.push((node.level, join as u32));
                        merge(join);
                    }
                }
                self.descend(place, level, &is_live);
            }
        }
    }

    /// Queues the children of a block from which the walk continues.
    fn descend(&mut self, place: u32, level: u32, is_live: impl Fn(usize) -> bool) {
        let mut child = self.tree[place as usize].child;
        while child != NONE {
            let node = &mut self.tree[child as usize];
            if node.lowest <= level && node.visited != self.count && is_live(child as usize) {
                node.visited = self.count;
                self.stack.push(child);
            }
            child = node.sibling;
        }
    }
}

fn place_of(cfg: &Cfg, block: Block) -> usize {
    cfg.position(block).expect("reachable blocks stand in the layout")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::random_function;
    use crate::analysis::{Liveness, testing::chain};
    use oriole_ir::parse_function;
    use proptest::prelude::*;

    /// The definition: the iterated dominance frontier of a variable's definitions, where it is live.
    fn by_frontiers(func: &Function, cfg: &Cfg, dominators: &Dominators) -> Vec<Vec<Reg>> {
        let (frontiers, liveness) = (dominators.frontiers(cfg), Liveness::solve(func, cfg));
        let mut merged = vec![Vec::new(); cfg.blocks().len()];
        for variable in func.regs().keys() {
            let defines =
                |block: &&Block| func.block_insts(**block).any(|inst| func.defs(inst).any(|reg| reg == variable));
            let mut work: Vec<Block> = func.layout().iter().filter(defines).copied().collect();
            while let Some(block) = work.pop() {
                for join in frontiers.of(cfg, block) {
                    let list = &mut merged[place_of(cfg, *join)];
                    if liveness.live_in(*join).contains(variable) && list.last() != Some(&variable) {
                        list.push(variable);
                        work.push(*join);
                    }
                }
            }
        }
        merged
    }

    fn reachable(mut func: Function) -> Function {
        let cfg = Cfg::new(&func);
        func.retain_blocks(|block| cfg.is_reachable(*block));
        func
    }

    proptest! {
        #[test]
        fn merges_are_iterated_frontiers(words in prop::collection::vec(any::<u32>(), 4..200)) {
            let func = reachable(random_function(&words));
            let cfg = Cfg::new(&func);
            let dominators = Dominators::new(&cfg);
            prop_assert_eq!(merged_variables(&func, &cfg, &dominators), by_frontiers(&func, &cfg, &dominators));
        }
    }

    /// Loops inside of loops: each block's frontier has all headers around it.
    #[test]
    fn deep_loops_need_no_square() {
        const DEPTH: usize = 20_000;
        let mut text = String::from("device @f {\nbb0:\n  %r1 = mov.b32 1\n  bra bb1\n");
        for n in 1..=DEPTH {
            text += &format!("bb{n}:\n  %r1 = iadd.u32 %r1, {n}\n  bra bb{}\n", n + 1);
        }
        for n in 0..DEPTH {
            let (at, header) = (DEPTH + 1 + n, DEPTH - n);
            text += &format!("bb{at}:\n  %p2 = setp.lt.u32 %r1, {n}\n  cbra %p2, bb{header}, bb{}\n", at + 1);
        }
        text += &format!("bb{}:\n  ret\n}}\n", 2 * DEPTH + 1);
        let func = parse_function(&text).expect("the text is a function");
        let cfg = Cfg::new(&func);
        let merged = merged_variables(&func, &cfg, &Dominators::new(&cfg));
        assert_eq!(merged.iter().filter(|variables| !variables.is_empty()).count(), DEPTH);
    }

    #[test]
    fn a_chain_merges_nothing() {
        let func = chain(1000);
        let cfg = Cfg::new(&func);
        assert!(merged_variables(&func, &cfg, &Dominators::new(&cfg)).iter().all(Vec::is_empty));
    }
}
