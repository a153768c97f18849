//! Simplifications that are no rules, each with the reason.
//!
//! A rule says what one operation of known opcode and fields becomes, for any values of its captures. Guards are no
//! operands; folding and the order of operands are the same for every opcode that the table describes so; branches
//! change the graph, and phis with it.

use super::{CodeRule, Rewrite, View, is_pure};
use crate::fold::fold;
use oriole_ir::Operand;
use oriole_ir::ops::{Flags, Opcode};

pub(super) static RULES: &[CodeRule] = &[
    // About any operation's guard.
    CodeRule { name: "guard-constant", opcode: None, apply: guard_constant },
    CodeRule { name: "guard-not", opcode: None, apply: guard_not },
    // About all opcodes with a flag: the evaluator and the table say what is true of them.
    CodeRule { name: "fold", opcode: None, apply: folded },
    CodeRule { name: "constant-last", opcode: None, apply: constant_last },
    // Change the control-flow graph.
    CodeRule { name: "branch-constant", opcode: Some(Opcode::CBra), apply: branch_constant },
    CodeRule { name: "branch-same", opcode: Some(Opcode::CBra), apply: branch_same },
    CodeRule { name: "branch-not", opcode: Some(Opcode::CBra), apply: branch_not },
    CodeRule { name: "branch-table-constant", opcode: Some(Opcode::Brx), apply: branch_table_constant },
];

/// A guard that is always true goes; under one that is always false the `else` values are the results.
fn guard_constant(v: &View<'_>) -> Option<Rewrite> {
    let guard = v.data.guard?;
    let known = v.imm(v.source_of(Operand::Reg(guard.reg()), Opcode::Mov)?)?;
    if (known & 1 == 1) != guard.negated() {
        return Some(Rewrite::Guard(None));
    }
    Some(if v.subject.func.dsts(v.inst).is_empty() { Rewrite::Nothing } else { Rewrite::Otherwise })
}

fn guard_not(v: &View<'_>) -> Option<Rewrite> {
    let guard = v.data.guard?;
    let reg = v.source_of(Operand::Reg(guard.reg()), Opcode::Not)?.whole_reg()?;
    Some(Rewrite::Guard(Some(guard.opposite().with_reg(reg))))
}

fn folded(v: &View<'_>) -> Option<Rewrite> {
    if !is_pure(v.data) || v.srcs.is_empty() || v.data.opcode == Opcode::Mov {
        return None;
    }
    let srcs: Option<Vec<u64>> = v.srcs.iter().map(|operand| v.imm(*operand)).collect();
    let folded = fold(v.data.opcode, &v.data.fields, &srcs?)?;
    Some(Rewrite::Constants(folded.results))
}

fn constant_last(v: &View<'_>) -> Option<Rewrite> {
    let [Operand::Imm(_), second, ..] = *v.srcs else { return None };
    if !v.data.is(Flags::COMMUTATIVE) || second.is_imm() {
        return None;
    }
    let mut srcs = v.srcs.to_vec();
    srcs.swap(0, 1);
    Some(Rewrite::Inst(v.data.opcode, v.data.fields, srcs))
}

fn branch_constant(v: &View<'_>) -> Option<Rewrite> {
    let [condition, yes, no] = *v.srcs else { return None };
    let condition = v.imm(condition)?;
    Some(Rewrite::Goto(if condition & 1 == 1 { yes } else { no }.block()?))
}

fn branch_same(v: &View<'_>) -> Option<Rewrite> {
    let [_, yes, no] = *v.srcs else { return None };
    if yes == no { yes.block().map(Rewrite::Goto) } else { None }
}

fn branch_not(v: &View<'_>) -> Option<Rewrite> {
    let condition = v.source_of(v.src(0)?, Opcode::Not)?;
    Some(Rewrite::Inst(Opcode::CBra, v.data.fields, vec![condition, v.src(2)?, v.src(1)?]))
}

fn branch_table_constant(v: &View<'_>) -> Option<Rewrite> {
    let index = usize::try_from(v.imm(v.src(0)?)?).ok()?;
    v.src(index.checked_add(1)?)?.block().map(Rewrite::Goto)
}
