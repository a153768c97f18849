//! Short arms of branches become guarded instructions, so that lanes need not part.
//!
//! An arm is a block that one branch alone leads to, and that leads to one block alone. Each instruction of it gets the
//! branch's predicate as its guard; one that makes a value for the arm alone, and does nothing else, needs none. Where
//! both arms of a branch write a register, the first one does so without a guard: the other writes it again for its
//! lanes.
//!
//! **Invariant:** an arm has no instruction that other lanes take part in or wait for, none that has a guard, and none
//! that writes the predicate; uniform registers are those of the whole warp, and no guard keeps lanes from them.

use cranelift_entity::SecondaryMap;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Guard, Inst, Operand, Reg, RegFile};
use oriole_pass::analysis::Cfg;
use rustc_hash::FxHashSet;

use super::emit::Emit;
use super::flow::go_on;

/// How many instructions of arms are executed by all lanes rather than by those that the branch sends there. A branch
/// at which lanes part costs three instructions more than one at which they stay together.
const MOST_DIVERGENT: usize = 7;
const MOST_UNIFORM: usize = 3;
/// Rounds, each of which makes arms of branches whose own arms are gone.
const ROUNDS: usize = 4;

/// Where a register is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Seen {
    #[default]
    Nowhere,
    In(Block),
    Everywhere,
}

/// A branch with its arms, each with the guard under which lanes go there, and where they meet.
struct Branch {
    block: Block,
    arms: Vec<(Block, Guard)>,
    join: Block,
}

impl Emit {
    /// Makes short arms of branches guarded instructions. `is_divergent` says of a block whether lanes part at its end.
    pub fn predicate(&mut self, is_divergent: &dyn Fn(Block) -> bool) {
        for _ in 0..ROUNDS {
            let cfg = Cfg::new(&self.func);
            let seen = self.seen();
            // Blocks that are no longer what the graph says.
            let mut changed: FxHashSet<Block> = FxHashSet::default();
            for block in cfg.rpo().iter().rev() {
                let Some(branch) = self.branch(&cfg, *block) else { continue };
                let parts = [branch.block, branch.join].into_iter().chain(branch.arms.iter().map(|(arm, _)| *arm));
                let parts: Vec<Block> = parts.collect();
                let is_known = parts.iter().all(|part| !changed.contains(part));
                let most =
                    if is_divergent(self.rest_of[*block].unwrap_or(*block)) { MOST_DIVERGENT } else { MOST_UNIFORM };
                if is_known && self.length(&branch).is_some_and(|length| length <= most) {
                    self.flatten(&cfg, &branch, &seen);
                    changed.extend(parts);
                }
            }
            if changed.is_empty() {
                break;
            }
        }
    }

    /// Where each register is accessed.
    fn seen(&self) -> SecondaryMap<Reg, Seen> {
        let mut seen: SecondaryMap<Reg, Seen> = SecondaryMap::new();
        for block in self.func.layout() {
            for inst in self.func.block_insts(*block) {
                let guard = self.func.inst(inst).guard.map(Guard::reg);
                let named =
                    self.func.dsts(inst).iter().chain(self.func.inputs(inst)).filter_map(|operand| operand.reg());
                for reg in named.chain(guard) {
                    seen[reg] = match seen[reg] {
                        Seen::Nowhere => Seen::In(*block),
                        Seen::In(other) if other == *block => seen[reg],
                        _ => Seen::Everywhere,
                    };
                }
            }
        }
        seen
    }

    /// A block's branch, if it has arms.
    fn branch(&self, cfg: &Cfg, block: Block) -> Option<Branch> {
        let last = self.func.terminator(block)?;
        let data = self.func.inst(last);
        let guard = data.guard.filter(|_| data.opcode == Opcode::MachineJump)?;
        let [truth, Operand::Block(taken), Operand::Block(rest)] = *self.func.srcs(last) else { return None };
        let leads_to = |arm: Block| {
            let is_arm = cfg.predecessors(arm) == [block] && arm != block && self.only_goes_on(arm);
            is_arm.then(|| cfg.successors(arm)[0])
        };
        let (first, second) = ((rest, guard.opposite()), (taken, guard));
        let (arms, join) = match (leads_to(rest), leads_to(taken)) {
            _ if taken == rest || truth != Operand::wired(RegFile::P, 1) => return None,
            (Some(join), _) if join == taken => (vec![first], join),
            (_, Some(join)) if join == rest => (vec![second], join),
            (Some(join), Some(other)) if join == other => (vec![first, second], join),
            _ => return None,
        };
        (join != block).then_some(Branch { block, arms, join })
    }

    /// Whether a block ends by going to one other.
    fn only_goes_on(&self, block: Block) -> bool {
        let last = self.func.terminator(block).map(|last| self.func.inst(last));
        last.is_some_and(|last| last.opcode == Opcode::Bra && last.guard.is_none())
    }

    /// How many instructions the arms have; `None` if some cannot be guarded.
    fn length(&self, branch: &Branch) -> Option<usize> {
        let mut length = 0;
        for (arm, guard) in &branch.arms {
            for inst in self.body(*arm) {
                if !self.can_be_guarded(inst, guard.reg()) {
                    return None;
                }
                length += 1;
            }
        }
        Some(length)
    }

    fn body(&self, block: Block) -> Vec<Inst> {
        let last = self.func.terminator(block);
        self.func.block_insts(block).filter(|inst| Some(*inst) != last).collect()
    }

    fn can_be_guarded(&self, inst: Inst, predicate: Reg) -> bool {
        let data = self.func.inst(inst);
        let is_alone = matches!(
            data.opcode,
            Opcode::MachinePure | Opcode::MachineLoad | Opcode::MachineStore | Opcode::MachineAtomic
        );
        let keeps = |dst: &Operand| {
            dst.reg().is_none_or(|reg| {
                let file = self.func.regs()[reg].file;
                reg != predicate && !matches!(file, RegFile::UR | RegFile::UP | RegFile::B)
            })
        };
        let family = self.func.mnemonic(inst);
        let is_of_warp = family.is_none_or(|name| name.contains("MMA") || name.starts_with('U'));
        is_alone && data.guard.is_none() && !is_of_warp && self.func.dsts(inst).iter().all(keeps)
    }

    /// Puts the arms of a branch in front of it, and leads on to where they meet.
    fn flatten(&mut self, cfg: &Cfg, branch: &Branch, seen: &SecondaryMap<Reg, Seen>) {
        let Branch { block, arms, join } = branch;
        let last = self.func.terminator(*block).expect("it ends with the branch");
        let line = self.func.inst(last).line;
        self.func.remove_inst(last);
        let bodies: Vec<Vec<Inst>> = arms.iter().map(|(arm, _)| self.body(*arm)).collect();
        for (at, (arm, guard)) in arms.iter().enumerate() {
            let other = bodies.get(at + 1).filter(|_| at == 0);
            for inst in &bodies[at] {
                let is_own = self.makes_for_arm(*inst, *arm, &bodies[at], seen)
                    || other.is_some_and(|other| self.is_made_again(*inst, other));
                self.func.remove_inst(*inst);
                self.func.append_inst(*block, *inst);
                if !is_own {
                    self.func.set_guard(*inst, Some(*guard));
                }
            }
        }
        let gone: Vec<Block> = arms.iter().map(|(arm, _)| *arm).collect();
        self.func.retain_blocks(|other| !gone.contains(other));
        let only_arms = cfg.predecessors(*join).iter().all(|before| before == block || gone.contains(before));
        if only_arms && *join != self.func.entry() {
            self.func.move_insts(*join, *block);
            self.func.retain_blocks(|other| other != join);
            self.rest_of[*block] = Some(self.rest_of[*join].unwrap_or(*join));
        } else {
            go_on(&mut self.func, *block, *join, line);
        }
    }

    /// Whether an instruction makes values that its arm alone reads, and does nothing else.
    fn makes_for_arm(&self, inst: Inst, arm: Block, body: &[Inst], seen: &SecondaryMap<Reg, Seen>) -> bool {
        let is_local = |dst: &Operand| {
            dst.reg().is_none_or(|reg| seen[reg] == Seen::In(arm) && self.first_write(reg, body).is_some())
        };
        self.func.inst(inst).opcode == Opcode::MachinePure && self.func.dsts(inst).iter().all(is_local)
    }

    /// Whether the other arm writes all that an instruction makes before it reads anything of it.
    fn is_made_again(&self, inst: Inst, other: &[Inst]) -> bool {
        let again = |dst: &Operand| {
            let first = dst.reg().map(|reg| self.first_write(reg, other));
            first.is_none_or(|first| first.is_some_and(|first| self.func.dsts(first).contains(dst)))
        };
        self.func.inst(inst).opcode == Opcode::MachinePure && self.func.dsts(inst).iter().all(again)
    }

    /// The first access of a register among instructions, if it is a write.
    fn first_write(&self, reg: Reg, body: &[Inst]) -> Option<Inst> {
        let names = |operands: &[Operand]| operands.iter().any(|operand| operand.reg() == Some(reg));
        let first = body.iter().copied().find(|inst| names(self.func.dsts(*inst)) || names(self.func.inputs(*inst)));
        first.filter(|inst| !names(self.func.inputs(*inst)))
    }
}

#[cfg(test)]
mod tests {
    use oriole_ir::{Function, FunctionKind, Level, RegInfo};
    use oriole_sass::Table;

    use super::super::emit::never;
    use super::super::flow::branch;
    use super::*;

    /// Which instructions of two arms are guarded, the first arm's before the second's: `v` becomes 7 in the first, and
    /// what `second` makes of it in the other.
    fn guarded(second: impl FnOnce(&mut Emit, Operand)) -> Vec<bool> {
        let mut func = Function::new("f", FunctionKind::Entry);
        func.level = Level::Machine;
        let mut emit = Emit::new(func, Table::of(90).expect("it is known"));
        let blocks = [(); 4].map(|()| emit.func.new_block());
        let flag = emit.new_reg(RegInfo::PRED);
        let value = Operand::Reg(emit.temp(1));
        let [start, rest, taken, join] = blocks;
        branch(&mut emit.func, start, Some(Guard::new(flag, false)), &[taken, rest], 0);
        emit.block = rest;
        let seven = emit.func.imm(7);
        emit.copy_word(value, seven);
        emit.go_on(join);
        emit.block = taken;
        second(&mut emit, value);
        emit.go_on(join);
        emit.block = join;
        let zero = (Operand::wired(RegFile::R, 1), emit.func.imm(0));
        emit.op("STS", &[], &[zero.0, zero.1, value]).expect("the SM has it");
        emit.op("EXIT", &[], &[Operand::wired(RegFile::P, 1)]).expect("the SM has it");
        emit.predicate(&|_| true);
        assert_eq!(emit.func.layout(), [start], "the arms are gone");
        let insts = emit.func.block_insts(start);
        insts.take(2).map(|inst| emit.func.inst(inst).guard.is_some()).collect()
    }

    #[test]
    fn what_both_arms_make_is_guarded_in_the_second() {
        let nine = |emit: &mut Emit, value| {
            let nine = emit.func.imm(9);
            emit.copy_word(value, nine);
        };
        assert_eq!(guarded(nine), [false, true]);
    }

    /// The other arm reads what was there before.
    #[test]
    fn what_the_other_arm_reads_is_guarded_in_both() {
        let more = |emit: &mut Emit, value| {
            let (truth, zero) = (Operand::wired(RegFile::P, 1), Operand::wired(RegFile::R, 1));
            let one = emit.func.imm(1);
            emit.op("IADD3", &[value, truth, truth], &[value, one, zero, never(), never()]).expect("the SM has it");
        };
        assert_eq!(guarded(more), [true, true]);
    }

    /// The other arm leaves it as it was.
    #[test]
    fn what_one_arm_makes_is_guarded() {
        let other = |emit: &mut Emit, _| {
            let (offset, zero) = (emit.func.imm(4), Operand::wired(RegFile::R, 1));
            emit.op("STS", &[], &[zero, offset, zero]).expect("the SM has it");
        };
        assert_eq!(guarded(other), [true, true]);
    }
}
