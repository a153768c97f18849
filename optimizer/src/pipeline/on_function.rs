//! Elements on one function: passes over functions and loops, and nests of them.
//!
//! Nothing here looks at the rest of the module, so several functions may be worked on at the same time. What is
//! counted is added up in an [`Outcome`], in which the order of the functions makes no difference.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use cranelift_entity::PrimaryMap;

use super::choice::Plan;
use super::claim::Claim;
use super::report::{LastRewrite, PassReport, PipelineError};
use super::runner::{Observer, Options, size};
use super::throttle::Throttle;
use oriole_ir::verify::verify_function;
use oriole_ir::{Block, FuncId, Function, Global, Module, Variable, function_to_string};
use oriole_pass::analysis::{Analyses, AnalysisSet, Cfg, LoopNest};
use oriole_pass::pass::{
    Changed, Element, LoopFn, Objection, PassId, PhaseContext, Progress, RewriteBudget, Run, Setting, Statistics, Unit,
};
use oriole_pass::peephole::preparation;

/// The doings of an element, on one function or on several.
#[derive(Clone, Default, Debug)]
pub(super) struct Count {
    ran: bool,
    changed: bool,
    insts_before: usize,
    insts_after: usize,
    rewrites: u64,
    time: Duration,
    rules_time: Duration,
    pub(super) statistics: Statistics,
}

impl Count {
    fn add(&mut self, other: Count) {
        self.ran |= other.ran;
        self.changed |= other.changed;
        self.insts_before += other.insts_before;
        self.insts_after += other.insts_after;
        self.rewrites += other.rewrites;
        self.time += other.time;
        self.rules_time += other.rules_time;
        other.statistics.into_iter().for_each(|(name, count)| *self.statistics.entry(name).or_default() += count);
    }

    /// Adds it to a report. `timed` says whether times were taken.
    pub(super) fn report(self, report: &mut PassReport, timed: bool) {
        if self.ran {
            report.skipped = None;
        }
        report.changed |= Changed::when(self.changed);
        report.insts_before += self.insts_before;
        report.insts_after += self.insts_after;
        report.rewrites += self.rewrites;
        if self.ran && timed {
            *report.time.get_or_insert_default() += self.time;
            *report.rules_time.get_or_insert_default() += self.rules_time;
        }
        let statistics = self.statistics.into_iter();
        statistics.for_each(|(name, count)| *report.statistics.entry(name).or_default() += count);
    }
}

/// A text for observers.
#[derive(Debug)]
pub(super) enum Said {
    Remark(String),
    Dump(String),
}

impl Said {
    pub(super) fn to(&self, observer: &mut dyn Observer) {
        match self {
            Said::Remark(text) => observer.remark(text),
            Said::Dump(text) => observer.dump(text),
        }
    }
}

/// The place of an element among those of its group, and that of a function in the module: what comes first.
type Order = (usize, FuncId);

/// The sum over some functions.
#[derive(Default, Debug)]
pub(super) struct Outcome {
    /// By element, those inside behind their nest.
    pub(super) counts: Vec<Count>,
    /// Changes made.
    pub(super) made: u64,
    /// The last change.
    pub(super) last: Option<(Order, LastRewrite)>,
    /// Texts for observers.
    pub(super) said: Vec<(Order, Said)>,
    /// The error on the first function that has one.
    pub(super) error: Option<(FuncId, PipelineError)>,
    /// Which analyses of the module no change has made untrue; `None` where nothing changed.
    pub(super) preserves: Option<AnalysisSet>,
    /// The variables that have to be aligned wider, and to how many bytes.
    pub(super) aligned: Vec<(Global, u32)>,
    pub(super) progress: Progress,
}

impl Outcome {
    pub(super) fn add(&mut self, other: Outcome) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize_with(other.counts.len(), Count::default);
        }
        self.counts.iter_mut().zip(other.counts).for_each(|(count, other)| count.add(other));
        self.made += other.made;
        self.last = [self.last.take(), other.last].into_iter().flatten().max_by_key(|last| last.0);
        self.said.extend(other.said);
        self.aligned.extend(other.aligned);
        other.error.into_iter().for_each(|(id, error)| self.fail(id, error));
        if let Some(preserves) = other.preserves {
            self.preserve(preserves);
        }
        self.progress = self.progress.max(other.progress);
    }

    fn fail(&mut self, id: FuncId, error: PipelineError) {
        if self.error.as_ref().is_none_or(|(before, _)| id < *before) {
            self.error = Some((id, error));
        }
    }

    fn preserve(&mut self, preserves: AnalysisSet) {
        self.preserves = Some(self.preserves.map_or(preserves, |before| before.intersection(preserves)));
    }
}

/// Where the function is.
pub(super) enum Place<'m> {
    /// In its module.
    Module(&'m mut Module),
    /// On its own, with the variables of the module, while others work on the rest.
    Alone(&'m mut Function, &'m PrimaryMap<Global, Variable>),
}

/// Elements that follow each other, and all that is the same for every function.
#[derive(Clone, Copy)]
pub(super) struct Group<'g> {
    /// The elements, all of which are on functions.
    pub(super) elements: &'g [Element],
    /// The plans of these and of those inside, each nest before its own.
    pub(super) plans: &'g [Plan],
    pub(super) options: &'g Options,
    /// The functions that have the level of the options.
    pub(super) throttle: &'g Throttle,
    /// How far the run had come before the group.
    pub(super) progress: Progress,
}

impl Group<'_> {
    /// Whether several functions may be worked on at the same time.
    pub(super) fn may_part(&self) -> bool {
        let Options { rewrite_limit, verify, time, workers, .. } = self.options;
        let needs_module = *verify || self.plans.iter().any(|plan| plan.dumps_before || plan.dumps_after);
        workers.are_several() && rewrite_limit.is_none() && !needs_module && !*time
    }

    /// Runs the elements on one function.
    pub(super) fn run(
        &self,
        place: Place<'_>,
        id: FuncId,
        analyses: &mut Analyses,
        budget: RewriteBudget,
        outcome: &mut Outcome,
    ) {
        outcome.counts.resize_with(self.plans.len(), Count::default);
        let progress = Cell::new(self.progress);
        let mut run =
            FunctionRun { group: *self, place, id, analyses, budget, progress, at: 0, unnamed_from: 0, outcome };
        let mut at = 0;
        for element in self.elements {
            run.at = at;
            if let Err(error) = run.element(element, at, None) {
                run.outcome.fail(id, error);
                break;
            }
            at += size(element);
        }
        let (made, progress) = (run.budget.made(), run.progress.get());
        outcome.made += made;
        outcome.progress = outcome.progress.max(progress);
    }
}

/// A function on its way through the elements of a group.
struct FunctionRun<'r> {
    group: Group<'r>,
    place: Place<'r>,
    id: FuncId,
    analyses: &'r mut Analyses,
    budget: RewriteBudget,
    progress: Cell<Progress>,
    /// The element at hand.
    at: usize,
    /// The changes whose last one the outcome names.
    unnamed_from: u64,
    outcome: &'r mut Outcome,
}

impl FunctionRun<'_> {
    /// The effective level of the function.
    fn level(&self) -> u8 {
        self.group.throttle.level(self.group.options, &self.func().name)
    }

    fn func(&self) -> &Function {
        match &self.place {
            Place::Module(module) => &module.functions[self.id],
            Place::Alone(func, _) => func,
        }
    }

    /// The function, and what is known about it.
    fn parts(&mut self) -> (&mut Function, &mut Analyses) {
        let func = match &mut self.place {
            Place::Module(module) => &mut module.functions[self.id],
            Place::Alone(func, _) => func,
        };
        (func, self.analyses)
    }

    fn module(&self) -> Option<&Module> {
        match &self.place {
            Place::Module(module) => Some(module),
            Place::Alone(..) => None,
        }
    }

    /// Runs an element, on a loop of the function or on all of it. Its plan is at a place of the group's plans, and
    /// those of the elements inside are behind it.
    fn element(&mut self, element: &Element, at: usize, header: Option<Block>) -> Result<Changed, PipelineError> {
        let (plan, insts) = (&self.group.plans[at], self.func().inst_count());
        let count = &mut self.outcome.counts[at];
        count.insts_before += insts;
        count.insts_after += insts;
        let is_due = plan.skip.is_none() && element.min_opt_level <= self.level();
        let runs = is_due && (!element.inside.is_empty() || accepts(element, self.func()));
        let Some(run) = element.run.as_ref().filter(|_| runs) else { return Ok(Changed::No) };
        self.dump(element, "before", plan.dumps_before);
        // The budget and the clock of the rules run over all passes, so a pass is charged the difference.
        let (made, start) = (self.budget.made(), self.group.options.time.then(Instant::now));
        let prepared = preparation::spent();
        let changed = self.units(run, element, at, header)?;
        let (made, insts_after) = (self.budget.made() - made, self.func().inst_count());
        let count = &mut self.outcome.counts[at];
        count.ran = true;
        if let Some(start) = start {
            let rules = preparation::spent() - prepared;
            count.rules_time += rules;
            count.time += start.elapsed().saturating_sub(rules);
        }
        count.rewrites += made;
        count.insts_after = count.insts_after - insts + insts_after;
        count.changed |= changed.is_yes();
        self.name_last(element);
        self.dump(element, "after", plan.dumps_after);
        Ok(changed)
    }

    /// Names the last change, which the innermost element with it does.
    fn name_last(&mut self, element: &Element) {
        let Some(last) = self.budget.last().filter(|_| self.budget.made() > self.unnamed_from) else { return };
        self.unnamed_from = self.budget.made();
        let order = (self.at, self.id);
        if self.outcome.last.as_ref().is_none_or(|(before, _)| *before <= order) {
            let function = Some(self.func().name.clone());
            self.outcome.last = Some((order, LastRewrite { pass: element.id(), function, rule: last.rule }));
        }
    }

    fn dump(&mut self, element: &Element, when: &str, is_asked: bool) {
        if is_asked {
            let text = function_to_string(self.func(), self.module());
            let said = Said::Dump(format!("; {when} {}: {}\n{text}", element.id(), self.func().name));
            self.outcome.said.push(((self.at, self.id), said));
        }
    }

    fn units(
        &mut self,
        run: &Run,
        element: &Element,
        at: usize,
        header: Option<Block>,
    ) -> Result<Changed, PipelineError> {
        match (run, header) {
            (Run::Function(work), _) => self.function(element, at, &**work),
            (Run::Loop(work), Some(header)) => self.function(element, at, &on_loop(&**work, header)),
            (Run::Loop(work), None) => self.loops(element, at, &**work),
            (Run::Sequence(runs), _) => {
                let mut units = runs.iter().map(|run| self.units(run, element, at, header));
                units.try_fold(Changed::No, |all, changed| Ok(all | changed?))
            }
            (Run::Nest(Unit::Loop), None) => self.loop_nest(element, at),
            (Run::Nest(_), _) => self.inside(element, at, header),
            // What looks at more is not in a group.
            (Run::Module(_) | Run::Component(_), _) => Ok(Changed::No),
        }
    }

    /// The elements inside, for one loop after the other, inner loops first.
    fn loop_nest(&mut self, element: &Element, at: usize) -> Result<Changed, PipelineError> {
        let mut changed = Changed::No;
        for header in self.headers() {
            let (func, analyses) = self.parts();
            if is_header(func, header, analyses) {
                changed |= self.inside(element, at, Some(header))?;
            }
        }
        Ok(changed)
    }

    fn inside(&mut self, element: &Element, at: usize, header: Option<Block>) -> Result<Changed, PipelineError> {
        let (mut at, mut changed) = (at + 1, Changed::No);
        for inner in &element.inside {
            changed |= self.element(inner, at, header)?;
            at += size(inner);
        }
        Ok(changed)
    }

    fn headers(&mut self) -> Vec<Block> {
        let (func, analyses) = self.parts();
        headers(func, analyses)
    }

    fn function(
        &mut self,
        element: &Element,
        at: usize,
        work: &dyn Fn(&mut Function, &mut PhaseContext<'_>) -> Changed,
    ) -> Result<Changed, PipelineError> {
        if !accepts(element, self.func()) {
            return Ok(Changed::No);
        }
        let claim = Claim::new(self.func());
        let (changed, preserves) = self.unclaimed(element, at, work)?;
        claim.check(element.name, self.func(), changed, preserves);
        self.settle(element, changed)
    }

    /// Inner loops before those around them. A loop that an earlier one's change has ended is left out. What is claimed
    /// is checked once for all loops, since a copy of the function for each of many would cost their product.
    fn loops(&mut self, element: &Element, at: usize, work: &LoopFn) -> Result<Changed, PipelineError> {
        if !accepts(element, self.func()) {
            return Ok(Changed::No);
        }
        let (claim, mut all) = (Claim::new(self.func()), Changed::No);
        for header in self.headers() {
            all |= self.unclaimed(element, at, &on_loop(work, header))?.0;
        }
        claim.check(element.name, self.func(), all, element.preserves);
        self.settle(element, all)
    }

    /// The work on the function, with what it says that it preserves; nobody looks at either yet.
    fn unclaimed(
        &mut self,
        element: &Element,
        at: usize,
        work: &dyn Fn(&mut Function, &mut PhaseContext<'_>) -> Changed,
    ) -> Result<(Changed, AnalysisSet), PipelineError> {
        let opt_level = self.level();
        let FunctionRun { group, place, id, analyses, budget, progress, outcome, .. } = self;
        let (remarks, objections) = (RefCell::default(), RefCell::default());
        let aligned = RefCell::default();
        let heard = Heard { remarks: &remarks, objections: &objections, aligned: &aligned };
        let setting = setting(group.options, element, &group.plans[at], progress, heard);
        let (func, variables) = match place {
            Place::Module(module) => (&mut module.functions[*id], &module.globals),
            Place::Alone(func, variables) => (&mut **func, *variables),
        };
        let setting = Setting { variables: Some(variables), opt_level, ..setting };
        let statistics = &mut outcome.counts[at].statistics;
        let (changed, preserves) = setting.on_function(*id, func, analyses, budget, statistics, work);
        outcome.aligned.extend(aligned.into_inner());
        let remarks = remarks.into_inner().into_iter();
        let said = remarks.map(|what| ((self.at, *id), Said::Remark(format!("{}: {what}", element.id()))));
        outcome.said.extend(said);
        if changed.is_yes() {
            outcome.preserve(preserves);
        }
        raised(element.id(), objections.into_inner())?;
        match self.budget.endless() {
            None => Ok((changed, preserves)),
            Some(endless) => {
                Err(PipelineError::Endless { pass: element.id(), function: Some(self.func().name.clone()), endless })
            }
        }
    }

    /// After work: what is done to a function that a pass may have changed. Nobody holds numbers of its instructions
    /// then but the analyses.
    fn settle(&mut self, element: &Element, changed: Changed) -> Result<Changed, PipelineError> {
        if changed.is_yes() {
            let (func, analyses) = self.parts();
            if func.compact_if_sparse() {
                analyses.renumbered();
            }
        }
        if element.verifies || changed.is_yes() && self.group.options.verify {
            verify(element.id(), self.func(), self.module())?;
        }
        Ok(changed)
    }
}

/// Where a pass says something.
#[derive(Clone, Copy)]
pub(super) struct Heard<'s> {
    pub(super) remarks: &'s RefCell<Vec<String>>,
    pub(super) objections: &'s RefCell<Vec<Objection>>,
    pub(super) aligned: &'s RefCell<Vec<(Global, u32)>>,
}

/// # Errors
///
/// The objections of a pass, where there are some.
pub(super) fn raised(pass: PassId, objections: Vec<Objection>) -> Result<(), PipelineError> {
    if objections.is_empty() { Ok(()) } else { Err(PipelineError::Refused { pass, objections }) }
}

/// The settings of a run for one element.
pub(super) fn setting<'s>(
    options: &'s Options,
    element: &'s Element,
    plan: &'s Plan,
    progress: &'s Cell<Progress>,
    heard: Heard<'s>,
) -> Setting<'s> {
    Setting {
        knobs: &options.knobs,
        pass_options: &options.pass_options,
        target: options.target,
        opt_level: options.opt_level,
        rules: options.rules.as_ref(),
        arguments: &element.arguments,
        sub_passes: &plan.sub_passes,
        preserves: element.preserves,
        progress,
        remarks: heard.remarks,
        objections: heard.objections,
        aligned: heard.aligned,
        variables: None,
    }
}

/// # Errors
///
/// The rules that a pass has broken.
pub(super) fn verify(pass: PassId, func: &Function, module: Option<&Module>) -> Result<(), PipelineError> {
    verify_function(func, module).map_err(|violations| PipelineError::Invalid {
        pass,
        function: func.name.clone(),
        violations,
    })
}

/// Whether a function has a body of a level and form that the pass accepts.
pub(super) fn accepts(element: &Element, func: &Function) -> bool {
    func.is_definition() && element.needs.met_by(func)
}

/// Work on the loop with a header, if it is still the header of one.
fn on_loop(work: &LoopFn, header: Block) -> impl Fn(&mut Function, &mut PhaseContext<'_>) -> Changed + '_ {
    move |func, cx| match is_header(func, header, cx.analyses) {
        true => work(func, header, cx),
        false => Changed::No,
    }
}

/// Loops times instructions of a function, at most, for passes over its loops. A pass that changes a loop may look at
/// the whole function, so that many loops in much code would take the product of both; they are left as they are.
const LOOP_WORK: usize = 1 << 22;

/// The headers of the loops of a function, inner loops first; none where there is too much to do.
fn headers(func: &Function, analyses: &mut Analyses) -> Vec<Block> {
    let nest = analyses.get::<LoopNest>(func);
    if nest.loops().count().saturating_mul(func.inst_count()) > LOOP_WORK {
        return Vec::new();
    }
    nest.loops().rev().map(|of| nest.header(of)).collect()
}

/// Whether a block is the header of a loop.
fn is_header(func: &Function, block: Block, analyses: &mut Analyses) -> bool {
    let (cfg, nest) = (analyses.get::<Cfg>(func), analyses.get::<LoopNest>(func));
    nest.innermost(&cfg, block).is_some_and(|of| nest.header(of) == block)
}
