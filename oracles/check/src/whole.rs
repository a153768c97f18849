//! Bisection of the whole pipeline: for a program that the phases break together though none of them does alone.
//!
//! All phases run as they do in `oriole opt`, with leave for a number of changes together; the first number that makes
//! the result wrong names the change, and the phase that made it.

use oriole_ir::Module;
use oriole_ir::verify::verify_module;
use oriole_optimizer::pass::PassId;
use oriole_optimizer::pipeline::runner::{LastRewrite, Options, PipelineError, run_passes};

use super::bisect::{Turn, rewrite, turning_point};
use super::cases::{Case, first_runs, judge_all};
use super::options::{CheckError, CheckOptions, target_of};
use super::report::Rewrite;
use crate::input::NamedLaunch;
use crate::judge::Verdict;
use crate::supervise::catch;

/// A failure of the whole pipeline.
#[derive(Clone, Debug)]
pub struct WholeFinding {
    /// What differs, which rule is broken, or the panic's message.
    pub detail: String,
    /// The pass that makes the guilty change; `None` where it is wrong without any counted change.
    pub pass: Option<PassId>,
    /// The change, numbered over all phases.
    pub rewrite: Option<Rewrite>,
}

/// A run of the whole pipeline.
struct Whole {
    module: Module,
    made: u64,
    last: Option<LastRewrite>,
    /// What is wrong with it.
    wrong: Option<String>,
}

/// Runs all phases at once on the launches and compares; where the result is wrong, finds the change that makes it so.
///
/// # Errors
///
/// As [`super::check_module`].
pub fn bisect(
    name: &str,
    module: &Module,
    launches: &[NamedLaunch],
    options: &CheckOptions,
) -> Result<Option<WholeFinding>, CheckError> {
    let mut pipeline = Options { verify: true, rewrite_limit: None, ..options.pipeline.clone() };
    pipeline.target = target_of(module)?;
    let (cases, _) = first_runs(name, module, launches, options)?;
    let run = |limit| whole(module, &cases, options, Options { rewrite_limit: limit, ..pipeline.clone() });
    let all = run(None)?;
    let Some(detail) = all.wrong else { return Ok(None) };
    let limited = |limit| {
        let trial = run(Some(limit))?;
        let wrong = trial.wrong.is_some();
        Ok((trial, wrong))
    };
    Ok(Some(match turning_point(all.made, limited)? {
        None => WholeFinding { detail, pass: None, rewrite: None },
        Some(Turn { index, good, bad }) => {
            let rewrite = rewrite(index, bad.last.as_ref(), &good.module, &bad.module);
            WholeFinding { detail, pass: bad.last.map(|last| last.pass), rewrite: Some(rewrite) }
        }
    }))
}

fn whole(module: &Module, cases: &[Case<'_>], options: &CheckOptions, pipeline: Options) -> Result<Whole, CheckError> {
    let mut after = module.clone();
    let (made, last, mut wrong) = match catch(|| run_passes(&options.passes, &mut after, &pipeline, &mut ())) {
        Err(panic) => (0, None, Some(format!("a phase panics: {panic}"))),
        Ok(Ok(report)) => (report.rewrites, report.last_rewrite, None),
        Ok(Err(PipelineError::UnknownPhase(unknown))) => return Err(unknown.into()),
        // The step by itself says so.
        Ok(Err(PipelineError::Refused { .. })) => (0, None, None),
        Ok(Err(error)) => (0, None, Some(error.to_string())),
    };
    if wrong.is_none() {
        wrong = judge(&after, cases).map(|verdict| verdict.to_string());
    }
    Ok(Whole { module: after, made, last, wrong })
}

/// What is wrong with a module that came to its end.
fn judge(after: &Module, cases: &[Case<'_>]) -> Option<Verdict> {
    match verify_module(after) {
        Err(violations) => Some(Verdict::InvalidIr(violations.first().map_or(String::new(), ToString::to_string))),
        Ok(()) => judge_all(after, cases).verdict.filter(Verdict::is_finding),
    }
}
