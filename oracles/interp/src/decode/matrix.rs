//! Decoding of matrix instructions.

use oriole_ir::ops::{LeftElement, Matrix, MatrixCount, Opcode, RightElement, Shape, Transpose};
use oriole_ir::{Inst, InstData, Operand};

use super::{DecodeFault, Decoded, Decoder, op};
use crate::matrix::{Fragment, MatrixOp, MatrixOps, Part};
use crate::program::{Kind, Op, Place, Slot};
use oriole_semantics::matrix::Product;
use oriole_semantics::matrix::resolve::{extents, product_of, words_of};

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
        Opcode::MmaSparse | Opcode::MmaSparseOrdered => Ok(MatrixOp::Multiply(product_of(data))),
        Opcode::Mma | Opcode::Wmma | Opcode::WmmaHalves => Ok(MatrixOp::Multiply(product_of(data))),
        other => Err(DecodeFault::NoMeaning(other.row().name)),
    }
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

pub(super) fn words(place: Place) -> std::ops::Range<Slot> {
    match place {
        Place::Word(slot) => slot..slot + 1,
        Place::Pair(slot) => slot..slot + 2,
        Place::Pred(_) | Place::None => 0..0,
    }
}
