//! The reducer on findings of planted bugs in generated kernels.

#[path = "bugs/large.rs"]
mod large;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::bugs;
use crate::bugs::{BUGS, findings, options};
use large::{LARGE, evidence, finding};
use oriole_check::input::NamedLaunch;
use oriole_check::reduce::{self, Fault, Options, Reduced, Request, Roots, Watch};
use oriole_check::report::{Evidence, Finding};
use oriole_check::{CheckOptions, check_module, whole};
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_ir::verify::verify_module;
use oriole_ir::{Function, parse_module};
use oriole_optimizer::pass::{Changed, PhaseContext};

fn launches(evidence: &Evidence) -> Vec<NamedLaunch> {
    let named = |launch: &_| NamedLaunch { name: "reduced".to_owned(), launch: Clone::clone(launch) };
    evidence.launch.iter().map(named).collect()
}

/// The original must verify, finish, depend on nothing undefined and have no race.
fn assert_says_something(name: &str, evidence: &Evidence) {
    assert_eq!(verify_module(&evidence.module), Ok(()), "{name}");
    let Some(launch) = &evidence.launch else { return };
    let executable = Executable::new(&evidence.module).expect("it decodes");
    let options = RunOptions { races: true, ..RunOptions::default() };
    let run = executable.run(launch, &options).expect("it loads");
    assert_eq!((run.outcome, run.races), (Outcome::Finished, Vec::new()), "{name}");
}

/// What is left shows the same finding to a check that knows nothing of the reducer, also after printing and parsing.
fn assert_same_finding(name: &str, finding: &Finding, evidence: &Evidence, options: &CheckOptions) {
    let module = parse_module(&evidence.module.to_string()).expect("what is printed parses");
    assert_eq!(module, evidence.module, "{name}");
    let report = check_module(name, &module, &launches(evidence), options).expect("it can be checked");
    let found = report.findings.first().unwrap_or_else(|| panic!("{name} has gone:\n{module}"));
    assert_eq!((found.phase, found.verdict.name()), (finding.phase, finding.verdict.name()));
    let rule = |finding: &Finding| finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.clone());
    assert_eq!(rule(found), rule(finding), "{name}");
}

#[test]
fn findings_become_small_and_stay_what_they_are() {
    let mut sizes = Vec::new();
    for (name, verdict, function) in BUGS {
        let options = options(name, *function);
        let finding = findings(&options, verdict, 6, 1).pop().unwrap_or_else(|| panic!("{name} shows in no kernel"));
        let limits = Options::default();
        let reduced = reduce::finding(&finding, &options, &limits).expect("the phase is known");
        let Reduced { evidence, before, after, evaluations, rounds, time, .. } = &reduced;
        println!(
            "{name}: {} to {} instructions, {evaluations} evaluations, {rounds} rounds, {time:?}\n{}",
            before.instructions, after.instructions, evidence.module
        );
        assert!(reduced.interesting && reduced.complete, "{name}");
        assert!(before.instructions >= 200, "{name}");
        assert_says_something(name, evidence);
        assert_same_finding(name, &finding, evidence, &options);
        let fault = Fault::new(&finding, &options).expect("the phase is known");
        let again = reduce::reduce(evidence, &|candidate| fault.shows(candidate), &limits);
        assert_eq!(again.evidence, *evidence, "{name} reduces twice");
        sizes.push((after.instructions, *evaluations));
    }
    sizes.sort_unstable();
    assert!(sizes[sizes.len() / 2].0 <= 12, "{sizes:?}");
    assert!(sizes.iter().all(|(_, evaluations)| *evaluations <= 2000), "{sizes:?}");
}

/// Every candidate for which the built-in predicate holds, on the whole way down, says something.
#[test]
fn no_accepted_candidate_is_undefined() {
    let (name, verdict, function) = BUGS[0];
    let options = options(name, function);
    let finding = findings(&options, verdict, 9, 1).pop().expect("additions are everywhere");
    let fault = Fault::new(&finding, &options).expect("the phase is known");
    let accepted = AtomicU64::new(0);
    let predicate = |candidate: &Evidence| {
        let shows = fault.shows(candidate);
        if shows {
            assert_says_something(name, candidate);
            accepted.fetch_add(1, Ordering::Relaxed);
        }
        shows
    };
    assert!(reduce::reduce(&finding.evidence, &predicate, &Options::default()).complete);
    assert!(accepted.into_inner() > 20);
}

/// Candidates of more instructions count as large.
const MANY: usize = 400;

/// Reduces a large program: what is left, and for how many candidates the predicate was asked, of which how many were
/// large.
fn counted(pieces: usize, program: fn(usize) -> String, named: bool) -> (Reduced, u64) {
    let (name, _, function) = BUGS.iter().find(|bug| bug.0 == "ConstantOffByOne").expect("there is such a bug");
    let options = options(name, *function);
    let finding = finding(&evidence(program, pieces), &options);
    let fault = Fault::new(&finding, &options).expect("the phase is known");
    let large = AtomicU64::new(0);
    let predicate = |candidate: &Evidence| {
        large.fetch_add(u64::from(candidate.module.inst_count() > MANY), Ordering::Relaxed);
        fault.shows(candidate)
    };
    let roots = if named { fault.roots().clone() } else { Roots::default() };
    let request = Request { predicate: &predicate, roots, options: Options::default(), watch: Watch::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be had");
    let reduced = pool.install(|| request.reduce(&finding.evidence));
    assert!(reduced.interesting && reduced.complete && reduced.after.instructions <= 8, "{}", reduced.evidence.module);
    (reduced, large.into_inner())
}

/// A fault that needs little of the program takes a number of checks that grows with the logarithm of the size, whether
/// the finding names what is wrong or not.
#[test]
fn checks_grow_with_the_logarithm_of_the_size() {
    for (name, program) in LARGE {
        for named in [true, false] {
            let [small, large] = [100, 1600].map(|pieces| counted(pieces, *program, named));
            println!(
                "{name}, named: {named}: {} of {} checks are large at {} instructions, {} of {} at {}",
                small.1,
                small.0.evaluations,
                small.0.before.instructions,
                large.1,
                large.0.evaluations,
                large.0.before.instructions
            );
            assert!(large.0.before.instructions > 15 * small.0.before.instructions);
            let most = if named { 40 } else { 100 };
            assert!(large.1 <= most && large.0.evaluations <= small.0.evaluations + 60, "{name}, named: {named}");
        }
    }
}

const RACY: &str = "target sm_90 ptx 9.0

entry @k visible ssa {
  param $out: u64 param align 8
bb0:
  %d0 = ld.param.u64 [$out]
  %r1 = s2r.b32 sr.tid.x
  %r2 = iadd.u32 %r1, %r1
  %d3 = imad.wide.u32 %r1, 4, %d0
  st.global.u32 [%d3], %r2
  ret
}
";

fn kernel(text: &str, threads: &str, args: &[&str]) -> Evidence {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let launch = oriole_launch::command_line::launch(None, "1", threads, &args).expect("the launch is well-formed");
    Evidence { module: parse_module(text).expect("the kernel is well-formed"), launch: Some(launch) }
}

/// `x + x` turned into `x - x` is wrong at every thread but the first; all of them must not be sent to one address.
#[test]
fn a_race_is_no_way_to_become_smaller() {
    fn doubles(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
        let insts: Vec<_> = func.layout_insts().collect();
        let double = |inst: &oriole_ir::Inst| {
            func.inst(*inst).opcode == oriole_ir::ops::Opcode::IAdd && func.srcs(*inst)[0] == func.srcs(*inst)[1]
        };
        let Some(inst) = insts.into_iter().find(double).filter(|_| cx.rewrite("double")) else { return Changed::No };
        func.srcs_mut(inst)[1] = oriole_ir::Operand::imm(0);
        Changed::Yes
    }
    let options = options("Doubles", doubles);
    let evidence = kernel(RACY, "4", &["zeroed:16"]);
    let report = check_module("racy", &evidence.module, &launches(&evidence), &options).expect("it can be checked");
    let reduced = reduce::finding(&report.findings[0], &options, &Options::default()).expect("the phase is known");
    assert!(reduced.interesting && reduced.complete);
    assert_says_something("racy", &reduced.evidence);
}

#[test]
fn what_is_not_wrong_is_not_reduced() {
    let (name, verdict, function) = BUGS[0];
    let wrong = options(name, function);
    let finding = findings(&wrong, verdict, 9, 1).pop().expect("additions are everywhere");
    let right = options(name, |_, _| Changed::No);
    let reduced = reduce::finding(&finding, &right, &Options::default()).expect("the phase is known");
    assert!(!reduced.interesting);
    assert_eq!(reduced.evidence, *finding.evidence);
    let other = options("Other", function);
    assert!(reduce::finding(&finding, &other, &Options::default()).is_err());
}

/// A phase that is wrong only where others have made changes before it in the same run.
#[test]
fn a_pipeline_that_is_wrong_as_a_whole_is_bisected() {
    fn counts(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
        let insts: Vec<_> = func.layout_insts().collect();
        let add = insts.into_iter().find(|inst| func.inst(*inst).opcode == oriole_ir::ops::Opcode::IAdd);
        let Some(add) = add.filter(|_| cx.rewrite("harmless")) else { return Changed::No };
        func.set_line(add, func.inst(add).line + 1);
        Changed::Yes
    }
    fn late(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
        let insts: Vec<_> = func.layout_insts().collect();
        let wide = insts.into_iter().find(|inst| func.inst(*inst).opcode == oriole_ir::ops::Opcode::IAdd);
        let Some(add) = wide.filter(|_| cx.rewrites_made() > 0 && cx.rewrite("late")) else { return Changed::No };
        func.srcs_mut(add)[0] = oriole_ir::Operand::imm(7);
        Changed::Yes
    }
    let phases = vec![bugs::phase("Counts", counts), bugs::phase("Late", late)];
    let check = CheckOptions {
        passes: phases.into(),
        randoms: 0,
        destruction: false,
        round_trip: false,
        ..CheckOptions::default()
    };
    let evidence = kernel(RACY, "4", &["zeroed:16"]);
    let launches = launches(&evidence);
    let report = check_module("whole", &evidence.module, &launches, &check).expect("it can be checked");
    assert!(report.clean, "alone, each phase is right");
    let found = whole::bisect("whole", &evidence.module, &launches, &check).expect("it can be checked");
    let found = found.expect("together they are wrong");
    let rewrite = found.rewrite.expect("a change is guilty");
    assert_eq!(
        (found.pass.map(|pass| pass.name), rewrite.index, rewrite.rule.as_deref()),
        (Some("Late"), 2, Some("late"))
    );
    assert!(rewrite.diff.contains("+  %r2 = iadd.u32 7, %r1"), "{}", rewrite.diff);
    let alone = CheckOptions { passes: [bugs::phase("Late", late)].into(), ..check };
    assert!(whole::bisect("whole", &evidence.module, &launches, &alone).expect("it can be checked").is_none());
}
