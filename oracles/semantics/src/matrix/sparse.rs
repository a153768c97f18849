//! Which elements of a sparse matrix are held: the metadata of `mma.sp`.
//!
//! PTX ISA 9.0, "Sparse matrix storage" and "Matrix fragments for multiply-accumulate operation with sparse matrix A".
//! Four bits of metadata are about what is held of 4 elements in a row of A, of 8 narrow ones or of 2 of tf32: two
//! places, the lower bits say the first one; of tf32 0b0100 is the first of two, and 0b1110 the second. Of each group
//! of four lanes the sparsity selector says which ones give metadata. What it says of other numbers is undefined: two
//! times the same place, or a falling order where that is promised. The row of D is undefined then.

use super::Sources;
use super::layout::GROUP;
use super::product::{COLUMNS, MOST_ROWS, Right, Sums};
use crate::lanes::{LANES, Word};

/// The most elements that a row has.
const MOST_HELD: usize = 64;
/// The places of elements by rows.
pub type Chosen = [[u8; MOST_HELD]; MOST_ROWS];

/// Where it is said which elements are held.
#[derive(Clone, Copy)]
pub struct Choice {
    /// The metadata's word among the sources.
    pub word: usize,
    /// Which lanes of a group give metadata.
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
    /// The lane that says what is held of four chunks of a row, and the first of the 16 bits.
    #[inline(always)]
    fn source<const BITS: usize>(&self, row: usize, four: usize) -> (usize, usize) {
        let (lower, group) = (row / COLUMNS, row % COLUMNS);
        let first = GROUP * group + self.selector * self.fours::<BITS>();
        // Of narrow elements a lane's word is about one row, not about two.
        if BITS < 16 { (first + lower + 2 * (four / 2), 16 * (four % 2)) } else { (first + four, 16 * lower) }
    }

    /// How many times four chunks a row has.
    #[inline(always)]
    fn fours<const BITS: usize>(&self) -> usize {
        self.inner / chunk_of(BITS) / 4
    }

    /// Visits four chunks at a time: row, number, the lane that speaks of them, its 16 bits.
    #[inline(always)]
    fn each_four<const BITS: usize>(&self, metadata: &Word, mut visit: impl FnMut(usize, usize, usize, u32)) {
        for row in 0..MOST_ROWS {
            for four in 0..self.fours::<BITS>() {
                let (lane, at) = self.source::<BITS>(row, four);
                visit(row, four, lane, metadata[lane % LANES] >> at & 0xFFFF);
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
        self.each_four::<BITS>(metadata, |row, four, _, bits| {
            let (places, start) = (places(bits), (4 * chunk_of(BITS) * four) as u8);
            let held = 2 * chunk_of(BITS);
            for (index, column) in chosen[row][held * four % MOST_HELD..][..held].iter_mut().enumerate() {
                let (place, i) = (|i: usize| places[i % 8], index as u8);
                *column = start
                    + match BITS {
                        4 => 8 * (i / 4) + 2 * place(index / 2) + i % 2,
                        32 => 2 * i + place(2 * index) / 2,
                        _ => 4 * (i / 2) + place(index),
                    };
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
        let undefined = sources.undefined[self.word];
        let mut open = [0; MOST_ROWS];
        self.each_four::<BITS>(sources.values[self.word], |row, _, lane, bits| {
            open[row] |= u32::from(!self.are_meant::<BITS>(bits)) | undefined >> (lane % LANES) & 1;
        });
        open.iter().enumerate().fold(0, |rows, (row, open)| rows | open << row)
    }

    /// Whether all of four times four bits mean something. The four are looked at together, none carries into the next.
    fn are_meant<const BITS: usize>(&self, bits: u32) -> bool {
        let (first, second) = (bits & 0x3333, bits >> 2 & 0x3333);
        // 4 is in these sums where the second place is above the first, or another one.
        let sums = if self.ordered { 0x3333 + second - first } else { 0x3333 + (first ^ second) };
        match BITS {
            // 0b0100 and 0b1110: apart from the third bit, which is set, the second and the fourth are or are not.
            32 => bits & 0x5555 == 0x4444 && (bits ^ bits >> 2) & 0x2222 == 0,
            _ => sums & 0x4444 == 0x4444,
        }
    }
}

/// Two bits each: eight places of four chunks.
#[inline(always)]
fn places(bits: u32) -> [u8; 8] {
    let all = u64::from(bits);
    let bytes = (all | all << 24) & 0x0000_00FF_0000_00FF;
    let halves = (bytes | bytes << 12) & 0x000F_000F_000F_000F;
    ((halves | halves << 6) & 0x0303_0303_0303_0303).to_le_bytes()
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

    /// What four times four bits mean is found as if each four stood alone.
    #[test]
    fn all_metadata_are_read_as_the_format_says() {
        let choice = |ordered| Choice { word: 0, selector: 0, ordered, bits: 16, inner: 16 };
        for bits in 0..=0xFFFFu32 {
            let fours = [0, 4, 8, 12].map(|at| bits >> at & 0xF);
            let pairs = fours.map(|four| (four & 3, four >> 2));
            assert_eq!(choice(true).are_meant::<16>(bits), pairs.iter().all(|(first, second)| first < second));
            assert_eq!(choice(false).are_meant::<8>(bits), pairs.iter().all(|(first, second)| first != second));
            let are_halves = fours.iter().all(|four| matches!(four, 0b0100 | 0b1110));
            assert_eq!(choice(true).are_meant::<32>(bits), are_halves, "{bits:#x}");
            assert_eq!(places(bits), std::array::from_fn(|i| (bits >> (2 * i) & 3) as u8), "{bits:#x}");
        }
    }

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
