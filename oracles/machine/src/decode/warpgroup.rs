//! Products of warpgroups. A warp computes its 16 rows of the 64 by itself, when the instruction is executed: that is
//! as early as it may be done, so nothing is left to wait for.

use oriole_ir::InstBuilder;
use oriole_ir::ops::{
    Addend, BitProduct, LeftElement, LeftLayout, MatrixShape, Opcode, RightElement, RightLayout, SatFinite, Type,
};
use oriole_sass::row::What;
use oriole_semantics::tensor::{COLUMNS, MatrixProduct, Side};

use super::aligned;
use crate::operands::{Operands, Unknown};
use crate::program::*;

/// The first bit of the register that is added to.
const SUM: u8 = 64;

/// The operation of a mnemonic of this family.
pub fn decode(base: &str, ops: &mut Operands<'_>) -> Option<Result<Kind, Unknown>> {
    Some(match base {
        "WARPGROUP" => Ok(Kind::Nop),
        "HGMMA" | "QGMMA" | "IGMMA" | "BGMMA" => multiply(base, ops),
        _ => return None,
    })
}

/// Operands: the result, the first factor where it is in registers, where the factors in shared memory are described,
/// the addend.
fn multiply(base: &str, ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    // For a group without products ptxas writes one whose result goes nowhere; its matrices are not there.
    if ops.dst(0)? == SINK {
        ops.take_modifiers();
        return Ok(Kind::Nop);
    }
    let names = ops.take_modifiers().to_vec();
    let has = |name: &str| names.contains(&name);
    if has("SP") {
        return Err("a sparse matrix".to_owned());
    }
    let extents = names.iter().find_map(|name| {
        let mut extents = name.split('x').map(str::parse::<u64>);
        match (extents.next(), extents.next(), extents.next()) {
            (Some(Ok(64)), Some(Ok(columns)), Some(Ok(inner))) => Some((columns, inner)),
            _ => None,
        }
    });
    let (columns, inner) = extents.ok_or("a shape")?;
    let shape = match (base, inner) {
        ("HGMMA", 8) => MatrixShape::M16n8k8,
        ("HGMMA", 16) => MatrixShape::M16n8k16,
        ("QGMMA" | "IGMMA", 32) => MatrixShape::M16n8k32,
        ("BGMMA", 256) => MatrixShape::M16n8k256,
        _ => return Err("a shape".to_owned()),
    };
    let elements = elements(base, &names)?;
    let (ty, addend) = match base {
        "IGMMA" | "BGMMA" => (Type::S32, Addend::S32),
        _ if has("F32") => (Type::F32, Addend::F32),
        _ => (Type::F16, Addend::F16),
    };
    let mut builder = InstBuilder::new(Opcode::Mma).field(shape).field(LeftLayout::Row).field(RightLayout::Col);
    builder = builder.field(ty).field(addend).field(elements.0).field(elements.1);
    if base == "BGMMA" {
        builder = builder.field(BitProduct::And);
    }
    if has("SAT") {
        builder = builder.field(SatFinite::SatFinite);
    }
    let product = MatrixProduct::resolve(&builder).ok_or("no such product")?;
    let described = ops.find(|what| what == What::Within("gdesc")).ok_or("no matrix in shared memory")?;
    let first = ops.row(described)?;
    if first == ZERO {
        return Err("matrices that nothing describes".to_owned());
    }
    let bits = elements.0.bits() as usize;
    let side =
        |negates, transposes| Side { bits, negated: ops.is_marked(negates), transposed: ops.is_marked(transposes) };
    let [a, _, c, d] = product.words().map(|words| words as u16);
    // With the first factor in registers its description is there and says nothing.
    let right = (first + 2, side("negB", "tnspB"));
    let left = match described {
        1 => GroupLeft::Shared(first, side("negA", "tnspA")),
        _ => {
            let negated = ops.part(1)?.has(ops.part(1)?.negate, ops.inst.word);
            GroupLeft::Registers(aligned(ops.row(1)?, a)?, Side { bits, negated, transposed: false })
        }
    };
    let is_sum = |at: &usize| ops.part(*at).is_ok_and(|part| part.at.low == SUM);
    let sum = (0..ops.len()).find(is_sum).ok_or("no sum")?;
    let tiles = (columns / COLUMNS as u64) as u16;
    let (dst, addend) = (ops.dst(0)?, ops.row(sum)?);
    for (row, words) in [(dst, d), (addend, c)].into_iter().filter(|(row, _)| *row < ZERO) {
        let last = aligned(row, words)? + tiles * words - 1;
        if last + 1 >= GENERAL {
            return Err("a sum beyond the last register".to_owned());
        }
        ops.literals.note(last);
    }
    ops.literals.note(right.0 + 1);
    let adds = ops.pred_in(87)?;
    let group = GroupMultiply { product, tiles, inner: inner as usize, left, right, dst, addend, adds };
    Ok(Kind::GroupMultiply(Box::new(group)))
}

/// The elements of both factors.
fn elements(base: &str, names: &[&str]) -> Result<(LeftElement, RightElement), Unknown> {
    const PAIRS: &[(&str, LeftElement, RightElement)] = &[
        ("E4M3", LeftElement::E4m3, RightElement::E4m3),
        ("E5M2", LeftElement::E5m2, RightElement::E5m2),
        ("S8", LeftElement::S8, RightElement::S8),
        ("U8", LeftElement::U8, RightElement::U8),
    ];
    let one = |name: &str| names.contains(&name);
    Ok(match base {
        "HGMMA" if one("BF16") => (LeftElement::Bf16, RightElement::Bf16),
        "HGMMA" if one("TF32") => (LeftElement::Tf32, RightElement::Tf32),
        "HGMMA" => (LeftElement::F16, RightElement::F16),
        "BGMMA" => (LeftElement::B1, RightElement::B1),
        _ => {
            let found = names.iter().filter_map(|name| PAIRS.iter().find(|(known, ..)| known == name));
            let [first, second] = found.collect::<Vec<_>>()[..] else { return Err("the elements".to_owned()) };
            (first.1, second.2)
        }
    })
}
