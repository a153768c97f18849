//! Splits in blocks: a value that is not touched for a while, at the point of a block where most words are live.
//!
//! The point lies before the first instruction of the block before which most words are live. A value is split around
//! it if
//!
//! 1. it is live there, and neither the instruction before the point nor the one behind it touches it: so the point
//!    lies inside of the part, and a second run finds the same point;
//! 2. an instruction of the block behind the point reads it, and at least as many instructions as the knob
//!    `SplitHighPressureGap` says are between its last touch, or the block's start, and that one;
//! 3. control that leaves the gap comes to the point again only over its definition: it is defined in this block, or
//!    the block is in no loop, or in a natural one that the definition is in too;
//! 4. each other read is in front of the gap in the block, or in a block that dominates it, or behind the gap:
//!    there, or in a block that it dominates;
//! 5. it is no part of an earlier split, and none begins with it.
//!
//! The part through the gap begins behind the last touch and ends before the read; a third part is what is read from
//! there on. The longest gaps are taken first, until the words above the budget are matched.
//!
//! Cost: linear in the blocks over the budget and in the reads of what is split.

use rustc_hash::FxHashMap;

use super::borders::{Read, reads_of, replace, split_at_start};
use super::{split_of, takes};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Reg, RegFile};
use oriole_pass::analysis::bitset::BitSet;
use oriole_pass::analysis::{Cfg, Definitions, Dominators, LiveWalk, Liveness, LoopNest, Pressure};
use oriole_pass::pass::{Changed, Knob, PhaseContext};

const RULE: &str = "split-in-block";

/// Splits values in the blocks in which more words are live than the budget has.
pub(super) fn split(func: &mut Function, cx: &mut PhaseContext<'_>, pressure: &Pressure, budget: u32) -> Changed {
    let (cfg, liveness) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Liveness>(func));
    let shortest = cx.knobs.limit(Knob::SplitHighPressureGap).unwrap_or(u32::MAX) as usize;
    let definitions = cx.analyses.get::<Definitions>(func);
    let peaks: Vec<Peak> = cfg.blocks().iter().filter_map(|block| Peak::of(func, pressure, *block, budget)).collect();
    let mut walk = LiveWalk::new(func);
    let gaps: Vec<(Peak, Vec<Gap>)> = peaks
        .into_iter()
        .map(|mut peak| {
            let gaps = peak.gaps(func, &liveness, &mut walk, &definitions, shortest);
            (peak, gaps)
        })
        .collect();
    let mut wanted = BitSet::new(func.regs().len());
    gaps.iter().flat_map(|(_, gaps)| gaps).for_each(|gap| _ = wanted.insert(gap.reg.as_u32() as usize));
    let (nest, dominators) = (cx.analyses.get::<LoopNest>(func), cx.analyses.get::<Dominators>(func));
    let reads = reads_of(func, &cfg, &wanted);
    let mut facts = Facts { cfg: &cfg, nest: &nest, dominators: &dominators, definitions: &definitions, reads };
    let mut changed = Changed::No;
    for (peak, gaps) in gaps {
        changed |= facts.split_at(func, cx, &peak, gaps);
    }
    changed
}

/// The point of a block at which most words are live.
struct Peak {
    block: Block,
    /// Its instructions but for phis.
    insts: Vec<Inst>,
    /// The point lies before this one of them.
    at: usize,
    /// Words above the budget.
    excess: u32,
}

/// A value that nothing touches around a point.
struct Gap {
    reg: Reg,
    /// The last instruction that touches it before; `None` for the start of the block.
    from: Option<Inst>,
    /// The first that reads it behind.
    to: Inst,
    length: usize,
}

impl Peak {
    fn of(func: &Function, pressure: &Pressure, block: Block, budget: u32) -> Option<Peak> {
        if pressure.in_block(block).of(RegFile::R) <= budget {
            return None;
        }
        let insts: Vec<Inst> = func.block_insts(block).filter(|inst| func.inst(*inst).opcode != Opcode::Phi).collect();
        let words = |at: &usize| pressure.before(insts[*at]).of(RegFile::R);
        let at = (0..insts.len()).rev().max_by_key(words)?;
        let excess = words(&at).checked_sub(budget).filter(|excess| *excess > 0)?;
        Some(Peak { block, insts, at, excess })
    }

    /// The values of conditions 1, 2 and 5, the longest gap first. Words of parts that are there already are no excess.
    fn gaps(
        &mut self,
        func: &Function,
        liveness: &Liveness,
        walk: &mut LiveWalk,
        definitions: &Definitions,
        shortest: usize,
    ) -> Vec<Gap> {
        walk.start(liveness, self.block);
        self.insts[self.at..].iter().rev().for_each(|inst| walk.step(func, *inst));
        let (before, behind) = (self.last_touches(func), self.first_reads(func));
        let mut gaps = Vec::new();
        for reg in walk.live().iter().copied().filter(|reg| takes(func.regs()[*reg])) {
            let Some(to) = behind.get(&reg).copied() else { continue };
            let from = before.get(&reg).copied();
            if self.is_part(func, definitions, reg, self.insts[to]) {
                self.excess = self.excess.saturating_sub(u32::from(func.regs()[reg].words));
                continue;
            }
            let length = to - from.map_or(0, |from| from + 1);
            let is_inside = self.at > from.map_or(0, |from| from + 1) && to > self.at;
            if is_inside && length >= shortest {
                gaps.push(Gap { reg, from: from.map(|from| self.insts[from]), to: self.insts[to], length });
            }
        }
        gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.length), gap.reg));
        gaps
    }

    /// By register: the last instruction before the point that reads or defines it.
    fn last_touches(&self, func: &Function) -> FxHashMap<Reg, usize> {
        let touches = |at: usize| {
            let inst = self.insts[at];
            func.uses(inst).chain(func.defs(inst)).map(move |reg| (reg, at)).collect::<Vec<_>>()
        };
        (0..self.at).flat_map(touches).collect()
    }

    /// By register: the first instruction behind the point that reads it.
    fn first_reads(&self, func: &Function) -> FxHashMap<Reg, usize> {
        let reads = |at: usize| func.uses(self.insts[at]).map(move |reg| (reg, at)).collect::<Vec<_>>();
        (self.at..self.insts.len()).rev().flat_map(reads).collect()
    }

    /// Whether a value is the part through a gap around the point.
    fn is_part(&self, func: &Function, definitions: &Definitions, reg: Reg, read: Inst) -> bool {
        let is_split = |inst: Inst| func.inst(inst).opcode == Opcode::Split && func.block_of(inst) == Some(self.block);
        is_split(read) && definitions.inst(reg).is_some_and(is_split)
    }
}

struct Facts<'a> {
    cfg: &'a Cfg,
    nest: &'a LoopNest,
    dominators: &'a Dominators,
    definitions: &'a Definitions,
    reads: FxHashMap<Reg, Vec<Read>>,
}

impl Facts<'_> {
    fn split_at(&mut self, func: &mut Function, cx: &mut PhaseContext<'_>, peak: &Peak, gaps: Vec<Gap>) -> Changed {
        let (mut excess, mut changed) = (peak.excess, Changed::No);
        for gap in gaps {
            let Some(behind) = self.behind(func, peak.block, &gap).filter(|_| excess > 0) else { continue };
            if !cx.rewrite(RULE) {
                break;
            }
            excess = excess.saturating_sub(u32::from(func.regs()[gap.reg].words));
            apply(func, peak.block, &gap, &behind);
            // What is left of the value begins a split.
            self.reads.remove(&gap.reg);
            changed = Changed::Yes;
        }
        changed
    }

    /// The reads behind a gap; `None` where one of the conditions 3 to 5 does not hold.
    fn behind(&self, func: &Function, block: Block, gap: &Gap) -> Option<Vec<Read>> {
        let reads = self.reads.get(&gap.reg)?;
        let definition = self.definitions.inst(gap.reg)?;
        let is_split = |inst: Inst| func.inst(inst).opcode == Opcode::Split;
        let is_parted = is_split(definition) || reads.iter().any(|read| is_split(read.inst));
        if is_parted || !self.is_left_over_definition(block, func.block_of(definition)?) {
            return None;
        }
        let known = |read: &&Read| self.dominates(block, read.at) || self.dominates(read.at, block);
        let is_behind = |read: &&Read| match read.at == block && func.inst(read.inst).opcode != Opcode::Phi {
            true => !func.is_before(read.inst, gap.to),
            false => self.dominates(block, read.at),
        };
        reads.iter().all(|read| known(&read)).then(|| reads.iter().filter(is_behind).copied().collect())
    }

    fn dominates(&self, block: Block, other: Block) -> bool {
        self.dominators.dominates(self.cfg, block, other)
    }

    /// Condition 3, of a block and that of a definition.
    fn is_left_over_definition(&self, block: Block, defined: Block) -> bool {
        let around = |of| self.nest.is_natural(of) && self.nest.contains(self.cfg, of, defined);
        defined == block || self.nest.innermost(self.cfg, block).is_none_or(around)
    }
}

fn apply(func: &mut Function, block: Block, gap: &Gap, behind: &[Read]) {
    let through = match gap.from {
        Some(from) => {
            let (copy, through) = split_of(func, gap.reg);
            func.insert_after(from, copy);
            through
        }
        None => split_at_start(func, block, gap.reg),
    };
    let (copy, part) = split_of(func, through);
    func.insert_before(gap.to, copy);
    behind.iter().for_each(|read| replace(func, *read, gap.reg, part));
}
