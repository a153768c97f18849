//! Conversions.

use crate::ops::prelude::*;

pub const CVT_INT: u64 = bits!(Type: U8 | S8) | I;
pub const CVT_FLOAT: u64 = bits!(Type: F16 | Bf16 | F32 | F64);
pub const TO_NEAREST_OR_ZERO: u64 = bits!(Rounding: Rn | Rz);
pub const UNROUNDED: u64 = Rounding::Default.bit();

/// The rounding that a conversion between these types takes.
pub const fn rounds(to: u64, from: u64, rounding: u64) -> Requirement {
    when_both((Field::Type, to), (Field::SrcType, from), Field::Rounding, rounding)
}

/// Integers whose values a type does not hold all: those from which `.sat` makes a difference.
pub const fn saturates(to: Type, from: u64) -> Requirement {
    let from = from | CVT_FLOAT;
    when_both((Field::Saturate, SATURATED), (Field::Type, to.bit()), Field::SrcType, from)
}

/// What ptxas 13.0 accepts for `sm_90`: 816 combinations. It takes no conversion between bf16 and bytes.
pub const CVT_RULES: &[Requirement] = &[
    when(Field::Type, bits!(Type: F16x2), Field::SrcType, NARROW),
    when(Field::SrcType, NARROW, Field::Type, bits!(Type: F16x2)),
    when(Field::Type, bits!(Type: Tf32), Field::SrcType, F32),
    when(Field::Type, bits!(Type: U8 | S8), Field::SrcType, SCALAR & !bits!(Type: Bf16)),
    when(Field::Type, bits!(Type: Bf16), Field::SrcType, SCALAR & !bits!(Type: U8 | S8)),
    // Rounding, by the kinds of both types, then pair by pair between floats.
    rounds(CVT_INT, CVT_INT, UNROUNDED),
    rounds(CVT_INT, CVT_FLOAT, TO_INT),
    rounds(CVT_FLOAT, CVT_INT, EXACT),
    rounds(bits!(Type: F16 | Bf16), F32 | F64, EXACT),
    rounds(F32, F64, EXACT),
    rounds(bits!(Type: F16 | F32 | F64), bits!(Type: Bf16), UNROUNDED | EXACT),
    rounds(bits!(Type: Bf16), bits!(Type: F16), UNROUNDED | EXACT),
    rounds(F32 | F64, bits!(Type: F16), UNROUNDED),
    rounds(F64, F32, UNROUNDED),
    rounds(bits!(Type: F16), bits!(Type: F16), UNROUNDED | TO_INT),
    rounds(bits!(Type: Bf16), bits!(Type: Bf16), UNROUNDED | TO_INT),
    rounds(F32, F32, UNROUNDED | TO_INT),
    rounds(F64, F64, UNROUNDED | TO_INT),
    when(Field::Type, bits!(Type: F16x2), Field::Rounding, bits!(Rounding: Rn)),
    when(Field::Type, bits!(Type: Tf32), Field::Rounding, TO_NEAREST_OR_ZERO | bits!(Rounding: Rna)),
    // Flushing, for conversions from or to f32.
    when(Field::Ftz, NOT_FTZ, Field::Type, SCALAR),
    when_both((Field::Ftz, NOT_FTZ), (Field::SrcType, SCALAR & !F32), Field::Type, F32),
    when(Field::Ftz, NOT_FTZ, Field::Relu, Relu::No.bit()),
    when(Field::Ftz, NOT_FTZ, Field::SatFinite, SatFinite::No.bit()),
    // Saturation.
    when(Field::Saturate, SATURATED, Field::Type, SCALAR & !bits!(Type: Bf16)),
    when(Field::Saturate, SATURATED, Field::SrcType, SCALAR & !bits!(Type: Bf16)),
    when(Field::Saturate, SATURATED, Field::Relu, Relu::No.bit()),
    when(Field::Saturate, SATURATED, Field::SatFinite, SatFinite::No.bit()),
    saturates(Type::U8, CVT_INT & !bits!(Type: U8)),
    saturates(Type::S8, CVT_INT & !bits!(Type: S8)),
    saturates(Type::U16, CVT_INT & !bits!(Type: U8 | U16)),
    saturates(Type::S16, CVT_INT & !bits!(Type: U8 | S8 | S16)),
    saturates(Type::U32, CVT_INT & !bits!(Type: U8 | U16 | U32)),
    saturates(Type::S32, bits!(Type: U32 | U64 | S64)),
    saturates(Type::U64, bits!(Type: S8 | S16 | S32 | S64)),
    saturates(Type::S64, bits!(Type: U64)),
    // Rectification and clamping, for conversions to narrow floats.
    when(Field::Relu, RELUED, Field::Type, bits!(Type: F16 | Bf16 | Tf32 | F16x2)),
    when(Field::Relu, RELUED, Field::SrcType, F32 | NARROW),
    when(Field::Relu, RELUED, Field::Rounding, TO_NEAREST_OR_ZERO),
    when(Field::SatFinite, SatFinite::SatFinite.bit(), Field::Type, bits!(Type: F16 | Bf16 | Tf32)),
    when(Field::SatFinite, SatFinite::SatFinite.bit(), Field::SrcType, F32),
    when_both(
        (Field::SatFinite, SatFinite::SatFinite.bit()),
        (Field::Type, bits!(Type: F16 | Bf16)),
        Field::Rounding,
        TO_NEAREST_OR_ZERO,
    ),
    when_both(
        (Field::SatFinite, SatFinite::SatFinite.bit()),
        (Field::Type, bits!(Type: Tf32)),
        Field::Rounding,
        bits!(Rounding: Rna),
    ),
];

pub const CVT_LATER: &[Later] = &[
    from(70, Field::SatFinite, SatFinite::SatFinite.bit()),
    from(80, Field::Relu, RELUED),
    from(80, Field::Type, bits!(Type: Bf16 | Tf32)),
    from(80, Field::SrcType, bits!(Type: Bf16)),
    from(89, Field::Type, bits!(Type: F16x2)),
    // What else there is with bf16 than conversions from and to f32.
    from_both(90, (Field::Type, bits!(Type: Bf16)), (Field::SrcType, !F32)),
    from_both(90, (Field::SrcType, bits!(Type: Bf16)), (Field::Type, !F32)),
    from_both(90, (Field::SrcType, bits!(Type: Bf16)), (Field::Ftz, NOT_FTZ)),
    from_both(90, (Field::Type, bits!(Type: Tf32)), (Field::Rounding, TO_NEAREST_OR_ZERO)),
];

macro_rules! convert_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Converts a value.
    Cvt "cvt" "cvt": [T] <- [S], PURE.or(WIDER),
        fields &[
            opt(Field::Rounding), RELU, FTZ, opt(Field::SatFinite), SAT, ty(SCALAR | bits!(Type: Tf32 | F16x2)),
            req_of(Field::SrcType, SCALAR | NARROW),
        ],
        rules CVT_RULES,
        since 50, later CVT_LATER,
        cost Conversion(2, 8), rank 7, latency Variable, undef Converting;

    /// Converts two values into the high and the low half.
    CvtPack2 "cvt.x2" -: [T] <- [S, S], PURE.or(WIDER),
        fields &[
            req_of(Field::Rounding, bits!(Rounding: Rn | Rz)), RELU, opt(Field::SatFinite),
            ty(bits!(Type: F16x2 | Bf16x2) | NARROW), req_of(Field::SrcType, F32),
        ],
        rules &[
            when(Field::Type, NARROW, Field::Rounding, bits!(Rounding: Rn)),
            when(Field::Type, NARROW, Field::SatFinite, SatFinite::SatFinite.bit()),
        ],
        since 80, later &[from(89, Field::Type, NARROW)],
        cost Flat(8), rank 10, latency Fixed, undef Mixing;

    /// Converts two packed halves into two 8-bit floats.
    CvtNarrow "cvt.narrow" -: [T] <- [S], PURE.or(WIDER),
        fields &[
            req_of(Field::Rounding, bits!(Rounding: Rn)), RELU,
            req_of(Field::SatFinite, SatFinite::SatFinite.bit()), ty(NARROW),
            req_of(Field::SrcType, bits!(SrcType: F16x2)),
        ],
        rules &[],
        since 89, later &[],
        cost Flat(8), rank 10, latency Fixed, undef Mixing;

    /// Saturates two s32 values and packs them below the low part of the third operand (`cvt.pack.sat`).
    CvtPackInt "cvt.pack" -: [R] <- [R, R, R], PURE.or(WIDER),
        fields &[ty(bits!(Type: U8 | S8 | U16 | S16 | U4 | S4 | U2 | S2))], rules &[],
        since 72, later &[from(75, Field::Type, bits!(Type: U4 | S4 | U2 | S2))],
        cost Flat(2), rank 10, latency Fixed, undef Mixing;
    } } };
}
pub(in crate::ops) use convert_rows;
