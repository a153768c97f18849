//! Video instructions: the last source packs the selectors of destination, first and second source.

use crate::ops::prelude::*;

pub const VIDEO: u64 = I32;
pub const VIDEO_SRC: u64 = bits!(SrcType: U32 | S32);

/// Saturated lanes are not added up.
pub const VX_RULES: &[Requirement] =
    &[when(Field::SecondOp, bits!(SecondOp: Add), Field::Saturate, Saturate::No.bit())];
pub const VTYPES: [FieldSpec; 3] = [ty(VIDEO), req_of(Field::SrcType, VIDEO_SRC), req_of(Field::SecondType, VIDEO_2ND)];
pub const V_FIELDS: &[FieldSpec] = &[VTYPES[0], VTYPES[1], VTYPES[2], SAT, opt(Field::SecondOp)];

pub const VSHIFT_FIELDS: &[FieldSpec] = &[
    VTYPES[0],
    VTYPES[1],
    req_of(Field::SecondType, SecondType::U32.bit()),
    SAT,
    req(Field::ShiftMode),
    opt(Field::SecondOp),
];

pub const VSET_FIELDS: &[FieldSpec] =
    &[VTYPES[1], VTYPES[2], req_of(Field::Compare, ORDERED_CMP), opt(Field::SecondOp)];
pub const VX_FIELDS: &[FieldSpec] =
    &[VTYPES[0], VTYPES[1], VTYPES[2], SAT, opt_of(Field::SecondOp, SecondOp::Add.bit())];

pub const VXSET_FIELDS: &[FieldSpec] =
    &[VTYPES[1], VTYPES[2], req_of(Field::Compare, ORDERED_CMP), opt_of(Field::SecondOp, SecondOp::Add.bit())];

macro_rules! video_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Scalar video addition.
    VAdd "vadd" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields V_FIELDS, rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Scalar video subtraction.
    VSub "vsub" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields V_FIELDS, rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Scalar video absolute difference.
    VAbsDiff "vabsdiff" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields V_FIELDS, rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Scalar video minimum.
    VMin "vmin" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields V_FIELDS, rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Scalar video maximum.
    VMax "vmax" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields V_FIELDS, rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Scalar video left shift.
    VShl "vshl" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VSHIFT_FIELDS, rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Scalar video right shift.
    VShr "vshr" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VSHIFT_FIELDS, rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Scalar video multiply and add.
    VMad "vmad" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields &[VTYPES[0], VTYPES[1], VTYPES[2], opt(Field::PlusOne), SAT, opt(Field::Scale)],
        rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Scalar video comparison.
    VSet "vset" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VSET_FIELDS, rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video addition of two halfwords.
    VAdd2 "vadd2" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video subtraction of two halfwords.
    VSub2 "vsub2" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video average of two halfwords.
    VAvrg2 "vavrg2" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video absolute difference of two halfwords.
    VAbsDiff2 "vabsdiff2" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video minimum of two halfwords.
    VMin2 "vmin2" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video maximum of two halfwords.
    VMax2 "vmax2" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video comparison of two halfwords.
    VSet2 "vset2" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VXSET_FIELDS, rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video addition of four bytes.
    VAdd4 "vadd4" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video subtraction of four bytes.
    VSub4 "vsub4" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video average of four bytes.
    VAvrg4 "vavrg4" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video absolute difference of four bytes.
    VAbsDiff4 "vabsdiff4" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video minimum of four bytes.
    VMin4 "vmin4" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video maximum of four bytes.
    VMax4 "vmax4" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VX_FIELDS, rules VX_RULES,
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;

    /// Video comparison of four bytes.
    VSet4 "vset4" -: [R] <- [R, R, R, Imm], PURE.or(Flags::VIDEO),
        fields VXSET_FIELDS, rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Expanded, undef Mixing;
    } } };
}
pub(in crate::ops) use video_rows;
