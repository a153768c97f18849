//! Mutators of control flow. After each, [`super::edit::repair`] puts phis and dominance right.

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Guard, Inst, Operand};

use super::choice::Choice;
use super::edit::{Substitution, become_plain, predecessors};
use crate::report::Evidence;
use oriole_generate::reachable;

/// Calls `edit` on every terminator.
fn terminators(evidence: &mut Evidence, mut edit: impl FnMut(&mut Function, Block, Inst)) {
    for func in evidence.module.functions.values_mut() {
        for block in func.layout().to_vec() {
            if let Some(inst) = func.terminator(block) {
                edit(func, block, inst);
            }
        }
    }
}

fn go(func: &mut Function, inst: Inst, target: Block) {
    become_plain(func, inst, Opcode::Bra, &[Operand::Block(target)]);
}

/// Blocks that end the function instead of continuing.
pub fn ends(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    terminators(evidence, |func, _, inst| {
        if func.inst(inst).opcode != Opcode::Ret && choice.take() {
            become_plain(func, inst, Opcode::Ret, &[]);
        }
    });
}

/// Functions that begin with a later block, without the ones before it.
pub fn later(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for func in evidence.module.functions.values_mut() {
        let blocks = func.layout().len();
        let skipped = (1..blocks).filter(|_| choice.take()).count();
        func.set_layout(func.layout()[skipped..].to_vec());
    }
}

/// Conditional branches and switches that always go to their first target.
pub fn first_side(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    side(evidence, choice, |blocks| blocks.first());
}

/// The same to their last target.
pub fn last_side(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    side(evidence, choice, |blocks| blocks.last());
}

fn side(evidence: &mut Evidence, choice: &mut Choice<'_>, pick: fn(&[Block]) -> Option<&Block>) {
    terminators(evidence, |func, block, inst| {
        let targets: Vec<Block> = func.successors(block).collect();
        let branches = matches!(func.inst(inst).opcode, Opcode::CBra | Opcode::Brx);
        if let Some(target) = pick(&targets).filter(|_| branches && choice.take()) {
            go(func, inst, *target);
        }
    });
}

/// Switches with one target less.
pub fn switch_targets(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    terminators(evidence, |func, _, inst| {
        if func.inst(inst).opcode != Opcode::Brx {
            return;
        }
        let mut kept = func.srcs(inst)[..1].to_vec();
        let targets = func.srcs(inst)[1..].to_vec();
        kept.extend(targets.iter().filter(|_| !choice.take()));
        if kept.len() > 1 && kept.len() <= targets.len() {
            func.set_srcs(inst, &kept);
        }
    });
}

/// Loops of one trip: a branch back to a test goes where the test leads, to either side.
pub fn one_trip(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    terminators(evidence, |func, block, inst| {
        let Some(head) = func.successors(block).next().filter(|_| func.inst(inst).opcode == Opcode::Bra) else {
            return;
        };
        let place = |wanted: Block| func.layout().iter().position(|block| *block == wanted);
        if place(head) > place(block) {
            return;
        }
        let tests = func.terminator(head).is_some_and(|test| func.inst(test).opcode == Opcode::CBra);
        let leaves = |next: &Block| tests && *next != head && *next != block;
        let target = func.successors(head).filter(leaves).find(|_| choice.take());
        if let Some(target) = target {
            go(func, inst, target);
        }
    });
}

/// Blocks that nothing leads to.
pub fn unreachable(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for func in evidence.module.functions.values_mut() {
        let reached = reachable(func);
        func.retain_blocks(|block| reached.contains(block) || !choice.take());
    }
}

/// Blocks that only branch on: who leads to them leads to their target.
pub fn detours(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for func in evidence.module.functions.values_mut() {
        for block in func.layout().iter().skip(1).copied().collect::<Vec<_>>() {
            let Some(only) = only_inst(func, block) else { continue };
            let target = func.srcs(only).first().and_then(|op| op.block()).filter(|target| *target != block);
            if let (Opcode::Bra, Some(target)) = (func.inst(only).opcode, target)
                && choice.take()
            {
                bypass(func, block, target);
            }
        }
    }
}

/// The instruction of a block that has no other.
fn only_inst(func: &Function, block: Block) -> Option<Inst> {
    func.first_inst(block).filter(|_| func.block_insts(block).len() == 1)
}

fn bypass(func: &mut Function, block: Block, target: Block) {
    let preds = predecessors(func);
    for pred in &preds[block] {
        if let Some(inst) = func.terminator(*pred) {
            let names = func.srcs_mut(inst).iter_mut().filter(|op| **op == Operand::Block(block));
            names.for_each(|op| *op = Operand::Block(target));
        }
    }
    for inst in func.block_insts(target).collect::<Vec<_>>() {
        if func.inst(inst).opcode != Opcode::Phi {
            break;
        }
        let mut srcs = func.srcs(inst).to_vec();
        let value = srcs.chunks_exact(2).find(|pair| pair[1] == Operand::Block(block)).map(|pair| pair[0]);
        for pred in preds[block].iter().filter(|pred| !preds[target].contains(pred)) {
            srcs.extend([value.unwrap_or(super::edit::ZERO), Operand::Block(*pred)]);
        }
        func.set_srcs(inst, &srcs);
    }
    func.retain_blocks(|other| *other != block);
}

/// Branches around a block that only has effects: its instructions get the condition as their guard.
pub fn guarded(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    terminators(evidence, |func, block, branch| {
        let &[Operand::Reg(condition), Operand::Block(yes), Operand::Block(no)] = func.srcs(branch) else { return };
        for (side, other, negated) in [(yes, no, false), (no, yes, true)] {
            if is_passed_by(func, block, side, other) && choice.take() {
                let guard = Guard::new(condition, negated);
                for inst in func.block_insts(side).collect::<Vec<_>>() {
                    if Some(inst) != func.terminator(side) {
                        func.set_guard(inst, Some(guard));
                    }
                }
                func.remove_inst(branch);
                func.move_insts(side, block);
                func.retain_blocks(|kept| *kept != side);
                return;
            }
        }
    });
}

/// Whether one side of a branch is a block of effects, behind which continues, or ends, what the other side is.
fn is_passed_by(func: &Function, block: Block, side: Block, other: Block) -> bool {
    let Some(end) = func.terminator(side).filter(|_| side != other) else { return false };
    let can_be_guarded = |inst: Inst| func.dsts(inst).is_empty() && func.inst(inst).guard.is_none();
    let same_end = only_inst(func, other).is_some_and(|only| func.inst(only).head() == func.inst(end).head());
    let meets = match func.inst(end).opcode {
        Opcode::Bra => func.srcs(end) == [Operand::Block(other)] && !begins_with_phi(func, other),
        Opcode::Ret | Opcode::Exit => same_end,
        _ => false,
    };
    let fits = meets && func.block_insts(side).all(|inst| inst == end || can_be_guarded(inst));
    fits && predecessors(func)[side] == [block]
}

fn begins_with_phi(func: &Function, block: Block) -> bool {
    func.first_inst(block).is_some_and(|inst| func.inst(inst).opcode == Opcode::Phi)
}

/// Blocks with one way in, from a block with one way out, joined to it.
pub fn joined(evidence: &mut Evidence, choice: &mut Choice<'_>) {
    for func in evidence.module.functions.values_mut() {
        // Joining two blocks leaves to every other one as many ways in as it had.
        let ways: SecondaryMap<Block, bool> = alone(func);
        let mut joined: SecondaryMap<Block, bool> = SecondaryMap::new();
        let mut substitution = Substitution::default();
        for block in func.layout().to_vec() {
            while let Some(next) = only_way(func, block, &ways).filter(|_| !joined[block] && choice.take()) {
                join(func, block, next, &mut substitution);
                joined[next] = true;
            }
        }
        func.retain_blocks(|block| !joined[*block]);
        substitution.apply(func);
    }
}

/// The blocks with one block that leads to them.
fn alone(func: &Function) -> SecondaryMap<Block, bool> {
    let preds = predecessors(func);
    let mut alone = SecondaryMap::new();
    func.layout().iter().for_each(|block| alone[*block] = preds[*block].len() == 1);
    alone
}

/// The block that this one goes to, if both have only each other.
fn only_way(func: &Function, block: Block, alone: &SecondaryMap<Block, bool>) -> Option<Block> {
    let last = func.terminator(block).filter(|inst| func.inst(*inst).opcode == Opcode::Bra)?;
    let next = func.srcs(last)[0].block()?;
    (alone[next] && next != block && next != func.entry()).then_some(next)
}

fn join(func: &mut Function, block: Block, next: Block, substitution: &mut Substitution) {
    if let Some(last) = func.last_inst(block) {
        func.remove_inst(last);
    }
    let insts: Vec<Inst> = func.block_insts(next).collect();
    for inst in &insts {
        if func.inst(*inst).opcode == Opcode::Phi {
            if let (Some(reg), Some(value)) = (func.defs(*inst).next(), func.srcs(*inst).first()) {
                substitution.replace(reg, *value);
            }
            substitution.remove(func, *inst);
        }
    }
    func.move_insts(next, block);
    for after in func.successors(block).collect::<Vec<_>>() {
        for inst in func.block_insts(after).collect::<Vec<_>>() {
            let names = func.srcs_mut(inst).iter_mut().filter(|op| **op == Operand::Block(next));
            names.for_each(|op| *op = Operand::Block(block));
        }
    }
}
