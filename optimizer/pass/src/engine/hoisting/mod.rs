//! Hoisting of the four OriHoistInvariants and of cicc's `licm`: what a loop computes anew in each round, of values
//! that the loop does not change, is computed once in front of it.
//!
//! `spec/instruction-movement.txt` names four instances that share one engine, of which a discriminator selects the
//! class of loops ([`Policy`]). The [`worker`] moves. An instruction leaves a natural loop if
//!
//! - it is pure, or reads a parameter of the kernel; copies of registers stay. `loads.rs` says it of loads;
//! - whatever it reads, guard included, is defined outside of the loop, or has left it, and is nothing that the loop
//!   may wait for ([`Awaited`]);
//! - each round executes it: its block dominates the latches of the loop. It is then executed once where it was
//!   executed in each round; where the test of a loop is at its top, one time too many at most;
//! - the loop has a preheader, at the end of which it is then. Where enough may leave a loop that has none, it gets
//!   one.
//!
//! Out of a nest it goes as far as this holds for each loop on the way ([`WaysOut`]), in one step. Its result lives
//! through the loop then, so nothing leaves where registers would get scarce: general ones by the budget of
//! OriSplitLiveRanges, predicates by the knob `HoistInvariantsPredicates`.
//!
//! Cost: linear, times the logarithm of the depth of the nest; pressure, where a function has more registers than the
//! budget.

pub mod loads;
mod products;
mod ways_out;

use cranelift_entity::EntitySet;

use super::worker::{self, Direction, Movement};
use crate::analysis::{AnalysisSet, Awaited, Cfg, Definitions, Dominators, Loop, LoopNest, reads_kernel_parameter};
use crate::edit::meeting::{Meeting, lay_out, preheader};
use crate::engine::registers::Room;
use crate::pass::{Changed, PhaseContext};
use loads::Loads;
pub use loads::is_plain_load;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Reg, RegFile};
use ways_out::WaysOut;

const RULE: &str = "hoist-invariant";
/// Instructions of a header for which a loop gets a preheader.
const WORTH: usize = 2;

/// The loops and instructions that an instance is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Only loops that contain no other one, and no further than out of these.
    pub innermost: bool,
    /// A loop without a preheader gets one where [`WORTH`] instructions may leave it.
    pub preheaders: bool,
    /// Products that are fused with an addend that a loop changes leave it without the addition.
    pub products: bool,
    /// Only what reads no register: constants, addresses of variables, parameters of the kernel.
    pub fixed: bool,
}

impl Policy {
    /// Everything, out of all loops that have a preheader.
    pub const ALL: Policy = Policy { innermost: false, preheaders: false, products: false, fixed: false };
}

/// Out of the loops of a function.
pub fn all(func: &mut Function, cx: &mut PhaseContext<'_>, policy: Policy) -> Changed {
    if cx.analyses.get::<LoopNest>(func).loops().next().is_none() {
        return Changed::No;
    }
    let made = if policy.preheaders { make_preheaders(func, cx) } else { Changed::No };
    match made.is_yes() {
        true => cx.analyses.retain(AnalysisSet::NONE),
        false => cx.preserve(AnalysisSet::CONTROL_FLOW),
    }
    made | hoist(func, cx, None, policy)
}

/// Out of the loop with a header alone, and from its own blocks, since the loops inside had their turn.
pub fn out_of(func: &mut Function, header: Block, cx: &mut PhaseContext<'_>) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    match nest.innermost(&cfg, header).filter(|of| nest.header(*of) == header) {
        Some(of) => hoist(func, cx, Some(of), Policy::ALL),
        None => Changed::No,
    }
}

/// Gives preheaders to natural loops that have none and that enough instructions would leave. A preheader is a branch
/// more for whoever enters the loop.
fn make_preheaders(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let mut wanted = nest.loops().filter(|of| nest.is_natural(*of) && nest.preheader(&cfg, *of).is_none()).peekable();
    if wanted.peek().is_none() {
        return Changed::No;
    }
    let definitions = cx.analyses.get::<Definitions>(func);
    let awaited = Awaited::new(func);
    let leaves = |of: Loop, inst: Inst| {
        let is_outside = |reg| definitions.block(reg).is_none_or(|block| !nest.contains(&cfg, of, block));
        may_move(func, inst)
            && yields_the_same(func, inst)
            && !awaited.is_read_by(func, inst)
            && func.uses(inst).all(is_outside)
    };
    // Of what each round executes, the header is enough to ask.
    let pays =
        |of: &Loop| func.block_insts(nest.header(*of)).filter(|inst| leaves(*of, *inst)).nth(WORTH - 1).is_some();
    let meetings: Vec<Meeting> = wanted.filter(pays).filter_map(|of| preheader(&cfg, &nest, of)).collect();
    let mut made: Vec<(Block, Block)> = Vec::new();
    for meeting in meetings {
        if !cx.rewrite(meeting.rule) {
            break;
        }
        made.push((meeting.last(), meeting.insert(func)));
    }
    lay_out(func, &made);
    Changed::when(!made.is_empty())
}

/// Moves what may leave loops, or the only loop that anything is to leave.
fn hoist(func: &mut Function, cx: &mut PhaseContext<'_>, only: Option<Loop>, policy: Policy) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    let dominators = cx.analyses.get::<Dominators>(func);
    let ways = WaysOut::new(&cfg, &nest, &dominators);
    let mut outer = EntitySet::new();
    outer.extend(nest.loops().filter_map(|of| nest.parent(of)));
    let mut hoisting = Hoisting {
        loads: Loads::new(func, cx, &nest, &cfg),
        definitions: Definitions::clone(&cx.analyses.get::<Definitions>(func)),
        awaited: Awaited::new(func),
        ways: &ways,
        room: None,
        cfg: &cfg,
        nest: &nest,
        dominators: &dominators,
        outer,
        only,
        policy,
    };
    // Whatever an instruction reads comes before it in the reverse post-order, but for what phis read.
    let blocks = cfg.rpo().iter().copied().filter(|block| hoisting.is_left(*block) && ways.leads_out(*block));
    let blocks: Vec<Block> = blocks.collect();
    let changed = worker::run(func, cx, (RULE, Direction::Up), &blocks, &mut hoisting);
    match policy.products {
        true => changed | products::split(func, cx, &blocks, &mut hoisting),
        false => changed,
    }
}

/// Instructions on their way out of loops.
struct Hoisting<'a> {
    cfg: &'a Cfg,
    nest: &'a LoopNest,
    dominators: &'a Dominators,
    ways: &'a WaysOut<'a>,
    awaited: Awaited,
    definitions: Definitions,
    loads: Loads,
    room: Option<Room>,
    /// The loops that contain others.
    outer: EntitySet<Loop>,
    /// The only loop that anything leaves, if there is one.
    only: Option<Loop>,
    policy: Policy,
}

impl Hoisting<'_> {
    /// Whether instructions of a block may leave the loop around it.
    fn is_left(&self, block: Block) -> bool {
        let around = self.nest.innermost(self.cfg, block);
        let is_innermost = |of: Loop| !self.policy.innermost || !self.outer.contains(of);
        around.is_some_and(|of| is_innermost(of) && self.only.is_none_or(|only| only == of))
    }

    /// The block at whose end an instruction of a block may be instead.
    fn destination(&self, func: &Function, block: Block, inst: Inst) -> Option<Block> {
        if !may_move(func, inst) || self.awaited.is_read_by(func, inst) {
            return None;
        }
        if self.policy.fixed && func.uses(inst).next().is_some() {
            return None;
        }
        let mut read: Vec<Block> = func.uses(inst).filter_map(|reg| self.definitions.block(reg)).collect();
        let innermost = || self.nest.innermost(self.cfg, block).filter(|_| self.policy.innermost);
        let only = self.only.or_else(innermost);
        if yields_the_same(func, inst) {
            return match only {
                Some(only) => self.ways.out_of(only, &read),
                None => self.ways.furthest(block, &read),
            };
        }
        read.extend(self.loads.state(func, self.nest, self.cfg, inst)?);
        let outermost = only.map_or(0, |only| self.nest.loop_depth(only));
        loads::furthest(self.cfg, self.nest, self.dominators, block, &read, outermost)
    }
}

impl Hoisting<'_> {
    /// Takes registers for what an instruction defines, where there are.
    fn has_room(&mut self, func: &Function, cx: &mut PhaseContext<'_>, inst: Inst) -> bool {
        self.room.get_or_insert_with(|| Room::of(func, cx)).holds(func, func.defs(inst))
    }
}

impl Movement for Hoisting<'_> {
    fn place(&self, func: &Function, inst: Inst, block: Block) -> Option<Inst> {
        let to = self.destination(func, block, inst)?;
        Some(func.terminator(to).expect("a preheader ends with a branch"))
    }

    /// The result lives through the loop then.
    fn pays(&mut self, func: &Function, cx: &mut PhaseContext<'_>, inst: Inst) -> bool {
        self.has_room(func, cx, inst)
    }

    fn moved(&mut self, func: &Function, inst: Inst, to: Block) {
        func.defs(inst).for_each(|reg| self.definitions.set(reg, inst, to));
    }
}

/// Whether an instruction may leave a loop if what it reads, be it memory, is the same outside.
fn may_move(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let copies = data.opcode == Opcode::Phi || data.is(Flags::COPY) && func.uses(inst).next().is_some();
    let named = |reg: Reg| matches!(func.regs()[reg].file, RegFile::R | RegFile::P);
    (yields_the_same(func, inst) || is_plain_load(func, inst)) && !copies && func.defs(inst).all(named)
}

/// Whether an instruction yields the same wherever its operands are there, and may be executed once too often. What
/// threads do together is not pure.
fn yields_the_same(func: &Function, inst: Inst) -> bool {
    func.inst(inst).is(Flags::PURE) || reads_kernel_parameter(func, inst)
}
