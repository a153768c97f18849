//! Shuffles of a warp: those whose result is known, and those that together are a reduction.
//!
//! `nvvm-warp-shuffle` (`spec/pass-pipeline.txt`, line 1234, whose argument the page does not explain): a shuffle by no
//! distance, and one of a value that all threads of the CTA have, yields the value itself. A lane that is out of range
//! yields its own; what a lane yields that does not take part, PTX leaves open.
//!
//! `nvvm-reduction` (line 1244): five butterfly steps over all lanes, by the distances 1, 2, 4, 8 and 16 in any order,
//! each combined with the value before it by the same operation on integers, are `redux.sync`, which machines have from
//! `sm_80` on. The steps stand in one block, and nothing else reads what is between. Of floats, the order of additions
//! matters.
//!
//! Whether a lane was in range must not be read. The mask names all lanes of the steps, so that all of them execute
//! what comes in their place.
//!
//! Cost: linear.

use oriole_ir::ops::{Opcode, ReduxOp, Relu, Saturate, ShuffleMode, Type};
use oriole_ir::{Block, Function, Inst, InstBuilder, Operand, Reg};
use oriole_pass::analysis::{AnalysisSet, Cfg, Definitions, Divergence, LoopNest, Uniformity, Uses};
use oriole_pass::pass::{Changed, PhaseContext};
use oriole_pass::peephole::rewrite::mov_fields;

/// Distances of a reduction over all lanes, as a set of bits.
const DISTANCES: u64 = 1 | 2 | 4 | 8 | 16;
/// No lane is out of range, and there is one segment.
const WHOLE: u64 = 0x1f;
const ALL_LANES: u64 = 0xffff_ffff;

/// The nvvm-warp-shuffle pass.
pub fn shuffles(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let shuffles: Vec<Inst> = func.layout_insts().filter(|inst| func.inst(*inst).opcode == Opcode::Shfl).collect();
    if shuffles.is_empty() {
        return Changed::No;
    }
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let (divergence, uses) = (cx.analyses.get::<Divergence>(func), cx.analyses.get::<Uses>(func));
    let mut changed = Changed::No;
    for inst in shuffles {
        let value = func.srcs(inst)[0];
        let same = |block: Block| match value.whole_reg() {
            Some(reg) => divergence.at(&cfg, &nest, reg, block) >= Uniformity::Cta,
            None => value.is_imm(),
        };
        let is_known = is_still(func, inst) || func.block_of(inst).is_some_and(same);
        if is_known && is_plain(func, &uses, inst) && cx.rewrite("known-shuffle") {
            let (result, line) = (func.dsts(inst)[0].reg().expect("it was read to be one"), func.inst(inst).line);
            let copy = InstBuilder::new(Opcode::Mov).fields(mov_fields(Type::B32)).dst(result).line(line);
            copy.src(func.free(value)).replace(func, inst);
            changed = Changed::Yes;
        }
    }
    changed
}

/// Whether nobody asks if the lane was in range, and there is no guard.
fn is_plain(func: &Function, uses: &Uses, inst: Inst) -> bool {
    let in_range = func.dsts(inst).get(1).and_then(|operand| operand.reg());
    let has_result = func.dsts(inst)[0].whole_reg().is_some();
    has_result && func.inst(inst).guard.is_none() && in_range.is_none_or(|reg| uses.count(reg) == 0)
}

/// Whether each lane reads itself.
fn is_still(func: &Function, inst: Inst) -> bool {
    let mode = func.inst(inst).field::<ShuffleMode>();
    let moves = matches!(mode, Some(ShuffleMode::Up | ShuffleMode::Down | ShuffleMode::Bfly));
    moves && func.imm_bits(func.srcs(inst)[1]) == Some(0)
}

/// The nvvm-reduction pass.
pub fn reductions(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let shuffles = func.layout_insts().any(|inst| func.inst(inst).opcode == Opcode::Shfl);
    let redux = Opcode::Redux.row();
    if !shuffles || redux.missing_on(cx.target, &redux.default_fields()).is_some() {
        return Changed::No;
    }
    let (definitions, uses) = (cx.analyses.get::<Definitions>(func), cx.analyses.get::<Uses>(func));
    let mut changed = Changed::No;
    for inst in func.layout_insts().collect::<Vec<Inst>>() {
        let search = Search { func, definitions: &definitions, uses: &uses };
        let Some((value, op, ty)) = search.reduction(inst) else { continue };
        if cx.rewrite("butterfly-reduction") {
            let (result, line) = (func.defs(inst).next().expect("it has one result"), func.inst(inst).line);
            let redux = InstBuilder::new(Opcode::Redux).field(op).field(ty).dst(result).line(line);
            redux.src(func.free(value)).src(ALL_LANES).replace(func, inst);
            changed = Changed::Yes;
        }
    }
    if changed.is_yes() {
        cx.preserve(AnalysisSet::CONTROL_FLOW);
    }
    changed
}

struct Search<'a> {
    func: &'a Function,
    definitions: &'a Definitions,
    uses: &'a Uses,
}

impl Search<'_> {
    /// The value that the last step of a reduction reduces, by what operation on what type.
    fn reduction(&self, last: Inst) -> Option<(Operand, ReduxOp, Type)> {
        let data = self.func.inst(last);
        let op = operation(data.opcode)?;
        let block = self.func.block_of(last)?;
        let (mut at, mut distances) = (last, 0);
        loop {
            let (value, distance) = self.step(at, last)?;
            if distances & distance != 0 {
                return None;
            }
            distances |= distance;
            if distances == DISTANCES {
                return Some((value, op, data.ty()));
            }
            // Between the steps, the next shuffle and the next operation read the value.
            let reg = value.whole_reg().filter(|reg| self.uses.count(*reg) == 2)?;
            at = self.definitions.inst(reg)?;
            if self.func.block_of(at) != Some(block) {
                return None;
            }
        }
    }

    /// The value in front of a step like the last one, and the distance of its shuffle.
    fn step(&self, inst: Inst, last: Inst) -> Option<(Operand, u64)> {
        let (data, like) = (self.func.inst(inst), self.func.inst(last));
        let is_like = (data.opcode, data.head().fields) == (like.opcode, like.head().fields);
        let is_exact = data.field::<Saturate>() != Some(Saturate::Sat) && data.field::<Relu>() != Some(Relu::Relu);
        let is_whole = matches!(data.ty(), Type::B32 | Type::U32 | Type::S32);
        let &[a, b] = self.func.srcs(inst) else { return None };
        if !is_like || !is_exact || !is_whole || data.guard.is_some() {
            return None;
        }
        [(a, b), (b, a)].into_iter().find_map(|(own, other)| {
            let shuffle = self.definitions.unguarded(self.func, other, Opcode::Shfl)?;
            let of = |at: usize| self.func.imm_bits(self.func.srcs(shuffle)[at]);
            let is_whole = of(2) == Some(WHOLE) && of(3) == Some(ALL_LANES);
            let is_butterfly = self.func.inst(shuffle).field::<ShuffleMode>() == Some(ShuffleMode::Bfly);
            let is_result = self.func.dsts(shuffle)[0] == other && self.reads_once(other.whole_reg()?);
            let distance = of(1).filter(|distance| distance.is_power_of_two() && distance & DISTANCES != 0)?;
            let same_block = self.func.block_of(shuffle) == self.func.block_of(last);
            let fits = is_whole && is_butterfly && is_result && same_block && is_plain(self.func, self.uses, shuffle);
            (fits && self.func.srcs(shuffle)[0] == own).then_some((own, distance))
        })
    }

    fn reads_once(&self, reg: Reg) -> bool {
        self.uses.count(reg) == 1
    }
}

/// The reduction by an operation.
fn operation(opcode: Opcode) -> Option<ReduxOp> {
    Some(match opcode {
        Opcode::IAdd => ReduxOp::Add,
        Opcode::IMin => ReduxOp::Min,
        Opcode::IMax => ReduxOp::Max,
        Opcode::And => ReduxOp::And,
        Opcode::Or => ReduxOp::Or,
        Opcode::Xor => ReduxOp::Xor,
        _ => return None,
    })
}
