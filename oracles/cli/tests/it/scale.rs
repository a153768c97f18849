//! Large kernels go through every step on a small stack, and come back from both text forms.
//!
//! What recursed once for each block, branch, scope or value would need some bytes of stack for each: 10,000 levels do
//! not fit the stack of these threads. How time and memory grow is what `benches/scale.rs` measures.

use oriole_check::target_of;
use oriole_generate::shapes::Shape;
use oriole_interp::Executable;
use oriole_ir::verify::verify_module;
use oriole_ir::{Module, parse_module};
use oriole_optimizer::pipeline::runner::{Options, run};
use oriole_optimizer::ssa;
use oriole_ptx as ptx;

/// Bytes; thirteen for each level of nesting.
const STACK: usize = 128 << 10;
/// Seven make a level.
const INSTRUCTIONS: usize = 70_000;

/// Runs work on a small stack; its panics are the test's.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread starts");
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn verified(module: &Module, step: &str, name: &str) {
    let faults = verify_module(module).err().unwrap_or_default();
    assert!(faults.is_empty(), "{name} is invalid after {step}: {}", faults[0]);
}

/// The kernel after the phases, each of which leaves it valid.
fn optimized(shape: Shape, name: &str) -> Module {
    let source = shape.kernel(INSTRUCTIONS);
    let module = ptx::parse(&source).and_then(|tree| ptx::lower(&tree, &source));
    let mut module = module.unwrap_or_else(|faults| panic!("{name}: {}", faults[0].message));
    verified(&module, "lowering", name);
    module.functions.values_mut().for_each(ssa::construct);
    let mut options = Options::new(target_of(&module).expect("the target is known"));
    options.verify = true;
    let report = run(&mut module, &options, &mut ()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(report.passes.iter().any(|phase| phase.changed.is_yes()), "{name} gives the phases nothing to do");
    module
}

#[test]
fn no_step_needs_a_stack_as_deep_as_the_kernel() {
    for (shape, name) in Shape::ALL {
        on_a_small_stack(move || {
            let mut module = optimized(shape, name);
            Executable::new(&module).unwrap_or_else(|error| panic!("{name}: {error}"));
            let text = module.to_string();
            let again = parse_module(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(again == module, "{name} is another module in text form");
            let through_ptx = ptx::emit(&ssa::destructed(&module)).expect("PTX has words for what comes from PTX");
            ptx::read(&through_ptx).unwrap_or_else(|faults| panic!("{name}: {}", faults[0].message));
            module.functions.values_mut().for_each(ssa::destruct);
            verified(&module, "SSA destruction", name);
        });
    }
}

/// Scopes and expressions have a bound of their own; the text may open as many as it likes.
#[test]
fn texts_that_nest_deeply_are_refused() {
    const DEPTH: usize = 100_000;
    let body = |body: String| format!(".version 8.0\n.target sm_90\n.visible .entry k()\n{{\n{body}\nret;\n}}\n");
    let scopes = "{".repeat(DEPTH) + &"}".repeat(DEPTH);
    let sum = format!(".reg .b32 %r;\nmov.u32 %r, {}1{};", "(".repeat(DEPTH), ")".repeat(DEPTH));
    for text in [body(scopes), body(sum)] {
        on_a_small_stack(move || {
            let faults = ptx::read(&text).expect_err("this nests too deeply");
            assert!(faults.iter().any(|fault| fault.message.contains("levels deep")), "{:?}", faults[0].message);
        });
    }
}
