//! What a campaign says while it runs and at its end.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use oriole_campaign::coverage;
use oriole_campaign::record::Reduction;
use oriole_campaign::store::Stored;
use oriole_campaign::store::life::State;
use oriole_campaign::{Glance, RuleTally, Summary, Tally, TargetTally};
use oriole_check::report::KernelReport;
use oriole_optimizer::codegen::peephole::set::MachineRules;
use oriole_optimizer::peephole::RuleSet;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document;
use crate::live::Live;
use crate::numbers::counted;

/// Rules that applied least which a report names.
const RARE: usize = 5;
/// Names of what was not met that a report prints without being asked for all.
const LISTED: usize = 10;

/// Shows how far a campaign is.
pub fn show(live: &Live, glance: Glance<'_>) {
    live.show(|elapsed| {
        let line = line(glance.tally, glance.cases, elapsed);
        format!("{line}, {}, {}", counted(glance.findings, "finding"), counted(glance.hits, "hit"))
    });
}

/// Counters, the greatest first.
fn by_count(counters: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut counters: Vec<(String, u64)> = counters.iter().map(|(name, count)| (name.clone(), *count)).collect();
    counters.sort_by_key(|(_, count)| Reverse(*count));
    counters
}

fn line(tally: &Tally, cases: u64, time: Duration) -> String {
    let coverage = tally.coverage.summary();
    let percent = 100.0 * coverage.values as f64 / coverage.all_values.max(1) as f64;
    format!(
        "{}, {:.0} a second, {:.2} % valid, {} of {} opcodes, {percent:.1} % of their fields' values, \
         {} changed something",
        counted(tally.cases, "case"),
        cases as f64 / time.as_secs_f64().max(0.001),
        tally.valid_percent(),
        coverage.rows,
        coverage.all_rows,
        counted(tally.phases.len(), "phase"),
    )
}

/// How far a campaign was at a time.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct Sample {
    /// Seconds since its cases began.
    seconds: f64,
    /// Cases of this run.
    cases: u64,
    /// Findings that it had met.
    findings: usize,
    /// How often.
    hits: u64,
}

/// Samples that are kept at most; where there are more, every other one goes.
const SAMPLES: usize = 256;

/// The course of a campaign, at equal distances.
pub struct Samples {
    start: Instant,
    kept: Mutex<Kept>,
}

/// Samples, and how far they are apart.
struct Kept {
    samples: Vec<Sample>,
    apart: Duration,
}

impl Default for Samples {
    fn default() -> Samples {
        let kept = Kept { samples: Vec::new(), apart: Duration::from_millis(100) };
        Samples { start: Instant::now(), kept: Mutex::new(kept) }
    }
}

impl Samples {
    /// Adds how far a campaign is, unless the last sample was taken just now.
    pub fn add(&self, glance: &Glance<'_>) {
        let (Glance { cases, findings, hits, .. }, seconds) = (*glance, self.start.elapsed().as_secs_f64());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let apart = kept.apart.as_secs_f64();
        if kept.samples.last().is_some_and(|last| seconds - last.seconds < apart) {
            return;
        }
        kept.samples.push(Sample { seconds, cases, findings, hits });
        if kept.samples.len() > SAMPLES {
            kept.samples = kept.samples.iter().copied().step_by(2).collect();
            kept.apart *= 2;
        }
    }

    /// All samples.
    pub fn into_list(self) -> Vec<Sample> {
        self.kept.into_inner().unwrap_or_else(PoisonError::into_inner).samples
    }
}

/// The JSON of `fuzz`: the final report. Fields are added, never renamed or removed.
#[derive(JsonSchema, Serialize)]
pub struct Report {
    /// The campaign's seed.
    seed: u64,
    /// Which shard of how many.
    shard: (u64, u64),
    /// Cases, those before an interruption included.
    cases: u64,
    /// Cases before this run, which continues from there.
    resumed: u64,
    /// Cases of this run whose launches all finish: what a floor is compared with.
    executed: u64,
    /// The floor that was asked for.
    floor: Option<u64>,
    /// How long it took.
    seconds: f64,
    /// Cases of this run in a second.
    cases_per_second: f64,
    /// How far it was, from time to time.
    samples: Vec<Sample>,
    /// The share of cases whose launches all finish.
    valid_percent: f64,
    /// Instructions of a kernel.
    mean_instructions: u64,
    /// What came of each kind of cases.
    targets: Vec<(&'static str, TargetTally)>,
    /// In how many kernels each phase changed something.
    phases: Vec<(String, u64)>,
    /// What each phase has counted: changes by reason, and others, the most frequent first.
    counters: Vec<(String, Vec<(String, u64)>)>,
    /// How much of the opcode table was generated and executed.
    coverage: coverage::Summary,
    /// How often each rule matched and applied.
    rules: Vec<RuleTally>,
    #[serde(skip)]
    builtin_rules: usize,
    /// In how many kernels each fault was planted.
    planted: Vec<(String, u64)>,
    /// Inconclusive cases: the command that makes each again, and why.
    silent: Vec<(String, String)>,
    /// Kernels of the corpus that were checked first.
    corpus_kernels: usize,
    /// Whether a signal ended it.
    interrupted: bool,
    /// The findings store.
    store: String,
    /// What was found.
    findings: Vec<Stored>,
    #[serde(skip)]
    line: String,
    /// Whether all names are printed, and not the first alone.
    #[serde(skip)]
    at_length: bool,
}

impl document::Document for Report {
    const COMMAND: &'static str = "fuzz";
}

/// What a report is about, beside the campaign itself.
pub struct Context {
    pub seed: u64,
    pub shard: (u64, u64),
    pub floor: Option<u64>,
    pub time: Duration,
    pub corpus_kernels: usize,
    pub interrupted: bool,
    /// What a command that makes a case again says.
    pub arguments: String,
    pub findings: Vec<Stored>,
    /// How far it was, from time to time.
    pub samples: Vec<Sample>,
    /// Whether all names of what was not met are printed.
    pub at_length: bool,
    /// Whether phases ran over machine code.
    pub is_code: bool,
}

impl Report {
    /// The report of a campaign.
    pub fn new(summary: &Summary, rules: &RuleSet, context: Context) -> Report {
        let Context { seed, shard, floor, time, corpus_kernels, interrupted, arguments, findings, .. } = context;
        let Context { at_length, is_code, samples, .. } = context;
        let tally = &summary.progress.tally;
        let command = |number: &u64| format!("oriole fuzz --seed {seed} --case {number}{arguments}");
        Report {
            seed,
            shard,
            cases: tally.cases,
            resumed: summary.resumed,
            executed: summary.valid,
            floor,
            seconds: time.as_secs_f64(),
            samples,
            cases_per_second: summary.cases() as f64 / time.as_secs_f64().max(0.001),
            valid_percent: tally.valid_percent(),
            mean_instructions: tally.instructions.checked_div(tally.cases).unwrap_or(0),
            targets: tally.targets.iter().map(|(target, tally)| (target.name(), *tally)).collect(),
            phases: tally.phases.iter().map(|(phase, count)| (phase.clone(), *count)).collect(),
            counters: tally.counters.iter().map(|(phase, counters)| (phase.clone(), by_count(counters))).collect(),
            coverage: tally.coverage.summary(),
            rules: if is_code { tally.machine_rules(rules) } else { tally.rules(rules) },
            builtin_rules: if is_code { MachineRules::builtin().rules().len() } else { rules.builtin_count() },
            planted: tally.planted.iter().map(|(fault, count)| (fault.clone(), *count)).collect(),
            silent: tally.silent.iter().map(|(number, why)| (command(number), why.clone())).collect(),
            corpus_kernels,
            interrupted,
            store: summary.store.path().display().to_string(),
            findings,
            line: line(tally, summary.cases(), time),
            at_length,
        }
    }

    /// Whether something was found that nobody has closed.
    pub fn has_found(&self) -> bool {
        self.findings.iter().any(|stored| stored.counts())
    }

    /// The rules that never applied.
    fn unfired(&self) -> impl Iterator<Item = &RuleTally> {
        self.rules.iter().filter(|rule| rule.applied == 0)
    }

    /// Whether every rule applied: of the user's own rules, where there are any, each of these.
    pub fn has_applied_rules(&self) -> bool {
        let own = &self.rules[self.builtin_rules..];
        let required = if own.is_empty() { &self.rules } else { own };
        required.iter().all(|rule| rule.applied > 0)
    }

    /// How often a phase counted what; the changes of rules are not among it, which are listed apart.
    fn reasons(&self, phase: &str) -> String {
        let is_rule = |name: &str| {
            let rule = name.split_once(": ").map_or(name, |(rule, _)| rule);
            self.rules.iter().any(|known| known.name == rule)
        };
        let counters = self.counters.iter().filter(|(of, _)| of == phase).flat_map(|(_, counters)| counters);
        let others: Vec<String> =
            counters.filter(|(name, _)| !is_rule(name)).map(|(name, count)| format!("{name} {count}")).collect();
        if others.is_empty() { String::new() } else { format!(": {}", self.listed(&others, "--require-coverage")) }
    }

    /// Prints how often rules applied: all together, each of the user's own, the rarest, and those that never did.
    fn rules(&self, out: &mut dyn Write) -> io::Result<()> {
        let applied: u64 = self.rules.iter().map(|rule| rule.applied).sum();
        let unfired = self.unfired().count();
        writeln!(
            out,
            "rules: {} of {} applied, {applied}",
            self.rules.len() - unfired,
            self.rules.len(),
            applied = counted(applied, "time")
        )?;
        let of = |RuleTally { name, matched, applied }: &RuleTally| {
            format!("{name} {applied} of {}", counted(matched, "match"))
        };
        self.rules[self.builtin_rules..].iter().try_for_each(|rule| writeln!(out, "rule {}", of(rule)))?;
        let mut rare: Vec<&RuleTally> = self.rules.iter().filter(|rule| rule.applied > 0).collect();
        rare.sort_by_key(|rule| rule.applied);
        let rare: Vec<String> = rare.into_iter().take(RARE).map(of).collect();
        if !rare.is_empty() {
            writeln!(out, "rules that applied least: {}", rare.join(", "))?;
        }
        let unfired: Vec<String> = self.unfired().map(of).collect();
        if !unfired.is_empty() {
            writeln!(out, "rules that never applied: {}", self.listed(&unfired, "--require-rules"))?;
        }
        Ok(())
    }

    /// Names, or the first of them and an option that prints all.
    fn listed(&self, names: &[String], option: &str) -> String {
        let shown = if self.at_length { names.len() } else { names.len().min(LISTED) };
        let more = names.len() - shown;
        let rest = if more > 0 { format!(" and {more} more ({option} or --format json)") } else { String::new() };
        names[..shown].join(", ") + &rest
    }

    /// Its findings.
    pub fn findings(&self) -> &[Stored] {
        &self.findings
    }

    /// Prints it for people.
    pub fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.findings.iter().try_for_each(|stored| finding(out, stored))?;
        let shown = if self.at_length { self.silent.len() } else { LISTED };
        for (command, why) in self.silent.iter().take(shown) {
            writeln!(out, "inconclusive: {why}\n  {command}")?;
        }
        for (target, TargetTally { cases, valid, dropped }) in &self.targets {
            writeln!(
                out,
                "{target}: {cases}, {valid} finish, {dropped} dropped as they do not verify",
                cases = counted(cases, "case")
            )?;
        }
        for (phase, count) in &self.phases {
            writeln!(out, "{phase}: changed {count}{}", self.reasons(phase), count = counted(count, "kernel"))?;
        }
        let rows = self.coverage.missing_rows.iter().map(|row| (*row).to_owned()).collect();
        let missing: [(&str, Vec<String>); 2] = [("generated", rows), ("executed", self.coverage.holes.clone())];
        for (what, names) in missing.iter().filter(|(_, names)| !names.is_empty()) {
            writeln!(out, "never {what}: {}", self.listed(names, "--require-coverage"))?;
        }
        self.rules(out)?;
        if self.resumed > 0 {
            let verb = if self.resumed == 1 { "was" } else { "were" };
            writeln!(out, "{} {verb} done before", counted(self.resumed, "case"))?;
        }
        let (mean, seconds) = (self.mean_instructions, self.seconds);
        let hits: u64 = self.findings.iter().map(|stored| stored.hits.total()).sum();
        let found = format!("{}, {}", counted(self.findings.len(), "finding"), counted(hits, "hit"));
        writeln!(out, "{}, {found}, {mean} a kernel, {seconds:.1} s", self.line, mean = counted(mean, "instruction"))?;
        if !self.findings.is_empty() {
            writeln!(out, "next: oriole findings list --store {}", self.store)?;
        }
        if self.interrupted {
            writeln!(out, "interrupted; the same command with --resume goes on")?;
        }
        Ok(())
    }
}

/// A finding in a few lines.
pub fn finding(out: &mut dyn Write, stored: &Stored) -> io::Result<()> {
    let record = &stored.record;
    let key = &record.key;
    let rule = if key.rule.is_empty() { "no named rule" } else { &key.rule };
    let state = match stored.life.state {
        State::Regressed => "REGRESSION, it was fixed: ",
        State::Closed => "closed, it does not count: ",
        State::Open | State::Fixed => "",
    };
    let (id, hits) = (&stored.id, stored.hits.total());
    writeln!(
        out,
        "{id} {state}{} in {}, {rule}: {}, {hits}",
        key.verdict,
        key.phase,
        key.shape,
        hits = counted(hits, "hit")
    )?;
    writeln!(out, "  {}", record.detail.lines().next().unwrap_or_default())?;
    match &record.reduction {
        Reduction::Done { from, to, cut_off } => {
            let rest = if *cut_off { "; the time was up, --resume goes on" } else { "" };
            writeln!(out, "  reduced from {from} to {to}{rest}", to = counted(to, "instruction"))?;
        }
        Reduction::Failed { why } => writeln!(out, "  not reduced: {why}")?,
        Reduction::Pending => {}
    }
    writeln!(out, "  oriole findings show {}", &stored.id[..stored.id.len().min(8)])
}

/// The JSON of `fuzz --case`.
#[derive(JsonSchema, Serialize)]
pub struct Case<'a> {
    /// The kernel of the case, as `check` reports it.
    pub kernel: &'a KernelReport,
}

impl document::Document for Case<'_> {
    const COMMAND: &'static str = "fuzz case";
}

/// Prints for people what a case has come to.
pub fn case(report: &KernelReport, out: &mut dyn Write) -> io::Result<()> {
    for case in report.cases.iter().filter(|case| case.inconclusive.is_some()) {
        writeln!(out, "{}: {}", case.name, case.detail)?;
    }
    report.findings.iter().try_for_each(|finding| writeln!(out, "{finding}"))
}
