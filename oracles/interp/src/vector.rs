//! Operations that run over all 32 lanes at once, in loops that the compiler vectorises.
//!
//! Everything here is inlined into the engine's loop, which is compiled for several vector widths. The meaning is
//! that of [`oriole_semantics::scalar`]; tests compare the two.

use oriole_ir::ops::UndefTransfer::{self, Bitwise, Carrying, Mixing, Routing};

use super::frame::Frame;
use super::partial::{carried, write_longs, write_pairs, write_words};
use super::program::{Bin32, Bin64, Compared, Op, PredOp, Slot, Test, Tri32, Un32, Wide};
use oriole_semantics::lanes::{LANES, Word, by_lane, lanes};

const NAN32: u32 = 0x7FFF_FFFF;
/// The second operand, a count, says where the bits of the first go.
const COUNTED: UndefTransfer = Routing(0b10);
const NAN64: u64 = 0x7FF8_0000_0000_0000;

#[inline(always)]
fn f32_bits(value: f32) -> u32 {
    if value.is_nan() { NAN32 } else { value.to_bits() }
}

#[inline(always)]
fn f64_bits(value: f64) -> u64 {
    if value.is_nan() { NAN64 } else { value.to_bits() }
}

/// Whether a result may be defined in part where an operand is undefined. A sum with a word that is undefined as a
/// whole is so too.
#[inline(always)]
fn keeps_bits(f: &Frame, undef: UndefTransfer) -> bool {
    undef != Mixing && (undef != Carrying || f.has_partial_words())
}

/// Whether of a lane's two pairs nothing but a high word is undefined.
#[inline(always)]
fn has_defined_half(f: &Frame, a: Slot, b: Slot, mask: u32) -> bool {
    let high = f.undefined[a as usize + 1] | f.undefined[b as usize + 1];
    high & !(f.undefined[a as usize] | f.undefined[b as usize]) & mask != 0
}

#[inline(always)]
fn map1(f: &mut Frame, op: &Op, mask: u32, undef: UndefTransfer, g: impl Fn(u32) -> u32) {
    let a = &f.words[op.a as usize];
    let out = by_lane(|lane| g(a[lane]));
    let undefined = f.undefined[op.a as usize];
    if undefined & mask != 0 && keeps_bits(f, undef) {
        return write_words(f, op.dst, [op.a], mask, undef, &|[a]| g(a));
    }
    f.set(op.dst, &out, undefined, mask);
}

#[inline(always)]
fn map2(f: &mut Frame, op: &Op, mask: u32, undef: UndefTransfer, g: impl Fn(u32, u32) -> u32) {
    let (a, b) = (&f.words[op.a as usize], &f.words[op.b as usize]);
    let out = by_lane(|lane| g(a[lane], b[lane]));
    let undefined = f.undefined[op.a as usize] | f.undefined[op.b as usize];
    if undefined & mask != 0 && keeps_bits(f, undef) {
        return write_words(f, op.dst, [op.a, op.b], mask, undef, &|[a, b]| g(a, b));
    }
    f.set(op.dst, &out, undefined, mask);
}

#[inline(always)]
fn map3(f: &mut Frame, op: &Op, mask: u32, undef: UndefTransfer, g: impl Fn(u32, u32, u32) -> u32) {
    let (a, b, c) = (&f.words[op.a as usize], &f.words[op.b as usize], &f.words[op.c as usize]);
    let out = by_lane(|lane| g(a[lane], b[lane], c[lane]));
    let undefined = f.undefined[op.a as usize] | f.undefined[op.b as usize] | f.undefined[op.c as usize];
    if undefined & mask != 0 && keeps_bits(f, undef) {
        return write_words(f, op.dst, [op.a, op.b, op.c], mask, undef, &|[a, b, c]| g(a, b, c));
    }
    f.set(op.dst, &out, undefined, mask);
}

#[inline(always)]
fn long2(f: &mut Frame, op: &Op, mask: u32, undef: UndefTransfer, g: impl Fn(u64, u64) -> u64) {
    let (a, b) = (f.pair(op.a), f.pair(op.b));
    let out = by_lane(|lane| g(a[lane], b[lane]));
    let undefined = f.pair_undefined(op.a) | f.pair_undefined(op.b);
    let halves = undef == Carrying && has_defined_half(f, op.a, op.b, mask);
    if undefined & mask != 0 && (keeps_bits(f, undef) || halves) {
        return write_pairs(f, op.dst, [op.a, op.b], false, mask, undef, &|[a, b]| g(a, b));
    }
    f.set_pair(op.dst, &out, undefined, mask);
}

#[inline(always)]
fn shift64(f: &mut Frame, op: &Op, mask: u32, g: impl Fn(u64, u32) -> u64) {
    let (a, b) = (f.pair(op.a), &f.words[op.b as usize]);
    let out = by_lane(|lane| g(a[lane], b[lane]));
    let undefined = f.pair_undefined(op.a) | f.undefined[op.b as usize];
    if undefined & mask != 0 {
        return write_pairs(f, op.dst, [op.a, op.b], true, mask, COUNTED, &|[a, n]| g(a, n as u32));
    }
    f.set_pair(op.dst, &out, undefined, mask);
}

/// A copy of a word.
#[inline(always)]
pub fn copy(f: &mut Frame, dst: Slot, src: Slot, mask: u32) {
    let (value, undefined) = (f.words[src as usize], f.undefined[src as usize]);
    if undefined & mask != 0 && f.has_partial_words() {
        return write_words(f, dst, [src], mask, Routing(0), &|[a]| a);
    }
    f.set(dst, &value, undefined, mask);
}

/// One word in.
#[inline(always)]
pub fn un32(f: &mut Frame, op: &Op, mask: u32, kind: Un32) {
    match kind {
        Un32::Not => map1(f, op, mask, Routing(0), |a| !a),
        Un32::Neg => map1(f, op, mask, Carrying, u32::wrapping_neg),
        Un32::Abs => map1(f, op, mask, Mixing, |a| (a as i32).wrapping_abs() as u32),
        Un32::FNeg => map1(f, op, mask, Mixing, |a| a ^ 0x8000_0000),
        Un32::FAbs => map1(f, op, mask, Mixing, |a| a & 0x7FFF_FFFF),
        Un32::Popc => map1(f, op, mask, Mixing, u32::count_ones),
        Un32::F32FromU32 => map1(f, op, mask, Mixing, |a| (a as f32).to_bits()),
        Un32::F32FromS32 => map1(f, op, mask, Mixing, |a| (a as i32 as f32).to_bits()),
        Un32::SextByte => map1(f, op, mask, Routing(0), |a| a as i8 as u32),
        Un32::SextHalf => map1(f, op, mask, Routing(0), |a| a as i16 as u32),
        Un32::ZextByte => map1(f, op, mask, Routing(0), |a| a & 0xFF),
        Un32::ZextHalf => map1(f, op, mask, Routing(0), |a| a & 0xFFFF),
    }
}

/// Two words in.
#[inline(always)]
pub fn bin32(f: &mut Frame, op: &Op, mask: u32, kind: Bin32) {
    match kind {
        Bin32::Add => map2(f, op, mask, Carrying, u32::wrapping_add),
        Bin32::Sub => map2(f, op, mask, Carrying, u32::wrapping_sub),
        Bin32::Mul => map2(f, op, mask, Carrying, u32::wrapping_mul),
        Bin32::MulHiU => map2(f, op, mask, Mixing, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        Bin32::MulHiS => map2(f, op, mask, Mixing, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32),
        Bin32::And => map2(f, op, mask, Routing(0), |a, b| a & b),
        Bin32::Or => map2(f, op, mask, Routing(0), |a, b| a | b),
        Bin32::Xor => map2(f, op, mask, Bitwise, |a, b| a ^ b),
        Bin32::MinU => map2(f, op, mask, Mixing, u32::min),
        Bin32::MaxU => map2(f, op, mask, Mixing, u32::max),
        Bin32::MinS => map2(f, op, mask, Mixing, |a, b| (a as i32).min(b as i32) as u32),
        Bin32::MaxS => map2(f, op, mask, Mixing, |a, b| (a as i32).max(b as i32) as u32),
        Bin32::Shl => map2(f, op, mask, COUNTED, |a, b| if b < 32 { a << (b & 31) } else { 0 }),
        Bin32::ShrU => map2(f, op, mask, COUNTED, |a, b| if b < 32 { a >> (b & 31) } else { 0 }),
        Bin32::ShrS => map2(f, op, mask, COUNTED, |a, b| ((a as i32) >> b.min(31)) as u32),
        Bin32::FAdd => map2(f, op, mask, Mixing, |a, b| f32_bits(f32::from_bits(a) + f32::from_bits(b))),
        Bin32::FSub => map2(f, op, mask, Mixing, |a, b| f32_bits(f32::from_bits(a) - f32::from_bits(b))),
        Bin32::FMul => map2(f, op, mask, Mixing, |a, b| f32_bits(f32::from_bits(a) * f32::from_bits(b))),
    }
}

/// Three words in.
#[inline(always)]
pub fn tri32(f: &mut Frame, op: &Op, mask: u32, kind: Tri32) {
    match kind {
        Tri32::Mad => map3(f, op, mask, Carrying, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Tri32::Fma => map3(f, op, mask, Mixing, |a, b, c| {
            f32_bits(f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c)))
        }),
        Tri32::FunnelLeftWrap => map3(f, op, mask, Routing(0b100), |low, high, n| {
            (((u64::from(high) << 32 | u64::from(low)) << (n & 31)) >> 32) as u32
        }),
        Tri32::FunnelRightWrap => map3(f, op, mask, Routing(0b100), |low, high, n| {
            ((u64::from(high) << 32 | u64::from(low)) >> (n & 31)) as u32
        }),
        Tri32::Lop3(table) => map3(f, op, mask, Bitwise, |a, b, c| lop3(table, a, b, c)),
        Tri32::BfeU32 => map3(f, op, mask, Routing(0b110), |a, pos, len| {
            let (pos, len) = (pos & 0xFF, len & 0xFF);
            let shifted = if pos < 32 { a >> (pos & 31) } else { 0 };
            if len >= 32 { shifted } else { shifted & ((1 << (len & 31)) - 1) }
        }),
    }
}

/// The bitwise function with this truth table.
#[inline(always)]
fn lop3(table: u8, a: u32, b: u32, c: u32) -> u32 {
    let term = |bit: u32, value: u32| if table >> bit & 1 == 1 { value } else { 0 };
    term(0, !a & !b & !c)
        | term(1, !a & !b & c)
        | term(2, !a & b & !c)
        | term(3, !a & b & c)
        | term(4, a & !b & !c)
        | term(5, a & !b & c)
        | term(6, a & b & !c)
        | term(7, a & b & c)
}

/// Two 64-bit values in; shifts have a word as count.
#[inline(always)]
pub fn bin64(f: &mut Frame, op: &Op, mask: u32, kind: Bin64) {
    match kind {
        Bin64::Add => long2(f, op, mask, Carrying, u64::wrapping_add),
        Bin64::Sub => long2(f, op, mask, Carrying, u64::wrapping_sub),
        Bin64::Mul => long2(f, op, mask, Carrying, u64::wrapping_mul),
        Bin64::And => long2(f, op, mask, Routing(0), |a, b| a & b),
        Bin64::Or => long2(f, op, mask, Routing(0), |a, b| a | b),
        Bin64::Xor => long2(f, op, mask, Bitwise, |a, b| a ^ b),
        Bin64::Shl => shift64(f, op, mask, |a, n| if n < 64 { a << (n & 63) } else { 0 }),
        Bin64::ShrU => shift64(f, op, mask, |a, n| if n < 64 { a >> (n & 63) } else { 0 }),
        Bin64::ShrS => shift64(f, op, mask, |a, n| ((a as i64) >> n.min(63)) as u64),
        Bin64::FAdd => long2(f, op, mask, Mixing, |a, b| f64_bits(f64::from_bits(a) + f64::from_bits(b))),
        Bin64::FSub => long2(f, op, mask, Mixing, |a, b| f64_bits(f64::from_bits(a) - f64::from_bits(b))),
        Bin64::FMul => long2(f, op, mask, Mixing, |a, b| f64_bits(f64::from_bits(a) * f64::from_bits(b))),
    }
}

/// Products of two words, 64 bits wide.
#[inline(always)]
pub fn wide(f: &mut Frame, op: &Op, mask: u32, kind: Wide) {
    let (a, b) = (f.words[op.a as usize], f.words[op.b as usize]);
    let mut undefined = f.undefined[op.a as usize] | f.undefined[op.b as usize];
    let signed = matches!(kind, Wide::MulS | Wide::MadS);
    let product = |lane: usize| {
        if signed {
            i64::from(a[lane] as i32).wrapping_mul(i64::from(b[lane] as i32)) as u64
        } else {
            u64::from(a[lane]) * u64::from(b[lane])
        }
    };
    let adds = matches!(kind, Wide::MadU | Wide::MadS);
    let out = if adds {
        let c = f.pair(op.c);
        undefined |= f.pair_undefined(op.c);
        by_lane(|lane| product(lane).wrapping_add(c[lane]))
    } else {
        by_lane(product)
    };
    if undefined & mask != 0 {
        return write_longs(f, op.dst, mask, &|f, lane| {
            let bits = |slot: Slot| u64::from(f.bits(slot, lane));
            let added = if adds { bits(op.c) | bits(op.c + 1) << 32 } else { 0 };
            (out[lane], carried(bits(op.a) | bits(op.b) | added))
        });
    }
    f.set_pair(op.dst, &out, undefined, mask);
}

/// A word as 64 bits.
#[inline(always)]
pub fn extend(f: &mut Frame, op: &Op, mask: u32, signed: bool) {
    let a = f.words[op.a as usize];
    let undefined = f.undefined[op.a as usize];
    if undefined & mask != 0 {
        let long = |word: u32| if signed { word as i32 as u64 } else { word.into() };
        return write_longs(f, op.dst, mask, &|f, lane| (long(a[lane]), long(f.bits(op.a, lane))));
    }
    let high: Word = by_lane(|lane| if signed { ((a[lane] as i32) >> 31) as u32 } else { 0 });
    f.set(op.dst, &a, undefined, mask);
    f.set(op.dst + 1, &high, undefined, mask);
}

#[inline(always)]
fn bits(test: impl Fn(usize) -> bool) -> u32 {
    let mut out = 0;
    for lane in 0..LANES {
        out |= u32::from(test(lane)) << lane;
    }
    out
}

#[inline(always)]
fn compare<T: PartialOrd + Copy>(test: Test, a: [T; LANES], b: [T; LANES]) -> u32 {
    match test {
        Test::Eq => bits(|lane| a[lane] == b[lane]),
        Test::Ne => bits(|lane| a[lane] != b[lane]),
        Test::Lt => bits(|lane| a[lane] < b[lane]),
        Test::Le => bits(|lane| a[lane] <= b[lane]),
        Test::Gt => bits(|lane| a[lane] > b[lane]),
        Test::Ge => bits(|lane| a[lane] >= b[lane]),
    }
}

/// A comparison.
#[inline(always)]
pub fn setp(f: &mut Frame, op: &Op, mask: u32, compared: Compared, test: Test) {
    let long = matches!(compared, Compared::U64 | Compared::S64);
    let undefined = if long {
        f.pair_undefined(op.a) | f.pair_undefined(op.b)
    } else {
        f.undefined[op.a as usize] | f.undefined[op.b as usize]
    };
    let words = |f: &Frame| (f.words[op.a as usize], f.words[op.b as usize]);
    let result = match compared {
        Compared::U32 => {
            let (a, b) = words(f);
            compare(test, a, b)
        }
        Compared::S32 => {
            let (a, b) = words(f);
            compare(test, by_lane(|lane| a[lane] as i32), by_lane(|lane| b[lane] as i32))
        }
        Compared::F32 => {
            let (a, b) = words(f);
            compare(test, by_lane(|lane| f32::from_bits(a[lane])), by_lane(|lane| f32::from_bits(b[lane])))
        }
        Compared::U64 => compare(test, f.pair(op.a), f.pair(op.b)),
        Compared::S64 => {
            let (a, b) = (f.pair(op.a), f.pair(op.b));
            compare(test, by_lane(|lane| a[lane] as i64), by_lane(|lane| b[lane] as i64))
        }
    };
    f.set_pred(op.dst, result, undefined, mask);
}

/// Chooses between two values by a predicate; only the chosen one's definedness counts.
#[inline(always)]
pub fn select(f: &mut Frame, op: &Op, mask: u32, words: u32) {
    let (pred, unknown) = (f.preds[op.c as usize], f.pred_undefined[op.c as usize]);
    for word in 0..words {
        let (a, b) = (f.words[(op.a + word) as usize], f.words[(op.b + word) as usize]);
        let out: Word = by_lane(|lane| if pred >> lane & 1 == 1 { a[lane] } else { b[lane] });
        let (ua, ub) = (f.undefined[(op.a + word) as usize], f.undefined[(op.b + word) as usize]);
        let undefined = (ua & pred) | (ub & !pred) | unknown;
        if undefined & mask != 0 && f.has_partial_words() {
            select_parts(f, op, word, mask);
        } else {
            f.set(op.dst + word, &out, undefined, mask);
        }
    }
}

/// The same for a word where some may be undefined in part.
#[cold]
#[inline(never)]
fn select_parts(f: &mut Frame, op: &Op, word: u32, mask: u32) {
    for lane in lanes(mask) {
        let chosen = if f.preds[op.c as usize] >> lane & 1 == 1 { op.a } else { op.b } + word;
        let value = f.words[chosen as usize][lane];
        let is_open = f.pred_undefined[op.c as usize] >> lane & 1 == 1;
        let bits = if is_open { u32::MAX } else { f.bits(chosen, lane) };
        f.put(op.dst + word, lane, value, bits);
    }
}

/// Logic on predicates.
#[inline(always)]
pub fn pred(f: &mut Frame, op: &Op, mask: u32, kind: PredOp) {
    let (a, b) = (f.preds[op.a as usize], f.preds.get(op.b as usize).copied().unwrap_or(0));
    let (ua, ub) = (f.pred_undefined[op.a as usize], f.pred_undefined.get(op.b as usize).copied().unwrap_or(0));
    let (value, undefined) = match kind {
        // One defined operand can settle the result.
        PredOp::And => (a & b, (ua | ub) & (ua | a) & (ub | b)),
        PredOp::Or => (a | b, (ua | ub) & (ua | !a) & (ub | !b)),
        PredOp::Xor => (a ^ b, ua | ub),
        PredOp::Not => (!a, ua),
        PredOp::Mov => (a, ua),
    };
    f.set_pred(op.dst, value, undefined, mask);
}
