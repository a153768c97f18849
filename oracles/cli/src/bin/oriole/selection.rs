//! Which phases the tokens of a command line select, and whether anything of the selection runs.
//!
//! A check that takes no step shows nothing, and must not look clean. So a selection whose every phase is skipped is
//! an error that says why each of them is, and what can be asked for instead.

use miette::miette;
use oriole_check::supervise::StepId;
use oriole_ir::{Form, Level};
use oriole_optimizer::pass::{Element, Row, Status, split_instance};
use oriole_optimizer::pipeline::Pipeline;
use oriole_optimizer::pipeline::runner::{Options, SkipReason, skips};
use oriole_optimizer::pipeline::table::{PASSES, PHASES, UnknownPhase, rows_for_token};

use crate::failure::Failure;

const LISTING: &str = "`oriole phases` lists them all";

/// The position in a pipeline that a token of the command line names; the last one where it names several.
pub fn position(passes: &[Element], token: &str) -> Result<usize, Failure> {
    let last = selected(passes, token)?.last().copied();
    last.ok_or_else(|| Failure::Input(miette!(help = LISTING, "`{token}` names no element of the pipeline")))
}

/// The positions in a pipeline that a token names: a pass, an instance of one, a group of phases, or a part of one.
fn selected(passes: &[Element], token: &str) -> Result<Vec<usize>, Failure> {
    let answering: Vec<usize> = (0..passes.len()).filter(|at| passes[*at].answers_to(token)).collect();
    if !answering.is_empty() {
        return Ok(answering);
    }
    let (name, _) = split_instance(token).ok_or_else(|| no_instance(token))?;
    let rows = rows_for_token(name).map_err(unknown_phase)?;
    let named = |element: &Element| rows.iter().any(|row| row.name == element.name);
    Ok((0..passes.len()).filter(|at| name == token && named(&passes[*at])).collect())
}

fn no_instance(token: &str) -> Failure {
    Failure::Input(miette!(
        help = "as in `gvn#2`, which is the second of its name",
        "`{token}` has no number behind `#`"
    ))
}

/// A token that addresses nothing, as a failure.
pub fn unknown_phase(error: UnknownPhase) -> Failure {
    Failure::Input(miette!(help = LISTING, "{error}"))
}

/// The elements of a pipeline that tokens select, in their order. Each token must select one that runs under the
/// options.
pub fn keep(passes: &Pipeline, tokens: &[String], options: &Options) -> Result<Pipeline, Failure> {
    let passes = passes.steps();
    let skips = why_skipped(&passes, options)?;
    let mut kept = vec![false; passes.len()];
    for token in tokens {
        let positions = selected(&passes, token)?;
        if positions.iter().all(|at| skips[*at].is_some()) {
            let reasons = positions.iter().filter_map(|at| Some((&passes[*at], skips[*at]?)));
            return Err(nothing_runs(token, &passes, reasons));
        }
        positions.into_iter().for_each(|at| kept[at] = true);
    }
    Ok(passes.iter().zip(kept).filter(|(_, kept)| *kept).map(|(element, _)| element.clone()).collect())
}

/// Why elements do not run; `None` for those that do. Steps that are no passes may be left out, too, which concerns no
/// pass.
fn why_skipped(passes: &[Element], options: &Options) -> Result<Vec<Option<SkipReason>>, Failure> {
    let mut options = options.clone();
    options.disabled.retain(|token| StepId::outside_phases(token).is_none());
    skips(passes, &options).map_err(unknown_phase)
}

/// An error where the options leave no element to run.
pub fn require_some(passes: &[Element], options: &Options) -> Result<(), Failure> {
    let skips = why_skipped(passes, options)?;
    if passes.is_empty() || skips.iter().any(Option::is_none) {
        return Ok(());
    }
    let help = "`oriole phases` shows which are built; --disable-phases and the knobs DisablePhases and NamedPhases \
                leave phases out";
    Err(Failure::Input(miette!(help = help, "no phase runs under these options")))
}

/// An error where a pipeline given as text names a pass that is not built. Whole pipelines of cicc leave those out.
pub fn require_built(passes: &Pipeline) -> Result<(), Failure> {
    let is_named = |element: &&Element| !element.is_of_sequence() && element.status() == Status::Planned;
    match passes.all().find(is_named) {
        None => Ok(()),
        Some(element) => Err(nothing_runs(element.name, passes, [(element, SkipReason::Planned)])),
    }
}

/// An error where a pipeline names a pass that takes no machine code in place.
pub fn require_code(passes: &Pipeline) -> Result<(), Failure> {
    let takes_none = |element: &&Element| !element.needs.allow(Level::Machine, Form::Physical);
    let Some(element) = passes.all().find(takes_none) else { return Ok(()) };
    let help = format!("machine code in place takes {}, and passes that take any form; {LISTING}", Pipeline::machine());
    let needs = element.needs;
    Err(Failure::Input(miette!(help = help, "`{}` takes no machine code in place: it asks for {needs}", element.name)))
}

/// The error about a token: why each element that it selects does not run. A token may be known and select none.
fn nothing_runs<'a>(
    token: &str,
    passes: &[Element],
    reasons: impl IntoIterator<Item = (&'a Element, SkipReason)>,
) -> Failure {
    let (mut texts, mut is_missing) = (Vec::new(), true);
    for (phase, reason) in reasons {
        is_missing &= matches!(reason, SkipReason::Planned | SkipReason::NoWork);
        texts.push(because(phase, reason));
    }
    let message = if texts.is_empty() {
        not_among(token, passes)
    } else {
        format!("`{token}` selects nothing that runs: {}", texts.join("; "))
    };
    let instead = if is_missing { instead_of(token) } else { String::new() };
    let help = if instead.is_empty() { LISTING.to_owned() } else { format!("there is {instead}; {LISTING}") };
    Failure::Input(miette!(help = help, "{message}"))
}

/// That a known pass is not in the pipeline, and how it would be.
fn not_among(token: &str, passes: &[Element]) -> String {
    let (name, instance) = split_instance(token).unwrap_or((token, None));
    if let (Some(last), Some(_)) = (passes.iter().rfind(|element| element.row().answers_to(name)), instance) {
        return format!("`{token}` is not in the pipeline; the last of its name is `{}`", last.id());
    }
    let row = PASSES.iter().find(|row| row.answers_to(name));
    match row.filter(|row| row.status() == Status::Built) {
        Some(row) => format!("`{name}` is not in the pipeline: --passes {} takes it", row.name),
        None if row.is_some() => {
            format!("`{name}` is a pass of cicc and no phase of ptxas, so a check would take no step")
        }
        None => format!("`{name}` is not in the pipeline that --passes names"),
    }
}

/// Why a pass does not run, and under which option it would.
fn because(pass: &Element, reason: SkipReason) -> String {
    let name = pass.name;
    match (reason, pass.status()) {
        (SkipReason::Planned, _) => format!("{name} is planned and not built yet"),
        (SkipReason::NoWork, Status::NoWork(why)) => format!("{name} has no work ({why})"),
        (SkipReason::OptLevel, _) => format!("{name} runs from -O {} on", pass.min_opt_level),
        (SkipReason::PassOption, _) => {
            format!("{name} is left out by --opt {}", pass.off_by.unwrap_or_default())
        }
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
    let alike = |phase: &&Row| phase.status() == Status::Built && stem(phase.name).starts_with(&wanted);
    let names: Vec<&str> = PHASES.iter().filter(alike).map(|phase| phase.name).take(4).collect();
    names.join(", ")
}
