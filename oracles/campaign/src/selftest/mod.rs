//! The harness tested on faults of its own: how many of those that it plants in steps it finds.
//!
//! Each case is one of a campaign: a generated kernel, or one about a single operation. The steps of a check are taken
//! up to one of those under test, then a fault ([`oriole_check::inject`]) changes what that step leaves, and the
//! launches of the case judge the change, as they do in a check. A fault that shows nothing there is looked at closely
//! ([`neutral`]): either there is an argument that nothing can ever show it, or other data shows it, and then it
//! escaped; where not even that does, it is counted as probably neutral.
//! The share of caught faults leaves neutral ones out, whether certain or probable.

mod code;
pub mod neutral;
pub mod stages;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oriole_ir::verify::verify_module;
use oriole_ir::{FuncId, Module};
use oriole_optimizer::pass::{PassOptions, Status};
use oriole_optimizer::pipeline::Pipeline;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::target::{self, Cases};
use oriole_check::bisect::difference;
use oriole_check::compiled::Compiler;
use oriole_check::compiler::Tool;
use oriole_check::extra_launches::{ExtraLaunch, Unexecuted, extra_launches};
use oriole_check::inject::{FaultSpec, KINDS, Kind, Place};
use oriole_check::input::NamedLaunch;
use oriole_check::judge::Judge;
use oriole_check::step::{Conditions, Outcome, Step, plan};
use oriole_check::supervise::StepId;
use oriole_check::{CheckOptions, target_of};
use oriole_generate::{Config, Generated, another_launch};
use oriole_interp::{Executable, RunOptions};
use oriole_launch::Launch;
use oriole_launch::random::SplitMix64;

/// What is generated, as a campaign does without a corpus.
const TARGETS: [target::Target; 2] = [target::Target::Kernels, target::Target::Instructions];
/// Faults of a kind that are shown, of those that escaped and of those that are probably neutral.
const MOST_SHOWN: usize = 10;

/// What to plant, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The passes whose steps are taken.
    pub passes: Pipeline,
    /// The level of the phases of ptxas.
    pub level: u8,
    /// The options of cicc's passes.
    pub pass_options: PassOptions,
    /// The steps to plant faults in; all that can go wrong where empty.
    pub steps: Vec<StepId>,
    /// The kinds; all where empty.
    pub kinds: Vec<&'static Kind>,
    /// Cases of each kind.
    pub cases: u64,
    /// The seed of cases and places.
    pub seed: u64,
    /// What is generated.
    pub config: Config,
    /// Faults of a kind that are caught before the next kind is tried; all cases where `None`.
    pub enough: Option<u64>,
    /// Other data that decides whether what shows nothing is neutral.
    pub data_sets: u64,
    /// Options of a command that makes a case again, beside its fault: ` --config F`.
    pub arguments: String,
    /// The compiler over whose code the passes run, where that is machine code; our own where its stages are tested.
    pub compiler: Option<Arc<Compiler>>,
}

impl Options {
    /// The fault of a kind that a case gets, in one of the steps.
    fn fault(&self, kind: &'static Kind, steps: &[StepId], number: u64) -> FaultSpec {
        let seed = SplitMix64::new(self.seed ^ SplitMix64::new(number).next_u64()).next_u64();
        // The step comes from the low bits and the place of the fault from the high ones, so one does not decide the
        // other.
        let step = steps[(seed % steps.len() as u64) as usize];
        FaultSpec { kind, step, seed: seed >> 40 }
    }

    /// The command that plants a fault in a case.
    fn replay_of(&self, fault: FaultSpec, number: u64) -> String {
        let (targets, Options { seed, arguments, .. }) = (TARGETS.map(target::Target::name).join(","), self);
        format!("oriole fuzz --target {targets} --seed {seed} --case {number} --fault {fault}{arguments}")
    }
}

/// What became of the faults of one kind.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct KindReport {
    /// Its name.
    pub kind: &'static str,
    /// The stage of our own compiler that they are planted in; null for faults in steps.
    pub stage: Option<&'static str>,
    /// Cases that were looked at.
    pub cases: u64,
    /// Cases with a place for the fault.
    pub injected: u64,
    /// Faults that were found.
    pub caught: u64,
    /// Those of them that were blamed on the stage; of faults in steps, which are judged one by one, none is counted.
    pub blamed: u64,
    /// Those of them that the verifier found.
    pub caught_by_verifier: u64,
    /// Faults that cannot show, by the structure of the module.
    pub neutral: u64,
    /// Faults that neither the case's launches nor any other data shows.
    pub probably_neutral: u64,
    /// Faults that other data shows.
    pub escaped: u64,
    /// By the opcode that the fault is in: how many of its faults were caught, and how many escaped.
    pub opcodes: BTreeMap<&'static str, [u64; 2]>,
    /// Cases up to and with the first that was caught.
    pub first_case: Option<u64>,
    /// Seconds until then.
    pub first_seconds: Option<f64>,
    /// Those that escaped, and some that are probably neutral.
    pub shown: Vec<Missed>,
}

/// A fault that was not found.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Missed {
    /// The fault, as `--fault` takes it.
    pub fault: String,
    /// The case.
    pub case: u64,
    /// Why it counts as what it counts.
    pub why: String,
    /// Whether it escaped.
    pub escaped: bool,
    /// What it changed.
    pub diff: String,
    /// The command that plants it again.
    pub replay: String,
}

impl KindReport {
    fn new(kind: &Kind) -> KindReport {
        KindReport {
            kind: kind.name,
            stage: None,
            blamed: 0,
            cases: 0,
            injected: 0,
            caught: 0,
            caught_by_verifier: 0,
            neutral: 0,
            probably_neutral: 0,
            escaped: 0,
            opcodes: BTreeMap::new(),
            first_case: None,
            first_seconds: None,
            shown: Vec::new(),
        }
    }

    /// Caught faults in a hundred of those that are not neutral; 100 where there are none.
    pub fn percent(&self) -> f64 {
        percent(self.caught, self.escaped)
    }
}

/// Faults as a bug in a phase would make them, a kind in an opcode: how many are not neutral, and how many of those
/// some case caught.
pub fn by_opcode(reports: &[KindReport]) -> (u64, u64) {
    let faults = || reports.iter().flat_map(|report| report.opcodes.values());
    (faults().count() as u64, faults().filter(|[caught, _]| *caught > 0).count() as u64)
}

/// Caught in a hundred of caught and escaped.
pub fn percent(caught: u64, escaped: u64) -> f64 {
    if caught + escaped == 0 { 100.0 } else { 100.0 * caught as f64 / (caught + escaped) as f64 }
}

/// Plants faults of each kind, as many kinds at the same time as the current pool has threads.
pub fn run(options: &Options) -> Vec<KindReport> {
    run_with(options, &|_| {})
}

/// The same; `done` hears of each case, with the name of its kind.
pub fn run_with(options: &Options, done: &(dyn Fn(&'static str) + Sync)) -> Vec<KindReport> {
    if let Some(compiler) = &options.compiler {
        return match compiler.tool {
            Tool::Ptxas(_) => code::run(options, compiler, done),
            Tool::Own(_) => stages::run(options, compiler, done),
        };
    }
    let all: Vec<&'static Kind> = KINDS.iter().collect();
    let kinds = if options.kinds.is_empty() { &all } else { &options.kinds };
    kinds.par_iter().map(|kind| run_kind(kind, options, done)).collect()
}

/// The steps that faults are planted in by default: the passes that are built, and the steps that are no passes.
fn all_steps(passes: &Pipeline) -> Vec<StepId> {
    let (steps, outside) = (passes.steps(), StepId::OUTSIDE_PHASES);
    let built = steps.iter().filter(|element| element.status() == Status::Built && element.refused().is_none());
    built.map(|element| StepId::Pass(element.id())).chain(outside).collect()
}

fn run_kind(kind: &'static Kind, options: &Options, done: &(dyn Fn(&'static str) + Sync)) -> KindReport {
    let all = all_steps(&options.passes);
    let steps = if options.steps.is_empty() { &all } else { &options.steps };
    let mut report = KindReport::new(kind);
    let mut spent = Duration::ZERO;
    for number in 0..options.cases {
        // Faults that the verifier sees are found without execution, and so are not enough.
        if options.enough.is_some_and(|enough| report.caught - report.caught_by_verifier >= enough) {
            break;
        }
        let start = Instant::now();
        let fault = options.fault(kind, steps, number);
        report.cases += 1;
        done(kind.name);
        let what = Trial::new(fault, number, options).map(|trial| trial.judge());
        spent += start.elapsed();
        let Some((what, trial)) = what else { continue };
        report.injected += 1;
        let opcode = trial.before.functions[trial.function].inst(trial.place.inst).opcode.row().name;
        match what {
            Fate::Caught { by_verifier } => {
                report.caught += 1;
                report.opcodes.entry(opcode).or_default()[0] += 1;
                report.caught_by_verifier += u64::from(by_verifier);
                report.first_case.get_or_insert(report.cases);
                report.first_seconds.get_or_insert(spent.as_secs_f64());
            }
            Fate::Silent => match neutral::argument(&trial, options.data_sets) {
                neutral::Argument::Certain(_) => report.neutral += 1,
                neutral::Argument::Probable(why) => {
                    report.probably_neutral += 1;
                    report.show(&trial, false, why);
                }
                neutral::Argument::Refuted(why) => {
                    report.escaped += 1;
                    report.opcodes.entry(opcode).or_default()[1] += 1;
                    report.show(&trial, true, why);
                }
            },
        }
    }
    report
}

impl KindReport {
    fn show(&mut self, trial: &Trial, escaped: bool, why: String) {
        if self.shown.iter().filter(|missed| missed.escaped == escaped).count() >= MOST_SHOWN {
            return;
        }
        let Trial { fault, number, replay, .. } = trial;
        self.shown.push(Missed {
            fault: fault.to_string(),
            case: *number,
            why,
            escaped,
            diff: difference(&trial.before.to_string(), &trial.after.to_string()),
            replay: replay.clone(),
        });
    }
}

/// What became of a fault on the launches of its case.
enum Fate {
    Caught { by_verifier: bool },
    Silent,
}

/// A fault in a case: what the step left, without it and with it.
pub struct Trial {
    /// The fault.
    pub fault: FaultSpec,
    number: u64,
    /// The command that plants it again.
    replay: String,
    /// Where it is.
    pub function: FuncId,
    /// At which instruction.
    pub place: Place,
    /// The module without the fault.
    pub before: Module,
    /// The module with it.
    pub after: Module,
    launches: Vec<NamedLaunch>,
}

impl Trial {
    /// `None` where the module has no place for the fault behind the step.
    fn new(fault: FaultSpec, number: u64, options: &Options) -> Option<Trial> {
        let cases = Cases::new(options.seed, options.config.clone(), &TARGETS, Arc::default());
        let Generated { module: mut before, launches, .. } = cases.case(number).generated;
        let launches = with_further(&before, launches, options.config.tries)?;
        take_up_to(fault.step, options, &mut before)?;
        let (id, place, change) = fault.choose(&before)?;
        let mut after = before.clone();
        change.apply(&mut after.functions[id], place);
        let replay = options.replay_of(fault, number);
        Some(Trial { fault, number, replay, function: id, place, before, after, launches })
    }

    fn judge(self) -> (Fate, Trial) {
        let fate = self.fate();
        (fate, self)
    }

    fn fate(&self) -> Fate {
        if verify_module(&self.after).is_err() {
            return Fate::Caught { by_verifier: true };
        }
        match self.compare_on(self.launches.iter().map(|named| named.launch.clone())) {
            Some(_) => Fate::Caught { by_verifier: false },
            None => Fate::Silent,
        }
    }

    /// The launches of the case.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.launches.iter().map(|named| &named.launch)
    }

    /// The number of the first launch that shows the fault. Launches on which the module without it does not finish
    /// are inconclusive.
    pub fn compare_on(&self, launches: impl Iterator<Item = Launch>) -> Option<usize> {
        let (Ok(before), Ok(after)) = (Executable::new(&self.before), Executable::new(&self.after)) else {
            return Some(0);
        };
        let shows = |launch: Launch| {
            Judge::of(&before, &launch, None).is_ok_and(|judge| judge.judge(&after).verdict.is_finding())
        };
        launches.enumerate().find_map(|(at, launch)| shows(launch).then_some(at))
    }
}

/// The launches, and others that go where these do not, as a campaign makes them.
fn with_further(module: &Module, mut launches: Vec<NamedLaunch>, tries: u32) -> Option<Vec<NamedLaunch>> {
    let executable = Executable::new(module).ok()?;
    let mut unexecuted = Unexecuted::new(&executable);
    let options = RunOptions { reach: true, ..RunOptions::default() };
    for named in &launches {
        unexecuted.note(&executable.run(&named.launch, &options).ok()?);
    }
    let like = launches.first()?.launch.clone();
    let further = extra_launches(&executable, &mut unexecuted, tries, &options, |seed| another_launch(&like, seed));
    launches.extend(
        further
            .into_iter()
            .map(|ExtraLaunch { seed, launch, .. }| NamedLaunch { name: format!("further data {seed}"), launch }),
    );
    Some(launches)
}

/// Takes the steps of a check before one and that one; `None` where one of them goes wrong by itself, or the module has
/// nothing for the last one to do.
fn take_up_to(last: StepId, of: &Options, module: &mut Module) -> Option<()> {
    let options = CheckOptions { passes: of.passes.clone(), ..CheckOptions::default() };
    let mut pipeline = options.pipeline.clone();
    (pipeline.opt_level, pipeline.pass_options) = (of.level, of.pass_options.clone());
    (pipeline.target, pipeline.trusted) = (target_of(module).ok()?, true);
    let conditions = Conditions { pipeline: &pipeline, faults: &[], limit: None };
    for (step, _) in plan(&options, &pipeline).ok()?.iter().filter(|(_, reason)| reason.is_none()) {
        let skipped = step.skips(module).is_some() || !take(step, module, &conditions)?;
        if step.id() == last {
            return (!skipped).then_some(());
        }
    }
    None
}

/// Whether a step had something to do; `None` where it goes wrong.
fn take(step: &Step, module: &mut Module, conditions: &Conditions<'_>) -> Option<bool> {
    match step.take(module, conditions).ok()? {
        Outcome::Skipped(_) => Some(false),
        Outcome::Done(_) => Some(true),
        Outcome::Failed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind finds places, and the harness finds faults of every kind.
    #[test]
    fn every_kind_is_injected_and_caught() {
        let options = Options {
            passes: Pipeline::ptxas(),
            level: 3,
            pass_options: PassOptions::new(),
            steps: Vec::new(),
            kinds: Vec::new(),
            cases: 1500,
            seed: 6,
            config: Config::default(),
            enough: Some(1),
            data_sets: 1,
            arguments: String::new(),
            compiler: None,
        };
        let reports = run(&options);
        assert_eq!(reports.len(), KINDS.len());
        for report in &reports {
            assert!(report.injected > 0, "{} finds no place", report.kind);
            assert!(report.caught > report.caught_by_verifier, "{}: execution finds none: {report:?}", report.kind);
        }
    }
}
