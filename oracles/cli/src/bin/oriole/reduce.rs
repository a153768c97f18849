//! `oriole reduce`: makes a kernel as small as what it shows allows.

mod command;
mod files;
mod miscompile;
mod report;
mod text;

pub use report::Document;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use miette::miette;
use oriole_check::compiled::fault::Miscompile;
use oriole_check::input::{Language, NamedLaunch};
use oriole_check::judge::Verdict;
use oriole_check::reduce::external::{External, Wanted};
use oriole_check::reduce::{Fault, Glance, Options, Request, Roots, Watch};
use oriole_check::report::{Evidence, Finding};
use oriole_check::{CheckOptions, RaceSearch, check_module, job};
use oriole_ir::Module;
use oriole_ir::verify::verify_module;
use oriole_launch::launch_files_for;
use oriole_optimizer::ssa;

use crate::axes::{Compiling, Generating, arch};
use crate::document::Format;
use crate::failure::{Failure, Status};
use crate::live::{Live, stop_or};
use crate::numbers::counted;
use crate::numbers::{self, duration};
use crate::opt::Emit;
use crate::options::Given;
use crate::settings::{Reading, Subject, check_failure};

/// A reduced kernel of at most so many lines is also printed.
const MOST_LINES: usize = 60;

/// What must stay wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Predicate {
    /// A phase changes what the kernel does.
    Mismatch,
    /// A phase panics.
    Panic,
    /// A phase leaves an invalid module, or the round trip refuses a valid one.
    Invalid,
    /// The optimizer does not end.
    Hang,
    /// The PTX front end refuses the file.
    Refused,
    /// The real ptxas makes code of it that does not do what it says, or crashes on it.
    Miscompile,
}

/// Makes a kernel as small as what it shows allows
///
/// Without --exec, a check finds what is wrong; the guilty phase alone is then what must stay wrong in the same way, on
/// a launch where the original finishes, defines all it uses and has no race. The reduced kernel is written with its
/// launch. PTX on which the front end panics, or that it makes an invalid module of, is reduced as text; so is PTX that
/// it refuses, with `--predicate refused` or where --exec says what is interesting. With `--predicate miscompile` the
/// real ptxas is the one who goes wrong: the kernel, printed as PTX, is compiled, and the machine code executed, for
/// each candidate. A command that --exec names is asked about the file itself first; where it judges what Oriole prints
/// of PTX otherwise, the text is reduced. Ctrl-C and SIGTERM end the search and leave the best so far. Exit code 0 when
/// it was reduced, 2 on bad input and where nothing is wrong, 3 when a signal ended it.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    reading: Reading,
    /// What must stay wrong; by default what a check finds first
    #[arg(long, value_enum)]
    predicate: Option<Predicate>,
    /// Reduce what phases do wrong over the machine code that ptxas makes of the kernel for these architectures, as
    /// `check --machine` shows it: the kernel is compiled again for each candidate
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = arch, conflicts_with = "exec")]
    machine: Vec<String>,
    #[command(flatten)]
    compiling: Compiling,
    #[command(flatten)]
    generating: Generating,
    /// The finding's message must contain this text
    #[arg(long, value_name = "TEXT", conflicts_with = "exec")]
    check: Option<String>,
    /// A command line that gets a candidate's path and ends with 0 where it is interesting; ORIOLE_ORI, ORIOLE_PTX and
    /// ORIOLE_LAUNCH name all its files
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["predicate", "phase"])]
    exec: Option<String>,
    /// How long one run of --exec or of ptxas may take, and after how long the optimizer counts as hanging
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    limit: Duration,
    /// Where the reduced kernel goes; by default `K-reduced.ori` in the current folder
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write even where that replaces the kernel or its launch file
    #[arg(long)]
    force: bool,
    /// Also write PTX, as is done for PTX kernels
    #[arg(long, value_enum)]
    emit: Option<Emit>,
    /// Stop after so long
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10m")]
    time: Duration,
    /// Stop after so many candidates
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    evaluations: u64,
    /// Candidates looked at at the same time; by default as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::jobs())]
    jobs: usize,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What is asked of a candidate.
enum Question {
    /// The same phase goes wrong in the same way.
    Fault(Box<Fault>),
    /// A check finds something whose message contains a text.
    Text { check: Box<CheckOptions>, text: String, verdict: Verdict },
    /// What ptxas makes of it, or a phase of that, goes wrong in the same way.
    Miscompile(Box<Miscompile>),
    /// A command decides; what keeps it from doing so is kept.
    Command(External, Mutex<Option<std::io::Error>>),
}

/// What is reduced, and how.
struct Job {
    evidence: Evidence,
    /// Where to begin, as far as that is known.
    roots: Roots,
    question: Question,
    /// How the reduced kernel is checked in the end.
    check: Option<CheckOptions>,
}

/// Runs the command.
pub fn run(args: &Args, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
    let limits = Options { evaluations: args.evaluations, time: args.time };
    let search = Search { args, given, limits, stop: Arc::default(), checks: Arc::default(), live: Live::new() };
    files::require_others(args)?;
    search.hear_signals()?;
    let progress = |glance: Glance| search.live.show(|_| line(glance));
    let watch = Watch { progress: Some(&progress), stop: Some(&search.stop) };
    let status = search.run(watch, out);
    search.live.finish();
    status
}

/// How far a reduction is.
fn line(Glance { left, before, evaluations, time }: Glance) -> String {
    format!(
        "{left} of {before} left, {evaluations}, {:.0} s",
        time.as_secs_f64(),
        evaluations = counted(evaluations, "candidate")
    )
}

/// A reduction under way.
struct Search<'a> {
    args: &'a Args,
    given: &'a Given,
    limits: Options,
    /// Whether a signal has ended it.
    stop: Arc<AtomicBool>,
    /// Whether it still finds out what is wrong: then there is nothing to leave, and a signal ends the process.
    checks: Arc<AtomicBool>,
    live: Live,
}

impl Search<'_> {
    /// A signal leaves the best so far; while nothing is known yet, it is answered at once.
    fn hear_signals(&self) -> Result<(), Failure> {
        let (checks, file) = (self.checks.clone(), self.args.subject.file.clone());
        stop_or(self.stop.clone(), move || {
            if checks.load(Ordering::Relaxed) {
                too_early(&file).exit();
            }
        })
    }

    /// Does what nobody can interrupt, before anything is known.
    fn check<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.checks.store(true, Ordering::Relaxed);
        if self.is_stopped() {
            return Err(ended_early(self.args));
        }
        let result = work();
        self.checks.store(false, Ordering::Relaxed);
        result
    }

    fn run(&self, watch: Watch<'_>, out: &mut dyn Write) -> Result<Status, Failure> {
        let args = self.args;
        if let Some(status) = text::run(self, watch, out)? {
            return Ok(status);
        }
        let module = args.reading.kernel(&args.subject.file)?;
        if args.predicate == Some(Predicate::Refused) {
            return Err(boring(args, "the PTX front end reads it"));
        }
        self.live.show(|_| "checking".to_owned());
        let job = match args.predicate {
            _ if !args.machine.is_empty() => self.check(|| miscompile::job_of_phases(args, self.given, module))?,
            _ if args.generating.is_asked() => self.check(|| miscompile::job(args, self.given, module))?,
            Some(Predicate::Miscompile) => self.check(|| miscompile::job(args, self.given, module))?,
            _ => {
                args.compiling.require_unused("`--predicate miscompile` reduces what ptxas makes of a kernel")?;
                match self.job(module)? {
                    Task::Program(job) => *job,
                    Task::Text(external, text) => return text::by_command(self, &external, &text, watch, out),
                }
            }
        };
        let pool = numbers::pool(args.jobs)?;
        let predicate = |evidence: &Evidence| job.question.holds(evidence);
        let request = Request { predicate: &predicate, roots: job.roots.clone(), options: self.limits, watch };
        let reduced = pool.install(|| request.reduce(&job.evidence));
        self.live.finish();
        if let Question::Command(_, error) = &job.question
            && let Some(error) = error.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            return Err(command_failed(&error));
        }
        if !reduced.interesting {
            return if reduced.stopped {
                Err(ended_early(args))
            } else {
                Err(boring(args, "the predicate does not hold for it"))
            };
        }
        report::print(args, &job, &reduced, out)?;
        Ok(status(reduced.stopped))
    }

    /// What is reduced, and by which question.
    fn job(&self, module: Module) -> Result<Task, Failure> {
        let (args, given) = (self.args, self.given);
        // A command need not run the kernel, so the launch may be missing; a check must.
        let there = !args.subject.launch.is_empty() || !launch_files_for(&args.subject.file).is_empty();
        if let Some(command) = &args.exec {
            return command::task(self, command, module, there);
        }
        let external = match args.predicate {
            Some(Predicate::Hang) if !there => self.hang()?,
            _ => match self.check(|| fault(args, given, &module))? {
                Some(job) => return Ok(Task::Program(Box::new(job))),
                // To look for it again in this process would hang again.
                None => self.hang()?,
            },
        };
        let launch = first_launch(args, there)?;
        let question = Question::Command(external, Mutex::new(None));
        // SSA form has more that can go; what shows in virtual form alone stays in it.
        let evidence = Evidence { module, launch };
        let evidence = command::in_form(&question, &evidence).unwrap_or(evidence);
        Ok(Task::Program(Box::new(Job { evidence, roots: Roots::default(), question, check: None })))
    }

    /// The optimizer as a command of its own, which can be ended.
    fn hang(&self) -> Result<External, Failure> {
        let scope = &self.args.subject.scope;
        let mut arguments = vec!["opt".to_owned()];
        arguments.extend(scope.phase.iter().flat_map(|phase| ["--phase".to_owned(), phase.clone()]));
        arguments.extend_from_slice(self.given.check());
        self.itself(arguments, Language::Ori)
    }

    /// This program as a command that does not end.
    fn itself(&self, arguments: Vec<String>, language: Language) -> Result<External, Failure> {
        let (program, limit, stop) = (std::env::current_exe()?, self.args.limit, self.stop.clone());
        Ok(External { program, arguments, wanted: Wanted::Hang, limit, language, stop })
    }

    /// A line for the shell as a command.
    fn shell(&self, line: &str, language: Language) -> External {
        External { stop: self.stop.clone(), ..External::shell(line, self.args.limit, language) }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What a reduction works on.
enum Task {
    /// A program.
    Program(Box<Job>),
    /// A text, since reading and printing it makes another program for the command.
    Text(External, String),
}

/// How a reduction ends that has a result.
fn status(stopped: bool) -> Status {
    if stopped { Status::TooLittle } else { Status::Clean }
}

/// What a reduction says of its end.
fn end(complete: bool, stopped: bool) -> &'static str {
    match (complete, stopped) {
        (true, _) => "nothing more can go",
        (false, true) => "a signal ended it: the best so far",
        (false, false) => "a limit was met",
    }
}

fn command_failed(error: &std::io::Error) -> Failure {
    Failure::Input(miette!(help = "a shell must be able to run it", "the command fails: {error}"))
}

/// A signal came before anything was known.
fn ended_early(args: &Args) -> Failure {
    too_early(&args.subject.file)
}

fn too_early(file: &Path) -> Failure {
    let help = "nothing was written; the same command begins again";
    let file = file.display();
    Failure::Unfinished(miette!(help = help, "a signal came before it was known whether `{file}` is interesting"))
}

fn first_launch(args: &Args, there: bool) -> Result<Option<oriole_launch::Launch>, Failure> {
    let mut launches = if there { args.subject.launches()? } else { Vec::new() };
    Ok((!launches.is_empty()).then(|| launches.swap_remove(0).launch))
}

fn in_ssa(module: &Module) -> Module {
    let mut module = module.clone();
    ssa::construct_module(&mut module);
    module
}

fn boring(args: &Args, why: &str) -> Failure {
    let help = "`oriole check` shows what a kernel does; --exec COMMAND reduces by what a command says";
    Failure::Input(miette!(help = help, "`{}` is not interesting: {why}", args.subject.file.display()))
}

/// What a check finds; `None` where the clock alone says it.
fn fault(args: &Args, given: &Given, module: &Module) -> Result<Option<Job>, Failure> {
    let (name, launches) = (args.subject.name(), args.subject.launches()?);
    let mut check = args.subject.scope.check(&args.subject.file, given)?;
    let failed = |error| check_failure(&name, &error);
    let checked = |enough| {
        let options = CheckOptions { enough, ..check.clone() };
        let job = job::Job { name: name.clone(), module: module.clone(), launches: launches.clone(), options };
        job.check(args.limit).map_err(failed)
    };
    // The first finding will mostly do, and each costs a bisection.
    let mut report = checked(Some(1))?;
    if !report.findings.is_empty() && !report.findings.iter().any(|finding| wanted(args, finding)) {
        report = checked(None)?;
    }
    let Some(finding) = report.findings.iter().find(|finding| wanted(args, finding)).cloned() else {
        args.subject.scope.require_planted([&report])?;
        // No phase hangs alone; all of them together may.
        if args.predicate == Some(Predicate::Hang) {
            return Ok(None);
        }
        return Err(boring(args, "a check finds nothing of this kind wrong with it"));
    };
    if finding.verdict.costs_a_thread() {
        return Ok(None);
    }
    let fault = Fault::new(&finding, &check).map_err(failed)?;
    let roots = fault.roots().clone();
    check = CheckOptions { randoms: 0, ..check.only(finding.phase) };
    let question = match &args.check {
        None => Question::Fault(Box::new(fault)),
        Some(text) => {
            let check = Box::new(CheckOptions { races: RaceSearch::Everywhere, ..check.clone() });
            Question::Text { check, text: text.clone(), verdict: finding.verdict.clone() }
        }
    };
    Ok(Some(Job { evidence: (*finding.evidence).clone(), roots, question, check: Some(check) }))
}

/// Whether a finding is of the kind that was asked for.
fn wanted(args: &Args, finding: &Finding) -> bool {
    let verdict = match args.predicate {
        None => true,
        Some(Predicate::Hang) => matches!(finding.verdict, Verdict::Hangs(_)),
        Some(Predicate::Mismatch) => matches!(finding.verdict, Verdict::Mismatch(_)),
        Some(Predicate::Panic) => matches!(finding.verdict, Verdict::Panicked(_)),
        Some(Predicate::Invalid) => matches!(finding.verdict, Verdict::InvalidIr(_) | Verdict::Refused(_)),
        Some(Predicate::Refused | Predicate::Miscompile) => false,
    };
    verdict && args.check.as_ref().is_none_or(|text| message(finding).contains(text))
}

fn message(finding: &Finding) -> String {
    format!("{} in {}: {}", finding.verdict.name(), finding.phase, finding.detail)
}

impl Question {
    fn holds(&self, evidence: &Evidence) -> bool {
        match self {
            Question::Fault(fault) => fault.shows(evidence),
            Question::Miscompile(miscompile) => miscompile.shows(evidence),
            Question::Text { check, text, verdict } => {
                let shows = |finding: &Finding| finding.verdict.is_like(verdict) && message(finding).contains(text);
                findings("candidate", evidence, check).iter().any(shows)
            }
            Question::Command(external, failure) => external.holds(evidence).unwrap_or_else(|error| {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                false
            }),
        }
    }
}

/// What a check finds on the one launch.
fn findings(name: &str, evidence: &Evidence, check: &CheckOptions) -> Vec<Finding> {
    let launch = |launch: &oriole_launch::Launch| NamedLaunch { name: name.to_owned(), launch: launch.clone() };
    let launches: Vec<NamedLaunch> = evidence.launch.iter().map(launch).collect();
    if verify_module(&evidence.module).is_err() {
        return Vec::new();
    }
    check_module(name, &evidence.module, &launches, check).map_or(Vec::new(), |report| report.findings)
}
