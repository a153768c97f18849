//! nvvm-lower-barriers: which barriers become those of a warp.

use oriole_ir::parse_module;
use oriole_ir::sm::Target;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_optimizer::pipeline::text::parse;

/// How many barriers of a kernel with this directive become those of a warp.
fn lowered(directive: &str) -> u64 {
    let text = format!(
        "target sm_90 ptx 9.0\nentry @k ssa {{\n{directive}bb0:\n  st.shared.b32 [8], 1\n  bar.sync 0, 0\n  ret\n}}\n"
    );
    let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
    let options = Options::new(Target::portable(90).expect("the machine is known"));
    let passes = parse("nvvm-lower-barriers").expect("a pass");
    run_passes(&passes, &mut module, &options, &mut ()).expect("a valid run").rewrites
}

#[test]
fn only_a_cta_of_one_warp_waits_as_a_warp() {
    assert_eq!(["32 1 1", "8 4 1", "5 1 1"].map(|extent| lowered(&format!("  directive reqntid {extent}\n"))), [1; 3]);
    assert_eq!(
        ["33 1 1", "64 1 1", "32 2 1"].map(|extent| lowered(&format!("  directive reqntid {extent}\n"))),
        [0; 3]
    );
    assert_eq!(["", "  directive maxntid 32 1 1\n"].map(lowered), [0; 2], "fewer lanes may come");
}
