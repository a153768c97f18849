//! Rules of integer arithmetic, conversions, and the few float rules that are exact.

use super::{Rewrite, Rule, View, bits_type, constant, ones, typed, value, with_fields};
use crate::ir::Operand;
use crate::ops::{Ftz, Opcode, Relu, Rounding, Saturate, SrcType, Type, fold};

pub(super) static RULES: &[Rule] = &[
    Rule { name: "add-zero", opcodes: &[Opcode::IAdd, Opcode::ISub], apply: add_zero },
    Rule { name: "sub-same", opcodes: &[Opcode::ISub], apply: sub_same },
    Rule { name: "sub-constant", opcodes: &[Opcode::ISub], apply: sub_constant },
    Rule { name: "sub-from-zero", opcodes: &[Opcode::ISub], apply: sub_from_zero },
    Rule { name: "add-add-constants", opcodes: &[Opcode::IAdd], apply: add_add },
    Rule { name: "add-negated", opcodes: &[Opcode::IAdd], apply: add_negated },
    Rule { name: "sub-negated", opcodes: &[Opcode::ISub], apply: sub_negated },
    Rule { name: "mul-zero", opcodes: &[Opcode::IMulLo, Opcode::IMulHi, Opcode::IMulWide], apply: mul_zero },
    Rule { name: "mul-one", opcodes: &[Opcode::IMulLo], apply: mul_one },
    Rule { name: "mul-power-of-two", opcodes: &[Opcode::IMulLo], apply: mul_power },
    Rule { name: "mul-wide-one", opcodes: &[Opcode::IMulWide], apply: mul_wide_one },
    Rule { name: "mad-zero-addend", opcodes: &[Opcode::IMadLo, Opcode::IMadWide], apply: mad_zero_addend },
    Rule { name: "mad-constant-product", opcodes: &[Opcode::IMadLo, Opcode::IMadWide], apply: mad_constant },
    Rule { name: "mad-one", opcodes: &[Opcode::IMadLo], apply: mad_one },
    Rule { name: "div-one", opcodes: &[Opcode::IDiv], apply: div_one },
    Rule { name: "div-power-of-two", opcodes: &[Opcode::IDiv], apply: div_power },
    Rule { name: "rem-power-of-two", opcodes: &[Opcode::IRem], apply: rem_power },
    Rule { name: "neg-neg", opcodes: &[Opcode::INeg], apply: neg_neg },
    Rule { name: "abs-abs", opcodes: &[Opcode::IAbs, Opcode::FAbs], apply: abs_abs },
    Rule { name: "minmax-same", opcodes: &[Opcode::IMin, Opcode::IMax], apply: minmax_same },
    Rule { name: "minmax-bound", opcodes: &[Opcode::IMin, Opcode::IMax], apply: minmax_bound },
    Rule { name: "carry-nothing", opcodes: &[Opcode::IAddCarry, Opcode::ISubCarry], apply: carry_nothing },
    Rule { name: "cvt-same", opcodes: &[Opcode::Cvt], apply: cvt_same },
    Rule { name: "cvt-truncate", opcodes: &[Opcode::Cvt], apply: cvt_truncate },
    Rule { name: "fneg-fneg", opcodes: &[Opcode::FNeg], apply: fneg_fneg },
    Rule { name: "fadd-negated", opcodes: &[Opcode::FAdd], apply: fadd_negated },
];

/// Modulo 2^n on a whole register: sums in which only the width matters.
fn is_plain(v: &View<'_>) -> bool {
    let integer = matches!(v.ty(), Type::U32 | Type::S32 | Type::U64 | Type::S64);
    integer && !v.has(Saturate::Sat) && !v.has(Relu::Relu)
}

fn is_unsigned(v: &View<'_>) -> bool {
    matches!(v.ty(), Type::U32 | Type::U64)
}

/// The exponent of a power of two above one.
fn exponent(bits: u64) -> Option<u64> {
    (bits > 1 && bits.is_power_of_two()).then(|| u64::from(bits.trailing_zeros()))
}

fn add_zero(v: &View<'_>) -> Option<Rewrite> {
    if v.constant(1)? == 0 && v.is_full() { value(v.src(0)?) } else { None }
}

fn sub_same(v: &View<'_>) -> Option<Rewrite> {
    if v.src(0)? == v.src(1)? { constant(0) } else { None }
}

fn sub_constant(v: &View<'_>) -> Option<Rewrite> {
    let subtrahend = v.constant(1)?;
    if v.has(Saturate::Sat) || v.src(0)?.imm().is_some() {
        return None;
    }
    let negative = subtrahend.wrapping_neg() & ones(v.ty());
    typed(Opcode::IAdd, v.ty(), [v.src(0)?, Operand::Imm(negative)])
}

fn sub_from_zero(v: &View<'_>) -> Option<Rewrite> {
    let signed = match v.ty() {
        Type::U32 | Type::S32 => Type::S32,
        Type::U64 | Type::S64 => Type::S64,
        _ => return None,
    };
    if v.constant(0)? == 0 && is_plain(v) { typed(Opcode::INeg, signed, [v.src(1)?]) } else { None }
}

/// `(x + a) + b` is `x + (a + b)`; the inner sum may have other uses, the number of instructions stays.
fn add_add(v: &View<'_>) -> Option<Rewrite> {
    let (outer, inner) = (v.constant(1)?, v.defined_by(0, Opcode::IAdd)?);
    if !is_plain(v) || !is_plain(&inner) || inner.ty().bits() != v.ty().bits() {
        return None;
    }
    let sum = inner.constant(1)?.wrapping_add(outer) & ones(v.ty());
    let base = inner.src(0)?;
    if base.imm().is_some() { None } else { typed(Opcode::IAdd, v.ty(), [base, Operand::Imm(sum)]) }
}

/// The operand of a plain negation of the same width.
fn negated(v: &View<'_>, index: usize) -> Option<Operand> {
    let negation = v.defined_by(index, Opcode::INeg)?;
    (is_plain(v) && negation.ty().bits() == v.ty().bits()).then(|| negation.src(0)).flatten()
}

fn add_negated(v: &View<'_>) -> Option<Rewrite> {
    let (minuend, subtrahend) = match (negated(v, 1), negated(v, 0)) {
        (Some(operand), _) => (v.src(0)?, operand),
        (None, Some(operand)) => (v.src(1)?, operand),
        (None, None) => return None,
    };
    // A constant minuend would be put last again as an addend.
    if minuend.imm().is_some() { None } else { typed(Opcode::ISub, v.ty(), [minuend, subtrahend]) }
}

fn sub_negated(v: &View<'_>) -> Option<Rewrite> {
    let addend = negated(v, 1)?;
    if v.src(0)?.imm().is_some() { None } else { typed(Opcode::IAdd, v.ty(), [v.src(0)?, addend]) }
}

fn mul_zero(v: &View<'_>) -> Option<Rewrite> {
    if v.constant(1)? == 0 { constant(0) } else { None }
}

fn mul_one(v: &View<'_>) -> Option<Rewrite> {
    if v.constant(1)? == 1 && v.is_full() { value(v.src(0)?) } else { None }
}

fn mul_power(v: &View<'_>) -> Option<Rewrite> {
    let count = exponent(v.constant(1)?)?;
    typed(Opcode::Shl, bits_type(v.ty()), [v.src(0)?, Operand::Imm(count)])
}

fn mul_wide_one(v: &View<'_>) -> Option<Rewrite> {
    let (to, from) = match v.ty() {
        Type::U32 => (Type::U64, SrcType::U32),
        Type::S32 => (Type::S64, SrcType::S32),
        _ => return None,
    };
    if v.constant(1)? != 1 {
        return None;
    }
    let fields = super::set_field(Opcode::Cvt, super::default_fields(Opcode::Cvt, to), from);
    with_fields(Opcode::Cvt, fields, [v.src(0)?])
}

fn mad_zero_addend(v: &View<'_>) -> Option<Rewrite> {
    if v.src(2)?.imm()? & wide_ones(v) != 0 {
        return None;
    }
    let product = if v.data.opcode == Opcode::IMadLo { Opcode::IMulLo } else { Opcode::IMulWide };
    typed(product, v.ty(), [v.src(0)?, v.src(1)?])
}

/// All bits of the addend.
fn wide_ones(v: &View<'_>) -> u64 {
    match (v.data.opcode, v.ty().bits()) {
        (Opcode::IMadWide, 32) => u64::MAX,
        (Opcode::IMadWide, _) => 0xffff_ffff,
        _ => ones(v.ty()),
    }
}

/// A known product, by a factor of zero or two constants, leaves an addition.
fn mad_constant(v: &View<'_>) -> Option<Rewrite> {
    let (first, second, addend) = (v.constant(0), v.constant(1)?, v.src(2)?);
    let factors = match first {
        Some(first) => [first, second],
        None if second == 0 => [0, 0],
        None => return None,
    };
    let wide = v.data.opcode == Opcode::IMadWide;
    let product = if wide { Opcode::IMulWide } else { Opcode::IMulLo };
    let product = fold(product, &super::default_fields(product, v.ty()), &factors)?.results[0];
    let ty = match (wide, v.ty()) {
        (true, Type::U16) => Type::U32,
        (true, Type::S16) => Type::S32,
        (true, Type::U32) => Type::U64,
        (true, Type::S32) => Type::S64,
        (_, ty) => ty,
    };
    typed(Opcode::IAdd, ty, [addend, Operand::Imm(product)])
}

fn mad_one(v: &View<'_>) -> Option<Rewrite> {
    if v.constant(1)? == 1 { typed(Opcode::IAdd, v.ty(), [v.src(0)?, v.src(2)?]) } else { None }
}

fn div_one(v: &View<'_>) -> Option<Rewrite> {
    if v.constant(1)? == 1 && v.is_full() { value(v.src(0)?) } else { None }
}

fn div_power(v: &View<'_>) -> Option<Rewrite> {
    let count = exponent(v.constant(1)?)?;
    if is_unsigned(v) { typed(Opcode::Shr, v.ty(), [v.src(0)?, Operand::Imm(count)]) } else { None }
}

fn rem_power(v: &View<'_>) -> Option<Rewrite> {
    let divisor = v.constant(1)?;
    if !is_unsigned(v) || !divisor.is_power_of_two() {
        return None;
    }
    typed(Opcode::And, bits_type(v.ty()), [v.src(0)?, Operand::Imm(divisor - 1)])
}

fn neg_neg(v: &View<'_>) -> Option<Rewrite> {
    negated(v, 0).and_then(value)
}

/// An absolute value is its own, flushed or not in the same way.
fn abs_abs(v: &View<'_>) -> Option<Rewrite> {
    let inner = v.defined_by(0, v.data.opcode)?;
    let same = inner.data.fields == v.data.fields && v.is_full();
    if same { value(v.src(0)?) } else { None }
}

fn minmax_same(v: &View<'_>) -> Option<Rewrite> {
    let same = v.src(0)? == v.src(1)? && v.is_full() && !v.has(Relu::Relu);
    if same { value(v.src(0)?) } else { None }
}

/// Zero and all ones bound the unsigned values.
fn minmax_bound(v: &View<'_>) -> Option<Rewrite> {
    if !is_unsigned(v) {
        return None;
    }
    let (bound, all, minimum) = (v.constant(1)?, ones(v.ty()), v.data.opcode == Opcode::IMin);
    match bound {
        0 if minimum => constant(0),
        0 => value(v.src(0)?),
        _ if bound != all => None,
        _ if minimum => value(v.src(0)?),
        _ => constant(all),
    }
}

fn carry_nothing(v: &View<'_>) -> Option<Rewrite> {
    // A subtraction takes nothing off where its carry is set, and then leaves it set.
    let idle = u64::from(v.data.opcode == Opcode::ISubCarry);
    let nothing = v.constant(1)? == 0 && v.src(2)?.imm()? & 1 == idle;
    nothing.then(|| Some(Rewrite::Values(vec![v.src(0)?, Operand::Imm(idle)])))?
}

fn source_type(v: &View<'_>) -> Option<Type> {
    v.field::<SrcType>().map(Type::from)
}

/// Between integers, with nothing rounded or saturated.
fn is_integer_conversion(v: &View<'_>) -> bool {
    let floats = v.ty().is_float() || source_type(v).is_none_or(Type::is_float);
    !floats && !v.has(Saturate::Sat) && !v.has(Relu::Relu) && v.has(Rounding::Default)
}

fn cvt_same(v: &View<'_>) -> Option<Rewrite> {
    let same_width = source_type(v)?.bits() == v.ty().bits() && v.is_full();
    if same_width && is_integer_conversion(v) { value(v.src(0)?) } else { None }
}

/// The low half of a 64-bit register can be read as a word.
fn cvt_truncate(v: &View<'_>) -> Option<Rewrite> {
    let narrows = matches!(v.ty(), Type::U32 | Type::S32) && source_type(v)?.bits() == 64;
    match v.src(0)? {
        Operand::Reg(reg) if narrows && is_integer_conversion(v) => value(Operand::Word(reg, 0)),
        _ => None,
    }
}

/// Negation flips the sign bit of any value, NaN too; flushing does not undo.
fn fneg_fneg(v: &View<'_>) -> Option<Rewrite> {
    let inner = v.defined_by(0, Opcode::FNeg)?;
    let exact = !v.has(Ftz::Ftz) && !inner.has(Ftz::Ftz) && inner.ty() == v.ty() && v.is_full();
    if exact { value(inner.src(0)?) } else { None }
}

/// `x + -y` is `x - y` to the bit: NaN results are canonical either way.
fn fadd_negated(v: &View<'_>) -> Option<Rewrite> {
    if !matches!(v.ty(), Type::F32 | Type::F64) {
        return None;
    }
    let operand = |index| {
        let negation = v.defined_by(index, Opcode::FNeg)?;
        (!negation.has(Ftz::Ftz) && negation.ty() == v.ty()).then(|| negation.src(0)).flatten()
    };
    let (minuend, subtrahend) = match (operand(1), operand(0)) {
        (Some(y), _) => (v.src(0)?, y),
        (None, Some(y)) => (v.src(1)?, y),
        (None, None) => return None,
    };
    // Both rows list rounding, flushing, saturation and type in this order.
    with_fields(Opcode::FSub, v.data.fields, [minuend, subtrahend])
}
