//! The shape of a branch that can be converted: arms that only the branch leads to, and that lead to one join.

use cranelift_entity::SecondaryMap;

use oriole_ir::ops::Latency;
use oriole_ir::{Block, Function, Guard, Inst};
use oriole_pass::edit::graph::{has_phis, is_free, jump_target, two_ways};

/// Instructions of an arm that are looked at; more are too many under any limit.
const MOST_INSTS: usize = 64;

/// One side of a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Arm {
    pub(super) block: Block,
    /// Where control comes to it.
    pub(super) guard: Guard,
}

/// A branch, its arms in the order in which they are to stand, and where they meet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Region {
    pub(super) head: Block,
    pub(super) arms: Vec<Arm>,
    pub(super) join: Block,
}

impl Region {
    /// The region that a block's branch begins; `ways` says how many blocks lead to each.
    pub(super) fn of(func: &Function, ways: &SecondaryMap<Block, u32>, head: Block) -> Option<Region> {
        let (condition, yes, no) = two_ways(func, head)?;
        let condition = condition.whole_reg()?;
        let arm = |block: Block, negated: bool| {
            let fits = ways[block] == 1 && block != func.entry() && is_simple(func, block);
            let join = jump_target(func, block).filter(|join| fits && *join != head && *join != block)?;
            Some((Arm { block, guard: Guard::new(condition, negated) }, join))
        };
        let (arms, join) = match (arm(yes, false), arm(no, true)) {
            (Some((one, join)), Some((two, other))) if join == other => (vec![two, one], join),
            (Some((one, join)), _) if join == no => (vec![one], join),
            (_, Some((two, join))) if join == yes => (vec![two], join),
            _ => return None,
        };
        Some(Region { head, arms, join })
    }

    /// How many edges lead from the region to its join.
    pub(super) fn edges(&self) -> u32 {
        2
    }

    /// The block from which control comes to the join on the other way than through an arm.
    pub(super) fn other(&self, arm: usize) -> Block {
        match &self.arms[..] {
            [_] => self.head,
            arms => arms[1 - arm].block,
        }
    }
}

/// Whether a block holds few instructions, each of which may be guarded.
fn is_simple(func: &Function, block: Block) -> bool {
    let branch = func.terminator(block);
    let few = func.block_insts(block).len() <= MOST_INSTS;
    few && !has_phis(func, block)
        && func.block_insts(block).all(|inst| Some(inst) == branch || is_convertible(func, inst))
}

/// Whether an instruction may be guarded, and takes about as long as one instruction of the machine.
fn is_convertible(func: &Function, inst: Inst) -> bool {
    let latency = func.inst(inst).opcode.row().latency;
    is_free(func, inst) && !matches!(latency, Latency::Expanded | Latency::Wait)
}
