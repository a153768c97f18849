//! Which elements of a sparse matrix are held: the metadata of `mma.sp`.
//!
//! PTX ISA 9.0, "Sparse matrix storage" and "Matrix fragments for multiply-accumulate operation with sparse matrix A".
//! Four bits of metadata are about what is held of 4 elements in a row of A, of 8 narrow ones or of 2 of tf32: two
//! places, the lower bits say the first one; of tf32 0b0100 is the first of two, and 0b1110 the second. Of each group
//! of four lanes the sparsity selector says which ones give metadata. What it says of other numbers is undefined: two
//! times the same place, or a falling order where that is promised. The row of D is undefined then.

use super::Sources;
use super::product::{COLUMNS, MOST_ROWS, Right, Sums};
use crate::frame::Word;

/// The most elements that a row has.
const MOST_HELD: usize = 64;
/// The places of elements by rows.
pub type Chosen = [[u8; MOST_HELD]; MOST_ROWS];

/// Where it is said which elements are held.
#[derive(Clone, Copy)]
pub struct Choice {
    /// The metadata's word among the sources.
    pub word: usize,
    pub selector: usize,
    /// Whether places are in rising order.
    pub ordered: bool,
    /// Bits of an element.
    pub bits: usize,
    /// Columns of A, held or not.
    pub inner: usize,
}

impl Choice {
    /// Columns that four bits are about.
    fn chunk(&self) -> usize {
        match self.bits {
            4 => 8,
            32 => 2,
            _ => 4,
        }
    }

    /// Whether a lane's word is about one row, not about two.
    fn is_of_one_row(&self) -> bool {
        self.bits < 16
    }

    /// The lane that says what is held of a chunk of a row, and the first of the four bits.
    fn source(&self, row: usize, chunk: usize) -> (usize, usize) {
        let chunks = self.inner / self.chunk();
        let (lower, group) = (row / COLUMNS, row % COLUMNS);
        if self.is_of_one_row() {
            let lanes = 2 * chunks / 8;
            (4 * group + self.selector * lanes + lower + 2 * (chunk / 8), 4 * (chunk % 8))
        } else {
            let lanes = chunks / 4;
            (4 * group + self.selector * lanes + chunk / 4, 16 * lower + 4 * (chunk % 4))
        }
    }

    /// Visits the chunks: row, number, the lane that speaks of it, its bits.
    #[inline(always)]
    fn each_chunk(&self, metadata: &Word, mut visit: impl FnMut(usize, usize, usize, u32)) {
        for row in 0..MOST_ROWS {
            for chunk in 0..self.inner / self.chunk() {
                let (lane, at) = self.source(row, chunk);
                visit(row, chunk, lane, metadata[lane] >> at & 0xF);
            }
        }
    }

    /// The columns of what is held.
    pub fn elements(&self, metadata: &Word) -> Chosen {
        let mut chosen = [[0; MOST_HELD]; MOST_ROWS];
        self.each_chunk(metadata, |row, chunk, _, bits| {
            let [first, second] = [(bits & 3) as usize, (bits >> 2) as usize];
            let (start, held) = (self.chunk() * chunk, self.chunk() / 2 * chunk);
            let mut put = |index: usize, place: usize| chosen[row][(held + index) % MOST_HELD] = (start + place) as u8;
            match self.bits {
                4 => [2 * first, 2 * first + 1, 2 * second, 2 * second + 1]
                    .into_iter()
                    .enumerate()
                    .for_each(|(i, at)| put(i, at)),
                32 => put(0, first / 2),
                _ => [first, second].into_iter().enumerate().for_each(|(i, at)| put(i, at)),
            }
        });
        chosen
    }

    /// A bit for each row of which the metadata are undefined or mean nothing.
    pub fn unknown_rows(&self, sources: &Sources) -> u32 {
        let mut rows = 0;
        self.each_chunk(sources.values[self.word], |row, _, lane, bits| {
            let (first, second) = (bits & 3, bits >> 2);
            let meant = match self.bits {
                32 => matches!(bits, 0b0100 | 0b1110),
                _ if self.ordered => first < second,
                _ => first != second,
            };
            let open = !meant || sources.undefined[self.word] >> lane & 1 == 1;
            rows |= u32::from(open) << row;
        });
        rows
    }
}

/// Adds the products of what is held, with the elements of B that belong to it, in the order of A.
#[inline(always)]
pub fn accumulate<T: Copy, S: Copy, const HELD: usize, const K: usize>(
    a: &[[T; HELD]],
    b: &Right<T, K>,
    sums: &mut Sums<S>,
    chosen: &Chosen,
    add: impl Fn(S, T, T) -> S,
) {
    for ((row, places), sums) in a.iter().zip(chosen).zip(sums) {
        for (a, place) in row.iter().zip(places) {
            let b = &b[usize::from(*place) % K];
            for column in 0..COLUMNS {
                sums[column] = add(sums[column], *a, b[column]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lane 4 is the first of group 1: it speaks of rows 1 and 9, half a word each.
    #[test]
    fn metadata_that_mean_nothing_leave_their_row_open() {
        let rows = |bits: usize, ordered: bool, value: u32, undefined: u32| {
            let mut word = [0x4444_4444; 32];
            word[4] = value;
            let mut sources = Sources::default();
            sources.values[3] = &word;
            sources.undefined[3] = undefined;
            let inner = 256 / bits;
            Choice { word: 3, selector: 0, ordered, bits, inner }.unknown_rows(&sources)
        };
        assert_eq!(rows(16, true, 0x4444_4444, 0), 0);
        assert_eq!(rows(16, true, 0x4444_4444, 1 << 4), 1 << 1 | 1 << 9);
        assert_eq!(rows(16, true, 0x4444_4444, 1 << 5), 0);
        // Twice the same place, and a falling order.
        assert_eq!([rows(16, true, 0x4444_0444, 0), rows(16, false, 0x4A44_4444, 0)], [1 << 1, 1 << 9]);
        assert_eq!([rows(16, true, 0x1444_4444, 0), rows(16, false, 0x1444_4444, 0)], [1 << 9, 0]);
        assert_eq!([rows(32, true, 0x4444_4E44, 0), rows(32, true, 0x4444_4844, 0)], [0, 1 << 1]);
        // Of bytes, a word is about one row.
        assert_eq!(rows(8, true, 0x0444_4444, 1 << 5), 1 << 1 | 1 << 9);
    }
}
