//! Decoding of matrix instructions.

use oriole_ir::ops::{
    BitProduct, FieldValue, LeftElement, Matrix, MatrixCount, MatrixShape, Opcode, RightElement, Rounding, SatFinite,
    Shape, Transpose, Type,
};
use oriole_ir::{Inst, InstData};

use super::{DecodeFault, Decoded, Decoder, op};
use crate::matrix::{Factors, MatrixOp, MatrixOps, Product, Sum};
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
        Opcode::Mma => product(data).map(MatrixOp::Multiply),
        other => Err(DecodeFault::NoMeaning(other.row().name)),
    }
}

fn product(data: &InstData) -> Decoded<Product> {
    let elements = (data.field::<LeftElement>(), data.field::<RightElement>().map(LeftElement::from));
    let (Some(left), Some(right)) = elements else { return Err(DecodeFault::NoOperation) };
    let factors = match left {
        LeftElement::F64 => Factors::Double(directed(data)),
        LeftElement::B1 => Factors::Bits(data.field().unwrap_or(BitProduct::None)),
        LeftElement::S8 | LeftElement::U8 | LeftElement::S4 | LeftElement::U4 => Factors::Integer(left, right),
        _ => Factors::Float(left, right),
    };
    let sum = match data.ty() {
        Type::F16 => Sum::F16,
        Type::F64 => Sum::F64,
        Type::S32 => Sum::S32(data.field() == Some(SatFinite::SatFinite)),
        _ => Sum::F32,
    };
    let words = [Matrix::Left, Matrix::Right, Matrix::Sum].map(|matrix| {
        let shape = Shape::Matrix(matrix);
        data.registers(shape) * data.shape_info(shape).map_or(1, |info| usize::from(info.words))
    });
    let [rows, _, inner] = data.field().map_or([8, 8, 0], MatrixShape::extents);
    Ok(Product { rows, inner, factors, sum, words })
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

fn words(place: Place) -> std::ops::Range<Slot> {
    match place {
        Place::Word(slot) => slot..slot + 1,
        Place::Pair(slot) => slot..slot + 2,
        Place::Pred(_) | Place::None => 0..0,
    }
}
