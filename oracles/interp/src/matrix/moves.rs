//! `movmatrix`, `ldmatrix`, `stmatrix`: matrices of 8 by 8 elements of 16 bits, a word a lane.

use super::Addresses;
use crate::access::{Fault, Spaces, from_generic};
use crate::outcome::Cause;
use crate::program::Memory;
use oriole_semantics::lanes::{LANES, Word};
use oriole_semantics::matrix::layout::half_of_rows;
use oriole_semantics::matrix::{Results, Sources};

/// Rows and columns of a matrix.
pub const ROWS: usize = 8;
/// Bytes of a row.
const ROW_BYTES: u64 = 16;

/// A matrix by rows: elements, and which are undefined.
#[derive(Clone, Copy, Default)]
struct Tile([[(u16, bool); ROWS]; ROWS]);

impl Tile {
    fn of(word: &Word, undefined: u32) -> Tile {
        let mut tile = Tile::default();
        for (lane, word) in word.iter().enumerate() {
            for half in 0..2 {
                let (row, column) = half_of_rows(lane, half);
                tile.0[row][column] = ((word >> (16 * half)) as u16, undefined >> lane & 1 == 1);
            }
        }
        tile
    }

    fn transposed(self) -> Tile {
        Tile(std::array::from_fn(|row| std::array::from_fn(|column| self.0[column][row])))
    }

    fn transposed_if(self, condition: bool) -> Tile {
        if condition { self.transposed() } else { self }
    }

    /// The lanes' words, and which are undefined.
    fn words(self) -> (Word, u32) {
        let (mut word, mut undefined) = ([0; LANES], 0);
        for (lane, word) in word.iter_mut().enumerate() {
            for half in 0..2 {
                let (row, column) = half_of_rows(lane, half);
                let (value, unknown) = self.0[row][column];
                *word |= u32::from(value) << (16 * half);
                undefined |= u32::from(unknown) << lane;
            }
        }
        (word, undefined)
    }
}

pub fn transpose(sources: &Sources<'_>, results: &mut Results) {
    let tile = Tile::of(sources.values[0], sources.undefined[0]);
    (results.values[0], results.undefined[0]) = tile.transposed().words();
}

/// Loads `count` matrices; row `r` of matrix `m` stands where lane `8 * m + r` says.
pub fn load(
    spaces: &mut Spaces<'_>,
    memory: Memory,
    addresses: &Addresses,
    count: usize,
    transposed: bool,
    results: &mut Results,
) -> Result<(), Fault> {
    for matrix in 0..count {
        let mut tile = Tile::default();
        for (row, elements) in tile.0.iter_mut().enumerate() {
            let lane = ROWS * matrix + row;
            let address = shared(memory, addresses[lane], lane)?;
            *elements = spaces.read_halves(Memory::Shared, address, lane)?;
        }
        (results.values[matrix], results.undefined[matrix]) = tile.transposed_if(transposed).words();
    }
    Ok(())
}

/// Stores them.
pub fn store(
    spaces: &mut Spaces<'_>,
    memory: Memory,
    addresses: &Addresses,
    count: usize,
    transposed: bool,
    sources: &Sources<'_>,
) -> Result<(), Fault> {
    for matrix in 0..count {
        let tile = Tile::of(sources.values[matrix], sources.undefined[matrix]).transposed_if(transposed);
        for (row, elements) in tile.0.iter().enumerate() {
            let lane = ROWS * matrix + row;
            let address = shared(memory, addresses[lane], lane)?;
            spaces.write_halves(Memory::Shared, address, lane, elements)?;
        }
    }
    Ok(())
}

/// The address in shared memory, where alone matrices are.
fn shared(memory: Memory, address: u64, lane: usize) -> Result<u64, Fault> {
    let (memory, offset) = if memory == Memory::Generic { from_generic(address) } else { (memory, address) };
    if memory == Memory::Shared {
        return Ok(offset);
    }
    let near = "matrices are in shared memory".to_owned();
    let cause = Cause::OutOfBounds { space: "shared", address, bytes: ROW_BYTES as u32, near };
    Err(Fault::Trap(lane, cause))
}
