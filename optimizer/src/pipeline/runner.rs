//! The runner: passes in the order of a list, each over every unit of a module that it accepts.
//!
//! Everything that is not a pass's own business happens here: which passes run and why the others do not, verification
//! after each change, what is known about functions and for how long, dumps, times, statistics, and the limits that
//! bisection sets. A list may hold passes that stand in no table.
//!
//! A panic inside a pass is left to the caller, who knows how to replay it.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use super::choice::Choice;
use super::claim::Claim;
pub use super::report::{LastRewrite, PhaseReport, PipelineError, Report, SkipReason};
use super::table::{PHASES, UnknownPhase};
use crate::analysis::{Analyses, CallGraph, Cfg, LoopNest, ModuleAnalyses};
use crate::pass::{
    Changed, ComponentFn, Knobs, LoopFn, ModuleContext, ModuleFn, Pass, PhaseContext, Progress, RewriteBudget, Run,
    Setting, Statistics, SubPasses,
};
use crate::peephole::{RuleSet, preparation};
use oriole_ir::sm::Target;
use oriole_ir::verify::verify_function;
use oriole_ir::{Block, FuncId, Function, Module, function_to_string};

/// The phases of the table, planned ones included.
pub fn default_phases() -> Vec<Pass> {
    PHASES.to_vec()
}

/// What a run does beside the phases.
#[derive(Clone, Debug)]
pub struct Options {
    /// The optimization level, 0 to 3.
    pub opt_level: u8,
    /// The knobs.
    pub knobs: Knobs,
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
}

impl Options {
    /// Level 3 for a target, everything else at its default.
    pub fn new(target: Target) -> Options {
        Options {
            opt_level: 3,
            knobs: Knobs::new(),
            target,
            disabled: Vec::new(),
            dump: Vec::new(),
            verify: false,
            trusted: false,
            stop_after: None,
            rewrite_limit: None,
            time: false,
            rules: None,
        }
    }
}

/// Watches a run. Every method does nothing unless it is written.
pub trait Observer {
    /// Before a phase runs; not called for phases that are skipped.
    fn before(&mut self, _position: usize, _pass: &Pass, _module: &Module) {}

    /// After it ran.
    fn after(&mut self, _position: usize, _pass: &Pass, _module: &Module, _changed: Changed) {}

    /// A function's text around a phase that [`Options::dump`] names: a heading, then `.ori`.
    fn dump(&mut self, _text: &str) {}
}

/// Watches nothing.
impl Observer for () {}

/// Runs the phases of the table.
pub fn run(module: &mut Module, options: &Options, observer: &mut dyn Observer) -> Result<Report, PipelineError> {
    run_phases(&default_phases(), module, options, observer)
}

/// Runs a list of passes.
pub fn run_phases(
    passes: &[Pass],
    module: &mut Module,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Report, PipelineError> {
    run_phases_with(passes, module, options, observer, &mut Known::default())
}

/// What is known about a module from the passes that made it.
#[derive(Clone, Debug, Default)]
pub struct Known {
    analyses: ModuleAnalyses,
    /// What the passes ran under, as far as that decides which work finds nothing to change.
    setting: Option<(Knobs, Target, Option<Arc<RuleSet>>)>,
}

impl Known {
    /// What of it holds for passes under these options.
    fn under(&mut self, options: &Options) -> &mut ModuleAnalyses {
        let Options { knobs, target, rules, .. } = options;
        let same_rules =
            |other: &Option<Arc<RuleSet>>| other.as_ref().map(Arc::as_ptr) == rules.as_ref().map(Arc::as_ptr);
        let same = |setting: &(Knobs, Target, _)| setting.0 == *knobs && setting.1 == *target && same_rules(&setting.2);
        if !self.setting.as_ref().is_some_and(same) {
            self.analyses.unsettle();
            self.setting = Some((knobs.clone(), *target, rules.clone()));
        }
        &mut self.analyses
    }
}

/// Runs a list of passes with what is known about the module from passes before; behind them, `known` is about the
/// module that they left. After an error it is about none and must be dropped.
pub fn run_phases_with(
    passes: &[Pass],
    module: &mut Module,
    options: &Options,
    observer: &mut dyn Observer,
    known: &mut Known,
) -> Result<Report, PipelineError> {
    let choice = Choice::new(passes, options)?;
    if options.verify && !options.trusted {
        verify_input(module)?;
    }
    let mut running = Running {
        options,
        choice,
        budget: RewriteBudget::new(options.rewrite_limit),
        analyses: known.under(options),
        progress: Cell::default(),
        report: Report::default(),
    };
    for (position, pass) in passes.iter().enumerate() {
        let report = running.pass(position, pass, module, observer)?;
        running.report.phases.push(report);
    }
    running.report.rewrites = running.budget.made();
    running.report.progress = running.progress.get();
    Ok(running.report)
}

/// Why phases of a list do not run, whatever the module is; `None` for those that do.
pub fn skips(passes: &[Pass], options: &Options) -> Result<Vec<Option<SkipReason>>, UnknownPhase> {
    let choice = Choice::new(passes, options)?;
    Ok(passes.iter().enumerate().map(|(position, pass)| choice.skip(pass, position, options)).collect())
}

fn verify_input(module: &Module) -> Result<(), PipelineError> {
    for func in module.functions.values() {
        verify_function(func, Some(module))
            .map_err(|violations| PipelineError::InvalidInput { function: func.name.clone(), violations })?;
    }
    Ok(())
}

/// A run under way.
struct Running<'a> {
    options: &'a Options,
    choice: Choice,
    budget: RewriteBudget,
    analyses: &'a mut ModuleAnalyses,
    progress: Cell<Progress>,
    report: Report,
}

impl Running<'_> {
    fn pass(
        &mut self,
        position: usize,
        pass: &Pass,
        module: &mut Module,
        observer: &mut dyn Observer,
    ) -> Result<PhaseReport, PipelineError> {
        let insts = module.inst_count();
        let mut report = PhaseReport {
            position,
            name: pass.name,
            number: pass.number,
            skipped: self.choice.skip(pass, position, self.options),
            changed: Changed::No,
            insts_before: insts,
            insts_after: insts,
            rewrites: 0,
            time: None,
            rules_time: None,
            statistics: Statistics::new(),
        };
        if report.skipped.is_none() && !module.functions.values().any(|func| accepts(pass, func)) {
            report.skipped = Some(SkipReason::Form);
        }
        // A pass that is skipped is neither observed nor dumped, and its report says why.
        let Some(run) = pass.run().filter(|_| report.skipped.is_none()) else { return Ok(report) };
        observer.before(position, pass, module);
        self.dump(pass, "before", module, observer);
        // The budget and the clock of the rules run over all passes, so a pass is charged the difference.
        let (made, start) = (self.budget.made(), self.options.time.then(Instant::now));
        let prepared = preparation::spent();
        let mut pass_run =
            PassRun { pass, sub_passes: self.choice.sub_passes(pass), running: self, report: &mut report };
        pass_run.units(run, module)?;
        if let Some(start) = start {
            let rules = preparation::spent() - prepared;
            report.rules_time = Some(rules);
            report.time = Some(start.elapsed().saturating_sub(rules));
        }
        report.rewrites = self.budget.made() - made;
        report.insts_after = module.inst_count();
        if report.rewrites > 0 {
            self.report.last_rewrite = self.last_rewrite(pass, module);
        }
        self.dump(pass, "after", module, observer);
        observer.after(position, pass, module, report.changed);
        Ok(report)
    }

    fn last_rewrite(&self, pass: &Pass, module: &Module) -> Option<LastRewrite> {
        let last = self.budget.last()?;
        let function = last.function.map(|id| module.functions[id].name.clone());
        Some(LastRewrite { phase: pass.name, function, rule: last.rule })
    }

    fn dump(&self, pass: &Pass, when: &str, module: &Module, observer: &mut dyn Observer) {
        if !self.choice.dumps(pass) {
            return;
        }
        for func in module.functions.values().filter(|func| func.is_definition()) {
            let text = function_to_string(func, Some(module));
            observer.dump(&format!("; {when} {}: {}\n{text}", pass.name, func.name));
        }
    }
}

/// One pass on its way over the units of a module.
struct PassRun<'r, 'a> {
    pass: &'r Pass,
    sub_passes: SubPasses,
    running: &'r mut Running<'a>,
    report: &'r mut PhaseReport,
}

impl PassRun<'_, '_> {
    fn units(&mut self, run: &Run, module: &mut Module) -> Result<(), PipelineError> {
        match run {
            Run::Module(work) => self.module(&**work, module),
            Run::Component(work) => {
                let graph = self.running.analyses.get::<CallGraph>(module);
                graph.bottom_up().try_for_each(|members| self.component(&**work, module, members))
            }
            Run::Loop(work) => {
                let ids: Vec<FuncId> = module.functions.keys().collect();
                ids.into_iter().try_for_each(|id| self.loops(&**work, module, id))
            }
            Run::Function(work) => {
                let ids: Vec<FuncId> = module.functions.keys().collect();
                ids.into_iter().try_for_each(|id| self.function(&**work, module, id))
            }
            Run::Sequence(runs) => runs.iter().try_for_each(|run| self.units(run, module)),
        }
    }

    fn function(
        &mut self,
        work: &dyn Fn(&mut Function, &mut PhaseContext<'_>) -> Changed,
        module: &mut Module,
        id: FuncId,
    ) -> Result<(), PipelineError> {
        let pass = self.pass;
        if !accepts(pass, &module.functions[id]) {
            return Ok(());
        }
        let claim = Claim::new(&module.functions[id]);
        let mut preserves = pass.preserves;
        let changed = self.context().function(module, id, |func, cx| {
            let changed = work(func, cx);
            preserves = cx.preserves();
            changed
        });
        self.ended(module)?;
        claim.check(pass.name, &module.functions[id], changed, preserves);
        self.settle(module, changed, &[id])
    }

    /// Inner loops before those around them. A loop that an earlier one's change has ended is left out.
    fn loops(&mut self, work: &LoopFn, module: &mut Module, id: FuncId) -> Result<(), PipelineError> {
        if !accepts(self.pass, &module.functions[id]) {
            return Ok(());
        }
        let nest = self.running.analyses.of(id).get::<LoopNest>(&module.functions[id]);
        nest.loops().rev().map(|of| nest.header(of)).try_for_each(|header| {
            let still = |func: &mut Function, cx: &mut PhaseContext<'_>| match is_header(func, header, cx.analyses) {
                true => work(func, header, cx),
                false => Changed::No,
            };
            self.function(&still, module, id)
        })
    }

    /// Functions that the pass does not accept are left out of the component.
    fn component(&mut self, work: &ComponentFn, module: &mut Module, members: &[FuncId]) -> Result<(), PipelineError> {
        let pass = self.pass;
        let members: Vec<FuncId> = members.iter().copied().filter(|id| accepts(pass, &module.functions[*id])).collect();
        if members.is_empty() {
            return Ok(());
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
        claim.check(pass.name, &after, changed, preserves);
        if changed.is_yes() {
            members.iter().for_each(|id| self.running.analyses.retain_in(*id, preserves));
        }
        self.settle(module, changed, &members)
    }

    fn module(&mut self, work: &ModuleFn, module: &mut Module) -> Result<(), PipelineError> {
        let (name, insts, ends) = (self.pass.name, module.inst_count(), self.rules_end());
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
        let Running { options, budget, analyses, progress, .. } = &mut *self.running;
        let setting = Setting {
            knobs: &options.knobs,
            target: options.target,
            opt_level: options.opt_level,
            rules: options.rules.as_ref(),
            arguments: &self.pass.arguments,
            sub_passes: &self.sub_passes,
            preserves: self.pass.preserves,
            progress,
        };
        ModuleContext::new(setting, analyses, budget, &mut self.report.statistics)
    }

    /// Whether rewriting by the rules of the run is known to end.
    fn rules_end(&self) -> bool {
        self.running.options.rules.as_ref().is_none_or(|rules| !rules.may_not_end())
    }

    /// Whether the work on a unit came to its end by itself.
    fn ended(&self, module: &Module) -> Result<(), PipelineError> {
        let budget = &self.running.budget;
        let Some(endless) = budget.endless() else { return Ok(()) };
        let function = budget.last().and_then(|last| last.function).map(|id| module.functions[id].name.clone());
        Err(PipelineError::Endless { phase: self.pass.name, function, endless })
    }

    /// After the work on a unit: what is done to functions that a pass may have changed. Nobody holds numbers of their
    /// instructions then but the analyses.
    fn settle(&mut self, module: &mut Module, changed: Changed, ids: &[FuncId]) -> Result<(), PipelineError> {
        if !changed.is_yes() {
            return Ok(());
        }
        self.report.changed = Changed::Yes;
        for id in ids {
            if module.functions[*id].compact_if_sparse() {
                self.running.analyses.renumbered(*id);
            }
        }
        if !self.running.options.verify {
            return Ok(());
        }
        ids.iter().try_for_each(|id| verify(self.pass.name, module, *id))
    }
}

fn verify(phase: &'static str, module: &Module, id: FuncId) -> Result<(), PipelineError> {
    let func = &module.functions[id];
    verify_function(func, Some(module)).map_err(|violations| PipelineError::Invalid {
        phase,
        function: func.name.clone(),
        violations,
    })
}

/// Whether a block is the header of a loop.
fn is_header(func: &Function, block: Block, analyses: &mut Analyses) -> bool {
    let (cfg, nest) = (analyses.get::<Cfg>(func), analyses.get::<LoopNest>(func));
    nest.innermost(&cfg, block).is_some_and(|of| nest.header(of) == block)
}

/// Whether a function has a body of a level and form that the pass accepts.
fn accepts(pass: &Pass, func: &Function) -> bool {
    func.is_definition() && pass.needs.met_by(func)
}
