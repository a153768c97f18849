//! Machine words a second on one core: decoded and encoded again, and decoded and printed.
//!
//! `cargo bench -p oriole --bench sass`. The words are those of `corpus/cubins` that have encodings, of all SMs
//! together. The goals are 20 million a second decoded and encoded, and 2 million a second printed. On 2026-11-24 the
//! medians were 100 and 7.8 million, on one of two cores that others used too.

use std::hint::black_box;
use std::path::Path;

use divan::Bencher;
use divan::counter::ItemsCount;
use oriole_sass::cubin::{Cubin, SectionKind, words};
use oriole_sass::{Table, text};

/// The words of each SM's cubins.
fn corpus() -> Vec<(&'static Table, Vec<u128>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cubins");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "cubin"));
    files.sort();
    let read = |path| {
        let bytes = std::fs::read(path).expect("the corpus is readable");
        let cubin = Cubin::read(&bytes).expect("the corpus has cubins");
        let table = Table::of(cubin.target.sm).expect("the SM is known");
        let is_code = |at: &usize| cubin.sections[*at].kind == SectionKind::Code;
        let code = (0..cubin.sections.len()).filter(is_code).flat_map(|at| words(cubin.bytes(at)));
        (table, code.filter(|word| table.decode(*word).is_ok()).collect())
    };
    files.into_iter().map(read).collect()
}

fn count(corpus: &[(&Table, Vec<u128>)]) -> ItemsCount {
    ItemsCount::new(corpus.iter().map(|(_, words)| words.len()).sum::<usize>())
}

#[divan::bench]
fn decode_and_encode(bencher: Bencher<'_, '_>) {
    let corpus = corpus();
    bencher.counter(count(&corpus)).bench_local(|| {
        let again = corpus.iter().flat_map(|(table, words)| {
            words.iter().filter_map(|word| Some(table.decode(black_box(*word)).ok()?.encode()))
        });
        again.fold(0, |sum, word| sum ^ word)
    });
}

#[divan::bench]
fn decode_and_print(bencher: Bencher<'_, '_>) {
    let corpus = corpus();
    let mut out = String::new();
    bencher.counter(count(&corpus)).bench_local(|| {
        for (table, words) in &corpus {
            out.clear();
            for (address, word) in (0..).step_by(text::WORD_BYTES as usize).zip(words) {
                if let Ok(instruction) = table.decode(*word) {
                    text::print(&mut out, &instruction, address);
                }
            }
        }
        out.len()
    });
}

/// Runs the benchmark.
pub fn main() {
    divan::main();
}
