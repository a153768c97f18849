//! Operands and guards.

use super::entity::{Block, FuncId, Global, Local, Reg};
use crate::ops::SpecialReg;

/// One operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A whole register.
    Reg(Reg),
    /// One 32-bit word of a wider register, lowest first.
    Word(Reg, u8),
    /// Raw bits, zero-extended from the operand's width. Address offsets are two's complement in 64 bits.
    Imm(u64),
    /// A special register.
    Special(SpecialReg),
    /// A word of a constant bank, at a byte offset.
    Const {
        /// The bank.
        bank: u8,
        /// The byte offset in it.
        offset: u32,
    },
    /// The address of a variable of the module, in its own space.
    Global(Global),
    /// The address of a variable of the function, in its own space.
    Local(Local),
    /// A function, or its address.
    Func(FuncId),
    /// A block.
    Block(Block),
    /// A value that nothing has defined.
    Undef,
}

impl Operand {
    /// The register that the operand reads or writes, if it is one.
    pub fn reg(self) -> Option<Reg> {
        match self {
            Operand::Reg(reg) | Operand::Word(reg, _) => Some(reg),
            _ => None,
        }
    }

    /// The whole register that the operand is.
    pub fn whole_reg(self) -> Option<Reg> {
        match self {
            Operand::Reg(reg) => Some(reg),
            _ => None,
        }
    }

    /// The immediate's bits.
    pub fn imm(self) -> Option<u64> {
        match self {
            Operand::Imm(bits) => Some(bits),
            _ => None,
        }
    }

    /// The block that the operand names.
    pub fn block(self) -> Option<Block> {
        match self {
            Operand::Block(block) => Some(block),
            _ => None,
        }
    }
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Operand {
        Operand::Reg(reg)
    }
}

impl From<Block> for Operand {
    fn from(block: Block) -> Operand {
        Operand::Block(block)
    }
}

/// The condition under which an instruction executes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// The predicate.
    pub reg: Reg,
    /// Whether it executes where the predicate is false.
    pub negated: bool,
}
