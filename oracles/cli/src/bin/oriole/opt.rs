//! `oriole opt`: optimizes a kernel without executing it.

use oriole_check::input::write_ptx;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use miette::miette;
use oriole_check::CheckOptions;
use oriole_check::input::Language;
use oriole_check::step::{Conditions, Done, Outcome, Step};
use oriole_check::supervise::{StepId, catch};
use oriole_ir::Module;
use oriole_optimizer::analysis::{Cfg, Liveness, Uninitialized};
use oriole_optimizer::pipeline::runner::{Observer, PipelineError, Report, run_passes};
use oriole_optimizer::ssa;

use crate::failure::{Failure, Status};
use crate::options::Given;
use crate::rule_uses;
use crate::selection::{position, unknown_phase};
use crate::settings::{Reading, Scope, target};
use crate::table::Table;

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
/// Dumps and times go to standard error, the kernel to standard output or to the file that -o names. Exit code 0, 1
/// where a phase panics, does not end or leaves a kernel that is not valid, 2 on bad input.
#[derive(clap::Args)]
pub struct Args {
    /// The kernel: a .ptx or .ori file
    file: PathBuf,
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
    /// Run nothing behind this phase
    #[arg(long, value_name = "PHASE")]
    stop_after: Option<String>,
    /// Make at most so many changes
    #[arg(long, value_name = "N")]
    rewrite_limit: Option<u64>,
    /// Show what each phase did, and how long it took
    #[arg(long)]
    time: bool,
    /// Verify the kernel after each phase that changed it
    #[arg(long)]
    verify: bool,
    /// Warn of registers of the kernel, as it is given, that may be read before anything defines them
    #[arg(long)]
    warn_uninitialized: bool,
    #[command(flatten)]
    scope: Scope,
}

/// Writes dumps to standard error as they come.
struct Dumps;

impl Observer for Dumps {
    fn dump(&mut self, text: &str) {
        // A closed standard error takes no dumps; the optimized kernel is still wanted.
        drop(writeln!(io::stderr(), "{text}"));
    }
}

/// Runs the command.
pub fn run(args: &Args, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
    let mut module = args.reading.kernel(&args.file)?;
    let CheckOptions { passes, pipeline: mut options, faults, .. } = args.scope.check(&args.file, given)?;
    options.target = target(&module)?;
    if args.warn_uninitialized {
        warn_uninitialized(&module);
    }
    let mut planted = Vec::new();
    // The phases need SSA form. Its construction is a step that can fail and take faults like any other.
    if ssa::is_virtual(&module) {
        let conditions = Conditions { pipeline: &options, faults: &faults, limit: None };
        match Step::ssa_construction().take(&mut module, &conditions).map_err(unknown_phase)? {
            Outcome::Failed(failure) => {
                let (file, step) = (args.file.display(), StepId::SsaConstruction);
                let verdict = failure.verdict;
                writeln!(
                    out,
                    "{step}: {verdict}\n`oriole check {file} --phase {}{}` shows it",
                    step.token(),
                    given.replay()
                )?;
                return Ok(Status::Found);
            }
            Outcome::Done(Done { statistics, .. }) => planted.push((StepId::SsaConstruction, statistics)),
            Outcome::Skipped(_) => {}
        }
    }
    options.dump.clone_from(&args.dump_ir);
    options.stop_after = args.stop_after.as_deref().map(|token| position(&passes, token)).transpose()?;
    options.rewrite_limit = args.rewrite_limit;
    options.time = args.time;
    options.verify = args.verify;
    let report = match catch(|| run_passes(&passes, &mut module, &options, &mut Dumps)) {
        Err(panic) => {
            writeln!(
                out,
                "a phase panics: {panic}\n`oriole check {}{}` names it",
                args.file.display(),
                given.replay()
            )?;
            return Ok(Status::Found);
        }
        Ok(Ok(report)) => report,
        Ok(Err(PipelineError::UnknownPhase(error))) => return Err(unknown_phase(error)),
        Ok(Err(error)) => {
            writeln!(out, "{error}")?;
            return Ok(Status::Found);
        }
    };
    // A limit on changes may keep a fault out, as it is meant to in a bisection.
    if args.rewrite_limit.is_none() {
        planted.extend(report.passes.iter().map(|pass| (StepId::Pass(pass.id), pass.statistics.clone())));
        args.scope.require_made(&planted)?;
    }
    if args.scope.passes.is_some() {
        say_what_did_not_run(&report);
    }
    if let Some(set) = &options.rules {
        let mut text = Vec::new();
        rule_uses::text(&mut text, &rule_uses::uses(set, report.passes.iter().map(|pass| &pass.statistics)))?;
        drop(io::stderr().write_all(&text));
    }
    if args.time {
        let mut text = Vec::new();
        times(&report, &mut text)?;
        drop(io::stderr().write_all(&text));
    }
    write_module(args, &module, out)?;
    Ok(Status::Clean)
}

/// Warns on standard error, with a line for each function that has such registers, and one for each of them.
fn warn_uninitialized(module: &Module) {
    for func in module.functions.values().filter(|func| func.is_definition()) {
        let cfg = Cfg::new(func);
        let found = Uninitialized::find(func, &cfg, &Liveness::solve(func, &cfg));
        if found.is_empty() {
            continue;
        }
        let mut text =
            format!("warning: Found {} potentially uninitialized register(s) in function {}\n", found.len(), func.name);
        for Uninitialized { reg, line, is_defined_elsewhere } in found {
            let place = if line == 0 { String::new() } else { format!(" in line {line}") };
            let why = if is_defined_elsewhere { "not defined on every path there" } else { "defined on no path there" };
            text += &format!("  %{}{}, read{place}: {why}\n", func.regs()[reg].prefix(), reg.as_u32());
        }
        // A closed standard error takes no warnings; the optimized kernel is still wanted.
        drop(io::stderr().write_all(text.as_bytes()));
    }
}

/// Says on standard error which of the passes that were asked for did not run.
fn say_what_did_not_run(report: &Report) {
    for pass in &report.passes {
        if let Some(reason) = pass.skipped {
            drop(writeln!(io::stderr(), "{} did not run: {reason}", pass.id));
        }
    }
}

fn write_module(args: &Args, module: &Module, out: &mut dyn Write) -> Result<(), Failure> {
    let text = match language(args) {
        Emit::Ori => module.to_string(),
        Emit::Ptx => write_ptx(module).map_err(|error| {
            let help = "`--emit ori` prints every module";
            Failure::Input(miette!(help = help, "`{}` cannot be printed as PTX: {error}", args.file.display()))
        })?,
    };
    match &args.output {
        None => Ok(out.write_all(text.as_bytes())?),
        Some(path) => fs::write(path, text).map_err(|error| {
            Failure::Input(miette!(help = "name another file with -o", "cannot write `{}`: {error}", path.display()))
        }),
    }
}

fn language(args: &Args) -> Emit {
    let named = args.output.as_deref().and_then(Language::of).or_else(|| Language::of(&args.file));
    args.emit.unwrap_or(if named == Some(Language::Ori) { Emit::Ori } else { Emit::Ptx })
}

/// What each phase did, and how long it took; then how long the rewrite rules took to become ready.
fn times(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&["phase", "changed", ">before", ">after", ">rewrites", ">us"]);
    for pass in report.passes.iter().filter(|pass| pass.skipped.is_none()) {
        table.row([
            pass.id.to_string(),
            if pass.changed.is_yes() { "yes" } else { "no" }.to_owned(),
            pass.insts_before.to_string(),
            pass.insts_after.to_string(),
            pass.rewrites.to_string(),
            pass.time.map_or(0, |time| time.as_micros()).to_string(),
        ]);
    }
    let rules: Duration = report.passes.iter().filter_map(|pass| pass.rules_time).sum();
    table.row(["rules", "", "", "", "", &rules.as_micros().to_string()].map(str::to_owned));
    table.print(out)
}
