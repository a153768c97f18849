//! Floating-point arithmetic: single, double and half precision.

use oriole_ir::InstBuilder;
use oriole_ir::ops::{
    Approx, BoolOp, Compare as FloatCompare, Field, Ftz, NanMode, Oob, Opcode, Relu, Rounding, Saturate, SrcType, Type,
    XorSign,
};
use oriole_semantics::scalar;

use super::integer::meaning;
use super::{aligned, either, lane_wise, lane_wise_with};
use crate::doubles::DoubleOp;
use crate::lanes::{map2, map3};
use crate::operands::{Operands, Sign, Unknown};
use crate::program::*;

/// The operation of a mnemonic of this family.
pub fn decode(base: &str, ops: &mut Operands<'_>) -> Option<Result<Kind, Unknown>> {
    Some(match base {
        "FADD" | "UFADD" => single(ops, Opcode::FAdd, 2),
        "FMUL" | "UFMUL" => single(ops, Opcode::FMul, 2),
        "FFMA" | "UFFMA" => single(ops, Opcode::FFma, 3),
        "DADD" => double(ops, Opcode::FAdd, 2),
        "DMUL" => double(ops, Opcode::FMul, 2),
        "DFMA" => double(ops, Opcode::FFma, 3),
        "HADD2" if ops.has("F32") => widen(ops),
        "HADD2" => half(ops, Opcode::FAdd, 2),
        "HMUL2" => half(ops, Opcode::FMul, 2),
        "HFMA2" => half(ops, Opcode::FFma, 3),
        "FMNMX" => extreme(ops, Type::F32),
        "HMNMX2" => extreme(ops, if ops.has("BF16_V2") { Type::Bf16x2 } else { Type::F16x2 }),
        "FMNMX3" => extreme3(ops),
        "FSETP" => compare(ops, Type::F32),
        "DSETP" => compare(ops, Type::F64),
        "HSETP2" => compare_halves(ops),
        "HSET2" => set_halves(ops),
        "FSET" => set(ops),
        "MUFU" => function(ops),
        "FCHK" => check(ops),
        _ => return None,
    })
}

const ROUNDINGS: &[(&str, Rounding)] = &[("RM", Rounding::Rm), ("RP", Rounding::Rp), ("RZ", Rounding::Rz)];

fn rounding(ops: &Operands<'_>) -> Rounding {
    ops.one_of(ROUNDINGS).unwrap_or(Rounding::Rn)
}

/// An operation of a type with the modifiers that arithmetic has. One that it does not take stays unread, so that the
/// instruction is not executed without it.
fn arithmetic(ops: &Operands<'_>, opcode: Opcode, ty: Type) -> InstBuilder {
    let mut builder = InstBuilder::new(opcode).field(ty);
    let row = opcode.row();
    let takes = |field| row.slot(field).is_some();
    if takes(Field::Rounding) {
        builder = builder.field(rounding(ops));
    }
    if takes(Field::Ftz) && ops.has("FTZ") {
        builder = builder.field(Ftz::Ftz);
    }
    if takes(Field::Saturate) && ops.has("SAT") {
        builder = builder.field(Saturate::Sat);
    }
    if takes(Field::Relu) && ops.has("RELU") {
        builder = builder.field(Relu::Relu);
    }
    if takes(Field::Oob) && ops.has("OOB") {
        builder = builder.field(Oob::Oob);
    }
    if takes(Field::NanMode) && ops.has("NAN") {
        builder = builder.field(NanMode::Nan);
    }
    if takes(Field::XorSign) && ops.has("XORSIGN") {
        builder = builder.field(XorSign::XorSignAbs);
    }
    builder
}

#[inline(always)]
fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// What arithmetic yields for a float.
#[inline(always)]
fn canonical(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

/// A float, zero with its sign where it is subnormal.
#[inline(always)]
fn flushed(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// Modifiers that arithmetic on single floats has beside the plain operation.
const NOT_PLAIN: &[&str] = &["RM", "RP", "RZ", "SAT", "D2", "D4", "D8", "M2", "M4", "M8"];

/// Operands: result, sources.
fn single(ops: &mut Operands<'_>, opcode: Opcode, count: usize) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let srcs = (1..=count).map(|at| ops.src(at, Sign::Float)).collect::<Result<Vec<_>, _>>()?;
    let is_plain = !ops.names().iter().any(|name| NOT_PLAIN.contains(name));
    let flushes = ops.has("FTZ");
    // What kernels are full of has functions of its own.
    match (opcode, &srcs[..]) {
        (Opcode::FAdd, &[a, b]) if is_plain && flushes => {
            let add: Fn2 = |a, b| map2(a, b, |a, b| flushed(canonical(float(flushed(a)) + float(flushed(b)))));
            Ok(Kind::Two(add, dst, [a, b]))
        }
        (Opcode::FMul, &[a, b]) if is_plain && flushes => {
            let mul: Fn2 = |a, b| map2(a, b, |a, b| flushed(canonical(float(flushed(a)) * float(flushed(b)))));
            Ok(Kind::Two(mul, dst, [a, b]))
        }
        (Opcode::FFma, &[a, b, c]) if is_plain && flushes => {
            let fma: Fn3 = |a, b, c| {
                map3(a, b, c, |a, b, c| {
                    let [a, b, c] = [a, b, c].map(|word| float(flushed(word)));
                    flushed(canonical(a.mul_add(b, c)))
                })
            };
            Ok(Kind::Three(fma, dst, [a, b, c]))
        }
        (Opcode::FAdd, &[a, b]) if is_plain => {
            let add: Fn2 = |a, b| map2(a, b, |a, b| canonical(float(a) + float(b)));
            Ok(Kind::Two(add, dst, [a, b]))
        }
        (Opcode::FMul, &[a, b]) if is_plain => {
            let mul: Fn2 = |a, b| map2(a, b, |a, b| canonical(float(a) * float(b)));
            Ok(Kind::Two(mul, dst, [a, b]))
        }
        (Opcode::FFma, &[a, b, c]) if is_plain => {
            let fma: Fn3 = |a, b, c| map3(a, b, c, |a, b, c| canonical(float(a).mul_add(float(b), float(c))));
            Ok(Kind::Three(fma, dst, [a, b, c]))
        }
        _ => {
            let values: Vec<Value> = srcs.into_iter().map(Value::Word).collect();
            lane_wise(&arithmetic(ops, opcode, Type::F32), (dst, 1), &values)
        }
    }
}

fn double(ops: &mut Operands<'_>, opcode: Opcode, count: usize) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let srcs = (1..=count).map(|at| ops.pair(at, Sign::Float)).collect::<Result<Vec<_>, _>>()?;
    let op = match opcode {
        Opcode::FAdd => DoubleOp::Add,
        Opcode::FMul => DoubleOp::Mul,
        _ => DoubleOp::Fma,
    };
    if rounding(ops) == Rounding::Rn {
        let last = srcs.get(2).copied().unwrap_or_default();
        return Ok(Kind::Doubles(op, aligned(dst, 2)?, [srcs[0], srcs[1], last]));
    }
    let values: Vec<Value> = srcs.into_iter().map(|(low, high)| Value::Pair(low, high)).collect();
    lane_wise(&arithmetic(ops, opcode, Type::F64), (dst, 2), &values)
}

/// A double.
pub fn pair(ops: &mut Operands<'_>, at: usize) -> Result<Value, Unknown> {
    let (low, high) = ops.pair(at, Sign::Float)?;
    Ok(Value::Pair(low, high))
}

/// The packed type of an operation on halves.
fn packed(ops: &Operands<'_>) -> Type {
    if ops.has("BF16_V2") || ops.has("BF16") { Type::Bf16x2 } else { Type::F16x2 }
}

/// Two halves of a register, as the suffix says.
fn halves(ops: &mut Operands<'_>, at: usize) -> Result<Value, Unknown> {
    let src = ops.src(at, Sign::Halves)?;
    Ok(match ops.suffix(at)? {
        "H0_H0" => Value::Packed(src, [false, false]),
        "H1_H1" => Value::Packed(src, [true, true]),
        "H1_H0" | "" => Value::Word(src),
        // The upper half is named first. The sign is that of H1 before it becomes the lower half.
        "H0_NH1" => {
            let (keep, flip) = match src.mark {
                Mark::Bits { keep, flip } => (keep, flip),
                _ => (u32::MAX, 0),
            };
            Value::Packed(Src { mark: Mark::Bits { keep, flip: flip ^ 0x8000_0000 }, ..src }, [true, false])
        }
        other => return Err(format!("halves {other}")),
    })
}

fn half(ops: &mut Operands<'_>, opcode: Opcode, count: usize) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let ty = packed(ops);
    let values = (1..=count).map(|at| halves(ops, at)).collect::<Result<Vec<_>, _>>()?;
    if ops.has("F32") {
        return Err("products of halves in single precision".to_owned());
    }
    let mut builder = arithmetic(ops, opcode, ty);
    if !ops.has("SAT") && !ops.has("FTZ") {
        builder = builder.field(Rounding::Rn);
    }
    lane_wise(&builder, (dst, 1), &values)
}

/// `HADD2.F32 d, -RZ, h`: a half as a float.
fn widen(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let first = ops.src(1, Sign::Halves)?;
    if first.row != ZERO || first.mark != (Mark::Bits { keep: u32::MAX, flip: 0x8000_8000 }) {
        return Err("a sum of halves in single precision".to_owned());
    }
    let src = ops.src(2, Sign::Halves)?;
    let high = ops.suffix(2)? == "H1_H1";
    let from = if packed(ops) == Type::Bf16x2 { SrcType::Bf16 } else { SrcType::F16 };
    let builder = InstBuilder::new(Opcode::Cvt).field(Type::F32).field(from);
    lane_wise(&builder, (dst, 1), &[Value::Half(src, high)])
}

/// Operands: result, two values, the predicate that says whether the smaller one is wanted.
fn extreme(ops: &mut Operands<'_>, ty: Type) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let mut values = match ty {
        Type::F32 => [Value::Word(ops.src(1, Sign::Float)?), Value::Word(ops.src(2, Sign::Float)?)],
        _ => [halves(ops, 1)?, halves(ops, 2)?],
    };
    if ops.has("XORSIGN") {
        // The absolute values are compared, and the signs of the operands themselves decide that of the result.
        let word = ops.inst.word;
        if !(1..=2).all(|at| ops.part(at).is_ok_and(|part| part.has(part.absolute, word))) {
            return Err("the sign of a product, of values with signs".to_owned());
        }
        values.iter_mut().for_each(keep_sign);
    }
    let one = |opcode| lane_wise(&arithmetic(ops, opcode, ty), (dst, 1), &values);
    either(ops.pred_in(87)?, one(Opcode::FMin)?, one(Opcode::FMax)?)
}

/// Undoes that the absolute value of an operand is taken.
fn keep_sign(value: &mut Value) {
    if let Value::Word(src) | Value::Packed(src, _) = value
        && let Mark::Bits { flip, .. } = src.mark
    {
        src.mark = Mark::Bits { keep: u32::MAX, flip };
    }
}

fn extreme3(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let mut values = (1..=3).map(|at| ops.src(at, Sign::Float)).collect::<Result<Vec<_>, _>>()?;
    // The extreme of the first two is in the result while the last is read; which one is the last does not matter.
    let last = values.iter().position(|value| value.row != dst).ok_or("a result that is every operand, too")?;
    values.swap(last, 2);
    let pred = ops.pred_in(87)?;
    let chain = |opcode| -> Result<Kind, Unknown> {
        let builder = arithmetic(ops, opcode, Type::F32);
        let first = lane_wise(&builder, (dst, 1), &[Value::Word(values[0]), Value::Word(values[1])])?;
        let so_far = Src { row: dst, mark: Mark::Plain };
        let second = lane_wise(&builder, (dst, 1), &[Value::Word(so_far), Value::Word(values[2])])?;
        Ok(Kind::Sequence(Box::new([first, second])))
    };
    either(pred, chain(Opcode::FMin)?, chain(Opcode::FMax)?)
}

const COMPARES: &[(&str, FloatCompare)] = &[
    ("LT", FloatCompare::Lt),
    ("EQ", FloatCompare::Eq),
    ("LE", FloatCompare::Le),
    ("GT", FloatCompare::Gt),
    ("NE", FloatCompare::Ne),
    ("GE", FloatCompare::Ge),
    ("NUM", FloatCompare::Num),
    ("NAN", FloatCompare::Nan),
    ("LTU", FloatCompare::Ltu),
    ("EQU", FloatCompare::Equ),
    ("LEU", FloatCompare::Leu),
    ("GTU", FloatCompare::Gtu),
    ("NEU", FloatCompare::Neu),
    ("GEU", FloatCompare::Geu),
];

fn bool_op(ops: &Operands<'_>) -> BoolOp {
    ops.one_of(&[("OR", BoolOp::Or), ("XOR", BoolOp::Xor)]).unwrap_or(BoolOp::And)
}

/// Operands: two predicates, two values, the predicate that is combined.
fn compare(ops: &mut Operands<'_>, ty: Type) -> Result<Kind, Unknown> {
    let preds = [ops.pred_out(81), ops.pred_out(84)];
    let values = match ty {
        Type::F64 => [pair(ops, 0)?, pair(ops, 1)?],
        _ => [Value::Word(ops.src(0, Sign::Float)?), Value::Word(ops.src(1, Sign::Float)?)],
    };
    let combined = Value::Pred(ops.pred_in(87)?);
    if ty == Type::F64 && (ops.has("MIN") || ops.has("MAX")) {
        let [Value::Pair(a, a_high), Value::Pair(b, b_high)] = values else { return Err("no doubles".to_owned()) };
        if combined != Value::Pred(Pred::TRUE) || bool_op(ops) != BoolOp::And {
            return Err("an extreme and another predicate".to_owned());
        }
        return Ok(Kind::Prefer { preds, srcs: [a, a_high, b, b_high], min: ops.has("MIN") });
    }
    let compare = ops.one_of(COMPARES).ok_or("a comparison that is constant")?;
    if let (Type::F32, [Value::Word(a), Value::Word(b)], Value::Pred(with)) = (ty, values, combined) {
        let combine = ops.one_of(&[("OR", Combine::Or), ("XOR", Combine::Xor)]).unwrap_or(Combine::And);
        let flushes = ops.has("FTZ");
        return Ok(Kind::CompareFloats { dsts: preds, srcs: [a, b], compare, flushes, combine: (combine, with) });
    }
    if let ([Value::Pair(a, a_high), Value::Pair(b, b_high)], Value::Pred(with)) = (values, combined) {
        let combine = ops.one_of(&[("OR", Combine::Or), ("XOR", Combine::Xor)]).unwrap_or(Combine::And);
        return Ok(Kind::CompareDoubles {
            dsts: preds,
            srcs: [(a, a_high), (b, b_high)],
            compare,
            combine: (combine, with),
        });
    }
    let mut builder = InstBuilder::new(Opcode::SetPBool).field(ty).field(compare).field(bool_op(ops));
    if ops.has("FTZ") {
        builder = builder.field(Ftz::Ftz);
    }
    lane_wise_with(&builder, (SINK, 0), preds, &[values[0], values[1], combined])
}

/// Operands: two predicates, two pairs of halves, the predicate that is combined.
fn compare_halves(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let preds = [ops.pred_out(81), ops.pred_out(84)];
    let values = [halves(ops, 0)?, halves(ops, 1)?];
    let combined = ops.pred_in(87)?;
    let compare = ops.one_of(COMPARES).ok_or("a comparison that is constant")?;
    let builder = InstBuilder::new(Opcode::SetPX2Bool).field(packed(ops)).field(compare).field(bool_op(ops));
    let builder = if ops.has("FTZ") { builder.field(Ftz::Ftz) } else { builder };
    if ops.has("H0_H0") || ops.has("H1_H1") || ops.has("H_AND") {
        return Err("a comparison of halves that combines both".to_owned());
    }
    lane_wise_with(&builder, (SINK, 0), preds, &[values[0], values[1], Value::Pred(combined)])
}

/// Operands: result, two pairs of halves, the predicate that is combined.
fn set_halves(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let values = [halves(ops, 1)?, halves(ops, 2)?];
    let combined = Value::Pred(ops.pred_in(87)?);
    let compare = ops.one_of(COMPARES).ok_or("a comparison that is constant")?;
    let ty = packed(ops);
    let compare = InstBuilder::new(Opcode::SetPX2Bool).field(ty).field(compare).field(bool_op(ops));
    let compare = if ops.has("FTZ") { compare.field(Ftz::Ftz) } else { compare };
    // With `.BF` a true half is 1.0, else all ones.
    let one = match (ops.has("BF"), ty) {
        (false, _) => 0xffff,
        (true, Type::Bf16x2) => 0x3f80,
        (true, _) => 0x3c00,
    };
    Ok(Kind::SetHalves { op: meaning(&compare)?, dst, values: [values[0], values[1], combined], one })
}

/// Operands: result, two values, the predicate that is combined.
fn set(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let values = [Value::Word(ops.src(1, Sign::Float)?), Value::Word(ops.src(2, Sign::Float)?)];
    let compare = ops.one_of(COMPARES).ok_or("a comparison that is constant")?;
    let ty = if ops.has("BF") { Type::F32 } else { Type::U32 };
    let mut builder = InstBuilder::new(Opcode::SetBool).field(ty).field(SrcType::F32);
    builder = builder.field(compare).field(bool_op(ops));
    if ops.has("FTZ") {
        builder = builder.field(Ftz::Ftz);
    }
    lane_wise(&builder, (dst, 1), &[values[0], values[1], Value::Pred(ops.pred_in(87)?)])
}

/// Operands: result, value.
fn function(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let value = Value::Word(ops.src(1, Sign::Float)?);
    const FUNCTIONS: &[(&str, Opcode)] = &[
        ("RCP", Opcode::FRcp),
        ("RSQ", Opcode::FRsqrt),
        ("SQRT", Opcode::FSqrt),
        ("LG2", Opcode::FLg2),
        ("EX2", Opcode::FEx2),
        ("TANH", Opcode::FTanh),
    ];
    for (name, opcode) in [("RCP64H", Opcode::FRcp), ("RSQ64H", Opcode::FRsqrt)] {
        if ops.has(name) {
            let builder = InstBuilder::new(opcode).field(Type::F64).field(Approx::Approx).field(Ftz::Ftz);
            let Value::Word(upper) = value else { return Err("no word".to_owned()) };
            let zero = Src { row: ZERO, mark: Mark::Plain };
            return lane_wise_upper(&builder, dst, Value::Pair(zero, upper));
        }
    }
    if ops.has("SIN") || ops.has("COS") {
        let f: Fn1 = if ops.has("SIN") { |a| turn(a, scalar::sin_of_turns) } else { |a| turn(a, scalar::cos_of_turns) };
        let Value::Word(src) = value else { return Err("no word".to_owned()) };
        return Ok(Kind::One(f, dst, src));
    }
    let opcode = ops.one_of(FUNCTIONS).ok_or("an unknown function")?;
    let ty = match () {
        () if ops.has("F16") => Type::F16,
        () if ops.has("BF16") || ops.has("BF16_V2") => Type::Bf16,
        () => Type::F32,
    };
    let value = match (ops.suffix(1)?, ty) {
        (_, Type::F32) => value,
        ("H1" | "H1_H1", _) => Value::Half(ops.src(1, Sign::Halves)?, true),
        _ => Value::Half(ops.src(1, Sign::Halves)?, false),
    };
    let mut builder = InstBuilder::new(opcode).field(ty).field(Approx::Approx);
    // The unit takes subnormal floats for zeros; code that wants them scales before and behind it.
    if ty == Type::F32 && opcode.row().slot(Field::Ftz).is_some() {
        builder = builder.field(Ftz::Ftz);
    }
    lane_wise(&builder, (dst, 1), &[value])
}

/// The sine or cosine of so many turns.
fn turn(turns: &crate::lanes::Lanes, function: fn(f64) -> f64) -> crate::lanes::Lanes {
    crate::lanes::map(turns, |bits| canonical(function(f32::from_bits(bits).into()) as f32))
}

/// A function of the upper word of a double, of which the upper word is the result.
fn lane_wise_upper(builder: &InstBuilder, dst: u16, value: Value) -> Result<Kind, Unknown> {
    let none = Value::None;
    Ok(Kind::Upper { op: meaning(builder)?, dst, values: [value, none, none, none, none] })
}

/// Whether a quotient needs the long way. Operands: the predicate, dividend, divisor.
fn check(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    Ok(Kind::CheckDivision(ops.pred_out(81), [ops.src(0, Sign::Float)?, ops.src(1, Sign::Float)?]))
}
