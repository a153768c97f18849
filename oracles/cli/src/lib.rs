//! Code that the command and the benchmarks share.

pub mod allocator;
