//! Bits: logic, shifts, bit fields, counts and byte permutation (PTX ISA, "Logic and Shift Instructions",
//! "Integer Arithmetic Instructions" from `popc` on, and `prmt`).

use super::integer::{Int, by_int};
use super::{Eval, Lane, Modifiers};
use crate::mbarrier;
use oriole_ir::ops::{BoolOp, Opcode, PrmtMode, Type};

/// The function for an opcode of this file.
pub(super) fn resolve(opcode: Opcode, mods: &Modifiers) -> Option<Eval> {
    let ty = mods.ty;
    match opcode {
        Opcode::And => Some(|m, s| Lane::of(s[0] & s[1] & mask(m.ty))),
        Opcode::Or => Some(|m, s| Lane::of((s[0] | s[1]) & mask(m.ty))),
        Opcode::Xor => Some(|m, s| Lane::of((s[0] ^ s[1]) & mask(m.ty))),
        Opcode::Not => Some(|m, s| Lane::of(!s[0] & mask(m.ty))),
        Opcode::CNot => Some(|m, s| Lane::of(u64::from(s[0] & mask(m.ty) == 0))),
        Opcode::Lop3 => Some(|_, s| Lane::of(lop3(s).into())),
        Opcode::Lop3P => Some(lop3_bool),
        Opcode::Shf => Some(match (mods.right, mods.wrap) {
            (false, false) => |_, s| funnel_left(s, (s[2] as u32).min(32)),
            (false, true) => |_, s| funnel_left(s, s[2] as u32 & 31),
            (true, false) => |_, s| funnel_right(s, (s[2] as u32).min(32)),
            (true, true) => |_, s| funnel_right(s, s[2] as u32 & 31),
        }),
        Opcode::Shl => by_int!(ty, shl),
        Opcode::Shr => by_int!(ty, shr),
        Opcode::Prmt => Some(prmt),
        Opcode::MbarrierPending => Some(|_, s| Lane::of(mbarrier::pending(s[0]))),
        Opcode::Popc => Some(|m, s| Lane::of((s[0] & mask(m.ty)).count_ones().into())),
        Opcode::Clz => by_int!(ty, clz),
        Opcode::Bfind => by_int!(ty, bfind),
        Opcode::Fns => Some(fns),
        Opcode::Brev => by_int!(ty, brev),
        Opcode::Bfe => by_int!(ty, bfe),
        Opcode::Bfi => by_int!(ty, bfi),
        Opcode::Szext => Some(szext),
        Opcode::Bmsk => Some(bmsk),
        _ => None,
    }
}

/// The bits of a type.
#[inline]
fn mask(ty: Type) -> u64 {
    u64::MAX >> (64 - ty.bits().min(64))
}

/// Bit i of the result is the bit of the truth table that the i-th bits of a, b and c select, a highest.
#[inline]
fn lop3(s: &[u64; 5]) -> u32 {
    let [a, b, c, table, _] = s.map(|word| word as u32);
    (0..8).filter(|row| table >> row & 1 == 1).fold(0, |result, row: u32| {
        let pick = |value: u32, bit: u32| if row >> bit & 1 == 1 { value } else { !value };
        result | pick(a, 2) & pick(b, 1) & pick(c, 0)
    })
}

fn lop3_bool(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let result = lop3(s);
    Lane::pair(result.into(), combine(m.bool_op, result != 0, s[4] & 1 == 1))
}

/// A result combined with a predicate.
#[inline]
pub(super) fn combine(op: BoolOp, a: bool, b: bool) -> bool {
    match op {
        BoolOp::And => a & b,
        BoolOp::Or => a | b,
        BoolOp::Xor => a ^ b,
    }
}

/// The pair (b, a), a the low word.
#[inline]
fn word_pair(s: &[u64; 5]) -> u64 {
    s[1] << 32 | s[0] & 0xffff_ffff
}

#[inline]
fn funnel_left(s: &[u64; 5], count: u32) -> Lane {
    Lane::of(((u128::from(word_pair(s)) << count) >> 32) as u64 & 0xffff_ffff)
}

#[inline]
fn funnel_right(s: &[u64; 5], count: u32) -> Lane {
    Lane::of(word_pair(s) >> count & 0xffff_ffff)
}

/// The count is a whole 32-bit value; above the width nothing is left.
fn shl<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    let count = (s[1] as u32).min(I::BITS);
    Lane::of(I::wrap(I::of(s[0]).wide() << count).word())
}

fn shr<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    let count = (s[1] as u32).min(I::BITS);
    Lane::of(I::wrap(I::of(s[0]).wide() >> count).word())
}

fn clz<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(u64::from(I::of(s[0]).word().leading_zeros() + I::BITS - 64))
}

/// The highest bit that differs from the sign (from zero if unsigned), all ones where there is none.
fn bfind<I: Int>(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let value = I::of(s[0]);
    let bits = if value.wide() < 0 { I::wrap(!value.wide()).word() } else { value.word() };
    Lane::of(match bits.checked_ilog2() {
        None => 0xffff_ffff,
        Some(position) if m.shift_amount => u64::from(I::BITS - 1 - position),
        Some(position) => position.into(),
    })
}

/// The position of the n-th set bit, upward from `base` for n > 0 and downward for n < 0; n = 0 looks at the base
/// bit alone. The ISA leaves bases above 31 open; no bit is found there.
fn fns(_: &Modifiers, s: &[u64; 5]) -> Lane {
    let (bits, base, offset) = (s[0] as u32, s[1] as u32, s[2] as i32);
    let is_set = |position: &u32| bits >> position & 1 == 1;
    let nth = offset.unsigned_abs().saturating_sub(1) as usize;
    let found = match offset {
        _ if base > 31 => None,
        0 => Some(base).filter(is_set),
        1.. => (base..32).filter(is_set).nth(nth),
        _ => (0..=base).rev().filter(is_set).nth(nth),
    };
    Lane { value: found.unwrap_or(u32::MAX).into(), second: 0, defined: base < 32 }
}

fn brev<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    Lane::of(I::of(s[0]).word().reverse_bits() >> (64 - I::BITS))
}

/// Position and length are the low bytes of their operands. Bits above the value are the sign, which is the field's
/// highest bit, or the value's highest bit for a field that reaches beyond it; an empty field has no sign.
fn bfe<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    let (position, length) = (s[1] as u8 as u32, s[2] as u8 as u32);
    let value = I::of(s[0]).wide();
    if length == 0 {
        return Lane::of(0);
    }
    // Arithmetic shifts of the 128-bit value fill with the value's own sign, as the ISA does above its last bit.
    let field = value >> position.min(127);
    let room = 128 - length.min(128);
    let extended = if I::wrap(-1).wide() < 0 { field << room >> room } else { field & i128::MAX >> (room.max(1) - 1) };
    Lane::of(I::wrap(extended).word())
}

/// Position and length are the low bytes of their operands; bits beyond the width are dropped.
fn bfi<I: Int>(_: &Modifiers, s: &[u64; 5]) -> Lane {
    let (position, length) = (s[2] as u8 as u32, s[3] as u8 as u32);
    let field = ((1u128 << length.min(64)) - 1).checked_shl(position).unwrap_or(0) as u64;
    let inserted = u128::from(I::of(s[0]).word()).checked_shl(position).unwrap_or(0) as u64;
    let merged = I::of(s[1]).word() & !field | inserted & field;
    Lane::of(I::of(merged).word())
}

/// Extension from `n` bits: zero for n = 0; `.clamp` leaves the value as it is for n >= 32, `.wrap` takes n modulo 32.
fn szext(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let (value, count) = (s[0] as u32, s[1] as u32);
    Lane::of(match count {
        32.. if !m.wrap => value.into(),
        _ if count & 31 == 0 => 0,
        _ => {
            let room = 32 - (count & 31);
            let shifted = value << room;
            if m.ty.is_signed() { (shifted as i32 >> room) as u32 } else { shifted >> room }.into()
        }
    })
}

/// A run of ones from `a`, `b` long; `.clamp` cuts it at bit 31 and is empty from position 32 on; `.wrap` takes both
/// modulo 32 first.
fn bmsk(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let limit = |word: u64| if m.wrap { word & 31 } else { (word & 0xffff_ffff).min(32) };
    let (position, length) = (limit(s[0]), limit(s[1]));
    Lane::of((((1u64 << length) - 1) << position) & 0xffff_ffff)
}

/// Bytes 0 to 3 are those of a, 4 to 7 those of b; a nibble of the selector with its high bit set yields the byte's
/// sign. The other modes select by the two low bits of c (one for `rc16`).
fn prmt(m: &Modifiers, s: &[u64; 5]) -> Lane {
    let bytes = word_pair(s);
    let selector = s[2] & 3;
    let pick = |lane: u64| match m.prmt {
        PrmtMode::Index => s[2] >> (4 * lane) & 15,
        PrmtMode::F4e => selector + lane,
        PrmtMode::B4e => selector.wrapping_sub(lane) & 7,
        PrmtMode::Rc8 => selector,
        PrmtMode::Ecl => lane.max(selector),
        PrmtMode::Ecr => lane.min(selector),
        PrmtMode::Rc16 => (selector & 1) * 2 + (lane & 1),
    };
    let byte = |index: u64| {
        let byte = bytes >> (8 * (index & 7)) & 0xff;
        if index & 8 == 0 { byte } else { (byte >> 7) * 0xff }
    };
    Lane::of((0..4).fold(0, |word, lane| word | byte(pick(lane)) << (8 * lane)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{lane, value};
    use oriole_ir::ops::Opcode;

    #[test]
    fn logic() {
        assert_eq!(value(Opcode::Not, &["pred"], &[1]), 0);
        assert_eq!(value(Opcode::Not, &["b16"], &[0]), 0xffff);
        assert_eq!(value(Opcode::CNot, &["b16"], &[0x1_0000]), 1);
        assert_eq!(value(Opcode::CNot, &["b64"], &[1 << 63]), 0);
        // The tables of a, b and c alone are 0xf0, 0xcc and 0xaa.
        let (a, b, c) = (0xf0f0_1234, 0xcccc_5678, 0xaaaa_9abc);
        assert_eq!(value(Opcode::Lop3, &["b32"], &[a, b, c, 0xf0]), a);
        assert_eq!(value(Opcode::Lop3, &["b32"], &[a, b, c, 0xcc]), b);
        assert_eq!(value(Opcode::Lop3, &["b32"], &[a, b, c, 0xaa]), c);
        assert_eq!(value(Opcode::Lop3, &["b32"], &[a, b, c, 0xf0 & 0xcc ^ 0xaa]), a & b ^ c);
        let result = lane(Opcode::Lop3P, &["and", "b32"], &[1, 1, 0, 0xc0, 0]);
        assert_eq!((result.value, result.second), (1, 0));
        assert_eq!(lane(Opcode::Lop3P, &["or", "b32"], &[1, 1, 0, 0xc0, 0]).second, 1);
    }

    #[test]
    fn shift_counts_clamp() {
        assert_eq!(value(Opcode::Shl, &["b32"], &[1, 31]), 0x8000_0000);
        assert_eq!(value(Opcode::Shl, &["b32"], &[1, 32]), 0);
        assert_eq!(value(Opcode::Shl, &["b64"], &[1, 0xffff_ffff]), 0);
        assert_eq!(value(Opcode::Shl, &["b16"], &[1, 16]), 0);
        assert_eq!(value(Opcode::Shr, &["s32"], &[0x8000_0000, 100]), 0xffff_ffff);
        assert_eq!(value(Opcode::Shr, &["u64"], &[u64::MAX, 64]), 0);
        assert_eq!(value(Opcode::Shr, &["s64"], &[u64::MAX, 64]), u64::MAX);
    }

    #[test]
    fn funnel_shifts() {
        let run = |names: [&str; 3], count| value(Opcode::Shf, &names, &[0x89ab_cdef, 0x0123_4567, count]);
        assert_eq!(run(["l", "clamp", "b32"], 8), 0x2345_6789);
        assert_eq!(run(["l", "clamp", "b32"], 40), 0x89ab_cdef);
        assert_eq!(run(["l", "wrap", "b32"], 40), 0x2345_6789);
        assert_eq!(run(["l", "wrap", "b32"], 32), 0x0123_4567);
        assert_eq!(run(["r", "clamp", "b32"], 8), 0x6789_abcd);
        assert_eq!(run(["r", "clamp", "b32"], 32), 0x0123_4567);
        assert_eq!(run(["r", "wrap", "b32"], 32), 0x89ab_cdef);
    }

    #[test]
    fn counts_and_positions() {
        assert_eq!(value(Opcode::Popc, &["b32"], &[u64::MAX]), 32);
        assert_eq!(value(Opcode::Clz, &["b32"], &[1]), 31);
        assert_eq!(value(Opcode::Clz, &["b64"], &[0]), 64);
        assert_eq!(value(Opcode::Bfind, &["u32"], &[0]), 0xffff_ffff);
        assert_eq!(value(Opcode::Bfind, &["s32"], &[0xffff_ffff]), 0xffff_ffff);
        assert_eq!(value(Opcode::Bfind, &["s64"], &[u64::MAX]), 0xffff_ffff);
        assert_eq!(value(Opcode::Bfind, &["s32"], &[0xffff_fffb]), 2);
        assert_eq!(value(Opcode::Bfind, &["shiftamt", "u32"], &[0x10]), 27);
        assert_eq!(value(Opcode::Bfind, &["shiftamt", "u32"], &[0]), 0xffff_ffff);
        assert_eq!(value(Opcode::Brev, &["b32"], &[1]), 0x8000_0000);
        assert_eq!(value(Opcode::Brev, &["b64"], &[2]), 1 << 62);
    }

    /// The examples of the ISA, and the ends.
    #[test]
    fn nth_set_bit() {
        let run = |base: u64, offset: i32| value(Opcode::Fns, &["b32"], &[0xaaaa_aaaa, base, (offset as u32).into()]);
        assert_eq!([run(3, 1), run(3, -1), run(2, 1), run(2, -1)], [3, 3, 3, 1]);
        assert_eq!([run(3, 0), run(2, 0)], [3, 0xffff_ffff]);
        assert_eq!([run(0, 16), run(0, 17), run(31, -16)], [31, 0xffff_ffff, 1]);
        assert_eq!(run(31, i32::MIN), 0xffff_ffff);
        assert!(!lane(Opcode::Fns, &["b32"], &[1, 32, 1]).defined);
    }

    #[test]
    fn bit_fields() {
        let bfe = |ty: &str, a, position, length| value(Opcode::Bfe, &[ty], &[a, position, length]);
        assert_eq!(bfe("u32", 0x1234_5678, 8, 8), 0x56);
        assert_eq!(bfe("s32", 0x0000_8000, 8, 8), 0xffff_ff80);
        assert_eq!(bfe("s32", 0x8000_0000, 40, 4), 0xffff_ffff);
        assert_eq!(bfe("u32", 0x8000_0000, 40, 4), 0);
        assert_eq!(bfe("s32", 0x8000_0000, 28, 255), 0xffff_fff8);
        assert_eq!(bfe("s32", 0xffff_ffff, 4, 0), 0);
        assert_eq!(bfe("u32", 0xffff_ffff, 0x104, 0x104), 0xf);
        assert_eq!(bfe("u64", u64::MAX, 0, 255), u64::MAX);
        let bfi = |ty: &str, a, b, position, length| value(Opcode::Bfi, &[ty], &[a, b, position, length]);
        assert_eq!(bfi("b32", 0xff, 0, 28, 8), 0xf000_0000);
        assert_eq!(bfi("b32", 0xff, 0x1234_5678, 32, 8), 0x1234_5678);
        assert_eq!(bfi("b32", 0xff, 0x1234_5678, 4, 0), 0x1234_5678);
        assert_eq!(bfi("b64", 0xab, u64::MAX, 56, 255), 0xabff_ffff_ffff_ffff);
    }

    #[test]
    fn extensions_and_masks() {
        let szext = |mode: &str, ty: &str, a, n| value(Opcode::Szext, &[mode, ty], &[a, n]);
        assert_eq!(szext("wrap", "u32", 0xffff_ffff, 0), 0);
        assert_eq!(szext("clamp", "s32", 0x80, 8), 0xffff_ff80);
        assert_eq!(szext("clamp", "u32", 0xfff, 8), 0xff);
        assert_eq!(szext("clamp", "s32", 0x1234_5678, 33), 0x1234_5678);
        assert_eq!(szext("wrap", "s32", 0x1, 33), 0xffff_ffff);
        assert_eq!(szext("wrap", "s32", 0x1, 32), 0);
        let bmsk = |mode: &str, a, b| value(Opcode::Bmsk, &[mode, "b32"], &[a, b]);
        assert_eq!(bmsk("wrap", 1, 2), 6);
        assert_eq!(bmsk("clamp", 30, 5), 0xc000_0000);
        assert_eq!(bmsk("clamp", 4, 32), 0xffff_fff0);
        assert_eq!(bmsk("clamp", 32, 1), 0);
        assert_eq!(bmsk("wrap", 36, 33), 0x10);
    }

    #[test]
    fn permutations() {
        let (a, b) = (0x8381_0100, 0x0706_0584);
        let index = |selector| value(Opcode::Prmt, &["b32"], &[a, b, selector]);
        assert_eq!(index(0x3210), a);
        assert_eq!(index(0x7654), b);
        assert_eq!(index(0xba98), 0xffff_0000);
        assert_eq!(index(0xfec8), 0x0000_ff00);
        let mode = |mode: &str, selector| value(Opcode::Prmt, &["b32", mode], &[0x3322_1100, 0x7766_5544, selector]);
        assert_eq!([mode("f4e", 1), mode("f4e", 3)], [0x4433_2211, 0x6655_4433]);
        assert_eq!([mode("b4e", 0), mode("b4e", 3)], [0x5566_7700, 0x0011_2233]);
        assert_eq!(mode("rc8", 2), 0x2222_2222);
        assert_eq!([mode("ecl", 1), mode("ecl", 3)], [0x3322_1111, 0x3333_3333]);
        assert_eq!([mode("ecr", 0), mode("ecr", 2)], [0, 0x2222_1100]);
        assert_eq!([mode("rc16", 0), mode("rc16", 1)], [0x1100_1100, 0x3322_3322]);
    }
}
