//! The encoding table: a file of rows for each family.
//!
//! Which bits mean what was found by reading what ptxas makes and asking nvdisasm (CUDA 13.0 and 13.5) about words with
//! single bits changed; public assemblers (TuringAs, Mesa's NAK) know many of the base codes.

mod atomic;
mod barrier;
mod bulk;
mod control;
mod convert;
mod double;
mod float;
mod half;
mod half_ampere;
mod integer;
mod jump;
mod logic;
mod matrix;
mod matrix_widths;
mod memory;
mod minmax;
mod pack;
mod prelude;
mod special;
mod surface;
mod tensor_memory;
mod texture;
mod transfer;
mod uniform;
mod warp;
mod warpgroup;

#[cfg(test)]
mod tests;

use super::row::Row;

/// Every row.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    [
        integer::ROWS,
        logic::ROWS,
        jump::ROWS,
        jump::LATER,
        control::ROWS,
        barrier::ROWS,
        memory::ROWS,
        minmax::ROWS,
        special::ROWS,
        special::CS2UR,
        atomic::ROWS,
        atomic::SM80,
        atomic::SM90,
        atomic::SM100,
        atomic::SM100_FLOAT,
        atomic::RED90,
        atomic::RED100,
        transfer::ROWS,
        bulk::ROWS,
        bulk::OTHERS,
        bulk::MULTICAST90,
        bulk::MULTICAST100,
        uniform::ROWS,
        warp::ROWS,
        float::ROWS,
        double::ROWS,
        half::ROWS,
        half_ampere::ROWS,
        convert::ROWS,
        pack::ROWS,
        matrix::ROWS,
        warpgroup::ROWS,
        tensor_memory::ROWS,
        texture::TEX,
        texture::TLD,
        texture::TLD4,
        texture::TXD,
        texture::ROWS,
        surface::SULD,
        surface::SULD_P,
        surface::SUST,
        surface::SUST_P,
        surface::SURED,
        surface::SUATOM,
        surface::SUATOM_CAS,
        surface::SUATOM_CAS_80,
    ]
    .into_iter()
    .flatten()
}
