//! Decoding of products of warpgroups and what is about them.

use oriole_ir::ops::{LeftElement, Matrix, NegateLeft, NegateRight, Opcode, Shape, TransposeLeft, TransposeRight};
use oriole_ir::{Inst, InstData};

use super::matrix::words;
use super::{DecodeFault, Decoded, Decoder, op};
use crate::program::{Kind, Op, Slot};
use crate::strong::StrongKind;
use crate::warpgroup::{GroupProduct, Left, WarpgroupOp};
use oriole_semantics::matrix::factor::Side;
use oriole_semantics::matrix::resolve::product_of_extents;
use oriole_semantics::matrix::{COLUMNS, Choice};

impl Decoder<'_> {
    pub(super) fn warpgroup(&mut self, inst: Inst, data: &InstData) -> Decoded<Op> {
        let operation = match data.opcode {
            Opcode::WgmmaFence => WarpgroupOp::Order(StrongKind::ProductFence),
            Opcode::WgmmaCommit => WarpgroupOp::Order(StrongKind::ProductGroup),
            Opcode::WgmmaWait => {
                let groups = self.func.srcs(inst).first().and_then(|groups| self.func.imm_bits(*groups));
                WarpgroupOp::Order(StrongKind::ProductWait(groups.unwrap_or(0) as u32))
            }
            _ => WarpgroupOp::Multiply(Box::new(self.group_product(inst, data)?)),
        };
        self.program.strong |= matches!(operation, WarpgroupOp::Order(_));
        self.program.groups.push(operation);
        Ok(op(Kind::Warpgroup).x(self.program.groups.len() as u32 - 1))
    }

    fn group_product(&mut self, inst: Inst, data: &InstData) -> Decoded<GroupProduct> {
        let row = data.opcode.row();
        let [rows, columns, inner] = row.extents(&data.fields);
        let mut product = product_of_extents(data, [rows, COLUMNS, inner]);
        let [a, b, c, _] = product.words;
        product.starts = [0, a, a + b, 0];
        if let Some(choice) = &mut product.choice {
            choice.word = a + b + c;
        }
        let (mut added, mut left, mut metadata) = (Vec::new(), Vec::new(), None);
        let (mut descriptors, mut adds) = (Vec::new(), None);
        let srcs = self.func.srcs(inst).to_vec();
        for (i, shape) in data.src_shapes(srcs.len()).into_iter().enumerate() {
            if shape == Shape::Imm {
                let selector = self.selector(data, srcs[i])?;
                product.choice = product.choice.map(|choice| Choice { selector, ..choice });
                continue;
            }
            let place = self.source(data, inst, i, shape)?;
            match shape {
                Shape::Matrix(Matrix::Sum) => added.extend(words(place)),
                Shape::Matrix(Matrix::Metadata) => metadata = words(place).next(),
                Shape::Matrix(_) => left.extend(words(place)),
                Shape::D => descriptors.push(place),
                _ => adds = Some(place),
            }
        }
        let mut dsts: Vec<Slot> = Vec::new();
        for (i, shape) in data.dst_shapes().into_iter().enumerate() {
            dsts.extend(words(self.destination(data, inst, i, shape)?));
        }
        let left = match descriptors.as_slice() {
            [_] => Left::Registers(left),
            [first, _] => Left::Shared(*first),
            _ => return Err(DecodeFault::OperandCount),
        };
        let right = descriptors.pop().ok_or(DecodeFault::OperandCount)?;
        let bits = data.field().map_or(16, LeftElement::bits) as usize;
        let sides = [
            Side {
                bits,
                negated: data.field() == Some(NegateLeft::Negate),
                transposed: data.field() == Some(TransposeLeft::Transpose),
            },
            Side {
                bits,
                negated: data.field() == Some(NegateRight::Negate),
                transposed: data.field() == Some(TransposeRight::Transpose),
            },
        ];
        let adds = adds.ok_or(DecodeFault::OperandCount)?;
        let tiles = columns / COLUMNS;
        Ok(GroupProduct { product, tiles, sides, left, right, added, metadata, adds, dsts })
    }
}
