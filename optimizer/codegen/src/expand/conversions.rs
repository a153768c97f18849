//! Conversions that the machine does in two steps, and integers that saturate.
//!
//! A float that saturates is converted, then kept between zero and one. Integers are kept within the type in 64 bits.
//! Only numbers of 32 bits are flushed: a source before the conversion, a result behind it. Integers have nothing to
//! flush.

use oriole_ir::ops::{FieldValue, Ftz, Opcode, Rounding, Saturate, SrcType, Type};
use oriole_ir::{Function, Inst, Operand};

/// The text of a function that does an operation, and the operands that it takes.
pub(super) fn body(func: &Function, inst: Inst) -> Option<(String, Vec<Operand>)> {
    let data = func.inst(inst);
    if data.opcode != Opcode::Cvt {
        return None;
    }
    let (to, from) = (data.ty(), Type::from(data.field::<SrcType>()?));
    let (saturates, flushes) = (data.field() == Some(Saturate::Sat), data.field() == Some(Ftz::Ftz));
    let rounding = match data.field::<Rounding>() {
        None | Some(Rounding::Default) => String::new(),
        Some(rounding) => format!(".{}", rounding.name()),
    };
    let flush = if flushes { ".ftz" } else { "" };
    let (of, mid, is) = (register(from, 0), register(to, 2), register(to, 1));
    let (into, out_of) = (to.name(), from.name());
    let lines = match () {
        () if saturates && to.is_float() => {
            if to == from && rounding.is_empty() {
                if to != Type::F64 {
                    return None;
                }
                "  %d2 = fmax.f64 %d0, 0\n  %d1 = fmin.f64 %d2, 0x3ff0000000000000\n".to_owned()
            } else {
                format!("  {mid} = cvt{rounding}{flush}.{into}.{out_of} {of}\n  {is} = cvt.sat.{into}.{into} {mid}\n")
            }
        }
        () if saturates && !from.is_float() => saturated(to, from)?,
        () if flushes && !from.is_float() => format!("  {is} = cvt{rounding}.{into}.{out_of} {of}\n"),
        () if flushes && from == Type::F32 && to.bits() == 16 && to.is_float() => {
            format!("  %r2 = cvt.ftz.f32.f32 %r0\n  {is} = cvt{rounding}.{into}.f32 %r2\n")
        }
        () if flushes && from == Type::F64 && to == Type::F32 => {
            format!("  %r2 = cvt{rounding}.f32.f64 %d0\n  %r1 = cvt.ftz.f32.f32 %r2\n")
        }
        () => return None,
    };
    Some((format!("device @f {{\nbb0:\n{lines}  ret\n}}\n"), func.srcs(inst).to_vec()))
}

/// A register of a type.
fn register(ty: Type, number: u32) -> String {
    format!("%{}{number}", if ty.bits() == 64 { "d" } else { "r" })
}

/// The lines that keep an integer within another type; none where rows do.
fn saturated(to: Type, from: Type) -> Option<String> {
    let has_row = from.bits() == 32 && to.bits() <= 32 || (to, from) == (Type::U32, Type::U64);
    if has_row {
        return None;
    }
    let source = match from.bits() {
        64 => "  %d2 = mov.b64 %d0\n".to_owned(),
        _ => format!("  %d2 = cvt.s64.{} %r0\n", from.name()),
    };
    let bits = to.bits();
    let (least, most) = match to.is_signed() {
        true => (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)),
        false => (0, if bits == 64 { i64::MAX } else { (1 << bits) - 1 }),
    };
    let within = match (from, to) {
        (Type::U64, _) => format!("  %d3 = imin.u64 %d2, {most}\n"),
        // Of these the values are below the limit in any case.
        (_, Type::U64) => "  %d3 = imax.s64 %d2, 0\n".to_owned(),
        _ => format!("  %d4 = imax.s64 %d2, {:#x}\n  %d3 = imin.s64 %d4, {most}\n", least as u64),
    };
    let result = match bits {
        64 => "  %d1 = mov.b64 %d3\n".to_owned(),
        _ => format!("  %r1 = cvt.{}.s64 %d3\n", to.name()),
    };
    Some(source + &within + &result)
}
