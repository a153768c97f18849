//! Speed of the machine-level interpreter beside that of the interpreter of PTX, on kernels of the corpus.
//!
//! `cargo bench -p oriole --bench machine [-- KERNEL]`: code that ptxas made for `sm_90` at -O3 (`corpus/cubins`) and
//! the PTX that it was made of, on the first launch of each kernel, on one core. The goal is that code executes no less
//! than 60 % of the operations of warps a second that PTX does. The column behind compares the runs themselves: code
//! has more operations than PTX for the same work, or fewer. The last one says how long it takes to judge code in
//! several orders of lanes, where these may matter, for the time of one.

#[path = "tools/words.rs"]
mod words;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use oriole_check::input::{launches_for, read_kernel};
use oriole_interp::{Executable, LaneOrder, Outcome, RunOptions, RunResult};
use oriole_launch::Launch;
use oriole_machine::Image;
use oriole_sass::cubin::Cubin;

const KERNELS: &[&str] = &["edit_distance", "mandelbrot", "matmul_tiled", "n_body", "sha256", "tensor_matmul"];
/// How long runs are repeated.
const AT_LEAST: Duration = Duration::from_millis(600);

/// Operations of warps in a run, and the seconds that the fastest run took.
struct Speed {
    operations: u64,
    seconds: f64,
}

impl Speed {
    fn of(run: impl Fn() -> RunResult) -> Speed {
        let (begin, mut seconds, mut operations) = (Instant::now(), f64::INFINITY, 0);
        while begin.elapsed() < AT_LEAST {
            let start = Instant::now();
            let result = run();
            seconds = seconds.min(start.elapsed().as_secs_f64());
            assert_eq!(result.outcome, Outcome::Finished, "the kernel finishes");
            operations = result.executed;
        }
        Speed { operations, seconds }
    }

    fn rate(&self) -> f64 {
        self.operations as f64 / self.seconds
    }
}

/// Runs the benchmark.
pub fn main() {
    println!("{:<16}{:>24}{:>24}{:>10}{:>8}{:>8}", "", "PTX, operations", "code, operations", "rate", "time", "orders");
    let title = ["millions", "M/s", "millions", "M/s"].map(|title| format!("{title:>12}")).concat();
    println!("{:<16}{title}{:>10}{:>8}{:>8}", "kernel", "ratio", "ratio", "ratio");
    let wanted = words::words(&[KERNELS[0]]).into_iter().find(|word| !word.starts_with('-'));
    let kernels: Vec<&str> = match &wanted {
        Some(name) => vec![name],
        None => KERNELS.to_vec(),
    };
    let (mut product, mut product_of_orders) = (1.0, 1.0);
    for name in &kernels {
        let (ptx, code, ordered) = measure(name);
        let columns = [&ptx, &code].map(|speed| {
            let million = |value: f64| value / 1e6;
            format!("{:>12.2}{:>12.1}", million(speed.operations as f64), million(speed.rate()))
        });
        let (rate, time, orders) =
            (code.rate() / ptx.rate(), code.seconds / ptx.seconds, ordered.seconds / code.seconds);
        println!("{name:<16}{}{rate:>10.2}{time:>8.2}{orders:>8.2}", columns.concat());
        product *= rate;
        product_of_orders *= orders;
    }
    let mean = |product: f64| f64::powf(product, 1.0 / kernels.len() as f64);
    println!("{:<16}{:>58.2}{:>16.2}", "geometric mean", mean(product), mean(product_of_orders));
}

/// The speed of PTX, of code, and of code in all orders of lanes that may matter.
fn measure(name: &str) -> (Speed, Speed, Speed) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let path: PathBuf = corpus.join("kernels").join(name).with_extension("ptx");
    let module = read_kernel(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let launch: Launch = launches_for(&path, &[]).expect("it has launches").swap_remove(0).launch;
    let executable = Executable::new(&module).expect("the kernel is valid");
    let cubin = corpus.join("cubins").join(format!("{name}.sm_90.O3.cubin"));
    let bytes = std::fs::read(&cubin).unwrap_or_else(|error| panic!("{}: {error}", cubin.display()));
    let cubin = Cubin::read(&bytes).expect("the cubin is valid");
    let bound = executable.bound(&launch).expect("the launch fits");
    let image = Image::load(&cubin, &bound).expect("the kernel is there");
    let options = RunOptions::default();
    let ptx = Speed::of(|| executable.run(&launch, &options).expect("the launch fits"));
    let run = |lanes: LaneOrder| {
        image.run(&launch, &bound, &RunOptions { lanes, ..options.clone() }).expect("the code is executed")
    };
    let code = Speed::of(|| run(LaneOrder::default()));
    let ordered = Speed::of(|| {
        let usual = run(LaneOrder::default());
        // As many as the judge tries of long runs.
        if usual.has_orders {
            run(LaneOrder::SEVERAL[1]);
        }
        usual
    });
    (ptx, code, ordered)
}
