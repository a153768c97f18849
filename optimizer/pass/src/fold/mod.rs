//! Constant folding: the result of an operation on constant operands.
//!
//! The optimizer's own evaluator, after PTX ISA 9.0. Nothing that judges the optimizer may use it. It answers only
//! where the result is exact and certain: never for a zero divisor, the overflowing signed quotient, NaN inputs or
//! results of arithmetic, subnormal numbers under `.ftz`, saturating floats, or approximate functions.
//!
//! Operands are raw bits; only the bits of the operand's type are read. Results are zero-extended from the result's
//! type, except that conversions to signed types narrower than 32 bits are sign-extended to 32.

mod bits;
mod convert;
mod float;
mod integer;

use oriole_ir::ops::field::{BoolOp, Compare, Ftz, Relu, Rounding, Saturate, ShiftMode, SrcType, Type};
use oriole_ir::ops::{FieldValue, FieldValues, Opcode};

/// The results of an operation on constants, in the order of its destinations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folded {
    /// Raw bits.
    pub results: Vec<u64>,
}

/// What an operation yields; `None` where that is not certain, or not constant.
pub fn fold(opcode: Opcode, fields: &FieldValues, srcs: &[u64]) -> Option<Folded> {
    let op = Op { opcode, fields, srcs };
    let float = op.ty().is_float();
    let results = match opcode {
        Opcode::SetP | Opcode::SetPBool | Opcode::Set | Opcode::SetBool => op.compare()?,
        Opcode::SelP | Opcode::Slct => vec![op.select()?],
        Opcode::Cvt => vec![convert::fold(&op)?],
        Opcode::Pack => vec![bits::pack(&op)?],
        _ if float => vec![float::fold(&op)?],
        _ => integer::fold(&op).or_else(|| bits::fold(&op))?,
    };
    Some(Folded { results })
}

/// One operation under evaluation.
struct Op<'a> {
    opcode: Opcode,
    fields: &'a FieldValues,
    srcs: &'a [u64],
}

impl Op<'_> {
    fn field<F: FieldValue>(&self) -> Option<F> {
        let slot = self.opcode.row().slot(F::FIELD)?;
        F::ALL.get(self.fields.0[slot] as usize).copied()
    }

    /// The `Type` field; 32 bits for opcodes without one.
    fn ty(&self) -> Type {
        self.field().unwrap_or(Type::B32)
    }

    fn saturates(&self) -> bool {
        self.field::<Saturate>() == Some(Saturate::Sat)
    }

    fn flushes(&self) -> bool {
        self.field::<Ftz>() == Some(Ftz::Ftz)
    }

    fn relu(&self) -> bool {
        self.field::<Relu>() == Some(Relu::Relu)
    }

    fn wraps(&self) -> bool {
        self.field::<ShiftMode>() == Some(ShiftMode::Wrap)
    }

    /// Whether results are rounded to nearest even.
    fn to_nearest(&self) -> bool {
        matches!(self.field::<Rounding>(), None | Some(Rounding::Default | Rounding::Rn))
    }

    fn src(&self, index: usize) -> Option<u64> {
        self.srcs.get(index).copied()
    }

    /// A source as a number of a type.
    fn number(&self, index: usize, ty: Type) -> Option<i128> {
        self.src(index).map(|bits| number(bits, ty))
    }

    /// A source as 32 raw bits.
    fn word(&self, index: usize) -> Option<u32> {
        self.src(index).map(|bits| bits as u32)
    }

    fn predicate(&self, index: usize) -> Option<bool> {
        self.src(index).map(|bits| bits & 1 == 1)
    }

    /// `setp` and `set`, with and without a combining predicate.
    fn compare(&self) -> Option<Vec<u64>> {
        let into_register = matches!(self.opcode, Opcode::Set | Opcode::SetBool);
        let ty = if into_register { Type::from(self.field::<SrcType>()?) } else { self.ty() };
        let holds = self.holds(ty)?;
        let combine = |value: bool| match self.field::<BoolOp>() {
            None => Some(value),
            Some(op) => self.predicate(2).map(|p| apply(op, value, p)),
        };
        match self.opcode {
            Opcode::SetPBool => Some(vec![combine(holds)?.into(), combine(!holds)?.into()]),
            Opcode::SetP => Some(vec![holds.into()]),
            _ => {
                let yes = match self.ty() {
                    Type::U32 | Type::S32 => 0xffff_ffff,
                    Type::F32 => u64::from(1f32.to_bits()),
                    _ => return None,
                };
                Some(vec![if combine(holds)? { yes } else { 0 }])
            }
        }
    }

    /// Whether the comparison of the first two sources holds.
    fn holds(&self, ty: Type) -> Option<bool> {
        let compare = self.field::<Compare>()?;
        match ty {
            Type::F32 | Type::F64 => {
                let (a, b) = (float::real(self.src(0)?, ty), float::real(self.src(1)?, ty));
                let subnormal = |bits| self.flushes() && float::is_subnormal(bits, ty);
                if subnormal(self.src(0)?) || subnormal(self.src(1)?) {
                    return None;
                }
                Some(compare_with(compare, a.partial_cmp(&b)))
            }
            ty if ty.is_float() => None,
            ty => {
                let unsigned = matches!(compare, Compare::Lo | Compare::Ls | Compare::Hi | Compare::Hs);
                let value =
                    |i| self.src(i).map(|bits| if unsigned { i128::from(mask(bits, ty)) } else { number(bits, ty) });
                Some(compare_with(compare, value(0)?.partial_cmp(&value(1)?)))
            }
        }
    }

    /// `selp` and `slct`.
    fn select(&self) -> Option<u64> {
        let first = match self.opcode {
            Opcode::SelP => self.predicate(2)?,
            _ if self.field::<SrcType>() == Some(SrcType::F32) => {
                let value = f32::from_bits(self.word(2)?);
                let certain = !(value.is_nan() || self.flushes() && value.is_subnormal());
                certain.then_some(value >= 0.0)?
            }
            _ => self.number(2, Type::S32)? >= 0,
        };
        self.src(if first { 0 } else { 1 }).map(|bits| mask(bits, self.ty()))
    }
}

/// The low bits that a type has.
fn mask(bits: u64, ty: Type) -> u64 {
    match ty.bits() {
        n @ 0..64 => bits & ((1 << n) - 1),
        _ => bits,
    }
}

/// Raw bits as the number that they mean in a type.
fn number(bits: u64, ty: Type) -> i128 {
    let bits = mask(bits, ty);
    if !ty.is_signed() {
        return i128::from(bits);
    }
    let unused = 64 - ty.bits();
    i128::from((bits << unused) as i64 >> unused)
}

fn apply(op: BoolOp, a: bool, b: bool) -> bool {
    match op {
        BoolOp::And => a && b,
        BoolOp::Or => a || b,
        BoolOp::Xor => a != b,
    }
}

/// Whether a comparison holds for an ordering; unordered where an operand is NaN.
fn compare_with(compare: Compare, ordering: Option<std::cmp::Ordering>) -> bool {
    use Compare::*;
    let Some(ordering) = ordering else {
        return matches!(compare, Equ | Neu | Ltu | Leu | Gtu | Geu | Nan);
    };
    match compare {
        Eq | Equ => ordering.is_eq(),
        Ne | Neu => ordering.is_ne(),
        Lt | Lo | Ltu => ordering.is_lt(),
        Le | Ls | Leu => ordering.is_le(),
        Gt | Hi | Gtu => ordering.is_gt(),
        Ge | Hs | Geu => ordering.is_ge(),
        Num => true,
        Nan => false,
    }
}

#[cfg(test)]
mod tests;
