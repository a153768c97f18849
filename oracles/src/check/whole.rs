//! Bisection of the whole pipeline: for a program that the phases break together though none of them does alone.
//!
//! All phases run as they do in `oriole opt`, with leave for a number of changes together; the first number that makes the
//! result wrong names the change, and the phase that made it.

use oriole_optimizer::ir::Module;
use oriole_optimizer::pipeline::runner::{LastRewrite, Options, PipelineError, run_phases};
use oriole_optimizer::verify::verify_module;

use super::blame::{MOST_REWRITES, difference};
use super::cases::{Case, first_runs, run_all};
use super::catch::catch;
use super::report::Rewrite;
use super::{CheckError, CheckOptions, target_of};
use crate::input::NamedLaunch;

/// What the whole pipeline does wrong.
#[derive(Clone, Debug)]
pub struct WholeFinding {
    /// What differs, which rule is broken, or the panic's message.
    pub detail: String,
    /// The phase that makes the guilty change; `None` where it is wrong without any counted change.
    pub phase: Option<&'static str>,
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
    let mut good = run(Some(0))?;
    if good.wrong.is_some() {
        return Ok(Some(WholeFinding { detail, phase: None, rewrite: None }));
    }
    // A run that ends in a panic or an invalid module does not say how many changes it made.
    let (mut low, mut high) = (0, all.made.max(1));
    let mut bad = run(Some(high))?;
    while bad.wrong.is_none() {
        if high >= MOST_REWRITES {
            return Ok(Some(WholeFinding { detail, phase: None, rewrite: None }));
        }
        (low, good, high) = (high, bad, high * 2);
        bad = run(Some(high))?;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let trial = run(Some(middle))?;
        if trial.wrong.is_some() { (high, bad) = (middle, trial) } else { (low, good) = (middle, trial) }
    }
    let rewrite = Rewrite {
        index: high,
        rule: bad.last.as_ref().and_then(|last| last.rule).map(str::to_owned),
        function: bad.last.as_ref().map(|last| last.function.clone()),
        diff: difference(&good.module.to_string(), &bad.module.to_string()),
    };
    Ok(Some(WholeFinding { detail, phase: bad.last.map(|last| last.phase), rewrite: Some(rewrite) }))
}

fn whole(module: &Module, cases: &[Case<'_>], options: &CheckOptions, pipeline: Options) -> Result<Whole, CheckError> {
    let mut after = module.clone();
    let (made, last, mut wrong) = match catch(|| run_phases(&options.phases, &mut after, &pipeline, &mut ())) {
        Err(panic) => (0, None, Some(format!("a phase panics: {panic}"))),
        Ok(Ok(report)) => (report.rewrites, report.last_rewrite, None),
        Ok(Err(PipelineError::UnknownPhase(unknown))) => return Err(unknown.into()),
        Ok(Err(error)) => (0, None, Some(error.to_string())),
    };
    if wrong.is_none() {
        wrong = judge(&after, cases);
    }
    Ok(Whole { module: after, made, last, wrong })
}

fn judge(after: &Module, cases: &[Case<'_>]) -> Option<String> {
    if let Err(violations) = verify_module(after) {
        return Some(violations[0].to_string());
    }
    match run_all(after, cases) {
        Ok(ran) => ran.into_iter().map(|ran| ran.verdict).find(|verdict| verdict.is_finding()).map(|v| v.to_string()),
        Err(error) => Some(error.to_string()),
    }
}
