//! `loop-index-split`: a loop in which a condition on its counter changes once becomes two loops, one for each side
//! (`spec/pass-pipeline.txt`, lines 205 and 129; LLVM's LoopIndexSplit, which release 2.8 had last, is the model).
//!
//! The counter starts anywhere and steps by a constant, so a comparison with a value that the loop does not change
//! turns over at most once (`cut.rs`): `i < c` and its kin, and `i == c` where that is the first or the last round. The
//! first loop runs while it has not turned, the second from there to the end; in each the comparison is a constant,
//! which later passes bring to what it decides. A loop is split if
//!
//! - control enters it at its header alone, from one block outside, and one latch leads back to it;
//! - the latch decides whether there is another round, or the header does and computes nothing else that matters;
//! - the counter does not wrap: analysis knows its range;
//! - counter and bound are the same in all lanes of a warp that execute together: lanes on different sides would run
//!   both loops one after the other;
//! - every round that continues executes the comparison, which decides a branch in the loop or guards something;
//! - nothing in it is done by threads together, is a fence, or defines a convergence barrier, since threads of a CTA
//!   may turn over in different rounds;
//! - it has at most [`MOST`] instructions, of which the second loop is a copy (`split.rs`).
//!
//! Where the test at hand compares what steps with a bound, too, the first loop ends at the smaller bound, and has one
//! comparison less in each round.
//!
//! A call splits at one comparison: the first in the order of the loop's blocks.
//!
//! Cost: linear in the loop, and in the reads of what it defines.

mod cut;
mod split;

use cut::Cut;
use oriole_ir::ops::{Compare, Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Operand, Reg};
use oriole_pass::analysis::{
    Cfg, Definitions, Divergence, Dominators, Loop, LoopNest, RangeAnalyses, Ranges, Uniformity, compared,
    reads_kernel_parameter,
};
use oriole_pass::edit::graph::{is_free, phis, two_ways};
use oriole_pass::engine::loop_tests::{Compared, Counter, Order, signed};
use oriole_pass::pass::{Changed, PhaseContext};

/// Instructions of a loop, at most, as for `loop-unswitch`.
const MOST: usize = 100;

/// The loop-index-split pass on the loop with a header.
pub fn run(func: &mut Function, header: Block, cx: &mut PhaseContext<'_>) -> Changed {
    let Some(plan) = plan(func, header, cx).filter(|_| cx.rewrite("split-loop")) else { return Changed::No };
    split::split(func, &plan);
    Changed::Yes
}

/// A loop, and where it is split.
struct Plan {
    around: Around,
    counter: Counter,
    compared: Compared,
    cut: Cut,
}

/// The graph of a loop.
struct Around {
    header: Block,
    /// The block outside that leads to the header.
    before: Block,
    latch: Block,
    blocks: Vec<Block>,
    /// The block that decides whether there is a round more: the latch, or the header.
    test: Block,
    condition: Operand,
    /// Whether control leaves at the test where the condition is true.
    leaves_if: bool,
    /// Where control goes from the test to stay in the loop, and to leave it.
    stays: Block,
    exit: Block,
    /// The other edges out of the loop.
    exits: Vec<(Block, Block)>,
}

impl Around {
    fn is_at_latch(&self) -> bool {
        self.test == self.latch
    }
}

fn plan(func: &Function, header: Block, cx: &mut PhaseContext<'_>) -> Option<Plan> {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let of = nest.innermost(&cfg, header).filter(|of| nest.header(*of) == header && nest.is_natural(*of))?;
    // A copy has no edges from blocks that control cannot reach.
    if func.layout().len() > cfg.rpo().len() {
        return None;
    }
    let around = around(func, &cfg, &nest, of)?;
    if !may_stand_twice(func, &around) {
        return None;
    }
    let definitions = cx.analyses.get::<Definitions>(func);
    let counter = |phi: Inst| Counter::of(func, &definitions, around.before, around.latch, phi);
    let counters: Vec<Counter> = phis(func, header).filter_map(counter).collect();
    if counters.is_empty() {
        return None;
    }
    let divergence = cx.analyses.get::<Divergence>(func);
    let is_known = |operand: Operand| match operand.reg() {
        Some(reg) => divergence.at(&cfg, &nest, reg, header) > Uniformity::Varying,
        None => operand.is_imm(),
    };
    let ranges = cx.analyses.get::<Ranges>(func);
    let known = Known { analyses: RangeAnalyses::new(func, cx.analyses), ranges: &ranges };
    let dominators = cx.analyses.get::<Dominators>(func);
    let in_each_round = around.blocks.iter().filter(|block| dominators.dominates(&cfg, **block, around.latch));
    let mut found = in_each_round.flat_map(|block| func.block_insts(*block)).filter_map(|inst| {
        let (at, compared) = compared_counter(func, &around, &definitions, &counters, inst)?;
        let uniform = is_known(counters[at].phi.into()) && is_known(compared.bound);
        let cut = (uniform && decides(func, &around, compared.reg))
            .then(|| known.cut(func, &around, &counters[at], &compared))??;
        Some((at, compared, cut))
    });
    let (at, compared, cut) = found.next()?;
    drop(found);
    let counter = counters.into_iter().nth(at)?;
    Some(Plan { around, counter, compared, cut })
}

fn around(func: &Function, cfg: &Cfg, nest: &LoopNest, of: Loop) -> Option<Around> {
    let (header, blocks) = (nest.header(of), nest.blocks(of).to_vec());
    if blocks.iter().flat_map(|block| func.block_insts(*block)).take(MOST + 1).count() > MOST {
        return None;
    }
    let mut latches = nest.latches(cfg, of);
    let latch = latches.next().filter(|_| latches.next().is_none())?;
    let mut outside = cfg.predecessors(header).iter().filter(|from| !nest.contains(cfg, of, **from));
    let before = *outside.next().filter(|_| outside.next().is_none())?;
    let leaves = |block: &Block| {
        let (condition, yes, no) = two_ways(func, *block)?;
        let [stays, exit] = match [yes, no].map(|side| nest.contains(cfg, of, side)) {
            [true, false] => [yes, no],
            [false, true] => [no, yes],
            _ => return None,
        };
        Some((*block, condition, stays, exit, exit == yes))
    };
    let (test, condition, stays, exit, leaves_if) = [latch, header].iter().find_map(leaves)?;
    let exits = nest.exits(cfg, of).filter(|(from, _)| *from != test).collect();
    Some(Around { header, before, latch, blocks, test, condition, leaves_if, stays, exit, exits })
}

/// Whether a copy of the loop may run what is left of its rounds. A header that decides is executed once more then.
fn may_stand_twice(func: &Function, around: &Around) -> bool {
    let mut insts = around.blocks.iter().flat_map(|block| func.block_insts(*block));
    let again = |inst: Inst| {
        let data = func.inst(inst);
        data.is(Flags::PURE) || data.is(Flags::TERMINATOR) || reads_kernel_parameter(func, inst)
    };
    insts.all(|inst| func.inst(inst).is(Flags::TERMINATOR) || is_free(func, inst))
        && (around.is_at_latch() || func.block_insts(around.header).all(again))
}

/// The counter that an instruction compares with what the loop does not change, by its number.
fn compared_counter(
    func: &Function,
    around: &Around,
    definitions: &Definitions,
    counters: &[Counter],
    inst: Inst,
) -> Option<(usize, Compared)> {
    let inside = |reg: Reg| definitions.block(reg).is_none_or(|block| around.blocks.contains(&block));
    let stays = |operand: Operand| operand.is_imm() || operand.whole_reg().is_some_and(|reg| !inside(reg));
    let find = |(at, counter): (usize, &Counter)| {
        let compared = Compared::of(func, inst, counter.phi).filter(|compared| stays(compared.bound))?;
        (Some(compared.reg) != around.condition.reg()).then_some((at, compared))
    };
    counters.iter().enumerate().find_map(find)
}

/// Whether a predicate decides a branch between blocks of the loop, or is the guard of something there.
fn decides(func: &Function, around: &Around, predicate: Reg) -> bool {
    let branches = |block: &Block| {
        let stay = |side: Block| around.blocks.contains(&side);
        two_ways(func, *block)
            .is_some_and(|(condition, yes, no)| condition.reg() == Some(predicate) && stay(yes) && stay(no))
    };
    let guards = |inst: Inst| func.inst(inst).guard.is_some_and(|guard| guard.reg() == predicate);
    around.blocks.iter().any(branches) || around.blocks.iter().flat_map(|block| func.block_insts(*block)).any(guards)
}

/// The ranges of numbers, and all that they are asked with.
struct Known<'a> {
    analyses: RangeAnalyses,
    ranges: &'a Ranges,
}

impl Known<'_> {
    /// Where the loop is split so that a comparison is a constant on either side.
    fn cut(&self, func: &Function, around: &Around, counter: &Counter, compared: &Compared) -> Option<Cut> {
        let cx = self.analyses.context(func);
        let range = self.ranges.at_inst(cx, counter.phi.into(), compared.inst)?;
        let bound = self.ranges.at_inst(cx, compared.bound, compared.inst)?;
        if self::compared(compared.compare, compared.is_signed, range, bound).is_some() {
            return None;
        }
        let stepped = self.ranges.at_inst(cx, counter.phi.into(), counter.stepping)?;
        let signs = if compared.is_equality() { vec![true, false] } else { vec![compared.is_signed] };
        let is_signed = signs.into_iter().find(|is_signed| !cut::wraps(stepped, counter.step, *is_signed))?;
        let is_first = counter.start == compared.bound || cut::is_end(range, bound, is_signed, counter.step < 0);
        let goes_up = counter.step > 0;
        let is_last =
            cut::is_end(range, bound, is_signed, goes_up) || goes_up && self.is_last(func, around, compared, is_signed);
        Cut::of(compared, is_signed, goes_up, [is_first, is_last])
    }

    /// Whether a comparison with the last number below the bound of a loop whose header decides: `i == n - 1` in a loop
    /// of `i < n`, behind the header.
    fn is_last(&self, func: &Function, around: &Around, compared: &Compared, is_signed: bool) -> bool {
        let definitions = &self.analyses.definitions;
        let test = || {
            let inst = definitions.unguarded(func, around.condition, Opcode::SetP)?;
            Compared::of(func, inst, compared.counter)
        };
        let one_less = |of: Operand| {
            let inst = definitions.unguarded(func, compared.bound, Opcode::IAdd)?;
            let (srcs, bits) = (func.srcs(inst), func.inst(inst).ty().bits());
            let step = signed(func.imm_bits(srcs[1])?, bits);
            Some(srcs[0] == of && step == -1)
        };
        let below = Order { compare: Compare::Lt, is_signed };
        let is_below = |test: &Compared| test.stays(around.leaves_if) == below;
        let behind = !around.is_at_latch() && definitions.block(compared.reg) != Some(around.header);
        behind && test().filter(is_below).is_some_and(|test| one_less(test.bound) == Some(true))
    }
}
