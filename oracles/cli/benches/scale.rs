//! Time and memory of the optimizer over the size of a kernel: from PTX text through parser, lowering, SSA construction
//! and the phases at -O3 to the text of the result. `cargo bench -p oriole --bench scale [-- SHAPE...] [SIZE...]`.
//!
//! Each point runs in a process of its own, so that its peak memory is its own. What counts is the processor time of
//! that process (user and system), of the fastest of some runs: a busy machine distorts that little. Under each shape
//! stands the exponent with which time grew between the two largest sizes: 1 is linear. The shapes are those of
//! `generate::shapes`. Modules of many functions go through `nvopt<O3>` in place of the phases; their sizes are
//! functions.
//!
//! Fails where a goal is missed: an exponent of 1.15, 1.5 KB of memory an instruction, 6 s.

#[path = "tools/words.rs"]
mod words;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use oriole::allocator::Mimalloc;
use oriole_check::target_of;
use oriole_generate::shapes::{Calls, Shape};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, run, run_passes};
use oriole_optimizer::ssa;
use oriole_ptx as ptx;

/// As the command has it.
#[global_allocator]
static ALLOCATOR: Mimalloc = Mimalloc;

/// Instructions, where the command line does not say.
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
/// Functions, where the command line does not say: of a component, less.
const FUNCTIONS: [usize; 3] = [100, 1_000, 10_000];
const MEMBERS: [usize; 3] = [10, 100, 1_000];
/// Runs of each point.
const RUNS: usize = 3;
/// The word before a shape and a size by which the parent asks a child for one point.
const POINT: &str = "--point";
/// The steps whose times are shown.
const STEPS: [&str; 5] = ["parse", "lower", "ssa", "phases", "print"];

/// What a point may take.
const MOST_EXPONENT: f64 = 1.15;
const MOST_BYTES: f64 = 1500.0;
const MOST_SECONDS: f64 = 6.0;

/// Runs the benchmark.
pub fn main() -> ExitCode {
    let words = words::words(&["1000"]);
    if let [first, shape, size] = words.as_slice()
        && first == POINT
    {
        measure(shape, size.parse().expect("the parent gives a size"));
        return ExitCode::SUCCESS;
    }
    let mut sizes: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    sizes.sort_unstable();
    let asked = |name: &str| words.iter().any(|word| word == name);
    let names = || Shape::ALL.iter().map(|(_, name)| *name).chain(Calls::ALL.iter().map(|(_, name)| *name));
    let all = !names().any(asked);
    let mut missed = false;
    for name in names().filter(|name| all || asked(name)) {
        let own = match Calls::ALL.iter().find(|(_, calls)| *calls == name) {
            None => SIZES,
            Some((Calls::Circle, _)) => MEMBERS,
            Some(_) => FUNCTIONS,
        };
        missed |= shape(name, if sizes.is_empty() { &own } else { &sizes });
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The text of a shape of a size, and whether it is a module of many functions.
fn source(wanted: &str, size: usize) -> (String, bool) {
    let calls = Calls::ALL.iter().find(|(_, name)| *name == wanted).map(|(calls, _)| (calls.module(size), true));
    let shape = Shape::ALL.iter().find(|(_, name)| *name == wanted).map(|(shape, _)| (shape.kernel(size), false));
    calls.or(shape).expect("the parent names a shape")
}

/// What a child has measured.
struct Point {
    instructions: f64,
    seconds: f64,
    megabytes: f64,
    steps: Vec<f64>,
}

/// Prints the points of a shape; whether one of them misses a goal.
fn shape(name: &str, sizes: &[usize]) -> bool {
    println!("{name:<10}{:>13}{:>9}{:>9}{:>8}   seconds by step", "instructions", "seconds", "MB", "B/inst");
    let mut missed = false;
    let mut points: Vec<Point> = Vec::new();
    for size in sizes {
        let Some(point) = fastest(name, *size) else {
            println!("{:<10}{size:>13}  the process ends without a result", "");
            return true;
        };
        let bytes = point.megabytes * 1e6 / point.instructions;
        // What the process has without a kernel would be most of the memory of a small one.
        missed |= point.seconds > MOST_SECONDS || (bytes > MOST_BYTES && *size >= SIZES[1]);
        print!("{:<10}{:>13}{:>9.3}{:>9.1}{bytes:>8.0}  ", "", point.instructions, point.seconds, point.megabytes);
        STEPS.iter().zip(&point.steps).for_each(|(step, seconds)| print!(" {step} {seconds:.3}"));
        println!();
        points.push(point);
    }
    if let [.., small, large] = points.as_slice() {
        let exponent = (large.seconds / small.seconds).ln() / (large.instructions / small.instructions).ln();
        missed |= exponent > MOST_EXPONENT;
        println!("{:<10}{:>13}{exponent:>9.2}", "", "exponent");
    }
    missed
}

/// One point: that of the fastest of some runs; `None` where one of them ends without a result.
fn fastest(shape: &str, size: usize) -> Option<Point> {
    // A test is no program that could be called for a point.
    if words::is_test() {
        measure(shape, size);
        return None;
    }
    let points: Option<Vec<Point>> = (0..RUNS).map(|_| child(shape, size)).collect();
    points?.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

/// One run, in a process of its own.
fn child(shape: &str, size: usize) -> Option<Point> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    let output = command.args([POINT, shape, &size.to_string(), "--bench"]).output().ok()?;
    let numbers = String::from_utf8(output.stdout).ok()?;
    let numbers: Option<Vec<f64>> = numbers.split_whitespace().map(|word| word.parse().ok()).collect();
    match numbers?.as_slice() {
        [instructions, seconds, megabytes, steps @ ..] if output.status.success() => {
            let (instructions, seconds, megabytes) = (*instructions, *seconds, *megabytes);
            Some(Point { instructions, seconds, megabytes, steps: steps.to_vec() })
        }
        _ => None,
    }
}

/// Goes the whole way once, and prints what that took: instructions, seconds, peak in MB, seconds of each step.
fn measure(shape: &str, size: usize) {
    let (source, has_functions) = source(shape, size);
    let mut times = [clock(); STEPS.len() + 1];
    let tree = ptx::parse(&source).unwrap_or_else(|faults| panic!("{}", faults[0].message));
    times[1] = clock();
    let mut module = ptx::lower(&tree, &source).unwrap_or_else(|faults| panic!("{}", faults[0].message));
    drop(tree);
    let instructions: usize = module.inst_count();
    times[2] = clock();
    module.functions.values_mut().for_each(ssa::construct);
    times[3] = clock();
    let options = Options::new(target_of(&module).expect("the target is known"));
    if has_functions {
        let passes: Pipeline = "nvopt<O3>".parse().expect("the level is known");
        run_passes(&passes, &mut module, &options, &mut ()).expect("the passes run");
    } else {
        run(&mut module, &options, &mut ()).expect("the phases run");
    }
    times[4] = clock();
    let text = module.to_string();
    times[5] = clock();
    assert!(text.len() > size, "nothing much is removed");
    print!("{instructions} {} {}", (times[5] - times[0]).as_secs_f64(), peak_kilobytes() as f64 / 1e3);
    times.windows(2).for_each(|pair| print!(" {}", (pair[1] - pair[0]).as_secs_f64()));
    println!();
}

/// The most memory that the process has had; 0 where the system does not tell it.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The processor time of this process; where the system does not tell it, time by the clock on the wall.
fn clock() -> Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a place for the answer.
        if unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } == 0 {
            return Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        }
    }
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
