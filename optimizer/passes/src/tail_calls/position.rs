//! Calls of a function by itself behind which there is nothing but the return of what they yield.

use rustc_hash::FxHashMap;

use super::Part;
use oriole_ir::ops::{Opcode, Order, Space};
use oriole_ir::{Block, Function, Inst, Local, Operand, Reg};
use oriole_pass::edit::graph::{incoming, phis};

/// A call in tail position.
pub(super) struct TailCall {
    pub(super) block: Block,
    pub(super) call: Inst,
    /// By part of the parameters: the value that it passes.
    pub(super) passed: Vec<Operand>,
    /// The stores that pass it.
    pub(super) stores: Vec<Inst>,
    /// The variables that it passes and gets.
    pub(super) variables: Vec<Local>,
}

/// The part of a result that the function has: where it begins in its variable, and how many words it has.
type Place = (u64, u8);

impl TailCall {
    /// `None` for a call that is followed by something, or passes something else than the function loads.
    pub(super) fn of(func: &Function, call: Inst, parts: &[Part]) -> Option<TailCall> {
        let block = func.block_of(call).filter(|_| func.inst(call).guard.is_none())?;
        // Behind the function and the number of results, the variables follow.
        let given = func.srcs(call).get(2..)?;
        let local = |operand: &Operand| if let Operand::Local(local) = operand { Some(*local) } else { None };
        let variables: Vec<Local> = given.iter().map(local).collect::<Option<_>>()?;
        let results = func.returns.len();
        let fits = variables.len() == results + func.params.len();
        if !fits || !is_followed_by_return(func, call, &variables[..results]) {
            return None;
        }
        let stores = stores(func, call, &variables)?;
        let passes = |part: &Part| {
            let passed = variables[results + part.place];
            let whole = |store: &&Inst| access(func, **store, Opcode::St) == Some((passed, part.first, part.words));
            let touches = |store: &&Inst| func.srcs(**store)[0] == Operand::Local(passed);
            // A later store of other bytes may overwrite some of these.
            let last = stores.iter().rev().find(touches).filter(whole);
            let only = stores.iter().filter(touches).filter(|store| overlaps(func, **store, part)).count() == 1;
            let store = last.or_else(|| stores.iter().find(whole)).filter(|_| only)?;
            let value = func.srcs(*store)[2];
            let info = func.operand_info(value);
            (value.is_imm() || info.is_some_and(|info| !info.is_predicate() && info.words == part.words))
                .then_some(value)
        };
        let passed: Vec<Operand> = parts.iter().map(passes).collect::<Option<_>>()?;
        Some(TailCall { block, call, passed, stores, variables })
    }
}

/// The variable, the first byte and the words of a load or store of 4 or 8 bytes of parameter space; a load may have a
/// guard, a store may not.
pub(super) fn access(func: &Function, inst: Inst, opcode: Opcode) -> Option<(Local, u64, u8)> {
    let data = func.inst(inst);
    let is_plain = data.opcode == opcode && data.field::<Space>() == Some(Space::Param) && data.vector_len() == 1;
    let is_weak = data.field::<Order>().is_none_or(|order| order == Order::Weak);
    let words = match data.ty().bits() {
        32 => 1,
        64 => 2,
        _ => return None,
    };
    let (&Operand::Local(local), offset) = (func.srcs(inst).first()?, func.srcs(inst).get(1)?) else { return None };
    let first = func.imm_bits(*offset).filter(|_| is_plain && is_weak)?;
    let free = opcode == Opcode::Ld || data.guard.is_none();
    let inside = first.checked_add(4 * u64::from(words)).is_some_and(|end| end <= func.locals[local].size());
    (free && inside).then_some((local, first, words))
}

fn overlaps(func: &Function, store: Inst, part: &Part) -> bool {
    let Some((_, first, words)) = access(func, store, Opcode::St) else { return true };
    first < part.first + 4 * u64::from(part.words) && part.first < first + 4 * u64::from(words)
}

/// The stores to the variables that a call passes and gets, in front of it in its block. `None` where something else
/// names one of them.
fn stores(func: &Function, call: Inst, variables: &[Local]) -> Option<Vec<Inst>> {
    let named = |operand: &Operand| matches!(operand, Operand::Local(local) if variables.contains(local));
    let is_own = variables.iter().any(|local| func.params.contains(local) || func.returns.contains(local));
    let mut found = Vec::new();
    for inst in func.layout_insts().filter(|inst| *inst != call) {
        if !func.inputs(inst).iter().any(named) {
            continue;
        }
        let in_block = func.block_of(inst) == func.block_of(call);
        let before = in_block && func.is_before(inst, call);
        match func.inst(inst).opcode {
            Opcode::St if before => {
                let _ = access(func, inst, Opcode::St)?;
                found.push(inst);
            }
            // What it has returned is read behind it, which was looked at before.
            Opcode::Ld if in_block && !before => {}
            _ => return None,
        }
    }
    (!is_own).then_some(found)
}

/// Whether what follows a call returns what the call has returned, and does nothing else.
fn is_followed_by_return(func: &Function, call: Inst, results: &[Local]) -> bool {
    let mut returned: FxHashMap<Reg, (usize, Place)> = FxHashMap::default();
    let mut block = func.block_of(call).expect("the call is in the layout");
    let mut at = func.next_inst(call);
    let mut blocks = 0;
    while let Some(inst) = at {
        at = func.next_inst(inst);
        let data = func.inst(inst);
        let first_src = func.srcs(inst).first().copied();
        if data.guard.is_some() {
            return false;
        }
        match data.opcode {
            Opcode::Ld if blocks == 0 => {
                let Some((local, first, words)) = access(func, inst, Opcode::Ld) else { return false };
                let Some(place) = results.iter().position(|result| *result == local) else { return false };
                func.defs(inst).for_each(|reg| _ = returned.insert(reg, (place, (first, words))));
            }
            Opcode::Mov => {
                let Some(from) = first_src.and_then(Operand::whole_reg) else { return false };
                let Some(value) = returned.get(&from).copied() else { return false };
                func.defs(inst).for_each(|reg| _ = returned.insert(reg, value));
            }
            Opcode::St => {
                let Some((local, first, words)) = access(func, inst, Opcode::St) else { return false };
                let value = func.srcs(inst)[2].whole_reg().and_then(|reg| returned.get(&reg).copied());
                let place = func.returns.iter().position(|result| *result == local);
                if place.is_none() || value != place.map(|place| (place, (first, words))) {
                    return false;
                }
            }
            Opcode::Bra => {
                let Some(next) = first_src.and_then(|to| to.block()).filter(|_| blocks < 8) else { return false };
                for phi in phis(func, next) {
                    let value = incoming(func, phi, block).and_then(Operand::whole_reg);
                    let value = value.and_then(|reg| returned.get(&reg).copied());
                    for reg in func.defs(phi) {
                        _ = match value {
                            Some(value) => returned.insert(reg, value),
                            None => returned.remove(&reg),
                        };
                    }
                }
                (block, blocks) = (next, blocks + 1);
                at = func.block_insts(next).find(|inst| func.inst(*inst).opcode != Opcode::Phi);
            }
            Opcode::Ret => return true,
            _ => return false,
        }
    }
    false
}
