//! The range of what an operation yields, from those of its operands.
//!
//! An operation is computed on intervals of numbers, without overflow; what is left modulo 2^n is an interval again
//! where no turn lies between its ends. Where the sign of the type makes no difference, both readings are computed, and
//! each bounds the result.

use super::super::launch;
use super::range::{Interval, Range, bounds};
use oriole_ir::ops::{Flags, Opcode, Order, Relu, Saturate, ShiftAmount, SrcType, Type};
use oriole_ir::{Function, Inst, InstData, Operand};

/// The range of the result with an index, which has so many bits, as the instruction computes it where it executes.
/// `of` says what an operand may be, where a number has so many bits; `stored` is the operand that a load reads.
pub(super) fn result(
    func: &Function,
    inst: Inst,
    index: usize,
    bits: u32,
    of: &dyn Fn(Operand, u32) -> Range,
    stored: Option<Operand>,
) -> Range {
    let operation = Operation { data: func.inst(inst), srcs: func.srcs(inst), of };
    operation.result(func, index, bits, stored).filter(|range| range.bits() == bits).unwrap_or(Range::full(bits))
}

struct Operation<'a> {
    data: &'a InstData,
    srcs: &'a [Operand],
    of: &'a dyn Fn(Operand, u32) -> Range,
}

impl Operation<'_> {
    fn result(&self, func: &Function, index: usize, bits: u32, stored: Option<Operand>) -> Option<Range> {
        let ty = self.data.ty();
        match self.data.opcode {
            Opcode::Ld | Opcode::Ldu => self.loaded(ty, bits, stored),
            _ if index > 0 => None,
            Opcode::S2r => {
                let Operand::Special(reg) = *self.srcs.first()? else { return None };
                launch::bounds(func, reg).map(|(low, high)| Range::unsigned_between(low, high, bits))
            }
            Opcode::Mov if ty.bits() == bits => Some((self.of)(*self.srcs.first()?, bits)),
            Opcode::Cvt => self.converted(ty, bits),
            _ if ty.is_float() || matches!(ty, Type::U16x2 | Type::S16x2 | Type::B128) => None,
            _ => self.computed(ty, bits),
        }
    }

    /// Loads of narrow integers extend them to the register.
    fn loaded(&self, ty: Type, bits: u32, stored: Option<Operand>) -> Option<Range> {
        if ty.is_float() || ty.bits() > bits || ty.bits() < bits && self.data.field::<Order>().is_none() {
            return None;
        }
        let value = stored.map_or(Range::full(ty.bits()), |operand| self.cut(operand, ty));
        Some(if ty.is_signed() { value.sign_extended(bits) } else { value.zero_extended(bits) })
    }

    /// The low bits of an operand that a type has.
    fn cut(&self, operand: Operand, ty: Type) -> Range {
        let range = (self.of)(operand, ty.bits());
        let readings = [false, true].map(|signed| range.numbers(integer(ty.bits(), signed)));
        Range::modulo(readings[0], ty.bits()).meet(Range::modulo(readings[1], ty.bits()))
    }

    fn converted(&self, to: Type, bits: u32) -> Option<Range> {
        let from = Type::from(self.data.field::<SrcType>()?);
        if to.is_float() || to.bits() > bits {
            return None;
        }
        let value = match from.is_float() {
            // Clamped to the type.
            true => Range::full(to.bits()),
            false => Range::modulo(self.saturated(self.number(0, from)?, to), to.bits()),
        };
        Some(if to.is_signed() { value.sign_extended(bits) } else { value.zero_extended(bits) })
    }

    /// An operation that zero-extends its result.
    fn computed(&self, ty: Type, bits: u32) -> Option<Range> {
        let row = self.data.opcode.row();
        let width = self.data.shape_type(*row.dsts.first()?)?.bits();
        let signless = row.flags.has(Flags::SIGNLESS) && self.data.field::<Saturate>() != Some(Saturate::Sat);
        // A shift to the left is a product.
        let both = signless || self.data.opcode == Opcode::Shl;
        let readings = if both { [false, true].map(|signed| integer(ty.bits(), signed)) } else { [ty; 2] };
        let ranges = readings[usize::from(!both)..].iter().filter_map(|reading| self.interval(*reading));
        let ranges = ranges.map(|interval| Range::modulo(self.saturated(interval, ty), width));
        ranges.reduce(Range::meet).map(|range| range.zero_extended(bits))
    }

    /// The numbers that a source may be in a type.
    fn number(&self, index: usize, ty: Type) -> Option<Interval> {
        (ty.bits() <= 64).then_some(())?;
        self.srcs.get(index).map(|operand| (self.of)(*operand, ty.bits()).numbers(ty))
    }

    fn saturated(&self, interval: Interval, ty: Type) -> Interval {
        let (low, high) = bounds(ty.bits(), ty.is_signed());
        match self.data.field::<Saturate>() {
            Some(Saturate::Sat) => (interval.0.clamp(low, high), interval.1.clamp(low, high)),
            _ => interval,
        }
    }

    fn relu(&self, interval: Interval) -> Interval {
        let clamps = self.data.field::<Relu>() == Some(Relu::Relu);
        if clamps { (interval.0.max(0), interval.1.max(0)) } else { interval }
    }

    /// The numbers that the operation yields in a reading of its type, before they are cut to its width.
    fn interval(&self, ty: Type) -> Option<Interval> {
        let n = ty.bits();
        let src = |index| self.number(index, ty);
        Some(match self.data.opcode {
            Opcode::IAdd => add(src(0)?, src(1)?),
            Opcode::ISub => add(src(0)?, negated(src(1)?)),
            Opcode::IAddCarry => add(add(src(0)?, src(1)?), self.number(2, Type::Pred)?),
            Opcode::ISubCarry => add(add(src(0)?, negated(src(1)?)), add(self.number(2, Type::Pred)?, (-1, -1))),
            Opcode::INeg => negated(src(0)?),
            Opcode::IAbs => magnitude(src(0)?),
            Opcode::ISad => add(magnitude(add(src(0)?, negated(src(1)?))), src(2)?),
            Opcode::IMulLo | Opcode::IMulWide => product(src(0)?, src(1)?)?,
            Opcode::IMadLo => add_checked(product(src(0)?, src(1)?)?, src(2)?)?,
            Opcode::IMadWide => add(product(src(0)?, src(1)?)?, self.number(2, integer(2 * n, ty.is_signed()))?),
            Opcode::IMulHi => high(product(src(0)?, src(1)?)?, n),
            Opcode::IMadHi => add(high(product(src(0)?, src(1)?)?, n), src(2)?),
            Opcode::IMin => self.relu(each(src(0)?, src(1)?, i128::min)),
            Opcode::IMax => self.relu(each(src(0)?, src(1)?, i128::max)),
            Opcode::IDiv => quotient(src(0)?, src(1)?)?,
            Opcode::IRem => remainder(src(0)?, src(1)?)?,
            Opcode::SelP | Opcode::Slct => hull(src(0)?, src(1)?),
            Opcode::And => (0, src(0)?.1.min(src(1)?.1)),
            Opcode::Or => (src(0)?.0.max(src(1)?.0), bounds(n, false).1),
            Opcode::Shl => shifted_left(src(0)?, self.number(1, Type::U32)?, n)?,
            Opcode::Shr => shifted_right(src(0)?, self.number(1, Type::U32)?, n),
            Opcode::Popc => (i128::from(src(0)?.0 > 0), n.into()),
            Opcode::Clz => (i128::from(n) - length(src(0)?.1), i128::from(n) - length(src(0)?.0)),
            Opcode::Bfind if !ty.is_signed() && self.data.field::<ShiftAmount>() != Some(ShiftAmount::ShiftAmt) => {
                let (low, high) = src(0).filter(|value| value.0 > 0)?;
                (length(low) - 1, length(high) - 1)
            }
            Opcode::Bfe => field(self.number(2, Type::U32)?.1, ty)?,
            Opcode::Szext => field(self.number(1, Type::U32)?.1, ty)?,
            _ => return None,
        })
    }
}

/// The integer type of so many bits; a predicate of one, and 128 bits where there is none.
fn integer(bits: u32, signed: bool) -> Type {
    Type::integer(bits, signed).unwrap_or(if bits == 1 { Type::Pred } else { Type::B128 })
}

fn add(a: Interval, b: Interval) -> Interval {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

fn add_checked(a: Interval, b: Interval) -> Option<Interval> {
    Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?))
}

fn negated(a: Interval) -> Interval {
    (-a.1, -a.0)
}

fn magnitude(a: Interval) -> Interval {
    match a {
        (0.., _) => a,
        (_, ..=0) => negated(a),
        (low, high) => (0, high.max(-low)),
    }
}

fn hull(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}

/// A function that grows with both its operands.
fn each(a: Interval, b: Interval, of: fn(i128, i128) -> i128) -> Interval {
    (of(a.0, b.0), of(a.1, b.1))
}

/// A function that has its extremes where both operands have theirs.
fn corners(a: Interval, b: Interval, of: fn(i128, i128) -> Option<i128>) -> Option<Interval> {
    let values = [of(a.0, b.0)?, of(a.0, b.1)?, of(a.1, b.0)?, of(a.1, b.1)?];
    Some(values.into_iter().fold((values[0], values[0]), |(low, high), value| (low.min(value), high.max(value))))
}

fn product(a: Interval, b: Interval) -> Option<Interval> {
    corners(a, b, i128::checked_mul)
}

/// The product without its low half.
fn high(product: Interval, bits: u32) -> Interval {
    (product.0 >> bits, product.1 >> bits)
}

/// Toward zero. Nothing is said of what is divided by zero.
fn quotient(a: Interval, b: Interval) -> Option<Interval> {
    match b {
        (0, 0) => None,
        (0.., most) => corners(a, (b.0.max(1), most), i128::checked_div),
        _ => {
            let most = a.0.abs().max(a.1.abs());
            Some((-most, most))
        }
    }
}

/// With the sign of the dividend, and smaller than the divisor.
fn remainder(a: Interval, b: Interval) -> Option<Interval> {
    let most = b.0.abs().max(b.1.abs()) - 1;
    if a.0 >= 0 && b.0 > a.1 {
        return Some(a);
    }
    (most >= 0).then(|| (a.0.clamp(-most, 0), a.1.clamp(0, most)))
}

/// Counts from the width on leave nothing.
fn shifted_left(a: Interval, count: Interval, bits: u32) -> Option<Interval> {
    (count.1 < i128::from(bits)).then_some(())?;
    product(a, (1 << count.0, 1 << count.1))
}

/// Counts from the width on leave the sign.
fn shifted_right(a: Interval, count: Interval, bits: u32) -> Interval {
    let [few, many] = [count.0, count.1].map(|count| count.min(bits.into()) as u32);
    let shifted = |value: i128, toward_zero: bool| value >> if toward_zero { many } else { few };
    (shifted(a.0, a.0 >= 0), shifted(a.1, a.1 < 0))
}

/// How many bits a number that is not negative has.
fn length(value: i128) -> i128 {
    i128::from(128 - value.leading_zeros())
}

/// A field of at most so many bits, extended.
fn field(length: i128, ty: Type) -> Option<Interval> {
    let length = u32::try_from(length).ok().filter(|length| *length < ty.bits())?;
    Some(match (length, ty.is_signed()) {
        (0, _) => (0, 0),
        (length, signed) => {
            // Shorter fields, which are not negative where they are empty.
            let (low, high) = bounds(length, signed);
            (low, high.max(0))
        }
    })
}
