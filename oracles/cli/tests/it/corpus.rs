//! Every kernel of the corpus, and every kernel that has shown a bug: it runs and leaves what its launches expect, and
//! the check of all phases and of the PTX round trip is clean.

use std::path::{Path, PathBuf};

use oriole_check::input::{Language, launches_for, read_kernel};
use oriole_check::{CheckOptions, check_module};
use rayon::prelude::*;

/// The kernels in a folder of the corpus, in order.
fn kernels(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
    let entries = std::fs::read_dir(folder).expect("the corpus is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut kernels: Vec<PathBuf> = paths.filter(|path| Language::of(path).is_some()).collect();
    kernels.sort();
    kernels
}

/// What is wrong with a kernel.
fn faults(kernel: &Path) -> Vec<String> {
    let name = kernel.file_stem().expect("a file has a name").to_string_lossy().into_owned();
    let module = match read_kernel(kernel) {
        Ok(module) => module,
        Err(error) => return vec![format!("{name}: {:?}", miette::Report::new(error))],
    };
    let launches = launches_for(kernel, &[]).expect("a kernel of the corpus has launches");
    let report = match check_module(&name, &module, &launches, &CheckOptions { randoms: 1, ..CheckOptions::default() })
    {
        Ok(report) => report,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let unexpected = report.cases.iter().filter(|case| case.seed.is_none() && case.expected != Some(true));
    let findings = report
        .findings
        .iter()
        .map(|found| format!("{name}: {} in {}: {}", found.verdict.name(), found.phase, found.detail));
    unexpected
        .map(|case| format!("{}: {:?} {:?}", case.name, case.inconclusive, case.differences))
        .chain(findings)
        .collect()
}

#[test]
fn every_kernel_does_what_it_should_before_and_after_every_phase() {
    let mut kernels = self::kernels("kernels");
    assert!(kernels.len() >= 24, "{} kernels", kernels.len());
    kernels.extend(self::kernels("regress"));
    let faults: Vec<String> = kernels.par_iter().flat_map_iter(|kernel| faults(kernel)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
