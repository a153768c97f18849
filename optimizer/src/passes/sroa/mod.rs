//! `sroa`: variables in local memory become registers (`spec/pass-pipeline.txt`, lines 140 and 1209: SROA).
//!
//! LLVM's SROA splits an aggregate into the slices that are accessed, and promotes each. A variable is looked at whose
//! address is followed wherever it goes ([`Addresses`]). Its accesses that overlap, one with the other, are a *group*
//! (`slices.rs`). A group is promoted if loads and stores by name alone touch its bytes: what is accessed through a
//! register stays in memory, with the bytes that it may touch (`reach.rs`). Where the accesses of a group differ in what
//! they cover, they are taken apart first into those of *slices* of 1, 2, 4 or 8 bytes that none of them divides
//! (`split.rs`). Then slice by slice (`promote.rs`), a store defines the value, a load is a copy of the value that
//! reaches it, and phis merge values. A guarded store keeps the value before it where the guard is false.
//!
//! A variable that nothing names any longer is taken out of the frame.
//!
//! Cost: linear in the function, and for each slice in the blocks between its stores and its loads.

mod promote;
mod reach;
mod slices;
mod split;

use cranelift_entity::EntitySet;

use crate::analysis::{Addresses, Cfg, Dominators};
use crate::pass::{Changed, PhaseContext};
use oriole_ir::{Function, Inst, Local, Operand};
use oriole_ir::ops::Space;
use promote::Promotion;
pub(super) use reach::Reach;
use slices::{Group, groups};

/// The sroa pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get::<Cfg>(func);
    let addresses = cx.analyses.get::<Addresses>(func);
    let groups = groups(func, &cfg, &addresses, cx);
    if groups.is_empty() {
        return remove_unnamed(func, cx);
    }
    let dominators = cx.analyses.get::<Dominators>(func);
    let frontiers = dominators.frontiers(&cfg);
    let mut changed = Changed::No;
    for group in groups {
        if !cx.rewrite("promote-slice") {
            break;
        }
        for slice in slices_of(func, group) {
            Promotion::new(func, &cfg, &dominators, &frontiers, &slice).run(func);
        }
        changed = Changed::Yes;
    }
    changed | remove_unnamed(func, cx)
}

/// The accesses of a slice, in program order.
struct Slice {
    width: u64,
    accesses: Vec<Inst>,
}

/// The slices of a group, each accessed as a whole.
fn slices_of(func: &mut Function, group: Group) -> Vec<Slice> {
    let split = group.cuts.windows(2).map(|cut| (cut[0], cut[1] - cut[0]));
    let mut slices: Vec<(u64, Slice)> = split.map(|(first, width)| (first, Slice { width, accesses: Vec::new() })).collect();
    for access in &group.accesses {
        for (first, inst) in split::split(func, *access, &group.cuts) {
            let slice = slices.binary_search_by_key(&first, |(first, _)| *first).expect("an access is cut at the cuts");
            slices[slice].1.accesses.push(inst);
        }
    }
    slices.into_iter().map(|(_, slice)| slice).filter(|slice| !slice.accesses.is_empty()).collect()
}

fn local_of(operand: &Operand) -> Option<Local> {
    if let Operand::Local(local) = operand { Some(*local) } else { None }
}

/// Takes the variables out that nothing names.
pub(super) fn remove_unnamed(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut named = EntitySet::<Local>::new();
    named.extend(func.layout_insts().flat_map(|inst| func.inputs(inst)).filter_map(local_of));
    let is_own = |local: &Local| func.locals[*local].space == Space::Local && !named.contains(*local);
    let unnamed: Vec<Local> = func.locals.keys().filter(is_own).collect();
    let gone: Vec<Local> = unnamed.into_iter().filter(|_| cx.rewrite("remove-variable")).collect();
    if gone.is_empty() {
        return Changed::No;
    }
    func.remove_locals(&gone);
    Changed::Yes
}
