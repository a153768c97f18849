//! Which elements of a sparse matrix are held: the metadata of `mma.sp`.
//!
//! PTX ISA 9.0, "Sparse matrix storage" and "Matrix fragments for multiply-accumulate operation with sparse matrix A".
//! Four bits of metadata are about what is held of 4 elements in a row of A, of 8 narrow ones or of 2 of tf32: two
//! places, the lower bits say the first one; of tf32 0b0100 is the first of two, and 0b1110 the second. Of each group
//! of four lanes the sparsity selector says which ones give metadata. What it says of other numbers is undefined: two
//! times the same place, or a falling order where that is promised. The row of D is undefined then.

use super::Sources;
use super::product::{COLUMNS, MOST_ROWS, Right, Sums};
use crate::frame::{LANES, Word};

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

/// Columns that four bits of metadata are about, for elements of so many bits.
const fn chunk_of(bits: usize) -> usize {
    match bits {
        4 => 8,
        32 => 2,
        _ => 4,
    }
}

impl Choice {
    /// The lane that says what is held of a chunk of a row, and the first of the four bits.
    #[inline(always)]
    fn source<const BITS: usize>(&self, row: usize, chunk: usize) -> (usize, usize) {
        let chunks = self.inner / chunk_of(BITS);
        let (lower, group) = (row / COLUMNS, row % COLUMNS);
        // Of narrow elements a lane's word is about one row, not about two.
        if BITS < 16 {
            let lanes = 2 * chunks / 8;
            (4 * group + self.selector * lanes + lower + 2 * (chunk / 8), 4 * (chunk % 8))
        } else {
            let lanes = chunks / 4;
            (4 * group + self.selector * lanes + chunk / 4, 16 * lower + 4 * (chunk % 4))
        }
    }

    /// Visits the chunks: row, number, the lane that speaks of it, its bits.
    #[inline(always)]
    fn each_chunk<const BITS: usize>(&self, metadata: &Word, mut visit: impl FnMut(usize, usize, usize, u32)) {
        for row in 0..MOST_ROWS {
            for chunk in 0..self.inner / chunk_of(BITS) {
                let (lane, at) = self.source::<BITS>(row, chunk);
                visit(row, chunk, lane, metadata[lane % LANES] >> at & 0xF);
            }
        }
    }

    /// The columns of what is held.
    #[inline(always)]
    pub fn elements(&self, metadata: &Word) -> Chosen {
        // A copy for each width: the widths decide what is done of each of more than a hundred chunks.
        match self.bits {
            4 => self.elements_of::<4>(metadata),
            8 => self.elements_of::<8>(metadata),
            16 => self.elements_of::<16>(metadata),
            _ => self.elements_of::<32>(metadata),
        }
    }

    #[inline(always)]
    fn elements_of<const BITS: usize>(&self, metadata: &Word) -> Chosen {
        let mut chosen = [[0; MOST_HELD]; MOST_ROWS];
        self.each_chunk::<BITS>(metadata, |row, chunk, _, bits| {
            let [first, second] = [(bits & 3) as u8, (bits >> 2) as u8];
            let start = (chunk_of(BITS) * chunk) as u8;
            let mut put = |index: usize, place: u8| {
                chosen[row][(chunk_of(BITS) / 2 * chunk + index) % MOST_HELD] = start + place;
            };
            match BITS {
                4 => {
                    let places = [2 * first, 2 * first + 1, 2 * second, 2 * second + 1];
                    places.into_iter().enumerate().for_each(|(index, place)| put(index, place));
                }
                32 => put(0, first / 2),
                _ => {
                    put(0, first);
                    put(1, second);
                }
            }
        });
        chosen
    }

    /// A bit for each row of which the metadata are undefined or mean nothing.
    pub fn unknown_rows(&self, sources: &Sources) -> u32 {
        match self.bits {
            4 => self.unknown_rows_of::<4>(sources),
            8 => self.unknown_rows_of::<8>(sources),
            16 => self.unknown_rows_of::<16>(sources),
            _ => self.unknown_rows_of::<32>(sources),
        }
    }

    fn unknown_rows_of<const BITS: usize>(&self, sources: &Sources) -> u32 {
        let is_meant = |bits: u32| match (bits & 3, bits >> 2) {
            _ if BITS == 32 => matches!(bits, 0b0100 | 0b1110),
            (first, second) if self.ordered => first < second,
            (first, second) => first != second,
        };
        // A bit for each of the values that four bits have.
        let meant = (0..16).filter(|bits| is_meant(*bits)).fold(0u32, |all, bits| all | 1 << bits);
        let undefined = sources.undefined[self.word];
        let mut open = [0; MOST_ROWS];
        self.each_chunk::<BITS>(sources.values[self.word], |row, _, lane, bits| {
            open[row] |= !(meant >> bits) & 1 | undefined >> (lane % LANES) & 1;
        });
        open.iter().enumerate().fold(0, |rows, (row, open)| rows | open << row)
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
