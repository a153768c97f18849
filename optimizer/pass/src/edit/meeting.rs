//! Blocks that are put between a loop's header and others that lead there: preheaders, and latches of several latches.

use super::graph::{add_incoming, incoming, map_targets, phis, remove_incoming};
use crate::analysis::{Cfg, Loop, LoopNest};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand};

/// Blocks that lead to a loop's header, and are to lead there through one of their own.
pub struct Meeting {
    /// The rule by which the block is put there.
    pub rule: &'static str,
    header: Block,
    /// In layout order; never empty.
    from: Vec<Block>,
}

/// The blocks outside of a natural loop that are to lead there through a preheader; `None` where there is one.
pub fn preheader(cfg: &Cfg, nest: &LoopNest, of: Loop) -> Option<Meeting> {
    let header = nest.header(of);
    let outside = cfg.predecessors(header).iter().copied().filter(|from| !nest.contains(cfg, of, *from));
    let from: Vec<Block> = outside.collect();
    nest.preheader(cfg, of).is_none().then_some(Meeting { rule: "insert-preheader", header, from })
}

/// The latches of a loop that are to be one; `None` where there is one.
pub fn latch(cfg: &Cfg, nest: &LoopNest, of: Loop) -> Option<Meeting> {
    let from: Vec<Block> = nest.latches(cfg, of).collect();
    (from.len() > 1).then(|| Meeting { rule: "insert-latch", header: nest.header(of), from })
}

impl Meeting {
    /// The block that the new one follows in the layout.
    pub fn last(&self) -> Block {
        self.from[self.from.len() - 1]
    }

    /// Makes the block, which is not in the layout yet.
    pub fn insert(&self, func: &mut Function) -> Block {
        let block = func.create_block();
        for from in &self.from {
            map_targets(func, *from, |target| if target == self.header { block } else { target });
        }
        let merging: Vec<Inst> = phis(func, self.header).collect();
        let values: Vec<Operand> = merging.iter().map(|phi| self.merged(func, *phi, block)).collect();
        remove_incoming(func, self.header, |from| self.from.contains(&from));
        merging.into_iter().zip(values).for_each(|(phi, value)| add_incoming(func, phi, value, block));
        InstBuilder::new(Opcode::Bra).src(self.header).append(func, block);
        block
    }

    /// What a phi of the header takes from the blocks: their only value, or that of a new phi.
    fn merged(&self, func: &mut Function, phi: Inst, block: Block) -> Operand {
        let of = |from: &Block| incoming(func, phi, *from).expect("a phi has a source for each block that leads to it");
        let values: Vec<Operand> = self.from.iter().map(of).collect();
        if values.iter().all(|value| *value == values[0]) {
            return values[0];
        }
        let info = func.defs(phi).next().map(|reg| func.regs()[reg]).expect("a phi has a destination");
        let merged = func.new_reg(info);
        let pairs = values.into_iter().zip(&self.from).map(|(value, from)| (func.free(value), *from));
        let new = pairs.fold(InstBuilder::new(Opcode::Phi).dst(merged), |new, (value, from)| new.src(value).src(from));
        new.append(func, block);
        merged.into()
    }
}

/// Puts each new block behind one of the layout.
pub fn lay_out(func: &mut Function, made: &[(Block, Block)]) {
    let mut behind: Vec<(Block, Block)> = made.to_vec();
    behind.sort_by_key(|(at, _)| *at);
    let new = |at: Block| {
        let first = behind.partition_point(|(other, _)| *other < at);
        behind[first..].iter().take_while(move |(other, _)| *other == at).map(|(_, new)| *new)
    };
    let layout = func.layout().iter().flat_map(|block| std::iter::once(*block).chain(new(*block))).collect();
    func.set_layout(layout);
}
