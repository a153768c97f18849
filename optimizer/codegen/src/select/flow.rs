//! Ends of blocks.

use oriole_ir::ops::Opcode;
use oriole_ir::{
    Block, Function, FunctionKind, Guard, Inst, InstHead, MachineId, Modifiers, Operand, RegFile, RegInfo,
};
use oriole_sass::ori;

use super::table::Part;
use super::{Refusal, Select};

/// The identity of a mnemonic that every SM has.
pub(crate) fn identity(mnemonic: &str) -> MachineId {
    ori::register().identify(mnemonic).unwrap_or_else(|| panic!("the machine has no {mnemonic}"))
}

/// Appends a jump to a block: where a guard is given, to the first target if it holds, else to the second.
pub(crate) fn branch(func: &mut Function, block: Block, guard: Option<Guard>, targets: &[Block], line: u32) -> Inst {
    let id = identity("BRA");
    let truth = Operand::wired(RegFile::P, 1);
    let srcs: Vec<Operand> = std::iter::once(truth).chain(targets.iter().map(|to| Operand::Block(*to))).collect();
    let head = InstHead { opcode: Opcode::MachineJump, fields: id.fields(), guard, line };
    let inst = func.new_inst(head, &[], &srcs, &[]);
    func.append_inst(block, inst);
    inst
}

impl Select<'_> {
    /// The last operation of a block. A jump to a block that follows becomes none when the order of blocks is known.
    pub(super) fn flow(&mut self, inst: Inst) -> Result<(), Refusal> {
        let srcs = self.func.srcs(inst).to_vec();
        match self.func.inst(inst).opcode {
            Opcode::Bra => self.emit.append_plain(Opcode::Bra, &srcs),
            Opcode::CBra => {
                let targets: Vec<Block> = srcs[1..].iter().filter_map(|operand| operand.block()).collect();
                let condition = match srcs[0] {
                    Operand::Reg(reg) => Ok(reg),
                    Operand::Imm(imm) => Err(self.func.bits(imm) & 1 == 1),
                    _ => Err(false),
                };
                match condition {
                    _ if targets[0] == targets[1] => self.emit.append_plain(Opcode::Bra, &srcs[2..]),
                    Ok(reg) => {
                        let guard = Guard::new(reg, false);
                        branch(&mut self.emit.func, self.emit.block, Some(guard), &targets, self.emit.line);
                    }
                    Err(is_true) => {
                        let to = if is_true { targets[0] } else { targets[1] };
                        self.emit.append_plain(Opcode::Bra, &[Operand::Block(to)]);
                    }
                }
            }
            Opcode::Brx => self.choice(&srcs)?,
            Opcode::Ret | Opcode::Exit if self.func.kind == FunctionKind::Entry => {
                self.emit.op("EXIT", &[], &[Operand::wired(RegFile::P, 1)])?;
            }
            _ => return Err(Refusal::Operand("a return")),
        }
        Ok(())
    }

    /// One of several blocks by a number: a comparison for each but the last.
    fn choice(&mut self, srcs: &[Operand]) -> Result<(), Refusal> {
        let targets: Vec<Block> = srcs[1..].iter().filter_map(|operand| operand.block()).collect();
        let value = self.source(srcs[0], 1)?;
        let index = self.emit.value(value, Part::Whole, Modifiers::NONE, "MOV");
        let (truth, last) = (Operand::wired(RegFile::P, 1), targets.len() - 1);
        for (number, target) in targets[..last].iter().enumerate() {
            let is_it = self.emit.new_reg(RegInfo::PRED);
            let bits = self.emit.func.imm(number as u64);
            self.emit.op("ISETP.EQ.U32.AND", &[Operand::Reg(is_it), truth], &[index, bits, truth, truth])?;
            // The last comparison leads to the last block, the others to a new one.
            let rest = if number + 1 == last { targets[last] } else { self.emit.func.new_block_after(self.emit.block) };
            let guard = Guard::new(is_it, false);
            branch(&mut self.emit.func, self.emit.block, Some(guard), &[*target, rest], self.emit.line);
            if number + 1 != last {
                self.emit.block = rest;
            }
        }
        if last == 0 {
            self.emit.append_plain(Opcode::Bra, &[Operand::Block(targets[0])]);
        }
        Ok(())
    }
}
