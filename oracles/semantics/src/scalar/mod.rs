//! The meaning, for one lane, of every operation that reads and writes registers only.
//!
//! An operation is resolved once, when an instruction is decoded: [`ScalarOp::resolve`] picks a function that is
//! compiled for the operand type and decodes the modifiers; [`ScalarOp::eval`] then runs on the raw bits of one
//! lane's operands. The semantics are those of PTX ISA 9.0, chapter "Instruction Set". Where that leaves a result
//! open, one is chosen and [`Lane::defined`] says so, or, for bits that the ISA calls unspecified but that hardware
//! always gives, the choice is written down with the function.
//!
//! Words: an operand narrower than 32 bits is read from the low bits of its word; a result is zero-extended, except
//! that conversions to signed sub-word types sign-extend to 32 bits. Predicates are 0 or 1.
//!
//! NaN: results of arithmetic have one bit pattern per type, 0x7fffffff for f32 and 0x7fff for f16 and bf16, as the
//! ISA says, and 0x7ff8000000000000 for f64, for which it says nothing. `abs`, `neg`, `copysign` and the selections
//! only move bits and keep payloads.
//!
//! Nothing here comes from the optimizer but the opcode table: a bug shared by both sides is a bug nobody sees.

mod approx;
mod atomic;
mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod round;
mod video;

pub use approx::{cos_of_turns, sin_of_turns};
pub use atomic::{FloatExtreme, atomic, atomic_with_subnormals, combining, reduce, sum_in_single, undef_transfer};

use oriole_ir::ops::{
    Approx, BoolOp, Compare, FieldValue, FieldValues, Ftz, Half, NanMode, Oob, OpRow, Opcode, PlusOne, PrmtMode, Relu,
    Rounding, SatFinite, Saturate, Scale, SecondOp, SecondType, ShiftAmount, ShiftDirection, ShiftMode, SrcType,
    TestProperty, Type, XorSign,
};

/// What one lane computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    /// The first destination's bits.
    pub value: u64,
    /// The second destination's bits (a carry or a predicate), zero where there is none.
    pub second: u64,
    /// Whether the ISA specifies the result; false for a division by zero and the like.
    pub defined: bool,
}

impl Lane {
    /// A defined result.
    fn of(value: u64) -> Lane {
        Lane { value, second: 0, defined: true }
    }

    /// A defined pair of results.
    fn pair(value: u64, second: bool) -> Lane {
        Lane { value, second: u64::from(second), defined: true }
    }
}

/// A function for one operation and operand type.
type Eval = fn(&Modifiers, &[u64; 5]) -> Lane;

/// An operation with its modifiers, ready to run.
#[derive(Clone, Copy)]
pub struct ScalarOp {
    run: Eval,
    modifiers: Modifiers,
}

impl ScalarOp {
    /// The meaning of an operation; `None` for opcodes that are not register-only (memory, control, collectives)
    /// and for those whose meaning is the engine's (`phi`, `mov`, `s2r`, `pack`, `cvta`, `isspacep`).
    pub fn resolve(opcode: Opcode, fields: &FieldValues) -> Option<ScalarOp> {
        let modifiers = Modifiers::decode(opcode.row(), fields);
        let run = integer::resolve(opcode, &modifiers)
            .or_else(|| bits::resolve(opcode, &modifiers))
            .or_else(|| float::resolve(opcode, &modifiers))
            .or_else(|| compare::resolve(opcode, &modifiers))
            .or_else(|| convert::resolve(opcode, &modifiers))
            .or_else(|| approx::resolve(opcode, &modifiers))
            .or_else(|| video::resolve(opcode, &modifiers))?;
        Some(ScalarOp { run, modifiers })
    }

    /// Computes one lane. The operands are in the order of the opcode's row; the rest is not read.
    #[inline]
    pub fn eval(&self, srcs: &[u64; 5]) -> Lane {
        (self.run)(&self.modifiers, srcs)
    }
}

/// The fields of an instruction, decoded; a field that the opcode does not take has its first value.
#[derive(Clone, Copy)]
struct Modifiers {
    ty: Type,
    src: Type,
    second: Type,
    rounding: Rounding,
    approx: Approx,
    compare: Compare,
    bool_op: BoolOp,
    test: TestProperty,
    prmt: PrmtMode,
    second_op: SecondOp,
    scale: Scale,
    ftz: bool,
    sat: bool,
    sat_finite: bool,
    relu: bool,
    oob: bool,
    nan: bool,
    xor_sign: bool,
    wrap: bool,
    right: bool,
    high: bool,
    shift_amount: bool,
    plus_one: bool,
}

impl Modifiers {
    fn decode(row: &OpRow, values: &FieldValues) -> Modifiers {
        Modifiers {
            ty: field(row, values),
            src: Type::from(field::<SrcType>(row, values)),
            second: Type::from(field::<SecondType>(row, values)),
            rounding: field(row, values),
            approx: field(row, values),
            compare: field(row, values),
            bool_op: field(row, values),
            test: field(row, values),
            prmt: field(row, values),
            second_op: field(row, values),
            scale: field(row, values),
            ftz: field::<Ftz>(row, values) == Ftz::Ftz,
            sat: field::<Saturate>(row, values) == Saturate::Sat,
            sat_finite: field::<SatFinite>(row, values) == SatFinite::SatFinite,
            relu: field::<Relu>(row, values) == Relu::Relu,
            oob: field::<Oob>(row, values) == Oob::Oob,
            nan: field::<NanMode>(row, values) == NanMode::Nan,
            xor_sign: field::<XorSign>(row, values) == XorSign::XorSignAbs,
            wrap: field::<ShiftMode>(row, values) == ShiftMode::Wrap,
            right: field::<ShiftDirection>(row, values) == ShiftDirection::Right,
            high: field::<Half>(row, values) == Half::Hi,
            shift_amount: field::<ShiftAmount>(row, values) == ShiftAmount::ShiftAmt,
            plus_one: field::<PlusOne>(row, values) == PlusOne::Po,
        }
    }
}

/// The value of one field, or its first value where the opcode does not take it.
fn field<F: FieldValue>(row: &OpRow, values: &FieldValues) -> F {
    F::ALL[row.slot(F::FIELD).map_or(0, |slot| usize::from(values.0[slot]))]
}

/// Applies a function of 16-bit lanes to both halves of packed operands.
#[inline]
fn both_halves(mods: &Modifiers, srcs: &[u64; 5], half: Eval) -> u64 {
    let high = half(mods, &srcs.map(|s| s >> 16 & 0xffff)).value & 0xffff;
    let low = half(mods, &srcs.map(|s| s & 0xffff)).value & 0xffff;
    high << 16 | low
}

#[cfg(test)]
mod soft;
#[cfg(test)]
pub(crate) mod tests;
