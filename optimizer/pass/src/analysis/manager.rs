//! The analysis manager: facts about a function or a module, computed when they are first asked for and kept until a
//! change that they do not survive.
//!
//! A pass asks by type, `cx.analyses.get::<Cfg>(func)`, and gets a shared result that describes the function as it is
//! then. After a change of its own, a pass that continues asking says with [`Analyses::retain`] which analyses are
//! still true; after the pass the runner does the same with the set in the pass's row. In debug builds every answer
//! from the cache is computed again and compared, so a fact that is no longer true is noticed where it is asked for.
//!
//! Which analyses there are is in `list.rs`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};

use super::call_graph::CallGraph;
use super::component_walk::ComponentWalk;
use super::list::{Analysis, AnalysisId, AnalysisSet, anew};
use super::settled::{RepeatedWork, Settled};
use oriole_ir::{FuncId, Function, Module};

/// Functions of a module of which all that is known is kept from one pass to the next. A function of 200 instructions
/// has a megabyte of it behind all passes, of which most is liveness and ranges.
const MOST_FUNCTIONS: usize = 128;

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
    pub fn forget_all_but(&mut self, preserved: AnalysisSet) {
        for analysis in AnalysisId::ALL.iter().filter(|analysis| !preserved.contains(**analysis)) {
            self.kept[*analysis as usize] = None;
        }
    }

    /// After the instructions got other numbers: forgets what says numbers of instructions, or may.
    pub fn renumbered(&mut self) {
        self.forget_all_but(AnalysisSet::CONTROL_FLOW);
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
    walk: Option<ComponentWalk>,
}

impl ModuleAnalyses {
    /// The facts of an analysis about the module.
    pub fn get<A: Analysis<Of = Module>>(&mut self, module: &Module) -> Arc<A> {
        self.module.get(module)
    }

    /// Begins to go over the components of the call graph.
    pub fn begin_walk(&mut self, module: &Module) -> Arc<CallGraph> {
        let graph = self.get::<CallGraph>(module);
        self.walk = Some(ComponentWalk::new(module, &graph));
        graph
    }

    /// The facts on the way over the components, which begins here where nothing has begun it.
    pub fn walk(&mut self, module: &Module) -> &mut ComponentWalk {
        if self.walk.is_none() {
            self.begin_walk(module);
        }
        self.walk.as_mut().expect("it has begun")
    }

    /// Ends the way over the components.
    pub fn end_walk(&mut self) {
        self.walk = None;
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

    /// After changes of functions, each of whose analyses knows of them: forgets of the module what is not in the set.
    pub fn retain_of_module(&mut self, preserved: AnalysisSet) {
        self.module.retain(preserved);
    }

    /// Forgets all about some functions, in a module of so many that what is known of each would be most of the memory.
    pub fn forget_if_many(&mut self, functions: usize, ids: &[FuncId]) {
        if functions > MOST_FUNCTIONS {
            ids.iter().for_each(|id| self.functions[*id] = Analyses::default());
        }
    }

    /// The analyses of each of so many functions, in their order.
    pub fn of_functions(&mut self, functions: usize) -> impl Iterator<Item = &mut Analyses> {
        self.functions.resize(functions);
        self.functions.values_mut().take(functions)
    }

    /// As [`Analyses::renumbered`], of one function.
    pub fn renumbered(&mut self, id: FuncId) {
        self.functions[id].renumbered();
    }

    /// After functions of a module of so many were taken out, and the others moved up: what is known of these follows
    /// them.
    pub fn removed(&mut self, before: usize, gone: &[FuncId]) {
        let mut left = SecondaryMap::new();
        let mut absent = EntitySet::<FuncId>::new();
        absent.extend(gone.iter().copied());
        let kept = (0..before).map(FuncId::new).filter(|id| !absent.contains(*id));
        for (to, from) in kept.enumerate() {
            left[FuncId::new(to)] = std::mem::take(&mut self.functions[from]);
        }
        self.functions = left;
        self.module = Analyses::default();
        self.walk = None;
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
    use super::super::{Cfg, Definitions, Dominators};
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
}
