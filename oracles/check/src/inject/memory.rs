//! Faults in accesses to memory: what is accessed, and in which order.

use oriole_ir::ops::{AtomOp, Field, FieldValue, Flags, Opcode, Space, Type};
use oriole_ir::{Function, Inst, Operand};

use super::change::{Change, Place};
use super::fields::alternatives;

pub(super) fn drop_store(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    // What is not discarded is what it was.
    let writes = data.is(Flags::WRITES) && func.dsts(place.inst).is_empty() && data.opcode != Opcode::Discard;
    if writes { vec![Change::Remove] } else { Vec::new() }
}

/// Operations that do more when they are done twice.
pub(super) fn duplicate_effect(func: &Function, place: Place) -> Vec<Change> {
    let adds_up = [AtomOp::Add, AtomOp::Xor, AtomOp::Inc, AtomOp::Dec];
    let atomic = func.inst(place.inst).field::<AtomOp>();
    if atomic.is_some_and(|op| adds_up.contains(&op)) { vec![Change::Repeat] } else { Vec::new() }
}

pub(super) fn wrong_atomic(func: &Function, place: Place) -> Vec<Change> {
    alternatives(func.inst(place.inst), Field::AtomOp, |_, _| true)
}

/// The base, offset and length of a load or store; `None` for other instructions.
fn access(func: &Function, inst: Inst) -> Option<(Operand, u64, u64)> {
    let data = func.inst(inst);
    let &[base, Operand::Imm(offset), ..] = func.srcs(inst) else { return None };
    let bytes = u64::from(data.ty().bits()) / 8 * data.vector_len() as u64;
    let accesses = data.is(Flags::READS) || data.is(Flags::WRITES) && data.opcode != Opcode::Discard;
    accesses.then_some((base, func.bits(offset), bytes))
}

/// Whether two instructions access the same bytes for certain.
fn overlap(func: &Function, one: Inst, other: Inst) -> bool {
    let (Some((a, from, bytes)), Some((b, start, length))) = (access(func, one), access(func, other)) else {
        return false;
    };
    let space = |inst: Inst| func.inst(inst).field::<Space>();
    a == b && space(one) == space(other) && from < start.wrapping_add(length) && start < from.wrapping_add(bytes)
}

pub(super) fn wrong_offset(func: &Function, place: Place) -> Vec<Change> {
    let Some((_, offset, bytes)) = access(func, place.inst) else { return Vec::new() };
    let data = func.inst(place.inst);
    if data.opcode == Opcode::CpAsync || data.is(Flags::HINT) {
        return Vec::new();
    }
    let near = [offset.wrapping_add(bytes), offset.wrapping_sub(bytes)];
    near.into_iter().map(|offset| Change::Immediate(1, offset)).collect()
}

/// A type of fewer bits that still takes the same registers.
pub(super) fn narrowed_access(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    if !matches!(data.opcode, Opcode::Ld | Opcode::St) {
        return Vec::new();
    }
    alternatives(data, Field::Type, |old, new| {
        let (old, new) = (Type::ALL[usize::from(old)], Type::ALL[usize::from(new)]);
        let unsigned = new.name().starts_with('u') || new.name().starts_with('b');
        new.bits() < old.bits() && new.bits().div_ceil(32) == old.bits().div_ceil(32) && unsigned
    })
}

/// Where an instruction can move up to, over one that `over` fits, without passing what it reads.
pub(super) fn upward(func: &Function, place: Place, over: impl Fn(Inst) -> bool) -> Vec<Change> {
    let reads: Vec<_> = func.uses(place.inst).collect();
    let before = std::iter::successors(func.prev_inst(place.inst), |inst| func.prev_inst(*inst));
    for (at, other) in (0..place.at).rev().zip(before) {
        let feeds = func.defs(other).any(|reg| reads.contains(&reg));
        if feeds || func.inst(other).opcode == Opcode::Phi {
            break;
        }
        if over(other) {
            return vec![Change::MoveUp(at)];
        }
    }
    Vec::new()
}

fn is_plain(func: &Function, inst: Inst, opcode: Opcode) -> bool {
    func.inst(inst).opcode == opcode
}

pub(super) fn load_over_store(func: &Function, place: Place) -> Vec<Change> {
    if !is_plain(func, place.inst, Opcode::Ld) {
        return Vec::new();
    }
    upward(func, place, |other| func.inst(other).is(Flags::WRITES) && overlap(func, place.inst, other))
}

pub(super) fn store_over_access(func: &Function, place: Place) -> Vec<Change> {
    if !is_plain(func, place.inst, Opcode::St) {
        return Vec::new();
    }
    upward(func, place, |other| overlap(func, place.inst, other))
}

/// A barrier of the block's threads, or of the cluster's.
fn is_barrier(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let cluster = matches!(data.opcode, Opcode::ClusterArrive | Opcode::ClusterWait);
    cluster || matches!(data.opcode, Opcode::BarSync | Opcode::BarRed | Opcode::BarRedPopc)
}

fn is_shared(func: &Function, inst: Inst) -> bool {
    let plain = is_plain(func, inst, Opcode::Ld) || is_plain(func, inst, Opcode::St);
    plain && matches!(func.inst(inst).field(), Some(Space::Shared | Space::Cluster))
}

/// A load moves up over the barrier before it, a store down over the one behind it.
pub(super) fn access_over_barrier(func: &Function, place: Place) -> Vec<Change> {
    if !is_shared(func, place.inst) {
        return Vec::new();
    }
    if is_plain(func, place.inst, Opcode::Ld) {
        return upward(func, place, |other| is_barrier(func, other));
    }
    let behind = func.block_insts(place.block).skip(place.at).position(|inst| is_barrier(func, inst));
    behind.map(|behind| Change::MoveDown(place.at + behind)).into_iter().collect()
}

pub(super) fn dropped_barrier(func: &Function, place: Place) -> Vec<Change> {
    let barrier = is_plain(func, place.inst, Opcode::BarSync);
    if barrier { vec![Change::Remove] } else { Vec::new() }
}
