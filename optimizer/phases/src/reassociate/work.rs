//! The blocks in which there is something left to find.
//!
//! What becomes of a tree, and which operations of a block are equal, depends on the instructions of the block, on how
//! often others read what they define, and on the order in which leaves are defined. No change moves a leaf past
//! another. So after a change it is enough to look at its block, at those where what it defines is read, and at those
//! where what it read is defined.

use cranelift_entity::EntitySet;

use oriole_ir::{Block, Inst, Rewriter};

pub(super) enum Work {
    Everywhere,
    In(EntitySet<Block>),
}

impl Work {
    /// No block yet.
    pub(super) fn none() -> Work {
        Work::In(EntitySet::new())
    }

    pub(super) fn contains(&self, block: Block) -> bool {
        match self {
            Work::Everywhere => true,
            Work::In(blocks) => blocks.contains(block),
        }
    }

    /// Adds the blocks around an instruction that is about to change or to go.
    pub(super) fn around(&mut self, func: &Rewriter<'_>, inst: Inst) {
        let Work::In(blocks) = self else { return };
        let readers = func.defs(inst).flat_map(|reg| func.def_use().reads(reg));
        let sources = func.uses(inst).flat_map(|reg| func.def_use().definitions(reg));
        blocks.extend(readers.chain(sources).chain([inst]).filter_map(|inst| func.block_of(inst)));
    }
}
