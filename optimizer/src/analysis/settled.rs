//! Work that is known to find nothing to change in a function as it is.
//!
//! Bundles repeat their steps until nothing changes, and pipelines repeat bundles, so most runs of a step look at a
//! function that the same step has just left alone. A step that found nothing is remembered beside the analyses, and
//! forgotten with the first change ([`super::Analyses::retain`]).

/// A step that passes repeat. It must depend on nothing but the function, the target, the knobs and the rules of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Work {
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
}

/// A set of such work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Settled(u8);

impl Settled {
    pub(super) fn contains(self, work: Work) -> bool {
        self.0 >> work as u8 & 1 == 1
    }

    pub(super) fn insert(&mut self, work: Work) {
        self.0 |= 1 << work as u8;
    }
}
