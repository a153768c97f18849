//! Matrices that the lanes of a warp hold together: PTX ISA 9.0, "Warp Level Matrix Instructions".
//!
//! All 32 lanes execute such an instruction together. Which element stands in which register of which lane is the
//! interpreter's to know; the optimizer takes what comes out for anything.

use crate::ops::prelude::*;

/// PTX has these for shared memory, named or in generic addresses.
pub const MATRIX_SPACE: FieldSpec = opt_of(Field::Space, Space::Shared.bit());

macro_rules! matrix_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Transposes a matrix of 8 by 8 elements of 16 bits.
    MovMatrix "movmatrix.sync" "movmatrix.sync.aligned": [Matrix(Rows)] <- [Matrix(Rows)], MATRIX,
        fields &[req(Field::MatrixShape), req_of(Field::Transpose, Transpose::Trans.bit()), ty(bits!(Type: B16))],
        rules &[],
        since 75, later &[],
        cost Flat(22), rank 10, latency Variable, undef Copying;

    /// Loads matrices of 8 by 8 elements of 16 bits; eight lanes each give the addresses of the rows of one.
    LdMatrix "ldmatrix.sync" "ldmatrix.sync.aligned": [Matrix(Rows)] <- [Base, Offset], LOAD.or(MATRIX),
        fields &[
            req(Field::MatrixShape), req(Field::MatrixCount), opt(Field::Transpose), MATRIX_SPACE,
            ty(bits!(Type: B16)),
        ],
        rules &[],
        since 75, later &[],
        cost Flat(20), rank 10, latency Memory, undef Copying;

    /// Stores matrices as `ldmatrix` loads them.
    StMatrix "stmatrix.sync" "stmatrix.sync.aligned": [] <- [Base, Offset, Matrix(Rows)], STORE.or(MATRIX),
        fields &[
            req(Field::MatrixShape), req(Field::MatrixCount), opt(Field::Transpose), MATRIX_SPACE,
            ty(bits!(Type: B16)),
        ],
        rules &[],
        since 90, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;
    } } };
}
pub(in crate::ops) use matrix_rows;
