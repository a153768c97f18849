//! Tiles of matrices: 8 by 8 elements of 16 bits, of which each lane holds two neighbours of a row in a word.

use super::lanes::{LANES, Lanes};

/// Rows and columns of a tile.
pub const ROWS: usize = 8;
/// Bytes of a row.
pub const ROW_BYTES: u64 = 16;
/// Lanes that hold a row.
const LANES_OF_ROW: usize = LANES / ROWS;

/// A tile by rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tile([[u16; ROWS]; ROWS]);

impl Tile {
    /// The tile that a word of each lane is.
    pub fn of(words: &Lanes) -> Tile {
        let mut tile = Tile::default();
        for (lane, word) in words.iter().enumerate() {
            let (row, column) = (lane / LANES_OF_ROW, lane % LANES_OF_ROW * 2);
            (tile.0[row][column], tile.0[row][column + 1]) = (*word as u16, (word >> 16) as u16);
        }
        tile
    }

    /// A word of each lane.
    pub fn words(self) -> Lanes {
        std::array::from_fn(|lane| {
            let (row, column) = (lane / LANES_OF_ROW, lane % LANES_OF_ROW * 2);
            u32::from(self.0[row][column]) | u32::from(self.0[row][column + 1]) << 16
        })
    }

    /// With rows and columns exchanged.
    pub fn transposed(self) -> Tile {
        Tile(std::array::from_fn(|row| std::array::from_fn(|column| self.0[column][row])))
    }

    /// The rows.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u16; ROWS]> {
        self.0.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_hold_two_neighbours_of_a_row() {
        let words: Lanes = std::array::from_fn(|lane| ((2 * lane as u32 + 1) << 16) | (2 * lane as u32));
        let tile = Tile::of(&words);
        assert_eq!(tile.words(), words);
        // Lane 5 holds columns 2 and 3 of row 1: of the transposed tile, rows 2 and 3 of column 1.
        assert_eq!(tile.transposed().words()[5], (25 << 16) | 17);
        assert_eq!(tile.transposed().transposed(), tile);
    }
}
