//! What is known of the code of a kernel on one axis.

use std::fmt;

use oriole_interp::{Executable, LaneOrder, StoreRecord};
use oriole_launch::distinct;
use oriole_machine::RunError;
use oriole_sass::cubin::Cubin;
use oriole_scoreboard::check_cubin;
use schemars::JsonSchema;
use serde::Serialize;

use super::aligned::{self, Line};
use crate::cases::Case;
use crate::compiler::{Axis, CompileError};
use crate::judge::code::{CodeError, Executor, OnCode};
use crate::judge::{Mismatch, Verdict};

/// What is known of an axis. The names stay the same between versions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The code does what the PTX says, on every case that says something.
    Equal,
    /// It does something else on a case.
    Different,
    /// The compiler crashed, or did not end.
    Crashed,
    /// The compiler refuses the program for this architecture.
    Refused,
    /// It does so on this axis, and takes the program for the same architecture where it optimizes more, or less.
    #[serde(rename = "refused here")]
    RefusedHere,
    /// Nothing could be judged.
    Unjudged,
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Answer::Equal => "equal",
            Answer::Different => "DIFFERENT",
            Answer::Crashed => "CRASHED",
            Answer::Refused => "refused",
            Answer::RefusedHere => "REFUSED HERE",
            Answer::Unjudged => "not judged",
        })
    }
}

/// The kind of reason why a case was not compared. The names stay the same between versions.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Cause {
    /// There is no code: the compiler refuses the program, or cannot be used.
    NoCode,
    /// There is no case.
    NoCase,
    /// An instruction that the machine-level interpreter does not execute.
    NotExecuted {
        /// Its mnemonic.
        mnemonic: &'static str,
    },
    /// The code cannot be placed in memory, or the launch does not fit it.
    NotLoaded,
    /// The GPU does not take it.
    NotOnGpu,
    /// The PTX traps.
    Traps,
    /// What differs is undefined, or left open by the PTX ISA.
    Open,
    /// Threads of the PTX race, or what it leaves depends on their order.
    Races,
    /// It does not end within its steps.
    Steps,
}

impl Cause {
    /// Of code that could not be executed.
    fn of_error(error: &CodeError) -> Cause {
        match error {
            CodeError::Run(RunError::Unknown { mnemonic, .. }) => Cause::NotExecuted { mnemonic },
            CodeError::Load(_) | CodeError::Run(_) => Cause::NotLoaded,
            CodeError::Gpu(_)
            | CodeError::Images
            | CodeError::TensorMaps
            | CodeError::Pointers
            | CodeError::Multicast => Cause::NotOnGpu,
        }
    }

    /// Of a verdict that says nothing.
    fn of_verdict(verdict: &Verdict) -> Cause {
        match verdict {
            Verdict::OriginalRaces => Cause::Races,
            Verdict::OutOfSteps => Cause::Steps,
            Verdict::OriginalTraps => Cause::Traps,
            _ => Cause::Open,
        }
    }

    /// Its name in statistics.
    pub fn name(&self) -> &'static str {
        match self {
            Cause::NoCode => "axes not judged: no code",
            Cause::NoCase => "axes not judged: no case",
            Cause::NotExecuted { .. } => "axes not judged: an instruction is not executed",
            Cause::NotLoaded => "axes not judged: not loaded",
            Cause::NotOnGpu => "axes not judged: not on the GPU",
            Cause::Traps => "axes not judged: the PTX traps",
            Cause::Open => "axes not judged: undefined or open",
            Cause::Races => "axes not judged: races",
            Cause::Steps => "axes not judged: out of steps",
        }
    }
}

/// An axis with its verdict.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Judged {
    /// `sm_90 -O3`, or the cubin's name.
    pub axis: String,
    /// The verdict.
    pub answer: Answer,
    /// Whether there is code, which the compiler made or somebody gave.
    pub has_code: bool,
    /// Cases that were compared.
    pub compared: usize,
    /// How many different data these have.
    pub data: usize,
    /// Why not, of an axis without verdict.
    pub reason: Option<String>,
    /// The kind of this.
    pub cause: Option<Cause>,
    /// The first case that differs.
    pub difference: Option<Difference>,
    /// What the scheduling of the code does not cover: registers that are used before an instruction is done with them.
    pub hazards: Vec<String>,
    /// What is wrong of the compiler, and the place of the case that tells: the first where it makes no code.
    #[serde(skip)]
    pub wrong: Option<(usize, Verdict)>,
}

/// A case on which code differs from its program.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Difference {
    /// The case.
    pub case: String,
    /// What differs.
    pub detail: String,
    /// In which order of lanes, where not in the usual one.
    pub order: Option<String>,
    /// The machine instruction that stored the first wrong byte.
    pub code: Option<String>,
    /// The instruction of the PTX that stored the right one.
    pub ptx: Option<String>,
    /// What the thread did until then, on both sides; see [`Judged::look_closer`].
    pub steps: Vec<Line>,
    /// The order of lanes that shows it.
    #[serde(skip)]
    pub lanes: LaneOrder,
    /// The stores of that byte, of the PTX and of the code.
    #[serde(skip)]
    stores: [Option<StoreRecord>; 2],
}

impl Judged {
    /// Judges the code of an axis on every case. `fuses` says whether the compiler was let to fuse products with sums.
    pub fn of(
        original: &Executable<'_>,
        cases: &[Case<'_>],
        axis: String,
        code: Result<&Cubin, &CompileError>,
        executor: Executor<'_>,
        fuses: bool,
    ) -> Judged {
        match code {
            Ok(cubin) => Judged::of_code(original, cases, axis, cubin, (executor, fuses)),
            Err(error) => Judged::without_code(axis, error),
        }
    }

    /// Takes what the scheduling of our own code does not cover for wrong, where no case tells more. Of ptxas's code it
    /// would not be: how many cycles an instruction takes is measured over that.
    pub fn with_hazards(self, code: Option<&Cubin>) -> Judged {
        let found = code.and_then(|cubin| check_cubin(cubin).ok()).unwrap_or_default();
        let hazards: Vec<String> = found.iter().map(ToString::to_string).collect();
        let verdict = hazards.first().map(|first| Verdict::Mismatch(Mismatch::Hazard(first.clone())));
        let is_new = self.wrong.is_none() && verdict.is_some();
        let answer = if is_new { Answer::Different } else { self.answer };
        let wrong = self.wrong.or(verdict.map(|verdict| (0, verdict)));
        Judged { answer, hazards, wrong, ..self }
    }

    /// Has the thread that stored the first wrong byte executed again, in the PTX and in the code.
    pub fn look_closer(&mut self, original: &Executable<'_>, cases: &[Case<'_>], cubin: &Cubin) {
        if let (Some(difference), Some((case, _))) = (&mut self.difference, &self.wrong) {
            let stores = difference.stores.each_ref().map(Option::as_ref);
            difference.steps = aligned::lines(original, &cases[*case], cubin, stores, difference.lanes);
        }
    }

    /// Notes why a case was not compared, unless an earlier one was not either.
    fn note(&mut self, cause: Cause, reason: impl FnOnce() -> String) {
        if self.reason.is_none() {
            (self.cause, self.reason) = (Some(cause), Some(reason()));
        }
    }

    fn without_code(axis: String, error: &CompileError) -> Judged {
        let wrong = error.verdict().map(|verdict| (0, verdict));
        let answer = match error {
            _ if wrong.is_some() => Answer::Crashed,
            CompileError::Refused(_) => Answer::Refused,
            _ => Answer::Unjudged,
        };
        Judged {
            axis,
            answer,
            has_code: false,
            compared: 0,
            data: 0,
            reason: Some(error.to_string()),
            cause: Some(Cause::NoCode),
            difference: None,
            hazards: Vec::new(),
            wrong,
        }
    }

    fn of_code(
        original: &Executable<'_>,
        cases: &[Case<'_>],
        axis: String,
        cubin: &Cubin,
        (executor, fuses): (Executor<'_>, bool),
    ) -> Judged {
        let answer = Answer::Unjudged;
        let (reason, cause, difference, hazards, wrong) = Default::default();
        let mut judged =
            Judged { axis, answer, has_code: true, compared: 0, data: 0, reason, cause, difference, hazards, wrong };
        if cases.is_empty() {
            judged.note(Cause::NoCase, || "no case says what the code should do".to_owned());
        }
        let mut compared = Vec::new();
        for (at, case) in cases.iter().enumerate() {
            match case.judge.judge_code(original, cubin, executor, &LaneOrder::SEVERAL) {
                Err(error) => {
                    judged.note(Cause::of_error(&error), || format!("{}: {error}", case.name));
                }
                Ok(OnCode { verdict, .. }) if verdict.is_inconclusive() => {
                    judged.note(Cause::of_verdict(&verdict), || format!("{}: {}", case.name, why_not(&verdict, case)));
                }
                Ok(OnCode { verdict, .. })
                    if verdict.is_finding() && fuses && case.judge.is_fused(original, cubin, executor) =>
                {
                    compared.push(case.judge.launch());
                    let why = "equal once products are fused with sums, which this PTX leaves to the compiler";
                    judged.reason.get_or_insert_with(|| format!("{}: {why}", case.name));
                }
                Ok(judgement) => {
                    compared.push(case.judge.launch());
                    if judgement.verdict.is_finding() && judged.difference.is_none() {
                        judged.difference = Some(Difference::new(original, case, cubin, &judgement));
                        judged.wrong = Some((at, judgement.verdict));
                    }
                }
            }
        }
        (judged.compared, judged.data) = (compared.len(), distinct(compared));
        judged.answer = match (&judged.difference, judged.compared) {
            (Some(_), _) => Answer::Different,
            (None, 0) => Answer::Unjudged,
            (None, _) => Answer::Equal,
        };
        judged
    }
}

/// Has a refusal count as wrong where the compiler takes the same program for the same architecture, with the same
/// further options, at another level: whether PTX is valid does not depend on how it is optimized. `axes` are those of
/// the answers, in their order.
pub fn compare_refusals(judged: &mut [Judged], axes: &[Axis]) {
    let taken: Vec<&Axis> =
        axes.iter().zip(&*judged).filter(|(_, judged)| judged.has_code).map(|(axis, _)| axis).collect();
    for (axis, judged) in axes.iter().zip(judged).filter(|(_, judged)| judged.answer == Answer::Refused) {
        let Some(other) = taken.iter().find(|other| other.is_like(axis)) else { continue };
        let why = format!("{}; {other} takes it", judged.reason.as_deref().unwrap_or_default());
        judged.answer = Answer::RefusedHere;
        judged.wrong = Some((0, Verdict::Refused(why.clone())));
        judged.reason = Some(why);
    }
}

impl Difference {
    /// What differs, and who stored it on either side.
    fn new(original: &Executable<'_>, case: &Case<'_>, cubin: &Cubin, judgement: &OnCode) -> Difference {
        let OnCode { verdict, lanes } = judgement;
        let byte = match verdict {
            Verdict::Mismatch(Mismatch::Bytes { argument: Some(argument), offset, .. }) => Some((*argument, *offset)),
            _ => None,
        };
        let code = byte.and_then(|byte| case.judge.last_store_of_code(original, cubin, byte, *lanes));
        let ptx = byte.and_then(|byte| case.judge.last_store(original.module(), byte));
        let said = |store: &StoreRecord| format!("{} at {}", store.thread, store.place);
        let [by_code, by_ptx] = [&code, &ptx].map(|store| store.as_ref().map(said));
        let order = Some(lanes).filter(|lanes| **lanes != LaneOrder::default()).map(LaneOrder::to_string);
        let said_order = order.as_ref().map_or(String::new(), |order| format!(", where {order}"));
        let (case, detail) = (case.name.clone(), format!("{verdict}{said_order}"));
        let (lanes, stores) = (*lanes, [ptx, code]);
        Difference { case, detail, order, code: by_code, ptx: by_ptx, steps: Vec::new(), lanes, stores }
    }
}

/// Why a verdict on a case says nothing about the code.
fn why_not(verdict: &Verdict, case: &Case<'_>) -> String {
    match verdict {
        Verdict::OriginalTraps => "the PTX traps".to_owned(),
        Verdict::OriginalUndefined => {
            "what differs depends on something undefined, or open: NaNs, approximations, registers of the machine"
                .to_owned()
        }
        Verdict::OriginalRaces => match case.judge.race() {
            Some(race) => format!("threads of the PTX race: {race}"),
            None => "threads of the PTX race, or what it leaves depends on their order".to_owned(),
        },
        Verdict::OutOfSteps => "it does not end within its steps: `steps` in the launch file raises them".to_owned(),
        other => other.to_string(),
    }
}
