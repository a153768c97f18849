//! `oriole corpus`: works on folders of kernels, as campaigns begin with.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Subcommand;
use miette::miette;
use oriole_campaign::minimize::{Covering, needed};
use oriole_check::CheckOptions;
use oriole_check::input::{Language, launches_for, read_kernel};
use oriole_check::job::Job;
use oriole_ir::Module;
use oriole_launch::{Launch, launch_files_for};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{self, Format};
use crate::failure::{Failure, Status};
use crate::folders::kernels;
use crate::live::remark;
use crate::numbers;
use crate::numbers::counted;
use crate::settings::{Patience, Settings, check_failure};

/// Works on folders of kernels, as `fuzz --corpus` takes
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Minimize(Minimize),
}

/// Finds the kernels of a corpus that still cover what all of them do
///
/// Each kernel is checked on the data of its launch files. What it covers are operations with the values of their
/// fields, phases that change something, rules that apply or whose guards fail, verdicts, and words of PTX. Large
/// kernels are left out first, as long as others cover the same; one with a finding always stays. The folder itself is
/// not changed. Exit code 0, or 2 on bad input.
#[derive(clap::Args)]
struct Minimize {
    /// The folder; as in `check`, only .ori files with a launch file are kernels
    folder: PathBuf,
    /// Copy what stays, with its launches, to this new or empty folder
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// How the list is printed; as text, the kernels that can go, a line each
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Kernels checked at the same time; by default as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::jobs())]
    jobs: usize,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    patience: Patience,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let Action::Minimize(args) = &args.action;
    minimize(args, out)
}

/// The JSON of `corpus minimize`.
#[derive(JsonSchema, Serialize)]
pub struct Document<'a> {
    /// How many things all kernels cover.
    covered: usize,
    /// Kernels that cover all of them.
    stay: Vec<&'a Path>,
    /// The others.
    go: Vec<&'a Path>,
}

impl document::Document for Document<'_> {
    const COMMAND: &'static str = "corpus minimize";
}

fn minimize(args: &Minimize, out: &mut dyn Write) -> Result<Status, Failure> {
    if let Some(output) = &args.output {
        make_empty(output)?;
    }
    let files = kernels(std::slice::from_ref(&args.folder))?;
    let options = args.settings.options(&Module::default())?;
    let passes = args.settings.passes.pipeline()?;
    let check = CheckOptions { passes, pipeline: options, randoms: 0, ..CheckOptions::default() };
    let limit = args.patience.hang_after;
    let pool = numbers::pool(args.jobs)?;
    let covering = pool.install(|| files.par_iter().map(|file| covering(file, &check, limit)).collect::<Vec<_>>());
    let covering: Vec<Covering> = covering.into_iter().collect::<Result<_, _>>()?;
    let needed = needed(&covering);
    let part = |wanted: bool| files.iter().zip(&needed).filter(move |(_, needed)| **needed == wanted);
    let all: std::collections::BTreeSet<&String> = covering.iter().flat_map(|kernel| &kernel.covers).collect();
    if let Some(output) = &args.output {
        part(true).try_for_each(|(file, _)| copy(file, &args.folder, output))?;
    }
    let paths = |wanted: bool| part(wanted).map(|(file, _)| file.as_path()).collect::<Vec<&Path>>();
    let (stay, go) = (paths(true), paths(false));
    if args.format == Format::Json {
        document::print(out, &Document { covered: all.len(), stay, go })?;
        return Ok(Status::Clean);
    }
    go.iter().try_for_each(|path| writeln!(out, "{}", path.display()))?;
    let (files, covered) = (counted(files.len(), "kernel"), counted(all.len(), "thing"));
    remark(format_args!("{} of {files} needed to cover what all do: {covered}", stay.len()));
    Ok(Status::Clean)
}

/// Nothing that is there already is written over.
fn make_empty(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    match fs::read_dir(folder)?.next() {
        None => Ok(()),
        Some(_) => {
            let help = "name a folder that does not exist yet, or an empty one";
            Err(Failure::Input(miette!(help = help, "{} is not empty", folder.display())))
        }
    }
}

fn covering(file: &Path, check: &CheckOptions, limit: Duration) -> Result<Covering, Failure> {
    let (module, launches) = (read_kernel(file)?, launches_for(file, &[])?);
    let is_ptx = Language::of(file) == Some(Language::Ptx);
    let options = CheckOptions { round_trip: is_ptx, ..check.clone() };
    let job = Job { name: file.display().to_string(), module, launches, options };
    let report = job.check(limit).map_err(|error| check_failure(&job.name, &error))?;
    let text = if is_ptx { fs::read(file)? } else { Vec::new() };
    let text = String::from_utf8_lossy(&text);
    Ok(Covering::of(&job.module, &report, is_ptx.then_some(&*text)))
}

/// Copies a kernel with its launches to the same place in another folder. Launches come with the data that they name.
fn copy(file: &Path, from: &Path, to: &Path) -> Result<(), Failure> {
    let target = to.join(file.strip_prefix(from).unwrap_or(file));
    let folder = target.parent().unwrap_or(to);
    fs::create_dir_all(folder)?;
    fs::copy(file, &target)?;
    for path in launch_files_for(file) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = name.trim_end_matches(".launch.toml");
        Launch::load(&path)?.save(folder, stem)?;
    }
    Ok(())
}
