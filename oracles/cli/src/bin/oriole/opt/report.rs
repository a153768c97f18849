//! What `oriole opt` says beside the kernel: phases, costs, changes, rules.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use oriole_check::cost::Cost;
use oriole_check::explain::Change;
use oriole_ir::diagnostics::escape::escaped;
use oriole_optimizer::pass::PassId;
use oriole_optimizer::pipeline::runner::{PassReport, Report, SkipReason};
use schemars::JsonSchema;
use serde::Serialize;

use super::Args;
use crate::document;
use crate::numbers::counted;
use crate::rule_uses::{self, RuleUse};
use crate::table::Table;

/// The JSON of `opt`.
#[derive(Default, JsonSchema, Serialize)]
pub struct Document {
    /// What went wrong; then nothing else is known.
    wrong: Option<String>,
    /// Where the kernel was written.
    file: Option<PathBuf>,
    /// The kernel, where it was not written.
    kernel: Option<String>,
    /// The phases that ran.
    phases: Vec<Phase>,
    /// The phases that options, guards and levels leave out.
    left_out: Vec<LeftOut>,
    /// What the kernel costs before the phases, on the first launch; null without --time and a launch.
    cost: Option<Cost>,
    /// How long rewrite rules took to become ready.
    rules_microseconds: u64,
    /// The changes, with --explain.
    changes: Vec<Change>,
    /// The rules of `--rules`.
    rules: Vec<RuleUse>,
    /// What became of the words of a cubin's functions, with --machine.
    functions: Vec<Words>,
}

/// What became of the words of a function.
#[derive(JsonSchema, Serialize)]
pub struct Words {
    /// Its name.
    pub function: String,
    /// Its words, without those that did nothing before.
    pub words: usize,
    /// Those that do nothing now.
    pub removed: usize,
    /// Those that are others now.
    pub changed: usize,
    /// Whether it was left alone: the loader changes its words, or it calls a place among them.
    pub left_alone: bool,
}

impl document::Document for Document {
    const COMMAND: &'static str = "opt";
}

/// Phases that something leaves out.
#[derive(JsonSchema, Serialize)]
pub struct LeftOut {
    /// What leaves them out.
    pub reason: String,
    /// Their names.
    pub phases: Vec<String>,
}

/// The phases that did not run for a reason that counts, by reason.
pub fn left_out(report: &Report, counts: impl Fn(SkipReason) -> bool) -> Vec<LeftOut> {
    let mut all: Vec<LeftOut> = Vec::new();
    for pass in &report.passes {
        let Some(reason) = pass.skipped.filter(|reason| counts(*reason)) else { continue };
        let (reason, name) = (reason.to_string(), pass.id.to_string());
        match all.iter_mut().find(|one| one.reason == reason) {
            Some(one) => one.phases.push(name),
            None => all.push(LeftOut { reason, phases: vec![name] }),
        }
    }
    all
}

/// Whether somebody could have it otherwise.
fn is_a_choice(reason: SkipReason) -> bool {
    use SkipReason::{Disabled, Guard, NotNamed, OptLevel, PassOption, Stopped};
    matches!(reason, Disabled | Guard(_) | NotNamed | OptLevel | PassOption | Stopped)
}

/// A phase that ran.
#[derive(JsonSchema, Serialize)]
struct Phase {
    /// Its name.
    name: String,
    /// Its number in the inventory of phases.
    number: Option<u16>,
    /// Whether it changed something.
    changed: bool,
    /// Instructions before it.
    instructions_before: usize,
    /// Instructions after it.
    instructions_after: usize,
    /// Changes made.
    rewrites: u64,
    /// How long it took.
    microseconds: u64,
    /// What the kernel costs behind it; null where it changed nothing, and without --time and a launch.
    cost: Option<Cost>,
    /// Its counters: the changes by rule, and the record of a movement.
    counters: BTreeMap<&'static str, u64>,
}

impl Document {
    /// The document of a run in which a phase went wrong.
    pub fn wrong(wrong: String) -> Document {
        Document { wrong: Some(wrong), ..Document::default() }
    }

    /// The same with the kernel: where it was written, or its text.
    pub fn with_kernel(self, file: Option<PathBuf>, kernel: Option<String>) -> Document {
        Document { file, kernel, ..self }
    }

    /// The same with the words of a cubin's functions, and the file that has them.
    pub fn with_words(self, file: PathBuf, functions: Vec<Words>) -> Document {
        Document { file: Some(file), functions, ..self }
    }

    /// The document of a run with its costs: of the kernel itself, and behind phases.
    pub fn new(
        report: &Report,
        costs: &BTreeMap<Option<PassId>, Cost>,
        changes: Vec<Change>,
        rules: Vec<RuleUse>,
    ) -> Document {
        let micros = |time: Option<std::time::Duration>| time.map_or(0, |time| time.as_micros() as u64);
        let phase = |phase: &PassReport| Phase {
            name: phase.id.to_string(),
            number: phase.number,
            changed: phase.changed.is_yes(),
            instructions_before: phase.insts_before,
            instructions_after: phase.insts_after,
            rewrites: phase.rewrites,
            microseconds: micros(phase.time),
            cost: costs.get(&Some(phase.id)).copied(),
            counters: phase.statistics.clone(),
        };
        let ran = report.passes.iter().filter(|phase| phase.skipped.is_none());
        Document {
            phases: ran.map(phase).collect(),
            left_out: left_out(report, is_a_choice),
            cost: costs.get(&None).copied(),
            rules_microseconds: report.passes.iter().map(|phase| micros(phase.rules_time)).sum(),
            changes,
            rules,
            ..Document::default()
        }
    }
}

/// Says on standard error what was asked for beside the kernel.
pub fn say(document: &Document, args: &Args) {
    let mut text = Vec::new();
    // A vector takes everything, and a closed standard error nothing; the optimized kernel is still wanted.
    drop(write(document, args, &mut text));
    drop(io::stderr().write_all(&text));
}

fn write(document: &Document, args: &Args, out: &mut dyn Write) -> io::Result<()> {
    rule_uses::text(out, &document.rules)?;
    if args.explain {
        document.changes.iter().try_for_each(|change| writeln!(out, "{}", escaped(&change.to_string())))?;
        writeln!(out, "{}", counted(document.changes.len(), "change"))?;
    }
    if args.time {
        times(document, out)?;
    }
    if args.explain || args.time {
        let mut lines = document.left_out.iter();
        lines.try_for_each(|LeftOut { reason, phases }| writeln!(out, "left out, {reason}: {}", phases.join(", ")))?;
    }
    Ok(())
}

/// What each phase did, and how long it took; then how long the rewrite rules took to become ready.
fn times(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    static TITLES: [&str; 9] =
        ["phase", "changed", ">before", ">after", ">rewrites", ">us", ">executed", ">loads", ">pressure"];
    let shown = if document.cost.is_some() { TITLES.len() } else { TITLES.len() - 3 };
    let mut table = Table::new(&TITLES[..shown]);
    let costs = |cost: Option<Cost>| match cost {
        Some(Cost { executed, loads, pressure }) => [executed, loads, pressure.into()].map(|count| count.to_string()),
        None => [const { String::new() }; 3],
    };
    if document.cost.is_some() {
        let cells = ["(before)", "", "", "", "", ""].map(str::to_owned);
        table.row(cells.into_iter().chain(costs(document.cost)));
    }
    for phase in &document.phases {
        let cells = [
            phase.name.clone(),
            if phase.changed { "yes" } else { "no" }.to_owned(),
            phase.instructions_before.to_string(),
            phase.instructions_after.to_string(),
            phase.rewrites.to_string(),
            phase.microseconds.to_string(),
        ];
        table.row(cells.into_iter().chain(costs(phase.cost)).take(shown));
    }
    let cells = ["rules", "", "", "", "", &document.rules_microseconds.to_string()].map(str::to_owned);
    table.row(cells.into_iter().chain(costs(None)).take(shown));
    table.print(out)?;
    document.phases.iter().try_for_each(|phase| record(phase, out))
}

/// The record that a movement leaves, on a line of its own.
fn record(phase: &Phase, out: &mut dyn Write) -> io::Result<()> {
    let counters = phase.counters.iter().filter_map(|(name, count)| Some((name.strip_prefix("record: ")?, count)));
    let counts: Vec<String> = counters.map(|(name, count)| format!("{name} {count}")).collect();
    if counts.is_empty() { Ok(()) } else { writeln!(out, "{}: {}", phase.name, counts.join(", ")) }
}
