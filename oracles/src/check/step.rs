//! One phase over one module, with whatever becomes of it as a value.

use oriole_optimizer::ir::Module;
use oriole_optimizer::pipeline::context::ENDLESS;
use oriole_optimizer::pipeline::runner::{LastRewrite, Options, PhaseEntry, PhaseReport, PipelineError, run_phases};
use oriole_optimizer::pipeline::table::{UnknownPhase, select};
use oriole_optimizer::verify::Violation;

use super::catch::catch;
use super::report::HANG;
use super::watch;

/// What became of a phase.
pub(crate) enum Step {
    /// It stands behind the last phase that may run.
    Stopped,
    /// It ran, or was skipped as the report says.
    Done(PhaseReport),
    /// It left a function that breaks a rule; the module is as it left it.
    Invalid {
        /// The function.
        function: String,
        /// What it breaks.
        message: String,
    },
    /// It panicked; the module must not be used.
    Panicked {
        /// What the panic said.
        message: String,
    },
}

/// Runs one phase, with leave for at most `limit` rewrites.
pub(crate) fn take(
    entry: &PhaseEntry,
    module: &mut Module,
    options: &Options,
    limit: Option<u64>,
) -> Result<Step, UnknownPhase> {
    take_noting(entry, module, options, limit).map(|(step, _)| step)
}

/// The same, and the last rewrite that was made.
pub(crate) fn take_noting(
    entry: &PhaseEntry,
    module: &mut Module,
    options: &Options,
    limit: Option<u64>,
) -> Result<(Step, Option<LastRewrite>), UnknownPhase> {
    let mut options = options.clone();
    options.rewrite_limit = limit;
    options.stop_after = None;
    // Tokens of other phases of the list were checked with the whole list; alone, this phase would not know them.
    options.disabled.retain(|token| select(token).is_ok() || token.eq_ignore_ascii_case(entry.name()));
    options.dump.clear();
    let _under_way = watch::enter(entry.name());
    let result = catch(|| run_phases(std::slice::from_ref(entry), module, &options, &mut ()));
    Ok(match result {
        Err(message) => (Step::Panicked { message }, None),
        Ok(Ok(mut report)) => match report.phases.pop() {
            Some(phase) => (Step::Done(phase), report.last_rewrite),
            None => (Step::Stopped, None),
        },
        Ok(Err(PipelineError::UnknownPhase(unknown))) => return Err(unknown),
        Ok(Err(
            PipelineError::Invalid { function, violations, .. } | PipelineError::InvalidInput { function, violations },
        )) => (Step::Invalid { function, message: first(&violations) }, None),
    })
}

/// What a phase that panicked did: one that was ended for its many changes hangs.
pub(crate) fn verdict_of(panic: &str) -> &'static str {
    if panic.starts_with(ENDLESS) { HANG } else { "panic" }
}

fn first(violations: &[Violation]) -> String {
    let more = violations.len().saturating_sub(1);
    let head = violations.first().map_or(String::new(), Violation::to_string);
    if more == 0 { head } else { format!("{head}; and {more} more") }
}
