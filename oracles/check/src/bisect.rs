//! From a guilty step to the guilty rewrite, the store that shows it, and a finding.
//!
//! A phase asks before each change, and makes exactly the first `n` when it gets leave for `n`. So a binary search
//! over `n` finds a change before which all is well and after which it is not.

use diffy::DiffOptions;
use oriole_ir::{FuncId, Module};
use oriole_optimizer::pipeline::runner::{LastRewrite, Options};

use super::cases::Case;
use super::finding::FailureSummary;
use super::in_place::InPlace;
use super::options::{CheckError, CheckOptions};
use super::report::{Finding, Rewrite};
use super::signature;
use super::step::{Conditions, Failure, Outcome, Step};
use super::variant;
use crate::judge::{Mismatch, Verdict};
use crate::supervise::StepId;
use crate::trip::misread::Misread;
use oriole_interp::{Executable, StoreRecord};

/// The search gives up beyond so many changes.
const MOST_REWRITES: u64 = 1 << 32;
/// Lines of a difference that are kept.
const MAX_DIFF_LINES: usize = 60;
/// Lines of a patch that name the two files.
const FILE_NAMES: usize = 2;

/// A step that went wrong, and what is needed to find out how.
pub struct Culprit<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The step.
    pub step: &'a Step,
    /// The module before it.
    pub before: &'a Module,
    /// The module after it; meaningless where it panicked.
    pub after: &'a Module,
    /// The case that shows the difference, or any; `None` where no case is conclusive.
    pub case: Option<&'a Case<'a>>,
    /// How the step is taken.
    pub conditions: Conditions<'a>,
    /// How the check runs.
    pub options: &'a CheckOptions,
    /// Who judges what the step leaves.
    pub stage: Stage<'a>,
}

/// The stage at which a program is, which says how it is executed and judged.
#[derive(Clone, Copy)]
pub enum Stage<'a> {
    /// Ori in virtual or SSA form: the interpreter executes it.
    Ori,
    /// Machine code, held against the compiler's on these cases.
    Code(&'a InPlace<'a>, &'a [Case<'a>]),
}

/// A step with leave for some changes: what it leaves.
struct Trial {
    module: Module,
    last: Option<LastRewrite>,
    function: Option<String>,
}

impl Culprit<'_> {
    /// The finding: with the guilty rewrite, where the step can be bisected and failures like this are not well known.
    ///
    /// # Errors
    ///
    /// A reproducer that cannot be written, or an option that names no phase.
    pub fn finding(&self, failure: Failure) -> Result<Finding, CheckError> {
        let Failure { verdict, function } = failure;
        let step = self.step.id();
        if matches!(step, StepId::SsaConstruction | StepId::SsaDestruction) {
            return self.report(FailureSummary::of(step, verdict, function.as_deref()));
        }
        if self.is_well_known(&verdict) {
            return self.report(FailureSummary { bisected: false, ..FailureSummary::of(step, verdict, None) });
        }
        if step == StepId::PtxRoundTrip {
            return self.round_trip(verdict);
        }
        let function = match (&verdict, function) {
            (Verdict::Panicked(_), None) => self.panicking_function()?,
            (_, function) => function,
        };
        // It is all of its changes that never end, and no single one.
        let rewrite = if matches!(verdict, Verdict::Hangs(_)) { None } else { self.guilty_rewrite()? };
        let stores = self.stores(&verdict);
        let show = |store: Option<StoreRecord>| store.map(|store| format!("{} by {}", store.place, store.thread));
        let named = match &rewrite {
            Some(rewrite) if !matches!(verdict, Verdict::Panicked(_)) => rewrite.function.clone(),
            _ => function.clone(),
        };
        Ok(Finding {
            function: named,
            rewrite,
            store_before: show(stores.0),
            store_after: show(stores.1),
            ..self.report(FailureSummary::of(step, verdict, function.as_deref()))?
        })
    }

    /// The finding of a round trip: with the text that is misread, and what of it is spelled otherwise than printed.
    fn round_trip(&self, verdict: Verdict) -> Result<Finding, CheckError> {
        let finding = self.report(FailureSummary::of(self.step.id(), verdict, None))?;
        let Some(Misread { text, spelling }) = self.misread() else { return Ok(finding) };
        Ok(Finding { rewrite: spelling, text: Some(text.into()), ..finding })
    }

    fn report(&self, summary: FailureSummary) -> Result<Finding, CheckError> {
        match self.stage {
            Stage::Ori => summary.finding(self.kernel, self.before, self.case.map(Case::named), self.options),
            Stage::Code(code, _) => code.finding(summary, self.before, self.case, self.options),
        }
    }

    /// Whether the step has failed like this so often that the guilty rewrite is known.
    fn is_well_known(&self, verdict: &Verdict) -> bool {
        let class =
            || (self.step.id().to_string(), verdict.name().to_owned(), signature::of_step(self.step.id(), verdict));
        self.options.bisection_limit.as_ref().is_some_and(|limit| limit.is_exceeded_by(&class()))
    }

    /// The last stores to the first byte that differs, before the step and after it.
    fn stores(&self, verdict: &Verdict) -> (Option<StoreRecord>, Option<StoreRecord>) {
        let (Verdict::Mismatch(Mismatch::Bytes { argument: Some(argument), offset, .. }), Some(case)) =
            (verdict, self.case.filter(|_| matches!(self.stage, Stage::Ori)))
        else {
            return (None, None);
        };
        let last = |module| case.judge.last_store(module, (*argument, *offset));
        (last(self.before), last(self.after))
    }

    /// The first change after which the step is wrong; `None` where it is wrong without any.
    fn guilty_rewrite(&self) -> Result<Option<Rewrite>, CheckError> {
        let Some(Turn { index, good, bad }) = self.turn()? else { return Ok(None) };
        let step = self.step.id();
        let inner = bad.last.as_ref().filter(|last| StepId::Pass(last.pass) != step).map(|last| last.pass.to_string());
        let named =
            |rewrite: Rewrite| Rewrite { function: rewrite.function.or(bad.function.clone()), pass: inner, ..rewrite };
        Ok(Some(named(rewrite(index, bad.last.as_ref(), &good.module, &bad.module))))
    }

    /// The rule that made this change, where there is one and it has a name.
    pub(crate) fn guilty_rule(&self) -> Result<Option<String>, CheckError> {
        if self.step.id() == StepId::PtxRoundTrip {
            return Ok(self.misread().and_then(|misread| misread.spelling).and_then(|spelling| spelling.rule));
        }
        Ok(self.turn()?.and_then(|turn| turn.bad.last).map(|last| last.rule.to_owned()))
    }

    /// What the guilty change does to the operations of the program; what the whole step does where none is guilty.
    pub(crate) fn change(&self) -> Result<String, CheckError> {
        if let Some(Turn { good, bad, .. }) = self.turn()? {
            return Ok(variant::change(&good.module, &bad.module));
        }
        let mut after = self.before.clone();
        match self.step.take(&mut after, &self.conditions)? {
            Outcome::Done(_) => Ok(variant::change(self.before, &after)),
            Outcome::Skipped(_) | Outcome::Failed(_) => Ok(String::new()),
        }
    }

    fn turn(&self) -> Result<Option<Turn<Trial>>, CheckError> {
        turning_point(1, |limit| self.trial(limit))
    }

    /// The step with leave for `limit` changes, and whether it is wrong on the one case.
    fn trial(&self, limit: u64) -> Result<(Trial, bool), CheckError> {
        let mut module = self.before.clone();
        Ok(match self.step.take(&mut module, &self.limited(limit))? {
            Outcome::Skipped(_) => (Trial { module, last: None, function: None }, false),
            Outcome::Done(done) => {
                let bad = self.misbehaves(&module);
                (Trial { module, last: done.last_rewrite, function: None }, bad)
            }
            Outcome::Failed(Failure { verdict, function }) => {
                let last = if matches!(verdict, Verdict::InvalidIr(_)) { self.last_unverified(limit)? } else { None };
                if matches!(verdict, Verdict::Panicked(_)) {
                    module.clone_from(self.before);
                }
                (Trial { module, last, function }, true)
            }
        })
    }

    fn limited(&self, limit: u64) -> Conditions<'_> {
        Conditions { limit: Some(limit), ..self.conditions }
    }

    /// The last change of a run that ends in an invalid module: without verification, the run reports it.
    fn last_unverified(&self, limit: u64) -> Result<Option<LastRewrite>, CheckError> {
        let pipeline = Options { verify: false, ..self.conditions.pipeline.clone() };
        let conditions = Conditions { pipeline: &pipeline, ..self.limited(limit) };
        match self.step.take(&mut self.before.clone(), &conditions)? {
            Outcome::Done(done) => Ok(done.last_rewrite),
            Outcome::Skipped(_) | Outcome::Failed(_) => Ok(None),
        }
    }

    /// Whether a module that a step has left does not do what the one before it does.
    pub(crate) fn misbehaves(&self, module: &Module) -> bool {
        if let Stage::Code(code, cases) = self.stage {
            return code.judge(module, cases).verdict.is_some_and(|verdict| verdict.is_finding());
        }
        let Ok(executable) = Executable::new(module) else { return true };
        self.case.is_some_and(|case| case.judge.judge(&executable).verdict.is_finding())
    }

    /// The function on which the step panics, found by taking it on each alone.
    fn panicking_function(&self) -> Result<Option<String>, CheckError> {
        let ids: Vec<FuncId> = self.before.functions.keys().collect();
        for id in ids {
            let mut module = self.before.clone();
            let others = module.functions.iter_mut().filter(|(other, _)| *other != id);
            others.for_each(|(_, func)| func.set_layout(Vec::new()));
            let outcome = self.step.take(&mut module, &Conditions { limit: None, ..self.conditions })?;
            if matches!(outcome, Outcome::Failed(Failure { verdict: Verdict::Panicked(_), .. })) {
                return Ok(Some(self.before.functions[id].name.clone()));
            }
        }
        Ok(None)
    }
}

/// The change that makes a run wrong, by its number, and the runs without and with it.
pub(super) struct Turn<T> {
    pub index: u64,
    pub good: T,
    pub bad: T,
}

/// Where a run turns from right to wrong as it gets leave for more changes. `run` says what the run leaves, and whether
/// that is wrong; `guess` is a number of changes to begin with.
///
/// `None` where it is wrong without any change, or right with as many as the search goes up to.
///
/// # Errors
///
/// Those of the runs.
pub(super) fn turning_point<T>(
    guess: u64,
    run: impl Fn(u64) -> Result<(T, bool), CheckError>,
) -> Result<Option<Turn<T>>, CheckError> {
    let (mut good, wrong) = run(0)?;
    if wrong {
        return Ok(None);
    }
    let (mut low, mut high) = (0, guess.max(1));
    // The run with `low` changes is right. A run that ends early does not say how many changes it made, so `high`
    // grows.
    let mut bad = loop {
        let (trial, wrong) = run(high)?;
        if wrong {
            break trial;
        }
        if high >= MOST_REWRITES {
            return Ok(None);
        }
        (low, good, high) = (high, trial, high * 2);
    };
    // The run with `low` changes is right, that with `high` is wrong.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let (trial, wrong) = run(middle)?;
        if wrong { (high, bad) = (middle, trial) } else { (low, good) = (middle, trial) }
    }
    Ok(Some(Turn { index: high, good, bad }))
}

/// A change for a report: the last one of the run that is wrong, and what it changes.
pub(super) fn rewrite(index: u64, last: Option<&LastRewrite>, good: &Module, bad: &Module) -> Rewrite {
    Rewrite {
        index,
        rule: last.map(|last| last.rule.to_owned()),
        pass: None,
        function: last.and_then(|last| last.function.clone()),
        diff: difference(&good.to_string(), &bad.to_string()),
        change: variant::change(good, bad),
    }
}

/// The lines that differ, as a unified diff.
pub fn difference(before: &str, after: &str) -> String {
    let text = DiffOptions::new().set_context_len(1).create_patch(before, after).to_string();
    let mut lines: Vec<&str> = text.lines().skip(FILE_NAMES).take(MAX_DIFF_LINES + 1).collect();
    if lines.len() > MAX_DIFF_LINES {
        lines[MAX_DIFF_LINES] = "...";
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turning_point_is_the_first_wrong_change() {
        for (first, guess) in [(1, 1), (2, 1), (7, 1), (8, 100), (1000, 3)] {
            let turn = turning_point(guess, |limit| Ok((limit, limit >= first))).expect("no run fails");
            let Turn { index, good, bad } = turn.expect("there is one");
            assert_eq!((index, good, bad), (first, first - 1, first));
        }
        assert!(turning_point(1, |limit| Ok((limit, true))).is_ok_and(|turn| turn.is_none()), "wrong without a change");
        assert!(turning_point(1, |limit| Ok((limit, false))).is_ok_and(|turn| turn.is_none()), "never wrong");
    }
}
