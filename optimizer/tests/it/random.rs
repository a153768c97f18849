//! All built phases on random functions: what comes out is valid, and a second run has nothing left to do.

use proptest::prelude::*;

use oriole_ir::sm::Target;
use oriole_ir::{Form, Function, Module};
use oriole_optimizer::analysis::testing::random_function;
use oriole_optimizer::pass::{Element, SecondRun, Status, Unit};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_optimizer::pipeline::table::PASSES;
use oriole_optimizer::ssa;

fn options() -> Options {
    let mut options = Options { verify: true, ..Options::new(Target::portable(90).expect("sm_90 exists")) };
    options.knobs.set("EnablePhases=AdvancedPhaseBackPropVReg").expect("a knob");
    options
}

fn module_of(func: Function) -> Module {
    let mut module = Module::default();
    module.functions.push(func);
    module
}

/// The passes of cicc over functions and loops that are built, each by itself.
fn passes_of_cicc() -> Vec<Element> {
    let rows = PASSES.iter().filter(|row| matches!(row.unit, Unit::Function | Unit::Loop));
    let names = rows.filter(|row| row.status() == Status::Built).map(|row| row.name);
    names.flat_map(|name| name.parse::<Pipeline>().expect("the name of a pass")).collect()
}

/// Runs each phase by itself and once more, and says how many changes the first runs made.
fn each_twice(func: Function, passes: impl IntoIterator<Item = Element>) -> u64 {
    let mut module = module_of(func);
    let mut made = 0;
    for pass in passes {
        let run = |module: &mut Module| run_passes(std::slice::from_ref(&pass), module, &options(), &mut ());
        let first = run(&mut module).unwrap_or_else(|e| panic!("{e}\n{module}"));
        let after = module.to_string();
        let second = run(&mut module).unwrap_or_else(|e| panic!("{e}\n{module}"));
        made += first.rewrites;
        let may_go_on = pass.second_run != SecondRun::ChangesNothing;
        assert!(second.rewrites == 0 || may_go_on, "{} goes on:\n{after}\nbecomes\n{module}", pass.name);
    }
    made
}

proptest! {
    #[test]
    fn phases_keep_random_functions_valid(words in prop::collection::vec(any::<u32>(), 4..200)) {
        let mut func = random_function(&words);
        ssa::construct(&mut func);
        prop_assert_eq!(func.form, Form::Ssa);
        each_twice(func, Pipeline::ptxas());
        each_twice(random_function(&words), Pipeline::ptxas());
    }

    #[test]
    fn passes_keep_random_functions_valid(words in prop::collection::vec(any::<u32>(), 4..200)) {
        let mut func = random_function(&words);
        ssa::construct(&mut func);
        each_twice(func, passes_of_cicc());
    }

    /// A limit of `n` gives the state after the first `n` changes: each is valid, and they follow one another.
    #[test]
    fn every_prefix_of_the_changes_is_valid(words in prop::collection::vec(any::<u32>(), 4..60)) {
        let mut func = random_function(&words);
        ssa::construct(&mut func);
        let module = module_of(func);
        let run = |limit| {
            let mut copy = module.clone();
            let limited = Options { rewrite_limit: limit, ..options() };
            let report = run_passes(&Pipeline::ptxas(), &mut copy, &limited, &mut ());
            report.map(|report| (report.rewrites, copy))
        };
        let (all, last) = run(None).unwrap_or_else(|e| panic!("{e}\n{module}"));
        for limit in 0..=all {
            let (made, state) = run(Some(limit)).unwrap_or_else(|e| panic!("change {limit}: {e}\n{module}"));
            prop_assert_eq!(made, limit);
            prop_assert!(limit < all || state == last);
        }
    }
}

/// The functions above are not all trivial.
#[test]
fn random_functions_give_the_phases_work() {
    let made: u64 = (1..65u32)
        .map(|seed| {
            let word =
                |i: u32| (i.wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b)).wrapping_mul(0xc2b2_ae35) >> 5;
            let mut func = random_function(&(0..200).map(word).collect::<Vec<_>>());
            ssa::construct(&mut func);
            each_twice(func, Pipeline::ptxas())
        })
        .sum();
    assert!(made > 500, "only {made} changes in 64 functions");
}
