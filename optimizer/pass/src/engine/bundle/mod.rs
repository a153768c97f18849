//! The engine of GeneralOptimize, the bundle of phases 13, 29, 37, 46, 58 and 65
//! (`spec/copy-propagation-and-cse.txt`, "Interaction Between Passes").
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
//! Passes of cicc are parts of the bundle without a limit: `instcombine` is all of it, `instsimplify` has the
//! simplifications that make no instruction, `nvvm-reflect-pp` these and branches that they decide,
//! `nvvm-peephole-optimizer` the rules without the copies between, `nvvm-predicate-opt` those about predicates.
//!
//! The step `OriCopyProp` can be turned off by name, or run alone.

pub mod copy_prop;
pub mod simplify;

use self::simplify::Scope;
use super::dead_code;
use crate::analysis::{AnalysisId, AnalysisSet, Cfg, RepeatedWork};
use crate::engine::touched::Touched;
use crate::pass::{Changed, PhaseContext};
use oriole_ir::{Form, Function};

/// Ends the rounds before they run dry.
#[derive(Clone, Copy)]
pub enum Limit {
    /// So many rounds at most, if there is a number.
    Rounds(Option<u32>),
    /// A round must gain so large a part of what the one before it gained.
    Threshold(f64),
}

/// The parts of a round.
#[derive(Clone, Copy)]
pub struct Parts {
    /// What is simplified.
    pub scope: Scope,
    /// Whether copies are propagated.
    pub copies: bool,
    /// Whether the bundle comes late in the pipeline of ptxas.
    pub late: bool,
}

impl Parts {
    /// All parts, before registers.
    pub const EARLY: Parts = Parts { scope: Scope::Everything, copies: true, late: false };
    /// All parts, late in the pipeline.
    pub const LATE: Parts = Parts { late: true, ..Parts::EARLY };
}

/// Does rounds, in a function in any form, and says what they preserve.
pub fn rounds(func: &mut Function, cx: &mut PhaseContext<'_>, limit: Limit, parts: Parts) -> Changed {
    if func.form != Form::Ssa {
        return outside_ssa(func, cx);
    }
    let cfg = cx.analyses.get::<Cfg>(func);
    let changed = bundle(func, cx, limit, parts);
    if cx.analyses.holds(&cfg) {
        cx.preserve(AnalysisSet::CONTROL_FLOW);
    }
    cx.keep_analyses();
    changed
}

/// Does rounds in SSA form. The caller says what they preserve.
pub fn bundle(func: &mut Function, cx: &mut PhaseContext<'_>, limit: Limit, parts: Parts) -> Changed {
    let mut changed = Changed::No;
    let mut cost = 0;
    let mut touched = Touched::everything();
    for number in 0u32.. {
        if matches!(limit, Limit::Rounds(Some(most)) if number >= most) {
            break;
        }
        let before = cx.rewrites_made();
        let round = round(func, cx, parts, &mut touched);
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
    changed
}

/// In other forms: copies, and what nothing reads then, until nothing changes.
fn outside_ssa(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let copies = if func.form == Form::Physical { copy_prop::physical::run } else { copy_prop::outside_ssa::run };
    let mut changed = Changed::No;
    while cx.allows("OriCopyProp") && copies(func, cx).is_yes() {
        changed = Changed::Yes;
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
        if cx.allows("LocalDeadCode") && dead_code::sweep(func, cx, &mut Touched::everything()).is_yes() {
            cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
        }
    }
    if changed.is_yes() {
        cx.preserve(AnalysisSet::CONTROL_FLOW);
    }
    changed
}

/// After each step the analyses that its changes leave true are kept for the next one.
fn round(func: &mut Function, cx: &mut PhaseContext<'_>, parts: Parts, touched: &mut Touched) -> Changed {
    let Parts { scope, copies, late } = parts;
    let mut changed = Changed::No;
    if copies && cx.allows("OriCopyProp") {
        // It changes operands alone.
        let kept = AnalysisSet::CONTROL_FLOW.union(AnalysisSet::of(&[AnalysisId::Definitions]));
        let work = if late { RepeatedWork::LateCopyPropagation } else { RepeatedWork::CopyPropagation };
        changed |= step(func, cx, work, kept, |func, cx| copy_prop::run(func, cx, late, touched));
    }
    if cx.allows("Simplify") {
        changed |= simplified(func, cx, scope, touched);
    }
    if cx.allows("LocalDeadCode") {
        let sweep = |func: &mut Function, cx: &mut PhaseContext<'_>| dead_code::sweep(func, cx, touched);
        changed |= step(func, cx, RepeatedWork::UnreadCode, dead_code::SWEPT, sweep);
    }
    // What is left to find is further away from the changes than a scan of what they touched has looked.
    if !changed.is_yes() && cx.allows("Simplify") {
        *touched = Touched::everything();
        changed = simplified(func, cx, scope, touched);
    }
    changed
}

/// Only a scan of everything, for everything, says that nothing is left to simplify.
fn simplified(func: &mut Function, cx: &mut PhaseContext<'_>, scope: Scope, touched: &mut Touched) -> Changed {
    if !touched.is_everything() || scope != Scope::Everything {
        return simplify::run(func, cx, scope, touched);
    }
    // Where the work is settled, nothing is left to look at.
    let mut everything = std::mem::take(touched);
    cx.unless_settled(RepeatedWork::Simplification, func, |func, cx| {
        let changed = simplify::run(func, cx, scope, &mut everything);
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
