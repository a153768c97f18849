//! Matrices of which each lane of a warp holds a part, and what is computed of them.
//!
//! PTX ISA 9.0, "Warp Level Matrix Instructions". [`layout`] says which element of a matrix is where, `product`
//! multiplies, [`quarters`] for each quarter of the lanes, `sparse` says which elements a sparse matrix has,
//! [`resolve`] which product an instruction is. [`factor`] and [`descriptor`] read factors in shared memory.

pub mod descriptor;
pub mod factor;
pub mod layout;
mod product;
pub mod quarters;
pub mod resolve;
mod sparse;

use crate::lanes::{LANES, Word};

pub use product::{COLUMNS, Factors, Product, Sum, Tiles, multiply};
pub use sparse::Choice;

/// The most words of a lane that an instruction reads: those of `mma.m16n8k16` with f64.
pub const MOST_SOURCES: usize = 32;
/// The most words of a lane that one writes.
pub const MOST_RESULTS: usize = 8;
/// The words of all lanes that an instruction reads, where they are, and a bit a lane for those that are undefined.
#[derive(Clone)]
pub struct Sources<'a> {
    /// By the number of the word: the value of each lane.
    pub values: [&'a Word; MOST_SOURCES],
    /// By the number of the word: a bit for each lane.
    pub undefined: [u32; MOST_SOURCES],
}

impl Default for Sources<'_> {
    fn default() -> Self {
        Sources { values: [&[0; LANES]; MOST_SOURCES], undefined: [0; MOST_SOURCES] }
    }
}

/// The words of all lanes that it writes, in the same way.
#[derive(Clone, Default)]
pub struct Results {
    /// By the number of the word: the value of each lane.
    pub values: [Word; MOST_RESULTS],
    /// By the number of the word: a bit for each lane.
    pub undefined: [u32; MOST_RESULTS],
}
