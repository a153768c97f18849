//! Small functions of the machine for tests, made instruction by instruction.

use oriole_ir::{Block, Function, FunctionKind, Guard, Inst, InstHead, Level, Operand, RegFile, RegInfo};

use crate::select::{Selected, identity};

/// A function of one block.
pub(crate) struct Sketch {
    pub func: Function,
    pub block: Block,
}

impl Sketch {
    /// One without instructions.
    pub fn new() -> Sketch {
        oriole_sass::ori::register();
        let mut func = Function::new("f", FunctionKind::Entry);
        func.level = Level::Machine;
        let block = func.new_block();
        Sketch { func, block }
    }

    /// A new register of one word.
    pub fn word(&mut self) -> Operand {
        Operand::Reg(self.func.new_reg(RegInfo::words(1)))
    }

    pub fn op(&mut self, mnemonic: &str, dsts: &[Operand], srcs: &[Operand]) -> Inst {
        self.guarded(mnemonic, None, dsts, srcs)
    }

    pub fn guarded(&mut self, mnemonic: &str, guard: Option<Guard>, dsts: &[Operand], srcs: &[Operand]) -> Inst {
        let id = identity(mnemonic);
        let opcode = self.func.machine_opcode(id, srcs).expect("it has a row");
        let inst = self.func.new_inst(InstHead { opcode, fields: id.fields(), guard, line: 0 }, dsts, srcs, &[]);
        self.func.append_inst(self.block, inst);
        inst
    }

    pub fn copy(&mut self, to: Operand, from: Operand) -> Inst {
        let lanes = self.func.imm(15);
        self.op("MOV", &[to], &[from, lanes])
    }

    /// A value that cannot be made again, of a place in shared memory.
    pub fn loaded(&mut self, at: u64) -> Operand {
        let made = self.word();
        self.load("", made, at);
        made
    }

    pub fn load(&mut self, suffix: &str, to: Operand, at: u64) {
        let at = self.func.imm(at);
        self.op(&format!("LDS{suffix}"), &[to], &[Operand::wired(RegFile::R, 1), at]);
    }

    /// Uses a value.
    pub fn store(&mut self, suffix: &str, value: Operand) {
        let at = self.func.imm(0);
        self.op(&format!("STS{suffix}"), &[], &[Operand::wired(RegFile::R, 1), at, value]);
    }

    /// The function, which ends here.
    pub fn end(mut self) -> Selected {
        self.op("EXIT", &[], &[Operand::wired(RegFile::P, 1)]);
        let (fixed, results, bundles, patches) = Default::default();
        Selected { func: self.func, stack: None, fixed, results, bundles, patches, sequences: Vec::new() }
    }
}
