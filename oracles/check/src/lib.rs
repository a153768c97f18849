//! The differential check: a kernel is executed before and after every step, and must behave the same.
//!
//! 1. The original runs on every case: each launch as it is, and with random data of the same shape. Cases on which it
//!    traps, deadlocks, runs out of steps, races or depends on an undefined value are inconclusive; they are counted
//!    and left out ([`cases`]).
//! 2. The steps are taken one by one: SSA construction for what comes in virtual form, as PTX does, then the phases,
//!    then the PTX round trip ([`step`]). After each that changed something the module runs on every case, and is
//!    judged by the run before it ([`crate::judge`]). So the guilty step is known at once, and the run after one step
//!    is the run before the next.
//! 3. A step that breaks a rule of the IR, panics, does not end, refuses a valid program or changes behaviour is a
//!    [`report::Finding`]: in a phase the single guilty rewrite is found by bisection ([`bisect`]), a reproducer is
//!    written, and the check goes on with the module as it was before that step, so that one bug does not hide others.
//!
//! Cost: a decode and a run for each case and step that changes something.

pub mod analyses;
pub mod bisect;
pub mod bisection_limit;
pub mod cases;
pub mod extra_launches;
mod finding;
pub mod inject;
pub mod input;
pub mod job;
pub mod judge;
pub mod kernels;
mod options;
pub mod reduce;
pub mod report;
pub mod signature;
pub mod step;
pub mod supervise;
#[cfg(test)]
mod tests;
pub mod trip;
pub mod whole;

use std::time::Instant;

use oriole_ir::Module;
use oriole_optimizer::pipeline::runner::{Known, Options, SkipReason};

use crate::input::NamedLaunch;
use crate::judge::Verdict;
use bisect::Culprit;
use cases::Case;
use report::{KernelReport, StepLine};
use step::{Conditions, Done, Failure, Outcome, Step};

pub use options::{CheckError, CheckOptions, target_of};

/// Checks a module on its launches. `name` is the kernel's, for reports and reproducers.
pub fn check_module(
    name: &str,
    module: &Module,
    launches: &[NamedLaunch],
    options: &CheckOptions,
) -> Result<KernelReport, CheckError> {
    Ok(check(name, module, launches, options)?.0)
}

/// The report, and what the steps made of the module, but for those that went wrong.
fn check(
    name: &str,
    module: &Module,
    launches: &[NamedLaunch],
    options: &CheckOptions,
) -> Result<(KernelReport, Module), CheckError> {
    let mut pipeline = options.pipeline.clone();
    pipeline.target = target_of(module)?;
    (pipeline.verify, pipeline.time) = (true, true);
    let plan = step::plan(options, &pipeline)?;
    let start = Instant::now();
    let (cases, report) = cases::first_runs(name, module, launches, options)?;
    let mut check = Check {
        name,
        options,
        pipeline,
        state: module.clone(),
        spare: Module::default(),
        spare_is_state: false,
        known: Known::default(),
        instructions: report.instructions_before,
        cases,
        report,
    };
    for (step, reason) in &plan {
        check.step(step, *reason)?;
    }
    let Check { state, cases, mut report, instructions, .. } = check;
    cases.iter().filter(|case| case.judge.has_raced()).for_each(|case| report.race(&case.name));
    report.instructions_after = instructions;
    report.conclude();
    report.microseconds = start.elapsed().as_micros() as u64;
    Ok((report, state))
}

/// A check under way: the module after the last good step, and the runs of it.
struct Check<'a> {
    name: &'a str,
    options: &'a CheckOptions,
    pipeline: Options,
    state: Module,
    /// A module that nobody needs any longer, to copy the state over.
    spare: Module,
    /// Whether it is such a copy already, since the last step changed nothing.
    spare_is_state: bool,
    /// How many instructions `state` has.
    instructions: usize,
    /// What the optimizer knows about `state`.
    known: Known,
    cases: Vec<Case<'a>>,
    report: KernelReport,
}

impl Check<'_> {
    /// Takes a step, unless there is a reason to leave it out, and judges what it makes.
    fn step(&mut self, step: &Step, reason: Option<SkipReason>) -> Result<(), CheckError> {
        if let Some(reason) = reason.map(SkipReason::name).or_else(|| step.skips(&self.state)) {
            self.report.phases.push(StepLine::skipped(step, self.instructions, reason));
            return Ok(());
        }
        let mut after = std::mem::take(&mut self.spare);
        if !std::mem::take(&mut self.spare_is_state) {
            after.clone_from(&self.state);
        }
        let before = self.instructions;
        let mut known = std::mem::take(&mut self.known);
        let line = match step.take_with(&mut after, &self.conditions(), &mut known)? {
            Outcome::Skipped(reason) => {
                self.spare_is_state = true;
                StepLine::skipped(step, before, reason)
            }
            Outcome::Done(done) => {
                let verdict = self.done(step, &done, &mut after)?;
                // What is known about the module that the step left is known about the state where that is the state
                // now.
                if step.is_kept() && !verdict.as_ref().is_some_and(Verdict::is_finding) {
                    self.known = known;
                }
                StepLine::done(step, before, &done, verdict)
            }
            Outcome::Failed(failure) => {
                let verdict = failure.verdict.clone();
                self.accuse(step, 0, &after, failure)?;
                StepLine::failed(step, before, verdict)
            }
        };
        self.report.phases.push(line);
        self.spare = after;
        Ok(())
    }

    fn conditions(&self) -> Conditions<'_> {
        Conditions { pipeline: &self.pipeline, faults: &self.options.faults, limit: self.pipeline.rewrite_limit }
    }

    /// Counts what a step did, and judges it where it changed something.
    fn done(&mut self, step: &Step, done: &Done, after: &mut Module) -> Result<Option<Verdict>, CheckError> {
        for (name, count) in &done.statistics {
            *self.report.statistics.entry(name).or_default() += count;
        }
        self.report.note_faults(step.id(), &done.statistics);
        self.report.rules_microseconds += done.rules_time.as_micros() as u64;
        // What a step has taken and what the verifier has seen since is what the next one takes.
        self.pipeline.trusted = true;
        // What a step says is not believed: a change that it keeps to itself is judged as its own.
        self.spare_is_state = !done.changed && *after == self.state;
        if self.spare_is_state { Ok(None) } else { self.judge(step, done, after) }
    }

    /// Judges a changed module on every case; where it is good and kept it becomes the state, and the state before
    /// stands in its place.
    fn judge(&mut self, step: &Step, done: &Done, after: &mut Module) -> Result<Option<Verdict>, CheckError> {
        let judgement = cases::judge_all(after, &self.cases);
        let verdict = judgement.verdict.clone();
        match verdict.clone().filter(Verdict::is_finding) {
            Some(verdict) => self.accuse(step, judgement.case, after, Failure { verdict, function: None })?,
            None if step.is_kept() => {
                cases::adopt(&mut self.cases, judgement);
                self.instructions = done.instructions;
                std::mem::swap(&mut self.state, after);
            }
            None => {}
        }
        Ok(verdict)
    }

    fn accuse(&mut self, step: &Step, case: usize, after: &Module, failure: Failure) -> Result<(), CheckError> {
        let culprit = Culprit {
            kernel: self.name,
            step,
            before: &self.state,
            after,
            case: self.cases.get(case),
            conditions: self.conditions(),
            options: self.options,
        };
        let finding = culprit.finding(failure)?;
        self.report.add(finding);
        Ok(())
    }
}
