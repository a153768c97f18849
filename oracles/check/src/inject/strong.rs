//! Faults in what orders a thread's accesses for others, which the results of a run do not show, and in what waits for
//! copies.

use oriole_ir::ops::{FenceKind, Flags, GridDep, Opcode, Order, Scope, Space, WaitRead};
use oriole_ir::{Function, Inst};

use super::change::{Change, Place};
use super::fields::among;
use super::memory::upward;

fn is_volatile(func: &Function, inst: Inst) -> bool {
    func.inst(inst).field() == Some(Order::Volatile)
}

pub(super) fn dropped_volatile(func: &Function, place: Place) -> Vec<Change> {
    among::<Order>(func.inst(place.inst), |old, new| old == Order::Volatile && new == Order::Weak)
}

/// Nobody outside of the cluster sees shared memory, so there only the scope of the CTA is a weaker one.
pub(super) fn weaker_scope(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    let shared = matches!(data.field(), Some(Space::Shared | Space::Cluster));
    // An atomic operation that names no scope has that of the GPU.
    let named = |scope| if scope == Scope::None { Scope::Gpu } else { scope };
    let weaker = |old, new: Scope| new != Scope::None && new < named(old) && !(shared && new > Scope::Cta);
    among::<Scope>(data, weaker)
}

pub(super) fn weaker_order(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    let orders = |order| matches!(order, Order::Acquire | Order::Release | Order::AcqRel);
    let mut changes = among::<Order>(data, |old, new| orders(old) && new == Order::Relaxed);
    changes.extend(among::<FenceKind>(data, |old, new| match old {
        FenceKind::Sc => new == FenceKind::AcqRel,
        FenceKind::AcqRel => matches!(new, FenceKind::Acquire | FenceKind::Release),
        FenceKind::Acquire | FenceKind::Release => false,
    }));
    changes
}

pub(super) fn dropped_fence(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    let fence = data.is(Flags::FENCE) && !data.is(Flags::CONVERGENT);
    let orders = data.field() != Some(GridDep::LaunchDependents);
    if fence && orders { vec![Change::Remove] } else { Vec::new() }
}

fn waits_for_groups(func: &Function, inst: Inst) -> bool {
    matches!(func.inst(inst).opcode, Opcode::CpAsyncWait | Opcode::BulkWait | Opcode::WgmmaWait)
}

pub(super) fn looser_wait(func: &Function, place: Place) -> Vec<Change> {
    if !waits_for_groups(func, place.inst) {
        return Vec::new();
    }
    let groups = func.srcs(place.inst).first().and_then(|groups| func.imm_bits(*groups));
    let mut changes: Vec<Change> = groups.map(|groups| Change::Immediate(0, groups + 1)).into_iter().collect();
    changes.extend(among::<WaitRead>(func.inst(place.inst), |old, new| old == WaitRead::No && new == WaitRead::Read));
    changes
}

/// Only where the block waits for groups later.
pub(super) fn dropped_commit(func: &Function, place: Place) -> Vec<Change> {
    use Opcode::{BulkCommit, CpAsyncCommit, WgmmaCommit};
    let closes = matches!(func.inst(place.inst).opcode, CpAsyncCommit | BulkCommit | WgmmaCommit);
    let mut behind = func.block_insts(place.block).skip(place.at);
    if closes && behind.any(|inst| waits_for_groups(func, inst)) { vec![Change::Remove] } else { Vec::new() }
}

pub(super) fn swapped_volatiles(func: &Function, place: Place) -> Vec<Change> {
    if !is_volatile(func, place.inst) {
        return Vec::new();
    }
    upward(func, place, |other| is_volatile(func, other))
}
