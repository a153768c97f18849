//! The order of code generation, sub_12DFE00 (lines 1018 to 1069): what a pass needs runs before it.
//!
//! cicc asks each pass which analyses it requires. Here analyses are computed on demand, so what a phase needs of
//! another is a [`Constraint`]. Up to level 1 the order is that of the table; above it is topological, and of those
//! that could be next, the first of the table is.

use crate::pipeline::constraints::Constraint;
use crate::pipeline::table::Phase;

/// Phases in the order of code generation.
///
/// # Panics
///
/// The constraints go in a circle.
pub fn order(phases: &[Phase], constraints: &[Constraint], level: i64) -> Vec<Phase> {
    if level <= 1 {
        return phases.to_vec();
    }
    let (mut left, mut ordered) = (phases.to_vec(), Vec::with_capacity(phases.len()));
    while !left.is_empty() {
        let waits = |phase: &Phase| constraints.iter().any(|one| one.after == *phase && left.contains(&one.before));
        let next = left.iter().position(|phase| !waits(phase)).expect("constraints never go in a circle");
        ordered.push(left.remove(next));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::constraints::CONSTRAINTS;
    use oriole_pass::pass::Page;

    #[test]
    fn the_table_is_in_the_order_of_code_generation() {
        for level in 0..=3 {
            assert_eq!(order(Phase::ALL, CONSTRAINTS, level), Phase::ALL, "level {level}");
        }
    }

    #[test]
    fn what_is_needed_comes_first_and_ties_go_by_the_table() {
        use Phase::{AnalyzeControlFlow, GeneralOptimize, GvnCse, OriBranchOpt};
        let phases = [GvnCse, OriBranchOpt, AnalyzeControlFlow, GeneralOptimize];
        let needs = |before, after| Constraint { before, after, reason: "a test", page: Page::PassPipeline };
        let constraints = [needs(AnalyzeControlFlow, GvnCse), needs(GeneralOptimize, AnalyzeControlFlow)];
        let ordered = order(&phases, &constraints, 2);
        assert_eq!(ordered, [OriBranchOpt, GeneralOptimize, AnalyzeControlFlow, GvnCse]);
        assert_eq!(order(&phases, &constraints, 1), phases, "fixed where nothing is optimized");
    }
}
