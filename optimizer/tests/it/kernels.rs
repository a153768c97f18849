//! select-kernels and check-kernel-functions: what stays of a module, and what they refuse.

use oriole_ir::sm::Target;
use oriole_ir::{Module, parse_module};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, run_passes};

const MODULE: &str = "target sm_90 ptx 9.0\n\
    global @table: u64[1] global align 8 visible = 0x0000000000000000 address 0 8 @listed +0\n\
    global @own: b32 global align 4\nglobal @tile: b32 const align 4\n\
    device @leaf ssa {\nbb0:\n  ret\n}\ndevice @listed ssa {\nbb0:\n  ret\n}\n\
    device @lost ssa {\nbb0:\n  call @lost() -> ()\n  call @leaf() -> ()\n  ret\n}\n\
    entry @a visible ssa {\nbb0:\n  call @leaf() -> ()\n  ret\n}\n\
    entry @b visible ssa {\nbb0:\n  %d0 = mov.b64 @tile\n  %r1 = ld.const.b32 [%d0]\n  ret\n}\n";

/// The names of what is left, or the error.
fn selected(arguments: &str) -> Result<String, String> {
    let mut module: Module = parse_module(MODULE).unwrap_or_else(|error| panic!("{error}"));
    let passes: Pipeline = format!("select-kernels{arguments}").parse().expect("it is a pipeline");
    let options = Options { verify: true, ..Options::new(Target::portable(90).expect("the machine is known")) };
    let before = module.clone();
    if let Err(error) = run_passes(&passes, &mut module, &options, &mut ()) {
        assert_eq!(module, before, "nothing is lost");
        return Err(error.to_string());
    }
    let functions = module.functions.values().map(|func| func.name.as_str());
    let globals = module.globals.values().map(|global| global.name.as_str());
    Ok(functions.chain(globals).collect::<Vec<&str>>().join(" "))
}

#[test]
fn what_a_kernel_needs_stays_with_it() {
    assert_eq!(selected("<a>").as_deref(), Ok("leaf listed a table own"));
    assert_eq!(selected("<b>").as_deref(), Ok("listed b table own tile"));
    assert_eq!(selected("<b;a>").as_deref(), Ok("leaf listed a b table own tile"));
    assert_eq!(selected("").as_deref(), Ok("leaf listed lost a b table own tile"), "nobody asked");
}

#[test]
fn a_name_that_no_kernel_has_is_an_error() {
    let message = "select-kernels refuses the module: no kernel is called `leaf`: there is `a`, `b`";
    assert_eq!(selected("<a;leaf>"), Err(message.to_owned()));
    let both = selected("<c;d>").expect_err("there are no such kernels");
    assert!(both.contains("`c`") && both.contains("`d`"), "{both}");
}

/// The objections to a module for a machine.
fn said(sm: u16, text: &str) -> String {
    let mut module: Module = parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let passes: Pipeline = "check-kernel-functions".parse().expect("it is a pipeline");
    let options = Options::new(Target::portable(sm).expect("the machine is known"));
    match run_passes(&passes, &mut module, &options, &mut ()) {
        Ok(report) => report.passes[0].skipped.map_or(String::new(), |reason| reason.to_string()),
        Err(error) => error.to_string(),
    }
}

/// A kernel with so many bytes of parameters, directives and variables.
fn kernel(version: &str, bytes: u32, more: &str) -> String {
    format!(
        "target sm_75 ptx {version}\nglobal @big: b8[49149] shared align 4\nglobal @small: b8[4] shared align 4\n\
         device @f ssa {{\nbb0:\n  st.shared.b32 [@small], 1\n  ret\n}}\n\
         entry @k visible ssa {{\n{more}  param $a: u32 param align 4\n  param $p: b8[{bytes}] param align 8\nbb0:\n  \
         call @f() -> ()\n  ret\n}}\n"
    )
}

#[test]
fn limits_are_those_of_ptxas() {
    let too_many = |most: u32, bytes: u32| {
        format!(
            "check-kernel-functions refuses the module: function `k`: parameters take {bytes} bytes, and {most} are \
             the most: pass what is large by address"
        )
    };
    assert_eq!(said(75, &kernel("8.1", 32756, "")), "");
    assert_eq!(said(75, &kernel("8.1", 32757, "")), too_many(32764, 32765));
    assert_eq!(said(75, &kernel("8.0", 4344, "")), "");
    assert_eq!(said(75, &kernel("8.0", 4345, "")), too_many(4352, 4353));
    assert_eq!(said(61, &kernel("8.1", 4345, "")), too_many(4352, 4353));
}

#[test]
fn shared_variables_count_where_the_kernel_leads_to_them() {
    let text = kernel("8.1", 4, "");
    assert_eq!(said(75, &text), "");
    let larger = said(75, &text.replace("bb0:\n  call", "bb0:\n  st.shared.b32 [@big], 2\n  call"));
    assert!(larger.contains("shared variables take 49153 bytes, and 49152 are the most"), "{larger}");
}

#[test]
fn directives_that_no_launch_satisfies_are_faults() {
    let with = |directives: &str| said(75, &kernel("8.1", 4, directives));
    assert_eq!(with("  directive maxntid 2048 1 1\n"), "", "it allows less");
    assert_eq!(with("  directive reqntid 32 32 1\n"), "");
    assert!(with("  directive reqntid 33 32\n").contains("asks for 1056 threads"));
    assert!(with("  directive reqntid 1 1 65\n").contains("asks for 65 threads"));
    assert!(with("  directive reqntid 32 0\n").contains("no extent is 0"));
    assert!(with("  directive maxntid 32\n  directive reqntid 32\n").contains("exclude each other"));
}

#[test]
fn all_faults_are_said_with_the_line() {
    let faulty = "  directive reqntid 2048\n";
    let said = said(75, &kernel("8.1", 40000, faulty).replace("call @f() -> ()", "call @f() -> () !7"));
    assert!(
        said.contains("function `k`, line 7: parameters take 40008 bytes") && said.contains("2048 threads"),
        "{said}"
    );
}
