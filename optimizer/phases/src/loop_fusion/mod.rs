//! OriLoopFusion: two loops that run one behind the other, equally often, become one.
//!
//! `spec/liveness-and-dce.txt` ("Why Four Instances?") names the phase alone, as one whose dead code the third liveness
//! pass removes. Here is what the field knows by that name (Kennedy and McKinley, "Maximizing Loop Parallelism and
//! Improving Data Locality via Loop Fusion and Distribution", 1993; LLVM's LoopFuse). Both loops are natural, lie in
//! the same one, and one edge leaves each of them. They are fused if
//!
//! - the second one runs exactly where the first one has been left: nothing else leads to its header from outside;
//! - their tests are at the same place, both at the only latch or both at the header, and are executed equally often:
//!   they compute the same of the same counters, or both are counted (`same_rounds.rs`);
//! - what is between the loops is pure. What it computes of the first loop's values goes behind the second loop,
//!   the rest in front of the first;
//! - the second loop reads no value of the first one, and no byte of memory that one of them accesses is written by the
//!   other; neither has anything whose order matters, nor what threads do together (`independent.rs`);
//! - both together have no more instructions than the knob `LoopFusionSize` says, and registers suffice (`room.rs`),
//!   since the values of both live through the fused loop.
//!
//! Each thread then does a round of the second loop behind each round of the first one (`fuse.rs`). It leaves both
//! after the same round as before, so threads that leave at different rounds do the same each as they did. The test of
//! the first loop is executed no more, and what both tests count the fused loop counts once.
//!
//! Inner loops come first; what is around them, and a third loop behind two, is looked at in the next one of
//! `LoopFusionPasses` passes over the function.
//!
//! Cost: a pass is linear, times the limits of blocks, of accesses to compare and of rounds to count.

mod fuse;
mod independent;
mod same_rounds;

use std::sync::Arc;

use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashSet;

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Reg, RegFile};
use oriole_pass::analysis::{
    AnalysisSet, Cfg, Definitions, Dominators, Loop, LoopNest, MemorySsa, reads_kernel_parameter,
};
use oriole_pass::edit::graph::{has_phis, jump_target, phis};
use oriole_pass::engine::loop_tests::{Shape, Trips};
use oriole_pass::engine::merge_blocks;
use oriole_pass::engine::registers::Room;
use oriole_pass::engine::rounds::rounds;
use oriole_pass::pass::{Changed, Knob, PhaseContext};

const RULE: &str = "fuse-loops";
/// Rounds up to which two loops are counted.
const MOST_ROUNDS: u32 = 256;

/// OriLoopFusion.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    rounds(func, cx, Knob::LoopFusionPasses, pass)
}

/// Fuses loops of which none is fused with another one, or around one that is.
fn pass(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let nest = cx.analyses.get::<LoopNest>(func);
    if nest.loops().nth(1).is_none() {
        return Changed::No;
    }
    let (mut gone, mut same, mut changed) = (EntitySet::new(), SecondaryMap::new(), Changed::No);
    for plan in plans(func, cx, &nest) {
        if !cx.rewrite(RULE) {
            break;
        }
        plan.fuse(func);
        gone.extend(plan.pair.blocks);
        plan.counters.iter().for_each(|(counter, first)| same[*counter] = Some(*first));
        changed = Changed::Yes;
    }
    if changed.is_yes() {
        func.retain_blocks(|block| !gone.contains(*block));
        fuse::rename(func, &same);
        cx.analyses.retain(AnalysisSet::NONE);
        // One loop now leads on to the other without a choice.
        if merge_blocks::run(func, cx).is_yes() {
            cx.analyses.retain(AnalysisSet::NONE);
        }
    }
    changed
}

/// Two loops that become one.
struct Plan {
    pair: Pair,
    /// Whether their tests are at their latches; otherwise both are at the headers.
    at_end: bool,
    between: Between,
    /// Counters of the second loop, each with one of the first that is the same in each round.
    counters: Vec<(Reg, Reg)>,
    /// The blocks that lead to the first loop from outside.
    entries: Vec<Block>,
}

/// A loop, and the one that runs exactly where it has been left.
struct Pair {
    of: [Loop; 2],
    first: Shape,
    second: Shape,
    /// The blocks between them.
    blocks: Vec<Block>,
    /// The block that leads to the second loop: the last of these, or the first loop's test.
    last: Block,
}

/// What becomes of the instructions between two loops.
struct Between {
    /// Those that go in front of the first loop, in order.
    before: Vec<Inst>,
    /// The block at whose end these will stand.
    preheader: Option<Block>,
    /// Those that go behind the second loop, in order.
    behind: Vec<Inst>,
}

fn plans(func: &Function, cx: &mut PhaseContext<'_>, nest: &LoopNest) -> Vec<Plan> {
    let mut search = Search::new(func, cx, nest);
    let (mut found, mut taken) = (Vec::new(), EntitySet::new());
    for first in nest.loops().rev().filter(|of| nest.is_natural(*of)) {
        if taken.contains(first) {
            continue;
        }
        let Some(pair) = search.pair(first).filter(|pair| !taken.contains(pair.of[1])) else { continue };
        if let Some(plan) = search.plan(cx, pair) {
            taken.insert(plan.pair.of[1]);
            std::iter::successors(Some(first), |of| nest.parent(*of)).for_each(|of| _ = taken.insert(of));
            found.push(plan);
        }
    }
    found
}

struct Search<'a> {
    func: &'a Function,
    nest: &'a LoopNest,
    cfg: Arc<Cfg>,
    dominators: Arc<Dominators>,
    definitions: Arc<Definitions>,
    /// Instructions that two loops may have.
    size: usize,
    trips: Trips,
    room: Option<Room>,
}

impl<'a> Search<'a> {
    fn new(func: &'a Function, cx: &mut PhaseContext<'_>, nest: &'a LoopNest) -> Search<'a> {
        let size = cx.knobs.limit(Knob::LoopFusionSize).map_or(usize::MAX, |size| size as usize);
        let (cfg, dominators) = (cx.analyses.get::<Cfg>(func), cx.analyses.get(func));
        let definitions = cx.analyses.get::<Definitions>(func);
        let trips = Trips::new(cfg.clone(), definitions.clone());
        Search { func, nest, cfg, dominators, definitions, size, trips, room: None }
    }

    /// The loop with the one behind it, where there is one. Both lie in the same loops: what contains the first one has
    /// its only exit in it, so also the second header, which it would enter from elsewhere if that were its own.
    fn pair(&self, of: Loop) -> Option<Pair> {
        let first = self.shape(of)?;
        let (mut last, mut at, mut blocks) = (first.test, first.exit, Vec::new());
        while *self.cfg.predecessors(at) == [last] {
            blocks.push(at);
            (last, at) = (at, jump_target(self.func, at)?);
        }
        let next = self.nest.innermost(&self.cfg, at).filter(|next| self.nest.header(*next) == at)?;
        let from = self.cfg.predecessors(at).iter();
        let alone = from.filter(|from| !self.nest.contains(&self.cfg, next, **from)).eq([&last]);
        let second = self.shape(next).filter(|_| alone && self.nest.is_natural(next))?;
        Some(Pair { of: [of, next], first, second, blocks, last })
    }

    fn shape(&self, of: Loop) -> Option<Shape> {
        Shape::of(self.func, &self.cfg, &self.dominators, self.nest, of)
    }

    /// Asks what costs least first.
    fn plan(&mut self, cx: &mut PhaseContext<'_>, pair: Pair) -> Option<Plan> {
        let both = [&pair.first, &pair.second];
        let at_end = both.iter().all(|shape| is_at_end(shape));
        let same_place = at_end || both.iter().all(|shape| is_at_head(shape));
        let size: usize = both.iter().map(|shape| size(self.func, shape)).sum();
        let between = self.between(&pair).filter(|_| same_place && size <= self.size)?;
        if self.reads_values(&pair, &between) {
            return None;
        }
        let counters = self.counters(&pair)?;
        let memory = cx.analyses.get::<MemorySsa>(self.func);
        if !independent::are_independent(self.func, &memory, &pair.first, &pair.second) {
            return None;
        }
        let from = self.cfg.predecessors(pair.first.header).iter().copied();
        let entries = from.filter(|from| !pair.first.latches.contains(from)).collect();
        let plan = Plan { pair, at_end, between, counters, entries };
        let live = self.live(&plan);
        let room = self.room.get_or_insert_with(|| Room::of(self.func, cx));
        room.holds(self.func, live.iter().copied()).then_some(plan)
    }

    fn is_of(&self, of: Loop, reg: Reg) -> bool {
        self.definitions.block(reg).is_some_and(|block| self.nest.contains(&self.cfg, of, block))
    }

    /// What becomes of the instructions between two loops, if all of them can go elsewhere.
    fn between(&self, pair: &Pair) -> Option<Between> {
        let (func, cfg, second) = (self.func, &*self.cfg, &pair.second);
        let (mut before, mut behind, mut late) = (Vec::new(), Vec::new(), FxHashSet::default());
        for block in &pair.blocks {
            let branch = func.terminator(*block);
            for inst in func.block_insts(*block).filter(|inst| Some(*inst) != branch) {
                may_move(func, inst).then_some(())?;
                let is_late = func.uses(inst).any(|reg| late.contains(&reg) || self.is_of(pair.of[0], reg));
                late.extend(func.defs(inst).filter(|_| is_late));
                if is_late { behind.push(inst) } else { before.push(inst) }
            }
        }
        let preheader = self.nest.preheader(cfg, pair.of[0]);
        let leaves = *cfg.predecessors(second.exit) == [second.test] && !has_phis(func, second.exit);
        let fits = (before.is_empty() || preheader.is_some()) && (behind.is_empty() || leaves);
        fits.then_some(Between { before, preheader, behind })
    }

    /// Whether the second loop reads a value of the first one, or what is computed of these in between.
    fn reads_values(&self, pair: &Pair, between: &Between) -> bool {
        let func = self.func;
        let late: FxHashSet<Reg> = between.behind.iter().flat_map(|inst| func.defs(*inst)).collect();
        read(func, &pair.second).any(|reg| late.contains(&reg) || self.is_of(pair.of[0], reg))
    }

    /// The counters that both loops have, if their tests are executed equally often.
    fn counters(&self, Pair { first, second, .. }: &Pair) -> Option<Vec<(Reg, Reg)>> {
        let same = same_rounds::counters(self.func, &self.definitions, first, second);
        same.or_else(|| {
            let rounds = |shape| Some(self.trips.count(self.func, shape, MOST_ROUNDS)?.rounds);
            (rounds(first)? == rounds(second)?).then(Vec::new)
        })
    }

    /// Registers that may be live together for longer than before: what either loop counts, what is computed in front
    /// of both, and what the first one alone reads.
    fn live(&self, Plan { pair, between, .. }: &Plan) -> FxHashSet<Reg> {
        let func = self.func;
        let counted = [&pair.first, &pair.second].into_iter().flat_map(|shape| phis(func, shape.header));
        let made = counted.chain(between.before.iter().copied()).flat_map(|inst| func.defs(inst));
        let in_second: FxHashSet<Reg> = read(func, &pair.second).collect();
        let in_first = read(func, &pair.first).filter(|reg| !self.is_of(pair.of[0], *reg) && !in_second.contains(reg));
        made.chain(in_first).collect()
    }
}

/// The registers that a loop reads, with repeats.
fn read<'a>(func: &'a Function, shape: &'a Shape) -> impl Iterator<Item = Reg> + 'a {
    shape.blocks.iter().flat_map(|block| func.block_insts(*block)).flat_map(|inst| func.uses(inst))
}

/// Whether a loop is left at its only latch.
fn is_at_end(shape: &Shape) -> bool {
    shape.latches == [shape.test]
}

/// Whether a loop is left at its header, and has more blocks and one latch.
fn is_at_head(shape: &Shape) -> bool {
    shape.header == shape.test && shape.latches.len() == 1 && !is_at_end(shape)
}

fn size(func: &Function, shape: &Shape) -> usize {
    shape.blocks.iter().map(|block| func.block_insts(*block).count()).sum()
}

/// Whether an instruction yields the same wherever its operands are there.
fn may_move(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let computes = data.is(Flags::PURE) && data.opcode != Opcode::Phi;
    let barrier = func.defs(inst).any(|reg| func.regs()[reg].file == RegFile::B);
    (computes || reads_kernel_parameter(func, inst)) && !barrier
}
