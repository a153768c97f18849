//! Facts about a function by their definitions: the slow reference implementations of the optimizer's analyses.
//!
//! Nothing here uses the optimizer's `analysis`: a graph is read from the terminators ([`Graph`]), a block dominates
//! another when removing it cuts that one off ([`Dominance`]), and a register is live where some path leads to a read
//! that nothing overwrites before ([`LiveRegisters`]), which its kill markers say too ([`marked`]), and defined where
//! some path leads there from a definition ([`DefinedRegisters`]). `oriole-check` holds the optimizer's answers
//! against these.
//!
//! A block post-dominates another when removing it cuts that one off from the exit ([`PostDominance`]), loops are
//! largest sets of blocks that lead to each other ([`loops`]), calls are closed over every function in the middle
//! ([`Calls`]), and what varies between threads is found for each group of threads by itself ([`Varying`]). What an
//! access depends on is what all ways to it come by last ([`Memory`]), and so is what a read sees of a register
//! ([`seen`]). What bits and ranges are known of values must hold for those that registers take in runs ([`Taken`]).
//! Whether registers of the machine hold what was read before allocation, [`allocation::check`] says, and whether
//! blocks that were put in order do what they did, [`layout::check`]; of the instructions in them [`order::check`].
//!
//! Cost: quadratic in blocks for dominance, registers times edges for liveness. Meant for small functions.

pub mod allocation;
mod calls;
mod defined;
mod divergence;
mod dominance;
pub mod equations;
mod graph;
pub mod layout;
pub mod live;
pub mod marked;
mod memory;
mod nest;
pub mod order;
mod pointers;
mod post_dominance;
mod reaching;
mod taken;

pub use calls::Calls;
pub use defined::DefinedRegisters;
pub use divergence::{Group, Varying};
pub use dominance::Dominance;
pub use graph::Graph;
pub use live::LiveRegisters;
pub use memory::{Memory, Reached};
pub use nest::{NestedLoop, loops};
pub use post_dominance::PostDominance;
pub use reaching::{Seen, seen};
pub use taken::{Effort, Meaning, Taken, can_run};
