//! What a check keeps for those who look at it: the program before and behind every step that changed something.
//!
//! Single changes of a phase are found as [`crate::explain`] does it, by a run of the phase for each. In a large
//! program that takes long, so of each step as many are listed as the size of the program allows ([`WORK`]); the
//! counters of the step name the rules of all.

use std::sync::Arc;

use oriole_ir::Module;
use oriole_launch::Launch;
use oriole_optimizer::pipeline::table::UnknownPhase;
use oriole_sass::cubin::Cubin;

use crate::cases::Case;
use crate::explain::{self, Change};
use crate::step::{Conditions, Done, Step};

/// Changes of a step that are listed, times the instructions of the program: at 10,000 instructions 50 changes, which
/// take two seconds (debug build, 2026-11).
const WORK: u64 = 500_000;

/// The programs of a check, in the order in which steps left them.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The first case that says what the program should do: its name and its launch.
    pub case: Option<(String, Launch)>,
    /// The cubin whose functions the programs are, where they are machine code.
    pub cubin: Option<Arc<Cubin>>,
    /// The program as it is given, and then what each step left that changed something.
    pub states: Vec<State>,
}

/// A program, and the step that left it.
#[derive(Clone, Debug)]
pub struct State {
    /// The place of the step among the lines of the report; `None` for the program as it is given.
    pub line: Option<usize>,
    /// The program.
    pub module: Module,
    /// The first changes that the step made, one by one; none of a step that makes them all at once.
    pub changes: Vec<Change>,
}

impl Recording {
    /// The recording of a check that has taken no step yet.
    pub(super) fn new(module: &Module, cases: &[Case<'_>]) -> Recording {
        let case = cases.first().map(|case| (case.name.clone(), case.judge.launch().clone()));
        let first = State { line: None, module: module.clone(), changes: Vec::new() };
        Recording { case, cubin: None, states: vec![first] }
    }

    /// Adds what a step made of a program.
    ///
    /// # Errors
    ///
    /// An option that names no phase.
    pub(super) fn add(
        &mut self,
        line: usize,
        step: &Step,
        [before, after]: [&Module; 2],
        done: &Done,
        conditions: &Conditions<'_>,
    ) -> Result<(), UnknownPhase> {
        let most = (WORK / before.inst_count().max(1) as u64).min(done.rewrites);
        let changes = match step.element() {
            Some(element) => explain::changes(element, before, conditions, most)?,
            None => Vec::new(),
        };
        let changes = changes.into_iter().map(|change| change.with_source(before)).collect();
        self.states.push(State { line: Some(line), module: after.clone(), changes });
        Ok(())
    }
}
