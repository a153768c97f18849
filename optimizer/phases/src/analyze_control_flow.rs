//! AnalyzeControlFlow (phase 3): removes the blocks that control cannot reach.
//!
//! Later phases need not look at these blocks then. The analyses themselves are computed when a phase first asks for
//! them ([`oriole_pass::analysis::Analyses`]). Branches stay as they are: folding them is the work of the bundles.
//!
//! Cost: linear in blocks and edges.

use oriole_ir::Function;
use oriole_pass::edit::graph::drop_unreachable;
use oriole_pass::pass::{Changed, PhaseContext};

/// The phase.
pub fn run(func: &mut Function, cx: &mut PhaseContext<'_>) -> Changed {
    let cfg = cx.analyses.get(func);
    drop_unreachable(func, cx, &cfg)
}
