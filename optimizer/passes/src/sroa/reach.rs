//! The bytes of a variable that an access through a register may touch.
//!
//! The address is followed to a known place of the variable, through sums of which [`Ranges`] bound what is added. What
//! is not followed, or leads out of the variable, may touch all of it.

use std::sync::Arc;

use oriole_ir::ops::Opcode;
use oriole_ir::{Function, Inst, Operand};
use oriole_pass::analysis::{Addresses, Definitions, Ranges};
use oriole_pass::pass::PhaseContext;

/// How many definitions an address is followed through.
const DEPTH: usize = 16;

/// Bytes between two numbers, from the beginning of a variable.
type Bounds = (i128, i128);

/// Finds the bytes that accesses may touch.
pub(crate) struct Reach<'a> {
    addresses: &'a Addresses,
    definitions: Arc<Definitions>,
    ranges: Arc<Ranges>,
}

impl<'a> Reach<'a> {
    pub(crate) fn new(func: &Function, addresses: &'a Addresses, cx: &mut PhaseContext<'_>) -> Reach<'a> {
        Reach { addresses, definitions: cx.analyses.get::<Definitions>(func), ranges: cx.analyses.get::<Ranges>(func) }
    }

    /// From the first byte to behind the last one that an access of so many bytes may touch.
    pub(crate) fn of(&self, func: &Function, inst: Inst, bytes: u64, size: u64) -> (u64, u64) {
        let offset = func.imm_bits(func.srcs(inst)[1]).unwrap_or(0) as i64;
        let bounds = self
            .bounds(func, func.srcs(inst)[0], DEPTH)
            .map(|(low, high)| (low + i128::from(offset), high + i128::from(offset) + i128::from(bytes)));
        let is_within = |(low, end): &Bounds| *low >= 0 && *end <= i128::from(size);
        bounds.filter(is_within).map_or((0, size), |(low, end)| (low as u64, end as u64))
    }

    fn bounds(&self, func: &Function, at: Operand, depth: usize) -> Option<Bounds> {
        if let Some(offset) = self.addresses.pointer(func, at)?.offset {
            return Some((i128::from(offset as i64), i128::from(offset as i64)));
        }
        let inst = self.definitions.always(func, at).filter(|_| depth > 0)?;
        let add = |base: &Operand, by: Bounds| {
            let (low, high) = self.bounds(func, *base, depth - 1)?;
            Some((low + by.0, high + by.1))
        };
        match (func.inst(inst).opcode, func.srcs(inst)) {
            (Opcode::Mov | Opcode::Cvta, [from]) => self.bounds(func, *from, depth - 1),
            (Opcode::IAdd, [a, b]) if self.addresses.pointer(func, *a).is_some() => add(a, self.number(func, *b)?),
            (Opcode::IAdd, [a, b]) => add(b, self.number(func, *a)?),
            (Opcode::ISub, [from, by]) => {
                let (low, high) = self.number(func, *by)?;
                add(from, (-high, -low))
            }
            (Opcode::IMadWide, [a, b, base]) => add(base, self.product(func, inst, *a, *b)?),
            (Opcode::IMadLo, [a, b, base]) if func.inst(inst).ty().bits() == 64 => {
                add(base, self.product(func, inst, *a, *b)?)
            }
            _ => None,
        }
    }

    /// A 64-bit number that is added to an address.
    fn number(&self, func: &Function, operand: Operand) -> Option<Bounds> {
        let range = self.ranges.of(func, operand)?;
        let (low, high) = range.signed();
        (!range.is_full()).then_some((low.into(), high.into()))
    }

    fn product(&self, func: &Function, inst: Inst, a: Operand, b: Operand) -> Option<Bounds> {
        let is_signed = func.inst(inst).ty().is_signed();
        let bounds = |operand: Operand| {
            let range = self.ranges.of(func, operand)?;
            let ((low, high), (least, most)) = (range.unsigned(), range.signed());
            Some(if is_signed { (i128::from(least), i128::from(most)) } else { (i128::from(low), i128::from(high)) })
        };
        let (a, b) = (bounds(a)?, bounds(b)?);
        let corners = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
        Some((*corners.iter().min()?, *corners.iter().max()?))
    }
}
