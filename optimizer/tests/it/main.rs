//! The optimizer: goldens, documents, tables, rules, machine code.
//!
//! One program: linking one is faster than linking many, and its tests fill the processors to the end.

mod barriers;
mod benches;
mod common;
mod documents;
mod golden;
mod gvn;
mod ipmsp;
mod kernels;
mod machine;
mod opaque;
mod ptx_corpus;
mod ptx_table;
mod random;
mod reassociate;
mod rules;
mod split_ranges;
mod substitution;
mod warp_liveness;
