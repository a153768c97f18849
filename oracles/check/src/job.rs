//! A check under the clock: a step that does not end is a finding, and the check continues without it.
//!
//! A phase that asks before each change is ended after far too many of them, which is the same everywhere and always
//! ([`Endless`](oriole_optimizer::pass::Endless)). One that goes round without asking is seen from outside
//! ([`crate::supervise`]).

use std::time::Duration;

use oriole_ir::Module;

use super::finding::FailureSummary;
use super::report::{Finding, KernelReport};
use super::step::{Conditions, Step};
use super::{CheckError, CheckOptions, cases, check, check_module, target_of};
use crate::input::NamedLaunch;
use crate::judge::Verdict;
use crate::supervise::{GivenUp, LIMIT, StepId, within};

/// A kernel with its launches, and how it is checked.
#[derive(Clone, Debug)]
pub struct Job {
    /// The kernel's name.
    pub name: String,
    /// The kernel.
    pub module: Module,
    /// Its launches.
    pub launches: Vec<NamedLaunch>,
    /// How it is checked.
    pub options: CheckOptions,
}

impl Job {
    /// Checks the kernel as [`check_module`] does. A step that does not end in time is a finding, and left out.
    ///
    /// # Errors
    ///
    /// As [`check_module`].
    pub fn check(&self, limit: Duration) -> Result<KernelReport, CheckError> {
        let job = self.clone();
        match within(limit, move || check_module(&job.name, &job.module, &job.launches, &job.options)) {
            Ok(report) => report,
            Err(given_up) => {
                let step = given_up.step;
                let finding = self.hang(given_up, limit)?;
                let mut report = match self.options.without(step) {
                    Some(options) => Job { options, ..self.clone() }.check(limit)?,
                    None => cases::first_runs(&self.name, &self.module, &self.launches, &self.options)?.1,
                };
                report.add(finding);
                report.conclude();
                Ok(report)
            }
        }
    }

    /// What to report of a step that does not end, or takes memory without end.
    ///
    /// # Errors
    ///
    /// As [`check_module`].
    pub fn hang(&self, GivenUp { step, excess }: GivenUp, limit: Duration) -> Result<Finding, CheckError> {
        let verdict = Verdict::of_excess(excess, limit);
        let launch = self.launches.first().map(|named| (named.name.as_str(), &named.launch));
        let summary = FailureSummary::of(step, verdict, None);
        let finding = summary.finding(&self.name, &self.before(step)?, launch, &self.options)?;
        let stated = if limit == LIMIT { String::new() } else { format!(" --hang-after {}ms", limit.as_millis()) };
        Ok(Finding { replay: finding.replay + &stated, ..finding })
    }

    /// The module that a step gets, all before it having ended.
    fn before(&self, step: StepId) -> Result<Module, CheckError> {
        match self.options.up_to(step) {
            Some(options) => Ok(check(&self.name, &self.module, &self.launches, &options)?.1),
            None => Ok(self.module.clone()),
        }
    }

    /// Whether a step does not end on the module of a finding, in another thread.
    ///
    /// # Errors
    ///
    /// A module for an unknown target.
    pub fn hangs_again(&self, finding: &Finding, limit: Duration) -> Result<bool, CheckError> {
        let Some(step) = Step::of(finding.phase, &self.options.passes) else { return Ok(false) };
        let mut module = finding.evidence.module.clone();
        let mut pipeline = self.options.pipeline.clone();
        pipeline.target = target_of(&module)?;
        let faults = self.options.faults.clone();
        let take = move || {
            let conditions = Conditions { pipeline: &pipeline, faults: &faults, limit: None };
            drop(step.take(&mut module, &conditions));
        };
        Ok(within(limit, take).is_err())
    }
}
