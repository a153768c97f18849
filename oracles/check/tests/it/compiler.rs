//! What is said of a compiler whose code is wrong, or that does not end: a stand-in that hands out captured code, of
//! which a word was changed.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use oriole_check::CheckOptions;
use oriole_check::compiled::answer::Answer;
use oriole_check::compiled::report::{PROGRAM, REPORT, Subject, files};
use oriole_check::compiled::{Compiler, Kernel};
use oriole_check::compiler::{Axis, Ptxas};
use oriole_check::input::{NamedLaunch, launches_for, read_kernel};
use oriole_check::judge::Verdict;
use oriole_sass::cubin::Cubin;

fn corpus(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(file)
}

/// A compiler that executes these lines of shell, with the last word of its command in `$out`.
fn stand_in(folder: &Path, lines: &str) -> Compiler {
    let tool = folder.join("ptxas");
    std::fs::write(&tool, format!("#!/bin/sh\nfor out; do :; done\n{lines}\n")).unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let axis = Axis::new("sm_90", 3);
    let ptxas = Ptxas::at(tool).within(Duration::from_millis(300));
    Compiler {
        tool: ptxas.into(),
        axes: vec![axis],
        version: "a stand-in".to_owned(),
        gpu: None,
        phases: None,
        witness: None,
    }
}

fn kernel_named(name: &str) -> (PathBuf, Kernel) {
    let path = corpus(&format!("kernels/{name}.ptx"));
    let module = read_kernel(&path).unwrap();
    let launches: Vec<NamedLaunch> = launches_for(&path, &[]).unwrap();
    (path, Kernel { name: name.to_owned(), module, launches })
}

fn kernel() -> (PathBuf, Kernel) {
    kernel_named("half_arith")
}

/// Captured code in which fused products lose their addend.
fn wrong_code(folder: &Path) -> PathBuf {
    let cubin = Cubin::read(&std::fs::read(corpus("cubins/half_arith.sm_90.O3.cubin")).unwrap()).unwrap();
    let function = cubin.function("half_arith").unwrap();
    let mut words: Vec<u128> = cubin.words(function).collect();
    let is_fused = |word: &u128| matches!(word & 0xfff, 0x235 | 0x231);
    let at = words.iter().position(is_fused).expect("the kernel has a fused product of halves");
    words[at] |= 0xff << 64;
    let path = folder.join("wrong.cubin");
    std::fs::write(&path, cubin.with_code("half_arith", &words).unwrap()).unwrap();
    path
}

#[test]
fn wrong_code_is_reported_with_all_that_confirms_it() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = wrong_code(folder.path());
    let right = corpus("cubins/half_arith.sm_90.O3.cubin");
    let (path, kernel) = kernel();
    let ptx = std::fs::read_to_string(path).unwrap();
    let report = |cubin: &Path| {
        let compiler = stand_in(folder.path(), &format!("cp {} \"$out\"", cubin.display()));
        let (module, launch) = (&kernel.module, &kernel.launches[0].launch);
        files(&compiler, &Subject { ptx: &ptx, module, launch, axis: &compiler.axes[0] })
    };
    assert!(report(&right).is_none(), "nothing is wrong with the code as it was");
    let files = report(&wrong).expect("the code is wrong");
    let file = |name: &str| {
        let file = files.iter().find(|(known, _)| known == name).expect("the report has it");
        String::from_utf8(file.1.clone()).unwrap()
    };
    let text = file(REPORT);
    for wanted in ["a stand-in", "sm_90 -O3: DIFFERENT", ".visible .entry half_arith", "grid = ", "HFMA2", "STG.E"] {
        assert!(text.contains(wanted), "no `{wanted}` in {text}");
    }
    // A row of the table: what is expected, and what the code leaves.
    let row = text.lines().skip_while(|line| !line.starts_with("buffer ")).nth(1).expect("a row");
    let bytes: Vec<&str> = row.split_whitespace().rev().take(16).collect();
    assert!(bytes.len() == 16 && bytes[..8] != bytes[8..], "{row}");
    let program = file(PROGRAM);
    assert!(program.contains("static const char entry[] = \"half_arith\";") && program.contains("sm_90 -O3"));
}

#[test]
fn a_compiler_that_does_not_end_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let (_, kernel) = kernel();
    let options = CheckOptions { randoms: 0, ..CheckOptions::default() };
    let check = |lines: &str| {
        let compiler = stand_in(folder.path(), lines);
        let checked = compiler.check_all(std::slice::from_ref(&kernel), &options).unwrap().pop().unwrap().unwrap();
        let answer = checked.axes[0].answer;
        (answer, checked.report.findings.into_iter().map(|finding| finding.verdict).next())
    };
    let (answer, verdict) = check("exec sleep 60");
    assert!(answer == Answer::Crashed && matches!(verdict, Some(Verdict::Hangs(_))), "{verdict:?}");
    let (answer, verdict) = check("kill -ABRT $$");
    assert!(answer == Answer::Crashed && matches!(verdict, Some(Verdict::Panicked(_))), "{verdict:?}");
    let internal = "ptxas fatal   : (C7907) Internal compiler error.";
    for (lines, said) in [
        (format!("echo 'ptxas info    : odd' >&2; echo '{internal}' >&2; exit 255"), internal),
        ("echo 'ptxas warning : odd' >&2; kill -SEGV $$".to_owned(), "signal: 11 (SIGSEGV)"),
        // The compiler may be the child of a shell, which continues.
        ("sh -c 'kill -SEGV $$' 2> /dev/null; exit $?".to_owned(), "signal: 11 (SIGSEGV)"),
    ] {
        let (answer, verdict) = check(&lines);
        let Some(Verdict::Panicked(panic)) = verdict else { panic!("{lines}: {verdict:?}") };
        assert_eq!((answer, panic.message.as_str()), (Answer::Crashed, said), "{lines}");
    }
    let (answer, verdict) = check("echo 'ptxas fatal   : no' >&2; exit 255");
    assert_eq!((answer, verdict), (Answer::Refused, None));
    // Code that is none, and code of another kernel, say nothing.
    assert_eq!(check("echo no > \"$out\"").0, Answer::Unjudged);
    let other = corpus("cubins/half_arith.sm_90.O3.cubin");
    assert_eq!(check(&format!("cp {} \"$out\"", other.display())).0, Answer::Unjudged, "it has no `half_arith_0`");
}

/// Whether PTX is valid does not depend on the level. Code that says nothing is code as well: the captured one has no
/// kernel of the name that it gets here.
#[test]
fn what_one_level_takes_and_another_refuses_is_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let (_, kernel) = kernel();
    let cubin = corpus("cubins/half_arith.sm_90.O3.cubin");
    let refuse = "echo 'ptxas fatal   : no' >&2; exit 255";
    let lines = format!("case \"$*\" in *-O3*) {refuse};; *) cp {} \"$out\";; esac", cubin.display());
    let options = CheckOptions { randoms: 0, ..CheckOptions::default() };
    let check = |axes: &[Axis]| {
        let compiler = Compiler { axes: axes.to_vec(), ..stand_in(folder.path(), &lines) };
        let checked = compiler.check_all(std::slice::from_ref(&kernel), &options).unwrap().pop().unwrap().unwrap();
        let answers: Vec<Answer> = checked.axes.iter().map(|judged| judged.answer).collect();
        (answers, checked.report.findings)
    };
    let [low, high, other] = [("sm_90", 0), ("sm_90", 3), ("sm_100", 0)].map(|(arch, level)| Axis::new(arch, level));
    let (answers, findings) = check(&[low, high.clone()]);
    assert_eq!(answers, [Answer::Unjudged, Answer::RefusedHere]);
    assert!(
        matches!(&findings[..], [finding] if finding.axes == [high.clone()]
        && finding.detail.contains("fatal   : no; sm_90 -O0 takes it")),
        "{findings:?}"
    );
    // Another architecture may have what this one lacks.
    assert_eq!(check(&[other, high]).0, [Answer::Unjudged, Answer::Refused]);
}

/// Kernels that are compiled together get names of their own, their images too; one for another SM is left out.
#[test]
fn kernels_of_all_kinds_go_together() {
    let folder = tempfile::tempdir().unwrap();
    // Notes how many names of entries come together.
    let lines = "for word; do case $word in *.ptx) files=\"$files $word\";; esac; done\n\
        grep -ho 'entry [a-z_0-9]*' $files | sort -u | wc -l >> \"$0.log\"\n\
        echo 'ptxas fatal   : no' >&2; exit 255";
    let compiler = stand_in(folder.path(), lines);
    let (_, plain) = kernel();
    let kernels = [plain.clone(), kernel_named("image_refs").1, kernel_named("wgmma_product").1, plain];
    let options = CheckOptions { randoms: 0, ..CheckOptions::default() };
    let checked = compiler.check_all(&kernels, &options).unwrap();
    let reasons: Vec<String> = checked
        .iter()
        .map(|checked| {
            let axes = &checked.as_ref().unwrap().axes;
            assert_eq!(axes.len(), 1, "its launch binds images and says something");
            axes[0].reason.clone().unwrap_or_default()
        })
        .collect();
    assert!(reasons[2].contains("it is for sm_90a"), "{reasons:?}");
    assert!([0, 1, 3].iter().all(|at| reasons[*at].contains("fatal")), "{reasons:?}");
    let log = std::fs::read_to_string(folder.path().join("ptxas.log")).unwrap();
    assert_eq!(log.lines().next().map(str::trim), Some("3"), "three entries, each of its own name: {log}");
}
