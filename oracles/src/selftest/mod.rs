//! The harness tested on faults of its own: how many of those that it plants in phases it finds.
//!
//! Each case is one of a campaign: a generated kernel, or one about a single operation. The phases run on it up to one of
//! those under test, then a fault ([`crate::inject`]) changes what that phase leaves, and the launches of the case run before
//! and after the change, as they do in a check. A fault that shows nothing there is looked at closely ([`neutral`]): either
//! there is an argument that nothing can ever show it, or other data shows it, and then it escaped; where not even that does,
//! it is counted as probably neutral.
//! The share of caught faults leaves neutral ones out, whether certain or probable.

pub mod neutral;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oriole_optimizer::ir::{FuncId, Module};
use oriole_optimizer::pipeline::runner::{Options as Pipeline, default_phases};
use oriole_optimizer::pipeline::runner::{PhaseEntry, run_phases, skips};
use oriole_optimizer::pipeline::table::{PHASES, PhaseRow, Status};
use oriole_optimizer::target::Target;
use oriole_optimizer::verify::verify_module;
use rayon::prelude::*;
use serde::Serialize;

use crate::campaign::target::{self, Cases};
use crate::check::blame::difference;
use crate::check::cases::Case;
use crate::check::catch::catch;
use crate::check::reach::{Further, Reach, further};
use crate::equivalence::judge;
use crate::generate::{Config, Generated, another_launch};
use crate::inject::{FaultSpec, KINDS, Kind, Place, Victim};
use crate::input::{NamedLaunch, into_ssa};
use crate::interp::{Executable, Outcome, RunOptions, RunResult};
use crate::launch::Launch;
use crate::launch::random::SplitMix64;

/// What is generated, as a campaign does without a corpus.
const TARGETS: [target::Target; 2] = [target::Target::Kernels, target::Target::Instructions];
/// Steps that a changed kernel may take beyond four times those of the original.
const MORE_STEPS: u64 = 50_000;
/// Faults of a kind that are shown, of those that escaped and of those that are probably neutral.
const MOST_SHOWN: usize = 10;

/// What to plant, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The phases to plant faults in; all that are built where empty.
    pub phases: Vec<&'static PhaseRow>,
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
}

/// What became of the faults of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct KindReport {
    /// Its name.
    pub kind: &'static str,
    /// Cases that were looked at.
    pub cases: u64,
    /// Cases with a place for the fault.
    pub injected: u64,
    /// Faults that were found.
    pub caught: u64,
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
#[derive(Clone, Debug, Serialize)]
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
    let all: Vec<&'static Kind> = KINDS.iter().collect();
    let kinds = if options.kinds.is_empty() { &all } else { &options.kinds };
    kinds.par_iter().map(|kind| run_kind(kind, options)).collect()
}

/// The phases that faults are planted in by default.
pub fn built_phases() -> Vec<&'static PhaseRow> {
    PHASES.iter().filter(|row| matches!(row.status, Status::Built(_))).collect()
}

fn run_kind(kind: &'static Kind, options: &Options) -> KindReport {
    let all = built_phases();
    let phases = if options.phases.is_empty() { &all } else { &options.phases };
    let mut report = KindReport::new(kind);
    let mut spent = Duration::ZERO;
    for number in 0..options.cases {
        if options.enough.is_some_and(|enough| report.caught - report.caught_by_verifier >= enough) {
            break;
        }
        let start = Instant::now();
        let seed = SplitMix64::new(options.seed ^ SplitMix64::new(number).next_u64()).next_u64();
        let phase = phases[(seed % phases.len() as u64) as usize];
        let fault = FaultSpec { kind, victim: Victim::Phase(phase), seed: seed >> 40 };
        report.cases += 1;
        let what = Trial::new(fault, phase, number, options).map(|trial| trial.judge());
        spent += start.elapsed();
        let Some((what, trial)) = what else { continue };
        report.injected += 1;
        let opcode = trial.before.functions[trial.function].insts[trial.place.inst].opcode.row().name;
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
        let Trial { fault, number, seed, .. } = trial;
        self.shown.push(Missed {
            fault: fault.to_string(),
            case: *number,
            why,
            escaped,
            diff: difference(&trial.before.to_string(), &trial.after.to_string()),
            replay: format!("oriole fuzz --target kernels,instructions --seed {seed} --case {number} --fault {fault}"),
        });
    }
}

/// What became of a fault on the launches of its case.
enum Fate {
    Caught { by_verifier: bool },
    Silent,
}

/// A fault in a case: what the phase left, without it and with it.
pub struct Trial {
    /// The fault.
    pub fault: FaultSpec,
    number: u64,
    seed: u64,
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
    /// `None` where the module has no place for the fault in the phase.
    fn new(fault: FaultSpec, phase: &PhaseRow, number: u64, options: &Options) -> Option<Trial> {
        let cases = Cases::new(options.seed, options.config.clone(), &TARGETS, Arc::default());
        let Generated { module: mut before, launches } = cases.case(number).generated;
        let launches = with_further(&before, launches, options.config.tries)?;
        into_ssa(&mut before);
        run_up_to(phase, &mut before)?;
        let (id, place, change) = fault.choose(&before)?;
        let mut after = before.clone();
        change.apply(&mut after.functions[id], place);
        Some(Trial { fault, number, seed: options.seed, function: id, place, before, after, launches })
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
    /// say nothing.
    pub fn compare_on(&self, launches: impl Iterator<Item = Launch>) -> Option<usize> {
        let (Ok(before), Ok(after)) = (Executable::new(&self.before), Executable::new(&self.after)) else {
            return Some(0);
        };
        launches.enumerate().find_map(|(at, launch)| self.shows(&before, &after, launch).then_some(at))
    }

    fn shows(&self, before: &Executable<'_>, after: &Executable<'_>, launch: Launch) -> bool {
        let run = |executable: &Executable<'_>, steps| -> Option<RunResult> {
            executable.run(&launch, &RunOptions { steps, ..RunOptions::default() }).ok()
        };
        let Some(good) = run(before, None).filter(|good| good.outcome == Outcome::Finished) else { return false };
        match run(after, Some(good.steps.saturating_mul(4).saturating_add(MORE_STEPS))) {
            Some(ran) if judge(&good, &ran, after, &launch).is_finding() => true,
            Some(_) => Case::new(String::new(), launch, good, &self.before).new_race(after).is_some(),
            None => true,
        }
    }
}

/// The launches, and others that go where these do not, as a campaign makes them.
fn with_further(module: &Module, mut launches: Vec<NamedLaunch>, tries: u32) -> Option<Vec<NamedLaunch>> {
    let executable = Executable::new(module).ok()?;
    let mut reach = Reach::new(&executable);
    let options = RunOptions { reach: true, ..RunOptions::default() };
    for named in &launches {
        reach.note(&executable.run(&named.launch, &options).ok()?);
    }
    let like = launches.first()?.launch.clone();
    let further = further(&executable, &mut reach, tries, &options, |seed| another_launch(&like, seed));
    launches.extend(
        further
            .into_iter()
            .map(|Further { seed, launch, .. }| NamedLaunch { name: format!("further data {seed}"), launch }),
    );
    Some(launches)
}

/// Runs the phases before one and that one; `None` where one of them goes wrong by itself.
fn run_up_to(phase: &PhaseRow, module: &mut Module) -> Option<()> {
    let phases = default_phases();
    let last = phases.iter().position(|entry| entry.name() == phase.name)?;
    let mut pipeline = Pipeline::new(Target::portable(90)?);
    pipeline.trusted = true;
    let wanted = skips(&phases, &pipeline).ok()?;
    let chosen: Vec<PhaseEntry> = (0..=last).filter(|at| wanted[*at].is_none()).map(|at| phases[at]).collect();
    catch(|| run_phases(&chosen, module, &pipeline, &mut ())).ok()?.ok()?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind finds places, and the harness finds faults of every kind.
    #[test]
    fn every_kind_is_injected_and_caught() {
        let options = Options {
            phases: Vec::new(),
            kinds: Vec::new(),
            cases: 1500,
            seed: 5,
            config: Config::default(),
            enough: Some(1),
            data_sets: 1,
        };
        let reports = run(&options);
        assert_eq!(reports.len(), KINDS.len());
        for report in &reports {
            assert!(report.injected > 0, "{} finds no place", report.kind);
            assert!(report.caught > report.caught_by_verifier, "{}: execution finds none: {report:?}", report.kind);
        }
    }
}
