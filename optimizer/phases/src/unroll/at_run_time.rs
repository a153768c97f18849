//! Unrolling at run time: a loop whose rounds are not known becomes a main loop, of which one round is several of the
//! loop's, and a loop for what is left of them.
//!
//! The main loop is a row of copies of the body of which all tests but the last lead on. It is entered, and goes round
//! again, where that many rounds follow: the test holds behind each of them but the last, about which it is asked. The
//! loop itself does the rounds that are left; so the condition of the main loop may be too strict, but never too weak.
//! A loop is unrolled so if
//!
//! - it contains no other loop, control enters it from one block outside, and its one latch has the test;
//! - the test compares what a counter is stepped to with a bound that the loop does not change;
//! - all threads of a warp that execute the test decide it alike. Otherwise a warp would do the rounds of some threads
//!   in the main loop, and then those of others in the loop behind it;
//! - nothing in it is done by threads together, is a fence, or calls: threads of a CTA may do the same round in
//!   different copies.
//!
//! No number of rounds is computed, so no division is needed, and counters may wrap. For a counter `i` that goes up by
//! `c` while `i < b`, as many as `n` rounds follow where `i < b - (n - 1) * c`, if this difference does not wrap; it is
//! computed of `max(b, least + (n - 1) * c)`. For `i != b` they follow where `b - i` is more than `(n - 1) * c`, as
//! numbers without sign: a counter that misses the bound is no exception, since less than that is then never left.
//!
//! Cost: linear in the copies, and in the function once for all of its loops.

use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

use super::copy::Round;
use super::{is_together, may_be_copied};
use oriole_ir::ops::{Compare, Opcode, Type};
use oriole_ir::{Block, Function, InstBuilder, Operand, Reg, RegInfo};
use oriole_pass::analysis::{Cfg, Definitions, Loop, LoopNest};
use oriole_pass::edit::graph::{add_incoming, come_from, incoming, is_free, map_targets, phis};
use oriole_pass::engine::loop_tests::{Compared, Counter, Order, Shape, limits, signed};
use oriole_pass::ssa::{self, Copies};

/// A loop that is unrolled at run time.
pub(super) struct Plan {
    shape: Shape,
    /// The block outside that leads to the header.
    before: Block,
    counter: Counter,
    /// The relation of what the counter is stepped to with the bound, under which control stays.
    stays: Order,
    bound: Operand,
    /// As many rounds are one.
    rounds: u32,
}

impl Plan {
    /// The plan for a loop of which so many rounds are to be one.
    pub(super) fn new(
        func: &Function,
        cfg: &Cfg,
        nest: &LoopNest,
        definitions: &Definitions,
        of: Loop,
        (shape, rounds): (Shape, u32),
    ) -> Option<Plan> {
        let mut outside = cfg.predecessors(shape.header).iter().filter(|from| !nest.contains(cfg, of, **from));
        let before = *outside.next().filter(|_| outside.next().is_none())?;
        let inside = |reg: Reg| definitions.block(reg).is_none_or(|block| shape.blocks.contains(&block));
        let stays_same = |operand: Operand| operand.is_imm() || operand.whole_reg().is_some_and(|reg| !inside(reg));
        let test = definitions.unguarded(func, shape.condition, Opcode::SetP)?;
        let counted = |phi| {
            let counter = Counter::of(func, definitions, before, shape.test, phi)?;
            let compared = Compared::of(func, test, counter.next).filter(|compared| stays_same(compared.bound))?;
            let stays = compared.stays(shape.leaves_if);
            let ends = match stays.compare {
                Compare::Lt | Compare::Le => counter.step > 0,
                Compare::Gt | Compare::Ge => counter.step < 0,
                compare => compare == Compare::Ne,
            };
            let (_, most) = limits(bits(func, &counter), true);
            let fits = i128::from(rounds) * i128::from(counter.step).abs() <= most;
            (ends && fits).then_some((counter, stays, compared.bound))
        };
        let (counter, stays, bound) = phis(func, shape.header).find_map(counted)?;
        Some(Plan { shape, before, counter, stays, bound, rounds })
    }

    /// Whether a loop of this shape may be taken at all.
    pub(super) fn may_be(func: &Function, cfg: &Cfg, nest: &LoopNest, of: Loop, shape: &Shape) -> bool {
        let is_innermost = |block: &Block| nest.innermost(cfg, *block) == Some(of);
        let may_differ = |block: &Block| {
            let branch = func.terminator(*block);
            let mut insts = func.block_insts(*block).filter(|inst| Some(*inst) != branch);
            insts.all(|inst| is_free(func, inst) && !is_together(func, inst) && may_be_copied(func, inst))
        };
        shape.latches == [shape.test] && shape.blocks.iter().all(is_innermost) && shape.blocks.iter().all(may_differ)
    }

    /// Makes the two loops.
    fn unroll(&self, func: &mut Function, made: &mut Made) {
        let Shape { header, test, exit, leaves_if, condition, .. } = self.shape;
        let mut rounds = vec![Round::new(func, &self.shape, &self.shape.blocks, &Round::default())];
        for at in 1..self.rounds as usize {
            let next = Round::new(func, &self.shape, &self.shape.blocks, &rounds[at - 1]);
            rounds.push(next);
        }
        for pair in rounds.windows(2) {
            pair[0].lead_on(func, &self.shape, pair[1].block(header));
        }
        let (first, last) = (rounds[0].block(header), &rounds[rounds.len() - 1]);
        let (choice, behind) = (func.create_block(), func.create_block());
        InstBuilder::new(Opcode::Bra).src(header).append(func, choice);
        let [yes, no] = if leaves_if { [exit, header] } else { [header, exit] };
        let condition = func.free(last.operand(condition));
        InstBuilder::new(Opcode::CBra).src(condition).src(yes).src(no).append(func, behind);
        let next = last.operand(self.counter.next.into());
        let follow = Follow::new(func, self, choice);
        follow.decide(func, self, choice, self.counter.start, [first, header]);
        follow.decide(func, self, last.block(test), next, [first, behind]);
        map_targets(func, self.before, |target| if target == header { choice } else { target });
        come_from(func, header, self.before, choice);
        for (phi, copy) in phis(func, header).zip(phis(func, first)).collect::<Vec<_>>() {
            let [start, next] = [choice, test].map(|from| incoming(func, phi, from).expect("a phi has both edges"));
            let next = last.operand(next);
            func.set_srcs(copy, &[start, Operand::Block(choice), next, Operand::Block(last.block(test))]);
            add_incoming(func, phi, next, behind);
        }
        for phi in phis(func, exit).collect::<Vec<_>>() {
            let value = incoming(func, phi, test).expect("a phi has a source for each block that leads to it");
            add_incoming(func, phi, last.operand(value), behind);
        }
        [header, first].into_iter().for_each(|header| func.set_nounroll(header, true));
        made.note(func, self, &rounds, [choice, behind]);
    }
}

/// The condition under which as many rounds follow as the main loop makes one.
enum Follow {
    /// Where the counter has a relation to a limit.
    Within(Order, Operand),
    /// Where the counter is further from its bound than this, in the direction in which it goes.
    Apart(Operand),
}

impl Follow {
    /// Computes in front of a block's branch what the loop does not change.
    fn new(func: &mut Function, plan: &Plan, block: Block) -> Follow {
        let bits = bits(func, &plan.counter);
        let reach = i128::from(plan.rounds - 1) * i128::from(plan.counter.step).abs();
        let Order { compare, is_signed } = plan.stays;
        let strict = match compare {
            Compare::Lt | Compare::Le => Compare::Lt,
            Compare::Gt | Compare::Ge => Compare::Gt,
            _ => return Follow::Apart(constant(func, reach, bits)),
        };
        // `i <= b` is `i < b + 1`, where one round less than these is one number less.
        let reach = reach - i128::from(compare != strict);
        let (least, most) = limits(bits, is_signed);
        let (opcode, end, by) = match strict {
            Compare::Lt => (Opcode::IMax, least + reach, -reach),
            _ => (Opcode::IMin, most - reach, reach),
        };
        let order = Order { compare: strict, is_signed };
        if reach == 0 {
            return Follow::Within(order, plan.bound);
        }
        if let Some(bound) = func.imm_bits(plan.bound) {
            let bound = if is_signed { i128::from(signed(bound, bits)) } else { i128::from(bound) };
            let near = if strict == Compare::Lt { bound.max(end) } else { bound.min(end) };
            return Follow::Within(order, constant(func, near + by, bits));
        }
        let [end, by] = [end, by].map(|number| constant(func, number, bits));
        let ty = Type::integer(bits, is_signed).expect("counters have 32 or 64 bits");
        let near = InstBuilder::new(opcode).field(ty).src(func.free(plan.bound)).src(func.free(end));
        let near = insert(func, near, block, width(bits));
        let limit = InstBuilder::new(Opcode::IAdd).field(ty).src(near).src(func.free(by));
        Follow::Within(order, insert(func, limit, block, width(bits)).into())
    }

    /// Has a block branch to the first of two others where the rounds follow, else to the second.
    fn decide(&self, func: &mut Function, plan: &Plan, block: Block, value: Operand, to: [Block; 2]) {
        let bits = bits(func, &plan.counter);
        let compared = match *self {
            Follow::Within(order, limit) => order.of(bits, value, limit, func),
            Follow::Apart(reach) => {
                let ty = Type::integer(bits, false).expect("counters have 32 or 64 bits");
                let [from, to] = if plan.counter.step > 0 { [plan.bound, value] } else { [value, plan.bound] };
                let apart = InstBuilder::new(Opcode::ISub).field(ty).src(func.free(from)).src(func.free(to));
                let apart = insert(func, apart, block, width(bits));
                Order { compare: Compare::Gt, is_signed: false }.of(bits, apart.into(), reach, func)
            }
        };
        let holds = insert(func, compared, block, RegInfo::PRED);
        let branch = func.terminator(block).expect("a block ends with a branch");
        InstBuilder::new(Opcode::CBra).src(holds).src(to[0]).src(to[1]).replace(func, branch);
    }
}

fn bits(func: &Function, counter: &Counter) -> u32 {
    32 * u32::from(func.regs()[counter.phi].words)
}

fn width(bits: u32) -> RegInfo {
    RegInfo::words((bits / 32) as u8)
}

fn constant(func: &mut Function, number: i128, bits: u32) -> Operand {
    func.imm(number as u64 & (u64::MAX >> (64 - bits)))
}

/// Puts an instruction in front of a block's branch; its result.
fn insert(func: &mut Function, builder: InstBuilder, block: Block, info: RegInfo) -> Reg {
    let branch = func.terminator(block).expect("a block ends with a branch");
    let reg = func.new_reg(info);
    builder.dst(reg).insert_before(func, branch);
    reg
}

/// Unrolls loops of which none leads straight to another one.
pub(super) fn unroll(func: &mut Function, plans: &[Plan]) {
    let mut made = Made::default();
    plans.iter().for_each(|plan| plan.unroll(func, &mut made));
    made.finish(func);
}

/// The loops among these that can be unrolled in one go: the edge out of one is not the edge into another.
pub(super) fn apart(plans: Vec<Plan>) -> Vec<Plan> {
    let mut tests = EntitySet::new();
    tests.extend(plans.iter().map(|plan| plan.shape.test));
    plans.into_iter().filter(|plan| !tests.contains(plan.before)).collect()
}

/// The main loops of a function.
#[derive(Default)]
struct Made {
    /// By the first block of a loop in the layout: what goes in front of it.
    in_front: FxHashMap<Block, Vec<Block>>,
    /// The registers of the loops, which their main loops define too.
    both: Vec<(Reg, Copies)>,
}

impl Made {
    fn note(&mut self, func: &Function, plan: &Plan, rounds: &[Round], [choice, behind]: [Block; 2]) {
        let blocks = &plan.shape.blocks;
        let copies = rounds.iter().flat_map(|round| blocks.iter().map(|block| round.block(*block)));
        self.in_front.insert(blocks[0], std::iter::once(choice).chain(copies).chain([behind]).collect());
        let last = &rounds[rounds.len() - 1];
        for block in blocks {
            let defined = func.block_insts(*block).flat_map(|inst| func.defs(inst));
            self.both.extend(defined.map(|reg| (reg, vec![(last.block(*block), last.reg(reg))])));
        }
    }

    fn finish(mut self, func: &mut Function) {
        let mut layout = Vec::new();
        for block in func.layout() {
            layout.extend(self.in_front.remove(block).into_iter().flatten());
            layout.push(*block);
        }
        func.set_layout(layout);
        self.both.sort_unstable_by_key(|(reg, _)| *reg);
        ssa::repair(func, &self.both);
    }
}
