//! Forward copy propagation in physical form, over the machine's own registers: what `MOV` copies is read where it came
//! from, and copies that move nothing go.
//!
//! A fact says that a register unit holds what another unit, or a wired register, holds. Facts are *available copies*
//! (Aho, Sethi and Ullman, 1986, section 10.6): a copy without a guard makes one, a write to either side ends it, and a
//! block begins with the facts at the ends of all its predecessors. An operand of several words is replaced where all
//! of its units are copies of neighbours that one register can name.
//!
//! What stays:
//! - predicates, of which the machine has no copies, and uniform registers: lanes that took another way of a branch may
//!   overwrite the source of a copy while the copy is read.
//! - operands of instructions that work on beside the thread, or hand the registers over: they are read later.
//! - `RZ` is in place of a register in instructions that compute alone; addresses and data of accesses may have no
//!   word for it.
//! - where the code is scheduled, operands that are read some time after issue: an instruction that overwrites the
//!   source may not wait for them, as one that overwrites the copy does. What else is read is there: the copy waited
//!   for it, and the word that is left of a copy waits as the copy did (`oriole_sass::ori::in_place`).
//!
//! Cost: blocks times units, until facts stay; rounds are few, since facts only fall.

use cranelift_entity::EntityRef;

use crate::analysis::Cfg;
use crate::pass::{Changed, PhaseContext};
use oriole_ir::ops::{Flags, Opcode};
use oriole_ir::{Block, Form, Function, Inst, Modifiers, Operand, PhysicalReg, Reg, RegFile};

const RULE: &str = "copy-of-register";
const IDLE: &str = "copy-of-itself";

/// What a unit holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// What another unit holds.
    Unit(Reg),
    /// Zero.
    Zero,
}

/// By register number: what a unit is a copy of.
type Facts = Vec<Option<Source>>;

/// Propagates copies in a function in physical form; does nothing in another one.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    if func.form != Form::Physical {
        return Changed::No;
    }
    let cfg = cx.analyses.get::<Cfg>(func);
    let mut changed = Changed::No;
    for (block, mut facts) in available(func, &cfg) {
        let mut next = func.first_inst(block);
        while let Some(inst) = next {
            next = func.next_inst(inst);
            changed |= replace(func, cx, inst, &facts);
            let is_idle = func.inst(inst).guard.is_none() && is_idle(func, inst, &facts);
            if is_idle && cx.rewrite(IDLE) {
                func.remove_inst(inst);
                changed = Changed::Yes;
            } else {
                step(func, inst, &mut facts);
            }
        }
    }
    changed
}

/// The facts at the beginning of each block that is reached, in reverse post-order.
fn available(func: &Function, cfg: &Cfg) -> Vec<(Block, Facts)> {
    let nothing: Facts = vec![None; func.regs().len()];
    // `None` for a block that was not looked at yet: all facts may hold there.
    let mut ends: Vec<Option<Facts>> = vec![None; func.blocks().len()];
    let begin = |block: Block, ends: &[Option<Facts>]| {
        let mut known = cfg.predecessors(block).iter().filter_map(|from| ends[from.index()].as_ref());
        if block == func.entry() {
            return nothing.clone();
        }
        let mut facts = known.next().cloned().unwrap_or_else(|| nothing.clone());
        for other in known {
            for (fact, other) in facts.iter_mut().zip(other) {
                *fact = fact.filter(|fact| Some(*fact) == *other);
            }
        }
        facts
    };
    loop {
        let mut is_settled = true;
        for block in cfg.rpo() {
            let mut facts = begin(*block, &ends);
            func.block_insts(*block).for_each(|inst| step(func, inst, &mut facts));
            let end = &mut ends[block.index()];
            is_settled &= end.as_ref() == Some(&facts);
            *end = Some(facts);
        }
        if is_settled {
            return cfg.rpo().iter().map(|block| (*block, begin(*block, &ends))).collect();
        }
    }
}

/// Goes over an instruction.
fn step(func: &Function, inst: Inst, facts: &mut Facts) {
    if func.hands_over(inst) {
        return facts.fill(None);
    }
    let made = copies(func, inst);
    for unit in func.defs(inst) {
        facts[unit.index()] = None;
        facts.iter_mut().filter(|fact| **fact == Some(Source::Unit(unit))).for_each(|fact| *fact = None);
    }
    for (unit, source) in made {
        let is_written = matches!(source, Source::Unit(from) if func.defs(inst).any(|def| def == from));
        facts[unit.index()] = Some(source).filter(|_| !is_written);
    }
}

/// The facts that an instruction makes: units of its result and what they hold then.
fn copies(func: &Function, inst: Inst) -> Vec<(Reg, Source)> {
    let copied = func.machine_copy(inst).filter(|_| func.inst(inst).guard.is_none());
    let (Some(from), [Operand::Reg(to)]) = (copied, func.dsts(inst)) else { return Vec::new() };
    let to_info = func.regs()[*to];
    if to_info.file != RegFile::R || func.operand_info(from) != Some(to_info) {
        return Vec::new();
    }
    let units = func.units(*to);
    match from {
        Operand::Wired { modifiers: Modifiers::NONE, .. } => units.map(|unit| (unit, Source::Zero)).collect(),
        Operand::Reg(reg) => units.zip(func.units(reg).map(Source::Unit)).collect(),
        _ => Vec::new(),
    }
}

/// The end of a chain of copies. No chain leads back: a fact ends where its unit is written, so those of a chain are
/// the older the further they are.
fn origin(facts: &Facts, source: Source) -> Source {
    let next = |source: &Source| match source {
        Source::Unit(unit) => facts[unit.index()],
        Source::Zero => None,
    };
    std::iter::successors(Some(source), next).last().unwrap_or(source)
}

/// Whether an instruction copies what its result holds already.
fn is_idle(func: &Function, inst: Inst, facts: &Facts) -> bool {
    let made = copies(func, inst);
    let holds = |(unit, source): &(Reg, Source)| origin(facts, Source::Unit(*unit)) == origin(facts, *source);
    !made.is_empty() && made.iter().all(holds)
}

/// Has an instruction read the sources of copies.
fn replace(func: &mut Function, cx: &mut PhaseContext<'_>, inst: Inst, facts: &Facts) -> Changed {
    let opcode = func.inst(inst).opcode;
    let reads_late =
        || func.schedule(inst).is_some() && func.inst(inst).machine_row().is_some_and(|row| row.reads_late);
    let is_plain = func.inst(inst).is(Flags::MACHINE) && opcode != Opcode::MachineOp && !func.hands_over(inst);
    let reads_at_once = is_plain && !reads_late();
    let mut changed = Changed::No;
    for index in 0..if reads_at_once { func.srcs(inst).len() } else { 0 } {
        let old = func.srcs(inst)[index];
        let Some(new) = better(func, old, facts, opcode == Opcode::MachinePure) else { continue };
        if cx.rewrite(RULE) {
            func.srcs_mut(inst)[index] = new;
            changed = Changed::Yes;
        }
    }
    changed
}

/// The operand that holds the same and is no copy. One that stayed in the operand cache does so no more.
fn better(func: &Function, operand: Operand, facts: &Facts, takes_zero: bool) -> Option<Operand> {
    let (Operand::Reg(reg) | Operand::Modified { reg, word: None, .. }) = operand else { return None };
    let info = func.regs()[reg];
    let sources: Vec<Source> = func.units(reg).map(|unit| origin(facts, Source::Unit(unit))).collect();
    let new = match *sources.first()? {
        Source::Zero if takes_zero => {
            sources.iter().all(|source| *source == Source::Zero).then(|| Operand::wired(info.file, info.words))
        }
        Source::Zero => None,
        Source::Unit(first) => {
            let first = PhysicalReg { words: info.words, ..PhysicalReg::of(first)? };
            let in_order = first.units().map(Source::Unit).eq(sources.iter().copied());
            first.reg().filter(|_| in_order && first.is_aligned()).map(Operand::Reg)
        }
    }?;
    let new = new.with_modifiers(operand.modifiers().without(Modifiers::REUSE));
    new.filter(|_| sources.iter().copied().ne(func.units(reg).map(Source::Unit)))
}
