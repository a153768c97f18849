//! Whether two programs differ only in where they round: compilers fuse products with sums unless they are told not to,
//! which changes results by design (CUDA C++ Programming Guide, "Floating-Point Standard").
//!
//! Each fused product of both programs becomes a product and a sum. If they do the same then, on a launch on which they
//! differ, whatever was fused explains the difference. Which products are fused does not matter to that. Machine code
//! cannot be changed so. There the program gets fused products, as many as it may: where a product and a sum say
//! nothing of rounding, PTX lets a compiler fuse them (PTX ISA, "add", "mul").

use std::collections::HashMap;

use oriole_interp::{Executable, RunOptions, RunResult};
use oriole_ir::ops::{Ftz, Oob, Opcode, Relu, Rounding, Saturate, Type};
use oriole_ir::{Function, Inst, InstBuilder, InstData, Module, Operand, Reg};
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

/// A program in which each sum of a product is a fused product, where PTX lets it be: of two products the first is
/// fused, and in the second program the second. None where there is no such sum.
pub(super) fn fused(module: &Module) -> Vec<Module> {
    let mut all: Vec<Module> = Vec::new();
    for takes in [[0, 1], [1, 0]] {
        let mut module = module.clone();
        ssa::construct_module(&mut module);
        let mut any = false;
        for func in module.functions.values_mut() {
            let insts: Vec<Inst> = func.layout_insts().collect();
            let is_product = |inst: &Inst| func.inst(*inst).opcode == Opcode::FMul && leaves_rounding(func.inst(*inst));
            let products = insts.iter().copied().filter(is_product);
            let products: HashMap<Reg, Inst> =
                products.filter_map(|inst| Some((func.defs(inst).next()?, inst))).collect();
            for inst in insts {
                any |= takes.into_iter().any(|side| put_together(func, &products, inst, side));
            }
        }
        all.extend(any.then_some(module));
    }
    all
}

/// Whether an operation may be fused with another: it is always executed, rounds to nearest without saying so, and
/// keeps to its range.
fn leaves_rounding(data: &InstData) -> bool {
    data.guard.is_none() && data.field::<Rounding>() == Some(Rounding::Default)
}

/// Puts a fused product in place of a sum or difference, one side of which is a product.
fn put_together(func: &mut Function, products: &HashMap<Reg, Inst>, inst: Inst, side: usize) -> bool {
    let data = *func.inst(inst);
    if !matches!(data.opcode, Opcode::FAdd | Opcode::FSub) || !leaves_rounding(&data) {
        return false;
    }
    let (Some(dst), Some(ty), &[a, b]) = (func.defs(inst).next(), data.field::<Type>(), func.srcs(inst)) else {
        return false;
    };
    let (Operand::Reg(reg), other) = (if side == 0 { (a, b) } else { (b, a) }) else { return false };
    let Some(product) = products.get(&reg).map(|product| (*func.inst(*product), func.srcs(*product).to_vec())) else {
        return false;
    };
    let (made, &[x, y]) = (product.0, &product.1[..]) else { return false };
    let saturates = made.field::<Saturate>() != Some(Saturate::No);
    if saturates || made.field::<Type>() != Some(ty) || made.field::<Ftz>() != data.field::<Ftz>() {
        return false;
    }
    let ftz = |builder: InstBuilder| data.field::<Ftz>().into_iter().fold(builder.field(ty), InstBuilder::field);
    // A difference has the sign of what is taken away changed: the sum's, or that of the product.
    let mut negated = |operand: Operand| {
        let reg = func.new_reg(func.regs()[dst]);
        ftz(InstBuilder::new(Opcode::FNeg)).dst(reg).src(operand).insert_before(func, inst);
        Operand::Reg(reg)
    };
    let (x, other) = match (data.opcode, side) {
        (Opcode::FSub, 0) => (x, negated(other)),
        (Opcode::FSub, _) => (negated(x), other),
        _ => (x, other),
    };
    let builder = ftz(InstBuilder::new(Opcode::FFma)).field(Rounding::Rn).dst(dst).src(x).src(y).src(other);
    data.field::<Saturate>().into_iter().fold(builder, InstBuilder::field).insert_before(func, inst);
    func.remove_inst(inst);
    true
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
