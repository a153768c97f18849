//! Where a reduction writes, which is never over what it reads unless that is wanted.

use std::fs;
use std::path::{Path, PathBuf};

use miette::miette;
use oriole_check::input::Language;
use oriole_check::report::Evidence;
use oriole_launch::launch_files_for;

use super::Args;
use crate::failure::Failure;

/// Where the reduced kernel goes, in a language.
pub fn output(args: &Args, language: Language) -> PathBuf {
    let stem = args.subject.file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("kernel");
    let default = PathBuf::from(format!("{stem}-reduced"));
    let extension = if language == Language::Ptx { "ptx" } else { "ori" };
    args.output.as_ref().unwrap_or(&default).with_extension(extension)
}

/// Refuses to write over the kernel or a launch file that it is reduced with.
pub fn require_others(args: &Args) -> Result<(), Failure> {
    let same = |a: &Path, b: &Path| fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b));
    let given = &args.subject.launch;
    let launches = if given.is_empty() { launch_files_for(&args.subject.file) } else { given.clone() };
    let read: Vec<PathBuf> = [args.subject.file.clone()].into_iter().chain(launches).collect();
    let kernel = output(args, Language::Ori);
    let text = args.output.clone().unwrap_or_else(|| kernel.clone());
    let written = [kernel.clone(), kernel.with_extension("ptx"), kernel.with_extension("launch.toml"), text];
    let both = written.iter().find(|path| read.iter().any(|input| same(path, input)));
    match both.filter(|_| !args.force) {
        None => Ok(()),
        Some(path) => {
            let help = "name another file with -o, or give --force";
            Err(Failure::Input(miette!(help = help, "`{}` is read, and would be written over", path.display())))
        }
    }
}

/// Writes a kernel and its launch.
pub fn write(path: &Path, evidence: &Evidence) -> Result<(), Failure> {
    store(path, &evidence.module.to_string())?;
    if let Some(launch) = &evidence.launch {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("reduced");
        launch.save(folder, stem).map_err(Failure::input)?;
    }
    Ok(())
}

/// Writes a text.
pub fn store(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| {
        Failure::Input(miette!(help = "name another file with -o", "cannot write `{}`: {error}", path.display()))
    })
}
