//! The Oriole optimizer: the Ori intermediate representation, its PTX front end, and the phases that rewrite it.

pub mod analysis;
pub mod ir;
pub mod ops;
pub mod peephole;
pub mod phases;
pub mod pipeline;
mod place;
pub mod ptx;
pub mod ssa;
pub mod target;
pub mod verify;
