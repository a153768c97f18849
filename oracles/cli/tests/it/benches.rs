//! Every benchmark runs, once and short: what nobody runs goes wrong unseen.

#[path = "../../benches/code.rs"]
mod code;
#[path = "../../benches/compiled.rs"]
mod compiled;
#[path = "../../benches/generate.rs"]
mod generate;
#[path = "../../benches/interpreter.rs"]
mod interpreter;
#[path = "../../benches/machine.rs"]
mod machine;
#[path = "../../benches/optimizer.rs"]
mod optimizer;
#[path = "../../benches/own.rs"]
mod own;
#[path = "../../benches/reduce.rs"]
mod reduce;
#[path = "../../benches/rules.rs"]
mod rules;
#[path = "../../benches/sass.rs"]
mod sass;
#[path = "../../benches/scale.rs"]
mod scale;
#[path = "../../benches/smt.rs"]
mod smt;

#[test]
fn code_is_measured() {
    code::main();
}

#[test]
fn compiled_kernels_are_measured() {
    compiled::main();
}

#[test]
fn generated_kernels_are_measured() {
    generate::main();
}

/// All benchmarks of divan in this program: of the interpreter, of machine words, of the search for counterexamples.
#[test]
fn benchmarks_of_divan_run_once() {
    let _ = (interpreter::main, sass::main, smt::main);
    divan::Divan::default().test_benches();
}

#[test]
fn machine_code_is_measured() {
    machine::main();
}

#[test]
fn own_code_is_measured() {
    own::main();
}

#[test]
fn the_optimizer_is_measured() {
    optimizer::main();
}

#[test]
fn the_reducer_is_measured() {
    reduce::main();
}

#[test]
fn wrong_rules_are_measured() {
    rules::main();
}

#[test]
fn sizes_are_measured() {
    // The goals are those of an optimized build.
    let _ = scale::main();
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
