//! The differential check: a kernel is executed before and after every step, and must behave the same.
//!
//! 1. The original runs on every case: each launch as it is, and with random data of the same shape. Cases on which it
//!    traps, deadlocks, runs out of steps, races or depends on an undefined value are inconclusive; they are counted
//!    and left out ([`cases`]).
//! 2. The steps are taken one by one: SSA construction for what comes in virtual form, as PTX does, then the phases,
//!    SSA destruction, and the PTX round trip, unless destruction goes wrong, which it begins with ([`step`]). After
//!    each that changed something the module runs on every case, and is judged by the run before it ([`crate::judge`]).
//!    So the guilty step is known at once, and the run after one step is the run before the next. Where a compiler
//!    makes machine code of the program, that is a step, too: from then on the program is machine-level Ori, and the
//!    phases behind it are judged by the words that they leave ([`in_place`]).
//! 3. A step that breaks a rule of the IR, panics, does not end, refuses a valid program or changes behaviour is a
//!    [`report::Finding`]: in a phase the single guilty rewrite is found by bisection ([`bisect`]), a reproducer is
//!    written, and the check goes on with the module as it was before that step, so that one bug does not hide others.
//!
//! Cost: a decode and a run for each case and step that changes something.

pub mod analyses;
pub mod bisect;
pub mod bisection_limit;
pub mod cases;
pub mod compare;
pub mod compiled;
pub mod compiler;
pub mod constants;
pub mod cost;
pub mod explain;
pub mod extra_launches;
mod finding;
pub mod in_place;
pub mod inject;
pub mod input;
pub mod job;
pub mod judge;
pub mod kernels;
mod options;
pub mod recording;
pub mod reduce;
pub mod report;
pub mod signature;
pub mod step;
pub mod supervise;
#[cfg(test)]
mod tests;
pub mod trip;
pub mod variant;
pub mod variants;
pub mod whole;

use std::time::Instant;

use oriole_ir::Module;
use oriole_optimizer::pipeline::runner::{Known, Options, SkipReason};
use oriole_optimizer::pipeline::table::is_sub_pass;

use crate::input::NamedLaunch;
use crate::judge::Verdict;
use bisect::{Culprit, Stage};
use cases::Case;
use cost::Cost;
use in_place::{Code, InPlace};
use recording::{Recording, State};
use report::{Finding, KernelReport, StepLine};
use step::{Conditions, Done, Failure, Outcome, Plan, Step};
use supervise::StepId;

pub use options::{CheckError, CheckOptions, OUTSIDE, RaceSearch, target_of};

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
    let mut pipeline = Options { target: target_of(module)?, ..options.pipeline.clone() };
    let plan = step::plan(options, &pipeline)?;
    pipeline.disabled.retain(|token| is_sub_pass(token));
    let start = Instant::now();
    let first = cases::first_runs(name, module, launches, options)?;
    let mut check = Check::new(name.to_owned(), module.clone(), options, pipeline, first);
    check.begin_recording();
    check.cost = check.cost_of(module);
    check.report.cost = check.cost;
    check.take(&plan)?;
    let (mut report, state) = check.end();
    report.microseconds = start.elapsed().as_micros() as u64;
    Ok((report, state))
}

/// The report on code that a compiler has made of a program.
fn check_code(code: &Code, options: &CheckOptions) -> Result<KernelReport, CheckError> {
    let start = Instant::now();
    let lifted = oriole_sass::ori::in_place::lift(&code.cubin)?;
    let mut pipeline = Options { target: target_of(&lifted)?, ..options.pipeline.clone() };
    let instructions = lifted.inst_count();
    let plan = step::plan_of_code(lifted, options, &pipeline)?;
    pipeline.disabled.retain(|token| is_sub_pass(token));
    let first = cases::first_runs(&code.kernel, &code.program, &code.launches, options)?;
    let mut check = Check::new(code.name(), code.program.clone(), options, pipeline, first);
    check.made = Some(code);
    check.begin_recording();
    check.report.kernel.clone_from(&check.name);
    (check.report.instructions_before, check.instructions) = (instructions, instructions);
    check.take(&plan)?;
    let is_judged = check.code.as_ref().is_some_and(InPlace::is_judged);
    let (mut report, _) = check.end();
    (report.judged, report.clean) = (report.judged && is_judged, report.clean && is_judged);
    report.microseconds = start.elapsed().as_micros() as u64;
    Ok(report)
}

/// The case that tells what a step did wrong, and what that is.
type Accusation = Option<(usize, Failure)>;

/// A check under way: the module after the last good step, and the runs of it.
struct Check<'a> {
    name: String,
    options: &'a CheckOptions,
    pipeline: Options,
    state: Module,
    /// A module that nobody needs any longer, to copy the state over.
    spare: Module,
    /// Whether it is such a copy already, since the last step says that it changed nothing. That is not believed, but
    /// to compare the two after each step would cost a tenth of a check: they are compared where the copy ends, and
    /// otherwise the steps are taken again once something goes wrong.
    spare_is_state: bool,
    /// The steps that said so since the state was made, and the places of their lines in the report.
    silent: Vec<(&'a Step, usize)>,
    /// How many instructions `state` has.
    instructions: usize,
    /// What the optimizer knows about `state`.
    known: Known,
    cases: Vec<Case<'a>>,
    /// The code that a compiler makes of the program, where it does.
    made: Option<&'a Code>,
    /// The state as code, once it is code.
    code: Option<InPlace<'a>>,
    /// What `state` costs on the first case, where that is asked for.
    cost: Option<Cost>,
    report: KernelReport,
}

impl<'a> Check<'a> {
    /// A check that has executed the program, and taken no step yet.
    fn new(
        name: String,
        state: Module,
        options: &'a CheckOptions,
        pipeline: Options,
        (cases, report): (Vec<Case<'a>>, KernelReport),
    ) -> Check<'a> {
        Check {
            name,
            options,
            pipeline: Options { verify: true, time: true, ..pipeline },
            state,
            spare: Module::default(),
            spare_is_state: false,
            silent: Vec::new(),
            known: Known::default(),
            instructions: report.instructions_before,
            cases,
            made: None,
            code: None,
            cost: None,
            report,
        }
    }

    /// Takes steps, until enough is found.
    fn take(&mut self, plan: &'a Plan) -> Result<(), CheckError> {
        for (step, reason) in plan {
            if self.options.enough.is_none_or(|enough| self.report.findings.len() < enough) {
                self.step(step, *reason)?;
            }
        }
        self.compare_spare()
    }

    /// The report, and what the steps have left.
    fn end(self) -> (KernelReport, Module) {
        let Check { state, cases, mut report, instructions, .. } = self;
        cases.iter().filter(|case| case.judge.has_raced()).for_each(|case| report.race(&case.name));
        report.instructions_after = instructions;
        report.conclude();
        (report, state)
    }

    fn cost_of(&self, module: &Module) -> Option<Cost> {
        let case = self.cases.first().filter(|_| self.options.costs && self.code.is_none())?;
        Cost::of(module, case.judge.launch())
    }

    /// Takes a step, unless there is a reason to leave it out, and judges what it makes.
    fn step(&mut self, step: &'a Step, reason: Option<SkipReason>) -> Result<(), CheckError> {
        let blamed = self.is_blamed_before(step).then_some("SSA destruction goes wrong");
        if let Some(reason) = reason.map(SkipReason::name).or_else(|| step.skips(&self.state)).or(blamed) {
            self.report.phases.push(StepLine::skipped(step, self.instructions, reason));
            return Ok(());
        }
        if !step.is_kept() {
            self.compare_spare()?;
        }
        let mut after = std::mem::take(&mut self.spare);
        if !std::mem::take(&mut self.spare_is_state) {
            after.clone_from(&self.state);
        }
        let before = self.instructions;
        let mut known = std::mem::take(&mut self.known);
        let taken = step.take_with(&mut after, &self.conditions(), &mut known)?;
        if let (Some(code), Outcome::Done(_), StepId::Compilation) = (self.made, &taken, step.id()) {
            return self.enter(code, after);
        }
        let (verdict, failure) = self.judge(step, &taken, &mut after);
        if let Some((case, failure)) = failure {
            // It began with what earlier steps left. Where one of these changed that in silence, it is the guilty one.
            if self.retake_silent()? {
                return self.step(step, None);
            }
            self.accuse(step, case, &after, failure)?;
        } else if step.is_kept() {
            // What is known about the module that the step left is known about the state, which it is now.
            self.known = known;
        }
        self.record(step, &taken, verdict.as_ref(), &after)?;
        self.note(step, before, &taken, verdict);
        self.spare = after;
        Ok(())
    }

    fn begin_recording(&mut self) {
        let records = self.options.records;
        self.report.recording = records.then(|| Recording::new(&self.state, &self.cases));
    }

    /// Keeps what a step has made that changed something. Where it is good and kept, it is the state by now, and
    /// `other` the program before it; otherwise it is the other way round.
    fn record(
        &mut self,
        step: &Step,
        taken: &Outcome,
        verdict: Option<&Verdict>,
        other: &Module,
    ) -> Result<(), CheckError> {
        let (Some(recording), Outcome::Done(done)) = (&mut self.report.recording, taken) else { return Ok(()) };
        if !done.changed {
            return Ok(());
        }
        let is_state = step.is_kept() && !verdict.is_some_and(Verdict::is_finding);
        let programs = if is_state { [other, &self.state] } else { [&self.state, other] };
        let conditions =
            Conditions { pipeline: &self.pipeline, faults: &self.options.faults, limit: self.pipeline.rewrite_limit };
        Ok(recording.add(self.report.phases.len(), step, programs, done, &conditions)?)
    }

    /// Takes over the code that a compiler has made, be it right or not: phases are held against what it does.
    fn enter(&mut self, code: &'a Code, after: Module) -> Result<(), CheckError> {
        let (stage, wrong) = InPlace::new(code, &self.cases);
        let mut line = StepLine::of(StepId::Compilation, self.instructions);
        if stage.is_judged() {
            line.verdict = Some(wrong.as_ref().map_or(Verdict::Equal, |(_, verdict)| verdict.clone()));
        } else {
            line.skipped = Some(in_place::NOT_JUDGED);
        }
        if let Some(recording) = &mut self.report.recording {
            recording.cubin = Some(code.cubin.clone());
            let line = Some(self.report.phases.len());
            recording.states.push(State { line, module: after.clone(), changes: Vec::new() });
        }
        self.report.phases.push(line);
        if let Some((at, verdict)) = wrong {
            let finding = stage.of_compiler(verdict, self.cases.get(at), self.options)?;
            self.report.add(finding);
        }
        (self.state, self.code) = (after, Some(stage));
        Ok(())
    }

    /// The stage at which the state is.
    fn stage(&self) -> Stage<'_> {
        self.code.as_ref().map_or(Stage::Ori, |code| Stage::Code(code, &self.cases))
    }

    /// Whether what a step begins with is known to go wrong: the round trip takes a module out of SSA form, too.
    fn is_blamed_before(&self, step: &Step) -> bool {
        let destruction = |finding: &Finding| finding.phase == StepId::SsaDestruction;
        step.id() == StepId::PtxRoundTrip && self.report.findings.iter().any(destruction)
    }

    fn conditions(&self) -> Conditions<'_> {
        Conditions { pipeline: &self.pipeline, faults: &self.options.faults, limit: self.pipeline.rewrite_limit }
    }

    /// The verdict on what a step made; where it is a finding, also the case that tells and the failure.
    fn judge(&mut self, step: &'a Step, taken: &Outcome, after: &mut Module) -> (Option<Verdict>, Accusation) {
        match taken {
            Outcome::Skipped(_) => {
                self.spare_is_state = true;
                (None, None)
            }
            Outcome::Done(done) if done.changed => self.judge_change(step, done, after),
            Outcome::Done(_) => {
                self.spare_is_state = true;
                self.silent.push((step, self.report.phases.len()));
                (None, None)
            }
            Outcome::Failed(failure) => (Some(failure.verdict.clone()), Some((0, failure.clone()))),
        }
    }

    /// Judges a changed module on every case; where it is good and kept it becomes the state, and the state before
    /// is in its place.
    fn judge_change(&mut self, step: &Step, done: &Done, after: &mut Module) -> (Option<Verdict>, Accusation) {
        let judgement = match &self.code {
            None => cases::judge_all(after, &self.cases),
            Some(code) => code.judge(after, &self.cases),
        };
        let verdict = judgement.verdict.clone();
        if let Some(verdict) = verdict.clone().filter(Verdict::is_finding) {
            return (Some(verdict.clone()), Some((judgement.case, Failure { verdict, function: None })));
        }
        if step.is_kept() {
            cases::adopt(&mut self.cases, judgement);
            self.cost = self.cost_of(after);
            self.instructions = done.instructions;
            self.silent.clear();
            std::mem::swap(&mut self.state, after);
            return (verdict, None);
        }
        let reader = self.options.second_reader.as_ref();
        match reader.and_then(|reader| reader.disagreement(&self.name, &self.state, &self.cases)) {
            Some((case, verdict)) => (Some(verdict.clone()), Some((case, Failure { verdict, function: None }))),
            None => (verdict, None),
        }
    }

    /// Holds the steps to their word that they changed nothing since the state was made.
    fn compare_spare(&mut self) -> Result<(), CheckError> {
        if self.spare_is_state && self.spare != self.state {
            self.spare_is_state = false;
            self.retake_silent()?;
        }
        self.silent.clear();
        Ok(())
    }

    /// Takes the steps again, one by one, that said they changed nothing since the state was made, and judges what they
    /// changed nonetheless. Whether one of them did.
    fn retake_silent(&mut self) -> Result<bool, CheckError> {
        let mut found = false;
        for (step, line) in std::mem::take(&mut self.silent) {
            let mut after = self.state.clone();
            let taken = step.take_with(&mut after, &self.conditions(), &mut Known::default())?;
            let Outcome::Done(done) = taken else { continue };
            if after == self.state {
                continue;
            }
            found = true;
            let (verdict, failure) = self.judge_change(step, &done, &mut after);
            if let Some((case, failure)) = failure {
                self.accuse(step, case, &after, failure)?;
            }
            self.report.phases[line].verdict = verdict;
        }
        Ok(found)
    }

    /// Counts what a step did, and gives it its line in the report.
    fn note(&mut self, step: &Step, before: usize, taken: &Outcome, verdict: Option<Verdict>) {
        let line = match taken {
            Outcome::Skipped(reason) => StepLine::skipped(step, before, reason),
            Outcome::Failed(failure) => StepLine::failed(step, before, failure.verdict.clone()),
            Outcome::Done(done) => {
                for (name, count) in &done.statistics {
                    *self.report.statistics.entry(name).or_default() += count;
                }
                self.report.note_faults(step.id(), &done.statistics);
                self.report.rules_microseconds += done.rules_time.as_micros() as u64;
                // What a step has taken and what the verifier has seen since is what the next one takes.
                self.pipeline.trusted = true;
                StepLine { cost: self.cost, ..StepLine::done(step, before, done, verdict) }
            }
        };
        self.report.phases.push(line);
    }

    fn accuse(&mut self, step: &Step, case: usize, after: &Module, failure: Failure) -> Result<(), CheckError> {
        let culprit = Culprit {
            kernel: &self.name,
            step,
            before: &self.state,
            after,
            case: self.cases.get(case),
            conditions: self.conditions(),
            options: self.options,
            stage: self.stage(),
        };
        let finding = culprit.finding(failure)?;
        self.report.add(finding);
        Ok(())
    }
}
