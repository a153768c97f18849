//! Matrices: tiles between registers and shared memory, and products.

use oriole_ir::InstBuilder;
use oriole_ir::ops::{
    Addend, BitProduct, LeftElement, LeftLayout, MatrixShape, Opcode, RightElement, RightLayout, Rounding, SatFinite,
    Type,
};
use oriole_semantics::tensor::MatrixProduct;

use super::aligned;
use crate::operands::{Operands, Unknown};
use crate::program::*;

/// The operation of a mnemonic of this family.
pub fn decode(base: &str, ops: &mut Operands<'_>) -> Option<Result<Kind, Unknown>> {
    Some(match base {
        "LDSM" => tiles(ops).and_then(|(count, transposed)| {
            let dst = aligned(ops.dst(0)?, count.into())?;
            Ok(Kind::LoadTiles { dst, count, transposed, address: ops.address(0)? })
        }),
        "STSM" => tiles(ops).and_then(|(count, transposed)| {
            let src = aligned(ops.row(ops.len() - 1)?, count.into())?;
            Ok(Kind::StoreTiles { src, count, transposed, address: ops.address(0)? })
        }),
        "MOVM" if ops.has("16") && ops.has("MT88") => ops.dst(0).and_then(|dst| Ok(Kind::Transpose(dst, ops.row(1)?))),
        "HMMA" => hmma(ops),
        "QMMA" => qmma(ops),
        "IMMA" => imma(ops),
        "DMMA" => dmma(ops),
        "BMMA" => bmma(ops),
        _ => return None,
    })
}

/// How many tiles are moved, and whether rows and columns are exchanged.
fn tiles(ops: &Operands<'_>) -> Result<(u8, bool), Unknown> {
    if !ops.has("16") || !ops.has("M88") && !ops.has("MT88") {
        return Err("tiles of another shape".to_owned());
    }
    Ok((ops.one_of(&[("2", 2), ("4", 4)]).unwrap_or(1), ops.has("MT88")))
}

/// A product with these fields. Operands: result, both factors, addend, and of sparse ones the metadata and which lanes
/// give them.
fn product(base: &str, ops: &mut Operands<'_>, builder: InstBuilder) -> Result<Kind, Unknown> {
    let sparse = ops.has("SP");
    let builder = builder.field(LeftLayout::Row).field(RightLayout::Col);
    let selector = if sparse { ops.value(5)? as usize } else { 0 };
    let product = MatrixProduct::resolve_sparse(&builder, selector).ok_or("no such product")?;
    let is_negated = |at: usize| ops.part(at).is_ok_and(|part| part.has(part.negate, ops.inst.word));
    let negated = [is_negated(1), is_negated(2), is_negated(3)];
    // The signs of doubles are in every other word.
    if negated != [false; 3] && base != "DMMA" {
        return Err("a negated matrix".to_owned());
    }
    if ops.any_pred().is_some() {
        return Err("a sum that may be left out".to_owned());
    }
    let [a, b, c, d] = product.words().map(|words| words as u16);
    let dst = aligned(ops.dst(0)?, d)?;
    let srcs = [aligned(ops.row(1)?, a)?, aligned(ops.row(2)?, b)?, aligned(ops.row(3)?, c)?];
    let metadata = if sparse { ops.row(4)? } else { ZERO };
    Ok(Kind::Multiply { product: Box::new(product), dst, srcs, negated, metadata })
}

/// A product of the kind that the modifiers say, without fields.
fn begun(ops: &Operands<'_>) -> InstBuilder {
    InstBuilder::new(if ops.has("SP") { Opcode::MmaSparse } else { Opcode::Mma })
}

/// Operands as of the other products.
fn dmma(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const SHAPES: &[(&str, MatrixShape)] = &[
        ("884", MatrixShape::M8n8k4),
        ("8x8x4", MatrixShape::M8n8k4),
        ("16x8x4", MatrixShape::M16n8k4),
        ("16x8x8", MatrixShape::M16n8k8),
        ("16x8x16", MatrixShape::M16n8k16),
    ];
    const ROUNDINGS: &[(&str, Rounding)] = &[("RM", Rounding::Rm), ("RP", Rounding::Rp), ("RZ", Rounding::Rz)];
    if (0..ops.len()).any(|at| ops.part(at).is_ok_and(|part| part.has(part.absolute, ops.inst.word))) {
        return Err("absolute values of a matrix".to_owned());
    }
    let shape = ops.one_of(SHAPES).ok_or("a shape")?;
    let builder = begun(ops).field(shape).field(Type::F64).field(Addend::F64);
    let builder = builder.field(LeftElement::F64).field(RightElement::F64);
    let rounding = ops.one_of(ROUNDINGS).unwrap_or(Rounding::Rn);
    product("DMMA", ops, builder.field(rounding))
}

/// Operands as of the other products.
fn bmma(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const SHAPES: &[(&str, MatrixShape)] =
        &[("88128", MatrixShape::M8n8k128), ("168128", MatrixShape::M16n8k128), ("168256", MatrixShape::M16n8k256)];
    let shape = ops.one_of(SHAPES).ok_or("a shape")?;
    let combined = if ops.has("AND") { BitProduct::And } else { BitProduct::Xor };
    if !ops.has("POPC") || combined == BitProduct::Xor && !ops.has("XOR") {
        return Err("a product of bits".to_owned());
    }
    let builder = begun(ops).field(shape).field(Type::S32).field(Addend::S32);
    product("BMMA", ops, builder.field(LeftElement::B1).field(RightElement::B1).field(combined))
}

fn hmma(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let (left, right) = match () {
        () if ops.has("BF16") => (LeftElement::Bf16, RightElement::Bf16),
        () if ops.has("TF32") => (LeftElement::Tf32, RightElement::Tf32),
        () => (LeftElement::F16, RightElement::F16),
    };
    const SHAPES: &[(&str, MatrixShape)] = &[
        ("1684", MatrixShape::M16n8k4),
        ("1688", MatrixShape::M16n8k8),
        ("16816", MatrixShape::M16n8k16),
        ("16832", MatrixShape::M16n8k32),
    ];
    let shape = ops.one_of(SHAPES).ok_or("a shape")?;
    let (ty, addend) = match () {
        () if ops.has("F32") => (Type::F32, Addend::F32),
        () if ops.has("F16") => (Type::F16, Addend::F16),
        () => return Err("the type of sums".to_owned()),
    };
    let builder = begun(ops).field(shape).field(ty).field(left).field(right).field(addend);
    product("HMMA", ops, builder)
}

/// Elements are floats of 8 bits; those of 4 and 6 bits are not executed.
fn qmma(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const SHAPES: &[(&str, MatrixShape)] =
        &[("16816", MatrixShape::M16n8k16), ("16832", MatrixShape::M16n8k32), ("16864", MatrixShape::M16n8k64)];
    const ELEMENTS: &[(&str, LeftElement, RightElement)] =
        &[("E4M3", LeftElement::E4m3, RightElement::E4m3), ("E5M2", LeftElement::E5m2, RightElement::E5m2)];
    let shape = ops.one_of(SHAPES).ok_or("a shape")?;
    let named = ops.take_modifiers();
    let found = named.iter().filter_map(|name| ELEMENTS.iter().find(|(known, ..)| known == name));
    let [first, second] = found.collect::<Vec<_>>()[..] else { return Err("the elements".to_owned()) };
    let (ty, addend) = match named.contains(&"F32") {
        true => (Type::F32, Addend::F32),
        false => (Type::F16, Addend::F16),
    };
    let builder = begun(ops).field(shape).field(ty).field(addend);
    product("QMMA", ops, builder.field(first.1).field(second.2))
}

fn imma(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    const SHAPES: &[(&str, MatrixShape)] = &[
        ("8816", MatrixShape::M8n8k16),
        ("8832", MatrixShape::M8n8k32),
        ("16816", MatrixShape::M16n8k16),
        ("16832", MatrixShape::M16n8k32),
        ("16864", MatrixShape::M16n8k64),
        ("168128", MatrixShape::M16n8k128),
    ];
    const ELEMENTS: &[(&str, LeftElement, RightElement)] = &[
        ("S8", LeftElement::S8, RightElement::S8),
        ("U8", LeftElement::U8, RightElement::U8),
        ("S4", LeftElement::S4, RightElement::S4),
        ("U4", LeftElement::U4, RightElement::U4),
    ];
    let shape = ops.one_of(SHAPES).ok_or("a shape")?;
    let named = ops.take_modifiers();
    let found = named.iter().filter_map(|name| ELEMENTS.iter().find(|(known, ..)| known == name));
    let [first, second] = found.collect::<Vec<_>>()[..] else { return Err("the elements".to_owned()) };
    let builder = begun(ops).field(shape).field(Type::S32).field(Addend::S32);
    let builder = builder.field(first.1).field(second.2);
    product("IMMA", ops, if named.contains(&"SAT") { builder.field(SatFinite::SatFinite) } else { builder })
}
