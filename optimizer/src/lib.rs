//! The Oriole optimizer: pipelines of the phases of ptxas and the passes of cicc, and what they are made of.

pub mod pipeline;

pub use oriole_pass::{analysis, engine, fold, pass, peephole, ssa};
pub use {oriole_codegen as codegen, oriole_passes as passes, oriole_phases as phases};
