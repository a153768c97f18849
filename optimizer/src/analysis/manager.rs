//! The analysis manager: facts about a function or a module, computed when they are first asked for and kept until a
//! change that they do not survive.
//!
//! A pass asks by type, `cx.analyses.get::<Cfg>(func)`, and gets a shared result that describes the function as it is
//! then. After a change of its own, a pass that goes on asking says with [`Analyses::retain`] which analyses are
//! still true; after the pass the runner does the same with the set in the pass's row. In debug builds every answer
//! from the cache is computed again and compared, so a fact that is no longer true is noticed where it is asked for.
//!
//! An analysis is an impl of [`Analysis`] and a line in the list of [`AnalysisId`]. The list is what rows can name.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use cranelift_entity::SecondaryMap;

use super::settled::{RepeatedWork, Settled};
use super::{
    CallGraph, Cfg, Definitions, Divergence, Dominators, KnownBits, Liveness, LoopNest, MemorySsa, PostDominators,
    RangeContext, Ranges, StoredValues, Uses,
};
use oriole_ir::{FuncId, Function, Module};

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
        /// memory SSA
        MemorySsa;
        /// stored values
        StoredValues;
        /// known bits
        KnownBits;
        /// value ranges
        Ranges;
        /// definitions
        Definitions;
        /// uses
        Uses;
    }
    modules {
        /// call graph
        CallGraph;
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

/// A result of an analysis whose type is forgotten.
trait Kept<T>: Any + Send + Sync {
    /// Whether it is still true of the subject.
    fn is_true_of(&self, of: &T) -> bool;
}

impl<A: Analysis> Kept<A::Of> for A {
    fn is_true_of(&self, of: &A::Of) -> bool {
        *self == anew::<A>(of)
    }
}

/// Computes an analysis without a cache.
fn anew<A: Analysis>(of: &A::Of) -> A {
    A::compute(of, &mut Analyses::default())
}

/// The analyses of one function, or of one module, as far as they were asked for.
pub struct Analyses<T = Function> {
    /// By analysis.
    kept: [Option<Arc<dyn Kept<T>>>; AnalysisId::ALL.len()],
    /// Work that finds nothing to change.
    settled: Settled,
}

impl<T: 'static> Analyses<T> {
    /// The facts of an analysis about a subject, which must be the one that this cache belongs to.
    pub fn get<A: Analysis<Of = T>>(&mut self, of: &T) -> Arc<A> {
        if let Some(kept) = self.found::<A>(of) {
            return kept;
        }
        let computed = Arc::new(A::compute(of, self));
        self.kept[A::ID as usize] = Some(computed.clone());
        computed
    }

    /// The facts of an analysis, to be changed by the pass along with the function. The cache forgets them.
    pub fn take<A: Analysis<Of = T>>(&mut self, of: &T) -> A {
        let facts = self.get::<A>(of);
        self.kept[A::ID as usize] = None;
        Arc::unwrap_or_clone(facts)
    }

    /// Gives back facts that were taken and are true of the subject as it is now.
    pub fn put<A: Analysis<Of = T>>(&mut self, facts: A) {
        self.kept[A::ID as usize] = Some(Arc::new(facts));
    }

    /// Whether these facts are still those in the cache: nothing has made them untrue since they were asked for.
    pub fn holds<A: Analysis<Of = T>>(&self, facts: &Arc<A>) -> bool {
        let kept = self.kept[A::ID as usize].as_ref();
        kept.is_some_and(|kept| std::ptr::addr_eq(Arc::as_ptr(kept), Arc::as_ptr(facts)))
    }

    /// After a change: forgets what is not in the set, and which work is settled.
    pub fn retain(&mut self, preserved: AnalysisSet) {
        self.settled = Settled::default();
        self.forget_all_but(preserved);
    }

    /// Forgets what is not in the set, of a function in which settled work finds nothing to change still.
    pub(crate) fn forget_all_but(&mut self, preserved: AnalysisSet) {
        for analysis in AnalysisId::ALL.iter().filter(|analysis| !preserved.contains(**analysis)) {
            self.kept[*analysis as usize] = None;
        }
    }

    /// Whether some work is known to find nothing to change in the subject as it is.
    pub fn is_settled(&self, work: RepeatedWork) -> bool {
        self.settled.contains(work)
    }

    /// Remembers that some work has found nothing to change, though it had leave for every change.
    pub fn settle(&mut self, work: RepeatedWork) {
        self.settled.insert(work);
    }

    /// Whether an analysis would be answered without being computed.
    pub fn has(&self, analysis: AnalysisId) -> bool {
        self.kept[analysis as usize].is_some()
    }

    fn found<A: Analysis<Of = T>>(&self, of: &T) -> Option<Arc<A>> {
        let kept = self.kept[A::ID as usize].clone()?;
        debug_assert!(kept.is_true_of(of), "the cache holds the {} of a function that has changed since", A::ID.name());
        let any: Arc<dyn Any + Send + Sync> = kept;
        any.downcast().ok()
    }
}

impl<T> Default for Analyses<T> {
    fn default() -> Analyses<T> {
        Analyses { kept: [const { None }; AnalysisId::ALL.len()], settled: Settled::default() }
    }
}

impl<T> Clone for Analyses<T> {
    fn clone(&self) -> Analyses<T> {
        Analyses { kept: self.kept.clone(), settled: self.settled }
    }
}

impl<T> fmt::Debug for Analyses<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = AnalysisId::ALL.iter().filter(|analysis| self.kept[**analysis as usize].is_some());
        f.debug_set().entries(kept).finish()
    }
}

/// The analyses of a module and of its functions.
#[derive(Clone, Debug, Default)]
pub struct ModuleAnalyses {
    module: Analyses<Module>,
    functions: SecondaryMap<FuncId, Analyses>,
}

impl ModuleAnalyses {
    /// The facts of an analysis about the module.
    pub fn get<A: Analysis<Of = Module>>(&mut self, module: &Module) -> Arc<A> {
        self.module.get(module)
    }

    /// The analyses of one of its functions.
    pub fn of(&mut self, id: FuncId) -> &mut Analyses {
        &mut self.functions[id]
    }

    /// After a change of one function: forgets what is not in the set.
    pub fn retain_in(&mut self, id: FuncId, preserved: AnalysisSet) {
        self.functions[id].retain(preserved);
        self.module.retain(preserved);
    }

    /// As [`ModuleAnalyses::retain_in`], where the function has not changed since its last work was settled.
    pub(crate) fn retain_settled_in(&mut self, id: FuncId, preserved: AnalysisSet) {
        self.functions[id].forget_all_but(preserved);
        self.module.retain(preserved);
    }

    /// After the instructions of one function got other numbers: forgets what says numbers of instructions, or may.
    pub fn renumbered(&mut self, id: FuncId) {
        self.functions[id].forget_all_but(AnalysisSet::CONTROL_FLOW);
    }

    /// Forgets which work is settled, for runs under other settings.
    pub fn unsettle(&mut self) {
        self.functions.values_mut().for_each(|analyses| analyses.settled = Settled::default());
    }

    /// After a change of any functions: forgets what is not in the set.
    pub fn retain(&mut self, preserved: AnalysisSet) {
        self.functions.values_mut().for_each(|analyses| analyses.retain(preserved));
        self.module.retain(preserved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ir::parse_function;

    fn function() -> Function {
        parse("%r1 = mov.b32 1\n  bra bb1\nbb1:\n  ret")
    }

    fn parse(body: &str) -> Function {
        parse_function(&format!("device @f ssa {{\nbb0:\n  {body}\n}}\n")).expect("the text is a function")
    }

    #[test]
    fn an_answer_is_kept_until_it_is_not_preserved() {
        let (func, mut analyses) = (function(), Analyses::default());
        let (first, second) = (analyses.get::<Dominators>(&func), analyses.get::<Dominators>(&func));
        assert!(Arc::ptr_eq(&first, &second) && analyses.holds(&first));
        assert!(analyses.has(AnalysisId::Cfg), "what it builds on is kept too");
        analyses.retain(AnalysisSet::of(&[AnalysisId::Cfg]));
        assert!(analyses.has(AnalysisId::Cfg) && !analyses.has(AnalysisId::Dominators));
        assert!(!analyses.holds(&first));
        assert!(!Arc::ptr_eq(&first, &analyses.get::<Dominators>(&func)));
    }

    #[test]
    fn what_is_taken_is_gone_until_it_is_given_back() {
        let (func, mut analyses) = (function(), Analyses::default());
        let definitions = analyses.take::<Definitions>(&func);
        assert!(!analyses.has(AnalysisId::Definitions));
        analyses.put(definitions);
        assert!(analyses.has(AnalysisId::Definitions));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "the cache holds the control-flow graph of a function that has changed since")]
    fn an_answer_that_is_no_longer_true_is_noticed() {
        let mut analyses = Analyses::default();
        analyses.get::<Cfg>(&function());
        analyses.get::<Cfg>(&parse("ret"));
    }

    #[test]
    fn the_analysis_that_a_change_breaks_is_named() {
        let before = function();
        assert_eq!(AnalysisSet::ALL.first_lost(&before, &function()), None);
        let same_graph = parse("%r1 = mov.b32 1\n  %r2 = mov.b32 %r1\n  bra bb1\nbb1:\n  ret");
        assert_eq!(AnalysisSet::CONTROL_FLOW.first_lost(&before, &same_graph), None);
        assert_ne!(AnalysisSet::ALL.first_lost(&before, &same_graph), None);
        assert_eq!(AnalysisSet::CONTROL_FLOW.first_lost(&before, &parse("ret")), Some(AnalysisId::Cfg));
    }

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
