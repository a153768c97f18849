//! Conversions (PTX ISA, `cvt` and `cvt.pack`).
//!
//! Every source value is an exact number, an infinity or a NaN ([`Source`]); it is rounded once to the destination.
//! - To an integer: rounded (toward zero where nothing is written), then clamped to the type's range. NaN becomes zero,
//!   or the highest bit alone for f64 sources and 64-bit results.
//! - Between integers: cut to the destination's width; `.sat` clamps to its range instead.
//! - To a float: rounded; nothing written means nearest even, which only matters where the ISA asks for a mode. With an
//!   integer rounding, to an integral value first, which the types at hand then hold exactly. `.sat` clamps to [0, 1]
//!   with NaN to zero, `.relu` turns negative values into zero, `.satfinite` turns infinities and overflow into the
//!   largest finite value.
//! - `.ftz` flushes subnormal f32 sources and results only, since the others' subnormals are always kept.
//! - A value that stays in its format keeps its bits, except that NaN becomes canonical.
//!
//! Sub-word signed results sign-extend to 32 bits, all others zero-extend.

use super::round::{self, Exact, Format, encode};
use super::{Eval, Lane, Modifiers};
use oriole_ir::ops::{Opcode, Rounding, Type};

/// The function for an opcode of this file.
pub(super) fn resolve(opcode: Opcode, mods: &Modifiers) -> Option<Eval> {
    match opcode {
        Opcode::Cvt => resolve_cvt(mods),
        Opcode::CvtPack2 => Some(pack_two),
        Opcode::CvtNarrow => Some(narrow_halves),
        Opcode::CvtPackInt => Some(pack_integers),
        _ => None,
    }
}

fn resolve_cvt(mods: &Modifiers) -> Option<Eval> {
    let from_narrow = matches!(mods.src, Type::E4m3x2 | Type::E5m2x2);
    match (is_integer(mods.src), is_integer(mods.ty)) {
        _ if from_narrow => Some(widen_narrow),
        (true, true) => Some(|m, s| Lane::of(int_to_int(m, integer(m.src, s[0])))),
        (true, false) => format(mods.ty).map(|_| int_to_float as Eval),
        (false, true) => format(mods.src).map(|_| float_to_int as Eval),
        (false, false) => format(mods.src).and(format(mods.ty)).map(|_| float_to_float as Eval),
    }
}

fn is_integer(ty: Type) -> bool {
    !ty.is_float()
}

/// The format of a scalar float type, or of the two elements of a packed one.
fn format(ty: Type) -> Option<&'static Format> {
    match ty {
        Type::F16 | Type::F16x2 => Some(&round::F16),
        Type::Bf16 | Type::Bf16x2 => Some(&round::BF16),
        Type::Tf32 => Some(&round::TF32),
        Type::F32 => Some(&round::F32),
        Type::F64 => Some(&round::F64),
        Type::E4m3x2 => Some(&round::E4M3),
        Type::E5m2x2 => Some(&round::E5M2),
        _ => None,
    }
}

/// The value of an integer type's bits.
fn integer(ty: Type, word: u64) -> i128 {
    let unused = 64 - ty.bits().min(64);
    if ty.is_signed() { (((word << unused) as i64) >> unused).into() } else { (word << unused >> unused).into() }
}

/// The smallest and the largest value of an integer type.
fn range(ty: Type) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// An integer's bits in its word: sub-word signed types fill 32 bits.
fn int_word(ty: Type, value: i128) -> u64 {
    let low = integer(ty, value as u64) as u64;
    if ty.bits() <= 32 { low & 0xffff_ffff } else { low }
}

fn int_to_int(m: &Modifiers, value: i128) -> u64 {
    let (low, high) = range(m.ty);
    int_word(m.ty, if m.sat { value.clamp(low, high) } else { value })
}

fn int_to_float(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let value = integer(m.src, s[0]);
    let exact = Exact { negative: value < 0, significand: value.unsigned_abs() as u64, exponent: 0, sticky: false };
    Lane::of(float_word(m, Source::Number(exact)))
}

/// A floating-point source.
#[derive(Clone, Copy)]
enum Source {
    Nan,
    Infinity { negative: bool },
    Number(Exact),
}

impl Source {
    fn of(value: f64) -> Source {
        if value.is_nan() {
            Source::Nan
        } else if value.is_infinite() {
            Source::Infinity { negative: value < 0.0 }
        } else {
            Source::Number(round::decode_f64(value))
        }
    }

    fn is_negative(self) -> bool {
        match self {
            Source::Nan => false,
            Source::Infinity { negative } => negative,
            Source::Number(exact) => exact.negative,
        }
    }
}

/// A scalar source operand's value, exactly.
fn source_value(m: &Modifiers, word: u64) -> f64 {
    let value = match m.src {
        Type::F64 => f64::from_bits(word),
        Type::F32 => f64::from(f32::from_bits(word as u32)),
        Type::F16 => round::to_f64(&round::F16, word & 0xffff),
        _ => round::to_f64(&round::BF16, word & 0xffff),
    };
    let flushed = m.ftz && m.src == Type::F32 && value.abs() < f64::from(f32::MIN_POSITIVE);
    if flushed { 0f64.copysign(value) } else { value }
}

/// Rounds to an integral value; halves go to even under `.rni` and everything else the obvious way.
fn integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Rni | Rounding::Rn => value.round_ties_even(),
        Rounding::Rmi | Rounding::Rm => value.floor(),
        Rounding::Rpi | Rounding::Rp => value.ceil(),
        _ => value.trunc(),
    }
}

fn float_to_int(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let value = source_value(m, s[0]);
    if value.is_nan() {
        let wide = m.src == Type::F64 || m.ty.bits() == 64;
        return Lane::of(if wide { 1 << (m.ty.bits() - 1) } else { 0 }).sign_filled(m.ty);
    }
    let (low, high) = range(m.ty);
    // The cast saturates at the bounds of i128, far outside every destination.
    let rounded = integral(value, m.rounding) as i128;
    Lane::of(int_word(m.ty, rounded.clamp(low, high)))
}

impl Lane {
    /// The value extended to its word as an integer of this type.
    fn sign_filled(self, ty: Type) -> Lane {
        Lane { value: int_word(ty, self.value.into()), ..self }
    }
}

fn is_integral_mode(rounding: Rounding) -> bool {
    matches!(rounding, Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi)
}

fn float_to_float(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let value = source_value(m, s[0]);
    let value = if is_integral_mode(m.rounding) { integral(value, m.rounding) } else { value };
    Lane::of(float_word(m, Source::of(value)))
}

/// The destination's bits for a value, with the modifiers of the result.
fn float_word(m: &Modifiers, value: Source) -> u64 {
    let Some(format) = format(m.ty) else { return 0 };
    let bits = rounded(m, format, value);
    let subnormal = bits & format.exponent_field() == 0;
    let bits = if m.ftz && m.ty == Type::F32 && subnormal { bits & format.sign() } else { bits };
    let bits = if m.sat { saturate_unit(format, bits) } else { bits };
    if m.ty == Type::Tf32 { bits << 13 | if bits == format.nan { 0x1fff } else { 0 } } else { bits }
}

/// [0, 1], and zero for NaN.
fn saturate_unit(format: &Format, bits: u64) -> u64 {
    let one = format.one();
    if bits == format.nan || bits & format.sign() != 0 { 0 } else { bits.min(one) }
}

fn rounded(m: &Modifiers, format: &Format, value: Source) -> u64 {
    if m.relu && value.is_negative() {
        return 0;
    }
    let sign = if value.is_negative() { format.sign() } else { 0 };
    let bits = match value {
        Source::Nan => return format.nan,
        Source::Infinity { .. } => sign | format.infinity,
        Source::Number(exact) => encode(format, exact, m.rounding),
    };
    if m.sat_finite && bits & !format.sign() > format.largest { sign | format.largest } else { bits }
}

/// Two values into the halves of a word, the first one high.
fn pack(m: &Modifiers, high: f64, low: f64) -> Lane {
    let width = m.ty.bits() / 2;
    let one = |value| float_word(m, Source::of(value));
    Lane::of(one(high) << width | one(low))
}

fn pack_two(m: &Modifiers, s: &[u64; 5]) -> Lane {
    pack(m, source_value(m, s[0]), source_value(m, s[1]))
}

fn narrow_halves(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let half = |word: u64| round::to_f64(&round::F16, word & 0xffff);
    pack(m, half(s[0] >> 16), half(s[0]))
}

fn widen_narrow(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let Some(format) = format(m.src) else { return Lane::of(0) };
    let byte = |word: u64| round::to_f64(format, word & 0xff);
    pack(m, byte(s[0] >> 8), byte(s[0]))
}

/// The first operand goes above the second, both clamped to the type; for bytes, the low half of the third operand
/// moves to the upper half.
fn pack_integers(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (low, high) = range(m.ty);
    let width = m.ty.bits();
    let clamped = |word: u64| i128::from(word as i32).clamp(low, high) as u64 & ((1 << width) - 1);
    let packed = clamped(s[0]) << width | clamped(s[1]);
    Lane::of((s[2] << (2 * width) | packed) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use oriole_ir::ops::Opcode;

    fn cvt(names: &[&str], word: u64) -> u64 {
        value(Opcode::Cvt, names, &[word])
    }

    fn f32_bits(value: f32) -> u64 {
        value.to_bits().into()
    }

    #[test]
    fn between_integers() {
        assert_eq!(cvt(&["s8", "s32"], 0x180), 0xffff_ff80);
        assert_eq!(cvt(&["u8", "s32"], 0x180), 0x80);
        assert_eq!(cvt(&["s16", "u32"], 0x8000), 0xffff_8000);
        assert_eq!(cvt(&["s64", "s8"], 0xff), u64::MAX);
        assert_eq!(cvt(&["u64", "u8"], 0x1ff), 0xff);
        assert_eq!(cvt(&["sat", "u8", "s32"], 0xffff_ffff), 0);
        assert_eq!(cvt(&["sat", "s8", "s32"], 200), 0x7f);
        assert_eq!(cvt(&["sat", "s8", "s32"], (-200i32 as u32).into()), 0xffff_ff80);
        assert_eq!(cvt(&["sat", "s32", "u64"], u64::MAX), 0x7fff_ffff);
    }

    #[test]
    fn floats_to_integers_clamp() {
        for (mode, down, up) in [("rni", 2, 4), ("rzi", 2, 3), ("rmi", 2, 3), ("rpi", 3, 4)] {
            assert_eq!(cvt(&[mode, "s32", "f32"], f32_bits(2.5)), down, "{mode}");
            assert_eq!(cvt(&[mode, "s32", "f32"], f32_bits(3.5)), up, "{mode}");
        }
        assert_eq!(cvt(&["rmi", "s32", "f32"], f32_bits(-0.5)), 0xffff_ffff);
        assert_eq!(cvt(&["rzi", "u32", "f32"], f32_bits(-5.0)), 0);
        assert_eq!(cvt(&["rzi", "s32", "f32"], f32_bits(1e20)), 0x7fff_ffff);
        assert_eq!(cvt(&["rzi", "s8", "f32"], f32_bits(-1e20)), 0xffff_ff80);
        assert_eq!(cvt(&["rzi", "u64", "f32"], f32_bits(f32::INFINITY)), u64::MAX);
        assert_eq!(cvt(&["rzi", "s32", "f32"], f32_bits(f32::NAN)), 0);
        assert_eq!(cvt(&["rzi", "s64", "f32"], f32_bits(f32::NAN)), 1 << 63);
        assert_eq!(cvt(&["rzi", "s32", "f64"], f64::NAN.to_bits()), 1 << 31);
        assert_eq!(cvt(&["rpi", "u32", "f32"], 1), 1);
        assert_eq!(cvt(&["rpi", "ftz", "u32", "f32"], 1), 0);
    }

    #[test]
    fn integers_to_floats_round() {
        // 2^24 + 1 lies halfway between two f32.
        let halfway = (1 << 24) + 1;
        assert_eq!(cvt(&["rn", "f32", "u32"], halfway), f32_bits(16_777_216.0));
        assert_eq!(cvt(&["rp", "f32", "u32"], halfway), f32_bits(16_777_218.0));
        assert_eq!(cvt(&["rz", "f32", "s32"], (-(halfway as i32) as u32).into()), f32_bits(-16_777_216.0));
        assert_eq!(cvt(&["rm", "f32", "s32"], (-(halfway as i32) as u32).into()), f32_bits(-16_777_218.0));
        assert_eq!(cvt(&["rn", "f64", "u64"], u64::MAX), 18_446_744_073_709_551_616f64.to_bits());
        assert_eq!(cvt(&["rz", "f64", "u64"], u64::MAX), 18_446_744_073_709_549_568f64.to_bits());
        assert_eq!(cvt(&["rn", "f16", "u32"], 65520), 0x7c00);
        assert_eq!(cvt(&["rz", "f16", "u32"], 65520), 0x7bff);
        assert_eq!(cvt(&["rn", "f32", "s8"], 0x80), f32_bits(-128.0));
    }

    #[test]
    fn between_floats() {
        assert_eq!(cvt(&["rn", "f16", "f32"], f32_bits(65519.0)), 0x7bff);
        assert_eq!(cvt(&["rn", "f16", "f32"], f32_bits(65520.0)), 0x7c00);
        assert_eq!(cvt(&["rn", "f16", "f32"], 0x3300_0000), 0);
        assert_eq!(cvt(&["rn", "f16", "f32"], 0x3300_0001), 1);
        assert_eq!(cvt(&["rn", "bf16", "f32"], 0x3f80_8000), 0x3f80);
        assert_eq!(cvt(&["rn", "bf16", "f32"], 0x3f81_8000), 0x3f82);
        assert_eq!(cvt(&["rn", "bf16", "f32"], f32_bits(f32::NAN)), 0x7fff);
        assert_eq!(cvt(&["f32", "f16"], 0x0001), f32_bits(5.960_464_5e-8));
        assert_eq!(cvt(&["f32", "f16"], 0xfe00), 0x7fff_ffff);
        assert_eq!(cvt(&["rn", "f32", "f64"], 1e-50f64.to_bits()), 0);
        assert_eq!(cvt(&["rp", "f32", "f64"], 1e-50f64.to_bits()), 1);
        assert_eq!(cvt(&["rn", "ftz", "f32", "f64"], 1e-40f64.to_bits()), 0);
        assert_eq!(cvt(&["f64", "f32"], f32_bits(-0.0)), 1 << 63);
        assert_eq!(cvt(&["rni", "f32", "f32"], f32_bits(2.5)), f32_bits(2.0));
        assert_eq!(cvt(&["rpi", "f32", "f32"], f32_bits(-0.5)), f32_bits(-0.0));
        assert_eq!(cvt(&["sat", "f32", "f32"], f32_bits(f32::NAN)), 0);
        assert_eq!(cvt(&["sat", "f32", "f32"], f32_bits(-3.0)), 0);
        assert_eq!(cvt(&["sat", "f32", "f32"], f32_bits(3.0)), f32_bits(1.0));
        assert_eq!(cvt(&["rn", "relu", "f16", "f32"], f32_bits(-3.0)), 0);
        assert_eq!(cvt(&["rn", "relu", "f16", "f32"], f32_bits(f32::NAN)), 0x7fff);
        assert_eq!(cvt(&["rn", "satfinite", "f16", "f32"], f32_bits(f32::NEG_INFINITY)), 0xfbff);
    }

    #[test]
    fn tf32_keeps_the_place_of_f32() {
        assert_eq!(cvt(&["rna", "tf32", "f32"], 0x3f80_1000), 0x3f80_2000);
        assert_eq!(cvt(&["rn", "tf32", "f32"], 0x3f80_1000), 0x3f80_0000);
        assert_eq!(cvt(&["rz", "tf32", "f32"], 0x3f80_1fff), 0x3f80_0000);
        assert_eq!(cvt(&["rna", "tf32", "f32"], f32_bits(f32::NAN)), 0x7fff_ffff);
    }

    #[test]
    fn eight_bit_floats() {
        let pack =
            |ty: &str, a, b| value(Opcode::CvtPack2, &["rn", "satfinite", ty, "f32"], &[f32_bits(a), f32_bits(b)]);
        assert_eq!(pack("e4m3x2", 448.0, -1000.0), 0x7efe);
        assert_eq!(pack("e4m3x2", 1.0, f32::NAN), 0x387f);
        assert_eq!(pack("e4m3x2", 0.001_953_125, 0.000_976_562_5), 0x0100);
        assert_eq!(pack("e5m2x2", 57344.0, 1e9), 0x7b7b);
        assert_eq!(pack("e5m2x2", 1.0, -2.0), 0x3cc0);
        assert_eq!(value(Opcode::CvtNarrow, &["rn", "satfinite", "e4m3x2", "f16x2"], &[0x3c00_fc00]), 0x38fe);
        assert_eq!(cvt(&["rn", "f16x2", "e4m3x2"], 0x387e), 0x3c00_5f00);
        assert_eq!(cvt(&["rn", "f16x2", "e4m3x2"], 0x7f01), 0x7fff_1800);
        assert_eq!(cvt(&["rn", "f16x2", "e5m2x2"], 0x7cbc), 0x7c00_bc00);
        assert_eq!(cvt(&["rn", "relu", "f16x2", "e5m2x2"], 0x7cbc), 0x7c00_0000);
    }

    #[test]
    fn packed_results() {
        let operands = [f32_bits(1.0), f32_bits(-2.0)];
        assert_eq!(value(Opcode::CvtPack2, &["rn", "f16x2", "f32"], &operands), 0x3c00_c000);
        assert_eq!(value(Opcode::CvtPack2, &["rn", "relu", "bf16x2", "f32"], &operands), 0x3f80_0000);
        let pack =
            |ty: &str, a: i32, b: i32, c| value(Opcode::CvtPackInt, &[ty], &[a as u32 as u64, b as u32 as u64, c]);
        assert_eq!(pack("u8", 300, -5, 0xaaaa_bbcc), 0xbbcc_ff00);
        assert_eq!(pack("s8", 300, -300, 0xaaaa_bbcc), 0xbbcc_7f80);
        assert_eq!(pack("s16", -1, 40000, 0xffff_ffff), 0xffff_7fff);
        assert_eq!(pack("u16", -1, 70000, 0), 0x0000_ffff);
        assert_eq!(pack("u4", 16, -3, 0xfe12_3456), 0x1234_56f0);
        assert_eq!(pack("s4", 16, -9, 0xfe12_3456), 0x1234_5678);
        assert_eq!(pack("u2", 2, 9, 0xfedc_ba98), 0xedcb_a98b);
        assert_eq!(pack("s2", 1, -7, 0xfedc_ba98), 0xedcb_a986);
    }
}
