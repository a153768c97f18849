//! OriPerformLiveDead (phases 16, 33, 61, 84) and EarlyOriSimpleLiveDead (phase 10): the engine is
//! [`oriole_pass::engine::dead_code`].

use oriole_ir::{Form, Function};
use oriole_pass::analysis::{AnalysisSet, RepeatedWork};
use oriole_pass::engine::dead_code::{SWEPT, sweep, sweep_dead};
use oriole_pass::engine::kill_markers;
use oriole_pass::engine::touched::Touched;
use oriole_pass::pass::{Changed, PhaseContext};

/// OriPerformLiveDead, all four instances.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    cx.unless_settled(RepeatedWork::DeadCode, func, sweep_dead)
}

/// OriPerformLiveDeadFourth: the same, and kill markers where values end. SSA destruction erases them, so neither PTX
/// nor words of the machine have any.
pub fn marking(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let swept = run(func, cx);
    let marked = kill_markers::mark(func, cx);
    cx.keep_kills();
    if marked.is_yes() && !swept.is_yes() {
        cx.preserve(AnalysisSet::ALL);
        cx.keep_analyses();
    }
    swept | marked
}

/// EarlyOriSimpleLiveDead.
pub fn simple(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let changed =
        cx.unless_settled(RepeatedWork::UnreadCode, func, |func, cx| sweep(func, cx, &mut Touched::everything()));
    if changed.is_yes() && func.form == Form::Ssa {
        cx.analyses.retain(SWEPT);
        cx.keep_analyses();
    }
    changed
}
