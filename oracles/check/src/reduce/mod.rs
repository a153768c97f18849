//! The reducer: a program and its launch made as small as a predicate allows.
//!
//! A round applies every mutator of [`mutators::MUTATORS`]: first to all its opportunities at once, then to halves of
//! them, and so on down to single ones (delta debugging). A candidate counts where it is simpler ([`measure`]), the
//! verifier accepts it, and the predicate holds. Rounds go on until one changes nothing, so reducing the result again
//! changes nothing either, as long as no limit of [`Options`] was met.
//!
//! Candidates are evaluated in parallel on the current rayon pool; the first in order that holds is taken, so that the
//! result and the number of evaluations do not depend on the number of threads.
//!
//! [`finding`] reduces a finding of the check: the same phase alone must go wrong in the same way, on a launch where
//! the original finishes, defines all it uses, and has no race.

mod choice;
mod compact;
mod edit;
pub mod external;
mod fault;
mod flow;
mod inline;
mod insts;
mod items;
mod launches;
pub mod measure;
pub mod mutators;
mod offsets;
#[cfg(test)]
mod tests;
pub mod text;
mod threads;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use oriole_ir::verify::verify_module;
use rayon::prelude::*;

use crate::report::Evidence;
use choice::{Choice, Facts};
use measure::{Measure, Size, measure};
use mutators::{MUTATORS, Mutator};

pub use compact::renumbered_module;
pub use fault::{Fault, finding};

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
    /// Whether nothing more can be done; otherwise a limit was met.
    pub complete: bool,
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

/// Makes the evidence as simple as the predicate allows. The predicate sees modules that verify, and must always answer
/// the same for the same evidence.
pub fn reduce(evidence: &Evidence, predicate: &(dyn Fn(&Evidence) -> bool + Sync), options: &Options) -> Reduced {
    let mut reducer = Reducer {
        measure: measure(evidence),
        state: evidence.clone(),
        facts: Facts::default(),
        predicate,
        options: *options,
        start: Instant::now(),
        evaluations: 1,
        refused: HashSet::new(),
    };
    let interesting = predicate(evidence);
    let mut rounds = 0;
    let mut changed = interesting;
    while changed && !reducer.is_over() {
        changed = reducer.round();
        rounds += 1;
    }
    Reduced {
        interesting,
        complete: interesting && !changed,
        evaluations: reducer.evaluations,
        rounds,
        time: reducer.start.elapsed(),
        before: Size::of(evidence),
        after: Size::of(&reducer.state),
        evidence: reducer.state,
    }
}

/// A reduction under way.
struct Reducer<'a> {
    state: Evidence,
    measure: Measure,
    facts: Facts,
    predicate: &'a (dyn Fn(&Evidence) -> bool + Sync),
    options: Options,
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
        self.evaluations >= self.options.evaluations || self.start.elapsed() >= self.options.time
    }

    /// Every mutator once; whether anything became simpler.
    fn round(&mut self) -> bool {
        self.adopt(compact::renumbered(&self.state));
        self.adopt(compact::renamed(&self.state));
        let before = self.measure;
        for mutator in MUTATORS {
            self.sweep(mutator);
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
        if verify_module(&tidy.module).is_ok() && (self.predicate)(&tidy) {
            self.accept(measure(&tidy), tidy);
        } else {
            self.refused.insert(hash);
        }
    }

    fn accept(&mut self, measure: Measure, evidence: Evidence) {
        (self.measure, self.state, self.facts) = (measure, evidence, Facts::default());
    }

    /// One mutator: all opportunities, halves, quarters, down to single ones.
    fn sweep(&mut self, mutator: &Mutator) {
        let mut sites = self.opportunities(mutator);
        let mut chunk = sites;
        while chunk > 0 && !self.is_over() {
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
                candidate.as_ref().is_some_and(|candidate| (self.predicate)(&candidate.evidence))
            };
            let found = candidates.par_iter().enumerate().find_first(holds).map(|(index, _)| index);
            // Only what one thread would have asked counts, whatever others have asked beside it.
            let asked = &candidates[..found.unwrap_or(candidates.len())];
            let refused: Vec<u64> = asked.iter().flatten().map(|candidate| candidate.hash).collect();
            self.evaluations += refused.len() as u64 + u64::from(found.is_some());
            self.refused.extend(refused);
            if let Some(index) = found {
                return candidates.swap_remove(index).map(|candidate| (batch[index], candidate));
            }
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
