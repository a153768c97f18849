//! Rules about constants as such, guards, selections and branches.

use super::{Rewrite, Rule, View, constant, is_pure, set_field, typed, value, with_fields};
use crate::ir::{Guard, Operand};
use crate::ops::{Compare, Flags, Opcode, Saturate, SrcType, Type, fold};

const ALL: &[Opcode] = &[];

pub(super) static RULES: &[Rule] = &[
    Rule { name: "guard-constant", opcodes: ALL, apply: guard_constant },
    Rule { name: "guard-not", opcodes: ALL, apply: guard_not },
    Rule { name: "fold", opcodes: ALL, apply: folded },
    Rule { name: "constant-last", opcodes: ALL, apply: constant_last },
    Rule { name: "setp-constant-last", opcodes: &[Opcode::SetP], apply: setp_constant_last },
    Rule { name: "setp-same", opcodes: &[Opcode::SetP], apply: setp_same },
    Rule { name: "setp-bound", opcodes: &[Opcode::SetP], apply: setp_bound },
    Rule { name: "setp-of-selp", opcodes: &[Opcode::SetP], apply: setp_of_selp },
    Rule { name: "selp-same", opcodes: &[Opcode::SelP], apply: selp_same },
    Rule { name: "selp-constant", opcodes: &[Opcode::SelP], apply: selp_constant },
    Rule { name: "selp-not", opcodes: &[Opcode::SelP], apply: selp_not },
    Rule { name: "branch-constant", opcodes: &[Opcode::CBra], apply: branch_constant },
    Rule { name: "branch-same", opcodes: &[Opcode::CBra], apply: branch_same },
    Rule { name: "branch-not", opcodes: &[Opcode::CBra], apply: branch_not },
    Rule { name: "branch-table-constant", opcodes: &[Opcode::Brx], apply: branch_table_constant },
    Rule { name: "word-of-conversion", opcodes: &[Opcode::Mov], apply: word_of_conversion },
];

/// A guard that is always true goes; under one that is always false the `else` values are the results.
fn guard_constant(v: &View<'_>) -> Option<Rewrite> {
    let guard = v.data.guard?;
    let known = v.definition(Operand::Reg(guard.reg), Opcode::Mov)?.src(0)?.imm()?;
    if (known & 1 == 1) != guard.negated {
        return Some(Rewrite::Guard(None));
    }
    Some(if v.func.dsts(v.inst).is_empty() { Rewrite::Nothing } else { Rewrite::Otherwise })
}

fn guard_not(v: &View<'_>) -> Option<Rewrite> {
    let guard = v.data.guard?;
    let inverse = v.definition(Operand::Reg(guard.reg), Opcode::Not)?;
    let reg = inverse.src(0)?.whole_reg()?;
    Some(Rewrite::Guard(Some(Guard { reg, negated: !guard.negated })))
}

fn folded(v: &View<'_>) -> Option<Rewrite> {
    if !is_pure(v.data) || v.srcs.is_empty() || v.data.opcode == Opcode::Mov {
        return None;
    }
    let srcs: Option<Vec<u64>> = v.srcs.iter().map(|operand| operand.imm()).collect();
    let folded = fold(v.data.opcode, &v.data.fields, &srcs?)?;
    Some(Rewrite::Values(folded.results.into_iter().map(Operand::Imm).collect()))
}

fn constant_last(v: &View<'_>) -> Option<Rewrite> {
    let [Operand::Imm(_), second, ..] = *v.srcs else { return None };
    if !v.data.is(Flags::COMMUTATIVE) || second.imm().is_some() {
        return None;
    }
    let mut srcs = v.srcs.to_vec();
    srcs.swap(0, 1);
    with_fields(v.data.opcode, v.data.fields, srcs)
}

/// The comparison that holds where this one does with its operands exchanged.
fn mirrored(compare: Compare) -> Compare {
    use Compare::*;
    match compare {
        Lt => Gt,
        Gt => Lt,
        Le => Ge,
        Ge => Le,
        Lo => Hi,
        Hi => Lo,
        Ls => Hs,
        Hs => Ls,
        Ltu => Gtu,
        Gtu => Ltu,
        Leu => Geu,
        Geu => Leu,
        same => same,
    }
}

fn setp_constant_last(v: &View<'_>) -> Option<Rewrite> {
    let [first @ Operand::Imm(_), second @ (Operand::Reg(_) | Operand::Word(..))] = *v.srcs else { return None };
    let fields = set_field(Opcode::SetP, v.data.fields, mirrored(v.field::<Compare>()?));
    with_fields(Opcode::SetP, fields, [second, first])
}

/// A value compared with itself, as an integer: a float could be NaN.
fn setp_same(v: &View<'_>) -> Option<Rewrite> {
    use Compare::*;
    let [a, b] = *v.srcs else { return None };
    if a != b || v.ty().is_float() {
        return None;
    }
    constant(u64::from(matches!(v.field::<Compare>()?, Eq | Le | Ge | Ls | Hs)))
}

/// No unsigned value is below zero.
fn setp_bound(v: &View<'_>) -> Option<Rewrite> {
    let compare = v.field::<Compare>()?;
    let unsigned = !v.ty().is_float() && !v.ty().is_signed();
    if v.constant(1)? != 0 || !(unsigned || matches!(compare, Compare::Lo | Compare::Hs)) {
        return None;
    }
    match compare {
        Compare::Lt | Compare::Lo => constant(0),
        Compare::Ge | Compare::Hs => constant(1),
        _ => None,
    }
}

/// A comparison of a selected constant with a constant: the condition, its complement, or known.
fn setp_of_selp(v: &View<'_>) -> Option<Rewrite> {
    let right = v.src(1)?.imm()?;
    let selp = v.defined_by(0, Opcode::SelP)?;
    let [Operand::Imm(yes), Operand::Imm(no), condition @ Operand::Reg(_)] = *selp.srcs else { return None };
    if v.ty().is_float() || selp.ty().bits() != v.ty().bits() {
        return None;
    }
    let holds = |left| Some(fold(Opcode::SetP, &v.data.fields, &[left, right])?.results[0] == 1);
    match (holds(yes)?, holds(no)?) {
        (true, true) => constant(1),
        (false, false) => constant(0),
        (true, false) => value(condition),
        (false, true) => typed(Opcode::Not, Type::Pred, [condition]),
    }
}

fn selp_same(v: &View<'_>) -> Option<Rewrite> {
    let [yes, no, _] = *v.srcs else { return None };
    if yes != no || !v.is_full() { None } else { value(yes) }
}

fn selp_constant(v: &View<'_>) -> Option<Rewrite> {
    let [yes, no, Operand::Imm(condition)] = *v.srcs else { return None };
    if v.is_full() { value(if condition & 1 == 1 { yes } else { no }) } else { None }
}

fn selp_not(v: &View<'_>) -> Option<Rewrite> {
    let condition = v.defined_by(2, Opcode::Not)?.src(0)?;
    with_fields(Opcode::SelP, v.data.fields, [v.src(1)?, v.src(0)?, condition])
}

fn branch_constant(v: &View<'_>) -> Option<Rewrite> {
    let [Operand::Imm(condition), yes, no] = *v.srcs else { return None };
    Some(Rewrite::Goto(if condition & 1 == 1 { yes } else { no }.block()?))
}

fn branch_same(v: &View<'_>) -> Option<Rewrite> {
    let [_, yes, no] = *v.srcs else { return None };
    if yes == no { yes.block().map(Rewrite::Goto) } else { None }
}

fn branch_not(v: &View<'_>) -> Option<Rewrite> {
    let condition = v.defined_by(0, Opcode::Not)?.src(0)?;
    with_fields(Opcode::CBra, v.data.fields, [condition, v.src(2)?, v.src(1)?])
}

fn branch_table_constant(v: &View<'_>) -> Option<Rewrite> {
    let index = usize::try_from(v.src(0)?.imm()?).ok()?;
    v.src(index.checked_add(1)?)?.block().map(Rewrite::Goto)
}

/// The low word of a 32-bit value that was widened is the value.
fn word_of_conversion(v: &View<'_>) -> Option<Rewrite> {
    let Operand::Word(wide, 0) = v.src(0)? else { return None };
    let cvt = v.definition(Operand::Reg(wide), Opcode::Cvt)?;
    let narrow = Type::from(cvt.field::<SrcType>()?);
    let integers = matches!(cvt.ty(), Type::U64 | Type::S64) && matches!(narrow, Type::U32 | Type::S32);
    let plain = !cvt.has(Saturate::Sat);
    if integers && plain { typed(Opcode::Mov, Type::B32, [cvt.src(0)?]) } else { None }
}
