//! The context of a pass: knobs, target, level, analyses, and the rewrite budget.
//!
//! A pass asks [`PhaseContext::rewrite`] before each single change, and leaves the change out where the answer is no.
//! It asks [`PhaseContext::analyses`] for facts, and tells that cache what a change of its own has made untrue.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use cranelift_entity::PrimaryMap;

use super::budget::RewriteBudget;
use super::{Argument, Knobs, Objection, PassOption, PassOptions, Progress};
use crate::analysis::{Analyses, AnalysisSet, ModuleAnalyses, RepeatedWork};
use crate::peephole::RuleSet;
use oriole_ir::sm::Target;
use oriole_ir::{FuncId, Function, Global, Module, Variable};

/// Whether a pass changed its unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Changed {
    /// It is as it was.
    No,
    /// Something is different.
    Yes,
}

impl Changed {
    /// `Yes` where the condition holds.
    pub fn when(condition: bool) -> Changed {
        if condition { Changed::Yes } else { Changed::No }
    }

    /// Whether something is different.
    pub fn is_yes(self) -> bool {
        self == Changed::Yes
    }
}

impl std::ops::BitOr for Changed {
    type Output = Changed;

    fn bitor(self, other: Changed) -> Changed {
        Changed::when(self.is_yes() || other.is_yes())
    }
}

impl std::ops::BitOrAssign for Changed {
    fn bitor_assign(&mut self, other: Changed) {
        *self = *self | other;
    }
}

/// Counters of one pass, by name.
pub type Statistics = BTreeMap<&'static str, u64>;

/// Which sub-passes a run leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SubPasses {
    /// Names of `SUB_PASSES` that are turned off.
    pub disabled: Vec<&'static str>,
    /// Names that alone may run inside this phase; empty for all of them.
    pub only: Vec<&'static str>,
}

impl SubPasses {
    /// Whether a step may run.
    pub fn allows(&self, name: &str) -> bool {
        !self.disabled.contains(&name) && (self.only.is_empty() || self.only.contains(&name))
    }
}

/// What a run sets for one pass.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The knobs of ptxas.
    pub knobs: &'a Knobs,
    /// The options of cicc.
    pub pass_options: &'a PassOptions,
    /// The SM that code is made for.
    pub target: Target,
    /// The optimization level, 0 to 3.
    pub opt_level: u8,
    /// The rewrite rules; the built-in ones where there are no others.
    pub rules: Option<&'a Arc<RuleSet>>,
    /// What the pipeline's text says in angle brackets.
    pub arguments: &'a [Argument],
    /// The named steps that are on.
    pub sub_passes: &'a SubPasses,
    /// What the pass preserves by its row.
    pub preserves: AnalysisSet,
    /// How far the run has come.
    pub progress: &'a Cell<Progress>,
    /// What passes have said.
    pub remarks: &'a RefCell<Vec<String>>,
    /// Why the pass refuses the module.
    pub objections: &'a RefCell<Vec<Objection>>,
    /// The variables of the module that have to be aligned wider, and to how many bytes.
    pub aligned: &'a RefCell<Vec<(Global, u32)>>,
    /// The variables of the module, for work on a function of one.
    pub variables: Option<&'a PrimaryMap<Global, Variable>>,
}

/// What a pass over functions or loops sees beside the function.
#[derive(Debug)]
pub struct PhaseContext<'a, A = Analyses> {
    /// The knobs of the run.
    pub knobs: &'a Knobs,
    /// The options of cicc's passes.
    pub pass_options: &'a PassOptions,
    /// The machine that the program is for.
    pub target: Target,
    /// The optimization level, 0 to 3.
    pub opt_level: u8,
    /// What is known about the function at hand; in a [`ModuleContext`], about the module and each of its functions.
    pub analyses: &'a mut A,
    setting: Setting<'a>,
    /// The changes that the run had made when work was settled last.
    settled_at: Option<u64>,
    /// Whether all that the cache holds is true of the function as the pass leaves it.
    current: bool,
    /// Whether the kill markers of the function are true of it as the pass leaves it.
    keeps_kills: bool,
    budget: &'a mut RewriteBudget,
    statistics: &'a mut Statistics,
}

/// What a pass over modules, or components of the call graph, sees beside the module.
pub type ModuleContext<'a> = PhaseContext<'a, ModuleAnalyses>;

impl<'a> ModuleContext<'a> {
    /// Takes functions and variables out of a module. Those that stay get other numbers, and what is known about them
    /// follows. No other function and no variable may name those that go.
    pub fn remove_symbols(&mut self, module: &mut Module, functions: &[FuncId], globals: &[Global]) {
        let before = module.functions.len();
        module.remove_symbols(functions, globals);
        self.analyses.removed(before, functions);
    }

    /// Works on one function with what is known about it. Changes are booked to the function; after one, the analyses
    /// that the pass does not preserve are forgotten.
    pub fn function(
        &mut self,
        module: &mut Module,
        id: FuncId,
        work: impl FnOnce(&mut Function, &mut PhaseContext<'_>) -> Changed,
    ) -> Changed {
        let Module { functions, globals, .. } = module;
        let (setting, analyses) = (Setting { variables: Some(globals), ..self.setting }, self.analyses.of(id));
        let (changed, preserves) =
            setting.on_function(id, &mut functions[id], analyses, self.budget, self.statistics, work);
        align(globals, self.setting.aligned.take());
        if changed.is_yes() {
            self.analyses.retain_of_module(preserves);
        }
        changed
    }
}

/// Aligns variables to as many bytes at least.
pub fn align(variables: &mut PrimaryMap<Global, Variable>, wanted: impl IntoIterator<Item = (Global, u32)>) {
    for (global, bytes) in wanted {
        variables[global].align = variables[global].align.max(bytes);
    }
}

impl Setting<'_> {
    /// Works on one function with what is known about it. After a change, the analyses that the pass does not preserve
    /// are forgotten. The result has those that it preserves.
    pub fn on_function(
        self,
        id: FuncId,
        func: &mut Function,
        analyses: &mut Analyses,
        budget: &mut RewriteBudget,
        statistics: &mut Statistics,
        work: impl FnOnce(&mut Function, &mut PhaseContext<'_>) -> Changed,
    ) -> (Changed, AnalysisSet) {
        let ends = self.rules.is_none_or(|rules| !rules.may_not_end());
        budget.begin(Some(id), func.inst_count(), ends);
        let mut cx = PhaseContext::new(self, analyses, budget, statistics);
        let changed = work(func, &mut cx);
        let (preserves, is_settled, is_current) = (cx.preserves(), cx.has_settled_last(), cx.current);
        if changed.is_yes() && !cx.keeps_kills {
            func.set_kills(Vec::new());
        }
        match changed {
            Changed::Yes if is_current => {}
            Changed::Yes if is_settled => analyses.forget_all_but(preserves),
            Changed::Yes => analyses.retain(preserves),
            Changed::No => {}
        }
        (changed, preserves)
    }
}

impl PhaseContext<'_> {
    /// Does some work on the function, unless it is known to find nothing to change there. In debug builds it is then
    /// done on a copy, and must change nothing.
    pub fn unless_settled(
        &mut self,
        work: RepeatedWork,
        func: &mut Function,
        run: impl FnOnce(&mut Function, &mut PhaseContext<'_>) -> Changed,
    ) -> Changed {
        if self.analyses.is_settled(work) {
            debug_assert!(self.finds_nothing(func, run), "{work:?} is settled, but changes `{}`", func.name);
            return Changed::No;
        }
        let changed = run(func, self);
        // Where leave was refused, there is something to find.
        if !changed.is_yes() && !self.budget.is_spent() {
            self.analyses.settle(work);
            self.settled_at = Some(self.budget.made());
        }
        changed
    }

    /// The same of work that has nothing left to do after it was done once, whether or not it changed something.
    pub fn once(
        &mut self,
        work: RepeatedWork,
        func: &mut Function,
        run: impl FnOnce(&mut Function, &mut PhaseContext<'_>) -> Changed,
    ) -> Changed {
        let changed = self.unless_settled(work, func, run);
        if changed.is_yes() && !self.budget.is_spent() {
            self.analyses.settle(work);
            self.settled_at = Some(self.budget.made());
        }
        changed
    }

    /// Whether work was settled and nothing has changed since: each change asks for leave, and the cache is told of it.
    fn has_settled_last(&self) -> bool {
        self.settled_at == Some(self.budget.made())
    }

    fn finds_nothing(
        &self,
        func: &Function,
        run: impl FnOnce(&mut Function, &mut PhaseContext<'_>) -> Changed,
    ) -> bool {
        let (mut analyses, mut budget) = (self.analyses.clone(), self.budget.clone());
        let mut statistics = Statistics::new();
        let mut cx = PhaseContext::new(self.setting, &mut analyses, &mut budget, &mut statistics);
        !run(&mut func.clone(), &mut cx).is_yes()
    }
}

impl<'a, A> PhaseContext<'a, A> {
    /// A context over a run's settings, analyses and budget, and one pass's counters.
    pub fn new(
        setting: Setting<'a>,
        analyses: &'a mut A,
        budget: &'a mut RewriteBudget,
        statistics: &'a mut Statistics,
    ) -> PhaseContext<'a, A> {
        let Setting { knobs, pass_options, target, opt_level, .. } = setting;
        PhaseContext {
            knobs,
            pass_options,
            target,
            opt_level,
            analyses,
            setting,
            settled_at: None,
            current: false,
            keeps_kills: false,
            budget,
            statistics,
        }
    }

    /// Asks for leave to make one change on behalf of a rule, and counts it. After a no, the change must not be made.
    ///
    /// Of `reassociate:constants`, `reassociate` is a family: changes that rest on the same code or analysis, so that
    /// one mistake there shows in all of them. Findings that differ in what follows the colon alone are one.
    pub fn rewrite(&mut self, rule: &'static str) -> bool {
        let granted = self.budget.spend(rule);
        if granted {
            self.count(rule, 1);
        }
        granted
    }

    /// The changes that the run has made so far, in this pass and before. On one function it does not count what passes
    /// that run together have changed in others.
    pub fn rewrites_made(&self) -> u64 {
        self.budget.made_by_run()
    }

    /// By which name the module knows the function at hand; `None` where the module itself is.
    pub fn function_at_hand(&self) -> Option<FuncId> {
        self.budget.function()
    }

    /// The variables of the module that the function is in.
    pub fn variables(&self) -> Option<&'a PrimaryMap<Global, Variable>> {
        self.setting.variables
    }

    /// Has a variable of the module aligned to so many bytes at least: what the pass has made of the function needs it.
    /// The module that other functions see changes when the run is done with the functions at hand.
    pub fn align_variable(&mut self, variable: Global, bytes: u32) {
        self.setting.aligned.borrow_mut().push((variable, bytes));
    }

    /// How far the run has come.
    pub fn progress(&self) -> Progress {
        self.setting.progress.get()
    }

    /// Says that the run has come so far.
    pub fn advance(&mut self, to: Progress) {
        self.setting.progress.set(self.progress().max(to));
    }

    /// Adds to a counter.
    pub fn count(&mut self, name: &'static str, by: u64) {
        *self.statistics.entry(name).or_default() += by;
    }

    /// Says something about what the pass finds or decides, where a dump option of cicc asks for it, as in
    /// `cx.remark("dump-remat", || …)`. Observers hear it behind the name of the pass.
    pub fn remark(&self, option: &str, what: impl FnOnce() -> String) {
        let asked = PassOption::named(option).is_some_and(|option| self.pass_options.flag(option) == Some(true));
        if asked {
            self.setting.remarks.borrow_mut().push(what());
        }
    }

    /// Says what the pass has against the module, which makes the run end behind the pass with an error. A pass that
    /// objects changes nothing.
    pub fn object(&self, objection: Objection) {
        self.setting.objections.borrow_mut().push(objection);
    }

    /// The rewrite rules that the run was given; `None` where it has those of the tree alone.
    pub fn own_rules(&self) -> Option<&'a RuleSet> {
        self.setting.rules.map(|rules| &**rules)
    }

    /// The rewrite rules of the run.
    pub fn rules(&self) -> Arc<RuleSet> {
        self.setting.rules.cloned().unwrap_or_else(RuleSet::builtin)
    }

    /// Whether the pass has this word among its arguments.
    pub fn has_word(&self, word: &str) -> bool {
        self.setting.arguments.iter().any(|argument| matches!(argument, Argument::Word(given) if *given == word))
    }

    /// The first number among the arguments of the pass.
    pub fn number(&self) -> Option<u32> {
        self.setting.arguments.iter().find_map(|argument| match argument {
            Argument::Number(number) => Some(*number),
            Argument::Word(_) | Argument::Unlimited | Argument::Name(_) => None,
        })
    }

    /// The names among the arguments of the pass, in their order.
    pub fn names(&self) -> impl Iterator<Item = &'a str> + use<'a, A> {
        self.setting.arguments.iter().filter_map(|argument| match argument {
            Argument::Name(name) => Some(&**name),
            Argument::Word(_) | Argument::Number(_) | Argument::Unlimited => None,
        })
    }

    /// Whether a named step inside the pass may run.
    pub fn allows(&self, sub_pass: &str) -> bool {
        self.setting.sub_passes.allows(sub_pass)
    }

    /// Says that the pass tells the cache of each of its changes: behind it, all facts and settled work there are about
    /// the function as the pass leaves it, whatever its row says that it preserves.
    pub fn keep_analyses(&mut self) {
        self.current = true;
    }

    /// Says that the kill markers are true of the function as the pass leaves it; behind any other change they are
    /// dropped.
    pub fn keep_kills(&mut self) {
        self.keeps_kills = true;
    }

    /// Says that this run of the pass preserves these analyses too, beside those that it always preserves.
    pub fn preserve(&mut self, analyses: AnalysisSet) {
        self.setting.preserves = self.setting.preserves.union(analyses);
    }

    /// The analyses that are still true after the changes of this run.
    pub fn preserves(&self) -> AnalysisSet {
        self.setting.preserves
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::analysis::{AnalysisId, Definitions};
    use oriole_ir::{parse_function, parse_module};

    /// No option of cicc is set.
    static NO_OPTIONS: LazyLock<PassOptions> = LazyLock::new(PassOptions::new);

    fn setting<'a>(knobs: &'a Knobs, sub_passes: &'a SubPasses, progress: &'a Cell<Progress>) -> Setting<'a> {
        Setting {
            knobs,
            pass_options: &NO_OPTIONS,
            target: Target::portable(90).expect("the machine is known"),
            opt_level: 3,
            rules: None,
            arguments: &[],
            sub_passes,
            preserves: AnalysisSet::NONE,
            progress,
            remarks: Box::leak(Box::default()),
            objections: Box::leak(Box::default()),
            aligned: Box::leak(Box::default()),
            variables: None,
        }
    }

    /// Whether definitions are known behind a pass that preserves nothing, changes the function, tells the cache of it
    /// and asks for definitions again.
    fn knows_definitions(pass: impl FnOnce(&mut PhaseContext<'_>)) -> bool {
        let text = "target sm_90 ptx 9.0\n\ndevice @f ssa {\nbb0:\n  ret\n}\n";
        let mut module = parse_module(text).expect("the text is a module");
        let (knobs, sub_passes, progress) = (Knobs::new(), SubPasses::default(), Cell::default());
        let (mut analyses, mut statistics) = (ModuleAnalyses::default(), Statistics::new());
        let mut budget = RewriteBudget::new(None);
        let setting = setting(&knobs, &sub_passes, &progress);
        let mut cx = PhaseContext::new(setting, &mut analyses, &mut budget, &mut statistics);
        let id = FuncId::from_u32(0);
        cx.function(&mut module, id, |func, cx| {
            cx.analyses.retain(AnalysisSet::NONE);
            cx.analyses.get::<Definitions>(func);
            pass(cx);
            Changed::Yes
        });
        analyses.of(id).has(AnalysisId::Definitions)
    }

    #[test]
    fn what_is_known_at_the_end_of_a_pass_is_kept_where_the_pass_says_so() {
        assert!(!knows_definitions(|_| {}));
        assert!(knows_definitions(|cx| cx.keep_analyses()));
    }

    /// How often work is done that changes nothing, of two times that it is due; `spent` says whether there is no leave
    /// for changes.
    fn times_done(spent: bool, between: impl FnOnce(&mut Analyses)) -> u32 {
        let mut func = parse_function("device @f ssa {\nbb0:\n  ret\n}\n").expect("the text is a function");
        let (knobs, sub_passes, progress) = (Knobs::new(), SubPasses::default(), Cell::default());
        let setting = setting(&knobs, &sub_passes, &progress);
        let (mut analyses, mut statistics) = (Analyses::default(), Statistics::new());
        let mut budget = RewriteBudget::new(spent.then_some(0));
        let mut between = Some(between);
        for _ in 0..2 {
            let mut cx = PhaseContext::new(setting, &mut analyses, &mut budget, &mut statistics);
            cx.unless_settled(RepeatedWork::DeadCode, &mut func, |_, cx| {
                cx.count("done", 1);
                Changed::No
            });
            between.take().into_iter().for_each(|between| between(&mut analyses));
        }
        statistics["done"] as u32
    }

    #[test]
    fn work_that_finds_nothing_is_done_once() {
        assert_eq!(times_done(false, |_| {}), 1);
        assert_eq!(times_done(false, |analyses| analyses.retain(AnalysisSet::ALL)), 2, "something has changed");
        assert_eq!(times_done(true, |_| {}), 2, "there may be something that it had no leave for");
    }

    #[test]
    fn sub_passes_are_left_out_by_either_list() {
        let all = SubPasses::default();
        let without = SubPasses { disabled: vec!["OriCopyProp"], only: Vec::new() };
        let alone = SubPasses { disabled: Vec::new(), only: vec!["OriCopyProp"] };
        let allowed = |s: &SubPasses| (s.allows("OriCopyProp"), s.allows("Simplify"));
        assert_eq!(allowed(&all), (true, true));
        assert_eq!(allowed(&without), (false, true));
        assert_eq!(allowed(&alone), (true, false));
    }
}
