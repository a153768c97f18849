//! Stores to memory of any space that the thread itself overwrites on all ways, before anybody may read them.
//!
//! A walk against the control flow keeps the places that a plain store without a guard certainly writes again on every
//! way from here. What may read some byte of a place in between takes it out: a load, another access that overlaps. All
//! go where accesses are ordered, so that other threads may see the store: a barrier, a fence, an atomic that orders,
//! a volatile access, a call. So does the end of the thread, behind which the host and other kernels read. A thread
//! that reads in between without any of these races with the store (PTX ISA, "Memory Consistency Model": a weak access
//! and one that is not ordered with it), and of a race nothing is said.
//!
//! A place is a number of bytes behind a root. One in a register means the value that the register has there, so above
//! its definition no such place is known.
//!
//! Within a block, commoning does the same with places that no other block writes (`commoning/dead_stores.rs`).
//!
//! Cost: instructions times the places that are written more than once, [`MOST`] at most.

use rustc_hash::FxHashMap;

use oriole_ir::ops::{Flags, Opcode, Space};
use oriole_ir::{Block, Function, Inst, Reg};
use oriole_pass::analysis::memory::alias::{Alias, alias};
use oriole_pass::analysis::memory::{Effect, Location, Root};
use oriole_pass::analysis::{Cfg, MemorySsa};

/// Places that are looked at; a set of them is a word.
const MOST: usize = 64;

/// The stores that are overwritten, by block from the last one.
pub(super) fn stores(func: &Function, cfg: &Cfg, memory: &MemorySsa) -> Vec<Inst> {
    let places = Places::new(func, memory);
    if places.at.is_empty() {
        return Vec::new();
    }
    let steps: Vec<Vec<(Inst, Step)>> = cfg.rpo().iter().map(|block| places.steps(func, memory, *block)).collect();
    // Every way is taken to write all places until one is found that does not: ways without an end do, too.
    let mut before: FxHashMap<Block, u64> = cfg.rpo().iter().map(|block| (*block, u64::MAX)).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (block, steps) in cfg.rpo().iter().zip(&steps).rev() {
            let behind = behind(cfg, *block, &before);
            let found = steps.iter().rev().fold(behind, |written, (_, step)| step.above(written));
            changed |= before.insert(*block, found) != Some(found);
        }
    }
    let mut dead = Vec::new();
    for (block, steps) in cfg.rpo().iter().zip(&steps).rev() {
        let mut written = behind(cfg, *block, &before);
        for (inst, step) in steps.iter().rev() {
            if step.is_dead(written) {
                dead.push(*inst);
            } else {
                written = step.above(written);
            }
        }
    }
    dead
}

/// The places that are written behind a block on all ways.
fn behind(cfg: &Cfg, block: Block, before: &FxHashMap<Block, u64>) -> u64 {
    let next = cfg.successors(block);
    if next.is_empty() { 0 } else { next.iter().fold(u64::MAX, |written, next| written & before[next]) }
}

/// The effect of an instruction on the set of places that are written behind it.
#[derive(Clone, Copy)]
struct Step {
    /// The places that stay known.
    keeps: u64,
    /// The place that it certainly writes.
    writes: u64,
    /// The place of a store that may go.
    stores: u64,
}

impl Step {
    /// The places that are written again on all ways from the instruction.
    fn above(self, behind: u64) -> u64 {
        behind & self.keeps | self.writes
    }

    fn is_dead(self, behind: u64) -> bool {
        self.stores & behind != 0
    }
}

/// The places that more than one plain store writes.
struct Places {
    at: Vec<Location>,
    numbers: FxHashMap<Place, usize>,
    /// By register that addresses are counted from: the places.
    roots: FxHashMap<Reg, u64>,
}

/// Two accesses with the same of it are to the same bytes.
type Place = (Space, Root, u64, u32, u32);

fn place(at: &Location) -> Option<Place> {
    (at.root != Root::Unknown).then_some((at.space, at.root, at.offset, at.bits, at.size))
}

impl Places {
    fn new(func: &Function, memory: &MemorySsa) -> Places {
        let mut counts: FxHashMap<Place, u32> = FxHashMap::default();
        let mut places = Places { at: Vec::new(), numbers: FxHashMap::default(), roots: FxHashMap::default() };
        for inst in func.layout_insts() {
            let Some((at, place)) = stored(func, memory, inst) else { continue };
            let count = counts.entry(place).or_default();
            *count += 1;
            if *count == 2 && places.at.len() < MOST {
                if let Root::Reg(reg) = at.root {
                    *places.roots.entry(reg).or_default() |= 1 << places.at.len();
                }
                places.numbers.insert(place, places.at.len());
                places.at.push(at);
            }
        }
        places
    }

    /// The instructions of a block that do something to the set.
    fn steps(&self, func: &Function, memory: &MemorySsa, block: Block) -> Vec<(Inst, Step)> {
        let steps = func.block_insts(block).map(|inst| (inst, self.step(func, memory, inst)));
        steps.filter(|(_, step)| step.keeps != u64::MAX || step.stores != 0).collect()
    }

    fn step(&self, func: &Function, memory: &MemorySsa, inst: Inst) -> Step {
        let mut step = Step { keeps: self.met(func, memory.effect(inst), inst), writes: 0, stores: 0 };
        if let Some(number) = stored(func, memory, inst).and_then(|(_, place)| self.numbers.get(&place)) {
            step.stores = 1 << number;
            // A store neither reads its own bytes nor shows them to anybody.
            step.keeps |= step.stores;
            step.writes = if func.inst(inst).guard.is_none() { step.stores } else { 0 };
        }
        // Above its definition, a register has another value.
        let defined = func.defs(inst).filter_map(|reg| self.roots.get(&reg));
        step.keeps &= !defined.fold(0, |places, of| places | of);
        step
    }

    /// The places of which an instruction lets nobody see anything.
    fn met(&self, func: &Function, effect: Effect, inst: Inst) -> u64 {
        let data = func.inst(inst);
        let leads_nowhere = || func.srcs(inst).iter().all(|operand| operand.block().is_none());
        let ends = if data.is(Flags::TERMINATOR) { leads_nowhere() } else { data.is(Flags::EFFECT) };
        match effect {
            Effect::None if ends => 0,
            Effect::None => u64::MAX,
            Effect::Orders | Effect::Anything => 0,
            Effect::Reads(at) | Effect::Writes(at) | Effect::Updates(at) => {
                let met = self.at.iter().enumerate().filter(|(_, place)| alias(&at, place, false) != Alias::No);
                met.fold(u64::MAX, |keeps, (number, _)| keeps & !(1 << number))
            }
        }
    }
}

/// The place of a plain store.
fn stored(func: &Function, memory: &MemorySsa, inst: Inst) -> Option<(Location, Place)> {
    match memory.effect(inst) {
        Effect::Writes(at) if func.inst(inst).opcode == Opcode::St => Some((at, place(&at)?)),
        _ => None,
    }
}
