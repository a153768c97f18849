//! OriLoopUnrolling: a loop whose rounds are counted becomes as many copies of its body, one behind the other.
//!
//! `spec/liveness-and-dce.txt` ("Why Four Instances?") names the phase alone, as one whose dead code the second
//! liveness pass removes: "dead loop induction variables, redundant computations from unrolling". Here is what the
//! field knows as complete unrolling (Muchnick, "Advanced Compiler Design and Implementation", 17.4; LLVM's
//! LoopFullUnroll). A loop is unrolled if
//!
//! - it is natural, one edge leaves it, and each round executes the test at that edge once;
//! - the test depends on constants alone, by way of phis that begin with constants. It is then evaluated round by round
//!   until it fails (`loop_tests/trips.rs`), so it does not matter how the loop counts;
//! - its code does not grow by more than the knob `UnrollSize` says, in instructions, given that what depends on the
//!   counter alone is constant in each copy (`worth.rs`), and it has at most `UnrollRounds` rounds;
//! - `.pragma "nounroll"` does not forbid it.
//!
//! The loop itself stays as the first round, without its edge back; copies of its blocks follow for the other ones
//! (`copy.rs`). The last of them ends at the test. What is read behind the loop is what the last round defines.
//!
//! Threads that enter such a loop together make the same rounds and leave it together. What they do together in it,
//! barriers included, is copied where each round executes it once: then the nth arrival of every thread is at the same
//! copy, and their order is the same. A loop in which such an operation is under a condition or in an inner loop
//! stays where threads of a CTA decide branches differently in it, since a thread might arrive in one round and its
//! partner in another. So do loops of more than one round with calls, whose copies never get smaller, with convergence
//! barriers in registers, and with branch tables.
//!
//! `loop-unroll` also takes loops of more rounds, or of more code, in part: where 8, 4 or 2 divide the number of
//! rounds, so many rounds become one, in which only the last test is left. Such a loop is marked as one that is not
//! unrolled any more, as LLVM does. A loop of as many rounds as it finds when it runs, or of a number that these do not
//! divide, becomes a main loop and one for the rounds that are left (`at_run_time.rs`).
//!
//! Inner loops come first; what is around them is looked at in the next one of `UnrollPasses` passes over the function.
//!
//! Cost: a pass is linear, times the limits of rounds and of blocks of a loop.

mod at_run_time;
mod copy;
mod worth;

use std::sync::Arc;

use cranelift_entity::EntitySet;
use rustc_hash::FxHashSet;

use copy::Copies;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, RegFile};
use oriole_pass::analysis::{AnalysisSet, Cfg, Definitions, Divergence, Dominators, Loop, LoopNest, Uniformity};
use oriole_pass::edit::graph::drop_unreachable;
use oriole_pass::engine::loop_tests::{Shape, Trips};
use oriole_pass::engine::merge_blocks;
use oriole_pass::engine::rounds::rounds;
use oriole_pass::pass::{Changed, Knob, PassOption, PhaseContext};

const RULE: &str = "unroll-loop";
const AT_RUN_TIME: &str = "unroll-loop-at-run-time";

/// Rounds that become one, at most.
const MOST_COPIES: u32 = 8;

/// How far loops are unrolled.
#[derive(Clone, Copy)]
struct Limits {
    /// By how much the code of a loop may grow, in instructions.
    size: u64,
    /// Rounds of a loop.
    rounds: u32,
    /// The same two for a loop that is unrolled in part, and as many rounds as become one.
    part: Option<(u64, u32, u32)>,
}

/// OriLoopUnrolling.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let [size, rounds] = [Knob::UnrollSize, Knob::UnrollRounds].map(|knob| cx.knobs.number(knob));
    unroll(func, cx, Limits { size: size as u64, rounds: rounds as u32, part: None })
}

/// `loop-unroll` of cicc (`spec/pass-pipeline.txt`, line 1211). The page gives its two factories, and no sizes. LLVM's
/// are `unroll-threshold`, 300 at `-O3`, times up to 4 for what becomes constant, which here counts as gone; and a
/// quarter of the threshold for a loop in part, as for NVPTX. As many rounds become one there as `unroll-runtime-count`
/// says in LLVM, 8, and no more than slot 197 (line 386).
pub fn loop_unroll(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let count = cx.pass_options.number(PassOption::of_slot(197)).unwrap_or(MOST_COPIES.into());
    let count = count.clamp(1, MOST_COPIES.into()) as u32;
    let limits = Limits { size: 1200, rounds: 128, part: Some((75, 1 << 10, count)) };
    unroll(func, cx, limits)
}

/// Loops whose number of rounds is found when they run.
fn at_run_time(func: &mut Function, cx: &mut PhaseContext<'_>, limits: Limits) -> Changed {
    let nest = cx.analyses.get::<LoopNest>(func);
    let cfg = cx.analyses.get::<Cfg>(func);
    // Copies have no edges from blocks that control cannot reach.
    if nest.loops().next().is_none() || func.layout().len() > cfg.rpo().len() {
        return Changed::No;
    }
    let mut search = Search::new(func, cx, limits);
    let found = nest.loops().filter(|of| nest.is_natural(*of)).filter_map(|of| search.plan_at_run_time(cx, &nest, of));
    let mut plans = at_run_time::apart(found.collect());
    let allowed = plans.iter().take_while(|_| cx.rewrite(AT_RUN_TIME)).count();
    plans.truncate(allowed);
    if plans.is_empty() {
        return Changed::No;
    }
    at_run_time::unroll(func, &plans);
    cx.analyses.retain(AnalysisSet::NONE);
    if merge_blocks::run(func, cx).is_yes() {
        cx.analyses.retain(AnalysisSet::NONE);
    }
    Changed::Yes
}

fn unroll(func: &mut Function, cx: &mut PhaseContext<'_>, limits: Limits) -> Changed {
    rounds(func, cx, Knob::UnrollPasses, |func, cx| match pass(func, cx, limits) {
        // Loops whose rounds are counted come first: what is around them may be counted then.
        Changed::No if limits.part.is_some() => at_run_time(func, cx, limits),
        changed => changed,
    })
}

/// Every loop once that has none in it which is unrolled.
fn pass(func: &mut Function, cx: &mut PhaseContext<'_>, limits: Limits) -> Changed {
    let nest = cx.analyses.get::<LoopNest>(func);
    if nest.loops().next().is_none() {
        return Changed::No;
    }
    // Copies of a loop's blocks have no edges from blocks that control cannot reach.
    let cfg = cx.analyses.get::<Cfg>(func);
    if drop_unreachable(func, cx, &cfg).is_yes() {
        cx.analyses.retain(AnalysisSet::NONE);
        return Changed::Yes | pass(func, cx, limits);
    }
    let mut copies = Copies::default();
    for plan in plans(func, cx, &nest, limits) {
        if !cx.rewrite(RULE) {
            break;
        }
        match plan.in_part {
            true => copies.unroll_in_part(func, &plan),
            false => copies.unroll(func, &plan),
        }
    }
    if !copies.finish(func) {
        return Changed::No;
    }
    cx.analyses.retain(AnalysisSet::NONE);
    // The copies lead to each other without a choice.
    if merge_blocks::run(func, cx).is_yes() {
        cx.analyses.retain(AnalysisSet::NONE);
    }
    Changed::Yes
}

/// What is done to a loop.
struct Plan {
    shape: Shape,
    /// As many copies there are of the body.
    rounds: u32,
    /// Whether the loop stays one, of fewer rounds.
    in_part: bool,
    /// The blocks from the header to the test, which the last round executes, in layout order.
    to_test: Vec<Block>,
}

fn plans(func: &Function, cx: &mut PhaseContext<'_>, nest: &LoopNest, limits: Limits) -> Vec<Plan> {
    let (mut found, mut around) = (Vec::new(), EntitySet::new());
    let mut search = Search::new(func, cx, limits);
    for of in nest.loops().rev().filter(|of| nest.is_natural(*of)) {
        if around.contains(of) {
            continue;
        }
        if let Some(plan) = search.plan(cx, nest, of) {
            found.push(plan);
            let outer = std::iter::successors(nest.parent(of), |of| nest.parent(*of));
            outer.take_while(|of| around.insert(*of)).count();
        }
    }
    found
}

struct Search<'a> {
    func: &'a Function,
    cfg: Arc<Cfg>,
    dominators: Arc<Dominators>,
    limits: Limits,
    trips: Option<Trips>,
}

impl<'a> Search<'a> {
    fn new(func: &'a Function, cx: &mut PhaseContext<'_>, limits: Limits) -> Search<'a> {
        let (cfg, dominators) = (cx.analyses.get(func), cx.analyses.get(func));
        Search { func, cfg, dominators, limits, trips: None }
    }

    fn plan(&mut self, cx: &mut PhaseContext<'_>, nest: &LoopNest, of: Loop) -> Option<Plan> {
        let nounroll = self.func.is_nounroll(nest.header(of));
        let shape = Shape::of(self.func, &self.cfg, &self.dominators, nest, of).filter(|_| !nounroll)?;
        let trips = self.trips.get_or_insert_with(|| Trips::new(self.cfg.clone(), cx.analyses.get(self.func)));
        let counted = trips.count(self.func, &shape, self.limits.rounds);
        let to_test = self.to_test(&shape);
        let whole = counted.and_then(|counted| {
            let size = worth::Size::new(self.func, &self.cfg, &shape, &to_test, counted.known);
            (size.growth(counted.rounds) <= self.limits.size).then_some((counted.rounds, false))
        });
        let (rounds, in_part) = whole.or_else(|| Some((self.part(&shape, &to_test)?, true)))?;
        let plan = Plan { shape, rounds, in_part, to_test };
        (plan.rounds == 1 || self.may_stand_twice(cx, nest, of, &plan.shape)).then_some(plan)
    }

    /// How many rounds become one where a loop is unrolled in part.
    fn part(&mut self, shape: &Shape, to_test: &[Block]) -> Option<u32> {
        let (_, most, _) = self.limits.part?;
        let counted = self.trips.as_ref()?.count(self.func, shape, most)?;
        let divides = |rounds: u32| counted.rounds > rounds && counted.rounds % rounds == 0;
        self.as_one(shape, to_test, divides)
    }

    /// The largest number of rounds that may become one, among those of some kind.
    fn as_one(&self, shape: &Shape, to_test: &[Block], is_one: impl Fn(u32) -> bool) -> Option<u32> {
        let (size, _, count) = self.limits.part?;
        let of_loop = worth::Size::new(self.func, &self.cfg, shape, to_test, FxHashSet::default());
        let fits = |rounds: &u32| *rounds <= count && is_one(*rounds) && of_loop.growth_of_whole(*rounds) <= size;
        [MOST_COPIES, 4, 2].into_iter().find(fits)
    }

    /// The plan for a loop whose rounds are not counted.
    fn plan_at_run_time(&mut self, cx: &mut PhaseContext<'_>, nest: &LoopNest, of: Loop) -> Option<at_run_time::Plan> {
        let nounroll = self.func.is_nounroll(nest.header(of));
        let shape = Shape::of(self.func, &self.cfg, &self.dominators, nest, of).filter(|_| !nounroll)?;
        if !at_run_time::Plan::may_be(self.func, &self.cfg, nest, of, &shape) {
            return None;
        }
        let divergence = cx.analyses.get::<Divergence>(self.func);
        let definitions = cx.analyses.get::<Definitions>(self.func);
        let trips = self.trips.get_or_insert_with(|| Trips::new(self.cfg.clone(), definitions.clone()));
        let has_few = trips.count(self.func, &shape, MOST_COPIES).is_some();
        if has_few || divergence.branch(shape.test) < Uniformity::Warp {
            return None;
        }
        let rounds = self.as_one(&shape, &self.to_test(&shape), |_| true)?;
        at_run_time::Plan::new(self.func, &self.cfg, nest, &definitions, of, (shape, rounds))
    }

    /// The blocks that are reached from the header without the edges behind the test.
    fn to_test(&self, shape: &Shape) -> Vec<Block> {
        let (mut seen, mut work) = (EntitySet::new(), vec![shape.header]);
        while let Some(block) = work.pop() {
            if seen.insert(block) && block != shape.test {
                work.extend(self.cfg.successors(block));
            }
        }
        shape.blocks.iter().copied().filter(|block| seen.contains(*block)).collect()
    }

    /// Whether several copies of a loop's body do what the loop does. What threads do together is executed once in each
    /// round, or all threads of a CTA go through a round in the same way.
    fn may_stand_twice(&self, cx: &mut PhaseContext<'_>, nest: &LoopNest, of: Loop, shape: &Shape) -> bool {
        let func = self.func;
        let all = || shape.blocks.iter().flat_map(|block| func.block_insts(*block));
        let scattered = shape.blocks.iter().any(|block| {
            let once = nest.innermost(&self.cfg, *block) == Some(of)
                && shape.in_each_round(&self.cfg, &self.dominators, *block);
            !once && func.block_insts(*block).any(|inst| is_together(func, inst))
        });
        all().all(|inst| may_be_copied(func, inst)) && (!scattered || self.is_one_way(cx, shape))
    }

    /// Whether all threads of a CTA decide each branch of a loop in the same way.
    fn is_one_way(&self, cx: &mut PhaseContext<'_>, shape: &Shape) -> bool {
        let divergence = cx.analyses.get::<Divergence>(self.func);
        shape.blocks.iter().all(|block| divergence.branch(*block) >= Uniformity::Cta)
    }
}

/// Whether threads do something together.
fn is_together(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    data.is(Flags::CONVERGENT) || data.is(Flags::CTA_BARRIER)
}

fn may_be_copied(func: &Function, inst: Inst) -> bool {
    let barrier = func.defs(inst).chain(func.uses(inst)).any(|reg| func.regs()[reg].file == RegFile::B);
    func.inst(inst).opcode != Opcode::Call && !barrier
}
