//! The opcode table: one row an opcode.
//!
//! Virtual-level rows follow PTX ISA 9.0, chapter "Instruction Set", for targets up to `sm_90`. A row reads
//! `Name "mnemonic" "ptx" [results] <- [operands], flags, [fields], [rules], "what it does";` where the PTX name
//! carries the modifiers that are always there, and `-` stands for opcodes that PTX spells in a way of its own.
//!
//! Values narrower than 32 bits live in a 32-bit word. An operation reads only the bits of its type and
//! zero-extends its result, except that sub-word loads and conversions to signed types sign-extend.

use super::Shape::*;
use super::field::*;
use super::{FieldSpec, Flags, Level, OpRow, Requirement};

const PURE: Flags = Flags::PURE;
const COMM: Flags = PURE.or(Flags::COMMUTATIVE);
const ASSOC: Flags = COMM.or(Flags::ASSOCIATIVE);
const COPY: Flags = PURE.or(Flags::COPY);
const LOAD: Flags = Flags::READS;
const STORE: Flags = Flags::WRITES.or(Flags::EFFECT);
const ATOMIC: Flags = Flags::READS.or(STORE);
const FENCE: Flags = Flags::FENCE.or(Flags::EFFECT);
const BARRIER: Flags = FENCE.or(Flags::CONVERGENT);
const COLLECTIVE: Flags = Flags::CONVERGENT;
const EFFECT: Flags = Flags::EFFECT;
const HINT: Flags = Flags::HINT.or(EFFECT);
const TERM: Flags = Flags::TERMINATOR.or(EFFECT);
const CALL: Flags = ATOMIC.or(BARRIER);

macro_rules! bits {
    ($t:ident: $($v:ident)|+) => { 0 $(| $t::$v.bit())+ };
}

const B: u64 = bits!(Type: B16 | B32 | B64);
const B3264: u64 = bits!(Type: B32 | B64);
const I16: u64 = bits!(Type: U16 | S16);
const I32: u64 = bits!(Type: U32 | S32);
const I64: u64 = bits!(Type: U64 | S64);
const I: u64 = I16 | I32 | I64;
const SINT: u64 = bits!(Type: S16 | S32 | S64);
const IX2: u64 = bits!(Type: U16x2 | S16x2);
const HF: u64 = bits!(Type: F16 | F16x2);
const BF: u64 = bits!(Type: Bf16 | Bf16x2);
const F32: u64 = Type::F32.bit();
const F64: u64 = Type::F64.bit();
const F: u64 = HF | BF | F32 | F64;
const PRED: u64 = Type::Pred.bit();
const MEM: u64 = bits!(Type: B8 | U8 | S8 | B16 | U16 | S16 | B32 | U32 | S32 | F32 | B64 | U64 | S64 | F64 | B128);
const SCALAR: u64 = bits!(Type: U8 | S8) | I | bits!(Type: F16 | Bf16) | F32 | F64;
const NARROW: u64 = bits!(Type: E4m3x2 | E5m2x2);

const ORDERED_CMP: u64 = bits!(Compare: Eq | Ne | Lt | Le | Gt | Ge);
const UNSIGNED_CMP: u64 = bits!(Compare: Lo | Ls | Hi | Hs);
const FLOAT_CMP: u64 = bits!(Compare: Equ | Neu | Ltu | Leu | Gtu | Geu | Num | Nan);
const DIRECTED: u64 = bits!(Rounding: Rz | Rm | Rp);
const EXACT: u64 = DIRECTED | bits!(Rounding: Rn);
const TO_INT: u64 = bits!(Rounding: Rni | Rzi | Rmi | Rpi);

/// All legal values of a field, by count.
const fn all(field: Field) -> u64 {
    let n = field.value_names().len();
    if n == 64 { u64::MAX } else { (1 << n) - 1 }
}

/// A field that need not be written: its first value is the default.
const fn opt(field: Field) -> FieldSpec {
    FieldSpec { field, legal: all(field), default: Some(0) }
}

/// The same with some of its values.
const fn opt_of(field: Field, legal: u64) -> FieldSpec {
    FieldSpec { field, legal: legal | 1, default: Some(0) }
}

/// A field that must be written.
const fn req(field: Field) -> FieldSpec {
    FieldSpec { field, legal: all(field), default: None }
}

/// The same with some of its values.
const fn req_of(field: Field, legal: u64) -> FieldSpec {
    FieldSpec { field, legal, default: None }
}

const fn ty(legal: u64) -> FieldSpec {
    req_of(Field::Type, legal)
}

/// The rule that a field with one of `values` leaves only `allowed` for another.
const fn when(field: Field, values: u64, then: Field, allowed: u64) -> Requirement {
    Requirement { field, values, also: None, then, allowed }
}

/// The same where a second field must have one of some values.
const fn when_both(a: (Field, u64), b: (Field, u64), then: Field, allowed: u64) -> Requirement {
    Requirement { field: a.0, values: a.1, also: Some(b), then, allowed }
}

const SAT: FieldSpec = opt(Field::Saturate);
const FTZ: FieldSpec = opt(Field::Ftz);
const RELU: FieldSpec = opt(Field::Relu);
const APPROX: FieldSpec = req_of(Field::Approx, Approx::Approx.bit());
/// Vectors of accesses: eight elements come with `sm_100`.
const VEC: FieldSpec = opt_of(Field::Vector, bits!(Vector: V2 | V4));
const ATOM_VEC: FieldSpec = opt(Field::Vector);

const NOT_FTZ: u64 = Ftz::Ftz.bit();
const SATURATED: u64 = Saturate::Sat.bit();
const RELUED: u64 = Relu::Relu.bit();

/// Float arithmetic: flushing for f32 and f16, saturation likewise, directed rounding for f32 and f64.
const FLOAT_RULES: &[Requirement] = &[
    when(Field::Rounding, DIRECTED, Field::Type, F32 | F64),
    when(Field::Ftz, NOT_FTZ, Field::Type, F32 | HF),
    when(Field::Saturate, SATURATED, Field::Type, F32 | HF),
];
const FMA_RULES: &[Requirement] = &[
    when(Field::Rounding, DIRECTED, Field::Type, F32 | F64),
    when(Field::Ftz, NOT_FTZ, Field::Type, F32 | HF),
    when(Field::Saturate, SATURATED, Field::Type, F32 | HF),
    when(Field::Relu, RELUED, Field::Type, HF | BF),
    when(Field::Relu, RELUED, Field::Saturate, Saturate::No.bit()),
];
const MINMAX_RULES: &[Requirement] = &[
    when(Field::Ftz, NOT_FTZ, Field::Type, F32 | HF),
    when(Field::NanMode, NanMode::Nan.bit(), Field::Type, F32 | HF | BF),
    when(Field::XorSign, XorSign::XorSignAbs.bit(), Field::Type, F32 | HF | BF),
];
const FTZ_HALF: &[Requirement] = &[when(Field::Ftz, NOT_FTZ, Field::Type, F32 | HF)];
const EXACT_OR_APPROX: &[Requirement] = &[
    when(Field::Approx, Approx::Exact.bit(), Field::Rounding, EXACT),
    when(Field::Approx, Approx::Approx.bit() | Approx::Full.bit(), Field::Rounding, Rounding::Default.bit()),
    when(Field::Approx, Approx::Full.bit(), Field::Type, F32),
    when(Field::Ftz, NOT_FTZ, Field::Type, F32),
];
/// As above for `rcp`, whose f64 form is approximate only with flushing.
const RECIPROCAL: &[Requirement] = &[
    when(Field::Approx, Approx::Exact.bit(), Field::Rounding, EXACT),
    when(Field::Approx, Approx::Approx.bit(), Field::Rounding, Rounding::Default.bit()),
    when(Field::Rounding, EXACT, Field::Approx, Approx::Exact.bit()),
    when_both((Field::Approx, Approx::Approx.bit()), (Field::Type, F64), Field::Ftz, Ftz::Ftz.bit()),
];
const SAT_S32: &[Requirement] = &[when(Field::Saturate, SATURATED, Field::Type, Type::S32.bit())];
const RELU_INT: &[Requirement] = &[when(Field::Relu, RELUED, Field::Type, Type::S32.bit() | Type::S16x2.bit())];
const COMPARE_RULES: &[Requirement] = &[
    when(Field::Type, B, Field::Compare, bits!(Compare: Eq | Ne)),
    when(Field::Type, SINT, Field::Compare, ORDERED_CMP),
    when(Field::Type, bits!(Type: U16 | U32 | U64), Field::Compare, ORDERED_CMP | UNSIGNED_CMP),
    when(Field::Type, F, Field::Compare, ORDERED_CMP | FLOAT_CMP),
    when(Field::Ftz, NOT_FTZ, Field::Type, F32 | HF),
];
const SET_RULES: &[Requirement] = &[
    when(Field::SrcType, B, Field::Compare, bits!(Compare: Eq | Ne)),
    when(Field::SrcType, SINT, Field::Compare, ORDERED_CMP),
    when(Field::SrcType, bits!(Type: U16 | U32 | U64), Field::Compare, ORDERED_CMP | UNSIGNED_CMP),
    when(Field::SrcType, F, Field::Compare, ORDERED_CMP | FLOAT_CMP),
    when(Field::Ftz, NOT_FTZ, Field::SrcType, F32 | HF),
    when(Field::Type, I16, Field::SrcType, bits!(Type: F16 | Bf16)),
    when(Field::Type, bits!(Type: F16), Field::SrcType, bits!(Type: F16)),
    when(Field::Type, F32, Field::SrcType, CMP_TYPES & !bits!(Type: F16 | Bf16)),
    when(Field::Type, bits!(Type: Bf16), Field::SrcType, bits!(Type: Bf16)),
    when(Field::Type, bits!(Type: F16x2), Field::SrcType, bits!(Type: F16x2)),
    when(Field::Type, bits!(Type: Bf16x2), Field::SrcType, bits!(Type: Bf16x2)),
    when(Field::SrcType, bits!(Type: F16x2 | Bf16x2), Field::Type, HF | BF | I32),
];
const SET_TYPES: u64 = I32 | F32 | HF | BF | I16;
const CMP_TYPES: u64 = B | I | F32 | F64 | bits!(Type: F16 | Bf16);
const CMP: [FieldSpec; 3] = [req(Field::Compare), FTZ, ty(CMP_TYPES)];

const ORDERED: u64 = all(Field::Order) & !1;
const WIDE_MEM: u64 = bits!(Type: B64 | U64 | S64 | F64);

/// Memory orders and the scopes that they need, cache hints, vectors: what holds for loads and stores alike.
macro_rules! access_rules {
    ($($more:expr),* $(,)?) => {
        &[
            when(Field::Order, bits!(Order: Weak | Volatile), Field::Scope, Scope::None.bit()),
            when(Field::Order, bits!(Order: Relaxed | Acquire | Release), Field::Scope, all(Field::Scope) & !1),
            when(Field::Order, bits!(Order: Mmio), Field::Scope, Scope::Sys.bit()),
            when(Field::Order, bits!(Order: Mmio), Field::Space, bits!(Space: Generic | Global)),
            when(Field::Order, bits!(Order: Mmio), Field::Vector, Vector::V1.bit()),
            when(
                Field::Order,
                bits!(Order: Relaxed | Acquire | Release | Volatile),
                Field::Space,
                bits!(Space: Generic | Global | Shared),
            ),
            when(Field::Order, ORDERED, Field::CacheOp, CacheOp::None.bit()),
            when(Field::Order, bits!(Order: Volatile | Mmio), Field::EvictL1, EvictL1::None.bit()),
            when(Field::EvictL1, all(Field::EvictL1) & !1, Field::Space, bits!(Space: Generic | Global)),
            when(Field::EvictL1, all(Field::EvictL1) & !1, Field::CacheOp, CacheOp::None.bit()),
            when(Field::Vector, bits!(Vector: V4), Field::Type, MEM & !WIDE_MEM & !bits!(Type: B128)),
            when(Field::Vector, bits!(Vector: V2), Field::Type, MEM & !bits!(Type: B128)),
            $($more),*
        ]
    };
}
const LOAD_RULES: &[Requirement] = access_rules![
    when(Field::NonCoherent, NonCoherent::Nc.bit(), Field::Space, Space::Global.bit()),
    when(Field::NonCoherent, NonCoherent::Nc.bit(), Field::Order, Order::Weak.bit()),
    when(Field::NonCoherent, NonCoherent::Nc.bit(), Field::CacheOp, all(Field::CacheOp) & !CacheOp::Cv.bit()),
    when(Field::PrefetchSize, all(Field::PrefetchSize) & !1, Field::Space, bits!(Space: Generic | Global)),
    when(Field::PrefetchSize, all(Field::PrefetchSize) & !1, Field::CacheOp, CacheOp::None.bit()),
    when(Field::Order, bits!(Order: Mmio), Field::PrefetchSize, PrefetchSize::None.bit()),
];
const STORE_RULES: &[Requirement] = access_rules![];
const LDU_RULES: &[Requirement] = &[
    when(Field::Vector, bits!(Vector: V4), Field::Type, MEM & !WIDE_MEM & !bits!(Type: B128)),
    when(Field::Vector, bits!(Vector: V2), Field::Type, MEM & !bits!(Type: B128)),
];
const ATOM_BITS: u64 = bits!(Type: B32 | B64);
const ATOM_RULES: &[Requirement] = &[
    when(Field::AtomOp, bits!(AtomOp: And | Or | Xor), Field::Type, ATOM_BITS),
    when(Field::AtomOp, bits!(AtomOp: Exch), Field::Type, ATOM_BITS | bits!(Type: B128)),
    when(Field::AtomOp, bits!(AtomOp: Add), Field::Type, bits!(Type: U32 | S32 | U64 | F32 | F64) | HF | BF),
    when(Field::AtomOp, bits!(AtomOp: Inc | Dec), Field::Type, bits!(Type: U32)),
    when(Field::AtomOp, bits!(AtomOp: Min | Max), Field::Type, I32 | I64 | HF | BF),
    when(Field::Type, HF | BF, Field::NoFtz, NoFtz::NoFtz.bit()),
    when(Field::NoFtz, NoFtz::NoFtz.bit(), Field::Type, HF | BF),
    when(Field::Vector, bits!(Vector: V2 | V4 | V8), Field::Type, HF | BF | F32),
    when(Field::Vector, bits!(Vector: V2 | V4 | V8), Field::Space, bits!(Space: Generic | Global)),
    when(Field::Vector, bits!(Vector: V4), Field::Type, HF | BF | F32),
    when(Field::Vector, bits!(Vector: V8), Field::Type, bits!(Type: F16 | Bf16)),
    when(Field::Vector, bits!(Vector: V2 | V4 | V8), Field::AtomOp, bits!(AtomOp: Add | Min | Max)),
    // Vectors of floats are only added; half-precision minima and maxima exist only as vectors.
    when(Field::Type, F32, Field::AtomOp, bits!(AtomOp: Add)),
    when_both(
        (Field::AtomOp, bits!(AtomOp: Min | Max)),
        (Field::Type, HF | BF),
        Field::Vector,
        bits!(Vector: V2 | V4 | V8),
    ),
];
const ATOM_ORDER: FieldSpec = opt_of(Field::Order, bits!(Order: Relaxed | Acquire | Release | AcqRel));
const ATOM_SPACE: FieldSpec = opt_of(Field::Space, bits!(Space: Global | Shared));
const RED_ORDER: FieldSpec = opt_of(Field::Order, bits!(Order: Relaxed | Release));
const ATOM_TYPES: u64 = B3264 | bits!(Type: B128) | I32 | I64 | F32 | F64 | HF | BF;
const VIDEO: u64 = I32;
const VIDEO_SRC: u64 = bits!(SrcType: U32 | S32);
const VIDEO_2ND: u64 = bits!(SecondType: U32 | S32);
const VIDEO_RULES: &[Requirement] = &[];
/// Saturated lanes are not added up.
const VX_RULES: &[Requirement] = &[when(Field::SecondOp, bits!(SecondOp: Add), Field::Saturate, Saturate::No.bit())];
const VTYPES: [FieldSpec; 3] = [ty(VIDEO), req_of(Field::SrcType, VIDEO_SRC), req_of(Field::SecondType, VIDEO_2ND)];
const V_FIELDS: &[FieldSpec] = &[VTYPES[0], VTYPES[1], VTYPES[2], SAT, opt(Field::SecondOp)];
const VSHIFT_FIELDS: &[FieldSpec] = &[
    VTYPES[0],
    VTYPES[1],
    req_of(Field::SecondType, SecondType::U32.bit()),
    SAT,
    req(Field::ShiftMode),
    opt(Field::SecondOp),
];
const VSET_FIELDS: &[FieldSpec] = &[VTYPES[1], VTYPES[2], req_of(Field::Compare, ORDERED_CMP), opt(Field::SecondOp)];
const VX_FIELDS: &[FieldSpec] = &[VTYPES[0], VTYPES[1], VTYPES[2], SAT, opt_of(Field::SecondOp, SecondOp::Add.bit())];
const VXSET_FIELDS: &[FieldSpec] =
    &[VTYPES[1], VTYPES[2], req_of(Field::Compare, ORDERED_CMP), opt_of(Field::SecondOp, SecondOp::Add.bit())];
const CVT_INT: u64 = bits!(Type: U8 | S8) | I;
const CVT_FLOAT: u64 = bits!(Type: F16 | Bf16 | F32 | F64);
const TO_NEAREST_OR_ZERO: u64 = bits!(Rounding: Rn | Rz);
const UNROUNDED: u64 = Rounding::Default.bit();

/// The rounding that a conversion between these types takes.
const fn rounds(to: u64, from: u64, rounding: u64) -> Requirement {
    when_both((Field::Type, to), (Field::SrcType, from), Field::Rounding, rounding)
}

/// Integers whose values a type does not hold all: those from which `.sat` makes a difference.
const fn saturates(to: Type, from: u64) -> Requirement {
    let from = from | CVT_FLOAT;
    when_both((Field::Saturate, SATURATED), (Field::Type, to.bit()), Field::SrcType, from)
}

/// What ptxas 13.0 accepts for `sm_90`: 816 combinations. It takes no conversion between bf16 and bytes.
const CVT_RULES: &[Requirement] = &[
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

macro_rules! ops {
    (@ptx -) => { None };
    (@ptx $ptx:literal) => { Some($ptx) };
    ($($op:ident $name:literal $ptx:tt [$($d:expr),*] <- [$($s:expr),*], $flags:expr, $fields:expr, $rules:expr, $doc:literal;)*) => {
        /// An operation.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u16)]
        pub enum Opcode { $(#[doc = $doc] $op,)* }

        /// The opcode table, in the order of [`Opcode`].
        pub static ROWS: &[OpRow] = &[$(OpRow {
            opcode: Opcode::$op,
            name: $name,
            ptx: ops!(@ptx $ptx),
            level: Level::Virtual,
            dsts: &[$($d),*],
            srcs: &[$($s),*],
            flags: $flags,
            fields: &$fields,
            requires: &$rules,
            doc: $doc,
        }),*];
    };
}

#[rustfmt::skip]
ops! {
    // Values and copies.
    Phi "phi" - [Any] <- [Incoming], PURE, [], [], "The value that flows in from the predecessor that control came from.";
    Mov "mov" - [T] <- [T], COPY, [ty(PRED | bits!(Type: B32 | B64 | B128))], [], "A copy; also loads constants and the addresses of symbols.";
    S2r "s2r" - [T] <- [Special], PURE, [ty(PRED | B3264)], [], "Reads a special register that does not change.";
    Cs2r "cs2r" - [T] <- [Special], EFFECT, [ty(B3264)], [], "Reads a special register that changes by itself (clocks).";
    Pack "pack" - [Packed] <- [Parts], PURE, [ty(bits!(Type: B8 | B16 | B32 | B64))], [], "Concatenates values, lowest first.";

    // Integer arithmetic.
    IAdd "iadd" "add" [T] <- [T, T], ASSOC, [SAT, ty(I | IX2)], *SAT_S32, "Addition modulo 2^n, or saturating.";
    ISub "isub" "sub" [T] <- [T, T], PURE, [SAT, ty(I)], *SAT_S32, "Subtraction modulo 2^n, or saturating.";
    IMulLo "imul.lo" "mul.lo" [T] <- [T, T], ASSOC, [ty(I)], [], "The low half of the product.";
    IMulHi "imul.hi" "mul.hi" [T] <- [T, T], COMM, [ty(I)], [], "The high half of the product.";
    IMulWide "imul.wide" "mul.wide" [W] <- [T, T], COMM, [ty(I16 | I32)], [], "The whole product, twice as wide.";
    IMadLo "imad.lo" "mad.lo" [T] <- [T, T, T], COMM, [ty(I)], [], "The low half of the product, plus the third operand.";
    IMadHi "imad.hi" "mad.hi" [T] <- [T, T, T], COMM, [SAT, ty(I)], *SAT_S32, "The high half of the product, plus the third operand.";
    IMadWide "imad.wide" "mad.wide" [W] <- [T, T, W], COMM, [ty(I16 | I32)], [], "The whole product plus a wide operand.";
    IMul24Lo "imul24.lo" "mul24.lo" [T] <- [T, T], COMM, [ty(I32)], [], "The low 32 bits of the product of two 24-bit values.";
    IMul24Hi "imul24.hi" "mul24.hi" [T] <- [T, T], COMM, [ty(I32)], [], "Bits 16 to 47 of the product of two 24-bit values.";
    IMad24Lo "imad24.lo" "mad24.lo" [T] <- [T, T, T], COMM, [ty(I32)], [], "24-bit product, low, plus the third operand.";
    IMad24Hi "imad24.hi" "mad24.hi" [T] <- [T, T, T], COMM, [SAT, ty(I32)], *SAT_S32, "24-bit product, high, plus the third operand.";
    ISad "isad" "sad" [T] <- [T, T, T], COMM, [ty(I)], [], "The third operand plus the absolute difference of the first two.";
    IDiv "idiv" "div" [T] <- [T, T], PURE, [ty(I)], [], "Quotient, toward zero; undefined for a zero divisor.";
    IRem "irem" "rem" [T] <- [T, T], PURE, [ty(I)], [], "Remainder with the dividend's sign; undefined for a zero divisor.";
    IAbs "iabs" "abs" [T] <- [T], PURE, [ty(SINT)], [], "Absolute value modulo 2^n.";
    INeg "ineg" "neg" [T] <- [T], PURE, [ty(SINT)], [], "Negation modulo 2^n.";
    IMin "imin" "min" [T] <- [T, T], COMM, [RELU, ty(I | IX2)], *RELU_INT, "The smaller value.";
    IMax "imax" "max" [T] <- [T, T], COMM, [RELU, ty(I | IX2)], *RELU_INT, "The larger value.";
    IAddCarry "iadd.carry" - [T, P] <- [T, T, P], COMM, [ty(I32 | I64)], [], "Addition with carry in and out (`add.cc`, `addc`).";
    ISubCarry "isub.carry" - [T, P] <- [T, T, P], PURE, [ty(I32 | I64)], [], "`a + !b + carry`: subtraction that takes one off where the carry in is clear; the carry out is clear where it borrows (`sub.cc`, `subc`).";
    IMadLoCarry "imad.lo.carry" - [T, P] <- [T, T, T, P], COMM, [ty(I32 | I64)], [], "`mad.lo` with carry in and out of its addition.";
    IMadHiCarry "imad.hi.carry" - [T, P] <- [T, T, T, P], COMM, [ty(I32 | I64)], [], "`mad.hi` with carry in and out of its addition.";
    Popc "popc" "popc" [R] <- [T], PURE, [ty(B3264)], [], "Number of set bits.";
    Clz "clz" "clz" [R] <- [T], PURE, [ty(B3264)], [], "Number of leading zeros.";
    Bfind "bfind" "bfind" [R] <- [T], PURE, [opt(Field::ShiftAmount), ty(I32 | I64)], [], "Position of the most significant bit that is not the sign.";
    Fns "fns" "fns" [R] <- [R, R, R], PURE, [ty(bits!(Type: B32))], [], "Position of the n-th set bit from a start.";
    Brev "brev" "brev" [T] <- [T], PURE, [ty(B3264)], [], "Bits in reverse order.";
    Bfe "bfe" "bfe" [T] <- [T, R, R], PURE, [ty(I32 | I64)], [], "Bit field at a position, of a length, extended.";
    Bfi "bfi" "bfi" [T] <- [T, T, R, R], PURE, [ty(B3264)], [], "The second operand with the first inserted at a position, of a length.";
    Szext "szext" "szext" [T] <- [T, R], PURE, [req(Field::ShiftMode), ty(I32)], [], "Sign- or zero-extension from a bit count.";
    Bmsk "bmsk" "bmsk" [R] <- [R, R], PURE, [req(Field::ShiftMode), ty(bits!(Type: B32))], [], "A mask from a position, of a length.";
    Dp4a "dp4a" "dp4a" [R] <- [R, R, R], PURE, [ty(I32), req_of(Field::SecondType, VIDEO_2ND)], [], "Dot product of four bytes, plus the third operand.";
    Dp2a "dp2a" "dp2a" [R] <- [R, R, R], PURE, [req(Field::Half), ty(I32), req_of(Field::SecondType, VIDEO_2ND)], [], "Dot product of two halfwords with two bytes, plus the third operand.";

    // Floating-point arithmetic.
    FAdd "fadd" "add" [T] <- [T, T], COMM, [opt_of(Field::Rounding, EXACT), FTZ, SAT, ty(F)], *FLOAT_RULES, "Sum.";
    FSub "fsub" "sub" [T] <- [T, T], PURE, [opt_of(Field::Rounding, EXACT), FTZ, SAT, ty(F)], *FLOAT_RULES, "Difference.";
    FMul "fmul" "mul" [T] <- [T, T], COMM, [opt_of(Field::Rounding, EXACT), FTZ, SAT, ty(F)], *FLOAT_RULES, "Product.";
    FFma "ffma" "fma" [T] <- [T, T, T], COMM, [req_of(Field::Rounding, EXACT), FTZ, SAT, RELU, ty(F)], *FMA_RULES, "Product plus third operand, rounded once.";
    FDiv "fdiv" "div" [T] <- [T, T], PURE, [opt(Field::Approx), opt_of(Field::Rounding, EXACT), FTZ, ty(F32 | F64)], [EXACT_OR_APPROX[0], EXACT_OR_APPROX[1], EXACT_OR_APPROX[3], when(Field::Approx, bits!(Approx: Approx | Full), Field::Type, F32)], "Quotient.";
    FAbs "fabs" "abs" [T] <- [T], PURE, [FTZ, ty(F)], *FTZ_HALF, "The value without its sign.";
    FNeg "fneg" "neg" [T] <- [T], PURE, [FTZ, ty(F)], *FTZ_HALF, "The value with the other sign.";
    FMin "fmin" "min" [T] <- [T, T], COMM, [FTZ, opt(Field::NanMode), opt(Field::XorSign), ty(F)], *MINMAX_RULES, "The smaller value; -0 is smaller than +0.";
    FMax "fmax" "max" [T] <- [T, T], COMM, [FTZ, opt(Field::NanMode), opt(Field::XorSign), ty(F)], *MINMAX_RULES, "The larger value; +0 is larger than -0.";
    FRcp "frcp" "rcp" [T] <- [T], PURE, [opt_of(Field::Approx, Approx::Approx.bit()), opt_of(Field::Rounding, EXACT), FTZ, ty(F32 | F64)], *RECIPROCAL, "Reciprocal.";
    FSqrt "fsqrt" "sqrt" [T] <- [T], PURE, [opt_of(Field::Approx, Approx::Approx.bit()), opt_of(Field::Rounding, EXACT), FTZ, ty(F32 | F64)], [EXACT_OR_APPROX[0], EXACT_OR_APPROX[1], EXACT_OR_APPROX[3], when(Field::Approx, bits!(Approx: Approx), Field::Type, F32)], "Square root.";
    FRsqrt "frsqrt" "rsqrt" [T] <- [T], PURE, [APPROX, FTZ, ty(F32 | F64)], [], "Reciprocal square root.";
    FSin "fsin" "sin" [T] <- [T], PURE, [APPROX, FTZ, ty(F32)], [], "Sine.";
    FCos "fcos" "cos" [T] <- [T], PURE, [APPROX, FTZ, ty(F32)], [], "Cosine.";
    FLg2 "flg2" "lg2" [T] <- [T], PURE, [APPROX, FTZ, ty(F32)], [], "Logarithm to base 2.";
    FEx2 "fex2" "ex2" [T] <- [T], PURE, [APPROX, FTZ, ty(F32 | HF | BF)], [when(Field::Ftz, Ftz::No.bit(), Field::Type, F32 | HF), when(Field::Ftz, NOT_FTZ, Field::Type, F32 | BF)], "Power of two.";
    FTanh "ftanh" "tanh" [T] <- [T], PURE, [APPROX, ty(F32 | HF | BF)], [], "Hyperbolic tangent.";
    TestP "testp" "testp" [P] <- [T], PURE, [req(Field::TestProperty), ty(F32 | F64)], [], "Tests a property of a float.";
    CopySign "copysign" "copysign" [T] <- [T, T], PURE, [ty(F32 | F64)], [], "The second operand with the first operand's sign.";

    // Comparison and selection.
    SetP "setp" "setp" [P] <- [T, T], PURE, CMP, *COMPARE_RULES, "Compares.";
    SetPBool "setp.bool" - [P, P] <- [T, T, P], PURE, [req(Field::Compare), req(Field::BoolOp), FTZ, ty(CMP_TYPES)], *COMPARE_RULES, "Compares, and combines the result and its inverse with a predicate.";
    SetPX2 "setp.x2" - [P, P] <- [T, T], PURE, [req_of(Field::Compare, ORDERED_CMP | FLOAT_CMP), FTZ, ty(bits!(Type: F16x2 | Bf16x2))], [when(Field::Ftz, NOT_FTZ, Field::Type, bits!(Type: F16x2))], "Compares both halves.";
    SetPX2Bool "setp.x2.bool" - [P, P] <- [T, T, P], PURE, [req_of(Field::Compare, ORDERED_CMP | FLOAT_CMP), req(Field::BoolOp), FTZ, ty(bits!(Type: F16x2 | Bf16x2))], [when(Field::Ftz, NOT_FTZ, Field::Type, bits!(Type: F16x2))], "Compares both halves, and combines each result with a predicate.";
    Set "set" "set" [T] <- [S, S], PURE, [req(Field::Compare), FTZ, ty(SET_TYPES), req_of(Field::SrcType, CMP_TYPES | bits!(Type: F16x2 | Bf16x2))], *SET_RULES, "Compares into all ones or 1.0.";
    SetBool "set.bool" - [T] <- [S, S, P], PURE, [req(Field::Compare), req(Field::BoolOp), FTZ, ty(SET_TYPES), req_of(Field::SrcType, CMP_TYPES | bits!(Type: F16x2 | Bf16x2))], *SET_RULES, "Compares, combines with a predicate, into all ones or 1.0.";
    SelP "selp" "selp" [T] <- [T, T, P], PURE, [ty(B | I | F32 | F64)], [], "The first operand where the predicate is true, else the second.";
    Slct "slct" "slct" [T] <- [T, T, S], PURE, [FTZ, ty(B | I | F32 | F64), req_of(Field::SrcType, bits!(SrcType: S32 | F32))], [when(Field::Ftz, NOT_FTZ, Field::SrcType, bits!(SrcType: F32))], "The first operand where the third is not negative, else the second.";

    // Logic and shifts.
    And "and" "and" [T] <- [T, T], ASSOC, [ty(PRED | B)], [], "Bitwise and.";
    Or "or" "or" [T] <- [T, T], ASSOC, [ty(PRED | B)], [], "Bitwise or.";
    Xor "xor" "xor" [T] <- [T, T], ASSOC, [ty(PRED | B)], [], "Bitwise exclusive or.";
    Not "not" "not" [T] <- [T], PURE, [ty(PRED | B)], [], "Bitwise complement.";
    CNot "cnot" "cnot" [T] <- [T], PURE, [ty(B)], [], "One where the operand is zero, else zero.";
    Lop3 "lop3" "lop3" [T] <- [T, T, T, Imm], PURE, [ty(bits!(Type: B32))], [], "Any bitwise function of three operands, by its truth table.";
    Lop3P "lop3.bool" - [T, P] <- [T, T, T, Imm, P], PURE, [req_of(Field::BoolOp, bits!(BoolOp: And | Or)), ty(bits!(Type: B32))], [], "`lop3`, and whether its result is not zero, combined with a predicate.";
    Shf "shf" "shf" [R] <- [R, R, R], PURE, [req(Field::ShiftDirection), req(Field::ShiftMode), ty(bits!(Type: B32))], [], "Funnel shift of a register pair.";
    Shl "shl" "shl" [T] <- [T, R], PURE, [ty(B)], [], "Left shift; counts above the width give zero.";
    Shr "shr" "shr" [T] <- [T, R], PURE, [ty(B | I)], [], "Right shift, arithmetic for signed types; counts above the width fill.";
    Prmt "prmt" "prmt" [R] <- [R, R, R], PURE, [ty(bits!(Type: B32)), opt(Field::PrmtMode)], [], "Selects four bytes of eight.";

    // Conversion.
    Cvt "cvt" "cvt" [T] <- [S], PURE, [opt(Field::Rounding), RELU, FTZ, opt(Field::SatFinite), SAT, ty(SCALAR | bits!(Type: Tf32 | F16x2)), req_of(Field::SrcType, SCALAR | NARROW)], *CVT_RULES, "Converts a value.";
    CvtPack2 "cvt.x2" - [T] <- [S, S], PURE, [req_of(Field::Rounding, bits!(Rounding: Rn | Rz)), RELU, opt(Field::SatFinite), ty(bits!(Type: F16x2 | Bf16x2) | NARROW), req_of(Field::SrcType, F32)], [when(Field::Type, NARROW, Field::Rounding, bits!(Rounding: Rn)), when(Field::Type, NARROW, Field::SatFinite, SatFinite::SatFinite.bit())], "Converts two values into the high and the low half.";
    CvtNarrow "cvt.narrow" - [T] <- [S], PURE, [req_of(Field::Rounding, bits!(Rounding: Rn)), RELU, req_of(Field::SatFinite, SatFinite::SatFinite.bit()), ty(NARROW), req_of(Field::SrcType, bits!(SrcType: F16x2))], [], "Converts two packed halves into two 8-bit floats.";
    CvtPackInt "cvt.pack" - [R] <- [R, R, R], PURE, [ty(bits!(Type: U8 | S8 | U16 | S16))], [], "Saturates two s32 values and packs them above the low part of the third operand (`cvt.pack.sat`).";

    // Memory.
    Ld "ld" "ld" [V] <- [Base, Offset], LOAD, [opt_of(Field::Order, bits!(Order: Relaxed | Acquire | Volatile | Mmio)), opt(Field::Scope), opt(Field::Space), opt_of(Field::CacheOp, bits!(CacheOp: Ca | Cg | Cs | Lu | Cv)), opt(Field::NonCoherent), opt(Field::EvictL1), opt(Field::PrefetchSize), VEC, ty(MEM)], *LOAD_RULES, "Loads; weak loads can be removed and repeated.";
    Ldu "ldu" "ldu" [V] <- [Base, Offset], LOAD, [opt_of(Field::Space, Space::Global.bit()), VEC, ty(MEM)], *LDU_RULES, "Loads from an address that is the same in all threads of the warp.";
    St "st" "st" [] <- [Base, Offset, V], STORE, [opt_of(Field::Order, bits!(Order: Relaxed | Release | Volatile | Mmio)), opt(Field::Scope), opt_of(Field::Space, bits!(Space: Global | Shared | Local | Param)), opt_of(Field::CacheOp, bits!(CacheOp: Wb | Cg | Cs | Wt)), opt(Field::EvictL1), VEC, ty(MEM)], *STORE_RULES, "Stores.";
    Atom "atom" "atom" [V] <- [Base, Offset, V], ATOMIC, [ATOM_ORDER, opt(Field::Scope), ATOM_SPACE, req(Field::AtomOp), opt(Field::NoFtz), ATOM_VEC, ty(ATOM_TYPES)], *ATOM_RULES, "Reads, modifies and writes in one step; yields the old value.";
    AtomCas "atom.cas" "atom.cas" [T] <- [Base, Offset, T, T], ATOMIC, [ATOM_ORDER, opt(Field::Scope), ATOM_SPACE, ty(B | bits!(Type: B128))], [], "Writes the third operand where memory equals the second; yields the old value.";
    Red "red" "red" [] <- [Base, Offset, V], ATOMIC, [RED_ORDER, opt(Field::Scope), ATOM_SPACE, req_of(Field::AtomOp, all(Field::AtomOp) & !bits!(AtomOp: Exch)), opt(Field::NoFtz), ATOM_VEC, ty(ATOM_TYPES & !bits!(Type: B128))], *ATOM_RULES, "`atom` without its result.";
    Prefetch "prefetch" "prefetch" [] <- [Base, Offset], HINT, [opt_of(Field::Space, bits!(Space: Global | Local)), req(Field::PrefetchLevel)], [when(Field::PrefetchLevel, bits!(PrefetchLevel: L2EvictLast | L2EvictNormal), Field::Space, bits!(Space: Generic | Global))], "Brings a line into a cache.";
    Prefetchu "prefetchu" "prefetchu" [] <- [Base, Offset], HINT, [req_of(Field::PrefetchLevel, PrefetchLevel::L1.bit())], [], "Brings a line into the uniform cache.";
    Discard "discard" "discard" [] <- [Base, Offset, Imm], HINT, [opt_of(Field::Space, Space::Global.bit()), req_of(Field::PrefetchLevel, PrefetchLevel::L2.bit())], [], "Allows a line to be dropped without being written back; here without effect.";
    ApplyPriority "applypriority" "applypriority" [] <- [Base, Offset, Imm], HINT, [opt_of(Field::Space, Space::Global.bit()), req_of(Field::PrefetchLevel, PrefetchLevel::L2EvictNormal.bit())], [], "Changes a line's eviction priority.";
    IsSpaceP "isspacep" "isspacep" [P] <- [Base], PURE, [req_of(Field::Space, bits!(Space: Global | Shared | Local | Const | Param))], [], "Whether a generic address lies in a space.";
    Cvta "cvta" "cvta" [T] <- [Base], PURE, [opt(Field::CvtaDirection), req_of(Field::Space, bits!(Space: Global | Shared | Local | Const | Param)), ty(bits!(Type: U32 | U64))], [], "Converts an address between a space and generic addressing.";
    CpAsync "cp.async" - [] <- [Base, Offset, Base, Offset, Imm, R], ATOMIC, [req(Field::AsyncCache), req_of(Field::Space, Space::Shared.bit()), opt_of(Field::PrefetchSize, all(Field::PrefetchSize))], [], "Copies 4, 8 or 16 bytes from global to shared memory, of which the last operand says how many are read (the rest is zero).";
    CpAsyncCommit "cp.async.commit_group" "cp.async.commit_group" [] <- [], EFFECT, [], [], "Closes a group of asynchronous copies.";
    CpAsyncWait "cp.async.wait_group" "cp.async.wait_group" [] <- [Imm], FENCE, [], [], "Waits until at most so many groups are pending.";
    CpAsyncWaitAll "cp.async.wait_all" "cp.async.wait_all" [] <- [], FENCE, [], [], "Waits for all asynchronous copies.";

    // Synchronisation and collectives.
    BarSync "bar.sync" - [] <- [R, R], BARRIER, [opt(Field::Aligned)], [], "Waits at a barrier for so many threads (0: all of the CTA).";
    BarArrive "bar.arrive" - [] <- [R, R], BARRIER, [opt(Field::Aligned)], [], "Counts as arrived at a barrier without waiting.";
    BarRedPopc "bar.red.popc" - [R] <- [R, R, P], BARRIER, [opt(Field::Aligned)], [], "Barrier that yields how many threads' predicates are true.";
    BarRed "bar.red" - [P] <- [R, R, P], BARRIER, [opt(Field::Aligned), req_of(Field::BoolOp, bits!(BoolOp: And | Or))], [], "Barrier that yields whether all or any predicates are true.";
    BarWarpSync "bar.warp.sync" "bar.warp.sync" [] <- [R], BARRIER, [], [], "Waits for the member lanes of the warp.";
    Fence "fence" "fence" [] <- [], FENCE, [req(Field::FenceKind), req_of(Field::Scope, bits!(Scope: Cta | Cluster | Gpu | Sys))], [], "Orders memory accesses.";
    Shfl "shfl.sync" - [R, P] <- [R, R, R, R], COLLECTIVE, [req(Field::ShuffleMode), ty(bits!(Type: B32))], [], "Reads another lane's value, and whether that lane was in range.";
    Vote "vote.sync" "vote.sync" [P] <- [P, R], COLLECTIVE, [req(Field::VoteMode), ty(PRED)], [], "Whether all, any or equal predicates hold over the member lanes.";
    Ballot "vote.sync.ballot" "vote.sync.ballot" [R] <- [P, R], COLLECTIVE, [ty(bits!(Type: B32))], [], "The mask of member lanes whose predicate is true.";
    MatchAny "match.any.sync" "match.any.sync" [R] <- [T, R], COLLECTIVE, [ty(B3264)], [], "The mask of member lanes that have this lane's value.";
    MatchAll "match.all.sync" - [R, P] <- [T, R], COLLECTIVE, [ty(B3264)], [], "The member mask if all have the same value, else zero; and whether they do.";
    ActiveMask "activemask" "activemask" [R] <- [], COLLECTIVE, [ty(bits!(Type: B32))], [], "The mask of lanes that execute together.";
    Redux "redux.sync" "redux.sync" [R] <- [R, R], COLLECTIVE, [req(Field::ReduxOp), ty(I32 | bits!(Type: B32))], [when(Field::ReduxOp, bits!(ReduxOp: And | Or | Xor), Field::Type, bits!(Type: B32)), when(Field::ReduxOp, bits!(ReduxOp: Add | Min | Max), Field::Type, I32)], "Reduces over the member lanes.";
    Elect "elect.sync" - [R, P] <- [R], COLLECTIVE, [], [], "The lowest member lane, and whether this lane is it.";
    GridDepControl "griddepcontrol" "griddepcontrol" [] <- [], FENCE, [req(Field::GridDep)], [], "Programmatic dependent launch; one grid runs at a time here.";

    // Control.
    Bra "bra" - [] <- [Block], TERM, [], [], "Goes to a block.";
    CBra "cbra" - [] <- [P, Block, Block], TERM, [], [], "Goes to the first block where the predicate is true, else to the second.";
    Brx "brx" - [] <- [R, Blocks], TERM, [], [], "Goes to the block with this index; undefined out of range.";
    Ret "ret" - [] <- [], TERM, [], [], "Returns from a function; ends the thread in an entry.";
    Exit "exit" - [] <- [], TERM, [], [], "Ends the thread.";
    Call "call" - [] <- [Callee, Params], CALL, [], [], "Calls a function; arguments and results are parameter variables.";
    Trap "trap" "trap" [] <- [], EFFECT, [], [], "Ends the grid with an error.";
    BrkPt "brkpt" "brkpt" [] <- [], EFFECT, [], [], "Breakpoint; without effect here.";
    NanoSleep "nanosleep" "nanosleep" [] <- [R], HINT, [ty(bits!(Type: U32))], [], "Waits about so many nanoseconds.";
    PmEvent "pmevent" "pmevent" [] <- [Imm], HINT, [], [], "Triggers a performance-monitor event.";
    SetMaxNReg "setmaxnreg" - [] <- [Imm], HINT, [req(Field::MaxNReg), req_of(Field::Aligned, bits!(Aligned: Aligned)), ty(bits!(Type: U32))], [], "Changes the number of registers; without effect here.";

    // Video: the last source packs the selectors of destination, first and second source.
    VAdd "vadd" - [R] <- [R, R, R, Imm], PURE, *V_FIELDS, *VIDEO_RULES, "Scalar video addition.";
    VSub "vsub" - [R] <- [R, R, R, Imm], PURE, *V_FIELDS, *VIDEO_RULES, "Scalar video subtraction.";
    VAbsDiff "vabsdiff" - [R] <- [R, R, R, Imm], PURE, *V_FIELDS, *VIDEO_RULES, "Scalar video absolute difference.";
    VMin "vmin" - [R] <- [R, R, R, Imm], PURE, *V_FIELDS, *VIDEO_RULES, "Scalar video minimum.";
    VMax "vmax" - [R] <- [R, R, R, Imm], PURE, *V_FIELDS, *VIDEO_RULES, "Scalar video maximum.";
    VShl "vshl" - [R] <- [R, R, R, Imm], PURE, *VSHIFT_FIELDS, *VIDEO_RULES, "Scalar video left shift.";
    VShr "vshr" - [R] <- [R, R, R, Imm], PURE, *VSHIFT_FIELDS, *VIDEO_RULES, "Scalar video right shift.";
    VMad "vmad" - [R] <- [R, R, R, Imm], PURE, [VTYPES[0], VTYPES[1], VTYPES[2], opt(Field::PlusOne), SAT, opt(Field::Scale)], *VIDEO_RULES, "Scalar video multiply and add.";
    VSet "vset" - [R] <- [R, R, R, Imm], PURE, *VSET_FIELDS, *VIDEO_RULES, "Scalar video comparison.";
    VAdd2 "vadd2" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video addition of two halfwords.";
    VSub2 "vsub2" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video subtraction of two halfwords.";
    VAvrg2 "vavrg2" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video average of two halfwords.";
    VAbsDiff2 "vabsdiff2" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video absolute difference of two halfwords.";
    VMin2 "vmin2" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video minimum of two halfwords.";
    VMax2 "vmax2" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video maximum of two halfwords.";
    VSet2 "vset2" - [R] <- [R, R, R, Imm], PURE, *VXSET_FIELDS, *VIDEO_RULES, "Video comparison of two halfwords.";
    VAdd4 "vadd4" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video addition of four bytes.";
    VSub4 "vsub4" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video subtraction of four bytes.";
    VAvrg4 "vavrg4" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video average of four bytes.";
    VAbsDiff4 "vabsdiff4" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video absolute difference of four bytes.";
    VMin4 "vmin4" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video minimum of four bytes.";
    VMax4 "vmax4" - [R] <- [R, R, R, Imm], PURE, *VX_FIELDS, *VX_RULES, "Video maximum of four bytes.";
    VSet4 "vset4" - [R] <- [R, R, R, Imm], PURE, *VXSET_FIELDS, *VIDEO_RULES, "Video comparison of four bytes.";
}
