//! Matrices that a warp loads, multiplies and stores as a whole: PTX ISA 9.0, "Warp Level Matrix
//! Multiply-Accumulate Instructions".
//!
//! Which lane holds which elements is unspecified there; the interpreter has one answer. All lanes give the same
//! address, and behind it the stride: how many elements the first ones of two rows, or columns, are apart. PTX need not
//! write the stride; here it stands always.

use super::matrix::*;
use crate::ops::prelude::*;

pub const WHOLE: u64 = bits!(MatrixShape: M16n16k16 | M8n32k16 | M32n8k16);
pub const TF32_SHAPE: u64 = MatrixShape::M16n16k8.bit();
pub const DOUBLE_SHAPE: u64 = MatrixShape::M8n8k4.bit();
pub const NIBBLE_SHAPE: u64 = MatrixShape::M8n8k32.bit();
pub const BIT_SHAPE: u64 = MatrixShape::M8n8k128.bit();
pub const WMMA_SHAPE: FieldSpec =
    req_of(Field::MatrixShape, WHOLE | TF32_SHAPE | DOUBLE_SHAPE | NIBBLE_SHAPE | BIT_SHAPE);
pub const WMMA_SPACE: FieldSpec = opt_of(Field::Space, bits!(Space: Global | Shared));
pub const WMMA_ELEMENTS: u64 = HALVES | TENSOR32 | DOUBLES | BYTES | NIBBLES | SINGLE_BITS;
pub const WMMA_SUM: FieldSpec = ty(bits!(Type: F16 | F32 | F64 | S32));
pub const HALVES_OR_BYTES: u64 = HALVES | BYTES;
pub const WIDE_ADDENDS: u64 = bits!(Addend: F32 | F64 | S32);
pub const PACKED: u64 = NIBBLES | SINGLE_BITS;

/// The elements of a factor that each shape is for.
const fn of_shapes(field: Field) -> [Requirement; 5] {
    [
        when(Field::MatrixShape, WHOLE, field, HALVES_OR_BYTES),
        when(Field::MatrixShape, TF32_SHAPE, field, TENSOR32),
        when(Field::MatrixShape, DOUBLE_SHAPE, field, DOUBLES),
        when(Field::MatrixShape, NIBBLE_SHAPE, field, NIBBLES),
        when(Field::MatrixShape, BIT_SHAPE, field, SINGLE_BITS),
    ]
}

const LEFT: [Requirement; 5] = of_shapes(Field::LeftElement);
const RIGHT: [Requirement; 5] = of_shapes(Field::RightElement);
/// Elements of less than a byte lie beside each other along k.
const PACKED_LEFT: Requirement = when(Field::LeftElement, PACKED, Field::LeftLayout, LeftLayout::Row.bit());
const PACKED_RIGHT: Requirement = when(Field::RightElement, PACKED, Field::RightLayout, RightLayout::Col.bit());

/// PTX ISA 9.0, "wmma.load", "wmma.store" and "wmma.mma", the tables of shapes and types, as ptxas 13.0 takes them.
pub const LOAD_LEFT_RULES: &[Requirement] = &[LEFT[0], LEFT[1], LEFT[2], LEFT[3], LEFT[4], PACKED_LEFT];
pub const LOAD_RIGHT_RULES: &[Requirement] = &[RIGHT[0], RIGHT[1], RIGHT[2], RIGHT[3], RIGHT[4], PACKED_RIGHT];
pub const WMMA_SUM_RULES: &[Requirement] = &[
    when(Field::MatrixShape, WHOLE, Field::Type, bits!(Type: F16 | F32 | S32)),
    when(Field::MatrixShape, TF32_SHAPE, Field::Type, F32),
    when(Field::MatrixShape, DOUBLE_SHAPE, Field::Type, F64),
    when(Field::MatrixShape, NIBBLE_SHAPE | BIT_SHAPE, Field::Type, bits!(Type: S32)),
];
pub const WMMA_RULES: &[Requirement] = &[
    LEFT[0],
    LEFT[1],
    LEFT[2],
    LEFT[3],
    LEFT[4],
    PACKED_LEFT,
    PACKED_RIGHT,
    both(LeftElement::Bf16.bit()),
    both(TENSOR32),
    both(DOUBLES),
    both(LeftElement::S8.bit()),
    both(LeftElement::U8.bit()),
    both(LeftElement::S4.bit()),
    both(LeftElement::U4.bit()),
    both(SINGLE_BITS),
    summed(LeftElement::Bf16.bit() | TENSOR32, F32),
    summed(DOUBLES, F64),
    summed(INTEGERS | SINGLE_BITS, bits!(Type: S32)),
    added(Type::F32, Addend::F32),
    added(Type::F64, Addend::F64),
    added(Type::S32, Addend::S32),
    when(Field::SatFinite, SatFinite::SatFinite.bit(), Field::LeftElement, INTEGERS),
    when(Field::Rounding, EXACT, Field::LeftElement, DOUBLES),
    when(Field::BitProduct, BitProduct::None.bit(), Field::LeftElement, all(Field::LeftElement) & !SINGLE_BITS),
    when(Field::BitProduct, bits!(BitProduct: Xor | And), Field::LeftElement, SINGLE_BITS),
];

const NEWER: u64 = LeftElement::Bf16.bit() | TENSOR32 | DOUBLES;

/// When the elements of a factor came: f16 with `sm_70`.
const fn elements_later(field: Field) -> [Later; 3] {
    [from(72, field, BYTES), from(75, field, PACKED), from(80, field, NEWER)]
}

pub const LOAD_LEFT_LATER: &[Later] = &elements_later(Field::LeftElement);
pub const LOAD_RIGHT_LATER: &[Later] = &elements_later(Field::RightElement);
pub const WMMA_SUM_LATER: &[Later] = &[
    from(72, Field::Type, bits!(Type: S32)),
    from(75, Field::MatrixShape, NIBBLE_SHAPE | BIT_SHAPE),
    from(80, Field::MatrixShape, TF32_SHAPE | DOUBLE_SHAPE),
];
const PRODUCT_LATER: [Later; 3] = elements_later(Field::LeftElement);
pub const WMMA_LATER: &[Later] =
    &[PRODUCT_LATER[1], PRODUCT_LATER[2], from(80, Field::BitProduct, BitProduct::And.bit())];

macro_rules! wmma_rows {
    ([$next:ident $($rest:ident)*] $($rows:tt)*) => { $next! { [$($rest)*] $($rows)* level Virtual {
    /// Loads the first factor of a product.
    WmmaLoadA "wmma.load.a.sync" "wmma.load.a.sync.aligned": [Matrix(Left)] <- [Base, Offset, R], LOAD.or(MATRIX),
        fields &[req(Field::LeftLayout), WMMA_SHAPE, WMMA_SPACE, req_of(Field::LeftElement, WMMA_ELEMENTS)],
        rules LOAD_LEFT_RULES,
        since 70, later LOAD_LEFT_LATER,
        cost Flat(20), rank 10, latency Memory, undef Copying;

    /// Loads the second factor of a product.
    WmmaLoadB "wmma.load.b.sync" "wmma.load.b.sync.aligned": [Matrix(Right)] <- [Base, Offset, R], LOAD.or(MATRIX),
        fields &[req(Field::RightLayout), WMMA_SHAPE, WMMA_SPACE, req_of(Field::RightElement, WMMA_ELEMENTS)],
        rules LOAD_RIGHT_RULES,
        since 70, later LOAD_RIGHT_LATER,
        cost Flat(20), rank 10, latency Memory, undef Copying;

    /// Loads what a product is added to.
    WmmaLoadC "wmma.load.c.sync" "wmma.load.c.sync.aligned": [Matrix(Sum)] <- [Base, Offset, R], LOAD.or(MATRIX),
        fields &[req(Field::SumLayout), WMMA_SHAPE, WMMA_SPACE, WMMA_SUM],
        rules WMMA_SUM_RULES,
        since 70, later WMMA_SUM_LATER,
        cost Flat(20), rank 10, latency Memory, undef Copying;

    /// Stores a product.
    WmmaStoreD "wmma.store.d.sync" "wmma.store.d.sync.aligned": [] <- [Base, Offset, Matrix(Sum), R],
        STORE.or(MATRIX),
        fields &[req(Field::SumLayout), WMMA_SHAPE, WMMA_SPACE, WMMA_SUM],
        rules WMMA_SUM_RULES,
        since 70, later WMMA_SUM_LATER,
        cost Flat(18), rank 10, latency Memory, undef Nothing;

    /// Multiplies two matrices of f16 and adds a third.
    WmmaHalves "wmma.mma.f16.sync" "wmma.mma.sync.aligned":
        [Matrix(Sum)] <- [Matrix(Left), Matrix(Right), Matrix(Addend)], MATRIX,
        fields &[
            req(Field::LeftLayout), req(Field::RightLayout), req_of(Field::MatrixShape, WHOLE),
            ty(bits!(Type: F16 | F32)), req_of(Field::Addend, SMALL_ADDENDS),
        ],
        rules &[],
        since 70, later &[],
        cost Flat(64), rank 10, latency Variable, undef Mixing;

    /// Multiplies two matrices of other elements and adds a third.
    Wmma "wmma.mma.sync" "wmma.mma.sync.aligned":
        [Matrix(Sum)] <- [Matrix(Left), Matrix(Right), Matrix(Addend)], MATRIX,
        fields &[
            req(Field::LeftLayout), req(Field::RightLayout), WMMA_SHAPE, opt_of(Field::Rounding, EXACT),
            ty(bits!(Type: F32 | F64 | S32)), req_of(Field::LeftElement, WMMA_ELEMENTS & !LeftElement::F16.bit()),
            req_of(Field::RightElement, WMMA_ELEMENTS & !LeftElement::F16.bit()),
            req_of(Field::Addend, WIDE_ADDENDS), opt(Field::SatFinite), opt(Field::BitProduct),
        ],
        rules WMMA_RULES,
        since 72, later WMMA_LATER,
        cost Flat(64), rank 10, latency Variable, undef Mixing;
    } } };
}
pub(in crate::ops) use wmma_rows;
