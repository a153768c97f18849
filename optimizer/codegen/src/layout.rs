//! The order of blocks: jumps to the block that follows go, and what continues does so to the block that follows.

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Guard, Inst, Operand};
use oriole_pass::analysis::Cfg;

use crate::select::{branch, go_on};

/// Gives a function of the machine its order: blocks that control does not reach go, and each jump that may also
/// continue is followed by the block to which it does.
///
/// A branch that only the order of blocks decides has no word: `bra` to the next block stays, and one to another
/// becomes `BRA`.
pub fn arrange(func: &mut Function) {
    let cfg = Cfg::new(func);
    func.retain_blocks(|block| cfg.is_reachable(*block));
    let mut at = 0;
    while let Some(block) = func.layout().get(at).copied() {
        let next = func.layout().get(at + 1).copied();
        if let Some(last) = func.terminator(block) {
            end(func, block, last, next, at);
        }
        at += 1;
    }
    close(func);
}

fn end(func: &mut Function, block: Block, last: Inst, next: Option<Block>, at: usize) {
    let (data, line) = (*func.inst(last), func.inst(last).line);
    let targets: Vec<Block> = func.successors(block).collect();
    match (data.opcode, &targets[..]) {
        (Opcode::Bra, [to]) if Some(*to) != next => {
            func.remove_inst(last);
            branch(func, block, None, &[*to], line);
        }
        (Opcode::MachineJump, [to, rest]) if Some(*rest) != next => {
            let guard = data.guard;
            func.remove_inst(last);
            if Some(*to) == next {
                branch(func, block, guard.map(Guard::opposite), &[*rest, *to], line);
                return;
            }
            let between = func.create_block();
            func.insert_block(at + 1, between);
            branch(func, block, guard, &[*to, between], line);
            go_on(func, between, *rest, line);
        }
        _ => {}
    }
}

/// Behind the code is a jump to itself, so that what is fetched ahead leads nowhere.
fn close(func: &mut Function) {
    let last = func.layout().last().copied().filter(|block| {
        let end = func.terminator(*block);
        end.is_some_and(|end| func.inst(end).is(Flags::MACHINE) && func.srcs(end).contains(&Operand::Block(*block)))
    });
    if last.is_none() {
        let block = func.new_block();
        branch(func, block, None, &[block], 0);
    }
}
