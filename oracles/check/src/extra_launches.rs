//! Further launches, chosen by coverage: data that takes a kernel where its own launches do not.
//!
//! A launch judges only what it executes: a wrong instruction behind a branch that no thread takes passes every
//! comparison. So where the launches leave operations unexecuted, other data is tried, and data that executes something
//! new is kept.

use oriole_interp::{Executable, Outcome, RunOptions, RunResult};
use oriole_launch::Launch;

/// Launches in vain; see [`Unexecuted::patience`].
const PATIENCE: u64 = 1;
const LONG_PATIENCE: u64 = 3;

/// The operations of a program that nothing has executed yet.
pub struct Unexecuted {
    missing: Vec<bool>,
    left: usize,
}

impl Unexecuted {
    /// All operations that a run which finishes may execute.
    pub fn new(executable: &Executable<'_>) -> Unexecuted {
        let missing = executable.reachable();
        let left = missing.iter().filter(|missing| **missing).count();
        Unexecuted { missing, left }
    }

    /// How many launches in a row may reach nothing new before no more are tried: most operations that were not
    /// executed by then are unreachable, unless a quarter of all or more is left.
    fn patience(&self) -> u64 {
        if 4 * self.left >= self.missing.len() { LONG_PATIENCE } else { PATIENCE }
    }

    /// Whether every operation was executed.
    pub fn is_complete(&self) -> bool {
        self.left == 0
    }

    /// Notes what a run has executed; whether any of it is new.
    pub fn note(&mut self, run: &RunResult) -> bool {
        let mut new = 0;
        for (missing, reached) in self.missing.iter_mut().zip(&run.reached) {
            new += usize::from(*missing && *reached);
            *missing &= !reached;
        }
        self.left -= new;
        new > 0
    }
}

/// A launch that goes where others do not.
pub struct ExtraLaunch {
    /// The seed of its data.
    pub seed: u64,
    /// The launch.
    pub launch: Launch,
    /// Its run.
    pub run: RunResult,
}

/// Those of the launches `another(0)`, `another(1)` and so on that finish and reach something new; at most `tries` are
/// looked at.
pub fn extra_launches(
    executable: &Executable<'_>,
    unexecuted: &mut Unexecuted,
    tries: u32,
    options: &RunOptions,
    another: impl Fn(u64) -> Launch,
) -> Vec<ExtraLaunch> {
    let options = RunOptions { reach: true, ..options.clone() };
    let mut found = Vec::new();
    let mut useful = 0;
    for seed in 0..u64::from(tries) {
        if unexecuted.is_complete() || seed >= useful + unexecuted.patience() {
            break;
        }
        let launch = another(seed);
        match executable.run(&launch, &options) {
            Ok(run) if run.outcome == Outcome::Finished && run.races.is_empty() && unexecuted.note(&run) => {
                useful = seed + 1;
                found.push(ExtraLaunch { seed, launch, run });
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_launch::{Arg, ArgValue, Scalar, ScalarType};

    /// The first branch is taken where the argument is odd, the second never. `ODD` is what follows the first.
    const KERNEL: &str = "\
target sm_90 ptx 9.0

entry @k visible ssa {
  param $n: u32 param align 4
bb0:
  %r0 = ld.param.u32 [$n]
  %r1 = and.b32 %r0, 1
  %p2 = setp.ne.u32 %r1, 0
  cbra %p2, bb1, bb2
bb1:
ODD
  bra bb2
bb2:
  %p4 = setp.gt.u32 %r1, 1
  cbra %p4, bb3, bb4
bb3:
  trap
  bra bb4
bb4:
  ret
}
";

    fn with(number: u64) -> Launch {
        let mut launch = Launch::new(Some("k".to_owned()));
        let value = ArgValue::Scalar(Scalar::from_bits(ScalarType::U32, number));
        launch.args.push(Arg { name: None, value });
        launch
    }

    /// With so many instructions behind the first branch, and so many tries in vain.
    #[track_caller]
    fn assert_tries(odd: usize, futile: u64) {
        let behind: Vec<String> = (0..odd).map(|at| format!("  %r{} = iadd.u32 %r0, 1", 5 + at)).collect();
        let module = oriole_ir::parse_module(&KERNEL.replace("ODD", &behind.join("\n"))).expect("the kernel reads");
        let executable = Executable::new(&module).expect("the kernel loads");
        let mut unexecuted = Unexecuted::new(&executable);
        let options = RunOptions { reach: true, ..RunOptions::default() };
        let even = executable.run(&with(2), &options).expect("the launch fits");
        assert!(unexecuted.note(&even) && !unexecuted.is_complete() && !unexecuted.note(&even));
        let found = extra_launches(&executable, &mut unexecuted, 9, &options, |seed| {
            with(2 * seed + u64::from(seed == futile))
        });
        assert!(found.is_empty(), "too many tries were in vain");
        let found = extra_launches(&executable, &mut unexecuted, 9, &options, |seed| {
            with(2 * seed + u64::from(seed + 1 == futile))
        });
        assert_eq!(found.iter().map(|further| further.seed).collect::<Vec<_>>(), [futile - 1]);
        assert!(unexecuted.is_complete(), "what stands behind the trap does not count");
    }

    #[test]
    fn what_reaches_more_is_kept_until_all_is_reached() {
        assert_tries(1, PATIENCE);
    }

    #[test]
    fn more_is_tried_where_much_is_left() {
        assert_tries(9, LONG_PATIENCE);
    }
}
