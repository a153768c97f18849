//! `oriole opt`: optimizes a kernel without executing it.

mod gates;
mod in_place;
mod report;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use miette::miette;
use oriole_check::CheckOptions;
use oriole_check::cost::Cost;
use oriole_check::explain;
use oriole_check::inject::FaultSpec;
use oriole_check::input::{Language, launches_for};
use oriole_check::step::{Conditions, Done, Outcome, Step};
use oriole_check::supervise::{StepId, catch};
use oriole_ir::{Form, Module, PhysicalReg};
use oriole_launch::{Launch, launch_files_for};
use oriole_optimizer::analysis::{Cfg, Liveness, Uninitialized};
use oriole_optimizer::pass::{Changed, Element, PassId, PassOption, Statistics};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::nvopt;
use oriole_optimizer::pipeline::runner::{Observer, Options, PipelineError, Report, run_passes, running};
use oriole_optimizer::pipeline::split::run_split;
use oriole_optimizer::ssa;
use oriole_ptx::{Labels, emit_labelled};

use crate::document::{self, Format};
use crate::failure::{Failure, Status};
use crate::live::remark;
use crate::numbers::counted;
use crate::options::Given;
use crate::rule_uses;
use crate::selection::{position, unknown_phase};
use crate::settings::{Reading, Scope, target};
use crate::threads::Threads;

use report::LeftOut;

pub use report::Document;

/// The language of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Emit {
    /// The text form of the IR.
    Ori,
    /// PTX.
    Ptx,
}

/// Optimizes a kernel without executing it
///
/// Dumps, times and explanations go to standard error, the kernel to standard output or to the file that -o names. Exit
/// code 0, 1 where a phase panics, does not end or leaves a kernel that is not valid, 2 on bad input. With --machine
/// the kernel is a cubin, and so is the result; what became of the words of each function goes to standard output.
#[derive(clap::Args)]
pub struct Args {
    /// The kernel: a .ptx or .ori file; with --machine a cubin
    #[arg(required_unless_present = "print_pipeline")]
    file: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// The language of the output; by default that of the file named by -o, or else of the kernel
    #[arg(long, value_enum)]
    emit: Option<Emit>,
    /// Where the optimized kernel goes
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show the kernel before and after these phases
    #[arg(long, value_name = "PHASE,...", value_delimiter = ',')]
    dump_ir: Vec<String>,
    /// Print the passes that run, as a text for --passes that runs the same, and optimize nothing
    #[arg(long, conflicts_with = "format")]
    print_pipeline: bool,
    /// Say for each function which gates of a phase are open, and which one keeps it from acting, and optimize nothing
    #[arg(long, value_name = "PHASE", conflicts_with_all = ["format", "print_pipeline", "machine"])]
    explain_gates: Option<String>,
    /// Run nothing behind this phase
    #[arg(long, value_name = "PHASE")]
    stop_after: Option<String>,
    /// Make at most so many changes
    #[arg(long, value_name = "N")]
    rewrite_limit: Option<u64>,
    /// Show what each phase did, and how long it took; where there is a launch, also what it leaves on the first:
    /// instructions and loads that are executed, and live registers
    #[arg(long)]
    time: bool,
    /// List every change: phase, rule, place, and the instructions that go and come; a run of the phase for each
    #[arg(long)]
    explain: bool,
    /// The launch of --time, instead of those beside the kernel
    #[arg(long, value_name = "FILE")]
    launch: Option<PathBuf>,
    /// Verify the kernel after each phase that changed it
    #[arg(long)]
    verify: bool,
    /// Warn of registers of the kernel, as it is given, that may be read before anything defines them
    #[arg(long)]
    warn_uninitialized: bool,
    /// How the report is printed; as JSON, it holds the kernel, unless -o names a file
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Optimize the code of a cubin and write a cubin: what goes becomes NOP, so that every word stays in its place.
    /// The phases are those for code of the machine, copies and dead code, unless --passes names others
    #[arg(long, requires = "output", conflicts_with_all = ["emit", "launch", "warn_uninitialized", "opaque"])]
    machine: bool,
    /// Take out what --machine leaves as NOP: the words behind it move forward, and branches, tables of jumps and the
    /// attributes that name words follow. A function keeps its place and size; what cannot move is named, with the
    /// reason
    #[arg(long, requires = "machine")]
    compact: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    scope: Scope,
}

/// What is optimized, and how.
struct Work<'a> {
    args: &'a Args,
    passes: Pipeline,
    options: Options,
    faults: Vec<FaultSpec>,
    replay: String,
}

/// Why there is no result.
enum Stop {
    Failure(Failure),
    /// A step went wrong, as this says.
    Wrong(String),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failure(failure)
    }
}

/// What became of the phases.
struct Ran {
    report: Report,
    /// Counters of every step, to see which faults were planted.
    statistics: Vec<(StepId, Statistics)>,
    watcher: Watcher,
}

/// Watches a run: dumps go to standard error as they come, and what is asked for is kept.
struct Watcher {
    /// The module before each phase that changed it, with --explain; `last` may become one.
    before: Vec<(Element, Module)>,
    last: Option<Module>,
    explains: bool,
    /// The launch that costs are measured on, and these, of the kernel itself and behind phases.
    launch: Option<Launch>,
    costs: BTreeMap<Option<PassId>, Cost>,
}

impl Observer for Watcher {
    fn watches(&self) -> bool {
        self.explains || self.launch.is_some()
    }

    fn before(&mut self, _element: &Element, module: &Module) {
        self.last = self.explains.then(|| module.clone());
    }

    fn after(&mut self, element: &Element, module: &Module, changed: Changed) {
        if changed.is_yes() {
            self.before.extend(self.last.take().map(|module| (element.clone(), module)));
            let cost = self.launch.as_ref().and_then(|launch| Cost::of(module, launch));
            self.costs.extend(cost.map(|cost| (Some(element.id()), cost)));
        }
    }

    fn remark(&mut self, text: &str) {
        remark(text);
    }

    fn dump(&mut self, text: &str) {
        // A closed standard error takes no dumps; the optimized kernel is still wanted.
        drop(writeln!(io::stderr(), "{text}"));
    }
}

impl Args {
    /// The kernel; no name where only the pipeline is asked for.
    fn file(&self) -> &Path {
        self.file.as_deref().unwrap_or(Path::new(""))
    }

    /// An error where something is asked that a module in parts cannot tell.
    fn require_whole(&self) -> Result<(), Failure> {
        let asked = [
            (self.explain, "--explain", "each part has changes of its own"),
            (self.rewrite_limit.is_some(), "--rewrite-limit", "the changes of several parts have no order"),
            (self.machine, "--machine", "machine code stays in its place"),
        ];
        let Some((_, option, why)) = asked.into_iter().find(|(asked, ..)| *asked) else { return Ok(()) };
        let help = "leave out --split-compile, or slot-203 of --opt";
        Err(Failure::Input(miette!(help = help, "{option} wants a module as a whole: {why}")))
    }

    /// Prints the passes that run.
    fn print_pipeline(&self, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
        let CheckOptions { passes, pipeline, .. } = self.scope.optimizing(self.file(), given)?;
        writeln!(out, "{}", running(&passes, &pipeline).map_err(unknown_phase)?)?;
        Ok(Status::Clean)
    }
}

/// Runs the command.
pub fn run(args: &Args, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
    if args.print_pipeline {
        return args.print_pipeline(given, out);
    }
    let code = args.machine.then(|| in_place::Code::read(args.file())).transpose()?;
    let mut module = match &code {
        Some(code) => code.lifted()?,
        None => args.reading.kernel(args.file())?,
    };
    let work = Work::new(args, given, &module)?;
    if let Some(phase) = &args.explain_gates {
        gates::print(phase, &module, &work.options, out)?;
        return Ok(Status::Clean);
    }
    if args.warn_uninitialized {
        warn_uninitialized(&module);
    }
    let ran = match work.run(&mut module) {
        Ok(ran) => ran,
        Err(Stop::Failure(failure)) => return Err(failure),
        Err(Stop::Wrong(wrong)) => return say_wrong(args, wrong, out),
    };
    // A limit on changes may keep a fault out, as it is meant to in a bisection.
    if args.rewrite_limit.is_none() {
        args.scope.require_made(&ran.statistics)?;
    }
    if args.scope.settings.passes.are_a_text() {
        say_what_did_not_run(&ran.report);
    }
    let document = work.document(&ran, &module)?;
    if let Some(code) = &code {
        return code.finish(args, &module, document, out);
    }
    match args.format {
        Format::Text => {
            report::say(&document, args);
            write_module(args, &module, out)?;
        }
        Format::Json => {
            let text = text(args, &module)?;
            let file = args.output.clone();
            file.iter().try_for_each(|path| store(path, &text))?;
            let kernel = file.is_none().then_some(text);
            let document = document.with_kernel(file, kernel);
            document::print(out, &document)?;
        }
    }
    Ok(Status::Clean)
}

/// Says what went wrong.
fn say_wrong(args: &Args, wrong: String, out: &mut dyn Write) -> Result<Status, Failure> {
    match args.format {
        Format::Text => writeln!(out, "{wrong}")?,
        Format::Json => document::print(out, &Document::wrong(wrong))?,
    }
    Ok(Status::Found)
}

impl Work<'_> {
    fn new<'a>(args: &'a Args, given: &Given, module: &Module) -> Result<Work<'a>, Failure> {
        let scope = &args.scope;
        let check =
            if args.machine { scope.check_code(args.file(), given)? } else { scope.optimizing(args.file(), given)? };
        let CheckOptions { passes, pipeline, faults, .. } = check;
        let options = Options {
            target: target(module)?,
            dump: args.dump_ir.clone(),
            stop_after: args.stop_after.as_deref().map(|token| position(&passes, token)).transpose()?,
            rewrite_limit: args.rewrite_limit,
            time: args.time || args.format == Format::Json,
            verify: args.verify,
            workers: args.threads.workers(&pipeline.pass_options)?,
            ..pipeline
        };
        if args.threads.parts(&options.pass_options) != 1 {
            args.require_whole()?;
        }
        Ok(Work { args, passes, options, faults, replay: given.replay() })
    }

    /// Takes the phases; where one goes wrong, what to say of it.
    fn run(&self, module: &mut Module) -> Result<Ran, Stop> {
        let mut statistics = self.construct(module)?;
        let mut watcher = self.watcher(module)?;
        let parts = self.args.threads.parts(&self.options.pass_options);
        let run = || match parts {
            1 => run_passes(&self.passes, module, &self.options, &mut watcher),
            parts => run_split(&self.passes, module, &self.options, parts, &mut watcher),
        };
        let report = match catch(run) {
            Ok(Ok(report)) => report,
            Ok(Err(PipelineError::UnknownPhase(error))) => return Err(unknown_phase(error).into()),
            Ok(Err(error @ PipelineError::Refused { .. })) => return Err(Failure::Input(miette!("{error}")).into()),
            Ok(Err(error)) => return Err(Stop::Wrong(error.to_string())),
            Err(panic) => {
                let (file, replay) = (self.args.file().display(), &self.replay);
                return Err(Stop::Wrong(format!("a phase panics: {panic}\n`oriole check {file}{replay}` names it")));
            }
        };
        statistics.extend(report.passes.iter().map(|pass| (StepId::Pass(pass.id), pass.statistics.clone())));
        Ok(Ran { report, statistics, watcher })
    }

    /// Brings a module into SSA form, which the phases need. That is a step that can fail and take faults like any
    /// other.
    fn construct(&self, module: &mut Module) -> Result<Vec<(StepId, Statistics)>, Stop> {
        if !ssa::is_virtual(module) {
            return Ok(Vec::new());
        }
        let conditions = Conditions { pipeline: &self.options, faults: &self.faults, limit: None };
        let step = StepId::SsaConstruction;
        match Step::ssa_construction().take(module, &conditions).map_err(unknown_phase)? {
            Outcome::Failed(failure) => {
                let (file, verdict, replay) = (self.args.file().display(), failure.verdict, &self.replay);
                Err(Stop::Wrong(format!(
                    "{step}: {verdict}\n`oriole check {file} --phase {}{replay}` shows it",
                    step.token()
                )))
            }
            Outcome::Done(Done { statistics, .. }) => Ok(vec![(step, statistics)]),
            Outcome::Skipped(_) => Ok(Vec::new()),
        }
    }

    /// Watches a run on a module.
    fn watcher(&self, module: &Module) -> Result<Watcher, Failure> {
        let args = self.args;
        let there = args.launch.is_some() || !launch_files_for(args.file()).is_empty();
        let launches = if there && args.time { launches_for(args.file(), args.launch.as_slice())? } else { Vec::new() };
        let launch = launches.into_iter().next().map(|named| named.launch);
        let first = launch.as_ref().and_then(|launch| Cost::of(module, launch));
        let costs = first.map(|cost| (None, cost)).into_iter().collect();
        Ok(Watcher { before: Vec::new(), last: None, explains: args.explain, launch, costs })
    }

    fn document(&self, ran: &Ran, module: &Module) -> Result<Document, Failure> {
        let Ran { report, watcher, .. } = ran;
        let mut changes = Vec::new();
        let conditions = Conditions { pipeline: &self.options, faults: &self.faults, limit: None };
        for (element, before) in &watcher.before {
            let of = report.passes.iter().find(|pass| pass.id == element.id());
            let most = of.map_or(0, |pass| pass.rewrites);
            let made = explain::changes(element, before, &conditions, most).map_err(unknown_phase)?;
            changes.extend(made.into_iter().map(|change| change.with_source(module)));
        }
        let statistics = || report.passes.iter().map(|pass| &pass.statistics);
        let rules = self.options.rules.as_ref().map_or(Vec::new(), |set| rule_uses::uses(set, statistics()));
        Ok(Document::new(report, &watcher.costs, changes, rules))
    }
}

/// Warns on standard error, with a line for each function that has such registers, and one for each of them.
fn warn_uninitialized(module: &Module) {
    for func in module.functions.values().filter(|func| func.is_definition()) {
        let cfg = Cfg::new(func);
        let found = Uninitialized::find(func, &cfg, &Liveness::solve(func, &cfg));
        if found.is_empty() {
            continue;
        }
        let registers = counted(found.len(), "potentially uninitialized register");
        let mut text = format!("warning: Found {registers} in function {}\n", func.name);
        for found in found {
            let named = PhysicalReg::of(found.reg).filter(|_| func.form == Form::Physical);
            let own = || format!("{}{}", func.regs()[found.reg].prefix(), found.reg.as_u32());
            text += &uninitialized(module, &named.map_or_else(own, PhysicalReg::name), &found);
        }
        // A closed standard error takes no warnings; the optimized kernel is still wanted.
        drop(io::stderr().write_all(text.as_bytes()));
    }
}

/// A line of a warning for a register that may be read before anything defines it.
pub fn uninitialized(module: &Module, name: &str, found: &Uninitialized) -> String {
    let Uninitialized { line, is_defined_elsewhere, .. } = *found;
    let source = module.sources.of(line).map_or(String::new(), |source| format!(", {source}"));
    let place = if line == 0 { String::new() } else { format!(" in line {line}{source}") };
    let why = if is_defined_elsewhere { "not defined on every path there" } else { "defined on no path there" };
    format!("  %{name}, read{place}: {why}\n")
}

/// Says on standard error which of the passes that were asked for did not run.
fn say_what_did_not_run(report: &Report) {
    for LeftOut { reason, phases } in report::left_out(report, |_| true) {
        remark(format_args!("{} did not run: {reason}", phases.join(", ")));
    }
}

fn write_module(args: &Args, module: &Module, out: &mut dyn Write) -> Result<(), Failure> {
    let text = text(args, module)?;
    match &args.output {
        None => Ok(out.write_all(text.as_bytes())?),
        Some(path) => store(path, &text),
    }
}

/// A module in the language of the output.
fn text(args: &Args, module: &Module) -> Result<String, Failure> {
    match language(args) {
        Emit::Ori => Ok(module.to_string()),
        Emit::Ptx => {
            let named = PassOption::of_slot(nvopt::BLOCK_NAMES);
            let is_asked = args.scope.settings.passes.options()?.flag(named) == Some(true);
            let labels = if is_asked { Labels::Places } else { Labels::Numbers };
            emit_labelled(&ssa::destructed(module), labels).map_err(|error| {
                let help = "`--emit ori` prints every module";
                Failure::Input(miette!(help = help, "`{}` cannot be printed as PTX: {error}", args.file().display()))
            })
        }
    }
}

fn store(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| {
        Failure::Input(miette!(help = "name another file with -o", "cannot write `{}`: {error}", path.display()))
    })
}

fn language(args: &Args) -> Emit {
    let named = args.output.as_deref().and_then(Language::of).or_else(|| Language::of(args.file()));
    args.emit.unwrap_or(if named == Some(Language::Ori) { Emit::Ori } else { Emit::Ptx })
}
