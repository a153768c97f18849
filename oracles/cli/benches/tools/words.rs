//! The command line of a benchmark. A test runs each benchmark once, with words that make it short.

/// Whether a test runs the benchmark: `cargo bench` says `--bench`. The configuration `test` is set by both.
pub fn is_test() -> bool {
    !std::env::args().any(|word| word == "--bench")
}

/// The words of the command line, or these in a test.
pub fn words(short: &[&str]) -> Vec<String> {
    if is_test() {
        return short.iter().map(|word| (*word).to_owned()).collect();
    }
    std::env::args().skip(1).filter(|word| word != "--bench").collect()
}
