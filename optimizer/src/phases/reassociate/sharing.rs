//! Which plans compute the same: what reordering a tree is good for.
//!
//! Each operation of a plan is numbered by its opcode, its width and what it reads, so equal numbers mean equal
//! beginnings of trees. A plan shares an operation with one that was met before where that one's block dominates its
//! own. Cost: operations.

use std::collections::HashMap;

use super::chain::copy_type;
use super::plan::{Op, Plan, Src};
use crate::analysis::{Cfg, Dominators};
use oriole_ir::ops::{Flags, Opcode, Type};
use oriole_ir::Block;

/// What an operation computes: reads of results are by number.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Expression {
    opcode: Opcode,
    ty: Type,
    srcs: Vec<Src>,
}

/// For each plan, whether it shares an operation with another one.
pub(super) fn shared(plans: &[(Block, Plan)], cfg: &Cfg, dominators: &Dominators) -> Vec<bool> {
    let mut numbers: HashMap<Expression, u32> = HashMap::new();
    // By number: the plan that had it first.
    let mut first: Vec<usize> = Vec::new();
    let mut shares = vec![false; plans.len()];
    for (at, (block, plan)) in plans.iter().enumerate() {
        let mut results: Vec<u32> = Vec::with_capacity(plan.ops.len());
        for op in &plan.ops {
            let number = *numbers.entry(expression(op, &results)).or_insert(first.len() as u32);
            results.push(number);
            let Some(earlier) = first.get(number as usize).copied() else {
                first.push(at);
                continue;
            };
            if earlier != at && dominators.dominates(cfg, plans[earlier].0, *block) {
                (shares[earlier], shares[at]) = (true, true);
            }
        }
    }
    shares
}

fn expression(op: &Op, results: &[u32]) -> Expression {
    let number = |src: &Src| match *src {
        Src::Result(result) => Src::Result(results[result as usize]),
        src => src,
    };
    // The sign of the type matters to the widening products alone.
    let ty = if op.opcode.is(Flags::SIGNLESS) { copy_type(op.ty) } else { op.ty };
    Expression { opcode: op.opcode, ty, srcs: op.srcs.iter().map(number).collect() }
}
