//! Passes of cicc that are parts of the bundle of ptxas ([`oriole_pass::engine::bundle`]), without a limit:
//! `instcombine` is all of it, the others leave parts out.

use oriole_ir::{Form, Function};
use oriole_pass::analysis::{AnalysisSet, Cfg};
use oriole_pass::edit::graph::drop_unreachable;
use oriole_pass::engine::bundle::simplify::Scope;
use oriole_pass::engine::bundle::{Limit, Parts, bundle, rounds};
use oriole_pass::pass::{Changed, PhaseContext};

/// `instcombine`: all of the bundle.
pub fn everything(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, Limit::Rounds(None), Parts::EARLY)
}

/// `instsimplify`: without new instructions.
pub fn values(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, Limit::Rounds(None), Parts { scope: Scope::Values, ..Parts::EARLY })
}

/// `nvvm-peephole-optimizer`: the rules, and what nothing reads then.
pub fn rules_alone(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, Limit::Rounds(None), Parts { copies: false, ..Parts::EARLY })
}

/// A part of `nvvm-predicate-opt`: what is said of predicates. What it preserves, the pass says.
pub(crate) fn predicates(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let changed = bundle(func, cx, Limit::Rounds(None), Parts { scope: Scope::Predicates, ..Parts::EARLY });
    cx.keep_analyses();
    changed
}

/// `nvvm-reflect-pp`: branches on what is known, and the blocks that nobody comes to then.
pub fn conditionals(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if func.form != Form::Ssa {
        return Changed::No;
    }
    let parts = Parts { scope: Scope::Conditionals, ..Parts::EARLY };
    let before = cx.analyses.get::<Cfg>(func);
    let mut changed = bundle(func, cx, Limit::Rounds(None), parts);
    let mut at = before.clone();
    // Merges of what is gone may decide more.
    while !cx.analyses.holds(&at) {
        let cfg = cx.analyses.get::<Cfg>(func);
        if drop_unreachable(func, cx, &cfg).is_yes() {
            cx.analyses.retain(AnalysisSet::NONE);
        }
        at = cx.analyses.get(func);
        changed |= bundle(func, cx, Limit::Rounds(None), parts);
    }
    if cx.analyses.holds(&before) {
        cx.preserve(AnalysisSet::CONTROL_FLOW);
    }
    cx.keep_analyses();
    changed
}
