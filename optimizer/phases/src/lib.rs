//! The Ori phases, one family a file. Each is a function over one [`oriole_ir::Function`] that asks its context for
//! leave before each change; the table of `oriole-optimizer` says where it runs.
//!
//! **Invariant:** no phase imports a phase of another family; what two of them use is in `oriole-pass`.

pub mod analyze_control_flow;
pub mod back_copy;
pub mod branches;
pub mod commoning;
pub mod general_optimize;
pub mod hoist_common;
pub mod hoist_invariants;
pub mod linear_replacement;
pub mod live_dead;
pub mod loop_fusion;
pub mod loop_simplify;
pub mod movement;
pub mod pipelining;
pub mod predication;
pub mod reassociate;
pub mod remat;
pub mod share_addresses;
pub mod sink;
pub mod split_ranges;
pub mod strength_reduce;
pub mod switches;
pub mod unroll;
pub mod vectorization;
