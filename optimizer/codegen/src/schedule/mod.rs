//! Scheduling: the order of instructions, and what the machine is told of their time.

pub mod control;
mod dag;
pub mod latency;
pub mod list;
