//! Whether two programs differ only in where they round: compilers fuse products with sums unless they are told not to,
//! which changes results by design (CUDA C++ Programming Guide, "Floating-Point Standard").
//!
//! Each fused product of both programs becomes a product and a sum. If they do the same then, on a launch on which they
//! differ, whatever was fused explains the difference. Which products are fused does not matter to that.

use oriole_interp::{Executable, RunOptions, RunResult};
use oriole_ir::ops::{Ftz, Oob, Opcode, Relu, Rounding, Saturate, Type};
use oriole_ir::{Function, Inst, InstBuilder, Module};
use oriole_optimizer::ssa;

use super::equivalence::compare;
use super::{Judge, budget};

impl Judge<'_> {
    /// Whether a program that differs from the original on the launch does the same once neither has fused products.
    pub fn is_explained_by_fusion(&self, changed: &Module) -> bool {
        let (before, after) = (unfused(self.original), unfused(changed));
        if before.is_none() && after.is_none() {
            return false;
        }
        let options = RunOptions { steps: Some(budget(self.before.steps)), ..RunOptions::default() };
        let run = |own: &Module, other: Option<Module>| -> Option<RunResult> {
            Executable::new(other.as_ref().unwrap_or(own)).ok()?.run(&self.launch, &options).ok()
        };
        let (Some(before), Some(mut after)) = (run(self.original, before), run(changed, after)) else { return false };
        self.settle(&mut after);
        compare(&before, &after).is_good()
    }
}

/// A program with a product and a sum for each fused product; `None` where it has none.
fn unfused(module: &Module) -> Option<Module> {
    let mut module = ssa::destructed(module);
    let mut any = false;
    for func in module.functions.values_mut() {
        let fused: Vec<Inst> = func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::FFma).collect();
        for inst in fused {
            any |= take_apart(func, inst);
        }
    }
    any.then_some(module)
}

/// Puts a product and a sum in place of a fused product. One that keeps what is out of bounds apart, or is cut off at
/// zero, stays.
fn take_apart(func: &mut Function, inst: Inst) -> bool {
    let data = *func.inst(inst);
    let (dst, &[a, b, c]) = (func.defs(inst).next(), func.srcs(inst)) else { return false };
    let (Some(dst), Some(ty)) = (dst, data.field::<Type>()) else { return false };
    if data.field::<Oob>() == Some(Oob::Oob) || data.field::<Relu>() == Some(Relu::Relu) {
        return false;
    }
    let info = func.regs()[dst];
    let product = func.new_reg(info);
    let with = |opcode| {
        let builder = InstBuilder::new(opcode).field(ty);
        let builder = data.field::<Rounding>().into_iter().fold(builder, InstBuilder::field);
        data.field::<Ftz>().into_iter().fold(builder, InstBuilder::field)
    };
    with(Opcode::FMul).dst(product).src(a).src(b).insert_before(func, inst);
    let sum = data.field::<Saturate>().into_iter().fold(with(Opcode::FAdd), InstBuilder::field);
    sum.dst(dst).src(product).src(c).guard(data.guard).insert_before(func, inst);
    func.remove_inst(inst);
    true
}
