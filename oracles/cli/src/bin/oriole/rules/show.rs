//! How reports about rules are printed.

use std::io::{self, Write};
use std::time::Duration;

use oriole_ir::diagnostics::escape::escaped;
use oriole_optimizer::peephole::RuleSet;
use oriole_rules::Instance;
use oriole_rules::cost::{Weights, of_pattern, of_result};
use oriole_validate::kernel::Confirmation;
use oriole_validate::{GuardReport, Need, RuleReport, Verdict};

use super::documents::{CheckDocument, ExplainDocument, GuardItem, Item, ListDocument};
use super::machine::Line;
use crate::document;
use crate::numbers::counted;
use crate::table::Table;

/// Instances that `explain` shows.
const SHOWN_INSTANCES: usize = 12;
/// Reasons that a report shows of those why a rule is not proved.
const SHOWN_REASONS: usize = 3;

/// The reports of a check.
pub struct Findings<'a> {
    /// One a rule.
    pub reports: &'a [RuleReport],
    /// One a rule over instructions of the machine.
    pub machine: &'a [Line],
    /// For each the command that replays what is wrong with it.
    pub replays: &'a [Option<String>],
    /// Rules that never apply beside the built-in ones, each with one of those that is tried first.
    pub shadows: &'a [(&'static str, &'static str)],
    /// What operations weigh, where a file states it.
    pub weights: &'a Weights,
    /// The built-in rules that raise the measure of these weights.
    pub raising: &'a [&'static str],
    /// How long all took.
    pub time: Duration,
}

impl Findings<'_> {
    /// For people: a table, what is wrong, and a line that sums it up.
    pub fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.reports.is_empty() || self.machine.is_empty() {
            self.table(out)?;
        }
        self.machine.iter().try_for_each(|line| line.text(out))
    }

    fn table(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table =
            Table::new(&["rule", ">instances", "verdict", "evidence", ">inputs", ">met guards", "guards", ">ms"]);
        for report in self.reports {
            table.row([
                report.name.clone(),
                report.instances.to_string(),
                report.verdict.name().to_owned(),
                evidence(report),
                report.proof.tried.to_string(),
                share(report.proof.relevant, report.proof.tried),
                guards(report),
                report.time.as_millis().to_string(),
            ]);
        }
        table.print(out)?;
        for (report, replay) in self.reports.iter().zip(self.replays) {
            wrong(out, report, replay.as_deref())?;
        }
        for report in self.reports {
            let idle = report.guards.iter().filter(|guard| matches!(guard.need, Need::Idle | Need::Unclear));
            for guard in idle {
                writeln!(
                    out,
                    "\n{} at {}: the guard `{}` {}",
                    report.name,
                    report.place,
                    guard.text,
                    need(&guard.need)
                )?;
            }
        }
        for report in self.reports {
            if let Some(by) = self.shadow(report) {
                writeln!(
                    out,
                    "\n{} at {}: never applies beside the built-in `{by}`, which is tried first and matches as much; \
                     a higher priority lets it",
                    report.name, report.place
                )?;
            }
        }
        self.measure(out)?;
        writeln!(out, "\n{}", self.summary())
    }

    fn measure(&self, out: &mut dyn Write) -> io::Result<()> {
        let weights: Vec<String> =
            self.weights.iter().map(|(opcode, weight)| format!("{} {weight}", opcode.row().name)).collect();
        if weights.is_empty() {
            return Ok(());
        }
        let raising: Vec<String> = self.raising.iter().map(|rule| format!("`{rule}`")).collect();
        let raised = match &raising[..] {
            [] => "no built-in rule raises it".to_owned(),
            some => format!("the built-in {} raise it, so rewriting may not end", some.join(", ")),
        };
        writeln!(out, "\nmeasure: {}; {raised}", weights.join(", "))
    }

    fn summary(&self) -> String {
        let count = |verdict| self.reports.iter().filter(|report| report.verdict == verdict).count();
        let all = [
            Verdict::Proved,
            Verdict::Exhaustive,
            Verdict::Tested,
            Verdict::Unknown,
            Verdict::Vacuous,
            Verdict::Refuted,
        ];
        let counts: Vec<String> = all
            .into_iter()
            .filter(|verdict| count(*verdict) > 0 || *verdict == Verdict::Refuted)
            .map(|verdict| format!("{} {}", count(verdict), verdict.name()))
            .collect();
        let tried: u64 = self.reports.iter().map(|report| report.proof.tried).sum();
        let (rules, tried) = (counted(self.reports.len(), "rule"), counted(tried, "input"));
        format!("{rules}: {}; {tried} in {:.1} s", counts.join(", "), self.time.as_secs_f64())
    }

    /// For programs.
    pub fn document(&self) -> CheckDocument<'_> {
        let items: Vec<Item<'_>> = self
            .reports
            .iter()
            .zip(self.replays)
            .map(|(report, replay)| Item::new(report, replay.as_deref(), self.shadow(report)))
            .collect();
        let weights = self.weights.iter().map(|(opcode, weight)| (opcode.row().name, weight)).collect();
        let (raising, machine, ms) = (self.raising, self.machine, self.time.as_millis() as u64);
        CheckDocument { rules: items, machine, weights, raising, ms }
    }

    /// The built-in rule that a rule never applies beside.
    fn shadow(&self, report: &RuleReport) -> Option<&'static str> {
        self.shadows.iter().find(|(rule, _)| *rule == report.name).map(|(_, by)| *by)
    }
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.0} %", 100.0 * part as f64 / whole as f64) }
}

/// How the variants were settled.
fn evidence(report: &RuleReport) -> String {
    let proof = &report.proof;
    let mut parts = Vec::new();
    if report.refutation.is_none() {
        if proof.simplified > 0 {
            parts.push(format!("{} equal terms", proof.simplified));
        }
        if proof.solved > 0 {
            let solvers: Vec<&str> = proof.solvers.iter().map(String::as_str).collect();
            parts.push(format!("{} by {} in {} ms", proof.solved, solvers.join(" and "), proof.millis));
        }
        if proof.exhausted > 0 {
            parts.push(format!("{} by all inputs", proof.exhausted));
        }
        if proof.vacuous > 0 {
            parts.push(format!("{} never apply", proof.vacuous));
        }
        if !proof.kernels_only.is_empty() {
            let inputs = counted(proof.inputs(), "input");
            parts.push(format!("{} as kernels only, on {inputs}", proof.kernels_only.len()));
        }
        if proof.unmet > 0 {
            parts.push(format!("{} whose guards no sample met", proof.unmet));
        }
        if proof.applied > 0 {
            parts.push(format!("executed {}", counted(proof.applied, "time")));
        }
    }
    if !proof.open.is_empty() {
        parts.push(format!("{} open", proof.open.len()));
    }
    if let Some(refutation) = &report.refutation {
        parts.push(format!("found by {}", refutation.found_by));
    }
    parts.join(", ")
}

fn guards(report: &RuleReport) -> String {
    let count = |wanted: fn(&Need) -> bool| report.guards.iter().filter(|guard| wanted(&guard.need)).count();
    let kinds: [(usize, &str); 5] = [
        (count(|need| matches!(need, Need::Shown(_) | Need::Refused(_))), "needed"),
        (count(|need| *need == Need::Cost), "cost"),
        (count(|need| *need == Need::Idle), "idle"),
        (count(|need| *need == Need::Unclear), "unclear"),
        (report.added.len(), "added"),
    ];
    let parts: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

fn need(need: &Need) -> String {
    match need {
        Need::Shown(example) => format!("is needed; without it: {example}"),
        Need::Refused(reason) => format!("is needed; without it the rule is refused: {reason}"),
        Need::Cost => "says when the rule pays, not what it means".to_owned(),
        Need::Idle => "is idle: the rule is right without it".to_owned(),
        Need::Unclear => "was not shown to be needed".to_owned(),
    }
}

/// What nobody has shown of a rule that is only tested.
fn not_shown(out: &mut dyn Write, report: &RuleReport) -> io::Result<()> {
    writeln!(out, "\n{}: {} at {}; not shown:", report.verdict.name(), report.name, report.place)?;
    for one in report.proof.kernels_only.iter().take(SHOWN_REASONS) {
        writeln!(out, "  {one}")?;
    }
    match report.proof.kernels_only.len().saturating_sub(SHOWN_REASONS) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more (--format json has all)"),
    }
}

/// Why a rule does not pass, or is only tested.
fn wrong(out: &mut dyn Write, report: &RuleReport, replay: Option<&str>) -> io::Result<()> {
    match report.verdict {
        Verdict::Tested => return not_shown(out, report),
        verdict if verdict.is_pass() => return Ok(()),
        _ => writeln!(out, "\n{}: {} at {}", report.verdict.name(), report.name, report.place)?,
    }
    for reason in report.proof.open.iter().take(SHOWN_REASONS) {
        writeln!(out, "  {reason}")?;
    }
    if report.proof.open.len() > SHOWN_REASONS {
        writeln!(out, "  and {} more", report.proof.open.len() - SHOWN_REASONS)?;
    }
    if report.verdict == Verdict::Vacuous {
        let kernels = report.proof.kernels;
        match kernels {
            0 => writeln!(out, "  no input meets its guards")?,
            _ => {
                let kernels = counted(kernels, "kernel");
                writeln!(out, "  the optimizer applies it to none of {kernels} with its left side")?;
            }
        }
    }
    let Some(refutation) = &report.refutation else { return Ok(()) };
    writeln!(out, "  {refutation}")?;
    match &refutation.confirmation {
        Confirmation::Confirmed(_) => writeln!(out, "  the interpreter confirms it:")?,
        Confirmation::Disagreement { reason, .. } => {
            writeln!(out, "  found as said, and not seen when executed: {reason}; please report it with this kernel:")?;
        }
        Confirmation::OtherNan => {
            writeln!(out, "  PTX allows the device to choose this NaN; the interpreter chooses one that hides it")?;
        }
        Confirmation::Undefined => writeln!(
            out,
            "  PTX leaves a result inside the pattern open here, and the pattern does not depend on it; the interpreter \
             calls all undefined that is computed of such a result, which hides it"
        )?,
        Confirmation::NotTried => {}
    }
    match replay {
        Some(replay) => writeln!(out, "  {replay}"),
        None => Ok(()),
    }
}

impl<'a> Item<'a> {
    fn new(report: &'a RuleReport, replay: Option<&'a str>, shadowed_by: Option<&'a str>) -> Item<'a> {
        let proof = &report.proof;
        let guard = |guard: &'a GuardReport| GuardItem {
            guard: &guard.text,
            need: match guard.need {
                Need::Shown(_) | Need::Refused(_) => "needed",
                Need::Cost => "cost",
                Need::Idle => "idle",
                Need::Unclear => "unclear",
            },
            why: need(&guard.need),
        };
        let confirmed = |confirmation: &Confirmation| matches!(confirmation, Confirmation::Confirmed(_));
        Item {
            name: &report.name,
            place: &report.place,
            priority: report.priority,
            instances: report.instances,
            variants: report.variants,
            contract: report.contract,
            verdict: report.verdict.name(),
            equal_terms: proof.simplified,
            solved: proof.solved,
            solvers: proof.solvers.iter().map(String::as_str).collect(),
            solver_ms: proof.millis,
            exhausted: proof.exhausted,
            vacuous: proof.vacuous,
            kernels_only: proof.kernels_only.iter().map(|one| &*one.variant).collect(),
            kernels_only_inputs: proof.inputs(),
            not_shown: proof.kernels_only.iter().map(ToString::to_string).collect(),
            open: &proof.open,
            tried: proof.tried,
            met_guards: proof.relevant,
            kernels: proof.kernels,
            applied: proof.applied,
            guards: report.guards.iter().map(guard).collect(),
            added_guards: &report.added,
            counterexample: report.refutation.as_ref().map(ToString::to_string),
            confirmed: report.refutation.as_ref().map(|refutation| confirmed(&refutation.confirmation)),
            replay,
            shadowed_by,
            ms: report.time.as_millis() as u64,
        }
    }
}

/// The rules with their places.
pub fn list(out: &mut dyn Write, reports: &[RuleReport]) -> io::Result<()> {
    let mut table = Table::new(&["rule", "place", ">priority", ">instances", "contract", "verdict"]);
    for report in reports {
        table.row([
            report.name.clone(),
            report.place.clone(),
            report.priority.to_string(),
            report.instances.to_string(),
            report.contract.to_owned(),
            report.verdict.name().to_owned(),
        ]);
    }
    table.print(out)?;
    writeln!(out, "\n{}; `oriole rules explain NAME` says more", counted(reports.len(), "rule"))
}

/// The same for programs.
pub fn list_json(out: &mut dyn Write, reports: &[RuleReport]) -> io::Result<()> {
    document::print(out, &ListDocument { rules: reports.iter().map(|report| Item::new(report, None, None)).collect() })
}

/// What falls from the pattern to the result.
fn measures(instance: &Instance, weights: &Weights) -> String {
    let (before, after) = (of_pattern(instance, weights), of_result(instance, weights));
    let parts = [
        ("cost", before.cost, after.cost),
        ("operations", before.operations, after.operations),
        ("weight", before.weight, after.weight),
        ("rank", before.rank, after.rank),
    ];
    let shown = parts.into_iter().filter(|(name, before, after)| *name != "weight" || before + after > 0);
    let part = |(name, before, after): (&str, u32, u32)| format!("{name} {before} becomes {after}");
    shown.map(part).collect::<Vec<_>>().join(", ")
}

/// Everything about one rule.
pub fn explain(out: &mut dyn Write, set: &RuleSet, index: usize, report: &RuleReport) -> io::Result<()> {
    let rule = &set.rules()[index];
    writeln!(out, "{} at {}, priority {}, {}", report.name, report.place, report.priority, report.contract)?;
    for line in escaped(&rule.decl().doc).lines() {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "\n{}\n", rule.decl())?;
    let bound: Vec<String> = rule.instances().iter().map(|instance| instance.binding_text()).collect();
    if bound.iter().any(|text| !text.is_empty()) {
        writeln!(out, "It stands for {}:", counted(bound.len(), "instance"))?;
        bound.iter().take(SHOWN_INSTANCES).try_for_each(|text| writeln!(out, "  {text}"))?;
        if bound.len() > SHOWN_INSTANCES {
            writeln!(out, "  and {} more", bound.len() - SHOWN_INSTANCES)?;
        }
        writeln!(out)?;
    }
    if let Some(instance) = rule.instances().first() {
        writeln!(out, "Measure: {}\n", measures(instance, set.weights()))?;
    }
    if !report.guards.is_empty() {
        writeln!(out, "Guards:")?;
        for guard in &report.guards {
            writeln!(out, "  `{}` {}", guard.text, need(&guard.need))?;
        }
        writeln!(out)?;
    }
    if !report.added.is_empty() {
        writeln!(out, "Guards that the language adds, since the result reads more of an operand than the pattern:")?;
        report.added.iter().try_for_each(|guard| writeln!(out, "  {guard}"))?;
        writeln!(out)?;
    }
    writeln!(out, "Verdict: {}", report.verdict.name())?;
    writeln!(out, "  {}", evidence(report))?;
    let met = share(report.proof.relevant, report.proof.tried);
    writeln!(out, "  {} tried, {met} of them met the guards", counted(report.proof.tried, "input"))?;
    wrong(out, report, None)
}

/// The same for programs.
pub fn explain_json(out: &mut dyn Write, set: &RuleSet, index: usize, report: &RuleReport) -> io::Result<()> {
    let rule = &set.rules()[index];
    let document = ExplainDocument {
        rule: Item::new(report, None, None),
        doc: &rule.decl().doc,
        text: rule.decl().to_string(),
        bindings: rule.instances().iter().map(Instance::binding_text).collect(),
        measure: rule.instances().first().map(|instance| measures(instance, set.weights())),
    };
    document::print(out, &document)
}
