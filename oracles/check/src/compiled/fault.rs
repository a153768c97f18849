//! The predicate of reduction: a compiler, or a phase over its code, goes wrong on a smaller kernel as it did in a
//! finding.
//!
//! Each candidate is printed, read again, compiled and executed, so that what is left is PTX that anybody can compile,
//! and its meaning that of the text.

use std::sync::Arc;

use oriole_interp::{Executable, LaneOrder, RunOptions};
use oriole_optimizer::ssa;
use oriole_sass::cubin::Cubin;
use oriole_scoreboard::check_cubin;

use super::Compiler;
use super::prepare::faulty_text;
use crate::CheckOptions;
use crate::compiler::{Axis, CompileError, Tool};
use crate::in_place::Code;
use crate::inject::FaultSpec;
use crate::input::{NamedLaunch, read_ptx, write_ptx};
use crate::judge::code::OnCode;
use crate::judge::{Judge, Mismatch, Verdict, budget};
use crate::reduce::{Options, Reduced, Request, Roots, Watch};
use crate::report::{Evidence, Finding};
use crate::signature;
use crate::supervise::{StepId, catch};

/// What a compiler, or a phase over its code, does wrong, to be preserved while the kernel shrinks.
#[derive(Clone, Debug)]
pub struct Miscompile {
    compiler: Compiler,
    axis: Axis,
    faults: Vec<FaultSpec>,
    /// The phase that does it; the compiler itself where `None`.
    phase: Option<Guilty>,
    /// The step budget of the original.
    steps: Option<u64>,
    /// The orders of lanes in which code is executed: the one that shows it.
    orders: Vec<LaneOrder>,
    /// `None` where the finding's own kernel does not show it.
    wanted: Option<Verdict>,
}

/// A phase over code that goes wrong.
#[derive(Clone, Debug)]
struct Guilty {
    step: StepId,
    /// The rule of the guilty rewrite, where it has one.
    rule: Option<String>,
    check: CheckOptions,
}

impl Guilty {
    fn of(finding: &Finding, check: &CheckOptions) -> Option<Guilty> {
        let rule = finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.clone());
        let quiet =
            CheckOptions { out: None, bisection_limit: None, randoms: 0, tries: 0, vary: false, ..check.clone() };
        (!finding.phase.is_compilation()).then_some(Guilty { step: finding.phase, rule, check: quiet })
    }

    /// The verdict on the phase over code, in whichever round; `None` where it does nothing of the kind wrong.
    fn verdict(&self, code: &Code) -> Option<Verdict> {
        let report = code.check(&self.check).ok()?;
        let is_it = |finding: &&Finding| {
            let rule = finding.rewrite.as_ref().and_then(|rewrite| rewrite.rule.as_ref());
            finding.phase.name() == self.step.name() && (self.rule.is_none() || rule == self.rule.as_ref())
        };
        report.findings.iter().find(is_it).map(|finding| finding.verdict.clone())
    }
}

impl Miscompile {
    /// What a finding shows; `None` where it is not about code.
    pub fn new(compiler: &Compiler, finding: &Finding, check: &CheckOptions) -> Option<Miscompile> {
        let axis = finding.axes.first()?.clone();
        let faults = check.faults.clone();
        let compiler = compiler.of_finding(finding, check);
        let orders = LaneOrder::SEVERAL.to_vec();
        let phase = Guilty::of(finding, check);
        let mut miscompile = Miscompile { compiler, axis, faults, phase, steps: check.steps, orders, wanted: None };
        let Evidence { module, launch } = &*finding.evidence;
        if let (Some(launch), Ok(executable)) = (launch, Executable::new(module)) {
            let options = RunOptions { steps: check.steps, ..RunOptions::default() };
            miscompile.steps = executable.run(launch, &options).ok().map(|run| budget(run.steps));
        }
        let judgement = miscompile.judge_on(&miscompile.axis, &finding.evidence, &miscompile.orders);
        if let Some(OnCode { verdict, lanes }) = judgement.filter(|found| found.verdict.is_like(&finding.verdict)) {
            (miscompile.wanted, miscompile.orders) = (Some(verdict), vec![lanes]);
        }
        Some(miscompile)
    }

    /// Whether a kernel shows the same.
    pub fn shows(&self, evidence: &Evidence) -> bool {
        let Some(wanted) = &self.wanted else { return false };
        self.verdict(evidence).is_some_and(|verdict| kept(&verdict) == kept(wanted))
    }

    /// Makes the kernel of the finding as simple as that allows.
    pub fn reduced(&self, evidence: &Evidence, options: &Options) -> Reduced {
        let evidence = self.in_ssa(evidence).unwrap_or_else(|| evidence.clone());
        let predicate = |evidence: &Evidence| self.shows(evidence);
        let roots = self.roots(&evidence);
        Request { predicate: &predicate, roots, options: *options, watch: Watch::default() }.reduce(&evidence)
    }

    /// Where what goes wrong begins, in a kernel that shows it.
    pub fn roots(&self, evidence: &Evidence) -> Roots {
        let Evidence { module, launch } = evidence;
        let judge = || Judge::of(&Executable::new(module).ok()?, launch.as_ref()?, self.steps).ok();
        match (&self.wanted, judge()) {
            (Some(wanted), Some(judge)) => Roots::of_stores(module, &judge, wanted),
            _ => Roots::default(),
        }
    }

    /// The kernel in SSA form, which has more that can go; `None` where it does not show the same there.
    pub fn in_ssa(&self, evidence: &Evidence) -> Option<Evidence> {
        let mut evidence = evidence.clone();
        catch(|| ssa::construct_module(&mut evidence.module)).ok()?;
        self.shows(&evidence).then_some(evidence)
    }

    /// What goes wrong on the axis of the finding, in the order of lanes that shows it, where something does.
    fn verdict(&self, evidence: &Evidence) -> Option<Verdict> {
        Some(self.judge_on(&self.axis, evidence, &self.orders)?.verdict)
    }

    /// The axes on which a kernel goes wrong, in any order.
    pub fn axes(&self, evidence: &Evidence) -> Vec<Axis> {
        let axes = self.compiler.judged().into_iter();
        axes.filter(|axis| self.judge_on(axis, evidence, &LaneOrder::SEVERAL).is_some()).collect()
    }

    fn judge_on(&self, axis: &Axis, evidence: &Evidence, orders: &[LaneOrder]) -> Option<OnCode> {
        let Evidence { module, launch } = evidence;
        let read = read_ptx(&write_ptx(module).ok()?).ok()?;
        let (compiled, _) = faulty_text(module, &self.faults).ok()?;
        let original = Executable::new(&read).ok()?;
        let case = Judge::of(&original, launch.as_ref()?, self.steps).ok()?;
        match (self.compiler.compile_text(&compiled, axis), &self.phase) {
            (Ok(cubin), Some(phase)) => {
                let launch = NamedLaunch { name: String::new(), launch: launch.clone()? };
                let (cubin, axis) = (Arc::new(cubin), Some(axis.clone()));
                let (kernel, origin, launches) = (String::new(), String::new(), vec![launch]);
                let verdict = phase.verdict(&Code { kernel, program: read.clone(), launches, cubin, origin, axis })?;
                Some(OnCode { verdict, lanes: LaneOrder::default() })
            }
            (Err(_), Some(_)) => None,
            (Ok(cubin), None) => {
                let executor = self.compiler.executor(axis);
                let found = case.judge_code(&original, &cubin, executor, orders).ok()?;
                let excused = || axis.fuses() && case.is_fused(&original, &cubin, executor);
                let wrong = Some(found).filter(|found| found.verdict.is_finding() && !excused());
                wrong.or_else(|| self.uncovered(&cubin))
            }
            (Err(CompileError::Refused(said)), None) => {
                let refused = || OnCode { verdict: Verdict::Refused(said), lanes: LaneOrder::default() };
                self.is_taken_elsewhere(&compiled, axis).then(refused)
            }
            (Err(error), None) => Some(OnCode { verdict: error.verdict()?, lanes: LaneOrder::default() }),
        }
    }

    /// Registers that the scheduling of our own code does not cover.
    fn uncovered(&self, cubin: &Cubin) -> Option<OnCode> {
        let hazard = match self.compiler.tool {
            Tool::Ptxas(_) => return None,
            Tool::Own(_) => check_cubin(cubin).ok()?.first()?.to_string(),
        };
        Some(OnCode { verdict: Verdict::Mismatch(Mismatch::Hazard(hazard)), lanes: LaneOrder::default() })
    }

    /// Whether the compiler takes a text where it optimizes more or less than on an axis.
    fn is_taken_elsewhere(&self, text: &str, axis: &Axis) -> bool {
        let others = self.compiler.axes.iter().filter(|other| other.is_like(axis) && other.effort != axis.effort);
        others.into_iter().any(|other| self.compiler.compile_text(text, other).is_ok())
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

#[cfg(test)]
mod tests {
    use oriole_interp::{Cause, Outcome, Place, ThreadId};

    use super::*;
    use crate::judge::Extent;
    use crate::supervise::Panic;

    #[test]
    fn one_kind_of_failure_is_not_taken_for_another() {
        let traps = |cause| {
            let thread = ThreadId { ctaid: [0; 3], tid: [0; 3] };
            let place = Place { function: String::new(), line: 0, source: None, text: String::new() };
            Verdict::Mismatch(Mismatch::Outcome(Outcome::Trapped { cause, thread, place }))
        };
        let bytes = |offset, extent| {
            let (name, expected, actual) = (String::new(), vec![1], vec![2]);
            let (argument, undefined, count) = (Some(0), false, 1);
            let element = None;
            Verdict::Mismatch(Mismatch::Bytes {
                argument,
                name,
                offset,
                expected,
                actual,
                element,
                undefined,
                count,
                extent,
            })
        };
        let crash = |message: &str| Verdict::Panicked(Panic { message: message.to_owned(), place: None });
        let misaligned = Cause::Misaligned { space: "shared", address: 3, bytes: 4 };
        let all = [traps(Cause::Trap), traps(misaligned), bytes(0, Extent::OneWord), crash("signal: 11 (SIGSEGV)")];
        for (at, one) in all.iter().enumerate() {
            assert!(all.iter().enumerate().all(|(other, verdict)| (kept(one) == kept(verdict)) == (at == other)));
        }
        // How far a difference reaches, and where, changes while a kernel shrinks.
        assert_eq!(kept(&bytes(0, Extent::OneWord)), kept(&bytes(8, Extent::EveryWord)));
    }
}
