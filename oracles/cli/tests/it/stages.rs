//! The stages of our own compiler in the commands: which one a finding is blamed on.

use std::path::Path;
use std::process::{Command, Output};

use oriole_check::compiler::Ptxas;
use serde_json::Value;

fn oriole(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments).current_dir(folder).output().expect("the command starts")
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}

fn kernel() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels/spmv_csr.ptx").display().to_string()
}

const CODE: [&str; 4] = ["--compile", "sm_90", "--compile-level", "3"];

#[test]
fn check_judges_each_stage_and_names_the_guilty_one() {
    let (folder, kernel) = (tempfile::tempdir().expect("a temporary folder"), kernel());
    let check = |more: &[&str]| {
        let arguments = [&["check", &kernel, "--format", "json"], &CODE[..], more].concat();
        let output = oriole(folder.path(), &arguments);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
        (output.status.code(), document)
    };
    let (code, document) = check(&[]);
    assert_eq!(code, Some(0), "{document}");
    let lines = document["kernels"][0]["phases"].as_array().expect("a line for each stage");
    let said: Vec<(&str, &str)> =
        lines.iter().filter_map(|line| Some((line["name"].as_str()?, line["verdict"].as_str()?))).collect();
    let stages = [
        "optimization",
        "expansion",
        "selection",
        "layout",
        "macro-expansion",
        "ordering",
        "allocation",
        "reordering",
        "scheduling",
        "encoding",
    ];
    let wanted: Vec<(&str, &str)> = stages.into_iter().chain(["code generation"]).map(|name| (name, "equal")).collect();
    assert_eq!(said, wanted);
    for (fault, stage) in [
        ("drop-store@expansion:1", "expansion"),
        ("code-wrong-register@selection:2", "selection"),
        ("code-wrong-target@layout:0", "layout"),
        ("code-out-of-order@ordering:1", "ordering"),
        ("code-wrong-register@allocation:1", "allocation"),
        ("code-dropped-wait@scheduling:3", "scheduling"),
        ("code-off-by-one@encoding:1", "encoding"),
    ] {
        let (code, document) = check(&["--fault", fault]);
        assert_eq!(code, Some(1), "{fault}: {document}");
        let finding = &document["kernels"][0]["findings"][0];
        assert_eq!(finding["phase"], stage, "{fault}: {finding}");
    }
}

#[test]
fn bisect_finds_the_stage_and_reduce_keeps_the_finding() {
    let (folder, kernel) = (tempfile::tempdir().expect("a temporary folder"), kernel());
    let run = |command: &str, more: &[&str]| {
        let output = oriole(folder.path(), &[&[command, &kernel], &CODE[..], more].concat());
        (output.status.code(), said(&output))
    };
    let (code, text) = run("bisect", &[]);
    assert!(code == Some(0) && text.contains("nothing is wrong"), "{text}");
    let (code, text) = run("bisect", &["--fault", "code-wrong-register@allocation:1"]);
    assert!(code == Some(1) && text.contains(" in allocation,") && text.contains("reads another value"), "{text}");
    let (code, text) = run("bisect", &["--fault", "drop-store@OriPerformLiveDeadFirst:1"]);
    assert!(code == Some(1) && text.contains(" in optimization,"), "{text}");
    assert!(text.contains("OriPerformLiveDeadFirst is wrong") && text.contains("planted drop-store"), "{text}");
}

#[test]
fn faults_in_stages_are_measured() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kinds = ["--kind", "code-wrong-register", "--kind", "code-dropped-wait", "--kind", "drop-store"];
    let arguments = [&["selftest"], &CODE[..], &kinds, &["--cases", "16", "--data-sets", "2"]].concat();
    let output = oriole(folder.path(), &arguments);
    let text = said(&output);
    for row in [
        "drop-store@expansion",
        "code-wrong-register@selection",
        "code-wrong-register@allocation",
        "code-wrong-register@encoding",
        "code-dropped-wait@scheduling",
    ] {
        assert!(text.contains(row), "{row}: {text}");
    }
    let (blamed, caught) =
        text.lines().find_map(|line| line.split_once(" blamed on the stage")?.0.split_once(" of ")).expect(&text);
    let [blamed, caught] = [blamed, caught].map(|number| number.parse::<u64>().expect("a number"));
    assert!(caught > 12 && blamed * 10 >= caught * 9, "{text}");
    let wrong = oriole(folder.path(), &["selftest", "--compile", "sm_90", "--machine", "sm_90"]);
    assert!(wrong.status.code() == Some(2) && said(&wrong).contains("leave out one of the two"), "{}", said(&wrong));
}

/// Two of three opinions that agree say who is wrong: of a fault in our compiler, of one in both texts, and of a kernel
/// that ptxas 13.0.88 compiles wrongly.
#[test]
fn a_third_opinion_says_who_is_wrong() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if Ptxas::find(here).is_none() {
        return println!("skipped: there is no ptxas (ci/cuda-tools installs it)");
    }
    let (folder, kernel) = (tempfile::tempdir().expect("a temporary folder"), kernel());
    let out = folder.path().display().to_string();
    let wrong = here.join("../../corpus/miscompiles/carried_half.ptx");
    let wrong = wrong.display().to_string();
    for (kernel, fault, phase, said) in [
        (&kernel, Some("code-wrong-register@selection:2"), "selection", "so ours is wrong"),
        (&kernel, Some("drop-store@ptxas:1"), "code generation", "so Oriole reads the PTX wrongly"),
        (&wrong, None, "ptxas", "so that of ptxas is wrong"),
    ] {
        let fault: Vec<&str> = fault.iter().flat_map(|fault| ["--fault", fault]).collect();
        let arguments =
            [&["check", kernel, "--format", "json", "--with-ptxas", "--out", &out], &CODE[..], &fault].concat();
        let output = oriole(here, &arguments);
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", self::said(&output)));
        let finding = &document["kernels"][0]["findings"][0];
        assert_eq!(finding["phase"], phase, "{finding}");
        assert!(finding["detail"].as_str().is_some_and(|detail| detail.contains(said)), "{finding}");
    }
    // Without any, all three agree.
    let clean =
        oriole(here, &[&["check", &kernel, "--format", "json", "--with-ptxas", "--out", &out], &CODE[..]].concat());
    let document: Value = serde_json::from_slice(&clean.stdout).unwrap_or_else(|_| panic!("{}", self::said(&clean)));
    let lines = document["kernels"][0]["phases"].as_array().expect("a line for each stage");
    let last = lines.last().expect("the code itself");
    assert_eq!(last["counters"]["three ways: all agree"], 1, "{last}");
}
