//! Faults in machine code: what a phase over it, or a stage that makes it, could do wrong with one instruction.
//!
//! An instruction is known by its row alone, so these faults are about operands and scheduling control. Registers are
//! those of the machine, or virtual ones.

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Function, Level, Modifiers, Operand, Reg, RegFile, Schedule};

use super::change::{Change, Place};

/// Whether an instruction computes registers and does nothing else.
fn computes(func: &Function, place: Place) -> bool {
    func.level == Level::Machine && func.inst(place.inst).opcode == Opcode::MachinePure
}

/// Whether the next instruction follows one of the machine, whatever it does.
fn is_inside(func: &Function, place: Place) -> bool {
    let data = func.inst(place.inst);
    func.level == Level::Machine && data.is(Flags::MACHINE) && !data.is(Flags::TERMINATOR)
}

/// The sources with one of them changed.
fn with(func: &Function, place: Place, at: usize, operand: Operand) -> Change {
    let mut sources = func.srcs(place.inst).to_vec();
    sources[at] = operand;
    Change::Sources(sources)
}

/// Registers of one word that the block writes before a place, the nearest first.
fn at_hand(func: &Function, place: Place) -> Vec<Reg> {
    let before = std::iter::successors(func.prev_inst(place.inst), |inst| func.prev_inst(*inst));
    before.flat_map(|inst| func.defs(inst)).take(8).collect()
}

pub(super) fn wrong_register(func: &Function, place: Place) -> Vec<Change> {
    if !is_inside(func, place) {
        return Vec::new();
    }
    let near = at_hand(func, place);
    let mut changes = Vec::new();
    for (at, operand) in func.srcs(place.inst).iter().enumerate() {
        let Operand::Reg(old) = *operand else { continue };
        let others = near.iter().filter(|reg| **reg != old && func.regs()[**reg] == func.regs()[old]);
        changes.extend(others.map(|reg| with(func, place, at, Operand::Reg(*reg))));
    }
    changes
}

pub(super) fn wrong_result(func: &Function, place: Place) -> Vec<Change> {
    let &[Operand::Reg(result)] = func.dsts(place.inst) else { return Vec::new() };
    if !computes(func, place) {
        return Vec::new();
    }
    let near = at_hand(func, place);
    let others = near.iter().filter(|reg| **reg != result && func.regs()[**reg] == func.regs()[result]);
    others.map(|reg| Change::Results(vec![Operand::Reg(*reg)])).collect()
}

pub(super) fn off_by_one(func: &Function, place: Place) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, operand) in func.srcs(place.inst).iter().enumerate().filter(|_| computes(func, place)) {
        let Some(bits) = func.imm_bits(*operand) else { continue };
        for other in [bits.wrapping_add(1), bits.wrapping_sub(1)] {
            changes.push(Change::Immediate(at, other & u64::from(u32::MAX)));
        }
    }
    changes
}

pub(super) fn dropped(func: &Function, place: Place) -> Vec<Change> {
    let writes = func.dsts(place.inst).iter().any(|dst| matches!(dst, Operand::Reg(_)));
    if computes(func, place) && writes { vec![Change::Remove] } else { Vec::new() }
}

pub(super) fn out_of_order(func: &Function, place: Place) -> Vec<Change> {
    let Some(before) = func.prev_inst(place.inst).filter(|_| is_inside(func, place) && place.at > 0) else {
        return Vec::new();
    };
    let reads = |reg: Reg| func.uses(place.inst).any(|read| read == reg);
    let is_needed = func.inst(before).is(Flags::MACHINE) && func.defs(before).any(reads);
    if is_needed { vec![Change::MoveUp(place.at - 1)] } else { Vec::new() }
}

pub(super) fn swapped_sources(func: &Function, place: Place) -> Vec<Change> {
    let sources = func.srcs(place.inst);
    let is_pair = |at: &usize| {
        let infos = [sources[at - 1], sources[*at]].map(|operand| operand.reg().map(|reg| func.regs()[reg]));
        infos[0].is_some() && infos[0] == infos[1] && sources[at - 1] != sources[*at]
    };
    let swap = |at: usize| {
        let mut sources = sources.to_vec();
        sources.swap(at - 1, at);
        Change::Sources(sources)
    };
    (1..sources.len()).filter(|_| computes(func, place)).filter(is_pair).map(swap).collect()
}

pub(super) fn wrong_polarity(func: &Function, place: Place) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, operand) in func.srcs(place.inst).iter().enumerate().filter(|_| computes(func, place)) {
        let file = func.operand_info(*operand).map(|info| info.file);
        if !matches!(operand, Operand::Reg(_) | Operand::Modified { .. }) || file != Some(RegFile::P) {
            continue;
        }
        let marks = operand.modifiers();
        let other = match marks.has(Modifiers::INVERT) {
            true => marks.without(Modifiers::INVERT),
            false => marks.or(Modifiers::INVERT),
        };
        changes.extend(operand.with_modifiers(other).map(|operand| with(func, place, at, operand)));
    }
    changes
}

/// A value that is kept in the frame is not.
pub(super) fn dropped_spill(func: &Function, place: Place) -> Vec<Change> {
    let is_spill = func.mnemonic(place.inst).is_some_and(|name| name == "STL" || name.starts_with("STL."));
    if is_inside(func, place) && is_spill { vec![Change::Remove] } else { Vec::new() }
}

/// A word of the frame beside the one that is meant.
pub(super) fn wrong_slot(func: &Function, place: Place) -> Vec<Change> {
    let is_local = func.mnemonic(place.inst).is_some_and(|name| name.starts_with("STL") || name.starts_with("LDL"));
    if !is_inside(func, place) || !is_local {
        return Vec::new();
    }
    let offsets = func.srcs(place.inst).iter().enumerate();
    let of = |(at, operand): (usize, &Operand)| Some((at, func.imm_bits(*operand)?));
    offsets.filter_map(of).map(|(at, bits)| Change::Immediate(at, (bits ^ 4) & 0xff_ffff)).collect()
}

/// A jump leads to another block that some jump leads to.
pub(super) fn wrong_target(func: &Function, place: Place) -> Vec<Change> {
    let data = func.inst(place.inst);
    if func.level != Level::Machine || !data.is(Flags::TERMINATOR) {
        return Vec::new();
    }
    let is_block = |operand: &Operand| operand.block().is_some();
    let sources = func.srcs(place.inst);
    let Some(at) = sources.iter().position(is_block) else { return Vec::new() };
    let others = func.layout().iter().skip(1).filter(|block| sources[at] != Operand::Block(**block));
    others.map(|block| with(func, place, at, Operand::Block(*block))).collect()
}

/// The scheduling control with one thing changed.
fn rescheduled(func: &Function, place: Place, change: impl Fn(&mut Schedule) -> bool) -> Vec<Change> {
    let schedule = func.schedule(place.inst).filter(|_| is_inside(func, place));
    let changed = schedule.and_then(|mut schedule| change(&mut schedule).then_some(schedule));
    changed.map(Change::Schedule).into_iter().collect()
}

/// All cycles but one, as where what waited is gone.
pub(super) fn shorter_stall(func: &Function, place: Place) -> Vec<Change> {
    rescheduled(func, place, |schedule| std::mem::replace(&mut schedule.stall, 1) > 1)
}

/// A register that an instruction writes stays marked in the operand cache for the one behind it.
pub(super) fn stale_reuse(func: &Function, place: Place) -> Vec<Change> {
    const CACHED: [&str; 6] = ["IADD3", "LOP3", "FFMA", "FADD", "FMUL", "IMAD"];
    let Some(next) = func.next_inst(place.inst).filter(|_| computes(func, place)) else { return Vec::new() };
    let family = |name: String| name.split('.').next().is_some_and(|name| CACHED.contains(&name));
    if ![place.inst, next].into_iter().all(|inst| func.mnemonic(inst).is_some_and(family)) {
        return Vec::new();
    }
    let written = func.dsts(place.inst).iter().filter_map(|dst| dst.reg()).collect::<Vec<_>>();
    let pairs = func.srcs(place.inst).iter().zip(func.srcs(next)).enumerate();
    let is_stale = |one: &Operand, other: &Operand| {
        let reg = one.reg().filter(|reg| other.reg() == Some(*reg) && written.contains(reg));
        reg.is_some_and(|reg| func.regs()[reg] == oriole_ir::RegInfo::words(1))
    };
    let marked = pairs.filter(|(at, (one, other))| *at < 3 && is_stale(one, other)).filter_map(|(at, (one, _))| {
        Some(with(func, place, at, one.with_modifiers(one.modifiers().or(Modifiers::REUSE))?))
    });
    marked.collect()
}

pub(super) fn dropped_wait(func: &Function, place: Place) -> Vec<Change> {
    rescheduled(func, place, |schedule| std::mem::take(&mut schedule.wait_mask) != 0)
}
