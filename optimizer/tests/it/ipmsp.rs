//! ipmsp without copies of functions.

use oriole_ir::parse_module;
use oriole_ir::sm::Target;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_optimizer::pipeline::text::parse;

/// A function that is called with an address of shared memory and two others, of which the second may be of another
/// space; the text of the function behind the pass, which makes no copies.
fn called_with(second: &str) -> String {
    let text = format!(
        "target sm_90 ptx 9.0\nglobal @s: b32[64] shared align 4\nglobal @g: b32[64] global align 4\ndevice @f ssa {{\n  \
         param $p: u64 param align 8\nbb0:\n  %d0 = ld.param.u64 [$p]\n  st.b32 [%d0], 7\n  ret\n}}\nentry @k ssa {{\n  \
         local $q: u64 param align 8\n  local $r: u64 param align 8\nbb0:\n  %d0 = cvta.shared.u64 @s\n  %d1 = {second}\n  \
         st.param.b64 [$q], %d0\n  call @f($q) -> ()\n  st.param.b64 [$r], %d1\n  call @f($r) -> ()\n  ret\n}}\n"
    );
    let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut options = Options::new(Target::portable(90).expect("the machine is known"));
    options.pass_options.set("do-clone-for-ip-msp=0").expect("an option");
    run_passes(&parse("ipmsp").expect("a pass"), &mut module, &options, &mut ()).expect("a valid run");
    let id = module.function_named("f").expect("it is there");
    assert_eq!(module.functions.len(), 2, "nothing is copied");
    oriole_ir::function_to_string(&module.functions[id], Some(&module))
}

#[test]
fn without_copies_only_what_all_calls_pass_is_said() {
    assert!(called_with("cvta.shared.u64 @s").contains("cvta.to.shared"), "both lead to shared memory");
    assert!(!called_with("cvta.global.u64 @g").contains("cvta"), "one leads elsewhere");
    assert!(!called_with("mov.b64 8").contains("cvta"), "nobody knows where one leads");
}
