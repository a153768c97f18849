//! `sroa`: variables in local memory become registers (`spec/pass-pipeline.txt`, lines 140 and 1209: SROA).
//!
//! LLVM's SROA splits an aggregate into the slices that are accessed, and promotes each. A variable is looked at whose
//! address is followed wherever it goes ([`Addresses`]). Its accesses that overlap, one with the other, are a *group*
//! (`slices.rs`). A group is promoted if loads and stores by name alone touch its bytes: what is accessed through a
//! register stays in memory, with the bytes that it may touch (`reach.rs`). Where the accesses of a group differ in
//! what they cover, they are taken apart first into those of *slices* of 1, 2, 4 or 8 bytes that none of them divides
//! (`split.rs`). Then slice by slice (`promote.rs`), a store defines the value, a load is a copy of the value that
//! reaches it, and phis merge values. A guarded store keeps the value before it where the guard is false.
//!
//! `byval-mem2reg` (line 204) is the same on the groups that hold what was stored from a parameter.
//!
//! A variable that nothing names any longer is taken out of the frame.
//!
//! Cost: linear in the function, and for each slice in the blocks between its stores and its loads.

mod promote;
mod reach;
mod slices;
mod split;

use cranelift_entity::EntitySet;

use oriole_ir::ops::{Opcode, Space};
use oriole_ir::{Function, Inst, Local, Operand};
use oriole_pass::analysis::{Addresses, Cfg, Definitions, Dominators};
use oriole_pass::pass::{Changed, PhaseContext};
use promote::Promotion;
pub(super) use reach::Reach;
use slices::{Group, groups};

/// The sroa pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    promote(func, cx, |_, _, _| true)
}

/// The byval-mem2reg pass: the groups that hold what the function got in parameters.
pub fn of_parameters(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    promote(func, cx, |func, definitions, group| {
        let stored = group.accesses.iter().filter(|inst| func.inst(**inst).opcode == Opcode::St);
        let mut values = stored.flat_map(|inst| func.srcs(*inst).get(2..).unwrap_or(&[]));
        values.any(|value| definitions.unguarded(func, *value, Opcode::Ld).is_some_and(|load| is_parameter(func, load)))
    })
}

fn is_parameter(func: &Function, load: Inst) -> bool {
    matches!(func.srcs(load).first(), Some(Operand::Local(local)) if func.params.contains(local))
}

/// Promotes the groups that are wanted.
fn promote(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    wanted: impl Fn(&Function, &Definitions, &Group) -> bool,
) -> Changed {
    let (cfg, definitions) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Definitions>(func));
    let addresses = cx.analyses.get::<Addresses>(func);
    let mut groups = groups(func, &cfg, &addresses, cx);
    groups.retain(|group| wanted(func, &definitions, group));
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

/// Takes accesses of one slice, in program order, into registers: all that there are of so many bytes.
pub(super) fn promote_all(func: &mut Function, cfg: &Cfg, dominators: &Dominators, width: u64, accesses: Vec<Inst>) {
    let frontiers = dominators.frontiers(cfg);
    Promotion::new(func, cfg, dominators, &frontiers, &Slice { width, accesses }).run(func);
}

/// The slices of a group, each accessed as a whole.
fn slices_of(func: &mut Function, group: Group) -> Vec<Slice> {
    let split = group.cuts.windows(2).map(|cut| (cut[0], cut[1] - cut[0]));
    let mut slices: Vec<(u64, Slice)> =
        split.map(|(first, width)| (first, Slice { width, accesses: Vec::new() })).collect();
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

/// The variables of a function that some instruction names.
pub(super) fn named_locals(func: &Function) -> EntitySet<Local> {
    let mut named = EntitySet::<Local>::new();
    named.extend(func.layout_insts().flat_map(|inst| func.inputs(inst)).filter_map(local_of));
    named
}

/// Takes the variables out that nothing names.
pub(super) fn remove_unnamed(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let named = named_locals(func);
    let is_own = |local: &Local| func.locals[*local].space == Space::Local && !named.contains(*local);
    let unnamed: Vec<Local> = func.locals.keys().filter(is_own).collect();
    let gone: Vec<Local> = unnamed.into_iter().filter(|_| cx.rewrite("remove-variable")).collect();
    if gone.is_empty() {
        return Changed::No;
    }
    func.remove_locals(&gone);
    Changed::Yes
}
