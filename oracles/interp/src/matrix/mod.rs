//! Matrix instructions: what the 32 lanes of a warp compute together, each holding a part of every matrix.
//!
//! PTX ISA 9.0, "Warp Level Matrix Instructions". The engine executes one where all lanes are at it in one group;
//! lanes that come by different ways wait for each other as at a collective. [`moves`] loads, stores and transposes,
//! [`whole`] loads and stores for `wmma`; [`oriole_semantics::matrix`] says which element of a matrix is where, and
//! multiplies.
//!
//! A word that has undefined bits is undefined as a whole here.

mod moves;
#[cfg(test)]
mod product_tests;
#[cfg(test)]
mod sparse_tests;
#[cfg(test)]
mod tests;
mod whole;
#[cfg(test)]
mod whole_tests;

use super::access::{Fault, Spaces, address_of, address_undefined};
use super::frame::Frame;
use super::program::{Address, Memory, Slot};

use oriole_semantics::lanes::{LANES, lanes};
use oriole_semantics::matrix::{MOST_RESULTS, Product, Results, Sources, multiply};
pub use whole::{Fragment, Part};

/// Products of elements that take as long as one step. Measured 2026-11: 0.5 us for 2048 of f16.
pub const PRODUCTS_A_STEP: usize = 64;

/// What a matrix instruction does.
#[derive(Clone, Copy)]
pub enum MatrixOp {
    /// Exchanges rows and columns of one matrix.
    Transpose,
    /// Loads so many matrices, each with rows and columns exchanged or not.
    Load(usize, bool),
    /// Stores them.
    Store(usize, bool),
    /// Loads a matrix for `wmma`.
    LoadWhole(Fragment),
    /// Stores one of `wmma`.
    StoreWhole(Fragment),
    /// Multiplies and adds.
    Multiply(Product),
}

/// A matrix instruction: the words of its matrices in each lane, behind them its stride, and the lane's address.
#[derive(Clone)]
pub struct MatrixOps {
    pub op: MatrixOp,
    pub address: Option<Address>,
    pub srcs: Vec<Slot>,
    pub dsts: Vec<Slot>,
}

/// The addresses that the lanes give.
type Addresses = [u64; LANES];

/// Executes an instruction for all lanes of a warp. All sources are read before any result is written.
pub fn execute(frame: &mut Frame, spaces: &mut Spaces<'_>, ops: &MatrixOps) -> Result<(), Fault> {
    let sources = read(frame, &ops.srcs);
    match &ops.op {
        MatrixOp::Multiply(product) => {
            spaces.extra_steps += (product.products() / PRODUCTS_A_STEP) as u64;
            let results = &mut *spaces.results;
            results.undefined = [0; MOST_RESULTS];
            multiply(product, &sources, results);
            write(frame, &ops.dsts, results);
        }
        MatrixOp::Transpose => {
            let mut results = Results::default();
            moves::transpose(&sources, &mut results);
            write(frame, &ops.dsts, &results);
        }
        &MatrixOp::Load(count, transposed) => {
            let (memory, addresses) = addresses(frame, ops, count)?;
            let mut results = Results::default();
            moves::load(spaces, memory, &addresses, count, transposed, &mut results)?;
            write(frame, &ops.dsts, &results);
        }
        MatrixOp::LoadWhole(fragment) => {
            let at = whole::place(frame, ops, &sources, fragment)?;
            let mut results = Results::default();
            whole::load(spaces, at, fragment, &mut results)?;
            write(frame, &ops.dsts, &results);
        }
        &MatrixOp::Store(count, transposed) => {
            let (memory, addresses) = addresses(frame, ops, count)?;
            moves::store(spaces, memory, &addresses, count, transposed, &sources)?;
        }
        MatrixOp::StoreWhole(fragment) => {
            let at = whole::place(frame, ops, &sources, fragment)?;
            whole::store(spaces, at, fragment, &sources)?;
        }
    }
    Ok(())
}

#[inline(always)]
fn write(frame: &mut Frame, slots: &[Slot], results: &Results) {
    for (i, slot) in slots.iter().enumerate() {
        frame.set(*slot, &results.values[i], results.undefined[i], u32::MAX);
    }
}

fn read<'a>(frame: &'a Frame, slots: &[Slot]) -> Sources<'a> {
    let mut sources = Sources::default();
    for (i, slot) in slots.iter().enumerate() {
        sources.values[i] = &frame.words[*slot as usize];
        sources.undefined[i] = frame.undefined[*slot as usize];
    }
    sources
}

/// The addresses of the rows of so many matrices: eight lanes give those of one.
fn addresses(frame: &Frame, ops: &MatrixOps, count: usize) -> Result<(Memory, Addresses), Fault> {
    let Some(address) = &ops.address else { return Err(Fault::Undefined(0, "an address")) };
    let asked = u32::MAX >> (LANES - moves::ROWS * count);
    if let Some(lane) = lanes(address_undefined(frame, address) & asked).next() {
        return Err(Fault::Undefined(lane, "an address"));
    }
    Ok((address.memory, std::array::from_fn(|lane| address_of(frame, address, lane))))
}
