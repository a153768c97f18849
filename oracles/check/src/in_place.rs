//! Machine code whose words stay in place, as a stage of a check.
//!
//! A compiler has made code of a program, which is a step. From then on the program between two steps is machine-level
//! Ori: the functions of the cubin, lifted ([`oriole_sass::ori::in_place`]). Behind each phase that changes something
//! the words are in the cubin again, and are judged:
//!
//! - in the usual order of lanes they leave, on every case, what the words of the compiler left, bit for bit: machine
//!   code depends on nothing undefined;
//! - in several orders of lanes they do what the program says, where the compiler's own code does;
//! - their scheduling control covers every register that it covered before.
//!
//! What goes wrong is a finding of the phase, with the guilty rewrite; the cubin before the phase is the reproducer.
//! Whether the compiler's code is right is judged with the step that makes it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use oriole_interp::{Executable, LaneOrder, Outcome as End, RunOptions, RunResult};
use oriole_ir::Module;
use oriole_machine::Lifted;
use oriole_sass::cubin::Cubin;
use oriole_sass::ori::in_place;
use oriole_scoreboard::{Hazard, check_cubin};

use super::cases::{self, Case, Judgement};
use super::finding::FailureSummary;
use super::options::{CheckError, CheckOptions};
use super::report::{Finding, KernelReport};
use crate::compiler::{Axis, Effort};
use crate::input::{NamedLaunch, write_ptx};
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
    pub cubin: Arc<Cubin>,
    /// How the code was made, for reports: `sm_90 -O0`, or its file.
    pub origin: String,
    /// How the real ptxas made it, if it did.
    pub axis: Option<Axis>,
}

/// Why a step is left out where the code itself is not what its program says, or cannot be executed.
pub(super) const NOT_JUDGED: &str = "its code is not executed on any case";

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
        let finding = summary.finding(&self.name(), &self.program, None, &quiet)?;
        report.add(self.as_of_code(finding, options));
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
        super::check_code(self, options)
    }

    /// Its name in reports.
    pub(super) fn name(&self) -> String {
        format!("{} ({})", self.kernel, self.origin)
    }

    /// A finding with what shows it again: the program, and how code is made of it.
    fn as_of_code(&self, finding: Finding, options: &CheckOptions) -> Finding {
        let Some(axis) = &self.axis else { return finding };
        let replay = match axis.effort {
            Effort::Level(level) if axis.options.is_empty() => {
                let way = format!("--machine {} --ptxas-level {level}", axis.arch);
                format!("oriole check {} {way} --randoms 0{}", self.kernel, options.replay)
            }
            _ => finding.replay,
        };
        let text = write_ptx(&self.program).ok().map(Arc::from);
        Finding { replay, text, axes: vec![axis.clone()], ..finding }
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

/// The stage of a check at which the program is machine code.
pub struct InPlace<'a> {
    code: &'a Code,
    original: Executable<'a>,
    /// What the compiler's code did, by case. Every good step leaves the same.
    runs: Vec<Run>,
    hazards: Hazards,
}

/// What is wrong, and the case that tells; the first where none does.
type Wrong = (usize, Verdict);

impl<'a> InPlace<'a> {
    /// The compiler's own code on all cases, and what is wrong with it, if anything is.
    pub(super) fn new(code: &'a Code, cases: &[Case<'_>]) -> (InPlace<'a>, Option<Wrong>) {
        let original = Executable::new(&code.program).expect("it ran");
        let mut stage = InPlace { code, original, runs: Vec::new(), hazards: hazards(&code.cubin) };
        let mut wrong = None;
        for (at, case) in cases.iter().enumerate() {
            let ran = case.judge.run_code(&stage.original, &code.cubin, &RunOptions::default());
            let left = ran.ok().filter(|run| run.outcome == End::Finished);
            let judged = stage.against_program(case, &code.cubin);
            let is_right = judged.as_ref().is_some_and(Verdict::is_good);
            wrong = wrong.or(judged.filter(Verdict::is_finding).map(|verdict| (at, verdict)));
            stage.runs.push(Run { left, is_right });
        }
        (stage, wrong)
    }

    /// Whether the code is executed on a case.
    pub(super) fn is_judged(&self) -> bool {
        self.runs.iter().any(|run| run.left.is_some())
    }

    /// Judges functions that a step has left.
    pub(super) fn judge(&self, after: &Module, cases: &[Case<'_>]) -> Judgement {
        let (case, verdict) = self.wrong(after, cases).unwrap_or((0, Verdict::Equal));
        Judgement::of(verdict, case)
    }

    /// What is wrong with the words of functions that a step has left, if anything is.
    fn wrong(&self, after: &Module, cases: &[Case<'_>]) -> Option<Wrong> {
        let lifted = match Lifted::new(&self.code.cubin, after) {
            Ok(lifted) => lifted,
            Err(error) => return Some((0, Verdict::Refused(error.to_string()))),
        };
        let cubin = lifted.cubin();
        let differs = |(at, case): (usize, &Case<'_>)| Some((at, self.differs(case, &self.runs[at], cubin)?));
        cases.iter().enumerate().find_map(differs).or_else(|| self.uncovered(cubin))
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

    /// The verdict on code held against its program, in several orders of lanes; `None` where it cannot be executed.
    fn against_program(&self, case: &Case<'_>, cubin: &Cubin) -> Option<Verdict> {
        let judged = case.judge.judge_code(&self.original, cubin, Executor::Interpreter, &LaneOrder::SEVERAL);
        judged.ok().map(|judged| judged.verdict)
    }

    /// The first register that is used too early and was not before.
    fn uncovered(&self, cubin: &Cubin) -> Option<Wrong> {
        let found = check_cubin(cubin).unwrap_or_default();
        let new = found.iter().find(|hazard| !self.hazards.contains(&place(hazard)))?;
        Some((0, Verdict::Mismatch(Mismatch::Hazard(new.to_string()))))
    }

    /// The finding of code that is wrong as the compiler has made it: the command that shows it again judges that.
    pub(super) fn of_compiler(
        &self,
        verdict: Verdict,
        case: Option<&Case<'_>>,
        options: &CheckOptions,
    ) -> Result<Finding, CheckError> {
        let summary = FailureSummary::of(StepId::Compilation, verdict, None);
        let quiet = CheckOptions { out: None, ..options.clone() };
        let finding = summary.finding(&self.code.name(), self.original.module(), case.map(Case::named), &quiet)?;
        Ok(Finding { replay: format!("oriole judge {}", self.code.kernel), ..finding })
    }

    /// The finding of a step that went wrong on the functions `before` it, with their cubin as the reproducer.
    pub(super) fn finding(
        &self,
        summary: FailureSummary,
        before: &Module,
        case: Option<&Case<'_>>,
        options: &CheckOptions,
    ) -> Result<Finding, CheckError> {
        let (step, is_written) = (summary.step, summary.bisected);
        let quiet = CheckOptions { out: None, ..options.clone() };
        let finding = summary.finding(&self.code.name(), self.original.module(), case.map(Case::named), &quiet)?;
        let finding = self.code.as_of_code(finding, options);
        let Some(out) = options.out.as_deref().filter(|_| is_written) else { return Ok(finding) };
        let (cubin, launch) = self.reproducer(out, step, before, case)?;
        let file = format!("{} --cubin {cubin}{launch}", self.code.kernel);
        let replay = format!("oriole check {file} --phase {} --randoms 0{}", step.token(), options.replay);
        Ok(Finding { reproducer: Some(cubin), replay, ..finding })
    }

    /// Writes the cubin before a step and the launch of a case; the cubin's file, and the option that names the
    /// launch's.
    fn reproducer(
        &self,
        out: &Path,
        step: StepId,
        before: &Module,
        case: Option<&Case<'_>>,
    ) -> Result<(String, String), CheckError> {
        let failed = |reason: String| CheckError::Reproducer { path: out.to_owned(), reason };
        let stem = |name| Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or("kernel");
        let (kernel, origin) = (stem(&self.code.kernel), stem(&self.code.origin).replace(" -", "-"));
        let stem = format!("{kernel}-{origin}-{}", step.token()).replace('#', "-");
        let bytes = in_place::write(&self.code.cubin, before).map_err(|error| failed(error.to_string()))?.0;
        fs::create_dir_all(out).map_err(|error| failed(error.to_string()))?;
        let launch = case.map(|case| case.judge.launch().save(out, &stem));
        let launch = launch.transpose().map_err(|error| failed(error.to_string()))?;
        let path = out.join(format!("{stem}.cubin"));
        fs::write(&path, bytes).map_err(|error| failed(error.to_string()))?;
        let launch = launch.map_or(String::new(), |launch| format!(" --launch {}", launch.display()));
        Ok((path.display().to_string(), launch))
    }
}
