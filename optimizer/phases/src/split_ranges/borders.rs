//! Splits around loops.
//!
//! A value is split around a loop if
//!
//! 1. the loop is natural, has a preheader, and more words are live in it than the budget has;
//! 2. nothing in the loop reads or defines the value, and it lives through: the loop's blocks have it in neither gen
//!    nor kill;
//! 3. it is defined inside of the loop around, if there is one: else it comes around again, and lives through the
//!    inner loop beside its own split;
//! 4. each read stands on the way to the preheader, or behind one exit block that only the loop leads to, or is that
//!    of a phi on an edge out of the loop.
//!
//! What reads behind an exit then reads a part that begins there, phis on exit edges the part through the loop. Loops
//! are taken from the last to the first, so that the part before one loop can be split around an earlier one.

use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

use super::{split_of, takes};
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Operand, Reg, RegFile};
use oriole_pass::analysis::bitset::{self, BitMatrix, BitSet};
use oriole_pass::analysis::dense_liveness::{FileSets, Variant, Which};
use oriole_pass::analysis::{
    Cfg, Definitions, DenseLiveness, Dominators, Liveness, Loop, LoopNest, Pressure, SpillCosts,
};
use oriole_pass::pass::{Changed, PhaseContext};

const RULE: &str = "split-around-loop";

/// Blocks times registers of which a dense set is solved, 8 MiB each: where loops over the budget have more together,
/// the last of them are left alone.
pub(super) const MOST_BITS: usize = 1 << 26;

/// Splits values around the loops in which more words are live than the budget has.
pub(super) fn split(func: &mut Function, cx: &mut PhaseContext<'_>, pressure: &Pressure, budget: u32) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let mut tight = tight_loops(func, &cfg, &nest, pressure, budget);
    if tight.is_empty() {
        return Changed::No;
    }
    let (dominators, liveness) = (cx.analyses.get::<Dominators>(func), cx.analyses.get::<Liveness>(func));
    let wanted = live_at_headers(func, &cfg, &nest, &liveness, &mut tight);
    let live = DenseLiveness::solve(func, &cfg, Variant::Reached, |reg| wanted.contains(reg.as_u32() as usize));
    let mut facts = Facts {
        definitions: &cx.analyses.get::<Definitions>(func),
        costs: SpillCosts::compute(func, &cfg, &nest, &liveness),
        reads: reads_of(func, &cfg, &wanted),
        cfg: &cfg,
        nest: &nest,
        dominators: &dominators,
        live: &live,
        touched: touched_in_loops(&cfg, &nest, &live),
    };
    let mut changed = Changed::No;
    for tight in tight.iter().rev() {
        changed |= facts.split_around(func, cx, tight);
    }
    changed
}

/// The general registers that are live where loops begin. Loops beyond [`MOST_BITS`] are dropped from the list.
fn live_at_headers(
    func: &Function,
    cfg: &Cfg,
    nest: &LoopNest,
    liveness: &Liveness,
    tight: &mut Vec<TightLoop>,
) -> BitSet {
    let (mut wanted, mut count) = (BitSet::new(func.regs().len()), 0);
    tight.retain(|tight| {
        let live = liveness.live_in(nest.header(tight.of)).iter().filter(|reg| takes(func.regs()[*reg]));
        let new: Vec<usize> = live.map(|reg| reg.as_u32() as usize).filter(|reg| !wanted.contains(*reg)).collect();
        let fits = (count + new.len()) * cfg.blocks().len() <= MOST_BITS;
        if fits {
            count += new.len();
            new.into_iter().for_each(|reg| {
                wanted.insert(reg);
            });
        }
        fits
    });
    wanted
}

/// A loop over the budget.
struct TightLoop {
    of: Loop,
    preheader: Block,
    /// Words above the budget where they are most.
    excess: u32,
}

/// The loops that can be split around, each after the loop around it.
fn tight_loops(func: &Function, cfg: &Cfg, nest: &LoopNest, pressure: &Pressure, budget: u32) -> Vec<TightLoop> {
    let mut most: FxHashMap<Loop, u32> = FxHashMap::default();
    for block in func.layout() {
        if let Some(of) = nest.innermost(cfg, *block) {
            let most = most.entry(of).or_default();
            *most = (*most).max(pressure.in_block(*block).of(RegFile::R));
        }
    }
    // What is live in a loop is live in the loop around it.
    for of in nest.loops().rev() {
        let inner = most.get(&of).copied().unwrap_or(0);
        if let Some(parent) = nest.parent(of) {
            let outer = most.entry(parent).or_default();
            *outer = (*outer).max(inner);
        }
    }
    let tight = |of: Loop| {
        let excess = most.get(&of)?.checked_sub(budget).filter(|excess| *excess > 0)?;
        Some(TightLoop { of, preheader: nest.preheader(cfg, of)?, excess })
    };
    nest.loops().filter_map(tight).collect()
}

/// By loop: the general registers in gen or kill of one of its blocks. Condition 4 fails for these too, but only once
/// their reads are gone through, of which each loop may have all before it. A set is made of those of the loops inside
/// and of the blocks beside them, so that each block counts once, however deep the nest is.
fn touched_in_loops(cfg: &Cfg, nest: &LoopNest, live: &DenseLiveness) -> BitMatrix {
    let sets = live.general();
    let mut touched = BitMatrix::new(nest.loops().count(), sets.members().len());
    for block in cfg.rpo() {
        if let (Some(of), Some(place)) = (nest.innermost(cfg, *block), live.place(*block)) {
            for which in [Which::Generated, Which::Killed] {
                bitset::union(touched.row_mut(of.index()), sets.sets().get(which, place));
            }
        }
    }
    for of in nest.loops().rev() {
        if let Some(parent) = nest.parent(of) {
            let (around, inside) = touched.two_rows(parent.index(), of.index());
            bitset::union(around, inside);
        }
    }
    touched
}

/// A read, and the block at which the value must be there: that of the instruction, or the predecessor of a phi.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub(super) inst: Inst,
    pub(super) at: Block,
}

/// All reads of the chosen registers, in layout order.
pub(super) fn reads_of(func: &Function, cfg: &Cfg, wanted: &BitSet) -> FxHashMap<Reg, Vec<Read>> {
    let mut reads: FxHashMap<Reg, Vec<Read>> = FxHashMap::default();
    let is_wanted = |reg: &Reg| wanted.contains(reg.as_u32() as usize);
    for block in cfg.blocks() {
        for inst in func.block_insts(*block) {
            if func.inst(inst).opcode != Opcode::Phi {
                let mut read: Vec<Reg> = func.uses(inst).filter(is_wanted).collect();
                read.sort_unstable();
                read.dedup();
                read.into_iter().for_each(|reg| reads.entry(reg).or_default().push(Read { inst, at: *block }));
                continue;
            }
            for pair in func.srcs(inst).chunks_exact(2) {
                if let (Some(reg), Some(from)) = (pair[0].reg().filter(is_wanted), pair[1].block()) {
                    reads.entry(reg).or_default().push(Read { inst, at: from });
                }
            }
        }
    }
    reads
}

/// What a read becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It stays.
    Before,
    /// It reads the part through the loop.
    Through,
    /// It reads the part that begins in this block.
    Behind(Block),
}

struct Facts<'a> {
    cfg: &'a Cfg,
    nest: &'a LoopNest,
    dominators: &'a Dominators,
    definitions: &'a Definitions,
    live: &'a DenseLiveness,
    /// By loop: what its blocks read or define ([`touched_in_loops`]).
    touched: BitMatrix,
    costs: SpillCosts,
    reads: FxHashMap<Reg, Vec<Read>>,
}

impl Facts<'_> {
    fn split_around(&mut self, func: &mut Function, cx: &mut PhaseContext<'_>, tight: &TightLoop) -> Changed {
        let mut excess = tight.excess;
        let (mut candidates, mut changed) = (Vec::new(), Changed::No);
        let exits = self.own_exits(tight.of);
        for reg in self.through(tight.of) {
            let words = u32::from(func.regs()[reg].words);
            if self.is_split_before(func, reg, tight.preheader) {
                excess = excess.saturating_sub(words);
            } else if let Some(parts) = self.parts(func, reg, tight, &exits) {
                candidates.push((reg, words, parts));
            }
        }
        candidates.sort_by(|a, b| self.costs.cost(a.0).total_cmp(&self.costs.cost(b.0)).then(a.0.cmp(&b.0)));
        for (reg, words, parts) in candidates {
            if excess == 0 || !cx.rewrite(RULE) {
                break;
            }
            self.apply(func, reg, tight, &parts);
            excess = excess.saturating_sub(words);
            changed = Changed::Yes;
        }
        changed
    }

    /// The values that are live at a loop's header, and in neither gen nor kill of its blocks.
    fn through(&self, of: Loop) -> Vec<Reg> {
        let sets: &FileSets = self.live.general();
        let Some(header) = self.live.place(self.nest.header(of)) else { return Vec::new() };
        let live_in = sets.sets().get(Which::LiveIn, header);
        let mut through = self.touched.row(of.index()).to_vec();
        bitset::intersect(&mut through, live_in);
        bitset::xor(&mut through, live_in);
        bitset::iter(&through).map(|bit| sets.members()[bit]).collect()
    }

    /// Whether a value is the part through the loop of an earlier split.
    fn is_split_before(&self, func: &Function, reg: Reg, preheader: Block) -> bool {
        let definition = self.definitions.inst(reg);
        definition.is_some_and(|inst| func.inst(inst).opcode == Opcode::Split && func.block_of(inst) == Some(preheader))
    }

    /// What each read of a value becomes; `None` where one of the conditions 3 and 4 does not hold, or nothing behind
    /// the loop reads the value. `exits` are the loop's own.
    fn parts(&self, func: &Function, reg: Reg, tight: &TightLoop, exits: &[Block]) -> Option<Vec<Part>> {
        let defined = func.block_of(self.definitions.inst(reg)?)?;
        if self.nest.parent(tight.of).is_some_and(|around| !self.nest.contains(self.cfg, around, defined)) {
            return None;
        }
        let part = |read: &Read| {
            let block = func.block_of(read.inst)?;
            if self.nest.contains(self.cfg, tight.of, read.at) {
                return (!self.nest.contains(self.cfg, tight.of, block)).then_some(Part::Through);
            }
            let behind = exits.iter().find(|exit| self.dominators.dominates(self.cfg, **exit, read.at));
            let before = || self.dominators.dominates(self.cfg, read.at, tight.preheader).then_some(Part::Before);
            behind.map(|exit| Part::Behind(*exit)).or_else(before)
        };
        let parts: Vec<Part> = self.reads.get(&reg)?.iter().map(part).collect::<Option<_>>()?;
        parts.iter().any(|part| *part != Part::Before).then_some(parts)
    }

    /// The blocks behind a loop that nothing else leads to.
    fn own_exits(&self, of: Loop) -> Vec<Block> {
        let mut exits: Vec<Block> = self.nest.exits(self.cfg, of).map(|(_, to)| to).collect();
        exits.sort_unstable();
        exits.dedup();
        exits.retain(|exit| self.cfg.predecessors(*exit).iter().all(|from| self.nest.contains(self.cfg, of, *from)));
        exits
    }

    fn apply(&mut self, func: &mut Function, reg: Reg, tight: &TightLoop, parts: &[Part]) {
        let Some(end) = func.terminator(tight.preheader) else { return };
        let (copy, through) = split_of(func, reg);
        func.insert_before(end, copy);
        let reads = self.reads.remove(&reg).unwrap_or_default();
        let mut behind: Vec<(Block, Reg)> = Vec::new();
        let mut left = vec![Read { inst: copy, at: tight.preheader }];
        for (read, part) in reads.into_iter().zip(parts) {
            match part {
                Part::Before => left.push(read),
                Part::Through => replace(func, read, reg, through),
                Part::Behind(exit) => {
                    let known = behind.iter().find(|(at, _)| at == exit).map(|(_, part)| *part);
                    let part = known.unwrap_or_else(|| {
                        let part = split_at_start(func, *exit, through);
                        behind.push((*exit, part));
                        part
                    });
                    replace(func, read, reg, part);
                }
            }
        }
        self.reads.insert(reg, left);
    }
}

/// Puts a split behind the phis of a block.
pub(super) fn split_at_start(func: &mut Function, block: Block, reg: Reg) -> Reg {
    let (copy, part) = split_of(func, reg);
    let last_phi = func.block_insts(block).take_while(|inst| func.inst(*inst).opcode == Opcode::Phi).last();
    match last_phi {
        Some(phi) => func.insert_after(phi, copy),
        None => func.prepend_inst(block, copy),
    }
    part
}

/// Has one read take another register; a phi only on its edge.
pub(super) fn replace(func: &mut Function, read: Read, old: Reg, new: Reg) {
    let renamed = |operand: &mut Operand| *operand = operand.map_reg(|reg| if reg == old { new } else { reg });
    if func.inst(read.inst).opcode == Opcode::Phi {
        let pairs = func.srcs_mut(read.inst).chunks_exact_mut(2);
        pairs.filter(|pair| pair[1] == Operand::Block(read.at)).for_each(|pair| renamed(&mut pair[0]));
    } else {
        func.inputs_mut(read.inst).iter_mut().for_each(renamed);
    }
}
