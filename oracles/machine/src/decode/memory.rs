//! Accesses.

use oriole_ir::ops::{AtomOp, Type};
use oriole_sass::row::{File, What};

use super::aligned;
use crate::operands::{Operands, Unknown};
use crate::program::*;

/// The operation of a mnemonic of this family.
pub fn decode(base: &str, ops: &mut Operands<'_>) -> Option<Result<Kind, Unknown>> {
    Some(match base {
        "LDC" | "ULDC" | "LDCU" => constant(ops),
        "LDGMC" => load_combined(ops),
        "LDG" => load(ops, Space::Global),
        "LD" => load(ops, Space::Generic),
        "LDS" => load(ops, Space::Shared),
        "LDL" => load(ops, Space::Local),
        "STG" => store(ops, Space::Global),
        "ST" => store(ops, Space::Generic),
        "STS" => store(ops, Space::Shared),
        "STL" => store(ops, Space::Local),
        "ATOMG" => atomic(ops, Space::Global),
        "ATOM" => atomic(ops, Space::Generic),
        "ATOMS" => atomic(ops, Space::Shared),
        "RED" | "REDG" => atomic(ops, Space::Generic),
        "LDGSTS" => copy(ops),
        "QSPC" => window(ops),
        _ => return None,
    })
}

/// How much an access moves.
fn width(ops: &Operands<'_>) -> Width {
    const WIDTHS: &[(&str, Width)] = &[
        ("U8", Width { bytes: 1, signed: false }),
        ("S8", Width { bytes: 1, signed: true }),
        ("U16", Width { bytes: 2, signed: false }),
        ("S16", Width { bytes: 2, signed: true }),
        ("64", Width { bytes: 8, signed: false }),
        ("128", Width { bytes: 16, signed: false }),
    ];
    ops.one_of(WIDTHS).unwrap_or(Width { bytes: 4, signed: false })
}

/// The places of the general registers that are no part of an address.
fn registers(ops: &Operands<'_>) -> Vec<usize> {
    let is_register = |at: &usize| ops.part(*at).is_ok_and(|part| part.what == What::Register(File::R));
    (0..ops.len()).filter(is_register).collect()
}

/// Half of an access of 32 bytes.
const HALF: Width = Width { bytes: 16, signed: false };

/// The registers of an access of 32 bytes, in the order of the text, of which nothing may be left out.
fn halves(ops: &Operands<'_>) -> Result<[usize; 2], Unknown> {
    let mask = ops.find(|what| matches!(what, What::Immediate(_))).ok_or("no mask")?;
    match (ops.value(mask)?, &registers(ops)[..]) {
        (0xff, [first, second]) => Ok([*first, *second]),
        _ => Err("a part of 32 bytes".to_owned()),
    }
}

/// The addresses of both halves.
fn addresses(ops: &Operands<'_>, space: Space) -> Result<[Address; 2], Unknown> {
    let lower = address(ops, space)?;
    Ok([lower, Address { offset: lower.offset + 16, ..lower }])
}

/// Operands: result, address.
fn load(ops: &mut Operands<'_>, space: Space) -> Result<Kind, Unknown> {
    if ops.has("256") {
        let [high, low] = halves(ops)?;
        let half = |at: usize, address| -> Result<Kind, Unknown> {
            Ok(Kind::Load { dst: aligned(ops.dst(at)?, 4)?, space, width: HALF, address })
        };
        let [lower, upper] = addresses(ops, space)?;
        let halves = [half(low, lower)?, half(high, upper)?];
        // The half that has the address's register is loaded last.
        let is_base = |at: usize| ops.row(at).is_ok_and(|row| lower.base.is_some_and(|(base, _)| base / 4 == row / 4));
        let [first, second] = halves;
        return Ok(Kind::Sequence(Box::new(if is_base(low) { [second, first] } else { [first, second] })));
    }
    let data = *registers(ops).first().ok_or("no result")?;
    let width = width(ops);
    let dst = aligned(ops.dst(data)?, u16::from(width.bytes.div_ceil(4)))?;
    Ok(Kind::Load { dst, space, width, address: address(ops, space)? })
}

/// Operands: result, address.
fn load_combined(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let ty = ops.one_of(&[("32", Type::U32)]).or_else(|| ops.one_of(TYPES)).ok_or("a type")?;
    let combine = match () {
        () if ops.has("F32ADD") || ops.has("HPADD") => OfReplicas::SingleSum(ty),
        () => OfReplicas::Op(ops.one_of(OPERATIONS).ok_or("an operation")?, ty),
    };
    let bytes = (ty.bits() / 8) as u8 * ops.one_of(VECTORS).unwrap_or(1);
    let data = *registers(ops).first().ok_or("no result")?;
    let dst = aligned(ops.dst(data)?, u16::from(bytes.div_ceil(4)))?;
    Ok(Kind::LoadCombined { dst, bytes, combine, address: address(ops, Space::Global)? })
}

/// Operands: address, value.
fn store(ops: &mut Operands<'_>, space: Space) -> Result<Kind, Unknown> {
    if ops.has("256") {
        let [low, high] = halves(ops)?;
        let half = |at: usize, address| -> Result<Kind, Unknown> {
            Ok(Kind::Store { src: aligned(ops.row(at)?, 4)?, space, width: HALF, address })
        };
        let [lower, upper] = addresses(ops, space)?;
        return Ok(Kind::Sequence(Box::new([half(low, lower)?, half(high, upper)?])));
    }
    let data = *registers(ops).last().ok_or("no value")?;
    let width = width(ops);
    let src = aligned(ops.row(data)?, u16::from(width.bytes.div_ceil(4)))?;
    Ok(Kind::Store { src, space, width, address: address(ops, space)? })
}

/// The address of an access: of two words where the instruction says so.
fn address(ops: &Operands<'_>, space: Space) -> Result<Address, Unknown> {
    let mut address = ops.address(0)?;
    if matches!(space, Space::Global | Space::Generic) && ops.has("E") {
        let narrow = ops.find(|what| what == What::Base).is_some_and(|at| ops.suffix(at) == Ok("U32"));
        let (general, uniform) = (if narrow { 1 } else { 2 }, 2);
        address.base = address.base.map(|(row, _)| aligned(row, general).map(|row| (row, !narrow))).transpose()?;
        address.uniform = address.uniform.map(|(row, _)| aligned(row, uniform).map(|row| (row, true))).transpose()?;
    }
    Ok(address)
}

/// Operands: result, then a word of a bank, or a register and a word.
fn constant(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let dst = ops.dst(0)?;
    let at = ops.find(|what| what == What::ConstantByte).ok_or("a bank that a register names")?;
    let part = ops.part(at)?;
    let value = part.value(ops.inst.word);
    let (bank, raw) = ((value & 0x1f) as u8, value >> part.at.len);
    if ["IL", "IS", "ISL"].iter().any(|name| ops.has(name)) {
        return Err("an address that names a bank".to_owned());
    }
    let index = ops.find(|what| matches!(what, What::Indexed(_)));
    let base = match index {
        Some(at) => Some(ops.row(at)?).filter(|row| *row != ZERO),
        None => None,
    };
    let offset = match index {
        Some(_) => oriole_sass::text::signed(raw, part.above.len),
        None => raw as i64,
    };
    let address = Address { base: base.map(|row| (row, false)), uniform: None, offset, scale: 1 };
    let width = width(ops);
    aligned(dst, u16::from(width.bytes.div_ceil(4)))?;
    Ok(Kind::LoadConstant { dst, width, bank, address })
}

/// What is done with memory, by the names that words have for it.
pub(super) const OPERATIONS: &[(&str, AtomOp)] = &[
    ("ADD", AtomOp::Add),
    ("MIN", AtomOp::Min),
    ("MAX", AtomOp::Max),
    ("INC", AtomOp::Inc),
    ("DEC", AtomOp::Dec),
    ("AND", AtomOp::And),
    ("OR", AtomOp::Or),
    ("XOR", AtomOp::Xor),
    ("EXCH", AtomOp::Exch),
];

const TYPES: &[(&str, Type)] = &[
    ("S32", Type::S32),
    ("S64", Type::S64),
    ("64", Type::U64),
    ("F32", Type::F32),
    ("F32x2", Type::F32),
    ("F32x4", Type::F32),
    ("F64", Type::F64),
    ("F16x2", Type::F16x2),
    ("F16x4", Type::F16x2),
    ("F16x8", Type::F16x2),
    ("BF16x2", Type::Bf16x2),
    ("BF16x4", Type::Bf16x2),
    ("BF16x8", Type::Bf16x2),
    ("BF16_V2", Type::Bf16x2),
    ("128", Type::B128),
];

/// How many elements a vector has, each of which is operated on by itself.
const VECTORS: &[(&str, u8)] = &[("F32x2", 2), ("F32x4", 4), ("F16x4", 2), ("F16x8", 4), ("BF16x4", 2), ("BF16x8", 4)];

/// Operands: a predicate and the old value where there are any, the address, the operand, and its replacement.
fn atomic(ops: &mut Operands<'_>, space: Space) -> Result<Kind, Unknown> {
    let start = ops
        .find(|what| matches!(what, What::Base | What::UniformBase) || what.offset_unit().is_some())
        .ok_or("no address")?;
    let registers = registers(ops);
    let old = registers.iter().find(|at| **at < start);
    let dst = old.map_or(Ok(SINK), |at| ops.dst(*at))?;
    let done = ops.pred_out(81);
    let mut srcs = [ZERO; 2];
    for (src, at) in srcs.iter_mut().zip(registers.iter().filter(|at| **at > start)) {
        *src = ops.row(*at)?;
    }
    let ty = ops.one_of(TYPES).unwrap_or(Type::U32);
    // Sums of single floats in global memory flush denormals, as in PTX.
    ops.has("FTZ");
    let modify = match () {
        () if ops.has("CAST") => Modify::Cast,
        () if ops.has("CAS") => Modify::Cas,
        () if ops.has("POPC") && ops.has("INC") && ops.has("32") => Modify::Count,
        () => Modify::Op(ops.one_of(OPERATIONS).ok_or("an operation")?, ty),
    };
    let bytes = (ty.bits() / 8) as u8 * ops.one_of(VECTORS).unwrap_or(1);
    for row in [dst, srcs[0], srcs[1]] {
        aligned(row, u16::from(bytes.div_ceil(4)))?;
    }
    Ok(Kind::Atomic { dst, space, bytes, modify, address: address(ops, space)?, srcs, done })
}

/// Operands: address in shared memory, address in global memory, the predicate by which it is filled with zeros.
fn copy(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let (to, mut from) = (ops.address(0)?, ops.address(1)?);
    let wide =
        |register: Option<(u16, bool)>| register.map(|(row, _)| aligned(row, 2).map(|row| (row, true))).transpose();
    (from.base, from.uniform) = (wide(from.base)?, wide(from.uniform)?);
    let fills = ops.has("ZFILL");
    let unless = ops.any_pred().unwrap_or(Pred::TRUE);
    Ok(Kind::CopyAsync { to, from, bytes: width(ops).bytes, fills, unless })
}

/// Operands: predicate, result, address.
fn window(ops: &mut Operands<'_>) -> Result<Kind, Unknown> {
    let window = match () {
        () if ops.has("S") => Window::Shared,
        () if ops.has("D") => Window::Cluster,
        () if ops.has("L") => Window::Local,
        () if ops.has("G") => Window::Global,
        () => return Err("a window".to_owned()),
    };
    Ok(Kind::Window(ops.pred_out(81), window, address(ops, Space::Generic)?))
}
