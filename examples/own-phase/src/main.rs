//! A phase of one's own, which makes `x * 2` of `x + x`, fuzzed: each invented kernel runs before and after it.
//!
//! `cargo run` in this folder. Copy the crate, put your phase in place of [`double`], and try what happens when it is
//! wrong: with `3` for `2` below there is a finding within a second.

use oriole_campaign::{CampaignError, Options, store::Store};
use oriole_check::{CheckOptions, check_module, kernels};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Function, Inst, InstBuilder, Operand};
use oriole_optimizer::pass::{Changed, Element, PhaseContext, Run};
use oriole_optimizer::pipeline::Pipeline;

/// By what the sum of equal values is multiplied.
const FACTOR: u32 = 2;

/// The phase. It asks for leave before each change, by which a finding names the guilty one.
fn double(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let is_sum = |inst: &Inst| {
        let (data, srcs) = (func.inst(*inst), func.srcs(*inst));
        data.opcode == Opcode::IAdd
            && data.field::<Type>() == Some(Type::U32)
            && data.guard.is_none()
            && srcs[0] == srcs[1]
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

/// Fuzzes the phase, and says how many findings there are.
pub fn findings(cases: u64) -> Result<usize, CampaignError> {
    let passes = Pipeline::from([Element::custom("Double", Run::function(double))]);
    let check = CheckOptions { passes, randoms: 0, ..CheckOptions::default() };
    // One kernel, step by step: the first of those below.
    let options = Options { check, ..Options::new(1, cases) };
    let kernel = kernels::case(1, 0, &options.config);
    let report = check_module("case 0", &kernel.module, &kernel.launches, &options.check)?;
    report.findings.iter().for_each(|finding| println!("{finding}"));
    // Many of them, as `oriole fuzz` does. `Store::open_or_create` would keep what is found for `oriole findings`.
    let summary = oriole_campaign::run(&options, Store::in_memory()?, |_| ())?;
    for stored in summary.store.findings()? {
        println!("{} {}: {}", stored.id, stored.record.key.rule_id(), stored.record.detail);
    }
    println!("{} cases, {} findings", summary.cases(), summary.hits.len());
    Ok(summary.hits.len())
}

/// Exit code 0 where nothing was found.
pub fn main() -> Result<(), CampaignError> {
    std::process::exit(i32::from(findings(2_000)? > 0))
}
