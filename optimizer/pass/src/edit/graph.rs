//! Edits of the control-flow graph of a function in SSA form: edges and the phi sources that belong to them.

use cranelift_entity::SecondaryMap;

use crate::analysis::Cfg;
use crate::pass::{Changed, PhaseContext};
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, RegFile};

/// The phis of a block, in order.
pub fn phis(func: &Function, block: Block) -> impl Iterator<Item = Inst> + '_ {
    func.block_insts(block).take_while(|inst| func.inst(*inst).opcode == Opcode::Phi)
}

/// The first instruction of a block that is no phi.
pub fn behind_phis(func: &Function, block: Block) -> Option<Inst> {
    func.block_insts(block).find(|inst| func.inst(*inst).opcode != Opcode::Phi)
}

/// Whether a block has phis.
pub fn has_phis(func: &Function, block: Block) -> bool {
    phis(func, block).next().is_some()
}

/// What a phi takes on the edge from a block.
pub fn incoming(func: &Function, phi: Inst, from: Block) -> Option<Operand> {
    let pairs = func.srcs(phi).chunks_exact(2);
    pairs.into_iter().find(|pair| pair[1] == Operand::Block(from)).map(|pair| pair[0])
}

/// The only block that a block's branch leads to, where the branch has no choice.
pub fn jump_target(func: &Function, block: Block) -> Option<Block> {
    let branch = func.terminator(block).filter(|inst| func.inst(*inst).opcode == Opcode::Bra)?;
    func.srcs(branch).first()?.block()
}

/// Condition and targets of a block's branch, where it has two that differ.
pub fn two_ways(func: &Function, block: Block) -> Option<(Operand, Block, Block)> {
    let branch = func.terminator(block).filter(|inst| func.inst(*inst).opcode == Opcode::CBra)?;
    let &[condition, yes, no] = func.srcs(branch) else { return None };
    let (yes, no) = (yes.block()?, no.block()?);
    (yes != no).then_some((condition, yes, no))
}

/// Sends a block's branch to other blocks.
pub fn map_targets(func: &mut Function, block: Block, map: impl Fn(Block) -> Block) {
    let Some(branch) = func.terminator(block) else { return };
    for operand in func.srcs_mut(branch) {
        if let Operand::Block(target) = operand {
            *target = map(*target);
        }
    }
}

/// Has a block lead to one other block.
pub fn always(func: &mut Function, block: Block, to: Block) {
    let branch = func.terminator(block).expect("a block ends with a branch");
    InstBuilder::new(Opcode::Bra).src(to).replace(func, branch);
}

/// Phis of a block take from another one what they took from one.
pub fn come_from(func: &mut Function, block: Block, old: Block, new: Block) {
    for phi in phis(func, block).collect::<Vec<Inst>>() {
        for operand in func.srcs_mut(phi).iter_mut().filter(|operand| **operand == Operand::Block(old)) {
            *operand = Operand::Block(new);
        }
    }
}

/// Gives a phi one source more.
pub fn add_incoming(func: &mut Function, phi: Inst, value: Operand, from: Block) {
    let mut srcs = func.srcs(phi).to_vec();
    srcs.extend([value, Operand::Block(from)]);
    func.set_srcs(phi, &srcs);
}

/// Removes the blocks that control cannot reach, with the phi sources that come from them: all together, since they
/// may branch to each other.
pub fn drop_unreachable(func: &mut Function, cx: &mut PhaseContext<'_>, cfg: &Cfg) -> Changed {
    let unreachable = func.layout().len() - cfg.rpo().len();
    if unreachable == 0 || !cx.rewrite("unreachable-blocks") {
        return Changed::No;
    }
    cx.count("blocks dropped", unreachable as u64);
    keep_reachable(func, cfg);
    Changed::Yes
}

/// Removes the blocks that control cannot reach, and what phis take from them.
pub fn keep_reachable(func: &mut Function, cfg: &Cfg) {
    func.retain_blocks(|block| cfg.is_reachable(*block));
    for block in func.layout().to_vec() {
        remove_incoming(func, block, |from| !cfg.is_reachable(from));
    }
}

/// Removes the phi sources of a block that come from predecessors of some kind.
pub fn remove_incoming(func: &mut Function, block: Block, gone: impl Fn(Block) -> bool) {
    for inst in phis(func, block).collect::<Vec<Inst>>() {
        let keep = |pair: &&[Operand]| !pair.get(1).and_then(|op| op.block()).is_some_and(&gone);
        let kept: Vec<Operand> = func.srcs(inst).chunks(2).filter(keep).flatten().copied().collect();
        if kept.len() != func.srcs(inst).len() {
            func.set_srcs(inst, &kept);
        }
    }
}

/// Whether an instruction may be executed by other groups of threads, merged with an equal one, or stand twice: it is
/// nothing that threads do together, and defines no convergence barrier.
pub fn is_free(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let together = [Flags::CONVERGENT, Flags::FENCE, Flags::TERMINATOR].into_iter().any(|flag| data.is(flag));
    let barrier = func.defs(inst).chain(func.uses(inst)).any(|reg| func.regs()[reg].file == RegFile::B);
    !together && !barrier
}

/// Blocks of the graph, each with the one that has taken its place.
#[derive(Default)]
pub struct Renamed(SecondaryMap<Block, Option<Block>>);

impl Renamed {
    /// Another block takes the place of this one.
    pub fn set(&mut self, block: Block, by: Block) {
        self.0[block] = Some(by);
    }

    /// The block that is in the place of this one in the end.
    pub fn of(&self, mut block: Block) -> Block {
        while let Some(by) = self.0[block] {
            block = by;
        }
        block
    }

    /// Whether another block has taken its place.
    pub fn is_gone(&self, block: Block) -> bool {
        self.0[block].is_some()
    }
}
