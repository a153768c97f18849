//! `oriole fuzz`: replays the corpus, then checks generated kernels until time or cases are up.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use miette::miette;
use oriole_optimizer::ir::Module;
use oriole_optimizer::pipeline::runner::default_phases;
use oriole_oracles::campaign::target::Target;
use oriole_oracles::campaign::{self, Options, Tally, TargetTally};
use oriole_oracles::check::report::Finding;
use oriole_oracles::check::{CheckOptions, check_module};
use oriole_oracles::generate::Config;
use oriole_oracles::generate::mutate::Corpus;
use oriole_oracles::input::{launches_for, read_kernel};
use rayon::prelude::*;

use crate::check::kernels;
use crate::failure::{Failure, Status};
use crate::settings::{Planting, Settings, check_failure};

/// Generates kernels and checks every phase on each
///
/// First the kernels of the corpus are checked, then generated ones: they are valid, end, and store all they compute. Case
/// N of a seed and a --target is the same kernel whatever --jobs and --shard say. Each finding has a reproducer and the command that
/// replays it. Exit code 0 when all is well, 1 on a finding, 2 on bad input.
#[derive(clap::Args)]
pub struct Args {
    /// Stop after so long: 90, 60s, 10m, 2h; without --time and --cases after 60s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    /// Stop after so many cases, over all shards
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// The seed of the cases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Check this case alone, and write it out
    #[arg(long, value_name = "N", conflicts_with_all = ["cases", "time", "shard"])]
    case: Option<u64>,
    /// The kinds of cases, several with commas between them; all by default
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = targets())]
    target: Vec<Target>,
    /// Exit with 1 where an opcode was never generated, or a value of its fields never executed
    #[arg(long)]
    require_coverage: bool,
    /// Write which opcodes and field values were generated and executed, as JSON
    #[arg(long, value_name = "FILE")]
    coverage: Option<PathBuf>,
    /// Variants with random data for each launch
    #[arg(long, value_name = "N", default_value_t = 0)]
    randoms: u32,
    /// Print one generated case in so many as PTX and read it again; 0 for none, 1 for all
    #[arg(long, value_name = "N", default_value_t = 8)]
    round_trip_every: u64,
    /// Cases checked at the same time; by default as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    jobs: usize,
    /// Take every N-th case, from the K-th on, counted from 0
    #[arg(long, value_name = "K/N", value_parser = shard, default_value = "0/1")]
    shard: (u64, u64),
    /// Weights and ranges of the generator, as TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where reproducers are written
    #[arg(long, value_name = "FOLDER", default_value = "oriole-findings")]
    out: PathBuf,
    /// The corpus, of which `regress` and `kernels` are checked first; left out where there is none
    #[arg(long, value_name = "FOLDER", default_value = "corpus")]
    corpus: PathBuf,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    planting: Planting,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    let options = options(args)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.jobs).build();
    let pool = pool.map_err(|error| Failure::Output(std::io::Error::other(error)))?;
    if let Some(number) = args.case {
        return one(args, &options, number, out);
    }
    let (kernels, mut findings) = pool.install(|| replay(args, &options.check))?;
    writeln!(out, "{kernels} kernels of the corpus, {} findings", findings.len())?;
    out.flush()?;
    let bar = spinner();
    let start = Instant::now();
    let show = |tally: &Tally| bar.set_message(line(tally, start.elapsed()));
    let tally = pool.install(|| campaign::run(&options, show));
    bar.finish_and_clear();
    let mut tally = tally.map_err(|error| check_failure("the campaign", &error))?;
    findings.append(&mut tally.findings);
    report(out, args, &tally, &findings, start.elapsed())?;
    if let Some(path) = &args.coverage {
        let text = serde_json::to_string_pretty(&tally.coverage.summary()).map_err(std::io::Error::other)?;
        std::fs::write(path, text + "\n")?;
    }
    let covered = !args.require_coverage || tally.coverage.is_complete();
    Ok(if findings.is_empty() && covered { Status::Clean } else { Status::Found })
}

fn options(args: &Args) -> Result<Options, Failure> {
    let mut phases = default_phases();
    args.planting.plant(&mut phases);
    let check = CheckOptions {
        phases,
        pipeline: args.settings.options(&Module::default())?,
        randoms: args.randoms,
        out: Some(args.out.clone()),
        replay: args.settings.replay() + &args.planting.replay(),
        ..CheckOptions::default()
    };
    let config = config(args.config.as_deref())?;
    let unlimited = args.time.is_none() && args.cases.is_none();
    Ok(Options {
        seed: args.seed,
        cases: args.cases,
        time: args.time.or(unlimited.then_some(Duration::from_secs(60))),
        shard: args.shard,
        corpus: Arc::new(corpus(args, &config)),
        config,
        targets: args.target.clone(),
        check,
        round_trip_every: args.round_trip_every,
        vary: true,
    })
}

/// The kernels that mutants are made of, where mutants are wanted.
fn corpus(args: &Args, config: &Config) -> Corpus {
    let wanted = args.target.is_empty() || args.target.contains(&Target::Mutants);
    let folders = if wanted { vec![args.corpus.join("kernels"), args.corpus.join("regress")] } else { Vec::new() };
    Corpus::load(&folders, &config.mutants)
}

/// The targets as arguments, where they were chosen: what a case is depends on them.
fn chosen(args: &Args) -> String {
    let names: Vec<&str> = args.target.iter().map(|target| target.name()).collect();
    if names.is_empty() { String::new() } else { format!(" --target {}", names.join(",")) }
}

/// The names of targets, with what they are.
fn targets() -> impl clap::builder::TypedValueParser<Value = Target> {
    let values = Target::ALL.iter().map(|target| PossibleValue::new(target.name()).help(target.doc()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Target>())
}

/// The configuration of the generator in a file, or the default.
pub fn config(path: Option<&Path>) -> Result<Config, Failure> {
    let Some(path) = path else { return Ok(Config::default()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Input(miette!("cannot read `{}`: {error}", path.display())))?;
    toml::from_str(&text).map_err(|error| {
        let help = "every key stands in the documentation of `generate::config`, and may be absent";
        Failure::Input(miette!(help = help, "{}: {error}", path.display()))
    })
}

/// Checks the kernels of the corpus: how many there were, and what was found.
fn replay(args: &Args, check: &CheckOptions) -> Result<(usize, Vec<Finding>), Failure> {
    let folders: Vec<PathBuf> = ["regress", "kernels"].map(|folder| args.corpus.join(folder)).into();
    let there: Vec<PathBuf> = folders.into_iter().filter(|folder| folder.is_dir()).collect();
    let files = kernels(&there)?;
    let check = |file: &PathBuf| -> Result<Vec<Finding>, Failure> {
        let module = read_kernel(file)?;
        let name = file.display().to_string();
        let launches = launches_for(file, &[])?;
        let mut report =
            check_module(&name, &module, &launches, check).map_err(|error| check_failure(&name, &error))?;
        // What a kernel of the corpus must leave is known from elsewhere; nothing else judges the front end.
        let unexpected = report.unexpected(&module, &launches);
        report.findings.extend(unexpected);
        Ok(report.findings)
    };
    let findings: Vec<Vec<Finding>> = files.par_iter().map(check).collect::<Result<_, _>>()?;
    Ok((files.len(), findings.concat()))
}

/// Writes a case out and checks it.
fn one(args: &Args, options: &Options, number: u64, out: &mut dyn Write) -> Result<Status, Failure> {
    let name = campaign::case_name(args.seed, number);
    let generated = options.by_number().case(number).generated;
    std::fs::create_dir_all(&args.out)?;
    let path = args.out.join(format!("{name}.ori"));
    std::fs::write(&path, options.module_of(number, generated.module.clone()).to_string())?;
    for named in &generated.launches {
        named.launch.save(&args.out, &name).map_err(Failure::input)?;
    }
    writeln!(out, "{}", path.display())?;
    let check = options.check_of(number);
    let module = options.module_of(number, generated.module);
    let report = check_module(&name, &module, &generated.launches, &check);
    let report = report.map_err(|error| check_failure(&name, &error))?;
    for case in report.cases.iter().filter(|case| case.outcome != "finished") {
        writeln!(out, "{}: {}", case.name, case.detail)?;
    }
    report.findings.iter().try_for_each(|finding| show_finding(out, finding))?;
    Ok(if report.findings.is_empty() { Status::Clean } else { Status::Found })
}

fn line(tally: &Tally, time: Duration) -> String {
    let coverage = tally.coverage.summary();
    let percent = 100.0 * coverage.values as f64 / coverage.all_values.max(1) as f64;
    format!(
        "{} cases, {:.0} a second, {:.2} % valid, {} of {} opcodes, {percent:.1} % of their fields' values, \
         {} phases changed something, {} findings",
        tally.cases,
        tally.cases as f64 / time.as_secs_f64().max(0.001),
        tally.valid_percent(),
        coverage.rows,
        coverage.all_rows,
        tally.phases.len(),
        tally.findings.len()
    )
}

fn report(
    out: &mut dyn Write,
    args: &Args,
    tally: &Tally,
    findings: &[Finding],
    time: Duration,
) -> Result<(), Failure> {
    findings.iter().try_for_each(|finding| show_finding(out, finding))?;
    for (number, why) in &tally.silent {
        writeln!(out, "says nothing: {why}\n  oriole fuzz --seed {} --case {number}{}", args.seed, chosen(args))?;
    }
    for (target, TargetTally { cases, valid, dropped }) in &tally.targets {
        writeln!(out, "{target}: {cases} cases, {valid} finish, {dropped} dropped as they do not verify")?;
    }
    for (phase, count) in &tally.phases {
        writeln!(out, "{phase}: changed {count} kernels")?;
    }
    let coverage = tally.coverage.summary();
    for (what, names) in
        [("never generated", coverage.missing_rows.join(", ")), ("never executed", coverage.holes.join(", "))]
    {
        if !names.is_empty() {
            writeln!(out, "{what}: {names}")?;
        }
    }
    let mean = tally.instructions.checked_div(tally.cases).unwrap_or(0);
    writeln!(out, "{}, {mean} instructions a kernel, {:.1} s", line(tally, time), time.as_secs_f64())?;
    Ok(())
}

/// Prints a finding for people.
pub fn show_finding(out: &mut dyn Write, finding: &Finding) -> Result<(), Failure> {
    let Finding { kernel, phase, verdict, case, detail, replay, .. } = finding;
    writeln!(out, "{verdict} in {phase}: {kernel}, {case}\n  {detail}")?;
    if let Some(rewrite) = &finding.rewrite {
        let rule = rewrite.rule.as_deref().unwrap_or("no named rule");
        writeln!(out, "  rewrite {} ({rule})", rewrite.index)?;
        rewrite.diff.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
    }
    writeln!(out, "  {replay}")?;
    Ok(())
}

/// A spinner on standard error, if that is a terminal.
fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let bar = match ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Reads a time: a number of seconds, minutes or hours.
pub fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        unit => return Err(format!("`{unit}` is none of s, m, h")),
    };
    let number: u64 = digits.parse().map_err(|_| "a number of seconds, or with a unit: 60s, 10m, 2h".to_owned())?;
    number.checked_mul(factor).map(Duration::from_secs).ok_or_else(|| "that is too long".to_owned())
}

fn shard(text: &str) -> Result<(u64, u64), String> {
    let parts = text.split_once('/').and_then(|(shard, of)| Some((shard.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((shard, of)) if shard < of => Ok((shard, of)),
        _ => Err("a shard from 0 and their number, as 0/4".to_owned()),
    }
}
