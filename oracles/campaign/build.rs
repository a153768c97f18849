//! Names the build: a hash of the sources that decide what a case is and what comes of it. A campaign goes on only with
//! the build that began it, and findings say which builds met them.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders whose sources count, from the root of the repository.
const FOLDERS: [&str; 7] = [
    "optimizer",
    "oracles/launch",
    "oracles/semantics",
    "oracles/interp",
    "oracles/generate",
    "oracles/check",
    "oracles/campaign",
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    // FNV-1a, which is the same on every machine.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in files.iter().flat_map(|path| fs::read(path).unwrap_or_default()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    println!("cargo:rustc-env=ORIOLE_BUILD={:08x}", hash >> 32);
}

/// The sources in a folder: code and rules, without benchmarks, and without tests in files of their own.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !["tests", "benches", "target"].contains(&name) {
                collect(&path, files);
            }
        } else if name != "tests.rs" && path.extension().is_some_and(|ending| ending == "rs" || ending == "rules") {
            files.push(path);
        }
    }
}
