//! OriLinearReplacement: what a loop counts becomes what it counts already.
//!
//! `spec/instruction-movement.txt` (line 215) mentions the wrapper of the phase and nothing of its work. Its place,
//! behind strength reduction and unrolling and ahead of the liveness pass that removes "dead induction variables", is
//! that of linear function test replacement (Cocke and Kennedy, "An Algorithm for Reduction of Operator Strength",
//! 1977; Muchnick, "Advanced Compiler Design and Implementation", 14.1.4). A counter is a phi of a loop's header that
//! each round steps by a constant (`loop_tests/counters.rs`); the loop is natural, with a preheader and one latch. Then
//!
//! - *twin*: of two counters with one step, whose starts are a constant apart, the second is the first plus that
//!   constant. It goes where that takes no instruction more in a round;
//! - *final*: behind a loop whose rounds are counted, a counter that starts at a constant is a constant;
//! - *test*: where nothing but the test reads a counter of such a loop, the test reads another one in its place, which
//!   starts at a constant too, and is compared with its value in the last round. A bound in a register would be no
//!   less work, but ptxas then counts the rounds no more: it made 534 instructions of `cluster_product` in place of 353
//!   (2026-11-29).
//!
//! Each takes a counter or a read of one away and makes none, so replacing ends. All arithmetic is modulo the width of
//! the registers. Dead counters go with the liveness pass.
//!
//! Cost: linear, and counting rounds, [`MOST_ROUNDS`] at most for each loop and [`ROUNDS_IN_ALL`] for all.

use std::sync::Arc;

use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Function, Inst, InstBuilder, Operand, Reg};
use oriole_pass::analysis::{AnalysisSet, Cfg, Definitions, Dominators, Loop, LoopNest};
use oriole_pass::edit::graph::{behind_phis, phis};
use oriole_pass::engine::loop_tests::{Compared, Counter, Shape, Trips};
use oriole_pass::engine::readers::Readers;
use oriole_pass::pass::{Changed, PhaseContext};

/// Rounds of a loop that are counted.
const MOST_ROUNDS: u32 = 1 << 12;
/// Rounds of all loops of a function that are counted.
const ROUNDS_IN_ALL: u32 = 1 << 16;

/// OriLinearReplacement.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if cx.analyses.get::<LoopNest>(func).loops().next().is_none() {
        return Changed::No;
    }
    let facts = Facts::new(func, cx);
    let mut changed = facts.each(func, |func, looped| twins(func, cx, looped));
    if changed.is_yes() {
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
    }
    let facts = Facts::new(func, cx);
    let trips = Trips::new(facts.cfg.clone(), facts.definitions.clone());
    let mut left = ROUNDS_IN_ALL;
    changed |= facts.each(func, |func, looped| of_rounds(func, cx, looped, &trips, &mut left));
    changed
}

/// All that is known of a function. Of what one loop changes another one knows no more than who no longer reads what.
struct Facts {
    cfg: Arc<Cfg>,
    nest: Arc<LoopNest>,
    definitions: Arc<Definitions>,
    dominators: Arc<Dominators>,
    readers: Readers,
}

impl Facts {
    fn new(func: &Function, cx: &mut PhaseContext<'_>) -> Facts {
        Facts {
            cfg: cx.analyses.get(func),
            nest: cx.analyses.get(func),
            definitions: cx.analyses.get(func),
            dominators: cx.analyses.get(func),
            readers: Readers::of(func),
        }
    }

    /// Works on the loops that have counters, inner loops first.
    fn each(&self, func: &mut Function, mut work: impl FnMut(&mut Function, &Looped<'_>) -> Changed) -> Changed {
        let loops = self.nest.loops().rev();
        loops.fold(Changed::No, |changed, of| match Looped::new(func, self, of) {
            Some(looped) => changed | work(func, &looped),
            None => changed,
        })
    }
}

/// A loop with counters.
struct Looped<'a> {
    facts: &'a Facts,
    of: Loop,
    counters: Vec<Counter>,
}

impl<'a> Looped<'a> {
    fn new(func: &Function, facts: &'a Facts, of: Loop) -> Option<Looped<'a>> {
        let Facts { cfg, nest, definitions, .. } = facts;
        let preheader = nest.preheader(cfg, of).filter(|_| nest.is_natural(of))?;
        let mut latches = nest.latches(cfg, of);
        let latch = latches.next().filter(|_| latches.next().is_none())?;
        let counter = |phi: Inst| Counter::of(func, definitions, preheader, latch, phi);
        let counters: Vec<Counter> = phis(func, nest.header(of)).filter_map(counter).collect();
        (!counters.is_empty()).then_some(Looped { facts, of, counters })
    }

    /// Whether anything but the counter itself reads its phi, and whether anything but that reads its next value.
    fn is_read(&self, counter: &Counter) -> (bool, bool) {
        let Facts { definitions, readers, .. } = self.facts;
        let phi = definitions.inst(counter.phi);
        let now = readers.reads(counter.phi).iter().any(|(inst, _)| *inst != counter.stepping);
        let next = readers.reads(counter.next).iter().any(|(inst, _)| Some(*inst) != phi);
        (now, next)
    }

    fn bits(&self, func: &Function, counter: &Counter) -> u32 {
        32 * u32::from(func.regs()[counter.phi].words)
    }
}

/// A counter's place in the loop's list, and how far it is from another one at any time.
struct Twin {
    other: usize,
    by: u64,
}

/// Replaces counters that are others plus a constant.
fn twins(func: &mut Function, cx: &mut PhaseContext<'_>, looped: &Looped<'_>) -> Changed {
    let mut changed = Changed::No;
    // A counter is replaced by one before it alone, which stays.
    let mut stay: Vec<usize> = Vec::new();
    for (at, counter) in looped.counters.iter().enumerate() {
        let twin = stay.iter().find_map(|other| twin(func, looped, *other, at));
        let Some(Twin { other, by }) = twin.filter(|twin| costs_nothing(looped, counter, twin)) else {
            stay.push(at);
            continue;
        };
        if !cx.rewrite("linear-replacement:twin") {
            break;
        }
        become_sum(func, looped, counter, &looped.counters[other], by);
        changed = Changed::Yes;
    }
    changed
}

/// How far a counter is from another one, if it always is as far.
fn twin(func: &Function, looped: &Looped<'_>, other: usize, at: usize) -> Option<Twin> {
    let (first, second) = (&looped.counters[other], &looped.counters[at]);
    let bits = looped.bits(func, first);
    if bits != looped.bits(func, second) || first.step != second.step {
        return None;
    }
    let by = match (func.imm_bits(first.start), func.imm_bits(second.start)) {
        _ if first.start == second.start => 0,
        (Some(one), Some(two)) => two.wrapping_sub(one),
        // A sum of the other's start, as an unrolled loop or an address has it.
        (None, None) => {
            let sum = looped.facts.definitions.unguarded(func, second.start, Opcode::IAdd)?;
            let srcs = func.srcs(sum);
            let place = srcs.iter().position(|src| *src == first.start)?;
            let same_width = func.inst(sum).field::<Type>().is_some_and(|ty| ty.bits() == bits);
            func.imm_bits(srcs[1 - place]).filter(|_| same_width)?
        }
        _ => return None,
    };
    Some(Twin { other, by: by & (u64::MAX >> (64 - bits)) })
}

/// Whether a round has no instruction more without a counter: its addition makes place for one.
fn costs_nothing(looped: &Looped<'_>, counter: &Counter, twin: &Twin) -> bool {
    twin.by == 0 || looped.is_read(counter) != (true, true)
}

/// Makes a counter the sum of another one and a constant.
fn become_sum(func: &mut Function, looped: &Looped<'_>, counter: &Counter, other: &Counter, by: u64) {
    let (now, next) = looped.is_read(counter);
    let phi = looped.facts.definitions.inst(counter.phi).expect("a counter is a phi");
    let ty = func.inst(counter.stepping).field::<Type>().expect("an addition has a type");
    func.remove_inst(phi);
    let mask = u64::MAX >> (64 - looped.bits(func, counter));
    if next {
        // What comes next is counted from the other one too, so that nothing is left of this one.
        let sum = by.wrapping_add(counter.step as u64) & mask;
        let srcs = [Operand::Reg(other.phi), func.bind(sum)];
        func.set_srcs(counter.stepping, &srcs);
    } else {
        func.remove_inst(counter.stepping);
    }
    if now {
        let at = behind_phis(func, looped.facts.nest.header(looped.of)).expect("a block ends with a branch");
        let builder = InstBuilder::new(Opcode::IAdd).field(ty).dst(counter.phi);
        builder.src(other.phi).src(by).insert_before(func, at);
    }
}

/// Replaces what is read of counters of a loop whose rounds are counted.
fn of_rounds(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    looped: &Looped<'_>,
    trips: &Trips,
    left: &mut u32,
) -> Changed {
    let Facts { cfg, nest, dominators, .. } = looped.facts;
    let Some(shape) = Shape::of(func, cfg, dominators, nest, looped.of) else { return Changed::No };
    let most = MOST_ROUNDS.min(*left);
    let counted = trips.count(func, &shape, most);
    *left -= counted.as_ref().map_or(most, |counted| counted.rounds);
    let Some(counted) = counted else { return Changed::No };
    let rounds = u64::from(counted.rounds);
    let mut changed = Changed::No;
    for counter in &looped.counters {
        changed |= last_values(func, cx, looped, &shape, counter, rounds);
    }
    changed | other_test(func, cx, looped, &shape, rounds)
}

/// The value of a counter in the round that executes the test for the time `round`, counted from one: the phi, or its
/// next value; how many steps it has taken from its start.
fn steps(round: u64, is_next: bool) -> u64 {
    if is_next { round } else { round - 1 }
}

/// A number that a counter has come to from a constant.
fn number(counter: &Counter, start: u64, bits: u32, steps: u64) -> u64 {
    start.wrapping_add((counter.step as u64).wrapping_mul(steps)) & (u64::MAX >> (64 - bits))
}

/// Behind the loop, a counter that starts at a constant is a constant.
fn last_values(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    looped: &Looped<'_>,
    shape: &Shape,
    counter: &Counter,
    rounds: u64,
) -> Changed {
    let Some(start) = func.imm_bits(counter.start) else { return Changed::No };
    let bits = looped.bits(func, counter);
    let mut changed = Changed::No;
    for (reg, is_next) in [(counter.phi, false), (counter.next, true)] {
        // The last round may leave before it steps.
        if is_next && !is_before_test(func, looped, shape, counter) {
            continue;
        }
        let value = number(counter, start, bits, steps(rounds, is_next));
        for (inst, block) in looped.facts.readers.reads(reg) {
            let is_phi = func.inst(*inst).opcode == Opcode::Phi;
            let home = if is_phi { func.block_of(*inst) } else { Some(*block) };
            let is_behind = home.is_some_and(|home| !looped.facts.nest.contains(&looped.facts.cfg, looped.of, home));
            let whole = func.inputs(*inst).contains(&Operand::Reg(reg));
            if !is_behind || !whole || !takes_numbers(func, *inst, reg) || !cx.rewrite("linear-replacement:final") {
                continue;
            }
            let constant = func.bind(value);
            for operand in func.inputs_mut(*inst).iter_mut().filter(|operand| **operand == Operand::Reg(reg)) {
                *operand = constant;
            }
            changed = Changed::Yes;
        }
    }
    changed
}

/// Whether an instruction may have a number where it reads a register: it merges, or computes.
fn takes_numbers(func: &Function, inst: Inst, reg: Reg) -> bool {
    let data = func.inst(inst);
    let is_guard = data.guard.is_some_and(|guard| guard.reg() == reg);
    let computes = data.is(oriole_ir::ops::Flags::PURE) && data.opcode != Opcode::Call;
    (data.opcode == Opcode::Phi || computes) && !is_guard
}

/// Whether a counter has its next value when the loop is tested.
fn is_before_test(func: &Function, looped: &Looped<'_>, shape: &Shape, counter: &Counter) -> bool {
    let home = func.block_of(counter.stepping);
    home.is_some_and(|home| looped.facts.dominators.dominates(&looped.facts.cfg, home, shape.test))
}

/// Where nothing but the test reads a counter, has the test read another one.
fn other_test(
    func: &mut Function,
    cx: &mut PhaseContext<'_>,
    looped: &Looped<'_>,
    shape: &Shape,
    rounds: u64,
) -> Changed {
    let Some(plan) = Test::of(func, looped, shape, rounds) else { return Changed::No };
    if !cx.rewrite("linear-replacement:test") {
        return Changed::No;
    }
    plan.apply(func);
    Changed::Yes
}

/// A test of another counter.
struct Test {
    compare: Inst,
    value: Reg,
    bound: u64,
    bits: u32,
    leaves_if: bool,
}

impl Test {
    fn of(func: &Function, looped: &Looped<'_>, shape: &Shape, rounds: u64) -> Option<Test> {
        let condition = shape.condition.whole_reg()?;
        let compare = looped.facts.definitions.inst(condition)?;
        let phi = |counter: &Counter| looped.facts.definitions.inst(counter.phi);
        let reads_alone = |counter: &&Counter| {
            let own = |inst: &Inst| *inst == counter.stepping || Some(*inst) == phi(counter) || *inst == compare;
            let mut readers =
                looped.facts.readers.reads(counter.phi).iter().chain(looped.facts.readers.reads(counter.next));
            readers.all(|(inst, _)| own(inst))
        };
        let tested = |counter: &&Counter| {
            let of = [counter.phi, counter.next].into_iter().find_map(|reg| Compared::of(func, compare, reg));
            of.is_some_and(|of| of.reg == condition)
        };
        let old = looped.counters.iter().find(|counter| tested(counter) && reads_alone(counter))?;
        let is_better = |counter: &&Counter| {
            let bits = looped.bits(func, counter);
            let span = u128::from(counter.step.unsigned_abs()) * u128::from(rounds);
            let keeps_going = span < 1 << bits && counter.phi != old.phi && !reads_alone(counter);
            // A number of 64 bits takes two registers and two comparisons.
            keeps_going && bits == 32 && counter.start.is_imm()
        };
        let new = looped.counters.iter().find(is_better)?;
        // Where the addition comes behind the test, or in front of it and behind the comparison, the phi is there.
        let home = func.block_of(new.stepping)?;
        let place = func.block_of(compare)?;
        let is_next = match home == place {
            true => func.is_before(new.stepping, compare),
            false => looped.facts.dominators.dominates(&looped.facts.cfg, home, place),
        };
        let bits = looped.bits(func, new);
        let bound = number(new, func.imm_bits(new.start)?, bits, steps(rounds, is_next));
        let value = if is_next { new.next } else { new.phi };
        Some(Test { compare, value, bound, bits, leaves_if: shape.leaves_if })
    }

    /// The condition keeps its register: it holds in the last round alone, or in all but that.
    fn apply(self, func: &mut Function) {
        let Test { compare, value, bound, bits, leaves_if } = self;
        let ty = Type::integer(bits, false).expect("counters have 32 or 64 bits");
        let relation = if leaves_if { Compare::Eq } else { Compare::Ne };
        let dst = func.defs(compare).next().expect("a comparison has a result");
        let line = func.inst(compare).line;
        let builder = InstBuilder::new(Opcode::SetP).field(ty).field(relation).dst(dst).src(value).src(bound);
        builder.line(line).replace(func, compare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_from_the_first_test() {
        assert_eq!((steps(1, false), steps(1, true), steps(5, false)), (0, 1, 4));
    }
}
