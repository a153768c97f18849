//! GvnCse in all its modes.

use proptest::prelude::*;

use oriole_ir::sm::Target;
use oriole_ir::{Function, Module};
use oriole_optimizer::analysis::testing::random_function;
use oriole_optimizer::pass::Element;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_optimizer::pipeline::table::Phase;
use oriole_optimizer::ssa;

/// Runs the phase in a mode twice on a function, and says how many changes it made; the second time there is
/// nothing left to change.
fn twice(func: Function, mode: i64, sm: u16) -> u64 {
    let mut module = Module::default();
    module.functions.push(func);
    let mut options = Options { verify: true, ..Options::new(Target::portable(sm).expect("the machine is known")) };
    options.knobs.set(&format!("EnableGvnCseMode={mode}")).expect("a mode");
    let pass = [Element::from(Phase::GvnCse.row())];
    let run = |module: &mut Module| {
        run_passes(&pass, module, &options, &mut ()).unwrap_or_else(|error| panic!("{error}\n{module}")).rewrites
    };
    let made = run(&mut module);
    let text = module.to_string();
    assert_eq!(run(&mut module), 0, "mode {mode} goes on:\n{text}\nbecomes\n{module}");
    made
}

proptest! {
    /// Whatever is numbered, the function stays valid, and nothing is left for a second run.
    #[test]
    fn every_mode_keeps_random_functions_valid(words in prop::collection::vec(any::<u32>(), 4..200)) {
        let mut func = random_function(&words);
        ssa::construct(&mut func);
        for (mode, sm) in [(1, 90), (2, 60), (2, 90), (4, 70), (4, 90), (5, 90)] {
            twice(func.clone(), mode, sm);
        }
    }
}

/// What rests on aliases and memory is one family, in every mode; what is computed is another.
#[test]
fn changes_are_named_by_what_they_rest_on() {
    let text = "target sm_90 ptx 9.0\nentry @k ssa {\n  param $p: u64 param align 8\nbb0:\n\
        %d0 = ld.param.u64 [$p]\n%r1 = ld.global.u32 [%d0]\n%r2 = ld.global.u32 [%d0]\n\
        %r3 = iadd.u32 %r1, 1\n%r4 = iadd.u32 %r1, 1\nst.global.u32 [%d0+8], %r2\n\
        st.global.u32 [%d0+8], %r3\nst.global.u32 [%d0+12], %r4\nret\n}\n";
    for mode in [1, 2, 4] {
        let mut module = oriole_ir::parse_module(text).unwrap_or_else(|error| panic!("{error}"));
        let mut options = Options::new(Target::portable(90).expect("the machine is known"));
        options.knobs.set(&format!("EnableGvnCseMode={mode}")).expect("a mode");
        let pass = [Element::from(Phase::GvnCse.row())];
        let report = run_passes(&pass, &mut module, &options, &mut ());
        let mut report = report.unwrap_or_else(|error| panic!("{error}"));
        let made: Vec<&str> = report.passes.remove(0).statistics.into_keys().collect();
        for name in ["access:common", "access:dead-store", "common"] {
            assert!(made.contains(&name), "mode {mode}: {made:?}");
        }
    }
}

/// Each scope finds what the narrower one does, and more somewhere.
#[test]
fn wider_scopes_find_more() {
    let made = |mode| -> u64 {
        let word = |seed: u32, i: u32| (i.wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b)) >> 5;
        let words = |seed| (0..200).map(|i| word(seed, i).wrapping_mul(0xc2b2_ae35)).collect::<Vec<u32>>();
        let functions = (1..200u32).map(|seed| {
            let mut func = random_function(&words(seed));
            ssa::construct(&mut func);
            func
        });
        functions.map(|func| twice(func, mode, 90)).sum()
    };
    let [simple, standard, extended, full] = [1, 2, 5, 4].map(made);
    assert!(0 < simple && simple < extended && extended < full, "{simple}, {extended}, {full}");
    assert!(simple < standard && standard <= full, "{simple}, {standard}, {full}");
}
