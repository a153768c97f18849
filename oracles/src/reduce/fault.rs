//! The built-in predicate: a phase goes wrong as it did in a finding.
//!
//! "As it did" is more than the verdict, so that one bug is not traded for another on the way: a program that ends
//! otherwise stays one that ends so, a message stays the same but for names and numbers, and the guilty rewrite stays
//! one of the same rule.

use oriole_optimizer::ir::Module;
use oriole_optimizer::pipeline::runner::PhaseEntry;
use oriole_optimizer::pipeline::table::select;
use oriole_optimizer::verify::verify_module;

use super::{Options, Reduced, reduce};
use crate::check::blame::Suspect;
use crate::check::border::Border;
use crate::check::cases::Case;
use crate::check::report::{Evidence, Finding};
use crate::check::step::{Step, take, verdict_of};
use crate::check::{CheckError, CheckOptions, shape, target_of};
use crate::equivalence::{Mismatch, Verdict};
use crate::interp::{Executable, LoadError, Outcome, RunOptions, RunResult};
use crate::launch::Launch;

/// Steps that an edited program may take beyond those of the first: an edit may turn an early exit into a long way round,
/// and a loop that never ends must not take long.
const MORE_STEPS: u64 = 20_000;

/// Who is accused.
#[derive(Clone, Copy, Debug)]
enum Accused {
    Phase(PhaseEntry),
    Border(Border),
}

/// What went wrong: the verdict, and the message or way of ending without what differs from program to program.
type Wrong = (&'static str, String);

/// A phase, or a step that is none, that goes wrong in one way.
#[derive(Clone, Debug)]
pub struct Fault {
    accused: Accused,
    check: CheckOptions,
    /// `None` where the finding's own program does not show it.
    wrong: Option<Wrong>,
    rule: Option<String>,
    steps: u64,
    /// Whether the original of the finding has a race already.
    races: bool,
}

/// Reduces a finding: the same phase alone goes wrong in the same way, on the launch, where the original finishes,
/// verifies, depends on nothing undefined and has no race. Where that does not hold for the finding itself, the result
/// says that it is not interesting.
///
/// # Errors
///
/// A phase that is not among those of the check, or a module for an unknown target.
pub fn finding(finding: &Finding, check: &CheckOptions, options: &Options) -> Result<Reduced, CheckError> {
    let fault = Fault::new(finding, check)?;
    Ok(reduce(&finding.evidence, &|evidence| fault.shows(evidence), options))
}

impl Fault {
    /// The fault of a finding.
    ///
    /// # Errors
    ///
    /// As [`finding`].
    pub fn new(finding: &Finding, check: &CheckOptions) -> Result<Fault, CheckError> {
        let Evidence { module, launch } = &*finding.evidence;
        let mut check = check.clone();
        check.pipeline.target = target_of(module)?;
        (check.pipeline.verify, check.pipeline.trusted, check.pipeline.time) = (true, true, false);
        let mut fault = Fault {
            accused: accused(&finding.phase, &check.phases)?,
            wrong: None,
            rule: finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.clone()),
            steps: check.steps.unwrap_or(u64::MAX),
            races: false,
            check,
        };
        if let (Some(launch), Ok(executable)) = (launch, Executable::new(module)) {
            let options = RunOptions { steps: fault.check.steps, races: true, ..RunOptions::default() };
            if let Ok(run) = executable.run(launch, &options) {
                fault.steps = run.steps.saturating_mul(2).saturating_add(MORE_STEPS);
                fault.races = !run.races.is_empty();
            }
        }
        fault.wrong = fault.judge(&finding.evidence).map(|(wrong, _)| wrong).filter(|wrong| wrong.0 == finding.verdict);
        Ok(fault)
    }

    /// Whether the evidence shows the same fault.
    pub fn shows(&self, evidence: &Evidence) -> bool {
        if self.wrong.is_none() || verify_module(&evidence.module).is_err() {
            return false;
        }
        match self.judge(evidence) {
            Some((wrong, case)) => {
                Some(wrong) == self.wrong && !self.races(evidence) && self.same_rule(&evidence.module, case.as_ref())
            }
            None => false,
        }
    }

    /// What goes wrong, where something does, and the case that shows it.
    fn judge<'m>(&self, evidence: &'m Evidence) -> Option<(Wrong, Option<Case<'m>>)> {
        let Evidence { module, launch } = evidence;
        let case = match launch {
            None => None,
            Some(launch) => Some(self.original(module, launch)?),
        };
        let invalid = |message: &str| ("invalid IR", shape::of_message(message));
        let after = match self.accused {
            Accused::Border(border) => match border.cross(module, &self.check.faults) {
                Ok(after) => after,
                Err(why) => return Some((invalid(&why), case)),
            },
            Accused::Phase(entry) => {
                let (mut after, pipeline) = (module.clone(), &self.check.pipeline);
                match take(&entry, &mut after, pipeline, pipeline.rewrite_limit).ok()? {
                    Step::Stopped => return None,
                    Step::Done(report) if !report.changed.is_yes() => return None,
                    Step::Done(_) => after,
                    Step::Invalid { message, .. } => return Some((invalid(&message), case)),
                    Step::Panicked { message } => {
                        return Some(((verdict_of(&message), shape::of_message(&message)), case));
                    }
                }
            }
        };
        let verdict = match Executable::new(&after) {
            Ok(executable) => compare_runs(&executable, case.as_ref()?),
            Err(error) => Err(error),
        };
        match verdict {
            Ok(verdict) => verdict.is_finding().then(|| ((verdict.name(), shape::coarse(&verdict)), case)),
            Err(error) => Some((invalid(&error.to_string()), case)),
        }
    }

    /// The run of the original, if it says something.
    fn original<'m>(&self, module: &'m Module, launch: &Launch) -> Option<Case<'m>> {
        let options = RunOptions { steps: Some(self.steps), ..RunOptions::default() };
        let before = Executable::new(module).ok()?.run(launch, &options).ok()?;
        let says = before.outcome == Outcome::Finished && (before.races.is_empty() || self.races);
        says.then(|| Case::new(String::new(), launch.clone(), before, module))
    }

    /// Whether the original has a race that the finding's had not.
    fn races(&self, evidence: &Evidence) -> bool {
        let Some(launch) = evidence.launch.as_ref().filter(|launch| !self.races && launch.threads() > 1) else {
            return false;
        };
        let options = RunOptions { steps: Some(self.steps), races: true, ..RunOptions::default() };
        let run = Executable::new(&evidence.module).and_then(|executable| executable.run(launch, &options));
        run.map_or(true, |run| !run.races.is_empty())
    }

    /// Whether the guilty rewrite is of the same rule, where the finding names one.
    fn same_rule(&self, before: &Module, case: Option<&Case<'_>>) -> bool {
        let (Some(rule), Accused::Phase(entry)) = (&self.rule, &self.accused) else { return true };
        let (pipeline, options) = (&self.check.pipeline, &self.check);
        let suspect = Suspect { kernel: "", entry, before, after: before, case, pipeline, options };
        suspect.guilty_rule().is_ok_and(|found| found == Some(rule.as_str()))
    }
}

/// Compares a changed program with the run of the original. Most that do not end are found out by a small budget; what
/// the check itself would allow is spent only on those.
fn compare_runs(executable: &Executable<'_>, case: &Case<'_>) -> Result<Verdict, LoadError> {
    let Case { launch, before, .. } = case;
    let steps = before.steps.saturating_mul(4).saturating_add(MORE_STEPS);
    let first: RunResult = executable.run(launch, &RunOptions { steps: Some(steps), ..RunOptions::default() })?;
    match case.judge(executable, &first) {
        Verdict::Mismatch(Mismatch::Outcome(Outcome::OutOfSteps { .. })) => Ok(case.run(executable)?.verdict),
        verdict if verdict.is_finding() => Ok(verdict),
        verdict => Ok(case.new_race(executable).unwrap_or(verdict)),
    }
}

fn accused(name: &str, phases: &[PhaseEntry]) -> Result<Accused, CheckError> {
    if let Some(border) = Border::named(name) {
        return Ok(Accused::Border(border));
    }
    match phases.iter().find(|entry| entry.name() == name) {
        Some(entry) => Ok(Accused::Phase(*entry)),
        None => Err(match select(name) {
            Err(unknown) => unknown.into(),
            Ok(_) => CheckError::NotAmong { phase: name.to_owned() },
        }),
    }
}
