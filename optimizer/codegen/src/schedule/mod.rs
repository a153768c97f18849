//! Scheduling: the order of instructions, and what the machine is told of their time.

pub mod after;
pub mod before;
pub mod control;
mod dag;
pub mod latency;
mod list;
mod live;
pub mod reuse;
mod sets;
pub mod uninitialized;
