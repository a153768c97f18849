//! The command line of a benchmark. A test runs each benchmark once, with words that make it short.

/// The words of the command line, or these in a test.
pub fn words(short: &[&str]) -> Vec<String> {
    if cfg!(test) {
        return short.iter().map(|word| (*word).to_owned()).collect();
    }
    std::env::args().skip(1).filter(|word| word != "--bench").collect()
}
