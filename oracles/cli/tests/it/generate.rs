//! The generator keeps what it promises.

use oriole_check::input::{read_ptx, write_ptx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_ir::Form;
use oriole_ir::ops::{Flags, ROWS};
use oriole_ir::sm::Target;
use oriole_ir::verify::verify_module;
use oriole_optimizer::peephole::RuleSet;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner as pipeline;

use oriole_campaign::coverage::Coverage;
use oriole_check::judge::equivalence::compare;
use oriole_check::kernels::{from_bytes, from_seed, instruction};
use oriole_generate::config::TableLevel;
use oriole_generate::insts::Family;
use oriole_generate::{Config, Entropy, Generated, patterns, single};
use oriole_interp::{Executable, Outcome, RunOptions};
use oriole_launch::NamedLaunch;

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
        instructions.push(generated.module.inst_count());
        blocks.push(functions.map(|func| func.layout().len()).sum::<usize>());
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
        let bytes = oriole_launch::random::bytes(length as u64, length);
        let generated = from_bytes(&bytes, &config);
        assert_eq!(outcome(&generated, true), "finished", "from {length} bytes:\n{}", generated.module);
        assert_eq!(generated, from_bytes(&bytes, &config));
    }
}

/// One lap of the pins executes every legal value of every field, and every row but those of control flow.
#[test]
fn every_operation_stands_alone_and_finishes() {
    let config = Config::default();
    let pins = single::pins(config.level);
    let mut coverage = Coverage::default();
    for (index, (opcode, _)) in pins.iter().enumerate() {
        let generated = instruction(index as u64, &mut Entropy::from_seed(index as u64), &config);
        assert_eq!(outcome(&generated, false), "finished", "{opcode:?}:\n{}", generated.module);
        coverage.count(&generated.module);
    }
    let control = |name: &&str| ROWS.iter().any(|row| row.name == *name && Family::of(row) == Family::Control);
    let missing: Vec<&str> = coverage.missing_rows().into_iter().filter(|name| !control(name)).collect();
    let missing: Vec<&str> = missing.into_iter().filter(|name| *name != "opaque").collect();
    assert_eq!((missing, coverage.holes()), (Vec::new(), Vec::new()));
}

#[test]
fn rows_of_the_machine_level_wait_for_the_table() {
    let machine = |row: &&oriole_ir::ops::OpRow| TableLevel::Machine.has(row) && Family::of(row) != Family::Control;
    assert_eq!(single::pins(TableLevel::Machine).is_empty(), ROWS.iter().filter(machine).count() == 0);
    let config = Config { level: TableLevel::Machine, ..Config::default() };
    assert_eq!(outcome(&instruction(3, &mut Entropy::from_seed(3), &config), false), "finished");
}

#[test]
fn kernels_in_virtual_form_and_with_constant_banks_finish() {
    let mut config = Config { virtual_form: 100, ..Config::default() };
    config.operand.bank_kernel = 100;
    let mut banks = 0;
    for seed in 0..300 {
        let generated = from_seed(seed, &config);
        assert!(generated.module.functions.values().all(|func| func.form == Form::Virtual));
        banks += u32::from(generated.module.to_string().contains("c[0][0x"));
        assert_eq!(outcome(&generated, false), "finished", "seed {seed}");
    }
    assert!(banks > 80, "{banks}");
}

#[test]
fn launches_of_a_kernel_differ() {
    let config = Config { launches: 2, ..Config::default() };
    let differ = |seed: &u64| {
        let launches = from_seed(*seed, &config).launches;
        launches.len() == 2 && launches[0].launch.args != launches[1].launch.args
    };
    assert!((0..50).all(|seed| differ(&seed)));
    let grids = |seed: u64| from_seed(seed, &config).launches.into_iter().map(|named| named.launch.grid);
    assert!((0..50).any(|seed| grids(seed).collect::<Vec<_>>().windows(2).any(|pair| pair[0] != pair[1])));
}

/// What nothing calls is never executed, so no fault in it shows.
#[test]
fn every_function_is_called() {
    let mut functions = 0;
    for seed in 0..100 {
        let text = from_seed(seed, &Config::default()).module.to_string();
        for name in ["device0", "device1"].into_iter().filter(|name| text.contains(&format!("device @{name} "))) {
            functions += 1;
            let named = text.matches(&format!("@{name}")).count();
            assert!(named >= 2, "seed {seed}: nothing but itself names {name}");
        }
    }
    assert!(functions > 20, "{functions}");
}

/// Phis come from SSA construction where blocks meet. Splits come from their phase alone, and what takes four warps is
/// made in kernels about it, since whole kernels have fewer; no other row is an exception.
#[test]
fn every_opcode_is_generated() {
    let config = Config::default();
    let mut seen = vec![false; ROWS.len()];
    let rows = || ROWS.iter().filter(|row| TableLevel::Virtual.has(row) && !row.flags.has(Flags::WARPGROUP));
    for seed in 0..24_000 {
        if rows().filter(|row| !seen[row.opcode as usize]).count() <= 2 {
            break;
        }
        for func in from_seed(seed, &config).module.functions.values() {
            let insts = func.layout_insts();
            insts.for_each(|inst| seen[func.inst(inst).opcode as usize] = true);
        }
    }
    let missing: Vec<_> = rows().filter(|row| !seen[row.opcode as usize]).map(|row| row.name).collect();
    // An opaque operation has no meaning that a generated kernel could rely on.
    assert_eq!(missing, ["opaque", "split"], "never generated");
}

/// Registers with many definitions may be source and result of one instruction; printing must not mind.
#[test]
fn virtual_form_survives_printing() {
    let mut config = Config { virtual_form: 100, ..Config::default() };
    config.operand.bank_kernel = 0;
    for seed in 0..150 {
        let Generated { module, launches, .. } = from_seed(seed, &config);
        let text = write_ptx(&module).expect("it prints");
        let again = read_ptx(&text).expect("it reads");
        let run = |module| {
            let executable = Executable::new(module).expect("it decodes");
            executable.run(&launches[0].launch, &RunOptions::default()).expect("it fits its launch")
        };
        assert!(!compare(&run(&module), &run(&again)).is_finding(), "seed {seed}:\n{text}");
    }
}

/// Kernels full of patterns are optimized until each rule has applied; a rule that nothing sets off is either behind
/// another one or not generated.
#[test]
fn every_rule_fires_in_generated_kernels() {
    let mut config = Config { virtual_form: 0, functions: 0, ..Config::default() };
    config.family.pattern = 300;
    let rules = RuleSet::builtin();
    let mut left: BTreeSet<&str> = rules.rules().iter().map(|rule| rule.name).collect();
    let options = pipeline::Options::new(Target::portable(90).expect("sm_90 has a row"));
    let phases = Pipeline::ptxas();
    for seed in 0..24_000 {
        let mut module = from_seed(seed, &config).module;
        let report = pipeline::run_passes(&phases, &mut module, &options, &mut ()).expect("every phase runs");
        report.passes.iter().flat_map(|phase| phase.statistics.keys()).for_each(|name| _ = left.remove(name));
        if left.is_empty() {
            return;
        }
    }
    panic!("never applied: {left:?}");
}

#[test]
fn patterns_leave_nothing_open() {
    let mut config = Config::default();
    config.family.pattern = 300;
    let outcomes = (0..1500).map(|seed| (seed, outcome(&from_seed(seed, &config), false)));
    let failed: Vec<_> = outcomes.filter(|(_, outcome)| outcome != "finished").collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// Left sides that access memory stay within the region of their thread, however their addresses are made.
#[test]
fn patterns_of_accesses_stay_in_their_regions() {
    let rules = "rule a: st.global.b32(iadd.u64(isub.u64(x, y), C), O, v) => st.global.b32(isub.u64(x, y), O + C, v)
                 rule b: ld.b64(iadd.u64(cvta.shared.u64(x), C), 16) => ld.b64(cvta.shared.u64(x), 16 + C)
                 rule c: atom.global.add.u32(&isub.u64(x, 8), O, v) => atom.global.add.u32(x, O - 8, v)
                 rule d: bar.red.and(3, b, and.pred(p, p)) => bar.red.and(3, b, p)";
    let set = RuleSet::parse("t.rules", rules).unwrap_or_else(|error| panic!("{}", error.lines()));
    let mut config = Config { patterns: patterns::Patterns::new(set.sources(), set.rules()), ..Config::default() };
    config.family.pattern = 300;
    let (mut failed, mut made) = (Vec::new(), [0; 3]);
    for seed in 0..800 {
        let generated = from_seed(seed, &config);
        let text = generated.module.to_string();
        let parts = ["isub.u64", "cvta.shared", "bar.red.and 3"];
        parts.iter().zip(&mut made).for_each(|(part, made)| *made += text.matches(part).count());
        failed.extend(Some((seed, outcome(&generated, true))).filter(|(_, outcome)| outcome != "finished"));
    }
    assert!(failed.is_empty() && made.iter().all(|made| *made > 40), "{made:?} {failed:?}");
}

/// Guards about constants, fields, known bits and uses are met by construction.
#[test]
fn guards_of_a_users_rule_are_met() {
    let rules = [
        "rule mask: and.b32(x, C) => x if known_zero(x, ~C), is_mask(C), variable(x)",
        "rule ones: iadd.u32(x, C) => 0 if known_one(x, C), C > 1, single_use(x)",
        "rule unlikely: imul.lo.u64(_, C) => 0 if C == 0x123456789a",
        "rule field: fadd{F}.f32(x, _) => x if F.Rounding == rm",
        "rule word: popc.b32(hi(x)) => lo(x)",
        "rule divisor: idiv.s64(x, &ineg.s64(y)) => x if variable(y)",
        "rule apart: and.b32(x, y) => 0 if disjoint(x, y)",
        "rule some: setp.ne.u64(x, 0) => 1 if nonzero(x)",
        "rule number: fmul.f32(x, 1.0) => x if not_nan(x)",
    ];
    for text in rules {
        let set = Arc::new(RuleSet::parse("t.rules", text).unwrap_or_else(|error| panic!("{}", error.lines())));
        let mut config = Config { virtual_form: 0, functions: 0, swarm: 0, ..Config::default() };
        config.family.pattern = 300;
        config.operand.near_miss = 0;
        config.patterns = patterns::Patterns::new(set.sources(), set.rules());
        let mut options = pipeline::Options::new(Target::portable(90).expect("sm_90 has a row"));
        options.rules = Some(set.clone());
        let name = set.rules()[0].name;
        let applied = |seed: u64| {
            let mut module = from_seed(seed, &config).module;
            let report = pipeline::run_passes(&Pipeline::ptxas(), &mut module, &options, &mut ());
            report.expect("every phase runs").passes.iter().any(|phase| phase.statistics.contains_key(name))
        };
        // Without construction it would be few or none.
        let kernels = (500..800).filter(|seed| applied(*seed)).count();
        assert!(kernels >= 100, "{name} applied in {kernels} of 300 kernels");
    }
}

/// Phases over loops find what they look for.
#[test]
fn loops_have_products_of_counters_and_others_behind_them_that_count_alike() {
    let config = Config { virtual_form: 0, ..Config::default() };
    let options = pipeline::Options::new(Target::portable(90).expect("sm_90 has a row"));
    let mut found = ["unroll-loop", "reduce-strength", "fuse-loops"].map(|rule| (rule, 0));
    for seed in 0..1500 {
        let mut module = from_seed(seed, &config).module;
        let report = pipeline::run_passes(&Pipeline::ptxas(), &mut module, &options, &mut ());
        let phases = report.expect("every phase runs").passes;
        for (rule, kernels) in &mut found {
            *kernels += u32::from(phases.iter().any(|phase| phase.statistics.contains_key(*rule)));
        }
    }
    println!("of 1500 kernels: {found:?}");
    let least = [60, 8, 3];
    assert!(found.iter().zip(least).all(|((_, kernels), least)| *kernels >= least), "{found:?}");
}
