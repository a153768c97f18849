//! The reduction of a campaign's findings, within the campaign's time.

use std::time::{Duration, Instant};

use super::record::{File, Key, Reduction, files};
use oriole_check::judge::Verdict;
use oriole_check::reduce::text::misread_text;
use oriole_check::reduce::{Fault, Watch};
use oriole_check::report::{Evidence, Finding};
use oriole_check::supervise::{StepId, catch};
use oriole_check::{CheckError, CheckOptions, reduce};

/// How long findings are reduced once a campaign's time is up. A bug that breaks everything has hundreds of findings;
/// those that are left are stored as they are, and `--resume` reduces them.
pub(super) const REDUCTION_TIME: Duration = Duration::from_secs(10);
/// With less time than that nothing is begun.
const SHORTEST: Duration = Duration::from_secs(1);

/// Why a finding cannot be reduced.
#[derive(Debug, thiserror::Error)]
enum NotReduced {
    /// The check itself cannot be made.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// It takes more than the one step.
    #[error("the step alone does not go wrong in the same way")]
    StepAlone,
    /// The expected results are those of the whole kernel.
    #[error("nothing says what a smaller kernel must leave")]
    NoReference,
    /// The text does not show it.
    #[error("reading it again does not go wrong in the same way")]
    ReadWell,
}

/// How long a reduction may take.
pub(super) struct Limits {
    pub options: reduce::Options,
    /// Whether the campaign's end comes before what it would have otherwise.
    pub shortened: bool,
}

/// The limits of a reduction that must end so long after the start; `None` where there is no time for it.
pub(super) fn limits(options: reduce::Options, time: Option<Duration>, start: Instant) -> Option<Limits> {
    let Some(time) = time else { return Some(Limits { options, shortened: false }) };
    let left = time.checked_sub(start.elapsed()).filter(|left| *left >= SHORTEST)?;
    let shortened = left < options.time;
    Some(Limits { options: reduce::Options { time: options.time.min(left), ..options }, shortened })
}

/// What came of reducing a finding.
#[derive(Debug)]
pub(super) struct Reduced {
    pub reduction: Reduction,
    /// The files of what is left.
    pub files: Vec<File>,
    /// The variant of its family that what is left shows; `None` where the reduction did not come to its end, or the
    /// family has none.
    pub variant: Option<String>,
}

/// Reduces a finding.
pub(super) fn reduction(finding: &Finding, check: &CheckOptions, limits: &Limits) -> Reduced {
    let failed =
        |why: &str| Reduced { reduction: Reduction::Failed { why: why.to_owned() }, files: Vec::new(), variant: None };
    if finding.verdict.costs_a_thread() {
        return failed(
            "it would hang here, or take all memory; `oriole reduce --predicate hang` uses processes that it can end",
        );
    }
    let reduced = match &finding.text {
        Some(text) if finding.phase == StepId::FrontEnd => catch(|| of_text(text, finding, limits)),
        _ => catch(|| of_kernel(finding, check, limits)),
    };
    match reduced {
        Err(panic) => failed(&format!("the reducer panics: {panic}")),
        Ok(Err(why)) => failed(&why.to_string()),
        Ok(Ok(reduced)) => reduced,
    }
}

/// Reduces a kernel on which a step goes wrong, and the text that is read where that is what goes wrong.
fn of_kernel(finding: &Finding, check: &CheckOptions, limits: &Limits) -> Result<Reduced, NotReduced> {
    let fault = Fault::new(finding, check)?;
    let reduced = fault.reduced(&limits.options, Watch::default());
    if !reduced.interesting {
        return Err(NotReduced::StepAlone);
    }
    let (from, to) = (reduced.before.instructions, reduced.after.instructions);
    let cut_off = limits.shortened && !reduced.complete;
    let Evidence { module, launch } = &reduced.evidence;
    let text = fault.misread_text(&reduced.evidence);
    let has_variants = reduced.complete && Key::of(finding).has_variants();
    Ok(Reduced {
        reduction: Reduction::Done { from, to, cut_off },
        files: files(Some(module), launch.as_ref(), text.as_deref(), "reduced"),
        variant: has_variants.then(|| fault.variant(&reduced.evidence)).transpose()?,
    })
}

/// Reduces a text that the front end does not read well.
fn of_text(text: &str, finding: &Finding, limits: &Limits) -> Result<Reduced, NotReduced> {
    if matches!(finding.verdict, Verdict::Unexpected(_)) {
        return Err(NotReduced::NoReference);
    }
    let reduced = misread_text(text, &finding.verdict, &limits.options, Watch::default());
    let reduced = reduced.ok_or(NotReduced::ReadWell)?;
    let cut_off = limits.shortened && !reduced.complete;
    let launch = finding.evidence.launch.as_ref();
    Ok(Reduced {
        reduction: Reduction::Done { from: reduced.before, to: reduced.after, cut_off },
        files: files(None, launch, Some(&reduced.text), "reduced"),
        variant: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_end_with_the_time_for_them() {
        let options = reduce::Options { time: Duration::from_secs(20), ..reduce::Options::default() };
        let now = Instant::now();
        let time = |time: Option<u64>| {
            limits(options, time.map(Duration::from_secs), now).map(|limits| (limits.options.time, limits.shortened))
        };
        assert_eq!(time(None), Some((options.time, false)));
        assert_eq!(time(Some(60)), Some((options.time, false)));
        assert!(time(Some(5)).is_some_and(|(time, shortened)| shortened && time <= Duration::from_secs(5)));
        assert_eq!(time(Some(0)), None);
    }
}
