//! How many registers of a lane the matrices of a product take.
//!
//! The lanes of a warp, or of four warps, hold equal parts of a matrix, without gaps (PTX ISA, "Matrix Fragments"). A
//! sparse first factor stands without half of its elements. Operands are told apart by where they stand: the result by
//! bit 16, the factors by 24 and 32, what is added by 64.

use super::prelude::*;

/// What is multiplied.
struct Product {
    /// Rows of the result, columns of it, and what is summed over.
    extents: [u32; 3],
    /// Bits of an element of the first factor, the second one, the result.
    bits: [u32; 3],
    is_sparse: bool,
}

impl Product {
    /// Of a matrix with an element for each pair of places along two dimensions. Two rows stand together even where
    /// they do not fill a register.
    fn registers(elements: u32, bits: u32) -> u8 {
        (elements * bits / (32 * 32)).max(1) as u8
    }

    fn width(&self, part: &Part) -> Option<u8> {
        let [m, n, k] = self.extents;
        let held = if self.is_sparse { k / 2 } else { k };
        Some(match part.at.low {
            16 | 64 => Product::registers(m * n, self.bits[2]),
            24 => Product::registers(m * held, self.bits[0]),
            32 => Product::registers(n * k, self.bits[1]),
            _ => return None,
        })
    }
}

fn code(word: u128, low: u8, len: u8) -> usize {
    Bits::new(low, len).get(word) as usize
}

fn is_set(word: u128, bit: u8) -> bool {
    word >> bit & 1 == 1
}

/// Sums of halves or of floats, as a bit says.
fn sum(word: u128, bit: u8) -> u32 {
    if is_set(word, bit) { 32 } else { 16 }
}

pub fn hmma(word: u128, part: &Part) -> Option<u8> {
    let k = [8, 16, 4, 32][code(word, 75, 1) | code(word, 78, 1) << 1];
    let bits = if code(word, 82, 2) == 2 { 32 } else { 16 };
    Product { extents: [16, 8, k], bits: [bits, bits, sum(word, 76)], is_sparse: is_set(word, 73) }.width(part)
}

pub fn imma(word: u128, part: &Part) -> Option<u8> {
    const SHAPES: [[u32; 2]; 8] = [[8, 16], [8, 16], [8, 32], [8, 64], [16, 16], [16, 32], [16, 64], [16, 128]];
    let [m, k] = SHAPES[code(word, 75, 1) | code(word, 85, 2) << 1];
    let bits = |bit| if is_set(word, bit) { 4 } else { 8 };
    Product { extents: [m, 8, k], bits: [bits(83), bits(84), 32], is_sparse: is_set(word, 72) }.width(part)
}

pub fn bmma(word: u128, part: &Part) -> Option<u8> {
    let [m, k] = [[8, 128], [16, 128], [16, 256], [16, 256]][code(word, 75, 2)];
    Product { extents: [m, 8, k], bits: [1, 1, 32], is_sparse: false }.width(part)
}

pub fn dmma(word: u128, part: &Part) -> Option<u8> {
    let [m, k] = [[8, 4], [16, 4], [16, 8], [16, 16]][code(word, 76, 2)];
    Product { extents: [m, 8, k], bits: [64; 3], is_sparse: false }.width(part)
}

pub fn qmma(word: u128, part: &Part) -> Option<u8> {
    let k = 16 << code(word, 75, 2);
    Product { extents: [16, 8, k], bits: [8, 8, sum(word, 77)], is_sparse: is_set(word, 80) }.width(part)
}

/// Of bytes with scales.
pub fn scaled_bytes(word: u128, part: &Part) -> Option<u8> {
    let is_sparse = is_set(word, 80);
    Product { extents: [16, 8, if is_sparse { 64 } else { 32 }], bits: [8, 8, 32], is_sparse }.width(part)
}

/// Of elements of four bits with scales.
pub fn scaled_nibbles(word: u128, part: &Part) -> Option<u8> {
    let is_sparse = is_set(word, 80);
    Product { extents: [16, 8, if is_sparse { 128 } else { 64 }], bits: [4, 4, 32], is_sparse }.width(part)
}

/// Tiles of 8 by 8 halves have a register each, those of 16 by 16 bytes two.
pub fn tiles(word: u128, part: &Part) -> Option<u8> {
    let is_data = matches!(part.what, What::Register(_));
    let each = if code(word, 78, 3) == 4 { 2 } else { 1 };
    is_data.then(|| each << code(word, 72, 2))
}

/// Of a product by four warps: the result has 64 rows, and all factors in registers have 16 bytes a lane. The
/// descriptors of both matrices lie side by side, also where the first matrix is in registers and its own says nothing
/// (nvdisasm names four registers live there).
fn group(columns: usize, bits: usize, part: &Part) -> Option<u8> {
    Some(match (part.what, part.at.low) {
        (What::Within(_), _) | (What::Register(File::R), 24) => 4,
        (What::Register(File::R), 16 | 64) => (64 * columns * bits / (128 * 32)) as u8,
        _ => return None,
    })
}

/// The columns of a product of whole numbers or bits by its place among the shapes.
fn columns(place: usize) -> usize {
    if place < 4 { 8 * (place + 1) } else { 16 * (place - 1) }
}

pub fn hgmma(word: u128, part: &Part) -> Option<u8> {
    group(8 * (code(word, 53, 5) + 1), sum(word, 75) as usize, part)
}

pub fn igmma(word: u128, part: &Part) -> Option<u8> {
    group(columns(code(word, 53, 6) / 3), 32, part)
}

pub fn bgmma(word: u128, part: &Part) -> Option<u8> {
    group(columns(code(word, 53, 6)), 32, part)
}
