//! What the optimizer's code costs, against the code that it was given.
//!
//! `cargo bench -p oriole --bench code [-- FOLDER] [KNOB=VALUE...]`, over every `.ptx` of the folder that has launches
//! beside it (the corpus by default), at -O3. Two tables by kernel, and two by phase:
//!
//! - instructions that threads execute, counted by the interpreter: the kernel as it was read against the kernel as it
//!   is printed. The table by phase holds what the program would execute if the pipeline ended behind each phase;
//! - in how many kernels a phase changes something when it runs alone on the kernel as it was read, and what it leaves
//!   there of instructions and loads that the first launch executes, and of live registers;
//! - SASS instructions without padding that ptxas makes of the printed PTX against those that it makes of the original,
//!   at its levels 0, 1 and 3. Without ptxas and nvdisasm (PATH, CUDA_HOME, .cuda/venv) this table is left out.
//!
//! Both count alike on any machine. Ratios below 1 are gains; means are geometric.

mod tools;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use oriole_check::cost::Cost;
use oriole_check::input::{NamedLaunch, launches_for, write_ptx};
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_ir::Module;
use oriole_ir::sm::Target;
use oriole_optimizer::pass::{Element, Status};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, SkipReason, run_passes, skips};
use oriole_optimizer::ssa;
use oriole_ptx as ptx;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

/// Levels of ptxas.
const LEVELS: [u8; 3] = [0, 1, 3];
/// A kernel counts as worse where it grows by more than this part and this many instructions.
const WORSE: (f64, u64) = (1.03, 4);

/// One kernel, before and after.
struct Kernel {
    name: String,
    /// Executed by the original, and at the end.
    executed: [u64; 2],
    /// What each phase leaves of the executed instructions, where it changed the kernel.
    phases: Vec<(&'static str, f64)>,
    /// The phases that change the kernel alone, by their places in the pipeline, each with the costs before and after.
    alone: Vec<(usize, Option<[Cost; 2]>)>,
    /// SASS of the original and of what is printed, by level; `None` without tools.
    words: Option<[[u64; 2]; LEVELS.len()]>,
}

/// Runs the benchmark.
pub fn main() {
    let tools = tools::find("ptxas").zip(tools::find("nvdisasm"));
    let measured: Vec<Option<Kernel>> = tools::kernels().par_iter().map(|path| measure(path, tools.as_ref())).collect();
    let kernels: Vec<Kernel> = measured.into_iter().flatten().collect();
    by_kernel(&kernels);
    by_phase(&kernels);
    by_phase_alone(&kernels);
    if tools.is_none() {
        println!("\nskipped: SASS, without ptxas and nvdisasm (ci/cuda-tools installs them)");
    }
}

/// `None` for a kernel without launches.
fn measure(path: &Path, tools: Option<&(PathBuf, PathBuf)>) -> Option<Kernel> {
    let launches = launches_for(path, &[]).ok()?;
    let source = std::fs::read_to_string(path).expect("the kernel is readable");
    let original = ptx::read(&source).unwrap_or_else(|faults| panic!("{}: {}", path.display(), faults[0].message));
    let before = executed(&original, &launches);
    let mut module = original.clone();
    ssa::construct_module(&mut module);
    let mut options = Options::new(module.target.parse::<Target>().expect("the target is known"));
    let settings = std::env::args().skip(1).filter(|arg| arg.contains('='));
    settings.for_each(|setting| options.knobs.set(&setting).unwrap_or_else(|error| panic!("{error}")));
    let phases = Pipeline::ptxas();
    let skips = skips(&phases, &options).expect("no phase is named");
    let alone = alone(&module, &launches[0], &phases, &skips, &options);
    let mut effects = Vec::new();
    let mut last = executed(&ssa::destructed(&module), &launches);
    for (phase, _) in phases.iter().zip(skips).filter(|(_, skip)| skip.is_none()) {
        let report = run_passes(std::slice::from_ref(phase), &mut module, &options, &mut ());
        if report.expect("the phases run").passes[0].changed.is_yes() {
            let now = executed(&ssa::destructed(&module), &launches);
            effects.push((phase.name, now as f64 / last as f64));
            last = now;
        }
    }
    let printed = write_ptx(&module).expect("the result prints");
    // For the same SM as the others, unless the kernel is for another one alone.
    let usual = Target::portable(90).expect("the target is known");
    let target = if usual.accepts_code_for(options.target) { usual } else { options.target };
    let words =
        tools.map(|tools| LEVELS.map(|level| [&source, &printed].map(|text| words(text, level, target, tools))));
    let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
    Some(Kernel { name, executed: [before, last], phases: effects, alone, words })
}

/// The work of each phase that runs, on a module alone.
fn alone(
    module: &Module,
    launch: &NamedLaunch,
    phases: &[Element],
    skips: &[Option<SkipReason>],
    options: &Options,
) -> Vec<(usize, Option<[Cost; 2]>)> {
    let before = Cost::of(module, &launch.launch);
    let of_phase = |place: usize| {
        let mut module = module.clone();
        let report = run_passes(&phases[place..=place], &mut module, options, &mut ()).expect("the phase runs");
        let costs = || Some([before?, Cost::of(&module, &launch.launch)?]);
        report.passes[0].changed.is_yes().then(|| (place, costs()))
    };
    (0..phases.len()).filter(|place| skips[*place].is_none()).filter_map(of_phase).collect()
}

/// Instructions that all threads of all launches execute.
fn executed(module: &Module, launches: &[NamedLaunch]) -> u64 {
    let executable = Executable::new(module).expect("the kernel is valid");
    let observe = RunOptions { stats: true, ..RunOptions::default() };
    let runs = launches.iter().map(|named| executable.run(&named.launch, &observe).expect("the launch fits"));
    // A kernel that traps or is cut off says nothing about its cost, but it does so before and after alike.
    runs.filter(|run| run.outcome == Outcome::Finished).map(|run| run.stats.values().sum::<u64>()).sum::<u64>().max(1)
}

/// SASS instructions, without `NOP`, of PTX text.
fn words(text: &str, level: u8, target: Target, (ptxas, nvdisasm): &(PathBuf, PathBuf)) -> u64 {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let [source, cubin] = ["kernel.ptx", "kernel.cubin"].map(|name| folder.path().join(name));
    std::fs::write(&source, text).expect("there is room for temporary files");
    let options = [format!("-O{level}"), format!("-arch={target}"), "-o".to_owned()];
    let compiled = Command::new(ptxas).args(options).args([&cubin, &source]).output();
    let compiled = compiled.expect("ptxas runs");
    assert!(compiled.status.success(), "ptxas: {}", String::from_utf8_lossy(&compiled.stderr));
    let listing = Command::new(nvdisasm).arg("-c").arg(&cubin).output().expect("nvdisasm runs");
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    listing.lines().filter(|line| is_instruction(line)).count() as u64
}

/// Whether a line of a listing holds an instruction that is no padding.
fn is_instruction(line: &str) -> bool {
    let text = line.trim_start().strip_prefix("/*").and_then(|rest| rest.split_once("*/"));
    text.is_some_and(|(address, rest)| u64::from_str_radix(address, 16).is_ok() && !rest.trim().starts_with("NOP"))
}

fn by_kernel(kernels: &[Kernel]) {
    let pair = |[before, after]: [u64; 2]| format!("{before:>10}{after:>10}{:>7.3}", after as f64 / before as f64);
    let title = LEVELS.map(|level| format!("{:>27}", format!("SASS -O{level}"))).concat();
    println!("{:<28}{:>27}{title}", "kernel", "executed");
    for kernel in kernels {
        let words = kernel.words.into_iter().flatten().map(pair).collect::<String>();
        println!("{:<28}{}{words}", kernel.name, pair(kernel.executed));
    }
    println!("\n{:<28}{:>10}{:>8}", format!("{} kernels", kernels.len()), "mean", "worse");
    summary("executed", kernels.iter().map(|kernel| kernel.executed));
    for (index, level) in LEVELS.iter().enumerate() {
        summary(&format!("SASS -O{level}"), kernels.iter().filter_map(|kernel| Some(kernel.words?[index])));
    }
}

/// A line with the mean of the ratios, and how many kernels are worse.
fn summary(name: &str, pairs: impl Iterator<Item = [u64; 2]>) {
    let pairs: Vec<_> = pairs.collect();
    let (part, count) = WORSE;
    let worse = |[before, after]: &&[u64; 2]| *after as f64 > part * *before as f64 && after - before > count;
    let worse = pairs.iter().filter(worse).count();
    let mean = mean(pairs.iter().map(|[before, after]| *after as f64 / *before as f64), pairs.len());
    println!("{name:<28}{mean:>10.4}{worse:>8}");
}

/// What each phase leaves of the instructions that its input would execute: the mean over all kernels, and the
/// extremes.
fn by_phase(kernels: &[Kernel]) {
    let mut phases: BTreeMap<usize, (&str, Vec<f64>)> = BTreeMap::new();
    for (name, ratio) in kernels.iter().flat_map(|kernel| &kernel.phases) {
        let place = Pipeline::ptxas().iter().position(|phase| phase.name == *name).expect("it is in the pipeline");
        phases.entry(place).or_insert((name, Vec::new())).1.push(*ratio);
    }
    println!("\n{:<28}{:>8}{:>10}{:>8}{:>8}", "phase, executed", "kernels", "mean", "least", "most");
    for (name, ratios) in phases.values() {
        let all = mean(ratios.iter().copied(), kernels.len());
        let [least, most] = [f64::min, f64::max].map(|pick| ratios.iter().copied().fold(1.0, pick));
        println!("{name:<28}{:>8}{all:>10.4}{least:>8.3}{most:>8.3}", ratios.len());
    }
}

/// In how many kernels each phase changes something alone, and what is left there: phases that change nothing are in
/// the table too.
fn by_phase_alone(kernels: &[Kernel]) {
    println!("\n{:<28}{:>8}{:>10}{:>10}{:>10}", "phase alone", "kernels", "executed", "loads", "pressure");
    for (place, phase) in Pipeline::ptxas().iter().enumerate().filter(|(_, phase)| phase.status() == Status::Built) {
        let of = |kernel: &Kernel| kernel.alone.iter().find(|(at, _)| *at == place).map(|(_, costs)| *costs);
        let changed: Vec<Option<[Cost; 2]>> = kernels.iter().filter_map(of).collect();
        let costs: Vec<[Cost; 2]> = changed.iter().flatten().copied().collect();
        let left = |count: fn(Cost) -> u64| {
            let ratios = costs.iter().map(|[before, after]| count(*after).max(1) as f64 / count(*before).max(1) as f64);
            mean(ratios, costs.len().max(1))
        };
        let [executed, loads, pressure] =
            [left(|cost| cost.executed), left(|cost| cost.loads), left(|cost| cost.pressure.into())];
        println!("{:<28}{:>8}{executed:>10.4}{loads:>10.4}{pressure:>10.4}", phase.name, changed.len());
    }
}

/// The geometric mean of ratios over so many kernels; those that are not there are 1.
fn mean(ratios: impl Iterator<Item = f64>, count: usize) -> f64 {
    (ratios.map(f64::ln).sum::<f64>() / count as f64).exp()
}
