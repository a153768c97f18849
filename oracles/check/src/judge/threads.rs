//! The judge asks which threads of a changed program do not keep the strong operations of the original.
//!
//! Only threads whose sequence of them differs are executed again with their operations listed, and
//! [`super::strong`] compares the lists, with shared memory paired by [`super::places`]. A difference counts only
//! where the original does the same in every order of threads that is tried.

use std::collections::HashMap;

use super::places;
use super::strong::{Broken, StrongFault, StrongWrong, broken};
use super::{Judge, Mismatch, SLICES, Verdict, budget};
use oriole_interp::{Executable, Outcome, RunOptions, RunResult, StrongOperation, ThreadId};
use oriole_ir::diagnostics::counted;

/// A program and its run, in which the strong operations of some threads are listed.
type Listed<'a, 'm> = (&'a Executable<'m>, RunResult);

impl Judge<'_> {
    /// The verdict on a run of a changed program whose results are right, if a thread does not keep strong operations
    /// of the original. A program with more of them than are listed is not judged.
    pub(super) fn weaker(&self, changed: &Executable<'_>, result: &RunResult) -> Option<Verdict> {
        if result.outcome != Outcome::Finished || result.strong.has_operations_of(&self.before.strong) {
            return None;
        }
        let original = Executable::new(self.original).ok()?;
        let threads: Vec<u64> = self.before.strong.differing(&result.strong).collect();
        let options = RunOptions { steps: Some(budget(self.before.steps)), strong: threads, ..RunOptions::default() };
        let [first, second] =
            [&original, changed].map(|program| Some((program, program.run(&self.launch, &options).ok()?)));
        let runs: [Listed<'_, '_>; 2] = [first?, second?];
        if runs.iter().any(|(_, run)| run.strong.cut) {
            return None;
        }
        let [original, changed] = runs.each_ref().map(|(_, run)| &run.strong.operations[..]);
        let mut aligned = changed.to_vec();
        places::align(original, &mut aligned);
        let [before, after] = [original, &aligned].map(by_thread);
        let none = Vec::new();
        let mut found = None;
        for thread in &options.strong {
            let [before, after] = [&before, &after].map(|lists| lists.get(thread).unwrap_or(&none));
            let broken = broken(before, after).ok()?;
            found = found.or(broken.map(|broken| (*thread, broken, before)));
        }
        let (thread, broken, before) = found?;
        // Of the changed program is said what it calls its memory.
        let after = by_thread(changed).remove(&thread).unwrap_or_default();
        // A thread that races may find anything, and do something else then.
        if self.races() || self.varies(thread, &runs[0]) {
            return None;
        }
        let fault = self.strong_fault(thread, broken, (before, &after), &runs);
        Some(Verdict::Mismatch(Mismatch::Strong(Box::new(fault))))
    }

    /// What is to be said of an operation that a thread does not keep.
    fn strong_fault(
        &self,
        thread: u64,
        broken: Broken,
        (original, changed): (&[StrongOperation], &[StrongOperation]),
        [first, second]: &[Listed<'_, '_>; 2],
    ) -> StrongFault {
        let text = |(program, _): &Listed<'_, '_>, operation: &StrongOperation| match operation.extent {
            Some(extent) => {
                let bytes = extent.bytes * extent.elements;
                let owner = program.owner_name(extent.owner, &self.launch);
                format!(
                    "the {} of {bytes} at byte {} of {owner}",
                    operation.strong,
                    extent.offset,
                    bytes = counted(bytes, "byte")
                )
            }
            None => format!("the {}", operation.strong),
        };
        let (wrong, at, run) = match broken {
            Broken::Missing(at) => (StrongWrong::Missing, &original[at], first),
            Broken::Weaker(at, found) => (StrongWrong::Weaker(changed[found].strong.to_string()), &original[at], first),
            Broken::Moved(at, other) => (StrongWrong::Moved(text(first, &original[other])), &original[at], first),
            Broken::Added(at) => (StrongWrong::Added, &changed[at], second),
        };
        let (operation, place) = (text(run, at), run.0.place(at.pc));
        StrongFault { thread: ThreadId::at(thread, self.launch.grid, self.launch.block), wrong, operation, place }
    }

    /// Whether what a thread of the original performs depends on the order of threads.
    fn varies(&self, thread: u64, (original, first): &Listed<'_, '_>) -> bool {
        let hash = |run: &RunResult| run.strong.of(thread as usize).operations;
        let differs = |slice: &u64| {
            let options = RunOptions { slice: Some(*slice), steps: Some(budget(first.steps)), ..RunOptions::default() };
            original.run(&self.launch, &options).is_ok_and(|again| hash(&again) != hash(first))
        };
        self.launch.threads() > 1 && SLICES.iter().any(differs)
    }
}

fn by_thread(operations: &[StrongOperation]) -> HashMap<u64, Vec<StrongOperation>> {
    let mut lists: HashMap<u64, Vec<StrongOperation>> = HashMap::new();
    operations.iter().for_each(|operation| lists.entry(operation.thread).or_default().push(*operation));
    lists
}
