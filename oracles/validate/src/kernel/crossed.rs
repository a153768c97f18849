//! Special operands together with special contents of memory.
//!
//! What an atomic operation does depends on its operands and on what lies in memory: `-0` and `+0` differ in a sum only
//! where memory holds `-0` too. So each value that is captured goes through the special values of its type, and what
//! lies in memory through those of the access, through the operands, their neighbours, negations and complements, and
//! through the captured values themselves. All combinations are tried where they are few, else such that each value
//! meets each other one.

use oriole_ir::ops::{Flags, Opcode, Shape, Type};

use super::builder::is_fixed;
use super::effect::{Access, CROSSED_THREADS, operands_behind, variable};
use crate::translate::Question;
use oriole_proof::eval::Program;
use oriole_proof::term::ones;
use oriole_proof::{Inputs, Term, numbers_of, special_values};

/// Cases at most, of [`CROSSED_THREADS`] combinations each.
const MOST: usize = 120;
/// What of an operand lies in memory: itself, its neighbours, its negations and its complement.
const RELATIONS: usize = 6;

/// All combinations.
pub(super) struct Crossed<'q, 'i> {
    question: &'q Question<'i>,
    samples: &'q [Inputs],
    /// The variables that take special values.
    values: Vec<(usize, Vec<u128>)>,
    /// What memory holds beside what operands make of it; nothing where it is not read.
    special: Vec<u128>,
    /// How many contents of memory there are.
    contents: usize,
    ty: Type,
    /// Whether the rule applies.
    premise: Program,
}

impl<'q, 'i> Crossed<'q, 'i> {
    pub(super) fn new(question: &'q Question<'i>, accesses: &[Access], samples: &'q [Inputs]) -> Crossed<'q, 'i> {
        let (opcode, fields) = (question.variant.instance.pattern().opcode, &question.variant.fields[0]);
        let ty = opcode.row().value::<Type>(fields).unwrap_or(Type::B128);
        let values = match accesses {
            [] => Vec::new(),
            _ => variables(question, accesses),
        };
        let special = if opcode.is(Flags::READS) && !accesses.is_empty() { special_values(ty) } else { Vec::new() };
        let contents =
            if special.is_empty() { 1 } else { special.len() + held_operands(opcode) * RELATIONS + values.len() };
        let premise = Program::new(&question.terms, &[question.query.premise]);
        Crossed { question, samples, values, special, contents, ty, premise }
    }

    /// How many combinations there are; none where nothing is special.
    fn combinations(&self) -> u64 {
        let sizes = self.values.iter().map(|(_, values)| values.len() as u64);
        let all = sizes.fold(self.contents as u64, u64::saturating_mul);
        if self.special.is_empty() && self.values.is_empty() { 0 } else { all }
    }

    /// How many cases there are.
    pub(super) fn cases(&self) -> usize {
        self.combinations().div_ceil(CROSSED_THREADS.into()).min(MOST as u64) as usize
    }

    /// The inputs of a thread, and the number of the content of its memory.
    pub(super) fn inputs(&self, turn: usize, thread: u32) -> (Inputs, usize) {
        let number = turn as u64 * u64::from(CROSSED_THREADS) + u64::from(thread);
        let mut left = spread(number, self.combinations(), (MOST as u64) * u64::from(CROSSED_THREADS));
        let content = (left % self.contents as u64) as usize;
        left /= self.contents as u64;
        let own = &self.samples[turn % self.samples.len()];
        let mut inputs = own.clone();
        for (variable, values) in &self.values {
            inputs[*variable] = values[(left % values.len() as u64) as usize];
            left /= values.len() as u64;
        }
        let holds = self.premise.eval(&inputs)[0] == 1;
        (if holds { inputs } else { own.clone() }, content)
    }

    /// What lies in memory.
    pub(super) fn content(&self, access: &Access, content: usize, inputs: &Inputs) -> Option<u128> {
        let mut at = content;
        if let Some(value) = self.special.get(at) {
            return Some(*value);
        }
        at = at.checked_sub(self.special.len())?;
        let operands = operands_behind(self.question, access, inputs);
        if let Some(operand) = operands.get(at / RELATIONS) {
            return Some(related(*operand, at % RELATIONS, self.ty));
        }
        let (variable, _) = self.values.get(at.checked_sub(RELATIONS * held_operands(self.opcode()))?)?;
        Some(inputs[*variable])
    }

    fn opcode(&self) -> Opcode {
        self.question.variant.instance.pattern().opcode
    }
}

/// The operands behind an address that memory is made from.
fn held_operands(opcode: Opcode) -> usize {
    opcode.row().srcs.iter().filter(|shape| !matches!(shape, Shape::Base | Shape::Offset | Shape::Imm)).count()
}

/// A value of memory that an operand is related to.
fn related(operand: u128, relation: usize, ty: Type) -> u128 {
    match relation {
        0 => operand,
        1 => operand.wrapping_add(1),
        2 => operand.wrapping_sub(1),
        3 => operand.wrapping_neg(),
        4 => operand ^ signs(ty),
        _ => !operand,
    }
}

/// The sign of each part of a type.
fn signs(ty: Type) -> u128 {
    let width = numbers_of(ty).map_or(ty.bits(), |(width, _)| width);
    (0..ty.bits()).step_by(width as usize).fold(0, |signs, low| signs | 1 << (low + width - 1))
}

/// The number of a combination: each in turn where all have room, else far from the one before.
fn spread(number: u64, combinations: u64, room: u64) -> u64 {
    // A prime above every count of special values, so that it shares no divisor with their products.
    const STEP: u128 = 0x9e37_79b1;
    if combinations <= room {
        return number % combinations.max(1);
    }
    (u128::from(number) * STEP % u128::from(combinations)) as u64
}

/// The registers that a pattern reads beside addresses, with the special values of their types.
fn variables(question: &Question<'_>, accesses: &[Access]) -> Vec<(usize, Vec<u128>)> {
    let captures = &question.variant.instance.captures;
    let free = question.captures.iter().enumerate().filter(|(capture, _)| !is_fixed(question, *capture));
    let named = free.filter_map(|(capture, term)| Some((*term, captures[capture].ty?)));
    let wildcards = question.others.iter().filter_map(|term| Some((*term, untyped(question, *term)?)));
    let is_pointer = |variable: usize| accesses.iter().any(|access| access.pointer.variable == variable);
    let free =
        |(term, ty): (Term, Type)| Some((variable(&question.terms, term).filter(|number| !is_pointer(*number))?, ty));
    let values = |(variable, ty): (usize, Type)| {
        let mask = ones(question.terms.variables()[variable].width);
        (variable, special_values(ty).into_iter().map(|value| value & mask).collect())
    };
    named.chain(wildcards).filter_map(free).map(values).collect()
}

/// The type of a wildcard's bits; nothing where only an immediate can stand.
fn untyped(question: &Question<'_>, term: Term) -> Option<Type> {
    let shapes = question.variant.instance.pattern().opcode.row().srcs;
    let bits = question.terms.width(term);
    let ty = [Type::Pred, Type::B32, Type::B64, Type::B128].into_iter().find(|ty| ty.bits() == bits);
    ty.filter(|_| !shapes.contains(&Shape::Imm))
}
