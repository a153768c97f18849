//! The Ori phases, one family a file. Each is a function over one [`oriole_ir::Function`] that asks its context for
//! leave before each change; the table in [`crate::pipeline::table`] says where it runs.

pub mod analyze_control_flow;
pub mod back_copy;
pub mod branches;
pub mod commoning;
pub mod copy_prop;
mod edge_facts;
pub mod general_optimize;
pub mod hoist_common;
pub mod hoist_invariants;
pub mod live_dead;
pub mod loop_fusion;
pub mod loop_simplify;
mod loop_tests;
pub mod predication;
pub mod reassociate;
mod room;
mod rounds;
pub mod share_addresses;
pub mod simplify;
pub mod sink;
pub mod split_ranges;
pub mod strength_reduce;
pub mod switches;
#[cfg(test)]
mod tests;
mod touched;
pub mod unroll;
pub(crate) mod values;
