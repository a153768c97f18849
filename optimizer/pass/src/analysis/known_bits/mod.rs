//! Bits of values that are the same in every execution.
//!
//! [`KnownBits`] is the analysis: every register of a function at once, through phis, guards and, where memory SSA
//! names the one store that a load reads, through memory. Phis are taken for what has been met so far, so a bit that a
//! loop does not change stays known ([`super::sweeps`]). [`BitMemo`] is for a function under change: it follows
//! definitions when it is asked, neither through phis nor through memory, and forgets what a change touches.
//!
//! An answer is about every bit that is defined, wherever the register is.

mod bits;
mod memo;
mod operation;
#[cfg(test)]
mod tests;

use cranelift_entity::{EntityRef, EntitySet};

use super::cfg::Cfg;
use super::definitions::same_up_to;
use super::memory::StoredValues;
use super::sweeps::{Domain, Values, solve};
use oriole_ir::{Block, Function, Inst, Operand, Reg};

pub use bits::Bits;
pub use memo::BitMemo;

/// Sweeps in which phis lose bit by bit.
const PATIENCE: usize = 4;
/// Sweeps after which a phi that still loses bits keeps none.
const MOST_SWEEPS: usize = 12;

/// What is known of the bits of every register.
#[derive(Clone, Debug)]
pub struct KnownBits {
    regs: Values<Bits>,
}

impl KnownBits {
    /// The known bits of a function.
    pub fn compute(func: &Function, cfg: &Cfg, stored: &StoredValues) -> KnownBits {
        KnownBits::solve(func, cfg, Some(stored), None)
    }

    /// Those of some registers; `stored` where one of them is loaded.
    pub(super) fn solve(
        func: &Function,
        cfg: &Cfg,
        stored: Option<&StoredValues>,
        only: Option<&EntitySet<Reg>>,
    ) -> KnownBits {
        KnownBits { regs: solve(func, cfg, &BitDomain { func, stored }, only) }
    }

    /// What is known of an operand.
    pub fn of(&self, func: &Function, operand: Operand) -> Bits {
        read(func, &self.regs, operand)
    }
}

impl PartialEq for KnownBits {
    fn eq(&self, other: &KnownBits) -> bool {
        same_up_to(&self.regs, &other.regs, None)
    }
}

/// What is known of an operand, from what is known of registers.
fn read(func: &Function, values: &Values<Bits>, operand: Operand) -> Bits {
    operand_bits(func, operand, |index| values.get(index).copied().flatten())
}

/// What is known of an operand, where `reg` says what is known of the register with a number.
fn operand_bits(func: &Function, operand: Operand, reg: impl FnOnce(usize) -> Option<Bits>) -> Bits {
    if let Some(bits) = func.imm_bits(operand) {
        return Bits::constant(bits);
    }
    match operand {
        Operand::Reg(of) => reg(of.index()).unwrap_or_default().cut(operation::width(func.regs()[of])),
        Operand::Word(of, word) => reg(of.index()).unwrap_or_default().word(word),
        _ => Bits::UNKNOWN,
    }
}

struct BitDomain<'a> {
    func: &'a Function,
    stored: Option<&'a StoredValues>,
}

impl Domain for BitDomain<'_> {
    type Value = Bits;

    fn result(&self, values: &Values<Bits>, inst: Inst, index: usize) -> Bits {
        let of = |operand: Operand| read(self.func, values, operand);
        let stored = self.stored.and_then(|stored| stored.read_by(self.func, inst, index)).map(of);
        operation::result(self.func, inst, index, &of, stored)
    }

    fn incoming(&self, values: &Values<Bits>, _: Reg, operand: Operand, _: (Block, Block)) -> Bits {
        read(self.func, values, operand)
    }

    fn otherwise(&self, values: &Values<Bits>, _: Reg, operand: Operand, _: Inst) -> Bits {
        read(self.func, values, operand)
    }

    fn join(&self, a: Bits, b: Bits) -> Bits {
        a.join(b)
    }

    /// Counters lose their highest zeros one by one, and keep those below their step.
    fn widen(&self, old: Bits, new: Bits, sweep: usize) -> Bits {
        match sweep {
            0..PATIENCE => new,
            PATIENCE..MOST_SWEEPS => new.without_zeros_above(old),
            _ => Bits::UNKNOWN,
        }
    }
}
