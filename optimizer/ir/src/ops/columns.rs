//! The columns of the opcode table that are more than a number: what they can say, and what they say of an
//! instruction with its fields.

use std::fmt;

use super::field::{Field, Relu, Saturate, SrcType, Type};
use super::{FieldValues, Flags, OpRow};
use crate::sm::{Generation, Target, Variant};

/// What an operation costs, in halves of an issue slot of a streaming multiprocessor from Volta on: two for what one
/// 32-bit instruction does, more for what is expanded or runs on a narrow unit.
///
/// The numbers are coarse on purpose; they order the results of rewriting, they do not predict time. Copies and
/// constants cost nothing: copy propagation removes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// Nothing.
    Free,
    /// As much for every type.
    Flat(u32),
    /// So much for each 32-bit word of the type.
    PerWord(u32),
    /// The first for types up to 32 bits, the second for wider ones.
    ByWidth(u32, u32),
    /// The first between integer types, the second from or to a floating-point type.
    Conversion(u32, u32),
}

/// How long a result takes, as far as a scheduler treats opcodes alike.
///
/// The classes are those of the machine from Volta on: either the compiler counts cycles, or a scoreboard does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Latency {
    /// No instruction is left of it.
    Free,
    /// A fixed number of cycles: integers, logic, predicates, branches.
    Fixed,
    /// As [`Latency::Fixed`] up to 32 bits, as [`Latency::Variable`] for f64, which has a unit of its own.
    Float,
    /// Tens of cycles by a scoreboard: transcendental functions, conversions, bit counts, special registers, shuffles.
    Variable,
    /// Tens to hundreds of cycles by a scoreboard, through the memory pipe.
    Memory,
    /// As long as other threads or accesses that are under way take.
    Wait,
    /// A sequence of machine instructions, or a call. The machine level has none.
    Expanded,
}

/// How undefined bits of the operands reach the result; what is undefined in part keeps its other bits. A second result
/// is undefined where any bit of an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UndefTransfer {
    /// Never: there is no result, or it depends on no operand.
    Nothing,
    /// Each bit of the result is one bit of an operand, of memory or of another lane, and undefined where that is.
    Copying,
    /// A bit of the result is undefined where that bit of any operand is.
    Bitwise,
    /// A bit of the result is constant, one bit of an operand, or grows or falls with all its operands' bits (`and`).
    /// The operands of the set, a bit for each, say which: where they are undefined, the whole result is.
    Routing(u8),
    /// As [`UndefTransfer::Routing`] with no such operands between integer types, else [`UndefTransfer::Mixing`].
    Converting,
    /// A bit of the result depends on bits of operands at its place and below, as carries go upward; a result that is
    /// clamped mixes.
    Carrying,
    /// The whole result is undefined where any bit of an operand is.
    Mixing,
}

/// A value of a field that came with a later SM than the opcode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Later {
    /// The first SM that has it.
    pub sm: u16,
    /// The field.
    pub field: Field,
    /// The values, a bit each.
    pub values: u64,
    /// A second field that must have one of these values for the rest to apply.
    pub also: Option<(Field, u64)>,
}

/// The targets that have an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Availability {
    /// An SM and all later ones.
    From(u16),
    /// The same in code for one SM or its family: portable code has none of it.
    SpecificFrom(u16),
    /// Hopper in code for it alone.
    Hopper,
}

impl Availability {
    /// Whether a target has the operation.
    pub fn includes(self, target: Target) -> bool {
        match self {
            Availability::From(sm) => target.number() >= sm,
            Availability::SpecificFrom(sm) => target.number() >= sm && target.variant() != Variant::Portable,
            Availability::Hopper => target.generation() == Generation::Hopper && target.variant() == Variant::Specific,
        }
    }

    /// The name of the first such target.
    pub fn first_name(self) -> String {
        match self {
            Availability::From(sm) => format!("sm_{sm}"),
            Availability::SpecificFrom(sm) => format!("sm_{sm}a"),
            Availability::Hopper => "sm_90a".to_owned(),
        }
    }
}

impl fmt::Display for Availability {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Availability::From(sm) => write!(out, "sm_{sm} or later"),
            Availability::SpecificFrom(sm) => write!(out, "sm_{sm}a, or later with `a` or `f`"),
            Availability::Hopper => out.write_str("sm_90a"),
        }
    }
}

impl OpRow {
    /// What the operation costs with these fields.
    pub fn cost(&self, fields: &FieldValues) -> u32 {
        let ty = self.value::<Type>(fields).unwrap_or(Type::B32);
        match self.cost {
            Cost::Free => 0,
            Cost::Flat(cost) => cost,
            Cost::PerWord(cost) => cost * ty.bits().div_ceil(32),
            Cost::ByWidth(narrow, wide) => {
                if ty.bits() > 32 {
                    wide
                } else {
                    narrow
                }
            }
            Cost::Conversion(integer, float) => {
                if self.converts_integers(fields) {
                    integer
                } else {
                    float
                }
            }
        }
    }

    /// How undefined bits reach the result with these fields; never [`UndefTransfer::Converting`].
    pub fn undef_transfer(&self, fields: &FieldValues) -> UndefTransfer {
        let clamps = self.value(fields) == Some(Saturate::Sat) || self.value(fields) == Some(Relu::Relu);
        match self.undef {
            UndefTransfer::Converting if self.converts_integers(fields) && !clamps => UndefTransfer::Routing(0),
            UndefTransfer::Converting => UndefTransfer::Mixing,
            UndefTransfer::Carrying if clamps => UndefTransfer::Mixing,
            transfer => transfer,
        }
    }

    /// The first SM that has the operation with these fields.
    pub fn first_sm(&self, fields: &FieldValues) -> u16 {
        let has = |field, values: u64| self.slot(field).is_some_and(|slot| values >> fields.0[slot] & 1 == 1);
        let applies = |later: &&Later| {
            has(later.field, later.values) && later.also.is_none_or(|(field, values)| has(field, values))
        };
        self.later.iter().filter(applies).map(|later| later.sm).fold(self.since, u16::max)
    }

    /// The targets that have the operation with these fields.
    pub fn availability(&self, fields: &FieldValues) -> Availability {
        match self.first_sm(fields) {
            _ if self.flags.has(Flags::WARPGROUP) => Availability::Hopper,
            sm if self.flags.has(Flags::SPECIFIC) => Availability::SpecificFrom(sm),
            sm => Availability::From(sm),
        }
    }

    /// The targets that have the operation with these fields, where a given one is not among them.
    pub fn missing_on(&self, target: Target, fields: &FieldValues) -> Option<Availability> {
        // The verifier asks this of each instruction, and most modules are for an SM that has everything.
        let sm = target.number();
        let is_plain = !self.flags.has(Flags::WARPGROUP) && !self.flags.has(Flags::SPECIFIC);
        if is_plain && self.since <= sm && self.later.iter().all(|later| later.sm <= sm) {
            return None;
        }
        Some(self.availability(fields)).filter(|needed| !needed.includes(target))
    }

    fn converts_integers(&self, fields: &FieldValues) -> bool {
        let integer = |ty: Option<Type>| ty.is_some_and(|ty| !ty.is_float());
        integer(self.value(fields)) && integer(self.value::<SrcType>(fields).map(Type::from))
    }
}
