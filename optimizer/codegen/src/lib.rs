//! Code of the machine: selection, allocation, scheduling, and passes over it.

pub mod allocate;
pub mod compile;
pub mod expand;
pub mod layout;
pub mod macros;
pub mod peephole;
pub mod schedule;
pub mod select;
pub mod sequences;
#[cfg(test)]
mod sketch;
pub mod slot;
