//! Immediates: how a function holds the bits of its constant operands.
//!
//! [`Imm`] is what stands in an operand; what it means is known to its function alone. So there is one way to make an
//! immediate of any bits, [`Function::imm`], and one to read it, [`Function::bits`]. A value that belongs to no function
//! yet, or goes from one to another, is a [`FreeOperand`].

use super::function::Function;
use super::operand::Operand;

/// The bits of an immediate operand of a function. Within the function equal bits are equal immediates; between
/// functions only [`Function::bits`] can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Imm(u64);

/// An operand apart from its function: an immediate stands by its bits, everything else as it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FreeOperand {
    /// An immediate's raw bits.
    Imm(u64),
    /// Another operand. One that holds an immediate of the function that it goes to may stand here too, but is not
    /// equal to its bits.
    Operand(Operand),
}

impl FreeOperand {
    /// The immediate's bits.
    #[inline]
    pub fn imm(self) -> Option<u64> {
        match self {
            FreeOperand::Imm(bits) => Some(bits),
            FreeOperand::Operand(_) => None,
        }
    }

    /// What is no immediate.
    #[inline]
    pub fn operand(self) -> Option<Operand> {
        match self {
            FreeOperand::Imm(_) => None,
            FreeOperand::Operand(operand) => Some(operand),
        }
    }
}

impl<T: Into<Operand>> From<T> for FreeOperand {
    fn from(operand: T) -> FreeOperand {
        FreeOperand::Operand(operand.into())
    }
}

impl From<u64> for FreeOperand {
    fn from(bits: u64) -> FreeOperand {
        FreeOperand::Imm(bits)
    }
}

impl Operand {
    /// An immediate of 32 bits, which every function holds alike.
    #[inline]
    pub const fn imm(bits: u32) -> Operand {
        Operand::Imm(Imm(bits as u64))
    }

    /// Whether the operand is an immediate.
    #[inline]
    pub fn is_imm(self) -> bool {
        matches!(self, Operand::Imm(_))
    }
}

/// Immediates.
impl Function {
    /// An immediate of these bits.
    #[inline]
    pub fn imm(&mut self, bits: u64) -> Operand {
        Operand::Imm(Imm(bits))
    }

    /// The bits of an immediate of this function.
    #[inline]
    pub fn bits(&self, imm: Imm) -> u64 {
        imm.0
    }

    /// The bits of an operand of this function that is an immediate.
    #[inline]
    pub fn imm_bits(&self, operand: Operand) -> Option<u64> {
        match operand {
            Operand::Imm(imm) => Some(self.bits(imm)),
            _ => None,
        }
    }

    /// An immediate cut to its low bits, as many as a type has.
    ///
    /// # Panics
    /// If no type has so many bits.
    pub fn cut_imm(&self, imm: Imm, width: u32) -> Operand {
        match width {
            0..=32 => Operand::imm((self.bits(imm) & !(u64::MAX << width)) as u32),
            _ => {
                assert!(width >= 64, "no type has {width} bits");
                Operand::Imm(imm)
            }
        }
    }

    /// A 32-bit word of an immediate, lowest first; words behind its last are zero.
    pub fn imm_word(&self, imm: Imm, word: u8) -> Operand {
        Operand::imm(self.bits(imm).checked_shr(32 * u32::from(word)).unwrap_or(0) as u32)
    }

    /// An operand of this function, apart from it.
    #[inline]
    pub fn free(&self, operand: Operand) -> FreeOperand {
        match operand {
            Operand::Imm(imm) => FreeOperand::Imm(self.bits(imm)),
            other => FreeOperand::Operand(other),
        }
    }

    /// The operand of this function that a value becomes.
    #[inline]
    pub fn bind(&mut self, value: impl Into<FreeOperand>) -> Operand {
        match value.into() {
            FreeOperand::Imm(bits) => self.imm(bits),
            FreeOperand::Operand(operand) => operand,
        }
    }
}
