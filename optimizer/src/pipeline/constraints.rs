//! Why the phases are in the order they do: one row for each statement of `spec/` that one phase precedes another.
//!
//! A test holds the table against every row, so moving a phase past something it depends on fails with the reason.

use super::table::Phase;
use Page::{CopyPropagation, InstructionMovement, Liveness};
use Phase::*;
use oriole_pass::pass::Page;

/// One reason why a phase precedes another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constraint {
    /// Runs first.
    pub before: Phase,
    /// Runs later, not necessarily next.
    pub after: Phase,
    /// What would be lost or wrong the other way round.
    pub reason: &'static str,
    /// The document that says so.
    pub page: Page,
}

const fn order(before: Phase, after: Phase, page: Page, reason: &'static str) -> Constraint {
    Constraint { before, after, reason, page }
}

/// Every ordering constraint, grouped by document.
#[rustfmt::skip]
pub static CONSTRAINTS: &[Constraint] = &[
    order(AnalyzeControlFlow, GvnCse, CopyPropagation, "value numbering walks the dominator tree"),
    order(AnalyzeUniformsForSpeculation, GvnCse, CopyPropagation, "value numbering asks which constant-bank reads may be speculated"),
    order(MidExpansion, GvnCse, CopyPropagation, "value numbering wants the program as normalized as it will be"),
    order(GeneralOptimizeMid2, EnforceArgumentRestrictions, CopyPropagation, "the bundle cleans up before the calling convention adds copies"),
    order(EnforceArgumentRestrictions, GvnCse, CopyPropagation, "copies inserted for the calling convention are values to number"),
    order(GvnCse, OriReassociateAndCommon, CopyPropagation, "reassociation catches only what value numbering missed"),
    order(OriReassociateAndCommon, ExtractShaderConstsFinal, CopyPropagation, "constants are extracted from expressions in canonical form"),
    order(ExtractShaderConstsFinal, GeneralOptimizeLate, CopyPropagation, "computations replaced by constant loads are dead until the bundle runs"),
    order(LateExpansion, GeneralOptimizeLate, CopyPropagation, "the bundle cleans up after the expansions"),
    order(OriDoPredication, LateOriCommoning, CopyPropagation, "if-conversion makes the redundancies that late commoning removes"),
    order(LateOriCommoning, GeneralOptimizeLate2, CopyPropagation, "the last bundle propagates the copies that commoning leaves"),
    order(GeneralOptimizeLate2, OriBackCopyPropagate, CopyPropagation, "backward propagation takes the copies that forward propagation cannot see"),
    order(OriHoistInvariantsLate, OriBackCopyPropagate, CopyPropagation, "hoisting inserts copies that backward propagation removes"),
    order(DoTexMovement, OriBackCopyPropagate, CopyPropagation, "movement inserts copies that backward propagation removes"),
    order(OriDoRemat, OriBackCopyPropagate, CopyPropagation, "rematerialization inserts copies that backward propagation removes"),
    order(AdvancedPhaseBackPropVReg, OriBackCopyPropagate, CopyPropagation, "the hook decides whether and how the target propagates backward"),
    order(LateArchOptimizeFirst, OriBackCopyPropagate, CopyPropagation, "late peepholes insert copies that backward propagation removes"),
    order(OriBackCopyPropagate, OriSetRegisterAttr, CopyPropagation, "attributes belong to the registers that are left after renaming"),
    order(OriBackCopyPropagate, LateExpansionUnsupportedOps, CopyPropagation, "legalization may fix registers, which must not be renamed"),
    order(LateExpansionUnsupportedOps, SetAfterLegalization, CopyPropagation, "the mark stands behind what it says"),
    order(SetAfterLegalization, AdvancedPhasePreSched, CopyPropagation, "the scheduler relaxes operands by the counter that the mark advances"),
    order(OriBackCopyPropagate, OriPerformLiveDeadFourth, CopyPropagation, "what backward propagation leaves dead must not reach allocation"),
    order(OriBackCopyPropagate, SetAfterLegalization, CopyPropagation, "renaming after legalization would break fixed register assignments"),
    order(OriPerformLiveDeadFourth, AdvancedPhaseAllocReg, CopyPropagation, "every dead value would be one live range more to allocate"),
    order(SetAfterLegalization, AdvancedPhaseAllocReg, CopyPropagation, "allocation sees only operands that the target accepts"),
    order(ReportInitialRepresentation, EarlyOriSimpleLiveDead, Liveness, "the report shows the program as lowered, dead code included"),
    order(EarlyOriSimpleLiveDead, GeneralOptimizeEarly, Liveness, "dead leftovers of lowering would be work for every later phase"),
    order(DoSwitchOptFirst, OriPerformLiveDeadFirst, Liveness, "simplified switches leave dead cases"),
    order(OriBranchOpt, OriPerformLiveDeadFirst, Liveness, "simplified branches leave dead code"),
    order(OriPerformLiveDeadFirst, OriSplitLiveRanges, Liveness, "dead values must not be split"),
    order(OriLoopSimplification, OriSplitLiveRanges, Liveness, "ranges are split at the boundaries of canonical loops"),
    order(GeneralOptimize, OriPerformLiveDeadSecond, Liveness, "folding leaves redundant computations"),
    order(OriLoopUnrolling, OriPerformLiveDeadSecond, Liveness, "unrolling leaves dead induction variables"),
    order(OriPipelining, OriPerformLiveDeadSecond, Liveness, "pipelining leaves dead prologue values"),
    order(OriStrengthReduce, OriPerformLiveDeadSecond, Liveness, "strength reduction leaves the old induction expressions"),
    order(GeneralOptimizeLate, OriPerformLiveDeadThird, Liveness, "the bundle leaves dead code to the liveness pass"),
    order(OriLoopFusion, OriPerformLiveDeadThird, Liveness, "fusion leaves a dead loop counter"),
    order(DoVTGMultiViewExpansion, OriPerformLiveDeadThird, Liveness, "expansion leaves dead parts of macro instructions"),
    order(LateExpansion, OriPerformLiveDeadThird, Liveness, "expansion leaves dead parts of macro instructions"),
    order(LateArchOptimizeSecond, OriPerformLiveDeadFourth, Liveness, "optimization for the architecture leaves dead copies"),
    order(AdvancedPhaseAllocReg, AdvancedPhasePostSched, Liveness, "the second schedule keeps live sets of allocated registers"),
    order(OriSplitLiveRanges, OriSplitHighPressureLiveRanges, Liveness, "the late split is the fallback of the early one"),
    order(SetAfterLegalization, OriSplitHighPressureLiveRanges, Liveness, "the fallback splits what is still too much after optimization and legalization"),
    order(Vectorization, OriDoPredication, InstructionMovement, "it selects vector candidates from before predication"),
    order(OriDoPredication, LateVectorization, InstructionMovement, "it selects vector candidates from after predication"),
    order(OriCommoning, LateOriCommoning, InstructionMovement, "the late instance takes what the first left"),
    order(OriHoistInvariantsEarly, OriHoistInvariantsLate, InstructionMovement, "the instances share one engine and run in this order, each for its class of loops"),
    order(OriHoistInvariantsLate, SinkCodeIntoBlock, InstructionMovement, "invariants leave their loop before the rest is sunk toward its use"),
    order(SinkCodeIntoBlock, DoKillMovement, InstructionMovement, "the movements see code where sinking left it"),
    order(OriHoistInvariantsLate, DoKillMovement, InstructionMovement, "the movements reuse the dataflow of the late hoist"),
    order(DoKillMovement, DoKillMovementUpward, InstructionMovement, "the upward pass settles what the downward one exposed"),
    order(DoKillMovementUpward, DoTexMovement, InstructionMovement, "kinds run in the order of their discriminator"),
    order(DoTexMovement, DoTexMovementUpward, InstructionMovement, "the upward pass settles what the first one exposed"),
    order(DoTexMovementUpward, OriDoRemat, InstructionMovement, "rematerialization chooses by the pressure after movement"),
    order(OriHoistInvariantsLate, OriHoistInvariantsLate2, InstructionMovement, "the instances share one engine and run in this order, each for its class of loops"),
    order(OriHoistInvariantsLate2, OriHoistInvariantsLate3, InstructionMovement, "the instances share one engine and run in this order, each for its class of loops"),
];

#[cfg(test)]
mod tests {
    use super::super::table::PHASES;
    use super::*;

    /// The position of a phase in the table, found by search so that the test does not trust the enum's order.
    fn position(phase: Phase) -> usize {
        let row = PHASES.iter().position(|r| r.name == format!("{phase:?}"));
        row.expect("every phase has a row")
    }

    fn violated(c: &&Constraint) -> bool {
        position(c.before) >= position(c.after)
    }

    #[test]
    fn the_table_satisfies_every_constraint() {
        let broken: Vec<String> = CONSTRAINTS
            .iter()
            .filter(violated)
            .map(|c| format!("{} must run before {}: {}", c.before, c.after, c.reason))
            .collect();
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    #[test]
    fn a_reversed_constraint_is_noticed() {
        for c in CONSTRAINTS {
            let reversed = order(c.after, c.before, c.page, c.reason);
            assert!(violated(&&reversed));
        }
    }

    #[test]
    fn no_constraint_is_stated_twice() {
        for (i, c) in CONSTRAINTS.iter().enumerate() {
            let again = |d: &Constraint| (d.before, d.after) == (c.before, c.after);
            assert!(!CONSTRAINTS[i + 1..].iter().any(again), "{} before {}", c.before, c.after);
        }
    }

    #[test]
    fn reasons_are_given() {
        for c in CONSTRAINTS {
            assert!(c.reason.len() > 20, "{} before {}", c.before, c.after);
        }
    }
}
