//! Stores that the same block overwrites before anything can read them.
//!
//! A walk up each block keeps the bytes that a store below certainly writes again: a plain store without a guard to the
//! same address and width. What may read some of them in between, this thread by a load or others behind a barrier, a
//! fence, an atomic or a call, takes them out. Stores that are volatile or ordered count as calls. A thread that reads
//! in between without any of these races, and of a race nothing is said.
//!
//! The walk keeps [`KEPT`] places, so that it is linear.

use std::collections::VecDeque;

use cranelift_entity::EntitySet;

use super::facts::Facts;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst};
use oriole_pass::analysis::memory::alias::{Alias, alias};
use oriole_pass::analysis::memory::{Effect, Location};
use oriole_pass::pass::{Changed, PhaseContext};

/// What a removed store is counted as.
const DEAD: &str = "access:dead-store";
/// How many places a walk keeps, the nearest ones.
const KEPT: usize = 16;

/// Removes them, but for those that are closed.
pub(super) fn run(func: &mut Function, cx: &mut PhaseContext<'_>, facts: &Facts, closed: &EntitySet<Inst>) -> Changed {
    let mut changed = Changed::No;
    for block in facts.cfg.rpo() {
        for store in dead(func, facts, *block) {
            if closed.contains(store) || !cx.rewrite(DEAD) {
                continue;
            }
            func.remove_inst(store);
            changed = Changed::Yes;
        }
    }
    changed
}

/// The dead stores of a block.
fn dead(func: &Function, facts: &Facts, block: Block) -> Vec<Inst> {
    let mut written: VecDeque<Location> = VecDeque::new();
    let mut dead = Vec::new();
    for inst in func.block_insts(block).rev() {
        match facts.effect(func, inst) {
            Effect::None => {}
            Effect::Writes(at) if func.inst(inst).opcode == Opcode::St => {
                if written.iter().any(|below| alias(&at, below, false) == Alias::Must) {
                    dead.push(inst);
                } else if func.inst(inst).guard.is_none() {
                    written.truncate(KEPT - 1);
                    written.push_front(at);
                }
            }
            Effect::Reads(at) | Effect::Writes(at) | Effect::Updates(at) => {
                written.retain(|below| alias(&at, below, false) == Alias::No);
            }
            Effect::Orders | Effect::Anything => written.clear(),
        }
    }
    dead
}
