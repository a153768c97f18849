//! Floating-point arithmetic.

use crate::ops::prelude::*;

/// Float arithmetic: flushing for f32 and f16, saturation likewise, directed rounding for f32 and f64.
pub const FLOAT_RULES: &[Requirement] = &[
    when(Field::Rounding, DIRECTED, Field::Type, F32 | F64),
    when(Field::Ftz, NOT_FTZ, Field::Type, F32 | HF),
    when(Field::Saturate, SATURATED, Field::Type, F32 | HF),
];

pub const FMA_RULES: &[Requirement] = &[
    when(Field::Rounding, DIRECTED, Field::Type, F32 | F64),
    when(Field::Ftz, NOT_FTZ, Field::Type, F32 | HF),
    when(Field::Saturate, SATURATED, Field::Type, F32 | HF),
    when(Field::Relu, RELUED, Field::Type, HF | BF),
    when(Field::Relu, RELUED, Field::Saturate, Saturate::No.bit()),
    when(Field::Oob, Oob::Oob.bit(), Field::Type, HF | BF),
    when(Field::Oob, Oob::Oob.bit(), Field::Ftz, Ftz::No.bit()),
    when(Field::Oob, Oob::Oob.bit(), Field::Saturate, Saturate::No.bit()),
];

pub const MINMAX_RULES: &[Requirement] = &[
    when(Field::Ftz, NOT_FTZ, Field::Type, F32 | HF),
    when(Field::NanMode, NanMode::Nan.bit(), Field::Type, F32 | HF | BF),
    when(Field::XorSign, XorSign::XorSignAbs.bit(), Field::Type, F32 | HF | BF),
];

pub const FTZ_HALF: &[Requirement] = &[when(Field::Ftz, NOT_FTZ, Field::Type, F32 | HF)];

pub const EXACT_OR_APPROX: &[Requirement] = &[
    when(Field::Approx, Approx::Exact.bit(), Field::Rounding, EXACT),
    when(Field::Approx, bits!(Approx: Approx | Full), Field::Rounding, Rounding::Default.bit()),
    when(Field::Approx, bits!(Approx: Approx | Full), Field::Type, F32),
    when(Field::Ftz, NOT_FTZ, Field::Type, F32),
];

/// As above for `rcp`, whose f64 form is approximate only with flushing.
pub const RECIPROCAL: &[Requirement] = &[
    when(Field::Approx, Approx::Exact.bit(), Field::Rounding, EXACT),
    when(Field::Approx, Approx::Approx.bit(), Field::Rounding, Rounding::Default.bit()),
    when(Field::Rounding, EXACT, Field::Approx, Approx::Exact.bit()),
    when_both((Field::Approx, Approx::Approx.bit()), (Field::Type, F64), Field::Ftz, Ftz::Ftz.bit()),
    when_both((Field::Approx, Approx::Exact.bit()), (Field::Ftz, NOT_FTZ), Field::Type, F32),
];

pub const MINMAX_LATER: &[Later] = &[
    from(80, Field::Type, HF | BF),
    from(80, Field::NanMode, NanMode::Nan.bit()),
    from(86, Field::XorSign, XorSign::XorSignAbs.bit()),
];

macro_rules! float_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Sum.
    FAdd "fadd" "add": [T] <- [T, T], COMM,
        fields &[opt_of(Field::Rounding, EXACT), FTZ, SAT, ty(F)], rules FLOAT_RULES,
        since 50, later HALF_THEN_BF,
        cost PerWord(2), rank 10, latency Float, undef Mixing;

    /// Difference.
    FSub "fsub" "sub": [T] <- [T, T], PURE,
        fields &[opt_of(Field::Rounding, EXACT), FTZ, SAT, ty(F)], rules FLOAT_RULES,
        since 50, later HALF_THEN_BF,
        cost PerWord(2), rank 10, latency Float, undef Mixing;

    /// Product.
    FMul "fmul" "mul": [T] <- [T, T], COMM,
        fields &[opt_of(Field::Rounding, EXACT), FTZ, SAT, ty(F)], rules FLOAT_RULES,
        since 50, later HALF_THEN_BF,
        cost PerWord(2), rank 10, latency Float, undef Mixing;

    /// Product plus third operand, rounded once.
    FFma "ffma" "fma": [T] <- [T, T, T], COMM,
        fields &[req_of(Field::Rounding, EXACT), FTZ, SAT, opt(Field::Oob), RELU, ty(F)], rules FMA_RULES,
        since 50, later &[
            from(53, Field::Type, HF), from(80, Field::Type, BF), from(80, Field::Relu, RELUED),
            from(90, Field::Oob, Oob::Oob.bit()),
        ],
        cost PerWord(2), rank 11, latency Float, undef Mixing;

    /// Quotient.
    FDiv "fdiv" "div": [T] <- [T, T], PURE,
        fields &[opt(Field::Approx), opt_of(Field::Rounding, EXACT), FTZ, ty(F32 | F64)],
        rules EXACT_OR_APPROX,
        since 50, later &[],
        cost PerWord(16), rank 10, latency Expanded, undef Mixing;

    /// The value without its sign.
    FAbs "fabs" "abs": [T] <- [T], PURE,
        fields &[FTZ, ty(F)], rules FTZ_HALF,
        since 50, later &[from(53, Field::Type, HF), from(80, Field::Type, BF)],
        cost PerWord(2), rank 9, latency Fixed, undef Mixing;

    /// The value with the other sign.
    FNeg "fneg" "neg": [T] <- [T], PURE,
        fields &[FTZ, ty(F)], rules FTZ_HALF,
        since 50, later &[from(53, Field::Type, HF), from(80, Field::Type, BF)],
        cost PerWord(2), rank 9, latency Fixed, undef Mixing;

    /// The smaller value; -0 is smaller than +0, and a number is taken before a NaN.
    FMin "fmin" "min": [T] <- [T, T], COMM,
        fields &[FTZ, opt(Field::NanMode), opt(Field::XorSign), ty(F)], rules MINMAX_RULES,
        since 50, later MINMAX_LATER,
        cost PerWord(2), rank 10, latency Float, undef Mixing;

    /// The larger value; +0 is larger than -0, and a number is taken before a NaN.
    FMax "fmax" "max": [T] <- [T, T], COMM,
        fields &[FTZ, opt(Field::NanMode), opt(Field::XorSign), ty(F)], rules MINMAX_RULES,
        since 50, later MINMAX_LATER,
        cost PerWord(2), rank 10, latency Float, undef Mixing;

    /// Reciprocal.
    FRcp "frcp" "rcp": [T] <- [T], PURE,
        fields &[opt_of(Field::Approx, Approx::Approx.bit()), opt_of(Field::Rounding, EXACT), FTZ, ty(F32 | F64)],
        rules RECIPROCAL,
        since 50, later &[],
        cost PerWord(16), rank 10, latency Variable, undef Mixing;

    /// Square root.
    FSqrt "fsqrt" "sqrt": [T] <- [T], PURE,
        fields &[opt_of(Field::Approx, Approx::Approx.bit()), opt_of(Field::Rounding, EXACT), FTZ, ty(F32 | F64)],
        rules EXACT_OR_APPROX,
        since 50, later &[],
        cost PerWord(16), rank 10, latency Expanded, undef Mixing;

    /// Reciprocal square root.
    FRsqrt "frsqrt" "rsqrt": [T] <- [T], PURE,
        fields &[APPROX, FTZ, ty(F32 | F64)], rules &[],
        since 50, later &[],
        cost PerWord(16), rank 10, latency Variable, undef Mixing;

    /// Sine.
    FSin "fsin" "sin": [T] <- [T], PURE,
        fields &[APPROX, FTZ, ty(F32)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Variable, undef Mixing;

    /// Cosine.
    FCos "fcos" "cos": [T] <- [T], PURE,
        fields &[APPROX, FTZ, ty(F32)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Variable, undef Mixing;

    /// Logarithm to base 2.
    FLg2 "flg2" "lg2": [T] <- [T], PURE,
        fields &[APPROX, FTZ, ty(F32)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Variable, undef Mixing;

    /// Power of two.
    FEx2 "fex2" "ex2": [T] <- [T], PURE,
        fields &[APPROX, FTZ, ty(F32 | HF | BF)],
        rules &[
            when(Field::Ftz, Ftz::No.bit(), Field::Type, F32 | HF), when(Field::Ftz, NOT_FTZ, Field::Type, F32 | BF),
        ],
        since 50, later &[from(75, Field::Type, HF), from(90, Field::Type, BF)],
        cost PerWord(2), rank 10, latency Variable, undef Mixing;

    /// Hyperbolic tangent.
    FTanh "ftanh" "tanh": [T] <- [T], PURE,
        fields &[APPROX, ty(F32 | HF | BF)], rules &[],
        since 75, later &[from(90, Field::Type, BF)],
        cost PerWord(2), rank 10, latency Variable, undef Mixing;

    /// Tests a property of a float.
    TestP "testp" "testp": [P] <- [T], PURE,
        fields &[req(Field::TestProperty), ty(F32 | F64)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// The second operand with the first operand's sign.
    CopySign "copysign" "copysign": [T] <- [T, T], PURE,
        fields &[ty(F32 | F64)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef routing([]);
    } } };
}
pub(in crate::ops) use float_rows;
