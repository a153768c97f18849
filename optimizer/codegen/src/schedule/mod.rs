//! Scheduling: the order of instructions, and what the machine is told of their time.

pub mod control;
pub mod latency;
