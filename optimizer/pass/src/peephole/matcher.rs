//! One pattern against one instruction.
//!
//! The decision structure of [`super::program`] leaves a few candidates; here each is held against the instruction in
//! full, captures are bound and conditions evaluated.

use super::eval::{Environment, evaluate};
use super::subject::Subject;
use crate::analysis::Bits;
use oriole_ir::ops::{FieldValues, Type};
use oriole_ir::{FreeOperand, Inst, Operand};
use oriole_rules::instance::{Condition, Const, ConstKind, Instance, Pattern, Source, ones};
use oriole_rules::number::related;

/// What the captures of an instance stand for.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    captures: Vec<Option<FreeOperand>>,
    rests: Vec<Option<FieldValues>>,
}

impl Bindings {
    fn reset(&mut self, instance: &Instance) {
        self.captures.clear();
        self.captures.resize(instance.captures.len(), None);
        self.rests.clear();
        self.rests.resize(instance.rests.len(), None);
    }

    /// The operand that a capture stands for.
    pub fn operand(&self, capture: usize) -> Option<FreeOperand> {
        self.captures.get(capture).copied().flatten()
    }

    fn bind(&mut self, capture: usize, operand: FreeOperand) -> bool {
        match self.captures[capture] {
            Some(bound) => bound == operand,
            None => {
                self.captures[capture] = Some(operand);
                true
            }
        }
    }
}

impl Environment for Bindings {
    fn constant(&self, capture: usize) -> Option<u64> {
        self.operand(capture)?.imm()
    }

    fn rest(&self, rest: usize) -> Option<&FieldValues> {
        self.rests.get(rest)?.as_ref()
    }
}

/// A pattern under comparison.
pub(super) struct Matching<'a, 'b> {
    pub subject: Subject<'a>,
    pub instance: &'a Instance,
    pub bindings: &'b mut Bindings,
    /// What is held against the pattern.
    root: Option<Inst>,
    /// Constants that must equal an expression of captures, which may be bound later.
    pending: Vec<(&'a Const, u64)>,
}

impl<'a, 'b> Matching<'a, 'b> {
    pub(super) fn new(subject: Subject<'a>, instance: &'a Instance, bindings: &'b mut Bindings) -> Matching<'a, 'b> {
        bindings.reset(instance);
        Matching { subject, instance, bindings, root: None, pending: Vec::new() }
    }

    /// Whether the pattern matches, apart from conditions.
    pub(super) fn matches(&mut self, pattern: &'a Pattern, inst: Inst, srcs: &[Operand]) -> bool {
        self.root = Some(inst);
        self.pattern(pattern, inst, srcs)
            && self.pending.iter().all(|(expr, bits)| evaluate(expr, self.bindings) == Some(*bits))
    }

    /// Whether all conditions hold, for what has matched.
    pub(super) fn is_allowed(&self) -> bool {
        self.instance.conditions.iter().all(|condition| self.holds(condition) == Some(true))
    }

    fn pattern(&mut self, pattern: &'a Pattern, inst: Inst, srcs: &[Operand]) -> bool {
        let data = self.subject.func.inst(inst);
        if data.opcode != pattern.opcode || srcs.len() != pattern.srcs.len() {
            return false;
        }
        let fits = |(slot, mask): (usize, &u64)| mask >> data.fields.0[slot] & 1 == 1;
        if !pattern.fields.iter().enumerate().all(fits) {
            return false;
        }
        if let Some(rest) = pattern.rest
            && !self.bind_rest(rest, pattern, &data.fields)
        {
            return false;
        }
        pattern.srcs.iter().zip(srcs).all(|(source, operand)| self.source(source, *operand))
    }

    /// Fields that a name captures twice must be the same where both operations have them.
    fn bind_rest(&mut self, rest: usize, pattern: &Pattern, fields: &FieldValues) -> bool {
        let captured = &self.instance.rests[rest];
        match &self.bindings.rests[rest] {
            None => {
                self.bindings.rests[rest] = Some(*fields);
                captured.opcode == pattern.opcode
            }
            Some(bound) => {
                let slots = (0..pattern.fields.len()).filter(|slot| captured.slots >> slot & 1 == 1);
                captured.opcode == pattern.opcode && slots.into_iter().all(|slot| bound.0[slot] == fields.0[slot])
            }
        }
    }

    fn source(&mut self, source: &'a Source, operand: Operand) -> bool {
        match source {
            _ if operand == Operand::Undef => false,
            Source::Any => true,
            Source::Capture(capture) => self.bindings.bind(*capture, self.subject.func.free(operand)),
            Source::Constant(capture) => match self.subject.constant(operand) {
                Some(bits) => {
                    let bits = bits & ones(self.instance.captures[*capture].bits);
                    self.bindings.bind(*capture, FreeOperand::Imm(bits))
                }
                None => false,
            },
            Source::Equals(Const { bits, kind: ConstKind::Number(value) }) => {
                self.subject.constant(operand).is_some_and(|found| (found ^ value) & ones(*bits) == 0)
            }
            Source::Equals(expr) => match self.subject.constant(operand) {
                Some(bits) => {
                    self.pending.push((expr, bits & ones(expr.bits)));
                    true
                }
                None => false,
            },
            Source::Inst(pattern) => self.inner(pattern, operand),
            Source::Word(word, of) => match operand {
                Operand::Word(reg, found) if found == *word => {
                    self.subject.func.regs()[reg].words == 2 && self.source(of, Operand::Reg(reg))
                }
                _ => false,
            },
        }
    }

    fn inner(&mut self, pattern: &'a Pattern, operand: Operand) -> bool {
        let Some(inst) = self.subject.definition(operand) else { return false };
        if self.subject.func.inst(inst).opcode != pattern.opcode
            || !(pattern.shared || self.subject.is_used_once(operand))
        {
            return false;
        }
        if let Some(binding) = pattern.binding
            && !self.bindings.bind(binding, operand.into())
        {
            return false;
        }
        self.pattern(pattern, inst, self.subject.func.srcs(inst))
    }

    /// Whether a condition holds; `None` where a constant in it is unknown.
    fn holds(&self, condition: &Condition) -> Option<bool> {
        let constant = |expr| evaluate(expr, self.bindings);
        let known = |capture: usize| Some(self.known(self.operand(capture)?));
        Some(match condition {
            Condition::Compare { relation, signed, left, right } => {
                related(*relation, *signed, constant(left)?, constant(right)?, left.bits)
            }
            Condition::PowerOfTwo(expr) => constant(expr)?.is_power_of_two(),
            Condition::Mask(expr) => {
                let bits = constant(expr)?;
                bits != 0 && bits & bits.wrapping_add(1) == 0
            }
            Condition::KnownZero(capture, mask) => constant(mask)? & !known(*capture)?.zeros == 0,
            Condition::KnownOne(capture, mask) => constant(mask)? & !known(*capture)?.ones == 0,
            Condition::Disjoint(left, right, bits) => ones(*bits) & !(known(*left)?.zeros | known(*right)?.zeros) == 0,
            Condition::Nonzero(capture, bits) => known(*capture)?.ones & ones(*bits) != 0,
            Condition::NotNan(capture, ty) => is_no_nan(known(*capture)?, *ty),
            Condition::Extended(capture, from) => self.is_extended(*capture, *from)?,
            Condition::SingleUse(capture) => {
                self.operand(*capture)?.operand().is_some_and(|of| self.subject.is_used_once(of))
            }
            Condition::Unused => self.subject.func.defs(self.root?).all(|reg| self.subject.uses.count(reg) == 0),
            Condition::Variable(capture) => self.constant(self.operand(*capture)?).is_none(),
            Condition::IsConstant(capture) => self.constant(self.operand(*capture)?).is_some(),
            Condition::Field { rest, slot, equal, value } => (self.bindings.rest(*rest)?.0[*slot] == *value) == *equal,
            Condition::Not(condition) => !self.holds(condition)?,
            Condition::Any(conditions) => conditions.iter().any(|condition| self.holds(condition) == Some(true)),
            Condition::Always(known) => *known,
        })
    }

    fn operand(&self, capture: usize) -> Option<FreeOperand> {
        self.bindings.operand(capture)
    }

    fn constant(&self, value: FreeOperand) -> Option<u64> {
        match value {
            FreeOperand::Imm(bits) => Some(bits),
            FreeOperand::Operand(operand) => self.subject.constant(operand),
        }
    }

    fn known(&self, value: FreeOperand) -> Bits {
        match value {
            FreeOperand::Imm(bits) => Bits::constant(bits),
            FreeOperand::Operand(operand) => self.subject.known_bits(operand),
        }
    }

    fn is_extended(&self, capture: usize, from: u32) -> Option<bool> {
        let operand = self.operand(capture)?;
        let known = self.known(operand);
        let register = match operand {
            FreeOperand::Operand(Operand::Reg(reg)) if self.subject.func.regs()[reg].words > 1 => 64,
            _ => 32,
        };
        let above = ones(register) & !ones(from);
        let value = operand.operand().is_none_or(|operand| matches!(operand, Operand::Reg(_) | Operand::Word(..)));
        Some(value && above & !known.zeros == 0)
    }
}

/// Whether known bits exclude the NaNs of a type: all bits of the exponent set, and one below them.
fn is_no_nan(known: Bits, ty: Type) -> bool {
    let exponent: u64 = match ty {
        Type::F16 => 0x7c00,
        Type::Bf16 => 0x7f80,
        Type::F32 => 0x7f80_0000,
        Type::F64 => 0x7ff0_0000_0000_0000,
        _ => return false,
    };
    let fraction = ones(exponent.trailing_zeros());
    known.zeros & exponent != 0 || fraction & !known.zeros == 0
}
