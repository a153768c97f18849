//! Phases over the machine code that ptxas makes: campaigns, bisection and reduction blame them for what they do.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use oriole_check::compiler::Ptxas;

/// A sum that loses its second term.
const WRONG: &str = "machine rule wrong priority 20: d, PT, PT = IADD3 x:R, y:R, RZ, ~PT, ~PT => d = MOV x, 0xf\n";
/// A generator of small kernels keeps campaigns and reductions short.
const SMALL: &str = "instructions = [4, 8]\nfunctions = 0\ndepth = 1\n";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn corpus(file: &str) -> String {
    here().join("../../corpus").join(file).display().to_string()
}

/// The exit code of a command, and all that it says, in a folder with `my.rules` and `small.toml`.
fn oriole(arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("my.rules"), WRONG).expect("the file is written");
    std::fs::write(folder.path().join("small.toml"), SMALL).expect("the file is written");
    // ptxas is found where ci/cuda-tools has installed it, or on the path.
    let tools = here().join("../../.cuda");
    if tools.exists() {
        std::os::unix::fs::symlink(tools, folder.path().join(".cuda")).expect("the link is made");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_oriole"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .expect("the command starts");
    let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    (output.status.code(), said)
}

fn has_ptxas() -> bool {
    let found = Ptxas::find(here()).is_some();
    if !found {
        eprintln!("skipped: there is no ptxas (ci/cuda-tools installs it)");
    }
    found
}

#[test]
fn kernels_on_which_phases_over_code_went_wrong_are_right() {
    if !has_ptxas() {
        return;
    }
    for (kernel, machines) in [
        ("jump_without_a_table", "sm_80,sm_90"),
        ("wide_load_in_a_row", "sm_100,sm_120"),
        ("wide_store_of_halves", "sm_100,sm_120"),
    ] {
        let file = corpus(&format!("regress/{kernel}.ptx"));
        let (code, said) = oriole(&["check", &file, "--machine", machines]);
        // Loads of 32 bytes are not executed: their words must have a place, and that is all.
        let is_right = code == Some(if kernel == "wide_load_in_a_row" { 3 } else { 0 });
        assert!(is_right && said.contains("0 findings"), "{kernel}: {said}");
    }
}

#[test]
fn a_campaign_blames_and_reduces_a_wrong_machine_rule() {
    if !has_ptxas() {
        return;
    }
    let campaign = ["fuzz", "--machine", "sm_90", "--ptxas-level", "0", "--config", "small.toml", "--cases", "64"];
    let rest = ["--target", "kernels", "--jobs", "1", "--corpus", "none"];
    let (code, said) = oriole(&[&campaign[..], &rest[..], &["--rules", "my.rules"]].concat());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("mismatch in PeepholeGeneric, wrong: ") && said.contains("reduced from "), "{said}");
    assert!(!said.contains("mismatch in ptxas"), "{said}");
    let (code, said) = oriole(&[&campaign[..], &rest[..], &["--canary"]].concat());
    assert!(code == Some(0) && said.contains("canary: a planted fault was found"), "{said}");
}

#[test]
fn a_wrong_machine_rule_is_bisected_and_reduced() {
    let kernel = corpus("kernels/float_forms.ptx");
    let cubin = corpus("cubins/float_forms.sm_90.O0.cubin");
    let (code, said) = oriole(&["bisect", &kernel, "--cubin", &cubin, "--rules", "my.rules"]);
    assert!(code == Some(1) && said.contains("mismatch in PeepholeGeneric, "), "{said}");
    assert!(said.contains("(wrong) in function `float_forms`") && said.contains("IADD3"), "{said}");
    assert!(said.contains("--phase PeepholeGeneric --randoms 0 --rules my.rules --rewrite-limit "), "{said}");
    let (code, said) = oriole(&["bisect", &kernel, "--cubin", &cubin]);
    assert!(code == Some(0) && said.starts_with("nothing is wrong"), "{said}");
    if !has_ptxas() {
        return;
    }
    let reduce = ["reduce", &kernel, "--machine", "sm_90", "--ptxas-level", "0", "--jobs", "1"];
    let (code, said) = oriole(&[&reduce[..], &["--rules", "my.rules"]].concat());
    assert!(code == Some(0) && said.contains("shows the same") && said.contains("nothing more can go"), "{said}");
    let (code, said) = oriole(&reduce);
    assert!(code == Some(2) && said.contains("phases do nothing of this kind wrong with its code"), "{said}");
}

/// Each kind finds places, and a check blames the phase for faults of it; what shows nothing is told apart.
#[test]
fn faults_planted_in_phases_over_code_are_found() {
    if !has_ptxas() {
        return;
    }
    let selftest = ["selftest", "--machine", "sm_90,sm_120", "--cases", "16", "--data-sets", "2", "--format", "json"];
    let (_, said) = oriole(&selftest);
    let report: serde_json::Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    let kinds = report["kinds"].as_array().expect("kinds");
    assert_eq!(kinds.len(), 15, "{said}");
    for kind in kinds {
        let count = |name: &str| kind[name].as_u64().expect("a count");
        assert!(count("injected") > 0 && count("caught") > 0 && count("caught") > count("escaped"), "{kind}");
    }
    let (kernel, cubin) = (corpus("kernels/half_arith.ptx"), corpus("cubins/half_arith.sm_90.O0.cubin"));
    let fault = ["check", &kernel, "--cubin", &cubin, "--fault", "code-dropped@OriPerformLiveDeadFourth#2:2"];
    let (code, said) = oriole(&fault);
    assert!(code == Some(1) && said.contains("planted code-dropped"), "{said}");
}

#[test]
fn options_that_say_two_things_are_refused() {
    let kernel = corpus("kernels/saxpy.ptx");
    for (arguments, says) in [
        (&["fuzz", "--machine", "sm_90", "--target", "ptxas"][..], "--target ptxas judges the compiler"),
        (&["fuzz", "--machine", "sm_90", "--sm", "sm_80"], "--machine judges phases"),
        (&["fuzz", "--machine", "sm_90", "--passes", "gvn", "--cases", "1"], "gvn"),
        (&["fuzz", "--machine", "sm_1"], "sm_1"),
        (&["selftest", "--machine", "sm_90", "--kind", "drop-store"], "kind of fault elsewhere"),
        (&["selftest", "--kind", "code-dropped"], "kinds that begin with `code-` are for --machine"),
        (&["reduce", &kernel, "--machine", "sm_90", "--predicate", "miscompile"], "--machine judges phases"),
        (&["reduce", &kernel, "--machine", "sm_90", "--exec", "true"], "cannot be used with"),
        (&["bisect", &kernel, "--machine", "sm_90", "--cubin", "k.cubin"], "cannot be used with"),
    ] {
        let (code, said) = oriole(arguments);
        assert!(code == Some(2) && said.contains(says), "{arguments:?}: {said}");
    }
}
