//! The judge: compares a program with its original on a launch. Every oracle that executes two programs asks it.
//!
//! 1. A launch on which the original does not finish, or depends on an undefined value, is inconclusive
//!    ([`Judge::of`]).
//! 2. The changed program runs within [`budget`] of the steps that the original took, and [`equivalence`] compares the
//!    two.
//! 3. The interpreter tracks undefined bits conservatively: it may call a defined bit undefined, never the reverse.
//!    Where nothing but that makes a difference, the changed program runs again with several values in place of
//!    undefined ones, and is right if it does the same as the original with each.
//! 4. A difference is inconclusive where threads of the original race, or where the order of threads decides what it
//!    does.
//! 5. Without a difference, the changed program is wrong where its threads race and those of the original do not. Races
//!    are looked for only if the sequence of barriers and shared accesses has changed since they last were ([`order`]).
//! 6. Otherwise it is wrong where a thread does not keep the strong operations of the original ([`strong`]), which the
//!    results of one order of threads do not show. Only threads whose sequence of them has changed are looked at, and
//!    nothing follows where those of the original race, or the order of threads changes the sequence there too.
//!
//! Cost: a run of the changed program; some more where it differs.

pub mod code;
mod elements;
pub mod equivalence;
mod fused;
pub(crate) mod gpu;
pub mod open;
pub mod order;
mod places;
pub mod strong;
mod threads;
pub mod verdict;

use std::ops::Range;
use std::sync::OnceLock;

use oriole_ir::Module;

use equivalence::compare;
use open::Open;
use order::Order;
use oriole_interp::{
    Concretization, Executable, LaneOrder, LoadError, Outcome, Race, RunOptions, RunResult, StoreRecord,
};
use oriole_launch::Launch;

pub use elements::{Leeway, Near};
pub use verdict::{Extent, Hang, Mismatch, Verdict};

/// Turns of warps that are tried beside the usual one, to see whether the order of threads matters.
const SLICES: [u64; 3] = [1, 7, 64];

/// Orders of lanes that are tried beside the usual one, to see whether theirs matters.
const LANE_ORDERS: [LaneOrder; 5] =
    [LaneOrder::Branching, LaneOrder::Straight, LaneOrder::Chosen(1), LaneOrder::Chosen(2), LaneOrder::Chosen(3)];

/// Seeds of moments at which asynchronous operations are done, to see whether these matter. Half of the operations are
/// done where they begin, so that of a single one that matters all seeds but one in 256 tell.
const COPY_SEEDS: Range<u64> = 1..9;

/// The step budget of a run that is held against another one: the same program on other data, or another program on the
/// same data. A good step does not make a program run four times as long, and the second summand is for short programs.
/// A program that never ends costs the budget each time, and bisection and reduction run such a program hundreds of
/// times.
pub fn budget(steps: u64) -> u64 {
    steps.saturating_mul(4).saturating_add(100_000)
}

/// A launch on which the original finishes, and the run that a changed program is compared with.
pub struct Judge<'a> {
    launch: Launch,
    /// The last good run: that of the original, or of a program that was found to be as good.
    before: RunResult,
    original: &'a Module,
    /// Whether threads of the original race on this launch; looked for when something differs.
    raced: OnceLock<bool>,
    /// The first race that was found then.
    race: OnceLock<Race>,
    /// How far floats may be from those of the original; a step of the optimizer keeps every bit.
    leeway: Option<Leeway>,
    /// What orders the threads of the last program whose races are known: the original, or a later one in which none
    /// were found. Asked for when there is something to compare it with.
    order: OnceLock<Order>,
    /// What of its results is open; asked for when code differs in them.
    open: OnceLock<Open>,
}

/// Why a launch says nothing about programs made of the original.
#[derive(Debug, thiserror::Error)]
pub enum Inconclusive {
    /// The original cannot run on it.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its run leads to this verdict.
    #[error("{0}")]
    Run(Box<Verdict>),
}

/// The run of a changed program.
pub struct Judged {
    /// What the next program is compared with, if this one is good.
    pub result: RunResult,
    /// Compared with the run before.
    pub verdict: Verdict,
    /// The buffers in which floats differ no further than they may ([`Leeway`]).
    pub near: Vec<Near>,
    /// What orders its threads, where that has changed and races were looked for.
    order: Option<Order>,
}

impl<'a> Judge<'a> {
    /// Runs the original on a launch, within a budget or that of the launch.
    ///
    /// # Errors
    ///
    /// Why the launch is inconclusive.
    pub fn of(original: &Executable<'a>, launch: &Launch, steps: Option<u64>) -> Result<Judge<'a>, Inconclusive> {
        let run = original.run(launch, &RunOptions { steps, ..RunOptions::default() })?;
        Judge::new(original.module(), launch.clone(), run).map_err(Inconclusive::Run)
    }

    /// A judge over a run of the original.
    ///
    /// # Errors
    ///
    /// Why the run is inconclusive.
    pub fn new(original: &'a Module, launch: Launch, run: RunResult) -> Result<Judge<'a>, Box<Verdict>> {
        match inconclusive(&run) {
            Some(verdict) => Err(Box::new(verdict)),
            None => {
                let (raced, race) = (OnceLock::new(), OnceLock::new());
                let (order, open) = (OnceLock::new(), OnceLock::new());
                Ok(Judge { launch, before: run, original, raced, race, leeway: None, order, open })
            }
        }
    }

    /// The same judge, which lets floats differ as far as that says.
    pub fn with_leeway(self, leeway: Leeway) -> Judge<'a> {
        Judge { leeway: Some(leeway), ..self }
    }

    /// The launch.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Judges a changed program.
    pub fn judge(&self, changed: &Executable<'_>) -> Judged {
        let order = self.new_order(changed);
        let options =
            RunOptions { steps: Some(budget(self.before.steps)), races: order.is_some(), ..RunOptions::default() };
        match changed.run(&self.launch, &options) {
            Ok(mut result) => {
                let near = self.settle(&mut result);
                Judged { order, near, ..self.judge_run(changed, result) }
            }
            Err(error) => {
                let verdict = Verdict::InvalidIr(error.to_string());
                Judged { result: self.before.clone(), verdict, near: Vec::new(), order: None }
            }
        }
    }

    /// Judges the run of a changed program.
    fn judge_run(&self, changed: &Executable<'_>, mut result: RunResult) -> Judged {
        // What is found of the next program does not depend on them.
        let race = std::mem::take(&mut result.races).into_iter().next();
        let verdict = match self.compare(changed, &result) {
            verdict if verdict.is_finding() && self.races() => Verdict::OriginalRaces,
            verdict if verdict.is_finding() => verdict,
            verdict => {
                let race = race.filter(|_| !self.races()).map(|race| Verdict::Mismatch(Mismatch::Race(race)));
                race.or_else(|| self.weaker(changed, &result)).unwrap_or(verdict)
            }
        };
        if verdict == Verdict::Refined && compare(&self.before, &result).is_finding() {
            // It does not say what the next program must keep; the run before does.
            result = RunResult { steps: result.steps, ..self.before.clone() };
        }
        let verdict = self.with_element(verdict, &result);
        Judged { result, verdict, near: Vec::new(), order: None }
    }

    /// Compares a run of a changed program with the last good one, races aside.
    pub fn compare(&self, changed: &Executable<'_>, result: &RunResult) -> Verdict {
        let verdict = compare(&self.before, result);
        if !verdict.is_about_undefined() {
            return verdict;
        }
        let steps = Some(budget(self.before.steps.max(result.steps)));
        let options =
            |concretization| RunOptions { steps, concretization: Some(concretization), ..RunOptions::default() };
        let same = |concretization| {
            let run = changed.run(&self.launch, &options(concretization));
            run.is_ok_and(|run| !compare(&self.before, &run).is_finding())
        };
        if Concretization::several().all(same) { Verdict::Refined } else { verdict }
    }

    /// The last store of a program to a byte of a buffer: the argument that owns it, and the offset.
    pub fn last_store(&self, program: &Module, byte: (usize, usize)) -> Option<StoreRecord> {
        let options = RunOptions { watch: vec![byte], ..RunOptions::default() };
        self.run_again(program, &options)?.stores.pop()
    }

    /// Runs a program on the launch once more, to look closer.
    pub fn run_again(&self, program: &Module, options: &RunOptions) -> Option<RunResult> {
        let options = RunOptions { steps: Some(budget(self.before.steps)), ..options.clone() };
        Executable::new(program).ok()?.run(&self.launch, &options).ok()
    }

    /// Makes the run of a good program the one that the next is compared with.
    pub fn adopt(&mut self, judged: Judged) {
        self.before = judged.result;
        if let Some(order) = judged.order {
            self.order = OnceLock::from(order);
        }
    }

    /// Whether threads of the original were seen to race: then a difference is inconclusive.
    pub fn has_raced(&self) -> bool {
        self.raced.get().copied().unwrap_or(false)
    }

    /// The race of the original that was found when something differed.
    pub fn race(&self) -> Option<&Race> {
        self.race.get()
    }

    /// Whether threads of the original race, or what it does depends on the order in which they run: atomic operations
    /// are in no race and yet tell who came first.
    pub fn races(&self) -> bool {
        *self.raced.get_or_init(|| self.launch.threads() > 1 && self.look_for_races() || self.copies_matter())
    }

    /// Whether what the original does depends on when its asynchronous operations are done, or whether its threads race
    /// where they are done at other moments: those decide in which order the threads come to what orders them.
    fn copies_matter(&self) -> bool {
        let Ok(original) = Executable::new(self.original) else { return false };
        if !original.is_asynchronous() {
            return false;
        }
        let races = self.launch.threads() > 1;
        let options = RunOptions { steps: Some(budget(self.before.steps)), races, ..RunOptions::default() };
        let differs = |copies: Option<u64>| {
            let again = original.run(&Launch { copies, ..self.launch.clone() }, &options);
            again.is_ok_and(|again| !again.races.is_empty() || compare(&self.before, &again).is_finding())
        };
        differs(None) || COPY_SEEDS.into_iter().any(|seed| differs(Some(seed)))
    }

    fn look_for_races(&self) -> bool {
        let Ok(original) = Executable::new(self.original) else { return false };
        let run = |options| original.run(&self.launch, &options);
        let options = RunOptions { steps: Some(budget(self.before.steps)), ..RunOptions::default() };
        let Ok(first) = run(RunOptions { races: true, ..options.clone() }) else { return false };
        if let Some(race) = first.races.first() {
            let _ = self.race.set(race.clone());
        }
        let differs = |slice: &u64| {
            let again = run(RunOptions { slice: Some(*slice), ..options.clone() });
            again.is_ok_and(|again| compare(&first, &again).is_finding())
        };
        let differs_by = |lanes: &LaneOrder| {
            let again = run(RunOptions { lanes: *lanes, ..options.clone() });
            again.is_ok_and(|again| compare(&first, &again).is_finding())
        };
        !first.races.is_empty() || SLICES.iter().any(differs) || LANE_ORDERS.iter().any(differs_by)
    }

    /// What orders the threads of a changed program, if it may let them race where they did not.
    fn new_order(&self, changed: &Executable<'_>) -> Option<Order> {
        if self.launch.threads() <= 1 {
            return None;
        }
        let order = self.order.get_or_init(|| Order::of(self.original));
        let new = Order::of(changed.module());
        (!order.is_kept_by(&new)).then_some(new)
    }

    /// A race between threads of a changed program, if those of the original do not race.
    pub fn race_in(&self, changed: &Executable<'_>) -> Option<Race> {
        if self.races() {
            return None;
        }
        let options = RunOptions { steps: Some(budget(self.before.steps)), races: true, ..RunOptions::default() };
        changed.run(&self.launch, &options).ok()?.races.into_iter().next()
    }
}

/// The reason why a run of the original is inconclusive.
pub fn inconclusive(run: &RunResult) -> Option<Verdict> {
    match run.outcome {
        Outcome::Finished if run.races.is_empty() => None,
        // A run compared with itself says which verdict its original leads to.
        _ => Some(compare(run, run)),
    }
}

#[cfg(test)]
mod tests;
