//! The worker of hoisting, sinking and movement: it moves instructions, one after the other, to where they belong.
//!
//! `spec/instruction-movement.txt` has one worker for loop-invariant code motion and for the movements (`sub_A112C0`),
//! driven by a predicate and a direction. Here a [`Movement`] says of an instruction which place it may go to, whether
//! it is of the kind that moves included, and whether that pays; the worker asks for leave, moves, and tells it.
//!
//! *Measure*: a place is further up the dominator tree, or further up in a block, for every instruction that moves up,
//! and further down for every one that moves down. Both ways end, and the worker offers each instruction
//! once, so a run ends.
//!
//! Cost: linear in instructions, times what a movement takes for one.

use crate::analysis::{Cfg, Dominators};
use crate::pass::{Changed, PhaseContext};
use oriole_ir::{Block, Function, Inst};

/// The way that instructions go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Toward the entry: what an instruction reads was moved before it.
    Up,
    /// Toward the ends: what reads an instruction was moved before it.
    Down,
}

/// A kind of movement, with what it knows of the function at hand.
pub trait Movement {
    /// The instruction in front of which one of a block may go; `None` where it stays.
    fn place(&self, func: &Function, inst: Inst, block: Block) -> Option<Inst>;

    /// Whether it pays to move an instruction there; it is moved then, if there is leave.
    fn pays(&mut self, func: &Function, cx: &mut PhaseContext<'_>, inst: Inst) -> bool;

    /// Notes that an instruction is in another block, or elsewhere in its own.
    fn moved(&mut self, func: &Function, inst: Inst, to: Block);
}

/// Moves the instructions of some blocks, which come in the order in which they are looked at.
pub fn run(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    (rule, direction): (&'static str, Direction),
    blocks: &[Block],
    movement: &mut impl Movement,
) -> Changed {
    let (cfg, dominators) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Dominators>(func));
    let mut changed = Changed::No;
    for block in blocks {
        let mut insts: Vec<Inst> = func.block_insts(*block).collect();
        if direction == Direction::Down {
            insts.reverse();
        }
        for inst in insts {
            let Some(before) = movement.place(func, inst, *block) else { continue };
            let to = func.block_of(before).expect("a place is in a block");
            debug_assert!(
                match direction {
                    Direction::Up if to == *block => func.is_before(before, inst),
                    Direction::Down if to == *block => func.is_before(inst, before),
                    Direction::Up => dominators.dominates(&cfg, to, *block),
                    // Nothing dominates a block that control does not reach.
                    Direction::Down => dominators.dominates(&cfg, *block, to) || !cfg.is_reachable(to),
                },
                "{inst} does not go {direction:?} from {block} to {to}"
            );
            if !movement.pays(func, cx, inst) {
                continue;
            }
            if !cx.rewrite(rule) {
                return changed;
            }
            func.remove_inst(inst);
            func.insert_before(before, inst);
            movement.moved(func, inst, to);
            changed = Changed::Yes;
        }
    }
    changed
}
