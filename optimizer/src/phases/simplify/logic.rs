//! Rules of bitwise logic, shifts, bit fields and bytes.

use super::{Rewrite, Rule, View, constant, ones, set_field, typed, value, with_fields};
use crate::ir::Operand;
use crate::ops::{Compare, Opcode, PrmtMode, Type, fold};

pub(super) static RULES: &[Rule] = &[
    Rule { name: "logic-same", opcodes: &[Opcode::And, Opcode::Or, Opcode::Xor], apply: logic_same },
    Rule { name: "logic-zero", opcodes: &[Opcode::And, Opcode::Or, Opcode::Xor], apply: logic_zero },
    Rule { name: "logic-ones", opcodes: &[Opcode::And, Opcode::Or, Opcode::Xor], apply: logic_ones },
    Rule { name: "logic-constants", opcodes: &[Opcode::And, Opcode::Or, Opcode::Xor], apply: logic_constants },
    Rule { name: "not-not", opcodes: &[Opcode::Not], apply: not_not },
    Rule { name: "not-setp", opcodes: &[Opcode::Not], apply: not_setp },
    Rule { name: "lop3-trivial", opcodes: &[Opcode::Lop3], apply: lop3_trivial },
    Rule { name: "shift-zero", opcodes: &[Opcode::Shl, Opcode::Shr], apply: shift_zero },
    Rule { name: "shift-out", opcodes: &[Opcode::Shl, Opcode::Shr], apply: shift_out },
    Rule { name: "shift-shift", opcodes: &[Opcode::Shl, Opcode::Shr], apply: shift_shift },
    Rule { name: "bfe-trivial", opcodes: &[Opcode::Bfe], apply: bfe_trivial },
    Rule { name: "bfi-nothing", opcodes: &[Opcode::Bfi], apply: bfi_nothing },
    Rule { name: "prmt-whole", opcodes: &[Opcode::Prmt], apply: prmt_whole },
];

fn logic_same(v: &View<'_>) -> Option<Rewrite> {
    let [a, b] = *v.srcs else { return None };
    match v.data.opcode {
        _ if a != b => None,
        Opcode::Xor => constant(0),
        _ if v.is_full() => value(a),
        _ => None,
    }
}

fn logic_zero(v: &View<'_>) -> Option<Rewrite> {
    match v.data.opcode {
        _ if v.constant(1)? != 0 => None,
        Opcode::And => constant(0),
        _ if v.is_full() => value(v.src(0)?),
        _ => None,
    }
}

fn logic_ones(v: &View<'_>) -> Option<Rewrite> {
    let all = ones(v.ty());
    match v.data.opcode {
        _ if v.constant(1)? != all => None,
        Opcode::Or => constant(all),
        Opcode::Xor => typed(Opcode::Not, v.ty(), [v.src(0)?]),
        _ if v.is_full() => value(v.src(0)?),
        _ => None,
    }
}

/// `(x op a) op b` is `x op (a op b)`.
fn logic_constants(v: &View<'_>) -> Option<Rewrite> {
    let (outer, inner) = (v.constant(1)?, v.defined_by(0, v.data.opcode)?);
    if inner.ty() != v.ty() || inner.src(0)?.imm().is_some() {
        return None;
    }
    let both = fold(v.data.opcode, &v.data.fields, &[inner.constant(1)?, outer])?.results[0];
    typed(v.data.opcode, v.ty(), [inner.src(0)?, Operand::Imm(both)])
}

fn not_not(v: &View<'_>) -> Option<Rewrite> {
    let inner = v.defined_by(0, Opcode::Not)?;
    if inner.ty() == v.ty() && v.is_full() { value(inner.src(0)?) } else { None }
}

/// The comparison that holds exactly where this one does not. Floats: ordered and unordered change places.
fn complement(compare: Compare, float: bool) -> Compare {
    use Compare::*;
    match (compare, float) {
        (Eq, false) => Ne,
        (Ne, false) => Eq,
        (Lt, false) => Ge,
        (Le, false) => Gt,
        (Gt, false) => Le,
        (Ge, false) => Lt,
        (Lo, _) => Hs,
        (Ls, _) => Hi,
        (Hi, _) => Ls,
        (Hs, _) => Lo,
        (Eq, true) => Neu,
        (Ne, true) => Equ,
        (Lt, true) => Geu,
        (Le, true) => Gtu,
        (Gt, true) => Leu,
        (Ge, true) => Ltu,
        (Equ, _) => Ne,
        (Neu, _) => Eq,
        (Ltu, _) => Ge,
        (Leu, _) => Gt,
        (Gtu, _) => Le,
        (Geu, _) => Lt,
        (Num, _) => Nan,
        (Nan, _) => Num,
    }
}

fn not_setp(v: &View<'_>) -> Option<Rewrite> {
    let setp = v.defined_by(0, Opcode::SetP)?;
    let inverse = complement(setp.field::<Compare>()?, setp.ty().is_float());
    with_fields(Opcode::SetP, set_field(Opcode::SetP, setp.data.fields, inverse), setp.srcs.to_vec())
}

/// A truth table that is one operand, or constant.
fn lop3_trivial(v: &View<'_>) -> Option<Rewrite> {
    match v.src(3)?.imm()? & 0xff {
        0xf0 => value(v.src(0)?),
        0xcc => value(v.src(1)?),
        0xaa => value(v.src(2)?),
        0x00 => constant(0),
        0xff => constant(ones(Type::B32)),
        _ => None,
    }
}

/// The count of a shift is 32 bits whatever is shifted.
fn count(v: &View<'_>) -> Option<u64> {
    v.src(1)?.imm().map(|count| count & 0xffff_ffff)
}

fn shift_zero(v: &View<'_>) -> Option<Rewrite> {
    if count(v)? == 0 && v.is_full() { value(v.src(0)?) } else { None }
}

fn is_logical(v: &View<'_>) -> bool {
    v.data.opcode == Opcode::Shl || !v.ty().is_signed()
}

fn shift_out(v: &View<'_>) -> Option<Rewrite> {
    if count(v)? >= u64::from(v.ty().bits()) && is_logical(v) { constant(0) } else { None }
}

/// Counts of two shifts the same way add up; a sum beyond the width is cut to it, which shifts everything out too.
fn shift_shift(v: &View<'_>) -> Option<Rewrite> {
    let (outer, inner) = (count(v)?, v.defined_by(0, v.data.opcode)?);
    if inner.ty() != v.ty() || inner.src(0)?.imm().is_some() || outer == 0 {
        return None;
    }
    let total = (outer + count(&inner)?).min(u64::from(v.ty().bits()));
    with_fields(v.data.opcode, v.data.fields, [inner.src(0)?, Operand::Imm(total)])
}

/// Nothing extracted, or everything.
fn bfe_trivial(v: &View<'_>) -> Option<Rewrite> {
    let (position, length) = (v.src(1)?.imm()? & 0xff, v.src(2)?.imm()? & 0xff);
    match (position, length) {
        (_, 0) => constant(0),
        (0, length) if length >= u64::from(v.ty().bits()) => value(v.src(0)?),
        _ => None,
    }
}

fn bfi_nothing(v: &View<'_>) -> Option<Rewrite> {
    if v.src(3)?.imm()? & 0xff == 0 { value(v.src(1)?) } else { None }
}

/// The four bytes of one operand in their order.
fn prmt_whole(v: &View<'_>) -> Option<Rewrite> {
    match v.src(2)?.imm()? & 0xffff {
        _ if !v.has(PrmtMode::Index) => None,
        0x3210 => value(v.src(0)?),
        0x7654 => value(v.src(1)?),
        _ => None,
    }
}
