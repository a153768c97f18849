//! Logic, shifts, bit fields and bytes.

use super::{Op, apply, mask, number};
use oriole_ir::ops::field::{BoolOp, PrmtMode, ShiftAmount, ShiftDirection};
use oriole_ir::ops::{Opcode, Type};

pub(super) fn fold(op: &Op<'_>) -> Option<Vec<u64>> {
    let ty = op.ty();
    let (a, b) = (op.src(0)?, op.src(1));
    let value = match op.opcode {
        Opcode::And => a & b?,
        Opcode::Or => a | b?,
        Opcode::Xor => a ^ b?,
        Opcode::Not => !a,
        Opcode::CNot => u64::from(mask(a, ty) == 0),
        Opcode::Lop3 => lop3(op)?.into(),
        Opcode::Lop3P => {
            let value = lop3(op)?;
            let out = apply(op.field::<BoolOp>()?, value != 0, op.predicate(4)?);
            return Some(vec![value.into(), out.into()]);
        }
        Opcode::Shf => funnel(op)?.into(),
        Opcode::Shl => shift(a, op.word(1)?, ty, true),
        Opcode::Shr => shift(a, op.word(1)?, ty, false),
        Opcode::Prmt => permute(op)?.into(),
        Opcode::Popc => mask(a, ty).count_ones().into(),
        Opcode::Clz => (mask(a, ty).leading_zeros() + ty.bits() - 64).into(),
        Opcode::Bfind => most_significant(op, ty)?.into(),
        Opcode::Brev => a.reverse_bits() >> (64 - ty.bits()),
        Opcode::Bfe => extract(a, op.word(1)?, op.word(2)?, ty),
        Opcode::Bfi => insert(a, b?, op.word(2)?, op.word(3)?, ty),
        Opcode::Szext => extend(op, ty)?.into(),
        Opcode::Bmsk => bit_mask(op)?.into(),
        _ => return None,
    };
    Some(vec![mask(value, ty_of_result(op, ty))])
}

/// Counts are 32 bits wide whatever they count.
fn ty_of_result(op: &Op<'_>, ty: Type) -> Type {
    match op.opcode {
        Opcode::Popc | Opcode::Clz | Opcode::Bfind => Type::B32,
        _ => ty,
    }
}

/// Concatenation, lowest part first; at most 64 bits.
pub(super) fn pack(op: &Op<'_>) -> Option<u64> {
    let (ty, width) = (op.ty(), op.ty().bits() as usize);
    if op.srcs.len() * width > 64 {
        return None;
    }
    let parts = op.srcs.iter().enumerate();
    Some(parts.fold(0, |packed, (i, part)| packed | mask(*part, ty) << (i * width)))
}

fn lop3(op: &Op<'_>) -> Option<u32> {
    let (a, b, c, table) = (op.word(0)?, op.word(1)?, op.word(2)?, op.word(3)?);
    let bit = |i: u32| {
        let row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
        (table >> row & 1) << i
    };
    Some((0..32).map(bit).sum())
}

/// The pair is `b:a`, `a` low.
fn funnel(op: &Op<'_>) -> Option<u32> {
    let pair = u64::from(op.word(1)?) << 32 | u64::from(op.word(0)?);
    let count = op.word(2)?;
    let count = if op.wraps() { count & 31 } else { count.min(32) };
    Some(match op.field::<ShiftDirection>()? {
        ShiftDirection::Left => (u128::from(pair) << count >> 32) as u32,
        ShiftDirection::Right => (pair >> count) as u32,
    })
}

fn shift(bits: u64, count: u32, ty: Type, left: bool) -> u64 {
    let count = count.min(ty.bits());
    let value = number(bits, ty);
    (if left { value << count } else { value >> count }) as u64
}

/// The byte that each byte of the result comes from, highest first, by mode and the selector's low two bits.
const PERMUTATIONS: [(PrmtMode, [u32; 4]); 6] = [
    (PrmtMode::F4e, [0x3210, 0x4321, 0x5432, 0x6543]),
    (PrmtMode::B4e, [0x5670, 0x6701, 0x7012, 0x0123]),
    (PrmtMode::Rc8, [0x0000, 0x1111, 0x2222, 0x3333]),
    (PrmtMode::Ecl, [0x3210, 0x3211, 0x3222, 0x3333]),
    (PrmtMode::Ecr, [0x0000, 0x1110, 0x2210, 0x3210]),
    (PrmtMode::Rc16, [0x1010, 0x3232, 0x1010, 0x3232]),
];

fn permute(op: &Op<'_>) -> Option<u32> {
    let bytes = u64::from(op.word(1)?) << 32 | u64::from(op.word(0)?);
    let mode = op.field::<PrmtMode>()?;
    let selector = match PERMUTATIONS.iter().find(|(m, _)| *m == mode) {
        Some((_, by_control)) => by_control[(op.word(2)? & 3) as usize],
        None => op.word(2)?,
    };
    let byte = |i: u32| {
        let select = selector >> (4 * i) & 15;
        let byte = (bytes >> (8 * (select & 7))) as u8;
        let byte = if select & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 };
        u32::from(byte) << (8 * i)
    };
    Some((0..4).map(byte).sum())
}

fn most_significant(op: &Op<'_>, ty: Type) -> Option<u32> {
    let value = number(op.src(0)?, ty);
    let value = mask((if value < 0 { !value } else { value }) as u64, ty);
    let from_top = op.field::<ShiftAmount>() == Some(ShiftAmount::ShiftAmt);
    Some(match value.checked_ilog2() {
        None => u32::MAX,
        Some(position) if from_top => ty.bits() - 1 - position,
        Some(position) => position,
    })
}

/// PTX ISA, `bfe`, as written there.
fn extract(a: u64, position: u32, length: u32, ty: Type) -> u64 {
    let (position, length, top) = (position & 0xff, length & 0xff, ty.bits() - 1);
    let at = |i: u32| a >> i & 1;
    let sign = if !ty.is_signed() || length == 0 { 0 } else { at((position + length - 1).min(top)) };
    let bit = |i: u32| if i < length && position + i <= top { at(position + i) } else { sign };
    (0..=top).fold(0, |field, i| field | bit(i) << i)
}

/// PTX ISA, `bfi`: `a` into `b`.
fn insert(a: u64, b: u64, position: u32, length: u32, ty: Type) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let places = (position..ty.bits()).take(length as usize);
    places.fold(b, |field, i| field & !(1 << i) | (a >> (i - position) & 1) << i)
}

/// PTX ISA, `szext`.
fn extend(op: &Op<'_>, ty: Type) -> Option<u32> {
    let (a, count) = (op.word(0)?, op.word(1)?);
    if count >= 32 && !op.wraps() {
        return Some(a);
    }
    Some(match (count & 31, ty.is_signed()) {
        (0, _) => 0,
        (n, true) => ((a << (32 - n)) as i32 >> (32 - n)) as u32,
        (n, false) => a << (32 - n) >> (32 - n),
    })
}

/// PTX ISA, `bmsk`: ones from a position, of a length.
fn bit_mask(op: &Op<'_>) -> Option<u32> {
    let (position, length) = (op.word(0)?, op.word(1)?);
    let (position, length) = if op.wraps() { (position & 31, length & 31) } else { (position.min(32), length.min(32)) };
    let ones = (1u64 << length) - 1;
    Some((ones << position) as u32)
}
