//! Cases: the launches of a kernel, with their own data and with random data of the same shape.

use std::sync::OnceLock;

use oriole_optimizer::ir::Module;

use super::order::Order;
use super::reach::{Further, Reach, further};
use super::report::{CaseLine, KernelReport};
use super::{CheckError, CheckOptions, instructions};
use crate::equivalence::{Mismatch, Verdict, compare, judge};
use crate::input::NamedLaunch;
use crate::interp::{Executable, LoadError, Outcome, RunOptions, RunResult};
use crate::launch::Launch;

/// Turns of warps that are tried beside the usual one, to see whether the order of threads matters.
const SLICES: [u64; 3] = [1, 7, 64];

/// A launch on which the original finishes, and the last good run of it.
pub struct Case<'a> {
    /// The launch's name, and the seed of its data.
    pub name: String,
    /// The launch.
    pub launch: Launch,
    /// The run of the module before the phase at hand.
    pub before: RunResult,
    /// The program before all phases.
    original: &'a Module,
    /// Whether its threads race on this launch; looked for when something differs.
    raced: OnceLock<bool>,
    /// What orders its threads; asked for when there is something to compare it with.
    order: OnceLock<Option<Order>>,
}

/// The run of a changed module on a case.
pub struct Ran {
    /// The run.
    pub result: RunResult,
    /// Compared with the run before.
    pub verdict: Verdict,
}

impl<'a> Case<'a> {
    /// A case of `original` on a launch on which it finishes.
    pub fn new(name: String, launch: Launch, before: RunResult, original: &'a Module) -> Case<'a> {
        Case { name, launch, before, original, raced: OnceLock::new(), order: OnceLock::new() }
    }

    /// Whether threads of the original were seen to race, or do something else in another order: atomic operations may be
    /// in no race and yet tell who came first. Then a difference says nothing about a phase.
    pub fn is_raced(&self) -> bool {
        self.raced.get().copied().unwrap_or(false)
    }

    /// Its name and launch.
    pub fn named(&self) -> (&str, &Launch) {
        (&self.name, &self.launch)
    }

    fn races(&self) -> bool {
        *self.raced.get_or_init(|| {
            let Ok(executable) = Executable::new(self.original) else { return false };
            let run = |options| executable.run(&self.launch, &options);
            let options = RunOptions { steps: Some(self.budget()), ..RunOptions::default() };
            let Ok(first) = run(RunOptions { races: true, ..options.clone() }) else { return false };
            let differs = |slice: &u64| {
                let again = run(RunOptions { slice: Some(*slice), ..options.clone() });
                again.is_ok_and(|again| compare(&first, &again).is_finding())
            };
            !first.races.is_empty() || SLICES.iter().any(differs)
        })
    }

    /// The step budget of a changed module: a good phase does not make a program run four times as long, and a bad one
    /// that never ends should not take the whole budget. Bisecting and reducing run such a program hundreds of times.
    pub fn budget(&self) -> u64 {
        self.before.steps.saturating_mul(4).saturating_add(200_000)
    }

    /// Runs a changed module on this case.
    pub fn run(&self, executable: &Executable<'_>) -> Result<Ran, LoadError> {
        self.run_watching(executable, Vec::new())
    }

    /// The same, recording the stores to some bytes.
    pub fn run_watching(&self, executable: &Executable<'_>, watch: Vec<(usize, usize)>) -> Result<Ran, LoadError> {
        let options = RunOptions { steps: Some(self.budget()), watch, ..RunOptions::default() };
        let mut result = executable.run(&self.launch, &options)?;
        let verdict = match self.judge(executable, &result) {
            verdict if verdict.is_finding() && self.races() => Verdict::OriginalRaces,
            verdict if verdict.is_finding() => verdict,
            verdict => self.new_race(executable).unwrap_or(verdict),
        };
        if verdict == Verdict::Refined && compare(&self.before, &result).is_finding() {
            // It does not say what the next phase must keep; the run before does.
            result = RunResult { steps: result.steps, ..self.before.clone() };
        }
        Ok(Ran { result, verdict })
    }

    /// The verdict on a run of a changed module, races aside.
    pub fn judge(&self, executable: &Executable<'_>, result: &RunResult) -> Verdict {
        judge(&self.before, result, executable, &self.launch)
    }

    /// The verdict on a changed module that behaves the same but whose threads race; looked for where it may have changed what
    /// orders them.
    pub fn new_race(&self, executable: &Executable<'_>) -> Option<Verdict> {
        let order = self.order.get_or_init(|| Order::of(self.original).filter(|_| self.launch.threads() > 1));
        if order.as_ref()?.is_kept_by(executable.module()) || self.races() {
            return None;
        }
        let options = RunOptions { steps: Some(self.budget()), races: true, ..RunOptions::default() };
        let race = executable.run(&self.launch, &options).ok()?.races.into_iter().next()?;
        Some(Verdict::Mismatch(Mismatch::Race(race)))
    }
}

/// Runs a changed module on every case.
pub fn run_all(module: &Module, cases: &[Case<'_>]) -> Result<Vec<Ran>, LoadError> {
    let executable = Executable::new(module)?;
    cases.iter().map(|case| case.run(&executable)).collect()
}

/// Runs the original on every launch and its random variants: the cases that say something, and a report with a line
/// for each.
pub fn first_runs<'a>(
    name: &str,
    module: &'a Module,
    launches: &[NamedLaunch],
    options: &CheckOptions,
) -> Result<(Vec<Case<'a>>, KernelReport), CheckError> {
    let load = |launch: &str| {
        let launch = launch.to_owned();
        move |error| CheckError::Load { launch, error }
    };
    let executable = Executable::new(module).map_err(load("any launch"))?;
    let mut report = KernelReport::new(name, instructions(module));
    report.phases.reserve(options.phases.len() + 1);
    let mut cases = Vec::new();
    let mut reach = (options.tries > 0).then(|| Reach::new(&executable));
    let observe = RunOptions { races: options.races, reach: reach.is_some(), ..RunOptions::default() };
    let mut keep = |name: String, launch: Launch, run: RunResult| {
        if run.outcome == Outcome::Finished && run.races.is_empty() {
            if let Some(reach) = &mut reach {
                reach.note(&run);
            }
            cases.push(Case::new(name, launch, run, module));
        }
    };
    let mut longest = 0;
    for NamedLaunch { name, launch } in launches {
        let run = |launch: &Launch, steps| {
            executable.run(launch, &RunOptions { steps, ..observe.clone() }).map_err(load(name))
        };
        let own = run(launch, options.steps)?;
        // Random data may send a loop round far longer than the launch's own.
        let budget = own.steps.saturating_mul(16).saturating_add(200_000);
        longest = budget.max(longest);
        report.cases.push(line(name.clone(), None, &own, expectation(launch, &own)));
        keep(name.clone(), launch.clone(), own);
        for seed in (0..u64::from(options.randoms)).map(|variant| options.seed.wrapping_add(variant)) {
            let varied = launch.randomized(seed);
            let result = run(&varied, Some(budget))?;
            let name = format!("{name} (seed {seed})");
            report.cases.push(line(name.clone(), Some(seed), &result, None));
            keep(name, varied, result);
        }
    }
    if let (Some(reach), Some(first)) = (&mut reach, launches.first()) {
        let observe = RunOptions { steps: Some(longest), ..observe };
        let another = |seed| (options.another)(&first.launch, seed);
        for Further { seed, launch, run } in further(&executable, reach, options.tries, &observe, another) {
            let name = format!("{} (further data, seed {seed})", first.name);
            report.cases.push(line(name.clone(), Some(seed), &run, None));
            cases.push(Case::new(name, launch, run, module));
        }
    }
    Ok((cases, report))
}

fn line(name: String, seed: Option<u64>, result: &RunResult, expected: Option<Vec<String>>) -> CaseLine {
    let outcome = match result.outcome {
        Outcome::Finished if result.races.is_empty() => "finished",
        // A run compared with itself says which verdict its original leads to.
        _ => compare(result, result).name(),
    };
    let detail = match (&result.outcome, result.races.first()) {
        (Outcome::Finished, None) => String::new(),
        (Outcome::Finished, Some(race)) => race.to_string(),
        (outcome, _) => outcome.to_string(),
    };
    CaseLine {
        name,
        seed,
        outcome,
        detail,
        steps: result.steps,
        expected: expected.as_ref().map(Vec::is_empty),
        differences: expected.unwrap_or_default(),
    }
}

/// The differences from what the launch expects; `None` where it expects nothing.
fn expectation(launch: &Launch, result: &RunResult) -> Option<Vec<String>> {
    let mut expects = false;
    let mut lines = Vec::new();
    for (index, buffer) in launch.buffers().filter(|(_, buffer)| buffer.expect.is_some()) {
        expects = true;
        match result.buffer(index) {
            Some(bytes) if result.outcome == Outcome::Finished => {
                lines.extend(buffer.describe_differences(&launch.arg_name(index), bytes.data(), 3));
            }
            _ => lines.push(format!("{}: {}", launch.arg_name(index), result.outcome)),
        }
    }
    expects.then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{Arg, ArgValue, Buffer};

    /// Each thread stores a word and loads its neighbour's; the one warp runs in step, so that memory is the same without
    /// the barrier.
    fn exchange(barrier: &str) -> Module {
        let text = format!(
            "target sm_90 ptx 9.0\nglobal @s: b8[256] shared align 4\n\nentry @k visible ssa {{\nbb0:\n  \
             %r0 = s2r.b32 sr.tid.x\n  %d1 = mov.b64 @s\n  %d2 = imad.wide.u32 %r0, 4, %d1\n  \
             st.shared.b32 [%d2], %r0\n{barrier}  %r3 = xor.b32 %r0, 1\n  %d4 = imad.wide.u32 %r3, 4, %d1\n  \
             %r5 = ld.shared.b32 [%d4]\n  st.shared.b32 [%d2+128], %r5\n  ret\n}}\n"
        );
        oriole_optimizer::ir::parse_module(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn a_race_that_changes_no_byte_is_found_unless_it_was_there_before() {
        let (with, without) = (exchange("  bar.sync 0, 0\n"), exchange(""));
        let mut launch = Launch::new(None);
        launch.block = [32, 1, 1];
        let verdict = |before: &Module, after: &Module| {
            let [first, changed] = [before, after].map(|module| Executable::new(module).expect("it loads"));
            let run = first.run(&launch, &RunOptions::default()).expect("the launch fits");
            assert_eq!(run.outcome, Outcome::Finished);
            Case::new(String::new(), launch.clone(), run, before).run(&changed).expect("the launch fits").verdict
        };
        assert!(matches!(verdict(&with, &without), Verdict::Mismatch(Mismatch::Race(_))));
        assert_eq!(verdict(&with, &with), Verdict::Equal);
        assert_eq!(verdict(&without, &without), Verdict::Equal);
    }

    /// The next phase must keep what the original defines, although the interpreter lost sight of it here.
    #[test]
    fn what_following_gave_up_is_still_to_be_kept() {
        let kernel = |value: &str| {
            let text = format!(
                "target sm_90 ptx 9.0\n\nentry @k visible ssa {{\n  param $out: u64 param align 8\nbb0:\n  \
                 %d0 = ld.param.b64 [$out]\n  %r1 = imul.lo.u32 undef, 2\n  %r2 = and.b32 {value}, 1\n  \
                 st.global.b32 [%d0], %r2\n  ret\n}}\n"
            );
            oriole_optimizer::ir::parse_module(&text).expect("the kernel reads")
        };
        let [before, after] = [kernel("4"), kernel("%r1")];
        let launch =
            crate::launch::pieces::launch(None, "1", "1", &["zeroed:4".to_owned()]).expect("it is well-formed");
        let [first, changed] = [&before, &after].map(|module| Executable::new(module).expect("it loads"));
        let run = first.run(&launch, &RunOptions::default()).expect("the launch fits");
        let ran = Case::new(String::new(), launch, run, &before).run(&changed).expect("the launch fits");
        assert_eq!(ran.verdict, Verdict::Refined);
        assert!(ran.result.buffer(0).is_some_and(|bytes| !bytes.is_undefined(0)));
    }

    /// The first warp, which goes round a loop, and the second one exchange a word; who comes last is nobody's promise,
    /// although atomic operations are in no race.
    #[test]
    fn a_difference_says_nothing_where_the_order_of_atomics_decides() {
        let text = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\n  param $out: u64 param align 8\nbb0:\n  \
             %d0 = ld.param.b64 [$out]\n  %r1 = s2r.b32 sr.tid.x\n  %p2 = setp.lt.u32 %r1, 32\n  cbra %p2, bb1, bb2\n\
             bb1:\n  %r3 = phi [bb0: 0], [bb1: %r4]\n  %r4 = iadd.u32 %r3, 1\n  %p5 = setp.lt.u32 %r4, 40\n  \
             cbra %p5, bb1, bb2\nbb2:\n  %r6 = shr.u32 %r1, 5\n  %r7 = atom.global.exch.b32 [%d0], %r6\n  ret\n}\n";
        let before = oriole_optimizer::ir::parse_module(text).expect("the kernel reads");
        let after = text.replace("atom.global.exch.b32 [%d0], %r6", "atom.global.exch.b32 [%d0], %r1");
        let after = oriole_optimizer::ir::parse_module(&after).expect("the kernel reads");
        let mut launch = Launch::new(None);
        launch.block = [64, 1, 1];
        let bytes = ArgValue::Buffer(Buffer { bytes: vec![0; 4], element: None, expect: None });
        launch.args.push(Arg { name: None, value: bytes });
        let [first, changed] = [&before, &after].map(|module| Executable::new(module).expect("it loads"));
        let run = first.run(&launch, &RunOptions::default()).expect("the launch fits");
        let case = Case::new(String::new(), launch, run, &before);
        assert_eq!(case.run(&first).expect("the launch fits").verdict, Verdict::Equal);
        assert_eq!(case.run(&changed).expect("the launch fits").verdict, Verdict::OriginalRaces);
    }
}
