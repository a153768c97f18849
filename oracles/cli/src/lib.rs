//! What the command and the benchmarks have in common.

pub mod allocator;
