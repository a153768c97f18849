//! The passes of cicc, one family a file; the table in [`crate::pipeline::table`] names them.

pub mod dse;
pub mod function_attrs;
pub mod inline;
pub mod lower_alloca;
pub mod memory_space;
pub mod rotate;
pub mod sroa;
pub mod unswitch;
