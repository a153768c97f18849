//! Products of sparse matrices of every shape against a plain product with zeros where nothing is held.
//!
//! Elements and metadata stand where the figures of PTX ISA 9.0 show them, "Matrix Fragments for mma.sp.m16n8k16" and
//! the sections behind it.

use oriole_ir::ops::{LeftElement, Matrix, MatrixShape, Opcode};

use super::product_tests::{Case, Elements, execute, expected};
use crate::outcome::Outcome;
use oriole_launch::random::SplitMix64;

/// Row of A, and place among what is held of it, of element `i` of a lane.
fn held_place(shape: MatrixShape, bits: u32, lane: usize, i: usize) -> (usize, usize) {
    use MatrixShape::*;
    let (g, t) = (lane >> 2, lane % 4);
    let upper = |first: bool| if first { g } else { g + 8 };
    match (shape, bits) {
        (M16n8k8, _) => (upper(i == 0), t),
        (M16n8k16, 32) => (upper(i == 0 || i == 2), t + if i < 2 { 0 } else { 4 }),
        (M16n8k16, _) => (upper(i < 2), 2 * t + (i & 1)),
        (M16n8k32, 16) => (upper(i < 2 || (4..6).contains(&i)), 2 * t + (i & 1) + if i < 4 { 0 } else { 8 }),
        (M16n8k32, _) => (upper(i < 4), 4 * t + (i & 3)),
        (M16n8k64, 8) => (upper(i < 4 || (8..12).contains(&i)), 4 * t + (i & 3) + if i < 8 { 0 } else { 16 }),
        (M16n8k64, _) => (upper(i < 8), 8 * t + (i & 7)),
        (M16n8k128, _) => (upper(i < 8 || (16..24).contains(&i)), 8 * t + (i & 7) + if i < 16 { 0 } else { 32 }),
        other => unreachable!("{other:?} is not sparse"),
    }
}

/// Row and column of element `i` of B: a lane's register has elements of rows that follow each other, and the next
/// register those behind the rows of the four lanes.
fn right_place(bits: u32, lane: usize, i: usize) -> (usize, usize) {
    let each = 32 / bits as usize;
    (each * (lane % 4) + i % each + 4 * each * (i / each), lane >> 2)
}

fn sum_place(lane: usize, i: usize) -> (usize, usize) {
    (if i < 2 { lane >> 2 } else { (lane >> 2) + 8 }, lane % 4 * 2 + (i & 1))
}

/// The lanes of a group that give metadata.
fn givers(shape: MatrixShape, bits: u32) -> usize {
    use MatrixShape::*;
    match (shape, bits) {
        (M16n8k8, _) | (M16n8k16, 16) => 1,
        (M16n8k16, _) | (M16n8k32, _) | (M16n8k64, 4) => 2,
        _ => 4,
    }
}

/// A sparse matrix: with zeros, without them, and the four bits for each of its chunks.
struct Sparse {
    whole: Elements,
    held: Elements,
    chosen: Vec<Vec<u32>>,
}

fn sparse(dense: &Elements, bits: u32, ordered: bool, random: &mut SplitMix64) -> Sparse {
    const RISING: [u32; 6] = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110];
    let (chunk, unit) = match bits {
        4 => (8, 2),
        32 => (2, 0),
        _ => (4, 1),
    };
    let mut out = Sparse { whole: Vec::new(), held: Vec::new(), chosen: Vec::new() };
    for row in dense {
        let (mut whole, mut held, mut chosen) = (vec![(0, 0); row.len()], Vec::new(), Vec::new());
        for start in (0..row.len()).step_by(chunk) {
            let index = random.below(6) as usize;
            let places = match (unit, ordered) {
                (0, _) => [0b0100, 0b1110][index % 2],
                (_, true) => RISING[index],
                (_, false) => RISING[index] >> 2 | (RISING[index] & 3) << 2,
            };
            let at: Vec<usize> = match unit {
                0 => vec![usize::from(places == 0b1110)],
                unit => {
                    let pair = [places & 3, places >> 2].map(|place| place as usize);
                    pair.into_iter().flat_map(|place| (0..unit).map(move |i| unit * place + i)).collect()
                }
            };
            for at in at {
                whole[start + at] = row[start + at];
                held.push(row[start + at]);
            }
            chosen.push(places);
        }
        out.whole.push(whole);
        out.held.push(held);
        out.chosen.push(chosen);
    }
    out
}

/// The metadata of each lane; those of lanes that give none are something else.
fn metadata(case: &Case, sparse: &Sparse, random: &mut SplitMix64) -> Vec<Vec<u32>> {
    let (bits, givers) = (case.left.bits(), givers(case.shape, case.left.bits()));
    let word = |chunks: &[u32]| chunks.iter().rev().fold(0, |word, places| word << 4 | places);
    let mut lane = |lane: usize| {
        let (g, giver) = (lane >> 2, (lane % 4).wrapping_sub(givers * case.selector as usize));
        if giver >= givers {
            return vec![random.next_u64() as u32];
        }
        vec![match bits {
            // The lower half is of a row, the upper half of that eight rows below.
            16 | 32 => [g, g + 8]
                .map(|row| word(&sparse.chosen[row][4 * giver..4 * giver + 4]))
                .into_iter()
                .rev()
                .fold(0, |all, half| all << 16 | half),
            _ => word(&sparse.chosen[g + 8 * (giver % 2)][8 * (giver / 2)..8 * (giver / 2) + 8]),
        }]
    };
    (0..32).map(&mut lane).collect()
}

fn fragments(case: &Case, [held, b, c]: [&Elements; 3]) -> [Vec<Vec<u32>>; 3] {
    let bits = case.left.bits();
    let words = [Matrix::Held, Matrix::Right, Matrix::Addend].map(|matrix| case.words(matrix));
    let left = |lane, i| held_place(case.shape, bits, lane, i);
    [
        case.fragment(words[0], bits, left, |row, at| held[row][at].0),
        case.fragment(words[1], bits, |lane, i| right_place(bits, lane, i), |row, column| b[row][column].0),
        case.fragment(words[2], case.addend.bits(), sum_place, |row, column| c[row][column].0),
    ]
}

#[test]
fn every_sparse_shape_multiplies_what_the_isa_lists() {
    let mut random = SplitMix64::new(31);
    let mut tried = 0;
    for mut case in [Opcode::MmaSparse, Opcode::MmaSparseOrdered].into_iter().flat_map(Case::all) {
        for selector in 0..4 / givers(case.shape, case.left.bits()) as u32 {
            case.selector = selector;
            let [a, b, c] = case.elements(&mut random);
            let a = sparse(&a, case.left.bits(), case.opcode == Opcode::MmaSparseOrdered, &mut random);
            let [left, right, addend] = fragments(&case, [&a.held, &b, &c]);
            let wanted = |row: usize, column: usize| expected(&case, &a.whole, &b, c[row][column].1, [row, column]);
            let wanted = case.fragment(case.words(Matrix::Sum), case.sum.bits(), sum_place, wanted);
            let found = case.run(&[&left, &right, &addend, &metadata(&case, &a, &mut random)]);
            assert_eq!(found, wanted, "{} {selector}", case.name());
            tried += 1;
        }
    }
    assert_eq!(tried, 2 * (4 + 2 + 3 * 4 + 3 * 2 + 8 * 2 + 8 + 8 * 2 + 8 + 4));
}

/// What is not held is not multiplied, whatever B has there.
#[test]
fn infinities_beside_what_is_held_do_not_count() {
    let fits = |case: &Case| case.shape == MatrixShape::M16n8k16 && case.left == LeftElement::F16;
    let case = Case::all(Opcode::MmaSparseOrdered).into_iter().find(fits).expect("there is such a product");
    let words = [Matrix::Held, Matrix::Right, Matrix::Addend].map(|matrix| case.words(matrix));
    // Ones at the even places of A; B has ones in even rows and infinities in odd ones.
    let lane =
        [vec![0x3C00_3C00; words[0]], vec![0x7C00_3C00; words[1]], vec![0; words[2]], vec![0x8888_8888]].concat();
    let (outcome, found) = execute(&case, lane.repeat(32), 32, "");
    assert_eq!(outcome, Outcome::Finished);
    let eight = if case.sum.bits() == 16 { 0x4800_4800 } else { 8f32.to_bits() };
    assert!(found.iter().all(|word| *word == eight), "{found:x?}");
}
