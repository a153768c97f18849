//! Instructions, apart from their operands.

use super::operand::Guard;
use crate::ops::{Field, FieldValue, FieldValues, Flags, Opcode};

/// What an instruction is apart from its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InstHead {
    /// The opcode.
    pub opcode: Opcode,
    /// The fields, by their position in the opcode's row.
    pub fields: FieldValues,
    /// The condition.
    pub guard: Option<Guard>,
    /// The source line that it comes from; 0 where unknown.
    pub line: u32,
}

/// An instruction without its operands, which are in the function's pool.
///
/// A phi has two sources for each predecessor, and a switch one for each target, so sources are counted in 32 bits.
/// Destinations are counted in eight: the widest operation of PTX, a load of 128 registers from tensor memory, has half
/// as many.
#[derive(Clone, Copy, Debug)]
pub struct InstData {
    /// The opcode.
    pub opcode: Opcode,
    /// The fields, by their position in the opcode's row.
    pub fields: FieldValues,
    /// The condition.
    pub guard: Option<Guard>,
    /// The source line that it comes from; 0 where unknown.
    pub line: u32,
    pub(super) start: u32,
    pub(super) srcs: u32,
    pub(super) dsts: u8,
    pub(super) elses: u8,
}

const _: () = assert!(size_of::<InstData>() == 32);

impl InstData {
    /// The most destinations, and the most `else` values.
    pub const MAX_DSTS: usize = u8::MAX as usize;

    /// An instruction whose operands lie in the pool from `start` on: so many destinations, sources, `else` values.
    ///
    /// # Panics
    /// If there are more than [`InstData::MAX_DSTS`] destinations or `else` values, or more places in the pool than 32
    /// bits can number.
    pub(super) fn new(head: InstHead, start: usize, [dsts, srcs, elses]: [usize; 3]) -> InstData {
        let InstHead { opcode, fields, guard, line } = head;
        let few = |count: usize| u8::try_from(count).expect("an instruction has at most 255 results");
        let number = |count: usize| u32::try_from(count).expect("a function has fewer than 2^32 operands");
        let (start, srcs, dsts, elses) = (number(start), number(srcs), few(dsts), few(elses));
        InstData { opcode, fields, guard, line, start, srcs, dsts, elses }
    }

    /// The number of destinations.
    #[inline]
    pub(super) fn dsts(&self) -> u32 {
        u32::from(self.dsts)
    }

    /// The number of `else` values.
    #[inline]
    pub(super) fn elses(&self) -> u32 {
        u32::from(self.elses)
    }

    /// The instruction without where its operands are.
    pub fn head(&self) -> InstHead {
        InstHead { opcode: self.opcode, fields: self.fields, guard: self.guard, line: self.line }
    }

    /// The value of a field, if the opcode has it.
    pub fn field<F: FieldValue>(&self) -> Option<F> {
        self.field_index(F::FIELD).map(|index| F::ALL[index as usize])
    }

    /// The index of a field's value, if the opcode has the field.
    #[inline]
    pub fn field_index(&self, field: Field) -> Option<u8> {
        self.opcode.row().slot(field).map(|slot| self.fields.0[slot])
    }

    /// `query(inst, field)` of `spec/peephole.txt`: the number of the field's value.
    pub fn query(&self, field: Field) -> Option<u16> {
        self.field_index(field).map(|index| field.code(index))
    }

    /// Whether the opcode has all of these properties.
    #[inline]
    pub fn is(&self, flags: Flags) -> bool {
        self.opcode.is(flags)
    }
}
