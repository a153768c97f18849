//! Reaching definitions by ways: from a read, every way is followed backward up to the first instruction on it that
//! overwrites the register whatever happens; those that may overwrite it on the way are seen too.

use oriole_ir::{Function, Inst, Reg};

use super::graph::Graph;
use super::live::overwrites;

/// What a read may see.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Instructions that define the register, sorted.
    pub insts: Vec<Inst>,
    /// Whether a way leads to the start of the function.
    pub start: bool,
}

/// What an instruction at a place may see of a register.
pub fn seen(func: &Function, graph: &Graph, place: usize, index: usize, reg: Reg) -> Seen {
    let reachable = graph.reachable(0, None);
    let (mut found, mut ends, mut work) = (Seen::default(), vec![false; graph.blocks.len()], vec![(place, index)]);
    while let Some((place, index)) = work.pop() {
        let insts: Vec<Inst> = func.block_insts(graph.blocks[place]).take(index).collect();
        let defines = |inst: &&Inst| func.dsts(**inst).iter().any(|dst| dst.reg() == Some(reg));
        let last = insts.iter().rposition(|inst| overwrites(func, *inst, reg));
        found.insts.extend(insts[last.unwrap_or(0)..].iter().filter(defines));
        if last.is_some() {
            continue;
        }
        found.start |= place == 0;
        for from in graph.predecessors[place].iter().filter(|from| reachable[**from]) {
            if !std::mem::replace(&mut ends[*from], true) {
                work.push((*from, func.block_insts(graph.blocks[*from]).len()));
            }
        }
    }
    found.insts.sort_unstable();
    found.insts.dedup();
    found
}
