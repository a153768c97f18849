//! The built-in predicate: a step goes wrong as it did in a finding.
//!
//! "As it did" is more than the verdict, so that one bug is not traded for another on the way: a program that ends
//! otherwise stays one that ends so, a message stays the same but for names and numbers, and the guilty rewrite stays
//! one of the same rule.

use std::sync::Arc;

use oriole_ir::Module;
use oriole_ir::verify::verify_module;
use oriole_optimizer::pipeline::table::select;

use super::focus::{self, Roots};
use super::slice::Site;
use super::{Options, Reduced, Request, Watch};
use crate::bisect::{Culprit, Stage};
use crate::cases::Case;
use crate::judge::{Judge, Verdict, budget};
use crate::report::{Evidence, Finding};
use crate::step::{Conditions, Failure, Outcome, Step};
use crate::supervise::StepId;
use crate::{CheckError, CheckOptions, signature, target_of, variant};
use oriole_interp::{Executable, RunOptions};
use oriole_launch::Launch;

/// The failure to preserve while reducing: step, verdict and signature.
#[derive(Clone, Debug)]
pub struct Fault {
    step: Step,
    check: CheckOptions,
    /// `None` where the finding's own program does not show it.
    wrong: Option<Wrong>,
    rule: Option<String>,
    /// The step budget of the original.
    steps: Option<u64>,
    /// Whether the original of the finding races already.
    races: bool,
    /// What the finding was made of: that its rewrite is of the rule was found there.
    own: Arc<Evidence>,
    roots: Roots,
}

/// The failure to preserve while reducing: the verdict, and the parts of it that a smaller program keeps.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    pub verdict: Verdict,
    signature: String,
}

impl Wrong {
    pub fn of(verdict: Verdict) -> Wrong {
        Wrong { signature: signature::coarse(&verdict), verdict }
    }

    pub fn is_like(&self, other: &Wrong) -> bool {
        self.verdict.is_like(&other.verdict) && self.signature == other.signature
    }
}

/// Reduces a finding: the same step alone goes wrong in the same way, on the launch, where the original finishes,
/// verifies, depends on nothing undefined and has no race. Where that does not hold for the finding itself, the result
/// says that it is not interesting.
///
/// # Errors
///
/// A step that is not among those of the check, or a module for an unknown target.
pub fn finding(finding: &Finding, check: &CheckOptions, options: &Options) -> Result<Reduced, CheckError> {
    let fault = Fault::new(finding, check)?;
    Ok(fault.reduced(options, Watch::default()))
}

impl Fault {
    /// The fault of a finding.
    ///
    /// # Errors
    ///
    /// As [`finding`].
    pub fn new(finding: &Finding, check: &CheckOptions) -> Result<Fault, CheckError> {
        let Evidence { module, launch } = &*finding.evidence;
        let mut check = check.clone();
        check.pipeline.target = target_of(module)?;
        (check.pipeline.verify, check.pipeline.trusted, check.pipeline.time) = (true, true, false);
        let mut fault = Fault {
            step: Step::of(finding.phase, &check.passes).ok_or_else(|| unknown(finding.phase))?,
            wrong: None,
            rule: finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.clone()),
            steps: check.steps,
            races: false,
            own: Arc::clone(&finding.evidence),
            roots: Roots::default(),
            check,
        };
        if let (Some(launch), Ok(executable)) = (launch, Executable::new(module)) {
            let options = RunOptions { steps: fault.check.steps, ..RunOptions::default() };
            if let Ok(run) = executable.run(launch, &options) {
                // An edit may turn an early exit into a long way round, and a loop that never ends must not take long.
                fault.steps = Some(budget(run.steps));
                fault.races = Judge::new(module, launch.clone(), run).is_ok_and(|judge| judge.races());
            }
        }
        if let Some((wrong, case)) = fault.wrong(&finding.evidence)
            && wrong.verdict.is_like(&finding.verdict)
        {
            let roots = case.map_or_else(Roots::default, |case| Roots::of_stores(module, &case.judge, &wrong.verdict));
            let touched =
                finding.rewrite.as_ref().map_or_else(Vec::new, |rewrite| fault.touched(module, rewrite.index));
            (fault.wrong, fault.roots) = (Some(wrong), Roots { touched, ..roots });
        }
        Ok(fault)
    }

    /// Makes the evidence of the finding as simple as the fault allows.
    pub fn reduced(&self, options: &Options, watch: Watch<'_>) -> Reduced {
        let predicate = |evidence: &Evidence| self.shows(evidence);
        Request { predicate: &predicate, roots: self.roots.clone(), options: *options, watch }.reduce(&self.own)
    }

    /// Where what goes wrong begins, in the evidence of the finding.
    pub fn roots(&self) -> &Roots {
        &self.roots
    }

    /// What a change of the step touches.
    fn touched(&self, before: &Module, index: u64) -> Vec<Site> {
        let made = |changes| {
            let mut module = before.clone();
            let taken = self.step.take(&mut module, &Conditions { limit: Some(changes), ..self.conditions() });
            matches!(taken, Ok(Outcome::Done(_))).then_some(module)
        };
        let pair = index.checked_sub(1).and_then(|without| Some((made(without)?, made(index)?)));
        pair.map_or_else(Vec::new, |(good, bad)| focus::touched(before, &good, &bad))
    }

    /// Whether the evidence shows the same fault.
    pub fn shows(&self, evidence: &Evidence) -> bool {
        let Some(wanted) = self.wrong.as_ref().filter(|_| verify_module(&evidence.module).is_ok()) else {
            return false;
        };
        match self.wrong(evidence) {
            Some((wrong, case)) => {
                let as_in_finding = || *evidence == *self.own || self.same_rule(&evidence.module, case.as_ref());
                wrong.is_like(wanted) && self.is_sound(case.as_ref()) && as_in_finding()
            }
            None => false,
        }
    }

    /// What goes wrong, where something does, and the case that shows it.
    fn wrong<'m>(&self, evidence: &'m Evidence) -> Option<(Wrong, Option<Case<'m>>)> {
        let Evidence { module, launch } = evidence;
        let case = match launch {
            None => None,
            Some(launch) => Some(self.original(module, launch)?),
        };
        let mut after = module.clone();
        let verdict = match self.step.take(&mut after, &self.conditions()).ok()? {
            Outcome::Skipped(_) => return None,
            Outcome::Done(done) if !done.changed => return None,
            Outcome::Done(_) => match Executable::new(&after) {
                Ok(executable) => case.as_ref()?.judge.judge(&executable).verdict,
                Err(error) => Verdict::InvalidIr(error.to_string()),
            },
            Outcome::Failed(Failure { verdict, .. }) => verdict,
        };
        verdict.is_finding().then(|| (Wrong::of(verdict), case))
    }

    fn conditions(&self) -> Conditions<'_> {
        let CheckOptions { pipeline, faults, .. } = &self.check;
        Conditions { pipeline, faults, limit: pipeline.rewrite_limit }
    }

    /// The run of the original, if it is conclusive.
    fn original<'m>(&self, module: &'m Module, launch: &Launch) -> Option<Case<'m>> {
        let judge = Judge::of(&Executable::new(module).ok()?, launch, self.steps).ok()?;
        Some(Case { name: String::new(), judge })
    }

    /// Whether the original has no race that the finding's had not.
    fn is_sound(&self, case: Option<&Case<'_>>) -> bool {
        self.races || case.is_none_or(|case| !case.judge.races())
    }

    /// The variant that a reduced program is of ([`variant`]).
    ///
    /// # Errors
    ///
    /// An option that names no phase.
    pub fn variant(&self, evidence: &Evidence) -> Result<String, CheckError> {
        let Evidence { module: before, launch } = evidence;
        Ok(match self.step.id() {
            StepId::Pass(_) => {
                let case = launch.as_ref().and_then(|launch| self.original(before, launch));
                let (step, conditions, options, stage) = (&self.step, self.conditions(), &self.check, Stage::Ori);
                let case = case.as_ref();
                let culprit = Culprit { kernel: "", step, before, after: before, case, conditions, options, stage };
                variant::of_change(&culprit.change()?, before)
            }
            StepId::PtxRoundTrip => variant::operations(before),
            _ => variant::surroundings(before),
        })
    }

    /// The PTX that the evidence's text is when it is misread, with as little spelled otherwise as it takes; `None` for
    /// steps that read none.
    pub fn misread_text(&self, evidence: &Evidence) -> Option<String> {
        let Evidence { module: before, launch } = evidence;
        let case = launch.as_ref().and_then(|launch| self.original(before, launch));
        let (step, conditions, options, stage) = (&self.step, self.conditions(), &self.check, Stage::Ori);
        let culprit =
            Culprit { kernel: "", step, before, after: before, case: case.as_ref(), conditions, options, stage };
        (step.id() == StepId::PtxRoundTrip).then(|| culprit.misread())?.map(|misread| misread.text)
    }

    /// Whether the guilty rewrite is of the same rule, where the finding names one.
    fn same_rule(&self, before: &Module, case: Option<&Case<'_>>) -> bool {
        let Some(rule) = &self.rule else { return true };
        let (step, conditions, options, stage) = (&self.step, self.conditions(), &self.check, Stage::Ori);
        let culprit = Culprit { kernel: "", step, before, after: before, case, conditions, options, stage };
        culprit.guilty_rule().is_ok_and(|found| found.as_deref() == Some(rule.as_str()))
    }
}

/// The step is not among those of the check.
fn unknown(step: StepId) -> CheckError {
    match step {
        StepId::Pass(id) => select(id.name).map_or_else(CheckError::from, |_| CheckError::NotAmong { step }),
        _ => CheckError::NotAmong { step },
    }
}
