//! What "the same behaviour" means.
//!
//! Observable are the final bytes of global memory (buffers and the module's own variables), how the run ended, and
//! nothing else. The relation is refinement: where the original leaves a byte undefined, the optimized program may
//! write anything; where the original traps, deadlocks, runs out of steps, races (as far as that was looked for) or
//! depends on an undefined value, the case says nothing. Everything else holds bit for bit. Refinement is transitive, so checks of single phases add up.

use std::fmt;

use crate::interp::{Bytes, Executable, Fill, GlobalState, Outcome, Race, RunOptions, RunResult};
use crate::launch::Launch;

/// What two runs of the same case say about the two programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every byte is the same, undefined ones included.
    Equal,
    /// The same, except where the original leaves bytes undefined.
    Refined,
    /// The optimized program does something else.
    Mismatch(Mismatch),
    /// The original traps or deadlocks, so the case says nothing.
    OriginalTraps,
    /// The original depends on an undefined value, so the case says nothing.
    OriginalUndefined,
    /// Threads of the original race, so the case says nothing. Only where races were looked for.
    OriginalRaces,
    /// The original does not end within its budget, so the case says nothing.
    OutOfSteps,
    /// The optimized program breaks a rule of the IR, or cannot be loaded.
    InvalidIr(String),
}

/// How the optimized program differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// It ends otherwise, where the original finishes.
    Outcome(Outcome),
    /// Its threads race where those of the original do not. Only where races were looked for.
    Race(Race),
    /// Global memory that the original has is missing, or has another size.
    Missing {
        /// The buffer or variable.
        name: String,
    },
    /// Bytes differ.
    Bytes {
        /// The argument that owns the buffer; `None` for a variable of the module.
        argument: Option<usize>,
        /// The buffer or variable.
        name: String,
        /// The first differing byte.
        offset: usize,
        /// What the original leaves there: bytes up to the next multiple of 16.
        expected: Vec<u8>,
        /// What the optimized program leaves there.
        actual: Vec<u8>,
        /// Whether the optimized program leaves the first byte undefined.
        undefined: bool,
        /// How many bytes of the buffer differ.
        count: usize,
        /// How far the difference reaches.
        extent: Extent,
    },
}

/// How far a difference reaches, in words of four bytes from the start of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// A single word.
    OneWord,
    /// Several, all at the same place modulo 32: one lane of every warp, where each thread has a word.
    OneLane,
    /// Other ones.
    SomeWords,
    /// All, of two or more.
    EveryWord,
}

impl Verdict {
    /// Whether the optimized program is at fault.
    pub fn is_finding(&self) -> bool {
        matches!(self, Verdict::Mismatch(_) | Verdict::InvalidIr(_))
    }

    /// Whether the optimized program depends on something undefined, or leaves it behind.
    fn is_about_undefined(&self) -> bool {
        matches!(
            self,
            Verdict::Mismatch(Mismatch::Outcome(Outcome::Undefined { .. }) | Mismatch::Bytes { undefined: true, .. })
        )
    }

    /// A short name that stays the same between versions.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Equal => "equal",
            Verdict::Refined => "refined",
            Verdict::Mismatch(_) => "mismatch",
            Verdict::OriginalTraps => "original traps",
            Verdict::OriginalUndefined => "original undefined",
            Verdict::OriginalRaces => "original races",
            Verdict::OutOfSteps => "out of steps",
            Verdict::InvalidIr(_) => "invalid IR",
        }
    }
}

/// Judges the run of an optimized program by the run of its original, on the same launch.
///
/// Where only following undefined values makes a difference, the optimized program also runs with several values in
/// place of them: if it does the same as the original with each, what was called undefined depends on nothing undefined.
pub fn judge(original: &RunResult, optimized: &RunResult, executable: &Executable<'_>, launch: &Launch) -> Verdict {
    let verdict = compare(original, optimized);
    let options = |fill| RunOptions {
        steps: Some(original.steps.max(optimized.steps).saturating_mul(2).saturating_add(10_000)),
        fill: Some(fill),
        ..RunOptions::default()
    };
    let same = |fill| executable.run(launch, &options(fill)).is_ok_and(|run| !compare(original, &run).is_finding());
    if verdict.is_about_undefined() && Fill::several().all(same) { Verdict::Refined } else { verdict }
}

/// The same, by these two runs alone.
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
        undefined: optimized.bytes.is_undefined(offset),
        count,
        extent,
    })
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
        match self {
            Mismatch::Outcome(outcome) => {
                write!(out, "the original finishes, the optimized program does not: {outcome}")
            }
            Mismatch::Race(race) => write!(out, "threads race that did not before: {race}"),
            Mismatch::Missing { name } => write!(out, "`{name}` is missing, or has another size"),
            Mismatch::Bytes { name, offset, expected, actual, undefined, count, .. } => {
                let (expected, actual) = (hex(expected), hex(actual));
                write!(
                    out,
                    "`{name}` differs in {count} bytes, first at byte {offset}: expected {expected}, got {actual}"
                )?;
                if *undefined { write!(out, " (undefined)") } else { Ok(()) }
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Mismatch(mismatch) => write!(out, "{mismatch}"),
            Verdict::InvalidIr(why) => write!(out, "invalid IR: {why}"),
            _ => out.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use oriole_optimizer::ir::parse_module;

    use super::*;
    use crate::interp::{Place, ThreadId};
    use crate::launch::pieces;

    fn run(outcome: Outcome, bytes: Bytes) -> RunResult {
        let memory = vec![GlobalState { argument: Some(0), name: "y".into(), bytes }];
        let (stats, trace, stores, races) = Default::default();
        RunResult { outcome, memory, steps: 0, stats, reached: Vec::new(), trace, stores, races }
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
    fn an_original_that_does_not_finish_says_nothing_and_an_optimized_one_is_wrong() {
        let out = || Outcome::OutOfSteps { budget: 9 };
        let bytes = || Bytes::defined(vec![0; 4]);
        assert_eq!(compare(&run(out(), bytes()), &finished(bytes())), Verdict::OutOfSteps);
        assert_eq!(compare(&run(Outcome::Deadlock(Vec::new()), bytes()), &finished(bytes())), Verdict::OriginalTraps);
        let verdict = compare(&finished(bytes()), &run(out(), bytes()));
        assert_eq!(verdict, Verdict::Mismatch(Mismatch::Outcome(out())));
    }

    #[test]
    fn a_race_of_the_original_says_nothing() {
        let place = Place { function: "k".into(), line: 1, text: "st".into() };
        let thread = |x| ThreadId { ctaid: [0; 3], tid: [x, 0, 0] };
        let (first, second) = ((thread(0), place.clone(), true), (thread(1), place, true));
        let mut racy = finished(Bytes::defined(vec![0; 4]));
        racy.races.push(Race { space: "global", address: 0, first, second });
        assert_eq!(compare(&racy, &finished(Bytes::defined(vec![1; 4]))), Verdict::OriginalRaces);
    }

    /// What a kernel makes of its one word, against one that stores this.
    fn judged(expected: u32, body: &str) -> Verdict {
        let kernel = |body: &str| {
            let text = format!(
                "target sm_90 ptx 9.0\n\nentry @k visible ssa {{\n  param $p0: u64 param align 8\nbb0:\n  \
                 %d0 = ld.param.b64 [$p0]\n{body}  st.b32 [%d0], %r9\n  ret\n}}\n"
            );
            parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
        };
        let launch = pieces::launch(None, "1", "1", &["zeroed:4".to_owned()]).expect("the launch is well-formed");
        let [original, optimized] = [&kernel(&format!("  %r9 = mov.b32 {expected}\n")), &kernel(body)]
            .map(|module| Executable::new(module).expect("it loads").run(&launch, &RunOptions::default()));
        let module = kernel(body);
        let executable = Executable::new(&module).expect("it loads");
        judge(&original.expect("it runs"), &optimized.expect("it runs"), &executable, &launch)
    }

    /// The interpreter calls a product undefined as a whole; its low bit is zero all the same.
    #[test]
    fn what_depends_on_nothing_undefined_is_no_mismatch() {
        assert_eq!(judged(0, "  %r1 = imul.lo.u32 undef, 2\n  %r9 = and.b32 %r1, 1\n"), Verdict::Refined);
        assert_eq!(judged(7, "  %r9 = selp.b32 7, 7, undef\n"), Verdict::Refined);
        let branch = "  %r1 = imul.lo.u32 undef, 2\n  %r2 = and.b32 %r1, 1\n  %p3 = setp.eq.u32 %r2, 0\n  \
                      %r9 = mov.b32 7\n  cbra %p3, bb1, bb1\nbb1:\n";
        assert_eq!(judged(7, branch), Verdict::Refined);
    }

    #[test]
    fn what_depends_on_something_undefined_is_a_mismatch() {
        assert!(judged(0, "  %r1 = imul.lo.u32 undef, 2\n  %r9 = and.b32 %r1, 2\n").is_finding());
        assert!(judged(7, "  %r9 = selp.b32 7, 8, undef\n").is_finding());
        assert!(judged(8, "  %r9 = selp.b32 7, 8, undef\n").is_finding());
        assert!(judged(0, "  %r1 = mov.b32 undef\n  %r9 = isub.u32 %r1, undef\n").is_finding());
        assert!(judged(1, "  %r1 = imul.lo.u32 undef, 2\n  %r9 = and.b32 %r1, 1\n").is_finding());
        let branch = "  %p1 = setp.lt.u32 undef, 9\n  cbra %p1, bb1, bb2\nbb1:\n  bra bb2\nbb2:\n  \
                      %r9 = phi [bb0: 1], [bb1: 2]\n";
        assert!(judged(1, branch).is_finding());
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
