//! The predicate of reduction: a compiler goes wrong on a smaller kernel as it did in a finding.
//!
//! Each candidate is printed, read again, compiled and executed, so that what is left is PTX that anybody can compile,
//! and its meaning that of the text.

use oriole_interp::{Executable, RunOptions};

use super::Compiler;
use super::prepare::faulty_text;
use crate::CheckOptions;
use crate::compiler::Axis;
use crate::inject::FaultSpec;
use crate::input::{read_ptx, write_ptx};
use crate::judge::{Judge, Mismatch, Verdict, budget};
use crate::reduce::{Options, Reduced, reduce};
use crate::report::{Evidence, Finding};
use crate::signature;

/// What a compiler does wrong, to be preserved while the kernel shrinks.
#[derive(Clone, Debug)]
pub struct Miscompile {
    compiler: Compiler,
    axis: Axis,
    faults: Vec<FaultSpec>,
    /// The step budget of the original.
    steps: Option<u64>,
    /// `None` where the finding's own kernel does not show it.
    wanted: Option<Verdict>,
}

impl Miscompile {
    /// What a finding shows; `None` where it is about another step.
    pub fn new(compiler: &Compiler, finding: &Finding, check: &CheckOptions) -> Option<Miscompile> {
        let axis = finding.axes.first()?.clone();
        let (compiler, faults) = (compiler.clone(), check.faults.clone());
        let mut miscompile = Miscompile { compiler, axis, faults, steps: check.steps, wanted: None };
        let Evidence { module, launch } = &*finding.evidence;
        if let (Some(launch), Ok(executable)) = (launch, Executable::new(module)) {
            let options = RunOptions { steps: check.steps, ..RunOptions::default() };
            miscompile.steps = executable.run(launch, &options).ok().map(|run| budget(run.steps));
        }
        let verdict = miscompile.verdict(&finding.evidence);
        miscompile.wanted = verdict.filter(|verdict| verdict.is_like(&finding.verdict));
        Some(miscompile)
    }

    /// Whether a kernel shows the same.
    pub fn shows(&self, evidence: &Evidence) -> bool {
        let Some(wanted) = &self.wanted else { return false };
        let like = |verdict: &Verdict| verdict.is_like(wanted) && kept(verdict) == kept(wanted);
        self.verdict(evidence).as_ref().is_some_and(like)
    }

    /// Makes the kernel of the finding as simple as that allows.
    pub fn reduced(&self, evidence: &Evidence, options: &Options) -> Reduced {
        reduce(evidence, &|evidence| self.shows(evidence), options)
    }

    /// What goes wrong on the axis of the finding, where something does.
    fn verdict(&self, evidence: &Evidence) -> Option<Verdict> {
        self.verdict_on(&self.axis, evidence)
    }

    /// The axes on which a kernel goes wrong.
    pub fn axes(&self, evidence: &Evidence) -> Vec<Axis> {
        let axes = self.compiler.axes.iter();
        axes.filter(|axis| self.verdict_on(axis, evidence).is_some()).cloned().collect()
    }

    fn verdict_on(&self, axis: &Axis, evidence: &Evidence) -> Option<Verdict> {
        let Evidence { module, launch } = evidence;
        let read = read_ptx(&write_ptx(module).ok()?).ok()?;
        let (compiled, _) = faulty_text(module, &self.faults).ok()?;
        let original = Executable::new(&read).ok()?;
        let case = Judge::of(&original, launch.as_ref()?, self.steps).ok()?;
        match self.compiler.compile_text(&compiled, axis) {
            Ok(cubin) => case.judge_code(&original, &cubin).ok().filter(Verdict::is_finding),
            Err(error) => error.verdict(),
        }
    }
}

/// What of a verdict stays while the kernel shrinks: code that traps does so for the same cause, since an access out of
/// bounds is easily made of another one.
fn kept(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Mismatch(Mismatch::Outcome(_)) => signature::of(verdict),
        verdict => signature::coarse(verdict),
    }
}
