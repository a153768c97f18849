//! The optimizer with one rule, and the interpreter before and after.

use std::sync::Arc;

use oriole_ir::Module;
use oriole_ir::ops::Flags;
use oriole_ir::sm::Target;
use oriole_optimizer::peephole::RuleSet;
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, PipelineError, run_passes};
use oriole_rules::Rule;

use super::PHASE;
use oriole_check::judge::{Judge, Verdict};
use oriole_check::supervise::{Panic, catch};
use oriole_interp::{Executable, LoadError, RunOptions};
use oriole_launch::Launch;

/// The step of the phase that forwards copies. What it does it does before rules are tried: a rule whose pattern is a
/// copy, or an address with a constant, applies only where the step is left out.
pub(super) const COPIES: &str = "OriCopyProp";
/// Changes of a kernel: some for every place, and an end to rules that feed themselves. An odd number, so that one
/// which undoes itself leaves a trace.
const MOST_REWRITES: u64 = 511;

/// What became of a kernel.
pub(super) struct Executed {
    /// How often the rule was applied.
    pub applied: u64,
    /// How the interpreter judges it.
    pub verdict: Result<Verdict, LoadError>,
    /// The kernel after the rule was applied.
    pub after: String,
    /// The step that was left out so that the rule applies.
    pub without: Option<&'static str>,
}

/// Why a kernel says nothing about a rule.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    /// It cannot be run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The pipeline refuses it, or leaves an invalid module.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// The optimizer panics.
    #[error("the optimizer panics: {0}")]
    Panicked(Panic),
}

/// Optimizes a module with these rules and judges the result.
///
/// # Errors
///
/// The module itself cannot be run or optimized.
pub(super) fn executed(module: &Module, launch: &Launch, only: &Arc<RuleSet>) -> Result<Executed, Unusable> {
    let original = Executable::new(module)?.run(launch, &RunOptions::default())?;
    let judge = Judge::new(module, launch.clone(), original);
    let ran = optimized(module, only, judge.as_ref().map_err(|verdict| &**verdict), None)?;
    // Copy propagation removes the copy before the rule could match.
    let is_copy = |rule: &Rule| rule.instances().iter().any(|instance| instance.pattern().opcode.is(Flags::COPY));
    let hidden = ran.applied == 0 || only.rules().iter().any(is_copy);
    if !hidden || ran.verdict.as_ref().is_ok_and(Verdict::is_finding) {
        return Ok(ran);
    }
    let again = optimized(module, only, judge.as_ref().map_err(|verdict| &**verdict), Some(COPIES))?;
    Ok(if again.applied > 0 { again } else { ran })
}

/// The module after the one phase that applies rules; where the original is inconclusive, that is the verdict.
fn optimized(
    module: &Module,
    only: &Arc<RuleSet>,
    judge: Result<&Judge<'_>, &Verdict>,
    without: Option<&'static str>,
) -> Result<Executed, Unusable> {
    let mut passes = Pipeline::ptxas();
    passes.retain(|element| element.name == PHASE);
    let target = Target::portable(90).expect("sm_90 has a row");
    let mut options = Options { rules: Some(only.clone()), verify: true, ..Options::new(target) };
    options.rewrite_limit = Some(MOST_REWRITES);
    options.disabled = without.into_iter().map(str::to_owned).collect();
    let mut after = module.clone();
    let report = catch(|| run_passes(&passes, &mut after, &options, &mut ())).map_err(Unusable::Panicked)??;
    let names: Vec<&str> = only.rules().iter().map(|rule| rule.name).collect();
    let counted = report.passes.iter().flat_map(|pass| pass.statistics.iter());
    let applied = counted.filter(|(name, _)| names.contains(name)).map(|(_, count)| count).sum();
    let verdict = match judge {
        Ok(judge) => Executable::new(&after).map(|after| judge.judge(&after).verdict),
        Err(inconclusive) => Ok(inconclusive.clone()),
    };
    Ok(Executed { applied, verdict, after: after.to_string(), without })
}
