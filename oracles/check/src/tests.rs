use proptest::test_runner::Config as Cases;
use proptest::{prop_assert, proptest};

use oriole_ir::ops::Opcode;
use oriole_ir::{Inst, parse_module};
use oriole_optimizer::pass::{Changed, Run};

use super::*;
use crate::inject::FaultSpec;
use crate::supervise::StepId;
use oriole_generate::{Config, strategy};
use oriole_launch::command_line;

proptest! {
    #![proptest_config(Cases::with_cases(48))]

    #[test]
    fn no_phase_changes_an_instruction(generated in strategy::instructions(Config::default())) {
        let options = CheckOptions { randoms: 0, ..CheckOptions::default() };
        let report = check_module("strategy", &generated.module, &generated.launches, &options);
        prop_assert!(report.is_ok_and(|report| report.clean));
    }
}

/// A kernel in virtual form whose threads take different ways.
const KERNEL: &str = "target sm_90 ptx 9.0

entry @k visible virtual {
  param $out: u64 param align 8
bb0:
  %d0 = ld.param.u64 [$out]
  %r1 = s2r.b32 sr.tid.x
  %d2 = imad.wide.u32 %r1, 4, %d0
  %r3 = mov.b32 7
  %p4 = setp.lt.u32 %r1, 2
  cbra %p4, bb1, bb2
bb1:
  %r3 = mov.b32 8
  bra bb2
bb2:
  st.global.u32 [%d2], %r3
  ret
}
";

fn check_with(fault: &str) -> KernelReport {
    let module = parse_module(KERNEL).expect("the kernel reads");
    let launch = command_line::launch(None, "1", "4", &["zeroed:16".to_owned()]).expect("it is well-formed");
    let launches = [NamedLaunch { name: "zeros".to_owned(), launch }];
    let fault: FaultSpec = fault.parse().expect("a fault");
    let mut options = CheckOptions { randoms: 0, faults: vec![fault], ..CheckOptions::default() };
    fault.plant(&mut options.passes);
    check_module("k", &module, &launches, &options).expect("it can be checked")
}

/// Steps outside of the phases are judged as phases are, and the check continues behind a wrong one.
#[test]
fn every_kind_of_step_is_judged_and_takes_faults() {
    let outside = StepId::OUTSIDE_PHASES.into_iter();
    for step in outside.chain([StepId::first("GeneralOptimizeEarly")]) {
        let report = check_with(&format!("drop-store@{}", step.token()));
        let [finding] = &report.findings[..] else { panic!("{step}: {:#?}", report.findings) };
        assert_eq!((finding.phase, finding.verdict.name()), (step, "mismatch"));
        assert_eq!(finding.rewrite.is_some(), matches!(step, StepId::Pass(_)), "only phases are bisected");
        assert!(report.faults[0].planted && !report.clean);
        let lines = report.phases.iter().filter(|line| line.skipped.is_none());
        let wrong: Vec<StepId> =
            lines.filter(|line| line.verdict.as_ref().is_some_and(Verdict::is_finding)).map(|line| line.step).collect();
        assert_eq!(wrong, [step]);
        assert_eq!(report.phases.last().map(|line| line.step), Some(StepId::PtxRoundTrip));
    }
}

#[test]
fn a_fault_without_a_place_is_not_planted() {
    // There is no phi before SSA construction nor behind the round trip, and no switch anywhere.
    for (fault, planted) in [
        ("stale-phi@ssa-construction", true),
        ("stale-phi@ssa-destruction", false),
        ("stale-phi@ptx-round-trip", false),
        ("wrong-switch@ssa-construction", false),
        ("wrong-switch@GeneralOptimizeEarly", false),
    ] {
        let report = check_with(fault);
        assert_eq!((report.faults[0].planted, report.clean), (planted, !planted), "{fault}");
    }
}

/// Where SSA construction goes wrong the phases, which need SSA form, have nothing to do.
#[test]
fn without_ssa_form_phases_are_left_out() {
    let report = check_with("undefined-operand@ssa-construction:2");
    assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
    let phases = report.phases.iter().filter(|line| matches!(line.step, StepId::Pass(_)));
    assert!(phases.filter(|line| line.skipped.is_none()).all(|line| !line.changed));
}

/// Phases that need no SSA form do their work in virtual form, which no other check shows them.
#[test]
fn without_ssa_construction_phases_work_in_virtual_form() {
    // One of two results is dead; nothing may go.
    let body = "  %r3 = mov.b32 7\n  %p5, %p6 = setp.bool.lt.and.u32 %r1, 2, 1\n  @%p5 %r3 = mov.b32 8\n";
    let kernel = KERNEL.replace("  %r3 = mov.b32 7\n", body);
    let module = parse_module(&kernel).expect("the kernel reads");
    let launch = command_line::launch(None, "1", "4", &["zeroed:16".to_owned()]).expect("it is well-formed");
    let launches = [NamedLaunch { name: "zeros".to_owned(), launch }];
    let mut options = CheckOptions { randoms: 0, ..CheckOptions::default() };
    options.pipeline.disabled.push("ssa-construction".to_owned());
    let report = check_module("k", &module, &launches, &options).expect("it can be checked");
    assert!(report.clean, "{:#?}", report.findings);
    let line = |step| report.phases.iter().find(|line| line.step == step).expect("it is a step");
    assert_eq!(line(StepId::SsaConstruction).skipped, Some("disabled"));
    assert_eq!(line(StepId::first("OriPerformLiveDeadFirst")).skipped, None);
    assert_eq!(line(StepId::first("GvnCse")).skipped, Some("form"));
    options.pipeline.disabled.push("no-such-phase".to_owned());
    assert!(check_module("k", &module, &launches, &options).is_err());
}

/// A token of a step inside phases is read where the phase is, one of a whole phase where the steps are planned.
#[test]
fn what_is_disabled_inside_a_phase_or_as_a_whole_is_not_done() {
    let module = parse_module(KERNEL).expect("the kernel reads");
    let launch = command_line::launch(None, "1", "4", &["zeroed:16".to_owned()]).expect("it is well-formed");
    let launches = [NamedLaunch { name: "zeros".to_owned(), launch }];
    let copies = |disabled: &[&str]| {
        let mut options = CheckOptions { randoms: 0, ..CheckOptions::default() };
        options.pipeline.disabled = disabled.iter().map(|token| (*token).to_owned()).collect();
        let report = check_module("k", &module, &launches, &options).expect("it can be checked");
        let skipped = report.phases.iter().any(|line| line.skipped == Some("disabled"));
        (report.statistics.keys().any(|name| name.starts_with("copy-")), skipped)
    };
    assert_eq!(copies(&[]), (true, false));
    assert_eq!(copies(&["OriCopyProp"]), (false, false));
    assert_eq!(copies(&["GvnCse"]), (true, true));
    assert_eq!(copies(&["oricopyprop", "GvnCse"]), (false, true));
}

/// What a phase says of itself is not believed: it alone is to blame for what it changes in silence.
#[test]
fn a_change_that_a_phase_does_not_report_is_judged() {
    let module = parse_module(KERNEL).expect("the kernel reads");
    let launch = command_line::launch(None, "1", "4", &["zeroed:16".to_owned()]).expect("it is well-formed");
    let launches = [NamedLaunch { name: "zeros".to_owned(), launch }];
    let whole = CheckOptions { randoms: 0, ..CheckOptions::default() };
    let in_silence = Run::function(|func, _| {
        let stores = func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::St);
        let stores: Vec<Inst> = stores.collect();
        stores.into_iter().for_each(|store| func.remove_inst(store));
        Changed::No
    });
    // It has nothing to do for this kernel. A later phase changes something, or nothing comes behind it.
    let place = whole.passes.iter().position(|element| element.name == "OriSplitLiveRanges");
    let place = place.expect("it is a phase");
    let mut short = CheckOptions { destruction: false, round_trip: false, ..whole.clone() };
    short.passes.truncate(place + 1);
    for mut options in [whole, short] {
        let element = options.passes[place].clone();
        options.passes.replace(place, element.followed_by(in_silence.clone()));
        let report = check_module("k", &module, &launches, &options).expect("it can be checked");
        let [finding] = &report.findings[..] else { panic!("{:#?}", report.findings) };
        // A debug build of the runner compares by itself.
        let verdict = if cfg!(debug_assertions) { "panic" } else { "mismatch" };
        assert_eq!((finding.phase, finding.verdict.name()), (StepId::first("OriSplitLiveRanges"), verdict));
        let line = report.phases.iter().find(|line| line.step == finding.phase).expect("it has a line");
        assert_eq!(line.verdict.as_ref().map(Verdict::name), Some(verdict));
    }
}
