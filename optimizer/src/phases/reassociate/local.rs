//! Windowed local commoning: of equal operations in a block the later one goes, if the earlier one stands at most so
//! many instructions before it.
//!
//! Operations on registers alone: loads and whole functions are value numbering's and late commoning's. Copies are copy
//! propagation's.

use crate::analysis::Cfg;
use crate::pass::{Changed, PhaseContext};
use crate::phases::commoning::expression::Expression;
use crate::phases::commoning::table::ValueTable;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Inst, Reg, Rewriter};

const COMMON: &str = "common";

/// Commons in every reachable block.
pub(super) fn common(func: &mut Rewriter<'_>, cx: &mut PhaseContext<'_>, cfg: &Cfg, window: u32) -> Changed {
    cfg.rpo().iter().fold(Changed::No, |changed, block| changed | common_block(func, cx, *block, window))
}

fn common_block(func: &mut Rewriter<'_>, cx: &mut PhaseContext<'_>, block: Block, window: u32) -> Changed {
    let mut seen = ValueTable::<(Inst, u32)>::default();
    let mut expression = Expression::default();
    let mut changed = Changed::No;
    let mut next = func.first_inst(block);
    for place in 0.. {
        let Some(inst) = next else { break };
        next = func.next_inst(inst);
        let data = func.inst(inst);
        if !data.is(Flags::PURE) || data.is(Flags::COPY) || data.opcode == Opcode::Phi {
            continue;
        }
        expression.assign(func, inst, Reg::as_u32, None);
        let (earlier, new) = seen.entry(&expression, || (inst, place));
        if new {
            continue;
        }
        if place - earlier.1 > window {
            *earlier = (inst, place);
        } else if cx.rewrite(COMMON) {
            replace(func, inst, earlier.0);
            changed = Changed::Yes;
        }
    }
    changed
}

/// Has what an instruction yields read from an equal one, and removes it.
fn replace(func: &mut Rewriter<'_>, inst: Inst, by: Inst) {
    let pairs: Vec<(Reg, Reg)> = func.defs(inst).zip(func.defs(by)).collect();
    pairs.into_iter().for_each(|(old, new)| func.replace_reads(old, new));
    func.remove(inst);
}
