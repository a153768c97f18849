//! Oriole's own compiler: the pipeline of a level, then code of the machine, stage by stage.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oriole_ir::sm::Target;
use oriole_ir::{FuncId, Function, Module};
use oriole_optimizer::codegen::allocate::Allocation;
use oriole_optimizer::codegen::compile::{self, Allocated, Made, Options, Output, Stage, Tuning, Watch, compile_with};
use oriole_optimizer::codegen::select::Selected;
use oriole_optimizer::codegen::sequences;
use oriole_optimizer::pass::Statistics;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::nvopt::{Level, Nvopt};
use oriole_optimizer::pipeline::runner::{self, run_passes};
use oriole_optimizer::ssa;
use oriole_reference::allocation::{self, Outside};
use oriole_sass::cubin::Cubin;
use oriole_sass::ori;

use super::{Axis, Code, CompileError, Effort};
use crate::inject::FaultSpec;
use crate::input::read_ptx;
use crate::supervise::{Panic, StepId, catch, enter, within};

/// Oriole's own compiler.
#[derive(Clone, Debug)]
pub struct Own {
    /// How long it may take.
    pub patience: Duration,
    /// Whether the work of each stage is executed, and not that of a finding alone.
    pub every_stage: bool,
    /// Faults that are planted in its stages.
    pub faults: Vec<FaultSpec>,
    /// The knobs of code generation.
    pub tuning: Tuning,
}

impl Own {
    /// The compiler without faults, whose stages are looked at where its code is wrong.
    pub fn new(patience: Duration) -> Own {
        Own { patience, every_stage: false, faults: Vec::new(), tuning: Tuning::default() }
    }

    /// Compiles files of PTX, each by itself.
    pub fn compile_all(&self, files: &[PathBuf], axis: &Axis) -> Vec<Code> {
        let code = |file: &PathBuf| {
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| CompileError::Start { tool: file.clone(), error })?;
            self.compile_text(&text, axis).map(Arc::new)
        };
        files.iter().map(code).collect()
    }

    /// Compiles a text.
    ///
    /// # Errors
    ///
    /// If something in it is not compiled yet, the compiler panics, or does not end.
    pub fn compile_text(&self, text: &str, axis: &Axis) -> Result<Cubin, CompileError> {
        self.attempt(text, axis, false).code
    }

    /// Compiles a text, and keeps the work of each stage.
    pub fn stages(&self, text: &str, axis: &Axis) -> Attempt {
        self.attempt(text, axis, true)
    }

    fn attempt(&self, text: &str, axis: &Axis, keeps: bool) -> Attempt {
        let (text, axis, own) = (text.to_owned(), axis.clone(), self.clone());
        let work = move || {
            let _running = enter(StepId::CodeGeneration);
            let mut log = Log { faults: own.faults, tuning: own.tuning, keeps, ..Log::default() };
            let code =
                catch(|| made(&text, &axis, &mut log)).unwrap_or_else(|panic| Err(CompileError::Panicked(panic)));
            let Log { last, planted, kept, encoding, .. } = log;
            Attempt { code, last, planted, kept, encoding }
        };
        within(self.patience, work).unwrap_or_else(|_| Attempt::hanging(self.patience))
    }
}

/// The pipeline that runs before code is generated, in a way to compile; none where nothing runs.
pub fn pipeline(axis: &Axis) -> Result<Option<Pipeline>, CompileError> {
    let level = match axis.effort {
        Effort::Level(level) => Level::named(&format!("O{level}")),
        Effort::Fast(fast) => Level::named(&format!("Ofc{}", fast.name())),
    };
    let level = level.ok_or_else(|| CompileError::NotCompiled(format!("no level `{}`", axis.effort)))?;
    let phases = level.of_phases();
    Ok((phases > 0).then(|| Nvopt::new(level).before_phases(phases)))
}

/// A compilation: the code, and what its stages have made.
#[derive(Debug)]
pub struct Attempt {
    /// The code.
    pub code: Result<Cubin, CompileError>,
    /// The last thing that was done: where it panics, the next stage is the guilty one.
    pub last: Option<Done>,
    /// Faults that were planted, as counters.
    pub planted: Statistics,
    /// The work of the stages, where it was kept.
    pub kept: Kept,
    /// The first word that decodes to something else than it was made of.
    pub encoding: Option<String>,
}

/// The part of a compilation that is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// The text is read.
    Read,
    /// The passes and phases of the level have run.
    Optimized,
    /// A stage is done with a function.
    Stage(Stage),
}

impl Attempt {
    fn hanging(patience: Duration) -> Attempt {
        let code = Err(CompileError::Hangs(patience));
        Attempt { code, last: None, planted: Statistics::new(), kept: Kept::default(), encoding: None }
    }
}

/// The kernel and the function, and what is known of the latter.
pub type Of<T> = Vec<((FuncId, FuncId), T)>;

/// The work of the stages.
#[derive(Debug, Default)]
pub struct Kept {
    /// The program as it is read, in SSA form.
    pub read: Module,
    /// The program that code is made of, in SSA form.
    pub optimized: Module,
    /// Functions in virtual form, with bodies in the place of what the machine lacks.
    pub expanded: Of<Function>,
    /// Selected functions.
    pub selected: Of<Selected>,
    /// The same with their blocks in order.
    pub arranged: Of<Selected>,
    /// The same with values where instructions of several words want them.
    pub joined: Of<Selected>,
    /// The same with the instructions of each block in order.
    pub ordered: Of<Selected>,
    /// Functions with registers of the machine.
    pub allocated: Of<Allocation>,
    /// The same with the instructions of each block in order, once more.
    pub reordered: Of<Function>,
    /// The same with scheduling control.
    pub scheduled: Of<Function>,
}

/// The traces of a compilation as it runs.
#[derive(Default)]
struct Log {
    faults: Vec<FaultSpec>,
    tuning: Tuning,
    keeps: bool,
    last: Option<Done>,
    planted: Statistics,
    kept: Kept,
    encoding: Option<String>,
    target: Option<Target>,
}

impl Log {
    /// Plants the faults of a stage in a function.
    fn plant(&mut self, stage: Stage, func: &mut Function) {
        let own: Vec<FaultSpec> =
            self.faults.iter().filter(|fault| fault.step == StepId::Stage(stage)).copied().collect();
        for fault in own {
            let mut alone = Module::default();
            let id = alone.functions.push(func.clone());
            fault.make(&mut alone, &mut self.planted);
            func.clone_from(&alone.functions[id]);
        }
    }

    /// Plants the faults of the encoder: words of another function than it was given.
    fn plant_words(&mut self, func: &Function, words: &mut Vec<u128>) {
        let mut other = func.clone();
        self.plant(Stage::Encode, &mut other);
        let Some(target) = self.target.filter(|_| other != *func) else { return };
        let mut alone = Module { target: target.to_string(), ..Module::default() };
        let id = alone.functions.push(other);
        if let Ok(faulty) = ori::lower(&alone, id)
            && faulty.len() == words.len()
        {
            *words = faulty;
        }
    }
}

impl Watch for Log {
    fn made(&mut self, kernel: FuncId, function: FuncId, made: Made<'_>) {
        let (at, stage) = ((kernel, function), made.stage());
        let keeps = self.keeps;
        match made {
            Made::Expanded(func) => {
                self.plant(stage, func);
                self.kept.expanded.extend(keeps.then(|| (at, func.clone())));
            }
            Made::Selected(selected) => {
                self.plant(stage, &mut selected.func);
                self.kept.selected.extend(keeps.then(|| (at, selected.clone())));
            }
            Made::Arranged(selected) => {
                self.plant(stage, &mut selected.func);
                self.kept.arranged.extend(keeps.then(|| (at, selected.clone())));
            }
            Made::Joined(selected) => {
                self.plant(stage, &mut selected.func);
                self.kept.joined.extend(keeps.then(|| (at, selected.clone())));
            }
            Made::Ordered(selected) => {
                self.plant(stage, &mut selected.func);
                self.kept.ordered.extend(keeps.then(|| (at, selected.clone())));
            }
            Made::Allocated(allocation) => {
                self.plant(stage, &mut allocation.func);
                self.kept.allocated.extend(keeps.then(|| (at, allocation.clone())));
            }
            Made::Reordered(func) => {
                self.plant(stage, func);
                self.kept.reordered.extend(keeps.then(|| (at, func.clone())));
            }
            Made::Scheduled(func) => {
                self.plant(stage, func);
                self.kept.scheduled.extend(keeps.then(|| (at, func.clone())));
            }
            Made::Encoded(func, words) => {
                self.plant_words(func, words);
                if let Some(target) = self.target
                    && self.encoding.is_none()
                {
                    self.encoding = super::words::differing(func, words, target.number());
                }
            }
        }
        self.last = Some(Done::Stage(stage));
    }
}

/// The code of a text.
fn made(text: &str, axis: &Axis, log: &mut Log) -> Result<Cubin, CompileError> {
    let refused = |said: String| CompileError::NotCompiled(said);
    let mut module = read_ptx(text).map_err(|faults| refused(faults.iter().map(ToString::to_string).collect()))?;
    let target: Target = axis.arch.parse().map_err(|_| refused(format!("no SM `{}`", axis.arch)))?;
    module.target = target.to_string();
    if ssa::is_virtual(&module) {
        ssa::construct_module(&mut module);
    }
    (log.target, log.last) = (Some(target), Some(Done::Read));
    if log.keeps {
        log.kept.read.clone_from(&module);
    }
    let pipeline = pipeline(axis)?;
    let keeps_order = pipeline.is_none();
    if let Some(mut pipeline) = pipeline {
        let options = runner::Options::new(target);
        log.faults.iter().for_each(|fault| fault.plant(&mut pipeline));
        let ran = run_passes(&pipeline, &mut module, &options, &mut ()).map_err(|error| refused(error.to_string()))?;
        for (name, count) in ran.passes.into_iter().flat_map(|pass| pass.statistics) {
            *log.planted.entry(name).or_default() += count;
        }
    }
    if !keeps_order {
        sequences::add(&mut module);
    }
    log.last = Some(Done::Optimized);
    if log.keeps {
        log.kept.optimized.clone_from(&module);
    }
    let options = Options {
        max_registers: axis.max_registers(),
        keeps_order,
        keeps_allocations: true,
        tuning: log.tuning,
        ..Options::default()
    };
    let Output { cubin, allocations, .. } =
        compile_with(&module, target, options, log).map_err(|error| match error {
            compile::CompileError::Internal { .. } => fault(error.to_string()),
            other => refused(other.to_string()),
        })?;
    for Allocated { before, after, stack, given, passed, sequences, origins, results } in &allocations {
        let sequences: Vec<_> = sequences.iter().map(|(id, func)| (*id, func)).collect();
        let outside = Outside { stack: *stack, results, given, passed, sequences: &sequences };
        if let Some(wrong) = allocation::check(before, after, outside, &|inst| origins[inst]).first() {
            return Err(CompileError::Misplaced(format!("{}, {wrong}", before.name)));
        }
    }
    if let Some(what) = &log.encoding {
        return Err(CompileError::Miswritten(what.clone()));
    }
    Ok(Cubin::read(&cubin)?)
}

/// A fault that the compiler itself reports.
fn fault(message: String) -> CompileError {
    CompileError::Panicked(Panic { message, place: None })
}
