//! Reports of `oriole check`, as text and as JSON.

use std::io::{self, Write};

use oriole_check::cost::Cost;
use oriole_check::judge::Verdict;
use oriole_check::report::{Finding, KernelReport, StepLine};
use oriole_check::supervise::StepId;
use oriole_ir::diagnostics::escape::escaped;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cases::{Inconclusive, inconclusive, unexpected};
use crate::document;
use crate::numbers::counted;
use crate::rule_uses::{self, RuleUse};
use crate::table::Table;

/// The JSON of `check`.
#[derive(JsonSchema, Serialize)]
pub struct Document<'a> {
    /// Whether every kernel was judged, and nothing was found.
    clean: bool,
    /// Every step, over all kernels.
    phases: Vec<StepSummary>,
    /// The rules of `--rules`.
    rules: &'a [RuleUse],
    /// The kernels.
    kernels: &'a [KernelReport],
}

impl document::Document for Document<'_> {
    const COMMAND: &'static str = "check";
}

/// One step over all kernels.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct StepSummary {
    /// Its name.
    #[serde(rename = "name")]
    step: StepId,
    /// Its number in the inventory of phases.
    number: Option<u16>,
    /// Kernels that it ran on.
    kernels: usize,
    /// Kernels that it changed something in.
    changed: usize,
    /// Instructions before it, in all kernels.
    instructions_before: usize,
    /// Instructions after it.
    instructions_after: usize,
    /// Changes made.
    rewrites: u64,
    /// Kernels on which it left the same bytes.
    equal: usize,
    /// Kernels on which it left other bytes only where the original leaves them undefined.
    refined: usize,
    /// Kernels on which it is wrong.
    findings: usize,
    /// How long it took.
    microseconds: u64,
}

/// Prints the reports for programs.
pub fn json(out: &mut dyn Write, kernels: &[KernelReport], rules: &[RuleUse]) -> io::Result<()> {
    let clean = kernels.iter().all(|report| report.clean);
    document::print(out, &Document { clean, phases: summaries(kernels), rules, kernels })
}

/// What a report for people has beside the summary.
#[derive(Clone, Copy)]
pub struct Shown {
    /// A table of phases for each kernel, and every reason.
    pub verbose: bool,
    /// What each step leaves costs.
    pub costs: bool,
}

/// Prints the reports for people.
pub fn text(out: &mut dyn Write, reports: &[KernelReport], rules: &[RuleUse], shown: Shown) -> io::Result<()> {
    let Shown { verbose, costs } = shown;
    if verbose {
        for report in reports {
            writeln!(out, "{}", escaped(&report.kernel))?;
            phases(out, report)?;
            writeln!(out)?;
        }
    }
    if reports.is_empty() {
        return Ok(());
    }
    kernel_table(out, reports)?;
    writeln!(out)?;
    phase_table(out, reports)?;
    if costs {
        reports.iter().try_for_each(|report| cost_table(out, report))?;
    }
    if !rules.is_empty() {
        writeln!(out)?;
        rule_uses::text(out, rules)?;
    }
    for report in reports {
        if !report.is_as_expected() {
            writeln!(out)?;
            unexpected(out, &report.kernel, &report.cases, "any phase")?;
        }
        if verbose && report.inconclusive() > 0 || !report.judged {
            writeln!(out, "\n{}: {}", escaped(&report.kernel), report.verdict())?;
            inconclusive(out, &Inconclusive::among(&report.cases), report.cases.len(), "  ")?;
        }
        report.findings.iter().try_for_each(|found| finding(out, found))?;
    }
    conclusion(out, reports)
}

fn count(number: impl ToString) -> String {
    number.to_string()
}

fn milliseconds(microseconds: u64) -> String {
    format!("{:.1}", microseconds as f64 / 1000.0)
}

fn phases(out: &mut dyn Write, report: &KernelReport) -> io::Result<()> {
    let mut table = Table::new(&["phase", "changed", ">before", ">after", ">rewrites", ">us", "verdict"]);
    for line in report.phases.iter().filter(|phase| phase.skipped.is_none()) {
        let changed = if line.changed { "yes" } else { "no" };
        table.row([
            line.step.to_string(),
            changed.to_owned(),
            count(line.instructions_before),
            count(line.instructions_after),
            count(line.rewrites),
            count(line.microseconds),
            line.verdict.as_ref().map_or("-", Verdict::name).to_owned(),
        ]);
    }
    table.row(["rules", "", "", "", "", &count(report.rules_microseconds), "-"].map(str::to_owned));
    table.print(out)
}

/// What the steps that changed something leave, on the first case.
fn cost_table(out: &mut dyn Write, report: &KernelReport) -> io::Result<()> {
    let Some(first) = report.cost else { return Ok(()) };
    let case = report.cases.iter().find(|case| case.inconclusive.is_none()).map_or("", |case| &*case.name);
    writeln!(out, "\n{}, on {}", escaped(&report.kernel), escaped(case))?;
    let mut table = Table::new(&["phase", ">executed", ">loads", ">pressure"]);
    let changing = report.phases.iter().filter(|line| line.changed).filter_map(|line| Some((line.step, line.cost?)));
    let rows = changing.map(|(step, cost)| (step.to_string(), cost));
    for (name, Cost { executed, loads, pressure }) in std::iter::once(("(before)".to_owned(), first)).chain(rows) {
        table.row([name, count(executed), count(loads), count(pressure)]);
    }
    table.print(out)
}

fn kernel_table(out: &mut dyn Write, reports: &[KernelReport]) -> io::Result<()> {
    let mut table = Table::new(&["kernel", ">cases", ">inconclusive", ">data", ">before", ">after", ">ms", "verdict"]);
    for report in reports {
        table.row([
            report.kernel.clone(),
            count(report.cases.len()),
            count(report.inconclusive()),
            count(report.data),
            count(report.instructions_before),
            count(report.instructions_after),
            milliseconds(report.microseconds),
            report.verdict().to_owned(),
        ]);
    }
    table.print(out)
}

fn phase_table(out: &mut dyn Write, reports: &[KernelReport]) -> io::Result<()> {
    let mut table = Table::new(&[
        "phase",
        ">kernels",
        ">changed",
        ">before",
        ">after",
        ">rewrites",
        ">equal",
        ">refined",
        ">findings",
        ">ms",
    ]);
    for phase in summaries(reports) {
        table.row([
            phase.step.to_string(),
            count(phase.kernels),
            count(phase.changed),
            count(phase.instructions_before),
            count(phase.instructions_after),
            count(phase.rewrites),
            count(phase.equal),
            count(phase.refined),
            count(phase.findings),
            milliseconds(phase.microseconds),
        ]);
    }
    let rules = reports.iter().map(|report| report.rules_microseconds).sum();
    let cells = ["rules", "", "", "", "", "", "", "", ""].map(str::to_owned);
    table.row(cells.into_iter().chain([milliseconds(rules)]));
    table.print(out)
}

/// One line for each phase that ran on a kernel, in the order of the phase list.
fn summaries(reports: &[KernelReport]) -> Vec<StepSummary> {
    let longest = reports.iter().max_by_key(|report| report.phases.len());
    let mut summaries: Vec<StepSummary> =
        longest.iter().flat_map(|report| &report.phases).map(StepSummary::new).collect();
    for line in reports.iter().flat_map(|report| &report.phases).filter(|line| line.skipped.is_none()) {
        if let Some(summary) = summaries.iter_mut().find(|summary| summary.step == line.step) {
            summary.add(line);
        }
    }
    summaries.retain(|summary| summary.kernels > 0);
    summaries
}

impl StepSummary {
    fn new(line: &StepLine) -> StepSummary {
        StepSummary {
            step: line.step,
            number: line.number,
            kernels: 0,
            changed: 0,
            instructions_before: 0,
            instructions_after: 0,
            rewrites: 0,
            equal: 0,
            refined: 0,
            findings: 0,
            microseconds: 0,
        }
    }

    fn add(&mut self, line: &StepLine) {
        self.kernels += 1;
        self.changed += usize::from(line.changed);
        self.instructions_before += line.instructions_before;
        self.instructions_after += line.instructions_after;
        self.rewrites += line.rewrites;
        self.microseconds += line.microseconds;
        match &line.verdict {
            Some(Verdict::Equal) => self.equal += 1,
            Some(Verdict::Refined) => self.refined += 1,
            Some(verdict) => self.findings += usize::from(verdict.is_finding()),
            None => {}
        }
    }
}

fn finding(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    writeln!(out, "\n{}: {} in {}", escaped(&finding.kernel), finding.verdict.name(), finding.phase)?;
    writeln!(out, "  {}", finding.detail)?;
    if !finding.case.is_empty() {
        writeln!(out, "  case: {}", escaped(&finding.case))?;
    }
    if let Some(store) = &finding.store_before {
        writeln!(out, "  stored before the phase: {store}")?;
    }
    if let Some(store) = &finding.store_after {
        writeln!(out, "  stored after the phase:  {store}")?;
    }
    match &finding.rewrite {
        Some(rewrite) => {
            let rule = rewrite.rule.as_ref().map_or(String::new(), |_| format!(" ({})", rewrite.cause()));
            let function = rewrite.function.as_ref().map_or(String::new(), |name| format!(" in function `{name}`"));
            let what = if finding.phase == StepId::PtxRoundTrip { "misread spelling" } else { "guilty rewrite" };
            writeln!(out, "  {what}: number {}{rule}{function}", rewrite.index)?;
            rewrite.diff.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        None if matches!(finding.verdict, Verdict::Hangs(_)) => {}
        None if !finding.axes.is_empty() => {}
        None if finding.text.is_some() => writeln!(out, "  it is misread as it is printed")?,
        None => writeln!(out, "  no single rewrite is guilty: the phase is wrong without leave to change anything")?,
    }
    if let Some(file) = &finding.reproducer {
        writeln!(out, "  reproducer: {}", escaped(file))?;
    }
    writeln!(out, "  replay: {}", escaped(&finding.replay))
}

fn conclusion(out: &mut dyn Write, reports: &[KernelReport]) -> io::Result<()> {
    let clean = reports.iter().filter(|report| report.clean).count();
    let cases: usize = reports.iter().map(|report| report.cases.len()).sum();
    let findings: usize = reports.iter().map(|report| report.findings.len()).sum();
    let unjudged = match reports.iter().filter(|report| !report.judged).count() {
        0 => String::new(),
        count => format!(", {count} not judged"),
    };
    let (kernels, cases) = (counted(reports.len(), "kernel"), counted(cases, "case"));
    writeln!(out, "\n{clean} of {kernels} clean, {cases}, {}{unjudged}", counted(findings, "finding"))
}
