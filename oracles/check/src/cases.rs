//! Cases: the launches of a kernel, with their own data and with random data of the same shape, each with its judge.

use oriole_ir::Module;

use super::extra_launches::{ExtraLaunch, Unexecuted, extra_launches};
use super::options::{CheckError, CheckOptions, RaceSearch};
use super::report::{CaseLine, KernelReport};
use super::variants::Variants;
use crate::input::NamedLaunch;
use crate::judge::{Judge, Judged, Verdict, budget, inconclusive};
use oriole_interp::{Executable, Outcome, RunOptions, RunResult};
use oriole_launch::{Launch, distinct};

/// A launch on which the original finishes.
pub struct Case<'a> {
    /// The launch's name, and the seed of its data.
    pub name: String,
    /// Compares changed programs with the original on it.
    pub judge: Judge<'a>,
}

/// The judgements of all cases on a changed program.
pub struct Judgement {
    /// The first finding; else refined or equal, where a case says so; else why the first says nothing. `None` without
    /// any case.
    pub verdict: Option<Verdict>,
    /// The case that the verdict is from.
    pub case: usize,
    judged: Vec<Judged>,
}

impl Case<'_> {
    /// Its name and launch.
    pub fn named(&self) -> (&str, &Launch) {
        (&self.name, self.judge.launch())
    }
}

impl Judgement {
    /// A verdict alone, of a program that nothing is compared with later.
    pub(super) fn of(verdict: Verdict, case: usize) -> Judgement {
        Judgement { verdict: Some(verdict), case, judged: Vec::new() }
    }
}

/// Judges a changed program on every case.
pub fn judge_all(changed: &Module, cases: &[Case<'_>]) -> Judgement {
    let executable = match Executable::new(changed) {
        Ok(executable) => executable,
        Err(error) => {
            let verdict = Some(Verdict::InvalidIr(error.to_string()));
            return Judgement { verdict, case: 0, judged: Vec::new() };
        }
    };
    let judged: Vec<Judged> = cases.iter().map(|case| case.judge.judge(&executable)).collect();
    let first = |wanted: fn(&Verdict) -> bool| judged.iter().position(|judged| wanted(&judged.verdict));
    let telling: [fn(&Verdict) -> bool; 3] =
        [Verdict::is_finding, |verdict| *verdict == Verdict::Refined, Verdict::is_good];
    let case = telling.into_iter().find_map(first).unwrap_or(0);
    let verdict = judged.get(case).map(|judged| judged.verdict.clone());
    Judgement { verdict, case, judged }
}

/// Makes a good program the one that the next is compared with.
pub fn adopt(cases: &mut [Case<'_>], judgement: Judgement) {
    cases.iter_mut().zip(judgement.judged).for_each(|(case, judged)| case.judge.adopt(judged));
}

/// Runs the original on every launch and its random variants: the conclusive cases, and a report with a line for each.
///
/// # Errors
///
/// The original cannot run on a launch.
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
    let mut report = KernelReport::new(name, module.inst_count(), &options.faults);
    report.phases.reserve(options.passes.len() + 2);
    let mut cases = Vec::new();
    let mut unexecuted = (options.tries > 0).then(|| Unexecuted::new(&executable));
    let races = options.races == RaceSearch::Everywhere;
    let observe = RunOptions { races, reach: unexecuted.is_some(), ..RunOptions::default() };
    // Conclusive runs become cases. Only they count as having reached an operation: what an inconclusive run executes
    // is compared with nothing.
    let mut keep = |name: String, launch: Launch, run: RunResult| {
        if let (Some(unexecuted), None) = (&mut unexecuted, inconclusive(&run)) {
            unexecuted.note(&run);
        }
        cases.extend(Judge::new(module, launch, run).ok().map(|judge| Case { name, judge }));
    };
    let mut longest = 0;
    for NamedLaunch { name, launch } in launches {
        let run = |launch: &Launch, steps| {
            executable.run(launch, &RunOptions { steps, ..observe.clone() }).map_err(load(name))
        };
        // The launch as it is has the budget that was asked for. Its variants get one by what it took, since other
        // data may make loops almost endless.
        let mut own = run(launch, options.steps)?;
        let endless = matches!(own.outcome, Outcome::OutOfSteps { .. });
        let steps = if endless { own.steps } else { budget(own.steps) };
        longest = steps.max(longest);
        if options.races == RaceSearch::Briefly {
            look_for_race(&executable, launch, &mut own);
        }
        let is_racing = !own.races.is_empty();
        let vary = options.vary && inconclusive(&own).is_none();
        let mut variants = vary.then(|| Variants::of(launch, own.steps));
        report.cases.push(line(name.clone(), None, &own, expectation(launch, &own)));
        keep(name.clone(), launch.clone(), own);
        for number in 0..u64::from(options.randoms) {
            let seed = options.seed.wrapping_add(number);
            let drawn = variants
                .as_mut()
                .map(|variants| variants.draw(number, seed, &mut |launch, steps| run(launch, Some(steps))));
            let (varied, mut result) = match drawn.transpose()?.flatten() {
                Some(drawn) => drawn,
                None => {
                    let varied = launch.randomized(seed);
                    let result = run(&varied, Some(steps))?;
                    (varied, result)
                }
            };
            if is_racing {
                look_for_race(&executable, &varied, &mut result);
            }
            let name = format!("{name} (seed {seed})");
            report.cases.push(line(name.clone(), Some(seed), &result, None));
            keep(name, varied, result);
        }
    }
    // Further data comes last: it is tried for the operations that all runs before have left alone.
    if let (Some(unexecuted), Some(first)) = (&mut unexecuted, launches.first()) {
        let observe = RunOptions { steps: Some(longest), ..observe };
        let another = |seed| (options.another)(&first.launch, seed);
        for ExtraLaunch { seed, launch, run } in
            extra_launches(&executable, unexecuted, options.tries, &observe, another)
        {
            let name = format!("{} (further data, seed {seed})", first.name);
            report.cases.push(line(name.clone(), Some(seed), &run, None));
            cases.extend(Judge::new(module, launch, run).ok().map(|judge| Case { name, judge }));
        }
    }
    report.data = distinct(cases.iter().map(|case| case.judge.launch()));
    report.conclude();
    Ok((cases, report))
}

/// Warp instructions of a launch in which races are looked for unasked: a tenth of a second, as of 2026.
const BRIEFLY: u64 = 50_000;

/// Looks for races in the beginning of a launch, and adds the first to the run of the original.
fn look_for_race(original: &Executable<'_>, launch: &Launch, run: &mut RunResult) {
    if launch.threads() <= 1 || inconclusive(run).is_some() {
        return;
    }
    let options = RunOptions { races: true, steps: Some(BRIEFLY), ..RunOptions::default() };
    run.races.extend(original.run(launch, &options).ok().and_then(|run| run.races.into_iter().next()));
}

fn line(name: String, seed: Option<u64>, result: &RunResult, expected: Option<Vec<String>>) -> CaseLine {
    let detail = match (&result.outcome, result.races.first()) {
        (Outcome::Finished, None) => String::new(),
        (Outcome::Finished, Some(race)) => race.to_string(),
        (outcome, _) => outcome.to_string(),
    };
    CaseLine {
        name,
        seed,
        inconclusive: inconclusive(result),
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
    let expecting = launch.contents().enumerate().filter(|(_, (_, buffer))| buffer.expect.is_some());
    for (place, (name, buffer)) in expecting {
        expects = true;
        match result.content(place) {
            Some(bytes) if result.outcome == Outcome::Finished => {
                lines.extend(buffer.describe_differences(&name, bytes.data(), 3));
            }
            _ => lines.push(format!("{name}: {}", result.outcome)),
        }
    }
    expects.then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::parse_module;
    use oriole_launch::command_line;

    /// All threads store to one word, so another value there says nothing: not even that the two are equal.
    #[test]
    fn a_step_is_not_equal_where_every_case_races() {
        let text = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\n  param $out: u64 param align 8\nbb0:\n  \
             %d0 = ld.param.b64 [$out]\n  %r1 = s2r.b32 sr.tid.x\n  st.global.b32 [%d0], %r1\n  ret\n}\n";
        let before = parse_module(text).expect("the kernel reads");
        let after = parse_module(&text.replace("[%d0], %r1", "[%d0], 77")).expect("the kernel reads");
        let case = |threads: &str| {
            let launch = command_line::launch(None, "1", threads, &["zeroed:4".to_owned()]).expect("it is well-formed");
            let original = Executable::new(&before).expect("it is valid");
            Case { name: threads.to_owned(), judge: Judge::of(&original, &launch, None).expect("it finishes") }
        };
        let verdict = |changed: &Module, cases: &[Case<'_>]| judge_all(changed, cases).verdict;
        assert_eq!(verdict(&after, &[case("64")]), Some(Verdict::OriginalRaces));
        assert_eq!(verdict(&before, &[case("64")]), Some(Verdict::Equal));
        assert_eq!(verdict(&after, &[]), None);
        let both = judge_all(&after, &[case("64"), case("1")]);
        assert_eq!((both.case, both.verdict.is_some_and(|verdict| verdict.is_finding())), (1, true));
    }

    /// Threads of a launch race that nothing differs on: its cases say nothing, and which accesses race is said.
    #[test]
    fn a_brief_look_finds_the_race_of_a_launch_and_of_its_variants() {
        let text = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\n  param $out: u64 param align 8\nbb0:\n  \
             %d0 = ld.param.b64 [$out]\n  %r1 = s2r.b32 sr.tid.x\n  st.global.b32 [%d0], %r1\n  ret\n}\n";
        let module = parse_module(text).expect("the kernel reads");
        let launch = |threads| command_line::launch(None, "1", threads, &["zeroed:4".to_owned()]).expect("well-formed");
        let launches = ["64", "1"].map(|threads| NamedLaunch { name: threads.to_owned(), launch: launch(threads) });
        let races = |races| {
            let options = CheckOptions { races, vary: true, ..CheckOptions::default() };
            let (cases, report) = first_runs("k", &module, &launches, &options).expect("it runs");
            assert_eq!(report.cases.len(), 6);
            (cases.len(), report.data, report.cases[0].detail.clone())
        };
        assert_eq!(races(RaceSearch::OnDifference), (6, 3, String::new()));
        let (cases, data, detail) = races(RaceSearch::Briefly);
        assert_eq!((cases, data), (3, 3));
        assert!(detail.contains("thread (") && detail.contains("st.global"), "{detail}");
        assert_eq!(races(RaceSearch::Everywhere).0, 3);
    }
}
