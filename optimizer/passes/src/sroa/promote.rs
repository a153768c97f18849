//! One slice of a variable in registers: each load is a copy of the value that reaches it.
//!
//! Phis merge values at the dominance frontiers of the stores (Cytron et al., "Efficiently Computing Static Single
//! Assignment Form and the Control Dependence Graph", 1991), pruned to where the slice is read. What nothing has stored
//! is undefined, in memory as in registers.

use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

use super::Slice;
use oriole_ir::ops::{FieldValue, Opcode, SrcType, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, InstHead, Operand, RegInfo};
use oriole_pass::analysis::{Cfg, Dominators, Frontiers};
use oriole_pass::peephole::rewrite::mov_fields;

/// A slice on its way into registers.
pub(super) struct Promotion<'a> {
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
    pub(super) fn new(
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
        let ty = raw(slice.width as u32 * 8);
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
    pub(super) fn run(self, func: &mut Function) {
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
        let (InstHead { opcode, guard, line, .. }, ty) = (func.inst(inst).head(), func.inst(inst).ty());
        let mut head = InstBuilder::new(Opcode::Mov).fields(mov_fields(self.ty)).head();
        head.line = line;
        if opcode == Opcode::Ld {
            let (dsts, elses) = (func.dsts(inst).to_vec(), func.elses(inst).to_vec());
            let (read, source) = extended(value, ty);
            head = InstHead { guard, ..read.line(line).head() };
            func.set_inst(inst, head, &dsts, &[source], &elses);
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

/// The operation that yields what a load of a type reads of a value, and the value: registers hold more bits than
/// narrow types have, which a load extends.
fn extended(value: Operand, ty: Type) -> (InstBuilder, Operand) {
    let narrow = Type::integer(ty.bits(), ty.is_signed()).filter(|ty| ty.bits() < 32);
    match (narrow, value) {
        (None, _) => (InstBuilder::new(Opcode::Mov).fields(mov_fields(raw(ty.bits()))), value),
        (Some(_), Operand::Undef) => (InstBuilder::new(Opcode::Mov).fields(mov_fields(Type::B32)), value),
        (Some(narrow), _) => {
            let from =
                SrcType::ALL.iter().copied().find(|from| Type::from(*from) == narrow).expect("cvt takes integers");
            let wide = if narrow.is_signed() { Type::S32 } else { Type::U32 };
            (InstBuilder::new(Opcode::Cvt).field(wide).field(from), value)
        }
    }
}

/// The type of whole registers for values of so many bits.
fn raw(bits: u32) -> Type {
    if bits > 32 { Type::B64 } else { Type::B32 }
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
