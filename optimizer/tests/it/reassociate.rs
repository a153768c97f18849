//! Large trees, and what a tree is.

use std::fmt::Write as _;

use oriole_ir::sm::Target;
use oriole_ir::{Module, parse_module};
use oriole_optimizer::pass::Element;
use oriole_optimizer::pass::{Knobs, SecondRun};
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_optimizer::pipeline::table::Phase;

const HEAD: &str = "target sm_90 ptx 9.0\n\nentry @k visible ssa {\n  param $out: u64 param align 8\nbb0:\n  \
                    %d0 = ld.param.u64 [$out]\n  %r1 = s2r.b32 sr.tid.x\n  %r2 = s2r.b32 sr.laneid\n";

fn module(body: &str, result: usize) -> Module {
    let text = format!("{HEAD}{body}  st.global.u32 [%d0], %r{result}\n  ret\n}}\n");
    parse_module(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the phase, and says how many changes it makes of each kind.
fn run(module: &mut Module, knobs: Knobs) -> Vec<(&'static str, u64)> {
    let options = Options { verify: true, knobs, ..Options::new(Target::portable(90).expect("sm_90 exists")) };
    let pass = [Element::from(Phase::OriReassociateAndCommon.row())];
    let mut report = run_passes(&pass, module, &options, &mut ()).unwrap_or_else(|error| panic!("{error}"));
    report.passes.remove(0).statistics.into_iter().collect()
}

/// What takes more than a look at each term would not come back from so many.
const TERMS: usize = 100_000;

#[test]
fn long_sums_are_one_tree() {
    let mut body = String::new();
    for at in 3..TERMS + 3 {
        let term = if at % 3 == 0 { format!("{at}") } else { format!("%r{}", 1 + at % 2) };
        writeln!(body, "  %r{at} = iadd.u32 %r{}, {term}", at - 1).expect("a string takes all");
    }
    let mut module = module(&body, TERMS + 2);
    assert_eq!(run(&mut module, Knobs::new()), [("reassociate:constants", 1)]);
    let constant: usize = (3..TERMS + 3).filter(|at| at % 3 == 0).sum();
    let text = module.to_string();
    assert!(text.contains(&format!(", 0x{:x}\n", constant as u32)), "{text}");
    assert!(text.lines().count() < 20, "{text}");
}

/// Every factor belongs to two products, so that each could go with two others.
#[test]
fn long_sums_of_products_are_looked_at_once() {
    let mut body = String::new();
    for at in 3..TERMS + 3 {
        writeln!(body, "  %r{at} = xor.b32 %r1, {at}").expect("a string takes all");
    }
    for at in TERMS + 3..2 * TERMS {
        let factors = (at - TERMS, at + 1 - TERMS);
        writeln!(body, "  %r{at} = imad.lo.u32 %r{}, %r{}, %r{}", factors.0, factors.1, at - 1).expect("as above");
    }
    let mut module = module(&body, 2 * TERMS - 1);
    let changes = run(&mut module, Knobs::new());
    assert!(matches!(changes[..], [("reassociate:distribute", 1..)]), "{changes:?}");
}

/// Many trees with the same beginning: each is compared with what was met before, not with each other.
#[test]
fn many_equal_trees_are_one() {
    let mut body = String::new();
    let mut next = 3;
    for _ in 0..TERMS / 4 {
        writeln!(body, "  %r{next} = xor.b32 %r1, 7\n  %r{} = xor.b32 %r{next}, %r2", next + 1).expect("as above");
        writeln!(body, "  st.global.u32 [%d0], %r{}", next + 1).expect("as above");
        next += 2;
    }
    let mut module = module(&body, next - 1);
    let changes = run(&mut module, Knobs::new());
    // The constant of the one that is left goes last.
    assert_eq!(changes, [("common", TERMS as u64 / 2 - 2), ("reassociate", 1)]);
}

#[test]
fn the_row_says_why_a_second_run_may_go_on() {
    assert!(matches!(Phase::OriReassociateAndCommon.row().second_run, SecondRun::MayGoOn(_)));
}
