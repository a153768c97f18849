//! The interface of a pass: the function or module at hand, knobs, the target, the rewrite budget, and analyses.
//!
//! Phases and passes import this folder; the tables, the runner and the text form of pipelines ([`crate::pipeline`])
//! import both. Nothing here knows which passes there are.

mod budget;
mod context;
pub mod knobs;
mod progress;
mod row;
mod run;
pub(crate) mod suggest;

pub use budget::{Endless, Rewrite, RewriteBudget};
pub(crate) use context::Setting;
pub use context::{Changed, ModuleContext, PhaseContext, Statistics, SubPasses};
pub use knobs::{Knob, Knobs};
pub use progress::Progress;
pub use row::{COLUMN_TITLES, Needs, Pass, SecondRun, Stage, Status};
pub use run::{ComponentFn, FunctionFn, LoopFn, ModuleFn, PhaseFn, Run, Unit, Work};

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
