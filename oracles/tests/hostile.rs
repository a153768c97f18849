//! Mutations of the corpus give answers or diagnostics, and never a panic.
//!
//! `ORIOLE_HOSTILE=100000 cargo test --release -p oriole-oracles --test hostile` tries more of them.

use std::path::Path;

use oriole_oracles::hostile::{Corpus, Panic, Reached};
use rayon::prelude::*;

#[test]
fn mutated_kernels_and_launches_never_panic() {
    let count: u64 = std::env::var("ORIOLE_HOSTILE").ok().and_then(|count| count.parse().ok()).unwrap_or(3000);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/kernels");
    let corpus = Corpus::load(&folder).expect("the corpus can be read");
    assert!(corpus.len() >= 48, "{} seeds", corpus.len());
    let results: Vec<Result<Reached, Box<Panic>>> =
        (0..count).into_par_iter().map(|number| corpus.case(number)).collect();
    let panics: Vec<String> = results.iter().filter_map(|result| result.as_ref().err()).map(show).collect();
    assert!(panics.is_empty(), "{} cases panic:\n{}", panics.len(), panics[..panics.len().min(20)].join("\n"));
    // Cases that are always refused, or never, would test half of what they should.
    let reached = |what| results.iter().filter(|result| matches!(result, Ok(reached) if *reached == what)).count();
    let (refused, ran) = (reached(Reached::Refused), reached(Reached::Ran));
    assert!(refused > results.len() / 10 && ran > results.len() / 20, "{refused} refused, {ran} ran");
}

fn show(panic: &Box<Panic>) -> String {
    format!("case {} ({}): {}", panic.number, panic.seed, panic.message)
}
