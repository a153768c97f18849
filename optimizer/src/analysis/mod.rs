//! Facts about a function. Analyses read and never change it; a result describes the function as it was then.

pub mod bitset;
mod cfg;
mod definitions;
mod dominators;
mod known_bits;
mod live_walk;
mod liveness;
#[cfg(test)]
pub(crate) mod testing;

pub use cfg::Cfg;
pub use definitions::{Definitions, Uses};
pub use dominators::{Dominators, Frontiers};
pub use known_bits::{KnownBits, known_bits};
pub use live_walk::LiveWalk;
pub use liveness::{LiveSet, Liveness};
