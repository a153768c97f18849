//! The generator keeps what it promises.

use std::collections::BTreeMap;

use oriole_optimizer::ir::Function;
use oriole_optimizer::verify::verify_module;

use super::*;
use crate::interp::{Executable, Outcome, RunOptions};

/// How a generated kernel ends; the outcome's name, or what is wrong with it.
fn outcome(generated: &Generated, races: bool) -> String {
    if let Err(violations) = verify_module(&generated.module) {
        return format!("invalid: {}", violations[0]);
    }
    let executable = match Executable::new(&generated.module) {
        Ok(executable) => executable,
        Err(error) => return error.to_string(),
    };
    for NamedLaunch { launch, .. } in &generated.launches {
        match executable.run(launch, &RunOptions { races, ..RunOptions::default() }) {
            Err(error) => return error.to_string(),
            Ok(result) if result.outcome != Outcome::Finished => return result.outcome.to_string(),
            Ok(result) => {
                if let Some(race) = result.races.first() {
                    return race.to_string();
                }
            }
        }
    }
    "finished".to_owned()
}

#[test]
fn kernels_are_valid_and_finish() {
    let config = Config::default();
    let mut failures = BTreeMap::new();
    let (mut instructions, mut blocks) = (Vec::new(), Vec::new());
    for seed in 0..1000 {
        let generated = from_seed(seed, &config);
        let outcome = outcome(&generated, seed % 10 == 0);
        if outcome != "finished" {
            failures.insert(seed, outcome);
        }
        let functions = generated.module.functions.values();
        instructions.push(functions.clone().map(Function::inst_count).sum::<usize>());
        blocks.push(functions.map(|func| func.layout.len()).sum::<usize>());
    }
    instructions.sort_unstable();
    blocks.sort_unstable();
    let at = |sorted: &[usize], percent: usize| sorted[sorted.len() * percent / 100];
    println!("{} of 1000 kernels fail", failures.len());
    for (name, sizes) in [("instructions", &instructions), ("blocks", &blocks)] {
        println!("{name}: {} {} {} at 10, 50 and 90 %", at(sizes, 10), at(sizes, 50), at(sizes, 90));
    }
    assert!(failures.len() <= 1, "{failures:#?}");
    assert!(at(&instructions, 50) >= 60 && at(&blocks, 50) >= 8);
}
