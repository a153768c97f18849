//! The words that rows are written with: sets of flags, of types and of other field values; fields, rules, columns.

pub use super::columns::{Later, UndefTransfer};
pub use super::field::*;
pub use super::{FieldSpec, Flags, Requirement};

pub const PURE: Flags = Flags::PURE;
pub const ADDRESS: Flags = PURE.or(Flags::ADDRESS);
pub const COMM: Flags = PURE.or(Flags::COMMUTATIVE);
pub const ASSOC: Flags = COMM.or(Flags::ASSOCIATIVE);
pub const COPY: Flags = PURE.or(Flags::COPY);
pub const LOAD: Flags = Flags::READS;
pub const STORE: Flags = Flags::WRITES.or(Flags::EFFECT);
pub const ATOMIC: Flags = Flags::READS.or(STORE);
pub const FENCE: Flags = Flags::FENCE.or(Flags::EFFECT);
pub const PROXY_FENCE: Flags = FENCE.or(Flags::PROXY);
pub const BARRIER: Flags = FENCE.or(Flags::CONVERGENT);
pub const CTA_BARRIER: Flags = BARRIER.or(Flags::CTA_BARRIER);
pub const CARRY: Flags = Flags::CARRY;
pub const WIDER: Flags = Flags::WIDER;
pub const SIGNLESS: Flags = Flags::SIGNLESS;
pub const COLLECTIVE: Flags = Flags::CONVERGENT;
pub const TOGETHER: Flags = COLLECTIVE.or(Flags::TOGETHER);
pub const MATRIX: Flags = COLLECTIVE.or(Flags::MATRIX);
pub const MBARRIER: Flags = ATOMIC.or(FENCE).or(Flags::MBARRIER);
pub const ASYNC: Flags = ATOMIC.or(FENCE).or(Flags::ASYNC);
pub const FETCH: Flags = LOAD.or(Flags::IMAGE);
pub const WARPGROUP: Flags = Flags::WARPGROUP.or(MATRIX);
pub const EFFECT: Flags = Flags::EFFECT;
pub const HINT: Flags = Flags::HINT.or(EFFECT);
pub const TERM: Flags = Flags::TERMINATOR.or(EFFECT);
pub const CALL: Flags = ATOMIC.or(BARRIER);
pub const MACHINE: Flags = Flags::MACHINE;

macro_rules! bits {
    ($t:ident: $($v:ident)|+) => { 0 $(| $t::$v.bit())+ };
}
pub(super) use bits;

pub const B: u64 = bits!(Type: B16 | B32 | B64);
pub const B3264: u64 = bits!(Type: B32 | B64);
pub const I16: u64 = bits!(Type: U16 | S16);
pub const I32: u64 = bits!(Type: U32 | S32);
pub const I64: u64 = bits!(Type: U64 | S64);
pub const I: u64 = I16 | I32 | I64;
pub const SINT: u64 = bits!(Type: S16 | S32 | S64);
pub const IX2: u64 = bits!(Type: U16x2 | S16x2);
pub const HF: u64 = bits!(Type: F16 | F16x2);
pub const BF: u64 = bits!(Type: Bf16 | Bf16x2);
pub const F32: u64 = Type::F32.bit();
pub const F64: u64 = Type::F64.bit();
pub const F: u64 = HF | BF | F32 | F64;
pub const PRED: u64 = Type::Pred.bit();
pub const MEM: u64 = bits!(Type: B8 | U8 | S8 | B16 | U16 | S16 | B32 | U32 | S32 | F32 | B64 | U64 | S64 | F64 | B128);
pub const SCALAR: u64 = bits!(Type: U8 | S8) | I | bits!(Type: F16 | Bf16) | F32 | F64;
pub const NARROW: u64 = bits!(Type: E4m3x2 | E5m2x2);
pub const ORDERED_CMP: u64 = bits!(Compare: Eq | Ne | Lt | Le | Gt | Ge);
pub const UNSIGNED_CMP: u64 = bits!(Compare: Lo | Ls | Hi | Hs);
pub const FLOAT_CMP: u64 = bits!(Compare: Equ | Neu | Ltu | Leu | Gtu | Geu | Num | Nan);
pub const DIRECTED: u64 = bits!(Rounding: Rz | Rm | Rp);
pub const EXACT: u64 = DIRECTED | bits!(Rounding: Rn);
pub const TO_INT: u64 = bits!(Rounding: Rni | Rzi | Rmi | Rpi);

/// All legal values of a field, by count.
pub const fn all(field: Field) -> u64 {
    let n = field.value_names().len();
    if n == 64 { u64::MAX } else { (1 << n) - 1 }
}

/// A field that need not be written: its first value is the default.
pub const fn opt(field: Field) -> FieldSpec {
    FieldSpec { field, legal: all(field), default: Some(0) }
}

/// The same with some of its values.
pub const fn opt_of(field: Field, legal: u64) -> FieldSpec {
    FieldSpec { field, legal: legal | 1, default: Some(0) }
}

/// A field that must be written.
pub const fn req(field: Field) -> FieldSpec {
    FieldSpec { field, legal: all(field), default: None }
}

/// The same with some of its values.
pub const fn req_of(field: Field, legal: u64) -> FieldSpec {
    FieldSpec { field, legal, default: None }
}

pub const fn ty(legal: u64) -> FieldSpec {
    req_of(Field::Type, legal)
}

/// The rule that a field with one of `values` leaves only `allowed` for another.
pub const fn when(field: Field, values: u64, then: Field, allowed: u64) -> Requirement {
    Requirement { field, values, also: None, then, allowed }
}

/// The same where a second field must have one of some values.
pub const fn when_both(a: (Field, u64), b: (Field, u64), then: Field, allowed: u64) -> Requirement {
    Requirement { field: a.0, values: a.1, also: Some(b), then, allowed }
}

/// The field values that came with an SM.
pub const fn from(sm: u16, field: Field, values: u64) -> Later {
    Later { sm, field, values, also: None }
}

/// The same where a second field must have one of some values.
pub const fn from_both(sm: u16, a: (Field, u64), b: (Field, u64)) -> Later {
    Later { sm, field: a.0, values: a.1, also: Some(b) }
}

/// Half precision came with `sm_53`, bf16 with `sm_90`.
pub const HALF_THEN_BF: &[Later] = &[from(53, Field::Type, HF), from(90, Field::Type, BF)];

/// Undefined bits of an operand reach a result where they are routed to; the operands with these numbers say where.
pub const fn routing<const N: usize>(controls: [u8; N]) -> UndefTransfer {
    let (mut set, mut i) = (0, 0);
    while i < N {
        set |= 1 << controls[i];
        i += 1;
    }
    UndefTransfer::Routing(set)
}

pub const SAT: FieldSpec = opt(Field::Saturate);
pub const FTZ: FieldSpec = opt(Field::Ftz);
pub const RELU: FieldSpec = opt(Field::Relu);
pub const APPROX: FieldSpec = req_of(Field::Approx, Approx::Approx.bit());
pub const NOT_FTZ: u64 = Ftz::Ftz.bit();
pub const SATURATED: u64 = Saturate::Sat.bit();
pub const RELUED: u64 = Relu::Relu.bit();
pub const VIDEO_2ND: u64 = bits!(SecondType: U32 | S32);
