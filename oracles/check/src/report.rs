//! The results of a check, as values that serialize.
//!
//! These structures are the JSON output of `oriole check --format json`. Fields are added, never renamed or removed;
//! verdicts and steps are written by the names of [`Verdict::name`] and [`StepId::name`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use oriole_ir::Module;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::signature;
use super::step::{self, Done, Step};
use crate::compiler::Axis;
use crate::cost::Cost;
use crate::inject::FaultSpec;
use crate::input::NamedLaunch;
use crate::judge::Verdict;
use crate::recording::Recording;
use crate::supervise::StepId;
use oriole_launch::Launch;

/// One kernel.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct KernelReport {
    /// The kernel, as the caller named it.
    pub kernel: String,
    /// Whether it was judged and nothing was found: no finding, and every launch as expected.
    pub clean: bool,
    /// Whether a case says what the kernel should do; otherwise no step was judged by what it does.
    pub judged: bool,
    /// How many different data the cases have on which that is so.
    pub data: usize,
    /// The original on every case.
    pub cases: Vec<CaseLine>,
    /// Every step that was reached.
    pub phases: Vec<StepLine>,
    /// The faults that were to be planted.
    pub faults: Vec<FaultLine>,
    /// The counters of all phases together, by name: changes by rule, matches at which a guard fails, and others.
    pub statistics: BTreeMap<&'static str, u64>,
    /// What is wrong with steps.
    pub findings: Vec<Finding>,
    /// What the original costs on the first case; null where that was not asked for.
    pub cost: Option<Cost>,
    /// Instructions of the original.
    pub instructions_before: usize,
    /// Instructions after the last phase.
    pub instructions_after: usize,
    /// How long phases waited for the rewrite rules to become ready. Those that an earlier kernel needed are ready.
    pub rules_microseconds: u64,
    /// How long the whole check took.
    pub microseconds: u64,
    /// The programs between the steps, where they were kept; not part of the output.
    #[serde(skip)]
    pub recording: Option<Recording>,
}

/// The original on one case.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CaseLine {
    /// The launch, and the seed of its data.
    pub name: String,
    /// The seed; `None` for the launch's own data.
    pub seed: Option<u64>,
    /// Why the case is inconclusive; `None` where the original finishes.
    #[serde(rename = "outcome", serialize_with = "finished_or_why_not")]
    #[schemars(with = "String")]
    pub inconclusive: Option<Verdict>,
    /// How the run ended, where it did not finish.
    pub detail: String,
    /// Warp instructions executed.
    pub steps: u64,
    /// Whether the buffers hold what the launch expects; `None` where it expects nothing.
    pub expected: Option<bool>,
    /// The first elements that differ from what the launch expects.
    pub differences: Vec<String>,
}

impl CaseLine {
    /// Why the case says nothing, who and where, and what that leaves open; `None` where it is conclusive.
    pub fn why_not(&self) -> Option<String> {
        let leaves = match self.inconclusive.as_ref()? {
            Verdict::OriginalRaces => {
                "; what is read or left there depends on the order of threads, which is another in other code, so no \
                 difference is a fault"
            }
            Verdict::OutOfSteps => "; `steps` in the launch file raises the limit",
            _ => "",
        };
        Some(format!("{}{leaves}", self.detail))
    }
}

fn finished_or_why_not<S: Serializer>(inconclusive: &Option<Verdict>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(inconclusive.as_ref().map_or("finished", Verdict::name))
}

/// One step on one kernel.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct StepLine {
    /// The step.
    #[serde(rename = "name")]
    pub step: StepId,
    /// Its number in the inventory of phases.
    pub number: Option<u16>,
    /// Why it was not taken.
    pub skipped: Option<&'static str>,
    /// Whether it changed what the next step takes.
    pub changed: bool,
    /// Instructions before it.
    pub instructions_before: usize,
    /// Instructions after it.
    pub instructions_after: usize,
    /// Changes made.
    pub rewrites: u64,
    /// The worst verdict over all cases; `None` where nothing was compared.
    pub verdict: Option<Verdict>,
    /// What the program costs behind it on the first case; null where that was not asked for, or cannot be.
    pub cost: Option<Cost>,
    /// How long it took.
    pub microseconds: u64,
    /// Its counters, by name: changes by rule, and others.
    pub counters: BTreeMap<&'static str, u64>,
}

impl StepLine {
    /// Whether the step was not taken since its arguments ask for what the module does not have.
    pub fn is_misfit(&self) -> bool {
        self.skipped == Some(step::MISFIT)
    }

    /// The line of a step that was not taken, on a module of so many instructions.
    pub(super) fn skipped(step: &Step, instructions: usize, reason: &'static str) -> StepLine {
        StepLine { skipped: Some(reason), ..StepLine::blank(step, instructions) }
    }

    /// The line of a step that went wrong by itself.
    pub(super) fn failed(step: &Step, instructions: usize, verdict: Verdict) -> StepLine {
        StepLine { changed: true, verdict: Some(verdict), ..StepLine::blank(step, instructions) }
    }

    /// The line of a step that came to its end.
    pub(super) fn done(step: &Step, before: usize, done: &Done, verdict: Option<Verdict>) -> StepLine {
        StepLine {
            changed: done.changed && step.is_kept(),
            instructions_after: done.instructions,
            rewrites: done.rewrites,
            verdict,
            microseconds: done.time.as_micros() as u64,
            counters: done.statistics.clone(),
            ..StepLine::blank(step, before)
        }
    }

    fn blank(step: &Step, instructions: usize) -> StepLine {
        StepLine { number: step.number(), ..StepLine::of(step.id(), instructions) }
    }

    /// The line of a step of which nothing is known yet.
    pub(super) fn of(step: StepId, instructions: usize) -> StepLine {
        StepLine {
            step,
            number: None,
            skipped: None,
            changed: false,
            instructions_before: instructions,
            instructions_after: instructions,
            rewrites: 0,
            verdict: None,
            cost: None,
            microseconds: 0,
            counters: BTreeMap::new(),
        }
    }
}

/// A fault on one kernel.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct FaultLine {
    /// The fault, as `--fault` takes it.
    pub fault: String,
    /// Whether the kernel had a place for it.
    pub planted: bool,
    #[serde(skip)]
    spec: FaultSpec,
}

/// Something that is wrong with a step.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Finding {
    /// The kernel.
    pub kernel: String,
    /// The guilty step.
    pub phase: StepId,
    /// What it did.
    pub verdict: Verdict,
    /// The case that shows it; empty where it takes none.
    pub case: String,
    /// What differs: the first bytes with expected and actual content, the broken rule, the panic's message.
    pub detail: String,
    /// What differs, in words that stay the same from kernel to kernel ([`super::signature`]).
    #[serde(rename = "shape")]
    pub signature: String,
    /// Whether the guilty change was looked for; not where enough failures have the same signature.
    pub bisected: bool,
    /// The function, where it is known.
    pub function: Option<String>,
    /// The guilty change, where the step can be bisected; of a round trip, the change of spelling that is misread.
    pub rewrite: Option<Rewrite>,
    /// The store that wrote the first differing byte before the phase.
    pub store_before: Option<String>,
    /// The store that wrote it after the phase.
    pub store_after: Option<String>,
    /// The module before the phase, written for replay.
    pub reproducer: Option<String>,
    /// The command that shows the finding again.
    pub replay: String,
    /// The PTX that is misread, where reading PTX goes wrong; not part of the output.
    #[serde(skip)]
    pub text: Option<Arc<str>>,
    /// The axes on which a compiler goes wrong; not part of the output.
    #[serde(skip)]
    pub axes: Vec<Axis>,
    /// What shows it, to bisect and reduce; not part of the output.
    #[serde(skip)]
    pub evidence: Arc<Evidence>,
}

impl Finding {
    /// Something that is wrong with a kernel file before any phase has seen it.
    pub fn of_front_end(file: &str, verdict: Verdict, detail: String) -> Finding {
        Finding {
            kernel: file.to_owned(),
            phase: StepId::FrontEnd,
            signature: signature::of(&verdict),
            verdict,
            case: String::new(),
            detail,
            bisected: true,
            function: None,
            rewrite: None,
            store_before: None,
            store_after: None,
            reproducer: None,
            text: None,
            axes: Vec::new(),
            replay: format!("oriole check {file}"),
            evidence: Arc::new(Evidence { module: Module::default(), launch: None }),
        }
    }
}

/// A few lines for people: what went wrong where, the guilty change, and how to see it again.
impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { kernel, phase, verdict, case, detail, replay, .. } = self;
        writeln!(out, "{} in {phase}: {kernel}, {case}\n  {detail}", verdict.name())?;
        if let Some(rewrite) = &self.rewrite {
            writeln!(out, "  rewrite {} ({})", rewrite.index, rewrite.cause())?;
            rewrite.diff.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        write!(out, "  {replay}")
    }
}

/// A program on which one phase goes wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// The module before the phase.
    pub module: Module,
    /// The launch that shows the difference; `None` where it takes none.
    pub launch: Option<Launch>,
}

/// A single change.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Rewrite {
    /// Its number among the phase's changes, from 1.
    pub index: u64,
    /// The rule, where it has a name.
    pub rule: Option<String>,
    /// The pass that made it, where the step is a nest of passes.
    pub pass: Option<String>,
    /// The function it was made in.
    pub function: Option<String>,
    /// The lines of text form that it changes, as a unified diff.
    pub diff: String,
    /// The operations that it removes and adds ([`super::variant::change`]).
    pub change: String,
}

impl Rewrite {
    /// The rule, and the pass where the step is a nest: `gvn:load of gvn#2`.
    pub fn cause(&self) -> String {
        let rule = self.rule.as_deref().unwrap_or("no named rule");
        self.pass.as_ref().map_or(rule.to_owned(), |pass| format!("{rule} of {pass}"))
    }
}

impl StepLine {
    /// Adds the line of the same step over other code of the same kernel.
    pub(super) fn join(&mut self, other: StepLine) {
        let is_finding = |line: &StepLine| line.verdict.as_ref().is_some_and(Verdict::is_finding);
        if self.verdict.is_none() || is_finding(&other) && !is_finding(self) {
            self.verdict = other.verdict;
        }
        self.skipped = self.skipped.filter(|_| other.skipped.is_some());
        self.changed |= other.changed;
        self.instructions_before += other.instructions_before;
        self.instructions_after += other.instructions_after;
        self.rewrites += other.rewrites;
        self.microseconds += other.microseconds;
        other.counters.into_iter().for_each(|(name, count)| *self.counters.entry(name).or_default() += count);
    }
}

impl KernelReport {
    /// Adds the report on other code of the same kernel. What is wrong with both in the same way is one finding.
    pub(super) fn join(&mut self, other: KernelReport) {
        for line in other.phases {
            match self.phases.iter_mut().find(|own| own.step == line.step) {
                Some(own) => own.join(line),
                None => self.phases.push(line),
            }
        }
        for finding in other.findings {
            let rule = |finding: &Finding| finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.clone());
            let is_same = |own: &&mut Finding| {
                own.phase == finding.phase && own.verdict.is_like(&finding.verdict) && rule(own) == rule(&finding)
            };
            match self.findings.iter_mut().find(is_same) {
                Some(own) => own.axes.extend(finding.axes),
                None => self.findings.push(finding),
            }
        }
        for (own, line) in self.faults.iter_mut().zip(other.faults) {
            own.planted |= line.planted;
        }
        other.statistics.into_iter().for_each(|(name, count)| *self.statistics.entry(name).or_default() += count);
        (self.judged, self.clean) = (self.judged || other.judged, self.clean && other.clean);
        self.instructions_before += other.instructions_before;
        self.instructions_after += other.instructions_after;
        self.rules_microseconds += other.rules_microseconds;
        self.microseconds += other.microseconds;
    }

    pub(super) fn new(kernel: &str, instructions: usize, faults: &[FaultSpec]) -> KernelReport {
        KernelReport {
            kernel: kernel.to_owned(),
            clean: true,
            judged: true,
            data: 0,
            cases: Vec::new(),
            phases: Vec::new(),
            faults: faults.iter().map(|&spec| FaultLine { fault: spec.to_string(), planted: false, spec }).collect(),
            statistics: BTreeMap::new(),
            findings: Vec::new(),
            cost: None,
            instructions_before: instructions,
            instructions_after: instructions,
            rules_microseconds: 0,
            microseconds: 0,
            recording: None,
        }
    }

    /// A finding for the first launch whose buffers do not hold what it expects: nothing but the front end, or the
    /// interpreter, has touched the original.
    pub fn unexpected(&self, module: &Module, launches: &[NamedLaunch]) -> Option<Finding> {
        let case = self.cases.iter().find(|case| case.expected == Some(false))?;
        let launch = launches.iter().find(|launch| launch.name == case.name).map(|named| named.launch.clone());
        let verdict = Verdict::Unexpected(case.differences.join("; "));
        let detail = verdict.to_string();
        Some(Finding {
            case: case.name.clone(),
            replay: format!("oriole run {} --launch {}", self.kernel, case.name),
            evidence: Arc::new(Evidence { module: module.clone(), launch }),
            ..Finding::of_front_end(&self.kernel, verdict, detail)
        })
    }

    /// Notes the faults of a step that were planted in it, as its counters say.
    pub(super) fn note_faults(&mut self, step: StepId, statistics: &BTreeMap<&'static str, u64>) {
        let own = self.faults.iter_mut().filter(|line| line.spec.step == step);
        own.for_each(|line| line.planted |= line.spec.was_made(statistics));
    }

    /// Notes the faults of stages and passes of our own compiler that were planted, as its counters say.
    pub(super) fn note_own_faults(&mut self, statistics: &BTreeMap<&'static str, u64>) {
        let is_own = |line: &&mut FaultLine| line.spec.step.is_own_compilation() || line.spec.step.is_pass();
        let own = self.faults.iter_mut().filter(is_own);
        own.for_each(|line| line.planted |= line.spec.was_made(statistics));
    }

    /// Adds a finding. A step that fails may have left no counters, and its faults are taken for planted.
    pub(super) fn add(&mut self, finding: Finding) {
        let own = self.faults.iter_mut().filter(|line| line.spec.step == finding.phase);
        own.for_each(|line| line.planted = true);
        self.findings.push(finding);
    }

    /// Makes a case inconclusive: its threads race, and a step has changed which comes first.
    pub(super) fn race(&mut self, case: &str) {
        let detail =
            "threads of the original race, or what they do depends on their order; `--races` says where they race";
        for line in self.cases.iter_mut().filter(|line| line.name == case) {
            (line.inconclusive, line.detail) = (Some(Verdict::OriginalRaces), detail.to_owned());
        }
    }

    pub(super) fn conclude(&mut self) {
        self.judged = self.cases.iter().any(|case| case.inconclusive.is_none());
        self.clean = self.findings.is_empty() && self.judged && self.is_as_expected();
    }

    /// Whether every launch leads to what it expects.
    pub fn is_as_expected(&self) -> bool {
        self.cases.iter().all(|case| case.expected != Some(false))
    }

    /// Cases that are inconclusive.
    pub fn inconclusive(&self) -> usize {
        self.cases.iter().filter(|case| case.inconclusive.is_some()).count()
    }

    /// One word for the whole kernel: `ok`, `refined`, a finding's verdict, `unexpected`, or why every case is
    /// inconclusive.
    pub fn verdict(&self) -> &'static str {
        if let Some(finding) = self.findings.first() {
            return finding.verdict.name();
        }
        if !self.is_as_expected() {
            return "unexpected";
        }
        match self.cases.iter().find(|case| case.inconclusive.is_none()) {
            Some(_) if self.phases.iter().any(|line| line.verdict == Some(Verdict::Refined)) => Verdict::Refined.name(),
            Some(_) => "ok",
            None => self.cases.first().and_then(|case| case.inconclusive.as_ref()).map_or("ok", Verdict::name),
        }
    }
}
