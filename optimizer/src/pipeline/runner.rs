//! The runner: the elements of a pipeline in their order, each over every unit of a module that it accepts.
//!
//! Everything that is not a pass's own business happens here: which passes run and why the others do not, verification
//! after each change, the facts about functions and how long they hold, dumps, times, statistics, and the limits that
//! bisection sets. A pipeline may have passes of no table.
//!
//! A nest runs the elements inside it for one unit after the other ([`super::units`]). Its report is followed by one
//! for each element inside, which sums up what that did on all units.
//!
//! Passes over functions and loops that follow each other form a group (`on_function.rs`): each function goes through
//! all of them before the next one, and several functions may do so at the same time ([`super::workers`]). This is the
//! second phase of cicc's compilation, which it does function by function (`spec/pass-pipeline.txt`, line 63); a pass
//! over modules or components, its first phase, is between two groups.
//!
//! A panic inside a pass is left to the caller, who knows how to replay it.

use std::cell::{Cell, RefCell};
use std::slice;
use std::sync::Arc;
use std::time::Instant;

use super::choice::{Choice, Plan};
use super::claim::Claim;
use super::on_function::{Count, Group, Heard, Outcome, Place, accepts, raised, setting, verify};
pub use super::report::{LastRewrite, PassReport, PipelineError, Report, SkipReason};
use super::sequence::Pipeline;
use super::table::UnknownPhase;
use super::throttle::Throttle;
use super::units::Within;
use super::workers::Workers;
use oriole_ir::sm::Target;
use oriole_ir::verify::verify_function;
use oriole_ir::{FuncId, Function, Global, Module, function_to_string};
use oriole_pass::analysis::ModuleAnalyses;
use oriole_pass::pass::{
    Changed, ComponentFn, Element, Knobs, ModuleContext, ModuleFn, Objection, PassOptions, Progress, RewriteBudget,
    Run, align,
};
use oriole_pass::peephole::{RuleSet, preparation};

/// What a run does beside the phases.
#[derive(Clone, Debug)]
pub struct Options {
    /// The optimization level, 0 to 3.
    pub opt_level: u8,
    /// The knobs.
    pub knobs: Knobs,
    /// The options of cicc's passes.
    pub pass_options: PassOptions,
    /// The machine that the module is for.
    pub target: Target,
    /// Phases and sub-passes to leave out, as [`super::table::select`] reads them; the knob `DisablePhases` adds to
    /// them.
    pub disabled: Vec<String>,
    /// Phases around which the module is printed to the observer; the knob `DUMPIR` adds to them.
    pub dump: Vec<String>,
    /// Verify the input, and each function after a phase that changed it.
    pub verify: bool,
    /// The input is known to be valid, as the output of a verified phase is; only changes are verified.
    pub trusted: bool,
    /// The position in the phase list after which nothing runs.
    pub stop_after: Option<usize>,
    /// How many changes all phases together may make.
    pub rewrite_limit: Option<u64>,
    /// Measure how long each phase takes.
    pub time: bool,
    /// The rewrite rules; the built-in ones where there are no others.
    pub rules: Option<Arc<RuleSet>>,
    /// Who works on functions. One thread does where changes are limited or verified, functions are dumped, or passes
    /// are timed.
    pub workers: Workers,
}

impl Options {
    /// Level 3 for a target, everything else at its default.
    pub fn new(target: Target) -> Options {
        Options {
            opt_level: 3,
            knobs: Knobs::new(),
            pass_options: PassOptions::new(),
            target,
            disabled: Vec::new(),
            dump: Vec::new(),
            verify: false,
            trusted: false,
            stop_after: None,
            rewrite_limit: None,
            time: false,
            rules: None,
            workers: Workers::default(),
        }
    }
}

/// Watches a run. Every method does nothing unless it is written.
pub trait Observer {
    /// Whether it looks at the module before and after elements; if not, neither is called.
    fn watches(&self) -> bool {
        true
    }

    /// Before an element runs on the whole module; not called for elements that are skipped, nor inside nests of
    /// smaller units.
    fn before(&mut self, _element: &Element, _module: &Module) {}

    /// After it ran.
    fn after(&mut self, _element: &Element, _module: &Module, _changed: Changed) {}

    /// What a pass says of its work where an option of cicc asks for it: `pass: what`.
    fn remark(&mut self, _text: &str) {}

    /// A function's text around a phase that [`Options::dump`] names: a heading, then `.ori`.
    fn dump(&mut self, _text: &str) {}
}

/// Watches nothing.
impl Observer for () {
    fn watches(&self) -> bool {
        false
    }
}

/// Runs the phases of ptxas.
pub fn run(module: &mut Module, options: &Options, observer: &mut dyn Observer) -> Result<Report, PipelineError> {
    run_passes(&Pipeline::ptxas(), module, options, observer)
}

/// Runs the elements of a pipeline, or some of them.
pub fn run_passes(
    elements: &[Element],
    module: &mut Module,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Report, PipelineError> {
    run_passes_with(elements, module, options, observer, &mut Known::default())
}

/// What is known about a module from the passes that made it.
#[derive(Clone, Debug, Default)]
pub struct Known {
    analyses: ModuleAnalyses,
    /// What the passes ran under, as far as that decides which work finds nothing to change.
    setting: Option<(Knobs, PassOptions, Target, Option<Arc<RuleSet>>)>,
}

impl Known {
    /// What of it holds for passes under these options.
    fn under(&mut self, options: &Options) -> &mut ModuleAnalyses {
        let Options { knobs, pass_options, target, rules, .. } = options;
        let same_rules =
            |other: &Option<Arc<RuleSet>>| other.as_ref().map(Arc::as_ptr) == rules.as_ref().map(Arc::as_ptr);
        let same = |setting: &(Knobs, PassOptions, Target, _)| {
            setting.0 == *knobs && setting.1 == *pass_options && setting.2 == *target && same_rules(&setting.3)
        };
        if !self.setting.as_ref().is_some_and(same) {
            self.analyses.unsettle();
            self.setting = Some((knobs.clone(), pass_options.clone(), *target, rules.clone()));
        }
        &mut self.analyses
    }
}

/// Runs elements with what is known about the module from passes before; behind them, `known` is about the module that
/// they left. After an error it is about none and must be dropped.
pub fn run_passes_with(
    elements: &[Element],
    module: &mut Module,
    options: &Options,
    observer: &mut dyn Observer,
    known: &mut Known,
) -> Result<Report, PipelineError> {
    let throttle = Throttle::new(module, options);
    run_throttled(elements, module, options, &throttle, observer, known)
}

/// The same where it is known which functions have the level of the options.
pub(super) fn run_throttled(
    elements: &[Element],
    module: &mut Module,
    options: &Options,
    throttle: &Throttle,
    observer: &mut dyn Observer,
    known: &mut Known,
) -> Result<Report, PipelineError> {
    let choice = Choice::new(elements, options)?;
    if options.verify && !options.trusted {
        verify_input(module)?;
    }
    let (mut plans, mut report) = (Vec::new(), Report::default());
    for (position, element) in elements.iter().enumerate() {
        choice.plan(element, position, options, &mut plans);
        add_reports(element, &plans, &mut report.passes);
    }
    let mut running = Running {
        options,
        throttle,
        plans: &plans,
        budget: RewriteBudget::new(options.rewrite_limit),
        analyses: known.under(options),
        progress: Cell::default(),
        remarks: RefCell::default(),
        objections: RefCell::default(),
        aligned: RefCell::default(),
        report,
        named_at: 0,
    };
    running.all(elements, module, observer)?;
    running.report.rewrites = running.budget.made();
    running.report.progress = running.progress.get();
    Ok(running.report)
}

/// How many plans and reports an element has: its own, and those of the elements inside.
pub(super) fn size(element: &Element) -> usize {
    1 + element.inside.iter().map(size).sum::<usize>()
}

/// The reports of an element and of those inside before it runs: it waits for a function that it accepts.
fn add_reports(element: &Element, plans: &[Plan], reports: &mut Vec<PassReport>) {
    let plan = &plans[reports.len()];
    reports.push(PassReport::new(plan.position, element, plan.skip.or(Some(SkipReason::Form))));
    element.inside.iter().for_each(|inner| add_reports(inner, plans, reports));
}

/// Why elements do not run, whatever the module is; `None` for those that do.
pub fn skips(elements: &[Element], options: &Options) -> Result<Vec<Option<SkipReason>>, UnknownPhase> {
    let choice = Choice::new(elements, options)?;
    Ok(elements.iter().enumerate().map(|(position, element)| choice.skip(element, position, options)).collect())
}

/// The elements that run under options, with their numbers, whatever the module is. What a text of them reads as runs
/// them alike: no guard, level or option leaves one out.
pub fn running(elements: &[Element], options: &Options) -> Result<Pipeline, UnknownPhase> {
    let choice = Choice::new(elements, options)?;
    let runs = |(position, element): (usize, &Element)| choice.running(element, position, options);
    Ok(Pipeline::of_numbered(elements.iter().enumerate().filter_map(runs).collect()))
}

fn verify_input(module: &Module) -> Result<(), PipelineError> {
    for func in module.functions.values() {
        verify_function(func, Some(module))
            .map_err(|violations| PipelineError::InvalidInput { function: func.name.clone(), violations })?;
    }
    Ok(())
}

/// A run under way.
pub(super) struct Running<'a> {
    pub(super) options: &'a Options,
    throttle: &'a Throttle,
    plans: &'a [Plan],
    pub(super) budget: RewriteBudget,
    pub(super) analyses: &'a mut ModuleAnalyses,
    progress: Cell<Progress>,
    /// What the pass at hand has said.
    remarks: RefCell<Vec<String>>,
    /// Why it refuses the module.
    objections: RefCell<Vec<Objection>>,
    /// The variables that it has aligned wider.
    aligned: RefCell<Vec<(Global, u32)>>,
    pub(super) report: Report,
    /// How many changes had been made when the report named the last one.
    named_at: u64,
}

impl<'a> Running<'a> {
    /// Runs the elements of the pipeline. Those on functions that follow each other run as one group, where nobody
    /// looks at the module between them: a function goes through all of them before the next one, or beside it.
    fn all(
        &mut self,
        elements: &[Element],
        module: &mut Module,
        observer: &mut dyn Observer,
    ) -> Result<(), PipelineError> {
        // A limit counts changes element by element.
        let groups = !observer.watches() && self.options.rewrite_limit.is_none();
        let (mut at, mut rest) = (0, elements);
        while !rest.is_empty() {
            let together = rest.iter().take_while(|element| groups && element.is_on_functions()).count();
            let (group, others) = rest.split_at(together.max(1));
            match together {
                0 => _ = self.element(&group[0], at, Within::Module, module, observer)?,
                _ => _ = self.functions(group, at, Within::Module, module, observer)?,
            }
            at += group.iter().map(size).sum::<usize>();
            rest = others;
        }
        Ok(())
    }

    /// Runs an element on what is within some unit; its report is at a place of the list of reports, and those of the
    /// elements inside are behind it.
    pub(super) fn element(
        &mut self,
        element: &Element,
        at: usize,
        within: Within<'_>,
        module: &mut Module,
        observer: &mut dyn Observer,
    ) -> Result<Changed, PipelineError> {
        let accepts = |id: FuncId| accepts(element, &module.functions[id]);
        let runs =
            self.plans[at].skip.is_none() && (!element.inside.is_empty() || within.functions(module).any(accepts));
        let watches = runs && matches!(within, Within::Module);
        // A pass that is skipped is neither observed nor dumped, and its report says why.
        if watches {
            observer.before(element, module);
        }
        let changed = if element.is_on_functions() {
            self.functions(slice::from_ref(element), at, within, module, observer)?
        } else {
            self.report.passes[at].insts_before += within.inst_count(module);
            let changed = match element.run.as_ref().filter(|_| runs) {
                Some(run) => self.larger(element, run, at, within, module, observer)?,
                None => Changed::No,
            };
            self.report.passes[at].insts_after += within.inst_count(module);
            changed
        };
        if watches {
            observer.after(element, module, changed);
        }
        Ok(changed)
    }

    /// Does the work of an element that looks at more than one function.
    fn larger(
        &mut self,
        element: &Element,
        run: &Run,
        at: usize,
        within: Within<'_>,
        module: &mut Module,
        observer: &mut dyn Observer,
    ) -> Result<Changed, PipelineError> {
        let plan = &self.plans[at];
        self.report.passes[at].skipped = None;
        self.dump(element, "before", plan.dumps_before, within, module, observer);
        // The budget and the clock of the rules run over all passes, so a pass is charged the difference.
        let (made, start) = (self.budget.made(), self.options.time.then(Instant::now));
        let prepared = preparation::spent();
        let changed = PassRun { element, at, running: self, observer }.units(run, within, module)?;
        if changed.is_yes() {
            module.functions.values_mut().for_each(|func| func.set_kills(Vec::new()));
        }
        let said = self.remarks.take();
        said.iter().for_each(|what| observer.remark(&format!("{}: {what}", element.id())));
        let report = &mut self.report.passes[at];
        if let Some(start) = start {
            let rules = preparation::spent() - prepared;
            *report.rules_time.get_or_insert_default() += rules;
            *report.time.get_or_insert_default() += start.elapsed().saturating_sub(rules);
        }
        report.rewrites += self.budget.made() - made;
        report.changed |= changed;
        if self.budget.made() > made.max(self.named_at) {
            self.report.last_rewrite = self.last_rewrite(element, module);
            self.named_at = self.budget.made();
        }
        self.dump(element, "after", plan.dumps_after, within, module, observer);
        Ok(changed)
    }

    /// Runs elements that are on functions on those within some unit, each function through all elements.
    fn functions(
        &mut self,
        elements: &[Element],
        at: usize,
        within: Within<'_>,
        module: &mut Module,
        observer: &mut dyn Observer,
    ) -> Result<Changed, PipelineError> {
        let (changed, counts) = self.group(elements, at, within, module, observer)?;
        let timed = self.options.time;
        let reports = self.report.passes[at..].iter_mut();
        reports.zip(counts).for_each(|(report, count)| count.report(report, timed));
        Ok(changed)
    }

    /// The same, with what the reports are to hear of it.
    pub(super) fn group(
        &mut self,
        elements: &[Element],
        at: usize,
        within: Within<'_>,
        module: &mut Module,
        observer: &mut dyn Observer,
    ) -> Result<(Changed, Vec<Count>), PipelineError> {
        let plans = &self.plans[at..at + elements.iter().map(size).sum::<usize>()];
        let (options, throttle, progress) = (self.options, self.throttle, self.progress.get());
        let group = Group { elements, plans, options, throttle, progress };
        let mut outcome = match within {
            Within::Module if group.may_part() => self.at_once(group, module),
            _ => self.one_by_one(group, within, module),
        };
        align(&mut module.globals, std::mem::take(&mut outcome.aligned));
        outcome.said.sort_by_key(|(order, _)| *order);
        outcome.said.iter().for_each(|(_, said)| said.to(observer));
        if let Some((_, error)) = outcome.error {
            return Err(error);
        }
        self.budget.absorb(outcome.made);
        if let Some((_, last)) = outcome.last {
            self.report.last_rewrite = Some(last);
            self.named_at = self.budget.made();
        }
        self.progress.set(self.progress.get().max(outcome.progress));
        if let Some(preserves) = outcome.preserves {
            self.analyses.retain_of_module(preserves);
        }
        if matches!(within, Within::Module) {
            let ids: Vec<FuncId> = module.functions.keys().collect();
            self.analyses.forget_if_many(ids.len(), &ids);
        }
        Ok((Changed::when(outcome.preserves.is_some()), outcome.counts))
    }

    /// One function after the other.
    fn one_by_one(&mut self, group: Group<'_>, within: Within<'_>, module: &mut Module) -> Outcome {
        let mut outcome = Outcome::default();
        for id in within.functions(module) {
            if module.functions[id].is_definition() && outcome.error.is_none() {
                let budget = self.budget.rest(outcome.made);
                group.run(Place::Module(module), id, self.analyses.of(id), budget, &mut outcome);
            }
        }
        outcome
    }

    /// As many functions at the same time as there are workers.
    fn at_once(&mut self, group: Group<'_>, module: &mut Module) -> Outcome {
        let Module { functions, globals, .. } = module;
        let analyses = self.analyses.of_functions(functions.len());
        let budget = self.budget.rest(0);
        let jobs = functions.iter_mut().zip(analyses).map(|((id, func), analyses)| (id, func, analyses));
        let jobs: Vec<_> = jobs.filter(|(_, func, _)| func.is_definition()).collect();
        let outcomes = self.options.workers.fold(
            jobs,
            |(_, func, _)| func.inst_count(),
            |outcome: &mut Outcome, (id, func, analyses)| {
                group.run(Place::Alone(func, globals), id, analyses, budget.clone(), outcome);
            },
        );
        outcomes.into_iter().fold(Outcome::default(), |mut all, outcome| {
            all.add(outcome);
            all
        })
    }

    fn last_rewrite(&self, element: &Element, module: &Module) -> Option<LastRewrite> {
        let last = self.budget.last()?;
        let function = last.function.and_then(|id| Some(module.functions.get(id)?.name.clone()));
        Some(LastRewrite { pass: element.id(), function, rule: last.rule })
    }

    fn dump(
        &self,
        element: &Element,
        when: &str,
        is_asked: bool,
        within: Within<'_>,
        module: &Module,
        observer: &mut dyn Observer,
    ) {
        let functions = within.functions(module).map(|id| &module.functions[id]);
        for func in functions.filter(|func| is_asked && func.is_definition()) {
            let text = function_to_string(func, Some(module));
            observer.dump(&format!("; {when} {}: {}\n{text}", element.id(), func.name));
        }
    }
}

/// One element on its way over units of a module.
pub(super) struct PassRun<'r, 'a> {
    pub(super) element: &'r Element,
    /// The place of its report.
    pub(super) at: usize,
    pub(super) running: &'r mut Running<'a>,
    pub(super) observer: &'r mut dyn Observer,
}

impl PassRun<'_, '_> {
    /// Functions that the pass does not accept are left out of the component.
    pub(super) fn component(
        &mut self,
        work: &ComponentFn,
        module: &mut Module,
        members: &[FuncId],
    ) -> Result<Changed, PipelineError> {
        let element = self.element;
        let accepted = |id: &FuncId| accepts(element, &module.functions[*id]);
        let members: Vec<FuncId> = members.iter().copied().filter(accepted).collect();
        if members.is_empty() {
            return Ok(Changed::No);
        }
        let insts = members.iter().map(|id| module.functions[*id].inst_count()).sum();
        let ends = self.rules_end();
        self.running.budget.begin(None, insts, ends);
        let claim: Claim<Vec<Function>> =
            Claim::of(|| members.iter().map(|id| module.functions[*id].clone()).collect());
        let mut cx = self.context();
        let changed = work(module, &members, &mut cx);
        let preserves = cx.preserves();
        self.ended(module)?;
        let after: Vec<&Function> = members.iter().map(|id| &module.functions[*id]).collect();
        claim.check(element.name, &after, changed, preserves);
        if changed.is_yes() {
            members.iter().for_each(|id| self.running.analyses.retain_in(*id, preserves));
        }
        self.settle(module, changed, &members)
    }

    pub(super) fn module(&mut self, work: &ModuleFn, module: &mut Module) -> Result<Changed, PipelineError> {
        let (name, insts, ends) = (self.element.name, module.inst_count(), self.rules_end());
        self.running.budget.begin(None, insts, ends);
        let claim = Claim::new(module);
        let mut cx = self.context();
        let changed = work(module, &mut cx);
        let preserves = cx.preserves();
        self.ended(module)?;
        claim.check(name, module, changed, preserves);
        if changed.is_yes() {
            self.running.analyses.retain(preserves);
        }
        let ids: Vec<FuncId> = module.functions.keys().collect();
        self.settle(module, changed, &ids)
    }

    fn context(&mut self) -> ModuleContext<'_> {
        let Running { options, plans, budget, analyses, progress, remarks, objections, aligned, report, .. } =
            &mut *self.running;
        let heard = Heard { remarks, objections, aligned };
        let setting = setting(options, self.element, &plans[self.at], progress, heard);
        ModuleContext::new(setting, analyses, budget, &mut report.passes[self.at].statistics)
    }

    /// Whether rewriting by the rules of the run is known to end.
    fn rules_end(&self) -> bool {
        self.running.options.rules.as_ref().is_none_or(|rules| !rules.may_not_end())
    }

    /// Whether the work on a unit came to its end by itself, without objections.
    fn ended(&self, module: &Module) -> Result<(), PipelineError> {
        raised(self.element.id(), self.running.objections.take())?;
        let budget = &self.running.budget;
        let Some(endless) = budget.endless() else { return Ok(()) };
        let function = budget.last().and_then(|last| last.function).map(|id| module.functions[id].name.clone());
        Err(PipelineError::Endless { pass: self.element.id(), function, endless })
    }

    /// After the work on a unit: what is done to functions that a pass may have changed. Nobody holds numbers of their
    /// instructions then but the analyses.
    fn settle(&mut self, module: &mut Module, changed: Changed, ids: &[FuncId]) -> Result<Changed, PipelineError> {
        if !changed.is_yes() {
            return Ok(changed);
        }
        for id in ids {
            if module.functions[*id].compact_if_sparse() {
                self.running.analyses.renumbered(*id);
            }
        }
        if self.running.options.verify {
            ids.iter().try_for_each(|id| verify(self.element.id(), &module.functions[*id], Some(module)))?;
        }
        Ok(changed)
    }
}
