//! Products of matrices by four warps together, which run beside them: PTX ISA 9.0, "Asynchronous Warpgroup Level
//! Matrix Instructions".
//!
//! The second factor lies in shared memory, as a descriptor says, and the first one there or in registers. In PTX the
//! registers of the sum are read and written; here they are the first operand and the results, which are different
//! registers where a function is in SSA form. What the results hold is open until `wgmma.wait_group` has waited for the
//! group of the product, so what reads them may not be executed earlier than the program says
//! ([`Flags::ASYNC`] with results). A copy of them may, and so may the next product that adds to them.

use super::matrix::*;
use crate::ops::prelude::*;

/// The columns that products of integers and of single bits have: multiples of 8 up to 32, and of 16.
pub const INTEGER_COLUMNS: u64 = bits!(GroupShape: N8 | N16 | N24 | N32 | N48 | N64 | N80 | N96 | N112 | N128)
    | bits!(GroupShape: N144 | N160 | N176 | N192 | N208 | N224 | N240 | N256);

/// What products are made of, with as many pairs as 32 bytes hold (PTX ISA 9.0, "wgmma.mma_async", as ptxas 13.0 takes
/// it).
pub const GROUP_RULES: &[Requirement; 20] = &[
    deep(TENSOR32, GroupInner::K8),
    deep(HALVES, GroupInner::K16),
    deep(BYTES | EIGHTS, GroupInner::K32),
    deep(SINGLE_BITS, GroupInner::K256),
    both(LeftElement::F16.bit()),
    both(LeftElement::Bf16.bit()),
    both(TENSOR32),
    both(BYTES),
    both(SINGLE_BITS),
    both(EIGHTS),
    summed(LeftElement::F16.bit() | EIGHTS, bits!(Type: F16 | F32)),
    summed(LeftElement::Bf16.bit() | TENSOR32, F32),
    summed(BYTES | SINGLE_BITS, bits!(Type: S32)),
    when(Field::LeftElement, BYTES | SINGLE_BITS, Field::GroupShape, INTEGER_COLUMNS),
    when(Field::SatFinite, SatFinite::SatFinite.bit(), Field::LeftElement, BYTES),
    when(Field::NegateLeft, NegateLeft::Negate.bit(), Field::LeftElement, FLOATS),
    when(Field::NegateRight, NegateRight::Negate.bit(), Field::LeftElement, FLOATS),
    when(Field::TransposeRight, TransposeRight::Transpose.bit(), Field::LeftElement, HALVES),
    when(Field::BitProduct, BitProduct::None.bit(), Field::LeftElement, GROUP_ELEMENTS & !SINGLE_BITS),
    when(Field::BitProduct, BitProduct::And.bit(), Field::LeftElement, SINGLE_BITS),
];

/// The same where the first factor lies in shared memory.
pub const SHARED_GROUP_RULES: &[Requirement] = &with_transposed_left::<20, 21>(GROUP_RULES);

/// What products with a sparse first factor are made of: twice as many pairs.
pub const SPARSE_GROUP_RULES: &[Requirement; 16] = &[
    deep(TENSOR32, GroupInner::K16),
    deep(HALVES, GroupInner::K32),
    deep(BYTES | EIGHTS, GroupInner::K64),
    both(LeftElement::F16.bit()),
    both(LeftElement::Bf16.bit()),
    both(TENSOR32),
    both(BYTES),
    both(EIGHTS),
    summed(LeftElement::F16.bit() | EIGHTS, bits!(Type: F16 | F32)),
    summed(LeftElement::Bf16.bit() | TENSOR32, F32),
    summed(BYTES, bits!(Type: S32)),
    when(Field::LeftElement, BYTES, Field::GroupShape, INTEGER_COLUMNS),
    when(Field::SatFinite, SatFinite::SatFinite.bit(), Field::LeftElement, BYTES),
    when(Field::NegateLeft, NegateLeft::Negate.bit(), Field::LeftElement, FLOATS),
    when(Field::NegateRight, NegateRight::Negate.bit(), Field::LeftElement, FLOATS),
    when(Field::TransposeRight, TransposeRight::Transpose.bit(), Field::LeftElement, HALVES),
];

pub const SHARED_SPARSE_GROUP_RULES: &[Requirement] = &with_transposed_left::<16, 17>(SPARSE_GROUP_RULES);

pub const FLOATS: u64 = HALVES | TENSOR32 | EIGHTS;
pub const GROUP_ELEMENTS: u64 = FLOATS | BYTES | SINGLE_BITS;

/// How many pairs elements are multiplied in.
const fn deep(elements: u64, inner: GroupInner) -> Requirement {
    when(Field::LeftElement, elements, Field::GroupInner, inner.bit())
}

/// Rules, and behind them the one for a first factor that is transposed.
const fn with_transposed_left<const N: usize, const M: usize>(rules: &[Requirement; N]) -> [Requirement; M] {
    let transposed = when(Field::TransposeLeft, TransposeLeft::Transpose.bit(), Field::LeftElement, HALVES);
    let (mut all, mut i) = ([transposed; M], 0);
    while i < N {
        all[i] = rules[i];
        i += 1;
    }
    all
}

pub const GROUP_INNER: FieldSpec = req_of(Field::GroupInner, bits!(GroupInner: K8 | K16 | K32 | K256));
pub const SPARSE_GROUP_INNER: FieldSpec = req_of(Field::GroupInner, bits!(GroupInner: K16 | K32 | K64));
pub const GROUP_SUM: FieldSpec = ty(bits!(Type: F16 | F32 | S32));
pub const GROUP_LEFT: FieldSpec = req_of(Field::LeftElement, GROUP_ELEMENTS);
pub const GROUP_RIGHT: FieldSpec = req_of(Field::RightElement, GROUP_ELEMENTS);
pub const SPARSE_GROUP_LEFT: FieldSpec = req_of(Field::LeftElement, GROUP_ELEMENTS & !SINGLE_BITS);
pub const SPARSE_GROUP_RIGHT: FieldSpec = req_of(Field::RightElement, GROUP_ELEMENTS & !SINGLE_BITS);
pub const AND_BITS: FieldSpec = opt_of(Field::BitProduct, BitProduct::And.bit());

macro_rules! warpgroup_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Orders accesses of a warpgroup to registers and shared memory before its products.
    WgmmaFence "wgmma.fence" "wgmma.fence.sync.aligned": [] <- [], BARRIER.or(PROXY_FENCE).or(WARPGROUP),
        fields &[], rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// Closes the group of products that a warpgroup has begun.
    WgmmaCommit "wgmma.commit_group" "wgmma.commit_group.sync.aligned": [] <- [], EFFECT.or(WARPGROUP),
        fields &[], rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Fixed, undef Nothing;

    /// Waits until at most so many groups of products are pending.
    WgmmaWait "wgmma.wait_group" "wgmma.wait_group.sync.aligned": [] <- [Imm], BARRIER.or(PROXY_FENCE).or(WARPGROUP),
        fields &[], rules &[],
        since 90, later &[],
        cost Flat(10), rank 10, latency Wait, undef Nothing;

    /// Begins a product of two matrices in shared memory, to which a third one is added where the predicate holds.
    Wgmma "wgmma.mma_async" "wgmma.mma_async.sync.aligned": [Matrix(Sum)] <- [Matrix(Sum), D, D, P],
        ASYNC.or(WARPGROUP),
        fields &[
            req(Field::GroupShape), GROUP_INNER, GROUP_SUM, GROUP_LEFT, GROUP_RIGHT, opt(Field::SatFinite), AND_BITS,
            opt(Field::NegateLeft), opt(Field::NegateRight), opt(Field::TransposeLeft), opt(Field::TransposeRight),
        ],
        rules SHARED_GROUP_RULES,
        since 90, later &[],
        cost Flat(256), rank 10, latency Memory, undef Mixing;

    /// The same where registers hold the first matrix.
    WgmmaRegisters "wgmma.mma_async.registers" "wgmma.mma_async.sync.aligned":
        [Matrix(Sum)] <- [Matrix(Sum), Matrix(Left), D, P], ASYNC.or(WARPGROUP),
        fields &[
            req(Field::GroupShape), GROUP_INNER, GROUP_SUM, GROUP_LEFT, GROUP_RIGHT, opt(Field::SatFinite), AND_BITS,
            opt(Field::NegateLeft), opt(Field::NegateRight), opt(Field::TransposeRight),
        ],
        rules GROUP_RULES,
        since 90, later &[],
        cost Flat(256), rank 10, latency Memory, undef Mixing;

    /// A product with a sparse first matrix, whose held elements lie in shared memory; metadata say which these are.
    WgmmaSparse "wgmma.mma_async.sp" "wgmma.mma_async.sp.sync.aligned":
        [Matrix(Sum)] <- [Matrix(Sum), D, D, Matrix(Metadata), Imm, P], ASYNC.or(WARPGROUP),
        fields &[
            req(Field::GroupShape), SPARSE_GROUP_INNER, GROUP_SUM, SPARSE_GROUP_LEFT, SPARSE_GROUP_RIGHT,
            opt(Field::SatFinite), opt(Field::NegateLeft), opt(Field::NegateRight), opt(Field::TransposeLeft),
            opt(Field::TransposeRight),
        ],
        rules SHARED_SPARSE_GROUP_RULES,
        since 90, later &[],
        cost Flat(256), rank 10, latency Memory, undef Mixing;

    /// The same where registers hold them.
    WgmmaSparseRegisters "wgmma.mma_async.sp.registers" "wgmma.mma_async.sp.sync.aligned":
        [Matrix(Sum)] <- [Matrix(Sum), Matrix(Held), D, Matrix(Metadata), Imm, P], ASYNC.or(WARPGROUP),
        fields &[
            req(Field::GroupShape), SPARSE_GROUP_INNER, GROUP_SUM, SPARSE_GROUP_LEFT, SPARSE_GROUP_RIGHT,
            opt(Field::SatFinite), opt(Field::NegateLeft), opt(Field::NegateRight), opt(Field::TransposeRight),
        ],
        rules SPARSE_GROUP_RULES,
        since 90, later &[],
        cost Flat(256), rank 10, latency Memory, undef Mixing;
    } } };
}
pub(in crate::ops) use warpgroup_rows;
