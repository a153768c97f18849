//! Who reads a register, and at which block.

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Reg};

/// The instructions that read each register, with their blocks. A phi reads at the end of the block that it merges
/// from. Changes are followed where they are told ([`Readers::moved`]).
#[derive(Clone, Debug, Default)]
pub struct Readers(SecondaryMap<Reg, Vec<(Inst, Block)>>);

impl Readers {
    /// Those of a function.
    pub fn of(func: &Function) -> Readers {
        let mut readers = Readers::default();
        for block in func.layout() {
            func.block_insts(*block).for_each(|inst| readers.add(func, inst, *block));
        }
        readers
    }

    /// The readers of a register.
    pub fn reads(&self, reg: Reg) -> &[(Inst, Block)] {
        &self.0[reg]
    }

    /// An instruction, no phi, reads at another block.
    pub fn moved(&mut self, func: &Function, inst: Inst, to: Block) {
        func.uses(inst).for_each(|reg| self.0[reg].retain(|(reader, _)| *reader != inst));
        self.add(func, inst, to);
    }

    fn add(&mut self, func: &Function, inst: Inst, block: Block) {
        if func.inst(inst).opcode == Opcode::Phi {
            for pair in func.srcs(inst).chunks_exact(2) {
                if let (Some(reg), Some(from)) = (pair[0].reg(), pair[1].block()) {
                    self.0[reg].push((inst, from));
                }
            }
            return;
        }
        for reg in func.uses(inst) {
            if self.0[reg].last() != Some(&(inst, block)) {
                self.0[reg].push((inst, block));
            }
        }
    }
}
