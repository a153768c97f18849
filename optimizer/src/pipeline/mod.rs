//! What the pipeline is made of, as data: phases, their order, knobs and pass options.
//!
//! Every fact about a phase, an ordering constraint, a knob or an option is one row of one static table. The
//! runner, the command line, the listings and the tests derive from the rows; nothing else lists phases or knobs.

pub mod constraints;
pub mod context;
mod knob_rows;
pub mod knobs;
mod option_rows;
pub mod options;
pub mod runner;
#[cfg(test)]
mod runner_tests;
mod suggest;
pub mod table;

use std::fmt;

/// The page of `spec/` that a row of a table comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Page {
    /// `spec/copy-propagation-and-cse.txt`.
    CopyPropagation,
    /// `spec/instruction-movement.txt`.
    InstructionMovement,
    /// `spec/liveness-and-dce.txt`.
    Liveness,
    /// `spec/pass-pipeline.txt`.
    PassPipeline,
    /// `spec/peephole.txt`.
    Peephole,
    /// None of them: the documents describe the step but do not spell its name, which is the one that ptxas
    /// itself prints.
    Customary,
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Page::CopyPropagation => "copy-propagation-and-cse",
            Page::InstructionMovement => "instruction-movement",
            Page::Liveness => "liveness-and-dce",
            Page::PassPipeline => "pass-pipeline",
            Page::Peephole => "peephole",
            Page::Customary => "customary",
        })
    }
}
