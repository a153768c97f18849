//! OriPipelining: a round of a loop fetches what the next one reads.
//!
//! `spec/liveness-and-dce.txt` (line 48) names the phase, and says that it leaves dead prologue values. Here it is
//! software pipelining by one round, of loads (Lam, "Software Pipelining", 1988, with an initiation interval of a
//! round; without copies of the body, so that values live no longer than a round). In a loop of one block
//!
//! ```text
//! p = phi [in: start], [body: next]
//! x = ld [p]
//! ... x ...
//! next = p + 4
//! branch body if more
//! ```
//!
//! the load is executed once in front of the loop, and then behind the last read of `x`, for the next round, under the
//! condition that there is one:
//!
//! ```text
//! x = phi [in: first], [body: ahead]
//! ... x ...
//! next = p + 4
//! ahead = ld [next] if more, else x
//! ```
//!
//! So the same addresses are loaded equally often, `x` and `ahead` are one register, and no instruction is executed
//! more than before. A load is fetched ahead if
//!
//! - it is weak and not guarded, and no round of the loop changes what it loads (memory SSA: the state that it reads is
//!   one from outside of the loop; barriers and fences in the loop change memory);
//! - its address is what the loop counts, so that nothing more is computed for it;
//! - the way from the fetch to the first read grows by [`GAIN`] instructions. That is what the latency is hidden
//!   behind.
//!
//! ptxas schedules what it reads, and fetches ahead itself: of the 15 kernels of the corpus with such loops it makes
//! 4.8 percent more code where they were pipelined before, and of none less (-O3, 2026-11-29). So the knob
//! `PipelineLoads` has no load pipelined unless it is set.
//!
//! A load that was fetched ahead has a guard, so a second run changes nothing.
//!
//! Cost: linear.

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Function, Guard, Inst, InstBuilder, InstHead, Operand, Reg};
use oriole_pass::analysis::{AnalysisSet, Cfg, Definitions, Effect, Loop, LoopNest, MemorySsa, MemoryState, Uses};
use oriole_pass::edit::graph::{incoming, phis, two_ways};
use oriole_pass::engine::hoisting::is_plain_load;
use oriole_pass::engine::registers::Room;
use oriole_pass::pass::{Changed, Knob, PhaseContext};

const RULE: &str = "fetch-ahead";
/// Instructions by which the way from a fetch to the first read must grow.
const GAIN: usize = 4;

/// OriPipelining.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let most = cx.knobs.limit(Knob::PipelineLoads).unwrap_or(u32::MAX);
    let (mut room, mut changed) = (None, Changed::No);
    // One load of each loop at a time, by what is known of the function as it is then.
    for _ in 0..most {
        let bodies: Vec<Body> = nest.loops().filter_map(|of| Body::of(func, &cfg, &nest, of)).collect();
        let plans: Vec<(Body, Plan)> = plans(func, cx, &cfg, &nest, bodies);
        let mut made = Changed::No;
        for (body, plan) in plans {
            if !room.get_or_insert_with(|| Room::of(func, cx)).holds(func, func.defs(plan.load)) {
                continue;
            }
            if !cx.rewrite(RULE) {
                return changed | made;
            }
            body.apply(func, &plan);
            made = Changed::Yes;
        }
        if !made.is_yes() {
            break;
        }
        cx.analyses.retain(AnalysisSet::CONTROL_FLOW);
        changed = made;
    }
    changed
}

/// The first load of each loop that is worth it.
fn plans(
    func: &Function,
    cx: &mut PhaseContext<'_>,
    cfg: &Cfg,
    nest: &LoopNest,
    mut bodies: Vec<Body>,
) -> Vec<(Body, Plan)> {
    bodies.retain(|body| func.block_insts(body.block).any(|inst| may_go_ahead(func, inst)));
    if bodies.is_empty() {
        return Vec::new();
    }
    let memory = cx.analyses.get::<MemorySsa>(func);
    let (definitions, uses) = (cx.analyses.get::<Definitions>(func), cx.analyses.get::<Uses>(func));
    let planned = bodies.into_iter().filter_map(|body| {
        let search = Search { func, cfg, nest, body: &body, memory: &memory, definitions: &definitions, uses: &uses };
        let mut loads = func.block_insts(body.block).filter(|inst| may_go_ahead(func, *inst));
        let plan = loads.find_map(|load| search.plan(load))?;
        Some((body, plan))
    });
    planned.collect()
}

/// A loop of one block.
struct Body {
    block: Block,
    preheader: Block,
    /// The condition under which there is another round.
    more: Guard,
}

/// A load that is to be executed for the next round.
struct Plan {
    load: Inst,
    /// The instruction behind which it goes.
    behind: Inst,
}

impl Body {
    fn of(func: &Function, cfg: &Cfg, nest: &LoopNest, of: Loop) -> Option<Body> {
        let &[block] = nest.blocks(of) else { return None };
        let preheader = nest.preheader(cfg, of)?;
        let (condition, yes, _) = two_ways(func, block)?;
        Some(Body { block, preheader, more: Guard::new(condition.whole_reg()?, yes != block) })
    }

    /// The value that a register of the loop has in front of it, or in the next round.
    fn value(&self, func: &Function, reg: Reg, from: Block) -> Option<Operand> {
        let phi = phis(func, self.block).find(|phi| func.defs(*phi).next() == Some(reg))?;
        incoming(func, phi, from)
    }

    fn apply(&self, func: &mut Function, plan: &Plan) {
        let Plan { load, behind } = *plan;
        let end = func.terminator(self.preheader).expect("a preheader ends with a branch");
        let dst = func.defs(load).next().expect("a load has a result");
        let (first, one) = self.copy(func, load, self.preheader, None);
        let (ahead, other) = self.copy(func, load, self.block, Some((self.more, dst)));
        func.insert_before(end, first);
        func.insert_after(behind, ahead);
        func.remove_inst(load);
        let phi = InstBuilder::new(Opcode::Phi).dst(dst).src(one).src(self.preheader).src(other).src(self.block);
        let phi = phi.create(func);
        func.prepend_inst(self.block, phi);
    }

    /// A copy of a load in which phis are what they take from a block, and its result. `under` has the guard of the
    /// copy, and the register that is in the place of what is not loaded.
    fn copy(&self, func: &mut Function, load: Inst, from: Block, under: Option<(Guard, Reg)>) -> (Inst, Reg) {
        let renamed = |operand: &Operand| match operand {
            Operand::Reg(reg) => self.value(func, *reg, from).unwrap_or(*operand),
            other => *other,
        };
        let srcs: Vec<Operand> = func.srcs(load).iter().map(renamed).collect();
        let info = func.defs(load).next().map(|reg| func.regs()[reg]).expect("a load has a result");
        let dst = func.new_reg(info);
        let elses: Vec<Operand> = under.iter().map(|(_, other)| Operand::Reg(*other)).collect();
        let head = InstHead { guard: under.map(|(guard, _)| guard), ..func.inst(load).head() };
        (func.new_inst(head, &[dst.into()], &srcs, &elses), dst)
    }
}

/// Whether an instruction is a load of one register that may be executed earlier if its address is there.
fn may_go_ahead(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    is_plain_load(func, inst)
        && data.guard.is_none()
        && func.dsts(inst).len() == 1
        && func.dsts(inst)[0].whole_reg().is_some()
}

struct Search<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    nest: &'a LoopNest,
    body: &'a Body,
    memory: &'a MemorySsa,
    definitions: &'a Definitions,
    uses: &'a Uses,
}

impl Search<'_> {
    fn plan(&self, load: Inst) -> Option<Plan> {
        let Search { func, body, .. } = *self;
        if self.changes(load) {
            return None;
        }
        let address = func.srcs(load)[0].whole_reg()?;
        let next = body.value(func, address, body.block)?;
        let insts: Vec<Inst> = func.block_insts(body.block).collect();
        let place = |inst: Inst| insts.iter().position(|other| *other == inst);
        let dst = func.defs(load).next()?;
        let reads = |inst: &Inst| func.inst(*inst).opcode != Opcode::Phi && func.uses(*inst).any(|reg| reg == dst);
        let (first, last) = (insts.iter().position(reads)?, insts.iter().rposition(reads)?);
        // Behind the last read, the next round's address, and the condition.
        let needed =
            next.reg().into_iter().chain([body.more.reg()]).filter_map(|reg| self.inside(reg)).filter_map(place);
        let behind = needed.fold(last, usize::max);
        let end = insts.len() - 1;
        let begin = insts.iter().position(|inst| func.inst(*inst).opcode != Opcode::Phi)?;
        let is_read_behind = phis(func, body.block).any(|phi| func.uses(phi).any(|reg| reg == dst));
        let (old, new) = (first - place(load)?, end - behind.min(end) + first - begin);
        let pays = new >= old + GAIN && behind < end && !is_read_behind && !self.is_read_outside(dst);
        pays.then(|| Plan { load, behind: insts[behind] })
    }

    /// Whether a round may change what a load loads.
    fn changes(&self, load: Inst) -> bool {
        if !matches!(self.memory.effect(load), Effect::Reads(_)) {
            return true;
        }
        let inside = |block: Option<Block>| block.is_none_or(|block| block == self.body.block);
        match self.memory.clobber(self.cfg, self.nest, load) {
            Some(MemoryState::Entry) => false,
            Some(MemoryState::Behind(change)) => inside(self.func.block_of(change)),
            Some(MemoryState::Phi(block)) => inside(Some(block)),
            None => true,
        }
    }

    /// The instruction of the loop that makes a register.
    fn inside(&self, reg: Reg) -> Option<Inst> {
        self.definitions.inst(reg).filter(|_| self.definitions.block(reg) == Some(self.body.block))
    }

    fn is_read_outside(&self, reg: Reg) -> bool {
        let here = self.func.block_insts(self.body.block).flat_map(|inst| self.func.uses(inst));
        let here = here.filter(|other| *other == reg).count() as u32;
        self.uses.count(reg) > here
    }
}
