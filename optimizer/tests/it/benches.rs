//! Every benchmark runs, once and short: what nobody runs goes wrong unseen.

#[path = "../../benches/bitset.rs"]
mod bitset;
#[path = "../../benches/liveness.rs"]
mod liveness;
#[path = "../../benches/peephole.rs"]
mod peephole;

#[test]
fn benchmarks_of_divan_run_once() {
    let _ = (bitset::main, peephole::main);
    divan::Divan::default().test_benches();
}

#[test]
fn liveness_is_measured() {
    // The goal is that of an optimized build.
    let _ = liveness::main();
}

#[test]
fn no_benchmark_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/benches");
    let entries = std::fs::read_dir(folder).expect("there are benchmarks");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    for name in names.filter(|name| name.ends_with(".rs")) {
        assert!(include_str!("benches.rs").contains(&format!("../../benches/{name}")), "{name}");
    }
}
