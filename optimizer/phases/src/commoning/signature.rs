//! Classes of instructions as a Bloom filter on the way down the dominator tree
//! (`spec/copy-propagation-and-cse.txt`, "Instruction Class Bitmask" and "Core Commoning Walker").
//!
//! An instruction has a signature of 64 bits. A block starts with all that are in the blocks which dominate it, and
//! each instruction adds its own. One that has a bit which is not there has no equal above, and nothing else is asked.
//! Equal expressions have equal signatures, since all that a signature is made of is part of the expression.

use cranelift_entity::SecondaryMap;

use super::facts::Facts;
use oriole_ir::ops::{NonCoherent, Shape, Space};
use oriole_ir::{Block, Function, Inst, InstData, RegFile};
use oriole_pass::engine::expression::Expression;
use oriole_pass::engine::expression::hash::code_hash;

/// Bit 0: eligible.
const ELIGIBLE: u64 = 1;
/// The first bit of the opcode's class, and how many there are.
const OPCODE: (u32, u64) = (1, 19);
/// The first bit of the state space's class: two bits.
const SPACE: u32 = 20;
/// The result is a uniform register.
const UNIFORM: u64 = 1 << 25;
/// A reference to memory that is not volatile.
const MEMORY: u64 = 1 << 27;
/// One to memory that may change.
const CHANGING: u64 = 1 << 28;
/// One with an offset beside the base.
const OFFSET: u64 = 1 << 29;
/// Under a guard.
const GUARDED: u64 = 1 << 32;
/// The first bit of the hash's class, and how many there are. The hash is not that of the value table, where equal ones
/// meet anyway.
const HASH: (u32, u64) = (33, 31);

/// The signature of an eligible instruction.
fn signature(func: &Function, inst: Inst, key: &Expression) -> u64 {
    let data = func.inst(inst);
    let uniform = func.defs(inst).any(|reg| matches!(func.regs()[reg].file, RegFile::UR | RegFile::UP));
    let one_of = |(first, count): (u32, u64), number: u64| 1 << (u64::from(first) + number % count);
    let opcode = one_of(OPCODE, data.opcode as u64);
    let bits = ELIGIBLE | opcode | one_of(HASH, code_hash(key.words()).into()) | reference(func, inst, data);
    bits | if uniform { UNIFORM } else { 0 } | if data.guard.is_some() { GUARDED } else { 0 }
}

/// The bits of a load; none of other instructions.
fn reference(func: &Function, inst: Inst, data: &InstData) -> u64 {
    let place = data.opcode.row().srcs.iter().position(|shape| *shape == Shape::Offset);
    let Some(place) = place else { return 0 };
    let space = match data.field::<Space>() {
        None | Some(Space::Generic) => 0,
        Some(Space::Global) => 1,
        Some(Space::Shared | Space::Cluster) => 2,
        Some(_) => 3,
    };
    let changing = data.field::<Space>() != Some(Space::Const) && data.field::<NonCoherent>() != Some(NonCoherent::Nc);
    let offset = func.srcs(inst).get(place).and_then(|offset| func.imm_bits(*offset)) != Some(0);
    MEMORY | space << SPACE | if changing { CHANGING } else { 0 } | if offset { OFFSET } else { 0 }
}

/// The signatures on the way down to the block at hand.
#[derive(Default)]
pub(super) struct Signatures {
    /// By block: those that are in it and in the blocks that dominate it.
    blocks: SecondaryMap<Block, u64>,
    /// Those above the instruction at hand.
    above: u64,
}

impl Signatures {
    /// Comes to a block, whose immediate dominator has been left.
    pub(super) fn enter(&mut self, facts: &Facts, block: Block) {
        let dominator = facts.dominators.immediate_dominator(&facts.cfg, block);
        self.above = dominator.map_or(0, |above| self.blocks[above]);
    }

    /// Leaves a block.
    pub(super) fn leave(&mut self, block: Block) {
        self.blocks[block] = self.above;
    }

    /// Whether an equal of an instruction may be above. From here on it is there itself.
    pub(super) fn may_stand(&mut self, func: &Function, inst: Inst, key: &Expression) -> bool {
        let signature = signature(func, inst, key);
        let known = signature & !self.above == 0;
        self.above |= signature;
        known
    }
}
