//! Passes over code of the machine.

pub mod peephole;
