//! From the report of a check to a kernel of a record.

use std::collections::BTreeMap;

use oriole_check::judge::Verdict;
use oriole_check::recording::{Recording, State};
use oriole_check::report::{self, CaseLine, KernelReport, StepLine};
use oriole_check::step;
use oriole_check::supervise::StepId;
use oriole_check::{CheckOptions, target_of};
use oriole_ir::{FunctionKind, Module};
use oriole_launch::Launch;
use oriole_optimizer::codegen::compile::{self, Stage};
use oriole_optimizer::pass::Element;
use oriole_optimizer::peephole::RuleSet;
use oriole_optimizer::pipeline::runner::{Options, SkipReason};
use oriole_sass::ori::in_place;

use crate::code;
use crate::interned::Interned;
use crate::program::{Counts, Ori, program, without_line};
use crate::record::{self, Case, Change, Finding, Kernel, Program, Source, Step};
use crate::rules::Rules;

/// A checked kernel whose programs were kept ([`CheckOptions::records`]).
pub struct Subject<'a> {
    /// The text of its file, where that is PTX.
    pub text: Option<&'a str>,
    /// The report.
    pub report: &'a KernelReport,
    /// How it was checked.
    pub options: &'a CheckOptions,
    /// How our own compiler makes code of what the steps leave, where it does.
    pub compile: Option<compile::Options>,
}

impl Subject<'_> {
    /// The record of the kernel. What code generation refuses has no words; the report says so.
    pub fn kernel(&self) -> Kernel {
        let Subject { text, report, .. } = self;
        let recording = report.recording.clone().unwrap_or_default();
        let original = recording.states.first().map(|state| &state.module);
        let launch = recording.case.as_ref().map(|(_, launch)| launch);
        let mut interned = Interned::default();
        let mut steps = self.steps(original);
        for State { line, changes, .. } in &recording.states {
            let Some(step) = line.and_then(|line| steps.get_mut(line)) else { continue };
            step.changes = changes.iter().map(|it| change(it, &mut interned)).collect();
        }
        let programs = self.programs(&recording, &mut steps, &mut interned);
        let (texts, blocks) = interned.into_lists();
        Kernel {
            name: report.kernel.clone(),
            target: original.map_or(String::new(), |module| module.target.clone()),
            verdict: report.verdict().to_owned(),
            judged: report.judged,
            cases: report.cases.iter().map(case).collect(),
            launch: recording.case.as_ref().map(|(case, Launch { grid, block, .. })| record::Launch {
                case: case.clone(),
                grid: *grid,
                block: *block,
            }),
            registers: original.and_then(|module| register_limit(module, launch)),
            source: text.zip(original).map(|(text, module)| source(text, module)),
            steps,
            programs,
            findings: report.findings.iter().map(finding).collect(),
            texts,
            blocks,
        }
    }

    /// The steps of the report. What rows say of them comes from the pipeline, and with it why one was left out.
    fn steps(&self, module: Option<&Module>) -> Vec<Step> {
        let pipeline = module.and_then(|module| target_of(module).ok()).map_or_else(
            || self.options.pipeline.clone(),
            |target| Options { target, ..self.options.pipeline.clone() },
        );
        let plan = step::plan(self.options, &pipeline).unwrap_or_default();
        let mut rules = Rules::new(self.options.pipeline.rules.clone().unwrap_or_else(RuleSet::builtin));
        let of = |line: &StepLine| {
            let planned = plan.iter().find(|(step, _)| step.id() == line.step);
            let reason = planned.and_then(|(_, reason)| *reason);
            let element = planned.and_then(|(step, _)| step.element());
            step(line, element, reason, &mut rules)
        };
        self.report.phases.iter().map(of).collect()
    }

    /// The programs, with what the launch executes of each; and the words of the last, where there are any.
    fn programs(&self, recording: &Recording, steps: &mut [Step], interned: &mut Interned) -> Vec<Program> {
        let launch = recording.case.as_ref().map(|(_, launch)| launch);
        let mut programs = Vec::new();
        let (mut last, mut is_code) = (None, false);
        for State { line, module, .. } in &recording.states {
            let step = line.and_then(|line| self.report.phases.get(line));
            is_code |= step.is_some_and(|step| step.step == StepId::Compilation);
            let program = match recording.cubin.as_deref().filter(|_| is_code) {
                Some(cubin) => code::in_place(cubin, module, launch, interned),
                None => {
                    let counts = launch.and_then(|launch| Counts::of_module(module, launch));
                    program(module, counts.as_ref(), &Ori, interned)
                }
            };
            let kept = step.is_none_or(is_kept);
            last = if kept { Some(module) } else { last };
            let title = step.map_or("as given".to_owned(), |step| step.step.to_string());
            programs.push(Program { title, step: *line, kept, ..program });
        }
        if let (Some(cubin), Some(module), true) = (&recording.cubin, last, is_code) {
            let written = in_place::write(cubin, module).ok().map(|(bytes, _)| bytes);
            let cubin = written.and_then(|bytes| oriole_sass::cubin::Cubin::read(&bytes).ok());
            let words = cubin.and_then(|cubin| code::words(&cubin, module, Default::default(), launch, interned));
            programs.extend(words);
        }
        if let (Some(options), Some(module)) = (self.compile, last) {
            let at = steps.iter().rposition(|step| step.name == StepId::CodeGeneration.name());
            match code::compiled(module, options, launch, interned) {
                Ok(made) => programs.extend(made.into_iter().map(|program| Program { step: at, ..program })),
                Err(error) => {
                    if let Some(step) = at.and_then(|at| steps.get_mut(at)) {
                        step.skipped = Some(error.to_string());
                    }
                }
            }
        }
        programs
    }
}

/// Whether the steps behind one start with what it made.
fn is_kept(line: &StepLine) -> bool {
    let is_wrong = line.verdict.as_ref().is_some_and(Verdict::is_finding);
    !matches!(line.step, StepId::SsaDestruction | StepId::PtxRoundTrip) && !is_wrong
}

/// The purpose of steps that are no phases.
fn what_it_does(step: StepId) -> &'static str {
    match step {
        StepId::SsaConstruction => "Gives each value one definition, with phis where ways of control join.",
        StepId::SsaDestruction => "Puts copies in the place of phis; judged, and then dropped.",
        StepId::PtxRoundTrip => "Prints the program as PTX and reads it again; judged, and then dropped.",
        StepId::Compilation => "The compiler makes machine code of the program; phases follow over its words.",
        StepId::CodeGeneration => "Selects instructions, allocates registers, schedules and encodes.",
        StepId::Optimization => "The passes and phases of the level, before code is generated.",
        StepId::Stage(stage) => match stage {
            Stage::Expand => "Puts bodies of operations in the place of those that the machine lacks.",
            Stage::Select => "Makes instructions of the machine, with virtual registers.",
            Stage::Layout => "Orders the blocks.",
            Stage::Macros => "Makes values where instructions of several words want them.",
            Stage::Order => "Orders the instructions of each block.",
            Stage::Allocate => "Gives registers places.",
            Stage::Reorder => "Orders the instructions of each block over registers of the machine.",
            Stage::Schedule => "Gives each instruction its stall, barriers and wait mask.",
            Stage::Encode => "Makes the words.",
        },
        StepId::Generation | StepId::FrontEnd | StepId::Pass(_) => "",
    }
}

fn step(line: &StepLine, element: Option<&Element>, reason: Option<SkipReason>, rules: &mut Rules) -> Step {
    let doc = element.map_or(what_it_does(line.step), |element| element.row().doc);
    let document = element.and_then(|element| element.row().source).map(|source| source.to_string());
    let no_work = element.and_then(|element| element.row().no_work);
    let skipped = line.skipped.map(|name| match (reason, no_work) {
        (Some(SkipReason::NoWork), Some(why)) => format!("{name}: {why}"),
        (Some(reason), _) if reason.name() == name => reason.to_string(),
        _ => name.to_owned(),
    });
    Step {
        name: line.step.to_string(),
        number: line.number,
        doc: doc.to_owned(),
        skipped,
        changed: line.changed,
        verdict: line.verdict.as_ref().map(|verdict| verdict.name().to_owned()),
        wrong: line.verdict.as_ref().is_some_and(Verdict::is_finding),
        instructions_before: line.instructions_before,
        instructions_after: line.instructions_after,
        rewrites: line.rewrites,
        microseconds: line.microseconds,
        counters: line.counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        rules: rules.among(&line.counters, doc, document.as_deref()),
        changes: Vec::new(),
        document,
    }
}

fn change(change: &oriole_check::explain::Change, interned: &mut Interned) -> Change {
    let texts = |lines: &[String], interned: &mut Interned| -> Vec<u32> {
        lines.iter().map(|line| interned.text(without_line(line))).collect()
    };
    Change {
        index: change.index,
        rule: change.rule.map(str::to_owned),
        function: change.function.clone(),
        block: change.block.clone(),
        line: change.line,
        source: change.source.clone(),
        removed: texts(&change.removed, interned),
        added: texts(&change.added, interned),
    }
}

fn case(line: &CaseLine) -> Case {
    let outcome = line.inconclusive.as_ref().map_or("finished", Verdict::name).to_owned();
    let missed = line.differences.join("; ");
    let detail = line.why_not().unwrap_or(if missed.is_empty() { missed } else { format!("unexpected: {missed}") });
    Case { name: line.name.clone(), outcome, detail }
}

fn finding(finding: &report::Finding) -> Finding {
    let rewrite = finding.rewrite.as_ref();
    Finding {
        step: finding.phase.to_string(),
        verdict: finding.verdict.name().to_owned(),
        case: finding.case.clone(),
        detail: finding.detail.clone(),
        rewrite: rewrite.map(|rewrite| rewrite.index),
        rule: rewrite.map(report::Rewrite::cause),
        diff: rewrite.map_or(String::new(), |rewrite| rewrite.diff.clone()),
        store_before: finding.store_before.clone(),
        store_after: finding.store_after.clone(),
        replay: finding.replay.clone(),
    }
}

fn source(text: &str, module: &Module) -> Source {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let place = |line: u32| Some((line, module.sources.of(line)?.to_string()));
    // Directives say nothing of their own place.
    let used = module.functions.values().flat_map(|func| func.layout_insts().map(|inst| func.inst(inst).line));
    let places: BTreeMap<u32, String> = used.filter_map(place).collect();
    Source { lines, places }
}

/// The most registers that a thread may have on a launch: as its block leaves them, in groups of eight, and as the
/// kernel says.
fn register_limit(module: &Module, launch: Option<&Launch>) -> Option<u32> {
    let target = target_of(module).ok()?;
    let threads: u32 = launch?.block.iter().product::<u32>().max(1);
    let by_threads = (target.registers_per_cta() / threads.next_multiple_of(32)) & !7;
    let entries = module.functions.values().filter(|func| func.kind == FunctionKind::Entry);
    let said = entries.flat_map(|func| &func.directives).filter(|directive| directive.name == "maxnreg");
    let said = said.filter_map(|directive| u32::try_from(*directive.values.first()?).ok()).min();
    Some(by_threads.min(255).min(said.unwrap_or(255)))
}
