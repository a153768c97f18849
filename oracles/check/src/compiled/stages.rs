//! The stages of Oriole's own compiler, one after the other: which one goes wrong.
//!
//! The cases that judge the whole code judge the work of each stage, too, as far as it can be executed:
//!
//! - what the passes and phases leave, and what expansion makes of it, is executed by the virtual interpreter;
//! - selected code gets registers by [`naming`], with no allocator of the optimizer, and its words are executed. Words
//!   need an order of blocks, so what is executed is the selected code as it was laid out. The order itself is compared
//!   with what was selected ([`layout`]), so that a fault of either is told from one of the other;
//! - so does code behind macro expansion, and behind the ordering of instructions;
//! - allocated code is verified ([`oriole_reference::allocation`]) and its words are executed, before there is any
//!   scheduling;
//! - reordered code is compared with the allocated one, block by block ([`order`]), and executed;
//! - scheduled code is executed, and the scoreboard follows its control;
//! - words are decoded and compared with what they were made of.
//!
//! The first stage that is wrong is the guilty one. Where selected code cannot be executed and allocated code is wrong,
//! the verifier vouches for the allocation, and the selection is to blame. Where the passes are wrong, a check of these
//! alone names the pass and the change.

use std::time::Instant;

use oriole_interp::{Executable, LaneOrder};
use oriole_ir::ops::Opcode;
use oriole_ir::sm::Target;
use oriole_ir::{FuncId, Function, Inst, Module, Operand};
use oriole_optimizer::codegen::compile::{Code, Lines, Output, Stage, assemble};
use oriole_optimizer::codegen::select::{Places, Selected};
use oriole_optimizer::pass::Statistics;
use oriole_reference::{layout, order};
use oriole_sass::cubin::Cubin;
use oriole_scoreboard::check_cubin;

use super::naming;
use crate::cases::{Case, judge_all};
use crate::compiler::own::{Attempt, Done, Kept, Of, pipeline};
use crate::compiler::{Axis, CompileError, Own};
use crate::input::NamedLaunch;
use crate::judge::code::Executor;
use crate::judge::{Mismatch, Verdict};
use crate::report::{Rewrite, StepLine};
use crate::supervise::StepId;
use crate::{CheckOptions, check_module};

/// The stages of one compilation.
#[derive(Debug)]
pub(super) struct Stages {
    /// A line for each.
    pub lines: Vec<StepLine>,
    /// The guilty one, where one is.
    pub guilty: Option<Guilty>,
    /// Faults that were planted, as counters.
    pub planted: Statistics,
}

/// A stage that goes wrong.
#[derive(Clone, Debug)]
pub(super) struct Guilty {
    /// The stage.
    pub step: StepId,
    /// Its fault.
    pub verdict: Verdict,
    /// The case that tells; the first where none does.
    pub case: usize,
    /// The difference that shows behind it.
    pub detail: String,
    /// The guilty change, of passes.
    pub rewrite: Option<Rewrite>,
}

/// A kernel whose code is looked at, and its data.
pub(super) struct Subject<'a> {
    /// Its name in reports.
    pub name: &'a str,
    /// The program.
    pub original: &'a Executable<'a>,
    /// The PTX that is compiled.
    pub text: &'a str,
    pub launches: &'a [NamedLaunch],
    pub cases: &'a [Case<'a>],
    pub options: &'a CheckOptions,
}

/// The judgement of the work of a stage.
#[derive(Default)]
struct Answer {
    wrong: Option<(usize, Verdict)>,
    /// Whether a case was compared.
    is_judged: bool,
    /// Why none was.
    reason: Option<&'static str>,
}

impl Answer {
    fn silent(reason: &'static str) -> Answer {
        Answer { reason: Some(reason), ..Answer::default() }
    }

    fn broken(what: String) -> Answer {
        Answer { wrong: Some((0, Verdict::InvalidIr(what))), is_judged: true, reason: None }
    }

    fn verdict(&self) -> Option<Verdict> {
        let wrong = self.wrong.as_ref().map(|(_, verdict)| verdict.clone());
        wrong.or(self.is_judged.then_some(Verdict::Equal))
    }
}

/// Why the work of a stage was not executed.
const NOT_EXECUTED: &str = "no case executes its words";
/// Why functions were not executed behind expansion.
const POINTERS: &str = "pointers to functions are numbers from here on";
/// Why the program is what was read.
const NO_PASS: &str = "no pass runs at this level";
/// Why selected code was not executed.
const DISORDER: &str = "its blocks are in a wrong order";
/// Why there is nothing to look at.
const NOT_REACHED: &str = "an earlier stage stops the compilation";

impl Subject<'_> {
    /// Compiles the kernel on an axis, and judges each stage.
    pub fn stages(&self, own: &Own, axis: &Axis) -> Stages {
        let Attempt { code, last, planted, kept, encoding } = own.stages(self.text, axis);
        let mut stages = Stages { lines: Vec::new(), guilty: None, planted };
        let target: Option<Target> = axis.arch.parse().ok();
        let mut instructions = kept.read.inst_count();
        // Of another program than the one that was printed no stage is guilty.
        if last.is_some()
            && let Some(wrong) = self.of_module(&kept.read).wrong
        {
            stages.accuse(StepId::CodeGeneration, &wrong);
        }
        let start = Instant::now();
        let answer = match last {
            _ if matches!(pipeline(axis), Ok(None)) => Answer::silent(NO_PASS),
            None | Some(Done::Read) => Answer::silent(NOT_REACHED),
            Some(_) => self.of_module(&kept.optimized),
        };
        let count = if answer.reason.is_none() { kept.optimized.inst_count() } else { instructions };
        stages.note(StepId::Optimization, answer, (&mut instructions, count), start);
        let mut is_selection_executed = false;
        for stage in Stage::ALL {
            let start = Instant::now();
            let (mut answer, count) = match (stage, target) {
                (_, Some(target)) => self.of_stage(stage, &kept, target, (&code, encoding.as_deref())),
                (_, None) => (Answer::silent(NOT_REACHED), None),
            };
            match stage {
                Stage::Select => is_selection_executed = answer.is_judged,
                Stage::Allocate if !is_selection_executed && !matches!(code, Err(CompileError::Misplaced(_))) => {
                    // The verifier vouches for the allocation.
                    if let Some(wrong) = answer.wrong.take() {
                        stages.accuse(StepId::Stage(Stage::Select), &wrong);
                        (answer.is_judged, answer.reason) = (false, Some(NOT_EXECUTED));
                    }
                }
                _ => {}
            }
            if let (Stage::Encode, Some((at, verdict @ Verdict::Mismatch(_)))) = (stage, &answer.wrong)
                && stages.guilty.is_none()
            {
                // Words that say what they should, and a file that is executed otherwise than any stage before.
                stages.accuse(StepId::CodeGeneration, &(*at, verdict.clone()));
            }
            let count = count.unwrap_or(instructions);
            stages.note(StepId::Stage(stage), answer, (&mut instructions, count), start);
        }
        self.of_failure(&code, last, &mut stages);
        if let Some(guilty) = stages.guilty.as_mut().filter(|guilty| guilty.step == StepId::Optimization) {
            self.name_pass(&kept, axis, guilty);
        }
        stages
    }

    /// Blames the stage in which the compilation ended where it panics.
    fn of_failure(&self, code: &Result<Cubin, CompileError>, last: Option<Done>, stages: &mut Stages) {
        let Err(error @ CompileError::Panicked(_)) = code else { return };
        let step = match last {
            None => StepId::FrontEnd,
            Some(Done::Read) => StepId::Optimization,
            Some(Done::Optimized) => StepId::Stage(Stage::Expand),
            Some(Done::Stage(stage)) => {
                let next = Stage::ALL.into_iter().find(|next| *next > stage);
                next.map_or(StepId::CodeGeneration, StepId::Stage)
            }
        };
        if let Some(verdict) = error.verdict() {
            stages.accuse(step, &(0, verdict));
        }
    }

    /// Finds the pass that is wrong, and its change.
    fn name_pass(&self, kept: &Kept, axis: &Axis, guilty: &mut Guilty) {
        let Ok(Some(passes)) = pipeline(axis) else { return };
        let mut options = CheckOptions {
            passes,
            out: None,
            enough: Some(1),
            destruction: false,
            round_trip: false,
            ..self.options.clone()
        };
        let faults = std::mem::take(&mut options.faults);
        faults.iter().for_each(|fault| fault.plant(&mut options.passes));
        let Ok(report) = check_module(self.name, &kept.read, self.launches, &options) else { return };
        let Some(finding) = report.findings.into_iter().next() else { return };
        guilty.detail = format!("{} is wrong: {}", finding.phase, finding.detail);
        guilty.rewrite = finding.rewrite;
    }

    fn of_stage(
        &self,
        stage: Stage,
        kept: &Kept,
        target: Target,
        (code, encoding): (&Result<Cubin, CompileError>, Option<&str>),
    ) -> (Answer, Option<usize>) {
        match stage {
            Stage::Expand => (self.of_expanded(kept), count(&kept.expanded, |func| func)),
            Stage::Select => {
                let answer = self.of_virtual(kept, &kept.arranged, target);
                (answer, count(&kept.selected, |selected| &selected.func))
            }
            Stage::Layout => {
                let count = count(&kept.arranged, |selected| &selected.func);
                (self.of_layout(kept), count)
            }
            Stage::Macros => {
                let answer = self.of_virtual(kept, &kept.joined, target);
                (answer, count(&kept.joined, |selected| &selected.func))
            }
            Stage::Order => {
                let answer = self.of_virtual(kept, &kept.ordered, target);
                (answer, count(&kept.ordered, |selected| &selected.func))
            }
            Stage::Allocate => {
                let all = kept.allocated.iter().map(|(at, it)| {
                    let (func, registers) = (it.func.clone(), it.registers);
                    (*at, Code { func, registers, frame: it.frame, spilled: it.spilled, spill_bytes: [0; 2] })
                });
                let answer = match code {
                    Err(CompileError::Misplaced(what)) => Answer::broken(what.clone()),
                    _ => self.of_code(&kept.optimized, target, all.collect()),
                };
                (answer, count(&kept.allocated, |allocation| &allocation.func))
            }
            Stage::Reorder => (self.of_reordered(kept, target), count(&kept.reordered, |func| func)),
            Stage::Schedule => (self.of_scheduled(kept, target), count(&kept.scheduled, |func| func)),
            Stage::Encode => (self.of_words(code, encoding), None),
        }
    }

    fn of_module(&self, module: &Module) -> Answer {
        let judgement = judge_all(module, self.cases);
        let is_judged = judgement.verdict.as_ref().is_some_and(|verdict| !verdict.is_inconclusive());
        let wrong = judgement.verdict.filter(Verdict::is_finding).map(|verdict| (judgement.case, verdict));
        Answer { wrong, is_judged, reason: (!is_judged).then_some(NOT_EXECUTED) }
    }

    fn of_expanded(&self, kept: &Kept) -> Answer {
        if kept.expanded.is_empty() {
            return Answer::silent(NOT_REACHED);
        }
        if has_pointers(&kept.optimized) {
            return Answer::silent(POINTERS);
        }
        let mut module = kept.optimized.clone();
        for ((_, id), func) in &kept.expanded {
            module.functions[*id].clone_from(func);
        }
        self.of_module(&module)
    }

    /// The kernel that is launched, of code with virtual registers and its blocks in order.
    fn of_virtual(&self, kept: &Kept, code: &Of<Selected>, target: Target) -> Answer {
        let entry = self.cases.first().and_then(|case| case.judge.launch().kernel.as_deref());
        let is_entry = |id: FuncId| entry.is_none_or(|entry| kept.optimized.functions[id].name == entry);
        let own: Vec<&((FuncId, FuncId), Selected)> =
            code.iter().filter(|((kernel, _), _)| is_entry(*kernel)).collect();
        let order: Vec<FuncId> = own.iter().map(|((_, id), _)| *id).collect();
        if own.is_empty() {
            return Answer::silent(NOT_REACHED);
        }
        if self.of_layout(kept).wrong.is_some() {
            return Answer::silent(DISORDER);
        }
        let mut all = Vec::new();
        for (at, selected) in own {
            let Ok(places) = Places::of(&kept.optimized, &kept.optimized.functions[at.1], &order, target) else {
                return Answer::silent(NOT_REACHED);
            };
            let (mut func, frame) = (selected.func.clone(), places.frame.next_multiple_of(16));
            selected.patches.iter().for_each(|patch| patch.apply(&mut func, frame));
            match naming::named(&func, &selected.fixed, target.uniform_register_limit() as u16) {
                Ok(naming::Named { func, registers }) => {
                    all.push((*at, Code { func, registers, frame, spilled: 0, spill_bytes: [0; 2] }))
                }
                Err(error) => return Answer::silent(error.reason()),
            }
        }
        self.of_code(&kept.optimized, target, all)
    }

    fn of_layout(&self, kept: &Kept) -> Answer {
        if kept.arranged.is_empty() {
            return Answer::silent(NOT_REACHED);
        }
        let pairs = kept.selected.iter().zip(&kept.arranged);
        let mut wrong = pairs.filter_map(|((_, before), (_, after))| layout::check(&before.func, &after.func));
        match wrong.next() {
            Some(disorder) => Answer::broken(disorder.to_string()),
            None => Answer { is_judged: true, ..Answer::default() },
        }
    }

    /// The order of each block keeps the values that its instructions read, and its words do what they did.
    fn of_reordered(&self, kept: &Kept, target: Target) -> Answer {
        let pairs = kept.allocated.iter().zip(&kept.reordered);
        let mut wrong = pairs.filter_map(|((_, before), (_, after))| order::check(&before.func, after));
        match wrong.next() {
            Some(disorder) => Answer::broken(disorder.to_string()),
            None => self.of_code(&kept.optimized, target, placed(&kept.reordered, kept)),
        }
    }

    fn of_scheduled(&self, kept: &Kept, target: Target) -> Answer {
        match self.assembled(&kept.optimized, target, placed(&kept.scheduled, kept)) {
            Ok(cubin) => self.of_cubin(&cubin, true),
            Err(answer) => *answer,
        }
    }

    fn of_words(&self, code: &Result<Cubin, CompileError>, encoding: Option<&str>) -> Answer {
        match (code, encoding) {
            (_, Some(what)) => Answer::broken(what.to_owned()),
            (Ok(cubin), None) => self.of_cubin(cubin, false),
            (Err(_), None) => Answer::silent(NOT_REACHED),
        }
    }

    fn of_code(&self, module: &Module, target: Target, all: Of<Code>) -> Answer {
        match self.assembled(module, target, all) {
            Ok(cubin) => self.of_cubin(&cubin, false),
            Err(answer) => *answer,
        }
    }

    /// A file of functions, each kernel with what it calls.
    fn assembled(&self, module: &Module, target: Target, all: Of<Code>) -> Result<Cubin, Box<Answer>> {
        if all.is_empty() {
            return Err(Box::new(Answer::silent(NOT_REACHED)));
        }
        let mut kernels: Vec<(FuncId, Vec<(FuncId, Code)>)> = Vec::new();
        for ((kernel, id), code) in all {
            match kernels.last_mut().filter(|(last, _)| *last == kernel) {
                Some((_, own)) => own.push((id, code)),
                None => kernels.push((kernel, vec![(id, code)])),
            }
        }
        let kernels = kernels.into_iter().map(|(_, own)| own).collect();
        let made = assemble(module, target, kernels, Lines::default(), &mut ());
        let Output { cubin, .. } = made.map_err(|error| Box::new(Answer::broken(error.to_string())))?;
        Cubin::read(&cubin).map_err(|error| Box::new(Answer::broken(error.to_string())))
    }

    /// The words of a file on every case; and their control, where that is asked for.
    fn of_cubin(&self, cubin: &Cubin, control: bool) -> Answer {
        let mut answer = Answer::default();
        for (at, case) in self.cases.iter().enumerate() {
            let judged = case.judge.judge_code(self.original, cubin, Executor::Interpreter, &LaneOrder::SEVERAL);
            let Ok(judged) = judged else { continue };
            answer.is_judged |= !judged.verdict.is_inconclusive();
            if judged.verdict.is_finding() {
                answer.wrong = Some((at, judged.verdict));
                return answer;
            }
        }
        if control && let Some(first) = check_cubin(cubin).unwrap_or_default().first() {
            answer.is_judged = true;
            answer.wrong = Some((0, Verdict::Mismatch(Mismatch::Hazard(first.to_string()))));
        }
        answer.reason = (!answer.is_judged).then_some(NOT_EXECUTED);
        answer
    }
}

/// Functions in physical form, with what their allocations say.
fn placed(all: &Of<Function>, kept: &Kept) -> Of<Code> {
    let placed = all.iter().zip(&kept.allocated).map(|((at, func), (_, it))| {
        let (func, registers) = (func.clone(), it.registers);
        (*at, Code { func, registers, frame: it.frame, spilled: it.spilled, spill_bytes: [0; 2] })
    });
    placed.collect()
}

/// How many instructions functions have; `None` where there are none.
fn count<T>(all: &Of<T>, func: impl Fn(&T) -> &Function) -> Option<usize> {
    (!all.is_empty()).then(|| all.iter().map(|(_, it)| func(it).inst_count()).sum())
}

/// Whether a call goes through a pointer: expansion compares it with the numbers of functions.
fn has_pointers(module: &Module) -> bool {
    let is_indirect = |func: &Function, inst: Inst| {
        let is_named = matches!(func.srcs(inst).first(), Some(Operand::Func(_)));
        func.inst(inst).opcode == Opcode::Call && !is_named
    };
    module.functions.values().any(|func| func.layout_insts().any(|inst| is_indirect(func, inst)))
}

impl Stages {
    /// Blames a stage, unless an earlier one is to blame.
    fn accuse(&mut self, step: StepId, (case, verdict): &(usize, Verdict)) {
        let (verdict, case) = (verdict.clone(), *case);
        let detail = match &verdict {
            Verdict::InvalidIr(what) => what.clone(),
            other => other.to_string(),
        };
        self.guilty.get_or_insert(Guilty { step, verdict, case, detail, rewrite: None });
    }

    /// Adds the line of a stage that leaves so many instructions.
    fn note(&mut self, step: StepId, answer: Answer, (before, after): (&mut usize, usize), start: Instant) {
        if let Some(wrong) = &answer.wrong {
            self.accuse(step, wrong);
        }
        self.lines.push(StepLine {
            changed: answer.is_judged,
            verdict: answer.verdict(),
            skipped: answer.reason,
            instructions_after: after,
            microseconds: start.elapsed().as_micros() as u64,
            ..StepLine::of(step, *before)
        });
        *before = after;
    }
}
