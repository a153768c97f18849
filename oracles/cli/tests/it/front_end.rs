//! Findings of the PTX front end: kept with their texts, shown, reduced on the text, and executed again.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A kernel whose reader must know what `frobnicate` is: nobody does, although its launch says what it leaves.
const REFUSED: &str = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
    \t.reg .b32 %r<4>;\n\t.reg .b64 %d<3>;\n\tld.param.u64 %d1, [p];\n\tmov.u32 %r1, 7;\n\tfrobnicate.u32 %r2, %r1;\n\
    \tst.global.u32 [%d1], %r1;\n\tret;\n}\n";
const LAUNCH: &str = "grid = [1, 1, 1]\nblock = [1, 1, 1]\n\n[[arg]]\ntype = \"u32\"\ndata = [0]\nexpect_data = [7]\n";

fn oriole(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oriole")).args(args).current_dir(folder).output().expect("the command starts")
}

#[track_caller]
fn ends(output: &Output, code: i32) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    out
}

/// A folder with a corpus of this one kernel, and what a campaign over it has found: at most one finding.
fn campaign(kernel: &str, options: &[&str]) -> (tempfile::TempDir, Value) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernels = folder.path().join("corpus/kernels");
    std::fs::create_dir_all(&kernels).expect("the folder is writable");
    std::fs::write(kernels.join("k.ptx"), kernel).expect("the folder is writable");
    std::fs::write(kernels.join("k.launch.toml"), LAUNCH).expect("the folder is writable");
    let fuzz = ["fuzz", "--jobs", "1", "--corpus", "corpus", "--cases", "1", "--format", "json"];
    let report = ends(&oriole(folder.path(), &[&fuzz, options].concat()), 1);
    let report: Value = serde_json::from_str(&report).expect("the output is JSON");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(1), "{report:#}");
    (folder, report["findings"][0].clone())
}

#[test]
fn refused_ptx_is_reduced_on_the_text_and_replays() {
    let (folder, finding) = campaign(REFUSED, &[]);
    let here = folder.path();
    assert_eq!((&finding["phase"], &finding["verdict"]), (&"PTX front end".into(), &"refused".into()));
    let [from, to] = ["from", "to"].map(|end| finding["reduction"]["done"][end].as_u64().expect("it was reduced"));
    assert!((from, to) == (7, 1), "{finding:#}");
    let id = finding["id"].as_str().expect("an identifier");
    let shown = ends(&oriole(here, &["findings", "show", id]), 0);
    assert!(shown.contains("frobnicate") && shown.contains("from 7 to 1 statements"), "{shown}");
    assert!(!shown.contains("st.global"), "{shown}");
    ends(&oriole(here, &["findings", "export", id, "-o", "out"]), 0);
    let files = here.join("out").join(id);
    let read = |name: &str| std::fs::read_to_string(files.join(name)).expect("it was written");
    assert_eq!(read("original.ptx"), REFUSED);
    let reduced = read("reduced.ptx");
    assert!(reduced.len() < 120 && !files.join("original.ori").exists(), "{reduced}");
    assert!(ends(&oriole(here, &["findings", "replay"]), 1).contains("still shows"));
    // The same from the file; that a file is refused must be asked for.
    let file = files.join("original.ptx").display().to_string();
    let reduced = ends(&oriole(here, &["reduce", &file, "--predicate", "refused"]), 0);
    assert!(reduced.contains("1 statement of 7") && reduced.contains("original-reduced.ptx"), "{reduced}");
    assert_eq!(
        std::fs::read_to_string(here.join("original-reduced.ptx")).expect("it was written"),
        read("reduced.ptx")
    );
    assert_eq!(ends(&oriole(here, &["reduce", &file]), 2), "");
    let command = ["reduce", &file, "--exec", "grep -q st.global.u32", "-o", "small.ptx"];
    ends(&oriole(here, &command), 0);
    let small = std::fs::read_to_string(here.join("small.ptx")).expect("it was written");
    assert_eq!(small.trim(), "st.global.u32");
}

/// What a kernel must leave is known for itself alone: its text is kept as it is, and is what replays.
#[test]
fn an_unexpected_result_keeps_the_text() {
    let kernel = REFUSED.replace("frobnicate.u32 %r2, %r1", "add.u32 %r1, %r1, 1");
    let (folder, finding) = campaign(&kernel, &[]);
    assert_eq!(finding["verdict"], "unexpected", "{finding:#}");
    let id = finding["id"].as_str().expect("an identifier");
    let export = ends(&oriole(folder.path(), &["findings", "export", id, "-o", "out"]), 0);
    assert_eq!(export.trim(), format!("oriole run out/{id}/original.ptx"));
    let file = format!("out/{id}/original.ptx");
    assert!(ends(&oriole(folder.path(), &["run", &file]), 1).contains('8'));
    assert!(ends(&oriole(folder.path(), &["findings", "replay"]), 1).contains("still shows"));
}

/// A fault of what the reader leaves shows in printed text too: that text is part of the finding.
#[test]
fn a_misread_round_trip_has_its_text() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let fuzz = ["fuzz", "--jobs", "1", "--corpus", "none", "--cases", "40", "--format", "json"];
    let fuzz = oriole(here, &[&fuzz[..], &["--fault", "swap-operands@ptx-round-trip"]].concat());
    let report: Value = serde_json::from_str(&ends(&fuzz, 1)).expect("the output is JSON");
    let found = report["findings"].as_array().expect("a list");
    // However far the difference reaches, it is one fault of one reader.
    let family = |finding: &Value| finding["id"].as_str().map(|id| id[..10].to_owned());
    assert!(found.iter().all(|other| family(other).is_some() && family(other) == family(&found[0])), "{report:#}");
    let id = found[0]["id"].as_str().expect("an identifier");
    let shown = ends(&oriole(here, &["findings", "show", id]), 0);
    assert!(shown.contains("the PTX that is misread:") && shown.contains(".version"), "{shown}");
    ends(&oriole(here, &["findings", "export", id, "-o", "out"]), 0);
    let text = std::fs::read_to_string(here.join("out").join(id).join("reduced.ptx")).expect("it was written");
    assert!(text.lines().count() < 40, "{text}");
}
