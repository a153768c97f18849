//! The encoding table: a file of rows for each family.
//!
//! Which bits mean what was found by reading what ptxas makes and asking nvdisasm (CUDA 13.0 and 13.5) about words with
//! single bits changed; public assemblers (TuringAs, Mesa's NAK) know many of the base codes.

mod convert;
mod double;
mod float;
mod half;
mod half_ampere;
mod integer;
mod logic;
mod pack;
mod prelude;

use super::row::Row;

/// Every row.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    [integer::ROWS, logic::ROWS, float::ROWS, double::ROWS, half::ROWS, half_ampere::ROWS, convert::ROWS, pack::ROWS]
        .into_iter()
        .flatten()
}
