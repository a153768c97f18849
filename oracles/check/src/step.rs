//! Steps: what a check takes between two programs, one after the other.
//!
//! A step is SSA construction for what comes in virtual form, an element of the pipeline, SSA destruction, the PTX
//! round trip, or a compiler that makes machine code of the program, which is machine-level Ori from then on. All that
//! the judge, bisection, reduction and replay know of a step is its identity, whether it can be bisected, and how to
//! take it; [`plan`] lists the steps of a check; where SSA construction is left out, phases see virtual form. Taking a
//! step plants the faults that name it, verifies the module that it leaves, and turns every failure into a value.

use std::time::{Duration, Instant};

use oriole_ir::verify::{Violation, verify_module};
use oriole_ir::{Form, Module};
use oriole_optimizer::pass::{Element, Objection, Statistics};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{
    Known, LastRewrite, Options, PipelineError, Report, SkipReason, run_passes_with, skips,
};
use oriole_optimizer::pipeline::table::{UnknownPhase, is_token};
use oriole_optimizer::ssa;
use oriole_ptx::Dialect;

use super::options::CheckOptions;
use super::trip::{self, Refusal, reads_banks};
use crate::inject::FaultSpec;
use crate::judge::{Hang, Verdict};
use crate::supervise::{StepId, catch, enter};

/// A step of a check.
#[derive(Clone, Debug)]
pub struct Step(Work);

#[derive(Clone, Debug)]
enum Work {
    SsaConstruction,
    Pass(Box<Element>),
    SsaDestruction,
    PtxRoundTrip,
    /// The functions of the code that was made: a compiler is called for many programs at once.
    Compilation(Box<Module>),
}

/// How steps are taken.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'a> {
    /// How phases run.
    pub pipeline: &'a Options,
    /// Faults planted in steps outside of the phases; those of phases are planted in the list of phases.
    pub faults: &'a [FaultSpec],
    /// How many changes a step that can be bisected may make.
    pub limit: Option<u64>,
}

/// The outcome of a step.
#[derive(Debug)]
pub enum Outcome {
    /// It has nothing to do with the module, for this reason.
    Skipped(&'static str),
    /// It came to its end, and the module is valid.
    Done(Done),
    /// It went wrong. After a panic the module must not be used.
    Failed(Failure),
}

/// A step that came to its end.
#[derive(Debug)]
pub struct Done {
    /// Whether it changed the module.
    pub changed: bool,
    /// Instructions that it left.
    pub instructions: usize,
    /// Changes that were counted.
    pub rewrites: u64,
    /// The last one.
    pub last_rewrite: Option<LastRewrite>,
    /// Counters, by name: rules that applied, faults that were planted.
    pub statistics: Statistics,
    /// How long it took.
    pub time: Duration,
    /// How long rewrite rules took to become ready within it; no part of `time`.
    pub rules_time: Duration,
}

/// A step that went wrong by itself, without any program being run.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What it did: it panicked, does not end, refused the module, or left an invalid one.
    pub verdict: Verdict,
    /// The function on which, where that is known.
    pub function: Option<String>,
}

/// Steps in their order, each with the reason why it is left out whatever the module is.
pub type Plan = Vec<(Step, Option<SkipReason>)>;

/// The steps of a check over code that a compiler has made: its own, and the passes.
///
/// # Errors
///
/// An option that names no phase.
pub(super) fn plan_of_code(lifted: Module, options: &CheckOptions, pipeline: &Options) -> Result<Plan, UnknownPhase> {
    let mut steps = plan(options, pipeline)?;
    steps.retain(|(step, _)| step.can_be_bisected());
    steps.insert(0, (Step(Work::Compilation(Box::new(lifted))), None));
    Ok(steps)
}

/// The steps of a check.
///
/// # Errors
///
/// An option that names no phase.
pub fn plan(options: &CheckOptions, pipeline: &Options) -> Result<Plan, UnknownPhase> {
    let outside = |token: &String| StepId::outside_phases(token);
    let disabled =
        |step| pipeline.disabled.iter().any(|token| outside(token) == Some(step)).then_some(SkipReason::Disabled);
    // The whole list knows its own phases by name, so tokens that address nothing are refused here, once.
    let mut whole = Options { stop_after: None, ..pipeline.clone() };
    whole.disabled.retain(|token| outside(token).is_none());
    let elements = options.passes.steps();
    let passes = elements.iter().cloned().map(Step::pass).zip(skips(&elements, &whole)?);
    let reached = pipeline.stop_after.map_or(usize::MAX, |last| last.saturating_add(1));
    let mut steps = Vec::with_capacity(elements.len() + StepId::OUTSIDE_PHASES.len());
    steps.push((Step(Work::SsaConstruction), disabled(StepId::SsaConstruction)));
    steps.extend(passes.take(reached));
    steps.extend(options.destruction.then_some((Step(Work::SsaDestruction), disabled(StepId::SsaDestruction))));
    steps.extend(options.round_trip.then_some((Step(Work::PtxRoundTrip), disabled(StepId::PtxRoundTrip))));
    Ok(steps)
}

impl Step {
    /// An element of a pipeline as a step.
    pub fn pass(element: Element) -> Step {
        Step(Work::Pass(Box::new(element)))
    }

    /// SSA construction.
    pub fn ssa_construction() -> Step {
        Step(Work::SsaConstruction)
    }

    /// The step with an identity, where it is outside of the pipeline or an element of it.
    pub fn of(id: StepId, passes: &Pipeline) -> Option<Step> {
        match id {
            StepId::SsaConstruction => Some(Step(Work::SsaConstruction)),
            StepId::SsaDestruction => Some(Step(Work::SsaDestruction)),
            StepId::PtxRoundTrip => Some(Step(Work::PtxRoundTrip)),
            StepId::Pass(id) => passes.all().find(|element| element.id() == id).cloned().map(Step::pass),
            StepId::Generation | StepId::FrontEnd | StepId::Compilation => None,
            StepId::CodeGeneration | StepId::Optimization | StepId::Stage(_) => None,
        }
    }

    /// Its identity.
    pub fn id(&self) -> StepId {
        match &self.0 {
            Work::SsaConstruction => StepId::SsaConstruction,
            Work::Pass(element) => StepId::Pass(element.id()),
            Work::SsaDestruction => StepId::SsaDestruction,
            Work::PtxRoundTrip => StepId::PtxRoundTrip,
            Work::Compilation(_) => StepId::Compilation,
        }
    }

    /// The element of the pipeline that it is.
    pub fn element(&self) -> Option<&Element> {
        match &self.0 {
            Work::Pass(element) => Some(element),
            _ => None,
        }
    }

    /// Its number in the inventory of phases.
    pub fn number(&self) -> Option<u16> {
        match &self.0 {
            Work::Pass(element) => element.number,
            Work::SsaConstruction | Work::SsaDestruction | Work::PtxRoundTrip | Work::Compilation(_) => None,
        }
    }

    /// Whether it makes counted changes and can be asked for fewer. Other steps transform the whole module at once.
    pub fn can_be_bisected(&self) -> bool {
        matches!(self.0, Work::Pass(_))
    }

    /// Whether the next step takes what this one makes. What is out of SSA form, or comes back from PTX, is judged and
    /// then dropped: so a finding of the round trip has the module in the form in which phases leave it.
    pub fn is_kept(&self) -> bool {
        !matches!(self.0, Work::SsaDestruction | Work::PtxRoundTrip)
    }

    /// Why it has nothing to do with a module, as far as that can be told without taking it.
    pub fn skips(&self, module: &Module) -> Option<&'static str> {
        match &self.0 {
            Work::SsaConstruction => (!ssa::is_virtual(module)).then_some(SkipReason::Form.name()),
            Work::Pass(_) | Work::Compilation(_) => None,
            Work::SsaDestruction => (!is_ssa(module)).then_some(SkipReason::Form.name()),
            Work::PtxRoundTrip => reads_banks(module).then_some("PTX has no constant banks"),
        }
    }

    /// Takes it on a module.
    ///
    /// # Errors
    ///
    /// An option that names no phase.
    pub fn take(&self, module: &mut Module, conditions: &Conditions<'_>) -> Result<Outcome, UnknownPhase> {
        self.take_with(module, conditions, &mut Known::default())
    }

    /// Takes it with what the optimizer knows about the module from earlier steps. If the step is done, that is about
    /// the module which it leaves; otherwise it must be dropped.
    ///
    /// # Errors
    ///
    /// An option that names no phase.
    pub(super) fn take_with(
        &self,
        module: &mut Module,
        conditions: &Conditions<'_>,
        known: &mut Known,
    ) -> Result<Outcome, UnknownPhase> {
        let _running = enter(self.id());
        let work = match &self.0 {
            Work::Pass(element) => return take_pass(element, module, conditions, known),
            Work::Compilation(lifted) => {
                module.clone_from(lifted);
                // Its faults are in what the compiler was given.
                return Ok(self.transform(module, &Conditions { faults: &[], ..*conditions }, |_| Ok(())));
            }
            Work::SsaConstruction => |module: &mut Module| {
                ssa::construct_module(module);
                Ok(())
            },
            Work::SsaDestruction => |module: &mut Module| {
                *module = ssa::destructed(module);
                Ok(())
            },
            Work::PtxRoundTrip => |module: &mut Module| {
                *module = trip::read(&trip::spelled(module)?, &Dialect::of(module))?;
                Ok(())
            },
        };
        *known = Known::default();
        Ok(self.transform(module, conditions, work))
    }

    /// Takes the second half of the PTX round trip: reads what was printed, in whichever spelling.
    pub(crate) fn read(text: &str, dialect: &Dialect, conditions: &Conditions<'_>) -> (Module, Outcome) {
        let _running = enter(StepId::PtxRoundTrip);
        let mut module = Module::default();
        let outcome = Step(Work::PtxRoundTrip).transform(&mut module, conditions, |module| {
            *module = trip::read(text, dialect)?;
            Ok(())
        });
        (module, outcome)
    }

    /// Takes a step that transforms the whole module at once.
    fn transform(
        &self,
        module: &mut Module,
        conditions: &Conditions<'_>,
        work: impl FnOnce(&mut Module) -> Result<(), Refusal>,
    ) -> Outcome {
        let (start, changed) = (Instant::now(), self.skips(module).is_none());
        let failed = |verdict| Outcome::Failed(Failure { verdict, function: None });
        match catch(|| work(module)) {
            Err(panic) => return failed(Verdict::Panicked(panic)),
            Ok(Err(refusal)) => return failed(Verdict::Refused(refusal.to_string())),
            Ok(Ok(())) => {}
        }
        let mut statistics = Statistics::new();
        for fault in conditions.faults.iter().filter(|fault| fault.step == self.id()) {
            fault.make(module, &mut statistics);
        }
        match verify_module(module) {
            Err(violations) => failed(Verdict::InvalidIr(listed(&violations))),
            Ok(()) => Outcome::Done(Done {
                changed,
                instructions: module.inst_count(),
                rewrites: 0,
                last_rewrite: None,
                statistics,
                time: start.elapsed(),
                rules_time: Duration::ZERO,
            }),
        }
    }
}

/// Whether some function of a module is in SSA form.
fn is_ssa(module: &Module) -> bool {
    module.functions.values().any(|func| func.form == Form::Ssa && func.is_definition())
}

/// Runs one element of a pipeline that was checked as a whole.
fn take_pass(
    element: &Element,
    module: &mut Module,
    conditions: &Conditions<'_>,
    known: &mut Known,
) -> Result<Outcome, UnknownPhase> {
    let mut options = Options { rewrite_limit: conditions.limit, stop_after: None, ..conditions.pipeline.clone() };
    // Tokens of other phases of the list were checked with the whole list; alone, this phase would not know them.
    options.disabled.retain(|token| is_token(token) || element.answers_to(token));
    options.dump.clear();
    let failed = |verdict, function| Outcome::Failed(Failure { verdict, function });
    Ok(match catch(|| run_passes_with(std::slice::from_ref(element), module, &options, &mut (), known)) {
        Err(panic) => failed(Verdict::Panicked(panic), None),
        Ok(Ok(report)) => outcome(report),
        Ok(Err(PipelineError::UnknownPhase(unknown))) => return Err(unknown),
        Ok(Err(PipelineError::Endless { function, endless, .. })) => {
            failed(Verdict::Hangs(Hang::Changes(endless.to_string())), function)
        }
        Ok(Err(PipelineError::Refused { objections, .. })) => refused(&objections),
        Ok(Err(
            PipelineError::Invalid { function, violations, .. } | PipelineError::InvalidInput { function, violations },
        )) => {
            let message = format!("function `{function}`: {}", listed(&violations));
            failed(Verdict::InvalidIr(message), Some(function))
        }
    })
}

/// Why a pass is skipped whose arguments ask for what a module does not have.
pub(super) const MISFIT: &str = "its arguments do not fit";

/// The outcome of a pass that refuses the module. Arguments that ask for what a module does not have say nothing of it.
fn refused(objections: &[Objection]) -> Outcome {
    match objections.iter().find(|objection| objection.function.is_some()) {
        None => Outcome::Skipped(MISFIT),
        Some(objection) => {
            let (verdict, function) = (Verdict::Refused(objection.to_string()), objection.function.clone());
            Outcome::Failed(Failure { verdict, function })
        }
    }
}

/// The outcome of the only element of a run, with the counters of those inside it.
fn outcome(report: Report) -> Outcome {
    let mut passes = report.passes.into_iter();
    let Some(pass) = passes.next() else { return Outcome::Skipped(SkipReason::Stopped.name()) };
    if let Some(reason) = pass.skipped {
        return Outcome::Skipped(reason.name());
    }
    let mut statistics = pass.statistics;
    for (name, count) in passes.flat_map(|inner| inner.statistics) {
        *statistics.entry(name).or_default() += count;
    }
    Outcome::Done(Done {
        changed: pass.changed.is_yes(),
        instructions: pass.insts_after,
        rewrites: pass.rewrites,
        last_rewrite: report.last_rewrite,
        statistics,
        time: pass.time.unwrap_or_default(),
        rules_time: pass.rules_time.unwrap_or_default(),
    })
}

/// The first of some violations, and how many there are beside it.
fn listed(violations: &[Violation]) -> String {
    let more = violations.len().saturating_sub(1);
    let head = violations.first().map_or(String::new(), Violation::to_string);
    if more == 0 { head } else { format!("{head}; and {more} more") }
}
