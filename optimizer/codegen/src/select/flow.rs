//! Ends of blocks.

use oriole_ir::ops::Opcode;
use oriole_ir::{
    Block, Function, FunctionKind, Guard, Inst, InstHead, MachineId, Modifiers, Operand, RegFile, RegInfo,
};
use oriole_sass::ori;

use super::table::Part;
use super::{RETURN, Refusal, Select};

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

/// Ends a block that another one follows: with a jump that has no word where the order of blocks allows it.
pub(crate) fn go_on(func: &mut Function, block: Block, to: Block, line: u32) {
    let head = InstHead { opcode: Opcode::Bra, fields: Opcode::Bra.row().default_fields(), guard: None, line };
    let inst = func.new_inst(head, &[], &[Operand::Block(to)], &[]);
    func.append_inst(block, inst);
}

impl Select<'_> {
    /// The last operation of a block. A jump to a block that follows becomes none when the order of blocks is known.
    pub(super) fn flow(&mut self, inst: Inst) -> Result<(), Refusal> {
        let srcs = self.func.srcs(inst).to_vec();
        match self.func.inst(inst).opcode {
            Opcode::Bra => {
                let to = srcs[0].block().ok_or(Refusal::Operand("such a jump"))?;
                self.emit.go_on(to);
            }
            Opcode::CBra => {
                let targets: Vec<Block> = srcs[1..].iter().filter_map(|operand| operand.block()).collect();
                let condition = match srcs[0] {
                    Operand::Reg(reg) => Ok(reg),
                    Operand::Imm(imm) => Err(self.func.bits(imm) & 1 == 1),
                    _ => Err(false),
                };
                match condition {
                    _ if targets[0] == targets[1] => self.emit.go_on(targets[0]),
                    Ok(reg) => {
                        let guard = Guard::new(reg, false);
                        branch(&mut self.emit.func, self.emit.block, Some(guard), &targets, self.emit.line);
                    }
                    Err(is_true) => self.emit.go_on(if is_true { targets[0] } else { targets[1] }),
                }
            }
            Opcode::Brx => self.choice(&srcs)?,
            Opcode::Ret | Opcode::Exit if self.func.kind == FunctionKind::Entry => {
                self.emit.op("EXIT", &[], &[Operand::wired(RegFile::P, 1)])?;
            }
            Opcode::Ret if let Some(kept) = self.home => {
                // Where the address is kept in memory, it is read before the frame goes.
                let home = Operand::Reg(self.emit.temp(2));
                self.emit.copy(home, kept);
                self.move_stack(1)?;
                let target = Operand::Func(self.kernel);
                self.emit.op("RET.REL.NODEC", &[], &[Operand::wired(RegFile::P, 1), home, target])?;
            }
            Opcode::Exit => {
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
            self.emit.go_on(targets[0]);
        }
        Ok(())
    }

    /// A call of a function of the module. What is live across it is in memory, since the function may use every
    /// register; parameters and results are at the beginning of the frame meanwhile, each at a multiple of 16 bytes.
    pub(super) fn call(&mut self, inst: Inst) -> Result<(), Refusal> {
        let srcs = self.func.srcs(inst).to_vec();
        let [callee, count, variables @ ..] = &srcs[..] else { return Err(self.refused(inst)) };
        let (Operand::Func(_), None) = (callee, self.emit.guard) else { return Err(Refusal::Operand("such a call")) };
        let count = self.func.imm_bits(*count).unwrap_or(0) as usize;
        let (results, arguments) = variables.split_at(count.min(variables.len()));
        let mut at = 0;
        let mut places = Vec::new();
        for variable in arguments.iter().chain(results) {
            let Operand::Local(local) = variable else { return Err(self.refused(inst)) };
            let (size, own) = (self.func.locals[*local].size() as u32, self.places.local(*local));
            places.push((own.ok_or(Refusal::Operand("a parameter"))?, at, size));
            at += size.next_multiple_of(16);
        }
        let (given, taken) = places.split_at(arguments.len());
        for (own, at, size) in given {
            self.move_bytes(*own, *at, *size)?;
        }
        let back = self.emit.temp(2);
        self.fixed.push((back, RETURN));
        let (low, high) = (Operand::Word(back, 0), Operand::Word(back, 1));
        let place = self.emit.func.imm(PLACE_TO_COME);
        self.emit.copy_word(high, Operand::wired(RegFile::R, 1));
        self.emit.copy_word(low, place);
        self.emit.op("CALL.REL.NOINC", &[], &[Operand::wired(RegFile::P, 1), *callee])?;
        for (own, at, size) in taken {
            self.move_bytes(*at, *own, *size)?;
        }
        Ok(())
    }

    /// Moves bytes within the frame.
    fn move_bytes(&mut self, from: u32, to: u32, size: u32) -> Result<(), Refusal> {
        let stack = self.stack.ok_or(Refusal::Operand("a call without a frame"))?;
        let mut done = 0;
        while done < size {
            let (bytes, suffix, words) = match size - done {
                16.. => (16, ".128", 4),
                8.. => (8, ".64", 2),
                4.. => (4, "", 1),
                2.. => (2, ".U16", 1),
                _ => (1, ".U8", 1),
            };
            let reg = Operand::Reg(self.emit.temp(words));
            let (from, to) = [from + done, to + done].map(|at| self.emit.func.imm(at.into())).into();
            self.emit.op(&format!("LDL{suffix}"), &[reg], &[stack, from])?;
            self.emit.op(&format!("STL{suffix}"), &[], &[stack, to, reg])?;
            done += bytes;
        }
        Ok(())
    }
}

/// A number in the place of an address to return to that is not known yet.
const PLACE_TO_COME: u64 = 16;
