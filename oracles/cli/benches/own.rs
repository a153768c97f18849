//! Oriole's own code beside that of the real ptxas at -O3, for `sm_90` or the SM that is named.
//!
//! `cargo bench -p oriole --bench own [-- FOLDER] [sm=120]`, over every `.ptx` of the folder that has launches beside
//! it (the corpus by default), on the first launch: the instructions that warps execute, the cycles in which they issue
//! them (each warp as if it were alone, [`oriole_interp::RunResult::cycles`]), general registers, registers kept in
//! memory, and how long a compilation takes. Ratios below 1 are gains; means are geometric. Without ptxas the cubins of
//! `corpus/cubins` are compared, and no times.
//!
//! The time is that of the processor, which a busy machine distorts little, of the fastest of some runs, one after the
//! other: from the text to the cubin in this process, and of a process of ptxas less one of it on a kernel that does
//! nothing, which is its start. `faster` is how many times as long ptxas takes.

mod tools;

use std::path::Path;
use std::process::Command;

use oriole_check::input::{launches_for, read_kernel};
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_ir::Module;
use oriole_ir::sm::Target;
use oriole_launch::Launch;
use oriole_machine::Image;
use oriole_optimizer::codegen::compile::{Options, compile};
use oriole_optimizer::pipeline::nvopt::{Level, Nvopt};
use oriole_optimizer::pipeline::runner::{self, run_passes};
use oriole_optimizer::ssa;
use oriole_sass::cubin::Cubin;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

/// Runs of a compilation, of which the fastest counts.
const RUNS: usize = 5;
/// The least time of ptxas without its start that is told from the differences of its starts, in seconds.
const LEAST: f64 = 2e-4;

/// Code of a kernel on a launch.
#[derive(Clone, Copy)]
struct Code {
    executed: u64,
    cycles: u64,
    registers: u64,
}

/// A kernel's own code, and that of ptxas.
struct Row<'p> {
    path: &'p Path,
    name: String,
    spilled: usize,
    own: Code,
    other: Code,
}

/// Runs the benchmark.
pub fn main() {
    let sm = std::env::args().find_map(|arg| arg.strip_prefix("sm=")?.parse().ok()).unwrap_or(90);
    let ptxas = tools::find("ptxas");
    let start = ptxas.as_deref().and_then(|ptxas| start_of(ptxas, sm));
    println!(
        "{:<24}{:>12}{:>10}{:>12}{:>8}{:>8}{:>8}{:>10}{:>10}{:>8}",
        "", "executed", "ratio", "cycles", "ratio", "regs", "ratio", "ms", "ptxas", "faster"
    );
    let paths = tools::kernels();
    let rows: Vec<Row<'_>> = paths.par_iter().filter_map(|path| row(path, sm, ptxas.as_deref())).collect();
    let (mut means, mut most) = ([0.0; 3], [0.0f64; 3]);
    let (mut faster, mut slowest, mut timed) = (0.0, f64::INFINITY, 0usize);
    for Row { path, name, spilled, own, other } in &rows {
        let numbers = |code: &Code| [code.executed as f64, code.cycles as f64, code.registers as f64];
        let (ours, theirs) = (numbers(own), numbers(other));
        let ratios: [f64; 3] = std::array::from_fn(|at| ours[at] / theirs[at]);
        ratios.iter().zip(&mut means).for_each(|(ratio, sum)| *sum += ratio.ln());
        ratios.iter().zip(&mut most).for_each(|(ratio, most)| *most = ratio.max(*most));
        let times = ptxas.as_deref().zip(start).and_then(|(ptxas, start)| times(ptxas, path, sm, start));
        let times = times.map_or_else(String::new, |[own, other]| {
            let ratio = other / own;
            (faster, slowest, timed) = (faster + ratio.ln(), ratio.min(slowest), timed + 1);
            format!("{:>10.2}{:>10.2}{ratio:>8.2}", own * 1e3, other * 1e3)
        });
        let kept = if *spilled > 0 { format!("  {spilled} in memory") } else { String::new() };
        println!(
            "{name:<24}{:>12}{:>10.3}{:>12}{:>8.3}{:>8}{:>8.3}{times}{kept}",
            own.executed, ratios[0], own.cycles, ratios[1], own.registers, ratios[2]
        );
    }
    let mean = means.map(|sum| (sum / rows.len().max(1) as f64).exp());
    let title = format!("{} kernels, mean", rows.len());
    print!("{title:<24}{:>22.3}{:>20.3}{:>16.3}", mean[0], mean[1], mean[2]);
    let of_times = |ratio: f64| if timed > 0 { format!("{ratio:>28.2}") } else { String::new() };
    println!("{}", of_times((faster / timed.max(1) as f64).exp()));
    print!("{:<24}{:>22.3}{:>20.3}{:>16.3}", "worst", most[0], most[1], most[2]);
    println!("{}", of_times(slowest));
}

/// A kernel's own code and that of ptxas; `None` where one of them does not exist or does not finish.
fn row<'p>(path: &'p Path, sm: u16, ptxas: Option<&Path>) -> Option<Row<'p>> {
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let launch = launches_for(path, &[]).ok()?.into_iter().next()?.launch;
    let module = read_kernel(path).ok()?;
    let (cubin, spilled) = made(module.clone(), sm)?;
    let own = executed(&cubin, &module, &launch)?;
    let cubin = match ptxas {
        Some(ptxas) => with_ptxas(ptxas, path, sm)?,
        None => std::fs::read(tools::root().join(format!("corpus/cubins/{name}.sm_{sm}.O3.cubin"))).ok()?,
    };
    let other = executed(&cubin, &module, &launch)?;
    Some(Row { path, name, spilled, own, other })
}

/// Compiles a module at -O3; what is kept in memory.
fn made(mut module: Module, sm: u16) -> Option<(Vec<u8>, usize)> {
    let of_file: Target = module.target.parse().ok()?;
    let target = if of_file.number() == sm { of_file } else { format!("sm_{sm}").parse().ok()? };
    module.target = target.to_string();
    ssa::construct_module(&mut module);
    let pipeline = Nvopt::new(Level::O3).before_phases(Level::O3.of_phases());
    run_passes(&pipeline, &mut module, &runner::Options::new(target), &mut ()).ok()?;
    let output = compile(&module, target, Options::default()).ok()?;
    Some((output.cubin, output.kernels.iter().map(|kernel| kernel.spilled).sum()))
}

/// The call of ptxas for a file.
fn ptxas_call(ptxas: &Path, path: &Path, sm: u16, out: &Path) -> Command {
    let mut call = Command::new(ptxas);
    call.arg(format!("-arch=sm_{sm}")).args(["-O3", "-o"]).arg(out).arg(path);
    call
}

/// What ptxas makes of a file.
fn with_ptxas(ptxas: &Path, path: &Path, sm: u16) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().ok()?;
    let out = folder.path().join("k.cubin");
    let done = ptxas_call(ptxas, path, sm, &out).output().ok()?;
    done.status.success().then(|| std::fs::read(&out).ok()).flatten()
}

/// The fewest processor seconds that ptxas takes for a file.
fn seconds_of(ptxas: &Path, path: &Path, sm: u16) -> Option<f64> {
    let folder = tempfile::tempdir().ok()?;
    let out = folder.path().join("k.cubin");
    let runs = (0..RUNS).map(|_| tools::processor_seconds(&mut ptxas_call(ptxas, path, sm, &out)));
    runs.min_by(|a, b| a.unwrap_or(f64::MAX).total_cmp(&b.unwrap_or(f64::MAX)))?
}

/// The processor seconds of the start of ptxas: for a kernel that does nothing.
fn start_of(ptxas: &Path, sm: u16) -> Option<f64> {
    let folder = tempfile::tempdir().ok()?;
    let path = folder.path().join("empty.ptx");
    let text = format!(".version 8.7\n.target sm_{sm}\n.address_size 64\n.visible .entry k()\n{{\n\tret;\n}}\n");
    std::fs::write(&path, text).ok()?;
    seconds_of(ptxas, &path, sm)
}

/// The processor seconds that a file takes, here and with ptxas without its start.
fn times(ptxas: &Path, path: &Path, sm: u16, start: f64) -> Option<[f64; 2]> {
    let mut own = f64::INFINITY;
    for _ in 0..RUNS {
        let before = tools::clock();
        made(read_kernel(path).ok()?, sm)?;
        own = own.min((tools::clock() - before).as_secs_f64());
    }
    Some([own, (seconds_of(ptxas, path, sm)? - start).max(LEAST)])
}

/// Executes code on a launch.
fn executed(cubin: &[u8], module: &Module, launch: &Launch) -> Option<Code> {
    let cubin = Cubin::read(cubin).ok()?;
    let bound = Executable::new(module).ok()?.bound(launch).ok()?;
    let registers = u64::from(cubin.function(&bound.entry)?.info.registers?);
    let image = Image::load(&cubin, &bound).ok()?;
    let result = image.run(launch, &bound, &RunOptions { counts: true, ..RunOptions::default() }).ok()?;
    let finished = result.outcome == Outcome::Finished;
    finished.then_some(Code { executed: result.executed, cycles: result.cycles, registers })
}
