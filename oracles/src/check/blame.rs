//! From a guilty phase to the guilty rewrite, the store that shows it, and a file that replays it.
//!
//! A phase asks before each change, and makes exactly the first `n` when it gets leave for `n`. So a binary search
//! over `n` finds a change before which all is well and after which it is not.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use oriole_optimizer::ir::{FuncId, Module};
use oriole_optimizer::pipeline::runner::{LastRewrite, Options, PhaseEntry};
use similar::TextDiff;

use super::border::Border;
use super::cases::Case;
use super::report::{Evidence, Finding, HANG, Rewrite};
use super::step::{Step, take, take_noting, verdict_of};
use super::{CheckError, CheckOptions, shape};
use crate::equivalence::{Mismatch, Verdict};
use crate::interp::{Executable, StoreRecord};
use crate::launch::Launch;

/// The search gives up beyond so many changes.
pub(super) const MOST_REWRITES: u64 = 1 << 32;
/// Lines of a difference that are kept.
const MAX_DIFF_LINES: usize = 60;

/// A phase that did something wrong, and what is needed to find out what.
pub struct Suspect<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The phase.
    pub entry: &'a PhaseEntry,
    /// The module before it.
    pub before: &'a Module,
    /// The module after it; meaningless where it panicked.
    pub after: &'a Module,
    /// The case that shows the difference, or any; `None` where no case says anything.
    pub case: Option<&'a Case<'a>>,
    /// How the phase runs.
    pub pipeline: &'a Options,
    /// How the check runs.
    pub options: &'a CheckOptions,
}

/// The phase with leave for some changes: what it leaves, and whether that is wrong.
struct Trial {
    module: Module,
    last: Option<LastRewrite>,
    function: Option<String>,
    bad: bool,
}

/// The change that makes a phase wrong, by its number, and the runs without and with it.
struct Turn {
    index: u64,
    good: Trial,
    bad: Trial,
}

impl Suspect<'_> {
    /// What to report of a phase that changed behaviour or left an invalid module.
    pub fn finding(&self, verdict: Verdict) -> Result<Finding, CheckError> {
        let shape = shape::of(&verdict);
        if self.is_familiar(verdict.name(), &shape) {
            return self.blank(verdict.name(), verdict.to_string(), shape, false);
        }
        let rewrite = self.guilty_rewrite()?;
        let stores = match &verdict {
            Verdict::Mismatch(Mismatch::Bytes { argument: Some(argument), offset, .. }) => {
                let watch = (*argument, *offset);
                (self.last_store(self.before, watch), self.last_store(self.after, watch))
            }
            _ => (None, None),
        };
        let show = |store: Option<StoreRecord>| store.map(|store| format!("{} by {}", store.place, store.thread));
        Ok(Finding {
            function: rewrite.as_ref().and_then(|rewrite| rewrite.function.clone()),
            rewrite,
            store_before: show(stores.0),
            store_after: show(stores.1),
            ..self.blank(verdict.name(), verdict.to_string(), shape, true)?
        })
    }

    /// What to report of a phase that panicked.
    pub fn panicked(&self, message: &str) -> Result<Finding, CheckError> {
        let (verdict, shape) = (verdict_of(message), shape::of_message(message));
        let phase = self.entry.name();
        let does = if verdict == HANG { "does not end" } else { "panics" };
        if self.is_familiar(verdict, &shape) {
            let detail = format!("{phase} {does}: {message}");
            return self.blank(verdict, detail, shape, false);
        }
        let function = self.panicking_function()?;
        let named = function.as_ref().map_or(String::new(), |name| format!(" on function `{name}`"));
        let detail = format!("{phase} {does}{named}: {message}");
        let blank = self.blank(verdict, detail, shape, true)?;
        // It is all of its changes that never end, and no single one.
        let rewrite = if verdict == HANG { None } else { self.guilty_rewrite()? };
        Ok(Finding { function, rewrite, ..blank })
    }

    /// Whether the phase has gone wrong in this way so often that the guilty rewrite is known.
    fn is_familiar(&self, verdict: &'static str, shape: &str) -> bool {
        let way = || (self.entry.name().to_owned(), verdict.to_owned(), shape.to_owned());
        self.options.familiar.as_ref().is_some_and(|familiar| familiar.recognises(&way()))
    }

    /// A finding without guilty rewrite.
    fn blank(
        &self,
        verdict: &'static str,
        detail: String,
        shape: String,
        bisected: bool,
    ) -> Result<Finding, CheckError> {
        let phase = self.entry.name();
        let said = Said { step: phase, token: phase, verdict, detail, shape, bisected };
        let launch = self.case.map(|case| (case.name.as_str(), &case.launch));
        of_step(self.kernel, said, self.before, launch, self.options)
    }

    /// The first change after which the phase is wrong; `None` where it is wrong without any.
    fn guilty_rewrite(&self) -> Result<Option<Rewrite>, CheckError> {
        let Some(Turn { index, good, bad }) = self.turn()? else { return Ok(None) };
        let last = bad.last.as_ref();
        Ok(Some(Rewrite {
            index,
            rule: last.and_then(|last| last.rule).map(str::to_owned),
            function: last.map(|last| last.function.clone()).or(bad.function),
            diff: difference(&good.module.to_string(), &bad.module.to_string()),
        }))
    }

    /// The rule that made this change, where there is one and it has a name.
    pub(crate) fn guilty_rule(&self) -> Result<Option<&'static str>, CheckError> {
        Ok(self.turn()?.and_then(|turn| turn.bad.last).and_then(|last| last.rule))
    }

    /// Where the phase turns from right to wrong, as it gets leave for more changes.
    fn turn(&self) -> Result<Option<Turn>, CheckError> {
        let mut good = self.trial(0)?;
        if good.bad {
            return Ok(None);
        }
        let (mut low, mut high) = (0, 1);
        let mut bad = self.trial(high)?;
        while !bad.bad {
            if high >= MOST_REWRITES {
                return Ok(None);
            }
            (low, good, high) = (high, bad, high * 2);
            bad = self.trial(high)?;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let trial = self.trial(middle)?;
            if trial.bad { (high, bad) = (middle, trial) } else { (low, good) = (middle, trial) }
        }
        Ok(Some(Turn { index: high, good, bad }))
    }

    /// The phase with leave for `limit` changes, judged on the one case.
    fn trial(&self, limit: u64) -> Result<Trial, CheckError> {
        let mut module = self.before.clone();
        let (step, mut last) = take_noting(self.entry, &mut module, self.pipeline, Some(limit))?;
        let (bad, function) = match step {
            Step::Done(_) | Step::Stopped => (self.misbehaves(&module), None),
            Step::Invalid { function, .. } => {
                last = self.last_unverified(limit)?;
                (true, Some(function))
            }
            Step::Panicked { .. } => {
                module.clone_from(self.before);
                (true, None)
            }
        };
        Ok(Trial { module, last, function, bad })
    }

    /// The last change of a run that ends in an invalid module: without verification, the run reports it.
    fn last_unverified(&self, limit: u64) -> Result<Option<LastRewrite>, CheckError> {
        let pipeline = Options { verify: false, ..self.pipeline.clone() };
        let (_, last) = take_noting(self.entry, &mut self.before.clone(), &pipeline, Some(limit))?;
        Ok(last)
    }

    fn misbehaves(&self, module: &Module) -> bool {
        let Ok(executable) = Executable::new(module) else { return true };
        match self.case {
            Some(case) => case.run(&executable).map_or(true, |ran| ran.verdict.is_finding()),
            None => false,
        }
    }

    /// The last store to a byte of a buffer.
    fn last_store(&self, module: &Module, watch: (usize, usize)) -> Option<StoreRecord> {
        let executable = Executable::new(module).ok()?;
        let ran = self.case?.run_watching(&executable, vec![watch]).ok()?;
        ran.result.stores.last().cloned()
    }

    /// The function on which the phase panics, found by running it on each alone.
    fn panicking_function(&self) -> Result<Option<String>, CheckError> {
        let ids: Vec<FuncId> = self.before.functions.keys().collect();
        for id in ids {
            let mut module = self.before.clone();
            let others = module.functions.iter_mut().filter(|(other, _)| *other != id);
            others.for_each(|(_, func)| func.layout.clear());
            if let Step::Panicked { .. } = take(self.entry, &mut module, self.pipeline, None)? {
                return Ok(Some(self.before.functions[id].name.clone()));
            }
        }
        Ok(None)
    }
}

/// What is said about a step.
pub(super) struct Said {
    /// Its name.
    pub step: &'static str,
    /// Its name on the command line.
    pub token: &'static str,
    /// The verdict.
    pub verdict: &'static str,
    /// What differs.
    pub detail: String,
    /// In words that stay the same from kernel to kernel.
    pub shape: String,
    /// Whether it was looked into; otherwise it is familiar, and no reproducer is written.
    pub bisected: bool,
}

impl Said {
    /// What a verdict says of a step that is no phase.
    pub fn of(border: Border, verdict: &Verdict) -> Said {
        let (detail, shape) = (verdict.to_string(), shape::of(verdict));
        Said { step: border.name(), token: border.token(), verdict: verdict.name(), detail, shape, bisected: true }
    }
}

/// A finding without a guilty rewrite: of a step that is one change, or cannot be asked for fewer.
pub(super) fn of_step(
    kernel: &str,
    said: Said,
    module: &Module,
    launch: Option<(&str, &Launch)>,
    options: &CheckOptions,
) -> Result<Finding, CheckError> {
    let Said { step, token, verdict, detail, shape, bisected } = said;
    let (case, launch) = launch.unzip();
    let write = |folder: &Path| write_reproducer(folder, kernel, token, module, launch);
    let reproducer = options.out.as_deref().filter(|_| bisected).map(write).transpose()?;
    Ok(Finding {
        kernel: kernel.to_owned(),
        phase: step.to_owned(),
        verdict,
        case: case.unwrap_or_default().to_owned(),
        detail,
        shape,
        bisected,
        function: None,
        rewrite: None,
        store_before: None,
        store_after: None,
        replay: options.replay_of(reproducer.as_deref().unwrap_or(kernel), token),
        reproducer,
        evidence: Arc::new(Evidence { module: module.clone(), launch: launch.cloned() }),
    })
}

/// Writes a module and its launch into a folder, and returns the module's file.
pub(super) fn write_reproducer(
    folder: &Path,
    kernel: &str,
    what: &str,
    module: &Module,
    launch: Option<&Launch>,
) -> Result<String, CheckError> {
    let failed = |reason: String| CheckError::Reproducer { path: folder.to_owned(), reason };
    let kernel = Path::new(kernel).file_stem().and_then(|stem| stem.to_str()).unwrap_or("kernel");
    let stem = format!("{kernel}-{what}");
    fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
    if let Some(launch) = launch {
        launch.save(folder, &stem).map_err(|error| failed(error.to_string()))?;
    }
    let path = folder.join(format!("{stem}.ori"));
    fs::write(&path, module.to_string()).map_err(|error| failed(error.to_string()))?;
    Ok(path.display().to_string())
}

/// The lines that differ, as a unified diff.
pub(crate) fn difference(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let text = diff.unified_diff().context_radius(1).to_string();
    let mut lines: Vec<&str> = text.lines().take(MAX_DIFF_LINES + 1).collect();
    if lines.len() > MAX_DIFF_LINES {
        lines[MAX_DIFF_LINES] = "...";
    }
    lines.join("\n")
}
