//! The stages of our own compiler over kernels of the corpus: each is executed, and a fault is blamed on its stage.

use std::path::{Path, PathBuf};
use std::time::Duration;

use oriole_check::compiled::{Compiler, Kernel};
use oriole_check::compiler::{Axis, Own, Tool};
use oriole_check::inject::FaultSpec;
use oriole_check::input::{launches_for, read_kernel};
use oriole_check::judge::Verdict;
use oriole_check::report::KernelReport;
use oriole_check::supervise::StepId;
use oriole_check::{CheckError, CheckOptions};
use oriole_optimizer::codegen::compile::Stage;

fn compiler(axes: &[Axis]) -> Compiler {
    let own = Own { every_stage: true, ..Own::new(Duration::from_secs(60)) };
    Compiler {
        tool: Tool::Own(own),
        axes: axes.to_vec(),
        version: String::new(),
        gpu: None,
        phases: None,
        witness: None,
    }
}

fn kernel(name: &str) -> Kernel {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../corpus/kernels/{name}.ptx"));
    let module = read_kernel(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    Kernel { name: name.to_owned(), module, launches: launches_for(&path, &[]).expect("it has launches") }
}

fn checked(kernels: &[Kernel], axes: &[Axis], faults: &[FaultSpec]) -> Vec<KernelReport> {
    let options = CheckOptions { faults: faults.to_vec(), randoms: 1, ..CheckOptions::default() };
    let all = compiler(axes).check_all(kernels, &options).expect("files can be written");
    let all: Result<Vec<_>, CheckError> = all.into_iter().map(|one| one.map(|checked| checked.report)).collect();
    all.expect("the kernels run")
}

/// Kernels with loops, shared memory, divisions, doubles, predicates and atomic operations.
const SOME: [&str; 6] = ["saxpy", "reduce_shared", "collatz", "int64_arith", "histogram", "divergence"];

#[test]
fn every_stage_is_executed_and_right() {
    let kernels = SOME.map(kernel);
    let reports = checked(&kernels, &[Axis::new("sm_90", 3), Axis::new("sm_80", 0)], &[]);
    for report in &reports {
        assert!(report.findings.is_empty(), "{}", report.findings[0]);
        let of = |step: StepId| report.phases.iter().find(|line| line.step == step).map(|line| line.verdict.clone());
        assert_eq!(of(StepId::Optimization), Some(Some(Verdict::Equal)), "{}", report.kernel);
        for stage in Stage::ALL {
            assert_eq!(of(StepId::Stage(stage)), Some(Some(Verdict::Equal)), "{}: {}", report.kernel, stage.name());
        }
    }
}

/// Kinds of faults by stage; one of each must be found, and nearly all that are found must be blamed on the stage.
const FAULTS: [(&str, &str); 12] = [
    ("drop-store", "expansion"),
    ("wrong-constant-bit", "expansion"),
    ("code-wrong-register", "selection"),
    ("code-swapped-sources", "selection"),
    ("code-wrong-target", "layout"),
    ("code-out-of-order", "ordering"),
    ("code-wrong-result", "allocation"),
    ("code-wrong-register", "allocation"),
    ("code-out-of-order", "reordering"),
    ("code-dropped-wait", "scheduling"),
    ("code-stale-reuse", "scheduling"),
    ("code-off-by-one", "encoding"),
];

#[test]
fn faults_are_blamed_on_their_stages() {
    let kernels = SOME.map(kernel);
    let (mut all, mut right) = (0, 0);
    for (kind, step) in FAULTS {
        let (mut planted, mut found, mut blamed, mut verified) = (0, 0, 0, 0);
        for seed in 0..2 {
            let fault: FaultSpec = format!("{kind}@{step}:{seed}").parse().expect("a fault");
            for report in checked(&kernels, &[Axis::new("sm_90", 3)], &[fault]) {
                planted += u64::from(report.faults[0].planted);
                found += u64::from(!report.findings.is_empty());
                blamed += u64::from(report.findings.iter().any(|finding| finding.phase == fault.step));
                verified += u64::from(report.findings.iter().any(|finding| finding.detail.contains("allocation: ")));
            }
        }
        println!("{kind}@{step}: {blamed} of {found} blamed, {planted} planted");
        assert!(planted > 1 && blamed > 0, "{kind}@{step}: {planted} planted, {found} found, {blamed} blamed");
        // The verifier sees them before anything is executed. In a kernel that calls a sequence, stages before it are
        // not executed: there it may see those of selection in what is handed over.
        let has_verifier = step == Stage::Allocate.name();
        let is_so = if has_verifier { verified == found } else { verified + blamed <= found };
        assert!(is_so, "{kind}@{step}: the verifier sees {verified} of {found}, {blamed} blamed");
        (all, right) = (all + found, right + blamed);
    }
    assert!(right * 20 >= all * 19, "{right} of {all} are blamed on their stage");
}

/// A pass that goes wrong before code is generated is named with its change.
#[test]
fn a_wrong_pass_is_named_with_its_change() {
    let fault: FaultSpec = "drop-store@OriPerformLiveDeadFirst:1".parse().expect("a fault");
    let report = &checked(&[kernel("saxpy")], &[Axis::new("sm_90", 3)], &[fault])[0];
    let finding = report.findings.first().expect("it is found");
    assert_eq!(finding.phase, StepId::Optimization);
    assert!(finding.detail.contains("OriPerformLiveDeadFirst is wrong"), "{}", finding.detail);
    let rewrite = finding.rewrite.as_ref().expect("the change is named");
    assert_eq!(rewrite.rule.as_deref(), Some("planted drop-store"));
}
