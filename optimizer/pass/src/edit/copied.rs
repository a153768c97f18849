//! Copies of blocks within a function.

use rustc_hash::FxHashMap;

use oriole_ir::{Block, Function, Inst, Operand, Reg};

/// The names of blocks and registers in a copy; what was not copied has its own name.
#[derive(Default)]
pub struct Copied {
    /// By block: its copy.
    pub blocks: FxHashMap<Block, Block>,
    /// By register that the blocks define: that which the copy defines.
    pub regs: FxHashMap<Reg, Reg>,
}

impl Copied {
    /// Names for copies of some blocks. The copies are empty and in no layout yet.
    pub fn named(func: &mut Function, blocks: &[Block]) -> Copied {
        let mut copied = Copied::default();
        for block in blocks {
            let copy = func.create_block();
            func.set_nounroll(copy, func.is_nounroll(*block));
            copied.blocks.insert(*block, copy);
            for reg in func.block_insts(*block).flat_map(|inst| func.defs(inst)).collect::<Vec<_>>() {
                let info = func.regs()[reg];
                copied.regs.insert(reg, func.new_reg(info));
            }
        }
        copied
    }

    /// The copy of a block.
    pub fn block(&self, block: Block) -> Block {
        self.blocks.get(&block).copied().unwrap_or(block)
    }

    /// The register of the copy.
    pub fn reg(&self, reg: Reg) -> Reg {
        self.regs.get(&reg).copied().unwrap_or(reg)
    }

    /// The operand of the copy.
    pub fn operand(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Block(block) => Operand::Block(self.block(block)),
            other => other.map_reg(|reg| self.reg(reg)),
        }
    }

    /// Copies an instruction of a block behind those that the block's copy has.
    pub fn copy(&self, func: &mut Function, inst: Inst, block: Block) {
        let mut head = func.inst(inst).head();
        head.guard = head.guard.map(|guard| guard.with_reg(self.reg(guard.reg())));
        let [dsts, srcs, elses] = [func.dsts(inst), func.srcs(inst), func.elses(inst)]
            .map(|list| list.iter().map(|operand| self.operand(*operand)).collect::<Vec<Operand>>());
        let copy = func.new_inst(head, &dsts, &srcs, &elses);
        func.append_inst(self.block(block), copy);
    }

    /// Copies all instructions of some blocks.
    pub fn copy_blocks(&self, func: &mut Function, blocks: &[Block]) {
        for block in blocks {
            func.block_insts(*block).collect::<Vec<Inst>>().into_iter().for_each(|inst| self.copy(func, inst, *block));
        }
    }
}
