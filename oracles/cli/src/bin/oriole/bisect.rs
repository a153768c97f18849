//! `oriole bisect`: from a failing case to the phase, and to the single change.

use std::io::Write;
use std::path::PathBuf;

use oriole_check::CheckOptions;
use oriole_check::compiled::Kernel;
use oriole_check::job::Job;
use oriole_check::judge::Verdict;
use oriole_check::report::{Finding, KernelReport, Rewrite};
use oriole_check::supervise::StepId;
use oriole_check::whole::{self, WholeFinding};
use oriole_optimizer::pipeline::table::PHASES;
use oriole_optimizer::ssa;
use schemars::JsonSchema;
use serde::Serialize;

use crate::axes::Generating;
use crate::check::{CodeOptions, of_own_code};
use crate::document::{self, Format};
use crate::failure::{Failure, Status};
use crate::numbers::{self, counted};
use crate::options::Given;
use crate::settings::{Patience, Reading, Scope, Subject, check_failure};

/// Finds the phase and the single change that make a kernel go wrong
///
/// Each phase runs with leave for fewer and fewer changes until one change decides. Where no phase is wrong alone but
/// the whole pipeline is, the changes of all phases are counted together. With --machine or --cubin the phases run over
/// machine code, as in `check`. With --compile it is the stage of Oriole's own compiler that is found: passes with
/// their change, expansion, selection, layout, macro-expansion, ordering, allocation, reordering, scheduling or
/// encoding. Exit code 0 when nothing is wrong, 1 when something is, 2 on bad input.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    reading: Reading,
    /// The seed of the random data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Variants with random data for each launch
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = numbers::randoms())]
    randoms: u32,
    /// Where the kernel before the guilty phase is written
    #[arg(long, value_name = "FOLDER", default_value = "oriole-findings")]
    out: PathBuf,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    code: CodeOptions,
    #[command(flatten)]
    generating: Generating,
    #[command(flatten)]
    patience: Patience,
}

/// The JSON of `bisect`.
#[derive(JsonSchema, Serialize)]
pub struct Document {
    /// What single steps do wrong.
    findings: Vec<Finding>,
    /// What the whole pipeline does wrong, where no phase is wrong alone.
    whole: Option<Whole>,
    /// Launches and variants that were executed.
    cases: usize,
    /// Those of them on which the original itself does not say what should happen.
    inconclusive: usize,
}

impl document::Document for Document {
    const COMMAND: &'static str = "bisect";
}

/// What the whole pipeline does wrong.
#[derive(JsonSchema, Serialize)]
struct Whole {
    /// What differs, which rule is broken, or the panic's message.
    detail: String,
    /// The phase that makes the guilty change; null where it is wrong without any counted change.
    phase: Option<String>,
    /// The change, numbered over all phases.
    rewrite: Option<Rewrite>,
}

/// Runs the command.
pub fn run(args: &Args, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
    let Args { subject, reading, seed, randoms, .. } = args;
    let (name, module, launches) = (subject.name(), reading.kernel(&subject.file)?, subject.launches()?);
    let check = if args.code.is_asked() { Scope::check_code } else { Scope::check };
    let check = check(&subject.scope, &subject.file, given)?;
    let options = CheckOptions { randoms: *randoms, seed: *seed, out: Some(args.out.clone()), ..check };
    if args.code.is_asked() {
        let reports = args.code.reports(&subject.file, module, launches, &options, args.patience.hang_after)?;
        return code(args, reports, out);
    }
    if args.generating.is_asked() {
        let compiler = args.generating.compiler(args.patience.hang_after, true)?;
        let report = of_own_code(&compiler, Kernel { name, module, launches }, &options)?;
        return code(args, vec![report], out);
    }
    let failed = |error| check_failure(&name, &error);
    let mut job = Job { name: name.clone(), module, launches, options };
    let report = job.check(args.patience.hang_after).map_err(failed)?;
    let mut whole = None;
    if report.findings.is_empty() {
        subject.scope.require_planted([&report])?;
        ssa::construct_module(&mut job.module);
        if subject.scope.is_whole() {
            whole = whole::bisect(&name, &job.module, &job.launches, &job.options).map_err(failed)?;
        }
    }
    let (cases, inconclusive) = (report.cases.len(), report.inconclusive());
    let is_clean = report.findings.is_empty() && whole.is_none();
    match (args.format, &whole) {
        (Format::Json, _) => {
            let whole = whole.map(|WholeFinding { detail, pass, rewrite }| {
                let phase = pass.map(|pass| pass.to_string());
                Whole { detail, phase, rewrite }
            });
            document::print(out, &Document { findings: report.findings, whole, cases, inconclusive })?;
        }
        (Format::Text, Some(finding)) => show_whole(out, &name, &given.replay(), finding)?,
        (Format::Text, None) if is_clean => {
            writeln!(out, "nothing is wrong: {}, {inconclusive} of which inconclusive", counted(cases, "case"))?;
        }
        (Format::Text, None) => report.findings.iter().try_for_each(|finding| show(out, finding))?,
    }
    Ok(if is_clean { Status::Clean } else { Status::Found })
}

/// Shows what phases do wrong with code.
fn code(args: &Args, reports: Vec<KernelReport>, out: &mut dyn Write) -> Result<Status, Failure> {
    args.subject.scope.require_planted(&reports)?;
    let cases = reports.iter().map(|report| report.cases.len()).sum();
    let inconclusive = reports.iter().map(KernelReport::inconclusive).sum();
    let findings: Vec<Finding> = reports.into_iter().flat_map(|report| report.findings).collect();
    let is_clean = findings.is_empty();
    match args.format {
        Format::Json => document::print(out, &Document { findings, whole: None, cases, inconclusive })?,
        Format::Text if is_clean => {
            writeln!(out, "nothing is wrong: {}, {inconclusive} of which inconclusive", counted(cases, "case"))?;
        }
        Format::Text => findings.iter().try_for_each(|finding| show(out, finding))?,
    }
    Ok(if is_clean { Status::Clean } else { Status::Found })
}

fn show(out: &mut dyn Write, finding: &Finding) -> Result<(), Failure> {
    let Finding { phase, verdict, case, detail, replay, .. } = finding;
    let number = PHASES.iter().find(|row| StepId::first(row.name) == *phase).and_then(|row| row.number);
    let number = number.map_or(String::new(), |number| format!(" (phase {number})"));
    writeln!(out, "{} in {phase}{number}, {case}\n  {detail}", verdict.name())?;
    match &finding.rewrite {
        None if matches!(verdict, Verdict::Hangs(_)) || !finding.axes.is_empty() => writeln!(out, "  {replay}")?,
        Some(rewrite) if phase.is_own_compilation() => {
            show_rewrite(out, rewrite)?;
            writeln!(out, "  {replay}")?;
        }
        None if finding.text.is_some() => writeln!(out, "  it is misread as it is printed\n  {replay}")?,
        Some(rewrite) if *phase == StepId::PtxRoundTrip => {
            show_rewrite(out, rewrite)?;
            writeln!(out, "  {replay}")?;
        }
        None => writeln!(out, "  wrong without any counted change\n  {replay}")?,
        Some(rewrite) => {
            show_rewrite(out, rewrite)?;
            writeln!(out, "  right: {replay} --rewrite-limit {}", rewrite.index - 1)?;
            writeln!(out, "  wrong: {replay} --rewrite-limit {}", rewrite.index)?;
        }
    }
    Ok(())
}

fn show_rewrite(out: &mut dyn Write, rewrite: &Rewrite) -> Result<(), Failure> {
    let function = rewrite.function.as_ref().map_or(String::new(), |name| format!(" in function `{name}`"));
    writeln!(out, "  change {} ({}){function}", rewrite.index, rewrite.cause())?;
    rewrite.diff.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
    Ok(())
}

fn show_whole(out: &mut dyn Write, name: &str, replay: &str, finding: &WholeFinding) -> Result<(), Failure> {
    writeln!(out, "no phase is wrong alone, the whole pipeline is\n  {}", finding.detail)?;
    if let Some(rewrite) = &finding.rewrite {
        let pass = finding.pass.map_or("a pass without counted changes".to_owned(), |pass| pass.to_string());
        writeln!(out, "  in {pass}")?;
        show_rewrite(out, rewrite)?;
        for (word, limit) in [("right", rewrite.index - 1), ("wrong", rewrite.index)] {
            writeln!(out, "  {word}: oriole opt {name}{replay} --rewrite-limit {limit} -o {word}.ptx")?;
        }
    }
    Ok(())
}
