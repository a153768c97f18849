//! The result of a run: a report for each pass, and why a run ended early.

use std::time::Duration;

use super::table::UnknownPhase;
use oriole_ir::verify::Violation;
use oriole_pass::pass::{Changed, Element, Endless, Objection, PassId, Progress, Refusal, Statistics};

/// Why a phase did not run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SkipReason {
    /// It is not built yet.
    Planned,
    /// It has no work; its row says why.
    NoWork,
    /// The options or `DisablePhases` leave it out.
    Disabled,
    /// An option of cicc leaves it out: that of its row.
    PassOption,
    /// The guard of its place in a sequence leaves it out.
    Guard(Refusal),
    /// `NamedPhases` names others.
    NotNamed,
    /// It runs from a higher optimization level on.
    OptLevel,
    /// It is a hook that the default pipeline leaves empty.
    NoOpByDefault,
    /// No function has the form that it needs.
    Form,
    /// It stands behind [`super::runner::Options::stop_after`].
    Stopped,
}

impl SkipReason {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            SkipReason::Planned => "planned",
            SkipReason::NoWork => "no work",
            SkipReason::Disabled => "disabled",
            SkipReason::PassOption => "pass option",
            SkipReason::Guard(_) => "guard",
            SkipReason::NotNamed => "not named",
            SkipReason::OptLevel => "optimization level",
            SkipReason::NoOpByDefault => "no-op by default",
            SkipReason::Form => "form",
            SkipReason::Stopped => "stopped before it",
        }
    }
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SkipReason::Guard(refusal) => f.pad(&refusal.to_string()),
            _ => f.pad(self.name()),
        }
    }
}

/// The outcome of one element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassReport {
    /// Its place in the pipeline; that of the nest for an element inside one.
    pub position: usize,
    /// Its identity.
    pub id: PassId,
    /// Its inventory number.
    pub number: Option<u16>,
    /// Why it did not run; `None` where it did.
    pub skipped: Option<SkipReason>,
    /// Whether it changed a function.
    pub changed: Changed,
    /// Instructions in the functions before; in a nest, the sum over its runs.
    pub insts_before: usize,
    /// Instructions after.
    pub insts_after: usize,
    /// Changes made.
    pub rewrites: u64,
    /// How long it took, with [`super::runner::Options::time`].
    pub time: Option<Duration>,
    /// How long rewrite rules took to become ready, which happens when one is first asked for; no part of `time`.
    pub rules_time: Option<Duration>,
    /// Its counters: rules that applied, by name.
    pub statistics: Statistics,
}

impl PassReport {
    /// The report of an element before it has run.
    pub(super) fn new(position: usize, element: &Element, skipped: Option<SkipReason>) -> PassReport {
        PassReport {
            position,
            id: element.id(),
            number: element.number,
            skipped,
            changed: Changed::No,
            insts_before: 0,
            insts_after: 0,
            rewrites: 0,
            time: None,
            rules_time: None,
            statistics: Statistics::new(),
        }
    }

    /// Adds what the same element did on another part of the module.
    fn add(&mut self, other: PassReport) {
        self.skipped = self.skipped.and(other.skipped);
        self.changed |= other.changed;
        self.insts_before += other.insts_before;
        self.insts_after += other.insts_after;
        self.rewrites += other.rewrites;
        let sum = |one: Option<Duration>, other: Option<Duration>| {
            one.into_iter().chain(other).reduce(|one, other| one + other)
        };
        self.time = sum(self.time, other.time);
        self.rules_time = sum(self.rules_time, other.rules_time);
        let statistics = other.statistics.into_iter();
        statistics.for_each(|(name, count)| *self.statistics.entry(name).or_default() += count);
    }
}

/// A change that bisection names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastRewrite {
    /// The pass that made it.
    pub pass: PassId,
    /// The function it was made in; `None` for a change of the module itself.
    pub function: Option<String>,
    /// The rule.
    pub rule: &'static str,
}

/// What became of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// One for each element of the pipeline, those inside a nest behind the nest.
    pub passes: Vec<PassReport>,
    /// Changes made in all passes.
    pub rewrites: u64,
    /// The last one.
    pub last_rewrite: Option<LastRewrite>,
    /// How far the phases have come.
    pub progress: Progress,
}

impl Report {
    /// The sum of this report and that of a run of the same elements on another part of the module.
    pub(super) fn with(mut self, other: Report) -> Report {
        self.passes.iter_mut().zip(other.passes).for_each(|(pass, other)| pass.add(other));
        self.rewrites += other.rewrites;
        self.last_rewrite = other.last_rewrite.or(self.last_rewrite);
        self.progress = self.progress.max(other.progress);
        self
    }
}

/// Why a run ended early. The module is then as the guilty phase left it; one that refuses changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipelineError {
    /// A token addresses nothing.
    #[error(transparent)]
    UnknownPhase(#[from] UnknownPhase),
    /// The input breaks a rule before any phase has run.
    #[error("function `{function}` is invalid before the first phase: {}", joined(.violations))]
    InvalidInput {
        /// The function.
        function: String,
        /// What it breaks.
        violations: Vec<Violation>,
    },
    /// A phase does not end.
    #[error("{pass} does not end on {}: {endless}", place(.function.as_deref()))]
    Endless {
        /// The pass.
        pass: PassId,
        /// The function; `None` where the phase changes the module itself.
        function: Option<String>,
        /// How far it was.
        endless: Endless,
    },
    /// A pass refuses the module.
    #[error("{pass} refuses the module: {}", joined(.objections))]
    Refused {
        /// The pass.
        pass: PassId,
        /// All that it has against the module.
        objections: Vec<Objection>,
    },
    /// A phase left a function that breaks a rule.
    #[error("{pass} left function `{function}` invalid: {}", joined(.violations))]
    Invalid {
        /// The pass.
        pass: PassId,
        /// The function.
        function: String,
        /// What it breaks.
        violations: Vec<Violation>,
    },
}

fn place(function: Option<&str>) -> String {
    function.map_or("the module".to_owned(), |name| format!("function `{name}`"))
}

fn joined(faults: &[impl ToString]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
