//! The Oriole optimizer: analyses, SSA construction and destruction, and the phases that rewrite programs.

pub mod analysis;
mod edit;
pub mod fold;
pub mod pass;
pub mod passes;
pub mod peephole;
pub mod phases;
pub mod pipeline;
pub mod ssa;
