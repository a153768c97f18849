//! Findings of planted bugs in generated kernels of 200 instructions and more, reduced one after the other in one
//! thread: sizes, evaluations and times. `cargo bench -p oriole --bench reduce`.

#[path = "../tests/it/bugs/mod.rs"]
mod bugs;
#[allow(dead_code, reason = "not every benchmark has words of its own")]
#[path = "tools/words.rs"]
mod words;

use bugs::{BUGS, findings, options};
use oriole_check::reduce::{self, Options, Reduced};

/// Findings of each bug.
const FINDINGS: usize = 6;

fn middle<T: Ord + Copy>(values: &mut [T]) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Runs the benchmark.
pub fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be had");
    let mut all: Vec<Reduced> = Vec::new();
    println!(
        "{:18} {:>8} {:>6} {:>5} {:>5} {:>5} {:>8} {:>8}",
        "bug", "findings", "before", "after", "most", "evals", "most", "ms"
    );
    for (name, verdict, function) in BUGS.iter().take(if words::is_test() { 1 } else { BUGS.len() }) {
        let options = options(name, *function);
        let found = findings(&options, verdict, 1, if words::is_test() { 1 } else { FINDINGS });
        let reduce = |finding| reduce::finding(finding, &options, &Options::default()).expect("the phase is known");
        let reduced: Vec<Reduced> = pool.install(|| found.iter().map(reduce).collect());
        line(name, &reduced);
        all.extend(reduced);
    }
    line("all", &all);
    let slowest = all.iter().map(|reduced| reduced.time).max().unwrap_or_default();
    println!(
        "slowest {slowest:?}; {} of {} complete",
        all.iter().filter(|reduced| reduced.complete).count(),
        all.len()
    );
}

/// Medians, and the largest size and number of evaluations.
fn line(name: &str, reduced: &[Reduced]) {
    if reduced.is_empty() {
        println!("{name:18} {:>8}", 0);
        return;
    }
    let column = |value: fn(&Reduced) -> u128| -> Vec<u128> { reduced.iter().map(value).collect() };
    let (mut before, mut after) = (column(|r| r.before.instructions as u128), column(|r| r.after.instructions as u128));
    let (mut evaluations, mut time) = (column(|r| u128::from(r.evaluations)), column(|r| r.time.as_millis()));
    let most = |values: &[u128]| values.iter().copied().max().unwrap_or(0);
    let (most_after, most_evaluations) = (most(&after), most(&evaluations));
    println!(
        "{name:18} {:>8} {:>6} {:>5} {most_after:>5} {:>5} {most_evaluations:>8} {:>8}",
        reduced.len(),
        middle(&mut before),
        middle(&mut after),
        middle(&mut evaluations),
        middle(&mut time)
    );
}
