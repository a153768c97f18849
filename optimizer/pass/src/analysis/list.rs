//! Which analyses can be kept, what each builds on, and sets of them.
//!
//! An analysis is an impl of [`Analysis`] and a line in the list of [`AnalysisId`]. The list is what rows can name.

use std::fmt;

use super::manager::Analyses;
use super::{
    Addresses, BranchRanges, CallGraph, Cfg, Definitions, Divergence, Dominators, FunctionEffects, KnownBits, Liveness,
    LoopNest, MemorySsa, PostDominators, RangeContext, Ranges, StoredValues, Uses,
};
use oriole_ir::{Function, Module};

/// Facts that can be kept: a pure function of what they are about.
pub trait Analysis: PartialEq + Clone + Send + Sync + 'static {
    /// What the facts are about: a [`Function`] or a [`Module`].
    type Of;

    /// Its name in sets.
    const ID: AnalysisId;

    /// Computes the facts; those that it builds on come from the cache.
    fn compute(of: &Self::Of, analyses: &mut Analyses<Self::Of>) -> Self;
}

macro_rules! analyses {
    (
        functions { $($(#[doc = $doc:literal])+ $name:ident;)+ }
        modules { $($(#[doc = $whole_doc:literal])+ $whole:ident;)+ }
    ) => {
        /// Every analysis that can be kept.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum AnalysisId {
            $($(#[doc = $doc])+ $name,)+
            $($(#[doc = $whole_doc])+ $whole,)+
        }

        impl AnalysisId {
            /// Every analysis, in the order of the list.
            pub const ALL: &'static [AnalysisId] = &[$(AnalysisId::$name,)+ $(AnalysisId::$whole,)+];

            /// Its name in messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(AnalysisId::$name => concat!($($doc),+).trim_ascii(),)+
                    $(AnalysisId::$whole => concat!($($whole_doc),+).trim_ascii(),)+
                }
            }

            /// Whether the analysis says the same of two states of a function, computed anew for both; true for one
            /// about modules.
            fn agrees(self, before: &Function, after: &Function) -> bool {
                match self {
                    $(AnalysisId::$name => anew::<$name>(before) == anew::<$name>(after),)+
                    $(AnalysisId::$whole => true,)+
                }
            }

            /// The same for two states of a module; true for an analysis about functions.
            fn agrees_on_module(self, before: &Module, after: &Module) -> bool {
                match self {
                    $(AnalysisId::$name => true,)+
                    $(AnalysisId::$whole => anew::<$whole>(before) == anew::<$whole>(after),)+
                }
            }
        }
    };
}

analyses! {
    functions {
        /// control-flow graph
        Cfg;
        /// dominators
        Dominators;
        /// post-dominators
        PostDominators;
        /// loop nest
        LoopNest;
        /// divergence
        Divergence;
        /// liveness
        Liveness;
        /// addresses of variables
        Addresses;
        /// memory SSA
        MemorySsa;
        /// stored values
        StoredValues;
        /// known bits
        KnownBits;
        /// value ranges
        Ranges;
        /// value ranges of what branches depend on
        BranchRanges;
        /// definitions
        Definitions;
        /// uses
        Uses;
    }
    modules {
        /// call graph
        CallGraph;
        /// effects of functions
        FunctionEffects;
    }
}

impl Analysis for Cfg {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::Cfg;

    fn compute(func: &Function, _: &mut Analyses) -> Cfg {
        Cfg::new(func)
    }
}

impl Analysis for Dominators {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::Dominators;

    fn compute(func: &Function, analyses: &mut Analyses) -> Dominators {
        Dominators::new(&analyses.get::<Cfg>(func))
    }
}

impl Analysis for PostDominators {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::PostDominators;

    fn compute(func: &Function, analyses: &mut Analyses) -> PostDominators {
        PostDominators::compute(&analyses.get::<Cfg>(func))
    }
}

impl Analysis for LoopNest {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::LoopNest;

    fn compute(func: &Function, analyses: &mut Analyses) -> LoopNest {
        LoopNest::compute(&analyses.get::<Cfg>(func))
    }
}

impl Analysis for Divergence {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::Divergence;

    fn compute(func: &Function, analyses: &mut Analyses) -> Divergence {
        let (cfg, nest) = (analyses.get::<Cfg>(func), analyses.get::<LoopNest>(func));
        let (dominators, post_dominators) = (analyses.get::<Dominators>(func), analyses.get::<PostDominators>(func));
        Divergence::compute(func, &cfg, &dominators, &post_dominators, &nest)
    }
}

impl Analysis for CallGraph {
    type Of = Module;
    const ID: AnalysisId = AnalysisId::CallGraph;

    fn compute(module: &Module, _: &mut Analyses<Module>) -> CallGraph {
        CallGraph::compute(module)
    }
}

impl Analysis for Addresses {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::Addresses;

    fn compute(func: &Function, _: &mut Analyses) -> Addresses {
        Addresses::new(func)
    }
}

impl Analysis for FunctionEffects {
    type Of = Module;
    const ID: AnalysisId = AnalysisId::FunctionEffects;

    fn compute(module: &Module, analyses: &mut Analyses<Module>) -> FunctionEffects {
        FunctionEffects::compute(module, &analyses.get::<CallGraph>(module))
    }
}

impl Analysis for MemorySsa {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::MemorySsa;

    fn compute(func: &Function, analyses: &mut Analyses) -> MemorySsa {
        MemorySsa::compute(func, &analyses.get::<Cfg>(func), &analyses.get::<Dominators>(func))
    }
}

impl Analysis for StoredValues {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::StoredValues;

    fn compute(func: &Function, analyses: &mut Analyses) -> StoredValues {
        let (cfg, dominators) = (analyses.get::<Cfg>(func), analyses.get::<Dominators>(func));
        let (nest, memory) = (analyses.get::<LoopNest>(func), analyses.get::<MemorySsa>(func));
        StoredValues::new(func, &cfg, &dominators, &nest, &memory)
    }
}

impl Analysis for KnownBits {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::KnownBits;

    fn compute(func: &Function, analyses: &mut Analyses) -> KnownBits {
        KnownBits::compute(func, &analyses.get::<Cfg>(func), &analyses.get::<StoredValues>(func))
    }
}

impl Analysis for Ranges {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::Ranges;

    fn compute(func: &Function, analyses: &mut Analyses) -> Ranges {
        let (cfg, dominators) = (analyses.get::<Cfg>(func), analyses.get::<Dominators>(func));
        let definitions = analyses.get::<Definitions>(func);
        let (known, stored) = (analyses.get::<KnownBits>(func), analyses.get::<StoredValues>(func));
        let cx = RangeContext { func, cfg: &cfg, dominators: &dominators, definitions: &definitions };
        Ranges::compute(cx, &known, &stored)
    }
}

impl Analysis for Liveness {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::Liveness;

    fn compute(func: &Function, analyses: &mut Analyses) -> Liveness {
        Liveness::solve(func, &analyses.get::<Cfg>(func))
    }
}

impl Analysis for Definitions {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::Definitions;

    fn compute(func: &Function, _: &mut Analyses) -> Definitions {
        Definitions::new(func)
    }
}

impl Analysis for Uses {
    type Of = Function;
    const ID: AnalysisId = AnalysisId::Uses;

    fn compute(func: &Function, _: &mut Analyses) -> Uses {
        Uses::new(func)
    }
}

/// A set of analyses, such as those that a pass preserves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AnalysisSet(u32);

impl AnalysisSet {
    /// No analysis.
    pub const NONE: AnalysisSet = AnalysisSet(0);
    /// Every analysis: what a pass preserves that changes nothing but what no analysis looks at.
    pub const ALL: AnalysisSet = AnalysisSet::of(AnalysisId::ALL);
    /// The control-flow graph and what depends on it alone.
    pub const CONTROL_FLOW: AnalysisSet =
        AnalysisSet::of(&[AnalysisId::Cfg, AnalysisId::Dominators, AnalysisId::PostDominators, AnalysisId::LoopNest]);

    /// The set of these.
    pub const fn of(analyses: &[AnalysisId]) -> AnalysisSet {
        let (mut bits, mut at) = (0, 0);
        while at < analyses.len() {
            bits |= 1 << analyses[at] as u32;
            at += 1;
        }
        AnalysisSet(bits)
    }

    /// Whether an analysis is in the set.
    pub const fn contains(self, analysis: AnalysisId) -> bool {
        self.0 >> analysis as u32 & 1 == 1
    }

    /// What is in one of two sets.
    pub const fn union(self, other: AnalysisSet) -> AnalysisSet {
        AnalysisSet(self.0 | other.0)
    }

    /// The members of both.
    pub const fn intersection(self, other: AnalysisSet) -> AnalysisSet {
        AnalysisSet(self.0 & other.0)
    }

    /// The members, in the order of the list.
    pub fn iter(self) -> impl Iterator<Item = AnalysisId> {
        AnalysisId::ALL.iter().copied().filter(move |analysis| self.contains(*analysis))
    }

    /// The first member that does not say the same of a function before and after a change; each is computed anew.
    pub fn first_lost(self, before: &Function, after: &Function) -> Option<AnalysisId> {
        self.iter().find(|analysis| !analysis.agrees(before, after))
    }

    /// The same for a module.
    pub fn first_lost_in_module(self, before: &Module, after: &Module) -> Option<AnalysisId> {
        self.iter().find(|analysis| !analysis.agrees_on_module(before, after))
    }
}

impl fmt::Display for AnalysisSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            AnalysisSet::NONE => f.pad("nothing"),
            AnalysisSet::ALL => f.pad("everything"),
            set => f.pad(&set.iter().map(AnalysisId::name).collect::<Vec<_>>().join(", ")),
        }
    }
}

/// Computes an analysis without a cache.
pub(super) fn anew<A: Analysis>(of: &A::Of) -> A {
    A::compute(of, &mut Analyses::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_in() {
        let set = AnalysisSet::CONTROL_FLOW.union(AnalysisSet::of(&[AnalysisId::Uses]));
        assert_eq!(set.to_string(), "control-flow graph, dominators, post-dominators, loop nest, uses");
        assert_eq!(
            (AnalysisSet::NONE.to_string(), AnalysisSet::ALL.to_string()),
            ("nothing".into(), "everything".into())
        );
        assert_eq!(AnalysisSet::ALL.iter().count(), AnalysisId::ALL.len());
    }
}
