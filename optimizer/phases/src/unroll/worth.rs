//! How much code the copies of a loop's body are, against the loop.
//!
//! The unit is what one 32-bit instruction takes; copies of values and branches without a choice take nothing. In each
//! round some registers are constant: those that the test depends on, and what depends on these alone. What computes
//! them goes, as does the test. An access to memory, or anything else with an effect, that reads such a register takes
//! one instruction more, which puts the constant into a register.

use rustc_hash::FxHashSet;

use super::Shape;
use oriole_ir::ops::{Flags, Latency, Opcode};
use oriole_ir::{Block, Function, Inst, Operand, Reg};
use oriole_pass::analysis::Cfg;

/// The sizes of a loop.
pub(super) struct Size {
    /// The loop as it is.
    whole: u64,
    /// A copy for a round.
    round: u64,
    /// A copy for the last round.
    last: u64,
}

impl Size {
    /// The sizes, given the registers that are constant in each round.
    pub(super) fn new(
        func: &Function,
        cfg: &Cfg,
        shape: &Shape,
        to_test: &[Block],
        mut constant: FxHashSet<Reg>,
    ) -> Size {
        let mut size = Size { whole: 0, round: 0, last: 0 };
        let mut blocks = shape.blocks.clone();
        // What an instruction reads comes before it, but for what phis read.
        blocks.sort_by_key(|block| cfg.rpo_number(*block));
        for block in blocks {
            let branch = func.terminator(block).filter(|_| block == shape.test);
            for inst in func.block_insts(block) {
                let weight = weight(func, inst);
                let left = if Some(inst) == branch { 0 } else { left(func, inst, weight, &mut constant) };
                size.whole += weight;
                size.round += left;
                size.last += if to_test.contains(&block) { left } else { 0 };
            }
        }
        size
    }

    /// By how much so many bodies are larger than the loop, in which nothing is constant.
    pub(super) fn growth_of_whole(&self, rounds: u32) -> u64 {
        self.whole * u64::from(rounds - 1)
    }

    /// By how much so many rounds are larger than the loop.
    pub(super) fn growth(&self, rounds: u32) -> u64 {
        (self.round * u64::from(rounds - 1) + self.last).saturating_sub(self.whole)
    }
}

/// What is left of an instruction in a round.
fn left(func: &Function, inst: Inst, weight: u64, constant: &mut FxHashSet<Reg>) -> u64 {
    let data = func.inst(inst);
    let is_constant = |reg: Reg| constant.contains(&reg);
    let computes = data.is(Flags::PURE) && data.opcode != Opcode::Phi;
    let guard = data.guard.is_none_or(|guard| is_constant(guard.reg()));
    let of_constants = |input: &Operand| input.is_imm() || input.reg().is_some_and(is_constant);
    if computes && guard && func.inputs(inst).iter().all(of_constants) {
        constant.extend(func.defs(inst));
        return 0;
    }
    let puts_constant = !data.is(Flags::PURE) && func.uses(inst).any(is_constant);
    weight + u64::from(puts_constant)
}

fn weight(func: &Function, inst: Inst) -> u64 {
    let data = func.inst(inst);
    let row = data.opcode.row();
    match (data.opcode, row.latency, row.cost(&data.fields)) {
        (Opcode::Bra, ..) | (_, Latency::Free, _) | (_, _, 0) => 0,
        (Opcode::CBra, ..) | (_, Latency::Memory, _) => 1,
        (.., cost) => u64::from(cost / 2).max(1),
    }
}
