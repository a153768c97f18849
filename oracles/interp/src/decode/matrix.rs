//! Decoding of matrix instructions.

use oriole_ir::ops::{MatrixCount, Opcode, Shape, Transpose};
use oriole_ir::{Inst, InstData};

use super::{DecodeFault, Decoded, Decoder, op};
use crate::matrix::{MatrixOp, MatrixOps};
use crate::program::{Kind, Op, Place, Slot};

impl Decoder<'_> {
    pub(super) fn matrix(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let address = match data.opcode.row().srcs.first() {
            Some(Shape::Base) => Some(self.address(inst, 0, Self::space(data))?),
            _ => None,
        };
        let (mut srcs, mut dsts) = (Vec::new(), Vec::new());
        for (i, shape) in data.src_shapes(self.func.srcs(inst).len()).into_iter().enumerate() {
            if matches!(shape, Shape::Matrix(_)) {
                srcs.extend(words(self.source(data, inst, i, shape)?));
            }
        }
        for (i, shape) in data.dst_shapes().into_iter().enumerate() {
            dsts.extend(words(self.destination(data, inst, i, shape)?));
        }
        let dst = dsts.first().copied().unwrap_or_default();
        self.program.matrices.push(MatrixOps { op: matrix_op(data)?, address, srcs, dsts });
        Ok(Op { dst, ..op(Kind::Matrix) }.x(self.program.matrices.len() as u32 - 1))
    }
}

fn matrix_op(data: &InstData) -> Decoded<MatrixOp> {
    let count = data.field::<MatrixCount>().map_or(1, MatrixCount::matrices);
    let transposed = data.field() == Some(Transpose::Trans);
    match data.opcode {
        Opcode::MovMatrix => Ok(MatrixOp::Transpose),
        Opcode::LdMatrix => Ok(MatrixOp::Load(count, transposed)),
        Opcode::StMatrix => Ok(MatrixOp::Store(count, transposed)),
        other => Err(DecodeFault::NoMeaning(other.row().name)),
    }
}

fn words(place: Place) -> std::ops::Range<Slot> {
    match place {
        Place::Word(slot) => slot..slot + 1,
        Place::Pair(slot) => slot..slot + 2,
        Place::Pred(_) | Place::None => 0..0,
    }
}
