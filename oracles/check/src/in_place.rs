//! Phases over machine code whose words stay in place, checked step by step.
//!
//! A compiler has made code of a program. Its functions are lifted ([`oriole_sass::ori::in_place`]), each phase runs on
//! them, and behind each one that changes something the words are in the cubin again, and are judged:
//!
//! - in the usual order of lanes they leave, on every case, what the words before the phase left, bit for bit: machine
//!   code depends on nothing undefined;
//! - in several orders of lanes they do what the program says, where the compiler's own code does;
//! - their scheduling control covers every register that it covered before.
//!
//! What goes wrong is a finding of the phase, with the guilty rewrite; the cubin before the phase is the reproducer.
//! Whether the compiler's code is right is a step of its own, judged first.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oriole_interp::{Executable, LaneOrder, Outcome as End, RunOptions, RunResult};
use oriole_ir::Module;
use oriole_optimizer::pipeline::runner::{LastRewrite, Options, SkipReason};
use oriole_optimizer::pipeline::table::is_sub_pass;
use oriole_sass::cubin::Cubin;
use oriole_sass::ori::in_place;
use oriole_scoreboard::{Hazard, check_cubin};

use super::bisect::{Turn, rewrite, turning_point};
use super::cases::{self, Case};
use super::finding::FailureSummary;
use super::options::{CheckError, CheckOptions, target_of};
use super::report::{Evidence, Finding, KernelReport, StepLine};
use super::step::{self, Conditions, Done, Failure, Outcome, Step};
use crate::input::NamedLaunch;
use crate::judge::code::Executor;
use crate::judge::{Mismatch, Verdict, equivalence};
use crate::supervise::{GivenUp, StepId, within};

/// Code, and the program that it was made of.
#[derive(Clone, Debug)]
pub struct Code {
    /// The program's name.
    pub kernel: String,
    /// The program.
    pub program: Module,
    /// Its launches.
    pub launches: Vec<NamedLaunch>,
    /// The code.
    pub cubin: Cubin,
    /// How the code was made, for reports: `sm_90 -O0`.
    pub axis: String,
}

/// Why a step is left out where the code itself is not what its program says, or cannot be executed.
const NOT_JUDGED: &str = "its code is not executed on any case";

impl Code {
    /// Checks the phases of the options on the code. A step that does not end in time is a finding, and ends the check.
    ///
    /// # Errors
    ///
    /// As [`Code::check`].
    pub fn check_within(&self, options: &CheckOptions, limit: Duration) -> Result<KernelReport, CheckError> {
        let (code, own) = (self.clone(), options.clone());
        let GivenUp { step, excess } = match within(limit, move || code.check(&own)) {
            Ok(report) => return report,
            Err(given_up) => given_up,
        };
        let mut report = cases::first_runs(&self.kernel, &self.program, &self.launches, options)?.1;
        let summary = FailureSummary::of(step, Verdict::of_excess(excess, limit), None);
        let quiet = CheckOptions { out: None, ..options.clone() };
        report.add(summary.finding(&self.kernel, &in_place::lift(&self.cubin)?, None, &quiet)?);
        report.conclude();
        Ok(report)
    }

    /// Checks the phases of the options on the code.
    ///
    /// # Errors
    ///
    /// If the program cannot run on a launch, the words of the code are not known, an option names no phase, or a
    /// reproducer cannot be written.
    pub fn check(&self, options: &CheckOptions) -> Result<KernelReport, CheckError> {
        let start = Instant::now();
        let state = in_place::lift(&self.cubin)?;
        let mut pipeline = Options { target: target_of(&state)?, verify: true, time: true, ..options.pipeline.clone() };
        let plan = step::plan(options, &pipeline)?;
        pipeline.disabled.retain(|token| is_sub_pass(token));
        let (cases, mut report) = cases::first_runs(&self.kernel, &self.program, &self.launches, options)?;
        report.kernel = format!("{} ({})", self.kernel, self.axis);
        report.instructions_before = state.inst_count();
        let original = Executable::new(&self.program).expect("it ran");
        let hazards = hazards(&self.cubin);
        let mut check =
            Check { code: self, options, pipeline, original, cases, runs: Vec::new(), hazards, state, report };
        check.compiled()?;
        for (step, reason) in plan.iter().filter(|(step, _)| step.can_be_bisected()) {
            check.step(step, *reason)?;
        }
        let Check { mut report, state, runs, .. } = check;
        report.instructions_after = state.inst_count();
        report.conclude();
        let is_judged = runs.iter().any(|run| run.left.is_some());
        (report.judged, report.clean) = (report.judged && is_judged, report.clean && is_judged);
        report.microseconds = start.elapsed().as_micros() as u64;
        Ok(report)
    }
}

/// The pairs of instructions of which the second comes too early.
type Hazards = HashSet<(String, u64, u64)>;

fn place(hazard: &Hazard) -> (String, u64, u64) {
    (hazard.function.clone(), hazard.first.offset, hazard.second.offset)
}

fn hazards(cubin: &Cubin) -> Hazards {
    check_cubin(cubin).unwrap_or_default().iter().map(place).collect()
}

/// What code did on a case.
struct Run {
    /// What it left; `None` where it cannot be executed or does not finish.
    left: Option<RunResult>,
    /// Whether it does what its program says.
    is_right: bool,
}

/// What a step with leave for some changes leaves, and the last one.
type Trial = (Module, Option<LastRewrite>);

/// A check under way.
struct Check<'a> {
    code: &'a Code,
    options: &'a CheckOptions,
    pipeline: Options,
    original: Executable<'a>,
    cases: Vec<Case<'a>>,
    /// What the compiler's code did, by case. Every good step leaves the same.
    runs: Vec<Run>,
    hazards: Hazards,
    /// The functions after the last good step.
    state: Module,
    report: KernelReport,
}

/// What is wrong, and the case that tells; the first where none does.
type Wrong = (usize, Verdict);

impl<'a> Check<'a> {
    /// Judges the compiler's own code.
    fn compiled(&mut self) -> Result<(), CheckError> {
        let mut wrong = None;
        for (at, case) in self.cases.iter().enumerate() {
            let ran = case.judge.run_code(&self.original, &self.code.cubin, &RunOptions::default());
            let left = ran.ok().filter(|run| run.outcome == End::Finished);
            let judged = self.against_program(case, &self.code.cubin);
            let is_right = judged.as_ref().is_some_and(Verdict::is_good);
            wrong = wrong.or(judged.filter(Verdict::is_finding).map(|verdict| (at, verdict)));
            self.runs.push(Run { left, is_right });
        }
        let mut line = StepLine::of(StepId::Compilation, self.report.instructions_before);
        if self.runs.iter().all(|run| run.left.is_none()) {
            line.skipped = Some(NOT_JUDGED);
        } else {
            line.verdict = Some(wrong.as_ref().map_or(Verdict::Equal, |(_, verdict)| verdict.clone()));
        }
        self.report.phases.push(line);
        let Some((at, verdict)) = wrong else { return Ok(()) };
        let summary = FailureSummary::of(StepId::Compilation, verdict, None);
        let case = self.cases.get(at).map(Case::named);
        let quiet = CheckOptions { out: None, ..self.options.clone() };
        let finding = summary.finding(&self.report.kernel, &self.code.program, case, &quiet)?;
        let replay = format!("oriole judge {}", self.code.kernel);
        self.report.add(Finding { replay, ..finding });
        Ok(())
    }

    /// The verdict on code held against its program, in several orders of lanes; `None` where it cannot be executed.
    fn against_program(&self, case: &Case<'_>, cubin: &Cubin) -> Option<Verdict> {
        let judged = case.judge.judge_code(&self.original, cubin, Executor::Interpreter, &LaneOrder::SEVERAL);
        judged.ok().map(|judged| judged.verdict)
    }

    fn conditions(&self) -> Conditions<'_> {
        Conditions { pipeline: &self.pipeline, faults: &[], limit: self.pipeline.rewrite_limit }
    }

    /// Takes a step, unless there is a reason to leave it out, and judges the words that it leaves.
    fn step(&mut self, step: &Step, reason: Option<SkipReason>) -> Result<(), CheckError> {
        let before = self.state.inst_count();
        if let Some(reason) = reason {
            self.report.phases.push(StepLine::skipped(step, before, reason.name()));
            return Ok(());
        }
        let mut after = self.state.clone();
        let line = match step.take(&mut after, &self.conditions())? {
            Outcome::Skipped(reason) => StepLine::skipped(step, before, reason),
            Outcome::Failed(failure) => {
                let verdict = failure.verdict.clone();
                self.accuse(step, (0, failure))?;
                StepLine::failed(step, before, verdict)
            }
            Outcome::Done(done) => {
                self.note(step, &done);
                let verdict = match done.changed.then(|| self.wrong(&after)) {
                    None => None,
                    Some(None) => {
                        self.state = after;
                        Some(Verdict::Equal)
                    }
                    Some(Some((at, verdict))) => {
                        self.accuse(step, (at, Failure { verdict: verdict.clone(), function: None }))?;
                        Some(verdict)
                    }
                };
                StepLine::done(step, before, &done, verdict)
            }
        };
        self.report.phases.push(line);
        Ok(())
    }

    fn note(&mut self, step: &Step, done: &Done) {
        for (name, count) in &done.statistics {
            *self.report.statistics.entry(name).or_default() += count;
        }
        self.report.note_faults(step.id(), &done.statistics);
    }

    /// What is wrong with the words of functions that a step has left, if anything is.
    fn wrong(&self, after: &Module) -> Option<Wrong> {
        let refused = |why: String| Some((0, Verdict::Refused(why)));
        let cubin = match in_place::write(&self.code.cubin, after) {
            Ok((bytes, _)) => match Cubin::read(&bytes) {
                Ok(cubin) => cubin,
                Err(error) => return refused(error.to_string()),
            },
            Err(error) => return refused(error.to_string()),
        };
        let differs = |(at, case): (usize, &Case<'_>)| Some((at, self.differs(case, &self.runs[at], &cubin)?));
        self.cases.iter().enumerate().find_map(differs).or_else(|| self.uncovered(&cubin))
    }

    /// How code differs on a case from what the words before left, or from what the program says.
    fn differs(&self, case: &Case<'_>, before: &Run, cubin: &Cubin) -> Option<Verdict> {
        let left = before.left.as_ref()?;
        let verdict = match case.judge.run_code(&self.original, cubin, &RunOptions::default()) {
            Ok(run) => equivalence::compare(left, &run),
            Err(error) => Verdict::InvalidIr(error.to_string()),
        };
        if verdict.is_finding() {
            return Some(verdict).filter(|_| !case.judge.races());
        }
        let judged = before.is_right.then(|| self.against_program(case, cubin)).flatten();
        judged.filter(Verdict::is_finding)
    }

    /// The first register that is used too early and was not before.
    fn uncovered(&self, cubin: &Cubin) -> Option<Wrong> {
        let found = check_cubin(cubin).unwrap_or_default();
        let new = found.iter().find(|hazard| !self.hazards.contains(&place(hazard)))?;
        Some((0, Verdict::Mismatch(Mismatch::Hazard(new.to_string()))))
    }

    /// Adds the finding of a step that went wrong: with the first change after which it does.
    fn accuse(&mut self, step: &Step, (at, failure): (usize, Failure)) -> Result<(), CheckError> {
        let Failure { verdict, function } = failure;
        let turn = if matches!(verdict, Verdict::Hangs(_)) { None } else { self.turn(step)? };
        let rewrite = turn.map(|Turn { index, good, bad }| rewrite(index, bad.1.as_ref(), &good.0, &bad.0));
        let case = self.cases.get(at);
        let kernel = self.report.kernel.clone();
        let quiet = CheckOptions { out: None, ..self.options.clone() };
        let summary = FailureSummary::of(step.id(), verdict, function.as_deref());
        let finding = summary.finding(&kernel, &self.state, case.map(Case::named), &quiet)?;
        let reproducer = self.options.out.as_deref().map(|out| self.reproducer(out, step.id(), case)).transpose()?;
        let token = step.id().token();
        let options = format!("--phase {token} --randoms 0{}", self.options.replay);
        let replay = match &reproducer {
            Some((cubin, launch)) => format!("oriole check {} --cubin {cubin}{launch} {options}", self.code.kernel),
            None => finding.replay,
        };
        let evidence = Evidence { module: self.state.clone(), launch: case.map(|case| case.judge.launch().clone()) };
        self.report.add(Finding {
            function: rewrite.as_ref().and_then(|rewrite| rewrite.function.clone()).or(function),
            rewrite,
            reproducer: reproducer.map(|(cubin, _)| cubin),
            replay,
            evidence: Arc::new(evidence),
            ..finding
        });
        Ok(())
    }

    /// Where a step turns wrong as it gets leave for more changes.
    fn turn(&self, step: &Step) -> Result<Option<Turn<Trial>>, CheckError> {
        turning_point(1, |limit| {
            let mut module = self.state.clone();
            let conditions = Conditions { limit: Some(limit), ..self.conditions() };
            Ok(match step.take(&mut module, &conditions)? {
                Outcome::Skipped(_) => ((module, None), false),
                Outcome::Done(done) => {
                    let is_wrong = self.wrong(&module).is_some();
                    ((module, done.last_rewrite), is_wrong)
                }
                Outcome::Failed(_) => ((self.state.clone(), None), true),
            })
        })
    }

    /// Writes the cubin before a step and the launch of a case; the cubin's file, and the option that names the
    /// launch's.
    fn reproducer(&self, out: &Path, step: StepId, case: Option<&Case<'_>>) -> Result<(String, String), CheckError> {
        let failed = |reason: String| CheckError::Reproducer { path: out.to_owned(), reason };
        let stem = |name| Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or("kernel");
        let (kernel, axis) = (stem(&self.code.kernel), stem(&self.code.axis).replace(" -", "-"));
        let stem = format!("{kernel}-{axis}-{}", step.token()).replace('#', "-");
        let bytes = in_place::write(&self.code.cubin, &self.state).map_err(|error| failed(error.to_string()))?.0;
        fs::create_dir_all(out).map_err(|error| failed(error.to_string()))?;
        let launch = case.map(|case| case.judge.launch().save(out, &stem));
        let launch = launch.transpose().map_err(|error| failed(error.to_string()))?;
        let path = out.join(format!("{stem}.cubin"));
        fs::write(&path, bytes).map_err(|error| failed(error.to_string()))?;
        let launch = launch.map_or(String::new(), |launch| format!(" --launch {}", launch.display()));
        Ok((path.display().to_string(), launch))
    }
}
