//! The reference interpreter: executes a kernel of Ori, at any level, on a launch.
//!
//! A module is decoded once ([`Executable::new`]) and run as often as wanted. Warps of 32 lanes execute together
//! over lane masks, diverge and reconverge (the group of lanes that is furthest back goes first), and wait for each
//! other at barriers and collectives. Every register word and memory byte carries whether anything has defined it.
//! The interpreter uses no evaluator and no analysis of the optimizer, since it judges them.

mod access;
mod asynchronous;
mod bulk;
mod cluster;
mod collective;
mod concretize;
mod decode;
mod engine;
mod external;
mod frame;
mod image;
#[cfg(test)]
mod lane_forms;
mod load;
mod machine;
mod matrix;
mod mbarrier;
mod memory;
mod multimem;
mod order;
mod outcome;
mod partial;
mod program;
mod race;
mod stretch;
mod strong;
mod tensor_map;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod transfer;
mod vector;
mod warp;
mod warpgroup;
mod words;

pub use cluster::ClusterShape;
pub use concretize::Concretization;
pub use decode::{DecodeError, DecodeFault, Part};
pub use engine::GRID_NUMBER;
pub use image::{HANDLE_WINDOW, ImageAccess, ImageKind, ImageLane, Images};
pub use load::{
    Bound, Executable, Executed, GlobalState, LoadError, PARAMETER_BANK, Placement, Race, RunOptions, RunResult,
    StoreRecord, TraceEvent,
};
pub use mbarrier::after_operation as after_barrier_operation;
pub use memory::{
    Bytes, CODE_WINDOW, CONST_WINDOW, GlobalMemory, HEAP, LOCAL_WINDOW, MULTICAST_WINDOW, PARAM_WINDOW, Region,
    SHARED_WINDOW, WINDOW, generic_window, may_be_address,
};
pub use order::{LaneOrder, Rank};
pub use outcome::{Cause, Outcome, Place, ThreadId, Waiter};
pub use strong::{Extent, MemoryOrder, Owner, Strong, StrongKind, StrongOperation, StrongSequence, StrongTrace};
