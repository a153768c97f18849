//! Speed of the optimizer against the real ptxas, on the same PTX, in one run.
//!
//! `cargo bench -p oriole --bench optimizer [-- FOLDER]`. For every `.ptx` of the folder (the corpus by
//! default): the time to read it and bring it into SSA form, to run the phases at -O3 without verification, and to
//! print it again; and the time of `ptxas -O3` on the file, less the time that ptxas takes to start (`ptxas
//! --version`). Each is the least of several tries. Without ptxas (PATH, CUDA_HOME, .cuda/venv) only our side is shown.

mod tools;

use oriole_check::input::write_ptx;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oriole_ir::sm::Target;
use oriole_optimizer::pipeline::runner::{Options, run};
use oriole_optimizer::ssa;
use oriole_ptx as ptx;

const TRIES: usize = 5;

#[derive(Default)]
struct Times {
    read: Duration,
    phases: Duration,
    emit: Duration,
}

fn least(mut work: impl FnMut() -> Duration) -> Duration {
    (0..TRIES).map(|_| work()).min().unwrap_or_default()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = work();
    (value, start.elapsed())
}

/// Our times, and the target that the kernel is for.
fn ours(path: &Path) -> (Times, Target) {
    let source = std::fs::read_to_string(path).expect("the kernel is readable");
    let read = || {
        let read = ptx::read(&source);
        let mut module = read.unwrap_or_else(|faults| panic!("{}: {}", path.display(), faults[0].message));
        ssa::construct_module(&mut module);
        module
    };
    let module = read();
    let target = module.target.parse::<Target>().expect("the target is known");
    let options = Options::new(target);
    let optimized = |module: &oriole_ir::Module| {
        let mut module = module.clone();
        let (report, time) = timed(|| run(&mut module, &options, &mut ()));
        report.expect("the phases run");
        (module, time)
    };
    let (result, _) = optimized(&module);
    let times = Times {
        read: least(|| timed(read).1),
        phases: least(|| optimized(&module).1),
        emit: least(|| timed(|| write_ptx(&result).expect("the result prints")).1),
    };
    (times, target)
}

/// The architecture that ptxas compiles a kernel for: its own, or the first that this ptxas knows.
fn arch(target: Target) -> String {
    const FIRST: u16 = 75;
    if target.number() < FIRST { format!("sm_{FIRST}") } else { target.to_string() }
}

fn ptxas(tool: &Path, arguments: &[&str]) -> Duration {
    least(|| {
        let mut command = Command::new(tool);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        let (status, time) = timed(|| command.status());
        assert!(status.is_ok_and(|status| status.success()), "ptxas {arguments:?} fails");
        time
    })
}

/// Runs the benchmark.
pub fn main() {
    let files = tools::kernels();
    let tool = tools::find("ptxas");
    let start = tool.as_ref().map(|tool| ptxas(tool, &["--version"]));
    let (mut sum, mut peer) = (Times::default(), Duration::ZERO);
    for path in &files {
        let (times, target) = ours(path);
        sum.read += times.read;
        sum.phases += times.phases;
        sum.emit += times.emit;
        if let (Some(tool), Some(start)) = (&tool, start) {
            let text = path.to_string_lossy();
            let arch = format!("-arch={}", arch(target));
            peer += ptxas(tool, &["-O3", &arch, "-o", "/dev/null", &text]).saturating_sub(start);
        }
    }
    let total = sum.read + sum.phases + sum.emit;
    let Times { read, phases, emit } = sum;
    println!("{} files: read {read:.1?}, phases {phases:.1?}, print {emit:.1?}, together {total:.1?}", files.len());
    match start {
        Some(start) => {
            let ratio = peer.as_secs_f64() / total.as_secs_f64();
            println!("ptxas -O3: {peer:.1?} (less its start of {start:.1?} a file): {ratio:.1} times as long");
        }
        None => println!("skipped: no ptxas (ci/cuda-tools installs it)"),
    }
}
