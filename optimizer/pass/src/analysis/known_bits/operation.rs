//! What is known of the bits that an operation yields, from those of its operands.
//!
//! Values narrower than 32 bits live in a word that operations zero-extend to (`ops/virtual_level`), and this is about
//! the whole register: the bits above 32 of a word are zero.

use super::bits::{Bits, low};
use oriole_ir::ops::{FieldValue, Opcode, Order, SrcType, Type};
use oriole_ir::{Function, Inst, InstData, Operand, RegInfo};

/// The bits of the result with an index, as the instruction computes it where it executes. `of` says what is known of
/// an operand, and `stored` what a load reads, where that is known.
pub(super) fn result(
    func: &Function,
    inst: Inst,
    index: usize,
    of: &dyn Fn(Operand) -> Bits,
    stored: Option<Bits>,
) -> Bits {
    let (data, srcs) = (func.inst(inst), func.srcs(inst));
    let row = data.opcode.row();
    let src = |index: usize, width: u32| srcs.get(index).map_or(Bits::UNKNOWN, |operand| of(*operand).cut(width));
    let bits = row.dsts.first().and_then(|shape| data.shape_type(*shape)).map_or(64, Type::bits);
    match data.opcode {
        Opcode::Ld => loaded(data, stored),
        _ if index > 0 || row.dsts.len() != 1 || func.dsts(inst).len() != 1 => Bits::UNKNOWN,
        Opcode::Mov => src(0, bits),
        Opcode::Cvt => conversion(data, &src),
        Opcode::Phi | Opcode::Ldu | Opcode::Pack | Opcode::CvtPackInt => Bits::UNKNOWN,
        _ => operation(data, bits, &src).cut(bits),
    }
}

/// How many bits of a register are told apart.
pub(super) fn width(info: RegInfo) -> u32 {
    if info.is_predicate() { 1 } else { 32 * u32::from(info.words) }
}

fn conversion(data: &InstData, src: &dyn Fn(usize, u32) -> Bits) -> Bits {
    let (Some(from), to) = (data.field::<SrcType>().map(Type::from), data.ty()) else {
        return Bits::UNKNOWN;
    };
    let row = data.opcode.row();
    let plain =
        row.fields.iter().zip(data.fields.0).all(|(spec, value)| spec.default.is_none_or(|default| default == value));
    if from.is_float() || to.is_float() || !plain || (to.is_signed() && to.bits() < 32) {
        // Conversions to narrow signed types are sign-extended.
        let narrow = !to.is_signed() && !to.is_float();
        return if narrow { Bits::below(to.bits()) } else { Bits::UNKNOWN };
    }
    let known = src(0, from.bits());
    let sign = 1u64 << (from.bits() - 1);
    match from.is_signed() && known.zeros & sign == 0 {
        false => known.cut(to.bits()),
        true if to.bits() <= from.bits() => known.cut(to.bits()),
        true => Bits { zeros: known.zeros & low(from.bits()) | !low(to.bits()), ones: known.ones },
    }
}

/// What a load yields. Those of narrow unsigned types fill the register with zeros.
fn loaded(data: &InstData, stored: Option<Bits>) -> Bits {
    let ty = data.ty();
    let extends_sign = ty.is_signed() && ty.bits() < 32;
    match stored {
        Some(known) if !extends_sign => known.cut(ty.bits()),
        _ => {
            let zero_extended = matches!(ty, Type::U8 | Type::B8 | Type::U16 | Type::B16);
            let plain = data.field::<Order>().is_some();
            if zero_extended && plain { Bits::below(ty.bits()) } else { Bits::UNKNOWN }
        }
    }
}

/// The result of an operation on registers with one result, before it is cut to its width of `bits`.
pub(super) fn operation(data: &InstData, bits: u32, src: &dyn Fn(usize, u32) -> Bits) -> Bits {
    let ty = data.ty();
    let count = |index: usize| src(index, 32).value().map(|count| count.min(64) as u32);
    let simple = data.fields == with_type(data);
    match data.opcode {
        Opcode::And => {
            let (a, b) = (src(0, bits), src(1, bits));
            Bits { zeros: a.zeros | b.zeros, ones: a.ones & b.ones }
        }
        Opcode::Or => {
            let (a, b) = (src(0, bits), src(1, bits));
            Bits { zeros: a.zeros & b.zeros, ones: a.ones | b.ones }
        }
        Opcode::Xor => {
            let (a, b) = (src(0, bits), src(1, bits));
            Bits { zeros: a.zeros & b.zeros | a.ones & b.ones, ones: a.zeros & b.ones | a.ones & b.zeros }
        }
        Opcode::Not => {
            let a = src(0, bits);
            Bits { zeros: a.ones, ones: a.zeros & low(bits) }
        }
        Opcode::Shl => match count(1) {
            Some(n) if n >= bits => Bits::constant(0),
            Some(n) => Bits { zeros: src(0, bits).zeros << n | low(n), ones: src(0, bits).ones << n },
            None => trailing(src(0, bits).trailing_zeros()),
        },
        Opcode::Shr if !ty.is_signed() || src(0, bits).zeros >> (bits - 1) & 1 == 1 => match count(1) {
            Some(n) if n >= bits => Bits::constant(0),
            Some(n) => Bits { zeros: src(0, bits).zeros >> n | !(u64::MAX >> n), ones: src(0, bits).ones >> n },
            None => Bits::below(src(0, bits).width()),
        },
        Opcode::SelP => src(0, bits).join(src(1, bits)),
        Opcode::IAdd if simple && !matches!(ty, Type::U16x2 | Type::S16x2) => {
            let (a, b) = (src(0, bits), src(1, bits));
            let width = a.width().max(b.width()) + 1;
            Bits { zeros: !low(width.min(64)) | low(a.trailing_zeros().min(b.trailing_zeros())), ones: 0 }
        }
        Opcode::IMulLo | Opcode::IMulWide if !ty.is_signed() => {
            let (a, b) = (src(0, ty.bits()), src(1, ty.bits()));
            let zeros = a.trailing_zeros().saturating_add(b.trailing_zeros()).min(64);
            Bits { zeros: !low((a.width() + b.width()).min(64)) | low(zeros), ones: 0 }
        }
        Opcode::Popc | Opcode::Clz => Bits::below(7),
        Opcode::CNot => Bits::below(1),
        Opcode::Bfe if !ty.is_signed() => match count(2) {
            Some(n) => Bits::below(n & 0xff),
            None => Bits::UNKNOWN,
        },
        _ => Bits::UNKNOWN,
    }
}

fn trailing(zeros: u32) -> Bits {
    Bits { zeros: low(zeros), ones: 0 }
}

/// The fields of an operation that has none but its type.
fn with_type(data: &InstData) -> oriole_ir::ops::FieldValues {
    let row = data.opcode.row();
    let mut fields = row.default_fields();
    if let Some(slot) = row.slot(Type::FIELD) {
        fields.0[slot] = data.ty().index();
    }
    fields
}
