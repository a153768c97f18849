//! `mma.m8n8k4` of f16: each quarter of the lanes multiplies matrices of its own.
//!
//! PTX ISA 9.0, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type". A quarter is four lanes and the four
//! that are sixteen further ("quad pair").

use super::Results;
use super::product::{COLUMNS, MOST_ROWS, Product, Right, Sum, Sums, accumulate, float16, half, single};
use crate::lanes::{LANES, Word};

/// How many products an instruction computes.
pub const COUNT: usize = 4;
const ROWS: usize = 8;
const INNER: usize = 4;

fn quarter(lane: usize) -> usize {
    lane % 16 / 4
}

/// The row, or column, that a lane's elements of a matrix have in common.
#[inline(always)]
fn line(lane: usize) -> usize {
    lane % 4 + upper(lane)
}

#[inline(always)]
fn upper(lane: usize) -> usize {
    4 * (lane / 16)
}

/// Row and column of element `i` of A.
#[inline(always)]
fn left(by_columns: bool, lane: usize, i: usize) -> (usize, usize) {
    if by_columns { (i + upper(lane), lane % 4) } else { (line(lane), i) }
}

/// Row and column of element `i` of B.
#[inline(always)]
fn right(by_columns: bool, lane: usize, i: usize) -> (usize, usize) {
    if by_columns { (i, line(lane)) } else { (lane % 4, i + upper(lane)) }
}

/// Row and column of element `i` of C and D.
#[inline(always)]
fn sum(kind: Sum, lane: usize, i: usize) -> (usize, usize) {
    match kind {
        Sum::F16 => (line(lane), i),
        _ => ((lane & 1) + (i & 2) + upper(lane), (i & 4) + (lane & 2) + (i & 1)),
    }
}

#[inline(always)]
fn halves(words: &[&Word], lane: usize, i: usize) -> f64 {
    float16(words[i / 2][lane] >> (16 * (i % 2)) & 0xFFFF)
}

/// Computes D.
#[inline(always)]
pub fn multiply(product: &Product, [a, b, c]: [&[&Word]; 3], by_columns: [bool; 2], results: &mut Results) {
    for quarter in 0..COUNT {
        let (mut left_rows, mut right_rows): ([[f64; INNER]; ROWS], Right<f64, INNER>) = Default::default();
        let mut sums: Sums<f64> = [[0.0; COLUMNS]; MOST_ROWS];
        for lane in (4 * quarter..4 * quarter + 4).chain(4 * quarter + 16..4 * quarter + 20) {
            for i in 0..INNER {
                let (row, k) = left(by_columns[0], lane, i);
                left_rows[row % ROWS][k % INNER] = halves(a, lane, i);
                let (k, column) = right(by_columns[1], lane, i);
                right_rows[k % INNER][column % COLUMNS] = halves(b, lane, i);
            }
            for i in 0..COLUMNS {
                let (row, column) = sum(product.addend, lane, i);
                sums[row % ROWS][column % COLUMNS] = match product.addend {
                    Sum::F16 => halves(c, lane, i),
                    _ => f64::from(f32::from_bits(c[i][lane])),
                };
            }
        }
        accumulate(&left_rows, &right_rows, &mut sums, |sum, a, b| sum + a * b);
        for lane in (4 * quarter..4 * quarter + 4).chain(4 * quarter + 16..4 * quarter + 20) {
            store(product, lane, &sums, results);
        }
    }
}

#[inline(always)]
fn store(product: &Product, lane: usize, sums: &Sums<f64>, results: &mut Results) {
    let element = |i: usize| {
        let (row, column) = sum(product.sum, lane, i);
        sums[row % ROWS][column % COLUMNS]
    };
    for word in 0..product.words[3] {
        results.values[word][lane] = match product.sum {
            Sum::F16 => half(element(2 * word)) | half(element(2 * word + 1)) << 16,
            _ => single(element(word)),
        };
    }
}

/// The lanes in which words of D depend on undefined words of A, B and C.
pub fn open(product: &Product, [a, b, c]: [&[u32]; 3], by_columns: [bool; 2]) -> Vec<u32> {
    // The undefined elements of D in each quarter: a bit a column of each row.
    let mut open = [[0u8; ROWS]; COUNT];
    for lane in 0..LANES {
        let (rows, unknown) = (&mut open[quarter(lane)], |words: &[u32], at: usize| words[at] >> lane & 1 == 1);
        for i in 0..INNER {
            if unknown(a, i / 2) {
                rows[left(by_columns[0], lane, i).0] = u8::MAX;
            }
            if unknown(b, i / 2) {
                rows.iter_mut().for_each(|row| *row |= 1 << right(by_columns[1], lane, i).1);
            }
        }
        for i in (0..COLUMNS).filter(|i| unknown(c, if product.addend == Sum::F16 { i / 2 } else { *i })) {
            let (row, column) = sum(product.addend, lane, i);
            rows[row] |= 1 << column;
        }
    }
    let depends = |word: usize, lane: usize| {
        let elements = if product.sum == Sum::F16 { 2 * word..2 * word + 2 } else { word..word + 1 };
        elements.map(|i| sum(product.sum, lane, i)).any(|(row, column)| open[quarter(lane)][row] >> column & 1 == 1)
    };
    (0..product.words[3])
        .map(|word| (0..LANES).fold(0, |all, lane| all | u32::from(depends(word, lane)) << lane))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Sources;
    use super::super::product::{Factors, Tiles};
    use super::*;

    /// By rows of A and columns of B, lane 5 holds row 1 of A and column 1 of B in the second quarter.
    #[test]
    fn undefined_words_stay_within_their_quarter() {
        let factors = Factors::Quarters { left_by_columns: false, right_by_columns: true };
        let (words, starts) = ([2, 2, 4, 4], [0, 2, 4, 0]);
        let (addend, sum, tiles) = (Sum::F16, Sum::F16, Tiles::One);
        let product = Product { rows: 8, inner: 4, factors, addend, sum, words, starts, tiles, choice: None };
        let undefined = |word: usize| {
            let mut sources = Sources::default();
            sources.undefined[word] = 1 << 5;
            let mut results = Results::default();
            super::super::product::multiply(&product, &sources, &mut results);
            results.undefined[..4].to_vec()
        };
        assert_eq!(undefined(1), [1 << 5; 4]);
        assert_eq!(undefined(2), [0x00F0_00F0, 0, 0, 0]);
        assert_eq!(undefined(6), [0, 0, 1 << 5, 0]);
    }
}
