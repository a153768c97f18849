//! What a phase sees beside the function: knobs, target, level, and the leave to make a change.
//!
//! A phase asks [`PhaseContext::rewrite`] (or [`PhaseContext::spend_rewrite`]) before each single change and leaves the
//! change out where the answer is no. Phases are deterministic, so a run with the limit `n` makes exactly the first
//! `n` changes of the unlimited run, and bisection over `n` finds the change that breaks a program.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::knobs::Knobs;
use crate::ir::Function;
use crate::peephole::RuleSet;
use crate::target::Target;

/// Whether a phase changed the function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Changed {
    /// The function is as it was.
    No,
    /// Something is different.
    Yes,
}

impl Changed {
    /// `Yes` where the condition holds.
    pub fn when(condition: bool) -> Changed {
        if condition { Changed::Yes } else { Changed::No }
    }

    /// Whether something is different.
    pub fn is_yes(self) -> bool {
        self == Changed::Yes
    }
}

impl std::ops::BitOr for Changed {
    type Output = Changed;

    fn bitor(self, other: Changed) -> Changed {
        Changed::when(self.is_yes() || other.is_yes())
    }
}

impl std::ops::BitOrAssign for Changed {
    fn bitor_assign(&mut self, other: Changed) {
        *self = *self | other;
    }
}

/// A phase: rewrites one function and says whether it did.
pub type PhaseFn = fn(&mut Function, &mut PhaseContext<'_>) -> Changed;

/// How the panic begins by which a phase ends that makes far more changes than any function has use for.
pub const ENDLESS: &str = "no end in sight";
/// So many changes of a function are too many, and so many more for each of its instructions. Real phases make less than
/// two for an instruction.
const MOST_CHANGES: [u64; 2] = [100_000, 1_000];

/// How many changes a run has made and may still make.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RewriteBudget {
    limit: Option<u64>,
    made: u64,
    last_rule: Option<&'static str>,
    /// The change that is one too many for the function at hand.
    too_many: Option<u64>,
}

impl RewriteBudget {
    /// A budget of so many changes; `None` for any number.
    pub fn new(limit: Option<u64>) -> RewriteBudget {
        RewriteBudget { limit, ..RewriteBudget::default() }
    }

    /// The changes made so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// The rule that made the last change, where it has a name.
    pub fn last_rule(&self) -> Option<&'static str> {
        self.last_rule
    }

    /// A phase begins with a function of so many instructions.
    pub(super) fn begin(&mut self, insts: usize) {
        let [least, each] = MOST_CHANGES;
        self.too_many = Some(self.made.saturating_add(least).saturating_add(each.saturating_mul(insts as u64)));
    }

    fn spend(&mut self, rule: Option<&'static str>) -> bool {
        if self.limit.is_some_and(|limit| self.made >= limit) {
            return false;
        }
        self.made += 1;
        self.last_rule = rule;
        let all = self.made;
        assert!(self.too_many != Some(all), "{ENDLESS} after {all} changes, the last by {}", rule.unwrap_or("no rule"));
        true
    }
}

/// Counters of one phase, by name.
pub type Statistics = BTreeMap<&'static str, u64>;

/// Which sub-passes a run leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SubPasses {
    /// Names of `SUB_PASSES` that are turned off.
    pub disabled: Vec<&'static str>,
    /// Names that alone may run inside this phase; empty for all of them.
    pub only: Vec<&'static str>,
}

impl SubPasses {
    /// Whether a step may run.
    pub fn allows(&self, name: &str) -> bool {
        !self.disabled.contains(&name) && (self.only.is_empty() || self.only.contains(&name))
    }
}

/// What a phase sees beside the function.
#[derive(Debug)]
pub struct PhaseContext<'a> {
    /// The knobs of the run.
    pub knobs: &'a Knobs,
    /// The machine that the program is for.
    pub target: Target,
    /// The optimization level, 0 to 3.
    pub opt_level: u8,
    sub_passes: &'a SubPasses,
    budget: &'a mut RewriteBudget,
    statistics: &'a mut Statistics,
    rules: Option<Arc<RuleSet>>,
}

impl<'a> PhaseContext<'a> {
    /// A context over a run's budget and one phase's counters.
    pub fn new(
        knobs: &'a Knobs,
        target: Target,
        opt_level: u8,
        sub_passes: &'a SubPasses,
        budget: &'a mut RewriteBudget,
        statistics: &'a mut Statistics,
    ) -> PhaseContext<'a> {
        PhaseContext { knobs, target, opt_level, sub_passes, budget, statistics, rules: None }
    }

    /// The same with other rewrite rules than the built-in ones.
    pub fn with_rules(mut self, rules: Option<Arc<RuleSet>>) -> PhaseContext<'a> {
        self.rules = rules;
        self
    }

    /// The rewrite rules of the run.
    pub fn rules(&self) -> Arc<RuleSet> {
        self.rules.clone().unwrap_or_else(RuleSet::builtin)
    }

    /// Asks for leave to make one change. After a no, the change must not be made.
    pub fn spend_rewrite(&mut self) -> bool {
        self.budget.spend(None)
    }

    /// The same on behalf of a named rule, which is also counted.
    pub fn rewrite(&mut self, rule: &'static str) -> bool {
        let granted = self.budget.spend(Some(rule));
        if granted {
            self.count(rule, 1);
        }
        granted
    }

    /// The changes that the run has made so far, in this phase and before.
    pub fn rewrites_made(&self) -> u64 {
        self.budget.made()
    }

    /// Adds to a counter.
    pub fn count(&mut self, name: &'static str, by: u64) {
        *self.statistics.entry(name).or_default() += by;
    }

    /// Whether a named step inside the phase may run.
    pub fn allows(&self, sub_pass: &str) -> bool {
        self.sub_passes.allows(sub_pass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends() {
        let mut budget = RewriteBudget::new(Some(2));
        assert!(budget.spend(Some("a")) && budget.spend(Some("b")));
        assert!(!budget.spend(Some("c")));
        assert_eq!((budget.made(), budget.last_rule()), (2, Some("b")));
        assert!((0..100).all(|_| RewriteBudget::new(None).spend(None)));
    }

    #[test]
    #[should_panic(expected = "no end in sight after 102005 changes, the last by again")]
    fn a_phase_that_never_stops_is_stopped() {
        let mut budget = RewriteBudget::new(None);
        assert!((0..5).all(|_| budget.spend(None)));
        budget.begin(2);
        while budget.spend(Some("again")) {}
    }

    #[test]
    fn sub_passes_are_left_out_by_either_list() {
        let all = SubPasses::default();
        let without = SubPasses { disabled: vec!["OriCopyProp"], only: Vec::new() };
        let alone = SubPasses { disabled: Vec::new(), only: vec!["OriCopyProp"] };
        let allowed = |s: &SubPasses| (s.allows("OriCopyProp"), s.allows("Simplify"));
        assert_eq!(allowed(&all), (true, true));
        assert_eq!(allowed(&without), (false, true));
        assert_eq!(allowed(&alone), (true, false));
    }
}
