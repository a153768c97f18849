//! Every shape and every family is made, and what is made keeps the generator's promises.

use std::collections::BTreeMap;

use oriole_generate::config::{FamilyWeights, FlowWeights};
use oriole_generate::{Config, Generated, from_seed, kinds_of};
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_ir::verify::verify_module;

fn names() -> Vec<&'static str> {
    let (mut flow, mut family) = (FlowWeights::default(), FamilyWeights::default());
    flow.all().chain(family.all()).map(|(name, _)| name).collect()
}

#[test]
fn two_thousand_kernels_have_every_shape_and_family() {
    let config = Config::default();
    let mut counts: BTreeMap<&str, u32> = names().into_iter().map(|name| (name, 0)).collect();
    for kinds in (0..2000).map(|seed| kinds_of(seed, &config)) {
        kinds.into_iter().for_each(|name| *counts.get_mut(name).expect("it has a weight") += 1);
    }
    println!("{counts:?}");
    let missing: Vec<_> = counts.iter().filter(|(_, count)| **count == 0).collect();
    assert!(missing.is_empty(), "{missing:?} of 2000 kernels");
}

/// A configuration of one kind, with straight code beside it.
fn mostly(wanted: &str) -> Config {
    let mut config = Config { instructions: [20, 40], swarm: 0, ..Config::default() };
    let (flow, family) = (&mut config.flow, &mut config.family);
    for (name, weight) in flow.all().chain(family.all()) {
        *weight = match name {
            _ if name == wanted => 30,
            "straight" | "plain" | "branch" | "repeat" => 5,
            _ => 0,
        };
    }
    config
}

/// What is wrong with a kernel.
fn fault(generated: &Generated) -> Option<String> {
    if let Err(violations) = verify_module(&generated.module) {
        return Some(format!("invalid: {}", violations[0]));
    }
    let executable = Executable::new(&generated.module).expect("it decodes");
    let run = |races| {
        generated.launches.iter().find_map(|named| {
            let options = RunOptions { races, ..RunOptions::default() };
            let result = executable.run(&named.launch, &options).expect("it fits its launch");
            let race = result.races.first().map(ToString::to_string);
            race.or_else(|| (result.outcome != Outcome::Finished).then(|| result.outcome.to_string()))
        })
    };
    run(false).or_else(|| run(true))
}

#[test]
fn kernels_of_one_kind_alone_are_valid_finish_and_do_not_race() {
    let mut faults = Vec::new();
    for name in names() {
        let config = mostly(name);
        let found = (0..40).filter_map(|seed| Some(format!("{name}, {seed}: {}", fault(&from_seed(seed, &config))?)));
        faults.extend(found.take(3));
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
