//! Mutants verify, differ, and still say something.

use oriole_check::input::read_ptx;
use std::collections::BTreeMap;

use oriole_ir::parse_module;

use std::path::Path;

use oriole_check::kernels::{self, formed};
use oriole_generate::config::MutantConfig;
use oriole_generate::mutate::{Corpus, Edit, apply};
use oriole_generate::{Config, Entropy, Generated, from_seed};
use oriole_interp::RunOptions;
use oriole_interp::{Executable, Outcome};
use oriole_ir::verify::verify_module;
use oriole_targets::mutate as text;

fn corpus() -> Corpus {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels");
    kernels::corpus(&[folder], &MutantConfig::default())
}

#[test]
fn mutants_of_the_corpus_verify_and_many_still_finish() {
    let (corpus, config) = (corpus(), Config::default());
    assert!(corpus.len() >= 20, "{} kernels are small enough", corpus.len());
    let mut entropy = Entropy::from_seed(1);
    let (mut dropped, mut finished, mut changed) = (0, 0, 0);
    let mut edits: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..300 {
        let mutant = corpus.mutant(&mut entropy, &config).expect("one of eight attempts verifies");
        dropped += mutant.dropped;
        mutant.edits.iter().for_each(|edit| *edits.entry(edit.name()).or_default() += 1);
        let Generated { module, launches, .. } = &mutant.generated;
        let executable = Executable::new(module).expect("it decodes");
        let run = executable.run(&launches[0].launch, &RunOptions::default()).expect("it fits its launch");
        finished += u32::from(run.outcome == Outcome::Finished);
        changed += u32::from(corpus.modules().all(|seed| seed != module));
    }
    println!("{} kernels, 300 mutants, {dropped} dropped, {finished} finished, edits: {edits:?}", corpus.len());
    assert_eq!(edits.len(), Edit::ALL.len(), "every kind of edit finds a place: {edits:?}");
    assert!(dropped <= 30 && finished >= 100 && changed >= 290, "{dropped} {finished} {changed}");
}

#[test]
fn a_mutant_is_what_its_choices_say() {
    let config = Config::default();
    let corpus = Corpus::of((0..4).map(|seed| from_seed(seed, &config)).collect());
    let mutant = |seed| corpus.mutant(&mut Entropy::from_seed(seed), &config).map(|mutant| mutant.generated);
    assert!((0..20).all(|seed| mutant(seed) == mutant(seed)));
    assert_ne!(mutant(1), mutant(2));
    assert!(Corpus::default().mutant(&mut Entropy::from_seed(1), &config).is_none());
}

/// Every kind of edit, on its own, keeps a module that verifies most of the time, and changes it.
#[test]
fn each_edit_keeps_the_module_valid() {
    let config = Config::default();
    for edit in Edit::ALL {
        let (mut applied, mut valid) = (0, 0);
        for seed in 0..120 {
            let mut module = from_seed(seed, &config).module;
            let before = module.clone();
            let id = module.functions.keys().next_back().expect("a kernel");
            let mut entropy = Entropy::from_seed(seed);
            if apply(*edit, &mut module.functions[id], &before, &mut entropy, &config.mutants) {
                applied += 1;
                valid += u32::from(verify_module(&module).is_ok());
            }
        }
        assert!(applied >= 15 && valid * 100 >= applied * 97, "{}: {valid} of {applied} are valid", edit.name());
    }
}

#[test]
fn texts_stay_kernels_in_their_language() {
    let ptx_text = include_str!("../../../../corpus/kernels/saxpy.ptx");
    let ori_text = formed(from_seed(3, &Config::default())).module.to_string();
    let (mut ptx_mutants, mut ori_mutants) = (0, 0);
    for seed in 0..40 {
        if let Some(mutant) = text::text(ptx_text, 1 << 16, seed) {
            assert!(read_ptx(&mutant).is_ok(), "{mutant}");
            ptx_mutants += 1;
        }
        if let Some(mutant) = text::text(&ori_text, 1 << 16, seed) {
            assert!(parse_module(&mutant).is_ok(), "{mutant}");
            ori_mutants += 1;
        }
    }
    assert!(ptx_mutants >= 25 && ori_mutants >= 30, "{ptx_mutants} {ori_mutants}");
    assert_eq!(text::text("no kernel", 100, 1), None);
    assert_eq!(text::text(ptx_text, 10, 1), None, "too long");
    let mut buffer = ptx_text.as_bytes().to_vec();
    buffer.resize(1 << 16, 0);
    let own = |_: &mut [u8], _: usize, _: usize| 7;
    let sizes: Vec<usize> =
        (0..24).map(|seed| text::or_bytes(&mut buffer.clone(), ptx_text.len(), 1 << 16, seed, own)).collect();
    assert!(sizes[0] == 7 && sizes.iter().filter(|size| **size != 7).count() >= 12, "{sizes:?}");
    assert_eq!(text::or_bytes(&mut [b'?'; 9], 9, 9, 1, own), 7, "no kernel");
}
