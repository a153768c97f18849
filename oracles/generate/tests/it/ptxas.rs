//! Other spellings of printed PTX, judged by the real ptxas.

#[path = "../../../../optimizer/tests/it/common/mod.rs"]
#[allow(dead_code)]
mod common;

use std::collections::BTreeMap;

use common::{compile, complaints, ptxas};
use oriole_generate::spell::respelled;
use oriole_generate::{Config, from_seed};

#[test]
fn ptxas_takes_every_spelling() {
    let Some(tool) = ptxas() else {
        println!("skipped: no ptxas");
        return;
    };
    let config = Config::default();
    let mut tried = 0;
    for seed in 0..40 {
        let Ok(text) = oriole_ptx::emit(&from_seed(seed, &config).module) else { continue };
        // It takes no 32-bit address on this target, and stops there.
        if text.lines().any(|line| line.contains("cvta.") && line.contains(".u32")) {
            continue;
        }
        // What it does not take as we print it says nothing about the spelling.
        let options = compile(&text);
        if complaints(&tool, &options, "printed", &text) != Ok(BTreeMap::new()) {
            continue;
        }
        let found = complaints(&tool, &options, "respelled", &respelled(&text));
        assert_eq!(found, Ok(BTreeMap::new()), "seed {seed}");
        tried += 1;
    }
    assert!(tried > 20, "{tried}");
}
