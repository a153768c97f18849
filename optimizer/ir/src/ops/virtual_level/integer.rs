//! Integer arithmetic.

use crate::ops::prelude::*;

pub const SAT_S32: &[Requirement] = &[when(Field::Saturate, SATURATED, Field::Type, Type::S32.bit())];
pub const RELU_INT: &[Requirement] = &[when(Field::Relu, RELUED, Field::Type, Type::S32.bit() | Type::S16x2.bit())];

macro_rules! integer_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Addition modulo 2^n, or saturating.
    IAdd "iadd" "add": [T] <- [T, T], ASSOC.or(SIGNLESS),
        fields &[SAT, ty(I | IX2)], rules SAT_S32,
        since 50, later &[from(90, Field::Type, IX2)],
        cost PerWord(2), rank 4, latency Fixed, undef Carrying;

    /// Subtraction modulo 2^n, or saturating.
    ISub "isub" "sub": [T] <- [T, T], PURE.or(SIGNLESS),
        fields &[SAT, ty(I)], rules SAT_S32,
        since 50, later &[],
        cost PerWord(2), rank 6, latency Fixed, undef Carrying;

    /// The low half of the product.
    IMulLo "imul.lo" "mul.lo": [T] <- [T, T], ASSOC.or(SIGNLESS),
        fields &[ty(I)], rules &[],
        since 50, later &[],
        cost ByWidth(4, 12), rank 10, latency Fixed, undef Carrying;

    /// The high half of the product.
    IMulHi "imul.hi" "mul.hi": [T] <- [T, T], COMM,
        fields &[ty(I)], rules &[],
        since 50, later &[],
        cost ByWidth(5, 16), rank 10, latency Fixed, undef Mixing;

    /// The whole product, twice as wide.
    IMulWide "imul.wide" "mul.wide": [W] <- [T, T], COMM,
        fields &[ty(I16 | I32)], rules &[],
        since 50, later &[],
        cost Flat(5), rank 10, latency Fixed, undef Carrying;

    /// The low half of the product, plus the third operand.
    IMadLo "imad.lo" "mad.lo": [T] <- [T, T, T], COMM.or(SIGNLESS),
        fields &[ty(I)], rules &[],
        since 50, later &[],
        cost ByWidth(4, 12), rank 11, latency Fixed, undef Carrying;

    /// The high half of the product, plus the third operand.
    IMadHi "imad.hi" "mad.hi": [T] <- [T, T, T], COMM,
        fields &[SAT, ty(I)], rules SAT_S32,
        since 50, later &[],
        cost ByWidth(5, 16), rank 11, latency Fixed, undef Mixing;

    /// The whole product plus a wide operand.
    IMadWide "imad.wide" "mad.wide": [W] <- [T, T, W], COMM,
        fields &[ty(I16 | I32)], rules &[],
        since 50, later &[],
        cost Flat(5), rank 11, latency Fixed, undef Carrying;

    /// The low 32 bits of the product of two 24-bit values.
    IMul24Lo "imul24.lo" "mul24.lo": [T] <- [T, T], COMM,
        fields &[ty(I32)], rules &[],
        since 50, later &[],
        cost Flat(4), rank 10, latency Fixed, undef Carrying;

    /// Bits 16 to 47 of the product of two 24-bit values.
    IMul24Hi "imul24.hi" "mul24.hi": [T] <- [T, T], COMM,
        fields &[ty(I32)], rules &[],
        since 50, later &[],
        cost Flat(5), rank 10, latency Fixed, undef Mixing;

    /// 24-bit product, low, plus the third operand.
    IMad24Lo "imad24.lo" "mad24.lo": [T] <- [T, T, T], COMM,
        fields &[ty(I32)], rules &[],
        since 50, later &[],
        cost Flat(4), rank 11, latency Fixed, undef Carrying;

    /// 24-bit product, high, plus the third operand.
    IMad24Hi "imad24.hi" "mad24.hi": [T] <- [T, T, T], COMM,
        fields &[SAT, ty(I32)], rules SAT_S32,
        since 50, later &[],
        cost Flat(5), rank 11, latency Fixed, undef Mixing;

    /// The third operand plus the absolute difference of the first two.
    ISad "isad" "sad": [T] <- [T, T, T], COMM,
        fields &[ty(I)], rules &[],
        since 50, later &[],
        cost PerWord(3), rank 10, latency Fixed, undef Mixing;

    /// Quotient, toward zero, modulo 2^n; undefined for a zero divisor.
    IDiv "idiv" "div": [T] <- [T, T], PURE,
        fields &[ty(I)], rules &[],
        since 50, later &[],
        cost PerWord(40), rank 10, latency Expanded, undef Mixing;

    /// Remainder with the dividend's sign; undefined for a zero divisor.
    IRem "irem" "rem": [T] <- [T, T], PURE,
        fields &[ty(I)], rules &[],
        since 50, later &[],
        cost PerWord(40), rank 10, latency Expanded, undef Mixing;

    /// Absolute value modulo 2^n.
    IAbs "iabs" "abs": [T] <- [T], PURE,
        fields &[ty(SINT)], rules &[],
        since 50, later &[],
        cost PerWord(3), rank 10, latency Fixed, undef Mixing;

    /// Negation modulo 2^n.
    INeg "ineg" "neg": [T] <- [T], PURE,
        fields &[ty(SINT)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 5, latency Fixed, undef Carrying;

    /// The smaller value.
    IMin "imin" "min": [T] <- [T, T], COMM,
        fields &[RELU, ty(I | IX2)], rules RELU_INT,
        since 50, later &[from(90, Field::Relu, RELUED), from(90, Field::Type, IX2)],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// The larger value.
    IMax "imax" "max": [T] <- [T, T], COMM,
        fields &[RELU, ty(I | IX2)], rules RELU_INT,
        since 50, later &[from(90, Field::Relu, RELUED), from(90, Field::Type, IX2)],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// Addition with carry in and out (`add.cc`, `addc`).
    IAddCarry "iadd.carry" -: [T, P] <- [T, T, P], COMM.or(CARRY).or(SIGNLESS),
        fields &[ty(I32 | I64)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Carrying;

    /// `a + !b + carry`: subtraction that takes one off where the carry in is clear; the carry out is clear where it
    /// borrows (`sub.cc`, `subc`).
    ISubCarry "isub.carry" -: [T, P] <- [T, T, P], PURE.or(CARRY).or(SIGNLESS),
        fields &[ty(I32 | I64)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Carrying;

    /// `mad.lo` with carry in and out of its addition.
    IMadLoCarry "imad.lo.carry" -: [T, P] <- [T, T, T, P], COMM.or(CARRY).or(SIGNLESS),
        fields &[ty(I32 | I64)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Carrying;

    /// `mad.hi` with carry in and out of its addition.
    IMadHiCarry "imad.hi.carry" -: [T, P] <- [T, T, T, P], COMM.or(CARRY),
        fields &[ty(I32 | I64)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// Number of set bits.
    Popc "popc" "popc": [R] <- [T], PURE,
        fields &[ty(B3264)], rules &[],
        since 50, later &[],
        cost PerWord(4), rank 10, latency Variable, undef Mixing;

    /// Number of leading zeros.
    Clz "clz" "clz": [R] <- [T], PURE,
        fields &[ty(B3264)], rules &[],
        since 50, later &[],
        cost PerWord(4), rank 10, latency Variable, undef Mixing;

    /// Position of the most significant bit that is not the sign.
    Bfind "bfind" "bfind": [R] <- [T], PURE,
        fields &[opt(Field::ShiftAmount), ty(I32 | I64)], rules &[],
        since 50, later &[],
        cost PerWord(4), rank 10, latency Variable, undef Mixing;

    /// Position of the n-th set bit from a start.
    Fns "fns" "fns": [R] <- [R, R, R], PURE,
        fields &[ty(bits!(Type: B32))], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Bits in reverse order.
    Brev "brev" "brev": [T] <- [T], PURE,
        fields &[ty(B3264)], rules &[],
        since 50, later &[],
        cost PerWord(4), rank 10, latency Variable, undef routing([]);

    /// Bit field at a position, of a length, extended.
    Bfe "bfe" "bfe": [T] <- [T, R, R], PURE,
        fields &[ty(I32 | I64)], rules &[],
        since 50, later &[],
        cost PerWord(4), rank 10, latency Fixed, undef routing([1, 2]);

    /// The second operand with the first inserted at a position, of a length.
    Bfi "bfi" "bfi": [T] <- [T, T, R, R], PURE,
        fields &[ty(B3264)], rules &[],
        since 50, later &[],
        cost PerWord(4), rank 10, latency Fixed, undef routing([2, 3]);

    /// Sign- or zero-extension from a bit count.
    Szext "szext" "szext": [T] <- [T, R], PURE,
        fields &[req(Field::ShiftMode), ty(I32)], rules &[],
        since 70, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef routing([1]);

    /// A mask from a position, of a length.
    Bmsk "bmsk" "bmsk": [R] <- [R, R], PURE,
        fields &[req(Field::ShiftMode), ty(bits!(Type: B32))], rules &[],
        since 70, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// Dot product of four bytes, plus the third operand.
    Dp4a "dp4a" "dp4a": [R] <- [R, R, R], PURE,
        fields &[ty(I32), req_of(Field::SecondType, VIDEO_2ND)], rules &[],
        since 61, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// Dot product of two halfwords with two bytes, plus the third operand.
    Dp2a "dp2a" "dp2a": [R] <- [R, R, R], PURE,
        fields &[req(Field::Half), ty(I32), req_of(Field::SecondType, VIDEO_2ND)], rules &[],
        since 61, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;
    } } };
}
pub(in crate::ops) use integer_rows;
