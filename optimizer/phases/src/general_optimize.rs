//! GeneralOptimize: the six bundles of ptxas. They differ in what ends their rounds; their engine,
//! [`oriole_pass::engine::bundle`], says what a round is.

use oriole_ir::Function;
use oriole_pass::engine::bundle::{Limit, Parts, rounds};
use oriole_pass::pass::{Changed, Knob, PhaseContext};

/// Phases 13 and 29: rounds are counted.
pub fn counted(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let limit = Limit::Rounds(cx.knobs.limit(Knob::GeneralOptimizeIterations));
    rounds(func, cx, limit, Parts::EARLY)
}

/// Phase 37: rounds must be worth their cost.
pub fn weighed(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let limit = Limit::Threshold(cx.knobs.real(Knob::GeneralOptimizeCostThreshold));
    rounds(func, cx, limit, Parts::EARLY)
}

/// Phase 58: the same, late.
pub fn weighed_late(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let limit = Limit::Threshold(cx.knobs.real(Knob::GeneralOptimizeCostThreshold));
    rounds(func, cx, limit, Parts::LATE)
}

/// Phase 46: until nothing changes.
pub fn unlimited(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, Limit::Rounds(None), Parts::EARLY)
}

/// Phase 65: the same, late.
pub fn unlimited_late(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, Limit::Rounds(None), Parts::LATE)
}
