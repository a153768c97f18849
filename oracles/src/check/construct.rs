//! SSA construction as a step of its own: what comes in virtual form runs before and after it.

use std::time::Instant;

use oriole_optimizer::ir::Module;

use super::blame::{Said, of_step};
use super::border::{Border, is_virtual};
use super::cases::{Case, run_all};
use super::report::PhaseLine;
use super::{Check, CheckError, instructions};
use crate::equivalence::Verdict;

impl Check<'_> {
    /// Brings the module into SSA form. Where that changes what it does, the phases get it as it came.
    pub(super) fn construct_ssa(&mut self) -> Result<(), CheckError> {
        if !is_virtual(&self.state) {
            return Ok(());
        }
        let (border, start) = (Border::Construction, Instant::now());
        let crossed = border.cross(&self.state, &self.options.faults);
        let wrong = match &crossed {
            Err(why) => Some((0, Verdict::InvalidIr(why.clone()))),
            Ok(after) => self.differs(after),
        };
        let verdict = wrong.as_ref().map_or(Verdict::Equal, |(_, verdict)| verdict.clone());
        self.report.phases.push(PhaseLine {
            name: border.name(),
            number: None,
            skipped: None,
            changed: true,
            instructions_before: self.instructions,
            instructions_after: crossed.as_ref().map_or(self.instructions, instructions),
            rewrites: 0,
            verdict: (!self.cases.is_empty() || wrong.is_some()).then_some(verdict.name()),
            microseconds: start.elapsed().as_micros() as u64,
        });
        if let Some((case, verdict)) = wrong {
            let launch = self.cases.get(case).map(Case::named);
            let said = Said::of(border, &verdict);
            self.report.findings.push(of_step(self.name, said, &self.state, launch, self.options)?);
        } else if let Ok(after) = crossed {
            self.instructions = instructions(&after);
            self.state = after;
        }
        Ok(())
    }

    /// The first case on which the module in SSA form does something else; its runs become those before the first phase.
    fn differs(&mut self, after: &Module) -> Option<(usize, Verdict)> {
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
}
