//! Rules over instructions of the machine, as a user has them in a file.

use std::path::Path;
use std::process::Command;

/// What the command says, all of it, and its exit code, in a folder with this rule file.
fn oriole(rules: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("my.rules"), rules).expect("the file is written");
    let output = Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments).current_dir(folder.path()).output();
    let output = output.expect("the command starts");
    let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    (output.status.code(), said)
}

fn corpus(file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(file).display().to_string()
}

const WRONG: &str = "machine rule wrong priority 20: d, PT, PT = IADD3 x:R, y:R, RZ, ~PT, ~PT => d = MOV x, 0xf\n";

#[test]
fn a_wrong_machine_rule_is_refuted_and_is_blamed_for_what_it_does() {
    let check = ["rules", "check", "my.rules", "--no-solver"];
    let (code, said) = oriole(WRONG, &check);
    assert!(code == Some(1) && said.contains("machine rule wrong: wrong: IADD3 "), "{said}");
    let (code, said) = oriole(WRONG, &[&check[..], &["--format", "json"]].concat());
    assert!(code == Some(1) && said.contains("\"verdict\": \"wrong\""), "{said}");
    let (kernel, cubin) = (corpus("kernels/float_forms.ptx"), corpus("cubins/float_forms.sm_90.O0.cubin"));
    let (code, said) = oriole(WRONG, &["check", &kernel, "--cubin", &cubin, "--rules", "my.rules"]);
    assert!(code == Some(1) && said.contains("mismatch in PeepholeGeneric\n"), "{said}");
    assert!(said.contains("(wrong) in function `float_forms`"), "{said}");
}

#[test]
fn machine_rules_that_undo_each_other_end() {
    let swap = "machine rule swap priority 20: d, PT, PT = IADD3 x:R, y:R, RZ, ~PT, ~PT => \
                d, PT, PT = IADD3 y, x, RZ, ~PT, ~PT\n";
    let (code, said) = oriole(swap, &["rules", "check", "my.rules", "--no-solver"]);
    assert!(code == Some(0) && said.contains("machine rule swap: right in 1 spellings, 1 of them proved"), "{said}");
    let cubin = corpus("cubins/float_forms.sm_90.O0.cubin");
    let (code, said) = oriole(swap, &["opt", "--machine", &cubin, "-o", "out.cubin", "--rules", "my.rules"]);
    assert!(code == Some(0) && said.contains("float_forms: "), "{said}");
}

#[test]
fn what_is_no_machine_rule_is_refused_with_its_place() {
    for (rules, says) in [
        ("machine rule a: d = MOVE x, 0xf => d = MOV x, 0xf", "no SM has `MOVE`"),
        ("machine rule a: d = MOV x, 0xf => e = MOV x, 0xf", "`e` is not in the pattern"),
        ("machine rule a category b: d = MOV x, 0xf => d = MOV x, 0xf", "there is no category `b`"),
        ("machine rule a in b: d = MOV x, 0xf => d = MOV x, 0xf", "there is no context `b`"),
        ("machine rule a only b: d = MOV x, 0xf => d = MOV x, 0xf", "`b` is no SM"),
        ("machine rule a: d = MOV x:Q, 0xf => d = MOV x, 0xf", "`Q` is no file of registers"),
        ("machine rule a: d = MOV x, foo(C) => d = MOV x, 0xf", "this is no function of constants"),
        ("machine rule a: d, p, PT = IADD3 x, y, RZ, ~PT, ~PT => d = MOV x, 0xf", "the result leaves out what"),
        (&format!("{WRONG}{WRONG}"), "there is a machine rule `wrong` already"),
    ] {
        let kernel = corpus("kernels/saxpy.ptx");
        for command in [&["rules", "check", "my.rules", "--no-solver"][..], &["opt", &kernel, "--rules", "my.rules"]] {
            let (code, said) = oriole(rules, command);
            assert!(code == Some(2) && said.contains(says) && said.contains("my.rules:"), "{rules}: {said}");
        }
    }
    let example =
        "machine rule a: d = SEL x, x, _ => d = MOV x, 0xf\n  yes %R3 = SEL %R2, %R4, %P0 => %R3 = MOV %R2, 0xf\n";
    let (code, said) = oriole(example, &["rules", "check", "my.rules", "--no-solver"]);
    assert!(code == Some(2) && said.contains("an example is wrong: the rule does not apply"), "{said}");
}
