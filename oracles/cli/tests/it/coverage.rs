//! `ci/coverage`: lines that no case reached, from what LLVM's tools say.

#![cfg(unix)]

use std::path::Path;
use std::process::{Command, Output};

fn coverage(args: &[&str], path: Option<&Path>) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(root.join("ci/coverage"));
    command.args(args).current_dir(&root);
    if let Some(path) = path {
        let rest = std::env::var("PATH").expect("there is a path");
        command.env("PATH", format!("{}:{rest}", path.display()));
    }
    command.output().expect("the script starts")
}

#[test]
fn lines_that_were_missed_are_stretches() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("c.lcov");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there");
    let source = root.join("optimizer/src/a.rs");
    let first = format!("SF:{}\nFN:3,f\nDA:3,1\nDA:4,0\nDA:7,0\nDA:8,12\nDA:9,0\nend_of_record\n", source.display());
    let text = first + "SF:/b.rs\nDA:1,0\nDA:2,3\nend_of_record\n";
    std::fs::write(&file, text).expect("the folder is writable");
    let output = coverage(&["--lines", file.to_str().expect("plain letters")], None);
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = "optimizer/src/a.rs:4-7\noptimizer/src/a.rs:9-9\n/b.rs:1-1\n";
    assert_eq!(lines, expected, "{}", String::from_utf8_lossy(&output.stderr));
}

/// Without LLVM's tools the script says what to install, before it builds anything.
#[test]
fn missing_tools_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rustc = folder.path().join("rustc");
    std::fs::write(&rustc, format!("#!/bin/sh\necho {}\n", folder.path().display())).expect("the folder is writable");
    std::fs::set_permissions(&rustc, std::fs::Permissions::from_mode(0o755)).expect("it is our own");
    let output = coverage(&["1s"], Some(folder.path()));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("rustup component add llvm-tools"), "{said}");
}
