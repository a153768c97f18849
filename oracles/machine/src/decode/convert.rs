//! Conversions.

use oriole_ir::InstBuilder;
use oriole_ir::ops::{Field, FieldValue, Ftz, Opcode, Relu, Rounding, SatFinite, Saturate, SrcType, Type};

use oriole_sass::row::What;

use super::float::pair;
use super::{lane_wise, word};
use crate::operands::{Operands, Sign, Unknown};
use crate::program::*;

/// The operation of a mnemonic of this family.
pub fn decode(base: &str, ops: &mut Operands<'_>) -> Option<Result<Kind, Unknown>> {
    Some(match base {
        "F2F" => convert(ops, Type::F32, Type::F32),
        "F2I" => convert(ops, Type::S32, Type::F32),
        "I2F" | "UI2F" => convert(ops, Type::F32, Type::S32),
        "I2FP" | "UI2FP" => convert(ops, Type::F32, Type::S32),
        "I2I" => convert(ops, Type::S32, Type::S32),
        "FRND" => round(ops),
        "F2FP" => pack(ops),
        "I2IP" => pack_integers(ops),
        "F2IP" => bytes(ops),
        _ => return None,
    })
}

const TYPES: &[(&str, Type)] = &[
    ("F16", Type::F16),
    ("BF16", Type::Bf16),
    ("F32", Type::F32),
    ("F64", Type::F64),
    ("TF32", Type::Tf32),
    ("U8", Type::U8),
    ("S8", Type::S8),
    ("U16", Type::U16),
    ("S16", Type::S16),
    ("U32", Type::U32),
    ("S32", Type::S32),
    ("U64", Type::U64),
    ("S64", Type::S64),
];

/// A type as that of a source.
fn source(ty: Type) -> Result<SrcType, Unknown> {
    let found = SrcType::ALL.iter().find(|src| Type::from(**src) == ty);
    found.copied().ok_or_else(|| format!("a source of {ty:?}"))
}

/// Destination and source type, as far as they are written.
fn types(ops: &Operands<'_>, to: Type, from: Type) -> (Type, Type) {
    let known = |name: &str| TYPES.iter().find(|(known, _)| *known == name && ops.has(name)).map(|(_, ty)| *ty);
    let named: Vec<Type> = ops.names().iter().copied().filter_map(known).collect();
    match named[..] {
        [first, second, ..] => (first, second),
        // What is written alone is what differs from the usual type: of integers and narrow floats the side that can
        // have it.
        [one] if one.is_float() == to.is_float() && one.is_float() != from.is_float() => (one, from),
        [one] if one.is_float() == from.is_float() && one.is_float() != to.is_float() => (to, one),
        [one] => (one, one),
        [] => (to, from),
    }
}

const ROUNDINGS: &[(&str, Rounding)] = &[
    ("RM", Rounding::Rm),
    ("RP", Rounding::Rp),
    ("RZ", Rounding::Rz),
    ("FLOOR", Rounding::Rmi),
    ("CEIL", Rounding::Rpi),
    ("TRUNC", Rounding::Rzi),
];

/// Operands: result, value.
fn convert(ops: &mut Operands<'_>, to: Type, from: Type) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let (to, from) = types(ops, to, from);
    let value = operand(ops, ops.len() - 1, from)?;
    // Without `NTZ`, no number does not become zero, as PTX has it where one side has 64 bits.
    if from.is_float() && !to.is_float() && ops.has("NTZ") == (from.bits() == 64 || to.bits() == 64) {
        return Err("another integer for what is no number".to_owned());
    }
    let exact = if from.is_float() && !to.is_float() { Rounding::Rni } else { Rounding::Rn };
    let mut builder = InstBuilder::new(Opcode::Cvt).field(to).field(source(from)?);
    if from.is_float() || to.is_float() {
        builder = builder.field(ops.one_of(ROUNDINGS).unwrap_or(exact));
    }
    if from == Type::F32 && to == Type::F64 || from == Type::F16 && matches!(to, Type::F32 | Type::F64) {
        builder = builder.field(Rounding::Default);
    }
    if ops.has("FTZ") {
        builder = builder.field(Ftz::Ftz);
    }
    if ops.has("SAT") {
        builder = builder.field(Saturate::Sat);
    }
    lane_wise(&builder, (dst, if to.bits() == 64 { 2 } else { 1 }), &[value])
}

/// A value of a type: two words, a word, or the part of one that the suffix names.
fn operand(ops: &mut Operands<'_>, at: usize, ty: Type) -> Result<Value, Unknown> {
    if ty.bits() == 64 {
        // An immediate is the upper word, of an integer too.
        let value = pair(ops, at)?;
        return Ok(match (ops.part(at)?.what, value) {
            (What::Immediate(_), Value::Pair(low, _)) if !ty.is_float() => {
                Value::Pair(Src { row: ZERO, mark: Mark::Plain }, low)
            }
            _ => value,
        });
    }
    let sign = match ty {
        Type::F16 | Type::Bf16 => Sign::Halves,
        _ if ty.is_float() => Sign::Float,
        _ => Sign::Integer,
    };
    let src = ops.src(at, sign)?;
    Ok(match ops.suffix(at)? {
        "H1" | "H1_H1" => Value::Half(src, true),
        "H0" | "H0_H0" | "" | "B0" => Value::Word(src),
        "B1" => Value::Byte(src, 1),
        "B2" => Value::Byte(src, 2),
        "B3" => Value::Byte(src, 3),
        other => return Err(format!("a part {other}")),
    })
}

/// Rounding to an integral value. Operands: result, value.
fn round(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let (ty, _) = types(ops, Type::F32, Type::F32);
    let value = operand(ops, ops.len() - 1, ty)?;
    let rounding = ops.one_of(ROUNDINGS).unwrap_or(Rounding::Rni);
    let mut builder = InstBuilder::new(Opcode::Cvt).field(ty).field(source(ty)?).field(rounding);
    if ops.has("FTZ") {
        builder = builder.field(Ftz::Ftz);
    }
    lane_wise(&builder, (dst, if ty == Type::F64 { 2 } else { 1 }), &[value])
}

/// Conversions of which the result or the source is packed. Operands: result, then upper value, lower value, and what
/// is in the upper half of a narrow result; each where the mode has it.
fn pack(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let narrow = ops.one_of(&[("E4M3", Type::E4m3x2), ("E5M2", Type::E5m2x2)]);
    let relu = |builder: InstBuilder| if ops.has("RELU") { builder.field(Relu::Relu) } else { builder };
    let saturated = |builder: InstBuilder| match ops.has("SATFINITE") {
        true => builder.field(SatFinite::SatFinite),
        false => builder,
    };
    let rounding = if ops.has("RZ") { Rounding::Rz } else { Rounding::Rn };
    let is_narrow = narrow.is_some() && !ops.has("UNPACK_B");
    if is_narrow && (!ops.has("SATFINITE") || rounding != Rounding::Rn || ops.has("MERGE_C")) {
        return Err("a narrow float that may be infinite, or is rounded another way".to_owned());
    }
    let packed = match () {
        () if ops.has("BF16") => Type::Bf16x2,
        () => {
            // Where nothing is written, the result is in F16.
            ops.has("F16");
            Type::F16x2
        }
    };
    if ops.has("UNPACK_B") {
        let from = source(narrow.ok_or("a source")?)?;
        if !ops.has("F16") {
            return Err("a result of narrow floats".to_owned());
        }
        let builder = InstBuilder::new(Opcode::Cvt).field(packed).field(from).field(Rounding::Rn);
        let builder = relu(builder);
        let value = narrow_source(ops, 1)?;
        return lane_wise(&builder, (dst, 1), &[value]);
    }
    if ops.has("PACK_B") {
        if !ops.has("TF32") || !ops.has("F32") {
            return Err("a packed type".to_owned());
        }
        let builder = InstBuilder::new(Opcode::Cvt).field(Type::Tf32).field(SrcType::F32).field(rounding);
        let builder = relu(builder);
        let value = Value::Word(ops.src(1, Sign::Float)?);
        return lane_wise(&builder, (dst, 1), &[value]);
    }
    if ops.has("UNPACK_B_MERGE_C") {
        let ty = narrow.filter(|_| ops.has("F16")).ok_or("a packed type")?;
        let builder = saturated(relu(InstBuilder::new(Opcode::CvtNarrow).field(ty).field(SrcType::F16x2)));
        let builder = builder.field(Rounding::Rn);
        let value = Value::Word(ops.src(1, Sign::Halves)?);
        merged_with_nothing(ops, 2)?;
        return lane_wise(&builder, (dst, 1), &[value]);
    }
    // The source is always single: written or not.
    ops.has("F32");
    if ops.has("MERGE_C") {
        let half = if packed == Type::Bf16x2 { Type::Bf16 } else { Type::F16 };
        let builder = InstBuilder::new(Opcode::Cvt).field(half).field(SrcType::F32).field(rounding);
        let builder = saturated(relu(builder));
        let value = Value::Word(ops.src(1, Sign::Float)?);
        merged_with_nothing(ops, 2)?;
        return lane_wise(&builder, (dst, 1), &[value]);
    }
    let ty = match narrow {
        Some(ty) if ops.has("PACK_AB_MERGE_C") => ty,
        None if ops.has("PACK_AB") => packed,
        _ => return Err("another order of packing".to_owned()),
    };
    let builder = InstBuilder::new(Opcode::CvtPack2).field(ty).field(SrcType::F32).field(rounding);
    let builder = saturated(relu(builder));
    if narrow.is_some() {
        merged_with_nothing(ops, 3)?;
    }
    let values = [Value::Word(ops.src(1, Sign::Float)?), Value::Word(ops.src(2, Sign::Float)?)];
    lane_wise(&builder, (dst, 1), &values)
}

/// Two narrow floats in a half of a word.
fn narrow_source(ops: &mut Operands<'_>, at: usize) -> Result<Value, Unknown> {
    let upper = ops.suffix(at)? == "H1";
    Ok(Value::Half(ops.src(at, Sign::Integer)?, upper))
}

/// What is put above a narrow result: only zeros are.
fn merged_with_nothing(ops: &mut Operands<'_>, at: usize) -> Result<(), Unknown> {
    // A half of zeros is zero.
    ops.suffix(at)?;
    let is_zero = ops.src(at, Sign::Integer)?.row == ZERO;
    if is_zero { Ok(()) } else { Err("a result that is merged with others".to_owned()) }
}

/// Two floats to bytes in front of others. Operands: result, upper value, lower value, the others.
fn bytes(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let alone = [1, 3].map(|at| ops.src(at, Sign::Integer).map(|src| src.row == ZERO));
    if !ops.has("U8") || alone != [Ok(true), Ok(true)] {
        return Err("several bytes, or signed ones".to_owned());
    }
    ops.has("F32");
    let rounding = if ops.has("TRUNC") { Rounding::Rzi } else { Rounding::Rni };
    let builder = InstBuilder::new(Opcode::Cvt).field(Type::U8).field(SrcType::F32).field(rounding);
    let value = Value::Word(ops.src(2, Sign::Float)?);
    lane_wise(&builder, (dst, 1), &[value])
}

/// Two integers to narrow ones, in front of others. Operands: result, upper value, lower value, the others.
fn pack_integers(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    const SMALL: &[(&str, Type)] = &[("U4", Type::U4), ("S4", Type::S4), ("U2", Type::U2), ("S2", Type::S2)];
    let small = ops.one_of(SMALL);
    let (usual, _) = types(ops, Type::S32, Type::S32);
    let mut builder = InstBuilder::new(Opcode::CvtPackInt).field(small.unwrap_or(usual));
    if builder.head().opcode.row().slot(Field::SrcType).is_some() {
        builder = builder.field(SrcType::S32);
    }
    if !ops.has("SAT") {
        return Err("narrowing that does not saturate".to_owned());
    }
    if builder.head().opcode.row().slot(Field::Saturate).is_some() {
        builder = builder.field(Saturate::Sat);
    }
    let others = match ops.suffix(3)? {
        "H1" => Value::Half(ops.src(3, Sign::Integer)?, true),
        // What fits beside four or two bits: the lower 24 or 28.
        _ => word(ops, 3)?,
    };
    lane_wise(&builder, (dst, 1), &[word(ops, 1)?, word(ops, 2)?, others])
}
