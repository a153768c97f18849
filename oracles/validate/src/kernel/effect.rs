//! Inputs for roots that do more than compute registers.
//!
//! An access goes to the thread's own scratch region, in the space that its address lies in: the register that the
//! address is made from is found by trying values, and its input becomes a distance within the region. Members of
//! collectives are the lanes of the warp that come there, barriers have numbers and wait for all. Everything else is
//! sampled, every thread for itself. Kernels whose original traps or waits for ever say nothing, and are not counted.

use oriole_ir::ops::{Flags, Opcode, Shape, Space, Type};

use super::builder::is_fixed;
use super::crossed::Crossed;
use super::{Case, GUARDED_THREADS, Guarding};
use crate::translate::Question;
use oriole_interp::{WINDOW, generic_window};
use oriole_proof::eval::Program;
use oriole_proof::term::{Op, ones};
use oriole_proof::{Inputs, Term, Terms};

/// Bytes of a thread's scratch region.
pub(super) const SCRATCH: u64 = 256;
/// Threads of kernels with collectives: a warp, and a part of one.
const COLLECTIVE_THREADS: u32 = 37;
/// Threads of a kernel with special operands and contents of memory: each has a combination of its own.
pub(super) const CROSSED_THREADS: u32 = 32;
/// Cases of one kernel: each has a place of its own in a scratch region.
pub(super) const TOGETHER: usize = 15;

/// A variable that an address is made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pointer {
    /// Its number.
    pub variable: usize,
    /// The space of the region that it points into.
    pub space: Space,
}

/// An address of the root: its variable, the rest of it, and what is accessed.
pub(super) struct Access {
    pub pointer: Pointer,
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

/// The variable of which an address is the sum with something, or that sum in 32 bits extended with zeros.
fn pointer(question: &Question<'_>, base: Term, space: Space) -> Option<Pointer> {
    let terms = &question.terms;
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
        let (start, width) = (at(0), terms.variables()[variable].width);
        let is_sum = [1u128, 8, 0x1234].iter().all(|value| at(*value) == start.wrapping_add(*value) & ones(width));
        if (width == 32 || width == terms.width(base)) && is_sum {
            let window = (start as u64) & !(WINDOW - 1);
            let generic = [Space::Shared, Space::Local].into_iter().find(|one| generic_window(*one) == Some(window));
            let inner = match space {
                Space::Generic => generic.unwrap_or(Space::Global),
                // A thread's own region is one of the cluster's.
                Space::Cluster => Space::Shared,
                space => space,
            };
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
    let named = operands.iter().enumerate();
    named.filter_map(|(index, term)| Some((variable(&question.terms, *term)?, role(index)?))).collect()
}

/// The variable that a term is.
pub(super) fn variable(terms: &Terms, term: Term) -> Option<usize> {
    match terms.node(term).op {
        Op::Variable(number) => Some(number as usize),
        _ => None,
    }
}

/// Cases from samples: without a guard, under one and under its negation in turn. Behind them, where memory is
/// accessed, special operands with special contents of memory, in combination.
pub(super) fn cases(question: &Question<'_>, samples: &[Inputs]) -> Vec<Case> {
    let root = Root::new(question);
    let samples = &root.nearer(samples);
    let mut cases: Vec<Case> = (0..samples.len()).map(|number| root.mixed_case(samples, number)).collect();
    let crossed = Crossed::new(question, &root.accesses, samples);
    cases.extend((0..crossed.cases()).map(|turn| root.crossed_case(&crossed, samples.len() + turn, turn)));
    cases
}

/// A root with what its operands are for.
struct Root<'q, 'i> {
    question: &'q Question<'i>,
    roles: Vec<(usize, Role)>,
    accesses: Vec<Access>,
    threads: u32,
}

impl<'q, 'i> Root<'q, 'i> {
    fn new(question: &'q Question<'i>) -> Root<'q, 'i> {
        let convergent = question.variant.instance.pattern().opcode.is(Flags::CONVERGENT);
        let threads = if convergent { COLLECTIVE_THREADS } else { GUARDED_THREADS };
        Root { question, roles: roles(question), accesses: accesses(question), threads }
    }

    /// The samples, most of them with small constants in addresses: the optimizer makes no offset that has more than 32
    /// bits.
    fn nearer(&self, samples: &[Inputs]) -> Vec<Inputs> {
        let terms = &self.question.terms;
        let parts: Vec<Term> = self.accesses.iter().flat_map(|access| [access.base, access.offset]).collect();
        let read = terms.reachable(&parts);
        let is_read = |term: &Term| read.contains(term);
        let fixed = self.question.captures.iter().enumerate();
        let fixed = fixed.filter(|(capture, term)| is_fixed(self.question, *capture) && is_read(term));
        let constants: Vec<(usize, u128)> =
            fixed.filter_map(|(_, term)| Some((variable(terms, *term)?, ones(terms.width(*term))))).collect();
        let premise = Program::new(terms, &[self.question.query.premise]);
        let near = |(number, inputs): (usize, &Inputs)| {
            let mut near = inputs.clone();
            constants.iter().for_each(|(at, mask)| near[*at] = near[*at] as u8 as i8 as u128 & mask);
            let keeps = number % 4 == 3 || premise.eval(&near)[0] != 1;
            if keeps { inputs.clone() } else { near }
        };
        samples.iter().enumerate().map(near).collect()
    }

    /// Each thread has inputs of some sample. In every other case memory holds an operand: what compares finds that it
    /// is equal.
    fn mixed_case(&self, samples: &[Inputs], number: usize) -> Case {
        let guard = [Guarding::None, Guarding::Odd, Guarding::Even][number % 3];
        let convergent = self.question.variant.instance.pattern().opcode.is(Flags::CONVERGENT);
        let mut case = Case { lanes: Vec::new(), guard, memory: Vec::new() };
        for thread in 0..self.threads {
            let inputs = match number % 8 {
                1 | 5 if convergent => nearly_equal(self.question, &samples[number], number as u32 / 4, thread),
                3 if convergent => samples[number].clone(),
                _ => mixed(self.question, samples, number, thread as usize),
            };
            let held = |access: &Access, inputs: &Inputs| {
                number.is_multiple_of(2).then(|| operands_behind(self.question, access, inputs).first().copied())?
            };
            self.push(&mut case, (number, thread, self.threads), inputs, held);
        }
        case
    }

    fn crossed_case(&self, crossed: &Crossed<'_, '_>, number: usize, turn: usize) -> Case {
        let mut case = Case { lanes: Vec::new(), guard: Guarding::None, memory: Vec::new() };
        for thread in 0..CROSSED_THREADS {
            let (inputs, content) = crossed.inputs(turn, thread);
            let held = |access: &Access, inputs: &Inputs| crossed.content(access, content, inputs);
            self.push(&mut case, (number, thread, CROSSED_THREADS), inputs, held);
        }
        case
    }

    /// One more thread, whose addresses point into its scratch region.
    fn push(
        &self,
        case: &mut Case,
        (number, thread, threads): (usize, u32, u32),
        mut inputs: Inputs,
        held: impl Fn(&Access, &Inputs) -> Option<u128>,
    ) {
        for (variable, role) in &self.roles {
            inputs[*variable] = match role {
                Role::Members => members(thread, threads, case.guard).into(),
                Role::Barrier => number as u128 % 16,
                Role::Count => 0,
            } & ones(self.question.terms.variables()[*variable].width);
        }
        let place = |access| place(self.question, access, number as u64, &mut inputs);
        let places: Vec<u64> = self.accesses.iter().map(place).collect();
        let there = self.accesses.iter().zip(places);
        let bytes = |access: &Access, value: u128| value.to_le_bytes()[..access.bytes.min(16) as usize].to_vec();
        let memory = there.filter_map(|(access, at)| Some((at, bytes(access, held(access, &inputs)?))));
        case.memory.push(memory.collect());
        case.lanes.push(inputs);
    }
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

/// Makes an address point into its scratch region: 16 bytes further with every case, aligned. A wrong
/// rule may access what lies around it.
fn place(question: &Question<'_>, access: &Access, number: u64, inputs: &mut Inputs) -> u64 {
    let width = question.terms.variables()[access.pointer.variable].width;
    let steps = (16 / access.bytes.max(1)).max(1);
    let at = 16 * (number % TOGETHER as u64) + access.bytes * (number / 3 % steps);
    inputs[access.pointer.variable] = 0;
    let values = Program::new(&question.terms, &[access.base, access.offset]).eval(inputs);
    let (base, offset) = (values[0] & u128::from(u64::MAX), values[1]);
    let window = u128::from(generic_window(access.pointer.space).unwrap_or(0));
    let base = if base >= window { base - window } else { base };
    inputs[access.pointer.variable] = u128::from(at).wrapping_sub(base).wrapping_sub(offset) & ones(width);
    at
}

/// The operands behind an address.
pub(super) fn operands_behind(question: &Question<'_>, access: &Access, inputs: &Inputs) -> Vec<u128> {
    let operands = question.effect.as_deref().unwrap_or_default();
    let offset = operands.iter().position(|operand| *operand == access.offset);
    let behind = offset.map_or(&[][..], |offset| &operands[offset + 1..]);
    Program::new(&question.terms, behind).eval(inputs)
}
