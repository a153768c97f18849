//! DoSwitchOptFirst: chains of comparisons become switches, and switches that are not worth a table become comparisons.
//!
//! The documents say no more than that the phase precedes the first liveness pass, which removes the cases that
//! simplified switches leave dead (`spec/liveness-and-dce.txt`, "Why Four Instances").
//!
//! 1. A chain of branches on whether one value is this constant or that (`chains.rs`) becomes a branch table behind a
//!    check of the bounds where the constants are many and dense, else a balanced tree of comparisons where they are
//!    many (`build.rs`).
//! 2. A table loses the entries that the range of its index does not reach, and one with a few stretches of equal
//!    targets becomes comparisons (`tables.rs`).
//!
//! How many are enough is up to the knobs `SwitchOptTableCases`, `SwitchOptTableDensity`, `SwitchOptTreeCases` and
//! `SwitchOptFewTargets`.
//!
//! Cost: near-linear, as that of ranges.

mod build;
mod chains;
mod tables;

use oriole_ir::Function;
use oriole_ir::ops::Opcode;
use oriole_pass::analysis::AnalysisSet;
use oriole_pass::pass::{Changed, PhaseContext};

/// DoSwitchOptFirst.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let mut changed = chains::run(func, cx);
    if changed.is_yes() {
        cx.analyses.retain(AnalysisSet::NONE);
    }
    let is_table =
        |block: &oriole_ir::Block| func.terminator(*block).is_some_and(|inst| func.inst(inst).opcode == Opcode::Brx);
    if func.layout().iter().any(is_table) {
        changed |= tables::run(func, cx);
    }
    if !changed.is_yes() {
        cx.preserve(AnalysisSet::ALL);
    }
    changed
}
