//! Video instructions (PTX ISA, "Video Instructions"): arithmetic on parts of words.
//!
//! Scalar ones extract a byte, halfword or word of each source, compute a signed result of 34 bits, saturate it to the
//! destination's part, and then either apply a second operation with the third source or write the part into it.
//! SIMD ones pick two halfwords or four bytes out of both sources, compute lane by lane, and either write the lanes of
//! the mask over the third source or add them all to it. The selectors travel in the last source.

use super::compare::ordered;
use super::{Eval, Lane, Modifiers};
use oriole_ir::ops::{Opcode, Scale, SecondOp, SimdSelectors, Type, VideoPart, VideoSelectors};

/// An operation on extracted values, which have at most 33 bits.
type Combine = fn(&Modifiers, i128, i128) -> i128;

/// The function for an opcode of this file.
pub(super) fn resolve(opcode: Opcode, _: &Modifiers) -> Option<Eval> {
    Some(match opcode {
        Opcode::VAdd => |m, s| scalar(m, s, add),
        Opcode::VSub => |m, s| scalar(m, s, sub),
        Opcode::VAbsDiff => |m, s| scalar(m, s, difference),
        Opcode::VMin => |m, s| scalar(m, s, min),
        Opcode::VMax => |m, s| scalar(m, s, max),
        Opcode::VShl => |m, s| scalar(m, s, shl),
        Opcode::VShr => |m, s| scalar(m, s, shr),
        Opcode::VSet => |m, s| scalar(m, s, compare),
        Opcode::VMad => mad,
        Opcode::VAdd2 => |m, s| simd(m, s, 2, add),
        Opcode::VSub2 => |m, s| simd(m, s, 2, sub),
        Opcode::VAvrg2 => |m, s| simd(m, s, 2, average),
        Opcode::VAbsDiff2 => |m, s| simd(m, s, 2, difference),
        Opcode::VMin2 => |m, s| simd(m, s, 2, min),
        Opcode::VMax2 => |m, s| simd(m, s, 2, max),
        Opcode::VSet2 => |m, s| simd(m, s, 2, compare),
        Opcode::VAdd4 => |m, s| simd(m, s, 4, add),
        Opcode::VSub4 => |m, s| simd(m, s, 4, sub),
        Opcode::VAvrg4 => |m, s| simd(m, s, 4, average),
        Opcode::VAbsDiff4 => |m, s| simd(m, s, 4, difference),
        Opcode::VMin4 => |m, s| simd(m, s, 4, min),
        Opcode::VMax4 => |m, s| simd(m, s, 4, max),
        Opcode::VSet4 => |m, s| simd(m, s, 4, compare),
        _ => return None,
    })
}

fn add(_: &Modifiers, a: i128, b: i128) -> i128 {
    a + b
}

fn sub(_: &Modifiers, a: i128, b: i128) -> i128 {
    a - b
}

fn difference(_: &Modifiers, a: i128, b: i128) -> i128 {
    (a - b).abs()
}

fn min(_: &Modifiers, a: i128, b: i128) -> i128 {
    a.min(b)
}

fn max(_: &Modifiers, a: i128, b: i128) -> i128 {
    a.max(b)
}

/// Halves are rounded away from zero.
fn average(_: &Modifiers, a: i128, b: i128) -> i128 {
    let sum = a + b;
    if sum >= 0 { (sum + 1) >> 1 } else { sum >> 1 }
}

fn compare(m: &Modifiers, a: i128, b: i128) -> i128 {
    ordered(m.compare, a.cmp(&b)).into()
}

/// The count is unsigned: at most 32, or modulo 32.
fn shift_count(m: &Modifiers, count: i128) -> u32 {
    if m.wrap { count as u32 & 31 } else { count.clamp(0, 32) as u32 }
}

/// The one scalar operation, besides `vmad`, whose results do not all fit in 34 bits.
fn shl(m: &Modifiers, a: i128, b: i128) -> i128 {
    const UNUSED: u32 = i128::BITS - 34;
    a << shift_count(m, b) << UNUSED >> UNUSED
}

fn shr(m: &Modifiers, a: i128, b: i128) -> i128 {
    a >> shift_count(m, b)
}

/// A bit field of a word, extended as the type says.
fn extract(word: u64, (lowest, width): (u32, u32), signed: bool) -> i128 {
    let field = i128::from(word) >> lowest & ((1 << width) - 1);
    if signed && field >> (width - 1) != 0 { field - (1 << width) } else { field }
}

/// The value clamped to a field of a signed or unsigned type.
fn clamp(value: i128, width: u32, signed: bool) -> i128 {
    if signed { value.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { value.clamp(0, (1 << width) - 1) }
}

/// A word with a field replaced by the low bits of a value.
fn insert(word: u64, (lowest, width): (u32, u32), value: i128) -> u64 {
    let field = ((1u64 << width) - 1) << lowest;
    word & !field & 0xffff_ffff | (value as u64) << lowest & field
}

fn scalar(m: &Modifiers, s: &[u64; 5], combine: Combine) -> Lane {
    let select = VideoSelectors::unpack(s[3] as u32);
    let a = extract(s[0], select.a.bits(), m.src.is_signed());
    let b = extract(s[1], select.b.bits(), m.second.is_signed());
    let result = combine(m, a, b);
    let signed = m.ty.is_signed();
    let result = if m.sat { clamp(result, select.dst.bits().1, signed) } else { result };
    let c = extract(s[2], VideoPart::Word.bits(), signed);
    Lane::of(match m.second_op {
        SecondOp::None => insert(s[2], select.dst.bits(), result),
        SecondOp::Add => insert(0, VideoPart::Word.bits(), result + c),
        SecondOp::Min => insert(0, VideoPart::Word.bits(), if is_less(result, c, signed) { result } else { c }),
        SecondOp::Max => insert(0, VideoPart::Word.bits(), if is_less(result, c, signed) { c } else { result }),
    })
}

/// Compares what the first operation yields with the third source: "the sign of the intermediate result depends on
/// `dtype`", so that a negative one of an unsigned instruction is larger than any word.
fn is_less(result: i128, c: i128, signed: bool) -> bool {
    if signed { result < c } else { (result as u128) < c as u128 }
}

/// `a * b + c`, with negation of the product or of `c`, plus one, shifted right, saturated. The final result is signed
/// if a source is or if anything is negated.
fn mad(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let select = VideoSelectors::unpack(s[3] as u32);
    let a = extract(s[0], select.a.bits(), m.src.is_signed());
    let b = extract(s[1], select.b.bits(), m.second.is_signed());
    let [negate_a, negate_b, negate_c] = select.negate;
    let negate_product = negate_a != negate_b;
    let signed = m.src.is_signed() || m.second.is_signed() || negate_product || negate_c;
    // As in the ISA, negation complements before the extension, so that `c` has its sign bit tested complemented.
    let invert_c = negate_c && !negate_product && !m.plus_one;
    let c = extract(if invert_c { !s[2] } else { s[2] } & 0xffff_ffff, VideoPart::Word.bits(), signed);
    let product = if negate_product && !m.plus_one { -(a * b) } else { a * b };
    let sum = product + c + i128::from(m.plus_one || invert_c);
    let scaled = match m.scale {
        Scale::None => sum,
        Scale::Shr7 => sum >> 7,
        Scale::Shr15 => sum >> 15,
    };
    let result = if m.sat { clamp(scaled, 32, signed) } else { scaled };
    Lane::of(insert(0, VideoPart::Word.bits(), result))
}

/// The lane of a pair of words: the first word's lanes come first.
fn pick(s: &[u64; 5], lane: u8, lanes: u32, signed: bool) -> i128 {
    let width = 32 / lanes;
    let pair = s[1] << 32 | s[0] & 0xffff_ffff;
    extract(pair, (u32::from(lane) % (2 * lanes) * width, width), signed)
}

fn simd(m: &Modifiers, s: &[u64; 5], lanes: u32, combine: Combine) -> Lane {
    let select = SimdSelectors::unpack(s[3] as u32);
    let width = 32 / lanes;
    let mut result = s[2] & 0xffff_ffff;
    for lane in (0..lanes).filter(|lane| select.mask >> lane & 1 == 1) {
        let a = pick(s, select.a[lane as usize], lanes, m.src.is_signed());
        let b = pick(s, select.b[lane as usize], lanes, m.second.is_signed());
        let value = combine(m, a, b);
        let value = if m.sat { clamp(value, width, m.ty == Type::S32) } else { value };
        result = match m.second_op {
            SecondOp::Add => result.wrapping_add(value as u64) & 0xffff_ffff,
            _ => insert(result, (lane * width, width), value),
        };
    }
    Lane::of(result)
}
