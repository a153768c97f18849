//! Everything that a phase of ptxas or a pass of cicc may use: analyses, SSA construction and destruction, folding,
//! rewrite rules, edits, shared engines, and the interface of a pass. Nothing here knows which passes there are.
//!
//! Rooms import downward: `engine`, `edit`, `pass`, `ssa` and `peephole`, `analysis` and `fold`.

pub mod analysis;
pub mod edit;
pub mod engine;
pub mod fold;
pub mod pass;
pub mod peephole;
pub mod ssa;
