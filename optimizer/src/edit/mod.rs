//! Edits of a function that several passes make: edges with their phis, and copies of blocks.

pub(crate) mod copied;
pub(crate) mod graph;
