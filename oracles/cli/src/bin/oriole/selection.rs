//! Which phases the tokens of a command line select, and whether anything of the selection runs.
//!
//! A check that takes no step shows nothing, and must not look clean. So a selection whose every phase is skipped is
//! an error that says why each of them is, and what can be asked for instead.

use miette::miette;
use oriole_check::supervise::StepId;
use oriole_optimizer::pass::{Pass, Status};
use oriole_optimizer::pipeline::runner::{Options, SkipReason, skips};
use oriole_optimizer::pipeline::table::{PHASES, UnknownPhase, rows_for_token};

use crate::failure::Failure;

const LISTING: &str = "`oriole phases` lists them all";

/// The position in a list of phases that a token of the command line names; the last one where it names several.
pub fn position(phases: &[Pass], token: &str) -> Result<usize, Failure> {
    let last = selected(phases, token)?.last().copied();
    last.ok_or_else(|| Failure::Input(miette!(help = LISTING, "`{token}` names no phase")))
}

/// The positions in a list of phases that a token names: a phase, a group of phases, or a part of one.
fn selected(phases: &[Pass], token: &str) -> Result<Vec<usize>, Failure> {
    let in_no_table = |name: &str| PHASES.iter().all(|row| row.name != name);
    let planted = |at: &usize| in_no_table(phases[*at].name) && phases[*at].name.eq_ignore_ascii_case(token);
    let planted: Vec<usize> = (0..phases.len()).filter(planted).collect();
    if !planted.is_empty() {
        return Ok(planted);
    }
    let rows = rows_for_token(token).map_err(unknown_phase)?;
    let named = |entry: &Pass| rows.iter().any(|row| row.name == entry.name);
    Ok((0..phases.len()).filter(|at| named(&phases[*at])).collect())
}

/// A token that addresses nothing, as a failure.
pub fn unknown_phase(error: UnknownPhase) -> Failure {
    Failure::Input(miette!(help = LISTING, "{error}"))
}

/// The phases of a list that tokens select, in the order of the list. Each token must select one that runs under the
/// options.
pub fn keep(phases: &[Pass], tokens: &[String], options: &Options) -> Result<Vec<Pass>, Failure> {
    let skips = why_skipped(phases, options)?;
    let mut kept = vec![false; phases.len()];
    for token in tokens {
        let positions = selected(phases, token)?;
        if positions.iter().all(|at| skips[*at].is_some()) {
            let reasons = positions.iter().filter_map(|at| Some((&phases[*at], skips[*at]?)));
            return Err(nothing_runs(token, reasons));
        }
        positions.into_iter().for_each(|at| kept[at] = true);
    }
    Ok(phases.iter().zip(kept).filter(|(_, kept)| *kept).map(|(phase, _)| phase.clone()).collect())
}

/// Why phases of a list do not run; `None` for those that do. Steps that are no phases may be left out, too, which
/// concerns no phase.
fn why_skipped(phases: &[Pass], options: &Options) -> Result<Vec<Option<SkipReason>>, Failure> {
    let mut options = options.clone();
    options.disabled.retain(|token| StepId::outside_phases(token).is_none());
    skips(phases, &options).map_err(unknown_phase)
}

/// An error where the options leave no phase of a list to run.
pub fn require_some(phases: &[Pass], options: &Options) -> Result<(), Failure> {
    let skips = why_skipped(phases, options)?;
    if phases.is_empty() || skips.iter().any(Option::is_none) {
        return Ok(());
    }
    let help = "`oriole phases` shows which are built; --disable-phases and the knobs DisablePhases and NamedPhases \
                leave phases out";
    Err(Failure::Input(miette!(help = help, "no phase runs under these options")))
}

/// An error where a pipeline given as text names a pass that is not built.
pub fn require_built(passes: &[Pass]) -> Result<(), Failure> {
    match passes.iter().find(|pass| matches!(pass.status, Status::Planned)) {
        None => Ok(()),
        Some(pass) => Err(nothing_runs(pass.name, [(pass, SkipReason::Planned)])),
    }
}

/// The error about a token: why each phase that it selects does not run. A token without any is a pass of cicc, which
/// the list of phases does not have.
fn nothing_runs<'a>(token: &str, reasons: impl IntoIterator<Item = (&'a Pass, SkipReason)>) -> Failure {
    let (mut texts, mut is_missing) = (Vec::new(), true);
    for (phase, reason) in reasons {
        is_missing &= matches!(reason, SkipReason::Planned | SkipReason::NoWork);
        texts.push(because(phase, reason));
    }
    let message = if texts.is_empty() {
        format!("`{token}` is a pass of cicc and no phase of ptxas, so a check would take no step")
    } else {
        format!("`{token}` selects nothing that runs: {}", texts.join("; "))
    };
    let instead = if is_missing { instead_of(token) } else { String::new() };
    let help = if instead.is_empty() { LISTING.to_owned() } else { format!("there is {instead}; {LISTING}") };
    Failure::Input(miette!(help = help, "{message}"))
}

/// Why a phase does not run, and under which option it would.
fn because(phase: &Pass, reason: SkipReason) -> String {
    let name = phase.name;
    match (reason, &phase.status) {
        (SkipReason::Planned, _) => format!("{name} is planned and not built yet"),
        (SkipReason::NoWork, Status::NoWork(why)) => format!("{name} has no work ({why})"),
        (SkipReason::OptLevel, _) => format!("{name} runs from -O {} on", phase.min_opt_level),
        (SkipReason::NoOpByDefault, _) => format!("{name} is off without --knob EnablePhases={name}"),
        (other, _) => format!("{name} is left out ({other})"),
    }
}

/// The built phases whose names begin like a token, without the prefix that half of the table has.
fn instead_of(token: &str) -> String {
    let stem = |name: &str| {
        let name = name.to_ascii_lowercase().replace(['-', '_'], "");
        name.strip_prefix("ori").map(str::to_owned).unwrap_or(name)
    };
    /// As many letters as `gvn`, `cse` or `licm` leave to compare.
    const ALIKE: usize = 3;
    let wanted: String = stem(token).chars().take(ALIKE).collect();
    let alike = |phase: &&Pass| matches!(phase.status, Status::Built(_)) && stem(phase.name).starts_with(&wanted);
    let names: Vec<&str> = PHASES.iter().filter(alike).map(|phase| phase.name).take(4).collect();
    names.join(", ")
}
