//! The generator keeps what it promises.

use std::collections::BTreeMap;

use oriole_optimizer::ir::Function;
use oriole_optimizer::ops::ROWS;
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

#[test]
fn a_seed_stands_for_one_kernel_and_any_bytes_for_some() {
    let config = Config::default();
    assert_eq!(from_seed(5, &config), from_seed(5, &config));
    assert_ne!(from_seed(5, &config), from_seed(6, &config));
    for length in [0, 1, 7, 60, 400, 3000] {
        let bytes = crate::launch::random::bytes(length as u64, length);
        let generated = from_bytes(&bytes, &config);
        assert_eq!(outcome(&generated, true), "finished", "from {length} bytes:\n{}", generated.module);
        assert_eq!(generated, from_bytes(&bytes, &config));
    }
}

/// Phis come from SSA construction where blocks meet; no other row is an exception.
#[test]
fn every_opcode_is_generated() {
    let config = Config::default();
    let mut seen = vec![false; ROWS.len()];
    for seed in 0..2000 {
        for func in from_seed(seed, &config).module.functions.values() {
            let insts = func.layout.iter().flat_map(|block| &func.blocks[*block].insts);
            insts.for_each(|inst| seen[func.insts[*inst].opcode as usize] = true);
        }
    }
    let missing: Vec<_> = ROWS.iter().filter(|row| !seen[row.opcode as usize]).map(|row| row.name).collect();
    assert!(missing.is_empty(), "never generated: {}", missing.join(", "));
}
