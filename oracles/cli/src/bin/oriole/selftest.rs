//! `oriole selftest`: plants faults in phases and reports how many the harness finds.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use miette::miette;
use oriole_campaign::selftest::{self, KindReport, Options, percent, stages};
use oriole_check::inject::{CODE_KINDS, ENDLESS_KINDS, KINDS, Kind, NotPlanted, STAGE_KINDS, kind, step_named};
use oriole_check::supervise::{LIMIT, StepId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::axes::{Generating, arch, for_phases};
use crate::document::{self, ReportFormat};
use crate::failure::{Failure, Status};
use crate::fuzz::generated;
use crate::live;
use crate::numbers;
use crate::numbers::counted;
use crate::options::Given;
use crate::settings::Passes;
use crate::table::Table;

/// Plants faults in phases, and reports how many are found
///
/// Each case is a generated kernel with one fault, planted after a phase has done its work. Faults that show nothing
/// are neutral where the structure of the kernel says so, escaped where other data shows them, and else probably
/// neutral. Exit code 0 when at least 99 % of those that are not neutral are caught, 1 otherwise, 2 where no fault was
/// planted at all.
///
/// With --machine the phases run over the code that ptxas makes of the kernels, and faults are of the kinds that begin
/// with `code-`. With --compile they are planted in the stages of Oriole's own compiler, and must be blamed on these.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    passes: Passes,
    /// Plant faults in this phase alone, or in ssa-construction, ssa-destruction or ptx-round-trip; by default in all
    /// that can go wrong
    #[arg(long, value_name = "PHASE")]
    phase: Vec<String>,
    /// Plant faults of this kind alone; by default of all kinds
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Cases of each kind
    #[arg(long, value_name = "N", default_value_t = 1000)]
    cases: u64,
    /// The seed of cases and places
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Other sets of data that decide whether a fault that shows nothing is neutral
    #[arg(long, value_name = "N", default_value_t = 64)]
    data_sets: u64,
    /// Plant faults in phases over the machine code that ptxas makes of each kernel for these architectures
    #[arg(long, value_name = "ARCH", value_delimiter = ',', value_parser = arch)]
    machine: Vec<String>,
    /// Levels of optimization at which ptxas makes that code; 0 and 3 where none is named
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "machine",
        value_parser = clap::value_parser!(u8).range(0..=3))]
    ptxas_level: Vec<u8>,
    #[command(flatten)]
    generating: Generating,
    /// Weights and ranges of the generator, as TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Kinds tried at the same time; by default as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::jobs())]
    jobs: usize,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// List the kinds of faults
    #[arg(long)]
    list: bool,
}

/// The JSON of `selftest`.
#[derive(JsonSchema, Serialize)]
pub struct Document<'a> {
    /// The share of faults that were caught, of those that are not neutral, in percent; of a list, none.
    percent: Option<f64>,
    /// What became of the faults of each kind; of a list, none.
    kinds: &'a [KindReport],
    /// The kinds of faults, with --list.
    list: Vec<Listed>,
}

impl document::Document for Document<'_> {
    const COMMAND: &'static str = "selftest";
}

/// A kind of faults.
#[derive(JsonSchema, Serialize)]
struct Listed {
    /// Its name.
    kind: &'static str,
    /// What goes wrong.
    doc: &'static str,
}

/// The share of faults that must be caught.
const WANTED: f64 = 99.0;

/// Runs the command.
pub fn run(args: &Args, given: &Given, out: &mut dyn Write) -> Result<Status, Failure> {
    if args.list && args.format != ReportFormat::Json {
        let mut table = Table::new(&["kind", "what goes wrong"]);
        KINDS
            .iter()
            .chain(CODE_KINDS)
            .chain(ENDLESS_KINDS)
            .for_each(|kind| table.row([kind.name.to_owned(), kind.doc.to_owned()]));
        table.print(out)?;
        return Ok(Status::Clean);
    }
    if args.list {
        let all = KINDS.iter().chain(CODE_KINDS).chain(ENDLESS_KINDS);
        let list = all.map(|kind| Listed { kind: kind.name, doc: kind.doc }).collect();
        document::print(out, &Document { percent: None, kinds: &[], list })?;
        return Ok(Status::Clean);
    }
    let is_code = !args.machine.is_empty();
    let is_own = args.generating.is_asked();
    if is_code && is_own {
        let help = "leave out one of the two";
        return Err(Failure::Input(miette!(
            help = help,
            "--compile is for Oriole's own compiler, --machine for ptxas"
        )));
    }
    let all: Vec<&Kind> = match (is_code, is_own) {
        (true, _) => CODE_KINDS.iter().collect(),
        (_, true) => KINDS.iter().chain(CODE_KINDS).filter(|kind| is_of_stages(kind)).collect(),
        _ => KINDS.iter().collect(),
    };
    let kinds = args.kind.iter().map(|name| named(name, &all)).collect::<Result<_, _>>()?;
    let compiler = match is_own {
        true => Some(args.generating.compiler(LIMIT, false)?),
        false => is_code.then(|| for_phases(&args.machine, &args.ptxas_level, LIMIT)).transpose()?,
    };
    let options = Options {
        passes: if is_code { args.passes.over_code()? } else { args.passes.pipeline()? },
        level: args.passes.level(),
        pass_options: args.passes.options()?,
        steps: args.phase.iter().map(|token| step(token)).collect::<Result<_, _>>()?,
        kinds,
        cases: args.cases,
        seed: args.seed,
        config: generated(args.config.as_deref(), compiler.as_ref())?,
        enough: None,
        data_sets: args.data_sets,
        arguments: given.replay_case(),
        compiler: compiler.map(Arc::new),
    };
    let pool = numbers::pool(args.jobs)?;
    let start = Instant::now();
    let kinds = match options.kinds.len() {
        _ if is_own => stages::rows(&options).len(),
        0 => all.len(),
        some => some,
    };
    let bar = live::bar(kinds.saturating_mul(options.cases as usize));
    let reports = pool.install(|| {
        selftest::run_with(&options, &|kind| {
            bar.set_message(kind);
            bar.inc(1);
        })
    });
    bar.finish_and_clear();
    let document = Document { percent: Some(share(&reports)), kinds: &reports, list: Vec::new() };
    match args.format {
        ReportFormat::Json => document::print(out, &document)?,
        ReportFormat::Html => document::print_page(out, &document, &BTreeMap::new())?,
        ReportFormat::Text => text(out, &reports, start.elapsed().as_secs_f64())?,
    }
    require_planted(&reports)?;
    Ok(if share(&reports) >= WANTED { Status::Clean } else { Status::Found })
}

fn step(token: &str) -> Result<StepId, Failure> {
    step_named(token).map_err(|error| Failure::Input(miette!(help = "`oriole phases` lists them all", "{error}")))
}

/// The kind of a name, of those that there are where faults are planted.
fn named(name: &str, all: &[&'static Kind]) -> Result<&'static Kind, Failure> {
    let unknown = || match kind(name) {
        None => miette!(help = "`oriole selftest --list` lists them", "`{name}` is no kind of fault"),
        Some(_) => {
            let help =
                "kinds that begin with `code-` are for --machine and --compile, and others are not for --machine";
            miette!(help = help, "`{name}` is a kind of fault elsewhere")
        }
    };
    all.iter().copied().find(|kind| kind.name == name).ok_or_else(|| Failure::Input(unknown()))
}

/// Whether a kind is planted in some stage of Oriole's own compiler.
fn is_of_stages(kind: &Kind) -> bool {
    STAGE_KINDS.iter().any(|(_, kinds)| kinds.contains(&kind.name))
}

/// An error where no kind found any place: that nothing escaped means nothing then. Kinds are counted one by one in the
/// report.
fn require_planted(reports: &[KindReport]) -> Result<(), Failure> {
    if reports.iter().any(|report| report.injected > 0) {
        return Ok(());
    }
    let faults = reports.iter().map(|report| report.kind.to_owned()).collect();
    Err(Failure::input(NotPlanted { faults }))
}

fn share(reports: &[KindReport]) -> f64 {
    percent(reports.iter().map(|report| report.caught).sum(), reports.iter().map(|report| report.escaped).sum())
}

/// The columns; the last is for stages alone.
static TITLES: [&str; 11] = [
    "kind",
    ">injected",
    ">caught",
    ">by verifier",
    ">neutral",
    ">probably neutral",
    ">escaped",
    ">%",
    ">first case",
    ">seconds",
    ">blamed",
];

fn text(out: &mut dyn Write, reports: &[KindReport], seconds: f64) -> Result<(), Failure> {
    let has_stages = reports.iter().any(|report| report.stage.is_some());
    let mut table = Table::new(if has_stages { &TITLES } else { &TITLES[..TITLES.len() - 1] });
    for report in reports {
        let KindReport { injected, caught, caught_by_verifier, neutral, probably_neutral, escaped, .. } = report;
        let counts = [injected, caught, caught_by_verifier, neutral, probably_neutral, escaped];
        let first = report.first_case.map_or("-".to_owned(), |case| case.to_string());
        let until = report.first_seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.3}"));
        let cells = counts.into_iter().map(u64::to_string);
        let cells = cells.chain([format!("{:.1}", report.percent()), first, until]);
        let cells = cells.chain(has_stages.then(|| report.blamed.to_string()));
        let kind = report.stage.map_or(report.kind.to_owned(), |stage| format!("{}@{stage}", report.kind));
        table.row(std::iter::once(kind).chain(cells));
    }
    table.print(out)?;
    for (kind, missed) in reports.iter().flat_map(|report| report.shown.iter().map(move |missed| (report.kind, missed)))
    {
        let what = if missed.escaped { "escaped" } else { "probably neutral" };
        writeln!(out, "\n{kind}, case {}: {what}, {}", missed.case, missed.why)?;
        missed.diff.lines().try_for_each(|line| writeln!(out, "  {line}"))?;
        writeln!(out, "  {}", missed.replay)?;
    }
    let sum = |of: fn(&KindReport) -> u64| reports.iter().map(of).sum::<u64>();
    writeln!(
        out,
        "\n{} of {}: {} caught, {} neutral, {} probably neutral, {} escaped; {:.2} % of those that are not \
         neutral caught, {seconds:.1} s",
        counted(sum(|report| report.injected), "fault"),
        counted(reports.len(), "kind"),
        sum(|report| report.caught),
        sum(|report| report.neutral),
        sum(|report| report.probably_neutral),
        sum(|report| report.escaped),
        share(reports)
    )?;
    if has_stages {
        let (caught, blamed) = (sum(|report| report.caught), sum(|report| report.blamed));
        writeln!(out, "{blamed} of {caught} blamed on the stage that they are planted in")?;
        return Ok(());
    }
    let (faults, found) = selftest::by_opcode(reports);
    writeln!(out, "{} by kind and opcode, {found} caught in some case", counted(faults, "fault"))?;
    Ok(())
}
