//! `oriole bisect`: from a failing case to the phase, and to the single change.

use std::io::Write;
use std::path::PathBuf;

use oriole_optimizer::ir::Module;
use oriole_optimizer::pipeline::runner::{Options, default_phases};
use oriole_oracles::check::report::{Finding, Rewrite};
use oriole_oracles::check::whole::{self, WholeFinding};
use oriole_oracles::check::{CheckOptions, check_module};
use oriole_oracles::input::{Language, into_ssa, launches_for, read_kernel};

use crate::failure::{Failure, Status};
use crate::settings::{Planting, RuleFiles, Settings, check_failure, selected};

/// Finds the phase and the single change that make a kernel go wrong
///
/// Each phase runs with leave for fewer and fewer changes until one change decides. Where no phase is wrong alone but the
/// whole pipeline is, the changes of all phases are counted together. Exit code 0 when nothing is wrong, 1 when
/// something is, 2 on bad input.
#[derive(clap::Args)]
pub struct Args {
    /// The kernel: a .ptx or .ori file
    file: PathBuf,
    /// A launch file, instead of those beside the kernel
    #[arg(long, value_name = "FILE")]
    launch: Vec<PathBuf>,
    /// Look at this phase alone
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    /// The seed of the random data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Variants with random data for each launch
    #[arg(long, value_name = "N", default_value_t = 2)]
    randoms: u32,
    /// Where the kernel before the guilty phase is written
    #[arg(long, value_name = "FOLDER", default_value = "oriole-findings")]
    out: PathBuf,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    planting: Planting,
    #[command(flatten)]
    rules: RuleFiles,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let mut module = read_kernel(&args.file)?;
    let launches = launches_for(&args.file, &args.launch)?;
    let options = options(args)?;
    let name = args.file.display().to_string();
    let failed = |error| check_failure(&name, &error);
    let report = check_module(&name, &module, &launches, &options).map_err(failed)?;
    for finding in &report.findings {
        show(out, finding)?;
    }
    if !report.findings.is_empty() {
        return Ok(Status::Found);
    }
    into_ssa(&mut module);
    if args.phase.is_none()
        && let Some(finding) = whole::bisect(&name, &module, &launches, &options).map_err(failed)?
    {
        show_whole(out, &name, &(args.settings.replay() + &args.rules.replay()), &finding)?;
        return Ok(Status::Found);
    }
    let silent = report.cases.iter().filter(|case| case.outcome != "finished").count();
    writeln!(out, "nothing is wrong: {} cases, {silent} of which say nothing", report.cases.len())?;
    Ok(Status::Clean)
}

fn options(args: &Args) -> Result<CheckOptions, Failure> {
    let mut phases = default_phases();
    if let Some(token) = &args.phase {
        phases = selected(&phases, token)?.into_iter().map(|at| phases[at]).collect();
    }
    args.planting.plant(&mut phases);
    Ok(CheckOptions {
        phases,
        pipeline: Options { rules: args.rules.load()?, ..args.settings.options(&Module::default())? },
        randoms: args.randoms,
        seed: args.seed,
        round_trip: Language::of(&args.file) == Some(Language::Ptx) && args.phase.is_none(),
        out: Some(args.out.clone()),
        replay: args.settings.replay() + &args.planting.replay() + &args.rules.replay(),
        ..CheckOptions::default()
    })
}

fn show(out: &mut dyn Write, finding: &Finding) -> Result<(), Failure> {
    let Finding { phase, verdict, case, detail, replay, .. } = finding;
    let number = default_phases().iter().find(|entry| entry.name() == phase).and_then(|entry| entry.number());
    let number = number.map_or(String::new(), |number| format!(" (phase {number})"));
    writeln!(out, "{verdict} in {phase}{number}, {case}\n  {detail}")?;
    match &finding.rewrite {
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
    let rule = rewrite.rule.as_deref().unwrap_or("no named rule");
    let function = rewrite.function.as_ref().map_or(String::new(), |name| format!(" in function `{name}`"));
    writeln!(out, "  change {} ({rule}){function}", rewrite.index)?;
    rewrite.diff.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
    Ok(())
}

fn show_whole(out: &mut dyn Write, name: &str, replay: &str, finding: &WholeFinding) -> Result<(), Failure> {
    writeln!(out, "no phase is wrong alone, the whole pipeline is\n  {}", finding.detail)?;
    if let Some(rewrite) = &finding.rewrite {
        writeln!(out, "  in {}", finding.phase.unwrap_or("a phase without counted changes"))?;
        show_rewrite(out, rewrite)?;
        for (word, limit) in [("right", rewrite.index - 1), ("wrong", rewrite.index)] {
            writeln!(out, "  {word}: oriole opt {name}{replay} --rewrite-limit {limit} -o {word}.ptx")?;
        }
    }
    Ok(())
}
