//! The passes of cicc, one family a file; the table in [`crate::pipeline::table`] names them.

pub mod inline;
pub mod rotate;
pub mod sroa;
pub mod unswitch;
