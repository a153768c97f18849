//! The control-flow graph, by places in the layout.

use oriole_ir::ops::Flags;
use oriole_ir::{Block, Function, Operand};

/// Blocks by their place in the layout; the entry is 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// The blocks in layout order.
    pub blocks: Vec<Block>,
    /// By place: where control can go, each once, in operand order.
    pub successors: Vec<Vec<usize>>,
    /// By place: where control can come from, each once, in layout order.
    pub predecessors: Vec<Vec<usize>>,
}

impl Graph {
    /// The graph of a function's blocks; edges to blocks outside the layout are left out.
    pub fn of(func: &Function) -> Graph {
        let blocks = func.layout().to_vec();
        let place = |block: Block| blocks.iter().position(|other| *other == block);
        let mut successors = vec![Vec::new(); blocks.len()];
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (from, block) in blocks.iter().enumerate() {
            for to in targets(func, *block).into_iter().filter_map(place) {
                if !successors[from].contains(&to) {
                    successors[from].push(to);
                    predecessors[to].push(from);
                }
            }
        }
        Graph { blocks, successors, predecessors }
    }

    /// By place: whether some path leads there from `start`, where no path may enter `without`.
    pub fn reachable(&self, start: usize, without: Option<usize>) -> Vec<bool> {
        let mut reached = vec![false; self.blocks.len()];
        let mut work = vec![start];
        while let Some(at) = work.pop() {
            if at < reached.len() && Some(at) != without && !std::mem::replace(&mut reached[at], true) {
                work.extend(&self.successors[at]);
            }
        }
        reached
    }
}

fn targets(func: &Function, block: Block) -> Vec<Block> {
    let last = func.last_inst(block).filter(|inst| func.inst(*inst).is(Flags::TERMINATOR));
    let operands = last.map_or(&[][..], |inst| func.srcs(inst));
    operands.iter().filter_map(|operand| if let Operand::Block(to) = operand { Some(*to) } else { None }).collect()
}
