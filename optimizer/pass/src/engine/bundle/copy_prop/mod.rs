//! OriCopyProp: forward copy propagation, the sub-pass of every bundle (`spec/copy-propagation-and-cse.txt`, "Forward
//! Copy Propagation").
//!
//! One linear scan in reverse post-order: each operand that reads a copy reads the copy's source instead, through
//! chains. The scan meets definitions before their uses, phi sources of back edges excepted, so chains are short when
//! they are read. The page's three opcodes are, on this IR:
//!
//! - `mov` (97): replaced everywhere. A `phi` with one value, and a `pack` of the words of one register, are copies
//!   too.
//! - a guarded `mov` (18): a use under the same guard reads the source, and what a use under the opposite guard or its
//!   `else` reads is the copy's own `else` (the bit 0x400; `LateCopyPropComplPred`, late bundles only).
//! - `selp` (124): replaced where its condition is constant, its arms are equal, or the guard of the use decides it.
//!
//! A predicate that branches decide (`conditions.rs`) is a constant wherever they have decided it: as a source, as the
//! condition of a `selp`, in a phi on the edge that it comes by, and as a guard (`CopyPropSimplifyPredicates`).
//!
//! A word of a `pack` or of a constant is the part. Constants go where a value can be an immediate, symbols into
//! addresses and other copies, and the constant of a 64-bit `iadd` into the offset of an address. From Turing on a
//! copy between register files is constrained and stays ([`oriole_ir::sm::Target::constrains_copies`]).
//!
//! Needs SSA form, in which the source of a copy is available wherever the copy is: no dominance is asked. In virtual
//! form `outside_ssa.rs` propagates by reaching definitions, in physical form `physical.rs` over registers of the
//! machine. `MOV` of the machine is a copy as `mov` is; instructions of the machine take registers for it, no
//! constants, since which of their operands have words for these their encodings say. `CopyPropPreAllocReg` (fixed
//! registers) has nothing to decide before registers are physical. `CopyPropNoMmaCb` waits for matrix instructions.
//! Copies are relinked, not deleted. Cost: linear in operands.

mod conditions;
pub mod outside_ssa;
pub mod physical;

use std::sync::Arc;

use self::conditions::Conditions;
use crate::analysis::{Cfg, Definitions, Dominators};
use crate::edit::values::{become_copies, fills_register, only_source};
use crate::engine::touched::Touched;
use crate::pass::{Changed, Knob, PhaseContext};
use oriole_ir::ops::{Flags, Opcode, Saturate, Shape, Type};
use oriole_ir::{Block, Function, Guard, Inst, InstHead, Modifiers, Operand, Reg, RegInfo};

/// A predicate that branches decide is a constant.
const KNOWN: &str = "known-condition";

/// No chain of copies is followed further, so that a cycle in unreachable code ends too.
const LONGEST_CHAIN: usize = 1 << 12;

/// Addresses hold a signed 32-bit offset (PTX ISA, "Addresses as Operands").
const OFFSETS: std::ops::RangeInclusive<i64> = i32::MIN as i64..=i32::MAX as i64;

/// Propagates; `late` says whether the bundle is one of the last. Adds what it changes to `touched`.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>, late: bool, touched: &mut Touched) -> Changed {
    let (cfg, definitions) = (cx.analyses.get::<Cfg>(func), cx.analyses.get(func));
    let mut pass = CopyProp {
        conditions: conditions(func, cx, &cfg, &definitions),
        definitions: &definitions,
        knobs: Settings::new(cx, late),
        block: func.entry(),
        by: None,
        touched,
        changed: Changed::No,
    };
    let mut budget = cx.knobs.limit(Knob::CopyPropBudget).map_or(usize::MAX, |limit| limit as usize);
    for block in cfg.rpo().iter().copied() {
        pass.block = block;
        let mut next = func.first_inst(block);
        while let Some(inst) = next.filter(|_| budget > 0) {
            next = func.next_inst(inst);
            pass.inst(func, cx, inst);
            budget -= 1;
        }
    }
    pass.changed
}

/// What branches say of predicates; `None` where the knob does not ask them.
fn conditions(
    func: &Function,
    cx: &mut PhaseContext<'_>,
    cfg: &Arc<Cfg>,
    definitions: &Definitions,
) -> Option<Conditions> {
    let is_asked = cx.knobs.flag(Knob::CopyPropSimplifyPredicates);
    let dominators = is_asked.then(|| cx.analyses.get::<Dominators>(func))?;
    Some(Conditions::new(func, cfg.clone(), &dominators, definitions))
}

/// What the knobs and the target say.
struct Settings {
    into_addresses: bool,
    constant_bank: bool,
    registers_only: bool,
    constant_phis: bool,
    complementary: bool,
    constrained: bool,
    /// Propagations into other blocks that are left.
    global: u32,
}

impl Settings {
    fn new(cx: &PhaseContext<'_>, late: bool) -> Settings {
        let unlimited = cx.knobs.flag(Knob::CopyPropForceGlobal);
        let global = cx.knobs.limit(Knob::CopyPropGlobalBudget).filter(|_| !unlimited);
        Settings {
            into_addresses: cx.knobs.flag(Knob::CopyPropAddr),
            constant_bank: cx.knobs.flag(Knob::CopyPropConstantBank),
            registers_only: cx.knobs.flag(Knob::CopyPropNoWriteNonRR),
            constant_phis: cx.knobs.flag(Knob::CopyPropNonRegMultiDef),
            complementary: late && cx.knobs.flag(Knob::LateCopyPropComplPred),
            constrained: cx.target.constrains_copies(),
            global: global.unwrap_or(u32::MAX),
        }
    }
}

/// What an operand's position takes.
#[derive(Clone, Copy)]
enum Position {
    /// A value of so many bits, in a register of this kind; symbols in copies alone.
    Value { info: RegInfo, bits: u32, symbols: bool },
    /// The base of an address, with the offset beside it where there is one.
    Base { offset: Option<u64> },
    /// The address of a function.
    Callee,
    /// A guard: nothing but a predicate register.
    Guard,
    /// What an instruction of the machine takes as a register of this kind, or, where it computes alone, a wired one.
    Machine { info: RegInfo, wired: bool },
}

/// The guard under which an operand is read, if any.
type Under = Option<Guard>;

struct CopyProp<'a> {
    definitions: &'a Definitions,
    conditions: Option<Conditions>,
    knobs: Settings,
    /// The block of the operand at hand.
    block: Block,
    /// In a phi, the block from which the operand comes.
    by: Option<Block>,
    touched: &'a mut Touched,
    changed: Changed,
}

impl CopyProp<'_> {
    fn inst(&mut self, func: &mut Function, cx: &mut PhaseContext<'_>, inst: Inst) {
        self.guard(func, cx, inst);
        let guard = func.inst(inst).guard;
        let sources = func.srcs(inst).len();
        for index in 0..func.inputs(inst).len() {
            let operand = func.inputs(inst)[index];
            if operand.reg().is_none() {
                continue;
            }
            self.by = incoming_block(func, inst, index);
            let is_else = index >= sources;
            let opposite = guard.filter(|_| self.knobs.complementary).map(Guard::opposite);
            let under = if is_else { opposite } else { guard };
            let (plain, modifiers) = without_modifiers(operand);
            let best = self.best(func, plain, under, || position(func, inst, index));
            let Some(best) = best.and_then(|best| best.with_modifiers(modifiers)) else { continue };
            let known = operand.whole_reg().and_then(|reg| self.decided_by_branch(func, reg));
            let rule = if known.is_some() { KNOWN } else { rule(operand, best) };
            if self.is_affordable(operand) && cx.rewrite(rule) {
                func.inputs_mut(inst)[index] = best;
                self.changed(func, inst, operand);
            }
        }
        self.by = None;
        if self.knobs.into_addresses && !self.knobs.registers_only {
            self.offsets(func, cx, inst);
        }
    }

    fn guard(&mut self, func: &mut Function, cx: &mut PhaseContext<'_>, inst: Inst) {
        let Some(guard) = func.inst(inst).guard else { return };
        let reg = guard.reg();
        if let Some(value) = self.conditions.as_ref().and_then(|known| known.at(self.block, reg)) {
            return self.known_guard(func, cx, inst, value != guard.negated());
        }
        let best = self.best(func, Operand::Reg(reg), None, || Some(Position::Guard));
        let Some(Operand::Reg(source)) = best else { return };
        if self.is_affordable(Operand::Reg(reg)) && cx.rewrite("copy-into-guard") {
            func.set_guard(inst, Some(guard.with_reg(source)));
            self.changed(func, inst, Operand::Reg(reg));
        }
    }

    /// A guard that is true goes. Under one that is false an instruction without results goes, and one with a single
    /// result copies the `else` value; others stay.
    fn known_guard(&mut self, func: &mut Function, cx: &mut PhaseContext<'_>, inst: Inst, passes: bool) {
        let (dsts, elses) = (func.dsts(inst).to_vec(), func.elses(inst).to_vec());
        let is_copy = dsts.len() <= 1 && func.defs(inst).all(|reg| func.regs()[reg].mov_type().is_some());
        let guard = func.inst(inst).guard.map(|guard| Operand::Reg(guard.reg()));
        let leave =
            !self.knobs.registers_only && (passes || is_copy) && guard.is_some_and(|reg| self.is_affordable(reg));
        if !leave || !cx.rewrite(KNOWN) {
            return;
        }
        self.touched.regs(func.uses(inst));
        self.changed(func, inst, guard.unwrap_or(Operand::Undef));
        if passes {
            let srcs = func.srcs(inst).to_vec();
            func.set_inst(inst, InstHead { guard: None, ..func.inst(inst).head() }, &dsts, &srcs, &[]);
        } else if dsts.is_empty() {
            func.remove_inst(inst);
        } else {
            become_copies(func, inst, None, &elses, &[]);
        }
    }

    /// An instruction does not read an operand any more.
    fn changed(&mut self, func: &Function, inst: Inst, gone: Operand) {
        self.changed = Changed::Yes;
        self.touched.inst(func, inst);
        self.touched.regs(gone.reg());
    }

    /// The end of the chain of copies, or the last link before it that fits the position; `None` where nothing does,
    /// and where the chain comes back: phis of a loop that nothing enters copy each other, and going round would
    /// never end.
    fn best(
        &self,
        func: &Function,
        operand: Operand,
        under: Under,
        position: impl Fn() -> Option<Position>,
    ) -> Option<Operand> {
        let mut current = self.source(func, operand, under)?;
        let position = position()?;
        let mut best = None;
        for _ in 0..LONGEST_CHAIN {
            best = self.fitting(func, operand, current, position).or(best);
            match self.source(func, current, under) {
                Some(next) if next == operand => return None,
                Some(next) => current = next,
                None => break,
            }
        }
        best.filter(|best| *best != operand)
    }

    /// The operand that a copy reads, if the operand is defined by one.
    fn source(&self, func: &Function, operand: Operand, under: Under) -> Option<Operand> {
        match operand {
            Operand::Reg(reg) => match self.decided_by_branch(func, reg) {
                Some(value) => Some(Operand::imm(u32::from(value))),
                None => self.copied(func, reg, under),
            },
            Operand::Word(reg, word) => match self.part(func, reg, word) {
                Some(part) => Some(part),
                None => word_of(func, self.copied(func, reg, under)?, word),
            },
            _ => None,
        }
    }

    /// What branches say of a predicate where the operand at hand is read.
    fn decided_by_branch(&self, func: &Function, reg: Reg) -> Option<bool> {
        let conditions = self.conditions.as_ref()?;
        match self.by {
            Some(from) => conditions.on_edge(func, from, self.block, reg),
            None => conditions.at(self.block, reg),
        }
    }

    /// The value that a register is a copy of.
    fn copied(&self, func: &Function, reg: Reg, under: Under) -> Option<Operand> {
        let inst = self.definitions.inst(reg)?;
        let (data, srcs) = (func.inst(inst), func.srcs(inst));
        let source = match (data.opcode, data.guard) {
            (Opcode::Mov, None) => *srcs.first()?,
            (Opcode::MachinePure, None) => func.machine_copy(inst)?,
            (Opcode::Mov, Some(guard)) => {
                let old = *func.elses(inst).first()?;
                // Where the guard is false an undefined `else` may be anything, so also the source.
                if old == Operand::Undef { srcs[0] } else { self.decided(func, guard, srcs[0], old, under)? }
            }
            (Opcode::SelP, None) if fills_register(data.ty()) => self.selected(func, srcs, under)?,
            (Opcode::Phi, _) => {
                let (value, count) = only_source(func, inst)?;
                let taken = value.reg().is_some() || count == 1 || self.knobs.constant_phis;
                taken.then_some(value)?
            }
            (Opcode::Pack, None) if data.ty() == Type::B32 => whole_of_words(func, srcs)?,
            _ => return None,
        };
        let crosses = func.operand_info(source).is_some_and(|info| info.file != func.regs()[reg].file);
        (source != Operand::Undef && !(crosses && self.knobs.constrained)).then_some(source)
    }

    /// The arm of a `selp` that is known to be taken.
    fn selected(&self, func: &Function, srcs: &[Operand], under: Under) -> Option<Operand> {
        let [yes, no, condition] = *srcs else { return None };
        match condition {
            Operand::Imm(bit) => Some(if func.bits(bit) & 1 == 1 { yes } else { no }),
            Operand::Reg(reg) => self.decided(func, Guard::new(reg, false), yes, no, under),
            _ => None,
        }
    }

    /// Which of two values a condition chooses, where a branch or the guard of the use decides it, or where they are
    /// the same.
    fn decided(&self, func: &Function, condition: Guard, yes: Operand, no: Operand, under: Under) -> Option<Operand> {
        if yes == no {
            return Some(yes);
        }
        if let Some(value) = self.decided_by_branch(func, condition.reg()) {
            return Some(if value != condition.negated() { yes } else { no });
        }
        let under = under.filter(|under| under.reg() == condition.reg())?;
        if under.negated() == condition.negated() {
            return Some(yes);
        }
        self.knobs.complementary.then_some(no)
    }

    /// The part of a `pack` that a word of its result is.
    fn part(&self, func: &Function, reg: Reg, word: u8) -> Option<Operand> {
        let inst = self.definitions.unguarded(func, Operand::Reg(reg), Opcode::Pack)?;
        let srcs = func.srcs(inst);
        let part = match func.inst(inst).ty() {
            Type::B32 => srcs.get(usize::from(word)).copied(),
            Type::B64 => word_of(func, *srcs.get(usize::from(word / 2))?, word % 2),
            _ => None,
        };
        part.filter(|part| *part != Operand::Undef)
    }

    /// The value as it may be in a position; immediates are cut to its width.
    fn fitting(&self, func: &Function, old: Operand, new: Operand, position: Position) -> Option<Operand> {
        let register = new.reg().is_some();
        if self.knobs.registers_only && (!register || !matches!(position, Position::Value { .. })) {
            return None;
        }
        let fits = match (position, new) {
            (Position::Guard | Position::Callee, Operand::Reg(_)) => true,
            (Position::Guard | Position::Callee, _) => false,
            (Position::Machine { info, .. }, Operand::Reg(reg)) => func.regs()[reg] == info,
            (Position::Machine { info, wired }, Operand::Wired { modifiers: Modifiers::NONE, .. }) => {
                wired && func.operand_info(new) == Some(info)
            }
            (Position::Machine { .. }, _) => false,
            (Position::Base { .. }, _) if !self.knobs.into_addresses => false,
            (Position::Base { .. }, Operand::Global(_) | Operand::Local(_)) => true,
            (Position::Base { offset }, Operand::Imm(base)) => {
                let wide = func.operand_info(old).is_some_and(|info| info.words == 2);
                wide || u32::try_from(func.bits(base).wrapping_add(offset.unwrap_or(0))).is_ok()
            }
            (Position::Value { info, bits, .. }, Operand::Imm(value)) if info.words <= 2 => {
                return Some(func.cut_imm(value, bits));
            }
            (Position::Value { info, .. }, Operand::Const { .. }) => self.knobs.constant_bank && !info.is_predicate(),
            (Position::Value { symbols, .. }, Operand::Global(_) | Operand::Local(_) | Operand::Func(_)) => symbols,
            _ => register,
        };
        fits.then_some(new)
    }

    /// Whether the budget for other blocks still has room, where the copy is in another one.
    fn is_affordable(&mut self, operand: Operand) -> bool {
        let home = operand.reg().and_then(|reg| self.definitions.block(reg));
        if home == Some(self.block) {
            return true;
        }
        let left = self.knobs.global > 0;
        if left && self.knobs.global != u32::MAX {
            self.knobs.global -= 1;
        }
        left
    }

    /// `[x + a]` where `x` is `y + b` becomes `[y + (a + b)]`. In 64 bits alone: a narrower sum wraps where the
    /// address may not.
    fn offsets(&mut self, func: &mut Function, cx: &mut PhaseContext<'_>, inst: Inst) {
        for index in 1..func.inst(inst).opcode.row().srcs.len() {
            if func.inst(inst).opcode.row().srcs[index] != Shape::Offset {
                continue;
            }
            while let Some((base, offset)) = self.shifted(func, inst, index) {
                if !cx.rewrite("address-offset") {
                    break;
                }
                let sum = std::mem::replace(&mut func.srcs_mut(inst)[index - 1], base);
                func.srcs_mut(inst)[index] = func.imm(offset as u64);
                self.changed(func, inst, sum);
            }
        }
    }

    /// The base and offset that a sum in an address amounts to.
    fn shifted(&self, func: &Function, inst: Inst, index: usize) -> Option<(Operand, i64)> {
        let (base, offset) = (func.srcs(inst)[index - 1], func.imm_bits(func.srcs(inst)[index])? as i64);
        let sum = self.definitions.unguarded(func, base, Opcode::IAdd)?;
        let data = func.inst(sum);
        let plain = data.field::<Saturate>() != Some(Saturate::Sat) && matches!(data.ty(), Type::U64 | Type::S64);
        let [new, Operand::Imm(more)] = *func.srcs(sum) else { return None };
        let offset = offset.checked_add(func.bits(more) as i64).filter(|offset| OFFSETS.contains(offset))?;
        (plain && matches!(new, Operand::Reg(_))).then_some((new, offset))
    }
}

/// The block from which an operand comes, in a phi of several values. One whose values are all the same stays a copy of
/// it, though the edges say what it is.
fn incoming_block(func: &Function, inst: Inst, index: usize) -> Option<Block> {
    if func.inst(inst).opcode != Opcode::Phi || only_source(func, inst).is_some() {
        return None;
    }
    func.srcs(inst).get(index + 1)?.block()
}

/// One 32-bit word of a value.
fn word_of(func: &Function, operand: Operand, word: u8) -> Option<Operand> {
    match operand {
        Operand::Reg(reg) => Some(Operand::Word(reg, word)),
        Operand::Imm(imm) if word < 2 => Some(func.imm_word(imm, word)),
        Operand::Const { bank, offset, modifiers } => {
            offset.checked_add(4 * u32::from(word)).map(|offset| Operand::Const { bank, offset, modifiers })
        }
        _ => None,
    }
}

/// The register whose words, all of them and in order, these are.
fn whole_of_words(func: &Function, parts: &[Operand]) -> Option<Operand> {
    let Operand::Word(reg, 0) = *parts.first()? else { return None };
    let in_order = parts.iter().enumerate().all(|(i, part)| *part == Operand::Word(reg, i as u8));
    (in_order && usize::from(func.regs()[reg].words) == parts.len()).then_some(Operand::Reg(reg))
}

/// What the input at an index, sources before `else` values, may be.
fn position(func: &Function, inst: Inst, index: usize) -> Option<Position> {
    let (data, srcs) = (func.inst(inst), func.srcs(inst));
    let like = |info: RegInfo| {
        let bits = if info.is_predicate() { 1 } else { 32 * u32::from(info.words) };
        Position::Value { info, bits, symbols: false }
    };
    let destination = |at: usize| func.operand_info(*func.dsts(inst).get(at)?).map(like);
    if index >= srcs.len() {
        return destination(index - srcs.len());
    }
    if data.is(Flags::MACHINE) {
        let wired = data.opcode == Opcode::MachinePure;
        return func.operand_info(srcs[index]).map(|info| Position::Machine { info, wired });
    }
    match data.src_shape(srcs.len(), index)? {
        Shape::Base => {
            let offset = data.opcode.row().srcs.get(index + 1) == Some(&Shape::Offset);
            Some(Position::Base { offset: if offset { func.imm_bits(*srcs.get(index + 1)?) } else { None } })
        }
        Shape::Callee => Some(Position::Callee),
        Shape::Incoming => destination(0),
        shape => {
            let ty = data.shape_type(shape)?;
            let symbols = data.opcode == Opcode::Mov;
            Some(Position::Value { info: RegInfo::of(ty), bits: ty.bits(), symbols })
        }
    }
}

/// A whole register without what the machine does to it, and that. In another register nothing stays in the operand
/// cache.
fn without_modifiers(operand: Operand) -> (Operand, Modifiers) {
    match operand {
        Operand::Modified { reg, word: None, modifiers } => (Operand::Reg(reg), modifiers.without(Modifiers::REUSE)),
        other => (other, Modifiers::NONE),
    }
}

/// The rule that replaces one operand by another, by what the new one is.
fn rule(old: Operand, new: Operand) -> &'static str {
    match (old, new) {
        (Operand::Word(..), Operand::Reg(_)) => "copy-word",
        (_, Operand::Reg(_) | Operand::Word(..)) => "copy-register",
        (_, Operand::Imm(_)) => "copy-constant",
        (_, Operand::Const { .. }) => "copy-constant-bank",
        _ => "copy-symbol",
    }
}
