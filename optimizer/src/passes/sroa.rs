//! `sroa`: variables in local memory become registers (`spec/pass-pipeline.txt`, lines 140 and 1209: SROA).
//!
//! LLVM's SROA splits an aggregate into the slices that are accessed, and promotes each. Here a *slice* is an offset
//! and a width of 4 or 8 bytes of a local variable. A variable is looked at if loads and stores at constant offsets
//! alone name it, so that no address of it is anywhere else. Of these, the slices that overlap no other access are
//! promoted:
//! a store defines the value of the slice, a load is a copy of the value that reaches it, and phis merge values at the
//! dominance frontiers of the stores (Cytron et al., "Efficiently Computing Static Single Assignment Form and the
//! Control Dependence Graph", 1991), pruned to where the slice is read. What nothing has stored is undefined, in memory
//! as in registers. A guarded store keeps the value before it where the guard is false.
//!
//! A variable that nothing names any longer is taken out of the frame.
//!
//! Cost: linear in the function, and for each slice in the blocks between its stores and its loads.

use std::collections::BTreeMap;

use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

use crate::analysis::{Cfg, Dominators, Frontiers};
use crate::pass::{Changed, PhaseContext};
use crate::peephole::rewrite::mov_fields;
use oriole_ir::ops::{Opcode, Order, Space, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, InstHead, Local, Operand, RegInfo};

/// A part of a variable: its first byte, and how many.
type Extent = (u64, u64);

/// The accesses of a slice, in program order.
struct Slice {
    width: u64,
    accesses: Vec<Inst>,
}

/// The sroa pass.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get::<Cfg>(func);
    let slices = slices(func, &cfg);
    if slices.is_empty() {
        return remove_unnamed(func, cx);
    }
    let dominators = cx.analyses.get::<Dominators>(func);
    let frontiers = dominators.frontiers(&cfg);
    let mut changed = Changed::No;
    for slice in slices {
        if !cx.rewrite("promote-slice") {
            break;
        }
        Promotion::new(func, &cfg, &dominators, &frontiers, &slice).run(func);
        changed = Changed::Yes;
    }
    changed | remove_unnamed(func, cx)
}

/// The slices that can be promoted: values reach no access in a block that control cannot reach, so such an access
/// stays, and what overlaps it.
fn slices(func: &Function, cfg: &Cfg) -> Vec<Slice> {
    let mut escaped = EntitySet::<Local>::new();
    let mut accesses: BTreeMap<Local, BTreeMap<Extent, Vec<Inst>>> = BTreeMap::new();
    let mut opaque: BTreeMap<Local, Vec<Extent>> = BTreeMap::new();
    for inst in func.layout_insts() {
        let Some((local, extent)) = access(func, inst) else {
            escaped.extend(func.inputs(inst).iter().filter_map(local_of));
            continue;
        };
        // The value that is stored may be an address, too.
        escaped.extend(func.inputs(inst)[1..].iter().filter_map(local_of));
        let is_reachable = func.block_of(inst).is_some_and(|block| cfg.is_reachable(block));
        if is_reachable && is_simple(func, inst) {
            accesses.entry(local).or_default().entry(extent).or_default().push(inst);
        } else {
            opaque.entry(local).or_default().push(extent);
        }
    }
    let mut slices = Vec::new();
    for (local, by_extent) in accesses.into_iter().filter(|(local, _)| !escaped.contains(*local)) {
        let others = opaque.remove(&local).unwrap_or_default();
        let extents: Vec<Extent> = by_extent.keys().copied().chain(others).collect();
        for (extent, accesses) in by_extent {
            let overlaps = extents.iter().filter(|other| overlap(extent, **other)).count();
            if overlaps == 1 {
                slices.push(Slice { width: extent.1, accesses });
            }
        }
    }
    slices
}

fn overlap(a: Extent, b: Extent) -> bool {
    a.0 < b.0.saturating_add(b.1) && b.0 < a.0.saturating_add(a.1)
}

fn local_of(operand: &Operand) -> Option<Local> {
    if let Operand::Local(local) = operand { Some(*local) } else { None }
}

/// The variable and the bytes that an instruction accesses, where it is a load or a store at a constant offset within a
/// variable in local memory.
fn access(func: &Function, inst: Inst) -> Option<(Local, Extent)> {
    let data = func.inst(inst);
    let &[base, offset, ..] = func.srcs(inst).get(..2)? else { return None };
    let local = local_of(&base).filter(|_| matches!(data.opcode, Opcode::Ld | Opcode::St))?;
    let offset = func.imm_bits(offset)?;
    let width = u64::from(data.ty().bits() / 8).max(1) * data.vector_len() as u64;
    let variable = &func.locals[local];
    let inside = offset.checked_add(width).is_some_and(|end| end <= variable.size());
    let is_local = variable.space == Space::Local && data.field::<Space>() == Some(Space::Local);
    (inside && is_local).then_some((local, (offset, width)))
}

/// Whether an access moves one whole register of one or two words, and nothing about it must stay.
fn is_simple(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let is_weak = data.field::<Order>().is_none_or(|order| order == Order::Weak);
    let is_plain = data.vector_len() == 1 && is_weak;
    let words = |operand: Operand| func.operand_info(operand).map(|info| u32::from(info.words) * 32);
    let bits = data.ty().bits();
    let whole = |operand: Option<&Operand>| match operand {
        Some(operand) if operand.reg().is_some() => words(*operand) == Some(bits),
        other => other.is_some(),
    };
    let value = if data.opcode == Opcode::Ld { func.dsts(inst).first() } else { func.srcs(inst).get(2) };
    is_plain && matches!(bits, 32 | 64) && whole(value)
}

/// A slice on its way into registers.
struct Promotion<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    /// The type of its values.
    ty: Type,
    /// By block: its accesses in order.
    accesses: FxHashMap<Block, Vec<Inst>>,
    /// By block that needs a phi: the phi.
    phis: FxHashMap<Block, Inst>,
}

impl<'a> Promotion<'a> {
    fn new(
        func: &mut Function,
        cfg: &'a Cfg,
        dominators: &'a Dominators,
        frontiers: &Frontiers,
        slice: &Slice,
    ) -> Promotion<'a> {
        let mut accesses: FxHashMap<Block, Vec<Inst>> = FxHashMap::default();
        for inst in &slice.accesses {
            let block = func.block_of(*inst).expect("an access is part of the function");
            accesses.entry(block).or_default().push(*inst);
        }
        let ty = if slice.width == 8 { Type::B64 } else { Type::B32 };
        let live = live_in(func, cfg, &accesses);
        let is_store = |inst: &Inst| func.inst(*inst).opcode == Opcode::St;
        let mut open: Vec<Block> =
            accesses.iter().filter(|(_, insts)| insts.iter().any(is_store)).map(|(block, _)| *block).collect();
        open.sort_unstable();
        let mut joins: Vec<Block> = Vec::new();
        while let Some(block) = open.pop() {
            for join in frontiers.of(cfg, block) {
                if live.contains(*join) && !joins.contains(join) {
                    joins.push(*join);
                    open.push(*join);
                }
            }
        }
        joins.sort_unstable();
        let mut phis = FxHashMap::default();
        for block in joins {
            let info = RegInfo::of(ty);
            let reg = func.new_reg(info);
            let phi = InstBuilder::new(Opcode::Phi).dst(reg).create(func);
            func.prepend_inst(block, phi);
            phis.insert(block, phi);
        }
        Promotion { cfg, dominators, ty, accesses, phis }
    }

    /// Renames down the dominator tree: each block begins with its own phi's value, or the last value of the block
    /// that dominates it.
    fn run(self, func: &mut Function) {
        let mut last: FxHashMap<Block, Operand> = FxHashMap::default();
        for block in self.dominators.preorder(self.cfg).collect::<Vec<Block>>() {
            let before = self.dominators.immediate_dominator(self.cfg, block);
            let own = self.phis.get(&block).and_then(|phi| func.dsts(*phi).first().copied());
            let mut value = own.or_else(|| last.get(&before?).copied()).unwrap_or(Operand::Undef);
            for inst in self.accesses.get(&block).into_iter().flatten() {
                value = self.replace(func, *inst, value);
            }
            last.insert(block, value);
        }
        for (block, phi) in self.phis {
            let sources: Vec<Operand> = self
                .cfg
                .predecessors(block)
                .iter()
                .flat_map(|from| [last.get(from).copied().unwrap_or(Operand::Undef), Operand::Block(*from)])
                .collect();
            func.set_srcs(phi, &sources);
        }
    }

    /// Puts a copy in place of an access; the value of the slice behind it.
    fn replace(&self, func: &mut Function, inst: Inst, value: Operand) -> Operand {
        let InstHead { opcode, guard, line, .. } = func.inst(inst).head();
        let mut head = InstBuilder::new(Opcode::Mov).fields(mov_fields(self.ty)).head();
        head.line = line;
        if opcode == Opcode::Ld {
            let (dsts, elses) = (func.dsts(inst).to_vec(), func.elses(inst).to_vec());
            head.guard = guard;
            func.set_inst(inst, head, &dsts, &[value], &elses);
            return value;
        }
        let stored = func.srcs(inst)[2];
        let name = func.new_reg(RegInfo::of(self.ty));
        head.guard = guard;
        let elses = if guard.is_some() { vec![value] } else { Vec::new() };
        func.set_inst(inst, head, &[Operand::Reg(name)], &[stored], &elses);
        Operand::Reg(name)
    }
}

/// The blocks at whose beginning the slice may still be read.
fn live_in(func: &Function, cfg: &Cfg, accesses: &FxHashMap<Block, Vec<Inst>>) -> EntitySet<Block> {
    let is_load = |inst: &Inst| func.inst(*inst).opcode == Opcode::Ld;
    let reads = |inst: &Inst| is_load(inst) || func.inst(*inst).guard.is_some();
    // A guarded store keeps what was there, so it ends no life.
    let ends = |block: &Block| accesses.get(block).is_some_and(|insts| insts.iter().any(|inst| !reads(inst)));
    let reads_first = |insts: &[Inst]| {
        let end = insts.iter().position(|inst| !reads(inst)).unwrap_or(insts.len());
        insts[..end].iter().any(is_load)
    };
    let mut open: Vec<Block> =
        accesses.iter().filter(|(_, insts)| reads_first(insts)).map(|(block, _)| *block).collect();
    let mut live = EntitySet::new();
    live.extend(open.iter().copied());
    while let Some(block) = open.pop() {
        for from in cfg.predecessors(block) {
            if !ends(from) && live.insert(*from) {
                open.push(*from);
            }
        }
    }
    live
}

/// Takes the variables out that nothing names.
fn remove_unnamed(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
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
