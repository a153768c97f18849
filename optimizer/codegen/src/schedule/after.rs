//! The order of instructions in blocks, behind allocation (AdvancedPhasePostSched, L:506-508).
//!
//! Each piece of a block between calls is ordered anew, as before allocation, but over registers of the machine: two
//! values in one register keep their order, and no number of live registers decides. A piece gets the new order where
//! it takes fewer cycles than the one that it has.

use cranelift_entity::SecondaryMap;
use oriole_ir::{Function, Inst, PhysicalReg};
use oriole_pass::analysis::Cfg;
use oriole_sass::Table;
use oriole_sass::row::File;
use rustc_hash::FxHashSet;

use super::before::{LEAST, is_of_group, place, uses_uniform};
use super::control::{file, timings};
use super::dag::{Access, Accesses, Dag, Unit, Units};
use super::latency::{Timing, Use};
use super::list::{Limit, Scheduler, cycles};
use super::live::Live;
use super::sets::Sets;

/// Registers have their places, so none is too many.
const NO_LIMIT: Limit = [u32::MAX; 4];

/// Orders the instructions of a function in physical form. How many pieces got another order.
pub fn after_allocation(func: &mut Function, table: &'static Table) -> usize {
    let cfg = Cfg::new(func);
    let timings = timings(func, table);
    let follows_uniform = uses_uniform(func);
    let live = Live::solve(func, &cfg, follows_uniform);
    let mut sets = Sets::new(PhysicalReg::infos().count(), follows_uniform);
    let mut changed = 0;
    for block in cfg.rpo() {
        let last = func.terminator(*block);
        let insts: Vec<Inst> = func.block_insts(*block).filter(|inst| Some(*inst) != last).collect();
        let counted = counted(func, &insts);
        let is_moved = |inst: &Inst| {
            let is_own = !func.is_machine_call(*inst) && !func.hands_over(*inst) && !counted.contains(inst);
            is_own && timings[*inst].is_some() && !is_of_group(func, *inst)
        };
        let pieces: Vec<Vec<Inst>> =
            insts.split(|inst| !is_moved(inst)).filter(|insts| insts.len() >= LEAST).map(<[Inst]>::to_vec).collect();
        if pieces.is_empty() {
            continue;
        }
        let mut ends: SecondaryMap<Inst, Option<usize>> = SecondaryMap::new();
        pieces.iter().enumerate().for_each(|(at, insts)| ends[insts[insts.len() - 1]] = Some(at));
        let mut behind: Vec<Vec<(File, Unit)>> = vec![Vec::new(); pieces.len()];
        live.backward(func, *block, |inst, here| {
            if let Some(at) = ends[inst] {
                behind[at] = here.units().map(|unit| (file(unit), unit.as_u32())).collect();
            }
        });
        for (insts, live) in pieces.iter().zip(behind) {
            let accesses: Vec<Accesses> = insts.iter().map(|inst| accesses(func, *inst)).collect();
            let dag = Dag::of(func, insts, &accesses, &timings, Units::Physical);
            let timings: Vec<Timing> = insts.iter().filter_map(|inst| timings[*inst]).collect();
            let order = Scheduler::new(&dag, &accesses, &timings, &live, NO_LIMIT, &mut sets).run().order;
            let taken = |order: &mut dyn Iterator<Item = u32>| cycles(&dag, &accesses, &timings, order);
            if taken(&mut order.iter().copied()) < taken(&mut (0..order.len() as u32)) {
                place(func, insts, &order);
                changed += 1;
            }
        }
    }
    changed
}

/// The instructions from one that makes an address by its own place (`LEPC`) to the call behind it: the address is so
/// many words from there.
fn counted(func: &Function, insts: &[Inst]) -> FxHashSet<Inst> {
    let mut is_counted = false;
    let mut found = FxHashSet::default();
    for inst in insts {
        is_counted |= func.mnemonic(*inst).is_some_and(|name| name.starts_with("LEPC"));
        is_counted &= !func.is_machine_call(*inst);
        found.extend(is_counted.then_some(*inst));
    }
    found
}

/// The registers of one word that an instruction accesses, reads first.
fn accesses(func: &Function, inst: Inst) -> Accesses {
    let guard = func.inst(inst).guard;
    let mut accesses = Accesses::default();
    for unit in func.uses(inst) {
        let used = if guard.is_some_and(|guard| guard.reg() == unit) { Use::Guard } else { Use::Source };
        accesses.0.push((unit.as_u32(), file(unit), Access::Read(used)));
    }
    for unit in func.defs(inst) {
        let access = if guard.is_none() { Access::Written } else { Access::Perhaps };
        accesses.0.push((unit.as_u32(), file(unit), access));
    }
    accesses
}
