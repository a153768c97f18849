//! Generated kernels that the real ptxas is judged by, a second of processor time, its own time included: made,
//! printed, run, compiled at two levels, their code run and compared.
//! `cargo bench -p oriole --bench compiled [-- KERNELS]`.
//!
//! What counts is the processor time of this process and of its children, so that a busy machine distorts it little.
//! Without ptxas there is nothing to measure.

#[path = "tools/words.rs"]
mod words;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

#[cfg(not(test))]
use oriole::allocator::Mimalloc;
use oriole_campaign::target::{Cases, Target};
use oriole_check::CheckOptions;
use oriole_check::compiled::answer::Answer;
use oriole_check::compiled::{Checked, Compiler, Kernel};
use oriole_check::compiler::{Axis, Ptxas};
use oriole_generate::insts::Family;
use oriole_generate::{Config, Generated};

/// As the command has it.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: Mimalloc = Mimalloc;

/// Kernels, where the command line does not say.
const KERNELS: u64 = 2048;
/// Kernels in one process of the compiler, as in a campaign.
const BATCH: usize = 64;

/// Runs the benchmark.
pub fn main() {
    let kernels = words::words(&["2"]).iter().find_map(|word| word.parse().ok()).unwrap_or(KERNELS);
    let Some(ptxas) = Ptxas::find(Path::new(env!("CARGO_MANIFEST_DIR"))) else {
        return println!("there is no ptxas to measure (ci/cuda-tools installs it)");
    };
    let axis = |level| Axis::new("sm_90", level);
    let compiler = Compiler {
        tool: ptxas.into(),
        axes: vec![axis(0), axis(3)],
        version: String::new(),
        gpu: None,
        phases: None,
        witness: None,
    };
    let mut config = Config::for_compilers();
    config.leave_out(&Family::not_compiled(compiler.axes.iter().map(|axis| axis.arch.as_str())));
    for (name, targets) in
        [("instructions", &[Target::Instructions][..]), ("kernels", &[Target::Kernels]), ("both", &Target::ALL[..2])]
    {
        let cases = Cases::new(1, config.clone(), targets, Arc::default());
        measure(name, &compiler, &cases, kernels);
    }
}

/// Judges some cases and prints how fast that was.
fn measure(name: &str, compiler: &Compiler, cases: &Cases, kernels: u64) {
    let options = CheckOptions { randoms: 0, ..CheckOptions::default() };
    let (start, before) = (Instant::now(), processor_seconds());
    let (mut judged, mut instructions) = (0u64, 0usize);
    for first in (0..kernels).step_by(BATCH) {
        let made = (first..kernels.min(first + BATCH as u64)).filter_map(|number| {
            let Generated { module, launches, .. } = cases.sound(number).ok()?.generated;
            Some(Kernel { name: number.to_string(), module, launches })
        });
        let batch: Vec<Kernel> = made.collect();
        let checked = compiler.check_all(&batch, &options).expect("the compiler can be used");
        for Checked { report, axes, .. } in checked.into_iter().flatten() {
            instructions += report.instructions_before;
            judged += u64::from(axes.iter().any(|axis| matches!(axis.answer, Answer::Equal | Answer::Different)));
        }
    }
    let [own, children] = std::array::from_fn(|at| processor_seconds()[at] - before[at]);
    let rate = |seconds: f64| kernels as f64 / seconds.max(0.01);
    println!(
        "{name:<14}{:>7.0} kernels / CPU-second ({own:.1} s here, {children:.1} s in ptxas), {:.0} a second of {:.1} s, \
         {} instructions each, {judged} of {kernels} judged",
        rate(own + children),
        rate(start.elapsed().as_secs_f64()),
        start.elapsed().as_secs_f64(),
        instructions as u64 / kernels.max(1),
    );
}

/// The processor time of this process, and of the children that have ended, in seconds (proc(5), `/proc/self/stat`).
fn processor_seconds() -> [f64; 2] {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold spaces. Behind it: state and ten numbers, then four times in ticks of 10 ms.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: Vec<f64> = rest.split_whitespace().skip(11).take(4).filter_map(|word| word.parse().ok()).collect();
    let pair = |at: usize| ticks.get(at..at + 2).map_or(0.0, |pair| pair.iter().sum::<f64>() / 100.0);
    [pair(0), pair(2)]
}
