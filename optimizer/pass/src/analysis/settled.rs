//! Work that is known to find nothing to change in a function as it is.
//!
//! Bundles repeat their steps until nothing changes, and pipelines repeat bundles, so most runs of a step look at a
//! function that the same step has just left alone. A step that found nothing is remembered beside the analyses, and
//! forgotten with the first change ([`super::Analyses::retain`]).

/// A step that passes repeat. It must depend on nothing but the function, the target, the knobs and the rules of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RepeatedWork {
    /// OriCopyProp of the early bundles.
    CopyPropagation,
    /// OriCopyProp of the late bundles.
    LateCopyPropagation,
    /// Constant folding and rewrite rules.
    Simplification,
    /// EarlyOriSimpleLiveDead: definitions that nothing reads.
    UnreadCode,
    /// OriPerformLiveDead.
    DeadCode,
    /// OriCommoning and LateOriCommoning.
    Commoning,
}

/// A set of such work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Settled(u8);

impl Settled {
    pub(super) fn contains(self, work: RepeatedWork) -> bool {
        self.0 >> work as u8 & 1 == 1
    }

    pub(super) fn insert(&mut self, work: RepeatedWork) {
        self.0 |= 1 << work as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Analyses, AnalysisId, AnalysisSet, Cfg, Definitions, ModuleAnalyses};
    use super::*;
    use oriole_ir::{FuncId, parse_function};

    #[test]
    fn work_is_settled_until_anything_changes() {
        let mut analyses = Analyses::<oriole_ir::Function>::default();
        analyses.settle(RepeatedWork::Simplification);
        assert!(analyses.is_settled(RepeatedWork::Simplification) && !analyses.is_settled(RepeatedWork::DeadCode));
        analyses.retain(AnalysisSet::ALL);
        assert!(!analyses.is_settled(RepeatedWork::Simplification), "rules look at what no analysis does");
    }

    #[test]
    fn other_numbers_of_instructions_leave_the_graph_alone() {
        let func =
            parse_function("device @f ssa {\nbb0:\n  %r1 = mov.b32 1\n  ret\n}\n").expect("the text is a function");
        let (mut analyses, id) = (ModuleAnalyses::default(), FuncId::from_u32(0));
        analyses.of(id).get::<Cfg>(&func);
        analyses.of(id).get::<Definitions>(&func);
        analyses.renumbered(id);
        assert!(analyses.of(id).has(AnalysisId::Cfg) && !analyses.of(id).has(AnalysisId::Definitions));
    }
}
