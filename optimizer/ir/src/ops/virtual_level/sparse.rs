//! Products of matrices of which the first one is sparse: PTX ISA 9.0, "Matrix multiply-accumulate operation using
//! mma.sp instruction with sparse matrix A".
//!
//! Of every four elements in a row of A, or four pairs of narrow ones, two are held, of tf32 one of every two. Behind C
//! come the metadata, which say which ones, and the sparsity selector, which says whose metadata count.

use super::matrix::*;
use crate::ops::prelude::*;

/// PTX ISA 9.0, "mma.sp", the tables of shapes and types, as ptxas 13.0 takes them.
pub const SPARSE_RULES: &[Requirement] = &[
    shaped(bits!(MatrixShape: M16n8k8), TENSOR32),
    shaped(bits!(MatrixShape: M16n8k16), TENSOR32 | HALVES),
    shaped(bits!(MatrixShape: M16n8k32), HALVES | BYTES),
    shaped(bits!(MatrixShape: M16n8k64), BYTES | NIBBLES | EIGHTS),
    shaped(bits!(MatrixShape: M16n8k128), NIBBLES),
    both(LeftElement::F16.bit()),
    both(LeftElement::Bf16.bit()),
    both(TENSOR32),
    both(BYTES),
    both(NIBBLES),
    both(EIGHTS),
    summed(LeftElement::F16.bit(), bits!(Type: F16 | F32)),
    summed(LeftElement::Bf16.bit() | TENSOR32 | EIGHTS, F32),
    summed(INTEGERS, bits!(Type: S32)),
    added(Type::F16, Addend::F16),
    added(Type::F32, Addend::F32),
    added(Type::S32, Addend::S32),
    when(Field::SatFinite, SatFinite::SatFinite.bit(), Field::LeftElement, INTEGERS),
];

pub const SPARSE_LATER: &[Later] = &[from(89, Field::LeftElement, EIGHTS)];
pub const SPARSE_SHAPES: u64 = bits!(MatrixShape: M16n8k8 | M16n8k16 | M16n8k32 | M16n8k64 | M16n8k128);
pub const SPARSE_ELEMENTS: u64 = HALVES | TENSOR32 | BYTES | NIBBLES | EIGHTS;
pub const SPARSE_FIELDS: &[FieldSpec] = &[
    req_of(Field::MatrixShape, SPARSE_SHAPES),
    req_of(Field::LeftLayout, LeftLayout::Row.bit()),
    req_of(Field::RightLayout, RightLayout::Col.bit()),
    opt(Field::SatFinite),
    ty(bits!(Type: F16 | F32 | S32)),
    req_of(Field::LeftElement, SPARSE_ELEMENTS),
    req_of(Field::RightElement, SPARSE_ELEMENTS),
    req_of(Field::Addend, bits!(Addend: F16 | F32 | S32)),
];

macro_rules! sparse_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Multiplies a sparse matrix by another and adds a third.
    MmaSparse "mma.sp.sync" "mma.sp.sync.aligned":
        [Matrix(Sum)] <- [Matrix(Held), Matrix(Right), Matrix(Addend), Matrix(Metadata), Imm], MATRIX,
        fields SPARSE_FIELDS,
        rules SPARSE_RULES,
        since 80, later SPARSE_LATER,
        cost Flat(64), rank 10, latency Variable, undef Mixing;

    /// The same where the metadata name elements in the order of the row.
    MmaSparseOrdered "mma.sp.ordered.sync" "mma.sp::ordered_metadata.sync.aligned":
        [Matrix(Sum)] <- [Matrix(Held), Matrix(Right), Matrix(Addend), Matrix(Metadata), Imm], MATRIX,
        fields SPARSE_FIELDS,
        rules SPARSE_RULES,
        since 80, later SPARSE_LATER,
        cost Flat(64), rank 10, latency Variable, undef Mixing;
    } } };
}
pub(in crate::ops) use sparse_rows;
