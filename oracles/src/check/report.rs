//! What a check found, as values that serialize.
//!
//! These structures are the JSON output of `oriole check --format json`. Fields are added, never renamed or removed;
//! verdicts are the names of [`crate::equivalence::Verdict::name`], `panic` and `hang`.

use std::collections::BTreeMap;
use std::sync::Arc;

use oriole_optimizer::ir::Module;
use serde::Serialize;

use super::shape;
use crate::equivalence::Verdict;
use crate::input::NamedLaunch;
use crate::launch::Launch;

/// What is to blame where a kernel does not do what its launch expects before any phase has run.
pub const FRONT_END: &str = "PTX front end";

/// The verdict on a phase that does not end.
pub const HANG: &str = "hang";

/// One kernel.
#[derive(Clone, Debug, Serialize)]
pub struct KernelReport {
    /// The kernel, as the caller named it.
    pub kernel: String,
    /// Whether nothing was found: no finding, and every launch as expected.
    pub clean: bool,
    /// The original on every case.
    pub cases: Vec<CaseLine>,
    /// Every phase of the list that was reached.
    pub phases: Vec<PhaseLine>,
    /// The counters of all phases together, by name: changes by rule, matches at which a guard fails, and others.
    pub statistics: BTreeMap<&'static str, u64>,
    /// What is wrong with phases.
    pub findings: Vec<Finding>,
    /// Instructions of the original.
    pub instructions_before: usize,
    /// Instructions after the last phase.
    pub instructions_after: usize,
    /// How long the whole check took.
    pub microseconds: u64,
}

/// The original on one case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseLine {
    /// The launch, and the seed of its data.
    pub name: String,
    /// The seed; `None` for the launch's own data.
    pub seed: Option<u64>,
    /// `finished`, or the verdict that says why the case says nothing.
    pub outcome: &'static str,
    /// How the run ended, where it did not finish.
    pub detail: String,
    /// Warp instructions executed.
    pub steps: u64,
    /// Whether the buffers hold what the launch expects; `None` where it expects nothing.
    pub expected: Option<bool>,
    /// The first elements that differ from what the launch expects.
    pub differences: Vec<String>,
}

/// One phase on one kernel.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseLine {
    /// Its name.
    pub name: &'static str,
    /// Its inventory number.
    pub number: Option<u16>,
    /// Why it did not run.
    pub skipped: Option<&'static str>,
    /// Whether it changed something.
    pub changed: bool,
    /// Instructions before it.
    pub instructions_before: usize,
    /// Instructions after it.
    pub instructions_after: usize,
    /// Changes made.
    pub rewrites: u64,
    /// The worst verdict over all cases; `None` where nothing was compared.
    pub verdict: Option<&'static str>,
    /// How long it took.
    pub microseconds: u64,
}

/// Something that is wrong with a phase.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The kernel.
    pub kernel: String,
    /// The guilty phase.
    pub phase: String,
    /// `mismatch`, `invalid IR`, `panic` or `hang`.
    pub verdict: &'static str,
    /// The case that shows it; empty where it takes none.
    pub case: String,
    /// What differs: the first bytes with expected and actual content, the broken rule, the panic's message.
    pub detail: String,
    /// What differs, in words that stay the same from kernel to kernel ([`super::shape`]).
    pub shape: String,
    /// Whether the guilty change was looked for; not where the shape is familiar.
    pub bisected: bool,
    /// The function, where it is known.
    pub function: Option<String>,
    /// The single change that is to blame, where the phase asks before each.
    pub rewrite: Option<Rewrite>,
    /// The store that wrote the first differing byte before the phase.
    pub store_before: Option<String>,
    /// The store that wrote it after the phase.
    pub store_after: Option<String>,
    /// The module before the phase, written for replay.
    pub reproducer: Option<String>,
    /// The command that shows the finding again.
    pub replay: String,
    /// What shows it, to bisect and reduce; not part of the output.
    #[serde(skip)]
    pub evidence: Arc<Evidence>,
}

impl Finding {
    /// Something that is wrong with a kernel file before any phase has seen it.
    pub fn of_front_end(file: &str, verdict: &'static str, detail: String) -> Finding {
        Finding {
            kernel: file.to_owned(),
            phase: FRONT_END.to_owned(),
            verdict,
            case: String::new(),
            shape: shape::of_message(&detail),
            detail,
            bisected: true,
            function: None,
            rewrite: None,
            store_before: None,
            store_after: None,
            reproducer: None,
            replay: format!("oriole check {file}"),
            evidence: Arc::new(Evidence { module: Module::default(), launch: None }),
        }
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
#[derive(Clone, Debug, Serialize)]
pub struct Rewrite {
    /// Its number among the phase's changes, from 1.
    pub index: u64,
    /// The rule, where it has a name.
    pub rule: Option<String>,
    /// The function it was made in.
    pub function: Option<String>,
    /// The lines of text form that it changes, as a unified diff.
    pub diff: String,
}

impl KernelReport {
    pub(super) fn new(kernel: &str, instructions: usize) -> KernelReport {
        KernelReport {
            kernel: kernel.to_owned(),
            clean: true,
            cases: Vec::new(),
            phases: Vec::new(),
            statistics: BTreeMap::new(),
            findings: Vec::new(),
            instructions_before: instructions,
            instructions_after: instructions,
            microseconds: 0,
        }
    }

    /// A finding for the first launch whose buffers do not hold what it expects: nothing but the front end, or the
    /// interpreter, has touched the original.
    pub fn unexpected(&self, module: &Module, launches: &[NamedLaunch]) -> Option<Finding> {
        let case = self.cases.iter().find(|case| case.expected == Some(false))?;
        let launch = launches.iter().find(|launch| launch.name == case.name).map(|named| named.launch.clone());
        let detail = format!("the launch expects something else: {}", case.differences.join("; "));
        Some(Finding {
            case: case.name.clone(),
            shape: "not what the launch expects".to_owned(),
            replay: format!("oriole run {} --launch {}", self.kernel, case.name),
            evidence: Arc::new(Evidence { module: module.clone(), launch }),
            ..Finding::of_front_end(&self.kernel, "unexpected", detail)
        })
    }

    /// Takes back that a case says something: its threads race, and a phase has changed which comes first.
    pub(super) fn race(&mut self, case: &str) {
        let detail =
            "threads of the original race, or what they do depends on their order; `--races` says where they race";
        for line in self.cases.iter_mut().filter(|line| line.name == case) {
            (line.outcome, line.detail) = (Verdict::OriginalRaces.name(), detail.to_owned());
        }
    }

    pub(super) fn conclude(&mut self) {
        let expected = |case: &CaseLine| case.expected != Some(false);
        self.clean = self.findings.is_empty() && self.cases.iter().all(expected);
    }

    /// One word for the whole kernel: `ok`, `refined`, a finding's verdict, `unexpected`, or why no case says anything.
    pub fn verdict(&self) -> &'static str {
        if let Some(finding) = self.findings.first() {
            return finding.verdict;
        }
        if !self.clean {
            return "unexpected";
        }
        match self.cases.iter().find(|case| case.outcome == "finished") {
            Some(_) if self.phases.iter().any(|phase| phase.verdict == Some("refined")) => "refined",
            Some(_) => "ok",
            None => self.cases.first().map_or("ok", |case| case.outcome),
        }
    }
}
