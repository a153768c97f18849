//! Facts about a function. Analyses read and never change it; a result describes the function as it was then.

pub mod bitset;
mod call_graph;
mod cfg;
mod components;
mod definitions;
pub mod dense_liveness;
mod divergence;
mod dominator_tree;
mod dominators;
mod known_bits;
mod launch;
mod list;
mod live_scan;
mod live_walk;
mod live_words;
mod liveness;
mod loops;
mod manager;
pub mod memory;
mod post_dominators;
mod pressure;
mod ranges;
mod reaching;
mod settled;
mod sweeps;
#[cfg(test)]
pub(crate) mod testing;

pub use call_graph::CallGraph;
pub use cfg::Cfg;
pub use definitions::{Definitions, Uses};
pub use dense_liveness::DenseLiveness;
pub use divergence::{Divergence, Uniformity};
pub use dominators::{Dominators, Frontiers};
pub use known_bits::{BitMemo, Bits, KnownBits};
pub use list::{Analysis, AnalysisId, AnalysisSet};
pub use live_walk::LiveWalk;
pub use live_words::LiveWords;
pub use liveness::{LiveSet, Liveness};
pub use loops::{Loop, LoopNest};
pub use manager::{Analyses, ModuleAnalyses};
pub use memory::{MemorySsa, MemoryState, StoredValues};
pub use post_dominators::{ControlDependences, PostDominators};
pub use pressure::{Pressure, Words};
pub use ranges::{Range, RangeContext, Ranges};
pub use reaching::{Definition, ReachingDefinitions};
pub use settled::RepeatedWork;
