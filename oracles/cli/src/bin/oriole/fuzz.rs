//! `oriole fuzz`: replays the corpus, then checks generated kernels until time or cases are up.

mod compiler;
mod report;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use miette::miette;
use oriole_campaign::canary::{self, Sighting};
use oriole_campaign::export::export;
use oriole_campaign::miscompiles;
use oriole_campaign::record::family_of;
use oriole_campaign::replay::Replay;
use oriole_campaign::store::claim::Start;
use oriole_campaign::store::life;
use oriole_campaign::store::{Store, Stored};
use oriole_campaign::target::Target;
use oriole_campaign::{CampaignError, Glance, Options, Summary, Vary};
use oriole_check::compiled::{Compiler, Kernel};
use oriole_check::input::launches_for;
use oriole_check::job::Job;
use oriole_check::report::{Finding, KernelReport};
use oriole_check::{CheckOptions, reduce};
use oriole_generate::Config;
use oriole_generate::insts::Family;
use oriole_generate::mutate::Corpus;
use oriole_generate::patterns::Patterns;
use oriole_ir::Module;
use oriole_optimizer::peephole::RuleSet;
use rayon::prelude::*;

use crate::axes::{Compiling, Generating, arch, second_reader};
use crate::document::{self, ReportFormat};
use crate::failure::{Failure, Status};
use crate::findings::{reproducers, retain_new};
use crate::folders::kernels;
use crate::generator::{self, config};
use crate::live::{Live, remark, stop_on_signal};
use crate::numbers::counted;
use crate::numbers::{self, duration};
use crate::options::Given;
use crate::selection;
use crate::settings::{Patience, Planting, Settings, check_failure};
use compiler::Chosen;
pub use report::{Case, Report};
use report::{Context, Samples};

/// The store's file in the folder of findings.
pub const STORE: &str = "findings.db";
/// How long the reduction of one finding may take; most end within two seconds.
const REDUCTION: Duration = Duration::from_secs(20);
/// Of the kernels that make the round trip, one in so many is also read by ptxas, where there is one.
const SECOND_READER_EVERY: u64 = 32;

/// Generates kernels and checks every phase on each
///
/// First the kernels of the corpus are checked, within half of --time, then generated ones: they are valid, end, and
/// store all they compute. Case N of a seed and a --target is the same kernel whatever --jobs and --shard say. Findings
/// are bisected, reduced and kept in the store `findings.db` of the --out folder (see `oriole findings`), one for each
/// bug as far as that can be told. A campaign that was interrupted, or killed, goes on with --resume. Exit code 0 when
/// all is well, 1 on a finding, 2 on bad input and where a --fault was never planted, 3 where the campaign did too
/// little (--floor, --canary).
///
/// With --machine the kernels are compiled by ptxas, and the phases run over its code, as in `check --machine`. With
/// --compile Oriole's own compiler is judged by them.
#[derive(clap::Args)]
pub struct Args {
    /// Stop after so long: 90, 60s, 10m, 2h; without --time and --cases after 60s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    /// Stop after so many cases, over all shards
    #[arg(long, value_name = "N", value_parser = numbers::cases())]
    cases: Option<u64>,
    /// The seed of the cases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Check this case alone, and write it out
    #[arg(long, value_name = "N", conflicts_with_all = ["cases", "time", "shard"])]
    case: Option<u64>,
    /// The kinds of cases, several with commas between them; ptxas is no kind, but who is judged by them
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = Chosen::parser(),
        default_values_t = Chosen::all())]
    target: Vec<Chosen>,
    /// Check phases over the machine code that ptxas makes of each kernel for these architectures: those of `opt
    /// --machine`, unless --passes names others
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = arch)]
    machine: Vec<String>,
    #[command(flatten)]
    compiling: Compiling,
    #[command(flatten)]
    generating: Generating,
    /// Exit with 1 where an opcode was never generated, or a value of its fields never executed
    #[arg(long)]
    require_coverage: bool,
    /// Exit with 1 where a rewrite rule never applied; with --rules, one of that file
    #[arg(long)]
    require_rules: bool,
    /// Write which opcodes and field values were generated and executed, as JSON
    #[arg(long, value_name = "FILE")]
    coverage: Option<PathBuf>,
    /// Run these phases alone, named as in `check --phase`; without SSA destruction and the PTX round trip
    #[arg(long, value_name = "PHASE,...", value_delimiter = ',')]
    phases: Vec<String>,
    /// Continue where the store says that this campaign (same seed, shard and options) stopped
    #[arg(long, conflicts_with = "case")]
    resume: bool,
    /// Begin anew, though the store says that this campaign was interrupted: what it has done is discarded
    #[arg(long, conflicts_with_all = ["case", "resume"])]
    anew: bool,
    /// Exit with 3 where this run executes fewer cases to their end
    #[arg(long, value_name = "N")]
    floor: Option<u64>,
    /// First plant a known fault, and exit with 3 unless it is found and blamed within 60 seconds
    #[arg(long, conflicts_with = "case")]
    canary: bool,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Report only findings that this store does not know, or calls fixed; only they are exit code 1
    #[arg(long, value_name = "FILE", conflicts_with = "case")]
    baseline: Option<PathBuf>,
    /// Variants with random data for each launch
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::randoms())]
    randoms: u32,
    /// Print one generated case in so many as PTX and read it again, in another spelling; 0 for none, 1 for all
    #[arg(long, value_name = "N", default_value_t = 4)]
    round_trip_every: u64,
    /// Set every knob to both of its ends in some cases, alone and together with others
    #[arg(long)]
    vary_knobs: bool,
    /// Cases checked at the same time; by default as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::jobs())]
    jobs: usize,
    /// Take every N-th case, from the K-th on, counted from 0
    #[arg(long, value_name = "K/N", value_parser = shard, default_value = "0/1")]
    shard: (u64, u64),
    /// Weights and ranges of the generator, as TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the generator's configuration with the reason of every setting, and end
    #[arg(long)]
    print_config: bool,
    /// Where the store and the reproducers are written
    #[arg(long, value_name = "FOLDER", default_value = "oriole-findings")]
    out: PathBuf,
    /// The corpus, of which `regress` and `kernels` are checked first; left out where there is none
    #[arg(long, value_name = "FOLDER", default_value = "corpus")]
    corpus: PathBuf,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    planting: Planting,
    #[command(flatten)]
    patience: Patience,
}

/// Runs the command.
pub fn run(args: &Args, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
    let options = options(args, given)?;
    if args.print_config {
        out.write_all(generator::explained(&options.config).as_bytes())?;
        return Ok(Status::Clean);
    }
    let pool = numbers::pool(args.jobs)?;
    if let Some(number) = args.case {
        if args.format == ReportFormat::Html {
            let help = "write the case out without it, and give the file to `oriole explain`";
            return Err(Failure::Input(miette!(help = help, "--format html is for campaigns, and one case is none")));
        }
        return one(args, &options, number, out);
    }
    let store = Store::open_or_create(&args.out.join(STORE)).map_err(Failure::input)?;
    let campaign = options.identity();
    let start = match (args.resume, args.anew) {
        (true, _) => Start::Resumed,
        (_, true) => Start::Anew,
        _ => Start::Fresh,
    };
    // Held to the end of the command.
    let _claim = store.claim(&campaign, start).map_err(Failure::input)?;
    if args.resume && store.progress(&campaign).map_err(Failure::input)?.is_none() {
        say_what_is_not_resumed(&options, &store)?;
    }
    stop_on_signal(options.stop.clone())?;
    let begin = life::Sighting::now().time;
    // The canary runs first: a campaign that cannot find a known fault is not worth its time.
    if args.canary && !pool.install(|| canary_is_found(&options))? {
        return Ok(Status::TooLittle);
    }
    let mut replay = Replay::new(&options);
    let (kernels, found) = pool.install(|| replay_corpus(args, &replay))?;
    // Findings of the corpus are saved before the campaign begins, so that a kill loses none.
    let (mut store, mut met) =
        replay.save(store, (kernels - replay.left_out()) as u64, found).map_err(campaign_failure)?;
    let kernels = kernels - replay.left_out();
    let findings = counted(met.len(), "finding");
    remark(format_args!("{} of the corpus, {findings}", counted(kernels, "kernel")));
    if replay.left_out() > 0 {
        let left_out = counted(replay.left_out(), "more kernel");
        remark(format_args!("half of the time was up: left out of the corpus: {left_out}"));
    }
    store.begin_run(begin).map_err(Failure::input)?;
    let live = Live::new();
    let rest = Options { time: replay.rest(), ..options.clone() };
    let samples = Samples::default();
    let watch = |glance: Glance<'_>| {
        samples.add(&glance);
        report::show(&live, glance);
    };
    let summary = pool.install(|| oriole_campaign::run(&rest, store, watch));
    let time = live.finish();
    let mut summary = summary.map_err(campaign_failure)?;
    // A campaign mostly meets the same bugs on smaller kernels and has reduced them by now.
    pool.install(|| replay.reduce(&mut summary.store)).map_err(campaign_failure)?;
    for step in &summary.left_out {
        remark(format_args!("{step} did not end, or took memory without end, too often; it was left out"));
    }
    if summary.given_up >= oriole_campaign::MOST_GIVEN_UP {
        let many = counted(summary.given_up, "time");
        remark(format_args!("{many} a phase did not end and kept its thread; the campaign ended early"));
    }
    miscompiles::label(&mut summary.store, &args.corpus.join("miscompiles")).map_err(Failure::input)?;
    met.extend(summary.hits.iter().map(|(id, _)| id.clone()));
    let mut findings = exported(&summary, &met, &args.out)?;
    if let Some(baseline) = &args.baseline {
        retain_new(&mut findings, baseline)?;
    }
    let context = Context {
        seed: args.seed,
        shard: args.shard,
        floor: args.floor,
        time,
        corpus_kernels: kernels,
        interrupted: options.stop.load(Ordering::Relaxed),
        arguments: options.arguments.clone(),
        findings,
        samples: samples.into_list(),
        at_length: args.require_coverage || args.require_rules,
        is_code: !args.machine.is_empty(),
    };
    let rules = options.check.pipeline.rules.clone().unwrap_or_else(RuleSet::builtin);
    let report = Report::new(&summary, &rules, context);
    match args.format {
        ReportFormat::Text => report.text(out)?,
        ReportFormat::Json => document::print(out, &report)?,
        ReportFormat::Html => document::print_page(out, &report, &reproducers(&summary.store, report.findings())?)?,
    }
    if let Some(path) = &args.coverage {
        let coverage = summary.progress.tally.coverage.summary();
        let text = serde_json::to_string_pretty(&coverage).map_err(std::io::Error::other)?;
        std::fs::write(path, text + "\n")?;
    }
    let tally = &summary.progress.tally;
    args.planting.require(|fault| {
        let fault = fault.to_string();
        tally.planted.contains_key(&fault) || replay.has_planted(&fault)
    })?;
    let fired = !args.require_rules || report.has_applied_rules();
    conclude(args, &summary, !report.has_found() && fired)
}

/// Says why a campaign begins at its first case though it was to continue.
fn say_what_is_not_resumed(options: &Options, store: &Store) -> Result<(), Failure> {
    let known = store.campaigns().map_err(Failure::input)?;
    let own = options.identity_of_any_build();
    let why = if known.iter().any(|identity| identity.starts_with(&own)) {
        "another build of oriole has done its cases, and this one may find what that one missed"
    } else {
        "no such campaign (seed, shard, options) in the store"
    };
    remark(format_args!("nothing to resume: {why}"));
    Ok(())
}

/// How the command ends: a finding comes before a floor that was missed.
fn conclude(args: &Args, summary: &Summary, clean: bool) -> Result<Status, Failure> {
    let short = args.floor.filter(|floor| summary.valid < *floor);
    if let Some(floor) = short {
        let (executed, what) = (counted(summary.valid, "case"), "the campaign does not do its work");
        let verb = if summary.valid == 1 { "was" } else { "were" };
        writeln!(std::io::stderr(), "{executed} {verb} executed, at least {floor} are demanded: {what}")?;
    }
    let covered = !args.require_coverage || summary.progress.tally.coverage.is_complete();
    Ok(match (clean && covered, short) {
        (false, _) => Status::Found,
        (true, Some(_)) => Status::TooLittle,
        (true, None) => Status::Clean,
    })
}

/// Plants a fault and looks whether a campaign like this one finds it.
fn canary_is_found(options: &Options) -> Result<bool, Failure> {
    let sighting = canary::watch(options).map_err(campaign_failure)?;
    let mut err = std::io::stderr();
    let limit = canary::LIMIT.as_secs();
    match &sighting {
        Sighting::Found { cases, time } => {
            let seconds = time.as_secs_f64();
            writeln!(
                err,
                "canary: a planted fault was found and blamed after {cases}, {seconds:.1} s",
                cases = counted(cases, "case")
            )?;
        }
        Sighting::Missed { cases } => {
            let cases = counted(cases, "case");
            writeln!(err, "canary: a planted fault was not found in {cases} and {limit} s; this campaign is blind")?;
        }
        Sighting::Misblamed { planted, blamed } => {
            writeln!(err, "canary: a fault planted in {planted} was blamed on {blamed}")?;
        }
    }
    Ok(matches!(sighting, Sighting::Found { .. }))
}

/// The findings of the store that were met, written out beside it.
fn exported(summary: &Summary, met: &[String], folder: &Path) -> Result<Vec<Stored>, Failure> {
    let mut findings = summary.store.findings().map_err(Failure::input)?;
    let is_there = |id: &String| findings.iter().any(|stored| stored.id == *id);
    // What was met on the corpus may have become a variant since.
    let moved: Vec<&str> = met.iter().filter(|id| !is_there(id)).map(|id| family_of(id)).collect();
    findings.retain(|stored| met.contains(&stored.id) || moved.contains(&family_of(&stored.id)));
    for stored in &findings {
        export(&summary.store, stored, folder).map_err(Failure::input)?;
    }
    Ok(findings)
}

fn campaign_failure(error: CampaignError) -> Failure {
    match error {
        CampaignError::Check(error) => check_failure("the campaign", &error),
        CampaignError::Store(error) => Failure::input(error),
        CampaignError::Compiler(error) => Failure::Input(miette!("{error}")),
        CampaignError::Thread(error) => Failure::Output(std::io::Error::other(error)),
    }
}

/// What the campaign does.
pub fn options(args: &Args, given: &Given) -> Result<Options, Failure> {
    let is_code = !args.machine.is_empty();
    let mut passes = if is_code { args.settings.passes.over_code()? } else { args.settings.passes.pipeline()? };
    args.planting.plant(&mut passes);
    let settings = args.settings.options(&Module::default())?;
    if args.phases.is_empty() {
        selection::require_some(&passes, &settings)?;
    } else {
        passes = selection::keep(&passes, &args.phases, &settings)?;
    }
    let check = CheckOptions {
        passes,
        pipeline: settings,
        randoms: args.randoms,
        destruction: args.phases.is_empty() && !is_code,
        round_trip: args.phases.is_empty() && !is_code,
        second_reader: second_reader(SECOND_READER_EVERY).filter(|_| !is_code),
        faults: args.planting.faults(),
        replay: given.replay(),
        ..CheckOptions::default()
    };
    let patience = args.patience.hang_after;
    let whose = (&args.compiling, &args.generating);
    let compiler = compiler::compiler(whose, &args.target, &args.machine, patience)?;
    let mut config = generated(args.config.as_deref(), compiler.as_deref())?;
    if let Some(rules) = &check.pipeline.rules {
        config.patterns = Patterns::new(rules.sources(), rules.rules());
    }
    let unlimited = args.time.is_none() && args.cases.is_none();
    Ok(Options {
        seed: args.seed,
        cases: args.cases,
        time: args.time.or(unlimited.then_some(Duration::from_secs(60))),
        shard: args.shard,
        corpus: Arc::new(corpus(args, &config)),
        config,
        targets: Chosen::kinds(&args.target),
        round_trip_every: args.round_trip_every,
        vary: match (&compiler, args.vary_knobs) {
            (Some(_), _) => Vary::Nothing,
            (None, true) => Vary::Knobs,
            (None, false) => Vary::Some,
        },
        reduce: Some(reduce::Options { time: REDUCTION, ..reduce::Options::default() }),
        resume: args.resume,
        hang_after: args.patience.hang_after,
        first_finding: false,
        stop: Arc::default(),
        arguments: given.replay_case(),
        check,
        compiler,
    })
}

/// The configuration of the generator: for a compiler, kernels that it takes.
pub fn generated(file: Option<&Path>, compiler: Option<&Compiler>) -> Result<Config, Failure> {
    let Some(compiler) = compiler else { return config(file, Config::default()) };
    let mut config = config(file, Config::for_compilers())?;
    config.virtual_form = 100;
    config.leave_out(&Family::not_compiled(compiler.axes.iter().map(|axis| axis.arch.as_str())));
    Ok(config)
}

/// The kernels that mutants are made of, where mutants are wanted.
fn corpus(args: &Args, config: &Config) -> Corpus {
    let wanted = args.target.contains(&Chosen::Kind(Target::Mutants));
    let folders = if wanted { vec![args.corpus.join("kernels"), args.corpus.join("regress")] } else { Vec::new() };
    oriole_check::kernels::corpus(&folders, &config.mutants)
}

/// Checks the kernels of the corpus: how many there are, and what was found.
fn replay_corpus(args: &Args, replay: &Replay<'_>) -> Result<(usize, Vec<Finding>), Failure> {
    let folders: Vec<PathBuf> = ["regress", "kernels"].map(|folder| args.corpus.join(folder)).into();
    // The corpus checks our own steps; what a compiler makes of it is for `oriole judge` and `oriole check --machine`.
    let is_compiled = args.target.contains(&Chosen::Ptxas) || !args.machine.is_empty() || args.generating.is_asked();
    let wanted = |folder: &PathBuf| folder.is_dir() && !is_compiled;
    let there: Vec<PathBuf> = folders.into_iter().filter(wanted).collect();
    let files = kernels(&there)?;
    let check = |file: &PathBuf| -> Result<Vec<Finding>, Failure> {
        let name = file.display().to_string();
        if replay.hangs() {
            return Ok(Vec::new());
        }
        let module = match replay.read(file)? {
            Ok(module) => module,
            Err(finding) => return Ok(vec![finding]),
        };
        replay.check(name.clone(), module, launches_for(file, &[])?).map_err(|error| check_failure(&name, &error))
    };
    let checked: Vec<Result<Vec<Finding>, Failure>> = files.par_iter().map(check).collect();
    let (mut findings, mut failures) = (Vec::new(), Vec::new());
    for result in checked {
        match result {
            Ok(found) => findings.extend(found),
            Err(failure) => failures.push(failure),
        }
    }
    if findings.is_empty()
        && let Some(failure) = failures.pop()
    {
        return Err(failure);
    }
    if replay.hangs() {
        remark("steps do not end; kernels of the corpus are left out");
    }
    // What the findings are about may be the reason.
    failures.iter().for_each(|failure| _ = failure.report());
    Ok((files.len(), findings))
}

/// Writes a case out and checks it.
fn one(args: &Args, options: &Options, number: u64, out: &mut dyn Write) -> Result<Status, Failure> {
    let name = oriole_campaign::case_name(args.seed, number);
    let made = options.by_number().sound_within(number, options.hang_after);
    let generated = made.map_err(|why| Failure::Input(miette!("{name} is no valid module: {why}")))?.generated;
    std::fs::create_dir_all(&args.out)?;
    let module = options.module_of(number, generated.module);
    if let Some(compiler) = &options.compiler {
        let kernel = Kernel { name, module, launches: generated.launches };
        let mut nowhere = io::sink();
        let said: &mut dyn Write = if args.format == ReportFormat::Text { out } else { &mut nowhere };
        let report = compiler::one(compiler, kernel, &options.check, &args.out, said)?;
        return concluded(args, &report, out);
    }
    let path = args.out.join(format!("{name}.ori"));
    std::fs::write(&path, module.to_string())?;
    for named in &generated.launches {
        named.launch.save(&args.out, &name).map_err(Failure::input)?;
    }
    if args.format == ReportFormat::Text {
        writeln!(out, "{}", path.display())?;
    }
    let check = CheckOptions { out: Some(args.out.clone()), ..options.check_of(number) };
    let job = Job { name, module, launches: generated.launches, options: check };
    let report = job.check(options.hang_after).map_err(|error| check_failure(&job.name, &error))?;
    concluded(args, &report, out)
}

/// Prints what a case has come to.
fn concluded(args: &Args, report: &KernelReport, out: &mut dyn Write) -> Result<Status, Failure> {
    if args.format == ReportFormat::Json {
        document::print(out, &Case { kernel: report })?;
    } else {
        report::case(report, out)?;
    }
    let planted = |fault: &str| report.faults.iter().any(|line| line.planted && line.fault == fault);
    args.planting.require(|fault| planted(&fault.to_string()))?;
    Ok(if report.findings.is_empty() { Status::Clean } else { Status::Found })
}

/// A text that is no shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a shard from 0 and their number, as 0/4")]
struct NoShard;

fn shard(text: &str) -> Result<(u64, u64), NoShard> {
    let parts = text.split_once('/').and_then(|(shard, of)| Some((shard.parse().ok()?, of.parse().ok()?)));
    parts.filter(|(shard, of)| shard < of).ok_or(NoShard)
}
