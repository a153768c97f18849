//! The runner on phases of the table and planted ones.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::runner::*;
use super::sequence::Pipeline;
use super::split::run_split;
use super::table::{PHASES, Phase};
use super::text::parse;
use super::workers::{Unlimited, Workers};
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::sm::Target;
use oriole_ir::{Function, Module, parse_function, parse_module};
use oriole_pass::analysis::{AnalysisId, AnalysisSet};
use oriole_pass::pass::{Changed, Element, Needs, PhaseContext, Progress, Run, Work};
use oriole_pass::peephole::RuleSet;

pub(super) const UNREACHABLE: &str = "\
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

pub(super) fn options() -> Options {
    Options::new(Target::portable(90).expect("sm_90 exists"))
}

/// Removes every store, one rewrite each: wrong on purpose.
fn drop_stores(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut changed = Changed::No;
    for block in func.layout().to_vec() {
        let count = func.block_insts(block).len();
        func.retain_insts(block, |func, inst| {
            let store = func.inst(inst).is(Flags::WRITES) && func.inst(inst).opcode == Opcode::St;
            !(store && cx.rewrite("drop-store"))
        });
        changed |= Changed::when(func.block_insts(block).len() != count);
    }
    changed
}

pub(super) fn planted() -> Element {
    Element::custom("DropStores", Run::Function(Work::Static(&drop_stores))).preserving(AnalysisSet::CONTROL_FLOW)
}

fn with_planted() -> Pipeline {
    let mut phases = Pipeline::ptxas();
    phases.insert(2, planted());
    phases
}

#[derive(Default)]
struct Watch {
    calls: Vec<String>,
    dumps: Vec<String>,
    remarks: Vec<String>,
}

impl Observer for Watch {
    fn before(&mut self, phase: &Element, module: &Module) {
        self.calls.push(format!("before {} {}", phase.name, module.functions.len()));
    }

    fn after(&mut self, phase: &Element, _: &Module, changed: Changed) {
        self.calls.push(format!("after {} {changed:?}", phase.name));
    }

    fn remark(&mut self, text: &str) {
        self.remarks.push(text.to_owned());
    }

    fn dump(&mut self, text: &str) {
        self.dumps.push(text.lines().next().unwrap_or_default().to_owned());
    }
}

fn skipped(report: &Report, name: &str) -> Option<SkipReason> {
    report.passes.iter().find(|phase| phase.id.name == name).expect("every phase is reported").skipped
}

#[test]
fn every_phase_is_reported_and_planned_ones_never_run() {
    let mut module = module();
    let report = run(&mut module, &Options { verify: true, time: true, ..options() }, &mut ()).expect("a valid run");
    assert_eq!(report.passes.len(), PHASES.len());
    assert_eq!(skipped(&report, "AdvancedPhasePreSched"), Some(SkipReason::Planned));
    let first = &report.passes[0];
    assert_eq!((first.id.name, first.skipped, first.changed), ("AnalyzeControlFlow", None, Changed::Yes));
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
        let report = run_passes(&with_planted(), &mut changed, &options, &mut ()).expect("a valid run");
        assert_eq!(skipped(&report, "DropStores"), Some(SkipReason::Disabled));
        assert_eq!(skipped(&report, "AnalyzeControlFlow"), Some(SkipReason::Disabled));
    }
    let unknown = Options { disabled: vec!["DropStore".into()], ..options() };
    let error = run_passes(&with_planted(), &mut module(), &unknown, &mut ()).expect_err("no such phase");
    assert!(error.to_string().contains("DropStore"), "{error}");
}

#[test]
fn phases_that_are_off_by_default_are_turned_on_by_name() {
    let off = run(&mut module(), &options(), &mut ()).expect("a valid run");
    assert_eq!(skipped(&off, "OriBackCopyPropagate"), Some(SkipReason::NoOpByDefault));
    assert_eq!(off.progress, Progress::default());
    let mut options = options();
    options.knobs.set("EnablePhases=AdvancedPhaseBackPropVReg").expect("a knob");
    let on = run(&mut module(), &options, &mut ()).expect("a valid run");
    assert_eq!(skipped(&on, "AdvancedPhaseBackPropVReg"), None);
    assert_eq!(skipped(&on, "OriBackCopyPropagate"), None, "the hook turns it on");
    assert_eq!(on.progress, Progress::BACKWARD_COPIES);
}

#[test]
fn what_has_no_work_never_runs_and_its_row_says_why() {
    let report = run(&mut module(), &options(), &mut ()).expect("a valid run");
    assert_eq!(skipped(&report, "MidExpansion"), Some(SkipReason::NoWork));
    let row = Phase::MidExpansion.row();
    assert_eq!(row.columns()[3], "no work");
    assert!(row.columns()[9].contains("No work: at the virtual level"), "{}", row.columns()[9]);
}

#[test]
fn the_machine_level_is_noted_as_legal() {
    let mut module = parse_module("entry @k machine ssa {\nbb0:\n  ret\n}\n").expect("a module of the machine level");
    let report = run(&mut module, &options(), &mut ()).expect("a valid run");
    assert_eq!(skipped(&report, "SetAfterLegalization"), None);
    assert_eq!(report.progress, Progress::LEGALIZED);
}

#[test]
fn named_phases_run_alone() {
    let mut options = options();
    options.knobs.set("NamedPhases=DropStores").expect("a knob");
    let report = run_passes(&with_planted(), &mut module(), &options, &mut ()).expect("a valid run");
    assert_eq!(skipped(&report, "AnalyzeControlFlow"), Some(SkipReason::NotNamed));
    assert_eq!(skipped(&report, "DropStores"), None);
}

#[test]
fn limits_stop_the_run_where_they_say() {
    let stop = Options { stop_after: Some(1), ..options() };
    let report = run_passes(&with_planted(), &mut module(), &stop, &mut ()).expect("a valid run");
    assert_eq!(skipped(&report, "DropStores"), Some(SkipReason::Stopped));
    for limit in 0..2 {
        let mut limited = module();
        let limited_to = Options { rewrite_limit: Some(limit), ..options() };
        let report = run_passes(&with_planted(), &mut limited, &limited_to, &mut ()).expect("a valid run");
        assert_eq!(report.rewrites, limit);
        let rule = report.last_rewrite.map(|last| last.rule);
        assert_eq!(rule, (limit == 1).then_some("unreachable-blocks"));
    }
}

#[test]
fn the_last_rewrite_names_phase_function_and_rule() {
    let mut module = module();
    let phases = &with_planted()[..3];
    let report = run_passes(phases, &mut module, &options(), &mut ()).expect("a valid run");
    let last = report.last_rewrite.expect("a store was dropped");
    assert_eq!((last.pass.name, last.function.as_deref(), last.rule), ("DropStores", Some("k"), "drop-store"));
}

#[test]
fn observers_see_each_phase_that_runs_and_the_dumps_asked_for() {
    let mut watch = Watch::default();
    let options = Options { dump: vec!["DropStores".into()], ..options() };
    run_passes(&with_planted()[..4], &mut module(), &options, &mut watch).expect("a valid run");
    let expected =
        ["before AnalyzeControlFlow 1", "after AnalyzeControlFlow Yes", "before DropStores 1", "after DropStores Yes"];
    assert_eq!(watch.calls[..4], expected);
    assert_eq!(watch.dumps, ["; before DropStores: k", "; after DropStores: k"]);
}

/// What a pass says is heard behind its name, where a dump option asks for it.
#[test]
fn observers_hear_what_options_ask_for() {
    let speak = |func: &mut Function, cx: &mut PhaseContext<'_>| {
        cx.remark("dump-remat", || format!("looks at {}", func.name));
        Changed::No
    };
    let passes = Pipeline::from([Element::custom("Speaks", Run::function(speak))]);
    let heard = |settings: &[&str]| {
        let (mut watch, mut options) = (Watch::default(), options());
        settings.iter().for_each(|setting| options.pass_options.set(setting).expect("an option"));
        run_passes(&passes, &mut module(), &options, &mut watch).expect("a valid run");
        watch.remarks
    };
    assert_eq!(heard(&["dump-remat"]), ["Speaks: looks at k"]);
    assert!(heard(&[]).is_empty() && heard(&["dump-remat=0"]).is_empty() && heard(&["dump-remat-add"]).is_empty());
    let mut watch = Watch::default();
    let mut options = options();
    options.pass_options.set("dump-ir-after-memory-space-opt").expect("an option");
    let named = |name| Pipeline::from([planted().named(name)]);
    run_passes(&named("memory-space-opt"), &mut module(), &options, &mut watch).expect("a valid run");
    run_passes(&named("other"), &mut module(), &options, &mut watch).expect("a valid run");
    assert_eq!(watch.dumps, ["; after memory-space-opt: k"]);
}

#[test]
fn a_phase_waits_for_the_form_it_needs() {
    let mut module = parse_module(&UNREACHABLE.replace(" ssa {", " {")).expect("the text is a module");
    let report = run_passes(&[planted()], &mut module, &options(), &mut ()).expect("a valid run");
    assert_eq!(report.passes[0].skipped, Some(SkipReason::Form));
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

#[test]
fn a_pipeline_that_was_read_runs_and_says_what_is_planned() {
    let passes = parse("AdvancedPhasePreSched,AnalyzeControlFlow,AdvancedPhaseAllocReg").expect("a pipeline");
    let report = run_passes(&passes, &mut module(), &options(), &mut ()).expect("a valid run");
    let skipped: Vec<_> = report.passes.iter().map(|phase| phase.skipped).collect();
    assert_eq!(skipped, [Some(SkipReason::Planned), None, Some(SkipReason::Planned)]);
    assert_eq!(report.rewrites, 1);
}

#[test]
fn a_pass_without_end_is_ended() {
    let endless = Run::module(|module, cx| {
        let id = module.functions.keys().next().expect("there is a function");
        cx.function(module, id, |_, cx| {
            while cx.rewrite("again") {}
            Changed::Yes
        })
    });
    let error = run_passes(&[Element::custom("Endless", endless)], &mut module(), &options(), &mut ());
    let message = "Endless does not end on function `k`: no end in sight after 106000 changes, the last by again";
    assert_eq!(error.expect_err("it does not end").to_string(), message);
}

/// `@a` and `@b` call each other, and `@k` calls `@a` in an inner loop.
const CALLS: &str = "\
entry @k {
bb0:
  bra bb1
bb1:
  bra bb2
bb2:
  call @a() -> ()
  cbra %p0, bb2, bb3
bb3:
  cbra %p0, bb1, bb4
bb4:
  ret
}

device @a {
bb0:
  call @b() -> ()
  ret
}

device @b {
bb0:
  call @a() -> ()
  ret
}
";

/// Runs a pass that only looks, and returns what it has written down.
fn visits(run: impl FnOnce(Arc<Mutex<Vec<String>>>) -> Run) -> Vec<String> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let pass = Element::custom("Look", run(seen.clone())).needing(Needs::ANYTHING);
    let mut module = parse_module(CALLS).expect("the text is a module");
    run_passes(&[pass], &mut module, &options(), &mut ()).expect("a valid run");
    let seen = seen.lock().expect("nobody panics");
    seen.clone()
}

#[test]
fn components_come_callees_first_and_loops_inner_first() {
    let components = visits(|seen| {
        Run::Component(Work::Shared(Arc::new(move |module, members, _| {
            let names: Vec<&str> = members.iter().map(|id| module.functions[*id].name.as_str()).collect();
            seen.lock().expect("nobody panics").push(names.join(" "));
            Changed::No
        })))
    });
    assert_eq!(components, ["a b", "k"]);
    let loops = visits(|seen| {
        Run::Loop(Work::Shared(Arc::new(move |func, header, _| {
            seen.lock().expect("nobody panics").push(format!("{} {header}", func.name));
            Changed::No
        })))
    });
    assert_eq!(loops, ["k bb2", "k bb1"]);
}

/// What looks at the whole function for each loop would take the product of both in a function of so many.
#[test]
fn loops_of_huge_functions_are_left_alone() {
    let visited = |loops: usize| {
        let block = |at: usize| {
            let next = at + 1;
            format!("bb{at}:\n  %p{next} = setp.lt.u32 %r1, {at}\n  cbra %p{next}, bb{at}, bb{next}\n")
        };
        let blocks: String = (1..=loops).map(block).collect();
        let end = loops + 1;
        let body = format!("bb0:\n  %r1 = mov.b32 7\n  bra bb1\n{blocks}bb{end}:\n  ret\n");
        let text = format!("target sm_90 ptx 9.0\nentry @k ssa {{\n{body}}}\n");
        let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
        let seen: Arc<Mutex<usize>> = Arc::default();
        let count = seen.clone();
        let look = Run::Loop(Work::Shared(Arc::new(move |_, _, _| {
            *count.lock().expect("nobody panics") += 1;
            Changed::No
        })));
        run_passes(&[Element::custom("Look", look)], &mut module, &options(), &mut ()).expect("a valid run");
        *seen.lock().expect("nobody panics")
    };
    assert_eq!(visited(1000), 1000);
    assert_eq!(visited(2000), 0);
}

/// An inner loop's change may end the loop around it.
#[test]
fn a_loop_that_is_gone_is_left_out() {
    let loops = visits(|seen| {
        Run::Loop(Work::Shared(Arc::new(move |func, header, cx| {
            seen.lock().expect("nobody panics").push(header.to_string());
            assert!(cx.rewrite("leave"), "there is no limit");
            *func = parse_function("entry @k {\nbb0:\n  ret\n}\n").expect("the text is a function");
            Changed::Yes
        })))
    });
    assert_eq!(loops, ["bb2"]);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "Forget says that it preserves the call graph of the module, and does not")]
fn a_wrong_claim_about_the_module_names_phase_and_analysis() {
    let forget = Run::module(|module, _| {
        let id = module.function_named("k").expect("it is there");
        module.functions[id] = parse_function("entry @k {\nbb0:\n  ret\n}\n").expect("the text is a function");
        Changed::Yes
    });
    let pass = Element::custom("Forget", forget)
        .needing(Needs::ANYTHING)
        .preserving(AnalysisSet::of(&[AnalysisId::CallGraph]));
    let mut module = parse_module(CALLS).expect("the text is a module");
    drop(run_passes(&[pass], &mut module, &options(), &mut ()));
}

/// A phase that forgets a definition is caught where it ran, by name.
#[test]
fn an_invalid_function_names_the_phase() {
    fn forget(func: &mut Function, _: &mut PhaseContext<'_>) -> Changed {
        let entry = func.entry();
        func.remove_inst(func.inst_at(entry, 0));
        Changed::Yes
    }
    let forget = [Element::custom("Forget", Run::Function(Work::Static(&forget)))];
    let checked = Options { verify: true, ..options() };
    let error = run_passes(&forget, &mut module(), &checked, &mut ()).expect_err("a use has lost its definition");
    assert!(
        matches!(&error, PipelineError::Invalid { pass, function, .. } if pass.name == "Forget" && function == "k"),
        "{error}"
    );
    assert!(run_passes(&forget, &mut module(), &options(), &mut ()).is_ok(), "nobody looked");
    // nvvm-ir-verification looks wherever it runs, and fails in its own name.
    let mut broken = module();
    run_passes(&forget, &mut broken, &options(), &mut ()).expect("nobody looked");
    let looks: Pipeline = "nvvm-ir-verification".parse().expect("the name of a pass");
    let trusting = Options { trusted: true, ..options() };
    let error = run_passes(&looks, &mut broken, &trusting, &mut ()).expect_err("a use has no definition");
    assert!(error.to_string().starts_with("nvvm-ir-verification left function `k` invalid"), "{error}");
    assert!(run_passes(&looks, &mut module(), &options(), &mut ()).is_ok());
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "DropStores says that it preserves the liveness of function `k`, and does not")]
fn a_wrong_claim_about_an_analysis_names_phase_and_analysis() {
    let claiming = planted().preserving(AnalysisSet::ALL);
    drop(run_passes(&[claiming], &mut module(), &options(), &mut ()));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "Silent says No about function `k`")]
fn a_change_that_is_denied_is_noticed() {
    let silent = Run::function(|func, cx| {
        drop_stores(func, cx);
        Changed::No
    });
    drop(run_passes(&[Element::custom("Silent", silent)], &mut module(), &options(), &mut ()));
}

/// A fault planted behind a phase runs under the phase's name, once for the module, and is booked to the function.
#[test]
fn work_planted_behind_a_phase_is_the_phases_own() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    let plant = Run::module(move |module, cx| {
        count.fetch_add(1, Ordering::Relaxed);
        let id = module.functions.keys().next().expect("there is a function");
        cx.function(module, id, drop_stores)
    });
    let phase = Element::from(&PHASES[0]).followed_by(plant);
    assert_eq!((phase.name, phase.number), ("AnalyzeControlFlow", Some(3)));
    let report = run_passes(&[phase], &mut module(), &options(), &mut ()).expect("a valid run");
    assert_eq!((seen.load(Ordering::Relaxed), report.rewrites), (1, 2));
    let last = report.last_rewrite.expect("a store was dropped");
    assert_eq!((last.pass.name, last.function.as_deref(), last.rule), ("AnalyzeControlFlow", Some("k"), "drop-store"));
}

/// What is known of a function under some rules says nothing about others.
#[test]
fn work_is_settled_for_the_rules_that_it_was_done_with() {
    let text = "entry @k ssa {\n  param $out: u64 param align 8\nbb0:\n  %d0 = ld.param.u64 [$out]\n  \
                %r1 = ld.global.u32 [%d0]\n  %r2 = iadd.u32 %r1, 0\n  st.global.u32 [%d0], %r2\n  ret\n}\n";
    let mut module = parse_module(text).expect("the text is a module");
    let bundle: Vec<Element> =
        Pipeline::ptxas().into_iter().filter(|pass| pass.name == "GeneralOptimizeEarly").collect();
    let without = Options { rules: Some(Arc::new(RuleSet::parse_all(&[]).expect("no rules"))), ..options() };
    let mut known = Known::default();
    let mut rewrites = |options: &Options| {
        let report = run_passes_with(&bundle, &mut module, options, &mut (), &mut known);
        report.expect("a valid run").rewrites
    };
    assert_eq!([rewrites(&without), rewrites(&without)], [0, 0]);
    assert!(rewrites(&options()) > 0, "the sum with zero goes");
    assert_eq!(rewrites(&options()), 0);
}

/// The scan that ends a bundle looks at everything, so the next bundle has nothing to look at.
#[test]
fn a_bundle_leaves_nothing_to_look_at() {
    let text = "entry @k ssa {\n  param $out: u64 param align 8\nbb0:\n  %d0 = ld.param.u64 [$out]\n  \
                %r1 = ld.global.u32 [%d0]\n  %r2 = iadd.u32 %r1, 0\n  %r3 = and.b32 %r2, 255\n  \
                st.global.u32 [%d0], %r3\n  ret\n}\n";
    let mut module = parse_module(text).expect("the text is a module");
    let bundle: Vec<Element> =
        Pipeline::ptxas().into_iter().filter(|pass| pass.name == "GeneralOptimizeMid2").collect();
    let mut known = Known::default();
    // Guards that were not met, and the rules that were applied.
    let mut seen = || {
        let report = run_passes_with(&bundle, &mut module, &options(), &mut (), &mut known).expect("a valid run");
        report.passes[0].statistics.keys().copied().filter(|name| *name != "rounds").collect::<Vec<_>>()
    };
    assert!(seen().len() > 2, "the bundle looks at the mask before the sum goes, and after it");
    assert_eq!(seen(), [""; 0]);
}

/// The functions of a module that is large enough for several threads, with the level that each of them had, and
/// whether a pass of level 3 came to it.
fn levels(limit: &str, threads: usize, parts: usize) -> Vec<(String, u8, bool)> {
    let body = (0..1500).map(|at| format!("  %r{} = iadd.u32 %r{at}, {at}\n", at + 1)).collect::<String>();
    let of = |name: &str| format!("device @{name} ssa {{\nbb0:\n  %r0 = s2r.b32 sr.tid.x\n{body}  ret\n}}\n");
    let outside = "device @outside extern ssa {\n}\n".to_owned();
    let text = ["target sm_90 ptx 9.0\n".to_owned(), of("z"), outside, of("b"), of("a")].concat();
    let mut module = parse_module(&text).expect("the text is a module");
    let mut options = Options { workers: Workers::new(threads, Arc::new(Unlimited)), ..options() };
    options.knobs.set(&format!("OptLevelThrottle={limit}")).expect("the knob takes it");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let element = |since: u8| {
        let seen = seen.clone();
        let note = move |func: &mut Function, cx: &mut PhaseContext<'_>| {
            seen.lock().expect("nobody panics").push((func.name.clone(), cx.opt_level, since));
            Changed::No
        };
        let mut element = Element::custom("Note", Run::function(note));
        element.row.to_mut().min_opt_level = since;
        element
    };
    let elements = Pipeline::from_iter([element(0), element(3)]);
    run_split(&elements, &mut module, &options, parts, &mut ()).expect("a valid run");
    let seen = seen.lock().expect("nobody panics");
    let mut all: Vec<_> = seen.iter().filter(|(.., since)| *since == 0).collect();
    all.sort();
    let reached = |name: &str| seen.iter().any(|(other, _, since)| other == name && *since == 3);
    all.into_iter().map(|(name, level, _)| (name.clone(), *level, reached(name))).collect()
}

#[test]
fn functions_behind_the_first_ones_have_a_lower_level() {
    let expected = |of: [u8; 3]| {
        let names = ["a", "b", "z"].map(str::to_owned).into_iter();
        names.zip(of).map(|(name, level)| (name, level, level == 3)).collect::<Vec<_>>()
    };
    for (threads, parts) in [(1, 1), (4, 1), (1, 2), (4, 3)] {
        for (limit, of) in [("0", [2, 2, 2]), ("1", [2, 2, 3]), ("2", [2, 3, 3]), ("unlimited", [3, 3, 3])] {
            assert_eq!(levels(limit, threads, parts), expected(of), "{limit} with {threads} threads, {parts} parts");
        }
    }
}
