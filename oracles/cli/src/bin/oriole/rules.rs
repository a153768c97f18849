//! `oriole rules`: whether rewrite rules are right, which there are, and what one is.

mod documents;
mod encodings;
mod machine;
mod show;

pub use documents::{CheckDocument, ExplainDocument, ListDocument};

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use miette::{Report, miette};
use oriole_ir::place::line_column;
use oriole_optimizer::peephole::{Examined, RuleSet};
use oriole_proof::{Cache, Prover, Solver, SolverError};
use oriole_rules::SourceError;
use oriole_validate::kernel::{Confirmation, Reproducer};
use oriole_validate::{Judge, RuleReport, Settings as Trials, Verdict, kept_answers};
use rayon::prelude::*;

use crate::document::{self, Format, ReportFormat};
use crate::failure::{Failure, Status, say};
use crate::live::{self, remark};
use crate::numbers::{self, counted};
use crate::settings::examined;

/// Validates, lists and explains rewrite rules
///
/// The language is described in optimizer/rules/README.md.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Check(CheckArgs),
    List(ListArgs),
    Explain(ExplainArgs),
}

/// Shows for every rule that it is right, or an input on which it is wrong
///
/// Exit code 0 when every rule is proved, exhausted or tested; 1 when one is refuted, unknown or applies to nothing; 2
/// for bad input. Without a solver, rules are tried and executed, and what only a solver could tell is unknown.
#[derive(clap::Args)]
struct CheckArgs {
    /// Rule files; without any, the built-in rules
    files: Vec<PathBuf>,
    /// Judge the rules of the files without the built-in ones beside them
    #[arg(long)]
    no_builtin_rules: bool,
    /// Only these rules
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    rule: Vec<String>,
    /// Ask no solver: trust kept answers alone
    #[arg(long)]
    no_solver: bool,
    /// The solver: a path to z3, cvc5 or bitwuzla; by default the first of them on the path, and where rules
    /// multiply or divide, z3 and cvc5 both
    #[arg(long, value_name = "PROGRAM", conflicts_with = "no_solver")]
    solver: Option<PathBuf>,
    /// How long the solver may take for a question; z3 by its steps, so that the answer does not depend on the load
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Keep answers in FOLDER/answers.txt, instead of using those about the built-in rules; with a solver and without
    /// --rule, those that none of the rules asks for are dropped
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Where kernels that show what is wrong are written
    #[arg(long, value_name = "FOLDER", default_value = "oriole-findings/rules")]
    out: PathBuf,
    /// Inputs that are tried for each question
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    samples: u64,
    /// Rules checked at the same time; by default as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::jobs())]
    jobs: usize,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// Lists rules with their places and what is known about them
#[derive(clap::Args)]
struct ListArgs {
    /// Rule files; without any, the built-in rules
    files: Vec<PathBuf>,
    /// Judge the rules of the files without the built-in ones beside them
    #[arg(long)]
    no_builtin_rules: bool,
    /// List the choices of encodings of the machine instead, and how many there are beside the document's count
    #[arg(long, conflicts_with_all = ["files", "no_builtin_rules", "format"])]
    encodings: bool,
    /// How the list is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Explains a rule: its text, what it stands for, its guards and why, and the evidence
#[derive(clap::Args)]
struct ExplainArgs {
    /// The rule's name
    name: String,
    /// Rule files; without any, the built-in rules
    files: Vec<PathBuf>,
    /// Judge the rules of the files without the built-in ones beside them
    #[arg(long)]
    no_builtin_rules: bool,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    match &args.command {
        Command::Check(args) => check(args, out),
        Command::List(args) => list(args, out),
        Command::Explain(args) => explain(args, out),
    }
}

/// Rules, and what is wrong with them apart from what they mean.
struct Loaded {
    set: RuleSet,
    /// Those of the files that were named, or all: indices into the set.
    own: Range<usize>,
    faults: Vec<SourceError>,
}

fn load(files: &[PathBuf], builtin: bool) -> Result<Loaded, Failure> {
    if files.is_empty() {
        let set = RuleSet::load_builtin();
        return Ok(Loaded { own: 0..set.rules().len(), set, faults: Vec::new() });
    }
    let Examined { set, faults } = examined(files, builtin)?;
    Ok(Loaded { own: set.builtin_count()..set.rules().len(), set, faults })
}

/// Says what is wrong with rules apart from what they mean; whether there is something.
fn say_faults(faults: Vec<SourceError>, out: &mut dyn Write) -> io::Result<bool> {
    out.flush()?;
    let is_faulty = !faults.is_empty();
    // Nobody is left to tell where standard error is closed.
    faults.into_iter().for_each(|fault| drop(say(&Report::new(fault))));
    Ok(is_faulty)
}

fn check(args: &CheckArgs, out: &mut dyn Write) -> Result<Status, Failure> {
    let start = Instant::now();
    let Loaded { set, own, faults } = load(&args.files, !args.no_builtin_rules)?;
    if own.is_empty() && set.machine().is_empty() {
        let help = "a rule begins with `rule NAME:`; optimizer/rules/README.md describes the language";
        return Err(Failure::Input(miette!(help = help, "there is no rule to check")));
    }
    let is_of_machine = |name: &&String| machine::rules(args, &set).iter().any(|rule| rule.name == name.as_str());
    let named: Vec<String> = args.rule.iter().filter(|name| !is_of_machine(name)).cloned().collect();
    let none = !args.rule.is_empty() && named.is_empty();
    let chosen = if none { Vec::new() } else { chosen(&set, &own, &named)? };
    let faults = faults.into_iter().filter_map(|faults| without_others(faults, &set, &chosen)).collect();
    let solver = if args.no_solver { None } else { Solver::find(args.solver.as_deref()).map_err(solver_failure)? };
    if solver.is_none() && !args.no_solver {
        let install = "install one to have them answered (on Debian: apt-get install z3)";
        remark(format_args!("no z3, cvc5 or bitwuzla on the path: open questions stay unknown; {install}"));
    }
    let cache = match &args.cache {
        Some(folder) => Cache::load(folder),
        None => kept_answers(),
    };
    let cache = Mutex::new(cache.map_err(|error| solver_failure(error.into()))?);
    let trials = Trials { samples: args.samples.max(16), ..Trials::default() };
    let judge = Judge::new(Prover { solver, cache, limit: Duration::from_secs(args.timeout) }, trials);
    let pool = numbers::pool(args.jobs)?;
    let saved = Mutex::new(Instant::now());
    let bar = live::bar(chosen.len());
    let verdicts = Verdicts { start, waiting: Mutex::default() };
    let judged = |index: &usize| {
        let report = judge.rule(&set, *index);
        save_sometimes(&judge, &saved)?;
        if let Ok(report) = &report {
            let now = verdicts.now(&report.name, report.verdict.name(), report.time);
            bar.suspend(|| now.lines().for_each(remark));
        }
        bar.inc(1);
        report
    };
    // One rule is judged on one thread; the answers of solvers are shared.
    let results: Vec<Result<RuleReport, SolverError>> = pool.install(|| chosen.par_iter().map(judged).collect());
    bar.finish_and_clear();
    // Without a solver, or where a rule could not be judged, not all is asked that will be.
    let everything = args.cache.is_some() && args.rule.is_empty() && judge.prover.solver.is_some();
    if everything && results.iter().all(Result::is_ok) {
        say_what_is_dropped(judge.prover.cache().drop_unasked());
    }
    // What was answered is kept even where something else went wrong.
    judge.prover.cache().save().map_err(|error| solver_failure(error.into()))?;
    let reports: Vec<RuleReport> = results.into_iter().collect::<Result<_, _>>().map_err(solver_failure)?;
    let mut replays = Vec::new();
    for (report, index) in reports.iter().zip(&chosen) {
        replays.push(reproduce(report, &set, *index, &args.out)?);
    }
    let of_machine = machine::lines(args, &set, &judge.prover);
    let findings = show::Findings {
        reports: &reports,
        machine: &of_machine,
        replays: &replays,
        shadows: &set.shadows().into_iter().map(|(rule, by)| (rule.name, by)).collect::<Vec<_>>(),
        weights: set.weights(),
        raising: &set.raising(),
        time: start.elapsed(),
    };
    match args.format {
        ReportFormat::Text => findings.text(out)?,
        ReportFormat::Json => document::print(out, &findings.document())?,
        ReportFormat::Html => document::print_page(out, &findings.document(), &BTreeMap::new())?,
    }
    let faulty = say_faults(faults, out)? || of_machine.iter().any(machine::Line::is_faulty);
    Ok(if of_machine.iter().any(machine::Line::is_wrong) || reports.iter().any(|report| !report.verdict.is_pass()) {
        Status::Found
    } else if faulty {
        Status::BadInput
    } else {
        Status::Clean
    })
}

/// Verdicts of a check that takes long, for standard error as soon as they are known.
struct Verdicts {
    start: Instant,
    /// What is told when the check turns out to take long.
    waiting: Mutex<String>,
}

impl Verdicts {
    /// A check that takes less shows its table alone.
    const LONG: Duration = Duration::from_secs(5);

    /// What is to be told now that one more is known.
    fn now(&self, rule: &str, verdict: &str, time: Duration) -> String {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting += &format!("{rule}: {verdict} in {:.1} s\n", time.as_secs_f64());
        if self.start.elapsed() > Verdicts::LONG { std::mem::take(&mut *waiting) } else { String::new() }
    }
}

fn say_what_is_dropped(answers: usize) {
    if answers > 0 {
        let verb = if answers == 1 { "is" } else { "are" };
        let answers = counted(answers, "kept answer");
        remark(format_args!("{answers} {verb} dropped: no rule asks"));
    }
}

/// Keeps answers while others are sought, so that a run that is ended loses little.
fn save_sometimes(judge: &Judge, saved: &Mutex<Instant>) -> Result<(), SolverError> {
    let mut saved = saved.lock().unwrap_or_else(PoisonError::into_inner);
    if saved.elapsed() > Duration::from_secs(5) {
        judge.prover.cache().save()?;
        *saved = Instant::now();
    }
    Ok(())
}

fn solver_failure(error: SolverError) -> Failure {
    Failure::Input(Report::msg(error))
}

/// Of some rules those with these names, or all.
fn chosen(set: &RuleSet, among: &Range<usize>, names: &[String]) -> Result<Vec<usize>, Failure> {
    if names.is_empty() {
        return Ok(among.clone().collect());
    }
    names.iter().map(|name| position(set, among, name)).collect()
}

/// Faults without those of rules that were not asked for; none where there are no others.
fn without_others(mut faults: SourceError, set: &RuleSet, chosen: &[usize]) -> Option<SourceError> {
    let is_chosen = |index: &usize| chosen.contains(index);
    let others: Vec<_> = (0..set.rules().len()).filter(|index| !is_chosen(index)).map(|at| lines(set, at)).collect();
    let SourceError { source_code, related } = &mut faults;
    related.retain(|fault| {
        let (line, _) = source_code.line_column(fault.span.offset());
        !others.iter().any(|(file, lines)| *file == source_code.name() && lines.contains(&line))
    });
    (!related.is_empty()).then_some(faults)
}

/// The file that a rule is in, and its lines there.
fn lines(set: &RuleSet, rule: usize) -> (&str, RangeInclusive<usize>) {
    let rule = &set.rules()[rule];
    let (source, span) = (&set.sources()[rule.source], rule.decl().span);
    let line = |at: usize| line_column(&source.text, at).0;
    (&source.name, line(span.start)..=line(span.end))
}

fn position(set: &RuleSet, among: &Range<usize>, name: &str) -> Result<usize, Failure> {
    let found = among.clone().find(|at| set.rules()[*at].name == name);
    found.ok_or_else(|| {
        let closest = set.rules()[among.clone()].iter().map(|rule| (strsim::jaro_winkler(rule.name, name), rule.name));
        let closest = closest.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(String::new(), |(_, near)| near.to_owned());
        Failure::Input(miette!(
            help = format!("did you mean `{closest}`? `oriole rules list` lists them"),
            "there is no rule `{name}`"
        ))
    })
}

/// Writes what shows that a rule is wrong; the command that replays it.
fn reproduce(report: &RuleReport, set: &RuleSet, index: usize, folder: &Path) -> Result<Option<String>, Failure> {
    let Some(refutation) = &report.refutation else { return Ok(None) };
    let reproducer = match &refutation.confirmation {
        Confirmation::Confirmed(reproducer) | Confirmation::Disagreement { reproducer, .. } => reproducer,
        Confirmation::OtherNan | Confirmation::Undefined | Confirmation::NotTried => return Ok(None),
    };
    write_reproducer(reproducer, set, index, folder).map(Some).map_err(|error| {
        let help = "name another folder with --out";
        Failure::Input(miette!(help = help, "cannot write the kernel into `{}`: {error}", folder.display()))
    })
}

fn write_reproducer(
    reproducer: &Reproducer,
    set: &RuleSet,
    index: usize,
    folder: &Path,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let rule = &set.rules()[index];
    fs::create_dir_all(folder)?;
    let kernel = folder.join(format!("{}.ori", rule.name));
    reproducer.launch.save(folder, rule.name)?;
    fs::write(&kernel, &reproducer.kernel)?;
    // The rule alone, without its examples: the kernel is one.
    let mut decl = rule.decl().clone();
    decl.examples.clear();
    let rules = folder.join(format!("{}.rules", rule.name));
    let weights: Vec<String> =
        set.weights().iter().map(|(opcode, weight)| format!("{} {weight}", opcode.row().name)).collect();
    let measure = if weights.is_empty() { String::new() } else { format!("measure {}\n", weights.join(", ")) };
    let text = format!("{measure}{decl}\n");
    let unchecked = if RuleSet::parse(rule.name, &text).is_ok() { "" } else { " --unchecked-rules" };
    fs::write(&rules, text)?;
    let phase = oriole_validate::kernel::PHASE;
    let without = reproducer.without.map_or(String::new(), |step| format!(" --disable-phases {step}"));
    let files = (kernel.display(), rules.display());
    Ok(format!(
        "oriole check {} --phase {phase}{without} --randoms 0 --rules {} --no-builtin-rules{unchecked}",
        files.0, files.1
    ))
}

/// What kept answers and a look at each rule say.
fn known(set: &RuleSet, rules: &[usize]) -> Result<Vec<RuleReport>, Failure> {
    let cache = Mutex::new(kept_answers().map_err(|error| solver_failure(error.into()))?);
    let trials = Trials { samples: 256, quick: 256, kernels: false, guards: false, ..Trials::default() };
    let judge = Judge::new(Prover { solver: None, cache, limit: Duration::from_secs(1) }, trials);
    let reports: Result<Vec<RuleReport>, SolverError> = rules.par_iter().map(|index| judge.rule(set, *index)).collect();
    reports.map_err(solver_failure)
}

fn list(args: &ListArgs, out: &mut dyn Write) -> Result<Status, Failure> {
    if args.encodings {
        encodings::list(out)?;
        return Ok(Status::Clean);
    }
    let Loaded { set, own, faults } = load(&args.files, !args.no_builtin_rules)?;
    let reports = known(&set, &own.collect::<Vec<_>>())?;
    match args.format {
        Format::Text => show::list(out, &reports)?,
        Format::Json => show::list_json(out, &reports)?,
    }
    Ok(if say_faults(faults, out)? { Status::BadInput } else { Status::Clean })
}

fn explain(args: &ExplainArgs, out: &mut dyn Write) -> Result<Status, Failure> {
    let Loaded { set, own, faults } = load(&args.files, !args.no_builtin_rules)?;
    let index = position(&set, &own, &args.name)?;
    let cache = Mutex::new(kept_answers().map_err(|error| solver_failure(error.into()))?);
    let judge = Judge::new(Prover { solver: None, cache, limit: Duration::from_secs(1) }, Trials::default());
    let report = judge.rule(&set, index).map_err(solver_failure)?;
    match args.format {
        Format::Text => show::explain(out, &set, index, &report)?,
        Format::Json => show::explain_json(out, &set, index, &report)?,
    }
    let faults = faults.into_iter().filter_map(|faults| without_others(faults, &set, &[index])).collect();
    let faulty = say_faults(faults, out)?;
    Ok(if report.verdict == Verdict::Refuted {
        Status::Found
    } else if faulty {
        Status::BadInput
    } else {
        Status::Clean
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_wait_until_a_check_takes_long() {
        let second = Duration::from_secs(1);
        let mut verdicts = Verdicts { start: Instant::now(), waiting: Mutex::default() };
        assert_eq!(verdicts.now("one", "proved", second), "");
        verdicts.start -= Verdicts::LONG;
        assert_eq!(verdicts.now("two", "unknown", second), "one: proved in 1.0 s\ntwo: unknown in 1.0 s\n");
        assert_eq!(verdicts.now("three", "proved", second), "three: proved in 1.0 s\n", "each is told once");
    }
}
