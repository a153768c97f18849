//! In debug builds: what a unit was before a pass, to hold against what the pass claims about its change.
//!
//! A pass says whether it changed something, and which analyses its change preserves. Both are checked by computing
//! anew; a wrong claim is a panic that names the pass, the function and the analysis.

use oriole_ir::{Function, Module};
use oriole_pass::analysis::AnalysisSet;
use oriole_pass::pass::Changed;

/// A state before a pass; none where claims are not checked.
pub(super) struct Claim<T>(Option<T>);

impl<T> Claim<T> {
    pub(super) fn new(before: &T) -> Claim<T>
    where
        T: Clone,
    {
        Claim::of(|| before.clone())
    }

    pub(super) fn of(before: impl FnOnce() -> T) -> Claim<T> {
        Claim(cfg!(debug_assertions).then(before))
    }
}

impl Claim<Function> {
    /// # Panics
    ///
    /// If a claim is wrong.
    pub(super) fn check(self, pass: &str, after: &Function, changed: Changed, preserves: AnalysisSet) {
        let Some(before) = self.0 else { return };
        let differs = before != *after;
        assert_eq!(changed.is_yes(), differs, "{pass} says {changed:?} about function `{}`", after.name);
        if differs {
            compare(pass, &before, after, preserves);
        }
    }
}

impl Claim<Vec<Function>> {
    /// # Panics
    ///
    /// If a claim is wrong.
    pub(super) fn check(self, pass: &str, after: &[&Function], changed: Changed, preserves: AnalysisSet) {
        let Some(before) = self.0 else { return };
        let pairs = || before.iter().zip(after);
        let differs = pairs().any(|(before, after)| before != *after);
        assert_eq!(changed.is_yes(), differs, "{pass} says {changed:?} about a component of {} functions", after.len());
        pairs().for_each(|(before, after)| compare(pass, before, after, preserves));
    }
}

impl Claim<Module> {
    /// # Panics
    ///
    /// If a claim is wrong.
    pub(super) fn check(self, pass: &str, after: &Module, changed: Changed, preserves: AnalysisSet) {
        let Some(before) = self.0 else { return };
        assert_eq!(changed.is_yes(), before != *after, "{pass} says {changed:?} about the module");
        for (before, after) in before.functions.values().zip(after.functions.values()) {
            compare(pass, before, after, preserves);
        }
        if let Some(lost) = preserves.first_lost_in_module(&before, after) {
            panic!("{pass} says that it preserves the {} of the module, and does not", lost.name());
        }
    }
}

fn compare(pass: &str, before: &Function, after: &Function, preserves: AnalysisSet) {
    if let Some(lost) = preserves.first_lost(before, after) {
        panic!("{pass} says that it preserves the {} of function `{}`, and does not", lost.name(), after.name);
    }
}
