//! Code on a GPU, held against a driver that has none: kernels do nothing there, or fail.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A file of the project.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A folder with the driver; `None` without a C compiler.
fn driver() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let source = file("oracles/cli/tests/driver/cuda.c");
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
