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
