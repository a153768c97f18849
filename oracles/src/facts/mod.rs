//! Facts about a function by their definitions: the slow twins of the optimizer's analyses.
//!
//! Nothing here uses the optimizer's `analysis`: a graph is read from the terminators ([`Graph`]), a block dominates another
//! when removing it cuts that one off ([`Dominance`]), and a register is live where some path leads to a read that
//! nothing overwrites before ([`LiveRegisters`]). [`compare`] holds the optimizer's answers against these.
//!
//! The optimizer has no post-dominators and no divergence analysis yet; when it gets them, their definitions go here.
//!
//! Cost: quadratic in blocks for dominance, registers times edges for liveness. Meant for small functions.

mod compare;
mod dominance;
mod equations;
mod graph;
mod live;

pub use compare::{Disagreement, compare};
pub use dominance::Dominance;
pub use graph::Graph;
pub use live::LiveRegisters;
