//! The check of a compiler: kernels as it makes them, executed and compared with what they say.
//!
//! Many kernels go through one process of the compiler ([`Ptxas::compile_all`](crate::compiler::Ptxas::compile_all)),
//! each as a file of its own whose symbols get names of their own. The words of each are executed on the launches of
//! the kernel ([`Judge::judge_code`](crate::judge::Judge::judge_code)), on every axis. What differs is reduced as PTX
//! with the compiler in the loop ([`fault`]), and known by what is left ([`signature`]); [`report`] makes something of
//! it that can be handed on. [`aligned`] has both executions of the thread that went wrong side by side.
//!
//! Of our own compiler the work of each stage is judged, too, and a finding is that of the guilty one ([`stages`]).
//! Code that ptxas makes of the same kernel may be a third opinion ([`three_ways`]).

pub mod aligned;
pub mod answer;
pub mod fault;
mod naming;
mod prepare;
pub mod report;
pub mod signature;
mod slice;
mod stages;
mod three_ways;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oriole_gpu::Gpu;
use oriole_interp::Executable;
use oriole_ir::ops::{Opcode, Type};
use oriole_ir::sm::Target;
use oriole_ir::{InstData, Module};
use oriole_optimizer::pass::Statistics;
use oriole_sass::cubin::Cubin;

use crate::cases::{Case, first_runs};
use crate::compiler::{Axis, Code, CompileError, Effort, Machine, Ptxas, Tool};
use crate::in_place;
use crate::inject::FaultSpec;
use crate::input::{NamedLaunch, write_ptx};
use crate::judge::Verdict;
use crate::judge::code::Executor;
use crate::report::{Evidence, Finding, KernelReport, StepLine};
use crate::supervise::StepId;
use crate::{CheckError, CheckOptions};
use answer::{Answer, Judged, compare_refusals};
use prepare::{Prepared, prepare};
use stages::{Guilty, Stages, Subject};
use three_ways::Opinion;

/// A compiler, and how it compiles.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The tool.
    pub tool: Tool,
    /// The ways to compile, one or more.
    pub axes: Vec<Axis>,
    /// Its version, as it says.
    pub version: String,
    /// A GPU on which the code runs, too.
    pub gpu: Option<Arc<Gpu>>,
    /// Whether phases over its code are judged in its place. One that takes longer does not end.
    pub phases: Option<Duration>,
    /// A compiler whose code of the same kernels says who is wrong, where code of our own differs ([`three_ways`]).
    pub witness: Option<Ptxas>,
}

/// A kernel with its launches.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name in reports.
    pub name: String,
    /// The module.
    pub module: Module,
    /// Its launches.
    pub launches: Vec<NamedLaunch>,
}

/// What is known of a kernel.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The report, as of a check of our own steps.
    pub report: KernelReport,
    /// The answer of each axis; none where the kernel itself says nothing, and where phases are judged.
    pub axes: Vec<Judged>,
    /// Why code was not judged, where some was not.
    pub unjudged: Option<String>,
}

/// Why there is no code on an axis.
#[derive(Debug, thiserror::Error)]
#[error("{axis}: {error}")]
struct NoCode {
    axis: Axis,
    error: CompileError,
}

impl Compiler {
    /// Checks kernels: a report and the answers of all axes for each. Faults of the options that name this step are
    /// planted in what is compiled.
    ///
    /// # Errors
    ///
    /// For all of them, if no files can be written; for one, if it cannot run on its launches.
    pub fn check_all(
        &self,
        kernels: &[Kernel],
        options: &CheckOptions,
    ) -> Result<Vec<Result<Checked, CheckError>>, CompileError> {
        let faulty = Compiler { tool: self.tool.with_faults(&options.faults).tuned(&options.pipeline), ..self.clone() };
        faulty.check_prepared(kernels, options)
    }

    fn check_prepared(
        &self,
        kernels: &[Kernel],
        options: &CheckOptions,
    ) -> Result<Vec<Result<Checked, CheckError>>, CompileError> {
        let folder = tempfile::tempdir().map_err(|error| self.tool.unusable(error))?;
        let prepared = self.prepared(kernels, folder.path(), &options.faults)?;
        if let Some(limit) = self.phases {
            let printed: Vec<usize> = (0..kernels.len()).filter(|at| prepared[*at].file.is_ok()).collect();
            let codes = self.codes(&prepared, &printed);
            let checked = kernels.iter().zip(&prepared).zip(codes).enumerate();
            return Ok(checked
                .map(|(number, ((kernel, prepared), codes))| {
                    self.phases_checked(kernel, (prepared, number), codes, options, limit)
                })
                .collect());
        }
        let runs = kernels.iter().zip(&prepared);
        let runs: Vec<_> = runs
            .map(|(kernel, prepared)| first_runs(&kernel.name, &prepared.module, &prepared.launches, options))
            .collect();
        // What says nothing is not compiled.
        let compiled: Vec<usize> = (0..kernels.len())
            .filter(|at| prepared[*at].file.is_ok() && runs[*at].as_ref().is_ok_and(|(cases, _)| !cases.is_empty()))
            .collect();
        let codes = self.codes(&prepared, &compiled);
        let witness = self.witness.clone().map(|tool| Compiler { tool: Tool::Ptxas(tool), ..self.clone() });
        let theirs = witness.as_ref().map_or_else(
            || prepared.iter().map(|_| Vec::new()).collect(),
            |witness| witness.codes(&prepared, &compiled),
        );
        let checked = kernels.iter().zip(&prepared).zip(runs).zip(codes.into_iter().zip(theirs));
        Ok(checked
            .map(|(((kernel, prepared), run), codes)| {
                let (cases, report) = run?;
                Ok(self.concluded(kernel, prepared, (&cases, options), report, codes))
            })
            .collect())
    }

    /// The code of each way to compile for some of the kernels, all of which go through the compiler together.
    fn codes(&self, prepared: &[Prepared], compiled: &[usize]) -> Vec<Vec<Code>> {
        let mut codes: Vec<Vec<Code>> = prepared.iter().map(|_| Vec::new()).collect();
        for axis in &self.axes {
            // One that does not fit would spoil the compilation of all, without any being blamed.
            let refused = |at: &usize| refusal(&prepared[*at], axis);
            let (fit, others): (Vec<usize>, Vec<usize>) = compiled.iter().partition(|at| refused(at).is_none());
            let files = fit.iter().filter_map(|at| Some(prepared[*at].file.as_ref().ok()?.0.clone()));
            let made = self.tool.compile_all(&files.collect::<Vec<_>>(), axis);
            fit.iter().zip(made).for_each(|(at, code)| codes[*at].push(code));
            for at in others {
                codes[at].push(Err(CompileError::Refused(refused(&at).unwrap_or_default())));
            }
        }
        codes
    }

    /// The code of each way to compile a kernel, for phases; or why there is none.
    fn for_phases(
        &self,
        kernel: &Kernel,
        prepared: &Prepared,
        codes: Vec<Code>,
    ) -> impl Iterator<Item = Result<in_place::Code, NoCode>> {
        let entry = prepared.launches.first().and_then(|named| named.launch.kernel.as_deref());
        self.axes.iter().zip(codes).map(move |(axis, code)| {
            let cubin = code.map_err(|error| NoCode { axis: axis.clone(), error })?;
            Ok(in_place::Code {
                kernel: kernel.name.clone(),
                program: prepared.module.clone(),
                launches: prepared.launches.clone(),
                cubin: entry.and_then(|entry| cubin.part(entry)).map_or(cubin, Arc::new),
                origin: axis.to_string(),
                axis: Some(axis.clone()),
            })
        })
    }

    /// The code of kernels that go through the compiler together: of each kernel that of the ways to compile it that
    /// there is.
    ///
    /// # Errors
    ///
    /// If no files can be written.
    pub fn code_of(&self, kernels: &[Kernel]) -> Result<Vec<Vec<in_place::Code>>, CompileError> {
        let folder = tempfile::tempdir().map_err(|error| self.tool.unusable(error))?;
        let prepared = self.prepared(kernels, folder.path(), &[])?;
        let printed: Vec<usize> = (0..kernels.len()).filter(|at| prepared[*at].file.is_ok()).collect();
        let codes = self.codes(&prepared, &printed);
        let all = kernels.iter().zip(&prepared).zip(codes);
        Ok(all
            .map(|((kernel, prepared), codes)| self.for_phases(kernel, prepared, codes).flatten().collect())
            .collect())
    }

    /// Kernels with names of their own, printed into files of a folder.
    fn prepared(&self, kernels: &[Kernel], folder: &Path, faults: &[FaultSpec]) -> Result<Vec<Prepared>, CompileError> {
        let file = |number: usize| folder.join(format!("kernel{number}.ptx"));
        let prepare = |(number, kernel)| prepare(kernel, number, file(number), faults);
        let prepared: std::io::Result<_> = kernels.iter().enumerate().map(prepare).collect();
        prepared.map_err(|error| self.tool.unusable(error))
    }

    /// Checks phases over the code of each way to compile. Whether the compiler is right is asked elsewhere.
    fn phases_checked(
        &self,
        kernel: &Kernel,
        (prepared, number): (&Prepared, usize),
        codes: Vec<Code>,
        options: &CheckOptions,
        limit: Duration,
    ) -> Result<Checked, CheckError> {
        let (mut report, mut unjudged): (Option<KernelReport>, Option<String>) = (None, None);
        for code in self.for_phases(kernel, prepared, codes) {
            let code = match code {
                Ok(code) => code,
                Err(why) => {
                    unjudged.get_or_insert_with(|| why.to_string());
                    continue;
                }
            };
            let own = match code.check_within(options, limit) {
                Ok(own) => own,
                // Words that are not known, or not lifted, are none of the phases' business.
                Err(CheckError::Lift(error)) => {
                    unjudged.get_or_insert_with(|| format!("{}: {error}", code.origin));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if !own.judged {
                unjudged.get_or_insert_with(|| format!("{}: {}", code.origin, in_place::NOT_JUDGED));
            }
            match &mut report {
                None => report = Some(own),
                Some(report) => report.join(own),
            }
        }
        let mut report = match report {
            Some(report) => report,
            None => first_runs(&kernel.name, &prepared.module, &prepared.launches, options)?.1,
        };
        report.kernel.clone_from(&kernel.name);
        report.findings.retain(|finding| finding.phase != StepId::Compilation);
        report.findings.iter_mut().for_each(|finding| prepare::give_back(finding, kernel, number));
        report.clean = report.judged && report.findings.is_empty();
        Ok(Checked { report, axes: Vec::new(), unjudged })
    }

    /// Makes a module for the oldest of the architectures, if that has all its operations.
    pub fn make_for_oldest(&self, module: &mut Module) {
        let targets = self.axes.iter().filter_map(|axis| axis.arch.parse::<Target>().ok());
        let Some(oldest) = targets.min_by_key(|target| target.number()) else { return };
        if module.sm().is_some_and(|own| oldest.number() < own.number())
            && let Some(portable) = Target::portable(oldest.number()).filter(|portable| module.is_for(*portable))
        {
            module.target = portable.to_string();
        }
    }

    /// The axes that are judged: those of each way to compile.
    pub fn judged(&self) -> Vec<Axis> {
        self.axes.iter().flat_map(|axis| self.executed(axis)).collect()
    }

    /// A way to compile as an axis here, and behind it on the GPU, if there is one.
    fn executed(&self, axis: &Axis) -> impl Iterator<Item = Axis> + use<> {
        std::iter::once(axis.clone()).chain(self.gpu.as_ref().map(|_| axis.on_gpu()))
    }

    /// Who executes the code of an axis.
    pub(crate) fn executor(&self, axis: &Axis) -> Executor<'_> {
        match (axis.machine, &self.gpu) {
            (Machine::Gpu, Some(gpu)) => Executor::Gpu(gpu),
            _ => Executor::Interpreter,
        }
    }

    /// Judges the code of each way to compile: an answer for each of [`Compiler::judged`].
    pub fn judge(&self, original: &Executable<'_>, cases: &[Case<'_>], codes: Vec<Code>) -> Vec<Judged> {
        let entry = cases.first().and_then(|case| case.judge.launch().kernel.as_deref());
        let of = |(axis, code): (&Axis, Code)| {
            // The kernel alone: to place all others in memory would cost as much again for each of them.
            let code = code.map(|cubin| entry.and_then(|entry| cubin.part(entry)).map_or(cubin, Arc::new));
            let judged = |axis: Axis| {
                let (name, executor) = (axis.to_string(), self.executor(&axis));
                let judged = Judged::of(original, cases, name, code.as_deref(), executor, axis.fuses());
                match &self.tool {
                    Tool::Ptxas(_) => judged,
                    Tool::Own(_) => judged.with_hazards(code.as_deref().ok()),
                }
            };
            self.executed(axis).map(judged).collect::<Vec<_>>()
        };
        let mut judged: Vec<Judged> = self.axes.iter().zip(codes).flat_map(of).collect();
        compare_refusals(&mut judged, &self.judged());
        judged
    }

    /// The compiler that a finding is about: ours with the faults that are planted in its stages and the knobs that are
    /// set, or the witness.
    pub fn of_finding(&self, finding: &Finding, check: &CheckOptions) -> Compiler {
        let tool = match (&self.witness, finding.phase) {
            (Some(witness), StepId::Compilation) => Tool::Ptxas(witness.clone()),
            _ => self.tool.with_faults(&check.faults).tuned(&check.pipeline),
        };
        Compiler { tool, ..self.clone() }
    }

    /// Compiles a text alone.
    ///
    /// # Errors
    ///
    /// As [`Tool::compile_text`].
    pub fn compile_text(&self, text: &str, axis: &Axis) -> Result<Cubin, CompileError> {
        self.tool.compile_text(text, axis)
    }

    /// The report of a kernel whose code is there.
    fn concluded(
        &self,
        kernel: &Kernel,
        prepared: &Prepared,
        (cases, options): (&[Case<'_>], &CheckOptions),
        mut report: KernelReport,
        (codes, theirs): (Vec<Code>, Vec<Code>),
    ) -> Checked {
        let start = Instant::now();
        let original = Executable::new(&prepared.module);
        let both: Vec<(Code, Code)> = match theirs.is_empty() {
            true => Vec::new(),
            false => {
                codes.iter().map(|code| code.as_ref().map(Arc::clone).map_err(three_ways::absent)).zip(theirs).collect()
            }
        };
        let judged = original.as_ref().map_or_else(|_| Vec::new(), |original| self.judge(original, cases, codes));
        let time = start.elapsed();
        let finding = self.finding(kernel, cases, &judged);
        let stages = original.ok().map(|original| self.stages(kernel, prepared, &original, (cases, options), &judged));
        let (lines, guilty, planted) = stages.unwrap_or_default();
        planted.iter().for_each(|counters| report.note_own_faults(counters));
        report.phases.extend(lines);
        let mut finding = match guilty {
            None => finding,
            Some((axis, guilty)) => Some(self.of_stage(kernel, cases, finding, axis, guilty)),
        };
        let opinions = match Executable::new(&prepared.module) {
            Ok(original) if !both.is_empty() => three_ways::opinions(self, &original, cases, &both),
            _ => Vec::new(),
        };
        finding = self.with_opinions(kernel, cases, finding, &opinions);
        let verdict = finding.as_ref().map(|finding| finding.verdict.clone());
        let mut counters = Statistics::new();
        match &prepared.file {
            Ok((_, faults)) => counters.extend(faults),
            Err(_) => _ = counters.insert("no words in PTX", 1),
        }
        judged.iter().for_each(|judged| *counters.entry(counter(judged)).or_default() += 1);
        opinions.iter().for_each(|opinion| *counters.entry(opinion.name()).or_default() += 1);
        report.note_faults(StepId::Compilation, &counters);
        let instructions = report.instructions_before;
        report.phases.push(StepLine {
            changed: judged.iter().any(|judged| judged.compared > 0),
            verdict: verdict.or_else(|| judged.iter().any(|judged| judged.compared > 0).then_some(Verdict::Equal)),
            microseconds: time.as_micros() as u64,
            counters,
            ..StepLine::of(self.tool.step(), instructions)
        });
        report.findings.extend(finding);
        report.conclude();
        let silent = judged.iter().filter(|axis| axis.wrong.is_none());
        let unjudged = silent.filter_map(|axis| Some(format!("{}: {}", axis.axis, axis.reason.as_ref()?))).next();
        Checked { report, axes: judged, unjudged }
    }

    /// The stages of our own compiler: those of every way to compile where they are asked for, or faults are planted in
    /// them, else of the first whose code is wrong. Their lines, the guilty one, and the counters of planted faults.
    fn stages(
        &self,
        kernel: &Kernel,
        prepared: &Prepared,
        original: &Executable<'_>,
        (cases, options): (&[Case<'_>], &CheckOptions),
        judged: &[Judged],
    ) -> (Vec<StepLine>, Option<(Axis, Guilty)>, Vec<Statistics>) {
        let mut all = (Vec::<StepLine>::new(), None, Vec::new());
        let (Tool::Own(own), Ok((file, _)), false) = (&self.tool, &prepared.file, cases.is_empty()) else { return all };
        let Ok(text) = std::fs::read_to_string(file) else { return all };
        let wrong = judged.iter().position(|axis| axis.wrong.is_some());
        let is_looked_at = |at: usize| own.every_stage || !own.faults.is_empty() || wrong == Some(at);
        let subject =
            Subject { name: &kernel.name, original, text: &text, launches: &prepared.launches, cases, options };
        for (_, axis) in self.axes.iter().enumerate().filter(|(at, _)| is_looked_at(*at)) {
            let Stages { lines, guilty, planted } = subject.stages(own, axis);
            for line in lines {
                match all.0.iter_mut().find(|known| known.step == line.step) {
                    Some(known) => known.join(line),
                    None => all.0.push(line),
                }
            }
            all.1 = all.1.or(guilty.map(|guilty| (axis.clone(), guilty)));
            all.2.push(planted);
        }
        all
    }

    /// The finding of a stage: that of the code, where it is known to be wrong.
    fn of_stage(
        &self,
        kernel: &Kernel,
        cases: &[Case<'_>],
        finding: Option<Finding>,
        axis: Axis,
        guilty: Guilty,
    ) -> Finding {
        let Guilty { step, verdict, case, detail, rewrite } = guilty;
        let function = rewrite.as_ref().and_then(|rewrite| rewrite.function.clone());
        match finding {
            Some(finding) => {
                let is_told =
                    finding.verdict.is_like(&verdict) && rewrite.is_none() || finding.detail.contains(&detail);
                let detail =
                    if is_told { finding.detail } else { format!("{}; behind {step}: {detail}", finding.detail) };
                Finding { phase: step, detail, rewrite, function, ..finding }
            }
            None => {
                let axes = vec![axis];
                let detail = format!("{}: {detail}", signature::names(&axes));
                let finding = self.new_finding(kernel, cases.get(case), verdict, (detail, axes));
                Finding { phase: step, rewrite, function, ..finding }
            }
        }
    }

    /// The finding with what the witness says of it; one about the witness where its code alone is wrong.
    fn with_opinions(
        &self,
        kernel: &Kernel,
        cases: &[Case<'_>],
        finding: Option<Finding>,
        opinions: &[Opinion],
    ) -> Option<Finding> {
        if let Some(finding) = finding {
            let of = |axis: &Axis| self.axes.iter().position(|known| known == axis);
            let said = finding.axes.first().and_then(of).and_then(|at| opinions.get(at)).and_then(Opinion::said);
            let detail = said.map_or(finding.detail.clone(), |said| format!("{}; {said}", finding.detail));
            // Then no stage is to blame: what they get is another program.
            let is_of_reading = opinions.contains(&Opinion::ReadingIsWrong);
            let phase = if is_of_reading { self.tool.step() } else { finding.phase };
            let rewrite = finding.rewrite.filter(|_| !is_of_reading);
            return Some(Finding { phase, rewrite, detail, ..finding });
        }
        let (axis, opinion) = self.axes.iter().zip(opinions).find(|(_, opinion)| opinion.blames_witness())?;
        let Opinion::WitnessIsWrong(at, verdict) = opinion else { return None };
        let axes = vec![axis.clone()];
        let detail = format!("{}: {verdict}; {}", signature::names(&axes), opinion.said().unwrap_or_default());
        let finding = self.new_finding(kernel, cases.get(*at), (**verdict).clone(), (detail, axes));
        let replay = format!("oriole judge {} --randoms 0 {}", kernel.name, replay(&self.axes, false));
        Some(Finding { phase: StepId::Compilation, replay, ..finding })
    }

    /// The command that shows what is wrong with the code of a kernel.
    fn replay(&self, kernel: &str) -> String {
        let axes = replay(&self.axes, self.gpu.is_some());
        match &self.tool {
            Tool::Ptxas(_) => format!("oriole judge {kernel} --randoms 0 {axes}"),
            Tool::Own(_) => {
                let axes = axes.replacen("--sm", "--compile", 1).replacen("-O", "--compile-level", 1);
                format!("oriole check {kernel} --randoms 0 {axes}")
            }
        }
    }

    /// The finding that the answers of all axes come to.
    fn finding(&self, kernel: &Kernel, cases: &[Case<'_>], judged: &[Judged]) -> Option<Finding> {
        let all = self.judged();
        let wrong = || judged.iter().zip(&all).filter(|(judged, _)| judged.wrong.is_some());
        let first = wrong().next()?.0;
        let (at, verdict) = first.wrong.clone()?;
        let axes: Vec<Axis> = wrong().map(|(_, axis)| axis.clone()).collect();
        let case = cases.get(at)?;
        let difference = first.difference.as_ref();
        let what = difference.map_or_else(|| verdict.to_string(), |difference| difference.detail.clone());
        let mut detail = format!("{}: {what}", signature::names(&axes));
        if difference.is_some() {
            detail += suspicion(&axes, &all);
        }
        let finding = self.new_finding(kernel, Some(case), verdict, (detail, axes));
        Some(Finding {
            store_before: difference.and_then(|difference| difference.ptx.clone()),
            store_after: difference.and_then(|difference| difference.code.clone()),
            ..finding
        })
    }

    fn new_finding(
        &self,
        kernel: &Kernel,
        case: Option<&Case<'_>>,
        verdict: Verdict,
        (detail, axes): (String, Vec<Axis>),
    ) -> Finding {
        let own = kernel.launches.first();
        let launch = case.map(|case| case.judge.launch());
        Finding {
            kernel: kernel.name.clone(),
            phase: self.tool.step(),
            signature: signature::unreduced(&axes, &verdict),
            verdict,
            case: case.map_or(String::new(), |case| case.name.clone()),
            detail,
            bisected: true,
            function: None,
            rewrite: None,
            store_before: None,
            store_after: None,
            reproducer: None,
            replay: self.replay(&kernel.name),
            text: write_ptx(&kernel.module).ok().map(Arc::from),
            axes,
            evidence: Arc::new(Evidence {
                module: kernel.module.clone(),
                launch: launch.zip(own).map(|(launch, own)| prepare::renamed_back(launch, &own.launch)),
            }),
        }
    }
}

/// Axes as `oriole judge` and `oriole check --compile` take them.
fn replay(axes: &[Axis], gpu: bool) -> String {
    let archs: BTreeSet<&str> = axes.iter().map(|axis| axis.arch.as_str()).collect();
    let efforts: BTreeSet<Effort> = axes.iter().map(|axis| axis.effort).collect();
    let options: BTreeSet<&String> = axes.iter().flat_map(|axis| &axis.options).collect();
    let (mut levels, mut fast) = (Vec::new(), Vec::new());
    for effort in efforts {
        match effort {
            Effort::Level(level) => levels.push(level.to_string()),
            Effort::Fast(how) => fast.push(how.name().to_owned()),
        }
    }
    let mut words = vec![format!("--sm {}", Vec::from_iter(archs).join(","))];
    for (option, values) in [("-O", levels), ("--fast-compile", fast)] {
        if !values.is_empty() {
            words.push(format!("{option} {}", values.join(",")));
        }
    }
    words.extend(options.into_iter().map(|option| format!("--ptxas-option {option}")));
    words.extend(gpu.then(|| "--gpu".to_owned()));
    words.join(" ")
}

/// Why code for an architecture cannot be made of a module, where that is known beforehand.
fn refusal(prepared: &Prepared, axis: &Axis) -> Option<String> {
    let Prepared { module, launches, .. } = prepared;
    let sm = |name: &str| name.split(',').next()?.trim().parse::<Target>().ok();
    if let (Some(arch), Some(own)) = (sm(&axis.arch), sm(&module.target))
        && !arch.accepts_code_for(own)
    {
        return Some(format!("it is for {}", module.target));
    }
    let is_clustered = launches.iter().any(|named| named.launch.cluster.is_some());
    if sm(&axis.arch).is_some_and(|arch| !arch.has_clusters()) && is_clustered {
        return Some("it is launched in clusters".to_owned());
    }
    // "32-bit compilation is no longer supported", ptxas 13.0 says of any such conversion, and names no file.
    let is_short = |data: &InstData| data.opcode == Opcode::Cvta && data.field() == Some(Type::U32);
    module.operations().any(is_short).then(|| "it converts 32-bit addresses".to_owned())
}

/// What a report calls the answers of an axis: of one that is not judged, the cause.
fn counter(judged: &Judged) -> &'static str {
    match judged.answer {
        Answer::Unjudged if let Some(cause) = &judged.cause => cause.name(),
        Answer::Equal => "axes equal",
        Answer::Different => "axes different",
        Answer::Crashed => "axes crashed",
        Answer::Refused => "axes refused by the compiler",
        Answer::RefusedHere => "axes refused at some levels",
        Answer::Unjudged => "axes not judged",
    }
}

/// What it says of Oriole itself that the results of these axes are wrong, of all that were judged.
fn suspicion(wrong: &[Axis], all: &[Axis]) -> &'static str {
    let of = |axes: &[Axis], machine| axes.iter().filter(|axis| axis.machine == machine).count();
    let every = |machine| of(wrong, machine) == of(all, machine);
    if all.len() < 2 || !every(Machine::Interpreter) {
        return "";
    }
    match of(all, Machine::Gpu) > 0 {
        false => "; every axis differs, so the fault may be in how Oriole reads the PTX or the code",
        true if every(Machine::Gpu) => "; every axis differs, so the fault may be in how Oriole reads the PTX",
        true if of(wrong, Machine::Gpu) == 0 => {
            "; none does on the GPU, so the fault may be in how Oriole reads the code"
        }
        true => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::FastCompile;

    #[test]
    fn a_replay_names_every_way_to_compile() {
        let fast = Axis::with("sm_90", Effort::Fast(FastCompile::Max));
        let limited = Axis { options: vec!["--maxrregcount=24".to_owned()], ..fast.clone() };
        let axes = [Axis::new("sm_90", 3), Axis::new("sm_90", 0), fast, limited];
        let said = "--sm sm_90 -O 0,3 --fast-compile max --ptxas-option --maxrregcount=24 --gpu";
        assert_eq!(replay(&axes, true), said);
        assert_eq!(replay(&axes[2..3], false), "--sm sm_90 --fast-compile max");
        // Each once, in whatever order the axes have them.
        let twice = ["sm_90", "sm_80", "sm_90"].map(|arch| Axis::new(arch, 3));
        assert_eq!(replay(&twice, false), "--sm sm_80,sm_90 -O 3");
    }

    #[test]
    fn oriole_is_suspected_where_no_level_and_no_gpu_contradicts() {
        let [low, high] = [0, 3].map(|level| Axis::new("sm_90", level));
        let all = [low.clone(), low.on_gpu(), high.clone(), high.on_gpu()];
        let [without, with] = [[low.clone(), high.clone()].to_vec(), all.to_vec()];
        assert!(suspicion(&without, &without).contains("the PTX or the code"));
        assert_eq!(suspicion(&without[..1], &without), "");
        assert_eq!(suspicion(&without[..1], &without[..1]), "");
        assert!(suspicion(&with, &with).contains("reads the PTX"));
        assert!(suspicion(&without, &with).contains("reads the code"));
        assert_eq!(suspicion(&with[..3], &with), "");
        assert_eq!(suspicion(&with[1..2], &with), "");
    }
}
