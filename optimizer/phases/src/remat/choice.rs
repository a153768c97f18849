//! Which values are computed again: for each point with too many live words so many as are needed, cheapest first.

use rustc_hash::{FxHashMap, FxHashSet};

use super::candidates::Candidate;
use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Inst, Reg, RegFile};
use oriole_pass::analysis::{Cfg, LiveWalk, Liveness, Pressure};
use oriole_pass::pass::PhaseContext;

/// Candidates that are looked at, all points together, at most.
const MOST: usize = 1 << 20;

/// A point before an instruction with more live words than there are registers.
struct Point {
    inst: Inst,
    /// Words that are live, and those of candidates among them that need not be.
    words: u32,
    spare: Vec<usize>,
}

/// The candidates that are taken, with their readers parted into those for which they are computed again and others.
pub(super) fn choose(
    func: &Function,
    cx: &mut PhaseContext<'_>,
    pressure: &Pressure,
    mut candidates: Vec<Candidate>,
    registers: u32,
) -> Vec<Candidate> {
    let first = first_points(func, cx, pressure, registers);
    candidates.iter_mut().for_each(|candidate| part(func, candidate, first.get(&candidate.block).copied()));
    candidates.retain(|candidate| !candidate.readers.is_empty());
    let Some(points) = points(func, cx, pressure, &candidates, registers) else { return Vec::new() };
    let words = |at: &usize| candidates[*at].words(func);
    let left = |point: &Point| point.words - point.spare.iter().map(words).sum::<u32>();
    let target = points.iter().map(left).fold(registers, u32::max);
    let mut taken: Vec<usize> = Vec::new();
    let mut chosen: FxHashSet<usize> = FxHashSet::default();
    // What a value that is computed again reads stays as it is in this round.
    let mut kept: FxHashSet<Reg> = FxHashSet::default();
    for point in &points {
        let mut now = point.words - point.spare.iter().filter(|at| chosen.contains(at)).map(words).sum::<u32>();
        let mut free: Vec<usize> = point.spare.iter().copied().filter(|at| !chosen.contains(at)).collect();
        free.sort_by_key(|at| (candidates[*at].price(), std::cmp::Reverse(words(at)), *at));
        for at in free {
            let candidate = &candidates[at];
            let depends = candidate.operands.iter().any(|operand| is_taken(&candidates, &taken, *operand));
            if now <= target || depends || kept.contains(&candidate.reg) {
                continue;
            }
            now -= words(&at);
            kept.extend(&candidate.operands);
            chosen.insert(at);
            taken.push(at);
        }
    }
    taken.sort_unstable();
    taken.into_iter().map(|at| candidates[at].clone()).collect()
}

fn is_taken(candidates: &[Candidate], taken: &[usize], reg: Reg) -> bool {
    taken.iter().any(|at| candidates[*at].reg == reg)
}

/// By block: the first instruction before which too many words are live.
fn first_points(
    func: &Function,
    cx: &mut PhaseContext<'_>,
    pressure: &Pressure,
    registers: u32,
) -> FxHashMap<Block, Inst> {
    let cfg = cx.analyses.get::<Cfg>(func);
    let first = |block: &Block| {
        Some((*block, func.block_insts(*block).find(|inst| is_over(func, pressure, *inst, registers))?))
    };
    cfg.blocks()
        .iter()
        .filter(|block| pressure.in_block(**block).of(RegFile::R) > registers)
        .filter_map(first)
        .collect()
}

fn is_over(func: &Function, pressure: &Pressure, inst: Inst, registers: u32) -> bool {
    func.inst(inst).opcode != Opcode::Phi && pressure.before(inst).of(RegFile::R) > registers
}

/// Readers of the value's own block stay as they are up to the first point there, and all of them where it has none
/// behind the definition.
fn part(func: &Function, candidate: &mut Candidate, first: Option<Inst>) {
    let over = first.map(|first| match func.is_before(first, candidate.inst) {
        true => candidate.inst,
        false => first,
    });
    let readers = std::mem::take(&mut candidate.readers);
    let is_early = |inst: Inst| over.is_none_or(|over| inst == over || func.is_before(inst, over));
    (candidate.stays, candidate.readers) = readers.into_iter().partition(|reader| {
        func.block_of(reader.inst) == Some(candidate.block)
            && func.inst(reader.inst).opcode != Opcode::Phi
            && is_early(reader.inst)
    });
}

/// The points with too many words; `None` where there is too much to look at.
fn points(
    func: &Function,
    cx: &mut PhaseContext<'_>,
    pressure: &Pressure,
    candidates: &[Candidate],
    registers: u32,
) -> Option<Vec<Point>> {
    let (cfg, liveness) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Liveness>(func));
    let number: FxHashMap<Reg, usize> = candidates.iter().enumerate().map(|(at, of)| (of.reg, at)).collect();
    let (mut points, mut looked_at) = (Vec::new(), 0);
    let mut walk = LiveWalk::new(func);
    for block in cfg.blocks().iter().filter(|block| pressure.in_block(**block).of(RegFile::R) > registers) {
        walk.start(&liveness, *block);
        for inst in func.block_insts(*block).rev() {
            walk.step(func, inst);
            if !is_over(func, pressure, inst, registers) {
                continue;
            }
            let live = walk.live().iter().filter_map(|reg| number.get(reg).copied());
            let spare: Vec<usize> = live.filter(|at| !is_needed(func, &candidates[*at], inst, *block)).collect();
            looked_at += spare.len() + 1;
            if looked_at > MOST {
                return None;
            }
            points.push(Point { inst, words: pressure.before(inst).of(RegFile::R), spare });
        }
    }
    points.sort_by_key(|point| point.inst);
    Some(points)
}

/// Whether a value is live before an instruction though it is computed again: the instruction reads it, or one behind
/// that keeps it does, or a phi at the block's end.
fn is_needed(func: &Function, candidate: &Candidate, inst: Inst, block: Block) -> bool {
    let is_end = func.terminator(block) == Some(inst);
    let reads_here = |reader: &super::Reader| {
        reader.inst == inst || is_end && reader.block == block && func.inst(reader.inst).opcode == Opcode::Phi
    };
    let kept =
        |reader: &super::Reader| block == candidate.block && (reader.inst == inst || func.is_before(inst, reader.inst));
    candidate.readers.iter().any(reads_here) || candidate.stays.iter().any(kept)
}
