//! The differential check: a kernel is executed before and after every phase, and must behave the same.
//!
//! 1. The original runs on every case: each launch as it is, and with random data of the same shape. Cases on which it
//!    traps, deadlocks, runs out of steps, races or depends on an undefined value say nothing; they are counted and left out.
//!    What comes in virtual form is then brought into SSA form, and compared like after a phase ([`construct`]).
//! 2. The phases run one by one. After each that changed something the module is verified, runs on every case, and is
//!    compared with the run before it ([`crate::equivalence`]), and where it may have changed what orders threads, races are looked
//!    for ([`order`]); where they differ and threads of the original race, the case says nothing. So the guilty phase is
//!    known at once, and the run after one phase is the run before the next.
//! 3. A phase that breaks a rule of the IR, panics or changes behaviour is a [`report::Finding`]: the single guilty rewrite is
//!    found by bisection ([`blame`]), a reproducer is written, and the check goes on with the module as it was before that
//!    phase, so that one bug does not hide others.
//! 4. What the phases made is printed as PTX, read again, and compared with the original.
//!
//! Cost: a decode and a run for each case and phase that changes something.

pub mod blame;
pub mod border;
pub mod cases;
pub mod catch;
mod construct;
pub mod familiar;
pub mod order;
pub mod reach;
pub mod report;
pub mod shape;
pub(crate) mod step;
pub mod trip;
pub mod watch;
pub mod whole;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oriole_optimizer::ir::{Function, Module};
use oriole_optimizer::pipeline::runner::{Options, PhaseEntry, PhaseReport, SkipReason, default_phases, skips};
use oriole_optimizer::pipeline::table::UnknownPhase;
use oriole_optimizer::target::{Target, TargetError};

use crate::equivalence::Verdict;
use crate::inject::FaultSpec;
use crate::input::NamedLaunch;
use crate::interp::LoadError;
use crate::launch::Launch;
use blame::Suspect;
use cases::{Case, Ran};
use familiar::Familiar;
use report::{KernelReport, PhaseLine};
use step::{Step, take, verdict_of};

/// How to check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The phases, planned ones included.
    pub phases: Vec<PhaseEntry>,
    /// How the phases run; the target is that of the module, and verification is always on.
    pub pipeline: Options,
    /// Variants with random data for each launch.
    pub randoms: u32,
    /// The seed of the first variant.
    pub seed: u64,
    /// Launches with other data that are tried where all others leave operations alone ([`reach`]).
    pub tries: u32,
    /// How such a launch is made from the first one and a seed.
    pub another: fn(&Launch, u64) -> Launch,
    /// The step budget of the launches; their own where `None`.
    pub steps: Option<u64>,
    /// Look for data races in the original; a case that has one says nothing.
    pub races: bool,
    /// Whether what the phases made is also printed as PTX and read again.
    pub round_trip: bool,
    /// Where reproducers are written; nowhere where `None`.
    pub out: Option<PathBuf>,
    /// What needs no bisection any more; everything is bisected where `None`.
    pub familiar: Option<Arc<Familiar>>,
    /// Faults planted in the steps that are no phases ([`border`]).
    pub faults: Vec<FaultSpec>,
    /// What a replay command says beside file, phase and launch: ` -O 1 --knob X=1`.
    pub replay: String,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        let target = Target::portable(90).expect("sm_90 has a row");
        CheckOptions {
            phases: default_phases(),
            pipeline: Options::new(target),
            randoms: 2,
            seed: 1,
            tries: 0,
            another: Launch::randomized,
            steps: None,
            races: false,
            round_trip: true,
            out: None,
            familiar: None,
            faults: Vec::new(),
            replay: String::new(),
        }
    }
}

impl CheckOptions {
    /// The command that shows a finding of a phase, or of another step, again.
    fn replay_of(&self, file: &str, step: &str) -> String {
        format!("oriole check {file} --phase {step} --randoms 0{}", self.replay)
    }
}

/// Why a module cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The original cannot run on a launch.
    #[error("it cannot run on {launch}: {error}")]
    Load {
        /// The launch.
        launch: String,
        /// Why not.
        error: LoadError,
    },
    /// It is for a machine that nobody knows.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// An option names no phase.
    #[error(transparent)]
    UnknownPhase(#[from] UnknownPhase),
    /// A finding is about a phase that the check does not run.
    #[error("phase {phase} is not among those that run")]
    NotAmong {
        /// The phase.
        phase: String,
    },
    /// A reproducer cannot be written.
    #[error("cannot write the reproducer `{}`: {reason}", path.display())]
    Reproducer {
        /// Where to.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

/// The target that a module is for.
pub fn target_of(module: &Module) -> Result<Target, TargetError> {
    let name = module.target.split(',').next().unwrap_or_default();
    name.trim().parse()
}

/// Checks a module on its launches. `name` is the kernel's, for reports and reproducers.
pub fn check_module(
    name: &str,
    module: &Module,
    launches: &[NamedLaunch],
    options: &CheckOptions,
) -> Result<KernelReport, CheckError> {
    Ok(check(name, module, launches, options)?.0)
}

/// The report, and what the phases made of the module.
fn check(
    name: &str,
    module: &Module,
    launches: &[NamedLaunch],
    options: &CheckOptions,
) -> Result<(KernelReport, Module), CheckError> {
    let mut pipeline = options.pipeline.clone();
    pipeline.target = target_of(module)?;
    pipeline.verify = true;
    pipeline.time = true;
    // The whole list knows its own phases by name, so tokens that address nothing are refused here, once.
    let every_phase = Options { stop_after: None, ..pipeline.clone() };
    let skips = skips(&options.phases, &every_phase)?;
    let start = Instant::now();
    let (cases, report) = cases::first_runs(name, module, launches, options)?;
    let instructions_before = instructions(module);
    let mut check = Check {
        name,
        options,
        pipeline,
        state: module.clone(),
        spare: Module::default(),
        instructions: instructions_before,
        cases,
        report,
    };
    check.construct_ssa()?;
    for (position, entry) in options.phases.iter().enumerate() {
        check.phase(position, entry, skips[position])?;
    }
    let Check { state: optimized, cases, mut report, .. } = check;
    if options.round_trip {
        let (line, finding) = trip::round_trip(name, &optimized, &cases, options)?;
        report.phases.push(line);
        report.findings.extend(finding);
    }
    cases.iter().filter(|case| case.is_raced()).for_each(|case| report.race(&case.name));
    report.instructions_after = instructions(&optimized);
    report.conclude();
    report.microseconds = start.elapsed().as_micros() as u64;
    Ok((report, optimized))
}

pub(crate) fn instructions(module: &Module) -> usize {
    module.functions.values().map(Function::inst_count).sum()
}

/// A check under way: the module after the last good phase, and the runs of it.
struct Check<'a> {
    name: &'a str,
    options: &'a CheckOptions,
    pipeline: Options,
    state: Module,
    /// A module that nobody needs any longer, to copy the state over.
    spare: Module,
    /// How many instructions `state` has.
    instructions: usize,
    cases: Vec<Case<'a>>,
    report: KernelReport,
}

impl Check<'_> {
    fn phase(&mut self, position: usize, entry: &PhaseEntry, skip: Option<SkipReason>) -> Result<(), CheckError> {
        if self.pipeline.stop_after.is_some_and(|last| position > last) {
            return Ok(());
        }
        if let Some(reason) = skip {
            self.report.phases.push(skipped(entry, self.instructions, reason));
            return Ok(());
        }
        let mut after = std::mem::take(&mut self.spare);
        after.clone_from(&self.state);
        match take(entry, &mut after, &self.pipeline, self.pipeline.rewrite_limit)? {
            Step::Stopped => self.spare = after,
            Step::Done(report) => {
                for (name, count) in &report.statistics {
                    *self.report.statistics.entry(name).or_default() += count;
                }
                // What a phase has taken and what the verifier has seen since is what the next one takes.
                self.pipeline.trusted = report.skipped.is_none() || self.pipeline.trusted;
                let verdict = if report.changed.is_yes() { self.judge(entry, &mut after)? } else { None };
                self.spare = after;
                self.report.phases.push(line(entry, &report, verdict));
            }
            Step::Invalid { function, message } => {
                let verdict = Verdict::InvalidIr(format!("function `{function}`: {message}"));
                self.accuse(entry, 0, &after, verdict.clone())?;
                self.report.phases.push(broken(entry, self.instructions, "invalid IR"));
            }
            Step::Panicked { message } => {
                let finding = self.suspect(entry, 0, &after).panicked(&message)?;
                self.report.findings.push(finding);
                self.report.phases.push(broken(entry, self.instructions, verdict_of(&message)));
            }
        }
        Ok(())
    }

    /// Runs a changed module on every case and compares; where it behaves well it becomes the state, and the state before
    /// stands in its place.
    fn judge(&mut self, entry: &PhaseEntry, after: &mut Module) -> Result<Option<Verdict>, CheckError> {
        let ran = match cases::run_all(after, &self.cases) {
            Ok(ran) => ran,
            Err(error) => {
                let verdict = Verdict::InvalidIr(error.to_string());
                self.accuse(entry, 0, after, verdict.clone())?;
                return Ok(Some(verdict));
            }
        };
        if let Some(guilty) = ran.iter().position(|ran| ran.verdict.is_finding()) {
            let verdict = ran[guilty].verdict.clone();
            self.accuse(entry, guilty, after, verdict.clone())?;
            return Ok(Some(verdict));
        }
        let refined = ran.iter().any(|ran| ran.verdict == Verdict::Refined);
        for (case, Ran { result, .. }) in self.cases.iter_mut().zip(ran) {
            case.before = result;
        }
        self.instructions = instructions(after);
        std::mem::swap(&mut self.state, after);
        let said = !self.cases.is_empty();
        Ok(said.then_some(if refined { Verdict::Refined } else { Verdict::Equal }))
    }

    fn accuse(&mut self, entry: &PhaseEntry, case: usize, after: &Module, verdict: Verdict) -> Result<(), CheckError> {
        let finding = self.suspect(entry, case, after).finding(verdict)?;
        self.report.findings.push(finding);
        Ok(())
    }

    fn suspect<'s>(&'s self, entry: &'s PhaseEntry, case: usize, after: &'s Module) -> Suspect<'s> {
        Suspect {
            kernel: self.name,
            entry,
            before: &self.state,
            after,
            case: self.cases.get(case),
            pipeline: &self.pipeline,
            options: self.options,
        }
    }
}

fn line(entry: &PhaseEntry, report: &PhaseReport, verdict: Option<Verdict>) -> PhaseLine {
    PhaseLine {
        name: entry.name(),
        number: entry.number(),
        skipped: report.skipped.map(SkipReason::name),
        changed: report.changed.is_yes(),
        instructions_before: report.insts_before,
        instructions_after: report.insts_after,
        rewrites: report.rewrites,
        verdict: verdict.map(|verdict| verdict.name()),
        microseconds: report.time.unwrap_or(Duration::ZERO).as_micros() as u64,
    }
}

/// The line of a phase that does not run.
fn skipped(entry: &PhaseEntry, instructions: usize, reason: SkipReason) -> PhaseLine {
    PhaseLine { skipped: Some(reason.name()), changed: false, verdict: None, ..broken(entry, instructions, "skipped") }
}

/// The line of a phase that did not get as far as a report.
fn broken(entry: &PhaseEntry, instructions: usize, verdict: &'static str) -> PhaseLine {
    PhaseLine {
        name: entry.name(),
        number: entry.number(),
        skipped: None,
        changed: true,
        instructions_before: instructions,
        instructions_after: instructions,
        rewrites: 0,
        verdict: Some(verdict),
        microseconds: 0,
    }
}
