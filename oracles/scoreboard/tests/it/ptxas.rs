//! What ptxas makes of kernels of the corpus, where it is installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use oriole_sass::cubin::Cubin;
use oriole_scoreboard::{Code, check};

/// Every so many kernels one is taken.
const STEP: usize = 9;
const SMS: [u16; 4] = [80, 90, 100, 120];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The tool, on the PATH, in `CUDA_HOME`, or by `ci/cuda-tools`.
fn ptxas() -> Option<PathBuf> {
    let output = Command::new(root().join("ci/cuda-tools")).args(["--find", "ptxas"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(path.trim()))
}

/// The kernels of the sample.
fn kernels() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("corpus/kernels")).expect("the corpus is there");
    let paths = folder.map(|entry| entry.expect("a folder lists its files").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|name| name == "ptx")).collect();
    paths.sort();
    paths.into_iter().step_by(STEP).collect()
}

/// The kernel for an older SM than it names.
fn lowered(kernel: &Path, sm: u16) -> PathBuf {
    let text = std::fs::read_to_string(kernel).expect("the kernel is text");
    let lines = text.lines().map(|line| match line.starts_with(".target") {
        true => format!(".target sm_{sm}\n"),
        false => format!("{line}\n"),
    });
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scoreboard.ptx");
    std::fs::write(&file, lines.collect::<String>()).expect("the test folder is writable");
    file
}

/// The cubin of a kernel; `None` where ptxas refuses the kernel for the SM, or writes no file for one GPU.
fn compiled(ptxas: &Path, kernel: &Path, sm: u16, level: u8) -> Option<Cubin> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scoreboard.cubin");
    let source = if sm < 90 { lowered(kernel, sm) } else { kernel.to_owned() };
    let mut command = Command::new(ptxas);
    command.args(["-arch", &format!("sm_{sm}"), &format!("-O{level}")]).arg(source).arg("-o").arg(&out);
    let output = command.output().expect("the tool starts");
    let bytes = output.status.success().then(|| std::fs::read(&out).expect("ptxas wrote it"))?;
    Cubin::read(&bytes).ok()
}

#[test]
fn what_ptxas_makes_of_kernels_has_no_hazards() {
    let Some(ptxas) = ptxas() else { return println!("skipped: no ptxas (ci/cuda-tools installs it)") };
    let (mut functions, mut found) = ([0; SMS.len()], Vec::new());
    for kernel in kernels() {
        for (sm, functions) in SMS.into_iter().zip(&mut functions) {
            for (level, cubin) in (0..4).filter_map(|level| Some((level, compiled(&ptxas, &kernel, sm, level)?))) {
                *functions += cubin.functions.len();
                let codes = cubin.functions.iter().map(|function| Code::of(&cubin, function).expect("known words"));
                let hazards = codes.flat_map(|code| check(&code));
                found.extend(hazards.map(|it| format!("{} sm_{sm} -O{level}: {it}", kernel.display())));
            }
        }
    }
    assert!(found.is_empty(), "{} hazards:\n{}", found.len(), found.join("\n"));
    assert!(functions.iter().all(|functions| *functions >= 40), "functions of each SM: {functions:?}");
}
