//! Inputs for roots that do more than compute registers.
//!
//! An access goes to the thread's own scratch region, in the space that its address lies in: the register that the
//! address is made from is found by trying values, and its input becomes a distance within the region. Members of
//! collectives are the lanes of the warp that come there, barriers have numbers and wait for all. Everything else is
//! sampled, every thread for itself. Kernels whose original traps or waits for ever say nothing, and are not counted.

use oriole_ir::ops::{Flags, Opcode, Shape, Space, Type};

use super::builder::is_fixed;
use super::{Case, GUARDED_THREADS, Guarding};
use crate::translate::Question;
use oriole_interp::{WINDOW, generic_window};
use oriole_proof::eval::Program;
use oriole_proof::term::{Op, ones};
use oriole_proof::{Inputs, Term};

/// Bytes of a thread's scratch region.
pub(super) const SCRATCH: u64 = 256;
/// Threads of kernels with collectives: a warp, and a part of one.
const COLLECTIVE_THREADS: u32 = 37;
/// Cases of one kernel.
pub(super) const TOGETHER: usize = 16;

/// A variable that an address is made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pointer {
    /// Its number.
    pub variable: usize,
    /// The space of the region that it points into.
    pub space: Space,
}

/// An address of the root: its variable, the rest of it, and what is accessed.
struct Access {
    pointer: Pointer,
    base: Term,
    offset: Term,
    bytes: u64,
}

/// The variables that addresses of a question are made from.
pub(crate) fn pointers(question: &Question<'_>) -> Vec<Pointer> {
    accesses(question).iter().map(|access| access.pointer).collect()
}

fn accesses(question: &Question<'_>) -> Vec<Access> {
    let Some(operands) = &question.effect else { return Vec::new() };
    let opcode = question.variant.instance.pattern().opcode;
    let (row, fields) = (opcode.row(), &question.variant.fields[0]);
    let bytes = row.value::<Type>(fields).map_or(16, |ty| u64::from(ty.bits() / 8));
    let space = row.value::<Space>(fields).unwrap_or(Space::Generic);
    let mut found = Vec::new();
    for (index, shape) in row.srcs.iter().enumerate() {
        if *shape != Shape::Base || row.srcs.get(index + 1) != Some(&Shape::Offset) {
            continue;
        }
        let (base, offset) = (operands[index], operands[index + 1]);
        // The second address of an asynchronous copy is global.
        let space = if opcode == Opcode::CpAsync && index > 0 { Space::Global } else { space };
        if let Some(pointer) = pointer(question, base, space) {
            found.push(Access { pointer, base, offset, bytes });
        }
    }
    found
}

/// The variable of which an address is the sum with something.
fn pointer(question: &Question<'_>, base: Term, space: Space) -> Option<Pointer> {
    let (terms, width) = (&question.terms, question.terms.width(base));
    let program = Program::new(terms, &[base]);
    let read = terms.reachable(&[base]);
    let variables = read.iter().filter_map(|term| match terms.node(*term).op {
        Op::Variable(number) => Some(number as usize),
        _ => None,
    });
    for variable in variables {
        let at = |value: u128| {
            let mut inputs = vec![0; terms.variables().len()];
            inputs[variable] = value;
            program.eval(&inputs)[0]
        };
        let start = at(0);
        let is_sum = [1u128, 8, 0x1234].iter().all(|value| at(*value) == start.wrapping_add(*value) & ones(width));
        if terms.variables()[variable].width == width && is_sum {
            let window = (start as u64) & !(WINDOW - 1);
            let generic = [Space::Shared, Space::Local].into_iter().find(|one| generic_window(*one) == Some(window));
            let inner = if space == Space::Generic { generic.unwrap_or(Space::Global) } else { space };
            return Some(Pointer { variable, space: inner });
        }
    }
    None
}

/// What an operand of a root is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Members,
    Barrier,
    Count,
}

fn roles(question: &Question<'_>) -> Vec<(usize, Role)> {
    let Some(operands) = &question.effect else { return Vec::new() };
    let opcode = question.variant.instance.pattern().opcode;
    let last = operands.len().wrapping_sub(1);
    let role = |index: usize| match opcode {
        opcode if opcode.is(Flags::CTA_BARRIER) => match index {
            0 => Some(Role::Barrier),
            1 => Some(Role::Count),
            _ => None,
        },
        Opcode::BarWarpSync => Some(Role::Members),
        _ if opcode.is(Flags::CONVERGENT) && index == last => Some(Role::Members),
        _ => None,
    };
    let variable = |term: &Term| match question.terms.node(*term).op {
        Op::Variable(number) => Some(number as usize),
        _ => None,
    };
    let named = operands.iter().enumerate().filter_map(|(index, term)| Some((variable(term)?, role(index)?)));
    named.collect()
}

/// Cases from samples: without a guard, under one and under its negation in turn.
pub(super) fn cases(question: &Question<'_>, samples: &[Inputs]) -> Vec<Case> {
    let opcode = question.variant.instance.pattern().opcode;
    let (roles, accesses) = (roles(question), accesses(question));
    let threads = if opcode.is(Flags::CONVERGENT) { COLLECTIVE_THREADS } else { GUARDED_THREADS };
    let make = |number: usize, guard: Guarding| {
        let mut memory = Vec::new();
        let lanes = (0..threads).map(|thread| {
            let mut inputs = match number % 8 {
                1 | 5 if opcode.is(Flags::CONVERGENT) => {
                    nearly_equal(question, &samples[number], number as u32 / 4, thread)
                }
                3 if opcode.is(Flags::CONVERGENT) => samples[number].clone(),
                _ => mixed(question, samples, number, thread as usize),
            };
            for (variable, role) in &roles {
                inputs[*variable] = match role {
                    Role::Members => members(thread, threads, guard).into(),
                    Role::Barrier => number as u128 % 16,
                    Role::Count => 0,
                } & ones(question.terms.variables()[*variable].width);
            }
            let places = accesses.iter().map(|access| place(question, access, number as u64, &mut inputs));
            let places: Vec<u64> = places.collect();
            // Memory that holds an operand: what compares finds that it is equal.
            let held = accesses.iter().zip(places).filter(|_| number.is_multiple_of(2));
            memory.push(held.filter_map(|(access, at)| Some((at, held_there(question, access, &inputs)?))).collect());
            inputs
        });
        Case { lanes: lanes.collect(), guard, memory }
    };
    let guards = [Guarding::None, Guarding::Odd, Guarding::Even];
    (0..samples.len()).map(|number| make(number, guards[number % 3])).collect()
}

/// A thread's inputs: those of the sample, with registers from another one where the rule still applies.
fn mixed(question: &Question<'_>, samples: &[Inputs], number: usize, thread: usize) -> Inputs {
    let own = &samples[number];
    let other = &samples[(number + 7 * thread) % samples.len()];
    let mut inputs = own.clone();
    for (capture, term) in question.captures.iter().enumerate() {
        if let Op::Variable(variable) = question.terms.node(*term).op
            && !is_fixed(question, capture)
        {
            inputs[variable as usize] = other[variable as usize];
        }
    }
    let shapes = question.variant.instance.pattern().opcode.row().srcs;
    for term in question.others.iter().filter(|_| !shapes.contains(&Shape::Imm)) {
        if let Op::Variable(variable) = question.terms.node(*term).op {
            inputs[variable as usize] = other[variable as usize];
        }
    }
    let holds = Program::new(&question.terms, &[question.query.premise]).eval(&inputs)[0] == 1;
    if holds { inputs } else { own.clone() }
}

/// A thread's inputs where most lanes have the same, as matches and votes want it: some have one bit of all registers
/// otherwise, another bit in every case.
fn nearly_equal(question: &Question<'_>, sample: &Inputs, turn: u32, thread: u32) -> Inputs {
    let mut inputs = sample.clone();
    // Neighbours together, so that guards of odd or even lanes meet both kinds.
    if thread / 2 % (2 + turn % 7) != 1 {
        return inputs;
    }
    for (capture, term) in question.captures.iter().enumerate() {
        if let Op::Variable(variable) = question.terms.node(*term).op
            && !is_fixed(question, capture)
        {
            let variable = variable as usize;
            inputs[variable] ^= 1 << (turn % question.terms.variables()[variable].width);
        }
    }
    let holds = Program::new(&question.terms, &[question.query.premise]).eval(&inputs)[0] == 1;
    if holds { inputs } else { sample.clone() }
}

/// The lanes of a thread's warp that execute the root.
fn members(thread: u32, threads: u32, guard: Guarding) -> u32 {
    let first = thread / 32 * 32;
    let there = (0..32).filter(|lane| first + lane < threads);
    let takes_part = |lane: &u32| match guard {
        Guarding::None => true,
        Guarding::Odd => lane % 2 == 1,
        Guarding::Even => lane.is_multiple_of(2),
    };
    there.filter(takes_part).fold(0, |mask, lane| mask | 1 << lane)
}

/// Makes an address point into its scratch region: 16 bytes further with every case, aligned, now and then overlapping.
fn place(question: &Question<'_>, access: &Access, number: u64, inputs: &mut Inputs) -> u64 {
    let width = question.terms.width(access.base);
    let steps = (16 / access.bytes.max(1)).max(1);
    let at = 16 * (number % (SCRATCH / 16 - 1)) + access.bytes * (number / 3 % steps);
    inputs[access.pointer.variable] = 0;
    let values = Program::new(&question.terms, &[access.base, access.offset]).eval(inputs);
    let (base, offset) = (values[0] & u128::from(u64::MAX), values[1]);
    let window = u128::from(generic_window(access.pointer.space).unwrap_or(0));
    let base = if base >= window { base - window } else { base };
    inputs[access.pointer.variable] = u128::from(at).wrapping_sub(base).wrapping_sub(offset) & ones(width);
    at
}

/// The first operand behind the address, as memory holds it.
fn held_there(question: &Question<'_>, access: &Access, inputs: &Inputs) -> Option<Vec<u8>> {
    let operands = question.effect.as_ref()?;
    let first = operands.iter().position(|operand| *operand == access.offset)? + 1;
    let value = Program::new(&question.terms, &[*operands.get(first)?]).eval(inputs)[0];
    Some(value.to_le_bytes()[..access.bytes.min(16) as usize].to_vec())
}
