//! Mutations of the corpus give answers or diagnostics, and never a panic.
//!
//! `ORIOLE_HOSTILE=100000 cargo test --release -p oriole --test it hostile::` tries more of them;
//! `ORIOLE_HOSTILE_FIRST` says where to begin, so that one case can be tried alone.

use std::path::Path;

use oriole_targets::hostile::{Corpus, Panic, Reached};
use rayon::prelude::*;

#[test]
fn mutated_kernels_and_launches_never_panic() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, count) = (number("ORIOLE_HOSTILE_FIRST").unwrap_or(0), number("ORIOLE_HOSTILE").unwrap_or(3000));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels");
    let corpus = Corpus::load(&folder).expect("the corpus can be read");
    assert!(corpus.len() >= 48, "{} seeds", corpus.len());
    let results: Vec<Result<Reached, Box<Panic>>> =
        (first..first + count).into_par_iter().map(|number| corpus.case(number)).collect();
    let panics: Vec<String> =
        results.iter().filter_map(|result| result.as_ref().err()).map(|panic| show(panic)).collect();
    assert!(panics.is_empty(), "{} cases panic:\n{}", panics.len(), panics[..panics.len().min(20)].join("\n"));
    if count < 1000 {
        return;
    }
    // Cases that are always refused, or never, would test half of what they should.
    let reached = |what| results.iter().filter(|result| matches!(result, Ok(reached) if *reached == what)).count();
    let (refused, ran) = (reached(Reached::Refused), reached(Reached::Ran));
    assert!(refused > results.len() / 10 && ran > results.len() / 20, "{refused} refused, {ran} ran");
}

/// Names a case that panics, and keeps what it read for a look.
fn show(panic: &Panic) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (kernel, launch) = (format!("case-{}.kernel", panic.number), format!("case-{}.launch.toml", panic.number));
    let kept = std::fs::write(folder.join(&kernel), &panic.kernel)
        .and_then(|()| std::fs::write(folder.join(launch), &panic.launch));
    let kept = kept.map_or_else(|error| error.to_string(), |()| folder.join(kernel).display().to_string());
    format!("case {} ({}, {kept}): {}", panic.number, panic.seed, panic.message)
}
