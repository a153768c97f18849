//! Matrices that the lanes of a warp hold together: PTX ISA 9.0, "Warp Level Matrix Instructions".
//!
//! All 32 lanes execute such an instruction together. Which element is in which register of which lane is the
//! interpreter's to know; the optimizer takes what comes out for anything.

use crate::ops::prelude::*;

pub const EIGHT_ROWS: FieldSpec = req_of(Field::MatrixShape, MatrixShape::M8n8.bit());

/// PTX has these for shared memory, named or in generic addresses.
pub const MATRIX_SPACE: FieldSpec = opt_of(Field::Space, Space::Shared.bit());

pub const INTEGERS: u64 = bits!(LeftElement: S8 | U8 | S4 | U4);
pub const EIGHTS: u64 = bits!(LeftElement: E4m3 | E5m2);
pub const HALVES: u64 = bits!(LeftElement: F16 | Bf16);
pub const DOUBLES: u64 = LeftElement::F64.bit();
pub const TENSOR32: u64 = LeftElement::Tf32.bit();
pub const BYTES: u64 = bits!(LeftElement: S8 | U8);
pub const NIBBLES: u64 = bits!(LeftElement: S4 | U4);
pub const SINGLE_BITS: u64 = LeftElement::B1.bit();
/// The shapes that are none of `mma`.
pub const OTHER_SHAPES: u64 = bits!(MatrixShape: M8n8 | M16n16k16 | M8n32k16 | M32n8k16 | M16n16k8);
/// Of f16, each quarter of the lanes multiplies matrices of its own.
pub const FOUR_PRODUCTS: u64 = MatrixShape::M8n8k4.bit();
pub const SMALL_ADDENDS: u64 = bits!(Addend: F16 | F32);
pub const LONG_DOUBLES: u64 = bits!(MatrixShape: M16n8k4 | M16n8k8 | M16n8k16);

/// The elements of one matrix with those of the other; a field value is a bit of the same number in both.
pub const fn both(elements: u64) -> Requirement {
    when(Field::LeftElement, elements, Field::RightElement, elements)
}

/// The sums that products of such elements are added up to.
pub const fn summed(elements: u64, types: u64) -> Requirement {
    when(Field::LeftElement, elements, Field::Type, types)
}

/// C is of the type of D.
pub const fn added(ty: Type, addend: Addend) -> Requirement {
    when(Field::Type, ty.bit(), Field::Addend, addend.bit())
}

/// The elements that a shape is for.
pub const fn shaped(shapes: u64, elements: u64) -> Requirement {
    when(Field::MatrixShape, shapes, Field::LeftElement, elements)
}

/// PTX ISA 9.0, "mma", the tables of shapes and types, as ptxas 13.0 takes them.
pub const MMA_RULES: &[Requirement] = &[
    shaped(FOUR_PRODUCTS, DOUBLES | LeftElement::F16.bit()),
    shaped(bits!(MatrixShape: M16n8k4), DOUBLES | TENSOR32),
    shaped(bits!(MatrixShape: M16n8k8), DOUBLES | TENSOR32 | HALVES),
    shaped(bits!(MatrixShape: M16n8k16), DOUBLES | HALVES | BYTES | EIGHTS),
    shaped(bits!(MatrixShape: M8n8k16), BYTES),
    shaped(bits!(MatrixShape: M16n8k32), BYTES | NIBBLES | EIGHTS),
    shaped(bits!(MatrixShape: M8n8k32 | M16n8k64), NIBBLES),
    shaped(bits!(MatrixShape: M8n8k128 | M16n8k128 | M16n8k256), SINGLE_BITS),
    both(LeftElement::F16.bit()),
    both(LeftElement::Bf16.bit()),
    both(TENSOR32),
    both(DOUBLES),
    both(BYTES),
    both(NIBBLES),
    both(SINGLE_BITS),
    both(EIGHTS),
    summed(LeftElement::F16.bit() | EIGHTS, bits!(Type: F16 | F32)),
    summed(LeftElement::Bf16.bit() | TENSOR32, F32),
    summed(DOUBLES, F64),
    summed(INTEGERS | SINGLE_BITS, bits!(Type: S32)),
    added(Type::F16, Addend::F16),
    when_both((Field::Type, F32), (Field::MatrixShape, FOUR_PRODUCTS), Field::Addend, SMALL_ADDENDS),
    when_both((Field::Type, F32), (Field::MatrixShape, !FOUR_PRODUCTS), Field::Addend, Addend::F32.bit()),
    added(Type::F64, Addend::F64),
    added(Type::S32, Addend::S32),
    when(Field::LeftLayout, LeftLayout::Col.bit(), Field::MatrixShape, FOUR_PRODUCTS),
    when(Field::LeftLayout, LeftLayout::Col.bit(), Field::LeftElement, LeftElement::F16.bit()),
    when(Field::RightLayout, RightLayout::Row.bit(), Field::MatrixShape, FOUR_PRODUCTS),
    when(Field::RightLayout, RightLayout::Row.bit(), Field::LeftElement, LeftElement::F16.bit()),
    when(Field::SatFinite, SatFinite::SatFinite.bit(), Field::LeftElement, INTEGERS),
    when(Field::Rounding, EXACT, Field::LeftElement, DOUBLES),
    when(Field::BitProduct, BitProduct::None.bit(), Field::LeftElement, all(Field::LeftElement) & !SINGLE_BITS),
    when(Field::BitProduct, bits!(BitProduct: Xor | And), Field::LeftElement, SINGLE_BITS),
];

pub const MMA_LATER: &[Later] = &[
    from(75, Field::MatrixShape, bits!(MatrixShape: M16n8k8 | M8n8k16 | M8n8k32 | M8n8k128)),
    from(80, Field::MatrixShape, bits!(MatrixShape: M16n8k4 | M16n8k16 | M16n8k32 | M16n8k64)),
    from(80, Field::MatrixShape, bits!(MatrixShape: M16n8k128 | M16n8k256)),
    from(80, Field::LeftElement, TENSOR32 | DOUBLES | LeftElement::Bf16.bit()),
    from(80, Field::BitProduct, BitProduct::And.bit()),
    from(89, Field::LeftElement, EIGHTS),
    from_both(90, (Field::LeftElement, DOUBLES), (Field::MatrixShape, LONG_DOUBLES)),
];

macro_rules! matrix_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Transposes a matrix of 8 by 8 elements of 16 bits.
    MovMatrix "movmatrix.sync" "movmatrix.sync.aligned": [Matrix(Rows)] <- [Matrix(Rows)], MATRIX,
        fields &[EIGHT_ROWS, req_of(Field::Transpose, Transpose::Trans.bit()), ty(bits!(Type: B16))],
        rules &[],
        since 75, later &[],
        cost Flat(22), rank 10, latency Variable, undef Copying;

    /// Loads matrices of 8 by 8 elements of 16 bits; eight lanes each give the addresses of the rows of one.
    LdMatrix "ldmatrix.sync" "ldmatrix.sync.aligned": [Matrix(Rows)] <- [Base, Offset], LOAD.or(MATRIX),
        fields &[
            EIGHT_ROWS, req(Field::MatrixCount), opt(Field::Transpose), MATRIX_SPACE,
            ty(bits!(Type: B16)),
        ],
        rules &[],
        since 75, later &[],
        cost Flat(20), rank 10, latency Memory, undef Copying;

    /// Stores matrices as `ldmatrix` loads them.
    StMatrix "stmatrix.sync" "stmatrix.sync.aligned": [] <- [Base, Offset, Matrix(Rows)], STORE.or(MATRIX),
        fields &[
            EIGHT_ROWS, req(Field::MatrixCount), opt(Field::Transpose), MATRIX_SPACE,
            ty(bits!(Type: B16)),
        ],
        rules &[],
        since 90, later &[],
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Multiplies two matrices and adds a third.
    Mma "mma.sync" "mma.sync.aligned": [Matrix(Sum)] <- [Matrix(Left), Matrix(Right), Matrix(Addend)], MATRIX,
        fields &[
            req_of(Field::MatrixShape, all(Field::MatrixShape) & !OTHER_SHAPES),
            req(Field::LeftLayout), req(Field::RightLayout), opt(Field::SatFinite), opt_of(Field::Rounding, EXACT),
            ty(bits!(Type: F16 | F32 | F64 | S32)), req(Field::LeftElement), req(Field::RightElement),
            req(Field::Addend), opt(Field::BitProduct),
        ],
        rules MMA_RULES,
        since 70, later MMA_LATER,
        cost Flat(64), rank 10, latency Variable, undef Mixing;
    } } };
}
pub(in crate::ops) use matrix_rows;
