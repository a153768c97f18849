//! Where benchmarks find kernels and the CUDA tools.

#[allow(dead_code, reason = "not every benchmark has words of its own")]
pub mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The `.ptx` files of the folder on the command line, or of the corpus, by name. `KNOB=VALUE` is no folder.
#[allow(dead_code, reason = "not every benchmark is over kernels")]
pub fn kernels() -> Vec<PathBuf> {
    let words: Vec<String> = if words::is_test() { Vec::new() } else { std::env::args().skip(1).collect() };
    let folder = words.into_iter().find(|arg| !arg.starts_with("--") && !arg.contains('='));
    let folder = folder.map_or_else(|| root().join("corpus/kernels"), PathBuf::from);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    files.sort();
    // One for another target than most, and some more.
    let few = ["wgmma_product.ptx", "saxpy.ptx", "transpose.ptx"];
    files.retain(|path| !words::is_test() || few.iter().any(|name| path.ends_with(name)));
    files
}

/// A CUDA tool, where it is installed: on the PATH, in `CUDA_HOME`, or by `ci/cuda-tools`.
pub fn find(tool: &str) -> Option<PathBuf> {
    let output = Command::new(root().join("ci/cuda-tools")).args(["--find", tool]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    (output.status.success() && path.is_file()).then_some(path)
}

/// The processor time, user and system, of a process and what it starts; `None` where it fails. No other process of
/// this one may end meanwhile.
#[cfg(unix)]
#[allow(dead_code, reason = "not every benchmark measures processes")]
pub fn processor_seconds(command: &mut Command) -> Option<f64> {
    let of_children = || {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `usage` is a place for the answer, and zeroes are one.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
            usage.assume_init()
        };
        [usage.ru_utime, usage.ru_stime].iter().map(|time| time.tv_sec as f64 + time.tv_usec as f64 / 1e6).sum::<f64>()
    };
    let before = of_children();
    let output = command.output().ok()?;
    output.status.success().then(|| of_children() - before)
}

/// Where the system does not tell processor time, time by the clock on the wall.
#[cfg(not(unix))]
#[allow(dead_code, reason = "not every benchmark measures processes")]
pub fn processor_seconds(command: &mut Command) -> Option<f64> {
    let start = std::time::Instant::now();
    let output = command.output().ok()?;
    output.status.success().then(|| start.elapsed().as_secs_f64())
}

/// The processor time of this process; where the system does not tell it, time by the clock on the wall.
#[allow(dead_code, reason = "not every benchmark measures processor time")]
pub fn clock() -> std::time::Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a place for the answer.
        if unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } == 0 {
            return std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        }
    }
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}
