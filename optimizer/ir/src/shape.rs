//! Operand shapes of an instruction, made concrete by its fields.

use super::inst::InstData;
use super::register::RegInfo;
use crate::ops::{Opcode, Shape, Type, Vector};

impl InstData {
    /// The type that the opcode works in: its `Type` field; for opcodes without one, 32 bits.
    #[inline]
    pub fn ty(&self) -> Type {
        self.field::<Type>().unwrap_or(Type::B32)
    }

    /// How many registers stand for a shape; for lists that the fields do not limit, one.
    #[inline]
    pub fn registers(&self, shape: Shape) -> usize {
        self.opcode.row().registers(&self.fields, shape)
    }

    /// How many registers a vector access moves.
    #[inline]
    pub fn vector_len(&self) -> usize {
        self.field::<Vector>().map_or(1, Vector::len)
    }

    /// The type of the values of a shape; `None` where the shape is no value or takes any.
    #[inline]
    pub fn shape_type(&self, shape: Shape) -> Option<Type> {
        self.opcode.row().shape_type(&self.fields, shape)
    }

    /// The register that holds a value of a shape.
    #[inline]
    pub fn shape_info(&self, shape: Shape) -> Option<RegInfo> {
        self.shape_type(shape).map(RegInfo::of)
    }

    /// The shapes of the first `n` sources: vectors and lists are written out.
    pub fn src_shapes(&self, n: usize) -> Vec<Shape> {
        let mut shapes = Vec::with_capacity(n);
        for shape in self.opcode.row().srcs {
            shapes.extend(std::iter::repeat_n(*shape, self.times(*shape, n, shapes.len())));
        }
        shapes
    }

    /// The shape of the source at an index among the first `n`.
    pub fn src_shape(&self, n: usize, index: usize) -> Option<Shape> {
        let mut end = 0;
        let mut covers = |shape: &&Shape| {
            end += self.times(**shape, n, end);
            index < end
        };
        self.opcode.row().srcs.iter().find(|shape| covers(shape)).copied()
    }

    /// How many of `n` sources a shape stands for, where the shapes before it stand for `before` of them.
    fn times(&self, shape: Shape, n: usize, before: usize) -> usize {
        match shape {
            Shape::Blocks | Shape::Params | Shape::Incoming | Shape::Parts | Shape::Taken | Shape::Places => {
                n.saturating_sub(before)
            }
            _ => self.registers(shape),
        }
    }

    /// The shapes of the destinations.
    pub fn dst_shapes(&self) -> Vec<Shape> {
        let row = self.opcode.row();
        row.dsts.iter().flat_map(|shape| std::iter::repeat_n(*shape, self.registers(*shape))).collect()
    }

    /// The words of a `pack` of so many parts.
    pub fn packed_words(&self, parts: usize) -> u8 {
        debug_assert_eq!(self.opcode, Opcode::Pack);
        (self.ty().bits() as usize * parts).div_ceil(32).min(255) as u8
    }
}
