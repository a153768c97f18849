//! Straight lines: a block that one block alone leads to, and which alone it leads to, becomes a part of it.
//!
//! Its phis have one source each. Where that is a register, whatever reads the phi reads the register; other sources
//! get a copy. Names of blocks and registers change all at once at the end, so the cost is linear.

use cranelift_entity::SecondaryMap;

use crate::analysis::Cfg;
use crate::edit::graph::{Renamed, jump_target, phis};
use crate::pass::{Changed, PhaseContext};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg};

const RULE: &str = "merge-blocks";

/// Merges all straight lines of reachable blocks.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get::<Cfg>(func);
    let mut merging = Merging::default();
    for block in cfg.rpo().iter().copied() {
        if merging.blocks.is_gone(block) {
            continue;
        }
        while let Some(next) = follower(func, &cfg, block) {
            if !cx.rewrite(RULE) {
                return merging.finish(func);
            }
            merging.append(func, block, next);
        }
    }
    merging.finish(func)
}

/// The block that may become the end of this one.
fn follower(func: &Function, cfg: &Cfg, block: Block) -> Option<Block> {
    let next = jump_target(func, block).filter(|next| *next != block && *next != func.entry())?;
    let alone = cfg.predecessors(next).len() == 1;
    let copied = |phi: Inst| func.srcs(phi).first().is_some_and(|value| value.whole_reg().is_some());
    let can_copy = |phi: Inst| func.defs(phi).all(|reg| func.regs()[reg].mov_type().is_some());
    (alone && phis(func, next).all(|phi| copied(phi) || can_copy(phi))).then_some(next)
}

#[derive(Default)]
struct Merging {
    blocks: Renamed,
    /// By register: the one that is read in its place.
    values: SecondaryMap<Reg, Option<Reg>>,
    changed: bool,
}

impl Merging {
    fn append(&mut self, func: &mut Function, block: Block, next: Block) {
        self.changed = true;
        for phi in phis(func, next).collect::<Vec<Inst>>() {
            self.replace_phi(func, phi);
        }
        if let Some(jump) = func.terminator(block) {
            func.remove_inst(jump);
        }
        func.move_insts(next, block);
        self.blocks.set(next, block);
    }

    fn replace_phi(&mut self, func: &mut Function, phi: Inst) {
        let (Some(dst), value) = (func.defs(phi).next(), func.srcs(phi)[0]) else { return };
        match (value, func.regs()[dst].mov_type()) {
            (Operand::Reg(reg), _) => {
                // Blocks come in reverse post-order, so what the register itself stands for is settled.
                self.values[dst] = Some(self.value(reg));
                func.remove_inst(phi);
            }
            (value, ty) => {
                let ty = ty.expect("checked before the blocks were merged");
                let value = func.free(value);
                InstBuilder::new(Opcode::Mov).field(ty).dst(dst).src(value).replace(func, phi);
            }
        }
    }

    fn value(&self, reg: Reg) -> Reg {
        self.values[reg].unwrap_or(reg)
    }

    fn finish(self, func: &mut Function) -> Changed {
        if self.changed {
            func.retain_blocks(|block| !self.blocks.is_gone(*block));
            let insts: Vec<Inst> = func.layout_insts().collect();
            insts.into_iter().for_each(|inst| self.rename(func, inst));
        }
        Changed::when(self.changed)
    }

    fn rename(&self, func: &mut Function, inst: Inst) {
        let is_phi = func.inst(inst).opcode == Opcode::Phi;
        for operand in func.inputs_mut(inst) {
            *operand = match *operand {
                Operand::Block(block) if is_phi => Operand::Block(self.blocks.of(block)),
                other => other.map_reg(|reg| self.value(reg)),
            };
        }
        if let Some(guard) = func.inst(inst).guard {
            func.set_guard(inst, Some(guard.with_reg(self.value(guard.reg()))));
        }
    }
}
