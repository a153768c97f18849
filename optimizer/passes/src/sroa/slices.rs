//! The groups of accesses of local variables that can be promoted.
//!
//! Accesses of a variable are in one group if their bytes overlap, or those of others between them. Values reach no
//! access in a block that control cannot reach, so such an access stays, and what overlaps it.

use std::collections::BTreeMap;

use super::reach::Reach;
use oriole_ir::ops::{Opcode, Order, Space};
use oriole_ir::{Function, Inst, Local, Operand};
use oriole_pass::analysis::{Accessed, Addresses, Cfg, Variable};
use oriole_pass::pass::PhaseContext;

/// Accesses that are promoted together.
pub(super) struct Group {
    /// In program order.
    pub(super) accesses: Vec<Inst>,
    /// The ends of the slices, from the first byte to behind the last one.
    pub(super) cuts: Vec<u64>,
}

/// Bytes of a variable.
#[derive(Clone, Copy)]
struct Extent {
    first: u64,
    end: u64,
    /// The access that can be promoted.
    access: Option<Inst>,
    /// Its place in the order of the function.
    place: usize,
}

/// The groups of a function, in the order of variables and bytes.
pub(super) fn groups(func: &Function, cfg: &Cfg, addresses: &Addresses, cx: &mut PhaseContext<'_>) -> Vec<Group> {
    let is_own = |local: Local| func.locals[local].space == Space::Local && !addresses.is_captured(local);
    if addresses.goes_beyond() || !func.locals.keys().any(is_own) {
        return Vec::new();
    }
    let mut extents: BTreeMap<Local, Vec<Extent>> = BTreeMap::new();
    let reach = Reach::new(func, addresses, cx);
    for (place, inst) in func.layout_insts().enumerate() {
        let Some(accessed) = Accessed::of(func, inst, |base| addresses.pointer(func, base)) else { continue };
        let Some(local) = accessed.pointer.variable.and_then(Variable::local).filter(|local| is_own(*local)) else {
            continue;
        };
        let size = func.locals[local].size();
        let is_reachable = func.block_of(inst).is_some_and(|block| cfg.is_reachable(block));
        let is_simple = is_reachable && is_simple(func, inst);
        let extent = match accessed.within(size) {
            Some(first) => {
                Extent { first, end: first + accessed.size, access: Some(inst).filter(|_| is_simple), place }
            }
            None => {
                let (first, end) = reach.of(func, inst, accessed.size, size);
                Extent { first, end, access: None, place }
            }
        };
        extents.entry(local).or_default().push(extent);
    }
    extents.into_values().flat_map(|extents| split_groups(func, extents)).collect()
}

/// The groups among the accesses of a variable of which all can be promoted.
fn split_groups(func: &Function, mut extents: Vec<Extent>) -> Vec<Group> {
    extents.sort_by_key(|extent| extent.first);
    let mut groups = Vec::new();
    let mut rest = &extents[..];
    while let Some(first) = rest.first() {
        let mut end = first.end;
        let mut count = 1;
        while let Some(next) = rest.get(count).filter(|next| next.first < end) {
            end = end.max(next.end);
            count += 1;
        }
        let mut inside = rest[..count].to_vec();
        inside.sort_by_key(|extent| extent.place);
        let accesses: Option<Vec<Inst>> = inside.iter().map(|extent| extent.access).collect();
        if let Some(accesses) = accesses {
            groups.push(Group { accesses, cuts: cuts(func, &inside) });
        }
        rest = &rest[count..];
    }
    groups
}

/// The ends of the largest slices that no element of an access divides: each has 1, 2, 4 or 8 bytes, and begins at a
/// multiple of that.
fn cuts(func: &Function, extents: &[Extent]) -> Vec<u64> {
    let mut ends: Vec<u64> = Vec::new();
    for extent in extents {
        let width = extent.access.map_or(1, |inst| element(func, inst));
        ends.extend((extent.first..=extent.end).step_by(width as usize));
    }
    ends.sort_unstable();
    ends.dedup();
    let mut cuts = Vec::with_capacity(ends.len());
    for pair in ends.windows(2) {
        let mut at = pair[0];
        while at < pair[1] {
            cuts.push(at);
            let fits = |width: &u64| at.is_multiple_of(*width) && at + width <= pair[1];
            at += [8, 4, 2, 1].into_iter().find(fits).expect("a byte fits");
        }
    }
    cuts.extend(ends.last());
    cuts
}

/// Bytes of one element of an access.
pub(super) fn element(func: &Function, inst: Inst) -> u64 {
    u64::from(func.inst(inst).ty().bits() / 8)
}

/// Whether an access by name moves whole registers or constants, each to or from a place that is a multiple of its
/// size, and nothing about it must stay.
fn is_simple(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let is_weak = data.field::<Order>().is_none_or(|order| order == Order::Weak);
    let (bits, srcs) = (data.ty().bits(), func.srcs(inst));
    let words = if bits == 64 { 2 } else { 1 };
    let is_whole = |operand: &Operand| match operand {
        Operand::Reg(_) => func.operand_info(*operand).is_some_and(|info| info.words == words),
        other => other.is_imm() || *other == Operand::Undef,
    };
    let values = if data.opcode == Opcode::Ld { func.dsts(inst) } else { srcs.get(2..).unwrap_or(&[]) };
    let is_aligned = func.imm_bits(srcs[1]).is_some_and(|offset| offset.is_multiple_of(u64::from(bits.div_ceil(8))));
    let is_named = matches!(data.opcode, Opcode::Ld | Opcode::St) && matches!(srcs[0], Operand::Local(_));
    is_named && is_weak && matches!(bits, 8 | 16 | 32 | 64) && is_aligned && values.iter().all(is_whole)
}
