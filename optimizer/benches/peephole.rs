//! What matching costs per instruction with 10, 100 and 1,000 rules: real kernels, rules made from the built-in ones.
//!
//! The synthetic rules are built-in rules under other names whose constants are other constants, so that they look at
//! the same opcodes and operands as real rules do and rarely apply.

use std::path::{Path, PathBuf};

use divan::Bencher;
use divan::counter::ItemsCount;
use oriole_ir::{Function, Inst};
use oriole_optimizer::analysis::{BitMemo, Definitions, Uses};
use oriole_optimizer::codegen::peephole::applicable;
use oriole_optimizer::codegen::peephole::set::MachineRules;
use oriole_optimizer::peephole::{RuleSet, Subject};
use oriole_optimizer::ssa;
use oriole_ptx as ptx;
use oriole_sass::cubin::Cubin;
use oriole_sass::ori::in_place;

/// Runs the benchmark.
pub fn main() {
    divan::main();
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/kernels")
}

fn kernels() -> Vec<Function> {
    let mut paths: Vec<_> = std::fs::read_dir(corpus()).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    let kernels = paths.iter().filter(|path| path.extension().is_some_and(|e| e == "ptx")).take(40);
    kernels.flat_map(functions_of).collect()
}

/// The functions of a kernel of the corpus; none where it cannot be read.
fn functions_of(kernel: impl AsRef<Path>) -> Vec<Function> {
    let Ok(text) = std::fs::read_to_string(corpus().join(kernel)) else { return Vec::new() };
    let Ok(mut module) = ptx::read(&text) else { return Vec::new() };
    let functions = module.functions.values_mut().filter(|func| func.is_definition());
    functions
        .map(|func| {
            ssa::construct(func);
            func.clone()
        })
        .collect()
}

/// How many instructions of a function a rule applies to.
fn found(set: &RuleSet, func: &Function) -> usize {
    let (definitions, uses) = (Definitions::new(func), Uses::new(func));
    let subject = Subject { func, definitions: &definitions, uses: &uses, bits: &BitMemo::default() };
    let insts = func.layout_insts();
    insts.filter(|inst| set.find(subject, *inst, &subject.sources(*inst)).is_some()).count()
}

/// So many rules: single instances of built-in ones, then the same with other constants.
fn rules(count: usize) -> RuleSet {
    let mut text = String::new();
    let mut made = 0;
    for round in 0u64.. {
        for opcode in ["iadd.u32", "iadd.s32", "iadd.u64", "imul.lo.s32", "and.b32", "or.b32", "xor.b64", "imin.u32"] {
            for inner in ["iadd.u32", "imul.lo.s32", "shl.b32", "and.b32", "shr.u32", "selp.b32"] {
                if made == count {
                    return RuleSet::parse("made.rules", &text).unwrap_or_else(|error| panic!("{}", error.lines()));
                }
                let wide = opcode.ends_with("64");
                let (constant, other) = (1000 + 7 * round + made as u64, 3 + round);
                let deep =
                    format!("{opcode}({}, {})", source(inner, "x", other), source("shl.b32", "y", constant % 31));
                let left = match (wide, made % 3) {
                    (false, 0) => format!("{opcode}({}, {constant})", source(inner, "x", other)),
                    (false, 1) => deep.replace("y,", "_,"),
                    _ => format!("{opcode}(x, {constant})"),
                };
                text.push_str(&format!("rule r{made}: {left} => x\n"));
                made += 1;
            }
        }
    }
    unreachable!("the loop above has no end")
}

fn source(opcode: &str, name: &str, constant: u64) -> String {
    match opcode {
        "selp.b32" => format!("&selp.b32({name}, {constant}, _)"),
        _ => format!("&{opcode}({name}, {constant})"),
    }
}

#[divan::bench(args = [10, 100, 1000])]
fn match_all(bencher: Bencher<'_, '_>, count: usize) {
    measure(bencher, &rules(count));
}

#[divan::bench]
fn match_all_built_in(bencher: Bencher<'_, '_>) {
    measure(bencher, &RuleSet::builtin());
}

/// What the start of every program costs that optimizes: where the rules are in their files.
#[divan::bench]
fn load_built_in() -> RuleSet {
    RuleSet::load_builtin()
}

/// The same with what a small kernel needs: the rules about what it holds, read, resolved and compiled.
#[divan::bench]
fn start_with_built_in(bencher: Bencher<'_, '_>) {
    let functions = functions_of("saxpy.ptx");
    bencher.bench(|| {
        let set = RuleSet::load_builtin();
        functions.iter().map(|func| found(&set, func)).sum::<usize>()
    });
}

/// The same with everything resolved.
#[divan::bench(sample_count = 10)]
fn resolve_built_in() -> usize {
    RuleSet::load_builtin().patterns()
}

/// The functions of cubins of the corpus that ptxas has not optimized.
fn machine_code() -> Vec<(u16, Function)> {
    let folder = corpus().join("../cubins");
    let mut paths: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    let is_plain = |path: &PathBuf| path.to_string_lossy().ends_with("sm_90.O0.cubin");
    let cubins =
        paths.into_iter().filter(is_plain).take(20).filter_map(|path| Cubin::read(&std::fs::read(path).ok()?).ok());
    let functions = cubins.filter_map(|cubin| Some((cubin.target.sm, in_place::lift(&cubin).ok()?)));
    functions.flat_map(|(sm, module)| module.functions.into_iter().map(move |(_, func)| (sm, func))).collect()
}

/// Machine rules over code of the machine: the built-in ones, and with other numbers once more, so many times. An
/// instruction costs 1.97, 2.05 and 1.97 microseconds with 72, 288 and 1,152 rules, its values included (2026-11-29).
#[divan::bench(args = [1, 4, 16])]
fn machine_rules_cloned(bencher: Bencher<'_, '_>, times: u64) {
    let (mut functions, rules) = (machine_code(), MachineRules::builtin().cloned(times));
    let total: usize = functions.iter().map(|(_, func)| func.layout_insts().count()).sum();
    bencher
        .counter(ItemsCount::new(total))
        .bench_local(|| functions.iter_mut().filter_map(|(sm, func)| applicable(func, &rules, *sm)).sum::<usize>());
}

fn measure(bencher: Bencher<'_, '_>, set: &RuleSet) {
    let functions = kernels();
    let facts: Vec<_> = functions.iter().map(|func| (Definitions::new(func), Uses::new(func))).collect();
    let insts: Vec<Vec<Inst>> = functions.iter().map(|func| func.layout_insts().collect()).collect();
    let total: usize = insts.iter().map(Vec::len).sum();
    bencher.counter(ItemsCount::new(total)).bench(|| {
        let mut found = 0;
        for ((func, (definitions, uses)), insts) in functions.iter().zip(&facts).zip(&insts) {
            let subject = Subject { func, definitions, uses, bits: &BitMemo::default() };
            for inst in insts {
                let srcs = subject.sources(*inst);
                found += usize::from(set.find(subject, *inst, &srcs).is_some());
            }
        }
        found
    });
}
