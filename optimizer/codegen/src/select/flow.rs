//! Ends of blocks.

use oriole_ir::ops::Opcode;
use oriole_ir::{
    Block, Function, FunctionKind, Guard, Inst, InstHead, MachineId, Modifiers, Operand, Reg, RegFile, RegInfo,
    SymbolRef,
};
use oriole_sass::ori;

use super::emit::never;
use super::memory::{ADDRESSES, CLUSTERS};
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
            Opcode::Ret if self.is_sequence => self.end_sequence()?,
            Opcode::Ret if let Some(kept) = self.home => {
                // It is read before the frame goes, and what the caller has where it is kept comes back.
                let home = self.emit.temp(2);
                self.fixed.push((home, RETURN));
                let home = Operand::Reg(home);
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
        let (Operand::Func(id), None) = (callee, self.emit.guard) else { return Err(Refusal::Operand("such a call")) };
        let is_external = self.places.entry(SymbolRef::Func(*id)).is_some();
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
        if is_external {
            return self.external(*callee, given, taken);
        }
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

    /// A call of a function that the driver has: arguments are in R4 and behind it, those of 64 bits in even registers,
    /// and so is the result; R20 and R21 have the address to return to.
    fn external(&mut self, callee: Operand, given: &[Variable], taken: &[Variable]) -> Result<(), Refusal> {
        let Operand::Func(id) = callee else { return Err(Refusal::Operand("such a call")) };
        let stack = self.stack.ok_or(Refusal::Operand("a call without a frame"))?;
        let entry = self.places.entry(SymbolRef::Func(id)).ok_or(Refusal::Operand("this function"))?;
        let (mut next, mut first) = (ARGUMENTS, None);
        for (own, _, size) in given {
            let words = size.div_ceil(4).max(1) as u8;
            let suffix = match *size {
                4 => "",
                8 => ".64",
                _ => return Err(Refusal::Operand("such an argument")),
            };
            next = next.next_multiple_of(words.into());
            let at = self.emit.func.imm((*own).into());
            let reg = self.at(words, next);
            self.emit.op(&format!("LDL{suffix}"), &[Operand::Reg(reg)], &[stack, at])?;
            first.get_or_insert(reg);
            next += u16::from(words);
        }
        let (zero, truth) = (Operand::wired(RegFile::R, 1), Operand::wired(RegFile::P, 1));
        let to = Operand::Reg(self.at(2, CALLEE));
        let bank = Operand::constant(ADDRESSES, entry);
        self.emit.op("LDC.64", &[to], &[zero, bank])?;
        // The instruction behind the call, which follows at once.
        let back = self.at(2, RETURN);
        let none = never();
        if self.emit.table.sm < CLUSTERS {
            let here = self.at(2, BEHIND_RETURN);
            let carry = Operand::Reg(self.emit.new_reg(RegInfo::PRED));
            let distance = self.emit.func.imm(4 * 16);
            let [low, high, own_low, own_high] =
                [Operand::Word(back, 0), Operand::Word(back, 1), Operand::Word(here, 0), Operand::Word(here, 1)];
            self.emit.op("LEPC", &[Operand::Reg(here)], &[])?;
            self.emit.op("IADD3", &[low, carry, truth], &[own_low, distance, zero, none, none])?;
            self.emit.op("IADD3.X", &[high, truth, truth], &[own_high, zero, zero, carry, none])?;
        } else {
            let distance = self.emit.func.imm(16);
            self.emit.op("LEPC", &[Operand::Reg(back)], &[distance])?;
        }
        let nothing = self.emit.func.imm(0);
        self.emit.op("CALL.ABS.NOINC", &[], &[truth, to, nothing])?;
        for (own, _, size) in taken {
            let (words, suffix) = match *size {
                4 => (1, ""),
                8 => (2, ".64"),
                _ => return Err(Refusal::Operand("such a result")),
            };
            let reg = first.ok_or(Refusal::Operand("such a call"))?;
            self.results.push((reg, ARGUMENTS));
            let value =
                if words == self.emit.func.regs()[reg].words { Operand::Reg(reg) } else { Operand::Word(reg, 0) };
            let at = self.emit.func.imm((*own).into());
            self.emit.op(&format!("STL{suffix}"), &[], &[stack, at, value])?;
        }
        Ok(())
    }

    /// A new register of so many words that has its place already.
    pub(super) fn at(&mut self, words: u8, place: u16) -> Reg {
        let reg = self.emit.temp(words);
        self.fixed.push((reg, place));
        reg
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

/// A parameter or result of a call: where it is in the frame, where while the function runs, how many bytes.
type Variable = (u32, u32, u32);

/// The first register of arguments of the driver's functions, and that of their results.
const ARGUMENTS: u16 = 4;
/// The first register of the address of such a function.
const CALLEE: u16 = 2;
/// The first register behind that of the address to return to.
const BEHIND_RETURN: u16 = RETURN + 2;

/// A number in the place of an address to return to that is not known yet.
pub(super) const PLACE_TO_COME: u64 = 16;
