//! Hoisting of OriHoistInvariantsEarly, OriHoistInvariantsLate and cicc's `licm`: what a loop computes anew in each
//! round, of values that the loop does not change, is computed once in front of it.
//!
//! `spec/instruction-movement.txt` names four instances that share one engine, and says of the late one that it stands
//! behind predication and that the movements reuse what it knows. Here both that are built do the same. An instruction
//! leaves a natural loop if
//!
//! - it is pure, or reads a parameter of the kernel; copies of registers stay. `loads.rs` says it of loads;
//! - whatever it reads, guard included, is defined outside of the loop, or has left it, and is nothing that the loop
//!   may wait for ([`Awaited`]);
//! - each round executes it: its block dominates the latches of the loop. It is then executed once where it was
//!   executed in each round; where the test of a loop is at its top, one time too many at most;
//! - the loop has a preheader, at the end of which it then stands.
//!
//! Out of a nest it goes as far as this holds for each loop on the way ([`WaysOut`]), in one step. Its result lives
//! through the loop then, so nothing leaves where registers would get scarce: general ones by the budget of
//! OriSplitLiveRanges, predicates by the knob `HoistInvariantsPredicates`.
//!
//! Cost: linear, times the logarithm of the depth of the nest; pressure, where a function has more registers than the
//! budget.

mod loads;
mod ways_out;

use std::sync::Arc;

use crate::analysis::{Awaited, Cfg, Definitions, Dominators, Loop, LoopNest, reads_kernel_parameter};
use crate::engine::registers::Room;
use crate::pass::{Changed, PhaseContext};
use loads::Loads;
pub use loads::is_plain_load;
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Reg, RegFile};
use ways_out::WaysOut;

const RULE: &str = "hoist-invariant";

/// Out of all loops.
pub fn all(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    match cx.analyses.get::<LoopNest>(func).loops().next() {
        Some(_) => Hoisting::new(func, cx, None).run(func, cx),
        None => Changed::No,
    }
}

/// Out of the loop with a header alone, and from its own blocks, since the loops inside had their turn.
pub fn out_of(func: &mut Function, header: Block, cx: &mut PhaseContext<'_>) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    match nest.innermost(&cfg, header).filter(|of| nest.header(*of) == header) {
        Some(of) => Hoisting::new(func, cx, Some(of)).run(func, cx),
        None => Changed::No,
    }
}

/// Instructions on their way out of loops.
struct Hoisting {
    cfg: Arc<Cfg>,
    nest: Arc<LoopNest>,
    dominators: Arc<Dominators>,
    awaited: Awaited,
    definitions: Definitions,
    loads: Loads,
    room: Option<Room>,
    /// The only loop that anything leaves, if there is one.
    only: Option<Loop>,
}

impl Hoisting {
    fn new(func: &Function, cx: &mut PhaseContext<'_>, only: Option<Loop>) -> Hoisting {
        let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
        Hoisting {
            loads: Loads::new(func, cx, &nest, &cfg),
            cfg,
            nest,
            dominators: cx.analyses.get(func),
            awaited: Awaited::new(func),
            definitions: Definitions::clone(&cx.analyses.get::<Definitions>(func)),
            room: None,
            only,
        }
    }

    fn run(&mut self, func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
        let (cfg, nest, dominators) = (self.cfg.clone(), self.nest.clone(), self.dominators.clone());
        let ways = WaysOut::new(&cfg, &nest, &dominators);
        let is_left = |block: &Block| self.only.is_none_or(|only| nest.innermost(&cfg, *block) == Some(only));
        // Whatever an instruction reads comes before it in the reverse post-order, but for what phis read.
        let blocks = cfg.rpo().iter().copied().filter(|block| is_left(block) && ways.leads_out(*block));
        let mut changed = Changed::No;
        for block in blocks.collect::<Vec<Block>>() {
            for inst in func.block_insts(block).collect::<Vec<Inst>>() {
                let Some(to) = self.destination(func, &ways, block, inst) else { continue };
                if !self.room.get_or_insert_with(|| Room::of(func, cx)).holds(func, func.defs(inst)) {
                    continue;
                }
                if !cx.rewrite(RULE) {
                    return changed;
                }
                move_to_end(func, inst, to);
                func.defs(inst).for_each(|reg| self.definitions.set(reg, inst, to));
                changed = Changed::Yes;
            }
        }
        changed
    }

    /// The block at whose end an instruction of a block may stand instead.
    fn destination(&self, func: &Function, ways: &WaysOut<'_>, block: Block, inst: Inst) -> Option<Block> {
        if !may_move(func, inst) || self.awaited.is_read_by(func, inst) {
            return None;
        }
        let mut read: Vec<Block> = func.uses(inst).filter_map(|reg| self.definitions.block(reg)).collect();
        if yields_the_same(func, inst) {
            return match self.only {
                Some(only) => ways.out_of(only, &read),
                None => ways.furthest(block, &read),
            };
        }
        read.extend(self.loads.state(func, &self.nest, &self.cfg, inst)?);
        let outermost = self.only.map_or(0, |only| self.nest.loop_depth(only));
        loads::furthest(&self.cfg, &self.nest, &self.dominators, block, &read, outermost)
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

/// Puts an instruction in front of the branch of another block.
fn move_to_end(func: &mut Function, inst: Inst, block: Block) {
    let end = func.terminator(block).expect("a preheader ends with a branch");
    func.remove_inst(inst);
    func.insert_before(end, inst);
}
