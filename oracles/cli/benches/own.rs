//! Oriole's own code beside that of the real ptxas at -O3, for `sm_90` or the SM that is named.
//!
//! `cargo bench -p oriole --bench own [-- FOLDER] [sm=120]`, over every `.ptx` of the folder that has launches beside
//! it (the corpus by default), on the first launch: the instructions that warps execute, the cycles in which they issue
//! them (each warp as if it were alone, [`oriole_interp::RunResult::cycles`]), general registers, registers kept in
//! memory, and the time of a compilation: in this process, optimization included, and as a process of ptxas. Ratios
//! below 1 are gains; means are geometric. Without ptxas the cubins of `corpus/cubins` are compared, and no times.

mod tools;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

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
const RUNS: usize = 3;

/// Code of a kernel on a launch.
#[derive(Clone, Copy)]
struct Code {
    executed: u64,
    cycles: u64,
    registers: u64,
    seconds: f64,
}

/// Runs the benchmark.
pub fn main() {
    let sm = std::env::args().find_map(|arg| arg.strip_prefix("sm=")?.parse().ok()).unwrap_or(90);
    let ptxas = tools::find("ptxas");
    println!(
        "{:<24}{:>12}{:>10}{:>12}{:>8}{:>8}{:>8}{:>10}",
        "", "executed", "ratio", "cycles", "ratio", "regs", "ratio", "time"
    );
    let rows: Vec<_> = tools::kernels().par_iter().filter_map(|path| row(path, sm, ptxas.as_deref())).collect();
    let mut means = [[0.0; 4]; 2];
    for (name, spilled, [own, other]) in &rows {
        let numbers = |code: &Code| [code.executed as f64, code.cycles as f64, code.registers as f64, code.seconds];
        let (ours, theirs) = (numbers(own), numbers(other));
        let ratios: [f64; 4] = std::array::from_fn(|at| ours[at] / theirs[at]);
        ratios.iter().zip(&mut means[0]).for_each(|(ratio, sum)| *sum += ratio.ln());
        ratios.iter().zip(&mut means[1]).for_each(|(ratio, most)| *most = ratio.max(*most));
        let kept = if *spilled > 0 { format!("  {spilled} in memory") } else { String::new() };
        println!(
            "{name:<24}{:>12}{:>10.3}{:>12}{:>8.3}{:>8}{:>8.3}{:>10.3}{kept}",
            own.executed, ratios[0], own.cycles, ratios[1], own.registers, ratios[2], ratios[3]
        );
    }
    let mean = means[0].map(|sum| (sum / rows.len().max(1) as f64).exp());
    let most = means[1];
    println!(
        "{:<24}{:>22.3}{:>20.3}{:>16.3}{:>10.3}",
        format!("{} kernels, mean", rows.len()),
        mean[0],
        mean[1],
        mean[2],
        mean[3]
    );
    println!("{:<24}{:>22.3}{:>20.3}{:>16.3}{:>10.3}", "most", most[0], most[1], most[2], most[3]);
}

/// A kernel's own code and that of ptxas; `None` where one of them does not exist or does not finish.
fn row(path: &Path, sm: u16, ptxas: Option<&Path>) -> Option<(String, usize, [Code; 2])> {
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let launch = launches_for(path, &[]).ok()?.into_iter().next()?.launch;
    let module = read_kernel(path).ok()?;
    let mut own = None;
    let mut seconds = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        own = made(module.clone(), sm);
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    let (cubin, spilled) = own?;
    let own = executed(&cubin, &module, &launch, seconds)?;
    let (cubin, seconds) = match ptxas {
        Some(ptxas) => with_ptxas(ptxas, path, sm)?,
        None => (std::fs::read(tools::root().join(format!("corpus/cubins/{name}.sm_{sm}.O3.cubin"))).ok()?, f64::NAN),
    };
    let other = executed(&cubin, &module, &launch, seconds)?;
    Some((name, spilled, [own, other]))
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

/// What ptxas makes of a file, and the seconds that the fastest run took.
fn with_ptxas(ptxas: &Path, path: &Path, sm: u16) -> Option<(Vec<u8>, f64)> {
    let folder = tempfile::tempdir().ok()?;
    let out = folder.path().join("k.cubin");
    let mut fastest = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        let arch = format!("-arch=sm_{sm}");
        let done = Command::new(ptxas).args([arch.as_str(), "-O3", "-o"]).arg(&out).arg(path).output().ok()?;
        fastest = fastest.min(start.elapsed());
        if !done.status.success() {
            return None;
        }
    }
    Some((std::fs::read(&out).ok()?, fastest.as_secs_f64()))
}

/// Executes code on a launch.
fn executed(cubin: &[u8], module: &Module, launch: &Launch, seconds: f64) -> Option<Code> {
    let cubin = Cubin::read(cubin).ok()?;
    let bound = Executable::new(module).ok()?.bound(launch).ok()?;
    let registers = u64::from(cubin.function(&bound.entry)?.info.registers?);
    let image = Image::load(&cubin, &bound).ok()?;
    let result = image.run(launch, &bound, &RunOptions { counts: true, ..RunOptions::default() }).ok()?;
    let finished = result.outcome == Outcome::Finished;
    finished.then_some(Code { executed: result.executed, cycles: result.cycles, registers, seconds })
}
