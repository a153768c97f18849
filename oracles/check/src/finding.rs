//! From a failure to a finding: the file that replays it, and the command that does.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use oriole_ir::Module;

use super::options::{CheckError, CheckOptions};
use super::report::{Evidence, Finding};
use super::signature;
use crate::judge::Verdict;
use crate::supervise::StepId;
use oriole_launch::Launch;

/// A summary of a step that failed.
pub(super) struct FailureSummary {
    /// The step.
    pub step: StepId,
    /// The verdict.
    pub verdict: Verdict,
    /// What differs.
    pub detail: String,
    /// Whether the failure was looked into; otherwise its class is known well enough, and no reproducer is written.
    pub bisected: bool,
}

impl FailureSummary {
    /// A failure that was looked into, in the words of its verdict.
    pub fn of(step: StepId, verdict: Verdict, function: Option<&str>) -> FailureSummary {
        let on = function.map_or(String::new(), |name| format!(" on function `{name}`"));
        let detail = match &verdict {
            Verdict::Panicked(panic) => format!("{step} panics{on}: {panic}"),
            Verdict::Hangs(hang) => format!("{step} does not end{on}: {hang}"),
            Verdict::OutOfMemory(_) => format!("{step} {verdict}"),
            verdict => verdict.to_string(),
        };
        FailureSummary { step, verdict, detail, bisected: true }
    }

    /// A finding without a guilty rewrite: of a step that cannot be bisected, or need not be. `module` is the program
    /// before the step.
    ///
    /// # Errors
    ///
    /// A reproducer that cannot be written.
    pub fn finding(
        self,
        kernel: &str,
        module: &Module,
        launch: Option<(&str, &Launch)>,
        options: &CheckOptions,
    ) -> Result<Finding, CheckError> {
        let FailureSummary { step, verdict, detail, bisected } = self;
        let (case, launch) = launch.unzip();
        let write = |folder: &Path| write_reproducer(folder, kernel, step, module, launch);
        let reproducer = options.out.as_deref().filter(|_| bisected).map(write).transpose()?;
        Ok(Finding {
            kernel: kernel.to_owned(),
            phase: step,
            signature: signature::of_step(step, &verdict),
            verdict,
            case: case.unwrap_or_default().to_owned(),
            detail,
            bisected,
            function: None,
            rewrite: None,
            store_before: None,
            store_after: None,
            replay: options.replay_of(reproducer.as_deref().unwrap_or(kernel), step),
            reproducer,
            text: None,
            axes: Vec::new(),
            evidence: Arc::new(Evidence { module: module.clone(), launch: launch.cloned() }),
        })
    }
}

/// Writes a module and its launch into a folder, and returns the module's file.
fn write_reproducer(
    folder: &Path,
    kernel: &str,
    step: StepId,
    module: &Module,
    launch: Option<&Launch>,
) -> Result<String, CheckError> {
    let failed = |reason: String| CheckError::Reproducer { path: folder.to_owned(), reason };
    let kernel = Path::new(kernel).file_stem().and_then(|stem| stem.to_str()).unwrap_or("kernel");
    let stem = format!("{kernel}-{}", step.token()).replace('#', "-");
    fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
    if let Some(launch) = launch {
        launch.save(folder, &stem).map_err(|error| failed(error.to_string()))?;
    }
    let path = folder.join(format!("{stem}.ori"));
    fs::write(&path, module.to_string()).map_err(|error| failed(error.to_string()))?;
    Ok(path.display().to_string())
}
