//! Instructions that no row of the opcode table is about go through the optimizer and come out as they were, in text
//! form and as PTX; ptxas takes what is printed, where it is.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::common;
use oriole_ir::ops::Opcode;
use oriole_ir::verify::verify_module;
use oriole_ir::{Module, parse_module};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, run_passes};
use oriole_optimizer::ssa;
use oriole_ptx::{self as ptx, Dialect};

/// Each line: a target, and an instruction that ptxas takes for it.
const INSTRUCTIONS: &str = include_str!("opaque/instructions.txt");
/// Kernels around such instructions.
const KERNELS: [&str; 2] = [include_str!("opaque/pipeline.ptx"), include_str!("opaque/tensor_memory.ptx")];

const REGISTERS: &str = ".reg .pred %p<4>; .reg .b8 %b<4>; .reg .b16 %h<9>; .reg .b32 %r<16>; .reg .f32 %f<16>;\n\
                         .reg .b64 %d<9>; .reg .b128 %q<4>;\n";

/// A kernel of these instructions, each in a block of its own that a parameter decides on. What is read is loaded, and
/// what may be written is stored.
fn kernel(target: &str, instructions: &[&str]) -> String {
    let mut text = format!(
        ".version 8.8\n.target {target}\n.address_size 64\n.shared .align 128 .b8 tile[4096];\n\
         .shared .align 8 .b64 bar;\n.visible .entry k(.param .align 64 .b8 map[128], .param .u64 data)\n{{\n{REGISTERS}"
    );
    text.push_str(".reg .b64 %at; .reg .b32 %which;\nld.param.u64 %at, [data];\nld.global.u32 %which, [%at];\n");
    text.push_str("setp.eq.u32 %p1, %which, 99;\nld.global.b128 %q1, [%at];\n");
    (1..9).for_each(|i| writeln!(text, "ld.global.u64 %d{i}, [%at+{}];", 8 * i).expect("it is a string"));
    (1..16).for_each(|i| writeln!(text, "ld.global.u32 %r{i}, [%at+{}];", 4 * i).expect("it is a string"));
    (1..16).for_each(|i| writeln!(text, "ld.global.f32 %f{i}, [%at+{}];", 64 + 4 * i).expect("it is a string"));
    (1..9).for_each(|i| writeln!(text, "ld.global.u16 %h{i}, [%at+{}];", 2 * i).expect("it is a string"));
    (1..4).for_each(|i| writeln!(text, "ld.global.u8 %b{i}, [%at+{i}];").expect("it is a string"));
    for (number, instruction) in instructions.iter().enumerate() {
        let test = format!("setp.ne.u32 %p2, %which, {number};\n@%p2 bra L{number};\n");
        writeln!(text, "{test}{instruction}\nL{number}:").expect("it is a string");
    }
    (1..16).for_each(|i| writeln!(text, "st.global.u32 [%at+{}], %r{i};", 4 * i).expect("it is a string"));
    (1..5).for_each(|i| writeln!(text, "st.global.f32 [%at+{}], %f{i};", 64 + 4 * i).expect("it is a string"));
    text + "st.global.u16 [%at], %h1;\nst.global.u8 [%at+2], %b1;\nst.global.u64 [%at+8], %d1;\n\
            selp.u32 %r1, 1, 0, %p1;\nst.global.u32 [%at+4], %r1;\nret;\n}\n"
}

/// The kernels of all instructions: those that work on a pair of CTAs stand apart, as ptxas wants it.
fn kernels() -> Vec<String> {
    let mut by_target: BTreeMap<(&str, bool), Vec<&str>> = BTreeMap::new();
    for line in INSTRUCTIONS.lines().filter(|line| !line.starts_with("//")) {
        let (target, instruction) = line.split_once(' ').expect("a target and an instruction");
        by_target.entry((target, instruction.contains("cta_group::2"))).or_default().push(instruction);
    }
    by_target.iter().map(|((target, _), instructions)| kernel(target, instructions)).collect()
}

fn run(module: &mut Module) {
    let target = module.sm().expect("the target is known");
    let options = Options { verify: true, ..Options::new(target) };
    let report = run_passes(&Pipeline::ptxas(), module, &options, &mut ());
    report.unwrap_or_else(|error| panic!("{error}"));
}

fn optimized(text: &str) -> Module {
    let mut module = ptx::read(text).unwrap_or_else(|faults| panic!("{}: {text}", faults[0].message));
    ssa::construct_module(&mut module);
    run(&mut module);
    module
}

/// The names of what is carried through, in the order of their texts.
fn carried(module: &Module) -> Vec<String> {
    let functions = module.functions.values();
    let named = functions.flat_map(|func| {
        let insts = func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Opaque);
        insts.map(|inst| func.text(func.srcs(inst)[0]).expect("it has a text").to_owned())
    });
    let mut names: Vec<String> = named.collect();
    names.sort_unstable();
    names
}

#[test]
fn what_is_carried_through_comes_out_as_it_was() {
    let mut count = 0;
    for text in kernels().iter().map(String::as_str).chain(KERNELS) {
        let before = carried(&ptx::read(text).unwrap_or_else(|faults| panic!("{}", faults[0].message)));
        let module = optimized(text);
        assert_eq!(carried(&module), before, "{module}");
        assert_eq!(parse_module(&module.to_string()).as_ref(), Ok(&module));
        let printed = ptx::emit(&ssa::destructed(&module)).expect("PTX has words for it");
        let again = ptx::read(&printed).unwrap_or_else(|faults| panic!("{}\n{printed}", faults[0].message));
        assert_eq!(verify_module(&again), Ok(()));
        assert_eq!(carried(&again), before, "{printed}");
        count += before.len();
    }
    // All but hints and fences that have rows.
    assert!(count >= 90, "{count}");
}

#[test]
fn ptxas_takes_what_is_carried_through() {
    let Some(tool) = common::ptxas() else {
        println!("skipped: no ptxas");
        return;
    };
    for (number, text) in kernels().iter().map(String::as_str).chain(KERNELS).enumerate() {
        let printed = ptx::emit(&ssa::destructed(&optimized(text))).expect("PTX has words for it");
        let name = format!("opaque{number}");
        let complaints = common::complaints(&tool, &common::compile(&printed), &name, &printed);
        assert_eq!(complaints, Ok(BTreeMap::new()), "{printed}");
    }
}

/// An instruction of which only the name is known reads and writes its first register: what stood there before stays,
/// and what is there behind comes from it.
#[test]
fn an_unknown_first_register_is_read_and_written() {
    let text = ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
                .reg .b32 %r<4>; .reg .b16 %h<3>; .reg .b64 %d;\nld.param.u64 %d, [out];\nmov.b32 %r1, 5;\n\
                mov.b16 %h1, 6;\nmov.b32 %r2, %r1;\nnew.thing.b32 %r1, [%d+-4], %h1;\nnew.thing.b16 %h1, 0f3F800000;\n\
                cvt.u32.u16 %r3, %h1;\nadd.u32 %r3, %r3, %r2;\nst.global.u32 [%d], %r1;\nst.global.u32 [%d+4], %r3;\n\
                ret;\n}\n";
    let faults = ptx::read(text).expect_err("the name is not known");
    assert!(faults[0].help.contains("--opaque"), "{}", faults[0].help);
    let dialect = Dialect { opaque: vec!["new".to_owned()] };
    let mut module = ptx::read_dialect(text, &dialect).unwrap_or_else(|faults| panic!("{}", faults[0].message));
    ssa::construct_module(&mut module);
    run(&mut module);
    let printed = ptx::emit(&ssa::destructed(&module)).expect("PTX has words for it");
    let lines: Vec<&str> = printed.lines().map(str::trim).collect();
    for (name, ty) in [("new.thing.b32", "b32"), ("new.thing.b16", "b16")] {
        let at = lines.iter().position(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{printed}"));
        let register = lines[at].split([' ', ',']).nth(1).unwrap_or_default();
        // It gets its value right before, and the value continues right behind.
        let (before, behind) = (format!("mov.{ty} {register}, "), format!(", {register};"));
        assert!(lines[..at].iter().any(|line| line.starts_with(&before)), "{printed}");
        assert!(lines[at + 1..].iter().any(|line| line.starts_with("mov.") && line.ends_with(&behind)), "{printed}");
    }
    assert!(printed.contains("+-4], %h"), "{printed}");
}
