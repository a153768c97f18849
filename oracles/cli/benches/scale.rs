//! Time and memory of the optimizer and of the compiler over the size of a kernel.
//! `cargo bench -p oriole --bench scale [-- PART...] [SHAPE...] [SIZE...]`, where the parts are
//!
//! - `phases`: from PTX text through parser, lowering, SSA construction and the phases at -O3 to the text of the
//!   result. Modules of many functions go through `nvopt<O3>` in place of the phases.
//! - `compile`: from PTX text to a cubin at -O3, as `oriole compile` has it, and ptxas -O3 beside it.
//!
//! Each point runs in a process of its own, so that its peak memory is its own. What counts is the processor time of
//! that process (user and system), of the fastest of some runs: a busy machine distorts that little. Under each shape
//! stands the exponent with which time grew between the two largest sizes: 1 is linear. The shapes are those of
//! `generate::shapes`; sizes of modules of many functions are functions.
//!
//! Fails where a goal is missed. Of the phases: an exponent of 1.15, 1.5 KB of memory an instruction, 6 s. Of
//! compilation: an exponent of 1.2, and 5 s.
//!
//! `--text SHAPE SIZE` prints the text of a shape.

mod tools;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use oriole::allocator::Mimalloc;
use oriole_check::target_of;
use oriole_generate::shapes::{Calls, Shape};
use oriole_ir::{FuncId, Module};
use oriole_optimizer::codegen::compile::{self, Made, Stage, Watch};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::nvopt::{Level, Nvopt};
use oriole_optimizer::pipeline::runner::{Options, run, run_passes};
use oriole_optimizer::ssa;
use oriole_ptx as ptx;
use tools::{clock, words};

/// As the command has it.
#[global_allocator]
static ALLOCATOR: Mimalloc = Mimalloc;

/// A part of the benchmark.
struct Part {
    name: &'static str,
    /// Instructions, where the command line does not say.
    sizes: &'static [usize],
    /// Functions, where the command line does not say; and of one component.
    functions: &'static [usize],
    members: &'static [usize],
    /// The steps whose times are shown.
    steps: &'static [&'static str],
    /// What a point may take.
    most_exponent: f64,
    most_seconds: f64,
    /// Bytes an instruction.
    most_bytes: f64,
    /// Goes the whole way once, and gives the instructions and the time behind each step.
    measure: fn(&str, bool) -> (usize, Vec<Duration>),
    /// Whether ptxas compiles the same.
    has_ptxas: bool,
    /// Shapes that are measured once more with branches in which the lanes of a warp part.
    divergent: &'static [&'static str],
}

/// The prefix of the name of a shape in whose branches lanes part.
const DIVERGENT: &str = "divergent-";
/// Seconds up to which ptxas is waited for; where a size takes a tenth of it, no larger one is tried.
const PATIENCE: f64 = 60.0;

const PARTS: [Part; 2] = [
    Part {
        name: "phases",
        sizes: &[10_000, 100_000, 1_000_000],
        functions: &[100, 1_000, 10_000],
        members: &[10, 100, 1_000],
        steps: &["parse", "lower", "ssa", "phases", "print"],
        most_exponent: 1.15,
        most_seconds: 6.0,
        most_bytes: 1500.0,
        measure: phases,
        has_ptxas: false,
        divergent: &[],
    },
    Part {
        name: "compile",
        sizes: &[10_000, 100_000],
        functions: &[1_000, 10_000],
        members: &[10, 100],
        steps: &[
            "parse", "passes", "expand", "select", "layout", "macros", "order", "allocate", "reorder", "schedule",
            "encode",
        ],
        most_exponent: 1.2,
        most_seconds: 5.0,
        most_bytes: f64::INFINITY,
        measure: compilation,
        has_ptxas: true,
        divergent: &["divergent-nested", "divergent-diamonds", "divergent-loops", "divergent-nests"],
    },
];

/// From how many instructions on the goal of memory counts: a process without a kernel has some too.
const LARGE: usize = 100_000;
/// Runs of each point.
const RUNS: usize = 3;
/// The word before a part, a shape and a size by which the parent asks a child for one point.
const POINT: &str = "--point";
/// The word before a shape and a size by which its text is printed.
const TEXT: &str = "--text";

/// Runs the benchmark.
pub fn main() -> ExitCode {
    let words = words::words(&["1000"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [POINT, part, shape, size] => {
            let part = PARTS.iter().find(|known| known.name == part).expect("the parent names a part");
            point(part, shape, size.parse().expect("the parent gives a size"));
            return ExitCode::SUCCESS;
        }
        [TEXT, shape, size] => {
            print!("{}", source(shape, size.parse().expect("a size is a number")).0);
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let mut sizes: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    sizes.sort_unstable();
    let asked = |name: &str| words.contains(&name);
    let shapes = || Shape::ALL.iter().map(|(_, name)| *name).chain(Calls::ALL.iter().map(|(_, name)| *name));
    let names = |part: &Part| shapes().chain(part.divergent.iter().copied());
    let (all_parts, all) = (!PARTS.iter().any(|part| asked(part.name)), !PARTS.iter().flat_map(names).any(asked));
    let ptxas = tools::find("ptxas");
    let mut missed = false;
    for part in PARTS.iter().filter(|part| all_parts || asked(part.name)) {
        for name in names(part).filter(|name| all || asked(name)) {
            let own = match Calls::ALL.iter().find(|(_, calls)| *calls == name) {
                None => part.sizes,
                Some((Calls::Circle, _)) => part.members,
                Some(_) => part.functions,
            };
            let ptxas = ptxas.as_deref().filter(|_| part.has_ptxas);
            missed |= shape(part, name, if sizes.is_empty() { own } else { &sizes }, ptxas);
        }
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The text of a shape of a size, and whether it is a module of many functions.
fn source(wanted: &str, size: usize) -> (String, bool) {
    if let Some(shape) = wanted.strip_prefix(DIVERGENT) {
        let (uniform, has_functions) = source(shape, size);
        let divergent = uniform.replacen("ld.param.u32 %a, [a];", "mov.u32 %a, %tid.x;", 1);
        assert_ne!(uniform, divergent, "the input is read once");
        return (divergent, has_functions);
    }
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
fn shape(part: &Part, name: &str, sizes: &[usize], ptxas: Option<&Path>) -> bool {
    let title = format!("{} {name}", part.name);
    print!("{title:<18}{:>13}{:>9}{:>9}{:>8}", "instructions", "seconds", "MB", "B/inst");
    println!("{}   seconds by step", if ptxas.is_some() { format!("{:>9}", "ptxas") } else { String::new() });
    let mut missed = false;
    let mut points: Vec<(Point, Option<f64>)> = Vec::new();
    for size in sizes {
        let Some(point) = fastest(part, name, *size) else {
            println!("{:<18}{size:>13}  the process ends without a result", "");
            return true;
        };
        let bytes = point.megabytes * 1e6 / point.instructions;
        missed |= point.seconds > part.most_seconds || (bytes > part.most_bytes && *size >= LARGE);
        print!("{:<18}{:>13}{:>9.3}{:>9.1}{bytes:>8.0}", "", point.instructions, point.seconds, point.megabytes);
        let is_quick = points.last().is_none_or(|(_, last)| last.is_some_and(|last| last < PATIENCE / 10.0));
        let other = ptxas.filter(|_| is_quick).and_then(|ptxas| of_ptxas(ptxas, name, *size));
        if ptxas.is_some() {
            print!("{:>9}", other.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.3}")));
        }
        print!("  ");
        part.steps.iter().zip(&point.steps).for_each(|(step, seconds)| print!(" {step} {seconds:.3}"));
        println!();
        points.push((point, other));
    }
    if let [.., (small, theirs_small), (large, theirs)] = points.as_slice() {
        let growth = |ratio: f64| ratio.ln() / (large.instructions / small.instructions).ln();
        let exponent = growth(large.seconds / small.seconds);
        missed |= exponent > part.most_exponent;
        print!("{:<18}{:>13}{exponent:>9.2}", "", "exponent");
        let theirs = theirs.zip(*theirs_small).map(|(large, small)| growth(large / small));
        println!("{}", theirs.map_or_else(String::new, |exponent| format!("{exponent:>26.2}")));
    }
    missed
}

/// One point: that of the fastest of some runs; `None` where one of them ends without a result.
fn fastest(part: &Part, shape: &str, size: usize) -> Option<Point> {
    // A test is no program that could be called for a point.
    if words::is_test() {
        point(part, shape, size);
        return None;
    }
    let points: Option<Vec<Point>> = (0..RUNS).map(|_| child(part, shape, size)).collect();
    points?.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds))
}

/// One run, in a process of its own.
fn child(part: &Part, shape: &str, size: usize) -> Option<Point> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    let output = command.args([POINT, part.name, shape, &size.to_string(), "--bench"]).output().ok()?;
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
fn point(part: &Part, shape: &str, size: usize) {
    let (source, has_functions) = source(shape, size);
    let start = clock();
    let (instructions, steps) = (part.measure)(&source, has_functions);
    let seconds = (clock() - start).as_secs_f64();
    print!("{instructions} {seconds} {}", peak_kilobytes() as f64 / 1e3);
    steps.iter().for_each(|step| print!(" {}", step.as_secs_f64()));
    println!();
}

fn lowered(source: &str) -> Module {
    let tree = ptx::parse(source).unwrap_or_else(|faults| panic!("{}", faults[0].message));
    ptx::lower(&tree, source).unwrap_or_else(|faults| panic!("{}", faults[0].message))
}

/// From text to text through the phases, or through the passes where there are many functions.
fn phases(source: &str, has_functions: bool) -> (usize, Vec<Duration>) {
    let mut times = vec![clock()];
    let tree = ptx::parse(source).unwrap_or_else(|faults| panic!("{}", faults[0].message));
    times.push(clock());
    let mut module = ptx::lower(&tree, source).unwrap_or_else(|faults| panic!("{}", faults[0].message));
    drop(tree);
    let instructions: usize = module.inst_count();
    times.push(clock());
    module.functions.values_mut().for_each(ssa::construct);
    times.push(clock());
    let options = Options::new(target_of(&module).expect("the target is known"));
    if has_functions {
        let passes: Pipeline = "nvopt<O3>".parse().expect("the level is known");
        run_passes(&passes, &mut module, &options, &mut ()).expect("the passes run");
    } else {
        run(&mut module, &options, &mut ()).expect("the phases run");
    }
    times.push(clock());
    let text = module.to_string();
    times.push(clock());
    assert!(text.len() > instructions, "nothing much is removed");
    (instructions, times.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

/// From text to a cubin, as `oriole compile` has it.
fn compilation(source: &str, _: bool) -> (usize, Vec<Duration>) {
    let start = clock();
    let mut module = lowered(source);
    let instructions = module.inst_count();
    let parsed = clock();
    let target = target_of(&module).expect("the target is known");
    ssa::construct_module(&mut module);
    let pipeline = Nvopt::new(Level::O3).before_phases(Level::O3.of_phases());
    run_passes(&pipeline, &mut module, &Options::new(target), &mut ()).expect("the passes run");
    let passed = clock();
    let mut stages = Stages { last: passed, times: [Duration::ZERO; Stage::ALL.len()] };
    let output = compile::compile_with(&module, target, compile::Options::default(), &mut stages);
    let output = output.unwrap_or_else(|error| panic!("{error}"));
    assert!(!output.cubin.is_empty(), "there is a file");
    // The rest is the making of the file.
    *stages.times.last_mut().expect("there are stages") += clock() - stages.last;
    let steps = [parsed - start, passed - parsed].into_iter().chain(stages.times);
    (instructions, steps.collect())
}

/// The time that each stage of code generation took, over all functions.
struct Stages {
    last: Duration,
    times: [Duration; Stage::ALL.len()],
}

impl Watch for Stages {
    fn made(&mut self, _: FuncId, _: FuncId, made: Made<'_>) {
        let now = clock();
        self.times[made.stage() as usize] += now - self.last;
        self.last = now;
    }
}

/// The processor time of `ptxas -O3` on a shape; `None` where it fails, or takes too long.
fn of_ptxas(ptxas: &Path, shape: &str, size: usize) -> Option<f64> {
    let folder = tempfile::tempdir().ok()?;
    let text = folder.path().join("shape.ptx");
    std::fs::write(&text, source(shape, size).0).ok()?;
    tools::processor_seconds(
        Command::new("timeout")
            .arg(PATIENCE.to_string())
            .arg(ptxas)
            .args(["-arch=sm_90", "-O3", "-o"])
            .args([&folder.path().join("shape.cubin"), &text]),
    )
}

/// The most memory that the process has had; 0 where the system does not tell it.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
