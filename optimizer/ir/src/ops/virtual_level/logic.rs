//! Comparison, selection, logic and shifts.

use crate::ops::prelude::*;

pub const COMPARE_RULES: &[Requirement] = &[
    when(Field::Type, B, Field::Compare, bits!(Compare: Eq | Ne)),
    when(Field::Type, SINT, Field::Compare, ORDERED_CMP),
    when(Field::Type, bits!(Type: U16 | U32 | U64), Field::Compare, ORDERED_CMP | UNSIGNED_CMP),
    when(Field::Type, F, Field::Compare, ORDERED_CMP | FLOAT_CMP),
    when(Field::Ftz, NOT_FTZ, Field::Type, F32 | HF),
];

pub const SET_RULES: &[Requirement] = &[
    when(Field::SrcType, B, Field::Compare, bits!(Compare: Eq | Ne)),
    when(Field::SrcType, SINT, Field::Compare, ORDERED_CMP),
    when(Field::SrcType, bits!(Type: U16 | U32 | U64), Field::Compare, ORDERED_CMP | UNSIGNED_CMP),
    when(Field::SrcType, F, Field::Compare, ORDERED_CMP | FLOAT_CMP),
    when(Field::Ftz, NOT_FTZ, Field::Type, all(Field::Type) & !bits!(Type: Bf16)),
    when(Field::Ftz, NOT_FTZ, Field::SrcType, F32 | HF),
    when(Field::Type, I16, Field::SrcType, bits!(Type: F16 | Bf16)),
    when(Field::Type, bits!(Type: F16), Field::SrcType, bits!(Type: F16)),
    when(Field::Type, F32, Field::SrcType, CMP_TYPES & !bits!(Type: F16 | Bf16)),
    when(Field::Type, bits!(Type: Bf16), Field::SrcType, bits!(Type: Bf16 | F16)),
    when(Field::Type, bits!(Type: F16x2), Field::SrcType, bits!(Type: F16x2)),
    when(Field::Type, bits!(Type: Bf16x2), Field::SrcType, bits!(Type: Bf16x2)),
    when(Field::SrcType, bits!(Type: F16x2 | Bf16x2), Field::Type, HF | BF | I32),
];

pub const SET_TYPES: u64 = I32 | F32 | HF | BF | I16;
pub const CMP_TYPES: u64 = B | I | F32 | F64 | bits!(Type: F16 | Bf16);
pub const CMP: [FieldSpec; 3] = [req(Field::Compare), FTZ, ty(CMP_TYPES)];

pub const SET_LATER: &[Later] = &[
    from(53, Field::Type, HF | I16),
    from(53, Field::SrcType, HF),
    from(90, Field::Type, BF),
    from(90, Field::SrcType, BF),
];

macro_rules! logic_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Compares.
    SetP "setp" "setp": [P] <- [T, T], PURE,
        fields &CMP, rules COMPARE_RULES,
        since 50, later HALF_THEN_BF,
        cost PerWord(2), rank 9, latency Float, undef Mixing;

    /// Compares, and combines the result and its inverse with a predicate.
    SetPBool "setp.bool" -: [P, P] <- [T, T, P], PURE,
        fields &[req(Field::Compare), req(Field::BoolOp), FTZ, ty(CMP_TYPES)], rules COMPARE_RULES,
        since 50, later HALF_THEN_BF,
        cost PerWord(3), rank 10, latency Float, undef Mixing;

    /// Compares both halves.
    SetPX2 "setp.x2" -: [P, P] <- [T, T], PURE,
        fields &[req_of(Field::Compare, ORDERED_CMP | FLOAT_CMP), FTZ, ty(bits!(Type: F16x2 | Bf16x2))],
        rules &[when(Field::Ftz, NOT_FTZ, Field::Type, bits!(Type: F16x2))],
        since 53, later &[from(90, Field::Type, BF)],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// Compares both halves, and combines each result with a predicate.
    SetPX2Bool "setp.x2.bool" -: [P, P] <- [T, T, P], PURE,
        fields &[
            req_of(Field::Compare, ORDERED_CMP | FLOAT_CMP), req(Field::BoolOp), FTZ,
            ty(bits!(Type: F16x2 | Bf16x2)),
        ],
        rules &[when(Field::Ftz, NOT_FTZ, Field::Type, bits!(Type: F16x2))],
        since 53, later &[from(90, Field::Type, BF)],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// Compares into all ones or 1.0.
    Set "set" "set": [T] <- [S, S], PURE,
        fields &[
            req(Field::Compare), FTZ, ty(SET_TYPES), req_of(Field::SrcType, CMP_TYPES | bits!(Type: F16x2 | Bf16x2)),
        ],
        rules SET_RULES,
        since 50, later SET_LATER,
        cost PerWord(3), rank 10, latency Float, undef Mixing;

    /// Compares, combines with a predicate, into all ones or 1.0.
    SetBool "set.bool" -: [T] <- [S, S, P], PURE,
        fields &[
            req(Field::Compare), req(Field::BoolOp), FTZ, ty(SET_TYPES),
            req_of(Field::SrcType, CMP_TYPES | bits!(Type: F16x2 | Bf16x2)),
        ],
        rules SET_RULES,
        since 50, later SET_LATER,
        cost PerWord(3), rank 10, latency Float, undef Mixing;

    /// The first operand where the predicate is true, else the second.
    SelP "selp" "selp": [T] <- [T, T, P], PURE.or(SIGNLESS),
        fields &[ty(B | I | F32 | F64)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 8, latency Fixed, undef routing([2]);

    /// The first operand where the third is not negative, else the second.
    Slct "slct" "slct": [T] <- [T, T, S], PURE.or(SIGNLESS),
        fields &[FTZ, ty(B | I | F32 | F64), req_of(Field::SrcType, bits!(SrcType: S32 | F32))],
        rules &[when(Field::Ftz, NOT_FTZ, Field::SrcType, bits!(SrcType: F32))],
        since 50, later &[],
        cost PerWord(3), rank 10, latency Fixed, undef routing([2]);

    /// Bitwise and.
    And "and" "and": [T] <- [T, T], ASSOC,
        fields &[ty(PRED | B)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 2, latency Fixed, undef routing([]);

    /// Bitwise or.
    Or "or" "or": [T] <- [T, T], ASSOC,
        fields &[ty(PRED | B)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 2, latency Fixed, undef routing([]);

    /// Bitwise exclusive or.
    Xor "xor" "xor": [T] <- [T, T], ASSOC,
        fields &[ty(PRED | B)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 2, latency Fixed, undef Bitwise;

    /// Bitwise complement.
    Not "not" "not": [T] <- [T], PURE,
        fields &[ty(PRED | B)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 1, latency Fixed, undef routing([]);

    /// One where the operand is zero, else zero.
    CNot "cnot" "cnot": [T] <- [T], PURE,
        fields &[ty(B)], rules &[],
        since 50, later &[],
        cost PerWord(3), rank 10, latency Fixed, undef routing([]);

    /// Any bitwise function of three operands, by its truth table.
    Lop3 "lop3" "lop3": [T] <- [T, T, T, Imm], PURE,
        fields &[ty(bits!(Type: B32))], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Bitwise;

    /// `lop3`, and whether its result is not zero, combined with a predicate.
    Lop3P "lop3.bool" -: [T, P] <- [T, T, T, Imm, P], PURE,
        fields &[req_of(Field::BoolOp, bits!(BoolOp: And | Or)), ty(bits!(Type: B32))], rules &[],
        since 70, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef Mixing;

    /// Funnel shift of a register pair, the first operand its low word; counts above 32 clamp to 32 or wrap at 32.
    Shf "shf" "shf": [R] <- [R, R, R], PURE,
        fields &[req(Field::ShiftDirection), req(Field::ShiftMode), ty(bits!(Type: B32))],
        rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef routing([2]);

    /// Left shift; counts from the width on give zero.
    Shl "shl" "shl": [T] <- [T, R], PURE,
        fields &[ty(B)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 3, latency Fixed, undef routing([1]);

    /// Right shift, arithmetic for signed types; counts from the width on leave zero or the sign.
    Shr "shr" "shr": [T] <- [T, R], PURE,
        fields &[ty(B | I)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 3, latency Fixed, undef routing([1]);

    /// Selects four bytes of eight.
    Prmt "prmt" "prmt": [R] <- [R, R, R], PURE,
        fields &[ty(bits!(Type: B32)), opt(Field::PrmtMode)], rules &[],
        since 50, later &[],
        cost PerWord(2), rank 10, latency Fixed, undef routing([2]);
    } } };
}
pub(in crate::ops) use logic_rows;
