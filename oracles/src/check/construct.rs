//! SSA construction as a step of its own: what comes in virtual form runs before and after it.

use std::time::Instant;

use oriole_optimizer::ir::{Form, Module};
use oriole_optimizer::verify::verify_module;

use super::blame::of_step;
use super::cases::run_all;
use super::catch::catch;
use super::report::{Finding, PhaseLine};
use super::{Check, CheckError, instructions};
use crate::equivalence::Verdict;
use crate::input::into_ssa;

/// The name of the step in reports.
pub const SSA_CONSTRUCTION: &str = "SSA construction";

impl Check<'_> {
    /// Brings the module into SSA form. Where that changes what it does, the phases get it as it came.
    pub(super) fn construct_ssa(&mut self) -> Result<(), CheckError> {
        if !self.state.functions.values().any(|func| func.form == Form::Virtual && func.is_definition()) {
            return Ok(());
        }
        let start = Instant::now();
        let mut after = self.state.clone();
        let wrong = match catch(|| into_ssa(&mut after)) {
            Err(message) => Some((0, Verdict::InvalidIr(format!("SSA construction panics: {message}")))),
            Ok(()) => self.differs(&after),
        };
        let verdict = wrong.as_ref().map_or(Verdict::Equal, |(_, verdict)| verdict.clone());
        self.report.phases.push(PhaseLine {
            name: SSA_CONSTRUCTION,
            number: None,
            skipped: None,
            changed: true,
            instructions_before: self.instructions,
            instructions_after: instructions(&after),
            rewrites: 0,
            verdict: (!self.cases.is_empty() || wrong.is_some()).then_some(verdict.name()),
            microseconds: start.elapsed().as_micros() as u64,
        });
        match wrong {
            None => {
                self.instructions = instructions(&after);
                self.state = after;
            }
            Some((case, verdict)) => {
                let finding = self.accuse_construction(case, &verdict)?;
                self.report.findings.push(finding);
            }
        }
        Ok(())
    }

    /// The first case on which the module in SSA form does something else; its runs become those before the first phase.
    fn differs(&mut self, after: &Module) -> Option<(usize, Verdict)> {
        if let Err(violations) = verify_module(after) {
            let first = violations.first().map_or(String::new(), ToString::to_string);
            return Some((0, Verdict::InvalidIr(first)));
        }
        let ran = match run_all(after, &self.cases) {
            Ok(ran) => ran,
            Err(error) => return Some((0, Verdict::InvalidIr(error.to_string()))),
        };
        if let Some(guilty) = ran.iter().position(|ran| ran.verdict.is_finding()) {
            return Some((guilty, ran[guilty].verdict.clone()));
        }
        self.cases.iter_mut().zip(ran).for_each(|(case, ran)| case.before = ran.result);
        None
    }

    fn accuse_construction(&self, case: usize, verdict: &Verdict) -> Result<Finding, CheckError> {
        let replay = |file: &str| format!("oriole check {file} --randoms 0");
        of_step((self.name, SSA_CONSTRUCTION), &self.state, self.cases.get(case), verdict, self.options, replay)
    }
}
