//! The optimizer with one rule, and the interpreter before and after.

use std::sync::Arc;

use oriole_optimizer::ir::Module;
use oriole_optimizer::ops::Flags;
use oriole_optimizer::peephole::{Rule, RuleSet};
use oriole_optimizer::pipeline::runner::{Options, PhaseEntry, default_phases, run_phases};
use oriole_optimizer::target::Target;

use super::PHASE;
use super::builder::SLOT;
use crate::check::catch::catch;
use crate::equivalence::{Verdict, compare};
use crate::interp::{Executable, RunOptions, RunResult};
use crate::launch::Launch;

/// The step of the phase that forwards copies. What it does it does before rules are tried: a rule whose pattern is a
/// copy, or an address with a constant, applies only where the step is left out.
pub(super) const COPIES: &str = "OriCopyProp";
/// Changes of a kernel: some for every place, and an end to rules that feed themselves. An odd number, so that one which
/// undoes itself leaves a trace.
const MOST_REWRITES: u64 = 511;

/// What became of a kernel.
pub(super) struct Executed {
    /// How often the rule was applied.
    pub applied: u64,
    /// How the interpreter judges it.
    pub verdict: Result<Verdict, String>,
    /// The kernel after the rule was applied.
    pub after: String,
    /// The step that was left out so that the rule applies.
    pub without: Option<&'static str>,
}

/// Optimizes a module with these rules and compares; an error where the module itself cannot be run.
pub(super) fn executed(module: &Module, launch: &Launch, only: &Arc<RuleSet>) -> Result<Executed, String> {
    let mut original = interpreted(module, launch)?;
    forget_parts(&mut original);
    let ran = optimized(module, launch, only, &original, None)?;
    // Of a copy that was forwarded nothing is left to see, whatever becomes of it.
    let is_copy = |rule: &Rule| rule.instances.iter().any(|instance| instance.pattern().opcode.is(Flags::COPY));
    let hidden = ran.applied == 0 || only.rules().iter().any(is_copy);
    if !hidden || ran.verdict.as_ref().is_ok_and(Verdict::is_finding) {
        return Ok(ran);
    }
    let again = optimized(module, launch, only, &original, Some(COPIES))?;
    Ok(if again.applied > 0 { again } else { ran })
}

fn interpreted(module: &Module, launch: &Launch) -> Result<RunResult, String> {
    let executable = Executable::new(module).map_err(|error| error.to_string())?;
    executable.run(launch, &RunOptions::default()).map_err(|error| error.to_string())
}

/// Makes results undefined that are so in part: which bits of an undefined value are certain the interpreter knows of
/// some operations and not of others, so that the same value made otherwise may have fewer.
fn forget_parts(run: &mut RunResult) {
    let results = run.memory.iter_mut().find(|state| state.argument == Some(0));
    let Some(bytes) = results.map(|state| &mut state.bytes) else { return };
    for slot in (0..bytes.len()).step_by(SLOT as usize) {
        let slot = slot..(slot + SLOT as usize).min(bytes.len());
        if slot.clone().any(|at| bytes.is_undefined(at)) {
            bytes.forget(slot);
        }
    }
}

fn optimized(
    module: &Module,
    launch: &Launch,
    only: &Arc<RuleSet>,
    original: &RunResult,
    without: Option<&'static str>,
) -> Result<Executed, String> {
    let phases: Vec<PhaseEntry> = default_phases().into_iter().filter(|entry| entry.name() == PHASE).collect();
    let target = Target::portable(90).expect("sm_90 has a row");
    let mut options = Options { rules: Some(only.clone()), verify: true, ..Options::new(target) };
    options.rewrite_limit = Some(MOST_REWRITES);
    options.disabled = without.into_iter().map(str::to_owned).collect();
    let mut after = module.clone();
    let report = match catch(|| run_phases(&phases, &mut after, &options, &mut ())) {
        Ok(Ok(report)) => report,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(panic) => return Err(format!("the optimizer panics: {panic}")),
    };
    let names: Vec<&str> = only.rules().iter().map(|rule| rule.name).collect();
    let counted = report.phases.iter().flat_map(|phase| phase.statistics.iter());
    let applied = counted.filter(|(name, _)| names.contains(name)).map(|(_, count)| count).sum();
    let verdict = interpreted(&after, launch).map(|after| compare(original, &after));
    Ok(Executed { applied, verdict, after: after.to_string(), without })
}
