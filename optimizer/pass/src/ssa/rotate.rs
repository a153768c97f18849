//! Phis of a loop that take each other's old values, such as `a, b, c = b, c, next`, where these also live on behind
//! the loop.
//!
//! Each old value is needed in two registers then: that of the phi that takes it, and its own. So the last block of the
//! loop copies it once, where the phi that takes it is dead: the copy can have that phi's register, and what reads the
//! value behind the loop reads the copy. `b` and `c` are dead behind the loop then, and the loop makes one copy for
//! each phi, as a hand that rotates registers would.

use std::collections::BTreeMap;

use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};

use super::destruct::phis;
use super::isolate::{NeededBehind, closing_branches, taken};
use crate::analysis::{Cfg, Dominators, Liveness};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg, RegFile, Rewriter};

/// Copies old values in such loops. Returns the copies, the two sides of which should not become one.
pub(super) fn rotate(func: &mut Function, cfg: &Cfg, liveness: &Liveness) -> FxHashSet<Inst> {
    let loops: Vec<Rotation> = closing_branches(cfg)
        .into_iter()
        .filter_map(|(latch, header)| Rotation::new(func, cfg, liveness, latch, header))
        .collect();
    let mut copies = FxHashSet::default();
    if loops.is_empty() {
        return copies;
    }
    let dominators = Dominators::new(cfg);
    let mut func = Rewriter::new(func);
    for rotation in loops {
        let exit = rotation.exit;
        let behind = |block: Block| dominators.dominates(cfg, exit, block);
        copies.extend(rotation.run(&mut func, cfg, behind));
    }
    copies
}

/// A loop with such phis.
struct Rotation {
    header: Block,
    latch: Block,
    /// What control reaches when it leaves the loop at the latch, and in no other way.
    exit: Block,
    /// By phi: the one whose old value it takes.
    takes: BTreeMap<Reg, Reg>,
    /// Phis whose old value is needed behind the loop.
    needed: FxHashSet<Reg>,
}

impl Rotation {
    fn new(func: &Function, cfg: &Cfg, liveness: &Liveness, latch: Block, header: Block) -> Option<Rotation> {
        let mut exits = cfg.successors(latch).iter().copied().filter(|block| *block != header);
        let (exit, None) = (exits.next()?, exits.next()) else { return None };
        let own: FxHashSet<Reg> = phis(func, header).flat_map(|phi| func.defs(phi)).collect();
        let fits = |reg: Reg| func.regs()[reg].file == RegFile::R && func.regs()[reg].mov_type().is_some();
        let old = |phi: Inst| taken(func, phi, latch)?.whole_reg().filter(|old| own.contains(old));
        let pairs = phis(func, header).filter_map(|phi| func.defs(phi).next().zip(old(phi)));
        let pairs: Vec<(Reg, Reg)> = pairs.filter(|(phi, old)| phi != old && fits(*phi)).collect();
        if pairs.is_empty() || cfg.predecessors(exit).len() != 1 {
            return None;
        }
        let behind = NeededBehind::new(func, cfg, latch, header);
        let needed: FxHashSet<Reg> = own.into_iter().filter(|reg| behind.contains(*reg, liveness)).collect();
        // A phi whose register is written early must have been copied for whoever takes it.
        let mut takers: FxHashMap<Reg, Vec<(Reg, Reg)>> = FxHashMap::default();
        pairs.iter().for_each(|pair| takers.entry(pair.1).or_default().push(*pair));
        let mut open: Vec<(Reg, Reg)> = pairs.into_iter().filter(|(_, old)| needed.contains(old)).collect();
        let mut takes = BTreeMap::new();
        while let Some((phi, old)) = open.pop() {
            if takes.insert(phi, old).is_none() {
                open.extend(takers.get(&phi).into_iter().flatten());
            }
        }
        (!takes.is_empty()).then_some(Rotation { header, latch, exit, takes, needed })
    }

    /// Phi by phi, each after those that take its old value.
    fn run(mut self, func: &mut Rewriter<'_>, cfg: &Cfg, behind: impl Fn(Block) -> bool) -> Vec<Inst> {
        let (inside, mut made) = (self.blocks(cfg), Vec::new());
        let is_known = |block: Block| behind(block) || inside.contains(block);
        let mut takers: FxHashMap<Reg, u32> = FxHashMap::default();
        self.takes.values().for_each(|old| *takers.entry(*old).or_default() += 1);
        let mut ready: Vec<Reg> = self.takes.keys().copied().filter(|phi| !takers.contains_key(phi)).collect();
        while let Some(phi) = ready.pop() {
            let Some(old) = self.takes.get(&phi).copied() else { continue };
            let left = takers.entry(old).or_default();
            *left -= 1;
            if *left == 0 {
                ready.push(old);
            }
            // Where an old value is read in more places than are known, it stays.
            let everywhere = func.def_use().reads(old).all(|inst| read_in(func, inst, old).into_iter().all(is_known));
            let Some(place) = self.place(func, phi).filter(|_| everywhere && !self.needed.contains(&phi)) else {
                continue;
            };
            let ty = func.regs()[old].mov_type().expect("both are of one type");
            let info = func.regs()[old];
            let copy = func.new_reg(info);
            let mov = InstBuilder::new(Opcode::Mov).field(ty).dst(copy).src(old);
            made.push(match place {
                Place::Behind(inst) => func.insert_after(inst, &mov),
                Place::Before(inst) => func.insert_before(inst, &mov),
            });
            read_copy(func, old, copy, &behind);
            self.take_copy(func, phi, copy);
            self.needed.remove(&old);
        }
        made
    }

    /// The blocks of the loop.
    fn blocks(&self, cfg: &Cfg) -> EntitySet<Block> {
        let mut inside = EntitySet::new();
        inside.insert(self.header);
        let mut open = vec![self.latch];
        while let Some(block) = open.pop() {
            if inside.insert(block) {
                open.extend(cfg.predecessors(block));
            }
        }
        inside
    }

    /// The first place in the latch where nothing reads a phi any more.
    fn place(&self, func: &Rewriter<'_>, phi: Reg) -> Option<Place> {
        let end = func.terminator(self.latch)?;
        if func.uses(end).any(|reg| reg == phi) {
            return None;
        }
        let here = func.def_use().reads(phi).filter(|inst| func.block_of(*inst) == Some(self.latch));
        let reads = here.filter(|inst| func.inst(*inst).opcode != Opcode::Phi);
        if let Some(last) = reads.reduce(|a, b| if func.is_before(a, b) { b } else { a }) {
            return Some(Place::Behind(last));
        }
        func.block_insts(self.latch).find(|inst| func.inst(*inst).opcode != Opcode::Phi).map(Place::Before)
    }

    fn take_copy(&self, func: &mut Rewriter<'_>, phi: Reg, copy: Reg) {
        let Some(inst) = func.def_use().definition(phi) else { return };
        let mut srcs = func.srcs(inst).to_vec();
        for pair in srcs.chunks_exact_mut(2).filter(|pair| pair[1] == Operand::Block(self.latch)) {
            pair[0] = copy.into();
        }
        func.set_srcs(inst, &srcs);
    }
}

/// Where a copy stands.
enum Place {
    Behind(Inst),
    Before(Inst),
}

/// The blocks in which an instruction reads a register: a phi reads in those that control comes from.
fn read_in(func: &Function, inst: Inst, reg: Reg) -> Vec<Block> {
    if func.inst(inst).opcode != Opcode::Phi {
        return func.block_of(inst).into_iter().collect();
    }
    let pairs = func.srcs(inst).chunks_exact(2).filter(|pair| pair[0].reg() == Some(reg));
    pairs.filter_map(|pair| pair[1].block()).collect()
}

/// Has what reads a register behind the loop read a copy.
fn read_copy(func: &mut Rewriter<'_>, old: Reg, copy: Reg, behind: &impl Fn(Block) -> bool) {
    let readers: Vec<Inst> = func.def_use().reads(old).collect();
    for inst in readers {
        let other = |operand: Operand| operand.map_reg(|reg| if reg == old { copy } else { reg });
        if func.inst(inst).opcode == Opcode::Phi {
            let mut srcs = func.srcs(inst).to_vec();
            for pair in srcs.chunks_exact_mut(2).filter(|pair| pair[1].block().is_some_and(behind)) {
                pair[0] = other(pair[0]);
            }
            func.set_srcs(inst, &srcs);
        } else if func.block_of(inst).is_some_and(behind) {
            func.map_inputs(inst, other);
        }
    }
}
