//! A campaign: generated kernels, one after the other, each checked phase by phase.
//!
//! Case `n` of a seed is the same kernel whatever the number of workers and shards: workers draw numbers from one
//! counter, and shard K of N takes the numbers n with n mod N = K. Each worker keeps a tally of its own and merges it
//! now and then, so workers hardly wait for each other. A worker that is caught in a phase without end is replaced
//! ([`worker`]).
//!
//! Findings come from [`oriole_check`], bisected; [`record`] says which of them are one. The first of each family goes
//! into the findings store ([`store`]) at once and is reduced by the worker that found it, while the others go on; what
//! is left says which variant it is, and some more of the family are reduced to see whether they are others. Cases
//! that are done and what they showed are committed together, about once a second; a campaign that was killed continues
//! from there.

pub mod canary;
mod compiled;
pub mod coverage;
pub mod export;
pub mod identity;
pub mod minimize;
pub mod miscompiles;
pub mod ranges;
pub mod record;
mod reduction;
pub mod replay;
pub mod sarif;
pub mod selftest;
mod shared_state;
pub mod store;
pub mod tally;
pub mod target;
mod vary;
mod worker;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use oriole_ir::Module;

use compiled::Clusters;
use oriole_check::bisection_limit::BisectionLimit;
use oriole_check::compiled::Compiler;
use oriole_check::compiler::CompileError;
use oriole_check::report::{Finding, KernelReport};
use oriole_check::supervise::catch;
use oriole_check::supervise::{self, Panic, StepId};
use oriole_check::{CheckError, CheckOptions, check_module, reduce};
use oriole_generate::mutate::Corpus;
use oriole_generate::{Config, Generated};
use oriole_launch::random::SplitMix64;
use ranges::Ranges;
use record::{CaseId, Key, family_of};
use reduction::{Limits, REDUCTION_TIME, limits, reduction};
use shared_state::{End, Local, SharedState};
use store::{Progress, Store, StoreError};
use target::{Case, Cases, Target, Unsound};
use worker::{ENOUGH_GIVEN_UP, WorkerSlot};

pub use tally::{RuleTally, Tally, TargetTally};
pub use vary::Vary;
pub use worker::MOST_GIVEN_UP;

/// Cases after which a worker merges its tally.
const MERGE: u64 = 32;

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
    /// The compiler that is judged in place of our own steps, or whose code they are taken on.
    pub compiler: Option<Arc<Compiler>>,
    /// Whether some cases run for other machines and with other knobs; [`Options::check_of`].
    pub vary: Vary,
    /// One case in so many, drawn by its number, is also printed as PTX and read again in another spelling; none where
    /// 0. The round trip takes as long as the rest of a check: one in four costs a fifth of the cases (measured
    /// 2026-11-22), and a fault of printer or reader is met twice as soon as with one in eight.
    pub round_trip_every: u64,
    /// Options of a command that makes a case again, beside seed and number: ` --target mutants --config F`.
    pub arguments: String,
    /// How findings are reduced; not at all where `None`.
    pub reduce: Option<reduce::Options>,
    /// Continue where the store says that this campaign stopped.
    pub resume: bool,
    /// A step of a check that takes longer does not end, and is a finding.
    pub hang_after: Duration,
    /// Stop at the first finding.
    pub first_finding: bool,
    /// Set by somebody else to end the campaign in order.
    pub stop: Arc<AtomicBool>,
}

impl Options {
    /// So many cases of whole kernels from a seed, everything else at its default.
    pub fn new(seed: u64, cases: u64) -> Options {
        Options {
            seed,
            cases: Some(cases),
            time: None,
            shard: (0, 1),
            config: Config::default(),
            targets: vec![Target::Kernels],
            corpus: Arc::default(),
            check: CheckOptions { randoms: 0, ..CheckOptions::default() },
            compiler: None,
            vary: Vary::Some,
            round_trip_every: 4,
            arguments: String::new(),
            reduce: None,
            resume: false,
            hang_after: supervise::LIMIT,
            first_finding: false,
            stop: Arc::default(),
        }
    }

    /// The cases by number.
    pub fn by_number(&self) -> Cases {
        let cases = Cases::new(self.seed, self.config.clone(), &self.targets, self.corpus.clone());
        cases.in_virtual_form_where(self.virtual_variations())
    }
}

/// Why a campaign stopped before its end.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CampaignError {
    /// A kernel cannot be checked.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The findings store failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// The compiler that is judged cannot be used.
    #[error(transparent)]
    Compiler(#[from] CompileError),
    /// A worker cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(rayon::ThreadPoolBuildError),
}

/// What a campaign looks like while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Glance<'a> {
    /// What it has seen, runs before an interruption included.
    pub tally: &'a Tally,
    /// Cases of this run.
    pub cases: u64,
    /// Findings that it has met.
    pub findings: usize,
    /// How often.
    pub hits: u64,
}

/// How a campaign ended.
#[derive(Debug)]
pub struct Summary {
    /// How far it is, runs before an interruption included.
    pub progress: Progress,
    /// Cases that were done before this run.
    pub resumed: u64,
    /// Cases of this run whose launches all finish.
    pub valid: u64,
    /// Identifiers of the findings that it has met, and how often.
    pub hits: Vec<(String, store::Hits)>,
    /// Workers that were caught in a step without end; [`MOST_GIVEN_UP`] of them end a campaign.
    pub given_up: usize,
    /// Steps that were left out after a while, because they do not end or take memory without end.
    pub left_out: Vec<StepId>,
    /// The store.
    pub store: Store,
}

impl Summary {
    /// Cases of this run.
    pub fn cases(&self) -> u64 {
        self.progress.tally.cases - self.resumed
    }
}

/// The name of a case, for files and messages.
pub fn case_name(seed: u64, number: u64) -> String {
    format!("seed{seed}-case{number}")
}

/// Runs a campaign on as many threads as the current pool has. `progress` sees it now and then.
///
/// # Errors
///
/// A store that fails, or options that name no phase.
pub fn run(options: &Options, store: Store, progress: impl Fn(Glance<'_>)) -> Result<Summary, CampaignError> {
    let bisection_limit = Arc::<BisectionLimit>::default();
    let shared = SharedState::open(store, options, bisection_limit.clone())?;
    let (resumed, valid) = (shared.progress().tally.cases, shared.progress().tally.valid);
    let campaign = Arc::new(Campaign {
        checks: checks(options, &bisection_limit),
        cases: options.by_number(),
        start: Instant::now(),
        done: shared.progress().done.clone(),
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        resumed,
        given_up: Mutex::default(),
        clusters: Clusters::default(),
        shared: Mutex::new(shared),
        options: options.clone(),
    });
    let result = worker::run(&campaign, rayon::current_num_threads(), &progress);
    // What was done before an error is kept too.
    let finished = result.is_ok() && !options.stop.load(Ordering::Relaxed);
    let end = campaign.shared(|shared| {
        shared.finish(finished);
        shared.commit().and_then(|()| shared.close())
    });
    let given_up = result?;
    let End { progress, hits, store } = end?;
    let left_out = campaign.left_out();
    Ok(Summary { resumed, valid: progress.tally.valid - valid, progress, hits, given_up, left_out, store })
}

/// How a campaign checks its cases: nothing is written, and a class of findings is bisected a limited number of times.
fn checks(options: &Options, bisection_limit: &Arc<BisectionLimit>) -> Vec<[CheckOptions; 2]> {
    let check = CheckOptions { out: None, bisection_limit: Some(bisection_limit.clone()), ..options.check.clone() };
    Options { check, ..options.clone() }.checks()
}

/// A campaign under way. Threads that were given up keep it for ever.
struct Campaign {
    options: Options,
    /// By variation, without and with the round trip.
    checks: Vec<[CheckOptions; 2]>,
    cases: Cases,
    start: Instant,
    /// Places in the order of cases that are done since before this run.
    done: Ranges,
    next: AtomicU64,
    stop: AtomicBool,
    resumed: u64,
    /// How often workers were given up in each step.
    given_up: Mutex<BTreeMap<StepId, u32>>,
    shared: Mutex<SharedState>,
    /// What is known of findings about the compiler.
    clusters: Clusters,
}

impl Campaign {
    /// Checks cases, as many at a time as go through a compiler together, until time or cases are up.
    fn work(&self, slot: &WorkerSlot) -> Result<(), CampaignError> {
        let most = if self.options.compiler.is_some() { compiled::BATCH } else { 1 };
        loop {
            let places: Vec<u64> = std::iter::from_fn(|| self.draw()).take(most).collect();
            let numbers: Vec<u64> = places.iter().filter_map(|place| self.number(*place)).collect();
            let (Some(place), Some(number)) = (places.first(), numbers.first()) else { break };
            slot.begin(*place, *number);
            let batch = match &self.options.compiler {
                Some(compiler) => self.batch(compiler, &numbers, slot)?,
                None => numbers.iter().map(|number| self.one(*number)).collect::<Result<_, _>>()?,
            };
            let full = slot.done(|local| {
                batch.into_iter().for_each(|one| one.add_to(local));
                local.done.extend(&places);
                local.tally.cases >= MERGE || !local.findings.is_empty()
            });
            match full {
                Some(true) => self.merge(slot)?,
                Some(false) => {}
                None => return Ok(()),
            }
            // What is left is of findings that were known already.
            numbers.iter().for_each(|number| self.clusters.forget(*number));
        }
        self.merge(slot)?;
        self.reduce_pending(slot)
    }

    /// The number of the case at a place in this shard's order.
    fn number(&self, place: u64) -> Option<u64> {
        let (shard, shards) = self.options.shard;
        place.checked_mul(shards.max(1))?.checked_add(shard)
    }

    fn is_over(&self) -> bool {
        let late = self.options.time.is_some_and(|time| self.start.elapsed() >= time);
        late || self.stop.load(Ordering::Relaxed) || self.options.stop.load(Ordering::Relaxed)
    }

    /// The next place of this shard that is not done, while there is one and time is left.
    fn draw(&self) -> Option<u64> {
        while !self.is_over() {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let number = self.number(place)?;
            if self.options.cases.is_some_and(|cases| number >= cases) {
                return None;
            }
            if !self.done.contains(place) {
                return Some(place);
            }
        }
        None
    }

    /// How a case is checked. Round trips are drawn, so that every shard has its part.
    fn check_of(&self, number: u64, target: Target) -> &CheckOptions {
        let trip = SplitMix64::new(!number).next_u64().checked_rem(self.options.round_trip_every) == Some(0);
        &self.checks[self.options.variation_of(number)][usize::from(trip && target.is_own())]
    }

    /// The same without the steps that are left out.
    fn check_now(&self, number: u64, target: Target) -> Cow<'_, CheckOptions> {
        let check = self.check_of(number, target);
        self.left_out().into_iter().fold(Cow::Borrowed(check), |check, step| match check.without(step) {
            Some(without) => Cow::Owned(without),
            None => check,
        })
    }

    /// Counts a worker that was given up in a step.
    fn note_given_up(&self, step: StepId) {
        *self.given_up.lock().unwrap_or_else(PoisonError::into_inner).entry(step).or_default() += 1;
    }

    /// The steps that are left out because they were given up too often.
    fn left_out(&self) -> Vec<StepId> {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.iter().filter(|(_, count)| **count >= ENOUGH_GIVEN_UP).map(|(step, _)| *step).collect()
    }

    /// Makes a case.
    fn made(&self, number: u64) -> Result<Case, Unchecked> {
        catch(|| self.cases.sound(number)).map_err(Unchecked::Unmade)?.map_err(Unchecked::Unsound)
    }

    /// Makes and checks a case.
    fn one(&self, number: u64) -> Result<One, CampaignError> {
        let case = match self.made(number) {
            Ok(case) => case,
            Err(why) => return Ok(One::unchecked(number, self.cases.target(number).0, why)),
        };
        let Case { target, generated: Generated { module, launches, .. }, dropped } = case;
        let module = self.options.module_of(number, module);
        let one = |said| One { number, target, dropped, unjudged: None, said };
        let name = case_name(self.options.seed, number);
        // Phases that panic are findings; here it would be the check itself, and one case should not end a campaign.
        match catch(|| check_module(&name, &module, &launches, &self.check_now(number, target))) {
            Err(panic) => Ok(one(Err(Unchecked::CheckPanics(panic)))),
            Ok(Ok(report)) => Ok(one(Ok((module, report)))),
            Ok(Err(error @ CheckError::Load { .. })) => Ok(one(Err(Unchecked::Unfit(error)))),
            Ok(Err(error)) => Err(error.into()),
        }
    }

    /// Hands over what a worker has, and reduces what is new in it.
    fn merge(&self, slot: &WorkerSlot) -> Result<(), CampaignError> {
        let Some(local) = slot.done(std::mem::take) else { return Ok(()) };
        let fresh = self.hand_over(local)?;
        fresh.iter().try_for_each(|(number, finding)| self.reduce(*number, finding, slot))
    }

    /// Adds to what the campaign knows; the findings that are new.
    fn hand_over(&self, local: Local) -> Result<Vec<(u64, Finding)>, CampaignError> {
        let fresh = self.shared(|shared| shared.add(local, |number| Some(self.case_id(number))))?;
        if self.options.first_finding && !fresh.is_empty() {
            self.stop.store(true, Ordering::Relaxed);
        }
        Ok(fresh)
    }

    /// Shows how far the campaign is.
    fn show(&self, progress: &impl Fn(Glance<'_>)) {
        self.shared(|shared| {
            let (findings, hits) = shared.met();
            let tally = &shared.progress().tally;
            progress(Glance { tally, cases: tally.cases - self.resumed, findings, hits });
        });
    }

    fn case_id(&self, number: u64) -> CaseId {
        let (seed, target) = (self.options.seed, self.cases.target(number).0);
        let command = format!("oriole fuzz --seed {seed} --case {number}{}", self.options.arguments);
        CaseId { seed, number, target, command }
    }

    /// How a finding is reduced now; not at all where the time for that is up.
    fn reduction_limits(&self) -> Option<Limits> {
        limits(self.options.reduce?, self.options.time.map(|time| time + REDUCTION_TIME), self.start)
    }

    /// Reduces a finding that is new, outside of the lock, and saves the result.
    fn reduce(&self, number: u64, finding: &Finding, slot: &WorkerSlot) -> Result<(), CampaignError> {
        let id = Key::of(finding).id();
        if let Some((reduction, files)) = self.clusters.take(number, &id) {
            return Ok(self.shared(|shared| shared.reduced(&id, reduction, &files))?);
        }
        let Some(limits) = self.reduction_limits().filter(|_| self.options.compiler.is_none()) else { return Ok(()) };
        slot.reduces(&id);
        let begin = Instant::now();
        let reduced = reduction(finding, &self.options.check_of(number), &limits);
        match slot.done(|_| ()) {
            Some(()) => {
                let case = self.case_id(number);
                Ok(self.shared(|shared| shared.settle(finding, Some(case), reduced, begin.elapsed()))?)
            }
            None => Ok(()),
        }
    }

    /// Reduces what a campaign that was killed had no time for. The kernel is made and checked again.
    fn reduce_pending(&self, slot: &WorkerSlot) -> Result<(), CampaignError> {
        while !self.options.stop.load(Ordering::Relaxed) && self.reduction_limits().is_some() {
            let Some((id, number)) = self.shared(SharedState::next_pending) else { break };
            let Ok(case) = self.made(number) else { continue };
            slot.reduces(&id);
            if let Some(compiler) = &self.options.compiler {
                let Some((reduction, files)) = self.reduced_again(compiler, number, &case, &id)? else { continue };
                if slot.done(|_| ()).is_some() {
                    self.shared(|shared| shared.reduced(&id, reduction, &files))?;
                }
                continue;
            }
            let Case { target, generated: Generated { module, launches, .. }, .. } = case;
            let module = self.options.module_of(number, module);
            let check = CheckOptions { bisection_limit: None, ..self.check_now(number, target).into_owned() };
            let name = case_name(self.options.seed, number);
            let report = catch(|| check_module(&name, &module, &launches, &check));
            if slot.done(|_| ()).is_none() {
                break;
            }
            let Ok(Ok(report)) = report else { continue };
            let found = report.findings.iter().find(|finding| Key::of(finding).family() == family_of(&id));
            found.map_or(Ok(()), |finding| self.reduce(number, finding, slot))?;
        }
        Ok(())
    }

    /// Does something with the shared state while nobody else does. Cases must not run meanwhile.
    fn shared<T>(&self, work: impl FnOnce(&mut SharedState) -> T) -> T {
        work(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Why a case was not checked.
#[derive(Debug, thiserror::Error)]
enum Unchecked {
    /// The generator panics.
    #[error("it cannot be made: {0}")]
    Unmade(Panic),
    /// The generator made no valid module.
    #[error(transparent)]
    Unsound(Unsound),
    /// It does not fit its launch.
    #[error(transparent)]
    Unfit(CheckError),
    /// There is a bug in the check.
    #[error("the check itself panics: {0}")]
    CheckPanics(Panic),
}

/// What became of a case.
struct One {
    number: u64,
    target: Target,
    dropped: u32,
    /// Why the code of a compiler was not judged.
    unjudged: Option<String>,
    /// What was checked and found, or why it was not.
    said: Result<(Module, KernelReport), Unchecked>,
}

impl One {
    fn unchecked(number: u64, target: Target, why: Unchecked) -> One {
        One { number, target, dropped: 0, unjudged: None, said: Err(why) }
    }

    fn add_to(self, local: &mut Local) {
        let One { number, target, dropped, unjudged, said } = self;
        local.tally.begin(target, dropped);
        local.tally.silent.extend(unjudged.map(|why| (number, why)));
        match said {
            Ok((module, report)) => {
                local.tally.count(number, target, &module, &report);
                local.findings.extend(report.findings.into_iter().map(|finding| (number, finding)));
            }
            Err(why) => {
                local.tally.silent.insert(number, why.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests;
