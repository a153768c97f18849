//! The runner: phases in table order over every function of a module.
//!
//! Everything that is not a phase's own business happens here: which phases run and why the others do not, verification
//! after each change, dumps, times, statistics, and the limits that bisection sets. The phase list can be
//! replaced, so that a test can plant a phase of its own among those of the table.
//!
//! A panic inside a phase is left to the caller, who knows how to replay it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::{Changed, PhaseContext, PhaseFn, RewriteBudget, Statistics, SubPasses};
use super::knobs::{Knob, Knobs};
use super::table::{self, Needs, PHASES, PhaseRow, Preserves, Selection, Status, UnknownPhase};
use crate::analysis::Cfg;
use crate::ir::{Form, FuncId, Function, Module, function_to_string};
use crate::peephole::RuleSet;
use crate::target::Target;
use crate::verify::{Violation, verify_function};

/// A phase that stands in no table: a test's own.
#[derive(Clone, Copy, Debug)]
pub struct CustomPhase {
    /// Its name in reports and dumps.
    pub name: &'static str,
    /// What it accepts.
    pub needs: Needs,
    /// What stays true when it changes something.
    pub preserves: Preserves,
    /// The phase.
    pub function: PhaseFn,
}

/// Changes a module after a phase, with leave for the change, and says in which function.
pub type Afterwards = fn(&mut Module, &mut PhaseContext<'_>, Planted) -> Option<FuncId>;

/// What an [`Afterwards`] is told: which of its changes to make, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Planted {
    /// Which change, by a number of its own.
    pub kind: usize,
    /// Chooses the place.
    pub seed: u64,
}

/// A phase of the table that does its work, and then something else: how a test plants a fault in a phase.
#[derive(Clone, Copy, Debug)]
pub struct FaultyPhase {
    /// The phase, whose name and place this one has.
    pub row: &'static PhaseRow,
    /// What comes afterwards.
    pub afterwards: Afterwards,
    /// Which, and where.
    pub planted: Planted,
}

/// One element of a phase list.
#[derive(Clone, Copy, Debug)]
pub enum PhaseEntry {
    /// A phase of the table.
    Row(&'static PhaseRow),
    /// One of the table with a fault.
    Faulty(FaultyPhase),
    /// Another one.
    Custom(CustomPhase),
}

impl PhaseEntry {
    /// The phase's row, where it has one.
    pub fn row(&self) -> Option<&'static PhaseRow> {
        match self {
            PhaseEntry::Row(row) | PhaseEntry::Faulty(FaultyPhase { row, .. }) => Some(row),
            PhaseEntry::Custom(_) => None,
        }
    }

    /// The phase's name.
    pub fn name(&self) -> &'static str {
        match self {
            PhaseEntry::Row(row) | PhaseEntry::Faulty(FaultyPhase { row, .. }) => row.name,
            PhaseEntry::Custom(phase) => phase.name,
        }
    }

    /// The inventory number, where there is one.
    pub fn number(&self) -> Option<u16> {
        self.row().and_then(|row| row.number)
    }

    /// What the phase accepts.
    pub fn needs(&self) -> Needs {
        match self {
            PhaseEntry::Row(row) | PhaseEntry::Faulty(FaultyPhase { row, .. }) => row.needs,
            PhaseEntry::Custom(phase) => phase.needs,
        }
    }

    /// What stays true when it changes something.
    pub fn preserves(&self) -> Preserves {
        match self {
            PhaseEntry::Row(row) | PhaseEntry::Faulty(FaultyPhase { row, .. }) => row.preserves,
            PhaseEntry::Custom(phase) => phase.preserves,
        }
    }

    fn answers_to(&self, token: &str) -> bool {
        match self {
            PhaseEntry::Row(row) | PhaseEntry::Faulty(FaultyPhase { row, .. }) => row.answers_to(token),
            PhaseEntry::Custom(phase) => phase.name.eq_ignore_ascii_case(token),
        }
    }
}

/// The phases of the table, planned ones included.
pub fn default_phases() -> Vec<PhaseEntry> {
    PHASES.iter().map(PhaseEntry::Row).collect()
}

/// What a run does beside the phases.
#[derive(Clone, Debug)]
pub struct Options {
    /// The optimization level, 0 to 3.
    pub opt_level: u8,
    /// The knobs.
    pub knobs: Knobs,
    /// The machine that the module is for.
    pub target: Target,
    /// Phases and sub-passes to leave out, as [`table::select`] reads them; the knob `DisablePhases` adds to them.
    pub disabled: Vec<String>,
    /// Phases around which the module is printed to the observer; the knob `DUMPIR` adds to them.
    pub dump: Vec<String>,
    /// Verify the input, and each function after a phase that changed it.
    pub verify: bool,
    /// The input is known to be valid, as the output of a verified phase is; only changes are verified.
    pub trusted: bool,
    /// The position in the phase list after which nothing runs.
    pub stop_after: Option<usize>,
    /// How many changes all phases together may make.
    pub rewrite_limit: Option<u64>,
    /// Measure how long each phase takes.
    pub time: bool,
    /// The rewrite rules; the built-in ones where there are no others.
    pub rules: Option<Arc<RuleSet>>,
}

impl Options {
    /// Level 3 for a target, everything else at its default.
    pub fn new(target: Target) -> Options {
        Options {
            opt_level: 3,
            knobs: Knobs::new(),
            target,
            disabled: Vec::new(),
            dump: Vec::new(),
            verify: false,
            trusted: false,
            stop_after: None,
            rewrite_limit: None,
            time: false,
            rules: None,
        }
    }
}

/// Watches a run. Every method does nothing unless it is written.
pub trait Observer {
    /// Before a phase runs; not called for phases that are skipped.
    fn before(&mut self, _position: usize, _phase: &PhaseEntry, _module: &Module) {}

    /// After it ran.
    fn after(&mut self, _position: usize, _phase: &PhaseEntry, _module: &Module, _changed: Changed) {}

    /// A function's text around a phase that [`Options::dump`] names: a heading, then `.ori`.
    fn dump(&mut self, _text: &str) {}
}

/// Watches nothing.
impl Observer for () {}

/// Why a phase did not run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SkipReason {
    /// It is not built yet.
    Planned,
    /// The options or `DisablePhases` leave it out.
    Disabled,
    /// `NamedPhases` names others.
    NotNamed,
    /// It runs from a higher optimization level on.
    OptLevel,
    /// It is a hook that the default pipeline leaves empty.
    NoOpByDefault,
    /// No function has the form that it needs.
    Form,
    /// It stands behind [`Options::stop_after`].
    Stopped,
}

impl SkipReason {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            SkipReason::Planned => "planned",
            SkipReason::Disabled => "disabled",
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
        f.pad(self.name())
    }
}

/// What became of one phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseReport {
    /// Its place in the phase list.
    pub position: usize,
    /// Its name.
    pub name: &'static str,
    /// Its inventory number.
    pub number: Option<u16>,
    /// Why it did not run; `None` where it did.
    pub skipped: Option<SkipReason>,
    /// Whether it changed a function.
    pub changed: Changed,
    /// Instructions in the module's functions before.
    pub insts_before: usize,
    /// Instructions after.
    pub insts_after: usize,
    /// Changes made.
    pub rewrites: u64,
    /// How long it took, with [`Options::time`].
    pub time: Option<Duration>,
    /// Its counters: rules that applied, by name.
    pub statistics: Statistics,
}

/// A change that bisection names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastRewrite {
    /// The phase that made it.
    pub phase: &'static str,
    /// The function it was made in.
    pub function: String,
    /// The rule, where it has a name.
    pub rule: Option<&'static str>,
}

/// What became of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// One for each element of the phase list.
    pub phases: Vec<PhaseReport>,
    /// Changes made in all phases.
    pub rewrites: u64,
    /// The last one.
    pub last_rewrite: Option<LastRewrite>,
}

/// Why a run ended early. The module is then as the guilty phase left it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PipelineError {
    /// A token addresses nothing.
    #[error(transparent)]
    UnknownPhase(#[from] UnknownPhase),
    /// The input breaks a rule before any phase has run.
    #[error("function `{function}` is invalid before the first phase: {}", list(.violations))]
    InvalidInput {
        /// The function.
        function: String,
        /// What it breaks.
        violations: Vec<Violation>,
    },
    /// A phase left a function that breaks a rule.
    #[error("{phase} left function `{function}` invalid: {}", list(.violations))]
    Invalid {
        /// The phase.
        phase: &'static str,
        /// The function.
        function: String,
        /// What it breaks.
        violations: Vec<Violation>,
    },
}

fn list(violations: &[Violation]) -> String {
    violations.iter().map(Violation::to_string).collect::<Vec<_>>().join("; ")
}

/// Runs the phases of the table.
pub fn run(module: &mut Module, options: &Options, observer: &mut dyn Observer) -> Result<Report, PipelineError> {
    run_phases(&default_phases(), module, options, observer)
}

/// Runs a phase list.
pub fn run_phases(
    phases: &[PhaseEntry],
    module: &mut Module,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Report, PipelineError> {
    let choice = Choice::new(phases, options)?;
    if options.verify && !options.trusted {
        verify_input(module)?;
    }
    let mut run = Run { options, choice, budget: RewriteBudget::new(options.rewrite_limit), report: Report::default() };
    for (position, entry) in phases.iter().enumerate() {
        let report = run.phase(position, entry, module, observer)?;
        run.report.phases.push(report);
    }
    run.report.rewrites = run.budget.made();
    Ok(run.report)
}

/// Why phases of a list do not run, whatever the module is; `None` for those that do.
pub fn skips(phases: &[PhaseEntry], options: &Options) -> Result<Vec<Option<SkipReason>>, UnknownPhase> {
    let choice = Choice::new(phases, options)?;
    Ok(phases.iter().enumerate().map(|(position, entry)| choice.skip(entry, position, options)).collect())
}

fn verify_input(module: &Module) -> Result<(), PipelineError> {
    for func in module.functions.values() {
        verify_function(func, Some(module))
            .map_err(|violations| PipelineError::InvalidInput { function: func.name.clone(), violations })?;
    }
    Ok(())
}

/// Tokens of one list: which phases and sub-passes they address.
#[derive(Default)]
struct Tokens {
    tokens: Vec<String>,
    sub_passes: Vec<&'static table::SubPassRow>,
}

impl Tokens {
    /// The tokens of an option and those of a knob, each checked against the table and the list's own phases.
    fn new(option: &[String], knob: &str, phases: &[PhaseEntry]) -> Result<Tokens, UnknownPhase> {
        let mut found = Tokens::default();
        let listed = knob.split(',').map(str::trim).filter(|token| !token.is_empty());
        for token in option.iter().map(String::as_str).chain(listed) {
            match table::select(token) {
                Ok(Selection::SubPass(row)) => found.sub_passes.push(row),
                Ok(Selection::Phases(_)) => found.tokens.push(token.to_owned()),
                Err(_) if phases.iter().any(|entry| entry.answers_to(token)) => found.tokens.push(token.to_owned()),
                Err(unknown) => return Err(unknown),
            }
        }
        Ok(found)
    }

    fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.sub_passes.is_empty()
    }

    fn names_phase(&self, entry: &PhaseEntry) -> bool {
        self.tokens.iter().any(|token| entry.answers_to(token))
    }

    /// The sub-passes named that the phase contains.
    fn inside<'a>(&'a self, entry: &'a PhaseEntry) -> impl Iterator<Item = &'static str> + 'a {
        self.sub_passes.iter().filter(|row| entry.answers_to(row.inside)).map(|row| row.name)
    }
}

/// Which phases run.
struct Choice {
    disabled: Tokens,
    named: Tokens,
    dump: Tokens,
}

impl Choice {
    fn new(phases: &[PhaseEntry], options: &Options) -> Result<Choice, UnknownPhase> {
        let knob = |knob| options.knobs.text(knob);
        Ok(Choice {
            disabled: Tokens::new(&options.disabled, &knob(Knob::DisablePhases), phases)?,
            named: Tokens::new(&[], &knob(Knob::NamedPhases), phases)?,
            dump: Tokens::new(&options.dump, &knob(Knob::DUMPIR), phases)?,
        })
    }

    /// Why a phase does not run at all.
    fn skip(&self, entry: &PhaseEntry, position: usize, options: &Options) -> Option<SkipReason> {
        if options.stop_after.is_some_and(|last| position > last) {
            return Some(SkipReason::Stopped);
        }
        if let Some(row) = entry.row() {
            if matches!(row.status, Status::Planned) {
                return Some(SkipReason::Planned);
            }
            if row.min_opt_level > options.opt_level {
                return Some(SkipReason::OptLevel);
            }
            if row.no_op_by_default {
                return Some(SkipReason::NoOpByDefault);
            }
        }
        if self.disabled.names_phase(entry) {
            return Some(SkipReason::Disabled);
        }
        let named = self.named.is_empty() || self.named.names_phase(entry) || self.named.inside(entry).next().is_some();
        (!named).then_some(SkipReason::NotNamed)
    }

    fn sub_passes(&self, entry: &PhaseEntry) -> SubPasses {
        let only = if self.named.names_phase(entry) { Vec::new() } else { self.named.inside(entry).collect() };
        SubPasses { disabled: self.disabled.inside(entry).collect(), only }
    }

    fn dumps(&self, entry: &PhaseEntry) -> bool {
        self.dump.names_phase(entry) || self.dump.inside(entry).next().is_some()
    }
}

/// A run under way.
struct Run<'a> {
    options: &'a Options,
    choice: Choice,
    budget: RewriteBudget,
    report: Report,
}

impl Run<'_> {
    fn phase(
        &mut self,
        position: usize,
        entry: &PhaseEntry,
        module: &mut Module,
        observer: &mut dyn Observer,
    ) -> Result<PhaseReport, PipelineError> {
        let insts = module.functions.values().map(Function::inst_count).sum();
        let mut report = PhaseReport {
            position,
            name: entry.name(),
            number: entry.number(),
            skipped: self.choice.skip(entry, position, self.options),
            changed: Changed::No,
            insts_before: insts,
            insts_after: insts,
            rewrites: 0,
            time: None,
            statistics: Statistics::new(),
        };
        if report.skipped.is_none() && !module.functions.values().any(|func| accepts(entry, func)) {
            report.skipped = Some(SkipReason::Form);
        }
        if report.skipped.is_some() {
            return Ok(report);
        }
        observer.before(position, entry, module);
        self.dump(entry, "before", module, observer);
        let (made, start) = (self.budget.made(), self.options.time.then(Instant::now));
        self.functions(entry, module, &mut report)?;
        if let PhaseEntry::Faulty(faulty) = entry {
            self.afterwards(faulty, module, &mut report)?;
        }
        report.time = start.map(|start| start.elapsed());
        report.rewrites = self.budget.made() - made;
        report.insts_after = module.functions.values().map(Function::inst_count).sum();
        self.dump(entry, "after", module, observer);
        observer.after(position, entry, module, report.changed);
        Ok(report)
    }

    fn functions(
        &mut self,
        entry: &PhaseEntry,
        module: &mut Module,
        report: &mut PhaseReport,
    ) -> Result<(), PipelineError> {
        let sub_passes = self.choice.sub_passes(entry);
        let ids: Vec<_> = module.functions.keys().collect();
        for id in ids {
            if !accepts(entry, &module.functions[id]) {
                continue;
            }
            let changed = self.function(entry, &mut module.functions[id], &sub_passes, &mut report.statistics);
            report.changed |= changed;
            if changed.is_yes() {
                self.verify(entry.name(), module, id)?;
            }
        }
        Ok(())
    }

    fn verify(&self, phase: &'static str, module: &Module, id: FuncId) -> Result<(), PipelineError> {
        if !self.options.verify {
            return Ok(());
        }
        let func = &module.functions[id];
        verify_function(func, Some(module)).map_err(|violations| PipelineError::Invalid {
            phase,
            function: func.name.clone(),
            violations,
        })
    }

    /// What a faulty phase does when its work is done.
    fn afterwards(
        &mut self,
        faulty: &FaultyPhase,
        module: &mut Module,
        report: &mut PhaseReport,
    ) -> Result<(), PipelineError> {
        let (sub_passes, options) = (SubPasses::default(), self.options);
        let (budget, statistics) = (&mut self.budget, &mut report.statistics);
        let mut cx =
            PhaseContext::new(&options.knobs, options.target, options.opt_level, &sub_passes, budget, statistics);
        let Some(id) = (faulty.afterwards)(module, &mut cx, faulty.planted) else { return Ok(()) };
        report.changed = Changed::Yes;
        let (rule, function) = (self.budget.last_rule(), module.functions[id].name.clone());
        self.report.last_rewrite = Some(LastRewrite { phase: faulty.row.name, function, rule });
        self.verify(faulty.row.name, module, id)
    }

    fn function(
        &mut self,
        entry: &PhaseEntry,
        func: &mut Function,
        sub_passes: &SubPasses,
        statistics: &mut Statistics,
    ) -> Changed {
        let Some(phase) = function_of(entry) else { return Changed::No };
        let claim = Claim::new(entry, func);
        let (made, options) = (self.budget.made(), self.options);
        let budget = &mut self.budget;
        budget.begin(func.inst_count());
        let mut cx =
            PhaseContext::new(&options.knobs, options.target, options.opt_level, sub_passes, budget, statistics)
                .with_rules(options.rules.clone());
        let changed = phase(func, &mut cx);
        claim.check(entry, func, changed);
        if self.budget.made() > made {
            let rule = self.budget.last_rule();
            self.report.last_rewrite = Some(LastRewrite { phase: entry.name(), function: func.name.clone(), rule });
        }
        changed
    }

    fn dump(&self, entry: &PhaseEntry, when: &str, module: &Module, observer: &mut dyn Observer) {
        if !self.choice.dumps(entry) {
            return;
        }
        for func in module.functions.values().filter(|func| func.is_definition()) {
            let text = function_to_string(func, Some(module));
            observer.dump(&format!("; {when} {}: {}\n{text}", entry.name(), func.name));
        }
    }
}

fn function_of(entry: &PhaseEntry) -> Option<PhaseFn> {
    match entry {
        PhaseEntry::Custom(phase) => Some(phase.function),
        PhaseEntry::Row(row) | PhaseEntry::Faulty(FaultyPhase { row, .. }) => match row.status {
            Status::Built(function) => Some(function),
            Status::Planned => None,
        },
    }
}

/// Whether a function has a body of the form that the phase needs.
fn accepts(entry: &PhaseEntry, func: &Function) -> bool {
    func.is_definition()
        && match entry.needs() {
            Needs::Anything => true,
            Needs::Ssa => func.form == Form::Ssa,
            Needs::MachineSsa | Needs::Machine => func.form == Form::Physical,
        }
}

/// In debug builds: what the function was, to hold against what the phase claims about its change.
struct Claim(Option<(Function, Cfg)>);

impl Claim {
    fn new(entry: &PhaseEntry, func: &Function) -> Claim {
        let checked = cfg!(debug_assertions) && entry.row().is_some();
        Claim(checked.then(|| (func.clone(), Cfg::new(func))))
    }

    fn check(self, entry: &PhaseEntry, func: &Function, changed: Changed) {
        let Some((before, cfg)) = self.0 else { return };
        let (phase, name) = (entry.name(), &func.name);
        assert_eq!(changed.is_yes(), before != *func, "{phase} says {changed:?} about function `{name}`");
        match entry.preserves() {
            Preserves::Everything => {
                assert!(!changed.is_yes(), "{phase} changed `{name}`, which it claims to preserve")
            }
            Preserves::ControlFlow => {
                assert!(cfg == Cfg::new(func), "{phase} changed the control flow of `{name}`, which it preserves");
            }
            Preserves::Nothing => {}
        }
    }
}
