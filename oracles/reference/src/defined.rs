//! Which registers a definition can have reached: some way leads to the place from an instruction that defines them,
//! under a guard or not.

use cranelift_entity::EntityRef;
use oriole_ir::{Function, Reg};

use super::graph::Graph;

/// The registers that may be defined at both ends of every block, by place in the layout, then by register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefinedRegisters {
    at_entry: Vec<Vec<bool>>,
    defined_here: Vec<Vec<bool>>,
}

impl DefinedRegisters {
    /// Follows every definition in a block that control can reach.
    pub fn of(func: &Function, graph: &Graph) -> DefinedRegisters {
        let table = || vec![vec![false; func.regs().len()]; graph.blocks.len()];
        let mut found = DefinedRegisters { at_entry: table(), defined_here: table() };
        for place in behind(graph, 0, true) {
            for inst in func.block_insts(graph.blocks[place]) {
                for reg in func.dsts(inst).iter().filter_map(|dst| dst.reg()) {
                    found.defined_here[place][reg.index()] = true;
                    behind(graph, place, false).iter().for_each(|to| found.at_entry[*to][reg.index()] = true);
                }
            }
        }
        found
    }

    /// Whether a register may be defined at a block's entry.
    pub fn at_entry(&self, place: usize, reg: Reg) -> bool {
        self.at_entry[place][reg.index()]
    }

    /// Whether a register may be defined at a block's end.
    pub fn at_end(&self, place: usize, reg: Reg) -> bool {
        self.at_entry[place][reg.index()] || self.defined_here[place][reg.index()]
    }
}

/// The blocks that control can come to from the end of one; with it where that is asked for.
fn behind(graph: &Graph, from: usize, with_itself: bool) -> Vec<usize> {
    let mut found = if with_itself { vec![from] } else { Vec::new() };
    let mut work = vec![from];
    while let Some(place) = work.pop() {
        for to in &graph.successors[place] {
            if !found.contains(to) {
                found.push(*to);
                work.push(*to);
            }
        }
    }
    found
}
