//! Pipelines as data: phases of ptxas, passes of cicc, their order and their options; and the runner.
//!
//! Every fact about a phase, a pass, an ordering constraint, a gate or an option is one row of one static table. The
//! runner, the text of pipelines, the command line, the listings and the tests derive from the rows; nothing else
//! lists passes.

mod choice;
mod cicc_table;
mod claim;
pub mod constraints;
pub mod gates;
#[cfg(test)]
mod nest_tests;
pub mod nvopt;
mod on_function;
mod report;
pub mod runner;
#[cfg(test)]
mod runner_tests;
mod sequence;
pub mod split;
pub mod table;
pub mod text;
mod throttle;
mod units;
pub mod workers;

pub use sequence::Pipeline;
