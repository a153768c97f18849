//! Code on a GPU, held against a driver that has none: kernels do next to nothing there, or fail.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use oriole_gpu::Job;
use serde_json::{Value, json};

/// A file of the project.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A folder with the driver; `None` without a C compiler.
fn driver() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let source = file("oracles/cli/tests/it/driver/cuda.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
    match compiler.arg(folder.path().join("libcuda.so")).arg(source).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            eprintln!("skipped: there is no C compiler ({error})");
            return None;
        }
    }
    Some(folder)
}

/// Judges the kernel with a driver, in an environment with these variables.
fn judge(driver: &Path, variables: &[(&str, &str)]) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.args(["judge", "--gpu", "--randoms", "1", "--cubin"]);
    command.arg(file("corpus/cubins/async_copy.sm_90.O3.cubin")).arg(file("corpus/kernels/async_copy.ptx"));
    command.env("LD_LIBRARY_PATH", driver).envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output, text)
}

#[test]
fn what_a_gpu_leaves_is_compared_beside_what_the_interpreter_leaves() {
    let Some(driver) = driver() else { return };
    let (output, text) = judge(driver.path(), &[]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("the GPU: a stand-in 0 (sm_90)") && text.contains("O3.cubin: equal, 2 of 2"), "{text}");
    assert!(text.contains("O3.cubin on the GPU: DIFFERENT, 2 of 2") && text.contains("differs in 512 bytes"), "{text}");
}

#[test]
fn kernels_that_fail_on_a_gpu_are_wrong_and_what_they_print_is_passed_over() {
    let Some(driver) = driver() else { return };
    let (output, text) = judge(driver.path(), &[("FAIL", "716"), ("SAY", "one line\nand \u{1}more")]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("on the GPU: DIFFERENT, 2 of 2") && text.contains("it fails: misaligned address"), "{text}");
}

/// What a worker answers to questions.
fn answers(driver: &Path, questions: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.arg("gpu-worker").env("LD_LIBRARY_PATH", driver);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut worker = command.spawn().unwrap();
    worker.stdin.take().unwrap().write_all(questions.as_bytes()).unwrap();
    worker.wait_with_output().unwrap()
}

#[test]
fn each_launch_finds_variables_as_they_were_at_first() {
    let Some(driver) = driver() else { return };
    let left = |variables: &[&str]| -> Vec<Value> {
        let variables = variables.iter().map(|&name| name.to_owned()).collect();
        let job = json!(Job { variables, ..Job::new("k", [1; 3], [1; 3]) });
        let run = format!("{}\n", json!({ "Run": job })).repeat(3);
        let output = answers(driver.path(), &format!("{}\n{run}", json!({ "Code": b"\x7fELF" })));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let replies = text.lines().filter_map(|line| line.strip_prefix("\u{1}oriole "));
        replies.map(|reply| serde_json::from_str::<Value>(reply).unwrap()["Left"]["variables"].take()).collect()
    };
    let [one, two, three] = [1, 2, 3].map(|number| json!([number, 0, 0, 0]));
    assert_eq!(left(&["launches", "loads"]), vec![json!([one, one]); 3]);
    // The module is loaded again where the driver does not know all variables that a kernel may have changed.
    let hidden = [&one, &two, &three].map(|loads| json!([one, null, loads]));
    assert_eq!(left(&["launches", "hidden", "loads"]), hidden);
}

#[test]
fn a_worker_says_what_it_is_to_who_asks_it_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let output = answers(folder.path(), "which GPU?\n");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(!text.contains("output") && text.contains("no question of a judge"), "{text}");
    assert!(text.contains("oriole judge --gpu"), "{text}");
}

#[test]
fn without_a_driver_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (output, text) = judge(folder.path(), &[]);
    // A machine that has one runs the kernel, which is right.
    if output.status.code() != Some(0) {
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("there is no GPU") && text.contains("without --gpu"), "{text}");
    }
}
