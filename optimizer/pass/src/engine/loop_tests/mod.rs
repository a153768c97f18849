//! Loops that one edge leaves, behind a test that each round executes once, how often the test is executed, and what
//! counts the rounds.

mod counters;
mod trips;

use crate::analysis::{Cfg, Dominators, Loop, LoopNest};
use crate::edit::graph::two_ways;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Operand};

pub use counters::{Compared, Counter, Order, limits, negated, signed};
pub use trips::Trips;

/// Blocks of a loop that is looked at.
const MOST_BLOCKS: usize = 64;

/// A loop that one edge leaves, behind a test that each round executes once.
pub struct Shape {
    /// Where control enters the loop.
    pub header: Block,
    /// In layout order.
    pub blocks: Vec<Block>,
    /// The blocks that lead back to the header.
    pub latches: Vec<Block>,
    /// The predicate that the test branches on.
    pub condition: Operand,
    /// The block with the test.
    pub test: Block,
    /// Where control goes from the test to stay in the loop.
    pub stays: Block,
    /// Where control goes from the test to leave the loop.
    pub exit: Block,
    /// Whether control leaves where the condition is true.
    pub leaves_if: bool,
}

impl Shape {
    /// The shape of a natural loop that is such a loop and has no branch tables. Asks what costs least first.
    pub fn of(func: &Function, cfg: &Cfg, dominators: &Dominators, nest: &LoopNest, of: Loop) -> Option<Shape> {
        if nest.blocks(of).len() > MOST_BLOCKS {
            return None;
        }
        let mut exits = nest.exits(cfg, of);
        let (test, exit) = exits.next().filter(|_| exits.next().is_none())?;
        let (condition, yes, no) = two_ways(func, test)?;
        let mut blocks = nest.blocks(of).to_vec();
        blocks.sort_by_key(|block| cfg.position(*block));
        let (stays, leaves_if) = if yes == exit { (no, true) } else { (yes, false) };
        let (header, latches) = (nest.header(of), nest.latches(cfg, of).collect());
        let shape = Shape { header, blocks, latches, condition, test, stays, exit, leaves_if };
        let each_round = nest.innermost(cfg, test) == Some(of) && shape.in_each_round(cfg, dominators, test);
        (each_round && shape.blocks.iter().all(|block| is_plain(func, *block))).then_some(shape)
    }

    /// Whether every round that continues has been in a block.
    pub fn in_each_round(&self, cfg: &Cfg, dominators: &Dominators, block: Block) -> bool {
        self.latches.iter().all(|latch| dominators.dominates(cfg, block, *latch))
    }
}

/// Whether a block ends with a branch to one or two blocks.
fn is_plain(func: &Function, block: Block) -> bool {
    let branch = func.terminator(block).map(|inst| func.inst(inst).opcode);
    matches!(branch, Some(Opcode::Bra | Opcode::CBra))
}
