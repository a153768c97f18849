//! Which operations have a form that runs over all lanes at once; see [`crate::vector`].

use oriole_ir::ops::{
    Compare, Field, FieldValue, Ftz, Opcode, Relu, Rounding, Saturate, ShiftDirection, ShiftMode, SrcType, Type,
};
use oriole_ir::{Function, Inst, InstData};

use crate::program::{Bin32, Bin64, Compared, Kind, PredOp, Test, Tri32, Un32, Wide};

/// The form of an operation that runs over all lanes at once, where there is one.
pub(super) fn lane_kind(func: &Function, inst: Inst, data: &InstData) -> Option<Kind> {
    let ty = data.ty();
    let word = matches!(ty, Type::B32 | Type::U32 | Type::S32);
    let long = matches!(ty, Type::B64 | Type::U64 | Type::S64);
    let signed = ty.is_signed();
    if data.field::<Saturate>() == Some(Saturate::Sat) || data.field::<Relu>() == Some(Relu::Relu) {
        return None;
    }
    let plain_float = data.field::<Ftz>() == Some(Ftz::No)
        && data.field::<Rounding>().is_none_or(|r| matches!(r, Rounding::Default | Rounding::Rn));
    let either = |narrow: Bin32, wide: Bin64| match (word, long) {
        (true, _) => Some(Kind::Bin32(narrow)),
        (_, true) => Some(Kind::Bin64(wide)),
        _ => None,
    };
    match data.opcode {
        Opcode::IAdd => either(Bin32::Add, Bin64::Add),
        Opcode::ISub => either(Bin32::Sub, Bin64::Sub),
        Opcode::IMulLo => either(Bin32::Mul, Bin64::Mul),
        Opcode::IMulHi if word => Some(Kind::Bin32(if signed { Bin32::MulHiS } else { Bin32::MulHiU })),
        Opcode::IMadLo if word => Some(Kind::Tri32(Tri32::Mad)),
        Opcode::IMulWide if word => Some(Kind::Wide(if signed { Wide::MulS } else { Wide::MulU })),
        Opcode::IMadWide if word => Some(Kind::Wide(if signed { Wide::MadS } else { Wide::MadU })),
        Opcode::IMin if word => Some(Kind::Bin32(if signed { Bin32::MinS } else { Bin32::MinU })),
        Opcode::IMax if word => Some(Kind::Bin32(if signed { Bin32::MaxS } else { Bin32::MaxU })),
        Opcode::INeg if word => Some(Kind::Un32(Un32::Neg)),
        Opcode::IAbs if word => Some(Kind::Un32(Un32::Abs)),
        Opcode::And if ty == Type::Pred => Some(Kind::Pred(PredOp::And)),
        Opcode::Or if ty == Type::Pred => Some(Kind::Pred(PredOp::Or)),
        Opcode::Xor if ty == Type::Pred => Some(Kind::Pred(PredOp::Xor)),
        Opcode::Not if ty == Type::Pred => Some(Kind::Pred(PredOp::Not)),
        Opcode::And => either(Bin32::And, Bin64::And),
        Opcode::Or => either(Bin32::Or, Bin64::Or),
        Opcode::Xor => either(Bin32::Xor, Bin64::Xor),
        Opcode::Not if word => Some(Kind::Un32(Un32::Not)),
        Opcode::Shl => either(Bin32::Shl, Bin64::Shl),
        Opcode::Shr if signed => either(Bin32::ShrS, Bin64::ShrS),
        Opcode::Shr => either(Bin32::ShrU, Bin64::ShrU),
        Opcode::Popc if word => Some(Kind::Un32(Un32::Popc)),
        Opcode::Lop3 => {
            let table = func.srcs(inst).get(3).and_then(|table| func.imm_bits(*table));
            table.map(|table| Kind::Tri32(Tri32::Lop3(table as u8)))
        }
        Opcode::Shf if data.field() == Some(ShiftMode::Wrap) => Some(Kind::Tri32(match data.field() {
            Some(ShiftDirection::Left) => Tri32::FunnelLeftWrap,
            _ => Tri32::FunnelRightWrap,
        })),
        Opcode::Bfe if ty == Type::U32 => Some(Kind::Tri32(Tri32::BfeU32)),
        Opcode::FAdd if plain_float && ty == Type::F32 => Some(Kind::Bin32(Bin32::FAdd)),
        Opcode::FSub if plain_float && ty == Type::F32 => Some(Kind::Bin32(Bin32::FSub)),
        Opcode::FMul if plain_float && ty == Type::F32 => Some(Kind::Bin32(Bin32::FMul)),
        Opcode::FFma if plain_float && ty == Type::F32 => Some(Kind::Tri32(Tri32::Fma)),
        Opcode::FAdd if plain_float && ty == Type::F64 => Some(Kind::Bin64(Bin64::FAdd)),
        Opcode::FSub if plain_float && ty == Type::F64 => Some(Kind::Bin64(Bin64::FSub)),
        Opcode::FMul if plain_float && ty == Type::F64 => Some(Kind::Bin64(Bin64::FMul)),
        Opcode::FNeg if plain_float && ty == Type::F32 => Some(Kind::Un32(Un32::FNeg)),
        Opcode::FAbs if plain_float && ty == Type::F32 => Some(Kind::Un32(Un32::FAbs)),
        Opcode::SelP => match ty.bits() {
            32 => Some(Kind::Sel32),
            64 => Some(Kind::Sel64),
            _ => None,
        },
        Opcode::SetP => comparison(data),
        Opcode::Cvt => conversion(data),
        _ => None,
    }
}

fn comparison(data: &InstData) -> Option<Kind> {
    let (compare, ty) = (data.field::<Compare>()?, data.ty());
    let compared = match ty {
        Type::U32 | Type::B32 => Compared::U32,
        Type::S32 => Compared::S32,
        Type::U64 | Type::B64 => Compared::U64,
        Type::S64 => Compared::S64,
        Type::F32 if data.field() == Some(Ftz::No) => Compared::F32,
        _ => return None,
    };
    let test = match compare {
        Compare::Eq => Test::Eq,
        Compare::Ne => Test::Ne,
        Compare::Lt | Compare::Lo => Test::Lt,
        Compare::Le | Compare::Ls => Test::Le,
        Compare::Gt | Compare::Hi => Test::Gt,
        Compare::Ge | Compare::Hs => Test::Ge,
        _ => return None,
    };
    // An ordered `ne` of floats is false where either is NaN; the lane form of `!=` is true there.
    let unsupported = compared == Compared::F32 && test == Test::Ne;
    (!unsupported).then_some(Kind::SetP(compared, test))
}

fn conversion(data: &InstData) -> Option<Kind> {
    if data.field_index(Field::Rounding).is_some_and(|r| r > Rounding::Rn.index()) {
        return None;
    }
    let from = Type::from(data.field::<SrcType>()?);
    Some(match (data.ty(), from) {
        (Type::U64 | Type::S64, Type::S32) => Kind::Sext64,
        (Type::U64 | Type::S64, Type::U32) => Kind::Zext64,
        (Type::U32 | Type::S32, Type::U64 | Type::S64 | Type::U32 | Type::S32) => Kind::Mov32,
        (Type::U32 | Type::S32, Type::U8) => Kind::Un32(Un32::ZextByte),
        (Type::U32 | Type::S32, Type::U16) => Kind::Un32(Un32::ZextHalf),
        (Type::U32 | Type::S32, Type::S8) => Kind::Un32(Un32::SextByte),
        (Type::U32 | Type::S32, Type::S16) => Kind::Un32(Un32::SextHalf),
        (Type::F32, Type::U32) => Kind::Un32(Un32::F32FromU32),
        (Type::F32, Type::S32) => Kind::Un32(Un32::F32FromS32),
        _ => return None,
    })
}
