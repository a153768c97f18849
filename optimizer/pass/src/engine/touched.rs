//! The worklist of a bundle: what a scan of simplifications has to look at again.
//!
//! A change touches the instruction that it is about, the registers that this one defines, and those that it does not
//! read any more: fewer reads may let a rule apply that wants its operand read once. The next scan looks at touched
//! instructions and at those that read a touched register, as LLVM's InstCombine does. A pattern that is deeper, or a
//! guard that follows values further, may depend on a change further away, so a bundle ends with one scan over
//! everything ([`super::bundle`]).

use cranelift_entity::EntitySet;
use oriole_ir::{Function, Inst, Reg};

/// What has changed since the last scan.
pub struct Touched {
    everything: bool,
    insts: EntitySet<Inst>,
    regs: EntitySet<Reg>,
}

impl Touched {
    /// As if everything had changed.
    pub fn everything() -> Touched {
        Touched { everything: true, insts: EntitySet::new(), regs: EntitySet::new() }
    }

    /// Whether a scan would look at every instruction.
    pub fn is_everything(&self) -> bool {
        self.everything
    }

    /// An instruction is new, or other than it was.
    pub fn inst(&mut self, func: &Function, inst: Inst) {
        if !self.everything {
            self.insts.insert(inst);
            self.regs.extend(func.defs(inst));
        }
    }

    /// These registers are defined by something else, or read less often.
    pub fn regs(&mut self, regs: impl IntoIterator<Item = Reg>) {
        if !self.everything {
            self.regs.extend(regs);
        }
    }

    /// Whether a scan must look at an instruction.
    pub fn concerns(&self, func: &Function, inst: Inst) -> bool {
        self.everything || self.insts.contains(inst) || func.uses(inst).any(|reg| self.regs.contains(reg))
    }
}

impl Default for Touched {
    /// Nothing has changed.
    fn default() -> Touched {
        Touched { everything: false, ..Touched::everything() }
    }
}
