//! OriHoistInvariantsEarly and OriHoistInvariantsLate: what a loop computes anew in each round, of values that the loop
//! does not change, is computed once in front of it.
//!
//! `spec/instruction-movement.txt` names four instances that share one engine, and says of the late one that it stands
//! behind predication and that the movements reuse what it knows. Here both that are built do the same. An instruction
//! leaves a natural loop if
//!
//! - it is pure, or reads a parameter of the kernel; copies of registers stay;
//! - whatever it reads, guard included, is defined outside of the loop, or has left it, and is nothing that the loop
//!   may wait for ([`Awaited`]);
//! - each round executes it: its block dominates the latches of the loop. It is then executed once where it was
//!   executed in each round; where the test of a loop stands at its top, one time too many at most;
//! - the loop has a preheader, at the end of which it then stands.
//!
//! Out of a nest it goes as far as this holds for each loop on the way ([`WaysOut`]), in one step. Its result lives
//! through the loop then, so nothing leaves where registers would get scarce: general ones by the budget of
//! OriSplitLiveRanges, predicates by the knob `HoistInvariantsPredicates`.
//!
//! Cost: linear, times the logarithm of the depth of the nest; pressure, where a function has more registers than the
//! budget.

mod ways_out;

use super::room::Room;
use super::values::Definitions;
use crate::analysis::{Awaited, Cfg, Dominators, LoopNest, reads_kernel_parameter};
use crate::pass::{Changed, PhaseContext};
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Reg, RegFile};
use ways_out::WaysOut;

const RULE: &str = "hoist-invariant";

/// OriHoistInvariantsEarly, OriHoistInvariantsLate.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let (cfg, nest) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<LoopNest>(func));
    if nest.loops().next().is_none() {
        return Changed::No;
    }
    let dominators = cx.analyses.get::<Dominators>(func);
    let awaited = Awaited::new(func);
    let ways = WaysOut::new(&cfg, &nest, &dominators);
    let mut definitions = Definitions::clone(&cx.analyses.get::<Definitions>(func));
    let (mut room, mut changed) = (None, Changed::No);
    // Whatever an instruction reads comes before it in the reverse post-order, but for what phis read.
    for block in cfg.rpo() {
        let insts: Vec<Inst> = match ways.leads_out(*block) {
            true => func
                .block_insts(*block)
                .filter(|inst| may_move(func, *inst) && !awaited.is_read_by(func, *inst))
                .collect(),
            false => continue,
        };
        for inst in insts {
            let read: Vec<Block> = func.uses(inst).filter_map(|reg| definitions.block(reg)).collect();
            let Some(to) = ways.furthest(*block, &read) else { continue };
            if !room.get_or_insert_with(|| Room::of(func, cx)).holds(func, func.defs(inst)) {
                continue;
            }
            if !cx.rewrite(RULE) {
                return changed;
            }
            move_to_end(func, inst, to);
            func.defs(inst).for_each(|reg| definitions.set(reg, inst, to));
            changed = Changed::Yes;
        }
    }
    changed
}

/// Whether an instruction yields the same wherever its operands are there, and may be executed once too often. What
/// threads do together is not pure.
fn may_move(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let copies = data.opcode == Opcode::Phi || data.is(Flags::COPY) && func.uses(inst).next().is_some();
    let named = |reg: Reg| matches!(func.regs()[reg].file, RegFile::R | RegFile::P);
    let stays_the_same = data.is(Flags::PURE) || reads_kernel_parameter(func, inst);
    stays_the_same && !copies && func.defs(inst).all(named)
}

/// Puts an instruction in front of the branch of another block.
fn move_to_end(func: &mut Function, inst: Inst, block: Block) {
    let end = func.terminator(block).expect("a preheader ends with a branch");
    func.remove_inst(inst);
    func.insert_before(end, inst);
}
