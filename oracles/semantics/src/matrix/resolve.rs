//! Which product an instruction makes, by its opcode and fields.

use super::{Choice, Factors, Product, Sum, Tiles, quarters};
use crate::scalar::ScalarOp;
use oriole_ir::InstData;
use oriole_ir::ops::{
    Addend, BitProduct, FieldValue, LeftElement, LeftLayout, Matrix, Opcode, RightElement, RightLayout, Rounding,
    SatFinite, Shape, Type,
};

/// The product that an instruction makes, and the words of a lane that its factors, its addend and its result are.
pub fn matrix_product(data: &InstData) -> Option<(Product, [usize; 4])> {
    let is_product = matches!(
        data.opcode,
        Opcode::Mma | Opcode::Wmma | Opcode::WmmaHalves | Opcode::MmaSparse | Opcode::MmaSparseOrdered
    );
    let product = is_product.then(|| product_of(data))?;
    let left = if product.choice.is_some() { Matrix::Held } else { Matrix::Left };
    let words = [left, Matrix::Right, Matrix::Addend, Matrix::Sum].map(|matrix| words_of(data, matrix));
    Some((product, words))
}

/// Rows, columns and inner extent of the shape.
pub fn extents(data: &InstData) -> [usize; 3] {
    data.opcode.row().extents(&data.fields)
}

/// How many words of a lane a matrix is.
pub fn words_of(data: &InstData, matrix: Matrix) -> usize {
    let shape = Shape::Matrix(matrix);
    data.registers(shape) * data.shape_info(shape).map_or(1, |info| usize::from(info.words))
}

/// The product that an instruction of products makes.
pub fn product_of(data: &InstData) -> Product {
    product_of_extents(data, extents(data))
}

/// The same with rows, columns and an inner extent of one's own.
pub fn product_of_extents(data: &InstData, [m, n, inner]: [usize; 3]) -> Product {
    let left = data.field().unwrap_or(LeftElement::F16);
    let right = data.field::<RightElement>().map_or(LeftElement::F16, LeftElement::from);
    let factors = match left {
        LeftElement::F16 if inner == 4 => Factors::Quarters {
            left_by_columns: data.field() == Some(LeftLayout::Col),
            right_by_columns: data.field() == Some(RightLayout::Col),
        },
        LeftElement::F64 => Factors::Double(directed(data)),
        LeftElement::B1 => Factors::Bits(data.field().unwrap_or(BitProduct::None)),
        LeftElement::S8 | LeftElement::U8 | LeftElement::S4 | LeftElement::U4 => Factors::Integer(left, right),
        _ => Factors::Float(left, right),
    };
    let saturates = data.field() == Some(SatFinite::SatFinite);
    let kind = |ty| match ty {
        Type::F16 => Sum::F16,
        Type::F64 => Sum::F64,
        Type::S32 => Sum::S32(saturates),
        _ => Sum::F32,
    };
    let (rows, tiles) = match [m, n] {
        [16, 16] => (16, Tiles::Columns),
        [32, _] => (16, Tiles::Rows),
        [_, 32] => (16, Tiles::Exchanged),
        _ => (m, Tiles::One),
    };
    let addend = data.field().map_or(data.ty(), Addend::ty);
    let (factor, bits) = (inner * left.bits() as usize, |ty: Type| 8 * ty.bits() as usize);
    let sparse = data.opcode.row().selectors(&data.fields).is_some();
    // Of the words that a lane holds, those of one product.
    let products = if matches!(factors, Factors::Quarters { .. }) { quarters::COUNT } else { 1 };
    let words = [rows * factor / if sparse { 2 } else { 1 }, 8 * factor, rows * bits(addend), rows * bits(data.ty())];
    let words = words.map(|bits| products * bits / 1024);
    let held = if sparse { Matrix::Held } else { Matrix::Left };
    let [a, b, c] = [held, Matrix::Right, Matrix::Addend].map(|matrix| words_of(data, matrix));
    let (addend, sum) = (kind(addend), kind(data.ty()));
    let choice = sparse.then(|| Choice {
        word: a + b + c,
        selector: 0,
        ordered: data.opcode != Opcode::MmaSparse,
        bits: left.bits() as usize,
        inner,
    });
    Product { rows, inner, factors, addend, sum, words, starts: [0, a, a + b, 0], tiles, choice }
}

/// The fused multiply-add that rounds in the direction that is written, where that is not to the nearest.
fn directed(data: &InstData) -> Option<ScalarOp> {
    let rounding = data.field::<Rounding>().filter(|rounding| !matches!(rounding, Rounding::Default | Rounding::Rn))?;
    let row = Opcode::FFma.row();
    let mut fields = row.default_fields();
    fields.0[row.slot(Rounding::FIELD)?] = rounding.index();
    fields.0[row.slot(Type::FIELD)?] = Type::F64.index();
    ScalarOp::resolve(Opcode::FFma, &fields)
}
