//! Generated kernels a second of processor time, in one thread: made, and made and fully checked (every phase verified,
//! and executed before and after on every launch). `cargo bench -p oriole --bench generate [-- KERNELS] [CONFIG.toml]`;
//! `--disable-phases A,B` leaves phases out, which shows what the others and the checking itself take.
//!
//! What counts is the thread's own processor time, in the fastest of some passes over the kernels, so that a busy
//! machine distorts it little; the median of the passes is beside it. Sizes are those of the
//! kernels before the first phase. The parts come from a run that takes the same steps one by one; the round trip
//! through PTX is no part of a full check, so a check with it is beside the check without.

#[path = "tools/words.rs"]
mod words;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Display;
use std::time::Duration;

#[cfg(not(test))]
use oriole::allocator::Mimalloc;
use oriole_check::input::NamedLaunch;
use oriole_check::judge::Judge;
use oriole_check::kernels::case;
use oriole_check::{CheckOptions, check_module, target_of};
use oriole_generate::{Config, Generated, another_launch};
use oriole_interp::{Executable, RunOptions, RunResult};
use oriole_ir::Module;
use oriole_ir::verify::verify_module;
use oriole_optimizer::pass::Element;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, run_passes, skips};
use oriole_optimizer::ssa;

/// As the command has it.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: Mimalloc = Mimalloc;

/// Kernels, where the command line does not say: enough that sizes even out.
const KERNELS: u64 = 2000;
/// Passes over the kernels.
const PASSES: usize = 5;
/// How many steps are listed by their time.
const STEPS: usize = 24;
/// The seed of the kernels.
const SEED: u64 = 1;

/// Runs the benchmark.
pub fn main() {
    let kernels = words::words(&["2"]).iter().find_map(|word| word.parse().ok()).unwrap_or(KERNELS);
    let config = config();
    sizes(kernels, &config);
    let (mut rates, mut all) = (Vec::new(), Duration::ZERO);
    let mut rate = |name: &str, work: &dyn Fn(Generated)| {
        // The first kernels warm caches and the allocator.
        (0..kernels / 20).for_each(|number| work(case(SEED, number, &config)));
        let pass = || {
            let start = clock();
            (0..kernels).for_each(|number| work(case(SEED, number, &config)));
            clock() - start
        };
        let mut times = [(); PASSES].map(|()| pass());
        times.sort_unstable();
        let (fastest, median) = (times[0], times[PASSES / 2]);
        let (best, usual) = (per_second(kernels, fastest), per_second(kernels, median));
        let each = micros(fastest, kernels);
        rates.push(format!("{name:<28}{best:>9.0} / CPU-second{each:>9.1} us each (median pass {usual:.0})"));
        all = fastest;
    };
    let disabled = disabled();
    let [with_round_trip, without] = [true, false].map(|round_trip| options(round_trip, &config, &disabled));
    rate("generate and check, round trip", &|generated| check(&generated, &with_round_trip));
    rate("generate", &|generated| drop(generated));
    rate("generate and check", &|generated| check(&generated, &without));
    rates.iter().for_each(|line| println!("{line}"));
    parts(kernels, &config, &disabled, all);
}

/// The phases that the command line leaves out.
fn disabled() -> Vec<String> {
    let names = std::env::args().skip_while(|word| word != "--disable-phases").nth(1).unwrap_or_default();
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The configuration of the generator: that of a file on the command line, or the default.
fn config() -> Config {
    let Some(path) = std::env::args().find(|word| word.ends_with(".toml")) else { return Config::default() };
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read `{path}`: {error}"));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// As a campaign checks what it has verified.
fn options(round_trip: bool, config: &Config, disabled: &[String]) -> CheckOptions {
    let (tries, another) = (config.tries, another_launch as fn(&_, _) -> _);
    let mut options =
        CheckOptions { randoms: 0, tries, another, destruction: round_trip, round_trip, ..CheckOptions::default() };
    options.pipeline.trusted = true;
    options.pipeline.disabled = disabled.to_vec();
    options
}

fn check(generated: &Generated, options: &CheckOptions) {
    verify_module(&generated.module).expect("kernels are valid");
    let report = check_module("generated", &generated.module, &generated.launches, options);
    let report = report.expect("kernels run on their launches");
    assert!(report.clean, "{:#?}", report.findings);
}

/// Prints how large the kernels are.
fn sizes(kernels: u64, config: &Config) {
    let (mut instructions, mut blocks, mut threads) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..kernels {
        let generated = case(SEED, number, config);
        let functions = generated.module.functions.values();
        instructions.push(generated.module.inst_count());
        blocks.push(functions.map(|func| func.layout().len()).sum());
        threads.extend(generated.launches.iter().map(|named| named.launch.threads() as usize));
    }
    println!("{kernels} kernels     min   10 %  median   90 %    max");
    for (name, mut sizes) in [("instructions", instructions), ("blocks", blocks), ("threads", threads)] {
        sizes.sort_unstable();
        let at = |percent: usize| sizes[((sizes.len() - 1) * percent + 50) / 100];
        let [min, low, middle, high, max] = [0, 10, 50, 90, 100].map(at);
        println!("{name:<14}{min:>6}{low:>7}{middle:>8}{high:>7}{max:>7}");
    }
}

/// The time of each part of a check.
#[derive(Default)]
struct Parts {
    generate: Duration,
    phases: Duration,
    decode: Duration,
    execute: Duration,
    /// Times that the module was executed.
    runs: u64,
    /// The phases' part by step, with how often a step changed the module.
    steps: HashMap<&'static str, (Duration, u64)>,
}

/// Prints what each part of a check takes, and what is left of `all`.
fn parts(kernels: u64, config: &Config, disabled: &[String], all: Duration) {
    let mut parts = Parts::default();
    let phases = Pipeline::ptxas();
    for number in 0..kernels {
        let generated = timed(&mut parts.generate, || case(SEED, number, config));
        parts.step("verifier of the kernel", || (verify_module(&generated.module), false)).expect("kernels are valid");
        parts.check(generated, &phases, disabled);
    }
    println!("\n{:.2} runs a kernel; parts of generate and check:", parts.runs as f64 / kernels as f64);
    let Parts { generate, phases, decode, execute, .. } = parts;
    let rest = all.saturating_sub(generate + phases + decode + execute);
    let rows = [
        ("generate", generate),
        ("phases and verifier", phases),
        ("decode", decode),
        ("execute and compare", execute),
        ("reports and copies", rest),
    ];
    for (name, time) in rows {
        let share = 100.0 * time.as_secs_f64() / all.as_secs_f64();
        println!("{name:<28}{:>9.1} us{share:>7.1} %", micros(time, kernels));
    }
    println!("\nsteps that take most, verifier included:");
    let mut steps: Vec<_> = parts.steps.into_iter().collect();
    steps.sort_unstable_by_key(|(name, (time, _))| (Reverse(*time), *name));
    for (name, (time, changes)) in steps.into_iter().take(STEPS) {
        let changed = 100.0 * changes as f64 / kernels as f64;
        println!("{name:<28}{:>9.1} us   changes {changed:.0} % of the kernels", micros(time, kernels));
    }
}

impl Parts {
    /// The steps of [`check_module`], one by one.
    fn check(&mut self, generated: Generated, phases: &[Element], disabled: &[String]) {
        let Generated { module, launches, .. } = generated;
        let mut options = Options::new(target_of(&module).expect("the target is known"));
        (options.verify, options.trusted, options.disabled) = (true, true, disabled.to_vec());
        let skips = skips(phases, &options).expect("no phase is named");
        let runs = self.run(&module, &launches).into_iter().zip(&launches);
        let judge = |(run, named): (RunResult, &NamedLaunch)| Judge::new(&module, named.launch.clone(), run);
        let mut judges: Vec<Judge<'_>> = runs.filter_map(|run| judge(run).ok()).collect();
        assert_eq!(judges.len(), launches.len(), "generated kernels finish");
        let mut state = module.clone();
        if ssa::is_virtual(&state) {
            let construct = || {
                ssa::construct_module(&mut state);
                (verify_module(&state), true)
            };
            self.step("SSA construction", construct).expect("SSA construction leaves valid functions");
            self.judge("SSA construction", &state, &mut judges);
        }
        for (entry, _) in phases.iter().zip(skips).filter(|(_, skip)| skip.is_none()) {
            let step = || {
                let report = run_passes(std::slice::from_ref(entry), &mut state, &options, &mut ());
                let report = report.expect("phases leave valid functions");
                let changed = report.passes[0].changed.is_yes();
                (changed, changed)
            };
            if self.step(entry.name, step) {
                self.judge(entry.name, &state, &mut judges);
            }
        }
    }

    /// Takes a step, which says whether it changed the module.
    fn step<T>(&mut self, name: &'static str, work: impl FnOnce() -> (T, bool)) -> T {
        let mut time = Duration::ZERO;
        let (value, changed) = timed(&mut time, work);
        self.phases += time;
        let (all, changes) = self.steps.entry(name).or_default();
        *all += time;
        *changes += u64::from(changed);
        value
    }

    /// Runs a changed module, and compares.
    fn judge(&mut self, step: &str, module: &Module, judges: &mut [Judge<'_>]) {
        self.runs += judges.len() as u64;
        let executable = timed(&mut self.decode, || Executable::new(module)).unwrap_or_else(|error| fail(&error));
        for judge in judges {
            let judged = timed(&mut self.execute, || judge.judge(&executable));
            assert!(judged.verdict.is_good(), "{step}: {}", judged.verdict);
            judge.adopt(judged);
        }
    }

    fn run(&mut self, module: &Module, launches: &[NamedLaunch]) -> Vec<RunResult> {
        self.runs += launches.len() as u64;
        let executable = timed(&mut self.decode, || Executable::new(module)).unwrap_or_else(|error| fail(&error));
        let run = |named: &NamedLaunch| executable.run(&named.launch, &RunOptions::default());
        let all = || launches.iter().map(run).collect::<Result<Vec<_>, _>>();
        timed(&mut self.execute, all).unwrap_or_else(|error| fail(&error))
    }
}

fn fail(error: &dyn Display) -> ! {
    panic!("kernels run on their launches: {error}")
}

fn timed<T>(sum: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = clock();
    let value = work();
    *sum += clock() - start;
    value
}

fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn micros(time: Duration, count: u64) -> f64 {
    time.as_secs_f64() * 1e6 / count as f64
}

/// The processor time of this thread; where the system does not tell it, time by the clock on the wall.
fn clock() -> Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a place for the answer.
        if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } == 0 {
            return Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        }
    }
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}
