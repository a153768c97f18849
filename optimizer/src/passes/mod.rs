//! The passes of cicc, one family a file; the table in [`crate::pipeline::table`] names them.

pub mod adce;
pub mod addresses;
pub mod barriers;
pub mod bypass_division;
pub mod correlated;
pub mod critical_edges;
pub mod dse;
pub mod function_attrs;
pub mod inline;
pub mod lower_alloca;
pub mod memcpy;
pub mod memory_space;
pub mod predicates;
pub mod rotate;
pub mod sccp;
pub mod sroa;
pub mod tail_calls;
pub mod unswitch;
pub mod verification;
pub mod warp;
