//! Backward copy propagation (`spec/copy-propagation-and-cse.txt`, "Phase 83"): the definition of a copy's source
//! writes the copy's destination, and the copy goes.
//!
//! The page splits it in two: AdvancedPhaseBackPropVReg (82) is a hook, whose work a target brings, and
//! OriBackCopyPropagate (83) notes in the [`Progress`] of the pipeline that it is done. No target is known to open the
//! hook, so both are off until `EnablePhases` names it.
//!
//! Blocks are walked in reverse post-order, each from its last instruction to its first, so that a chain of copies
//! collapses in one walk: `r1 = x; r2 = r1; r3 = r2` becomes `r1 = x; r3 = r1`, then `r3 = x`. The three guards, for a
//! copy from `s` to `d`:
//!
//! 1. nothing but the copy reads `s`;
//! 2. one instruction defines `s`, unguarded or in SSA form, and `s` and `d` are of one file and width;
//! 3. nothing defines `d` between that instruction and the copy, and nothing reads the value that it had there.
//!
//! In SSA form `d` is defined by the copy alone, and every read of it follows that, so guard 3 always holds; the
//! definition may be in another block, and may be a phi. In virtual form registers have many definitions; there the
//! definition of `s` must precede the copy in its block. [`physical`] does the same over the machine's registers.
//!
//! Cost: linear. Where the touch of `d` before a copy is, one walk forward notes.

use cranelift_entity::SecondaryMap;

use oriole_ir::ops::Opcode;
use oriole_ir::{Block, Form, Function, Inst, Operand, Reg, Rewriter};
mod physical;

use oriole_pass::analysis::Cfg;
use oriole_pass::pass::{Changed, Knob, PhaseContext, Progress};

const RULE: &str = "back-copy";

/// AdvancedPhaseBackPropVReg.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if func.form == Form::Physical {
        return physical::run(func, cx);
    }
    let cfg = cx.analyses.get::<Cfg>(func);
    let mut func = Rewriter::new(func);
    let mut left = cx.knobs.limit(Knob::BackCopyPropBudget).unwrap_or(u32::MAX);
    let mut touches = Touches::default();
    let mut changed = Changed::No;
    for block in cfg.rpo() {
        if func.form != Form::Ssa {
            touches.note(&func, *block);
        }
        let mut at = func.last_inst(*block).filter(|_| left > 0);
        while let Some(inst) = at {
            at = func.prev_inst(inst);
            let Some(copy) = Copy::of(&func, inst).filter(|copy| copy.has_room(&func, &touches)) else { continue };
            if !cx.rewrite(RULE) {
                return changed;
            }
            touches.inherit(&copy);
            copy.propagate(&mut func);
            changed = Changed::Yes;
            left -= 1;
            at = at.filter(|_| left > 0);
        }
    }
    changed
}

/// OriBackCopyPropagate: what comes behind may count on it.
pub fn note_progress(_: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    cx.advance(Progress::BACKWARD_COPIES);
    Changed::No
}

/// SetAfterLegalization (95): what comes behind may count on operands that are legal for the target.
pub fn note_legal_operands(_: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    cx.advance(Progress::LEGALIZED);
    Changed::No
}

/// A copy that guards 1 and 2 allow.
struct Copy {
    inst: Inst,
    definition: Inst,
    source: Reg,
    destination: Reg,
}

impl Copy {
    fn of(func: &Rewriter<'_>, inst: Inst) -> Option<Copy> {
        let data = func.inst(inst);
        let ([Operand::Reg(destination)], [Operand::Reg(source)]) = (func.dsts(inst), func.srcs(inst)) else {
            return None;
        };
        let (destination, source) = (*destination, *source);
        if data.opcode != Opcode::Mov || data.guard.is_some() || func.def_use().read_count(source) != 1 {
            return None;
        }
        let definition = func.def_use().definition(source).filter(|definition| *definition != inst)?;
        // Outside SSA form a guarded definition leaves the old value, which would be that of the destination.
        let whole = func.form == Form::Ssa || func.inst(definition).guard.is_none();
        let alike = func.regs()[source] == func.regs()[destination];
        (whole && alike).then_some(Copy { inst, definition, source, destination })
    }

    /// Guard 3.
    fn has_room(&self, func: &Rewriter<'_>, touches: &Touches) -> bool {
        if func.form == Form::Ssa {
            return true;
        }
        // Only instructions of one block have an order. Of a definition behind it a copy in a loop takes what the round
        // before left.
        let together = func.block_of(self.definition) == func.block_of(self.inst);
        if !together || !func.is_before(self.definition, self.inst) {
            return false;
        }
        touches.before[self.inst].is_none_or(|touch| match touch == self.definition {
            true => func.defs(touch).all(|reg| reg != self.destination),
            false => func.is_before(touch, self.definition),
        })
    }

    fn propagate(&self, func: &mut Rewriter<'_>) {
        func.remove(self.inst);
        let head = func.inst(self.definition).head();
        let renamed =
            |operand: &Operand| operand.map_reg(|reg| if reg == self.source { self.destination } else { reg });
        let dsts: Vec<Operand> = func.dsts(self.definition).iter().map(renamed).collect();
        let (srcs, elses) = (func.srcs(self.definition).to_vec(), func.elses(self.definition).to_vec());
        func.set_inst(self.definition, head, &dsts, &srcs, &elses);
    }
}

/// The last definition or read of a copy's destination before the copy, in its block.
#[derive(Default)]
struct Touches {
    before: SecondaryMap<Inst, Option<Inst>>,
    /// By register, as far as the walk has come.
    last: SecondaryMap<Reg, Option<Inst>>,
}

impl Touches {
    fn note(&mut self, func: &Function, block: Block) {
        for inst in func.block_insts(block) {
            if func.inst(inst).opcode == Opcode::Mov {
                let here = |touch: &Inst| func.block_of(*touch) == Some(block);
                self.before[inst] = func.defs(inst).next().and_then(|reg| self.last[reg]).filter(here);
            }
            for reg in func.uses(inst).chain(func.defs(inst)) {
                self.last[reg] = Some(inst);
            }
        }
    }

    /// A copy has gone into the definition of its source, which may be the next copy of a chain. Nothing touches the
    /// destination between the two.
    fn inherit(&mut self, copy: &Copy) {
        self.before[copy.definition] = self.before[copy.inst];
    }
}
