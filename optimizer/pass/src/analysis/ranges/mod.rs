//! Value ranges: between which numbers the values of registers lie, unsigned and signed.
//!
//! Asked with a block or an instruction, the answer is narrower where branches and guards on comparisons lead there
//! (`conditions.rs`); phis take what comes over each edge under the edge's condition. Launches are bounded by the
//! limits of CUDA and by directives. Loops are followed by sweeps ([`super::sweeps`]): bounds that move with the turns
//! are widened to the limits of the type, and then as far back as conditions allow. Known bits bound every value too.
//!
//! An answer is about every value that is defined whole. Outside SSA form it says what single operations bound.

mod compare;
mod conditions;
mod of_branches;
mod operation;
mod range;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use cranelift_entity::{EntityRef, EntitySet};

use super::cfg::Cfg;
use super::definitions::{Definitions, same_up_to};
use super::dominators::Dominators;
use super::known_bits::{Bits, KnownBits};
use super::manager::Analyses;
use super::memory::StoredValues;
use super::sweeps::{Domain, Values, solve};
use conditions::Condition;
use oriole_ir::{Block, Form, Function, Inst, Operand, Reg, RegInfo};

pub use compare::compared;
pub use of_branches::BranchRanges;
pub use range::Range;

/// Sweeps in which phis grow as their operands do.
const PATIENCE: usize = 3;
/// Sweeps after which a phi that still grows may be anything.
const MOST_SWEEPS: usize = 8;

/// The ranges of a function's registers.
#[derive(Clone, Debug)]
pub struct Ranges {
    regs: Values<Range>,
    /// Conditions under which blocks are entered, sorted by register.
    entered: Vec<(Block, Condition)>,
}

/// Analyses that the ranges of a function are computed from, and asked with.
#[derive(Clone, Copy, Debug)]
pub struct RangeContext<'a> {
    /// The function.
    pub func: &'a Function,
    /// Its graph.
    pub cfg: &'a Cfg,
    /// Its dominators.
    pub dominators: &'a Dominators,
    /// Its definitions.
    pub definitions: &'a Definitions,
}

/// Kept analyses that a [`RangeContext`] borrows.
#[derive(Clone, Debug)]
pub struct RangeAnalyses {
    /// The graph.
    pub cfg: Arc<Cfg>,
    /// The dominators.
    pub dominators: Arc<Dominators>,
    /// The definitions.
    pub definitions: Arc<Definitions>,
}

impl RangeAnalyses {
    /// Those of a function.
    pub fn new(func: &Function, analyses: &mut Analyses) -> RangeAnalyses {
        RangeAnalyses { cfg: analyses.get(func), dominators: analyses.get(func), definitions: analyses.get(func) }
    }

    /// The context for the same function.
    pub fn context<'a>(&'a self, func: &'a Function) -> RangeContext<'a> {
        let RangeAnalyses { cfg, dominators, definitions } = self;
        RangeContext { func, cfg, dominators, definitions }
    }
}

impl Ranges {
    /// The ranges of a function.
    pub fn compute(cx: RangeContext<'_>, known: &KnownBits, stored: &StoredValues) -> Ranges {
        Ranges::solve(cx, known, Some(stored), None)
    }

    /// Those of some registers; `stored` where one of them is loaded.
    fn solve(
        cx: RangeContext<'_>,
        known: &KnownBits,
        stored: Option<&StoredValues>,
        only: Option<&EntitySet<Reg>>,
    ) -> Ranges {
        let mut entered = Vec::new();
        if cx.func.form == Form::Ssa {
            entered = conditions::on_entry(cx.func, cx.cfg, cx.definitions);
            // Stable: those of one register stay in reverse post-order.
            entered.sort_by_key(|(_, condition)| condition.reg);
        }
        let regs = solve(cx.func, cx.cfg, &RangeDomain { cx, known, stored, entered: &entered }, only);
        Ranges { regs, entered }
    }

    /// What an operand may be, wherever it is defined; `None` for what is no number of up to 64 bits.
    pub fn of(&self, func: &Function, operand: Operand) -> Option<Range> {
        Some(read(func, &self.regs, operand, bits_of(func, operand)?))
    }

    /// What an operand may be in a block.
    pub fn in_block(&self, cx: RangeContext<'_>, operand: Operand, block: Block) -> Option<Range> {
        Some(self.view(cx).in_block(operand, bits_of(cx.func, operand)?, block))
    }

    /// What an operand may be where an instruction, which is in a block, executes.
    pub fn at_inst(&self, cx: RangeContext<'_>, operand: Operand, inst: Inst) -> Option<Range> {
        Some(self.view(cx).at_inst(operand, bits_of(cx.func, operand)?, inst))
    }

    fn view<'a>(&'a self, cx: RangeContext<'a>) -> View<'a> {
        View { cx, regs: &self.regs, entered: &self.entered }
    }
}

impl PartialEq for Ranges {
    fn eq(&self, other: &Ranges) -> bool {
        same_up_to(&self.regs, &other.regs, None) && self.entered == other.entered
    }
}

/// The bits that an operand is told apart by; `None` where it has more than 64, or is no value.
fn bits_of(func: &Function, operand: Operand) -> Option<u32> {
    if func.imm_bits(operand).is_some() {
        return Some(64);
    }
    match operand {
        Operand::Reg(reg) => bits_of_reg(func.regs()[reg]),
        Operand::Word(..) => Some(32),
        _ => None,
    }
}

fn bits_of_reg(info: RegInfo) -> Option<u32> {
    let bits = if info.is_predicate() { 1 } else { 32 * u32::from(info.words) };
    (bits <= 64).then_some(bits)
}

/// The range of an operand, where a number has so many bits.
fn read(func: &Function, values: &Values<Range>, operand: Operand, bits: u32) -> Range {
    if let Some(value) = func.imm_bits(operand) {
        return Range::constant(value, bits);
    }
    let of = |reg: Reg| match bits_of_reg(func.regs()[reg]) {
        Some(bits) => values.get(reg.index()).copied().flatten().unwrap_or(Range::full(bits)),
        None => Range::full(64),
    };
    match operand {
        Operand::Reg(reg) => of(reg),
        Operand::Word(reg, word) if func.regs()[reg].words == 2 => word_of(of(reg), word),
        Operand::Word(..) => Range::full(32),
        _ => Range::full(bits),
    }
}

/// A word of a 64-bit value.
fn word_of(whole: Range, word: u8) -> Range {
    let (low, high) = whole.unsigned();
    match word {
        0 if low >> 32 == high >> 32 => Range::unsigned_between(low & 0xffff_ffff, high & 0xffff_ffff, 32),
        1 => Range::unsigned_between(low >> 32, high >> 32, 32),
        _ => Range::full(32),
    }
}

/// Ranges as far as they are known.
#[derive(Clone, Copy)]
struct View<'a> {
    cx: RangeContext<'a>,
    regs: &'a Values<Range>,
    entered: &'a [(Block, Condition)],
}

impl View<'_> {
    fn in_block(&self, operand: Operand, bits: u32, block: Block) -> Range {
        let range = read(self.cx.func, self.regs, operand, bits);
        let Some(reg) = operand.whole_reg() else { return range };
        let first = self.entered.partition_point(|(_, condition)| condition.reg < reg);
        let of = self.entered[first..].iter().take_while(|(_, condition)| condition.reg == reg).take(conditions::MOST);
        let above = of.filter(|(entered, _)| self.cx.dominators.dominates(self.cx.cfg, *entered, block));
        above.fold(range, |range, (_, condition)| self.narrowed(range, condition))
    }

    fn at_inst(&self, operand: Operand, bits: u32, inst: Inst) -> Range {
        let range = match self.cx.func.block_of(inst) {
            Some(block) => self.in_block(operand, bits, block),
            None => read(self.cx.func, self.regs, operand, bits),
        };
        self.under(range, operand, &conditions::on_guard(self.cx.func, self.cx.definitions, inst))
    }

    /// What is left of an operand's range under conditions.
    fn under(&self, range: Range, operand: Operand, conditions: &[Condition]) -> Range {
        let about = conditions.iter().filter(|condition| operand.whole_reg() == Some(condition.reg));
        about.fold(range, |range, condition| self.narrowed(range, condition))
    }

    fn narrowed(&self, range: Range, condition: &Condition) -> Range {
        condition.narrowed(range, read(self.cx.func, self.regs, condition.other, range.bits()))
    }
}

struct RangeDomain<'a> {
    cx: RangeContext<'a>,
    known: &'a KnownBits,
    stored: Option<&'a StoredValues>,
    entered: &'a [(Block, Condition)],
}

impl RangeDomain<'_> {
    fn view<'a>(&'a self, regs: &'a Values<Range>) -> View<'a> {
        View { cx: self.cx, regs, entered: self.entered }
    }

    /// What the known bits of a register leave of a range of its values.
    fn within_known(&self, reg: Operand, range: Range) -> Range {
        let known = self.known.of(self.cx.func, reg);
        if known == Bits::UNKNOWN {
            return range;
        }
        range.meet(Range::unsigned_between(known.ones, !known.zeros, range.bits()))
    }
}

impl Domain for RangeDomain<'_> {
    type Value = Range;

    fn result(&self, values: &Values<Range>, inst: Inst, index: usize) -> Range {
        let func = self.cx.func;
        let dst = func.dsts(inst)[index];
        let Some(bits) = bits_of(func, dst) else { return Range::full(64) };
        let view = self.view(values);
        let under = match func.form {
            Form::Ssa => conditions::on_guard(func, self.cx.definitions, inst),
            _ => Vec::new(),
        };
        let of = |operand: Operand, bits: u32| match func.block_of(inst) {
            Some(block) if func.form == Form::Ssa => view.under(view.in_block(operand, bits, block), operand, &under),
            _ => read(func, values, operand, bits),
        };
        let stored = self.stored.and_then(|stored| stored.read_by(func, inst, index));
        self.within_known(dst, operation::result(func, inst, index, bits, &of, stored))
    }

    fn incoming(&self, values: &Values<Range>, phi: Reg, operand: Operand, (from, to): (Block, Block)) -> Range {
        let Some(bits) = bits_of_reg(self.cx.func.regs()[phi]) else { return Range::full(64) };
        let view = self.view(values);
        let range = view.in_block(operand, bits, from);
        let under = conditions::on_edge(self.cx.func, self.cx.definitions, from, to);
        self.within_known(phi.into(), view.under(range, operand, &under))
    }

    fn otherwise(&self, values: &Values<Range>, reg: Reg, operand: Operand, inst: Inst) -> Range {
        let Some(bits) = bits_of_reg(self.cx.func.regs()[reg]) else { return Range::full(64) };
        match self.cx.func.block_of(inst) {
            Some(block) => self.view(values).in_block(operand, bits, block),
            None => read(self.cx.func, values, operand, bits),
        }
    }

    fn join(&self, a: Range, b: Range) -> Range {
        a.join(b)
    }

    fn widen(&self, old: Range, new: Range, sweep: usize) -> Range {
        match sweep {
            0..PATIENCE => new,
            PATIENCE..MOST_SWEEPS => old.widened(new),
            _ => Range::full(new.bits()),
        }
    }
}
