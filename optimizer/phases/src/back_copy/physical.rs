//! Backward copies over the machine's own registers: the definition of a copy's source writes the copy's destination.
//!
//! A register of the machine has many definitions, so all is said of one block. For a copy from `s` to `d`:
//!
//! 1. an instruction before it in its block writes `s`, as a result of one word and without a guard, and no other
//!    general register: several may have to be neighbours;
//! 2. between the two nothing reads or writes `d`, or writes `s`; what hands the registers over reads them all. What
//!    reads `s` there reads the one word, and reads `d` from then on;
//! 3. `s` is dead behind the copy;
//! 4. nothing overlaps in the code ([`Function::is_serial`]): what was written to `d` earlier may otherwise be on its
//!    way, or be read late, when the definition writes it.
//!
//! So what is live at the beginnings and ends of blocks stays as it is, and one solution serves for all copies.
//!
//! Cost: linear, as far as the window reaches that is looked through for the definition and for the end of `s`.

use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Function, Inst, Operand, PhysicalReg, Reg, RegFile};
use oriole_pass::analysis::{Cfg, Liveness};
use oriole_pass::pass::{Changed, Knob, PhaseContext};

use super::RULE;

/// How many instructions are looked at before and behind a copy.
const WINDOW: usize = 256;

/// Propagates copies backward in a function in physical form.
pub(super) fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if !func.is_serial() {
        return Changed::No;
    }
    let (cfg, liveness) = (cx.analyses.get::<Cfg>(func), cx.analyses.get::<Liveness>(func));
    let mut left = cx.knobs.limit(Knob::BackCopyPropBudget).unwrap_or(u32::MAX);
    let mut changed = Changed::No;
    for block in cfg.rpo() {
        let mut at = func.last_inst(*block).filter(|_| left > 0);
        while let Some(inst) = at {
            at = func.prev_inst(inst);
            let Some(copy) = Copy::of(func, &liveness, *block, inst) else { continue };
            if !cx.rewrite(RULE) {
                return changed;
            }
            copy.propagate(func);
            changed = Changed::Yes;
            left -= 1;
            at = func.prev_inst(inst).filter(|_| left > 0);
            func.remove_inst(inst);
        }
    }
    changed
}

/// A copy that the guards allow.
struct Copy {
    inst: Inst,
    definition: Inst,
    source: Reg,
    destination: Reg,
}

impl Copy {
    fn of(func: &Function, liveness: &Liveness, block: Block, inst: Inst) -> Option<Copy> {
        let copied = func.machine_copy(inst).filter(|_| func.inst(inst).guard.is_none())?;
        let (Operand::Reg(source), [Operand::Reg(destination)]) = (copied, func.dsts(inst)) else { return None };
        let (destination, info) = (*destination, func.regs()[source]);
        let is_general = (info.file, info.words) == (RegFile::R, 1) && func.regs()[destination] == info;
        if !is_general || source == destination || !is_dead_behind(func, liveness, block, inst, source) {
            return None;
        }
        let before = std::iter::successors(func.prev_inst(inst), |inst| func.prev_inst(*inst)).take(WINDOW);
        for at in before {
            let writes = |reg: Reg| func.defs(at).any(|unit| unit == reg);
            let reads = |reg: Reg| func.uses(at).any(|unit| unit == reg);
            let is_one = |operand: &Operand| *operand == Operand::Reg(source);
            if writes(source) {
                let is_it = func.inst(at).guard.is_none() && func.inst(at).is(Flags::MACHINE) && !writes(destination);
                let is_general = |dst: &Operand| func.operand_info(*dst).is_some_and(|info| info.file == RegFile::R);
                let is_only =
                    func.dsts(at).iter().all(|dst| is_one(dst) || !matches!(dst, Operand::Reg(_)) || !is_general(dst));
                let named = func.dsts(at).iter().filter(|dst| is_one(dst)).count();
                return (is_it && is_only && named == 1).then_some(Copy { inst, definition: at, source, destination });
            }
            let is_word = |operand: &Operand| {
                operand.reg().is_none_or(|reg| reg == source || func.units(reg).all(|unit| unit != source))
            };
            let has_words = func.srcs(at).iter().all(is_word) && !is_in_row(func, at, source);
            if writes(destination) || reads(destination) || !has_words {
                return None;
            }
        }
        None
    }

    fn propagate(&self, func: &mut Function) {
        let renamed = |operand: Operand| operand.map_reg(|reg| if reg == self.source { self.destination } else { reg });
        let mut at = self.definition;
        func.dsts_mut(at).iter_mut().for_each(|dst| *dst = renamed(*dst));
        while let Some(next) = func.next_inst(at).filter(|next| *next != self.inst) {
            func.srcs_mut(next).iter_mut().for_each(|src| *src = renamed(*src));
            at = next;
        }
    }
}

/// Whether an access names a register beside its neighbour: several that make up one operand must stay in a row.
fn is_in_row(func: &Function, inst: Inst, reg: Reg) -> bool {
    if func.inst(inst).opcode == Opcode::MachinePure {
        return false;
    }
    let number = |operand: &Operand| match operand {
        Operand::Reg(reg) => PhysicalReg::of(*reg).filter(|reg| (reg.file, reg.words) == (RegFile::R, 1)),
        _ => None,
    };
    func.srcs(inst).windows(2).any(|pair| {
        let [Some(low), Some(high)] = [number(&pair[0]), number(&pair[1])] else { return false };
        let is_named = pair.contains(&Operand::Reg(reg));
        is_named && u16::from(low.number) + 1 == u16::from(high.number)
    })
}

/// Whether nothing behind an instruction reads what a register holds there.
fn is_dead_behind(func: &Function, liveness: &Liveness, block: Block, inst: Inst, reg: Reg) -> bool {
    let behind = std::iter::successors(func.next_inst(inst), |inst| func.next_inst(*inst)).take(WINDOW);
    let mut end = true;
    for (number, at) in behind.enumerate() {
        if func.uses(at).any(|unit| unit == reg) {
            return false;
        }
        if func.inst(at).guard.is_none() && func.defs(at).any(|unit| unit == reg) {
            return true;
        }
        end = number + 1 < WINDOW;
    }
    end && !liveness.live_out(block).contains(reg)
}
