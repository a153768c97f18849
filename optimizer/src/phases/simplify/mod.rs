//! Constant folding and algebraic simplification: the second step of a bundle's round.
//!
//! One scan in reverse post-order applies a flat list of named rules ([`arithmetic`], [`logic`], [`control`]) to each
//! instruction until none fits. A rule looks at one instruction and the definitions of its operands and says what the
//! instruction becomes; it never adds an instruction, and every rule lowers this measure, so that the scan ends:
//! instructions that are neither copies nor constants, then operations that read definitions, then operands out of
//! canonical order (constants stand last where operands commute).
//!
//! What a rule may assume: operations read only the bits of their type and zero-extend, so a 16-bit operation is never
//! a copy of its operand's register ([`fills_register`]). Floats change only bit for bit, NaN, signed zeros and
//! flushing included. An instruction with an undefined operand is left alone. Results that become known turn into
//! `mov`, which copy propagation forwards and dead-code elimination removes.
//!
//! Cost: linear in instructions times the few rules of an opcode.

mod arithmetic;
mod control;
mod logic;

use std::borrow::Cow;
use std::sync::OnceLock;

use super::analyze_control_flow::remove_incoming;
use super::values::{Definitions, fills_register, mov_type};
use crate::analysis::Cfg;
use crate::ir::{Block, Function, Guard, Inst, InstBuilder, InstData, InstHead, Operand};
use crate::ops::{FieldValue, FieldValues, Flags, Opcode, ROWS, Type};
use crate::pipeline::context::{Changed, PhaseContext};

/// How many copies are followed to a constant; longer chains wait for copy propagation.
const COPIES: usize = 4;

/// What an instruction becomes.
enum Rewrite {
    /// Copies of these values into its destinations.
    Values(Vec<Operand>),
    /// Copies of its `else` values, without the guard.
    Otherwise,
    /// Another operation with the same destinations, guard and `else`.
    Inst(Opcode, FieldValues, Vec<Operand>),
    /// The same operation under another guard.
    Guard(Option<Guard>),
    /// A branch to one block.
    Goto(Block),
    /// Nothing: it never executes.
    Nothing,
}

/// A named rule for some opcodes.
struct Rule {
    name: &'static str,
    opcodes: &'static [Opcode],
    apply: fn(&View<'_>) -> Option<Rewrite>,
}

/// An instruction and what defines its operands.
struct View<'a> {
    func: &'a Function,
    definitions: &'a Definitions,
    inst: Inst,
    data: &'a InstData,
    /// The sources; where the instruction itself is looked at, with known constants in place of their registers.
    srcs: Cow<'a, [Operand]>,
}

impl<'a> View<'a> {
    fn new(func: &'a Function, definitions: &'a Definitions, inst: Inst) -> View<'a> {
        View { func, definitions, inst, data: &func.insts[inst], srcs: Cow::Borrowed(func.srcs(inst)) }
    }

    /// The same with constants looked up, so that a chain of constants folds in one scan.
    fn with_constants(mut self) -> View<'a> {
        for (index, operand) in self.func.srcs(self.inst).iter().enumerate() {
            let Some(bits) = self.known(*operand) else { continue };
            let shape = self.data.src_shape(self.srcs.len(), index);
            if let Some(ty) = shape.and_then(|shape| self.data.shape_type(shape)) {
                self.srcs.to_mut()[index] = Operand::Imm(bits & ones(ty));
            }
        }
        self
    }

    /// The constant that a register holds.
    fn known(&self, mut operand: Operand) -> Option<u64> {
        for _ in 0..COPIES {
            let mov = self.definitions.unguarded(self.func, operand, Opcode::Mov)?;
            operand = *self.func.srcs(mov).first()?;
            if let Operand::Imm(bits) = operand {
                return Some(bits);
            }
        }
        None
    }

    fn ty(&self) -> Type {
        self.data.ty()
    }

    /// Whether the operation's values fill their registers.
    fn is_full(&self) -> bool {
        fills_register(self.ty())
    }

    fn src(&self, index: usize) -> Option<Operand> {
        self.srcs.get(index).copied()
    }

    /// A source that is a constant, cut to the operation's type.
    fn constant(&self, index: usize) -> Option<u64> {
        self.src(index)?.imm().map(|bits| bits & ones(self.ty()))
    }

    /// The definition of a source by an unguarded instruction with this opcode.
    fn defined_by(&self, index: usize, opcode: Opcode) -> Option<View<'a>> {
        self.definition(self.src(index)?, opcode)
    }

    fn definition(&self, operand: Operand, opcode: Opcode) -> Option<View<'a>> {
        let inst = self.definitions.unguarded(self.func, operand, opcode)?;
        Some(View::new(self.func, self.definitions, inst))
    }

    fn has<F: FieldValue>(&self, value: F) -> bool {
        self.data.field::<F>() == Some(value)
    }

    fn field<F: FieldValue>(&self) -> Option<F> {
        self.data.field::<F>()
    }
}

/// All bits of a type.
fn ones(ty: Type) -> u64 {
    if ty.bits() >= 64 { u64::MAX } else { (1 << ty.bits()) - 1 }
}

fn value(operand: Operand) -> Option<Rewrite> {
    Some(Rewrite::Values(vec![operand]))
}

fn constant(bits: u64) -> Option<Rewrite> {
    value(Operand::Imm(bits))
}

/// An operation that has no field but its type.
fn typed(opcode: Opcode, ty: Type, srcs: impl Into<Vec<Operand>>) -> Option<Rewrite> {
    with_fields(opcode, default_fields(opcode, ty), srcs)
}

fn with_fields(opcode: Opcode, fields: FieldValues, srcs: impl Into<Vec<Operand>>) -> Option<Rewrite> {
    Some(Rewrite::Inst(opcode, fields, srcs.into()))
}

fn default_fields(opcode: Opcode, ty: Type) -> FieldValues {
    set_field(opcode, opcode.row().default_fields(), ty)
}

fn set_field<F: FieldValue>(opcode: Opcode, mut fields: FieldValues, value: F) -> FieldValues {
    if let Some(slot) = opcode.row().slot(F::FIELD) {
        fields.0[slot] = value.index();
    }
    fields
}

/// The unsized type of the same width.
fn bits_type(ty: Type) -> Type {
    match ty.bits() {
        16 => Type::B16,
        64 => Type::B64,
        _ => Type::B32,
    }
}

/// The names of all rules, in the order in which they are tried.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    rules().map(|rule| rule.name)
}

fn rules() -> impl Iterator<Item = &'static Rule> {
    control::RULES.iter().chain(arithmetic::RULES).chain(logic::RULES)
}

/// The rules of an opcode; an empty list of opcodes means all.
fn rules_for(opcode: Opcode) -> &'static [&'static Rule] {
    static BY_OPCODE: OnceLock<Vec<Vec<&'static Rule>>> = OnceLock::new();
    let fits = |rule: &Rule, opcode| rule.opcodes.is_empty() || rule.opcodes.contains(&opcode);
    let of = |opcode| rules().filter(|rule| fits(rule, opcode)).collect();
    &BY_OPCODE.get_or_init(|| ROWS.iter().map(|row| of(row.opcode)).collect())[opcode as usize]
}

/// Simplifies every reachable instruction.
pub(super) fn run(func: &mut Function, cx: &mut PhaseContext<'_>, cfg: &Cfg, definitions: Definitions) -> Changed {
    let mut pass = Simplify { definitions, changed: Changed::No };
    for block in cfg.rpo().iter().copied() {
        let mut at = 0;
        while let Some(inst) = func.blocks[block].insts.get(at).copied() {
            match pass.step(func, cx, inst) {
                Some(rewrite) => pass.apply(func, block, at, rewrite),
                None => at += 1,
            }
        }
    }
    pass.changed
}

struct Simplify {
    definitions: Definitions,
    changed: Changed,
}

impl Simplify {
    /// The first rule that fits and has leave.
    fn step(&self, func: &Function, cx: &mut PhaseContext<'_>, inst: Inst) -> Option<Rewrite> {
        let data = &func.insts[inst];
        if matches!(data.opcode, Opcode::Phi) || func.srcs(inst).contains(&Operand::Undef) {
            return None;
        }
        let view = View::new(func, &self.definitions, inst).with_constants();
        let (rule, rewrite) = rules_for(data.opcode)
            .iter()
            .find_map(|rule| Some((rule, (rule.apply)(&view).filter(|r| view.takes(r))?)))?;
        cx.rewrite(rule.name).then_some(rewrite)
    }

    fn apply(&mut self, func: &mut Function, block: Block, at: usize, rewrite: Rewrite) {
        self.changed = Changed::Yes;
        let inst = func.blocks[block].insts[at];
        match rewrite {
            Rewrite::Values(values) => {
                let elses = func.elses(inst).to_vec();
                self.copies(func, block, at, func.insts[inst].guard, &values, &elses);
            }
            Rewrite::Otherwise => {
                let values = func.elses(inst).to_vec();
                self.copies(func, block, at, None, &values, &[]);
            }
            Rewrite::Inst(opcode, fields, srcs) => {
                let data = func.insts[inst];
                let (dsts, elses) = (func.dsts(inst).to_vec(), func.elses(inst).to_vec());
                let new = func.new_inst(InstHead { opcode, fields, ..data.head() }, &dsts, &srcs, &elses);
                func.replace_inst(inst, new);
            }
            Rewrite::Guard(guard) => {
                let data = func.insts[inst];
                let (dsts, srcs) = (func.dsts(inst).to_vec(), func.srcs(inst).to_vec());
                let elses = if guard.is_some() { func.elses(inst).to_vec() } else { Vec::new() };
                let new = func.new_inst(InstHead { guard, ..data.head() }, &dsts, &srcs, &elses);
                func.replace_inst(inst, new);
            }
            Rewrite::Goto(target) => {
                let lost: Vec<Block> = func.successors(block).filter(|next| *next != target).collect();
                InstBuilder::new(Opcode::Bra).src(target).replace(func, inst);
                for next in lost {
                    remove_incoming(func, next, |from| from == block);
                }
            }
            Rewrite::Nothing => drop(func.blocks[block].insts.remove(at)),
        }
    }

    /// Puts a `mov` for each destination in place of an instruction. The instruction itself becomes the first.
    fn copies(
        &mut self,
        func: &mut Function,
        block: Block,
        at: usize,
        guard: Option<Guard>,
        values: &[Operand],
        elses: &[Operand],
    ) {
        let inst = func.blocks[block].insts[at];
        let (line, dsts) = (func.insts[inst].line, func.dsts(inst).to_vec());
        for (index, (dst, value)) in dsts.iter().zip(values).enumerate() {
            let ty = func.operand_info(*dst).and_then(mov_type).expect("checked before the rule was taken");
            let old: &[Operand] = elses.get(index..=index).unwrap_or(&[]);
            let fields = default_fields(Opcode::Mov, ty);
            let mov = func.new_inst(InstHead { opcode: Opcode::Mov, fields, guard, line }, &[*dst], &[*value], old);
            if index == 0 {
                func.replace_inst(inst, mov);
            } else {
                func.blocks[block].insts.insert(at + index, mov);
                dst.reg().into_iter().for_each(|reg| self.definitions.set(reg, mov, block));
            }
        }
    }
}

impl View<'_> {
    /// Whether the rewrite can be written down: copies need a `mov` of each destination's width.
    fn takes(&self, rewrite: &Rewrite) -> bool {
        let copies = matches!(rewrite, Rewrite::Values(_) | Rewrite::Otherwise);
        !copies || self.func.defs(self.inst).all(|reg| mov_type(self.func.regs[reg]).is_some())
    }
}

/// Whether the results depend on the operands alone.
fn is_pure(data: &InstData) -> bool {
    data.is(Flags::PURE)
}
