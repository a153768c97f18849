//! Operands and guards.

use std::num::NonZeroU32;

use super::entity::{Block, FuncId, Global, Local, Reg};
use super::immediate::Imm;
use super::name::Name;
use super::register::RegFile;
use crate::ops::SpecialReg;

/// What the machine does to a source before it uses it. A set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Modifiers(u8);

impl Modifiers {
    /// Nothing.
    pub const NONE: Modifiers = Modifiers(0);
    /// The sign is flipped, after the absolute value was taken.
    pub const NEGATE: Modifiers = Modifiers(1);
    /// The absolute value is taken.
    pub const ABSOLUTE: Modifiers = Modifiers(2);
    /// All bits are flipped; of a predicate, its one.
    pub const INVERT: Modifiers = Modifiers(4);
    /// The value stays in the operand cache for the next instruction.
    pub const REUSE: Modifiers = Modifiers(8);

    /// Both sets.
    pub const fn or(self, other: Modifiers) -> Modifiers {
        Modifiers(self.0 | other.0)
    }

    /// What is left of a set without another one.
    pub const fn without(self, other: Modifiers) -> Modifiers {
        Modifiers(self.0 & !other.0)
    }

    /// Whether every modifier of `other` is set.
    pub const fn has(self, other: Modifiers) -> bool {
        self.0 & other.0 == other.0
    }

    /// The set as a number: equal sets are equal numbers.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether nothing is set.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// One operand of an instruction. A function has as many as all else together, so they are small.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A whole register.
    Reg(Reg),
    /// One 32-bit word of a wider register, lowest first.
    Word(Reg, u8),
    /// A register, or a word of one, with modifiers, of which there is at least one. Machine level only.
    Modified {
        /// The register.
        reg: Reg,
        /// The word; `None` for the whole register.
        word: Option<u8>,
        /// What happens to it.
        modifiers: Modifiers,
    },
    /// A register that the machine has wired to a value: a general one reads as zero, a predicate as true, and what is
    /// written to it is lost. Machine level only.
    Wired {
        /// The file: not that of barriers, which has none.
        file: RegFile,
        /// How many words of it; of predicates one.
        words: u8,
        /// What happens to the value.
        modifiers: Modifiers,
    },
    /// Raw bits, zero-extended from the operand's width. Address offsets are two's complement in 64 bits.
    Imm(Imm),
    /// A special register.
    Special(SpecialReg),
    /// A word of a constant bank, at a byte offset.
    Const {
        /// The bank.
        bank: u8,
        /// The byte offset in it.
        offset: u32,
        /// What happens to the word; nothing outside of the machine level.
        modifiers: Modifiers,
    },
    /// The address of a variable of the module, in its own space.
    Global(Global),
    /// The address of a variable of the function, in its own space.
    Local(Local),
    /// A function, or its address.
    Func(FuncId),
    /// A block.
    Block(Block),
    /// A word of the machine's language: what an instruction is, or how it takes an operand. At the virtual level a
    /// template.
    Name(Name),
    /// A value that nothing has defined: any bits, and others at each read.
    ///
    /// *What an undefined value is.* It is any value. A definition has one, the same at each of its reads: what an
    /// instruction yields, a phi and a copy of something undefined included. What has no definition has another at
    /// each read: this operand, a register of virtual form that nothing has written, a byte of memory that nothing has
    /// stored. What PTX leaves unspecified, such as a quotient by zero, is the same wherever the same operation has
    /// the same operands. A transformation may choose the value, and may not let a definition have two. So in SSA
    /// form, where every register has a definition, a rewrite that is right for every value of a register is right
    /// for an undefined one.
    Undef,
}

const _: () = assert!(size_of::<Operand>() == 8 && align_of::<Operand>() == 4);

impl Operand {
    /// The register that the operand reads or writes, if it is one.
    #[inline]
    pub fn reg(self) -> Option<Reg> {
        match self {
            Operand::Reg(reg) | Operand::Word(reg, _) | Operand::Modified { reg, .. } => Some(reg),
            _ => None,
        }
    }

    /// The whole register that the operand is.
    #[inline]
    pub fn whole_reg(self) -> Option<Reg> {
        match self {
            Operand::Reg(reg) => Some(reg),
            _ => None,
        }
    }

    /// The operand with another register in place of its own, if it has one.
    #[inline]
    pub fn map_reg(self, map: impl FnOnce(Reg) -> Reg) -> Operand {
        match self {
            Operand::Reg(reg) => Operand::Reg(map(reg)),
            Operand::Word(reg, word) => Operand::Word(map(reg), word),
            Operand::Modified { reg, word, modifiers } => Operand::Modified { reg: map(reg), word, modifiers },
            other => other,
        }
    }

    /// What happens to the operand before it is used.
    #[inline]
    pub fn modifiers(self) -> Modifiers {
        match self {
            Operand::Modified { modifiers, .. }
            | Operand::Const { modifiers, .. }
            | Operand::Wired { modifiers, .. } => modifiers,
            _ => Modifiers::NONE,
        }
    }

    /// The operand with these modifiers and no others; `None` for what takes none.
    pub fn with_modifiers(self, modifiers: Modifiers) -> Option<Operand> {
        let (reg, word) = match self {
            Operand::Const { bank, offset, .. } => return Some(Operand::Const { bank, offset, modifiers }),
            Operand::Wired { file, words, .. } => return Some(Operand::Wired { file, words, modifiers }),
            Operand::Reg(reg) => (reg, None),
            Operand::Word(reg, word) => (reg, Some(word)),
            Operand::Modified { reg, word, .. } => (reg, word),
            other => return modifiers.is_none().then_some(other),
        };
        Some(match word {
            _ if !modifiers.is_none() => Operand::Modified { reg, word, modifiers },
            Some(word) => Operand::Word(reg, word),
            None => Operand::Reg(reg),
        })
    }

    /// The wired register of a file: zero, or true.
    pub fn wired(file: RegFile, words: u8) -> Operand {
        Operand::Wired { file, words, modifiers: Modifiers::NONE }
    }

    /// A word of a constant bank, as it is.
    pub fn constant(bank: u8, offset: u32) -> Operand {
        Operand::Const { bank, offset, modifiers: Modifiers::NONE }
    }

    /// The block that the operand names.
    #[inline]
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

/// The condition under which an instruction executes: a predicate, or that it is false. Four bytes, also where there
/// may be none.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guard(NonZeroU32);

const _: () = assert!(size_of::<Option<Guard>>() == 4);

impl Guard {
    /// The predicate, and whether the instruction executes where it is false.
    ///
    /// # Panics
    /// If the register's number is 2^31 - 1 or more.
    #[inline]
    pub fn new(reg: Reg, negated: bool) -> Guard {
        let number = reg.as_u32();
        assert!(number < u32::MAX >> 1, "a guard is one of the first 2^31 - 1 registers");
        Guard(NonZeroU32::MIN.saturating_add(number << 1 | u32::from(negated)))
    }

    /// The predicate.
    #[inline]
    pub fn reg(self) -> Reg {
        Reg::from_u32((self.0.get() - 1) >> 1)
    }

    /// Whether the instruction executes where the predicate is false.
    #[inline]
    pub fn negated(self) -> bool {
        (self.0.get() - 1) & 1 == 1
    }

    /// The guard that holds where this one does not.
    #[inline]
    pub fn opposite(self) -> Guard {
        Guard::new(self.reg(), !self.negated())
    }

    /// The guard with another predicate.
    #[inline]
    pub fn with_reg(self, reg: Reg) -> Guard {
        Guard::new(reg, self.negated())
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "@{}{}", if self.negated() { "!" } else { "" }, self.reg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_hold_register_and_sense() {
        for number in [0, 1, 7, (u32::MAX >> 1) - 1] {
            for negated in [false, true] {
                let guard = Guard::new(Reg::from_u32(number), negated);
                assert_eq!((guard.reg().as_u32(), guard.negated()), (number, negated));
                assert_eq!(guard.opposite(), Guard::new(guard.reg(), !negated));
                assert_eq!(guard.with_reg(Reg::from_u32(3)), Guard::new(Reg::from_u32(3), negated));
            }
        }
    }
}
