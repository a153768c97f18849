//! What decides whether control comes to a block: post-dominators, and the branches that a block depends on.
//!
//! Computed here and not by the optimizer, whose faults are reduced: Cooper, Harvey and Kennedy's iteration on the
//! graph with its edges turned round, from a virtual exit that follows every block without successors. Cost: linear in
//! practice. `oriole_reference` defines the same, slowly.

use cranelift_entity::SecondaryMap;
use oriole_ir::{Block, Function};

/// Where control is sure to come after a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// To this block, whichever way is taken.
    Block(Block),
    /// To no other block on all ways, but to the end of the function.
    End,
    /// The end of the function may never come.
    Unknown,
}

/// The control dependences of a function.
pub struct Control {
    /// By block: the closest one that post-dominates it.
    next: SecondaryMap<Block, Option<Next>>,
    /// By block: the blocks whose last branch decides whether control comes to it.
    deciders: SecondaryMap<Block, Vec<Block>>,
}

impl Control {
    /// Of a function with a body.
    pub fn of(func: &Function) -> Control {
        let graph = Graph::of(func);
        let above = graph.post_dominators();
        let (blocks, exit) = (func.layout(), func.layout().len());
        let mut control = Control { next: SecondaryMap::new(), deciders: SecondaryMap::new() };
        for (at, block) in blocks.iter().enumerate() {
            control.next[*block] = match above[at] {
                Some(next) if next == exit => Some(Next::End),
                Some(next) => Some(Next::Block(blocks[next])),
                None => Some(Next::Unknown),
            };
            for start in &graph.successors[at] {
                let mut passed = *start;
                while Some(passed) != above[at] && passed != exit {
                    let deciders = &mut control.deciders[blocks[passed]];
                    if deciders.last() != Some(block) {
                        deciders.push(*block);
                    }
                    let Some(next) = above[passed] else { break };
                    passed = next;
                }
            }
        }
        control
    }

    /// Where control is sure to come after a block.
    pub fn next(&self, block: Block) -> Next {
        self.next[block].unwrap_or(Next::Unknown)
    }

    /// The blocks whose last branch decides whether control comes to this one.
    pub fn deciders(&self, block: Block) -> &[Block] {
        &self.deciders[block]
    }
}

/// The graph by places in the layout; behind them the virtual exit.
struct Graph {
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

impl Graph {
    fn of(func: &Function) -> Graph {
        let exit = func.layout().len();
        let mut places: SecondaryMap<Block, usize> = SecondaryMap::with_default(exit);
        func.layout().iter().enumerate().for_each(|(at, block)| places[*block] = at);
        let mut graph = Graph { successors: Vec::new(), predecessors: vec![Vec::new(); exit + 1] };
        for (at, block) in func.layout().iter().enumerate() {
            let mut next: Vec<usize> = func.successors(*block).map(|to| places[to]).collect();
            if next.is_empty() {
                next.push(exit);
            }
            next.iter().for_each(|to| graph.predecessors[*to].push(at));
            graph.successors.push(next);
        }
        graph.successors.push(Vec::new());
        graph
    }

    /// The places from which the exit is reached, each before those that lead to it along the search.
    fn reverse_postorder(&self) -> Vec<usize> {
        let exit = self.successors.len() - 1;
        let (mut order, mut seen) = (Vec::new(), vec![false; exit + 1]);
        let mut stack = vec![(exit, 0)];
        seen[exit] = true;
        while let Some((at, way)) = stack.pop() {
            match self.predecessors[at].get(way) {
                Some(from) => {
                    stack.push((at, way + 1));
                    if !std::mem::replace(&mut seen[*from], true) {
                        stack.push((*from, 0));
                    }
                }
                None => order.push(at),
            }
        }
        order.reverse();
        order
    }

    /// By place: the closest post-dominator; `None` where the exit is out of reach.
    fn post_dominators(&self) -> Vec<Option<usize>> {
        let order = self.reverse_postorder();
        let mut rank = vec![usize::MAX; self.successors.len()];
        order.iter().enumerate().for_each(|(at, place)| rank[*place] = at);
        let mut above: Vec<Option<usize>> = vec![None; self.successors.len()];
        above[order[0]] = Some(order[0]);
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for place in order.iter().skip(1) {
                let known = self.successors[*place].iter().copied().filter(|next| above[*next].is_some());
                let new = known.reduce(|a, b| common(&above, &rank, a, b));
                if new != above[*place] {
                    above[*place] = new;
                    changed = true;
                }
            }
        }
        above
    }
}

/// The closest place that post-dominates both.
fn common(above: &[Option<usize>], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        let lower = if rank[a] > rank[b] { &mut a } else { &mut b };
        let Some(next) = above[*lower] else { return a.min(b) };
        *lower = next;
    }
    a
}

#[cfg(test)]
mod tests {
    use oriole_generate::{Config, reachable};
    use oriole_reference::{Graph as DefinedGraph, PostDominance};

    use super::*;
    use crate::kernels::case;

    /// Against the definitions, on kernels with loops, switches and early exits.
    #[test]
    fn dependences_are_what_the_definitions_say() {
        let mut seen = [0u32; 3];
        for number in 0..60 {
            let module = case(17, number, &Config::default()).module;
            for func in module.functions.values().filter(|func| func.is_definition()) {
                let (control, graph) = (Control::of(func), DefinedGraph::of(func));
                let defined = PostDominance::of(&graph);
                let reached = reachable(func);
                for (at, block) in func.layout().iter().enumerate().filter(|(_, block)| reached.contains(block)) {
                    let next = control.next(*block);
                    let expected = defined.immediate(at).map_or(Next::End, |next| Next::Block(func.layout()[next]));
                    assert_eq!(next, expected, "{block} of\n{module}");
                    let decides =
                        |branch: &usize| graph.successors[*branch].len() > 1 && defined.depends(&graph, at, *branch);
                    let deciders: Vec<Block> = (0..func.layout().len())
                        .filter(|branch| reached.contains(&func.layout()[*branch]))
                        .filter(decides)
                        .map(|branch| func.layout()[branch])
                        .collect();
                    let ours: Vec<Block> =
                        control.deciders(*block).iter().copied().filter(|from| reached.contains(from)).collect();
                    assert_eq!(ours, deciders, "{block} of\n{module}");
                    seen[0] += 1;
                    seen[1] += u32::from(!deciders.is_empty());
                    seen[2] += u32::from(next == Next::End);
                }
            }
        }
        assert!(seen[0] > 500 && seen[1] > 300 && seen[2] > 50, "{seen:?}");
    }
}
