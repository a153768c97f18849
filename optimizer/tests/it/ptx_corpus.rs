//! Real kernels through the front end and out again: each lowers to a valid module, survives the text form, and is
//! printed as PTX that lowers again and that ptxas accepts where that tool is found.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::common;
use oriole_ir as ir;
use oriole_ir::ops::Flags;
use oriole_ir::parse_module;
use oriole_ir::verify::verify_module;
use oriole_optimizer::ssa;
use oriole_ptx as ptx;

/// Name and text of every kernel of the corpus.
fn corpus() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../corpus/kernels");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the corpus is there").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            out.push((name, std::fs::read_to_string(&path).expect("a corpus file is text")));
        }
    }
    out.sort();
    assert!(out.len() >= 24, "the corpus has {} kernels", out.len());
    out
}

/// A kernel of the corpus in virtual form.
fn read(name: &str, text: &str) -> ir::Module {
    ptx::read(text).unwrap_or_else(|faults| {
        let (line, column) = faults[0].line_column(text);
        panic!("{name}:{line}:{column}: {}; {}", faults[0], faults[0].help)
    })
}

/// How often each opcode with an effect beyond its results occurs.
fn effects(module: &ir::Module) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for func in module.functions.values() {
        for inst in func.layout_insts() {
            let data = func.inst(inst);
            if (data.is(Flags::EFFECT) || data.is(Flags::CONVERGENT)) && !data.is(Flags::TERMINATOR) {
                *counts.entry(data.opcode.row().name.to_owned()).or_insert(0) += 1;
            }
        }
    }
    counts
}

#[test]
fn corpus_lowers_to_valid_modules() {
    for (name, text) in corpus() {
        let mut module = read(&name, &text);
        verify_module(&module).unwrap_or_else(|faults| panic!("{name}, virtual form: {faults:#?}"));
        assert!(module.functions.values().all(|func| func.form == ir::Form::Virtual), "{name}");
        ssa::construct_module(&mut module);
        verify_module(&module).unwrap_or_else(|faults| panic!("{name}, SSA form: {faults:#?}"));
        let again = parse_module(&module.to_string()).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(module, again, "{name}");
    }
}

#[test]
fn printed_corpus_lowers_again_with_the_same_effects() {
    for (name, text) in corpus() {
        let mut module = read(&name, &text);
        ssa::construct_module(&mut module);
        let printed = ptx::emit(&ssa::destructed(&module)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut again = read(&name, &printed);
        ssa::construct_module(&mut again);
        let (mut before, mut after) = (effects(&module), effects(&again));
        // Behind a copy into the registers of a product stands a fence more.
        let fences = [&mut before, &mut after].map(|effects| effects.remove("wgmma.fence").unwrap_or(0));
        assert!(fences[0] <= fences[1] && (fences[0] > 0) == (fences[1] > 0), "{name}: {fences:?} fences");
        assert_eq!(before, after, "{name}");
        assert_eq!(module.functions.len(), again.functions.len(), "{name}");
    }
}

#[test]
fn ptxas_accepts_the_printed_corpus() {
    let Some(tool) = common::ptxas() else {
        println!("skipped: no ptxas");
        return;
    };
    for (name, text) in corpus() {
        let mut module = read(&name, &text);
        ssa::construct_module(&mut module);
        let printed = ptx::emit(&ssa::destructed(&module)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let faults = common::complaints(&tool, &common::compile(&printed), &format!("corpus_{name}"), &printed);
        let faults = faults.expect("ptxas says what it does not take");
        assert!(faults.is_empty(), "{name}: {faults:#?}");
    }
}
