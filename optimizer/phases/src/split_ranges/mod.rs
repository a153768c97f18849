//! OriSplitLiveRanges (phase 19, `spec/liveness-and-dce.txt`): parts of a value's life get registers of their own where
//! more words are live than the budget has. OriSplitHighPressureLiveRanges (phase 138) does the same once everything
//! else has run, and more.
//!
//! 1. Around loops ([`borders`]): a value from before a loop that only code behind the loop reads becomes three: one
//!    before the loop, one through it, one behind. The cheapest are taken first by their spill cost, until the words
//!    above the budget are matched.
//! 2. Along chains of phis ([`chains`]): a source of a phi that interferes with what the phi's other sources are
//!    joined to gets a range of its own at the end of the predecessor, where leaving SSA form would need a copy anyway.
//! 3. In blocks ([`gaps`]), phase 138 alone: a value that nothing touches around the point where most words are live.
//!
//! A split is the opcode `split` (46 on the page): a copy that nothing looks through, so that neither copy propagation
//! and commoning nor the coalescing of SSA destruction joins its sides again. To an allocator the parts are apart: it
//! can keep the middle one in memory with one store and one load, both outside of the loop. In printed PTX a split is
//! a `mov`; ptxas coalesces copies by its own measure, so there it is a hint at most.
//!
//! The budget is what a thread can name, 255 words, or what the directive `.maxnreg` leaves it; the knob
//! `SplitLiveRangesBudget` sets another. A function under its budget is left alone, so no split is executed where the
//! registers suffice. Values of one or two words of the file R alone are split.
//!
//! The page says of phase 138 that it is late and aggressive, for ranges whose pressure is still too high after
//! legalization. Here it works on virtual registers before there is an allocation. It is off unless the knob
//! `SplitHighPressureLiveRanges` is on, since splits pay where an allocator puts parts into memory.
//!
//! Cost: linear where the function has no more words than the budget; else liveness, pressure, and for each loop over
//! the budget the values that live through it; loops beyond [`borders::MOST_BITS`] and phis beyond
//! [`chains::MOST_MEMBERS`] ranges are left alone.

mod borders;
mod chains;
mod gaps;
mod interference;

use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Function, Inst, InstBuilder, Reg, RegFile, RegInfo};
use oriole_pass::analysis::{AnalysisSet, Pressure};
use oriole_pass::engine::registers::{budget, pressure, words_in_all};
use oriole_pass::pass::{Changed, Knob, PhaseContext};

/// A way to split ranges, where more words are live than the budget has.
type Step = fn(&mut Function, &mut PhaseContext<'_>, &Pressure, u32) -> Changed;

/// OriSplitLiveRanges.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    split(func, cx, Knob::SplitLiveRanges, &[borders::split, chains::split])
}

/// OriSplitHighPressureLiveRanges.
pub fn run_late(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    split(func, cx, Knob::SplitHighPressureLiveRanges, &[borders::split, chains::split, gaps::split])
}

fn split(func: &mut Function, cx: &mut PhaseContext<'_>, knob: Knob, steps: &[Step]) -> Changed {
    let budget = budget(func, cx.knobs.limit(Knob::SplitLiveRangesBudget));
    if !cx.knobs.flag(knob) || words_in_all(func, RegFile::R) <= u64::from(budget) {
        return Changed::No;
    }
    let mut changed = Changed::No;
    for step in steps {
        let made = while_over_budget(func, cx, budget, *step);
        if made.is_yes() {
            cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
        }
        changed |= made;
    }
    changed
}

/// Does a step where more words are live somewhere than the budget has.
fn while_over_budget(func: &mut Function, cx: &mut PhaseContext<'_>, budget: u32, step: Step) -> Changed {
    let pressure = pressure(func, cx);
    if pressure.max().of(RegFile::R) <= budget { Changed::No } else { step(func, cx, &pressure, budget) }
}

/// Whether a split takes a register of this kind.
fn takes(info: RegInfo) -> bool {
    info.file == RegFile::R && info.words <= 2
}

/// A split of a register, which is in no block yet, and its destination.
fn split_of(func: &mut Function, reg: Reg) -> (Inst, Reg) {
    let info = func.regs()[reg];
    let ty = if info.words == 1 { Type::B32 } else { Type::B64 };
    let part = func.new_reg(info);
    (InstBuilder::new(Opcode::Split).field(ty).dst(part).src(reg).create(func), part)
}
