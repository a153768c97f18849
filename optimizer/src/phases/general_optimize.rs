//! GeneralOptimize: the bundle of phases 13, 29, 37, 46, 58 and 65 (`spec/copy-propagation-and-cse.txt`, "Interaction
//! Between Passes").
//!
//! A round is forward copy propagation, constant folding with algebraic simplification of what changes have touched,
//! then the removal of definitions that nothing reads. Rounds end when one changes nothing, or before:
//!
//! - variant A (13, 29) after as many rounds as knob 464, `GeneralOptimizeIterations`, allows;
//! - variant B (37, 58) when a round gains less than a part of its cost, knob 474, `GeneralOptimizeCostThreshold`. The
//!   page gives no formula: here the cost of a round is what the round before it gained, and a gain is one change;
//! - the other two (46, 65) have no limit of their own.
//!
//! In virtual form a round is copy propagation by reaching definitions, where its knob is on, and dead code; in
//! physical form copy propagation over the registers of the machine, and dead code.
//!
//! The step `OriCopyProp` can be turned off by name, or run alone.

use super::touched::Touched;
use super::{copy_prop, live_dead, simplify};
use crate::analysis::{AnalysisId, AnalysisSet, Cfg, RepeatedWork};
use crate::pass::{Changed, Knob, PhaseContext};
use oriole_ir::{Form, Function};

/// What ends the rounds before they run dry.
#[derive(Clone, Copy)]
enum Limit {
    Rounds(Option<u32>),
    Threshold(f64),
}

/// Phases 13 and 29: rounds are counted.
pub fn counted(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let limit = Limit::Rounds(cx.knobs.limit(Knob::GeneralOptimizeIterations));
    rounds(func, cx, limit, false)
}

/// Phase 37: rounds must be worth their cost.
pub fn weighed(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let limit = Limit::Threshold(cx.knobs.real(Knob::GeneralOptimizeCostThreshold));
    rounds(func, cx, limit, false)
}

/// Phase 58: the same, late.
pub fn weighed_late(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let limit = Limit::Threshold(cx.knobs.real(Knob::GeneralOptimizeCostThreshold));
    rounds(func, cx, limit, true)
}

/// Phase 46: until nothing changes.
pub fn unlimited(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, Limit::Rounds(None), false)
}

/// Phase 65: the same, late.
pub fn unlimited_late(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, Limit::Rounds(None), true)
}

/// In other forms: copies, and what nothing reads then, until nothing changes.
fn outside_ssa(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let copies = if func.form == Form::Physical { copy_prop::physical::run } else { copy_prop::outside_ssa::run };
    let mut changed = Changed::No;
    while cx.allows("OriCopyProp") && copies(func, cx).is_yes() {
        changed = Changed::Yes;
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
        if cx.allows("LocalDeadCode") && live_dead::sweep(func, cx, &mut Touched::everything()).is_yes() {
            cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
        }
    }
    if changed.is_yes() {
        cx.preserve(AnalysisSet::CONTROL_FLOW);
    }
    changed
}

fn rounds(func: &mut Function, cx: &mut PhaseContext<'_>, limit: Limit, late: bool) -> Changed {
    if func.form != Form::Ssa {
        return outside_ssa(func, cx);
    }
    let cfg = cx.analyses.get::<Cfg>(func);
    let mut changed = Changed::No;
    let mut cost = 0;
    let mut touched = Touched::everything();
    for number in 0u32.. {
        if matches!(limit, Limit::Rounds(Some(most)) if number >= most) {
            break;
        }
        let before = cx.rewrites_made();
        let round = round(func, cx, late, &mut touched);
        changed |= round;
        cx.count("rounds", 1);
        let gain = cx.rewrites_made() - before;
        let worth = match limit {
            Limit::Rounds(_) => true,
            Limit::Threshold(part) => gain as f64 >= part * cost as f64,
        };
        if !round.is_yes() || !worth {
            break;
        }
        cost = gain;
    }
    if cx.analyses.holds(&cfg) {
        cx.preserve(AnalysisSet::CONTROL_FLOW);
    }
    cx.keep_analyses();
    changed
}

/// After each step the analyses that its changes leave true are kept for the next one.
fn round(func: &mut Function, cx: &mut PhaseContext<'_>, late: bool, touched: &mut Touched) -> Changed {
    let mut changed = Changed::No;
    if cx.allows("OriCopyProp") {
        // It changes operands alone.
        let kept = AnalysisSet::CONTROL_FLOW.union(AnalysisSet::of(&[AnalysisId::Definitions]));
        let work = if late { RepeatedWork::LateCopyPropagation } else { RepeatedWork::CopyPropagation };
        changed |= step(func, cx, work, kept, |func, cx| copy_prop::run(func, cx, late, touched));
    }
    if cx.allows("Simplify") {
        changed |= simplified(func, cx, touched);
    }
    if cx.allows("LocalDeadCode") {
        let sweep = |func: &mut Function, cx: &mut PhaseContext<'_>| live_dead::sweep(func, cx, touched);
        changed |= step(func, cx, RepeatedWork::UnreadCode, live_dead::SWEPT, sweep);
    }
    // What is left to find is further away from the changes than a scan of what they touched has looked.
    if !changed.is_yes() && cx.allows("Simplify") {
        *touched = Touched::everything();
        changed = simplified(func, cx, touched);
    }
    changed
}

/// Only a scan over everything says that nothing is left to simplify.
fn simplified(func: &mut Function, cx: &mut PhaseContext<'_>, touched: &mut Touched) -> Changed {
    if !touched.is_everything() {
        return simplify::run(func, cx, touched);
    }
    // Where the work is settled, nothing is left to look at.
    let mut everything = std::mem::take(touched);
    cx.unless_settled(RepeatedWork::Simplification, func, |func, cx| {
        let changed = simplify::run(func, cx, &mut everything);
        *touched = everything;
        changed
    })
}

fn step(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    work: RepeatedWork,
    kept: AnalysisSet,
    run: impl FnOnce(&mut Function, &mut PhaseContext<'_>) -> Changed,
) -> Changed {
    let changed = cx.unless_settled(work, func, run);
    if changed.is_yes() {
        cx.analyses.retain(kept);
    }
    changed
}
