//! The interface of a pass: the function or module at hand, knobs, the target, the rewrite budget, and analyses.
//!
//! Phases and passes import this folder; the tables, the runner and the text form of pipelines of `oriole-optimizer`
//! import both. Nothing here knows which passes there are.

mod budget;
mod context;
mod element;
pub mod knobs;
mod objection;
mod option_rows;
pub mod options;
mod progress;
mod refusal;
mod row;
mod run;
mod source;
pub mod suggest;

pub use budget::{Endless, Rewrite, RewriteBudget};
pub use context::{Changed, ModuleContext, PhaseContext, Statistics, SubPasses};
pub use context::{Setting, align};
pub use element::{Argument, Element, PassId, split_instance};
pub use knobs::{Knob, Knobs};
pub use objection::Objection;
pub use options::{PassOption, PassOptions};
pub use progress::Progress;
pub use refusal::Refusal;
pub use row::{COLUMN_TITLES, Needs, Parameter, Row, SecondRun, Stage, Status};
pub use run::{ComponentFn, FunctionFn, LoopFn, ModuleFn, PhaseFn, Run, Unit, Work};
pub use source::{Page, Source};
