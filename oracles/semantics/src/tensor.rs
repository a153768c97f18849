//! Products of matrices for others who execute them: machine code has the same fragments as PTX.

use std::ops::Range;

use oriole_ir::{Function, FunctionKind, InstBuilder};

use super::lanes::Word;
use super::matrix::descriptor::Descriptor;
use super::matrix::factor::{Lines, PIECE};
use super::matrix::resolve::matrix_product;
use super::matrix::{MOST_RESULTS, MOST_SOURCES, Product, Results, Sources, multiply};

pub use super::matrix::COLUMNS;
pub use super::matrix::factor::Side;

/// The product of two matrices, added to a third, of which each lane of a warp holds a part.
#[derive(Clone)]
pub struct MatrixProduct {
    product: Product,
    /// Words of a lane: both factors, the addend, the result.
    words: [usize; 4],
}

impl MatrixProduct {
    /// What `mma.sync` and its kin compute with these fields; `None` where they are no product.
    pub fn resolve(builder: &InstBuilder) -> Option<MatrixProduct> {
        MatrixProduct::resolve_sparse(builder, 0)
    }

    /// What `mma.sp.sync` computes with these fields and this sparsity selector; `None` where they are no product.
    pub fn resolve_sparse(builder: &InstBuilder, selector: usize) -> Option<MatrixProduct> {
        let mut func = Function::new("product", FunctionKind::Device);
        let inst = builder.create(&mut func);
        let (mut product, words) = matrix_product(func.inst(inst))?;
        if let Some(choice) = &mut product.choice {
            choice.selector = selector;
        }
        Some(MatrixProduct { product, words })
    }

    /// Words of a lane: both factors, the addend, the result.
    pub fn words(&self) -> [usize; 4] {
        self.words
    }

    /// Whether the first factor is sparse: a word of metadata follows the addend's.
    pub fn is_sparse(&self) -> bool {
        self.product.choice.is_some()
    }

    /// The result's words, of the words of both factors and the addend, one behind the other, and the metadata.
    ///
    /// # Panics
    ///
    /// If there are fewer than [`MatrixProduct::words`] says.
    pub fn eval(&self, words: &[Word]) -> Vec<Word> {
        let [a, b, c, d] = self.words;
        let count = a + b + c + usize::from(self.is_sparse());
        assert!(words.len() >= count && count <= MOST_SOURCES && d <= MOST_RESULTS, "all matrices are there");
        let mut sources = Sources::default();
        for (source, word) in sources.values.iter_mut().zip(words) {
            *source = word;
        }
        let mut results = Results::default();
        multiply(&self.product, &sources, &mut results);
        results.values[..d].to_vec()
    }
}

/// Lines of a factor in shared memory, as the products of warpgroups read it: rows of the first, columns of the second.
pub struct SharedFactor(Lines);

impl SharedFactor {
    /// Reads so many elements of some lines as a matrix descriptor (PTX ISA 9.0, "Matrix Descriptor Format") says, 16
    /// bytes at a time from offsets in shared memory.
    ///
    /// # Errors
    ///
    /// If bytes cannot be loaded.
    pub fn read<E>(
        descriptor: u64,
        lines: Range<u64>,
        elements: usize,
        side: Side,
        mut load: impl FnMut(u64) -> Result<[u8; PIECE as usize], E>,
    ) -> Result<SharedFactor, E> {
        let bytes = (elements * side.bits / 8) as u64;
        let load = |address| Ok(load(address)?.map(|byte| (byte, false)));
        Lines::read(&Descriptor::new(descriptor), lines, bytes, side, load).map(SharedFactor)
    }

    /// The words of the first factor, of the 16 lines that were read.
    pub fn left(&self, words: usize) -> Vec<Word> {
        self.0.left(words).into_iter().map(|(word, _)| word).collect()
    }

    /// The words of the second factor for eight columns, from the tile's first one on.
    pub fn right(&self, tile: usize, words: usize) -> Vec<Word> {
        self.0.right(tile, words).into_iter().map(|(word, _)| word).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::ops::{Addend, LeftElement, LeftLayout, MatrixShape, Opcode, RightElement, RightLayout, Type};

    /// Ones everywhere: each element of the product is the inner extent, and one more by the addend.
    #[test]
    fn products_have_the_words_of_their_fragments() {
        let product = InstBuilder::new(Opcode::Mma)
            .field(MatrixShape::M16n8k16)
            .field(LeftLayout::Row)
            .field(RightLayout::Col)
            .field(Type::F32)
            .field(LeftElement::F16)
            .field(RightElement::F16)
            .field(Addend::F32);
        let product = MatrixProduct::resolve(&product).unwrap();
        assert_eq!(product.words(), [4, 2, 4, 4]);
        let halves = [0x3c00_3c00; 32];
        let sources: Vec<Word> = [halves; 6].into_iter().chain([[1f32.to_bits(); 32]; 4]).collect();
        assert_eq!(product.eval(&sources), [[17f32.to_bits(); 32]; 4]);
        assert!(MatrixProduct::resolve(&InstBuilder::new(Opcode::IAdd)).is_none());
    }
}
