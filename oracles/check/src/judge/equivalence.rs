//! What "the same behaviour" means.
//!
//! Observable are the final bytes of global memory (buffers and the module's own variables), how the run ended, and
//! nothing else; what orders the threads of one run with those of another is the business of [`super::strong`]. The
//! relation is refinement: where the original leaves a byte undefined, the optimized program may write anything;
//! where the original traps, deadlocks, runs out of steps, races (as far as that was looked for) or depends on an
//! undefined value, the case is inconclusive. Everything else holds bit for bit. Refinement is transitive, so checks
//! of single steps add up.
//!
//! [`compare`] looks at two runs alone. Budgets, races, and values that the interpreter calls undefined without need
//! are the business of [`super::Judge`].

use super::verdict::{Extent, Mismatch, Verdict};
use oriole_interp::{Bytes, GlobalState, Outcome, RunResult};

/// Compares the run of a program with that of its original, on the same launch.
pub fn compare(original: &RunResult, optimized: &RunResult) -> Verdict {
    match original.outcome {
        Outcome::Trapped { .. } | Outcome::Deadlock(_) => return Verdict::OriginalTraps,
        Outcome::Undefined { .. } => return Verdict::OriginalUndefined,
        Outcome::OutOfSteps { .. } => return Verdict::OutOfSteps,
        Outcome::Finished if !original.races.is_empty() => return Verdict::OriginalRaces,
        Outcome::Finished => {}
    }
    if optimized.outcome != Outcome::Finished {
        return Verdict::Mismatch(Mismatch::Outcome(optimized.outcome.clone()));
    }
    let mut verdict = Verdict::Equal;
    for state in &original.memory {
        let same = |other: &&GlobalState| (state.argument, &state.name) == (other.argument, &other.name);
        let found = optimized.memory.iter().find(same).filter(|other| other.bytes.len() == state.bytes.len());
        let Some(other) = found else {
            return Verdict::Mismatch(Mismatch::Missing { name: state.name.clone() });
        };
        match differences(&state.bytes, &other.bytes) {
            Differences::None => {}
            Differences::Refined => verdict = Verdict::Refined,
            Differences::From { offset, count, extent } => return mismatch(state, other, (offset, count, extent)),
        }
    }
    verdict
}

enum Differences {
    None,
    Refined,
    From { offset: usize, count: usize, extent: Extent },
}

fn differences(original: &Bytes, optimized: &Bytes) -> Differences {
    if original == optimized {
        return Differences::None;
    }
    let wrong = |at: &usize| {
        !original.is_undefined(*at) && (optimized.is_undefined(*at) || original.data()[*at] != optimized.data()[*at])
    };
    let wrong: Vec<usize> = (0..original.len()).filter(wrong).collect();
    match wrong.first() {
        None => Differences::Refined,
        Some(&offset) => Differences::From { offset, count: wrong.len(), extent: extent(&wrong, original.len()) },
    }
}

/// How far differences at these offsets reach in a buffer of some length.
fn extent(wrong: &[usize], length: usize) -> Extent {
    let mut words: Vec<usize> = wrong.iter().map(|offset| offset / 4).collect();
    words.dedup();
    match words[..] {
        [_] => Extent::OneWord,
        _ if words.len() == length.div_ceil(4) => Extent::EveryWord,
        [first, ..] if words.iter().all(|word| word % 32 == first % 32) => Extent::OneLane,
        _ => Extent::SomeWords,
    }
}

fn mismatch(original: &GlobalState, optimized: &GlobalState, difference: (usize, usize, Extent)) -> Verdict {
    let (offset, count, extent) = difference;
    let shown = offset..((offset / 16 + 1) * 16).min(original.bytes.len());
    Verdict::Mismatch(Mismatch::Bytes {
        argument: original.argument,
        name: original.name.clone(),
        offset,
        expected: original.bytes.data()[shown.clone()].to_vec(),
        actual: optimized.bytes.data()[shown].to_vec(),
        element: None,
        undefined: optimized.bytes.is_undefined(offset),
        count,
        extent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_interp::{Place, Race, ThreadId};

    fn run(outcome: Outcome, bytes: Bytes) -> RunResult {
        let memory = vec![GlobalState { argument: Some(0), name: "y".into(), bytes }];
        let (stats, trace, stores, races) = Default::default();
        RunResult {
            outcome,
            memory,
            executed: 0,
            steps: 0,
            stats,
            reached: Vec::new(),
            counts: Vec::new(),
            cycles: 0,
            trace,
            stores,
            races,
            strong: Default::default(),
            has_orders: false,
        }
    }

    fn finished(bytes: Bytes) -> RunResult {
        run(Outcome::Finished, bytes)
    }

    #[test]
    fn undefined_bytes_may_become_anything_and_defined_ones_nothing_else() {
        let mut half = Bytes::undefined(8);
        half.store(0, 4, 7, false);
        let full = Bytes::defined(vec![7, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(compare(&finished(half.clone()), &finished(half.clone())), Verdict::Equal);
        assert_eq!(compare(&finished(half.clone()), &finished(full.clone())), Verdict::Refined);
        let Verdict::Mismatch(Mismatch::Bytes { offset, count, undefined, .. }) =
            compare(&finished(full), &finished(half))
        else {
            panic!("defined bytes became undefined");
        };
        assert_eq!((offset, count, undefined), (4, 4, true));
    }

    #[test]
    fn the_first_differing_bytes_are_shown() {
        let (a, b) = (Bytes::defined(vec![1; 40]), Bytes::defined([vec![1; 20], vec![2; 20]].concat()));
        let verdict = compare(&finished(a), &finished(b));
        let text = "`y` differs in 20 bytes, first at byte 20: expected 01 01 01 01 01 01 01 01 01 01 01 01, \
                    got 02 02 02 02 02 02 02 02 02 02 02 02";
        assert_eq!(verdict.to_string(), text);
        assert!(verdict.is_finding());
    }

    #[test]
    fn an_original_that_does_not_finish_is_inconclusive_and_an_optimized_one_is_wrong() {
        let out = || Outcome::OutOfSteps { executed: 9 };
        let bytes = || Bytes::defined(vec![0; 4]);
        assert_eq!(compare(&run(out(), bytes()), &finished(bytes())), Verdict::OutOfSteps);
        assert_eq!(compare(&run(Outcome::Deadlock(Vec::new()), bytes()), &finished(bytes())), Verdict::OriginalTraps);
        let verdict = compare(&finished(bytes()), &run(out(), bytes()));
        assert_eq!(verdict, Verdict::Mismatch(Mismatch::Outcome(out())));
    }

    #[test]
    fn a_race_of_the_original_is_inconclusive() {
        let place = Place { function: "k".into(), line: 1, source: None, text: "st".into() };
        let thread = |x| ThreadId { ctaid: [0; 3], tid: [x, 0, 0] };
        let (first, second) = ((thread(0), place.clone(), true), (thread(1), place, true));
        let mut racy = finished(Bytes::defined(vec![0; 4]));
        racy.races.push(Race { space: "global", address: 0, first, second });
        assert_eq!(compare(&racy, &finished(Bytes::defined(vec![1; 4]))), Verdict::OriginalRaces);
    }

    #[test]
    fn a_variable_must_not_vanish() {
        let bytes = Bytes::defined(vec![0; 4]);
        let mut without = finished(bytes.clone());
        without.memory.clear();
        let verdict = compare(&finished(bytes.clone()), &without);
        assert_eq!(verdict, Verdict::Mismatch(Mismatch::Missing { name: "y".into() }));
        assert_eq!(compare(&without, &finished(bytes)), Verdict::Equal);
    }
}
