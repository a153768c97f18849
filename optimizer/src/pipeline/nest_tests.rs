//! The runner on nests, and on modules whose functions come and go.

use std::sync::{Arc, Mutex};

use super::runner::*;
use super::runner_tests::{UNREACHABLE, options, planted};
use super::sequence::Pipeline;
use super::table::NESTS;
use super::text::parse;
use super::workers::{Unlimited, Workers};
use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Module, parse_module};
use oriole_pass::pass::{Changed, ComponentFn, Element, PassId, Run, Work};

/// Looks at the module between elements.
struct Watching;

impl Observer for Watching {}

/// The passes that run and their functions, in order.
fn order_of(text: &str, module: &mut Module, observer: &mut dyn Observer) -> Vec<String> {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let watch = |name: &'static str| {
        let seen = seen.clone();
        Run::function(move |func: &mut Function, _| {
            seen.lock().expect("no test panics here").push(format!("{name} {}", func.name));
            Changed::No
        })
    };
    let mut pipeline = parse(text).expect("a pipeline");
    for name in ["gvn", "dse", "sccp"] {
        pipeline.change(PassId::first(name), |element| Element {
            inside: element.inside,
            ..Element::custom(name, watch(name))
        });
    }
    run_passes(&pipeline, module, &options(), observer).expect("a valid run");
    seen.lock().expect("no test panics here").clone()
}

const CHAIN: &str = "target sm_90 ptx 9.0\ndevice @top ssa {\nbb0:\n  call @middle() -> ()\n  ret\n}\n\
    device @middle ssa {\nbb0:\n  call @leaf() -> ()\n  ret\n}\ndevice @leaf ssa {\nbb0:\n  ret\n}\n";

#[test]
fn nests_run_all_inside_on_one_unit_before_the_next() {
    let mut module = parse_module(CHAIN).expect("the text is a module");
    let by_pass = order_of("gvn,dse", &mut module, &mut Watching);
    assert_eq!(by_pass, ["gvn top", "gvn middle", "gvn leaf", "dse top", "dse middle", "dse leaf"]);
    // Where nobody looks between them, passes on functions that follow each other are as in a nest.
    for text in ["function(gvn,dse)", "gvn,dse"] {
        let by_function = order_of(text, &mut module, &mut ());
        assert_eq!(by_function, ["gvn top", "dse top", "gvn middle", "dse middle", "gvn leaf", "dse leaf"]);
    }
    let callees_first = order_of("cgscc(function(gvn,dse),sccp)", &mut module, &mut ());
    let of = |name: &str| ["gvn", "dse", "sccp"].map(|pass| format!("{pass} {name}"));
    assert_eq!(callees_first, ["leaf", "middle", "top"].map(of).concat());
}

/// A component whose calls go falls apart, and its parts are visited callees first.
#[test]
fn parts_of_a_component_are_visited_again() {
    let text = "target sm_90 ptx 9.0\ndevice @a ssa {\nbb0:\n  call @b() -> ()\n  ret\n}\ndevice @b ssa {\nbb0:\n  \
        call @a() -> ()\n  ret\n}\nentry @k ssa {\nbb0:\n  call @a() -> ()\n  ret\n}\n";
    let mut module = parse_module(text).expect("the text is a module");
    let seen: Arc<Mutex<Vec<Vec<u32>>>> = Arc::default();
    let visits = seen.clone();
    let cut: Box<ComponentFn> = Box::new(move |module, members, cx| {
        visits.lock().expect("no test panics here").push(members.iter().map(|id| id.as_u32()).collect());
        if members.len() == 1 {
            return Changed::No;
        }
        cx.function(module, members[1], |func, cx| {
            let call = func.layout_insts().find(|inst| func.inst(*inst).opcode == Opcode::Call);
            let call = call.filter(|_| cx.rewrite("cut"));
            call.into_iter().for_each(|call| func.remove_inst(call));
            Changed::when(call.is_some())
        })
    });
    let pass = Element::custom("Cut", Run::Component(Work::Shared(Arc::from(cut))));
    run_passes(&[pass], &mut module, &options(), &mut ()).expect("a valid run");
    assert_eq!(*seen.lock().expect("no test panics here"), [vec![0, 1], vec![1], vec![0], vec![2]]);
}

/// As many functions as make several threads worth while, each larger than the one before.
fn many_functions() -> Module {
    let function = |of: usize| {
        let last = 100 + 5 * of;
        let add = |at: usize| format!("  %r{} = iadd.u32 %r{at}, {}\n", at + 1, of + at);
        let adds: String = (1..last).map(add).collect();
        format!("entry @k{of} ssa {{\nbb0:\n  %r1 = mov.b32 {of}\n{adds}  st.global.b32 [8], %r{last}\n  ret\n}}\n")
    };
    let text: String = (0..40).map(function).collect();
    parse_module(&format!("target sm_90 ptx 9.0\n{text}")).unwrap_or_else(|error| panic!("{error}"))
}

/// Report, counters, the last change and what observers hear are those of one thread.
#[test]
fn several_threads_report_what_one_does() {
    struct Hears(Vec<String>);
    impl Observer for Hears {
        fn watches(&self) -> bool {
            false
        }
        fn remark(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
    }
    let says = Run::function(|func: &mut Function, cx| {
        cx.remark("dump-remat", || func.name.clone());
        Changed::No
    });
    let fold = parse("GeneralOptimizeEarly,function(early-cse,dce)").expect("a pipeline");
    let pipeline: Vec<Element> = [vec![Element::custom("Says", says)], fold.to_vec(), vec![planted()]].concat();
    let outcome = |threads: usize| {
        let mut options = Options { workers: Workers::new(threads, Arc::new(Unlimited)), ..options() };
        options.pass_options.set("dump-remat").expect("an option");
        let (mut module, mut hears) = (many_functions(), Hears(Vec::new()));
        let report = run_passes(&pipeline, &mut module, &options, &mut hears).expect("a valid run");
        (report, hears.0, module)
    };
    let (report, heard, module) = outcome(1);
    assert_eq!(heard.len(), 40);
    let last = report.last_rewrite.as_ref().expect("stores are dropped");
    assert_eq!((last.pass.name, last.function.as_deref()), ("DropStores", Some("k39")));
    assert!(report.rewrites > 40 && report.passes.iter().any(|pass| !pass.statistics.is_empty()));
    for threads in [2, 3, 8] {
        let several = outcome(threads);
        assert_eq!((&several.0, &several.1), (&report, &heard), "{threads} threads");
        assert!(several.2 == module, "{threads} threads");
    }
}

/// The first function is blamed, though the largest is worked on first.
#[test]
fn several_threads_blame_what_one_does() {
    let endless = Run::function(|func: &mut Function, cx| {
        while func.inst_count() > 130 && cx.rewrite("again") {}
        Changed::No
    });
    let passes = [Element::custom("Endless", endless)];
    let error = |threads: usize| {
        let options = Options { workers: Workers::new(threads, Arc::new(Unlimited)), ..options() };
        run_passes(&passes, &mut many_functions(), &options, &mut ()).expect_err("it has no end").to_string()
    };
    let alone = error(1);
    assert!(alone.starts_with("Endless does not end on function `k6`"), "{alone}");
    assert_eq!([2, 8].map(error), [alone.clone(), alone]);
}

/// The reports of what is inside a nest sum up what it did on all units.
#[test]
fn reports_of_a_nest_count_every_unit() {
    let mut module = parse_module(&format!("{CHAIN}{UNREACHABLE}")).expect("the text is a module");
    let inner = planted();
    let nest = Element { inside: vec![inner], ..Element::from(&NESTS[2]) };
    let report = run_passes(&Pipeline::from([nest]), &mut module, &options(), &mut ()).expect("a valid run");
    let rows: Vec<_> = report.passes.iter().map(|pass| (pass.id.name, pass.rewrites, pass.skipped)).collect();
    assert_eq!(rows, [("function", 1, None), ("DropStores", 1, None)]);
    let last = report.last_rewrite.expect("a store is dropped");
    assert_eq!((last.pass.name, last.function.as_deref()), ("DropStores", Some("k")));
}

#[test]
fn functions_that_a_pass_removes_take_their_analyses_along() {
    let mut module = parse_module(CHAIN).expect("the text is a module");
    let remove = Run::module(|module, cx| {
        let top = module.function_named("top").expect("it is there");
        let granted = cx.rewrite("remove");
        if granted {
            cx.remove_symbols(module, &[top], &[]);
        }
        Changed::when(granted)
    });
    let mut known = Known::default();
    let passes = [parse("OriPerformLiveDeadFirst").expect("a pipeline")[0].clone(), Element::custom("Remove", remove)];
    run_passes_with(&passes, &mut module, &options(), &mut (), &mut known).expect("a valid run");
    assert_eq!(module.functions.values().map(|func| func.name.as_str()).collect::<Vec<_>>(), ["middle", "leaf"]);
    // In debug builds, each answer about the functions that stay is compared with a new one.
    run_passes_with(&passes[..1], &mut module, &options(), &mut (), &mut known).expect("a valid run");
}
