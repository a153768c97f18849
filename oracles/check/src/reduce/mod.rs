//! The reducer: a program and its launch made as small as a predicate allows.
//!
//! 1. What a finding names comes first ([`focus`]): the slice of the store whose bytes differ, and of what the guilty
//!    change has touched. For a fault that needs little of the program this alone leaves little.
//! 2. While there are many instructions, mutators that remove much are applied to large parts of their opportunities,
//!    so that what fails costs a number of checks that does not depend on the size.
//! 3. A round applies every mutator of [`mutators::MUTATORS`]: first to all its opportunities at once, then to halves
//!    of them, and so on down to single ones (delta debugging). Rounds go on until one changes nothing, so reducing the
//!    result again changes nothing either, as long as no limit of [`Options`] was met.
//!
//! A candidate counts where it is simpler (`measure.rs`), the verifier accepts it, the predicate holds, and ptxas takes
//! its operands where it took those of what was given.
//!
//! Candidates are evaluated in parallel on the current rayon pool; the first in order that holds is taken, so that the
//! result and the number of evaluations do not depend on the number of threads.
//!
//! [`finding`] reduces a finding of the check: the same phase alone must go wrong in the same way, on a launch where
//! the original finishes, defines all it uses, and has no race.

mod choice;
mod compact;
mod control;
mod edit;
pub mod external;
mod fault;
mod flow;
mod focus;
mod inline;
mod insts;
mod items;
mod launches;
pub mod measure;
pub mod mutators;
mod offsets;
mod slice;
#[cfg(test)]
mod tests;
pub mod text;
mod threads;

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oriole_ir::verify::verify_module;
use oriole_ptx::Dialect;
use rayon::prelude::*;

use crate::report::Evidence;
use crate::supervise::catch;
use crate::trip;
use choice::{Choice, Facts};
pub use measure::Size;
use measure::{Measure, measure};
use mutators::{MUTATORS, Mutator};

pub use compact::renumbered_module;
pub use fault::{Fault, finding};
pub use focus::Roots;

/// A program of more instructions is made smaller in large parts first.
const MANY: usize = 256;
/// Into how many parts the opportunities of a mutator are divided at most while the program is large.
const PARTS: usize = 8;

/// When to stop early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// After so many evaluations of the predicate.
    pub evaluations: u64,
    /// After so long.
    pub time: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { evaluations: 20_000, time: Duration::from_secs(60) }
    }
}

/// What became of a reduction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduced {
    /// The smallest program and launch for which the predicate holds; the given ones where it does not hold for them.
    pub evidence: Evidence,
    /// Whether the predicate holds for what was given.
    pub interesting: bool,
    /// Whether nothing more can be done; otherwise a limit was met, or somebody ended it.
    pub complete: bool,
    /// Whether somebody ended it.
    pub stopped: bool,
    /// Candidates for which the predicate was asked.
    pub evaluations: u64,
    /// Rounds over all mutators.
    pub rounds: u32,
    /// How long it took.
    pub time: Duration,
    /// The size before.
    pub before: Size,
    /// The size after.
    pub after: Size,
}

/// How far a reduction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glance {
    /// What is left: instructions of a program, statements of a text.
    pub left: usize,
    /// What there was.
    pub before: usize,
    /// Candidates for which the predicate was asked.
    pub evaluations: u64,
    /// How long it has taken.
    pub time: Duration,
}

/// Who looks on, and may end a reduction.
#[derive(Clone, Copy, Default)]
pub struct Watch<'a> {
    /// Sees how far it is, after each few candidates.
    pub progress: Option<&'a (dyn Fn(Glance) + Sync)>,
    /// Ends it, once it is true, with the best so far.
    pub stop: Option<&'a AtomicBool>,
}

impl Watch<'_> {
    fn show(&self, glance: impl FnOnce() -> Glance) {
        if let Some(progress) = self.progress {
            progress(glance());
        }
    }

    fn stops(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// What to keep while a program becomes smaller, and how long to try.
#[derive(Clone)]
pub struct Request<'a> {
    /// What must hold. It sees modules that verify, and must always answer the same for the same evidence.
    pub predicate: &'a (dyn Fn(&Evidence) -> bool + Sync),
    /// Where to begin, as far as that is known.
    pub roots: Roots,
    /// When to stop early.
    pub options: Options,
    /// Who looks on.
    pub watch: Watch<'a>,
}

/// Makes the evidence as simple as the predicate allows, of which nothing else is known.
pub fn reduce(evidence: &Evidence, predicate: &(dyn Fn(&Evidence) -> bool + Sync), options: &Options) -> Reduced {
    let request = Request { predicate, roots: Roots::default(), options: *options, watch: Watch::default() };
    request.reduce(evidence)
}

impl Request<'_> {
    /// Makes the evidence as simple as that allows.
    pub fn reduce(&self, evidence: &Evidence) -> Reduced {
        let mut reducer = Reducer {
            measure: measure(evidence),
            state: evidence.clone(),
            facts: Facts::default(),
            request: self,
            before: Size::of(evidence),
            prints: prints(evidence),
            start: Instant::now(),
            evaluations: 1,
            refused: HashSet::new(),
        };
        let interesting = (self.predicate)(evidence);
        let (mut rounds, mut changed) = (0, interesting);
        if interesting {
            reducer.focus();
            reducer.large_parts();
        }
        while changed && !reducer.is_over() {
            changed = reducer.round();
            rounds += 1;
        }
        Reduced {
            interesting,
            // A round that was cut short says nothing.
            complete: interesting && !changed && !reducer.is_over(),
            stopped: self.watch.stops(),
            evaluations: reducer.evaluations,
            rounds,
            time: reducer.start.elapsed(),
            before: reducer.before,
            after: Size::of(&reducer.state),
            evidence: reducer.state,
        }
    }
}

/// Whether the program can be printed as PTX whose operands ptxas takes, and read again.
fn prints(evidence: &Evidence) -> bool {
    let read = |text: String| trip::read(&text, &Dialect::of(&evidence.module));
    let trip = || trip::printed(&evidence.module).and_then(read);
    matches!(catch(trip), Ok(Ok(_)))
}

/// A reduction under way.
struct Reducer<'a> {
    state: Evidence,
    measure: Measure,
    facts: Facts,
    request: &'a Request<'a>,
    before: Size,
    /// Whether what was given [`prints`], which then stays so.
    prints: bool,
    start: Instant,
    evaluations: u64,
    /// Hashes of candidates for which the predicate did not hold.
    refused: HashSet<u64>,
}

/// Something to try.
struct Candidate {
    evidence: Evidence,
    measure: Measure,
    hash: u64,
}

impl Reducer<'_> {
    fn is_over(&self) -> bool {
        let Options { evaluations, time } = self.request.options;
        self.evaluations >= evaluations || self.start.elapsed() >= time || self.request.watch.stops()
    }

    /// Whether a candidate is as good as what was given.
    fn holds(&self, evidence: &Evidence) -> bool {
        (self.request.predicate)(evidence) && (!self.prints || prints(evidence))
    }

    /// Begins with what is known to go wrong, where that shows it.
    fn focus(&mut self) {
        if self.request.roots.is_empty() {
            return;
        }
        for candidate in focus::candidates(&self.state, &self.request.roots) {
            let measure = measure(&candidate);
            if measure < self.measure && !self.is_over() && verify_module(&candidate.module).is_ok() {
                self.evaluations += 1;
                if self.holds(&candidate) {
                    return self.accept(measure, candidate);
                }
            }
        }
    }

    /// Removes large parts, as long as that leaves less than three quarters.
    fn large_parts(&mut self) {
        let mut before = usize::MAX;
        loop {
            let left = self.state.module.inst_count();
            if left <= MANY || left > before / 4 * 3 || self.is_over() {
                return;
            }
            before = left;
            for mutator in MUTATORS.iter().filter(|mutator| mutator.removes_much) {
                self.sweep(mutator, PARTS);
            }
        }
    }

    /// Every mutator once; whether anything became simpler.
    fn round(&mut self) -> bool {
        self.adopt(compact::renumbered(&self.state));
        self.adopt(compact::renamed(&self.state));
        let before = self.measure;
        for mutator in MUTATORS {
            self.sweep(mutator, usize::MAX);
        }
        let changed = self.measure < before;
        if !changed {
            self.adopt(compact::renumbered(&self.state));
        }
        changed
    }

    /// Takes over a form of the state that is no simpler but tidier.
    fn adopt(&mut self, tidy: Evidence) {
        if tidy == self.state || self.is_over() {
            return;
        }
        let hash = hash(&tidy);
        if self.refused.contains(&hash) {
            return;
        }
        self.evaluations += 1;
        if verify_module(&tidy.module).is_ok() && self.holds(&tidy) {
            self.accept(measure(&tidy), tidy);
        } else {
            self.refused.insert(hash);
        }
    }

    fn accept(&mut self, measure: Measure, evidence: Evidence) {
        (self.measure, self.state, self.facts) = (measure, evidence, Facts::default());
    }

    /// One mutator: all opportunities, halves, quarters, down to single ones or so many parts.
    fn sweep(&mut self, mutator: &Mutator, parts: usize) {
        let mut sites = self.opportunities(mutator);
        let mut chunk = sites;
        while chunk > 0 && chunk >= sites / parts && !self.is_over() {
            let mut at = 0;
            while let Some((place, candidate)) = self.first(mutator, at, chunk, sites) {
                self.accept(candidate.measure, candidate.evidence);
                let left = self.opportunities(mutator);
                // What was removed makes place for what follows; what is still there was tried.
                at = if left < sites { place } else { place + chunk };
                sites = left;
            }
            chunk = if chunk > sites { sites } else { chunk / 2 };
        }
    }

    fn opportunities(&self, mutator: &Mutator) -> usize {
        let mut choice = Choice::new(0..0, &self.facts);
        (mutator.apply)(&mut self.state.clone(), &mut choice);
        choice.seen()
    }

    /// The first stretch of opportunities from `at` on whose taking is a success.
    fn first(&mut self, mutator: &Mutator, at: usize, chunk: usize, sites: usize) -> Option<(usize, Candidate)> {
        let mut starts = (at..sites).step_by(chunk);
        loop {
            let batch: Vec<usize> = starts.by_ref().take(rayon::current_num_threads()).collect();
            if batch.is_empty() || self.is_over() {
                return None;
            }
            let make = |start: &usize| self.candidate(mutator, *start, chunk);
            let mut candidates: Vec<Option<Candidate>> = batch.par_iter().map(make).collect();
            let holds = |(_, candidate): &(usize, &Option<Candidate>)| {
                candidate.as_ref().is_some_and(|candidate| self.holds(&candidate.evidence))
            };
            let found = candidates.par_iter().enumerate().find_first(holds).map(|(index, _)| index);
            // Only what one thread would have asked counts, whatever others have asked beside it: of equal candidates
            // the first.
            let asked = &candidates[..found.unwrap_or(candidates.len())];
            let refused: BTreeSet<u64> = asked.iter().flatten().map(|candidate| candidate.hash).collect();
            self.evaluations += refused.len() as u64 + u64::from(found.is_some());
            self.refused.extend(refused);
            self.request.watch.show(|| self.glance());
            if let Some(index) = found {
                return candidates.swap_remove(index).map(|candidate| (batch[index], candidate));
            }
        }
    }

    fn glance(&self) -> Glance {
        Glance {
            left: self.state.module.inst_count(),
            before: self.before.instructions,
            evaluations: self.evaluations,
            time: self.start.elapsed(),
        }
    }

    /// The state with a stretch of opportunities taken, where that is worth a look.
    fn candidate(&self, mutator: &Mutator, start: usize, chunk: usize) -> Option<Candidate> {
        let mut evidence = self.state.clone();
        (mutator.apply)(&mut evidence, &mut Choice::new(start..start + chunk, &self.facts));
        evidence.module.functions.values_mut().for_each(edit::repair);
        let measure = measure(&evidence);
        if measure >= self.measure || verify_module(&evidence.module).is_err() {
            return None;
        }
        let hash = hash(&evidence);
        (!self.refused.contains(&hash)).then_some(Candidate { evidence, measure, hash })
    }
}

fn hash(evidence: &Evidence) -> u64 {
    let mut hasher = DefaultHasher::new();
    evidence.module.hash(&mut hasher);
    evidence.launch.hash(&mut hasher);
    hasher.finish()
}
