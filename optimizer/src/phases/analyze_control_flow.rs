//! AnalyzeControlFlow (phase 3): removes the blocks that control cannot reach.
//!
//! Later phases need not look at these blocks then. The analyses themselves are computed when a phase first asks for
//! them ([`crate::analysis::Analyses`]). Branches stay as they are: folding them is the work of the bundles.
//!
//! Cost: linear in blocks and edges.

use crate::edit::graph::drop_unreachable;
use crate::pass::{Changed, PhaseContext};
use oriole_ir::Function;

/// The phase.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get(func);
    drop_unreachable(func, cx, &cfg)
}
