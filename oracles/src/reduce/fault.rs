//! The built-in predicate: a phase goes wrong as it did in a finding.

use oriole_optimizer::pipeline::runner::{Options as Pipeline, PhaseEntry};
use oriole_optimizer::pipeline::table::select;
use oriole_optimizer::verify::verify_module;

use super::{Options, Reduced, reduce};
use crate::check::report::{Evidence, Finding};
use crate::check::step::{Step, take};
use crate::check::{CheckError, CheckOptions, target_of, trip};
use crate::equivalence::{Mismatch, Verdict, compare};
use crate::interp::{Executable, Outcome, RunOptions, RunResult};
use crate::launch::Launch;

/// Steps that an edited program may take beyond those of the first: an edit may turn an early exit into a long way round,
/// and a loop that never ends must not take long.
const MORE_STEPS: u64 = 20_000;

/// Who is accused.
#[derive(Clone, Copy, Debug)]
enum Accused {
    Phase(PhaseEntry),
    RoundTrip,
}

/// A phase, or the PTX round trip, that goes wrong in one way.
#[derive(Clone, Debug)]
pub struct Fault {
    accused: Accused,
    pipeline: Pipeline,
    verdict: &'static str,
    /// The message without what differs from program to program; empty for mismatches.
    shape: String,
    steps: u64,
    races: bool,
}

/// Reduces a finding: the same phase alone goes wrong with the same verdict, on the launch, where the original
/// finishes, verifies, depends on nothing undefined and has no race. Where that does not hold for the finding itself, the
/// result says that it is not interesting.
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
        let mut pipeline = check.pipeline.clone();
        pipeline.target = target_of(module)?;
        (pipeline.verify, pipeline.trusted, pipeline.time) = (true, true, false);
        let mut fault = Fault {
            accused: accused(&finding.phase, &check.phases)?,
            pipeline,
            verdict: finding.verdict,
            shape: String::new(),
            steps: check.steps.unwrap_or(u64::MAX),
            races: false,
        };
        if let (Some(launch), Ok(executable)) = (launch, Executable::new(module)) {
            let options = RunOptions { steps: check.steps, races: true, ..RunOptions::default() };
            if let Ok(run) = executable.run(launch, &options) {
                fault.steps = run.steps.saturating_mul(2).saturating_add(MORE_STEPS);
                fault.races = !run.races.is_empty();
            }
        }
        let seen = fault.verdict_of(&finding.evidence);
        fault.shape = seen.filter(|(verdict, _)| *verdict == finding.verdict).map_or(String::new(), |(_, shape)| shape);
        Ok(fault)
    }

    /// Whether the evidence shows the same fault.
    pub fn shows(&self, evidence: &Evidence) -> bool {
        verify_module(&evidence.module).is_ok()
            && self.verdict_of(evidence).is_some_and(|(verdict, shape)| verdict == self.verdict && shape == self.shape)
            && !self.races(evidence)
    }

    /// What goes wrong, where something does: the verdict and the shape of its message.
    fn verdict_of(&self, evidence: &Evidence) -> Option<(&'static str, String)> {
        let Evidence { module, launch } = evidence;
        let before = match launch {
            None => None,
            Some(launch) => Some((launch, self.original(evidence, launch)?)),
        };
        let after = match self.accused {
            Accused::RoundTrip => match trip::again(module) {
                Ok(after) => after,
                Err(why) => return Some((Verdict::InvalidIr(String::new()).name(), shape(&why))),
            },
            Accused::Phase(entry) => {
                let mut after = module.clone();
                match take(&entry, &mut after, &self.pipeline, self.pipeline.rewrite_limit).ok()? {
                    Step::Stopped => return None,
                    Step::Done(report) if !report.changed.is_yes() => return None,
                    Step::Done(_) => after,
                    Step::Invalid { message, .. } => return Some(("invalid IR", shape(&message))),
                    Step::Panicked { message } => return Some(("panic", shape(&message))),
                }
            }
        };
        let (launch, before) = before?;
        let invalid = |error: crate::interp::LoadError| Some(("invalid IR", shape(&error.to_string())));
        let executable = match Executable::new(&after) {
            Ok(executable) => executable,
            Err(error) => return invalid(error),
        };
        match judge(&executable, launch, &before) {
            Ok(verdict) => verdict.is_finding().then(|| (verdict.name(), String::new())),
            Err(error) => invalid(error),
        }
    }

    /// The run of the original, if it says something.
    fn original(&self, evidence: &Evidence, launch: &Launch) -> Option<RunResult> {
        let options = RunOptions { steps: Some(self.steps), ..RunOptions::default() };
        let run = Executable::new(&evidence.module).ok()?.run(launch, &options).ok()?;
        (run.outcome == Outcome::Finished && (run.races.is_empty() || self.races)).then_some(run)
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
}

/// Compares a changed program with the run of the original. Most that do not end are found out by a small budget; what the
/// check itself would allow is spent only on those.
fn judge(
    executable: &Executable<'_>,
    launch: &Launch,
    before: &RunResult,
) -> Result<Verdict, crate::interp::LoadError> {
    let mut verdict = Verdict::Equal;
    for more in [MORE_STEPS, 1_000_000] {
        let steps = before.steps.saturating_mul(4).saturating_add(more);
        let options = RunOptions { steps: Some(steps), ..RunOptions::default() };
        verdict = compare(before, &executable.run(launch, &options)?);
        if !matches!(verdict, Verdict::Mismatch(Mismatch::Outcome(Outcome::OutOfSteps { .. }))) {
            break;
        }
    }
    Ok(verdict)
}

fn accused(name: &str, phases: &[PhaseEntry]) -> Result<Accused, CheckError> {
    if name == trip::ROUND_TRIP {
        return Ok(Accused::RoundTrip);
    }
    match phases.iter().find(|entry| entry.name() == name) {
        Some(entry) => Ok(Accused::Phase(*entry)),
        None => Err(match select(name) {
            Err(unknown) => unknown.into(),
            Ok(_) => CheckError::NotAmong { phase: name.to_owned() },
        }),
    }
}

/// A message without names, numbers and what follows the first fault: what stays the same while the program shrinks.
fn shape(message: &str) -> String {
    let first = message.split("; and ").next().unwrap_or(message);
    let outside: String = first.split('`').step_by(2).collect();
    outside.chars().filter(|c| !c.is_ascii_digit()).collect()
}
