//! A campaign: generated kernels, one after the other, each checked phase by phase.
//!
//! Case `n` of a seed is the same kernel whatever the number of workers and shards: workers draw numbers from one counter,
//! and a shard takes every so-many-th number. What a case shows is tallied where it ran and merged now and then, so
//! workers hardly wait for each other. Findings come from [`crate::check`], with reproducer and replay command.

pub mod coverage;
pub mod target;
mod vary;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oriole_optimizer::ir::Module;
use oriole_optimizer::verify::verify_module;

use crate::campaign::coverage::Coverage;
use crate::campaign::target::{Case, Cases, Target};
use crate::check::report::{Finding, KernelReport};
use crate::check::{CheckError, CheckOptions, check_module};
use crate::generate::mutate::Corpus;
use crate::generate::{Config, Generated, from_seed};
use crate::launch::random::SplitMix64;

/// Cases after which a worker merges its tally.
const MERGE: u64 = 32;
/// Findings after which a campaign stops: what comes after these is more of the same.
const MOST_FINDINGS: usize = 100;
/// Cases without meaning that are kept to look at.
const MOST_SILENT: usize = 20;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of all cases.
    pub seed: u64,
    /// Cases over all shards; unlimited where `None`.
    pub cases: Option<u64>,
    /// How long; unlimited where `None`.
    pub time: Option<Duration>,
    /// This shard, from 0, and how many there are.
    pub shard: (u64, u64),
    /// What is generated.
    pub config: Config,
    /// The kinds of cases; all where empty.
    pub targets: Vec<Target>,
    /// The kernels of which mutants are made.
    pub corpus: Arc<Corpus>,
    /// How it is checked.
    pub check: CheckOptions,
    /// Whether some cases run for other machines and with other knobs; [`Options::check_of`].
    pub vary: bool,
    /// One case in so many, drawn by its number, is also printed as PTX and read again; none where 0. The round trip
    /// takes half as long as all phases together and judges printer and reader, which every other test also does.
    pub round_trip_every: u64,
}

impl Options {
    /// The cases by number.
    pub fn by_number(&self) -> Cases {
        Cases::new(self.seed, self.config.clone(), &self.targets, self.corpus.clone())
    }
}

/// What a campaign has seen.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Cases that were checked.
    pub cases: u64,
    /// Cases in which the verifier is content and every launch finishes.
    pub valid: u64,
    /// The same by target.
    pub targets: BTreeMap<Target, TargetTally>,
    /// Instructions of all kernels before optimization.
    pub instructions: u64,
    /// Rows of the opcode table and values of their fields that finished kernels hold.
    pub coverage: Coverage,
    /// In how many kernels a phase changed something.
    pub phases: BTreeMap<&'static str, u64>,
    /// What is wrong with phases.
    pub findings: Vec<Finding>,
    /// Cases that say nothing, by number, and why.
    pub silent: BTreeMap<u64, String>,
}

/// What has come of the cases of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TargetTally {
    /// Cases that were checked.
    pub cases: u64,
    /// Cases whose launches all finish.
    pub valid: u64,
    /// What was made and dropped before it became a case.
    pub dropped: u64,
}

impl Tally {
    /// Valid cases in a hundred of those that are made to finish; 100 where there are none.
    pub fn valid_percent(&self) -> f64 {
        let made = self.targets.iter().filter(|(target, _)| target.is_own());
        let (cases, valid) = made.fold((0, 0), |sum, (_, tally)| (sum.0 + tally.cases, sum.1 + tally.valid));
        if cases == 0 { 100.0 } else { 100.0 * valid as f64 / cases as f64 }
    }

    fn add(&mut self, other: Tally) {
        self.cases += other.cases;
        self.valid += other.valid;
        self.instructions += other.instructions;
        self.coverage.add(&other.coverage);
        for (target, more) in other.targets {
            let all = self.targets.entry(target).or_default();
            all.cases += more.cases;
            all.valid += more.valid;
            all.dropped += more.dropped;
        }
        other.phases.into_iter().for_each(|(phase, count)| *self.phases.entry(phase).or_default() += count);
        self.findings.extend(other.findings);
        self.silent.extend(other.silent);
        while self.silent.len() > MOST_SILENT {
            self.silent.pop_last();
        }
    }

    fn count(&mut self, number: u64, target: Target, module: &Module, report: KernelReport) {
        self.instructions += report.instructions_before as u64;
        match report.cases.iter().find(|case| case.outcome != "finished") {
            None => {
                self.valid += 1;
                self.targets.entry(target).or_default().valid += 1;
                self.coverage.count(module);
            }
            Some(case) if target.is_own() => {
                self.silent.insert(number, format!("{}: {}", case.name, case.detail));
            }
            Some(_) => {}
        }
        for phase in report.phases.iter().filter(|phase| phase.changed) {
            *self.phases.entry(phase.name).or_default() += 1;
        }
        self.findings.extend(report.findings);
    }
}

/// The kernel of a case of whole kernels.
pub fn case(seed: u64, number: u64, config: &Config) -> Generated {
    from_seed(case_seed(seed, number), config)
}

/// The seed of everything about a case.
fn case_seed(seed: u64, number: u64) -> u64 {
    let hash = SplitMix64::new(number).next_u64();
    SplitMix64::new(seed ^ hash).next_u64()
}

/// The name of a case, for files and messages.
pub fn case_name(seed: u64, number: u64) -> String {
    format!("seed{seed}-case{number}")
}

/// Runs a campaign on as many threads as the current pool has. `progress` sees the tally whenever it grows.
///
/// # Errors
///
/// A reproducer that cannot be written, or options that name no phase.
pub fn run(options: &Options, progress: impl Fn(&Tally) + Sync) -> Result<Tally, CheckError> {
    let campaign = Campaign {
        options,
        cases: options.by_number(),
        checks: options.checks(),
        start: Instant::now(),
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        tally: Mutex::new(Tally::default()),
    };
    let results = rayon::broadcast(|_| campaign.work(&progress));
    results.into_iter().collect::<Result<(), _>>()?;
    Ok(campaign.tally.into_inner().unwrap_or_else(PoisonError::into_inner))
}

struct Campaign<'a> {
    options: &'a Options,
    cases: Cases,
    /// By variation, without and with the round trip.
    checks: Vec<[CheckOptions; 2]>,
    start: Instant,
    next: AtomicU64,
    stop: AtomicBool,
    tally: Mutex<Tally>,
}

impl Campaign<'_> {
    fn work(&self, progress: &(impl Fn(&Tally) + Sync)) -> Result<(), CheckError> {
        let mut local = Tally::default();
        while let Some(number) = self.draw() {
            if let Err(error) = self.check(number, &mut local) {
                self.stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
            if local.cases >= MERGE {
                self.merge(&mut local, progress);
            }
        }
        self.merge(&mut local, progress);
        Ok(())
    }

    /// The next case of this shard, while there is one and time is left.
    fn draw(&self) -> Option<u64> {
        let late = self.options.time.is_some_and(|time| self.start.elapsed() >= time);
        if late || self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let (shard, shards) = self.options.shard;
        let drawn = self.next.fetch_add(1, Ordering::Relaxed);
        let number = drawn.checked_mul(shards.max(1))?.checked_add(shard)?;
        self.options.cases.is_none_or(|cases| number < cases).then_some(number)
    }

    fn check(&self, number: u64, tally: &mut Tally) -> Result<(), CheckError> {
        // Drawn, so that every shard has its part.
        let every = self.options.round_trip_every;
        let trip = SplitMix64::new(!number).next_u64().checked_rem(every) == Some(0);
        let seed = &self.options.seed;
        let Case { target, generated: Generated { module, launches }, dropped } = self.cases.case(number);
        let trip = trip && target.is_own();
        let check = &self.checks[self.options.variation_of(number)][usize::from(trip)];
        let module = self.options.module_of(number, module);
        tally.cases += 1;
        let own = tally.targets.entry(target).or_default();
        (own.cases, own.dropped) = (own.cases + 1, own.dropped + u64::from(dropped));
        if let Err(violations) = verify_module(&module) {
            tally.silent.insert(number, violations[0].to_string());
            return Ok(());
        }
        match check_module(&case_name(*seed, number), &module, &launches, check) {
            Ok(report) => tally.count(number, target, &module, report),
            Err(error @ CheckError::Load { .. }) => {
                tally.silent.insert(number, error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn merge(&self, local: &mut Tally, progress: &impl Fn(&Tally)) {
        let mut tally: MutexGuard<'_, Tally> = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.add(std::mem::take(local));
        if tally.findings.len() >= MOST_FINDINGS {
            self.stop.store(true, Ordering::Relaxed);
        }
        progress(&tally);
    }
}

#[cfg(test)]
mod tests {
    use oriole_optimizer::ir::{Function, Inst, InstBuilder};
    use oriole_optimizer::ops::{Opcode, Type};
    use oriole_optimizer::pipeline::context::{Changed, PhaseContext};
    use oriole_optimizer::pipeline::runner::{CustomPhase, PhaseEntry};
    use oriole_optimizer::pipeline::table::{Needs, Preserves};

    use super::*;

    fn options(cases: u64, check: CheckOptions) -> Options {
        let (config, corpus) = (Config::default(), Arc::default());
        let (cases, shard) = (Some(cases), (0, 1));
        let targets = Vec::new();
        Options { seed: 1, cases, time: None, shard, config, targets, corpus, check, vary: true, round_trip_every: 8 }
    }

    fn tally(cases: u64, shard: (u64, u64)) -> Tally {
        let check = CheckOptions { randoms: 0, ..CheckOptions::default() };
        let options = Options { shard, ..options(cases, check) };
        run(&options, |_| ()).expect("nothing is written")
    }

    #[test]
    fn shards_together_are_the_whole() {
        let whole = tally(40, (0, 1));
        let mut parts = tally(40, (0, 3));
        (1..3).for_each(|shard| parts.add(tally(40, (shard, 3))));
        assert_eq!(whole.cases, 40);
        assert_eq!((whole.cases, whole.valid, whole.instructions), (parts.cases, parts.valid, parts.instructions));
        assert_eq!((whole.coverage, whole.phases), (parts.coverage, parts.phases));
    }

    /// Makes the first addition of a function a subtraction.
    fn wrong(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
        let insts: Vec<Inst> = func.layout.iter().flat_map(|block| func.blocks[*block].insts.clone()).collect();
        let plain = |inst: &&Inst| {
            let data = &func.insts[**inst];
            data.opcode == Opcode::IAdd && data.field::<Type>() == Some(Type::U32) && data.guard.is_none()
        };
        let Some(inst) = insts.iter().find(plain).copied().filter(|_| cx.rewrite("add to subtract")) else {
            return Changed::No;
        };
        let (dst, srcs) = (func.defs(inst).next().expect("a sum"), func.srcs(inst).to_vec());
        InstBuilder::new(Opcode::ISub).field(Type::U32).dst(dst).srcs(srcs).replace(func, inst);
        Changed::Yes
    }

    #[test]
    fn a_planted_bug_is_found_and_blamed() {
        let phase = CustomPhase { name: "Wrong", needs: Needs::Ssa, preserves: Preserves::Nothing, function: wrong };
        let phases = vec![PhaseEntry::Custom(phase)];
        let check = CheckOptions { phases, randoms: 0, ..CheckOptions::default() };
        let tally = run(&options(60, check), |_| ()).expect("nothing is written");
        let finding = tally.findings.first().expect("a subtraction differs from an addition");
        assert_eq!((finding.phase.as_str(), finding.verdict), ("Wrong", "mismatch"));
        let rule = finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.as_deref());
        assert_eq!(rule, Some("add to subtract"));
    }
}
