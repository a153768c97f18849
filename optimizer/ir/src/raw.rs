//! The parts of a function without any care, for those who break functions on purpose: tests of the verifier, and
//! whatever else must refuse or survive a broken function.
//!
//! Nothing that edits programs uses this. Behind these edits the lists of instructions may run in circles or out of
//! their arena, two instructions may share operands, and a function may hold whatever no text can say; until the
//! verifier has accepted it again, only the verifier may be asked about it.

use cranelift_entity::PrimaryMap;

use super::entity::{Block, Inst, Reg};
use super::function::Function;
use super::inst::InstData;
use super::lists::Lists;
use super::register::RegInfo;

/// A function's parts.
pub struct RawFunction<'f> {
    /// The registers.
    pub regs: &'f mut PrimaryMap<Reg, RegInfo>,
    /// The blocks in program order.
    pub layout: &'f mut Vec<Block>,
    /// The instructions. A record that is copied shares its operands with the copy.
    pub insts: &'f mut PrimaryMap<Inst, InstData>,
    lists: &'f mut Lists,
}

impl Function {
    /// The parts, to break.
    pub fn raw(&mut self) -> RawFunction<'_> {
        let Function { regs, layout, insts, lists, .. } = self;
        RawFunction { regs, layout, insts, lists }
    }
}

impl RawFunction<'_> {
    /// Makes a list continue with another instruction after this one, and changes nothing else.
    pub fn set_next(&mut self, inst: Inst, next: Option<Inst>) {
        self.lists.nodes[inst].next = next.into();
    }

    /// Makes a list, walked backward, continue with another instruction, and changes nothing else.
    pub fn set_prev(&mut self, inst: Inst, prev: Option<Inst>) {
        self.lists.nodes[inst].prev = prev.into();
    }

    /// Makes an instruction believe that it is in another block.
    pub fn set_block(&mut self, inst: Inst, block: Option<Block>) {
        self.lists.nodes[inst].block = block.into();
    }

    /// Exchanges what says which of two instructions comes first.
    pub fn swap_order(&mut self, a: Inst, b: Inst) {
        let key = self.lists.nodes[a].key;
        self.lists.nodes[a].key = std::mem::replace(&mut self.lists.nodes[b].key, key);
    }
}
