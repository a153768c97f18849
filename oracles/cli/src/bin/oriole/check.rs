//! `oriole check`: executes kernels before and after every phase, and reports what differs.

mod code;
mod record;
mod render;

pub use code::CodeOptions;
pub use record::Document as Record;
use record::Recording;
pub use render::Document;
use render::Shown;

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use miette::miette;
use oriole_check::compiled::{self, Compiler, Kernel as Subject};
use oriole_check::input::launches_for;
use oriole_check::job::Job;
use oriole_check::report::{KernelReport, StepLine};
use oriole_check::supervise::{StepId, catch};
use oriole_check::{CheckError, CheckOptions, RaceSearch};
use oriole_explain::record::Kernel;
use oriole_ir::Module;
use oriole_optimizer::peephole::RuleSet;
use rayon::prelude::*;

use crate::axes::Generating;
use crate::document::Format;
use crate::failure::{Failure, Status};
use crate::folders::kernels;
use crate::live;
use crate::live::remark;
use crate::numbers;
use crate::options::Given;
use crate::rule_uses::uses;
use crate::settings::{Patience, Reading, Scope, check_failure};

/// Executes kernels before and after every phase and compares
///
/// Each kernel runs on the data of its launch files and on random data of the same shape. A phase, or another step,
/// that changes what a kernel computes is reported with the guilty rewrite, the first differing bytes, a reproducer and
/// the command that replays it. Exit code 0 when all is well, 1 on a finding, and where a kernel misses what its launch
/// expects before any phase has seen it, 2 on bad input and where a --fault was never planted, 3 where no case says
/// what a kernel should do: it traps, depends on something undefined, races or runs out of steps on all of them.
///
/// With --machine or --cubin the phases run over machine code, whose words stay in their places: behind each phase the
/// code must leave what it left before, do what its PTX says, and wait for all that it waited for. With --compile the
/// code of Oriole's own compiler is judged.
#[derive(clap::Args)]
pub struct Args {
    /// Kernels (.ptx, .ori), or folders of them; in folders, only .ori files with a launch file are kernels
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    pub checking: Checking,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Where reproducers are written
    #[arg(long, value_name = "FOLDER", default_value = "oriole-findings")]
    out: PathBuf,
    /// Kernels checked at the same time; by default as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::jobs())]
    jobs: usize,
    /// Print a table of phases for each kernel
    #[arg(short, long)]
    verbose: bool,
    /// Measure what each step leaves: instructions and loads that the first case executes, and live registers
    #[arg(long)]
    costs: bool,
    /// Write the programs between the steps, their changes and what the first case executes of them, for `oriole
    /// explain`; with --compile also the code
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// The data that a kernel is checked on, and the steps that are taken.
#[derive(clap::Args)]
pub struct Checking {
    #[command(flatten)]
    reading: Reading,
    /// A launch file, instead of those beside each kernel
    #[arg(long, value_name = "FILE")]
    launch: Vec<PathBuf>,
    /// The seed of the random data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Variants with random data for each launch
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = numbers::randoms())]
    randoms: u32,
    /// Let each phase make at most so many changes, as bisection does
    #[arg(long, value_name = "N")]
    rewrite_limit: Option<u64>,
    /// Stop the original after so many warp instructions
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Look for data races in every case of the original, and not in the beginning of each launch alone; a case that
    /// has one is inconclusive
    #[arg(long)]
    races: bool,
    #[command(flatten)]
    code: CodeOptions,
    #[command(flatten)]
    generating: Generating,
    #[command(flatten)]
    pub scope: Scope,
    #[command(flatten)]
    patience: Patience,
}

/// Runs the command.
pub fn run(args: &Args, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
    let files = kernels(&args.paths)?;
    // What is wrong with the options is said once.
    let options = args.checking.options(Path::new(""), given)?;
    if options.pipeline.rules.is_none() {
        begin_rules();
    }
    let pool = numbers::pool(args.jobs)?;
    let progress = live::bar(files.len());
    let check = |file: &PathBuf| {
        progress.set_message(file.display().to_string());
        let result = check_file(file, &args.checking, &Kept::of(args), given);
        progress.inc(1);
        result
    };
    let results: Vec<Result<Vec<Checked>, Failure>> = pool.install(|| files.par_iter().map(check).collect());
    progress.finish_and_clear();
    let (mut reports, mut recorded, mut bad) = (Vec::new(), Vec::new(), 0);
    for result in results {
        match result {
            Ok(of_file) => of_file.into_iter().for_each(|Checked { report, kernels }| {
                reports.push(report);
                recorded.extend(kernels);
            }),
            Err(failure) => {
                bad += 1;
                failure.report();
            }
        }
    }
    if let Some(path) = &args.record {
        record::write(path, recorded)?;
    }
    let statistics = reports.iter().map(|report| &report.statistics);
    let rules = options.pipeline.rules.as_deref().map_or(Vec::new(), |set| uses(set, statistics));
    match args.format {
        Format::Text => render::text(out, &reports, &rules, Shown { verbose: args.verbose, costs: args.costs })?,
        Format::Json => render::json(out, &reports, &rules)?,
    }
    if bad > 0 {
        return Ok(Status::BadInput);
    }
    require_fitting(&reports)?;
    // With a limit on changes it is the limit that keeps faults out, as in the replay of a bisection.
    if args.checking.rewrite_limit.is_none() {
        args.checking.scope.require_planted(&reports)?;
    }
    let is_found = |report: &KernelReport| !report.findings.is_empty() || !report.is_as_expected();
    Ok(match () {
        () if reports.iter().any(is_found) => Status::Found,
        () if !reports.is_empty() && reports.iter().all(|report| report.judged) => Status::Clean,
        () => Status::TooLittle,
    })
}

/// An error where the arguments of a pass fit none of the kernels: nothing was checked of it.
fn require_fitting(reports: &[KernelReport]) -> Result<(), Failure> {
    let lines = || reports.iter().flat_map(|report| &report.phases);
    let is_misfit = |step: StepId| lines().filter(|line| line.step == step).all(StepLine::is_misfit);
    match lines().map(|line| line.step).find(|step| is_misfit(*step)) {
        None => Ok(()),
        Some(step) => {
            let help = "`oriole opt` with the same passes says what they ask for that is not there";
            Err(Failure::Input(miette!(help = help, "`{step}` took no step: its arguments fit none of the kernels")))
        }
    }
}

impl Checking {
    /// How a file is checked.
    fn options(&self, file: &Path, given: &Given) -> Result<CheckOptions, Failure> {
        let check = if self.code.is_asked() { Scope::check_code } else { Scope::check };
        let Checking { randoms, seed, steps, rewrite_limit, .. } = *self;
        let races = RaceSearch::asked(self.races);
        let scope = check(&self.scope, file, given)?;
        let mut options = CheckOptions { randoms, seed, steps, races, ..scope };
        options.pipeline.rewrite_limit = rewrite_limit;
        Ok(options)
    }
}

/// The results of a check that are kept beside its report.
#[derive(Clone, Default)]
pub struct Kept {
    /// Where reproducers are written, if anywhere.
    pub out: Option<PathBuf>,
    /// Whether steps are measured.
    pub costs: bool,
    /// Whether the programs between steps are recorded.
    pub records: bool,
}

impl Kept {
    fn of(args: &Args) -> Kept {
        Kept { out: Some(args.out.clone()), costs: args.costs, records: args.record.is_some() }
    }
}

/// A report, and records of the same check where they were asked for.
pub struct Checked {
    /// The report.
    pub report: KernelReport,
    /// The record; of our own code one for each way to compile.
    pub kernels: Vec<Kernel>,
}

/// Checks the kernels of a file, one for each code of it.
pub fn check_file(file: &Path, args: &Checking, kept: &Kept, given: &Given) -> Result<Vec<Checked>, Failure> {
    let module = args.reading.kernel(file)?;
    let launches = launches_for(file, &args.launch)?;
    let name = file.display().to_string();
    let Kept { out, costs, records } = kept.clone();
    let options = CheckOptions { out, costs, records, ..args.options(file, given)? };
    let patience = args.patience.hang_after;
    let recording = Recording::of(file, records)?;
    if args.code.is_asked() {
        let reports = args.code.reports(file, module, launches, &options, patience)?;
        return Ok(reports.into_iter().map(|report| recording.with(report, &options)).collect());
    }
    if args.generating.is_asked() {
        let compiler = args.generating.compiler(patience, true)?;
        let kernel = Subject { name, module, launches };
        let report = of_own_code(&compiler, kernel.clone(), &options)?;
        return Ok(vec![recording.of_own_code(&compiler, &kernel, report, &options, patience)?]);
    }
    prepare(&module, options.pipeline.rules.clone());
    let job = Job { name, module, launches, options };
    let report = job.check(patience).map_err(|error| check_failure(&job.name, &error))?;
    Ok(vec![recording.with(report, &job.options)])
}

/// The report on the code that our own compiler makes of a kernel. What is not compiled is said.
pub fn of_own_code(compiler: &Compiler, kernel: Subject, options: &CheckOptions) -> Result<KernelReport, Failure> {
    let name = kernel.name.clone();
    let failed = |error: CheckError| check_failure(&name, &error);
    let checked = compiler.check_all(&[kernel], options).map_err(|error| Failure::Input(miette!("{error}")))?;
    let compiled::Checked { mut report, axes, unjudged } =
        checked.into_iter().next().expect("there is an answer for each kernel").map_err(failed)?;
    unjudged.iter().for_each(|why| remark(format_args!("{name}, {why}")));
    let is_judged = axes.iter().any(|axis| axis.compared > 0);
    (report.judged, report.clean) = (report.judged && is_judged, report.clean && is_judged);
    Ok(report)
}

/// Has another thread read where the built-in rules stand while kernels are read; see [`prepare`].
fn begin_rules() {
    let _ = thread::Builder::new().name("rules".to_owned()).spawn(|| catch(RuleSet::builtin));
}

/// Has another thread read and compile rules while the original is executed: in a small kernel nothing takes longer.
/// Without a thread, phases do it themselves.
fn prepare(module: &Module, rules: Option<Arc<RuleSet>>) {
    // In the order in which phases meet them.
    let mut met = HashSet::new();
    let kinds: Vec<_> =
        module.operations().map(|data| (data.opcode, data.fields)).filter(|kind| met.insert(*kind)).collect();
    let prepare = move || catch(|| rules.unwrap_or_else(RuleSet::builtin).prepare(kinds));
    let _ = thread::Builder::new().name("rules".to_owned()).spawn(prepare);
}
