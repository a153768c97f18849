//! Decoding of matrix instructions.

use oriole_ir::ops::{
    Addend, BitProduct, FieldValue, LeftElement, LeftLayout, Matrix, MatrixCount, Opcode, RightElement, RightLayout,
    Rounding, SatFinite, Shape, Transpose, Type,
};
use oriole_ir::{Inst, InstData, Operand};

use super::{DecodeFault, Decoded, Decoder, op};
use crate::matrix::{Choice, Factors, Fragment, MatrixOp, MatrixOps, Part, Product, Sum, Tiles, quarters};
use crate::program::{Kind, Op, Place, Slot};
use crate::scalar::ScalarOp;

impl Decoder<'_> {
    pub(super) fn matrix(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let address = match data.opcode.row().srcs.first() {
            Some(Shape::Base) => Some(self.address(inst, 0, Self::space(data))?),
            _ => None,
        };
        let (mut srcs, mut dsts) = (Vec::new(), Vec::new());
        for (i, shape) in data.src_shapes(self.func.srcs(inst).len()).into_iter().enumerate() {
            if matches!(shape, Shape::Matrix(_) | Shape::R) {
                srcs.extend(words(self.source(data, inst, i, shape)?));
            }
        }
        for (i, shape) in data.dst_shapes().into_iter().enumerate() {
            dsts.extend(words(self.destination(data, inst, i, shape)?));
        }
        let mut op_of_warp = matrix_op(data)?;
        if let (MatrixOp::Multiply(Product { choice: Some(choice), .. }), Some(last)) =
            (&mut op_of_warp, self.func.srcs(inst).last())
        {
            choice.selector = self.selector(data, *last)?;
        }
        let dst = dsts.first().copied().unwrap_or_default();
        self.program.matrices.push(MatrixOps { op: op_of_warp, address, srcs, dsts });
        Ok(Op { dst, ..op(Kind::Matrix) }.x(self.program.matrices.len() as u32 - 1))
    }

    /// The sparsity selector, of those that the shape has.
    pub(super) fn selector(&self, data: &InstData, operand: Operand) -> Decoded<usize> {
        let count = data.opcode.row().selectors(&data.fields).unwrap_or(0);
        let value = self.func.imm_bits(operand).filter(|bits| *bits < u64::from(count));
        value.map(|bits| bits as usize).ok_or(DecodeFault::NoOperation)
    }
}

fn matrix_op(data: &InstData) -> Decoded<MatrixOp> {
    let count = data.field::<MatrixCount>().map_or(1, MatrixCount::matrices);
    let transposed = data.field() == Some(Transpose::Trans);
    match data.opcode {
        Opcode::MovMatrix => Ok(MatrixOp::Transpose),
        Opcode::LdMatrix => Ok(MatrixOp::Load(count, transposed)),
        Opcode::StMatrix => Ok(MatrixOp::Store(count, transposed)),
        Opcode::WmmaLoadA | Opcode::WmmaLoadB | Opcode::WmmaLoadC => fragment(data).map(MatrixOp::LoadWhole),
        Opcode::WmmaStoreD => fragment(data).map(MatrixOp::StoreWhole),
        Opcode::MmaSparse | Opcode::MmaSparseOrdered => product(data).map(MatrixOp::Multiply),
        Opcode::Mma | Opcode::Wmma | Opcode::WmmaHalves => product(data).map(MatrixOp::Multiply),
        other => Err(DecodeFault::NoMeaning(other.row().name)),
    }
}

/// The product that an instruction makes, and the words of a lane that its factors, its addend and its result are.
pub(crate) fn matrix_product(data: &InstData) -> Option<(Product, [usize; 4])> {
    let Ok(MatrixOp::Multiply(product)) = matrix_op(data) else { return None };
    let left = if product.choice.is_some() { Matrix::Held } else { Matrix::Left };
    let words = [left, Matrix::Right, Matrix::Addend, Matrix::Sum].map(|matrix| words_of(data, matrix));
    Some((product, words))
}

/// A matrix of `wmma` in memory.
fn fragment(data: &InstData) -> Decoded<Fragment> {
    let [m, n, k] = extents(data);
    let (part, extents, bits, shape) = match data.opcode {
        Opcode::WmmaLoadA => (Part::Left, [m, k], data.field().map(LeftElement::bits), Matrix::Left),
        Opcode::WmmaLoadB => {
            (Part::Right, [k, n], data.field().map(|e: RightElement| LeftElement::from(e).bits()), Matrix::Right)
        }
        _ => (Part::Sum, [m, n], Some(data.ty().bits()), Matrix::Sum),
    };
    let bits = bits.ok_or(DecodeFault::NoOperation)? as usize;
    let by_columns = data.opcode.row().is_by_columns(&data.fields);
    Ok(Fragment { part, extents, bits, by_columns, words: words_of(data, shape) })
}

fn extents(data: &InstData) -> [usize; 3] {
    data.opcode.row().extents(&data.fields)
}

/// How many words of a lane a matrix is.
fn words_of(data: &InstData, matrix: Matrix) -> usize {
    let shape = Shape::Matrix(matrix);
    data.registers(shape) * data.shape_info(shape).map_or(1, |info| usize::from(info.words))
}

fn product(data: &InstData) -> Decoded<Product> {
    product_of(data, extents(data))
}

/// The same with rows, columns and an inner extent of one's own.
pub(super) fn product_of(data: &InstData, [m, n, inner]: [usize; 3]) -> Decoded<Product> {
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
    Ok(Product { rows, inner, factors, addend, sum, words, starts: [0, a, a + b, 0], tiles, choice })
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

pub(super) fn words(place: Place) -> std::ops::Range<Slot> {
    match place {
        Place::Word(slot) => slot..slot + 1,
        Place::Pair(slot) => slot..slot + 2,
        Place::Pred(_) | Place::None => 0..0,
    }
}
