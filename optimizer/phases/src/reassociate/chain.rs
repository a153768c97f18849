//! Chains of `imul.lo`, `and`, `or` and `xor`: their leaves in canonical order, constants folded together.

use super::plan::{Plan, Src};
use super::sum::{fold_constants, rank};
use super::tree::{Ranks, Tree, Value};
use super::{FOLD, REPEATED};
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::{Function, Operand};

/// The plan of a chain.
pub(super) fn plan(func: &Function, tree: &Tree, opcode: Opcode, ranks: &Ranks) -> Plan {
    let ty = func.inst(tree.root).ty();
    let mut plan = Plan::default();
    let mut leaves: Vec<Operand> = tree.terms.iter().filter_map(|term| operand(term.value)).collect();
    leaves.sort_by_key(|leaf| rank(ranks, Src::Operand(*leaf)));
    let mut constants = tree.constants.clone();
    if !tree.is_single() {
        let known = opcode == Opcode::IMulLo || merge_repeated(&mut leaves, opcode);
        if !known {
            plan.rule = Some(REPEATED);
        }
        if fold_constants(opcode, ty, &mut constants) {
            plan.rule = Some(FOLD);
        }
        drop_known(opcode, ty, &mut leaves, &mut constants);
    }
    let sources = leaves.into_iter().map(Src::Operand).chain(constants.into_iter().map(Src::Imm));
    let value = sources.reduce(|acc, leaf| plan.push(opcode, ty, [acc, leaf]));
    plan.end(value.unwrap_or(Src::Imm(identity(opcode, ty))), copy_type(ty));
    plan
}

fn operand(value: Value) -> Option<Operand> {
    match value {
        Value::Operand(operand) => Some(operand),
        Value::Product(_) => None,
    }
}

/// Takes out repetitions among sorted leaves: all but one of `and` and `or`, pairs of `xor`. Whether there are none.
fn merge_repeated(leaves: &mut Vec<Operand>, opcode: Opcode) -> bool {
    let before = leaves.len();
    let mut merged: Vec<Operand> = Vec::with_capacity(before);
    for leaf in leaves.drain(..) {
        match merged.last() {
            Some(last) if *last == leaf && opcode == Opcode::Xor => _ = merged.pop(),
            Some(last) if *last == leaf => {}
            _ => merged.push(leaf),
        }
    }
    *leaves = merged;
    leaves.len() == before
}

/// A constant that changes nothing goes; beside one that decides the result, everything else does.
fn drop_known(opcode: Opcode, ty: Type, leaves: &mut Vec<Operand>, constants: &mut Vec<u64>) {
    constants.retain(|bits| *bits != identity(opcode, ty));
    if constants.iter().any(|bits| Some(*bits) == absorbing(opcode, ty)) {
        leaves.clear();
        constants.truncate(1);
    }
}

fn ones(ty: Type) -> u64 {
    super::tree::mask(ty.bits())
}

fn identity(opcode: Opcode, ty: Type) -> u64 {
    match opcode {
        Opcode::IMulLo => 1,
        Opcode::And => ones(ty),
        _ => 0,
    }
}

fn absorbing(opcode: Opcode, ty: Type) -> Option<u64> {
    match opcode {
        Opcode::IMulLo | Opcode::And => Some(0),
        Opcode::Or => Some(ones(ty)),
        _ => None,
    }
}

/// The type of a copy of such a value.
pub(super) fn copy_type(ty: Type) -> Type {
    match ty.bits() {
        1 => Type::Pred,
        32 => Type::B32,
        _ => Type::B64,
    }
}
