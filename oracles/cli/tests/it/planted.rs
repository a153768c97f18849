//! Bugs planted in test-only phases: for each built phase one that does its work wrong in one way, in the place of
//! the real one. The check must name the phase and the rewrite.

use oriole_check::input::NamedLaunch;
use oriole_check::judge::Verdict;
use oriole_check::report::{Finding, KernelReport};
use oriole_check::{CheckOptions, check_module};
use oriole_ir::ops::{Flags, Opcode, Type};
use oriole_ir::{Anchor, Function, Inst, InstBuilder, Kill, Operand, parse_module};
use oriole_launch::command_line;
use oriole_optimizer::engine::kill_markers;
use oriole_optimizer::pass::{Changed, Element, PhaseContext, PhaseFn, Run};
use oriole_optimizer::pipeline::Pipeline;

/// Eight threads; those below `n` = 4 take the guarded copy and the branch.
const KERNEL: &str = "target sm_90 ptx 9.0

device @unused ssa {
bb0:
  ret
}

entry @k visible ssa {
  param $out: u64 param align 8
  param $n: u32 param align 4
bb0:
  %d0 = ld.param.u64 [$out]
  %r1 = ld.param.u32 [$n]
  %r2 = s2r.b32 sr.tid.x
  %d3 = imul.wide.u32 %r2, 16
  %d4 = iadd.u64 %d0, %d3
  %p5 = setp.lt.u32 %r2, %r1
  @%p5 %r6 = mov.b32 %r1 else %r2
  %r7 = iadd.u32 %r6, 5
  %r8 = isub.u32 %r7, %r1
  st.global.u32 [%d4], %r7
  st.global.u32 [%d4+4], %r8
  cbra %p5, bb1, bb2
bb1:
  st.global.u32 [%d4+8], %r7
  bra bb2
bb2:
  ret
}
";

fn insts(func: &Function) -> Vec<Inst> {
    func.layout_insts().collect()
}

/// Applies `change` to every instruction that it fits, with leave for each.
fn each(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    rule: &'static str,
    fits: impl Fn(&Function, Inst) -> bool,
    change: impl Fn(&mut Function, Inst),
) -> Changed {
    let mut changed = Changed::No;
    for inst in insts(func) {
        if fits(func, inst) && cx.rewrite(rule) {
            change(func, inst);
            changed = Changed::Yes;
        }
    }
    changed
}

/// Dead-code elimination that takes the last store for dead.
fn drops_a_store(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let is_store = |func: &Function, inst: Inst| func.inst(inst).is(Flags::WRITES) && func.dsts(inst).is_empty();
    let last = insts(func).into_iter().rfind(|inst| is_store(func, *inst));
    each(func, cx, "dead-store", |_, inst| Some(inst) == last, Function::remove_inst)
}

/// Liveness that forgets a reader.
fn drops_a_live_value(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    each(func, cx, "dead-value", |func, inst| func.inst(inst).opcode == Opcode::ISub, Function::remove_inst)
}

/// Copy propagation that ignores the guard of the copy.
fn ignores_the_guard(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let guarded = |func: &Function, inst: Inst| func.inst(inst).is(Flags::COPY) && func.inst(inst).guard.is_some();
    each(func, cx, "copy", guarded, |func, copy| {
        let (to, from) = (func.dsts(copy)[0], func.srcs(copy)[0]);
        for inst in insts(func).into_iter().filter(|inst| *inst != copy) {
            func.srcs_mut(inst).iter_mut().filter(|operand| **operand == to).for_each(|operand| *operand = from);
        }
    })
}

/// Constant folding that is off by one.
fn folds_wrongly(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let adds_five = |func: &Function, inst: Inst| func.srcs(inst).get(1) == Some(&Operand::imm(5));
    each(func, cx, "fold", adds_five, |func, inst| func.srcs_mut(inst)[1] = Operand::imm(6))
}

/// Simplification that takes subtraction for commutative. Its first change, of an addition, is right.
fn swaps_a_subtraction(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let swappable = |func: &Function, inst: Inst| {
        matches!(func.inst(inst).opcode, Opcode::IAdd | Opcode::ISub) && func.srcs(inst)[1].reg().is_some()
    };
    each(func, cx, "commute", swappable, |func, inst| func.srcs_mut(inst).swap(0, 1))
}

/// Control-flow analysis that takes a conditional branch for one that is never taken.
fn drops_a_branch(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let conditional = |func: &Function, inst: Inst| func.inst(inst).opcode == Opcode::CBra;
    each(func, cx, "branch", conditional, |func, inst| {
        let target = func.srcs(inst)[2];
        InstBuilder::new(Opcode::Bra).src(target).replace(func, inst);
    })
}

/// Control-flow analysis that sends a branch to its own block.
fn never_ends(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let branch = |func: &Function, inst: Inst| func.inst(inst).opcode == Opcode::Bra;
    each(func, cx, "thread", branch, |func, inst| {
        let here = func.block_of(inst);
        func.srcs_mut(inst)[0] = Operand::Block(here.expect("the branch stands in a block"));
    })
}

/// Panics at its third change.
fn panics(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    for inst in insts(func) {
        if !func.dsts(inst).is_empty() && cx.rewrite("count") {
            assert!(func.inst(inst).opcode != Opcode::S2r, "no rule for this");
        }
    }
    Changed::No
}

/// Commoning of loads that does not look for stores in between: the later of two loads from one address is a copy.
fn commons_past_a_store(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let is_load = |func: &Function, inst: Inst| func.inst(inst).opcode == Opcode::Ld;
    let loads: Vec<Inst> = insts(func).into_iter().filter(|inst| is_load(func, *inst)).collect();
    let earlier = |func: &Function, load: Inst| {
        loads.iter().copied().find(|other| *other != load && func.srcs(*other) == func.srcs(load))
    };
    let later = |func: &Function, inst: Inst| {
        is_load(func, inst) && earlier(func, inst).is_some_and(|other| func.is_before(other, inst))
    };
    each(func, cx, "gvn", later, |func, load| {
        let value = earlier(func, load).expect("it was found before");
        let (to, from) = (func.defs(load).next(), func.defs(value).next());
        let mov = InstBuilder::new(Opcode::Mov).field(Type::B32).dst(to.expect("a load defines"));
        mov.src(from.expect("a load defines")).replace(func, load);
    })
}

/// Commoning that takes an instruction under a guard for one without.
fn commons_under_a_guard(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let guarded =
        |func: &Function, inst: Inst| func.inst(inst).opcode == Opcode::Mov && func.inst(inst).guard.is_some();
    each(func, cx, "common", guarded, |func, inst| {
        let (dst, value) = (func.defs(inst).next().expect("a copy defines"), func.srcs(inst)[0].reg());
        let mov = InstBuilder::new(Opcode::Mov).field(Type::B32).dst(dst);
        mov.src(value.expect("a register is copied")).replace(func, inst);
    })
}

/// Kill markers of a liveness that forgets the last reader in a block: a marker in front of what reads its register.
fn marks_above_a_read(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    cx.keep_kills();
    let marked = kill_markers::mark(func, cx);
    let is_behind_add = |func: &Function, kill: &Kill| match kill.at {
        Anchor::Behind(inst) => func.inst(inst).opcode == Opcode::ISub,
        Anchor::Entry(_) => false,
    };
    let mut kills = func.kills().to_vec();
    for kill in &mut kills {
        if is_behind_add(func, kill) && cx.rewrite("kill-up") {
            let Anchor::Behind(inst) = kill.at else { continue };
            kill.at = func.prev_inst(inst).map_or(kill.at, Anchor::Behind);
        }
    }
    let moved = Changed::when(kills != func.kills());
    func.set_kills(kills);
    marked | moved
}

/// Checks the kernel with `function` in the place of the phase `place`.
fn check(place: &str, name: &'static str, function: PhaseFn) -> (KernelReport, tempfile::TempDir) {
    check_kernel(KERNEL, place, name, function)
}

fn check_kernel(kernel: &str, place: &str, name: &'static str, function: PhaseFn) -> (KernelReport, tempfile::TempDir) {
    let module = parse_module(kernel).expect("the kernel is well-formed");
    let mut phases = Pipeline::ptxas();
    let at = phases.iter().position(|entry| entry.name == place).expect("the phase has a row");
    phases.replace(at, Element::custom(name, Run::function(function)));
    let args = ["zeroed:128:type=u32:name=out".to_owned(), "u32:4".to_owned()];
    let launch = command_line::launch(Some("k"), "1", "8", &args).expect("the launch is well-formed");
    let launches = [NamedLaunch { name: "planted".to_owned(), launch }];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = CheckOptions { passes: phases, out: Some(folder.path().to_owned()), ..CheckOptions::default() };
    let report = check_module("planted.ori", &module, &launches, &options).expect("the kernel can be checked");
    (report, folder)
}

/// The only finding, which must name the planted phase and come with a reproducer.
fn finding(place: &str, name: &'static str, function: PhaseFn) -> Finding {
    let (report, _folder) = check(place, name, function);
    assert!(!report.clean);
    assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
    let finding = report.findings[0].clone();
    assert_eq!(finding.phase.name(), name);
    let reproducer = finding.reproducer.as_deref().expect("a reproducer is written");
    let text = std::fs::read_to_string(reproducer).expect("the reproducer can be read");
    parse_module(&text).expect("the reproducer is a module");
    // No command has the planted phase.
    let replay = format!("{reproducer}: only the program that registers {name} takes it again");
    assert!(finding.replay.starts_with(&replay), "{}", finding.replay);
    finding
}

#[track_caller]
fn assert_rewrite(finding: &Finding, verdict: &str, index: u64, rule: &str, changed: &[&str]) {
    assert_eq!(finding.verdict.name(), verdict, "{}", finding.detail);
    let rewrite = finding.rewrite.as_ref().expect("a rewrite is guilty");
    assert_eq!((rewrite.index, rewrite.rule.as_deref()), (index, Some(rule)));
    assert_eq!(rewrite.function.as_deref(), Some("k"));
    for line in changed {
        assert!(rewrite.diff.lines().any(|found| found == *line), "no `{line}` in\n{}", rewrite.diff);
    }
}

#[test]
fn without_a_planted_bug_nothing_is_found() {
    let (report, _folder) = check("OriPerformLiveDeadFourth", "Harmless", |_, _| Changed::No);
    assert!(report.clean, "{:#?}", report.findings);
    assert_eq!(report.verdict(), "ok");
    assert_eq!(report.cases.len(), 3);
}

/// Whose store comes last is nobody's promise, so a difference accuses no phase.
#[test]
fn where_the_original_races_a_difference_says_nothing() {
    let racing = KERNEL.replace("imul.wide.u32 %r2, 16", "imul.wide.u32 %r2, 0");
    let (report, _folder) = check_kernel(&racing, "GeneralOptimizeEarly", "PlantedFold", folds_wrongly);
    assert!(report.findings.is_empty() && !report.judged && !report.clean, "{:#?}", report.findings);
    assert!(report.cases.iter().all(|case| case.inconclusive == Some(Verdict::OriginalRaces)), "{:#?}", report.cases);
}

#[test]
fn dead_code_elimination_that_drops_a_store() {
    let places = [
        "EarlyOriSimpleLiveDead",
        "OriPerformLiveDeadFirst",
        "OriPerformLiveDeadSecond",
        "OriPerformLiveDeadThird",
        "OriPerformLiveDeadFourth",
    ];
    for place in places {
        let found = finding(place, "PlantedDeadStore", drops_a_store);
        assert_rewrite(&found, "mismatch", 1, "dead-store", &[]);
        let expected = "`out` differs in 4 bytes, first at byte 8: expected 09 00 00 00 00 00 00 00, got 00 00 00 00";
        assert!(found.detail.starts_with(expected), "{}", found.detail);
        let store = found.store_before.expect("the store before the phase is known");
        assert!(store.contains("st.global.u32") && store.contains("thread (0,0,0)"), "{store}");
        assert_eq!(found.store_after, None);
    }
}

#[test]
fn dead_code_elimination_that_drops_a_live_value_is_invalid() {
    let found = finding("EarlyOriSimpleLiveDead", "PlantedLiveness", drops_a_live_value);
    assert_rewrite(&found, "invalid IR", 1, "dead-value", &["-  %r8 = isub.u32 %r7, %r1"]);
}

#[test]
fn a_kill_marker_above_a_read() {
    for place in ["DoKillMovement", "DoKillMovementUpward", "OriPerformLiveDeadFourth"] {
        let found = finding(place, "PlantedMarker", marks_above_a_read);
        let rewrite = found.rewrite.as_ref().expect("a rewrite is guilty");
        assert_eq!((found.verdict.name(), rewrite.rule.as_deref()), ("mismatch", Some("kill-up")), "{found:#?}");
        assert!(rewrite.diff.lines().any(|line| line.starts_with("+  kill ")), "{}", rewrite.diff);
    }
}

#[test]
fn copy_propagation_that_ignores_the_guard() {
    let found = finding("GeneralOptimizeEarly", "PlantedCopy", ignores_the_guard);
    let changed = ["-  %r7 = iadd.u32 %r6, 5", "+  %r7 = iadd.u32 %r1, 5"];
    assert_rewrite(&found, "mismatch", 1, "copy", &changed);
    // Thread 4 stores the same either way.
    let store = found.store_after.expect("the wrong value is stored");
    assert!(store.contains("thread (5,0,0)"), "{store}");
}

#[test]
fn folding_with_a_wrong_constant() {
    for place in ["GeneralOptimizeEarly", "GeneralOptimize", "GeneralOptimizeMid", "GeneralOptimizeLate2"] {
        let found = finding(place, "PlantedFold", folds_wrongly);
        assert_rewrite(&found, "mismatch", 1, "fold", &["-  %r7 = iadd.u32 %r6, 5", "+  %r7 = iadd.u32 %r6, 6"]);
    }
}

#[test]
fn the_second_rewrite_is_to_blame_where_the_first_is_right() {
    let found = finding("GeneralOptimizeEarly", "PlantedCommute", swaps_a_subtraction);
    let changed = ["-  %r8 = isub.u32 %r7, %r1", "+  %r8 = isub.u32 %r1, %r7"];
    assert_rewrite(&found, "mismatch", 2, "commute", &changed);
}

/// The store between the two loads changes half of what they read, so no phase before takes either away.
#[test]
fn commoning_past_a_store() {
    let again = "  %r10 = ld.global.u32 [%d4+12]\n  st.global.u16 [%d4+12], %r1\n  %r11 = ld.global.u32 [%d4+12]\n  \
                 %r12 = iadd.u32 %r10, %r11\n  st.global.u32 [%d4+12], %r12\n";
    let kernel = KERNEL.replace("  cbra %p5", &format!("{again}  cbra %p5"));
    for place in ["GvnCse", "OriCommoning", "LateOriCommoning"] {
        let (report, _folder) = check_kernel(&kernel, place, "PlantedCommoning", commons_past_a_store);
        let [found] = &report.findings[..] else { panic!("{:#?}", report.findings) };
        assert_rewrite(found, "mismatch", 1, "gvn", &[]);
    }
}

#[test]
fn commoning_that_ignores_the_guard() {
    let found = finding("EarlyOriSimpleLiveDead", "PlantedGuard", commons_under_a_guard);
    let changed = ["-  @%p5 %r6 = mov.b32 %r1 else %r2", "+  %r6 = mov.b32 %r1"];
    assert_rewrite(&found, "mismatch", 1, "common", &changed);
}

#[test]
fn control_flow_that_loses_a_branch() {
    let found = finding("AnalyzeControlFlow", "PlantedBranch", drops_a_branch);
    assert_rewrite(&found, "mismatch", 1, "branch", &["-  cbra %p5, bb1, bb2", "+  bra bb2"]);
}

#[test]
fn control_flow_that_never_ends() {
    let found = finding("AnalyzeControlFlow", "PlantedLoop", never_ends);
    assert_rewrite(&found, "mismatch", 1, "thread", &["-  bra bb2", "+  bra bb1"]);
    assert!(found.detail.contains("out of steps"), "{}", found.detail);
}

#[test]
fn a_phase_that_panics_is_named_with_its_function() {
    let found = finding("GeneralOptimizeEarly", "PlantedPanic", panics);
    assert_eq!((found.verdict.name(), found.function.as_deref()), ("panic", Some("k")));
    assert!(found.detail.contains("no rule for this"), "{}", found.detail);
    assert_eq!(found.rewrite.expect("a rewrite is guilty").index, 3);
}
