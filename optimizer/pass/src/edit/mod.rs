//! Edits of a function that several passes make: edges with their phis, copies of blocks, and instructions that become
//! copies of values.

pub mod copied;
pub mod graph;
pub mod meeting;
pub mod values;
