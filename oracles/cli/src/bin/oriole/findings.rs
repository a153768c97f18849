//! `oriole findings`: looks at the findings store of campaigns.

mod documents;
mod page;
mod replay;

pub use documents::{Close, Export, List, Merge, Reopen, Replay, Show};
use documents::{Exported, Merged};

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use oriole_campaign::export::export;
use oriole_campaign::record::{Reduction, family_of};
use oriole_campaign::sarif;
use oriole_campaign::store::life::{Life, Sighting, State};
use oriole_campaign::store::{Store, Stored};
use oriole_check::OUTSIDE;
use oriole_ir::diagnostics::escape::escaped;

use crate::document::{self, Format};
use crate::failure::{Failure, Status};
use crate::numbers::counted;
use crate::options::{only_checks, words_of};
use crate::output::Visible;
use crate::table::Table;

/// Lists, shows, exports, merges and replays what campaigns have found
///
/// A finding is one bug as far as that can be told. Its family is the guilty rewrite (of `access:dead-store` what
/// precedes the colon), or else phase and verdict; its variant is what is left of the kernel: which operations the
/// change removes and adds, and what is around it. A family is one line of the list. Identifiers come from these, so
/// they are the same on every machine; the first digits suffice, and the first 10 name the whole family. Exit code 0,
/// or 2 on bad input; `replay` ends with 1 where a finding still shows, `list --new` and `list --baseline` where they
/// list one.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    /// The store
    #[arg(long, global = true, value_name = "FILE", default_value = "oriole-findings/findings.db")]
    store: PathBuf,
}

/// What is said in place of a command that no campaign writes; the store may come from elsewhere.
const NO_REPLAY: &str = "its command does more than check a kernel, which no campaign writes";

/// How a list of findings is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum ListFormat {
    /// A table.
    Text,
    /// For programs.
    Json,
    /// SARIF 2.1.0, for annotations.
    Sarif,
    /// A page with the reduced kernels, which loads nothing.
    Html,
}

#[derive(Subcommand)]
enum Action {
    /// List findings, those met most often first
    List {
        /// How the list is printed
        #[arg(long, value_enum, default_value_t = ListFormat::Text)]
        format: ListFormat,
        /// For SARIF: where the optimizer's source is, to which its paths are relative
        #[arg(long, value_name = "FOLDER", default_value = ".")]
        root: PathBuf,
        /// Only those that are open, or back: neither fixed nor closed
        #[arg(long)]
        open: bool,
        /// Only those that are open, or back, and were met first, or again, by the last campaign or merge; exit code 1
        /// where there are any
        #[arg(long)]
        new: bool,
        /// Only those that are open, or back, and that this store does not know or calls fixed; exit code 1 where there
        /// are any
        #[arg(long, value_name = "FILE")]
        baseline: Option<PathBuf>,
    },
    /// Show a finding: what differs, the guilty rewrite, the reproducer, how to replay it
    Show {
        /// The first digits of its identifier
        id: String,
        /// How it is printed
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
        /// Check its reproducer again, and print the page that `oriole explain` makes of that
        #[arg(long, conflicts_with = "format")]
        html: bool,
    },
    /// Write the files of findings: reproducers with launches, and what is known
    Export {
        /// The first digits of their identifiers; all findings without
        ids: Vec<String>,
        /// Where to; a folder for each finding is made in it
        #[arg(short, long, value_name = "FOLDER", default_value = "oriole-findings")]
        output: PathBuf,
        /// Only those that are open, or back: neither fixed nor closed
        #[arg(long)]
        open: bool,
        /// How the commands that show them again are printed
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Execute the reproducers again: what shows no more is fixed, what was fixed and shows is a regression
    ///
    /// Exit code 0 where nothing shows, 1 where something does, 2 where a command cannot be executed.
    Replay {
        /// The first digits of their identifiers; without, all that are not closed
        ids: Vec<String>,
        /// How the report is printed
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Close findings: they are kept, and campaigns that meet them end with 0
    Close {
        /// The first digits of their identifiers
        #[arg(required = true)]
        ids: Vec<String>,
        /// How the report is printed
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Open findings that were closed or fixed
    Reopen {
        /// The first digits of their identifiers
        #[arg(required = true)]
        ids: Vec<String>,
        /// How the report is printed
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Add what other stores hold, as those of shards, to this one, which is made where there is none
    Merge {
        /// The other stores
        #[arg(required = true)]
        stores: Vec<PathBuf>,
        /// How the report is printed
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
}

/// Runs the command.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<Status, Failure> {
    match &args.action {
        Action::Merge { stores, format } => merge(&args.store, stores, *format, out)?,
        Action::List { format, root, open, new, baseline } => {
            let chosen = Chosen { open: *open, new: *new, baseline: baseline.as_deref() };
            return list(&to_read(args)?, *format, root, &chosen, out);
        }
        Action::Show { id, html: true, .. } => page::print(&to_read(args)?, id, out)?,
        Action::Show { id, format, .. } => show(&to_read(args)?, id, *format, out)?,
        Action::Export { ids, output, open, format } => {
            let exported = write_files(&to_read(args)?, ids, *open, output)?;
            match format {
                Format::Text => exported.iter().try_for_each(|one| writeln!(out, "{}", one.replay))?,
                Format::Json => document::print(out, &Export { exported })?,
            }
        }
        Action::Replay { ids, format } => return replay::replay(&mut to_write(args)?, ids, *format, out),
        Action::Close { ids, format } => replay::close(&mut to_write(args)?, ids, *format, out)?,
        Action::Reopen { ids, format } => replay::reopen(&mut to_write(args)?, ids, *format, out)?,
    }
    Ok(Status::Clean)
}

fn to_read(args: &Args) -> Result<Store, Failure> {
    Store::open_to_read(&args.store).map_err(Failure::input)
}

fn to_write(args: &Args) -> Result<Store, Failure> {
    Store::open(&args.store).map_err(Failure::input)
}

/// Which findings are listed.
struct Chosen<'a> {
    open: bool,
    new: bool,
    baseline: Option<&'a Path>,
}

impl Chosen<'_> {
    /// Whether it asks for what is new, which a caller may want to fail on.
    fn asks_for_new(&self) -> bool {
        self.new || self.baseline.is_some()
    }

    /// The findings of a store that are chosen.
    fn of(&self, store: &Store) -> Result<Vec<Stored>, Failure> {
        let mut findings = store.findings().map_err(Failure::input)?;
        findings.retain(|stored| !(self.open || self.asks_for_new()) || stored.counts());
        if self.new {
            let begin = store.last_run().map_err(Failure::input)?;
            let is_back = |life: &Life| life.state == State::Regressed && life.changed >= begin;
            findings.retain(|stored| stored.life.first.time >= begin || is_back(&stored.life));
        }
        if let Some(path) = self.baseline {
            retain_new(&mut findings, path)?;
        }
        Ok(findings)
    }
}

/// Leaves out the findings that a store knows and does not call fixed.
pub fn retain_new(findings: &mut Vec<Stored>, baseline: &Path) -> Result<(), Failure> {
    let known = Store::open_to_read(baseline).and_then(|other| other.findings()).map_err(Failure::input)?;
    let is_known = |id: &str| known.iter().any(|old| old.id == id && old.life.state != State::Fixed);
    findings.retain(|stored| !is_known(&stored.id));
    Ok(())
}

/// The texts of the smallest reproducers, by identifier.
pub fn reproducers(store: &Store, findings: &[Stored]) -> Result<BTreeMap<String, String>, Failure> {
    let mut texts = BTreeMap::new();
    for Stored { id, record, .. } in findings {
        let files = store.files(id).map_err(Failure::input)?;
        let own = files.into_iter().find(|(file, _)| file == record.reproducer());
        texts.extend(own.map(|(_, content)| (id.clone(), String::from_utf8_lossy(&content).into_owned())));
    }
    Ok(texts)
}

fn list(
    store: &Store,
    format: ListFormat,
    root: &Path,
    chosen: &Chosen<'_>,
    out: &mut dyn Write,
) -> Result<Status, Failure> {
    let findings = chosen.of(store)?;
    match format {
        ListFormat::Text => table(&findings, &mut Visible(out)),
        ListFormat::Json => Ok(document::print(out, &List { findings: &findings })?),
        ListFormat::Sarif => sarif(&findings, root, store, out),
        ListFormat::Html => {
            let kernels = reproducers(store, &findings)?;
            Ok(document::print_page(out, &List { findings: &findings }, &kernels)?)
        }
    }?;
    Ok(if chosen.asks_for_new() && !findings.is_empty() { Status::Found } else { Status::Clean })
}

fn sarif(findings: &[Stored], root: &Path, store: &Store, out: &mut dyn Write) -> Result<(), Failure> {
    let document = sarif::document(findings, root, &folder_of(store));
    serde_json::to_writer_pretty(&mut *out, &document).map_err(|error| Failure::Output(error.into()))?;
    Ok(writeln!(out)?)
}

fn table(findings: &[Stored], out: &mut dyn Write) -> Result<(), Failure> {
    let titles =
        &["id", "state", ">hits", ">variants", "phase", "verdict", "rule", "shape", "first seen", ">instructions"];
    let mut table = Table::new(titles);
    let families = families(findings);
    for family in &families {
        let [Stored { id, record, .. }, others @ ..] = &family[..] else { continue };
        let id = if others.is_empty() { id.as_str() } else { family_of(id) };
        let first = family.iter().map(|stored| stored.life.state).min_by_key(|state| (!state.counts(), *state));
        let is_known = family.iter().all(|stored| stored.record.known.is_some());
        let state = if is_known { "known" } else { first.map_or("", State::name) };
        table.row([
            id.to_owned(),
            state.to_owned(),
            family.iter().map(|stored| stored.hits.total()).sum::<u64>().to_string(),
            family.len().to_string(),
            record.key.phase.clone(),
            record.key.verdict.clone(),
            record.key.rule.clone(),
            record.key.shape.clone(),
            record.kernel.clone(),
            match record.reduction {
                Reduction::Done { to, .. } => to.to_string(),
                _ => "-".to_owned(),
            },
        ]);
    }
    table.print(out)?;
    let (count, families) = (findings.len(), families.len());
    let of = match families {
        1 if count > 1 => ", of one family".to_owned(),
        families if families < count => format!(", of {families} families"),
        _ => String::new(),
    };
    Ok(writeln!(out, "\n{}{of}", counted(count, "finding"))?)
}

/// Findings by family, in the order of the first of each.
fn families(findings: &[Stored]) -> Vec<Vec<&Stored>> {
    let mut families: Vec<Vec<&Stored>> = Vec::new();
    for stored in findings {
        match families.iter_mut().find(|family| family_of(&family[0].id) == family_of(&stored.id)) {
            Some(family) => family.push(stored),
            None => families.push(vec![stored]),
        }
    }
    families
}

/// The folder of the store, where campaigns write the files of findings.
fn folder_of(store: &Store) -> String {
    match store.path().parent().map(|folder| folder.display().to_string()) {
        Some(folder) if !folder.is_empty() => folder,
        _ => ".".to_owned(),
    }
}

fn show(store: &Store, id: &str, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    let variants = store.variants(id).map_err(Failure::input)?;
    match format {
        Format::Json => Ok(document::print(out, &Show { findings: &variants })?),
        Format::Text => variants.iter().try_for_each(|stored| show_one(store, stored, out)),
    }
}

/// Shows one variant to people.
fn show_one(store: &Store, stored: &Stored, out: &mut dyn Write) -> Result<(), Failure> {
    let out = &mut Visible(out);
    let Stored { id, hits, life, record } = stored;
    writeln!(out, "{id}: {} in {}", record.key.verdict, record.key.phase)?;
    writeln!(out, "  shape: {}", record.key.shape)?;
    if let Some(case) = &record.known {
        writeln!(out, "  known: {}", escaped(case))?;
    }
    if !record.key.variant.is_empty() {
        writeln!(out, "  variant: {}", record.key.variant)?;
    }
    writeln!(out, "  hits: {} bisected, {} more recognised", hits.bisected, hits.recognised)?;
    let build = |sighting: &Sighting| match sighting.build.as_str() {
        "" => "an older version".to_owned(),
        build => build.to_owned(),
    };
    writeln!(out, "  {}; met first by {}, last by {}", life.state.name(), build(&life.first), build(&life.last))?;
    match &record.first {
        Some(case) => writeln!(out, "  first seen: {} ({}): {}", record.kernel, case.target, case.command)?,
        None => writeln!(out, "  first seen: {}", escaped(&record.kernel))?,
    }
    writeln!(out, "  {}", record.detail)?;
    for (what, store) in [("before the phase", &record.store_before), ("after the phase", &record.store_after)] {
        if let Some(store) = store {
            writeln!(out, "  stored {what}: {store}")?;
        }
    }
    match record.rewrite {
        Some(index) if record.key.is_spelling() => {
            writeln!(out, "  misread spelling: number {index} ({})", record.key.rule)?;
            record.diff.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        Some(index) => {
            let function = record.function.as_deref().unwrap_or("?");
            let rule = if record.key.rule.is_empty() { "no named rule" } else { &record.key.rule };
            writeln!(out, "  guilty rewrite: number {index} ({rule}) in function `{function}`")?;
            record.diff.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        None => writeln!(out, "  no single rewrite is guilty")?,
    }
    reproducer(store, stored, out)
}

/// The text of the reproducer, and how to replay it.
fn reproducer(store: &Store, stored: &Stored, out: &mut dyn Write) -> Result<(), Failure> {
    let record = &stored.record;
    match &record.reduction {
        Reduction::Done { from, to, cut_off } => {
            let rest = if *cut_off { " before the time was up" } else { "" };
            let what = if record.counts_statements() { "statements" } else { "instructions" };
            writeln!(out, "  reproducer, reduced from {from} to {to} {what}{rest}:")?;
        }
        Reduction::Failed { why } => writeln!(out, "  reproducer, not reduced ({why}):")?,
        Reduction::Pending => writeln!(out, "  reproducer, not reduced yet:")?,
    }
    let name = record.reproducer();
    let text = Path::new(name).with_extension("ptx");
    for (file, content) in store.files(&stored.id).map_err(Failure::input)? {
        if file == name {
            shown(&content, out)?;
        } else if Path::new(&file) == text {
            writeln!(out, "  the PTX that is misread:")?;
            shown(&content, out)?;
        }
    }
    let folder = folder_of(store);
    let file = format!("{folder}/{}/{name}", stored.id);
    if !Path::new(&file).exists() {
        let (id, path) = (&stored.id, store.path().display());
        writeln!(out, "  files:  oriole findings export {id} -o {folder} --store {path}")?;
    }
    let command = record.replay_of(&file);
    let command = if only_checks(&words_of(&command)) || command.contains(OUTSIDE) { &command } else { NO_REPLAY };
    Ok(writeln!(out, "  replay: {command}")?)
}

fn shown(content: &[u8], out: &mut dyn Write) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(content);
    escaped(&text).lines().try_for_each(|line| writeln!(out, "    {line}"))?;
    Ok(())
}

fn write_files(store: &Store, ids: &[String], open: bool, folder: &Path) -> Result<Vec<Exported>, Failure> {
    let mut findings = replay::chosen(store, ids)?;
    findings.retain(|stored| !open || stored.counts());
    let written = |stored: Stored| {
        let file = export(store, &stored, folder).map_err(Failure::input)?;
        let replay = stored.record.replay_of(&file.display().to_string());
        Ok(Exported { id: stored.id, file, replay })
    };
    findings.into_iter().map(written).collect()
}

fn merge(path: &Path, stores: &[PathBuf], format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    // Every store is looked at before anything is written.
    let others: Vec<Store> =
        stores.iter().map(|path| Store::open_to_read(path)).collect::<Result<_, _>>().map_err(Failure::input)?;
    let mut store = Store::open_or_create(path).map_err(Failure::input)?;
    // What the last campaigns of the others met first is new to whoever merges them.
    let runs: Result<Vec<u64>, _> = others.iter().map(Store::last_run).collect();
    if let Some(first) = runs.map_err(Failure::input)?.into_iter().min() {
        store.begin_run(first).map_err(Failure::input)?;
    }
    let mut merged = Vec::new();
    for other in &others {
        let added = store.merge(other).map_err(Failure::input)?;
        let (new_findings, campaigns) = (added.findings, added.campaigns);
        merged.push(Merged { store: other.path().to_owned(), new_findings, campaigns });
    }
    let findings = store.findings().map_err(Failure::input)?.len();
    let document = Merge { store: path.to_owned(), findings, merged };
    if format == Format::Json {
        return Ok(document::print(out, &document)?);
    }
    for Merged { store, new_findings, campaigns } in &document.merged {
        let (found, campaigns) = (counted(*new_findings, "new finding"), counted(*campaigns, "campaign"));
        writeln!(out, "{}: {found}, {campaigns}", store.display())?;
    }
    Ok(writeln!(out, "{} in {}", counted(findings, "finding"), path.display())?)
}
