//! The runner on phases of the table and planted ones.

use super::context::{Changed, PhaseContext};
use super::runner::*;
use super::table::{Needs, PHASES, Preserves};
use crate::ir::{Function, Module, parse_module};
use crate::ops::{Flags, Opcode};
use crate::target::Target;

const UNREACHABLE: &str = "\
entry @k ssa {
  param $out: u64 param align 8
bb0:
  %d0 = ld.param.u64 [$out]
  bra bb2
bb1:
  bra bb2
bb2:
  %r1 = phi [bb0: 1], [bb1: 2]
  st.global.u32 [%d0], %r1
  ret
}
";

fn module() -> Module {
    parse_module(UNREACHABLE).expect("the text is a module")
}

fn options() -> Options {
    Options::new(Target::portable(90).expect("sm_90 exists"))
}

/// Removes every store, one rewrite each: wrong on purpose.
fn drop_stores(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut changed = Changed::No;
    for block in func.layout.clone() {
        let insts = func.blocks[block].insts.clone();
        let kept = insts.iter().copied().filter(|inst| {
            let store = func.insts[*inst].is(Flags::WRITES) && func.insts[*inst].opcode == Opcode::St;
            !(store && cx.rewrite("drop-store"))
        });
        let kept: Vec<_> = kept.collect();
        changed |= Changed::when(kept.len() != insts.len());
        func.blocks[block].insts = kept;
    }
    changed
}

fn planted() -> PhaseEntry {
    let function = drop_stores;
    let (needs, preserves) = (Needs::Ssa, Preserves::ControlFlow);
    PhaseEntry::Custom(CustomPhase { name: "DropStores", needs, preserves, function })
}

fn with_planted() -> Vec<PhaseEntry> {
    let mut phases = default_phases();
    phases.insert(2, planted());
    phases
}

#[derive(Default)]
struct Watch {
    calls: Vec<String>,
    dumps: Vec<String>,
}

impl Observer for Watch {
    fn before(&mut self, _: usize, phase: &PhaseEntry, module: &Module) {
        self.calls.push(format!("before {} {}", phase.name(), module.functions.len()));
    }

    fn after(&mut self, _: usize, phase: &PhaseEntry, _: &Module, changed: Changed) {
        self.calls.push(format!("after {} {changed:?}", phase.name()));
    }

    fn dump(&mut self, text: &str) {
        self.dumps.push(text.lines().next().unwrap_or_default().to_owned());
    }
}

fn skipped(report: &Report, name: &str) -> Option<SkipReason> {
    report.phases.iter().find(|phase| phase.name == name).expect("every phase is reported").skipped
}

#[test]
fn every_phase_is_reported_and_planned_ones_never_run() {
    let mut module = module();
    let report = run(&mut module, &Options { verify: true, time: true, ..options() }, &mut ()).expect("a valid run");
    assert_eq!(report.phases.len(), PHASES.len());
    assert_eq!(skipped(&report, "GvnCse"), Some(SkipReason::Planned));
    let first = &report.phases[0];
    assert_eq!((first.name, first.skipped, first.changed), ("AnalyzeControlFlow", None, Changed::Yes));
    assert_eq!((first.insts_before, first.insts_after, first.rewrites), (6, 5, 1));
    assert!(first.time.is_some());
    assert_eq!(first.statistics.get("blocks dropped"), Some(&1));
    let again = run(&mut module.clone(), &options(), &mut ()).expect("a valid run");
    assert_eq!(again.rewrites, 0, "a second run changes nothing: {again:?}");
}

#[test]
fn phases_are_disabled_by_option_and_by_knob() {
    let mut by_knob = options();
    by_knob.knobs.set("DisablePhases=DropStores, AnalyzeControlFlow").expect("a knob");
    let by_option = Options { disabled: vec!["3".into(), "dropstores".into()], ..options() };
    for options in [by_knob, by_option] {
        let mut changed = module();
        let report = run_phases(&with_planted(), &mut changed, &options, &mut ()).expect("a valid run");
        assert_eq!(skipped(&report, "DropStores"), Some(SkipReason::Disabled));
        assert_eq!(skipped(&report, "AnalyzeControlFlow"), Some(SkipReason::Disabled));
    }
    let unknown = Options { disabled: vec!["DropStore".into()], ..options() };
    let error = run_phases(&with_planted(), &mut module(), &unknown, &mut ()).expect_err("no such phase");
    assert!(error.to_string().contains("DropStore"), "{error}");
}

#[test]
fn named_phases_run_alone() {
    let mut options = options();
    options.knobs.set("NamedPhases=DropStores").expect("a knob");
    let report = run_phases(&with_planted(), &mut module(), &options, &mut ()).expect("a valid run");
    assert_eq!(skipped(&report, "AnalyzeControlFlow"), Some(SkipReason::NotNamed));
    assert_eq!(skipped(&report, "DropStores"), None);
}

#[test]
fn limits_stop_the_run_where_they_say() {
    let stop = Options { stop_after: Some(1), ..options() };
    let report = run_phases(&with_planted(), &mut module(), &stop, &mut ()).expect("a valid run");
    assert_eq!(skipped(&report, "DropStores"), Some(SkipReason::Stopped));
    for limit in 0..2 {
        let mut limited = module();
        let limited_to = Options { rewrite_limit: Some(limit), ..options() };
        let report = run_phases(&with_planted(), &mut limited, &limited_to, &mut ()).expect("a valid run");
        assert_eq!(report.rewrites, limit);
        let rule = report.last_rewrite.and_then(|last| last.rule);
        assert_eq!(rule, (limit == 1).then_some("unreachable-blocks"));
    }
}

#[test]
fn the_last_rewrite_names_phase_function_and_rule() {
    let mut module = module();
    let phases = &with_planted()[..3];
    let report = run_phases(phases, &mut module, &options(), &mut ()).expect("a valid run");
    let last = report.last_rewrite.expect("a store was dropped");
    assert_eq!((last.phase, last.function.as_str(), last.rule), ("DropStores", "k", Some("drop-store")));
}

#[test]
fn observers_see_each_phase_that_runs_and_the_dumps_asked_for() {
    let mut watch = Watch::default();
    let options = Options { dump: vec!["DropStores".into()], ..options() };
    run_phases(&with_planted()[..4], &mut module(), &options, &mut watch).expect("a valid run");
    let expected =
        ["before AnalyzeControlFlow 1", "after AnalyzeControlFlow Yes", "before DropStores 1", "after DropStores Yes"];
    assert_eq!(watch.calls[..4], expected);
    assert_eq!(watch.dumps, ["; before DropStores: k", "; after DropStores: k"]);
}

#[test]
fn a_phase_waits_for_the_form_it_needs() {
    let mut module = parse_module(&UNREACHABLE.replace(" ssa {", " {")).expect("the text is a module");
    let report = run_phases(&[planted()], &mut module, &options(), &mut ()).expect("a valid run");
    assert_eq!(report.phases[0].skipped, Some(SkipReason::Form));
}

#[test]
fn the_level_decides() {
    for level in 0..4 {
        let report = run(&mut module(), &Options { opt_level: level, ..options() }, &mut ()).expect("a valid run");
        assert_eq!(skipped(&report, "AnalyzeControlFlow"), None);
        let cleanup = (level == 0).then_some(SkipReason::OptLevel);
        assert_eq!(skipped(&report, "OriPerformLiveDeadFirst"), cleanup, "O{level}");
        assert_eq!(skipped(&report, "GeneralOptimizeMid2"), cleanup, "O{level}");
    }
}

/// A phase that forgets a definition is caught where it ran, by name.
#[test]
fn an_invalid_function_names_the_phase() {
    fn forget(func: &mut Function, _: &mut PhaseContext<'_>) -> Changed {
        let entry = func.entry();
        func.blocks[entry].insts.remove(0);
        Changed::Yes
    }
    let entry = PhaseEntry::Custom(CustomPhase {
        name: "Forget",
        needs: Needs::Ssa,
        preserves: Preserves::ControlFlow,
        function: forget,
    });
    let checked = Options { verify: true, ..options() };
    let error = run_phases(&[entry], &mut module(), &checked, &mut ()).expect_err("a use has lost its definition");
    assert!(matches!(&error, PipelineError::Invalid { phase: "Forget", function, .. } if function == "k"), "{error}");
    assert!(run_phases(&[entry], &mut module(), &options(), &mut ()).is_ok(), "nobody looked");
}
