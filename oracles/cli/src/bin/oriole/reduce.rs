//! `oriole reduce`: makes a kernel as small as what it shows allows.

mod miscompile;
mod text;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use miette::miette;
use oriole_check::compiled::fault::Miscompile;
use oriole_check::input::{Language, NamedLaunch, read_kernel, write_ptx};
use oriole_check::judge::Verdict;
use oriole_check::reduce::external::{External, Wanted};
use oriole_check::reduce::{Fault, Options, Reduced, reduce};
use oriole_check::report::{Evidence, Finding};
use oriole_check::supervise::catch;
use oriole_check::{CheckOptions, RaceSearch, check_module, job};
use oriole_interp::launch::launch_files_for;
use oriole_ir::Module;
use oriole_ir::verify::verify_module;
use oriole_optimizer::ssa;
use oriole_ptx as ptx;

use crate::axes::Compiling;
use crate::failure::{Failure, Status};
use crate::fuzz::show_finding;
use crate::numbers::{self, duration};
use crate::opt::Emit;
use crate::options::Given;
use crate::settings::{Subject, check_failure};

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
/// each candidate. Exit code 0 when it was reduced, 2 on bad input and where nothing is wrong.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    subject: Subject,
    /// What must stay wrong; by default what a check finds first
    #[arg(long, value_enum)]
    predicate: Option<Predicate>,
    #[command(flatten)]
    compiling: Compiling,
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
}

/// What is asked of a candidate.
enum Question {
    /// The same phase goes wrong in the same way.
    Fault(Box<Fault>),
    /// A check finds something whose message contains a text.
    Text { check: Box<CheckOptions>, text: String, verdict: Verdict },
    /// What ptxas makes of it goes wrong in the same way.
    Miscompile(Box<Miscompile>),
    /// A command decides; what keeps it from doing so is kept.
    Command(External, Mutex<Option<std::io::Error>>),
}

/// What is reduced, and how.
struct Job {
    evidence: Evidence,
    question: Question,
    /// How the reduced kernel is checked in the end.
    check: Option<CheckOptions>,
}

/// Runs the command.
pub fn run(args: &Args, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
    let options = Options { evaluations: args.evaluations, time: args.time };
    if text::run(args, &options, out)?.is_some() {
        return Ok(Status::Clean);
    }
    let module = read_kernel(&args.subject.file)?;
    if args.predicate == Some(Predicate::Refused) {
        return Err(boring(args, "the PTX front end reads it"));
    }
    let job = match args.predicate {
        Some(Predicate::Miscompile) => miscompile::job(args, given, module)?,
        _ => {
            args.compiling.require_unused("`--predicate miscompile` reduces what ptxas makes of a kernel")?;
            job(args, given, module)?
        }
    };
    let pool = numbers::pool(args.jobs)?;
    let reduced = pool.install(|| reduce(&job.evidence, &|evidence| job.question.holds(evidence), &options));
    if let Question::Command(_, error) = &job.question
        && let Some(error) = error.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    {
        return Err(command_failed(&error));
    }
    if !reduced.interesting {
        return Err(boring(args, "the predicate does not hold for it"));
    }
    report(args, &job, &reduced, out)?;
    Ok(Status::Clean)
}

fn command_failed(error: &std::io::Error) -> Failure {
    Failure::Input(miette!(help = "a shell must be able to run it", "the command fails: {error}"))
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

fn job(args: &Args, given: &Given, module: Module) -> Result<Job, Failure> {
    let Subject { file, launch, .. } = &args.subject;
    let language = Language::of(file).unwrap_or(Language::Ori);
    // A command need not run the kernel, so the launch may be missing; a check must.
    let there = !launch.is_empty() || !launch_files_for(file).is_empty();
    let external = match (&args.exec, args.predicate) {
        (Some(line), _) => External::shell(line, args.limit, language),
        (None, Some(Predicate::Hang)) if !there => hang(args, given)?,
        (None, _) => match fault(args, given, &module)? {
            Some(job) => return Ok(job),
            // To look for it again in this process would hang again.
            None => hang(args, given)?,
        },
    };
    let mut launches = if there { args.subject.launches()? } else { Vec::new() };
    let launch = (!launches.is_empty()).then(|| launches.swap_remove(0).launch);
    let question = Question::Command(external, Mutex::new(None));
    // SSA form has more that can go; what shows in virtual form alone stays in it.
    if let Ok(module) = catch(|| in_ssa(&module)) {
        let evidence = Evidence { module, launch: launch.clone() };
        if question.holds(&evidence) {
            return Ok(Job { evidence, question, check: None });
        }
    }
    Ok(Job { evidence: Evidence { module, launch }, question, check: None })
}

/// The optimizer as a command of its own, which can be ended.
fn hang(args: &Args, given: &Given) -> Result<External, Failure> {
    let scope = &args.subject.scope;
    let mut arguments = vec!["opt".to_owned()];
    arguments.extend(scope.phase.iter().flat_map(|phase| ["--phase".to_owned(), phase.clone()]));
    arguments.extend_from_slice(given.check());
    let program = std::env::current_exe()?;
    Ok(External { program, arguments, wanted: Wanted::Hang, limit: args.limit, language: Language::Ori })
}

/// What a check finds; `None` where the clock alone says it.
fn fault(args: &Args, given: &Given, module: &Module) -> Result<Option<Job>, Failure> {
    let (name, launches) = (args.subject.name(), args.subject.launches()?);
    let mut check = args.subject.scope.check(&args.subject.file, given)?;
    let failed = |error| check_failure(&name, &error);
    let job = job::Job { name: name.clone(), module: module.clone(), launches, options: check.clone() };
    let report = job.check(args.limit).map_err(failed)?;
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
    check = CheckOptions { randoms: 0, ..check.only(finding.phase) };
    let question = match &args.check {
        None => Question::Fault(Box::new(fault)),
        Some(text) => {
            let check = Box::new(CheckOptions { races: RaceSearch::Everywhere, ..check.clone() });
            Question::Text { check, text: text.clone(), verdict: finding.verdict.clone() }
        }
    };
    Ok(Some(Job { evidence: (*finding.evidence).clone(), question, check: Some(check) }))
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
                *failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
                false
            }),
        }
    }
}

/// What a check finds on the one launch.
fn findings(name: &str, evidence: &Evidence, check: &CheckOptions) -> Vec<Finding> {
    let launch = |launch: &oriole_interp::launch::Launch| NamedLaunch { name: name.to_owned(), launch: launch.clone() };
    let launches: Vec<NamedLaunch> = evidence.launch.iter().map(launch).collect();
    if verify_module(&evidence.module).is_err() {
        return Vec::new();
    }
    check_module(name, &evidence.module, &launches, check).map_or(Vec::new(), |report| report.findings)
}

/// Writes the reduced kernel, and says what became of it.
fn report(args: &Args, job: &Job, reduced: &Reduced, out: &mut dyn Write) -> Result<(), Failure> {
    let stem = args.subject.file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("kernel");
    let default = PathBuf::from(format!("{stem}-reduced.ori"));
    let path = args.output.as_ref().unwrap_or(&default).with_extension("ori");
    write(&path, &reduced.evidence)?;
    let Reduced { before, after, evaluations, rounds, time, complete, .. } = reduced;
    writeln!(
        out,
        "{} instructions of {}, {} blocks of {}, {} functions of {}, {} threads of {}, {} bytes of buffers of {}",
        after.instructions,
        before.instructions,
        after.blocks,
        before.blocks,
        after.functions,
        before.functions,
        after.threads,
        before.threads,
        after.bytes,
        before.bytes
    )?;
    let end = if *complete { "nothing more can go" } else { "a limit was met" };
    writeln!(out, "{evaluations} candidates in {rounds} rounds, {:.2} s; {end}", time.as_secs_f64())?;
    let text = reduced.evidence.module.to_string();
    if text.lines().count() <= MOST_LINES {
        write!(out, "\n{text}\n")?;
    }
    writeln!(out, "{}", path.display())?;
    if let Question::Fault(fault) = &job.question
        && let Some(text) = fault.misread_text(&reduced.evidence)
    {
        let path = path.with_extension("ptx");
        store(&path, &text)?;
        writeln!(out, "{} is the text that is misread", path.display())?;
        return conclude(job, reduced, &path, out);
    }
    let named = args.output.as_deref().and_then(Language::of);
    let asked = args.emit == Some(Emit::Ptx) || named == Some(Language::Ptx);
    if asked || Language::of(&args.subject.file) == Some(Language::Ptx) {
        emit(&path.with_extension("ptx"), job, reduced, out)?;
    }
    conclude(job, reduced, &path, out)
}

/// What a check says of the reduced kernel.
fn conclude(job: &Job, reduced: &Reduced, path: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let name = path.with_extension("ori").display().to_string();
    let found = job.check.as_ref().map_or_else(Vec::new, |check| findings(&name, &reduced.evidence, check));
    found.iter().try_for_each(|finding| show_finding(out, finding))
}

fn write(path: &Path, evidence: &Evidence) -> Result<(), Failure> {
    store(path, &evidence.module.to_string())?;
    if let Some(launch) = &evidence.launch {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("reduced");
        launch.save(folder, stem).map_err(Failure::input)?;
    }
    Ok(())
}

fn store(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| {
        Failure::Input(miette!(help = "name another file with -o", "cannot write `{}`: {error}", path.display()))
    })
}

/// Writes the reduced kernel as PTX, where that is possible, and says whether that shows the same.
fn emit(path: &Path, job: &Job, reduced: &Reduced, out: &mut dyn Write) -> Result<(), Failure> {
    let text = match write_ptx(&reduced.evidence.module) {
        Ok(text) => text,
        Err(error) => return Ok(writeln!(out, "it cannot be written as PTX: {error}")?),
    };
    store(path, &text)?;
    // What a compiler gets is the text, whatever form the candidates had.
    let is_read = ssa::is_virtual(&reduced.evidence.module) || matches!(job.question, Question::Miscompile(_));
    let again = ptx::read(&text).ok().map(|module| if is_read { module } else { in_ssa(&module) });
    let again = again.map(|module| Evidence { module, launch: reduced.evidence.launch.clone() });
    let same = again.is_some_and(|evidence| job.question.holds(&evidence));
    let word = if same { "shows the same" } else { "does not show the same: reading it makes another module" };
    writeln!(out, "{} {word}", path.display())?;
    Ok(())
}
