//! A phase of one's own, which makes `x * 2` of `x + x`: checked step by step, fuzzed, and reduced where it goes wrong.
//!
//! `cargo run` in this folder. Copy the crate, put your phase in place of [`double`], and try what happens when it is
//! wrong: `cargo run -- 3` multiplies by 3, and leaves the smallest kernel that shows it.

use oriole_campaign::{CampaignError, Options, store::Store};
use oriole_check::{CheckOptions, check_module, kernels, reduce};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Function, Inst, InstBuilder, Module, Operand};
use oriole_optimizer::pass::{Changed, Element, PhaseContext, Run};
use oriole_optimizer::pipeline::Pipeline;

/// The phase. It asks for leave before each change, by which a finding names the guilty one.
fn double<const FACTOR: u32>(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let is_sum = |inst: &Inst| {
        let (data, srcs) = (func.inst(*inst), func.srcs(*inst));
        let adds = data.opcode == Opcode::IAdd && data.field::<Type>() == Some(Type::U32);
        adds && data.guard.is_none() && srcs[0] == srcs[1]
    };
    let mut changed = Changed::No;
    for inst in func.layout_insts().filter(is_sum).collect::<Vec<Inst>>() {
        let Some(dst) = func.defs(inst).next().filter(|_| cx.rewrite("sum-to-product")) else { break };
        let srcs = [func.srcs(inst)[0], Operand::imm(FACTOR)];
        InstBuilder::new(Opcode::IMulLo).field(Type::U32).dst(dst).srcs(srcs).replace(func, inst);
        changed = Changed::Yes;
    }
    changed
}

/// Checks a kernel step by step and fuzzes: for each finding, printed, the smallest kernel that shows it.
pub fn findings<const FACTOR: u32>(cases: u64) -> Result<Vec<Module>, CampaignError> {
    let passes = Pipeline::from([Element::custom("Double", Run::function(double::<FACTOR>))]);
    let check = CheckOptions { passes, randoms: 0, ..CheckOptions::default() };
    let options = Options { check, ..Options::new(1, cases) };
    // Each kernel by itself is `kernels::case(seed, number, …)`; a campaign does many at once, as `oriole fuzz`.
    // `Store::open_or_create` in place of `in_memory` would keep what is found for `oriole findings`.
    let summary = oriole_campaign::run(&options, Store::in_memory()?, |_| ())?;
    println!("{} cases, {} findings", summary.cases(), summary.hits.len());
    let mut smallest = Vec::new();
    for case in summary.store.findings()?.iter().filter_map(|stored| stored.record.first.as_ref()) {
        let kernel = kernels::case(1, case.number, &options.config);
        for finding in check_module("the case", &kernel.module, &kernel.launches, &options.check)?.findings {
            let reduced = reduce::finding(&finding, &options.check, &reduce::Options::default())?;
            println!("{finding}\n{}", reduced.evidence.module);
            smallest.push(reduced.evidence.module);
        }
    }
    Ok(smallest)
}

/// Exit code 0 where nothing was found.
pub fn main() -> Result<(), CampaignError> {
    let wrong = std::env::args().nth(1).is_some_and(|factor| factor == "3");
    let found = if wrong { findings::<3>(2_000)? } else { findings::<2>(2_000)? };
    std::process::exit(i32::from(!found.is_empty()))
}
